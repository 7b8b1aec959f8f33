/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Room for a second launcher on the target: CPU, memory, huge pages, devices. What the launcher needs is what the present one asks
 * for, or at least what follows from the VM; what is left is at most what the node offers less the pods that are seen there. So a
 * finding is proof, and silence is none. Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES "devices.kubevirt.io/"
#define NAD_RESOURCE "k8s.v1.cni.cncf.io/resourceName"

/* ---- what a pod asks for ---- */

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > KVMIG__UNKNOWN - 1 - b ? KVMIG__UNKNOWN - 1 : a + b;
}

static uint64_t asked_by(const struct kvmig__kube_container *container, const char *resource, bool limit)
{
    uint64_t value = kvmig__amounts_get(limit ? &container->limits : &container->requests, resource);

    /* a request that is not given is the limit */
    return value == KVMIG__UNKNOWN && !limit ? kvmig__amounts_get(&container->limits, resource) : value;
}

/* As the scheduler counts: all containers together, or the largest of the init containers, and the overhead. */
static uint64_t asked_in_all(const struct kvmig__kube_pod *pod, const char *resource, bool limit)
{
    uint64_t sum = 0, largest = 0, overhead = kvmig__amounts_get(&pod->overhead, resource);
    bool any = false;

    for (size_t i = 0; i < pod->containers.n; i++) {
        uint64_t value = asked_by(&pod->containers.v[i], resource, limit);

        if (value == KVMIG__UNKNOWN)
            continue;
        any = true;
        if (!pod->containers.v[i].init)
            sum = add(sum, value);
        else if (value > largest)
            largest = value;
    }
    if (!any)
        return KVMIG__UNKNOWN;
    return add(sum > largest ? sum : largest, overhead == KVMIG__UNKNOWN ? 0 : overhead);
}

uint64_t kvmig__kube_pod_request(const struct kvmig__kube_pod *pod, const char *resource)
{
    return asked_in_all(pod, resource, false);
}

uint64_t kvmig__kube_pod_limit(const struct kvmig__kube_pod *pod, const char *resource)
{
    return asked_in_all(pod, resource, true);
}

/* ---- what the VM needs at least, without a pod to look at ---- */

static uint64_t at_least_one(uint32_t n)
{
    return n ? n : 1;
}

/* The emulator gets two CPUs where the sum would be odd. */
static bool completes_to_even(const struct kvmig__kube_check *c)
{
    static const char key[] = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity";

    return c->kubevirt && kvmig__pairs_get(&c->kubevirt->meta.annotations, key);
}

static uint64_t cpu_of_vm(const struct kvmig__kube_check *c)
{
    const struct kvmig__kube_domain *domain = &c->vmi->domain;
    uint64_t asked = kvmig__amounts_get(&domain->requests, "cpu");
    uint64_t vcpus = at_least_one(domain->sockets) * at_least_one(domain->cores) * at_least_one(domain->threads);

    if (asked != KVMIG__UNKNOWN && !domain->sockets && !domain->cores && !domain->threads)
        vcpus = (asked + 999) / 1000; /* the guest gets as many as it asks for */
    if (domain->dedicated_cpus) /* whole CPUs, and one more if the emulator has its own */
        return (vcpus + domain->isolated_emulator * (completes_to_even(c) && vcpus % 2 == 0 ? 2 : 1)) * 1000;
    if (asked == KVMIG__UNKNOWN)
        asked = kvmig__amounts_get(&domain->limits, "cpu");
    return asked;
}

static uint64_t memory_of_vm(const struct kvmig__kube_domain *domain)
{
    uint64_t asked = kvmig__amounts_get(&domain->requests, "memory");

    if (domain->hugepages) /* it is taken from there, not from the common memory */
        return KVMIG__UNKNOWN;
    if (asked == KVMIG__UNKNOWN)
        asked = kvmig__amounts_get(&domain->limits, "memory");
    if (asked == KVMIG__UNKNOWN && domain->memory != KVMIG__UNKNOWN && domain->memory)
        asked = domain->memory > (KVMIG__UNKNOWN - 1) / 1000 ? KVMIG__UNKNOWN - 1 : domain->memory * 1000;
    return asked;
}

static uint64_t hugepages_of_vm(const struct kvmig__kube_domain *domain, const char *resource)
{
    const char *size = kvmig__after_prefix(resource, "hugepages-");

    if (!size || !kvmig__str_eq(size, domain->hugepages) || domain->memory == KVMIG__UNKNOWN ||
        domain->memory > (KVMIG__UNKNOWN - 1) / 1000)
        return KVMIG__UNKNOWN;
    return domain->memory * 1000;
}

uint64_t kvmig__kube_needs(const struct kvmig__kube_check *c, const char *resource)
{
    uint64_t asked = c->pod ? kvmig__kube_pod_request(c->pod, resource) : KVMIG__UNKNOWN;
    uint64_t wished = kvmig__amounts_get(&c->vmi->domain.requests, resource);

    /* CPUs or memory that were plugged in since: the next launcher asks for what the VM asks for now */
    if (asked != KVMIG__UNKNOWN)
        return wished != KVMIG__UNKNOWN && wished > asked ? wished : asked;
    if (!strcmp(resource, "cpu"))
        return cpu_of_vm(c);
    if (!strcmp(resource, "memory"))
        return memory_of_vm(&c->vmi->domain);
    return hugepages_of_vm(&c->vmi->domain, resource);
}

/* ---- devices ---- */

struct device {
    char *resource;
    uint64_t milli;
    bool implied; /* every launcher asks for it: a node that does not list it may be cut down */
};
struct devices {
    struct device *v;
    size_t n;
};

static void want(struct devices *devices, const char *resource, uint64_t milli)
{
    for (size_t i = 0; i < devices->n; i++) {
        if (kvmig__str_eq(devices->v[i].resource, resource)) {
            devices->v[i].milli = add(devices->v[i].milli, milli);
            return;
        }
    }
    *KVMIG__PUSH(devices) = (struct device){ kvmig__strdup(resource), milli, false };
}

static void devices_of_pod(const struct kvmig__kube_pod *pod, struct devices *devices)
{
    for (size_t i = 0; i < pod->containers.n; i++) {
        const struct kvmig__kube_container *container = &pod->containers.v[i];
        const struct kvmig__amounts *amounts = container->requests.n ? &container->requests : &container->limits;

        for (size_t a = 0; a < amounts->n && !container->init; a++) {
            if (strchr(amounts->v[a].name, '/')) /* all that is not Kubernetes' own */
                want(devices, amounts->v[a].name, amounts->v[a].milli);
        }
    }
}

/* The resource that the network's definition names. */
static const char *resource_of_network(const struct kvmig__kube_check *c, const char *network)
{
    const struct kvmig__kube_nad *nad = kvmig__kube_nad_of(c, network);

    return nad ? kvmig__pairs_get(&nad->meta.annotations, NAD_RESOURCE) : NULL;
}

static void imply(struct devices *devices, const char *resource)
{
    want(devices, resource, 1000);
    devices->v[devices->n - 1].implied = true;
}

static void devices_of_vm(const struct kvmig__kube_check *c, struct devices *devices)
{
    const struct kvmig__kube_domain *domain = &c->vmi->domain;

    if (!c->kubevirt || !c->kubevirt->emulation)
        imply(devices, DEVICES "kvm");
    for (size_t i = 0; i < c->vmi->interfaces.n; i++) {
        if (!c->vmi->interfaces.v[i].in_spec || kvmig__str_eq(c->vmi->interfaces.v[i].binding, "sriov"))
            continue;
        imply(devices, DEVICES "tun");
        break;
    }
    for (size_t i = 0; i < domain->gpus.n; i++)
        want(devices, domain->gpus.v[i], 1000);
    for (size_t i = 0; i < domain->host_devices.n; i++)
        want(devices, domain->host_devices.v[i], 1000);
    for (size_t i = 0; i < c->vmi->interfaces.n; i++) {
        const struct kvmig__kube_interface *interface = &c->vmi->interfaces.v[i];
        const char *resource;

        if (!interface->multus)
            continue;
        resource = resource_of_network(c, interface->multus);
        if (resource && *resource)
            want(devices, resource, 1000);
    }
}

static bool asks_for_devices(const struct kvmig__kube_pod *pod)
{
    struct devices devices = { 0 };
    bool any;

    devices_of_pod(pod, &devices);
    any = devices.n;
    for (size_t i = 0; i < devices.n; i++)
        free(devices.v[i].resource);
    free(devices.v);
    return any;
}

/* ---- all that is wanted ---- */

static void want_amount(const struct kvmig__kube_check *c, struct kvmig__kube_wants *out, const char *resource,
                        uint64_t need, const struct kvmig__kube_want *like)
{
    struct kvmig__kube_want want = *like;
    const struct kvmig__kube_column *column;

    if (need == KVMIG__UNKNOWN && !like->pages)
        return;
    column = kvmig__kube_base_column(c->index->base, c->index->nodes, resource);
    want.resource = kvmig__strdup(resource);
    want.need = need;
    want.left = column ? column->left : NULL;
    *KVMIG__PUSH(out) = want;
}

static void want_devices(const struct kvmig__kube_check *c, struct kvmig__kube_wants *out)
{
    static const struct kvmig__kube_want asked = { .code = "DEVICE_NOT_AVAILABLE", .device = true };
    static const struct kvmig__kube_want implied = { .code = "DEVICE_NOT_AVAILABLE", .what = "device" };
    struct devices devices = { 0 };

    if (c->pod && asks_for_devices(c->pod))
        devices_of_pod(c->pod, &devices);
    else
        devices_of_vm(c, &devices);
    for (size_t i = 0; i < devices.n; i++) {
        want_amount(c, out, devices.v[i].resource, devices.v[i].milli, devices.v[i].implied ? &implied : &asked);
        free(devices.v[i].resource);
    }
    free(devices.v);
}

void kvmig__kube_wants(const struct kvmig__kube_check *c, struct kvmig__kube_wants *out)
{
    static const struct kvmig__kube_want cpu = { .code = "INSUFFICIENT_CPU", .what = "CPU" };
    static const struct kvmig__kube_want memory = { .code = "INSUFFICIENT_MEMORY", .what = "memory (bytes)" };
    static const struct kvmig__kube_want pages = { .code = "INSUFFICIENT_MEMORY",
                                                   .what = "huge pages (bytes)",
                                                   .pages = true };
    /* pods that are not seen here may be there as well */
    static const struct kvmig__kube_want pods = { .code = "POD_LIMIT_REACHED", .what = "pods" };
    char *resource = c->vmi->domain.hugepages ? kvmig__asprintf("hugepages-%s", c->vmi->domain.hugepages) : NULL;

    want_amount(c, out, "cpu", kvmig__kube_needs(c, "cpu"), &cpu);
    want_amount(c, out, "memory", kvmig__kube_needs(c, "memory"), &memory);
    if (resource)
        want_amount(c, out, resource, kvmig__kube_needs(c, resource), &pages);
    want_amount(c, out, "pods", kvmig__vmi_has_hotplug(c->vmi) ? 2000 : 1000, &pods);
    free(resource);
    want_devices(c, out);
}

void kvmig__kube_wants_clear(struct kvmig__kube_wants *wants)
{
    for (size_t i = 0; i < wants->n; i++)
        free(wants->v[i].resource);
    free(wants->v);
    *wants = (struct kvmig__kube_wants){ 0 };
}

/* ---- and what is left ---- */

static uint64_t left_of(const struct kvmig__kube_want *want, size_t at)
{
    return want->left ? want->left[at] : KVMIG__UNKNOWN;
}

/* A node lists what its device plugins offer, and its huge pages by size. */
static bool fits(const struct kvmig__kube_want *want, const struct kvmig__kube_nodes *nodes, size_t at)
{
    uint64_t have = left_of(want, at);

    if (have != KVMIG__UNKNOWN)
        return want->need == KVMIG__UNKNOWN || want->need <= have;
    if (want->pages)
        return !nodes->offers[at];
    return !want->device || !want->left || !nodes->offers[at];
}

bool kvmig__kube_has_room(const struct kvmig__kube_wants *wants, const struct kvmig__kube_nodes *nodes, size_t at)
{
    for (size_t i = 0; i < wants->n; i++) {
        if (!fits(&wants->v[i], nodes, at))
            return false;
    }
    return true;
}

static void note_amount(const struct kvmig__kube_check *c, const struct kvmig__kube_want *want, uint64_t have)
{
    char *need_text = kvmig__amount_text(want->need), *have_text = kvmig__amount_text(have);
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "resource", want->resource);
    kvmig__detail_amount(&d, "need", want->need);
    kvmig__detail_amount(&d, "have", have);
    kvmig__kube_note(c, want->code, KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                     "Make room there, or choose another node.",
                     "A second launcher needs %s of %s; node %s has at most %s left.", need_text, want->what,
                     c->target_name, have_text);
    free(need_text);
    free(have_text);
}

static void note_no_pages(const struct kvmig__kube_check *c, const struct kvmig__kube_want *want)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "resource", want->resource);
    kvmig__kube_note(c, "DEVICE_NOT_AVAILABLE", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                     "Reserve huge pages of that size there, or choose another node.",
                     "The VM lives in huge pages of %s, of which node %s has none.",
                     kvmig__after_prefix(want->resource, "hugepages-"), c->target_name);
}

static void note_device(const struct kvmig__kube_check *c, const struct kvmig__kube_want *want, uint64_t have)
{
    struct kvmig__detail d = { 0 };
    char *text;

    have = have == KVMIG__UNKNOWN ? 0 : have;
    text = kvmig__amount_text(have);
    kvmig__detail_str(&d, "resource", want->resource);
    kvmig__detail_amount(&d, "need", want->need);
    kvmig__detail_amount(&d, "have", have);
    kvmig__kube_note(c, want->code, KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                     "Choose a node that has it free; see the device plugin on that node.",
                     "The VM needs %s; node %s has %s of it left.", want->resource, c->target_name, text);
    free(text);
}

void kvmig__kube_note_room(const struct kvmig__kube_wants *wants, const struct kvmig__kube_nodes *nodes, size_t at,
                           struct kvmig_findings *out)
{
    const struct kvmig__kube_check c = { .target_name = nodes->names[at], .out = out };

    for (size_t i = 0; i < wants->n; i++) {
        const struct kvmig__kube_want *want = &wants->v[i];

        if (fits(want, nodes, at))
            continue;
        if (want->device)
            note_device(&c, want, left_of(want, at));
        else if (left_of(want, at) == KVMIG__UNKNOWN)
            note_no_pages(&c, want);
        else
            note_amount(&c, want, left_of(want, at));
    }
}
