# SPDX-License-Identifier: LGPL-2.1-or-later
"""Running the `kvmig` tool in the lab, and the invariants that every test checks.

A Running is one running `kvmig ... --json`, and a Migration one that migrates; its events are read as they
come. Guest remembers what the guest and the hosts looked like before, and
proves afterwards where the guest is and that nothing was lost or left.
"""
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from kvmiglab import LabError, proc, settings

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("KVMIG_BUILD", REPOSITORY / "build"))
DEADLINE = 120
SUPPRESSIONS = REPOSITORY / "tests/sanitizers/lsan.supp"
ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=1:exitcode=99",
               "LSAN_OPTIONS": f"suppressions={SUPPRESSIONS}:print_suppressions=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
SUCCESS, FAILED, BLOCKED, CANCELLED, INDETERMINATE = 0, 1, 3, 4, 5


class CopyWatch:
    """I1 while a migration runs: looks at both hosts, over and over, for two running copies.

    The target is asked before the source. A guest only ever moves from source to target, so a target that runs
    and, asked later, a source that still runs, are two copies at once.
    """

    def __init__(self, vm_name, source, target):
        self.doubles, self.samples = [], 0
        self._vm, self._source, self._target = vm_name, source, target
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _state(self, host):
        try:
            return host.domain_state(self._vm) or "absent"
        except LabError as e:
            return f"not known: {e}"

    def _watch(self):
        while not self._stop.wait(0.25):
            target = self._state(self._target)
            source = self._state(self._source)
            self.samples += 1
            if target.startswith("running") and source.startswith("running"):
                self.doubles.append((target, source))

    def finish(self):
        self._stop.set()
        self._thread.join(90)
        assert not self.doubles, f"two running copies: {self.doubles}"


class Running:
    """A `kvmig ... --json` that runs, and the events that it printed so far."""

    def __init__(self, argv):
        self.events = []
        self._new = threading.Condition()
        # A runner in the background may have SIGINT ignored, and the tool respects that; these tests press Ctrl-C.
        self._process = subprocess.Popen(["env", "--default-signal=INT", *map(str, argv)],
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         text=True, env={**os.environ, **ENVIRONMENT})
        self._errors = []
        self._readers = [threading.Thread(target=self._read_events, daemon=True),
                         threading.Thread(target=self._read_errors, daemon=True)]
        for reader in self._readers:
            reader.start()

    def _read_events(self):
        for line in self._process.stdout:
            with self._new:
                self.events.append(json.loads(line))
                self._new.notify_all()
        with self._new:
            self._new.notify_all()

    def _read_errors(self):
        self._errors.extend(self._process.stderr)

    @property
    def stderr(self):
        return "".join(self._errors)

    def of_type(self, kind):
        return [e for e in self.events if e.get("type") == kind]

    def wait_for(self, condition, what, timeout=DEADLINE):
        """The first event that fulfils the condition."""
        deadline = time.monotonic() + timeout
        seen = 0
        with self._new:
            while True:
                for event in self.events[seen:]:
                    if condition(event):
                        return event
                seen = len(self.events)
                left = deadline - time.monotonic()
                if left <= 0 or (self._process.poll() is not None
                                 and not self._readers[0].is_alive()):
                    raise AssertionError(f"never seen: {what}; events: {self.events[-5:]}; "
                                         f"stderr: {self.stderr}")
                self._new.wait(min(left, 0.2))

    def wait_port(self, state, timeout=DEADLINE):
        """The first event that says this state of a port."""
        return self.wait_for(lambda e: e.get("port_state") == state, f"port {state}", timeout)

    def cancel(self):
        self._process.send_signal(signal.SIGINT)

    def kill(self):
        """SIGKILL: the calling process dies."""
        self._process.kill()
        self._process.wait(10)

    def running(self):
        return self._process.poll() is None

    def wait_end(self, timeout=DEADLINE):
        """Waits for the end; returns the exit code."""
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise AssertionError(f"no end after {timeout} s; events: {self.events[-5:]}; "
                                 f"stderr: {self.stderr}") from None
        for reader in self._readers:
            reader.join(10)
        assert code != 99, f"sanitizer: {self.stderr}"
        assert "runtime error" not in self.stderr, self.stderr
        return code


class Migration(Running):
    """One `kvmig migrate --json`; `watch` looks for two running copies meanwhile."""

    def __init__(self, argv, watch):
        self._watch = watch
        super().__init__(argv)

    def phases(self):
        return [e["phase"] for e in self.of_type("phase")]

    def wait_phase(self, phase, timeout=DEADLINE):
        return self.wait_for(lambda e: e.get("type") == "phase" and e["phase"] == phase,
                             f"phase {phase}", timeout)

    def wait_progress(self, condition, what, timeout=DEADLINE):
        return self.wait_for(lambda e: e.get("type") == "progress" and condition(e["progress"]),
                             what, timeout)

    def kill(self):
        super().kill()
        if self._watch:
            self._watch.finish()

    def finish(self, timeout=DEADLINE):
        """Waits for the end; returns (exit code, report)."""
        code = self.wait_end(timeout)
        self._watch.finish()
        self._check_stream()
        reports = self.of_type("report")
        return code, reports[-1] if reports else None

    def _check_stream(self):
        """One terminal event per session, and no session event after it."""
        session_events = [e for e in self.events if e.get("session") and e.get("type") != "report"]
        ends = [i for i, e in enumerate(session_events) if e.get("type") == "end"]
        if session_events:
            assert len(ends) == 1, f"{len(ends)} terminal events"
            assert ends[0] == len(session_events) - 1, session_events[ends[0] + 1:]


class Tool:
    """The tool under test, run inside the controller namespace."""

    def __init__(self, lab):
        self.lab = lab
        self._running = []

    def _argv(self, command, *args, hosts=None):
        uris = [h.uri for h in (hosts if hosts is not None else self.lab.hosts())]
        connect = [word for uri in uris for word in ("--connect", uri)]
        return self.lab.ctl_argv([BUILD / "kvmig", command, *connect, *args])

    def run(self, command, *args, hosts=None, timeout=60):
        """Runs a command to its end; returns (exit code, stdout, stderr)."""
        done = subprocess.run(self._argv(command, *args, hosts=hosts), capture_output=True,
                              text=True, timeout=timeout, stdin=subprocess.DEVNULL,
                              env={**os.environ, **ENVIRONMENT}, check=False)
        assert done.returncode != 99, done.stderr
        return done.returncode, done.stdout, done.stderr

    def run_local(self, command, *args, timeout=60):
        """The same of a command that asks no host."""
        return self.run(command, *args, hosts=[], timeout=timeout)

    def json(self, command, *args, hosts=None, timeout=60):
        code, out, err = self.run(command, *args, "--json", hosts=hosts, timeout=timeout)
        assert out, f"{command}: exit {code}: {err}"
        return code, json.loads(out)

    def start(self, vm, target, *options):
        name = vm if isinstance(vm, str) else vm.name
        watch = CopyWatch(name, self.lab.host("b" if target == "a" else "a"), self.lab.host(target))
        migration = Migration(self._argv("migrate", name, "--target", self.lab.host(target).hostname,
                                         "--json", *options), watch)
        self._running.append(migration)
        return migration

    def migrate(self, vm, target, *options, expect=SUCCESS):
        """Migrates and returns the report; the exit code must be the expected one."""
        migration = self.start(vm, target, *options)
        code, report = migration.finish()
        assert code == expect, f"exit {code}: {migration.events[-4:]} {migration.stderr}"
        return report

    def where(self, vm, *options, source="a", target="b"):
        """Hosts are named by URI: one that hangs has never told its name."""
        name = vm if isinstance(vm, str) else vm.name
        return self.json("where", name, "--source", self.lab.host(source).uri,
                         "--target", self.lab.host(target).uri, *options)

    def close(self):
        for migration in self._running:
            if migration.running():
                migration.kill()


class Guest:
    """What a guest looked like before, and the proof that it is the same afterwards."""

    def __init__(self, lab, vm, at="a"):
        self.lab, self.vm = lab, vm
        self.before = vm.status()
        self.files = {h.name: self._files(h) for h in lab.hosts()}
        self.definition = {h.name: self._is_persistent(h) for h in lab.hosts()}
        self.at = at

    def _files(self, host):
        listing = host.run(["find", settings.PRIVATE, settings.SHARED, "-type", "f"]).stdout
        return set(listing.split())

    def _is_persistent(self, host):
        return self.vm.name in host.virsh("list", "--all", "--persistent", "--name").split()

    def assert_running(self, at):
        """I1, I2: exactly one running copy, the same boot, no write lost."""
        other = "b" if at == "a" else "a"
        states = self.vm.states()
        assert states[at] is not None and states[at].startswith("running"), states
        assert not (states[other] or "").startswith(("running", "paused")), states
        assert len(self.lab.host(at).qemu_pids(self.vm.name)) == 1
        assert not self.lab.host(other).qemu_pids(self.vm.name)
        self.assert_same_guest()

    def assert_same_guest(self):
        after = self.vm.status()
        assert after["boot_id"] == self.before["boot_id"]
        assert after["uptime_ms"] >= self.before["uptime_ms"]
        proc.wait_until(lambda: all(self.vm.status()["seq"][d] > n for d, n in after["seq"].items()),
                        "new records after the migration", 20)
        for name, disk in self.vm.verify().items():
            assert disk["complete"] and disk["records"] >= self.before["seq"].get(name, 0), (name, disk)

    def assert_moved(self, to="b", persistent=True):
        """The guest runs there, and the other side holds nothing of it but copied disks."""
        other = "b" if to == "a" else "a"
        self.assert_running(to)
        assert self._is_persistent(self.lab.host(to)) is persistent
        assert self.vm.states()[other] is None, self.vm.states()
        # What was copied stays on the source by design; nothing else is there.
        assert self._files(self.lab.host(other)) == self.files[other]

    def assert_rolled_back(self):
        """I3, I5: all is as it was: guest, definitions, files."""
        other = "b" if self.at == "a" else "a"
        self.assert_running(self.at)
        assert self.vm.states()[other] is None, self.vm.states()
        for host in self.lab.hosts():
            assert self._is_persistent(host) is self.definition[host.name]
            assert self._files(host) == self.files[host.name]
            jobs = host.virsh("domjobinfo", self.vm.name, check=False)
            assert "MIGRATION" not in jobs.upper()


def wait_gone(condition, what, timeout=30):
    try:
        return proc.wait_until(condition, what, timeout)
    except LabError as e:
        raise AssertionError(str(e)) from e
