# SPDX-License-Identifier: LGPL-2.1-or-later
"""The README's example, compiled against an installed copy with pkg-config, migrates a real guest."""
import os
import subprocess

import pytest

from migration import BUILD, REPOSITORY, Guest


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """Installs the plain build into a folder of its own (the sanitized one cannot be linked by a plain program)."""
    build = REPOSITORY / "build" if (REPOSITORY / "build/Makefile").exists() else BUILD
    prefix = tmp_path_factory.mktemp("installed")
    subprocess.run(["make", "-s", "-C", build, "install", f"DESTDIR={prefix}"], check=True, timeout=120,
                   stdout=subprocess.DEVNULL)
    libdir = next(prefix.rglob("libkvmig.so")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(libdir / "pkgconfig"),
                   "PKG_CONFIG_SYSROOT_DIR": str(prefix)}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "kvmig"], env=environment, check=True, text=True,
                           capture_output=True, timeout=20).stdout.split()
    program = prefix / "migrate-min"
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-o", program, REPOSITORY / "examples/migrate-min.c",
                    *flags, f"-Wl,-rpath,{libdir}"], check=True, timeout=60)
    return program


def test_readme_example_migrates_a_guest(lab, make_vm, example):
    vm = make_vm("r-example", disks=["private:16M"])
    guest = Guest(lab, vm)
    done = lab.ctl([example, lab.host("a").uri, lab.host("b").uri, vm.name], timeout=120)
    assert "Succeeded" in done.stdout
    guest.assert_moved("b")
