/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A session on the small cluster of kube_world_test.h, and KubeVirt, which the test plays: it sees the VMIM in the API server,
 * and writes what KubeVirt's controllers would write, one phase after the other, each once the session has seen the last.
 */
#ifndef KVMIG_TESTS_KUBE_WORLD_SESSION_H
#define KVMIG_TESTS_KUBE_WORLD_SESSION_H

#include "kube_world_test.h"

#define VMIMS "/apis/kubevirt.io/v1/namespaces/ns1/virtualmachineinstancemigrations"
struct port {
    struct kvmig_port *port;
    char log[200];
    int32_t prepared_in; /* phase of the session when prepare came */
    int n_frees;
};

struct test {
    struct kvmig_context *context;
    struct world_server *server;
    struct world_view view;
    struct world_ear ear;
    struct kvmig_session *session;
    struct kvmig_session_opts opts;
    struct port port;
    /* KubeVirt */
    int32_t phase; /* what the VMIM was told to be in */
    int32_t stop_at; /* phase to go no further than; 0 = to the end */
    const char *mode;
    char *uid; /* of the VMIM */
    bool unheld; /* session and view were let go of */
};

/* Each test has its own; the session is not started. */
int set_up(void **state);
int tear_down(void **state);
struct kvmig_session *new_session(struct test *test, struct world_ear *ear); /* another one of the same VM */
void let_go(struct test *test, struct kvmig_session *session, struct world_ear *ear);
void add_port(struct test *test);

void start(struct test *test);
void play(struct test *test); /* KubeVirt's next step, if it is due */
void write_vmi(struct test *test, const char *node, const char *more); /* more: members of its migrationState */
void run_to(struct test *test, int32_t phase);
void run_to_end(struct test *test, int32_t phase, int32_t error);
void assert_phases(struct test *test, const char *expected);
void assert_moved(struct test *test); /* runs to the end, through all phases */

#endif
