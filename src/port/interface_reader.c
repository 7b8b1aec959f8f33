/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the interfaces of a node from its Open vSwitch database, once, and the list that they come in. It does not
 * judge them (interface_class.c), and does not keep looking: whoever wants to know again asks again.
 *
 * OVSDB has no condition "has this key", so the few columns are read of every row of the table, which is small: one
 * node's.
 *
 * Public calls come from any thread; the rest runs in dispatch with the context lock held. A reader owns itself from
 * the call until the caller's callback and free have run, and holds the context meanwhile. A list is immutable and
 * belongs to its counted owners; it needs no context.
 */
#include "port/interface_internal.h"

#include "context/context_internal.h"
#include "port/ovsdb.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define DEFAULT_TIMEOUT_MS 10000
#define LONGEST_MS ((uint64_t)24 * 3600 * 1000)

struct kvmig_interfaces {
    _Atomic uint32_t owners;
    struct kvmig_interface *v; /* their strings are owned */
    size_t n;
};

struct reader {
    struct kvmig_context *context; /* held */
    struct kvmig_interfaces_callback callback;
    struct kvmig__ovsdb *db;
    struct kvmig__ovsdb_monitor *monitor; /* NULL once it is answered */
    struct kvmig__timer timeout;
    char *remotes;
    int64_t timeout_ms;
    struct kvmig_interfaces *list; /* the answer */
    struct kvmig_error *error; /* or why there is none */
};

int32_t kvmig_interfaces_opts_init(struct kvmig_interfaces_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_interfaces_opts_init");
}

/* ---- the list ---- */

struct kvmig_interfaces *kvmig_interfaces_ref(const struct kvmig_interfaces *interfaces)
{
    struct kvmig_interfaces *shared = (struct kvmig_interfaces *)interfaces; /* only its count changes */

    if (shared)
        shared->owners++;
    return shared;
}

static void interface_clear(struct kvmig_interface *interface)
{
    free((char *)interface->uuid);
    free((char *)interface->name);
    free((char *)interface->iface_id);
    free((char *)interface->vm_namespace);
    free((char *)interface->vm_id);
    free((char *)interface->error);
    free((char *)interface->link_state);
}

void kvmig_interfaces_unref(struct kvmig_interfaces *interfaces)
{
    if (!interfaces || --interfaces->owners > 0)
        return;
    for (size_t i = 0; i < interfaces->n; i++)
        interface_clear(&interfaces->v[i]);
    free(interfaces->v);
    free(interfaces);
}

size_t kvmig_interfaces_count(const struct kvmig_interfaces *interfaces)
{
    return interfaces ? interfaces->n : 0;
}

const struct kvmig_interface *kvmig_interfaces_get(const struct kvmig_interfaces *interfaces, size_t index)
{
    return interfaces && index < interfaces->n ? &interfaces->v[index] : NULL;
}

/* ---- rows ---- */

static const char *external_id(const struct kvmig__ovsdb_row *row, const char *key)
{
    const char *value = kvmig__ovsdb_key(row, "external_ids", key);

    return value && *value ? value : NULL;
}

/* 0 if it is not there, or no time. */
static int64_t time_stamp(const char *text)
{
    char *end = NULL;
    long long value;

    if (!text)
        return 0;
    errno = 0;
    value = strtoll(text, &end, 10);
    return errno || *end || value < 0 ? 0 : value;
}

/* Kube-OVN says pod and namespace, libvirt the UUID of its domain. */
static void set_identity(struct kvmig_interface *out, const struct kvmig__ovsdb_row *row)
{
    const char *pod = external_id(row, "pod_name"), *pod_namespace = external_id(row, "pod_namespace");

    out->vm_id = kvmig__strdup(pod ? pod : external_id(row, "vm-id"));
    if (pod || pod_namespace)
        out->vm_namespace = kvmig__strdup(pod_namespace ? pod_namespace : "");
}

static void add_row(struct kvmig_interfaces *list, const struct kvmig__ovsdb_row *row)
{
    struct kvmig_interface *out = KVMIG__PUSH(list);

    out->size = sizeof(*out);
    out->uuid = kvmig__strdup(row->uuid);
    out->name = kvmig__strdup(kvmig__ovsdb_str(row, "name"));
    out->iface_id = kvmig__strdup(external_id(row, "iface-id"));
    set_identity(out, row);
    out->error = kvmig__strdup(kvmig__ovsdb_str(row, "error"));
    out->link_state = kvmig__strdup(kvmig__ovsdb_str(row, "link_state"));
    if (!kvmig__ovsdb_int(row, "ofport", &out->ofport))
        out->ofport = 0;
    out->ovn_installed = kvmig__str_eq(external_id(row, "ovn-installed"), "true");
    out->ovn_installed_ts_ms = time_stamp(external_id(row, "ovn-installed-ts"));
}

static struct kvmig_interfaces *list_new(const struct kvmig__ovsdb_monitor *monitor)
{
    struct kvmig_interfaces *list = kvmig__calloc(1, sizeof(*list));

    list->owners = 1;
    for (size_t i = 0; i < kvmig__ovsdb_row_count(monitor, 0); i++) {
        const struct kvmig__ovsdb_row *row = kvmig__ovsdb_row(monitor, 0, i);

        if (external_id(row, "iface-id"))
            add_row(list, row);
    }
    return list;
}

/* ---- the answer ---- */

static void reader_free(struct reader *reader)
{
    struct kvmig_context *context = reader->context;

    kvmig__context_lock(context);
    kvmig__ovsdb_put(reader->db);
    kvmig_interfaces_unref(reader->list);
    kvmig__error_free(reader->error);
    free(reader->remotes);
    free(reader);
    kvmig__context_release(context);
    kvmig__context_unlock(context);
}

static void drop_answer(void *data)
{
    struct reader *reader = data;

    if (reader->callback.free)
        reader->callback.free(reader->callback.user_data);
    reader_free(reader);
}

static void deliver_answer(void *data)
{
    struct reader *reader = data;

    if (reader->callback.fn)
        reader->callback.fn(reader->list, reader->error, reader->callback.user_data);
    drop_answer(reader);
}

/* The database is put back later, when nothing of it is on the stack. */
static void answer(struct reader *reader)
{
    kvmig__timer_disarm(&reader->timeout);
    kvmig__ovsdb_monitor_free(reader->monitor);
    reader->monitor = NULL;
    kvmig__context_deliver(reader->context, deliver_answer, drop_answer, reader, false);
}

/* An empty list would say that there are no interfaces. */
static struct kvmig_error *no_such_table(const struct reader *reader)
{
    char *where = kvmig__asprintf("kvmig_interfaces_read: %s", reader->remotes);
    struct kvmig_error *error = kvmig__error_new(ENOTSUP, where, kvmig__ovsdb_schema_version(reader->db),
                                                 "Name the database of Open vSwitch on that node.",
                                                 "The database has no table Interface with a column external_ids.");

    free(where);
    return error;
}

static void on_changed(void *data)
{
    struct reader *reader = data;

    if (!reader->monitor || !kvmig__ovsdb_monitor_is_current(reader->monitor))
        return;
    if (kvmig__ovsdb_has_column(reader->db, "Interface", "external_ids"))
        reader->list = list_new(reader->monitor);
    else
        reader->error = no_such_table(reader);
    answer(reader);
}

static void on_timeout(void *data)
{
    struct reader *reader = data;
    const struct kvmig_error *trouble = kvmig__ovsdb_trouble(reader->db);
    char *where = kvmig__asprintf("kvmig_interfaces_read: %s", reader->remotes);
    char *evidence = !trouble ? NULL
                     : *kvmig_error_evidence(trouble)
                         ? kvmig__asprintf("%s: %s", kvmig_error_message(trouble), kvmig_error_evidence(trouble))
                         : kvmig__strdup(kvmig_error_message(trouble));

    reader->error = kvmig__error_new(trouble ? kvmig_error_code(trouble) : ETIMEDOUT, where, evidence,
                                     trouble && *kvmig_error_hint(trouble)
                                         ? kvmig_error_hint(trouble)
                                         : "See whether ovsdb-server of this node runs and serves these remotes.",
                                     "The interfaces could not be read within %lld ms.", (long long)reader->timeout_ms);
    free(where);
    free(evidence);
    answer(reader);
}

/* ---- public ---- */

static void start(struct kvmig_context *context, struct kvmig__ovsdb *db, const struct kvmig_interfaces_opts *opts,
                  struct kvmig_interfaces_callback callback)
{
    static const char *const columns[] = { "name", "external_ids", "ofport", "link_state", "error", NULL };
    static const struct kvmig__ovsdb_table table = { .name = "Interface", .columns = columns };
    struct reader *reader = kvmig__calloc(1, sizeof(*reader));

    kvmig__context_hold(context);
    reader->context = context;
    reader->callback = callback;
    reader->db = db;
    reader->remotes = kvmig__strdup(opts->remotes);
    reader->timeout_ms = opts->timeout_ms ? (int64_t)opts->timeout_ms : DEFAULT_TIMEOUT_MS;
    kvmig__timer_init(&reader->timeout, context, on_timeout, reader);
    kvmig__timer_arm_in(&reader->timeout, reader->timeout_ms);
    reader->monitor = kvmig__ovsdb_monitor_new(db, &table, 1, on_changed, reader);
    on_changed(reader); /* a shared client may have the rows already */
}

static int32_t fail(const char *where, const char *hint, const char *message)
{
    return kvmig__fail(kvmig__error_new(EINVAL, where, NULL, hint, "%s", message));
}

static int32_t read_interfaces(struct kvmig_context *context, const struct kvmig_interfaces_opts *opts,
                               struct kvmig_interfaces_callback callback)
{
    const struct kvmig__ovsdb_spec spec = {
        .remotes = opts->remotes,
        .database = "Open_vSwitch",
        .ca_file = opts->ca_file,
        .cert_file = opts->cert_file,
        .key_file = opts->key_file,
    };
    struct kvmig__ovsdb *db = NULL;
    struct kvmig_error *error;

    if (!opts->remotes || !*opts->remotes)
        return fail("kvmig_interfaces_read: remotes", "For example \"unix:/run/openvswitch/db.sock\".",
                    "no database is given");
    if (opts->timeout_ms > LONGEST_MS)
        return fail("kvmig_interfaces_read: timeout_ms", "Milliseconds, at most one day.", "the time-out is too long");
    error = kvmig__ovsdb_get(context, &spec, "kvmig_interfaces_read: remotes", &db);
    if (error)
        return kvmig__fail(error);
    start(context, db, opts, callback);
    return 0;
}

int32_t kvmig_interfaces_read(struct kvmig_context *context, const struct kvmig_interfaces_opts *opts,
                              struct kvmig_interfaces_callback callback)
{
    struct kvmig_interfaces_opts own;
    int32_t rc;

    if (!context) {
        kvmig__callback_discard(NULL, callback.free, callback.user_data);
        return fail("kvmig_interfaces_read: context", NULL, "a required pointer is NULL");
    }
    rc = kvmig__opts_copy(&own, sizeof(own), opts, "kvmig_interfaces_read");
    kvmig__context_lock(context);
    if (!rc)
        rc = read_interfaces(context, &own, callback);
    if (rc)
        kvmig__callback_discard(context, callback.free, callback.user_data);
    kvmig__context_unlock(context);
    return rc;
}
