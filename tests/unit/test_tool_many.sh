#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The kvmig tool for many VMs at once, on files: every VM against every node, drains of nodes; and that the man page has every option that
# --help lists. Needs no root and no network.
set -u
. "$(dirname "$0")/tool_lib.sh"
unset KVMIG_HOSTS KVMIG_LOG KUBECONFIG OVN_NB_DB OVN_SB_DB
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

run() { run_tool "$@"; }
out_lacks() { ! grep -qF -e "$1" "$tmp/out" || fail "kvmig $what: \"$1\" on standard output"; }

# write_node NAME [MEMORY]
write_node() {
    cat <<END
---
apiVersion: v1
kind: Node
metadata: {name: $1, labels: {kubevirt.io/schedulable: "true", kubernetes.io/hostname: $1}}
status:
  allocatable: {cpu: 8, memory: ${2:-32Gi}, pods: 100, devices.kubevirt.io/kvm: 100}
  conditions: [{type: Ready, status: "True"}]
END
}

# write_vm NAME NODE GIB [BUS]: one that is pinned to its node if BUS is "pinned".
write_vm() {
    cat <<END
---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata:
  name: $1
  namespace: ns1
  uid: uid-$1
  ownerReferences: [{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: $1, uid: u0}]
spec:
  nodeSelector: {${4:+kubernetes.io/hostname: $2}}
  domain: {memory: {guest: ${3}Gi}, devices: {interfaces: [{name: default, masquerade: {}}]}}
  networks: [{name: default, pod: {}}]
status:
  nodeName: $2
  phase: Running
  conditions: [{type: Ready, status: "True"}, {type: LiveMigratable, status: "True"}]
---
apiVersion: v1
kind: Pod
metadata:
  name: virt-launcher-$1-x
  namespace: ns1
  uid: pod-$1
  labels: {kubevirt.io: virt-launcher, kubevirt.io/created-by: uid-$1}
  annotations: {kubevirt.io/domain: $1}
spec:
  nodeName: $2
  nodeSelector: {${4:+kubernetes.io/hostname: $2}}
  containers: [{name: compute, resources: {requests: {memory: ${3}Gi, devices.kubevirt.io/kvm: 1}}}]
status: {phase: Running}
END
}

write_cluster() {
    {
        write_node a
        write_node b 5Gi
        write_node c 5Gi
        write_vm big a 4
        write_vm small a 2
        write_vm pinned a 1 pinned
        write_vm other b 1
    } >"$tmp/cluster.yaml"
}

every_vm_against_every_node() {
    run 0 plan --all "$tmp/cluster.yaml"
    [ "$(grep -c '^ns1/' "$tmp/out")" -eq 4 ] || fail "kvmig $what: not a row per VM"
    grep -qE '^VM +VERDICT +a +b +c' "$tmp/out" || fail "kvmig $what: not a column per node"
    grep -qE '^ns1/pinned +BLOCKED +\(here\) +[A-Z_]+ +[A-Z_]+' "$tmp/out" || fail "kvmig $what: no reason per node"
    grep -qE '^ns1/small .*\*' "$tmp/out" || fail "kvmig $what: no target is marked"
    run 0 plan --all --json "$tmp/cluster.yaml"
    out_json 'sorted(p["vm"] for p in d) == ["ns1/big", "ns1/other", "ns1/pinned", "ns1/small"]'
    out_json '[len(p["candidates"]) for p in d] == [2] * 4'
    run 0 plan --all "$tmp/cluster.yaml" --exclude b --link 1000 --json
    out_json 'all(p["target"] != "b" for p in d) and "forecast" in d[0]'
    for faster in b c; do
        run 0 plan --all "$tmp/cluster.yaml" --link-to b=100 --link-to c=100 --link-to "$faster=900" --json
        out_json "next(p['target'] for p in d if p['vm'] == 'ns1/small') == '$faster'"
    done
    run 2 plan --all "$tmp/cluster.yaml" --link-to b
    err_has "HOST=MIB"
}

nobody_runs() {
    write_node a >"$tmp/nodes.yaml"
    run 0 plan --all "$tmp/nodes.yaml"
    out_has "No VM runs here."
    run 0 plan --all --json "$tmp/nodes.yaml"
    out_json 'd == []'
}

# Columns as long as they fit, then lines.
as_many_nodes_as_there_are() {
    for nodes in 12 13 80; do
        {
            write_vm big n1 1
            for i in $(seq "$nodes"); do write_node "n$i"; done
        } >"$tmp/many.yaml"
        run 0 plan --all "$tmp/many.yaml"
        out_has "ns1/big"
        run 0 plan --all --json "$tmp/many.yaml"
        out_json "sum(d[0].get('candidates_by_verdict', {}).values()) == $nodes - 1 or len(d[0]['candidates']) == $nodes - 1"
    done
}

what_is_not_for_all() {
    run 2 plan --all --vm ns1/big "$tmp/cluster.yaml"
    err_has "--vm is for one VM"
    run 2 plan --all --source a "$tmp/cluster.yaml"
    err_has "source"
    run 2 plan --all --measure "$tmp/cluster.yaml"
    echo '{"options": {"bandwidth": "x"}}' >"$tmp/request.json"
    run 2 plan --all --request "$tmp/request.json" "$tmp/cluster.yaml"
    err_has "INVALID_ARGUMENT"
    out_is_empty
    run 2 plan --all "$tmp/nowhere.yaml"
}

drains_on_files() {
    run 0 drain a --dry-run --link 1000 "$tmp/cluster.yaml"
    out_has "2 of 3 VMs move"
    out_has "expected to take"
    out_has "ns1/pinned cannot move:"
    run 0 drain a --dry-run -f "$tmp/cluster.yaml" --json
    out_json 'd["nodes"] == ["a"] and [i["vm"] for i in d["immovable"]] == ["ns1/pinned"] and d["expected_ms"] is None'
    # They go to different nodes: neither has room for both.
    out_json '{m["vm"]: m["target"] for w in d["waves"] for m in w["migrations"]} == {"ns1/big": "c", "ns1/small": "b"}'
    run 0 drain a --dry-run "$tmp/cluster.yaml" --vm ns1/small --to c --json
    out_json '[(m["vm"], m["target"]) for w in d["waves"] for m in w["migrations"]] == [("ns1/small", "c")]'
    run 0 drain a --dry-run "$tmp/cluster.yaml" --exclude b --exclude c --json
    out_json 'd["waves"] == [] and len(d["immovable"]) == 3'
    run 2 drain a --dry-run "$tmp/cluster.yaml" --link-to b=900
    err_has "--link-to"
}

drains_that_cannot_be() {
    run 2 drain
    run 2 drain a "$tmp/cluster.yaml"
    err_has "--dry-run"
    run 2 drain a --dry-run --target b "$tmp/cluster.yaml"
    err_has "--to"
    run 2 drain nobody --dry-run "$tmp/cluster.yaml"
    err_has "nobody"
    run 2 drain a --dry-run --vm ns1/nobody "$tmp/cluster.yaml"
    err_has "ns1/nobody"
    run 2 drain a --dry-run --any-target "$tmp/cluster.yaml"
    err_has "plan.flags"
}

the_man_page_has_every_option() {
    sed 's/\\-/-/g' "${top_srcdir:-.}/docs/kvmig.1" >"$tmp/man"
    run 0 --help
    for command in $(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$tmp/out"); do
        run 0 "$command" --help
        for option in $(grep -oE '^ +(-[a-z], )?--[a-z-]+' "$tmp/out" | grep -oE -e '--[a-z-]+'); do
            grep -qE -e "$option([^a-z-]|\$)" "$tmp/man" || fail "kvmig $command $option is not in the man page"
        done
        [ "$(grep -oE '^ +(-[a-z], )?--[a-z-]+' "$tmp/out" | grep -oE -e '--[a-z-]+' | sort | uniq -d)" = "" ] ||
            fail "kvmig $command --help lists an option twice"
    done
}

write_cluster
every_vm_against_every_node
nobody_runs
as_many_nodes_as_there_are
what_is_not_for_all
drains_on_files
drains_that_cannot_be
the_man_page_has_every_option
[ "$bad" -eq 0 ] && echo "$n runs of the tool, as expected"
exit "$bad"
