/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One driver between two fake hosts (fake_libvirt.h), and the session that it answers to, which only takes notes.
 */
#ifndef KVMIG_TESTS_DRIVER_TEST_H
#define KVMIG_TESTS_DRIVER_TEST_H

#include "context/context_internal.h"
#include "fake_libvirt.h"
#include "libvirt/libvirt_internal.h"
#include "session/driver.h"
#include "session/report.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The driver's session. */
struct kvmig_session {
    struct kvmig_context *context;
    struct kvmig__driver *driver;
    struct kvmig_plan *plan;
    struct kvmig__report *report;
    struct kvmig_findings notices;

    size_t answers; /* of any kind */
    struct kvmig_error *error; /* of the last answer */
    bool hung; /* of the last call_done */
    size_t refusals;
    struct kvmig__resolution resolution;
    size_t final_sides; /* how often told; states of the last, -1 = not reachable */
    int32_t final_source_state, final_target_state;
    size_t proofs;
    bool source_seen_stopped;
    int32_t mode;
    size_t progresses, boundaries;
    uint64_t iteration;
    char first_disk[16];
};

/* Changes of the world, with its lock. States and reasons are libvirt's. */
void set_vm(int host, int state, int reason);
void set_failing(int host, const char *call);
/* Starts with a healthy world; pass limits in ms. */
void open_driver(struct kvmig_session *s, int64_t step_ms, int64_t abort_ms);
void close_driver(struct kvmig_session *s);
/* Adds a disk to the plan that is copied to a new volume. */
void plan_new_volume(struct kvmig_session *s, const char *target, const char *volume);
/* Begins a step; does not wait. */
void begin(struct kvmig_session *s, enum kvmig__step step);
/* Begins a step and waits for its answer. */
void run_step(struct kvmig_session *s, enum kvmig__step step);
/* The same, and the answer is success. */
void pass_step(struct kvmig_session *s, enum kvmig__step step);
/* SCHEDULE and PREPARE pass. */
void prepare(struct kvmig_session *s);
void abort_call(struct kvmig_session *s);
/* Dispatches until the condition is true of the session; fails the test after a while. */
void await(struct kvmig_session *s, int32_t (*condition)(void *session));
int32_t has_answer(void *session); /* since the last begin() */
void assert_log(const char *expected);
void assert_error(const struct kvmig_session *s, const char *part);
/* The outcome of a thing in the ledger; fails the test if it is not there. */
const char *outcome_of(const struct kvmig_session *s, const char *kind, const char *host);
bool in_ledger(const struct kvmig_session *s, const char *kind, const char *host);

#endif
