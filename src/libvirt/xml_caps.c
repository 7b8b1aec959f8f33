/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a host says about itself: capabilities, domain capabilities, and CPUs, read into the model. Reads what libvirt
 * 6 to 12 print; whatever a version does not print stays unknown. Does not compare CPUs, and does not expand their
 * models. Any thread; see xml_util.h for how errors in values are handled.
 */
#include "libvirt/libvirt_internal.h"
#include "libvirt/xml_util.h"

#include <stdlib.h>
#include <string.h>

/* ---- CPU ---- */

/* Feature names with '-' and small letters, except where libvirt itself writes '_': then equal features are equal
 * text. */
static char *feature_name(const xmlNode *feature)
{
    char *name = kvmig__xml_attr(feature, "name");
    const char *canonical = kvmig__cpu_feature_canonical(name);
    if (canonical != name) {
        kvmig__str_set(&name, canonical);
        return name;
    }
    for (char *c = name; c && *c != '\0'; c++) {
        if (*c == '_')
            *c = '-';
        else if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    }
    return name;
}

static int32_t feature_policy(const xmlNode *feature)
{
    static const char *const names[] = {
        [KVMIG__CPU_FORCE] = "force",
        [KVMIG__CPU_OPTIONAL] = "optional",
        [KVMIG__CPU_DISABLE] = "disable",
        [KVMIG__CPU_FORBID] = "forbid",
    };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(names); i++)
        if (names[i] && kvmig__xml_attr_is(feature, "policy", names[i]))
            return (int32_t)i;
    return KVMIG__CPU_REQUIRE; /* libvirt's default, and the meaning in capabilities, which have no policies */
}

static int32_t cpu_mode(const xmlNode *cpu, bool has_model)
{
    if (kvmig__xml_attr_is(cpu, "mode", "host-passthrough"))
        return KVMIG__CPU_HOST_PASSTHROUGH;
    if (kvmig__xml_attr_is(cpu, "mode", "host-model"))
        return KVMIG__CPU_HOST_MODEL;
    if (kvmig__xml_attr_is(cpu, "mode", "maximum"))
        return KVMIG__CPU_MAXIMUM;
    /* A <cpu> that only tells the topology leaves the choice to the hypervisor. */
    return has_model ? KVMIG__CPU_CUSTOM : KVMIG__CPU_NONE;
}

void kvmig__xml_read_cpu(const xmlNode *cpu, struct kvmig__cpu *out)
{
    out->migratable = -1;
    if (!cpu)
        return;
    out->model = kvmig__xml_child_text(cpu, "model");
    out->vendor = kvmig__xml_child_text(cpu, "vendor");
    out->check = kvmig__xml_attr(cpu, "check");
    out->mode = cpu_mode(cpu, out->model != NULL);
    if (kvmig__xml_attr_is(cpu, "migratable", "on"))
        out->migratable = 1;
    else if (kvmig__xml_attr_is(cpu, "migratable", "off"))
        out->migratable = 0;
    KVMIG__XML_EACH(node, cpu, "feature")
    {
        char *name = feature_name(node);
        if (!name)
            continue;
        struct kvmig__cpu_feature *feature = KVMIG__PUSH(&out->features);
        feature->name = name;
        feature->policy = feature_policy(node);
    }
    out->xml = kvmig__xml_dump(cpu);
}

int32_t kvmig__xml_cpu(const char *text, const char *where, struct kvmig__cpu *out)
{
    struct kvmig__xml xml;
    memset(out, 0, sizeof(*out));
    out->migratable = -1;
    int32_t code = kvmig__xml_open(&xml, text, where, "cpu");
    if (code < 0)
        return code;
    kvmig__xml_read_cpu(xml.root, out);
    code = kvmig__xml_close(&xml);
    if (code < 0)
        kvmig__cpu_clear(out);
    return code;
}

/* ---- capabilities ---- */

/* The CPUs that are online are listed per NUMA cell; the topology of <cpu> is the next best answer, and was counted per
 * cell by some versions. */
static uint32_t count_cpus(struct kvmig__xml *xml, const xmlNode *host)
{
    static const char *const levels[] = { "sockets", "dies", "clusters", "cores", "threads" };
    uint64_t cpus = 0;
    KVMIG__XML_EACH(cell, kvmig__xml_child(kvmig__xml_child(host, "topology"), "cells"), "cell")
    {
        cpus += kvmig__xml_uint(xml, kvmig__xml_child(cell, "cpus"), "num", UINT16_MAX, 0);
    }
    const xmlNode *topology = kvmig__xml_child(kvmig__xml_child(host, "cpu"), "topology");
    if (cpus == 0 && topology) {
        cpus = 1;
        for (size_t i = 0; i < KVMIG__N_ELEMENTS(levels) && cpus <= UINT32_MAX; i++)
            cpus *= kvmig__xml_uint(xml, topology, levels[i], UINT16_MAX, 1);
    }
    if (cpus > UINT32_MAX) {
        kvmig__xml_reject(xml, topology ? topology : host, "Read the capabilities from the host again.",
                          "the CPU topology counts more CPUs than any host has");
        return 0;
    }
    return (uint32_t)cpus;
}

struct machine_list {
    struct kvmig__machine *v;
    size_t n;
};

static void add_machines(struct machine_list *list, const xmlNode *parent, const char *arch)
{
    KVMIG__XML_EACH(node, parent, "machine")
    {
        char *name = kvmig__xml_text(node);
        if (!name)
            continue;
        struct kvmig__machine *machine = KVMIG__PUSH(list);
        machine->name = name;
        machine->canonical = kvmig__xml_attr(node, "canonical");
        machine->arch = kvmig__strdup(arch);
    }
}

static int compare_text(const char *a, const char *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

/* By architecture and name; of two entries of one machine, the one that tells the canonical name comes first. */
static int compare_machines(const void *a, const void *b)
{
    const struct kvmig__machine *x = a, *y = b;
    int order = compare_text(x->arch, y->arch);
    if (order == 0)
        order = compare_text(x->name, y->name);
    return order != 0 ? order : compare_text(y->canonical, x->canonical);
}

/* Every virtualisation type of an architecture may list the same machines again. */
static void remove_duplicates(struct machine_list *list)
{
    size_t kept = 0;
    if (list->n == 0)
        return;
    qsort(list->v, list->n, sizeof(*list->v), compare_machines);
    for (size_t i = 1; i < list->n; i++) {
        if (kvmig__str_eq(list->v[i].name, list->v[kept].name) && kvmig__str_eq(list->v[i].arch, list->v[kept].arch))
            kvmig__machine_clear(&list->v[i]);
        else
            list->v[++kept] = list->v[i];
    }
    list->n = kept + 1;
}

static void read_machines(const xmlNode *capabilities, struct machine_list *list)
{
    KVMIG__XML_EACH(guest, capabilities, "guest")
    {
        const xmlNode *node = kvmig__xml_child(guest, "arch");
        char *arch = kvmig__xml_attr(node, "name");
        add_machines(list, node, arch);
        KVMIG__XML_EACH(domain, node, "domain")
        {
            add_machines(list, domain, arch);
        }
        free(arch);
    }
    remove_duplicates(list);
}

static void take_machines(struct kvmig__host *out, const struct machine_list *list, bool known)
{
    for (size_t i = 0; i < out->machines.n; i++)
        kvmig__machine_clear(&out->machines.v[i]);
    free(out->machines.v);
    out->machines.v = list->v;
    out->machines.n = list->n;
    out->machines_known = known;
}

/* Replaces uuid, arch, cpus, secure_models, machines, NUMA cells, TSC and kinds of guests of a host whose other members are valid. On failure those are
 * empty and the others untouched. */
int32_t kvmig__xml_capabilities(const char *text, const char *where, struct kvmig__host *out)
{
    struct kvmig__xml xml;
    struct machine_list machines = { NULL, 0 };
    kvmig__str_set(&out->uuid, NULL);
    kvmig__str_set(&out->arch, NULL);
    out->cpus = 0;
    kvmig__strlist_clear(&out->secure_models);
    take_machines(out, &machines, false);
    kvmig__host_resources_clear(out);
    int32_t code = kvmig__xml_open(&xml, text, where, "capabilities");
    if (code < 0)
        return code;
    const xmlNode *host = kvmig__xml_child(xml.root, "host");
    uint32_t cpus = count_cpus(&xml, host);
    if (xml.error)
        return kvmig__xml_close(&xml);
    out->cpus = cpus;
    out->uuid = kvmig__xml_child_text(host, "uuid");
    out->arch = kvmig__xml_child_text(kvmig__xml_child(host, "cpu"), "arch");
    KVMIG__XML_EACH(model, host, "secmodel")
    {
        char *name = kvmig__xml_child_text(model, "model");
        if (name)
            kvmig__strlist_add(&out->secure_models, name);
        free(name);
    }
    read_machines(xml.root, &machines);
    take_machines(out, &machines, kvmig__xml_child(xml.root, "guest") != NULL);
    kvmig__xml_read_host_resources(&xml, out);
    code = kvmig__xml_close(&xml);
    if (code < 0)
        kvmig__host_resources_clear(out);
    return code;
}

/* ---- domain capabilities ---- */

static bool enum_has(const xmlNode *parent, const char *name, const char *value, bool absent)
{
    KVMIG__XML_EACH(node, parent, "enum")
    {
        if (!kvmig__xml_attr_is(node, "name", name))
            continue;
        bool has = false;
        KVMIG__XML_EACH(item, node, "value")
        {
            char *text = kvmig__xml_text(item);
            has = has || kvmig__str_eq(text, value);
            free(text);
        }
        return has;
    }
    return absent;
}

static int compare_models(const void *a, const void *b)
{
    const struct kvmig__cpu_model *x = a, *y = b;
    return compare_text(x->name, y->name);
}

static void read_blockers(const xmlNode *custom, struct kvmig__emulator *out)
{
    KVMIG__XML_EACH(node, custom, "blockers")
    {
        struct kvmig__cpu_model key = { .name = kvmig__xml_attr(node, "model") };
        struct kvmig__cpu_model *model =
            out->models.n ? bsearch(&key, out->models.v, out->models.n, sizeof(key), compare_models) : NULL;
        free(key.name);
        KVMIG__XML_EACH(feature, model ? node : NULL, "feature")
        {
            char *name = feature_name(feature);
            if (name)
                kvmig__strlist_add(&model->blockers, name);
            free(name);
        }
    }
}

/* The models are sorted by name, because libvirt's order tells nothing and blockers refer to them by name. */
static void read_models(const xmlNode *custom, struct kvmig__emulator *out)
{
    KVMIG__XML_EACH(node, custom, "model")
    {
        char *name = kvmig__xml_text(node);
        if (!name)
            continue;
        struct kvmig__cpu_model *model = KVMIG__PUSH(&out->models);
        model->name = name;
        /* "unknown" is no evidence against a model. */
        model->usable = !kvmig__xml_attr_is(node, "usable", "no");
        model->vendor = kvmig__xml_attr(node, "vendor");
        model->canonical = kvmig__xml_attr(node, "canonical");
        if (kvmig__str_eq(model->vendor, "unknown"))
            kvmig__str_set(&model->vendor, NULL);
    }
    if (out->models.n)
        qsort(out->models.v, out->models.n, sizeof(*out->models.v), compare_models);
    read_blockers(custom, out);
}

static void read_mode(const xmlNode *mode, struct kvmig__emulator *out)
{
    if (kvmig__xml_attr_is(mode, "name", "host-passthrough"))
        out->passthrough_told = true;
    else if (kvmig__xml_attr_is(mode, "name", "maximum"))
        out->maximum_told = true;
    if (!kvmig__xml_attr_is(mode, "supported", "yes"))
        return;
    if (kvmig__xml_attr_is(mode, "name", "host-passthrough")) {
        out->passthrough_supported = true;
        /* Versions without the list have no way to say no. */
        out->host_passthrough_migratable = enum_has(mode, "hostPassthroughMigratable", "on", true);
    } else if (kvmig__xml_attr_is(mode, "name", "maximum")) {
        out->maximum_supported = true;
    } else if (kvmig__xml_attr_is(mode, "name", "host-model") && !out->host_model_known) {
        kvmig__cpu_clear(&out->host_model);
        kvmig__xml_read_cpu(mode, &out->host_model);
        kvmig__str_set(&out->host_model.xml, NULL); /* it is no <cpu> element */
        out->host_model_known = out->host_model.model != NULL;
    } else if (kvmig__xml_attr_is(mode, "name", "custom") && out->models.n == 0) {
        read_models(mode, out);
    }
}

int32_t kvmig__xml_domain_capabilities(const char *text, const char *where, struct kvmig__emulator *out)
{
    struct kvmig__xml xml;
    memset(out, 0, sizeof(*out));
    out->host_model.migratable = -1;
    int32_t code = kvmig__xml_open(&xml, text, where, "domainCapabilities");
    if (code < 0)
        return code;
    out->path = kvmig__xml_child_text(xml.root, "path");
    out->virt_type = kvmig__xml_child_text(xml.root, "domain");
    out->machine = kvmig__xml_child_text(xml.root, "machine");
    out->arch = kvmig__xml_child_text(xml.root, "arch");
    KVMIG__XML_EACH(mode, kvmig__xml_child(xml.root, "cpu"), "mode")
    {
        read_mode(mode, out);
    }
    kvmig__xml_read_offers(xml.root, out);
    code = kvmig__xml_close(&xml);
    if (code < 0)
        kvmig__emulator_clear(out);
    return code;
}
