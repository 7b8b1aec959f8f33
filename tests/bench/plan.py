#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How fast large clusters are loaded and planned on, against a typed Go client that only decodes the same files, in one run.

Writes a synthetic cluster (plan/generate.c), has it loaded by the library (plan/measure.c) and decoded by Go (plan/decode), each on one
core and in turns, and then planned on: one VM over all nodes, a drain of the first node, every VM. Nothing is asserted: medians and
their ratios are for people to watch. Without Go, or without its modules, the ratios are left out.
usage: plan.py BUILD-FOLDER [NODES VMS [ROUNDS]]
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent / "plan"
BUILD = Path(sys.argv[1]).resolve()
NODES, VMS = (int(word) for word in sys.argv[2:4]) if len(sys.argv) > 3 else (10000, 100000)
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 3
VMS_OF_THE_DRAIN = 200
ONE_CORE = ["taskset", "-c", str(max(os.sched_getaffinity(0)))] if shutil.which("taskset") else []


def measured(argv):
    run = subprocess.run([*ONE_CORE, *map(str, argv)], check=True, stdout=subprocess.PIPE, timeout=3600)
    return json.loads(run.stdout)


def build(folder):
    programs = ["tests/bench/plan/generate", "tests/bench/plan/measure"]
    subprocess.run(["make", "-s", "-C", BUILD, *programs], check=True)
    decode = folder / "decode"
    try:
        subprocess.run(["go", "build", "-o", decode, "."], cwd=HERE / "decode", check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no Go client to compare with: {error}", file=sys.stderr)
        decode = None
    return BUILD / programs[0], BUILD / programs[1], decode


def load_in_turns(cluster, measure, decode):
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(measured([measure, cluster, "load"]))
        if decode:
            theirs.append(measured([decode, cluster]))
    return ours, theirs


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def tell_loading(ours, theirs):
    cpu, peak = median(ours, "cpu_s"), median(ours, "peak_kib")
    print(f"load          {cpu:8.2f} s of CPU   {peak / 1024:8.0f} MiB at most")
    if theirs:
        go_cpu, go_peak = median(theirs, "cpu_s"), median(theirs, "peak_kib")
        print(f"  Go          {go_cpu:8.2f} s of CPU   {go_peak / 1024:8.0f} MiB at most")
        print(f"  ratio       {go_cpu / cpu:8.2f} times as fast, with {peak / go_peak:.2f} of the memory")


def tell_planning(figures):
    print(f"one VM        {figures['plan_ms']:8.3f} ms (9 of 10 below {figures['plan_p90_ms']:.3f}, the first one"
          f" {figures['first_plan_ms']:.1f})")
    print(f"drain         {figures['drain_ms']:8.1f} ms: {figures['drain_moves']} VMs move,"
          f" {figures['drain_immovable']} cannot")
    print(f"all VMs       {figures['plan_all_s']:8.1f} s: {figures['plans']} plans, {figures['blocked']} of them blocked")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate, measure, decode = build(folder)
        cluster = folder / "cluster"
        subprocess.run([generate, cluster, str(NODES), str(VMS), str(VMS_OF_THE_DRAIN)], check=True)
        size = sum(path.stat().st_size for path in cluster.iterdir())
        print(f"{NODES} nodes, {VMS} VMs with pods and claims: {size / 2**20:.0f} MiB of JSON; medians of {ROUNDS}")
        tell_loading(*load_in_turns(cluster, measure, decode))
        tell_planning(measured([measure, cluster]))


if __name__ == "__main__":
    main()
