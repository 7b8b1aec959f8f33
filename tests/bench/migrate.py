#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the library costs: `kvmig migrate` against `virsh migrate` on the same guest, the same hosts, in one run.

Migrates a guest back and forth, the two tools in turn, and prints medians and their ratio: wall time, CPU time and
peak memory of the client process. Nothing is asserted: the ratios are for people to watch.
usage: migrate.py BUILD-FOLDER [ROUNDS]
"""
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))

from kvmiglab import Lab  # noqa: E402

VM = "bench"


def measure(argv):
    """(wall seconds, CPU seconds, peak KiB) of one client process."""
    started = time.monotonic()
    process = subprocess.Popen([str(a) for a in argv], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{argv[-3:]}: exit {process.returncode}: {errors}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def commands(lab, build, source, target):
    hosts = [word for host in lab.hosts() for word in ("--connect", host.uri)]
    kvmig = [build / "kvmig", "migrate", *hosts, VM, "--target", target.hostname, "--unsafe"]
    virsh = ["virsh", "-q", "-c", source.uri, "migrate", "--live", "--p2p", "--persistent", "--undefinesource",
             "--unsafe", VM, target.uri]
    return {"kvmig": lab.ctl_argv(kvmig), "virsh": lab.ctl_argv(virsh)}


def run(lab, build, rounds):
    results = {"kvmig": [], "virsh": []}
    at, other = lab.host("a"), lab.host("b")
    for turn in range(2 * rounds):
        tool = ("kvmig", "virsh")[turn % 2]
        results[tool].append(measure(commands(lab, build, at, other)[tool]))
        at, other = other, at
    return results


def main():
    build, rounds = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 7
    lab = Lab()
    lab.down()
    try:
        lab.up(hosts=2)
        lab.create_vm(VM, host="a", disks=["shared:16M"])
        results = run(lab, build, rounds)
    finally:
        lab.down()
    for index, what in enumerate(("wall time, s", "client CPU time, s", "client peak memory, KiB")):
        medians = {tool: statistics.median(r[index] for r in rows) for tool, rows in results.items()}
        print(f"{what:26} kvmig {medians['kvmig']:10.3f}   virsh {medians['virsh']:10.3f}   "
              f"ratio {medians['kvmig'] / medians['virsh']:.2f}")


if __name__ == "__main__":
    main()
