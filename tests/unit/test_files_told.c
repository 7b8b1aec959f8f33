/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a migration has told, as files: what is taken for which kind, what is passed over, and how texts are cleaned. */
#include "files_test.h"

static void kinds(void **state)
{
    static const struct {
        const char *text;
        size_t texts, series, events, jobs;
    } cases[] = {
        { "a line\n", 1, 0, 0, 0 },
        { "", 0, 0, 0, 0 },
        { " \n\t\n", 0, 0, 0, 0 },
        { "{\"time_elapsed\": 1, \"memory_remaining\": 2}\n", 0, 1, 0, 0 },
        { "{\"memory_remaining\": 2}\n{\"memory_remai", 0, 1, 0, 0 },
        { "{\"time_elapsed\": \"1\"}\n", 0, 0, 0, 0 },
        { "{\"time\": 1, \"side\": \"source\", \"event\": \"SUSPENDED\", \"detail\": \"MIGRATED\"}\n", 0, 0, 1, 0 },
        { "{\"side\": \"target\", \"migration_status\": \"active\"}\n{\"time_elapsed\": 1}\n", 0, 1, 1, 0 },
        { "{\"event\": \"SUSPENDED\"}\n", 0, 0, 0, 0 },
        { "{\"level\": \"info\", \"msg\": \"x\"}\n", 1, 0, 0, 0 },
        { "{\"foo\": 1}\n", 0, 0, 0, 0 },
        { "{\n  \"foo\": 1\n}\n", 0, 0, 0, 0 },
        { "[1, 2]\n", 1, 0, 0, 0 }, /* as a kernel's log begins */
        { "[ 123.456789] drbd r0: x\n", 1, 0, 0, 0 },
        { "[pod/a/b] {\"level\": \"info\", \"msg\": \"x\"}\n", 1, 0, 0, 0 },
        { "[{\"foo\": 1}]\n", 0, 0, 0, 0 },
        { "[]\n", 0, 0, 0, 0 },
        { "Job type:         Unbounded\nTime elapsed:     12 ms\n", 1, 0, 0, 1 },
        { "$ virsh domjobinfo vm1\n  Job type:  None\n", 1, 0, 0, 1 },
        { "the Job type: None\n", 1, 0, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct kvmig__files f = files_of(cases[i].text, "f", NULL, NULL);

        if (f.facts->texts.n != cases[i].texts || f.facts->series.n != cases[i].series)
            print_error("%s\n", cases[i].text);
        assert_int_equal(f.facts->texts.n, cases[i].texts);
        assert_int_equal(f.facts->series.n, cases[i].series);
        assert_int_equal(f.facts->events.n, cases[i].events);
        assert_int_equal(f.facts->jobs.n, cases[i].jobs);
        kvmig__files_clear(&f);
    }
}

static void cleaning(void **state)
{
    static const struct {
        const char *text, *clean;
    } cases[] = {
        { "a\r\nb\r\n", "a\nb\n" },
        { "\033[31mred\033[0m and \033[1;32mgreen\033[m", "red and green" },
        { "\033]0;title\ax", "x" },
        { "cut \033[31", "cut " },
        { "cut \033", "cut " },
        { "{\"msg\": \"a \\\"b\\\" c\\nd\\u003ce\\u003e\", \"level\": \"info\"}\n",
          "{\"msg\": \"a \"b\" c d<e>\", \"level\": \"info\"}\n" },
        { "x {\"msg\": \"\\\\\\\"y\\\\\\\"\"}\nc:\\new \"\\\"\n", "x {\"msg\": \"\"y\"\"}\nc:\\new \"\\\"\n" },
        { "{\"msg\": \"\\u00e4 \\u12\"}\nx", "{\"msg\": \"u00e4 u12\"}\nx" },
        { "{\"msg\": \"end\\", "{\"msg\": \"end" },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        char *text = kvmig__asprintf("log\n%s", cases[i].text);
        struct kvmig__files f = files_of(text, "f", NULL, NULL);

        assert_int_equal(f.facts->texts.n, 1);
        assert_string_equal(f.facts->texts.v[0].text + strlen("log\n"), cases[i].clean);
        assert_int_equal(f.facts->texts.v[0].length, strlen(f.facts->texts.v[0].text));
        kvmig__files_clear(&f);
        free(text);
    }
}

static void samples(void **state)
{
    struct kvmig__files f =
        files_of("{\"time_elapsed\": 5000, \"memory_processed\": 7, \"memory_bps\": -1, \"disk_total\": \"9\"}\n"
                 "noise\n{\"time_elapsed\": 6000.7, \"memory_remaining\": 18446744073709551615}\n",
                 "f", NULL, NULL);
    const struct kvmig__fact_samples *series = &f.facts->series.v[0];

    (void)state;
    assert_int_equal(series->n, 2);
    assert_int_equal(series->v[0].line, 1);
    assert_int_equal(series->v[0].elapsed_ms, 5000);
    assert_int_equal(series->v[0].memory_processed, 7);
    assert_true(series->v[0].memory_bps == KVMIG__UNKNOWN);
    assert_true(series->v[0].disk_total == KVMIG__UNKNOWN);
    assert_int_equal(series->v[1].line, 3);
    kvmig__files_clear(&f);
}

static void a_job(void **state)
{
    struct kvmig__files f = files_of("Job type:         Unbounded   \nOperation:        Outgoing migration\n"
                                     "Time elapsed:     6400         ms\nData processed:   1.500 GiB\n\n"
                                     "Job type:         Completed   \nOperation:        Incoming migration\n"
                                     "Total downtime:   343          ms\nMemory total:     1.000 GiB\n"
                                     "Memory remaining: many\n",
                                     "f", NULL, NULL);
    const struct kvmig__fact_job *job = &f.facts->jobs.v[0];

    (void)state;
    assert_int_equal(f.facts->jobs.n, 1);
    assert_string_equal(job->type, "Completed");
    assert_true(job->incoming);
    assert_false(job->other);
    assert_int_equal(job->downtime_ms, 343);
    assert_int_equal(job->memory_total, 1 << 30);
    assert_true(job->memory_remaining == KVMIG__UNKNOWN);
    assert_true(job->processed == KVMIG__UNKNOWN);
    kvmig__files_clear(&f);
}

static void observations(void **state)
{
    struct kvmig__files f = files_of("{\"observation\": \"domain-state\", \"side\": \"source\", \"state\": \"paused\", "
                                     "\"reason\": \"migrating\"}",
                                     "f", NULL, NULL);

    (void)state;
    assert_int_equal(f.facts->states.n, 1);
    assert_string_equal(f.facts->states.v[0].reason, "migrating");
    kvmig__files_clear(&f);
    f = files_of(
        "{\"observation\": \"block-jobs\", \"jobs\": [{\"device\": \"d\", \"type\": \"mirror\", \"ready\": false, "
        "\"len\": 5, \"offset\": \"x\"}, 7, {}]}",
        "f", NULL, NULL);
    assert_int_equal(f.facts->block_jobs.n, 2);
    assert_int_equal(f.facts->block_jobs.v[0].ready, 0);
    assert_int_equal(f.facts->block_jobs.v[1].ready, -1);
    kvmig__files_clear(&f);
    f = files_of(
        "{\"observation\": \"network-event-wait\", \"waiting_for\": \"e\", \"since\": \"2026-05-05T10:00:00Z\", "
        "\"now\": 7}",
        "f", NULL, NULL);
    assert_int_equal(f.facts->network_waits.n, 1);
    assert_true(f.facts->network_waits.v[0].since > 0);
    kvmig__files_clear(&f);
    f = files_of("{\"observation\": \"probe\", \"service_gap_ms\": 2400}", "f", NULL, NULL);
    assert_int_equal(f.facts->probe.service_gap_ms, 2400);
    assert_true(f.facts->probe.guest_gap_ms == KVMIG__UNKNOWN);
    kvmig__files_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(kinds), cmocka_unit_test(cleaning), cmocka_unit_test(samples),
                                        cmocka_unit_test(a_job), cmocka_unit_test(observations) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
