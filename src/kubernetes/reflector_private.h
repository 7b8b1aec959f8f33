/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of a reflector, for its own files:
 *   reflector.c         its life, states, waits, and what is reported of an object
 *   reflector_list.c    pages, and what a whole list says
 *   reflector_watch.c   lines of a watch
 *   reflector_index.c   what is known of each object (no context, no lock of its own)
 */
#ifndef KVMIG_SRC_REFLECTOR_PRIVATE_H
#define KVMIG_SRC_REFLECTOR_PRIVATE_H

#include "kubernetes/reflector.h"

/* ---- what is known of each object: no more than tells news from old ---- */

struct kvmig__known {
    struct kvmig__known *next;
    uint64_t hash;
    uint64_t number; /* its resourceVersion; 0 = not a number, see opaque */
    char *opaque;
    uint32_t round; /* of the last list that had it */
    const char *name, *uid; /* in text */
    char ns[];
};

/* Deleted objects, for a while: what comes late must not bring them back. A ring. */
#define KVMIG__N_GRAVES 128
struct kvmig__grave {
    char *uid;
    uint64_t number; /* no later than this it was deleted */
};

struct kvmig__index {
    struct kvmig__known **buckets;
    size_t n_buckets, n; /* buckets: a power of two */
    struct kvmig__grave graves[KVMIG__N_GRAVES];
    size_t next_grave;
};

/* The parts of an object that identify it; borrowed from its JSON, never NULL ("" = not there). */
struct kvmig__identity {
    const char *ns, *name, *uid, *version;
    uint64_t number; /* of version; 0 = not a number */
};
/* False: it has no name. */
bool kvmig__identity_read(struct json_object *object, struct kvmig__identity *out);
/* A resourceVersion as a number; 0 = it is none, and must not be ordered. */
uint64_t kvmig__version_number(const char *version);

struct kvmig__known *kvmig__index_find(const struct kvmig__index *index, const char *ns, const char *name);
struct kvmig__known *kvmig__index_add(struct kvmig__index *index, const struct kvmig__identity *identity);
void kvmig__index_update(struct kvmig__known *known, const struct kvmig__identity *identity);
/* Takes it out; the caller frees it with kvmig__known_free(). */
void kvmig__index_take(struct kvmig__index *index, struct kvmig__known *known);
/* Takes out all that the list `round` did not have, but for those newer than `number` (0 = none is), as a chain. */
struct kvmig__known *kvmig__index_sweep(struct kvmig__index *index, uint32_t round, uint64_t number);
void kvmig__known_free(struct kvmig__known *known);
void kvmig__index_bury(struct kvmig__index *index, const char *uid, uint64_t number);
/* It was deleted, and this is how it was before that. */
bool kvmig__index_is_buried(const struct kvmig__index *index, const struct kvmig__identity *identity);
void kvmig__index_clear(struct kvmig__index *index);

/* ---- the reflector ---- */

struct kvmig__reflector {
    struct kvmig_context *context;
    struct kvmig__client *client;
    char *path, *selectors;
    struct kvmig__reflector_opts opts; /* without the strings */
    const struct kvmig__reflector_ops *ops;
    void *owner;
    enum kvmig__reflector_state state;
    struct kvmig_error *error; /* the last trouble; NULL = none since the last success */
    unsigned depth; /* frames that are inside of it; the memory goes with the outermost one */
    bool closed;
    bool reported; /* something, since it was last settled */
    unsigned course; /* counts refreshes: a frame that sees another number stops what it does */
    struct kvmig__timer retry, settle, patience;
    struct kvmig__request_http *request;
    int64_t backoff_ms;
    uint64_t random;

    struct kvmig__index index;
    char *version; /* where a watch goes on; NULL = list first */
    uint64_t newest; /* the highest resourceVersion of a list or watch; 0 = none, or not numbers */

    /* reflector_list.c */
    uint32_t round;
    char *token; /* of the next page */
    char *list_version;
    bool whole; /* without pages, because their tokens expire */
    bool rewound; /* the list is older than what is known, and believed */
    unsigned old_lists; /* in a row, not believed */
    /* reflector_watch.c */
    int64_t opened_ms; /* 0 = not accepted yet */
    unsigned failures; /* watches in a row that brought trouble from the server */
    bool watch_refused; /* it may list, but not watch */
};

/* Frames: whoever is called from outside enters and leaves. False from kvmig__reflector_goes_on(): stop and leave. */
void kvmig__reflector_enter(struct kvmig__reflector *reflector);
void kvmig__reflector_leave(struct kvmig__reflector *reflector);
bool kvmig__reflector_goes_on(const struct kvmig__reflector *reflector, unsigned course);

/* Reports an object if it is news. round: of the list that has it; 0 = a watch or an answer has it. */
void kvmig__reflector_take(struct kvmig__reflector *reflector, struct json_object *object, uint32_t round);
/* Reports the deletion; takes and frees known. last: as in ops->gone(). number: see kvmig__index_bury(). */
void kvmig__reflector_report_gone(struct kvmig__reflector *reflector, struct kvmig__known *known,
                                  struct json_object *last, uint64_t number);
void kvmig__reflector_settle(struct kvmig__reflector *reflector); /* now */
void kvmig__reflector_settle_soon(struct kvmig__reflector *reflector);

/* An attempt begins; the server gave what was wanted. */
void kvmig__reflector_expect(struct kvmig__reflector *reflector);
void kvmig__reflector_good(struct kvmig__reflector *reflector);
void kvmig__reflector_set_state(struct kvmig__reflector *reflector, enum kvmig__reflector_state state);

/* Trouble: keeps a copy of the error, and tries again later, by watching from version if there is one, else by a
 * list. */
void kvmig__reflector_trouble(struct kvmig__reflector *reflector, int32_t http_status, const struct kvmig_error *error,
                              int64_t retry_after_ms);
/* What was known is too old to go on from: lists, at once if that did not just happen. */
void kvmig__reflector_expired(struct kvmig__reflector *reflector);
void kvmig__reflector_pause(struct kvmig__reflector *reflector); /* one step of back-off, then tries again */
void kvmig__reflector_forget_version(struct kvmig__reflector *reflector);

/* reflector_list.c, reflector_watch.c */
void kvmig__reflector_list(struct kvmig__reflector *reflector);
void kvmig__reflector_watch(struct kvmig__reflector *reflector);
uint64_t kvmig__reflector_random(struct kvmig__reflector *reflector);
/* An error about this reflector's path. */
struct kvmig_error *kvmig__reflector_error(const struct kvmig__reflector *reflector, int32_t code, const char *evidence,
                                           const char *hint, const char *message);

#endif
