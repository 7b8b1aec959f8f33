/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvirt's migrate flags as the caller would pass them: names that it does not know, and combinations that it refuses (some of them
 * only when the target is prepared already). Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <stdlib.h>
#include <string.h>

static const char *const known[] = {
    "LIVE",
    "PEER2PEER",
    "TUNNELLED",
    "PERSIST_DEST",
    "UNDEFINE_SOURCE",
    "PAUSED",
    "NON_SHARED_DISK",
    "NON_SHARED_INC",
    "CHANGE_PROTECTION",
    "UNSAFE",
    "OFFLINE",
    "COMPRESSED",
    "ABORT_ON_ERROR",
    "AUTO_CONVERGE",
    "RDMA_PIN_ALL",
    "POSTCOPY",
    "TLS",
    "PARALLEL",
    "NON_SHARED_SYNCHRONOUS_WRITES",
    "POSTCOPY_RESUME",
    "ZEROCOPY",
};

/* A flag that needs one of others, or that excludes every one of them. */
static const struct rule {
    const char *flag;
    enum { NEEDS, EXCLUDES } what;
    const char *others; /* separated by spaces */
    const char *message;
} rules[] = {
    { "NON_SHARED_DISK", EXCLUDES, "NON_SHARED_INC", "Disks are copied whole or incrementally, not both." },
    { "NON_SHARED_SYNCHRONOUS_WRITES", NEEDS, "NON_SHARED_DISK NON_SHARED_INC",
      "Synchronous writes are about disks that are copied, and none is." },
    { "TUNNELLED", NEEDS, "PEER2PEER", "Only the source daemon can tunnel a migration." },
    { "TUNNELLED", EXCLUDES, "PARALLEL POSTCOPY NON_SHARED_DISK NON_SHARED_INC",
      "A tunnel has one stream in one direction: no parallel connections, no post-copy, no copies of disks." },
    { "POSTCOPY", NEEDS, "LIVE", "Post-copy is for guests that run, so the migration must be live." },
    { "POSTCOPY", EXCLUDES, "PAUSED",
      "After the switch to post-copy the guest runs on the target; it cannot be left paused." },
    { "POSTCOPY_RESUME", NEEDS, "POSTCOPY", "Only a migration in post-copy can be resumed." },
    { "ZEROCOPY", NEEDS, "PARALLEL", "QEMU sends without copying only over parallel connections." },
    { "ZEROCOPY", EXCLUDES, "COMPRESSED TLS", "What is compressed or encrypted has to be copied." },
    { "OFFLINE", NEEDS, "PERSIST_DEST", "Of a guest that does not run only the definition moves, so it must be kept." },
    { "OFFLINE", EXCLUDES, "NON_SHARED_DISK NON_SHARED_INC TUNNELLED",
      "Only the definition of the domain moves; no disk is copied and there is no stream to tunnel." },
};

static bool is_given(const struct kvmig__request *request, const char *flag, size_t n)
{
    for (size_t i = 0; i < request->libvirt_flags.n; i++) {
        const char *given = request->libvirt_flags.v[i];

        given += kvmig__str_starts(given, "VIR_MIGRATE_") ? strlen("VIR_MIGRATE_") : 0;
        if (strlen(given) == n && strncmp(given, flag, n) == 0)
            return true;
    }
    return false;
}

static bool has(const struct kvmig__request *request, const char *flag)
{
    return is_given(request, flag, strlen(flag));
}

/* Options that stand for a flag, wherever the list of flags lacks it. */
static bool is_meant(const struct kvmig__request *request, const char *flag, size_t n)
{
    if (n == strlen("TLS") && strncmp(flag, "TLS", n) == 0 && kvmig__request_has(request, KVMIG_PLAN_TLS))
        return true;
    if (n == strlen("PARALLEL") && strncmp(flag, "PARALLEL", n) == 0 && request->parallel_connections > 0)
        return true;
    return is_given(request, flag, n);
}

static void check_rule(const struct kvmig__check *c, const struct rule *rule)
{
    bool any = false;
    char *flags;

    if (!has(c->request, rule->flag))
        return;
    for (const char *p = rule->others; *p;) {
        size_t n = strcspn(p, " ");

        if (is_meant(c->request, p, n)) {
            any = true;
            if (rule->what == EXCLUDES) {
                flags = kvmig__asprintf("%s %.*s", rule->flag, (int)n, p);
                kvmig__note_flags(c, flags, "Leave one of them out.", rule->message);
                free(flags);
            }
        }
        p += n + (p[n] == ' ');
    }
    if (rule->what == NEEDS && !any) {
        flags = kvmig__asprintf("%s %s", rule->flag, rule->others);
        kvmig__note_flags(c, flags, "Add what is missing, or leave the first flag out.", rule->message);
        free(flags);
    }
}

/* What is not a flag alone. */
static void check_options(const struct kvmig__check *c)
{
    const struct kvmig__request *r = c->request;
    bool method = kvmig__str_eq(r->compression, "zlib") || kvmig__str_eq(r->compression, "zstd");

    if (has(r, "TUNNELLED") && r->migrate_uri)
        kvmig__note_flags(c, "TUNNELLED migrate_uri", "Leave out one of them.",
                          "A tunnelled migration goes over libvirt's connection and takes no URI of its own.");
    if (has(r, "COMPRESSED") && is_meant(r, "PARALLEL", strlen("PARALLEL")) && !method)
        kvmig__note_flags(c, "COMPRESSED PARALLEL", "Name zlib or zstd as the method, or use one connection.",
                          "With parallel connections the method of compression must be named.");
}

static void check_name(const struct kvmig__check *c, const char *given)
{
    const char *name = given + (kvmig__str_starts(given, "VIR_MIGRATE_") ? strlen("VIR_MIGRATE_") : 0);
    struct kvmig__detail d = { 0 };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(known); i++) {
        if (strcmp(known[i], name) == 0)
            return;
    }
    kvmig__detail_str(&d, "option", "flags");
    kvmig__detail_str(&d, "value", given);
    kvmig__note(c, "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER, kvmig__object_request(), &d,
                "Use the names of virDomainMigrateFlags without VIR_MIGRATE_.", "libvirt has no migrate flag %s.",
                given);
}

void kvmig__check_flags(const struct kvmig__check *c)
{
    if (!c->request->libvirt_flags.n)
        return;
    for (size_t i = 0; i < c->request->libvirt_flags.n; i++)
        check_name(c, c->request->libvirt_flags.v[i]);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(rules); i++)
        check_rule(c, &rules[i]);
    check_options(c);
}

bool kvmig__flags_copy_all(const struct kvmig__request *request)
{
    return !request->copy_disks.n && (has(request, "NON_SHARED_DISK") || has(request, "NON_SHARED_INC"));
}
