/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Versions that were observed beside hosts that cannot tell their own. Of a cluster the hosts never tell: what runs a guest is in its
 * launcher, and what may be observed are the versions in the present one and in the one that the target would get. Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <stdlib.h>

/* Keeps the first other than the source; false: there is a second. */
static bool add_other(const struct kvmig__check *c, const char *node, const char **other)
{
    if (!node || kvmig__host_names_match(node, c->source->name) || kvmig__host_names_match(node, *other))
        return true;
    if (*other)
        return false;
    *other = node;
    return true;
}

const char *kvmig__observed_target(const struct kvmig__check *c)
{
    const struct kvmig__facts *facts = c->view->facts;
    const char *other = NULL;
    bool only = true;

    if (!facts || kvmig__view_find_host(c->view, c->target->name) == c->target)
        return c->target->name;
    for (size_t i = 0; i < facts->mounts.n; i++)
        only = only && add_other(c, facts->mounts.v[i].node, &other);
    for (size_t i = 0; i < facts->certificates.n; i++)
        only = only && add_other(c, facts->certificates.v[i].node, &other);
    for (size_t i = 0; i < facts->port_hosts.n; i++)
        only = only && add_other(c, facts->port_hosts.v[i].host, &other);
    return only ? other : NULL;
}

static const struct kvmig__fact_versions *side_of(const struct kvmig__check *c, const struct kvmig__host *host)
{
    const struct kvmig__facts *facts = c->view->facts;

    if (!facts || (host != c->source && host != c->target))
        return NULL;
    return host == c->source ? &facts->source : &facts->target;
}

uint64_t kvmig__qemu_of(const struct kvmig__check *c, const struct kvmig__host *host)
{
    const struct kvmig__fact_versions *told = side_of(c, host);

    return host->qemu_version || !told ? host->qemu_version : told->qemu;
}

uint64_t kvmig__libvirt_of(const struct kvmig__check *c, const struct kvmig__host *host)
{
    const struct kvmig__fact_versions *told = side_of(c, host);

    return host->libvirt_version || !told ? host->libvirt_version : told->libvirt;
}

/* KubeVirt opens several connections by itself, unless the guest's CPUs are counted. */
static bool has_parallel(const struct kvmig__kube_check *c)
{
    uint64_t limit = kvmig__amounts_get(&c->vmi->domain.limits, "cpu");

    if (c->request->parallel_connections > 1)
        return true;
    if (kvmig__kubevirt_is_at_least(c, 1, 6) != 1 || (limit != KVMIG__UNKNOWN && limit))
        return false;
    return kvmig__kubevirt_is_at_least(c, 1, 9) == 1 ? !c->vmi->domain.dedicated_cpus : c->config->post_copy <= 0;
}

static void note_parallel(const struct kvmig__kube_check *c, const struct kvmig__facts *facts)
{
    uint64_t source = facts->source.qemu, target = facts->target.qemu;
    struct kvmig__detail d = { 0 };

    if (source < KVMIG__VERSION(7, 1, 0) || source >= KVMIG__VERSION(7, 2, 0) || target < KVMIG__VERSION(9, 2, 0) ||
        !has_parallel(c))
        return;
    kvmig__detail_str(&d, "component", "qemu");
    kvmig__detail_version(&d, "source", source);
    kvmig__detail_version(&d, "target", target);
    kvmig__kube_note(c, "MULTIFD_VERSION_SKEW", KVMIG_SEVERITY_WARN, kvmig__object_request(), &d,
                     "Use one connection: KubeVirt does so for a VM with a CPU limit.",
                     "Parallel connections from QEMU 7.1 to 9.2 or later are known to fail.");
}

/* What the running guest has stands in the status of its VMI, with a version; older KubeVirt does not tell it. */
static void note_alias(const struct kvmig__kube_check *c, const struct kvmig__facts *facts)
{
    const char *machine = c->vmi->machine && *c->vmi->machine ? c->vmi->machine : c->vmi->domain.machine;
    uint64_t source = facts->source.qemu, target = facts->target.qemu;
    struct kvmig__detail d = { 0 };

    if (!machine || !*machine || kvmig__machine_has_version(machine) || !source || !target ||
        source / 1000 == target / 1000)
        return;
    kvmig__detail_str(&d, "machine", machine);
    kvmig__detail_version(&d, "source_qemu", source);
    kvmig__detail_version(&d, "target_qemu", target);
    kvmig__kube_note(c, "MACHINE_TYPE_ALIAS", KVMIG_SEVERITY_WARN, kvmig__kube_object_vm(c), &d,
                     "See status.machine.type of the VMI; give the VM a machine type with a version.",
                     "The machine type %s is a name without a version, and means other virtual hardware on the target.",
                     machine);
}

void kvmig__kube_check_versions(const struct kvmig__kube_check *c, const struct kvmig__facts *facts)
{
    struct kvmig__detail d = { 0 };
    char *have, *need;

    if (!facts)
        return;
    note_parallel(c, facts);
    note_alias(c, facts);
    if (!facts->source.qemu || !facts->target.qemu || facts->target.qemu / 1000 >= facts->source.qemu / 1000)
        return;
    have = kvmig__version_text(facts->target.qemu);
    need = kvmig__version_text(facts->source.qemu);
    kvmig__detail_str(&d, "source", need);
    kvmig__detail_str(&d, "target", have);
    kvmig__kube_note(c, "QEMU_OLDER", KVMIG_SEVERITY_WARN, kvmig__kube_object_vm(c), &d,
                     "Let KubeVirt be rolled back on no node while VMs of the newer one run.",
                     "QEMU in the launcher of the target (%s) is older than in that of the source (%s).", have, need);
    free(have);
    free(need);
}
