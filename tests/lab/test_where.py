# SPDX-License-Identifier: LGPL-2.1-or-later
"""The state resolver on real hosts: what it sees, what it allows, and that it acts only when told to."""
from migration import Guest


def action_codes(location):
    return [a["code"] for a in location["actions"]]


def test_guest_that_never_moved(lab, tool, doctor, make_vm):
    vm = make_vm("w-home", disks=["shared:8M"])
    code, location = tool.where(vm)
    assert code == 0 and location["verdict"] == "NO_FINDING" and location["host"] == "kvmig-a"
    assert action_codes(location) == []
    diagnosis = doctor.expect("NO_FINDING", vm)
    assert not diagnosis["actions"]


def test_guest_that_moved(lab, tool, doctor, make_vm):
    vm = make_vm("w-moved", disks=["shared:8M"])
    tool.migrate(vm, "b", "--unsafe")
    code, location = tool.where(vm)
    assert code == 0 and location["verdict"] == "SUCCEEDED" and location["host"] == "kvmig-b"
    doctor.expect("SUCCEEDED", vm)


def test_migration_under_way(lab, tool, doctor, make_vm):
    vm = make_vm("w-running", disks=["shared:8M"])
    migration = tool.start(vm, "b", "--unsafe", "--bandwidth", "4")
    migration.wait_progress(lambda p: p.get("memory_sent", 0) > 0, "first bytes")
    code, location = tool.where(vm)
    assert location["verdict"] == "RUNNING" and action_codes(location) == ["WAIT"]
    doctor.expect("RUNNING", vm)
    migration.cancel()
    migration.finish()


def test_two_running_copies_are_an_alarm_and_can_only_be_suspended(lab, tool, doctor, make_vm):
    vm = make_vm("w-split")
    a, b = lab.host("a"), lab.host("b")
    xml = a.virsh("dumpxml", "--migratable", vm.name)
    b.run(["sh", "-c", "cat > /run/split.xml"], input=xml)
    b.virsh("create", "/run/split.xml", timeout=60)
    code, location = tool.where(vm)
    assert code != 0 and location["verdict"] == "SPLIT_BRAIN" and location["host"] is None
    assert action_codes(location) == ["SUSPEND_BOTH"]
    diagnosis = doctor.expect("SPLIT_BRAIN", vm)
    assert not {a["code"] for a in diagnosis["actions"]} & {"DESTROY_SOURCE", "DESTROY_TARGET"}
    code, out, err = tool.run("where", vm.name, "--source", "kvmig-a", "--target", "kvmig-b",
                              "--apply", "DESTROY_TARGET")
    assert code != 0 and "DESTROY_TARGET" in err
    assert all(vm.states()[host].startswith("running") for host in "ab")
    tool.run("where", vm.name, "--source", "kvmig-a", "--target", "kvmig-b", "--apply", "SUSPEND_BOTH")
    assert all(vm.states()[host].startswith("paused") for host in "ab")
    b.virsh("destroy", vm.name)


def test_vm_on_neither_host(lab, tool, doctor):
    code, location = tool.where("w-nobody")
    assert location["verdict"] == "VM_LOST" and code != 0
    doctor.expect("VM_LOST", "w-nobody")


def test_host_that_hangs_leaves_it_undecided(lab, tool, doctor, make_vm):
    vm = make_vm("w-hang", disks=["shared:8M"])
    b = lab.host("b")
    b.daemon("pause")
    code, location = tool.where(vm, "--call-timeout", "3000")
    assert location["verdict"] == "UNDECIDED" and action_codes(location) in ([], ["WAIT"])
    assert code != 0
    diagnosis = doctor.expect(("UNDECIDED", "NO_FINDING"), vm, finding="TARGET_UNREACHABLE")
    assert not diagnosis["actions"], diagnosis
    b.daemon("continue")


def test_paused_target_of_a_strict_handover_can_be_resumed(lab, tool, doctor, make_vm):
    """As if the caller had died between the call and the resume."""
    vm = make_vm("w-strict", disks=["shared:8M"], transient=True)
    guest = Guest(lab, vm)
    lab.ctl(["virsh", "-q", "-c", lab.host("a").uri, "migrate", "--live", "--p2p", "--unsafe", "--suspend",
             vm.name, lab.host("b").uri], timeout=60)
    code, location = tool.where(vm)
    assert location["verdict"] == "TARGET_PAUSED" and action_codes(location) == ["RESUME_TARGET"]
    assert vm.states()["b"].startswith("paused")
    diagnosis = doctor.expect("SUCCEEDED", vm)
    assert action_codes(diagnosis) == ["RESUME_TARGET"]
    code, location = tool.where(vm, "--apply", "RESUME_TARGET")
    assert code == 0 and location["verdict"] == "SUCCEEDED"
    guest.assert_running("b")
