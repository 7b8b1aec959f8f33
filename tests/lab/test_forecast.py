# SPDX-License-Identifier: LGPL-2.1-or-later
"""Forecasts of real migrations: measured, written down beside the outcome, learned from. How well they hold is measured by
tests/bench/forecast.py; here it is enough that they are not absurd."""
import json

SLACK = 0.5  # of the total time: the machine may be busy with other things


def test_measured_forecast_stands_beside_the_outcome_and_teaches(lab, tool, make_vm, tmp_path):
    vm, learned = make_vm("f-report"), tmp_path / "learned.json"
    target = lab.host("b").hostname
    _, plan = tool.json("plan", vm.name, "--target", target, "--unsafe", "--bandwidth", "16", "--measure", "--learned", learned,
                        timeout=120)
    inputs = plan["forecast"]["inputs"]
    assert inputs["dirtying_from"] == "measured" and inputs["dirty_samples"] == 2
    assert plan["forecast"]["strategies"]["pre-copy"]["converges"] is True

    report = tool.migrate(vm, "b", "--unsafe", "--bandwidth", "16", "--learned", learned)
    forecast = report["forecast"]
    assert forecast["strategy"] == "pre-copy"
    assert forecast["measured"]["converged"] is True
    assert forecast["measured"]["total_ms"] == report["call_ms"]
    assert forecast["predicted"]["total_ms"]["expected"] > 0

    known = json.loads(learned.read_text())
    assert [(link["source"], link["target"]) for link in known["links"]] == [("kvmig-a", "kvmig-b")]
    assert known["vms"][0]["used_bytes"] < known["vms"][0]["memory_bytes"]

    _, plan = tool.json("plan", vm.name, "--target", lab.host("a").hostname, "--unsafe", "--bandwidth", "16", "--learned", learned)
    assert plan["forecast"]["inputs"]["used_from"] == "learned"
    expected_ms = plan["forecast"]["strategies"]["pre-copy"]["total_ms"]["expected"]
    report = tool.migrate(vm, "a", "--unsafe", "--bandwidth", "16", "--learned", learned)
    assert abs(expected_ms - report["call_ms"]) < SLACK * report["call_ms"]


def test_guest_that_writes_faster_than_the_limit_is_warned_of(lab, tool, make_vm):
    vm = make_vm("f-never")
    told = ("--unsafe", "--bandwidth", "8", "--used=128", "--dirty=1s=30", "--dirty=4s=16", "--working-set=64")
    _, plan = tool.json("plan", vm.name, "--target", lab.host("b").hostname, *told)
    assert plan["forecast"]["strategies"]["pre-copy"]["converges"] is False
    assert plan["forecast"]["recommended"] != "pre-copy"
    assert "NOT_CONVERGING_LIKELY" in [f["code"] for f in plan["findings"]]
