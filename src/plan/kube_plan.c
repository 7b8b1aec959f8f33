/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner for KubeVirt: finds the VMI, judges it, the request and every node but its own, chooses the target and gives the
 * verdict. The checks themselves are in the other kube_*.c. Pure: same view and request, same plan; nothing is changed. Any thread;
 * the plan belongs to the caller (kvmig_plan_unref()).
 *
 * Nodes may be unknown (no right to read them, or not in the files given): then the VM alone is judged, the target that the caller
 * names is taken as it is, and there are no candidates.
 */
#include "plan/facts_checks.h"
#include "plan/kube_lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WHERE "planning a migration"

/* One planning, from start to end. */
struct planning {
    const struct kvmig__view *view;
    const struct kvmig__kube *kube;
    const struct kvmig__request *request;
    struct kvmig__kube_check check; /* of the VM alone */
    struct kvmig__kube_vmi
        located; /* the VMI with the node that its launcher tells; what it points to is the store's */
    struct kvmig__kube_config config;
    struct kvmig__kube_index index;
    struct kvmig__wires wires; /* of the VM; empty without facts */
    const struct kvmig__kube_node *asked; /* target; NULL if none is asked for, or nodes are not known */
    const struct kvmig__kube_whatif *whatif; /* NULL = as it is */
    struct kvmig_findings common; /* about the VM, the request and the cluster */
    struct kvmig_plan *plan;
};

/* ---- finding the VM and the nodes ---- */

static int32_t fail_not_found(const struct kvmig__kube *kube, const char *vm)
{
    const char *slash = strchr(vm, '/');
    bool stopped = false;

    KVMIG__KUBE_EACH(kube, VM, object)
    {
        stopped = stopped || kvmig__str_eq(object->meta.name, slash ? slash + 1 : vm);
    }
    return kvmig__fail(kvmig__error_new(KVMIG_ENOVM, WHERE, stopped ? "there is a VirtualMachine of that name" : NULL,
                                        stopped ? "Start it: only a running VM can be live-migrated."
                                                : "Name it as NAMESPACE/NAME, or by its UID.",
                                        "No running VM %s is in the view.", vm));
}

static int32_t fail_ambiguous(const struct kvmig__kube *kube, const char *vm)
{
    struct kvmig__strlist names = { 0 };
    char *evidence;
    int32_t rc;

    KVMIG__KUBE_EACH(kube, VMI, vmi)
    {
        if (kvmig__str_eq(vmi->meta.name, vm))
            kvmig__strlist_add(&names, vmi->meta.ns);
    }
    evidence = kvmig__strlist_join(&names, ", ");
    rc = kvmig__fail(kvmig__error_new(KVMIG_EAMBIGUOUS, WHERE, evidence, "Name it as NAMESPACE/NAME.",
                                      "Several namespaces have a VM %s.", vm));
    free(evidence);
    kvmig__strlist_clear(&names);
    return rc;
}

static int32_t find_vmi(const struct kvmig__kube *kube, const char *vm, const struct kvmig__kube_vmi **out)
{
    bool ambiguous;

    *out = kvmig__kube_vmi(kube, vm, &ambiguous);
    if (*out)
        return 0;
    return ambiguous ? fail_ambiguous(kube, vm) : fail_not_found(kube, vm);
}

static int32_t check_source(const struct kvmig__request *request, const struct kvmig__kube_vmi *vmi)
{
    if (!request->source || !vmi->node || !strcmp(request->source, vmi->node))
        return 0;
    return kvmig__fail(kvmig__error_new(KVMIG_ENOVM, WHERE, NULL, "Leave source unset to have the VM found.",
                                        "Node %s does not run VM %s; it runs on %s.", request->source, vmi->meta.name,
                                        vmi->node));
}

static int32_t find_target(struct planning *p)
{
    if (!p->request->target || !kvmig__kube_is_known(p->kube, KVMIG__KUBE_NODE))
        return 0;
    p->asked = KVMIG__KUBE_FIND(p->kube, NODE, NULL, p->request->target);
    if (p->asked)
        return 0;
    return kvmig__fail(kvmig__error_new(KVMIG_ENOHOST, WHERE ", option target", NULL,
                                        "Use a node's name as kvmig_cluster_to_json() lists them.",
                                        "No node of the view is called %s.", p->request->target));
}

/* A VMI without a status is where its launcher is, or where the caller says. */
static void locate_by_launcher(struct planning *p)
{
    const char *node = p->check.pod && p->check.pod->node ? p->check.pod->node : p->request->source;

    if (p->check.vmi->node || !node)
        return;
    p->located = *p->check.vmi;
    p->located.node = (char *)node;
    p->check.vmi = &p->located;
}

/* Everything that the checks may ask for again and again. */
static int32_t locate(struct planning *p)
{
    struct kvmig__kube_check *c = &p->check;
    const struct kvmig__kube_vmim *vmim;
    int32_t rc = find_vmi(p->kube, p->request->vm, &c->vmi);

    if (rc == 0)
        rc = check_source(p->request, c->vmi);
    if (rc == 0)
        rc = find_target(p);
    if (rc == 0)
        rc = kvmig__kube_check_choice(p->kube, p->request);
    if (rc < 0)
        return rc;
    vmim = kvmig__kube_vmim_of(p->kube, c->vmi);
    c->kube = p->kube;
    c->request = p->request;
    c->whatif = p->whatif;
    c->vm = KVMIG__KUBE_FIND(p->kube, VM, c->vmi->meta.ns, c->vmi->meta.name);
    c->kubevirt = kvmig__kube_kubevirt(p->kube);
    c->vmim = vmim && !kvmig__vmim_is_final(vmim) ? vmim : NULL;
    c->pod = kvmig__kube_source_pod(p->kube, c->vmi);
    locate_by_launcher(p);
    c->source = KVMIG__KUBE_FIND(p->kube, NODE, NULL, c->vmi->node);
    c->config = &p->config;
    c->out = &p->common;
    kvmig__kube_config_for(p->kube, c->vmi, &p->config, &c->policy);
    kvmig__kube_index_init(&p->index, c);
    c->index = &p->index;
    return 0;
}

/* ---- the VM alone ---- */

static bool target_is_source(const struct planning *p)
{
    return p->request->target && kvmig__str_eq(p->request->target, p->check.vmi->node);
}

static void judge_common(struct planning *p)
{
    const struct kvmig__kube_check *c = &p->check;

    kvmig__kube_check_state(c);
    kvmig__kube_check_launcher(c);
    kvmig__kube_check_source_node(c);
    kvmig__kube_check_flight(c);
    kvmig__kube_check_domain(c);
    kvmig__kube_check_network(c);
    kvmig__kube_check_volumes(c);
    kvmig__kube_check_storage(c);
    kvmig__kube_check_move(c);
    kvmig__kube_check_host_model(c);
    kvmig__kube_check_condition(c);
    kvmig__kube_check_pins(c);
    kvmig__kube_check_quota(c);
    kvmig__kube_check_options(c);
    kvmig__kube_check_waits(c);
    kvmig__kube_check_forbidden(c);
    kvmig__kube_check_versions(c, c->facts);
    kvmig__check_facts(&p->wires, &p->common);
    if (target_is_source(p))
        kvmig__kube_note(c, "TARGET_IS_SOURCE", KVMIG_SEVERITY_BLOCKER, kvmig__asprintf("node/%s", c->vmi->node), NULL,
                         "Choose another node, or leave target unset.", "The VM is already on %s.", c->vmi->node);
}

/* ---- the targets ---- */

/* Without Node objects: what other objects say of the target that was named, or of any target. */
static void judge_unseen(struct planning *p)
{
    struct kvmig__kube_check c = p->check;

    if (kvmig__kube_is_known(p->kube, KVMIG__KUBE_NODE) || target_is_source(p))
        return;
    c.target_name = p->request->target;
    kvmig__kube_check_reach(&c);
    kvmig__check_facts_target(&p->wires, c.target_name, c.out);
}

/* ---- the choice ---- */

/* Fills the empty *out; false = there is none. */
static bool choose(const struct planning *p, struct kvmig__candidate *out)
{
    const struct kvmig__kube_lazy *lazy = p->plan->lazy;
    size_t node = p->asked ? kvmig__kube_base_find(p->index.base, p->asked->meta.name) : kvmig__kube_lazy_best(lazy);

    if (node == KVMIG__NO_NODE || lazy->class_of[node] == KVMIG__NO_CLASS)
        return false;
    kvmig__kube_lazy_write(lazy, node, out);
    return true;
}

static void note_no_target(struct planning *p)
{
    struct kvmig__detail d = { 0 };

    if (kvmig__findings_worst(&p->common) == KVMIG_SEVERITY_BLOCKER || !kvmig__kube_is_known(p->kube, KVMIG__KUBE_NODE))
        return;
    kvmig__plan_detail_blockers(&d, p->plan);
    if (p->request->exclude.n)
        kvmig__detail_list(&d, "excluded", &p->request->exclude);
    kvmig__kube_note(&p->check, "NO_FEASIBLE_TARGET", KVMIG_SEVERITY_BLOCKER, kvmig__strdup("cluster"), &d,
                     p->plan->lazy->n ? "See the findings of each candidate." : "Add other nodes to the cluster.",
                     p->plan->lazy->n ? "No other node can take VM %s." : "There is no other node for VM %s.",
                     p->check.vmi->meta.name);
}

static void take_disks(struct planning *p)
{
    struct kvmig_plan *plan = p->plan;

    for (size_t i = 0; i < plan->lazy->disks.n; i++)
        kvmig__disk_plan_copy(KVMIG__PUSH(&plan->disks), &plan->lazy->disks.v[i]);
    kvmig__kube_check_copies(&p->check, plan->disks.v, plan->disks.n);
}

static void candidate_clear(struct kvmig__candidate *candidate)
{
    free(candidate->host);
    kvmig__findings_clear(&candidate->findings);
    for (size_t i = 0; i < candidate->disks.n; i++)
        kvmig__disk_plan_clear(&candidate->disks.v[i]);
    free(candidate->disks.v);
}

/* What is found about the forecast is about the VM, and holds for each candidate. */
static void forecast(struct planning *p, const char *target)
{
    struct kvmig__forecast_facts facts;
    struct kvmig_findings found = { 0 };
    char *object = kvmig__kube_object_vm(&p->check);

    kvmig__forecast_facts_kube(p->view, &p->check, p->plan, target, &facts);
    kvmig__forecast_make(p->request, &facts, &p->plan->forecast);
    kvmig__forecast_findings(p->request, &facts, &p->plan->forecast, object, &found);
    if (kvmig__findings_worst(&found) > p->plan->lazy->common_worst)
        p->plan->lazy->common_worst = kvmig__findings_worst(&found);
    kvmig__findings_append(&p->common, &found);
    kvmig__findings_clear(&found);
    free(object);
}

/* Is there a node that the scheduler may take, and that is not the one asked for, or one that was excluded? */
static bool may_go_elsewhere(const struct planning *p, bool found, const struct kvmig__candidate *candidate)
{
    size_t counts[KVMIG_VERDICT_SOURCE + 1] = { 0 };
    size_t fit = p->plan->lazy->n;

    if (p->request->exclude.n || p->request->target_labels.n)
        return true;
    if (!p->request->target)
        return false;
    kvmig__kube_lazy_count(p->plan->lazy, counts);
    fit -= counts[KVMIG_VERDICT_BLOCKED];
    return fit > (found && candidate->verdict != KVMIG_VERDICT_BLOCKED ? 1 : 0);
}

static void check_pinning(struct planning *p, bool found, const struct kvmig__candidate *candidate)
{
    const struct kvmig__request *request = p->request;

    if (!found && !request->target && !request->exclude.n && !request->target_labels.n)
        return;
    kvmig__kube_check_pinning(&p->check, may_go_elsewhere(p, found, candidate));
    if (kvmig__findings_worst(&p->common) > p->plan->lazy->common_worst)
        p->plan->lazy->common_worst = kvmig__findings_worst(&p->common);
}

static void conclude(struct planning *p)
{
    struct kvmig__candidate candidate = { 0 };
    bool found = choose(p, &candidate);
    struct kvmig_plan *plan = p->plan;

    if (!found && !p->request->target)
        note_no_target(p);
    check_pinning(p, found, &candidate);
    take_disks(p);
    forecast(p, found ? candidate.host : p->request->target);
    plan->verdict = kvmig__verdict_of(&p->common, &candidate.findings);
    if (found || p->request->target)
        plan->target = kvmig__strdup(found ? candidate.host : p->request->target);
    kvmig__findings_append(&plan->findings, &p->common);
    kvmig__findings_append(&plan->findings, &candidate.findings);
    if (kvmig__findings_has(&p->common, "NO_FEASIBLE_TARGET"))
        kvmig__plan_append_blockers(plan);
    kvmig__findings_sort(&plan->findings);
    candidate_clear(&candidate);
}

/* ---- the plan ---- */

static struct kvmig_plan *plan_of(const struct kvmig__kube_vmi *vmi)
{
    struct kvmig_plan *plan = kvmig__calloc(1, sizeof(*plan));
    const struct kvmig__kube_condition *paused = kvmig__kube_condition(&vmi->conditions, "Paused");

    plan->refs = 1;
    plan->kube = true;
    plan->vm = kvmig__asprintf("%s/%s", vmi->meta.ns ? vmi->meta.ns : "default", vmi->meta.name);
    plan->uuid = kvmig__strdup(vmi->meta.uid);
    plan->source = kvmig__strdup(vmi->node);
    plan->persistent = true; /* the objects stay, wherever the guest runs */
    plan->was_paused = paused && kvmig__str_eq(paused->status, "True") && kvmig__str_eq(paused->reason, "PausedByUser");
    return plan;
}

static void begin_wires(struct planning *p)
{
    if (!p->check.facts)
        return;
    kvmig__wires_of_vmi(&p->wires, &p->check);
    p->check.wires = &p->wires;
}

static int32_t make(struct planning *p, struct kvmig_plan **out_plan)
{
    int32_t rc = locate(p);

    if (rc < 0)
        return rc;
    p->plan = plan_of(p->check.vmi);
    kvmig__request_copy(&p->plan->request, p->request);
    begin_wires(p);
    judge_common(p);
    p->plan->lazy = kvmig__kube_judge(&p->check, &p->common);
    judge_unseen(p);
    conclude(p);
    kvmig__findings_clear(&p->common);
    kvmig__kube_config_clear(&p->config);
    kvmig__kube_index_clear(&p->index);
    kvmig__wires_clear(&p->wires);
    *out_plan = p->plan;
    return 0;
}

/* The store is changed by nothing but its look-ups, which are made for this plan unless they are kept. */
int32_t kvmig__plan_kube_whatif(const struct kvmig__view *view, const struct kvmig__request *request,
                                const struct kvmig__kube_whatif *whatif, struct kvmig_plan **out_plan)
{
    struct planning p = {
        .view = view, .kube = view->kube, .request = request, .whatif = whatif, .check = { .facts = view->facts }
    };
    struct kvmig__kube *kube = (struct kvmig__kube *)view->kube;
    const bool had = kube->lookup;
    int32_t rc;

    *out_plan = NULL;
    kvmig__kube_lookup_make(kube);
    rc = make(&p, out_plan);
    if (!had && !kube->keeps_lookup)
        kvmig__kube_lookup_drop(kube);
    return rc;
}

int32_t kvmig__plan_kube_make(const struct kvmig__view *view, const struct kvmig__request *request,
                              struct kvmig_plan **out_plan)
{
    return kvmig__plan_kube_whatif(view, request, NULL, out_plan);
}

/* ---- following what somebody else started ---- */

static int32_t fail_no_migration(const char *vm, const char *vmim)
{
    if (vmim && *vmim)
        return kvmig__fail(
            kvmig__error_new(ENOENT, WHERE, NULL, "KubeVirt keeps the newest five of a VM; older ones are gone.",
                             "There is no migration %s%s%s.", vmim, vm && *vm ? " of VM " : "", vm && *vm ? vm : ""));
    return kvmig__fail(kvmig__error_new(ENOENT, WHERE, NULL, "Name the migration, if it is over already.",
                                        "No migration of VM %s is under way.", vm));
}

/* By name, in the VM's namespace unless the name has one; without a VM, in any. */
static const struct kvmig__kube_vmim *find_vmim(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi,
                                                const char *name, size_t *out_n)
{
    const char *slash = strchr(name, '/');
    const struct kvmig__kube_vmim *found = NULL;

    *out_n = 0;
    KVMIG__KUBE_EACH(kube, VMIM, vmim)
    {
        const char *ns = vmim->meta.ns ? vmim->meta.ns : "";

        if (!kvmig__str_eq(vmim->meta.name, slash ? slash + 1 : name) ||
            (slash && (strlen(ns) != (size_t)(slash - name) || strncmp(ns, name, strlen(ns)) != 0)) ||
            (vmi && (!kvmig__str_eq(vmim->meta.ns, vmi->meta.ns) || !kvmig__str_eq(vmim->vmi, vmi->meta.name))))
            continue;
        found = vmim;
        (*out_n)++;
    }
    return *out_n == 1 ? found : NULL;
}

static int32_t locate_migration(const struct kvmig__kube *kube, const char *vm, const char *vmim,
                                const struct kvmig__kube_vmi **out_vmi, const struct kvmig__kube_vmim **out_vmim)
{
    bool named = vmim && *vmim, has_vm = vm && *vm;
    size_t n = 0;
    int32_t rc = has_vm ? find_vmi(kube, vm, out_vmi) : 0;

    if (rc < 0)
        return rc;
    if (named)
        *out_vmim = find_vmim(kube, *out_vmi, vmim, &n);
    else if (*out_vmi)
        *out_vmim = kvmig__kube_vmim_of(kube, *out_vmi);
    if (n > 1)
        return kvmig__fail(kvmig__error_new(KVMIG_EAMBIGUOUS, WHERE, NULL, "Name it as NAMESPACE/NAME.",
                                            "Several namespaces have a migration %s.", vmim));
    if (!*out_vmim || (!named && kvmig__vmim_is_final(*out_vmim)))
        return fail_no_migration(vm, vmim);
    if (!*out_vmi)
        *out_vmi = KVMIG__KUBE_FIND(kube, VMI, (*out_vmim)->meta.ns, (*out_vmim)->vmi);
    return *out_vmi ? 0 : fail_not_found(kube, (*out_vmim)->vmi ? (*out_vmim)->vmi : "(unnamed)");
}

/* Of the VMI's state only what is about this migration; the VMIM's own is complete at its end. */
static const struct kvmig__kube_migration_state *state_of(const struct kvmig__kube_vmi *vmi,
                                                          const struct kvmig__kube_vmim *vmim)
{
    if (vmim->meta.uid && kvmig__str_eq(vmi->migration.uid, vmim->meta.uid))
        return &vmi->migration;
    return &vmim->state;
}

int32_t kvmig__plan_kube_attach(const struct kvmig__view *view, const char *vm, const char *vmim,
                                struct kvmig_plan **out_plan)
{
    const struct kvmig__kube_vmim *migration = NULL;
    const struct kvmig__kube_migration_state *state;
    const struct kvmig__kube_vmi *vmi = NULL;
    const struct kvmig__kube_pod *pod;
    struct kvmig_plan *plan;
    int32_t rc;

    *out_plan = NULL;
    rc = locate_migration(view->kube, vm, vmim, &vmi, &migration);
    if (rc < 0)
        return rc;
    plan = plan_of(vmi);
    plan->attached = true;
    plan->verdict = KVMIG_VERDICT_MIGRATABLE;
    plan->request.vm = kvmig__strdup(plan->vm);
    state = state_of(vmi, migration);
    pod = kvmig__kube_target_pod(view->kube, migration);
    if (state->source_node)
        kvmig__str_set(&plan->source, state->source_node);
    kvmig__str_set(&plan->target, state->target_node ? state->target_node : pod ? pod->node : NULL);
    *out_plan = plan;
    return 0;
}
