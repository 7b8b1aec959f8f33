# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program's own libvirt connections, handed to the library, are migrated over and given back."""
from migration import BUILD, Guest


def test_hosts_given_as_connections_migrate_a_guest(lab, make_vm):
    vm = make_vm("g-given", disks=["private:16M"])
    guest = Guest(lab, vm)
    done = lab.ctl([BUILD / "tests/callers/given_connections", lab.host("a").uri, lab.host("b").uri, vm.name], timeout=120)
    assert "Succeeded, freed 1 time(s)" in done.stdout
    guest.assert_moved("b")
