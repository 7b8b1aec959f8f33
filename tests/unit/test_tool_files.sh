#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The kvmig tool, planning from what is at hand: how files are told from names of VMs, requests, what is told when something cannot
# be used, exit statuses. What plans come to is a matter of tests/cases.
src=${top_srcdir:-.}
. "$src/tests/unit/tool_lib.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset KVMIG_HOSTS KUBECONFIG
run() { run_tool "$@"; }

# write_domain FILE NAME UUID-DIGIT
write_domain() {
    cat >"$tmp/$1" <<END
<domain type='kvm' id='1'>
  <name>$2</name><uuid>6d1f0c0e-0000-4000-8000-00000000000$3</uuid><memory unit='KiB'>1048576</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc-q35-8.2'>hvm</type></os>
  <devices>
    <disk type='network' device='disk'><driver name='qemu' type='raw' cache='none'/><source protocol='rbd' name='vms/$2'/>
      <target dev='vda' bus='virtio'/></disk>
  </devices>
</domain>
END
}

write_files() {
    write_domain web web 1
    write_domain db.xml db 2
    echo '{"observation": "versions", "source": {"qemu": "9.1.0"}, "target": {"qemu": "8.2.0"}}' >"$tmp/versions"
    echo '<capabilities><host><uuid>6d1f0c0e-0000-4000-8000-00000000000a</uuid></host></capabilities>' >"$tmp/caps.xml"
    echo "words, nothing else" >"$tmp/words"
    head -c 100 "$tmp/db.xml" >"$tmp/cut.xml"
    mkdir "$tmp/all"
    cp "$tmp/web" "$tmp/versions" "$tmp/words" "$tmp/all"
}

files_are_recognised() {
    run 0 plan "$tmp/web"
    out_has "can migrate (MIGRATABLE)"
    err_is_empty
    run 0 plan --json "$tmp/versions" "$tmp/web"
    out_json 'd["vm"] == "web" and d["target"] is None and not d["candidates"] and d["findings"][0]["code"] == "QEMU_OLDER"'
    run 0 plan "$tmp/all" --json
    out_json '"QEMU_OLDER" in [f["code"] for f in d["findings"]]'
    run 0 plan --snapshot "$tmp/all" --vm web --target node-b --json
    out_json 'd["target"] == "node-b" and [c["node"] for c in d["candidates"] if c["verdict"] != "SOURCE"] == ["node-b"]'
    err_is_empty
    # A word that is no file is a VM, unless it is said to be a file.
    run 2 plan "$tmp/nowhere"
    err_has "no hosts"
    run 2 plan --snapshot "$tmp/nowhere"
    err_has "$tmp/nowhere"
    # Whoever names hosts means a VM.
    run 6 plan "$tmp/web" -c qemu+tcp://127.0.0.1:1/system
    err_has "127.0.0.1"
}

which_vm() {
    run 2 plan "$tmp/web" "$tmp/db.xml"
    err_has "which VM?"
    err_has "--vm"
    out_is_empty
    run 0 plan "$tmp/web" "$tmp/db.xml" --vm db --json
    out_json 'd["vm"] == "db"'
    run 2 plan "$tmp/web" --vm nobody
    err_has "nobody"
    run 2 plan "$tmp/caps.xml"
    err_has "neither Kubernetes objects nor libvirt domains"
}

what_cannot_be_read() {
    run 0 plan "$tmp/web" "$tmp/cut.xml" "$tmp/nowhere"
    err_has "$tmp/cut.xml"
    err_has "$tmp/nowhere"
    out_has "MIGRATABLE"
    run 2 plan "$tmp/words"
    err_has "$tmp/words"
    out_is_empty
    run 2 plan "$tmp/cut.xml"
    err_has "$tmp/cut.xml"
    out_is_empty
}

# request CODE JSON
request() {
    echo "$2" >"$tmp/request.json"
    run "$1" plan --request "$tmp/request.json" --json "$tmp/web" "$tmp/caps.xml"
}

requests() {
    request 0 '{"backend": "libvirt", "source": "a", "hosts": {"a": ["caps.xml"], "b": ["caps.xml"]}, "target": "b"}'
    out_json 'd["source"] == "a" and d["target"] == "b" and "DUPLICATE_HOST_UUID" in [f["code"] for f in d["findings"]]'
    # Of two hosts, the one that is not the target is the source.
    request 0 '{"hosts": {"a": ["caps.xml"], "b": []}, "target": "b"}'
    out_json 'd["source"] == "a"'
    request 0 '{"options": {"flags": ["LIVE", "VIR_MIGRATE_TLS"], "migrate_uri": "tcp://b", "migrate_disks": ["vda"]}}'
    out_json 'd["request"]["copy_disks"] == ["vda"] and d["request"]["migrate_uri"] == "tcp://b"'
    request 0 '{"observed": {"now": "2026-01-05T01:00:00.5+01:00"}}'
    out_json 'd["verdict"] == "MIGRATABLE"'
    for wrong in '{"hosts": []}' '{"hosts": {"a": "caps.xml"}}' '{"hosts": {"a": [5]}}' '{"hosts": {"a=b": ["caps.xml"]}}' \
        '{"options": {"flags": "LIVE"}}' '{"options": {"flags": [1]}}' '{"options": {"migrate_disks": [""]}}' \
        '{"options": {"migrate_uri": 5}}' '{"options": {"tls_destination": ""}}' '{"observed": {"now": "yesterday"}}' \
        '{"observed": {"now": 5}}' '{"backend": "libvirt", "options": {"bandwidth": "1.5"}}'; do
        request 0 "$wrong"
        out_json 'd["verdict"] == "BLOCKED" and d["findings"][0]["code"] == "INVALID_ARGUMENT"'
    done
    run 2 plan --request "$tmp/words" "$tmp/web"
    run 2 plan --request "$tmp/nowhere" "$tmp/web"
    err_has "$tmp/nowhere"
    out_is_empty
}

write_files
files_are_recognised
which_vm
what_cannot_be_read
requests
[ "$bad" -eq 0 ] && echo "$n runs of the tool, all as expected"
exit "$bad"
