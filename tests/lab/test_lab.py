# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the lab itself (not of the library): takes about 55 s. OVN: see test_lab_ovn.py.

Takes down whatever lab is up, brings its own up and takes that down again, so
it must not run while somebody else uses the lab; skipped when not root.
"""
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from kvmiglab import Lab, LabError, net, proc, settings, storage  # noqa: E402

COMMAND = str(Path(__file__).resolve().parent / "lab")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")


@pytest.fixture(scope="module")
def lab():
    lab = Lab()
    lab.down()
    lab.up(hosts=2)
    yield lab
    lab.down()


@pytest.fixture
def make_vm(lab):
    made = []

    def make(name, **options):
        made.append(name)
        return lab.create_vm(name, **options)
    yield make
    for name in made:
        lab.destroy_vm(name)


def migrate(lab, vm, *options):
    source, target = lab.host("a").uri, lab.host("b").uri
    lab.ctl(["virsh", "-q", "-c", source, "migrate", "--live", "--p2p", *options, vm.name, target],
            timeout=60)


def assert_moved(vm, before):
    """The same boot runs on b, keeps writing, and lost no record."""
    assert vm.states()["b"] == "running (migrated)"
    after = vm.status()
    assert after["boot_id"] == before["boot_id"]
    assert after["uptime_ms"] >= before["uptime_ms"]
    proc.wait_until(lambda: all(vm.status()["seq"][d] > n for d, n in after["seq"].items()),
                    "new records after the migration", 10)
    for disk in vm.verify().values():
        assert disk["complete"] and disk["records"] > 0


def test_up_is_idempotent(lab):
    before = lab.status()
    lab.up(hosts=2)
    after = lab.status()
    assert before["up"] and before["hosts"] == after["hosts"]


def test_command_line_reports_uris(lab):
    done = subprocess.run([COMMAND, "status"], capture_output=True, text=True, timeout=20,
                          check=True)
    for name in ("a", "b"):
        assert settings.host_uri(name) in done.stdout


def test_hosts_have_own_identity_and_views(lab):
    a, b = lab.host("a"), lab.host("b")
    assert a.virsh("hostname") == "kvmig-a" and b.virsh("hostname") == "kvmig-b"
    assert b.run(["getent", "hosts", "kvmig-a"]).stdout.split()[0] == a.address

    def digest(host, path):
        return host.run(["sha256sum", path]).stdout
    shared, private = settings.SHARED + "/marker.img", settings.PRIVATE + "/marker.img"
    assert digest(a, shared) == digest(b, shared)
    assert digest(a, private) != digest(b, private)
    for device, same in (("shared0", True), ("local0", False)):
        a.run(["dd", "if=/dev/urandom", f"of={settings.BLOCK}/{device}", "bs=4096", "count=1",
               "conv=fsync"])
        command = ["dd", f"if={settings.BLOCK}/{device}", "bs=4096", "count=1", "iflag=direct",
                   "status=none"]
        seen = [h.run(["sh", "-c", " ".join(command) + " | sha256sum"]).stdout for h in (a, b)]
        assert (seen[0] == seen[1]) is same


def test_live_migration_on_shared_storage(lab, make_vm):
    vm = make_vm("lt-shared", disks=["shared:16M"])
    before = vm.status()
    assert vm.echo(b"hello")
    migrate(lab, vm, "--unsafe")
    assert_moved(vm, before)
    assert vm.echo(b"hello again")
    assert vm.states()["a"] == "shut off (migrated)"


def test_block_migration_of_private_disk(lab, make_vm):
    vm = make_vm("lt-block", disks=["private:16M", "backed:16M"], transient=True)
    before = vm.status()
    assert len(vm.precreate(lab.host("b"))) == 2
    migrate(lab, vm, "--copy-storage-all")
    assert_moved(vm, before)
    assert vm.states()["a"] is None


def test_local_block_device_is_a_trap(lab, make_vm):
    """libvirt calls it safe, and the guest runs on without its data."""
    vm = make_vm("lt-trap", disks=["localblk:16M"])
    migrate(lab, vm)
    disk = vm.verify()["vda"]
    assert not disk["complete"] and disk["first_bad"] == 0


def test_tls_migration_needs_right_certificate(lab, make_vm):
    vm = make_vm("lt-tls")
    subprocess.run([COMMAND, "tls", "b", "bad"], timeout=20, check=True)
    with pytest.raises(LabError):
        migrate(lab, vm, "--tls")
    assert vm.states()["a"].startswith("running")
    subprocess.run([COMMAND, "tls", "b", "good"], timeout=20, check=True)
    migrate(lab, vm, "--tls")
    assert vm.states()["b"] == "running (migrated)"


def test_guest_survives_libvirtd(lab, make_vm):
    vm = make_vm("lt-daemon")
    host = lab.host("a")
    boot_id = vm.status()["boot_id"]
    host.daemon("kill")
    assert host.daemon_state() == "stopped" and vm.status()["boot_id"] == boot_id
    host.daemon("start")
    assert vm.states()["a"].startswith("running")
    host.daemon("pause")
    assert vm.states()["a"] == "unknown (libvirtd paused)"
    host.daemon("continue")
    assert vm.states()["a"].startswith("running")
    vm.kill(host)
    proc.wait_until(lambda: vm.states()["a"] == "shut off (crashed)", "crash seen", 10)


def reachable(host, name):
    return host.run(["ping", "-q", "-c1", "-W1", name], check=False).returncode == 0


def test_links_cut_and_rate(lab):
    a = lab.host("a")
    lab.links.cut("a", peer="b")
    assert not reachable(a, "kvmig-b") and reachable(a, "kvmig-ctl")
    lab.links.restore("a")
    assert reachable(a, "kvmig-b")
    lab.links.cut("a")
    assert not reachable(a, "kvmig-b") and not reachable(a, "kvmig-ctl")
    lab.links.restore("a")
    assert reachable(a, "kvmig-ctl")
    lab.links.rate("a", 50)
    assert lab.links.describe("a")["mgmt"]["queue"] == "tbf"
    lab.links.restore("a")
    assert lab.links.describe("a")["mgmt"]["queue"] == "noqueue"


def test_memory_survives_many_rounds_of_dirtying(lab, make_vm):
    """Without host/qemu-system-x86_64 the guest's kernel crashes after this."""
    vm = make_vm("lt-dirty", disks=["shared:4M"])
    vm.dirty(60, 5)
    proc.wait_until(lambda: vm.status()["dirty"]["mb_per_s"] > 0, "dirtying", 20)
    before = vm.status()
    migrate(lab, vm, "--unsafe", "--bandwidth", "30")
    seen = vm.status()["uptime_ms"]
    proc.wait_until(lambda: vm.status()["uptime_ms"] > seen + 2000, "two more seconds", 20)
    assert_moved(vm, before)


def test_dirtying_changes_memory_while_serving(make_vm):
    vm = make_vm("lt-busy", disks=["shared:4M"])
    vm.dirty(64, 40)
    proc.wait_until(lambda: vm.status()["dirty"]["passes"] >= 2, "two passes", 20)
    assert vm.status()["dirty"]["mb"] == 64
    assert vm.dirty(0, 0)["dirty"]["rate"] == 0


def test_crashed_host_boots_again(lab):
    lab.host("b").crash()
    assert lab.host_names() == ["a"] and not lab.status()["up"]
    lab.up()
    assert lab.host_names() == ["a", "b"] and lab.status()["up"]


def test_ovn_comes_to_a_lab_that_is_up(lab, make_vm):
    """After all tests without OVN; a guest from before stays as it is."""
    vm = make_vm("lt-before")
    before = vm.status()
    with pytest.raises(LabError, match="--ovn"):
        lab.create_vm("lt-early", network="ovn")
    assert lab.status()["ovn"] is None and "lt-early" not in lab.vm_names()
    lab.up(ovn=True)
    assert vm.status()["boot_id"] == before["boot_id"]
    assert set(lab.status()["ovn"]["daemons"].values()) == {"running"}
    assert make_vm("lt-in-ovn", host="b", network="ovn", nics=2).status()["boot_id"]


def test_down_leaves_nothing_even_after_crashes(lab):
    """Last in this file: other tests need the lab that it takes down."""
    lab.create_vm("lt-left", host="b", disks=["sharedblk:4M"], network="ovn", wait=False)
    lab.host("a").daemon("pause")
    lab.ovn.central.form_cluster()
    lab.ovn.sb.pause()
    lab.ovn.chassis("edge").ovsdb.kill()
    stray = subprocess.Popen(lab.ctl_argv(["sleep", "600"]))
    members = [p for h in lab.hosts() for p in (h.pid, *h.pids())]
    members += [d.pid() for d in lab.ovn.daemons().values() if d.pid()]
    (settings.state_dir() / "state.json").write_text("damaged by a crash")
    lab.down()
    assert stray.wait(timeout=5) != 0
    assert not any(proc.is_running(p) for p in members)
    assert not net.lab_namespaces() and not storage.attached_loops()
    for path in (settings.state_dir(), settings.LOCK_FILE, *settings.NETNS_ETC.glob("kvmig-lab-*")):
        assert not path.exists()
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        assert "kvmig" not in f.read()
    lab.down()
    done = subprocess.run([COMMAND, "down"], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "" and done.stderr == ""
