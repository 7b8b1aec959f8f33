/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A cluster view of files (file_view.h): one job on a lane reads them; then its result replaces what was there. Its hosts answer every
 * question from that, and do nothing. The job owns what it reads until it is done. In dispatch or a public call, with the context lock
 * held. The cluster view owns the file view, and closes its hosts.
 */
#include "files/file_view.h"

#include "kubernetes/backend.h"

#include <errno.h>
#include <stdlib.h>

#define READ_MS 60000

struct file_host { /* a host that files tell of */
    struct kvmig__host_backend base;
    struct kvmig__file_view *view;
    struct kvmig__cluster_host *host;
    char *name;
    bool wanted; /* while the hosts are gone through */
    bool vanished; /* the files do not tell of it any more */
    bool asked; /* for a reading that files cannot better */
};

struct kvmig__file_view {
    struct kvmig_cluster *cluster;
    struct kvmig__kube_backend *kube;
    struct kvmig__files_ask ask;
    struct kvmig__facts *facts; /* the view's; NULL = nothing was read yet */
    struct {
        struct file_host **v;
        size_t n;
    } hosts;
    struct kvmig__lane *lane;
    struct kvmig__timer still; /* tells hosts that were asked that nothing is new */
    bool reading;
    bool again; /* asked for while it was reading */
};

/* ---- what the cluster view asks of a host ---- */

static void on_still(void *data)
{
    struct kvmig__file_view *view = data;
    struct kvmig_cluster *cluster = view->cluster;

    kvmig__cluster_hold(cluster);
    for (size_t i = 0; i < view->hosts.n; i++) {
        struct file_host *host = view->hosts.v[i];

        if (!host->asked || host->vanished)
            continue;
        host->asked = false;
        kvmig__cluster_host_still(host->host);
    }
    kvmig__cluster_release(cluster);
}

static void host_refresh(struct kvmig__host_backend *base)
{
    struct file_host *host = (struct file_host *)base;

    host->asked = true;
    if (!host->view->reading) /* else the reading will answer */
        kvmig__timer_arm_in(&host->view->still, 0);
}

static void host_close(struct kvmig__host_backend *base)
{
    struct file_host *host = (struct file_host *)base;
    struct kvmig__file_view *view = host->view;

    for (size_t i = 0; i < view->hosts.n; i++)
        if (view->hosts.v[i] == host)
            view->hosts.v[i] = view->hosts.v[--view->hosts.n];
    free(host->name);
    free(host);
}

static struct kvmig_context *context_of(const struct kvmig__host_backend *base)
{
    return kvmig__cluster_context(((const struct file_host *)base)->view->cluster);
}

/* What a file says of a guest was true at some time; it proves nothing now. */
static void host_read_side(struct kvmig__host_backend *base, const char *vm, int64_t timeout_ms, kvmig__side_fn fn,
                           void *owner)
{
    struct kvmig__side side = { .state = KVMIG__STATE_OTHER, .reason = KVMIG__REASON_OTHER };

    (void)vm;
    (void)timeout_ms;
    side.error = kvmig__strdup("the view is one of files, which do not tell where a guest is now");
    kvmig__reply_side(context_of(base), &side, fn, owner);
}

static void host_act(struct kvmig__host_backend *base, const char *vm, int32_t action, int64_t timeout_ms,
                     kvmig__act_fn fn, void *owner)
{
    struct kvmig_error *error =
        kvmig__error_new(ENOTSUP, ((struct file_host *)base)->name, vm, "Open the view with the hosts' libvirt URIs.",
                         "a view of files can plan, but %s is out of its reach", kvmig_location_action_name(action));

    (void)timeout_ms;
    kvmig__reply_act(context_of(base), error, fn, owner);
}

static const struct kvmig__host_backend_ops ops = {
    .refresh = host_refresh,
    .close = host_close,
    .read_side = host_read_side,
    .act = host_act, /* no driver_new: nothing can be migrated */
};

/* ---- hosts ---- */

static struct file_host *find_host(const struct kvmig__file_view *view, const char *name)
{
    for (size_t i = 0; i < view->hosts.n; i++)
        if (kvmig__str_eq(view->hosts.v[i]->name, name))
            return view->hosts.v[i];
    return NULL;
}

static struct file_host *want_host(struct kvmig__file_view *view, const struct kvmig__host *facts)
{
    struct file_host *host = find_host(view, facts->name);

    if (!host) {
        host = kvmig__calloc(1, sizeof(*host));
        host->base.ops = &ops;
        host->view = view;
        host->name = kvmig__strdup(facts->name);
        host->host = kvmig__cluster_host_add(view->cluster, facts->uri, "kvmig_cluster_open");
        host->host->backend = &host->base;
        *KVMIG__PUSH(&view->hosts) = host;
    } else if (host->vanished) {
        kvmig__cluster_host_restore(host->host);
    }
    host->vanished = false;
    host->wanted = true;
    host->asked = false;
    return host;
}

static void replace_hosts(struct kvmig__file_view *view, struct kvmig__files *files)
{
    /* All are in the view before the first report, which may be the one that makes it synced. */
    for (size_t i = 0; i < files->hosts.n; i++)
        want_host(view, files->hosts.v[i]);
    kvmig__cluster_batch_begin(view->cluster); /* the caller holds it */
    for (size_t i = 0; i < files->hosts.n; i++) {
        struct file_host *host = find_host(view, files->hosts.v[i]->name);

        kvmig__cluster_host_begin(host->host);
        kvmig__cluster_host_facts(host->host, files->hosts.v[i]);
    }
    kvmig__cluster_batch_end(view->cluster);
    files->hosts.n = 0; /* they belong to the view now */
    for (size_t i = 0; i < view->hosts.n; i++) {
        struct file_host *host = view->hosts.v[i];

        if (!host->wanted && !host->vanished) {
            host->vanished = true;
            kvmig__cluster_host_remove(host->host);
        }
        host->wanted = false;
    }
}

/* ---- reading ---- */

struct job {
    struct kvmig__files_ask ask;
    struct kvmig__files files;
};

static void job_run(void *payload)
{
    struct job *job = payload;

    kvmig__files_load(&job->files, &job->ask);
}

static void job_free(void *payload)
{
    struct job *job = payload;

    kvmig__files_clear(&job->files);
    kvmig__files_ask_clear(&job->ask);
    free(job);
}

static void tell(struct kvmig__file_view *view, const struct kvmig_findings *problems)
{
    for (size_t i = 0; i < problems->n; i++) {
        struct kvmig_event *event = kvmig__event_new(KVMIG_EVENT_VIEW_NOTICE);

        kvmig__event_set_host(event, problems->v[i].host);
        kvmig__event_set_finding(event, &problems->v[i]);
        kvmig__cluster_emit(view->cluster, event);
    }
}

static void tell_unread(struct kvmig__file_view *view)
{
    struct kvmig_findings list = { NULL, 0 };

    kvmig__findings_add(&list, "SNAPSHOT_UNREADABLE", KVMIG_SEVERITY_ERROR, "request", NULL, NULL,
                        "Copy the files to a local disk.", "the files could not be read within %d s", READ_MS / 1000);
    tell(view, &list);
    kvmig__findings_clear(&list);
}

static void replace(struct kvmig__file_view *view, struct kvmig__files *files)
{
    struct kvmig__facts *old = view->facts;
    const bool libvirt = files->hosts.n > 0;

    view->facts = files->facts;
    files->facts = NULL;
    kvmig__cluster_set_facts(view->cluster, view->facts, !libvirt);
    kvmig__facts_free(old);
    tell(view, &files->problems);
    kvmig__kube_backend_take(view->kube, &files->kube);
    replace_hosts(view, files);
}

static void job_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__file_view *view = owner;
    struct kvmig_cluster *cluster = view->cluster;
    struct job *job = payload;

    kvmig__cluster_hold(cluster); /* a report may be the end of it */
    view->reading = false;
    if (status) {
        tell_unread(view);
        kvmig__kube_backend_take(view->kube, NULL);
        kvmig__timer_arm_in(&view->still, 0);
    } else {
        replace(view, &job->files);
    }
    if (view->again)
        kvmig__file_view_refresh(view);
    kvmig__cluster_check_sync(cluster);
    kvmig__cluster_release(cluster);
}

static const struct kvmig__job_type type = { "files", job_run, job_done, job_free };

void kvmig__file_view_refresh(struct kvmig__file_view *view)
{
    struct job *job;

    view->again = view->reading;
    if (view->reading)
        return;
    job = kvmig__calloc(1, sizeof(*job));
    kvmig__strlist_copy(&job->ask.paths, &view->ask.paths);
    kvmig__strlist_copy(&job->ask.hosts, &view->ask.hosts);
    job->ask.source = kvmig__strdup(view->ask.source);
    view->reading = true;
    kvmig__kube_backend_wait(view->kube);
    kvmig__lane_submit(view->lane, &type, view, job, READ_MS);
}

/* ---- life ---- */

struct kvmig__file_view *kvmig__file_view_open(struct kvmig_cluster *cluster, struct kvmig__kube_backend *kube,
                                               struct kvmig__files_ask *ask)
{
    struct kvmig__file_view *view = kvmig__calloc(1, sizeof(*view));
    struct kvmig_context *context = kvmig__cluster_context(cluster);

    view->cluster = cluster;
    view->kube = kube;
    view->ask = *ask;
    *ask = (struct kvmig__files_ask){ .source = NULL };
    view->lane = kvmig__lane_new(context, "files");
    kvmig__timer_init(&view->still, context, on_still, view);
    kvmig__file_view_refresh(view);
    return view;
}

void kvmig__file_view_close(struct kvmig__file_view *view)
{
    if (!view)
        return;
    kvmig__timer_disarm(&view->still);
    kvmig__lane_close(view->lane);
}

void kvmig__file_view_free(struct kvmig__file_view *view)
{
    if (!view)
        return;
    kvmig__facts_free(view->facts);
    kvmig__files_ask_clear(&view->ask);
    free(view->hosts.v);
    free(view);
}
