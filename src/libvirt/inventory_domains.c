/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading a host's domains. Does: state, job, XML, snapshots, sizes of images, block jobs. Does not: wait for a busy guest:
 * calls that take the job lock or talk to QEMU are made only while nobody else is in QEMU's monitor and no migration runs.
 * A domain that is just coming in by a migration is asked for nothing but its state (some libvirt versions let even the XML
 * wait); its XML, if it was read before, comes from the cache. A domain that vanishes meanwhile is left out. Runs on the
 * host's lane.
 */
#include "libvirt/inventory.h"
#include "libvirt/side.h"

#include <libvirt/virterror.h>
#include <stdlib.h>

/* What a domain is found to be, before its XML is read. */
struct found {
    const char *name;
    char uuid[VIR_UUID_STRING_BUFLEN];
    int state, reason; /* libvirt's */
    bool persistent, active, incoming;
    struct kvmig__virt_job job;
};

static bool is_paused(const struct found *found, int reason)
{
    return found->state == VIR_DOMAIN_PAUSED && found->reason == reason;
}

/* A source that a migration has left paused looks the same but for its job; if that is not known, nothing is tried. */
static bool is_incoming(const struct found *found)
{
    return found->job.migrating_in || is_paused(found, VIR_DOMAIN_PAUSED_STARTING_UP) ||
           (is_paused(found, VIR_DOMAIN_PAUSED_MIGRATION) && !found->job.known);
}

static void read_job(struct kvmig__inventory *inv, virDomainPtr handle, struct found *found)
{
    if (!found->active)
        return;
    if (is_paused(found, VIR_DOMAIN_PAUSED_STARTING_UP)) {
        found->job.active = true; /* being started, by a migration or not: the question would wait for the end of it */
        return;
    }
    kvmig__inventory_asks_guest(inv, "virDomainGetJobStats");
    kvmig__virt_read_job(handle, &found->job);
}

/* false: it is gone, or the connection is. */
static bool read_state(struct kvmig__inventory *inv, virDomainPtr handle, struct found *found)
{
    int persistent;

    found->name = virDomainGetName(handle);
    if (!found->name || virDomainGetUUIDString(handle, found->uuid) < 0)
        return false;
    kvmig__inventory_calls(inv, "virDomainGetState");
    if (virDomainGetState(handle, &found->state, &found->reason, 0) < 0) {
        kvmig__inventory_failed(inv, "virDomainGetState", found->name);
        return false;
    }
    kvmig__inventory_calls(inv, "virDomainIsPersistent");
    persistent = virDomainIsPersistent(handle);
    if (persistent < 0) {
        kvmig__inventory_failed(inv, "virDomainIsPersistent", found->name);
        return false;
    }
    found->persistent = persistent == 1;
    found->active = found->state != VIR_DOMAIN_SHUTOFF;
    read_job(inv, handle, found);
    found->incoming = is_incoming(found);
    return true;
}

/* ---- XML ---- */

static char *ask_for_xml(struct kvmig__inventory *inv, virDomainPtr handle, const struct found *found)
{
    const struct kvmig__cache_entry *kept = kvmig__cache_get(&inv->cache->domains, found->uuid);
    char *xml;

    if (found->incoming)
        return kept ? kvmig__strdup(kept->value) : NULL;
    kvmig__inventory_calls(inv, "virDomainGetXMLDesc");
    /* As it is now: what libvirt would send to a target lacks backing images, tap devices, and CPU features that QEMU added. */
    xml = virDomainGetXMLDesc(handle, 0);
    if (!xml) {
        kvmig__inventory_failed(inv, "virDomainGetXMLDesc", found->name);
        return NULL;
    }
    kvmig__cache_put(&inv->cache->domains, found->uuid, xml);
    return xml;
}

static void read_xml(struct kvmig__inventory *inv, virDomainPtr handle, const struct found *found,
                     struct kvmig__domain *domain)
{
    char *xml = ask_for_xml(inv, handle, found), *where;

    if (!xml)
        return;
    where = kvmig__asprintf("%s: domain %s", inv->label, found->name);
    if (kvmig__xml_domain(xml, where, domain) < 0)
        kvmig__inventory_misread(inv, found->name);
    free(where);
    free(xml);
}

/* ---- numbers ---- */

static uint32_t count_or_zero(struct kvmig__inventory *inv, const char *call, const char *name, int n)
{
    if (n < 0)
        kvmig__inventory_failed(inv, call, name);
    return n < 0 ? 0 : (uint32_t)n;
}

static void read_counts(struct kvmig__inventory *inv, virDomainPtr handle, struct kvmig__domain *domain)
{
    kvmig__inventory_calls(inv, "virDomainSnapshotNum");
    domain->snapshots = count_or_zero(inv, "virDomainSnapshotNum", domain->name, virDomainSnapshotNum(handle, 0));
    if (inv->error)
        return;
    kvmig__inventory_calls(inv, "virDomainListAllCheckpoints");
    domain->checkpoints =
        count_or_zero(inv, "virDomainListAllCheckpoints", domain->name, virDomainListAllCheckpoints(handle, NULL, 0));
}

/* false: the guest got busy; leave its other disks alone too. */
static bool disk_failed(struct kvmig__inventory *inv, const char *call, const char *target)
{
    const bool busy = virGetLastErrorCode() == VIR_ERR_OPERATION_TIMEOUT;

    kvmig__inventory_failed(inv, call, target);
    return !busy && !inv->error;
}

static bool read_disk(struct kvmig__inventory *inv, virDomainPtr handle, struct kvmig__disk *disk)
{
    virDomainBlockInfo info;
    virDomainBlockJobInfo job;
    int found;

    kvmig__inventory_asks_guest(inv, "virDomainGetBlockInfo");
    if (virDomainGetBlockInfo(handle, disk->target, &info, 0) < 0)
        return disk_failed(inv, "virDomainGetBlockInfo", disk->target);
    disk->capacity = info.capacity;
    disk->allocation = info.allocation;
    disk->physical = info.physical;
    if (disk->source.capacity == KVMIG__UNKNOWN)
        disk->source.capacity = info.capacity;
    kvmig__inventory_asks_guest(inv, "virDomainGetBlockJobInfo");
    found = virDomainGetBlockJobInfo(handle, disk->target, &job, 0);
    if (found < 0)
        return disk_failed(inv, "virDomainGetBlockJobInfo", disk->target);
    disk->job_active = found == 1;
    return true;
}

static void read_disks(struct kvmig__inventory *inv, virDomainPtr handle, struct kvmig__domain *domain)
{
    for (size_t i = 0; i < domain->disks.n; i++)
        if (domain->disks.v[i].has_source && domain->disks.v[i].target && !read_disk(inv, handle, &domain->disks.v[i]))
            return;
}

/* ---- one domain ---- */

static void read_domain(struct kvmig__inventory *inv, virDomainPtr handle)
{
    struct found found = { .name = NULL };
    struct kvmig__domain domain = { .cpu = { .migratable = -1 } };

    if (!read_state(inv, handle, &found))
        return;
    read_xml(inv, handle, &found, &domain);
    kvmig__str_set(&domain.name, found.name);
    kvmig__str_set(&domain.uuid, found.uuid);
    domain.state = kvmig__virt_domain_state(found.state);
    domain.reason = kvmig__virt_domain_reason(found.state, found.reason);
    domain.persistent = found.persistent;
    domain.job_active = found.job.active;
    domain.migrating_out = found.job.migrating_out;
    domain.migrating_in = found.job.migrating_in;
    if (!inv->error && !found.incoming)
        read_counts(inv, handle, &domain);
    if (!inv->error && found.active && !found.incoming && !inv->spare_guests && found.job.monitor_free &&
        !found.job.active)
        read_disks(inv, handle, &domain);
    *KVMIG__PUSH(&inv->host->domains) = domain;
}

void kvmig__inventory_domains(struct kvmig__inventory *inv)
{
    virDomainPtr *handles = NULL;
    int n;

    kvmig__inventory_calls(inv, "virConnectListAllDomains");
    n = virConnectListAllDomains(inv->conn, &handles, 0);
    if (n < 0) {
        kvmig__inventory_failed(inv, "virConnectListAllDomains", NULL);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (!inv->error)
            read_domain(inv, handles[i]);
        virDomainFree(handles[i]);
    }
    free(handles);
    inv->host->domains_known = true;
}
