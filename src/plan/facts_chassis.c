/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Chassis of OVN and hosts, which go by several names: a chassis has a name (often a UUID) and a host name, requested-chassis may use
 * either, and a host name may be short in one place and complete in another. Also what OVN_Southbound says of the target. Pure; any
 * thread.
 */
#include "plan/facts_checks.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */

bool kvmig__host_names_match(const char *a, const char *b)
{
    size_t n = a ? strcspn(a, ".") : 0, m = b ? strcspn(b, ".") : 0;

    if (!a || !b || !*a || !*b)
        return false;
    if (strcasecmp(a, b) == 0)
        return true;
    /* Two complete names are two hosts; an address has no labels. */
    return (!a[n] || !b[m]) && n == m && n > 0 && strncasecmp(a, b, n) == 0 && !isdigit((unsigned char)a[0]);
}

static bool row_is(const struct kvmig__fact_chassis *row, const char *name)
{
    return kvmig__host_names_match(row->name, name) || kvmig__host_names_match(row->hostname, name);
}

/* OVN looks for the name first, then for the host name. */
static const struct kvmig__fact_chassis *row_of(const struct kvmig__facts *facts, const char *chassis)
{
    for (size_t i = 0; i < facts->chassis.n; i++) {
        if (kvmig__str_eq(facts->chassis.v[i].name, chassis))
            return &facts->chassis.v[i];
    }
    for (size_t i = 0; i < facts->chassis.n; i++) {
        if (row_is(&facts->chassis.v[i], chassis))
            return &facts->chassis.v[i];
    }
    return NULL;
}

enum kvmig__same kvmig__same_host(const struct kvmig__wires *wires, const char *chassis, const char *node)
{
    const struct kvmig__fact_chassis *row;

    if (!chassis || !node)
        return KVMIG__SAME_UNKNOWN;
    if (kvmig__host_names_match(chassis, node))
        return KVMIG__SAME_YES;
    row = row_of(wires->facts, chassis);
    if (row && row_is(row, node))
        return KVMIG__SAME_YES;
    if (wires->facts
            ->chassis_known) /* without a row for the node, nobody knows how chassis and nodes belong together */
        return row_of(wires->facts, node) ? KVMIG__SAME_NO : KVMIG__SAME_UNKNOWN;
    return kvmig__is_uuid(chassis) ? KVMIG__SAME_UNKNOWN : KVMIG__SAME_NO;
}

/* ---- what requested-chassis names ---- */

static void add_chassis(const struct kvmig__wires *wires, const char *name, struct kvmig__strlist *out)
{
    for (size_t i = 0; i < out->n; i++) {
        if (kvmig__same_host(wires, out->v[i], name) == KVMIG__SAME_YES)
            return;
    }
    kvmig__strlist_add(out, name);
}

void kvmig__requested_chassis(const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp,
                              struct kvmig__strlist *out)
{
    const char *value = kvmig__fact_get(&lsp->options, "requested-chassis");

    for (const char *p = value; p && *p;) {
        size_t n = strcspn(p, ","), from = strspn(p, " "), to = n;
        char *name;

        while (to > from && p[to - 1] == ' ')
            to--;
        if (to > from) {
            name = kvmig__strndup(p + from, to - from);
            add_chassis(wires, name, out);
            free(name);
        }
        p += n + (p[n] == ',');
    }
}

/* ---- the target's row ---- */

static char *folded(const char *name, size_t n)
{
    char *text = kvmig__strndup(name, n);

    for (char *p = text; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return text;
}

static void add_place(struct kvmig__strlist *list, const char *name, size_t n)
{
    char *text = folded(name, n);

    kvmig__strlist_add(list, text);
    free(text);
}

/* With ten thousand hosts no check of one may go through all rows. */
void kvmig__places_index(struct kvmig__wires *wires)
{
    const struct kvmig__facts *facts = wires->facts;

    for (size_t i = 0; i < facts->chassis.n; i++) {
        const char *name = facts->chassis.v[i].name, *host = facts->chassis.v[i].hostname;

        if (name)
            add_place(&wires->places, name, strlen(name));
        if (host && strcspn(host, ".") < strlen(host))
            add_place(&wires->places, host, strcspn(host, "."));
        if (host && !kvmig__str_eq(name, host))
            add_place(&wires->places, host, strlen(host));
    }
    kvmig__strlist_sort(&wires->places);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_place(const struct kvmig__wires *wires, const char *name, size_t n)
{
    char *text = folded(name, n);
    bool found = wires->places.n && bsearch(&text, wires->places.v, wires->places.n, sizeof(*wires->places.v), compare);

    free(text);
    return found;
}

static bool has_row(const struct kvmig__wires *wires, const char *node)
{
    return node && (is_place(wires, node, strlen(node)) ||
                    (!isdigit((unsigned char)node[0]) && is_place(wires, node, strcspn(node, "."))));
}

/* Rows of that host name; a chassis whose name it is comes before them. */
static void check_twice(const struct kvmig__wires *wires, const char *node, struct kvmig_findings *out)
{
    struct kvmig__strlist names = { 0 };
    struct kvmig__detail d = { 0 };
    bool named = false;

    for (size_t i = 0; i < wires->facts->chassis.n; i++) {
        const struct kvmig__fact_chassis *row = &wires->facts->chassis.v[i];

        named = named || kvmig__str_eq(row->name, node);
        if (row->name && row->hostname && strcasecmp(row->hostname, node) == 0)
            kvmig__strlist_add_new(&names, row->name);
    }
    if (names.n > 1 && !named) {
        kvmig__detail_str(&d, "hostname", node);
        kvmig__detail_list(&d, "chassis", &names);
        kvmig__wires_note(
            out, node, "CHASSIS_HOSTNAME_AMBIGUOUS", KVMIG_SEVERITY_WARN, kvmig__asprintf("node/%s", node), &d,
            "Delete the rows of chassis that are gone (ovn-sbctl chassis-del).",
            "%zu chassis have the host name %s; OVN may give the port to one that is not there.", names.n, node);
    }
    kvmig__strlist_clear(&names);
}

void kvmig__check_chassis(const struct kvmig__wires *wires, const char *target, struct kvmig_findings *out)
{
    struct kvmig__detail d = { 0 };

    if (!target || !wires->facts->chassis_known || !wires->ports.n)
        return;
    if (has_row(wires, target)) {
        check_twice(wires, target, out);
        return;
    }
    if (!has_row(wires, wires->source)) /* the rows go by names that are not those of the hosts */
        return;
    kvmig__detail_str(&d, "target", target);
    kvmig__detail_uint(&d, "chassis_known", wires->facts->chassis.n);
    kvmig__detail_str(&d, "port", wires->ports.v[0]->name);
    kvmig__wires_note(out, target, "TARGET_CHASSIS_MISSING", KVMIG_SEVERITY_BLOCKER, kvmig__asprintf("node/%s", target),
                      &d, "Look at ovn-controller on that host: it registers the chassis.",
                      "OVN has no chassis for %s, so the VM's port cannot follow and the guest would be cut off.",
                      target);
}
