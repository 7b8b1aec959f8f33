/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small API server for tests of the whole Kubernetes backend: HTTP/1.1 on a loopback port, with the objects of the kinds that
 * the library knows in memory. Serves lists (paged, selected), watches, reads, and writes (dry runs, preconditions,
 * finalizers); the test plays everybody else by putting objects, and asks for faults.
 *
 * One thread serves all connections. Functions may be called from any thread; none waits for a client.
 */
#ifndef KVMIG_TESTS_KUBE_WORLD_SERVER_H
#define KVMIG_TESTS_KUBE_WORLD_SERVER_H

#include "base/json_internal.h"
#include "cluster/kube.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct world_server;

struct world_server *world_server_new(void);
void world_server_free(struct world_server *server); /* ends connections and the thread; NULL is ignored */
const char *world_server_url(const struct world_server *server);

/* ---- objects ---- */

/* Creates or replaces; gives it a new resourceVersion, and a uid if it has none. Takes object; returns the version. */
uint64_t world_put(struct world_server *server, struct json_object *object);
/* The same from text, with ' for ". */
uint64_t world_say(struct world_server *server, const char *fmt, ...) KVMIG__PRINTF(2, 3);
/* JSON from such text, owned. */
struct json_object *world_json(const char *fmt, ...) KVMIG__PRINTF(1, 2);
/* Removes it, whatever its finalizers; last: its last state (taken), NULL = as it is. False: there is none. */
bool world_remove(struct world_server *server, int32_t kind, const char *ns, const char *name,
                  struct json_object *last);
/* Owned copy; NULL if there is none. */
struct json_object *world_get(struct world_server *server, int32_t kind, const char *ns, const char *name);
/* The first of a kind that is there, likewise. */
struct json_object *world_first(struct world_server *server, int32_t kind);
/* Its resourceVersion; 0 if there is none. */
uint64_t world_version(struct world_server *server, int32_t kind, const char *ns, const char *name);
size_t world_count(struct world_server *server, int32_t kind);
/* A bookmark on every watch of the kind (-1 = all). */
void world_bookmark(struct world_server *server, int32_t kind);

/* ---- faults ---- */

void world_forbid(struct world_server *server, int32_t kind); /* 403 */
void world_withhold(struct world_server *server, int32_t kind); /* 404: the server does not have this kind */

enum world_cut {
    WORLD_CUT_END, /* as the server's own time limit */
    WORLD_CUT_CLOSE, /* the connection is closed */
    WORLD_CUT_IN_LINE, /* ... in the middle of a line */
    WORLD_CUT_EXPIRED, /* ERROR event, code 410 */
};
/* Ends the watches of the kind (-1 = all); returns how many. */
int world_cut(struct world_server *server, int32_t kind, enum world_cut how);
/* Forgets what happened before now: a watch from an older version is answered 410. */
void world_compact(struct world_server *server);
/* From now on every event of a watch comes twice. */
void world_repeat(struct world_server *server, bool repeat);
/* The next n lists of the kind show what is there now, whatever changes meanwhile, until a compaction. */
void world_stale_lists(struct world_server *server, int32_t kind, int n);

enum world_fault_how {
    WORLD_FAULT_ANSWER, /* the status instead of doing it */
    WORLD_FAULT_CLOSE, /* no answer, nothing done */
    WORLD_FAULT_LOSE, /* does it, and closes instead of answering */
    WORLD_FAULT_HOLD, /* waits for world_release() */
};
struct world_fault {
    const char *match; /* is in "METHOD /path?query"; with '$' at its end: is the end of it; static */
    enum world_fault_how how;
    int32_t status;
    const char *reason, *message; /* of the Status; static */
    int32_t retry_after_s; /* 0 = no such header */
    int32_t times; /* how many requests meet it */
};
void world_fault(struct world_server *server, const struct world_fault *fault);
int world_faults(struct world_server *server); /* that are still to come */
void world_release(struct world_server *server); /* what is held, and what would be, goes on */
/* Away: all connections are closed, and new ones at once. */
void world_away(struct world_server *server, bool away);

/* ---- what was asked ---- */

/* Requests whose "METHOD /path?query" contains part ('$' as above). */
int world_asked(struct world_server *server, const char *part);
int world_watches(struct world_server *server, int32_t kind); /* open ones; -1 = of all kinds */
int world_connections(struct world_server *server);
char *world_requests(struct world_server *server); /* all of them, one a line; owned */

#endif
