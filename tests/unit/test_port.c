/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handle of a port: options, life, events, the session that has it, and the port that needs nothing.
 */
#include "port_test.h"

#include "port/port_internal.h"

#include <errno.h>
#include <stdio.h>

struct fixture {
    struct kvmig_context *context;
    struct port_caller caller;
    struct kvmig_port *port;
};

static void open_none(struct fixture *f)
{
    struct kvmig_port_opts opts = KVMIG_PORT_OPTS_INIT;

    memset(f, 0, sizeof(*f));
    f->context = test_context_new(0);
    opts.name = "eth0";
    opts.on_event = port_callback(&f->caller);
    assert_int_equal(kvmig_port_open_none(f->context, &opts, &f->port), 0);
}

static void close_fixture(struct fixture *f)
{
    kvmig_port_unref(f->port);
    kvmig_context_unref(f->context);
    assert_int_equal(f->caller.n_frees, 1);
    assert_int_equal(f->caller.n_late, 0);
    port_caller_clear(&f->caller);
}

static struct json_object *json_of(struct kvmig_port *port)
{
    struct json_object *json;
    char *text = NULL;

    assert_int_equal(kvmig_port_to_json(port, &text), 0);
    json = json_tokener_parse(text);
    assert_non_null(json);
    free(text);
    return json;
}

static const char *member(struct json_object *json, const char *key)
{
    struct json_object *value = NULL;

    json_object_object_get_ex(json, key, &value);
    return json_object_get_string(value);
}

/* ---- names ---- */

static void every_state_and_strategy_has_a_name(void **state)
{
    (void)state;
    for (int32_t i = 0; i <= KVMIG_PORT_FAILED; i++)
        assert_non_null(kvmig_port_state_name(i));
    assert_null(kvmig_port_state_name(-1));
    assert_null(kvmig_port_state_name(KVMIG_PORT_FAILED + 1));
    for (int32_t i = 0; i <= KVMIG_PORT_STRATEGY_NONE; i++)
        assert_non_null(kvmig_port_strategy_name(i));
    assert_null(kvmig_port_strategy_name(KVMIG_PORT_STRATEGY_NONE + 1));
    assert_string_equal(kvmig_port_state_name(KVMIG_PORT_ROLLED_BACK), "rolled-back");
    assert_string_equal(kvmig_port_strategy_name(KVMIG_PORT_STRATEGY_RARP), "rarp");
}

/* ---- options ---- */

struct bad_ovn {
    const char *option; /* that the error has to name */
    struct kvmig_port_ovn_opts opts;
};

static void ovn_options_that_cannot_work_are_named(void **state)
{
    static const struct kvmig_port_ovs nameless = { .size = sizeof(nameless), .remotes = "unix:/x" };
    static const struct kvmig_port_ovs placeless = { .size = sizeof(placeless), .chassis = "hv1", .remotes = "" };
    static const struct kvmig_port_ovs good = { .size = sizeof(good), .chassis = "hv1", .remotes = "unix:/x" };
    static const struct kvmig_port_ovs host_a = { .size = sizeof(host_a), .chassis = "hv1", .host = "a" };
    static const struct kvmig_port_ovs also_a = { .size = sizeof(also_a), .chassis = "hv2", .host = "a" };
    static const struct kvmig_port_ovs *const same_host_list[] = { &host_a, &also_a };
    static const struct kvmig_port_ovs *const nameless_list[] = { &nameless };
    static const struct kvmig_port_ovs *const placeless_list[] = { &placeless };
    static const struct kvmig_port_ovs sizeless = { .chassis = "hv1" };
    static const struct kvmig_port_ovs *const sizeless_list[] = { &sizeless };
    static const struct kvmig_port_ovs *const null_list[] = { NULL };
    static const struct kvmig_port_ovs *const twice_list[] = { &good, &good };
    const struct bad_ovn bad[] = {
        { "nb", { .lsp = "vm" } },
        { "nb", { .lsp = "vm", .nb = "carrier-pigeon:coop" } },
        { "sb", { .lsp = "vm", .nb = "unix:/x", .sb = "unix:" } },
        { "lsp", { .nb = "unix:/x" } },
        { "lsp", { .nb = "unix:/x", .lsp = "" } },
        { "lsp", { .nb = "unix:/x", .lsp = "vm", .match_key = "vm-id", .match_value = "1" } },
        { "match_value", { .nb = "unix:/x", .match_key = "vm-id" } },
        { "match_key", { .nb = "unix:/x", .match_value = "1" } },
        { "owner", { .nb = "unix:/x", .lsp = "vm", .owner = "" } },
        { "owner", { .nb = "unix:/x", .lsp = "vm", .owner = "two\nlines" } },
        { "strategy", { .nb = "unix:/x", .lsp = "vm", .strategy = 99 } },
        { "reserved", { .nb = "unix:/x", .lsp = "vm", .reserved = 1 } },
        { "ovs", { .nb = "unix:/x", .lsp = "vm", .n_ovs = 1 } },
        { "ovs[0]", { .nb = "unix:/x", .lsp = "vm", .ovs = nameless_list, .n_ovs = 1 } },
        { "ovs[0]", { .nb = "unix:/x", .lsp = "vm", .ovs = placeless_list, .n_ovs = 1 } },
        { "ovs[0]", { .nb = "unix:/x", .lsp = "vm", .ovs = null_list, .n_ovs = 1 } },
        { "ovs[0]", { .nb = "unix:/x", .lsp = "vm", .ovs = sizeless_list, .n_ovs = 1 } },
        { "ovs[1]", { .nb = "unix:/x", .lsp = "vm", .ovs = same_host_list, .n_ovs = 2 } },
        { "ovs[1]", { .nb = "unix:/x", .lsp = "vm", .ovs = twice_list, .n_ovs = 2 } },
        { "prepare_timeout_ms", { .nb = "unix:/x", .lsp = "vm", .prepare_timeout_ms = UINT64_MAX } },
        { "converge_timeout_ms", { .nb = "unix:/x", .lsp = "vm", .converge_timeout_ms = UINT64_MAX } },
    };
    struct kvmig_context *context = test_context_new(0);

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(bad); i++) {
        struct kvmig_port_ovn_opts opts = bad[i].opts;
        struct kvmig_port *port = (struct kvmig_port *)1;
        struct port_caller caller = { { 0 }, 0, 0, 0, NULL, NULL };

        opts.size = sizeof(opts);
        opts.on_event = port_callback(&caller);
        assert_int_equal(kvmig_port_open_ovn(context, &opts, &port), -EINVAL);
        assert_null(port);
        if (!strstr(kvmig_error_where(kvmig_error_last()), bad[i].option))
            fail_msg("\"%s\" does not name %s", kvmig_error_where(kvmig_error_last()), bad[i].option);
        port_settle(context);
        assert_int_equal(caller.n_frees, 1);
    }
    kvmig_context_unref(context);
}

static void options_of_a_newer_library_are_refused(void **state)
{
    struct {
        struct kvmig_port_opts opts;
        uint64_t unknown;
    } newer = { KVMIG_PORT_OPTS_INIT, 1 };
    struct kvmig_context *context = test_context_new(0);
    struct port_caller caller = { { 0 }, 0, 0, 0, NULL, NULL };
    struct kvmig_port *port = NULL;

    (void)state;
    newer.opts.size = sizeof(newer);
    newer.opts.name = "eth0";
    newer.opts.on_event = port_callback(&caller);
    assert_int_equal(kvmig_port_open_none(context, &newer.opts, &port), -E2BIG);
    assert_null(port);
    port_settle(context);
    assert_int_equal(caller.n_frees, 1);
    kvmig_context_unref(context);
}

static void missing_pointers_are_refused_and_callbacks_freed(void **state)
{
    struct kvmig_port_opts opts = KVMIG_PORT_OPTS_INIT;
    struct kvmig_context *context = test_context_new(0);
    struct port_caller caller = { { 0 }, 0, 0, 0, NULL, NULL };
    struct kvmig_port *port = NULL;

    (void)state;
    opts.on_event = port_callback(&caller);
    assert_int_equal(kvmig_port_open_none(context, &opts, &port), -EINVAL); /* no name */
    opts.name = "eth0";
    assert_int_equal(kvmig_port_open_none(NULL, &opts, &port), -EINVAL);
    assert_int_equal(kvmig_port_open_none(context, &opts, NULL), -EINVAL);
    assert_int_equal(kvmig_port_open_backend(context, NULL, &opts, &port), -EINVAL);
    port_settle(context);
    assert_int_equal(caller.n_frees, 4);
    assert_int_equal(kvmig_port_opts_init(NULL, sizeof(opts)), -EINVAL);
    assert_int_equal(kvmig_port_ovn_opts_init(NULL, 400), -EINVAL);
    assert_int_equal(kvmig_port_ovs_init(NULL, 40), -EINVAL);
    assert_int_equal(kvmig_port_backend_init(NULL, 40), -EINVAL);
    assert_int_equal(kvmig_port_prepare(NULL, "a", "b"), -EINVAL);
    assert_int_equal(kvmig_port_verify(NULL), -EINVAL);
    assert_int_equal(kvmig_port_converge(NULL, "a"), -EINVAL);
    assert_int_equal(kvmig_port_rollback(NULL), -EINVAL);
    assert_int_equal(kvmig_port_gc(NULL, "a", 0), -EINVAL);
    assert_int_equal(kvmig_port_refresh(NULL), -EINVAL);
    assert_int_equal(kvmig_port_to_json(NULL, NULL), -EINVAL);
    assert_int_equal(kvmig_port_state(NULL), KVMIG_PORT_IDLE);
    assert_null(kvmig_port_ref(NULL));
    kvmig_port_unref(NULL);
    kvmig_port_op_done(NULL, 0, NULL);
    kvmig_context_unref(context);
}

/* What begins the structs that are no options. */
static void structs_begin_with_their_size(void **state)
{
    struct kvmig_port_backend backend = KVMIG_PORT_BACKEND_INIT;
    struct kvmig_port_ovs ovs = KVMIG_PORT_OVS_INIT;

    (void)state;
    assert_int_equal(backend.size, sizeof(backend));
    assert_int_equal(ovs.size, sizeof(ovs));
    memset(&ovs, 0xff, sizeof(ovs));
    assert_int_equal(kvmig_port_ovs_init(&ovs, sizeof(ovs)), 0);
    assert_int_equal(ovs.size, sizeof(ovs));
    assert_null(ovs.host);
    memset(&backend, 0xff, sizeof(backend));
    assert_int_equal(kvmig_port_backend_init(&backend, sizeof(backend)), 0);
    assert_int_equal(backend.size, sizeof(backend));
    assert_true(backend.prepare == NULL && backend.free == NULL);
}

static void owner_tokens_are_new_unless_given(void **state)
{
    struct kvmig_port_ovn_opts opts = KVMIG_PORT_OVN_OPTS_INIT;
    struct kvmig_context *context = test_context_new(0);
    struct kvmig_port *a = NULL, *b = NULL, *c = NULL;

    (void)state;
    opts.nb = "unix:/nonexistent/kvmig-nb.sock";
    opts.lsp = "vm";
    assert_int_equal(kvmig_port_open_ovn(context, &opts, &a), 0);
    opts.lsp = NULL;
    opts.match_key = "vm-id";
    opts.match_value = "7";
    assert_int_equal(kvmig_port_open_ovn(context, &opts, &b), 0);
    opts.owner = "mine";
    assert_int_equal(kvmig_port_open_ovn(context, &opts, &c), 0);
    assert_true(kvmig__str_starts(kvmig_port_owner(a), "kvmig-"));
    assert_true(kvmig__is_uuid(kvmig_port_owner(a) + strlen("kvmig-")));
    assert_string_not_equal(kvmig_port_owner(a), kvmig_port_owner(b));
    assert_string_equal(kvmig_port_owner(c), "mine");
    assert_string_equal(kvmig_port_name(a), "vm");
    assert_string_equal(kvmig_port_name(b), "vm-id=7");
    kvmig_port_unref(a);
    kvmig_port_unref(b);
    kvmig_port_unref(c);
    kvmig_context_unref(context);
}

/* ---- wishes ---- */

static void port_that_needs_nothing_goes_through_it_all(void **state)
{
    struct fixture f;

    (void)state;
    open_none(&f);
    assert_int_equal(kvmig_port_state(f.port), KVMIG_PORT_IDLE);
    assert_string_equal(kvmig_port_owner(f.port), "");
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    assert_string_equal(f.caller.log, ""); /* never from inside */
    port_run_until(f.context, &f.caller, "prepared");
    assert_int_equal(kvmig_port_verify(f.port), 0);
    port_run_until(f.context, &f.caller, "verified");
    assert_int_equal(kvmig_port_converge(f.port, "hv2"), 0);
    port_run_until(f.context, &f.caller, "converged");
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    port_run_until(f.context, &f.caller, "rolled-back");
    port_settle(f.context);
    assert_string_equal(f.caller.log, "prepared verified converged rolled-back");
    assert_int_equal(kvmig_port_gc(f.port, "hv1", 0), -ENOTSUP);
    close_fixture(&f);
}

static void wish_that_changes_nothing_is_answered_all_the_same(void **state)
{
    struct fixture f;

    (void)state;
    open_none(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "prepared");
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "prepared prepared");
    assert_int_equal(kvmig_port_refresh(f.port), 0);
    port_run_until(f.context, &f.caller, "prepared prepared prepared");
    close_fixture(&f);
}

static void overtaken_wish_is_not_answered(void **state)
{
    struct fixture f;

    (void)state;
    open_none(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    assert_int_equal(kvmig_port_refresh(f.port), -EBUSY);
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    port_run_until(f.context, &f.caller, "rolled-back");
    port_settle(f.context);
    assert_string_equal(f.caller.log, "rolled-back");
    close_fixture(&f);
}

static void verify_needs_a_preparation(void **state)
{
    struct fixture f;

    (void)state;
    open_none(&f);
    assert_int_equal(kvmig_port_verify(f.port), -KVMIG_EPHASE);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "prepared");
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    port_run_until(f.context, &f.caller, "rolled-back");
    assert_int_equal(kvmig_port_verify(f.port), -KVMIG_EPHASE);
    close_fixture(&f);
}

static void names_that_ovn_would_misread_are_refused(void **state)
{
    static const char *const bad[] = { NULL, "", "hv1,hv2", "hv 1", " hv1", "hv1\n" };
    struct fixture f;

    (void)state;
    open_none(&f);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(bad); i++) {
        assert_int_equal(kvmig_port_prepare(f.port, bad[i], "hv2"), -EINVAL);
        assert_int_equal(kvmig_port_prepare(f.port, "hv1", bad[i]), -EINVAL);
        assert_int_equal(kvmig_port_converge(f.port, bad[i]), -EINVAL);
        assert_int_equal(kvmig_port_gc(f.port, bad[i], 0), -EINVAL);
    }
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv1"), -EINVAL);
    port_settle(f.context);
    assert_int_equal(f.caller.n_events, 0);
    close_fixture(&f);
}

/* ---- JSON ---- */

static void json_has_names_state_and_timeline(void **state)
{
    struct json_object *json, *timeline, *line, *detail, *at;
    struct fixture f;

    (void)state;
    open_none(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "prepared");
    assert_int_equal(kvmig_port_converge(f.port, "hv2"), 0);
    port_run_until(f.context, &f.caller, "converged");
    json = json_of(f.port);
    assert_string_equal(member(json, "name"), "eth0");
    assert_string_equal(member(json, "kind"), "none");
    assert_string_equal(member(json, "state"), "converged");
    assert_string_equal(member(json, "source"), "hv1");
    assert_string_equal(member(json, "target"), "hv2");
    assert_string_equal(member(json, "winner"), "hv2");
    assert_null(member(json, "error"));
    assert_true(json_object_object_get_ex(json, "timeline", &timeline));
    assert_int_equal(json_object_array_length(timeline), 4);
    line = json_object_array_get_idx(timeline, 0);
    assert_string_equal(member(line, "what"), "prepare");
    assert_true(json_object_object_get_ex(line, "at_ms", &at));
    assert_true(json_object_get_int64(at) >= 0);
    assert_true(json_object_object_get_ex(line, "detail", &detail));
    assert_string_equal(member(detail, "target"), "hv2");
    line = json_object_array_get_idx(timeline, 3);
    assert_true(json_object_object_get_ex(line, "detail", &detail));
    assert_string_equal(member(detail, "state"), "converged");
    json_object_put(json);
    close_fixture(&f);
}

static void timeline_keeps_the_newest_lines(void **state)
{
    struct json_object *json, *timeline;
    struct fixture f;

    (void)state;
    open_none(&f);
    kvmig__context_lock(f.context);
    for (int i = 0; i < 300; i++) {
        char what[32];

        snprintf(what, sizeof(what), "line-%d", i);
        kvmig__port_note(f.port, what, NULL);
    }
    kvmig__context_unlock(f.context);
    json = json_of(f.port);
    assert_true(json_object_object_get_ex(json, "timeline", &timeline));
    assert_int_equal(json_object_array_length(timeline), 256);
    assert_string_equal(member(json_object_array_get_idx(timeline, 0), "what"), "line-44");
    assert_string_equal(member(json_object_array_get_idx(timeline, 255), "what"), "line-299");
    json_object_put(json);
    close_fixture(&f);
}

/* ---- the session that has it ---- */

struct observer {
    int n_changed, n_answered;
    int32_t state; /* at the last answer */
    bool again; /* rolls back when it hears of the preparation */
    bool leave; /* lets go when it gets its answer */
};

static void on_changed(void *data, struct kvmig_port *port)
{
    struct observer *observer = data;

    observer->n_changed++;
    if (observer->again && kvmig__port_get_state(port) == KVMIG_PORT_PREPARED)
        kvmig__port_wish(port, KVMIG__PORT_ROLLBACK, NULL, NULL);
}

static void on_answered(void *data, struct kvmig_port *port, const struct kvmig_error *error)
{
    struct observer *observer = data;

    assert_null(error);
    observer->n_answered++;
    observer->state = kvmig__port_get_state(port);
    if (observer->leave) {
        kvmig__port_detach(port);
        kvmig__port_release(port);
    }
}

static void attach(struct fixture *f, struct observer *observer)
{
    const struct kvmig__port_observer functions = { on_changed, on_answered, observer };

    kvmig__context_lock(f->context);
    assert_true(kvmig__port_attach(f->port, &functions));
    assert_false(kvmig__port_attach(f->port, &functions));
    kvmig__port_hold(f->port);
    kvmig__context_unlock(f->context);
}

static void wish(struct fixture *f, enum kvmig__port_wish what, const char *a, const char *b)
{
    kvmig__context_lock(f->context);
    kvmig__port_wish(f->port, what, a, b);
    kvmig__context_unlock(f->context);
}

static void session_has_the_port_for_itself(void **state)
{
    struct observer observer = { 0, 0, 0, false, false };
    struct fixture f;

    (void)state;
    open_none(&f);
    attach(&f, &observer);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), -EBUSY);
    assert_int_equal(kvmig_port_verify(f.port), -EBUSY);
    assert_int_equal(kvmig_port_converge(f.port, "hv2"), -EBUSY);
    assert_int_equal(kvmig_port_rollback(f.port), -EBUSY);
    assert_int_equal(kvmig_port_refresh(f.port), -EBUSY);
    wish(&f, KVMIG__PORT_PREPARE, "hv1", "hv2");
    assert_int_equal(observer.n_changed + observer.n_answered, 0); /* not inside a call */
    port_settle(f.context);
    assert_int_equal(observer.n_changed, 1);
    assert_int_equal(observer.n_answered, 1);
    assert_int_equal(observer.state, KVMIG_PORT_PREPARED);
    assert_string_equal(f.caller.log, "prepared"); /* the caller hears of it, too */
    kvmig__context_lock(f.context);
    assert_int_equal(kvmig__port_longest_ms(f.port), 0);
    kvmig__context_unlock(f.context);
    wish(&f, KVMIG__PORT_VERIFY_LATE, NULL, NULL);
    port_settle(f.context);
    assert_int_equal(observer.n_answered, 2);
    kvmig__context_lock(f.context);
    kvmig__port_detach(f.port);
    kvmig__port_release(f.port);
    kvmig__context_unlock(f.context);
    assert_int_equal(kvmig_port_converge(f.port, "hv2"), 0);
    port_run_until(f.context, &f.caller, "converged");
    assert_int_equal(observer.n_answered, 2);
    close_fixture(&f);
}

/* The caller's own wish still runs when the session takes the port: its answer is not for the session. */
static void session_gets_answers_to_its_own_wishes_only(void **state)
{
    struct observer observer = { 0, 0, 0, false, false };
    struct fixture f;

    (void)state;
    open_none(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    attach(&f, &observer);
    port_settle(f.context);
    assert_int_equal(observer.n_changed, 1);
    assert_int_equal(observer.n_answered, 0);
    kvmig__context_lock(f.context);
    kvmig__port_detach(f.port);
    kvmig__port_release(f.port);
    kvmig__context_unlock(f.context);
    close_fixture(&f);
}

static void answer_that_a_newer_wish_overtakes_is_not_told(void **state)
{
    struct observer observer = { 0, 0, 0, true, false };
    struct fixture f;

    (void)state;
    open_none(&f);
    attach(&f, &observer);
    wish(&f, KVMIG__PORT_PREPARE, "hv1", "hv2");
    port_settle(f.context);
    assert_int_equal(observer.n_changed, 2);
    assert_int_equal(observer.n_answered, 1);
    assert_int_equal(observer.state, KVMIG_PORT_ROLLED_BACK);
    kvmig__context_lock(f.context);
    kvmig__port_detach(f.port);
    kvmig__port_release(f.port);
    kvmig__context_unlock(f.context);
    close_fixture(&f);
}

static void session_keeps_a_port_whose_caller_let_go(void **state)
{
    struct observer observer = { 0, 0, 0, false, true };
    struct fixture f;

    (void)state;
    open_none(&f);
    attach(&f, &observer);
    kvmig_port_unref(f.port); /* the session is the last who has it */
    port_settle(f.context);
    assert_int_equal(f.caller.n_frees, 1);
    wish(&f, KVMIG__PORT_PREPARE, "hv1", "hv2");
    port_settle(f.context);
    assert_int_equal(observer.n_answered, 1);
    assert_int_equal(f.caller.n_events, 0);
    f.port = NULL; /* it went inside the answer */
    close_fixture(&f);
}

static void report_counts_from_the_session_s_own_start(void **state)
{
    struct json_object *json, *timeline, *at;
    struct fixture f;

    (void)state;
    open_none(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "prepared");
    kvmig__context_lock(f.context);
    json = kvmig__port_json(f.port, kvmig__now_ms() + 1000000);
    kvmig__context_unlock(f.context);
    assert_true(json_object_object_get_ex(json, "timeline", &timeline));
    assert_true(json_object_object_get_ex(json_object_array_get_idx(timeline, 0), "at_ms", &at));
    assert_true(json_object_get_int64(at) < 0);
    json_object_put(json);
    close_fixture(&f);
}

/* ---- letting go ---- */

static void nothing_is_told_after_the_last_owner(void **state)
{
    struct fixture f;

    (void)state;
    open_none(&f);
    assert_ptr_equal(kvmig_port_ref(f.port), f.port);
    kvmig_port_unref(f.port);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    kvmig_port_unref(f.port);
    f.port = NULL;
    port_settle(f.context);
    assert_int_equal(f.caller.n_events, 0);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_and_strategy_has_a_name),
        cmocka_unit_test(ovn_options_that_cannot_work_are_named),
        cmocka_unit_test(options_of_a_newer_library_are_refused),
        cmocka_unit_test(missing_pointers_are_refused_and_callbacks_freed),
        cmocka_unit_test(structs_begin_with_their_size),
        cmocka_unit_test(owner_tokens_are_new_unless_given),
        cmocka_unit_test(port_that_needs_nothing_goes_through_it_all),
        cmocka_unit_test(wish_that_changes_nothing_is_answered_all_the_same),
        cmocka_unit_test(overtaken_wish_is_not_answered),
        cmocka_unit_test(verify_needs_a_preparation),
        cmocka_unit_test(names_that_ovn_would_misread_are_refused),
        cmocka_unit_test(json_has_names_state_and_timeline),
        cmocka_unit_test(timeline_keeps_the_newest_lines),
        cmocka_unit_test(session_has_the_port_for_itself),
        cmocka_unit_test(session_gets_answers_to_its_own_wishes_only),
        cmocka_unit_test(answer_that_a_newer_wish_overtakes_is_not_told),
        cmocka_unit_test(session_keeps_a_port_whose_caller_let_go),
        cmocka_unit_test(report_counts_from_the_session_s_own_start),
        cmocka_unit_test(nothing_is_told_after_the_last_owner),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
