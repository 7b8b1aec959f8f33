#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every public header compiles on its own and can be used, its macros included: in C and in C++, with every compiler that is
# there, without a warning. Only libvirt.h needs another library's headers, and kvmig.h names all the others.
set -eu
src=${top_srcdir:-.}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
libvirt_cflags=$(pkg-config --cflags libvirt 2>/dev/null || true)
count=0

# The body of a function that uses a header: each of its macros that begin a struct, and a call.
use() { # header
    case $1 in
    cluster.h)
        echo 'struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT; struct kvmig_cluster *cluster;'
        echo 'opts.max_migrations = KVMIG_UNLIMITED; return kvmig_cluster_open(NULL, &opts, &cluster);'
        ;;
    context.h)
        echo 'struct kvmig_context_opts opts = KVMIG_CONTEXT_OPTS_INIT, same = KVMIG_OPTS_INIT(kvmig_context_opts);'
        echo 'struct kvmig_context *context; opts.flags = same.flags; return kvmig_context_new(&opts, &context);'
        ;;
    error.h) echo 'return kvmig_error_code(kvmig_error_last());' ;;
    event.h) echo 'return kvmig_phase_is_terminal(KVMIG_PHASE_RUNNING);' ;;
    diagnose.h)
        echo 'struct kvmig_diagnose_opts opts = KVMIG_DIAGNOSE_OPTS_INIT; struct kvmig_diagnosis *diagnosis;'
        echo 'opts.intent = KVMIG_INTENT_CANCEL; return kvmig_cluster_diagnose(NULL, &opts, &diagnosis);'
        ;;
    drain.h)
        echo 'struct kvmig_drain_opts opts = KVMIG_DRAIN_OPTS_INIT; struct kvmig_drain *drain;'
        echo 'struct kvmig_drain_run_opts run_opts = KVMIG_DRAIN_RUN_OPTS_INIT;'
        echo 'opts.n_nodes = run_opts.user_data != NULL; return kvmig_cluster_plan_drain(NULL, &opts, &drain);'
        ;;
    explain.h) echo 'struct kvmig_explanation *why; return kvmig_cluster_explain(NULL, "vm", NULL, &why);' ;;
    forecast.h)
        echo 'struct kvmig_forecast_opts opts = KVMIG_FORECAST_OPTS_INIT; struct kvmig_forecast answer = KVMIG_FORECAST_INIT;'
        echo 'struct kvmig_measure_opts measure = KVMIG_MEASURE_OPTS_INIT; opts.used_bytes = measure.short_ms;'
        echo 'return kvmig_plan_forecast(NULL, KVMIG_STRATEGY_PRE_COPY, &answer) + (int)opts.used_bytes;'
        ;;
    finding.h) echo 'return (int)kvmig_findings_count(NULL);' ;;
    interface.h)
        echo 'struct kvmig_interface_classifier_opts opts = KVMIG_INTERFACE_CLASSIFIER_OPTS_INIT;'
        echo 'struct kvmig_interfaces_opts read = KVMIG_INTERFACES_OPTS_INIT; struct kvmig_interface_pass pass = KVMIG_INTERFACE_PASS_INIT;'
        echo 'struct kvmig_interface interface = KVMIG_INTERFACE_INIT; struct kvmig_workload workload = KVMIG_WORKLOAD_INIT;'
        echo 'struct kvmig_interface_classifier *classifier; (void)read; (void)pass; (void)interface; (void)workload;'
        echo 'return kvmig_interface_classifier_new(&opts, &classifier);'
        ;;
    kube.h)
        echo 'struct kvmig_kube_opts opts = KVMIG_KUBE_OPTS_INIT; char *json; opts.flags = KVMIG_KUBE_IN_CLUSTER;'
        echo 'return opts.flags == 0 || kvmig_cluster_snapshot(NULL, &json);'
        ;;
    kvmig.h)
        for part in cluster context drain error event explain finding forecast interface kube location plan port probe session version; do
            echo "if (use_$part()) return 1;"
        done
        echo 'return 0;'
        ;;
    libvirt.h) echo 'return kvmig_cluster_add_libvirt(NULL, NULL);' ;;
    location.h)
        echo 'struct kvmig_locate_opts opts = KVMIG_LOCATE_OPTS_INIT;'
        echo 'struct kvmig_location_callback callback = { NULL, NULL, NULL };'
        echo 'return kvmig_cluster_locate(NULL, &opts, callback);'
        ;;
    plan.h)
        echo 'struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT; struct kvmig_plan *plan;'
        echo 'return kvmig_cluster_plan(NULL, &opts, &plan);'
        ;;
    port.h)
        echo 'struct kvmig_port_ovn_opts opts = KVMIG_PORT_OVN_OPTS_INIT; struct kvmig_port_opts none = KVMIG_PORT_OPTS_INIT;'
        echo 'struct kvmig_port_ovs ovs = KVMIG_PORT_OVS_INIT; struct kvmig_port_backend backend = KVMIG_PORT_BACKEND_INIT;'
        echo 'struct kvmig_port *port; if (kvmig_port_open_none(NULL, &none, &port)) return 1; (void)ovs;'
        echo 'if (kvmig_port_open_backend(NULL, &backend, &none, &port)) return 1;'
        echo 'opts.strategy = KVMIG_PORT_STRATEGY_RARP; return kvmig_port_open_ovn(NULL, &opts, &port);'
        ;;
    probe.h)
        echo 'struct kvmig_probe_opts opts = KVMIG_PROBE_OPTS_INIT; struct kvmig_probe *probe;'
        echo 'struct kvmig_probe_target target = KVMIG_PROBE_TARGET_INIT; struct kvmig_probe_result result = KVMIG_PROBE_RESULT_INIT;'
        echo 'const struct kvmig_probe_target *targets[] = { &target }; opts.targets = targets; opts.n_targets = 1;'
        echo 'return kvmig_probe_new(NULL, &opts, &probe) || kvmig_probe_get_result(probe, 0, &result);'
        ;;
    session.h)
        echo 'struct kvmig_session_opts opts = KVMIG_SESSION_OPTS_INIT; struct kvmig_session *session;'
        echo 'return kvmig_session_new(NULL, NULL, &opts, &session);'
        ;;
    version.h) echo 'return (int)(kvmig_version() - KVMIG_VERSION_NUMBER);' ;;
    *) echo "#error $1 is new: say in tests/abi/test_headers.sh how it is used" ;;
    esac
}

write_program() { # header, file, first line before the include, line after it
    printf '%s\n#include <kvmig/%s>\n%s\n' "$3" "$1" "$4" >"$2"
    if [ "$1" = kvmig.h ]; then
        for part in cluster context drain error event explain finding forecast interface kube location plan port probe session version; do
            printf 'static int use_%s(void) {\n%s\n}\n' "$part" "$(use "$part.h")" >>"$2"
        done
    fi
    printf 'int kvmig_test(void);\nint kvmig_test(void) {\n%s\n}\n' "$(use "$1")" >>"$2"
}

try() { # compiler, standard, file, header
    flags="-I$src/include"
    [ "$4" = libvirt.h ] && flags="$flags $libvirt_cflags"
    # shellcheck disable=SC2086
    $1 -std="$2" -pedantic -Wall -Wextra -Werror $flags -c -o "$tmp/t.o" "$3" || {
        echo "$4 cannot be used with $1 -std=$2"
        exit 1
    }
    # A function whose name is mangled would not be found in the library.
    if nm -u "$tmp/t.o" | grep '_Z.*kvmig'; then
        echo "$4 declares the functions above for C++ only"
        exit 1
    fi
    count=$((count + 1))
}

each() { # c or cc, standards, file, header
    if [ "$1" = c ]; then set -- "$2" "$3" "$4" "${CC:-cc}" gcc clang; else set -- "$2" "$3" "$4" "${CXX:-c++}" g++ clang++; fi
    standards=$1 file=$2 header=$3
    shift 3
    for compiler in "$@"; do
        command -v "${compiler%% *}" >/dev/null 2>&1 || continue
        for std in $standards; do try "$compiler" "$std" "$file" "$header"; done
    done
}

[ -z "${CC:-}" ] || command -v "${CC%% *}" >/dev/null || { echo "no compiler $CC"; exit 1; }
for path in "$src"/include/kvmig/*.h; do
    header=$(basename "$path")
    for macro in $(sed -n 's/^#define \(KVMIG_[A-Z_]*_INIT\)\( .*\)\{0,1\}$/\1/p' "$path" | sort -u); do
        use "$header" | grep -qw "$macro" || { echo "the test for $header does not use $macro"; exit 1; }
    done
    write_program "$header" "$tmp/t.c" '' ''
    write_program "$header" "$tmp/t.cc" '' ''
    each c c99 "$tmp/t.c" "$header"
    each cc c++11 "$tmp/t.cc" "$header"
    case $header in
    kvmig.h | libvirt.h) ;;
    *)
        grep -q "<kvmig/$header>" "$src/include/kvmig/kvmig.h" || { echo "kvmig.h does not include $header"; exit 1; }
        ;;
    esac
done
# Newer standards: all of them at once.
write_program kvmig.h "$tmp/t.c" '' ''
each c 'c11 c17' "$tmp/t.c" kvmig.h
write_program kvmig.h "$tmp/t.cc" '' ''
each cc c++17 "$tmp/t.cc" kvmig.h
# Some C++ programs put the includes of C libraries into extern "C" by habit.
write_program kvmig.h "$tmp/t.cc" 'extern "C" {' '}'
each cc 'c++11 c++17' "$tmp/t.cc" kvmig.h
echo "$count compilations of headers alone"
