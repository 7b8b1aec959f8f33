/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a classifier of interfaces remembers from pass to pass, what it tells, and what it refuses.
 */
#include "interface_test.h"

#include <json-c/json.h>
#include <stdio.h>

/* ---- what is remembered ---- */

static void an_inventory_error_interrupts_the_count(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    assert_int_equal(classify(&bench)->passes, 1);
    bench.pass.inventory_error = "time-out";
    assert_int_equal(classify_after(&bench, MINUTE)->passes, 0);
    bench.pass.inventory_error = NULL;
    assert_int_equal(classify_after(&bench, MINUTE)->passes, 1);
    assert_int_equal(classify_after(&bench, MINUTE)->may_remove, 1);
    bench_close(&bench);
}

static void an_operation_interrupts_the_count(void **state)
{
    const char *operation = "vmi-77.ns1";
    struct bench bench;

    (void)state;
    bench_open(&bench);
    assert_int_equal(classify(&bench)->passes, 1);
    assert_int_equal(classify_after(&bench, MINUTE)->may_remove, 1);
    bench.pass.operations = &operation;
    bench.pass.n_operations = 1;
    assert_int_equal(classify_after(&bench, MINUTE)->interface_class, INITIALISING);
    assert_int_equal(kvmig_interface_report_get(bench.report, 0)->may_remove, 0);
    bench.pass.n_operations = 0;
    assert_int_equal(classify_after(&bench, MINUTE)->passes, 1);
    bench_close(&bench);
}

static void a_launcher_that_appears_interrupts_the_count(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    assert_int_equal(classify(&bench)->passes, 1);
    bench_run(&bench);
    assert_int_equal(classify_after(&bench, MINUTE)->interface_class, LIVE);
    bench.pass.n_workloads = 0;
    assert_int_equal(classify_after(&bench, MINUTE)->passes, 1);
    bench_close(&bench);
}

static void an_interface_that_was_away_begins_anew(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    bench.interfaces[0].first_seen_ms = 0;
    assert_int_equal(classify(&bench)->reason, BECAUSE(YOUNG));
    assert_int_equal(classify_after(&bench, MINUTE)->passes, 1);
    bench.pass.n_interfaces = 0;
    classify_after(&bench, MINUTE);
    bench.pass.n_interfaces = 1;
    assert_int_equal(classify_after(&bench, MINUTE)->reason, BECAUSE(YOUNG));
    bench_close(&bench);
}

static void another_row_begins_anew(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    bench.interfaces[0].first_seen_ms = 0;
    classify(&bench);
    assert_int_equal(classify_after(&bench, MINUTE)->passes, 1);
    bench.interfaces[0].uuid = "aaaaaaaa-0000-4000-8000-000000000899";
    assert_int_equal(classify_after(&bench, MINUTE)->reason, BECAUSE(YOUNG));
    assert_int_equal(classify_after(&bench, MINUTE)->passes, 1);
    assert_int_equal(classify_after(&bench, MINUTE)->passes, 2);
    bench_close(&bench);
}

/* What is known of the row's age is not the age of its new owner. */
static void a_row_that_belongs_to_somebody_else_begins_anew(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    classify(&bench);
    assert_int_equal(classify_after(&bench, MINUTE)->may_remove, 1);
    bench.interfaces[0].vm_id = "vmi-78";
    assert_int_equal(classify_after(&bench, MINUTE)->reason, BECAUSE(YOUNG));
    assert_int_equal(classify_after(&bench, MINUTE)->passes, 1);
    bench.interfaces[0].iface_id = "vmi-78.ns1";
    assert_int_equal(classify_after(&bench, MINUTE)->reason, BECAUSE(YOUNG));
    bench.interfaces[0].vm_namespace = "ns2";
    assert_int_equal(classify_after(&bench, MINUTE)->reason, BECAUSE(YOUNG));
    bench_close(&bench);
}

static void more_passes_can_be_asked_for(void **state)
{
    struct kvmig_interface_classifier_opts opts = KVMIG_INTERFACE_CLASSIFIER_OPTS_INIT;
    struct bench bench;

    (void)state;
    bench_open(&bench);
    kvmig_interface_classifier_free(bench.classifier);
    opts.node = NODE;
    opts.passes = 3;
    assert_int_equal(kvmig_interface_classifier_new(&opts, &bench.classifier), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(classify_after(&bench, 1000)->may_remove, i >= 2);
    bench_close(&bench);
}

/* The interface that the field knows as "it works sometimes": the flag is there for moments, with a new time stamp each
 * time. */
static void a_flag_that_flaps_never_counts_as_installed(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    bench_run(&bench);
    for (int i = 0; i < 20; i++) {
        bench.interfaces[0].ovn_installed = i % 3 != 2;
        bench.interfaces[0].ovn_installed_ts_ms = bench.pass.wall_ms + 495;
        assert_int_equal(classify_after(&bench, 500)->interface_class, INITIALISING);
    }
    for (int i = 0; i < 9; i++)
        assert_int_equal(classify_after(&bench, 500)->reason,
                         BECAUSE(SETTLING)); /* stands still, and has not stood for 5 s */
    assert_int_equal(classify_after(&bench, 1000)->reason, BECAUSE(RUNNING));
    bench_close(&bench);
}

/* Another machine's clock may be far behind: its time stamps do not make a new flag old. */
static void a_flag_is_not_older_than_the_pass_that_did_not_see_it(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    bench_run(&bench);
    bench.interfaces[0].ovn_installed = 0;
    assert_int_equal(classify(&bench)->reason, BECAUSE(NOT_INSTALLED));
    bench.interfaces[0].ovn_installed = 1;
    assert_int_equal(classify_after(&bench, 1000)->reason, BECAUSE(SETTLING));
    bench.interfaces[0].ovn_installed_ts_ms++;
    assert_int_equal(classify_after(&bench, 3000)->reason, BECAUSE(SETTLING));
    assert_int_equal(classify_after(&bench, 4000)->reason, BECAUSE(RUNNING));
    bench_close(&bench);
}

static void the_clock_of_the_library_is_used_if_none_is_given(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    bench_run(&bench);
    bench.pass.now_ms = bench.pass.wall_ms = 0;
    bench.interfaces[0].ovn_installed_ts_ms = kvmig__wall_ms() - MINUTE;
    assert_int_equal(classify(&bench)->interface_class, LIVE);
    bench_close(&bench);
}

/* ---- what is told ---- */

static void assert_at(struct json_object *json, const char *path, const char *value)
{
    struct json_object *member = NULL;

    if (json_pointer_get(json, path, &member) != 0)
        fail_msg("no %s in %s", path, json_object_to_json_string(json));
    assert_string_equal(json_object_get_string(member), value);
}

static void the_evidence_has_all_that_was_looked_at(void **state)
{
    const struct kvmig_interface_verdict *verdict;
    struct json_object *json;
    struct bench bench;

    (void)state;
    bench_open(&bench);
    bench.interfaces[0].error = "No such device";
    bench.interfaces[0].ofport = -1;
    bench.workloads[0] = (struct kvmig_workload){ LAUNCHER, .phase = KVMIG_WORKLOAD_SUCCEEDED };
    bench.workloads[1] = (struct kvmig_workload){ RUNNING_LAUNCHER };
    bench.workloads[1].node = "node-a";
    bench.workloads[2] = (struct kvmig_workload){ RUNNING_LAUNCHER };
    bench.workloads[2].domain = bench.workloads[2].vmi_id = "vmi-99";
    bench.pass.n_workloads = 3;
    verdict = classify(&bench);
    assert_string_equal(verdict->uuid, UUID);
    assert_string_equal(verdict->name, "e19e7_0001_h");
    assert_string_equal(verdict->iface_id, "vmi-77.ns1");
    assert_string_equal(verdict->message, "ns1/vmi-77 has ended on node-b");
    json = json_tokener_parse(verdict->evidence);
    assert_non_null(json);
    assert_at(json, "/node", NODE);
    assert_at(json, "/interface/ofport", "-1");
    assert_at(json, "/interface/error", "No such device");
    assert_at(json, "/interface/ovn_installed", "true");
    assert_at(json, "/age_ms", "600000");
    assert_at(json, "/workloads/0/match", "identity");
    assert_at(json, "/workloads/0/phase", "succeeded");
    assert_at(json, "/workloads/1/node", "node-a");
    assert_null(
        json_object_array_get_idx(json_object_object_get(json, "workloads"), 2)); /* has nothing to do with it */
    json_object_put(json);
    bench_close(&bench);
}

static void orphans_and_duplicates_are_findings(void **state)
{
    const struct kvmig_finding *finding;
    struct json_object *json;
    char *text = NULL;
    struct bench bench;

    (void)state;
    bench_open(&bench);
    classify(&bench);
    assert_int_equal(kvmig_findings_count(kvmig_interface_report_findings(bench.report)), 1);
    finding = kvmig_findings_get(kvmig_interface_report_findings(bench.report), 0);
    assert_string_equal(kvmig_finding_code(finding), "ORPHAN_INTERFACE");
    assert_string_equal(kvmig_finding_object(finding), "interface/e19e7_0001_h");
    assert_string_equal(kvmig_finding_host(finding), NODE);
    assert_int_equal(kvmig_finding_severity(finding), KVMIG_SEVERITY_WARN);
    bench.pass.n_interfaces = 2;
    classify_after(&bench, MINUTE);
    assert_int_equal(kvmig_findings_count(kvmig_interface_report_findings(bench.report)), 2);
    finding = kvmig_findings_get(kvmig_interface_report_findings(bench.report), 1);
    assert_string_equal(kvmig_finding_code(finding), "DUPLICATE_IFACE_ID");
    assert_string_equal(kvmig_finding_object(finding), "interface/other");
    assert_int_equal(kvmig_interface_report_to_json(bench.report, &text), 0);
    json = json_tokener_parse(text);
    assert_at(json, "/node", NODE);
    assert_at(json, "/interfaces/0/class", "unknown");
    assert_at(json, "/interfaces/1/reason", "DUPLICATE");
    assert_at(json, "/interfaces/1/evidence/same_iface_id/0/uuid", UUID);
    assert_at(json, "/findings/1/code", "DUPLICATE_IFACE_ID");
    json_object_put(json);
    free(text);
    bench_run(&bench);
    bench.pass.n_interfaces = 1;
    classify_after(&bench, MINUTE);
    assert_int_equal(kvmig_findings_count(kvmig_interface_report_findings(bench.report)), 0);
    bench_close(&bench);
}

/* Names in a database are not always text; what is told must be. */
static void hostile_names_give_evidence_that_parses(void **state)
{
    struct json_object *json;
    struct bench bench;

    (void)state;
    bench_open(&bench);
    bench.interfaces[0].name = "\xff\"%s\n";
    bench.interfaces[0].vm_id = "%N%V\x01\xc3";
    json = json_tokener_parse(classify(&bench)->evidence);
    assert_non_null(json);
    json_object_put(json);
    assert_string_equal(kvmig_interface_report_get(bench.report, 0)->message,
                        "there is no workload of ns1/%N%V\x01\xc3");
    bench_close(&bench);
}

static void many_interfaces_are_told_apart(void **state)
{
    enum { N = 500 };
    struct kvmig_interface *interfaces = calloc(N, sizeof(*interfaces));
    const struct kvmig_interface **list = calloc(N, sizeof(*list));
    char *names = calloc(N, 64);
    struct bench bench;

    (void)state;
    bench_open(&bench);
    for (size_t i = 0; i < N; i++) {
        char *uuid = names + 64 * i;

        snprintf(uuid, 64, "%08zx-0000-4000-8000-000000000000", (i * 7919) % N);
        interfaces[i] = (struct kvmig_interface){ IFACE };
        interfaces[i].uuid = interfaces[i].iface_id = uuid;
        list[i] = &interfaces[i];
    }
    bench.pass.interfaces = list;
    bench.pass.n_interfaces = N;
    classify(&bench);
    interfaces[N / 2].vm_id = "changed";
    classify_after(&bench, MINUTE);
    for (size_t i = 0; i < N; i++) {
        assert_string_equal(kvmig_interface_report_get(bench.report, i)->uuid, interfaces[i].uuid);
        assert_int_equal(kvmig_interface_report_get(bench.report, i)->passes, i == N / 2 ? 0 : 2);
    }
    bench_close(&bench);
    free(interfaces);
    free(list);
    free(names);
}

/* ---- what is refused ---- */

static void refuse(struct bench *bench, const char *where)
{
    struct kvmig_interface_report *report = (void *)bench;

    assert_int_equal(kvmig_interface_classify(bench->classifier, &bench->pass, &report), -EINVAL);
    assert_null(report);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), where);
    assert_true(*kvmig_error_message(kvmig_error_last()) != '\0');
}

static void a_pass_that_makes_no_sense_is_refused(void **state)
{
    const char *no_operation = NULL;
    struct bench bench;

    (void)state;
    bench_open(&bench);
    bench_run(&bench);
    bench.interfaces[0].uuid = NULL;
    refuse(&bench, "kvmig_interface_classify: interfaces[0]");
    bench.interfaces[0] = (struct kvmig_interface){ IFACE };
    bench.interface_list[0] = NULL;
    refuse(&bench, "kvmig_interface_classify: interfaces[0]");
    bench.interface_list[0] = &bench.interfaces[0];
    bench.interfaces[0].size = 0;
    refuse(&bench, "kvmig_interface_classify: interfaces[0]");
    bench.interfaces[0] = (struct kvmig_interface){ IFACE };
    bench.workloads[0].phase = 77;
    refuse(&bench, "kvmig_interface_classify: workloads[0]");
    bench.workloads[0] = (struct kvmig_workload){ RUNNING_LAUNCHER };
    bench.workloads[0].kind = -1;
    refuse(&bench, "kvmig_interface_classify: workloads[0]");
    bench.workloads[0].kind = KVMIG_WORKLOAD_POD;
    bench.workloads[0].name = "";
    refuse(&bench, "kvmig_interface_classify: workloads[0]");
    bench_run(&bench);
    bench.pass.operations = &no_operation;
    bench.pass.n_operations = 1;
    refuse(&bench, "kvmig_interface_classify: operations[0]");
    bench.pass.operations = NULL;
    refuse(&bench, "kvmig_interface_classify: operations");
    bench.pass.n_operations = 0;
    bench.pass.workloads = NULL;
    refuse(&bench, "kvmig_interface_classify: workloads");
    bench.pass.n_workloads = 0;
    bench.pass.interfaces = NULL;
    refuse(&bench, "kvmig_interface_classify: interfaces");
    bench.pass.n_interfaces = 0;
    bench.pass.wall_ms = -1;
    refuse(&bench, "kvmig_interface_classify: wall_ms");
    bench.pass.now_ms = -1;
    refuse(&bench, "kvmig_interface_classify: now_ms");
    bench_close(&bench);
}

static void a_pass_of_a_newer_program_is_refused(void **state)
{
    struct {
        struct kvmig_interface_pass pass;
        uint64_t newer;
    } big = { .newer = 1 };
    struct kvmig_interface_report *report = NULL;
    struct bench bench;

    (void)state;
    bench_open(&bench);
    big.pass = bench.pass;
    big.pass.size = sizeof(big);
    assert_int_equal(kvmig_interface_classify(bench.classifier, &big.pass, &report), -E2BIG);
    big.newer = 0;
    assert_int_equal(kvmig_interface_classify(bench.classifier, &big.pass, &report), 0);
    kvmig_interface_report_free(report);
    bench_close(&bench);
}

/* A refused pass changes nothing: the count goes on where it was. */
static void a_clock_that_goes_back_is_refused(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    assert_int_equal(classify(&bench)->passes, 1);
    bench.pass.now_ms = NOW - 1;
    refuse(&bench, "kvmig_interface_classify: now_ms");
    bench.pass.now_ms = NOW + 1;
    assert_int_equal(classify(&bench)->passes, 2);
    bench_close(&bench);
}

static void refuse_opts(const struct kvmig_interface_classifier_opts *opts, const char *where)
{
    struct kvmig_interface_classifier *classifier = (void *)opts;

    assert_int_equal(kvmig_interface_classifier_new(opts, &classifier), -EINVAL);
    assert_null(classifier);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), where);
}

static void options_that_make_no_sense_are_refused(void **state)
{
    struct kvmig_interface_classifier_opts opts = KVMIG_INTERFACE_CLASSIFIER_OPTS_INIT;
    struct kvmig_interface interface = KVMIG_INTERFACE_INIT;
    struct kvmig_workload workload = KVMIG_WORKLOAD_INIT;
    struct kvmig_interface_report *report;
    struct kvmig_interface_pass pass;
    char *text;

    (void)state;
    refuse_opts(NULL, "kvmig_interface_classifier_new: node");
    refuse_opts(&opts, "kvmig_interface_classifier_new: node");
    opts.node = NODE;
    opts.passes = 1;
    refuse_opts(&opts, "kvmig_interface_classifier_new: passes");
    opts.passes = 0;
    opts.grace_ms = UINT64_MAX;
    refuse_opts(&opts, "kvmig_interface_classifier_new: grace_ms");
    opts.grace_ms = 0;
    opts.settle_ms = UINT64_MAX;
    refuse_opts(&opts, "kvmig_interface_classifier_new: settle_ms");
    assert_int_equal(kvmig_interface_classifier_new(&opts, NULL), -EINVAL);
    assert_int_equal(kvmig_interface_classifier_opts_init(&opts, sizeof(opts)), 0);
    assert_int_equal(opts.settle_ms, 0);
    assert_int_equal(kvmig_interface_pass_init(&pass, sizeof(pass)), 0);
    assert_int_equal(pass.size, sizeof(pass));
    assert_int_equal(kvmig_interface_pass_init(NULL, sizeof(pass)), -EINVAL);
    assert_int_equal(kvmig_interface_init(NULL, sizeof(interface)), -EINVAL);
    assert_int_equal(kvmig_workload_init(NULL, sizeof(workload)), -EINVAL);
    interface.ofport = workload.kind = 7;
    assert_int_equal(kvmig_interface_init(&interface, sizeof(interface)), 0);
    assert_int_equal(kvmig_workload_init(&workload, sizeof(workload)), 0);
    assert_true(interface.size == sizeof(interface) && !interface.ofport);
    assert_true(workload.size == sizeof(workload) && !workload.kind);
    assert_int_equal(kvmig_interface_classify(NULL, &pass, &report), -EINVAL);
    assert_int_equal(kvmig_interface_report_to_json(NULL, &text), -EINVAL);
    kvmig_interface_classifier_free(NULL);
    kvmig_interface_report_free(NULL);
    assert_int_equal(kvmig_interface_report_count(NULL), 0);
    assert_null(kvmig_interface_report_get(NULL, 0));
    assert_null(kvmig_interface_report_findings(NULL));
}

static void names_are_known_for_members_only(void **state)
{
    (void)state;
    assert_null(kvmig_interface_class_name(0));
    assert_string_equal(kvmig_interface_class_name(KVMIG_INTERFACE_UNKNOWN), "unknown");
    assert_null(kvmig_interface_class_name(KVMIG_INTERFACE_UNKNOWN + 1));
    assert_null(kvmig_interface_reason_name(0));
    for (int32_t reason = 1; reason <= KVMIG_INTERFACE_REASON_PHASE_UNKNOWN; reason++)
        assert_non_null(kvmig_interface_reason_name(reason));
    assert_null(kvmig_interface_reason_name(KVMIG_INTERFACE_REASON_PHASE_UNKNOWN + 1));
    assert_null(kvmig_workload_kind_name(-1));
    assert_string_equal(kvmig_workload_kind_name(KVMIG_WORKLOAD_DOMAIN), "domain");
    assert_null(kvmig_workload_kind_name(3));
    assert_null(kvmig_workload_phase_name(-1));
    assert_string_equal(kvmig_workload_phase_name(KVMIG_WORKLOAD_FAILED), "failed");
    assert_null(kvmig_workload_phase_name(5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inventory_error_interrupts_the_count),
        cmocka_unit_test(an_operation_interrupts_the_count),
        cmocka_unit_test(a_launcher_that_appears_interrupts_the_count),
        cmocka_unit_test(an_interface_that_was_away_begins_anew),
        cmocka_unit_test(another_row_begins_anew),
        cmocka_unit_test(a_row_that_belongs_to_somebody_else_begins_anew),
        cmocka_unit_test(more_passes_can_be_asked_for),
        cmocka_unit_test(a_flag_that_flaps_never_counts_as_installed),
        cmocka_unit_test(a_flag_is_not_older_than_the_pass_that_did_not_see_it),
        cmocka_unit_test(the_clock_of_the_library_is_used_if_none_is_given),
        cmocka_unit_test(the_evidence_has_all_that_was_looked_at),
        cmocka_unit_test(orphans_and_duplicates_are_findings),
        cmocka_unit_test(hostile_names_give_evidence_that_parses),
        cmocka_unit_test(many_interfaces_are_told_apart),
        cmocka_unit_test(a_pass_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_pass_of_a_newer_program_is_refused),
        cmocka_unit_test(a_clock_that_goes_back_is_refused),
        cmocka_unit_test(options_that_make_no_sense_are_refused),
        cmocka_unit_test(names_are_known_for_members_only),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
