/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The driver's first step: all connections are opened, at once; the VM is proven to run on the source with the planned
 * UUID and no job, the target to be free for it; versions of all three libvirts and both QEMUs decide what of the request
 * can be used. Changes nothing on any host.
 *
 * run and free functions run on lanes and see only their payload; the rest runs in dispatch.
 */
#include "libvirt/driver_internal.h"
#include "libvirt/side.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <stdlib.h>

struct look_job {
    struct kvmig__driver_job job;
    uint64_t libvirt, qemu; /* versions */
    bool paused; /* source: by a user */
    uint64_t downtime_ms, bandwidth_mib; /* source: limits in force */
    char *definition; /* target: of a stopped domain with our UUID */
};

static void look_free(void *payload)
{
    struct look_job *look = payload;
    kvmig__driver_job_clear(&look->job);
    free(look->definition);
    free(look);
}

/* ---- on lanes ---- */

static bool read_versions(struct look_job *look, virConnectPtr conn)
{
    unsigned long libvirt = 0;
    unsigned long qemu = 0;
    if (virConnectGetLibVersion(conn, &libvirt) < 0) {
        look->job.error = kvmig__link_error(look->job.link, "virConnectGetLibVersion", NULL);
        return false;
    }
    if (virConnectGetVersion(conn, &qemu) < 0)
        qemu = 0; /* not every driver tells; then nothing is concluded from it */
    look->libvirt = libvirt;
    look->qemu = qemu;
    return true;
}

static struct kvmig_error *state_error(const struct look_job *look, const char *state)
{
    return kvmig__error_new(
        KVMIG_ECONFLICT, look->job.link->host, NULL, "a VM can be migrated when it runs, or was paused by a user",
        "VM %s on host %s cannot be migrated now: it is %s", look->job.plan->vm, look->job.link->host, state);
}

static struct kvmig_error *check_source_state(struct look_job *look, virDomainPtr domain)
{
    int state = 0;
    int reason = 0;
    struct kvmig__virt_job running;
    if (virDomainGetState(domain, &state, &reason, 0) < 0)
        return kvmig__link_error(look->job.link, "virDomainGetState", NULL);
    look->paused = state == VIR_DOMAIN_PAUSED && reason == VIR_DOMAIN_PAUSED_USER;
    if (state != VIR_DOMAIN_RUNNING && !look->paused)
        return state_error(look, kvmig__domain_state_name(kvmig__virt_domain_state(state)));
    kvmig__virt_read_job(domain, &running);
    if (!running.known)
        return state_error(look, "busy: its QEMU does not answer");
    return running.active ? state_error(look, "busy with another job") : NULL;
}

static void read_limits(struct look_job *look, virDomainPtr domain)
{
    unsigned long long downtime = 0;
    unsigned long bandwidth = 0;
    look->downtime_ms = look->bandwidth_mib = KVMIG__UNKNOWN;
    if (virDomainMigrateGetMaxDowntime(domain, &downtime, 0) == 0)
        look->downtime_ms = downtime;
    if (virDomainMigrateGetMaxSpeed(domain, &bandwidth, 0) == 0)
        look->bandwidth_mib = bandwidth;
}

static void run_source(void *payload)
{
    struct look_job *look = payload;
    virDomainPtr domain = kvmig__link_domain(look->job.link, look->job.plan->uuid, &look->job.error);
    if (!domain)
        return;
    if (read_versions(look, look->job.link->conn)) {
        look->job.error = check_source_state(look, domain);
        read_limits(look, domain);
    }
    virDomainFree(domain);
}

static struct kvmig_error *check_target_uuid(struct look_job *look)
{
    const struct kvmig_plan *plan = look->job.plan;
    struct kvmig_error *error = NULL;
    virDomainPtr domain = NULL;
    if (!kvmig__link_find_domain(look->job.link, plan->uuid, &domain, &error) || !domain)
        return error;
    int active = virDomainIsActive(domain);
    if (active < 0)
        error = kvmig__link_error(look->job.link, "virDomainIsActive", NULL);
    else if (active)
        error = kvmig__error_new(EEXIST, look->job.link->host, NULL,
                                 "find out which of the two is the right one before anything else is done",
                                 "host %s already has an active domain with UUID %s", look->job.link->host, plan->uuid);
    else
        look->definition = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE);
    if (!error && !look->definition)
        error = kvmig__link_error(look->job.link, "virDomainGetXMLDesc", NULL);
    virDomainFree(domain);
    return error;
}

static struct kvmig_error *check_target_name(struct look_job *look)
{
    const struct kvmig_plan *plan = look->job.plan;
    const char *name = plan->request.target_name ? plan->request.target_name : plan->vm;
    struct kvmig_error *error = NULL;
    char uuid[VIR_UUID_STRING_BUFLEN] = "";
    virDomainPtr domain = virDomainLookupByName(look->job.link->conn, name);
    if (!domain) {
        virErrorPtr last = virGetLastError();
        if (last && last->code == VIR_ERR_NO_DOMAIN)
            return NULL;
        return kvmig__link_error(look->job.link, "virDomainLookupByName", NULL);
    }
    if (virDomainGetUUIDString(domain, uuid) < 0)
        error = kvmig__link_error(look->job.link, "virDomainGetUUIDString", NULL);
    else if (!kvmig__str_eq(uuid, plan->uuid))
        error = kvmig__error_new(EEXIST, look->job.link->host, NULL,
                                 "rename or remove that domain, or give the VM another name there (target_name)",
                                 "host %s already has another domain named %s, with UUID %s", look->job.link->host,
                                 name, uuid);
    virDomainFree(domain);
    return error;
}

static void run_target(void *payload)
{
    struct look_job *look = payload;
    virConnectPtr conn = kvmig__link_open(look->job.link, &look->job.error);
    if (!conn || !read_versions(look, conn))
        return;
    look->job.error = check_target_uuid(look);
    if (!look->job.error)
        look->job.error = check_target_name(look);
}

/* Opens what the call will use, so that a missing right or key shows before anything is changed. */
static void run_migrate(void *payload)
{
    struct look_job *look = payload;
    for (struct kvmig__link *link = look->job.link; link && !look->job.error; link = link->next)
        kvmig__link_open(link, &look->job.error);
}

/* ---- in dispatch ---- */

static void say_dropped(struct kvmig__virt_driver *d, struct kvmig_findings *dropped)
{
    for (size_t i = 0; i < dropped->n; i++)
        kvmig__session_notice(d->session, &dropped->v[i]);
    kvmig__findings_clear(dropped);
}

static void conclude(struct kvmig__virt_driver *d)
{
    struct kvmig_findings dropped = { NULL, 0 };
    struct kvmig_error *error = NULL;
    unsigned long client = 0;
    if (virGetVersion(&client, NULL, NULL) < 0)
        client = LIBVIR_VERSION_NUMBER;
    d->versions.client = client;
    uint32_t wanted = kvmig__features_wanted(d->plan, d->guest_paused);
    if (kvmig__features_gate(wanted, d->guest_paused, &d->versions, &dropped, &d->features, &error) < 0)
        kvmig__driver_step_fail(d, error);
    say_dropped(d, &dropped);
    if (d->target_definition)
        kvmig__virt_remark(d, "TARGET_DEFINITION_REPLACED", KVMIG_SEVERITY_INFO, d->plan->target, NULL,
                           "host %s has a stopped definition of the VM; the migration replaces it", d->plan->target);
}

static void one_done(struct kvmig__virt_driver *d, struct kvmig_error *error)
{
    if (error)
        kvmig__driver_step_fail(d, error);
    if (--d->waiting > 0)
        return;
    if (!d->error)
        conclude(d);
    kvmig__driver_step_end(d);
}

static void done_source(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct look_job *look = payload;
    struct kvmig_error *error = kvmig__driver_job_error(&d->source, payload, status, "check the VM on the source");
    if (look) {
        d->versions.source = look->libvirt;
        d->versions.source_qemu = look->qemu;
        d->guest_paused = look->paused;
        d->old_downtime_ms = look->downtime_ms;
        d->old_bandwidth_mib = look->bandwidth_mib;
    }
    one_done(d, error);
}

static void done_target(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct look_job *look = payload;
    struct kvmig_error *error = kvmig__driver_job_error(&d->target, payload, status, "check the target");
    if (look) {
        d->versions.target = look->libvirt;
        d->versions.target_qemu = look->qemu;
        free(d->target_definition);
        d->target_definition = look->definition;
        look->definition = NULL;
    }
    one_done(d, error);
}

static void done_migrate(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    one_done(d, kvmig__driver_job_error(&d->migrate, payload, status, "open the connections for the migration"));
}

static const struct kvmig__job_type source_type = { "check the source", run_source, done_source, look_free };
static const struct kvmig__job_type target_type = { "check the target", run_target, done_target, look_free };
static const struct kvmig__job_type migrate_type = { "open connections", run_migrate, done_migrate, look_free };

void kvmig__virt_schedule_begin(struct kvmig__virt_driver *d)
{
    const struct {
        struct kvmig__end *end;
        const struct kvmig__job_type *type;
    } jobs[] = { { &d->source, &source_type }, { &d->target, &target_type }, { &d->migrate, &migrate_type } };
    d->waiting = KVMIG__N_ELEMENTS(jobs);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(jobs); i++)
        kvmig__lane_submit(jobs[i].end->lane, jobs[i].type, d,
                           kvmig__driver_job_new(d, jobs[i].end, sizeof(struct look_job)),
                           kvmig__virt_time_left(d, d->limits.step_ms));
}
