/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The temporary MigrationPolicy: a label that only this VM has, a policy that selects it, and the removal of both,
 * whatever happens. In dispatch, with the context lock held.
 *
 * The label is also a lock: one session at a time has it. It is put on only where there is none, and taken off only
 * where it is ours. Beside it stands until when its session may need it; after that, the session has died, and the
 * next one takes the label over and removes the policy that was left.
 *
 * Policies are chosen by how many labels they select, so ours selects all labels of the VM that stay as they are:
 * then no other one can win. What the policy that would have won says is taken over, but for what the plan asks for.
 */
#include "kubernetes/driver_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define JSON_PATCH "application/json-patch+json"
#define LABEL "/metadata/labels/kvmig~1session"
#define UNTIL "kvmig/session-until" /* annotation of the VMI: when the label has lost its meaning, s since 1970 */
#define UNTIL_PATH "/metadata/annotations/kvmig~1session-until"
#define CLOCKS_S 300 /* how far the clocks of two hosts may be apart */
#define TRIES 5 /* patches that meet a VMI which somebody else has just changed */
#define LABEL_VM "label the VM for a temporary migration policy"
#define VMIS "virtualmachineinstances.kubevirt.io"
#define MAKE_POLICY "create a temporary migration policy"
#define POLICIES "migrationpolicies.migrations.kubevirt.io"

enum removal { READ_LABEL, READ_POLICY, REMOVED };

/* ---- bodies ---- */

static const char *label_of(struct json_object *vmi)
{
    return kvmig__json_text(kvmig__json_at(vmi, "metadata.labels"), KVMIG__MARK);
}

static void add_test(struct json_object *patch, const char *path, const char *value)
{
    kvmig__patch_add(patch, "test", kvmig__strdup(path), json_object_new_string(value));
}

static void set_member(struct json_object *patch, struct json_object *meta, const char *map, const char *path,
                       const char *value)
{
    if (!kvmig__json_at(meta, map))
        kvmig__patch_add(patch, "add", kvmig__asprintf("/metadata/%s", map), json_object_new_object());
    kvmig__patch_add(patch, "add", kvmig__strdup(path), json_object_new_string(value));
}

/* Options are read at the hand-off: until then the label is needed. */
static int64_t needed_until_s(const struct kvmig__kube_driver *d)
{
    const int64_t *by = d->base.step_by_ms;

    return (kvmig__wall_ms() + by[KVMIG__STEP_ADMIT] + by[KVMIG__STEP_SCHEDULE] + by[KVMIG__STEP_PREPARE]) / 1000 +
           CLOCKS_S;
}

/* Holds only for the VMI as it was read: nobody else has labelled it since. Owned. */
static char *label_patch(const struct kvmig__kube_driver *d, struct json_object *vmi)
{
    struct json_object *patch = json_object_new_array(), *meta = kvmig__json_at(vmi, "metadata");
    const char *version = kvmig__json_text(meta, "resourceVersion");
    char *until = kvmig__asprintf("%" PRId64, needed_until_s(d));

    add_test(patch, "/metadata/uid", d->vmi_uid);
    if (version)
        add_test(patch, "/metadata/resourceVersion", version);
    set_member(patch, meta, "labels", LABEL, d->mark);
    set_member(patch, meta, "annotations", UNTIL_PATH, until);
    free(until);
    return kvmig__json_take_string(patch);
}

/* Holds only while the label is ours. Owned. */
static char *unlabel_patch(const struct kvmig__kube_driver *d, struct json_object *vmi)
{
    struct json_object *patch = json_object_new_array();

    add_test(patch, "/metadata/uid", d->vmi_uid);
    add_test(patch, LABEL, d->mark);
    kvmig__patch_add(patch, "remove", kvmig__strdup(LABEL), NULL);
    if (kvmig__json_text(kvmig__json_at(vmi, "metadata.annotations"), UNTIL))
        kvmig__patch_add(patch, "remove", kvmig__strdup(UNTIL_PATH), NULL);
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
    kvmig__kube_fail_soon(d, answer->error ? kvmig__kube_denied_error(d, answer, MAKE_POLICY, "create", POLICIES)
                                           : kvmig__error_new(EBADMSG, "kvmig_session", NULL, NULL,
                                                              "could not " MAKE_POLICY ": the answer is no policy"));
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

static void not_ours(struct kvmig__kube_driver *d)
{
    d->policy.wanted = false;
    kvmig__kube_ledger_set(d, d->policy.policy_item, "undone");
    kvmig__kube_fail_soon(d, kvmig__error_new(EEXIST, d->policy.name, NULL, "Rename or delete it.",
                                              "migration policy %s is there already, and no session made it",
                                              d->policy.name));
}

/* There is one of that name, which nobody else uses: ours, if an answer was lost. */
static void existing_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *policy = kvmig__answer_object(answer, KVMIG__KUBE_POLICY);

    if (policy && kvmig__str_eq(mark_of(policy), d->mark))
        made(d, policy);
    else if (policy)
        not_ours(d);
    else if (kvmig__answer_absent(answer, KVMIG__KUBE_POLICY, d->policy.name) && ++d->policy.tries < TRIES)
        post_policy(d);
    else
        fail(d, answer);
    json_object_put(policy);
}

static void posted(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *policy = kvmig__answer_object(answer, KVMIG__KUBE_POLICY);

    if (policy) {
        made(d, policy);
    } else if (!answer->error || answer->status == 409) {
        kvmig__errand_go(&d->act, "GET", kvmig__kube_path(KVMIG__KUBE_POLICY, NULL, d->policy.name), NULL, NULL,
                         d->limits.step_ms, existing_read);
    } else {
        if (kvmig__answer_is_refusal(answer) && d->act.sent == 1) {
            d->policy.wanted = false; /* there is none */
            kvmig__kube_ledger_set(d, d->policy.policy_item, "undone");
        }
        fail(d, answer);
    }
    json_object_put(policy);
}

static void post_policy(struct kvmig__kube_driver *d)
{
    kvmig__errand_go(&d->act, "POST", kvmig__kube_path(KVMIG__KUBE_POLICY, NULL, NULL), new_policy(d), NULL,
                     d->limits.step_ms, posted);
}

static void create_policy(struct kvmig__kube_driver *d)
{
    d->policy.wanted = true;
    d->policy.policy_item = kvmig__kube_ledger_add(d, "migration policy", d->policy.name);
    kvmig__kube_checkpoint(d);
    post_policy(d);
}

/* ---- what a session that died has left ---- */

static char *policy_name(const struct kvmig__kube_driver *d, const char *mark)
{
    return kvmig__asprintf("kvmig-%s-%s", d->vmi_uid, mark);
}

/* It selects nothing any more, so it does no harm. */
static void dead_stays(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    char *name = policy_name(d, d->policy.dead), *object = kvmig__asprintf("policy/%s", name);

    kvmig__kube_remark(d, "LEFTOVER_POLICY", KVMIG_SEVERITY_WARN, object, "Delete it by hand; it selects nothing.",
                       "migration policy %s, which session %s has left behind, could not be removed: %s", name,
                       d->policy.dead, answer->error ? kvmig__answer_text(answer) : "the answer is no policy");
    free(object);
    free(name);
}

static void dead_deleted(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    char *name = policy_name(d, d->policy.dead);

    if (answer->error && answer->status != 409 && !kvmig__answer_absent(answer, KVMIG__KUBE_POLICY, name))
        dead_stays(d, answer);
    free(name);
    create_policy(d);
}

static void dead_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *policy = kvmig__answer_object(answer, KVMIG__KUBE_POLICY);

    if (policy && kvmig__str_eq(mark_of(policy), d->policy.dead)) {
        char *name = policy_name(d, d->policy.dead);

        kvmig__errand_go(&d->act, "DELETE", kvmig__kube_path(KVMIG__KUBE_POLICY, NULL, name),
                         kvmig__delete_options(uid_of(policy)), NULL, d->limits.step_ms / 4, dead_deleted);
        free(name);
    } else {
        dead_deleted(d, policy ? &(struct kvmig__answer){ 0 } : answer);
    }
    json_object_put(policy);
}

static void labelled(struct kvmig__kube_driver *d)
{
    char *name;

    if (!d->policy.dead) {
        create_policy(d);
        return;
    }
    name = policy_name(d, d->policy.dead);
    kvmig__errand_go(&d->act, "GET", kvmig__kube_path(KVMIG__KUBE_POLICY, NULL, name), NULL, NULL,
                     d->limits.step_ms / 4, dead_read);
    free(name);
}

/* ---- the label ---- */

static void read_label(struct kvmig__kube_driver *d);

static void no_label(struct kvmig__kube_driver *d)
{
    d->policy.labelled = false;
    kvmig__kube_ledger_set(d, d->policy.label_item, "undone");
}

static void label_fails(struct kvmig__kube_driver *d, const struct kvmig__answer *answer, const char *verb)
{
    if (answer->error)
        kvmig__kube_fail_soon(d, kvmig__kube_denied_error(d, answer, LABEL_VM, verb, VMIS));
    else
        kvmig__kube_fail_soon(
            d, kvmig__error_new(EBADMSG, "kvmig_session", NULL, NULL, "could not " LABEL_VM ": the answer is no VMI"));
}

static void label_sent(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    if (!answer->error) {
        labelled(d);
    } else if ((answer->status == 409 || answer->status == 422) && ++d->policy.tries < TRIES) {
        read_label(d); /* it may also be that it is there, and the answer was lost */
    } else {
        if (kvmig__answer_is_refusal(answer) && d->act.sent == 1)
            no_label(d);
        label_fails(d, answer, "patch");
    }
}

static void send_label(struct kvmig__kube_driver *d, struct json_object *vmi)
{
    if (!d->policy.labelled) {
        char *name = kvmig__asprintf("%s/%s: " KVMIG__MARK "=%s", d->ns, d->vmi, d->mark);

        d->policy.labelled = true;
        if (d->policy.label_item == KVMIG__NO_ITEM)
            d->policy.label_item = kvmig__kube_ledger_add(d, "VM label", name);
        free(name);
        kvmig__kube_checkpoint(d);
    }
    kvmig__errand_go(&d->act, "PATCH", kvmig__kube_path(KVMIG__KUBE_VMI, d->ns, d->vmi), label_patch(d, vmi),
                     JSON_PATCH, d->limits.step_ms, label_sent);
}

/* Its session may live: that it is not needed any more is proven by its own word only. */
static bool is_dead(struct json_object *vmi)
{
    const char *until = kvmig__json_text(kvmig__json_at(vmi, "metadata.annotations"), UNTIL);
    char *end = NULL;
    const int64_t until_s = until ? strtoll(until, &end, 10) : 0;

    return until && end != until && !*end && kvmig__wall_ms() / 1000 > until_s;
}

static void is_busy(struct kvmig__kube_driver *d, const char *mark)
{
    char *where = kvmig__kube_where(d);

    no_label(d);
    kvmig__kube_fail_soon(d, kvmig__error_new(EBUSY, where, mark,
                                              "Wait until it has ended. If it has died, remove the label " KVMIG__MARK
                                              " from the VMI by hand.",
                                              "session %s has a temporary migration policy for VM %s/%s", mark, d->ns,
                                              d->vmi));
    free(where);
}

static void label_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vmi = kvmig__answer_object(answer, KVMIG__KUBE_VMI);
    const char *label = label_of(vmi);

    if (!vmi || !kvmig__str_eq(uid_of(vmi), d->vmi_uid)) {
        label_fails(d, answer, "get");
    } else if (kvmig__str_eq(label, d->mark)) {
        labelled(d);
    } else if (label && !is_dead(vmi)) {
        is_busy(d, label);
    } else {
        kvmig__str_set(&d->policy.dead, label);
        send_label(d, vmi);
    }
    json_object_put(vmi);
}

static void read_label(struct kvmig__kube_driver *d)
{
    kvmig__errand_go(&d->act, "GET", kvmig__kube_path(KVMIG__KUBE_VMI, d->ns, d->vmi), NULL, NULL, d->limits.step_ms,
                     label_read);
}

void kvmig__kube_policy_make(struct kvmig__kube_driver *d)
{
    free(d->policy.name);
    d->policy.name = policy_name(d, d->mark);
    d->policy.tries = 0;
    read_label(d);
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

/* LOCATE has to find the guest, and does not wait long for this. */
static int64_t removal_ms(const struct kvmig__kube_driver *d)
{
    return d->step == KVMIG__STEP_LOCATE ? d->limits.resolve_ms / 8 : d->limits.step_ms;
}

static void struck(struct kvmig__kube_driver *d, bool *flag, size_t item, int32_t next)
{
    *flag = false;
    d->policy.part = next;
    kvmig__kube_ledger_set(d, item, "undone");
    kvmig__kube_checkpoint(d);
}

/* What could not be removed stays noted. LOCATE has other things to do, and leaves it to the step that follows; that
 * one tries until its time is over, unless the server refuses. */
static void stays_for_now(struct kvmig__kube_driver *d, const struct kvmig__answer *answer, size_t item,
                          const char *what, const char *resource, int32_t next)
{
    struct kvmig_error *error =
        answer->error ? kvmig__kube_denied_error(d, answer, what, "patch and delete", resource)
                      : kvmig__error_new(EBADMSG, "kvmig_session", NULL, NULL, "could not %s: bad answer", what);

    kvmig__kube_ledger_failed(d, item, error);
    if (kvmig__answer_is_refusal(answer)) {
        d->policy.part = next;
        if (d->step != KVMIG__STEP_LOCATE)
            kvmig__kube_leftover(d, kvmig__error_copy(error));
    } else if (d->step == KVMIG__STEP_LOCATE) {
        d->policy.put_off = true;
    } else {
        kvmig__errand_pause(&d->act);
    }
    kvmig__error_free(error);
}

static void label_stays(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    stays_for_now(d, answer, d->policy.label_item, "remove the label from the VM", VMIS, READ_POLICY);
}

static void label_removed(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    if (!answer->error || kvmig__answer_absent(answer, KVMIG__KUBE_VMI, d->vmi))
        struck(d, &d->policy.labelled, d->policy.label_item, READ_POLICY);
    else if ((answer->status == 409 || answer->status == 422) && ++d->policy.tries < TRIES)
        return; /* it was changed since it was read: the next look reads it again */
    else
        label_stays(d, answer);
}

/* The label of a later VMI of that name, or of another session, is none of our business. */
static void labelled_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vmi = kvmig__answer_object(answer, KVMIG__KUBE_VMI);

    if (vmi && kvmig__str_eq(uid_of(vmi), d->vmi_uid) && kvmig__str_eq(label_of(vmi), d->mark))
        kvmig__errand_go(&d->act, "PATCH", kvmig__kube_path(KVMIG__KUBE_VMI, d->ns, d->vmi), unlabel_patch(d, vmi),
                         JSON_PATCH, removal_ms(d), label_removed);
    else if (vmi || kvmig__answer_absent(answer, KVMIG__KUBE_VMI, d->vmi))
        struck(d, &d->policy.labelled, d->policy.label_item, READ_POLICY);
    else
        label_stays(d, answer);
    json_object_put(vmi);
}

static void policy_stays(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    stays_for_now(d, answer, d->policy.policy_item, "remove the temporary migration policy", POLICIES, REMOVED);
}

static void policy_deleted(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    /* 409: by now another one has that name. */
    if (!answer->error || answer->status == 409 || kvmig__answer_absent(answer, KVMIG__KUBE_POLICY, d->policy.name))
        struck(d, &d->policy.wanted, d->policy.policy_item, REMOVED);
    else
        policy_stays(d, answer);
}

/* One that is not ours any more is none of our business. */
static void policy_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *policy = kvmig__answer_object(answer, KVMIG__KUBE_POLICY);

    if (policy && kvmig__str_eq(mark_of(policy), d->mark)) {
        kvmig__str_set(&d->policy.uid, uid_of(policy));
        kvmig__errand_go(&d->act, "DELETE", kvmig__kube_path(KVMIG__KUBE_POLICY, NULL, d->policy.name),
                         kvmig__delete_options(d->policy.uid), NULL, removal_ms(d), policy_deleted);
    } else if (policy || kvmig__answer_absent(answer, KVMIG__KUBE_POLICY, d->policy.name)) {
        struck(d, &d->policy.wanted, d->policy.policy_item, REMOVED);
    } else {
        policy_stays(d, answer);
    }
    json_object_put(policy);
}

/* The label goes first: then the policy selects nothing, even if it cannot be deleted. */
bool kvmig__kube_policy_remove(struct kvmig__kube_driver *d)
{
    if (kvmig__errand_busy(&d->act))
        return false;
    if (d->policy.part == READ_LABEL && !d->policy.labelled)
        d->policy.part = READ_POLICY;
    if (d->policy.part == READ_POLICY && !d->policy.wanted)
        d->policy.part = REMOVED;
    if (d->policy.part == REMOVED || d->policy.put_off)
        return true;
    if (d->policy.part == READ_LABEL)
        kvmig__errand_go(&d->act, "GET", kvmig__kube_path(KVMIG__KUBE_VMI, d->ns, d->vmi), NULL, NULL, removal_ms(d),
                         labelled_read);
    else
        kvmig__errand_go(&d->act, "GET", kvmig__kube_path(KVMIG__KUBE_POLICY, NULL, d->policy.name), NULL, NULL,
                         removal_ms(d), policy_read);
    return false;
}
