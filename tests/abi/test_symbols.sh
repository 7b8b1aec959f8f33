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
# Every struct that callers fill (its size is not filled by the library) has a macro and a function that begin it.
awk '$1 == "struct" && $3 == "{" { name = $2 } $1 == "size_t" && $2 == "size;" && !/library filled/ { print name }' \
    "$src"/include/kvmig/*.h >"$tmp/sized"
sed -n 's/^#define KVMIG_[A-Z_]*_INIT KVMIG_OPTS_INIT(\(kvmig_[a-z_]*\))$/\1/p' "$src"/include/kvmig/*.h >"$tmp/begun"
[ -s "$tmp/sized" ] || { echo "no struct that callers fill was found"; exit 1; }
while read -r struct; do
    grep -qx "$struct" "$tmp/begun" || { echo "struct $struct has no macro that begins it"; exit 1; }
    grep -qx "${struct}_init" "$tmp/headers" || { echo "struct $struct has no ${struct}_init()"; exit 1; }
done <"$tmp/sized"

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
