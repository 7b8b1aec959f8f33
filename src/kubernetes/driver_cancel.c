/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Taking a migration back: the eviction behind it, the VMIM, the target launcher pod; or, for a volume migration, the
 * patch of the VM. Sends what is due and is not done yet, one request at a time, and never waits for what comes of it
 * (driver_end.c). What somebody else started is taken back only when the caller cancels. In dispatch, with the
 * context lock held.
 */
#include "kubernetes/driver_internal.h"
#include "kubernetes/objects.h"

#include <errno.h>
#include <stdlib.h>

#define AGAIN_MS 1000 /* between two tries of what was answered, but with nothing definite */

static bool in_postcopy(const struct kvmig__kube_driver *d)
{
    return d->following && (d->follow.mode == KVMIG_MODE_POST_COPY || d->follow.postcopy_seen);
}

bool kvmig__kube_is_ours_to_end(const struct kvmig__kube_driver *d)
{
    return !d->attached || d->back.by_caller;
}

/* ---- what is due ---- */

static bool is_before_running(const struct kvmig__kube_driver *d)
{
    return d->follow.handed_off && d->follow.stage < KVMIG__STAGE_RUNNING && !d->follow.start_ms;
}

static bool eviction_is_due(const struct kvmig__kube_driver *d)
{
    return (d->wishes->flags & KVMIG_SESSION_STOP_EVACUATION) && d->follow.evacuation_node && !d->back.eviction_stopped;
}

/* Only while the copy has not begun: until then the source is not touched by the loss of its target. */
static bool pod_is_due(const struct kvmig__kube_driver *d)
{
    return (d->wishes->flags & KVMIG_SESSION_DELETE_TARGET_POD) && (d->back.deleted || d->follow.deleting) &&
           is_before_running(d) && d->follow.target_pod && !d->follow.target_pod_gone &&
           !(d->back.pod_deleted && kvmig__str_eq(d->back.pod_uid, d->follow.target_pod_uid));
}

/* The answer to a deletion: what is not there, or is another one of that name by now, needs no deletion. */
static bool is_gone(const struct kvmig__answer *answer, int32_t kind, const char *name)
{
    return !answer->error || answer->status == 409 || kvmig__answer_absent(answer, kind, name);
}

/* ---- what did not work ---- */

void kvmig__kube_back_trouble(struct kvmig__kube_driver *d, const struct kvmig__answer *answer,
                              struct kvmig_error *error)
{
    kvmig__error_free(d->back.error);
    d->back.error = error;
    if (!answer || kvmig__answer_is_refusal(answer))
        d->back.failed = true;
    else
        d->back.late = true;
    d->back.again_ms = kvmig__now_ms() + AGAIN_MS;
}

void kvmig__kube_try_again(struct kvmig__kube_driver *d)
{
    d->back.failed = d->back.late = false;
    d->back.again_ms = 0;
    d->policy.part = 0;
    d->policy.tries = 0;
    d->policy.put_off = false;
}

/* ---- requests ---- */

static void eviction_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    d->back.eviction_stopped = true;
    if (answer->error && answer->status != 404)
        kvmig__kube_remark(
            d, "EVACUATION_PENDING", KVMIG_SEVERITY_WARN, NULL,
            "Uncordon the node, or cancel the eviction with the subresource evacuate/cancel (KubeVirt 1.7 and newer).",
            "the eviction behind the migration could not be withdrawn, so it will be created again: %s",
            kvmig__answer_text(answer));
}

static void stop_eviction(struct kvmig__kube_driver *d)
{
    char *ns = kvmig__url_escape(d->ns), *vmi = kvmig__url_escape(d->vmi);
    struct json_object *options = kvmig__json_new("evacuationNodeName", d->follow.evacuation_node);

    kvmig__errand_go(&d->back_errand, "PUT",
                     kvmig__asprintf("/apis/subresources.kubevirt.io/v1/namespaces/%s/virtualmachineinstances/%s/"
                                     "evacuate/cancel",
                                     ns, vmi),
                     kvmig__json_take_string(options), NULL, d->limits.abort_ms, eviction_done);
    d->back_errand.any_404 = true; /* an older KubeVirt has no such page */
    free(ns);
    free(vmi);
}

static void vmim_deleted(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    d->back.deleted = is_gone(answer, KVMIG__KUBE_VMIM, d->vmim);
    if (!d->back.deleted)
        kvmig__kube_back_trouble(d, answer,
                                 kvmig__kube_denied_error(d, answer, "cancel the migration", "delete",
                                                          "virtualmachineinstancemigrations.kubevirt.io"));
}

/* ---- the target pod ---- */

/* A refusal is final for this pod; anything else is tried again. Said once. */
static void pod_trouble(struct kvmig__kube_driver *d, const struct kvmig__answer *answer, const char *what)
{
    d->back.pod_deleted = kvmig__answer_is_refusal(answer);
    d->back.again_ms = kvmig__now_ms() + AGAIN_MS;
    if (!d->back.pod_told)
        kvmig__kube_remark(
            d, "LEFTOVER_TARGET_POD", KVMIG_SEVERITY_WARN, NULL,
            "The cancel takes effect when the copy begins, or when the launcher gives up after some minutes.",
            "target pod %s %s: %s", d->back.pod, what,
            answer->error ? kvmig__answer_text(answer) : "the answer is no VMI");
    d->back.pod_told = true;
}

static void pod_deleted(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    if (is_gone(answer, KVMIG__KUBE_POD, d->back.pod))
        d->back.pod_deleted = true;
    else
        pod_trouble(d, answer, "could not be deleted");
}

static void delete_pod(struct kvmig__kube_driver *d)
{
    kvmig__log(d->context, KVMIG_LOG_INFO, "kubernetes", "%s: deletes target pod %s/%s", kvmig__session_id(d->session),
               d->ns, d->back.pod);
    kvmig__errand_go(&d->back_errand, "DELETE", kvmig__kube_path(KVMIG__KUBE_POD, d->ns, d->back.pod),
                     kvmig__delete_options(d->back.pod_uid), NULL, d->limits.abort_ms, pod_deleted);
}

struct kvmig__kube_vmi *kvmig__kube_fresh_vmi(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *json = kvmig__answer_object(answer, KVMIG__KUBE_VMI);
    struct kvmig__kube_meta *object = json ? kvmig__object_decode(json, KVMIG__KUBE_VMI) : NULL;

    if (json)
        kvmig__kube_backend_learn(d->backend, json);
    json_object_put(json);
    return (struct kvmig__kube_vmi *)object;
}

/* The copy of our migration, and no other, has not begun: the guest runs on the source, and depends on nothing else. */
static bool is_safe_for(const struct kvmig__kube_driver *d, const struct kvmig__kube_vmi *vmi)
{
    const struct kvmig__kube_migration_state *now = &vmi->migration;

    return kvmig__str_eq(vmi->meta.uid, d->vmi_uid) && kvmig__str_eq(vmi->node, d->follow.source_node) &&
           kvmig__str_eq(now->uid, d->vmim_uid) && !now->start_ms && !now->domain_ready_ms &&
           (!now->target_pod || kvmig__str_eq(now->target_pod, d->back.pod));
}

static void source_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct kvmig__kube_vmi *vmi = kvmig__kube_fresh_vmi(d, answer);

    if (!vmi)
        pod_trouble(d, answer, "is not deleted, for it is not proven that the copy has not begun");
    else if (is_safe_for(d, vmi))
        delete_pod(d);
    else
        d->back.again_ms = kvmig__now_ms() + AGAIN_MS; /* it is too late for it, or the store will tell */
    kvmig__kube_object_free(vmi ? &vmi->meta : NULL);
}

/* What is known may be old: the guest may run in that pod by now. */
static void prove_and_delete_pod(struct kvmig__kube_driver *d)
{
    kvmig__str_set(&d->back.pod, d->follow.target_pod);
    kvmig__str_set(&d->back.pod_uid, d->follow.target_pod_uid);
    d->back.pod_deleted = false;
    kvmig__errand_go(&d->back_errand, "GET", kvmig__kube_path(KVMIG__KUBE_VMI, d->ns, d->vmi), NULL, NULL,
                     d->limits.abort_ms, source_read);
}

static void tell_refused(struct kvmig__kube_driver *d)
{
    char *where;

    if (d->back.refused || !d->call_out)
        return;
    where = kvmig__kube_where(d);
    d->back.refused = true;
    d->back.wanted = false;
    d->abort_by_ms = 0;
    kvmig__session_abort_refused(d->session,
                                 kvmig__error_new(KVMIG_EREFUSED, where, "migrationState.mode is PostCopy",
                                                  "Wait for its end: the guest already runs on the target.",
                                                  "the migration is in post-copy; cancelling it would lose the guest"));
    free(where);
}

static void take_back_vmim(struct kvmig__kube_driver *d)
{
    const bool by_patch = kvmig__kube_moves_volumes(d); /* then KubeVirt deletes what it made */

    if (!by_patch && eviction_is_due(d))
        stop_eviction(d);
    else if (!by_patch && !d->back.deleted && !d->follow.gone && d->follow.stage < KVMIG__STAGE_SUCCEEDED)
        kvmig__errand_go(&d->back_errand, "DELETE", kvmig__kube_path(KVMIG__KUBE_VMIM, d->ns, d->vmim),
                         kvmig__delete_options(d->vmim_uid), NULL, d->limits.abort_ms, vmim_deleted);
    else if (pod_is_due(d))
        prove_and_delete_pod(d);
}

void kvmig__kube_take_back_look(struct kvmig__kube_driver *d)
{
    if (!d->back.wanted || !kvmig__kube_is_ours_to_end(d) || !d->following || kvmig__errand_busy(&d->back_errand))
        return;
    if (in_postcopy(d)) {
        tell_refused(d);
        return;
    }
    if (kvmig__kube_has_moved(d) || d->back.failed || kvmig__now_ms() < d->back.again_ms)
        return;
    if (kvmig__kube_moves_volumes(d))
        kvmig__kube_volumes_revert(d);
    if (d->vmim && !kvmig__errand_busy(&d->back_errand) &&
        (!kvmig__kube_moves_volumes(d) || d->volumes.state == KVMIG__VOLUMES_AS_BEFORE))
        take_back_vmim(d);
}

bool kvmig__kube_taken_back(const struct kvmig__kube_driver *d)
{
    if (!kvmig__kube_is_ours_to_end(d) || d->back.failed || d->back.late || in_postcopy(d))
        return true;
    if (kvmig__errand_busy(&d->back_errand) || d->maybe_posted)
        return false;
    if (kvmig__kube_moves_volumes(d))
        return d->volumes.state == KVMIG__VOLUMES_AS_BEFORE;
    return !d->vmim || d->back.deleted || kvmig__kube_is_over(d);
}

/* ---- the session's wishes ---- */

void kvmig__kube_take_back(struct kvmig__kube_driver *d)
{
    d->back.wanted = true;
    if (kvmig__session_is_cancelling(d->session))
        d->back.by_caller = true;
    kvmig__kube_look_soon(d);
}

void kvmig__kube_withdraw(struct kvmig__kube_driver *d)
{
    kvmig__kube_take_back(d);
}

void kvmig__kube_abort(struct kvmig__kube_driver *d)
{
    if (d->step == KVMIG__STEP_LOCATE)
        kvmig__kube_locate_cancelled(d);
    if (!d->call_out)
        return;
    d->back.refused = false;
    kvmig__kube_try_again(d);
    if (!d->abort_by_ms) {
        d->abort_by_ms = kvmig__now_ms() + d->limits.abort_ms;
        kvmig__timer_arm(&d->step_timer, d->abort_by_ms);
    }
    kvmig__kube_take_back(d);
    if (!kvmig__kube_is_ours_to_end(d)) { /* our limit, not the caller: it goes on without us */
        char *where = kvmig__kube_where(d);

        kvmig__kube_back_trouble(
            d, NULL,
            kvmig__error_new(ETIMEDOUT, where, NULL, "Attach to it again, or cancel it.",
                             "the migration was started by somebody else, and is not aborted by a limit of this "
                             "session"));
        free(where);
    }
}

/* A volume migration is taken back by the patch, and an eviction can be stopped: neither comes again then. */
static bool cause_is_gone(const struct kvmig__kube_driver *d)
{
    const bool stops = d->wishes->flags & KVMIG_SESSION_STOP_EVACUATION, marked = d->follow.evacuation_node != NULL;

    /* Marked although it was stopped: that was refused. */
    return kvmig__kube_moves_volumes(d) || (stops && marked != d->back.eviction_stopped);
}

int32_t kvmig__kube_cancel_effect(const struct kvmig__kube_driver *d)
{
    const char *why;
    int32_t effect;

    if (!d->vmim || !d->following)
        return KVMIG_CANCEL_ACCEPTED;
    effect = kvmig__follow_cancel_effect(&d->follow, &why);
    if (is_before_running(d))
        effect = d->wishes->flags & KVMIG_SESSION_DELETE_TARGET_POD ? KVMIG_CANCEL_ACCEPTED : KVMIG_CANCEL_DEFERRED;
    else if (effect == KVMIG_CANCEL_ACCEPTED && kvmig__follow_will_return(&d->follow)) /* over, as was asked for */
        effect = KVMIG_CANCEL_WILL_RETURN;
    return effect == KVMIG_CANCEL_WILL_RETURN && cause_is_gone(d) ? KVMIG_CANCEL_ACCEPTED : effect;
}
