#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The version is the same in version.h, configure.ac and the newest node of the symbol map.
set -eu
src=${top_srcdir:-.}
part() { sed -n "s/^#define KVMIG_VERSION_$1 //p" "$src/include/kvmig/version.h"; }
header="$(part MAJOR).$(part MINOR).$(part MICRO)"
configure=$(sed -n 's/^AC_INIT(\[kvmig\], \[\(.*\)\])$/\1/p' "$src/configure.ac")
map=$(sed -n 's/^LIBKVMIG_\([0-9.]*\) {$/\1/p' "$src/src/libkvmig.map" | tail -n 1)
echo "version.h $header, configure.ac $configure, map $map"
[ "$header" = "$configure" ]
case $header in "$map" | "$map".*) ;; *) [ "${header%.*}" = "${map%.*}" ] ;; esac
