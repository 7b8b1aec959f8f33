/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whatever comes in whatever order, from driver, hosts and caller: a session ends exactly once, hears nothing after it, answers
 * every cancel, frees everything once, and never does to one side what needs a proof about the other. Each walk is printed when it
 * fails; KVMIG_TEST_SEEDS sets how many there are.
 */
#include "session_test.h"

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static uint32_t below(uint32_t *seed, uint32_t n)
{
    return next_random(seed) % n;
}

static void random_side(struct kvmig__side *side, uint32_t *seed)
{
    static const struct {
        int32_t state, reason;
    } choices[] = {
        { KVMIG__STATE_RUNNING, KVMIG__REASON_OTHER },    { KVMIG__STATE_RUNNING, KVMIG__REASON_MIGRATED },
        { KVMIG__STATE_RUNNING, KVMIG__REASON_POSTCOPY }, { KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION },
        { KVMIG__STATE_PAUSED, KVMIG__REASON_USER },      { KVMIG__STATE_PAUSED, KVMIG__REASON_POSTCOPY },
        { KVMIG__STATE_PAUSED, KVMIG__REASON_API_ERROR }, { KVMIG__STATE_PAUSED, KVMIG__REASON_POSTCOPY_FAILED },
        { KVMIG__STATE_SHUTOFF, KVMIG__REASON_MIGRATED }, { KVMIG__STATE_ABSENT, KVMIG__REASON_OTHER },
        { KVMIG__STATE_CRASHED, KVMIG__REASON_CRASHED },  { KVMIG__STATE_OTHER, KVMIG__REASON_OTHER },
    };
    const uint32_t n = below(seed, KVMIG__N_ELEMENTS(choices));

    fake_side(side, choices[n].state, choices[n].reason, below(seed, 8) == 0);
    side->reachable = below(seed, 8) != 0;
}

static void random_world(struct fake_world *world, uint32_t *seed)
{
    static const enum fake_answer answers[] = { FAKE_OK, FAKE_OK, FAKE_OK, FAKE_FAIL, FAKE_NEVER };

    for (int step = 0; step <= KVMIG__STEP_UNDO; step++)
        world->steps[step] = answers[below(seed, KVMIG__N_ELEMENTS(answers))];
    world->abort = (enum fake_abort)below(seed, 4);
    world->call_hung = below(seed, 4) == 0;
    world->creates_volume = below(seed, 2);
    world->fail_code[KVMIG__STEP_FINISH] = below(seed, 2) ? KVMIG_EUNKNOWN : 0;
    world->fail_code[KVMIG__STEP_UNDO] = below(seed, 2) ? KVMIG_EUNKNOWN : 0;
    world->tells_handover = below(seed, 2);
    world->looks_again = below(seed, 2);
    random_side(&world->sides_last[0], seed);
    random_side(&world->sides_last[1], seed);
    if (below(seed, 3) == 0)
        return; /* the guest does as it was told */
    random_side(&world->sides_after[0], seed);
    random_side(&world->sides_after[1], seed);
}

/* One thing that a driver or a caller may do at any time, also twice, also too late. */
static void random_act(struct fixture *f, uint32_t *seed, int *cancels)
{
    struct kvmig_error *error = below(seed, 2) ? kvmig__error_new(KVMIG_EVIRT, "x", NULL, NULL, "random") : NULL;

    if (f->world.driver && below(seed, 3) != 0) {
        switch (below(seed, 4)) {
        case 0:
            fake_answer_call(&f->world, error, below(seed, 4) == 0);
            break;
        case 1:
            kvmig__error_free(error);
            fake_answer_located(&f->world);
            break;
        case 2:
            kvmig__error_free(error);
            fake_mode(&f->world, (int32_t)below(seed, 3));
            break;
        default:
            fake_answer_step(&f->world, (enum kvmig__step)below(seed, KVMIG__STEP_UNDO + 1), error);
            break;
        }
        return;
    }
    kvmig__error_free(error);
    if (below(seed, 2))
        *cancels += kvmig_session_cancel(f->session) == 0;
    else
        kvmig_session_set_bandwidth(f->session, below(seed, 100));
}

static void assert_safe_end(const struct fixture *f)
{
    const bool finished = strstr(f->world.log, "finish") != NULL, undone = strstr(f->world.log, "undo") != NULL;

    switch (f->caller.end_phase) {
    case KVMIG_PHASE_SUCCEEDED:
        assert_true(finished);
        break;
    case KVMIG_PHASE_INDETERMINATE:
        assert_true(f->caller.end_error == -KVMIG_EUNKNOWN || f->caller.end_error == -KVMIG_ELOST ||
                    f->caller.end_error == -KVMIG_ESPLIT);
        assert_true(!undone || f->caller.end_error == -KVMIG_EUNKNOWN); /* it did not prove that the source runs */
        break;
    case KVMIG_PHASE_FAILED:
        assert_int_not_equal(f->caller.end_error, 0);
        assert_false(finished);
        break;
    default:
        assert_int_equal(f->caller.end_phase, KVMIG_PHASE_CANCELLED);
        assert_false(finished);
        break;
    }
    assert_false(finished && undone);
}

static void walk(uint32_t seed)
{
    uint32_t random = seed;
    int cancels = 0;
    struct fixture f;

    open_fixture(&f);
    random_world(&f.world, &random);
    f.opts.step_timeout_ms = f.opts.abort_timeout_ms = f.opts.resolve_timeout_ms = 1;
    f.opts.migrate_timeout_ms = 1 + below(&random, 3);
    if (below(&random, 2))
        new_session(&f, KVMIG_PLAN_ALLOW_POSTCOPY, KVMIG_HANDOVER_NORMAL);
    else
        new_session(&f, 0, KVMIG_HANDOVER_STRICT);
    assert_int_equal(kvmig_session_start(f.session), 0);
    for (int n = (int)below(&random, 40); n > 0 && !f.caller.n_ends; n--) {
        if (below(&random, 2))
            random_act(&f, &random, &cancels);
        for (uint32_t rounds = below(&random, 3); rounds > 0; rounds--)
            kvmig_context_dispatch(f.world.context);
    }
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.n_ends, 1);
    if (cancels)
        assert_in_range(fake_count(&f.caller, "cancel "), 1, cancels);
    else
        assert_int_equal(fake_count(&f.caller, "cancel "), 0);
    assert_safe_end(&f);
    random_act(&f, &random, &cancels);
    close_fixture(&f);
}

static void any_order_of_answers_ends_once(void **state)
{
    const char *wanted = getenv("KVMIG_TEST_SEEDS");
    const uint32_t n = wanted ? (uint32_t)strtoul(wanted, NULL, 10) : 150;

    (void)state;
    for (uint32_t seed = 1; seed <= n; seed++) {
        print_message("walk %u\n", (unsigned)seed);
        walk(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_of_answers_ends_once),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
