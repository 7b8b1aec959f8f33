# SPDX-License-Identifier: LGPL-2.1-or-later
"""Process 1 of a lab host: builds the host's own view of the machine.

Started by hosts.py as `ip netns exec NS python3 hostinit.py CONFIG`; makes
UTS and PID namespaces beside the network and mount namespaces that `ip netns
exec` gave, forks process 1, prints its pid as the outer world sees it, ends.
Process 1 mounts what CONFIG says and then only collects dead children. When
it is killed the kernel ends everything else in the host. It starts no daemon.
"""
import ctypes
import json
import os
import signal
import stat
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWPID = 0x00020000, 0x04000000, 0x20000000
MS_NOSUID, MS_NOEXEC, MS_NODEV = 2, 8, 4
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE, MS_RDONLY = 32, 4096, 16384, 1 << 18, 1
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "net/tun", "vhost-net",
           "userfaultfd")


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def mount(source, target, kind=None, flags=0, data=None):
    def text(value):
        return value.encode() if value is not None else None
    check(LIBC.mount(text(source), text(target), text(kind), flags, text(data)),
          f"mount {source} on {target}")


def bind(source_fd, target, read_only=False):
    mount(f"/proc/self/fd/{source_fd}", target, None, MS_BIND)
    if read_only:
        mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY)


def make_mount_point(source_fd, target):
    if stat.S_ISDIR(os.stat(f"/proc/self/fd/{source_fd}").st_mode):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))


def build_dev():
    """A private /dev without /dev/kvm and without the machine's disks."""
    wanted = {d: os.stat("/dev/" + d) for d in DEVICES if os.path.exists("/dev/" + d)}
    mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=755,size=1m")
    for folder in ("net", "pts", "shm", "kvmig"):
        os.mkdir("/dev/" + folder)
    for name, info in wanted.items():
        os.mknod("/dev/" + name, stat.S_IFCHR | 0o666, info.st_rdev)
    mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV)
    os.symlink("pts/ptmx", "/dev/ptmx")
    os.symlink("/proc/self/fd", "/dev/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", "/dev/" + name)


def build_mounts(config):
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    # Opened first: the mounts below may cover the folder they lie in.
    sources = [os.open(source, os.O_PATH) for source, _, _ in config["binds"]]
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    os.mkdir("/run/lock")
    build_dev()
    mount("tmpfs", "/srv", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    for source_fd, (_, target, read_only) in zip(sources, config["binds"], strict=True):
        make_mount_point(source_fd, target)
        bind(source_fd, target, read_only)
        os.close(source_fd)
    if os.path.isdir(config["hide"]):
        mount("tmpfs", config["hide"], "tmpfs", MS_NOSUID | MS_NODEV, "mode=700")


def collect_children():
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        signal.sigtimedwait([signal.SIGCHLD], 5)


def be_init(config, ready):
    os.setsid()
    os.chdir("/")
    os.umask(0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    name = config["hostname"].encode()
    check(LIBC.sethostname(name, len(name)), "sethostname")
    build_mounts(config)
    os.write(ready, b"ok")
    os.close(ready)
    os.umask(0o022)
    nothing = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    collect_children()


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        config = json.load(f)
    check(LIBC.unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWPID), "unshare")
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        be_init(config, writer)
    os.close(writer)
    if os.read(reader, 2) != b"ok":
        os.waitpid(pid, 0)
        return 1
    print(pid)
    return 0


if __name__ == "__main__":
    sys.exit(main())
