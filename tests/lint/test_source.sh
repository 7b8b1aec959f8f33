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

sources=$(find src include examples tests -name '*.c' -o -name '*.h' | sort)
for f in $sources; do
    head -n 1 "$f" | grep -q 'SPDX-License-Identifier: ' || complain "$f: no SPDX line"
    lines=$(wc -l <"$f")
    [ "$lines" -le 600 ] || complain "$f: $lines lines (600 at most)"
    awk -v f="$f" '/^\{/ {start = NR} /^\}/ {if (start && NR - start - 1 > 100) {print f ":" start ": a function of " NR - start - 1 " lines (100 at most)"; bad = 1} start = 0} END {exit bad}' "$f" || bad=1
done

# Process-global manners (architecture.md, "Manners").
grep -rnE '\b(virSetErrorFunc|virEventRegister[A-Za-z]*|xmlCleanupParser|curl_global_cleanup|json_c_set_serialization_double_format|signal|sigaction|exit|setlocale|chdir|umask)\(' src &&
    complain "the lines above call something that belongs to the application"
grep -rnE '\b(strcpy|strcat|sprintf|gets|atoi|atol|strtok|localtime|gmtime|strerror|rand|usleep)\(' src &&
    complain "the lines above call an unsafe or thread-unsafe function"
grep -nE '<(libvirt|libxml|json-c|pthread|time|sys/|unistd|curl)' src/plan/*.c src/session/fsm.c src/session/resolver.c src/session/eta.c src/session/outcome.c \
    src/cluster/model.c src/cluster/limits.c 2>/dev/null | grep -v 'src/plan/plan_json.c' &&
    complain "the lines above make a pure file impure"
grep -rnE '\b(TO''DO|FIX''ME|XX''X|HA''CK)\b' src include examples tests docs --include='*.[ch]' --include='*.md' --include='*.sh' --include='*.py' &&
    complain "the lines above look unfinished"
exit $bad
