#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The demo: a real guest moves between two real hosts while a client watches its service.

Brings the lab up, starts a guest with a shared and a private disk that works (writes
to both, dirties memory), plans, migrates with the `kvmig` tool, shows where the guest is, and takes the lab down
again. usage: demo.py BUILD-FOLDER [--keep]
"""
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from kvmiglab import Lab, net, settings  # noqa: E402

VM = "demo"
TRY_EVERY_S, TRY_TIMEOUT_S = 0.02, 0.2


def say(text):
    print(f"\n\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


class Watcher:
    """Opens a TCP connection to the guest every 20 ms and notes when that worked."""

    def __init__(self, address, port):
        self.address, self.port = address, port
        self.tries, self.good = 0, []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self):
        while not self._stop.is_set():
            started = time.monotonic()
            self.tries += 1
            try:
                net.connect(self.address, self.port, TRY_TIMEOUT_S).close()
                self.good.append(time.monotonic())
            except (OSError, socket.timeout):
                pass
            self._stop.wait(max(0.0, TRY_EVERY_S - (time.monotonic() - started)))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._stop.set()
        self._thread.join()

    def report(self):
        gaps = [b - a for a, b in zip(self.good, self.good[1:])]
        return (f"{self.tries} connections tried, {self.tries - len(self.good)} failed, "
                f"longest time between two that worked: {max(gaps, default=0) * 1000:.0f} ms")


def run_tool(lab, build, *args):
    uris = [word for host in lab.hosts() for word in ("--connect", host.uri)]
    return subprocess.run(lab.ctl_argv([build / "kvmig", args[0], *uris, *args[1:]]), check=False,
                          timeout=180).returncode


def demonstrate(lab, build):
    say("the lab: two hosts with libvirtd and QEMU, each in namespaces of its own")
    lab.up(hosts=2)
    run_tool(lab, build, "hosts")
    say("a guest that writes to a shared and a private disk and dirties memory")
    vm = lab.create_vm(VM, host="a", disks=["shared:16M", "private:32M"])
    vm.dirty(24, 20)
    before = vm.status()
    print(f"guest {VM} at {vm.ip}, boot id {before['boot_id']}")
    say("the plan")
    if run_tool(lab, build, "plan", VM, "--target", "kvmig-b", "--unsafe") != 0:
        return 1
    say("the migration")
    report_file = build / "demo-report.json"
    with Watcher(vm.ip, settings.GUEST_HTTP_PORT) as watcher:
        code = run_tool(lab, build, "migrate", VM, "--target", "kvmig-b", "--unsafe",
                        "--bandwidth", "64", "--report", report_file)
    if code != 0:
        return code
    say("the guest's service, seen by a client")
    print(watcher.report())
    say("where the guest is now")
    run_tool(lab, build, "where", VM, "--source", "kvmig-a", "--target", "kvmig-b")
    after, disks = vm.status(), vm.verify()
    same = after["boot_id"] == before["boot_id"]
    whole = all(d["complete"] for d in disks.values())
    print(f"boot id {'unchanged' if same else 'CHANGED'}, writes "
          f"{'complete' if whole else 'INCOMPLETE'}: "
          + ", ".join(f"{name} {d['records']} records" for name, d in disks.items()))
    say("the report")
    print(report_file.read_text())
    return 0 if same and whole else 1


def main():
    build, keep = Path(sys.argv[1]).resolve(), "--keep" in sys.argv[2:]
    lab = Lab()
    lab.down()
    started = time.monotonic()
    try:
        code = demonstrate(lab, build)
    finally:
        if not keep:
            lab.down()
    print(f"\n{'the guest was migrated' if code == 0 else 'the demo FAILED'}; lab and migration took "
          f"{time.monotonic() - started:.0f} s")
    return code


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    sys.exit(main())
