/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The driver's third step: the migrate call. Before it, on the source's control lane: the limits that libvirt wants set
 * beforehand, and the domain XML with the target's disk paths where they differ. Then one blocking call on the migrate lane,
 * without a deadline of the lane's: it is ended by abort, or given up when it does not end. The call's result is a hint; the
 * next step asks the hosts.
 *
 * The call never undefines the source: that is done once the target is proven to run.
 *
 * run and free functions run on lanes and see only their payload; the rest runs in dispatch.
 */
#include "libvirt/classify.h"
#include "libvirt/driver_internal.h"

#include <errno.h>
#include <stdlib.h>

/* ---- before the call, on the source's control lane ---- */

struct ready_job {
    struct kvmig__driver_job job;
    char *target_xml, *persistent_xml; /* NULL = as on the source */
};

static void ready_free(void *payload)
{
    struct ready_job *ready = payload;
    kvmig__driver_job_clear(&ready->job);
    free(ready->target_xml);
    free(ready->persistent_xml);
    free(ready);
}

static bool path_differs(const struct kvmig__disk_plan *disk)
{
    return disk->source_path && disk->target_path && !kvmig__str_eq(disk->source_path, disk->target_path);
}

static bool any_path_differs(const struct kvmig_plan *plan)
{
    for (size_t i = 0; i < plan->disks.n; i++) {
        if (path_differs(&plan->disks.v[i]))
            return true;
    }
    return false;
}

/* Whether that XML has the disk on the path that the guest uses. The persistent definition may lack a disk that was plugged
 * in since, or have another medium: then there is nothing of ours to change in it. */
static bool has_disk(const struct kvmig__domain *domain, const struct kvmig__disk_plan *disk)
{
    for (size_t i = 0; i < domain->disks.n; i++) {
        if (kvmig__str_eq(domain->disks.v[i].target, disk->target))
            return kvmig__str_eq(domain->disks.v[i].source.path, disk->source_path);
    }
    return false;
}

/* Changes the paths of disks in xml; with only_same none but those that it has like the running guest. */
static int32_t move_disks(const struct ready_job *ready, const char *xml, bool only_same, char **out)
{
    const struct kvmig_plan *plan = ready->job.plan;
    struct kvmig__domain domain = { .name = NULL };
    if (only_same) {
        int32_t status = kvmig__xml_domain(xml, ready->job.link->host, &domain);
        if (status < 0)
            return status;
    }
    const char **targets = kvmig__calloc(plan->disks.n + 1, sizeof(*targets));
    const char **paths = kvmig__calloc(plan->disks.n + 1, sizeof(*paths));
    size_t n = 0;
    for (size_t i = 0; i < plan->disks.n; i++) {
        if (!path_differs(&plan->disks.v[i]) || (only_same && !has_disk(&domain, &plan->disks.v[i])))
            continue;
        targets[n] = plan->disks.v[i].target;
        paths[n++] = plan->disks.v[i].target_path;
    }
    int32_t status = kvmig__xml_retarget_disks(xml, ready->job.link->host, targets, paths, n, out);
    kvmig__domain_clear(&domain);
    free(targets);
    free(paths);
    return status;
}

/* The domain's XML with the target's disk paths. Owned; NULL with an error in the job. */
static char *moved_xml(struct ready_job *ready, virDomainPtr domain, unsigned int flags)
{
    char *moved = NULL;
    char *xml = virDomainGetXMLDesc(domain, flags);
    if (!xml)
        ready->job.error = kvmig__link_error(ready->job.link, "virDomainGetXMLDesc", NULL);
    else if (move_disks(ready, xml, flags & VIR_DOMAIN_XML_INACTIVE, &moved) < 0)
        ready->job.error = kvmig__error_copy(kvmig_error_last());
    free(xml);
    return moved;
}

/* One flag decides for all disks whether whole chains are copied or top images only: a disk that is to be copied whole
 * must not have a chain beside one that is copied incrementally. */
static struct kvmig_error *check_copies(const struct ready_job *ready, const char *xml)
{
    const struct kvmig_plan *plan = ready->job.plan;
    struct kvmig__domain domain = { .name = NULL };
    struct kvmig_error *error = NULL;
    if (kvmig__xml_domain(xml, ready->job.link->host, &domain) < 0)
        return kvmig__error_copy(kvmig_error_last());
    for (size_t i = 0; i < plan->disks.n && !error; i++) {
        for (size_t j = 0; j < domain.disks.n && !error; j++) {
            if (plan->disks.v[i].method == KVMIG_DISK_COPY_FULL && domain.disks.v[j].backing.n > 0 &&
                kvmig__str_eq(plan->disks.v[i].target, domain.disks.v[j].target))
                error = kvmig__error_new(KVMIG_ECONFLICT, plan->disks.v[i].target, NULL,
                                         "copy all disks the same way, or flatten the chain of this one first",
                                         "disk %s is to be copied whole, but has a backing chain, and libvirt copies "
                                         "only top images when one disk is copied incrementally",
                                         plan->disks.v[i].target);
        }
    }
    kvmig__domain_clear(&domain);
    return error;
}

static struct kvmig_error *check_mixed_copies(const struct ready_job *ready, virDomainPtr domain)
{
    bool full = false;
    bool incremental = false;
    for (size_t i = 0; i < ready->job.plan->disks.n; i++) {
        full = full || ready->job.plan->disks.v[i].method == KVMIG_DISK_COPY_FULL;
        incremental = incremental || ready->job.plan->disks.v[i].method == KVMIG_DISK_COPY_INCREMENTAL;
    }
    if (!full || !incremental)
        return NULL;
    char *xml = virDomainGetXMLDesc(domain, 0);
    if (!xml)
        return kvmig__link_error(ready->job.link, "virDomainGetXMLDesc", NULL);
    struct kvmig_error *error = check_copies(ready, xml);
    free(xml);
    return error;
}

static void build_xml(struct ready_job *ready, virDomainPtr domain)
{
    const struct kvmig_plan *plan = ready->job.plan;
    ready->target_xml = kvmig__strdup(plan->request.target_xml);
    if (kvmig__virt_persists(plan))
        ready->persistent_xml = kvmig__strdup(plan->request.persistent_xml);
    if (!any_path_differs(plan))
        return;
    if (!ready->target_xml)
        ready->target_xml = moved_xml(ready, domain, VIR_DOMAIN_XML_SECURE | VIR_DOMAIN_XML_MIGRATABLE);
    if (!ready->job.error && !ready->persistent_xml && kvmig__virt_persists(plan))
        ready->persistent_xml =
            moved_xml(ready, domain, VIR_DOMAIN_XML_SECURE | VIR_DOMAIN_XML_MIGRATABLE | VIR_DOMAIN_XML_INACTIVE);
}

static void ready_run(void *payload)
{
    struct ready_job *ready = payload;
    uint64_t downtime = ready->job.plan->request.max_downtime_ms;
    virDomainPtr domain = kvmig__link_domain(ready->job.link, ready->job.plan->uuid, &ready->job.error);
    if (!domain)
        return;
    ready->job.error = check_mixed_copies(ready, domain);
    if (!ready->job.error)
        build_xml(ready, domain);
    if (downtime && !ready->job.error && !kvmig__link_is_given_up(ready->job.link, &ready->job.error) &&
        virDomainMigrateSetMaxDowntime(domain, downtime, 0) < 0)
        ready->job.error = kvmig__link_error(ready->job.link, "virDomainMigrateSetMaxDowntime", NULL);
    virDomainFree(domain);
}

/* ---- the call, on the migrate lane ---- */

struct call_job {
    struct kvmig__driver_job job;
    struct kvmig__virt_call call;
    char *uri; /* how the source dials the target; NULL = managed */
    struct kvmig__call_record *record;
    int32_t cause; /* enum kvmig__virt_cause, if it failed */
    int64_t started_ms, ended_ms; /* CLOCK_MONOTONIC */
};

static void call_free(void *payload)
{
    struct call_job *call = payload;
    kvmig__driver_job_clear(&call->job);
    kvmig__virt_call_clear(&call->call);
    if (call->record)
        call->record->returned = true; /* also if it was withdrawn before it ran */
    kvmig__call_record_unref(call->record);
    free(call->uri);
    free(call);
}

static struct kvmig_error *call_peer_to_peer(struct call_job *call, virDomainPtr domain)
{
    const struct kvmig__virt_call *c = &call->call;
    if (virDomainMigrateToURI3(domain, call->uri, c->params, (unsigned int)c->n_params, c->flags) == 0)
        return NULL;
    return kvmig__link_error(call->job.link, "virDomainMigrateToURI3", &call->cause);
}

static struct kvmig_error *call_managed(struct call_job *call, virDomainPtr domain, virConnectPtr target)
{
    const struct kvmig__virt_call *c = &call->call;
    virDomainPtr moved = virDomainMigrate3(domain, target, c->params, (unsigned int)c->n_params, c->flags);
    if (!moved)
        return kvmig__link_error(call->job.link, "virDomainMigrate3", &call->cause);
    virDomainFree(moved);
    return NULL;
}

static void make_call_on_lane(struct call_job *call)
{
    virConnectPtr target = NULL;
    virDomainPtr domain = kvmig__link_domain(call->job.link, call->job.plan->uuid, &call->job.error);
    if (!domain)
        return;
    if (!call->uri)
        target = kvmig__link_open(call->job.link->next, &call->job.error);
    if (!call->job.error && !kvmig__link_is_given_up(call->job.link, &call->job.error)) {
        call->started_ms = kvmig__now_ms();
        call->job.error = call->uri ? call_peer_to_peer(call, domain) : call_managed(call, domain, target);
        call->ended_ms = kvmig__now_ms();
    }
    virDomainFree(domain);
}

static void call_run(void *payload)
{
    struct call_job *call = payload;
    make_call_on_lane(call);
    call->record->returned = true;
}

/* ---- in dispatch ---- */

static void stop_watching(struct kvmig__virt_driver *d)
{
    if (d->watch.abort_sent || d->watch.tunings.n > 0 || d->watch.probing)
        kvmig__end_renew(&d->source); /* what was meant for this call must not meet the next job */
    d->watch.abort_sent = d->watch.probing = d->watch.polling = false;
    d->watch.tunings.n = 0;
    d->watch.preparing = d->watch.running = false;
    kvmig__virt_watch_stop(d);
    kvmig__virt_control_stop(d);
}

/* The last thing that its caller does. */
static void end_call(struct kvmig__virt_driver *d, struct kvmig_error *error, bool hung)
{
    if (d->watch.running && d->watch.sampled)
        kvmig__job_to_report(&d->watch.sample, false, kvmig__virt_report(d));
    stop_watching(d);
    d->step = -1;
    kvmig__session_call_done(d->session, error, hung);
}

void kvmig__virt_migrate_abandon(struct kvmig__virt_driver *d)
{
    if (d->watch.running)
        kvmig__end_renew(&d->migrate);
    stop_watching(d);
}

static struct kvmig_error *cancelled_early(const struct kvmig__virt_driver *d)
{
    return kvmig__error_new(ECANCELED, d->plan->vm, NULL, NULL, "cancelled before the migrate call was made");
}

bool kvmig__virt_call_is_out(const struct kvmig__virt_driver *d)
{
    return d->call_record && !d->call_record->returned;
}

void kvmig__virt_call_hung(struct kvmig__virt_driver *d, const char *why)
{
    struct kvmig__report *report = kvmig__virt_report(d);
    if (d->watch.preparing) {
        kvmig__end_renew(&d->source);
        end_call(d, cancelled_early(d), false);
        return;
    }
    report->call_ended_ms = kvmig__now_ms();
    kvmig__end_renew(&d->migrate);
    end_call(d,
             kvmig__error_new(ETIMEDOUT, d->plan->source, NULL,
                              "look at both hosts: the daemon or QEMU of one of them hangs, or a link to them or "
                              "between them is cut",
                              "%s, and was given up", why),
             true);
}

static void call_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct call_job *call = payload;
    struct kvmig__report *report = kvmig__virt_report(d);
    struct kvmig_error *error = kvmig__driver_job_error(&d->migrate, payload, status, "migrate the VM");
    if (call && call->started_ms) {
        report->call_started_ms = call->started_ms;
        report->call_ended_ms = call->ended_ms;
    }
    d->call_ok = !error;
    d->target_conflict = call && call->cause == KVMIG__CAUSE_TARGET_CONFLICT;
    end_call(d, error, false);
}

static const struct kvmig__job_type call_type = { "migrate", call_run, call_done, call_free };

static void make_call(struct kvmig__virt_driver *d, struct call_job *call)
{
    struct kvmig__report *report = kvmig__virt_report(d);
    bool managed = d->plan->request.flags & KVMIG_PLAN_MANAGED;
    if (!managed)
        call->uri = kvmig__strdup(d->plan->request.target_uri ? d->plan->request.target_uri : d->target_uri);
    free(report->flags);
    report->flags = kvmig__virt_flag_names(call->call.flags);
    kvmig__str_set(&report->domain_job, managed ? "managed" : "peer2peer");
    report->call_started_ms = kvmig__now_ms();
    kvmig__call_record_unref(d->call_record);
    d->call_record = kvmig__calloc(1, sizeof(*d->call_record));
    d->call_record->refs = 1;
    call->record = kvmig__call_record_ref(d->call_record);
    d->call_flags = call->call.flags;
    d->call_begun = true;
    d->watch.preparing = false;
    d->watch.running = true;
    d->watch.started_ms = report->call_started_ms;
    kvmig__lane_submit(d->migrate.lane, &call_type, d, call, -1);
    kvmig__virt_watch_start(d);
}

static void ready_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct ready_job *ready = payload;
    struct kvmig_error *error = kvmig__driver_job_error(&d->source, payload, status, "prepare the VM for the call");
    if (!error && d->watch.aborting)
        error = cancelled_early(d);
    if (error) {
        end_call(d, error, false);
        return;
    }
    struct call_job *call = kvmig__driver_job_new(d, &d->migrate, sizeof(*call));
    if (kvmig__virt_call_build(d->plan, d->features, ready->target_xml, ready->persistent_xml, &call->call) < 0) {
        call_free(call);
        end_call(d, kvmig__link_error(d->migrate.link, "virTypedParamsAdd", NULL), false);
        return;
    }
    make_call(d, call);
}

static const struct kvmig__job_type ready_type = { "prepare the call", ready_run, ready_done, ready_free };

void kvmig__virt_migrate_begin(struct kvmig__virt_driver *d)
{
    d->call_until_ms = d->deadline_ms;
    d->watch.preparing = true;
    if (d->plan->request.max_downtime_ms || d->plan->request.bandwidth_mib)
        d->limits_changed = true; /* about to be: nobody may hear of it */
    d->watch.aborting = d->watch.abort_refused = false;
    kvmig__virt_control_start(d);
    kvmig__lane_submit(d->source.lane, &ready_type, d, kvmig__driver_job_new(d, &d->source, sizeof(struct ready_job)),
                       kvmig__virt_time_left(d, d->limits.step_ms));
}
