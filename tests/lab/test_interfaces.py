# SPDX-License-Identifier: LGPL-2.1-or-later
"""The interfaces of a host's real Open vSwitch, as a program that uses the library judges them (classify.c)."""
import json
import os
import re
import subprocess

import pytest

from migration import BUILD, ENVIRONMENT, REPOSITORY
from port import database_options


@pytest.fixture(scope="module")
def classify(tmp_path_factory):
    """The program, linked with the build under test and with that build's sanitizers."""
    makefile = (BUILD / "Makefile").read_text()
    sanitizers = re.search(r"^SANITIZER_CFLAGS = ?(.*)$", makefile, re.MULTILINE)[1].split()
    program = tmp_path_factory.mktemp("classify") / "classify"
    libraries = BUILD.resolve() / ".libs"
    subprocess.run(["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *sanitizers, f"-I{REPOSITORY / 'include'}",
                    "-o", program, REPOSITORY / "tests/lab/classify.c", f"-L{libraries}", "-lkvmig",
                    f"-Wl,-rpath,{libraries}"], check=True, timeout=60)
    return program


def judge(lab, program, ovn, host, *domain):
    """The verdicts of three looks at the host's only interface."""
    done = subprocess.run(lab.ctl_argv([program, ovn.ovs_remote(host), lab.host(host).hostname, *domain]), text=True,
                          capture_output=True, timeout=60, check=False, env={**os.environ, **ENVIRONMENT})
    assert done.returncode == 0, done.stderr
    looks = [json.loads(line)["interfaces"] for line in done.stdout.splitlines()]
    assert [len(look) for look in looks] == [1, 1, 1], looks
    return [look[0] for look in looks]


def test_migrated_guest_has_a_live_interface_and_without_it_an_orphan(lab, ovn, tool, make_ovn_vm, classify):
    vm = make_ovn_vm("i-moved", disks=["shared:16M"], pin=True)
    tool.migrate(vm, "b", "--unsafe", "--port", f"ovn:{vm.lsp}", *database_options(ovn))
    name, row = ovn.interface_of("b", vm.lsp)
    assert row["external_ids"]["vm-id"] == vm.uuid, "what libvirt says whose it is"

    for verdict in judge(lab, classify, ovn, "b", vm.name, vm.uuid):
        assert (verdict["name"], verdict["iface_id"]) == (name, vm.lsp)
        assert (verdict["class"], verdict["reason"]) == ("live", "RUNNING"), verdict
        assert not verdict["may_remove"]

    # Somebody else's guest is not this one.
    for inventory in ((), (vm.name, "00000000-0000-4000-8000-000000000000")):
        young, first, second = judge(lab, classify, ovn, "b", *inventory)
        assert young["class"] == "initialising" and young["reason"] == "YOUNG", young
        assert first["class"] == second["class"] == "orphan" and first["reason"] == "NO_WORKLOAD", first
        assert not first["may_remove"] and second["may_remove"], "only what was left over twice may go"
