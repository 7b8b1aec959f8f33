/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Real OVSDB servers for tests: private ones, in a folder of their own under /tmp, ended by their process ids. Needs
 * ovsdb-server and its tools; a test without them is skipped.
 */
#ifndef KVMIG_TESTS_OVSDB_SERVER_H
#define KVMIG_TESTS_OVSDB_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct real_server {
    char *folder; /* of all servers of the test; borrowed */
    char name[24];
    char *remote; /* "unix:..." */
    pid_t pid; /* 0 = not running */
};

bool real_servers_exist(void); /* are the programs installed? */
char *real_folder_new(void); /* with the schema in it; owned */
void real_folder_free(char *folder); /* and everything in it */

/* Runs a program to its end; arguments end with NULL. Returns its exit status, -1 if it did not exit by itself. */
int real_run(const char *const *arguments);
#define REAL_RUN(...) real_run((const char *const[]){ __VA_ARGS__, NULL })

/* A server alone with an empty database "Net". */
void real_server_alone(struct real_server *server, char *folder);
/* n servers of one cluster, on free ports of 127.0.0.1. */
void real_servers_cluster(struct real_server *servers, size_t n, char *folder);
void real_server_start(struct real_server *server);
void real_server_kill(struct real_server *server);
void real_server_clear(struct real_server *server); /* kills it if it runs */

#endif
