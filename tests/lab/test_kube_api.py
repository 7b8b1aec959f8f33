# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Kubernetes client against a real API server, with a proxy between them that cuts, delays, lies and refuses.

The cluster's nodes are only names here, and its guests are played: what is tried is that the view follows, and that a
migration is created once and followed to its end. Whatever was told of a migration in the end must be what a fresh list says.
"""
import pytest

from kubemig import KubeTool
from kvmiglab.kube import Kube
from kvmiglab.kubeobjects import NAMESPACE
from migration import SUCCESS, wait_gone

PHASES = ["Unset", "Pending", "Scheduling", "Scheduled", "PreparingTarget", "TargetReady", "Running", "Succeeded"]
MACHINES = ("m1", "m2", "m3")
VMIMS, VMIS, PODS = "virtualmachineinstancemigrations", "virtualmachineinstances\\?", "/pods"


@pytest.fixture(scope="module")
def cluster(running_lab):
    running_lab.up(hosts=2)
    cluster = Kube(running_lab)
    try:
        cluster.up(time_scale=0.1, real=False)
        for name in MACHINES:
            cluster.create_machine(name, "a")
        yield cluster
        cluster.destroy_all()
    finally:
        cluster.down()


@pytest.fixture(scope="module")
def standing_proxy(cluster):
    return cluster.start_proxy()


@pytest.fixture
def proxy(lab, cluster, standing_proxy):
    cluster.reset()
    standing_proxy.heal()
    yield standing_proxy
    standing_proxy.heal()
    assert not cluster.left_objects(), "nothing of a session is left"


@pytest.fixture
def tool(lab, cluster, proxy):
    tool = KubeTool(lab, cluster, through=proxy)
    yield tool
    tool.close()


def assert_told_the_truth(cluster, watch):
    """The last phase told of each migration is that of a fresh list; no phase was told twice, out of order, or of nothing."""
    fresh = {f"{NAMESPACE}/{m['metadata']['name']}": m["status"]["phase"] for m in cluster.api.list("vmim", NAMESPACE)}
    told = {}
    for event in watch.of_type("migration"):
        told.setdefault(event["migration"], []).append(event["phase"])
    assert {name: phases[-1] for name, phases in told.items()} == fresh
    for name, phases in told.items():
        numbers = [PHASES.index(p) for p in phases]
        assert numbers == sorted(set(numbers)), (name, phases)


def migrate_all(cluster, tag):
    for name in MACHINES:
        cluster.post_migration(name, f"{tag}-{name}")
    for name in MACHINES:
        cluster.wait_phase(f"{tag}-{name}", "Succeeded", 60)


def end_watch(cluster, watch, tag):
    """Everything has been told once the last migration's end has been."""
    for name in MACHINES:
        watch.wait_for(lambda e, m=f"{NAMESPACE}/{tag}-{name}": e.get("migration") == m and e["phase"] == "Succeeded",
                       f"end of {tag}-{name}", 60)
    watch.cancel()
    assert watch.wait_end() == 0, watch.stderr
    assert_told_the_truth(cluster, watch)


# ---- a view that goes on -----------------------------------------------------------

WATCH_FAULTS = {
    "cut between lines": [{"kind": "cut", "watch": True, "after_lines": 3}],
    "cut within a line": [{"kind": "cut", "watch": True, "after_lines": 2, "after_bytes": 40, "scope": "stream"}],
    "ended within a line": [{"kind": "end", "watch": True, "after_lines": 1, "after_bytes": 100}],
    "truncated lines": [{"kind": "truncate", "watch": True, "after_lines": 2, "after_bytes": 60}],
    "bytes in small pieces": [{"kind": "split", "max": 5}],
    "410 in the stream": [{"kind": "gone", "watch": True, "in_stream": True, "after_lines": 2}],
    "410 instead of a watch": [{"kind": "cut", "watch": True, "after_lines": 2}, {"kind": "gone", "watch": True, "count": 4}],
    "429": [{"kind": "cut", "watch": True, "after_lines": 2}, {"kind": "throttle", "retry_after": 1, "count": 4}],
    "500 and 503": [{"kind": "cut", "watch": True, "after_lines": 2}, {"kind": "error", "status": 500, "count": 3},
                    {"kind": "error", "status": 503, "count": 3}],
    "refused connections": [{"kind": "cut", "count": 12}],
    "delay": [{"kind": "delay", "ms": 700, "watch": True, "after_lines": 2}],
    "silence": [{"kind": "silence", "ms": 1500, "watch": True, "after_lines": 2}],
    "stale lists": [{"kind": "cut", "watch": True, "after_lines": 3}, {"kind": "gone", "watch": True, "count": 4},
                    {"kind": "stale", "count": 6}],
}


CHANCE_FAULTS = [
    {"kind": "cut", "watch": True, "after_lines": 4}, {"kind": "truncate", "watch": True, "after_bytes": 80},
    {"kind": "gone", "watch": True, "in_stream": True, "after_lines": 3}, {"kind": "error", "status": 500},
    {"kind": "throttle", "retry_after": 1}, {"kind": "split", "max": 9}, {"kind": "cut"}]


@pytest.mark.parametrize("name", WATCH_FAULTS)
def test_view_follows_through(cluster, proxy, tool, name):
    watch = tool.watch()
    faults = [proxy.fault(**{"count": 6, **fault}) for fault in WATCH_FAULTS[name]]
    proxy.cut()  # watches that stand already have passed the place
    migrate_all(cluster, "f")
    assert any(proxy.hits(f) for f in faults)
    proxy.heal()
    end_watch(cluster, watch, "f")


def test_versions_that_the_server_has_forgotten(cluster, proxy, tool):
    watch = tool.watch()
    for i in range(2):
        hold = proxy.fault("cut")
        proxy.cut()
        migrate_all(cluster, f"c{i}")
        cluster.compact()
        assert proxy.hits(hold)
        proxy.heal()
    end_watch(cluster, watch, "c1")


def test_many_faults_by_chance(cluster, proxy, tool):
    """All kinds of trouble at once, with the same dice each time."""
    watch = tool.watch()
    for i, fault in enumerate(CHANCE_FAULTS):
        proxy.fault(**fault, probability=0.2, seed=i + 1)
    for i in range(3):
        proxy.cut()
        migrate_all(cluster, f"r{i}")
    proxy.heal()
    end_watch(cluster, watch, "r2")


# ---- a migration that is started once and followed to its end -------------------------

MIGRATE_FAULTS = {
    "answer to the creation lost": [{"kind": "drop-answer", "methods": ["POST"], "path": f"{VMIMS}$", "count": 1}],
    "creation not forwarded": [{"kind": "cut", "methods": ["POST"], "path": f"{VMIMS}$", "count": 1}],
    "creation refused for now": [{"kind": "throttle", "retry_after": 1, "methods": ["POST"], "count": 2}],
    "error at the creation": [{"kind": "error", "status": 500, "methods": ["POST"], "path": f"{VMIMS}$", "count": 1}],
    "watches cut": [{"kind": "cut", "watch": True, "after_lines": 2, "count": 12}],
    "versions expired": [{"kind": "gone", "watch": True, "in_stream": True, "after_lines": 1, "count": 8}],
    "broken lines": [{"kind": "truncate", "watch": True, "after_lines": 1, "after_bytes": 30, "count": 6}],
    "stale reads": [{"kind": "stale", "methods": ["GET"], "path": "virtualmachineinstances/", "count": 2}],
    "errors on reads": [{"kind": "error", "status": 500, "methods": ["GET"], "path": "virtualmachineinstances/", "count": 2}],
}


def assert_migrated_once(cluster, name, report):
    found = cluster.migrations(name)
    assert [m["status"]["phase"] for m in found] == ["Succeeded"], found
    assert report["kubernetes"]["migration"]["name"] == found[0]["metadata"]["name"]
    assert report["final"]["host"] == cluster.vmi(name)["status"]["nodeName"] == report["target"]


@pytest.mark.parametrize("name", MIGRATE_FAULTS)
def test_migration_goes_through(cluster, proxy, tool, name):
    faults = [proxy.fault(**fault) for fault in MIGRATE_FAULTS[name]]
    code, report = tool.follow("m1")
    assert code == SUCCESS, report
    assert any(proxy.hits(f) for f in faults) or MIGRATE_FAULTS[name][0]["kind"] == "stale"
    assert_migrated_once(cluster, "m1", report)


def test_server_is_away_for_a_while(cluster, proxy, tool):
    with cluster.act("hold-scheduling"):
        migration = tool.begin("m2")
        cluster.wait_phase(migration.vmim, "Scheduling")
        away = proxy.fault("cut")
        proxy.cut()
        wait_gone(lambda: proxy.hits(away) >= 30, "that the client asks again and again")
    cluster.wait_phase(migration.vmim, "Succeeded")
    assert proxy.hits(away)
    proxy.heal()
    code = migration.wait_end()
    assert code == SUCCESS, (migration.events[-3:], migration.stderr)
    assert_migrated_once(cluster, "m2", migration.of_type("report")[-1])


def test_cancel_through_trouble(cluster, proxy, tool):
    with cluster.act("hold-scheduling"):
        migration = tool.begin("m3")
        cluster.wait_phase(migration.vmim, "Scheduling")
        proxy.fault("drop-answer", 1, methods=["DELETE"])
        migration.cancel()
        assert migration.wait_end() == 4, migration.stderr
    cluster.wait_gone(migration.vmim)
    assert cluster.host_of("m3") in "ab"


# ---- last: another proxy in place of that one ------------------------------------------------

def test_http_1(lab, cluster):
    proxy = cluster.start_proxy("--http1")
    tool = KubeTool(lab, cluster, through=proxy)
    cluster.reset()
    watch = tool.watch()
    proxy.fault("cut", 6, watch=True, after_lines=3)
    proxy.cut()
    migrate_all(cluster, "h")
    end_watch(cluster, watch, "h")
    assert {r["proto"] for r in proxy.requests()} == {"HTTP/1.1"}
