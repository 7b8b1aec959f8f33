/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a log tells of its own course: where attempts begin, where one succeeded, and whose lines are whose. Errors before a success are
 * over, and errors of other VMs explain nothing. Pure; any thread; marks point into the text.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

#define MAX_MARKS 4096 /* of one text; of more, the last ones count */
#define MAX_LINE 4096

enum kind { BEGIN, SUCCESS, OWNER };

/* libvirt's words in QEMU's log; the daemon at debug level; virsh; KubeVirt; others that drive libvirt or QEMU. */
static const char *const patterns[] = {
    "initiating migration",
    "starting up libvirt version",
    "-name guest=",
    "shutting down, reason=migrated",
    "changed state to setup",
    "changed state to completed",
    "Migration: [100",
    ": Stopped Migrated",
    "Live migration started",
    "Live migration succeeded",
    "reported migration succeeded",
    "VirtualMachineInstance migrated to node",
    "Migration operation has completed",
    "migration finished successfully",
    "starting migration of VM",
};
static const enum kind kinds[] = { BEGIN, BEGIN,   OWNER,   SUCCESS, BEGIN,   SUCCESS, SUCCESS, SUCCESS,
                                   BEGIN, SUCCESS, SUCCESS, SUCCESS, SUCCESS, SUCCESS, BEGIN };

static void take(void *user, size_t pattern, const char *at, const char *after)
{
    struct kvmig__marks *marks = user;

    if (marks->n >= MAX_MARKS) {
        memmove(marks->v, marks->v + MAX_MARKS / 2, MAX_MARKS / 2 * sizeof(*marks->v));
        marks->n = MAX_MARKS / 2;
    }
    *KVMIG__PUSH(marks) =
        (struct kvmig__mark){ .at = kinds[pattern] == OWNER ? after : at, .kind = (uint32_t)kinds[pattern] };
}

struct kvmig__scanner *kvmig__marks_scanner(void)
{
    return kvmig__scanner_new(patterns, KVMIG__N_ELEMENTS(patterns));
}

void kvmig__marks_read(struct kvmig__marks *marks, const struct kvmig__scanner *scanner, const struct kvmig__case *c,
                       const struct kvmig__said *said)
{
    const char *end = said->text + said->length;

    *marks = (struct kvmig__marks){ .n = 0 };
    if (said->of_object)
        return;
    kvmig__scan(scanner, said->text, end, take, marks);
    for (size_t i = 0; i < marks->n; i++) {
        const char *at = marks->v[i].at;

        if (marks->v[i].kind != SUCCESS || kvmig__marks_foreign(marks, c, said, at))
            continue;
        marks->settled = at;
        marks->settled_ms = kvmig__moment_at(said->text, at, end);
    }
}

bool kvmig__marks_attempt(const struct kvmig__marks *marks, const char *from, const char *to)
{
    for (size_t i = 0; i < marks->n; i++)
        if (marks->v[i].kind == BEGIN && marks->v[i].at > from && marks->v[i].at < to)
            return true;
    return false;
}

/* ---- whose line it is ---- */

/* name may be "vm1", "ns1/vm1", or "ns1_vm1", which is what KubeVirt calls the domain. */
static bool is_ours(const struct kvmig__case *c, const char *name)
{
    const char *slash = strchr(c->vm, '/'), *own = slash ? slash + 1 : c->vm;
    const size_t length = strlen(name), own_length = strlen(own);

    if (!strcmp(name, c->vm) || !strcmp(name, own))
        return true;
    if (slash && slash > c->vm && strpbrk(name, "_/")) /* of that namespace, and no other */
        return length == strlen(c->vm) && !strncmp(name, c->vm, (size_t)(slash - c->vm)) &&
               !strcmp(name + (slash - c->vm) + 1, own) && strchr("_/", name[slash - c->vm]);
    if ((c->vmi && kvmig__str_eq(name, c->vmi->meta.uid)) || (c->domain && kvmig__str_eq(name, c->domain->uuid)))
        return true;
    return length > own_length && !strcmp(name + length - own_length, own) &&
           strchr("_/", name[length - own_length - 1]);
}

bool kvmig__case_is_of(const struct kvmig__case *c, const char *domain)
{
    if (!domain || !c->vm || (kvmig__is_uuid(c->vm) && !c->domain && !c->vmi))
        return true;
    return is_ours(c, domain);
}

/* A name of JSON that is not the VM's: of a migration or a pod. */
static bool is_of_other_kind(const char *line, const char *stop)
{
    const char *after;
    char *kind = kvmig__words_find(line, stop, "\"kind\":\"", &after) ? kvmig__words_word(after, stop) : NULL;
    const bool other = kind && strcmp(kind, "VirtualMachineInstance") && strcmp(kind, "Domain");

    free(kind);
    return other;
}

static bool knows_uuid(const struct kvmig__case *c)
{
    return (c->vmi && c->vmi->meta.uid) || (c->domain && c->domain->uuid);
}

/* Words that follow the same prepositions and are no names. */
static bool is_common(const char *word)
{
    static const char *const words[] = { "is",   "has",   "was", "with", "without", "which", "that",
                                         "type", "state", "XML", "job",  "for",     "to",    "in" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(words); i++)
        if (!strcmp(word, words[i]))
            return true;
    return strlen(word) < 2;
}

/* "for domain vm2", "domain 'vm2'", "of domain 0x7f2a4c003b50 vm2". */
static char *name_after(const struct kvmig__case *c, const char *after, const char *end)
{
    char *name = *after == '\'' || *after == '"' ? kvmig__words_quoted(after, end) : kvmig__words_word(after, end);

    if (name && kvmig__str_starts(name, "0x")) {
        const char *next = after + strlen(name) + 1;

        free(name);
        name = next < end ? kvmig__words_word(next, end) : NULL;
    }
    if (name && (is_common(name) || (kvmig__is_uuid(name) && !knows_uuid(c)))) {
        free(name);
        return NULL;
    }
    return name;
}

static bool line_is_foreign(const struct kvmig__case *c, const char *line, const char *stop)
{
    static const char *const names[] = { "for domain ", "of domain ",   "domain '",    "domain=\"", "guest '",
                                         "(VM: name=",  "-name guest=", "\"name\":\"", "for VM ",   "for vmi " };
    bool foreign = false;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(names); i++) {
        const char *after = line;

        if (names[i][0] == '"' && is_of_other_kind(line, stop))
            continue;
        while (kvmig__words_find(after, stop, names[i], &after)) {
            const char *begin = after[-1] == '\'' || after[-1] == '"' ? after - 1 : after;
            char *name = name_after(c, begin, stop);
            const bool ours = name && is_ours(c, name);

            foreign = foreign || name;
            free(name);
            if (ours)
                return false;
        }
    }
    return foreign;
}

bool kvmig__marks_foreign(const struct kvmig__marks *marks, const struct kvmig__case *c, const struct kvmig__said *said,
                          const char *at)
{
    const char *line = at, *stop = at, *end = said->text + said->length;
    const char *owner = NULL;
    bool foreign;
    char *name;

    if (!c->vm || said->of_object)
        return false;
    while (line > said->text && line[-1] != '\n' && at - line < MAX_LINE)
        line--;
    while (stop < end && *stop != '\n' && stop - at < MAX_LINE)
        stop++;
    if (line_is_foreign(c, line, stop))
        return true;
    for (size_t i = 0; i < marks->n && marks->v[i].at <= at; i++)
        if (marks->v[i].kind == OWNER)
            owner = marks->v[i].at;
    name = owner ? kvmig__words_word(owner, end) : NULL;
    foreign = name && !is_ours(c, name);
    free(name);
    return foreign;
}
