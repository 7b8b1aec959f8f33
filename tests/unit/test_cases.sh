#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The situations in tests/cases, each asked of the tool (run.py).
src=${top_srcdir:-.}
. "$src/tests/unit/tool_lib.sh"
[ -n "$python" ] || exit 77
[ -z "${KVMIG:-}" ] && LD_LIBRARY_PATH=$(cd "$builddir/.libs" && pwd)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} # the tool runs in each case's folder
exec "$python" "$src/tests/cases/run.py" --kvmig "$kvmig" "$src/tests/cases"
