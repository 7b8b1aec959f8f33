#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The kvmig tool without any real host: help, mistakes on the command line, hosts and databases that do not answer, the whole
# read-only path through libvirt's built-in test driver, and probes of this machine. Needs no root and no network.
set -u
. "$(dirname "$0")/tool_lib.sh"
unset KVMIG_HOSTS KVMIG_LOG OVN_NB_DB OVN_SB_DB
# libvirt's client logs what it dislikes about the machine (a host name that does not resolve); only its errors matter here.
LIBVIRT_DEBUG=error
export LIBVIRT_DEBUG
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

run() { run_tool "$@"; }
help_and_version() {
    run 0 --version
    out_has "kvmig 0."
    run 0 --help
    out_has "Exit codes:"
    run 0 help
    for command in hosts plan migrate explain watch snapshot where port probe; do
        out_has "$command"
    done
    for command in hosts plan migrate explain watch snapshot where port probe; do
        run 0 "$command" --help
        out_has "Usage: kvmig $command"
        case $command in
        port) out_has "--ovn-nb" ;;
        probe) out_has "--netns" ;;
        *) out_has "--connect" ;;
        esac
        out_has "--json"
        err_is_empty
        run 0 help "$command"
        out_has "Usage: kvmig $command"
    done
    run 0 migrate --help
    for option in target managed unsafe copy disk bandwidth max-downtime parallel auto-converge postcopy \
        postcopy-after-precopy tls strict transient keep-source-definition target-pool target-uri migrate-uri \
        target-name target-xml persistent-xml cancel-at cancel-after-iteration report port port-timeout probe probe-netns \
        probe-interval probe-timeout service-timeout ovn-nb ovn-sb ovs chassis ovn-ca ovn-cert ovn-key owner strategy \
        attach cancel only-vm kubeconfig token resume volume; do
        out_has "--$option"
    done
    run 0 port --help
    for word in show prepare verify converge rollback gc --lsp --match --source --target --winner --min-age --timeout; do
        out_has "$word"
    done
}

wrong_command_lines() {
    run 2
    err_has "Usage:"
    run 2 fly
    err_has 'no command "fly"'
    run 2 --connect test:///default hosts
    err_has "options come after the command"
    run 2 help fly
    err_has 'no command "fly"'
    for command in hosts plan migrate where; do
        run 2 "$command" --no-such-option
        err_has "--no-such-option"
        err_has "kvmig $command --help"
        out_is_empty
        run 2 "$command" -Z
        err_has '"-Z"'
        run 2 "$command" --connect
        err_has "needs a value"
        run 2 "$command" --json=yes
        err_has "takes no value"
    done
    for command in port probe; do
        run 2 "$command" --no-such-option
        err_has "kvmig $command --help"
        run 2 "$command"
        err_has "kvmig $command --help"
        out_is_empty
        # They talk to no libvirt host.
        run 2 "$command" --connect test:///default
        err_has "--connect"
    done
    run 2 plan -c test:///default
    err_has "which VM"
    run 2 plan -c test:///default test another
    err_has '"another"'
    run 2 where test -c test:///default --source a
    err_has "--target"
    run 2 snapshot drop
    err_has "snapshot save"
    run 2 migrate test -c test:///default --cancel
    err_has "--attach"
    run 2 migrate test -c test:///default --attach - --cancel-at Running
    err_has "--cancel"
}

wrong_values() {
    run 2 plan test --bandwidth 12x
    err_has '"12x"'
    run 2 plan test --bandwidth -1
    err_has "--bandwidth"
    run 2 plan test --bandwidth 99999999999999999999
    err_has "--bandwidth"
    run 2 plan test --timeout soon
    err_has '"soon"'
    run 2 plan test --timeout 5y
    err_has '"5y"'
    run 2 plan test --copy some
    err_has "incremental"
    run 2 migrate test --cancel-at Lunch
    err_has "PreparingTarget"
    run 2 where test --apply Pray
    err_has "RESUME_SOURCE"
    run 2 plan test --target-xml "$tmp/nowhere.xml"
    err_has "nowhere.xml"
    run 2 plan test --target ''
    err_has "--target"
}

wrong_ports() {
    run 2 port fly --lsp p --ovn-nb unix:/nowhere
    err_has '"fly"'
    err_has "converge"
    run 2 port show another --lsp p --ovn-nb unix:/nowhere
    err_has '"another"'
    run 2 port show --ovn-nb unix:/nowhere
    err_has "--lsp"
    run 2 port show --lsp p --match vm=a --ovn-nb unix:/nowhere
    err_has "--match"
    run 2 port show --match vm --ovn-nb unix:/nowhere
    err_has "KEY=VALUE"
    run 2 port show --lsp p
    err_has "OVN_NB_DB"
    run 2 port show --lsp p --ovn-nb unix:/nowhere --ovs a
    err_has "CHASSIS=REMOTES"
    run 2 port show --lsp p --ovn-nb unix:/nowhere --chassis =a
    err_has "HOST=CHASSIS"
    run 2 port show --lsp p --ovn-nb /nowhere
    err_has "/nowhere"
    run 2 port show --lsp p --ovn-nb unix:/nowhere --strategy prayer
    err_has "garp"
    run 2 port prepare --lsp p --ovn-nb unix:/nowhere
    err_has "--source and --target"
    run 2 port prepare --lsp p --ovn-nb unix:/nowhere --source a
    err_has "belong together"
    run 2 port prepare --lsp p --ovn-nb unix:/nowhere --source a --target a
    err_has "the same"
    run 2 port prepare --lsp p --ovn-nb unix:/nowhere --source a --target b --winner b
    err_has "takes no --winner"
    for operation in verify converge rollback; do
        run 2 port "$operation" --lsp p --ovn-nb unix:/nowhere --winner b
        err_has "port $operation"
    done
    run 2 port converge --lsp p --ovn-nb unix:/nowhere --owner x
    err_has "needs --winner"
    run 2 port gc --lsp p --ovn-nb unix:/nowhere --winner b
    err_has "needs --min-age"
    run 2 port gc --lsp p --ovn-nb unix:/nowhere --winner b --min-age 30
    err_has "30s"
    # Before any host is asked.
    run 2 migrate test -c test:///default --port p
    err_has "ovn:LSP"
    run 2 migrate test -c test:///default --port ovn:
    err_has "ovn:LSP"
    run 2 migrate test -c test:///default --port ovn:p
    err_has "OVN_NB_DB"
    run 2 migrate test -c test:///default --probe 10.0.0.1:80
    err_has "tcp:HOST:PORT"
    out_is_empty
}

databases_that_do_not_answer() {
    run 6 port show --lsp p --ovn-nb unix:/nowhere --timeout 500
    err_has "northbound"
    run 6 port prepare --lsp p --ovn-nb unix:/nowhere --source a --target b --timeout 500
    err_has "northbound"
}

wrong_targets() {
    for target in tcp: tcp:a tcp:a:0 tcp:a:65536 tcp:a:x tcp::80 tcp:fd00::1:80 'tcp:[::1' 'tcp:[::1]80' echo: http:// \
        http://name@host/ https://host/ host:80 ''; do
        run 2 probe tcp:127.0.0.1:9 "$target" --duration 100
        err_has "\"$target\""
        out_is_empty
    done
    run 2 probe tcp:127.0.0.1:9 --duration 10
    err_has "--duration"
    run 2 probe tcp:127.0.0.1:9 --interval 0
    err_has "--interval"
}

probes() {
    run 6 probe tcp:127.0.0.1:9 'tcp:[::1]:9' --duration 300
    out_has "tcp:[::1]:9"
    err_has "2 of 2 targets never answered"
    run 6 probe tcp:127.0.0.1:9 --duration 300 --json
    out_json 'd["targets"][0]["tries"] == d["targets"][0]["failures"] > 0'
    [ -n "$python" ] || return 0
    # Two services; the second one tells when somebody has come.
    "$python" -c 'import socket, sys, time
services = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in services), flush=True)
services[1].accept()
print("came", file=open(sys.argv[1], "w"))
time.sleep(60)' "$tmp/came" >"$tmp/ports" &
    server=$!
    wait_for "$tmp/ports" "the services"
    read -r port another_port <"$tmp/ports"
    run 0 probe "tcp:127.0.0.1:$port" --duration 500
    out_has "tcp:127.0.0.1:$port"
    err_is_empty
    run 0 probe "tcp:127.0.0.1:$port" --duration 500 --json
    out_json 'd["targets"][0]["tries"] > d["targets"][0]["failures"]'
    if [ -x "$builddir/examples/probe" ]; then
        what="the example"
        timeout 60 "$builddir/examples/probe" 127.0.0.1 "$port" 1 >"$tmp/out" 2>"$tmp/err" || fail "the example failed"
        out_has " 0 failed"
    fi
    # Interrupted, it prints what it has.
    "$kvmig" probe "tcp:127.0.0.1:$another_port" >"$tmp/out" 2>"$tmp/err" &
    interrupted=$!
    wait_for "$tmp/came" "a probe that runs"
    kill -TERM "$interrupted"
    wait "$interrupted" || fail "probe did not end well when it was interrupted"
    what="probe, interrupted"
    out_has "tcp:127.0.0.1:$another_port"
    kill "$server"
}

no_hosts() {
    for command in hosts "plan test" "migrate test" "where test --source a --target b"; do
        # shellcheck disable=SC2086
        run 2 $command
        err_has "KVMIG_HOSTS"
    done
}

hosts_that_do_not_answer() {
    run 6 hosts -c qemu+tcp://127.0.0.1:1/system
    err_has "127.0.0.1:1"
    run 6 hosts -c qemu+tcp://127.0.0.1:1/system --json
    out_json 'd["hosts"][0]["state"] == "lost"'
    run 6 plan test -c qemu+tcp://127.0.0.1:1/system
    err_has "127.0.0.1:1"
    out_is_empty
    # One that does not answer hides no other.
    run 6 hosts -c qemu+tcp://127.0.0.1:1/system -c test:///default
    out_has "test:///default"
}

test_driver() {
    run 0 hosts -c test:///default
    out_has "test:///default"
    err_is_empty
    run 0 hosts -c test:///default --vms
    out_has "running"
    run 0 hosts -c test:///default --json
    out_json 'len(d["hosts"]) == 1 and d["hosts"][0]["state"] == "up" and d["hosts"][0]["domains"][0]["name"] == "test"'
    export KVMIG_HOSTS=" test:///default,"
    run 0 hosts
    out_has "test:///default"
    unset KVMIG_HOSTS
    # A single host has no other to migrate to.
    run 0 plan test -c test:///default
    out_has "cannot migrate (BLOCKED)"
    run 0 plan test -c test:///default --json
    out_json 'd["vm"] == "test" and d["verdict"] == "BLOCKED" and d["findings"]'
    run 6 plan nobody -c test:///default
    err_has "nobody"
    run 6 plan test -c test:///default --target elsewhere
    err_has "elsewhere"
    run 3 migrate test -c test:///default
    err_has "nothing was started"
    # What there is on Kubernetes only.
    run 7 explain test -c test:///default
    err_has "no Kubernetes cluster"
    run 7 snapshot save -c test:///default
    err_has "no Kubernetes cluster"
    out_is_empty
    run 6 where test -c test:///default --source elsewhere --target test:///default
    err_has "elsewhere"
}

help_and_version
wrong_command_lines
wrong_values
wrong_ports
wrong_targets
no_hosts
hosts_that_do_not_answer
databases_that_do_not_answer
test_driver
probes
[ "$bad" -eq 0 ] && echo "$n runs of the tool, all as expected"
exit "$bad"
