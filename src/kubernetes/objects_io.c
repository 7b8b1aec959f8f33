/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cursor that object descriptions are visited with: moving through the JSON, and single fields. Knows nothing of
 * any object. Any thread; see objects_io.h for directions and ownership.
 */
#include "kubernetes/objects_io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST (UINT64_MAX - 1) /* UINT64_MAX means "not known" */

/* ---- moving ---- */

struct json_object *kvmig__io_get(const struct kvmig__io *io, const char *key)
{
    struct json_object *here = io->level[io->depth].json, *value = NULL;

    return json_object_is_type(here, json_type_object) && json_object_object_get_ex(here, key, &value) ? value : NULL;
}

void kvmig__io_set(struct kvmig__io *io, const char *key, struct json_object *value)
{
    json_object_object_add(io->level[io->depth].json, key, value);
}

void kvmig__io_begin(struct kvmig__io *io, const char *key)
{
    struct json_object *inner = kvmig__io_get(io, key);
    bool create = io->encode && !inner;

    if (create) {
        inner = json_object_new_object();
        kvmig__io_set(io, key, inner);
    }
    io->depth++;
    io->level[io->depth].json = inner;
    io->level[io->depth].key = key;
    io->level[io->depth].created = create;
}

void kvmig__io_end(struct kvmig__io *io)
{
    bool drop = io->level[io->depth].created && !json_object_object_length(io->level[io->depth].json);
    const char *key = io->level[io->depth].key;

    io->depth--;
    if (drop)
        json_object_object_del(io->level[io->depth].json, key);
}

static bool is_listed(const char *name, const char *const *list)
{
    for (; *list; list++) {
        if (!strcmp(name, *list))
            return true;
    }
    return false;
}

const char *kvmig__io_first_object(const struct kvmig__io *io, const char *const *except)
{
    struct json_object *here = io->level[io->depth].json;

    if (!json_object_is_type(here, json_type_object))
        return NULL;
    json_object_object_foreach(here, key, value)
    {
        if (json_object_is_type(value, json_type_object) && !is_listed(key, except))
            return key;
    }
    return NULL;
}

/* ---- reading values of whatever type ---- */

static bool is_scalar(struct json_object *json)
{
    enum json_type type = json_object_get_type(json);

    return type != json_type_null && type != json_type_object && type != json_type_array;
}

static bool read_bool(struct json_object *json, bool *out)
{
    const char *text;
    bool yes;

    switch (json_object_get_type(json)) {
    case json_type_boolean:
    case json_type_int:
        *out = json_object_get_boolean(json);
        return true;
    case json_type_string:
        text = json_object_get_string(json);
        yes = !strcmp(text, "true") || !strcmp(text, "True");
        if (!yes && strcmp(text, "false") != 0 && strcmp(text, "False") != 0)
            return false;
        *out = yes;
        return true;
    default:
        return false;
    }
}

static bool read_digits(const char *text, uint64_t *out)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !errno && !*end;
}

/* A whole number that is not negative. */
static bool read_u64(struct json_object *json, uint64_t *out)
{
    uint64_t value;

    switch (json_object_get_type(json)) {
    case json_type_int:
        if (json_object_get_int64(json) < 0)
            return false;
        value = json_object_get_uint64(json);
        break;
    case json_type_double:
        if (!(json_object_get_double(json) >= 0 && json_object_get_double(json) < 18446744073709549568.0))
            return false;
        value = (uint64_t)json_object_get_double(json);
        break;
    case json_type_string:
        if (!read_digits(json_object_get_string(json), &value))
            return false;
        break;
    default:
        return false;
    }
    *out = value > MOST ? MOST : value;
    return true;
}

/* ---- fields ---- */

void kvmig__io_str(struct kvmig__io *io, const char *key, char **field)
{
    struct json_object *value;

    if (io->encode) {
        kvmig__json_add_str(io->level[io->depth].json, key, *field);
        return;
    }
    value = kvmig__io_get(io, key);
    if (is_scalar(value))
        kvmig__str_set(field, json_object_get_string(value));
}

void kvmig__io_bool(struct kvmig__io *io, const char *key, bool *field)
{
    if (!io->encode)
        read_bool(kvmig__io_get(io, key), field);
    else if (*field)
        kvmig__io_set(io, key, json_object_new_boolean(true));
}

void kvmig__io_tri(struct kvmig__io *io, const char *key, int32_t *field)
{
    bool value;

    if (io->encode) {
        if (*field >= 0)
            kvmig__io_set(io, key, json_object_new_boolean(*field > 0));
    } else if (read_bool(kvmig__io_get(io, key), &value)) {
        *field = value;
    }
}

void kvmig__io_u64(struct kvmig__io *io, const char *key, uint64_t *field)
{
    if (io->encode)
        kvmig__json_add_u64(io->level[io->depth].json, key, *field);
    else
        read_u64(kvmig__io_get(io, key), field);
}

void kvmig__io_u64_or_zero(struct kvmig__io *io, const char *key, uint64_t *field)
{
    if (!io->encode || *field)
        kvmig__io_u64(io, key, field);
}

void kvmig__io_u32(struct kvmig__io *io, const char *key, uint32_t *field)
{
    uint64_t value = *field;

    kvmig__io_u64_or_zero(io, key, &value);
    *field = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

void kvmig__io_i32(struct kvmig__io *io, const char *key, int32_t *field)
{
    struct json_object *value;

    if (io->encode) {
        if (*field)
            kvmig__io_set(io, key, json_object_new_int(*field));
        return;
    }
    value = kvmig__io_get(io, key);
    if (json_object_is_type(value, json_type_int))
        *field = json_object_get_int(value);
}

void kvmig__io_due(struct kvmig__io *io, const char *key, int64_t *field)
{
    struct json_object *value;

    if (!io->encode) {
        value = kvmig__io_get(io, key);
        if (json_object_is_type(value, json_type_string) && kvmig__time_parse(json_object_get_string(value)))
            *field = kvmig__time_parse(json_object_get_string(value));
    } else if (*field > 0) {
        char *text = kvmig__time_text(*field);

        kvmig__json_add_str(io->level[io->depth].json, key, text);
        free(text);
    }
}

void kvmig__io_time(struct kvmig__io *io, const char *key, int64_t *field)
{
    int64_t value = 0;

    if (io->encode) {
        kvmig__io_due(io, key, field);
        return;
    }
    kvmig__io_due(io, key, &value);
    if (value)
        *field = value;
    if (value > io->newest_ms)
        io->newest_ms = value;
}

void kvmig__io_bytes(struct kvmig__io *io, const char *key, uint64_t *field)
{
    if (!io->encode) {
        kvmig__quantity_scaled(kvmig__io_get(io, key), 0, field);
    } else if (*field != KVMIG__UNKNOWN) {
        char *text = kvmig__asprintf("%" PRIu64, *field);

        kvmig__json_add_str(io->level[io->depth].json, key, text);
        free(text);
    }
}

/* Printed with as many digits as are kept when read; not with printf's %g, whose decimal point depends on the
 * locale. */
void kvmig__io_fraction(struct kvmig__io *io, const char *key, double *field)
{
    uint64_t millionths = 0;
    char *text;

    if (!io->encode) {
        if (kvmig__quantity_scaled(kvmig__io_get(io, key), 6, &millionths))
            *field = (double)millionths / 1e6;
        return;
    }
    if (!(*field > 0 && *field < 1e12))
        return;
    millionths = (uint64_t)(*field * 1e6 + 0.5);
    text = kvmig__asprintf("%" PRIu64 ".%06" PRIu64, millionths / 1000000, millionths % 1000000);
    for (size_t n = strlen(text); text[n - 1] == '0'; n--)
        text[n - 1] = '\0';
    kvmig__json_add_str(io->level[io->depth].json, key, text);
    free(text);
}

void kvmig__io_present(struct kvmig__io *io, const char *key, bool *field)
{
    struct json_object *value = kvmig__io_get(io, key);

    if (!io->encode)
        *field = json_object_is_type(value, json_type_object);
    else if (*field && !value)
        kvmig__io_set(io, key, json_object_new_object());
}

void kvmig__io_enabled(struct kvmig__io *io, const char *key, bool *field)
{
    bool enabled = true;

    kvmig__io_present(io, key, field);
    if (io->encode || !*field)
        return;
    kvmig__io_begin(io, key);
    kvmig__io_bool(io, "enabled", &enabled);
    kvmig__io_end(io);
    *field = enabled;
}
