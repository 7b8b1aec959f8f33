#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# kvmig diagnose and kvmig report bundle: what is printed for people and for programs, exit statuses, what cannot be used. What diagnoses
# come to is a matter of tests/cases.
src=${top_srcdir:-.}
. "$src/tests/unit/tool_lib.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset KVMIG_HOSTS KUBECONFIG
run() { run_tool "$@"; }

cat >"$tmp/qemu.log" <<'END'
2026-03-01T10:00:00.000000Z qemu-system-x86_64: Unknown savevm section or instance '0000:00:04.0/virtio-rng' 0
2026-03-01T10:00:00.000100Z qemu-system-x86_64: load of migration failed: Invalid argument
END
echo '{"time": 0, "side": "source", "event": "SUSPENDED", "detail": "POSTCOPY"}
{"time": 0.2, "side": "target", "event": "RESUMED", "detail": "POSTCOPY"}' >"$tmp/events"
# $1: outcome, $2: members of the error, $3: last verdict
report() {
    echo "{\"session\": \"s1\", \"vm\": \"web\", \"source\": \"a\", \"target\": \"b\", \"outcome\": \"$1\", \"phases\": [],
      \"started_unix_ms\": 1767225600000, \"error\": {$2}, \"final\": {\"host\": \"a\", \"verdict\": \"$3\"},
      \"notices\": [{\"code\": \"PORT_NOT_ROLLED_BACK\", \"severity\": \"error\", \"object\": \"vm/web\", \"message\": \"left\"},
        {\"code\": \"NOBODY_KNOWS\", \"severity\": \"error\", \"object\": \"vm/web\", \"message\": \"?\"}, 7]}" >"$tmp/report.json"
}
state() { # side, state
    echo "{\"observation\": \"domain-state\", \"side\": \"$1\", \"domain\": \"web\", \"state\": \"$2\"}" >"$tmp/$1.json"
}
echo "nothing that anybody knows" >"$tmp/words"
echo '{"intent": "cancel"}' >"$tmp/cancel.json"
echo '[1' >"$tmp/broken.json"

a_story_for_people() {
    run 0 diagnose "$tmp/qemu.log"
    out_has "(DEVICE_STATE_INCOMPATIBLE)"
    out_has "What happened:"
    out_has "2026-03-01T10:00:00Z"
    out_has "virtio-rng"
    run 0 diagnose "$tmp/events"
    out_has "(POSTCOPY_ACTIVE)"
    out_has "What not to do:"
    out_has "Do not cancel"
    err_is_empty
}

an_answer_for_programs() {
    run 0 diagnose --json "$tmp/qemu.log"
    out_json 'd["verdict"] == "DEVICE_STATE_INCOMPATIBLE" and d["target"] is None and d["findings"][0]["object"] == "device/0000:00:04.0/virtio-rng"'
    out_json 'd["timeline"][0]["at"].startswith("2026-03-01T10:00:00") and d["actions"] == []'
    run 0 diagnose --json --request "$tmp/cancel.json" "$tmp/events"
    out_json 'd["verdict"] in ("POSTCOPY_ACTIVE", "REFUSED") and "ABORT_JOB" not in [a["code"] for a in d["actions"]]'
}

without_evidence_no_cause() {
    run 0 diagnose "$tmp/words" --json
    out_json 'd["verdict"] == "NO_FINDING" and not d["findings"]'
}

what_cannot_be_used() {
    run 2 diagnose --request "$tmp/broken.json" "$tmp/words"
    out_is_empty
    err_has "broken.json"
    run 2 diagnose
}

kvmigs_own_report() {
    report Failed '"name": "ETIMEDOUT", "message": "northd has not followed", "where": "port web"' NO_FINDING
    run 0 diagnose --json "$tmp/report.json"
    out_json 'd["verdict"] == "FAILED" and d["vm"] == "web" and d["target"] == "b" and "northd" in d["summary"]'
    out_json '{f["code"]: f["severity"] for f in d["findings"]} == {"DEADLINE_PASSED": "warn", "PORT_NOT_ROLLED_BACK": "warn"}'
    report Failed '"name": "KVMIG_EVIRT", "message": "qemu unexpectedly closed the monitor"' NO_FINDING
    run 0 diagnose --json "$tmp/report.json"
    out_json 'd["verdict"] == "FAILED" and "QEMU_DIED" in [f["code"] for f in d["findings"]]'
    # what both sides show now outranks a report of the past
    state source absent
    state target running
    run 0 diagnose --json "$tmp/report.json" "$tmp/source.json" "$tmp/target.json"
    out_json 'd["verdict"] == "SUCCEEDED_UNREPORTED"'
    report Indeterminate '"name": "KVMIG_EUNKNOWN", "message": "not proven"' UNDECIDED
    state source running
    run 0 diagnose --json "$tmp/report.json" "$tmp/source.json"
    out_json 'd["verdict"] == "UNDECIDED" and not d["actions"]'
    state target absent
    run 0 diagnose --json "$tmp/report.json" "$tmp/source.json" "$tmp/target.json"
    out_json 'd["verdict"] == "FAILED"'
    report Succeeded "" SUCCEEDED
    run 0 diagnose --json "$tmp/report.json"
    out_json 'd["verdict"] == "SUCCEEDED"'
    # it is of another VM
    run 0 diagnose --json --vm other "$tmp/report.json"
    out_json 'd["verdict"] == "NO_FINDING"'
}

bundle() {
    run 0 report bundle --vm test -c test:///default -o "$tmp/bundle"
    out_has "$tmp/bundle"
    [ -s "$(echo "$tmp"/bundle/*-domain.xml)" ] || fail "kvmig $what: no domain in the bundle"
    run 0 diagnose --vm test "$tmp/bundle" --json
    out_json 'd["verdict"] == "NO_FINDING" and d["vm"] == "test"'
    # which VM, and whose file is whose, the bundle says itself; the request of any other folder is not taken
    run 0 diagnose "$tmp/bundle" --json
    out_json 'd["verdict"] == "NO_FINDING" and d["vm"] == "test"'
    mkdir "$tmp/folder"
    cp "$tmp/words" "$tmp/folder"
    echo '{"vm": "web", "target": "b"}' >"$tmp/folder/request.json"
    run 0 diagnose "$tmp/folder" --json
    out_json '"vm" not in d and d["target"] is None'
    run 7 report bundle --vm test -c test:///default -o "$tmp/bundle"
    err_has "$tmp/bundle"
    run 6 report bundle --vm test -c test:///nowhere.xml -o "$tmp/other"
    err_has "test:///nowhere.xml"
    # what could not be asked is told
    run 6 report bundle --vm test -c test:///default -c test:///nowhere.xml -o "$tmp/half"
    grep -q '"target".*"unreachable"' "$tmp/half/2-silent.json" || fail "kvmig $what: the silent host is not told"
    run 0 diagnose "$tmp/half" --json
    out_json '"TARGET_UNREACHABLE" in [f["code"] for f in d["findings"]]'
    # two hosts of one name do not hide each other
    run 0 report bundle --vm test -c test:///default -c test:///default -o "$tmp/twins"
    grep -q '"source"' "$tmp"/twins/1-*-state.json || fail "kvmig $what: the source of two hosts of one name is not told"
    grep -q '"target"' "$tmp"/twins/2-*-state.json || fail "kvmig $what: the target of two hosts of one name is not told"
    run 2 report nothing --vm test -c test:///default -o "$tmp/third"
}

no_secrets() {
    cat >"$tmp/node.xml" <<'END'
<node><domain type='test'><name>safe</name><memory>65536</memory><os><type>hvm</type></os><devices>
<disk type='file' device='disk'><source file='/d'/><target dev='vda' bus='virtio'/></disk>
<graphics type='vnc' port='5900' passwd='hunter2'/><graphics type='spice' port='5901' passwd='hunter2'/>
</devices></domain></node>
END
    run 0 report bundle --vm safe -c "test://$tmp/node.xml" -o "$tmp/safe"
    grep -q "vnc" "$tmp"/safe/*-domain.xml || fail "kvmig $what: the domain is not there"
    ! grep -rq "hunter2" "$tmp/safe" || fail "kvmig $what: a password is in the bundle"
}

the_example() {
    program=$builddir/examples/diagnose
    [ -x "$program" ] || return 0
    timeout 60 "$program" "$tmp/events" >"$tmp/out" 2>"$tmp/err" || fail "the example failed"
    what="(examples/diagnose)"
    out_has "POSTCOPY_ACTIVE: "
    out_has "do not: Do not cancel"
}

a_story_for_people
an_answer_for_programs
without_evidence_no_cause
what_cannot_be_used
kvmigs_own_report
the_example
bundle
no_secrets
echo "$n runs"
exit $bad
