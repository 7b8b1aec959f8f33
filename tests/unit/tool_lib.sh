# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by the tests of the kvmig tool: where the tool is, how it is run, and what is expected of what it printed. Sets bad,
# n (the number of runs) and python; the test makes the folder $tmp.
builddir=${top_builddir:-.}
kvmig=${KVMIG:-$builddir/kvmig}
# Not through libtool's script, which takes longer than the tool does.
if [ -z "${KVMIG:-}" ] && [ -x "$builddir/.libs/kvmig" ]; then
    kvmig=$builddir/.libs/kvmig
    LD_LIBRARY_PATH=$builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
fi
bad=0
n=0
python=$(command -v python3) || python= # without it JSON is not looked into

fail() {
    echo "FAILED: $*"
    sed 's/^/  stdout: /' "$tmp/out"
    sed 's/^/  stderr: /' "$tmp/err"
    bad=1
}

# run_tool EXPECTED-CODE WORD...: leaves what was printed in $tmp/out and $tmp/err.
run_tool() {
    want=$1
    shift
    what=$*
    n=$((n + 1))
    timeout 60 "$kvmig" "$@" >"$tmp/out" 2>"$tmp/err"
    code=$?
    [ "$code" -eq "$want" ] || fail "kvmig $what: exit code $code, expected $want"
}

out_has() { grep -qF -e "$1" "$tmp/out" || fail "kvmig $what: nothing like \"$1\" on standard output"; }
err_has() { grep -qF -e "$1" "$tmp/err" || fail "kvmig $what: nothing like \"$1\" on standard error"; }
out_is_empty() { [ ! -s "$tmp/out" ] || fail "kvmig $what: something on standard output"; }
err_is_empty() { [ ! -s "$tmp/err" ] || fail "kvmig $what: something on standard error"; }

# out_json EXPRESSION: standard output is one JSON document, of which the Python expression over d is true.
out_json() {
    [ -n "$python" ] || return 0
    "$python" -c "import json, sys; d = json.load(open(sys.argv[1])); assert ($1), d" "$tmp/out" 2>"$tmp/err" ||
        fail "kvmig $what: not JSON with $1"
}

# wait_for FILE WHAT: until the file has something in it, or half a minute is over.
wait_for() {
    tries=0
    until [ -s "$1" ] || [ "$tries" -ge 300 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    [ -s "$1" ] || fail "$2: nothing came within half a minute"
}
