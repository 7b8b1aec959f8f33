/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The step ADMIT: asks the server whether it would take the migration (a dry run), creates the VMIM, and follows it
 * until it has left Pending; or takes up the one of another session or of somebody else. The VMIM's name is made from
 * the session's mark, so a POST that comes through twice makes one, and whether it came through is one question. In
 * dispatch, with the context lock held.
 */
#include "kubernetes/driver_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOKUP_WAIT_MS 1000 /* a request that was cut off may still be on its way into the store */
#define LOOKUPS 2 /* that find nothing, before the POST is repeated */
/* An API server gives up a request that writes after 34 s: one that was cut off comes through before that, or never. */
#define LATE_POST_MS 40000
#define START_MIGRATION "start a migration of the VM"

static bool is_withdrawn(struct kvmig__kube_driver *d)
{
    if (d->back.wanted)
        kvmig__kube_fail_soon(d, kvmig__kube_cancelled_error(d));
    return d->back.wanted;
}

/* ---- the object ---- */

static char *own_name(const struct kvmig__kube_driver *d)
{
    return kvmig__asprintf("kvmig-%s", d->mark);
}

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
    char *name = own_name(d);

    kvmig__json_add_str(vmim, "kind", kvmig__kube_kind_info(KVMIG__KUBE_VMIM)->kind);
    meta = kvmig__json_child(vmim, "metadata");
    kvmig__json_add_str(meta, "name", name);
    kvmig__json_add_str(meta, "namespace", d->ns);
    kvmig__json_add_str(kvmig__json_child(meta, "annotations"), KVMIG__MARK, d->mark);
    spec = kvmig__json_child(vmim, "spec");
    kvmig__json_add_str(spec, "vmiName", d->vmi);
    add_target(d, spec);
    free(name);
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

/* What an answer that is neither our migration nor its proven absence comes to; owned. */
static struct kvmig_error *lookup_error(const struct kvmig__kube_driver *d, const struct kvmig__answer *answer,
                                        bool foreign)
{
    char *name = own_name(d), *where = kvmig__asprintf("migration/%s/%s", d->ns, name);
    struct kvmig_error *error;

    if (foreign)
        error = kvmig__error_new(EEXIST, where, NULL, "Look who made it; it does not carry the mark of this session.",
                                 "there is a migration of that name, and it is not this session's");
    else if (answer->error && answer->status != 404)
        error = kvmig__error_copy(answer->error);
    else
        error = kvmig__error_new(EBADMSG, where, answer->error ? kvmig__answer_text(answer) : NULL,
                                 "Check that the URL is that of an API server, and not of something in front of it.",
                                 "the answer says neither that the migration is there nor that it is not");
    free(where);
    free(name);
    return error;
}

static void lookup_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vmim = kvmig__answer_object(answer, KVMIG__KUBE_VMIM);
    struct kvmig_error *error = NULL;
    char *name = own_name(d);

    if (d->vmim) /* the answer to its creation came after all */
        error = NULL;
    else if (kvmig__answer_absent(answer, KVMIG__KUBE_VMIM, name))
        d->lookups++;
    else if (!vmim || !is_ours(d, vmim) || !take_ours(d, vmim))
        error = lookup_error(d, answer, vmim != NULL);
    free(name);
    json_object_put(vmim);
    d->lookup_done(d, error);
    kvmig__error_free(error);
}

void kvmig__kube_find_ours(struct kvmig__kube_driver *d,
                           void (*done)(struct kvmig__kube_driver *, const struct kvmig_error *))
{
    char *name = own_name(d);

    d->lookup_done = done;
    d->lookup_ms = kvmig__now_ms();
    kvmig__errand_go(&d->act, "GET", kvmig__kube_path(KVMIG__KUBE_VMIM, d->ns, name), NULL, NULL, d->limits.step_ms,
                     lookup_done);
    free(name);
}

static void wait_is_over(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    (void)answer;
    kvmig__kube_find_ours(d, d->lookup_done);
}

void kvmig__kube_find_ours_later(struct kvmig__kube_driver *d)
{
    kvmig__errand_wait(&d->act, LOOKUP_WAIT_MS, wait_is_over);
}

bool kvmig__kube_none_will_come(const struct kvmig__kube_driver *d)
{
    return d->lookups >= LOOKUPS && !kvmig__errand_busy(&d->create) &&
           (!d->lost_post_ms || d->lookup_ms - d->lost_post_ms >= LATE_POST_MS);
}

/* What answers is not, or not yet, the API server. */
static bool may_mend(const struct kvmig__kube_driver *d, const struct kvmig_error *error)
{
    return error->code == -EBADMSG && kvmig__now_ms() + LOOKUP_WAIT_MS < d->admit_by_ms;
}

/* ---- creating it ---- */

static void post(struct kvmig__kube_driver *d);

static struct kvmig_error *not_known_error(const struct kvmig__kube_driver *d, const struct kvmig_error *error)
{
    char *name = own_name(d), *where = kvmig__asprintf("migration/%s/%s", d->ns, name);
    struct kvmig_error *unknown = kvmig__error_new(
        KVMIG_EUNKNOWN, where, error->message,
        "Look whether there is a migration of that name; it is withdrawn if the server answers in time.",
        "it is not known whether the migration was created: %s", kvmig_error_message(d->post_error));

    free(where);
    free(name);
    return unknown;
}

static void looked_up(struct kvmig__kube_driver *d, const struct kvmig_error *error)
{
    if (d->vmim) {
        kvmig__kube_following(d);
    } else if (error && !may_mend(d, error)) {
        kvmig__kube_fail_soon(d, not_known_error(d, error));
    } else if (error || d->lookups < LOOKUPS) {
        kvmig__kube_find_ours_later(d);
    } else {
        d->maybe_posted = d->lost_post_ms != 0;
        if (d->post_is_final)
            kvmig__kube_fail_soon(d, kvmig__error_copy(d->post_error));
        else if (!is_withdrawn(d))
            post(d);
    }
}

/* A refusal is final, but for those that our own migration may be the reason of: something on the way may have sent the
 * request twice. What is no refusal may come through yet. */
static void note_failed_post(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    kvmig__error_free(d->post_error);
    d->post_error = answer->error ? kvmig__kube_denied_error(d, answer, START_MIGRATION, "create",
                                                             "virtualmachineinstancemigrations.kubevirt.io")
                                  : kvmig__error_new(EBADMSG, "kvmig_session", NULL, NULL,
                                                     "the server's answer to the creation is no migration");
    d->post_is_final = answer->error && !kvmig__answer_is_trouble(answer);
    if (!d->post_is_final && answer->status != 429)
        d->lost_post_ms = kvmig__now_ms();
    if (d->post_is_final && !d->lost_post_ms && answer->status != 409 && !kvmig__answer_is_in_flight(answer))
        d->maybe_posted = false;
}

/* Comes in whatever step: a creation that is under way is not given up with the step that asked for it. */
static void post_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vmim = kvmig__answer_object(answer, KVMIG__KUBE_VMIM);
    const bool taken = vmim && take_ours(d, vmim);

    json_object_put(vmim);
    if (taken)
        kvmig__kube_following(d);
    if (d->vmim) /* or it was found meanwhile */
        return;
    note_failed_post(d, answer);
    if (d->step != KVMIG__STEP_ADMIT)
        return; /* it is looked for all the same */
    if (!d->maybe_posted) {
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
    d->maybe_posted = true;
    d->admit = KVMIG__ADMIT_POSTING;
    kvmig__errand_go_once(&d->create, "POST", vmims_path(d, ""), new_vmim(d), d->limits.step_ms, post_done);
}

void kvmig__kube_admit_create(struct kvmig__kube_driver *d)
{
    if (is_withdrawn(d))
        return;
    d->maybe_posted = true; /* in the token: whoever takes over has to look for it */
    kvmig__kube_checkpoint(d);
    post(d);
}

void kvmig__kube_admit_leave(struct kvmig__kube_driver *d)
{
    if (!kvmig__errand_busy(&d->create) || !d->create.held)
        return;
    kvmig__errand_stop(&d->create); /* it was not sent */
    d->maybe_posted = d->lost_post_ms != 0;
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
        /* Whoever hears of it may cancel at once, and is told what will come of that. */
        kvmig__follow_update(&d->follow, kvmig__kube_store(d), kvmig__wall_ms());
        kvmig__kube_checkpoint(d);
        kvmig__kube_following(d);
    } else {
        kvmig__kube_fail_soon(d, kvmig__error_new(ENOENT, where, NULL, "Name a migration of this VM that is there.",
                                                  "VM %s/%s has no migration%s%s to follow", d->ns, d->vmi,
                                                  *d->wishes->attach ? " " : "", d->wishes->attach));
    }
    free(where);
}

/* What the dead session had prepared is in the ledger, and is removed on the way out. */
static struct kvmig_error *nothing_started(const struct kvmig__kube_driver *d)
{
    const bool prepared = d->policy.wanted || d->policy.labelled;

    return kvmig__error_new(prepared ? ECANCELED : ENOENT, "kvmig_session_resume", d->mark, "Start a new session.",
                            "the session ended before it had created its migration; %s",
                            prepared ? "what it had prepared for it is removed" : "nothing of it is to be followed");
}

static void resumed_lookup_done(struct kvmig__kube_driver *d, const struct kvmig_error *error)
{
    if (d->vmim) {
        kvmig__kube_following(d);
    } else if (error && !may_mend(d, error)) {
        kvmig__kube_fail_soon(d, kvmig__error_copy(error));
    } else if (error || !kvmig__kube_none_will_come(d)) {
        kvmig__kube_find_ours_later(d);
    } else {
        d->maybe_posted = false;
        kvmig__kube_fail_soon(d, nothing_started(d));
    }
}

static void read_resumed(struct kvmig__kube_driver *d, const struct kvmig__answer *answer);

/* What the token names may be gone already: then its last state is that of the VMI. */
static void resumed_read_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vmim = kvmig__answer_object(answer, KVMIG__KUBE_VMIM);
    const char *uid = kvmig__json_text(kvmig__json_at(vmim, "metadata"), "uid");
    const bool is_gone =
        kvmig__answer_absent(answer, KVMIG__KUBE_VMIM, d->vmim) || (vmim && !kvmig__str_eq(uid, d->vmim_uid));
    struct kvmig_error *error = vmim || is_gone ? NULL : lookup_error(d, answer, false);

    if (vmim)
        kvmig__kube_backend_learn(d->backend, vmim);
    json_object_put(vmim);
    if (is_gone)
        d->follow.seen = d->follow.gone = true;
    if (!error)
        kvmig__kube_following(d);
    else if (may_mend(d, error))
        kvmig__errand_wait(&d->act, LOOKUP_WAIT_MS, read_resumed);
    else
        kvmig__kube_fail_soon(d, kvmig__error_copy(error));
    kvmig__error_free(error);
}

static void read_resumed(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    (void)answer;
    kvmig__errand_go(&d->act, "GET", kvmig__kube_path(KVMIG__KUBE_VMIM, d->ns, d->vmim), NULL, NULL, d->limits.step_ms,
                     resumed_read_done);
}

static void resume(struct kvmig__kube_driver *d)
{
    struct kvmig_error *error = kvmig__kube_token_read(d, d->wishes->token);
    const char *source = kvmig__json_text(d->wishes->token, "source");

    d->resumed = true;
    d->admit = KVMIG__ADMIT_ASKING;
    if (error) {
        kvmig__kube_fail_soon(d, error);
        return;
    }
    if (d->maybe_posted)
        d->lost_post_ms = kvmig__now_ms(); /* at the latest */
    kvmig__kube_follow_start(d);
    if (source)
        kvmig__str_set(&d->follow.source_node, source);
    kvmig__kube_checkpoint(d);
    if (d->vmim)
        read_resumed(d, NULL);
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
    if (!error && !d->wishes->attach && kvmig__kube_source_moved(d))
        error = kvmig__kube_source_moved_error(d);
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
    else if (kvmig__kube_source_moved(d))
        kvmig__kube_step_failed(d, kvmig__kube_source_moved_error(d));
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
