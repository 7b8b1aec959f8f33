/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a migration has told: statistics and events of its job (one JSON object per line), virsh domjobinfo, and any other text, which is
 * a log or a message. Takes only what is surely of that kind; what a log means is none of its business (src/diagnose). Any thread; a
 * loading belongs to one.
 */
#include "files/files_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 65536 /* of JSON; statistics are far shorter */
#define MAX_LOOK 64 /* lines that are looked at to tell what a text is */
#define MAX_PREFIX 200 /* before the JSON of a line */

/* ---- lines of JSON ---- */

static void take_unsigned(struct json_object *object, const char *key, uint64_t *out)
{
    struct json_object *value = kvmig__files_member(object, key);

    *out = KVMIG__UNKNOWN;
    if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0)
        *out = json_object_get_uint64(value);
    else if (json_object_is_type(value, json_type_double) && json_object_get_double(value) >= 0 &&
             json_object_get_double(value) < 9e18)
        *out = (uint64_t)json_object_get_double(value);
}

static void read_sample(struct json_object *json, struct kvmig__fact_sample *sample)
{
    const struct {
        const char *key;
        uint64_t *slot;
    } members[] = {
        { "time_elapsed", &sample->elapsed_ms },
        { "setup_time", &sample->setup_ms },
        { "downtime", &sample->downtime_ms },
        { "memory_total", &sample->memory_total },
        { "memory_processed", &sample->memory_processed },
        { "memory_remaining", &sample->memory_remaining },
        { "memory_constant", &sample->memory_constant },
        { "memory_normal", &sample->memory_normal },
        { "memory_normal_bytes", &sample->memory_normal_bytes },
        { "memory_bps", &sample->memory_bps },
        { "memory_dirty_rate", &sample->memory_dirty_rate },
        { "memory_page_size", &sample->page_size },
        { "memory_iteration", &sample->iteration },
        { "memory_postcopy_requests", &sample->postcopy_requests },
        { "disk_total", &sample->disk_total },
        { "disk_processed", &sample->disk_processed },
        { "disk_remaining", &sample->disk_remaining },
        { "disk_bps", &sample->disk_bps },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(members); i++)
        take_unsigned(json, members[i].key, members[i].slot);
}

static bool is_sample(struct json_object *json)
{
    static const char *const keys[] = { "time_elapsed", "memory_remaining", "memory_processed", "disk_remaining" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(keys); i++)
        if (json_object_is_type(kvmig__files_member(json, keys[i]), json_type_int))
            return true;
    return false;
}

static bool is_event(struct json_object *json)
{
    return kvmig__files_member(json, "side") &&
           (kvmig__files_member(json, "event") || kvmig__files_member(json, "migration_status"));
}

static struct kvmig__fact_samples *series_of(struct kvmig__files_load *load)
{
    struct kvmig__facts *facts = load->files->facts;
    struct kvmig__fact_samples *last = facts->series.n ? &facts->series.v[facts->series.n - 1] : NULL;

    if (last && kvmig__str_eq(last->file, load->base.name))
        return last;
    last = KVMIG__PUSH(&facts->series);
    last->file = kvmig__strdup(load->base.name);
    return last;
}

static void take_event(struct kvmig__files_load *load, struct json_object *json, uint32_t line)
{
    struct kvmig__fact_job_event *event = KVMIG__PUSH(&load->files->facts->events);
    struct json_object *time = kvmig__files_member(json, "time");

    event->file = kvmig__strdup(load->base.name);
    event->line = line;
    event->time_s = json_object_is_type(time, json_type_int) || json_object_is_type(time, json_type_double)
                        ? json_object_get_double(time)
                        : -1;
    kvmig__files_str(json, "side", &event->side);
    kvmig__files_str(json, "event", &event->event);
    kvmig__files_str(json, "detail", &event->detail);
    kvmig__files_str(json, "migration_status", &event->status);
}

static bool take_line(struct kvmig__files_load *load, struct json_object *json, uint32_t line)
{
    struct kvmig__facts *facts = load->files->facts;

    if (is_event(json)) {
        if (facts->events.n < KVMIG__FILES_ITEMS)
            take_event(load, json, line);
        return true;
    }
    if (is_sample(json)) {
        struct kvmig__fact_samples *series = series_of(load);

        if (series->n < KVMIG__FILES_ITEMS) {
            struct kvmig__fact_sample *sample = KVMIG__PUSH(series);

            read_sample(json, sample);
            sample->line = line;
        }
        return true;
    }
    return false;
}

/* One object per line; lines that are none, such as a last one that was cut off, are passed over. */
static bool take_lines(struct kvmig__files_load *load, const char *text)
{
    bool taken = false;
    uint32_t line = 1;

    for (const char *at = text; *at; line++) {
        size_t length = strcspn(at, "\r\n");
        const char *begin = at + strspn(at, " \t");

        if (*begin == '{' && length < MAX_LINE) {
            char *copy = kvmig__strndup(at, length);
            struct json_object *json = json_tokener_parse(copy);

            taken |= json_object_is_type(json, json_type_object) && take_line(load, json, line);
            json_object_put(json);
            free(copy);
        }
        at += length;
        at += *at == '\r' ? 1 : 0;
        at += *at == '\n' ? 1 : 0;
    }
    return taken;
}

/* ---- virsh domjobinfo ---- */

/* "1.016 GiB", "343 ms", "88.000 MiB/s", "4": bytes, milliseconds, or a number. */
static uint64_t amount_of(const char *text)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = { { "TiB", 1099511627776.0 },
                  { "GiB", 1073741824.0 },
                  { "MiB", 1048576.0 },
                  { "KiB", 1024.0 },
                  { "us", 0.001 },
                  { "ms", 1.0 },
                  { "s", 1000.0 } };
    char *end = NULL;
    double number = isdigit((unsigned char)*text) ? strtod(text, &end) : -1;

    if (number < 0)
        return KVMIG__UNKNOWN;
    end += strspn(end, " \t");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(units); i++) {
        if (kvmig__str_starts(end, units[i].unit)) {
            number *= units[i].factor;
            break;
        }
    }
    return number < 9e18 ? (uint64_t)(number + 0.5) : KVMIG__UNKNOWN;
}

/* What stands behind "label:" at the beginning of a line; NULL if there is no such line. */
static const char *labelled(const char *text, const char *label)
{
    const size_t length = strlen(label);

    for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
        const char *begin = at + strspn(at, " \t");

        if (strncmp(begin, label, length) == 0 && begin[length] == ':')
            return begin + length + 1 + strspn(begin + length + 1, " \t");
    }
    return NULL;
}

/* Somebody may have asked again and again: the last answer counts. */
static const char *last_labelled(const char *text, const char *label)
{
    const char *found = labelled(text, label), *next = found;

    while (next && (next = labelled(next, label)))
        found = next;
    return found;
}

static void take_amount(const char *text, const char *label, uint64_t *out)
{
    const char *value = labelled(text, label);

    *out = value ? amount_of(value) : KVMIG__UNKNOWN;
}

static void take_job(struct kvmig__files_load *load, const char *text)
{
    const char *type = last_labelled(text, "Job type"), *operation = type ? labelled(type, "Operation") : NULL;
    struct kvmig__facts *facts = load->files->facts;
    struct kvmig__fact_job *job;

    if (!type || facts->jobs.n >= KVMIG__FILES_ITEMS)
        return;
    job = KVMIG__PUSH(&facts->jobs);
    job->file = kvmig__strdup(load->base.name);
    job->type = kvmig__strndup(type, strspn(type, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"));
    job->incoming = operation && kvmig__str_starts(operation, "Incoming");
    job->other = operation && !job->incoming && !kvmig__str_starts(operation, "Outgoing");
    take_amount(type, "Time elapsed", &job->elapsed_ms);
    take_amount(type, "Data processed", &job->processed);
    take_amount(type, "Total downtime", &job->downtime_ms);
    take_amount(type, "Memory total", &job->memory_total);
    take_amount(type, "Memory remaining", &job->memory_remaining);
    take_amount(type, "Memory bandwidth", &job->memory_bps);
    take_amount(type, "File total", &job->disk_total);
    take_amount(type, "File remaining", &job->disk_remaining);
    take_amount(type, "Iteration", &job->iteration);
}

/* ---- texts ---- */

/* A line of YAML that only an object of Kubernetes, an observation or a set of rows has. */
static bool is_yaml(const char *text)
{
    static const char *const keys[] = { "apiVersion:", "kind:", "observation:", "database: OVN_", "database: Open_" };

    for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
        const char *begin = kvmig__str_starts(at, "- ") ? at + 2 : at;

        for (size_t i = 0; i < KVMIG__N_ELEMENTS(keys); i++)
            if (kvmig__str_starts(begin, keys[i]))
                return true;
    }
    return false;
}

/* What a text that begins with a brace is, by the first of its lines that is an object of its own: one object over many lines, or
 * one longer than any statistics, is not for us. */
enum shape { SHAPE_OTHER, SHAPE_JOB, SHAPE_LOG };

static enum shape shape_of_line(const char *at, size_t length)
{
    static const char *const of_logs[] = { "msg", "level", "component", "message" };
    char *copy = kvmig__strndup(at, length);
    struct json_object *json = json_tokener_parse(copy);
    enum shape shape = is_sample(json) || is_event(json) ? SHAPE_JOB : SHAPE_OTHER;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(of_logs) && shape == SHAPE_OTHER; i++)
        if (!kvmig__files_member(json, "kind") && kvmig__files_member(json, of_logs[i]))
            shape = SHAPE_LOG;
    json_object_put(json);
    free(copy);
    return shape;
}

static enum shape shape_of(const char *text)
{
    const char *at = text;

    for (int line = 0; *at && line < MAX_LOOK; line++) {
        const size_t length = strcspn(at, "\r\n");
        const enum shape shape = *at == '{' && length < MAX_LINE ? shape_of_line(at, length) : SHAPE_OTHER;

        if (shape != SHAPE_OTHER)
            return shape;
        at += length;
        at += strspn(at, "\r\n");
    }
    return SHAPE_OTHER;
}

/* Colours, titles and cursor movements of a terminal: "ESC [ ... letter", "ESC ] ... BEL". */
static const char *skip_escape(const char *at, const char *end)
{
    at++;
    if (at >= end)
        return end;
    if (*at == ']') {
        while (at < end && *at != '\a' && *at != '\n')
            at++;
        return at < end && *at == '\a' ? at + 1 : at;
    }
    if (*at != '[')
        return at + 1;
    for (at++; at < end && strchr("0123456789;?", *at);)
        at++;
    return at < end && *at != '\n' ? at + 1 : at;
}

/* "\u003c": what Go writes for what HTML might take amiss; other characters stay as they are. 0 = none. */
static char short_of(const char *at, const char *end)
{
    unsigned value = 0;

    if (end - at < 6 || at[1] != 'u')
        return 0;
    for (int i = 2; i < 6; i++) {
        if (!isxdigit((unsigned char)at[i]))
            return 0;
        value = value * 16 + (unsigned)(isdigit((unsigned char)at[i]) ? at[i] - '0' : tolower(at[i]) - 'a' + 10);
    }
    return value >= 0x20 && value < 0x7f ? (char)value : 0;
}

/* One escape of a JSON string; returns what follows it. Line breaks within a message become blanks: lines are counted. */
static const char *take_escape(const char *at, const char *end, char **out)
{
    const char character = short_of(at, end);

    if (character) {
        *(*out)++ = character;
        return at + 6;
    }
    while (at < end && *at == '\\')
        at++;
    if (at >= end)
        return end;
    if (*at == 'n' || *at == 't' || *at == 'r')
        *(*out)++ = ' ';
    else
        *(*out)++ = *at;
    return at + 1;
}

/* A line of a log that is JSON, perhaps behind what "kubectl logs --prefix" puts before it. */
static bool is_json_line(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    const char *open = memchr(at, '{', (size_t)((stop ? stop : end) - at));

    return open && open + 1 < end && open[1] == '"' && open - at < MAX_PREFIX;
}

static void take_any(struct kvmig__files_load *load, const char *text, size_t length)
{
    struct kvmig__fact_text *told = KVMIG__PUSH(&load->files->facts->texts);
    char *out = kvmig__calloc(length + 1, 1);
    const char *at = text, *end = text + length;
    bool json = is_json_line(at, end);

    told->file = kvmig__strdup(load->base.name);
    told->text = out;
    while (at < end) {
        if (*at == '\033') {
            at = skip_escape(at, end);
        } else if (*at == '\\' && json) {
            at = take_escape(at, end, &out);
        } else if (*at == '\r' || !*at) {
            at++;
        } else {
            if (*at == '\n')
                json = is_json_line(at + 1, end);
            *out++ = *at++;
        }
    }
    told->length = (size_t)(out - told->text);
}

/* "[pod/x/compute] ...", "[ 1234.567890] drbd ...": no list of JSON. */
static bool is_list(const char *begin)
{
    const char next = *begin == '[' ? begin[1 + strspn(begin + 1, " \t\r\n")] : '\0';

    return next == '{' || next == ']' || next == '[' || next == '"';
}

static bool take(struct kvmig__files_load *load, const char *text, size_t length)
{
    const char *start = kvmig__str_starts(text, "\xef\xbb\xbf") ? text + 3 : text; /* what some editors put first */
    const char *begin = start + strspn(start, " \t\r\n");
    const enum shape shape = *begin == '{' ? shape_of(begin) : SHAPE_LOG;

    if (!*begin || is_list(begin) || shape == SHAPE_OTHER || load->files->facts->texts.n >= KVMIG__FILES_ITEMS)
        return false;
    if (shape == SHAPE_JOB)
        return take_lines(load, start);
    if (is_yaml(start))
        return false;
    take_job(load, text);
    take_any(load, text, length); /* somebody's terminal may show more than the job */
    return true;
}

bool kvmig__files_told(struct kvmig__files_load *load, const char *text, size_t length)
{
    char *copy = kvmig__calloc(length + 1, 1); /* what is read ends where the file ends, without a NUL */
    bool taken;

    if (length)
        memcpy(copy, text, length);
    taken = take(load, copy, length);
    free(copy);
    return taken;
}
