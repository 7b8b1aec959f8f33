/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the resolver's verdict to the session's next move, over everything that two hosts can say, before and after the call.
 */
#include "session/fsm.h"
#include "session/outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_STATES (KVMIG__STATE_OTHER + 1)
#define N_REASONS (KVMIG__REASON_UNSPECIFIED + 1)
#define N_SIDES (1 + N_STATES * N_REASONS * 2)

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

static void check(const struct kvmig__outcome_facts *facts, const struct kvmig__side *s, const struct kvmig__side *t)
{
    const struct kvmig__resolution r = kvmig__resolve(s, t, t);
    const struct kvmig__outcome o = kvmig__outcome_of(facts, &r, s, t);

    assert_in_range(o.input, KVMIG__IN_AT_SOURCE, KVMIG__IN_AT_UNKNOWN);
    assert_non_null(o.proof);
    assert_non_null(kvmig_location_verdict_name(o.verdict));
    switch (o.input) {
    case KVMIG__IN_AT_SOURCE:
        assert_int_equal(o.side, -1);
        assert_int_equal(o.error_code, 0);
        assert_true(s->reachable && !runs(t));
        assert_true(!facts->call_begun || t->reachable); /* I1: silence is no proof once a call was made */
        /* A call that succeeded started the target: a paused source is old then. */
        if (facts->call_ok && !facts->strict && !facts->was_paused)
            assert_false(s->state == KVMIG__STATE_PAUSED && s->reason == KVMIG__REASON_MIGRATION);
        break;
    case KVMIG__IN_AT_TARGET:
        assert_int_equal(o.side, 1);
        assert_int_equal(o.error_code, 0);
        assert_true(t->reachable && !runs(s));
        assert_true(s->reachable || facts->call_ok); /* I1: only the call's success stands in for a silent source */
        assert_true(facts->call_begun); /* otherwise it was moved by somebody else */
        break;
    default:
        assert_int_equal(o.side, 0);
        assert_true(o.error_code == KVMIG_ELOST || o.error_code == KVMIG_ESPLIT || o.error_code == KVMIG_EUNKNOWN);
        assert_non_null(o.hint);
        assert_true(strlen(o.hint) > 20);
        break;
    }
    assert_int_equal(runs(s) && runs(t), o.error_code == KVMIG_ESPLIT);
}

static void every_answer_leads_to_a_move_that_its_proof_allows(void **state)
{
    (void)state;
    for (int bits = 0; bits < 32; bits++) {
        const struct kvmig__outcome_facts facts = { .call_begun = bits & 1,
                                                    .strict = bits & 2,
                                                    .was_paused = bits & 4,
                                                    .call_ok = (bits & 9) == 9,
                                                    .call_failed = (bits & 25) == 17 };

        for (int i = 0; i < N_SIDES; i++) {
            for (int k = 0; k < N_SIDES; k++) {
                const struct kvmig__side s = side_number(i), t = side_number(k);

                check(&facts, &s, &t);
            }
        }
    }
}

/* ---- by name ---- */

#define SIDE(state_, reason_)                                                                                          \
    {                                                                                                                  \
        .reachable = true, .state = KVMIG__STATE_##state_, .reason = KVMIG__REASON_##reason_                           \
    }
#define SILENT                                                                                                         \
    {                                                                                                                  \
        .reachable = false                                                                                             \
    }
#define BEFORE                                                                                                         \
    {                                                                                                                  \
        .call_begun = false                                                                                            \
    }
#define AFTER                                                                                                          \
    {                                                                                                                  \
        .call_begun = true                                                                                             \
    }
#define STRICT                                                                                                         \
    {                                                                                                                  \
        .call_begun = true, .strict = true                                                                             \
    }
#define WAS_PAUSED                                                                                                     \
    {                                                                                                                  \
        .call_begun = true, .was_paused = true                                                                         \
    }

#define CALL_OK                                                                                                        \
    {                                                                                                                  \
        .call_begun = true, .call_ok = true                                                                            \
    }
#define CALL_FAILED                                                                                                    \
    {                                                                                                                  \
        .call_begun = true, .call_failed = true                                                                        \
    }
#define STRICT_OK                                                                                                      \
    {                                                                                                                  \
        .call_begun = true, .call_ok = true, .strict = true                                                            \
    }

static const struct {
    const char *name;
    struct kvmig__outcome_facts facts;
    struct kvmig__side source, target;
    int32_t input;
    bool left_paused;
} rows[] = {
    { "rolled back", AFTER, SIDE(RUNNING, MIGRATION_CANCELED), SIDE(ABSENT, OTHER), KVMIG__IN_AT_SOURCE, false },
    { "left paused on the source", AFTER, SIDE(PAUSED, MIGRATION), SIDE(ABSENT, OTHER), KVMIG__IN_AT_SOURCE, false },
    { "moved", AFTER, SIDE(SHUTOFF, MIGRATED), SIDE(RUNNING, MIGRATED), KVMIG__IN_AT_TARGET, false },
    { "moved, dead copy", AFTER, SIDE(PAUSED, MIGRATION), SIDE(RUNNING, MIGRATED), KVMIG__IN_AT_TARGET, false },
    { "strict, source gone", STRICT, SIDE(SHUTOFF, MIGRATED), SIDE(PAUSED, USER), KVMIG__IN_AT_TARGET, false },
    { "strict, source quiet", STRICT, SIDE(PAUSED, MIGRATION), SIDE(PAUSED, USER), KVMIG__IN_AT_TARGET, false },
    { "strict, source resumed", STRICT, SIDE(RUNNING, MIGRATION_CANCELED), SIDE(PAUSED, USER), KVMIG__IN_AT_SOURCE,
      false },
    { "was paused and moved", WAS_PAUSED, SIDE(ABSENT, OTHER), SIDE(PAUSED, USER), KVMIG__IN_AT_TARGET, false },
    { "was paused and stayed", WAS_PAUSED, SIDE(PAUSED, USER), SIDE(ABSENT, OTHER), KVMIG__IN_AT_SOURCE, false },
    { "paused by somebody meanwhile", AFTER, SIDE(ABSENT, OTHER), SIDE(PAUSED, USER), KVMIG__IN_AT_TARGET, true },
    { "moved, then an I/O error", AFTER, SIDE(ABSENT, OTHER), SIDE(PAUSED, IOERROR), KVMIG__IN_AT_UNKNOWN, false },
    { "crashed", AFTER, SIDE(CRASHED, CRASHED), SIDE(ABSENT, OTHER), KVMIG__IN_AT_NONE, false },
    { "split", AFTER, SIDE(RUNNING, OTHER), SIDE(RUNNING, MIGRATED), KVMIG__IN_AT_BOTH, false },
    { "post-copy broke", AFTER, SIDE(PAUSED, POSTCOPY_FAILED), SIDE(PAUSED, POSTCOPY_FAILED), KVMIG__IN_AT_BOTH,
      false },
    { "post-copy runs", AFTER, SIDE(PAUSED, POSTCOPY), SIDE(RUNNING, POSTCOPY), KVMIG__IN_AT_UNKNOWN, false },
    { "reported, source silent, target runs", CALL_OK, SILENT, SIDE(RUNNING, MIGRATED), KVMIG__IN_AT_TARGET, false },
    { "not reported, source silent, target runs", AFTER, SILENT, SIDE(RUNNING, MIGRATED), KVMIG__IN_AT_UNKNOWN, false },
    { "reported, source silent, target was booted", CALL_OK, SILENT, SIDE(RUNNING, BOOTED), KVMIG__IN_AT_UNKNOWN,
      false },
    { "reported, source silent, target paused", CALL_OK, SILENT, SIDE(PAUSED, USER), KVMIG__IN_AT_UNKNOWN, false },
    { "strict, reported, source silent, target held", STRICT_OK, SILENT, SIDE(PAUSED, USER), KVMIG__IN_AT_TARGET,
      false },
    { "strict, reported, source silent, I/O error", STRICT_OK, SILENT, SIDE(PAUSED, IOERROR), KVMIG__IN_AT_UNKNOWN,
      false },
    { "strict, not reported, source silent, target held", STRICT, SILENT, SIDE(PAUSED, USER), KVMIG__IN_AT_UNKNOWN,
      false },
    { "reported, source paused, target gone", CALL_OK, SIDE(PAUSED, MIGRATION), SIDE(ABSENT, OTHER),
      KVMIG__IN_AT_UNKNOWN, false },
    { "strict, reported, source paused, target gone before it was resumed", STRICT_OK, SIDE(PAUSED, MIGRATION),
      SIDE(ABSENT, OTHER), KVMIG__IN_AT_SOURCE, false },
    { "reported, source paused, target off", CALL_OK, SIDE(PAUSED, MIGRATION), SIDE(SHUTOFF, FAILED),
      KVMIG__IN_AT_UNKNOWN, false },
    { "source paused, the incoming start failed, the call was given up", AFTER, SIDE(PAUSED, MIGRATION),
      SIDE(SHUTOFF, FAILED), KVMIG__IN_AT_UNKNOWN, false },
    { "source paused, the incoming start failed", CALL_FAILED, SIDE(PAUSED, MIGRATION), SIDE(SHUTOFF, FAILED),
      KVMIG__IN_AT_SOURCE, false },
    { "source paused, target off for another reason", CALL_FAILED, SIDE(PAUSED, MIGRATION), SIDE(SHUTOFF, SHUTDOWN),
      KVMIG__IN_AT_UNKNOWN, false },
    { "source paused, target was booted", AFTER, SIDE(PAUSED, MIGRATION), SIDE(RUNNING, BOOTED), KVMIG__IN_AT_UNKNOWN,
      false },
    { "silent target after the call", AFTER, SIDE(RUNNING, OTHER), SILENT, KVMIG__IN_AT_UNKNOWN, false },
    { "silent target before the call", BEFORE, SIDE(RUNNING, OTHER), SILENT, KVMIG__IN_AT_SOURCE, false },
    { "silent source before the call", BEFORE, SILENT, SIDE(ABSENT, OTHER), KVMIG__IN_AT_UNKNOWN, false },
    { "moved by somebody else", BEFORE, SIDE(SHUTOFF, MIGRATED), SIDE(RUNNING, MIGRATED), KVMIG__IN_AT_UNKNOWN, false },
    { "shut down before the call", BEFORE, SIDE(SHUTOFF, OTHER), SIDE(ABSENT, OTHER), KVMIG__IN_AT_NONE, false },
};

static void rows_that_matter(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct kvmig__resolution r = kvmig__resolve(&rows[i].source, &rows[i].target, &rows[i].target);
        const struct kvmig__outcome o = kvmig__outcome_of(&rows[i].facts, &r, &rows[i].source, &rows[i].target);

        if (o.input != rows[i].input || o.left_paused != rows[i].left_paused)
            fail_msg("%s: %s%s", rows[i].name, kvmig__fsm_input_name(o.input), o.left_paused ? ", left paused" : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_leads_to_a_move_that_its_proof_allows),
        cmocka_unit_test(rows_that_matter),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
