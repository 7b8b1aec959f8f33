#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# kvmig port, and the example of a port, against a real OVN: northbound and southbound database and northd in a folder of
# their own. Two chassis are played by a loop that claims what northd requests and answers the nb_cfg barrier, as
# ovn-controller does. Run by make check-real, where OVN is installed; needs no root and no
# network.
set -u
[ -n "${KVMIG_REAL:-}" ] || { echo "run by make check-real"; exit 77; }
. "$(dirname "$0")/tool_lib.sh"
for program in ovsdb-tool ovsdb-server ovn-northd ovn-nbctl ovn-sbctl; do
    command -v "$program" >/dev/null || { echo "no $program"; exit 77; }
done
[ -f /usr/share/ovn/ovn-nb.ovsschema ] || { echo "no schema of OVN"; exit 77; }
unset KVMIG_HOSTS KVMIG_LOG
tmp=$(mktemp -d)
players=

# Only what was started here: each daemon has left its process id in the folder.
end() {
    [ -z "$players" ] || kill "$players" 2>/dev/null
    for file in "$tmp"/*.pid; do
        [ ! -s "$file" ] || kill "$(cat "$file")" 2>/dev/null
    done
    rm -rf "$tmp"
}
trap end EXIT
trap 'exit 1' INT TERM HUP

# ---- OVN ----

export OVN_RUNDIR="$tmp" OVN_LOGDIR="$tmp" OVS_RUNDIR="$tmp" OVS_LOGDIR="$tmp"
export OVN_NB_DB="unix:$tmp/nb.sock" OVN_SB_DB="unix:$tmp/sb.sock"
quiet="-vconsole:off"
for db in nb sb; do
    ovsdb-tool create "$tmp/$db.db" "/usr/share/ovn/ovn-$db.ovsschema" || exit 1
    ovsdb-server $quiet --detach --no-chdir --pidfile="$tmp/$db.pid" --log-file="$tmp/$db.log" --unixctl="$tmp/$db.ctl" \
        --remote="punix:$tmp/$db.sock" "$tmp/$db.db" || exit 1
done
ovn-nbctl init && ovn-sbctl init || exit 1
ovn-northd $quiet --detach --no-chdir --pidfile="$tmp/northd.pid" --log-file="$tmp/northd.log" --unixctl="$tmp/northd.ctl" \
    --ovnnb-db="$OVN_NB_DB" --ovnsb-db="$OVN_SB_DB" || exit 1
for i in 1 2; do
    ovn-sbctl chassis-add "hv$i" geneve "172.31.0.$i" -- set chassis "hv$i" hostname="node$i" || exit 1
    ovn-sbctl create chassis_private name="hv$i" >/dev/null || exit 1
done
ovn-nbctl ls-add ls0 -- lsp-add ls0 p -- lsp-add ls0 q || exit 1
ovn-nbctl set logical_switch_port p external_ids:vm=vm1 -- set logical_switch_port q external_ids:vm=vm1 || exit 1

column() { ovn-sbctl --bare --columns="$2" find port_binding logical_port="$1"; }

play_chassis() {
    while [ -S "$tmp/sb.sock" ]; do
        cfg=$(ovn-sbctl --bare --columns=nb_cfg list sb_global)
        for port in p q; do
            main=$(column "$port" requested_chassis)
            [ -n "$main" ] || main=$(column "$port" chassis)
            [ -n "$main" ] || main=$(ovn-sbctl --bare --columns=_uuid find chassis name=hv1)
            additional=$(column "$port" requested_additional_chassis)
            ovn-sbctl set port_binding "$port" chassis="$main" additional_chassis="[$additional]" up=true
        done
        # Whoever reads this value knows that everything before it was done.
        for i in 1 2; do
            ovn-sbctl set chassis_private "hv$i" nb_cfg="$cfg"
        done
        sleep 0.1
    done >/dev/null 2>&1
}
play_chassis &
players=$!

# ---- the tool ----

# run EXPECTED-CODE OPERATION WORD...: on port p, if no other is named.
run() {
    want=$1
    shift
    case " $* " in
    *" --lsp "* | *" --match "*) ;;
    *) set -- "$@" --lsp p ;;
    esac
    run_tool "$want" port "$@"
}

last_has() { tail -n 1 "$tmp/out" | grep -qF -e "$1" || fail "kvmig $what: nothing like $1 in the last line"; }

# How a port is pinned, and that nothing temporary stands beside it.
requested() { ovn-nbctl --bare get logical_switch_port "$1" options:requested-chassis 2>/dev/null | tr -d '"'; }
pinned() { [ "$(requested "$1")" = "$2" ] || fail "after $what $1 is pinned to \"$(requested "$1")\", not to $2"; }
clean() {
    rest=$(ovn-nbctl --bare --columns=options,external_ids list logical_switch_port "$1" | grep -e kvmig -e activation)
    [ -z "$rest" ] || fail "after $what $1 still has $rest"
}

there_and_back() {
    run 0 show
    out_has "nothing is prepared"
    run 0 prepare --source hv1 --target hv2 --owner job1
    out_has "--owner job1"
    pinned p hv1,hv2
    run 0 show
    out_has "job1, from hv1 to hv2"
    # Another process, which is told nothing but the owner.
    run 0 verify --owner job1
    out_has "Verified"
    run 2 verify --owner job1 --source hv1 --target hv2
    err_has "verify takes no --source"
    run 0 converge --owner job1 --winner hv2
    out_has "Converged: p is on hv2"
    pinned p hv2
    clean p
    # Repeated, and late.
    run 0 converge --owner job1 --winner hv2
    pinned p hv2
    # By host name, and undone.
    run 0 prepare --source node2 --target node1 --owner job2
    run 0 rollback --owner job2
    out_has "Rolled back"
    [ "$(requested p)" = hv2 ] || [ "$(requested p)" = node2 ] || fail "after $what p is pinned to $(requested p)"
    clean p
}

two_owners() {
    run 0 prepare --source hv2 --target hv1 --owner job3
    run 3 prepare --source hv2 --target hv1 --owner job4
    err_has "job3"
    run 3 verify --owner job4
    err_has "job4"
    run 0 converge --owner job4 --winner hv1
    out_has "Superseded"
    pinned p hv2,hv1
    run 0 rollback --owner job4 --json
    last_has '"state":"superseded"'
    pinned p hv2,hv1
    run 3 gc --winner hv2 --min-age 1h
    pinned p hv2,hv1
    run 0 gc --winner hv2 --min-age 0
    pinned p hv2
    clean p
}

all_of_a_vm() {
    run 0 prepare --match vm=vm1 --source hv1 --target hv2 --owner job0 --strategy none --json
    last_has '"state":"prepared"'
    run 0 verify --match vm=vm1 --owner job0
    for port in p q; do
        pinned "$port" hv1,hv2
        # Whoever verifies need not know how it was prepared, and does not change it.
        ovn-nbctl --bare --columns=options list logical_switch_port "$port" | grep -q activation-strategy &&
            fail "verify changed the strategy of $port"
    done
    run 0 rollback --match vm=vm1 --owner job0
    for port in p q; do
        pinned "$port" hv1
        clean "$port"
    done
}

refusals() {
    run 6 show --lsp nobody
    err_has "nobody"
    run 6 prepare --lsp nobody --source hv1 --target hv2
    err_has "nobody"
    run 6 prepare --source hv2 --target ghost
    err_has "ghost"
    err_has "hv1"
    run 3 prepare --source hv1 --target hv2
    pinned p hv2
    clean p
    run 3 verify --owner nobody
}

# Interrupted while northd stands still: what was written is put back. (A shell's background jobs do not hear SIGINT.)
interrupted() {
    ovn-appctl -t "$tmp/northd.ctl" pause
    "$kvmig" port prepare --lsp p --source hv2 --target hv1 --owner job6 >"$tmp/out" 2>"$tmp/err" &
    prepare=$!
    tries=0
    until [ "$(requested p)" = hv2,hv1 ] || [ "$tries" -ge 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    kill -TERM "$prepare"
    sleep 0.5
    ovn-appctl -t "$tmp/northd.ctl" resume
    # northd 23.03 takes in what changes while it is paused, and may not look at it after that before something else changes.
    ovn-nbctl set nb_global . external_ids:resumed=yes
    wait "$prepare"
    code=$?
    what="an interrupted prepare"
    n=$((n + 1))
    [ "$code" -eq 4 ] || fail "$what: exit code $code, expected 4"
    pinned p hv2
    clean p
}

# The example does in one process what the tool does in several.
example() {
    program=$builddir/examples/port-follow
    [ -x "$program" ] || return 0
    for command in false true; do
        what="port-follow with $command"
        n=$((n + 1))
        timeout 60 "$program" "$OVN_NB_DB" "$OVN_SB_DB" p hv2 hv1 "$command" >"$tmp/out" 2>"$tmp/err"
        code=$?
        if [ "$command" = true ]; then
            [ "$code" -eq 0 ] || fail "$what: exit code $code"
            pinned p hv1
        else
            [ "$code" -eq 1 ] || fail "$what: exit code $code"
            pinned p hv2
        fi
        clean p
    done
}

all_of_a_vm
there_and_back
refusals
two_owners
interrupted
example
[ "$bad" -eq 0 ] && echo "$n runs of the tool, all as expected"
exit "$bad"
