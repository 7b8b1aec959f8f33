#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
exec "${top_builddir:-.}/tests/abi/dlopen" "$(cd "${top_builddir:-.}" && pwd)/.libs/libkvmig.so"
