/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two (or more) hosts that exist only here, behind the interface of a backend, in a real context and a real cluster view; with
 * a driver that does what a test tells it. What a host says about the guest is in world->sides; the driver's LOCATE and the
 * hosts' read_side answer from it.
 */
#ifndef KVMIG_TESTS_FAKE_BACKEND_H
#define KVMIG_TESTS_FAKE_BACKEND_H

#include "cluster/cluster_internal.h"
#include "session/driver.h"
#include <kvmig/kvmig.h>

#define MAX_HOSTS 4
#define MAX_LOG 400

/* What a driver does with a step. */
enum fake_answer {
    FAKE_OK, /* success; after the callbacks that are queued, as everything here that answers by itself */
    FAKE_FAIL, /* an error */
    FAKE_NEVER, /* nothing; the test may answer by itself */
};
/* What comes of an abort. */
enum fake_abort { FAKE_ABORT_ENDS_CALL, FAKE_ABORT_REFUSED, FAKE_ABORT_LOSES, FAKE_ABORT_NEVER };

struct fake_world;
struct fake_driver;
struct fake_task;

struct fake_host {
    struct kvmig__host_backend base;
    struct fake_world *world;
    struct kvmig__cluster_host *host;
    const char *name;
    int index;
    struct fake_task *refreshing;
    bool down; /* refresh reports it as lost */
    bool silent; /* refresh never reports */
    bool with_vm; /* the facts have the guests */
    bool blocked; /* the facts make every plan to it blocked */
};

struct fake_world {
    struct kvmig_context *context;
    struct kvmig_cluster *cluster;
    struct fake_host hosts[MAX_HOSTS];
    int n_hosts, n_vms;
    _Atomic int n_closed; /* hosts */
    bool vm_paused; /* the facts say that the guests were paused by a user */

    /* what a driver does */
    enum fake_answer steps[KVMIG__N_STEPS];
    int32_t fail_code[KVMIG__N_STEPS]; /* 0 = -KVMIG_EVIRT */
    enum fake_abort abort;
    bool call_hung; /* MIGRATE answers as hung */
    bool creates_volume; /* PREPARE records one */
    bool admits; /* the driver has a step ADMIT */
    int64_t admit_by_ms; /* its deadline; 0 = the session's */
    int32_t cancel_effect; /* 0 = accepted */
    int n_withdrawn;
    bool plugs_late; /* interfaces are plugged in MIGRATE */
    struct kvmig__side sides[2]; /* what source and target say, until the call has returned */
    struct kvmig__side sides_after[2]; /* what they say from then on */
    bool call_returned;
    bool hosts_differ; /* from what the driver says: the hosts say sides_hosts */
    struct kvmig__side sides_hosts[2];
    bool looks_again; /* UNDO tells a last reading: sides_last */
    struct kvmig__side sides_last[2];
    bool tells_handover, source_seen_stopped; /* FINISH tells on what it resumed the target */
    struct fake_driver *driver; /* the newest one; NULL once freed */
    int n_drivers, n_drivers_freed, n_aborts, n_begun;
    char log[4096]; /* "schedule prepare migrate ..." */
    uint64_t tuned[3];

    /* what acting on a host does: actions in order, and their failure */
    int32_t acted[8];
    int n_acted;
    bool act_fails;
    int n_asked; /* how often a host was asked for its side */

    /* what a measurement tells: the windows that were asked for; 10 MiB/s, then 8 */
    struct kvmig__measure measured;
    bool measure_fails; /* somebody else measures */
};

/* n hosts "host-0" ..., n_vms guests "vm-0" ... that run on host-0; dispatches until the view is synced. */
void fake_world_open(struct fake_world *world, int n_hosts, int n_vms, const struct kvmig_cluster_opts *opts);
/* The same with flags of the context. */
void fake_world_open_on(struct fake_world *world, uint32_t flags, int n_hosts, int n_vms,
                        const struct kvmig_cluster_opts *opts);
/* One more host. silent: it is not read before fake_host_answers(). */
struct fake_host *fake_add_host(struct fake_world *world, bool silent);
void fake_host_answers(struct fake_host *fake);
void fake_world_close(struct fake_world *world); /* lets go of the cluster and the context */
struct kvmig_plan *fake_plan(struct fake_world *world, const char *vm, const char *target, uint64_t flags,
                             int32_t handover);

/* The answers that a test gives by itself; take the lock. */
void fake_answer_step(struct fake_world *world, enum kvmig__step step, struct kvmig_error *error);
void fake_answer_located(struct fake_world *world); /* from what the hosts say */
void fake_tell_last_look(struct fake_world *world); /* sides_last */
void fake_answer_call(struct fake_world *world, struct kvmig_error *error, bool hung);
void fake_progress(struct fake_world *world, const struct kvmig_progress *progress);
void fake_mode(struct fake_world *world, int32_t mode);
void fake_side(struct kvmig__side *side, int32_t state, int32_t reason, bool job);

/* Dispatches until fn(data) or until the deadline, then fails the test. */
void fake_run(struct fake_world *world, int32_t (*until)(void *data), void *data);
/* Dispatches while something is due. */
void fake_drain(struct fake_world *world);

/* ---- a caller that writes down what it hears ---- */
struct fake_caller {
    struct fake_world *world;
    struct kvmig_session *session; /* for cancel_at */
    /* "phase Pending", "queued 1 at node/host-0", "notice X", "cancel accepted", "progress", "end Succeeded" */
    char *log[MAX_LOG];
    size_t n;
    _Atomic int n_ends, n_frees;
    int n_late; /* events after the end or after free */
    int32_t end_phase;
    int32_t end_error; /* code, 0 = none */
    char *end_message;
    struct kvmig_progress progress; /* the last one, without disks */
    int32_t cancel_at; /* a phase: cancels in its callback; 0 = never */
    int32_t cancel_rc;
};
void fake_caller_init(struct fake_caller *caller, struct fake_world *world);
void fake_caller_clear(struct fake_caller *caller);
struct kvmig_event_callback fake_callback(struct fake_caller *caller);
bool fake_heard(const struct fake_caller *caller, const char *line);
int fake_count(const struct fake_caller *caller, const char *prefix);
char *fake_joined(const struct fake_caller *caller); /* all lines, joined by ", "; owned */
int32_t fake_ended(void *caller);

#endif
