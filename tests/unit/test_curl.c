/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libcurl inside the context: results come in dispatch, transfers come and go inside of results, nothing is left
 * behind, and a name service that hangs stops nobody.
 */
#include "context/curl.h"
#include "fake_peer.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>

/* ---- a name service that hangs: takes the place of the C library's ---- */

static struct test_gate name_service = TEST_GATE_INIT;

__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints, struct addrinfo **out)
{
    (void)name, (void)service, (void)hints, (void)out;
    test_gate_pass(&name_service);
    return EAI_AGAIN;
}

/* ---- one transfer ---- */

struct task {
    struct kvmig_context *context;
    CURL *easy;
    struct kvmig__transfer *transfer;
    struct task *remove, *start; /* in done(): takes that one out, begins that one; may be itself */
    _Atomic int done;
    CURLcode result;
    char body[100];
};

static void task_start(struct task *task);

static void task_remove(struct task *task)
{
    kvmig__curl_remove(task->transfer);
    task->transfer = NULL;
}

static void task_is_done(void *data, CURLcode result)
{
    struct task *task = data;

    task->done++;
    task->result = result;
    if (task->remove)
        task_remove(task->remove);
    if (task->start)
        task_start(task->start);
}

static size_t keep_body(char *bytes, size_t size, size_t n, void *data)
{
    struct task *task = data;

    assert_true(n < sizeof(task->body) - strlen(task->body));
    strncat(task->body, bytes, n);
    return size * n;
}

static void task_init(struct task *task, struct kvmig_context *context, const char *url)
{
    *task = (struct task){ .context = context };
    task->easy = kvmig__curl_easy();
    assert_non_null(task->easy);
    curl_easy_setopt(task->easy, CURLOPT_URL, url);
    curl_easy_setopt(task->easy, CURLOPT_WRITEFUNCTION, keep_body);
    curl_easy_setopt(task->easy, CURLOPT_WRITEDATA, task);
}

static void task_start(struct task *task)
{
    task->transfer = kvmig__curl_add(task->context, task->easy, task_is_done, task);
    assert_non_null(task->transfer);
}

static void task_end(struct task *task)
{
    kvmig__context_lock(task->context);
    task_remove(task);
    curl_easy_cleanup(task->easy);
    kvmig__context_unlock(task->context);
}

static void start_locked(struct task *task)
{
    kvmig__context_lock(task->context);
    task_start(task);
    assert_int_equal(task->done, 0); /* never inside add */
    kvmig__context_unlock(task->context);
}

/* ---- an HTTP server ---- */

struct server {
    struct kvmig_context *context;
    struct fake_peer peer;
    char *url;
};

static int setup(void **state)
{
    struct server *server = kvmig__calloc(1, sizeof(*server));

    server->context = test_context_new(0);
    server->peer = fake_peer_tcp();
    server->url = kvmig__asprintf("http://127.0.0.1:%d/", server->peer.remote.port);
    *state = server;
    return 0;
}

static int teardown(void **state)
{
    struct server *server = *state;

    kvmig_context_unref(server->context);
    fake_peer_end(&server->peer);
    free(server->url);
    free(server);
    return 0;
}

/* Waits for a connection and the request on it. */
static int accept_request(struct server *server)
{
    char request[1000];
    int connection;

    peer_pump_until_readable(server->context, server->peer.listener);
    connection = fake_peer_accept(&server->peer);
    peer_pump_until_readable(server->context, connection);
    assert_true(peer_hear(connection, request, sizeof(request)) > 0);
    assert_int_equal(strncmp(request, "GET / ", 6), 0);
    return connection;
}

static const char response[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/* ---- tests ---- */

static void a_transfer_runs_on_the_loop_of_the_context(void **state)
{
    struct server *server = *state;
    struct task task;
    int connection;

    task_init(&task, server->context, server->url);
    start_locked(&task);
    connection = accept_request(server);
    peer_say(connection, response);
    test_run_until(server->context, &task.done, 1);
    assert_int_equal(task.result, CURLE_OK);
    assert_string_equal(task.body, "hello");
    test_drain(server->context);
    assert_int_equal(task.done, 1);
    task_end(&task);
    close(connection);
}

static void a_failure_is_told_in_dispatch(void **state)
{
    struct server *server = *state;
    struct task task;

    fake_peer_stop_listening(&server->peer);
    task_init(&task, server->context, server->url);
    start_locked(&task);
    test_run_until(server->context, &task.done, 1);
    assert_int_equal(task.result, CURLE_COULDNT_CONNECT);
    task_end(&task);
}

static void a_transfer_that_was_removed_is_silent(void **state)
{
    struct server *server = *state;
    struct task task;
    int connection;

    task_init(&task, server->context, server->url);
    start_locked(&task);
    connection = accept_request(server);
    task_end(&task);
    peer_pump_until_readable(server->context, connection); /* the end of the connection */
    test_drain(server->context);
    assert_int_equal(task.done, 0);
    close(connection);
}

static void done_may_remove_and_begin_transfers(void **state)
{
    struct server *server = *state;
    struct task first, second, third;
    int connections[2];

    task_init(&first, server->context, server->url);
    task_init(&second, server->context, server->url);
    task_init(&third, server->context, "http://127.0.0.1:1/");
    first.remove = &second;
    first.start = &third;
    third.remove = &third;
    start_locked(&first);
    connections[0] = accept_request(server);
    start_locked(&second);
    connections[1] = accept_request(server);
    peer_say(connections[1], "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    peer_say(connections[0], response);
    test_run_until(server->context, &third.done, 1);
    assert_int_equal(first.result, CURLE_OK);
    assert_int_equal(second.done, 0);
    assert_null(third.transfer);
    task_end(&first);
    task_end(&second);
    task_end(&third);
    close(connections[0]);
    close(connections[1]);
}

static void a_finished_transfer_can_be_started_again(void **state)
{
    struct server *server = *state;
    struct task task;
    int connection;

    task_init(&task, server->context, server->url);
    task.remove = &task;
    start_locked(&task);
    connection = accept_request(server);
    peer_say(connection, response);
    test_run_until(server->context, &task.done, 1);
    kvmig__context_lock(server->context);
    task_start(&task);
    kvmig__context_unlock(server->context);
    peer_pump_until_readable(server->context, connection); /* the connection was kept */
    peer_say(connection, response);
    test_run_until(server->context, &task.done, 2);
    assert_string_equal(task.body, "hellohello");
    task_end(&task);
    close(connection);
}

static void connections_end_with_the_context(void **state)
{
    struct server *server = *state;
    struct kvmig_context *context = test_context_new(0);
    struct server other = { .context = context, .peer = server->peer };
    struct task task;
    char text[1000];
    int connection;

    task_init(&task, context, server->url);
    start_locked(&task);
    connection = accept_request(&other);
    peer_say(connection, response);
    test_run_until(context, &task.done, 1);
    task_end(&task);
    kvmig_context_unref(context);
    while (peer_hear(connection, text, sizeof(text)) > 0) {
    }
    close(connection);
}

/* The descriptor of this process that is connected to the server; -1 if there is none. */
static int client_of(const struct server *server)
{
    struct sockaddr_in listens = { 0 }, peer;
    socklen_t n = sizeof(listens);

    assert_int_equal(getsockname(server->peer.listener, (struct sockaddr *)&listens, &n), 0);
    for (int fd = 3; fd < 256; fd++) {
        n = sizeof(peer);
        if (getpeername(fd, (struct sockaddr *)&peer, &n) == 0 && peer.sin_family == AF_INET &&
            peer.sin_port == listens.sin_port)
            return fd;
    }
    return -1;
}

static void connections_are_not_inherited_by_programs(void **state)
{
    struct server *server = *state;
    struct task task;
    int connection;

    task_init(&task, server->context, server->url);
    start_locked(&task);
    connection = accept_request(server);
    assert_true(client_of(server) >= 0);
    assert_int_equal(fcntl(client_of(server), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    peer_say(connection, response);
    test_run_until(server->context, &task.done, 1);
    task_end(&task);
    close(connection);
}

static void two_contexts_keep_to_themselves(void **state)
{
    struct server *server = *state;
    struct kvmig_context *context = test_context_new(KVMIG_CONTEXT_THREAD);
    struct task here, there;

    task_init(&here, server->context, "http://127.0.0.1:1/");
    task_init(&there, context, "http://127.0.0.1:1/");
    start_locked(&here);
    kvmig__context_lock(context);
    task_start(&there);
    kvmig__context_unlock(context);
    test_run_until(context, &there.done, 1);
    assert_int_equal(here.done, 0);
    test_run_until(server->context, &here.done, 1);
    task_end(&here);
    task_end(&there);
    kvmig_context_unref(context);
}

/* The look-up still runs when the transfer is gone; it must not be waited for. */
static void a_name_service_that_hangs_holds_nobody_up(void **state)
{
    struct server *server = *state;
    struct task given_up, timed_out;

    task_init(&given_up, server->context, "http://given-up.invalid/");
    task_init(&timed_out, server->context, "http://timed-out.invalid/");
    curl_easy_setopt(timed_out.easy, CURLOPT_CONNECTTIMEOUT_MS, 50L);
    start_locked(&given_up);
    start_locked(&timed_out);
    test_run_until(server->context, &timed_out.done, 1);
    test_wait_for(&name_service.waiting, 2);
    assert_int_equal(timed_out.result, CURLE_OPERATION_TIMEDOUT);
    task_end(&given_up);
    task_end(&timed_out);
    assert_int_equal(given_up.done, 0);
    kvmig_context_unref(server->context);
    server->context = NULL;
    assert_int_equal(name_service.waiting, 2); /* all of that while both hang */
    test_gate_open(&name_service);
    while (name_service.waiting > 0)
        poll(NULL, 0, 1);
}

static void the_slot_of_a_context_keeps_a_pointer(void **state)
{
    struct server *server = *state;
    void **slot;

    kvmig__context_lock(server->context);
    slot = kvmig__context_slot(server->context, KVMIG__SLOT_OVSDB);
    assert_null(*slot);
    *slot = server;
    assert_ptr_equal(*kvmig__context_slot(server->context, KVMIG__SLOT_OVSDB), server);
    *slot = NULL;
    kvmig__context_unlock(server->context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_transfer_runs_on_the_loop_of_the_context, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failure_is_told_in_dispatch, setup, teardown),
        cmocka_unit_test_setup_teardown(a_transfer_that_was_removed_is_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(done_may_remove_and_begin_transfers, setup, teardown),
        cmocka_unit_test_setup_teardown(a_finished_transfer_can_be_started_again, setup, teardown),
        cmocka_unit_test_setup_teardown(connections_end_with_the_context, setup, teardown),
        cmocka_unit_test_setup_teardown(connections_are_not_inherited_by_programs, setup, teardown),
        cmocka_unit_test_setup_teardown(two_contexts_keep_to_themselves, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_service_that_hangs_holds_nobody_up, setup, teardown),
        cmocka_unit_test_setup_teardown(the_slot_of_a_context_keeps_a_pointer, setup, teardown),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
