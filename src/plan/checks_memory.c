/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the guest is bound to on its host: huge pages, NUMA nodes, CPUs by number. libvirt carries all these along as they
 * are in the XML, and finds out whether the target has them when it starts QEMU there. Judged by the XML that the target
 * gets. What the target has not told is not held against it. Pure; any thread.
 */
#include "plan/checks.h"

#include <ctype.h>
#include <stdlib.h>

const struct kvmig__domain *kvmig__domain_there(const struct kvmig__check *c)
{
    if (kvmig__target_xml_unread(c))
        return NULL;
    return c->request->target_domain ? c->request->target_domain : c->domain;
}

/* ---- sets of numbers ---- */

#define MAX_ID 65536
struct idset {
    uint8_t bits[MAX_ID / 8];
    bool any;
};

static bool has_id(const struct idset *set, uint32_t id)
{
    return id < MAX_ID && set->bits[id / 8] & (1U << id % 8);
}

static void put_ids(struct idset *set, unsigned long first, unsigned long last, bool present)
{
    for (unsigned long id = first; id <= last && id < MAX_ID; id++) {
        if (present)
            set->bits[id / 8] |= (uint8_t)(1U << id % 8);
        else
            set->bits[id / 8] &= (uint8_t) ~(1U << id % 8);
    }
}

/* "0-3,^2,8". False if it is no such list. */
static bool parse_ids(const char *text, struct idset *out)
{
    const char *at = text;
    char *end;

    *out = (struct idset){ .any = false };
    while (at && *at) {
        bool present = *at != '^';
        unsigned long first, last;

        at += present ? 0 : 1;
        if (!isdigit((unsigned char)*at))
            return false;
        first = last = strtoul(at, &end, 10);
        if (*end == '-' && isdigit((unsigned char)end[1]))
            last = strtoul(end + 1, &end, 10);
        if (last >= MAX_ID || first > last)
            return false;
        put_ids(out, first, last, present);
        at = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            return false;
    }
    for (size_t i = 0; i < sizeof(out->bits); i++)
        out->any = out->any || out->bits[i];
    return out->any;
}

/* Those of wanted that present lacks, as a list of numbers. Returns how many of wanted there are in present. */
static size_t missing_ids(const struct idset *wanted, const struct idset *present, struct kvmig__strlist *out)
{
    size_t found = 0;

    for (uint32_t id = 0; id < MAX_ID; id++) {
        char *text;

        if (!wanted->bits[id / 8])
            id |= 7;
        if (!has_id(wanted, id))
            continue;
        if (has_id(present, id)) {
            found++;
            continue;
        }
        text = kvmig__asprintf("%u", id);
        kvmig__strlist_add(out, text);
        free(text);
    }
    return found;
}

/* ---- NUMA nodes ---- */

static void cells_of(const struct kvmig__host *host, struct idset *out)
{
    *out = (struct idset){ .any = false };
    for (size_t i = 0; i < host->cells.n; i++)
        put_ids(out, host->cells.v[i].id, host->cells.v[i].id, true);
}

static void note_numa(const struct kvmig__check *c, const struct kvmig__domain *there)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "nodes", there->numa_nodeset);
    kvmig__detail_str(&d, "missing", "the NUMA nodes of the target");
    kvmig__note(c, "NUMA_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_node(c->target), &d,
                "Give target_xml with the target's nodes if they differ.",
                "The VM's memory is tied to NUMA nodes %s; whether the target has them is not known.",
                there->numa_nodeset ? there->numa_nodeset : "of the source");
}

/* All of the memory must lie on the nodes named. Free memory changes too fast to say more. */
static void check_node_memory(const struct kvmig__check *c, const struct kvmig__domain *there,
                              const struct idset *nodes)
{
    uint64_t need = there->max_memory > there->memory ? there->max_memory : there->memory, have = 0;
    struct kvmig__detail d = { 0 };
    char *need_text, *have_text;

    for (size_t i = 0; i < c->target->cells.n; i++) {
        const struct kvmig__numa_cell *cell = &c->target->cells.v[i];

        if (!has_id(nodes, cell->id))
            continue;
        if (cell->memory == KVMIG__UNKNOWN)
            return;
        have += cell->memory;
    }
    if (need <= have)
        return;
    need_text = kvmig__bytes_text(need);
    have_text = kvmig__bytes_text(have);
    kvmig__detail_str(&d, "nodes", there->numa_nodeset);
    kvmig__detail_uint(&d, "need", need);
    kvmig__detail_uint(&d, "have", have);
    kvmig__note(c, "NUMA_MEMORY_INSUFFICIENT", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                "Give target_xml with other nodes, or choose another host.",
                "The VM's %s of memory are tied to NUMA nodes %s, which have %s on the target.", need_text,
                there->numa_nodeset, have_text);
    free(need_text);
    free(have_text);
}

static void check_numa(const struct kvmig__check *c, const struct kvmig__domain *there)
{
    struct kvmig__strlist missing = { 0 };
    struct idset wanted, present;
    struct kvmig__detail d = { 0 };
    char *text;

    if (!there->numa_pinned)
        return;
    if (!c->target->cells_known || !parse_ids(there->numa_nodeset, &wanted)) {
        note_numa(c, there);
        return;
    }
    cells_of(c->target, &present);
    missing_ids(&wanted, &present, &missing);
    if (missing.n) {
        text = kvmig__strlist_join(&missing, ", ");
        kvmig__detail_str(&d, "nodes", there->numa_nodeset);
        kvmig__detail_list(&d, "missing", &missing);
        kvmig__note(c, "NUMA_NODE_MISSING", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                    "Give target_xml with the target's nodes, or choose another host.",
                    "The VM's memory is tied to NUMA nodes %s, and the target has no node %s.", there->numa_nodeset,
                    text);
        free(text);
    } else {
        check_node_memory(c, there, &wanted);
    }
    kvmig__strlist_clear(&missing);
}

/* ---- huge pages ---- */

/* The one size that is no ordinary page; 0 if there are several, which libvirt would choose from by a setting of the host. */
static uint64_t only_huge_size(const struct kvmig__host *host)
{
    uint64_t smallest = UINT64_MAX, found = 0;

    for (size_t i = 0; i < host->cells.n; i++) {
        for (size_t p = 0; p < host->cells.v[i].pages.n; p++) {
            uint64_t size = host->cells.v[i].pages.v[p].size;

            smallest = size < smallest ? size : smallest;
        }
    }
    for (size_t i = 0; i < host->cells.n; i++) {
        for (size_t p = 0; p < host->cells.v[i].pages.n; p++) {
            const struct kvmig__pages *pages = &host->cells.v[i].pages.v[p];

            if (pages->size == smallest || pages->total == 0)
                continue;
            if (found && found != pages->size)
                return 0;
            found = pages->size;
        }
    }
    return found;
}

/* Pages of that size in a cell that a guest may take: free ones, or if that is not known all of them (*out_bound). A cell that
 * lists sizes and not this one has none. False: nothing is known. */
static bool pages_of(const struct kvmig__numa_cell *cell, uint64_t size, uint64_t *out, bool *out_bound)
{
    *out = 0;
    for (size_t i = 0; i < cell->pages.n; i++) {
        const struct kvmig__pages *pages = &cell->pages.v[i];

        if (pages->size != size)
            continue;
        *out = pages->free != KVMIG__UNKNOWN ? pages->free : pages->total;
        *out_bound = *out_bound || pages->free == KVMIG__UNKNOWN;
        return *out != KVMIG__UNKNOWN;
    }
    return cell->pages.n > 0;
}

/* false: not known. */
static bool huge_need(const struct kvmig__host *host, const struct kvmig__domain *domain, uint64_t *out_size,
                      uint64_t *out_need)
{
    uint64_t size = domain->hugepage_size ? domain->hugepage_size : only_huge_size(host);

    if (!host->cells_known || domain->hugepages_mixed || !size || !domain->max_memory)
        return false;
    *out_size = size;
    *out_need = domain->max_memory / size + (domain->max_memory % size ? 1 : 0);
    return true;
}

/* Of a cell that lists the size; what is left to take. */
static uint64_t take_pages(struct kvmig__numa_cell *cell, uint64_t size, uint64_t need)
{
    for (size_t i = 0; i < cell->pages.n; i++) {
        struct kvmig__pages *pages = &cell->pages.v[i];
        uint64_t *have = pages->free != KVMIG__UNKNOWN ? &pages->free : &pages->total, taken;

        if (pages->size != size || *have == KVMIG__UNKNOWN)
            continue;
        taken = need < *have ? need : *have;
        *have -= taken;
        return need - taken;
    }
    return need;
}

void kvmig__take_hugepages(struct kvmig__host *host, const struct kvmig__domain *domain)
{
    struct idset nodes;
    bool some = domain->numa_pinned && parse_ids(domain->numa_nodeset, &nodes);
    uint64_t size, need;

    if (!domain->hugepages || !huge_need(host, domain, &size, &need))
        return;
    for (size_t i = 0; i < host->cells.n && need; i++) {
        if (!some || has_id(&nodes, host->cells.v[i].id))
            need = take_pages(&host->cells.v[i], size, need);
    }
}

static void note_huge_unverified(const struct kvmig__check *c, uint64_t size, const char *missing)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_uint(&d, "page_size", size);
    kvmig__detail_str(&d, "missing", missing);
    kvmig__note(
        c, "HUGEPAGES_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_node(c->target), &d, NULL,
        "The VM's memory is in huge pages; whether the target has enough free ones is not known: %s is missing.",
        missing);
}

static void note_huge_insufficient(const struct kvmig__check *c, uint64_t size, uint64_t need, uint64_t have)
{
    struct kvmig__detail d = { 0 };
    char *size_text = kvmig__bytes_text(size);

    kvmig__detail_uint(&d, "page_size", size);
    kvmig__detail_uint(&d, "need", need);
    kvmig__detail_uint(&d, "have", have);
    kvmig__note(c, "INSUFFICIENT_HUGEPAGES", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                "Reserve more pages there (virsh allocpages), or choose another host.",
                "The VM needs %llu huge pages of %s, and the target has %llu for it.", (unsigned long long)need,
                size_text, (unsigned long long)have);
    free(size_text);
}

static void check_hugepages(const struct kvmig__check *c, const struct kvmig__domain *there)
{
    uint64_t size, need, have = 0;
    struct idset nodes;
    bool bound = false, some = there->numa_pinned && parse_ids(there->numa_nodeset, &nodes);

    if (!there->hugepages)
        return;
    if (!huge_need(c->target, there, &size, &need)) {
        note_huge_unverified(c, there->hugepage_size,
                             !c->target->cells_known ? "what pages the target has"
                             : !there->max_memory    ? "the size of the VM's memory"
                                                     : "which size of pages counts there");
        return;
    }
    for (size_t i = 0; i < c->target->cells.n; i++) {
        uint64_t pages;

        if (some && !has_id(&nodes, c->target->cells.v[i].id))
            continue;
        if (!pages_of(&c->target->cells.v[i], size, &pages, &bound)) {
            note_huge_unverified(c, size, "what pages the target has");
            return;
        }
        have = pages > UINT64_MAX - have ? UINT64_MAX : have + pages;
    }
    if (have < need)
        note_huge_insufficient(c, size, need, have);
    else if (bound)
        note_huge_unverified(c, size, "how many of them are free");
}

/* ---- CPUs by number ---- */

static void cpus_of(const struct kvmig__host *host, struct idset *out)
{
    *out = (struct idset){ .any = false };
    for (size_t i = 0; i < host->cells.n; i++) {
        for (size_t k = 0; k < host->cells.v[i].cpus.n; k++) {
            put_ids(out, host->cells.v[i].cpus.v[k], host->cells.v[i].cpus.v[k], true);
            out->any = true;
        }
    }
}

static void note_pins(const struct kvmig__check *c, const struct kvmig__strlist *bound,
                      const struct kvmig__strlist *missing, bool none)
{
    struct kvmig__detail d = { 0 };
    char *what = kvmig__strlist_join(bound, ", "), *text = kvmig__strlist_join(missing, ", ");

    kvmig__detail_list(&d, "bound", bound);
    kvmig__detail_list(&d, "missing", missing);
    kvmig__note(c, "PINNED_CPU_MISSING", none ? KVMIG_SEVERITY_BLOCKER : KVMIG_SEVERITY_WARN,
                kvmig__object_node(c->target), &d, "Give target_xml with CPUs that the target has.",
                "The VM is bound to CPUs of its host by number (%s), and the target does not have CPU %s.", what, text);
    free(what);
    free(text);
}

/* What has none of its CPUs there cannot be started; what has some runs on fewer, or is refused by the kernel. */
static void check_pins(const struct kvmig__check *c, const struct kvmig__domain *there)
{
    struct kvmig__strlist bound = { 0 }, missing = { 0 };
    struct idset present, wanted;
    bool none = false;

    if (!there->cpu_pins.n || !c->target->cells_known)
        return;
    cpus_of(c->target, &present);
    for (size_t i = 0; i < there->cpu_pins.n && present.any; i++) {
        struct kvmig__strlist lacking = { 0 };
        size_t found;

        if (!parse_ids(there->cpu_pins.v[i].cpus, &wanted))
            continue;
        found = missing_ids(&wanted, &present, &lacking);
        if (lacking.n)
            kvmig__strlist_add(&bound, there->cpu_pins.v[i].what);
        for (size_t k = 0; k < lacking.n; k++)
            kvmig__strlist_add_new(&missing, lacking.v[k]);
        none = none || found == 0;
        kvmig__strlist_clear(&lacking);
    }
    if (missing.n)
        note_pins(c, &bound, &missing, none);
    kvmig__strlist_clear(&bound);
    kvmig__strlist_clear(&missing);
}

static size_t count_ids(const struct idset *set)
{
    size_t n = 0;

    for (uint32_t id = 0; id < MAX_ID; id++)
        n += has_id(set, id);
    return n;
}

/* QEMU's channels are threads of the emulator: where those have few CPUs, channels take them from each other, and a quota
 * stretches the pause. On the source as on the target. */
static void check_channels(const struct kvmig__check *c)
{
    const struct kvmig__domain *domain = c->domain;
    uint64_t cpus = KVMIG__UNKNOWN;
    struct kvmig__detail d = { 0 };

    if (!kvmig__request_is_parallel(c->request))
        return;
    for (size_t i = 0; i < domain->cpu_pins.n; i++) {
        struct idset set;

        if (kvmig__str_eq(domain->cpu_pins.v[i].what, "emulator") && parse_ids(domain->cpu_pins.v[i].cpus, &set))
            cpus = count_ids(&set);
    }
    if (!domain->cpu_limited && (cpus == KVMIG__UNKNOWN || cpus >= c->request->parallel_connections))
        return;
    kvmig__detail_uint(&d, "connections", c->request->parallel_connections);
    if (cpus != KVMIG__UNKNOWN)
        kvmig__detail_uint(&d, "emulator_cpus", cpus);
    if (domain->cpu_limited)
        kvmig__detail_str(&d, "quota", "emulator");
    kvmig__note(c, "MULTIFD_ON_LIMITED_CPU", KVMIG_SEVERITY_WARN, kvmig__object_vm(domain), &d,
                "Use no more connections than QEMU's own threads have CPUs, or give them more.",
                "Parallel connections are asked for, but QEMU's own threads are limited to %s; the channels would take "
                "time from each other and lengthen the pause.",
                domain->cpu_limited ? "a share of processor time" : "fewer CPUs");
}

void kvmig__check_host_memory(const struct kvmig__check *c)
{
    const struct kvmig__domain *there = kvmig__domain_there(c);

    check_channels(c);
    if (!there)
        return;
    check_numa(c, there);
    check_hugepages(c, there);
    check_pins(c, there);
}
