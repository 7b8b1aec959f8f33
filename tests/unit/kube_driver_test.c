/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See kube_driver_test.h. The functions of context, backend, client and session that the driver calls are here
 * instead of the library's.
 */
#include "kube_driver_world.h"
#include "kubernetes/driver_internal.h"

#include <stdio.h>

#define START_MS 1700000000000

struct world world;
struct kvmig_session session;
struct kvmig__driver *driver;

/* ---- time and timers ---- */

static struct kvmig__timer *timers;

int64_t kvmig__now_ms(void)
{
    return world.now_ms;
}

int64_t kvmig__wall_ms(void)
{
    return START_MS + world.now_ms;
}

void kvmig__timer_init(struct kvmig__timer *timer, struct kvmig_context *context, void (*fn)(void *data), void *data)
{
    *timer = (struct kvmig__timer){ .context = context, .fn = fn, .data = data, .due_ms = INT64_MAX };
}

void kvmig__timer_disarm(struct kvmig__timer *timer)
{
    struct kvmig__timer **at = &timers;

    while (*at && *at != timer)
        at = &(*at)->next;
    if (*at)
        *at = timer->next;
    timer->due_ms = INT64_MAX;
}

void kvmig__timer_arm(struct kvmig__timer *timer, int64_t due_ms)
{
    struct kvmig__timer **at = &timers;

    kvmig__timer_disarm(timer);
    while (*at && (*at)->due_ms <= due_ms)
        at = &(*at)->next;
    timer->due_ms = due_ms;
    timer->next = *at;
    *at = timer;
}

void kvmig__timer_arm_in(struct kvmig__timer *timer, int64_t delay_ms)
{
    kvmig__timer_arm(timer, world.now_ms + delay_ms);
}

/* ---- the context ---- */

static struct delivery {
    void (*fn)(void *data);
    void *data;
} deliveries[16];
static size_t n_deliveries;

void kvmig__context_deliver(struct kvmig_context *context, void (*fn)(void *data), void (*drop)(void *data), void *data,
                            bool final)
{
    (void)context;
    (void)drop;
    assert_true(final);
    assert_true(n_deliveries < KVMIG__N_ELEMENTS(deliveries));
    deliveries[n_deliveries++] = (struct delivery){ fn, data };
}

static bool deliver_one(void)
{
    const struct delivery first = deliveries[0];

    if (!n_deliveries)
        return false;
    memmove(deliveries, deliveries + 1, --n_deliveries * sizeof(*deliveries));
    first.fn(first.data);
    return true;
}

static int32_t locks, holds;

void kvmig__context_lock(struct kvmig_context *context)
{
    (void)context;
    assert_int_equal(locks++, 0);
}

void kvmig__context_unlock(struct kvmig_context *context)
{
    (void)context;
    assert_int_equal(--locks, 0);
}

void kvmig__context_hold(struct kvmig_context *context)
{
    (void)context;
    holds++;
}

void kvmig__context_release(struct kvmig_context *context)
{
    (void)context;
    holds--;
}

void kvmig__log(struct kvmig_context *context, int32_t level, const char *module, const char *fmt, ...)
{
    (void)context;
    (void)level;
    (void)module;
    (void)fmt;
}

/* ---- the backend ---- */

static struct kvmig__kube_watcher *watcher;

struct kvmig_context *kvmig__kube_backend_context(const struct kvmig__kube_backend *backend)
{
    (void)backend;
    return NULL;
}

const struct kvmig__kube *kvmig__kube_backend_store(const struct kvmig__kube_backend *backend)
{
    (void)backend;
    return &world.store;
}

struct kvmig__client *kvmig__kube_backend_client(struct kvmig__kube_backend *backend)
{
    (void)backend;
    return NULL;
}

const struct kvmig_error *kvmig__kube_backend_lost(const struct kvmig__kube_backend *backend, int32_t kind)
{
    (void)backend;
    (void)kind;
    return world.lost;
}

void kvmig__kube_watch(struct kvmig__kube_backend *backend, struct kvmig__kube_watcher *w)
{
    (void)backend;
    watcher = w;
}

void kvmig__kube_unwatch(struct kvmig__kube_backend *backend, struct kvmig__kube_watcher *w)
{
    (void)backend;
    assert_ptr_equal(watcher, w);
    watcher = NULL;
}

void kvmig__kube_backend_learn(struct kvmig__kube_backend *backend, struct json_object *json)
{
    struct kvmig__kube_meta *object = kvmig__object_decode(json, -1);

    (void)backend;
    assert_non_null(object);
    kvmig__kube_put(&world.store, object);
}

/* ---- the client ---- */

struct kvmig__request_http {
    char *method, *path, *body, *content_type;
    kvmig__answer_fn done;
    void *owner;
    struct kvmig__request_http *next;
};

static void free_request(struct kvmig__request_http *request)
{
    free(request->method);
    free(request->path);
    free(request->body);
    free(request->content_type);
    free(request);
}

char *kvmig__url_escape(const char *text)
{
    return kvmig__strdup(text);
}

static void note_request(const struct kvmig__ask *ask)
{
    const size_t used = strlen(world.log);

    snprintf(world.log + used, sizeof(world.log) - used, "%s %s\n", ask->method, ask->path);
    if (ask->body) {
        free(world.last_body);
        world.last_body = kvmig__strdup(ask->body);
    }
}

struct kvmig__request_http *kvmig__client_ask(struct kvmig__client *client, const struct kvmig__ask *ask)
{
    struct kvmig__request_http *request = kvmig__calloc(1, sizeof(*request)), **at = &world.open;

    (void)client;
    request->method = kvmig__strdup(ask->method);
    request->path = kvmig__strdup(ask->path);
    request->body = kvmig__strdup(ask->body);
    request->content_type = kvmig__strdup(ask->content_type);
    request->done = ask->done;
    request->owner = ask->owner;
    while (*at)
        at = &(*at)->next;
    *at = request;
    note_request(ask);
    return request;
}

void kvmig__client_cancel(struct kvmig__request_http *request)
{
    struct kvmig__request_http **at = &world.open;

    while (*at && *at != request)
        at = &(*at)->next;
    if (!request || !*at)
        return;
    *at = request->next;
    free_request(request);
}

static int32_t error_code(int32_t status, const char *reason)
{
    switch (status) {
    case 0:
        return ECONNRESET;
    case 401:
        return EACCES;
    case 403:
        return EPERM;
    case 404:
        return ENOENT;
    case 409:
        return kvmig__str_eq(reason, "AlreadyExists") ? EEXIST : EAGAIN;
    case 429:
        return EAGAIN;
    default:
        return status >= 500 ? EIO : EINVAL;
    }
}

/* The server's own words are the evidence, as with the real client. */
static struct kvmig_error *error_of(const struct reply *reply, struct json_object *status)
{
    const char *reason = kvmig__json_text(status, "reason"), *message = kvmig__json_text(status, "message");

    if (reply->status == 0)
        return kvmig__error_new(ECONNRESET, "https://api.test", NULL, NULL, "The API server cannot be talked to.");
    return kvmig__error_new(error_code(reply->status, reason), "https://api.test", message ? message : reply->body,
                            NULL, "The API server answered %d%s%s.", (int)reply->status, reason ? ", " : "",
                            reason ? reason : "");
}

/* The oldest request that is open. false: there is none, or the server is silent. */
static bool answer_one(void)
{
    struct kvmig__request_http *request = world.open;
    struct json_object *status = NULL;
    struct kvmig_error *error = NULL;
    struct reply reply;

    if (!request || world.silent ||
        (world.slow_post && !strcmp(request->method, "POST") && !strchr(request->path, '?')))
        return false;
    world.open = request->next;
    reply = serve(request->method, request->path, request->body, request->content_type);
    if (reply.status < 200 || reply.status > 299) {
        status = kvmig__json_parse(reply.body, reply.body ? strlen(reply.body) : 0);
        error = error_of(&reply, status);
    }
    request->done(request->owner, &(struct kvmig__answer){ .status = reply.status,
                                                           .body = reply.body,
                                                           .length = reply.body ? strlen(reply.body) : 0,
                                                           .retry_after_ms = -1,
                                                           .reason = kvmig__json_text(status, "reason"),
                                                           .error = error });
    json_object_put(status);
    kvmig__error_free(error);
    free(reply.body);
    free_request(request);
    return true;
}

void run(int64_t ms)
{
    const int64_t until_ms = world.now_ms + ms;

    for (;;) {
        struct kvmig__timer *timer = timers;

        if ((!session.deaf && deliver_one()) || answer_one())
            continue;
        if (!timer || timer->due_ms > until_ms)
            break;
        if (timer->due_ms > world.now_ms)
            world.now_ms = timer->due_ms;
        kvmig__timer_disarm(timer);
        timer->fn(timer->data);
    }
    world.now_ms = until_ms;
}

void tell_changed(void)
{
    if (watcher)
        watcher->changed(watcher->owner);
}

void tell_gone(int32_t kind, const char *ns, const char *name)
{
    struct kvmig__kube_meta *object = kvmig__kube_find(&world.store, kind, ns, name);

    if (!object)
        return;
    if (watcher)
        watcher->gone(watcher->owner, object);
    kvmig__kube_remove(&world.store, kind, ns, name, NULL);
}

/* ---- set-up ---- */

int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    memset(&session, 0, sizeof(session));
    world.now_ms = 1000;
    session.report = kvmig__report_new();
    session.final_source = session.final_target = -2;
    session.wishes.pending_ms = PENDING_MS;
    session.wishes.prepare_ms = PREPARE_MS;
    session.plan =
        (struct kvmig_plan){ .vm = "ns1/vm1", .uuid = "vmi-1", .source = "node-a", .target = "node-b", .kube = true };
    make_world();
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    drop_driver();
    while (deliver_one())
        continue;
    assert_int_equal(holds, 0);
    assert_null(timers);
    assert_null(world.open);
    kvmig__kube_clear(&world.store);
    json_object_put(world.vm);
    json_object_put(world.policy);
    json_object_put(world.other_policy);
    json_object_put(session.wishes.token);
    kvmig__report_free(session.report);
    kvmig__error_free(session.error);
    kvmig__findings_clear(&session.notices);
    kvmig__findings_clear(&session.waits);
    free(session.plan.request.volume_changes.v);
    free(session.token);
    free(session.first_token);
    free(world.vmim_mark);
    free(world.last_body);
    free(world.first_patch);
    return 0;
}

void make_driver(void)
{
    const struct kvmig__driver_limits limits = {
        .step_ms = STEP_MS, .migrate_ms = 3600000, .resolve_ms = 120000, .abort_ms = 30000, .poll_ms = 200
    };

    driver = kvmig__kube_driver_new(NULL, &session, &limits);
}

void drop_driver(void)
{
    if (driver)
        driver->ops->free(driver);
    driver = NULL;
}

void begin(enum kvmig__step step)
{
    const int32_t answers = session.answers;

    driver->ops->begin(driver, step);
    assert_int_equal(session.answers, answers); /* never from inside */
    run(100);
}

void die_and_resume(void)
{
    struct json_object *token = json_tokener_parse(session.token);

    drop_driver();
    kvmig__report_free(session.report);
    session.report = kvmig__report_new();
    json_object_put(session.wishes.token);
    session.wishes.token = token;
    session.answers = 0;
    world.log[0] = 0;
    show();
    make_driver();
    begin(KVMIG__STEP_ADMIT);
}

/* ---- what was seen ---- */

int32_t count(const char *method, const char *part)
{
    const char *line = world.log;
    int32_t n = 0;

    while (*line) {
        const size_t length = strcspn(line, "\n");
        char *copy = kvmig__strndup(line, length);

        n += kvmig__str_starts(copy, method) && strstr(copy, part);
        free(copy);
        line += length + 1;
    }
    return n;
}

bool asked(const char *method, const char *part)
{
    return count(method, part) > 0;
}

void expect_ok(enum kvmig__step step)
{
    if (session.error)
        print_error("%s (%s)\n", session.error->message, session.error->evidence ? session.error->evidence : "");
    assert_int_equal(session.answers, 1);
    assert_int_equal(session.step, step);
    assert_null(session.error);
    session.answers = 0;
}

void expect_error(enum kvmig__step step, int32_t code, const char *words)
{
    assert_int_equal(session.answers, 1);
    assert_int_equal(session.step, step);
    assert_non_null(session.error);
    if (session.error->code != -code || !strstr(session.error->message, words))
        print_error("%d %s\n", session.error->code, session.error->message);
    assert_int_equal(session.error->code, -code);
    assert_non_null(strstr(session.error->message, words));
    session.answers = 0;
}

bool has_notice(const char *code)
{
    return kvmig__findings_has(&session.notices, code);
}

const char *item(const char *kind)
{
    for (size_t i = 0; i < session.report->created.n; i++)
        if (kvmig__str_eq(session.report->created.v[i].kind, kind))
            return session.report->created.v[i].outcome ? session.report->created.v[i].outcome : "";
    return NULL;
}
