# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fixtures of the migration tests: one lab for the whole run, guests per test.

KVMIG_BUILD names the build folder whose `kvmig` is tried (default: build).
The lab is brought up once and taken down at the end, whatever happened.
"""
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from kvmiglab import Lab  # noqa: E402
from kvmiglab.kube import Kube  # noqa: E402
from kvmiglab.ovncheck import assert_none  # noqa: E402
from doctor import Doctor  # noqa: E402
from migration import Tool  # noqa: E402

OVN_FILES = ("test_interfaces.py", "test_lab_ovn.py", "test_port.py", "test_port_migrate.py")
KUBE_FILES = ("test_kube_api.py", "test_kube_migrate.py")
KUBE_TIME_SCALE = 0.2  # of the times that KubeVirt has built in, which are minutes


def pytest_collection_modifyitems(items):
    """What needs OVN comes after what does not; the lab's own test takes the lab down, so it comes last."""
    def rank(item):
        name = item.path.name
        return 3 if name == "test_lab.py" else 2 if name in KUBE_FILES else int(name in OVN_FILES)
    items.sort(key=rank)


@pytest.fixture(scope="session")
def running_lab():
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    lab = Lab()
    lab.down()
    lab.up(hosts=2)
    yield lab
    lab.down()


@pytest.fixture
def lab(running_lab):
    """The lab, healthy before each test whatever the one before did to it."""
    for host in running_lab.hosts():
        running_lab.links.restore(host.name)
        if host.daemon_state() == "paused":
            host.daemon_continue()
    running_lab.up(hosts=2)
    return running_lab


@pytest.fixture
def tool(lab):
    tool = Tool(lab)
    yield tool
    tool.close()


@pytest.fixture
def doctor(lab, tool, request):
    """Asked by tests of accidents what it makes of what they left behind."""
    doctor = Doctor(lab, tool, request.node.name)
    yield doctor
    doctor.close()


@pytest.fixture
def make_vm(lab):
    made = []

    def make(name, **options):
        made.append(name)
        lab.destroy_vm(name)
        return lab.create_vm(name, **options)
    yield make
    for name in made:
        lab.destroy_vm(name)


@pytest.fixture
def ovn(lab):
    """OVN as it should be: no faults, no ports but those of guests and the client; and so it must be left."""
    if lab.ovn.is_up:
        lab.ovn.heal()
    else:
        lab.up(ovn=True)
    lab.ovn.remove_test_ports()
    yield lab.ovn
    lab.ovn.heal()
    try:
        lab.ovn.assert_nothing_left()
    finally:
        lab.ovn.remove_test_ports()


@pytest.fixture
def make_ovn_vm(lab, ovn):
    """Makes guests in OVN. When the test is over, their ports must be clean and where the guests run.

    One that was made with pin=True must also be pinned to there.
    """
    made, checked = {}, {}

    def make(name, check=True, pin=False, **options):
        lab.destroy_vm(name)
        made[name] = None
        made[name] = lab.create_vm(name, network="ovn", pin=pin, **options)
        if check:
            checked[name] = pin
        return made[name]
    yield make
    try:
        ovn.heal()
        for name, pinned in checked.items():
            if name in lab.vm_names():
                for port in made[name].ports:
                    ovn.assert_clean(port["lsp"], ovn.running_on(name), pinned=pinned)
        if len(checked) == len(made):
            ovn.assert_clean_all()
    finally:
        for name in made:
            lab.destroy_vm(name)


@pytest.fixture(scope="module")
def kube_cluster(running_lab):
    """A Kubernetes cluster whose nodes are the lab's hosts, all of them, for all tests of a file."""
    if len(running_lab.hosts()) > 2:
        running_lab.down()
    running_lab.up(hosts=2, ovn=True)
    cluster = Kube(running_lab)
    try:
        cluster.up(KUBE_TIME_SCALE)
        yield cluster
        cluster.destroy_all()
    finally:
        cluster.down()


@pytest.fixture
def kube(ovn, kube_cluster):
    """The cluster as it should be; and so it must be left: no migration, policy, label, tap, port option or token."""
    kube_cluster.reset()
    yield kube_cluster
    kube_cluster.control("DELETE", "/acts")
    try:
        assert_none(kube_cluster.leftovers, timeout=30)
        ovn.assert_nothing_left()
    except AssertionError:
        kube_cluster.destroy_all()  # the next test makes its guests anew
        raise
