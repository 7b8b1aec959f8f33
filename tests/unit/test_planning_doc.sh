#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The examples of docs/planning.md are what the tool prints: each command in a block "console" is run again, in the folder of the
# cases. With --write the page is written anew instead.
src=${top_srcdir:-.}
. "$src/tests/unit/tool_lib.sh"
page=$src/docs/planning.md
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset KVMIG_HOSTS KUBECONFIG
case $kvmig in /*) ;; *) kvmig=$PWD/$kvmig ;; esac
[ -z "${KVMIG:-}" ] && LD_LIBRARY_PATH=$(cd "$builddir/.libs" && pwd)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ln -s "$kvmig" "$tmp/kvmig"

run_line() {
    (cd "$src/tests/cases" && PATH=$tmp:$PATH && eval "$1") 2>&1
}

write_page() {
    within=
    while IFS= read -r line; do
        case $within$line in
        '```console') within=head ;;
        head'$ kvmig '*)
            printf '%s\n' "$line"
            run_line "${line#\$ }"
            n=$((n + 1))
            within=output
            continue
            ;;
        output'```') within= ;;
        output*) continue ;;
        esac
        printf '%s\n' "$line"
    done <"$page"
    echo "$n" >"$tmp/n"
}

write_page >"$tmp/page"
if [ "${1:-}" = --write ]; then
    cp "$tmp/page" "$page"
    exit
fi
diff -u "$page" "$tmp/page" || {
    echo "docs/planning.md does not show what the tool prints; 'make planning-doc' writes it anew."
    exit 1
}
[ "$(cat "$tmp/n")" -ge 4 ] || { echo "Only $(cat "$tmp/n") examples were found."; exit 1; }
