# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real migrations between two real hosts, each proven by the guest itself."""
import threading

import pytest

from kvmiglab import proc
from migration import Guest


def disk_methods(report):
    return {d["target"]: d["method"] for d in report["plan"]["disks"]}


def test_shared_storage_there_and_back_ten_times(lab, tool, make_vm):
    vm = make_vm("m-shared", disks=["shared:32M"])
    guest = Guest(lab, vm)
    for turn in range(10):
        to = "ba"[turn % 2]
        report = tool.migrate(vm, to, "--unsafe")
        guest.assert_moved(to)
        assert disk_methods(report) == {"vda": "shared"}
        assert report["final"]["host"] == f"kvmig-{to}"


def test_phases_come_in_order_and_the_report_has_the_figures(lab, tool, make_vm):
    vm = make_vm("m-report", disks=["shared:16M"])
    migration = tool.start(vm, "b", "--unsafe")
    code, report = migration.finish()
    assert code == 0, migration.stderr
    assert migration.phases() == ["Pending", "Scheduling", "Scheduled", "PreparingTarget", "TargetReady",
                                  "Running", "Finalizing", "Succeeded"]
    assert report["outcome"] == "Succeeded"
    assert report["pause"]["source_ms"] > 0 and report["pause"]["total_ms"] > 0
    assert report["memory"]["iterations"] >= 1 and report["memory"]["sent"] > 0
    phases = {p["phase"]: p["duration_ms"] for p in report["phases"]}
    assert phases["Running"] > 0
    # The phases fill the time from start to end without holes.
    assert sum(phases.values()) == report["total_ms"]
    progress = migration.of_type("progress")
    assert progress and any(p["progress"]["at_iteration_boundary"] for p in progress)
    assert progress[-1]["phase"] == "Finalizing"
    assert progress[-1]["progress"]["final_pause_ms"] == report["pause"]["source_ms"]
    rounds = [p["progress"]["iteration"] for p in progress if "iteration" in p["progress"]]
    assert rounds == sorted(rounds)


@pytest.mark.parametrize("disk", ["private:32M:raw", "private:32M:qcow2"])
def test_block_full_copy(lab, tool, make_vm, disk):
    vm = make_vm("m-full", disks=[disk])
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b")
    assert disk_methods(report) == {"vda": "copy-full"}
    guest.assert_moved("b")
    assert [c["outcome"] for c in report["created"] if c["kind"] == "volume"] == ["kept"]
    assert report["disk"]["total"] > 0


def test_block_incremental_copy(lab, tool, make_vm):
    vm = make_vm("m-inc", disks=["backed:32M"])
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b")
    assert disk_methods(report) == {"vda": "copy-incremental"}
    guest.assert_moved("b")


def test_several_disks_of_mixed_kinds(lab, tool, make_vm):
    vm = make_vm("m-mixed", disks=["shared:16M", "private:16M", "backed:16M", "cdrom:4M"])
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b", "--unsafe")
    methods = disk_methods(report)
    assert methods["vda"] == "shared" and methods["vdb"].startswith("copy-")
    assert methods["vdc"] == "copy-incremental"
    guest.assert_moved("b")


def test_only_the_named_disk_is_copied(lab, tool, make_vm):
    vm = make_vm("m-named", disks=["private:16M", "shared:16M"])
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b", "--unsafe", "--copy", "full", "--disk", "vda")
    assert disk_methods(report) == {"vda": "copy-full", "vdb": "shared"}
    guest.assert_moved("b")


def test_paused_guest_stays_paused(lab, tool, make_vm):
    vm = make_vm("m-paused", disks=["shared:16M"])
    guest = Guest(lab, vm)
    lab.host("a").virsh("suspend", vm.name)
    tool.migrate(vm, "b", "--unsafe")
    states = vm.states()
    assert states["b"].startswith("paused") and states["a"] is None, states
    lab.host("b").virsh("resume", vm.name)
    guest.assert_moved("b")


def test_transient_domain_stays_transient(lab, tool, make_vm):
    vm = make_vm("m-transient", disks=["shared:16M"], transient=True)
    guest = Guest(lab, vm)
    tool.migrate(vm, "b", "--unsafe")
    guest.assert_moved("b", persistent=False)


def test_source_definition_is_kept_on_request(lab, tool, make_vm):
    vm = make_vm("m-keep", disks=["shared:16M"])
    guest = Guest(lab, vm)
    tool.migrate(vm, "b", "--unsafe", "--keep-source-definition")
    guest.assert_running("b")
    assert vm.states()["a"].startswith("shut off")
    # Back home: the stopped definition of the same VM is in nobody's way.
    tool.migrate(vm, "a", "--unsafe")
    guest.assert_running("a")


def test_managed_migration(lab, tool, make_vm):
    vm = make_vm("m-managed", disks=["shared:16M", "private:16M"])
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b", "--unsafe", "--managed")
    assert report["transport"] == "managed"
    guest.assert_moved("b")


def test_strict_handover_resumes_the_target_after_the_source_stopped(lab, tool, make_vm):
    vm = make_vm("m-strict", disks=["shared:16M"])
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b", "--unsafe", "--strict")
    assert "PAUSED" in report["flags"] and report["pause"]["handover_wait_ms"] >= 0
    guest.assert_moved("b")


def test_postcopy_after_the_first_round(lab, tool, make_vm):
    vm = make_vm("m-post", disks=["shared:16M"])
    guest = Guest(lab, vm)
    vm.dirty(64, 200)
    migration = tool.start(vm, "b", "--unsafe", "--postcopy", "--postcopy-after-precopy", "--bandwidth", "32")
    code, report = migration.finish()
    assert code == 0, migration.stderr
    assert report["postcopy_used"]
    assert [m["mode"] for m in migration.of_type("mode")][-1] == "PostCopy"
    vm.dirty(0, 0)
    guest.assert_moved("b")


def test_parallel_connections(lab, tool, make_vm):
    vm = make_vm("m-parallel", disks=["shared:16M"])
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b", "--unsafe", "--parallel", "2")
    assert "PARALLEL" in report["flags"]
    guest.assert_moved("b")


def test_auto_converge_throttles_a_guest_that_dirties_too_fast(lab, tool, make_vm):
    """Whether the throttle alone is enough is a matter of the emulator's speed, so the guest stops once it is throttled."""
    vm = make_vm("m-auto", disks=["shared:16M"])
    guest = Guest(lab, vm)
    vm.dirty(64, 200)
    migration = tool.start(vm, "b", "--unsafe", "--auto-converge", "--auto-converge-initial", "50",
                           "--bandwidth", "48")
    migration.wait_progress(lambda p: p.get("throttle_percent", 0) > 0 and p.get("iteration", 0) > 2, "a throttle")
    vm.http("/dirty?mb=0&rate=0", timeout=60)
    code, report = migration.finish()
    assert code == 0, migration.stderr
    assert report["memory"]["iterations"] > 2
    guest.assert_moved("b")


def test_compression(lab, tool, make_vm):
    vm = make_vm("m-xbzrle", disks=["shared:16M"])
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b", "--unsafe", "--compression", "xbzrle")
    assert "COMPRESSED" in report["flags"]
    guest.assert_moved("b")


def test_feature_that_a_side_is_too_old_for_is_dropped_and_reported(lab, tool, make_vm):
    version = tuple(map(int, lab.host("a").virsh("version").split("Using API: QEMU ")[0]
                        .split("libvirt ")[1].split("\n")[0].split(".")))
    if version >= (9, 4, 0):
        pytest.skip("this libvirt knows zstd")
    vm = make_vm("m-zstd", disks=["shared:16M"])
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b", "--unsafe", "--parallel", "2", "--compression", "zstd")
    dropped = [n for n in report["notices"] if n["code"] == "FEATURE_DROPPED"]
    assert dropped and "zstd" in str(dropped)
    guest.assert_moved("b")


def test_encrypted_migration(lab, tool, make_vm):
    vm = make_vm("m-tls", disks=["shared:16M"])
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b", "--unsafe", "--tls")
    assert "TLS" in report["flags"]
    guest.assert_moved("b")


def test_callers_own_target_xml(lab, tool, make_vm, tmp_path):
    vm = make_vm("m-xml", disks=["shared:16M"])
    guest = Guest(lab, vm)
    xml = lab.host("a").virsh("dumpxml", "--migratable", vm.name)
    assert "/console/" in xml
    changed = tmp_path / "target.xml"
    changed.write_text(xml.replace(f"/console/{vm.name}.log", f"/console/{vm.name}.log.target"))
    tool.migrate(vm, "b", "--unsafe", "--target-xml", changed, "--persistent-xml", changed)
    assert f"{vm.name}.log.target" in lab.host("b").virsh("dumpxml", vm.name)
    guest.assert_moved("b")


def test_copied_disk_lands_in_another_pool(lab, tool, make_vm):
    vm = make_vm("m-pool", disks=["private:16M"])
    guest = Guest(lab, vm)
    b = lab.host("b")
    b.run(["mkdir", "-p", "/srv/kvmig/private/other"])
    b.virsh("pool-create-as", "other", "dir", "--target", "/srv/kvmig/private/other")
    try:
        tool.migrate(vm, "b", "--target-pool", "other")
        assert "/srv/kvmig/private/other/" in b.virsh("domblklist", vm.name)
        guest.assert_moved("b")
    finally:
        lab.destroy_vm(vm.name)
        b.virsh("pool-destroy", "other")
        b.run(["rm", "-rf", "/srv/kvmig/private/other"])


@pytest.fixture
def busy_pool(lab):
    """A pool on host b in which somebody has libvirt build one volume after the other."""
    b, folder, stop = lab.host("b"), "/srv/kvmig/private/busy", threading.Event()
    b.run(["mkdir", "-p", folder])
    b.run(["dd", "if=/dev/urandom", f"of={folder}/big.img", "bs=1M", "count=256", "status=none"])
    b.virsh("pool-create-as", "busy", "dir", "--target", folder)

    def build():
        while not stop.is_set():
            b.virsh("vol-clone", "big.img", "copy.img", "--pool", "busy", timeout=60)
            b.virsh("vol-delete", "copy.img", "--pool", "busy")
    builder = threading.Thread(target=build)
    builder.start()
    yield "busy"
    stop.set()
    builder.join(90)
    b.virsh("pool-destroy", "busy")
    b.run(["rm", "-rf", folder])


def test_pool_in_which_others_build_volumes_is_waited_for(lab, tool, make_vm, busy_pool):
    """libvirt refuses to read a pool anew while a volume is built in it."""
    vm = make_vm("m-busy", disks=["private:16M"])
    guest = Guest(lab, vm)
    refresh = ["virsh", "-q", "-c", "qemu:///system", "pool-refresh", busy_pool]
    proc.wait_until(lambda: "asynchronous jobs" in lab.host("b").run(refresh, check=False).stderr, "a pool that is busy", 20)
    try:
        tool.migrate(vm, "b", "--target-pool", busy_pool)
        guest.assert_moved("b")
    finally:
        lab.destroy_vm(vm.name)
