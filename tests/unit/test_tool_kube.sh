#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The kvmig tool on Kubernetes, without any cluster: files with objects, clusters that cannot be read, and an API of this test's own
# (tool_api.py, if there is Python) in which somebody else's migration can be followed and cancelled. Needs no root and no network.
set -u
. "$(dirname "$0")/tool_lib.sh"
unset KVMIG_HOSTS KVMIG_LOG KUBECONFIG OVN_NB_DB OVN_SB_DB
tmp=$(mktemp -d)
api=
trap 'stop_api; rm -rf "$tmp"' EXIT

run() { run_tool "$@"; }
out_lacks() { ! grep -qF -e "$1" "$tmp/out" || fail "kvmig $what: \"$1\" on standard output"; }
err_lacks() { ! grep -qF -e "$1" "$tmp/err" || fail "kvmig $what: \"$1\" on standard error"; }
# err_has_once TEXT: on one line alone, and only once there.
err_has_once() {
    [ "$(grep -oF -e "$1" "$tmp/err" | wc -l)" -eq 1 ] || fail "kvmig $what: not once \"$1\" on standard error"
}

# write_kubeconfig FILE PORT
write_kubeconfig() {
    cat >"$1" <<END
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:$2"}}]
users: [{name: u, user: {token: t}}]
END
}

write_files() {
    cat >"$tmp/cluster.yaml" <<'END'
apiVersion: v1
kind: Node
metadata:
  name: node-a
  labels: {kubevirt.io/schedulable: "true", host-model-cpu.node.kubevirt.io/Skylake-Server: "true"}
status:
  capacity: {cpu: 8, memory: 32Gi, devices.kubevirt.io/kvm: 100}
  allocatable: {cpu: 8, memory: 32Gi, devices.kubevirt.io/kvm: 100}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata:
  name: vm1
  namespace: ns1
  uid: u1
  ownerReferences: [{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: vm1, uid: u0}]
spec:
  domain:
    memory: {guest: 1Gi}
    devices: {disks: [{name: root, disk: {bus: virtio}}, {name: seed, cdrom: {bus: sata}}]}
status:
  nodeName: node-a
  phase: Running
  conditions: [{type: Ready, status: "True"}, {type: LiveMigratable, status: "True"}]
END
    cat >"$tmp/migration.yaml" <<'END'
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceMigration
metadata: {name: mig1, namespace: ns1, uid: u2, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {vmiName: vm1}
status: {phase: Pending}
END
    sed '/^kind: Node/,/^---/d; /^apiVersion: v1$/d' "$tmp/cluster.yaml" >"$tmp/vmi.yaml"
    echo "words, nothing else" >"$tmp/words"
    printf 'apiVersion: v1\nkind: Pod\n metadata: [' >"$tmp/broken.yaml"
}

plans_on_files() {
    run 0 plan --vm ns1/vm1 "$tmp/vmi.yaml"
    out_has "can migrate (MIGRATABLE)"
    err_is_empty
    run 0 plan --vm vm1 --json "$tmp/vmi.yaml"
    out_json 'd["vm"] == "ns1/vm1" and d["verdict"] == "MIGRATABLE" and d["source"] == "node-a"'
    # A single node has no other.
    run 0 plan --vm ns1/vm1 "$tmp/cluster.yaml"
    out_has "NO_FEASIBLE_TARGET"
    run 0 plan --vm ns1/vm1 "$tmp/vmi.yaml" "$tmp/migration.yaml"
    out_has "MIGRATION_IN_PROGRESS"
    run 2 plan --vm ns1/another "$tmp/vmi.yaml"
    err_has "ns1/another"
    out_is_empty
    # What can be read is planned with, and what cannot is named.
    run 0 plan --vm ns1/vm1 "$tmp/vmi.yaml" "$tmp/nowhere.yaml" --json
    err_has_once "$tmp/nowhere.yaml"
    out_json 'd["verdict"] == "MIGRATABLE"'
}

hosts_on_files() {
    run 0 hosts --vms "$tmp/cluster.yaml"
    out_has "Skylake-Server"
    out_has "persistent"
    run 0 hosts --json "$tmp/cluster.yaml"
    out_json 'len(d["hosts"]) == 1 and len(d["hosts"][0]["domains"][0]["disks"]) == 2'
}

explanations_on_files() {
    run 0 explain --vm ns1/vm1 "$tmp/vmi.yaml"
    out_has "NO_FINDING"
    run 0 explain --vm ns1/vm1 "$tmp/vmi.yaml" "$tmp/migration.yaml"
    [ "$(head -n 1 "$tmp/out" | grep -o '([A-Z_]*)' | wc -l)" -eq 1 ] || fail "kvmig $what: not one code in the first line"
    run 0 explain --vm ns1/vm1 --migration mig1 --json "$tmp/vmi.yaml" "$tmp/migration.yaml"
    out_json 'd["verdict"] == "WAITING" and d["waits"]'
    run 6 explain --vm ns1/vm1 --migration another "$tmp/vmi.yaml" "$tmp/migration.yaml"
    err_has "another"
    out_is_empty
    run 6 explain --vm ns1/another "$tmp/vmi.yaml"
    err_has "ns1/another"
}

snapshots_of_files() {
    run 0 snapshot save -o "$tmp/saved.json" "$tmp/vmi.yaml" "$tmp/migration.yaml"
    out_is_empty
    run 0 snapshot save "$tmp/vmi.yaml" "$tmp/migration.yaml"
    out_json 'd["kind"] == "List" and len(d["items"]) == 2'
    # The same is found in it.
    run 0 plan --vm ns1/vm1 "$tmp/vmi.yaml" "$tmp/migration.yaml" --json
    cp "$tmp/out" "$tmp/before"
    run 0 plan --vm ns1/vm1 "$tmp/saved.json" --json
    cmp -s "$tmp/out" "$tmp/before" || fail "kvmig $what: another plan than before it was saved"
    run 7 snapshot save -o "$tmp/nowhere/saved.json" "$tmp/vmi.yaml"
    err_has "$tmp/nowhere/saved.json"
    # A part is saved, but that it is a part is told.
    run 6 snapshot save -o "$tmp/part.json" "$tmp/vmi.yaml" "$tmp/nowhere.yaml"
    err_has_once "$tmp/nowhere.yaml"
    run 0 plan --vm ns1/vm1 "$tmp/part.json"
}

# plan_request CODE JSON
plan_request() {
    echo "$2" >"$tmp/request.json"
    run "$1" plan --vm ns1/vm1 --request "$tmp/request.json" "$tmp/vmi.yaml" --json
}

requests() {
    plan_request 0 '{"options": {"bandwidth": "64Mi", "parallel": 2}}'
    out_json 'd["request"]["bandwidth_mib"] == 64 and not [f for f in d["findings"] if f["object"] == "request" and f["code"] != "OPTION_WITHOUT_EFFECT"]'
    plan_request 0 '{"options": {"bandwidth": "0"}}'
    out_json '"bandwidth_mib" not in d["request"] and not d["findings"]'
    # However low a limit is, it stays one.
    for quantity in 1Ki 100m 1; do
        plan_request 0 "{\"options\": {\"bandwidth\": \"$quantity\"}}"
        out_json 'd["request"]["bandwidth_mib"] == 1 and d["findings"][-1]["code"] == "BANDWIDTH_ROUNDED"'
    done
    for value in '"abc"' '"0x10"' '"-1"' '-1' '"inf"' '""' '1.5' 'true' '"9999999Ti"'; do
        plan_request 0 "{\"options\": {\"bandwidth\": $value}}"
        out_json 'd["verdict"] == "BLOCKED" and d["findings"][0]["code"] == "INVALID_ARGUMENT"'
    done
    plan_request 0 '{"options": {"parallel": 1000}}'
    out_json 'd["findings"][0]["detail"]["value"] == 1000'
    plan_request 0 '{"volume_changes": [{"volume": "root"}]}'
    out_json 'd["verdict"] == "BLOCKED"'
    # The command line wins.
    run 0 plan --vm ns1/vm1 --request "$tmp/request.json" "$tmp/vmi.yaml" --help
    echo '{"options": {"bandwidth": "abc"}}' >"$tmp/request.json"
    run 0 plan --vm ns1/vm1 --bandwidth 7 --request "$tmp/request.json" "$tmp/vmi.yaml" --json
    out_json 'd["request"]["bandwidth_mib"] == 7'
    run 0 plan --vm ns1/vm1 --request "$tmp/request.json" "$tmp/vmi.yaml"
    out_has "cannot migrate (BLOCKED)"
    out_has "INVALID_ARGUMENT"
    run 2 plan --vm ns1/vm1 --request "$tmp/nowhere.json" "$tmp/vmi.yaml"
    err_has "$tmp/nowhere.json"
    run 2 plan --vm ns1/vm1 --request "$tmp/words" "$tmp/vmi.yaml"
    out_is_empty
}

# Nothing could be read, so nothing is said about VMs; each cause is told once.
files_without_objects() {
    for command in "plan --vm ns1/vm1" "explain --vm ns1/vm1" "snapshot save" hosts watch; do
        for file in nowhere words broken.yaml; do
            [ "$command" = watch ] && continue # it takes no files
            code=6
            [ "$command" = "plan --vm ns1/vm1" ] && code=2
            # shellcheck disable=SC2086
            run $code $command "$tmp/$file"
            err_has_once "$tmp/$file"
            err_lacks "No running VM"
            out_is_empty
        done
    done
    mkdir "$tmp/empty"
    run 2 plan --vm ns1/vm1 "$tmp/empty"
    err_has "$tmp/empty"
    run 2 plan --vm ns1/vm1
    err_has "KUBECONFIG"
    run 2 plan
}

clusters_that_cannot_be_read() {
    write_kubeconfig "$tmp/closed" 1
    for command in "plan ns1/vm1" "explain ns1/vm1" "migrate ns1/vm1" "migrate ns1/vm1 --attach -" "snapshot save" hosts \
        "watch --for 100ms"; do
        # shellcheck disable=SC2086
        run 6 $command --kubeconfig "$tmp/closed" --json
        err_has_once "127.0.0.1:1"
        err_lacks "running VM"
        out_is_empty
    done
    run 6 plan ns1/vm1 --kubeconfig "$tmp/nowhere"
    err_has_once "$tmp/nowhere"
    run 6 plan ns1/vm1 --kubeconfig "$tmp/closed" --kube-context another
    err_has_once '"another"'
    for file in words broken.yaml; do
        run 6 plan ns1/vm1 --kubeconfig "$tmp/$file"
        err_has_once "$tmp/$file"
    done
    # From the environment as well; libvirt URIs on the command line win.
    KUBECONFIG=$tmp/closed
    export KUBECONFIG
    run 6 plan ns1/vm1
    err_has "127.0.0.1:1"
    run 0 hosts -c test:///default
    unset KUBECONFIG
    run 6 plan ns1/vm1 --in-cluster
    err_has "KUBERNETES_SERVICE_HOST"
}

# start_api [KIND...]: an API of which these kinds may not be read; its kubeconfig is $tmp/open.
start_api() {
    : >"$tmp/api.out"
    FORBIDDEN=$* "$python" "$(dirname "$0")/tool_api.py" >"$tmp/api.out" 2>"$tmp/api.err" &
    api=$!
    wait_for "$tmp/api.out" "the API"
    write_kubeconfig "$tmp/open" "$(head -n 1 "$tmp/api.out")"
}

stop_api() {
    [ -z "$api" ] || kill "$api"
    api=
}

what_may_not_be_read() {
    start_api persistentvolumes nodes
    run 0 plan ns1/vm1 --kubeconfig "$tmp/open"
    [ "$(wc -l <"$tmp/err")" -eq 1 ] || fail "kvmig $what: not one line on standard error"
    err_has_once persistentvolumes
    err_has_once nodes
    out_lacks CHECK_SKIPPED
    run 0 plan ns1/vm1 --kubeconfig "$tmp/open" --json
    out_json '"CHECK_SKIPPED" in [f["code"] for f in d["findings"]]'
    stop_api
    start_api virtualmachineinstances
    run 6 plan ns1/vm1 --kubeconfig "$tmp/open"
    err_has "may not list virtualmachineinstances"
    err_lacks "No running VM"
    stop_api
}

one_vm_alone() {
    start_api
    run 0 plan ns1/vm1 --kubeconfig "$tmp/open" --only-vm
    grep -qF "/namespaces/ns1/virtualmachineinstances?" "$tmp/api.err" || fail "kvmig $what: not in the VM's namespace"
    ! grep -qF "v1/virtualmachineinstances?" "$tmp/api.err" || fail "kvmig $what: asked for all VMs"
    stop_api
}

# Leaving it must not end it.
somebody_elses_migration() {
    start_api
    what="migrate --attach, interrupted"
    "$kvmig" migrate ns1/vm1 --attach - --kubeconfig "$tmp/open" --token "$tmp/token" >"$tmp/out" 2>"$tmp/err" &
    follower=$!
    wait_for "$tmp/token" "the token"
    kill -TERM "$follower"
    wait "$follower"
    code=$?
    [ "$code" -eq 130 ] || fail "kvmig $what: exit code $code, expected 130"
    out_has "detached"
    out_has "--cancel"
    out_has "KubeVirt looks for a target"
    ! grep -q DELETE "$tmp/api.out" || fail "kvmig $what: the migration was deleted"
    run 6 migrate ns1/vm1 --attach another --kubeconfig "$tmp/open"
    out_has "ns1/vm1"
    ! grep -q DELETE "$tmp/api.out" || fail "kvmig $what: the migration was deleted"
    run 4 migrate ns1/vm1 --attach - --cancel --kubeconfig "$tmp/open"
    out_has "Cancelled: ns1/vm1 is on node-a"
    grep -q "DELETE .*/mig1" "$tmp/api.out" || fail "kvmig $what: the migration was not deleted"
    run 6 migrate ns1/vm1 --attach - --kubeconfig "$tmp/open"
    stop_api
}

write_files
plans_on_files
hosts_on_files
explanations_on_files
snapshots_of_files
requests
files_without_objects
clusters_that_cannot_be_read
if [ -n "$python" ]; then
    what_may_not_be_read
    one_vm_alone
    somebody_elses_migration
fi
[ "$bad" -eq 0 ] && echo "$n runs of the tool, all as expected"
exit "$bad"
