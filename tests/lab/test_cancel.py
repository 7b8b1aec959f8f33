# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cancel at every point; the guest goes on where it must, and nothing is left."""
from migration import CANCELLED, SUCCESS, Guest


def cancel_result(report):
    return report["cancel"]["result"]


def assert_prompt(migration, report, bandwidth_mib):
    """Settled in a small part of the time that the rest of the copy would have taken."""
    last = migration.of_type("progress")[-1]["progress"]
    # Memory is not counted before the disks are copied; then all of it is still to come.
    left = last.get("memory_remaining", 256 << 20) + last.get("disk_remaining", 0)
    left_ms = left / (bandwidth_mib << 20) * 1000
    assert report["cancel"]["settled_ms"] < left_ms / 5, (report["cancel"], left_ms)


def expect_cancelled(migration, guest):
    code, report = migration.finish()
    assert code == CANCELLED, (code, migration.events[-4:], migration.stderr)
    assert report["outcome"] == "Cancelled" and cancel_result(report) == "accepted"
    assert report["final"]["host"] == "kvmig-a"
    guest.assert_rolled_back()
    return report


def test_cancel_in_pending_while_another_migration_holds_the_slot(lab, tool, make_vm):
    first = make_vm("c-first", disks=["private:16M"])
    second = make_vm("c-second", disks=["private:16M"])
    guest = Guest(lab, second)
    running = tool.start(first, "b", "--bandwidth", "4")
    running.wait_progress(lambda p: p.get("memory_sent", 0) > 0, "first bytes")
    waiting = tool.start(second, "b", "--max-outbound", "1")
    queued = waiting.wait_for(lambda e: e.get("type") == "queued", "a place in the queue")
    assert queued["queue_position"] == 1
    waiting.cancel()
    code, report = waiting.finish()
    assert code == CANCELLED and cancel_result(report) == "accepted"
    assert "Scheduling" not in waiting.phases()
    running.cancel()
    assert running.finish()[0] == CANCELLED
    guest.assert_rolled_back()


def test_session_over_the_limit_starts_when_the_slot_is_free(lab, tool, make_vm):
    first = make_vm("c-slot1", disks=["shared:16M"])
    second = make_vm("c-slot2", disks=["shared:16M"])
    guest = Guest(lab, second)
    running = tool.start(first, "b", "--unsafe", "--bandwidth", "4")
    running.wait_progress(lambda p: p.get("memory_sent", 0) > 0, "first bytes")
    waiting = tool.start(second, "b", "--unsafe", "--max-outbound", "1", "--refresh", "500")
    waiting.wait_for(lambda e: e.get("type") == "queued", "a place in the queue")
    running.cancel()
    assert running.finish()[0] == CANCELLED
    assert waiting.finish()[0] == SUCCESS
    guest.assert_moved("b")


def test_cancel_in_preparing_target_removes_what_was_created(lab, tool, make_vm):
    vm = make_vm("c-prep", disks=["private:16M", "private:16M"])
    guest = Guest(lab, vm)
    migration = tool.start(vm, "b", "--cancel-at", "PreparingTarget")
    report = expect_cancelled(migration, guest)
    assert "Running" not in migration.phases()
    assert all(c["outcome"] == "undone" for c in report["created"])


def test_cancel_when_the_target_is_ready(lab, tool, make_vm):
    vm = make_vm("c-ready", disks=["private:16M"])
    guest = Guest(lab, vm)
    expect_cancelled(tool.start(vm, "b", "--cancel-at", "TargetReady"), guest)


def test_cancel_right_when_running_begins(lab, tool, make_vm):
    vm = make_vm("c-begin", disks=["private:16M"])
    guest = Guest(lab, vm)
    expect_cancelled(tool.start(vm, "b", "--bandwidth", "4", "--cancel-at", "Running"), guest)


def test_cancel_in_the_disk_phase(lab, tool, make_vm):
    vm = make_vm("c-disk", disks=["private:64M"])
    lab.host("a").run(["sh", "-c", f"dd if=/dev/urandom of={vm.disks[0]['path']} bs=1M seek=8 count=48 "
                       "conv=notrunc status=none"])
    guest = Guest(lab, vm)
    migration = tool.start(vm, "b", "--bandwidth", "4")
    migration.wait_progress(lambda p: p.get("disk_sent", 0) > 0 and p.get("iteration", 0) <= 1, "disk bytes")
    migration.cancel()
    report = expect_cancelled(migration, guest)
    assert_prompt(migration, report, 4)
    assert report["created"] and all(c["outcome"] == "undone" for c in report["created"])


def test_cancel_in_the_first_memory_round(lab, tool, make_vm):
    vm = make_vm("c-first-round", disks=["shared:16M", "private:16M"])
    guest = Guest(lab, vm)
    migration = tool.start(vm, "b", "--unsafe", "--bandwidth", "4")
    migration.wait_progress(lambda p: p.get("iteration") == 1 and p.get("memory_sent", 0) > 0, "first round")
    migration.cancel()
    assert_prompt(migration, expect_cancelled(migration, guest), 4)


def test_cancel_in_a_later_round(lab, tool, make_vm):
    vm = make_vm("c-later", disks=["shared:16M"])
    guest = Guest(lab, vm)
    vm.dirty(64, 200)
    migration = tool.start(vm, "b", "--unsafe", "--bandwidth", "48")
    migration.wait_progress(lambda p: p.get("iteration", 0) >= 3, "third round")
    migration.cancel()
    report = expect_cancelled(migration, guest)
    vm.dirty(0, 0)
    assert report["memory"]["iterations"] >= 3


def test_cancel_of_a_managed_migration(lab, tool, make_vm):
    vm = make_vm("c-managed", disks=["private:16M"])
    guest = Guest(lab, vm)
    migration = tool.start(vm, "b", "--managed", "--bandwidth", "4")
    migration.wait_progress(lambda p: p.get("memory_sent", 0) > 0, "first bytes")
    migration.cancel()
    expect_cancelled(migration, guest)


def test_cancel_in_finalizing_is_too_late(lab, tool, make_vm):
    vm = make_vm("c-late", disks=["shared:16M"])
    guest = Guest(lab, vm)
    migration = tool.start(vm, "b", "--unsafe", "--cancel-at", "Finalizing")
    code, report = migration.finish()
    assert code == SUCCESS and cancel_result(report) == "too-late"
    guest.assert_moved("b")


def test_cancel_in_postcopy_is_refused(lab, tool, make_vm):
    vm = make_vm("c-post", disks=["shared:16M"])
    guest = Guest(lab, vm)
    vm.dirty(64, 200)
    migration = tool.start(vm, "b", "--unsafe", "--postcopy", "--postcopy-after-precopy", "--bandwidth", "16",
                           "--postcopy-bandwidth", "8")
    migration.wait_for(lambda e: e.get("type") == "mode" and e["mode"] == "PostCopy", "post-copy")
    migration.cancel()
    code, report = migration.finish()
    assert code == SUCCESS and cancel_result(report) == "refused"
    vm.dirty(0, 0)
    guest.assert_moved("b")


def test_cancelled_guest_can_be_migrated_afterwards(lab, tool, make_vm):
    vm = make_vm("c-again", disks=["private:16M"])
    guest = Guest(lab, vm)
    migration = tool.start(vm, "b", "--bandwidth", "4")
    migration.wait_progress(lambda p: p.get("memory_sent", 0) > 0, "first bytes")
    migration.cancel()
    expect_cancelled(migration, guest)
    tool.migrate(vm, "b")
    guest.assert_moved("b")
