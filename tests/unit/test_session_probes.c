/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Probes that watch the service during a session: what they add to the report, and that a service which is away never decides
 * what becomes of a migration.
 */
#include "session_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener(uint32_t *out_port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, n), 0);
    assert_int_equal(listen(fd, 1024), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n), 0);
    *out_port = ntohs(address.sin_port);
    return fd;
}

static struct kvmig_probe *probe_of(struct fixture *f, uint32_t port)
{
    const struct kvmig_probe_target target = {
        .size = sizeof(target), .host = "127.0.0.1", .port = port, .kind = KVMIG_PROBE_TCP_CONNECT, .interval_ms = 5
    };
    const struct kvmig_probe_target *targets[] = { &target };
    struct kvmig_probe_opts opts = KVMIG_PROBE_OPTS_INIT;
    struct kvmig_probe *probe;

    opts.targets = targets;
    opts.n_targets = 1;
    assert_int_equal(kvmig_probe_new(f->world.context, &opts, &probe), 0);
    return probe;
}

/* The probe has a thread of its own, which does not wake the context. */
static void await(struct fixture *f, bool (*condition)(struct kvmig_probe *probe), struct kvmig_probe *probe)
{
    const int64_t deadline_ms = kvmig__now_ms() + 30000;

    while (!condition(probe)) {
        assert_true(kvmig__now_ms() < deadline_ms);
        fake_drain(&f->world);
        poll(NULL, 0, 1);
    }
}

static bool has_answered_twice(struct kvmig_probe *probe)
{
    struct kvmig_probe_result result = { .size = sizeof(result) };

    assert_int_equal(kvmig_probe_get_result(probe, 0, &result), 0);
    return result.tries - result.failures >= 2;
}

static bool has_failed(struct kvmig_probe *probe)
{
    struct kvmig_probe_result result = { .size = sizeof(result) };

    assert_int_equal(kvmig_probe_get_result(probe, 0, &result), 0);
    return result.failures > 0;
}

static void report_has_the_service_gap_beside_the_pause(void **state)
{
    struct json_object *report, *found;
    struct kvmig_probe *probe;
    struct fixture f;
    uint32_t port;
    int fd;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    fd = listener(&port);
    probe = probe_of(&f, port);
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_add_probe(f.session, probe), 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, session_runs, &f.caller);
    await(&f, has_answered_twice, probe);
    fake_answer_call(&f.world, NULL, false);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_true(fake_heard(&f.caller, "notice SERVICE_GAP"));
    report = report_of(f.session);
    assert_int_equal(json_pointer_get(report, "/service/gap_ms", &found), 0);
    assert_int_equal(json_pointer_get(report, "/probes/0/targets/0/tries", &found), 0);
    assert_true(json_object_get_int64(found) >= 2);
    json_object_put(report);
    kvmig_probe_unref(probe);
    close(fd);
    close_fixture(&f);
}

static void service_that_is_down_before_does_not_hinder_the_migration(void **state)
{
    struct kvmig_probe *probe;
    struct fixture f;
    uint32_t port;

    (void)state;
    open_fixture(&f);
    f.opts.step_timeout_ms = 100;
    close(listener(&port));
    probe = probe_of(&f, port);
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_add_probe(f.session, probe), 0);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_false(fake_heard(&f.caller, "notice SERVICE_NOT_BACK"));
    kvmig_probe_unref(probe);
    close_fixture(&f);
}

static void probe_that_the_caller_stops_is_not_waited_for(void **state)
{
    struct kvmig_probe *probe;
    struct fixture f;
    uint32_t port;
    int fd;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    fd = listener(&port);
    probe = probe_of(&f, port);
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_add_probe(f.session, probe), 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, session_runs, &f.caller);
    assert_int_equal(kvmig_probe_stop(probe), 0);
    fake_answer_call(&f.world, NULL, false);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_false(fake_heard(&f.caller, "notice SERVICE_NOT_BACK"));
    kvmig_probe_unref(probe);
    close(fd);
    close_fixture(&f);
}

static void one_probe_serves_one_session(void **state)
{
    struct kvmig_session *other;
    struct kvmig_probe *probe;
    struct fixture f;
    uint32_t port;
    int fd;

    (void)state;
    open_fixture(&f);
    fd = listener(&port);
    probe = probe_of(&f, port);
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_add_probe(f.session, probe), 0);
    assert_int_equal(kvmig_session_add_probe(f.session, probe), -EBUSY);
    other = f.session;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_add_probe(f.session, probe), -EBUSY);
    kvmig_session_unref(other); /* never started: it lets go */
    assert_int_equal(kvmig_session_add_probe(f.session, probe), 0);
    fake_drain(&f.world);
    f.caller.n_frees = 0;
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    other = f.session;
    f.caller.n_frees = f.caller.n_ends = 0;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_add_probe(f.session, probe), -KVMIG_EPHASE);
    kvmig_session_unref(other);
    fake_drain(&f.world);
    f.caller.n_frees = f.caller.n_late = 0; /* the caller listened to three sessions */
    kvmig_probe_unref(probe);
    close(fd);
    close_fixture(&f);
}

static void service_that_does_not_come_back_is_named(void **state)
{
    struct kvmig_probe *probe;
    struct fixture f;
    uint32_t port;
    int fd;

    (void)state;
    open_fixture(&f);
    f.opts.service_timeout_ms = 50;
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    fd = listener(&port);
    probe = probe_of(&f, port);
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_add_probe(f.session, probe), 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, session_runs, &f.caller);
    close(fd);
    await(&f, has_failed, probe);
    fake_answer_call(&f.world, NULL, false);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_true(fake_heard(&f.caller, "notice SERVICE_NOT_BACK"));
    kvmig_probe_unref(probe);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_has_the_service_gap_beside_the_pause),
        cmocka_unit_test(service_that_is_down_before_does_not_hinder_the_migration),
        cmocka_unit_test(probe_that_the_caller_stops_is_not_waited_for),
        cmocka_unit_test(one_probe_serves_one_session),
        cmocka_unit_test(service_that_does_not_come_back_is_named),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
