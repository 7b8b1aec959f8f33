# SPDX-License-Identifier: LGPL-2.1-or-later
"""A drain of a real host: guests leave it in waves under the limits; one that cannot is told, and stays."""
import json
import os
import subprocess

import pytest

from migration import BLOCKED, BUILD, ENVIRONMENT, FAILED, SUCCESS, Guest, Running

AT_ONCE = 2
NOT_BEGUN, ENDED = ("Pending", "Waiting"), ("Succeeded", "Failed", "Cancelled", "Indeterminate")


@pytest.fixture
def guests(lab, make_vm):
    vms = [make_vm(f"d-{i}", memory=128, disks=["private:8M"]) for i in range(4)]
    return [Guest(lab, vm) for vm in vms]


def plan_of(tool, *options):
    code, drain = tool.json("drain", "kvmig-a", "--dry-run", "--at-once", str(AT_ONCE), *options)
    assert code == 0
    return drain


def run(tool, *options):
    """Returns exit code, events, report."""
    drain = Running(tool._argv("drain", "kvmig-a", "--json", "--at-once", str(AT_ONCE), *options))
    code = drain.wait_end(300)
    reports = drain.of_type("report")
    return code, drain.events, reports[-1] if reports else None


def most_at_once(events):
    """Sessions that have begun and not ended."""
    running, most = set(), 0
    for event in events:
        session, phase = event.get("session"), event.get("phase")
        if session and phase in ENDED:
            running.discard(session)
        elif session and phase and phase not in NOT_BEGUN:
            running.add(session)
        most = max(most, len(running))
    return most


def test_host_is_emptied_in_waves(lab, tool, guests):
    names = {guest.vm.name for guest in guests}
    planned = plan_of(tool)
    moves = [move for wave in planned["waves"] for move in wave["migrations"]]
    assert {move["vm"] for move in moves} == names and not planned["immovable"], planned
    assert len(planned["waves"]) == 2 and all(len(w["migrations"]) <= AT_ONCE for w in planned["waves"])
    assert all(move["target"] == "kvmig-b" for move in moves)
    for guest in guests:
        guest.assert_running("a")  # a dry run moves nothing
    code, events, report = run(tool)
    assert code == SUCCESS, f"{code}: {json.dumps(report)}"
    assert report["moved"] == len(guests) and report["immovable"] == 0
    assert {m["vm"] for m in report["migrations"]} == names
    assert len({m["session"] for m in report["migrations"]}) == len(guests)
    assert most_at_once(events) <= AT_ONCE
    for guest in guests:
        guest.assert_moved("b")


def test_one_that_cannot_move_is_told_and_stays(lab, tool, make_vm):
    vms = [make_vm("d-free", memory=128, disks=["private:8M"]), make_vm("d-bound", memory=128, disks=["localblk:16M"])]
    free, bound = [Guest(lab, vm) for vm in vms]
    planned = plan_of(tool)
    assert [vm["vm"] for vm in planned["immovable"]] == ["d-bound"], planned
    assert any(f["severity"] == "blocker" for f in planned["immovable"][0]["findings"])
    code, events, report = run(tool)
    assert code == BLOCKED, (code, events[-3:])  # nothing is started unless asked for
    free.assert_running("a")
    code, events, report = run(tool, "--partial")
    assert code in (SUCCESS, FAILED) and report["moved"] == 1 and report["immovable"] == 1, f"{code}: {json.dumps(report)}"
    free.assert_moved("b")
    bound.assert_running("a")


def test_example_empties_a_host(lab, make_vm):
    guest = Guest(lab, make_vm("d-example", memory=128, disks=["private:8M"]))
    argv = lab.ctl_argv([BUILD / "examples/drain", "kvmig-a", *(host.uri for host in lab.hosts())])
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, **ENVIRONMENT})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wave 1: d-example to kvmig-b" in done.stdout and "d-example: Succeeded" in done.stdout
    guest.assert_moved("b")
