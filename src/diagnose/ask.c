/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The question: the caller's options, copied and validated for form. Pure; any thread. A question owns all it holds. */
#include "diagnose/diagnose.h"

#include <errno.h>
#include <stdlib.h>

#define WHERE "kvmig_cluster_diagnose"

int32_t kvmig_diagnose_opts_init(struct kvmig_diagnose_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_diagnose_opts_init");
}

const char *kvmig_intent_name(int32_t intent)
{
    static const char *const names[] = { [KVMIG_INTENT_LOOK] = "look",
                                         [KVMIG_INTENT_CANCEL] = "cancel",
                                         [KVMIG_INTENT_ROLLBACK] = "rollback",
                                         [KVMIG_INTENT_DRAIN] = "drain" };

    return intent >= 0 && (size_t)intent < KVMIG__N_ELEMENTS(names) ? names[intent] : NULL;
}

static int32_t refuse(const char *option, const char *hint, const char *message)
{
    char *place = kvmig__asprintf("%s, option %s", WHERE, option);
    const int32_t rc = kvmig__fail(kvmig__error_new(EINVAL, place, NULL, hint, "%s", message));

    free(place);
    return rc;
}

static bool is_sign(int32_t value)
{
    return value >= -1 && value <= 1;
}

static int32_t validate(const struct kvmig_diagnose_opts *opts)
{
    if (opts->intent < KVMIG_INTENT_LOOK || opts->intent > KVMIG_INTENT_DRAIN)
        return refuse("intent", "Use an enum kvmig_intent.", "The intent is not known.");
    if (!is_sign(opts->migrate_rc) || !is_sign(opts->postcopy_started))
        return refuse(is_sign(opts->migrate_rc) ? "postcopy_started" : "migrate_rc", "Use 1, -1, or 0 for not known.",
                      "The value is out of range.");
    if (opts->intent == KVMIG_INTENT_DRAIN && !opts->node)
        return refuse("node", "Name the node.", "A drain is of a node, and none is named.");
    if (opts->reserved)
        return refuse("reserved", "Begin with KVMIG_DIAGNOSE_OPTS_INIT.", "It is not 0.");
    return 0;
}

/* The planner's options without a VM: texts alone can be explained. */
static int32_t take_plan(struct kvmig__ask *ask, const struct kvmig_plan_opts *opts)
{
    struct kvmig_plan_opts known;
    int32_t rc = kvmig__opts_copy(&known, sizeof(known), opts, WHERE);

    if (rc < 0)
        return rc;
    if (known.vm)
        return kvmig__request_from_opts(&ask->plan, &known, WHERE);
    known.vm = "*";
    rc = kvmig__request_from_opts(&ask->plan, &known, WHERE);
    free(ask->plan.vm);
    ask->plan.vm = NULL;
    return rc;
}

int32_t kvmig__ask_from_opts(struct kvmig__ask *ask, const struct kvmig_diagnose_opts *opts)
{
    struct kvmig_diagnose_opts own;
    int32_t rc = kvmig__opts_copy(&own, sizeof(own), opts, WHERE);

    *ask = (struct kvmig__ask){ .intent = 0 };
    if (rc == 0)
        rc = validate(&own);
    if (rc == 0)
        rc = take_plan(ask, own.plan);
    if (rc < 0)
        return rc;
    ask->migration = kvmig__strdup(own.migration);
    ask->node = kvmig__strdup(own.node);
    ask->source_state = kvmig__strdup(own.source_state);
    ask->target_state = kvmig__strdup(own.target_state);
    ask->job = kvmig__strdup(own.job);
    ask->intent = own.intent;
    ask->migrate_rc = own.migrate_rc;
    ask->postcopy_started = own.postcopy_started;
    ask->events_now_s = own.events_now_s;
    ask->progress_timeout_s = own.progress_timeout_s;
    return 0;
}

void kvmig__ask_clear(struct kvmig__ask *ask)
{
    kvmig__request_clear(&ask->plan);
    kvmig__strlist_clear(&ask->texts);
    free(ask->migration);
    free(ask->node);
    free(ask->source_state);
    free(ask->target_state);
    free(ask->job);
    *ask = (struct kvmig__ask){ .intent = 0 };
}
