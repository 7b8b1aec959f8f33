/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Feature gates: what is left of a request between given versions, and what is said of the rest.
 */
#include "plan/features.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct kvmig__virt_versions same_old = { 9000000, 9000000, 9000000, 7002000, 7002000, false };
static const struct kvmig__virt_versions same_new = { 12000000, 12000000, 12000000, 10001000, 10001000, false };

struct gated {
    uint32_t features;
    int32_t status;
    struct kvmig_findings dropped;
    struct kvmig_error *error;
};

static struct gated gate(uint32_t wanted, bool guest_paused, const struct kvmig__virt_versions *versions)
{
    struct gated g = { .features = 0 };
    g.status = kvmig__features_gate(wanted, guest_paused, versions, &g.dropped, &g.features, &g.error);
    return g;
}

static void clear(struct gated *g)
{
    kvmig__findings_clear(&g->dropped);
    kvmig__error_free(g->error);
}

static void assert_dropped(const struct gated *g, const char *name, const char *reason)
{
    for (size_t i = 0; i < g->dropped.n; i++) {
        if (strstr(g->dropped.v[i].message, name) && strstr(g->dropped.v[i].message, reason)) {
            assert_string_equal(g->dropped.v[i].code, "FEATURE_DROPPED");
            assert_non_null(g->dropped.v[i].detail);
            return;
        }
    }
    fail_msg("no finding says that %s was dropped because of %s", name, reason);
}

static void what_all_sides_can_do_is_kept_and_nothing_is_said(void **state)
{
    const uint32_t wanted = KVMIG__FEATURE_PARALLEL | KVMIG__FEATURE_AUTO_CONVERGE |
                            KVMIG__FEATURE_AUTO_CONVERGE_TUNING | KVMIG__FEATURE_TLS | KVMIG__FEATURE_TLS_DESTINATION |
                            KVMIG__FEATURE_DISK_LIST | KVMIG__FEATURE_STRICT;
    (void)state;
    struct gated g = gate(wanted, false, &same_old);
    assert_int_equal(g.status, 0);
    assert_int_equal(g.features, wanted);
    assert_int_equal(g.dropped.n, 0);
    clear(&g);
}

static void zstd_needs_a_newer_libvirt_on_the_oldest_side(void **state)
{
    const struct kvmig__virt_versions target_old = { 9004000, 9004000, 9000000, 8000000, 8000000, false };
    const uint32_t wanted = KVMIG__FEATURE_PARALLEL | KVMIG__FEATURE_ZSTD;
    (void)state;
    struct gated g = gate(wanted, false, &target_old);
    assert_int_equal(g.features, KVMIG__FEATURE_PARALLEL);
    assert_dropped(&g, "zstd", "libvirt on the target is 9.0.0");
    clear(&g);
    g = gate(wanted, false, &same_new);
    assert_int_equal(g.features, wanted);
    assert_int_equal(g.dropped.n, 0);
    clear(&g);
}

static void a_removed_qemu_feature_is_dropped(void **state)
{
    const struct kvmig__virt_versions qemu_91 = { 10000000, 10000000, 10000000, 9000000, 9001000, false };
    (void)state;
    struct gated g = gate(KVMIG__FEATURE_MT, false, &qemu_91);
    assert_int_equal(g.features, 0);
    assert_dropped(&g, "multi-thread compression", "QEMU on the target is 9.1.0, and it went away with 9.1.0");
    clear(&g);
}

static void encryption_is_refused_and_never_dropped(void **state)
{
    const struct kvmig__virt_versions old_source = { 9000000, 3001000, 9000000, 2009000, 2009000, false };
    (void)state;
    struct gated g = gate(KVMIG__FEATURE_TLS, false, &old_source);
    assert_int_equal(g.status, -EOPNOTSUPP);
    assert_int_equal(g.features, 0);
    assert_non_null(strstr(g.error->message, "encryption"));
    assert_non_null(strstr(g.error->evidence, "libvirt on the source is 3.1.0"));
    assert_int_equal(g.dropped.n, 0);
    clear(&g);
}

static void an_unknown_version_is_given_the_benefit_of_the_doubt(void **state)
{
    const struct kvmig__virt_versions unknown = { 9004000, 9004000, 9004000, 0, 0, false };
    (void)state;
    struct gated g = gate(KVMIG__FEATURE_PARALLEL | KVMIG__FEATURE_ZLIB, false, &unknown);
    assert_int_equal(g.features, KVMIG__FEATURE_PARALLEL | KVMIG__FEATURE_ZLIB);
    clear(&g);
}

static void postcopy_wins_over_parallel_connections_on_old_qemu(void **state)
{
    const uint32_t wanted = KVMIG__FEATURE_POSTCOPY | KVMIG__FEATURE_PARALLEL;
    (void)state;
    struct gated g = gate(wanted, false, &same_old);
    assert_int_equal(g.features, KVMIG__FEATURE_POSTCOPY);
    assert_dropped(&g, "parallel connections", "post-copy");
    clear(&g);
    g = gate(wanted, false, &same_new);
    assert_int_equal(g.features, wanted);
    clear(&g);
}

static void what_rested_on_a_dropped_feature_is_dropped_with_it(void **state)
{
    const struct kvmig__virt_versions old_qemu = { 9004000, 9004000, 9004000, 7002000, 7002000, false };
    (void)state;
    struct gated g = gate(KVMIG__FEATURE_POSTCOPY | KVMIG__FEATURE_PARALLEL | KVMIG__FEATURE_ZSTD, false, &old_qemu);
    assert_int_equal(g.features, KVMIG__FEATURE_POSTCOPY);
    assert_int_equal(g.dropped.n, 2);
    assert_dropped(&g, "zstd", "parallel connections");
    clear(&g);
}

static void strict_handover_wins_over_postcopy(void **state)
{
    (void)state;
    struct gated g =
        gate(KVMIG__FEATURE_STRICT | KVMIG__FEATURE_POSTCOPY | KVMIG__FEATURE_POSTCOPY_BANDWIDTH, false, &same_old);
    assert_int_equal(g.features, KVMIG__FEATURE_STRICT);
    assert_int_equal(g.dropped.n, 2);
    clear(&g);
}

static void a_paused_guest_is_not_migrated_with_postcopy(void **state)
{
    (void)state;
    struct gated g = gate(KVMIG__FEATURE_POSTCOPY, true, &same_new);
    assert_int_equal(g.features, 0);
    assert_dropped(&g, "post-copy", "paused");
    clear(&g);
}

static void compressions_of_one_stream_do_not_go_with_parallel_connections(void **state)
{
    (void)state;
    struct gated g = gate(KVMIG__FEATURE_PARALLEL | KVMIG__FEATURE_XBZRLE, false, &same_old);
    assert_int_equal(g.features, KVMIG__FEATURE_PARALLEL);
    assert_dropped(&g, "xbzrle", "parallel connections");
    clear(&g);
    g = gate(KVMIG__FEATURE_ZLIB, false, &same_new);
    assert_int_equal(g.features, 0);
    assert_dropped(&g, "zlib", "parallel connections only");
    clear(&g);
}

static void a_plan_is_translated_into_what_it_wants(void **state)
{
    struct kvmig__disk_plan disk = { .target = "vda", .method = KVMIG_DISK_COPY_FULL };
    struct kvmig_plan plan = { .request = { .flags = KVMIG_PLAN_ALLOW_POSTCOPY | KVMIG_PLAN_TLS,
                                            .handover = KVMIG_HANDOVER_STRICT,
                                            .compression = "zstd",
                                            .parallel_connections = 4,
                                            .postcopy_bandwidth_mib = 10 } };
    (void)state;
    plan.disks.v = &disk;
    plan.disks.n = 1;
    assert_int_equal(kvmig__features_wanted(&plan, false),
                     KVMIG__FEATURE_POSTCOPY | KVMIG__FEATURE_TLS | KVMIG__FEATURE_STRICT | KVMIG__FEATURE_ZSTD |
                         KVMIG__FEATURE_PARALLEL | KVMIG__FEATURE_POSTCOPY_BANDWIDTH | KVMIG__FEATURE_DISK_LIST);
    disk.method = KVMIG_DISK_SHARED;
    plan.request.parallel_connections = 1;
    assert_false(kvmig__features_wanted(&plan, false) & (KVMIG__FEATURE_DISK_LIST | KVMIG__FEATURE_PARALLEL));
    assert_false(kvmig__features_wanted(&plan, true) & KVMIG__FEATURE_STRICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_all_sides_can_do_is_kept_and_nothing_is_said),
        cmocka_unit_test(zstd_needs_a_newer_libvirt_on_the_oldest_side),
        cmocka_unit_test(a_removed_qemu_feature_is_dropped),
        cmocka_unit_test(encryption_is_refused_and_never_dropped),
        cmocka_unit_test(an_unknown_version_is_given_the_benefit_of_the_doubt),
        cmocka_unit_test(postcopy_wins_over_parallel_connections_on_old_qemu),
        cmocka_unit_test(what_rested_on_a_dropped_feature_is_dropped_with_it),
        cmocka_unit_test(strict_handover_wins_over_postcopy),
        cmocka_unit_test(a_paused_guest_is_not_migrated_with_postcopy),
        cmocka_unit_test(compressions_of_one_stream_do_not_go_with_parallel_connections),
        cmocka_unit_test(a_plan_is_translated_into_what_it_wants),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
