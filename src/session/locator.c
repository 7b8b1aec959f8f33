/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One round of asking two hosts where a guest is. The guest's state moves from the source to the target only, so the target
 * is read first and last: a change between the two readings shows. Does not repeat itself, does not act. Runs in dispatch
 * with the context lock held; owns itself until it has answered, which it does by the backends' deadlines.
 *
 * Two hosts may give one name to two guests, and two names to one guest. So a name is only looked up, on both hosts; as soon
 * as it stands for one UUID, the round begins anew with that. If it stands for two, nothing is said about either guest.
 */
#include "session/locator.h"

#include <stdlib.h>
#include <strings.h>

enum stage { READ_TARGET, READ_SOURCE, READ_TARGET_AGAIN, N_STAGES };

struct locator {
    struct kvmig__cluster_host *source, *target;
    char *vm; /* as asked for */
    char *uuid; /* that is asked for; NULL = the name is being looked up */
    int64_t timeout_ms;
    kvmig__located_fn fn;
    void *owner;
    enum stage stage;
    struct kvmig__side sides[N_STAGES]; /* as read */
};

/* ---- the answer ---- */

static void answer_with(struct locator *locator, const struct kvmig__resolution *resolution, const char *uuid)
{
    locator->fn(locator->owner, resolution, uuid, &locator->sides[READ_SOURCE], &locator->sides[READ_TARGET_AGAIN]);
    for (size_t i = 0; i < N_STAGES; i++)
        kvmig__side_clear(&locator->sides[i]);
    free(locator->vm);
    free(locator->uuid);
    free(locator);
}

static void answer(struct locator *locator)
{
    struct kvmig__resolution resolution =
        kvmig__resolve(&locator->sides[READ_SOURCE], &locator->sides[READ_TARGET], &locator->sides[READ_TARGET_AGAIN]);

    if (!locator->uuid && resolution.verdict == KVMIG_LOCATION_VM_LOST)
        resolution.proof =
            "neither host knows a domain of that name; one that is called otherwise is found by its UUID";
    answer_with(locator, &resolution, locator->uuid);
}

static void answer_namesakes(struct locator *locator)
{
    char *proof = kvmig__asprintf("two guests are called %s: %s on %s, and %s on %s; ask for one of them by its UUID",
                                  locator->vm, locator->sides[READ_SOURCE].uuid, locator->source->facts->name,
                                  locator->sides[READ_TARGET].uuid, locator->target->facts->name);
    const struct kvmig__resolution resolution = { .verdict = KVMIG_LOCATION_UNDECIDED,
                                                  .proof = proof,
                                                  .decided = true };

    answer_with(locator, &resolution, NULL);
    free(proof);
}

/* ---- reading ---- */

static void on_side(void *owner, const struct kvmig__side *side);

static void read_next(struct locator *locator)
{
    struct kvmig__host_backend *backend =
        locator->stage == READ_SOURCE ? locator->source->backend : locator->target->backend;
    const char *vm = locator->uuid ? locator->uuid : locator->vm;

    backend->ops->read_side(backend, vm, locator->timeout_ms, on_side, locator);
}

static void skip_second_look(struct locator *locator)
{
    kvmig__side_copy(&locator->sides[READ_TARGET_AGAIN], &locator->sides[READ_TARGET]);
    locator->stage = READ_TARGET_AGAIN;
}

static void begin_again(struct locator *locator, const char *uuid)
{
    locator->uuid = kvmig__strdup(uuid);
    for (size_t i = 0; i < N_STAGES; i++)
        kvmig__side_clear(&locator->sides[i]);
    locator->stage = READ_TARGET;
    read_next(locator);
}

/* Both hosts were asked for the name. True: the locator went on by itself, and may be gone. */
static bool name_is_found(struct locator *locator)
{
    const struct kvmig__side *source = &locator->sides[READ_SOURCE];
    const struct kvmig__side *target = &locator->sides[locator->stage == READ_SOURCE ? READ_TARGET : READ_TARGET_AGAIN];

    if (!source->reachable || !target->reachable)
        return false;
    if (source->uuid && target->uuid && strcasecmp(source->uuid, target->uuid) != 0) {
        skip_second_look(locator);
        answer_namesakes(locator);
        return true;
    }
    if (!source->uuid && !target->uuid)
        return false;
    begin_again(locator, source->uuid ? source->uuid : target->uuid);
    return true;
}

static void on_side(void *owner, const struct kvmig__side *side)
{
    struct locator *locator = owner;

    kvmig__side_copy(&locator->sides[locator->stage], side);
    if (!locator->uuid && locator->stage >= READ_SOURCE && name_is_found(locator))
        return;
    /* A target that could not be asked will not be asked twice: the answer is the same, and costs another time-out. */
    if (locator->stage == READ_SOURCE && !locator->sides[READ_TARGET].reachable)
        skip_second_look(locator);
    if (++locator->stage == N_STAGES)
        answer(locator);
    else
        read_next(locator);
}

void kvmig__locate(struct kvmig__cluster_host *source, struct kvmig__cluster_host *target, const char *vm,
                   int64_t timeout_ms, kvmig__located_fn fn, void *owner)
{
    struct locator *locator = kvmig__calloc(1, sizeof(*locator));

    *locator =
        (struct locator){ .source = source, .target = target, .timeout_ms = timeout_ms, .fn = fn, .owner = owner };
    locator->vm = kvmig__strdup(vm);
    if (kvmig__is_uuid(vm))
        locator->uuid = kvmig__strdup(vm);
    read_next(locator);
}
