/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file diagnose.h
 * What is going on with a migration, or what became of it, from what a view knows: objects, hosts, and above all what
 * people have at hand (logs, messages, statistics, events, rows, observations; see docs/files.md). One verdict, findings with
 * evidence, and what to do.
 */
#ifndef KVMIG_DIAGNOSE_H
#define KVMIG_DIAGNOSE_H

#include <kvmig/cluster.h>
#include <kvmig/finding.h>
#include <kvmig/plan.h>
#include <kvmig/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is asked for beside "what is going on". Append-only. Since: 0.1.0 */
enum kvmig_intent {
    KVMIG_INTENT_LOOK = 0, /**< nothing is to be done: what happened, and what should be done */
    KVMIG_INTENT_CANCEL = 1, /**< what would a cancel lead to, and what would it take */
    KVMIG_INTENT_ROLLBACK =
        2, /**< what would it take to have VM, volumes and network back on the source; may have to be refused */
    KVMIG_INTENT_DRAIN = 3, /**< how the drain of a node stands */
};

/** What is asked, and what the asker knows beside the view; zero = nothing. Append-only. Since: 0.1.0 */
struct kvmig_diagnose_opts {
    size_t size; /**< set by KVMIG_DIAGNOSE_OPTS_INIT */
    const struct kvmig_plan_opts
        *plan; /**< the migration that it is about: vm, source, target, limits, time of the question
                                          (now_ms), what the caller permits; NULL = what the view shows */
    const char *migration; /**< KubeVirt: name of the migration object; NULL = the one under way, or the last one */
    const char *node; /**< KVMIG_INTENT_DRAIN: the node */
    int32_t intent; /**< enum kvmig_intent */
    int32_t migrate_rc; /**< what the migrate call returned: 1 = success, -1 = failure, 0 = not known */
    const char
        *source_state; /**< of the domain, as `virsh domstate --reason` prints it ("paused (migrating)"); "absent" = the
                                 host has no such domain; "unreachable"; NULL = not known */
    const char *target_state; /**< likewise */
    const char *
        job; /**< type of the job on the source as `virsh domjobinfo` prints it ("None", "Unbounded"); NULL = not known */
    int32_t postcopy_started; /**< 1 = post-copy was begun, -1 = it was not, 0 = not known */
    uint32_t reserved; /**< must be 0 */
    double events_now_s; /**< the time of the question on the clock of events; 0 = not known */
    uint64_t progress_timeout_s; /**< the platform's limit of time without progress; 0 = not known */
};

/** "look", "cancel", "rollback", "drain"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_intent_name(int32_t intent);

/** Begins a struct kvmig_diagnose_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_DIAGNOSE_OPTS_INIT KVMIG_OPTS_INIT(kvmig_diagnose_opts)
/** As kvmig_plan_opts_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_diagnose_opts_init(struct kvmig_diagnose_opts *opts, size_t size);

/** A diagnosis: opaque, immutable, counted. Since: 0.1.0 */
struct kvmig_diagnosis;

/**
 * Looks at all that the view knows, without I/O. A cause is named only with evidence; else the verdict is the most specific state
 * or outcome that is proven, and "UNDECIDED" where a safe decision is not possible. *out_diagnosis is owned:
 * kvmig_diagnosis_unref(). Threads: any. Errors: -EINVAL (names the option), -E2BIG, -KVMIG_ENOTSYNCED, -KVMIG_ENOVM,
 * -KVMIG_EAMBIGUOUS. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_diagnose(struct kvmig_cluster *cluster, const struct kvmig_diagnose_opts *opts,
                                         struct kvmig_diagnosis **out_diagnosis);
/**
 * The same of a session, with what it knows itself: its error, and its last proof of where the guest is; also after its end. What the
 * view knows counts while the session goes on and the view is in step (kvmig_cluster_is_synced()); else the session's own knowledge
 * alone. Owned as above. Threads: any. Errors: -EINVAL (NULL). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_session_diagnose(struct kvmig_session *session, struct kvmig_diagnosis **out_diagnosis);
/** One more owner. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_diagnosis *kvmig_diagnosis_ref(const struct kvmig_diagnosis *diagnosis);
/** One owner less; NULL is ignored. Threads: any. Since: 0.1.0 */
KVMIG_API void kvmig_diagnosis_unref(struct kvmig_diagnosis *diagnosis);

/** A state, an outcome, or the code of the finding that explains it: see docs/findings.md and docs/troubleshooting.md. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_diagnosis_verdict(const struct kvmig_diagnosis *diagnosis);
/** One line for people. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_diagnosis_summary(const struct kvmig_diagnosis *diagnosis);
/** The VM ("NS/NAME" or "NAME"); NULL = not known. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_diagnosis_vm(const struct kvmig_diagnosis *diagnosis);
/** The migration's target; NULL = not known. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_diagnosis_target(const struct kvmig_diagnosis *diagnosis);
/** What was found, worst first. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_findings *kvmig_diagnosis_findings(const struct kvmig_diagnosis *diagnosis);
/**
 * What to do, in order: findings whose codes are actions ("RESUME_SOURCE"), on their objects. What must not be done is not among
 * them. Borrowed. Threads: any. Since: 0.1.0
 */
KVMIG_API const struct kvmig_findings *kvmig_diagnosis_actions(const struct kvmig_diagnosis *diagnosis);
/** What must not be done now, in words; "" if there is nothing in particular. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_diagnosis_avoid(const struct kvmig_diagnosis *diagnosis);
/**
 * The whole diagnosis as JSON, with the time line of what happened (docs/json.md). *out_json is owned by the caller, who frees it with free(). Returns 0. Threads: any.
 * Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_diagnosis_to_json(const struct kvmig_diagnosis *diagnosis, char **out_json);

#ifdef __cplusplus
}
#endif
#endif
