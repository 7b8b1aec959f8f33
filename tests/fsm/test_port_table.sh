#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The documentation of the port's states is what the table says. To accept a change, see port_print.c.
set -u
"${top_builddir:-.}/tests/fsm/port_print" | diff -u "${top_srcdir:-.}/docs/port-states.md" -
