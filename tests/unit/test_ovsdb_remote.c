/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Remotes of OVSDB servers: every way to write them, and what is said about those that are wrong. */
#include "context_test.h"
#include "port/ovsdb_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct kvmig__ovsdb_remote *only(const char *text, struct kvmig__ovsdb_remotes *remotes)
{
    assert_null(kvmig__ovsdb_remotes_parse(text, "opts.nb", remotes));
    assert_int_equal(remotes->n, 1);
    assert_string_equal(remotes->v[0].text, text);
    return remotes->v;
}

static void assert_address(const char *text, int kind, const char *host, uint16_t port)
{
    struct kvmig__ovsdb_remotes remotes;
    struct kvmig__ovsdb_remote *remote = only(text, &remotes);

    assert_int_equal(remote->kind, kind);
    assert_string_equal(remote->host, host);
    assert_null(remote->path);
    assert_int_equal(remote->port, port);
    kvmig__ovsdb_remotes_clear(&remotes);
}

static void a_socket_is_named_by_its_path(void **state)
{
    struct kvmig__ovsdb_remotes remotes;
    struct kvmig__ovsdb_remote *remote = only("unix:/run/ovn/ovnnb_db.sock", &remotes);

    (void)state;
    assert_int_equal(remote->kind, KVMIG__REMOTE_UNIX);
    assert_string_equal(remote->path, "/run/ovn/ovnnb_db.sock");
    assert_null(remote->host);
    kvmig__ovsdb_remotes_clear(&remotes);
}

static void names_and_addresses_of_both_families_have_a_port(void **state)
{
    (void)state;
    assert_address("tcp:10.0.0.1:6641", KVMIG__REMOTE_TCP, "10.0.0.1", 6641);
    assert_address("ssl:ovn-nb.kube-system_1:16642", KVMIG__REMOTE_SSL, "ovn-nb.kube-system_1", 16642);
    assert_address("ssl:[fd00::1]:6641", KVMIG__REMOTE_SSL, "fd00::1", 6641);
    assert_address("tcp:[::ffff:10.0.0.1]:1", KVMIG__REMOTE_TCP, "::ffff:10.0.0.1", 1);
    assert_address("tcp:[fe80::1%eth0]:65535", KVMIG__REMOTE_TCP, "fe80::1%eth0", 65535);
}

static void without_a_port_it_is_that_of_ovsdb(void **state)
{
    (void)state;
    assert_address("tcp:10.0.0.1", KVMIG__REMOTE_TCP, "10.0.0.1", 6640);
    assert_address("ssl:[::1]", KVMIG__REMOTE_SSL, "::1", 6640);
}

static void those_of_a_cluster_are_joined_by_commas(void **state)
{
    struct kvmig__ovsdb_remotes remotes;

    (void)state;
    assert_null(kvmig__ovsdb_remotes_parse("tcp:a:1,ssl:[::1]:2, \tunix:/c ", "opts.nb", &remotes));
    assert_int_equal(remotes.n, 3);
    assert_string_equal(remotes.v[0].host, "a");
    assert_string_equal(remotes.v[1].text, "ssl:[::1]:2");
    assert_string_equal(remotes.v[2].text, "unix:/c");
    kvmig__ovsdb_remotes_clear(&remotes);
    assert_int_equal(remotes.n, 0);
}

static void assert_wrong(const char *text, const char *entry, const char *how)
{
    struct kvmig__ovsdb_remotes remotes;
    struct kvmig_error *error = kvmig__ovsdb_remotes_parse(text, "opts.sb", &remotes);

    assert_non_null(error);
    assert_int_equal(error->code, -EINVAL);
    assert_string_equal(error->where, "opts.sb");
    assert_string_equal(error->evidence, entry);
    assert_non_null(strstr(error->message, how));
    assert_non_null(strstr(error->hint, "tcp:host:port"));
    assert_int_equal(remotes.n, 0);
    assert_null(remotes.v);
    kvmig__error_free(error);
}

static void what_is_wrong_is_told_with_the_entry(void **state)
{
    char *path = kvmig__calloc(1, 200);

    (void)state;
    assert_wrong(NULL, "", "there is nothing");
    assert_wrong("", "", "there is nothing");
    assert_wrong("tcp:a:1,,tcp:b:1", "", "there is nothing");
    assert_wrong("tcp:a:1,", "", "there is nothing");
    assert_wrong("tcp:a:1,/run/db.sock", "/run/db.sock", "does not begin with");
    assert_wrong("http://a:1", "http://a:1", "does not begin with");
    assert_wrong("ptcp:6641", "ptcp:6641", "how a server listens");
    assert_wrong("pssl:6641", "pssl:6641", "how a server listens");
    assert_wrong("punix:/x", "punix:/x", "how a server listens");
    assert_wrong("unix:", "unix:", "begins with /");
    assert_wrong("unix:db.sock", "unix:db.sock", "begins with /");
    assert_wrong("tcp:", "tcp:", "no host name");
    assert_wrong("tcp::6641", "tcp::6641", "no host name");
    assert_wrong("tcp:fd00::1", "tcp:fd00::1", "port is not a number");
    assert_wrong("tcp:a:", "tcp:a:", "port is not a number");
    assert_wrong("tcp:a:0", "tcp:a:0", "port is not a number");
    assert_wrong("tcp:a:65536", "tcp:a:65536", "port is not a number");
    assert_wrong("tcp:a:+1", "tcp:a:+1", "port is not a number");
    assert_wrong("tcp:a:1/x", "tcp:a:1/x", "port is not a number");
    assert_wrong("tcp:[::1", "tcp:[::1", "not closed");
    assert_wrong("tcp:[::1]x", "tcp:[::1]x", "port is not a number");
    assert_wrong("tcp:[a]:1", "tcp:[a]:1", "no IPv6 address");
    assert_wrong("tcp:[]:1", "tcp:[]:1", "no IPv6 address");
    assert_wrong("tcp:[fe80::1%]:1", "tcp:[fe80::1%]:1", "no IPv6 address");
    strcpy(path, "unix:/");
    memset(path + 6, 'x', 107);
    assert_wrong(path, path, "longer than");
    free(path);
}

static void nothing_that_means_something_in_a_url_passes(void **state)
{
    static const char *const hosts[] = { "user@host", "a/b",  "a?b", "a#b",  "a b",
                                         "a\\b",      "a%41", "-a",  "a\nb", "h\xC3\xA4" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(hosts); i++) {
        char *text = kvmig__asprintf("tcp:%s:1", hosts[i]);

        assert_wrong(text, text, "no host name");
        free(text);
    }
    assert_wrong("tcp:[::1%a/b]:1", "tcp:[::1%a/b]:1", "no IPv6 address");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_is_named_by_its_path),
        cmocka_unit_test(names_and_addresses_of_both_families_have_a_port),
        cmocka_unit_test(without_a_port_it_is_that_of_ovsdb),
        cmocka_unit_test(those_of_a_cluster_are_joined_by_commas),
        cmocka_unit_test(what_is_wrong_is_told_with_the_entry),
        cmocka_unit_test(nothing_that_means_something_in_a_url_passes),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
