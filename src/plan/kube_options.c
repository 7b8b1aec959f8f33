/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of the migration: those that the caller gave and those that KubeVirt will use, what the present launcher passes on to
 * the next one, and what could not be checked at all. Pure; any thread.
 */
#include "plan/kube_checks.h"

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
        { "tls", request->flags & KVMIG_PLAN_TLS },
        { "transient_target", request->flags & KVMIG_PLAN_TRANSIENT_TARGET },
        { "keep_source_definition", request->flags & KVMIG_PLAN_KEEP_SOURCE_DEFINITION },
        { "abort_on_io_error", request->flags & KVMIG_PLAN_ABORT_ON_IO_ERROR },
        { "copy", request->copy != KVMIG_COPY_AUTO },
        { "copy_disks", request->copy_disks.n },
        { "handover", request->handover != KVMIG_HANDOVER_NORMAL },
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

static void note_config(const struct kvmig__kube_check *c)
{
    bool seen = kvmig__kube_policies_seen(c->kube, c->vmi);
    const struct kvmig__kube_config *config = c->config;
    const char *policy = c->policy ? c->policy->meta.name : NULL;
    struct kvmig__detail d = { 0 };
    char *text;

    if (!c->kubevirt && !policy) /* then nothing is known but KubeVirt's defaults */
        return;
    kvmig__detail_str(&d, "policy", policy);
    kvmig__detail_str(&d, "policies", seen ? "visible" : "not visible");
    kvmig__detail_uint(&d, "bandwidth", config->bandwidth);
    kvmig__detail_uint(&d, "completion_limit_s", kvmig__kube_completion_limit_s(c->vmi, config));
    kvmig__detail_uint(&d, "progress_limit_s", config->progress_s);
    kvmig__detail_str(&d, "auto_converge", config->auto_converge > 0 ? "allowed" : "off");
    kvmig__detail_str(&d, "post_copy", config->post_copy > 0 ? "allowed" : "off");
    kvmig__detail_str(&d, "pause_at_limit", config->workload_disruption > 0 ? "allowed" : "off");
    kvmig__detail_str(&d, "network", config->network ? config->network : "pod network");
    text = whose_options(c, policy, seen);
    kvmig__kube_note(c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, kvmig__strdup("cluster"), &d,
                     seen ? NULL : "Allow the account to list MigrationPolicies and Namespaces.", "%s", text);
    free(text);
}

/* ---- the present launcher ---- */

/* KubeVirt pins the images of containerDisks to what the present launcher runs: "REPOSITORY@DIGEST". An image that was put on the
 * node by hand has a digest only, which no registry knows. */
static void check_images(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; c->pod && i < c->pod->containers.n; i++) {
        const struct kvmig__kube_container *container = &c->pod->containers.v[i];
        struct kvmig__detail d = { 0 };

        if (container->init || !kvmig__str_starts(container->name, "volume") || !container->image_id ||
            !*container->image_id || strchr(container->image_id, '@'))
            continue;
        kvmig__detail_str(&d, "container", container->name);
        kvmig__detail_str(&d, "image_id", container->image_id);
        kvmig__kube_note(c, "IMAGE_REFERENCE_NOT_PULLABLE", KVMIG_SEVERITY_WARN,
                         kvmig__asprintf("pod/%s/%s", c->pod->meta.ns ? c->pod->meta.ns : "default", c->pod->meta.name),
                         &d, "Push the image to a registry and restart the VM from there.",
                         "The image of container %s has no repository digest; the target launcher cannot pull it.",
                         container->name);
    }
}

static bool names_features(const struct kvmig__kube_vmi *vmi)
{
    for (size_t i = 0; i < vmi->domain.cpu_features.n; i++) {
        const char *policy = vmi->domain.cpu_features.v[i].policy;

        if (!policy || !*policy || !strcmp(policy, "require"))
            return true;
    }
    return false;
}

/* A feature that the VM names stands in the selector of its first launcher; KubeVirt takes that for the trace of a migration, and
 * then asks the target for nothing else of the host model. */
static void check_host_model_trap(const struct kvmig__kube_check *c)
{
    if (!kvmig__str_eq(c->vmi->domain.cpu_model, "host-model") || !names_features(c->vmi) || !c->pod ||
        kvmig__pairs_get(&c->pod->meta.labels, "kubevirt.io/migrationJobUID"))
        return;
    kvmig__kube_note(c, "HOST_MODEL_NOT_ENFORCED", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), NULL,
                     "Pin the target; here the whole host model is compared.",
                     "The VM names CPU features besides host-model: KubeVirt will not ask the target for the rest of "
                     "the host model.");
}

void kvmig__kube_check_options(const struct kvmig__kube_check *c)
{
    check_parallel(c);
    check_without_effect(c);
    note_config(c);
    check_images(c);
    check_host_model_trap(c);
}

/* ---- the target ---- */

void kvmig__kube_check_pinning(const struct kvmig__kube_check *c, bool asked)
{
    bool moves = c->request->volume_changes.n, old = kvmig__kubevirt_is_at_least(c, 1, 6) == 0;
    struct kvmig__detail d = { 0 };

    if ((!moves && !old) || c->request->flags & KVMIG_PLAN_ANY_TARGET)
        return;
    kvmig__detail_str(&d, "reason", moves ? "volume migration" : "KubeVirt before 1.6");
    if (c->kubevirt)
        kvmig__detail_str(&d, "version", c->kubevirt->version);
    kvmig__kube_note(
        c, "TARGET_NOT_PINNED", asked ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_INFO, kvmig__strdup("request"), &d,
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
