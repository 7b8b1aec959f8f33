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
    # What was collected of each host in a folder of its name, wherever that is.
    mkdir -p "$tmp/dump/a" "$tmp/dump/b"
    cp "$tmp/web" "$tmp/dump/a/domain.xml"
    cp "$tmp/caps.xml" "$tmp/dump/a/caps.xml"
    cp "$tmp/caps.xml" "$tmp/dump/b/caps.xml"
    echo '{"source": "a"}' >"$tmp/request.json"
    run 0 plan "$tmp/dump" --target b --request "$tmp/request.json" --json
    out_json '"DUPLICATE_HOST_UUID" in [f["code"] for f in d["findings"]]'
    echo '{"source": "a", "hosts": {"a": ["caps.xml"], "b": ["caps.xml"]}}' >"$tmp/request.json"
    sed 's/<uuid>./<uuid>f/' "$tmp/caps.xml" >"$tmp/dump/b/caps.xml"
    run 0 plan "$tmp/dump" --target b --request "$tmp/request.json" --json
    out_json 'd["verdict"] == "MIGRATABLE" and d["source"] == "a" and d["target"] == "b"'
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
    for wrong in '{"hosts": {"a": "caps.xml"}}' '{"policy": {"allow_postcopy": "no"}}' '{"options": {"tls": 1}}' '{"hosts": {"a": [5]}}' '{"hosts": {"a=b": ["caps.xml"]}}' \
        '{"options": {"flags": "LIVE"}}' '{"options": {"flags": [1]}}' '{"options": {"migrate_disks": [""]}}' \
        '{"options": {"migrate_uri": 5}}' '{"options": {"tls_destination": ""}}' '{"observed": {"now": "yesterday"}}' \
        '{"observed": {"now": 5}}' '{"backend": "libvirt", "options": {"bandwidth": "1.5"}}'; do
        request 0 "$wrong"
        out_json 'd["verdict"] == "BLOCKED" and d["findings"][0]["code"] == "INVALID_ARGUMENT"'
    done
    for wrong in '{"hosts": []}' '{"backend": "xen"}' '{"intent": "fly"}' '{"source": 5}' '{"options": []}' '{"policy": true}' \
        '{"volume_changes": {}}' '{"observed": 1}' '[]' '{' '' '{} {}'; do
        request 2 "$wrong"
        err_has "--request"
        out_is_empty
    done
    request 0 "$(printf '\357\273\277{}\r')"
    run 2 plan --request "$tmp/words" "$tmp/web"
    run 2 plan --request "$tmp/nowhere" "$tmp/web"
    err_has "$tmp/nowhere"
    out_is_empty
}

# write_cpu FILE USABLE-HASWELL FEATURE: domain capabilities of a host.
write_cpu() {
    cat >"$tmp/$1" <<END
<domainCapabilities><path>/usr/bin/qemu</path><domain>kvm</domain><machine>pc-q35-8.2</machine><arch>x86_64</arch>
  <cpu>
    <mode name='host-model' supported='yes'><model fallback='forbid'>Base</model><vendor>Intel</vendor>
      <feature policy='require' name='$3'/></mode>
    <mode name='custom' supported='yes'><model usable='yes'>Base</model><model usable='$2'>Haswell</model></mode>
  </cpu>
</domainCapabilities>
END
}

write_node() {
    cat >"$tmp/$1.json" <<END
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "$1", "labels": {"cpu-model.node.kubevirt.io/Base": "true",
 "cpu-feature.node.kubevirt.io/fpu": "true", "cpu-feature.node.kubevirt.io/$2": "true"}}}
END
}

# Which target: ranked, pinned, ruled out; by options and by a request.
targets() {
    echo '{"source": "a", "hosts": {"a": [], "b": [], "c": []}, "observed": {"links": {"b": 8e8, "c": 8e9}}}' >"$tmp/request.json"
    run 0 plan --request "$tmp/request.json" "$tmp/web" --json
    out_json 'd["target"] == "c" and d["candidates"][0]["better_by"] == "link" and d["candidates"][0]["reasons"]["link"] > 9e8'
    run 0 plan --request "$tmp/request.json" "$tmp/web"
    out_has "a faster link: "
    run 0 plan --request "$tmp/request.json" "$tmp/web" --link-to b=5000 --json
    out_json 'd["target"] == "b"'
    run 0 plan --request "$tmp/request.json" "$tmp/web" --exclude c --json
    out_json 'd["target"] == "b" and [c["node"] for c in d["candidates"]] == ["b"]'
    run 0 plan --request "$tmp/request.json" "$tmp/web" --target b --json
    out_json 'd["target"] == "b"'
    echo '{"source": "a", "hosts": {"a": [], "b": [], "c": []}, "exclude": ["b"]}' >"$tmp/request.json"
    run 0 plan --request "$tmp/request.json" "$tmp/web" --json
    out_json 'd["target"] == "c"'
    run 0 plan --request "$tmp/request.json" "$tmp/web" --exclude c --json
    out_json 'd["target"] is None and d["verdict"] == "BLOCKED"'
    run 2 plan --request "$tmp/request.json" "$tmp/web" --target b
    err_has "asked for as the target"
    run 2 plan "$tmp/web" --link-to b=fast
    err_has "HOST=MIB"
    for wrong in '{"exclude": "b"}' '{"exclude": [5]}' '{"observed": {"links": []}}' '{"observed": {"links": {"b": 0}}}'; do
        request 0 "$wrong"
        out_json 'd["verdict"] == "BLOCKED" and d["findings"][0]["code"] == "INVALID_ARGUMENT"'
    done
}

cpus_in_common() {
    mkdir "$tmp/map"
    echo "<cpus><model name='Base'><vendor name='Intel'/><feature name='fpu'/></model></cpus>" >"$tmp/map/base.xml"
    write_cpu alpha.xml yes avx
    write_cpu beta.xml no avx2
    run 0 cpu common --cpu-map "$tmp/map" "$tmp/alpha.xml" "$tmp/beta.xml"
    out_has "1 named CPU model can be run by all of them:"
    out_has "on alpha: avx"
    out_has "from beta to alpha: no, it lacks avx2"
    err_is_empty
    run 0 cpu common alpha --cpu-map "$tmp/map" -f "$tmp/alpha.xml" -f "$tmp/beta.xml" --json
    out_json '[m["model"] for m in d["models"]] == ["Base", "Haswell"] and d["complete"]'
    out_json 'd["models"][0]["lost"] == [{"nodes": ["alpha"], "features": ["avx"]}] and d["models"][1]["lost"][0]["features"] is None'
    run 0 cpu common --host "n1=$tmp/alpha.xml" --host n2 --cpu-map "$tmp/map" "$tmp/alpha.xml" --json
    out_json '[k["nodes"] for k in d["kinds"]] == [["n1"], ["n2"]] and not d["complete"] and "missing" in d["kinds"][1]'
    write_node k1 avx
    write_node k2 avx2
    run 0 cpu common --cpu-map "$tmp/map" --json "$tmp/k1.json" "$tmp/k2.json"
    out_json '[m["model"] for m in d["models"]] == ["Base"] and d["common_features"] == ["fpu"]'
    run 0 cpu common -c test:///default
    out_has "Nothing is known of any CPU."
    run 6 cpu common nobody -c test:///default
    run 2 cpu common nobody "$tmp/k1.json"
    err_has "nobody"
    run 2 cpu
    err_has "cpu common"
    run 2 cpu common "$tmp/words"
    err_has "$tmp/words"
    out_is_empty
}

what_would_make_it_movable() {
    echo '{"source": "a", "hosts": {"a": ["caps.xml"], "b": ["caps.xml"]}, "options": {"flags": ["LIVE", "TLS"]}}' >"$tmp/request.json"
    run 0 plan --request "$tmp/request.json" "$tmp/web" "$tmp/caps.xml"
    out_has "To make it movable to b:"
    out_has "target: DUPLICATE_HOST_UUID (node/b): "
    run 0 plan --request "$tmp/request.json" "$tmp/web" "$tmp/caps.xml" --json
    out_json 'd["remedies"]["target"] == "b" and d["remedies"]["possible"]'
    out_json '[(c["kind"], c["code"], c["object"]) for c in d["remedies"]["changes"]] == [("target", "DUPLICATE_HOST_UUID", "node/b")]'
    run 0 plan "$tmp/web" --json
    out_json '"remedies" not in d'
}

write_files
files_are_recognised
which_vm
what_cannot_be_read
requests
targets
cpus_in_common
what_would_make_it_movable
[ "$bad" -eq 0 ] && echo "$n runs of the tool, all as expected"
exit "$bad"
