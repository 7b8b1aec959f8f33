# SPDX-License-Identifier: LGPL-2.1-or-later
"""The network of launcher pods, as an OVN CNI makes it: a tap on br-int with the port's id, ready once OVN says so.

Knows Open vSwitch of one host; who asks for it is agent.py.
"""
from . import net, proc
from .errors import LabError

CNI_MARK = "lab-cni"
READY_TIMEOUT = 3  # after which the CNI reports that the interface is not ready; real ones give it 30 s


def plug(chassis, port):
    """Make the tap and put it on br-int; a tap that is there already is kept."""
    tap = port["tap"]
    if not net.has_device(chassis.ns, tap):
        net.ip_batch(chassis.ns, [f"tuntap add dev {tap} mode tap", f"link set {tap} up"])
    chassis.add_port(tap, {"iface-id": port["lsp"], "attached-mac": port["mac"], CNI_MARK: "true"})


def wait_ready(chassis, port, timeout=READY_TIMEOUT):
    """Until OVN has installed the port here: it does that only if the port may be bound to this chassis."""
    def installed():
        row = chassis.interfaces().get(port["tap"])
        return row is not None and row["ovn_installed"]
    try:
        proc.wait_until(installed, f"ovn-installed of {port['tap']}", timeout, step=0.02)
    except LabError as e:
        raise LabError(f"network is not ready: interface {port['tap']} of port {port['lsp']} has no "
                       f"ovn-installed on {chassis.name} after {timeout} s") from e


def unplug(chassis, port):
    chassis.unplug(port["tap"])


def taps(namespace):
    """Names of the taps in a host's namespace that plug() made, on the bridge or not."""
    listing = net.ip(namespace, "-br", "link", "show", check=False).stdout
    return [line.split()[0] for line in listing.splitlines() if line.startswith("cni")]
