# SPDX-License-Identifier: LGPL-2.1-or-later
"""The planner and the view against real hosts."""
import pytest

from migration import BLOCKED, Guest


def codes(plan):
    return {f["code"]: f for f in plan["findings"]}


def test_view_lists_both_hosts_with_their_facts(lab, tool, make_vm):
    vm = make_vm("p-view", disks=["shared:8M", "backed:8M"])
    code, view = tool.json("hosts")
    assert code == 0
    hosts = {h["name"]: h for h in view["hosts"]}
    assert set(hosts) == {"kvmig-a", "kvmig-b"}
    a = hosts["kvmig-a"]
    assert a["state"] == "up" and a["libvirt_version"].count(".") == 2 and a["qemu_version"].count(".") == 2
    assert a["uuid"] != hosts["kvmig-b"]["uuid"]
    assert "br0" in a["bridges"]
    assert {p["name"] for p in a["pools"]} >= {"shared", "private"}
    assert any("pc-i440fx-7.2" in str(m) for m in a["machines"])
    domain = next(d for d in a["domains"] if d["name"] == vm.name)
    assert domain["state"] == "running" and domain["persistent"]
    assert [d["target"] for d in domain["disks"]] == ["vda", "vdb"]
    assert domain["disks"][1]["backing"]


def test_clean_plan_on_private_storage(lab, tool, make_vm):
    vm = make_vm("p-clean", disks=["private:8M"])
    code, plan = tool.json("plan", vm.name, "--target", "kvmig-b")
    assert code == 0 and plan["verdict"] in ("MIGRATABLE", "MIGRATABLE_WITH_RISK"), plan["findings"]
    assert not [f for f in plan["findings"] if f["severity"] == "warn"], plan["findings"]


def test_target_is_chosen_when_none_is_named(lab, tool, make_vm):
    vm = make_vm("p-choose", disks=["private:8M"])
    code, plan = tool.json("plan", vm.name)
    assert plan["target"] == "kvmig-b"


def test_local_block_device_that_only_looks_shared(lab, tool, make_vm):
    """libvirt would migrate it, and the guest would go on without its data: see test_lab.py."""
    vm = make_vm("p-trap", disks=["localblk:16M"])
    guest = Guest(lab, vm)
    code, plan = tool.json("plan", vm.name, "--target", "kvmig-b")
    assert code == 0 and plan["verdict"] == "BLOCKED", plan["findings"]
    found = codes(plan)
    assert "BLOCK_DEVICE_NOT_SHARED" in found or "SHARED_IDENTITY_UNPROVEN" in found, plan["findings"]
    assert tool.start(vm, "b").finish()[0] == BLOCKED
    guest.assert_rolled_back()


def test_shared_block_device_moves_when_the_caller_says_that_it_is_shared(lab, tool, make_vm):
    vm = make_vm("p-shared-block", disks=["sharedblk:16M"])
    guest = Guest(lab, vm)
    assert tool.json("plan", vm.name, "--target", "kvmig-b")[1]["verdict"] == "BLOCKED"
    tool.migrate(vm, "b", "--shared", "/dev/kvmig")
    guest.assert_moved("b")


def test_missing_bridge_blocks(lab, tool, make_vm):
    vm = make_vm("p-bridge", disks=["shared:8M"])
    a = lab.host("a")
    a.run(["ip", "link", "add", "br9", "type", "bridge"])
    try:
        a.run(["sh", "-c", "cat > /run/nic.xml"],
              input="<interface type='bridge'><source bridge='br9'/><model type='virtio'/></interface>")
        a.virsh("attach-device", vm.name, "/run/nic.xml", "--live")
        code, plan = tool.json("plan", vm.name, "--target", "kvmig-b")
        assert code == 0 and plan["verdict"] == "BLOCKED", plan["findings"]
        assert "br9" in str(codes(plan)["BRIDGE_MISSING"])
    finally:
        lab.destroy_vm(vm.name)
        a.run(["ip", "link", "del", "br9"])


def test_vm_that_is_already_on_the_target_blocks(lab, tool, make_vm):
    vm = make_vm("p-conflict")
    a, b = lab.host("a"), lab.host("b")
    xml = a.virsh("dumpxml", "--migratable", vm.name)
    other = xml.replace(vm.uuid, "11111111-2222-4333-8444-555555555555")
    b.run(["sh", "-c", "cat > /run/conflict.xml"], input=other)
    b.virsh("define", "/run/conflict.xml")
    code, plan = tool.json("plan", vm.name, "--source", "kvmig-a", "--target", "kvmig-b")
    assert code == 0 and plan["verdict"] == "BLOCKED", plan["findings"]
    code, out, err = tool.run("migrate", vm.name, "--source", "kvmig-a", "--target", "kvmig-b")
    assert code == 3
    assert vm.states()["a"].startswith("running")
    b.virsh("undefine", vm.name)


@pytest.mark.parametrize("action", ["pause", "kill"])
def test_host_that_hangs_or_is_down_delays_nobody(lab, tool, make_vm, action):
    vm = make_vm("p-hang", disks=["private:8M"])
    lab.up(hosts=3)
    hosts = lab.hosts()
    c = lab.host("c")
    c.daemon(action)
    try:
        code, view = tool.json("hosts", "--call-timeout", "3000", hosts=hosts, timeout=60)
        states = {h["name"]: h["state"] for h in view["hosts"]}
        assert states.get("kvmig-a") == "up" and states.get("kvmig-b") == "up"
        assert sorted(states.values()).count("up") == 2
        code, plan = tool.json("plan", vm.name, "--target", "kvmig-b", "--call-timeout", "3000", hosts=hosts)
        assert plan["verdict"].startswith("MIGRATABLE")
    finally:
        c.daemon("continue" if action == "pause" else "start")


def test_unreachable_target_is_a_blocker(lab, tool, make_vm):
    vm = make_vm("p-down", disks=["shared:8M"])
    b = lab.host("b")
    b.daemon("kill")
    try:
        code, plan = tool.json("plan", vm.name, "--target", b.uri)
        assert code == 0 and plan["verdict"] == "BLOCKED"
        assert "TARGET_UNREACHABLE" in codes(plan), plan["findings"]
    finally:
        b.daemon("start")


