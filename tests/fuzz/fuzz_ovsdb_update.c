/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: what an OVSDB server sends about schemas, rows and values. The input is a sequence of JSON documents,
 * each fed to what its form fits: an object with "tables" is a schema from then on, an array is a value and
 * differences to it, any other object is an update of one table, in both formats. After each the rows must still be in
 * order and within their budget.
 *
 * With libFuzzer as fuzz.h says, with src/port/ovsdb_value.c, ovsdb_schema.c, ovsdb_filter.c and ovsdb_rows.c.
 */
#include "fuzz.h"
#include "port/ovsdb_private.h"

#include <stdlib.h>
#include <string.h>

struct table {
    struct kvmig__ovsdb_rows rows;
    struct kvmig__ovsdb_budget budget;
};
struct target {
    struct table plain, conditional;
    struct json_object *filter;
};

static const char first_schema[] =
    "{\"tables\":{\"T\":{\"columns\":{\"s\":{\"type\":\"string\"},\"i\":{\"type\":{\"key\":\"integer\",\"min\":0}},"
    "\"m\":{\"type\":{\"key\":\"string\",\"value\":\"string\",\"min\":0,\"max\":\"unlimited\"}},"
    "\"u\":{\"type\":{\"key\":\"uuid\",\"min\":0,\"max\":\"unlimited\"}}}}}}";
static const char *const columns[] = { "s", "i", "m", "u", "none", NULL };

static void table_init(struct table *table)
{
    *table = (struct table){ .budget = { .max_rows = 8, .max_bytes = 4096 } };
    kvmig__ovsdb_rows_init(&table->rows, "T", columns);
}

/* Another schema means all rows anew, as the client does it. */
static void table_set_schema(struct table *table, struct json_object *schema)
{
    kvmig__ovsdb_rows_drop(&table->rows, &table->budget);
    if (table->budget.rows || table->budget.bytes)
        abort();
    kvmig__ovsdb_rows_set_schema(&table->rows, schema);
}

static void table_apply(struct table *table, enum kvmig__ovsdb_format format, struct json_object *updates,
                        struct json_object *filter)
{
    kvmig__error_free(kvmig__ovsdb_rows_apply(&table->rows, &table->budget, format, updates, filter, "fuzz"));
    if (table->budget.rows != table->rows.n)
        abort();
    for (size_t i = 0; i < table->rows.n; i++) {
        const struct kvmig__ovsdb_row *row = table->rows.v[i];
        int64_t number;

        if ((i && strcmp(table->rows.v[i - 1]->uuid, row->uuid) >= 0) ||
            kvmig__ovsdb_rows_find(&table->rows, row->uuid) != row)
            abort();
        kvmig__ovsdb_str(row, "s");
        kvmig__ovsdb_int(row, "i", &number);
        kvmig__ovsdb_key(row, "m", "k");
    }
}

static void table_clear(struct table *table)
{
    table_set_schema(table, NULL);
    kvmig__ovsdb_rows_clear(&table->rows);
}

static void check_value(const struct kvmig__ovsdb_value *value)
{
    for (size_t i = 1; i < value->keys.n; i++) {
        if (strcmp(value->keys.v[i - 1], value->keys.v[i]) >= 0)
            abort();
    }
    if (value->values.n != (value->is_map ? value->keys.n : 0))
        abort();
}

/* [value, difference, ...]; the whole array also serves as the conditions of the plain table. */
static void feed_values(struct target *target, struct json_object *array)
{
    struct kvmig__ovsdb_value value;

    json_object_put(target->filter);
    target->filter = json_object_get(array);
    if (!kvmig__ovsdb_value_decode(json_object_array_get_idx(array, 0), &value))
        return;
    for (size_t i = 1; i < json_object_array_length(array); i++) {
        check_value(&value);
        kvmig__ovsdb_value_apply(&value, json_object_array_get_idx(array, i), i % 3 == 2);
    }
    check_value(&value);
    kvmig__ovsdb_value_clear(&value);
}

static void feed_schema(struct target *target, struct json_object *schema)
{
    struct kvmig_error *error = kvmig__ovsdb_schema_check(schema, "fuzz");

    if (!error) {
        table_set_schema(&target->plain, schema);
        table_set_schema(&target->conditional, schema);
    }
    kvmig__error_free(error);
}

static void feed(struct target *target, struct json_object *json)
{
    if (json_object_is_type(json, json_type_array)) {
        feed_values(target, json);
    } else if (json_object_object_get_ex(json, "tables", NULL)) {
        feed_schema(target, json);
    } else {
        table_apply(&target->plain, KVMIG__OVSDB_UPDATE, json, target->filter);
        table_apply(&target->conditional, KVMIG__OVSDB_UPDATE2, json, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_object *schema = json_tokener_parse(first_schema);
    struct json_tokener *tokener = json_tokener_new_ex(KVMIG__OVSDB_MAX_DEPTH);
    struct target target = { 0 };
    char *text = fuzz_text(data, size);
    size_t at = 0, len = strlen(text);

    table_init(&target.plain);
    table_init(&target.conditional);
    feed_schema(&target, schema);
    while (at < len) {
        struct json_object *json = json_tokener_parse_ex(tokener, text + at, (int)(len - at));

        if (json_tokener_get_error(tokener) != json_tokener_success)
            break;
        at += json_tokener_get_parse_end(tokener);
        feed(&target, json);
        json_object_put(json);
    }
    table_clear(&target.plain);
    table_clear(&target.conditional);
    json_object_put(target.filter);
    json_object_put(schema);
    json_tokener_free(tokener);
    free(text);
    return 0;
}
