/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file error.h
 * How calls fail. Every fallible call returns 0 (or a count) on success and a negative number on
 * failure: -errno for general causes, or -KVMIG_E* for causes that errno has no word for. What
 * happened, where, on what evidence and how to mend it is in a kvmig_error: kvmig_error_last() for
 * the call that just failed on this thread, or inside the event for what failed later.
 */
#ifndef KVMIG_ERROR_H
#define KVMIG_ERROR_H

#include <kvmig/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Causes beyond errno. Returned negated. Append-only. Since: 0.1.0 */
enum kvmig_error_code {
    KVMIG_EVIRT = 4000, /**< a libvirt call failed; the detail names call, code and domain */
    KVMIG_EXML = 4001, /**< XML is broken, too large, or has a document type declaration */
    KVMIG_EJSON = 4002, /**< JSON is broken or has the wrong shape */
    KVMIG_EUNREACHABLE = 4003, /**< a host does not answer */
    KVMIG_ENOHOST = 4004, /**< no host of that name or URI in the cluster view */
    KVMIG_ENOVM = 4005, /**< no such VM in the cluster view */
    KVMIG_EAMBIGUOUS = 4006, /**< the name fits more than one object */
    KVMIG_EBLOCKED = 4007, /**< the plan has blockers; nothing was started */
    KVMIG_EPHASE = 4008, /**< not possible in the present phase */
    KVMIG_EREFUSED = 4009, /**< refused, because it could harm the guest */
    KVMIG_EUNKNOWN = 4010, /**< the outcome is not known */
    KVMIG_EMIGRATE = 4011, /**< the migration failed; the guest runs on the source */
    KVMIG_ELOST = 4012, /**< the guest runs on neither side */
    KVMIG_ESPLIT = 4013, /**< the guest runs on both sides */
    KVMIG_ENOTSYNCED = 4014, /**< the cluster view has not been read yet */
    KVMIG_ECONFLICT = 4015, /**< options that exclude each other */
};

/** One failure: opaque, immutable, borrowed from the thread (kvmig_error_last()) or from what holds it. Since: 0.1.0 */
struct kvmig_error;

/**
 * The detail of the last failed libkvmig call on this thread; NULL if none failed yet. Borrowed:
 * valid until the next libkvmig call on this thread. Threads: any. Since: 0.1.0
 */
KVMIG_API const struct kvmig_error *kvmig_error_last(void);

/** The code, negative, as the call returned it; 0 for NULL. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_error_code(const struct kvmig_error *error);

/** What failed, one sentence for people. Borrowed; never NULL. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_error_message(const struct kvmig_error *error);

/** Where: the object, field, or host and call. Borrowed; "" if unknown. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_error_where(const struct kvmig_error *error);

/** The evidence, for example libvirt's own message. Borrowed; "" if none. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_error_evidence(const struct kvmig_error *error);

/** How to mend it. Borrowed; "" if the library has no advice. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_error_hint(const struct kvmig_error *error);

/**
 * The name of a code ("KVMIG_EBLOCKED", "EINVAL"), given with either sign; NULL if unknown.
 * Borrowed, static. Threads: any. Since: 0.1.0
 */
KVMIG_API const char *kvmig_error_code_name(int32_t code);

#ifdef __cplusplus
}
#endif
#endif
