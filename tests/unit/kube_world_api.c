/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one request to the test's API server does: lists, watches, reads and writes, as far as the library uses them. Of
 * KubeVirt's webhooks one is played: a VM with a migration under way gets no other one. Needs the server's lock.
 */
#include "kube_world_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the request line ---- */

static char *unescape(const char *text, size_t n)
{
    char *plain = kvmig__strndup(text, n), *to = plain;

    for (const char *from = plain; *from; to++) {
        char hex[3] = { from[0] == '%' ? from[1] : '\0', from[0] == '%' ? from[2] : '\0', '\0' };

        *to = hex[0] ? (char)strtoul(hex, NULL, 16) : *from;
        from += hex[0] ? 3 : 1;
    }
    *to = '\0';
    return plain;
}

static void take_query(struct world_target *target, const char *query)
{
    while (*query) {
        const size_t n = strcspn(query, "&"), key = strcspn(query, "=");
        char *value = unescape(query + key + 1, n > key ? n - key - 1 : 0);
        char **text = !strncmp(query, "labelSelector=", key + 1)   ? &target->labels
                      : !strncmp(query, "fieldSelector=", key + 1) ? &target->fields
                      : !strncmp(query, "continue=", key + 1)      ? &target->token
                                                                   : NULL;

        if (text)
            kvmig__str_set(text, value);
        if (!strncmp(query, "resourceVersion=", key + 1))
            target->version = strtoull(value, NULL, 10);
        if (!strncmp(query, "limit=", key + 1))
            target->limit = strtoul(value, NULL, 10);
        target->watch |= !strncmp(query, "watch=true", n);
        target->dry |= !strncmp(query, "dryRun=All", n);
        free(value);
        query += n + (query[n] == '&');
    }
}

static int32_t kind_of(const char *api_version, const char *plural)
{
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++)
        if (kvmig__str_eq(kvmig__kube_kind_info(kind)->plural, plural) &&
            kvmig__str_eq(kvmig__kube_kind_info(kind)->api_version, api_version))
            return kind;
    return -1;
}

/* "/api/v1/..." or "/apis/GROUP/VERSION/..."; then "[namespaces/NS/]PLURAL[/NAME]". */
static void take_path(struct world_target *target, char *path)
{
    char *parts[9] = { NULL }, *save = NULL, *api_version;
    size_t n = 0, at;

    for (char *part = strtok_r(path, "/", &save); part && n < 8; part = strtok_r(NULL, "/", &save))
        parts[n++] = part;
    if (n < 3)
        return;
    at = !strcmp(parts[0], "api") ? 2 : 3;
    api_version = at == 2 ? kvmig__strdup(parts[1]) : kvmig__asprintf("%s/%s", parts[1], parts[2]);
    if (parts[at] && !strcmp(parts[at], "namespaces") && parts[at + 1] && parts[at + 2]) {
        target->ns = unescape(parts[at + 1], strlen(parts[at + 1]));
        at += 2;
    }
    target->kind = parts[at] && !parts[at + 2 > 8 ? 8 : at + 2] ? kind_of(api_version, parts[at]) : -1;
    target->name = parts[at] && parts[at + 1] ? unescape(parts[at + 1], strlen(parts[at + 1])) : NULL;
    free(api_version);
}

void world_target_read(struct world_target *target, const char *line)
{
    const size_t method = strcspn(line, " "), whole = method + 1 + strcspn(line + method + 1, " ");
    char *path;

    *target = (struct world_target){ .kind = -1 };
    target->line = kvmig__strndup(line, whole);
    target->method = kvmig__strndup(line, method);
    path = kvmig__strndup(target->line + method + 1, strcspn(target->line + method + 1, "?"));
    if (strchr(target->line, '?'))
        take_query(target, strchr(target->line, '?') + 1);
    take_path(target, path);
    free(path);
}

void world_target_clear(struct world_target *target)
{
    char *const texts[] = { target->line,   target->method, target->ns,   target->name,
                            target->labels, target->fields, target->token };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++)
        free(texts[i]);
    *target = (struct world_target){ .kind = -1 };
}

/* ---- answers ---- */

static void answer(struct world_connection *connection, int32_t status, const char *headers, const char *body)
{
    world_text_say(&connection->out,
                   "HTTP/1.1 %d Status\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n", (int)status,
                   headers, strlen(body));
    world_text_add(&connection->out, body, strlen(body));
}

static void answer_object(struct world_connection *connection, int32_t status, struct json_object *object)
{
    answer(connection, status, "", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
}

void world_refuse(struct world_connection *connection, int32_t status, const char *reason, const char *message,
                  int32_t retry_after_s)
{
    struct json_object *body = world_json(
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'%s','reason':'%s','code':%d}",
        message ? message : "no", reason ? reason : "", (int)status);
    char *header = retry_after_s ? kvmig__asprintf("Retry-After: %d\r\n", (int)retry_after_s) : kvmig__strdup("");

    answer(connection, status, header, json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN));
    json_object_put(body);
    free(header);
}

/* ---- lists and watches ---- */

/* The token is "VERSION NAMESPACE/NAME" of the last object of the page before: all pages show one moment. */
static void list(struct world_server *server, struct world_connection *connection, const struct world_target *target)
{
    struct world_kind *kind = &server->kinds[target->kind];
    const char *after = target->token ? strchr(target->token, ' ') : NULL;
    const bool stale = kind->stale > 0 && kind->stale_version >= server->compacted;
    const uint64_t version = after ? strtoull(target->token, NULL, 10) : stale ? kind->stale_version : server->version;
    struct world_objects objects;
    struct world_text body = { 0 };
    size_t listed = 0, i = 0;
    char *key = NULL;

    if (version < server->compacted) {
        world_refuse(connection, 410, "Expired", "The provided continue parameter is too old", 0);
        return;
    }
    objects = world_state(kind, version);
    world_text_say(&body, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[");
    for (; i < objects.n && (!target->limit || listed < target->limit); i++) {
        free(key);
        key = world_key(objects.v[i]);
        if (world_selected(target, objects.v[i]) && (!after || strcmp(key, after + 1) > 0))
            world_text_say(&body, "%s%s", listed++ ? "," : "",
                           json_object_to_json_string_ext(objects.v[i], JSON_C_TO_STRING_PLAIN));
    }
    world_text_say(&body, "],\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"", version);
    if (i < objects.n)
        world_text_say(&body, ",\"continue\":\"%" PRIu64 " %s\"", version, key);
    else if (stale)
        kind->stale--;
    world_text_say(&body, "}}");
    answer(connection, 200, "", body.v);
    free(body.v);
    free(objects.v);
    free(key);
}

/* Accepted also if its version is too old; that is told by its first event, as the API server does. */
static void watch(struct world_server *server, struct world_connection *connection, struct world_target *target)
{
    world_text_say(&connection->out,
                   "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    connection->watch = *target;
    connection->is_watch = true;
    *target = (struct world_target){ .kind = -1 };
    if (connection->watch.version < server->compacted)
        world_watch_cut(connection, WORLD_CUT_EXPIRED);
    else
        world_watch_begin(server, connection);
}

/* ---- writes ---- */

static struct json_object *copy_of(struct json_object *object)
{
    struct json_object *copy = NULL;

    json_object_deep_copy(object, &copy, NULL);
    return copy;
}

static struct json_object *member(struct json_object *object, const char *key)
{
    struct json_object *there = NULL;

    if (!json_object_object_get_ex(object, key, &there)) {
        there = json_object_new_object();
        json_object_object_add(object, key, there);
    }
    return there;
}

static void complete(struct world_server *server, const struct world_target *target, struct json_object *object)
{
    struct json_object *meta = member(object, "metadata");
    const char *prefix = world_text_at(meta, "generateName");
    char *name = prefix ? kvmig__asprintf("%s%u", prefix, ++server->names) : NULL;
    char created[32];
    time_t now = time(NULL);
    struct tm utc;

    strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    json_object_object_add(meta, "creationTimestamp", json_object_new_string(created));
    if (name)
        json_object_object_add(meta, "name", json_object_new_string(name));
    if (target->ns)
        json_object_object_add(meta, "namespace", json_object_new_string(target->ns));
    free(name);
    if (target->kind == KVMIG__KUBE_VMIM && world_text_at(object, "spec.vmiName"))
        json_object_object_add(member(meta, "labels"), "kubevirt.io/vmi-name",
                               json_object_new_string(world_text_at(object, "spec.vmiName")));
}

static bool is_under_way(struct json_object *vmim)
{
    const char *phase = world_text_at(vmim, "status.phase");

    return !kvmig__str_eq(phase, "Succeeded") && !kvmig__str_eq(phase, "Failed");
}

static bool has_migration(struct world_server *server, const struct world_target *target, struct json_object *vmim)
{
    const struct world_kind *kind = &server->kinds[KVMIG__KUBE_VMIM];

    for (size_t i = 0; i < kind->objects.n; i++)
        if (kvmig__str_eq(world_text_at(kind->objects.v[i], "metadata.namespace"), target->ns) &&
            kvmig__str_eq(world_text_at(kind->objects.v[i], "spec.vmiName"), world_text_at(vmim, "spec.vmiName")) &&
            is_under_way(kind->objects.v[i]))
            return true;
    return false;
}

static void create(struct world_server *server, struct world_connection *connection, const struct world_target *target,
                   const char *body)
{
    struct json_object *object = json_tokener_parse(body);

    if (!object) {
        world_refuse(connection, 400, "BadRequest", "no JSON", 0);
        return;
    }
    complete(server, target, object);
    if (target->kind == KVMIG__KUBE_VMIM && has_migration(server, target, object)) {
        world_refuse(connection, 400, "Invalid", "in-flight migration detected. Active migration job", 0);
    } else if (world_find(server, target->kind, target->ns, world_text_at(object, "metadata.name"))) {
        world_refuse(connection, 409, "AlreadyExists", "it exists already", 0);
    } else if (target->dry) {
        answer_object(connection, 201, object);
    } else {
        world_store(server, json_object_get(object));
        answer_object(connection, 201, object);
    }
    json_object_put(object);
}

/* RFC 7386 */
static void merge(struct json_object *object, struct json_object *patch)
{
    json_object_object_foreach(patch, key, value)
    {
        if (!value)
            json_object_object_del(object, key);
        else if (json_object_is_type(value, json_type_object))
            merge(member(object, key), value);
        else
            json_object_object_add(object, key, json_object_get(value));
    }
}

static void patch(struct world_server *server, struct world_connection *connection, const struct world_target *target,
                  struct json_object *there, const char *content_type, const char *body)
{
    struct json_object *changes = json_tokener_parse(body), *object;

    if (!changes || !kvmig__str_eq(content_type, "application/merge-patch+json")) {
        world_refuse(connection, 415, "UnsupportedMediaType", "only merge patches are played", 0);
        json_object_put(changes);
        return;
    }
    object = copy_of(there);
    merge(object, changes);
    if (!target->dry)
        world_store(server, json_object_get(object));
    answer_object(connection, 200, object);
    json_object_put(object);
    json_object_put(changes);
}

static bool has_finalizers(struct json_object *object)
{
    struct json_object *finalizers = world_at(object, "metadata.finalizers");

    return json_object_is_type(finalizers, json_type_array) && json_object_array_length(finalizers) > 0;
}

static void delete (struct world_server *server, struct world_connection *connection, const struct world_target *target,
                    struct json_object *there, const char *body)
{
    struct json_object *options = json_tokener_parse(body), *marked = NULL;
    const char *uid = world_text_at(options, "preconditions.uid");

    if (uid && !kvmig__str_eq(uid, world_text_at(there, "metadata.uid"))) {
        world_refuse(connection, 409, "Conflict", "the UID in the precondition does not match", 0);
    } else if (has_finalizers(there)) {
        marked = copy_of(there);
        json_object_object_add(world_at(marked, "metadata"), "deletionTimestamp",
                               json_object_new_string("2026-11-30T12:00:00Z"));
        if (!target->dry)
            world_store(server, json_object_get(marked));
        answer_object(connection, 200, marked);
    } else {
        json_object_get(there);
        if (!target->dry)
            world_drop(server, target->kind, target->ns, target->name, NULL);
        answer_object(connection, 200, there);
        json_object_put(there);
    }
    json_object_put(marked);
    json_object_put(options);
}

/* ---- one request ---- */

static void refuse_absent(struct world_connection *connection, const struct world_target *target)
{
    const struct kvmig__kube_kind_info *info = kvmig__kube_kind_info(target->kind);
    struct json_object *body =
        world_json("{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'%s %s not found',"
                   "'reason':'NotFound','details':{'name':'%s','kind':'%s'},'code':404}",
                   info->plural, target->name, target->name, info->plural);

    answer(connection, 404, "", json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN));
    json_object_put(body);
}

static void serve_object(struct world_server *server, struct world_connection *connection,
                         const struct world_target *target, const char *content_type, const char *body)
{
    struct json_object *there = world_find(server, target->kind, target->ns, target->name);

    if (!there)
        refuse_absent(connection, target);
    else if (!strcmp(target->method, "GET"))
        answer_object(connection, 200, there);
    else if (!strcmp(target->method, "PATCH"))
        patch(server, connection, target, there, content_type, body);
    else if (!strcmp(target->method, "DELETE"))
        delete (server, connection, target, there, body);
    else
        world_refuse(connection, 405, "MethodNotAllowed", "this is not played", 0);
}

void world_serve(struct world_server *server, struct world_connection *connection, struct world_target *target,
                 const char *content_type, const char *body, bool lose)
{
    const size_t sent = connection->out.n;

    if (target->kind < 0)
        world_refuse(connection, 404, "NotFound", "the server could not find the requested resource", 0);
    else if (server->kinds[target->kind].refusal)
        world_refuse(connection, server->kinds[target->kind].refusal,
                     server->kinds[target->kind].refusal == 403 ? "Forbidden" : "NotFound", "refused by the test", 0);
    else if (target->name)
        serve_object(server, connection, target, content_type, body);
    else if (!strcmp(target->method, "POST"))
        create(server, connection, target, body);
    else if (target->watch)
        watch(server, connection, target);
    else
        list(server, connection, target);
    if (!lose)
        return;
    connection->out.n = sent;
    connection->last = true;
}
