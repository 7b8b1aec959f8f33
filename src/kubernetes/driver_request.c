/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The requests of a session driver: one errand at a time per chain of requests, repeated with back-off as long as the
 * server says nothing definite, and small helpers for paths, bodies and answers. Knows nothing of migrations. In
 * dispatch, with the context lock held; an errand owns its request and its texts.
 */
#include "base/json_internal.h"
#include "kubernetes/driver_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_DELAY_MS 200
#define LAST_DELAY_MS 5000
#define PAUSE_MS 1000

static void answered(void *owner, const struct kvmig__answer *answer);

static void send(struct kvmig__errand *errand)
{
    const struct kvmig__ask ask = {
        .method = errand->method,
        .path = errand->path,
        .body = errand->body,
        .content_type = errand->content_type,
        .done = answered,
        .owner = errand,
    };

    errand->held = errand->driver->hearing != NULL;
    if (errand->held)
        return;
    errand->sent++;
    errand->request = kvmig__client_ask(kvmig__kube_backend_client(errand->driver->backend), &ask);
}

void kvmig__errand_release(struct kvmig__errand *errand)
{
    if (errand->held && errand->done)
        send(errand);
}

static void finish(struct kvmig__errand *errand, const struct kvmig__answer *answer)
{
    const kvmig__errand_fn done = errand->done;

    errand->done = NULL;
    done(errand->driver, answer);
    kvmig__kube_look_soon(errand->driver);
}

static void again_due(void *data)
{
    struct kvmig__errand *errand = data;

    if (!errand->done)
        return;
    if (errand->path)
        send(errand);
    else
        finish(errand, NULL);
}

/* A 404 without a Status is not about an object: something in front of the API server knows no such page. */
bool kvmig__answer_is_trouble(const struct kvmig__answer *answer)
{
    if (!answer->error)
        return false;
    return answer->status == 0 || (answer->status == 404 && !answer->reason) || answer->status == 408 ||
           answer->status == 429 || answer->status >= 500 || answer->error->code == -EBADMSG;
}

bool kvmig__answer_is_refusal(const struct kvmig__answer *answer)
{
    return answer->error && !kvmig__answer_is_trouble(answer) && answer->status >= 400 && answer->status != 401 &&
           answer->status != 404 && answer->status != 409;
}

const char *kvmig__answer_text(const struct kvmig__answer *answer)
{
    const struct kvmig_error *error = answer->error;

    return answer->status && error->evidence ? error->evidence : error->message;
}

/* What cannot be mended by asking again: the server's name, certificate, or our credentials. */
static bool is_hopeless(const struct kvmig__answer *answer)
{
    return answer->error->code == -EPROTO || answer->error->code == -EACCES || answer->error->code == -EINVAL;
}

static void answered(void *owner, const struct kvmig__answer *answer)
{
    struct kvmig__errand *errand = owner;
    int64_t delay_ms = errand->delay_ms;

    errand->request = NULL;
    if (answer->retry_after_ms > delay_ms)
        delay_ms = answer->retry_after_ms;
    if (errand->once || !kvmig__answer_is_trouble(answer) || (errand->any_404 && answer->status == 404) ||
        is_hopeless(answer) || kvmig__now_ms() + delay_ms >= errand->until_ms) {
        finish(errand, answer);
        return;
    }
    kvmig__log(errand->driver->context, KVMIG_LOG_INFO, "kubernetes", "%s %s: %s; tried again", errand->method,
               errand->path, kvmig__answer_text(answer));
    errand->delay_ms = errand->delay_ms * 2 > LAST_DELAY_MS ? LAST_DELAY_MS : errand->delay_ms * 2;
    kvmig__timer_arm_in(&errand->again, delay_ms);
}

static void forget_texts(struct kvmig__errand *errand)
{
    free(errand->path);
    free(errand->body);
    errand->path = errand->body = NULL;
}

void kvmig__errand_init(struct kvmig__errand *errand, struct kvmig__kube_driver *d)
{
    errand->driver = d;
    kvmig__timer_init(&errand->again, d->context, again_due, errand);
}

static void start(struct kvmig__errand *errand, const char *method, char *path, char *body, int64_t for_ms,
                  kvmig__errand_fn done)
{
    kvmig__errand_stop(errand);
    errand->method = method;
    errand->path = path;
    errand->body = body;
    errand->content_type = NULL;
    errand->until_ms = kvmig__now_ms() + for_ms;
    errand->delay_ms = FIRST_DELAY_MS;
    errand->once = errand->any_404 = errand->held = false;
    errand->sent = 0;
    errand->done = done;
}

void kvmig__errand_go(struct kvmig__errand *errand, const char *method, char *path, char *body,
                      const char *content_type, int64_t for_ms, kvmig__errand_fn done)
{
    start(errand, method, path, body, for_ms, done);
    errand->content_type = content_type;
    send(errand);
}

void kvmig__errand_go_once(struct kvmig__errand *errand, const char *method, char *path, char *body, int64_t for_ms,
                           kvmig__errand_fn done)
{
    start(errand, method, path, body, for_ms, done);
    errand->once = true;
    send(errand);
}

void kvmig__errand_wait(struct kvmig__errand *errand, int64_t ms, kvmig__errand_fn done)
{
    start(errand, "", NULL, NULL, ms, done);
    kvmig__timer_arm_in(&errand->again, ms);
}

static void paused(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    (void)d;
    (void)answer;
}

void kvmig__errand_pause(struct kvmig__errand *errand)
{
    kvmig__errand_wait(errand, PAUSE_MS, paused);
}

void kvmig__errand_stop(struct kvmig__errand *errand)
{
    kvmig__client_cancel(errand->request);
    errand->request = NULL;
    errand->done = NULL;
    kvmig__timer_disarm(&errand->again);
    forget_texts(errand);
}

bool kvmig__errand_busy(const struct kvmig__errand *errand)
{
    return errand->done != NULL;
}

struct json_object *kvmig__answer_json(const struct kvmig__answer *answer)
{
    return kvmig__json_parse(answer->body, answer->length);
}

struct json_object *kvmig__answer_object(const struct kvmig__answer *answer, int32_t kind)
{
    struct json_object *object = answer->error ? NULL : kvmig__answer_json(answer);

    if (kvmig__str_eq(kvmig__json_text(object, "kind"), kvmig__kube_kind_info(kind)->kind) &&
        kvmig__json_text(kvmig__json_at(object, "metadata"), "uid"))
        return object;
    json_object_put(object);
    return NULL;
}

bool kvmig__answer_absent(const struct kvmig__answer *answer, int32_t kind, const char *name)
{
    struct json_object *status = answer->status == 404 ? kvmig__answer_json(answer) : NULL;
    struct json_object *details = kvmig__json_at(status, "details");
    const char *of = kvmig__json_text(details, "kind");
    const bool absent = kvmig__str_eq(kvmig__json_text(status, "kind"), "Status") &&
                        kvmig__str_eq(kvmig__json_text(status, "reason"), "NotFound") &&
                        kvmig__str_eq(kvmig__json_text(details, "name"), name) &&
                        (!of || kvmig__str_eq(of, kvmig__kube_kind_info(kind)->plural) ||
                         kvmig__str_eq(of, kvmig__kube_kind_info(kind)->kind));

    json_object_put(status);
    return absent;
}

char *kvmig__kube_path(int32_t kind, const char *ns, const char *name)
{
    const struct kvmig__kube_kind_info *info = kvmig__kube_kind_info(kind);
    char *space = ns ? kvmig__url_escape(ns) : NULL, *object = name ? kvmig__url_escape(name) : NULL;
    char *path = kvmig__asprintf("/%s/%s%s%s/%s%s%s", strchr(info->api_version, '/') ? "apis" : "api",
                                 info->api_version, space ? "/namespaces/" : "", space ? space : "", info->plural,
                                 object ? "/" : "", object ? object : "");

    free(space);
    free(object);
    return path;
}

void kvmig__patch_add(struct json_object *patch, const char *op, char *path, struct json_object *value)
{
    struct json_object *entry = kvmig__json_new("op", op);

    kvmig__json_add_str(entry, "path", path);
    if (value)
        json_object_object_add(entry, "value", value);
    json_object_array_add(patch, entry);
    free(path);
}

char *kvmig__delete_options(const char *uid)
{
    struct json_object *options = kvmig__json_new("kind", "DeleteOptions");

    kvmig__json_add_str(options, "apiVersion", "v1");
    if (uid)
        kvmig__json_add_str(kvmig__json_child(options, "preconditions"), "uid", uid);
    return kvmig__json_take_string(options);
}

struct json_object *kvmig__json_new(const char *key, const char *value)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, key, value);
    return object;
}

struct json_object *kvmig__json_child(struct json_object *object, const char *key)
{
    struct json_object *child = json_object_new_object();

    json_object_object_add(object, key, child);
    return child;
}

const char *kvmig__json_text(struct json_object *object, const char *key)
{
    struct json_object *value;

    return json_object_is_type(object, json_type_object) && json_object_object_get_ex(object, key, &value) &&
                   json_object_is_type(value, json_type_string)
               ? json_object_get_string(value)
               : NULL;
}

struct json_object *kvmig__json_at(struct json_object *object, const char *path)
{
    while (object && *path) {
        const size_t length = strcspn(path, ".");
        char *key = kvmig__strndup(path, length);
        struct json_object *child = NULL;

        if (json_object_is_type(object, json_type_object))
            json_object_object_get_ex(object, key, &child);
        free(key);
        object = child;
        path += path[length] ? length + 1 : length;
    }
    return object;
}
