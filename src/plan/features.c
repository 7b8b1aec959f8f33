/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Feature gates: two tables, one of versions (what each feature needs of libvirt and QEMU), one of pairs that exclude each
 * other. A feature that only makes a migration faster is left out with a finding; one that is a promise (encryption,
 * which disks are copied) is never left out silently: the migration is refused instead.
 *
 * Pure; any thread.
 */
#include "plan/features.h"

#include <errno.h>
#include <stdlib.h>

#define LV_NUMBER(major, minor) ((uint64_t)(major)*1000000 + (uint64_t)(minor)*1000)

struct gate {
    uint32_t feature;
    const char *name; /* as people know it */
    uint64_t libvirt_since; /* client, source and target */
    uint64_t qemu_since, qemu_until; /* both; until is exclusive, 0 = no end */
    bool promise; /* must not be left out */
};

static const struct gate gates[] = {
    { KVMIG__FEATURE_PARALLEL, "parallel connections", LV_NUMBER(5, 2), LV_NUMBER(4, 0), 0, false },
    { KVMIG__FEATURE_POSTCOPY, "post-copy", LV_NUMBER(1, 3), LV_NUMBER(2, 5), 0, false },
    { KVMIG__FEATURE_POSTCOPY_BANDWIDTH, "bandwidth limit for post-copy", LV_NUMBER(5, 1), LV_NUMBER(3, 0), 0, false },
    { KVMIG__FEATURE_AUTO_CONVERGE, "auto-converge", LV_NUMBER(1, 2), LV_NUMBER(1, 6), 0, false },
    { KVMIG__FEATURE_AUTO_CONVERGE_TUNING, "auto-converge steps", LV_NUMBER(2, 0), LV_NUMBER(2, 5), 0, false },
    { KVMIG__FEATURE_XBZRLE, "xbzrle compression", LV_NUMBER(1, 3), LV_NUMBER(1, 3), 0, false },
    { KVMIG__FEATURE_MT, "multi-thread compression", LV_NUMBER(1, 3), LV_NUMBER(2, 4), LV_NUMBER(9, 1), false },
    { KVMIG__FEATURE_ZLIB, "zlib compression", LV_NUMBER(9, 4), LV_NUMBER(5, 0), 0, false },
    { KVMIG__FEATURE_ZSTD, "zstd compression", LV_NUMBER(9, 4), LV_NUMBER(5, 0), 0, false },
    { KVMIG__FEATURE_TLS, "encryption (TLS)", LV_NUMBER(3, 2), LV_NUMBER(2, 9), 0, true },
    { KVMIG__FEATURE_TLS_DESTINATION, "name in the target's certificate (tls_destination)", LV_NUMBER(6, 0), 0, 0,
      true },
    { KVMIG__FEATURE_DISK_LIST, "list of disks to copy", LV_NUMBER(1, 2) + 17, 0, 0, true },
};

struct exclusion {
    uint32_t kept, dropped;
    uint64_t qemu_together; /* from here on both work together; 0 = never */
    const char *reason;
    const char *hint;
};

/* In this order: a later row sees what the earlier ones left. */
static const struct exclusion exclusions[] = {
    { KVMIG__FEATURE_STRICT, KVMIG__FEATURE_POSTCOPY, 0,
      "a strict hand-over keeps the target paused, post-copy starts it", "ask for one of the two" },
    { KVMIG__FEATURE_POSTCOPY, KVMIG__FEATURE_PARALLEL, LV_NUMBER(10, 1),
      "QEMU before 10.1 cannot switch to post-copy with parallel connections", "ask for one of the two" },
    { KVMIG__FEATURE_POSTCOPY, KVMIG__FEATURE_MT, 0, "QEMU cannot switch to post-copy with this compression",
      "use xbzrle" },
    { KVMIG__FEATURE_PARALLEL, KVMIG__FEATURE_XBZRLE, 0, "libvirt refuses it with parallel connections",
      "use zlib or zstd with parallel connections" },
    { KVMIG__FEATURE_PARALLEL, KVMIG__FEATURE_MT, 0, "libvirt refuses it with parallel connections",
      "use zlib or zstd with parallel connections" },
};

struct requirement {
    uint32_t feature, needs;
    const char *reason;
    const char *hint;
};

static const struct requirement requirements[] = {
    { KVMIG__FEATURE_ZLIB, KVMIG__FEATURE_PARALLEL, "it works on parallel connections only",
      "set parallel_connections, or use xbzrle" },
    { KVMIG__FEATURE_ZSTD, KVMIG__FEATURE_PARALLEL, "it works on parallel connections only",
      "set parallel_connections, or use xbzrle" },
    { KVMIG__FEATURE_POSTCOPY_BANDWIDTH, KVMIG__FEATURE_POSTCOPY, "there is no post-copy in this migration", NULL },
    { KVMIG__FEATURE_AUTO_CONVERGE_TUNING, KVMIG__FEATURE_AUTO_CONVERGE, "auto-converge is not asked for",
      "set KVMIG_PLAN_AUTO_CONVERGE" },
    { KVMIG__FEATURE_TLS_DESTINATION, KVMIG__FEATURE_TLS, "the migration is not encrypted", "set KVMIG_PLAN_TLS" },
};

static uint32_t compression_feature(const char *method)
{
    static const struct {
        const char *method;
        uint32_t feature;
    } methods[] = {
        { "xbzrle", KVMIG__FEATURE_XBZRLE },
        { "mt", KVMIG__FEATURE_MT },
        { "zlib", KVMIG__FEATURE_ZLIB },
        { "zstd", KVMIG__FEATURE_ZSTD },
    };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(methods); i++) {
        if (kvmig__str_eq(method, methods[i].method))
            return methods[i].feature;
    }
    return 0;
}

static bool copies_disks(const struct kvmig_plan *plan)
{
    for (size_t i = 0; i < plan->disks.n; i++) {
        int32_t method = plan->disks.v[i].method;
        if (method == KVMIG_DISK_COPY_FULL || method == KVMIG_DISK_COPY_INCREMENTAL)
            return true;
    }
    return false;
}

uint32_t kvmig__features_of_request(const struct kvmig__request *r, bool copies, bool guest_paused)
{
    uint32_t wanted = compression_feature(r->compression);
    if (r->parallel_connections > 1)
        wanted |= KVMIG__FEATURE_PARALLEL;
    if (r->flags & KVMIG_PLAN_ALLOW_POSTCOPY)
        wanted |= KVMIG__FEATURE_POSTCOPY;
    if (r->postcopy_bandwidth_mib)
        wanted |= KVMIG__FEATURE_POSTCOPY_BANDWIDTH;
    if (r->flags & KVMIG_PLAN_AUTO_CONVERGE)
        wanted |= KVMIG__FEATURE_AUTO_CONVERGE;
    if (r->auto_converge_initial || r->auto_converge_increment)
        wanted |= KVMIG__FEATURE_AUTO_CONVERGE_TUNING;
    if (r->flags & KVMIG_PLAN_TLS)
        wanted |= KVMIG__FEATURE_TLS;
    if (r->tls_destination)
        wanted |= KVMIG__FEATURE_TLS_DESTINATION;
    if (copies)
        wanted |= KVMIG__FEATURE_DISK_LIST;
    /* A paused guest stays paused on the target: nothing would start there before the source is gone. */
    if (r->handover == KVMIG_HANDOVER_STRICT && !guest_paused)
        wanted |= KVMIG__FEATURE_STRICT;
    return wanted;
}

uint32_t kvmig__features_wanted(const struct kvmig_plan *plan, bool guest_paused)
{
    return kvmig__features_of_request(&plan->request, copies_disks(plan), guest_paused);
}

static const char *feature_name(uint32_t feature)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(gates); i++) {
        if (gates[i].feature == feature)
            return gates[i].name;
    }
    return "?";
}

static char *version_text(uint64_t version)
{
    return kvmig__asprintf("%llu.%llu.%llu", (unsigned long long)(version / 1000000),
                           (unsigned long long)(version / 1000 % 1000), (unsigned long long)(version % 1000));
}

static void detail_version(struct kvmig__detail *detail, const char *key, uint64_t version)
{
    char *text = version ? version_text(version) : NULL;
    if (text)
        kvmig__detail_str(detail, key, text);
    free(text);
}

static void drop(struct kvmig_findings *dropped, uint32_t *features, uint32_t feature,
                 const struct kvmig__virt_versions *versions, const char *hint, const char *reason)
{
    struct kvmig__detail detail = { NULL, 0 };
    kvmig__detail_str(&detail, "feature", feature_name(feature));
    kvmig__detail_str(&detail, "reason", reason);
    detail_version(&detail, "source_qemu", versions->source_qemu);
    detail_version(&detail, "target_qemu", versions->target_qemu);
    char *text = kvmig__detail_take(&detail);
    kvmig__findings_add(dropped, "FEATURE_DROPPED", KVMIG_SEVERITY_WARN, "request", NULL, text, hint,
                        "%s is left out: %s", feature_name(feature), reason);
    free(text);
    *features &= ~feature;
}

/* Why the versions cannot do it, as owned text; NULL if they can. An unknown version is given the benefit of the doubt:
 * libvirt will say so itself. */
static char *lacking(const struct gate *gate, const struct kvmig__virt_versions *v)
{
    const struct {
        const char *who;
        uint64_t version, since, until;
    } parts[] = {
        { "libvirt here", v->client, gate->libvirt_since, 0 },
        { "libvirt on the source", v->source, gate->libvirt_since, 0 },
        { "libvirt on the target", v->target, gate->libvirt_since, 0 },
        { "QEMU on the source", v->source_qemu, gate->qemu_since, gate->qemu_until },
        { "QEMU on the target", v->target_qemu, gate->qemu_since, gate->qemu_until },
    };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(parts); i++) {
        bool old = parts[i].version && parts[i].version < parts[i].since;
        bool gone = parts[i].version && parts[i].until && parts[i].version >= parts[i].until;
        if (!old && !gone)
            continue;
        char *have = version_text(parts[i].version);
        char *limit = version_text(old ? parts[i].since : parts[i].until);
        char *text =
            kvmig__asprintf("%s is %s, and it %s %s", parts[i].who, have, old ? "came with" : "went away with", limit);
        free(have);
        free(limit);
        return text;
    }
    return NULL;
}

static struct kvmig_error *refusal(const struct gate *gate, const char *reason)
{
    return kvmig__error_new(EOPNOTSUPP, "request", reason,
                            "upgrade that side, or ask for a migration without it and accept what that means",
                            "%s cannot be had between these hosts, and is not left out by itself", gate->name);
}

static bool qemu_at_least(const struct kvmig__virt_versions *versions, uint64_t since)
{
    uint64_t source = versions->source_qemu, target = versions->target_qemu;
    if (versions->unknown_may_be_new) {
        source = source ? source : since;
        target = target ? target : since;
    }
    return since && source >= since && target >= since;
}

static int32_t gate_versions(uint32_t *features, const struct kvmig__virt_versions *versions,
                             struct kvmig_findings *dropped, struct kvmig_error **out_error)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(gates); i++) {
        if (!(*features & gates[i].feature))
            continue;
        char *reason = lacking(&gates[i], versions);
        if (!reason)
            continue;
        if (gates[i].promise)
            *out_error = refusal(&gates[i], reason);
        else
            drop(dropped, features, gates[i].feature, versions, "upgrade that side to have it", reason);
        free(reason);
        if (*out_error)
            return (*out_error)->code;
    }
    return 0;
}

int32_t kvmig__features_gate(uint32_t wanted, bool guest_paused, const struct kvmig__virt_versions *versions,
                             struct kvmig_findings *dropped, uint32_t *out_features, struct kvmig_error **out_error)
{
    uint32_t features = wanted;
    *out_features = 0;
    *out_error = NULL;
    int32_t status = gate_versions(&features, versions, dropped, out_error);
    if (status < 0)
        return status;
    if (guest_paused && (features & KVMIG__FEATURE_POSTCOPY))
        drop(dropped, &features, KVMIG__FEATURE_POSTCOPY, versions, NULL,
             "the guest is paused, and post-copy needs one that runs");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(exclusions); i++) {
        const struct exclusion *e = &exclusions[i];
        if ((features & e->kept) && (features & e->dropped) && !qemu_at_least(versions, e->qemu_together))
            drop(dropped, &features, e->dropped, versions, e->hint, e->reason);
    }
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(requirements); i++) {
        const struct requirement *r = &requirements[i];
        if ((features & r->feature) && !(features & r->needs))
            drop(dropped, &features, r->feature, versions, r->hint, r->reason);
    }
    *out_features = features;
    return 0;
}
