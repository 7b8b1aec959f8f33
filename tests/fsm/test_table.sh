#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The table and its documentation are what the code says. To accept a change, see print_table.c.
set -u
bad=0
print=${top_builddir:-.}/tests/fsm/print_table
"$print" table | diff -u "${top_srcdir:-.}/tests/fsm/table.expected" - || bad=1
"$print" doc | diff -u "${top_srcdir:-.}/docs/session-states.md" - || bad=1
exit $bad
