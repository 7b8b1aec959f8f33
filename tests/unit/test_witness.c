/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What hosts that are asked beside a platform add to its answer: every pair of answers.
 */
#include "session/witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct kvmig__side runs = { .reachable = true, .state = KVMIG__STATE_RUNNING },
                                moved = { .reachable = true,
                                          .state = KVMIG__STATE_RUNNING,
                                          .reason = KVMIG__REASON_MIGRATED },
                                none = { .reachable = true, .state = KVMIG__STATE_ABSENT },
                                off = { .reachable = true, .state = KVMIG__STATE_SHUTOFF },
                                incoming = { .reachable = true,
                                             .state = KVMIG__STATE_PAUSED,
                                             .reason = KVMIG__REASON_MIGRATION,
                                             .job_active = true },
                                silent = { .reachable = false };

static void each_pair_of_answers_is_weighed(void **state)
{
    static const struct {
        const char *what;
        int32_t told; /* side that the platform names; 0 = it does not know */
        const struct kvmig__side *source, *target;
        enum kvmig__testimony testimony;
    } rows[] = {
        { "both know it where the platform says", -1, &runs, &none, KVMIG__TESTIMONY_AGREES },
        { "it has moved, as the platform says", 1, &none, &moved, KVMIG__TESTIMONY_AGREES },
        { "it has moved, which the platform does not know", -1, &off, &moved, KVMIG__TESTIMONY_OVERRULES },
        { "it stayed, but the platform says that it moved", 1, &runs, &none, KVMIG__TESTIMONY_OVERRULES },
        { "the platform knows nothing, the hosts do", 0, &runs, &none, KVMIG__TESTIMONY_OVERRULES },
        { "it runs twice", -1, &runs, &moved, KVMIG__TESTIMONY_OVERRULES },
        { "no host has ever heard of it", -1, &none, &none, KVMIG__TESTIMONY_NONE },
        { "it is off on both: another libvirt's leftovers", 1, &off, &off, KVMIG__TESTIMONY_NONE },
        { "nobody answers", -1, &silent, &silent, KVMIG__TESTIMONY_NONE },
        { "one is silent, the other does not know it", 1, &silent, &none, KVMIG__TESTIMONY_NONE },
        { "one is silent, the other runs it as told", -1, &runs, &silent, KVMIG__TESTIMONY_AGREES },
        { "one is silent, the other runs it, and that was not told", -1, &silent, &moved, KVMIG__TESTIMONY_DOUBTS },
        { "one is silent, and the platform does not know either", 0, &silent, &moved, KVMIG__TESTIMONY_DOUBTS },
        { "a copy is still coming in", -1, &runs, &incoming, KVMIG__TESTIMONY_AGREES },
        { "a copy is still coming in, and the platform says that it moved", 1, &runs, &incoming,
          KVMIG__TESTIMONY_DOUBTS },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct kvmig__resolution platform = { .decided = rows[i].told != 0, .side = rows[i].told };
        const struct kvmig__resolution hosts = kvmig__resolve(rows[i].source, rows[i].target, rows[i].target);
        const enum kvmig__testimony testimony = kvmig__testimony_of(&platform, &hosts, rows[i].source, rows[i].target);

        if (testimony != rows[i].testimony)
            fail_msg("%s: %s instead of %s", rows[i].what, kvmig__testimony_name(testimony),
                     kvmig__testimony_name(rows[i].testimony));
    }
}

/* A side that the platform names without having decided is no answer of it. */
static void an_open_answer_of_the_platform_names_no_side(void **state)
{
    const struct kvmig__resolution platform = { .decided = false, .side = 1 };
    const struct kvmig__resolution hosts = kvmig__resolve(&none, &moved, &moved);

    (void)state;
    assert_int_equal(kvmig__testimony_of(&platform, &hosts, &none, &moved), KVMIG__TESTIMONY_OVERRULES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_of_answers_is_weighed),
        cmocka_unit_test(an_open_answer_of_the_platform_names_no_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
