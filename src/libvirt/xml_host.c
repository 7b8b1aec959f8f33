/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Capabilities: what a host has for guests, read into the model: NUMA cells with their CPUs, memory and pages, the
 * frequency of the time-stamp counter, and the kinds of guests it can run. Does not tell how many pages are free (that
 * is asked for by a call of its own). Any thread; see xml_util.h for how errors in values are handled.
 */
#include "libvirt/xml_util.h"

#include <stdlib.h>

/* What the kernel can count to, and more than any host has. */
#define MAX_CELLS 1024
#define MAX_CPU UINT16_MAX

static void read_pages(struct kvmig__xml *xml, const xmlNode *node, struct kvmig__numa_cell *cell)
{
    KVMIG__XML_EACH(page, node, "pages")
    {
        uint64_t size = kvmig__xml_bytes(xml, page, "size", KVMIG__KIB, 0);
        struct kvmig__pages *pages;
        if (!size)
            continue;
        pages = KVMIG__PUSH(&cell->pages);
        pages->size = size;
        pages->total = kvmig__xml_uint(xml, page, NULL, UINT64_MAX - 1, KVMIG__UNKNOWN);
        pages->free = KVMIG__UNKNOWN;
    }
}

static void read_cell(struct kvmig__xml *xml, const xmlNode *node, struct kvmig__numa_cell *cell)
{
    cell->id = (uint32_t)kvmig__xml_uint(xml, node, "id", UINT16_MAX, 0);
    cell->memory = kvmig__xml_bytes(xml, kvmig__xml_child(node, "memory"), NULL, KVMIG__KIB, KVMIG__UNKNOWN);
    KVMIG__XML_EACH(cpu, kvmig__xml_child(node, "cpus"), "cpu")
    {
        *KVMIG__PUSH(&cell->cpus) = (uint32_t)kvmig__xml_uint(xml, cpu, "id", MAX_CPU, 0);
    }
    read_pages(xml, node, cell);
}

static void read_cells(struct kvmig__xml *xml, const xmlNode *host, struct kvmig__host *out)
{
    const xmlNode *cells = kvmig__xml_child(kvmig__xml_child(host, "topology"), "cells");
    KVMIG__XML_EACH(node, cells, "cell")
    {
        if (out->cells.n < MAX_CELLS)
            read_cell(xml, node, KVMIG__PUSH(&out->cells));
    }
    out->cells_known = out->cells.n > 0 && out->cells.n < MAX_CELLS;
}

static void read_tsc(struct kvmig__xml *xml, const xmlNode *host, struct kvmig__host *out)
{
    KVMIG__XML_EACH(counter, kvmig__xml_child(host, "cpu"), "counter")
    {
        if (!kvmig__xml_attr_is(counter, "name", "tsc"))
            continue;
        out->tsc_frequency_hz = kvmig__xml_uint(xml, counter, "frequency", UINT64_MAX, 0);
        if (kvmig__xml_attr_is(counter, "scaling", "yes"))
            out->tsc_scaling = 1;
        else if (kvmig__xml_attr_is(counter, "scaling", "no"))
            out->tsc_scaling = 0;
    }
}

static void read_virt_types(const xmlNode *capabilities, struct kvmig__host *out)
{
    KVMIG__XML_EACH(guest, capabilities, "guest")
    {
        const xmlNode *node = kvmig__xml_child(guest, "arch");
        char *arch = kvmig__xml_attr(node, "name");
        KVMIG__XML_EACH(domain, arch ? node : NULL, "domain")
        {
            char *type = kvmig__xml_attr(domain, "type");
            char *both = type ? kvmig__asprintf("%s %s", arch, type) : NULL;
            if (both)
                kvmig__strlist_add_new(&out->virt_types, both);
            free(both);
            free(type);
        }
        free(arch);
    }
    out->virt_types_known = out->virt_types.n > 0;
}

void kvmig__host_resources_clear(struct kvmig__host *host)
{
    for (size_t i = 0; i < host->cells.n; i++)
        kvmig__numa_cell_clear(&host->cells.v[i]);
    free(host->cells.v);
    host->cells.v = NULL;
    host->cells.n = 0;
    host->cells_known = false;
    host->tsc_frequency_hz = 0;
    host->tsc_scaling = -1;
    kvmig__strlist_clear(&host->virt_types);
    host->virt_types_known = false;
}

void kvmig__xml_read_host_resources(struct kvmig__xml *xml, struct kvmig__host *out)
{
    const xmlNode *host = kvmig__xml_child(xml->root, "host");
    read_cells(xml, host, out);
    read_tsc(xml, host, out);
    read_virt_types(xml->root, out);
}
