/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is said of hosts: whether they reach each other, whether they have what the guest needs, and what the network says. Sources:
 * libvirt's virnetsocket.c, virportallocator.c, virhook.c, QEMU's softmmu/physmem.c and util/mmap-alloc.c, Nova. Pure.
 */
#include "diagnose/diagnose.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool address(struct kvmig__match *match)
{
    char *text = *match->after == '\'' || *match->after == '"' ? kvmig__words_quoted(match->after, match->end)
                                                               : kvmig__words_word(match->after, match->end);

    kvmig__detail_str(&match->detail, "address", text);
    free(text);
    return true;
}

static const char *line_end(const struct kvmig__match *match)
{
    const char *stop = memchr(match->after, '\n', (size_t)(match->end - match->after));

    return stop ? stop : match->end;
}

/* "... on 'br-ext': No such device" */
static bool device(struct kvmig__match *match)
{
    char *name = kvmig__words_quoted(match->after, match->end);
    const bool missing = kvmig__words_find(match->after, line_end(match), "No such device", NULL) != NULL;

    if (missing) {
        kvmig__detail_str(&match->detail, "source", name);
        match->object = kvmig__asprintf("device/%s", name ? name : "unknown");
    }
    free(name);
    return missing;
}

static bool network(struct kvmig__match *match)
{
    char *name = kvmig__words_quoted(match->after, match->end);

    kvmig__detail_str(&match->detail, "network", name);
    match->object = kvmig__asprintf("device/%s", name ? name : "unknown");
    free(name);
    return true;
}

static bool is_out_of_memory(struct kvmig__match *match)
{
    return kvmig__words_find(match->after, line_end(match), "Cannot allocate memory", NULL) != NULL;
}

/* "Out of memory: Killed process 4711 (qemu-kvm)": of other processes says nothing. */
static bool is_qemu(struct kvmig__match *match)
{
    return kvmig__words_find(match->after, line_end(match), "(qemu", NULL) != NULL;
}

/* By the name of the file or folder of the log. */
static bool is_log_of(const char *path, const char *node)
{
    const char *file = strrchr(path, '/'), *at;
    const size_t length = strlen(node);

    while (file && file > path && file[-1] != '/')
        file--;
    for (at = file ? file : path; length && (at = strstr(at, node)); at++)
        if ((at == path || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[length]))
            return true;
    return false;
}

/* The source's daemon repeats what the target's has answered. */
static bool is_of_peer(const struct kvmig__match *match)
{
    const char *begin = match->at;

    while (begin > match->said->text && begin[-1] != '\n')
        begin--;
    return kvmig__words_find(begin, match->at, "virNetClientProgramDispatchError", NULL) != NULL;
}

/* Whose QEMU it was decides what its end means. */
static bool on_target(struct kvmig__match *match)
{
    const char *target = match->c->target;

    if (target && (is_of_peer(match) || is_log_of(match->said->source, target)))
        match->object = kvmig__asprintf("node/%s", target);
    return true;
}

/* "Timeout waiting for [('network-vif-plugged', '...')] for instance": of Nova, before it calls libvirt. */
static bool vif_plugged(struct kvmig__match *match)
{
    if (!kvmig__words_find(match->after, line_end(match), "network-vif-plugged", NULL))
        return false;
    kvmig__detail_str(&match->detail, "event", "network-vif-plugged");
    return true;
}

#define E KVMIG_SEVERITY_ERROR
#define NO_ROUTE "The source does not reach the target."
#define NO_ROUTE_HINT "See whether the daemon, or QEMU's port, listens there, and whether a firewall is between them."
#define QEMU_DIED "A QEMU of the VM ended without being asked to."
#define QEMU_DIED_HINT "The log of that QEMU, or the kernel's, says why: a signal, memory that ran out, an assertion."
#define NO_MEMORY "The target has no memory for the guest."
#define NO_MEMORY_HINT "Make room on the target (huge pages too), or choose another one."
#define W KVMIG_SEVERITY_WARN
#define NO_EVENT "The start waits for an event of the network that does not come."

const struct kvmig__text_rule kvmig__texts_hosts[] = {
    { "Failed to connect to remote libvirt URI ", NULL, "TARGET_UNREACHABLE", E, "target", address, NO_ROUTE,
      NO_ROUTE_HINT },
    { "unable to connect to server at ", NULL, "TARGET_UNREACHABLE", E, "target", address, NO_ROUTE, NO_ROUTE_HINT },
    { "Host key verification failed", NULL, "SSH_HOST_KEY_UNKNOWN", E, "target", NULL,
      "ssh does not know the target's host key, and nobody is there to accept it.",
      "Put the target's key into known_hosts of the user that the source's daemon runs as." },
    { "Permission denied (publickey", NULL, "SSH_LOGIN_REFUSED", E, "target", NULL,
      "The target does not let the source's daemon log in.",
      "Authorise the key of the user that the source's daemon runs as." },
    { "Unable to find an unused port in range 'migration'", NULL, "MIGRATION_PORTS_SHORT", E, "target", NULL,
      "No port of the target's migration range is free.",
      "Wait for other migrations to end, or widen the range in qemu.conf." },
    { "Hook script execution failed", NULL, "HOOK_SCRIPT_FAILED", E, "target", NULL,
      "A hook script of libvirt refused the migration.",
      "Run /etc/libvirt/hooks/qemu by hand, and look at its output." },
    { "no network with matching name ", NULL, "NETWORK_MISSING", E, NULL, network,
      "The target lacks a network of the guest.", "Define and start it there, under the same name." },
    { "Cannot get interface MTU on ", NULL, "BRIDGE_MISSING", E, NULL, device,
      "The target lacks a bridge of the guest.", "Create it there, under the same name." },
    { "cannot set up guest memory ", NULL, "INSUFFICIENT_MEMORY", E, "target", is_out_of_memory, NO_MEMORY,
      NO_MEMORY_HINT },
    { "unable to map backing store for guest RAM", NULL, "INSUFFICIENT_MEMORY", E, "target", is_out_of_memory,
      NO_MEMORY, NO_MEMORY_HINT },
    { "Killed process ", NULL, "QEMU_KILLED_FOR_MEMORY", E, NULL, is_qemu,
      "The kernel killed a QEMU because memory ran out.", "Make room on that host; the guest in it is gone." },
    { "qemu unexpectedly closed the monitor", NULL, "QEMU_DIED", W, NULL, on_target, QEMU_DIED, QEMU_DIED_HINT },
    { "shutting down, reason=crashed", NULL, "QEMU_DIED", W, NULL, on_target, QEMU_DIED, QEMU_DIED_HINT },
    { "Timeout waiting for ", "network-vif-plugged", "WAITING_NETWORK_EVENT", E, NULL, vif_plugged, NO_EVENT,
      "See why the port of the target does not become active: its agent, its binding, its interface." },
    { "Timed out waiting for events: ", "network-vif-plugged", "WAITING_NETWORK_EVENT", E, NULL, vif_plugged, NO_EVENT,
      "See why the port of the target does not become active: its agent, its binding, its interface." },
    { .pattern = NULL },
};
