/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A migration in libvirt's words: flags, parameters and volumes of a plan, and what job statistics tell.
 */
#include "libvirt/job.h"
#include "plan/features.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the call ---- */

static const char *string_param(const struct kvmig__virt_call *call, const char *name)
{
    const char *value = NULL;
    return virTypedParamsGetString(call->params, call->n_params, name, &value) == 1 ? value : NULL;
}

static unsigned long long ull_param(const struct kvmig__virt_call *call, const char *name)
{
    unsigned long long value = 0;
    return virTypedParamsGetULLong(call->params, call->n_params, name, &value) == 1 ? value : 0;
}

static int int_param(const struct kvmig__virt_call *call, const char *name)
{
    int value = 0;
    return virTypedParamsGetInt(call->params, call->n_params, name, &value) == 1 ? value : 0;
}

static char *flags_of(const struct kvmig_plan *plan, uint32_t features)
{
    struct kvmig__virt_call call;
    assert_int_equal(kvmig__virt_call_build(plan, features, NULL, NULL, &call), 0);
    char *names = kvmig__virt_flag_names(call.flags);
    kvmig__virt_call_clear(&call);
    return names;
}

static void assert_flags(const struct kvmig_plan *plan, uint32_t features, const char *expected)
{
    char *names = flags_of(plan, features);
    assert_string_equal(names, expected);
    free(names);
}

static void a_plain_plan_is_live_and_peer_to_peer(void **state)
{
    struct kvmig_plan plan = { .persistent = false };
    struct kvmig__virt_call call;
    (void)state;
    assert_flags(&plan, 0, "LIVE|PEER2PEER");
    assert_int_equal(kvmig__virt_call_build(&plan, 0, NULL, NULL, &call), 0);
    assert_int_equal(call.n_params, 0);
    kvmig__virt_call_clear(&call);
}

static void the_source_is_never_undefined_by_the_call(void **state)
{
    struct kvmig_plan plan = { .persistent = true, .request = { .flags = UINT64_MAX } };
    struct kvmig__virt_call call;
    (void)state;
    assert_int_equal(kvmig__virt_call_build(&plan, UINT32_MAX, NULL, NULL, &call), 0);
    assert_int_equal(call.flags & VIR_MIGRATE_UNDEFINE_SOURCE, 0);
    kvmig__virt_call_clear(&call);
}

static void persistence_follows_the_domain_and_the_request(void **state)
{
    struct kvmig_plan plan = { .persistent = true };
    (void)state;
    assert_flags(&plan, 0, "LIVE|PEER2PEER|PERSIST_DEST");
    plan.request.flags = KVMIG_PLAN_TRANSIENT_TARGET | KVMIG_PLAN_MANAGED;
    assert_flags(&plan, 0, "LIVE");
}

static void consents_and_features_become_flags(void **state)
{
    struct kvmig_plan plan = { .request = { .flags = KVMIG_PLAN_UNSAFE | KVMIG_PLAN_ABORT_ON_IO_ERROR |
                                                     KVMIG_PLAN_ALLOW_POSTCOPY } };
    (void)state;
    assert_flags(&plan, KVMIG__FEATURE_TLS | KVMIG__FEATURE_AUTO_CONVERGE | KVMIG__FEATURE_PARALLEL,
                 "LIVE|PEER2PEER|UNSAFE|ABORT_ON_ERROR|AUTO_CONVERGE|TLS|PARALLEL");
    assert_flags(&plan, KVMIG__FEATURE_POSTCOPY, "LIVE|PEER2PEER|UNSAFE|ABORT_ON_ERROR|POSTCOPY");
    assert_flags(&plan, KVMIG__FEATURE_STRICT, "LIVE|PEER2PEER|PAUSED|UNSAFE|ABORT_ON_ERROR");
}

static void only_copied_disks_are_listed(void **state)
{
    struct kvmig__disk_plan disks[] = {
        { .target = "vda", .method = KVMIG_DISK_SHARED },     { .target = "vdb", .method = KVMIG_DISK_COPY_FULL },
        { .target = "hda", .method = KVMIG_DISK_SKIP },       { .target = "vdc", .method = KVMIG_DISK_COPY_FULL },
        { .target = "vdd", .method = KVMIG_DISK_IMPOSSIBLE },
    };
    struct kvmig_plan plan = { .vm = NULL };
    struct kvmig__virt_call call;
    (void)state;
    plan.disks.v = disks;
    plan.disks.n = KVMIG__N_ELEMENTS(disks);
    assert_int_equal(kvmig__virt_call_build(&plan, KVMIG__FEATURE_DISK_LIST, NULL, NULL, &call), 0);
    assert_true(call.flags & VIR_MIGRATE_NON_SHARED_DISK);
    assert_false(call.flags & VIR_MIGRATE_NON_SHARED_INC);
    assert_int_equal(call.n_params, 2);
    assert_string_equal(call.params[0].field, VIR_MIGRATE_PARAM_MIGRATE_DISKS);
    assert_string_equal(call.params[0].value.s, "vdb");
    assert_string_equal(call.params[1].value.s, "vdc");
    kvmig__virt_call_clear(&call);
    disks[3].method = KVMIG_DISK_COPY_INCREMENTAL;
    assert_flags(&plan, 0, "LIVE|PEER2PEER|NON_SHARED_INC");
}

static void values_become_parameters_of_the_right_type(void **state)
{
    struct kvmig_plan plan = { .request = { .bandwidth_mib = 100,
                                            .postcopy_bandwidth_mib = 200,
                                            .parallel_connections = 4,
                                            .auto_converge_initial = 30,
                                            .auto_converge_increment = 5,
                                            .compression = "mt",
                                            .compression_level = 3,
                                            .tls_destination = "b.example.org",
                                            .migrate_uri = "tcp://10.0.0.2",
                                            .target_name = "vm2" } };
    struct kvmig__virt_call call;
    (void)state;
    uint32_t features = KVMIG__FEATURE_POSTCOPY_BANDWIDTH | KVMIG__FEATURE_PARALLEL | KVMIG__FEATURE_MT |
                        KVMIG__FEATURE_AUTO_CONVERGE_TUNING | KVMIG__FEATURE_TLS_DESTINATION;
    assert_int_equal(kvmig__virt_call_build(&plan, features, "<domain/>", "<domain id='p'/>", &call), 0);
    assert_int_equal(ull_param(&call, VIR_MIGRATE_PARAM_BANDWIDTH), 100);
    assert_int_equal(ull_param(&call, VIR_MIGRATE_PARAM_BANDWIDTH_POSTCOPY), 200);
    assert_int_equal(int_param(&call, VIR_MIGRATE_PARAM_PARALLEL_CONNECTIONS), 4);
    assert_int_equal(int_param(&call, VIR_MIGRATE_PARAM_AUTO_CONVERGE_INITIAL), 30);
    assert_int_equal(int_param(&call, VIR_MIGRATE_PARAM_AUTO_CONVERGE_INCREMENT), 5);
    assert_string_equal(string_param(&call, VIR_MIGRATE_PARAM_COMPRESSION), "mt");
    assert_int_equal(int_param(&call, VIR_MIGRATE_PARAM_COMPRESSION_MT_LEVEL), 3);
    assert_string_equal(string_param(&call, VIR_MIGRATE_PARAM_TLS_DESTINATION), "b.example.org");
    assert_string_equal(string_param(&call, VIR_MIGRATE_PARAM_URI), "tcp://10.0.0.2");
    assert_string_equal(string_param(&call, VIR_MIGRATE_PARAM_DEST_NAME), "vm2");
    assert_string_equal(string_param(&call, VIR_MIGRATE_PARAM_DEST_XML), "<domain/>");
    assert_string_equal(string_param(&call, VIR_MIGRATE_PARAM_PERSIST_XML), "<domain id='p'/>");
    assert_true(call.flags & VIR_MIGRATE_COMPRESSED);
    kvmig__virt_call_clear(&call);
}

static void what_was_dropped_leaves_no_parameter_behind(void **state)
{
    struct kvmig_plan plan = { .request = { .postcopy_bandwidth_mib = 200,
                                            .parallel_connections = 4,
                                            .compression = "zstd",
                                            .compression_level = 3,
                                            .auto_converge_initial = 30 } };
    struct kvmig__virt_call call;
    (void)state;
    assert_int_equal(kvmig__virt_call_build(&plan, 0, NULL, NULL, &call), 0);
    assert_int_equal(call.n_params, 0);
    kvmig__virt_call_clear(&call);
}

static void undefining_never_removes_firmware_or_tpm_state(void **state)
{
    (void)state;
    assert_true(kvmig__virt_undefine_flags(9000000) & VIR_DOMAIN_UNDEFINE_KEEP_TPM);
    assert_false(kvmig__virt_undefine_flags(8008000) & VIR_DOMAIN_UNDEFINE_KEEP_TPM);
    assert_true(kvmig__virt_undefine_flags(8008000) & VIR_DOMAIN_UNDEFINE_KEEP_NVRAM);
    assert_false(kvmig__virt_undefine_flags(9000000) & VIR_DOMAIN_UNDEFINE_NVRAM);
}

/* ---- volumes ---- */

static void assert_volume(const struct kvmig__disk_plan *disk, const char *pool_type, const char *const *parts)
{
    char *xml = kvmig__virt_volume_xml(disk, 1073742336, pool_type);
    for (; *parts; parts++) {
        bool absent = **parts == '!';
        if ((strstr(xml, *parts + absent) == NULL) != absent)
            fail_msg("%s: %s", *parts, xml);
    }
    free(xml);
}

static void a_volume_has_the_exact_size_and_format(void **state)
{
    const struct kvmig__disk_plan disk = { .volume = "a&b.qcow2", .format = "qcow2" };
    (void)state;
    assert_volume(&disk, "dir",
                  (const char *const[]){ "<name>a&amp;b.qcow2</name>", "<capacity unit='bytes'>1073742336</capacity>",
                                         "<allocation unit='bytes'>0</allocation>", "<format type='qcow2'/>",
                                         "!backingStore", NULL });
}

static void an_overlay_names_its_backing_file_and_format(void **state)
{
    const struct kvmig__disk_plan disk = {
        .volume = "top.qcow2", .format = "qcow2", .backing_path = "/images/base<1>.img", .backing_format = "raw"
    };
    (void)state;
    assert_volume(&disk, "netfs",
                  (const char *const[]){ "<backingStore>", "<path>/images/base&lt;1&gt;.img</path>",
                                         "<format type='raw'/>", "<format type='qcow2'/>", NULL });
}

static void a_logical_volume_is_allocated_whole_and_has_no_format(void **state)
{
    const struct kvmig__disk_plan disk = { .volume = "lv1", .format = "raw" };
    (void)state;
    assert_volume(&disk, "logical",
                  (const char *const[]){ "<allocation unit='bytes'>1073742336</allocation>", "!<format", NULL });
}

/* ---- statistics ---- */

struct stats {
    virTypedParameterPtr params;
    int n, max;
};

static void add(struct stats *stats, const char *name, unsigned long long value)
{
    assert_int_equal(virTypedParamsAddULLong(&stats->params, &stats->n, &stats->max, name, value), 0);
}

static struct stats memory_phase(void)
{
    struct stats stats = { NULL, 0, 0 };
    assert_int_equal(virTypedParamsAddInt(&stats.params, &stats.n, &stats.max, VIR_DOMAIN_JOB_OPERATION,
                                          VIR_DOMAIN_JOB_OPERATION_MIGRATION_OUT),
                     0);
    assert_int_equal(
        virTypedParamsAddInt(&stats.params, &stats.n, &stats.max, VIR_DOMAIN_JOB_AUTO_CONVERGE_THROTTLE, 30), 0);
    add(&stats, VIR_DOMAIN_JOB_TIME_ELAPSED, 4806);
    add(&stats, VIR_DOMAIN_JOB_DOWNTIME, 2211);
    add(&stats, VIR_DOMAIN_JOB_SETUP_TIME, 256);
    add(&stats, VIR_DOMAIN_JOB_MEMORY_TOTAL, 269238272);
    add(&stats, VIR_DOMAIN_JOB_MEMORY_PROCESSED, 206339851);
    add(&stats, VIR_DOMAIN_JOB_MEMORY_REMAINING, 1785856);
    add(&stats, VIR_DOMAIN_JOB_MEMORY_BPS, 33581900);
    add(&stats, VIR_DOMAIN_JOB_MEMORY_CONSTANT, 31304);
    add(&stats, VIR_DOMAIN_JOB_MEMORY_NORMAL, 50209);
    add(&stats, VIR_DOMAIN_JOB_MEMORY_DIRTY_RATE, 3770);
    add(&stats, VIR_DOMAIN_JOB_MEMORY_ITERATION, 3);
    add(&stats, VIR_DOMAIN_JOB_MEMORY_PAGE_SIZE, 4096);
    add(&stats, VIR_DOMAIN_JOB_DISK_TOTAL, 0);
    return stats;
}

static void statistics_become_progress_in_bytes(void **state)
{
    struct stats stats = memory_phase();
    struct kvmig__job_sample sample;
    (void)state;
    kvmig__job_sample_read(VIR_DOMAIN_JOB_UNBOUNDED, stats.params, stats.n, &sample);
    const struct kvmig_progress *p = &sample.progress;
    assert_int_equal(p->size, sizeof(*p));
    assert_int_equal(p->elapsed_ms, 4806);
    assert_int_equal(p->memory_total, 269238272);
    assert_int_equal(p->memory_sent, 206339851);
    assert_int_equal(p->memory_remaining, 1785856);
    assert_int_equal(p->pages_normal, 50209);
    assert_int_equal(p->pages_constant, 31304);
    assert_int_equal(p->dirty_bytes_per_s, 3770 * 4096);
    assert_int_equal(p->bandwidth_bytes_per_s, 33581900);
    assert_int_equal(p->iteration, 3);
    assert_int_equal(p->expected_pause_ms, 2211);
    assert_int_equal(p->throttle_percent, 30);
    assert_int_equal(p->disk_total, 0);
    assert_true(p->disk_sent == KVMIG__UNKNOWN);
    assert_true(p->eta_ms == KVMIG__UNKNOWN);
    virTypedParamsFree(stats.params, stats.n);
}

static void missing_statistics_stay_unknown(void **state)
{
    struct kvmig__job_sample sample;
    (void)state;
    kvmig__job_sample_read(VIR_DOMAIN_JOB_NONE, NULL, 0, &sample);
    const struct kvmig_progress *p = &sample.progress;
    assert_true(p->memory_total == KVMIG__UNKNOWN && p->memory_sent == KVMIG__UNKNOWN);
    assert_true(p->memory_remaining == KVMIG__UNKNOWN && p->dirty_bytes_per_s == KVMIG__UNKNOWN);
    assert_true(p->bandwidth_bytes_per_s == KVMIG__UNKNOWN && p->expected_pause_ms == KVMIG__UNKNOWN);
    assert_true(p->disk_total == KVMIG__UNKNOWN && p->elapsed_ms == KVMIG__UNKNOWN);
    assert_true(sample.downtime_net_ms == KVMIG__UNKNOWN && sample.setup_ms == KVMIG__UNKNOWN);
    assert_int_equal(p->iteration, 0);
    assert_int_equal(p->throttle_percent, 0);
}

static void memory_is_unknown_while_only_disks_are_copied(void **state)
{
    struct stats stats = { NULL, 0, 0 };
    struct kvmig__job_sample sample;
    (void)state;
    add(&stats, VIR_DOMAIN_JOB_MEMORY_TOTAL, 0);
    add(&stats, VIR_DOMAIN_JOB_MEMORY_REMAINING, 0);
    add(&stats, VIR_DOMAIN_JOB_DISK_TOTAL, 1000);
    add(&stats, VIR_DOMAIN_JOB_DISK_PROCESSED, 400);
    add(&stats, VIR_DOMAIN_JOB_DISK_REMAINING, 600);
    kvmig__job_sample_read(VIR_DOMAIN_JOB_UNBOUNDED, stats.params, stats.n, &sample);
    assert_true(sample.progress.memory_total == KVMIG__UNKNOWN);
    assert_true(sample.progress.memory_remaining == KVMIG__UNKNOWN);
    assert_int_equal(sample.progress.disk_total, 1000);
    assert_int_equal(sample.progress.disk_sent, 400);
    assert_int_equal(sample.progress.disk_remaining, 600);
    virTypedParamsFree(stats.params, stats.n);
}

static void a_dirty_rate_that_libvirt_leaves_out_is_zero_only_once_it_is_measured(void **state)
{
    struct stats stats = { NULL, 0, 0 };
    struct kvmig__job_sample sample;
    (void)state;
    add(&stats, VIR_DOMAIN_JOB_MEMORY_TOTAL, 1 << 20);
    add(&stats, VIR_DOMAIN_JOB_MEMORY_ITERATION, 1);
    kvmig__job_sample_read(VIR_DOMAIN_JOB_UNBOUNDED, stats.params, stats.n, &sample);
    assert_true(sample.progress.dirty_bytes_per_s == KVMIG__UNKNOWN);
    stats.params[1].value.ul = 2;
    kvmig__job_sample_read(VIR_DOMAIN_JOB_UNBOUNDED, stats.params, stats.n, &sample);
    assert_int_equal(sample.progress.dirty_bytes_per_s, 0);
    virTypedParamsFree(stats.params, stats.n);
}

static void pauses_are_reported_of_a_finished_job_only(void **state)
{
    struct stats stats = memory_phase();
    struct kvmig__job_sample sample;
    struct kvmig__report *report = kvmig__report_new();
    (void)state;
    add(&stats, VIR_DOMAIN_JOB_DOWNTIME_NET, 109);
    kvmig__job_sample_read(VIR_DOMAIN_JOB_COMPLETED, stats.params, stats.n, &sample);
    kvmig__job_to_report(&sample, false, report);
    assert_true(report->pause_source_ms == KVMIG__UNKNOWN && report->pause_total_ms == KVMIG__UNKNOWN);
    assert_int_equal(report->memory_sent, 206339851);
    assert_int_equal(report->iterations, 3);
    kvmig__job_to_report(&sample, true, report);
    assert_int_equal(report->pause_source_ms, 109);
    assert_int_equal(report->pause_total_ms, 2211);
    assert_int_equal(report->total_ms, 4806);
    assert_int_equal(report->setup_ms, 256);
    virTypedParamsFree(stats.params, stats.n);
    kvmig__report_free(report);
}

static void the_last_poll_tells_of_disks_that_a_finished_job_no_longer_counts(void **state)
{
    struct stats stats = memory_phase();
    struct kvmig__job_sample sample;
    struct kvmig__report *report = kvmig__report_new();
    (void)state;
    kvmig__job_sample_read(VIR_DOMAIN_JOB_UNBOUNDED, stats.params, stats.n, &sample);
    sample.progress.disk_total = 1000;
    sample.progress.disk_sent = 900;
    kvmig__job_to_report(&sample, false, report);
    sample.progress.disk_total = sample.progress.disk_sent = KVMIG__UNKNOWN;
    kvmig__job_to_report(&sample, true, report);
    assert_int_equal(report->disk_total, 1000);
    assert_int_equal(report->disk_sent, 900);
    virTypedParamsFree(stats.params, stats.n);
    kvmig__report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_plan_is_live_and_peer_to_peer),
        cmocka_unit_test(the_source_is_never_undefined_by_the_call),
        cmocka_unit_test(persistence_follows_the_domain_and_the_request),
        cmocka_unit_test(consents_and_features_become_flags),
        cmocka_unit_test(only_copied_disks_are_listed),
        cmocka_unit_test(values_become_parameters_of_the_right_type),
        cmocka_unit_test(what_was_dropped_leaves_no_parameter_behind),
        cmocka_unit_test(undefining_never_removes_firmware_or_tpm_state),
        cmocka_unit_test(a_volume_has_the_exact_size_and_format),
        cmocka_unit_test(an_overlay_names_its_backing_file_and_format),
        cmocka_unit_test(a_logical_volume_is_allocated_whole_and_has_no_format),
        cmocka_unit_test(statistics_become_progress_in_bytes),
        cmocka_unit_test(missing_statistics_stay_unknown),
        cmocka_unit_test(memory_is_unknown_while_only_disks_are_copied),
        cmocka_unit_test(a_dirty_rate_that_libvirt_leaves_out_is_zero_only_once_it_is_measured),
        cmocka_unit_test(pauses_are_reported_of_a_finished_job_only),
        cmocka_unit_test(the_last_poll_tells_of_disks_that_a_finished_job_no_longer_counts),
    };
    if (virInitialize() < 0) /* typed parameters use libvirt's thread-local error */
        return 1;
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
