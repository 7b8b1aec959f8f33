#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does the forecast hold? Real migrations in the lab, each predicted before it starts, over a matrix of guest memory, write rate,
working set, bandwidth limit and strategy.

A few migrations of a quiet guest come first; what the library learns from them (--learned) is all that it knows of the lab: link,
overheads, the guest's memory in use. Before each row the guest is told what to write; the tool is told what the guest then says that it
writes, as dirty rates, as a caller would that knows its guest (or it measures, or takes what the row before taught), and its forecast is
noted. Then the migration runs. Nothing of a row is used before its forecast. What is learned meanwhile goes on to count, as it would for
any caller. Total time is that of the migrate call.

Guests that are not expected to end are aborted after a multiple of the first pass; of them only the verdict is judged.
usage: forecast.py BUILD-FOLDER [ROWS [FILE]]     only the first ROWS rows; FILE takes all that was told, forecast and measured
"""
import json
import math
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))

from kvmiglab import Lab  # noqa: E402

PRE, CONVERGE, POST = "pre-copy", "auto-converge", "post-copy"
OPTIONS = {PRE: [], CONVERGE: ["--auto-converge"], POST: ["--postcopy", "--postcopy-after-precopy"]}
SMALL, LARGE = 256, 384
# memory MiB, working set MiB, writes MiB/s, bandwidth limit MiB/s, strategy, and where it is known from what the guest writes: LEARNED:
# it wrote the same in the row before; MEASURED: by libvirt, just before; else told.
TOLD, LEARNED, MEASURED = "told", "learned", "measured"
MATRIX = [
    (SMALL, 0, 0, 16, PRE),
    (SMALL, 0, 0, 32, PRE),
    (SMALL, 16, 8, 16, PRE),
    (SMALL, 32, 4, 16, PRE),
    (SMALL, 32, 10, 24, PRE),
    (SMALL, 64, 4, 24, PRE),
    (SMALL, 64, 8, 16, PRE),
    (SMALL, 64, 12, 24, PRE),
    (SMALL, 64, 12, 32, PRE, LEARNED),
    (SMALL, 2, 24, 16, PRE),
    (SMALL, 64, 12, 24, PRE, MEASURED),
    (SMALL, 80, 10, 24, PRE),
    (SMALL, 32, 30, 16, PRE),
    (SMALL, 64, 40, 24, PRE),
    (SMALL, 32, 8, 16, POST),
    (SMALL, 64, 30, 24, POST),
    (SMALL, 16, 30, 16, POST),
    (SMALL, 32, 8, 16, CONVERGE),
    (SMALL, 64, 4, 24, CONVERGE),
    (SMALL, 32, 30, 24, CONVERGE),
    (SMALL, 32, 40, 32, CONVERGE),
    (LARGE, 0, 0, 24, PRE),
    (LARGE, 64, 6, 24, PRE),
    (LARGE, 128, 8, 24, PRE),
    (LARGE, 128, 8, 32, PRE, LEARNED),
    (LARGE, 128, 16, 32, PRE),
    (LARGE, 128, 16, 32, PRE, MEASURED),
    (LARGE, 192, 6, 32, PRE),
    (LARGE, 192, 10, 32, PRE),
    (LARGE, 128, 50, 32, PRE),
    (LARGE, 128, 50, 32, POST),
    (LARGE, 192, 20, 32, POST),
    (LARGE, 48, 10, 24, PRE),
    (LARGE, 48, 10, 32, PRE, LEARNED),
    (LARGE, 48, 10, 24, POST),
    (LARGE, 48, 10, 24, PRE, MEASURED),
]
SETTLE_S = 1.5
LOOK_S = 3


class Bench:
    def __init__(self, lab, build, learned, raw):
        self.lab, self.build, self.learned, self.raw = lab, build, learned, raw
        self.vms, self.at = {}, {}

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
        """The guest touches as much as it ever will, so that what is in use stays the same; then it moves, quiet."""
        most = max(row[1] for row in MATRIX if row[0] == memory)
        self.vm(memory).dirty(most, most)
        wait_written(self.vm(memory), most)
        self.vm(memory).dirty(0, 0)
        for cap in (32, 32, 0, 0):
            self.migrate(memory, cap, PRE, [])

    def told(self, working_set, rate):
        """What a caller knows of its guest: distinct bytes written in windows. The rate is what the guest writes, not what it was asked."""
        if not rate:
            return ["--dirty=1s=0", "--dirty=10s=0"]
        knee = working_set / rate
        windows = [(0.1 * min(knee, 1), rate), (knee, rate), (60, working_set / 60)]
        return [f"--dirty={round(s * 1000)}ms={r:.4f}" for s, r in windows] + [f"--working-set={working_set}"]

    def forecast(self, memory, cap, strategy, options):
        vm, target = self.vm(memory), self.lab.host(self.other(memory))
        plan = json.loads(self._run(self._argv("plan", vm, target, cap, strategy, options)))
        return plan["forecast"]

    def row(self, memory, working_set, rate, cap, strategy, source=TOLD):
        vm = self.vm(memory)
        vm.dirty(working_set, rate)
        wait_written(vm, working_set)
        real_rate = written(vm, LOOK_S) if working_set else 0
        options = self.told(working_set, real_rate) if source == TOLD else []
        if strategy == CONVERGE or source == MEASURED:
            options.append("--measure")
        plan = self.forecast(memory, cap, strategy, options)
        predicted = plan["strategies"][strategy]
        first_s = plan["inputs"]["used_bytes"] / 2**20 / cap
        limit_s = 3 * predicted["total_ms"].get("expected", 0) / 1000 + 30 if predicted["converges"] else 4 * first_s
        known = Path(self.learned).read_text()
        watch = Watch(vm)
        report = self.migrate(memory, cap, strategy, [o for o in options if o != "--measure"] +
                              ["--migrate-timeout", f"{math.ceil(limit_s)}s"], (0, 1))
        during = watch.end()
        vm.dirty(0, 0)
        self.note(row=(memory, working_set, rate, cap, strategy), source=source, rate=real_rate, during=during, plan=plan, report=report,
                  known=json.loads(known))
        measured_s = report["call_ms"] / 1000 if report["outcome"] == "Succeeded" else None
        return predicted, measured_s, report

    def note(self, **what):
        if self.raw:
            with open(self.raw, "a", encoding="utf-8") as file:
                file.write(json.dumps(what) + "\n")


class Watch:
    """The guest's own count of what it writes, while it moves."""

    def __init__(self, vm):
        self.vm, self.seen, self.over = vm, [], threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.over.wait(1):
            try:
                state = self.vm.http("/status", timeout=0.5)
            except OSError:
                continue
            self.seen.append((state["uptime_ms"] / 1000, state["dirty"]["pages"] / 256))

    def end(self):
        self.over.set()
        self.thread.join()
        return self.seen


def written(vm, seconds):
    """MiB/s, by the guest's own count and clock."""
    before = vm.status()
    time.sleep(seconds)
    after = vm.status()
    return (after["dirty"]["pages"] - before["dirty"]["pages"]) / 256 * 1000 / (after["uptime_ms"] - before["uptime_ms"])


def wait_written(vm, working_set):
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
    print(f"{'memory':>6} {'set':>4} {'writes':>6} {'limit':>5} {'strategy':14} {'writes are':10} {'ends: forecast':>14} {'real':>5} "
          f"{'total: forecast':>15} {'real':>7} {'error':>7} {'pause: forecast':>15} {'real':>6} {'MiB: forecast':>13} {'real':>6}")
    errors, wrong = {}, 0
    for (memory, working_set, rate, cap, strategy, *source), predicted, measured, report in rows:
        ends, ended = predicted["converges"], measured is not None
        wrong += ends != ended
        error = None
        if ends and ended:
            error = (predicted["total_ms"]["expected"] / 1000 - measured) / measured
            errors.setdefault((source or [TOLD])[0], []).append(abs(error))
        pause = report.get("pause", {}).get("source_ms")
        sent = report.get("memory", {}).get("sent")
        print(f"{memory:6} {working_set:4} {rate:6} {cap:5} {strategy:14} {(source or [TOLD])[0]:10} {'yes' if ends else 'no':>14} "
              f"{'yes' if ended else 'no':>5} {predicted['total_ms'].get('expected', 0) / 1000:15.1f} {measured or 0:7.1f} "
              f"{'' if error is None else f'{error:+.1%}':>7} {predicted['pause_ms'].get('expected', 0):15} "
              f"{pause if pause is not None else '':>6} {predicted['sent_bytes'].get('expected', 0) / 2**20:13.0f} "
              f"{(sent or 0) / 2**20:6.0f}", flush=True)
    every = sum(errors.values(), [])
    for name, some in [*errors.items(), ("all", every)] if every else []:
        print(f"{name:8}: {len(some)} that ended; |forecast - real| / real of the total time: median {percentile(some, 0.5):.1%}, "
              f"90th percentile {percentile(some, 0.9):.1%}, worst {max(some):.1%}")
    print(f"{len(rows)} migrations, {wrong} wrong verdicts")


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    build = Path(sys.argv[1]).resolve()
    matrix = MATRIX[:int(sys.argv[2])] if len(sys.argv) > 2 else MATRIX
    lab, rows = Lab(), []
    lab.down()
    with tempfile.TemporaryDirectory() as folder:
        try:
            lab.up(hosts=2)
            bench = Bench(lab, build, Path(folder) / "learned.json", sys.argv[3] if len(sys.argv) > 3 else None)
            for row in matrix:
                if row[0] not in bench.vms:
                    bench.vm(row[0])
                    bench.calibrate(row[0])
                rows.append((row, *bench.row(*row)))
                show(rows[-1:])
        finally:
            lab.down()
    print()
    show(rows)


if __name__ == "__main__":
    main()
