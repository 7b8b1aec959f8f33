/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Domain XML, read into the model: identity, memory, CPU, firmware, NUMA placement, and disks with their chains of
 * images. Interfaces and other devices are in xml_domain_devices.c, what it needs of a host in xml_domain_needs.c. Fills nothing that the XML does not tell (state,
 * jobs, snapshots, sizes of disks). Any thread; see xml_util.h for how errors in values are handled.
 */
#include "libvirt/libvirt_internal.h"
#include "libvirt/xml_util.h"

#include <stdlib.h>
#include <string.h>

/* ---- disks ---- */

static int32_t disk_type(const xmlNode *node)
{
    int32_t found = KVMIG__DISK_OTHER;
    char *type = kvmig__xml_attr(node, "type");
    if (!type)
        return KVMIG__DISK_FILE; /* libvirt's default */
    for (int32_t i = 0; i < KVMIG__DISK_OTHER; i++)
        if (kvmig__str_eq(type, kvmig__disk_type_name(i)))
            found = i;
    free(type);
    return found;
}

/* "name", "name:port", "[IPv6]:port", or the path of a Unix socket. */
static char *host_address(const xmlNode *host)
{
    char *name = kvmig__xml_attr(host, "name");
    char *port = kvmig__xml_attr(host, "port");
    char *address = NULL;
    if (!name)
        address = kvmig__xml_attr(host, "socket");
    else if (!port)
        address = kvmig__strdup(name);
    else
        address = kvmig__asprintf(strchr(name, ':') ? "[%s]:%s" : "%s:%s", name, port);
    free(name);
    free(port);
    return address;
}

/* "0000:01:00.0/1": where the controller is on the host, and the namespace in it. */
static char *nvme_name(const xmlNode *source)
{
    char *address = kvmig__xml_pci_address(kvmig__xml_child(source, "address"));
    char *number = kvmig__xml_attr(source, "namespace");
    char *name = address ? kvmig__asprintf("%s/%s", address, number ? number : "1") : NULL;
    free(address);
    free(number);
    return name;
}

/* Returns false if there is no medium: no source, or one that names none. */
static bool read_source(const xmlNode *source, int32_t type, struct kvmig__disk_source *out)
{
    out->type = type;
    out->capacity = KVMIG__UNKNOWN;
    switch (type) {
    case KVMIG__DISK_FILE:
        out->path = kvmig__xml_attr(source, "file");
        break;
    case KVMIG__DISK_BLOCK:
        out->path = kvmig__xml_attr(source, "dev");
        break;
    case KVMIG__DISK_DIR:
        out->path = kvmig__xml_attr(source, "dir");
        break;
    case KVMIG__DISK_NETWORK:
        out->protocol = kvmig__xml_attr(source, "protocol");
        out->name = kvmig__xml_attr(source, "name");
        out->host = host_address(kvmig__xml_child(source, "host"));
        return out->protocol != NULL;
    case KVMIG__DISK_VOLUME:
        out->pool = kvmig__xml_attr(source, "pool");
        out->volume = kvmig__xml_attr(source, "volume");
        return out->pool && out->volume;
    case KVMIG__DISK_NVME:
        out->name = nvme_name(source);
        return out->name != NULL;
    case KVMIG__DISK_VHOST_USER:
        out->path = kvmig__xml_attr(source, "path");
        break;
    default:
        out->path = kvmig__xml_attr(source, "dev");
        return source != NULL;
    }
    return out->path != NULL;
}

/* From the top image's <backingStore> down; an empty one ends the chain. The depth of the document bounds it. */
static void read_backing(const xmlNode *disk, struct kvmig__disk *out)
{
    for (const xmlNode *node = kvmig__xml_child(disk, "backingStore"); node;
         node = kvmig__xml_child(node, "backingStore")) {
        const xmlNode *source = kvmig__xml_child(node, "source");
        if (!source)
            return;
        struct kvmig__disk_source *image = KVMIG__PUSH(&out->backing);
        read_source(source, disk_type(node), image);
        image->format = kvmig__xml_attr(kvmig__xml_child(node, "format"), "type");
    }
}

static void read_disk(const xmlNode *node, struct kvmig__disk *out)
{
    const xmlNode *driver = kvmig__xml_child(node, "driver");
    const xmlNode *target = kvmig__xml_child(node, "target");
    out->target = kvmig__xml_attr(target, "dev");
    out->bus = kvmig__xml_attr(target, "bus");
    out->device = kvmig__xml_attr(node, "device");
    if (!out->device)
        out->device = kvmig__strdup("disk");
    out->has_source = read_source(kvmig__xml_child(node, "source"), disk_type(node), &out->source);
    out->source.format = kvmig__xml_attr(driver, "type");
    read_backing(node, out);
    out->cache = kvmig__xml_attr(driver, "cache");
    out->io = kvmig__xml_attr(driver, "io");
    out->discard = kvmig__xml_attr(driver, "discard");
    out->readonly = kvmig__xml_child(node, "readonly") || kvmig__str_eq(out->device, "cdrom");
    out->shareable = kvmig__xml_child(node, "shareable") != NULL;
    out->transient = kvmig__xml_child(node, "transient") != NULL;
    out->job_active = kvmig__xml_child(node, "mirror") != NULL;
    out->capacity = KVMIG__UNKNOWN;
    out->allocation = KVMIG__UNKNOWN;
    out->physical = KVMIG__UNKNOWN;
}

/* ---- what the guest is made of ---- */

static void read_memory(struct kvmig__xml *xml, struct kvmig__domain *out)
{
    const xmlNode *current = kvmig__xml_child(xml->root, "currentMemory");
    const xmlNode *backing = kvmig__xml_child(xml->root, "memoryBacking");
    const xmlNode *huge = kvmig__xml_child(backing, "hugepages");
    out->max_memory = kvmig__xml_bytes(xml, kvmig__xml_child(xml->root, "memory"), NULL, KVMIG__KIB, 0);
    out->memory = kvmig__xml_bytes(xml, current, NULL, KVMIG__KIB, out->max_memory);
    out->hugepages = huge != NULL;
    out->hugepage_size = kvmig__xml_bytes(xml, kvmig__xml_child(huge, "page"), "size", KVMIG__KIB, 0);
    KVMIG__XML_EACH(page, huge, "page")
    {
        if (kvmig__xml_bytes(xml, page, "size", KVMIG__KIB, 0) != out->hugepage_size)
            out->hugepages_mixed = true;
    }
    out->memory_source = kvmig__xml_attr(kvmig__xml_child(backing, "source"), "type");
    out->memory_hard_limit = kvmig__xml_child(kvmig__xml_child(xml->root, "memtune"), "hard_limit") != NULL;
    out->memory_locked = kvmig__xml_child(backing, "locked") != NULL;
}

static void read_vcpus(struct kvmig__xml *xml, struct kvmig__domain *out)
{
    const xmlNode *vcpu = kvmig__xml_child(xml->root, "vcpu");
    uint64_t present = kvmig__xml_uint(xml, vcpu, NULL, UINT32_MAX, 0);
    out->vcpus = (uint32_t)kvmig__xml_uint(xml, vcpu, "current", UINT32_MAX, present);
}

static void read_cpu(struct kvmig__xml *xml, struct kvmig__domain *out)
{
    kvmig__xml_read_cpu(kvmig__xml_child(xml->root, "cpu"), &out->cpu);
    KVMIG__XML_EACH(timer, kvmig__xml_child(xml->root, "clock"), "timer")
    {
        if (kvmig__xml_attr_is(timer, "name", "tsc"))
            out->cpu.tsc_frequency_hz = kvmig__xml_uint(xml, timer, "frequency", UINT64_MAX, 0);
    }
}

/* Newer versions write <nvram type='...'><source .../></nvram> where the path used to be the text; variables in a
 * store of the emulated uefi-vars device are in <varstore path='...'/>. */
static void read_nvram(const xmlNode *os, struct kvmig__domain *out)
{
    struct kvmig__disk_source image = { 0 };
    const xmlNode *nvram = kvmig__xml_child(os, "nvram");
    const xmlNode *source = kvmig__xml_child(nvram, "source");
    const xmlNode *store = kvmig__xml_child(os, "varstore");
    out->nvram_present = nvram || store;
    if (source && read_source(source, disk_type(nvram), &image))
        out->nvram = kvmig__strdup(image.path);
    else if (!source)
        out->nvram = nvram ? kvmig__xml_text(nvram) : kvmig__xml_attr(store, "path");
    kvmig__disk_source_clear(&image);
}

static void read_os(struct kvmig__xml *xml, struct kvmig__domain *out)
{
    const xmlNode *os = kvmig__xml_child(xml->root, "os");
    const xmlNode *type = kvmig__xml_child(os, "type");
    out->arch = kvmig__xml_attr(type, "arch");
    out->machine = kvmig__xml_attr(type, "machine");
    out->loader = kvmig__xml_child_text(os, "loader");
    read_nvram(os, out);
}

/* "strict", which is also the default, and "restrictive" tie the guest to nodes that must exist; others do not. */
static char *pinned_nodes(const xmlNode *node)
{
    bool pinned = kvmig__xml_attr_is(node, "mode", "strict") || kvmig__xml_attr_is(node, "mode", "restrictive") ||
                  !xmlHasProp((xmlNode *)node, (const xmlChar *)"mode");
    return pinned ? kvmig__xml_attr(node, "nodeset") : NULL;
}

static void read_numa(struct kvmig__xml *xml, struct kvmig__domain *out)
{
    const xmlNode *tune = kvmig__xml_child(xml->root, "numatune");
    const xmlNode *memory = kvmig__xml_child(tune, "memory");
    struct kvmig__strlist nodes = { NULL, 0 };
    out->numa_nodeset = memory ? pinned_nodes(memory) : NULL;
    KVMIG__XML_EACH(cell, out->numa_nodeset ? NULL : tune, "memnode")
    {
        char *set = pinned_nodes(cell);
        if (set)
            kvmig__strlist_add(&nodes, set);
        free(set);
    }
    if (nodes.n)
        out->numa_nodeset = kvmig__strlist_join(&nodes, ",");
    out->numa_pinned = out->numa_nodeset != NULL;
    kvmig__strlist_clear(&nodes);
}

int32_t kvmig__xml_domain(const char *text, const char *where, struct kvmig__domain *out)
{
    struct kvmig__xml xml;
    memset(out, 0, sizeof(*out));
    out->cpu.migratable = -1;
    int32_t code = kvmig__xml_open(&xml, text, where, "domain");
    if (code < 0)
        return code;
    const xmlNode *devices = kvmig__xml_child(xml.root, "devices");
    out->running_xml = xmlHasProp(xml.root, (const xmlChar *)"id") != NULL;
    out->virt_type = kvmig__xml_attr(xml.root, "type");
    out->name = kvmig__xml_child_text(xml.root, "name");
    out->uuid = kvmig__xml_child_text(xml.root, "uuid");
    out->emulator = kvmig__xml_child_text(devices, "emulator");
    read_memory(&xml, out);
    read_vcpus(&xml, out);
    read_cpu(&xml, out);
    read_os(&xml, out);
    read_numa(&xml, out);
    KVMIG__XML_EACH(disk, devices, "disk")
    {
        read_disk(disk, KVMIG__PUSH(&out->disks));
    }
    kvmig__xml_read_devices(xml.root, out);
    kvmig__xml_read_needs(xml.root, out);
    code = kvmig__xml_close(&xml);
    if (code < 0)
        kvmig__domain_clear(out);
    else
        out->xml = kvmig__strdup(text);
    return code;
}
