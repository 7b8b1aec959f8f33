/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of the libvirt session driver, for driver*.c only. A driver runs one step at a time; a step is a chain of jobs
 * on three lanes:
 *   migrate  the blocking call, on a connection of its own (managed: two)
 *   source   control of the source: state, statistics, abort, tuning
 *   target   control of the target: state, volumes, definition
 * Everything here runs in dispatch with the context lock held, except run and free functions of jobs, which see only their
 * payload.
 */
#ifndef KVMIG_SRC_LIBVIRT_DRIVER_INTERNAL_H
#define KVMIG_SRC_LIBVIRT_DRIVER_INTERNAL_H

#include "libvirt/job.h"
#include "libvirt/libvirt_internal.h"
#include "libvirt/link.h"
#include "plan/features.h"
#include "session/driver.h"

#include <stdatomic.h>

/* A control call that takes longer is given up, within the limits of its step. */
#define KVMIG__CONTROL_MS 10000

/* ---- jobs (driver.c) ---- */
/* Every payload begins with this. */
struct kvmig__driver_job {
    struct kvmig__link *link; /* of the lane that the job runs on */
    struct kvmig_plan *plan; /* a reference */
    struct kvmig_error *error; /* the result; NULL = success */
};
/* A payload of that size, zeroed but for the header; end is the lane that it will be submitted to. */
struct kvmig__virt_driver;
void *kvmig__driver_job_new(struct kvmig__virt_driver *d, struct kvmig__end *end, size_t size);
void kvmig__driver_job_clear(struct kvmig__driver_job *job);
void kvmig__driver_job_free(void *payload); /* for payloads that own nothing but the header */
/* The error of a job's done(): taken from the payload, or made from status. NULL = success. */
struct kvmig_error *kvmig__driver_job_outcome(const struct kvmig__end *end, struct kvmig__driver_job *job,
                                              int32_t status, const char *what);
/* The same for a job of the step that runs; replaces the lane if it hangs. */
struct kvmig_error *kvmig__driver_job_error(struct kvmig__end *end, struct kvmig__driver_job *job, int32_t status,
                                            const char *what);

/* ---- volumes that we create ----
 * How far a creation got; shared between the ledger and the job, which may come back long after it was given up. */
enum kvmig__creation { KVMIG__NOT_BEGUN, KVMIG__CREATING, KVMIG__CREATED, KVMIG__NOT_CREATED };
struct kvmig__creation_record {
    _Atomic uint32_t refs;
    _Atomic int32_t stage; /* enum kvmig__creation */
};
struct kvmig__creation_record *kvmig__creation_record_ref(struct kvmig__creation_record *record);
void kvmig__creation_record_unref(struct kvmig__creation_record *record);

struct kvmig__virt_volume {
    char *pool, *name, *path;
    struct kvmig__creation_record *record;
    bool in_ledger;
    size_t report_index; /* in report->created */
};

/* ---- the migrate call ----
 * Whether the call came back; shared with its job, which may do so long after it was given up. As long as it is out, libvirt
 * may still begin to carry it out. */
struct kvmig__call_record {
    _Atomic uint32_t refs;
    _Atomic bool returned;
};
struct kvmig__call_record *kvmig__call_record_ref(struct kvmig__call_record *record);
void kvmig__call_record_unref(struct kvmig__call_record *record);

struct kvmig__tuning_request {
    enum kvmig__tuning what;
    uint64_t value;
};

struct kvmig__virt_watch {
    bool preparing; /* MIGRATE has begun, the call is not made yet */
    bool running; /* the call is out */
    int64_t started_ms;
    int32_t mode; /* enum kvmig_mode */

    struct kvmig__timer poll_timer;
    bool polling; /* a poll is out */
    int64_t poll_sent_ms, answered_ms;
    int64_t told_ms; /* the last progress */
    bool silence_said;
    bool probing; /* the host has been silent for long: it is dialled afresh */
    uint32_t lost_polls; /* in a row: given up with their lane */
    uint64_t iteration; /* of the last sample */
    bool sampled;
    bool disks_settled; /* their last figures, from the memory phase, are known */
    bool user_paused; /* somebody paused the guest on the source while the call ran */
    struct kvmig__job_sample sample; /* the last one that had figures */
    struct kvmig_disk_progress *disks; /* per copied disk */
    size_t n_disks;
    bool postcopy_asked; /* by us, after the first round */
    bool postcopy_begun; /* libvirt accepted the switch */

    struct {
        struct kvmig__tuning_request *v;
        size_t n;
    } tunings; /* on the lane, in this order */

    bool aborting;
    bool abort_sent; /* an abort is out */
    bool abort_refused; /* post-copy: there is no way back */
    struct kvmig__timer abort_timer; /* next attempt */
    struct kvmig__timer guard_timer; /* the call took too long, or did not end after an abort */
};

/* ---- the driver ---- */
struct kvmig__virt_driver {
    struct kvmig__driver base;
    struct kvmig_context *context;
    struct kvmig_session *session;
    struct kvmig__driver_limits limits;
    char *source_uri, *target_uri; /* to dial from here */
    struct kvmig_plan *plan; /* a reference to the plan in force */

    struct kvmig__end source, target, migrate; /* made by the first step */
    int32_t step; /* enum kvmig__step; -1 = none */
    int64_t deadline_ms; /* of the step */
    uint32_t waiting; /* jobs of the step that are out at once */
    struct kvmig_error *error; /* the first error of the step */
    struct kvmig__timer answer_timer; /* answers that must not come from inside begin() */

    /* found by SCHEDULE */
    struct kvmig__virt_versions versions;
    uint32_t features; /* what remains of the request */
    bool guest_paused; /* by a user, before the migration */
    char *target_definition; /* a stopped definition that was there before; NULL = none */
    uint64_t old_downtime_ms, old_bandwidth_mib; /* limits of the domain before; KVMIG__UNKNOWN */

    /* PREPARE */
    uint64_t *capacities; /* per disk of the plan */
    size_t next_disk;
    struct {
        struct kvmig__virt_volume *v;
        size_t n;
    } volumes;
    size_t next_volume; /* UNDO: how many are still to be deleted */

    /* MIGRATE */
    struct kvmig__virt_watch watch;
    bool call_begun; /* a migrate call was made: the target may hold a copy of ours */
    bool call_ok; /* it returned success */
    unsigned int call_flags; /* virDomainMigrateFlags */
    bool target_conflict; /* it failed because the target has a domain of somebody else */
    struct kvmig__call_record *call_record; /* NULL = no call was made */
    int64_t call_until_ms; /* migrate_ms after the step began */
    bool limits_changed;

    /* FINISH */
    bool figures_known; /* the target told the figures of the finished job */
    int64_t resumed_ms; /* strict hand-over: when the target was resumed; 0 = not */

    /* LOCATE */
    struct kvmig__timer retry_timer;
    int64_t retry_ms;
    uint32_t reading; /* which one of the round: the target, the source, the target again */
    bool abort_wanted; /* while it locates: our job is to be aborted wherever a round finds it */
    struct kvmig__side source_side, target_side, target_again; /* as read last */
};

/* ---- driver.c ---- */
struct kvmig__report *kvmig__virt_report(struct kvmig__virt_driver *d);
/* Milliseconds that are left to the step, at least 1 and at most max_ms. */
int64_t kvmig__virt_time_left(const struct kvmig__virt_driver *d, int64_t max_ms);
/* Keeps the first error of a step; takes error. */
void kvmig__driver_step_fail(struct kvmig__virt_driver *d, struct kvmig_error *error);
/* Answers the session with the error kept, or success. The session may begin the next step or free the driver inside. */
void kvmig__driver_step_end(struct kvmig__virt_driver *d);
/* The same, from the next dispatch. */
void kvmig__driver_step_end_soon(struct kvmig__virt_driver *d);
void kvmig__virt_remark(struct kvmig__virt_driver *d, const char *code, int32_t severity, const char *host,
                        const char *hint, const char *fmt, ...) KVMIG__PRINTF(6, 7);
/* A line of the ledger with its outcome (NULL = open). Its index. */
size_t kvmig__virt_ledger_add(struct kvmig__virt_driver *d, const char *kind, const char *name, const char *host,
                              const char *outcome);
void kvmig__virt_ledger_set(struct kvmig__virt_driver *d, size_t index, const char *outcome);
/* "failed: " and the error's text. Owned. */
char *kvmig__virt_failed_text(const struct kvmig_error *error);
/* On a lane: does a kvmig_location_action on the VM, unless the job was given up. NULL = done; else owned. */
struct kvmig_error *kvmig__driver_act(struct kvmig__driver_job *job, int32_t action);

/* ---- the steps ---- */
void kvmig__virt_schedule_begin(struct kvmig__virt_driver *d); /* driver_schedule.c */
void kvmig__virt_prepare_begin(struct kvmig__virt_driver *d); /* driver_prepare.c */
void kvmig__virt_migrate_begin(struct kvmig__virt_driver *d); /* driver_migrate.c */
void kvmig__virt_locate_init(struct kvmig__virt_driver *d);
void kvmig__virt_locate_begin(struct kvmig__virt_driver *d); /* driver_locate.c */
void kvmig__virt_finish_begin(struct kvmig__virt_driver *d); /* driver_finish.c */
void kvmig__virt_undo_begin(struct kvmig__virt_driver *d); /* driver_undo.c */

/* ---- giving a step up, without an answer to the session ---- */
void kvmig__virt_prepare_abandon(struct kvmig__virt_driver *d); /* driver_prepare.c */
void kvmig__virt_migrate_abandon(struct kvmig__virt_driver *d); /* driver_migrate.c */

/* ---- around the call ---- */
/* driver_migrate.c: an abort got no answer in time, or the source none at all: gives the call, or what comes before it, up
 * and says so. why is a whole sentence without its end. */
void kvmig__virt_call_hung(struct kvmig__virt_driver *d, const char *why);
/* A call was made and has not come back; nothing that the hosts show proves that it will not be carried out yet. */
bool kvmig__virt_call_is_out(const struct kvmig__virt_driver *d);
/* driver_watch.c */
void kvmig__virt_watch_init(struct kvmig__virt_driver *d);
void kvmig__virt_watch_start(struct kvmig__virt_driver *d);
/* Something is about to change: polls at once. */
void kvmig__virt_watch_hurry(struct kvmig__virt_driver *d);
void kvmig__virt_watch_stop(struct kvmig__virt_driver *d);
void kvmig__virt_watch_clear(struct kvmig__virt_driver *d);
/* driver_control.c: abort and tuning */
void kvmig__virt_control_init(struct kvmig__virt_driver *d);
void kvmig__virt_control_start(struct kvmig__virt_driver *d);
void kvmig__virt_control_stop(struct kvmig__virt_driver *d);
/* The control lane of the source hangs while the call runs: replaced, and what was out on it is sent again. */
void kvmig__virt_control_lost(struct kvmig__virt_driver *d);
void kvmig__virt_abort(struct kvmig__virt_driver *d);
/* Aborts a job of ours that outlived its call. */
void kvmig__virt_abort_orphan(struct kvmig__virt_driver *d);
void kvmig__virt_tune(struct kvmig__virt_driver *d, enum kvmig__tuning what, uint64_t value);

#endif
