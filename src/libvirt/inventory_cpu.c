/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading what a host's emulators offer, and which CPU features guests and emulators stand for. Does: ask for the
 * capabilities of each combination of emulator, machine and virtualisation type that matters in the view; let the host
 * expand CPU models into features, because only libvirt and QEMU there know what a model means. Does not: compare CPUs (the
 * planner does). Runs on the host's lane; answers are kept in the reading's cache, because they change only with the
 * software of the host.
 */
#include "libvirt/inventory.h"

#include <libvirt/virterror.h>
#include <stdlib.h>
#include <string.h>

static char *query_key(const struct kvmig__query *query)
{
    return kvmig__asprintf("%s|%s|%s|%s", query->emulator ? query->emulator : "", query->arch ? query->arch : "",
                           query->machine ? query->machine : "", query->virt_type ? query->virt_type : "");
}

/* ---- features of a CPU ---- */

static bool is_plain_name(const char *s)
{
    return s && *s && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") == strlen(s);
}

/* A <cpu> that says what a host's host-model is. Owned; NULL if it holds what is no name. */
static char *cpu_to_xml(const struct kvmig__cpu *cpu)
{
    struct kvmig__strlist parts = { NULL, 0 };
    char *xml;

    if (!is_plain_name(cpu->model))
        return NULL;
    xml = kvmig__asprintf("<cpu mode='custom' match='exact'><model fallback='forbid'>%s</model>", cpu->model);
    kvmig__strlist_add(&parts, xml);
    free(xml);
    for (size_t i = 0; i < cpu->features.n; i++) {
        const struct kvmig__cpu_feature *feature = &cpu->features.v[i];
        const bool without = feature->policy == KVMIG__CPU_DISABLE || feature->policy == KVMIG__CPU_FORBID;

        if (!is_plain_name(feature->name))
            continue;
        xml = kvmig__asprintf("<feature policy='%s' name='%s'/>", without ? "disable" : "require", feature->name);
        kvmig__strlist_add(&parts, xml);
        free(xml);
    }
    kvmig__strlist_add(&parts, "</cpu>");
    xml = kvmig__strlist_join(&parts, "");
    kvmig__strlist_clear(&parts);
    return xml;
}

/* The names of all features of an expanded <cpu>, one a line. Owned; NULL if the text is not understood. */
static char *feature_lines(struct kvmig__inventory *inv, const char *xml)
{
    struct kvmig__strlist names = { NULL, 0 };
    struct kvmig__cpu cpu;
    char *where = kvmig__inventory_where(inv, "expanded CPU"), *lines;
    int32_t rc = kvmig__xml_cpu(xml, where, &cpu);

    free(where);
    if (rc < 0) {
        kvmig__inventory_misread(inv, "expanded CPU");
        return NULL;
    }
    for (size_t i = 0; i < cpu.features.n; i++)
        if (cpu.features.v[i].policy != KVMIG__CPU_DISABLE && cpu.features.v[i].policy != KVMIG__CPU_FORBID)
            kvmig__strlist_add(&names, cpu.features.v[i].name);
    kvmig__cpu_clear(&cpu);
    lines = kvmig__strlist_join(&names, "\n");
    kvmig__strlist_clear(&names);
    return lines;
}

/* Lets the host expand a <cpu>. Owned; NULL if it cannot. */
static char *ask_for_features(struct kvmig__inventory *inv, const struct kvmig__query *query, const char *cpu_xml)
{
    char *expanded, *lines;

    kvmig__inventory_calls(inv, "virConnectBaselineHypervisorCPU");
    expanded = virConnectBaselineHypervisorCPU(inv->conn, query->emulator, query->arch, query->machine,
                                               query->virt_type, &cpu_xml, 1, VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES);
    if (!expanded) {
        kvmig__inventory_failed(inv, "virConnectBaselineHypervisorCPU", query->machine);
        return NULL;
    }
    lines = feature_lines(inv, expanded);
    free(expanded);
    return lines;
}

static bool has_removed(const struct kvmig__cpu *cpu, const char *name, size_t length)
{
    for (size_t i = 0; i < cpu->features.n; i++) {
        const struct kvmig__cpu_feature *feature = &cpu->features.v[i];

        if ((feature->policy == KVMIG__CPU_DISABLE || feature->policy == KVMIG__CPU_FORBID) && feature->name &&
            strlen(feature->name) == length && memcmp(feature->name, name, length) == 0)
            return true;
    }
    return false;
}

static void take_features(struct kvmig__cpu *cpu, const char *lines)
{
    while (*lines) {
        const size_t length = strcspn(lines, "\n");
        char *name = kvmig__strndup(lines, length);

        if (!has_removed(cpu, name, length))
            kvmig__strlist_add_new(&cpu->expanded, name);
        free(name);
        lines += length + (lines[length] == '\n');
    }
    cpu->expanded_known = true;
}

/* What was refused may be offered later: a thorough reading asks again. */
static bool is_answered(const struct kvmig__inventory *inv, const struct kvmig__cache_entry *entry)
{
    return entry && (entry->value || inv->depth != KVMIG__DEPTH_THOROUGH);
}

static void expand(struct kvmig__inventory *inv, const struct kvmig__query *query, const char *cpu_xml,
                   struct kvmig__cpu *cpu)
{
    const struct kvmig__cache_entry *entry;
    char *combination = query_key(query), *key = kvmig__asprintf("%s|%s", combination, cpu_xml);

    free(combination);
    entry = kvmig__cache_get(&inv->cache->features, key);
    if (!is_answered(inv, entry)) {
        char *lines = ask_for_features(inv, query, cpu_xml);

        if (!inv->error)
            kvmig__cache_put(&inv->cache->features, key, lines);
        free(lines);
        entry = kvmig__cache_get(&inv->cache->features, key);
    }
    if (entry && entry->value)
        take_features(cpu, entry->value);
    free(key);
}

static void expand_guest(struct kvmig__inventory *inv, struct kvmig__domain *domain)
{
    const struct kvmig__query query = { domain->emulator, domain->arch, domain->machine, domain->virt_type };

    if (domain->cpu.mode == KVMIG__CPU_CUSTOM && domain->cpu.xml)
        expand(inv, &query, domain->cpu.xml, &domain->cpu);
}

/* ---- emulators ---- */

static char *ask_for_capabilities(struct kvmig__inventory *inv, const struct kvmig__query *query)
{
    char *xml;

    kvmig__inventory_calls(inv, "virConnectGetDomainCapabilities");
    xml = virConnectGetDomainCapabilities(inv->conn, query->emulator, query->arch, query->machine, query->virt_type, 0);
    /* The emulator's path is another host's; here it may be elsewhere. */
    if (!xml && query->emulator && virConnectIsAlive(inv->conn) == 1)
        xml = virConnectGetDomainCapabilities(inv->conn, NULL, query->arch, query->machine, query->virt_type, 0);
    if (!xml)
        kvmig__inventory_failed(inv, "virConnectGetDomainCapabilities", query->machine);
    return xml;
}

static bool has_emulator(const struct kvmig__host *host, const struct kvmig__emulator *wanted)
{
    for (size_t i = 0; i < host->emulators.n; i++) {
        const struct kvmig__emulator *emulator = &host->emulators.v[i];

        if (kvmig__str_eq(emulator->path, wanted->path) && kvmig__str_eq(emulator->arch, wanted->arch) &&
            kvmig__str_eq(emulator->virt_type, wanted->virt_type) && kvmig__str_eq(emulator->machine, wanted->machine))
            return true;
    }
    return false;
}

static void add_emulator(struct kvmig__inventory *inv, const struct kvmig__query *query, const char *xml)
{
    struct kvmig__emulator emulator;
    char *where = kvmig__inventory_where(inv, "domain capabilities"), *cpu_xml;
    int32_t rc = kvmig__xml_domain_capabilities(xml, where, &emulator);

    free(where);
    if (rc < 0) {
        kvmig__inventory_misread(inv, "domain capabilities");
        return;
    }
    if (query->machine)
        kvmig__str_set(&emulator.machine, query->machine);
    if (has_emulator(inv->host, &emulator)) {
        kvmig__emulator_clear(&emulator);
        return;
    }
    cpu_xml = emulator.host_model_known ? cpu_to_xml(&emulator.host_model) : NULL;
    if (cpu_xml)
        expand(inv, &(struct kvmig__query){ emulator.path, emulator.arch, emulator.machine, emulator.virt_type },
               cpu_xml, &emulator.host_model);
    free(cpu_xml);
    *KVMIG__PUSH(&inv->host->emulators) = emulator;
}

static void read_emulator(struct kvmig__inventory *inv, const struct kvmig__query *query)
{
    const struct kvmig__cache_entry *entry;
    char *key;

    if (inv->error)
        return;
    key = query_key(query);
    entry = kvmig__cache_get(&inv->cache->emulators, key);
    if (!is_answered(inv, entry)) {
        char *xml = ask_for_capabilities(inv, query);

        if (!inv->error)
            kvmig__cache_put(&inv->cache->emulators, key, xml);
        free(xml);
        entry = kvmig__cache_get(&inv->cache->emulators, key);
    }
    if (entry && entry->value)
        add_emulator(inv, query, entry->value);
    free(key);
}

void kvmig__inventory_emulators(struct kvmig__inventory *inv)
{
    static const char *const virt_types[] = { "kvm", "qemu" };
    struct kvmig__queries own = { NULL, 0 };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(virt_types); i++)
        kvmig__queries_add(&own, &(struct kvmig__query){ NULL, inv->host->arch, NULL, (char *)virt_types[i] });
    kvmig__queries_add_domains(&own, inv->host);
    for (size_t i = 0; i < inv->queries->n; i++)
        kvmig__queries_add(&own, &inv->queries->v[i]);
    for (size_t i = 0; i < own.n; i++)
        read_emulator(inv, &own.v[i]);
    kvmig__queries_clear(&own);
    for (size_t i = 0; i < inv->host->domains.n && !inv->error; i++)
        expand_guest(inv, &inv->host->domains.v[i]);
}
