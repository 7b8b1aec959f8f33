/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Domain XML: network interfaces, and the devices that may be in the way of a migration, by kind, type and a name for
 * people. Does not judge any of them. Any thread.
 *
 * A host device that is the transient half of a failover team (<teaming type='transient'>) is left out: it is
 * unplugged before a migration by design.
 */
#include "libvirt/libvirt_internal.h"
#include "libvirt/xml_util.h"

#include <stdlib.h>

static const char qemu_namespace[] = "http://libvirt.org/schemas/domain/qemu/1.0";

/* ---- names for people ---- */

/* libvirt writes these as 0x81, but takes decimal and octal too. False if absent or no number. */
static bool address_part(const xmlNode *address, const char *attr, unsigned long *out)
{
    char *end = NULL;
    char *text = kvmig__xml_attr(address, attr);
    if (!text)
        return false;
    *out = strtoul(text, &end, 0);
    bool whole = end != text && *end == '\0' && *out <= UINT32_MAX;
    free(text);
    return whole;
}

char *kvmig__xml_pci_address(const xmlNode *address)
{
    unsigned long domain = 0, bus = 0, slot = 0, function = 0;
    if (!address_part(address, "bus", &bus) || !address_part(address, "slot", &slot))
        return NULL;
    /* These two may be left out. */
    if (!address_part(address, "domain", &domain))
        domain = 0;
    if (!address_part(address, "function", &function))
        function = 0;
    return kvmig__asprintf("%04lx:%02lx:%02lx.%lx", domain, bus, slot, function);
}

static char *alias_name(const xmlNode *device)
{
    return kvmig__xml_attr(kvmig__xml_child(device, "alias"), "name");
}

/* ---- interfaces ---- */

static bool is_transient_team_member(const xmlNode *device)
{
    return kvmig__xml_attr_is(kvmig__xml_child(device, "teaming"), "type", "transient");
}

/* Each type names its source by one attribute; a network that is up also tells its bridge. */
static char *interface_source(const xmlNode *source)
{
    static const char *const attrs[] = { "network", "bridge", "dev", "path", "name", "address", "switchid" };
    char *text = NULL;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(attrs) && !text; i++)
        text = kvmig__xml_attr(source, attrs[i]);
    return text ? text : kvmig__xml_pci_address(kvmig__xml_child(source, "address"));
}

/* A live interface of a virtual network carries the type of its present connection ("bridge", "direct"), but what a
 * target must have is the network. */
static char *interface_type(const xmlNode *node, const xmlNode *source)
{
    if (source && xmlHasProp((xmlNode *)source, (const xmlChar *)"network"))
        return kvmig__strdup("network");
    return kvmig__xml_attr(node, "type");
}

/* 0 = not given; more than any device has counts as not given. */
static uint32_t queues_of(const xmlNode *node)
{
    unsigned long queues = 0;
    return address_part(kvmig__xml_child(node, "driver"), "queues", &queues) && queues <= UINT16_MAX ? (uint32_t)queues
                                                                                                     : 0;
}

static void read_interface(const xmlNode *node, struct kvmig__interface *out)
{
    const xmlNode *source = kvmig__xml_child(node, "source"), *virtualport = kvmig__xml_child(node, "virtualport");
    out->type = interface_type(node, source);
    out->source = interface_source(source);
    out->portgroup = kvmig__xml_attr(source, "portgroup");
    out->mac = kvmig__xml_attr(kvmig__xml_child(node, "mac"), "address");
    out->model = kvmig__xml_attr(kvmig__xml_child(node, "model"), "type");
    out->target = kvmig__xml_attr(kvmig__xml_child(node, "target"), "dev");
    out->virtualport = kvmig__xml_attr(virtualport, "type");
    out->interface_id = kvmig__xml_attr(kvmig__xml_child(virtualport, "parameters"), "interfaceid");
    out->alias = alias_name(node);
    out->queues = queues_of(node);
}

/* ---- devices ---- */

/* type and name are taken. */
static struct kvmig__device *add_device(struct kvmig__domain *out, const char *kind, char *type, char *name)
{
    struct kvmig__device *device = KVMIG__PUSH(&out->devices);
    device->kind = kvmig__strdup(kind);
    device->type = type;
    device->name = name;
    return device;
}

/* Adds one for each element of that name. */
static void add_plain_devices(const xmlNode *devices, const char *kind, const char *type_attr,
                              struct kvmig__domain *out)
{
    KVMIG__XML_EACH(node, devices, kind)
    {
        add_device(out, kind, kvmig__xml_attr(node, type_attr), alias_name(node));
    }
}

static char *usb_name(const xmlNode *source)
{
    unsigned long first = 0, second = 0;
    const xmlNode *address = kvmig__xml_child(source, "address");
    if (address_part(kvmig__xml_child(source, "vendor"), "id", &first) &&
        address_part(kvmig__xml_child(source, "product"), "id", &second))
        return kvmig__asprintf("%04lx:%04lx", first, second);
    if (address_part(address, "bus", &first) && address_part(address, "device", &second))
        return kvmig__asprintf("bus %lu device %lu", first, second);
    return NULL;
}

static char *scsi_name(const xmlNode *source)
{
    unsigned long bus = 0, target = 0, unit = 0;
    const xmlNode *address = kvmig__xml_child(source, "address");
    char *adapter = kvmig__xml_attr(kvmig__xml_child(source, "adapter"), "name");
    char *name = NULL;
    if (adapter && address_part(address, "bus", &bus) && address_part(address, "target", &target) &&
        address_part(address, "unit", &unit))
        name = kvmig__asprintf("%s:%lu:%lu:%lu", adapter, bus, target, unit);
    free(adapter);
    return name;
}

static char *hostdev_name(const xmlNode *node)
{
    static const char *const attrs[] = { "name", "wwpn" };
    static const char *const texts[] = { "block", "char", "interface" };
    const xmlNode *source = kvmig__xml_child(node, "source");
    const xmlNode *address = kvmig__xml_child(source, "address");
    char *name = kvmig__xml_attr(address, "uuid");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(attrs) && !name; i++)
        name = kvmig__xml_attr(source, attrs[i]);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts) && !name; i++)
        name = kvmig__xml_child_text(source, texts[i]);
    if (!name)
        name = usb_name(source);
    if (!name)
        name = scsi_name(source);
    if (!name)
        name = kvmig__xml_pci_address(address);
    return name ? name : alias_name(node);
}

static void add_hostdevs(const xmlNode *devices, struct kvmig__domain *out)
{
    KVMIG__XML_EACH(node, devices, "hostdev")
    {
        if (is_transient_team_member(node))
            continue;
        struct kvmig__device *device = add_device(out, "hostdev", kvmig__xml_attr(node, "type"), hostdev_name(node));
        device->managed = kvmig__xml_attr_is(node, "managed", "yes");
    }
}

/* Interfaces that are host devices in truth: an SR-IOV function handed through, or a vDPA device. */
static void add_interface_device(const xmlNode *node, const struct kvmig__interface *interface,
                                 struct kvmig__domain *out)
{
    if (kvmig__xml_attr_is(node, "type", "hostdev") && !is_transient_team_member(node)) {
        struct kvmig__device *device =
            add_device(out, "hostdev", kvmig__strdup("pci"), kvmig__strdup(interface->source));
        device->managed = kvmig__xml_attr_is(node, "managed", "yes");
    } else if (kvmig__xml_attr_is(node, "type", "vdpa")) {
        add_device(out, "vdpa", kvmig__strdup("vdpa"), kvmig__strdup(interface->source));
    }
}

/* The driver decides how a host folder reaches the guest; without one it is QEMU's 9p. */
static void add_filesystems(const xmlNode *devices, struct kvmig__domain *out)
{
    KVMIG__XML_EACH(node, devices, "filesystem")
    {
        char *type = kvmig__xml_attr(node, "type");
        if (!type || kvmig__str_eq(type, "mount"))
            kvmig__str_set(&type, kvmig__xml_attr_is(kvmig__xml_child(node, "driver"), "type", "virtiofs") ? "virtiofs"
                                                                                                           : "9p");
        add_device(out, "filesystem", type, kvmig__xml_attr(kvmig__xml_child(node, "target"), "dir"));
    }
}

static void add_tpms(const xmlNode *devices, struct kvmig__domain *out)
{
    KVMIG__XML_EACH(node, devices, "tpm")
    {
        const xmlNode *backend = kvmig__xml_child(node, "backend");
        struct kvmig__device *device =
            add_device(out, "tpm", kvmig__xml_attr(backend, "type"), kvmig__xml_attr(node, "model"));
        device->managed = kvmig__xml_attr_is(backend, "persistent_state", "yes");
    }
}

static void add_shmems(const xmlNode *devices, struct kvmig__domain *out)
{
    KVMIG__XML_EACH(node, devices, "shmem")
    {
        struct kvmig__device *device = add_device(
            out, "shmem", kvmig__xml_attr(kvmig__xml_child(node, "model"), "type"), kvmig__xml_attr(node, "name"));
        device->managed = kvmig__xml_attr_is(node, "role", "master");
    }
}

/* Input devices of the host that the guest holds; evdev ones are read by QEMU, and only need to be there. */
static void add_inputs(const xmlNode *devices, struct kvmig__domain *out)
{
    KVMIG__XML_EACH(node, devices, "input")
    {
        if (kvmig__xml_attr_is(node, "type", "passthrough"))
            add_device(out, "input", kvmig__xml_attr(node, "type"),
                       kvmig__xml_attr(kvmig__xml_child(node, "source"), "evdev"));
    }
}

/* A running guest's modules of memory have addresses; libvirt refuses to migrate one without (managed: it has one). */
static void add_memory_modules(const xmlNode *devices, struct kvmig__domain *out)
{
    KVMIG__XML_EACH(node, devices, "memory")
    {
        struct kvmig__device *device = add_device(out, "memory", kvmig__xml_attr(node, "model"), alias_name(node));
        char *text = kvmig__xml_attr(kvmig__xml_child(node, "address"), "base");
        device->managed = text != NULL;
        free(text);
    }
}

/* Outside of <devices>: what binds a guest to its host, or to options that libvirt cannot see through. */
static void add_domain_features(const xmlNode *domain, struct kvmig__domain *out)
{
    const xmlNode *security = kvmig__xml_child(domain, "launchSecurity");
    if (security)
        add_device(out, "launch-security", kvmig__xml_attr(security, "type"), kvmig__strdup("launchSecurity"));
    /* Without its namespace declared the prefix is part of the name. */
    if (kvmig__xml_child_ns(domain, qemu_namespace, "commandline") || kvmig__xml_child(domain, "qemu:commandline"))
        add_device(out, "qemu-commandline", NULL, kvmig__strdup("qemu:commandline"));
}

void kvmig__xml_read_devices(const xmlNode *domain, struct kvmig__domain *out)
{
    const xmlNode *devices = kvmig__xml_child(domain, "devices");
    KVMIG__XML_EACH(node, devices, "interface")
    {
        struct kvmig__interface *interface = KVMIG__PUSH(&out->interfaces);
        read_interface(node, interface);
        add_interface_device(node, interface, out);
    }
    add_hostdevs(devices, out);
    add_filesystems(devices, out);
    add_tpms(devices, out);
    add_shmems(devices, out);
    add_inputs(devices, out);
    add_memory_modules(devices, out);
    add_plain_devices(devices, "vsock", "model", out);
    add_plain_devices(devices, "redirdev", "type", out);
    add_domain_features(domain, out);
}
