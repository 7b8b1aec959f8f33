/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The whole Kubernetes backend in one process, for tests: a view of the API server of kube_world_server.h, opened as any caller
 * opens one, sessions on it, and callers that write down what they hear. Nothing waits for a time, only for conditions.
 */
#ifndef KVMIG_TESTS_KUBE_WORLD_TEST_H
#define KVMIG_TESTS_KUBE_WORLD_TEST_H

#include "context_test.h"
#include "kube_world_server.h"

#include <kvmig/kube.h>
#include <kvmig/session.h>

#include <stdlib.h>
#include <string.h>

/* Who listens. One line an event: "synced", "found node-a", "lost node-a", "changed node-a", "migration ns1/m ns1/vm1
 * Pending", "notice CODE: message", "phase Pending", "wait CODE", "cancel accepted", "checkpoint", "port P STATE", "end
 * Succeeded". */
struct world_ear {
    struct kvmig__strlist log;
    int n_frees, n_late;
    bool ended;
    int32_t end_phase, error; /* of the end */
    char *message, *evidence; /* of its error; NULL = none */
    struct kvmig_session *session; /* cancelled from inside the callback in phase cancel_at; 0 = never */
    int32_t cancel_at;
};
void world_ear_clear(struct world_ear *ear);
struct kvmig_event_callback world_callback(struct world_ear *ear);
int world_heard(const struct world_ear *ear, const char *part); /* lines that contain it */
char *world_phases(const struct world_ear *ear); /* "Pending Scheduling ..."; owned */

struct world_view {
    struct kvmig_context *context; /* borrowed */
    struct world_server *server;
    struct kvmig_cluster *cluster;
    struct world_ear ear;
    char *kubeconfig; /* a file */
};
/* Opens it with a kubeconfig in a file; kube may be NULL, its kubeconfig is set. Does not wait. */
void world_view_open(struct world_view *view, struct kvmig_context *context, struct world_server *server,
                     struct kvmig_kube_opts *kube);
void world_view_close(struct world_view *view); /* and looks whether the callback was let go of */
void world_view_clear(struct world_view *view); /* the same, when the cluster was let go of already */
void world_wait_synced(struct world_view *view);

/* Dispatches until the condition holds; fails the test, naming what, if that takes too long. */
void world_run(struct kvmig_context *context, bool (*holds)(void *data), void *data, const char *what);
void world_wait_heard(struct world_view *view, const char *part, int times);
/* The view has this version of the object, or a newer one; version 0: it has none. */
bool world_has(struct world_view *view, int32_t kind, const char *ns, const char *name, uint64_t version);
/* The view has what the server has of it now. */
bool world_in_step(struct world_view *view, int32_t kind, const char *ns, const char *name);
void world_wait_has(struct world_view *view, int32_t kind, const char *ns, const char *name, uint64_t version);
void world_wait_watches(struct world_view *view, int32_t kind, int n);
void world_wait_asked(struct world_view *view, const char *part, int n);
/* Nobody but the test holds the context: all that ran in it has ended. */
void world_context_free(struct kvmig_context *context);

/* ---- a small cluster: nodes node-a, node-b, VM ns1/vm1 on node-a with a shared volume ---- */
#define WORLD_VMI_UID "aaaaaaaa-0000-4000-8000-000000000001"
void world_populate(struct world_server *server);
void world_node(struct world_server *server, const char *name, const char *label); /* label: "'key':'value'" or NULL */
/* A VMI and its launcher; state: members of its migrationState, or NULL. */
void world_vmi(struct world_server *server, const char *name, const char *uid, const char *node, const char *state);
void world_vmim(struct world_server *server, const char *name, const char *uid, const char *vmi, const char *phase);
/* A target launcher of the migration of that uid. node NULL = not scheduled. */
void world_target(struct world_server *server, const char *name, const char *vmi_uid, const char *vmim_uid,
                  const char *node, const char *phase);

#endif
