/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The report: what is in it, what is left out because it is not known, and times that add up.
 */
#include "session/report.h"

#include "base/json_internal.h"
#include "plan/plan_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

static struct json_object *json_of(const struct kvmig__report *report, const struct kvmig_plan *plan, int32_t phase,
                                   int64_t now_ms)
{
    char *text = kvmig__json_take_string(kvmig__report_json(report, plan, "session-7", phase, now_ms));
    struct json_object *json = json_tokener_parse(text);

    assert_non_null(json);
    assert_null(strchr(text, '\n'));
    free(text);
    return json;
}

static struct json_object *member(struct json_object *json, const char *path)
{
    struct json_object *found = NULL;

    if (json_pointer_get(json, path, &found) != 0)
        fail_msg("no %s in %s", path, json_object_to_json_string(json));
    return found;
}

static bool has(struct json_object *json, const char *path)
{
    struct json_object *found;

    return json_pointer_get(json, path, &found) == 0;
}

static void assert_text(struct json_object *json, const char *path, const char *expected)
{
    assert_string_equal(json_object_get_string(member(json, path)), expected);
}

static void assert_number(struct json_object *json, const char *path, int64_t expected)
{
    assert_int_equal(json_object_get_int64(member(json, path)), expected);
}

static void what_is_not_known_is_left_out(void **state)
{
    struct kvmig__report *report = kvmig__report_new();
    struct json_object *json = json_of(report, NULL, KVMIG_PHASE_UNSET, 1000);

    (void)state;
    assert_text(json, "/session", "session-7");
    assert_text(json, "/phase", "Unset");
    assert_false(has(json, "/outcome"));
    assert_false(has(json, "/total_ms"));
    assert_false(has(json, "/call_ms"));
    assert_false(has(json, "/pause/source_ms"));
    assert_false(has(json, "/memory/sent"));
    assert_false(has(json, "/error"));
    assert_false(has(json, "/cancel"));
    assert_false(has(json, "/flags"));
    assert_false(has(json, "/final/host"));
    assert_false(has(json, "/plan"));
    assert_int_equal(json_object_array_length(member(json, "/phases")), 0);
    json_object_put(json);
    kvmig__report_free(report);
    kvmig__report_free(NULL);
}

static struct kvmig__report *full_report(void)
{
    struct kvmig__report *report = kvmig__report_new();
    struct kvmig__report_item *item;

    report->started_ms = 1000;
    report->started_wall_ms = 1700000000000;
    kvmig__report_phase_enter(report, KVMIG_PHASE_PENDING, 1000);
    kvmig__report_phase_enter(report, KVMIG_PHASE_RUNNING, 1300);
    kvmig__report_phase_enter(report, KVMIG_PHASE_ROLLING_BACK, 1900);
    kvmig__report_phase_enter(report, KVMIG_PHASE_CANCELLED, 2000);
    report->ended_ms = 2000;
    report->call_started_ms = 1300;
    report->call_ended_ms = 1850;
    report->cancel_asked_ms = 1400;
    report->cancel_settled_ms = 1950;
    report->cancel_result = KVMIG_CANCEL_ACCEPTED;
    report->flags = kvmig__strdup("LIVE|PEER2PEER|PAUSED");
    report->domain_job = kvmig__strdup("peer2peer");
    report->pause_source_ms = 0;
    report->pause_total_ms = 120;
    report->memory_sent = 4096;
    report->iterations = 3;
    report->disk_total = 10;
    item = kvmig__report_created(report, "volume", "/images/\xff.qcow2", "host-b");
    item->outcome = kvmig__strdup("undone");
    kvmig__findings_add(&report->notices, "FEATURE_DROPPED", KVMIG_SEVERITY_WARN, "target", "host-b", "{\"n\":1}",
                        "update", "too old");
    report->error = kvmig__error_new(KVMIG_EVIRT, "host-b", "said libvirt", NULL, "no");
    report->final_host = kvmig__strdup("host-a");
    return report;
}

static void everything_known_is_there_and_times_add_up(void **state)
{
    struct kvmig__report *report = full_report();
    struct json_object *json = json_of(report, NULL, KVMIG_PHASE_CANCELLED, 9999);

    (void)state;
    assert_text(json, "/outcome", "Cancelled");
    assert_number(json, "/started_unix_ms", 1700000000000);
    assert_number(json, "/total_ms", 1000);
    assert_number(json, "/phases/0/duration_ms", 300);
    assert_number(json, "/phases/1/duration_ms", 600);
    assert_number(json, "/phases/2/begun_ms", 900);
    assert_number(json, "/phases/3/duration_ms", 0);
    assert_number(json, "/call_ms", 550);
    assert_number(json, "/cancel/asked_ms", 400);
    assert_number(json, "/cancel/settled_ms", 550);
    assert_text(json, "/cancel/result", "accepted");
    assert_text(json, "/flags/2", "PAUSED");
    assert_text(json, "/transport", "peer2peer");
    assert_number(json, "/pause/source_ms", 0);
    assert_number(json, "/pause/total_ms", 120);
    assert_number(json, "/memory/iterations", 3);
    assert_number(json, "/disk/total", 10);
    assert_text(json, "/created/0/outcome", "undone");
    assert_text(json, "/notices/0/code", "FEATURE_DROPPED");
    assert_number(json, "/notices/0/detail/n", 1);
    assert_number(json, "/error/code", -KVMIG_EVIRT);
    assert_text(json, "/error/evidence", "said libvirt");
    assert_text(json, "/final/host", "host-a");
    json_object_put(json);
    kvmig__report_free(report);
}

static void running_session_counts_until_now(void **state)
{
    struct kvmig__report *report = kvmig__report_new();
    struct json_object *json;

    (void)state;
    report->started_ms = 1000;
    kvmig__report_phase_enter(report, KVMIG_PHASE_PENDING, 1000);
    kvmig__report_phase_enter(report, KVMIG_PHASE_RUNNING, 1100);
    report->call_started_ms = 1100;
    json = json_of(report, NULL, KVMIG_PHASE_RUNNING, 1500);
    assert_number(json, "/total_ms", 500);
    assert_number(json, "/phases/1/duration_ms", 400);
    assert_number(json, "/call_ms", 400);
    assert_false(has(json, "/outcome"));
    json_object_put(json);
    kvmig__report_free(report);
}

static void plan_stands_beside_the_outcome(void **state)
{
    struct kvmig__disk_plan disks[2] = {
        { .target = (char *)"vda", .method = KVMIG_DISK_COPY_FULL, .estimate = 100, .reason = (char *)"not shared" },
        { .target = (char *)"vdb", .method = KVMIG_DISK_SHARED, .estimate = 0 },
    };
    struct kvmig_plan plan = { .vm = (char *)"vm1",
                               .source = (char *)"a",
                               .target = (char *)"b",
                               .verdict = KVMIG_VERDICT_MIGRATABLE_WITH_RISK,
                               .disks = { disks, 2 } };
    struct kvmig__report *report = kvmig__report_new();
    struct json_object *json = json_of(report, &plan, KVMIG_PHASE_UNSET, 1);

    (void)state;
    assert_text(json, "/vm", "vm1");
    assert_text(json, "/plan/verdict", "MIGRATABLE_WITH_RISK");
    assert_text(json, "/plan/disks/0/method", "copy-full");
    assert_text(json, "/plan/disks/1/method", "shared");
    assert_number(json, "/plan/estimated_disk_bytes", 100);
    json_object_put(json);
    disks[1].estimate = KVMIG__UNKNOWN;
    json = json_of(report, &plan, KVMIG_PHASE_UNSET, 1);
    assert_false(has(json, "/plan/estimated_disk_bytes"));
    json_object_put(json);
    kvmig__report_free(report);
}

/* Of the strategies the one that ran; and nothing measured before the end, nor of a move that failed. */
static void forecast_and_outcome_stand_side_by_side(void **state)
{
    struct kvmig_plan plan = { .vm = (char *)"vm1", .source = (char *)"a", .target = (char *)"b" };
    struct kvmig__report *report = kvmig__report_new();
    struct json_object *json;

    (void)state;
    plan.forecast = (struct kvmig__forecast){ .known = true, .planned = KVMIG_STRATEGY_PRE_COPY };
    plan.forecast.of[KVMIG_STRATEGY_PRE_COPY - 1] =
        (struct kvmig_forecast){ .converges = 1, .total_ms = 9200, .rounds = 4 };
    plan.forecast.of[KVMIG_STRATEGY_POST_COPY - 1] = (struct kvmig_forecast){ .converges = 1, .total_ms = 7000 };
    report->started_ms = 1000;
    report->call_started_ms = 1100;
    json = json_of(report, &plan, KVMIG_PHASE_RUNNING, 2000);
    assert_text(json, "/forecast/strategy", "pre-copy");
    assert_number(json, "/forecast/predicted/total_ms/expected", 9200);
    assert_false(has(json, "/forecast/measured"));
    json_object_put(json);

    report->call_ended_ms = 9600;
    report->memory_sent = 1000;
    report->disk_sent = 10;
    report->pause_source_ms = 54;
    report->iterations = 6;
    json = json_of(report, &plan, KVMIG_PHASE_SUCCEEDED, 10000);
    assert_number(json, "/forecast/predicted/total_ms/expected", 9200);
    assert_number(json, "/forecast/measured/total_ms", 8500);
    assert_number(json, "/forecast/measured/pause_ms", 54);
    assert_number(json, "/forecast/measured/sent_bytes", 1010);
    assert_number(json, "/forecast/measured/rounds", 6);
    assert_number(json, "/forecast/measured/converged", 1);
    json_object_put(json);

    json = json_of(report, &plan, KVMIG_PHASE_FAILED, 10000);
    assert_number(json, "/forecast/predicted/total_ms/expected", 9200);
    assert_false(has(json, "/forecast/measured"));
    json_object_put(json);

    report->postcopy_used = true;
    json = json_of(report, &plan, KVMIG_PHASE_SUCCEEDED, 10000);
    assert_text(json, "/forecast/strategy", "post-copy");
    assert_number(json, "/forecast/predicted/total_ms/expected", 7000);
    json_object_put(json);
    kvmig__report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(everything_known_is_there_and_times_add_up),
        cmocka_unit_test(running_session_counts_until_now),
        cmocka_unit_test(plan_stands_beside_the_outcome),
        cmocka_unit_test(forecast_and_outcome_stand_side_by_side),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
