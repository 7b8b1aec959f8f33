/* SPDX-License-Identifier: MIT-0 */
/*
 * The context and the cluster view of one run of the tool: opens the hosts, the Kubernetes cluster or the files, waits until
 * everything was read or is known to be out of reach, and tells on standard error what could not be read, each cause once. One
 * thread; everything happens in kvmig_context_run().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define DEFAULT_SYNC_TIMEOUT_MS 30000
#define VMIS "virtualmachineinstances"

struct lost_host {
    struct lost_host *next;
    struct kvmig_event *event; /* HOST_LOST: names the host and says why */
};

struct view_state {
    const char *kubeconfig; /* as the command line names it; borrowed */
    struct lost_host *lost;
    bool synced, trouble;
    bool opened; /* what comes later is told as it comes */
    bool no_api; /* the Kubernetes API was not to be had */
    bool found; /* there is a host or node that was read */
    struct text_list skipped; /* kinds of objects that the account may not read; owned texts */
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

/* The library says of each kind "nodes cannot be read: ..."; together they make one line. */
static void add_skipped(struct view_state *state, const struct kvmig_finding *finding)
{
    const char *message = kvmig_finding_message(finding), *end = strstr(message, " cannot be read");
    char *kind = strndup(message, end ? (size_t)(end - message) : strlen(message));

    if (!kind)
        abort();
    text_list_add(&state->skipped, kind);
}

static bool says(const struct kvmig_finding *finding, const char *text)
{
    const char *detail = kvmig_finding_detail(finding);

    return strstr(kvmig_finding_message(finding), text) || (detail && strstr(detail, text));
}

static void on_notice(struct view_state *state, const struct kvmig_finding *finding)
{
    const bool no_api = !state->opened && strcmp(kvmig_finding_code(finding), "API_UNREACHABLE") == 0;

    if (kvmig_finding_severity(finding) >= KVMIG_SEVERITY_ERROR)
        state->trouble = true;
    state->no_api = state->no_api || no_api;
    if (!state->opened && finding_is_skipped_check(finding))
        add_skipped(state, finding);
    else
        notice_print(finding);
    if (no_api && state->kubeconfig && !says(finding, state->kubeconfig))
        fprintf(stderr, "  where:    kubeconfig %s\n", state->kubeconfig);
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
        on_notice(state, kvmig_event_finding(event));
        break;
    case KVMIG_EVENT_HOST_LOST:
        add_lost(state, event);
        break;
    case KVMIG_EVENT_HOST_FOUND:
        state->found = true;
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
    for (size_t i = 0; i < state->skipped.n; i++)
        free((char *)state->skipped.v[i]);
    free(state->skipped.v);
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
    state->kubeconfig = settings->kubeconfig;
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
    opts.snapshot_hosts = settings->file_hosts.v;
    opts.n_snapshot_hosts = settings->file_hosts.n;
    opts.snapshot_source = settings->files.n > 0 ? settings->source : NULL;
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

static bool may_read_vms(const struct view_state *state)
{
    for (size_t i = 0; i < state->skipped.n; i++)
        if (strcmp(state->skipped.v[i], VMIS) == 0)
            return false;
    return true;
}

static void report_skipped(const struct view_state *state)
{
    if (state->skipped.n == 0)
        return;
    fputs("kvmig: may not be read: ", stderr);
    for (size_t i = 0; i < state->skipped.n; i++)
        fprintf(stderr, "%s%s", i > 0 ? ", " : "", state->skipped.v[i]);
    fputs("; checks that need them are left out\n", stderr);
}

static bool holds_objects(const struct view *view)
{
    struct json_object *list;
    char *text = NULL;
    bool any;

    kvmig_cluster_snapshot(view->cluster, &text);
    list = json_parse_owned(text);
    any = json_list_length(json_member(list, "items")) > 0;
    json_object_put(list);
    return any;
}

/* Without an answer nothing can be said, not even that a VM is not there. Returns 0, or the exit code. */
static int check_kube(const struct view *view, const struct settings *settings, bool synced)
{
    const struct view_state *state = view->state;

    if (state->no_api)
        return EXIT_NOT_FOUND; /* the notice said why */
    if (settings_want_kube(settings) && !synced)
        return EXIT_NOT_FOUND;
    if (settings_want_kube(settings) && settings->vm && !may_read_vms(state)) {
        complain("nothing is known of %s: this account may not list " VMIS, settings->vm);
        return EXIT_NOT_FOUND;
    }
    if (settings->files.n == 0 || settings->any_files || state->found || holds_objects(view))
        return 0;
    if (!state->trouble)
        complain("neither Kubernetes objects nor libvirt domains are in %s%s", settings->files.v[0],
                 settings->files.n > 1 ? " and the others" : "");
    return EXIT_NOT_FOUND;
}

/* Trouble with the API server comes as notices of the view, which the library's own warnings would repeat. */
static void on_log(int32_t level, const char *module, const char *message, void *user_data)
{
    const char *name = kvmig_log_level_name(level);

    (void)user_data;
    if (level != KVMIG_LOG_WARN || strcmp(module, "kubernetes") != 0)
        fprintf(stderr, "kvmig %s [%s] %s\n", name ? name : "?", module, message);
}

static int open_context(struct view *view)
{
    struct kvmig_context_opts opts = KVMIG_CONTEXT_OPTS_INIT;

    if (!getenv("KVMIG_LOG")) /* who asks for more gets everything, unsifted */
        opts.on_log.fn = on_log;
    return kvmig_context_new(&opts, &view->context) < 0 ? complain_error("cannot start", NULL) : 0;
}

static void on_node_event(const struct kvmig_event *event, void *user_data)
{
    bool *synced = user_data;

    if (kvmig_event_type(event) == KVMIG_EVENT_CLUSTER_SYNCED)
        *synced = true;
    else if (kvmig_event_type(event) == KVMIG_EVENT_HOST_LOST)
        complain_error("a node's libvirt does not answer", kvmig_event_error(event));
}

static int32_t is_set(void *user_data)
{
    return *(bool *)user_data;
}

/* Whoever of them does not answer is not asked later. */
static int open_node_hosts(struct view *view, const struct settings *settings, int64_t timeout_ms)
{
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;
    bool *synced = calloc(1, sizeof(*synced));

    if (!synced)
        abort();
    opts.libvirt_uris = settings->node_hosts.v;
    opts.n_libvirt_uris = settings->node_hosts.n;
    opts.call_timeout_ms = (uint32_t)settings->call_timeout_ms;
    opts.on_event = (struct kvmig_event_callback){ on_node_event, synced, free };
    if (kvmig_cluster_open(view->context, &opts, &view->node_hosts) < 0)
        return complain_error("cannot open the nodes' hosts", NULL);
    if (kvmig_context_run(view->context, is_set, synced, timeout_ms) < 0)
        complain("not every node's libvirt was read within %s", text_ms((uint64_t)timeout_ms).s);
    return 0;
}

int view_open(struct view *view, const struct settings *settings)
{
    uint64_t timeout_ms = settings->sync_timeout_ms ? settings->sync_timeout_ms : DEFAULT_SYNC_TIMEOUT_MS;
    int32_t rc;
    int code;

    memset(view, 0, sizeof(*view));
    code = open_context(view);
    if (code == 0)
        code = open_cluster(view, settings);
    if (code != 0)
        return code;
    rc = kvmig_context_run(view->context, is_synced, view->state, (int64_t)timeout_ms);
    if (rc < 0 && rc != -ETIMEDOUT)
        return complain_error("cannot read the hosts", NULL);
    view->state->opened = true;
    report_skipped(view->state);
    if (!view->state->no_api)
        report_lost(view->state);
    if (rc == -ETIMEDOUT && !view->state->no_api)
        complain("not %s was read within %s; a longer --timeout or a shorter --call-timeout may help",
                 settings_want_kube(settings) ? "everything" : "every host", text_ms(timeout_ms).s);
    view->complete = rc == 0 && !view->state->lost && !view->state->trouble;
    view->none_read = view->state->lost && !view->state->found;
    code = check_kube(view, settings, rc == 0);
    if (code == 0 && settings->node_hosts.n > 0)
        code = open_node_hosts(view, settings, (int64_t)timeout_ms);
    return code;
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

/* Adds the VMs that the library's JSON of the view tells of: the domains of its hosts. The same name on another host is one more
 * trace of the same VM. */
static void list_vms(const struct view *view, struct text_list *out, struct json_object **out_keep)
{
    struct json_object *hosts;
    char *text = NULL;

    kvmig_cluster_to_json(view->cluster, &text);
    *out_keep = json_parse_owned(text);
    hosts = json_member(*out_keep, "hosts");
    for (size_t i = 0; i < json_list_length(hosts); i++) {
        struct json_object *domains = json_member(json_list_at(hosts, i), "domains");

        for (size_t k = 0; k < json_list_length(domains); k++) {
            const char *name = json_text(json_list_at(domains, k), "name");

            if (name && (out->n == 0 || strcmp(out->v[0], name) != 0))
                text_list_add(out, name);
        }
    }
}

char *view_only_vm(const struct view *view)
{
    struct text_list vms = { NULL, 0 };
    struct json_object *keep;
    char *only = NULL;

    list_vms(view, &vms, &keep);
    if (vms.n == 1)
        only = strdup(vms.v[0]);
    else if (vms.n == 0)
        complain("no running VM is in the files");
    else
        complain("which VM? There are %zu in the files (%s, %s%s); name one with --vm", vms.n, vms.v[0], vms.v[1],
                 vms.n > 2 ? ", ..." : "");
    free(vms.v);
    json_object_put(keep);
    return only;
}

void view_close(struct view *view)
{
    kvmig_cluster_unref(view->node_hosts);
    kvmig_cluster_unref(view->cluster);
    kvmig_context_unref(view->context); /* runs the callbacks' free functions */
    memset(view, 0, sizeof(*view));
}
