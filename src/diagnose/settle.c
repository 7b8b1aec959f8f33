/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What texts claim, weighed against the outcome: after a success that is on record, errors in logs are of earlier attempts. What is left
 * are causes; from them follows what else is to be said: that attempts repeat themselves, and what would help. Pure.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *code, const char *const *codes)
{
    for (; *codes; codes++)
        if (kvmig__str_eq(code, *codes))
            return true;
    return false;
}

/* No attempt will go better while the same two hosts, versions and definitions meet. */
static bool is_permanent(const char *code)
{
    static const char *const codes[] = { "CPU_FEATURE_MISSING",
                                         "CPU_FEATURE_EXTRA",
                                         "CPU_MODEL_UNSUPPORTED",
                                         "CPU_NON_MIGRATABLE_FLAG",
                                         "MACHINE_TYPE_UNSUPPORTED",
                                         "DEVICE_STATE_INCOMPATIBLE",
                                         "RAM_BLOCK_MISMATCH",
                                         "DUPLICATE_HOST_UUID",
                                         "PVC_NOT_SHARED",
                                         "UNSAFE_DISK_CACHE",
                                         "UNSAFE_MIGRATION_NOT_SHARED",
                                         "HOSTDEV_NOT_MIGRATABLE",
                                         "DEVICE_NOT_MIGRATABLE",
                                         "COPY_LIST_HAS_READONLY_DISK",
                                         "DEST_VOLUME_SMALLER",
                                         "TARGET_PRECREATE_UNSUPPORTED",
                                         "INVALID_FLAGS",
                                         "POSTCOPY_UNSUPPORTED",
                                         "TLS_HOSTNAME_MISMATCH",
                                         "TLS_CREDENTIALS_MISSING",
                                         NULL };

    return is_one_of(code, codes);
}

static void note_attempts(struct kvmig__case *c)
{
    for (size_t i = 0; i < c->attempts.n; i++) {
        const struct kvmig__attempts *attempts = &c->attempts.v[i];
        const uint32_t n = attempts->migrations.n > attempts->most ? (uint32_t)attempts->migrations.n : attempts->most;
        struct kvmig__detail detail = { 0 };

        if (n < 2 || !is_permanent(attempts->code) || !kvmig__findings_has(&c->findings, attempts->code))
            continue;
        kvmig__detail_uint(&detail, "attempts", n);
        kvmig__detail_str(&detail, "code", attempts->code);
        kvmig__case_note(c, "RETRY_USELESS", KVMIG_SEVERITY_ERROR, kvmig__strdup(c->vm_object), &detail,
                         "Stop automatic retries until that is mended.",
                         "%u attempts failed with one and the same cause, which will not go away by itself.", n);
    }
}

/* ---- storage that libvirt does not take for shared ---- */

static bool is_local(const struct kvmig__kube_pv *pv)
{
    return pv && (kvmig__str_eq(pv->type, "hostPath") || kvmig__str_eq(pv->type, "local"));
}

static const struct kvmig__kube_pv *volume_of(const struct kvmig__kube *kube, const struct kvmig__kube_pvc *pvc)
{
    KVMIG__KUBE_EACH(kube, PV, pv)
    {
        if (pvc->volume ? kvmig__str_eq(pv->meta.name, pvc->volume)
                        : kvmig__str_eq(pv->claim, pvc->meta.name) && kvmig__str_eq(pv->claim_ns, pvc->meta.ns))
            return pv;
    }
    return NULL;
}

static bool is_shared(const struct kvmig__kube_pvc *pvc)
{
    for (size_t i = 0; i < pvc->access_modes.n; i++)
        if (kvmig__str_eq(pvc->access_modes.v[i], "ReadWriteMany"))
            return true;
    return false;
}

/* Consent is advised only where claims are known, all say that they are shared, and none is on one host's disk. */
static void judge_claims(struct kvmig__case *c)
{
    size_t n_shared = 0, n_others = 0;

    KVMIG__KUBE_EACH(c->kube, PVC, pvc)
    {
        const struct kvmig__kube_pv *pv = volume_of(c->kube, pvc);
        struct kvmig__detail detail = { 0 };

        n_shared += is_shared(pvc) && !is_local(pv);
        n_others += !is_shared(pvc) || is_local(pv);
        if (!is_shared(pvc) || !is_local(pv))
            continue;
        kvmig__detail_str(&detail, "type", pv->type);
        kvmig__detail_str(&detail, "claim", pvc->meta.name);
        kvmig__case_note(c, "RWX_ON_LOCAL_PV", KVMIG_SEVERITY_ERROR, kvmig__asprintf("pv/%s", pv->meta.name), &detail,
                         "Move the data to storage that both hosts see; do not consent to an unsafe migration.",
                         "The claim %s says ReadWriteMany, and its volume is on one host.", pvc->meta.name);
    }
    if (n_shared && !n_others)
        kvmig__case_act(c, "FORCE_UNSAFE", kvmig__strdup(c->vm_object), NULL,
                        "If both hosts do see the same files there, consent to the migration: libvirt does not know "
                        "this file system.");
}

static void advise(struct kvmig__case *c)
{
    static const char *const of_the_target[] = { "CPU_FEATURE_MISSING", "CPU_MODEL_UNSUPPORTED",
                                                 "MACHINE_TYPE_UNSUPPORTED", NULL };

    for (size_t i = 0; i < c->findings.n; i++) {
        const char *code = c->findings.v[i].code;

        if (is_one_of(code, of_the_target))
            kvmig__case_act(c, "CHOOSE_OTHER_NODE",
                            c->target ? kvmig__asprintf("node/%s", c->target) : kvmig__strdup("target"), NULL,
                            "Choose another target: this one will answer the same.");
        else if (kvmig__str_eq(code, "MIGRATION_PORTS_SHORT"))
            kvmig__case_act(c, "RETRY", kvmig__strdup(c->vm_object), NULL,
                            "Try again once other migrations to the target have ended.");
    }
    if (c->kube && kvmig__findings_has(&c->findings, "UNSAFE_MIGRATION_NOT_SHARED"))
        judge_claims(c);
}

/* ---- versions that do not go together ---- */

static bool is_parallel(const struct kvmig__case *c)
{
    if (c->ask->plan.parallel_connections)
        return true;
    for (size_t i = 0; i < c->said.n; i++)
        if (kvmig__words_find(c->said.v[i].text, c->said.v[i].text + c->said.v[i].length, "multifd", NULL))
            return true;
    return false;
}

/* A migration over parallel channels broke, and the versions are known to disagree about them. */
static void judge_versions(struct kvmig__case *c)
{
    const uint64_t source = c->facts->source.qemu, target = c->facts->target.qemu;
    struct kvmig__detail detail = { 0 };
    char *text;

    if (!kvmig__str_eq(c->state, "FAILED") || !source || source < 7001000 || source >= 7002000 || target < 9002000 ||
        !is_parallel(c))
        return;
    text = kvmig__asprintf("%llu.%llu", (unsigned long long)source / 1000000, (unsigned long long)source / 1000 % 1000);
    kvmig__detail_str(&detail, "source", text);
    free(text);
    text = kvmig__asprintf("%llu.%llu", (unsigned long long)target / 1000000, (unsigned long long)target / 1000 % 1000);
    kvmig__detail_str(&detail, "target", text);
    free(text);
    kvmig__case_note(c, "MULTIFD_VERSION_SKEW", KVMIG_SEVERITY_ERROR, kvmig__strdup("request"), &detail,
                     "Migrate over one connection, or bring both hosts to one version.",
                     "The two versions of QEMU disagree about parallel channels.");
}

/* ---- all of it ---- */

static bool has_succeeded(const struct kvmig__case *c)
{
    return kvmig__str_eq(c->state, "SUCCEEDED") && c->strength >= KVMIG__KNOWN_ENDED;
}

/* A cancelled migration takes its target's QEMU with it, and libvirt logs that as a crash. */
static void forgive_target(struct kvmig__case *c)
{
    char *target = c->target ? kvmig__asprintf("node/%s", c->target) : NULL;

    if (target && (kvmig__str_eq(c->state, "CANCELLED") || kvmig__str_eq(c->state, "CANCELLED_BY_USER")))
        kvmig__case_drop(&c->findings, "QEMU_DIED", target);
    free(target);
}

void kvmig__diagnose_settle(struct kvmig__case *c)
{
    struct kvmig_findings rest = c->findings;

    if (has_succeeded(c)) {
        kvmig__findings_clear(&c->claims);
        return;
    }
    c->findings = c->claims; /* first: what was told in words is more to the point than what is concluded */
    c->claims = (struct kvmig_findings){ .n = 0 };
    kvmig__case_merge(c, &rest);
    kvmig__findings_clear(&rest);
    judge_versions(c);
    note_attempts(c);
    forgive_target(c);
    advise(c);
    if (c->lost_link && !c->located && !c->vmi && kvmig__findings_worst(&c->findings) < KVMIG_SEVERITY_ERROR &&
        (!c->state || (kvmig__str_eq(c->state, "FAILED") && c->strength <= KVMIG__KNOWN_TOLD)))
        kvmig__case_override(c, "UNDECIDED",
                             "a connection was lost during the migration, and nothing tells where the guest is");
}
