/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of ports share: a caller who writes down the events of a port.
 */
#ifndef KVMIG_TESTS_PORT_TEST_H
#define KVMIG_TESTS_PORT_TEST_H

#include "context_test.h"

#include <kvmig/port.h>
#include <stdlib.h>
#include <string.h>

/* Its events as "preparing prepared failed(ETIMEDOUT)". */
struct port_caller {
    char log[4096];
    _Atomic int n_events, n_frees;
    int n_late; /* after free */
    char *message, *evidence; /* of the last error */
};

static inline void port_caller_on_event(const struct kvmig_event *event, void *data)
{
    struct port_caller *caller = data;
    const struct kvmig_error *error = kvmig_event_error(event);
    const size_t used = strlen(caller->log);

    assert_int_equal(kvmig_event_type(event), KVMIG_EVENT_PORT);
    caller->n_late += caller->n_frees > 0;
    assert_true(used + 64 < sizeof(caller->log));
    strcat(caller->log, used ? " " : "");
    strcat(caller->log, kvmig_port_state_name(kvmig_event_port_state(event)));
    if (error) {
        strcat(caller->log, "(");
        strcat(caller->log, kvmig_error_code_name(kvmig_error_code(error)));
        strcat(caller->log, ")");
        kvmig__str_set(&caller->message, kvmig_error_message(error));
        kvmig__str_set(&caller->evidence, kvmig_error_evidence(error));
    }
    caller->n_events++;
}

static inline void port_caller_on_free(void *data)
{
    ((struct port_caller *)data)->n_frees++;
}

static inline struct kvmig_event_callback port_callback(struct port_caller *caller)
{
    return (struct kvmig_event_callback){ port_caller_on_event, caller, port_caller_on_free };
}

static inline void port_caller_clear(struct port_caller *caller)
{
    free(caller->message);
    free(caller->evidence);
    memset(caller, 0, sizeof(*caller));
}

/* Dispatches until nothing is due, not even what was put off for no time at all: that may be a millisecond. */
static inline void port_settle(struct kvmig_context *context)
{
    do {
        test_drain(context);
    } while (test_readable(context, 2));
}

/* For kvmig_context_run(): the last events are these. */
struct port_ending {
    const struct port_caller *caller;
    const char *ending;
};

static inline int32_t port_ends_with(void *data)
{
    const struct port_ending *wanted = data;

    return kvmig__str_ends(wanted->caller->log, wanted->ending);
}

/* Dispatches until the caller's log ends so. */
static inline void port_run_until(struct kvmig_context *context, const struct port_caller *caller, const char *ending)
{
    struct port_ending wanted = { caller, ending };

    if (kvmig_context_run(context, port_ends_with, &wanted, TEST_DEADLINE_MS) != 0)
        fail_msg("never \"%s\" in: %s", ending, caller->log);
}

#endif
