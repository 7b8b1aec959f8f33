/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A KubeVirt session driver between a session and a cluster that exist only in the test: time, timers, the backend,
 * its client, the API server and KubeVirt's part are played here, so nothing waits and every run is the same. The
 * store, the follower, the explanation and the JSON are the library's.
 */
#ifndef KVMIG_TEST_KUBE_DRIVER_H
#define KVMIG_TEST_KUBE_DRIVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/json_internal.h"
#include "kubernetes/backend.h"
#include "kubernetes/objects.h"
#include "session/driver.h"
#include "session/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS 60000
#define PENDING_MS 600000
#define PREPARE_MS 600000
#define SEEN 256

/* What the driver told its session. */
struct kvmig_session {
    struct kvmig_plan plan;
    struct kvmig__report *report;
    struct kvmig__session_wishes wishes;
    bool cancelling;
    int32_t answers; /* of steps, the call, locate */
    int32_t step; /* of the last one */
    bool hung;
    struct kvmig_error *error; /* of the last answer */
    int32_t refusals;
    struct kvmig__resolution resolution;
    int32_t final_source, final_target; /* states; -1 = unreachable; -2 = not told */
    int32_t mode;
    char targets[SEEN]; /* "node-b,-,node-c," as they were told */
    char *token, *first_token; /* the last checkpoint, and the first */
    int32_t checkpoints;
    bool deaf; /* the caller does not return from its callback, so nothing is delivered */
    struct kvmig_findings notices, waits;
};

/* The cluster. Change it, then show() it. */
struct world {
    struct kvmig__kube store;
    int64_t now_ms;
    const struct kvmig_error *lost;
    /* the VMI */
    bool vmi_there;
    const char *node, *ip, *vmi_phase, *evacuation_node;
    char vmi_label[64], vmi_label_until[32]; /* kvmig/session; kvmig/session-until */
    const char *labelled_meanwhile; /* another session's label, put on just before the next patch of the VMI */
    bool volumes_change, migrated_volumes;
    /* its VMIM; uid "" = there was none */
    bool vmim_there, vmim_deleting, controller_owned, volume_migration;
    bool no_volume_label; /* a workload update, as an older KubeVirt marks its volume migrations too */
    char vmim_name[64], vmim_uid[64];
    char *vmim_mark; /* the session that it says it is of */
    const char *phase;
    bool foreign_vmim; /* another VMIM of the VM, not final */
    /* migrationState */
    bool handed_off, started, ready, completed, failed, abort_requested;
    const char *mode, *failure_reason, *policy_used;
    /* the target pod */
    const char *pod, *pod_node, *pod_phase;
    bool slices, slices_moved;
    /* the VM, as JSON; conditions of it */
    struct json_object *vm;
    bool restart_required, manual_recovery;
    /* the policy that the driver makes, and one that was there before */
    struct json_object *policy, *other_policy;
    /* the server */
    struct kvmig__request_http *open; /* requests that were not answered yet */
    bool silent; /* answers nothing */
    bool slow_post; /* answers no POST but dry runs, nor what comes behind it */
    bool recorded; /* the store is all that there is: the server answers from it */
    bool late_post; /* the first POST comes through just before the next one */
    struct {
        const char *method, *part; /* of the path */
        bool at_end; /* part is its end */
        int32_t status; /* 0 = the connection is lost */
        const char *message; /* NULL: it is not the API server that answers */
        bool applied; /* ... after it had its effect */
        int32_t times;
    } fault;
    char log[8192]; /* "METHOD path\n" of every request */
    char *last_body,
        *first_patch; /* of the last request that had one; of the first PATCH of the VM that was no dry run */
    int32_t patches; /* of the VM, no dry runs */
};
extern struct world world;
extern struct kvmig_session session;
extern struct kvmig__driver *driver;

int set_up(void **state);
int tear_down(void **state);
void make_driver(void);
void drop_driver(void);
void set_vm(const char *json); /* the VM, and shows it */
void show(void); /* the store is as the world is; watchers are told */
void run(int64_t ms); /* time passes: requests are answered, timers fire */
void begin(enum kvmig__step step); /* and lets it run for a moment */
void die_and_resume(void); /* the process dies: another driver, another session, the same cluster; ADMIT runs */
bool asked(const char *method, const char *part); /* there was such a request */
int32_t count(const char *method, const char *part);
void expect_ok(enum kvmig__step step); /* it was answered, well */
void expect_error(enum kvmig__step step, int32_t code, const char *words); /* words stand in its message */
bool has_notice(const char *code);
const char *
item(const char *kind); /* what became of a thing in the ledger: "undone", "" = not decided, NULL = no such thing */

/* The migration as KubeVirt drives it. */
void kubevirt_creates(const char *name, const char *uid); /* a VMIM of its own (volume migration, eviction) */
void phase(const char *phase);
void target_pod(const char *name, const char *node, const char *pod_phase);
void hand_off(void);
void start_copy(void);
void guest_moves(void);
void migration_fails(const char *reason);
void migration_vanishes(void);
void go_on_to_running(void); /* from ADMIT, which was begun */
void go_to_running(void); /* ADMIT, SCHEDULE, PREPARE are answered; MIGRATE runs, and the copy too */

#endif
