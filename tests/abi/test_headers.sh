#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every public header compiles on its own, in each C standard and in C++; only libvirt.h needs another library's headers, and
# kvmig.h names all the others.
set -eu
src=${top_srcdir:-.}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
libvirt_cflags=$(pkg-config --cflags libvirt 2>/dev/null || true)
count=0

try() { # compiler, standard, language, header
    flags="-I$src/include"
    [ "$4" = libvirt.h ] && flags="$flags $libvirt_cflags"
    printf '#include <kvmig/%s>\nint kvmig_header_test;\n' "$4" >"$tmp/t.$3"
    # shellcheck disable=SC2086
    "$1" -std="$2" -pedantic -Wall -Wextra -Werror $flags -fsyntax-only "$tmp/t.$3" || {
        echo "$4 does not compile with $1 -std=$2"
        exit 1
    }
    count=$((count + 1))
}

for path in "$src"/include/kvmig/*.h; do
    header=$(basename "$path")
    for std in c99 c11 c17; do try "${CC:-cc}" "$std" c "$header"; done
    if command -v "${CXX:-c++}" >/dev/null 2>&1; then
        for std in c++11 c++17; do try "${CXX:-c++}" "$std" cc "$header"; done
    fi
    case $header in
    kvmig.h | libvirt.h) ;;
    *)
        grep -q "<kvmig/$header>" "$src/include/kvmig/kvmig.h" || { echo "kvmig.h does not include $header"; exit 1; }
        ;;
    esac
done
echo "$count compilations of headers alone"
