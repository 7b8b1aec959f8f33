/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The objects of the test's API server, and what happened to them since the last compaction. An object is never changed, but
 * replaced, so history and watches share it. Needs the server's lock.
 */
#include "kube_world_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

void world_text_add(struct world_text *text, const char *bytes, size_t n)
{
    if (text->n + n + 1 > text->room) {
        text->room = (text->n + n + 1) * 2;
        text->v = realloc(text->v, text->room);
        if (!text->v)
            abort();
    }
    memcpy(text->v + text->n, bytes, n);
    text->n += n;
    text->v[text->n] = '\0';
}

void world_text_say(struct world_text *text, const char *fmt, ...)
{
    va_list args;
    char *said;

    va_start(args, fmt);
    said = kvmig__vasprintf(fmt, args);
    va_end(args);
    world_text_add(text, said, strlen(said));
    free(said);
}

/* ---- JSON ---- */

struct json_object *world_at(struct json_object *object, const char *path)
{
    while (object && *path) {
        const size_t n = strcspn(path, ".");
        char *key = kvmig__strndup(path, n);
        struct json_object *member = NULL;

        if (json_object_is_type(object, json_type_object))
            json_object_object_get_ex(object, key, &member);
        free(key);
        object = member;
        path += path[n] ? n + 1 : n;
    }
    return object;
}

const char *world_text_at(struct json_object *object, const char *path)
{
    struct json_object *member = world_at(object, path);

    return json_object_is_type(member, json_type_string) ? json_object_get_string(member) : NULL;
}

/* A text of the metadata, without the detour over a path: this is what is asked for most. */
static const char *meta_of(struct json_object *object, const char *key)
{
    struct json_object *meta = NULL, *text = NULL;

    return json_object_object_get_ex(object, "metadata", &meta) && json_object_object_get_ex(meta, key, &text)
               ? json_object_get_string(text)
               : NULL;
}

static void set_text(struct json_object *object, const char *path, const char *key, const char *value)
{
    json_object_object_add(world_at(object, path), key, json_object_new_string(value));
}

/* ---- selectors ---- */

/* "value" or "a,b)" has it? */
static bool is_one_of(const char *list, const char *value)
{
    const size_t n = value ? strlen(value) : 0;

    while (value && *list) {
        const size_t length = strcspn(list, ",)");

        if (length == n && !strncmp(list, value, n))
            return true;
        list += length;
        list += strspn(list, ",) ");
    }
    return false;
}

/* One requirement: "key=value" or "key in (a,b)". */
static bool holds(const char *selector, struct json_object *object, bool of_labels)
{
    const char *in = strstr(selector, " in ("), *equals = strchr(selector, '=');
    const char *end = in ? in : equals;
    char *key;
    const char *value;
    bool is;

    if (!end)
        abort();
    key = kvmig__strndup(selector, (size_t)(end - selector));
    value = of_labels ? NULL : world_text_at(object, key);
    if (of_labels && world_at(object, "metadata.labels")) {
        struct json_object *label = NULL;

        json_object_object_get_ex(world_at(object, "metadata.labels"), key, &label);
        value = label ? json_object_get_string(label) : NULL;
    }
    is = is_one_of(in ? in + strlen(" in (") : end + 1, value);
    free(key);
    return is;
}

bool world_selected(const struct world_target *target, struct json_object *object)
{
    return object && (!target->ns || kvmig__str_eq(meta_of(object, "namespace"), target->ns)) &&
           (!target->labels || holds(target->labels, object, true)) &&
           (!target->fields || holds(target->fields, object, false));
}

/* ---- watches ---- */

void world_watch_line(struct world_connection *connection, const char *type, struct json_object *object)
{
    const char *json = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
    char *line = kvmig__asprintf("{\"type\":\"%s\",\"object\":%s}\n", type, json);

    world_text_say(&connection->out, "%zx\r\n", strlen(line));
    world_text_add(&connection->out, line, strlen(line));
    world_text_add(&connection->out, "\r\n", 2);
    free(line);
}

void world_watch_cut(struct world_connection *connection, enum world_cut how)
{
    static const char piece[] = "1000\r\n{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"na";
    struct json_object *status;

    if (how == WORLD_CUT_IN_LINE)
        world_text_add(&connection->out, piece, sizeof(piece) - 1);
    if (how == WORLD_CUT_EXPIRED) {
        status = world_json("{'kind':'Status','status':'Failure','message':'too old resource version','reason':"
                            "'Expired','code':410}");
        world_watch_line(connection, "ERROR", status);
        json_object_put(status);
    }
    if (how == WORLD_CUT_END || how == WORLD_CUT_EXPIRED)
        world_text_say(&connection->out, "0\r\n\r\n");
    connection->last = true;
}

/* As the API server tells it to whoever selects: what begins or ceases to fit comes and goes. */
static void tell(struct world_server *server, struct world_connection *connection, const struct world_change *change)
{
    const bool before = world_selected(&connection->watch, change->before);
    const bool now = !change->gone && world_selected(&connection->watch, change->now);

    if (!before && !now)
        return;
    for (int i = 0; i < (server->repeat ? 2 : 1); i++)
        world_watch_line(connection, now ? (before ? "MODIFIED" : "ADDED") : "DELETED", change->now);
}

void world_watch_begin(struct world_server *server, struct world_connection *connection)
{
    const struct world_kind *kind = &server->kinds[connection->watch.kind];

    for (size_t i = 0; i < kind->changes.n; i++)
        if (kind->changes.v[i].version > connection->watch.version)
            tell(server, connection, &kind->changes.v[i]);
}

static void record(struct world_server *server, int32_t kind, const struct world_change *change)
{
    *KVMIG__PUSH(&server->kinds[kind].changes) = *change;
    for (struct world_connection *connection = server->connections; connection; connection = connection->next)
        if (connection->is_watch && !connection->last && connection->watch.kind == kind)
            tell(server, connection, change);
    world_wake(server);
}

/* ---- objects ---- */

static struct json_object **place_of(struct world_server *server, int32_t kind, const char *ns, const char *name)
{
    struct world_kind *list = &server->kinds[kind];

    for (size_t i = 0; i < list->objects.n; i++)
        if (kvmig__str_eq(meta_of(list->objects.v[i], "name"), name) &&
            kvmig__str_eq(meta_of(list->objects.v[i], "namespace"), ns))
            return &list->objects.v[i];
    return NULL;
}

struct json_object *world_find(struct world_server *server, int32_t kind, const char *ns, const char *name)
{
    struct json_object **place = place_of(server, kind, ns, name);

    return place ? *place : NULL;
}

static void set_version(struct world_server *server, struct json_object *object)
{
    char version[32];

    snprintf(version, sizeof(version), "%" PRIu64, ++server->version);
    set_text(object, "metadata", "resourceVersion", version);
}

static void set_uid(struct world_server *server, struct json_object *object, struct json_object *before)
{
    const char *old = before ? meta_of(before, "uid") : NULL;
    char uid[64];

    if (meta_of(object, "uid"))
        return;
    snprintf(uid, sizeof(uid), "uid-%u", ++server->uids);
    set_text(object, "metadata", "uid", old ? old : uid);
}

static bool is_the_same(struct json_object *a, struct json_object *b)
{
    return kvmig__str_eq(meta_of(a, "uid"), meta_of(b, "uid"));
}

uint64_t world_store(struct world_server *server, struct json_object *object)
{
    const int32_t kind = kvmig__kube_kind_of(world_text_at(object, "apiVersion"), world_text_at(object, "kind"));
    struct json_object **place;

    if (kind < 0)
        abort();
    place = place_of(server, kind, meta_of(object, "namespace"), meta_of(object, "name"));
    set_uid(server, object, place ? *place : NULL);
    if (place && !is_the_same(*place, object)) { /* created anew: the old one went before */
        world_drop(server, kind, meta_of(object, "namespace"), meta_of(object, "name"), NULL);
        place = NULL;
    }
    set_version(server, object);
    if (!place) {
        place = KVMIG__PUSH(&server->kinds[kind].objects);
        *place = NULL;
    }
    record(server, kind,
           &(struct world_change){ .version = server->version, .before = *place, .now = json_object_get(object) });
    *place = object;
    return server->version;
}

bool world_drop(struct world_server *server, int32_t kind, const char *ns, const char *name, struct json_object *last)
{
    struct json_object **place = place_of(server, kind, ns, name), *before = place ? *place : NULL;
    struct world_kind *list = &server->kinds[kind];

    if (!place) {
        json_object_put(last);
        return false;
    }
    memmove(place, place + 1, (size_t)(&list->objects.v[list->objects.n] - (place + 1)) * sizeof(*place));
    list->objects.n--;
    if (!last)
        json_object_deep_copy(before, &last, NULL);
    set_version(server, last);
    record(server, kind,
           &(struct world_change){ .version = server->version, .before = before, .now = last, .gone = true });
    return true;
}

/* ---- how it was ---- */

char *world_key(struct json_object *object)
{
    const char *ns = meta_of(object, "namespace");

    return kvmig__asprintf("%s/%s", ns ? ns : "", meta_of(object, "name"));
}

static void undo(struct world_objects *objects, const struct world_change *change)
{
    size_t i = 0;

    while (i < objects->n && objects->v[i] != change->now)
        i++;
    if (change->gone)
        *KVMIG__PUSH(objects) = change->before;
    else if (change->before)
        objects->v[i] = change->before;
    else
        objects->v[i] = objects->v[--objects->n];
}

static int compare(const void *a, const void *b)
{
    char *left = world_key(*(struct json_object *const *)a), *right = world_key(*(struct json_object *const *)b);
    const int order = strcmp(left, right);

    free(left);
    free(right);
    return order;
}

struct world_objects world_state(const struct world_kind *kind, uint64_t version)
{
    struct world_objects objects = { NULL, 0 };

    for (size_t i = 0; i < kind->objects.n; i++)
        *KVMIG__PUSH(&objects) = kind->objects.v[i];
    for (size_t i = kind->changes.n; i-- > 0 && kind->changes.v[i].version > version;)
        undo(&objects, &kind->changes.v[i]);
    if (objects.n)
        qsort(objects.v, objects.n, sizeof(*objects.v), compare);
    return objects;
}

/* ---- end ---- */

static void forget_changes(struct world_kind *kind)
{
    for (size_t i = 0; i < kind->changes.n; i++) {
        json_object_put(kind->changes.v[i].before);
        json_object_put(kind->changes.v[i].now);
    }
    free(kind->changes.v);
    kind->changes.v = NULL;
    kind->changes.n = 0;
}

void world_store_free(struct world_server *server)
{
    for (int32_t i = 0; i < KVMIG__N_KUBE_KINDS; i++) {
        struct world_kind *kind = &server->kinds[i];

        forget_changes(kind);
        for (size_t k = 0; k < kind->objects.n; k++)
            json_object_put(kind->objects.v[k]);
        free(kind->objects.v);
    }
}

/* ---- for the test ---- */

void world_compact(struct world_server *server)
{
    pthread_mutex_lock(&server->lock);
    for (int32_t i = 0; i < KVMIG__N_KUBE_KINDS; i++)
        forget_changes(&server->kinds[i]);
    server->compacted = server->version;
    pthread_mutex_unlock(&server->lock);
}

void world_stale_lists(struct world_server *server, int32_t kind, int n)
{
    pthread_mutex_lock(&server->lock);
    server->kinds[kind].stale_version = server->version;
    server->kinds[kind].stale = n;
    pthread_mutex_unlock(&server->lock);
}

struct json_object *world_json(const char *fmt, ...)
{
    struct json_object *object;
    va_list args;
    char *text;

    va_start(args, fmt);
    text = kvmig__vasprintf(fmt, args);
    va_end(args);
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    object = json_tokener_parse(text);
    if (!object) {
        fprintf(stderr, "no JSON: %s\n", text);
        abort();
    }
    free(text);
    return object;
}

uint64_t world_put(struct world_server *server, struct json_object *object)
{
    uint64_t version;

    pthread_mutex_lock(&server->lock);
    version = world_store(server, object);
    pthread_mutex_unlock(&server->lock);
    return version;
}

uint64_t world_say(struct world_server *server, const char *fmt, ...)
{
    struct json_object *object;
    va_list args;
    char *text;

    va_start(args, fmt);
    text = kvmig__vasprintf(fmt, args);
    va_end(args);
    object = world_json("%s", text);
    free(text);
    return world_put(server, object);
}

bool world_remove(struct world_server *server, int32_t kind, const char *ns, const char *name, struct json_object *last)
{
    bool was;

    pthread_mutex_lock(&server->lock);
    was = world_drop(server, kind, ns, name, last);
    pthread_mutex_unlock(&server->lock);
    return was;
}

static struct json_object *copy_of(struct json_object *object)
{
    struct json_object *copy = NULL;

    if (object)
        json_object_deep_copy(object, &copy, NULL);
    return copy;
}

struct json_object *world_get(struct world_server *server, int32_t kind, const char *ns, const char *name)
{
    struct json_object *copy;

    pthread_mutex_lock(&server->lock);
    copy = copy_of(world_find(server, kind, ns, name));
    pthread_mutex_unlock(&server->lock);
    return copy;
}

struct json_object *world_first(struct world_server *server, int32_t kind)
{
    struct json_object *copy;

    pthread_mutex_lock(&server->lock);
    copy = copy_of(server->kinds[kind].objects.n ? server->kinds[kind].objects.v[0] : NULL);
    pthread_mutex_unlock(&server->lock);
    return copy;
}

uint64_t world_version(struct world_server *server, int32_t kind, const char *ns, const char *name)
{
    struct json_object *object;
    uint64_t version;

    pthread_mutex_lock(&server->lock);
    object = world_find(server, kind, ns, name);
    version = object ? strtoull(meta_of(object, "resourceVersion"), NULL, 10) : 0;
    pthread_mutex_unlock(&server->lock);
    return version;
}

size_t world_count(struct world_server *server, int32_t kind)
{
    size_t n;

    pthread_mutex_lock(&server->lock);
    n = server->kinds[kind].objects.n;
    pthread_mutex_unlock(&server->lock);
    return n;
}
