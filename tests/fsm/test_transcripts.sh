#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Plays every script of this folder against the state machine and compares with what is expected. To accept a change:
#   for s in tests/fsm/*.script; do build/tests/fsm/transcript <$s >${s%.script}.expected; done
set -u
bad=0
n=0
for script in "${top_srcdir:-.}"/tests/fsm/*.script; do
    n=$((n + 1))
    "${top_builddir:-.}/tests/fsm/transcript" <"$script" | diff -u "${script%.script}.expected" - || bad=1
done
[ "$n" -gt 0 ] || bad=1
echo "$n transcripts"
exit $bad
