/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A reflector's watch: opens it from the version that is known, takes its lines, and says how to go on when it ends:
 * by another watch from the last version, at once or after a wait, or by a list. Needs the context lock; runs in
 * dispatch.
 */
#include "base/json_internal.h"
#include "kubernetes/reflector_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIN_LIFE_MS 1000 /* a watch that ends sooner is not opened anew at once */
#define GOOD_LIFE_MS 5000 /* one that lived so long ends all trouble */
#define MAX_FAILURES 3 /* then the version itself may be the trouble */
/* The server ends a watch after a time of ours, which differs so that not all end together. */
#define MIN_WATCH_S 300
#define WATCH_RANGE_S 300

/* ---- lines ---- */

static void ask_anew(struct kvmig__reflector *reflector)
{
    kvmig__client_cancel(reflector->request);
    reflector->request = NULL;
}

/* The server said, or showed, that this watch is of no use. */
static void watch_failed(struct kvmig__reflector *reflector, int32_t http_status, const struct kvmig_error *error,
                         int64_t retry_after_ms)
{
    bool refused = http_status == 401 || http_status == 403 || http_status == 404;

    if (http_status == 410) {
        kvmig__reflector_expired(reflector);
        return;
    }
    reflector->watch_refused = refused;
    if (++reflector->failures >= MAX_FAILURES || (http_status >= 400 && http_status < 500 && http_status != 429))
        kvmig__reflector_forget_version(reflector);
    kvmig__reflector_trouble(reflector, http_status, error, retry_after_ms);
}

static void line_is_broken(struct kvmig__reflector *reflector, const char *line)
{
    char *evidence = kvmig__asprintf("%.100s", line);
    struct kvmig_error *error = kvmig__reflector_error(
        reflector, EBADMSG, evidence, "Look what is between this host and the API server, if it goes on.",
        "What the API server sends on a watch is no event.");

    free(evidence);
    ask_anew(reflector);
    watch_failed(reflector, 200, error, -1);
    kvmig__error_free(error);
}

static void take_error(struct kvmig__reflector *reflector, struct json_object *object)
{
    struct kvmig__status status;
    struct kvmig_error *error;
    int32_t code;

    kvmig__status_read(object, &status);
    code = kvmig__status_error_code(status.code ? status.code : 500, status.reason);
    error = kvmig__reflector_error(reflector, code, status.message ? status.message : status.reason,
                                   kvmig__status_hint(code), "The API server ended the watch with an error.");
    ask_anew(reflector);
    watch_failed(reflector, status.code ? status.code : 500, error, status.retry_after_ms);
    kvmig__error_free(error);
    kvmig__status_clear(&status);
}

/* Never goes back: what is repeated is not asked for again. */
static void take_version(struct kvmig__reflector *reflector, const struct kvmig__identity *identity)
{
    if (!*identity->version || (identity->number && identity->number < reflector->newest))
        return;
    reflector->newest = identity->number;
    kvmig__str_set(&reflector->version, identity->version);
}

static void take_deleted(struct kvmig__reflector *reflector, struct json_object *object,
                         const struct kvmig__identity *identity)
{
    struct kvmig__known *known = kvmig__index_find(&reflector->index, identity->ns, identity->name);

    if (!known) {
        kvmig__index_bury(&reflector->index, identity->uid, identity->number);
        return;
    }
    if (*identity->uid && *known->uid && strcmp(identity->uid, known->uid) != 0)
        return;
    if (identity->number && identity->number < known->number)
        return;
    kvmig__index_take(&reflector->index, known);
    kvmig__reflector_report_gone(reflector, known, object, identity->number);
}

/* True: the line was an event. */
static bool take_event(struct kvmig__reflector *reflector, const char *type, struct json_object *object)
{
    struct kvmig__identity identity;
    struct json_object *metadata = NULL, *version = NULL;

    if (strcmp(type, "BOOKMARK") == 0) {
        identity = (struct kvmig__identity){ .version = "" };
        if (json_object_object_get_ex(object, "metadata", &metadata) &&
            json_object_is_type(metadata, json_type_object) &&
            json_object_object_get_ex(metadata, "resourceVersion", &version) &&
            json_object_is_type(version, json_type_string))
            identity.version = json_object_get_string(version);
        identity.number = kvmig__version_number(identity.version);
        take_version(reflector, &identity);
        return true;
    }
    if (!kvmig__identity_read(object, &identity))
        return false;
    take_version(reflector, &identity);
    if (strcmp(type, "DELETED") == 0)
        take_deleted(reflector, object, &identity);
    else if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0)
        kvmig__reflector_take(reflector, object, 0);
    if (reflector->reported)
        kvmig__reflector_settle_soon(reflector);
    return true;
}

static void line_is_here(void *owner, const char *line, size_t length)
{
    struct kvmig__reflector *reflector = owner;
    struct json_object *json = kvmig__json_parse(line, length), *type = NULL, *object = NULL;
    bool fits = json_object_is_type(json, json_type_object) && json_object_object_get_ex(json, "type", &type) &&
                json_object_is_type(type, json_type_string) && json_object_object_get_ex(json, "object", &object) &&
                json_object_is_type(object, json_type_object);

    kvmig__reflector_enter(reflector);
    if (fits && strcmp(json_object_get_string(type), "ERROR") == 0) {
        take_error(reflector, object);
    } else {
        unsigned course = reflector->course;

        if (fits)
            fits = take_event(reflector, json_object_get_string(type), object);
        if (!fits) {
            line_is_broken(reflector, line);
        } else if (kvmig__reflector_goes_on(reflector, course)) {
            reflector->failures = 0;
            reflector->backoff_ms = 0;
        }
    }
    kvmig__reflector_leave(reflector);
    json_object_put(json);
}

/* ---- beginning and end ---- */

static void watch_is_open(void *owner)
{
    struct kvmig__reflector *reflector = owner;

    kvmig__reflector_enter(reflector);
    reflector->opened_ms = kvmig__now_ms();
    reflector->watch_refused = false;
    kvmig__reflector_good(reflector);
    kvmig__reflector_set_state(reflector, KVMIG__REFLECTOR_SYNCED);
    kvmig__reflector_leave(reflector);
}

/* As watches end: by the server's time limit, by a restart of something on the way, by silence. */
static void go_on(struct kvmig__reflector *reflector)
{
    int64_t life = reflector->opened_ms ? kvmig__now_ms() - reflector->opened_ms : 0;

    if (life >= GOOD_LIFE_MS)
        reflector->backoff_ms = 0;
    if (life >= MIN_LIFE_MS)
        kvmig__reflector_watch(reflector);
    else
        kvmig__reflector_pause(reflector);
}

static void watch_has_ended(void *owner, const struct kvmig__answer *answer)
{
    struct kvmig__reflector *reflector = owner;
    int32_t code = kvmig_error_code(answer->error);

    kvmig__reflector_enter(reflector);
    reflector->request = NULL;
    if (!answer->error) {
        go_on(reflector);
    } else if (answer->status == 0) {
        kvmig__reflector_trouble(reflector, 0, answer->error, -1);
    } else if (answer->status >= 300) {
        watch_failed(reflector, answer->status, answer->error, answer->retry_after_ms);
    } else if (code == -ETIMEDOUT) {
        kvmig__reflector_watch(reflector); /* it was silent for long: that is wait enough */
    } else if (code == -EMSGSIZE) {
        watch_failed(reflector, answer->status, answer->error, -1);
    } else {
        go_on(reflector);
    }
    kvmig__reflector_leave(reflector);
}

void kvmig__reflector_watch(struct kvmig__reflector *reflector)
{
    char *version = kvmig__url_escape(reflector->version);
    unsigned seconds = MIN_WATCH_S + (unsigned)(kvmig__reflector_random(reflector) % WATCH_RANGE_S);
    char *path = kvmig__asprintf("%s?watch=true&allowWatchBookmarks=true&timeoutSeconds=%u&resourceVersion=%s%s%s",
                                 reflector->path, seconds, version, reflector->selectors ? "&" : "",
                                 reflector->selectors ? reflector->selectors : "");
    const struct kvmig__ask ask = {
        .method = "GET",
        .path = path,
        .line = line_is_here,
        .done = watch_has_ended,
        .owner = reflector,
        .opened = watch_is_open,
    };

    kvmig__timer_disarm(&reflector->retry);
    reflector->opened_ms = 0;
    kvmig__reflector_expect(reflector);
    reflector->request = kvmig__client_ask(reflector->client, &ask);
    free(path);
    free(version);
}
