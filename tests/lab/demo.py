#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The demo: a real guest moves between two real hosts, its OVN port goes along, and a client watches its service.

Brings the lab up, starts a guest with a shared and a private disk that works (writes to both, dirties memory) on an
OVN network, plans, migrates with the `kvmig` tool, shows pause and service gap side by side and where guest and port
are, and takes the lab down again. usage: demo.py BUILD-FOLDER [--keep]
"""
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from kvmiglab import Lab, settings  # noqa: E402

VM = "demo"


def say(text):
    print(f"\n\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def run_tool(lab, build, *args):
    uris = [word for host in lab.hosts() for word in ("--connect", host.uri)]
    return subprocess.run(lab.ctl_argv([build / "kvmig", args[0], *uris, *args[1:]]), check=False,
                          timeout=180).returncode


def database_options(ovn):
    databases = ["--ovn-nb", ovn.nb_remotes("tcp"), "--ovn-sb", ovn.sb_remotes("tcp")]
    for host in "ab":
        databases += ["--ovs", f"{ovn.chassis(host).name}={ovn.ovs_remote(host)}"]
    return databases


def network_options(ovn, vm):
    """Take the guest's port along; watch its service from the client's side, by new and by one held connection."""
    return ["--port", f"ovn:{vm.lsp}", *database_options(ovn), "--probe", f"tcp:{vm.ip}:{settings.GUEST_HTTP_PORT}",
            "--probe", f"echo:{vm.ip}:{settings.GUEST_ECHO_PORT}", "--probe-netns", ovn.client_netns]


def show_numbers(report):
    say("two numbers: how long the guest was paused, and how long its service was away for a client behind OVN")
    print(f"guest paused    {report['pause']['source_ms']:5} ms")
    for target in (t for probe in report["probes"] for t in probe["targets"]):
        held = {True: "; the held connection survived", False: "; the held connection BROKE"}.get(
            target.get("held_survived"), "")
        print(f"service away    {target['gap_ms']:5} ms   {target['target']}: {target['tries']} tries, "
              f"{target['failures']} failed{held}")
    say("the port's way")
    for line in report["ports"][0]["timeline"]:
        print(f"{line['at_ms']:6} ms  {line['what']}")


def show_port(ovn, vm, at="b"):
    """Where the port is, as the databases say it; True when it is on that host alone and nothing temporary is left."""
    port, binding = ovn.lsp(vm.lsp), ovn.binding(vm.lsp)
    print(f"northbound: port {vm.lsp} is pinned to {port['options'].get('requested-chassis', 'nothing')}")
    print(f"southbound: bound to {binding['chassis']}, {'up' if binding['up'] else 'DOWN'}; "
          f"further chassis: {', '.join(binding['additional']) or 'none'}")
    for host in "ab":
        name, row = ovn.interface_of(host, vm.lsp)
        print(f"Open vSwitch of host {host}: "
              + (f"{name}, ovn-installed {str(row['ovn_installed']).lower()}" if name else "no interface of it"))
    try:
        ovn.assert_clean(vm.lsp, at)
    except AssertionError as e:
        print(f"NOT CLEAN: {e}")
        return False
    print("no token, no temporary option and no second interface is left")
    return True


def show_guest(vm, before):
    """Whether it is the guest that it was; True when it is."""
    after, disks = vm.status(), vm.verify()
    same = after["boot_id"] == before["boot_id"]
    whole = all(d["complete"] for d in disks.values())
    print(f"boot id {'unchanged' if same else 'CHANGED'}, writes "
          f"{'complete' if whole else 'INCOMPLETE'}: "
          + ", ".join(f"{name} {d['records']} records" for name, d in disks.items()))
    return same and whole


def diagnose(lab, build, vm, report_file):
    """Leaves the bundle in the build folder."""
    bundle = build / "demo-bundle"
    shutil.rmtree(bundle, ignore_errors=True)
    run_tool(lab, build, "report", "bundle", "--vm", VM, "--output", bundle, "--lsp", vm.lsp,
             *database_options(lab.ovn))
    shutil.copy(report_file, bundle / "report.json")
    subprocess.run([build / "kvmig", "diagnose", bundle], check=False, timeout=60)


def demonstrate(lab, build):
    say("the lab: two hosts with libvirtd, QEMU, Open vSwitch and ovn-controller; OVN's databases; a client")
    lab.up(hosts=2, ovn=True)
    run_tool(lab, build, "hosts")
    say("a guest that writes to a shared and a private disk and dirties memory")
    vm = lab.create_vm(VM, host="a", disks=["shared:16M", "private:32M"], network="ovn", pin=True)
    vm.dirty(24, 20)
    before = vm.status()
    print(f"guest {VM} at {vm.ip}, boot id {before['boot_id']}")
    say("the plan")
    if run_tool(lab, build, "plan", VM, "--target", "kvmig-b", "--unsafe") != 0:
        return 1
    say("the migration")
    report_file = build / "demo-report.json"
    code = run_tool(lab, build, "migrate", VM, "--target", "kvmig-b", "--unsafe", "--bandwidth", "64",
                    "--report", report_file, *network_options(lab.ovn, vm))
    if code != 0:
        return code
    show_numbers(json.loads(report_file.read_text()))
    say("where the guest is now")
    run_tool(lab, build, "where", VM, "--source", "kvmig-a", "--target", "kvmig-b")
    say("where the port is now")
    followed = show_port(lab.ovn, vm)
    say("whether it is the same guest")
    whole = show_guest(vm, before)
    say("the report")
    print(report_file.read_text())
    say("what the doctor makes of a bundle of both hosts, with that report")
    diagnose(lab, build, vm, report_file)
    return 0 if whole and followed else 1


def main(demonstration=demonstrate):
    build, keep = Path(sys.argv[1]).resolve(), "--keep" in sys.argv[2:]
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    lab = Lab()
    lab.down()
    started = time.monotonic()
    try:
        code = demonstration(lab, build)
    finally:
        if not keep:
            lab.down()
    print(f"\n{'the guest was migrated' if code == 0 else 'the demo FAILED'}; lab and migration took "
          f"{time.monotonic() - started:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
