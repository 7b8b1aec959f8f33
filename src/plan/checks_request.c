/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The request as a whole: options that exclude or need each other, and options that do not fit the VM. What depends on the
 * versions of the hosts is in checks_features.c, on the way between them in checks_reach.c, and post-copy in
 * checks_postcopy.c. All these are refused by libvirt or QEMU only after the migration has
 * begun, or are accepted and do harm. Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool kvmig__request_has(const struct kvmig__request *request, uint64_t flag)
{
    return (request->flags & flag) != 0;
}

bool kvmig__request_is_parallel(const struct kvmig__request *request)
{
    return request->parallel_connections > 1;
}

bool kvmig__target_xml_unread(const struct kvmig__check *c)
{
    return c->request->target_xml && !c->request->target_domain;
}

const struct kvmig__disk *kvmig__target_disk(const struct kvmig__check *c, const char *target)
{
    const struct kvmig__domain *domain = c->request->target_domain;

    if (kvmig__target_xml_unread(c))
        return NULL;
    if (!domain)
        domain = c->domain;
    for (size_t i = 0; i < domain->disks.n; i++) {
        if (kvmig__str_eq(domain->disks.v[i].target, target))
            return &domain->disks.v[i];
    }
    return NULL;
}

/* ---- options that exclude or need each other ---- */

void kvmig__note_flags(const struct kvmig__check *c, const char *flags, const char *hint, const char *message)
{
    struct kvmig__strlist list = { 0 };
    struct kvmig__detail d = { 0 };
    char *copy = kvmig__strdup(flags), *rest = NULL;

    for (char *flag = strtok_r(copy, " ", &rest); flag; flag = strtok_r(NULL, " ", &rest))
        kvmig__strlist_add(&list, flag);
    kvmig__detail_list(&d, "flags", &list);
    kvmig__note(c, "INVALID_FLAGS", KVMIG_SEVERITY_BLOCKER, kvmig__object_request(), &d, hint, "%s", message);
    kvmig__strlist_clear(&list);
    free(copy);
}

static void check_postcopy_flags(const struct kvmig__check *c)
{
    const struct kvmig__request *r = c->request;
    bool allowed = kvmig__request_has(r, KVMIG_PLAN_ALLOW_POSTCOPY);

    if (kvmig__request_has(r, KVMIG_PLAN_POSTCOPY_AFTER_PRECOPY) && !allowed)
        kvmig__note_flags(c, "POSTCOPY_AFTER_PRECOPY POSTCOPY",
                          "Add KVMIG_PLAN_ALLOW_POSTCOPY: post-copy needs consent.",
                          "A switch to post-copy is asked for, but post-copy is not allowed.");
    if (allowed && r->handover == KVMIG_HANDOVER_STRICT)
        kvmig__note_flags(
            c, "POSTCOPY PAUSED", "Choose one: the strict hand-over, or post-copy.",
            "The strict hand-over lets the target come up paused, which libvirt refuses together with post-copy.");
    if (allowed && kvmig__str_eq(r->compression, "mt"))
        kvmig__note_flags(c, "POSTCOPY COMPRESSED", "Leave out the compression.",
                          "QEMU does not take the compression \"mt\" together with post-copy.");
}

static void check_transfer_flags(const struct kvmig__check *c)
{
    const struct kvmig__request *r = c->request;
    bool parallel = kvmig__request_is_parallel(r);
    bool single_stream = kvmig__str_eq(r->compression, "mt") || kvmig__str_eq(r->compression, "xbzrle");
    bool multi_stream = kvmig__str_eq(r->compression, "zlib") || kvmig__str_eq(r->compression, "zstd");

    if (parallel && single_stream)
        kvmig__note_flags(c, "PARALLEL COMPRESSED", "Use zlib or zstd, or one connection.",
                          "The compressions \"mt\" and \"xbzrle\" work on one connection only.");
    if (!parallel && multi_stream)
        kvmig__note_flags(c, "COMPRESSED PARALLEL", "Set parallel_connections to 2 or more.",
                          "The compressions \"zlib\" and \"zstd\" need parallel connections.");
    if (!kvmig__request_has(r, KVMIG_PLAN_AUTO_CONVERGE) && (r->auto_converge_initial || r->auto_converge_increment))
        kvmig__note_flags(c, "auto_converge.initial auto_converge.increment AUTO_CONVERGE",
                          "Add KVMIG_PLAN_AUTO_CONVERGE.", "Throttling is tuned, but not switched on.");
    if (r->copy == KVMIG_COPY_NONE && r->copy_disks.n)
        kvmig__note_flags(c, "migrate_disks NON_SHARED_DISK NON_SHARED_INC",
                          "Leave copy_disks empty, or use another kvmig_copy.",
                          "Disks are named for copying, but no disk is to be copied.");
}

/* ---- options that do nothing ---- */

static void idle(const struct kvmig__check *c, bool given, const char *option, const char *why)
{
    struct kvmig__detail d = { 0 };

    if (!given)
        return;
    kvmig__detail_str(&d, "option", option);
    kvmig__note(c, "OPTION_WITHOUT_EFFECT", KVMIG_SEVERITY_INFO, kvmig__object_request(), &d, NULL,
                "Option %s has no effect: %s.", option, why);
}

static void check_idle_options(const struct kvmig__check *c)
{
    const struct kvmig__request *r = c->request;
    bool persists = c->domain->persistent && !kvmig__request_has(r, KVMIG_PLAN_TRANSIENT_TARGET);

    idle(c, r->postcopy_bandwidth_mib && !kvmig__request_has(r, KVMIG_PLAN_ALLOW_POSTCOPY), "postcopy_bandwidth_mib",
         "post-copy is not allowed");
    idle(c, r->tls_destination && !kvmig__request_has(r, KVMIG_PLAN_TLS), "tls_destination",
         "the migration is not encrypted by QEMU");
    idle(c, r->target_uri && kvmig__request_has(r, KVMIG_PLAN_MANAGED), "target_uri",
         "this process drives the migration, so the source daemon does not dial");
    idle(c, r->target_pool && r->copy == KVMIG_COPY_NONE, "target_pool", "no disk is to be copied");
    idle(c, r->persistent_xml && !persists, "persistent_xml", "the domain is not made persistent on the target");
}

/* ---- options that do not fit the VM ---- */

static void check_named_disk(const struct kvmig__check *c, const char *name)
{
    const struct kvmig__disk *disk = NULL;
    struct kvmig__detail d = { 0 };

    for (size_t i = 0; i < c->domain->disks.n && !disk; i++) {
        if (kvmig__str_eq(c->domain->disks.v[i].target, name))
            disk = &c->domain->disks.v[i];
    }
    if (disk && disk->has_source && !disk->readonly)
        return;
    kvmig__detail_str(&d, "disk", name);
    if (!disk)
        kvmig__note(c, "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER, kvmig__object_request(), &d,
                    "Name disks by their target device, for example \"vda\".",
                    "copy_disks names %s, but the VM has no such disk.", name);
    else
        kvmig__note(c, "COPY_LIST_HAS_READONLY_DISK", KVMIG_SEVERITY_BLOCKER, kvmig__object_disk(name), &d,
                    "Take it out of copy_disks.",
                    "copy_disks names %s, which is %s; libvirt would refuse after the target is prepared.", name,
                    disk->has_source ? "read-only" : "an empty drive");
}

/* What becomes of the persistent definition. */
static void check_definition(const struct kvmig__check *c)
{
    const struct kvmig__request *r = c->request;
    bool transient = kvmig__request_has(r, KVMIG_PLAN_TRANSIENT_TARGET);
    bool keep = kvmig__request_has(r, KVMIG_PLAN_KEEP_SOURCE_DEFINITION);
    struct kvmig__detail d = { 0 };

    if (!c->domain->persistent) {
        idle(c, keep && !c->source->from_files, "KVMIG_PLAN_KEEP_SOURCE_DEFINITION",
             "the domain has no persistent definition");
        return;
    }
    if (transient && !keep)
        kvmig__note(
            c, "DEFINITION_LOST", KVMIG_SEVERITY_WARN, kvmig__object_vm(c->domain), &d,
            "Leave out KVMIG_PLAN_TRANSIENT_TARGET, or add KVMIG_PLAN_KEEP_SOURCE_DEFINITION.",
            "The persistent definition of %s is removed from the source and not made on the target: when the guest "
            "stops, the VM is gone.",
            c->domain->name);
    if (!transient && keep)
        kvmig__note(c, "DEFINITION_ON_BOTH", KVMIG_SEVERITY_INFO, kvmig__object_vm(c->domain), &d,
                    "Undefine it on the source before anyone starts it there.",
                    "%s stays defined on the source, too, where it could be started a second time.", c->domain->name);
    if (!transient && r->target_xml && !r->persistent_xml)
        kvmig__note(c, "PERSISTENT_XML_MISSING", KVMIG_SEVERITY_WARN, kvmig__object_request(), &d,
                    "Give persistent_xml with the same changes.",
                    "The target gets XML of its own, but its persistent definition keeps the source's values, and the "
                    "next start there may use or miss other resources.");
}

static void check_paused_postcopy(const struct kvmig__check *c)
{
    struct kvmig__detail d = { 0 };

    if (c->domain->state != KVMIG__STATE_PAUSED || !kvmig__request_has(c->request, KVMIG_PLAN_ALLOW_POSTCOPY))
        return;
    kvmig__detail_str(&d, "feature", "post-copy");
    kvmig__note(c, "FEATURE_DROPPED", KVMIG_SEVERITY_WARN, kvmig__object_request(), &d,
                "Nothing to do: a paused guest dirties no memory, so pre-copy ends by itself.",
                "Post-copy is left out: the VM is paused, and post-copy needs one that runs.");
}

void kvmig__check_request(const struct kvmig__check *c)
{
    kvmig__check_options(c);
    check_postcopy_flags(c);
    check_transfer_flags(c);
    kvmig__check_flags(c);
    check_idle_options(c);
    for (size_t i = 0; i < c->request->copy_disks.n; i++)
        check_named_disk(c, c->request->copy_disks.v[i]);
    check_definition(c);
    check_paused_postcopy(c);
}

/* ---- options and the target ---- */

void kvmig__check_request_target(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n)
{
    struct kvmig__detail d = { 0 };

    kvmig__check_features(c, disks, n);
    kvmig__check_reach(c, disks, n);
    kvmig__check_postcopy(c, disks, n);
    if (kvmig__target_xml_unread(c))
        kvmig__note(
            c, "TARGET_XML_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_request(), &d, NULL,
            "The caller gave domain XML for the target; its networks, emulator and disk paths are not checked.");
}
