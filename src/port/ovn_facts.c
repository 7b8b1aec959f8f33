/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The facts of an OVN port as plain data: setting them free, and asking them by what they denote instead of by
 * spelling. Does not gather them (ovn_port.c does) and decides nothing. Pure; any thread; a struct belongs to
 * whoever filled it.
 */
#include "port/ovn_machine.h"

#include <stdlib.h>
#include <string.h>

static void iface_clear(struct kvmig__ovn_iface *iface)
{
    free(iface->uuid);
    free(iface->name);
    free(iface->error);
    free(iface->installed_ts);
}

static void lsp_clear(struct kvmig__ovn_lsp *lsp)
{
    char *strings[] = { lsp->uuid,  lsp->name,     lsp->requested_chassis, lsp->activation_strategy,
                        lsp->owner, lsp->previous, lsp->chassis,           lsp->requested };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(strings); i++)
        free(strings[i]);
    kvmig__strlist_clear(&lsp->additional);
    kvmig__strlist_clear(&lsp->requested_additional);
    kvmig__strlist_clear(&lsp->activated);
    iface_clear(&lsp->at_source);
    iface_clear(&lsp->at_target);
}

void kvmig__ovn_facts_clear(struct kvmig__ovn_facts *facts)
{
    for (size_t i = 0; i < facts->lsps.n; i++)
        lsp_clear(&facts->lsps.v[i]);
    for (size_t i = 0; i < facts->chassis.n; i++) {
        free(facts->chassis.v[i].name);
        free(facts->chassis.v[i].hostname);
    }
    free(facts->lsps.v);
    free(facts->chassis.v);
    free(facts->ovn_version);
    free(facts->nb.trouble);
    free(facts->sb.trouble);
    free(facts->ovs_source.trouble);
    free(facts->ovs_target.trouble);
    *facts = (struct kvmig__ovn_facts){ 0 };
}

/* ---- what they denote ---- */

const char *kvmig__ovn_chassis_name(const struct kvmig__ovn_facts *facts, const char *name_or_host)
{
    const struct kvmig__ovn_chassis *chassis = name_or_host ? kvmig__ovn_chassis_find(facts, name_or_host, NULL) : NULL;

    return chassis ? chassis->name : NULL;
}

bool kvmig__ovn_same_chassis(const struct kvmig__ovn_facts *facts, const char *a, const char *b)
{
    const char *name;

    if (!a || !b)
        return false;
    if (strcmp(a, b) == 0)
        return true;
    name = kvmig__ovn_chassis_name(facts, a);
    return name && kvmig__str_eq(name, kvmig__ovn_chassis_name(facts, b));
}

/* As OVN takes it apart: at commas, without empty pieces, blanks kept. */
void kvmig__ovn_list_split(const char *text, struct kvmig__strlist *out_list)
{
    for (const char *p = text; p && *p;) {
        size_t n = strcspn(p, ",");

        if (n) {
            char *token = kvmig__strndup(p, n);

            kvmig__strlist_add(out_list, token);
            free(token);
        }
        p += n + (p[n] == ',');
    }
}

struct kvmig__ovn_pin kvmig__ovn_pin_of(const struct kvmig__ovn_facts *facts, const struct kvmig__ovn_lsp *lsp,
                                        const char *main, const char *additional)
{
    struct kvmig__strlist list = { 0 };
    struct kvmig__ovn_pin pin = { 0 };

    kvmig__ovn_list_split(lsp->requested_chassis, &list);
    pin.n = list.n;
    pin.main = list.n > 0 && kvmig__ovn_same_chassis(facts, list.v[0], main);
    for (size_t i = 1; i < list.n; i++)
        pin.additional |= kvmig__ovn_same_chassis(facts, list.v[i], additional);
    pin.is_alone = pin.n == 1 && pin.main;
    pin.is_pair = pin.n == 2 && pin.main && pin.additional;
    kvmig__strlist_clear(&list);
    return pin;
}

bool kvmig__ovn_iface_is_ready(const struct kvmig__ovn_iface *iface)
{
    return iface->rows == 1 && iface->ofport > 0 && iface->installed && iface->installed_ts;
}

bool kvmig__ovn_is_current(const struct kvmig__ovn_source *source)
{
    return source->used && source->current;
}

const struct kvmig__ovn_lsp *kvmig__ovn_lsp_by_uuid(const struct kvmig__ovn_facts *facts, const char *uuid)
{
    for (size_t i = 0; i < facts->lsps.n; i++)
        if (kvmig__str_eq(facts->lsps.v[i].uuid, uuid))
            return &facts->lsps.v[i];
    return NULL;
}

const struct kvmig__ovn_lsp *kvmig__ovn_lsp_by_name(const struct kvmig__ovn_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->lsps.n; i++)
        if (kvmig__str_eq(facts->lsps.v[i].name, name))
            return &facts->lsps.v[i];
    return NULL;
}
