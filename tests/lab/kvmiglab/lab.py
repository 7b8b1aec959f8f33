# SPDX-License-Identifier: LGPL-2.1-or-later
"""The lab as a whole: lock, state file, up, down, and access to its parts.

Only one lab can be up on a machine (its namespaces have fixed names).
"""
import contextlib
import fcntl
import json
import os
import shutil
import time

from . import guest, net, proc, settings, storage, tls, vm
from .errors import LabError
from .hosts import Host
from .ovn import Ovn

MARKER = ".kvmig-lab"


@contextlib.contextmanager
def lab_lock(timeout=120):
    """Only one command changes the lab at a time."""
    deadline = time.monotonic() + timeout
    settings.LOCK_FILE.parent.mkdir(parents=True, exist_ok=True)
    while True:
        fd = os.open(settings.LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # `down` removes the file: a lock on a removed file is worth nothing.
            if os.fstat(fd).st_ino == os.stat(settings.LOCK_FILE).st_ino:
                break
        except (BlockingIOError, FileNotFoundError):
            pass
        os.close(fd)
        if time.monotonic() > deadline:
            raise LabError("another lab command holds the lock " + str(settings.LOCK_FILE))
        time.sleep(0.1)
    try:
        yield
    finally:
        os.close(fd)


class Lab:
    """Everything a test needs; see README.md for examples."""

    def __init__(self):
        self.links = net.Links(self.host_names)
        self.ovn = Ovn(self.hosts, self.links)

    # ---- state file ---------------------------------------------------------

    @property
    def _state_file(self):
        return settings.state_dir() / "state.json"

    def _load(self):
        try:
            return json.loads(self._state_file.read_text())
        except (FileNotFoundError, ValueError):
            return {"hosts": {}}

    def _save(self, state):
        fresh = self._state_file.with_suffix(".new")
        fresh.write_text(json.dumps(state, indent=1))
        fresh.rename(self._state_file)

    def _recorded_hosts(self):
        return [Host(n, r) for n, r in sorted(self._load()["hosts"].items())]

    # ---- parts ----------------------------------------------------------------

    def hosts(self):
        """All hosts whose process 1 lives."""
        return [h for h in self._recorded_hosts() if h.alive()]

    def host_names(self):
        return [h.name for h in self.hosts()]

    def host(self, name):
        for host in self.hosts():
            if host.name == name:
                return host
        raise LabError(f"no host {name}; up now: {', '.join(self.host_names()) or 'none'}")

    def ctl_argv(self, argv):
        """The command line that runs `argv` in the controller namespace."""
        if not net.exists(settings.CONTROLLER_NS):
            raise LabError("the lab is not up")
        return ["ip", "netns", "exec", settings.CONTROLLER_NS, *[str(a) for a in argv]]

    def ctl(self, argv, timeout=proc.DEFAULT_TIMEOUT, check=True):
        return proc.run(self.ctl_argv(argv), timeout=timeout, check=check)

    # ---- up -------------------------------------------------------------------

    def _prepare_state_dir(self):
        folder = settings.state_dir()
        if not (folder / MARKER).exists():
            if net.lab_namespaces():
                raise LabError("parts of another lab are there; run `lab down` first")
            if folder.is_dir() and any(folder.iterdir()):
                raise LabError(f"{folder} is not empty and not a lab's folder")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / MARKER).touch()
        for sub in ("shared", "console", "hosts", "block", "vms"):
            (folder / sub).mkdir(exist_ok=True)

    def _boot_hosts(self, names):
        state = self._load()
        hosts = []
        for name in names:
            host = Host(name, state["hosts"].setdefault(name, {}))
            if not host.alive() and net.exists(host.ns):
                self._kill_members([host.ns])
            host.boot()
            self._save(state)
            hosts.append(host)
        return hosts

    def up(self, hosts=2, ovn=False):
        """Bring the lab up with at least `hosts` hosts; does only what is missing.

        A lab that has OVN keeps it; `ovn` adds it.
        """
        if os.geteuid() != 0:
            raise LabError("the lab needs root")
        if not 2 <= hosts <= len(settings.HOST_NAMES):
            raise LabError(f"hosts must be 2 to {len(settings.HOST_NAMES)}")
        with lab_lock():
            self._prepare_state_dir()
            guest.ensure_boot_files(settings.state_dir() / "boot")
            net.create_controller()
            wanted = set(settings.HOST_NAMES[:hosts]) | set(self._load()["hosts"])
            up = self._boot_hosts(sorted(wanted))
            tls.ensure(up)
            storage.create_markers([h.name for h in up])
            storage.attach_devices(up)
            for host in up:
                host.daemon_launch()
            if ovn or self.ovn.is_up:
                self.ovn.ensure()
            for host in up:
                host.daemon_wait()

    # ---- down -----------------------------------------------------------------

    def _kill_members(self, namespaces):
        inodes = {os.stat(settings.NETNS_DIR / ns).st_ino for ns in namespaces}
        proc.kill_and_wait(proc.pids_in_namespace("net", inodes))

    def down(self):
        """Remove everything, whatever state it is in."""
        with lab_lock():
            proc.kill_and_wait(h.pid for h in self.hosts())
            self._kill_members(net.lab_namespaces())
            for ns in net.lab_namespaces():
                net.delete_namespace(ns)
            net.remove_leftovers()
            folder = settings.state_dir()
            if folder.is_dir():
                storage.detach_all()
                if (folder / MARKER).exists():
                    shutil.rmtree(folder)
            settings.LOCK_FILE.unlink(missing_ok=True)

    # ---- status ---------------------------------------------------------------

    def status(self):
        hosts = {}
        for host in self._recorded_hosts():
            alive = host.alive()
            hosts[host.name] = {
                "alive": alive, "pid": host.pid, "hostname": host.hostname,
                "address": host.address, "uri": host.uri, "namespace": host.ns,
                "libvirtd": host.daemon_state() if alive else "gone",
                "libvirtd_pid": host.daemon_pid() if alive else None,
                "links": self.links.describe(host.name) if alive else None,
                "log": str(host.folder / "log/libvirtd.log")}
        folder = settings.state_dir()
        is_up = bool(hosts) and all(h["libvirtd"] == "running" for h in hosts.values())
        return {"up": is_up, "controller": settings.CONTROLLER_NS,
                "state_dir": str(folder), "hosts": hosts, "vms": vm.names(), "ovn": self.ovn.status(),
                "default_cache": storage.default_cache() if folder.is_dir() else None}

    # ---- guests ---------------------------------------------------------------

    def vm_names(self):
        return vm.names()

    def vm(self, name):
        return vm.Vm(vm.load_record(name), self.hosts)

    def create_vm(self, name, host="a", memory=256, disks=(), write_rate=20, transient=False,
                  paused=False, define_only=False, cpu_xml=None, wait=True, network="bridge", nics=1, pin=False):
        """Create a guest; an existing one of that name is returned as it is.

        network="ovn" puts its `nics` cards on logical switch ports; `pin` pins those to the host's chassis.
        """
        with lab_lock():
            if name in vm.names():
                return self.vm(name)
            on = self.host(host)
            made = vm.Vm(vm.plan(name, memory, disks, write_rate, network, nics), self.hosts)
            try:
                if made.ports:
                    self.ovn.add_vm_ports(made.record, host if pin else None)
                made.create(on, transient, paused, define_only, cpu_xml)
            except LabError:
                self._destroy(made)
                raise
        if wait and not paused and not define_only:
            made.wait_ready()
        return made

    def _destroy(self, guest_):
        guest_.destroy()
        if guest_.ports and self.ovn.is_up:
            self.ovn.remove_vm_ports(guest_.record)

    def destroy_vm(self, name):
        """Remove a guest; it is no error when there is none."""
        with lab_lock():
            if name in vm.names():
                self._destroy(self.vm(name))
