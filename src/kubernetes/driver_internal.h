/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of the KubeVirt session driver, for driver*.c. Everything runs in dispatch with the context lock held.
 *
 * The driver is level-triggered: whatever happens (a change in the store, an answer, a timer, a new step) only asks
 * for a look, and a look, always on a clean stack, does what the present state asks for. A call to the session that
 * may begin the next step is the last thing that a look does.
 */
#ifndef KVMIG_SRC_KUBE_DRIVER_INTERNAL_H
#define KVMIG_SRC_KUBE_DRIVER_INTERNAL_H

#include "base/json_internal.h"
#include "kubernetes/backend.h"
#include "kubernetes/follow.h"
#include "session/driver.h"
#include "session/report.h"

#define KVMIG__MARK "kvmig/session" /* annotation and label key: the session that made it */
#define KVMIG__VOLUME_MIGRATION "kubevirt.io/volume-update-migration" /* label of the VMIMs of a volume migration */
#define KVMIG__NO_ITEM ((size_t)-1) /* not in the ledger */
/* A migration that was deleted between hand-off and Running goes on until its copy can be aborted, or the target
 * launcher gives up waiting (240 s and up to 119 s more, by its start). */
#define KVMIG__DEFERRED_MS 480000

struct kvmig__kube_driver;
typedef void (*kvmig__errand_fn)(struct kvmig__kube_driver *d, const struct kvmig__answer *answer);

/* One request at a time; while the server is in trouble it is repeated, with back-off, until its time is over. Nothing
 * is sent before the caller has heard the checkpoints that go before it. */
struct kvmig__errand {
    struct kvmig__kube_driver *driver;
    struct kvmig__request_http *request;
    struct kvmig__timer again;
    const char *method, *content_type; /* static */
    char *path, *body;
    kvmig__errand_fn done; /* NULL = idle */
    int64_t until_ms, delay_ms;
    bool once; /* not to be repeated: it may have had its effect */
    bool any_404; /* is an answer, whoever gives it */
    bool held; /* until the checkpoints are heard */
    uint32_t sent; /* how often */
};

enum kvmig__admit_state {
    KVMIG__ADMIT_START,
    KVMIG__ADMIT_ASKING, /* a request, or a wait between two, is under way */
    KVMIG__ADMIT_POSTING, /* the request that creates the migration is out, or its outcome is being looked for */
    KVMIG__ADMIT_FOLLOWING, /* it is there (volume migration: the VM is patched); until it has left Pending */
};

/* What is to be taken back, and how far that is. */
struct kvmig__take_back {
    bool wanted, by_caller;
    bool eviction_stopped; /* evacuate/cancel was answered */
    bool deleted; /* the server took the deletion of the VMIM, or has none */
    bool pod_deleted; /* ... of the target launcher pod named by pod_uid */
    bool refused; /* post-copy: told the session */
    bool failed; /* it cannot be done: the server refuses; error says why */
    bool late; /* the server said nothing definite so far, and is asked on; error says what it said */
    int64_t again_ms; /* nothing is sent before that; CLOCK_MONOTONIC */
    bool pod_told; /* that the pod stays */
    char *pod, *pod_uid;
    struct kvmig_error *error;
};

/* One volume of a volume migration; a token can make it again. */
struct kvmig__kube_move {
    char *volume, *from, *to; /* names of the volume and of the claims */
    char *before; /* the volume's object in the VM as it was, JSON */
    char *template_before; /* the entry of dataVolumeTemplates that named the old claim, JSON; NULL = none */
};
enum kvmig__volumes_state {
    KVMIG__VOLUMES_AS_BEFORE, /* the VM was not patched, or was patched back */
    KVMIG__VOLUMES_PATCHING, /* the patch may have had its effect */
    KVMIG__VOLUMES_MOVED, /* the VM names the destinations */
    KVMIG__VOLUMES_KEPT, /* recovered by keeping the destinations */
};
struct kvmig__kube_volumes_journal {
    struct {
        struct kvmig__kube_move *v;
        size_t n;
    } moves;
    int32_t state; /* enum kvmig__volumes_state */
    char *strategy_before; /* updateVolumesStrategy; NULL = it was absent */
    bool restart_before; /* the VM had RestartRequired */
    bool strategy_restored;
    bool recovering; /* the VM asked for manual recovery */
    uint32_t tries; /* patches that met another change of the VM */
    char *patch; /* the one that was dry-run, and is sent next */
    int64_t
        ready_ms; /* targetNodeDomainReadyTimestamp of the migration: from then on the destination is the good copy */
    struct kvmig__strlist seen; /* UIDs of VMIMs that were there before */
    size_t item; /* the first in the ledger */
};

struct kvmig__kube_temporary_policy {
    bool wanted; /* it may exist */
    bool labelled; /* the VMI may have our label */
    char *name, *uid;
    char *dead; /* mark of a session that left its label behind */
    bool told; /* whether it was applied */
    uint32_t tries; /* patches that met another change of the VMI */
    size_t policy_item, label_item;
    int32_t part; /* of its removal */
    bool put_off; /* its removal has to be tried again by a later step */
};

enum kvmig__end_part { /* of FINISH and UNDO, in this order; each has its share of the time */
                       KVMIG__PART_MIGRATION, /* the VMIM is final or gone; UNDO: and so is its target pod */
                       KVMIG__PART_ENDPOINTS, /* FINISH: the service has followed */
                       KVMIG__PART_VOLUMES,
                       KVMIG__PART_POLICY,
                       KVMIG__PART_LAST_LOOK, /* UNDO */
                       KVMIG__PART_DONE,
};

struct kvmig__kube_driver {
    struct kvmig__driver base; /* first: the session's handle is the driver */
    struct kvmig_context *context;
    struct kvmig__kube_backend *backend;
    struct kvmig_session *session;
    struct kvmig__driver_limits limits;
    const struct kvmig__session_wishes *wishes;
    struct kvmig_plan *plan; /* the one in force when the step began */
    struct kvmig__kube_watcher watcher;
    struct kvmig__timer look_timer, step_timer, waits_timer, poll_timer;

    int32_t step; /* enum kvmig__step; -1 = none */
    struct kvmig_error *step_error; /* the step is to fail with it at the next look */
    struct kvmig__errand act; /* of the step */
    int32_t admit; /* enum kvmig__admit_state */
    /* The POST of the migration: it outlives its step, for once it is sent it may have its effect. */
    struct kvmig__errand create;
    uint32_t lookups; /* questions for our VMIM, one after the other, that were answered with no */
    int64_t lookup_ms; /* when the last one was asked */
    int64_t lost_post_ms; /* when a POST was last given up without an answer to it; 0 = none was */
    bool maybe_posted; /* a VMIM of ours may exist that we know nothing of */
    struct kvmig_error *post_error; /* what the last POST came to */
    bool post_is_final; /* ... a refusal */
    int64_t admit_by_ms; /* until then it must be created */
    void (*lookup_done)(struct kvmig__kube_driver *d, const struct kvmig_error *error);
    int64_t prepare_by_ms; /* CLOCK_MONOTONIC; 0 = SCHEDULE has not begun */

    char *ns, *vmi, *vmi_uid;
    char *mark; /* names this session in the cluster; unique */
    struct kvmig__kube_hearing *hearing; /* of checkpoints that the caller has not heard yet; NULL = none */
    char *vmim, *vmim_uid; /* NULL = not known (yet) */
    bool attached; /* somebody else's */
    bool resumed;
    bool following; /* follow is about our VMI */
    struct kvmig__follow follow;
    size_t vmim_item; /* in the ledger */

    struct kvmig__errand back_errand;
    struct kvmig__take_back back;
    bool call_out; /* MIGRATE has not been answered */
    int64_t abort_by_ms, moved_by_ms, ended_seen_ms; /* CLOCK_MONOTONIC; 0 = not set */

    struct kvmig__kube_volumes_journal volumes;
    struct kvmig__kube_temporary_policy policy;

    /* locate */
    bool vmi_read; /* a fresh reading of the VMI since the migration's end was seen */
    bool vmi_absent; /* ... said that there is none */
    int64_t vmi_read_ms; /* when it was asked for last */
    uint32_t vmi_reads; /* of this step, that did not decide it */
    int64_t locate_began_ms, locate_by_ms;
    bool told_goes_on;

    /* finish, undo */
    int32_t part; /* enum kvmig__end_part */
    int64_t part_by_ms;
    struct kvmig_error *leftover; /* the first */
    char *ip_before, *ip_after;
    bool endpoints_late;

    /* what was told */
    char *told_target, *told_wait;
    int32_t told_mode;
    bool target_was_told;
    int64_t phase_ms[KVMIG__STAGE_FAILED + 1]; /* when the API says that each stage was entered */
    int64_t phase_seen_ms[KVMIG__STAGE_FAILED + 1]; /* when it was seen here, wall clock; 0 = not seen */
};

/* ---- driver.c ---- */
void kvmig__kube_look_soon(struct kvmig__kube_driver *d);
void kvmig__kube_step_ok(struct kvmig__kube_driver *d); /* answers; the caller returns at once */
void kvmig__kube_step_failed(struct kvmig__kube_driver *d, struct kvmig_error *error); /* likewise; takes error */
/* Fails the step at the next look: for answers of requests, which have more to do. Takes error; the first one
 * counts. */
void kvmig__kube_fail_soon(struct kvmig__kube_driver *d, struct kvmig_error *error);
const struct kvmig__kube *kvmig__kube_store(const struct kvmig__kube_driver *d);
struct kvmig__report *kvmig__kube_report(const struct kvmig__kube_driver *d);
const struct kvmig__kube_vmi *kvmig__kube_our_vmi(const struct kvmig__kube_driver *d); /* NULL: gone, or another one */
const struct kvmig__kube_vmim *kvmig__kube_our_vmim(const struct kvmig__kube_driver *d);
char *kvmig__kube_where(const struct kvmig__kube_driver *d); /* "migration/NS/NAME", or "vm/NS/NAME"; owned */
void kvmig__kube_remark(struct kvmig__kube_driver *d, const char *code, int32_t severity, const char *object,
                        const char *hint, const char *fmt, ...) KVMIG__PRINTF(6, 7);
/* Ledger; item KVMIG__NO_ITEM is ignored by set. */
size_t kvmig__kube_ledger_add(struct kvmig__kube_driver *d, const char *kind, const char *name);
void kvmig__kube_ledger_set(struct kvmig__kube_driver *d, size_t item, const char *outcome);
void kvmig__kube_ledger_failed(struct kvmig__kube_driver *d, size_t item, const struct kvmig_error *error);

/* ---- driver_request.c ---- */
void kvmig__errand_init(struct kvmig__errand *errand, struct kvmig__kube_driver *d);
/* path and body are taken; body may be NULL. The errand must be idle. */
void kvmig__errand_go(struct kvmig__errand *errand, const char *method, char *path, char *body,
                      const char *content_type, int64_t for_ms, kvmig__errand_fn done);
void kvmig__errand_go_once(struct kvmig__errand *errand, const char *method, char *path, char *body, int64_t for_ms,
                           kvmig__errand_fn done);
/* Waits, and calls done with NULL. */
void kvmig__errand_wait(struct kvmig__errand *errand, int64_t ms, kvmig__errand_fn done);
/* A moment without a request, before the next look tries again what got no definite answer. */
void kvmig__errand_pause(struct kvmig__errand *errand);
void kvmig__errand_stop(struct kvmig__errand *errand); /* no done any more */
void kvmig__errand_release(struct kvmig__errand *errand); /* sends what was held */
bool kvmig__errand_busy(const struct kvmig__errand *errand);
/* The server has said nothing definite: it may or may not have done it, or will if asked again. */
bool kvmig__answer_is_trouble(const struct kvmig__answer *answer);
/* The server's own words, or else why there are none. The answer is an error; borrowed from it. */
const char *kvmig__answer_text(const struct kvmig__answer *answer);
struct json_object *kvmig__answer_json(const struct kvmig__answer *answer); /* owned; NULL if it is none */
/* The object of that kind, with a uid, that a success brought; owned; NULL: it is something else. */
struct json_object *kvmig__answer_object(const struct kvmig__answer *answer, int32_t kind);
/* The server has understood the request and refuses it: asking again changes nothing. */
bool kvmig__answer_is_refusal(const struct kvmig__answer *answer);
/* The API server itself says that there is no such object: a Status that is about it. Any other 404 proves nothing. */
bool kvmig__answer_absent(const struct kvmig__answer *answer, int32_t kind, const char *name);
/* "/apis/kubevirt.io/v1/namespaces/NS/virtualmachineinstances/NAME"; name NULL = the collection; owned */
char *kvmig__kube_path(int32_t kind, const char *ns, const char *name);
/* One operation of a JSON patch; takes path and value (NULL = none). */
void kvmig__patch_add(struct json_object *patch, const char *op, char *path, struct json_object *value);
char *kvmig__delete_options(const char *uid); /* with a precondition, unless uid is NULL; owned */
struct json_object *kvmig__json_new(const char *key, const char *value); /* {key: value} */
struct json_object *kvmig__json_child(struct json_object *object, const char *key); /* a new object member; borrowed */
const char *kvmig__json_text(struct json_object *object, const char *key); /* NULL if it is no string; borrowed */
struct json_object *kvmig__json_at(struct json_object *object, const char *path); /* "spec.template"; NULL; borrowed */

/* ---- driver_errors.c ---- all owned */
/* Why the migration ended without having moved the guest. */
struct kvmig_error *kvmig__kube_ended_error(const struct kvmig__kube_driver *d);
/* Refused because the VM is being migrated already. */
bool kvmig__answer_is_in_flight(const struct kvmig__answer *answer);
/* doing: "start a migration of the VM"; verb, resource: for a right that is missing. */
struct kvmig_error *kvmig__kube_denied_error(const struct kvmig__kube_driver *d, const struct kvmig__answer *answer,
                                             const char *doing, const char *verb, const char *resource);
/* A limit of ours passed; names what is waited for first. */
struct kvmig_error *kvmig__kube_late_error(const struct kvmig__kube_driver *d, const char *limit, int64_t ms,
                                           const char *what);
struct kvmig_error *kvmig__kube_cancelled_error(const struct kvmig__kube_driver *d);
struct kvmig_error *kvmig__kube_source_moved_error(const struct kvmig__kube_driver *d);

/* ---- driver_admit.c ---- */
void kvmig__kube_admit_begin(struct kvmig__kube_driver *d);
void kvmig__kube_admit_look(struct kvmig__kube_driver *d); /* may answer */
void kvmig__kube_admit_due(struct kvmig__kube_driver *d); /* may answer */
void kvmig__kube_admit_create(struct kvmig__kube_driver *d); /* what goes before it is there */
/* Looks for the VMIM that is named after our mark. done gets NULL error if it was found (d->vmim is set), or does not
 * exist. */
void kvmig__kube_find_ours(struct kvmig__kube_driver *d,
                           void (*done)(struct kvmig__kube_driver *, const struct kvmig_error *));
void kvmig__kube_find_ours_later(struct kvmig__kube_driver *d); /* the same question again, in a while */
/* It was looked for long enough: no request of ours can bring it about any more. */
bool kvmig__kube_none_will_come(const struct kvmig__kube_driver *d);
void kvmig__kube_admit_leave(struct kvmig__kube_driver *d); /* another step begins */
void kvmig__kube_bind(struct kvmig__kube_driver *d, const char *name, const char *uid);
void kvmig__kube_following(
    struct kvmig__kube_driver *d); /* from now on ADMIT waits for the migration to leave Pending */

/* ---- driver_follow.c ---- */
void kvmig__kube_follow_start(struct kvmig__kube_driver *d); /* follow is about our VMI, and d->vmim if known */
void kvmig__kube_follow_look(struct kvmig__kube_driver *d); /* reads the store, tells what changed; answers nothing */
bool kvmig__kube_is_over(const struct kvmig__kube_driver *d); /* final, gone, or never there */
bool kvmig__kube_has_moved(const struct kvmig__kube_driver *d);
/* It is in that stage or beyond it, and has not failed. */
bool kvmig__kube_has_reached(const struct kvmig__kube_driver *d, int32_t stage);
bool kvmig__kube_has_ended_badly(struct kvmig__kube_driver *d);
/* Before the hand-off, somebody else has taken the guest to another node than the plan's source. */
bool kvmig__kube_source_moved(const struct kvmig__kube_driver *d);
/* Somebody else's migration, which goes on although this session does not wait for it any more. */
bool kvmig__kube_goes_on(const struct kvmig__kube_driver *d);
void kvmig__kube_stage_look(struct kvmig__kube_driver *d); /* SCHEDULE, PREPARE; may answer */
void kvmig__kube_stage_due(struct kvmig__kube_driver *d); /* may answer */
void kvmig__kube_migrate_begin(struct kvmig__kube_driver *d);
void kvmig__kube_migrate_look(struct kvmig__kube_driver *d); /* may answer */
void kvmig__kube_waits_due(void *data); /* of waits_timer */
void kvmig__kube_explain(struct kvmig__kube_driver *d, struct kvmig_explanation *explanation);

/* ---- driver_cancel.c ---- */
void kvmig__kube_abort(struct kvmig__kube_driver *d);
void kvmig__kube_withdraw(struct kvmig__kube_driver *d);
int32_t kvmig__kube_cancel_effect(const struct kvmig__kube_driver *d);
void kvmig__kube_take_back(struct kvmig__kube_driver *d); /* wanted from now on */
void kvmig__kube_take_back_look(struct kvmig__kube_driver *d); /* sends what is due; answers nothing */
bool kvmig__kube_is_ours_to_end(const struct kvmig__kube_driver *d);
/* The server has been asked for all that can be taken back, or that cannot be done (now). */
bool kvmig__kube_taken_back(const struct kvmig__kube_driver *d);
/* What could not be taken back, or cleaned up, is tried again: a step or an abort begins. */
void kvmig__kube_try_again(struct kvmig__kube_driver *d);
/* The VMI that was just read, which the store gets too; owned (kvmig__kube_object_free). NULL: there was none in it. */
struct kvmig__kube_vmi *kvmig__kube_fresh_vmi(struct kvmig__kube_driver *d, const struct kvmig__answer *answer);
/* Takes error. Only what the server definitely refuses is given up. answer NULL = definite, not the server's word. */
void kvmig__kube_back_trouble(struct kvmig__kube_driver *d, const struct kvmig__answer *answer,
                              struct kvmig_error *error);

/* ---- driver_end.c ---- */
void kvmig__kube_locate_begin(struct kvmig__kube_driver *d);
void kvmig__kube_locate_look(struct kvmig__kube_driver *d); /* may answer */
void kvmig__kube_locate_cancelled(struct kvmig__kube_driver *d); /* the caller cancels meanwhile */
void kvmig__kube_end_begin(struct kvmig__kube_driver *d); /* FINISH, UNDO */
void kvmig__kube_end_look(struct kvmig__kube_driver *d); /* may answer */
void kvmig__kube_sides(struct kvmig__kube_driver *d, struct kvmig__side *source, struct kvmig__side *target);
void kvmig__kube_leftover(struct kvmig__kube_driver *d, struct kvmig_error *error); /* taken; the first one counts */

/* ---- driver_policy.c ---- */
void kvmig__kube_policy_make(struct kvmig__kube_driver *d); /* then the request goes on, or the step fails */
bool kvmig__kube_policy_remove(struct kvmig__kube_driver *d); /* true = there is nothing (more) to remove */
void kvmig__kube_policy_look(struct kvmig__kube_driver *d); /* whether it was applied */

/* ---- driver_volumes.c ---- */
bool kvmig__kube_moves_volumes(const struct kvmig__kube_driver *d);
void kvmig__kube_volumes_admit(struct kvmig__kube_driver *d);
void kvmig__kube_volumes_change(struct kvmig__kube_driver *d); /* sends the patch; what goes before it is there */
/* ADMIT, while following: binds the VMIM that KubeVirt made; an owned error if the VM refuses the change. */
struct kvmig_error *kvmig__kube_volumes_look(struct kvmig__kube_driver *d);
void kvmig__kube_volumes_revert(struct kvmig__kube_driver *d); /* on back_errand */
/* The VM is as before, and KubeVirt has noticed: no migration of it comes any more. */
bool kvmig__kube_volumes_settled(const struct kvmig__kube_driver *d);
/* A VM that waits for a person: true while its recovery is under way. */
bool kvmig__kube_volumes_recover(struct kvmig__kube_driver *d);
bool kvmig__kube_volumes_restore_strategy(struct kvmig__kube_driver *d); /* true = nothing (more) to do */
void kvmig__kube_volumes_ledger(struct kvmig__kube_driver *d);
void kvmig__kube_volumes_clear(struct kvmig__kube_volumes_journal *journal);

/* ---- driver_patch.c: the patches of a VM's volumes; pure ---- */
/* What changes points volumes at other claims; journal gets how it was. dv tells for each claim whether a
 * DataVolume of that name is there: 1, 0, or -1 = not known. An owned patch; NULL with *out_error set (owned) if
 * the VM has no such volume, or it cannot be moved. */
struct json_object *kvmig__volumes_patch(struct json_object *vm, const struct kvmig__volume_change *changes, size_t n,
                                         const int32_t *dv, struct kvmig__kube_volumes_journal *journal,
                                         struct kvmig_error **out_error);
/* Back again. NULL without an error: the VM is as it was. */
struct json_object *kvmig__volumes_reverse_patch(struct json_object *vm,
                                                 const struct kvmig__kube_volumes_journal *journal,
                                                 struct kvmig_error **out_error);
bool kvmig__volumes_are_at(struct json_object *vm, const struct kvmig__kube_volumes_journal *journal, bool destination);
/* updateVolumesStrategy becomes strategy (NULL = absent). NULL: it is so. */
struct json_object *kvmig__volumes_strategy_patch(struct json_object *vm, const char *strategy);

/* ---- driver_token.c ---- */
/* Requests that begin after it are sent when the caller has heard it. */
void kvmig__kube_checkpoint(struct kvmig__kube_driver *d);
void kvmig__kube_hear_no_more(struct kvmig__kube_driver *d); /* the driver goes */
/* Takes up what the token tells; an owned error if it is about another VM. */
struct kvmig_error *kvmig__kube_token_read(struct kvmig__kube_driver *d, struct json_object *token);

/* ---- driver_report.c ---- */
void kvmig__kube_write_report(struct kvmig__kube_driver *d, struct json_object *report);

#endif
