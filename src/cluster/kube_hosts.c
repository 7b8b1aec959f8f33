/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Nodes and VMIs of a Kubernetes cluster in the common model, for those who only want to know which hosts there are
 * and what runs on them. Takes what the API says and decides nothing: the planner and the sessions of KubeVirt read
 * the store itself. Pure: no handle, lock, clock, JSON; any thread. What is returned belongs to the caller.
 */
#include "cluster/kube_places.h"

#include <stdlib.h>
#include <string.h>

/* ---- sizes ---- */

/* Of a resource in whole units, rounded up. */
static uint64_t whole(const struct kvmig__amounts *amounts, const char *name)
{
    uint64_t milli = kvmig__amounts_get(amounts, name);

    return milli == KVMIG__UNKNOWN ? milli : milli / 1000 + (milli % 1000 ? 1 : 0);
}

static uint64_t or_zero(uint64_t number)
{
    return number == KVMIG__UNKNOWN ? 0 : number;
}

static uint64_t either(uint64_t first, uint64_t second)
{
    return first == KVMIG__UNKNOWN ? second : first;
}

/* As the scheduler counts: all that run together, or the largest of those that run before them. */
static uint64_t pod_memory(const struct kvmig__kube_pod *pod)
{
    uint64_t together = 0, largest = 0;

    for (size_t i = 0; i < pod->containers.n; i++) {
        const struct kvmig__kube_container *container = &pod->containers.v[i];
        uint64_t memory = or_zero(either(whole(&container->requests, "memory"), whole(&container->limits, "memory")));

        if (!container->init || container->sidecar)
            together += memory;
        else if (memory > largest)
            largest = memory;
    }
    return (together > largest ? together : largest) + or_zero(whole(&pod->overhead, "memory"));
}

static uint64_t requested_memory(const struct kvmig__kube_places *places, const char *node)
{
    uint64_t sum = 0;
    size_t n;
    const struct kvmig__kube_place *there = kvmig__places_at(places, node, &n);

    for (size_t i = 0; i < n; i++)
        if (there[i].pod)
            sum += pod_memory(there[i].pod);
    return sum;
}

static void fill_sizes(struct kvmig__host *host, const struct kvmig__kube_places *places,
                       const struct kvmig__kube_node *node)
{
    uint64_t cpus = either(whole(&node->capacity, "cpu"), whole(&node->allocatable, "cpu")), used;

    host->cpus = cpus == KVMIG__UNKNOWN ? 0 : cpus > UINT32_MAX ? UINT32_MAX : (uint32_t)cpus;
    host->memory_total = either(whole(&node->allocatable, "memory"), whole(&node->capacity, "memory"));
    if (host->memory_total == KVMIG__UNKNOWN || !kvmig__kube_is_known(places->kube, KVMIG__KUBE_POD))
        return;
    used = requested_memory(places, node->meta.name);
    host->memory_free = used < host->memory_total ? host->memory_total - used : 0;
}

/* ---- CPU ---- */

/* The rest of a label's key behind prefix; NULL if it has another one. */
static const char *behind(const char *key, const char *prefix)
{
    return kvmig__str_starts(key, prefix) ? key + strlen(prefix) : NULL;
}

/* KubeVirt's node labeller says with labels what a host-model guest has there. */
static void fill_cpu(struct kvmig__host *host, const struct kvmig__kube_node *node)
{
    struct kvmig__emulator *emulator = NULL;

    for (size_t i = 0; i < node->meta.labels.n; i++) {
        const char *key = node->meta.labels.v[i].key, *model = behind(key, "host-model-cpu.node.kubevirt.io/");
        const char *feature = behind(key, "host-model-required-features.node.kubevirt.io/");

        if ((!model || !*model) && (!feature || !*feature))
            continue;
        if (!emulator) {
            emulator = KVMIG__PUSH(&host->emulators);
            emulator->virt_type = kvmig__strdup("kvm");
            emulator->arch = kvmig__strdup(host->arch);
            emulator->host_model.mode = KVMIG__CPU_CUSTOM;
            emulator->host_model.migratable = -1;
        }
        if (model) {
            emulator->host_model_known = true;
            kvmig__str_set(&emulator->host_model.model, model);
        } else {
            struct kvmig__cpu_feature *to = KVMIG__PUSH(&emulator->host_model.features);

            to->name = kvmig__strdup(feature);
            to->policy = KVMIG__CPU_REQUIRE;
        }
    }
}

/* ---- state ---- */

/* A node that says nothing about itself, as in a reduced snapshot, is taken as it is. */
static void fill_state(struct kvmig__host *host, const struct kvmig__kube_node *node)
{
    const struct kvmig__kube_condition *ready = kvmig__kube_condition(&node->conditions, "Ready");
    char *evidence;

    host->state = KVMIG__HOST_UP;
    if (!ready || kvmig__str_eq(ready->status, "True"))
        return;
    host->state = KVMIG__HOST_LOST;
    evidence = kvmig__asprintf("Ready is %s: %s: %s", ready->status ? ready->status : "not given",
                               ready->reason ? ready->reason : "no reason", ready->message ? ready->message : "");
    host->lost_error = kvmig__error_new(KVMIG_EUNREACHABLE, node->meta.name, evidence,
                                        "Look at the node's conditions and at its kubelet (kubectl describe node).",
                                        "The node is not ready.");
    free(evidence);
}

/* ---- a VMI as a domain ---- */

static uint32_t product(uint32_t sockets, uint32_t cores, uint32_t threads)
{
    uint64_t n = (uint64_t)(sockets ? sockets : 1) * (cores ? cores : 1);

    n = n > UINT32_MAX ? UINT32_MAX : n;
    n *= threads ? threads : 1;
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* KubeVirt derives one CPU per requested core if no topology is given. */
static uint32_t vcpus_of(const struct kvmig__kube_vmi *vmi)
{
    const struct kvmig__kube_domain *domain = &vmi->domain;
    uint64_t requested;

    if (vmi->topology_sockets || vmi->topology_cores || vmi->topology_threads)
        return product(vmi->topology_sockets, vmi->topology_cores, vmi->topology_threads);
    if (domain->sockets || domain->cores || domain->threads)
        return product(domain->sockets, domain->cores, domain->threads);
    requested = or_zero(either(whole(&domain->limits, "cpu"), whole(&domain->requests, "cpu")));
    return requested > UINT32_MAX ? UINT32_MAX : requested ? (uint32_t)requested : 1;
}

static void fill_memory(struct kvmig__domain *domain, const struct kvmig__kube_vmi *vmi)
{
    uint64_t memory = either(vmi->domain.memory,
                             either(whole(&vmi->domain.requests, "memory"), whole(&vmi->domain.limits, "memory")));

    domain->max_memory = or_zero(either(vmi->memory_guest_requested, memory));
    domain->memory = or_zero(either(vmi->memory_guest_current, memory));
    domain->hugepages = vmi->domain.hugepages;
}

static void fill_paused(struct kvmig__domain *domain, const struct kvmig__kube_vmi *vmi)
{
    static const struct {
        const char *text;
        int32_t reason;
    } reasons[] = { { "PausedByUser", KVMIG__REASON_USER },
                    { "PausedIOError", KVMIG__REASON_IOERROR },
                    { "PausedByMigrationMonitor", KVMIG__REASON_MIGRATION } };
    const struct kvmig__kube_condition *paused = kvmig__kube_condition(&vmi->conditions, "Paused");

    domain->state = KVMIG__STATE_PAUSED;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(reasons); i++) {
        if (kvmig__str_eq(paused->reason, reasons[i].text))
            domain->reason = reasons[i].reason;
    }
}

static void fill_domain_state(struct kvmig__domain *domain, const struct kvmig__kube_vmi *vmi)
{
    domain->reason = KVMIG__REASON_OTHER;
    if (kvmig__str_eq(vmi->phase, "Succeeded"))
        domain->state = KVMIG__STATE_SHUTOFF;
    else if (kvmig__str_eq(vmi->phase, "Failed"))
        domain->state = KVMIG__STATE_CRASHED;
    else if (vmi->phase && !kvmig__str_eq(vmi->phase, "Running"))
        domain->state = KVMIG__STATE_OTHER; /* not started yet */
    else if (kvmig__kube_condition_is(&vmi->conditions, "Paused", "True"))
        fill_paused(domain, vmi);
    else
        domain->state = KVMIG__STATE_RUNNING;
}

/* What the spec names; where the image is, is the volume's affair. */
static void fill_disks(struct kvmig__domain *domain, const struct kvmig__kube_vmi *vmi)
{
    for (size_t i = 0; i < vmi->domain.disks.n; i++) {
        const struct kvmig__kube_disk *from = &vmi->domain.disks.v[i];
        struct kvmig__disk *disk = KVMIG__PUSH(&domain->disks);

        disk->target = kvmig__strdup(from->name);
        disk->bus = kvmig__strdup(from->bus);
        disk->device = kvmig__strdup(from->device && *from->device ? from->device : "disk");
        disk->cache = kvmig__strdup(from->cache);
        disk->io = kvmig__strdup(from->io);
        disk->readonly = from->readonly;
        disk->shareable = from->shareable;
        disk->capacity = disk->allocation = disk->physical = KVMIG__UNKNOWN;
    }
}

static bool has_owner(const struct kvmig__kube_meta *meta, const char *kind)
{
    for (size_t i = 0; i < meta->owners.n; i++) {
        if (kvmig__str_eq(meta->owners.v[i].kind, kind))
            return true;
    }
    return false;
}

static struct kvmig__domain *add_domain(struct kvmig__host *host, const struct kvmig__kube_vmi *vmi)
{
    struct kvmig__domain *domain = KVMIG__PUSH(&host->domains);

    domain->name =
        vmi->meta.ns ? kvmig__asprintf("%s/%s", vmi->meta.ns, vmi->meta.name) : kvmig__strdup(vmi->meta.name);
    domain->uuid = kvmig__strdup(vmi->meta.uid);
    domain->persistent = has_owner(&vmi->meta, "VirtualMachine");
    domain->arch = kvmig__strdup(vmi->architecture ? vmi->architecture : host->arch);
    domain->machine = kvmig__strdup(vmi->machine ? vmi->machine : vmi->domain.machine);
    domain->vcpus = vcpus_of(vmi);
    domain->cpu.migratable = -1;
    fill_memory(domain, vmi);
    fill_disks(domain, vmi);
    fill_domain_state(domain, vmi);
    return domain;
}

/* ---- migrations ---- */

static void add_running(struct kvmig__host *host, const struct kvmig__kube_vmi *vmi,
                        const struct kvmig__kube_move *move)
{
    struct kvmig__domain *domain = add_domain(host, vmi);

    if (!move)
        return;
    domain->job_active = true;
    /* Once the guest has moved, this node is the target, and the migration is only being tidied up. */
    domain->migrating_in = kvmig__str_eq(move->target, host->name);
    domain->migrating_out = !domain->migrating_in;
}

/* As libvirt shows it on the target: there, but paused until the guest has moved. */
static void add_incoming(struct kvmig__host *host, const struct kvmig__kube_vmi *vmi)
{
    struct kvmig__domain *domain = add_domain(host, vmi);

    domain->state = KVMIG__STATE_PAUSED;
    domain->reason = KVMIG__REASON_MIGRATION;
    domain->job_active = true;
    domain->migrating_in = true;
}

static void fill_domains(struct kvmig__host *host, const struct kvmig__kube_places *places)
{
    size_t n;
    const struct kvmig__kube_place *there = kvmig__places_at(places, host->name, &n);

    for (size_t i = 0; i < n; i++) {
        if (there[i].vmi && there[i].incoming)
            add_incoming(host, there[i].vmi);
        else if (there[i].vmi)
            add_running(host, there[i].vmi, kvmig__places_move(places, there[i].vmi));
    }
    host->domains_known = kvmig__kube_is_known(places->kube, KVMIG__KUBE_VMI);
}

struct kvmig__host *kvmig__places_host(const struct kvmig__kube_places *places, const struct kvmig__kube_node *node)
{
    struct kvmig__host *host = kvmig__host_new();
    const char *arch =
        node->architecture ? node->architecture : kvmig__pairs_get(&node->meta.labels, "kubernetes.io/arch");

    host->name = kvmig__strdup(node->meta.name);
    host->uri = kvmig__asprintf("kube://%s", node->meta.name);
    host->uuid = kvmig__strdup(node->meta.uid);
    host->arch = kvmig__strdup(arch);
    fill_sizes(host, places, node);
    fill_cpu(host, node);
    fill_state(host, node);
    fill_domains(host, places);
    return host;
}
