/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Questions to a host about one domain, and actions on it, for sessions and location questions. A question is answered
 * exactly once and by its deadline, whatever the host does: what does not come back in time is answered with "not
 * reachable" (a state), or with an unknown outcome (an action), and its lane is given up. Does not: decide anything.
 *
 * A state is asked in two jobs. The first never waits inside libvirt. Only if the domain is active, a second one asks for
 * its migration job, with little patience: should that one hang, the state is known all the same, and the job is assumed.
 *
 * Runs in dispatch with the context lock held, but for the jobs themselves. An answer is the last act of whatever runs here,
 * because whoever gets it may close us. A question belongs to the list of its host until it is answered.
 */
#include "libvirt/host_internal.h"
#include "libvirt/side.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Asking for a job that is not hung takes milliseconds. */
#define JOB_PATIENCE_MS 1000

enum stage { STAGE_STATE, STAGE_JOB, STAGE_ACT };

struct kvmig__question {
    struct kvmig__virt_host *h;
    enum stage stage;
    char *vm;
    int32_t action;
    int64_t deadline_ms, timeout_ms;
    kvmig__side_fn side_fn;
    kvmig__act_fn act_fn;
    void *owner;
    struct kvmig__side side; /* what is known so far */
    bool in_flight; /* a job of it is on its way */
    struct kvmig__timer jammed; /* answers later that nothing could be asked */
    struct kvmig__question *next, *prev;
};

/* ---- the jobs ---- */

struct ask_job {
    struct kvmig__channel_job base;
    enum stage stage;
    char *vm;
    int32_t action;
    struct kvmig__side side;
    bool needs_job;
    struct kvmig_error *error;
};

static void run_ask(void *payload)
{
    struct ask_job *job = payload;
    virConnectPtr conn = kvmig__link_open(job->base.link, &job->error);

    if (!conn) {
        job->side.reachable = false;
        kvmig__str_set(&job->side.error, kvmig_error_message(job->error));
    } else if (job->stage == STAGE_STATE) {
        job->needs_job = kvmig__virt_read_state(conn, job->vm, &job->side);
    } else {
        kvmig__virt_read_side_job(conn, job->vm, &job->side);
    }
}

/* May come back long after it was given up; then it does nothing. */
static void run_act(void *payload)
{
    struct ask_job *job = payload;

    job->error = kvmig__virt_act(job->base.link, job->vm, job->action);
}

static void free_ask(void *payload)
{
    struct ask_job *job = payload;

    kvmig__channel_job_clear(&job->base);
    free(job->vm);
    kvmig__side_clear(&job->side);
    kvmig__error_free(job->error);
    free(job);
}

static void ask_done(void *owner, void *payload, int32_t status);
static const struct kvmig__job_type ask_type = { "asking for a domain", run_ask, ask_done, free_ask };
static const struct kvmig__job_type act_type = { "acting on a domain", run_act, ask_done, free_ask };

/* ---- questions ---- */

static struct kvmig__channel *channel_of(struct kvmig__question *q)
{
    return q->stage == STAGE_ACT ? &q->h->act : &q->h->ask;
}

static void question_free(struct kvmig__question *q)
{
    if (q->prev)
        q->prev->next = q->next;
    else
        q->h->questions = q->next;
    if (q->next)
        q->next->prev = q->prev;
    kvmig__timer_disarm(&q->jammed);
    kvmig__side_clear(&q->side);
    free(q->vm);
    free(q);
}

/* The end of a question. error: of an action, NULL = done; borrowed. */
static void answer(struct kvmig__question *q, const struct kvmig_error *error)
{
    const struct kvmig__question copy = *q;
    struct kvmig__side side;

    kvmig__side_copy(&side, &q->side);
    question_free(q);
    if (copy.stage == STAGE_ACT)
        copy.act_fn(copy.owner, error);
    else
        copy.side_fn(copy.owner, &side);
    kvmig__side_clear(&side);
}

/* Nothing came back, or nothing could be asked. */
static void answer_nothing(struct kvmig__question *q, struct kvmig_error *error)
{
    if (q->stage == STAGE_JOB) {
        q->side.job_active = true;
        q->side.job_assumed = true;
    } else {
        q->side.reachable = false;
        kvmig__str_set(&q->side.error, kvmig_error_message(error));
    }
    answer(q, error);
    kvmig__error_free(error);
}

static void on_jammed(void *data)
{
    struct kvmig__question *q = data;

    answer_nothing(q, kvmig__error_new(-KVMIG_EUNREACHABLE, q->h->uri, NULL, "look after the libvirt daemon there",
                                       "%d earlier calls to the host still hang", KVMIG__CHANNEL_MAX_LOST));
}

static void submit(struct kvmig__question *q)
{
    const int64_t left_ms = q->deadline_ms - kvmig__now_ms();
    int64_t timeout_ms = left_ms > 0 ? left_ms : 0;
    struct ask_job *job;

    if (kvmig__channel_is_jammed(channel_of(q))) {
        q->in_flight = false;
        kvmig__timer_arm_in(&q->jammed, 0);
        return;
    }
    if (q->stage == STAGE_JOB && timeout_ms > JOB_PATIENCE_MS)
        timeout_ms = JOB_PATIENCE_MS;
    job = kvmig__calloc(1, sizeof(*job));
    job->stage = q->stage;
    job->vm = kvmig__strdup(q->vm);
    job->action = q->action;
    kvmig__side_copy(&job->side, &q->side);
    q->in_flight = true;
    kvmig__channel_submit(channel_of(q), q->stage == STAGE_ACT ? &act_type : &ask_type, q, &job->base, timeout_ms);
}

/* One call hangs: those that waited behind it go on elsewhere. */
static void replace_lane(struct kvmig__question *hung)
{
    struct kvmig__channel *channel = channel_of(hung);

    kvmig__channel_renew(channel);
    for (struct kvmig__question *q = hung->h->questions, *next; q; q = next) {
        next = q->next;
        if (q == hung || !q->in_flight || channel_of(q) != channel)
            continue;
        submit(q);
    }
}

static void nothing_came(struct kvmig__question *q, int32_t status)
{
    struct kvmig__virt_host *h = q->h;
    struct kvmig_error *error;

    if (kvmig__lane_is_stuck(channel_of(q)->end.lane)) {
        replace_lane(q);
        kvmig__virt_read_refresh(&h->base); /* the whole host may hang: find out */
    }
    if (status != -ETIMEDOUT)
        error = kvmig__error_new(status, h->uri, NULL, "the process may have too many threads",
                                 "no thread could be started to ask the host");
    else if (q->stage == STAGE_ACT)
        error =
            kvmig__error_new(-KVMIG_EUNKNOWN, h->uri, NULL, "ask where the guest is before anything else is done",
                             "the host did not answer to %s within %" PRId64 " ms; whether it was done is not known",
                             kvmig_location_action_name(q->action), q->timeout_ms);
    else
        error = kvmig__error_new(-KVMIG_EUNREACHABLE, h->uri, NULL, "look after the libvirt daemon there",
                                 "the host did not answer within %" PRId64 " ms", q->timeout_ms);
    answer_nothing(q, error);
}

static void ask_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__question *q = owner;
    struct ask_job *job = payload;

    q->in_flight = false;
    kvmig__channel_landed(channel_of(q), job ? &job->base : NULL);
    if (!job) {
        nothing_came(q, status);
        return;
    }
    kvmig__side_clear(&q->side);
    kvmig__side_copy(&q->side, &job->side);
    if (q->stage == STAGE_STATE && job->needs_job) {
        q->stage = STAGE_JOB;
        submit(q);
        return;
    }
    answer(q, job->error);
}

static struct kvmig__question *question_new(struct kvmig__virt_host *h, enum stage stage, const char *vm,
                                            int64_t timeout_ms, void *owner)
{
    struct kvmig__question *q = kvmig__calloc(1, sizeof(*q));

    q->h = h;
    q->stage = stage;
    q->vm = kvmig__strdup(vm);
    q->timeout_ms = timeout_ms;
    q->deadline_ms = kvmig__now_ms() + timeout_ms;
    q->owner = owner;
    kvmig__timer_init(&q->jammed, h->context, on_jammed, q);
    q->next = h->questions;
    if (h->questions)
        h->questions->prev = q;
    h->questions = q;
    return q;
}

/* ---- for the cluster ---- */

void kvmig__virt_ask_side(struct kvmig__host_backend *backend, const char *vm, int64_t timeout_ms, kvmig__side_fn fn,
                          void *owner)
{
    struct kvmig__question *q = question_new((struct kvmig__virt_host *)backend, STAGE_STATE, vm, timeout_ms, owner);

    q->side_fn = fn;
    submit(q);
}

void kvmig__virt_ask_act(struct kvmig__host_backend *backend, const char *vm, int32_t action, int64_t timeout_ms,
                         kvmig__act_fn fn, void *owner)
{
    struct kvmig__question *q = question_new((struct kvmig__virt_host *)backend, STAGE_ACT, vm, timeout_ms, owner);

    q->action = action;
    q->act_fn = fn;
    submit(q);
}

void kvmig__virt_ask_init(struct kvmig__virt_host *h, virConnectPtr given)
{
    kvmig__channel_init(&h->ask, h->context, "ask", h->uri, given);
    kvmig__channel_init(&h->act, h->context, "act", h->uri, given);
}

void kvmig__virt_ask_close(struct kvmig__virt_host *h)
{
    kvmig__channel_close(&h->ask);
    kvmig__channel_close(&h->act);
    while (h->questions)
        question_free(h->questions);
}
