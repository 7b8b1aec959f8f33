/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Forecasts for KubeVirt's VMs: its limits of bandwidth and of time, what it does at the limit, what it allows.
 */
#include "kube_fixture.h"

#define MIB ((uint64_t)1 << 20)

/* A quiet guest of 8 GiB, all in use: at 6.25 MiB/s it takes 1311 s, at 6 MiB/s 1365 s. The limit of 150 s per GB is 1350 s. */
static struct kvmig__kube_kubevirt *scene(struct cluster *c, uint64_t bandwidth)
{
    struct kvmig__kube_kubevirt *kubevirt;

    cluster_init(c);
    kubevirt = cluster_add_kubevirt(c, "v1.6.0");
    cluster_vm(c)->domain.memory = 8 * GIB;
    kubevirt->config.bandwidth = bandwidth;
    kubevirt->config.completion_s_per_gb = 150;
    c->request.forecast.used = 8 * GIB;
    c->request.forecast.dirty[0] = (struct kvmig_dirty_sample){ 1000, 1000 };
    c->request.forecast.n_dirty = 1;
    return kubevirt;
}

static struct kvmig_forecast pre_copy(struct cluster *c)
{
    struct kvmig_forecast f = KVMIG_FORECAST_INIT;

    assert_int_equal(kvmig_plan_forecast(cluster_plan(c), KVMIG_STRATEGY_PRE_COPY, &f), 0);
    return f;
}

static void the_limit_is_counted_in_decimal_gigabytes(void **state)
{
    struct cluster c;

    (void)state;
    scene(&c, 6 * MIB + MIB / 4);
    assert_int_equal(pre_copy(&c).limit_ms, 1350000);
    assert_int_equal(pre_copy(&c).over_limit, 0);
    assert_nothing(&c, "COMPLETION_LIMIT_LIKELY");
    cluster_clear(&c);
    scene(&c, 6 * MIB);
    assert_int_equal(pre_copy(&c).over_limit, 1);
    assert_vm_has(&c, "COMPLETION_LIMIT_LIKELY", KVMIG_SEVERITY_WARN, "\"limit_ms\": 1350000");
    cluster_clear(&c);
}

static void at_the_limit_it_does_what_is_allowed(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    kubevirt = scene(&c, 6 * MIB);
    assert_int_equal(pre_copy(&c).limit_action, KVMIG_LIMIT_ABORT);
    kubevirt->config.workload_disruption = 1;
    assert_int_equal(pre_copy(&c).limit_action, KVMIG_LIMIT_PAUSE);
    kubevirt->config.post_copy = 1;
    c.request.flags |= KVMIG_PLAN_ALLOW_POSTCOPY;
    assert_int_equal(pre_copy(&c).limit_action, KVMIG_LIMIT_POST_COPY);
    cluster_clear(&c);
}

static void no_limit_is_none(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    kubevirt = scene(&c, MIB);
    kubevirt->config.completion_s_per_gb = 0;
    assert_int_equal(pre_copy(&c).limit_ms, 0);
    assert_nothing(&c, "COMPLETION_LIMIT_LIKELY");
    cluster_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_is_counted_in_decimal_gigabytes),
        cmocka_unit_test(at_the_limit_it_does_what_is_allowed),
        cmocka_unit_test(no_limit_is_none),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
