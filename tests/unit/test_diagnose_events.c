/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events of a job: sequences, and the verdict that each one proves. */
#include "diagnose_test.h"

/* "s:SUSPENDED/MIGRATED" = an event on the source; "t=postcopy-active" = a state on the target; one second each. */
static char *lines_of(const char *sequence)
{
    char *copy = kvmig__strdup(sequence), *lines = kvmig__strdup(""), *save = NULL;
    int time = 0;

    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save), time++) {
        const char *side = word[0] == 's' ? "source" : "target";
        char *slash = strchr(word, '/'), *longer;

        if (word[1] == '=') {
            longer = kvmig__asprintf("%s{\"time\": %d, \"side\": \"%s\", \"migration_status\": \"%s\"}\n", lines, time,
                                     side, word + 2);
        } else {
            *slash = '\0';
            longer = kvmig__asprintf("%s{\"time\": %d, \"side\": \"%s\", \"event\": \"%s\", \"detail\": \"%s\"}\n",
                                     lines, time, side, word + 2, slash + 1);
        }
        free(lines);
        lines = longer;
    }
    free(copy);
    return lines;
}

static void sequences(void **state)
{
    static const struct {
        const char *sequence, *verdict;
    } cases[] = {
        { "s:SUSPENDED/MIGRATED", "RUNNING" },
        { "s=setup", "RUNNING" },
        { "s=active s=device", "RUNNING" },
        { "s:SUSPENDED/MIGRATED t:RESUMED/MIGRATED", "SUCCEEDED" },
        { "s:SUSPENDED/MIGRATED t:RESUMED/MIGRATED s:STOPPED/MIGRATED", "SUCCEEDED" },
        { "s:SUSPENDED/MIGRATED s:STOPPED/MIGRATED", "SUCCEEDED" },
        { "s=active s=completed", "SUCCEEDED" },
        { "s:SUSPENDED/MIGRATED s:RESUMED/MIGRATED", "FAILED" },
        { "s:SUSPENDED/MIGRATED t:STOPPED/FAILED s:RESUMED/MIGRATED", "FAILED" },
        { "s=active s=failed", "FAILED" },
        { "s=active s=failed s=setup s=active", "RUNNING" },
        { "s=active s=cancelling s=cancelled", "CANCELLED" },
        { "s:SUSPENDED/MIGRATED s:SUSPENDED/API_ERROR", "FAILED_SOURCE_PAUSED" },
        { "s:SUSPENDED/MIGRATED s:SUSPENDED/POSTCOPY", "POSTCOPY_ACTIVE" },
        { "s:SUSPENDED/POSTCOPY t:RESUMED/POSTCOPY", "POSTCOPY_ACTIVE" },
        { "s:SUSPENDED/POSTCOPY t:RESUMED/POSTCOPY t:RESUMED/MIGRATED", "SUCCEEDED" },
        { "s:SUSPENDED/POSTCOPY t:RESUMED/POSTCOPY s:SUSPENDED/POSTCOPY_FAILED", "POSTCOPY_FAILED" },
        { "s:SUSPENDED/POSTCOPY t:RESUMED/POSTCOPY t:SUSPENDED/POSTCOPY_FAILED", "POSTCOPY_FAILED" },
        { "s:SUSPENDED/POSTCOPY t:RESUMED/POSTCOPY t:RESUMED/POSTCOPY_FAILED", "POSTCOPY_FAILED" },
        { "s=postcopy-active s=postcopy-paused", "POSTCOPY_FAILED" },
        { "s=postcopy-active s=postcopy-paused t=postcopy-recover", "POSTCOPY_RECOVERING" },
        { "s=postcopy-active s=postcopy-paused s=postcopy-recover-setup t=postcopy-paused", "POSTCOPY_RECOVERING" },
        { "s=postcopy-active s=postcopy-paused s=postcopy-recover s=postcopy-paused", "POSTCOPY_FAILED" },
        { "s=postcopy-active s=postcopy-paused s=postcopy-recover s=postcopy-active", "POSTCOPY_ACTIVE" },
        { "s=postcopy-active s=postcopy-paused s=postcopy-recover s=postcopy-active s=completed", "SUCCEEDED" },
        { "s:SUSPENDED/MIGRATED s:RESUMED/MIGRATED s:SUSPENDED/MIGRATED t:RESUMED/MIGRATED", "SUCCEEDED" },
        { "s:STARTED/BOOTED", "RUNNING" },
    };
    const struct kvmig__ask ask = { .intent = 0 };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        char *lines = lines_of(cases[i].sequence);

        expect_verdict(lines, &ask, cases[i].verdict);
        free(lines);
    }
}

static void what_goes_with_it(void **state)
{
    const struct kvmig__ask ask = { .intent = 0 }, late = { .events_now_s = 100 }, soon = { .events_now_s = 10 };
    char *lines = lines_of("s:SUSPENDED/POSTCOPY t:RESUMED/POSTCOPY");
    struct kvmig_diagnosis *diagnosis = diagnosis_of(lines, &ask);

    (void)state;
    assert_non_null(finding_of(&diagnosis->findings, "POINT_OF_NO_RETURN"));
    assert_int_equal(diagnosis->actions.n, 0);
    kvmig_diagnosis_unref(diagnosis);
    free(lines);
    lines = lines_of("s:SUSPENDED/MIGRATED t:RESUMED/MIGRATED");
    diagnosis = diagnosis_of(lines, &ask);
    assert_non_null(strstr(finding_of(&diagnosis->findings, "GUEST_PAUSE")->detail, "1000"));
    assert_null(finding_of(&diagnosis->findings, "POINT_OF_NO_RETURN"));
    kvmig_diagnosis_unref(diagnosis);
    free(lines);
    lines = lines_of("s:SUSPENDED/MIGRATED");
    expect_verdict(lines, &soon, "RUNNING");
    expect_verdict(lines, &late, "UNDECIDED");
    free(lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sequences), cmocka_unit_test(what_goes_with_it) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
