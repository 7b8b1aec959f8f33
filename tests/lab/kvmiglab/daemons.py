# SPDX-License-Identifier: LGPL-2.1-or-later
"""One daemon of OVS or OVN: start, find, hang, kill.

It is found by its pid file's name on its command line, among the processes of
its network namespace only. What a daemon is told to do is not known here.
"""
import contextlib
import os
import signal

from . import proc, settings
from .errors import LabError

ACTIONS = ("kill", "stop", "start", "restart", "pause", "resume")


class Daemon:
    """`program` lists the command line without the common options.

    `run` runs a command where the daemon lives; `folder` and `log_folder` are
    the daemon's folders as it sees them itself.
    """

    def __init__(self, name, ns, run, folder, log_folder, program):
        self.name = name
        self.ns = ns
        self._run = run
        self._program = program
        # ovn-controller cannot be told its control socket: its pid file leads to it.
        named = program[0] != "ovn-controller"
        self._control = f"{folder}/{name}.ctl" if named else name
        self._control_option = [f"--unixctl={self._control}"] if named else []
        self._pidfile = f"--pidfile={folder}/{name}.pid"
        self._log = f"--log-file={log_folder}/{name}.log"

    def pid(self):
        """The pid as the outer world sees it, or None."""
        try:
            inode = os.stat(settings.NETNS_DIR / self.ns).st_ino
        except FileNotFoundError:
            return None
        for pid in proc.pids_in_namespace("net", {inode}):
            if self._pidfile in proc.command_line(pid) and proc.is_running(pid):
                return pid
        return None

    def state(self):
        pid = self.pid()
        if pid is None:
            return "stopped"
        return "paused" if proc.state_letter(pid) == "T" else "running"

    def start(self):
        """Start it if it does not run; returns when it is ready to serve."""
        if self.pid() is not None:
            return
        program, *rest = self._program
        self._run([program, "--detach", "--no-chdir", self._pidfile, self._log,
                   *self._control_option, "-vconsole:off", *rest])

    def kill(self):
        """SIGKILL: as if it crashed."""
        pid = self.pid()
        if pid is not None:
            proc.kill_and_wait([pid])

    def stop(self):
        """An orderly end; ovn-controller takes its chassis out of the southbound database."""
        pid = self.pid()
        if pid is None:
            return
        self.resume()
        self.appctl("exit")
        proc.wait_until(lambda: not proc.is_running(pid), f"end of {self.name}", 15)

    def restart(self):
        """Kill it and start it again."""
        self.kill()
        self.start()

    def pause(self):
        """SIGSTOP: it hangs but keeps its connections."""
        pid = self.pid()
        if pid is None:
            raise LabError(f"{self.name} does not run")
        proc.send_signal(pid, signal.SIGSTOP)
        proc.wait_until(lambda: proc.state_letter(pid) == "T", f"stop of {self.name}", 5)

    def resume(self):
        pid = self.pid()
        if pid is not None:
            proc.send_signal(pid, signal.SIGCONT)

    @contextlib.contextmanager
    def paused(self):
        """For `with`: it hangs inside the block."""
        self.pause()
        try:
            yield self
        finally:
            self.resume()

    def heal(self):
        """Running again, whatever was done to it."""
        self.resume()
        self.start()

    def appctl(self, *args):
        return self._run(["ovs-appctl", "-t", self._control, *args]).stdout.strip()

    def act(self, action):
        if action not in ACTIONS:
            raise LabError(f"unknown action {action}: use one of {', '.join(ACTIONS)}")
        getattr(self, action)()
