#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# docs/findings.md and the code name the same codes: none is missing there, and none is there that nothing says.
set -u
cd "${top_srcdir:-.}" || exit 99
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# Files that speak in findings and verdicts; others have literals of that form with another meaning (libvirt's flags).
grep -hoE '"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+"' src/plan/checks_*.c src/plan/disk_*.c src/plan/known_problems.c src/plan/names.c \
    src/plan/note.c src/plan/plan.c src/session/location*.c src/session/session*.c src/libvirt/driver*.c \
    src/libvirt/features.c src/session/resolver.c src/port/ovn_findings.c src/plan/kube_*.c src/kubernetes/follow_*.c src/kubernetes/driver*.c \
    src/kubernetes/backend*.c src/kubernetes/snapshot*.c src/session/explain.c src/session/explain_kube*.c examples/kvmig/request.c >"$tmp/literals"
# Reasons of the interface classifier have the same form; its codes stand where they are added.
grep -hoE 'findings_add\([^,]*, "[A-Z_]+"' src/port/interface_report.c | grep -oE '"[A-Z_]+"' >>"$tmp/literals"
tr -d '"' <"$tmp/literals" | grep -vE '^(KVMIG|VIR)_' | sort -u >"$tmp/code"
grep -oE '`[A-Z][A-Z0-9]*(_[A-Z0-9]+)+`' docs/findings.md | tr -d '`' | grep -v '^KVMIG_' | sort -u >"$tmp/docs"
undocumented=$(comm -23 "$tmp/code" "$tmp/docs")
unknown=$(comm -13 "$tmp/code" "$tmp/docs")
[ -z "$undocumented" ] || echo "not in docs/findings.md:" $undocumented
[ -z "$unknown" ] || echo "only in docs/findings.md:" $unknown
[ -z "$undocumented$unknown" ]
