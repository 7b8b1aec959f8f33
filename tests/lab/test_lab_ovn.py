# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the lab's OVN (not of the library): guests on it, its faults, and what it says is clean."""
import json
import subprocess
import time
from pathlib import Path

import pytest

from kvmiglab import LabError, net, settings

COMMAND = str(Path(__file__).resolve().parent / "lab")
MAC, IPS = "52:54:00:97:00:f0", ["10.97.0.240", "fd00:97::f0"]
PINNED_TO_A = {"requested-chassis": "chassis-a"}


def migrate(lab, vm, source, target):
    """A plain migration around which the ports are switched by hand; returns what the client saw of it."""
    to, between = f"chassis-{target}", f"chassis-{source},chassis-{target}"
    for port in vm.ports:
        lab.ovn.set_options(port["lsp"], requested_chassis=between, activation_strategy="rarp")
    with lab.ovn.meter(vm.ip) as meter:
        lab.ctl(["virsh", "-q", "-c", lab.host(source).uri, "migrate", "--live", "--p2p", "--unsafe", "--persistent",
                 "--undefinesource", vm.name, lab.host(target).uri], timeout=60)
        for port in vm.ports:
            lab.ovn.wait_binding(port["lsp"], lambda b: b["options"].get("additional-chassis-activated") == to,
                                 f"activated on {to}")
            lab.ovn.set_options(port["lsp"], requested_chassis=to, activation_strategy=None)
        vm.status()
    for port in vm.ports:
        lab.ovn.assert_clean(port["lsp"], target)
    return meter


def dirty(ovn, lsp, node, **options):
    with pytest.raises(AssertionError) as caught:
        ovn.assert_clean(lsp, node, timeout=0, **options)
    return str(caught.value)


def test_up_again_changes_nothing(lab, ovn):
    before = {name: d.pid() for name, d in ovn.daemons().items()}
    lab.up(ovn=True)
    assert None not in before.values()
    assert before == {name: d.pid() for name, d in ovn.daemons().items()}


def test_chassis_are_known_by_name_and_host_name(ovn):
    known = {c["name"]: c["hostname"] for c in ovn.ports.chassis_rows()}
    known.pop("chassis-c", None)  # there if another test has asked for a third host
    assert known == {"chassis-a": "kvmig-a", "chassis-b": "kvmig-b", "chassis-client": "kvmig-edge"}


def test_guest_answers_the_client_on_every_address(ovn, make_ovn_vm):
    vm = make_ovn_vm("lo-both", nics=2)
    for port in vm.ports:
        for address in (port["ip"], port["ip6"]):
            assert vm.status(address)["boot_id"] and vm.echo(b"over OVN" * 1000, address=address)
        assert ovn.lsp(port["lsp"])["external_ids"]["vm"] == "lo-both"
        ovn.wait_bound(port["lsp"], "a")
    with pytest.raises((OSError, LabError)):
        net.connect(vm.ip, settings.GUEST_HTTP_PORT, timeout=0.5)  # the controller has no way to it


def test_guest_moves_there_and_back(lab, make_ovn_vm):
    vm = make_ovn_vm("lo-move", disks=["shared:8M"], nics=2, pin=True)
    before = vm.status()
    with net.connect(vm.ip6, settings.GUEST_ECHO_PORT, 5, vm.client_ns) as held:
        for source, target in (("a", "b"), ("b", "a")):
            meter = migrate(lab, vm, source, target)
            assert meter.duplicates == 0 and meter.lost < meter.sent
            held.sendall(b"still there?")
            assert held.recv(100) == b"still there?"
    after = vm.status()
    assert after["boot_id"] == before["boot_id"] and vm.verify()["vda"]["complete"]


def test_destroyed_guest_leaves_nothing(lab, ovn, make_ovn_vm):
    """Not even when its libvirtd could not clean up behind it."""
    vm = make_ovn_vm("lo-gone")
    host = lab.host("a")
    name, _ = ovn.interface_of("a", vm.lsp)
    assert name
    host.daemon("kill")
    vm.kill(host)
    assert ovn.interface_of("a", vm.lsp)[0] == name
    lab.destroy_vm("lo-gone")
    host.daemon("start")
    assert ovn.lsp(vm.lsp) is None and ovn.interfaces("a") == {}
    ovn.assert_clean_all()


@pytest.mark.parametrize("kind", ["tcp", "tcp6", "ssl"])
def test_databases_are_reached_from_the_controller(lab, ovn, kind):
    files = ovn.tls_files()
    options = [f"--private-key={files['key']}", f"--certificate={files['cert']}", f"--ca-cert={files['ca']}"]
    for remote, database in ((ovn.nb_remotes(kind), "OVN_Northbound"), (ovn.sb_remotes(kind), "OVN_Southbound")):
        assert database in lab.ctl(["ovsdb-client", *options, "list-dbs", remote]).stdout
    listed = lab.ctl(["ovs-vsctl", f"--db={ovn.ovs_remote('b')}", "get", "open", ".", "external_ids:system-id"])
    assert listed.stdout.strip() in ("chassis-b", '"chassis-b"')


@pytest.mark.parametrize("case", ["bad-cert", "bad-ca"])
def test_wrong_certificates_are_refused(lab, ovn, case):
    files = ovn.tls_files(case)
    done = lab.ctl(["timeout", "2", "ovsdb-client", f"--private-key={files['key']}", f"--certificate={files['cert']}",
                    f"--ca-cert={files['ca']}", "list-dbs", ovn.nb_remotes("ssl")], check=False)
    assert done.returncode != 0 and "OVN_Northbound" not in done.stdout


def test_port_without_guest_is_activated_by_rarp(ovn):
    ovn.lsp_add("p1", MAC, IPS, options=PINNED_TO_A)
    ovn.plug("a", "tap-a", "p1")
    ovn.wait_bound("p1", "a")
    ovn.plug("b", "tap-b", "p1")
    ovn.set_options("p1", requested_chassis="kvmig-a,kvmig-b", activation_strategy="rarp")
    binding = ovn.wait_binding("p1", lambda b: b["additional"] == ["chassis-b"], "second chassis")
    assert binding["chassis"] == "chassis-a" and "additional-chassis-activated" not in binding["options"]
    ovn.send_rarp("b", "tap-b", MAC)
    ovn.wait_binding("p1", lambda b: b["options"].get("additional-chassis-activated") == "chassis-b", "activated")

    text = dirty(ovn, "p1", "b")
    for part in ("activation-strategy=rarp", "kvmig-a,kvmig-b", "bound to chassis-a", "additional chassis left",
                 "additional-chassis-activated=chassis-b", "tap-a is left on a"):
        assert part in text
    ovn.set_options("p1", requested_chassis="kvmig-b", activation_strategy=None)
    ovn.unplug("a", "tap-a")
    ovn.assert_clean("p1", "b")
    ovn.ports.set_external_ids("p1", {"kvmig-owner": "somebody"})
    assert "kvmig-owner=somebody" in dirty(ovn, "p1", "b")
    ovn.ports.set_external_ids("p1", {"kvmig-owner": None})
    ovn.set_options("p1", requested_chassis=None)
    assert "no options:requested-chassis" in dirty(ovn, "p1", "b")
    ovn.assert_clean("p1", "b", pinned=False)


def test_stray_interface_is_found(ovn):
    ovn.plug("b", "tap-b", "no-such-port")
    with pytest.raises(AssertionError, match="stray interface tap-b on b with iface-id no-such-port"):
        ovn.assert_clean_all(timeout=0)
    ovn.remove_test_ports()
    ovn.assert_clean_all(timeout=0)


def test_port_made_anew_has_another_row(ovn):
    first = ovn.lsp_add("p1", MAC, IPS)
    assert ovn.lsp_add("p1", MAC, IPS) != first
    ovn.lsp_del("p1")
    assert ovn.lsp("p1") is None


def test_flapping_interface_gets_new_timestamps(ovn):
    ovn.lsp_add("p1", MAC, IPS, options=PINNED_TO_A)
    ovn.plug("a", "tap-a", "p1")
    ovn.wait_bound("p1", "a")
    seen = set()
    with ovn.flap("a", "tap-a", period_ms=20, off_ms=5) as flap:
        while flap.rounds < 20 and flap.error is None:
            row = ovn.interfaces("a")["tap-a"]
            seen.add((row["ovn_installed"], row["external_ids"].get("ovn-installed-ts")))
    assert flap.error is None and len({ts for _, ts in seen}) > 2
    assert ovn.interfaces("a")["tap-a"]["ovn_installed"]


@pytest.mark.parametrize("action, state", [("kill", "stopped"), ("pause", "paused")])
def test_every_daemon_comes_back(ovn, make_ovn_vm, action, state):
    vm = make_ovn_vm("lo-heal")
    daemons = ovn.daemons()
    for daemon in daemons.values():
        daemon.act(action)
    assert {d.state() for d in daemons.values()} == {state}
    ovn.heal()
    assert {d.state() for d in daemons.values()} == {"running"}
    ovn.assert_clean_all()
    assert vm.status() and vm.status(vm.ip6)


def test_killed_controller_keeps_its_chassis_row_and_stopped_one_not(ovn):
    ovn.controller("b").kill()
    assert "chassis-b" in [c["name"] for c in ovn.ports.chassis_rows()]
    ovn.controller("b").start()
    ovn.sync()
    ovn.controller("b").stop()
    assert "chassis-b" not in [c["name"] for c in ovn.ports.chassis_rows()]
    ovn.heal()
    assert "chassis-b" in [c["name"] for c in ovn.ports.chassis_rows()]


def test_northbound_cluster_survives_its_leader(ovn):
    row = ovn.lsp_add("p1", MAC, IPS)
    with ovn.nb_cluster() as cluster:
        assert len(ovn.nb_remotes().split(",")) == 3 and ovn.lsp("p1")["uuid"] == row
        leader = cluster.leader()
        cluster.kill(leader)
        assert cluster.wait_leader(other_than=leader) != leader
        ovn.set_options("p1", requested_chassis="chassis-b")
        ovn.sync()
        cluster.start(leader)
    assert ovn.lsp("p1")["options"] == {"requested-chassis": "chassis-b"} and ovn.lsp("p1")["uuid"] == row


def test_cluster_left_behind_is_healed(ovn):
    ovn.central.form_cluster()
    ovn.central.cluster.kill(ovn.central.cluster.leader())
    ovn.heal()
    assert not ovn.central.clustered and ovn.nb.state() == "running"


def test_central_can_be_cut_off(lab, ovn):
    def reached(remote):
        return lab.ctl(["timeout", "1", "ovsdb-client", "list-dbs", remote], check=False).returncode == 0
    assert reached(ovn.nb_remotes())
    lab.links.cut("ovn", peer="ctl")
    assert not reached(ovn.nb_remotes()) and reached(ovn.ovs_remote("a"))
    ovn.sync()  # the chassis still have their way
    ovn.heal()
    assert reached(ovn.nb_remotes())
    lab.links.cut("ovn")
    with pytest.raises(LabError):
        ovn.sync(timeout=1)
    ovn.heal()


def test_crashed_host_comes_back_with_its_chassis(lab, ovn, make_ovn_vm):
    make_ovn_vm("lo-lost", host="b", check=False)
    lab.host("b").crash()
    assert ovn.running_on("lo-lost") is None
    lab.up()
    assert ovn.chassis("b").controller.state() == "running" and ovn.interfaces("b") == {}


def test_command_line_shows_ports(ovn, make_ovn_vm):
    vm = make_ovn_vm("lo-shown")

    def lab_command(*args):
        return subprocess.run([COMMAND, *args], capture_output=True, text=True, timeout=20, check=True).stdout
    assert "daemons: all running" in lab_command("status")
    shown = json.loads(lab_command("ovn", "port", "lo-shown"))[vm.lsp]
    assert shown["southbound"]["chassis"] == "chassis-a" and shown["interfaces"]["a"]["iface_id"] == vm.lsp
    assert "1 received" in lab_command("client", "ping", "-c1", "-W2", vm.ip)
    lab_command("ovn", "daemon", "northd", "pause")
    assert "northd paused" in lab_command("status")
    lab_command("ovn", "heal")
    assert "daemons: all running" in lab_command("status")


def test_meter_sees_an_outage(ovn, make_ovn_vm, lab):
    vm = make_ovn_vm("lo-meter")
    with ovn.meter(vm.ip) as meter:
        time.sleep(0.3)
        lab.links.cut("a", plane="underlay")
        time.sleep(0.5)
        lab.links.restore("a")
        vm.wait_ready()
        time.sleep(0.3)
    assert meter.longest_gap_ms > 400 and meter.lost > 0
