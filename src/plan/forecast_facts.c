/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a forecast is made of, gathered from a view: of a libvirt host's domain, or of a VMI with KubeVirt's migration options. Does
 * not: forecast. Pure; any thread; what it fills in borrows from its arguments.
 */
#include "cluster/facts.h"
#include "plan/checks.h"
#include "plan/kube_checks.h"

#include <string.h>

#define MIB 1048576.0
#define GIB 1073741824.0
#define GIGA 1e9
#define BITS 8.0

static double number_of(uint64_t value)
{
    return value == KVMIG__UNKNOWN ? -1 : (double)value;
}

static double bytes_of_bits(uint64_t bits)
{
    return bits == KVMIG__UNKNOWN ? -1 : (double)bits / BITS;
}

/* A lower bound, if the size of some is not known. */
static double copied_bytes(const struct kvmig__disk_plan *disks, size_t n)
{
    uint64_t known_bytes;

    (void)kvmig__disks_bytes_to_copy(disks, n, &known_bytes);
    return (double)known_bytes;
}

static void take_told(const struct kvmig__facts *facts, struct kvmig__forecast_facts *out)
{
    out->told_memory = out->told_link = out->told_dirty = -1;
    if (!facts)
        return;
    out->told_memory = number_of(facts->measured.memory_bytes);
    out->told_link = bytes_of_bits(facts->measured.link_bits_per_s);
    out->told_dirty = bytes_of_bits(facts->measured.dirty_bits_per_s);
}

static void take_request(const struct kvmig__request *request, struct kvmig__forecast_facts *out)
{
    out->cap = (double)request->bandwidth_mib * MIB;
    out->post_cap = (double)request->postcopy_bandwidth_mib * MIB;
    out->learned = request->learned;
    out->converge = request->flags & KVMIG_PLAN_AUTO_CONVERGE;
    out->post = request->flags & KVMIG_PLAN_ALLOW_POSTCOPY;
}

/* Whole units, begun ones included, as those count who set such limits. */
static uint64_t limit_of(uint64_t per_unit, double bytes, double unit)
{
    const double units = bytes / unit, whole = (double)(uint64_t)units;
    const double seconds = (double)per_unit * (whole < units ? whole + 1 : whole);

    return bytes > 0 && units < 1e12 && seconds < 1e15 ? (uint64_t)seconds : 0;
}

/* ---- libvirt ---- */

void kvmig__forecast_facts_host(const struct kvmig__view *view, const struct kvmig__request *request,
                                const struct kvmig__domain *domain, const struct kvmig__host *source,
                                const struct kvmig__candidate *candidate, struct kvmig__forecast_facts *out)
{
    const uint64_t memory = domain->max_memory ? domain->max_memory : domain->memory;

    *out = (struct kvmig__forecast_facts){ .memory = memory ? number_of(memory) : -1, .uuid = domain->uuid };
    take_told(view->facts, out);
    take_request(request, out);
    out->source = source->name;
    out->target = candidate ? candidate->host : request->target;
    out->disks = candidate ? copied_bytes(candidate->disks.v, candidate->disks.n) : 0;
    out->limit_s = limit_of(request->forecast.completion_s_per_gib,
                            request->forecast.memory ? (double)request->forecast.memory : out->memory, GIB);
    out->limit_action = KVMIG_LIMIT_ABORT;
}

/* ---- KubeVirt ---- */

static bool on(int32_t option)
{
    return option > 0;
}

/* What virt-launcher does at its limit; a guest with devices of the host never goes to post-copy. */
static int32_t limit_action(const struct kvmig__kube_check *c)
{
    const struct kvmig__kube_config *config = c->config;
    const bool disrupt = config->workload_disruption < 0 ? on(config->post_copy) : on(config->workload_disruption);

    if (!disrupt)
        return KVMIG_LIMIT_ABORT;
    return on(config->post_copy) && !kvmig__vmi_has_vfio(c->vmi) ? KVMIG_LIMIT_POST_COPY : KVMIG_LIMIT_PAUSE;
}

static void take_kube_limit(const struct kvmig__kube_check *c, struct kvmig__forecast_facts *out)
{
    const uint64_t factor = kvmig__kube_stall_factor_milli(c->kube, c->config);
    struct kvmig__kube_config config = *c->config; /* shallow: only read */

    if (c->request->forecast.completion_s_per_gib)
        config.completion_s_per_gb = c->request->forecast.completion_s_per_gib;
    out->limit_s = kvmig__kube_completion_limit_s(c->vmi, &config);
    if (!out->limit_s && c->request->forecast.completion_s_per_gib)
        out->limit_s = limit_of(c->request->forecast.completion_s_per_gib, out->memory, GIGA);
    if (factor && out->limit_s < UINT64_MAX / 1000000)
        out->limit_s = out->limit_s * factor / 1000;
    out->limit_action = limit_action(c);
}

void kvmig__forecast_facts_kube(const struct kvmig__view *view, const struct kvmig__kube_check *c,
                                const struct kvmig_plan *plan, const char *target, struct kvmig__forecast_facts *out)
{
    const struct kvmig__kube_vmi *vmi = c->vmi;
    const uint64_t requested = kvmig__amounts_get(&vmi->domain.requests, "memory");
    double bandwidth;

    *out = (struct kvmig__forecast_facts){ .memory = -1, .uuid = vmi->meta.uid };
    take_told(view->facts, out);
    take_request(c->request, out);
    if (vmi->domain.memory != KVMIG__UNKNOWN && vmi->domain.memory)
        out->memory = (double)vmi->domain.memory;
    else if (requested != KVMIG__UNKNOWN && requested)
        out->memory = (double)requested / 1000;
    bandwidth = (double)c->config->bandwidth < MIB ? MIB : (double)c->config->bandwidth; /* the least limit there is */
    if (c->config->bandwidth && c->config->bandwidth != KVMIG__UNKNOWN && (out->cap <= 0 || bandwidth < out->cap))
        out->cap = bandwidth;
    out->converge = out->converge || on(c->config->auto_converge);
    out->post = (out->post || on(c->config->post_copy)) && !kvmig__vmi_has_vfio(vmi);
    out->source = plan->source;
    out->target = target;
    out->disks = copied_bytes(plan->disks.v, plan->disks.n);
    take_kube_limit(c, out);
}
