/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading what a host has for guests beside devices: how many huge pages are free, per NUMA cell, and which secrets it
 * keeps (which, never their values). Both change at any time and cost little, so they are asked at each reading. Runs on the
 * host's lane.
 */
#include "libvirt/inventory.h"

#include <libvirt/virterror.h>
#include <stdlib.h>

/* ---- free pages ---- */

/* More sizes than any architecture has. */
#define MAX_SIZES 16

/* Hosts that keep no pages of a size have none free. Returns how many sizes are worth a question. */
static size_t sizes_to_ask(struct kvmig__numa_cell *cell, unsigned int *sizes, struct kvmig__pages **pages)
{
    size_t n = 0;

    for (size_t i = 0; i < cell->pages.n && n < MAX_SIZES; i++) {
        struct kvmig__pages *p = &cell->pages.v[i];

        if (p->total == 0)
            p->free = 0;
        else if (p->size / 1024 <= UINT32_MAX) {
            sizes[n] = (unsigned int)(p->size / 1024);
            pages[n++] = p;
        }
    }
    return n;
}

/* false: no more questions. */
static bool read_cell(struct kvmig__inventory *inv, struct kvmig__numa_cell *cell)
{
    unsigned int sizes[MAX_SIZES];
    unsigned long long counts[MAX_SIZES];
    struct kvmig__pages *pages[MAX_SIZES];
    const size_t n = sizes_to_ask(cell, sizes, pages);

    if (!n)
        return true;
    kvmig__inventory_calls(inv, "virNodeGetFreePages");
    for (size_t i = 0; i < n; i++)
        counts[i] = KVMIG__UNKNOWN; /* some drivers do not say how many they filled in */
    if (virNodeGetFreePages(inv->conn, (unsigned int)n, sizes, (int)cell->id, 1, counts, 0) < 0) {
        kvmig__inventory_failed(inv, "virNodeGetFreePages", NULL);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        pages[i]->free = counts[i];
    return true;
}

void kvmig__inventory_free_pages(struct kvmig__inventory *inv)
{
    for (size_t i = 0; i < inv->host->cells.n; i++)
        if (!read_cell(inv, &inv->host->cells.v[i]))
            return;
}

/* ---- secrets ---- */

static const char *usage_type_name(int type)
{
    static const char *const names[] = {
        [VIR_SECRET_USAGE_TYPE_VOLUME] = "volume", [VIR_SECRET_USAGE_TYPE_CEPH] = "ceph",
        [VIR_SECRET_USAGE_TYPE_ISCSI] = "iscsi",   [VIR_SECRET_USAGE_TYPE_TLS] = "tls",
        [VIR_SECRET_USAGE_TYPE_VTPM] = "vtpm",
    };

    return type >= 0 && (size_t)type < KVMIG__N_ELEMENTS(names) ? names[type] : NULL;
}

void kvmig__inventory_secrets(struct kvmig__inventory *inv)
{
    virSecretPtr *handles = NULL;
    int n;

    kvmig__inventory_calls(inv, "virConnectListAllSecrets");
    n = virConnectListAllSecrets(inv->conn, &handles, 0);
    if (n < 0) {
        kvmig__inventory_failed(inv, "virConnectListAllSecrets", NULL);
        return;
    }
    for (int i = 0; i < n; i++) {
        char uuid[VIR_UUID_STRING_BUFLEN];
        struct kvmig__secret *secret = KVMIG__PUSH(&inv->host->secrets);

        if (virSecretGetUUIDString(handles[i], uuid) == 0)
            secret->uuid = kvmig__strdup(uuid);
        secret->usage_type = kvmig__strdup(usage_type_name(virSecretGetUsageType(handles[i])));
        secret->usage = kvmig__strdup(virSecretGetUsageID(handles[i]));
        virSecretFree(handles[i]);
    }
    free(handles);
    inv->host->secrets_known = true;
}
