# SPDX-License-Identifier: LGPL-2.1-or-later
"""The port handle on real OVN, without a guest: taps stand for it, and a RARP for its announcement.

Every test ends with the port on one chassis, alone, and with nothing temporary left (I4).
"""
import json
import time

import pytest

from kvmiglab import proc
from migration import BUILD
from port import FAILED, OK, REFUSED, SOURCE, TARGET, UNREACHABLE, PortTool, TestPort, database_options

# Within this time of its own claim an ovn-controller does not claim a port again: a constant of this OVN.
CLAIM_THROTTLE_MS = 500


@pytest.fixture
def port(ovn):
    return TestPort(ovn, 60)


@pytest.fixture
def owner(lab, ovn, port):
    return PortTool(lab, ovn, port.name)


@pytest.fixture
def told(lab, tmp_path):
    """Asks the doctor about a run that failed, by the port's account of it: the fault must be named."""
    def ask(run, naming):
        account = tmp_path / "port.json"
        account.write_text(json.dumps(run.port))
        done = proc.run(lab.ctl_argv([BUILD / "kvmig", "diagnose", "--json", account]), check=False)
        diagnosis = json.loads(done.stdout)
        assert diagnosis["verdict"] == "PORT_FAILED", diagnosis
        assert naming in json.dumps(diagnosis["findings"]), diagnosis
    return ask


def prepared(owner):
    run = owner.prepare()
    assert run.code == OK, run.error()
    return run


# ---- there and back ---------------------------------------------------------

def test_port_goes_there_and_back_again(lab, ovn, port):
    for to, source, target in (("b", SOURCE, TARGET), ("a", TARGET, SOURCE)):
        owner = PortTool(lab, ovn, port.name)
        run = owner.prepare(source=source, target=target)
        assert run.code == OK, run.error()
        port.assert_extended()
        port.plug(to)
        run = owner.verify()
        assert run.code == OK and run.state == "verified", run.error()
        assert run.notes("verified") and run.notes("barrier")
        port.announce(to)
        ovn.wait_binding(port.name, lambda b: "additional-chassis-activated" in b["options"], "activation")
        run = owner.converge(target)
        assert run.code == OK and run.state == "converged", run.error()
        port.assert_clean(to)


def test_every_step_may_be_repeated_by_another_process(port, owner):
    for _ in range(2):
        assert owner.prepare().code == OK
    port.plug("b")
    for _ in range(2):
        assert owner.verify().code == OK
    port.announce()
    for _ in range(2):
        run = owner.converge()
        assert run.code == OK and run.state == "converged", run.error()
    port.assert_clean("b")


def test_rollback_may_come_at_any_time_and_twice(port, owner):
    assert owner.rollback().code == OK
    port.assert_untouched("chassis-a")
    prepared(owner)
    for _ in range(2):
        run = owner.rollback()
        assert run.code == OK and run.state == "rolled-back", run.error()
    port.assert_clean("a")


def test_two_cards_of_a_vm_follow_together(lab, ovn):
    ports = [TestPort(ovn, n) for n in (61, 62)]
    for each in ports:
        ovn.ports.set_external_ids(each.name, {"vm": "twin"})
    owner = PortTool(lab, ovn, None, match="vm=twin")
    prepared(owner)
    for each in ports:
        each.assert_extended()
    assert len({t["kvmig-owner"] for t in (p.tokens() for p in ports)}) == 1
    ports[0].plug("b")
    run = owner.verify("--timeout", "3s")
    assert run.code == FAILED and ports[1].name in run.error(), "one card is not there"
    ports[1].plug("b")
    assert owner.verify().code == OK
    for each in ports:
        each.announce()
    assert owner.converge().code == OK
    for each in ports:
        each.assert_clean("b")


def test_steps_before_the_preparation_change_nothing(port, owner):
    run = owner.verify()
    assert run.code == REFUSED and owner.owner in run.error(), (run.code, run.error())
    run = owner.converge()
    port.assert_untouched("chassis-a")
    assert run.code == OK and run.state == "superseded", run.error()
    prepared(owner)
    port.plug("b")
    assert owner.verify().code == OK
    port.announce()
    assert owner.converge().code == OK
    port.assert_clean("b")


# ---- pinning ----------------------------------------------------------------

def test_unpinned_port_is_pinned_before_it_is_extended(lab, ovn):
    port = TestPort(ovn, 63, pin=None)
    port.assert_untouched(None)
    owner = PortTool(lab, ovn, port.name)
    run = prepared(owner)
    assert [n["what"] for n in run.port["timeline"] if n["what"] in ("pinned", "extended")] == ["pinned", "extended"]
    # No fight: with both interfaces there the main chassis stays, and never takes the other one's place.
    port.plug("b")
    port.wait_claimed()
    assert owner.verify().code == OK
    seen = set()
    until = time.monotonic() + 3 * CLAIM_THROTTLE_MS / 1000
    while time.monotonic() < until:
        binding = ovn.binding(port.name)
        seen.add((binding["chassis"], binding["up"]))
    assert seen == {("chassis-a", True)}
    assert owner.rollback().code == OK
    # It stays pinned to where the guest is.
    port.assert_clean("a")


def test_pin_by_host_name_is_kept_in_that_form(lab, ovn):
    port = TestPort(ovn, 64, pin="kvmig-a")
    owner = PortTool(lab, ovn, port.name)
    run = owner.prepare(source="chassis-a", target="chassis-b")
    assert run.code == OK, run.error()
    assert port.options()["requested-chassis"] == "kvmig-a,kvmig-b"
    assert owner.rollback().code == OK
    assert port.options()["requested-chassis"] == "kvmig-a"
    port.assert_clean("a")


# ---- bad input --------------------------------------------------------------

@pytest.mark.parametrize("source, target", [(SOURCE, "ghost"), ("ghost", TARGET), (SOURCE, "kvmig-b, kvmig-a"),
                                            (SOURCE, " kvmig-b"), (SOURCE, "kvmig-b,ghost"), (SOURCE, SOURCE),
                                            (SOURCE, "chassis-a")])
def test_chassis_that_is_none_is_refused_and_nothing_is_written(port, owner, told, source, target):
    run = owner.prepare(source=source, target=target)
    assert run.code not in (OK, None), run.port
    if "ghost" in (source, target):  # what is no name at all is refused before it comes to an operation
        told(run, "ghost")
    port.assert_untouched("chassis-a")
    port.assert_clean("a")


def test_port_that_does_not_exist_is_named(lab, ovn, told):
    run = PortTool(lab, ovn, "no-such-port").prepare()
    assert run.code == UNREACHABLE and "no-such-port" in run.error(), (run.code, run.error())
    told(run, "no-such-port")


def test_strategy_that_this_ovn_would_ignore_is_refused(port, owner, told):
    run = owner.prepare("--strategy", "garp")
    assert run.code != OK and "25.09" in run.error(), run.error()
    told(run, "25.09")
    port.assert_untouched("chassis-a")
    port.assert_clean("a")


# ---- two owners -------------------------------------------------------------

def test_second_owner_is_refused_with_the_first_ones_name(lab, ovn, port, owner, told):
    prepared(owner)
    other = PortTool(lab, ovn, port.name)
    before = port.options(), port.tokens()
    run = other.prepare()
    assert run.code == REFUSED and owner.owner in run.error(), run.error()
    told(run, owner.owner)
    assert (port.options(), port.tokens()) == before
    assert owner.rollback().code == OK
    port.assert_clean("a")


@pytest.mark.parametrize("verb", ["rollback", "converge"])
def test_late_end_of_an_older_migration_is_superseded(lab, ovn, port, owner, verb):
    older = PortTool(lab, ovn, port.name)
    prepared(older)
    assert older.rollback().code == OK
    prepared(owner)
    before = port.options(), port.tokens()
    run = older.rollback() if verb == "rollback" else older.converge()
    assert run.code == OK and run.state == "superseded", run.error()
    assert (port.options(), port.tokens()) == before
    assert owner.rollback().code == OK
    port.assert_clean("a")


def test_two_owners_at_once_one_wins(lab, ovn, port):
    owners = [PortTool(lab, ovn, port.name) for _ in range(4)]
    running = [o.start("prepare", "--source", SOURCE, "--target", TARGET) for o in owners]
    runs = [o.finish(r) for o, r in zip(owners, running, strict=True)]
    winners = [o for o, r in zip(owners, runs, strict=True) if r.code == OK]
    assert len(winners) == 1, [r.error() for r in runs]
    assert port.tokens()["kvmig-owner"] == winners[0].owner
    for loser in owners:
        if loser is not winners[0]:
            assert loser.rollback().code == OK
    port.assert_extended()
    assert winners[0].rollback().code == OK
    port.assert_clean("a")


def test_gc_cleans_up_after_a_dead_owner_but_not_a_young_one(port, owner):
    prepared(owner)
    run = owner.gc(SOURCE, "--min-age", "1h")
    assert run.code == REFUSED, run.error()
    port.assert_extended()
    run = owner.gc(SOURCE, "--min-age", "0")
    assert run.code == OK, run.error()
    port.assert_clean("a")


def test_options_that_another_system_left_are_refused_until_gc(ovn, port, owner, told):
    ovn.set_options(port.name, requested_chassis="chassis-a,chassis-b", activation_strategy="rarp")
    ovn.sync()
    run = owner.prepare()
    assert run.code == REFUSED and "requested-chassis" in run.error(), run.error()
    told(run, "requested-chassis")
    assert owner.gc(SOURCE, "--min-age", "0").code == OK
    port.assert_clean("a")


# ---- proof ------------------------------------------------------------------

def test_nothing_is_verified_before_the_interface_is_there(port, owner, told):
    prepared(owner)
    run = owner.verify("--timeout", "2s")
    assert run.code == FAILED, run.port
    told(run, "not claimed by chassis-b")
    port.assert_extended()
    assert owner.rollback().code == OK
    port.assert_clean("a")


@pytest.mark.parametrize("period_ms, off_ms", [(30, 2), (500, 492)])
def test_flapping_flag_is_no_proof(ovn, port, owner, told, period_ms, off_ms):
    """Installed with short holes, as in a fight for the port; and installed for a few milliseconds only."""
    prepared(owner)
    port.plug("b")
    port.wait_claimed()
    with ovn.flap("b", port.iface, period_ms=period_ms, off_ms=off_ms):
        seen = set()  # it flaps when the flag was installed anew for the second time
        proc.wait_until(lambda: seen.add(ovn.interface_of("b", port.name)[1]["external_ids"].get("ovn-installed-ts"))
                        or len(seen) > 2, "flaps", 10)
        run = owner.verify("--timeout", "5s")
    assert run.code == FAILED and run.notes("flap"), run.port["timeline"]
    told(run, "flap")
    assert owner.verify().code == OK
    assert owner.rollback().code == OK
    port.assert_clean("a")


@pytest.mark.parametrize("sb, ovs", [(True, ()), (False, ("a", "b")), (True, ("b",))])
def test_proof_from_what_databases_there_are(lab, ovn, port, sb, ovs):
    owner = PortTool(lab, ovn, port.name, databases=database_options(ovn, sb=sb, ovs=ovs))
    # Without the southbound database nobody knows which host name belongs to which chassis.
    source, target = (SOURCE, TARGET) if sb else ("chassis-a", "chassis-b")
    run = owner.prepare(source=source, target=target)
    assert run.code == OK, run.error()
    port.plug("b")
    run = owner.verify()
    assert run.code == OK and run.notes("barrier"), run.error()
    port.announce()
    assert owner.converge(target).code == OK
    port.assert_clean("b")


def test_proof_without_a_barrier_takes_longer_than_the_claim_throttle(lab, ovn, port, owner):
    nb = ["ovn-nbctl", f"--db={ovn.nb_remotes('tcp')}"]
    lab.ctl([*nb, "set", "nb_global", ".", "options:enable_chassis_nb_cfg_update=false"])
    try:
        prepared(owner)
        port.plug("b")
        run = owner.verify()
        assert run.code == OK and not run.notes("barrier"), run.error()
        assert run.at_ms("verified") - run.at_ms("claimed") >= CLAIM_THROTTLE_MS, run.port["timeline"]
        assert owner.rollback().code == OK
    finally:
        lab.ctl([*nb, "remove", "nb_global", ".", "options", "enable_chassis_nb_cfg_update"])
    port.assert_clean("a")


def test_proof_needs_more_than_the_northbound_database(lab, ovn, port, told):
    owner = PortTool(lab, ovn, port.name, databases=database_options(ovn, sb=False, ovs=()))
    assert owner.prepare(source="chassis-a", target="chassis-b").code == OK
    run = owner.verify()
    assert run.code not in (OK, None) and "southbound" in run.error().lower(), run.error()
    told(run, "outhbound")
    assert owner.rollback().code == OK
    port.assert_clean("a")


def test_dead_controller_on_the_target_proves_nothing_but_rolls_back(ovn, port, owner, told):
    prepared(owner)
    ovn.controller("b").kill()
    port.plug("b")
    run = owner.verify("--timeout", "3s")
    assert run.code == FAILED, run.port
    told(run, "not claimed by chassis-b")
    run = owner.rollback()
    assert run.code == OK and run.state == "rolled-back", run.error()
    ovn.controller("b").start()
    port.assert_clean("a")


def test_controller_that_dies_after_the_claim_does_not_answer_the_barrier(ovn, port, owner, told):
    prepared(owner)
    port.plug("b")
    port.wait_claimed()
    proc.wait_until(lambda: ovn.interface_of("b", port.name)[1]["ovn_installed"], "ovn-installed", 10)
    with ovn.controller("b").paused():
        run = owner.verify("--timeout", "3s")
        assert run.code == FAILED and "barrier" in run.error(), run.error()
        told(run, "barrier")
    assert owner.verify().code == OK
    assert owner.rollback().code == OK
    port.assert_clean("a")


# ---- activation -------------------------------------------------------------

def test_stale_activation_is_waited_out(ovn, port, owner, told):
    """Fact 6: a flag that northd has not cleared would make the next target live without any announcement."""
    prepared(owner)
    port.plug("b")
    assert owner.verify().code == OK
    port.announce()
    ovn.wait_binding(port.name, lambda b: "additional-chassis-activated" in b["options"], "activation")
    with ovn.northd.paused():
        run = owner.rollback("--timeout", "1s")
        assert run.code == FAILED, "northd cannot have done it"
        told(run, "northd")
        again = PortTool(owner.lab, ovn, port.name)
        running = again.start("prepare", "--source", SOURCE, "--target", TARGET)
        running.wait_port("preparing")
        time.sleep(1)
        assert running.running(), "it has to wait for northd"
        port.assert_untouched("chassis-a")
    run = again.finish(running)
    assert run.code == OK, run.error()
    assert "additional-chassis-activated" not in ovn.binding(port.name)["options"]
    assert again.rollback().code == OK
    port.assert_clean("a")


def test_target_without_an_announcement_is_converged_anyway(port, owner):
    prepared(owner)
    port.plug("b")
    assert owner.verify().code == OK
    run = owner.converge()
    assert run.code == OK and run.notes("converge-anyway"), run.error()
    port.assert_clean("b")


def test_strategy_none_needs_no_announcement(lab, ovn, port, owner):
    run = owner.prepare("--strategy", "none")
    assert run.code == OK, run.error()
    assert "activation-strategy" not in port.options()
    port.plug("b")
    assert owner.verify().code == OK
    run = owner.converge()
    assert run.code == OK and not run.notes("converge-anyway"), run.error()
    port.assert_clean("b")


# ---- servers that fail ------------------------------------------------------

def test_stopped_northd_fails_the_preparation_which_is_put_back(ovn, port, owner, told):
    with ovn.northd.paused():
        run = owner.prepare("--timeout", "2s")
        assert run.code == FAILED and "northd" in run.error(), run.error()
        told(run, "northd")
        port.assert_untouched("chassis-a")
    port.assert_clean("a")


def test_unreachable_southbound_database_is_named(ovn, port, owner, told):
    prepared(owner)
    with ovn.sb.paused():
        run = owner.verify("--timeout", "3s")
        assert run.code in (FAILED, UNREACHABLE) and "southbound" in run.error().lower(), run.error()
        told(run, "southbound")
    assert owner.rollback().code == OK
    port.assert_clean("a")


def begin_and_stop_in_the_middle(owner, port):
    """With northd paused: the port is pinned, and the tool waits to extend it. Returns the running tool."""
    running = owner.start("prepare", "--source", SOURCE, "--target", TARGET, "--timeout", "60s")
    running.wait_port("preparing")
    proc.wait_until(lambda: "requested-chassis" in port.options(), "the first of two writes", 20)
    return running


def test_restarted_northbound_server_is_found_again(lab, ovn):
    port = TestPort(ovn, 60, pin=None)
    owner = PortTool(lab, ovn, port.name)
    with ovn.northd.paused():
        running = begin_and_stop_in_the_middle(owner, port)
        ovn.nb.restart()
    run = owner.finish(running)
    assert run.code == OK, run.error()
    assert [n["what"] for n in run.notes() if n["what"] in ("pinned", "extended")] == ["pinned", "extended"]
    port.assert_extended()
    assert owner.rollback().code == OK
    port.assert_clean("a")


@pytest.mark.parametrize("followers", ["hang", "die"])
def test_leader_dies_with_the_write_in_it(lab, ovn, followers):
    """Nobody is told what became of the write: who hung has it in its socket and commits it, who died has not."""
    port = TestPort(ovn, 60, pin=None)
    with ovn.nb_cluster() as cluster:
        cluster.set_election_timer(4000)
        leader = cluster.wait_leader()
        others = [member for number, member in cluster.members.items() if number != leader]
        owner = PortTool(lab, ovn, port.name, databases=database_options(ovn))
        with ovn.northd.paused():
            running = begin_and_stop_in_the_middle(owner, port)
            for member in others:
                member.pause() if followers == "hang" else member.kill()
        proc.wait_until(lambda: cluster.uncommitted(leader), "a write that cannot be committed", 10, step=0.02)
        cluster.kill(leader)
        for member in others:
            member.heal()
        cluster.wait_leader()
        ovn.northd.restart()  # it would back off for long before it looks for the leader
        run = owner.finish(running)
        assert run.code == OK and run.notes("lost"), run.error()
        assert len(run.notes("extended")) == (0 if followers == "hang" else 1), "written once, by whoever it was"
        port.assert_extended()
        assert list(port.tokens().values()).count(owner.owner) == 1
        cluster.start(leader)
        assert owner.rollback("--timeout", "60s").code == OK
    port.assert_clean("a")


def test_port_that_was_created_anew_is_another_port(ovn, port, owner):
    prepared(owner)
    ovn.lsp_del(port.name)
    run = owner.rollback()
    assert run.code == OK, run.error()
    anew = TestPort(ovn, 60)
    assert anew.uuid != port.uuid
    prepared(owner)
    ovn.lsp_del(port.name)
    anew = TestPort(ovn, 60)
    before = anew.options()
    assert owner.rollback().code == OK
    assert anew.options() == before, "it is not ours"
    prepared(owner)
    assert owner.rollback().code == OK
    anew.assert_clean("a")


# ---- transport --------------------------------------------------------------

@pytest.mark.parametrize("kind", ["unix", "tcp6", "ssl"])
def test_other_ways_to_the_databases(lab, ovn, port, kind):
    owner = PortTool(lab, ovn, port.name, databases=database_options(ovn, kind=kind))
    prepared(owner)
    port.plug("b")
    assert owner.verify().code == OK
    assert owner.rollback().code == OK
    port.assert_clean("a")


@pytest.mark.parametrize("case", ["bad-cert", "bad-ca"])
def test_certificate_that_is_not_trusted_changes_nothing(lab, ovn, port, told, case):
    owner = PortTool(lab, ovn, port.name, databases=database_options(ovn, kind="ssl", tls_case=case))
    run = owner.prepare("--timeout", "3s")
    assert run.code not in (OK, None) and "certificate" in run.error().lower(), run.error()
    told(run, "certificate")
    port.assert_untouched("chassis-a")
    port.assert_clean("a")
