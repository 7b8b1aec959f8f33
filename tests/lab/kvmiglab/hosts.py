# SPDX-License-Identifier: LGPL-2.1-or-later
"""One lab host: its configuration files, its process 1 and its libvirtd.

Does not create networks (net.py) or volumes (storage.py), and keeps no state
of its own beyond the recorded pid of process 1.
"""
import json
import os
import signal
import subprocess
import sys
import uuid

from . import net, proc, settings
from .errors import LabError

QEMU = "/usr/bin/qemu-system-x86_64"
POOLS = {"shared": settings.SHARED, "private": settings.PRIVATE}
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
               "TERM": os.environ.get("TERM", "dumb")}
LIBVIRTD_CONF = """\
listen_tls = 0
listen_tcp = 1
listen_addr = "{address}"
auth_tcp = "none"
auth_unix_ro = "none"
auth_unix_rw = "none"
host_uuid = "{uuid}"
log_level = 3
log_outputs = "3:file:/var/log/libvirt/libvirtd.log"
"""
QEMU_CONF = """\
stdio_handler = "file"
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
cgroup_controllers = []
namespaces = []
migration_host = "{address}"
migrate_tls_x509_cert_dir = "/etc/libvirt/pki"
migrate_tls_x509_verify = 1
"""
POOL_XML = """\
<pool type='dir'><name>{name}</name><uuid>{uuid}</uuid>
<target><path>{path}</path></target></pool>
"""


class Host:
    """A host of the lab; `record` is its entry in the lab's state file."""

    def __init__(self, name, record):
        self.name = name
        self.record = record
        self.ns = settings.host_ns(name)
        self.hostname = "kvmig-" + name
        self.address = settings.host_address(name)
        self.uri = settings.host_uri(name)
        self.folder = settings.state_dir() / "hosts" / name

    # ---- process 1 --------------------------------------------------------

    @property
    def pid(self):
        return self.record.get("pid")

    def alive(self):
        return bool(self.pid) and proc.is_running(self.pid, self.record.get("start"))

    def _write_config(self):
        for sub in ("lib", "etc/storage/autostart", "etc/pki", "log", "cache", "private", "ovs"):
            (self.folder / sub).mkdir(parents=True, exist_ok=True)
        values = {"address": self.address, "uuid": settings.host_uuid(self.name)}
        etc = self.folder / "etc"
        (etc / "libvirtd.conf").write_text(LIBVIRTD_CONF.format(**values))
        (etc / "qemu.conf").write_text(QEMU_CONF.format(**values))
        for pool, path in POOLS.items():
            identity = uuid.uuid5(uuid.NAMESPACE_DNS, f"{pool}.{self.hostname}")
            (etc / f"storage/{pool}.xml").write_text(
                POOL_XML.format(name=pool, path=path, uuid=identity))
            link = etc / f"storage/autostart/{pool}.xml"
            if not link.is_symlink():
                link.symlink_to(f"/etc/libvirt/storage/{pool}.xml")

    def _binds(self):
        state = settings.state_dir()
        own = self.folder
        return [(str(own / "lib"), "/var/lib/libvirt", False),
                (str(own / "etc"), "/etc/libvirt", False),
                (str(own / "log"), "/var/log/libvirt", False),
                (str(own / "cache"), "/var/cache/libvirt", False),
                (str(own / "ovs"), settings.OVS_LOG, False),
                (str(own / "private"), settings.PRIVATE, False),
                (str(state / "shared"), settings.SHARED, False),
                (str(state / "console"), settings.CONSOLE, False),
                (str(state / "boot"), settings.BOOT, True),
                (QEMU, "/run/kvmig/qemu-system-x86_64", True),
                (str(settings.SOURCE_DIR / "host/qemu-system-x86_64"), QEMU, True)]

    def boot(self):
        """Start process 1 of the host; fills in `record`."""
        if self.alive():
            return
        self._write_config()
        net.create_host(self.name)
        config = self.folder / "init.json"
        config.write_text(json.dumps({
            "hostname": self.hostname, "binds": self._binds(),
            "hide": str(settings.state_dir())}))
        # Output goes to files: process 1 must not hold a pipe of ours open.
        log = self.folder / "init.log"
        with open(log, "w", encoding="utf-8") as out:
            code = subprocess.run(
                ["ip", "netns", "exec", self.ns, sys.executable, "-I",
                 os.path.join(os.path.dirname(__file__), "hostinit.py"), str(config)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=ENVIRONMENT,
                timeout=20, check=False).returncode
        text = log.read_text().strip()
        if code != 0 or not text.isdigit():
            raise LabError(f"host {self.name} does not start: {text}")
        self.record.update(pid=int(text), start=proc.start_time(int(text)))

    def crash(self):
        """End everything in the host at once; `lab up` boots it again."""
        if self.alive():
            proc.kill_and_wait([self.pid, *self.pids()])

    def pids(self):
        """All processes of the host, as the outer world numbers them."""
        if not self.alive():
            return []
        inode = proc.namespace_inode(self.pid, "pid")
        return [p for p in proc.pids_in_namespace("pid", {inode}) if p != self.pid]

    # ---- running things inside -------------------------------------------

    def enter_argv(self, argv):
        if not self.alive():
            raise LabError(f"host {self.name} is not up")
        settings_ = [f"{k}={v}" for k, v in ENVIRONMENT.items()]
        return ["nsenter", "-t", str(self.pid), "-m", "-u", "-n", "-p", "--wd=/",
                "env", "-i", *settings_, *[str(a) for a in argv]]

    def run(self, argv, timeout=proc.DEFAULT_TIMEOUT, check=True, input=None):
        return proc.run(self.enter_argv(argv), timeout=timeout, check=check, input=input)

    def virsh(self, *args, timeout=proc.DEFAULT_TIMEOUT, check=True):
        """Run virsh on the host itself; returns its output, stripped."""
        done = self.run(["virsh", "-q", "-c", "qemu:///system", *args], timeout, check)
        return done.stdout.strip()

    def inside(self, path):
        """The real path, seen from outside, of a path inside the host."""
        return f"/proc/{self.pid}/root{path}"

    # ---- libvirtd ---------------------------------------------------------

    def daemon_pid(self):
        """Outer pid of the host's libvirtd, or None."""
        for pid in self.pids():
            # Helpers that libvirtd forks look like it but have another parent.
            if (proc.parent_pid(pid) == self.pid and proc.is_running(pid)
                    and os.path.basename(proc.command_line(pid)[0]) == "libvirtd"):
                return pid
        return None

    def daemon_state(self):
        pid = self.daemon_pid()
        if pid is None:
            return "stopped"
        return "paused" if proc.state_letter(pid) == "T" else "running"

    def daemon_launch(self):
        """Start libvirtd without waiting for it to serve."""
        if self.daemon_pid() is None:
            self.run(["libvirtd", "-d", "-l"])

    def _serving(self):
        # Asked locally: a cut link must not make the daemon look dead.
        return self.run(["virsh", "-q", "-c", "qemu:///system", "pool-list", "--name"],
                        timeout=20, check=False).returncode == 0

    def daemon_start(self):
        self.daemon_launch()
        self.daemon_wait()

    def daemon_wait(self, timeout=60):
        if self.daemon_state() == "paused":
            raise LabError(f"libvirtd of host {self.name} is paused; continue it first")
        proc.wait_until(self._serving, f"libvirtd of host {self.name}", timeout)

    def _daemon_signal(self, number):
        pid = self.daemon_pid()
        if pid is None:
            raise LabError(f"libvirtd of host {self.name} does not run")
        proc.send_signal(pid, number)
        return pid

    def daemon_kill(self):
        """SIGKILL: as if libvirtd crashed; QEMU processes stay."""
        pid = self.daemon_pid()
        if pid is not None:
            proc.kill_and_wait([pid])

    def daemon_stop(self):
        """SIGTERM: an orderly end; QEMU processes stay."""
        if self.daemon_pid() is None:
            return
        self.daemon_continue()
        pid = self._daemon_signal(signal.SIGTERM)
        proc.wait_until(lambda: not proc.is_running(pid), "end of libvirtd", 30)

    def daemon_restart(self):
        self.daemon_stop()
        self.daemon_start()

    def daemon_pause(self):
        """SIGSTOP: the host's libvirtd hangs but keeps its connections."""
        pid = self._daemon_signal(signal.SIGSTOP)
        proc.wait_until(lambda: proc.state_letter(pid) == "T", "stop of libvirtd", 5)

    def daemon_continue(self):
        self._daemon_signal(signal.SIGCONT)

    def daemon(self, action):
        actions = {"kill": self.daemon_kill, "stop": self.daemon_stop,
                   "start": self.daemon_start, "restart": self.daemon_restart,
                   "pause": self.daemon_pause, "continue": self.daemon_continue}
        if action not in actions:
            raise LabError(f"unknown action {action}: use one of {', '.join(actions)}")
        actions[action]()

    # ---- guests on this host ----------------------------------------------

    def qemu_pids(self, vm_name):
        """Outer pids of the QEMU processes of a guest on this host."""
        return [p for p in self.pids()
                if any(a.startswith(f"guest={vm_name},") for a in proc.command_line(p))]

    def domain_state(self, vm_name):
        """'running (booted)' and the like; None when libvirtd does not know it."""
        daemon = self.daemon_state()
        if daemon != "running":
            return f"unknown (libvirtd {daemon})"
        done = self.run(["virsh", "-q", "-c", "qemu:///system", "domstate", "--reason", vm_name],
                        check=False)
        return done.stdout.strip() if done.returncode == 0 else None
