/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The request: what is refused at once, what is copied, and the options that do not go together.
 */
#include "plan_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void assert_refused(const struct kvmig_plan_opts *opts, const char *option)
{
    struct kvmig__request request;
    char *where = kvmig__asprintf("option %s", option);

    assert_int_equal(kvmig__request_from_opts(&request, opts, "test"), -EINVAL);
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), where));
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), "test"));
    assert_string_not_equal(kvmig_error_hint(kvmig_error_last()), "");
    assert_null(request.vm);
    free(where);
}

static struct kvmig_plan_opts valid_opts(void)
{
    struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;

    opts.vm = "vm1";
    return opts;
}

static void a_request_needs_a_vm(void **state)
{
    struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;

    (void)state;
    assert_refused(&opts, "vm");
    opts.vm = "";
    assert_refused(&opts, "vm");
}

static void unknown_flags_and_enums_are_refused(void **state)
{
    struct kvmig_plan_opts opts = valid_opts();

    (void)state;
    opts.flags = 1ull << 40;
    assert_refused(&opts, "flags");
    assert_non_null(strstr(kvmig_error_evidence(kvmig_error_last()), "0x10000000000"));
    opts = valid_opts();
    opts.copy = 9;
    assert_refused(&opts, "copy");
    opts = valid_opts();
    opts.copy = -1;
    assert_refused(&opts, "copy");
    opts = valid_opts();
    opts.handover = 2;
    assert_refused(&opts, "handover");
}

static void options_are_initialised_at_run_time_as_by_the_macro(void **state)
{
    const struct kvmig_plan_opts fresh = KVMIG_PLAN_OPTS_INIT;
    struct kvmig_plan_opts opts;

    (void)state;
    memset(&opts, 0xff, sizeof(opts));
    assert_int_equal(kvmig_plan_opts_init(&opts, sizeof(opts)), 0);
    assert_memory_equal(&opts, &fresh, sizeof(opts));
    assert_int_equal(kvmig_plan_opts_init(&opts, sizeof(opts.size) - 1), -EINVAL);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "kvmig_plan_opts_init");
    assert_int_equal(kvmig_plan_opts_init(NULL, sizeof(opts)), -EINVAL);
}

static void lists_and_strings_must_hold_something(void **state)
{
    static const char *const gap[] = { "vda", NULL };
    static const struct kvmig_volume_change nowhere = { "data", "" };
    static const struct kvmig_link silent = { "b", 0 };
    struct kvmig_plan_opts opts = valid_opts();
    const struct {
        const char *option;
        const char *const **list;
        size_t *n;
    } lists[] = { { "copy_disks", &opts.copy_disks, &opts.n_copy_disks },
                  { "libvirt_flags", &opts.libvirt_flags, &opts.n_libvirt_flags },
                  { "exclude", &opts.exclude, &opts.n_exclude } };

    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        opts = valid_opts();
        *lists[i].n = 1;
        assert_refused(&opts, lists[i].option);
        *lists[i].list = gap;
        *lists[i].n = 2;
        assert_refused(&opts, lists[i].option);
    }
    opts = valid_opts();
    opts.n_volume_changes = 1;
    assert_refused(&opts, "volume_changes");
    opts.volume_changes = &nowhere;
    assert_refused(&opts, "volume_changes");
    opts = valid_opts();
    opts.n_links = 1;
    assert_refused(&opts, "links");
    opts.links = &silent;
    assert_refused(&opts, "links");
    opts = valid_opts();
    opts.target = "";
    assert_refused(&opts, "target");
    opts = valid_opts();
    opts.target_labels = "";
    assert_refused(&opts, "target_labels");
    opts = valid_opts();
    opts.persistent_xml = "";
    assert_refused(&opts, "persistent_xml");
    opts = valid_opts();
    opts.now_ms = -1;
    assert_refused(&opts, "now_ms");
}

static void what_is_told_for_the_forecast_is_checked(void **state)
{
    struct kvmig_forecast_opts told = KVMIG_FORECAST_OPTS_INIT;
    struct kvmig_plan_opts opts = valid_opts();
    struct kvmig__request request;

    (void)state;
    opts.forecast = &told;
    told.n_dirty = 1;
    assert_refused(&opts, "forecast.dirty");
    told.n_dirty = 0;
    told.forbid = 4;
    assert_refused(&opts, "forecast.forbid");
    told.forbid = 0;
    told.busy_percent = 101;
    assert_refused(&opts, "forecast.busy_percent");
    told.busy_percent = 0;
    told.reserved = 1;
    assert_refused(&opts, "forecast.reserved");
    told.size = 1;
    assert_int_equal(kvmig__request_from_opts(&request, &opts, "test"), -EINVAL);
}

static void a_struct_of_the_future_is_refused_only_if_it_says_more(void **state)
{
    struct {
        struct kvmig_plan_opts opts;
        uint64_t more;
    } future = { .opts = KVMIG_PLAN_OPTS_INIT };
    struct kvmig__request request;

    (void)state;
    future.opts.vm = "vm1";
    future.opts.size = sizeof(future);
    assert_int_equal(kvmig__request_from_opts(&request, &future.opts, "test"), 0);
    assert_string_equal(request.vm, "vm1");
    kvmig__request_clear(&request);
    future.more = 1;
    assert_int_equal(kvmig__request_from_opts(&request, &future.opts, "test"), -E2BIG);
}

static void everything_is_copied(void **state)
{
    char name[] = "vm1", disk[] = "vda";
    const char *disks[] = { disk, "vdb", disk };
    struct kvmig_plan_opts opts = valid_opts();
    struct kvmig__request request, copy;

    (void)state;
    opts.vm = name;
    opts.copy_disks = disks;
    opts.n_copy_disks = 3;
    opts.compression = "zstd";
    opts.compression_level = 3;
    opts.parallel_connections = 4;
    opts.bandwidth_mib = 100;
    opts.target_xml = "<domain/>";
    assert_int_equal(kvmig__request_from_opts(&request, &opts, "test"), 0);
    memset(name, 'x', sizeof(name) - 1);
    memset(disk, 'x', sizeof(disk) - 1);
    kvmig__request_copy(&copy, &request);
    kvmig__request_clear(&request);
    kvmig__request_clear(&request);
    assert_string_equal(copy.vm, "vm1");
    assert_int_equal(copy.copy_disks.n, 2); /* named twice, meant once */
    assert_string_equal(copy.copy_disks.v[0], "vda");
    assert_string_equal(copy.compression, "zstd");
    assert_int_equal(copy.compression_level, 3);
    assert_int_equal(copy.parallel_connections, 4);
    assert_int_equal(copy.bandwidth_mib, 100);
    assert_string_equal(copy.target_xml, "<domain/>");
    kvmig__request_clear(&copy);
    kvmig__request_clear(NULL);
}

/* ---- options that do not go together ---- */

static struct scene scene;

static int setup(void **state)
{
    (void)state;
    scene_init(&scene);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scene_clear(&scene);
    return 0;
}

static void assert_conflict(const char *flag)
{
    assert_detail(assert_finding(scene_plan(&scene), "INVALID_FLAGS", KVMIG_SEVERITY_BLOCKER), flag);
    assert_verdict(scene.plan, KVMIG_VERDICT_BLOCKED);
}

static void post_copy_needs_consent(void **state)
{
    (void)state;
    scene.request.flags = KVMIG_PLAN_POSTCOPY_AFTER_PRECOPY;
    assert_conflict("POSTCOPY_AFTER_PRECOPY");
    scene.request.flags |= KVMIG_PLAN_ALLOW_POSTCOPY;
    assert_clean(scene_plan(&scene));
}

static void post_copy_excludes_the_strict_handover(void **state)
{
    (void)state;
    scene.request.flags = KVMIG_PLAN_ALLOW_POSTCOPY;
    scene.request.handover = KVMIG_HANDOVER_STRICT;
    assert_conflict("PAUSED");
    scene.request.flags = 0;
    assert_clean(scene_plan(&scene));
}

static void compression_must_suit_the_connections(void **state)
{
    (void)state;
    kvmig__str_set(&scene.request.compression, "xbzrle");
    scene.request.parallel_connections = 4;
    assert_conflict("PARALLEL");
    kvmig__str_set(&scene.request.compression, "zstd");
    assert_clean(scene_plan(&scene));
    scene.request.parallel_connections = 1;
    assert_conflict("COMPRESSED");
    kvmig__str_set(&scene.request.compression, "xbzrle");
    assert_clean(scene_plan(&scene));
    kvmig__str_set(&scene.request.compression, "mt");
    scene.request.flags = KVMIG_PLAN_ALLOW_POSTCOPY;
    assert_conflict("POSTCOPY");
}

static void throttling_must_be_switched_on_to_be_tuned(void **state)
{
    (void)state;
    scene.request.auto_converge_initial = 30;
    assert_conflict("AUTO_CONVERGE");
    scene.request.flags = KVMIG_PLAN_AUTO_CONVERGE;
    assert_clean(scene_plan(&scene));
}

static void disks_are_not_named_when_none_is_copied(void **state)
{
    (void)state;
    kvmig__strlist_add(&scene.request.copy_disks, "vda");
    scene.request.copy = KVMIG_COPY_NONE;
    assert_conflict("migrate_disks");
}

static void values_out_of_range_are_named(void **state)
{
    const struct kvmig_finding *finding;

    (void)state;
    scene.request.max_downtime_ms = 2000001;
    finding = assert_finding(scene_plan(&scene), "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER);
    assert_detail(finding, "max_downtime_ms");
    assert_detail(finding, "2000001");
    scene.request.max_downtime_ms = 2000000;
    assert_clean(scene_plan(&scene));
    scene.request.parallel_connections = 256;
    assert_detail(assert_finding(scene_plan(&scene), "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER), "256");
    scene.request.parallel_connections = 255;
    assert_clean(scene_plan(&scene));
    scene.request.bandwidth_mib = UINT64_MAX;
    assert_detail(assert_finding(scene_plan(&scene), "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER), "bandwidth_mib");
}

static void compression_and_its_level_are_checked(void **state)
{
    (void)state;
    kvmig__str_set(&scene.request.compression, "lz77");
    assert_detail(assert_finding(scene_plan(&scene), "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER), "lz77");
    kvmig__str_set(&scene.request.compression, "xbzrle");
    scene.request.compression_level = 1;
    assert_finding(scene_plan(&scene), "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER);
    kvmig__str_set(&scene.request.compression, "zstd");
    scene.request.parallel_connections = 2;
    scene.request.compression_level = 21;
    assert_finding(scene_plan(&scene), "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER);
    scene.request.compression_level = 20;
    assert_clean(scene_plan(&scene));
    scene.request.compression_level = -1;
    assert_finding(scene_plan(&scene), "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER);
    kvmig__str_set(&scene.request.compression, NULL);
    assert_finding(scene_plan(&scene), "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER);
}

static void addresses_and_names_have_a_form(void **state)
{
    static const char *const good[] = { "tcp://beta", "tcp:beta:49152", "rdma://beta", "unix:///run/m.sock" };

    (void)state;
    scene_vm(&scene)->memory_hard_limit = true;
    kvmig__str_set(&scene.request.migrate_uri, "http://beta");
    assert_detail(assert_finding(scene_plan(&scene), "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER), "http://beta");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(good); i++) {
        kvmig__str_set(&scene.request.migrate_uri, good[i]);
        assert_clean(scene_plan(&scene));
    }
    kvmig__str_set(&scene.request.target_name, "a/b");
    assert_finding(scene_plan(&scene), "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER);
}

static void options_without_effect_are_told_and_harmless(void **state)
{
    (void)state;
    scene.request.postcopy_bandwidth_mib = 10;
    kvmig__str_set(&scene.request.tls_destination, "beta");
    kvmig__str_set(&scene.request.target_uri, "qemu+tls://beta/system");
    scene.request.flags = KVMIG_PLAN_MANAGED;
    assert_clean(scene_plan(&scene));
    assert_finding(scene.plan, "OPTION_WITHOUT_EFFECT", KVMIG_SEVERITY_INFO);
}

static void options_with_effect_are_not_told(void **state)
{
    (void)state;
    scene.request.flags = KVMIG_PLAN_TLS | KVMIG_PLAN_ALLOW_POSTCOPY;
    scene.request.postcopy_bandwidth_mib = 10;
    kvmig__str_set(&scene.request.tls_destination, "beta");
    kvmig__str_set(&scene.request.target_uri, "qemu+tls://beta/system");
    kvmig__str_set(&scene.request.target_pool, "images");
    assert_no_finding(scene_plan(&scene), "OPTION_WITHOUT_EFFECT");
    scene.request.copy = KVMIG_COPY_NONE;
    assert_detail(assert_finding(scene_plan(&scene), "OPTION_WITHOUT_EFFECT", KVMIG_SEVERITY_INFO), "target_pool");
    scene.request.copy = KVMIG_COPY_AUTO;
    kvmig__str_set(&scene.request.persistent_xml, "<domain/>");
    assert_no_finding(scene_plan(&scene), "OPTION_WITHOUT_EFFECT");
    scene_vm(&scene)->persistent = false;
    assert_detail(assert_finding(scene_plan(&scene), "OPTION_WITHOUT_EFFECT", KVMIG_SEVERITY_INFO), "persistent_xml");
}

static void features_that_a_host_lacks_are_dropped_with_a_warning(void **state)
{
    (void)state;
    kvmig__str_set(&scene.request.compression, "zstd");
    scene.request.parallel_connections = 2;
    scene_host(&scene, "beta")->libvirt_version = 9003000;
    scene_host(&scene, "alpha")->libvirt_version = 9003000;
    assert_detail(assert_finding(scene_plan(&scene), "FEATURE_DROPPED", KVMIG_SEVERITY_WARN), "9.3.0");
    assert_verdict(scene.plan, KVMIG_VERDICT_MIGRATABLE_WITH_RISK);
    kvmig__str_set(&scene.request.compression, "mt");
    scene.request.parallel_connections = 0;
    assert_no_finding(scene_plan(&scene), "FEATURE_DROPPED");
    scene_host(&scene, "beta")->qemu_version = 9001000;
    assert_finding(scene_plan(&scene), "FEATURE_DROPPED", KVMIG_SEVERITY_WARN);
}

static void parallel_post_copy_needs_new_qemu_on_both_hosts(void **state)
{
    (void)state;
    scene.request.flags = KVMIG_PLAN_ALLOW_POSTCOPY;
    scene.request.parallel_connections = 4;
    assert_detail(assert_finding(scene_plan(&scene), "FEATURE_DROPPED", KVMIG_SEVERITY_WARN), "7.2.0");
    scene_host(&scene, "alpha")->qemu_version = scene_host(&scene, "beta")->qemu_version = 10001000;
    assert_no_finding(scene_plan(&scene), "FEATURE_DROPPED");
}

static void a_paused_guest_is_not_post_copied(void **state)
{
    (void)state;
    scene_vm(&scene)->state = KVMIG__STATE_PAUSED;
    scene_vm(&scene)->reason = KVMIG__REASON_USER;
    scene.request.flags = KVMIG_PLAN_ALLOW_POSTCOPY;
    assert_detail(assert_finding(scene_plan(&scene), "FEATURE_DROPPED", KVMIG_SEVERITY_WARN), "post-copy");
}

static void a_source_daemon_cannot_dial_a_local_address(void **state)
{
    (void)state;
    kvmig__str_set(&scene_host(&scene, "beta")->uri, "qemu:///system");
    assert_detail(assert_finding(scene_plan(&scene), "TARGET_URI_LOCAL", KVMIG_SEVERITY_BLOCKER), "qemu:///system");
    scene.request.flags = KVMIG_PLAN_MANAGED;
    assert_clean(scene_plan(&scene));
    scene.request.flags = 0;
    kvmig__str_set(&scene.request.target_uri, "qemu+tcp://10.0.0.2/system");
    assert_clean(scene_plan(&scene));
}

static void the_fate_of_the_definition_is_told(void **state)
{
    (void)state;
    scene.request.flags = KVMIG_PLAN_TRANSIENT_TARGET;
    assert_finding(scene_plan(&scene), "DEFINITION_LOST", KVMIG_SEVERITY_WARN);
    scene.request.flags = KVMIG_PLAN_TRANSIENT_TARGET | KVMIG_PLAN_KEEP_SOURCE_DEFINITION;
    assert_clean(scene_plan(&scene));
    scene.request.flags = KVMIG_PLAN_KEEP_SOURCE_DEFINITION;
    assert_finding(scene_plan(&scene), "DEFINITION_ON_BOTH", KVMIG_SEVERITY_INFO);
    assert_clean(scene.plan);
    scene.request.flags = KVMIG_PLAN_TRANSIENT_TARGET;
    scene_vm(&scene)->persistent = false;
    assert_clean(scene_plan(&scene));
}

static void own_xml_for_the_target_is_not_guessed_at(void **state)
{
    (void)state;
    kvmig__str_set(&scene.request.target_xml, "<domain/>");
    assert_finding(scene_plan(&scene), "TARGET_XML_UNVERIFIED", KVMIG_SEVERITY_INFO);
    assert_finding(scene.plan, "PERSISTENT_XML_MISSING", KVMIG_SEVERITY_WARN);
    kvmig__str_set(&scene.request.persistent_xml, "<domain/>");
    scene_host(&scene, "beta")->networks.v[0].active = false;
    assert_clean(scene_plan(&scene)); /* the network may be another one in that XML */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_needs_a_vm),
        cmocka_unit_test(unknown_flags_and_enums_are_refused),
        cmocka_unit_test(options_are_initialised_at_run_time_as_by_the_macro),
        cmocka_unit_test(lists_and_strings_must_hold_something),
        cmocka_unit_test(what_is_told_for_the_forecast_is_checked),
        cmocka_unit_test(a_struct_of_the_future_is_refused_only_if_it_says_more),
        cmocka_unit_test(everything_is_copied),
        cmocka_unit_test_setup_teardown(post_copy_needs_consent, setup, teardown),
        cmocka_unit_test_setup_teardown(post_copy_excludes_the_strict_handover, setup, teardown),
        cmocka_unit_test_setup_teardown(compression_must_suit_the_connections, setup, teardown),
        cmocka_unit_test_setup_teardown(throttling_must_be_switched_on_to_be_tuned, setup, teardown),
        cmocka_unit_test_setup_teardown(disks_are_not_named_when_none_is_copied, setup, teardown),
        cmocka_unit_test_setup_teardown(values_out_of_range_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(compression_and_its_level_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(addresses_and_names_have_a_form, setup, teardown),
        cmocka_unit_test_setup_teardown(options_without_effect_are_told_and_harmless, setup, teardown),
        cmocka_unit_test_setup_teardown(options_with_effect_are_not_told, setup, teardown),
        cmocka_unit_test_setup_teardown(features_that_a_host_lacks_are_dropped_with_a_warning, setup, teardown),
        cmocka_unit_test_setup_teardown(parallel_post_copy_needs_new_qemu_on_both_hosts, setup, teardown),
        cmocka_unit_test_setup_teardown(a_paused_guest_is_not_post_copied, setup, teardown),
        cmocka_unit_test_setup_teardown(a_source_daemon_cannot_dial_a_local_address, setup, teardown),
        cmocka_unit_test_setup_teardown(the_fate_of_the_definition_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(own_xml_for_the_target_is_not_guessed_at, setup, teardown),
    };

    return !!cmocka_run_group_tests_name("plan request", tests, NULL, NULL);
}
