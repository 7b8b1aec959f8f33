# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guest's kernel and initramfs: fetched, built and kept in the cache.

The kernel comes from Debian's cloud image package, which is downloaded and
unpacked but never installed. Does not start guests (see vm.py).
"""
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from . import settings
from .errors import LabError
from .proc import run

META_PACKAGE = "linux-image-cloud-amd64"
MODULES = ("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev",
           "virtio_pci", "failover", "net_failover", "virtio_net", "virtio_blk")
SOURCES = ("guestd.c", "init")


def _kernel_package():
    done = run(["apt-cache", "depends", META_PACKAGE], check=False)
    for line in done.stdout.splitlines():
        kind, _, name = line.strip().partition(": ")
        if kind == "Depends" and name.startswith("linux-image-"):
            return name
    return None


def _download_kernel(work):
    """Package lists may be missing, or older than what the mirror holds: then they are fetched, once."""
    for fresh in (False, True):
        if fresh:
            run(["apt-get", "update", "-q"], timeout=300)
        name = _kernel_package()
        if name and run(["apt-get", "download", "-q", name], cwd=work, timeout=300, check=False).returncode == 0:
            return
    raise LabError(f"apt cannot download {META_PACKAGE}")


def fetch_kernel(cache):
    """Unpack the kernel package into CACHE/kernel once."""
    target = cache / "kernel"
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as work:
        _download_kernel(work)
        package = next(Path(work).glob("linux-image-*.deb"))
        unpacked = Path(work) / "unpacked"
        run(["dpkg", "-x", package, unpacked], timeout=120)
        unpacked.rename(target)
    return target


def _fingerprint(kernel_image):
    digest = hashlib.sha256(kernel_image.name.encode())
    digest.update("\n".join(MODULES).encode())
    for name in SOURCES:
        digest.update((settings.SOURCE_DIR / "guest" / name).read_bytes())
    return digest.hexdigest()[:16]


def _fill_root(root, kernel):
    for folder in ("bin", "modules", "dev", "proc", "sys"):
        (root / folder).mkdir()
    shutil.copy("/bin/busybox", root / "bin/busybox")
    os.symlink("busybox", root / "bin/sh")
    source = settings.SOURCE_DIR / "guest"
    shutil.copy(source / "init", root / "init")
    (root / "init").chmod(0o755)
    run(["gcc", "-O2", "-static", "-pthread", "-Wall", "-Wextra", "-Werror", "-o",
         root / "bin/guestd", source / "guestd.c"], timeout=60)
    for module in MODULES:
        found = next(kernel.glob(f"lib/modules/*/kernel/**/{module}.ko"), None)
        if found is None:
            raise LabError(f"the guest's kernel package has no module {module}")
        shutil.copy(found, root / "modules" / found.name)
    (root / "modules/order").write_text("".join(f"{m}.ko\n" for m in MODULES))


def _build_initramfs(kernel, target):
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        root = Path(work) / "root"
        root.mkdir()
        _fill_root(root, kernel)
        image = Path(work) / "initrd"
        run(["sh", "-c", 'find . | cpio --quiet -o -H newc | gzip -1 > "$1"', "sh", image],
            cwd=root, timeout=60)
        image.rename(target)


def ensure_boot_files(boot_dir):
    """Put vmlinuz and initrd.img into `boot_dir`, building what is missing."""
    cache = settings.cache_dir()
    kernel = fetch_kernel(cache)
    image = next(kernel.glob("boot/vmlinuz-*"))
    initramfs = cache / f"initrd-{_fingerprint(image)}.img"
    if not initramfs.exists():
        for old in cache.glob("initrd-*.img"):
            old.unlink()
        _build_initramfs(kernel, initramfs)
    boot_dir.mkdir(parents=True, exist_ok=True)
    for source, name in ((image, "vmlinuz"), (initramfs, "initrd.img")):
        shutil.copy(source, boot_dir / name)
