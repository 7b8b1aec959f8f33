#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What following a port costs and gains, against what people do without the library, in one run.

1. From the request to "ready on the target": `kvmig port prepare` and `verify`, with the southbound database alone and
   with the hosts' Open vSwitch too (which also proves that readiness lasted), against `ovn-nbctl --wait=hv` with both
   options and a poll of ovn-installed every 500 ms.
2. The gap that a client sees around a real migration: with the port handling; with the port re-pinned by hand when the
   migration has ended; and with a port that is not pinned at all, which both chassis claim.

The ways take turns, so that what else the machine does meets them alike. Nothing is asserted: medians and their ratios
are for people to watch.
usage: port.py BUILD-FOLDER [ROUNDS]
"""
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BUILD, ROUNDS = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 10
os.environ["KVMIG_BUILD"] = str(BUILD)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))

from kvmiglab import Lab, settings  # noqa: E402
from migration import Tool  # noqa: E402
from port import PortTool, TestPort, database_options  # noqa: E402

VM = "bench"
POLL_S = 0.5


def quiet(argv):
    subprocess.run([str(a) for a in argv], check=True, stdout=subprocess.DEVNULL, timeout=60)


# ---- 1. from the request to ready ---------------------------------------------

def ready_by_kvmig(lab, ovn, port, ovs=("a", "b")):
    owner = PortTool(lab, ovn, port.name, databases=database_options(ovn, ovs=ovs))
    started = time.monotonic()
    owner.ok("prepare", "--source", "kvmig-a", "--target", "kvmig-b")
    owner.ok("verify")
    took = time.monotonic() - started
    owner.ok("rollback")
    return took


def ready_by_kvmig_southbound(lab, ovn, port):
    return ready_by_kvmig(lab, ovn, port, ovs=())


def ready_by_nbctl(lab, ovn, port):
    started = time.monotonic()
    quiet(lab.ctl_argv(["ovn-nbctl", f"--db={ovn.nb_remotes('tcp')}", "--wait=hv", "set", "Logical_Switch_Port",
                        port.name, 'options:requested-chassis="chassis-a,chassis-b"', "options:activation-strategy=rarp"]))
    while ovn.interface_of("b", port.name)[1]["ovn_installed"] is not True:
        time.sleep(POLL_S)
    took = time.monotonic() - started
    ovn.set_options(port.name, requested_chassis="chassis-a", activation_strategy=None)
    ovn.sync()
    return took


def measure_ready(lab):
    ovn = lab.ovn
    port = TestPort(ovn, 60, plugged=("a", "b"))
    ways = {"kvmig port, SB": ready_by_kvmig_southbound, "kvmig port, SB + OVS": ready_by_kvmig,
            "ovn-nbctl + poll": ready_by_nbctl}
    results = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            results[name].append(1000 * way(lab, ovn, port))
    ovn.remove_test_ports()
    return results


# ---- 2. the gap ----------------------------------------------------------------

def probe_options(ovn, vm):
    return ["--unsafe", "--probe", f"tcp:{vm.ip}:{settings.GUEST_HTTP_PORT}", "--probe-netns", ovn.client_netns]


def migrate_followed(tool, ovn, vm, to):
    return tool.migrate(vm, to, *probe_options(ovn, vm), "--port", f"ovn-match:vm={vm.name}", *database_options(ovn))


def migrate_then_pin(tool, ovn, vm, to):
    """What a hook does that runs when the migration has ended; the probe goes on until the service is back."""
    migration = tool.start(vm, to, *probe_options(ovn, vm))
    migration.wait_phase("Finalizing")
    ovn.set_options(vm.lsp, requested_chassis=ovn.chassis(to).name, activation_strategy=None)
    return migration.finish()[1]


def migrate_unpinned(tool, ovn, vm, to):
    return tool.migrate(vm, to, *probe_options(ovn, vm))


def measure_gap(lab):
    ovn, tool = lab.ovn, Tool(lab)
    vm = lab.create_vm(VM, host="a", network="ovn", pin=True, disks=["shared:16M"])
    ways = {"kvmig --port": migrate_followed, "pinned afterwards": migrate_then_pin, "not pinned": migrate_unpinned}
    gaps, pauses = {name: [] for name in ways}, {name: [] for name in ways}
    at = "a"
    for _ in range(ROUNDS):
        for name, way in ways.items():
            pinned = None if way is migrate_unpinned else ovn.chassis(at).name
            ovn.set_options(vm.lsp, requested_chassis=pinned, activation_strategy=None)
            ovn.wait_bound(vm.lsp, at)
            ovn.sync()
            at = "b" if at == "a" else "a"
            report = way(tool, ovn, vm, at)
            gaps[name].append(report["service"]["gap_ms"])
            pauses[name].append(report["pause"]["source_ms"])
    lab.destroy_vm(VM)
    return gaps, pauses


def show(title, results, base):
    print(title)
    medians = {name: statistics.median(values) for name, values in results.items()}
    for name, values in results.items():
        print(f"  {name:21} median {medians[name]:8.0f} ms   min {min(values):7.0f}   max {max(values):7.0f}   "
              f"n {len(values)}   ratio {medians[name] / medians[base]:.2f}")


def main():
    lab = Lab()
    lab.down()
    try:
        lab.up(hosts=2, ovn=True)
        show("from the request to ready on the target", measure_ready(lab), "ovn-nbctl + poll")
        gaps, pauses = measure_gap(lab)
        show("gap of the service, seen by a client", gaps, "kvmig --port")
        show("pause of the guest in these migrations", pauses, "kvmig --port")
    finally:
        lab.down()


if __name__ == "__main__":
    main()
