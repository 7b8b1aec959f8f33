/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The OVN backend: keeps the machine (ovn.h) in touch with the databases. Whenever something changed it gathers the
 * facts, lets the machine look at them, and carries out what it orders: one write and one bump at a time. Decides
 * nothing itself, but when facts are too doubtful to be shown: after an answer was lost, NB counts as not current until
 * a later transaction was answered, because what was sent before it is settled then.
 *
 * Runs in dispatch with the context lock held. Steps run from a timer only, so nothing recurses. Owned by its handle;
 * owns machine, monitors and calls.
 */
#include "port/ovn_port.h"
#include "port/port_handle.h"

#include "base/json_internal.h"

#include <errno.h>
#include <stdlib.h>

#define CALL_MS 5000 /* for a transaction to be answered */
#define LOOK_AGAIN_MS 500 /* between two tries to settle what a lost answer said */
#define DEFAULT_ACTIVATION_MS 1000

struct ovn_port {
    struct kvmig__port_backend base;
    char *name, *owner;
    struct kvmig__ovn_config config; /* its strings are the ones above */
    struct kvmig__ovn_machine *machine;
    struct kvmig__ovn_databases databases;
    struct kvmig__timer step;
    struct kvmig__ovsdb_call *write, *bump, *look; /* out; NULL = none */
    struct kvmig__timer look_again;
    bool refreshing; /* a refresh waits for its facts */
    int64_t refresh_by_ms; /* no longer than this */
    const char *logged; /* the machine's inner state, when it was logged last */
};

static void step_soon(void *data)
{
    struct ovn_port *port = data;

    kvmig__timer_arm_in(&port->step, 0);
}

/* ---- doubt: an answer was lost ---- */

static void on_looked(void *data, const struct kvmig__ovsdb_result *result)
{
    struct ovn_port *port = data;

    port->look = NULL;
    if (result->outcome == KVMIG__OVSDB_DONE) {
        port->databases.nb_doubtful = false;
        step_soon(port);
    } else {
        kvmig__timer_arm_in(&port->look_again, LOOK_AGAIN_MS);
    }
}

static void look(void *data)
{
    struct ovn_port *port = data;

    if (!port->look)
        port->look =
            kvmig__ovsdb_transact(port->databases.nb.db, kvmig__ovn_look_operations(), CALL_MS, on_looked, port);
}

/* What the machine has to know of a transaction's end. */
static enum kvmig__ovn_carried carried(struct ovn_port *port, const struct kvmig__ovsdb_result *result)
{
    switch (result->outcome) {
    case KVMIG__OVSDB_DONE:
        return KVMIG__OVN_WRITTEN;
    case KVMIG__OVSDB_REFUSED:
        return result->is_guard ? KVMIG__OVN_CONFLICT : KVMIG__OVN_NOT_WRITTEN;
    case KVMIG__OVSDB_UNSENT:
        return KVMIG__OVN_NOT_WRITTEN;
    case KVMIG__OVSDB_UNKNOWN:
        break;
    }
    port->databases.nb_doubtful = true;
    kvmig__timer_arm_in(&port->look_again, 0);
    return KVMIG__OVN_LOST;
}

/* ---- carrying out ---- */

static void on_written(void *data, const struct kvmig__ovsdb_result *result)
{
    struct ovn_port *port = data;

    port->write = NULL;
    kvmig__ovn_machine_written(port->machine, carried(port, result), result->error, kvmig__now_ms());
    step_soon(port);
}

static void write_edits(struct ovn_port *port, const struct kvmig__ovn_orders *orders)
{
    struct json_object *operations = json_object_new_array();

    for (size_t i = 0; i < orders->edits.n; i++) {
        const struct kvmig__ovn_edit *edit = &orders->edits.v[i];

        kvmig__ovn_add_edit(operations, edit,
                            kvmig__ovsdb_row_by_uuid(port->databases.nb.rows, KVMIG__NB_LSP, edit->uuid));
    }
    kvmig__ovn_add_comment(operations, orders->write, port->owner);
    kvmig__log(kvmig__port_context(port->base.port), KVMIG_LOG_DEBUG, "port", "%s: writes (%s)", port->name,
               orders->write);
    port->write = kvmig__ovsdb_transact(port->databases.nb.db, operations, CALL_MS, on_written, port);
}

static void on_bumped(void *data, const struct kvmig__ovsdb_result *result)
{
    struct ovn_port *port = data;
    enum kvmig__ovn_carried how = carried(port, result);
    struct kvmig_error *error = NULL;
    int64_t nb_cfg = -1;

    port->bump = NULL;
    if (how == KVMIG__OVN_WRITTEN && !kvmig__ovn_bump_result(result->results, &nb_cfg)) {
        how = KVMIG__OVN_NOT_WRITTEN;
        error = kvmig__error_new(EIO, port->name, NULL, "Initialise the northbound database with \"ovn-nbctl init\".",
                                 "NB_Global has no row, so its nb_cfg cannot be raised");
    }
    kvmig__ovn_machine_bumped(port->machine, how, nb_cfg, error ? error : result->error, kvmig__now_ms());
    kvmig__error_free(error);
    step_soon(port);
}

static void carry_out(struct ovn_port *port, const struct kvmig__ovn_orders *orders)
{
    for (size_t i = 0; i < orders->notes.n; i++)
        kvmig__port_note(port->base.port, orders->notes.v[i].what, orders->notes.v[i].detail);
    if (orders->write && !port->write)
        write_edits(port, orders);
    if (orders->bump && !port->bump)
        port->bump =
            kvmig__ovsdb_transact(port->databases.nb.db, kvmig__ovn_bump_operations(), CALL_MS, on_bumped, port);
    kvmig__port_set_state(port->base.port, orders->state);
}

/* ---- refreshing ---- */

/* Monitors keep the facts fresh, so it is a matter of waiting for databases that are not there yet, and have no trouble
 * that says why they will not come soon. */
static bool awaits(const struct kvmig__ovn_source *source)
{
    return source->used && !source->current && !source->trouble;
}

static bool awaits_any(const struct ovn_port *port, const struct kvmig__ovn_facts *facts)
{
    bool waiting = awaits(&facts->sb);

    for (size_t i = 0; !waiting && i < port->databases.locals.n; i++) {
        struct kvmig__ovn_source source = { 0 };

        kvmig__ovn_gather_local(&port->databases, &port->databases.locals.v[i], &source);
        waiting = awaits(&source);
        free(source.trouble);
    }
    return waiting;
}

static void check_refresh(struct ovn_port *port, const struct kvmig__ovn_facts *facts, int64_t now_ms)
{
    const bool late = now_ms >= port->refresh_by_ms;
    struct kvmig_error *error = NULL;

    if (!port->refreshing)
        return;
    if (!late && (!facts->nb.current || awaits_any(port, facts)))
        return;
    if (!facts->nb.current)
        error = kvmig__error_new(ETIMEDOUT, port->name, facts->nb.trouble,
                                 "Look whether the northbound database runs, and can be reached at the remotes given.",
                                 "OVN's northbound database could not be read in time");
    port->refreshing = false;
    kvmig__port_answer(port->base.port, error);
}

/* ---- steps ---- */

static void log_state(struct ovn_port *port)
{
    const char *name = kvmig__ovn_machine_state_name(port->machine);

    if (port->logged == name)
        return;
    port->logged = name;
    kvmig__log(kvmig__port_context(port->base.port), KVMIG_LOG_DEBUG, "port", "%s: %s", port->name, name);
}

static void on_step(void *data)
{
    struct ovn_port *port = data;
    const int64_t now_ms = kvmig__now_ms();
    const char *source = kvmig__ovn_machine_source(port->machine), *target = kvmig__ovn_machine_target(port->machine);
    struct kvmig__ovn_orders orders = { 0 };
    struct kvmig__ovn_facts facts = { 0 };
    int64_t wake_ms;

    kvmig__ovn_databases_follow(&port->databases, source, target);
    kvmig__ovn_gather(&port->databases, source, target, &facts);
    kvmig__ovn_machine_step(port->machine, &facts, now_ms, &orders);
    log_state(port);
    carry_out(port, &orders);
    wake_ms = orders.wake_ms;
    if (orders.ended && !port->refreshing) { /* a refresh has taken the place of the wish that ended */
        struct kvmig_error *error = orders.error;

        orders.error = NULL;
        kvmig__port_answer(port->base.port, error);
    }
    check_refresh(port, &facts, now_ms);
    if (port->refreshing && port->refresh_by_ms < wake_ms)
        wake_ms = port->refresh_by_ms;
    if (wake_ms < port->step.due_ms)
        kvmig__timer_arm(&port->step, wake_ms);
    kvmig__ovn_orders_clear(&orders);
    kvmig__ovn_facts_clear(&facts);
}

/* ---- the backend ---- */

static void ovn_wish(struct kvmig__port_backend *backend, enum kvmig__port_wish wish, const char *a, const char *b,
                     int64_t min_age_ms)
{
    static const enum kvmig__ovn_wish wishes[] = {
        [KVMIG__PORT_PREPARE] = KVMIG__OVN_PREPARE,
        [KVMIG__PORT_VERIFY] = KVMIG__OVN_VERIFY,
        [KVMIG__PORT_VERIFY_LATE] = KVMIG__OVN_VERIFY_LATE,
        [KVMIG__PORT_CONVERGE] = KVMIG__OVN_CONVERGE,
        [KVMIG__PORT_CONVERGE_NOW] = KVMIG__OVN_CONVERGE_NOW,
        [KVMIG__PORT_ROLLBACK] = KVMIG__OVN_ROLLBACK,
        [KVMIG__PORT_GC] = KVMIG__OVN_GC,
    };
    struct ovn_port *port = (struct ovn_port *)backend;
    const int64_t now_ms = kvmig__now_ms();

    port->refreshing = wish == KVMIG__PORT_REFRESH;
    if (port->refreshing)
        port->refresh_by_ms = now_ms + port->config.prepare_ms;
    else
        kvmig__ovn_machine_wish(port->machine, wishes[wish], kvmig__ovn_databases_chassis(&port->databases, a),
                                kvmig__ovn_databases_chassis(&port->databases, b), min_age_ms, now_ms);
    step_soon(port);
}

static void ovn_add_json(struct kvmig__port_backend *backend, struct json_object *object)
{
    struct ovn_port *port = (struct ovn_port *)backend;
    struct kvmig__ovn_facts facts = { 0 };
    struct kvmig_findings findings = { NULL, 0 };

    kvmig__ovn_gather(&port->databases, kvmig__ovn_machine_source(port->machine),
                      kvmig__ovn_machine_target(port->machine), &facts);
    kvmig__ovn_add_json(&port->databases, &facts, object);
    kvmig__ovn_find(&facts, port->name, &findings);
    json_object_object_add(object, "findings", kvmig__json_findings(&findings));
    kvmig__findings_clear(&findings);
    kvmig__ovn_facts_clear(&facts);
}

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A preparation that fails puts back what it wrote, with a deadline of its own; the last transaction may still be
 * out. */
static int64_t ovn_longest_ms(const struct kvmig__port_backend *backend)
{
    const struct kvmig__ovn_config *config = &((const struct ovn_port *)backend)->config;

    return max(max(config->prepare_ms, config->activation_ms) + config->converge_ms, config->verify_ms) + CALL_MS;
}

static void ovn_free(struct kvmig__port_backend *backend)
{
    struct ovn_port *port = (struct ovn_port *)backend;

    kvmig__timer_disarm(&port->step);
    kvmig__timer_disarm(&port->look_again);
    kvmig__ovsdb_call_forget(port->write);
    kvmig__ovsdb_call_forget(port->bump);
    kvmig__ovsdb_call_forget(port->look);
    kvmig__ovn_machine_free(port->machine);
    kvmig__ovn_databases_close(&port->databases);
    free(port->name);
    free(port->owner);
    free(port);
}

static int64_t or_default(uint64_t ms, int64_t fallback)
{
    return ms ? (int64_t)ms : fallback;
}

struct kvmig__port_backend *kvmig__ovn_port_new(struct kvmig_context *context, const struct kvmig_port_ovn_opts *opts,
                                                const char *name, const char *owner, struct kvmig_error **out_error)
{
    static const struct kvmig__port_backend_ops ops = {
        .kind = "ovn",
        .wish = ovn_wish,
        .add_json = ovn_add_json,
        .longest_ms = ovn_longest_ms,
        .free = ovn_free,
    };
    struct ovn_port *port = kvmig__calloc(1, sizeof(*port));

    port->base.ops = &ops;
    *out_error = kvmig__ovn_databases_open(&port->databases, context, opts, step_soon, port);
    if (*out_error) {
        free(port);
        return NULL;
    }
    port->name = kvmig__strdup(name);
    port->owner = kvmig__strdup(owner);
    port->config = (struct kvmig__ovn_config){
        .owner = port->owner,
        .name = port->name,
        .strategy = opts->strategy,
        .prepare_ms = or_default(opts->prepare_timeout_ms, KVMIG__PORT_DEFAULT_MS),
        .verify_ms = or_default(opts->verify_timeout_ms, KVMIG__PORT_DEFAULT_MS),
        .activation_ms = or_default(opts->activation_timeout_ms, DEFAULT_ACTIVATION_MS),
        .converge_ms = or_default(opts->converge_timeout_ms, KVMIG__PORT_DEFAULT_MS),
    };
    port->machine = kvmig__ovn_machine_new(&port->config);
    kvmig__timer_init(&port->step, context, on_step, port);
    kvmig__timer_init(&port->look_again, context, look, port);
    return &port->base;
}
