/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The public resolver and its actions on domains of two hosts, both of libvirt's built-in test driver, which needs no daemon:
 * guests that share a name, a guest with two names, and an action that comes back after it was given up. For the last one
 * two calls of libvirt are replaced by ones that can be held up; they do nothing else.
 */
#include "cluster_test.h"
#include "libvirt/libvirt_internal.h"
#include "threads_test.h"
#include <kvmig/libvirt.h>

#include <dlfcn.h>
#include <libvirt/virterror.h>
#include <poll.h>
#include <stdatomic.h>

#define NODE_URI "test://" TOP_SRCDIR "/tests/unit/host_node.xml"
#define OTHER_URI "test:///default"
#define WEB "11111111-1111-4111-8111-111111111111" /* "web" on the node */
#define STRANGER "99999999-9999-4999-8999-999999999999"

/* ---- calls that can be held up ---- */

enum held { HOLD_NOTHING, HOLD_LOOKUP, HOLD_STATE };

static _Atomic int held; /* enum held: the next such call waits for as long as this stays */
static _Atomic int n_waiting;

static void pass(enum held call)
{
    if (held != (int)call)
        return;
    n_waiting++;
    while (held == (int)call)
        poll(NULL, 0, 1);
    n_waiting--;
}

virDomainPtr virDomainLookupByUUIDString(virConnectPtr conn, const char *uuid)
{
    virDomainPtr (*real)(virConnectPtr conn, const char *uuid);

    *(void **)&real = dlsym(RTLD_NEXT, "virDomainLookupByUUIDString");
    pass(HOLD_LOOKUP);
    return real(conn, uuid);
}

int virDomainGetState(virDomainPtr domain, int *state, int *reason, unsigned int flags)
{
    int (*real)(virDomainPtr domain, int *state, int *reason, unsigned int flags);

    *(void **)&real = dlsym(RTLD_NEXT, "virDomainGetState");
    pass(HOLD_STATE);
    return real(domain, state, reason, flags);
}

/* ---- two hosts ---- */

struct hosts {
    struct test_view view;
    virConnectPtr node, other; /* what is done through the view shows here */
};

static void open_hosts(struct hosts *hosts)
{
    const struct kvmig_cluster_opts opts = test_view_opts(&hosts->view);

    hosts->node = virConnectOpen(NODE_URI);
    hosts->other = virConnectOpen(OTHER_URI);
    assert_non_null(hosts->node);
    assert_non_null(hosts->other);
    test_view_open(&hosts->view, &opts);
    assert_int_equal(kvmig_cluster_add_libvirt(hosts->view.cluster, hosts->node), 0);
    assert_int_equal(kvmig_cluster_add_libvirt(hosts->view.cluster, hosts->other), 0);
    test_view_await(&hosts->view, "cluster-synced", 1);
}

/* The library's own references to the connection may live a moment longer, and with them its guests. */
static void end_guests(virConnectPtr conn)
{
    virDomainPtr *domains = NULL;
    int n = virConnectListAllDomains(conn, &domains, VIR_CONNECT_LIST_DOMAINS_TRANSIENT);

    for (int i = 0; i < n; i++) {
        virDomainDestroy(domains[i]);
        virDomainFree(domains[i]);
    }
    free(domains);
}

static void close_hosts(struct hosts *hosts)
{
    test_view_close(&hosts->view);
    virConnectClose(hosts->node);
    end_guests(hosts->other);
    virConnectClose(hosts->other);
}

static void start_guest(virConnectPtr conn, const char *name, const char *uuid, unsigned flags)
{
    char *xml = kvmig__asprintf("<domain type='test'><name>%s</name><uuid>%s</uuid><memory>65536</memory>"
                                "<os><type arch='i686'>hvm</type></os></domain>",
                                name, uuid);
    virDomainPtr domain = virDomainCreateXML(conn, xml, flags);

    free(xml);
    assert_non_null(domain);
    virDomainFree(domain);
}

static int state_of(virConnectPtr conn, const char *uuid)
{
    virDomainPtr domain = virDomainLookupByUUIDString(conn, uuid);
    int state;

    assert_non_null(domain);
    assert_int_equal(virDomainGetState(domain, &state, NULL, 0), 0);
    virDomainFree(domain);
    return state;
}

/* Of "web" on the node. */
static void change_web(const struct hosts *hosts, int (*change)(virDomainPtr))
{
    virDomainPtr web = virDomainLookupByName(hosts->node, "web"); /* never held up */

    assert_non_null(web);
    assert_int_equal(change(web), 0);
    virDomainFree(web);
}

/* ---- questions ---- */

struct answer {
    struct kvmig_location *location; /* kept */
    int32_t code;
    unsigned n;
};

static void on_location(const struct kvmig_location *location, const struct kvmig_error *error, void *data)
{
    struct answer *answer = data;

    kvmig_location_unref(answer->location);
    answer->location = kvmig_location_ref(location);
    answer->code = kvmig_error_code(error);
    answer->n++;
}

static void on_act(void *owner, const struct kvmig_error *error)
{
    struct answer *answer = owner;

    answer->code = kvmig_error_code(error);
    answer->n++;
}

static int32_t is_answered(void *data)
{
    return ((struct answer *)data)->n > 0;
}

static void await_answer(struct hosts *hosts, struct answer *answer)
{
    assert_int_equal(kvmig_context_run(hosts->view.context, is_answered, answer, TEST_DEADLINE_MS), 0);
    assert_int_equal(answer->n, 1);
    answer->n = 0;
}

static int32_t locate(struct hosts *hosts, const char *vm, struct answer *answer)
{
    struct kvmig_locate_opts opts = KVMIG_LOCATE_OPTS_INIT;

    opts.vm = vm;
    opts.source = NODE_URI;
    opts.target = OTHER_URI;
    assert_int_equal(
        kvmig_cluster_locate(hosts->view.cluster, &opts, (struct kvmig_location_callback){ on_location, answer, NULL }),
        0);
    await_answer(hosts, answer);
    assert_int_equal(answer->code, 0);
    return kvmig_location_verdict(answer->location);
}

static int32_t apply(const struct answer *answer, int32_t action)
{
    return kvmig_location_apply(answer->location, action,
                                (struct kvmig_location_callback){ on_location, (void *)answer, NULL });
}

/* ---- names ---- */

static void two_guests_of_one_name_are_not_taken_for_copies(void **state)
{
    struct hosts hosts = { .node = NULL };
    struct answer answer = { .n = 0 };
    const char *proof;

    (void)state;
    open_hosts(&hosts);
    start_guest(hosts.other, "web", STRANGER, 0);
    assert_int_equal(locate(&hosts, "web", &answer), KVMIG_LOCATION_UNDECIDED);
    assert_int_equal(kvmig_location_action_count(answer.location), 0);
    assert_null(kvmig_location_host(answer.location));
    proof = kvmig_location_proof(answer.location);
    assert_non_null(strstr(proof, WEB));
    assert_non_null(strstr(proof, STRANGER));
    assert_int_equal(apply(&answer, KVMIG_ACTION_SUSPEND_BOTH), -KVMIG_EREFUSED);
    assert_int_equal(apply(&answer, KVMIG_ACTION_DESTROY_TARGET), -KVMIG_EREFUSED);
    assert_int_equal(locate(&hosts, WEB, &answer), KVMIG_LOCATION_NO_FINDING);
    assert_int_equal(locate(&hosts, STRANGER, &answer), KVMIG_LOCATION_SUCCEEDED);
    assert_int_equal(state_of(hosts.node, WEB), VIR_DOMAIN_RUNNING);
    assert_int_equal(state_of(hosts.other, STRANGER), VIR_DOMAIN_RUNNING);
    kvmig_location_unref(answer.location);
    close_hosts(&hosts);
}

static void a_guest_is_found_under_its_other_name(void **state)
{
    struct hosts hosts = { .node = NULL };
    struct answer answer = { .n = 0 };
    char *json;

    (void)state;
    open_hosts(&hosts);
    change_web(&hosts, virDomainDestroy);
    start_guest(hosts.other, "web-moved", WEB, 0);
    assert_int_equal(locate(&hosts, "web", &answer), KVMIG_LOCATION_SUCCEEDED);
    assert_int_equal(kvmig_location_to_json(answer.location, &json), 0);
    assert_non_null(strstr(json, "\"vm\":\"web\",\"uuid\":\"" WEB "\""));
    free(json);
    assert_int_equal(locate(&hosts, "web-moved", &answer), KVMIG_LOCATION_SUCCEEDED);
    assert_int_equal(locate(&hosts, "web-nowhere", &answer), KVMIG_LOCATION_VM_LOST);
    assert_non_null(strstr(kvmig_location_proof(answer.location), "name"));
    assert_int_equal(kvmig_location_action_count(answer.location), 0);
    kvmig_location_unref(answer.location);
    close_hosts(&hosts);
}

static void an_action_reaches_the_guest_and_not_its_namesake(void **state)
{
    struct hosts hosts = { .node = NULL };
    struct answer answer = { .n = 0 };

    (void)state;
    open_hosts(&hosts);
    start_guest(hosts.other, "web-moved", WEB, 0);
    assert_int_equal(locate(&hosts, "web-moved", &answer), KVMIG_LOCATION_SPLIT_BRAIN);
    start_guest(hosts.other, "web", STRANGER, 0);
    assert_int_equal(apply(&answer, KVMIG_ACTION_SUSPEND_BOTH), 0);
    await_answer(&hosts, &answer);
    assert_int_equal(answer.code, 0);
    assert_int_equal(state_of(hosts.node, WEB), VIR_DOMAIN_PAUSED);
    assert_int_equal(state_of(hosts.other, WEB), VIR_DOMAIN_PAUSED);
    assert_int_equal(state_of(hosts.other, STRANGER), VIR_DOMAIN_RUNNING);
    kvmig_location_unref(answer.location);
    close_hosts(&hosts);
}

/* ---- actions that come late ---- */

static void begin_act(struct hosts *hosts, int32_t action, int64_t timeout_ms, struct answer *answer)
{
    struct kvmig__host_backend *backend = hosts->view.cluster->hosts.v[0]->backend;

    kvmig__context_lock(hosts->view.context);
    backend->ops->act(backend, WEB, action, timeout_ms, on_act, answer);
    kvmig__context_unlock(hosts->view.context);
}

/* I1: who was told "unknown" may have started the guest elsewhere since. */
static void an_action_that_was_given_up_is_not_done_later(void **state)
{
    static const struct {
        enum held call;
        int32_t action;
        int (*before)(virDomainPtr);
        int stays;
    } cases[] = {
        { HOLD_LOOKUP, KVMIG_ACTION_RESUME_SOURCE, virDomainSuspend, VIR_DOMAIN_PAUSED },
        { HOLD_STATE, KVMIG_ACTION_RESUME_SOURCE, virDomainSuspend, VIR_DOMAIN_PAUSED },
        { HOLD_STATE, KVMIG_ACTION_DESTROY_SOURCE, virDomainSuspend, VIR_DOMAIN_PAUSED },
        { HOLD_LOOKUP, KVMIG_ACTION_SUSPEND_BOTH, NULL, VIR_DOMAIN_RUNNING },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        const unsigned threads_before = count_threads();
        struct hosts hosts = { .node = NULL };
        struct answer answer = { .n = 0 };

        open_hosts(&hosts);
        if (cases[i].before)
            change_web(&hosts, cases[i].before);
        held = cases[i].call;
        begin_act(&hosts, cases[i].action, 100, &answer);
        await_answer(&hosts, &answer);
        assert_int_equal(answer.code, -KVMIG_EUNKNOWN);
        assert_true(n_waiting > 0);
        held = HOLD_NOTHING;
        test_view_close(&hosts.view);
        await_threads(threads_before); /* the one that was held up has come back, and ended */
        assert_int_equal(state_of(hosts.node, WEB), cases[i].stays);
        virConnectClose(hosts.node);
        virConnectClose(hosts.other);
    }
}

/* What was paused when somebody judged may run when the action gets there. */
static void an_action_looks_again_before_it_destroys(void **state)
{
    struct hosts hosts = { .node = NULL };
    struct answer answer = { .n = 0 };

    (void)state;
    open_hosts(&hosts);
    change_web(&hosts, virDomainSuspend);
    held = HOLD_LOOKUP;
    begin_act(&hosts, KVMIG_ACTION_DESTROY_SOURCE, TEST_DEADLINE_MS, &answer);
    while (n_waiting == 0)
        poll(NULL, 0, 1);
    change_web(&hosts, virDomainResume);
    held = HOLD_NOTHING;
    await_answer(&hosts, &answer);
    assert_int_equal(answer.code, -KVMIG_EREFUSED);
    assert_int_equal(state_of(hosts.node, WEB), VIR_DOMAIN_RUNNING);
    close_hosts(&hosts);
}

static void ignore_error(void *data, virErrorPtr error)
{
    (void)data;
    (void)error;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_guests_of_one_name_are_not_taken_for_copies),
        cmocka_unit_test(a_guest_is_found_under_its_other_name),
        cmocka_unit_test(an_action_reaches_the_guest_and_not_its_namesake),
        cmocka_unit_test(an_action_that_was_given_up_is_not_done_later),
        cmocka_unit_test(an_action_looks_again_before_it_destroys),
    };

    virSetErrorFunc(NULL, ignore_error);
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
