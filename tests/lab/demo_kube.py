#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The demo on KubeVirt: a real guest moves between two nodes through a real Kubernetes API, its OVN port goes along.

Brings up the lab, OVN, an API server and the simulator of KubeVirt's controllers; starts a guest whose port is plugged by a
CNI; shows the plan per node, what the migration waits for when nobody prepares its port, the migration with phases,
pause and service gap, the port's way, and where the guest is; and takes everything down again.
usage: demo_kube.py BUILD-FOLDER [--keep]
"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from demo import network_options, say  # noqa: E402
from kvmiglab import Lab  # noqa: E402
from kvmiglab.kube import Kube  # noqa: E402
from kvmiglab.kubeobjects import NAMESPACE  # noqa: E402

VM = "demo"
FULL = f"{NAMESPACE}/{VM}"
TIME_SCALE = 0.2  # of KubeVirt's built-in times, which are minutes


def run_tool(lab, kube, build, *args):
    argv = [build / "kvmig", args[0], "--kubeconfig", kube.kubeconfig("migrator"), *args[1:]]
    return subprocess.run(lab.ctl_argv(argv), check=False, timeout=180).returncode


def show_wait(lab, kube, build):
    """Somebody else's migration, which does not know of the port: the CNI waits for it, and KubeVirt for the CNI."""
    kube.post_migration(VM, "without-port")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        argv = [build / "kvmig", "explain", FULL, "--json", "--kubeconfig", kube.kubeconfig("viewer")]
        done = subprocess.run(lab.ctl_argv(argv), check=False, timeout=60, capture_output=True, text=True)
        if "NETWORK" in json.loads(done.stdout or "{}").get("verdict", ""):
            break
        time.sleep(0.3)
    run_tool(lab, kube, build, "explain", FULL)


def show_numbers(report):
    times = report.get("kubernetes", {}).get("times", {})
    print(f"migration       {report['total_ms']:6} ms in all")
    for target in (t for probe in report["probes"] for t in probe["targets"]):
        print(f"service away    {target['gap_ms']:6} ms   {target['target']}: {target['tries']} tries, {target['failures']} failed")
    for name, value in sorted(times.items(), key=lambda item: str(item[1])):
        print(f"{name:26} {value}")
    say("the port's way")
    for line in report["ports"][0]["timeline"]:
        print(f"{line['at_ms']:6} ms  {line['what']}")


def demonstrate(lab, kube, build):
    say("the lab: two hosts as nodes, OVN, a Kubernetes API server, KubeVirt's controllers simulated")
    lab.up(hosts=2, ovn=True)
    kube.up(TIME_SCALE)
    vm = kube.create_vm(VM, disks=["shared:8M"])
    before = vm.status()
    run_tool(lab, kube, build, "hosts", "--vms")
    say("the plan")
    if run_tool(lab, kube, build, "plan", FULL) != 0:
        return 1
    say("a migration whose port nobody prepares: what does it wait for?")
    show_wait(lab, kube, build)
    say("the same migration, followed by somebody who takes the port along")
    report_file = build / "demo-kube-report.json"
    code = run_tool(lab, kube, build, "migrate", FULL, "--attach", "without-port", "--report", report_file,
                    *network_options(lab.ovn, vm))
    if code != 0:
        return code
    say("how long it took, and how long the service was away for a client behind OVN")
    show_numbers(json.loads(report_file.read_text()))
    say("where the guest is now")
    run_tool(lab, kube, build, "where", FULL, "--source", "kvmig-a", "--target", "kvmig-b")
    after, disks = vm.status(), vm.verify()
    same = after["boot_id"] == before["boot_id"]
    whole = all(d["complete"] for d in disks.values())
    print(f"boot id {'unchanged' if same else 'CHANGED'}, writes {'complete' if whole else 'INCOMPLETE'}")
    lab.ovn.assert_clean(vm.lsp, "b")
    print("the port is bound to host b alone; no token and no temporary option is left")
    say("and back, started by this tool")
    code = run_tool(lab, kube, build, "migrate", FULL, "--target", "kvmig-a", *network_options(lab.ovn, vm))
    return code if code else 0 if same and whole else 1


def main():
    build, keep = Path(sys.argv[1]).resolve(), "--keep" in sys.argv[2:]
    lab = Lab()
    lab.down()
    kube = Kube(lab)
    started = time.monotonic()
    try:
        code = demonstrate(lab, kube, build)
    finally:
        kube.down()
        if not keep:
            lab.down()
    print(f"\n{'the guest was migrated, there and back' if code == 0 else 'the demo FAILED'}; it took "
          f"{time.monotonic() - started:.0f} s")
    return code


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    sys.exit(main())
