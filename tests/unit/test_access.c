/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Options that say how to reach an API server: what is refused, what wins, token callbacks, and a pod's service account.
 */
#include "access_test.h"

#define TIMEOUT_MS 1000 /* nothing here runs a plugin */
#define SERVER "server: 'https://api.example:6443'"

static struct kvmig_kube_opts defaults(void)
{
    return (struct kvmig_kube_opts)KVMIG_KUBE_OPTS_INIT;
}

static struct kvmig__access *load_opts(struct kvmig_kube_opts *opts, const char *kubeconfig)
{
    struct kvmig__access_source *source = test_source(opts, kubeconfig);
    struct kvmig__access *access = test_load(source, TIMEOUT_MS);

    kvmig__access_source_unref(source);
    return access;
}

static void opts_fail(struct kvmig_kube_opts opts, int32_t code, const char *where)
{
    struct kvmig__access_source *source = NULL;

    assert_int_equal(kvmig__access_source_new(&opts, "test", &source), -code);
    assert_null(source);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), where);
    assert_null(strstr(kvmig_error_message(kvmig_error_last()), TEST_SECRET));
    assert_null(strstr(kvmig_error_evidence(kvmig_error_last()), TEST_SECRET));
    assert_true(*kvmig_error_hint(kvmig_error_last()));
}

#define OPTS_FAIL(code, where, ...)                                                                                    \
    opts_fail((struct kvmig_kube_opts){ .size = sizeof(struct kvmig_kube_opts), __VA_ARGS__ }, code, where)

/* ---- options ---- */

static void the_options_have_an_initialiser(void **state)
{
    struct kvmig_kube_opts opts;

    (void)state;
    memset(&opts, 0xFF, sizeof(opts));
    assert_int_equal(kvmig_kube_opts_init(&opts, sizeof(opts)), 0);
    assert_int_equal(opts.size, sizeof(opts));
    assert_null(opts.kubeconfig);
    assert_int_equal(opts.watch_idle_ms, 0);
    assert_int_equal(kvmig_kube_opts_init(NULL, sizeof(opts)), -EINVAL);
    assert_int_equal(kvmig_kube_opts_init(&opts, 1), -EINVAL);
}

static void bad_options_are_named(void **state)
{
    (void)state;
    OPTS_FAIL(EINVAL, "test.kubeconfig", .kubeconfig = "");
    OPTS_FAIL(EINVAL, "test.token", .token = "");
    OPTS_FAIL(EINVAL, "test.token", .token = TEST_SECRET "\r\nX: y");
    OPTS_FAIL(EINVAL, "test.flags", .flags = 1 << 20);
    OPTS_FAIL(EINVAL, "test.reserved", .reserved = 1);
    OPTS_FAIL(EINVAL, "test.page_size", .page_size = UINT32_MAX);
    OPTS_FAIL(EINVAL, "test.request_timeout_ms", .request_timeout_ms = UINT32_MAX);
    OPTS_FAIL(EINVAL, "test.watch_idle_ms", .watch_idle_ms = UINT32_MAX);
    OPTS_FAIL(EINVAL, "test.server", .server = "ftp://h");
    OPTS_FAIL(EINVAL, "test.server", .server = "https://joe:" TEST_SECRET "@h");
    OPTS_FAIL(EINVAL, "test.proxy_url", .proxy_url = "gopher://joe:" TEST_SECRET "@h");
    OPTS_FAIL(EINVAL, "test.tls_server_name", .tls_server_name = "a\nb");
    OPTS_FAIL(EINVAL, "test.client_key_file", .client_cert_file = "c");
    OPTS_FAIL(EINVAL, "test.client_cert_file", .client_key_file = "k");
    OPTS_FAIL(EINVAL, "test.namespace_", .namespace_ = "a/b");
    OPTS_FAIL(EINVAL, "test.namespace_", .namespace_ = "-a");
    OPTS_FAIL(EINVAL, "test.namespace_", .namespace_ = "a.b");
    OPTS_FAIL(EINVAL, "test.vm", .vm = "a/b/c");
    OPTS_FAIL(EINVAL, "test.vm", .vm = "/b");
    OPTS_FAIL(EINVAL, "test.vm", .vm = "a/");
    OPTS_FAIL(EINVAL, "test.vm", .vm = "a/..");
    OPTS_FAIL(EINVAL, "test.vm", .vm = "a/b?x=y");
    OPTS_FAIL(EINVAL, "test.vm", .vm = "a/Vm");
}

static void options_that_exclude_each_other_are_named(void **state)
{
    (void)state;
    OPTS_FAIL(KVMIG_ECONFLICT, "test.server", .server = "https://h", .flags = KVMIG_KUBE_IN_CLUSTER);
    OPTS_FAIL(KVMIG_ECONFLICT, "test.kubeconfig", .kubeconfig = "k", .flags = KVMIG_KUBE_IN_CLUSTER);
    OPTS_FAIL(KVMIG_ECONFLICT, "test.kubeconfig", .kubeconfig = "k", .server = "https://h");
    OPTS_FAIL(KVMIG_ECONFLICT, "test.context", .context = "c", .server = "https://h");
    OPTS_FAIL(KVMIG_ECONFLICT, "test.ca_file", .ca_file = "c", .flags = KVMIG_KUBE_INSECURE);
    OPTS_FAIL(KVMIG_ECONFLICT, "test.token", .token = "t", .token_file = "f");
    OPTS_FAIL(KVMIG_ECONFLICT, "test.vm", .vm = "a/b", .namespace_ = "c");
}

static void names_of_vms_are_taken_as_kubernetes_has_them(void **state)
{
    static const char *const names[] = { "vm", "a/vm", "a/vm-1.example", "1/2" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(names); i++) {
        struct kvmig_kube_opts opts = defaults();

        opts.vm = names[i];
        kvmig__access_source_unref(test_source(&opts, NULL));
    }
}

static void a_newer_callers_options_are_refused(void **state)
{
    struct {
        struct kvmig_kube_opts opts;
        uint64_t more;
    } newer = { .opts = { .size = sizeof(newer) }, .more = 1 };
    struct kvmig__access_source *source = NULL;

    (void)state;
    assert_int_equal(kvmig__access_source_new(&newer.opts, "test", &source), -E2BIG);
    newer.more = 0;
    assert_int_equal(kvmig__access_source_new(&newer.opts, "test", &source), 0);
    kvmig__access_source_unref(source);
}

/* ---- what wins ---- */

static void with_a_server_no_kubeconfig_is_read(void **state)
{
    struct kvmig_kube_opts opts = defaults();
    struct kvmig__access *access;
    char *path = test_path("broken");

    (void)state;
    test_write("broken", "a: [");
    setenv("KUBECONFIG", path, 1);
    opts.server = "https://other:6443/";
    opts.token = "t";
    opts.flags = KVMIG_KUBE_INSECURE;
    opts.tls_server_name = "kubernetes";
    opts.proxy_url = "http://joe:s3cr3t@proxy:3128";
    access = load_opts(&opts, NULL);
    assert_string_equal(access->server, "https://other:6443");
    assert_string_equal(access->token, "t");
    assert_string_equal(access->tls_server_name, "kubernetes");
    assert_string_equal(access->proxy_url, "http://joe:s3cr3t@proxy:3128");
    assert_true(access->insecure);
    assert_null(access->context);
    kvmig__access_free(access);
    unsetenv("KUBECONFIG");
    free(path);
}

static void options_win_over_the_kubeconfig(void **state)
{
    struct kvmig_kube_opts opts = defaults();
    struct kvmig__access *access;
    char *ca = test_path("ca.pem");

    (void)state;
    test_write("ca.pem", TEST_CERT);
    test_write_config("config", SERVER ", certificate-authority: nowhere, tls-server-name: a, proxy-url: 'http://a'",
                      "token: a");
    opts.ca_file = ca;
    opts.tls_server_name = "b";
    opts.proxy_url = "http://b";
    opts.token = "b";
    access = load_opts(&opts, "config");
    test_check_path(access->ca_file, "ca.pem");
    assert_string_equal(access->tls_server_name, "b");
    assert_string_equal(access->proxy_url, "http://b");
    assert_string_equal(access->token, "b");
    assert_string_equal(access->server, "https://api.example:6443");
    assert_string_equal(access->ns, "vms");
    kvmig__access_free(access);
    opts = defaults();
    opts.flags = KVMIG_KUBE_INSECURE;
    access = load_opts(&opts, "config");
    assert_true(access->insecure);
    assert_null(access->ca_file);
    kvmig__access_free(access);
    opts = defaults();
    opts.ca_file = ca;
    test_write_config("config", SERVER ", insecure-skip-tls-verify: true", "token: a");
    access = load_opts(&opts, "config");
    assert_false(access->insecure);
    kvmig__access_free(access);
    free(ca);
}

static void an_identity_of_the_options_takes_the_place_of_the_users(void **state)
{
    struct kvmig_kube_opts opts = defaults();
    struct kvmig__access *access;
    char *cert = test_path("cert.pem"), *key = test_path("key.pem"), *token = test_path("token");

    (void)state;
    test_write("cert.pem", TEST_CERT);
    test_write("key.pem", TEST_KEY);
    test_write("token", "file\n");
    /* Nothing of these is looked at, and no plugin runs. */
    test_write_config("config", SERVER,
                      "as: jane, client-certificate: nowhere, username: x, password: y, auth-provider: {name: z}, "
                      "exec: {command: nowhere}");
    opts.token = "t";
    access = load_opts(&opts, "config");
    assert_string_equal(access->token, "t");
    assert_string_equal(access->impersonate, "jane");
    assert_null(access->cert_file);
    assert_null(access->basic_user);
    assert_false(access->has_plugin);
    kvmig__access_free(access);
    opts = defaults();
    opts.client_cert_file = cert;
    opts.client_key_file = key;
    opts.token_file = token;
    access = load_opts(&opts, "config");
    test_check_path(access->cert_file, "cert.pem");
    test_check_path(access->key_file, "key.pem");
    test_check_path(access->token_file, "token");
    assert_string_equal(access->token, "file");
    kvmig__access_free(access);
    free(cert);
    free(key);
    free(token);
}

static void files_of_the_options_must_be_there(void **state)
{
    struct kvmig_kube_opts opts = defaults();
    struct kvmig__access_source *source;

    (void)state;
    opts.server = "https://h";
    opts.ca_file = "/nowhere/ca.pem";
    source = test_source(&opts, NULL);
    test_load_fails(source, TIMEOUT_MS, ENOENT, "ca_file", "/nowhere/ca.pem");
    kvmig__access_source_unref(source);
    opts.ca_file = NULL;
    opts.token_file = "/nowhere/token";
    source = test_source(&opts, NULL);
    test_load_fails(source, TIMEOUT_MS, ENOENT, "token_file", "/nowhere/token");
    kvmig__access_source_unref(source);
    opts.token_file = NULL;
    opts.client_cert_file = opts.client_key_file = "/nowhere/pem";
    source = test_source(&opts, NULL);
    test_load_fails(source, TIMEOUT_MS, ENOENT, "client_cert_file", "/nowhere/pem");
    kvmig__access_source_unref(source);
}

/* ---- token callbacks ---- */

struct teller {
    unsigned asked, freed;
    const char *token;
};

static char *tell(void *user_data)
{
    struct teller *teller = user_data;

    teller->asked++;
    return kvmig__strdup(teller->token);
}

static void free_teller(void *user_data)
{
    ((struct teller *)user_data)->freed++;
}

static void a_callback_gives_tokens_whenever_one_is_needed(void **state)
{
    struct teller teller = { .token = "one" };
    struct kvmig_kube_opts opts = defaults();
    struct kvmig__access_source *source;
    struct kvmig__access *access;
    struct kvmig_error *error = NULL;

    (void)state;
    opts.server = "https://h";
    opts.token = "unused";
    opts.on_token = (struct kvmig_token_callback){ tell, &teller, free_teller };
    source = test_source(&opts, NULL);
    assert_int_equal(teller.asked, 0);
    access = test_load(source, TIMEOUT_MS);
    assert_string_equal(access->token, "one");
    kvmig__access_free(access);
    teller.token = "two";
    access = kvmig__access_renew(source, TIMEOUT_MS, &error);
    assert_string_equal(access->token, "two");
    kvmig__access_free(access);
    teller.token = NULL;
    test_load_fails(source, TIMEOUT_MS, EACCES, "on_token", "has no token");
    teller.token = TEST_SECRET " x";
    test_load_fails(source, TIMEOUT_MS, EINVAL, "on_token", "character");
    teller.token = "";
    test_load_fails(source, TIMEOUT_MS, EINVAL, "on_token", "empty");
    assert_int_equal(teller.asked, 5);
    assert_int_equal(teller.freed, 0);
    kvmig__access_source_unref(kvmig__access_source_ref(source));
    assert_int_equal(teller.freed, 0);
    kvmig__access_source_unref(source);
    assert_int_equal(teller.freed, 1);
}

static void a_callback_is_taken_only_on_success(void **state)
{
    struct teller teller = { .token = "one" };

    (void)state;
    OPTS_FAIL(EINVAL, "test.reserved", .reserved = 1, .on_token = { tell, &teller, free_teller });
    assert_int_equal(teller.freed, 0);
}

/* ---- a pod ---- */

static void set_pod(const char *host, const char *port)
{
    if (host)
        setenv("KUBERNETES_SERVICE_HOST", host, 1);
    else
        unsetenv("KUBERNETES_SERVICE_HOST");
    if (port)
        setenv("KUBERNETES_SERVICE_PORT", port, 1);
    else
        unsetenv("KUBERNETES_SERVICE_PORT");
}

static struct kvmig__access_source *pod_source(struct kvmig_kube_opts *opts)
{
    struct kvmig__access_source *source;

    opts->flags |= KVMIG_KUBE_IN_CLUSTER;
    source = test_source(opts, NULL);
    kvmig__access_source_set_account_dir(source, test_dir);
    return source;
}

static void write_account(void)
{
    test_write("token", "pod\n");
    test_write("ca.crt", TEST_CERT);
    test_write("namespace", "vms");
}

static void a_pods_account_is_found(void **state)
{
    struct kvmig_kube_opts opts = defaults();
    struct kvmig__access_source *source;
    struct kvmig__access *access;

    (void)state;
    write_account();
    set_pod("10.96.0.1", "443");
    source = pod_source(&opts);
    access = test_load(source, TIMEOUT_MS);
    assert_string_equal(access->server, "https://10.96.0.1:443");
    assert_string_equal(access->token, "pod");
    assert_string_equal(access->ns, "vms");
    test_check_path(access->ca_file, "ca.crt");
    test_check_path(access->token_file, "token");
    kvmig__access_free(access);
    test_write("token", "rotated\n");
    access = test_load(source, TIMEOUT_MS);
    assert_string_equal(access->token, "rotated");
    kvmig__access_free(access);
    kvmig__access_source_unref(source);
    set_pod("fd00::1", "6443");
    source = pod_source(&opts);
    access = test_load(source, TIMEOUT_MS);
    assert_string_equal(access->server, "https://[fd00::1]:6443");
    kvmig__access_free(access);
    kvmig__access_source_unref(source);
    set_pod(NULL, NULL);
}

static void what_a_pod_lacks_is_named(void **state)
{
    struct kvmig_kube_opts opts = defaults();
    struct kvmig__access_source *source;
    struct kvmig__access *access;

    (void)state;
    set_pod(NULL, "443");
    source = pod_source(&opts);
    test_load_fails(source, TIMEOUT_MS, ENOENT, "KVMIG_KUBE_IN_CLUSTER", "KUBERNETES_SERVICE_HOST");
    kvmig__access_source_unref(source);
    set_pod("10.96.0.1", "443");
    source = pod_source(&opts);
    test_load_fails(source, TIMEOUT_MS, ENOENT, "KVMIG_KUBE_IN_CLUSTER", "/ca.crt");
    test_write("ca.crt", TEST_CERT);
    test_load_fails(source, TIMEOUT_MS, ENOENT, "KVMIG_KUBE_IN_CLUSTER", "/token");
    test_write("token", "pod");
    access = test_load(source, TIMEOUT_MS);
    assert_null(access->ns);
    kvmig__access_free(access);
    kvmig__access_source_unref(source);
    set_pod(NULL, NULL);
}

static void options_win_over_the_pods_account(void **state)
{
    struct kvmig_kube_opts opts = defaults();
    struct kvmig__access_source *source;
    struct kvmig__access *access;

    (void)state;
    set_pod("10.96.0.1", "443");
    opts.token = "mine";
    opts.flags = KVMIG_KUBE_INSECURE;
    source = pod_source(&opts); /* whose folder is empty */
    access = test_load(source, TIMEOUT_MS);
    assert_string_equal(access->token, "mine");
    assert_null(access->token_file);
    assert_null(access->ca_file);
    assert_true(access->insecure);
    kvmig__access_free(access);
    kvmig__access_source_unref(source);
    set_pod(NULL, NULL);
}

/* ---- secrets ---- */

static void json_is_wiped_to_its_leaves(void **state)
{
    struct json_object *object = json_tokener_parse("{\"a\":[\"s3cr3t\",{\"b\":\"s3cr3t\"}],\"c\":1}"), *a, *b;

    (void)state;
    json_object_object_get_ex(object, "a", &a);
    json_object_object_get_ex(json_object_array_get_idx(a, 1), "b", &b);
    a = json_object_get(json_object_array_get_idx(a, 0));
    json_object_get(b);
    kvmig__json_wipe(object);
    assert_memory_equal(json_object_get_string(a), "\0\0\0\0\0\0", 6);
    assert_memory_equal(json_object_get_string(b), "\0\0\0\0\0\0", 6);
    json_object_put(a);
    json_object_put(b);
    kvmig__json_wipe(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_dir_make, test_dir_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_options_have_an_initialiser),
        TEST(bad_options_are_named),
        TEST(options_that_exclude_each_other_are_named),
        TEST(names_of_vms_are_taken_as_kubernetes_has_them),
        TEST(a_newer_callers_options_are_refused),
        TEST(with_a_server_no_kubeconfig_is_read),
        TEST(options_win_over_the_kubeconfig),
        TEST(an_identity_of_the_options_takes_the_place_of_the_users),
        TEST(files_of_the_options_must_be_there),
        TEST(a_callback_gives_tokens_whenever_one_is_needed),
        TEST(a_callback_is_taken_only_on_success),
        TEST(a_pods_account_is_found),
        TEST(what_a_pod_lacks_is_named),
        TEST(options_win_over_the_pods_account),
        TEST(json_is_wiped_to_its_leaves),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
