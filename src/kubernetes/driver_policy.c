/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The temporary MigrationPolicy: a label that only this VM has, a policy that selects it, and the removal of both,
 * whatever happens. In dispatch, with the context lock held.
 *
 * Policies are chosen by how many labels they select, so ours selects all labels of the VM that stay as they are:
 * then no other one can win. What the policy that would have won says is taken over, but for what the plan asks for.
 */
#include "kubernetes/driver_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MERGE_PATCH "application/merge-patch+json"
#define MAKE_POLICY "create a temporary migration policy"
#define POLICIES "migrationpolicies.migrations.kubevirt.io"

enum removal { REMOVE_LABEL, READ_POLICY, DELETE_POLICY, REMOVED };

/* ---- bodies ---- */

static char *label_patch(const struct kvmig__kube_driver *d, bool set)
{
    struct json_object *patch = json_object_new_object(),
                       *labels = kvmig__json_child(kvmig__json_child(patch, "metadata"), "labels");

    json_object_object_add(labels, KVMIG__MARK, set ? json_object_new_string(d->mark) : NULL);
    return kvmig__json_take_string(patch);
}

/* KubeVirt moves its own labels about during a migration. */
static bool stays(const char *key)
{
    const char *slash = strchr(key, '/');
    const char *end = slash ? slash : key;
    static const char domain[] = "kubevirt.io";
    const size_t n = sizeof(domain) - 1;

    return (size_t)(end - key) < n || strncmp(end - n, domain, n) != 0;
}

static void add_selectors(const struct kvmig__kube_driver *d, struct json_object *spec)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);
    struct json_object *selectors = kvmig__json_child(spec, "selectors"), *labels;

    labels = kvmig__json_child(selectors, "virtualMachineInstanceSelector");
    for (size_t i = 0; vmi && i < vmi->meta.labels.n; i++)
        if (stays(vmi->meta.labels.v[i].key))
            kvmig__json_add_str(labels, vmi->meta.labels.v[i].key, vmi->meta.labels.v[i].value);
    json_object_object_del(labels, KVMIG__MARK);
    kvmig__json_add_str(labels, KVMIG__MARK, d->mark);
    kvmig__json_add_str(kvmig__json_child(selectors, "namespaceSelector"), "kubernetes.io/metadata.name", d->ns);
}

static void add_switch(struct json_object *spec, const char *key, int32_t value)
{
    if (value >= 0)
        kvmig__json_add_bool(spec, key, value != 0);
}

/* What the policy that would have won says of things that the plan does not ask for. */
static void add_inherited(const struct kvmig__kube_driver *d, struct json_object *spec)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);
    const struct kvmig__kube_policy *winner = NULL;
    struct kvmig__kube_config now;

    if (!vmi)
        return;
    kvmig__kube_config_for(kvmig__kube_store(d), vmi, &now, &winner);
    kvmig__kube_config_clear(&now);
    if (!winner)
        return;
    kvmig__json_add_u64(spec, "completionTimeoutPerGiB", winner->config.completion_s_per_gb);
    kvmig__json_add_u64(spec, "maxDowntimeMs", winner->config.max_downtime_ms);
    if (winner->config.bandwidth != KVMIG__UNKNOWN) {
        char *bandwidth = kvmig__asprintf("%" PRIu64, winner->config.bandwidth);

        kvmig__json_add_str(spec, "bandwidthPerMigration", bandwidth);
        free(bandwidth);
    }
    add_switch(spec, "allowWorkloadDisruption", winner->config.workload_disruption);
}

static void add_wishes(const struct kvmig__kube_driver *d, struct json_object *spec)
{
    const struct kvmig__request *request = &d->plan->request;

    if (request->bandwidth_mib) {
        char *bandwidth = kvmig__asprintf("%" PRIu64 "Mi", request->bandwidth_mib);

        json_object_object_del(spec, "bandwidthPerMigration");
        kvmig__json_add_str(spec, "bandwidthPerMigration", bandwidth);
        free(bandwidth);
    }
    /* Both are consents: what was not given is not inherited either. */
    kvmig__json_add_bool(spec, "allowAutoConverge", (request->flags & KVMIG_PLAN_AUTO_CONVERGE) != 0);
    kvmig__json_add_bool(spec, "allowPostCopy", (request->flags & KVMIG_PLAN_ALLOW_POSTCOPY) != 0);
}

static char *new_policy(const struct kvmig__kube_driver *d)
{
    struct json_object *policy = kvmig__json_new("apiVersion", kvmig__kube_kind_info(KVMIG__KUBE_POLICY)->api_version);
    struct json_object *meta, *spec;

    kvmig__json_add_str(policy, "kind", kvmig__kube_kind_info(KVMIG__KUBE_POLICY)->kind);
    meta = kvmig__json_child(policy, "metadata");
    kvmig__json_add_str(meta, "name", d->policy.name);
    kvmig__json_add_str(kvmig__json_child(meta, "annotations"), KVMIG__MARK, d->mark);
    spec = kvmig__json_child(policy, "spec");
    add_selectors(d, spec);
    add_inherited(d, spec);
    add_wishes(d, spec);
    return kvmig__json_take_string(policy);
}

/* ---- making it ---- */

static void post_policy(struct kvmig__kube_driver *d);

static const char *mark_of(struct json_object *policy)
{
    return kvmig__json_text(kvmig__json_at(policy, "metadata.annotations"), KVMIG__MARK);
}

static const char *uid_of(struct json_object *policy)
{
    return kvmig__json_text(kvmig__json_at(policy, "metadata"), "uid");
}

static void fail(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    kvmig__kube_fail_soon(d, kvmig__kube_denied_error(d, answer, MAKE_POLICY, "create", POLICIES));
}

static void made(struct kvmig__kube_driver *d, struct json_object *policy)
{
    kvmig__str_set(&d->policy.uid, uid_of(policy));
    kvmig__kube_backend_learn(d->backend, policy);
    if (kvmig__kube_moves_volumes(d))
        kvmig__kube_volumes_change(d);
    else
        kvmig__kube_admit_create(d);
}

static void stale_deleted(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    if (answer->error && answer->status != 404)
        fail(d, answer);
    else
        post_policy(d);
}

/* There is one of that name: ours, if an answer was lost; or the leftover of a session that died, for the dry run
 * has just shown that no other migration of the VM is under way. */
static void existing_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *policy = answer->error ? NULL : kvmig__answer_json(answer);
    const char *mark = mark_of(policy);

    if (answer->error && answer->status != 404) {
        fail(d, answer);
    } else if (answer->error) {
        post_policy(d);
    } else if (kvmig__str_eq(mark, d->mark)) {
        made(d, policy);
    } else if (mark) {
        kvmig__errand_go(&d->act, "DELETE", kvmig__kube_path(KVMIG__KUBE_POLICY, NULL, d->policy.name),
                         kvmig__delete_options(uid_of(policy)), NULL, d->limits.step_ms, stale_deleted);
    } else {
        d->policy.wanted = false;
        kvmig__kube_fail_soon(d, kvmig__error_new(EEXIST, d->policy.name, NULL, "Rename or delete it.",
                                                  "migration policy %s is there already, and no session made it",
                                                  d->policy.name));
    }
    json_object_put(policy);
}

static void posted(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *policy = answer->error ? NULL : kvmig__answer_json(answer);

    if (answer->status == 409)
        kvmig__errand_go(&d->act, "GET", kvmig__kube_path(KVMIG__KUBE_POLICY, NULL, d->policy.name), NULL, NULL,
                         d->limits.step_ms, existing_read);
    else if (answer->error)
        fail(d, answer);
    else
        made(d, policy);
    json_object_put(policy);
}

static void post_policy(struct kvmig__kube_driver *d)
{
    kvmig__errand_go(&d->act, "POST", kvmig__kube_path(KVMIG__KUBE_POLICY, NULL, NULL), new_policy(d), NULL,
                     d->limits.step_ms, posted);
}

static void labelled(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    if (answer->error) {
        kvmig__kube_fail_soon(d, kvmig__kube_denied_error(d, answer, "label the VM for a temporary migration policy",
                                                          "patch", "virtualmachineinstances.kubevirt.io"));
        return;
    }
    d->policy.wanted = true;
    d->policy.policy_item = kvmig__kube_ledger_add(d, "migration policy", d->policy.name);
    kvmig__kube_checkpoint(d);
    post_policy(d);
}

void kvmig__kube_policy_make(struct kvmig__kube_driver *d)
{
    char *label = kvmig__asprintf("%s/%s: " KVMIG__MARK "=%s", d->ns, d->vmi, d->mark);

    free(d->policy.name);
    d->policy.name = kvmig__asprintf("kvmig-%s", d->vmi_uid);
    d->policy.labelled = true;
    d->policy.label_item = kvmig__kube_ledger_add(d, "VM label", label);
    free(label);
    kvmig__kube_checkpoint(d);
    kvmig__errand_go(&d->act, "PATCH", kvmig__kube_path(KVMIG__KUBE_VMI, d->ns, d->vmi), label_patch(d, true),
                     MERGE_PATCH, d->limits.step_ms, labelled);
}

void kvmig__kube_policy_look(struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);

    if (!d->policy.wanted || d->policy.told || !d->follow.handed_off || !vmi ||
        !kvmig__str_eq(vmi->migration.uid, d->vmim_uid))
        return;
    d->policy.told = true;
    if (!kvmig__str_eq(vmi->migration.policy, d->policy.name))
        kvmig__kube_remark(d, "POLICY_NOT_APPLIED", KVMIG_SEVERITY_WARN, NULL,
                           "Look whether the VM's labels changed while the migration was started.",
                           "the migration runs with policy %s instead of the temporary one",
                           vmi->migration.policy ? vmi->migration.policy : "none");
}

/* ---- removing it ---- */

static void part_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer, size_t item, const char *what,
                      const char *resource)
{
    struct kvmig_error *error;

    if (!answer->error || answer->status == 404 || answer->status == 409) {
        kvmig__kube_ledger_set(d, item, "undone");
        return;
    }
    error = kvmig__kube_denied_error(d, answer, what, "patch and delete", resource);
    kvmig__kube_ledger_failed(d, item, error);
    kvmig__kube_leftover(d, error);
}

static void label_removed(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    part_done(d, answer, d->policy.label_item, "remove the label from the VM", "virtualmachineinstances.kubevirt.io");
    d->policy.labelled = false;
    d->policy.part = READ_POLICY;
}

static void policy_deleted(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    part_done(d, answer, d->policy.policy_item, "remove the temporary migration policy", POLICIES);
    d->policy.wanted = false;
    d->policy.part = REMOVED;
    kvmig__kube_checkpoint(d);
}

/* One that is not ours any more is none of our business. */
static void policy_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *policy = answer->error ? NULL : kvmig__answer_json(answer);

    if (policy && kvmig__str_eq(mark_of(policy), d->mark)) {
        kvmig__str_set(&d->policy.uid, uid_of(policy));
        d->policy.part = DELETE_POLICY;
    } else {
        policy_deleted(d, answer);
    }
    json_object_put(policy);
}

/* The label goes first: then the policy selects nothing, even if it cannot be deleted. */
bool kvmig__kube_policy_remove(struct kvmig__kube_driver *d)
{
    if (kvmig__errand_busy(&d->act))
        return false;
    if (d->policy.part == REMOVE_LABEL && !d->policy.labelled)
        d->policy.part = READ_POLICY;
    if (d->policy.part == READ_POLICY && !d->policy.wanted)
        d->policy.part = REMOVED;
    switch (d->policy.part) {
    case REMOVE_LABEL:
        kvmig__errand_go(&d->act, "PATCH", kvmig__kube_path(KVMIG__KUBE_VMI, d->ns, d->vmi), label_patch(d, false),
                         MERGE_PATCH, d->limits.step_ms, label_removed);
        return false;
    case READ_POLICY:
        kvmig__errand_go(&d->act, "GET", kvmig__kube_path(KVMIG__KUBE_POLICY, NULL, d->policy.name), NULL, NULL,
                         d->limits.step_ms, policy_read);
        return false;
    case DELETE_POLICY:
        kvmig__errand_go(&d->act, "DELETE", kvmig__kube_path(KVMIG__KUBE_POLICY, NULL, d->policy.name),
                         kvmig__delete_options(d->policy.uid), NULL, d->limits.step_ms, policy_deleted);
        return false;
    default:
        return true;
    }
}
