/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The libvirt backend of a host: reading it, asking for one domain, acting on it, and hosts that are wrong, down or hung.
 * The hosts are those of libvirt's built-in test driver, which needs no daemon; a hung one is a socket that listens and
 * never answers. As the application, the test silences libvirt; asserts run on the test's thread only.
 */
#include "cluster_test.h"
#include "libvirt/libvirt_internal.h"
#include "threads_test.h"
#include <kvmig/libvirt.h>

#include <arpa/inet.h>
#include <errno.h>
#include <libvirt/virterror.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define NODE_URI "test://" TOP_SRCDIR "/tests/unit/host_node.xml"
#define WEB "11111111-1111-4111-8111-111111111111"

static void open_uris(struct test_view *view, const char *const *uris, size_t n, uint32_t call_timeout_ms)
{
    struct kvmig_cluster_opts opts = test_view_opts(view);

    opts.libvirt_uris = uris;
    opts.n_libvirt_uris = n;
    opts.call_timeout_ms = call_timeout_ms;
    opts.refresh_ms = 20;
    test_view_open(view, &opts);
}

/* A view of one host by a connection of the caller's; what is done through it shows on that connection. */
static virConnectPtr open_given(struct test_view *view)
{
    const struct kvmig_cluster_opts opts = test_view_opts(view);
    virConnectPtr conn = virConnectOpen(NODE_URI);

    assert_non_null(conn);
    test_view_open(view, &opts);
    assert_int_equal(kvmig_cluster_add_libvirt(view->cluster, conn), 0);
    test_view_await(view, "cluster-synced", 1);
    return conn;
}

static struct kvmig__cluster_host *host_of(struct test_view *view, size_t index)
{
    return view->cluster->hosts.v[index];
}

/* ---- reading ---- */

static void a_host_is_read_as_it_is(void **state)
{
    static const char *const uris[] = { NODE_URI };
    struct test_view view = { 0 };
    const struct kvmig__host *facts;
    const struct kvmig__domain *web, *spare;
    const struct kvmig__volume *volume;

    (void)state;
    open_uris(&view, uris, 1, 0);
    assert_int_equal(kvmig_cluster_is_synced(view.cluster), 0);
    test_view_await(&view, "cluster-synced", 1);
    kvmig__context_lock(view.context);
    facts = host_of(&view, 0)->facts;
    assert_int_equal(facts->state, KVMIG__HOST_UP);
    assert_int_equal(facts->libvirt_version / 1000000, LIBVIR_VERSION_NUMBER / 1000000);
    assert_string_equal(facts->uri, NODE_URI);
    assert_true(facts->memory_total > 0);
    assert_true(facts->domains_known && facts->networks_known && facts->pools_known && facts->bridges_known);

    assert_int_equal(facts->domains.n, 2);
    web = kvmig__host_find_domain(facts, "web");
    spare = kvmig__host_find_domain(facts, "22222222-2222-4222-8222-222222222222");
    assert_non_null(web);
    assert_non_null(spare);
    assert_int_equal(web->state, KVMIG__STATE_RUNNING);
    assert_true(web->persistent);
    assert_int_equal(web->memory, 512 << 20);
    assert_int_equal(web->disks.n, 1);
    assert_string_equal(web->disks.v[0].source.path, "/pool/web.qcow2");
    assert_int_equal(spare->state, KVMIG__STATE_SHUTOFF);

    assert_int_equal(facts->networks.n, 1);
    assert_string_equal(facts->networks.v[0].portgroups.v[0], "fast");
    assert_true(kvmig__strlist_has(&facts->bridges, "br-guests")); /* a running guest uses it */
    assert_true(kvmig__strlist_has(&facts->bridges, "eth7"));
    assert_false(kvmig__strlist_has(&facts->bridges, "tapweb")); /* the guest's own */

    assert_int_equal(facts->client_version, LIBVIR_VERSION_NUMBER);
    assert_false(facts->secrets_known); /* the test driver keeps none, which is not the same as having none */

    assert_int_equal(facts->pools.n, 1);
    assert_true(facts->pools.v[0].active);
    volume = kvmig__pool_find_volume(&facts->pools.v[0], "/pool/web.qcow2");
    assert_non_null(volume);
    assert_int_equal(volume->capacity, 1000000);
    kvmig__context_unlock(view.context);
    test_view_close(&view);
}

static void the_memory_of_a_host_is_read_per_cell(void **state)
{
    static const char *const uris[] = { "test:///default" };
    struct test_view view = { 0 };
    const struct kvmig__host *facts;

    (void)state;
    open_uris(&view, uris, 1, 0);
    test_view_await(&view, "cluster-synced", 1);
    kvmig__context_lock(view.context);
    facts = host_of(&view, 0)->facts;
    assert_true(facts->cells_known);
    assert_int_equal(facts->cells.n, 2);
    assert_true(facts->cells.v[1].cpus.n > 0 && facts->cells.v[1].pages.n > 0);
    assert_int_equal(facts->cells.v[0].pages.v[1].size, 2 << 20);
    assert_int_equal(facts->cells.v[0].pages.v[1].free, 0); /* it has none of that size */
    assert_true(facts->cells.v[0].pages.v[0].free != KVMIG__UNKNOWN); /* asked for by a call of its own */
    kvmig__context_unlock(view.context);
    test_view_close(&view);
}

static void a_change_on_the_host_is_noticed(void **state)
{
    struct test_view view = { 0 };
    struct kvmig_cluster_opts opts = test_view_opts(&view);
    virConnectPtr conn = virConnectOpen(NODE_URI);
    virDomainPtr web;
    char *changed;

    (void)state;
    assert_non_null(conn);
    opts.refresh_ms = 20;
    test_view_open(&view, &opts);
    assert_int_equal(kvmig_cluster_add_libvirt(view.cluster, conn), 0);
    test_view_await(&view, "cluster-synced", 1);
    kvmig__context_lock(view.context);
    changed = kvmig__asprintf("cluster-changed %s", host_of(&view, 0)->facts->name);
    kvmig__context_unlock(view.context);
    assert_false(test_view_saw(&view, changed));

    web = virDomainLookupByName(conn, "web");
    assert_non_null(web);
    assert_int_equal(virDomainSuspend(web), 0);
    test_view_await(&view, changed, 1);
    kvmig__context_lock(view.context);
    assert_int_equal(kvmig__host_find_domain(host_of(&view, 0)->facts, "web")->state, KVMIG__STATE_PAUSED);
    /* Volumes come from the cache now, and are all there. */
    assert_int_equal(host_of(&view, 0)->facts->pools.v[0].volumes.n, 1);
    kvmig__context_unlock(view.context);
    free(changed);
    virDomainFree(web);
    test_view_close(&view);
    virConnectClose(conn);
}

static void bad_hosts_are_lost_and_delay_no_other(void **state)
{
    static const char *const uris[] = { "qemu+tcp://127.0.0.1:1/system", NODE_URI, "qemu+tcp://[", "nonsense" };
    struct test_view view = { 0 };

    (void)state;
    open_uris(&view, uris, 4, 0);
    test_view_await(&view, "cluster-synced", 1);
    assert_true(test_view_saw(&view, "host-lost qemu+tcp://127.0.0.1:1/system"));
    assert_true(test_view_saw(&view, "host-lost qemu+tcp://["));
    assert_true(test_view_saw(&view, "host-lost nonsense"));
    kvmig__context_lock(view.context);
    assert_int_equal(host_of(&view, 0)->facts->state, KVMIG__HOST_LOST);
    assert_int_equal(host_of(&view, 0)->facts->lost_error->code, -KVMIG_EUNREACHABLE);
    assert_non_null(strstr(host_of(&view, 0)->facts->lost_error->where, uris[0]));
    assert_non_null(host_of(&view, 0)->facts->lost_error->hint);
    assert_int_equal(host_of(&view, 1)->facts->state, KVMIG__HOST_UP);
    kvmig__context_unlock(view.context);
    test_view_close(&view);
}

static void a_refresh_reads_and_syncs_once_more(void **state)
{
    static const char *const uris[] = { NODE_URI, "qemu+tcp://127.0.0.1:1/system" };
    struct test_view view = { 0 };

    (void)state;
    open_uris(&view, uris, 2, 0);
    test_view_await(&view, "cluster-synced", 1);
    assert_int_equal(kvmig_cluster_refresh(view.cluster), 0);
    test_view_await(&view, "cluster-synced", 2);
    assert_int_equal(test_view_count(&view, "host-lost qemu+tcp://127.0.0.1:1/system"), 1);
    test_view_close(&view);
}

/* ---- a caller's own connection ---- */

static void a_connection_can_be_added_once_and_outlives_the_view(void **state)
{
    struct test_view view = { 0 };
    virConnectPtr conn = open_given(&view);

    (void)state;
    assert_int_equal(kvmig_cluster_add_libvirt(view.cluster, conn), -EINVAL);
    assert_int_equal(kvmig_cluster_add_libvirt(view.cluster, NULL), -EINVAL);
    assert_int_equal(kvmig_cluster_add_libvirt(NULL, conn), -EINVAL);
    test_view_close(&view);
    assert_int_equal(virConnectIsAlive(conn), 1);
    virConnectClose(conn);
}

/* ---- questions and actions ---- */

struct answer {
    struct kvmig__side side;
    int32_t code; /* of an action */
    unsigned n;
};

static void take_side(void *owner, const struct kvmig__side *side)
{
    struct answer *answer = owner;

    kvmig__side_clear(&answer->side);
    kvmig__side_copy(&answer->side, side);
    answer->n++;
}

static void take_result(void *owner, const struct kvmig_error *error)
{
    struct answer *answer = owner;

    answer->code = kvmig_error_code(error);
    answer->n++;
}

static int32_t is_answered(void *data)
{
    return ((struct answer *)data)->n > 0;
}

static void await_answer(struct test_view *view, struct answer *answer)
{
    assert_int_equal(kvmig_context_run(view->context, is_answered, answer, TEST_DEADLINE_MS), 0);
    assert_int_equal(answer->n, 1);
    answer->n = 0;
}

static void ask(struct test_view *view, const char *vm, struct answer *answer)
{
    struct kvmig__host_backend *backend = host_of(view, 0)->backend;

    kvmig__context_lock(view->context);
    backend->ops->read_side(backend, vm, TEST_DEADLINE_MS, take_side, answer);
    assert_int_equal(answer->n, 0); /* never from inside the call */
    kvmig__context_unlock(view->context);
    await_answer(view, answer);
}

static int32_t act(struct test_view *view, const char *vm, int32_t action)
{
    struct kvmig__host_backend *backend = host_of(view, 0)->backend;
    struct answer answer = { .n = 0 };

    kvmig__context_lock(view->context);
    backend->ops->act(backend, vm, action, TEST_DEADLINE_MS, take_result, &answer);
    kvmig__context_unlock(view->context);
    await_answer(view, &answer);
    return answer.code;
}

static void a_side_tells_state_and_absence(void **state)
{
    struct test_view view = { 0 };
    virConnectPtr conn = open_given(&view);
    struct answer answer = { .n = 0 };

    (void)state;
    ask(&view, WEB, &answer);
    assert_true(answer.side.reachable);
    assert_int_equal(answer.side.state, KVMIG__STATE_RUNNING);
    assert_true(answer.side.persistent);
    assert_string_equal(answer.side.uuid, WEB);
    assert_false(answer.side.job_active);
    ask(&view, "spare", &answer);
    assert_int_equal(answer.side.state, KVMIG__STATE_SHUTOFF);
    assert_string_equal(answer.side.uuid, "22222222-2222-4222-8222-222222222222");
    ask(&view, "99999999-9999-4999-8999-999999999999", &answer);
    assert_true(answer.side.reachable);
    assert_int_equal(answer.side.state, KVMIG__STATE_ABSENT);
    ask(&view, "no-such-domain", &answer);
    assert_true(answer.side.reachable);
    assert_null(answer.side.uuid);
    assert_int_equal(answer.side.state, KVMIG__STATE_ABSENT);
    kvmig__side_clear(&answer.side);
    test_view_close(&view);
    virConnectClose(conn);
}

static void a_host_that_is_down_is_not_reachable(void **state)
{
    static const char *const uris[] = { "qemu+tcp://127.0.0.1:1/system" };
    struct test_view view = { 0 };
    struct answer answer = { .n = 0 };

    (void)state;
    open_uris(&view, uris, 1, 0);
    ask(&view, WEB, &answer);
    assert_false(answer.side.reachable);
    assert_non_null(strstr(answer.side.error, "127.0.0.1"));
    assert_true(act(&view, WEB, KVMIG_ACTION_DESTROY_TARGET) < 0);
    kvmig__side_clear(&answer.side);
    test_view_close(&view);
}

static void actions_may_be_repeated(void **state)
{
    struct test_view view = { 0 };
    virConnectPtr conn = open_given(&view);
    struct answer answer = { .n = 0 };

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(act(&view, WEB, KVMIG_ACTION_SUSPEND_BOTH), 0);
    ask(&view, WEB, &answer);
    assert_int_equal(answer.side.state, KVMIG__STATE_PAUSED);
    assert_int_equal(answer.side.reason, KVMIG__REASON_USER);
    for (int i = 0; i < 2; i++)
        assert_int_equal(act(&view, WEB, KVMIG_ACTION_RESUME_SOURCE), 0);
    ask(&view, WEB, &answer);
    assert_int_equal(answer.side.state, KVMIG__STATE_RUNNING);
    assert_int_equal(act(&view, WEB, KVMIG_ACTION_DESTROY_TARGET), -KVMIG_EREFUSED); /* it runs */
    ask(&view, WEB, &answer);
    assert_int_equal(answer.side.state, KVMIG__STATE_RUNNING);
    assert_int_equal(act(&view, WEB, KVMIG_ACTION_SUSPEND_BOTH), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(act(&view, WEB, KVMIG_ACTION_DESTROY_TARGET), 0);
    ask(&view, WEB, &answer);
    assert_int_equal(answer.side.state, KVMIG__STATE_SHUTOFF);
    assert_true(answer.side.persistent); /* its definition stays */
    assert_int_equal(act(&view, "no-such-domain", KVMIG_ACTION_DESTROY_SOURCE), 0);
    assert_true(act(&view, "no-such-domain", KVMIG_ACTION_RESUME_TARGET) < 0);
    assert_int_equal(act(&view, WEB, KVMIG_ACTION_SUSPEND_BOTH), 0);
    assert_int_equal(act(&view, WEB, KVMIG_ACTION_RESUME_TARGET),
                     -KVMIG_EREFUSED); /* it does not run, and is not started */
    assert_int_equal(act(&view, WEB, KVMIG_ACTION_WAIT), -EINVAL);
    kvmig__side_clear(&answer.side);
    test_view_close(&view);
    virConnectClose(conn);
}

static void states_and_reasons_that_matter_are_told_apart(void **state)
{
    static const struct {
        int state, reason;
        int32_t our_state, our_reason;
    } cases[] = {
        { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_BOOTED, KVMIG__STATE_RUNNING, KVMIG__REASON_BOOTED },
        { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_UNPAUSED, KVMIG__STATE_RUNNING, KVMIG__REASON_UNPAUSED },
        { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_RESTORED, KVMIG__STATE_RUNNING, KVMIG__REASON_OTHER },
        { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_MIGRATED, KVMIG__STATE_RUNNING, KVMIG__REASON_MIGRATED },
        { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_MIGRATION_CANCELED, KVMIG__STATE_RUNNING,
          KVMIG__REASON_MIGRATION_CANCELED },
        { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_POSTCOPY, KVMIG__STATE_RUNNING, KVMIG__REASON_POSTCOPY },
        { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_POSTCOPY_FAILED, KVMIG__STATE_RUNNING, KVMIG__REASON_POSTCOPY_FAILED },
        { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_USER, KVMIG__STATE_PAUSED, KVMIG__REASON_USER },
        { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION, KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION },
        { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_IOERROR, KVMIG__STATE_PAUSED, KVMIG__REASON_IOERROR },
        { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_STARTING_UP, KVMIG__STATE_PAUSED, KVMIG__REASON_STARTING_UP },
        { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_POSTCOPY, KVMIG__STATE_PAUSED, KVMIG__REASON_POSTCOPY },
        { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_POSTCOPY_FAILED, KVMIG__STATE_PAUSED, KVMIG__REASON_POSTCOPY_FAILED },
        { VIR_DOMAIN_PAUSED, 14 /* API_ERROR, since libvirt 9.2 */, KVMIG__STATE_PAUSED, KVMIG__REASON_API_ERROR },
        { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_MIGRATED, KVMIG__STATE_SHUTOFF, KVMIG__REASON_MIGRATED },
        { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_CRASHED, KVMIG__STATE_SHUTOFF, KVMIG__REASON_CRASHED },
        { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_UNKNOWN, KVMIG__STATE_SHUTOFF, KVMIG__REASON_UNSPECIFIED },
        { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_SHUTDOWN, KVMIG__STATE_SHUTOFF, KVMIG__REASON_SHUTDOWN },
        { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_DESTROYED, KVMIG__STATE_SHUTOFF, KVMIG__REASON_DESTROYED },
        { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_FAILED, KVMIG__STATE_SHUTOFF, KVMIG__REASON_FAILED },
        { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_SAVED, KVMIG__STATE_SHUTOFF, KVMIG__REASON_OTHER },
        { VIR_DOMAIN_CRASHED, VIR_DOMAIN_CRASHED_PANICKED, KVMIG__STATE_CRASHED, KVMIG__REASON_CRASHED },
        { VIR_DOMAIN_PMSUSPENDED, 0, KVMIG__STATE_SUSPENDED_PM, KVMIG__REASON_OTHER },
        { VIR_DOMAIN_SHUTDOWN, 0, KVMIG__STATE_OTHER, KVMIG__REASON_OTHER }, /* its QEMU still lives */
        { 99, 99, KVMIG__STATE_OTHER, KVMIG__REASON_OTHER },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        assert_int_equal(kvmig__virt_domain_state(cases[i].state), cases[i].our_state);
        assert_int_equal(kvmig__virt_domain_reason(cases[i].state, cases[i].reason), cases[i].our_reason);
    }
}

/* ---- a host that hangs ---- */

/* Listens; connections are made by the kernel and never served. */
static int hung_daemon(char *uri, size_t size)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    snprintf(uri, size, "qemu+tcp://127.0.0.1:%d/system", ntohs(address.sin_port));
    return fd;
}

static void a_hung_host_delays_no_other_and_collects_no_threads(void **state)
{
    char hung[64], lost[96];
    const char *const uris[] = { hung, NODE_URI };
    const unsigned threads_before = count_threads();
    int fd = hung_daemon(hung, sizeof(hung));
    struct test_view view = { 0 };
    struct kvmig__cluster_host *good;
    int64_t facts_ms;

    (void)state;
    snprintf(lost, sizeof(lost), "host-lost %s", hung);
    open_uris(&view, uris, 2, 1500); /* long enough for the good one on a busy machine */
    test_view_await(&view, "cluster-synced", 1);
    assert_int_equal(test_view_count(&view, lost), 1);
    assert_int_equal(kvmig_error_code(view.lost_error), -KVMIG_EUNREACHABLE);
    good = host_of(&view, 1);
    facts_ms = good->facts_ms;
    for (size_t i = 2; i <= 6; i++) { /* each refresh dials it again */
        assert_int_equal(kvmig_cluster_refresh(view.cluster), 0);
        test_view_await(&view, "cluster-synced", i);
    }
    assert_true(good->facts_ms > facts_ms);
    assert_int_equal(good->facts->state, KVMIG__HOST_UP);
    assert_int_equal(test_view_count(&view, lost), 1);
    /* Three that hang, and the lanes of two hosts. */
    assert_true(count_threads() <= threads_before + 3 + 2 * 3);
    test_view_close(&view); /* does not wait for them */
    close(fd); /* the kernel resets the connections: they come back */
    await_threads(threads_before);
}

static void questions_to_a_hung_host_are_answered_in_time(void **state)
{
    char hung[64];
    const char *const uris[] = { hung };
    const unsigned threads_before = count_threads();
    int fd = hung_daemon(hung, sizeof(hung));
    struct test_view view = { 0 };
    struct answer answers[6] = { 0 }, result = { .n = 0 };
    struct kvmig__host_backend *backend;

    (void)state;
    open_uris(&view, uris, 1, 100);
    backend = host_of(&view, 0)->backend;
    for (size_t i = 0; i < 6; i++) { /* the first hangs; those behind it are asked again on another lane */
        kvmig__context_lock(view.context);
        backend->ops->read_side(backend, WEB, 50 + 10 * (int64_t)i, take_side, &answers[i]);
        kvmig__context_unlock(view.context);
    }
    for (size_t i = 0; i < 6; i++) {
        await_answer(&view, &answers[i]);
        assert_false(answers[i].side.reachable);
        assert_non_null(answers[i].side.error);
        kvmig__side_clear(&answers[i].side);
    }
    kvmig__context_lock(view.context);
    backend->ops->act(backend, WEB, KVMIG_ACTION_DESTROY_SOURCE, 50, take_result, &result);
    kvmig__context_unlock(view.context);
    await_answer(&view, &result);
    assert_int_equal(result.code, -KVMIG_EUNKNOWN);
    kvmig__context_lock(view.context); /* one is on its way when everything is closed */
    backend->ops->read_side(backend, WEB, TEST_DEADLINE_MS, take_side, &result);
    kvmig__context_unlock(view.context);
    test_view_close(&view);
    close(fd);
    await_threads(threads_before);
    assert_int_equal(result.n, 0);
}

static void take_measured(void *owner, const struct kvmig__measured *measured, const struct kvmig_error *error)
{
    struct answer *answer = owner;

    answer->n++;
    answer->code = !measured && error ? kvmig_error_code(error) : 0;
}

static void measurements_of_a_hung_host_collect_no_threads(void **state)
{
    const struct kvmig__measure what = { .window_ms = { 1000, 2000 }, .timeout_ms = 30 };
    char hung[64];
    const char *const uris[] = { hung };
    const unsigned threads_before = count_threads();
    int fd = hung_daemon(hung, sizeof(hung));
    struct test_view view = { 0 };
    struct answer answers[2] = { 0 };
    struct kvmig__host_backend *backend;

    (void)state;
    open_uris(&view, uris, 1, 100);
    backend = host_of(&view, 0)->backend;
    for (int round = 0; round < 6; round++) { /* the second of each waits behind the one that hangs */
        kvmig__context_lock(view.context);
        for (size_t i = 0; i < 2; i++)
            backend->ops->measure(backend, WEB, &what, take_measured, &answers[i]);
        assert_int_equal(answers[0].n + answers[1].n, 0); /* never from inside */
        kvmig__context_unlock(view.context);
        for (size_t i = 0; i < 2; i++) {
            await_answer(&view, &answers[i]);
            assert_int_equal(answers[i].code, round < 3 ? -ETIMEDOUT : -KVMIG_EUNREACHABLE);
        }
    }
    assert_true(count_threads() <= threads_before + 2 * 3 + 2); /* reading and measuring, and their new lanes */
    test_view_close(&view);
    close(fd);
    await_threads(threads_before);
}

static void a_host_that_answers_again_is_found(void **state)
{
    char hung[64];
    const char *const uris[] = { hung };
    int fd = hung_daemon(hung, sizeof(hung));
    const unsigned threads_before = count_threads();
    struct test_view view = { 0 };

    (void)state;
    open_uris(&view, uris, 1, 50);
    for (size_t i = 1; i <= 6; i++) {
        test_view_await(&view, "cluster-synced", i);
        assert_int_equal(kvmig_cluster_refresh(view.cluster), 0);
    }
    test_view_await(&view, "cluster-synced", 7);
    kvmig__context_lock(view.context);
    assert_non_null(
        strstr(host_of(&view, 0)->facts->lost_error->message, "still hang")); /* it is not dialled any more */
    kvmig__context_unlock(view.context);
    close(fd); /* the calls return; from now on the port refuses */
    await_threads(threads_before);
    assert_int_equal(kvmig_cluster_refresh(view.cluster), 0);
    test_view_await(&view, "cluster-synced", 8);
    kvmig__context_lock(view.context);
    assert_null(strstr(host_of(&view, 0)->facts->lost_error->message, "still hang"));
    kvmig__context_unlock(view.context);
    test_view_close(&view);
    await_threads(threads_before);
}

static void ignore_error(void *data, virErrorPtr error)
{
    (void)data;
    (void)error;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_read_as_it_is),
        cmocka_unit_test(the_memory_of_a_host_is_read_per_cell),
        cmocka_unit_test(a_change_on_the_host_is_noticed),
        cmocka_unit_test(bad_hosts_are_lost_and_delay_no_other),
        cmocka_unit_test(a_refresh_reads_and_syncs_once_more),
        cmocka_unit_test(a_connection_can_be_added_once_and_outlives_the_view),
        cmocka_unit_test(a_side_tells_state_and_absence),
        cmocka_unit_test(a_host_that_is_down_is_not_reachable),
        cmocka_unit_test(actions_may_be_repeated),
        cmocka_unit_test(states_and_reasons_that_matter_are_told_apart),
        cmocka_unit_test(a_hung_host_delays_no_other_and_collects_no_threads),
        cmocka_unit_test(questions_to_a_hung_host_are_answered_in_time),
        cmocka_unit_test(measurements_of_a_hung_host_collect_no_threads),
        cmocka_unit_test(a_host_that_answers_again_is_found),
    };

    virSetErrorFunc(NULL, ignore_error);
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
