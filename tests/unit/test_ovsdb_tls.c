/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * TLS to an OVSDB server: who is believed, who is not, and what is said about files that do not fit. The server is
 * openssl(1), and so are the authorities and certificates, made for the test. Skipped where there is no openssl.
 */
#include "stream_test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static char folder[] = "/tmp/kvmig-tls-XXXXXX";

static const char make_files[] =
    "authority() { openssl req -x509 -newkey rsa:2048 -nodes -keyout $1-key.pem -out $1.pem -subj /CN=$1 -days 2; }\n"
    "certificate() {\n" /* NAME AUTHORITY */
    "    openssl req -newkey rsa:2048 -nodes -keyout $1-key.pem -out request.pem -subj /CN=$1 &&\n"
    "    openssl x509 -req -in request.pem -CA $2.pem -CAkey $2-key.pem -CAcreateserial -out $1.pem -days 2\n"
    "}\n"
    "authority ca && authority stranger && certificate server ca && certificate client ca &&\n"
    "certificate intruder stranger &&\n"
    "openssl rsa -aes128 -passout pass:secret -in client-key.pem -out locked-key.pem &&\n"
    "echo 'not a certificate' >garbage.pem\n";

static int run_shell(const char *script)
{
    char *command = kvmig__asprintf("cd %s && { %s\n} >log 2>&1", folder, script);
    int status = system(command);

    free(command);
    return status;
}

/* Names of files in the folder; NULL = not given. */
static struct kvmig__ovsdb_tls files(const char *ca, const char *cert, const char *key)
{
    return (struct kvmig__ovsdb_tls){
        .ca_file = ca ? kvmig__asprintf("%s/%s", folder, ca) : NULL,
        .cert_file = cert ? kvmig__asprintf("%s/%s", folder, cert) : NULL,
        .key_file = key ? kvmig__asprintf("%s/%s", folder, key) : NULL,
    };
}

static void files_clear(struct kvmig__ovsdb_tls *tls)
{
    free(tls->ca_file);
    free(tls->cert_file);
    free(tls->key_file);
}

/* ---- openssl as the server, and a user of it ---- */

struct pair {
    struct kvmig_context *context;
    struct stream_user user;
    struct kvmig__ovsdb_remote remote;
    pid_t server;
    int in, out; /* the server sends what is written to in; out has what it hears, and remarks of its own */
    char heard[4096]; /* the end of that */
};

static void spawn(struct pair *pair, const char *version)
{
    int in[2], out[2];

    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    pair->server = fork();
    assert_true(pair->server >= 0);
    if (pair->server == 0) {
        if (chdir(folder) < 0 || dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0 || dup2(out[1], 2) < 0)
            _exit(1);
        close(in[1]);
        close(out[0]);
        execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-naccept", "1", "-cert", "server.pem",
               "-key", "server-key.pem", "-CAfile", "ca.pem", "-Verify", "1", "-verify_return_error", version,
               (char *)NULL);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    pair->in = in[1];
    pair->out = out[0];
}

/* Dispatches until the server has written something, and keeps the end of it. */
static size_t hear(struct pair *pair)
{
    char text[2048];
    size_t kept = strlen(pair->heard);
    ssize_t n;

    peer_pump_until_readable(pair->context, pair->out);
    n = read(pair->out, text, sizeof(text) - 1);
    assert_true(n > 0);
    if (kept + (size_t)n >= sizeof(pair->heard)) {
        memmove(pair->heard, pair->heard + kept / 2, kept - kept / 2 + 1);
        kept = strlen(pair->heard);
    }
    for (ssize_t i = 0; i < n; i++)
        pair->heard[kept + (size_t)i] = text[i] ? text[i] : '?';
    pair->heard[kept + (size_t)n] = '\0';
    return (size_t)n;
}

static void hear_until(struct pair *pair, const char *text)
{
    while (!strstr(pair->heard, text))
        hear(pair);
}

static struct pair *pair_new(void)
{
    struct pair *pair = kvmig__calloc(1, sizeof(*pair));

    pair->context = test_context_new(0);
    pair->user.context = pair->context;
    pair->server = pair->in = pair->out = -1;
    pair->remote = (struct kvmig__ovsdb_remote){ .kind = KVMIG__REMOTE_SSL, .host = kvmig__strdup("127.0.0.1") };
    return pair;
}

static struct pair *pair_with_server(const char *version)
{
    struct pair *pair = pair_new();

    spawn(pair, version);
    hear_until(pair, "ACCEPT 127.0.0.1:");
    hear_until(pair, "\n");
    pair->remote.port = (uint16_t)strtoul(strstr(pair->heard, "127.0.0.1:") + strlen("127.0.0.1:"), NULL, 10);
    assert_true(pair->remote.port > 0);
    pair->remote.text = kvmig__asprintf("ssl:127.0.0.1:%u", pair->remote.port);
    return pair;
}

static void stop_server(struct pair *pair)
{
    if (pair->server <= 0)
        return;
    kill(pair->server, SIGKILL);
    waitpid(pair->server, NULL, 0);
    close(pair->in);
    close(pair->out);
    pair->server = -1;
}

static void pair_free(struct pair *pair)
{
    stream_user_end(&pair->user);
    stop_server(pair);
    kvmig_context_unref(pair->context);
    free(pair->remote.text);
    free(pair->remote.host);
    free(pair);
}

static void open_with(struct pair *pair, struct kvmig__ovsdb_tls tls)
{
    stream_user_open(&pair->user, pair->context, &pair->remote, &tls, TEST_DEADLINE_MS);
    files_clear(&tls);
}

static void assert_lost(struct pair *pair, int32_t code, const char *hint)
{
    test_run_until(pair->context, &pair->user.lost, 1);
    assert_int_equal(pair->user.error->code, -code);
    assert_string_equal(pair->user.error->where, pair->remote.text);
    assert_non_null(pair->user.error->evidence);
    if (!strstr(pair->user.error->hint, hint))
        fail_msg("'%s' is not in '%s'", hint, pair->user.error->hint);
}

/* ---- who is believed ---- */

static void talk(const char *version)
{
    struct pair *pair = pair_with_server(version);

    open_with(pair, files("ca.pem", "client.pem", "client-key.pem"));
    test_run_until(pair->context, &pair->user.connected, 1);
    stream_user_send(&pair->user, "{ping}", 6);
    hear_until(pair, "{ping}");
    assert_int_equal(write(pair->in, "{pong}\n", 7), 7);
    test_run_until(pair->context, &pair->user.received, 7);
    assert_int_equal(pair->user.lost, 0);
    pair_free(pair);
}

static void both_sides_show_certificates_and_talk(void **state)
{
    (void)state;
    talk("-tls1_3");
    talk("-tls1_2");
}

static void a_server_of_another_authority_is_not_believed(void **state)
{
    struct pair *pair = pair_with_server("-tls1_3");

    (void)state;
    open_with(pair, files("stranger.pem", "client.pem", "client-key.pem"));
    assert_lost(pair, KVMIG_EUNREACHABLE, "stranger.pem");
    assert_non_null(strstr(pair->user.error->hint, "ca_file"));
    assert_int_equal(pair->user.connected, 0);
    pair_free(pair);
}

/* With TLS 1.3 the client thinks that it is connected before the server has looked at its certificate. */
static void a_client_that_the_server_refuses_hears_of_its_certificate(void **state)
{
    static const char *const versions[] = { "-tls1_2", "-tls1_3" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(versions); i++) {
        struct pair *pair = pair_with_server(versions[i]);

        open_with(pair, files("ca.pem", "intruder.pem", "intruder-key.pem"));
        assert_lost(pair, i == 0 ? KVMIG_EUNREACHABLE : ECONNRESET, "intruder.pem");
        pair_free(pair);
        pair = pair_with_server(versions[i]);
        open_with(pair, files("ca.pem", NULL, NULL));
        assert_lost(pair, i == 0 ? KVMIG_EUNREACHABLE : ECONNRESET, "cert_file (none)");
        pair_free(pair);
    }
}

/* ---- bytes ---- */

static void what_is_decrypted_already_is_read(void **state)
{
    const size_t n = 600000; /* more than is read at once */
    struct pair *pair = pair_with_server("-tls1_3");
    char *bytes = kvmig__calloc(1, n);
    size_t sent = 0;

    (void)state;
    memset(bytes, '{', n);
    open_with(pair, files("ca.pem", "client.pem", "client-key.pem"));
    test_run_until(pair->context, &pair->user.connected, 1);
    while (sent < n) { /* in pieces that the pipe takes, so that writing does not wait for us */
        size_t piece = n - sent < 30000 ? n - sent : 30000;

        assert_int_equal(write(pair->in, bytes + sent, piece), piece);
        sent += piece;
        test_run_until(pair->context, &pair->user.received, (int)sent);
    }
    assert_int_equal(pair->user.lost, 0);
    free(bytes);
    pair_free(pair);
}

/* The server's output is a pipe: while nobody reads it the server does not read either, and writes have to be
 * repeated. */
static void what_the_server_takes_late_is_sent_whole(void **state)
{
    const size_t n = 3000000;
    struct pair *pair = pair_with_server("-tls1_3");
    char *bytes = kvmig__calloc(1, n);

    (void)state;
    memset(bytes, '{', n);
    open_with(pair, files("ca.pem", "client.pem", "client-key.pem"));
    test_run_until(pair->context, &pair->user.connected, 1);
    stream_user_send(&pair->user, bytes, n);
    stream_user_send(&pair->user, bytes, 1); /* must not change the write that is to be repeated */
    for (int i = 0; i < 20; i++) {
        test_drain(pair->context);
        stream_user_send(&pair->user, bytes, 100);
    }
    stream_user_send(&pair->user, "}the end", 8);
    hear_until(pair, "}the end");
    assert_int_equal(pair->user.lost, 0);
    free(bytes);
    pair_free(pair);
}

static void a_server_that_dies_is_lost_quietly(void **state)
{
    struct pair *pair = pair_with_server("-tls1_3");

    (void)state;
    open_with(pair, files("ca.pem", "client.pem", "client-key.pem"));
    test_run_until(pair->context, &pair->user.connected, 1);
    stop_server(pair);
    for (int i = 0; i < 3; i++)
        stream_user_send(&pair->user, "anybody?", 8); /* no SIGPIPE */
    test_run_until(pair->context, &pair->user.lost, 1);
    assert_int_equal(pair->user.error->code, -ECONNRESET);
    pair_free(pair);
}

/* ---- files ---- */

static void assert_bad_files(struct kvmig__ovsdb_tls tls, const char *hint)
{
    struct pair *pair = pair_with_server("-tls1_3");

    open_with(pair, tls);
    assert_lost(pair, EINVAL, hint);
    assert_int_equal(pair->user.connected, 0);
    pair_free(pair);
}

static void files_that_do_not_fit_are_named(void **state)
{
    (void)state;
    assert_bad_files(files("missing.pem", "client.pem", "client-key.pem"), "missing.pem");
    assert_bad_files(files("garbage.pem", "client.pem", "client-key.pem"), "garbage.pem");
    assert_bad_files(files("ca.pem", "missing.pem", "client-key.pem"), "missing.pem");
    assert_bad_files(files("ca.pem", "garbage.pem", "client-key.pem"), "garbage.pem");
    assert_bad_files(files("ca.pem", "client.pem", "missing-key.pem"), "missing-key.pem");
    assert_bad_files(files("ca.pem", "client.pem", "server-key.pem"), "belong together");
}

static void a_key_with_a_passphrase_is_refused_without_asking(void **state)
{
    (void)state;
    assert_bad_files(files("ca.pem", "client.pem", "locked-key.pem"), "without a passphrase");
}

/* ---- servers that do not speak TLS ---- */

static void a_server_without_tls_is_told(void **state)
{
    struct fake_peer peer = fake_peer_tcp();
    struct pair *pair = pair_new();
    int connection;

    (void)state;
    pair->remote.port = peer.remote.port;
    pair->remote.text = kvmig__asprintf("ssl:127.0.0.1:%u", peer.remote.port);
    open_with(pair, files("ca.pem", "client.pem", "client-key.pem"));
    peer_pump_until_readable(pair->context, peer.listener);
    connection = fake_peer_accept(&peer);
    peer_say(connection, "{\"method\":\"echo\",\"id\":\"echo\",\"params\":[]}");
    assert_lost(pair, KVMIG_EUNREACHABLE, "speaks TLS");
    assert_int_equal(pair->user.connected, 0);
    close(connection);
    pair_free(pair);
    fake_peer_end(&peer);
}

static void the_handshake_has_a_deadline(void **state)
{
    struct fake_peer peer = fake_peer_tcp();
    struct pair *pair = pair_new();
    struct kvmig__ovsdb_tls tls = files("ca.pem", "client.pem", "client-key.pem");

    (void)state;
    pair->remote.port = peer.remote.port;
    pair->remote.text = kvmig__asprintf("ssl:127.0.0.1:%u", peer.remote.port);
    stream_user_open(&pair->user, pair->context, &pair->remote, &tls, 50);
    assert_lost(pair, ETIMEDOUT, "Check");
    files_clear(&tls);
    pair_free(pair);
    fake_peer_end(&peer);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && run_shell(make_files) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    char *command = kvmig__asprintf("rm -r %s", folder);
    int status = system(command);

    (void)state;
    free(command);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_show_certificates_and_talk),
        cmocka_unit_test(a_server_of_another_authority_is_not_believed),
        cmocka_unit_test(a_client_that_the_server_refuses_hears_of_its_certificate),
        cmocka_unit_test(what_is_decrypted_already_is_read),
        cmocka_unit_test(what_the_server_takes_late_is_sent_whole),
        cmocka_unit_test(a_server_that_dies_is_lost_quietly),
        cmocka_unit_test(files_that_do_not_fit_are_named),
        cmocka_unit_test(a_key_with_a_passphrase_is_refused_without_asking),
        cmocka_unit_test(a_server_without_tls_is_told),
        cmocka_unit_test(the_handshake_has_a_deadline),
    };

    if (system("openssl version >/dev/null 2>&1") != 0)
        return 77;
    test_set_alarm();
    return !!cmocka_run_group_tests(tests, make_folder, remove_folder);
}
