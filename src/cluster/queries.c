/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The set of questions about emulators that a view's guests raise. Does: build and compare sets. Does not: ask. Pure; any
 * thread. A set owns its strings.
 */
#include "cluster/queries.h"

#include <stdlib.h>

static bool query_eq(const struct kvmig__query *a, const struct kvmig__query *b)
{
    return kvmig__str_eq(a->emulator, b->emulator) && kvmig__str_eq(a->arch, b->arch) &&
           kvmig__str_eq(a->machine, b->machine) && kvmig__str_eq(a->virt_type, b->virt_type);
}

bool kvmig__queries_has(const struct kvmig__queries *list, const struct kvmig__query *query)
{
    for (size_t i = 0; i < list->n; i++)
        if (query_eq(&list->v[i], query))
            return true;
    return false;
}

bool kvmig__queries_add(struct kvmig__queries *list, const struct kvmig__query *query)
{
    if (kvmig__queries_has(list, query))
        return false;
    *KVMIG__PUSH(list) = (struct kvmig__query){ kvmig__strdup(query->emulator), kvmig__strdup(query->arch),
                                                kvmig__strdup(query->machine), kvmig__strdup(query->virt_type) };
    return true;
}

void kvmig__queries_add_domains(struct kvmig__queries *list, const struct kvmig__host *host)
{
    for (size_t i = 0; i < host->domains.n; i++) {
        const struct kvmig__domain *domain = &host->domains.v[i];

        if (domain->state == KVMIG__STATE_SHUTOFF || !domain->arch || !domain->virt_type)
            continue;
        kvmig__queries_add(
            list, &(struct kvmig__query){ domain->emulator, domain->arch, domain->machine, domain->virt_type });
    }
}

void kvmig__queries_copy(struct kvmig__queries *dst, const struct kvmig__queries *src)
{
    *dst = (struct kvmig__queries){ NULL, 0 };
    for (size_t i = 0; i < src->n; i++)
        kvmig__queries_add(dst, &src->v[i]);
}

void kvmig__queries_clear(struct kvmig__queries *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->v[i].emulator);
        free(list->v[i].arch);
        free(list->v[i].machine);
        free(list->v[i].virt_type);
    }
    free(list->v);
    *list = (struct kvmig__queries){ NULL, 0 };
}
