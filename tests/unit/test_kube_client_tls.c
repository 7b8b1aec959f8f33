/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * TLS to an API server: which authority and which name are believed, client certificates from files and from a
 * kubeconfig, and what is said when something does not fit. The server is openssl(1), as are the certificates, made
 * for the test. Skipped where there is no openssl.
 */
#include "kube_http_test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define NAME "api.cluster.local"

static char folder[] = "/tmp/kvmig-kube-tls-XXXXXX";

static const char make_files[] =
    "authority() { openssl req -x509 -newkey rsa:2048 -nodes -keyout $1-key.pem -out $1.pem -subj /CN=$1 -days 2; }\n"
    "certificate() {\n" /* NAME AUTHORITY EXTENSION */
    "    openssl req -newkey rsa:2048 -nodes -keyout $1-key.pem -out request.pem -subj /CN=$1 && echo \"$3\" >ext &&\n"
    "    openssl x509 -req -in request.pem -CA $2.pem -CAkey $2-key.pem -CAcreateserial -out $1.pem -days 2 -extfile "
    "ext\n"
    "}\n"
    "authority ca && authority stranger &&\n"
    "certificate server ca 'subjectAltName=IP:127.0.0.1' && certificate named ca 'subjectAltName=DNS:" NAME "' &&\n"
    "certificate client ca 'keyUsage=digitalSignature' &&\n"
    "printf 'HTTP/1.0 200 OK\\r\\nContent-Type: application/json\\r\\n\\r\\n{}' >version\n";

static int run_shell(const char *script)
{
    char *command = kvmig__asprintf("cd %s && { %s\n} >log 2>&1", folder, script);
    int status = system(command);

    free(command);
    return status;
}

/* ---- the server ---- */

struct tls_server {
    pid_t pid;
    int out;
    char url[64];
};

/* certificate: "server" or "named". clients: must they show a certificate? */
static void server_start(struct tls_server *server, const char *certificate, bool clients)
{
    char *cert = kvmig__asprintf("%s.pem", certificate), *key = kvmig__asprintf("%s-key.pem", certificate), *port;
    char heard[2048] = "";
    int out[2];

    assert_int_equal(pipe(out), 0);
    server->pid = fork();
    assert_true(server->pid >= 0);
    if (server->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if the test fails */
        if (chdir(folder) < 0 || dup2(out[1], 1) < 0 || dup2(out[1], 2) < 0)
            _exit(1);
        close(out[0]);
        execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", cert, "-key", key, "-CAfile",
               "ca.pem", "-HTTP", clients ? "-Verify" : "-verify", "1", "-verify_return_error", (char *)NULL);
        _exit(1);
    }
    close(out[1]);
    server->out = out[0];
    while (!(port = strstr(heard, "ACCEPT 127.0.0.1:")) || !strchr(port, '\n')) {
        struct pollfd fd = { .fd = server->out, .events = POLLIN };
        size_t kept = strlen(heard);
        ssize_t n;

        assert_int_equal(poll(&fd, 1, TEST_DEADLINE_MS), 1);
        n = read(server->out, heard + kept, sizeof(heard) - kept - 1);
        assert_true(n > 0);
        heard[kept + (size_t)n] = '\0';
    }
    snprintf(server->url, sizeof(server->url), "https://127.0.0.1:%lu",
             strtoul(port + strlen("ACCEPT 127.0.0.1:"), NULL, 10));
    free(cert);
    free(key);
}

static void server_stop(struct tls_server *server)
{
    int status;

    assert_int_equal(kill(server->pid, SIGKILL), 0);
    assert_int_equal(waitpid(server->pid, &status, 0), server->pid);
    close(server->out);
}

/* ---- one request ---- */

static void open_client(struct http_test *test, const struct kvmig_kube_opts *opts)
{
    static const struct kvmig__client_opts patient = { .request_timeout_ms = TEST_DEADLINE_MS };
    struct kvmig__access_source *source = NULL;

    assert_int_equal(kvmig__access_source_new(opts, "test", &source), 0);
    kvmig__context_lock(test->context);
    test->client = kvmig__client_new(test->context, source, &patient);
    kvmig__context_unlock(test->context);
    kvmig__access_source_unref(source);
}

/* Strings of opts that are file names get the folder. Returns the code; *out_text is owned. */
static int32_t get(struct http_test *test, struct kvmig_kube_opts opts, char **out_text)
{
    const char **files[] = { &opts.ca_file, &opts.client_cert_file, &opts.client_key_file, &opts.kubeconfig };
    char *paths[KVMIG__N_ELEMENTS(files)] = { NULL };
    struct http_call call;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(files); i++) {
        if (*files[i])
            *files[i] = paths[i] = kvmig__asprintf("%s/%s", folder, *files[i]);
    }
    open_client(test, &opts);
    http_get(test, &call, "/version");
    http_test_close(test);
    if (out_text)
        *out_text = kvmig__strdup(call.text);
    http_call_clear(&call);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(files); i++)
        free(paths[i]);
    return call.code;
}

/* ---- tests ---- */

static void test_the_authority_that_was_given_is_believed_and_no_other(void **state)
{
    struct kvmig_kube_opts opts = KVMIG_KUBE_OPTS_INIT;
    struct tls_server server;
    char *text;

    server_start(&server, "server", false);
    opts.server = server.url;
    opts.ca_file = "ca.pem";
    assert_int_equal(get(*state, opts, NULL), 0);
    opts.ca_file = "stranger.pem";
    assert_int_equal(get(*state, opts, &text), -EPROTO);
    assert_non_null(strstr(text, "authority"));
    free(text);
    opts.ca_file = NULL; /* the system's */
    assert_int_equal(get(*state, opts, NULL), -EPROTO);
    opts.flags = KVMIG_KUBE_INSECURE;
    assert_int_equal(get(*state, opts, NULL), 0);
    server_stop(&server);
}

static void test_a_name_that_differs_needs_a_tls_server_name(void **state)
{
    struct kvmig_kube_opts opts = KVMIG_KUBE_OPTS_INIT;
    struct tls_server server;
    char *text;

    server_start(&server, "named", false);
    opts.server = server.url;
    opts.ca_file = "ca.pem";
    assert_int_equal(get(*state, opts, &text), -EPROTO);
    assert_non_null(strstr(text, "tls-server-name"));
    free(text);
    opts.tls_server_name = NAME;
    assert_int_equal(get(*state, opts, NULL), 0);
    opts.tls_server_name = "other.cluster.local";
    assert_int_equal(get(*state, opts, NULL), -EPROTO);
    server_stop(&server);
}

static void test_client_certificates_come_from_files(void **state)
{
    struct kvmig_kube_opts opts = KVMIG_KUBE_OPTS_INIT;
    struct tls_server server;
    char *text;

    server_start(&server, "server", true);
    opts.server = server.url;
    opts.ca_file = "ca.pem";
    assert_true(get(*state, opts, NULL) < 0);
    opts.client_cert_file = "client.pem";
    opts.client_key_file = "client-key.pem";
    assert_int_equal(get(*state, opts, NULL), 0);
    opts.client_key_file = "ca-key.pem";
    assert_int_equal(get(*state, opts, &text), -EPROTO);
    assert_non_null(strstr(text, "belong together"));
    free(text);
    server_stop(&server);
}

static void write_kubeconfig(const char *url)
{
    char *script = kvmig__asprintf(
        "b() { base64 -w0 $1; }\n"
        "cat >config <<END\n"
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: c, cluster: {server: '%s', certificate-authority-data: $(b ca.pem), tls-server-name: " NAME
        "}}]\n"
        "users: [{name: u, user: {client-certificate-data: $(b client.pem), client-key-data: $(b client-key.pem)}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
        "END\n",
        url);

    assert_int_equal(run_shell(script), 0);
    free(script);
}

static void test_what_a_kubeconfig_has_inline_is_used(void **state)
{
    struct kvmig_kube_opts opts = KVMIG_KUBE_OPTS_INIT;
    struct tls_server server;

    server_start(&server, "named", true);
    write_kubeconfig(server.url);
    opts.kubeconfig = "config";
    assert_int_equal(get(*state, opts, NULL), 0);
    server_stop(&server);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    return run_shell(make_files) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    char *command = kvmig__asprintf("rm -rf %s", folder);
    int status = system(command);

    (void)state;
    free(command);
    return status;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, http_test_setup, http_test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_authority_that_was_given_is_believed_and_no_other),
        TEST(a_name_that_differs_needs_a_tls_server_name),
        TEST(client_certificates_come_from_files),
        TEST(what_a_kubeconfig_has_inline_is_used),
    };

    if (system("openssl version >/dev/null 2>&1") != 0)
        return 77;
    test_set_alarm();
    return !!cmocka_run_group_tests(tests, make_folder, remove_folder);
}
