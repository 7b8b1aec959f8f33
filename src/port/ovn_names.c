/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of chassis: whether they can be meant, and in which of their two forms (chassis name or host name) they are
 * written. OVN skips an unknown name and does not trim blanks, which would make the target the main chassis at
 * once: so every name is checked before anything is written. Pure.
 */
#include "port/ovn_machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kvmig_error *kvmig__ovn_check_spelling(const struct kvmig__ovn_machine *m, const char *chassis, const char *role)
{
    if (!chassis || !*chassis)
        return kvmig__error_new(-EINVAL, m->name, NULL, "give the name or the host name of the chassis",
                                "the %s has no name", role);
    if (strpbrk(chassis, ", \t\r\n\v\f"))
        return kvmig__error_new(
            -EINVAL, m->name, chassis, "give one name, without blanks and commas",
            "\"%s\" cannot be the name of the %s: OVN would take it for several chassis or for none", chassis, role);
    return NULL;
}

static char *known_chassis(const struct kvmig__ovn_facts *facts)
{
    struct kvmig__strlist names = { 0 };
    char *text;

    for (size_t i = 0; i < facts->chassis.n; i++) {
        const struct kvmig__ovn_chassis *c = &facts->chassis.v[i];
        char *name = c->hostname && *c->hostname && !kvmig__str_eq(c->hostname, c->name)
                         ? kvmig__asprintf("%s (host %s)", c->name, c->hostname)
                         : kvmig__strdup(c->name);

        kvmig__strlist_add(&names, name);
        free(name);
    }
    kvmig__strlist_sort(&names);
    text = names.n ? kvmig__strlist_join(&names, ", ") : kvmig__strdup("none");
    kvmig__strlist_clear(&names);
    return text;
}

struct kvmig_error *kvmig__ovn_check_known(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                           const char *chassis)
{
    bool ambiguous = false;
    struct kvmig_error *error = kvmig__ovn_check_spelling(m, chassis, "chassis");
    char *known;

    if (error || !facts->sb.used)
        return error;
    if (kvmig__ovn_chassis_find(facts, chassis, &ambiguous) && !ambiguous)
        return NULL;
    known = known_chassis(facts);
    if (ambiguous)
        error = kvmig__error_new(-KVMIG_EAMBIGUOUS, m->name, known, "give the chassis' own name (system-id)",
                                 "several chassis have the host name %s", chassis);
    else
        error =
            kvmig__error_new(-KVMIG_ENOHOST, m->name, known,
                             "check the name, and that ovn-controller runs there and reaches the southbound database",
                             "the southbound database knows no chassis %s; it knows: %s", chassis, known);
    free(known);
    return error;
}

struct kvmig_error *kvmig__ovn_check_pair(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    struct kvmig_error *error = kvmig__ovn_check_spelling(m, m->source, "source");

    if (!error)
        error = kvmig__ovn_check_spelling(m, m->target, "target");
    if (!error && kvmig__ovn_same_chassis(facts, m->source, m->target))
        error = kvmig__error_new(-EINVAL, m->name, m->source, "give two chassis",
                                 "%s and %s are one and the same chassis", m->source, m->target);
    return error;
}

char *kvmig__ovn_source_form(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                             const struct kvmig__ovn_lsp *lsp)
{
    struct kvmig__strlist list = { 0 };
    char *form;

    kvmig__ovn_list_split(lsp->requested_chassis, &list);
    form = kvmig__strdup(list.n && kvmig__ovn_same_chassis(facts, list.v[0], m->source) ? list.v[0] : m->source);
    kvmig__strlist_clear(&list);
    return form;
}

char *kvmig__ovn_target_form(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                             const char *source_form)
{
    const struct kvmig__ovn_chassis *source = kvmig__ovn_chassis_find(facts, source_form, NULL);
    const struct kvmig__ovn_chassis *target = kvmig__ovn_chassis_find(facts, m->target, NULL);
    bool by_name, ambiguous;

    if (!source || !target)
        return kvmig__strdup(m->target);
    by_name = kvmig__str_eq(source->name, source_form);
    /* The host name only if OVN would find this chassis by it. */
    if (!by_name && target->hostname && *target->hostname && !strpbrk(target->hostname, ", \t\r\n") &&
        kvmig__ovn_chassis_find(facts, target->hostname, &ambiguous) == target && !ambiguous)
        return kvmig__strdup(target->hostname);
    return kvmig__strdup(target->name);
}
