/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Credential plugins: what they are told, what they may say, and what becomes of those that fail, hang, or say too much. Most
 * plugins are shell scripts that the test writes; some are this program itself (plugin_main).
 */
#include "access_test.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

#define LONG_MS 60000 /* reached only when a test fails */
#define SHORT_MS 500 /* as a rule long enough for a script to begin */
#define SERVER "server: 'https://api.example:6443'"
#define V1 "apiVersion: client.authentication.k8s.io/v1"
#define CREDENTIAL(status)                                                                                             \
    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{" status "}}"
#define SAY(status) "#!/bin/sh\necho '" CREDENTIAL(status) "'\n"

static char *self; /* this program */

/* ---- a plugin of our own ---- */

static void say_token(const char *token)
{
    printf(CREDENTIAL("\"token\":\"%s\"") "\n", token);
}

/* What of the process that started us can be seen. */
static int tell_inheritance(void)
{
    sigset_t mask;
    char byte;

    for (int fd = STDERR_FILENO + 1; fd < 1024; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            fprintf(stderr, "descriptor %d is open\n", fd);
            return 1;
        }
    }
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i < SIGRTMIN; i++) {
        struct sigaction action;

        if (sigismember(&mask, i) || (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN)) {
            fprintf(stderr, "signal %d is blocked or ignored\n", i);
            return 1;
        }
    }
    if (read(STDIN_FILENO, &byte, 1) != 0 || getpgrp() != getpid()) {
        fprintf(stderr, "there is input, or no group of its own\n");
        return 1;
    }
    say_token("clean");
    return 0;
}

static int plugin_main(const char *what)
{
    if (strcmp(what, "inheritance") == 0)
        return tell_inheritance();
    for (;;) { /* "talk" */
        if (puts("a line without an end to all of them") < 0)
            return 1;
    }
}

/* ---- helpers ---- */

static void write_script(const char *name, const char *text)
{
    char *path = test_path(name);

    test_write(name, text);
    assert_int_equal(chmod(path, 0755), 0);
    free(path);
}

/* A kubeconfig whose user has a plugin with these members. */
static struct kvmig__access_source *plugin_source(const char *cluster, const char *exec)
{
    struct kvmig_kube_opts opts = KVMIG_KUBE_OPTS_INIT;
    char *user = kvmig__asprintf("exec: {%s}", exec);

    test_write_config("config", cluster, user);
    free(user);
    return test_source(&opts, "config");
}

static struct kvmig__access *run_plugin(const char *exec)
{
    struct kvmig__access_source *source = plugin_source(SERVER, exec);
    struct kvmig__access *access = test_load(source, LONG_MS);

    kvmig__access_source_unref(source);
    return access;
}

static void plugin_fails(const char *exec, int64_t timeout_ms, int32_t code, const char *where, const char *message)
{
    struct kvmig__access_source *source = plugin_source(SERVER, exec);

    test_load_fails(source, timeout_ms, code, where, message);
    kvmig__access_source_unref(source);
}

static struct kvmig_error *plugin_error(const char *exec)
{
    struct kvmig__access_source *source = plugin_source(SERVER, exec);
    struct kvmig_error *error = NULL;

    assert_null(kvmig__access_load(source, LONG_MS, &error));
    assert_non_null(error);
    kvmig__access_source_unref(source);
    return error;
}

/* The first line; owned. */
static char *read_line(const char *name)
{
    struct kvmig__blob blob = { 0 };
    char *path = test_path(name), *line;

    if (kvmig__file_read(path, "test", 1 << 20, &blob))
        fail_msg("%s cannot be read", path);
    line = kvmig__strndup(blob.data, strcspn(blob.data, "\n"));
    kvmig__blob_clear(&blob);
    free(path);
    return line;
}

/* ---- what plugins say ---- */

static void a_plugin_gives_a_token_and_its_end(void **state)
{
    struct kvmig__access *access;

    (void)state;
    write_script("plugin", SAY("\"token\":\"s3cr3t-1\",\"expirationTimestamp\":\"2026-11-30T12:00:00Z\""));
    access = run_plugin(V1 ", command: ./plugin");
    assert_true(access->has_plugin);
    assert_string_equal(access->token, "s3cr3t-1");
    assert_int_equal(access->token_expires_ms, 1796040000000);
    kvmig__access_free(access);
}

static void a_plugin_gives_a_certificate(void **state)
{
    struct kvmig__access *access;

    (void)state;
    write_script("plugin", "#!/bin/sh\ncat <<'END'\n" CREDENTIAL(
                               "\"clientCertificateData\":\"-----BEGIN CERTIFICATE-----\\nA\\n\",\"clientKeyData\":"
                               "\"-----BEGIN PRIVATE KEY-----\\nB\\n\"") "\nEND\n");
    access = run_plugin(V1 ", command: ./plugin");
    test_check_blob(&access->cert, "-----BEGIN CERTIFICATE-----\nA\n");
    test_check_blob(&access->key, "-----BEGIN PRIVATE KEY-----\nB\n");
    assert_null(access->token);
    assert_int_equal(access->token_expires_ms, 0);
    kvmig__access_free(access);
}

static void the_beta_version_is_understood(void **state)
{
    struct kvmig__access *access;

    (void)state;
    write_script("plugin", "#!/bin/sh\necho 'apiVersion: client.authentication.k8s.io/v1beta1'\n"
                           "echo 'kind: ExecCredential'\necho 'status: {token: t}'\n");
    access = run_plugin("apiVersion: client.authentication.k8s.io/v1beta1, command: ./plugin");
    assert_string_equal(access->token, "t");
    kvmig__access_free(access);
}

static void each_renewal_runs_the_plugin_again(void **state)
{
    struct kvmig__access_source *source;
    struct kvmig__access *access;
    struct kvmig_error *error = NULL;

    (void)state;
    write_script("plugin", SAY("\"token\":\"one\""));
    source = plugin_source(SERVER, V1 ", command: ./plugin");
    access = test_load(source, LONG_MS);
    assert_string_equal(access->token, "one");
    kvmig__access_free(access);
    write_script("plugin", SAY("\"token\":\"two\""));
    access = kvmig__access_renew(source, LONG_MS, &error);
    assert_null(error);
    assert_string_equal(access->token, "two");
    kvmig__access_free(access);
    kvmig__access_source_unref(source);
}

static void what_is_no_credential_is_named(void **state)
{
    static const struct {
        const char *output;
        int32_t code;
        const char *message;
    } bad[] = {
        { "", KVMIG_EJSON, "empty" },
        { "s3cr3t", KVMIG_EJSON, "no ExecCredential" },
        { "{\"token\":\"s3cr3t\"", KVMIG_EJSON, "no YAML" },
        { "{\"kind\":\"Secret\",\"token\":\"s3cr3t\"}", KVMIG_EJSON, "must give an ExecCredential" },
        { "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}", KVMIG_EJSON,
          "must give an ExecCredential of client.authentication.k8s.io/v1" },
        { "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"}", EACCES, "neither" },
        { CREDENTIAL(""), EACCES, "neither" },
        { CREDENTIAL("\"token\":7"), KVMIG_EJSON, "must be a text" },
        { CREDENTIAL("\"token\":\"s3cr3t\\r\\nX: y\""), EINVAL, "character" },
        { CREDENTIAL("\"clientCertificateData\":\"s3cr3t\""), KVMIG_EJSON, "without its key" },
        { CREDENTIAL("\"token\":\"t\",\"clientKeyData\":\"s3cr3t\""), KVMIG_EJSON, "a key alone" },
        { CREDENTIAL("\"clientCertificateData\":\"s3cr3t\",\"clientKeyData\":\"s3cr3t\""), KVMIG_EJSON, "PEM" },
        { CREDENTIAL("\"token\":\"s3cr3t\",\"expirationTimestamp\":\"soon\""), KVMIG_EJSON, "no time" },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(bad); i++) {
        char *script = kvmig__asprintf("#!/bin/sh\ncat <<'END'\n%s\nEND\n", bad[i].output);

        write_script("plugin", script);
        plugin_fails(V1 ", command: ./plugin", LONG_MS, bad[i].code, "user \"u\": exec: output of ", bad[i].message);
        free(script);
    }
}

/* ---- what plugins are told ---- */

static void a_plugin_gets_its_arguments_and_variables(void **state)
{
    struct kvmig__access *access;
    char *line;

    (void)state;
    write_script("plugin",
                 "#!/bin/sh\ncd \"${0%/*}\"\nprintf '%s|' \"$#\" \"$@\" \"$GIVEN\" \"$OURS\" \"$OTHER\" >told\n"
                 "echo '" CREDENTIAL("\"token\":\"t\"") "'\n");
    setenv("GIVEN", "ours", 1);
    setenv("OURS", "ours", 1);
    access = run_plugin(V1 ", command: ./plugin, args: [--a, 'b c', '$(d)', ''], "
                           "env: [{name: GIVEN, value: theirs}, {name: OTHER, value: 'x=y'}]");
    kvmig__access_free(access);
    line = read_line("told");
    assert_string_equal(line, "4|--a|b c|$(d)||theirs|ours|x=y|");
    free(line);
    unsetenv("GIVEN");
    unsetenv("OURS");
}

static void check_info(const char *wanted)
{
    char *line = read_line("info");

    assert_string_equal(line, wanted);
    free(line);
}

static void a_plugin_is_told_about_the_cluster_if_it_wants(void **state)
{
    struct kvmig__access_source *source;

    (void)state;
    setenv("KUBERNETES_EXEC_INFO", "somebody else's", 1);
    write_script("plugin", "#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" >\"${0%/*}/info\"\necho '" CREDENTIAL(
                               "\"token\":\"t\"") "'\n");
    kvmig__access_free(run_plugin(V1 ", command: ./plugin"));
    check_info(
        "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"spec\":{\"interactive\":"
        "false}}");
    test_write("ca.pem", TEST_CERT);
    source =
        plugin_source(SERVER ", certificate-authority: ca.pem, tls-server-name: n, proxy-url: 'http://p', extensions: "
                             "[{name: other, extension: 1}, "
                             "{name: client.authentication.k8s.io/exec, extension: {audience: a}}]",
                      V1 ", command: ./plugin, provideClusterInfo: true");
    kvmig__access_free(test_load(source, LONG_MS));
    kvmig__access_source_unref(source);
    check_info(
        "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"spec\":{\"cluster\":{"
        "\"server\":\"https://api.example:6443\",\"tls-server-name\":\"n\",\"proxy-url\":\"http://p\",\"config\":{"
        "\"audience\":\"a\"},\"certificate-authority-data\":\"" TEST_CERT_BASE64 "\"},\"interactive\":false}}");
    unsetenv("KUBERNETES_EXEC_INFO");
}

static void a_plugin_inherits_nothing(void **state)
{
    char *exec = kvmig__asprintf(V1 ", command: %s, args: [--plugin, inheritance]", self);
    const int fd = open("/dev/null", O_RDONLY), input = dup(STDIN_FILENO);
    sigset_t all, before;
    struct kvmig__access *access;

    (void)state;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    signal(SIGPIPE, SIG_IGN);
    access = run_plugin(exec);
    assert_string_equal(access->token, "clean");
    kvmig__access_free(access);
    /* A host that has closed its standard input: the pipes must not take its place. */
    close(STDIN_FILENO);
    access = run_plugin(exec);
    assert_string_equal(access->token, "clean");
    kvmig__access_free(access);
    if (input >= 0) {
        dup2(input, STDIN_FILENO);
        close(input);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    close(fd);
    free(exec);
}

/* ---- which program ---- */

static void bare_names_are_looked_up_in_path(void **state)
{
    char *before = kvmig__strdup(getenv("PATH")), *path = kvmig__asprintf("relative::/nowhere:%s:%s", test_dir, before);
    struct kvmig__access *access;

    (void)state;
    write_script("kvmig-test-plugin", SAY("\"token\":\"found\""));
    setenv("PATH", path, 1);
    access = run_plugin(V1 ", command: kvmig-test-plugin");
    assert_string_equal(access->token, "found");
    kvmig__access_free(access);
    setenv("PATH", before, 1);
    free(before);
    free(path);
}

static void a_missing_plugin_says_how_to_install_it(void **state)
{
    struct kvmig_error *error = plugin_error(V1 ", command: kvmig-no-such-plugin, installHint: Get it from the shelf.");

    (void)state;
    assert_int_equal(error->code, -ENOENT);
    assert_string_equal(error->hint, "Get it from the shelf.");
    assert_non_null(strstr(error->message, "kvmig-no-such-plugin"));
    kvmig__error_free(error);
    plugin_fails(V1 ", command: ./nowhere", LONG_MS, ENOENT, "user \"u\": exec: command", "cannot be found");
    test_write("plain", "text");
    plugin_fails(V1 ", command: ./plain", LONG_MS, ENOENT, "user \"u\": exec: command", "is no program");
    write_script("no_interpreter", "echo '" CREDENTIAL("\"token\":\"t\"") "'\n");
    plugin_fails(V1 ", command: ./no_interpreter", LONG_MS, ENOEXEC, "user \"u\": exec", "cannot be run");
}

static void what_the_kubeconfig_says_of_a_plugin_is_checked(void **state)
{
    (void)state;
    plugin_fails("command: x", LONG_MS, EOPNOTSUPP, "exec: apiVersion", "none");
    plugin_fails("apiVersion: client.authentication.k8s.io/v1alpha1, command: x", LONG_MS, EOPNOTSUPP,
                 "exec: apiVersion", "v1alpha1");
    plugin_fails(V1, LONG_MS, KVMIG_EJSON, "exec: command", "no command");
    plugin_fails(V1 ", command: sh, interactiveMode: Always", LONG_MS, EOPNOTSUPP, "exec: interactiveMode", "terminal");
    plugin_fails(V1 ", command: sh, interactiveMode: Often", LONG_MS, KVMIG_EJSON, "exec: interactiveMode",
                 "not known");
    plugin_fails(V1 ", command: sh, args: [1]", LONG_MS, KVMIG_EJSON, "exec: args", "list of texts");
    plugin_fails(V1 ", command: sh, env: [a]", LONG_MS, KVMIG_EJSON, "exec: env", "list of mappings");
    plugin_fails(V1 ", command: sh, env: [{value: s3cr3t}]", LONG_MS, KVMIG_EJSON, "exec: env", "no name");
    plugin_fails(V1 ", command: sh, env: [{name: a, value: 1}]", LONG_MS, KVMIG_EJSON, "exec", "must be a text");
}

static void plugins_can_be_forbidden(void **state)
{
    struct kvmig_kube_opts opts = { .size = sizeof(opts), .flags = KVMIG_KUBE_NO_EXEC };
    struct kvmig__access_source *source;
    char *told = test_path("told");

    (void)state;
    write_script("plugin", "#!/bin/sh\n>\"${0%/*}/told\"\n");
    test_write_config("config", SERVER, "exec: {" V1 ", command: ./plugin}");
    source = test_source(&opts, "config");
    test_load_fails(source, LONG_MS, EPERM, "user \"u\": exec", "may not be run");
    assert_int_equal(access(told, F_OK), -1);
    kvmig__access_source_unref(source);
    free(told);
}

static void a_token_that_is_there_is_not_asked_for(void **state)
{
    struct kvmig_kube_opts opts = { .size = sizeof(opts), .flags = KVMIG_KUBE_NO_EXEC };
    struct kvmig__access_source *source;
    struct kvmig__access *access;

    (void)state;
    test_write_config("config", SERVER, "token: t, exec: {" V1 ", command: ./plugin}");
    source = test_source(&opts, "config");
    access = test_load(source, LONG_MS);
    assert_string_equal(access->token, "t");
    assert_false(access->has_plugin);
    kvmig__access_free(access);
    kvmig__access_source_unref(source);
}

/* ---- trouble ---- */

static void a_failing_plugins_last_words_are_kept(void **state)
{
    struct kvmig_error *error;

    (void)state;
    write_script("plugin", "#!/bin/sh\ni=0\nwhile [ $i -lt 2000 ]; do echo \"line $i\" >&2; i=$((i+1)); done\n"
                           "printf 'please \\033log\\377 in\\n\\n' >&2\necho s3cr3t\nexit 3\n");
    error = plugin_error(V1 ", command: ./plugin");
    assert_non_null(strstr(error->message, "exit status 3"));
    assert_true(kvmig__str_starts(error->evidence, "line 1993\n"));
    assert_true(kvmig__str_ends(error->evidence, "line 1999\nplease  log\xEF\xBF\xBD in"));
    test_check_error(error, EACCES, "user \"u\": exec", "/plugin");
    write_script("plugin", "#!/bin/sh\nkill -TERM $$\n");
    plugin_fails(V1 ", command: ./plugin", LONG_MS, EACCES, "user \"u\": exec", "signal 15");
}

static void too_much_output_ends_a_plugin(void **state)
{
    char *exec = kvmig__asprintf(V1 ", command: %s, args: [--plugin, talk]", self);

    (void)state;
    plugin_fails(exec, LONG_MS, EMSGSIZE, "user \"u\": exec", "wrote more than");
    free(exec);
}

/* Whether the process that wrote its number there is gone, or will be as soon as somebody reaps it. */
static bool is_gone(const char *name)
{
    char *line = read_line(name), *path = kvmig__asprintf("/proc/%s/stat", line);
    FILE *file = fopen(path, "r");
    char letter = 'X';

    if (file && fscanf(file, "%*d (%*[^)]) %c", &letter) != 1)
        letter = 'X';
    if (file)
        fclose(file);
    free(line);
    free(path);
    return letter == 'X' || letter == 'Z';
}

static void check_gone(const char *name)
{
    const int64_t until = kvmig__now_ms() + LONG_MS;

    while (!is_gone(name) && kvmig__now_ms() < until)
        usleep(10000);
    assert_true(is_gone(name));
}

/* Gives the plugin time until it has written the file. */
static void plugin_hangs(const char *script, const char *file)
{
    char *path = test_path(file);
    int64_t timeout_ms = SHORT_MS;

    write_script("plugin", script);
    unlink(path);
    do {
        plugin_fails(V1 ", command: ./plugin", timeout_ms, ETIMEDOUT, "user \"u\": exec", "did not end within");
        timeout_ms *= 4;
    } while (access(path, F_OK) < 0 && timeout_ms < LONG_MS);
    check_gone(file);
    free(path);
}

static void a_plugin_that_hangs_is_killed_with_all_its_children(void **state)
{
    (void)state;
    plugin_hangs("#!/bin/sh\ntrap '' TERM HUP\ncd \"${0%/*}\"\nsleep 600 &\necho $$ >parent\necho $! >child\n"
                 "echo waiting >&2\nwait\n",
                 "child");
    check_gone("parent");
    /* The same without pipes to wait for. */
    plugin_hangs("#!/bin/sh\necho $$ >\"${0%/*}/parent\"\nexec >/dev/null 2>&1\nsleep 600\n", "parent");
}

static void a_helper_left_behind_does_not_hold_up_the_answer(void **state)
{
    struct kvmig__access *access;
    char *line;

    (void)state;
    write_script("plugin",
                 "#!/bin/sh\nsleep 600 &\necho $! >\"${0%/*}/child\"\necho '" CREDENTIAL("\"token\":\"t\"") "'\n");
    access = run_plugin(V1 ", command: ./plugin"); /* in time: the helper sleeps longer than we wait */
    assert_string_equal(access->token, "t");
    kvmig__access_free(access);
    assert_false(is_gone("child"));
    line = read_line("child");
    kill((pid_t)atoi(line), SIGKILL);
    free(line);
}

static void hosts_that_ignore_their_children_are_served(void **state)
{
    struct kvmig__access *access;

    (void)state;
    write_script("plugin", SAY("\"token\":\"t\""));
    signal(SIGCHLD, SIG_IGN);
    access = run_plugin(V1 ", command: ./plugin");
    signal(SIGCHLD, SIG_DFL);
    assert_string_equal(access->token, "t");
    kvmig__access_free(access);
}

static void nothing_of_a_plugin_is_left(void **state)
{
    (void)state;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_dir_make, test_dir_drop)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_plugin_gives_a_token_and_its_end),
        TEST(a_plugin_gives_a_certificate),
        TEST(the_beta_version_is_understood),
        TEST(each_renewal_runs_the_plugin_again),
        TEST(what_is_no_credential_is_named),
        TEST(a_plugin_gets_its_arguments_and_variables),
        TEST(a_plugin_is_told_about_the_cluster_if_it_wants),
        TEST(a_plugin_inherits_nothing),
        TEST(bare_names_are_looked_up_in_path),
        TEST(a_missing_plugin_says_how_to_install_it),
        TEST(what_the_kubeconfig_says_of_a_plugin_is_checked),
        TEST(plugins_can_be_forbidden),
        TEST(a_token_that_is_there_is_not_asked_for),
        TEST(a_failing_plugins_last_words_are_kept),
        TEST(too_much_output_ends_a_plugin),
        TEST(a_plugin_that_hangs_is_killed_with_all_its_children),
        TEST(a_helper_left_behind_does_not_hold_up_the_answer),
        TEST(hosts_that_ignore_their_children_are_served),
        TEST(nothing_of_a_plugin_is_left),
    };
    int failed;

    if (argc == 3 && strcmp(argv[1], "--plugin") == 0)
        return plugin_main(argv[2]);
    self = realpath("/proc/self/exe", NULL);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(self);
    return !!failed;
}
