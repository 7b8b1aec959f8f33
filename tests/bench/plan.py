#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How fast large clusters are loaded and planned on, against a typed Go client that only decodes the same files, in one run.

Writes a synthetic cluster (plan/generate.c), has it loaded by the library (plan/measure.c) and decoded by Go (plan/decode), each on one
core and in turns, and then planned on: one VM over all nodes, a drain of the first node, every VM. Then the same with half of the nodes and
half of the VMs, to show how costs grow: what a VM costs to load must stay about the same, and what it costs to plan must not grow faster
than the nodes. Prints a table of medians with their goals; exit status 1: one is missed. The goals are those for 10000 nodes and 100000
VMs. Without Go, or without its modules, the ratios are left out.
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


def generate_into(generate, folder, nodes, vms):
    subprocess.run([generate, folder, str(nodes), str(vms), str(min(VMS_OF_THE_DRAIN, vms))], check=True)


def load_in_turns(cluster, measure, decode):
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(measured([measure, cluster, "load"]))
        if decode:
            theirs.append(measured([decode, cluster]))
    return ours, theirs


def median(runs, key):
    return statistics.median(run[key] for run in runs)


class Table:
    """Figures beside their goals."""

    def __init__(self):
        self.missed = []
        print(f"{'':34}{'measured':>12}  {'goal':>10}")

    def add(self, name, value, unit, goal=None, at_least=False):
        met = goal is None or (value >= goal if at_least else value <= goal)
        told = f"{'>=' if at_least else '<='} {goal:g}" if goal is not None else ""
        print(f"{name:34}{value:12.3f}  {told:>10} {unit}{'' if met else '   MISSED'}", flush=True)
        if not met:
            self.missed.append(name)


def tell_loading(table, ours, theirs):
    cpu, peak = median(ours, "cpu_s"), median(ours, "peak_kib")
    table.add("load", cpu, "s of CPU")
    table.add("load, peak of memory", peak / 1024, "MiB")
    if theirs:
        go_cpu, go_peak = median(theirs, "cpu_s"), median(theirs, "peak_kib")
        table.add("Go decodes the same", go_cpu, "s of CPU")
        table.add("Go, peak of memory", go_peak / 1024, "MiB")
        table.add("load against Go", go_cpu / cpu, "times as fast", 3, at_least=True)
        table.add("memory against Go", peak / go_peak, "of it", round(1 / 3, 3))


def tell_planning(table, figures):
    table.add("plan of one VM over all nodes", figures["plan_ms"], "ms of CPU", 1)
    table.add("  9 of 10 within", figures["plan_p90_ms"], "ms of CPU")
    table.add("  the first, with what all share", figures["first_plan_ms"], "ms of CPU")
    table.add(f"drain of a node with {VMS_OF_THE_DRAIN} VMs", figures["drain_ms"], "ms of CPU", 50)
    table.add(f"plan --all, {figures['plans']} VMs", figures["plan_all_s"], "s of CPU", 20)


def tell_growth(table, whole, half):
    """Twice the cluster against half of it, per VM."""
    table.add("load per VM, of half the cluster", (whole["cpu_s"] / whole["vms"]) / (half["cpu_s"] / half["vms"]),
              "times", 1.3)
    table.add("plan per VM, of half the nodes", (whole["plan_all_s"] / whole["plans"]) /
              (half["plan_all_s"] / half["plans"]), "times", 2.3)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate, measure, decode = build(folder)
        cluster = folder / "cluster"
        half = folder / "half"
        generate_into(generate, cluster, NODES, VMS)
        generate_into(generate, half, NODES // 2, VMS // 2)
        size = sum(path.stat().st_size for path in cluster.iterdir())
        print(f"{NODES} nodes, {VMS} VMs with pods and claims: {size / 2**20:.0f} MiB of JSON; medians of {ROUNDS}")
        table = Table()
        ours, theirs = load_in_turns(cluster, measure, decode)
        tell_loading(table, ours, theirs)
        whole = measured([measure, cluster])
        tell_planning(table, whole)
        tell_growth(table, whole | {"cpu_s": median(ours, "cpu_s")},
                    measured([measure, half]) | {"cpu_s": measured([measure, half, "load"])["cpu_s"]})
    if table.missed:
        print(f"missed: {', '.join(name.strip() for name in table.missed)}")
    sys.exit(1 if table.missed else 0)


if __name__ == "__main__":
    main()
