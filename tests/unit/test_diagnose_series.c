/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Statistics over time: courses of a copy that goes on, that does not come to its end, that stands, and that has not begun. */
#include "diagnose_test.h"

#include <inttypes.h>

#define MIB (UINT64_C(1) << 20)

struct point {
    unsigned second, round;
    uint64_t remaining, processed; /* MiB */
};

static char *lines_of(const struct point *points, size_t n, const char *rest)
{
    char *lines = kvmig__strdup("");

    for (size_t i = 0; i < n; i++) {
        char *longer = kvmig__asprintf("%s{\"time_elapsed\": %u, \"memory_remaining\": %" PRIu64
                                       ", \"memory_processed\": %" PRIu64 ", \"memory_iteration\": %u%s}\n",
                                       lines, points[i].second * 1000, points[i].remaining * MIB,
                                       points[i].processed * MIB, points[i].round, rest);

        free(lines);
        lines = longer;
    }
    return lines;
}

#define FAST ", \"memory_bps\": 104857600" /* 100 MiB/s */
#define POINTS(...)                                                                                                    \
    (const struct point[]){ __VA_ARGS__ }, sizeof((const struct point[]){ __VA_ARGS__ }) / sizeof(struct point)

static const struct {
    const char *name, *verdict, *rest;
    const struct point *points;
    size_t n;
} courses[] = {
    { "just begun", "RUNNING", FAST, POINTS({ 1, 1, 8000, 0 }, { 5, 1, 8000, 0 }) },
    { "first pass", "CONVERGING", FAST,
      POINTS({ 10, 1, 8000, 1000 }, { 30, 1, 6000, 3000 }, { 50, 1, 4000, 5000 }, { 70, 1, 2000, 7000 }) },
    { "never a byte", "STUCK_HANDSHAKE", "", POINTS({ 10, 1, 8000, 0 }, { 31, 1, 8000, 0 }) },
    { "one look, never a byte", "STUCK_HANDSHAKE", "", POINTS({ 60, 1, 8000, 0 }) },
    { "silent", "TRANSPORT_STALLED", "",
      POINTS({ 10, 1, 8000, 1000 }, { 20, 1, 7000, 2000 }, { 30, 1, 7000, 2000 }, { 50, 1, 7000, 2000 }) },
    { "silent, not for long", "CONVERGING", "",
      POINTS({ 10, 1, 8000, 1000 }, { 20, 1, 7000, 2000 }, { 30, 1, 7000, 2000 }, { 49, 1, 7000, 2000 }) },
    { "pages of zeros", "CONVERGING", "",
      POINTS({ 10, 1, 8000, 3 }, { 30, 1, 6000, 3 }, { 50, 1, 4000, 3 }, { 70, 1, 2000, 3 }) },
    { "oscillates", "NOT_CONVERGING", FAST,
      POINTS({ 60, 2, 900, 9000 }, { 80, 3, 600, 9900 }, { 100, 4, 850, 10700 }, { 120, 5, 610, 11500 },
             { 140, 6, 880, 12200 }, { 160, 7, 620, 13000 }) },
    { "low enough", "RUNNING", FAST,
      POINTS({ 60, 2, 28, 9000 }, { 80, 3, 20, 9900 }, { 100, 4, 26, 10700 }, { 120, 5, 21, 11500 },
             { 140, 6, 28, 12200 }, { 160, 7, 22, 13000 }) },
    { "shrinks slowly", "CONVERGING", FAST,
      POINTS({ 60, 2, 900, 9000 }, { 80, 3, 870, 9900 }, { 100, 4, 840, 10700 }, { 120, 5, 810, 11500 },
             { 140, 6, 780, 12200 }, { 160, 7, 750, 13000 }) },
    { "within a long round", "CONVERGING", FAST,
      POINTS({ 80, 2, 4000, 9000 }, { 100, 2, 2000, 11000 }, { 118, 2, 200, 12800 }, { 120, 3, 3000, 13000 },
             { 140, 3, 1900, 14100 }, { 161, 3, 900, 15100 }) },
    { "too few", "RUNNING", FAST, POINTS({ 60, 3, 900, 9000 }, { 120, 6, 950, 15000 }) },
    { "another job", "CONVERGING", FAST,
      POINTS({ 60, 2, 900, 9000 }, { 100, 4, 850, 10700 }, { 140, 6, 880, 12200 }, { 5, 1, 8000, 500 },
             { 10, 1, 7500, 1000 }) },
    { "post-copy", "POSTCOPY_ACTIVE", ", \"memory_postcopy_requests\": 5",
      POINTS({ 60, 3, 900, 9000 }, { 80, 3, 700, 9200 }) },
};

static void each_course(void **state)
{
    const struct kvmig__ask ask = { .intent = 0 };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(courses); i++) {
        char *lines = lines_of(courses[i].points, courses[i].n, courses[i].rest);
        struct kvmig_diagnosis *diagnosis = diagnosis_of(lines, &ask);

        if (!kvmig__str_eq(diagnosis->verdict, courses[i].verdict))
            print_error("%s\n", courses[i].name);
        assert_string_equal(diagnosis->verdict, courses[i].verdict);
        kvmig_diagnosis_unref(diagnosis);
        free(lines);
    }
}

/* A course that was cut after any sample is never worse than the whole one says. */
static void no_alarm_before_its_time(void **state)
{
    const struct kvmig__ask ask = { .intent = 0 };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(courses); i++) {
        for (size_t n = 1; n <= courses[i].n; n++) {
            char *lines = lines_of(courses[i].points, n, courses[i].rest);
            struct kvmig_diagnosis *diagnosis = diagnosis_of(lines, &ask);

            if (finding_of(&diagnosis->findings, "NOT_CONVERGING"))
                assert_string_equal(courses[i].verdict, "NOT_CONVERGING");
            if (finding_of(&diagnosis->findings, "TRANSPORT_STALLED"))
                assert_string_equal(courses[i].verdict, "TRANSPORT_STALLED");
            if (finding_of(&diagnosis->findings, "STUCK_HANDSHAKE"))
                assert_string_equal(courses[i].verdict, "STUCK_HANDSHAKE");
            kvmig_diagnosis_unref(diagnosis);
            free(lines);
        }
    }
}

static void what_is_permitted(void **state)
{
    char *lines = lines_of(courses[7].points, courses[7].n, FAST);
    struct kvmig__ask ask = { .intent = 0 };
    struct kvmig_diagnosis *diagnosis;

    (void)state;
    assert_string_equal(courses[7].name, "oscillates");
    ask.plan.forecast.ceiling_ms = 7000;
    ask.plan.flags = KVMIG_PLAN_ALLOW_POSTCOPY;
    diagnosis = diagnosis_of(lines, &ask);
    assert_non_null(finding_of(&diagnosis->actions, "RAISE_MAX_DOWNTIME"));
    assert_null(finding_of(&diagnosis->actions, "SWITCH_TO_POSTCOPY"));
    assert_non_null(strstr(finding_of(&diagnosis->findings, "NOT_CONVERGING")->detail, "6200"));
    kvmig_diagnosis_unref(diagnosis);
    ask.plan.forecast.ceiling_ms = 6000;
    diagnosis = diagnosis_of(lines, &ask);
    assert_null(finding_of(&diagnosis->actions, "RAISE_MAX_DOWNTIME"));
    assert_non_null(finding_of(&diagnosis->actions, "SWITCH_TO_POSTCOPY"));
    kvmig_diagnosis_unref(diagnosis);
    ask.plan.flags = 0;
    ask.plan.max_downtime_ms = 6200;
    expect_verdict(lines, &ask, "RUNNING");
    free(lines);
}

static void disks(void **state)
{
    const struct kvmig__ask ask = { .intent = 0 };

    (void)state;
    expect_verdict("{\"time_elapsed\": 60000, \"disk_total\": 900, \"disk_processed\": 300, \"disk_remaining\": 600}\n",
                   &ask, "RUNNING");
    expect_verdict("{\"time_elapsed\": 1000, \"disk_processed\": 300, \"disk_remaining\": 600}\n"
                   "{\"time_elapsed\": 2000, \"disk_processed\": 400, \"disk_remaining\": 500}\n",
                   &ask, "CONVERGING");
    expect_verdict("{\"time_elapsed\": 1000, \"disk_processed\": 300, \"disk_remaining\": 600}\n"
                   "{\"time_elapsed\": 40000, \"disk_processed\": 300, \"disk_remaining\": 600}\n",
                   &ask, "TRANSPORT_STALLED");
}

static void one_look(void **state)
{
    const struct kvmig__ask ask = { .intent = 0 };

    (void)state;
    expect_verdict("Job type:         Unbounded\nOperation:        Outgoing migration\nTime elapsed: 95000 ms\n"
                   "Data processed:   0.000 B\n",
                   &ask, "STUCK_HANDSHAKE");
    expect_verdict("Job type:         Unbounded\nOperation:        Outgoing migration\nTime elapsed: 5000 ms\n"
                   "Data processed:   0.000 B\n",
                   &ask, "RUNNING");
    expect_verdict("Job type:         Completed\nOperation:        Backup\n", &ask, "NO_FINDING");
    expect_verdict("Job type:         Unbounded\nOperation:        Outgoing migration\n"
                   "Job type:         Cancelled\nOperation:        Outgoing migration\n",
                   &ask, "CANCELLED");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_course), cmocka_unit_test(no_alarm_before_its_time),
                                        cmocka_unit_test(what_is_permitted), cmocka_unit_test(disks),
                                        cmocka_unit_test(one_look) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
