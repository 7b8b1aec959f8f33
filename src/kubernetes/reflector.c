/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A reflector's life: its states, how long it waits after trouble, and which news of an object are reported. Does not:
 * speak with the server (reflector_list.c, reflector_watch.c), or keep objects.
 *
 * Needs the context lock; runs in dispatch. Functions of ops may free the reflector: it is emptied then, and its
 * memory goes when the outermost frame that is inside it is left (depth). One request is under way at most, or the
 * retry timer is armed.
 *
 * A resourceVersion is a number wherever it comes from a real server, and only then said to be older or newer; others
 * are only compared for being the same.
 */
#include "kubernetes/reflector_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_BACKOFF_MS 500
#define BACKOFF_RANGE 60 /* the longest wait is so many times the first: 30 s */
#define REFUSED_MS 60000
#define MAX_RETRY_AFTER_MS 600000 /* a server that names a longer time is asked before that */

/* ---- frames ---- */

static void free_memory(struct kvmig__reflector *reflector)
{
    kvmig__index_clear(&reflector->index);
    kvmig__error_free(reflector->error);
    free(reflector->path);
    free(reflector->selectors);
    free(reflector->version);
    free(reflector->token);
    free(reflector->list_version);
    free(reflector);
}

void kvmig__reflector_enter(struct kvmig__reflector *reflector)
{
    reflector->depth++;
}

void kvmig__reflector_leave(struct kvmig__reflector *reflector)
{
    if (--reflector->depth == 0 && reflector->closed)
        free_memory(reflector);
}

bool kvmig__reflector_goes_on(const struct kvmig__reflector *reflector, unsigned course)
{
    return !reflector->closed && reflector->course == course;
}

/* ---- states ---- */

uint64_t kvmig__reflector_random(struct kvmig__reflector *reflector)
{
    reflector->random ^= reflector->random << 13;
    reflector->random ^= reflector->random >> 7;
    reflector->random ^= reflector->random << 17;
    return reflector->random;
}

struct kvmig_error *kvmig__reflector_error(const struct kvmig__reflector *reflector, int32_t code, const char *evidence,
                                           const char *hint, const char *message)
{
    return kvmig__error_new(code, reflector->path, evidence, hint, "%s", message);
}

void kvmig__reflector_set_state(struct kvmig__reflector *reflector, enum kvmig__reflector_state state)
{
    bool good = state == KVMIG__REFLECTOR_STARTING || state == KVMIG__REFLECTOR_SYNCED;
    struct kvmig_error *error;

    if (reflector->closed || reflector->state == state)
        return;
    reflector->state = state;
    error = good ? NULL : kvmig__error_copy(reflector->error);
    reflector->ops->state(reflector->owner, state, error);
    kvmig__error_free(error);
}

void kvmig__reflector_expect(struct kvmig__reflector *reflector)
{
    if (reflector->patience.due_ms == INT64_MAX)
        kvmig__timer_arm_in(&reflector->patience, reflector->opts.patience_ms);
}

void kvmig__reflector_good(struct kvmig__reflector *reflector)
{
    kvmig__timer_disarm(&reflector->patience);
    kvmig__error_free(reflector->error);
    reflector->error = NULL;
}

static void patience_is_over(void *data)
{
    struct kvmig__reflector *reflector = data;

    kvmig__reflector_enter(reflector);
    if (!reflector->error)
        reflector->error =
            kvmig__reflector_error(reflector, ETIMEDOUT, NULL, "Check that the API server is up and can be reached.",
                                   "The API server does not answer.");
    kvmig__reflector_set_state(reflector, KVMIG__REFLECTOR_LOST);
    kvmig__reflector_leave(reflector);
}

/* ---- what is reported ---- */

void kvmig__reflector_settle(struct kvmig__reflector *reflector)
{
    kvmig__timer_disarm(&reflector->settle);
    reflector->reported = false;
    if (!reflector->closed)
        reflector->ops->settled(reflector->owner);
}

/* After the lines that are there now. */
void kvmig__reflector_settle_soon(struct kvmig__reflector *reflector)
{
    if (!reflector->closed)
        kvmig__timer_arm(&reflector->settle, 0);
}

static void settle_is_due(void *data)
{
    struct kvmig__reflector *reflector = data;

    kvmig__reflector_enter(reflector);
    kvmig__reflector_settle(reflector);
    kvmig__reflector_leave(reflector);
}

void kvmig__reflector_report_gone(struct kvmig__reflector *reflector, struct kvmig__known *known,
                                  struct json_object *last, uint64_t number)
{
    kvmig__index_bury(&reflector->index, known->uid, number);
    reflector->reported = true;
    if (!reflector->closed)
        reflector->ops->gone(reflector->owner, known->ns, known->name, known->uid, last);
    kvmig__known_free(known);
}

static bool is_older(const struct kvmig__reflector *reflector, const struct kvmig__identity *identity,
                     const struct kvmig__known *known)
{
    return !reflector->rewound && identity->number && known->number && identity->number < known->number;
}

static bool is_same_object(const struct kvmig__identity *identity, const struct kvmig__known *known)
{
    return !*identity->uid || !*known->uid || strcmp(identity->uid, known->uid) == 0;
}

static bool is_same_version(const struct kvmig__identity *identity, const struct kvmig__known *known)
{
    if (identity->number || known->number)
        return identity->number == known->number;
    return *identity->version && strcmp(identity->version, known->opaque) == 0;
}

void kvmig__reflector_take(struct kvmig__reflector *reflector, struct json_object *object, uint32_t round)
{
    struct kvmig__identity identity;
    struct kvmig__known *known;

    if (reflector->closed || !kvmig__identity_read(object, &identity))
        return;
    known = kvmig__index_find(&reflector->index, identity.ns, identity.name);
    if (known && round)
        known->round = round;
    if (known && is_older(reflector, &identity, known))
        return;
    if (known && !is_same_object(&identity, known)) {
        kvmig__index_take(&reflector->index, known);
        kvmig__reflector_report_gone(reflector, known, NULL, identity.number);
        if (reflector->closed)
            return;
        known = NULL;
    } else if (known && is_same_version(&identity, known)) {
        return;
    } else if (!known && !reflector->rewound && kvmig__index_is_buried(&reflector->index, &identity)) {
        return;
    }
    if (known)
        kvmig__index_update(known, &identity);
    else
        kvmig__index_add(&reflector->index, &identity)->round = round;
    reflector->reported = true;
    reflector->ops->object(reflector->owner, object);
}

void kvmig__reflector_learn(struct kvmig__reflector *reflector, struct json_object *object)
{
    kvmig__reflector_enter(reflector);
    kvmig__reflector_take(reflector, object, 0);
    if (reflector->reported)
        kvmig__reflector_settle_soon(reflector);
    kvmig__reflector_leave(reflector);
}

/* ---- waits ---- */

static void keep_error(struct kvmig__reflector *reflector, const struct kvmig_error *error)
{
    struct kvmig_error *copy = kvmig__error_copy(error);

    kvmig__error_free(reflector->error);
    reflector->error = copy;
}

void kvmig__reflector_forget_version(struct kvmig__reflector *reflector)
{
    kvmig__str_set(&reflector->version, NULL);
}

/* Doubles; a wait is up to half as long again, so that many do not come back in step. */
static int64_t next_wait(struct kvmig__reflector *reflector)
{
    int64_t longest = reflector->opts.backoff_ms * BACKOFF_RANGE, wait;

    reflector->backoff_ms = reflector->backoff_ms ? reflector->backoff_ms * 2 : reflector->opts.backoff_ms;
    if (reflector->backoff_ms > longest * 2 / 3)
        reflector->backoff_ms = longest * 2 / 3;
    wait = reflector->backoff_ms +
           (int64_t)(kvmig__reflector_random(reflector) % ((uint64_t)reflector->backoff_ms / 2 + 1));
    return wait < longest ? wait : longest;
}

void kvmig__reflector_pause(struct kvmig__reflector *reflector)
{
    if (!reflector->closed)
        kvmig__timer_arm_in(&reflector->retry, next_wait(reflector));
}

static void pause_refused(struct kvmig__reflector *reflector, int32_t http_status, int64_t retry_after_ms)
{
    int64_t wait = reflector->opts.refused_ms;

    wait += (int64_t)(kvmig__reflector_random(reflector) % ((uint64_t)wait / 8 + 1));
    kvmig__reflector_forget_version(reflector);
    kvmig__timer_arm_in(&reflector->retry, wait > retry_after_ms ? wait : retry_after_ms);
    kvmig__timer_disarm(&reflector->patience); /* it does answer */
    kvmig__reflector_set_state(reflector, http_status == 404 ? KVMIG__REFLECTOR_ABSENT : KVMIG__REFLECTOR_FORBIDDEN);
}

/* Nothing that time mends: the caller should hear of it now, although it is tried again. An answer that was lost may come. */
static bool is_definite(const struct kvmig_error *error)
{
    return error->code != -ETIMEDOUT && error->code != -ECONNRESET && error->code != -EAGAIN;
}

void kvmig__reflector_trouble(struct kvmig__reflector *reflector, int32_t http_status, const struct kvmig_error *error,
                              int64_t retry_after_ms)
{
    int64_t wait;

    if (reflector->closed)
        return;
    keep_error(reflector, error);
    if (retry_after_ms > MAX_RETRY_AFTER_MS)
        retry_after_ms = MAX_RETRY_AFTER_MS;
    if (http_status == 401 || http_status == 403 || http_status == 404) {
        pause_refused(reflector, http_status, retry_after_ms);
        return;
    }
    wait = next_wait(reflector);
    kvmig__timer_arm_in(&reflector->retry, wait > retry_after_ms ? wait : retry_after_ms);
    if (reflector->state == KVMIG__REFLECTOR_STARTING && !http_status && is_definite(error))
        kvmig__reflector_set_state(reflector, KVMIG__REFLECTOR_LOST);
    kvmig__log(reflector->context, KVMIG_LOG_DEBUG, "kubernetes", "%s: %s %s", reflector->path,
               kvmig_error_message(error), kvmig_error_evidence(error));
}

void kvmig__reflector_expired(struct kvmig__reflector *reflector)
{
    if (reflector->closed)
        return;
    kvmig__reflector_forget_version(reflector);
    if (reflector->backoff_ms > 0) {
        kvmig__reflector_pause(reflector);
        return;
    }
    reflector->backoff_ms = reflector->opts.backoff_ms; /* once more without anything good between: waits */
    kvmig__reflector_list(reflector);
}

static void try_again(void *data)
{
    struct kvmig__reflector *reflector = data;

    kvmig__reflector_enter(reflector);
    if (reflector->version)
        kvmig__reflector_watch(reflector);
    else
        kvmig__reflector_list(reflector);
    kvmig__reflector_leave(reflector);
}

/* ---- life ---- */

void kvmig__reflector_refresh(struct kvmig__reflector *reflector)
{
    kvmig__client_cancel(reflector->request);
    reflector->request = NULL;
    reflector->course++;
    kvmig__reflector_forget_version(reflector);
    kvmig__timer_arm(&reflector->retry, 0);
}

struct kvmig__reflector *kvmig__reflector_new(struct kvmig_context *context, struct kvmig__client *client,
                                              const struct kvmig__reflector_opts *opts,
                                              const struct kvmig__reflector_ops *ops, void *owner)
{
    struct kvmig__reflector *reflector = kvmig__calloc(1, sizeof(*reflector));

    reflector->context = context;
    reflector->client = client;
    reflector->path = kvmig__strdup(opts->path);
    reflector->selectors = kvmig__strdup(opts->selectors);
    reflector->opts = *opts;
    reflector->opts.path = reflector->opts.selectors = NULL;
    if (reflector->opts.backoff_ms <= 0)
        reflector->opts.backoff_ms = FIRST_BACKOFF_MS;
    if (reflector->opts.refused_ms <= 0)
        reflector->opts.refused_ms = REFUSED_MS;
    reflector->ops = ops;
    reflector->owner = owner;
    if (getrandom(&reflector->random, sizeof(reflector->random), GRND_NONBLOCK) != sizeof(reflector->random))
        reflector->random = (uint64_t)kvmig__wall_ms() ^ (uintptr_t)reflector;
    reflector->random |= 1;
    kvmig__timer_init(&reflector->retry, context, try_again, reflector);
    kvmig__timer_init(&reflector->settle, context, settle_is_due, reflector);
    kvmig__timer_init(&reflector->patience, context, patience_is_over, reflector);
    kvmig__reflector_list(reflector);
    return reflector;
}

void kvmig__reflector_free(struct kvmig__reflector *reflector)
{
    if (!reflector)
        return;
    kvmig__client_cancel(reflector->request);
    reflector->request = NULL;
    kvmig__timer_disarm(&reflector->retry);
    kvmig__timer_disarm(&reflector->settle);
    kvmig__timer_disarm(&reflector->patience);
    reflector->closed = true;
    if (reflector->depth == 0)
        free_memory(reflector);
}

enum kvmig__reflector_state kvmig__reflector_state(const struct kvmig__reflector *reflector)
{
    return reflector->state;
}
