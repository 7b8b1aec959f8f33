/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of the API server of kube_world_server.h, for its own files:
 *   kube_world_server.c  thread, connections, HTTP, faults
 *   kube_world_api.c     what one request does
 *   kube_world_store.c   objects, their history, selectors, watches
 * Everything needs the lock, which the functions of kube_world_server.h take.
 */
#ifndef KVMIG_TESTS_KUBE_WORLD_PRIVATE_H
#define KVMIG_TESTS_KUBE_WORLD_PRIVATE_H

#include "kube_world_server.h"

#include <pthread.h>

#define WORLD_MAX_FAULTS 16

struct world_text { /* grows */
    char *v;
    size_t n, room;
};
void world_text_add(struct world_text *text, const char *bytes, size_t n);
void KVMIG__PRINTF(2, 3) world_text_say(struct world_text *text, const char *fmt, ...);

/* A request line, taken apart. Strings are owned. */
struct world_target {
    char *line; /* "METHOD /path?query" */
    char *method, *ns, *name;
    int32_t kind; /* -1 = none of ours */
    char *labels, *fields, *token; /* selectors, continue; NULL = none */
    uint64_t version;
    size_t limit;
    bool watch, dry;
};

struct world_connection {
    int fd;
    struct world_text in, out;
    struct world_target watch; /* of an open watch */
    bool is_watch, held, last; /* last: is closed once everything was sent */
    struct world_connection *next;
};

struct world_change {
    uint64_t version;
    const char *type;
    struct json_object *before, *now; /* NULL: was not, is not any more: then now is the last state and gone is set */
    bool gone;
};

struct world_objects {
    struct json_object **v;
    size_t n;
};

struct world_kind {
    struct world_objects objects;
    struct {
        struct world_change *v;
        size_t n;
    } changes; /* since the last compaction */
    uint64_t stale_version;
    int stale; /* so many lists are of that version */
    int32_t refusal; /* status; 0 = none */
};

struct world_server {
    pthread_mutex_t lock;
    pthread_t thread;
    int listener, wake;
    bool stopping, away, releasing, repeat;
    char url[64];
    uint64_t version, compacted;
    unsigned names, uids;
    struct world_kind kinds[KVMIG__N_KUBE_KINDS];
    struct world_connection *connections;
    struct {
        struct world_fault v[WORLD_MAX_FAULTS];
        size_t n;
    } faults;
    struct kvmig__strlist requests;
};

/* ---- kube_world_store.c ---- */
struct json_object *world_at(struct json_object *object, const char *path); /* "metadata.name"; borrowed */
const char *world_text_at(struct json_object *object, const char *path); /* NULL = not there */
struct json_object *world_find(struct world_server *server, int32_t kind, const char *ns, const char *name);
bool world_selected(const struct world_target *target, struct json_object *object);
uint64_t world_store(struct world_server *server, struct json_object *object); /* takes it */
bool world_drop(struct world_server *server, int32_t kind, const char *ns, const char *name, struct json_object *last);
void world_watch_begin(struct world_server *server, struct world_connection *connection);
void world_watch_cut(struct world_connection *connection, enum world_cut how);
void world_watch_line(struct world_connection *connection, const char *type, struct json_object *object);
char *world_key(struct json_object *object); /* "NAMESPACE/NAME"; owned */
/* The objects as they were at a version since the last compaction, by key; borrowed, in memory that the caller frees. */
struct world_objects world_state(const struct world_kind *kind, uint64_t version);
void world_store_free(struct world_server *server);

/* ---- kube_world_api.c ---- */
void world_target_read(struct world_target *target, const char *line);
void world_target_clear(struct world_target *target);
/* The answer, as a whole; a watch begins. lose: the answer is dropped, and the connection closed. */
void world_serve(struct world_server *server, struct world_connection *connection, struct world_target *target,
                 const char *content_type, const char *body, bool lose);
void world_refuse(struct world_connection *connection, int32_t status, const char *reason, const char *message,
                  int32_t retry_after_s);

/* ---- kube_world_server.c ---- */
void world_wake(struct world_server *server); /* there is something to send */
bool world_line_has(const char *line, const char *part);

#endif
