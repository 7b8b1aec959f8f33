/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One reading of a host, from top to bottom, and what its parts share. Does: ask for the host itself (versions, node,
 * capabilities) and call the parts in order. Does not: keep time (the host's backend watches the pulse), log (it has no
 * context; remarks are logged later). Runs as a job on the host's lane; all it touches belongs to that job.
 */
#include "libvirt/inventory.h"

#include <libvirt/virterror.h>
#include <stdlib.h>
#include <string.h>

void kvmig__inventory_calls(struct kvmig__inventory *inv, const char *call)
{
    inv->pulse->asks_guest = false;
    inv->pulse->call = call;
    inv->pulse->since_ms = kvmig__now_ms();
}

void kvmig__inventory_asks_guest(struct kvmig__inventory *inv, const char *call)
{
    kvmig__inventory_calls(inv, call);
    inv->pulse->asks_guest = true;
}

void kvmig__inventory_failed(struct kvmig__inventory *inv, const char *call, const char *what)
{
    const int code = virGetLastErrorCode(); /* the question below resets it */
    struct kvmig_error *error = kvmig__virt_error(inv->label, call, NULL);

    if (virConnectIsAlive(inv->conn) != 1 && !inv->error) {
        inv->error = error;
        return;
    }
    if (code == VIR_ERR_NO_SUPPORT) {
        char *remark = kvmig__asprintf("%s: not offered by the driver", call);

        kvmig__strlist_add_new(&inv->remarks, remark);
        free(remark);
    } else {
        char *remark = kvmig__asprintf("%s%s%s", what ? what : "", what ? ": " : "", kvmig_error_message(error));

        kvmig__strlist_add(&inv->remarks, remark);
        free(remark);
    }
    kvmig__error_free(error);
}

void kvmig__inventory_misread(struct kvmig__inventory *inv, const char *what)
{
    char *remark = kvmig__asprintf("%s: %s", what, kvmig_error_message(kvmig_error_last()));

    kvmig__strlist_add(&inv->remarks, remark);
    free(remark);
}

char *kvmig__inventory_where(const struct kvmig__inventory *inv, const char *what)
{
    return kvmig__asprintf("%s: %s", inv->label, what);
}

/* ---- the host itself ---- */

static void read_name(struct kvmig__inventory *inv)
{
    char *name;

    kvmig__inventory_calls(inv, "virConnectGetHostname");
    name = virConnectGetHostname(inv->conn);
    if (!name)
        kvmig__inventory_failed(inv, "virConnectGetHostname", NULL);
    inv->host->name = kvmig__strdup(name);
    free(name);
}

static void read_versions(struct kvmig__inventory *inv)
{
    unsigned long version = 0;

    if (virGetVersion(&version, NULL, NULL) == 0)
        inv->host->client_version = version;
    version = 0;
    kvmig__inventory_calls(inv, "virConnectGetLibVersion");
    if (virConnectGetLibVersion(inv->conn, &version) == 0)
        inv->host->libvirt_version = version;
    else
        kvmig__inventory_failed(inv, "virConnectGetLibVersion", NULL);
    if (inv->error)
        return;
    version = 0;
    kvmig__inventory_calls(inv, "virConnectGetVersion");
    if (virConnectGetVersion(inv->conn, &version) == 0)
        inv->host->qemu_version = version;
    else
        kvmig__inventory_failed(inv, "virConnectGetVersion", NULL);
}

static void read_capabilities(struct kvmig__inventory *inv)
{
    char *xml, *where;

    kvmig__inventory_calls(inv, "virConnectGetCapabilities");
    xml = virConnectGetCapabilities(inv->conn);
    if (!xml) {
        kvmig__inventory_failed(inv, "virConnectGetCapabilities", NULL);
        return;
    }
    kvmig__cache_check(inv->cache, xml);
    where = kvmig__inventory_where(inv, "capabilities");
    if (kvmig__xml_capabilities(xml, where, inv->host) < 0)
        kvmig__inventory_misread(inv, "capabilities");
    free(where);
    free(xml);
}

static void read_node(struct kvmig__inventory *inv)
{
    virNodeInfo info;
    unsigned long long free_memory;

    kvmig__inventory_calls(inv, "virNodeGetInfo");
    if (virNodeGetInfo(inv->conn, &info) == 0) {
        inv->host->memory_total = (uint64_t)info.memory * 1024;
        inv->host->cpus = info.cpus;
        if (!inv->host->arch)
            inv->host->arch = kvmig__strndup(info.model, sizeof(info.model));
    } else {
        kvmig__inventory_failed(inv, "virNodeGetInfo", NULL);
    }
    if (inv->error)
        return;
    kvmig__inventory_calls(inv, "virNodeGetFreeMemory");
    free_memory = virNodeGetFreeMemory(inv->conn);
    if (free_memory)
        inv->host->memory_free = free_memory;
    else
        kvmig__inventory_failed(inv, "virNodeGetFreeMemory", NULL);
}

/* ---- order: libvirt lists in the order of a hash table ---- */

static int compare_names(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_domains(const void *a, const void *b)
{
    return compare_names(((const struct kvmig__domain *)a)->name, ((const struct kvmig__domain *)b)->name);
}

static int compare_networks(const void *a, const void *b)
{
    return compare_names(((const struct kvmig__network *)a)->name, ((const struct kvmig__network *)b)->name);
}

static int compare_pools(const void *a, const void *b)
{
    return compare_names(((const struct kvmig__pool *)a)->name, ((const struct kvmig__pool *)b)->name);
}

static int compare_volumes(const void *a, const void *b)
{
    return compare_names(((const struct kvmig__volume *)a)->name, ((const struct kvmig__volume *)b)->name);
}

#define SORT(list, compare)                                                                                            \
    do {                                                                                                               \
        if ((list).n)                                                                                                  \
            qsort((list).v, (list).n, sizeof(*(list).v), compare);                                                     \
    } while (0)

static void sort_lists(struct kvmig__host *host)
{
    SORT(host->domains, compare_domains);
    SORT(host->networks, compare_networks);
    SORT(host->pools, compare_pools);
    for (size_t i = 0; i < host->pools.n; i++)
        SORT(host->pools.v[i].volumes, compare_volumes);
    kvmig__strlist_sort(&host->bridges);
}

bool kvmig__inventory_run(struct kvmig__inventory *inv)
{
    void (*const parts[])(struct kvmig__inventory *) = {
        read_name,
        read_versions,
        read_capabilities,
        read_node,
        kvmig__inventory_free_pages,
        kvmig__inventory_secrets,
        kvmig__inventory_domains,
        kvmig__inventory_emulators,
        kvmig__inventory_networks,
        kvmig__inventory_storage,
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(parts) && !inv->error; i++)
        parts[i](inv);
    if (inv->error)
        return false;
    sort_lists(inv->host);
    return true;
}
