#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does the forecast hold? Real migrations in the lab, each predicted before it starts, over a matrix of guest memory, write rate,
working set, bandwidth limit and strategy.

A few migrations of a quiet guest come first; what the library learns from them (--learned) is all that it knows of the lab: link,
overheads, the guest's memory in use. Before each row the guest is told what to write; the tool is told the same as dirty rates, as
a caller would that knows its guest, and its forecast is noted. Then the migration runs. Nothing of a row is used before its
forecast. What is learned meanwhile goes on to count, as it would for any caller. Total time is that of the migrate call.

Guests that are not expected to end are aborted after a multiple of the first pass; of them only the verdict is judged.
usage: forecast.py BUILD-FOLDER [ROWS]     only the first ROWS rows
"""
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))

from kvmiglab import Lab  # noqa: E402

PRE, CONVERGE, POST = "pre-copy", "auto-converge", "post-copy"
OPTIONS = {PRE: [], CONVERGE: ["--auto-converge"], POST: ["--postcopy", "--postcopy-after-precopy"]}
SMALL, LARGE = 256, 384
# memory MiB, working set MiB, writes MiB/s, bandwidth limit MiB/s, strategy
MATRIX = [
    (SMALL, 0, 0, 8, PRE),
    (SMALL, 0, 0, 16, PRE),
    (SMALL, 16, 4, 8, PRE),
    (SMALL, 16, 8, 16, PRE),
    (SMALL, 32, 4, 12, PRE),
    (SMALL, 32, 8, 12, PRE),
    (SMALL, 64, 4, 16, PRE),
    (SMALL, 64, 8, 16, PRE),
    (SMALL, 64, 12, 24, PRE),
    (SMALL, 2, 24, 12, PRE),
    (SMALL, 96, 10, 24, PRE),
    (SMALL, 32, 24, 12, PRE),
    (SMALL, 64, 40, 16, PRE),
    (SMALL, 32, 8, 12, POST),
    (SMALL, 64, 24, 16, POST),
    (SMALL, 96, 40, 16, POST),
    (SMALL, 16, 30, 8, POST),
    (SMALL, 32, 8, 12, CONVERGE),
    (SMALL, 64, 6, 16, CONVERGE),
    (LARGE, 0, 0, 12, PRE),
    (LARGE, 64, 6, 16, PRE),
    (LARGE, 128, 8, 24, PRE),
    (LARGE, 128, 12, 24, PRE),
    (LARGE, 192, 6, 24, PRE),
    (LARGE, 192, 10, 32, PRE),
    (LARGE, 128, 40, 24, PRE),
    (LARGE, 128, 40, 24, POST),
    (LARGE, 192, 20, 32, POST),
    (LARGE, 48, 10, 16, PRE),
    (LARGE, 48, 10, 16, POST),
]
NEVER_S = 60
SETTLE_S = 1.5


class Bench:
    def __init__(self, lab, build, learned):
        self.lab, self.build, self.learned = lab, build, learned
        self.vms, self.at, self.base = {}, {}, {}

    def _argv(self, command, vm, target, cap, strategy, options):
        hosts = [word for host in self.lab.hosts() for word in ("--connect", host.uri)]
        limit = ["--bandwidth", str(cap)] if cap else []
        return self.lab.ctl_argv([self.build / "kvmig", command, *hosts, vm.name, "--target", target.hostname, "--unsafe",
                                  "--json", "--learned", self.learned, *limit, *OPTIONS[strategy], *options])

    def _run(self, argv, expect=(0,)):
        done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode not in expect:
            raise SystemExit(f"{argv}: exit {done.returncode}: {done.stderr} {done.stdout[-2000:]}")
        return done.stdout

    def vm(self, memory):
        if memory not in self.vms:
            self.vms[memory] = self.lab.create_vm(f"bench{memory}", host="a", memory=memory)
            self.at[memory] = "a"
        return self.vms[memory]

    def other(self, memory):
        return "b" if self.at[memory] == "a" else "a"

    def migrate(self, memory, cap, strategy, options, expect=(0,)):
        """The report of the migration."""
        vm, target = self.vm(memory), self.lab.host(self.other(memory))
        out = self._run(self._argv("migrate", vm, target, cap, strategy, options), expect)
        report = [json.loads(line) for line in out.splitlines() if '"type":"report"' in line.replace(" ", "")][-1]
        report = report.get("report", report)
        if report["outcome"] == "Succeeded":
            self.at[memory] = self.other(memory)
        return report

    def calibrate(self, memory):
        for cap in (0, 0, 32, 32):
            self.migrate(memory, cap, PRE, [])
        uuid = self.lab.host(self.at[memory]).virsh("domuuid", self.vm(memory).name).strip()
        known = json.loads(Path(self.learned).read_text())
        self.base[memory] = next(v["used_bytes"] for v in known["vms"] if v["uuid"] == uuid)

    def told(self, memory, working_set, rate):
        """What a caller knows of its guest: memory in use, and distinct bytes written over three windows."""
        used = [f"--used={round(self.base[memory] / 2**20 + working_set)}"]
        if not rate:
            return used + ["--dirty=1s=0", "--dirty=10s=0"]
        knee = working_set / rate
        windows = [(0.1 * min(knee, 1), rate), (knee, rate), (60, working_set / 60)]
        return used + [f"--dirty={round(s * 1000)}ms={r:.4f}" for s, r in windows] + [f"--working-set={working_set}"]

    def forecast(self, memory, cap, strategy, options):
        vm, target = self.vm(memory), self.lab.host(self.other(memory))
        plan = json.loads(self._run(self._argv("plan", vm, target, cap, strategy, options)))
        return plan["forecast"]["strategies"][strategy]

    def row(self, memory, working_set, rate, cap, strategy):
        vm = self.vm(memory)
        vm.dirty(working_set, rate)
        wait_written(vm, working_set)
        options = self.told(memory, working_set, rate)
        if strategy == CONVERGE:
            options.append("--measure")
        predicted = self.forecast(memory, cap, strategy, options)
        expected_s = predicted["total_ms"].get("expected", 0) / 1000
        limit_s = 3 * expected_s + 30 if predicted["converges"] else NEVER_S + 3 * (self.base[memory] / 2**20 + working_set) / cap
        report = self.migrate(memory, cap, strategy,
                              [o for o in options if o != "--measure"] + ["--migrate-timeout", f"{math.ceil(limit_s)}s"], (0, 1))
        vm.dirty(0, 0)
        measured_s = report["call_ms"] / 1000 if report["outcome"] == "Succeeded" else None
        return predicted, measured_s, report


def wait_written(vm, working_set):
    import time
    time.sleep(SETTLE_S)
    until = time.monotonic() + 30
    while working_set and time.monotonic() < until:
        state = vm.status()["dirty"]
        if state["mb"] == working_set and (state["passes"] > 0 or state["mb_per_s"] > 0):
            time.sleep(SETTLE_S)
            return
        time.sleep(0.3)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def show(rows):
    print(f"{'memory':>6} {'set':>4} {'writes':>6} {'limit':>5} {'strategy':14} {'ends: forecast':>14} {'real':>5} "
          f"{'total: forecast':>15} {'real':>7} {'error':>7} {'pause: forecast':>15} {'real':>6} {'MiB: forecast':>13} {'real':>6}")
    errors, wrong = [], 0
    for (memory, working_set, rate, cap, strategy), predicted, measured, report in rows:
        ends, ended = predicted["converges"], measured is not None
        wrong += ends != ended
        error = None
        if ends and ended:
            error = (predicted["total_ms"]["expected"] / 1000 - measured) / measured
            errors.append(abs(error))
        pause = report.get("pause", {}).get("source_ms")
        sent = report.get("memory", {}).get("sent")
        print(f"{memory:6} {working_set:4} {rate:6} {cap:5} {strategy:14} {'yes' if ends else 'no':>14} {'yes' if ended else 'no':>5} "
              f"{predicted['total_ms'].get('expected', 0) / 1000:15.1f} {measured or 0:7.1f} "
              f"{'' if error is None else f'{error:+.1%}':>7} {predicted['pause_ms'].get('expected', 0):15} "
              f"{pause if pause is not None else '':>6} {predicted['sent_bytes'].get('expected', 0) / 2**20:13.0f} "
              f"{(sent or 0) / 2**20:6.0f}", flush=True)
    if errors:
        print(f"{len(rows)} migrations; |forecast - real| / real of the total time: median {percentile(errors, 0.5):.1%}, "
              f"90th percentile {percentile(errors, 0.9):.1%}, worst {max(errors):.1%}; wrong verdicts: {wrong}")


def main():
    build = Path(sys.argv[1]).resolve()
    matrix = MATRIX[:int(sys.argv[2])] if len(sys.argv) > 2 else MATRIX
    lab, rows = Lab(), []
    lab.down()
    with tempfile.TemporaryDirectory() as folder:
        try:
            lab.up(hosts=2)
            bench = Bench(lab, build, Path(folder) / "learned.json")
            for row in matrix:
                if row[0] not in bench.base:
                    bench.vm(row[0])
                    bench.calibrate(row[0])
                    print(Path(bench.learned).read_text(), file=sys.stderr)
                rows.append((row, *bench.row(*row)))
                show(rows[-1:])
        finally:
            lab.down()
    print()
    show(rows)


if __name__ == "__main__":
    main()
