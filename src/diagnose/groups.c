/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Groups of ports that belong to a node (Kube-OVN has one per subnet and node, which policy routes refer to): once the VM has moved its
 * port must have left the old node's. Whose group it is says its external_ids, or else its name. Pure.
 */
#include "diagnose/diagnose.h"
#include "plan/facts_checks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Names of groups may not have dashes: "blade-1" stands there as "blade.1" or "blade_1". */
static char folded(char c)
{
    return strchr("-_.:", c) ? '.' : (char)tolower((unsigned char)c);
}

/* node stands in name as a whole. */
static bool names_node(const char *name, const char *node)
{
    const size_t n = strlen(node), length = strlen(name);

    for (size_t at = 0; n && at + n <= length; at++) {
        size_t i = 0;

        while (i < n && folded(name[at + i]) == folded(node[i]))
            i++;
        if (i == n && (at == 0 || !isalnum((unsigned char)name[at - 1])) && !isalnum((unsigned char)name[at + n]))
            return true;
    }
    return false;
}

/* The other node that the group is of; NULL = it is of the VM's own, of none, or that is not known. */
static const char *other_node(const struct kvmig__case *c, const struct kvmig__wires *wires,
                              const struct kvmig__fact_port_group *group)
{
    const char *told = kvmig__fact_get(&group->external_ids, "node");
    const char *const hosts[] = { c->source, c->target };

    if (told && *told)
        return kvmig__same_host(wires, told, wires->source) == KVMIG__SAME_NO ? told : NULL;
    if (!group->name || names_node(group->name, wires->source))
        return NULL;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(hosts); i++)
        if (hosts[i] && !kvmig__host_names_match(hosts[i], wires->source) && names_node(group->name, hosts[i]))
            return hosts[i];
    return NULL;
}

void kvmig__diagnose_groups(struct kvmig__case *c, const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp)
{
    for (size_t i = 0; lsp->uuid && wires->source && i < c->facts->port_groups.n; i++) {
        const struct kvmig__fact_port_group *group = &c->facts->port_groups.v[i];
        const char *node = kvmig__strlist_has(&group->ports, lsp->uuid) ? other_node(c, wires, group) : NULL;
        struct kvmig__detail detail = { 0 };

        if (!node)
            continue;
        kvmig__detail_str(&detail, "port", lsp->name);
        kvmig__detail_str(&detail, "node", node);
        kvmig__detail_str(&detail, "runs_on", wires->source);
        kvmig__case_note(c, "STALE_PORT_GROUP", KVMIG_SEVERITY_WARN, kvmig__asprintf("port_group/%s", group->name),
                         &detail, "Take the port out of that group; leave it in the groups of policies.",
                         "Port %s is still in the group of %s, and the VM runs on %s.", lsp->name, node, wires->source);
    }
}
