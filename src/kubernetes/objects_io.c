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

#define DOUBLE_MOST UINT64_C(18446744073709549567) /* what a double can say below 2^64 */
#define MOST (UINT64_MAX - 1) /* UINT64_MAX means "not known" */

/* ---- moving ---- */

const struct kvmig__value *kvmig__io_get(const struct kvmig__io *io, const char *key)
{
    return io->encode ? NULL : kvmig__value_get(io->level[io->depth].value, key);
}

static struct json_object *made(const struct kvmig__io *io, const char *key)
{
    struct json_object *value = NULL;

    return json_object_object_get_ex(io->level[io->depth].json, key, &value) ? value : NULL;
}

void kvmig__io_set(struct kvmig__io *io, const char *key, struct json_object *value)
{
    json_object_object_add(io->level[io->depth].json, key, value);
}

void kvmig__io_begin(struct kvmig__io *io, const char *key)
{
    const struct kvmig__value *value = kvmig__io_get(io, key);
    struct json_object *inner = io->encode ? made(io, key) : NULL;
    bool create = io->encode && !inner;

    if (create) {
        inner = json_object_new_object();
        kvmig__io_set(io, key, inner);
    }
    io->depth++;
    io->level[io->depth].json = inner;
    io->level[io->depth].value = value;
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
    const struct kvmig__value *here = io->level[io->depth].value;

    if (!kvmig__value_is(here, KVMIG__TAPE_OBJECT))
        return NULL;
    KVMIG__EACH_MEMBER(here, key, value)
    {
        if (value->type == KVMIG__TAPE_OBJECT && !is_listed(key->text, except))
            return key->text;
    }
    return NULL;
}

/* ---- reading values of whatever type ---- */

static bool is_nonzero(const char *digits)
{
    return digits[strspn(digits, "-0")];
}

static bool read_bool(const struct kvmig__value *value, bool *out)
{
    bool yes;

    if (!value)
        return false;
    switch (value->type) {
    case KVMIG__TAPE_TRUE:
    case KVMIG__TAPE_FALSE:
        *out = value->type == KVMIG__TAPE_TRUE;
        return true;
    case KVMIG__TAPE_INT:
        *out = is_nonzero(value->text);
        return true;
    case KVMIG__TAPE_STRING:
        yes = !strcmp(value->text, "true") || !strcmp(value->text, "True");
        if (!yes && strcmp(value->text, "false") != 0 && strcmp(value->text, "False") != 0)
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

/* A double as JSON writes it; strtod() would ask the locale for its point. */
static bool read_double(const struct kvmig__value *value, uint64_t *out)
{
    uint64_t ceiling, above;

    if (*value->text == '-')
        return !is_nonzero(value->text + strspn(value->text, "-.")) && kvmig__quantity_parse(value->text + 1, out);
    if (!kvmig__quantity_scaled(value, 0, &ceiling) || ceiling > DOUBLE_MOST)
        return false;
    /* quantities are rounded up, numbers are cut off */
    if (kvmig__quantity_scaled(value, 3, &above) && above < MOST && ceiling && ceiling * 1000 > above)
        ceiling--;
    *out = ceiling;
    return true;
}

/* A whole number that is not negative. */
static bool read_u64(const struct kvmig__value *value, uint64_t *out)
{
    uint64_t number = 0;

    if (!value)
        return false;
    switch (value->type) {
    case KVMIG__TAPE_INT:
        if (*value->text == '-' && is_nonzero(value->text))
            return false;
        number = *value->text == '-' ? 0 : strtoull(value->text, NULL, 10); /* saturates */
        break;
    case KVMIG__TAPE_DOUBLE:
        if (!read_double(value, &number))
            return false;
        break;
    case KVMIG__TAPE_STRING:
        if (!read_digits(value->text, &number))
            return false;
        break;
    default:
        return false;
    }
    *out = number > MOST ? MOST : number;
    return true;
}

/* ---- fields ---- */

void kvmig__io_str(struct kvmig__io *io, const char *key, char **field)
{
    const char *text;

    if (io->encode) {
        kvmig__json_add_str(io->level[io->depth].json, key, *field);
        return;
    }
    text = kvmig__value_text(kvmig__io_get(io, key));
    if (text)
        kvmig__str_set(field, text);
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
    const struct kvmig__value *value;
    long number;

    if (io->encode) {
        if (*field)
            kvmig__io_set(io, key, json_object_new_int(*field));
        return;
    }
    value = kvmig__io_get(io, key);
    if (!kvmig__value_is(value, KVMIG__TAPE_INT))
        return;
    number = strtol(value->text, NULL, 10); /* saturates */
    *field = number > INT32_MAX ? INT32_MAX : number < INT32_MIN ? INT32_MIN : (int32_t)number;
}

void kvmig__io_due(struct kvmig__io *io, const char *key, int64_t *field)
{
    const struct kvmig__value *value;
    int64_t at;

    if (!io->encode) {
        value = kvmig__io_get(io, key);
        at = kvmig__value_is(value, KVMIG__TAPE_STRING) ? kvmig__time_parse(value->text) : 0;
        if (at)
            *field = at;
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
    if (!io->encode)
        *field = kvmig__value_is(kvmig__io_get(io, key), KVMIG__TAPE_OBJECT);
    else if (*field && !made(io, key))
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
