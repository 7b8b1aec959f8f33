/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What both sides show: every pair of states, with and without a job, against the resolver's table; and that no answer ever advises to
 * start, resume or destroy a copy while the other side may run one.
 */
#include "diagnose_test.h"

enum { JOB = 1, NO_JOB, FAILED_JOB };

struct pair {
    const char *source, *target;
    int job; /* of the source; 0 = not known */
    int rc; /* 1 = success, -1 = failure, 0 = not known */
    int postcopy;
    const char *verdict, *actions; /* separated by blanks, in their order */
};

static struct kvmig_diagnosis *judge(const struct pair *pair)
{
    static const char *const jobs[] = { NULL, "Unbounded", "None", "Failed" };
    const struct kvmig__ask ask = { .source_state = (char *)pair->source,
                                    .target_state = (char *)pair->target,
                                    .job = (char *)jobs[pair->job],
                                    .migrate_rc = pair->rc,
                                    .postcopy_started = pair->postcopy };

    return diagnosis_of("a note\n", &ask);
}

#define MIG "paused (migrating)"
#define PC "paused (post-copy)"
#define PCF "paused (post-copy failed)"
#define USER "paused (user)"
#define API "paused (API error)"
#define RUN "running"
#define CAME "running (migrated)"
#define RUNPC "running (post-copy)"
#define NONE "absent"
#define DUMB "unreachable"

static const struct pair table[] = {
    /* the source runs, and its job too */
    { RUN, NONE, JOB, 0, 0, "RUNNING", "" },
    { RUN, MIG, JOB, 0, 0, "RUNNING", "" },
    { RUN, USER, JOB, 0, 0, "RUNNING", "" },
    { RUN, DUMB, JOB, 0, 0, "RUNNING", "" },
    { RUN, RUN, JOB, 0, 0, "SPLIT_BRAIN", "" },
    /* it runs, without a job */
    { RUN, NONE, FAILED_JOB, -1, 0, "FAILED", "" },
    { RUN, NONE, NO_JOB, 0, 0, "NO_FINDING", "" },
    { RUN, MIG, FAILED_JOB, -1, 0, "FAILED", "DESTROY_TARGET" },
    { RUN, MIG, 0, 0, 0, "RUNNING", "" },
    { RUN, USER, FAILED_JOB, -1, 0, "FAILED", "DESTROY_TARGET" },
    { RUN, RUN, NO_JOB, -1, 0, "SPLIT_BRAIN", "" },
    { RUN, RUN, 0, 1, 0, "SPLIT_BRAIN", "" },
    { RUN, RUNPC, NO_JOB, 0, 0, "UNDECIDED", "" },
    { RUN, DUMB, FAILED_JOB, -1, 0, "FAILED", "" },
    { RUN, DUMB, NO_JOB, 1, 0, "UNDECIDED", "" },
    /* paused by the migration */
    { MIG, NONE, JOB, 0, 0, "RUNNING", "" },
    { MIG, MIG, JOB, 0, 0, "RUNNING", "" },
    { MIG, CAME, JOB, 0, 0, "RUNNING", "" },
    { MIG, NONE, NO_JOB, -1, 0, "FAILED_SOURCE_PAUSED", "RESUME_SOURCE" },
    { MIG, "shut off (failed)", FAILED_JOB, -1, 0, "FAILED_SOURCE_PAUSED", "" }, /* it may have run there before */
    { MIG, MIG, NO_JOB, -1, 0, "FAILED_SOURCE_PAUSED", "DESTROY_TARGET RESUME_SOURCE" },
    { MIG, CAME, NO_JOB, -1, 0, "SUCCEEDED_UNREPORTED", "DESTROY_SOURCE" },
    { MIG, CAME, NO_JOB, 1, 0, "SUCCEEDED", "DESTROY_SOURCE" },
    { MIG, USER, NO_JOB, -1, 0, "UNDECIDED", "" },
    { MIG, RUNPC, NO_JOB, 0, 0, "POSTCOPY_ACTIVE", "" },
    { MIG, DUMB, NO_JOB, -1, 0, "UNDECIDED", "" },
    { MIG, NULL, NO_JOB, -1, 0, "UNDECIDED", "" },
    { MIG, NONE, NO_JOB, -1, 1, "VM_LOST", "" },
    { MIG, MIG, NO_JOB, -1, 1, "POSTCOPY_FAILED", "" },
    /* it could not be resumed */
    { API, NONE, FAILED_JOB, -1, 0, "FAILED_SOURCE_PAUSED", "RESUME_SOURCE" },
    { API, MIG, FAILED_JOB, -1, 0, "FAILED_SOURCE_PAUSED", "DESTROY_TARGET RESUME_SOURCE" },
    { API, CAME, FAILED_JOB, -1, 0, "SUCCEEDED_UNREPORTED", "DESTROY_SOURCE" },
    { API, DUMB, FAILED_JOB, -1, 0, "UNDECIDED", "" },
    /* post-copy */
    { PC, RUNPC, JOB, 0, 1, "POSTCOPY_ACTIVE", "" },
    { PC, RUN, JOB, 0, 1, "POSTCOPY_ACTIVE", "" },
    { PC, CAME, NO_JOB, 1, 1, "SUCCEEDED", "DESTROY_SOURCE" },
    { PC, PCF, NO_JOB, -1, 1, "POSTCOPY_FAILED", "POSTCOPY_RECOVER" },
    { PCF, PCF, NO_JOB, -1, 1, "POSTCOPY_FAILED", "POSTCOPY_RECOVER" },
    { PCF, RUNPC, NO_JOB, -1, 1, "POSTCOPY_FAILED", "POSTCOPY_RECOVER" },
    { PC, NONE, NO_JOB, -1, 1, "VM_LOST", "" },
    { PCF, NONE, NO_JOB, -1, 1, "VM_LOST", "" },
    { PC, DUMB, NO_JOB, -1, 1, "UNDECIDED", "" },
    { NONE, PCF, NO_JOB, -1, 1, "POSTCOPY_FAILED", "" },
    { DUMB, PCF, 0, -1, 1, "POSTCOPY_FAILED", "" },
    { NONE, RUNPC, 0, 0, 1, "POSTCOPY_ACTIVE", "" },
    /* the source holds nothing */
    { NONE, NONE, 0, -1, 0, "VM_LOST", "" },
    { NONE, MIG, 0, -1, 0, "VM_LOST", "" },
    { NONE, CAME, NO_JOB, 1, 0, "SUCCEEDED", "" },
    { NONE, RUN, NO_JOB, -1, 0, "SUCCEEDED_UNREPORTED", "" },
    { NONE, USER, NO_JOB, 1, 0, "SUCCEEDED", "RESUME_TARGET" },
    { NONE, DUMB, 0, -1, 0, "UNDECIDED", "" },
    { "shut off (migrated)", CAME, NO_JOB, 1, 0, "SUCCEEDED", "" },
    { "shut off (shutdown)", NONE, NO_JOB, 0, 0, "NOTHING_TO_MIGRATE", "" },
    { "crashed", NONE, NO_JOB, -1, 0, "VM_LOST", "" },
    /* it cannot be asked */
    { DUMB, NONE, 0, -1, 0, "UNDECIDED", "" },
    { DUMB, MIG, 0, -1, 0, "UNDECIDED", "" },
    { DUMB, RUN, 0, -1, 0, "UNDECIDED", "" },
    { DUMB, CAME, 0, -1, 0, "SUCCEEDED_UNREPORTED", "" },
    { DUMB, CAME, 0, 1, 0, "SUCCEEDED", "" },
    { DUMB, USER, 0, -1, 0, "UNDECIDED", "" },
    { DUMB, DUMB, 0, 0, 0, "UNDECIDED", "" },
    /* paused for other reasons */
    { USER, NONE, FAILED_JOB, -1, 0, "FAILED", "" },
    { USER, NONE, NO_JOB, 0, 0, "NO_FINDING", "" },
    { USER, RUN, NO_JOB, -1, 0, "UNDECIDED", "" },
    { "paused", NONE, FAILED_JOB, -1, -1, "FAILED_SOURCE_PAUSED", "RESUME_SOURCE" },
    { "paused", NONE, FAILED_JOB, -1, 0, "FAILED_SOURCE_PAUSED", "" },
    { "paused (I/O error)", NONE, NO_JOB, 0, 0, "VM_IO_ERROR", "" },
    { NONE, "paused (I/O error)", NO_JOB, -1, 0, "SUCCEEDED_UNREPORTED", "" },
};

static void the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(table); i++) {
        struct kvmig_diagnosis *diagnosis = judge(&table[i]);
        char *actions = kvmig__strdup("");

        for (size_t k = 0; k < diagnosis->actions.n; k++) {
            char *longer = kvmig__asprintf("%s%s%s", actions, k ? " " : "", diagnosis->actions.v[k].code);

            free(actions);
            actions = longer;
        }
        if (!kvmig__str_eq(diagnosis->verdict, table[i].verdict) || !kvmig__str_eq(actions, table[i].actions))
            print_error("row %zu: %s / %s: %s, %s\n", i, table[i].source, table[i].target, diagnosis->verdict, actions);
        assert_string_equal(diagnosis->verdict, table[i].verdict);
        assert_string_equal(actions, table[i].actions);
        free(actions);
        kvmig_diagnosis_unref(diagnosis);
    }
}

static bool advises(const struct kvmig_diagnosis *diagnosis, const char *code)
{
    return finding_of(&diagnosis->actions, code) != NULL;
}

static bool may_run(const char *state)
{
    return !state || kvmig__str_starts(state, "running") || kvmig__str_starts(state, "unreachable");
}

static void check_safety(const struct pair *pair)
{
    struct kvmig_diagnosis *diagnosis = judge(pair);
    const bool source_whole = pair->source && !kvmig__str_starts(pair->source, "absent") &&
                              !kvmig__str_starts(pair->source, "shut off") &&
                              !kvmig__str_starts(pair->source, "crashed") && !may_run(pair->source);

    if (advises(diagnosis, "RESUME_SOURCE") || advises(diagnosis, "DESTROY_TARGET"))
        assert_false(may_run(pair->target));
    if (advises(diagnosis, "RESUME_SOURCE"))
        assert_true(source_whole && pair->postcopy <= 0 && !strstr(pair->target, "post-copy"));
    if (advises(diagnosis, "RESUME_TARGET"))
        assert_false(may_run(pair->source) || source_whole);
    if (advises(diagnosis, "DESTROY_SOURCE") && (may_run(pair->source) || !may_run(pair->target)))
        print_error("%s / %s\n", pair->source, pair->target);
    if (advises(diagnosis, "DESTROY_SOURCE"))
        assert_true(!may_run(pair->source) && may_run(pair->target));
    if (pair->job == JOB)
        assert_false(advises(diagnosis, "RESUME_SOURCE") || advises(diagnosis, "DESTROY_SOURCE") ||
                     advises(diagnosis, "DESTROY_TARGET"));
    kvmig_diagnosis_unref(diagnosis);
}

static void always_safe(void **state)
{
    static const char *const states[] = { NULL,
                                          RUN,
                                          CAME,
                                          RUNPC,
                                          MIG,
                                          PC,
                                          PCF,
                                          USER,
                                          API,
                                          NONE,
                                          DUMB,
                                          "paused",
                                          "shut off (migrated)",
                                          "crashed",
                                          "paused (I/O error)",
                                          "shut off (shutdown)",
                                          "nonsense" };
    const size_t n = KVMIG__N_ELEMENTS(states);

    (void)state;
    for (size_t i = 0; i < n * n * 4 * 3 * 3; i++) {
        const struct pair pair = { .source = states[i % n],
                                   .target = states[i / n % n],
                                   .job = (int)(i / n / n % 4),
                                   .rc = (int)(i / n / n / 4 % 3) - 1,
                                   .postcopy = (int)(i / n / n / 12) - 1 };

        check_safety(&pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_table), cmocka_unit_test(always_safe) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
