/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the tries go: the network namespace and the addresses of the targets. Does not open a connection. Runs on the
 * probe's thread, which alone enters the namespace; names are looked up on one more thread, made by that one and therefore
 * in the same namespace, so that a silent name server does not keep the other targets waiting. That thread has a reference
 * of its own and may outlive the probe.
 */
#include "probe/prober.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the namespace ---- */

static void fail_all(struct kvmig__prober *prober, const struct kvmig_error *error)
{
    for (size_t i = 0; i < prober->n_targets; i++)
        kvmig__prober_set_error(prober, i, kvmig__error_copy(error));
}

void kvmig__prober_enter_netns(struct kvmig__prober *prober)
{
    struct kvmig_error *error;
    const char *hint = "Give the path of a network namespace, such as /run/netns/NAME.";
    int fd, code = 0;

    if (!prober->netns)
        return;
    fd = open(prober->netns, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
        code = errno;
    if (fd >= 0)
        close(fd);
    if (!code)
        return;
    if (code == EPERM)
        hint = "Entering a network namespace needs the capability CAP_SYS_ADMIN; run the program with it.";
    error = kvmig__error_new(code, prober->netns, kvmig_error_code_name(-code), hint,
                             "the network namespace of the probe cannot be entered");
    fail_all(prober, error);
    kvmig__error_free(error);
}

/* ---- names ---- */

static void set_address(struct kvmig__prober *prober, size_t index, const struct addrinfo *found)
{
    struct kvmig__prober_target *target = &prober->targets[index];

    pthread_mutex_lock(&prober->lock);
    memcpy(&target->address, found->ai_addr, found->ai_addrlen);
    target->address_len = found->ai_addrlen;
    pthread_mutex_unlock(&prober->lock);
}

/* What getaddrinfo() says. A name is the first of its addresses, in the order that the system prefers. */
static int look_up(struct kvmig__prober *prober, size_t index, int flags)
{
    const struct kvmig__prober_target *target = &prober->targets[index];
    const struct addrinfo hints = { .ai_flags = AI_NUMERICSERV | flags, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char port[8];
    int rc;

    snprintf(port, sizeof(port), "%u", target->port);
    rc = getaddrinfo(target->host, port, &hints, &found);
    if (rc == 0)
        set_address(prober, index, found);
    if (found)
        freeaddrinfo(found);
    return rc;
}

static void look_up_name(struct kvmig__prober *prober, size_t index)
{
    const struct kvmig__prober_target *target = &prober->targets[index];
    const int rc = look_up(prober, index, 0);
    const int code = rc == EAI_SYSTEM && errno ? errno : KVMIG_EUNREACHABLE;

    if (rc != 0)
        kvmig__prober_set_error(prober, index,
                                kvmig__error_new(code, target->label, gai_strerror(rc),
                                                 "Check the name and the name servers, or give the address.",
                                                 "the name \"%s\" cannot be looked up", target->host));
    kvmig__prober_wake(prober);
}

static bool is_unknown(struct kvmig__prober *prober, size_t index)
{
    struct sockaddr_storage address;
    socklen_t len;

    return kvmig__prober_get_address(prober, index, &address, &len) == 0;
}

static void *look_up_names(void *data)
{
    struct kvmig__prober *prober = data;

    for (size_t i = 0; i < prober->n_targets && !prober->stopping; i++) {
        if (is_unknown(prober, i))
            look_up_name(prober, i);
    }
    kvmig__prober_unref(prober);
    return NULL;
}

void kvmig__prober_look_up(struct kvmig__prober *prober)
{
    pthread_t thread;
    bool names = false;

    for (size_t i = 0; i < prober->n_targets; i++)
        names |= is_unknown(prober, i) && look_up(prober, i, AI_NUMERICHOST) != 0;
    if (!names)
        return;
    kvmig__prober_ref(prober);
    /* Like this thread it gets no signals, which the application's own threads are there for. */
    if (pthread_create(&thread, NULL, look_up_names, prober) == 0)
        pthread_detach(thread);
    else
        look_up_names(prober); /* late is better than never */
}
