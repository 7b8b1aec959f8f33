# SPDX-License-Identifier: LGPL-2.1-or-later
"""Guests: their domain XML, their life in the lab, and talking to them.

Does not migrate them: tests do that with virsh or the library. A guest's
record (name, address, disks) lies in the lab's state folder; which host runs
it is always asked from the hosts.
"""
import json
import re
import shutil
import socket
import uuid
from xml.sax.saxutils import escape

from . import net, proc, settings, storage
from .errors import LabError

DOMAIN_XML = """\
<domain type='qemu'>
  <name>{name}</name>
  <uuid>{uuid}</uuid>
  <memory unit='MiB'>{memory}</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='pc-i440fx-7.2'>hvm</type>
    <kernel>{boot}/vmlinuz</kernel>
    <initrd>{boot}/initrd.img</initrd>
    <cmdline>console=ttyS0 quiet panic=1 mitigations=off {nics} kvmig.rate={rate}</cmdline>
  </os>
  <features><acpi/></features>
{cpu}  <clock offset='utc'/>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
{disks}{interfaces}    <serial type='file'><source path='{console}' append='on'/></serial>
    <memballoon model='virtio'/>
  </devices>
</domain>
"""
DISK_XML = """\
    <disk type='{type}' device='{device}'>
      <driver name='qemu' type='{format}' cache='{cache}'/>
      <source {attribute}='{path}'/>
      <target dev='{target}' bus='{bus}'/>
{readonly}    </disk>
"""
INTERFACE_XML = """\
    <interface type='bridge'>
      <mac address='{mac}'/>
      <source bridge='br0'/>
      <model type='virtio'/>
    </interface>
"""
# Without offloads: the userspace datapath passes on what a card left for others to complete.
OVN_INTERFACE_XML = """\
    <interface type='bridge'>
      <mac address='{mac}'/>
      <source bridge='br-int'/>
      <virtualport type='openvswitch'><parameters interfaceid='{lsp}'/></virtualport>
      <model type='virtio'/>
      <driver>
        <host csum='off' gso='off' tso4='off' tso6='off' ecn='off' ufo='off'/>
        <guest csum='off' tso4='off' tso6='off' ecn='off' ufo='off'/>
      </driver>
    </interface>
"""
# A tap that somebody else has made and plugged, as a CNI does for KubeVirt's launcher pods.
CNI_INTERFACE_XML = """\
    <interface type='ethernet'>
      <mac address='{mac}'/>
      <target dev='{tap}' managed='no'/>
      <model type='virtio'/>
      <driver>
        <host csum='off' gso='off' tso4='off' tso6='off' ecn='off' ufo='off'/>
        <guest csum='off' tso4='off' tso6='off' ecn='off' ufo='off'/>
      </driver>
    </interface>
"""
NETWORKS = ("bridge", "ovn", "cni")


def _disk_xml(disk):
    cdrom = disk["readonly"]
    return DISK_XML.format(
        type=disk["type"], device="cdrom" if cdrom else "disk", format=disk["format"],
        cache=disk["cache"], attribute="dev" if disk["type"] == "block" else "file",
        path=disk["path"], target=disk["target"], bus="ide" if cdrom else "virtio",
        readonly="      <readonly/>\n" if cdrom else "")


def _interfaces_xml(record):
    if record["ports"]:
        xml = CNI_INTERFACE_XML if record["network"] == "cni" else OVN_INTERFACE_XML
        return "".join(xml.format(**port) for port in record["ports"])
    return INTERFACE_XML.format(mac=record["mac"])


def _nics(record):
    """The guest's cards as words of its kernel's command line."""
    if record["ports"]:
        return " ".join(f"kvmig.nic=eth{i},{p['ip']}/24,{p['ip6']}/64" for i, p in enumerate(record["ports"]))
    return f"kvmig.nic=eth0,{record['ip']}/24"


def domain_xml(record, cpu_xml=None):
    cpu = f"  {cpu_xml.strip()}\n" if cpu_xml else ""
    return DOMAIN_XML.format(
        name=escape(record["name"]), uuid=record["uuid"], memory=record["memory"],
        boot=settings.BOOT, nics=_nics(record), rate=record["write_rate"], cpu=cpu,
        console=f"{settings.CONSOLE}/{record['name']}.log", interfaces=_interfaces_xml(record),
        disks="".join(_disk_xml(d) for d in record["disks"]))


def _folder():
    return settings.state_dir() / "vms"


def names():
    return sorted(p.stem for p in _folder().glob("*.json"))


def load_record(name):
    path = _folder() / f"{name}.json"
    if not path.exists():
        raise LabError(f"no guest {name}")
    return json.loads(path.read_text())


def _free_number():
    used = {load_record(n)["number"] for n in names()}
    for number in range(settings.FIRST_GUEST, settings.LAST_GUEST + 1):
        if number not in used:
            return number
    raise LabError("no free guest address")


def _plan_disks(name, disk_texts):
    letters = {"vd": iter("abcdefgh"), "hd": iter("abcd")}
    disks = []
    for spec in [storage.DiskSpec.parse(t) for t in disk_texts]:
        prefix = "hd" if spec.kind in storage.CDROM_KINDS else "vd"
        letter = next(letters[prefix], None)
        if letter is None:
            raise LabError("too many disks")
        disks.append(storage.plan_disk(name, spec, prefix + letter))
    return disks


def _plan_network(network, nics, number):
    """The addresses of a guest; with OVN each card has a port, whose name must be a UUID for libvirt."""
    if network not in NETWORKS:
        raise LabError(f"unknown network {network}: use one of {', '.join(NETWORKS)}")
    if network == "bridge":
        if nics != 1:
            raise LabError("only guests in OVN have more than one network card")
        return {"ip": f"{settings.GUEST_NET}{number}", "mac": f"52:54:00:98:00:{number:02x}", "ports": []}
    if not 1 <= nics <= len(settings.SWITCHES):
        raise LabError(f"nics must be 1 to {len(settings.SWITCHES)}")
    ports = [{"lsp": str(uuid.uuid4()), "tap": f"cni{number}n{i}", **settings.port_addresses(i, number)}
             for i in range(nics)]
    return {"ip": ports[0]["ip"], "ip6": ports[0]["ip6"], "mac": ports[0]["mac"], "ports": ports}


def plan(name, memory, disk_texts, write_rate, network="bridge", nics=1):
    """The record of a new guest; nothing is created yet."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,30}", name):
        raise LabError(f"guest name {name!r}: use a-z, 0-9 and '-', at most 31")
    disks = _plan_disks(name, disk_texts)
    number = _free_number()
    return {"name": name, "number": number, "uuid": str(uuid.uuid4()), "memory": memory,
            "network": network, **_plan_network(network, nics, number),
            "write_rate": write_rate, "disks": disks}


class Vm:
    """A guest of the lab. `hosts` is a function that gives the hosts up now."""

    def __init__(self, record, hosts):
        self.record = record
        self.name = record["name"]
        self.uuid = record["uuid"]
        self.ip = record["ip"]
        self.ip6 = record.get("ip6")
        self.disks = record["disks"]
        self.ports = record["ports"]
        self.client_ns = settings.CLIENT_NS if record["ports"] else settings.CONTROLLER_NS
        self._hosts = hosts

    # ---- life --------------------------------------------------------------

    def create(self, host, transient=False, paused=False, define_only=False, cpu_xml=None):
        """Create disks and record, then define and start the guest."""
        if transient and define_only:
            raise LabError("a transient guest cannot be defined only")
        xml = self.save(cpu_xml)
        for disk in self.disks:
            storage.create_disk(disk, host, self._hosts())
        storage.refresh_pools(host)
        inside = f"/run/{self.name}.xml"
        shutil.copy(xml, host.inside(inside))
        pause = ["--paused"] if paused else []
        if transient:
            host.virsh("create", inside, *pause, timeout=60)
            return
        host.virsh("define", inside)
        if not define_only:
            host.virsh("start", self.name, *pause, timeout=60)

    def save(self, cpu_xml=None):
        """Write the record and the domain XML down; returns the file of the latter."""
        _folder().mkdir(exist_ok=True)
        xml = _folder() / f"{self.name}.xml"
        xml.write_text(domain_xml(self.record, cpu_xml))
        (_folder() / f"{self.name}.json").write_text(json.dumps(self.record, indent=1))
        return xml

    def precreate(self, host):
        """Make empty target volumes for the private disks on `host`."""
        made = [d["path"] for d in self.disks if storage.precreate_disk(d, host)]
        storage.refresh_pools(host)
        return made

    def kill(self, host):
        """SIGKILL the guest's QEMU on one host."""
        pids = host.qemu_pids(self.name)
        if not pids:
            raise LabError(f"guest {self.name} has no QEMU on host {host.name}")
        proc.kill_and_wait(pids)

    def destroy(self):
        """Remove the guest from all hosts, its disks and its record."""
        for host in self._hosts():
            pids = host.qemu_pids(self.name)
            if host.daemon_state() == "running":
                for command in (["destroy"], ["undefine", "--managed-save"]):
                    host.virsh(*command, self.name, check=False, timeout=20)
            proc.kill_and_wait(pids)
        for disk in self.disks:
            storage.remove_disk(disk, self._hosts())
        for path in (*_folder().glob(f"{self.name}.*"),
                     settings.state_dir() / "console" / f"{self.name}.log"):
            path.unlink(missing_ok=True)

    # ---- facts -------------------------------------------------------------

    @property
    def lsp(self):
        """The logical switch port of the first card."""
        if not self.ports:
            raise LabError(f"guest {self.name} is not in OVN")
        return self.ports[0]["lsp"]

    def states(self):
        """{host: 'running (booted)' or the like, None when not known there}."""
        return {h.name: h.domain_state(self.name) for h in self._hosts()}

    def info(self):
        console = settings.state_dir() / "console" / f"{self.name}.log"
        return {**self.record, "states": self.states(),
                "qemu_pids": {h.name: h.qemu_pids(self.name) for h in self._hosts()},
                "http": f"http://{self.ip}:{settings.GUEST_HTTP_PORT}/",
                "echo": f"{self.ip}:{settings.GUEST_ECHO_PORT}", "console": str(console)}

    # ---- talking to the guest, as the controller (with OVN: the client) sees it ----

    def http(self, path, timeout=5.0, address=None):
        """GET from the guest; `address` is another one of its addresses."""
        return net.http_get_json(address or self.ip, settings.GUEST_HTTP_PORT, path, timeout, self.client_ns)

    def status(self, address=None):
        return self.http("/status", address=address)

    def verify(self):
        return self.http("/verify", timeout=30)

    def dirty(self, mb, rate):
        """Dirty `mb` MiB at `rate` MiB/s; dirty(0, 0) ends it."""
        return self.http(f"/dirty?mb={mb}&rate={rate}")

    def writes(self, rate):
        return self.http(f"/writes?rate={rate}")

    def _try_status(self):
        try:
            return self.status()
        except OSError:
            return None

    def wait_ready(self, timeout=60):
        """Wait until the guest answers HTTP; returns its status."""
        return proc.wait_until(self._try_status, f"HTTP answer of guest {self.name}", timeout)

    def echo(self, payload=b"kvmig", timeout=2.0, address=None):
        """Send bytes to the echo port; True when they come back."""
        with net.connect(address or self.ip, settings.GUEST_ECHO_PORT, timeout, self.client_ns) as sock:
            sock.sendall(payload)
            sock.shutdown(socket.SHUT_WR)
            back = b""
            while chunk := sock.recv(4096):
                back += chunk
        return back == payload
