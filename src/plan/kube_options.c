/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of the migration: those that the caller gave and those that KubeVirt will use, and what could not be checked at all.
 * Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the request ---- */

static void check_parallel(const struct kvmig__kube_check *c)
{
    uint64_t limit = kvmig__amounts_get(&c->vmi->domain.limits, "cpu");
    bool limited = limit != KVMIG__UNKNOWN && limit;
    struct kvmig__detail d = { 0 };

    if (c->request->parallel_connections <= 1 || (!limited && !c->vmi->domain.dedicated_cpus))
        return;
    kvmig__detail_uint(&d, "connections", c->request->parallel_connections);
    kvmig__detail_str(&d, "reason", limited ? "CPU limit" : "dedicated CPUs");
    kvmig__kube_note(c, "MULTIFD_ON_LIMITED_CPU", KVMIG_SEVERITY_WARN, kvmig__kube_object_vm(c), &d,
                     "Leave the number of channels to KubeVirt.",
                     "The VM has %s: parallel channels compete for the little CPU that is there, and the pause grows.",
                     limited ? "a CPU limit" : "dedicated CPUs");
}

/* Options of the migrate call itself, which KubeVirt makes. */
static void check_without_effect(const struct kvmig__kube_check *c)
{
    const struct kvmig__request *request = c->request;
    const struct {
        const char *name;
        bool given;
    } options[] = {
        { "managed", request->flags & KVMIG_PLAN_MANAGED },
        { "postcopy_after_precopy", request->flags & KVMIG_PLAN_POSTCOPY_AFTER_PRECOPY },
        { "transient_target", request->flags & KVMIG_PLAN_TRANSIENT_TARGET },
        { "keep_source_definition", request->flags & KVMIG_PLAN_KEEP_SOURCE_DEFINITION },
        { "abort_on_io_error", request->flags & KVMIG_PLAN_ABORT_ON_IO_ERROR },
        { "copy", request->copy != KVMIG_COPY_AUTO },
        { "copy_disks", request->copy_disks.n },
        { "handover", request->handover != KVMIG_HANDOVER_NORMAL },
        { "postcopy_bandwidth", request->postcopy_bandwidth_mib },
        { "max_downtime_ms", request->max_downtime_ms },
        { "parallel_connections", request->parallel_connections > 1 },
        { "auto_converge_steps", request->auto_converge_initial || request->auto_converge_increment },
        { "compression", request->compression || request->compression_level },
        { "target_pool", request->target_pool },
        { "tls_destination", request->tls_destination },
        { "target_uri", request->target_uri },
        { "migrate_uri", request->migrate_uri },
        { "target_name", request->target_name },
        { "target_xml", request->target_xml },
        { "persistent_xml", request->persistent_xml },
    };
    struct kvmig__strlist names = { 0 };
    struct kvmig__detail d = { 0 };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(options); i++) {
        if (options[i].given)
            kvmig__strlist_add(&names, options[i].name);
    }
    if (names.n) {
        kvmig__detail_list(&d, "options", &names);
        kvmig__kube_note(c, "OPTION_WITHOUT_EFFECT", KVMIG_SEVERITY_INFO, kvmig__strdup("request"), &d,
                         "Leave them out; KubeVirt makes the migrate call itself.",
                         "Options that do nothing on KubeVirt were given (%s first).", names.v[0]);
    }
    kvmig__strlist_clear(&names);
}

/* ---- the options in force ---- */

/* Owned. */
static char *whose_options(const struct kvmig__kube_check *c, const char *policy, bool seen)
{
    char *found = policy ? kvmig__asprintf("the options of policy %s", policy) : kvmig__strdup("the cluster's options");
    char *text;

    if (seen)
        text = kvmig__asprintf("KubeVirt migrates the VM with %s.", found);
    else if (kvmig__kube_is_known(c->kube, KVMIG__KUBE_POLICY))
        text = kvmig__asprintf("Which options KubeVirt will use is not certain: a policy asks for labels of the "
                               "namespace, which are not visible. As far as is seen it is %s.",
                               found);
    else
        text = kvmig__asprintf("Which options KubeVirt will use is not certain: MigrationPolicies are not visible. "
                               "Without one it is %s.",
                               found);
    free(found);
    return text;
}

/* Which labels made it win, and against which other one. */
static void detail_of_policy(const struct kvmig__kube_check *c, struct kvmig__detail *d)
{
    static const char *const whys[] = {
        [KVMIG__POLICY_ONLY] = "no other policy matches",
        [KVMIG__POLICY_MORE_LABELS] = "it names more labels",
        [KVMIG__POLICY_MORE_VM_LABELS] = "it names as many labels, and more of the VM's",
        [KVMIG__POLICY_NAME] = "it names as many labels, and its name comes first",
    };
    struct kvmig__kube_policy_choice choice;

    kvmig__kube_policy_choice(c->kube, c->vmi, &choice);
    kvmig__detail_str(d, "policy", choice.winner ? choice.winner->meta.name : NULL);
    if (!choice.winner)
        return;
    kvmig__detail_uint(d, "policy_vm_labels", choice.vmi_labels);
    kvmig__detail_uint(d, "policy_namespace_labels", choice.ns_labels);
    kvmig__detail_str(d, "policy_why", whys[choice.why]);
    if (choice.second)
        kvmig__detail_str(d, "policy_before", choice.second->meta.name);
}

static void note_config(const struct kvmig__kube_check *c)
{
    bool seen = kvmig__kube_policies_seen(c->kube, c->vmi);
    const struct kvmig__kube_config *config = c->config;
    const char *policy = c->policy ? c->policy->meta.name : NULL;
    struct kvmig__detail d = { 0 };
    char *text;

    if (!c->kubevirt && !policy) /* then nothing is known but KubeVirt's defaults */
        return;
    detail_of_policy(c, &d);
    kvmig__detail_str(&d, "policies", seen ? "visible" : "not visible");
    kvmig__detail_uint(&d, "bandwidth", config->bandwidth);
    kvmig__detail_uint(&d, "completion_limit_s", kvmig__kube_completion_limit_s(c->vmi, config));
    kvmig__detail_uint(&d, "progress_limit_s", config->progress_s);
    kvmig__detail_str(&d, "auto_converge", config->auto_converge > 0 ? "allowed" : "off");
    kvmig__detail_str(&d, "post_copy", config->post_copy > 0 ? "allowed" : "off");
    kvmig__detail_str(&d, "pause_at_limit", config->workload_disruption > 0 ? "allowed" : "off");
    kvmig__detail_uint(&d, "pause_limit_ms", kvmig__kube_pause_limit_ms(c->kube, config));
    kvmig__detail_str(&d, "network", config->network ? config->network : "pod network");
    kvmig__detail_str(&d, "tls", config->disable_tls > 0 ? "off" : "on");
    text = whose_options(c, policy, seen);
    kvmig__kube_note(c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, kvmig__strdup("cluster"), &d,
                     seen ? NULL : "Allow the account to list MigrationPolicies and Namespaces.", "%s", text);
    free(text);
}

/* Less than 1 MiB/s cannot be set, and 0 would be no limit. */
static void check_bandwidth(const struct kvmig__kube_check *c)
{
    uint64_t bandwidth = c->config->bandwidth;
    struct kvmig__detail d = { 0 };

    if (!bandwidth || bandwidth == KVMIG__UNKNOWN || bandwidth >= 1 << 20)
        return;
    kvmig__detail_str(&d, "option", "bandwidthPerMigration");
    kvmig__detail_uint(&d, "value", bandwidth);
    kvmig__detail_uint(&d, "mib_per_s", 1);
    kvmig__kube_note(
        c, "BANDWIDTH_ROUNDED", KVMIG_SEVERITY_INFO, kvmig__strdup("cluster"), &d, "Set at least 1Mi; 0 is no limit.",
        "bandwidthPerMigration is %" PRIu64 " bytes/s, less than the least limit: 1 MiB/s is used.", bandwidth);
}

/* ---- post-copy, TLS: what was asked for against what is in force ---- */

/* From the switch to post-copy on there is no way back: that needs the caller's consent. */
static void check_postcopy(const struct kvmig__kube_check *c)
{
    bool consent = c->request->flags & KVMIG_PLAN_ALLOW_POSTCOPY;
    struct kvmig__detail d = { 0 };

    if (c->config->post_copy <= 0 && !consent)
        return;
    if (kvmig__vmi_has_vfio(c->vmi)) {
        kvmig__detail_str(&d, "reason", "device of the host");
        kvmig__kube_note(c, "POSTCOPY_NOT_USED", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
                         "At its limit KubeVirt pauses such a guest, if that is allowed, or gives up.",
                         "Post-copy is allowed, but KubeVirt never uses it for a guest with a device of the host or an "
                         "SR-IOV interface.");
    } else if (!consent) {
        kvmig__detail_str(&d, "policy", c->policy ? c->policy->meta.name : NULL);
        kvmig__kube_note(c, "POSTCOPY_WITHOUT_CONSENT", KVMIG_SEVERITY_INFO, kvmig__strdup("request"), &d,
                         "Consent to it, or let the session make a temporary policy, which forbids it.",
                         "KubeVirt may switch to post-copy, to which this request does not consent: if the link breaks "
                         "then, the VM is lost.");
    }
}

static void check_tls(const struct kvmig__kube_check *c)
{
    if (!(c->request->flags & KVMIG_PLAN_TLS) || c->config->disable_tls <= 0)
        return;
    kvmig__kube_note(c, "TLS_DISABLED", KVMIG_SEVERITY_BLOCKER, kvmig__strdup("request"), NULL,
                     "Set spec.configuration.migrations.disableTLS of the KubeVirt object to false.",
                     "The request asks for encryption, and KubeVirt is told not to encrypt migrations.");
}

void kvmig__kube_check_options(const struct kvmig__kube_check *c)
{
    check_parallel(c);
    check_postcopy(c);
    check_tls(c);
    check_bandwidth(c);
    check_without_effect(c);
    note_config(c);
}

/* ---- the target ---- */

void kvmig__kube_check_pinning(const struct kvmig__kube_check *c, bool elsewhere)
{
    bool moves = c->request->volume_changes.n, old = kvmig__kubevirt_is_at_least(c, 1, 6) == 0;
    struct kvmig__detail d = { 0 };

    if ((!moves && !old) || c->request->flags & KVMIG_PLAN_ANY_TARGET)
        return;
    kvmig__detail_str(&d, "reason", moves ? "volume migration" : "KubeVirt before 1.6");
    if (c->kubevirt)
        kvmig__detail_str(&d, "version", c->kubevirt->version);
    kvmig__kube_note(
        c, "TARGET_NOT_PINNED", elsewhere ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_INFO, kvmig__strdup("request"), &d,
        "See that every node that the scheduler may choose can take the VM; or cordon the others.",
        "The scheduler may choose another node than the plan's target: %s.",
        moves ? "the migration object of a volume migration is KubeVirt's own" : "this KubeVirt cannot be told one");
}

/* ---- what cannot be checked ---- */

void kvmig__kube_check_forbidden(const struct kvmig__kube_check *c)
{
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++) {
        struct kvmig__detail d = { 0 };

        if (c->kube->kinds[kind].known != KVMIG__KUBE_FORBIDDEN)
            continue;
        kvmig__detail_str(&d, "kind", kvmig__kube_kind_info(kind)->kind);
        kvmig__kube_note(c, "CHECK_SKIPPED", KVMIG_SEVERITY_INFO, kvmig__strdup("cluster"), &d,
                         "Give the account the right to list and watch them.",
                         "Checks that need %s objects were skipped: the account may not read them.",
                         kvmig__kube_kind_info(kind)->kind);
    }
}
