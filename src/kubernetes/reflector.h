/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeps one kind of object current: lists it page by page, watches from there, and lists again when the watch cannot
 * be resumed (410, or a gap). What it reports is as if nothing had ever been lost: each object's present state, and
 * each deletion with the last state that is known. Back-off with jitter on trouble, Retry-After obeyed, bookmarks
 * used. Needs the context lock; callbacks run in dispatch with it held.
 *
 * A relist after a gap reports only what differs: new and changed objects (by resourceVersion), and those that are
 * gone. An object that was deleted and created anew meanwhile is reported as deleted, then added. An older version of
 * an object that arrives late (stale read) is dropped.
 *
 * Any function of ops may free the reflector, or ask for a refresh.
 */
#ifndef KVMIG_SRC_REFLECTOR_H
#define KVMIG_SRC_REFLECTOR_H

#include "base/json_internal.h"
#include "kubernetes/client.h"

enum kvmig__reflector_state {
    KVMIG__REFLECTOR_STARTING, /* the first list is under way */
    KVMIG__REFLECTOR_SYNCED, /* listed; the watch is open, or is being opened anew within its normal course */
    KVMIG__REFLECTOR_FORBIDDEN, /* 401 after renewal or 403: tried again every minute */
    KVMIG__REFLECTOR_ABSENT, /* 404: the server does not serve this kind (no KubeVirt); tried again every minute */
    KVMIG__REFLECTOR_LOST, /* no answer for longer than its patience, or never one and none to be expected (no such server, TLS,
                              unusable credentials); goes on trying */
};
struct kvmig__reflector_ops {
    /* object is borrowed. gone: it was deleted; object is its last known state (from the DELETED event, or the copy
     * of the caller's store is asked for by name: then object is NULL and ns/name/uid say which). */
    void (*object)(void *owner, struct json_object *object);
    void (*gone)(void *owner, const char *ns, const char *name, const char *uid, struct json_object *last);
    /* The state changed; error (borrowed) says why, for FORBIDDEN, ABSENT, LOST. */
    void (*state)(void *owner, enum kvmig__reflector_state state, const struct kvmig_error *error);
    /* A batch is complete (a list, or what one readable moment of the watch brought): the time to tell others. */
    void (*settled)(void *owner);
};
struct kvmig__reflector_opts {
    const char *path; /* "/apis/kubevirt.io/v1/namespaces/ns1/virtualmachineinstances"; copied */
    const char *selectors; /* "labelSelector=...&fieldSelector=..." already escaped; NULL = none; copied */
    uint32_t page_size;
    int64_t patience_ms; /* without success for longer: LOST */
    int64_t backoff_ms; /* the first wait after trouble; 0 = 500. It doubles, up to sixty times of it, with jitter. */
    int64_t refused_ms; /* between tries while FORBIDDEN or ABSENT; 0 = 60000 */
};
struct kvmig__reflector;
struct kvmig__reflector *kvmig__reflector_new(struct kvmig_context *context, struct kvmig__client *client,
                                              const struct kvmig__reflector_opts *opts,
                                              const struct kvmig__reflector_ops *ops, void *owner);
void kvmig__reflector_free(struct kvmig__reflector *reflector); /* NULL is ignored */
enum kvmig__reflector_state kvmig__reflector_state(const struct kvmig__reflector *reflector);
/* Lists anew now, also if the watch looks healthy. */
void kvmig__reflector_refresh(struct kvmig__reflector *reflector);
/* An object that the server gave in answer to a write: reported through object() at once, unless it is older than
 * what is known, or deleted already. Without this a deletion that falls into a gap would be missed for it. */
void kvmig__reflector_learn(struct kvmig__reflector *reflector, struct json_object *object);

#endif
