/* SPDX-License-Identifier: MIT-0 */
/*
 * The context and the cluster view of one run of the tool: opens the hosts, waits until each was read or is known to be
 * unreachable, and keeps a list of those that do not answer. One thread; everything happens in kvmig_context_run().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define DEFAULT_SYNC_TIMEOUT_MS 30000

struct lost_host {
    struct lost_host *next;
    struct kvmig_event *event; /* HOST_LOST: names the host and says why */
};

struct view_state {
    struct lost_host *lost;
    bool synced, trouble;
    void (*follow)(const struct kvmig_event *event, void *data);
    void *follow_data;
};

static void forget_lost(struct view_state *state, const char *host)
{
    struct lost_host **link = &state->lost;

    while (*link) {
        struct lost_host *lost = *link;
        const char *name = kvmig_event_host(lost->event);

        if (host && (!name || strcmp(name, host) != 0)) {
            link = &lost->next;
            continue;
        }
        *link = lost->next;
        kvmig_event_unref(lost->event);
        free(lost);
    }
}

static void add_lost(struct view_state *state, const struct kvmig_event *event)
{
    struct lost_host *lost = calloc(1, sizeof(*lost));
    struct lost_host **end = &state->lost;

    if (!lost)
        abort();
    if (kvmig_event_host(event))
        forget_lost(state, kvmig_event_host(event));
    lost->event = kvmig_event_ref(event);
    while (*end)
        end = &(*end)->next;
    *end = lost;
}

static void on_cluster_event(const struct kvmig_event *event, void *user_data)
{
    struct view_state *state = user_data;

    if (state->follow)
        state->follow(event, state->follow_data);
    switch (kvmig_event_type(event)) {
    case KVMIG_EVENT_CLUSTER_SYNCED:
        state->synced = true;
        break;
    case KVMIG_EVENT_VIEW_NOTICE:
        finding_print(kvmig_event_finding(event), stderr);
        if (kvmig_finding_severity(kvmig_event_finding(event)) >= KVMIG_SEVERITY_ERROR)
            state->trouble = true;
        break;
    case KVMIG_EVENT_HOST_LOST:
        add_lost(state, event);
        break;
    case KVMIG_EVENT_HOST_FOUND:
        if (kvmig_event_host(event))
            forget_lost(state, kvmig_event_host(event));
        break;
    default:
        break;
    }
}

static void free_state(void *user_data)
{
    struct view_state *state = user_data;

    forget_lost(state, NULL);
    free(state);
}

static int32_t is_synced(void *user_data)
{
    return ((struct view_state *)user_data)->synced;
}

static int open_cluster(struct view *view, const struct settings *settings)
{
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;
    struct kvmig_kube_opts kube = settings_kube_opts(settings);
    struct view_state *state = calloc(1, sizeof(*state));

    if (!state)
        abort();
    view->state = state;
    opts.libvirt_uris = settings->uris.v;
    opts.n_libvirt_uris = settings->uris.n;
    opts.shared_paths = settings->shared_paths.v;
    opts.n_shared_paths = settings->shared_paths.n;
    opts.refresh_ms = (uint32_t)settings->refresh_ms;
    opts.call_timeout_ms = (uint32_t)settings->call_timeout_ms;
    opts.max_migrations = (uint32_t)settings->max_migrations;
    opts.max_outbound = (uint32_t)settings->max_outbound;
    opts.max_inbound = (uint32_t)settings->max_inbound;
    opts.snapshot_paths = settings->files.v;
    opts.n_snapshot_paths = settings->files.n;
    if (settings_want_kube(settings))
        opts.kube = &kube;
    opts.on_event = (struct kvmig_event_callback){ on_cluster_event, state, free_state };
    if (kvmig_cluster_open(view->context, &opts, &view->cluster) == 0)
        return 0;
    view->state = NULL; /* belongs to the callback, which was taken */
    return complain_error("cannot open the hosts", NULL);
}

static void report_lost(const struct view_state *state)
{
    for (const struct lost_host *lost = state->lost; lost; lost = lost->next) {
        const char *name = kvmig_event_host(lost->event);
        char what[256];

        snprintf(what, sizeof(what), "host %s does not answer", name ? name : "?");
        complain_error(what, kvmig_event_error(lost->event));
    }
}

int view_open(struct view *view, const struct settings *settings)
{
    uint64_t timeout_ms = settings->sync_timeout_ms ? settings->sync_timeout_ms : DEFAULT_SYNC_TIMEOUT_MS;
    int32_t rc;
    int code;

    memset(view, 0, sizeof(*view));
    if (kvmig_context_new(NULL, &view->context) < 0)
        return complain_error("cannot start", NULL);
    code = open_cluster(view, settings);
    if (code != 0)
        return code;
    rc = kvmig_context_run(view->context, is_synced, view->state, (int64_t)timeout_ms);
    if (rc < 0 && rc != -ETIMEDOUT)
        return complain_error("cannot read the hosts", NULL);
    report_lost(view->state);
    if (rc == -ETIMEDOUT)
        complain("not every host was read within %s; a longer --timeout or a shorter --call-timeout may help",
                 text_ms(timeout_ms).s);
    view->complete = rc == 0 && !view->state->lost && !view->state->trouble;
    return 0;
}

void view_follow(struct view *view, void (*fn)(const struct kvmig_event *event, void *data), void *data)
{
    view->state->follow = fn;
    view->state->follow_data = data;
}

char *view_uri_of(const struct view *view, const char *host)
{
    struct json_object *json, *hosts;
    char *text = NULL, *uri;
    const char *found = host;

    kvmig_cluster_to_json(view->cluster, &text);
    json = json_parse_owned(text);
    hosts = json_member(json, "hosts");
    for (size_t i = 0; i < json_list_length(hosts); i++) {
        const char *name = json_text(json_list_at(hosts, i), "name");

        if (name && strcmp(name, host) == 0 && json_text(json_list_at(hosts, i), "uri"))
            found = json_text(json_list_at(hosts, i), "uri");
    }
    uri = strdup(found);
    if (!uri)
        abort();
    json_object_put(json);
    return uri;
}

void view_close(struct view *view)
{
    kvmig_cluster_unref(view->cluster);
    kvmig_context_unref(view->context); /* runs the callbacks' free functions */
    memset(view, 0, sizeof(*view));
}
