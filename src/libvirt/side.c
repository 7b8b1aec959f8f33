/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One side of a migration: is the domain there, does it run, does a migration job touch it. Does not: judge (the resolver
 * does), act. Blocks; runs on a lane; the connection is the lane's, results are the caller's.
 *
 * The state comes from calls that take no job lock and that libvirt's daemon serves with priority. The job does not: asking
 * for it takes the domain's job lock, for which libvirt waits up to 30 s, and talks to QEMU, for which it waits for ever. So
 * virDomainGetControlInfo is asked first, which waits for neither: if somebody has been inside QEMU's monitor for long, the
 * question is not put, and the job counts as active, because nothing may be concluded from not knowing.
 * The target of a running migration refuses to tell statistics; that very refusal says that it is one.
 */
#include "libvirt/side.h"

#include <libvirt/virterror.h>
#include <poll.h>
#include <stdlib.h>

/* Since libvirt 9.2. */
#define PAUSED_API_ERROR 14

/* A monitor command of somebody else that has run this long may be one that never ends. */
#define MONITOR_PATIENCE_MS 500
/* Short steps of a migration job hold the job lock; between them there is always room. */
#define JOB_TRIES 5
#define JOB_RETRY_MS 5

int32_t kvmig__virt_domain_state(int state)
{
    switch (state) {
    case VIR_DOMAIN_RUNNING:
    case VIR_DOMAIN_BLOCKED:
        return KVMIG__STATE_RUNNING;
    case VIR_DOMAIN_PAUSED:
        return KVMIG__STATE_PAUSED;
    case VIR_DOMAIN_SHUTOFF:
        return KVMIG__STATE_SHUTOFF;
    case VIR_DOMAIN_CRASHED:
        return KVMIG__STATE_CRASHED;
    case VIR_DOMAIN_PMSUSPENDED:
        return KVMIG__STATE_SUSPENDED_PM;
    default:
        return KVMIG__STATE_OTHER;
    }
}

static int32_t running_reason(int reason)
{
    switch (reason) {
    case VIR_DOMAIN_RUNNING_MIGRATED:
        return KVMIG__REASON_MIGRATED;
    case VIR_DOMAIN_RUNNING_MIGRATION_CANCELED:
        return KVMIG__REASON_MIGRATION_CANCELED;
    case VIR_DOMAIN_RUNNING_POSTCOPY:
        return KVMIG__REASON_POSTCOPY;
    case VIR_DOMAIN_RUNNING_POSTCOPY_FAILED:
        return KVMIG__REASON_POSTCOPY_FAILED;
    case VIR_DOMAIN_RUNNING_CRASHED:
        return KVMIG__REASON_CRASHED;
    case VIR_DOMAIN_RUNNING_UNPAUSED:
        return KVMIG__REASON_UNPAUSED;
    case VIR_DOMAIN_RUNNING_BOOTED:
        return KVMIG__REASON_BOOTED;
    default:
        return KVMIG__REASON_OTHER;
    }
}

static int32_t paused_reason(int reason)
{
    switch (reason) {
    case VIR_DOMAIN_PAUSED_USER:
        return KVMIG__REASON_USER;
    case VIR_DOMAIN_PAUSED_MIGRATION:
        return KVMIG__REASON_MIGRATION;
    case VIR_DOMAIN_PAUSED_IOERROR:
        return KVMIG__REASON_IOERROR;
    case VIR_DOMAIN_PAUSED_CRASHED:
        return KVMIG__REASON_CRASHED;
    case VIR_DOMAIN_PAUSED_STARTING_UP:
        return KVMIG__REASON_STARTING_UP;
    case VIR_DOMAIN_PAUSED_POSTCOPY:
        return KVMIG__REASON_POSTCOPY;
    case VIR_DOMAIN_PAUSED_POSTCOPY_FAILED:
        return KVMIG__REASON_POSTCOPY_FAILED;
    case PAUSED_API_ERROR:
        return KVMIG__REASON_API_ERROR;
    default:
        return KVMIG__REASON_OTHER;
    }
}

static int32_t shutoff_reason(int reason)
{
    switch (reason) {
    case VIR_DOMAIN_SHUTOFF_UNKNOWN:
        return KVMIG__REASON_UNSPECIFIED;
    case VIR_DOMAIN_SHUTOFF_SHUTDOWN:
        return KVMIG__REASON_SHUTDOWN;
    case VIR_DOMAIN_SHUTOFF_DESTROYED:
        return KVMIG__REASON_DESTROYED;
    case VIR_DOMAIN_SHUTOFF_CRASHED:
        return KVMIG__REASON_CRASHED;
    case VIR_DOMAIN_SHUTOFF_MIGRATED:
        return KVMIG__REASON_MIGRATED;
    case VIR_DOMAIN_SHUTOFF_FAILED:
        return KVMIG__REASON_FAILED;
    default: /* saved, made from a snapshot, lost by the daemon: none says whether the guest ran here after a migration */
        return KVMIG__REASON_OTHER;
    }
}

int32_t kvmig__virt_domain_reason(int state, int reason)
{
    switch (state) {
    case VIR_DOMAIN_RUNNING:
        return running_reason(reason);
    case VIR_DOMAIN_PAUSED:
        return paused_reason(reason);
    case VIR_DOMAIN_SHUTOFF:
        return shutoff_reason(reason);
    case VIR_DOMAIN_CRASHED:
        return KVMIG__REASON_CRASHED;
    default:
        return KVMIG__REASON_OTHER;
    }
}

virDomainPtr kvmig__virt_lookup(virConnectPtr conn, const char *vm)
{
    return kvmig__is_uuid(vm) ? virDomainLookupByUUIDString(conn, vm) : virDomainLookupByName(conn, vm);
}

/* ---- the job ---- */

/* Whether to ask for the job at all; fills *out and says no if that is answered already. */
static bool may_ask_for_job(virDomainPtr domain, struct kvmig__virt_job *out)
{
    virDomainControlInfo control;

    for (int i = 0; i < JOB_TRIES; i++) {
        if (i)
            poll(NULL, 0, JOB_RETRY_MS);
        if (virDomainGetControlInfo(domain, &control, 0) < 0)
            return true; /* a driver without it, or a domain that has just stopped: the next call tells */
        if (control.state == VIR_DOMAIN_CONTROL_OK) {
            out->monitor_free = true;
            return true;
        }
        if (control.state == VIR_DOMAIN_CONTROL_ERROR)
            break;
        if (control.state == VIR_DOMAIN_CONTROL_OCCUPIED && control.stateTime >= MONITOR_PATIENCE_MS)
            break;
    }
    out->active = true;
    return false;
}

static void take_statistics(int type, virTypedParameterPtr params, int n_params, struct kvmig__virt_job *out)
{
    int operation = VIR_DOMAIN_JOB_OPERATION_UNKNOWN;

    out->known = true;
    out->active = type == VIR_DOMAIN_JOB_BOUNDED || type == VIR_DOMAIN_JOB_UNBOUNDED;
    if (!out->active || virTypedParamsGetInt(params, n_params, VIR_DOMAIN_JOB_OPERATION, &operation) < 0)
        return;
    out->migrating_out = operation == VIR_DOMAIN_JOB_OPERATION_MIGRATION_OUT;
    out->migrating_in = operation == VIR_DOMAIN_JOB_OPERATION_MIGRATION_IN;
}

static void take_refusal(virDomainPtr domain, struct kvmig__virt_job *out)
{
    switch (virGetLastErrorCode()) {
    case VIR_ERR_NO_SUPPORT: /* a driver without jobs */
    case VIR_ERR_NO_DOMAIN:
        out->known = true;
        break;
    case VIR_ERR_OPERATION_INVALID:
    case VIR_ERR_OPERATION_UNSUPPORTED:
        out->known = true;
        out->migrating_in = virDomainIsActive(domain) == 1;
        out->active = out->migrating_in;
        break;
    default:
        out->active = true;
        break;
    }
}

void kvmig__virt_read_job(virDomainPtr domain, struct kvmig__virt_job *out)
{
    virTypedParameterPtr params = NULL;
    int type = VIR_DOMAIN_JOB_NONE, n_params = 0;

    *out = (struct kvmig__virt_job){ false, false, false, false, false };
    if (!may_ask_for_job(domain, out))
        return;
    if (virDomainGetJobStats(domain, &type, &params, &n_params, 0) < 0) {
        take_refusal(domain, out);
        return;
    }
    take_statistics(type, params, n_params, out);
    virTypedParamsFree(params, n_params);
}

/* ---- one side ---- */

static void read_failed(const char *call, struct kvmig__side *side)
{
    struct kvmig_error *error;

    if (virGetLastErrorCode() == VIR_ERR_NO_DOMAIN) {
        kvmig__str_set(&side->uuid, NULL);
        side->reachable = true; /* libvirt says for certain that there is none */
        side->state = KVMIG__STATE_ABSENT;
        side->reason = KVMIG__REASON_OTHER;
        side->persistent = false;
        return;
    }
    error = kvmig__virt_error(NULL, call, NULL);
    side->reachable = false;
    kvmig__str_set(&side->error, kvmig_error_message(error));
    kvmig__error_free(error);
}

/* False: *side says that there is no such domain, or that it could not be asked. */
static bool read_domain(virDomainPtr domain, struct kvmig__side *side)
{
    char uuid[VIR_UUID_STRING_BUFLEN];
    int state, reason, persistent;

    if (virDomainGetUUIDString(domain, uuid) < 0) {
        read_failed("virDomainGetUUIDString", side);
        return false;
    }
    if (virDomainGetState(domain, &state, &reason, 0) < 0) {
        read_failed("virDomainGetState", side);
        return false;
    }
    persistent = virDomainIsPersistent(domain);
    if (persistent < 0) {
        read_failed("virDomainIsPersistent", side);
        return false;
    }
    side->reachable = true;
    side->job_active = false;
    side->job_assumed = false;
    side->state = kvmig__virt_domain_state(state);
    side->reason = kvmig__virt_domain_reason(state, reason);
    side->persistent = persistent == 1;
    kvmig__str_set(&side->uuid, uuid);
    return true;
}

bool kvmig__virt_read_state(virConnectPtr conn, const char *vm, struct kvmig__side *side)
{
    virDomainPtr domain = kvmig__virt_lookup(conn, vm);
    bool found;

    if (!domain) {
        read_failed("looking up the domain", side);
        return false;
    }
    found = read_domain(domain, side);
    virDomainFree(domain);
    if (!found)
        return false;
    if (side->reason == KVMIG__REASON_STARTING_UP) { /* the question for the job would wait for the end of the start */
        side->job_active = true;
        side->job_assumed = true;
        return false;
    }
    return side->state != KVMIG__STATE_SHUTOFF;
}

void kvmig__virt_read_side_job(virConnectPtr conn, const char *vm, struct kvmig__side *side)
{
    virDomainPtr domain = kvmig__virt_lookup(conn, vm);
    struct kvmig__virt_job job;

    side->job_active = false;
    side->job_assumed = false;
    if (!domain) {
        read_failed("looking up the domain", side);
        return;
    }
    kvmig__virt_read_job(domain, &job);
    virDomainFree(domain);
    if (!job.known) {
        side->job_active = true;
        side->job_assumed = true;
    } else if (job.active) {
        side->job_active = job.migrating_out || job.migrating_in;
    } else {
        /* It may have ended, and with it the state may have changed, between the two questions: the later answer counts. */
        kvmig__virt_read_state(conn, vm, side);
    }
}

void kvmig__virt_read_side(virConnectPtr conn, const char *vm, struct kvmig__side *out)
{
    *out = (struct kvmig__side){ .reachable = false };
    if (kvmig__virt_read_state(conn, vm, out))
        kvmig__virt_read_side_job(conn, vm, out);
}
