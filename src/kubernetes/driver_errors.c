/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The errors of the KubeVirt session driver: why a migration ended, why the server refused it, what did not come in
 * time. Only words; decides nothing. With the context lock held.
 */
#include "kubernetes/driver_internal.h"
#include "session/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- how it ended ---- */

struct verdict_words {
    const char *verdict, *what, *hint;
    int32_t code;
};

static const struct verdict_words verdicts[] = {
    { "CANCELLED_BY_USER", "was cancelled", NULL, ECANCELED },
    { "CANCELLED", "was deleted while it was under way", "Look who deletes migrations in this namespace.", ECANCELED },
    { "ABORTED_BY_COMPLETION_TIMEOUT", "was aborted by KubeVirt, because it took longer than the completion limit",
      "Raise completionTimeoutPerGiB or the bandwidth, allow auto-converge or post-copy, or migrate when the guest is "
      "less busy.",
      ETIMEDOUT },
    { "ABORTED_BY_PROGRESS_TIMEOUT", "was aborted by KubeVirt, because it made no progress",
      "Look at the network between the nodes and at the guest's dirty rate; raise progressTimeout.", ETIMEDOUT },
    { "TARGET_UNSCHEDULABLE", "failed, because no node could take the target pod",
      "Ask for a plan: it lists per node what is missing.", KVMIG_EMIGRATE },
    { "TARGET_IMAGE_PULL", "failed, because an image of the target pod could not be pulled",
      "Look whether the reference in the target pod can be pulled on that node.", KVMIG_EMIGRATE },
    { "QUOTA_EXCEEDED", "failed, because the quota of the namespace has no room for a second launcher pod",
      "Raise the quota, or free as much as one launcher pod needs.", KVMIG_EMIGRATE },
    { "CPU_FEATURE_MISSING", "failed, because the target lacks CPU features of the guest",
      "Choose another node; a plan lists the missing features of each.", KVMIG_EMIGRATE },
    { "DEST_VOLUME_SMALLER", "failed, because a destination volume is too small",
      "Make the destination larger; a file system needs some room for itself.", KVMIG_EMIGRATE },
    { "MIGRATION_IN_PROGRESS", "lost against another migration of the VM", "Wait for the other one to end.", EBUSY },
    { "VM_LOST", "ended, because the VM has ended",
      "Look at the VM's conditions and events; its run strategy decides whether it is started again.", KVMIG_ELOST },
    { "POSTCOPY_FAILED", "lost the guest in post-copy",
      "The guest's memory is lost; KubeVirt starts the VM again if its run strategy says so.", KVMIG_ELOST },
};

static const struct verdict_words *words_of(const char *verdict)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(verdicts); i++)
        if (kvmig__str_eq(verdicts[i].verdict, verdict))
            return &verdicts[i];
    return NULL;
}

static const char *first_of(const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (texts[i])
            return texts[i];
    return NULL;
}

struct kvmig_error *kvmig__kube_ended_error(const struct kvmig__kube_driver *d)
{
    const struct kvmig__follow *f = &d->follow;
    const struct verdict_words *words = words_of(f->verdict);
    const char *const proofs[] = { f->evidence,   f->failure_reason, f->event_failure, f->pod_failure,
                                   f->image_pull, f->unschedulable,  f->quota };
    const char *name =
        f->stage == KVMIG__STAGE_FAILED || f->stage == KVMIG__STAGE_NONE ? NULL : kvmig__stage_name(f->stage);
    char *where = kvmig__kube_where(d);
    struct kvmig_error *error =
        kvmig__error_new(words ? words->code : KVMIG_EMIGRATE, where, first_of(proofs, KVMIG__N_ELEMENTS(proofs)),
                         words ? words->hint : "Look at the events of the migration and of its target pod.",
                         "migration %s/%s %s%s%s%s%s", d->ns, d->vmim ? d->vmim : "of the VM",
                         words     ? words->what
                         : f->gone ? "vanished"
                                   : "failed",
                         name && f->gone ? " (last seen in " : "", name && f->gone ? name : "",
                         name && f->gone ? ")" : "", f->verdict ? "" : "; why is not known");

    if (f->verdict) {
        char *text =
            kvmig__asprintf("%s%s%s", f->verdict, error->evidence ? ": " : "", error->evidence ? error->evidence : "");

        free(error->evidence);
        error->evidence = text;
    }
    free(where);
    return error;
}

struct kvmig_error *kvmig__kube_cancelled_error(const struct kvmig__kube_driver *d)
{
    char *where;
    struct kvmig_error *error;

    if (d->back.failed)
        return kvmig__error_copy(d->back.error);
    where = kvmig__kube_where(d);
    error = kvmig__error_new(ECANCELED, where, NULL, NULL, "the migration was withdrawn");

    free(where);
    return error;
}

struct kvmig_error *kvmig__kube_source_moved_error(const struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);
    char *where = kvmig__asprintf("vm/%s/%s", d->ns, d->vmi);
    struct kvmig_error *error =
        kvmig__error_new(ESTALE, where, NULL, "Plan again: somebody else has moved it meanwhile.",
                         "VM %s/%s runs on %s now, not on %s any more, where it was when this migration was planned",
                         d->ns, d->vmi, vmi && vmi->node ? vmi->node : "no node", d->plan->source);

    free(where);
    return error;
}

/* ---- refused ---- */

static bool says(const char *text, const char *token)
{
    return text && strstr(text, token);
}

/* The other migration of this VM, as far as it is known. */
static char *other_migration(const struct kvmig__kube_driver *d)
{
    const struct kvmig__kube *kube = kvmig__kube_store(d);

    KVMIG__KUBE_EACH(kube, VMIM, vmim)
    {
        const char *mark = kvmig__pairs_get(&vmim->meta.annotations, KVMIG__MARK);

        if (!kvmig__str_eq(vmim->meta.ns, d->ns) || !kvmig__str_eq(vmim->vmi, d->vmi) || kvmig__vmim_is_final(vmim))
            continue;
        return kvmig__asprintf("%s/%s (uid %s%s%s)", d->ns, vmim->meta.name, vmim->meta.uid ? vmim->meta.uid : "?",
                               mark ? ", of session " : "", mark ? mark : "");
    }
    return kvmig__strdup("one that this view does not show");
}

static struct kvmig_error *in_flight_error(const struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    char *where = kvmig__kube_where(d), *other = other_migration(d);
    struct kvmig_error *error = kvmig__error_new(KVMIG_EBLOCKED, where, kvmig__answer_text(answer),
                                                 "Wait for the other migration to end, attach to it, or cancel it.",
                                                 "VM %s/%s is being migrated already: %s", d->ns, d->vmi, other);

    free(where);
    free(other);
    return error;
}

static struct kvmig_error *no_right_error(const struct kvmig__kube_driver *d, const struct kvmig__answer *answer,
                                          const char *doing, const char *verb, const char *resource)
{
    const bool migrations = says(resource, "virtualmachineinstancemigrations");
    char *where = kvmig__kube_where(d);
    char *hint =
        kvmig__asprintf("Grant the right to %s %s%s.", verb, resource,
                        migrations ? ", for example by binding ClusterRole kubevirt.io:migrate (KubeVirt 1.5 and "
                                     "newer; the roles admin and edit do not have it)"
                                   : "");
    struct kvmig_error *error =
        kvmig__error_new(EPERM, where, kvmig__answer_text(answer), hint,
                         "could not %s: the account lacks the right to %s %s", doing, verb, resource);

    free(where);
    free(hint);
    return error;
}

bool kvmig__answer_is_in_flight(const struct kvmig__answer *answer)
{
    return answer->error && says(kvmig__answer_text(answer), "in-flight migration detected");
}

struct kvmig_error *kvmig__kube_denied_error(const struct kvmig__kube_driver *d, const struct kvmig__answer *answer,
                                             const char *doing, const char *verb, const char *resource)
{
    const char *text = kvmig__answer_text(answer);
    char *where;
    struct kvmig_error *error;

    if (kvmig__answer_is_in_flight(answer))
        return in_flight_error(d, answer);
    if (answer->status == 403 && !says(text, "denied the request") && !says(text, "exceeded quota"))
        return no_right_error(d, answer, doing, verb, resource);
    where = kvmig__kube_where(d);
    if (kvmig__answer_is_trouble(answer) || answer->status == 401)
        error = kvmig__error_new(answer->error->code, where, answer->error->evidence, answer->error->hint,
                                 "could not %s: %s", doing, answer->error->message);
    else
        error = kvmig__error_new(KVMIG_EBLOCKED, where, text,
                                 "The server's own text says what is wrong; ask for a plan to see all of it at once.",
                                 "could not %s: the server refused it: %s", doing, text);
    free(where);
    return error;
}

/* ---- late ---- */

/* The first blocker in one line; NULL if nothing is known. Owned. */
static char *first_blocker(const struct kvmig__kube_driver *d, char **out_hint)
{
    struct kvmig_explanation *explanation = kvmig__explanation_new();
    const struct kvmig_wait *wait;
    char *text = NULL;

    *out_hint = NULL;
    kvmig__explain_kube(explanation, kvmig__kube_store(d), kvmig__kube_our_vmi(d), kvmig__kube_our_vmim(d),
                        d->following && d->vmim ? &d->follow : NULL, kvmig__wall_ms());
    kvmig__explanation_finish(explanation);
    wait = kvmig_explanation_wait(explanation, 0);
    if (wait) {
        text = kvmig__asprintf("%s: %s %s%s%s", wait->code, wait->object, wait->condition ? wait->condition : "waits",
                               wait->evidence ? ": " : "", wait->evidence ? wait->evidence : "");
        *out_hint = kvmig__strdup(wait->hint);
    }
    kvmig_explanation_unref(explanation);
    return text;
}

struct kvmig_error *kvmig__kube_late_error(const struct kvmig__kube_driver *d, const char *limit, int64_t ms,
                                           const char *what)
{
    char *hint, *where = kvmig__kube_where(d), *blocker = first_blocker(d, &hint);
    struct kvmig_error *error = kvmig__error_new(
        ETIMEDOUT, where, blocker, hint ? hint : "Look at the events of the migration, or raise the limit.",
        "%s within %s of %lld ms%s%s", what, limit, (long long)ms, blocker ? "; first of all it waits for " : "",
        blocker ? blocker : "");

    free(where);
    free(blocker);
    free(hint);
    return error;
}
