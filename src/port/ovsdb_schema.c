/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a schema (RFC 7047 section 3.2) says of a column, and values checked against it. The schema is kept as the
 * server sent it and looked into when needed; constraints on atoms (ranges, enumerations, references) are the server's
 * matter. Any thread.
 */
#include "port/ovsdb_private.h"

#include <string.h>

static const char *const atom_names[] = { "integer", "real", "boolean", "string", "uuid" };

struct kvmig_error *kvmig__ovsdb_schema_check(struct json_object *schema, const char *where)
{
    struct json_object *tables, *version;

    if (json_object_is_type(schema, json_type_object) && json_object_object_get_ex(schema, "tables", &tables) &&
        json_object_is_type(tables, json_type_object) &&
        (!json_object_object_get_ex(schema, "version", &version) || json_object_is_type(version, json_type_string)))
        return NULL;
    return kvmig__error_new(-KVMIG_EJSON, where, "the answer to get_schema has no object \"tables\"",
                            "Check that an OVSDB server listens there.", "The server's schema is not a schema.");
}

static struct json_object *columns_of(struct json_object *schema, const char *table)
{
    struct json_object *tables, *found, *columns;

    if (schema && json_object_object_get_ex(schema, "tables", &tables) &&
        json_object_object_get_ex(tables, table, &found) && json_object_is_type(found, json_type_object) &&
        json_object_object_get_ex(found, "columns", &columns) && json_object_is_type(columns, json_type_object))
        return columns;
    return NULL;
}

bool kvmig__ovsdb_schema_has_table(struct json_object *schema, const char *table)
{
    return columns_of(schema, table) != NULL;
}

static bool atom_of_name(struct json_object *name, enum kvmig__ovsdb_atom *out_atom)
{
    for (size_t i = 0; json_object_is_type(name, json_type_string) && i < KVMIG__N_ELEMENTS(atom_names); i++) {
        if (strcmp(json_object_get_string(name), atom_names[i]) == 0) {
            *out_atom = (enum kvmig__ovsdb_atom)i;
            return true;
        }
    }
    return false;
}

/* "string", or {"type": "string", "enum": ...} */
static bool atom_of_base(struct json_object *base, enum kvmig__ovsdb_atom *out_atom)
{
    struct json_object *name;

    if (json_object_is_type(base, json_type_object))
        return json_object_object_get_ex(base, "type", &name) && atom_of_name(name, out_atom);
    return atom_of_name(base, out_atom);
}

/* "min" and "max" are 1 where they are not given; "unlimited" is more than one. */
static bool limit_is_one(struct json_object *type, const char *name)
{
    struct json_object *limit;

    return !json_object_object_get_ex(type, name, &limit) ||
           (json_object_is_type(limit, json_type_int) && json_object_get_int64(limit) == 1);
}

struct kvmig__ovsdb_type kvmig__ovsdb_schema_type(struct json_object *schema, const char *table, const char *column)
{
    struct kvmig__ovsdb_type type = { 0 };
    struct json_object *columns = columns_of(schema, table), *found, *json, *key, *value;

    if (!columns || !json_object_object_get_ex(columns, column, &found) ||
        !json_object_is_type(found, json_type_object) || !json_object_object_get_ex(found, "type", &json))
        return type;
    if (!json_object_is_type(json, json_type_object)) {
        type.known = atom_of_name(json, &type.key);
        type.scalar = type.required = true;
        return type;
    }
    type.is_map = json_object_object_get_ex(json, "value", &value);
    type.scalar = limit_is_one(json, "max");
    type.required = limit_is_one(json, "min");
    type.known = json_object_object_get_ex(json, "key", &key) && atom_of_base(key, &type.key) &&
                 (!type.is_map || atom_of_base(value, &type.value));
    return type;
}

bool kvmig__ovsdb_schema_has_column(struct json_object *schema, const char *table, const char *column)
{
    if (strcmp(column, "_uuid") == 0 || strcmp(column, "_version") == 0)
        return kvmig__ovsdb_schema_has_table(schema, table);
    return kvmig__ovsdb_schema_type(schema, table, column).known;
}

/* ---- values of a type ---- */

static bool atom_fits(enum kvmig__ovsdb_atom atom, struct json_object *json)
{
    switch (atom) {
    case KVMIG__ATOM_INTEGER:
        return json_object_is_type(json, json_type_int);
    case KVMIG__ATOM_REAL:
        return json_object_is_type(json, json_type_int) || json_object_is_type(json, json_type_double);
    case KVMIG__ATOM_BOOLEAN:
        return json_object_is_type(json, json_type_boolean);
    case KVMIG__ATOM_STRING:
        return json_object_is_type(json, json_type_string);
    case KVMIG__ATOM_UUID:
        return json_object_is_type(json, json_type_array); /* decoding has seen to the rest */
    }
    return false;
}

/* json has been decoded, so its shape is known to be right. */
static bool atoms_fit(const struct kvmig__ovsdb_type *type, const struct kvmig__ovsdb_value *value,
                      struct json_object *json)
{
    struct json_object *elements;

    if (value->is_map != type->is_map)
        return false;
    /* The one atom of a set may stand without its set; an array that is no set is the atom ["uuid", ...]. */
    if (!json_object_is_type(json, json_type_array) ||
        strcmp(json_object_get_string(json_object_array_get_idx(json, 0)), "uuid") == 0)
        return atom_fits(type->key, json);
    elements = json_object_array_get_idx(json, 1);
    for (size_t i = 0; i < json_object_array_length(elements); i++) {
        struct json_object *element = json_object_array_get_idx(elements, i);
        struct json_object *key = type->is_map ? json_object_array_get_idx(element, 0) : element;

        if (!atom_fits(type->key, key) ||
            (type->is_map && !atom_fits(type->value, json_object_array_get_idx(element, 1))))
            return false;
    }
    return true;
}

bool kvmig__ovsdb_type_decode(const struct kvmig__ovsdb_type *type, struct json_object *json,
                              struct kvmig__ovsdb_value *out_value)
{
    if (!kvmig__ovsdb_value_decode(json, out_value))
        return false;
    if (atoms_fit(type, out_value, json) && (!type->scalar || out_value->keys.n <= 1) &&
        (!type->required || out_value->keys.n > 0))
        return true;
    kvmig__ovsdb_value_clear(out_value);
    return false;
}

bool kvmig__ovsdb_type_apply(const struct kvmig__ovsdb_type *type, struct kvmig__ovsdb_value *value,
                             struct json_object *diff)
{
    struct kvmig__ovsdb_value decoded;
    bool fits;

    if (type->scalar) {
        if (!kvmig__ovsdb_type_decode(type, diff, &decoded))
            return false;
        kvmig__ovsdb_value_clear(value);
        *value = decoded;
        return true;
    }
    if (!kvmig__ovsdb_value_decode(diff, &decoded))
        return false;
    fits = atoms_fit(type, &decoded, diff);
    kvmig__ovsdb_value_clear(&decoded);
    return fits && kvmig__ovsdb_value_apply(value, diff, false);
}

static const char *default_text(enum kvmig__ovsdb_atom atom)
{
    switch (atom) {
    case KVMIG__ATOM_INTEGER:
    case KVMIG__ATOM_REAL:
        return "0";
    case KVMIG__ATOM_BOOLEAN:
        return "false";
    case KVMIG__ATOM_STRING:
        return "";
    case KVMIG__ATOM_UUID:
        return KVMIG__OVSDB_NO_TXN;
    }
    return "";
}

void kvmig__ovsdb_type_default(const struct kvmig__ovsdb_type *type, struct kvmig__ovsdb_value *out_value)
{
    *out_value = (struct kvmig__ovsdb_value){ .is_map = type->is_map };
    if (!type->required)
        return;
    kvmig__strlist_add(&out_value->keys, default_text(type->key));
    if (type->is_map)
        kvmig__strlist_add(&out_value->values, default_text(type->value));
}
