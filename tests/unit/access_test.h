/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the access share: a folder of their own with files in it, loading, and what errors say.
 */
#ifndef KVMIG_TESTS_ACCESS_TEST_H
#define KVMIG_TESTS_ACCESS_TEST_H

#include "kubernetes/access_internal.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST_CERT "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
#define TEST_KEY "-----BEGIN PRIVATE KEY-----\nBBBB\n-----END PRIVATE KEY-----\n"
#define TEST_CERT_BASE64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
#define TEST_KEY_BASE64 "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCkJCQkIKLS0tLS1FTkQgUFJJVkFURSBLRVktLS0tLQo="
#define TEST_SECRET "s3cr3t" /* part of every secret of the tests: no error may have it */

static char *test_dir;

static inline int test_remove(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

static inline int test_dir_make(void **state)
{
    const char *parent = getenv("TMPDIR");
    char *path = kvmig__asprintf("%s/kvmig-access-XXXXXX", parent ? parent : "/tmp");

    (void)state;
    unsetenv("KUBECONFIG");
    test_dir = mkdtemp(path);
    return test_dir ? 0 : -1;
}

static inline int test_dir_drop(void **state)
{
    (void)state;
    nftw(test_dir, test_remove, 8, FTW_DEPTH | FTW_PHYS);
    free(test_dir);
    test_dir = NULL;
    return 0;
}

/* Owned. */
static inline char *test_path(const char *name)
{
    return kvmig__path_in(test_dir, name);
}

static inline void test_write(const char *name, const char *text)
{
    char *path = test_path(name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
    free(path);
}

static inline void test_mkdir(const char *name)
{
    char *path = test_path(name);

    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
}

/* A kubeconfig with one context, whose cluster and user are these members, in flow style. */
static inline void test_write_config(const char *name, const char *cluster, const char *user)
{
    char *text = kvmig__asprintf("apiVersion: v1\nkind: Config\ncurrent-context: lab\n"
                                 "contexts:\n- {name: lab, context: {cluster: c, user: u, namespace: vms}}\n"
                                 "clusters:\n- {name: c, cluster: {%s}}\nusers:\n- {name: u, user: {%s}}\n",
                                 cluster, user);

    test_write(name, text);
    free(text);
}

/* Of the kubeconfig of that name in the folder. */
static inline struct kvmig__access_source *test_source(struct kvmig_kube_opts *opts, const char *kubeconfig)
{
    struct kvmig__access_source *source = NULL;
    char *path = kubeconfig ? test_path(kubeconfig) : NULL;

    opts->kubeconfig = path;
    if (kvmig__access_source_new(opts, "test", &source) < 0)
        fail_msg("%s: %s", kvmig_error_where(kvmig_error_last()), kvmig_error_message(kvmig_error_last()));
    free(path);
    return source;
}

static inline struct kvmig__access *test_load(struct kvmig__access_source *source, int64_t timeout_ms)
{
    struct kvmig_error *error = NULL;
    struct kvmig__access *access = kvmig__access_load(source, timeout_ms, &error);

    if (error)
        fail_msg("%s: %s (%s)", error->where, error->message, error->evidence ? error->evidence : "");
    assert_non_null(access);
    return access;
}

/* No secret, a place, and what to do. */
static inline void test_check_error(struct kvmig_error *error, int32_t code, const char *where, const char *message)
{
    assert_non_null(error);
    if (error->code != -code || !strstr(error->where, where) || !strstr(error->message, message))
        fail_msg("%d %s: %s, not %d %s: %s", error->code, error->where, error->message, -code, where, message);
    assert_non_null(error->hint);
    assert_null(strstr(error->message, TEST_SECRET));
    assert_null(strstr(error->where, TEST_SECRET));
    assert_null(strstr(error->hint, TEST_SECRET));
    assert_true(!error->evidence || !strstr(error->evidence, TEST_SECRET));
    kvmig__error_free(error);
}

static inline void test_load_fails(struct kvmig__access_source *source, int64_t timeout_ms, int32_t code,
                                   const char *where, const char *message)
{
    struct kvmig_error *error = NULL;

    assert_null(kvmig__access_load(source, timeout_ms, &error));
    test_check_error(error, code, where, message);
}

static inline void test_check_blob(const struct kvmig__blob *blob, const char *text)
{
    assert_non_null(blob->data);
    assert_int_equal(blob->length, strlen(text));
    assert_memory_equal(blob->data, text, blob->length);
}

/* Compares with a path in the folder. */
static inline void test_check_path(const char *path, const char *name)
{
    char *wanted = test_path(name);

    assert_non_null(path);
    assert_string_equal(path, wanted);
    free(wanted);
}

#endif
