/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A caller of a session that writes down every event, and counts what must not come. Its functions run in dispatch, like those of
 * any caller.
 */
#include "fake_backend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *line_of(const struct kvmig_event *event)
{
    switch (kvmig_event_type(event)) {
    case KVMIG_EVENT_PHASE:
        return kvmig__asprintf("phase %s", kvmig_phase_name(kvmig_event_phase(event)));
    case KVMIG_EVENT_QUEUED:
        assert_string_equal(kvmig_finding_code(kvmig_event_finding(event)), "LIMIT_REACHED");
        return kvmig__asprintf("queued %u at %s", (unsigned)kvmig_event_queue_position(event),
                               kvmig_finding_object(kvmig_event_finding(event)));
    case KVMIG_EVENT_PROGRESS:
        return kvmig__strdup("progress");
    case KVMIG_EVENT_NOTICE:
        return kvmig__asprintf("notice %s", kvmig_finding_code(kvmig_event_finding(event)));
    case KVMIG_EVENT_CANCEL:
        return kvmig__asprintf("cancel %s", kvmig_cancel_result_name(kvmig_event_cancel_result(event)));
    case KVMIG_EVENT_MODE:
        return kvmig__asprintf("mode %s", kvmig_mode_name(kvmig_event_mode(event)));
    case KVMIG_EVENT_PORT:
        return kvmig__asprintf("port %s %s%s", kvmig_event_port(event),
                               kvmig_port_state_name(kvmig_event_port_state(event)),
                               kvmig_event_error(event) ? " with an error" : "");
    case KVMIG_EVENT_CHECKPOINT:
        return kvmig__asprintf("checkpoint %s", kvmig_event_token(event));
    case KVMIG_EVENT_END:
        return kvmig__asprintf("end %s", kvmig_phase_name(kvmig_event_phase(event)));
    default:
        return kvmig__asprintf("event %d", (int)kvmig_event_type(event));
    }
}

static void note_end(struct fake_caller *caller, const struct kvmig_event *event)
{
    const struct kvmig_error *error = kvmig_event_error(event);

    caller->n_ends++;
    caller->end_phase = kvmig_event_phase(event);
    caller->end_error = kvmig_error_code(error);
    kvmig__str_set(&caller->end_message, error ? kvmig_error_message(error) : NULL);
}

static void on_event(const struct kvmig_event *event, void *data)
{
    struct fake_caller *caller = data;
    const int32_t type = kvmig_event_type(event);

    if (caller->n_ends || caller->n_frees)
        caller->n_late++;
    assert_non_null(kvmig_event_session_id(event));
    assert_true(caller->n < MAX_LOG);
    caller->log[caller->n++] = line_of(event);
    if (type == KVMIG_EVENT_END)
        note_end(caller, event);
    if (type == KVMIG_EVENT_PROGRESS)
        caller->progress = *kvmig_event_progress(event);
    if (type == KVMIG_EVENT_PHASE && caller->cancel_at && kvmig_event_phase(event) == caller->cancel_at)
        caller->cancel_rc = kvmig_session_cancel(caller->session);
}

static void on_free(void *data)
{
    ((struct fake_caller *)data)->n_frees++;
}

void fake_caller_init(struct fake_caller *caller, struct fake_world *world)
{
    memset(caller, 0, sizeof(*caller));
    caller->world = world;
}

void fake_caller_clear(struct fake_caller *caller)
{
    for (size_t i = 0; i < caller->n; i++)
        free(caller->log[i]);
    free(caller->end_message);
    caller->n = 0;
    caller->end_message = NULL;
}

struct kvmig_event_callback fake_callback(struct fake_caller *caller)
{
    return (struct kvmig_event_callback){ on_event, caller, on_free };
}

bool fake_heard(const struct fake_caller *caller, const char *line)
{
    for (size_t i = 0; i < caller->n; i++)
        if (strcmp(caller->log[i], line) == 0)
            return true;
    return false;
}

int fake_count(const struct fake_caller *caller, const char *prefix)
{
    int n = 0;

    for (size_t i = 0; i < caller->n; i++)
        n += strncmp(caller->log[i], prefix, strlen(prefix)) == 0;
    return n;
}

char *fake_joined(const struct fake_caller *caller)
{
    struct kvmig__strlist list = { NULL, 0 };
    char *text;

    for (size_t i = 0; i < caller->n; i++)
        kvmig__strlist_add(&list, caller->log[i]);
    text = kvmig__strlist_join(&list, ", ");
    kvmig__strlist_clear(&list);
    return text;
}

int32_t fake_ended(void *data)
{
    return ((struct fake_caller *)data)->n_ends > 0;
}
