/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The driver's last step when the guest is proven to be on the source: everything that this session did is undone, and
 * nothing else. The order keeps the guest safe:
 *   1. the source is seen to hold the guest (I2), before
 *   2. the target's copy is destroyed and proven gone, which no late reply of libvirt can revive (I1), and only then
 *   3. the source is let run again if the migration left it paused, and its limits are set back;
 *   4. created volumes are deleted, last one first: nothing uses them any more;
 *   5. the source is read again, which is what the step's answer rests on: not proven to run as before is -KVMIG_EUNKNOWN,
 *      anything else that failed is a leftover.
 * A copy on the target is ours only if the migrate call was made, did not fail because of somebody else's domain there, and
 * the copy is paused as an incoming one is. What cannot be undone stays in the ledger with the reason, and the step goes
 * on with what is still safe. Each part has a share of the step's time of its own, so that a slow one does not take it from
 * the source.
 *
 * run and free functions run on lanes and see only their payload; the rest runs in dispatch.
 */
#include "libvirt/driver_internal.h"
#include "libvirt/side.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_AGAIN_MS 50

/* ---- 1: the source holds the guest, on its control lane ---- */

static bool holds_guest(const struct kvmig__side *side)
{
    return side->reachable && !side->job_active &&
           (side->state == KVMIG__STATE_RUNNING || side->state == KVMIG__STATE_PAUSED ||
            side->state == KVMIG__STATE_SUSPENDED_PM) &&
           side->reason != KVMIG__REASON_POSTCOPY && side->reason != KVMIG__REASON_POSTCOPY_FAILED;
}

static void hold_run(void *payload)
{
    struct kvmig__driver_job *job = payload;
    struct kvmig__side side = { .reachable = false };
    virConnectPtr conn = kvmig__link_open(job->link, &job->error);
    if (!conn)
        return;
    kvmig__virt_read_side(conn, job->plan->uuid, &side);
    if (!holds_guest(&side))
        job->error = kvmig__error_new(KVMIG_EUNKNOWN, job->link->host, side.error,
                                      "ask again where the guest is (kvmig_cluster_locate) before anything is removed",
                                      "the source is not seen to hold the guest any more (%s), so nothing is removed "
                                      "from the target",
                                      side.reachable ? kvmig__domain_state_name(side.state) : "no answer");
    kvmig__side_clear(&side);
}

/* ---- 2: the target's copy, on its control lane ---- */

struct remove_job {
    struct kvmig__driver_job job;
    char *definition; /* that was there before; NULL = none */
    uint64_t version; /* of the target's libvirt */
    int64_t deadline_ms;
    bool conflict; /* the call failed because of a domain of somebody else */
    bool comes_up_paused; /* a complete copy of ours is paused as by a user */
    bool got_far; /* the call may have come to the definition */
    struct kvmig__side side; /* as read last */
    bool destroyed, undefined, restored;
    struct kvmig_error *definition_error; /* a leftover, no doubt about the copy */
};

static void remove_free(void *payload)
{
    struct remove_job *remove = payload;
    kvmig__driver_job_clear(&remove->job);
    kvmig__side_clear(&remove->side);
    kvmig__error_free(remove->definition_error);
    free(remove->definition);
    free(remove);
}

/* What a copy of ours looks like before it runs. */
static bool is_our_copy(const struct remove_job *remove)
{
    const struct kvmig__side *side = &remove->side;
    if (remove->conflict || side->state != KVMIG__STATE_PAUSED)
        return false;
    return side->reason == KVMIG__REASON_MIGRATION || side->reason == KVMIG__REASON_STARTING_UP ||
           (side->reason == KVMIG__REASON_USER && remove->comes_up_paused);
}

static struct kvmig_error *not_ours(const struct remove_job *remove)
{
    return kvmig__error_new(
        KVMIG_EREFUSED, remove->job.link->host, NULL,
        "ask again where the guest is (kvmig_cluster_locate), and find out whose it is",
        "the domain on the target is not seen to be a copy that this migration made (%s, %s), so it "
        "is not destroyed",
        kvmig__domain_state_name(remove->side.state), kvmig__domain_reason_name(remove->side.reason));
}

/* One look at the copy, and one try to destroy it if it is there; true = no more looks are needed. */
static bool remove_copy(struct remove_job *remove)
{
    struct kvmig__driver_job *job = &remove->job;
    struct kvmig__side *side = &remove->side;
    kvmig__error_free(job->error);
    job->error = NULL;
    virConnectPtr conn = kvmig__link_open(job->link, &job->error);
    if (!conn)
        return true;
    kvmig__side_clear(side);
    kvmig__virt_read_state(conn, job->plan->uuid, side);
    bool gone = side->reachable && (side->state == KVMIG__STATE_ABSENT || side->state == KVMIG__STATE_SHUTOFF);
    bool runs = side->state == KVMIG__STATE_RUNNING || side->reason == KVMIG__REASON_POSTCOPY;
    bool again = side->reachable && !gone && !runs && is_our_copy(remove);
    if (!side->reachable)
        job->error = kvmig__error_new(KVMIG_EUNREACHABLE, job->link->host, side->error, NULL,
                                      "the target cannot be asked for its copy of the VM");
    else if (!gone && runs)
        job->error = kvmig__error_new(KVMIG_EREFUSED, job->link->host, NULL,
                                      "ask again where the guest is (kvmig_cluster_locate)",
                                      "the copy on the target runs, so it is not destroyed");
    else if (!gone)
        job->error = again ? kvmig__driver_act(job, KVMIG_ACTION_DESTROY_TARGET) : not_ours(remove);
    remove->destroyed = remove->destroyed || (again && !job->error);
    return !again;
}

static struct kvmig_error *foreign_definition(const struct remove_job *remove)
{
    return kvmig__error_new(
        KVMIG_EREFUSED, remove->job.link->host, NULL, "find out who defined it; undefine it by hand if nobody needs it",
        "the definition of the VM on the target appeared or changed during the migration, but is not "
        "seen to come from it, so it is left alone");
}

/* A transient domain is unknown to libvirt once it is gone. */
static struct kvmig_error *undo_definition(struct remove_job *remove, virDomainPtr domain)
{
    struct kvmig__driver_job *job = &remove->job;
    struct kvmig_error *error = NULL;
    bool ours = !remove->conflict && kvmig__virt_persists(job->plan) && (remove->destroyed || remove->got_far);
    if (virDomainIsPersistent(domain) != 1 || kvmig__link_is_given_up(job->link, &error))
        return error;
    if (!remove->definition) {
        if (!ours)
            return foreign_definition(remove);
        if (virDomainUndefineFlags(domain, kvmig__virt_undefine_flags(remove->version)) < 0)
            return kvmig__link_error(job->link, "virDomainUndefineFlags", NULL);
        remove->undefined = true;
        return NULL;
    }
    char *now = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE);
    if (!now)
        return kvmig__link_error(job->link, "virDomainGetXMLDesc", NULL);
    if (strcmp(now, remove->definition) != 0 && !ours) {
        error = foreign_definition(remove);
    } else if (strcmp(now, remove->definition) != 0) {
        virDomainPtr defined = virDomainDefineXML(job->link->conn, remove->definition);
        if (defined)
            virDomainFree(defined);
        else
            error = kvmig__link_error(job->link, "virDomainDefineXML", NULL);
        remove->restored = defined != NULL;
    }
    free(now);
    return error;
}

static void remove_run(void *payload)
{
    struct remove_job *remove = payload;
    struct kvmig__driver_job *job = &remove->job;
    virDomainPtr domain = NULL;
    while (!remove_copy(remove)) { /* destroyed, it is said: gone is what a further look shows */
        if (kvmig__now_ms() >= remove->deadline_ms || job->link->given_up) {
            if (!job->error)
                job->error = kvmig__error_new(ETIMEDOUT, job->link->host, NULL, "destroy it by hand (virsh destroy)",
                                              "the copy on the target is still there after it was destroyed");
            return;
        }
        poll(NULL, 0, LOOK_AGAIN_MS);
    }
    if (job->error || !kvmig__link_find_domain(job->link, job->plan->uuid, &domain, &remove->definition_error) ||
        !domain)
        return;
    remove->definition_error = undo_definition(remove, domain);
    virDomainFree(domain);
}

/* ---- 3: the source as it was, on its control lane ---- */

struct restore_job {
    struct kvmig__driver_job job;
    bool resume; /* if the migration left it paused */
    bool limits;
    uint64_t downtime_ms, bandwidth_mib; /* KVMIG__UNKNOWN = leave */
    bool resumed;
    bool limits_kept; /* could not be set back */
};

/* States that a failed migration leaves behind. libvirt shows "unknown" after its daemon was restarted in between. */
#define PAUSED_API_ERROR 14 /* libvirt 9.2 and newer */
static bool left_paused(int state, int reason)
{
    return state == VIR_DOMAIN_PAUSED &&
           (reason == VIR_DOMAIN_PAUSED_MIGRATION || reason == VIR_DOMAIN_PAUSED_UNKNOWN || reason == PAUSED_API_ERROR);
}

static struct kvmig_error *resume_source(struct restore_job *restore, virDomainPtr domain)
{
    int state = 0;
    int reason = 0;
    if (virDomainGetState(domain, &state, &reason, 0) < 0)
        return kvmig__link_error(restore->job.link, "virDomainGetState", NULL);
    if (!restore->resume || !left_paused(state, reason))
        return NULL;
    struct kvmig_error *error = kvmig__driver_act(&restore->job, KVMIG_ACTION_RESUME_SOURCE);
    restore->resumed = !error;
    return error;
}

static void restore_run(void *payload)
{
    struct restore_job *restore = payload;
    virDomainPtr domain = kvmig__link_domain(restore->job.link, restore->job.plan->uuid, &restore->job.error);
    if (!domain)
        return;
    restore->job.error = resume_source(restore, domain);
    if (restore->limits && !restore->job.link->given_up) {
        if (restore->downtime_ms != KVMIG__UNKNOWN &&
            virDomainMigrateSetMaxDowntime(domain, restore->downtime_ms, 0) < 0)
            restore->limits_kept = true;
        if (restore->bandwidth_mib != KVMIG__UNKNOWN &&
            virDomainMigrateSetMaxSpeed(domain, (unsigned long)restore->bandwidth_mib, 0) < 0)
            restore->limits_kept = true;
    }
    virDomainFree(domain);
}

/* ---- 5: the source again, on its control lane ---- */

struct final_job {
    struct kvmig__driver_job job;
    struct kvmig__side side;
};

static void final_free(void *payload)
{
    struct final_job *final = payload;
    kvmig__driver_job_clear(&final->job);
    kvmig__side_clear(&final->side);
    free(final);
}

static void final_run(void *payload)
{
    struct final_job *final = payload;
    virConnectPtr conn = kvmig__link_open(final->job.link, &final->job.error);
    if (conn)
        kvmig__virt_read_side(conn, final->job.plan->uuid, &final->side);
}

/* ---- 4: a volume, on the target's control lane ---- */

struct delete_job {
    struct kvmig__driver_job job;
    char *pool, *name;
};

static void delete_free(void *payload)
{
    struct delete_job *delete = payload;
    kvmig__driver_job_clear(&delete->job);
    free(delete->pool);
    free(delete->name);
    free(delete);
}

/* NULL without an error: the pool has no such volume, also after it was read again. */
static virStorageVolPtr find_volume(struct delete_job *delete, virStoragePoolPtr pool)
{
    for (int again = 0; again < 2; again++) {
        virStorageVolPtr volume = virStorageVolLookupByName(pool, delete->name);
        if (volume)
            return volume;
        virErrorPtr last = virGetLastError();
        if (!last || last->code != VIR_ERR_NO_STORAGE_VOL) {
            delete->job.error = kvmig__link_error(delete->job.link, "virStorageVolLookupByName", NULL);
            return NULL;
        }
        if (again == 0)
            delete->job.error = kvmig__link_refresh_pool(delete->job.link, pool);
        if (delete->job.error)
            return NULL;
    }
    return NULL;
}

static void delete_run(void *payload)
{
    struct delete_job *delete = payload;
    virConnectPtr conn = kvmig__link_open(delete->job.link, &delete->job.error);
    if (!conn)
        return;
    virStoragePoolPtr pool = virStoragePoolLookupByName(conn, delete->pool);
    if (!pool) {
        delete->job.error = kvmig__link_error(delete->job.link, "virStoragePoolLookupByName", NULL);
        return;
    }
    virStorageVolPtr volume = find_volume(delete, pool);
    if (volume && !kvmig__link_is_given_up(delete->job.link, &delete->job.error) && virStorageVolDelete(volume, 0) < 0)
        delete->job.error = kvmig__link_error(delete->job.link, "virStorageVolDelete", NULL);
    if (volume)
        virStorageVolFree(volume);
    virStoragePoolFree(pool);
}

/* ---- in dispatch ---- */

#define SHARES 8

/* Milliseconds until that many eighths of the step's time are over; an eighth at least, because a job that changes something
 * and is given up at once leaves nobody the wiser. The last eighth belongs to the last look. */
static int64_t share(const struct kvmig__virt_driver *d, int64_t shares)
{
    int64_t least_ms = d->limits.step_ms / SHARES + 1;
    int64_t left_ms = d->deadline_ms - least_ms * (SHARES - shares) - kvmig__now_ms();
    return left_ms > least_ms ? left_ms : least_ms;
}

static bool is_time_over(const struct kvmig__virt_driver *d)
{
    return kvmig__now_ms() >= d->deadline_ms - d->limits.step_ms / SHARES;
}

/* Whether the guest is where it was and as it was; what a migration left paused is not. A pause that is nobody's doing here
 * (a person's, an I/O error's, a panic's) is for the session to tell. */
static bool is_as_before(const struct kvmig__virt_driver *d, const struct kvmig__side *side)
{
    if (!holds_guest(side))
        return false;
    return d->guest_paused || side->state != KVMIG__STATE_PAUSED || side->reason == KVMIG__REASON_USER ||
           side->reason == KVMIG__REASON_IOERROR || side->reason == KVMIG__REASON_CRASHED;
}

static struct kvmig_error *not_as_before(const struct kvmig__virt_driver *d, const struct kvmig__side *side)
{
    return kvmig__error_new(KVMIG_EUNKNOWN, d->plan->source, side->error ? side->error : kvmig_error_message(d->error),
                            "ask again where the guest is (kvmig_cluster_locate); it tells what is safe then",
                            "the VM is not proven to run on the source as before: %s, %s%s",
                            side->reachable ? kvmig__domain_state_name(side->state) : "the host does not answer",
                            kvmig__domain_reason_name(side->reason), side->job_active ? ", busy with a job" : "");
}

static void final_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    const struct final_job *final = payload;
    struct kvmig_error *error = kvmig__driver_job_error(&d->source, payload, status, "look at the source again");
    kvmig__side_clear(&d->source_side);
    if (final)
        kvmig__side_copy(&d->source_side, &final->side);
    if (error)
        kvmig__str_set(&d->source_side.error, kvmig_error_message(error));
    kvmig__error_free(error);
    if (!is_as_before(d, &d->source_side)) { /* weighs more than any leftover, which becomes its evidence */
        error = not_as_before(d, &d->source_side);
        kvmig__error_free(d->error);
        d->error = error;
    }
    kvmig__session_final_side(d->session, &d->source_side, &d->target_again);
    kvmig__driver_step_end(d);
}

static const struct kvmig__job_type final_type = { "look at the source again", final_run, final_done, final_free };

/* Without a call nothing of ours can have moved or stopped the guest. */
static void look_again(struct kvmig__virt_driver *d)
{
    if (!d->call_begun) {
        kvmig__driver_step_end_soon(d); /* this may still be inside begin() */
        return;
    }
    kvmig__lane_submit(d->source.lane, &final_type, d, kvmig__driver_job_new(d, &d->source, sizeof(struct final_job)),
                       share(d, SHARES));
}

static void delete_next(struct kvmig__virt_driver *d);

static void volume_failed(struct kvmig__virt_driver *d, const struct kvmig__virt_volume *volume,
                          const struct kvmig_error *error)
{
    char *text = kvmig__virt_failed_text(error);
    kvmig__virt_ledger_set(d, volume->report_index, text);
    free(text);
}

static void delete_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    const struct kvmig__virt_volume *volume = &d->volumes.v[d->next_volume];
    struct kvmig_error *error = kvmig__driver_job_error(&d->target, payload, status, "delete a created volume");
    if (error) {
        volume_failed(d, volume, error);
        kvmig__driver_step_fail(d, error);
    } else {
        kvmig__virt_ledger_set(d, volume->report_index, "undone");
    }
    delete_next(d);
}

static const struct kvmig__job_type delete_type = { "delete a volume", delete_run, delete_done, delete_free };

static struct kvmig_error *unknown_creation(const struct kvmig__virt_driver *d, const struct kvmig__virt_volume *volume)
{
    return kvmig__error_new(KVMIG_EUNREACHABLE, d->plan->target, NULL, "look for it by hand once the host answers",
                            "it is not known whether volume %s was created in pool %s on host %s, so it is not deleted",
                            volume->name, volume->pool, d->plan->target);
}

static struct kvmig_error *too_late(const struct kvmig__virt_driver *d, const struct kvmig__virt_volume *volume)
{
    return kvmig__error_new(ETIMEDOUT, d->plan->target, NULL, "delete it by hand",
                            "no time was left to delete volume %s in pool %s on host %s", volume->name, volume->pool,
                            d->plan->target);
}

static void delete_next(struct kvmig__virt_driver *d)
{
    while (d->next_volume > 0) {
        const struct kvmig__virt_volume *volume = &d->volumes.v[--d->next_volume];
        int32_t stage = volume->record->stage;
        if (!volume->in_ledger)
            continue;
        if (stage == KVMIG__NOT_CREATED) {
            kvmig__virt_ledger_set(d, volume->report_index, "undone");
        } else if (stage == KVMIG__CREATING) {
            struct kvmig_error *error = unknown_creation(d, volume);
            volume_failed(d, volume, error);
            kvmig__driver_step_fail(d, error);
        } else if (is_time_over(d)) {
            struct kvmig_error *error = too_late(d, volume);
            volume_failed(d, volume, error);
            kvmig__driver_step_fail(d, error);
        } else {
            struct delete_job *delete = kvmig__driver_job_new(d, &d->target, sizeof(*delete));
            delete->pool = kvmig__strdup(volume->pool);
            delete->name = kvmig__strdup(volume->name);
            kvmig__lane_submit(d->target.lane, &delete_type, d, delete, share(d, 7));
            return;
        }
    }
    look_again(d);
}

/* The target's copy is not proven gone: it may use the volumes, so they stay. */
static void leave_volumes(struct kvmig__virt_driver *d, const struct kvmig_error *error)
{
    for (size_t i = 0; i < d->volumes.n; i++) {
        if (d->volumes.v[i].in_ledger)
            volume_failed(d, &d->volumes.v[i], error);
    }
    d->next_volume = 0;
}

static void restore_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    const struct restore_job *restore = payload;
    struct kvmig_error *error = kvmig__driver_job_error(&d->source, payload, status, "let the source go on");
    if (restore && restore->resumed)
        kvmig__virt_remark(d, "SOURCE_RESUMED", KVMIG_SEVERITY_INFO, d->plan->source, NULL,
                           "the migration had left the VM paused on host %s; it was resumed", d->plan->source);
    if (restore && restore->limits_kept)
        kvmig__virt_remark(d, "LIMITS_NOT_RESTORED", KVMIG_SEVERITY_WARN, d->plan->source,
                           "set them again with virsh migrate-setmaxdowntime and migrate-setspeed",
                           "the VM's migration limits could not be set back");
    if (error)
        kvmig__driver_step_fail(d, error);
    delete_next(d);
}

static const struct kvmig__job_type restore_type = { "restore the source", restore_run, restore_done,
                                                     kvmig__driver_job_free };

static void restore_source(struct kvmig__virt_driver *d, bool resume)
{
    struct restore_job *restore = kvmig__driver_job_new(d, &d->source, sizeof(*restore));
    restore->resume = resume && !d->guest_paused;
    restore->limits = d->limits_changed;
    restore->downtime_ms = d->old_downtime_ms;
    restore->bandwidth_mib = d->old_bandwidth_mib;
    kvmig__lane_submit(d->source.lane, &restore_type, d, restore, share(d, 7));
}

static void definition_failed(struct kvmig__virt_driver *d, struct remove_job *remove)
{
    char *text = kvmig__virt_failed_text(remove->definition_error);
    kvmig__virt_ledger_add(d, "definition", d->plan->vm, d->plan->target, text);
    free(text);
    kvmig__driver_step_fail(d, remove->definition_error);
    remove->definition_error = NULL;
}

static void remove_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct remove_job *remove = payload;
    struct kvmig_error *error = kvmig__driver_job_error(&d->target, payload, status, "remove the copy on the target");
    kvmig__side_clear(&d->target_again);
    if (remove)
        kvmig__side_copy(&d->target_again, &remove->side);
    if (error && !d->target_again.reachable)
        kvmig__str_set(&d->target_again.error, kvmig_error_message(error));
    if (remove && remove->definition_error)
        definition_failed(d, remove);
    if (remove && remove->destroyed && !error)
        kvmig__virt_ledger_add(d, "domain", d->plan->uuid, d->plan->target, "undone");
    if (remove && (remove->undefined || remove->restored))
        kvmig__virt_ledger_add(d, "definition", d->plan->vm, d->plan->target, "undone");
    if (!error) {
        restore_source(d, true);
        return;
    }
    char *text = kvmig__virt_failed_text(error);
    kvmig__virt_ledger_add(d, "domain", d->plan->uuid, d->plan->target, text);
    free(text);
    leave_volumes(d, error);
    kvmig__driver_step_fail(d, error);
    restore_source(d, false);
}

static const struct kvmig__job_type remove_type = { "remove the target's copy", remove_run, remove_done, remove_free };

static void hold_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct kvmig_error *error = kvmig__driver_job_error(&d->source, payload, status, "look at the source");
    if (error) {
        leave_volumes(d, error);
        kvmig__driver_step_fail(d, error);
        look_again(d);
        return;
    }
    struct remove_job *remove = kvmig__driver_job_new(d, &d->target, sizeof(*remove));
    remove->definition = kvmig__strdup(d->target_definition);
    remove->version = d->versions.target;
    remove->conflict = d->target_conflict;
    remove->comes_up_paused = d->guest_paused || d->watch.user_paused || (d->call_flags & VIR_MIGRATE_PAUSED);
    remove->got_far = d->watch.iteration > 0;
    remove->deadline_ms = kvmig__now_ms() + share(d, 5);
    kvmig__lane_submit(d->target.lane, &remove_type, d, remove, share(d, 6));
}

static const struct kvmig__job_type hold_type = { "look at the source", hold_run, hold_done, kvmig__driver_job_free };

/* As long as a call that was given up may be carried out yet, nothing that it could use is removed. */
static void leave_all(struct kvmig__virt_driver *d)
{
    struct kvmig_error *error =
        kvmig__error_new(KVMIG_EUNKNOWN, d->plan->source, NULL,
                         "ask again where the guest is (kvmig_cluster_locate) before anything is removed",
                         "the migrate call was given up and has not come back, so nothing is undone");
    leave_volumes(d, error);
    kvmig__driver_step_fail(d, error);
    kvmig__driver_step_end_soon(d);
}

void kvmig__virt_undo_begin(struct kvmig__virt_driver *d)
{
    d->next_volume = d->volumes.n;
    if (kvmig__virt_call_is_out(d))
        leave_all(d);
    else if (d->call_begun)
        kvmig__lane_submit(d->source.lane, &hold_type, d,
                           kvmig__driver_job_new(d, &d->source, sizeof(struct kvmig__driver_job)), share(d, 3));
    else if (d->limits_changed)
        restore_source(d, false);
    else
        delete_next(d);
}
