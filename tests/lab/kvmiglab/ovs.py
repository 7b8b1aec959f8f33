# SPDX-License-Identifier: LGPL-2.1-or-later
"""One chassis: ovsdb-server, ovs-vswitchd (userspace) and ovn-controller of a host, or of the client.

Knows the local OVS database and what hangs on br-int; nothing of the
northbound and southbound databases (central.py, ovn.py) or of guests.
"""
import fcntl
import os
import struct

from . import net, ovnnet, ovsdb, proc, settings
from .daemons import Daemon

DATABASE = "Open_vSwitch"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
PLUG_MARK = "lab-plug"
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
NEIGHBOUR_AGE_S = 3600


def broadcast_rarp(mac):
    """What QEMU sends for each card of a guest that starts to run after a migration."""
    own = bytes.fromhex(mac.replace(":", ""))
    header = b"\xff" * 6 + own + struct.pack("!H", 0x8035)
    body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 3) + own + bytes(4) + own + bytes(4)
    return (header + body).ljust(60, b"\0")


class Chassis:
    """`name` is the system-id and so the chassis name; `hostname` is the libvirt host's name."""

    def __init__(self, node, name, hostname, run, folder, outside, log_folder):
        self.node, self.name, self.hostname = node, name, hostname
        self.ns = settings.host_ns(node)
        self.address = settings.host_address(node)
        self.remote = f"tcp:{self.address}:{settings.OVS_PORT}"
        self._folder, self._outside, self._log_folder = folder, outside, log_folder
        self._run_plain = run
        self.socket = f"{outside}/db.sock"
        database = f"{folder}/conf.db"
        self.ovsdb = self._daemon("ovsdb-server", [
            "ovsdb-server", f"--remote=punix:{folder}/db.sock",
            f"--remote=ptcp:{settings.OVS_PORT}:{self.address}", database])
        self.vswitchd = self._daemon("ovs-vswitchd", [
            "ovs-vswitchd", "--disable-system", f"unix:{folder}/db.sock"])
        self.controller = self._daemon("ovn-controller", ["ovn-controller", f"unix:{folder}/db.sock"])
        self.daemons = (self.ovsdb, self.vswitchd, self.controller)

    def _daemon(self, name, program):
        return Daemon(name, self.ns, self.run, self._folder, self._log_folder, program)

    def run(self, argv, check=True):
        """Run a command of OVS or OVN where the chassis lives."""
        return self._run_plain(["env", f"OVS_RUNDIR={self._folder}", f"OVN_RUNDIR={self._folder}", *argv],
                               check=check)

    def vsctl(self, *args, wait=True):
        options = [] if wait else ["--no-wait"]
        return self.run(["ovs-vsctl", f"--db=unix:{self._folder}/db.sock", "--timeout=10", *options,
                         *args]).stdout.strip()

    # ---- life -----------------------------------------------------------------

    def ensure(self, southbound):
        """Bring up, or repair, the three daemons, the bridges and the tunnel address."""
        for daemon in self.daemons:
            daemon.resume()
        if self.ovsdb.pid() is None:
            os.makedirs(self._outside, exist_ok=True)
            if not os.path.exists(f"{self._outside}/conf.db"):
                ovsdb.create_file(self.run, f"{self._folder}/conf.db", SCHEMA)
            self.ovsdb.start()
        self._configure(southbound)
        self.vswitchd.start()
        self._set_tunnel_address()
        self.controller.start()

    def _configure(self, southbound):
        ids = {"system-id": self.name, "hostname": self.hostname, "ovn-remote": southbound,
               "ovn-encap-type": "geneve", "ovn-encap-ip": settings.underlay_address(self.node),
               "ovn-bridge-datapath-type": "netdev", "ovn-monitor-all": "true"}
        self.vsctl("init", wait=False)
        self.vsctl(
            "set", "open", ".", *[f'external_ids:{k}="{v}"' for k, v in ids.items()],
            "--", "--may-exist", "add-br", "br-int",
            "--", "set", "bridge", "br-int", "datapath_type=netdev", "fail-mode=secure",
            "other_config:disable-in-band=true",
            "--", "--may-exist", "add-br", "br-phy",
            "--", "set", "bridge", "br-phy", "datapath_type=netdev",
            f'other_config:hwaddr="{settings.underlay_mac(self.node)}"',
            "--", "--may-exist", "add-port", "br-phy", net.PLANES["underlay"], wait=False)

    def _set_tunnel_address(self):
        """The userspace datapath finds the tunnel's way by the address of an OVS bridge."""
        proc.wait_until(lambda: net.has_device(self.ns, "br-phy"), f"br-phy of {self.node}", 15)
        net.ip_batch(self.ns, [
            f"addr replace {settings.underlay_address(self.node)}/24 dev br-phy",
            f"link set br-phy mtu {settings.UNDERLAY_MTU} up"])

    def know_neighbours(self, nodes):
        """Else the first packets between two chassis get lost while the tunnel's neighbour is looked up."""
        self.vswitchd.appctl("tnl/neigh/aging", str(NEIGHBOUR_AGE_S))
        for node in nodes:
            if node != self.node:
                self.vswitchd.appctl("tnl/neigh/set", "br-phy", settings.underlay_address(node),
                                     settings.underlay_mac(node))

    # ---- interfaces -------------------------------------------------------------

    def interfaces(self):
        """{name: row} of what hangs on br-int, without the bridge itself and the tunnels."""
        on_bridge = self.vsctl("list-ports", "br-int", wait=False).split()
        columns = ["name", "type", "external_ids", "ofport", "link_state", "admin_state", "error"]
        found = {}
        for row in ovsdb.select(self.socket, DATABASE, "Interface", columns=columns):
            if row["name"] not in on_bridge or row["type"] not in ("", "system"):
                continue
            for column in ("ofport", "link_state", "admin_state", "error"):
                row[column] = ovsdb.optional(row[column])
            row["iface_id"] = row["external_ids"].get("iface-id")
            row["ovn_installed"] = row["external_ids"].get("ovn-installed") == "true"
            found[row["name"]] = row
        return found

    def plug(self, iface, iface_id, mac=None):
        """A persistent tap on br-int that carries a port's id, as a guest's would; nobody is behind it."""
        net.ip(self.ns, "tuntap", "del", "dev", iface, "mode", "tap", check=False)
        net.ip_batch(self.ns, [f"tuntap add dev {iface} mode tap", f"link set {iface} up"])
        ids = {"iface-id": iface_id, PLUG_MARK: "true", **({"attached-mac": mac} if mac else {})}
        self.add_port(iface, ids)

    def add_port(self, iface, external_ids):
        self.vsctl("--may-exist", "add-port", "br-int", iface, "--", "set", "interface", iface,
                   *[f'external_ids:{k}="{v}"' for k, v in external_ids.items()])

    def unplug(self, iface):
        """Take an interface off br-int, and away if it is a tap that `plug` made."""
        self.vsctl("--if-exists", "del-port", "br-int", iface)
        net.ip(self.ns, "tuntap", "del", "dev", iface, "mode", "tap", check=False)

    def unplug_all(self):
        for name, row in self.interfaces().items():
            if PLUG_MARK in row["external_ids"]:
                self.unplug(name)

    def remove_interfaces_of(self, iface_ids):
        """What a killed libvirtd or QEMU left behind."""
        for name, row in self.interfaces().items():
            if row["iface_id"] in iface_ids:
                self.vsctl("--if-exists", "del-port", "br-int", name)

    def send(self, iface, *frames):
        """Send Ethernet frames into OVS through a tap that `plug` made."""
        def write():
            with open("/dev/net/tun", "r+b", buffering=0) as tap:
                fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH14x", iface.encode(), IFF_TAP | IFF_NO_PI))
                return [tap.write(frame) for frame in frames]
        return net.in_namespace(self.ns, write)

    def set_interface_ids(self, iface, remove=(), **insert):
        """Change single keys of an interface's external_ids."""
        mutations = []
        if remove:
            mutations.append(["external_ids", "delete", ["set", list(remove)]])
        if insert:
            keys = {k.replace("_", "-"): str(v) for k, v in insert.items()}
            mutations += [["external_ids", "delete", ["set", list(keys)]],
                          ["external_ids", "insert", ovsdb.to_map(keys)]]
        ovsdb.transact(self.socket, DATABASE, {
            "op": "mutate", "table": "Interface", "where": [["name", "==", iface]], "mutations": mutations})


def of_host(host):
    """The chassis of a lab host: its files are where libvirt looks for them."""
    folder = "/run/openvswitch"
    return Chassis(host.name, f"chassis-{host.name}", host.hostname,
                   lambda argv, check: host.run(argv, check=check), folder, host.inside(folder),
                   settings.OVS_LOG)


class Edge(Chassis):
    """The chassis that the client hangs on; it has a network namespace of its own and nothing else."""

    def __init__(self):
        folder = str(settings.state_dir() / "ovn" / settings.EDGE_NODE)
        prefix = ["ip", "netns", "exec", settings.host_ns(settings.EDGE_NODE)]
        super().__init__(settings.EDGE_NODE, "chassis-client", "kvmig-" + settings.EDGE_NODE,
                         lambda argv, check: proc.run([*prefix, *argv], check=check), folder, folder, folder)

    def attach_client(self, port_names):
        for nic, port in enumerate(port_names):
            self.add_port(ovnnet.client_link(nic)[1], {"iface-id": port})
