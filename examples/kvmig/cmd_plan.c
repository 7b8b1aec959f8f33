/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig plan: whether, where and how a VM can migrate. Reads the hosts, plans, prints; changes nothing.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define MAX_CANDIDATES 64 /* nodes that are listed for people */

static void print_disks(const struct kvmig_plan *plan, FILE *out)
{
    static const char *const titles[] = { "DISK", "METHOD", "SIZE", "TO COPY", "ON THE TARGET", "WHY" };
    struct json_object *json = NULL;
    struct table *table;
    char *text = NULL;

    if (kvmig_plan_disk_count(plan) == 0)
        return;
    if (kvmig_plan_to_json(plan, &text) == 0)
        json = json_parse_owned(text);
    table = table_new(titles, 6);
    for (size_t i = 0; i < kvmig_plan_disk_count(plan); i++) {
        struct json_object *disk = json_list_at(json_member(json, "disks"), i);
        int32_t method = kvmig_plan_disk_method(plan, i);
        bool copied = method == KVMIG_DISK_COPY_FULL || method == KVMIG_DISK_COPY_INCREMENTAL;
        struct text size = text_bytes(json_number(disk, "capacity"));
        struct text estimate = text_bytes(json_number(disk, "estimate"));
        const char *const cells[] = {
            kvmig_plan_disk_target(plan, i), kvmig_disk_method_name(method), size.s,
            copied ? estimate.s : NULL,      json_text(disk, "target_path"), json_text(disk, "reason")
        };

        table_add(table, cells);
    }
    fputc('\n', out);
    table_print(table, out, "  ");
    table_free(table);
    json_object_put(json);
}

static bool is_of(struct json_object *note, int32_t severity)
{
    const char *name = json_text(note, "severity");

    return name && strcmp(name, kvmig_severity_name(severity)) == 0;
}

static bool has_note(struct json_object *notes, int32_t severity)
{
    for (size_t i = 0; i < json_list_length(notes); i++)
        if (is_of(json_list_at(notes, i), severity))
            return true;
    return false;
}

static void print_notes(struct json_object *notes, int32_t severity, FILE *out)
{
    for (size_t i = 0; i < json_list_length(notes); i++)
        if (is_of(json_list_at(notes, i), severity))
            note_print(json_list_at(notes, i), out);
}

static void print_findings(const struct kvmig_findings *findings, struct json_object *notes, FILE *out)
{
    static const struct {
        int32_t severity;
        const char *title;
    } parts[] = {
        { KVMIG_SEVERITY_BLOCKER, "Blockers" },
        { KVMIG_SEVERITY_ERROR, "Errors" },
        { KVMIG_SEVERITY_WARN, "Warnings" },
        { KVMIG_SEVERITY_INFO, "Remarks" },
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        bool any = false;

        for (size_t k = 0; k < kvmig_findings_count(findings) && !any; k++)
            any = kvmig_finding_severity(kvmig_findings_get(findings, k)) == parts[i].severity &&
                  !finding_is_skipped_check(kvmig_findings_get(findings, k));
        any = any || has_note(notes, parts[i].severity);
        if (!any)
            continue;
        fprintf(out, "\n%s:\n", parts[i].title);
        print_notes(notes, parts[i].severity, out);
        findings_print(findings, parts[i].severity, parts[i].severity, out);
    }
}

static void print_candidates(const struct kvmig_plan *plan, FILE *out)
{
    static const char *const titles[] = { "CANDIDATE", "VERDICT", "FINDINGS", "BEFORE THE NEXT BECAUSE" };
    struct table *table;

    if (kvmig_plan_candidate_count(plan) == 0)
        return;
    table = table_new(titles, 4);
    for (size_t i = 0; i < kvmig_plan_candidate_count(plan) && i < MAX_CANDIDATES; i++) {
        const struct kvmig_findings *findings = kvmig_plan_candidate_findings(plan, i);
        char codes[256] = "";
        size_t n = 0;
        const char *const cells[] = { kvmig_plan_candidate_host(plan, i),
                                      kvmig_verdict_name(kvmig_plan_candidate_verdict(plan, i)), codes,
                                      kvmig_plan_candidate_reason(plan, i) };

        for (size_t k = 0; k < kvmig_findings_count(findings) && n < sizeof(codes); k++)
            n += (size_t)snprintf(codes + n, sizeof(codes) - n, "%s%s", k > 0 ? ", " : "",
                                  kvmig_finding_code(kvmig_findings_get(findings, k)));
        table_add(table, cells);
    }
    fputc('\n', out);
    table_print(table, out, "  ");
    table_free(table);
    if (kvmig_plan_candidate_count(plan) > MAX_CANDIDATES)
        fprintf(out, "  and %zu more; --json lists all\n", kvmig_plan_candidate_count(plan) - MAX_CANDIDATES);
}

/* What would make a blocked VM movable. */
static void print_remedies(const struct kvmig_plan *plan, FILE *out)
{
    const struct kvmig_findings *remedies = kvmig_plan_remedies(plan);
    const size_t n = kvmig_findings_count(remedies);
    const char *target = kvmig_plan_remedy_target(plan);
    bool never = false;

    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        never = never || kvmig_finding_mend(kvmig_findings_get(remedies, i)) == KVMIG_MEND_NEVER;
    fprintf(out, "\n%s%s%s:\n",
            never ? "It cannot be made movable as it runs. What stands against it at least" : "To make it movable",
            target ? never ? ", with target " : " to " : "", target ? target : "");
    for (size_t i = 0; i < n; i++) {
        const struct kvmig_finding *finding = kvmig_findings_get(remedies, i);
        const char *hint = kvmig_finding_hint(finding);

        fprintf(out, "  %s: %s (%s)%s%s\n", kvmig_mend_name(kvmig_finding_mend(finding)), kvmig_finding_code(finding),
                kvmig_finding_object(finding), *hint ? ": " : "", hint);
    }
}

static const char *explain_verdict(int32_t verdict)
{
    switch (verdict) {
    case KVMIG_VERDICT_MIGRATABLE:
        return "can migrate";
    case KVMIG_VERDICT_MIGRATABLE_WITH_RISK:
        return "can migrate; mind the warnings";
    case KVMIG_VERDICT_QUEUED:
        return "can migrate, but has to wait for a slot";
    case KVMIG_VERDICT_BLOCKED:
        return "cannot migrate";
    default:
        return "";
    }
}

/* What is wrong with the request blocks, too. */
static int32_t verdict_of(const struct kvmig_plan *plan, struct json_object *notes)
{
    return has_note(notes, KVMIG_SEVERITY_BLOCKER) ? KVMIG_VERDICT_BLOCKED : kvmig_plan_verdict(plan);
}

void plan_print(const struct kvmig_plan *plan, struct json_object *notes, FILE *out)
{
    const char *target = kvmig_plan_target(plan);
    const int32_t verdict = verdict_of(plan, notes);
    const char *name = kvmig_verdict_name(verdict);

    fprintf(out, "%s: %s -> %s: %s (%s)\n", kvmig_plan_vm(plan), kvmig_plan_source(plan), target ? target : "no target",
            explain_verdict(verdict), name ? name : "?");
    print_disks(plan, out);
    print_findings(kvmig_plan_findings(plan), notes, out);
    print_candidates(plan, out);
    forecast_print(plan, out);
    print_remedies(plan, out);
}

int plan_make(const struct view *view, const struct settings *settings, struct kvmig_plan **out_plan)
{
    struct kvmig_volume_change *changes;
    struct kvmig_link *links;
    struct forecast_told told;
    struct kvmig_plan_opts opts;
    int32_t rc;

    *out_plan = NULL;
    if (view->none_read)
        return EXIT_NOT_FOUND; /* which was said of each host */
    if (!volumes_read(&plan_command, settings, &changes))
        return EXIT_USAGE;
    if (!forecast_read(settings, &told) || !links_read(&plan_command, settings, &links)) {
        volumes_free(changes, settings->volumes.n);
        return EXIT_USAGE;
    }
    opts = settings_plan_opts(settings, changes);
    opts.links = links;
    opts.n_links = settings->links.n;
    opts.forecast = &told.opts;
    rc = kvmig_cluster_plan(view->cluster, &opts, out_plan);
    volumes_free(changes, settings->volumes.n);
    links_free(links, settings->links.n);
    return rc == 0 ? 0 : complain_error("cannot plan", NULL);
}

static void add_those(struct json_object *list, struct json_object *from, bool blockers, bool others)
{
    for (size_t i = 0; i < json_list_length(from); i++) {
        struct json_object *finding = json_list_at(from, i);

        if (is_of(finding, KVMIG_SEVERITY_BLOCKER) ? blockers : others)
            json_object_array_add(list, json_object_get(finding));
    }
}

/* As what the library itself finds wrong with a request: no host is a target for it. */
static void block_candidates(struct json_object *json, const char *asked_target)
{
    struct json_object *candidates = json_member(json, "candidates");
    const char *blocked = kvmig_verdict_name(KVMIG_VERDICT_BLOCKED);

    for (size_t i = 0; i < json_list_length(candidates); i++)
        json_object_object_add(json_list_at(candidates, i), "verdict", json_object_new_string(blocked));
    if (!asked_target)
        json_object_object_add(json, "target", NULL);
}

/* The library's plan; with notes about the request, among the findings, worst first. */
static void print_json(const struct kvmig_plan *plan, struct json_object *notes, const char *asked_target)
{
    struct json_object *json, *findings;
    char *text = NULL;

    kvmig_plan_to_json(plan, &text);
    json = json_parse_owned(text);
    if (json && notes) {
        findings = json_object_new_array();
        add_those(findings, notes, true, false);
        add_those(findings, json_member(json, "findings"), true, true);
        add_those(findings, notes, false, true);
        json_object_object_add(json, "findings", findings);
        json_object_object_add(json, "verdict", json_object_new_string(kvmig_verdict_name(verdict_of(plan, notes))));
        if (has_note(notes, KVMIG_SEVERITY_BLOCKER))
            block_candidates(json, asked_target);
    }
    json_print(json, stdout);
    json_object_put(json);
}

static int plan_and_show(const struct settings *settings)
{
    struct settings asked = *settings;
    struct kvmig_plan *plan = NULL;
    struct view view;
    char *only = NULL;
    int code = view_open(&view, settings);

    if (code == 0 && settings->all) {
        code = plan_all(&view, &asked);
        view_close(&view);
        return code == EXIT_NOT_FOUND && settings->files.n > 0 ? EXIT_USAGE : code;
    }
    if (code == 0 && !asked.vm) {
        only = view_only_vm(&view);
        asked.vm = only;
        code = only ? 0 : EXIT_NOT_FOUND;
    }
    if (code == 0)
        code = learned_load(&view, &asked);
    if (code == 0)
        code = measure(&view, &asked);
    if (code == 0)
        code = plan_make(&view, &asked, &plan);
    if (code == 0)
        learned_save(&view, &asked);
    if (code == 0) {
        if (settings->json)
            print_json(plan, settings->notes, asked.target);
        else
            plan_print(plan, settings->notes, stdout);
    }
    kvmig_plan_unref(plan);
    view_close(&view);
    free(only);
    /* What is not in the caller's own files cannot come later, as a host may. */
    return code == EXIT_NOT_FOUND && settings->files.n > 0 ? EXIT_USAGE : code;
}

static int run(const struct settings *settings)
{
    struct settings asked = *settings; /* borrows, but for the lists that the request may add to */
    struct json_object *request;
    int code;

    request_begin(&asked);
    code = request_read(&plan_command, &asked, &request);
    if (code == 0)
        code = plan_and_show(&asked);
    request_end(&asked);
    json_object_put(request);
    return code;
}

static const struct option_def options[] = {
    { .name = "vm",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, vm),
      .metavar = "VM",
      .help = "the VM; default with files: the only one that they tell of" },
    { .name = "all",
      .kind = OPTION_SWITCH,
      .offset = offsetof(struct settings, all),
      .help = "plan every VM that runs: a matrix of VMs and nodes; the words, if any, are files or folders" },
    { .name = "snapshot",
      .kind = OPTION_SWITCH,
      .offset = offsetof(struct settings, snapshot),
      .help = "the words after the options are files or folders: needed only if the one word is no file that exists. "
              "What a file is "
              "is seen from what it holds: Kubernetes objects, libvirt domain and capabilities XML, OVSDB rows, "
              "observations" },
    { .name = "request",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, request_path),
      .metavar = "FILE",
      .help = "take what is asked for from this JSON file: backend, source, target, exclude, target_labels, "
              "hosts, volume_changes, options, policy, observed" },
    { .name = NULL },
};
static const struct option_group file_options = { "Planning on files", options };
static const struct option_group *const groups[] = { &plan_options, &connect_options,  &kube_options, &kube_vm_options,
                                                     &file_options, &forecast_options, NULL };

const struct command plan_command = {
    .name = "plan",
    .arguments = "VM [options] | [--snapshot] PATH... [--vm VM] [options] | --all [options] [PATH...]",
    .summary = "Say whether, where and how a VM can migrate, with every reason why not. Changes nothing.",
    .details =
        "Exit code 0: there is an answer, whatever it is (see the verdict). 2: the files or options cannot be used.",
    .operands = OPERANDS_VM_OR_PATHS,
    .needs_hosts = true,
    .groups = groups,
    .run = run,
};
