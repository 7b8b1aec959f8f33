/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One round of asking two hosts where a guest is. The guest's state moves from the source to the target only, so the target
 * is read first and last: a change between the two readings shows. Does not repeat itself, does not act. Runs in dispatch
 * with the context lock held; owns itself until it has answered, which it does by the backends' deadlines.
 */
#include "session/locator.h"

#include <stdlib.h>

enum stage { READ_TARGET, READ_SOURCE, READ_TARGET_AGAIN, N_STAGES };

struct locator {
    struct kvmig__cluster_host *source, *target;
    char *vm;
    int64_t timeout_ms;
    kvmig__located_fn fn;
    void *owner;
    enum stage stage;
    struct kvmig__side sides[N_STAGES]; /* as read */
};

static void answer(struct locator *locator)
{
    const struct kvmig__side *source = &locator->sides[READ_SOURCE], *target = &locator->sides[READ_TARGET_AGAIN];
    const struct kvmig__resolution resolution = kvmig__resolve(source, &locator->sides[READ_TARGET], target);

    locator->fn(locator->owner, &resolution, source, target);
    for (size_t i = 0; i < N_STAGES; i++)
        kvmig__side_clear(&locator->sides[i]);
    free(locator->vm);
    free(locator);
}

static void read_next(struct locator *locator);

static void on_side(void *owner, const struct kvmig__side *side)
{
    struct locator *locator = owner;

    kvmig__side_copy(&locator->sides[locator->stage], side);
    /* A target that could not be asked will not be asked twice: the answer is the same, and costs another time-out. */
    if (locator->stage == READ_SOURCE && !locator->sides[READ_TARGET].reachable) {
        kvmig__side_copy(&locator->sides[READ_TARGET_AGAIN], &locator->sides[READ_TARGET]);
        locator->stage = READ_TARGET_AGAIN;
    }
    if (++locator->stage == N_STAGES)
        answer(locator);
    else
        read_next(locator);
}

static void read_next(struct locator *locator)
{
    struct kvmig__host_backend *backend =
        locator->stage == READ_SOURCE ? locator->source->backend : locator->target->backend;

    backend->ops->read_side(backend, locator->vm, locator->timeout_ms, on_side, locator);
}

void kvmig__locate(struct kvmig__cluster_host *source, struct kvmig__cluster_host *target, const char *vm,
                   int64_t timeout_ms, kvmig__located_fn fn, void *owner)
{
    struct locator *locator = kvmig__calloc(1, sizeof(*locator));

    *locator =
        (struct locator){ .source = source, .target = target, .timeout_ms = timeout_ms, .fn = fn, .owner = owner };
    locator->vm = kvmig__strdup(vm);
    read_next(locator);
}
