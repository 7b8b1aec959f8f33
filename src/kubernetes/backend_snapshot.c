/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A view from files: read once, on a lane, because files may hang. What could not be read is told as notices of the view. The job
 * owns what it reads until it is done; then the backend takes it over. done runs in dispatch with the context lock held.
 */
#include "kubernetes/backend_internal.h"

#include <errno.h>
#include <stdlib.h>

#define READ_MS 60000

struct job {
    struct kvmig__strlist paths;
    struct kvmig__kube kube;
    struct kvmig_findings problems;
};

static void job_run(void *payload)
{
    struct job *job = payload;

    kvmig__snapshot_load(&job->kube, &job->paths, &job->problems);
}

static void job_free(void *payload)
{
    struct job *job = payload;

    kvmig__strlist_clear(&job->paths);
    kvmig__kube_clear(&job->kube);
    kvmig__findings_clear(&job->problems);
    free(job);
}

static void tell_unread(struct kvmig__kube_backend *backend)
{
    struct kvmig_findings list = { NULL, 0 };

    kvmig__findings_add(&list, "SNAPSHOT_UNREADABLE", KVMIG_SEVERITY_ERROR, "request", NULL, NULL,
                        "Copy the files to a local disk.", "the files could not be read within %d s", READ_MS / 1000);
    kvmig__kube_notice(backend, &list.v[0]);
    kvmig__findings_clear(&list);
}

static void job_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__kube_backend *backend = owner;
    struct job *job = payload;

    backend->loaded = true;
    if (status) {
        tell_unread(backend);
    } else {
        backend->store = job->kube;
        backend->store.keeps_lookup = true;
        job->kube = (struct kvmig__kube){ .now_ms = 0 };
        for (size_t i = 0; i < job->problems.n; i++)
            kvmig__kube_notice(backend, &job->problems.v[i]);
    }
    kvmig__kube_changed(backend);
    backend->dirty = true;
    kvmig__timer_arm_in(&backend->report, 0);
}

static const struct kvmig__job_type type = { "snapshot", job_run, job_done, job_free };

void kvmig__kube_snapshot_read(struct kvmig__kube_backend *backend, const struct kvmig__strlist *paths)
{
    struct job *job = kvmig__calloc(1, sizeof(*job));

    kvmig__strlist_copy(&job->paths, paths);
    backend->lane = kvmig__lane_new(backend->context, "snapshot");
    kvmig__lane_submit(backend->lane, &type, backend, job, READ_MS);
}
