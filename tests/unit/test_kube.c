/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The store of Kubernetes objects: kinds, order, replacing, removing, freeing of every kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster/kube.h"

#include <stdlib.h>

static struct kvmig__kube_meta *object(int32_t kind, const char *ns, const char *name, const char *uid)
{
    struct kvmig__kube_meta *meta = kvmig__kube_object_new(kind);

    meta->ns = kvmig__strdup(ns);
    meta->name = kvmig__strdup(name);
    meta->uid = kvmig__strdup(uid);
    return meta;
}

static void every_kind_is_told_by_its_group_and_name(void **state)
{
    (void)state;
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++) {
        const struct kvmig__kube_kind_info *info = kvmig__kube_kind_info(kind);

        assert_int_equal(kvmig__kube_kind_of(info->api_version, info->kind), kind);
        assert_int_equal(kvmig__kube_kind_of(NULL, info->kind), kind);
        assert_int_equal(kvmig__kube_kind_of("example.com/v1", info->kind), -1);
    }
    assert_int_equal(kvmig__kube_kind_of("kubevirt.io/v1alpha3", "VirtualMachineInstance"), KVMIG__KUBE_VMI);
    assert_int_equal(kvmig__kube_kind_of("v1", "VirtualMachineInstance"), -1);
    assert_int_equal(kvmig__kube_kind_of("kubevirt.io/v1", "Pod"), -1);
    assert_int_equal(kvmig__kube_kind_of("v1", "Secret"), -1);
    assert_int_equal(kvmig__kube_kind_of("v1", NULL), -1);
    assert_null(kvmig__kube_kind_info(-1));
    assert_null(kvmig__kube_kind_info(KVMIG__N_KUBE_KINDS));
}

static void objects_of_every_kind_are_made_and_freed(void **state)
{
    (void)state;
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++) {
        struct kvmig__kube_meta *meta = kvmig__kube_object_new(kind);

        assert_int_equal(meta->kind, kind);
        kvmig__kube_object_free(meta);
    }
    assert_null(kvmig__kube_object_new(KVMIG__N_KUBE_KINDS));
    kvmig__kube_object_free(NULL);
}

static void a_list_is_sorted_by_namespace_and_name(void **state)
{
    static const char *const in[][2] = { { "b", "a" }, { "a", "z" }, { "a", "b" }, { "c", "" }, { "a", "c" } };
    static const char *const out[] = { "b", "c", "z", "a", "" };
    struct kvmig__kube kube = { 0 };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(in); i++)
        kvmig__kube_put(&kube, object(KVMIG__KUBE_POD, in[i][0], in[i][1], NULL));
    assert_int_equal(kube.kinds[KVMIG__KUBE_POD].n, KVMIG__N_ELEMENTS(out));
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(out); i++)
        assert_string_equal(kube.kinds[KVMIG__KUBE_POD].v[i]->name, out[i]);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(in); i++)
        assert_non_null(kvmig__kube_find(&kube, KVMIG__KUBE_POD, in[i][0], in[i][1]));
    assert_null(kvmig__kube_find(&kube, KVMIG__KUBE_POD, "a", "a"));
    assert_null(kvmig__kube_find(&kube, KVMIG__KUBE_POD, "a", NULL));
    assert_null(kvmig__kube_find(&kube, KVMIG__KUBE_VMI, "a", "b"));
    kvmig__kube_clear(&kube);
}

static void put_replaces_the_object_of_the_same_name(void **state)
{
    struct kvmig__kube kube = { 0 };

    (void)state;
    kvmig__kube_put(&kube, object(KVMIG__KUBE_VMIM, "ns", "m", "one"));
    kvmig__kube_put(&kube, object(KVMIG__KUBE_VMIM, "ns", "m", "two"));
    assert_int_equal(kube.kinds[KVMIG__KUBE_VMIM].n, 1);
    assert_string_equal(kvmig__kube_find(&kube, KVMIG__KUBE_VMIM, "ns", "m")->uid, "two");
    assert_null(kvmig__kube_find_uid(&kube, KVMIG__KUBE_VMIM, "one"));
    assert_non_null(kvmig__kube_find_uid(&kube, KVMIG__KUBE_VMIM, "two"));
    assert_null(kvmig__kube_find_uid(&kube, KVMIG__KUBE_VMIM, NULL));
    kvmig__kube_clear(&kube);
}

static void a_late_deletion_leaves_what_was_made_anew(void **state)
{
    struct kvmig__kube kube = { 0 };

    (void)state;
    kvmig__kube_put(&kube, object(KVMIG__KUBE_POD, "ns", "a", "new"));
    kvmig__kube_put(&kube, object(KVMIG__KUBE_POD, "ns", "b", "other"));
    assert_false(kvmig__kube_remove(&kube, KVMIG__KUBE_POD, "ns", "a", "old"));
    assert_true(kvmig__kube_remove(&kube, KVMIG__KUBE_POD, "ns", "a", "new"));
    assert_false(kvmig__kube_remove(&kube, KVMIG__KUBE_POD, "ns", "a", NULL));
    assert_true(kvmig__kube_remove(&kube, KVMIG__KUBE_POD, "ns", "b", NULL));
    assert_int_equal(kube.kinds[KVMIG__KUBE_POD].n, 0);
    kvmig__kube_clear(&kube);
}

static void a_cluster_scoped_object_is_found_whatever_namespace_is_asked(void **state)
{
    struct kvmig__kube kube = { 0 };

    (void)state;
    kvmig__kube_put(&kube, object(KVMIG__KUBE_NODE, NULL, "n", NULL));
    assert_non_null(KVMIG__KUBE_FIND(&kube, NODE, NULL, "n"));
    assert_non_null(KVMIG__KUBE_FIND(&kube, NODE, "ns", "n"));
    kvmig__kube_clear(&kube);
}

static void putting_an_object_says_nothing_about_its_kind(void **state)
{
    struct kvmig__kube kube = { 0 };

    (void)state;
    kvmig__kube_put(&kube, object(KVMIG__KUBE_NODE, NULL, "n", NULL));
    assert_false(kvmig__kube_is_known(&kube, KVMIG__KUBE_NODE));
    kube.kinds[KVMIG__KUBE_NODE].known = KVMIG__KUBE_FORBIDDEN;
    assert_false(kvmig__kube_is_known(&kube, KVMIG__KUBE_NODE));
    kube.kinds[KVMIG__KUBE_NODE].known = KVMIG__KUBE_KNOWN;
    assert_true(kvmig__kube_is_known(&kube, KVMIG__KUBE_NODE));
    assert_false(kvmig__kube_is_known(&kube, -1));
    kvmig__kube_clear(&kube);
    assert_false(kvmig__kube_is_known(&kube, KVMIG__KUBE_NODE));
    kvmig__kube_clear(&kube);
    kvmig__kube_clear(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_told_by_its_group_and_name),
        cmocka_unit_test(objects_of_every_kind_are_made_and_freed),
        cmocka_unit_test(a_list_is_sorted_by_namespace_and_name),
        cmocka_unit_test(put_replaces_the_object_of_the_same_name),
        cmocka_unit_test(a_late_deletion_leaves_what_was_made_anew),
        cmocka_unit_test(a_cluster_scoped_object_is_found_whatever_namespace_is_asked),
        cmocka_unit_test(putting_an_object_says_nothing_about_its_kind),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
