# SPDX-License-Identifier: LGPL-2.1-or-later
"""Accidents in the middle of a migration: the guest is never doubled, never lost, and nothing is left.

The invariants I1 to I5 and I7 of the design are checked by Guest after each; times are bounded by the
library's own deadlines, which the tests set short. The doctor is asked what happened, by what was left behind.
"""
import pytest

from kvmiglab import proc
from migration import FAILED, INDETERMINATE, SUCCESS, Guest, wait_gone

SLOW = ("--bandwidth", "8")
SHORT_DEADLINES = ("--abort-timeout", "5000", "--resolve-timeout", "40000", "--step-timeout", "15000")


@pytest.fixture(params=["p2p", "managed"])
def transport(request):
    return () if request.param == "p2p" else ("--managed",)


def start_and_wait_for_memory(tool, vm, *options):
    migration = tool.start(vm, "b", *SLOW, *SHORT_DEADLINES, *options)
    migration.wait_progress(lambda p: p.get("iteration", 0) >= 1 and p.get("memory_sent", 0) > 0, "memory bytes")
    return migration


def test_target_qemu_is_killed(lab, tool, doctor, make_vm, transport):
    vm = make_vm("f-qemu", disks=["private:16M"])
    guest = Guest(lab, vm)
    migration = start_and_wait_for_memory(tool, vm, *transport)
    vm.kill(lab.host("b"))
    code, report = migration.finish()
    assert code == FAILED, (code, migration.events[-4:], migration.stderr)
    assert report["outcome"] == "Failed" and report["error"]["message"]
    assert all(c["outcome"] == "undone" for c in report["created"])
    guest.assert_rolled_back()
    doctor.expect("FAILED", vm, finding="QEMU_DIED", report=report)


def test_target_libvirtd_is_killed(lab, tool, doctor, make_vm, transport):
    vm = make_vm("f-dst-daemon", disks=["shared:16M", "private:16M"])
    guest = Guest(lab, vm)
    migration = start_and_wait_for_memory(tool, vm, "--unsafe", *transport)
    b = lab.host("b")
    b.daemon("kill")
    migration.wait_phase("RollingBack")
    b.daemon("start")
    code, report = migration.finish()
    assert code == FAILED, (code, migration.events[-4:], migration.stderr)
    guest.assert_rolled_back()
    doctor.expect("FAILED", vm, finding="CONNECTION_LOST", report=report)


def test_target_libvirtd_stays_dead(lab, tool, doctor, make_vm):
    """Nothing can be proven about the target: the session says so and what to check, and the guest runs on."""
    vm = make_vm("f-dst-gone", disks=["shared:16M"])
    guest = Guest(lab, vm)
    migration = tool.start(vm, "b", *SLOW, "--unsafe", "--abort-timeout", "5000", "--resolve-timeout", "6000")
    migration.wait_progress(lambda p: p.get("memory_sent", 0) > 0, "memory bytes")
    b = lab.host("b")
    b.daemon("kill")
    code, report = migration.finish()
    assert code in (FAILED, INDETERMINATE), (code, migration.events[-4:])
    if code == INDETERMINATE:
        assert "kvmig-b" in str(report["error"])
    assert vm.states()["a"].startswith("running")
    doctor.expect(("FAILED", "UNDECIDED"), vm, finding="TARGET_UNREACHABLE", report=report)
    guest.assert_same_guest()
    b.daemon("start")
    wait_gone(lambda: not b.qemu_pids(vm.name), "the incoming QEMU is gone")
    guest.assert_rolled_back()


def test_source_libvirtd_is_killed_and_comes_back(lab, tool, doctor, make_vm, transport):
    vm = make_vm("f-src-daemon", disks=["shared:16M", "private:16M"])
    guest = Guest(lab, vm)
    migration = start_and_wait_for_memory(tool, vm, "--unsafe", *transport)
    a = lab.host("a")
    a.daemon("kill")
    a.daemon("start")
    code, report = migration.finish()
    assert code in (SUCCESS, FAILED), (code, migration.events[-4:], migration.stderr)
    if code == SUCCESS:
        guest.assert_moved("b")
        doctor.expect("SUCCEEDED", vm, report=report)
    else:
        guest.assert_rolled_back()
        doctor.expect("FAILED", vm, finding="CONNECTION_LOST", report=report)


def test_calling_process_is_killed_and_the_hosts_finish(lab, tool, doctor, make_vm):
    """Peer-to-peer: the daemons carry on alone; `kvmig where` tells where the guest is afterwards."""
    vm = make_vm("f-caller", disks=["shared:16M", "private:16M"])
    guest = Guest(lab, vm)
    migration = tool.start(vm, "b", "--unsafe", "--bandwidth", "32")
    migration.wait_progress(lambda p: p.get("memory_sent", 0) > 0, "memory bytes")
    migration.kill()

    def settled():
        code, location = tool.where(vm)
        return location if location["verdict"] not in ("RUNNING", "UNDECIDED") else None
    location = proc.wait_until(settled, "the migration ends by itself", 60, step=0.5)
    assert location["verdict"] == "SUCCEEDED" and location["host"] == "kvmig-b"
    guest.assert_running("b")
    doctor.expect("SUCCEEDED", vm)


def test_calling_process_of_a_managed_migration_is_killed(lab, tool, doctor, make_vm):
    """Managed: the client drove it, so its death ends the migration; the guest stays on the source."""
    vm = make_vm("f-managed-caller", disks=["shared:16M"])
    guest = Guest(lab, vm)
    migration = start_and_wait_for_memory(tool, vm, "--unsafe", "--managed")
    migration.kill()

    def settled():
        code, location = tool.where(vm)
        return location if location["verdict"] in ("NO_FINDING", "FAILED") else None
    location = proc.wait_until(settled, "the migration is given up", 60, step=0.5)
    assert location["host"] == "kvmig-a"
    wait_gone(lambda: not lab.host("b").qemu_pids(vm.name), "the incoming QEMU is gone")
    guest.assert_running("a")
    doctor.expect("FAILED", vm)


def test_link_between_the_hosts_is_cut(lab, tool, doctor, make_vm):
    """QEMU's and libvirt's own time-outs are minutes; ours are the ones that end it."""
    vm = make_vm("f-cut", disks=["shared:16M"])
    guest = Guest(lab, vm)
    migration = tool.start(vm, "b", *SLOW, *SHORT_DEADLINES, "--unsafe", "--migrate-timeout", "8000")
    migration.wait_progress(lambda p: p.get("memory_sent", 0) > 0, "memory bytes")
    lab.links.cut("a", peer="b")
    code, report = migration.finish()
    assert code in (FAILED, INDETERMINATE), (code, migration.events[-4:], migration.stderr)
    assert vm.states()["a"].startswith("running")
    guest.assert_same_guest()
    # Our deadline ended it, not libvirt's keepalive or the kernel.
    assert report["error"]["where"] == "migrate_timeout_ms"
    doctor.expect("FAILED", vm, finding="CONNECTION_LOST", naming="8000 ms", report=report)
    lab.links.restore("a")
    wait_gone(lambda: not lab.host("b").qemu_pids(vm.name), "the incoming QEMU is gone", 90)
    if code == INDETERMINATE:
        wait_gone(lambda: tool.where(vm)[1]["verdict"] == "NO_FINDING", "all is settled", 60)
    guest.assert_rolled_back()


def test_target_host_crashes(lab, tool, doctor, make_vm):
    vm = make_vm("f-crash", disks=["shared:16M"])
    guest = Guest(lab, vm)
    migration = tool.start(vm, "b", *SLOW, "--unsafe", "--abort-timeout", "5000", "--resolve-timeout", "6000")
    migration.wait_progress(lambda p: p.get("memory_sent", 0) > 0, "memory bytes")
    lab.host("b").crash()
    code, report = migration.finish()
    assert code in (FAILED, INDETERMINATE), (code, migration.events[-4:], migration.stderr)
    doctor.expect(("FAILED", "UNDECIDED"), vm, finding="TARGET_UNREACHABLE", report=report)
    lab.up(hosts=2)
    guest.assert_rolled_back()


def test_target_libvirtd_hangs(lab, tool, doctor, make_vm):
    """SIGSTOP: connections stay open and nothing answers; our deadlines end it."""
    vm = make_vm("f-hang", disks=["shared:16M"])
    guest = Guest(lab, vm)
    migration = tool.start(vm, "b", *SLOW, "--unsafe", "--migrate-timeout", "6000", "--abort-timeout", "4000",
                           "--resolve-timeout", "8000")
    migration.wait_progress(lambda p: p.get("memory_sent", 0) > 0, "memory bytes")
    b = lab.host("b")
    b.daemon("pause")
    code, report = migration.finish()
    assert code in (FAILED, INDETERMINATE), (code, migration.events[-4:], migration.stderr)
    doctor.expect(("FAILED", "UNDECIDED"), vm, finding="TARGET_UNREACHABLE", report=report)
    b.daemon("continue")
    wait_gone(lambda: not b.qemu_pids(vm.name), "the incoming QEMU is gone", 60)
    guest.assert_rolled_back()


