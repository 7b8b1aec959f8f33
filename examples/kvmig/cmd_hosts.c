/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig hosts: what the view of the hosts says, as tables or as JSON.
 */
#include <stddef.h>
#include <string.h>

#include "tool.h"

static bool has_job(struct json_object *domain)
{
    return json_true(domain, "migrating_out") || json_true(domain, "migrating_in");
}

/* "3 of 5": running and all VMs. */
static struct text count_vms(struct json_object *host)
{
    struct json_object *domains = json_member(host, "domains");
    size_t n = json_list_length(domains), running = 0;
    struct text text;

    for (size_t i = 0; i < n; i++) {
        const char *state = json_text(json_list_at(domains, i), "state");

        running += state && strcmp(state, "running") == 0;
    }
    if (domains)
        snprintf(text.s, sizeof(text.s), "%zu of %zu", running, n);
    else
        snprintf(text.s, sizeof(text.s), "?");
    return text;
}

static void print_hosts(struct json_object *hosts)
{
    static const char *const titles[] = { "HOST", "STATE",  "LIBVIRT", "QEMU",        "CPU MODEL",
                                          "CPUS", "MEMORY", "FREE",    "VMS RUNNING", "URI" };
    struct table *table = table_new(titles, 10);

    for (size_t i = 0; i < json_list_length(hosts); i++) {
        struct json_object *host = json_list_at(hosts, i);
        uint64_t cpus = json_number(host, "cpus");
        struct text total = text_bytes(json_number(host, "memory_total"));
        struct text available = text_bytes(json_number(host, "memory_free"));
        struct text vms = count_vms(host);
        struct text n_cpus = { "?" };
        const char *cells[] = { json_text(host, "name"),
                                json_text(host, "state"),
                                json_text(host, "libvirt_version"),
                                json_text(host, "qemu_version"),
                                json_text(json_member(host, "cpu"), "host_model"),
                                n_cpus.s,
                                total.s,
                                available.s,
                                vms.s,
                                json_text(host, "uri") };

        if (cpus != UINT64_MAX)
            snprintf(n_cpus.s, sizeof(n_cpus.s), "%llu", (unsigned long long)cpus);
        table_add(table, cells);
    }
    table_print(table, stdout, "");
    table_free(table);
}

static void add_vms(struct table *table, struct json_object *host)
{
    struct json_object *domains = json_member(host, "domains");

    for (size_t i = 0; i < json_list_length(domains); i++) {
        struct json_object *domain = json_list_at(domains, i);
        struct text memory = text_bytes(json_number(domain, "memory"));
        struct text vcpus, disks;
        const char *job = json_true(domain, "migrating_out") ? "migrates out" : "migrates in";
        const char *cells[] = { json_text(domain, "name"),
                                json_text(host, "name"),
                                json_text(domain, "state"),
                                vcpus.s,
                                memory.s,
                                disks.s,
                                json_true(domain, "persistent") ? "persistent" : "transient",
                                has_job(domain) ? job : NULL,
                                json_text(domain, "uuid") };

        snprintf(vcpus.s, sizeof(vcpus.s), "%llu", (unsigned long long)json_number(domain, "vcpus"));
        snprintf(disks.s, sizeof(disks.s), "%zu", json_list_length(json_member(domain, "disks")));
        table_add(table, cells);
    }
}

static void print_vms(struct json_object *hosts)
{
    static const char *const titles[] = {
        "VM", "HOST", "STATE", "VCPUS", "MEMORY", "DISKS", "DEFINITION", "JOB", "UUID"
    };
    struct table *table = table_new(titles, 9);

    for (size_t i = 0; i < json_list_length(hosts); i++)
        add_vms(table, json_list_at(hosts, i));
    putchar('\n');
    table_print(table, stdout, "");
    table_free(table);
}

static int show(const struct view *view, const struct settings *settings)
{
    struct json_object *json;
    char *text = NULL;

    if (kvmig_cluster_to_json(view->cluster, &text) < 0)
        return complain_error("cannot show the hosts", NULL);
    json = json_parse_owned(text);
    if (settings->json) {
        json_print(json, stdout);
    } else {
        print_hosts(json_member(json, "hosts"));
        if (settings->vms)
            print_vms(json_member(json, "hosts"));
    }
    json_object_put(json);
    return view->complete ? EXIT_OK : EXIT_NOT_FOUND;
}

static int run(const struct settings *settings)
{
    struct view view;
    int code = view_open(&view, settings);

    if (code == 0)
        code = show(&view, settings);
    view_close(&view);
    return code;
}

static const struct option_def options[] = {
    { .name = "vms",
      .kind = OPTION_SWITCH,
      .offset = offsetof(struct settings, vms),
      .help = "list the VMs of each host, too" },
    { .name = NULL },
};
static const struct option_group hosts_options = { "What to show", options };
static const struct option_group *const groups[] = { &hosts_options, &connect_options, &kube_options, NULL };

const struct command hosts_command = {
    .name = "hosts",
    .arguments = "[--vms] [options] [FILE...]",
    .summary = "List the hosts or nodes: state, versions, CPU model, CPUs, memory, VMs.",
    .details = "Exit code 0: every host was read. 6: at least one does not answer; the others are shown.",
    .operands = OPERANDS_FILES,
    .needs_hosts = true,
    .groups = groups,
    .run = run,
};
