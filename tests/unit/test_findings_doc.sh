#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# src/base/codes.def holds the codes that the sources name: none is missing there, and none is there that nothing says.
# docs/findings.md is what it prints; to accept a change: make findings-doc.
set -u
cd "${top_builddir:-.}" || exit 99
print=$PWD/tests/unit/print_codes
cd - >/dev/null && cd "${top_srcdir:-.}" || exit 99
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$print" page docs/findings.md.in | diff -u docs/findings.md - || exit 1
"$print" troubleshooting | diff -u docs/troubleshooting.md - || exit 1

# Literals of that form with another meaning: environment, libvirt's flags, options, columns of databases, reasons and rows of
# state machines.
cat >"$tmp/others" <<'END'
ABORT_ON_ERROR
ABORT_ON_IO_ERROR
ALLOW_POSTCOPY
ANY_TARGET
FOR_DRAIN
ASK_SLOT
AUTO_CONVERGE
BACK_OFF
CHANGE_PROTECTION
API_ERROR
DISPLAY_NAME
KEEP_SOURCE_DEFINITION
KUBERNETES_EXEC_INFO
KUBERNETES_SERVICE_HOST
KUBERNETES_SERVICE_PORT
NON_SHARED_DISK
NON_SHARED_INC
NON_SHARED_SYNCHRONOUS_WRITES
NOT_INSTALLED
NO_ID
NO_INVENTORY
NO_OFPORT
NO_WORKLOAD
OVN_NB_DB
OVN_SB_DB
PERSIST_DEST
PHASE_UNKNOWN
POD_NAME
POSTCOPY_AFTER_PRECOPY
POSTCOPY_RESUME
RDMA_PIN_ALL
SAY_ACCEPTED
SAY_REFUSED
SAY_TOO_LATE
SAY_UNKNOWN
TRANSIENT_TARGET
UNDEFINE_SOURCE
END
sort -u -o "$tmp/others" "$tmp/others"
# One literal may hold several, with blanks between them.
find src examples -name '*.[ch]' | grep -v '^src/base/codes\.c$' | xargs grep -hoE '"([A-Z][A-Z0-9]*(_[A-Z0-9]+)* ?)+"' | tr -d '"' | tr ' ' '\n' |
    grep -vE '^(KVMIG|VIR)_' | sort -u >"$tmp/literals"
"$print" list | sort -u >"$tmp/table"
# A word without an underscore may be anything: the table decides what is a code.
missing=$(grep _ "$tmp/literals" | comm -23 - "$tmp/table" | comm -23 - "$tmp/others")
unused=$(comm -13 "$tmp/literals" "$tmp/table")
double=$(comm -12 "$tmp/table" "$tmp/others")
[ -z "$missing" ] || echo "not in src/base/codes.def:" $missing
[ -z "$unused" ] || echo "in src/base/codes.def, but nothing says it:" $unused
[ -z "$double" ] || echo "both a code and not:" $double
[ -z "$missing$unused$double" ]
