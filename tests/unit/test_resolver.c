/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The resolver's judgement: rules over every combination of what two hosts can say, and the rows that matter by name.
 */
#include "session/resolver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- every combination ---- */

#define N_STATES (KVMIG__STATE_OTHER + 1)
#define N_REASONS (KVMIG__REASON_UNSPECIFIED + 1)
#define N_SIDES (1 + N_STATES * N_REASONS * 2) /* unreachable; else state, reason, job */

static struct kvmig__side side_number(int n)
{
    struct kvmig__side side = { 0 };

    if (n == 0)
        return side;
    n--;
    side.reachable = true;
    side.job_active = n % 2;
    side.reason = n / 2 % N_REASONS;
    side.state = n / 2 / N_REASONS;
    return side;
}

static bool runs(const struct kvmig__side *side)
{
    return side->reachable && side->state == KVMIG__STATE_RUNNING;
}

/* Nothing there can run, or start to run by a late step of a migration. */
static bool is_gone(const struct kvmig__side *side)
{
    return side->reachable && !side->job_active &&
           (side->state == KVMIG__STATE_ABSENT || side->state == KVMIG__STATE_SHUTOFF ||
            side->state == KVMIG__STATE_CRASHED);
}

/* The reasons of post-copy belong to these two states only. */
static bool is_in_postcopy(const struct kvmig__side *side)
{
    return (side->state == KVMIG__STATE_RUNNING || side->state == KVMIG__STATE_PAUSED) &&
           (side->reason == KVMIG__REASON_POSTCOPY || side->reason == KVMIG__REASON_POSTCOPY_FAILED);
}

/* The whole guest is there: it runs, or is paused, and no part of its memory is elsewhere. */
static bool holds_guest(const struct kvmig__side *side)
{
    return side->reachable && !is_in_postcopy(side) &&
           (side->state == KVMIG__STATE_RUNNING || side->state == KVMIG__STATE_PAUSED ||
            side->state == KVMIG__STATE_SUSPENDED_PM);
}

static size_t count_actions(const struct kvmig__resolution *r)
{
    size_t n = 0;

    while (n < KVMIG__MAX_ACTIONS && r->actions[n])
        n++;
    return n;
}

typedef void (*rule_fn)(const struct kvmig__side *s, const struct kvmig__side *t, const struct kvmig__resolution *r);

static void for_all(rule_fn rule)
{
    for (int i = 0; i < N_SIDES; i++) {
        for (int k = 0; k < N_SIDES; k++) {
            const struct kvmig__side s = side_number(i), t = side_number(k);
            const struct kvmig__resolution r = kvmig__resolve(&s, &t, &t);

            rule(&s, &t, &r);
        }
    }
}

static void answer_is_complete(const struct kvmig__side *s, const struct kvmig__side *t,
                               const struct kvmig__resolution *r)
{
    (void)s;
    (void)t;
    assert_non_null(kvmig_location_verdict_name(r->verdict));
    assert_non_null(r->proof);
    assert_in_range(r->side + 1, 0, 2);
    for (size_t i = 0; i < KVMIG__MAX_ACTIONS; i++)
        assert_true(r->actions[i] == 0 || kvmig_location_action_name(r->actions[i]));
    assert_false(kvmig__resolution_allows(r, 0));
}

static void resume_needs_the_other_side_gone(const struct kvmig__side *s, const struct kvmig__side *t,
                                             const struct kvmig__resolution *r)
{
    if (kvmig__resolution_allows(r, KVMIG_ACTION_RESUME_SOURCE)) {
        assert_true(is_gone(t) && t->state == KVMIG__STATE_ABSENT); /* defined and off, it may have run there since */
        assert_true(holds_guest(s) && !runs(s) && !s->job_active);
    }
    if (kvmig__resolution_allows(r, KVMIG_ACTION_RESUME_TARGET)) {
        assert_true(is_gone(s));
        assert_true(holds_guest(t) && !runs(t) && !t->job_active);
    }
}

static void destroy_needs_the_other_side_complete(const struct kvmig__side *s, const struct kvmig__side *t,
                                                  const struct kvmig__resolution *r)
{
    if (kvmig__resolution_allows(r, KVMIG_ACTION_DESTROY_SOURCE)) {
        assert_true(holds_guest(t) && !runs(s));
        /* A target that was booted has another state than the source, whose memory is then the only one. */
        if (holds_guest(s) && runs(t))
            assert_true(t->reason == KVMIG__REASON_MIGRATED || t->reason == KVMIG__REASON_UNPAUSED);
        assert_false(s->job_active || t->job_active);
    }
    if (kvmig__resolution_allows(r, KVMIG_ACTION_DESTROY_TARGET)) {
        assert_true(holds_guest(s) && !runs(t) && !is_in_postcopy(t));
        assert_false(s->job_active || t->job_active);
    }
    assert_false(kvmig__resolution_allows(r, KVMIG_ACTION_DESTROY_SOURCE) &&
                 kvmig__resolution_allows(r, KVMIG_ACTION_DESTROY_TARGET));
}

static void silence_proves_nothing(const struct kvmig__side *s, const struct kvmig__side *t,
                                   const struct kvmig__resolution *r)
{
    if (s->reachable && t->reachable)
        return;
    assert_int_equal(r->verdict, KVMIG_LOCATION_UNDECIDED);
    assert_int_equal(count_actions(r), 1);
    assert_int_equal(r->actions[0], KVMIG_ACTION_WAIT);
    assert_false(r->decided);
    assert_int_equal(r->side, 0);
}

static void two_running_copies_can_only_be_suspended(const struct kvmig__side *s, const struct kvmig__side *t,
                                                     const struct kvmig__resolution *r)
{
    assert_int_equal(r->verdict == KVMIG_LOCATION_SPLIT_BRAIN, runs(s) && runs(t));
    assert_int_equal(kvmig__resolution_allows(r, KVMIG_ACTION_SUSPEND_BOTH), runs(s) && runs(t));
    if (runs(s) && runs(t))
        assert_int_equal(count_actions(r), 1);
}

static void success_means_that_the_source_does_not_run(const struct kvmig__side *s, const struct kvmig__side *t,
                                                       const struct kvmig__resolution *r)
{
    if (r->verdict != KVMIG_LOCATION_SUCCEEDED && r->verdict != KVMIG_LOCATION_SUCCEEDED_UNREPORTED &&
        r->verdict != KVMIG_LOCATION_TARGET_PAUSED)
        return;
    assert_true(holds_guest(t) && s->reachable && !runs(s));
    assert_int_equal(r->side, 1);
}

static void failure_means_that_the_target_does_not_run(const struct kvmig__side *s, const struct kvmig__side *t,
                                                       const struct kvmig__resolution *r)
{
    if (r->verdict != KVMIG_LOCATION_NO_FINDING && r->verdict != KVMIG_LOCATION_FAILED &&
        r->verdict != KVMIG_LOCATION_FAILED_SOURCE_PAUSED)
        return;
    assert_true(holds_guest(s) && t->reachable && !runs(t));
    assert_int_equal(r->side, -1);
}

static void lost_means_that_nothing_runs(const struct kvmig__side *s, const struct kvmig__side *t,
                                         const struct kvmig__resolution *r)
{
    if (r->verdict == KVMIG_LOCATION_VM_LOST)
        assert_false(runs(s) || runs(t));
}

static void waiting_and_being_decided_exclude_each_other(const struct kvmig__side *s, const struct kvmig__side *t,
                                                         const struct kvmig__resolution *r)
{
    (void)s;
    (void)t;
    assert_int_equal(r->decided, !kvmig__resolution_allows(r, KVMIG_ACTION_WAIT));
}

static void a_job_leaves_nothing_to_do_but_post_copy_repair(const struct kvmig__side *s, const struct kvmig__side *t,
                                                            const struct kvmig__resolution *r)
{
    if (!s->reachable || !t->reachable || (!s->job_active && !t->job_active) || (runs(s) && runs(t)))
        return;
    for (size_t i = 0; i < count_actions(r); i++)
        assert_true(r->actions[i] == KVMIG_ACTION_WAIT || r->actions[i] == KVMIG_ACTION_POSTCOPY_RECOVER);
}

#define RULE(name)                                                                                                     \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        for_all(name);                                                                                                 \
    }
RULE(answer_is_complete)
RULE(resume_needs_the_other_side_gone)
RULE(destroy_needs_the_other_side_complete)
RULE(silence_proves_nothing)
RULE(two_running_copies_can_only_be_suspended)
RULE(success_means_that_the_source_does_not_run)
RULE(failure_means_that_the_target_does_not_run)
RULE(lost_means_that_nothing_runs)
RULE(waiting_and_being_decided_exclude_each_other)
RULE(a_job_leaves_nothing_to_do_but_post_copy_repair)

static void a_target_that_changed_meanwhile_is_in_progress(void **state)
{
    (void)state;
    for (int i = 0; i < N_SIDES; i += 3) {
        for (int k = 0; k < N_SIDES; k++) {
            for (int again = 0; again < N_SIDES; again++) {
                const struct kvmig__side s = side_number(i), t = side_number(k), t2 = side_number(again);
                const struct kvmig__resolution r = kvmig__resolve(&s, &t, &t2);

                if (k == again)
                    continue;
                assert_false(r.decided);
                assert_int_equal(count_actions(&r), 1);
                assert_int_equal(r.actions[0], KVMIG_ACTION_WAIT);
                assert_true(r.verdict == (i && k && again ? KVMIG_LOCATION_RUNNING : KVMIG_LOCATION_UNDECIDED));
            }
        }
    }
}

/* ---- by name ---- */

#define NONE                                                                                                           \
    {                                                                                                                  \
        .reachable = true, .state = KVMIG__STATE_ABSENT                                                                \
    }
#define OFF                                                                                                            \
    {                                                                                                                  \
        .reachable = true, .state = KVMIG__STATE_SHUTOFF, .reason = KVMIG__REASON_MIGRATED                             \
    }
#define STOPPED(why)                                                                                                   \
    {                                                                                                                  \
        .reachable = true, .state = KVMIG__STATE_SHUTOFF, .reason = KVMIG__REASON_##why, .persistent = true            \
    }
#define RUN(why)                                                                                                       \
    {                                                                                                                  \
        .reachable = true, .state = KVMIG__STATE_RUNNING, .reason = KVMIG__REASON_##why                                \
    }
#define RUN_JOB                                                                                                        \
    {                                                                                                                  \
        .reachable = true, .state = KVMIG__STATE_RUNNING, .job_active = true                                           \
    }
#define PAUSED(why)                                                                                                    \
    {                                                                                                                  \
        .reachable = true, .state = KVMIG__STATE_PAUSED, .reason = KVMIG__REASON_##why                                 \
    }
#define PAUSED_JOB(why)                                                                                                \
    {                                                                                                                  \
        .reachable = true, .state = KVMIG__STATE_PAUSED, .reason = KVMIG__REASON_##why, .job_active = true             \
    }
#define CRASHED                                                                                                        \
    {                                                                                                                  \
        .reachable = true, .state = KVMIG__STATE_CRASHED                                                               \
    }
#define SLEEPS                                                                                                         \
    {                                                                                                                  \
        .reachable = true, .state = KVMIG__STATE_SUSPENDED_PM                                                          \
    }
#define UNCLEAR                                                                                                        \
    {                                                                                                                  \
        .reachable = true, .state = KVMIG__STATE_OTHER                                                                 \
    }
#define SILENT                                                                                                         \
    {                                                                                                                  \
        .reachable = false                                                                                             \
    }

static const struct {
    const char *name;
    struct kvmig__side source, target;
    int32_t verdict, action, side;
} rows[] = {
    { "never migrated", RUN(OTHER), NONE, KVMIG_LOCATION_NO_FINDING, 0, -1 },
    { "rolled back", RUN(MIGRATION_CANCELED), OFF, KVMIG_LOCATION_NO_FINDING, 0, -1 },
    { "paused by a user, nothing on the target", PAUSED(USER), NONE, KVMIG_LOCATION_NO_FINDING, 0, -1 },
    { "paused by an I/O error, nothing on the target", PAUSED(IOERROR), NONE, KVMIG_LOCATION_NO_FINDING, 0, -1 },
    { "suspended itself", SLEEPS, NONE, KVMIG_LOCATION_NO_FINDING, 0, -1 },
    { "copying, target prepared", RUN_JOB, PAUSED_JOB(MIGRATION), KVMIG_LOCATION_RUNNING, KVMIG_ACTION_WAIT, -1 },
    { "copying, target not prepared yet", RUN_JOB, NONE, KVMIG_LOCATION_RUNNING, KVMIG_ACTION_WAIT, -1 },
    { "switching", PAUSED_JOB(MIGRATION), PAUSED_JOB(MIGRATION), KVMIG_LOCATION_RUNNING, KVMIG_ACTION_WAIT, 0 },
    { "target started, source waits for Confirm", PAUSED_JOB(MIGRATION), RUN(MIGRATED), KVMIG_LOCATION_RUNNING,
      KVMIG_ACTION_WAIT, 1 },
    { "target still holds its job", PAUSED(MIGRATION), PAUSED_JOB(MIGRATION), KVMIG_LOCATION_RUNNING, KVMIG_ACTION_WAIT,
      0 },
    { "incoming copy left over", RUN(MIGRATION_CANCELED), PAUSED(MIGRATION), KVMIG_LOCATION_FAILED,
      KVMIG_ACTION_DESTROY_TARGET, -1 },
    { "incoming copy just starting", RUN(OTHER), PAUSED(STARTING_UP), KVMIG_LOCATION_FAILED,
      KVMIG_ACTION_DESTROY_TARGET, -1 },
    { "strict: copy held on the target, but the source resumed", RUN(MIGRATION_CANCELED), PAUSED(USER),
      KVMIG_LOCATION_FAILED, KVMIG_ACTION_DESTROY_TARGET, -1 },
    { "split brain", RUN(MIGRATION_CANCELED), RUN(MIGRATED), KVMIG_LOCATION_SPLIT_BRAIN, KVMIG_ACTION_SUSPEND_BOTH, 0 },
    { "split brain with a job", RUN_JOB, RUN(MIGRATED), KVMIG_LOCATION_SPLIT_BRAIN, KVMIG_ACTION_SUSPEND_BOTH, 0 },
    { "both suspended after a split", PAUSED(USER), PAUSED(USER), KVMIG_LOCATION_UNDECIDED, KVMIG_ACTION_WAIT, 0 },
    { "source left paused, target gone", PAUSED(MIGRATION), NONE, KVMIG_LOCATION_FAILED_SOURCE_PAUSED,
      KVMIG_ACTION_RESUME_SOURCE, -1 },
    { "source left paused, target defined and off since its host booted", PAUSED(MIGRATION), STOPPED(UNSPECIFIED),
      KVMIG_LOCATION_UNDECIDED, 0, 0 },
    { "source left paused, the guest shut itself down on the target", PAUSED(MIGRATION), STOPPED(SHUTDOWN),
      KVMIG_LOCATION_UNDECIDED, 0, 0 },
    { "source left paused, target destroyed by hand", PAUSED(MIGRATION), STOPPED(DESTROYED), KVMIG_LOCATION_UNDECIDED,
      0, 0 },
    { "source left paused, a start on the target failed", PAUSED(MIGRATION), STOPPED(FAILED), KVMIG_LOCATION_UNDECIDED,
      0, 0 },
    { "source could not be resumed, target defined and off", PAUSED(API_ERROR), STOPPED(SHUTDOWN),
      KVMIG_LOCATION_UNDECIDED, 0, 0 },
    { "source left paused, target moved on", PAUSED(MIGRATION), OFF, KVMIG_LOCATION_UNDECIDED, 0, 0 },
    { "source left paused, target was booted", PAUSED(MIGRATION), RUN(BOOTED), KVMIG_LOCATION_UNDECIDED, 0, 0 },
    { "source left paused, target runs for an unknown reason", PAUSED(MIGRATION), RUN(OTHER), KVMIG_LOCATION_UNDECIDED,
      0, 0 },
    { "source could not be resumed, target was booted", PAUSED(API_ERROR), RUN(BOOTED), KVMIG_LOCATION_UNDECIDED, 0,
      0 },
    { "strict: target was resumed, dead copy on the source", PAUSED(MIGRATION), RUN(UNPAUSED),
      KVMIG_LOCATION_SUCCEEDED_UNREPORTED, KVMIG_ACTION_DESTROY_SOURCE, 1 },
    { "source paused by a user, target was resumed by a user", PAUSED(USER), RUN(UNPAUSED), KVMIG_LOCATION_UNDECIDED, 0,
      0 },
    { "source left paused, incoming copy complete or not", PAUSED(MIGRATION), PAUSED(MIGRATION),
      KVMIG_LOCATION_FAILED_SOURCE_PAUSED, KVMIG_ACTION_DESTROY_TARGET, -1 },
    { "source could not be resumed", PAUSED(API_ERROR), NONE, KVMIG_LOCATION_FAILED_SOURCE_PAUSED,
      KVMIG_ACTION_RESUME_SOURCE, -1 },
    { "source could not be resumed, incoming copy left", PAUSED(API_ERROR), PAUSED(MIGRATION),
      KVMIG_LOCATION_FAILED_SOURCE_PAUSED, KVMIG_ACTION_DESTROY_TARGET, -1 },
    { "Confirm was lost", PAUSED(MIGRATION), RUN(MIGRATED), KVMIG_LOCATION_SUCCEEDED_UNREPORTED,
      KVMIG_ACTION_DESTROY_SOURCE, 1 },
    { "source could not be resumed, target runs", PAUSED(API_ERROR), RUN(MIGRATED), KVMIG_LOCATION_SUCCEEDED_UNREPORTED,
      KVMIG_ACTION_DESTROY_SOURCE, 1 },
    { "source paused by a user, target runs by a migration", PAUSED(USER), RUN(MIGRATED),
      KVMIG_LOCATION_SUCCEEDED_UNREPORTED, KVMIG_ACTION_DESTROY_SOURCE, 1 },
    { "source paused by a user, target was booted", PAUSED(USER), RUN(OTHER), KVMIG_LOCATION_UNDECIDED, 0, 0 },
    { "moved", NONE, RUN(MIGRATED), KVMIG_LOCATION_SUCCEEDED, 0, 1 },
    { "moved, definition left", OFF, RUN(MIGRATED), KVMIG_LOCATION_SUCCEEDED, 0, 1 },
    { "moved while it slept", NONE, SLEEPS, KVMIG_LOCATION_SUCCEEDED, 0, 1 },
    { "strict: held on the target", OFF, PAUSED(USER), KVMIG_LOCATION_TARGET_PAUSED, KVMIG_ACTION_RESUME_TARGET, 1 },
    { "strict: held on the target, dead copy on the source", PAUSED(MIGRATION), PAUSED(USER),
      KVMIG_LOCATION_TARGET_PAUSED, KVMIG_ACTION_DESTROY_SOURCE, 1 },
    { "moved, then paused by an I/O error", NONE, PAUSED(IOERROR), KVMIG_LOCATION_TARGET_PAUSED,
      KVMIG_ACTION_RESUME_TARGET, 1 },
    { "post-copy runs", PAUSED_JOB(POSTCOPY), RUN(POSTCOPY), KVMIG_LOCATION_POSTCOPY_ACTIVE, KVMIG_ACTION_WAIT, 1 },
    { "post-copy just committed", PAUSED(MIGRATION), RUN(POSTCOPY), KVMIG_LOCATION_POSTCOPY_ACTIVE, KVMIG_ACTION_WAIT,
      1 },
    { "post-copy ended, target says so", PAUSED(POSTCOPY), RUN(MIGRATED), KVMIG_LOCATION_SUCCEEDED_UNREPORTED,
      KVMIG_ACTION_DESTROY_SOURCE, 1 },
    { "post-copy link broke", PAUSED(POSTCOPY_FAILED), RUN(POSTCOPY_FAILED), KVMIG_LOCATION_POSTCOPY_FAILED,
      KVMIG_ACTION_POSTCOPY_RECOVER, 0 },
    { "post-copy broke, job still there", PAUSED_JOB(POSTCOPY_FAILED), PAUSED(POSTCOPY_FAILED),
      KVMIG_LOCATION_POSTCOPY_FAILED, KVMIG_ACTION_POSTCOPY_RECOVER, 0 },
    { "post-copy broke, source gone", NONE, PAUSED(POSTCOPY_FAILED), KVMIG_LOCATION_POSTCOPY_FAILED, 0, 0 },
    { "post-copy broke, source gone, target limps", NONE, RUN(POSTCOPY_FAILED), KVMIG_LOCATION_POSTCOPY_FAILED, 0, 0 },
    { "post-copy, target gone: stale source", PAUSED(POSTCOPY), NONE, KVMIG_LOCATION_VM_LOST, 0, 0 },
    { "on neither side", NONE, OFF, KVMIG_LOCATION_VM_LOST, 0, 0 },
    { "moved and crashed", NONE, CRASHED, KVMIG_LOCATION_VM_LOST, 0, 0 },
    { "source gone, target unfinished", NONE, PAUSED(MIGRATION), KVMIG_LOCATION_VM_LOST, 0, 0 },
    { "target silent, source runs", RUN(OTHER), SILENT, KVMIG_LOCATION_UNDECIDED, KVMIG_ACTION_WAIT, 0 },
    { "target silent, source paused", PAUSED(MIGRATION), SILENT, KVMIG_LOCATION_UNDECIDED, KVMIG_ACTION_WAIT, 0 },
    { "source silent, target runs", SILENT, RUN(MIGRATED), KVMIG_LOCATION_UNDECIDED, KVMIG_ACTION_WAIT, 0 },
    { "source silent, target held", SILENT, PAUSED(USER), KVMIG_LOCATION_UNDECIDED, KVMIG_ACTION_WAIT, 0 },
    { "being shut down", UNCLEAR, NONE, KVMIG_LOCATION_UNDECIDED, KVMIG_ACTION_WAIT, 0 },
    { "source being started", PAUSED(STARTING_UP), NONE, KVMIG_LOCATION_UNDECIDED, KVMIG_ACTION_WAIT, 0 },
};

static void rows_that_matter(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct kvmig__resolution r = kvmig__resolve(&rows[i].source, &rows[i].target, &rows[i].target);

        if (r.verdict != rows[i].verdict || r.actions[0] != rows[i].action || r.side != rows[i].side)
            fail_msg("%s: %s, action %s, side %d", rows[i].name, kvmig_location_verdict_name(r.verdict),
                     r.actions[0] ? kvmig_location_action_name(r.actions[0]) : "none", r.side);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer_is_complete),
        cmocka_unit_test(test_resume_needs_the_other_side_gone),
        cmocka_unit_test(test_destroy_needs_the_other_side_complete),
        cmocka_unit_test(test_silence_proves_nothing),
        cmocka_unit_test(test_two_running_copies_can_only_be_suspended),
        cmocka_unit_test(test_success_means_that_the_source_does_not_run),
        cmocka_unit_test(test_failure_means_that_the_target_does_not_run),
        cmocka_unit_test(test_lost_means_that_nothing_runs),
        cmocka_unit_test(test_waiting_and_being_decided_exclude_each_other),
        cmocka_unit_test(test_a_job_leaves_nothing_to_do_but_post_copy_repair),
        cmocka_unit_test(a_target_that_changed_meanwhile_is_in_progress),
        cmocka_unit_test(rows_that_matter),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
