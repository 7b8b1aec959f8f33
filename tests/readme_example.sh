#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What somebody does with an installed copy: the README's C example is the one in examples/, it compiles by pkg-config alone,
# and both it and the installed tool start. tests/lab runs it against real hosts.   usage: readme_example.sh PREFIX
set -eu
prefix=$1
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

awk '/^```c$/ {on = 1; next} /^```$/ {on = 0} on' README.md >"$tmp/example.c"
[ -s "$tmp/example.c" ] || { echo "README.md has no C example"; exit 1; }
grep -v -E '^/\*|^ \*' examples/migrate-min.c >"$tmp/in-tree" || true
grep -v -E '^/\*|^ \*' "$tmp/example.c" >"$tmp/in-readme" || true
diff -u "$tmp/in-tree" "$tmp/in-readme"

PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror -o "$prefix/migrate-min" "$tmp/example.c" $(pkg-config --cflags --libs kvmig) -Wl,-rpath,"$prefix/lib"
if "$prefix/migrate-min" >"$tmp/out" 2>&1; then
    echo "the example without arguments should fail with a usage line"
    exit 1
fi
LD_LIBRARY_PATH=$prefix/lib
export LD_LIBRARY_PATH
"$prefix/bin/kvmig" --version
"$prefix/bin/kvmig" --help >/dev/null
