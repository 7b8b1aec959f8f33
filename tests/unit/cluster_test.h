/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the cluster view share: a view whose events are recorded, and hosts that report what the test says.
 */
#ifndef KVMIG_TESTS_CLUSTER_TEST_H
#define KVMIG_TESTS_CLUSTER_TEST_H

#include "cluster/cluster_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Reached only when a test fails. */
#define TEST_DEADLINE_MS 30000

struct test_view {
    struct kvmig_context *context;
    struct kvmig_cluster *cluster;
    struct kvmig__strlist events; /* "host-found a" */
    unsigned freed; /* calls of the callback's free */
    struct kvmig_error *lost_error; /* of the last HOST_LOST */
};

static inline void test_view_event(const struct kvmig_event *event, void *data)
{
    struct test_view *view = data;
    const char *host = kvmig_event_host(event);
    char *text =
        kvmig__asprintf("%s%s%s", kvmig_event_type_name(kvmig_event_type(event)), host ? " " : "", host ? host : "");

    kvmig__strlist_add(&view->events, text);
    free(text);
    if (kvmig_event_type(event) == KVMIG_EVENT_HOST_LOST) {
        kvmig__error_free(view->lost_error);
        view->lost_error = kvmig__error_copy(kvmig_event_error(event));
    }
}

static inline void test_view_free(void *data)
{
    ((struct test_view *)data)->freed++;
}

static inline struct kvmig_cluster_opts test_view_opts(struct test_view *view)
{
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;

    opts.on_event = (struct kvmig_event_callback){ test_view_event, view, test_view_free };
    return opts;
}

static inline void test_view_open(struct test_view *view, const struct kvmig_cluster_opts *opts)
{
    struct kvmig_context_opts context_opts = KVMIG_CONTEXT_OPTS_INIT;

    context_opts.log_level = KVMIG_LOG_ERROR;
    assert_int_equal(kvmig_context_new(&context_opts, &view->context), 0);
    assert_int_equal(kvmig_cluster_open(view->context, opts, &view->cluster), 0);
}

/* Delivers what is due. */
static inline void test_view_drain(struct test_view *view)
{
    while (kvmig_context_dispatch(view->context) == 1) {
    }
}

static inline void test_view_close(struct test_view *view)
{
    kvmig_cluster_unref(view->cluster);
    kvmig_context_unref(view->context);
    kvmig__strlist_clear(&view->events);
    kvmig__error_free(view->lost_error);
    assert_int_equal(view->freed, 1);
}

static inline size_t test_view_count(const struct test_view *view, const char *event)
{
    size_t n = 0;

    for (size_t i = 0; i < view->events.n; i++)
        n += kvmig__str_eq(view->events.v[i], event);
    return n;
}

static inline bool test_view_saw(const struct test_view *view, const char *event)
{
    return test_view_count(view, event) > 0;
}

/* For kvmig_context_run(): an event has been seen so often. */
struct test_expected {
    struct test_view *view;
    const char *event;
    size_t times;
};

static inline int32_t test_is_seen(void *data)
{
    const struct test_expected *expected = data;

    return test_view_count(expected->view, expected->event) >= expected->times;
}

static inline void test_view_await(struct test_view *view, const char *event, size_t times)
{
    struct test_expected expected = { view, event, times };

    assert_int_equal(kvmig_context_run(view->context, test_is_seen, &expected, TEST_DEADLINE_MS), 0);
}

/* ---- hosts that do as they are told ---- */

struct fake {
    struct kvmig__host_backend base;
    struct kvmig__cluster_host *host;
    unsigned refreshes, closes;
};

static inline void fake_refresh(struct kvmig__host_backend *backend)
{
    ((struct fake *)backend)->refreshes++;
}

static inline void fake_close(struct kvmig__host_backend *backend)
{
    ((struct fake *)backend)->closes++;
}

static const struct kvmig__host_backend_ops fake_ops = { .refresh = fake_refresh, .close = fake_close };

static inline void fake_add(struct test_view *view, struct fake *fake, const char *uri)
{
    *fake = (struct fake){ .base = { &fake_ops } };
    kvmig__context_lock(view->context);
    fake->host = kvmig__cluster_host_add(view->cluster, uri, "test");
    assert_non_null(fake->host);
    fake->host->backend = &fake->base;
    kvmig__context_unlock(view->context);
}

static inline struct kvmig__host *facts_of(const char *name)
{
    struct kvmig__host *facts = kvmig__host_new();

    facts->name = kvmig__strdup(name);
    facts->domains_known = true;
    return facts;
}

static inline struct kvmig__domain *add_domain(struct kvmig__host *facts, const char *name, const char *machine)
{
    struct kvmig__domain *domain = KVMIG__PUSH(&facts->domains);

    domain->name = kvmig__strdup(name);
    domain->uuid = kvmig__asprintf("uuid-of-%s", name);
    domain->state = KVMIG__STATE_RUNNING;
    domain->virt_type = kvmig__strdup("kvm");
    domain->arch = kvmig__strdup("x86_64");
    domain->machine = kvmig__strdup(machine);
    return domain;
}

static inline void begin(struct test_view *view, struct fake *fake)
{
    kvmig__context_lock(view->context);
    kvmig__cluster_host_begin(fake->host);
    kvmig__context_unlock(view->context);
}

static inline void report(struct test_view *view, struct fake *fake, struct kvmig__host *facts)
{
    kvmig__context_lock(view->context);
    kvmig__cluster_host_facts(fake->host, facts);
    kvmig__context_unlock(view->context);
    test_view_drain(view);
}

static inline void read_as(struct test_view *view, struct fake *fake, struct kvmig__host *facts)
{
    begin(view, fake);
    report(view, fake, facts);
}

static inline void lose(struct test_view *view, struct fake *fake, const char *why)
{
    begin(view, fake);
    kvmig__context_lock(view->context);
    kvmig__cluster_host_lost(fake->host, kvmig__error_new(-KVMIG_EUNREACHABLE, "test", NULL, NULL, "%s", why));
    kvmig__context_unlock(view->context);
    test_view_drain(view);
}

static inline void open_empty(struct test_view *view)
{
    const struct kvmig_cluster_opts opts = test_view_opts(view);

    test_view_open(view, &opts);
}

#endif
