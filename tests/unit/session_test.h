/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One session of one guest on two hosts that exist only here, and the caller that listens to it.
 */
#ifndef KVMIG_TESTS_SESSION_TEST_H
#define KVMIG_TESTS_SESSION_TEST_H

#include "fake_backend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

struct fixture {
    struct fake_world world;
    struct fake_caller caller;
    struct kvmig_session *session;
    struct kvmig_session_opts opts;
};

static inline void open_fixture(struct fixture *f)
{
    fake_world_open(&f->world, 2, 1, NULL);
    fake_caller_init(&f->caller, &f->world);
    f->session = NULL;
    f->opts = (struct kvmig_session_opts)KVMIG_SESSION_OPTS_INIT;
    f->opts.on_event = fake_callback(&f->caller);
}

static inline void new_session(struct fixture *f, uint64_t flags, int32_t handover)
{
    struct kvmig_plan *plan = fake_plan(&f->world, "vm-0", "host-1", flags, handover);

    assert_int_equal(kvmig_session_new(f->world.cluster, plan, &f->opts, &f->session), 0);
    f->caller.session = f->session;
    kvmig_plan_unref(plan);
}

static inline void run_to_end(struct fixture *f)
{
    assert_int_equal(kvmig_session_start(f->session), 0);
    fake_run(&f->world, fake_ended, &f->caller);
}

static inline void close_fixture(struct fixture *f)
{
    kvmig_session_unref(f->session);
    fake_drain(&f->world);
    assert_int_equal(f->caller.n_frees, 1);
    assert_int_equal(f->caller.n_late, 0);
    fake_world_close(&f->world);
    fake_caller_clear(&f->caller);
}

static inline void assert_heard_all(const struct fake_caller *caller, const char *expected)
{
    char *heard = fake_joined(caller);

    assert_string_equal(heard, expected);
    free(heard);
}

/* For fake_run(). */
static inline int32_t session_runs(void *caller)
{
    return fake_heard(caller, "phase Running");
}

/* The report; json_object_put() it. */
static inline struct json_object *report_of(struct kvmig_session *session)
{
    struct json_object *report;
    char *text = NULL;

    assert_int_equal(kvmig_session_report(session, &text), 0);
    report = json_tokener_parse(text);
    assert_non_null(report);
    free(text);
    return report;
}

#endif
