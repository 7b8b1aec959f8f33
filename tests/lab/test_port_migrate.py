# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real migrations of a guest in OVN: its port goes along, and a client measures how long its service was away.

After every test the port is where the guest runs, alone, with nothing temporary left (I4: checked by make_ovn_vm).
"""
import contextlib
import json

import pytest

from kvmiglab import proc, settings
from migration import CANCELLED, FAILED, SUCCESS, Guest
from port import TARGET, PortTool, database_options

HTTP, ECHO = settings.GUEST_HTTP_PORT, settings.GUEST_ECHO_PORT
PROBE_INTERVAL_MS = 20


def followed(ovn, vm, *extra, databases=None, probes=None, ports=None):
    """The options that take the guest's ports along and watch its service from the client."""
    options = ["--unsafe", *(databases or database_options(ovn)), "--probe-netns", ovn.client_netns]
    for port in ports if ports is not None else [f"ovn-match:vm={vm.name}"]:
        options += ["--port", port]
    for probe in probes if probes is not None else [f"tcp:{vm.ip}:{HTTP}"]:
        options += ["--probe", probe]
    return [*options, *map(str, extra)]


def timeline(report, port=0):
    return [n["what"] for n in report["ports"][port]["timeline"]]


def targets(report):
    return [t for probe in report["probes"] for t in probe["targets"]]


def notices(report):
    return {n["code"] for n in report["notices"]}


def rows_of(ovn, vm):
    """Options of a bundle: with the rows of the guest's port."""
    return ["--lsp", vm.lsp, *database_options(ovn)]


def cancel_result(migration):
    """What was answered to a cancel, as soon as it was answered."""
    return migration.wait_for(lambda e: e.get("type") == "cancel", "an answer to the cancel")["cancel_result"]


def pinned_vm(make_ovn_vm, name, **options):
    return make_ovn_vm(name, disks=["shared:16M"], pin=True, **options)


# ---- the port goes along ----------------------------------------------------

def test_there_and_back_with_a_client_watching(lab, ovn, tool, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-home")
    guest = Guest(lab, vm)
    for to in "ba":
        report = tool.migrate(vm, to, *followed(ovn, vm, probes=[f"tcp:{vm.ip}:{HTTP}", f"echo:{vm.ip}:{ECHO}",
                                                                  f"http://{vm.ip}:{HTTP}/status"]))
        guest.assert_running(to)
        port = report["ports"][0]
        assert port["state"] == "converged" and "extended" in timeline(report), port["timeline"]
        assert "activated" in timeline(report), "the guest's own RARP"
        # Both numbers, on one axis: no try succeeds in the pause, which is in Running or at the latest in Finalizing.
        gap, pause = report["service"], report["pause"]
        begun = {p["phase"]: p["begun_ms"] for p in report["phases"]}
        assert gap["gap_ms"] + PROBE_INTERVAL_MS >= pause["source_ms"] > 0
        assert begun["Running"] <= gap["gap_end_ms"] and gap["gap_begin_ms"] <= begun["Succeeded"]
        assert {t["kind"] for t in targets(report)} == {"tcp", "echo", "http"}
        held = next(t for t in targets(report) if t["kind"] == "echo")
        assert held["held_survived"], "an established connection goes on"
        assert {"SERVICE_GAP"} <= notices(report)
        ovn.assert_clean_all()


def test_both_cards_follow(lab, ovn, tool, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-two", nics=2)
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b", *followed(ovn, vm, probes=[f"tcp:{p['ip']}:{HTTP}" for p in vm.ports]))
    guest.assert_running("b")
    assert {lsp["name"] for lsp in report["ports"][0]["lsps"]} == {p["lsp"] for p in vm.ports}


def test_several_ports_of_several_kinds_in_one_session(lab, ovn, tool, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-many", nics=2)
    guest = Guest(lab, vm)
    names = [p["lsp"] for p in vm.ports]
    report = tool.migrate(vm, "b", *followed(ovn, vm, ports=[*(f"ovn:{name}" for name in names), "none:extra"]))
    guest.assert_running("b")
    assert {p["name"]: p["state"] for p in report["ports"]} == dict.fromkeys([*names, "extra"], "converged")


def test_one_of_two_ports_cannot_be_prepared(lab, ovn, tool, doctor, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-half", nics=2)
    guest = Guest(lab, vm)
    first, second = (p["lsp"] for p in vm.ports)
    other = PortTool(lab, ovn, second)
    assert other.prepare().code == 0
    report = tool.migrate(vm, "b", *followed(ovn, vm, ports=[f"ovn:{first}", f"ovn:{second}"]), expect=FAILED)
    assert other.owner in json.dumps(report["error"])
    states = {p["name"]: p["state"] for p in report["ports"]}
    assert states == {first: "rolled-back", second: "superseded"}
    doctor.expect("FAILED", vm, naming=other.owner, report=report, port=rows_of(ovn, vm))
    ovn.assert_clean(first, "a")
    assert ovn.lsp(second)["external_ids"]["kvmig-owner"] == other.owner
    assert other.rollback().code == 0
    guest.assert_rolled_back()


def test_over_ipv6(lab, ovn, tool, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-six")
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b", *followed(ovn, vm, databases=database_options(ovn, kind="tcp6"),
                                             probes=[f"tcp:[{vm.ip6}]:{HTTP}", f"http://[{vm.ip6}]:{HTTP}/status"]))
    guest.assert_running("b")
    assert all(t["tries"] > t["failures"] for t in targets(report))


def test_with_client_certificates(lab, ovn, tool, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-tls")
    guest = Guest(lab, vm)
    tool.migrate(vm, "b", *followed(ovn, vm, databases=database_options(ovn, kind="ssl")))
    guest.assert_running("b")


def test_unpinned_port_is_left_pinned_to_the_guest(lab, ovn, tool, make_ovn_vm):
    vm = make_ovn_vm("p-free", disks=["shared:16M"], pin=False)
    guest = Guest(lab, vm)
    report = tool.migrate(vm, "b", *followed(ovn, vm))
    guest.assert_running("b")
    assert timeline(report).index("pinned") < timeline(report).index("extended")
    ovn.assert_clean(vm.lsp, "b")


def test_strict_handover(lab, ovn, tool, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-strict")
    guest = Guest(lab, vm)
    tool.migrate(vm, "b", *followed(ovn, vm, "--strict"))
    guest.assert_running("b")


def test_postcopy(lab, ovn, tool, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-post")
    guest = Guest(lab, vm)
    vm.dirty(64, 200)
    report = tool.migrate(vm, "b", *followed(ovn, vm, "--postcopy", "--postcopy-after-precopy", "--bandwidth", "32"))
    vm.dirty(0, 0)
    assert report["postcopy_used"]
    guest.assert_running("b")


def test_claim_is_proven_while_memory_is_copied(lab, ovn, tool, make_ovn_vm):
    """libvirt plugs the interface in the migrate call: armed before it, verified during it."""
    vm = pinned_vm(make_ovn_vm, "p-slow")
    guest = Guest(lab, vm)
    vm.dirty(48, 40)
    migration = tool.start(vm, "b", *followed(ovn, vm, "--bandwidth", "24"))
    verified = migration.wait_port("verified")
    assert verified["phase"] == "Running"
    vm.dirty(0, 0)
    code, report = migration.finish()
    assert code == SUCCESS, migration.stderr
    steps = timeline(report)
    assert steps.index("armed") < steps.index("claimed") < steps.index("verified")
    guest.assert_running("b")


# ---- cancel and failure -----------------------------------------------------

@pytest.mark.parametrize("phase", ["Pending", "Scheduling", "Scheduled", "PreparingTarget", "TargetReady", "Running"])
def test_cancel_in_each_phase(lab, ovn, tool, make_ovn_vm, phase):
    vm = pinned_vm(make_ovn_vm, "p-cancel")
    guest = Guest(lab, vm)
    vm.dirty(64, 200)
    migration = tool.start(vm, "b", *followed(ovn, vm, "--bandwidth", "16"))
    migration.wait_phase(phase)
    migration.cancel()
    code, _ = migration.finish()
    vm.dirty(0, 0)
    assert code == CANCELLED, migration.stderr
    guest.assert_rolled_back()
    ovn.assert_clean(vm.lsp, "a")


def test_volume_cannot_be_created_on_the_target(lab, ovn, tool, doctor, make_ovn_vm):
    """PreparingTarget fails, when the port is prepared already."""
    vm = make_ovn_vm("p-novol", disks=["private:16M"], pin=True)
    guest = Guest(lab, vm)
    b = lab.host("b")
    b.run(["mount", "-o", "remount,bind,ro", settings.PRIVATE])
    try:
        migration = tool.start(vm, "b", *followed(ovn, vm))
        code, report = migration.finish()
    finally:
        b.run(["mount", "-o", "remount,bind,rw", settings.PRIVATE])
    assert code == FAILED, migration.stderr
    assert migration.phases()[-3:] == ["PreparingTarget", "RollingBack", "Failed"]
    assert "extended" in timeline(report) and report["ports"][0]["state"] == "rolled-back"
    guest.assert_rolled_back()
    doctor.expect("FAILED", vm, naming="Read-only file system", report=report, port=rows_of(ovn, vm))


def test_guest_moves_although_its_port_cannot_be_proven_to_have_followed(lab, ovn, tool, doctor, make_ovn_vm):
    """Finalizing: northd stops; the port is written for the target, and the report says that nothing proves it yet."""
    vm = pinned_vm(make_ovn_vm, "p-final")
    guest = Guest(lab, vm)
    vm.dirty(48, 40)
    migration = tool.start(vm, "b", *followed(ovn, vm, "--bandwidth", "24", "--port-timeout", "3s"))
    migration.wait_port("verified")
    with ovn.northd.paused():
        vm.dirty(0, 0)
        code, report = migration.finish()
    assert code == SUCCESS, migration.stderr
    assert "PORT_NOT_CONVERGED" in notices(report)
    assert "northd" in json.dumps(report["ports"][0]["error"]) + json.dumps(report["notices"])
    guest.assert_running("b")
    ovn.assert_clean(vm.lsp, "b")
    doctor.expect("SUCCEEDED", vm, finding="PORT_NOT_CONVERGED", report=report, port=rows_of(ovn, vm))


def test_cancel_in_finalizing_is_too_late_for_the_port_too(lab, ovn, tool, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-toolate")
    guest = Guest(lab, vm)
    vm.dirty(48, 40)
    migration = tool.start(vm, "b", *followed(ovn, vm, "--bandwidth", "24"))
    migration.wait_port("verified")
    with ovn.northd.paused():
        vm.dirty(0, 0)
        migration.wait_phase("Finalizing")
        migration.cancel()
        assert cancel_result(migration) == "too-late"
        assert "Succeeded" not in migration.phases(), "the port was still being converged"
    code, report = migration.finish()
    assert code == SUCCESS, migration.stderr
    assert report["ports"][0]["state"] == "converged"
    guest.assert_running("b")


def begin_and_hold(lab, ovn, tool, make_ovn_vm, name, *extra):
    """A migration that never converges by itself, with its port proven on the target and memory on the way."""
    vm = pinned_vm(make_ovn_vm, name)
    guest = Guest(lab, vm)
    vm.dirty(64, 200)
    migration = tool.start(vm, "b", *followed(ovn, vm, "--bandwidth", "16", *extra))
    migration.wait_port("verified")
    migration.wait_progress(lambda p: p.get("memory_sent", 0) > 0, "progress")
    return vm, guest, migration


def finish_failed(vm, guest, migration):
    """The guest must have stayed where it was."""
    code, report = migration.finish()
    vm.dirty(0, 0)
    assert code == FAILED, (migration.events[-3:], migration.stderr)
    guest.assert_running("a")
    return report


def test_target_qemu_dies(lab, ovn, tool, doctor, make_ovn_vm):
    vm, guest, migration = begin_and_hold(lab, ovn, tool, make_ovn_vm, "p-dies")
    vm.kill(lab.host("b"))
    report = finish_failed(vm, guest, migration)
    assert report["ports"][0]["state"] == "rolled-back"
    ovn.assert_clean(vm.lsp, "a")
    doctor.expect("FAILED", vm, finding="QEMU_DIED", report=report, port=rows_of(ovn, vm))


def test_cancel_while_a_failure_is_rolled_back(lab, ovn, tool, doctor, make_ovn_vm):
    vm, guest, migration = begin_and_hold(lab, ovn, tool, make_ovn_vm, "p-undone")
    with ovn.northd.paused():
        vm.kill(lab.host("b"))
        migration.wait_phase("RollingBack")
        migration.wait_port("rolling-back")
        migration.cancel()
        assert cancel_result(migration) == "accepted"
        assert "Failed" not in migration.phases(), "the port was still being rolled back"
    report = finish_failed(vm, guest, migration)
    assert report["ports"][0]["state"] == "rolled-back"
    doctor.expect("FAILED", vm, finding="QEMU_DIED", report=report, port=rows_of(ovn, vm))


def test_roll_back_without_the_northbound_database_says_who_has_to_clean_up(lab, ovn, tool, doctor, make_ovn_vm):
    vm, guest, migration = begin_and_hold(lab, ovn, tool, make_ovn_vm, "p-nonb", "--port-timeout", "4s")
    with ovn.nb.paused():
        vm.kill(lab.host("b"))
        report = finish_failed(vm, guest, migration)
    assert "PORT_NOT_ROLLED_BACK" in notices(report)
    owner = report["ports"][0]["owner"]
    doctor.expect(("FAILED", "STALE_LSP_OPTIONS"), vm, finding="PORT_NOT_ROLLED_BACK", report=report, port=rows_of(ovn, vm))
    run = PortTool(lab, ovn, vm.lsp, owner=owner).rollback()
    assert run.code == 0 and run.state == "rolled-back", run.error()
    ovn.assert_clean(vm.lsp, "a")


def test_leader_of_the_northbound_cluster_dies_while_memory_is_copied(lab, ovn, tool, make_ovn_vm):
    with ovn.nb_cluster() as cluster:
        vm = pinned_vm(make_ovn_vm, "p-raft")
        guest = Guest(lab, vm)
        vm.dirty(48, 40)
        migration = tool.start(vm, "b", *followed(ovn, vm, "--bandwidth", "24", "--port-timeout", "60s"))
        migration.wait_port("verified")
        leader = cluster.wait_leader()
        cluster.kill(leader)
        vm.dirty(0, 0)
        cluster.wait_leader(other_than=leader)
        ovn.northd.restart()  # it would back off for long before it looks for the leader
        code, report = migration.finish()
        assert code == SUCCESS, migration.stderr
        assert report["ports"][0]["state"] == "converged", report["ports"][0]["timeline"]
        guest.assert_running("b")
        cluster.start(leader)


def test_controller_of_the_target_dies_before_the_call(lab, ovn, tool, doctor, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-noctl")
    guest = Guest(lab, vm)
    with ovn.controller("b").paused():
        report = tool.migrate(vm, "b", *followed(ovn, vm, "--port-timeout", "3s"), expect=FAILED)
    assert "call_ms" not in report, "nothing was begun"
    assert report["ports"][0]["state"] == "rolled-back"
    guest.assert_rolled_back()
    doctor.expect("FAILED", vm, finding="DEADLINE_PASSED", naming="ovn-controller of kvmig-b", report=report,
                  port=rows_of(ovn, vm))


def test_controller_of_the_target_dies_before_it_claims(lab, ovn, tool, doctor, make_ovn_vm):
    """Armed in time, and then no claim: the target's libvirt is held until ovn-controller is dead."""
    vm = pinned_vm(make_ovn_vm, "p-late")
    guest = Guest(lab, vm)
    controller, b = ovn.controller("b"), lab.host("b")
    vm.dirty(64, 200)
    with controller.paused():
        migration = tool.start(vm, "b", *followed(ovn, vm, "--bandwidth", "16", "--port-timeout", "4s"))
        migration.wait_phase("TargetReady")
        b.daemon_pause()
    migration.wait_phase("Running")
    controller.kill()
    b.daemon_continue()
    report = finish_failed(vm, guest, migration)
    steps = timeline(report)
    assert "armed" in steps and "verified" not in steps, steps
    claims = [n["detail"]["chassis"] for n in report["ports"][0]["timeline"] if n["what"] == "claimed"]
    assert TARGET not in claims, claims
    assert report["ports"][0]["state"] == "rolled-back"
    doctor.expect("FAILED", vm, finding="DEADLINE_PASSED", naming="not claimed by kvmig-b", report=report,
                  port=rows_of(ovn, vm))
    controller.start()
    ovn.assert_clean(vm.lsp, "a")


def test_northd_is_stopped(lab, ovn, tool, doctor, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-northd")
    guest = Guest(lab, vm)
    with ovn.northd.paused():
        report = tool.migrate(vm, "b", *followed(ovn, vm, "--port-timeout", "2s"), expect=FAILED)
        assert "northd" in json.dumps(report["error"])
        doctor.expect("FAILED", vm, finding="DEADLINE_PASSED", naming="northd", report=report, port=rows_of(ovn, vm))
    guest.assert_rolled_back()


def test_southbound_database_cannot_be_reached(lab, ovn, tool, doctor, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-nosb")
    guest = Guest(lab, vm)
    with ovn.sb.paused():
        report = tool.migrate(vm, "b", *followed(ovn, vm, "--port-timeout", "2s"), expect=FAILED)
        assert "outhbound" in json.dumps(report["error"])
        doctor.expect("FAILED", vm, finding="DEADLINE_PASSED", naming="southbound database", report=report)
    guest.assert_rolled_back()


def test_chassis_that_is_no_host_of_ovn(lab, ovn, tool, doctor, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-ghost")
    guest = Guest(lab, vm)
    original = ovn.chassis("b").hostname
    ovn.chassis("b").vsctl("set", "open", ".", "external_ids:hostname=elsewhere")
    try:
        ovn.sync()
        report = tool.migrate(vm, "b", *followed(ovn, vm), expect=FAILED)
        assert TARGET in json.dumps(report["error"]) and "elsewhere" in json.dumps(report["error"])
        doctor.expect("FAILED", vm, naming="elsewhere", report=report, port=rows_of(ovn, vm))
    finally:
        ovn.chassis("b").vsctl("set", "open", ".", f"external_ids:hostname={original}")
        ovn.sync()
    guest.assert_rolled_back()


def test_port_is_created_anew_while_memory_is_copied(lab, ovn, tool, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-anew")
    guest = Guest(lab, vm)
    vm.dirty(48, 40)
    migration = tool.start(vm, "b", *followed(ovn, vm, "--bandwidth", "24"))
    migration.wait_port("verified")
    row = ovn.lsp(vm.lsp)
    ovn.lsp_add(vm.lsp, vm.ports[0]["mac"], [vm.ip, vm.ip6], external_ids={"vm": vm.name})
    assert ovn.lsp(vm.lsp)["uuid"] != row["uuid"]

    def calmed():  # nobody has pinned the new port: both hosts claim it, and the guest is not always reached
        with contextlib.suppress(OSError):
            vm.dirty(0, 0)
            return True
        return False
    proc.wait_until(calmed, "an answer of the guest", 60)
    code, report = migration.finish()
    assert code == SUCCESS, migration.stderr
    guest.assert_running("b")
    assert "recreated" in timeline(report)
    assert not [k for k in ovn.lsp(vm.lsp)["external_ids"] if k.startswith("kvmig-")]
    assert "requested-chassis" not in ovn.lsp(vm.lsp)["options"], "it is another port, and not ours"
    ovn.set_options(vm.lsp, requested_chassis="chassis-b")


def test_another_migration_owns_the_port(lab, ovn, tool, doctor, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-owned")
    guest = Guest(lab, vm)
    other = PortTool(lab, ovn, vm.lsp)
    assert other.prepare().code == 0
    report = tool.migrate(vm, "b", *followed(ovn, vm), expect=FAILED)
    assert other.owner in json.dumps(report["error"])
    assert ovn.lsp(vm.lsp)["external_ids"]["kvmig-owner"] == other.owner, "it was not touched"
    doctor.expect("FAILED", vm, finding="PORT_SUPERSEDED", report=report, port=rows_of(ovn, vm))
    assert other.rollback().code == 0
    guest.assert_rolled_back()


def test_killed_caller_leaves_what_gc_cleans_up(lab, ovn, tool, doctor, make_ovn_vm):
    vm = pinned_vm(make_ovn_vm, "p-killed")
    guest = Guest(lab, vm)
    vm.dirty(64, 200)
    migration = tool.start(vm, "b", *followed(ovn, vm, "--bandwidth", "16", "--managed"))
    migration.wait_progress(lambda p: p.get("memory_sent", 0) > 0, "progress")
    migration.kill()
    lab.host("a").virsh("domjobabort", vm.name, check=False)
    vm.dirty(0, 0)
    port = PortTool(lab, ovn, vm.lsp)
    assert "kvmig-owner" in ovn.lsp(vm.lsp)["external_ids"]
    doctor.expect(("CANCELLED", "FAILED"), vm, finding="STALE_LSP_OPTIONS", port=rows_of(ovn, vm))
    at = next(h for h, state in vm.states().items() if (state or "").startswith("running"))
    run = port.gc(ovn.chassis(at).hostname, "--min-age", "0")
    assert run.code == 0, run.error()
    guest.assert_same_guest()
