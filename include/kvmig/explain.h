/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file explain.h
 * Why a migration waits: the chain of waits from the session down to what blocks first, each with the object, its condition,
 * the evidence, since when, which limit ends it and when, and what to do. Made from what the view knows, without I/O.
 */
#ifndef KVMIG_EXPLAIN_H
#define KVMIG_EXPLAIN_H

#include <kvmig/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One link of a chain of waits. Times are milliseconds since 1970 (UTC). Append-only; read no further than size says. Since: 0.1.0 */
struct kvmig_wait {
    size_t size; /**< the bytes of this struct that the library filled */
    const char *code; /**< what it is: a code of docs/findings.md, for example "TARGET_IMAGE_PULL" */
    const char *object; /**< "pod/ns1/virt-launcher-vm1-abcde", "migration/ns1/mig1", "lsp/vm1.ns1", ... */
    const char *waits_for; /**< the object that it waits for; NULL = nothing further is known */
    const char *condition; /**< what is waited for, in one line */
    const char *evidence; /**< what proves it: a condition, an event, a status, as the API shows it; NULL = inferred */
    const char *limit; /**< what will end it: "unschedulable pod time-out (300 s)"; NULL = nothing ends it */
    const char *hint; /**< what to do; NULL = nothing but wait */
    int64_t since_ms; /**< since when; 0 = not known */
    int64_t ends_ms; /**< when the limit ends it; 0 = no limit, or not known when */
    int32_t
        severity; /**< an enum kvmig_severity: INFO = within normal times, WARN = unusual, ERROR = will not end well by itself */
    int32_t depth; /**< 0 = the migration itself; each link waits for one of greater depth */
};

/** An explanation: opaque, immutable, counted. Since: 0.1.0 */
struct kvmig_explanation;

/**
 * Explains the migration of a VM, whoever started it. migration is the name of a VMIM ("NAME" or "NAMESPACE/NAME"), or NULL for
 * the one that runs, or else the last one. *out_explanation is owned: kvmig_explanation_unref(). A VM without any migration is
 * no error: the explanation is empty and says so in its summary. Threads: any. Errors: -EINVAL (NULL), -KVMIG_ENOVM,
 * -KVMIG_EAMBIGUOUS, -ENOENT (no such migration), -ENOTSUP (the view has no Kubernetes cluster). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_explain(struct kvmig_cluster *cluster, const char *vm, const char *migration,
                                        struct kvmig_explanation **out_explanation);

/**
 * Explains what the session waits for now, its ports included. On libvirt hosts the chain tells of the session's own waits
 * (slot, step, port, migrate call). Owned as above. Threads: any. Errors: -EINVAL (NULL). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_session_explain(struct kvmig_session *session, struct kvmig_explanation **out_explanation);

/** One more owner. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_explanation *kvmig_explanation_ref(const struct kvmig_explanation *explanation);
/** One owner less; NULL is ignored. Threads: any. Since: 0.1.0 */
KVMIG_API void kvmig_explanation_unref(struct kvmig_explanation *explanation);
/** One line for people: the state, and the first blocker. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_explanation_summary(const struct kvmig_explanation *explanation);
/**
 * The verdict: a state, outcome or cause code of docs/findings.md ("WAITING", "TARGET_UNSCHEDULABLE", "CANCELLED_BY_USER", ...).
 * Borrowed. Threads: any. Since: 0.1.0
 */
KVMIG_API const char *kvmig_explanation_verdict(const struct kvmig_explanation *explanation);
/** How many waits it has. Threads: any. Since: 0.1.0 */
KVMIG_API size_t kvmig_explanation_count(const struct kvmig_explanation *explanation);
/** A wait, the first blocker first; NULL past the end. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_wait *kvmig_explanation_wait(const struct kvmig_explanation *explanation, size_t index);
/**
 * The whole explanation as JSON. *out_json is owned by the caller, who frees it with free(). Returns 0. Threads: any.
 * Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_explanation_to_json(const struct kvmig_explanation *explanation, char **out_json);

#ifdef __cplusplus
}
#endif
#endif
