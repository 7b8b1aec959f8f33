/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Prints docs/findings.md: the template (docs/findings.md.in) with each line @SECTION@ replaced by the table of that section's
 * codes. `make findings-doc` writes the page; a test fails while it differs. "list" prints the codes, one per line.
 */
#include "base/codes.h"
#include "diagnose/causes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the rows of a section tell beside code and meaning. */
struct columns {
    bool severity, about, evidence;
};

static bool is_of(const struct kvmig__code *row, const char *section)
{
    return !strcmp(kvmig__code_section_name(row->section), section);
}

static struct columns columns_of(const char *section)
{
    struct columns has = { 0 };

    for (size_t i = 0; kvmig__code_at(i); i++) {
        const struct kvmig__code *row = kvmig__code_at(i);

        if (!is_of(row, section))
            continue;
        has.severity = has.severity || row->severities || *row->how_severe;
        has.about = has.about || *row->about;
        has.evidence = has.evidence || *row->evidence;
    }
    return has;
}

static void print_header(const char *section, const struct columns *has)
{
    if (!strcmp(section, "RESOLVER")) {
        printf("| verdict | where the guest is | actions that may be allowed |\n|---|---|---|\n");
        return;
    }
    printf("| code | %s%s%smeaning |\n", has->severity ? "severity | " : "", has->about ? "about | " : "",
           has->evidence ? "evidence | " : "");
    printf("|---|%s%s%s---|\n", has->severity ? "---|" : "", has->about ? "---|" : "", has->evidence ? "---|" : "");
}

/* "a b" as "a, b". */
static void print_words(const char *words)
{
    for (; *words; words++)
        printf("%s%c", *words == ' ' ? "," : "", *words);
    printf(" | ");
}

/* "warn or info", worst first. */
static void print_severities(const struct kvmig__code *row)
{
    size_t n_left = 0;

    if (*row->how_severe) {
        printf("%s", row->how_severe);
        return;
    }
    for (int32_t severity = KVMIG_SEVERITY_INFO; severity <= KVMIG_SEVERITY_BLOCKER; severity++)
        n_left += row->severities >> severity & 1;
    for (int32_t severity = KVMIG_SEVERITY_BLOCKER; severity >= KVMIG_SEVERITY_INFO; severity--) {
        if (!(row->severities >> severity & 1))
            continue;
        n_left--;
        printf("%s%s", kvmig_severity_name(severity), n_left > 1 ? ", " : n_left == 1 ? " or " : "");
    }
}

static void print_row(const struct kvmig__code *row, const struct columns *has)
{
    printf("| `%s` | ", row->code);
    if (has->severity) {
        print_severities(row);
        printf(" | ");
    }
    if (has->about)
        print_words(row->about);
    if (has->evidence)
        print_words(row->evidence);
    printf("%s |\n", row->meaning);
}

static int print_table(const char *section)
{
    const struct columns has = columns_of(section);
    size_t n_rows = 0;

    print_header(section, &has);
    for (size_t i = 0; kvmig__code_at(i); i++) {
        if (!is_of(kvmig__code_at(i), section))
            continue;
        print_row(kvmig__code_at(i), &has);
        n_rows++;
    }
    if (!n_rows)
        fprintf(stderr, "no code is in section %s\n", section);
    return n_rows ? 0 : 1;
}

/* "@NAME@" becomes NAME; other lines NULL. */
static const char *section_of(char *line)
{
    const size_t length = strcspn(line, "\n");

    if (length < 3 || line[0] != '@' || line[length - 1] != '@')
        return NULL;
    line[length - 1] = '\0';
    return line + 1;
}

static int print_page(const char *path)
{
    FILE *template = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    int bad = 0;

    if (!template) {
        perror(path);
        return 1;
    }
    printf("<!-- Printed by tests/unit/print_codes from src/base/codes.def and docs/findings.md.in (make "
           "findings-doc); do not edit. -->\n");
    while (getline(&line, &size, template) >= 0) {
        const char *section = section_of(line);

        if (section)
            bad |= print_table(section);
        else
            printf("%s", line);
    }
    free(line);
    fclose(template);
    return bad;
}

/* ---- docs/troubleshooting.md ---- */

static const struct {
    const char *group, *title;
} chapters[] = {
    { "WHERE", "Where the guest is, and what may be done" },
    { "NODES", "Nodes and scheduling" },
    { "CPU", "CPU, machine type and device state" },
    { "STORAGE", "Storage and volumes" },
    { "REQUEST", "The request" },
    { "NETWORK", "The network port" },
    { "TLS", "TLS" },
    { "PROGRESS", "Progress and convergence" },
    { "LEFTOVERS", "Leftovers, cancels and drains" },
};

/* What the diagnosis means by it, where others say it too; rows of the resolver say what may be done, not what the code means. */
static const char *meaning_of(const char *code, bool *out_known)
{
    const char *meaning = NULL;

    *out_known = false;
    for (size_t i = 0; kvmig__code_at(i); i++) {
        const struct kvmig__code *row = kvmig__code_at(i);
        const bool ours = row->section == KVMIG__CODES_DIAGNOSE || row->section == KVMIG__CODES_DIAGNOSE_VERDICTS;

        if (strcmp(row->code, code) != 0)
            continue;
        *out_known = true;
        if (ours || (!meaning && row->section != KVMIG__CODES_RESOLVER))
            meaning = row->meaning;
    }
    return meaning;
}

static int print_cause(const struct kvmig__cause *cause)
{
    bool known;
    const char *meaning = meaning_of(cause->code, &known);

    printf("### %s\n\n", cause->code);
    if (meaning)
        printf("%c%s.\n\n", toupper((unsigned char)meaning[0]), meaning + 1);
    if (!known)
        fprintf(stderr, "%s is not in codes.def\n", cause->code);
    printf("- **How it shows:** %s.\n- **What to do:** %s\n", cause->signs, cause->steps);
    if (*cause->avoid)
        printf("- **What not to do:** %s\n", cause->avoid);
    printf("\n");
    return known ? 0 : 1;
}

static int print_troubleshooting(void)
{
    int bad = 0;

    printf("<!-- Printed by tests/unit/print_codes from src/diagnose/causes.def (make troubleshooting-doc); do not "
           "edit. -->\n"
           "# Troubleshooting\n\n"
           "`kvmig diagnose` reads what is at hand (objects, logs, statistics, events, rows and observations; see "
           "files.md) and "
           "answers with\none of these codes, its evidence, and what to do. This page says for each how it shows, and "
           "what to do "
           "about it.\n\n");
    for (size_t i = 0; i < sizeof(chapters) / sizeof(chapters[0]); i++) {
        printf("## %s\n\n", chapters[i].title);
        for (size_t k = 0; kvmig__cause_at(k); k++)
            if (!strcmp(kvmig__cause_at(k)->group, chapters[i].group))
                bad |= print_cause(kvmig__cause_at(k));
    }
    return bad;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "list")) {
        for (size_t i = 0; kvmig__code_at(i); i++)
            printf("%s\n", kvmig__code_at(i)->code);
        return 0;
    }
    if (argc == 3 && !strcmp(argv[1], "page"))
        return print_page(argv[2]);
    if (argc == 2 && !strcmp(argv[1], "troubleshooting"))
        return print_troubleshooting();
    fprintf(stderr, "usage: %s list | page TEMPLATE | troubleshooting\n", argv[0]);
    return 2;
}
