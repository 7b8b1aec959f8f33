/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Starting and ending real OVSDB servers. They die with the test, whatever it dies of. The test's thread only.
 */
#include "ovsdb_server.h"

#include "context_test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char schema[] =
    "{\"name\":\"Net\",\"version\":\"1.0.0\",\"tables\":{"
    "\"Port\":{\"isRoot\":true,\"indexes\":[[\"name\"]],\"columns\":{\"name\":{\"type\":\"string\"},"
    "\"up\":{\"type\":{\"key\":\"boolean\",\"min\":0,\"max\":1}},"
    "\"options\":{\"type\":{\"key\":\"string\",\"value\":\"string\",\"min\":0,\"max\":\"unlimited\"}},"
    "\"tags\":{\"type\":{\"key\":\"integer\",\"min\":0,\"max\":\"unlimited\"}},"
    "\"chassis\":{\"type\":{\"key\":{\"type\":\"uuid\",\"refTable\":\"Chassis\"},\"min\":0,\"max\":\"unlimited\"}},"
    "\"cfg\":{\"type\":\"integer\"}}},"
    "\"Chassis\":{\"isRoot\":true,\"columns\":{\"name\":{\"type\":\"string\"}}}}}";

static pid_t start(const char *const *arguments)
{
    pid_t parent = getpid(), pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(126);
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        execvp(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    return pid;
}

int real_run(const char *const *arguments)
{
    pid_t pid = start(arguments);
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool real_servers_exist(void)
{
    char *path = kvmig__asprintf("%s:/usr/sbin:/usr/bin:/sbin:/bin", getenv("PATH") ? getenv("PATH") : "");

    setenv("PATH", path, 1);
    free(path);
    return REAL_RUN("ovsdb-server", "--version") == 0 && REAL_RUN("ovsdb-tool", "--version") == 0 &&
           REAL_RUN("ovsdb-client", "--version") == 0;
}

char *real_folder_new(void)
{
    char folder[] = "/tmp/kvmig-ovsdb-XXXXXX", *path;
    FILE *file;

    assert_non_null(mkdtemp(folder));
    /* Nothing of ours in the default places. */
    setenv("OVS_RUNDIR", folder, 1);
    setenv("OVS_LOGDIR", folder, 1);
    setenv("OVS_DBDIR", folder, 1);
    path = kvmig__asprintf("%s/net.ovsschema", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(schema, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(path);
    return kvmig__strdup(folder);
}

void real_folder_free(char *folder)
{
    assert_int_equal(REAL_RUN("rm", "-rf", folder), 0);
    free(folder);
}

static void name_server(struct real_server *server, char *folder, size_t number)
{
    *server = (struct real_server){ .folder = folder };
    snprintf(server->name, sizeof(server->name), "s%zu", number);
    server->remote = kvmig__asprintf("unix:%s/%s.sock", folder, server->name);
}

void real_server_alone(struct real_server *server, char *folder)
{
    char *db, *schema_path = kvmig__asprintf("%s/net.ovsschema", folder);

    name_server(server, folder, 1);
    db = kvmig__asprintf("%s/%s.db", folder, server->name);
    assert_int_equal(REAL_RUN("ovsdb-tool", "create", db, schema_path), 0);
    free(db);
    free(schema_path);
    real_server_start(server);
}

static int free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    close(fd);
    return ntohs(address.sin_port);
}

void real_servers_cluster(struct real_server *servers, size_t n, char *folder)
{
    char *schema_path = kvmig__asprintf("%s/net.ovsschema", folder), *first = NULL;

    for (size_t i = 0; i < n; i++) {
        char *address = kvmig__asprintf("tcp:127.0.0.1:%d", free_port()), *db;

        name_server(&servers[i], folder, i + 1);
        db = kvmig__asprintf("%s/%s.db", folder, servers[i].name);
        if (i == 0) {
            assert_int_equal(REAL_RUN("ovsdb-tool", "create-cluster", db, schema_path, address), 0);
            first = kvmig__strdup(address);
        } else {
            assert_int_equal(REAL_RUN("ovsdb-tool", "join-cluster", db, "Net", address, first), 0);
        }
        real_server_start(&servers[i]);
        free(address);
        free(db);
    }
    for (size_t i = 0; i < n; i++)
        assert_int_equal(REAL_RUN("ovsdb-client", "--timeout=30", "wait", servers[i].remote, "Net", "connected"), 0);
    free(first);
    free(schema_path);
}

void real_server_start(struct real_server *server)
{
    char *db = kvmig__asprintf("%s/%s.db", server->folder, server->name);
    char *remote = kvmig__asprintf("--remote=p%s", server->remote);
    char *control = kvmig__asprintf("--unixctl=%s/%s.ctl", server->folder, server->name);
    const char *const arguments[] = { "ovsdb-server", "-voff", remote, control, db, NULL };

    assert_int_equal(server->pid, 0);
    server->pid = start(arguments);
    free(db);
    free(remote);
    free(control);
}

void real_server_kill(struct real_server *server)
{
    int status;

    assert_true(server->pid > 0);
    assert_int_equal(kill(server->pid, SIGKILL), 0);
    assert_int_equal(waitpid(server->pid, &status, 0), server->pid);
    server->pid = 0;
}

void real_server_clear(struct real_server *server)
{
    if (server->pid)
        real_server_kill(server);
    free(server->remote);
    server->remote = NULL;
}
