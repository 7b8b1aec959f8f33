# SPDX-License-Identifier: LGPL-2.1-or-later
"""Disks of the lab: files in the two pools, block devices on loop devices.

The kinds are listed in KINDS. Block devices appear only in the hosts' own
/dev/kvmig. Does not tell libvirt about volumes except by refreshing pools.
"""
import dataclasses
import json
import os
import random
import re
import stat

from . import settings
from .errors import LabError
from .proc import run

KINDS = {
    "shared": "file that all hosts share",
    "private": "file on the first host only, at a path that all hosts have",
    "backed": "qcow2 overlay on the first host; its base file is on every host",
    "sharedblk": "block device, the same one on all hosts",
    "localblk": "block device at the same path on all hosts, but a different one on each",
    "cdrom": "read-only image that all hosts share",
    "cdrom-private": "read-only image on the first host only",
}
BLOCK_KINDS = {"sharedblk": "shared", "localblk": "local"}
CDROM_KINDS = {"cdrom": "shared", "cdrom-private": "private"}
CACHES = ("none", "writethrough", "writeback", "directsync", "unsafe", "default")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
STANDARD_DEVICES = (("shared0", "shared"), ("local0", "local"))
STANDARD_SIZE = 64 << 20


@dataclasses.dataclass
class DiskSpec:
    """What was asked for: KIND:SIZE[:FORMAT[:CACHE]]."""
    kind: str
    size: int
    format: str
    cache: str | None

    @classmethod
    def parse(cls, text):
        parts = text.split(":")
        kind = parts[0]
        if kind not in KINDS or len(parts) < 2 or len(parts) > 4:
            raise LabError(f"disk {text!r}: use KIND:SIZE[:FORMAT[:CACHE]] with KIND one of "
                           + ", ".join(KINDS))
        default = "qcow2" if kind == "backed" else "raw"
        form = parts[2] if len(parts) > 2 and parts[2] else default
        cache = parts[3] if len(parts) > 3 else None
        if form not in ("raw", "qcow2") or (kind == "backed" and form != "qcow2"):
            raise LabError(f"disk {text!r}: format {form} is not possible")
        if cache is not None and cache not in CACHES:
            raise LabError(f"disk {text!r}: cache must be one of {', '.join(CACHES)}")
        return cls(kind, parse_size(parts[1]), form, cache)


def parse_size(text):
    match = re.fullmatch(r"([0-9]+)([KMG]?)", text)
    if not match or int(match[1]) == 0:
        raise LabError(f"size {text!r}: use a number with K, M or G")
    return int(match[1]) * UNITS[match[2]]


def direct_io_works():
    """True when the lab's file system lets QEMU use cache='none'."""
    probe = settings.state_dir() / ".direct-io-probe"
    try:
        os.close(os.open(probe, os.O_RDWR | os.O_CREAT | os.O_DIRECT))
        return True
    except OSError:
        return False
    finally:
        probe.unlink(missing_ok=True)


def default_cache():
    return "none" if direct_io_works() else "writethrough"


def real_path(host_name, path):
    """Where a pool file of a host really lies."""
    state = settings.state_dir()
    if path.startswith(settings.SHARED + "/"):
        return state / "shared" / path[len(settings.SHARED) + 1:]
    if path.startswith(settings.PRIVATE + "/"):
        return state / "hosts" / host_name / "private" / path[len(settings.PRIVATE) + 1:]
    raise LabError(f"{path} is in no pool of the lab")


def _random_file(path, size, seed):
    """A sparse file that starts with 64 KiB of data derived from `seed`."""
    with open(path, "wb") as f:
        f.write(random.Random(seed).randbytes(min(size, 64 << 10)))
        f.truncate(size)


def create_markers(host_names):
    """A quiet marker volume in each pool: equal if shared, else different."""
    shared = real_path(host_names[0], settings.SHARED + "/marker.img")
    if not shared.exists():
        _random_file(shared, 64 << 10, os.urandom(16))
    for name in host_names:
        private = real_path(name, settings.PRIVATE + "/marker.img")
        if not private.exists():
            _random_file(private, 64 << 10, os.urandom(16))


# ---- loop devices ---------------------------------------------------------

def _block_dir():
    return settings.state_dir() / "block"


def _backing(device, share, host_name):
    return _block_dir() / f"{device}.{'all' if share == 'shared' else 'host-' + host_name}.img"


def attached_loops():
    """{backing file: loop device} of the lab's loop devices."""
    listing = run(["losetup", "--json", "--list", "--output", "NAME,BACK-FILE"]).stdout
    entries = json.loads(listing)["loopdevices"] if listing.strip() else []
    inside = str(_block_dir()) + "/"
    return {e["back-file"]: e["name"] for e in entries
            if (e["back-file"] or "").startswith(inside)}


def _loop_for(backing, size):
    if not backing.exists():
        with open(backing, "wb") as f:
            f.truncate(size)
    name = attached_loops().get(str(backing))
    return name or run(["losetup", "--find", "--show", backing]).stdout.strip()


def create_device(device, share, size, hosts):
    """Make /dev/kvmig/DEVICE in every host; `share` is 'shared' or 'local'."""
    _block_dir().mkdir(exist_ok=True)
    for host in hosts:
        loop = _loop_for(_backing(device, share, host.name), size)
        node = host.inside(f"{settings.BLOCK}/{device}")
        if not os.path.exists(node):
            os.mknod(node, stat.S_IFBLK | 0o660, os.stat(loop).st_rdev)


def remove_device(device, hosts):
    for host in hosts:
        if host.alive() and os.path.exists(host.inside(f"{settings.BLOCK}/{device}")):
            os.unlink(host.inside(f"{settings.BLOCK}/{device}"))
    for backing, loop in attached_loops().items():
        if os.path.basename(backing).split(".")[0] == device:
            run(["losetup", "--detach", loop])
            os.unlink(backing)


def detach_all():
    for loop in attached_loops().values():
        run(["losetup", "--detach", loop])


def known_devices():
    """[(device, share, size)] of all block devices made so far."""
    found = {}
    for backing in sorted(_block_dir().glob("*.img")):
        device, owner, _ = backing.name.split(".")
        found[device] = ("shared" if owner == "all" else "local", backing.stat().st_size)
    return [(d, share, size) for d, (share, size) in found.items()]


def attach_devices(hosts):
    """Give every host the standard devices and those of existing guests."""
    wanted = {d: (share, STANDARD_SIZE) for d, share in STANDARD_DEVICES}
    wanted.update({d: (share, size) for d, share, size in known_devices()})
    for device, (share, size) in wanted.items():
        create_device(device, share, size, hosts)


# ---- disks of a guest -----------------------------------------------------

def _new_image(path, form, size, backing=None):
    extra = ["-u", "-b", backing, "-F", "raw"] if backing else []
    run(["qemu-img", "create", "-q", "-f", form, *extra, path, str(size)])


def plan_disk(vm_name, spec, target):
    """The facts about one disk; nothing is created yet."""
    disk = {"kind": spec.kind, "target": target, "size": spec.size, "format": spec.format,
            "cache": spec.cache or default_cache(), "type": "file", "readonly": False}
    name = f"{vm_name}-{target}"
    if spec.kind in BLOCK_KINDS:
        disk.update(type="block", device=name, path=f"{settings.BLOCK}/{name}")
    elif spec.kind in CDROM_KINDS:
        pool = settings.SHARED if CDROM_KINDS[spec.kind] == "shared" else settings.PRIVATE
        disk.update(path=f"{pool}/{name}.iso", readonly=True, format="raw")
    else:
        pool = settings.SHARED if spec.kind == "shared" else settings.PRIVATE
        suffix = "qcow2" if spec.format == "qcow2" else "img"
        disk["path"] = f"{pool}/{name}.{suffix}"
    if spec.kind == "backed":
        disk["backing"] = f"{settings.PRIVATE}/{name}-base.img"
    return disk


def create_disk(disk, host, hosts):
    """Create a planned disk for a guest that starts on `host`."""
    if disk["type"] == "block":
        create_device(disk["device"], BLOCK_KINDS[disk["kind"]], disk["size"], hosts)
        if disk["format"] == "qcow2":
            for each in hosts:
                each.run(["qemu-img", "create", "-q", "-f", "qcow2", disk["path"],
                          str(disk["size"] - (disk["size"] >> 3))])
        return
    path = real_path(host.name, disk["path"])
    if disk["readonly"]:
        _random_file(path, disk["size"], disk["path"])
        return
    if "backing" in disk:
        for each in hosts:
            _random_file(real_path(each.name, disk["backing"]), disk["size"], disk["backing"])
    _new_image(path, disk["format"], disk["size"], disk.get("backing"))


def precreate_disk(disk, host):
    """Make the empty target volume of a private disk on another host."""
    if disk["kind"] not in ("private", "backed"):
        return False
    path = real_path(host.name, disk["path"])
    if path.exists():
        return False
    if "backing" in disk and not real_path(host.name, disk["backing"]).exists():
        _random_file(real_path(host.name, disk["backing"]), disk["size"], disk["backing"])
    _new_image(path, disk["format"], disk["size"], disk.get("backing"))
    return True


def remove_disk(disk, hosts):
    if disk["type"] == "block":
        remove_device(disk["device"], hosts)
        return
    for host in hosts:
        for path in (disk["path"], disk.get("backing")):
            if path:
                real_path(host.name, path).unlink(missing_ok=True)


def refresh_pools(host):
    """Let libvirt see new files; a daemon that is away is no error here."""
    if host.daemon_state() == "running":
        for pool in ("shared", "private"):
            host.run(["virsh", "-q", "-c", "qemu:///system", "pool-refresh", pool], check=False)
