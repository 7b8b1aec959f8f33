/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a case is about: the VM, its migration, and the hosts, from what was asked and, if nothing was, from the only one there is. Files
 * that name no VM are no error: a message alone can be explained. Pure.
 */
#include "diagnose/diagnose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int32_t fail(int32_t code, const char *vm, const char *hint, const char *message)
{
    return kvmig__fail(kvmig__error_new(code, "kvmig_cluster_diagnose: vm", vm, hint, "%s", message));
}

static const struct kvmig__kube_vmi *only_vmi(const struct kvmig__kube *kube)
{
    return kube->kinds[KVMIG__KUBE_VMI].n == 1 ? (const struct kvmig__kube_vmi *)kube->kinds[KVMIG__KUBE_VMI].v[0]
                                               : NULL;
}

/* Of a VM that only migrations speak of, the newest one; asked by name or not. */
static const struct kvmig__kube_vmim *migration_of(const struct kvmig__case *c, const char *ns, const char *name)
{
    const struct kvmig__kube_vmim *best = NULL;

    for (size_t i = 0; i < c->kube->kinds[KVMIG__KUBE_VMIM].n; i++) {
        const struct kvmig__kube_vmim *vmim = (const struct kvmig__kube_vmim *)c->kube->kinds[KVMIG__KUBE_VMIM].v[i];

        if ((ns && !kvmig__str_eq(vmim->meta.ns, ns)) || (name && !kvmig__str_eq(vmim->vmi, name)) ||
            (c->ask->migration && !kvmig__str_eq(vmim->meta.name, c->ask->migration)))
            continue;
        if (!best || vmim->meta.created_ms > best->meta.created_ms)
            best = vmim;
    }
    return best;
}

static int32_t find_in_kube(struct kvmig__case *c)
{
    const char *vm = c->ask->plan.vm, *slash = vm ? strchr(vm, '/') : NULL;
    bool ambiguous = false;

    c->vmi = vm ? kvmig__kube_vmi(c->kube, vm, &ambiguous) : only_vmi(c->kube);
    if (ambiguous)
        return fail(KVMIG_EAMBIGUOUS, vm, "Write NAMESPACE/NAME.", "VMs of several namespaces have that name");
    if (c->vmi && !c->ask->migration) {
        c->vmim = kvmig__kube_vmim_of(c->kube, c->vmi);
    } else if (c->vmi) {
        c->vmim = migration_of(c, c->vmi->meta.ns, c->vmi->meta.name);
    } else {
        char *ns = slash ? kvmig__strndup(vm, (size_t)(slash - vm)) : NULL;

        c->vmim = migration_of(c, ns, slash ? slash + 1 : vm);
        free(ns);
    }
    return 0;
}

static void find_nodes(struct kvmig__case *c)
{
    const struct kvmig__kube_migration_state *state = NULL;

    if (c->vmim && c->vmim->state.present)
        state = &c->vmim->state;
    else if (c->vmi && c->vmi->migration.present &&
             (!c->vmim || kvmig__str_eq(c->vmi->migration.uid, c->vmim->meta.uid)))
        state = &c->vmi->migration;
    if (state) {
        c->source = state->source_node;
        c->target = state->target_node;
    }
    if (!c->source && c->vmi)
        c->source = c->vmi->node;
    if (c->ask->plan.source)
        c->source = c->ask->plan.source;
    if (c->ask->plan.target)
        c->target = c->ask->plan.target;
    if (c->report && !c->source)
        c->source = c->report->source;
    if (c->report && !c->target)
        c->target = c->report->target;
    if (!c->source && kvmig__case_seen(c, "source"))
        c->source = kvmig__case_seen(c, "source")->node;
    if (!c->target && kvmig__case_seen(c, "target"))
        c->target = kvmig__case_seen(c, "target")->node;
}

/* Not asked by name: the one that was looked at; NULL = none was. */
static const char *seen_domain(const struct kvmig__case *c)
{
    for (size_t i = 0; i < c->facts->states.n; i++)
        if (c->facts->states.v[i].domain)
            return c->facts->states.v[i].domain;
    return NULL;
}

static void find_domain(struct kvmig__case *c)
{
    const char *wanted = c->ask->plan.vm ? c->ask->plan.vm : seen_domain(c);

    for (size_t i = 0; i < c->view->hosts.n; i++) {
        const struct kvmig__host *host = c->view->hosts.v[i];

        for (size_t k = 0; k < host->domains.n && !c->domain; k++)
            if (!wanted || kvmig__str_eq(host->domains.v[k].name, wanted) ||
                kvmig__str_eq(host->domains.v[k].uuid, wanted))
                c->domain = &host->domains.v[k];
    }
}

static char *name_vm(const struct kvmig__case *c)
{
    if (c->vmi)
        return kvmig__asprintf("%s/%s", c->vmi->meta.ns ? c->vmi->meta.ns : "", c->vmi->meta.name);
    if (c->vmim)
        return kvmig__asprintf("%s/%s", c->vmim->meta.ns ? c->vmim->meta.ns : "", c->vmim->vmi ? c->vmim->vmi : "");
    if (c->domain)
        return kvmig__strdup(c->domain->name);
    if (c->ask->plan.vm)
        return kvmig__strdup(c->ask->plan.vm);
    if (seen_domain(c))
        return kvmig__strdup(seen_domain(c));
    return c->report ? kvmig__strdup(c->report->vm) : NULL;
}

int32_t kvmig__diagnose_subject(struct kvmig__case *c)
{
    const int32_t rc = c->kube ? find_in_kube(c) : 0;

    if (rc < 0)
        return rc;
    if (!c->vmi && !c->vmim)
        find_domain(c);
    c->report = kvmig__report_of(c, c->vmi ? c->vmi->meta.name : c->domain ? c->domain->name : c->ask->plan.vm);
    c->vm = name_vm(c);
    find_nodes(c);
    c->vm_object = c->vm ? kvmig__asprintf("vm/%s", c->vm) : kvmig__strdup("vm");
    return 0;
}
