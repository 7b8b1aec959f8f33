/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the databases say of an OVN port, as JSON. Rows that are not those of a live connection are shown as they were
 * seen last, and "databases" says so. Needs the context lock; adds to the caller's object.
 */
#include "port/ovn_port.h"

#include "base/json_internal.h"

static struct json_object *iface_object(const struct kvmig__ovn_iface *iface)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "name", iface->name);
    kvmig__json_add_str(object, "uuid", iface->uuid);
    if (iface->rows > 1)
        kvmig__json_add_i64(object, "duplicates", (int64_t)iface->rows);
    kvmig__json_add_i64(object, "ofport", iface->ofport);
    kvmig__json_add_bool(object, "link_up", iface->link_up);
    kvmig__json_add_bool(object, "installed", iface->installed);
    kvmig__json_add_str(object, "installed_ts", iface->installed_ts);
    kvmig__json_add_str(object, "error", iface->error);
    return object;
}

/* By chassis, as the caller named it; null where there is none. */
static struct json_object *interfaces_object(const struct kvmig__ovn_databases *databases, const char *lsp)
{
    struct json_object *object = json_object_new_object();

    for (size_t i = 0; i < databases->locals.n; i++) {
        struct kvmig__ovn_iface iface = { 0 };

        if (!databases->locals.v[i].ovs.db)
            continue;
        kvmig__ovn_gather_iface(&databases->locals.v[i], lsp, &iface);
        json_object_object_add(object, databases->locals.v[i].chassis, iface.rows ? iface_object(&iface) : NULL);
        kvmig__ovn_iface_clear(&iface);
    }
    return object;
}

/* What stands beside the owner token; NULL: nothing, or it cannot be read. */
static struct json_object *prepared_object(const char *text)
{
    struct kvmig__ovn_previous previous;
    struct json_object *object;

    if (!kvmig__ovn_previous_read(text, &previous))
        return NULL;
    object = json_object_new_object();
    kvmig__json_add_str(object, "source", previous.source);
    kvmig__json_add_str(object, "target", previous.target);
    if (previous.since_ms)
        kvmig__json_add_i64(object, "since_unix_ms", previous.since_ms);
    kvmig__ovn_previous_clear(&previous);
    return object;
}

static struct json_object *lsp_object(const struct kvmig__ovn_databases *databases, const struct kvmig__ovn_lsp *lsp)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "name", lsp->name);
    kvmig__json_add_str(object, "uuid", lsp->uuid);
    kvmig__json_add_str(object, "requested_chassis", lsp->requested_chassis);
    kvmig__json_add_str(object, "activation_strategy", lsp->activation_strategy);
    kvmig__json_add_str(object, "owner", lsp->owner);
    kvmig__json_add_str(object, "previous", lsp->previous);
    json_object_object_add(object, "prepared", prepared_object(lsp->previous));
    if (lsp->has_binding) {
        kvmig__json_add_str(object, "chassis", lsp->chassis);
        json_object_object_add(object, "additional", kvmig__json_strlist(&lsp->additional));
        json_object_object_add(object, "activated", kvmig__json_strlist(&lsp->activated));
        kvmig__json_add_bool(object, "up", lsp->up);
    }
    json_object_object_add(object, "interfaces", interfaces_object(databases, lsp->name));
    return object;
}

static struct json_object *source_object(const struct kvmig__ovn_source *source)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_bool(object, "current", source->current);
    kvmig__json_add_str(object, "trouble", source->trouble);
    return object;
}

static struct json_object *databases_object(const struct kvmig__ovn_databases *databases,
                                            const struct kvmig__ovn_facts *facts)
{
    struct json_object *object = json_object_new_object(), *locals = json_object_new_object();

    json_object_object_add(object, "nb", source_object(&facts->nb));
    if (facts->sb.used)
        json_object_object_add(object, "sb", source_object(&facts->sb));
    for (size_t i = 0; i < databases->locals.n; i++) {
        struct kvmig__ovn_source source = { 0 };

        if (!databases->locals.v[i].ovs.db)
            continue;
        kvmig__ovn_gather_local(databases, &databases->locals.v[i], &source);
        json_object_object_add(locals, databases->locals.v[i].chassis, source_object(&source));
        kvmig__str_set(&source.trouble, NULL);
    }
    json_object_object_add(object, "ovs", locals);
    return object;
}

/* The host name of each chassis that these ports name or are bound to, or that the caller gave a local database of. */
static bool is_named(const struct kvmig__ovn_databases *databases, const struct kvmig__ovn_facts *facts,
                     const char *chassis)
{
    for (size_t i = 0; i < databases->locals.n; i++)
        if (kvmig__str_eq(databases->locals.v[i].chassis, chassis))
            return true;
    for (size_t i = 0; i < facts->lsps.n; i++) {
        const struct kvmig__ovn_lsp *lsp = &facts->lsps.v[i];

        if (kvmig__str_eq(lsp->chassis, chassis) || kvmig__strlist_has(&lsp->additional, chassis))
            return true;
    }
    return false;
}

static struct json_object *chassis_object(const struct kvmig__ovn_databases *databases,
                                          const struct kvmig__ovn_facts *facts)
{
    struct json_object *object = json_object_new_object();

    for (size_t i = 0; i < facts->chassis.n; i++)
        if (is_named(databases, facts, facts->chassis.v[i].name))
            kvmig__json_add_str(object, facts->chassis.v[i].name, facts->chassis.v[i].hostname);
    return object;
}

void kvmig__ovn_add_json(const struct kvmig__ovn_databases *databases, const struct kvmig__ovn_facts *facts,
                         struct json_object *object)
{
    struct json_object *lsps = json_object_new_array();

    for (size_t i = 0; i < facts->lsps.n; i++)
        json_object_array_add(lsps, lsp_object(databases, &facts->lsps.v[i]));
    json_object_object_add(object, "lsps", lsps);
    json_object_object_add(object, "chassis_hosts", chassis_object(databases, facts));
    json_object_object_add(object, "databases", databases_object(databases, facts));
    kvmig__json_add_str(object, "ovn_version", facts->ovn_version);
}
