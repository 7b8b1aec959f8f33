/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reaching an API server by kubeconfigs: reading, merging, choosing, and every member of clusters and users.
 */
#include "access_test.h"

#define SERVER "server: 'https://api.example:6443'"
#define TIMEOUT_MS 1000 /* nothing here runs a plugin */

static struct kvmig__access *load(const char *kubeconfig)
{
    struct kvmig_kube_opts opts = KVMIG_KUBE_OPTS_INIT;
    struct kvmig__access_source *source = test_source(&opts, kubeconfig);
    struct kvmig__access *access = test_load(source, TIMEOUT_MS);

    kvmig__access_source_unref(source);
    return access;
}

static void load_fails(const char *kubeconfig, int32_t code, const char *where, const char *message)
{
    struct kvmig_kube_opts opts = KVMIG_KUBE_OPTS_INIT;
    struct kvmig__access_source *source = test_source(&opts, kubeconfig);

    test_load_fails(source, TIMEOUT_MS, code, where, message);
    kvmig__access_source_unref(source);
}

static struct kvmig__access *load_config(const char *cluster, const char *user)
{
    test_write_config("config", cluster, user);
    return load("config");
}

static void config_fails(const char *cluster, const char *user, int32_t code, const char *where, const char *message)
{
    test_write_config("config", cluster, user);
    load_fails("config", code, where, message);
}

/* ---- what a kubeconfig says ---- */

static void a_kubeconfig_in_yaml_is_read(void **state)
{
    struct kvmig__access *access;

    (void)state;
    test_write("config",
               "apiVersion: v1\nkind: Config\npreferences: {}\ncurrent-context: admin@lab\n"
               "clusters:\n- name: lab\n  cluster:\n    server: https://10.0.0.1:6443/k8s/\n"
               "    certificate-authority-data: " TEST_CERT_BASE64 "\n    tls-server-name: kubernetes\n"
               "    proxy-url: socks5://127.0.0.1:1080\n"
               "contexts:\n- name: admin@lab\n  context:\n    cluster: lab\n    user: admin\n    namespace: vms\n"
               "users:\n- name: admin\n  user:\n    client-certificate-data: " TEST_CERT_BASE64
               "\n    client-key-data: " TEST_KEY_BASE64 "\n");
    access = load("config");
    assert_string_equal(access->server, "https://10.0.0.1:6443/k8s");
    assert_string_equal(access->ns, "vms");
    assert_string_equal(access->context, "admin@lab");
    assert_string_equal(access->user_name, "admin");
    assert_string_equal(access->tls_server_name, "kubernetes");
    assert_string_equal(access->proxy_url, "socks5://127.0.0.1:1080");
    test_check_blob(&access->ca, TEST_CERT);
    test_check_blob(&access->cert, TEST_CERT);
    test_check_blob(&access->key, TEST_KEY);
    assert_false(access->insecure);
    assert_false(access->has_plugin);
    assert_null(access->token);
    kvmig__access_free(access);
}

static void a_kubeconfig_in_json_is_read(void **state)
{
    struct kvmig__access *access;

    (void)state;
    test_write("config",
               "{\"kind\":\"Config\",\"apiVersion\":\"v1\",\"current-context\":\"x\",\"contexts\":[{\"name\":\"x\","
               "\"context\":{\"cluster\":\"c\",\"user\":\"u\"}}],\"clusters\":[{\"name\":\"c\",\"cluster\":{"
               "\"server\":\"https://[fd00::1]:6443\",\"insecure-skip-tls-verify\":true}}],\"users\":[{"
               "\"name\":\"u\",\"user\":{\"token\":\"s3cr3t-token\"}}]}");
    access = load("config");
    assert_string_equal(access->server, "https://[fd00::1]:6443");
    assert_string_equal(access->token, "s3cr3t-token");
    assert_true(access->insecure);
    assert_null(access->ns);
    kvmig__access_free(access);
}

static void files_are_found_beside_their_kubeconfig(void **state)
{
    struct kvmig__access *access;

    (void)state;
    test_mkdir("pki");
    test_write("pki/ca.pem", TEST_CERT);
    test_write("pki/cert.pem", TEST_CERT);
    test_write("pki/key.pem", TEST_KEY);
    test_write("pki/token", "\n s3cr3t-file \n");
    access = load_config(SERVER ", certificate-authority: pki/ca.pem",
                         "client-certificate: pki/cert.pem, client-key: pki/key.pem, tokenFile: pki/token");
    test_check_path(access->ca_file, "pki/ca.pem");
    test_check_path(access->cert_file, "pki/cert.pem");
    test_check_path(access->key_file, "pki/key.pem");
    test_check_path(access->token_file, "pki/token");
    assert_string_equal(access->token, "s3cr3t-file");
    assert_null(access->ca.data);
    kvmig__access_free(access);
    config_fails(SERVER ", certificate-authority: pki/none.pem", "token: t", ENOENT,
                 "cluster \"c\": certificate-authority", "pki/none.pem cannot be read");
    config_fails(SERVER, "tokenFile: pki", EISDIR, "user \"u\": tokenFile", "no regular file");
    config_fails(SERVER ", certificate-authority: pki/token", "token: t", EINVAL,
                 "cluster \"c\": certificate-authority", "PEM");
}

static void inline_data_wins_over_files(void **state)
{
    struct kvmig__access *access;

    (void)state;
    access = load_config(SERVER ", certificate-authority: nowhere, certificate-authority-data: " TEST_CERT_BASE64,
                         "client-certificate: nowhere, client-certificate-data: " TEST_CERT_BASE64
                         ", client-key: nowhere, client-key-data: " TEST_KEY_BASE64);
    assert_null(access->ca_file);
    assert_null(access->cert_file);
    assert_null(access->key_file);
    test_check_blob(&access->ca, TEST_CERT);
    kvmig__access_free(access);
}

static void data_must_be_pem_in_base64(void **state)
{
    (void)state;
    config_fails(SERVER ", certificate-authority-data: 's3cr3t!'", "token: t", EINVAL,
                 "config: cluster \"c\": certificate-authority-data", "base64");
    config_fails(SERVER ", certificate-authority-data: AAAA", "token: t", EINVAL, "certificate-authority-data", "PEM");
    config_fails(SERVER, "client-certificate-data: " TEST_CERT_BASE64, KVMIG_EJSON, "user \"u\": client-key",
                 "without its key");
    config_fails(SERVER, "client-certificate-data: " TEST_CERT_BASE64 ", client-key-data: s3cr3t", EINVAL,
                 "user \"u\": client-key-data", "base64");
}

static void token_files_are_read_again(void **state)
{
    struct kvmig_kube_opts opts = KVMIG_KUBE_OPTS_INIT;
    struct kvmig__access_source *source;
    struct kvmig__access *access;
    struct kvmig_error *error = NULL;

    (void)state;
    test_write("token", "first");
    test_write_config("config", SERVER, "tokenFile: token");
    source = test_source(&opts, "config");
    access = test_load(source, TIMEOUT_MS);
    assert_string_equal(access->token, "first");
    kvmig__access_free(access);
    test_write("token", "second\n");
    access = kvmig__access_renew(source, TIMEOUT_MS, &error);
    assert_null(error);
    assert_string_equal(access->token, "second");
    kvmig__access_free(access);
    test_write("token", " \n");
    test_load_fails(source, TIMEOUT_MS, EINVAL, "tokenFile", "has no token");
    test_write("token", TEST_SECRET "\nline");
    test_load_fails(source, TIMEOUT_MS, EINVAL, "tokenFile", "character");
    kvmig__access_source_unref(source);
}

static void a_token_file_wins_over_a_token_while_it_can_be_read(void **state)
{
    struct kvmig__access *access;

    (void)state;
    test_write("token", "newer");
    access = load_config(SERVER, "token: older, tokenFile: token");
    assert_string_equal(access->token, "newer");
    kvmig__access_free(access);
    access = load_config(SERVER, "token: older, tokenFile: nowhere");
    assert_string_equal(access->token, "older");
    test_check_path(access->token_file, "nowhere");
    kvmig__access_free(access);
}

static void passwords_are_taken_alone(void **state)
{
    struct kvmig__access *access = load_config(SERVER, "username: joe, password: s3cr3t pass");

    (void)state;
    assert_string_equal(access->basic_user, "joe");
    assert_string_equal(access->basic_password, "s3cr3t pass");
    kvmig__access_free(access);
    config_fails(SERVER, "username: joe, password: s3cr3t, token: t", KVMIG_ECONFLICT, "user \"u\"", "only one");
    config_fails(SERVER, "password: s3cr3t", KVMIG_EJSON, "user \"u\": username", "without a username");
}

static void impersonation_is_whole_or_refused(void **state)
{
    struct kvmig__access *access = load_config(SERVER, "token: t, as: jane, as-groups: [a, 'b c']");

    (void)state;
    assert_string_equal(access->impersonate, "jane");
    assert_int_equal(access->impersonate_groups.n, 2);
    assert_string_equal(access->impersonate_groups.v[1], "b c");
    kvmig__access_free(access);
    config_fails(SERVER, "token: t, as-groups: [a]", KVMIG_EJSON, "as-groups", "needs as");
    config_fails(SERVER, "token: t, as: a, as-uid: '7'", EOPNOTSUPP, "as-uid", "not supported");
    config_fails(SERVER, "token: t, as: a, as-user-extra: {k: [v]}", EOPNOTSUPP, "as-user-extra", "not supported");
    config_fails(SERVER, "token: t, as: \"a\\nHost: b\"", EINVAL, "user \"u\": as", "control character");
    config_fails(SERVER, "token: t, as: a, as-groups: [\"b\\r\"]", EINVAL, "as-groups", "control character");
    config_fails(SERVER, "token: t, as: a, as-groups: [1]", KVMIG_EJSON, "as-groups", "list of texts");
}

static void removed_ways_to_log_in_are_named(void **state)
{
    (void)state;
    config_fails(SERVER, "auth-provider: {name: gcp, config: {access-token: s3cr3t}}", EOPNOTSUPP,
                 "user \"u\": auth-provider", "\"gcp\"");
}

static void servers_must_be_urls(void **state)
{
    static const struct {
        const char *given, *url;
    } good[] = {
        { "server: 'HTTPS://h/'", "https://h" },
        { "server: 'http://h:8080'", "http://h:8080" },
        { "server: 'h:6443'", "https://h:6443" },
        { "server: 'https://h/a/b//'", "https://h/a/b" },
    };
    static const char *const bad[] = { "ftp://h",      "https://",     "https://:6443", "https:///x",
                                       "https://h/?a", "https://h/#a", "https://h x" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(good); i++) {
        struct kvmig__access *access = load_config(good[i].given, "token: t");

        assert_string_equal(access->server, good[i].url);
        kvmig__access_free(access);
    }
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(bad); i++) {
        char *cluster = kvmig__asprintf("server: '%s'", bad[i]);

        config_fails(cluster, "token: t", EINVAL, "config: cluster \"c\": server", "URL");
        free(cluster);
    }
    config_fails("server: 'https://joe:s3cr3t@h'", "token: t", EINVAL, "cluster \"c\": server", "has a user");
    config_fails("insecure-skip-tls-verify: true", "token: t", KVMIG_EJSON, "cluster \"c\": server", "no server");
    config_fails(SERVER ", proxy-url: 'ftp://joe:s3cr3t@h'", "token: t", EINVAL, "cluster \"c\": proxy-url", "proxy");
    config_fails(SERVER ", insecure-skip-tls-verify: true, certificate-authority-data: " TEST_CERT_BASE64, "token: t",
                 KVMIG_ECONFLICT, "insecure-skip-tls-verify", "exclude each other");
}

static void values_of_the_wrong_type_are_not_guessed(void **state)
{
    (void)state;
    config_fails(SERVER, "token: 12e5", KVMIG_EJSON, "config: user \"u\": token", "must be a text");
    config_fails(SERVER ", insecure-skip-tls-verify: yes", "token: t", KVMIG_EJSON, "insecure-skip-tls-verify",
                 "true or false");
    config_fails(SERVER, "token: \"s3cr3t\\0\"", KVMIG_EJSON, "token", "NUL");
    config_fails(SERVER, "token: \"s3cr3t\\nX: y\"", EINVAL, "token", "character");
    config_fails(SERVER, "exec: get-token", KVMIG_EJSON, "exec", "a mapping");
}

/* ---- files ---- */

static void what_is_no_kubeconfig_is_named(void **state)
{
    (void)state;
    test_write("config", "kind: Pod\napiVersion: v1\n");
    load_fails("config", KVMIG_EJSON, "/config", "a Pod of v1");
    test_write("config", "- a\n");
    load_fails("config", KVMIG_EJSON, "/config", "must be a mapping");
    test_write("config", "kind: Config\n---\nkind: Config\n");
    load_fails("config", KVMIG_EJSON, "/config", "more than one document");
    test_write("config", "contexts: [\nusers: s3cr3t\n");
    load_fails("config", KVMIG_EJSON, "/config:3:1", "that begins in line 1,");
    test_write("config", "users:\n- name: u\n  name: v\n");
    load_fails("config", KVMIG_EJSON, "/config:3:3", "stands twice");
    test_write("config", "contexts: {}\n");
    load_fails("config", KVMIG_EJSON, "/config: contexts", "must be a list");
    test_write("config", "clusters: [a]\n");
    load_fails("config", KVMIG_EJSON, "/config: clusters[0]", "must be a mapping");
    test_write("config", "users: [{name: u}, {name: u}]\n");
    load_fails("config", KVMIG_EJSON, "/config: users[1]: name", "two entries \"u\"");
}

static void a_file_that_is_not_there_is_an_error(void **state)
{
    char *fifo = test_path("fifo");

    (void)state;
    load_fails("nowhere", ENOENT, "kubeconfig", "/nowhere");
    load_fails(".", EISDIR, "kubeconfig", "no regular file");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    load_fails("fifo", EINVAL, "kubeconfig", "no regular file"); /* and does not wait for a writer */
    free(fifo);
}

static void contexts_are_chosen_by_name(void **state)
{
    struct kvmig_kube_opts opts = KVMIG_KUBE_OPTS_INIT;
    struct kvmig__access_source *source;
    struct kvmig__access *access;

    (void)state;
    test_write("config",
               "contexts:\n- {name: a, context: {cluster: c, user: u}}\n"
               "- {name: b, context: {cluster: d, user: u, namespace: n}}\n"
               "- {name: e, context: {cluster: gone, user: u}}\n- {name: f, context: {cluster: c, user: gone}}\n"
               "- {name: g, context: {user: u}}\n- {name: h, context: {cluster: c}}\n- {name: i}\n"
               "clusters: [{name: c, cluster: {server: 'https://c'}}, {name: d, cluster: {server: 'https://d'}}]\n"
               "users: [{name: u, user: {token: t}}]\n");
    opts.context = "b";
    source = test_source(&opts, "config");
    access = test_load(source, TIMEOUT_MS);
    assert_string_equal(access->server, "https://d");
    assert_string_equal(access->ns, "n");
    kvmig__access_free(access);
    kvmig__access_source_unref(source);
    load_fails("config", ENOENT, "/config", "no current-context");
    static const struct {
        const char *context;
        int32_t code;
        const char *message;
    } bad[] = {
        { "x", ENOENT, "the context \"x\" is not there" },
        { "e", ENOENT, "context \"e\" names the cluster \"gone\"" },
        { "f", ENOENT, "context \"f\" names the user \"gone\"" },
        { "g", KVMIG_EJSON, "no cluster" },
        { "h", KVMIG_EJSON, "no user" },
        { "i", KVMIG_EJSON, "no cluster" },
    };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(bad); i++) {
        opts.context = bad[i].context;
        source = test_source(&opts, "config");
        test_load_fails(source, TIMEOUT_MS, bad[i].code, "/config", bad[i].message);
        kvmig__access_source_unref(source);
    }
}

static void errors_name_the_contexts_that_are_there(void **state)
{
    struct kvmig_kube_opts opts = { .size = sizeof(opts), .context = "x" };
    struct kvmig__access_source *source;
    struct kvmig_error *error = NULL;

    (void)state;
    test_write("config", "contexts: [{name: a}, {name: b}]\n");
    source = test_source(&opts, "config");
    assert_null(kvmig__access_load(source, TIMEOUT_MS, &error));
    assert_string_equal(error->evidence, "contexts: a, b");
    kvmig__error_free(error);
    kvmig__access_source_unref(source);
}

/* ---- several files ---- */

/* Loads the files of these names in the folder, joined. */
static struct kvmig__access_source *list_source(const char *a, const char *b, const char *c)
{
    struct kvmig_kube_opts opts = KVMIG_KUBE_OPTS_INIT;
    struct kvmig__access_source *source = NULL;
    char *list = kvmig__asprintf("%s/%s::%s/%s:%s/%s", test_dir, a, test_dir, b, test_dir, c);

    opts.kubeconfig = list;
    assert_int_equal(kvmig__access_source_new(&opts, "test", &source), 0);
    free(list);
    return source;
}

static void the_first_file_that_has_an_entry_gives_all_of_it(void **state)
{
    struct kvmig__access_source *source;
    struct kvmig__access *access;

    (void)state;
    test_mkdir("one");
    test_mkdir("two");
    test_write("one/token", "one");
    test_write("two/token", "two");
    test_write("one/config", "contexts:\n- {name: x, context: {cluster: c, user: u}}\n"
                             "users:\n- {name: u, user: {tokenFile: token}}\n");
    test_write("two/config", "current-context: x\ncontexts:\n- {name: x, context: {cluster: other, user: other}}\n"
                             "clusters:\n- {name: c, cluster: {server: 'https://two', tls-server-name: two}}\n"
                             "users:\n- {name: u, user: {tokenFile: token, as: jane}}\n");
    test_write("three", "current-context: y\nclusters:\n- {name: c, cluster: {server: 'https://three'}}\n");
    source = list_source("one/config", "two/config", "three");
    access = test_load(source, TIMEOUT_MS);
    assert_string_equal(access->context, "x");
    assert_string_equal(access->server, "https://two");
    assert_string_equal(access->token, "one"); /* beside its own file */
    assert_null(access->impersonate); /* of the same user in another file */
    kvmig__access_free(access);
    kvmig__access_source_unref(source);
}

static void files_of_a_list_may_be_missing_or_empty(void **state)
{
    struct kvmig__access_source *source;
    struct kvmig__access *access;

    (void)state;
    test_write("empty", "# nothing\n");
    test_write_config("config", SERVER, "token: t");
    source = list_source("nowhere", "empty", "config");
    access = test_load(source, TIMEOUT_MS);
    assert_string_equal(access->token, "t");
    kvmig__access_free(access);
    kvmig__access_source_unref(source);
    source = list_source("nowhere", "nowhere2", "nowhere3");
    test_load_fails(source, TIMEOUT_MS, ENOENT, "kubeconfig", "none of the kubeconfigs");
    kvmig__access_source_unref(source);
    test_write("broken", "a: [");
    source = list_source("config", "broken", "nowhere");
    test_load_fails(source, TIMEOUT_MS, KVMIG_EJSON, "/broken:2:1", "no YAML");
    kvmig__access_source_unref(source);
}

static void the_environment_says_where_to_look(void **state)
{
    char *home = kvmig__strdup(getenv("HOME")), *list;
    struct kvmig__access *access;

    (void)state;
    test_mkdir(".kube");
    test_write_config(".kube/config", SERVER, "token: home");
    test_write_config("config", SERVER, "token: variable");
    setenv("HOME", test_dir, 1);
    access = load(NULL);
    assert_string_equal(access->token, "home");
    kvmig__access_free(access);
    list = kvmig__asprintf("%s/nowhere:%s/config", test_dir, test_dir);
    setenv("KUBECONFIG", list, 1);
    access = load(NULL);
    assert_string_equal(access->token, "variable");
    kvmig__access_free(access);
    unsetenv("KUBECONFIG");
    unsetenv("HOME");
    load_fails(NULL, ENOENT, "kubeconfig", "no home folder");
    if (home)
        setenv("HOME", home, 1);
    free(home);
    free(list);
}

static void relative_paths_are_those_of_the_beginning(void **state)
{
    struct kvmig_kube_opts opts = { .size = sizeof(opts), .kubeconfig = "config" };
    struct kvmig__access_source *source = NULL;
    char *folder = getcwd(NULL, 0);
    struct kvmig__access *access;

    (void)state;
    test_write_config("config", SERVER, "token: t");
    assert_int_equal(chdir(test_dir), 0);
    assert_int_equal(kvmig__access_source_new(&opts, "test", &source), 0);
    assert_int_equal(chdir("/"), 0);
    access = test_load(source, TIMEOUT_MS);
    assert_string_equal(access->token, "t");
    kvmig__access_free(access);
    kvmig__access_source_unref(source);
    assert_int_equal(chdir(folder), 0);
    free(folder);
}

/* ---- base64 ---- */

static void base64_goes_both_ways(void **state)
{
    static const char *const bad[] = {
        "A", "AA", "AAA", "AA=", "AA=A", "AAA==", "=", "A===", "AA==AA==", "AA A", "-_-_"
    };
    struct kvmig__blob back = { 0 };

    (void)state;
    for (size_t n = 0; n < 70; n++) {
        struct kvmig__blob blob = { kvmig__calloc(n + 1, 1), n };
        char *text;

        for (size_t i = 0; i < n; i++)
            blob.data[i] = (char)(i * 37 + n);
        text = kvmig__base64_encode(&blob);
        assert_int_equal(strlen(text) % 4, 0);
        assert_true(kvmig__base64_decode(text, &back));
        assert_int_equal(back.length, n);
        assert_memory_equal(back.data, blob.data, n);
        free(text);
        kvmig__blob_clear(&blob);
        kvmig__blob_clear(&back);
    }
    assert_true(kvmig__base64_decode("YW\nJj\r\n", &back));
    test_check_blob(&back, "abc");
    kvmig__blob_clear(&back);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(bad); i++)
        assert_false(kvmig__base64_decode(bad[i], &back));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_dir_make, test_dir_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kubeconfig_in_yaml_is_read),
        TEST(a_kubeconfig_in_json_is_read),
        TEST(files_are_found_beside_their_kubeconfig),
        TEST(inline_data_wins_over_files),
        TEST(data_must_be_pem_in_base64),
        TEST(token_files_are_read_again),
        TEST(a_token_file_wins_over_a_token_while_it_can_be_read),
        TEST(passwords_are_taken_alone),
        TEST(impersonation_is_whole_or_refused),
        TEST(removed_ways_to_log_in_are_named),
        TEST(servers_must_be_urls),
        TEST(values_of_the_wrong_type_are_not_guessed),
        TEST(what_is_no_kubeconfig_is_named),
        TEST(a_file_that_is_not_there_is_an_error),
        TEST(contexts_are_chosen_by_name),
        TEST(errors_name_the_contexts_that_are_there),
        TEST(the_first_file_that_has_an_entry_gives_all_of_it),
        TEST(files_of_a_list_may_be_missing_or_empty),
        TEST(the_environment_says_where_to_look),
        TEST(relative_paths_are_those_of_the_beginning),
        TEST(base64_goes_both_ways),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
