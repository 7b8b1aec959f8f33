#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The exported functions are the same three times: declared in the headers, listed in the map, present in the library.
# Also: whatever the library defines for itself carries the kvmig prefix, so that it can be linked statically.
set -eu
src=${top_srcdir:-.}
build=${top_builddir:-.}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The last word before the parenthesis is the function; struct names before it are not.
grep -h -v '^#' "$src"/include/kvmig/*.h | tr '\n' ' ' | grep -o 'KVMIG_API [^;(]*(' | sed 's/($//; s/.*[ *]//' | sort -u >"$tmp/headers"
sed -n 's/^ *\(kvmig_[a-z0-9_]*\);$/\1/p' "$src/src/libkvmig.map" | sort -u >"$tmp/map"
nm -D --defined-only "$build/.libs/libkvmig.so" | awk '$2 == "T" {sub(/@.*/, "", $3); print $3}' | grep '^kvmig_' | sort -u >"$tmp/library"
nm -D --defined-only "$build/.libs/libkvmig.so" | awk '$2 ~ /[TDBRV]/ {sub(/@.*/, "", $3); print $3}' | grep -v '^kvmig_' >"$tmp/foreign" || true

# Every public enum but the sets of flags has a function that names its values.
for enum in $(sed -n 's/^enum \(kvmig_[a-z_]*\) {$/\1/p' "$src"/include/kvmig/*.h | grep -v '_flags$'); do
    grep -qx "${enum}_name" "$tmp/headers" || { echo "enum $enum has no ${enum}_name()"; exit 1; }
done
# Every option struct has a function that initialises it.
for opts in $(sed -n 's/^struct \(kvmig_[a-z_]*_opts\) {$/\1/p' "$src"/include/kvmig/*.h); do
    grep -qx "${opts}_init" "$tmp/headers" || { echo "struct $opts has no ${opts}_init()"; exit 1; }
done

[ -s "$tmp/headers" ] || { echo "no function found in the headers"; exit 1; }
diff -u "$tmp/headers" "$tmp/map" || { echo "headers (-) and src/libkvmig.map (+) differ"; exit 1; }
diff -u "$tmp/map" "$tmp/library" || { echo "src/libkvmig.map (-) and the library (+) differ"; exit 1; }
if [ -s "$tmp/foreign" ]; then
    echo "exported without the kvmig_ prefix:"
    cat "$tmp/foreign"
    exit 1
fi
if [ -f "$build/.libs/libkvmig_core.a" ]; then
    nm -g --defined-only "$build/.libs/libkvmig_core.a" | awk 'NF == 3 {print $3}' | grep -v '^kvmig_' \
        | grep -v -E '^(__asan|__odr_asan|__tsan|__ubsan)' >"$tmp/unprefixed" || true
    if [ -s "$tmp/unprefixed" ]; then
        echo "global symbols without the kvmig prefix:"
        cat "$tmp/unprefixed"
        exit 1
    fi
fi
echo "$(wc -l <"$tmp/headers") functions, the same in headers, map and library"
