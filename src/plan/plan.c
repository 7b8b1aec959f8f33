/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner: finds the VM, judges it, the request and every other host, chooses the target and gives the verdict. The
 * checks themselves are in checks_*.c. Pure: same view, request and slots, same plan; nothing is changed. Any thread; the
 * plan belongs to the caller (kvmig_plan_unref()).
 */
#include "plan/facts_checks.h"
#include "plan/locate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One planning, from start to end. */
struct planning {
    const struct kvmig__view *view;
    const struct kvmig__request *request;
    const struct kvmig__slots *slots;
    struct kvmig__located vm;
    const struct kvmig__host *asked; /* target */
    struct kvmig_findings common; /* about the VM, the request and the source */
    struct kvmig__paths busy; /* of the active domains in the view */
    struct kvmig__wires wires; /* of the VM; empty without facts */
    struct kvmig_plan *plan;
};

static struct kvmig__check check_of(const struct planning *p, const struct kvmig__host *target,
                                    struct kvmig_findings *out)
{
    return (struct kvmig__check){ p->view, p->request, p->vm.source, p->vm.domain, target, out, &p->busy };
}

/* ---- limits ---- */

static void check_limit(const struct kvmig__check *c, char *object, uint32_t active, uint32_t limit, const char *what)
{
    struct kvmig__detail d = { 0 };

    /* 0 is "not given": a limit of none would hold everything back for ever. */
    if (limit == KVMIG_UNLIMITED || !limit || active < limit) {
        free(object);
        return;
    }
    kvmig__detail_uint(&d, "active", active);
    kvmig__detail_uint(&d, "limit", limit);
    kvmig__note(c, "LIMIT_REACHED", KVMIG_SEVERITY_INFO, object, &d, "It waits for a slot; or raise the limit.",
                "%" PRIu32 " of at most %" PRIu32 " migrations %s are running.", active, limit, what);
}

static size_t host_index(const struct kvmig__view *view, const struct kvmig__host *host)
{
    size_t i = 0;

    while (i < view->hosts.n && view->hosts.v[i] != host)
        i++;
    return i;
}

static void check_common_limits(const struct planning *p, const struct kvmig__check *c)
{
    const struct kvmig__slots *slots = p->slots;

    if (!slots)
        return;
    check_limit(c, kvmig__strdup("cluster"), slots->running, slots->max_migrations, "in the view");
    if (slots->per_host)
        check_limit(c, kvmig__object_node(p->vm.source), slots->per_host[host_index(p->view, p->vm.source)].out,
                    slots->max_outbound, "from the source");
}

static void check_target_limit(const struct planning *p, const struct kvmig__check *c)
{
    if (p->slots && p->slots->per_host && host_index(p->view, c->target) < p->view->hosts.n)
        check_limit(c, kvmig__object_node(c->target), p->slots->per_host[host_index(p->view, c->target)].in,
                    p->slots->max_inbound, "to the target");
}

/* ---- what does not depend on the target ---- */

static void check_source(const struct planning *p, const struct kvmig__check *c)
{
    const struct kvmig__host *source = p->vm.source, *twin = kvmig__locate_twin(p->view, &p->vm);
    const char *error = source->lost_error ? kvmig_error_message(source->lost_error) : NULL;
    struct kvmig__detail d = { 0 };

    if (source->state != KVMIG__HOST_UP) {
        kvmig__detail_str(&d, "uri", source->uri);
        kvmig__detail_str(&d, "error", error);
        kvmig__note(c, "SOURCE_UNREACHABLE", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(source), &d,
                    "Check that libvirt runs there; until it answers, nothing may be done with its VMs.",
                    "The VM was last seen on %s, which does not answer%s%s.", source->name, error ? ": " : "",
                    error ? error : "");
    }
    if (twin) {
        kvmig__detail_str(&d, "host", twin->name);
        kvmig__note(c, "VM_ALSO_ON_LOST_HOST", KVMIG_SEVERITY_WARN, kvmig__object_vm(p->vm.domain), &d,
                    "Make sure that it no longer runs there (kvmig_location).",
                    "Host %s, which does not answer now, showed the same VM as active, too.", twin->name);
    }
    if (p->asked == source)
        kvmig__note(c, "TARGET_IS_SOURCE", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(source), &d,
                    "Choose another host, or leave target unset.", "The VM is already on %s.", source->name);
}

static void judge_common(struct planning *p)
{
    struct kvmig__check c = check_of(p, NULL, &p->common);

    check_source(p, &c);
    kvmig__check_request(&c);
    kvmig__check_domain(&c);
    kvmig__check_cpu(&c);
    check_common_limits(p, &c);
    kvmig__check_facts(&p->wires, &p->common);
}

/* ---- verdicts ---- */

int32_t kvmig__verdict_from(int32_t worst, bool limited)
{
    if (worst == KVMIG_SEVERITY_BLOCKER)
        return KVMIG_VERDICT_BLOCKED;
    if (limited)
        return KVMIG_VERDICT_QUEUED;
    return worst >= KVMIG_SEVERITY_WARN ? KVMIG_VERDICT_MIGRATABLE_WITH_RISK : KVMIG_VERDICT_MIGRATABLE;
}

int32_t kvmig__verdict_of(const struct kvmig_findings *common, const struct kvmig_findings *own)
{
    int32_t worst = kvmig__findings_worst(common), other = kvmig__findings_worst(own);

    return kvmig__verdict_from(other > worst ? other : worst, kvmig__findings_has(common, "LIMIT_REACHED") ||
                                                                  kvmig__findings_has(own, "LIMIT_REACHED"));
}

/* After something was found about the VM. */
static void judge_again(struct kvmig_plan *plan, const struct kvmig_findings *common)
{
    for (size_t i = 0; i < plan->candidates.n; i++) {
        struct kvmig__candidate *candidate = &plan->candidates.v[i];

        if (candidate->verdict != KVMIG_VERDICT_SOURCE)
            candidate->verdict = kvmig__verdict_of(common, &candidate->findings);
    }
}

/* ---- one target ---- */

static void judge(const struct planning *p, const struct kvmig__host *target, struct kvmig__candidate *out)
{
    struct kvmig__check c = check_of(p, target, &out->findings);

    out->host = kvmig__strdup(target->name);
    kvmig__check_host(&c);
    if (target->state == KVMIG__HOST_UP) {
        kvmig__check_cpu(&c);
        kvmig__check_network(&c);
        kvmig__plan_disks(&c, &out->disks.v, &out->disks.n);
        kvmig__check_request_target(&c, out->disks.v, out->disks.n);
        kvmig__check_known_problems(&c, out->disks.v, out->disks.n);
        check_target_limit(p, &c);
    }
    kvmig__check_certificates(&c);
    kvmig__check_facts_target(&p->wires, kvmig__observed_target(&c), &out->findings);
    kvmig__findings_sort(&out->findings);
    out->verdict = kvmig__verdict_of(&p->common, &out->findings);
    kvmig__candidate_rank(out, p->request, p->vm.domain, p->vm.source, target);
}

static void judge_candidates(struct planning *p)
{
    for (size_t i = 0; i < p->view->hosts.n; i++) {
        const struct kvmig__strlist *skip = p->request->skip;

        if (p->view->hosts.v[i] != p->vm.source && !(skip && kvmig__strlist_has(skip, p->view->hosts.v[i]->name)) &&
            !kvmig__host_is_named(p->view->hosts.v[i], &p->request->exclude))
            judge(p, p->view->hosts.v[i], KVMIG__PUSH(&p->plan->candidates));
    }
    kvmig__candidates_sort(&p->plan->candidates);
}

/* Files need not name a target, but may tell of it (versions, mounts, ...): then the VM is judged against one without a name, which is
 * no candidate. */
static void judge_unnamed(struct planning *p)
{
    struct kvmig__candidate unnamed = { .host = NULL };
    struct kvmig__host *host = kvmig__host_new();

    host->name = kvmig__strdup("target");
    host->state = KVMIG__HOST_UP;
    host->from_files = true;
    if (p->view->facts) {
        host->qemu_version = p->view->facts->target.qemu;
        host->libvirt_version = p->view->facts->target.libvirt;
    }
    judge(p, host, &unnamed);
    kvmig__findings_append(&p->common, &unnamed.findings);
    p->plan->disks.v = unnamed.disks.v;
    p->plan->disks.n = unnamed.disks.n;
    kvmig__findings_clear(&unnamed.findings);
    free(unnamed.host);
    kvmig__host_free(host);
}

/* ---- the choice ---- */

static const struct kvmig__candidate *chosen(const struct planning *p)
{
    for (size_t i = 0; i < p->plan->candidates.n; i++) {
        const struct kvmig__candidate *candidate = &p->plan->candidates.v[i];

        if (p->asked ? kvmig__str_eq(candidate->host, p->asked->name) : candidate->verdict != KVMIG_VERDICT_BLOCKED)
            return candidate;
    }
    return NULL;
}

/* In a large cluster the codes are the same over and over: some hosts by name, of the others the number. */
void kvmig__plan_detail_blockers(struct kvmig__detail *d, const struct kvmig_plan *plan)
{
    const struct kvmig__candidates *candidates = kvmig__plan_candidates(plan);

    for (size_t i = 0; i < candidates->n && i < KVMIG__NAMED_HOSTS; i++) {
        const struct kvmig__candidate *candidate = &candidates->v[i];
        struct kvmig__strlist codes = { 0 };

        for (size_t f = 0; f < candidate->findings.n; f++) {
            if (candidate->findings.v[f].severity == KVMIG_SEVERITY_BLOCKER)
                kvmig__strlist_add_new(&codes, candidate->findings.v[f].code);
        }
        kvmig__detail_list(d, candidate->host, &codes);
        kvmig__strlist_clear(&codes);
    }
    if (candidates->n > KVMIG__NAMED_HOSTS)
        kvmig__detail_uint(d, "other_hosts", candidates->n - KVMIG__NAMED_HOSTS);
}

/* Why there is no target, unless it is the VM itself that cannot move. */
static void note_no_target(struct planning *p)
{
    struct kvmig__check c = check_of(p, NULL, &p->common);
    struct kvmig__detail d = { 0 };

    if (kvmig__findings_worst(&p->common) == KVMIG_SEVERITY_BLOCKER)
        return;
    kvmig__plan_detail_blockers(&d, p->plan);
    if (p->request->exclude.n)
        kvmig__detail_list(&d, "excluded", &p->request->exclude);
    kvmig__note(&c, "NO_FEASIBLE_TARGET", KVMIG_SEVERITY_BLOCKER, kvmig__strdup("cluster"), &d,
                p->plan->candidates.n ? "See the findings of each candidate." : "Add other hosts to the view.",
                p->plan->candidates.n ? "No other host of the view can take %s." : "The view has no other host for %s.",
                p->vm.domain->name);
}

/* What keeps every host out is told once. */
static bool is_told(const struct kvmig_plan *plan, const struct kvmig_finding *finding)
{
    for (size_t i = 0; i < plan->findings.n; i++) {
        const struct kvmig_finding *told = &plan->findings.v[i];

        if (kvmig__str_eq(told->code, finding->code) && kvmig__str_eq(told->object, finding->object) &&
            kvmig__str_eq(told->detail, finding->detail))
            return true;
    }
    return false;
}

void kvmig__plan_append_blockers(struct kvmig_plan *plan)
{
    const struct kvmig__candidates *candidates = kvmig__plan_candidates(plan);

    for (size_t i = 0; i < candidates->n && i < KVMIG__NAMED_HOSTS; i++) {
        const struct kvmig_findings *findings = &candidates->v[i].findings;

        for (size_t f = 0; f < findings->n; f++) {
            struct kvmig_finding copy;

            if (findings->v[f].severity != KVMIG_SEVERITY_BLOCKER || is_told(plan, &findings->v[f]))
                continue;
            kvmig__finding_copy(&copy, &findings->v[f]);
            *KVMIG__PUSH(&plan->findings) = copy;
        }
    }
}

/* Nobody told of any other host: the VM is judged by itself. */
static bool is_alone(const struct planning *p)
{
    return p->vm.source->from_files && p->view->hosts.n == 1 && !p->asked;
}

static void take_disks(struct kvmig_plan *plan, const struct kvmig__candidate *from)
{
    for (size_t i = 0; i < from->disks.n; i++)
        kvmig__disk_plan_copy(KVMIG__PUSH(&plan->disks), &from->disks.v[i]);
}

static void plan_disks_alone(struct planning *p)
{
    struct kvmig_findings ignored = { 0 };
    struct kvmig__check c = check_of(p, NULL, &ignored);

    kvmig__plan_disks(&c, &p->plan->disks.v, &p->plan->disks.n);
    kvmig__findings_clear(&ignored);
}

/* What is found about the forecast is about the VM, and holds for each candidate. */
static void forecast(struct planning *p, const struct kvmig__candidate *candidate)
{
    struct kvmig__forecast_facts facts;
    struct kvmig_findings found = { 0 };
    char *object = kvmig__object_vm(p->vm.domain);

    kvmig__forecast_facts_host(p->view, p->request, p->vm.domain, p->vm.source, candidate, &facts);
    kvmig__forecast_make(p->request, &facts, &p->plan->forecast);
    kvmig__forecast_findings(p->request, &facts, &p->plan->forecast, object, &found);
    kvmig__findings_append(&p->common, &found);
    if (found.n)
        judge_again(p->plan, &p->common);
    kvmig__findings_clear(&found);
    free(object);
}

static void conclude(struct planning *p)
{
    const struct kvmig__candidate *candidate = chosen(p);
    const struct kvmig_findings none = { 0 };
    struct kvmig_plan *plan = p->plan;

    if (is_alone(p))
        judge_unnamed(p);
    else if (!candidate && !p->asked)
        note_no_target(p);
    forecast(p, candidate);
    plan->verdict = kvmig__verdict_of(&p->common, candidate ? &candidate->findings : &none);
    if (candidate)
        plan->target = kvmig__strdup(candidate->host);
    else if (p->asked)
        plan->target = kvmig__strdup(p->asked->name);
    if (candidate && candidate->disks.n)
        take_disks(plan, candidate);
    else if (!plan->disks.n)
        plan_disks_alone(p);
    kvmig__findings_append(&plan->findings, &p->common);
    if (candidate)
        kvmig__findings_append(&plan->findings, &candidate->findings);
    else if (kvmig__findings_has(&p->common, "NO_FEASIBLE_TARGET"))
        kvmig__plan_append_blockers(plan);
    kvmig__findings_sort(&plan->findings);
}

static struct kvmig_plan *begin(const struct planning *p)
{
    struct kvmig_plan *plan = kvmig__calloc(1, sizeof(*plan));
    const struct kvmig__domain *domain = p->vm.domain;

    plan->refs = 1;
    kvmig__request_copy(&plan->request, p->request);
    plan->vm = kvmig__strdup(domain->name);
    plan->uuid = kvmig__strdup(domain->uuid);
    plan->source = kvmig__strdup(p->vm.source->name);
    plan->persistent = domain->persistent;
    plan->was_paused = domain->state == KVMIG__STATE_PAUSED && domain->reason == KVMIG__REASON_USER;
    return plan;
}

static void begin_wires(struct planning *p)
{
    const struct kvmig__check c = check_of(p, NULL, &p->common);

    if (p->view->facts)
        kvmig__wires_of_domain(&p->wires, &c);
}

int32_t kvmig__plan_make(const struct kvmig__view *view, const struct kvmig__request *request,
                         const struct kvmig__slots *slots, struct kvmig_plan **out_plan)
{
    struct planning p = { .view = view, .request = request, .slots = slots };
    int32_t rc;

    if (view->kube) /* KubeVirt counts its slots itself */
        return kvmig__plan_kube_make(view, request, out_plan);
    *out_plan = NULL;
    rc = kvmig__locate_vm(view, request, &p.vm);
    if (rc == 0)
        rc = kvmig__locate_target(view, request, &p.asked);
    if (rc == 0)
        rc = kvmig__locate_excluded(view, request, p.asked);
    if (rc < 0)
        return rc;
    p.plan = begin(&p);
    kvmig__paths_collect(&p.busy, view);
    begin_wires(&p);
    judge_common(&p);
    judge_candidates(&p);
    conclude(&p);
    kvmig__findings_clear(&p.common);
    free(p.busy.v);
    kvmig__wires_clear(&p.wires);
    *out_plan = p.plan;
    return 0;
}
