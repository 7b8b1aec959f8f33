# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cluster view of real hosts: what it reads, and that one that hangs spoils nothing else."""
import os
import signal
import time


def host_of(view, name):
    return next(h for h in view["hosts"] if h["name"] == name)


def domain_of(host, name):
    return next((d for d in host["domains"] if d["name"] == name), None)


def test_hosts_are_read_as_they_are(lab, tool, make_vm):
    make_vm("h-full", disks=["backed:16M", "shared:8M:qcow2", "private:8M"])
    code, view = tool.json("hosts")
    assert code == 0 and view["synced"]
    a, b = host_of(view, "kvmig-a"), host_of(view, "kvmig-b")
    assert a["state"] == b["state"] == "up" and a["uuid"] != b["uuid"]
    assert a["libvirt_version"] and a["qemu_version"] and a["arch"] == "x86_64"
    assert 0 < a["memory_free"] < a["memory_total"]
    assert a["cpu"]["host_model"] and a["cpu"]["usable_models"] and a["machines"]
    assert "br0" in a["bridges"] and "br0" in b["bridges"]
    assert {p["name"] for p in a["pools"]} >= {"shared", "private"}

    guest = domain_of(a, "h-full")
    assert guest["state"] == "running" and guest["persistent"] and not guest["job_active"]
    assert domain_of(b, "h-full") is None
    assert set(guest["cpu"]["expanded"]) <= set(b["cpu"]["features"])
    assert all(d["capacity"] > 0 for d in guest["disks"])
    backed = next(d for d in guest["disks"] if d["backing"])
    assert backed["source"]["format"] == "qcow2" and backed["backing"][0]["path"].endswith("-base.img")
    assert guest["interfaces"][0]["source"] == "br0" and guest["interfaces"][0]["target"] not in a["bridges"]

    # A file in a shared folder is one file for both hosts, although only one of them made it.
    volumes = [{v["path"]: v.get("ctime") for p in h["pools"] if p["name"] == "shared" for v in p["volumes"]}
               for h in (a, b)]
    marker = next(path for path in volumes[0] if path.endswith("/marker.img"))
    assert volumes[0][marker] == volumes[1][marker]
    assert any("h-full" in path for path in volumes[1])


def test_migration_of_somebody_else_shows_on_both_hosts(lab, tool, make_vm):
    make_vm("h-moving", disks=["shared:8M"])
    a, b = lab.host("a"), lab.host("b")
    a.run(["sh", "-c", f"virsh migrate --live --p2p --unsafe --bandwidth 4 h-moving {b.uri} >/dev/null 2>&1 &"])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        _, view = tool.json("hosts")
        jobs = {h["name"]: [j["kind"] for j in h["jobs"] if j["domain"] == "h-moving"] for h in view["hosts"]}
        if jobs == {"kvmig-a": ["migration-out"], "kvmig-b": ["migration-in"]}:
            break
    else:
        raise AssertionError(f"never seen on both hosts: {jobs}")
    a.virsh("domjobabort", "h-moving")


def test_daemon_that_hangs_is_lost_and_delays_no_other(lab, tool, make_vm):
    make_vm("h-other")
    lab.host("b").daemon("pause")
    try:
        code, view = tool.json("hosts", "--call-timeout", "1000")
    finally:
        lab.host("b").daemon("continue")
    lost = next(h for h in view["hosts"] if h["uri"] == lab.host("b").uri)
    assert code != 0 and lost["state"] == "lost" and "1000 ms" in lost["error"]["message"]
    a = host_of(view, "kvmig-a")
    assert a["state"] == "up" and domain_of(a, "h-other")["state"] == "running"


def test_guest_that_hangs_does_not_take_its_host_along(lab, tool, make_vm):
    make_vm("h-hung", disks=["shared:8M"])
    make_vm("h-well", disks=["shared:8M"])
    [pid] = lab.host("a").qemu_pids("h-hung")
    os.kill(pid, signal.SIGSTOP)
    try:
        code, view = tool.json("hosts", "--call-timeout", "1000")
    finally:
        os.kill(pid, signal.SIGCONT)
    a = host_of(view, "kvmig-a")
    assert code == 0 and a["state"] == "up"
    assert domain_of(a, "h-hung")["job_active"]  # it cannot be asked, so nothing is concluded
    assert domain_of(a, "h-well")["state"] == "running"
