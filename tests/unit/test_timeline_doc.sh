#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The table of the timeline's words in docs/guide.md and the code name the same words: none is missing there, and none is there
# that nothing notes.
set -u
cd "${top_srcdir:-.}" || exit 99
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
{
    # What is noted by name, what the table of states notes, and the wishes.
    cat src/port/*.c | tr '\n' ' ' | grep -oE 'kvmig__(ovn_note|ovn_note_once|port_note)\([a-z>-]+, "[a-z-]+"'
    tr '\n\\' '  ' <src/port/ovn_table.h | grep -oE '(GO\([A-Z_]+, *[A-Z_0-9| ]+, *|STAY\()"[a-z-]+"'
    grep -oE '= \{ "[a-z-]+", (KVMIG_PORT_|-1)' src/port/port_names.c
} | grep -oE '"[a-z-]+"' | tr -d '"' | sort -u >"$tmp/code"
sed -n "/^## The guest's port/,/^## How long/p" docs/guide.md | grep '^| `' | cut -d '|' -f 2 | grep -oE '`[a-z-]+`' | tr -d '`' \
    | sort >"$tmp/docs"
[ "$(wc -l <"$tmp/code")" -ge 20 ] || { echo "few words were found in src/port"; exit 1; }
undocumented=$(comm -23 "$tmp/code" "$tmp/docs")
unknown=$(comm -13 "$tmp/code" "$tmp/docs")
[ -z "$undocumented" ] || echo "not in docs/guide.md:" $undocumented
[ -z "$unknown" ] || echo "only in docs/guide.md (or there twice):" $unknown
[ -z "$undocumented$unknown" ]
