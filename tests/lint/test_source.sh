#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# House rules that a compiler does not know: length of files and functions, licence lines, calls that do not belong into an
# embeddable library, purity of the pure parts, and no unfinished work.
set -eu
src=${top_srcdir:-.}
cd "$src"
bad=0
complain() {
    echo "$*"
    bad=1
}

# Every file that is written in a language with comments says its licence before anything else but the line for the kernel:
# MIT-0 for what people are to copy, the library's for the rest.
licensed() { # in the checkout or the archive: not what is built or only data
    find . -type d \( -name .git -o -name 'build*' -o -name _build -o -name _inst -o -name m4 -o -name autom4te.cache -o -name '*.cache' -o -name fixtures -o -name corpus \
        -o -name .libs -o -name .deps -o -name __pycache__ \) -prune -o -type f -print | sed 's,^\./,,' | sort | while read -r f; do
        case ${f##*/} in
        *.c | *.h | *.py | *.sh | *.inc | *.map | *.pc.in | *.dict | Makefile.am | configure.ac) echo "$f" ;;
        *.* | configure | configure~ | libtool) ;;
        *) head -n 1 "$f" | grep -q '^#!' && ! head -n 4 "$f" | grep -q 'temporary wrapper script' && echo "$f" ;;
        esac
    done
}
for f in $(licensed); do
    case $f in
    examples/*) licence=MIT-0 ;;
    *) licence=LGPL-2.1-or-later ;;
    esac
    awk -v want="SPDX-License-Identifier: $licence" 'NR == 1 && /^#!/ {next} {exit index($0, want) == 0}' "$f" ||
        complain "$f: does not begin with SPDX-License-Identifier: $licence"
done

sources=$(find src include examples tests -name '*.c' -o -name '*.h' | sort)
for f in $sources; do
    lines=$(wc -l <"$f")
    [ "$lines" -le 600 ] || complain "$f: $lines lines (600 at most)"
    awk -v f="$f" '/^\{/ {start = NR} /^\}/ {if (start && NR - start - 1 > 100) {print f ":" start ": a function of " NR - start - 1 " lines (100 at most)"; bad = 1} start = 0} END {exit bad}' "$f" || bad=1
done

# Examples show what a program of somebody else can do.
grep -rn '#include "' examples | grep -vE '#include "(tool|bundle).h"' && complain "the lines above include what is not public"

# Process-global manners (architecture.md, "Manners").
grep -rnE '\b(virSetErrorFunc|virEventRegister[A-Za-z]*|xmlCleanupParser|curl_global_cleanup|json_c_set_serialization_double_format|signal|sigaction|exit|setlocale|chdir|umask)\(' src | grep -v '^src/kubernetes/access_run.c:.*sigaction(i' && # in a forked child
    complain "the lines above call something that belongs to the application"
grep -rnE '\b(strcpy|strcat|sprintf|gets|atoi|atol|strtok|localtime|gmtime|strerror|rand|usleep)\(' src &&
    complain "the lines above call an unsafe or thread-unsafe function"
# The machine of an OVN port; the rest of it is the driver.
pure_port=$(ls src/port/ovn_*.c src/port/ovn*.h | grep -vE 'ovn_(databases|findings|gather|json|port|transact)\.')
grep -nE '<(libvirt|libxml|json-c|pthread|time|sys/|unistd|curl)' src/plan/*.c src/diagnose/*.c src/session/fsm.c src/session/resolver.c src/session/witness.c src/session/eta.c src/session/outcome.c \
    src/cluster/model.c src/cluster/kube*.c src/kubernetes/follow*.c src/session/explain_kube*.c src/session/explain_object.c src/cluster/limits.c src/port/interface_class.c $pure_port src/probe/probe_stats.c src/probe/http_status.c 2>/dev/null | grep -vE 'src/(plan/(plan|drain|cpu_common)|diagnose/diagnosis)_json.c' &&
    complain "the lines above make a pure file impure"
grep -rnE '\b(TO''DO|FIX''ME|XX''X|HA''CK)\b' src include examples tests docs --include='*.[ch]' --include='*.md' --include='*.sh' --include='*.py' &&
    complain "the lines above look unfinished"
exit $bad
