# SPDX-License-Identifier: LGPL-2.1-or-later
"""Running commands, waiting for conditions, and finding and ending processes.

A process belongs to the lab when its recorded pid still has the recorded
start time, or when it lives in one of the lab's network or pid namespaces.
Nothing here selects processes by name over the whole machine.
"""
import os
import signal
import subprocess
import time

from .errors import LabError

DEFAULT_TIMEOUT = 30


def run(argv, timeout=DEFAULT_TIMEOUT, check=True, input=None, cwd=None):
    """Run a command and return the CompletedProcess with text output."""
    argv = [str(a) for a in argv]
    env = {**os.environ, "LC_ALL": "C.UTF-8",
           "PATH": os.environ.get("PATH", "/usr/bin") + ":/usr/sbin:/sbin"}
    stdin = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=timeout, cwd=cwd, env=env, **stdin)
    except subprocess.TimeoutExpired as e:
        raise LabError(f"no end after {timeout} s: {' '.join(argv)}") from e
    except FileNotFoundError as e:
        raise LabError(f"command not found: {argv[0]}") from e
    if check and done.returncode != 0:
        text = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise LabError(f"{' '.join(argv)}: exit {done.returncode}: {text}")
    return done


def wait_until(condition, what, timeout, step=0.05):
    """Poll `condition` until it gives a true value; return that value."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise LabError(f"not within {timeout} s: {what}")
        time.sleep(step)


def _stat_fields(pid):
    """Fields of /proc/PID/stat after the command name, or None."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def start_time(pid):
    fields = _stat_fields(pid)
    return int(fields[19]) if fields else None


def state_letter(pid):
    fields = _stat_fields(pid)
    return fields[0] if fields else None


def is_running(pid, started=None):
    """True when the pid is a live process (with that start time, if given)."""
    fields = _stat_fields(pid)
    if not fields or fields[0] in "ZX":
        return False
    return started is None or int(fields[19]) == started


def namespace_inode(pid, kind):
    try:
        return os.stat(f"/proc/{pid}/ns/{kind}").st_ino
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def pids_in_namespace(kind, inodes):
    return [p for p in all_pids() if namespace_inode(p, kind) in inodes]


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return [""]


def parent_pid(pid):
    fields = _stat_fields(pid)
    return int(fields[1]) if fields else None


def send_signal(pid, number):
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


def own_ancestry():
    """Own pid and those of all parents: never to be killed by a sweep."""
    chain, pid = set(), os.getpid()
    while pid > 0 and pid not in chain:
        chain.add(pid)
        pid = parent_pid(pid) or 0
    return chain


def kill_and_wait(pids, timeout=15):
    """SIGKILL the processes and wait until all of them are gone."""
    victims = {p: start_time(p) for p in set(pids) - own_ancestry()}
    victims = {p: s for p, s in victims.items() if s is not None}
    for pid in victims:
        send_signal(pid, signal.SIGKILL)
    wait_until(lambda: not any(is_running(p, s) for p, s in victims.items()),
               f"end of processes {sorted(victims)}", timeout, step=0.02)
