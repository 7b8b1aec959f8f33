#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The context inside three existing loops: each example opens a view over libvirt's built-in test host and one that does not
# answer, hears that the view is synced, and ends well. A loop that is not there was not built.
set -eu
ran=0
for loop in epoll glib sd-event; do
    program=${top_builddir:-.}/examples/loop-$loop
    [ -x "$program" ] || continue
    for uris in "" "test:///default" "test:///default qemu+tcp://127.0.0.1:1/system"; do
        # shellcheck disable=SC2086
        output=$(timeout 60 "$program" $uris) || { echo "loop-$loop $uris: failed"; exit 1; }
        case $output in
        *synced*) ;;
        *)
            echo "loop-$loop $uris: no synced event: $output"
            exit 1
            ;;
        esac
        ran=$((ran + 1))
    done
done
echo "$ran runs"
[ "$ran" -gt 0 ]
