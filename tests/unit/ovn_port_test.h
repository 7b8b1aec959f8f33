/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the OVN port share: a port on an OVN in memory, and what the test does to it. Functions take the context lock.
 */
#ifndef KVMIG_TESTS_OVN_PORT_TEST_H
#define KVMIG_TESTS_OVN_PORT_TEST_H

#include "ovn_test.h"
#include "port_test.h"

struct fixture {
    struct kvmig_context *context;
    struct ovn_world world;
    struct port_caller caller;
    struct kvmig_port_ovn_opts opts;
    struct kvmig_port *port;
};

static const struct kvmig_port_ovs local1 = { .size = sizeof(local1), .chassis = "hv1", .remotes = "ovs1" };
static const struct kvmig_port_ovs local2 = {
    .size = sizeof(local2), .chassis = "hv2", .remotes = "ovs2", .host = "b"
};
static const struct kvmig_port_ovs *const locals[] = { &local1, &local2 };

static inline void prepare_fixture(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->context = test_context_new(0);
    ovn_world_open(&f->world, f->context);
    port_settle(f->context);
    f->opts = (struct kvmig_port_ovn_opts)KVMIG_PORT_OVN_OPTS_INIT;
    f->opts.nb = "nb";
    f->opts.sb = "sb";
    f->opts.ovs = locals;
    f->opts.n_ovs = 2;
    f->opts.lsp = "vm";
    f->opts.owner = "me";
    f->opts.activation_timeout_ms = 20;
    f->opts.on_event = port_callback(&f->caller);
}

static inline void open_port(struct fixture *f)
{
    assert_int_equal(kvmig_port_open_ovn(f->context, &f->opts, &f->port), 0);
}

static inline void open_fixture(struct fixture *f)
{
    prepare_fixture(f);
    open_port(f);
}

static inline void close_fixture(struct fixture *f)
{
    kvmig_port_unref(f->port);
    port_settle(f->context);
    ovn_world_close(&f->world);
    kvmig_context_unref(f->context);
    assert_int_equal(f->caller.n_frees, 1);
    assert_int_equal(f->caller.n_late, 0);
    port_caller_clear(&f->caller);
}

/* ---- what the test does to the world; each takes the lock ---- */

static inline void plug_target(struct fixture *f)
{
    kvmig__context_lock(f->context);
    ovn_plug(&f->world, 1, true);
    kvmig__context_unlock(f->context);
}

static inline void edit(struct fixture *f, struct kvmig__ovsdb *db, const char *table, const char *uuid,
                        const char *columns)
{
    kvmig__context_lock(f->context);
    fake_ovsdb_set(db, table, uuid, columns);
    kvmig__context_unlock(f->context);
}

static inline void set_up(struct fixture *f, struct kvmig__ovsdb *db, bool up)
{
    kvmig__context_lock(f->context);
    fake_ovsdb_set_up(db, up);
    kvmig__context_unlock(f->context);
}

static inline size_t n_transactions(struct fixture *f)
{
    size_t n;

    kvmig__context_lock(f->context);
    n = json_object_array_length(f->world.nb->log);
    kvmig__context_unlock(f->context);
    return n;
}

/* How many of the transactions carry such a comment. */
static inline int n_writes(struct fixture *f, const char *comment)
{
    int n = 0;

    kvmig__context_lock(f->context);
    for (size_t i = 0; i < json_object_array_length(f->world.nb->log); i++)
        n += strstr(
                 json_object_to_json_string_ext(json_object_array_get_idx(f->world.nb->log, i), JSON_C_TO_STRING_PLAIN),
                 comment) != NULL;
    kvmig__context_unlock(f->context);
    return n;
}

static inline void assert_nb(struct fixture *f, const char *pin, const char *strategy, const char *owner)
{
    kvmig__context_lock(f->context);
    assert_string_equal(ovn_option(&f->world, "requested-chassis"), pin);
    assert_string_equal(ovn_option(&f->world, "activation-strategy"), strategy);
    assert_string_equal(ovn_id(&f->world, "kvmig-owner"), owner);
    assert_int_equal(strcmp(ovn_id(&f->world, "kvmig-previous"), "-") == 0, strcmp(owner, "-") == 0);
    /* What others wrote is none of our business, and still there. */
    assert_string_equal(ovn_option(&f->world, "mcast_flood"), "true");
    assert_string_equal(ovn_id(&f->world, "pod"), "ns/vm");
    kvmig__context_unlock(f->context);
}

static inline void to_prepared(struct fixture *f)
{
    assert_int_equal(kvmig_port_prepare(f->port, "hv1", "hv2"), 0);
    port_run_until(f->context, &f->caller, "prepared");
}

#endif
