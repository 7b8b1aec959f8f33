# SPDX-License-Identifier: LGPL-2.1-or-later
"""KubeVirt migrations of real guests: a real API server, KubeVirt's controllers simulated, libvirt, OVN ports plugged by a CNI.

After every test nothing temporary is left: no migration, policy, label, launcher pod, tap, port option or token (fixture
`kube`), and the guest answers with the boot id and the records that it had (KubeGuest).
"""
import json

import pytest

from doctor import KubeDoctor
from kubemig import NAMESPACE, KubeGuest, KubeTool, copying_for_ever, full_name
from kvmiglab import proc
from migration import BLOCKED, CANCELLED, FAILED, SUCCESS

PHASES = ["Pending", "Scheduling", "Scheduled", "PreparingTarget", "TargetReady", "Running", "Succeeded"]


@pytest.fixture
def tool(lab, kube):
    tool = KubeTool(lab, kube)
    yield tool
    tool.close()


@pytest.fixture
def doctor(lab, tool, request):
    """Asked what it makes of a fault, by what the cluster and the hosts' logs say of it."""
    doctor = KubeDoctor(lab, tool, request.node.name)
    yield doctor
    doctor.close()


@pytest.fixture
def vm(kube):
    """A guest with a shared disk; the same one for all tests that leave it whole."""
    return kube.ensure_vm("k-main", disks=["shared:8M"])


@pytest.fixture
def second(kube):
    return kube.ensure_vm("k-second", disks=[], wait=False)


@pytest.fixture
def guest(lab, kube, vm):
    return KubeGuest(lab, kube, vm)


@pytest.fixture
def held(kube, vm, guest):
    """The guest, whose copy does not end by itself."""
    with copying_for_ever(kube, vm):
        yield guest


def phases_of(kube, vmim):
    """The phases that KubeVirt's own record tells."""
    return [t["phase"] for t in kube.migration(vmim)["status"]["phaseTransitionTimestamps"]]


def timeline(report):
    return [n["what"] for n in report["ports"][0]["timeline"]]


def notices(report):
    return {n["code"] for n in report["notices"]}


def cancel_result(migration):
    return migration.wait_for(lambda e: e.get("type") == "cancel", "an answer to the cancel")["cancel_result"]


def launchers(kube, vm):
    return [p for p in kube.pods(vm.name) if p["metadata"]["labels"].get("kubevirt.io") == "virt-launcher"]


# ---- the whole way ------------------------------------------------------------

def test_there_and_back(kube, tool, vm, guest, ovn):
    for _ in range(2):
        now = KubeGuest(tool.lab, kube, vm)
        report = tool.migrate(vm, *tool.port(vm), *tool.probe(vm), *tool.node_hosts())
        now.assert_moved()
        found = report["kubernetes"]["migration"]
        assert found["phase"] == "Succeeded" and phases_of(kube, found["name"]) == PHASES
        assert report["ports"][0]["state"] == "converged" and "activated" in timeline(report)
        assert report["final"]["verdict"] == "SUCCEEDED" and report["final"]["node_hosts"] == "agrees"
        assert report["kubernetes"]["network"]["endpoints_moved"], "the service was handed over"
        times = report["kubernetes"]["times"]
        assert times["copy_started_ms"] <= times["domain_ready_ms"] <= times["endpoints_moved_seen_ms"]
        assert report["service"]["gap_ms"] > 0 and not report["service"]["gap_is_open"]
        ovn.assert_clean(vm.lsp, now.target)
    guest.assert_same_guest()


def test_target_gets_its_network_only_when_the_port_may_be_there(kube, tool, doctor, vm, guest):
    """Field report 000: whoever migrates without preparing the port waits for ever, and is told what for."""
    kube.post_migration(vm.name, "by-hand")
    wait = tool.explained(vm, "TARGET_NETWORK_NOT_READY")
    assert "ovn-installed" in wait["evidence"] and vm.lsp in wait["evidence"]
    assert kube.phase_of("by-hand") == "Scheduling"
    doctor.expect(("WAITING", "TARGET_NETWORK_NOT_READY"), vm, finding="TARGET_NETWORK_NOT_READY", naming=vm.lsp)
    # The remedy: follow it, with the port.
    report = tool.migrate(vm, "--attach", "by-hand", *tool.port(vm))
    assert report["kubernetes"]["migration"]["attached"]
    guest.assert_moved()


def test_follows_a_migration_that_somebody_else_has_posted(kube, tool, vm, guest):
    with kube.act("hold-scheduling"):
        kube.post_migration(vm.name, "theirs")
        migration = tool.start(vm, "--attach", "-", *tool.port(vm))
        assert migration.vmim == "theirs"
    code, report = migration.finish()
    assert code == SUCCESS, migration.stderr
    assert report["kubernetes"]["migration"]["name"] == "theirs"
    guest.assert_moved()


# ---- hotplugged volumes: the launcher waits in Pending ---------------------------

@pytest.fixture
def hotplugged(kube, vm):
    """The guest has a hotplugged volume, so a migration stays in Pending until launcher and attachment pod are ready."""
    claim = f"{vm.name}-hot"
    kube.add_claim(claim, 1 << 20, True, "/srv/hot")
    kube.control("POST", "/acts", {"kind": "hotplug", "namespace": NAMESPACE, "vmi": vm.name, "volume": "hot", "claim": claim})
    yield vm
    kube.control("POST", "/acts", {"kind": "unplug", "namespace": NAMESPACE, "vmi": vm.name, "volume": "hot"})
    kube.remove_claim(claim)


def test_hotplug_port_is_prepared_in_pending(kube, tool, hotplugged, guest):
    """The circular wait of field report 000 cannot come about: the launcher gets its network although all is Pending."""
    with kube.act("hold-scheduling", role="attachment"):
        migration = tool.start(hotplugged, *tool.port(hotplugged))
        migration.wait_port("prepared")
        proc.wait_until(lambda: [p for p in launchers(kube, hotplugged) if p["status"]["phase"] == "Running"][1:],
                        "a running target launcher", 20)
        assert kube.phase_of(migration.vmim) == "Pending"
        tool.explained(hotplugged, "TARGET_POD_STARTING", about="pod/lab/hp-volume-")
    code, report = migration.finish()
    assert code == SUCCESS, migration.stderr
    assert report["kubernetes"]["target"]["attachment_pod"]
    guest.assert_moved()


def test_hotplug_circular_wait_of_others_is_explained_and_resolved(kube, tool, doctor, hotplugged, guest):
    kube.post_migration(hotplugged.name, "circular")
    wait = tool.explained(hotplugged, "DEADLOCK_NETWORK_PENDING", "TARGET_NETWORK_NOT_READY")
    assert vm_port_named(wait, hotplugged)
    assert kube.phase_of("circular") == "Pending"
    doctor.expect("DEADLOCK_NETWORK_PENDING", hotplugged, naming=hotplugged.lsp)
    report = tool.migrate(hotplugged, "--attach", "circular", *tool.port(hotplugged))
    assert report["kubernetes"]["migration"]["name"] == "circular"
    guest.assert_moved()


def vm_port_named(wait, vm):
    return vm.lsp in json.dumps(wait)


# ---- cancel ----------------------------------------------------------------------

@pytest.mark.parametrize("phase,held_pod", [("Pending", "attachment"), ("Scheduling", "launcher")])
def test_cancel_before_the_target_is_prepared(kube, tool, request, vm, guest, phase, held_pod):
    if phase == "Pending":
        request.getfixturevalue("hotplugged")
    with kube.act("hold-scheduling", role=held_pod):
        migration = tool.start(vm, *tool.port(vm))
        kube.wait_phase(migration.vmim, phase)
        migration.cancel()
        code, report = migration.finish()
    assert code == CANCELLED, migration.stderr
    assert report["ports"][0]["state"] in ("rolled-back", "idle")
    guest.assert_stayed()


def test_cancel_while_the_target_is_prepared_waits_for_the_copy(kube, tool, held, vm):
    """KubeVirt only notes it; the outcome says so, and it takes effect when the copy begins."""
    with kube.act("slow-preparation"):
        migration = tool.start(vm, *tool.port(vm))
        kube.wait_phase(migration.vmim, "PreparingTarget")
        migration.wait_wait("TARGET_PREPARING")
        migration.cancel()
        assert cancel_result(migration) == "deferred"
        kube.wait_deleting(migration.vmim)
        assert kube.phase_of(migration.vmim) == "PreparingTarget"
    code, report = migration.finish()
    assert code == CANCELLED, migration.stderr
    assert report["ports"][0]["state"] == "rolled-back"
    held.assert_stayed()


def test_cancel_while_the_target_is_prepared_deletes_its_pod_on_request(kube, tool, vm, guest):
    with kube.act("slow-preparation"):
        migration = tool.start(vm, *tool.port(vm), "--delete-target-pod")
        kube.wait_phase(migration.vmim, "PreparingTarget")
        migration.wait_wait("TARGET_PREPARING")
        migration.cancel()
        assert cancel_result(migration) == "accepted"
        code, _ = migration.finish()
    assert code == CANCELLED, migration.stderr
    guest.assert_stayed()


def test_cancel_while_it_copies(tool, doctor, held, vm, ovn):
    migration = tool.start(vm, *tool.port(vm), *tool.node_hosts())
    migration.wait_phase("Running")
    migration.cancel()
    code, report = migration.finish()
    assert code == CANCELLED, migration.stderr
    assert report["ports"][0]["state"] == "rolled-back" and report["final"]["node_hosts"] == "agrees"
    assert not doctor.expect("CANCELLED", vm, report=report)["findings"]
    held.assert_stayed()
    ovn.assert_clean(vm.lsp, held.source)


def test_cancel_of_an_eviction_tells_that_it_will_return_unless_that_is_stopped(kube, tool, held, vm):
    """The evacuation controller makes the migration; a cancel alone has it made again."""
    kube.control("POST", "/acts", {"kind": "evict", "namespace": NAMESPACE, "vmi": vm.name})
    first = running_migration(kube, tool, vm)
    cancelled = tool.start(vm, "--attach", first, "--cancel", *tool.port(vm, "--owner", "follower"))
    assert cancel_result(cancelled) == "will-return"
    assert cancelled.finish()[0] == CANCELLED, cancelled.stderr
    again = running_migration(kube, tool, vm, but=first)
    cancelled = tool.start(vm, "--attach", again, "--cancel", "--stop-evacuation", *tool.port(vm, "--owner", "follower"))
    assert cancel_result(cancelled) == "accepted"
    assert cancelled.finish()[0] == CANCELLED, cancelled.stderr
    assert "evacuationNodeName" not in kube.vmi(vm.name)["status"]
    held.assert_stayed()


def running_migration(kube, tool, vm, but=None):
    """Follows the migration that a controller makes, with the guest's port, until it copies, and leaves it; its name."""
    name = first_migration(kube, vm, but)
    follower = tool.start(vm, "--attach", name, *tool.port(vm, "--owner", "follower"))
    follower.wait_phase("Running")
    follower.kill()
    return name


def first_migration(kube, vm, but=None):
    """Name of a migration of the VM that is not over, once there is one."""
    def found():
        return next((m["metadata"]["name"] for m in kube.migrations(vm.name)
                     if m["metadata"]["name"] != but and m.get("status", {}).get("phase") not in ("Succeeded", "Failed")), None)
    return proc.wait_until(found, f"a migration of {vm.name}", 60)


# ---- faults, recognised while they last --------------------------------------------

def refuse(tool, vm):
    """The migration that cannot go on is cancelled by the test; the guest stays."""
    return tool.start(vm, *tool.port(vm))


def end_cancelled(migration, guest):
    migration.cancel()
    code, report = migration.finish()
    assert code == CANCELLED, migration.stderr
    guest.assert_stayed()
    return report


def test_unschedulable_target(kube, tool, doctor, vm, guest):
    text = "0/2 nodes are available: 1 Insufficient memory, 1 node(s) didn't match pod anti-affinity rules."
    with kube.act("unschedulable", text=text):
        migration = refuse(tool, vm)
        migration.wait_wait("TARGET_UNSCHEDULABLE")
        wait = tool.explained(vm, "TARGET_UNSCHEDULABLE")
        assert "Insufficient memory" in json.dumps(wait) and wait["limit"]
        doctor.expect("TARGET_UNSCHEDULABLE", vm, naming="Insufficient memory")
        end_cancelled(migration, guest)


def test_image_cannot_be_pulled(kube, tool, doctor, vm, guest):
    with kube.act("bad-image"):
        migration = refuse(tool, vm)
        migration.wait_wait("TARGET_IMAGE_PULL")
        assert "virt-launcher" in json.dumps(tool.explained(vm, "TARGET_IMAGE_PULL"))
        doctor.expect("TARGET_IMAGE_PULL", vm, naming="virt-launcher")
        end_cancelled(migration, guest)


def test_target_is_lost_while_it_copies(kube, tool, doctor, held, vm, ovn):
    with kube.act("target-lost", seconds=2):
        migration = tool.start(vm, *tool.port(vm))
        code, report = migration.finish()
    assert code == FAILED, migration.stderr
    assert report["kubernetes"]["migration"]["verdict"] == "TARGET_POD_LOST"
    assert report["ports"][0]["state"] == "rolled-back"
    doctor.expect("FAILED", vm, finding="TARGET_POD_LOST")
    doctor.expect("FAILED", vm, finding="TARGET_POD_LOST", report=report)
    held.assert_stayed()
    ovn.assert_clean(vm.lsp, held.source)


def test_source_reports_a_failure(kube, tool, doctor, held, vm):
    text = ("virError(Code=9, Domain=10, Message='operation failed: guest CPU doesn't match specification: "
            "missing features: erms')")
    with kube.act("source-fails", seconds=1, text=text):
        migration = tool.start(vm, *tool.port(vm), *tool.node_hosts())
        code, report = migration.finish()
    assert code == FAILED, migration.stderr
    assert report["final"]["node_hosts"] == "agrees"
    assert "erms" in json.dumps(report["kubernetes"])
    assert "erms" in json.dumps(report["error"])
    held.assert_stayed()
    assert "erms" in json.dumps(tool.explain(vm))
    doctor.expect("CPU_FEATURE_MISSING", vm, naming="erms")
    doctor.expect("CPU_FEATURE_MISSING", vm, naming="erms", report=report)


def test_copy_takes_too_long(kube, tool, doctor, held, vm):
    kube.configure(bandwidthPerMigration="32Mi", completionTimeoutPerGiB=3)
    with kube.real_time():
        report = tool.migrate(vm, *tool.port(vm), expect=FAILED)
    assert report["kubernetes"]["migration"]["verdict"] == "ABORTED_BY_COMPLETION_TIMEOUT", report["kubernetes"]
    doctor.expect("ABORTED_BY_COMPLETION_TIMEOUT", vm)
    held.assert_stayed()


def test_copy_that_takes_too_long_is_switched_to_postcopy_where_that_is_allowed(kube, tool, held, vm):
    kube.configure(bandwidthPerMigration="32Mi", completionTimeoutPerGiB=10, allowPostCopy=True)
    report = tool.migrate(vm, *tool.port(vm))
    assert report["kubernetes"]["migration"]["mode"] == "PostCopy" and report["postcopy_used"]
    vm.dirty(0, 0)
    held.assert_moved()


def test_all_slots_are_taken(kube, tool, doctor, vm, guest, second):
    kube.configure(parallelMigrationsPerCluster=1, parallelOutboundMigrationsPerNode=1)
    with kube.act("hold-scheduling", vmi=second.name):
        kube.post_migration(second.name, "first")
        kube.wait_phase("first", "Scheduling")
        kube.post_migration(vm.name, "queued")
        tool.explained(vm, "LIMIT_REACHED")
        doctor.expect("WAITING", vm, finding="LIMIT_REACHED", naming="1 of 1 slots")
        assert kube.phase_of("queued") == "Pending"
        for name in ("queued", "first"):
            kube.api.delete("vmim", NAMESPACE, name)
            kube.wait_gone(name)
    guest.assert_stayed()


def test_quota_is_full(kube, tool, doctor, vm, guest):
    kube.add_full_quota("full")
    code, plan = tool.json("plan", full_name(vm))
    assert code == 0 and plan["verdict"] == "BLOCKED" and "QUOTA_EXCEEDED" in {f["code"] for f in plan["findings"]}, plan["findings"]
    kube.post_migration(vm.name, "refused")
    tool.explained(vm, "QUOTA_EXCEEDED")
    doctor.expect("QUOTA_EXCEEDED", vm, naming="full")
    kube.api.delete("vmim", NAMESPACE, "refused")
    guest.assert_stayed()


# ---- several processes ---------------------------------------------------------------

def test_caller_dies_while_it_copies_and_another_one_takes_over(kube, tool, held, vm, tmp_path, ovn):
    token = tmp_path / "token"
    owner = ["--owner", "resumed"]
    migration = tool.start(vm, *tool.port(vm), *owner, "--token", token, "--temporary-policy", "--bandwidth", "32")
    migration.wait_phase("Running")
    name = migration.vmim
    migration.kill()
    assert kube.phase_of(name) == "Running", "KubeVirt goes on without its caller"
    vm.dirty(0, 0)
    resumed = tool.start(vm, "--resume", token, *tool.port(vm), *owner, source=held.source)
    code, report = resumed.finish()
    assert code == SUCCESS, (resumed.events[-3:], resumed.stderr)
    found = report["kubernetes"]["migration"]
    assert found["name"] == name and found["resumed"]
    assert report["ports"][0]["state"] == "converged"
    held.assert_moved()
    ovn.assert_clean(vm.lsp, held.target)


def test_second_session_is_refused_with_the_name_of_the_first_one(kube, tool, held, vm):
    first = tool.start(vm, *tool.port(vm))
    first.wait_phase("Running")
    code, out, err = tool.run("migrate", full_name(vm), "--json")
    assert code == BLOCKED and first.vmim in out + err, (code, out, err)
    assert len(kube.migrations(vm.name)) == 1
    end_cancelled(first, held)


def test_two_sessions_at_the_same_moment(kube, tool, vm, guest):
    """The server takes one of them; the other one names it, and both leave the port where the guest is."""
    with_port, without = tool.start(vm, *tool.port(vm)), tool.start(vm)
    loser = proc.wait_until(lambda: next((r for r in (with_port, without) if not r.running()), None),
                            "the end of one session", 60)
    code, _ = loser.finish()
    if code == SUCCESS:  # so quick that the other one has not ended yet
        loser = without if loser is with_port else with_port
        code, _ = loser.finish()
    assert code != SUCCESS
    assert len(kube.migrations(vm.name)) == 1
    name = kube.migrations(vm.name)[0]["metadata"]["name"]
    assert name in json.dumps(loser.events) + loser.stderr
    if loser is without:
        assert with_port.finish()[0] == SUCCESS, with_port.stderr
        guest.assert_moved()
    elif without.running():  # the loser has left the port with the guest: nobody lets it onto the target
        without.wait_wait("TARGET_NETWORK_NOT_READY")
        end_cancelled(without, guest)


def test_temporary_policy_is_in_force_and_goes(kube, tool, held, vm):
    kube.configure()
    migration = tool.start(vm, *tool.port(vm), "--temporary-policy", "--bandwidth", "32")
    migration.wait_phase("Running")
    state = kube.vmi(vm.name)["status"]["migrationState"]
    policies = [p["metadata"]["name"] for p in kube.api.list("migrationpolicies")]
    assert policies == [state["migrationPolicyName"]]
    assert state["migrationConfiguration"]["bandwidthPerMigration"] == "32Mi"
    vm.dirty(0, 0)
    code, _ = migration.finish()
    assert code == SUCCESS, migration.stderr
    assert not kube.api.list("migrationpolicies")
    held.assert_moved()


# ---- who may see little ------------------------------------------------------------------

def test_user_of_a_namespace_migrates_without_the_cluster_s_objects(lab, kube, vm, guest):
    tool = KubeTool(lab, kube, "tenant")
    plan = tool.plan(vm, "-n", NAMESPACE)
    assert plan["verdict"] != "BLOCKED"
    skipped = {f["detail"].get("kind") for f in plan["findings"] if f["code"] == "CHECK_SKIPPED"}
    assert "Node" in skipped, plan["findings"]
    report = tool.migrate(vm, "-n", NAMESPACE, *tool.port(vm))
    assert report["kubernetes"]["migration"]["phase"] == "Succeeded"
    guest.assert_moved()


# ---- volumes -----------------------------------------------------------------------------

@pytest.fixture
def local_vm(lab, kube):
    """A guest with a disk on one node's local storage, and a claim on the other one's."""
    vm = kube.ensure_vm("k-local", disks=["private:16M"])
    target = lab.host("b" if kube.host_of(vm.name) == "a" else "a")
    kube.add_local_claim("k-local-new", 16 << 20, target)
    yield vm
    if kube.claim_of(vm.name, "disk0") != "k-local-new":
        kube.remove_claim("k-local-new")


def changes_of(proxy, vm):
    """How often the VM was patched, but for dry runs."""
    return len([r for r in proxy.requests() if r["method"] == "PATCH" and r["url"].endswith(f"/virtualmachines/{vm.name}")])


def test_volume_migration_is_taken_back_by_one_patch(lab, kube, local_vm):
    proxy = kube.start_proxy()
    tool, guest = KubeTool(lab, kube, through=proxy), KubeGuest(lab, kube, local_vm)
    before = kube.claim_of(local_vm.name, "disk0")
    with copying_for_ever(kube, local_vm):
        migration = tool.start(local_vm, "--volume", "disk0=k-local-new", *tool.port(local_vm))
        migration.wait_phase("Running")
        assert kube.claim_of(local_vm.name, "disk0") == "k-local-new" and changes_of(proxy, local_vm) == 1
        migration.cancel()
        code, report = migration.finish()
    assert code == CANCELLED, migration.stderr
    assert kube.claim_of(local_vm.name, "disk0") == before
    assert not kube.vmi(local_vm.name)["status"].get("migratedVolumes")
    assert changes_of(proxy, local_vm) == 3, "one back for all volumes, and then one of the strategy"
    assert "updateVolumesStrategy" not in kube.api.get("vm", NAMESPACE, local_vm.name)["spec"]
    assert report["kubernetes"]["volumes"]["vm_names"] == "source"
    guest.assert_stayed()


def test_volume_migration_copies_a_local_disk(lab, kube, tool, local_vm, ovn):
    guest = KubeGuest(lab, kube, local_vm)
    code, plan = tool.json("plan", full_name(local_vm))
    assert code == 0 and plan["verdict"] == "BLOCKED" and "PVC_NOT_SHARED" in {f["code"] for f in plan["findings"]}
    report = tool.migrate(local_vm, "--volume", "disk0=k-local-new", *tool.port(local_vm), *tool.probe(local_vm))
    assert kube.claim_of(local_vm.name, "disk0") == "k-local-new"
    assert kube.vmi(local_vm.name)["status"]["migrationMethod"]
    assert report["kubernetes"]["volumes"]["vm_names"] == "destination"
    guest.assert_moved()  # which reads every record of every disk back
    ovn.assert_clean(local_vm.lsp, guest.target)


# ---- watching, and files -------------------------------------------------------------------

def test_watch_tells_all_phases(kube, tool, vm, guest):
    watch = tool.watch()
    report = tool.migrate(vm, *tool.port(vm))
    name = report["kubernetes"]["migration"]["name"]

    def told():
        return [e["phase"] for e in watch.of_type("migration") if e["migration"].split("/")[-1] == name]
    watch.wait_for(lambda e: e.get("type") == "migration" and e["phase"] == "Succeeded", "its end")
    watch.cancel()
    assert watch.wait_end() == 0
    phases = ["Unset", *PHASES]
    assert told() == [p for p in phases if p in told()], "each once, in their order"
    assert {"Pending", "Running", "Succeeded"} <= set(told())
    guest.assert_moved()


def same_but_skipped(answer):
    return sorted({(f["code"], f["severity"], f["object"]) for f in answer["findings"] if f["code"] != "CHECK_SKIPPED"})


def without_times(explanation):
    return explanation["verdict"], [(w["code"], w["object"], w.get("evidence")) for w in explanation["waits"]]


def test_saved_snapshot_says_what_the_cluster_said(kube, tool, vm, guest, tmp_path):
    saved = tmp_path / "cluster.json"
    assert tool.run("snapshot", "save", "-o", saved)[0] == 0
    live, code = tool.plan(vm), 0
    code, filed = tool.on_files("plan", "--vm", full_name(vm), saved)
    assert code == 0 and filed["verdict"] == live["verdict"] and filed.get("target") == live.get("target")
    assert same_but_skipped(filed) == same_but_skipped(live)
    with kube.act("unschedulable", text="0/2 nodes are available: 2 Insufficient memory."):
        kube.post_migration(vm.name, "stuck")
        tool.explained(vm, "TARGET_UNSCHEDULABLE")
        assert tool.run("snapshot", "save", "-o", saved)[0] == 0
        live = tool.explain(vm)
        _, filed = tool.on_files("explain", "--vm", full_name(vm), saved)
        assert without_times(filed) == without_times(live)
        kube.api.delete("vmim", NAMESPACE, "stuck")
    assert "Bearer" not in saved.read_text() and "token" not in saved.read_text().lower().replace("tokenreview", "")
    guest.assert_stayed()


def test_lists_as_kubectl_prints_them(kube, tool, vm, tmp_path):
    for kind in ("nodes", "pods", "vm", "vmi", "vmim", "pvc", "pv", "kubevirts", "endpointslices", "resourcequotas"):
        (tmp_path / f"{kind}.json").write_text(json.dumps(kube.api.request("GET", kube.api.path(kind))))
    code, filed = tool.on_files("plan", "--vm", full_name(vm), tmp_path)
    assert code == 0 and filed["verdict"] == tool.plan(vm)["verdict"]
    assert filed["target"] == tool.plan(vm)["target"]
