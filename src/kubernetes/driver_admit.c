/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The step ADMIT: asks the server whether it would take the migration (a dry run), creates the VMIM, and follows it
 * until it has left Pending; or takes up the one of another session or of somebody else. A POST whose answer was lost
 * is never repeated before it was looked for: the VMIM carries our mark. In dispatch, with the context lock held.
 */
#include "kubernetes/driver_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOKUP_WAIT_MS 1000 /* a request that was cut off may still be on its way into the store */
#define LOOKUPS 2 /* that find nothing, before the POST is repeated */
#define START_MIGRATION "start a migration of the VM"

static bool is_withdrawn(struct kvmig__kube_driver *d)
{
    if (d->back.wanted)
        kvmig__kube_fail_soon(d, kvmig__kube_cancelled_error(d));
    return d->back.wanted;
}

/* ---- the object ---- */

static void add_target(const struct kvmig__kube_driver *d, struct json_object *spec)
{
    const struct kvmig__kube_node *node;
    const char *name = d->plan->target, *label;

    if (!name || (d->plan->request.flags & KVMIG_PLAN_ANY_TARGET))
        return;
    node = KVMIG__KUBE_FIND(kvmig__kube_store(d), NODE, NULL, name);
    label = node ? kvmig__pairs_get(&node->meta.labels, "kubernetes.io/hostname") : NULL;
    kvmig__json_add_str(kvmig__json_child(spec, "addedNodeSelector"), "kubernetes.io/hostname", label ? label : name);
}

static char *new_vmim(const struct kvmig__kube_driver *d)
{
    struct json_object *vmim = kvmig__json_new("apiVersion", kvmig__kube_kind_info(KVMIG__KUBE_VMIM)->api_version);
    struct json_object *meta, *spec;

    kvmig__json_add_str(vmim, "kind", kvmig__kube_kind_info(KVMIG__KUBE_VMIM)->kind);
    meta = kvmig__json_child(vmim, "metadata");
    kvmig__json_add_str(meta, "generateName", "kvmig-");
    kvmig__json_add_str(meta, "namespace", d->ns);
    kvmig__json_add_str(kvmig__json_child(meta, "annotations"), KVMIG__MARK, d->mark);
    spec = kvmig__json_child(vmim, "spec");
    kvmig__json_add_str(spec, "vmiName", d->vmi);
    add_target(d, spec);
    return kvmig__json_take_string(vmim);
}

static char *vmims_path(const struct kvmig__kube_driver *d, const char *query)
{
    char *base = kvmig__kube_path(KVMIG__KUBE_VMIM, d->ns, NULL), *path = kvmig__asprintf("%s%s", base, query);

    free(base);
    return path;
}

/* ---- it is there ---- */

void kvmig__kube_bind(struct kvmig__kube_driver *d, const char *name, const char *uid)
{
    kvmig__str_set(&d->vmim, name);
    kvmig__str_set(&d->vmim_uid, uid);
    d->maybe_posted = false;
    if (d->following)
        kvmig__follow_bind(&d->follow, name, uid);
}

void kvmig__kube_following(struct kvmig__kube_driver *d)
{
    d->admit = KVMIG__ADMIT_FOLLOWING;
    if (d->step == KVMIG__STEP_ADMIT)
        kvmig__timer_arm_in(&d->step_timer, d->wishes->pending_ms);
    kvmig__kube_look_soon(d);
}

static bool take_ours(struct kvmig__kube_driver *d, struct json_object *vmim)
{
    struct json_object *meta = kvmig__json_at(vmim, "metadata");
    const char *name = kvmig__json_text(meta, "name"), *uid = kvmig__json_text(meta, "uid");
    char *full;

    if (!name || !uid)
        return false;
    kvmig__kube_backend_learn(d->backend, vmim);
    kvmig__kube_bind(d, name, uid);
    if (d->vmim_item == KVMIG__NO_ITEM) {
        full = kvmig__asprintf("%s/%s", d->ns, name);
        d->vmim_item = kvmig__kube_ledger_add(d, "migration", full);
        free(full);
    }
    kvmig__kube_checkpoint(d);
    kvmig__log(d->context, KVMIG_LOG_INFO, "kubernetes", "%s: migration %s/%s of VM %s", kvmig__session_id(d->session),
               d->ns, name, d->vmi);
    return true;
}

/* ---- looking for it ---- */

static bool is_ours(const struct kvmig__kube_driver *d, struct json_object *vmim)
{
    struct json_object *annotations = kvmig__json_at(vmim, "metadata.annotations");

    return kvmig__str_eq(kvmig__json_text(annotations, KVMIG__MARK), d->mark);
}

/* The one of a list of VMIMs that carries our mark; borrowed; NULL if there is none. */
static struct json_object *find_ours(const struct kvmig__kube_driver *d, struct json_object *list)
{
    struct json_object *items = kvmig__json_at(list, "items");

    for (size_t i = 0; items && json_object_is_type(items, json_type_array) && i < json_object_array_length(items); i++)
        if (is_ours(d, json_object_array_get_idx(items, i)))
            return json_object_array_get_idx(items, i);
    return NULL;
}

static void lookup_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *list = answer->error ? NULL : kvmig__answer_json(answer), *ours = find_ours(d, list);

    if (ours)
        take_ours(d, ours);
    if (!answer->error && !ours)
        d->lookups++;
    json_object_put(list);
    d->lookup_done(d, answer->error);
}

void kvmig__kube_find_ours(struct kvmig__kube_driver *d,
                           void (*done)(struct kvmig__kube_driver *, const struct kvmig_error *))
{
    d->lookup_done = done;
    kvmig__errand_go(&d->act, "GET", vmims_path(d, ""), NULL, NULL, d->limits.step_ms, lookup_done);
}

/* ---- creating it ---- */

static void post(struct kvmig__kube_driver *d);

static void lookup_again(struct kvmig__kube_driver *d, const struct kvmig__answer *answer);

static void looked_up(struct kvmig__kube_driver *d, const struct kvmig_error *error)
{
    if (d->vmim) {
        kvmig__kube_following(d);
        return;
    }
    if (error) {
        kvmig__kube_fail_soon(
            d, kvmig__error_new(KVMIG_EUNKNOWN, "kvmig_session", error->message,
                                "Look for a VMIM with our annotation kvmig/session; it is withdrawn if the "
                                "server answers in time.",
                                "it is not known whether the migration was created: %s",
                                kvmig_error_message(d->post_error)));
        return;
    }
    if (d->lookups < LOOKUPS) {
        kvmig__errand_wait(&d->act, LOOKUP_WAIT_MS, lookup_again);
        return;
    }
    d->maybe_posted = false;
    if (d->post_is_final)
        kvmig__kube_fail_soon(d, kvmig__error_copy(d->post_error));
    else if (!is_withdrawn(d))
        post(d);
}

static void lookup_again(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    (void)answer;
    kvmig__kube_find_ours(d, looked_up);
}

static void post_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vmim = answer->error ? NULL : kvmig__answer_json(answer);
    const bool taken = vmim && take_ours(d, vmim);

    json_object_put(vmim);
    if (taken) {
        kvmig__kube_following(d);
        return;
    }
    kvmig__error_free(d->post_error);
    d->post_error = answer->error ? kvmig__kube_denied_error(d, answer, START_MIGRATION, "create",
                                                             "virtualmachineinstancemigrations.kubevirt.io")
                                  : kvmig__error_new(EBADMSG, "kvmig_session", NULL, NULL,
                                                     "the server's answer to the creation is no object");
    /* A refusal is final, but for the one that our own migration may be the reason of: something on the way may have sent the
     * request twice. */
    d->post_is_final = answer->error && !kvmig__answer_is_trouble(answer);
    if (d->post_is_final && d->posts == 1 && !kvmig__answer_is_in_flight(answer)) {
        d->maybe_posted = false;
        kvmig__kube_fail_soon(d, kvmig__error_copy(d->post_error));
        return;
    }
    d->lookups = d->post_is_final ? LOOKUPS - 1 : 0;
    kvmig__kube_find_ours(d, looked_up);
}

static void post(struct kvmig__kube_driver *d)
{
    if (kvmig__now_ms() >= d->admit_by_ms) {
        kvmig__kube_fail_soon(d, kvmig__error_copy(d->post_error));
        return;
    }
    d->posts++;
    d->maybe_posted = true;
    d->admit = KVMIG__ADMIT_POSTING;
    kvmig__errand_go_once(&d->act, "POST", vmims_path(d, ""), new_vmim(d), d->limits.step_ms, post_done);
}

void kvmig__kube_admit_create(struct kvmig__kube_driver *d)
{
    if (is_withdrawn(d))
        return;
    d->posts = 0;
    d->maybe_posted = true; /* in the token: whoever takes over has to look for it */
    kvmig__kube_checkpoint(d);
    post(d);
}

static void dry_run_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    if (is_withdrawn(d))
        return;
    if (answer->error)
        kvmig__kube_fail_soon(d, kvmig__kube_denied_error(d, answer, START_MIGRATION, "create",
                                                          "virtualmachineinstancemigrations.kubevirt.io"));
    else if (d->wishes->flags & KVMIG_SESSION_TEMPORARY_POLICY)
        kvmig__kube_policy_make(d);
    else
        kvmig__kube_admit_create(d);
}

/* ---- taking one up ---- */

static const struct kvmig__kube_vmim *vmim_to_attach(const struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);
    const char *name = d->wishes->attach, *slash = strchr(name, '/');

    if (!*name) {
        const struct kvmig__kube_vmim *vmim = vmi ? kvmig__kube_vmim_of(kvmig__kube_store(d), vmi) : NULL;

        return vmim && !kvmig__vmim_is_final(vmim) ? vmim : NULL;
    }
    return KVMIG__KUBE_FIND(kvmig__kube_store(d), VMIM, d->ns, slash ? slash + 1 : name);
}

static void attach(struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmim *vmim = vmim_to_attach(d);
    char *where = kvmig__kube_where(d);

    d->attached = true;
    if (vmim && kvmig__str_eq(vmim->vmi, d->vmi)) {
        kvmig__kube_bind(d, vmim->meta.name, vmim->meta.uid);
        kvmig__kube_checkpoint(d);
        kvmig__kube_following(d);
    } else {
        kvmig__kube_fail_soon(d, kvmig__error_new(ENOENT, where, NULL, "Name a migration of this VM that is there.",
                                                  "VM %s/%s has no migration%s%s to follow", d->ns, d->vmi,
                                                  *d->wishes->attach ? " " : "", d->wishes->attach));
    }
    free(where);
}

static void resumed_lookup_done(struct kvmig__kube_driver *d, const struct kvmig_error *error)
{
    if (d->vmim) {
        kvmig__kube_following(d);
    } else if (error) {
        kvmig__kube_fail_soon(d, kvmig__error_copy(error));
    } else {
        d->maybe_posted = false;
        kvmig__kube_fail_soon(
            d, kvmig__error_new(ENOENT, "kvmig_session_resume", d->mark, "Start a new session.",
                                "the session ended before it had created its migration; nothing of it is "
                                "to be followed"));
    }
}

/* What the token names may be gone already: then its last state is that of the VMI. */
static void resumed_read_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vmim = answer->error ? NULL : kvmig__answer_json(answer);

    if (vmim)
        kvmig__kube_backend_learn(d->backend, vmim);
    json_object_put(vmim);
    if (answer->status == 404)
        d->follow.seen = d->follow.gone = true;
    else if (answer->error) {
        kvmig__kube_fail_soon(d, kvmig__error_copy(answer->error));
        return;
    }
    kvmig__kube_following(d);
}

static void resume(struct kvmig__kube_driver *d)
{
    struct kvmig_error *error = kvmig__kube_token_read(d, d->wishes->token);

    d->resumed = true;
    d->admit = KVMIG__ADMIT_ASKING;
    if (error) {
        kvmig__kube_fail_soon(d, error);
        return;
    }
    kvmig__kube_follow_start(d);
    if (kvmig__json_text(d->wishes->token, "source"))
        kvmig__str_set(&d->follow.source_node, kvmig__json_text(d->wishes->token, "source"));
    kvmig__kube_checkpoint(d);
    if (d->vmim)
        kvmig__errand_go(&d->act, "GET", kvmig__kube_path(KVMIG__KUBE_VMIM, d->ns, d->vmim), NULL, NULL,
                         d->limits.step_ms, resumed_read_done);
    else if (kvmig__kube_moves_volumes(d))
        kvmig__kube_volumes_admit(d);
    else
        kvmig__kube_find_ours(d, resumed_lookup_done);
}

/* ---- the step ---- */

/* What would keep us from following a migration that we start; owned. NULL = nothing. */
static struct kvmig_error *cannot_follow(const struct kvmig__kube_driver *d)
{
    static const int32_t needed[] = { KVMIG__KUBE_VMI, KVMIG__KUBE_VMIM };
    char *where = kvmig__kube_where(d);
    struct kvmig_error *error = NULL;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(needed) && !error; i++)
        if (kvmig__kube_store(d)->kinds[needed[i]].known == KVMIG__KUBE_FORBIDDEN)
            error = kvmig__error_new(EPERM, where, NULL, "Grant the right to get, list and watch them.",
                                     "the account may not read %s, so a migration could not be followed",
                                     kvmig__kube_kind_info(needed[i])->plural);
    if (!error && !kvmig__kube_our_vmi(d))
        error = kvmig__error_new(KVMIG_ENOVM, where, d->vmi_uid, "Plan again.",
                                 "VM %s/%s of the plan does not run any more, or was started anew", d->ns, d->vmi);
    free(where);
    return error;
}

static void begin_request(struct kvmig__kube_driver *d)
{
    struct kvmig_error *error = cannot_follow(d);

    if (error) {
        kvmig__kube_fail_soon(d, error);
        return;
    }
    kvmig__kube_follow_start(d);
    if (d->wishes->attach)
        attach(d);
    else if (d->plan->request.volume_changes.n)
        kvmig__kube_volumes_admit(d);
    else
        kvmig__errand_go(&d->act, "POST", vmims_path(d, "?dryRun=All"), new_vmim(d), NULL, d->limits.step_ms,
                         dry_run_done);
}

void kvmig__kube_admit_begin(struct kvmig__kube_driver *d)
{
    d->admit = KVMIG__ADMIT_START;
    d->admit_by_ms = kvmig__now_ms() + 2 * d->limits.step_ms;
    kvmig__timer_arm(&d->step_timer, d->admit_by_ms);
}

static void follow_pending(struct kvmig__kube_driver *d)
{
    struct kvmig_error *error = kvmig__kube_moves_volumes(d) ? kvmig__kube_volumes_look(d) : NULL;

    if (error)
        kvmig__kube_step_failed(d, error);
    else if (kvmig__kube_has_ended_badly(d))
        kvmig__kube_step_failed(d, kvmig__kube_ended_error(d));
    else if (d->vmim && kvmig__kube_has_reached(d, KVMIG__STAGE_SCHEDULING))
        kvmig__kube_step_ok(d);
    else if (d->back.wanted && kvmig__kube_taken_back(d))
        kvmig__kube_step_failed(d, kvmig__kube_cancelled_error(d));
}

void kvmig__kube_admit_look(struct kvmig__kube_driver *d)
{
    if (d->admit == KVMIG__ADMIT_START) {
        d->admit = KVMIG__ADMIT_ASKING;
        if (d->wishes->token)
            resume(d);
        else
            begin_request(d);
    } else if (d->admit == KVMIG__ADMIT_ASKING && d->back.wanted) {
        kvmig__kube_step_failed(d, kvmig__kube_cancelled_error(d)); /* nothing was asked for yet that would last */
    } else if (d->admit == KVMIG__ADMIT_FOLLOWING) {
        follow_pending(d);
    }
}

void kvmig__kube_admit_due(struct kvmig__kube_driver *d)
{
    if (d->admit == KVMIG__ADMIT_FOLLOWING)
        kvmig__kube_step_failed(d, kvmig__kube_late_error(d, "pending_timeout_ms", d->wishes->pending_ms,
                                                          "the migration did not leave Pending"));
    else if (d->post_error)
        kvmig__kube_step_failed(d, kvmig__error_copy(d->post_error));
    else
        kvmig__kube_step_failed(d, kvmig__kube_late_error(d, "twice step_timeout_ms", 2 * d->limits.step_ms,
                                                          "the API server did not take the migration"));
}
