/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The target as a host: reachable, another machine than the source, free of the VM's name and UUID, new enough, large
 * enough. Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

/* ---- reachability and identity ---- */

static void check_reachable(const struct kvmig__check *c)
{
    const struct kvmig__host *target = c->target;
    const char *evidence = target->lost_error ? kvmig_error_message(target->lost_error) : NULL;
    struct kvmig__detail d = { 0 };

    if (target->state == KVMIG__HOST_UP)
        return;
    kvmig__detail_str(&d, "uri", target->uri);
    kvmig__detail_str(&d, "error", evidence);
    kvmig__note(c, "TARGET_UNREACHABLE", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(target), &d,
                "Check that libvirt runs there and that the URI and its credentials are right.", "%s %s%s%s.",
                target->name, target->state == KVMIG__HOST_LOST ? "does not answer" : "has not been read yet",
                evidence ? ": " : "", evidence ? evidence : "");
}

static void check_other_host(const struct kvmig__check *c)
{
    struct kvmig__detail d = { 0 };

    if (!c->source->uuid || !c->target->uuid || strcasecmp(c->source->uuid, c->target->uuid) != 0)
        return;
    kvmig__detail_str(&d, "uuid", c->target->uuid);
    kvmig__note(c, "DUPLICATE_HOST_UUID", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                "Give each host its own host_uuid in libvirtd.conf (or virtqemud.conf) and restart the daemon.",
                "Source and target report the same host UUID %s, so libvirt takes this for a migration to itself.",
                c->target->uuid);
}

static void note_conflict(const struct kvmig__check *c, const struct kvmig__domain *other, const char *what,
                          const char *value)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "name", other->name);
    kvmig__detail_str(&d, "uuid", other->uuid);
    kvmig__detail_str(&d, "state", kvmig__domain_state_name(other->state));
    kvmig__note(c, "DOMAIN_EXISTS_ON_TARGET", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                other->state == KVMIG__STATE_SHUTOFF
                    ? "Undefine it there if it is a leftover (keep its disks), or give target_name for another name."
                    : "Find out which of the two is the right one (kvmig_location) before anything else is done.",
                "The target already has a domain of this %s (%s), which is %s.", what, value,
                kvmig__domain_state_name(other->state));
}

/* The same VM, stopped: libvirt replaces such a definition (and puts the old one back if the migration fails). */
static bool is_own_definition(const struct kvmig__check *c, const struct kvmig__domain *other, const char *name)
{
    return other->state == KVMIG__STATE_SHUTOFF && other->uuid && c->domain->uuid &&
           strcasecmp(other->uuid, c->domain->uuid) == 0 && kvmig__str_eq(other->name, name);
}

static void note_replaced(const struct kvmig__check *c, const struct kvmig__domain *other)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "name", other->name);
    kvmig__detail_str(&d, "uuid", other->uuid);
    kvmig__note(
        c, "DEFINITION_REPLACED_ON_TARGET", KVMIG_SEVERITY_WARN, kvmig__object_node(c->target), &d,
        "Nothing to do if it is left from an earlier migration; otherwise save it first (virsh dumpxml --inactive).",
        "The target has a stopped definition of this VM; the migration replaces it.");
}

static void check_conflicts(const struct kvmig__check *c)
{
    const char *name = c->request->target_name ? c->request->target_name : c->domain->name;

    for (size_t i = 0; i < c->target->domains.n; i++) {
        const struct kvmig__domain *other = &c->target->domains.v[i];

        if (is_own_definition(c, other, name))
            note_replaced(c, other);
        else if (other->uuid && c->domain->uuid && strcasecmp(other->uuid, c->domain->uuid) == 0)
            note_conflict(c, other, "UUID", other->uuid);
        else if (kvmig__str_eq(other->name, name))
            note_conflict(c, other, "name", name);
    }
}

/* ---- versions: only major and minor decide what a guest sees ---- */

static void check_versions(const struct kvmig__check *c)
{
    uint64_t sq = kvmig__qemu_of(c, c->source), tq = kvmig__qemu_of(c, c->target);
    uint64_t sl = kvmig__libvirt_of(c, c->source), tl = kvmig__libvirt_of(c, c->target);
    char *have, *need;
    struct kvmig__detail d = { 0 };

    if (sq && tq && tq / 1000 < sq / 1000) {
        bool versioned = kvmig__machine_has_version(c->domain->machine);

        kvmig__detail_version(&d, "source", sq);
        kvmig__detail_version(&d, "target", tq);
        have = kvmig__version_text(tq);
        need = kvmig__version_text(sq);
        kvmig__note(
            c, "QEMU_OLDER", versioned ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target),
            &d, "Upgrade QEMU on the target, or choose a host with the same or a newer one.",
            versioned
                ? "QEMU on the target (%s) is older than on the source (%s); with a versioned machine type it often "
                  "reads the state of a newer one, but QEMU does not promise that."
                : "QEMU on the target (%s) is older than on the source (%s), and without a machine type that names "
                  "a version the guest's hardware is that of the newer one.",
            have, need);
        free(have);
        free(need);
    }
    if (sl && tl && tl / 1000 < sl / 1000) {
        kvmig__detail_version(&d, "source", sl);
        kvmig__detail_version(&d, "target", tl);
        kvmig__note(c, "LIBVIRT_OLDER", KVMIG_SEVERITY_WARN, kvmig__object_node(c->target), &d,
                    "Upgrade libvirt on the target.",
                    "libvirt on the target is older than on the source and may not know all that the VM's XML says.");
    }
}

/* ---- room ---- */

static uint64_t domain_memory(const struct kvmig__domain *domain)
{
    return domain->max_memory > domain->memory ? domain->max_memory : domain->memory;
}

/* What the guests that are active on the host may take. */
static uint64_t committed(const struct kvmig__host *host)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < host->domains.n; i++) {
        const struct kvmig__domain *domain = &host->domains.v[i];

        if (domain->state != KVMIG__STATE_SHUTOFF && domain->state != KVMIG__STATE_ABSENT)
            sum += domain_memory(domain);
    }
    return sum;
}

static void note_memory(const struct kvmig__check *c, const char *code, int32_t severity, uint64_t need, uint64_t have,
                        const char *hint, const char *what)
{
    struct kvmig__detail d = { 0 };
    char *need_text = kvmig__bytes_text(need), *have_text = kvmig__bytes_text(have);

    kvmig__detail_uint(&d, "need", need);
    kvmig__detail_uint(&d, "have", have);
    kvmig__note(c, code, severity, kvmig__object_node(c->target), &d, hint, "The VM needs %s of memory; %s %s.",
                need_text, what, have_text);
    free(need_text);
    free(have_text);
}

static void check_memory(const struct kvmig__check *c)
{
    uint64_t need = domain_memory(c->domain), total = c->target->memory_total, used = committed(c->target);
    uint64_t left = used < total ? total - used : 0;

    if (!need || total == KVMIG__UNKNOWN)
        return;
    if (need > total)
        note_memory(c, "INSUFFICIENT_MEMORY", KVMIG_SEVERITY_BLOCKER, need, total, "Choose a larger host.",
                    "the target has in total");
    else if (need > left)
        note_memory(c, "MEMORY_OVERCOMMITTED", KVMIG_SEVERITY_WARN, need, left,
                    "Choose another host, or move guests away from this one first.",
                    "beside its own guests, as large as they may grow, the target has");
    else if (c->target->memory_free != KVMIG__UNKNOWN && need > c->target->memory_free)
        note_memory(c, "MEMORY_FREE_LOW", KVMIG_SEVERITY_INFO, need, c->target->memory_free, NULL,
                    "caches aside, the target has free now");
}

static void check_cpus(const struct kvmig__check *c)
{
    struct kvmig__detail d = { 0 };

    if (!c->target->cpus || c->domain->vcpus <= c->target->cpus)
        return;
    kvmig__detail_uint(&d, "need", c->domain->vcpus);
    kvmig__detail_uint(&d, "have", c->target->cpus);
    kvmig__note(c, "VCPUS_OVERCOMMITTED", KVMIG_SEVERITY_WARN, kvmig__object_node(c->target), &d,
                "Choose a larger host.", "The VM has %" PRIu32 " virtual CPUs, the target has %" PRIu32 " CPUs.",
                c->domain->vcpus, c->target->cpus);
}

void kvmig__check_host(const struct kvmig__check *c)
{
    check_reachable(c);
    check_other_host(c);
    check_conflicts(c);
    if (c->target->state != KVMIG__HOST_UP)
        return; /* what is known of it is old, or nothing */
    check_versions(c);
    check_memory(c);
    check_cpus(c);
    kvmig__check_host_memory(c);
    kvmig__check_machine(c);
    kvmig__check_offers(c);
    kvmig__check_devices_target(c);
}
