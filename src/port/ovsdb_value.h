/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rows of OVSDB as plain data: a column is a set of atoms or a map of atoms, and every atom is kept as text (integers
 * in decimal, booleans "true" and "false", UUIDs as they are written). Decoding from and to json-c is in ovsdb_value.c;
 * the rest is pure. Any thread.
 */
#ifndef KVMIG_SRC_OVSDB_VALUE_H
#define KVMIG_SRC_OVSDB_VALUE_H

#include "base/base.h"

struct json_object;

struct kvmig__ovsdb_value {
    bool is_map;
    struct kvmig__strlist keys; /* the atoms of a set, or the keys of a map */
    struct kvmig__strlist values; /* of a map, beside its keys */
};
struct kvmig__ovsdb_row {
    char *uuid;
    struct { /* as asked for; a column that the schema lacks is empty */
        struct kvmig__ovsdb_value *v;
        size_t n;
    } columns;
    const char *const *names; /* of the columns; borrowed from the table */
};
/* All borrowed; NULL or false if the column is empty, missing, or has no such key. */
const char *kvmig__ovsdb_str(const struct kvmig__ovsdb_row *row, const char *column); /* the first atom of a set */
bool kvmig__ovsdb_int(const struct kvmig__ovsdb_row *row, const char *column, int64_t *out_value);
bool kvmig__ovsdb_bool(const struct kvmig__ovsdb_row *row, const char *column);
const char *kvmig__ovsdb_key(const struct kvmig__ovsdb_row *row, const char *column, const char *key); /* of a map */
const struct kvmig__ovsdb_value *kvmig__ovsdb_column(const struct kvmig__ovsdb_row *row, const char *column);

/* false: not a value of OVSDB (wrong types); *out is empty then. */
bool kvmig__ovsdb_value_decode(struct json_object *json, struct kvmig__ovsdb_value *out_value);
/* update2's and update3's "modify": a set's atoms toggle, a map's pair is added, changed, or, if equal to the old one,
 * removed; a column with at most one atom is replaced (scalar says so). false: not a value. */
bool kvmig__ovsdb_value_apply(struct kvmig__ovsdb_value *value, struct json_object *diff, bool scalar);
void kvmig__ovsdb_value_clear(struct kvmig__ovsdb_value *value);

/* ---- building requests; all owned ---- */
struct json_object *kvmig__ovsdb_json_uuid(const char *uuid); /* ["uuid", "..."] */
struct json_object *kvmig__ovsdb_json_set(const char *const *atoms, size_t n); /* ["set", [strings]] */
struct json_object *kvmig__ovsdb_json_map(const char *const *pairs, size_t n_pairs); /* key, value, key, value ... */
/* [column, function, value]; value taken. */
struct json_object *kvmig__ovsdb_json_clause(const char *column, const char *function, struct json_object *value);

#endif
