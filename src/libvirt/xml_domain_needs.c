/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Domain XML: what the guest needs of its host and its QEMU: kinds of devices in the words of the domain capabilities
 * (see xml_offers.c), Hyper-V features, secrets, and CPUs that it is bound to. Judges nothing. Any thread.
 */
#include "libvirt/libvirt_internal.h"
#include "libvirt/xml_util.h"

#include <libxml/tree.h>
#include <stdlib.h>

/* ---- kinds of devices ---- */

/* value and name are taken; without a value nothing is added. */
static void add_need(struct kvmig__domain *out, const char *what, char *value, char *name)
{
    struct kvmig__need *need;
    if (!value) {
        free(name);
        return;
    }
    need = KVMIG__PUSH(&out->needs);
    need->what = kvmig__strdup(what);
    need->value = value;
    need->name = name;
}

/* For each element: the attribute of the element itself, or of a child of it, as a member of the list. */
static void add_kinds(const xmlNode *devices, const char *element, const char *child, const char *attr,
                      const char *list, struct kvmig__domain *out)
{
    char *what = kvmig__asprintf("%s/%s", element, list);
    KVMIG__XML_EACH(node, devices, element)
    {
        char *name = kvmig__xml_attr(kvmig__xml_child(node, "alias"), "name");
        add_need(out, what, kvmig__xml_attr(child ? kvmig__xml_child(node, child) : node, attr),
                 name ? name : kvmig__strdup(element));
    }
    free(what);
}

static void add_disks(const xmlNode *devices, struct kvmig__domain *out)
{
    KVMIG__XML_EACH(node, devices, "disk")
    {
        const xmlNode *target = kvmig__xml_child(node, "target");
        add_need(out, "disk/bus", kvmig__xml_attr(target, "bus"), kvmig__xml_attr(target, "dev"));
        add_need(out, "disk/diskDevice", kvmig__xml_attr(node, "device"), kvmig__xml_attr(target, "dev"));
    }
}

/* libvirt writes down the model that it has chosen, but for old definitions. */
static void look_at_videos(const xmlNode *devices, struct kvmig__domain *out)
{
    KVMIG__XML_EACH(node, devices, "video")
    {
        if (!xmlHasProp(kvmig__xml_child(node, "model"), (const xmlChar *)"type"))
            out->video_by_default = true;
    }
}

static void add_devices(const xmlNode *devices, struct kvmig__domain *out)
{
    static const struct {
        const char *element, *child, *attr, *list;
    } kinds[] = {
        { "video", "model", "type", "modelType" },
        { "graphics", NULL, "type", "type" },
        { "tpm", NULL, "model", "model" },
        { "tpm", "backend", "type", "backendModel" },
        { "tpm", "backend", "version", "backendVersion" },
        { "rng", "backend", "model", "backendModel" },
        { "rng", NULL, "model", "model" },
        { "redirdev", NULL, "bus", "bus" },
        { "interface", "backend", "type", "backendType" },
        { "panic", NULL, "model", "model" },
        { "crypto", NULL, "model", "model" },
        { "filesystem", "driver", "type", "driverType" },
    };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(kinds); i++)
        add_kinds(devices, kinds[i].element, kinds[i].child, kinds[i].attr, kinds[i].list, out);
    add_disks(devices, out);
    look_at_videos(devices, out);
}

/* ---- beside devices ---- */

static void add_hyperv(const xmlNode *domain, struct kvmig__domain *out)
{
    const xmlNode *hyperv = kvmig__xml_child(kvmig__xml_child(domain, "features"), "hyperv");
    out->hyperv_passthrough = kvmig__xml_attr_is(hyperv, "mode", "passthrough");
    for (const xmlNode *node = hyperv ? hyperv->children : NULL; node; node = node->next)
        if (node->type == XML_ELEMENT_NODE && kvmig__xml_attr_is(node, "state", "on"))
            add_need(out, "hyperv/features", kvmig__strdup((const char *)node->name), kvmig__strdup("hyperv"));
}

static void add_platform(const xmlNode *domain, struct kvmig__domain *out)
{
    const xmlNode *backing = kvmig__xml_child(domain, "memoryBacking");
    const xmlNode *loader = kvmig__xml_child(kvmig__xml_child(domain, "os"), "loader");
    add_need(out, "memoryBacking/sourceType", kvmig__xml_attr(kvmig__xml_child(backing, "source"), "type"),
             kvmig__strdup("memoryBacking"));
    add_need(out, "loader/type", kvmig__xml_attr(loader, "type"), kvmig__strdup("loader"));
    if (kvmig__xml_attr_is(loader, "secure", "yes"))
        add_need(out, "loader/secure", kvmig__strdup("yes"), kvmig__strdup("loader"));
}

/* ---- secrets ---- */

static bool has_secret(const struct kvmig__domain *domain, const struct kvmig__secret *secret)
{
    for (size_t i = 0; i < domain->secrets.n; i++) {
        const struct kvmig__secret *other = &domain->secrets.v[i];
        if (kvmig__str_eq(other->uuid, secret->uuid) && kvmig__str_eq(other->usage, secret->usage) &&
            kvmig__str_eq(other->of, secret->of))
            return true;
    }
    return false;
}

/* All members are taken; without a UUID or a usage it is dropped, and so is one that is there already. */
static void add_secret(struct kvmig__domain *out, struct kvmig__secret secret)
{
    if ((!secret.uuid && !secret.usage) || has_secret(out, &secret))
        kvmig__secret_clear(&secret);
    else
        *KVMIG__PUSH(&out->secrets) = secret;
}

/* <secret type='ceph' uuid='...'/> or usage='...', wherever it stands below a device. The depth of the document is
 * bounded. */
static void add_secrets_below(const xmlNode *parent, const char *of, struct kvmig__domain *out)
{
    for (const xmlNode *node = parent->children; node; node = node->next) {
        if (node->type != XML_ELEMENT_NODE)
            continue;
        if (xmlStrEqual(node->name, (const xmlChar *)"secret"))
            add_secret(out, (struct kvmig__secret){ kvmig__xml_attr(node, "uuid"), kvmig__xml_attr(node, "type"),
                                                    kvmig__xml_attr(node, "usage"), kvmig__strdup(of) });
        add_secrets_below(node, of, out);
    }
}

static void add_secrets(const xmlNode *devices, struct kvmig__domain *out)
{
    KVMIG__XML_EACH(disk, devices, "disk")
    {
        char *target = kvmig__xml_attr(kvmig__xml_child(disk, "target"), "dev");
        add_secrets_below(disk, target, out);
        free(target);
    }
    KVMIG__XML_EACH(hostdev, devices, "hostdev")
    {
        add_secrets_below(hostdev, "hostdev", out);
    }
    KVMIG__XML_EACH(tpm, devices, "tpm")
    {
        const xmlNode *encryption = kvmig__xml_child(kvmig__xml_child(tpm, "backend"), "encryption");
        add_secret(out, (struct kvmig__secret){ kvmig__xml_attr(encryption, "secret"), kvmig__strdup("vtpm"), NULL,
                                                kvmig__strdup("tpm") });
    }
}

/* ---- CPUs of the host ---- */

/* what and cpus are taken. */
static void add_pin(struct kvmig__domain *out, char *what, char *cpus)
{
    struct kvmig__cpu_pin *pin;
    if (!cpus) {
        free(what);
        return;
    }
    pin = KVMIG__PUSH(&out->cpu_pins);
    pin->what = what;
    pin->cpus = cpus;
}

static void add_pins(const xmlNode *tune, const char *element, const char *attr, struct kvmig__domain *out)
{
    KVMIG__XML_EACH(node, tune, element)
    {
        char *number = kvmig__xml_attr(node, attr);
        add_pin(out, kvmig__asprintf("%s %s", attr, number ? number : "?"), kvmig__xml_attr(node, "cpuset"));
        free(number);
    }
}

/* A quota of 0 or -1 is none. */
static bool has_quota(const xmlNode *tune, const char *element)
{
    char *text = kvmig__xml_child_text(tune, element);
    bool limited = text && strtoll(text, NULL, 10) > 0;
    free(text);
    return limited;
}

static void add_cpus(const xmlNode *domain, struct kvmig__domain *out)
{
    const xmlNode *tune = kvmig__xml_child(domain, "cputune"), *vcpu = kvmig__xml_child(domain, "vcpu");
    if (!kvmig__xml_attr_is(vcpu, "placement", "auto"))
        add_pin(out, kvmig__strdup("domain"), kvmig__xml_attr(vcpu, "cpuset"));
    add_pins(tune, "vcpupin", "vcpu", out);
    add_pins(tune, "iothreadpin", "iothread", out);
    add_pin(out, kvmig__strdup("emulator"), kvmig__xml_attr(kvmig__xml_child(tune, "emulatorpin"), "cpuset"));
    out->cpu_limited = has_quota(tune, "emulator_quota") || has_quota(tune, "global_quota");
}

void kvmig__xml_read_needs(const xmlNode *domain, struct kvmig__domain *out)
{
    const xmlNode *devices = kvmig__xml_child(domain, "devices");
    add_devices(devices, out);
    add_hyperv(domain, out);
    add_platform(domain, out);
    add_secrets(devices, out);
    add_cpus(domain, out);
}
