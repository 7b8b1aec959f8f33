/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig plan --all: every VM against every node. For people a matrix with the first reason per cell, as long as the nodes fit on a
 * line, else a line per VM; for programs an array of plans. Plans are made one by one and not kept.
 */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define MATRIX_NODES 12 /* more do not fit on a line; with two columns more, as many as a table may have */
#define FULL_NODES 64 /* with more, candidates are counted, not listed */

struct matrix {
    char **nodes;
    size_t n_nodes;
    struct table *table;
    const char **titles;
};

/* ---- for people ---- */

static const char *reason_of(const struct kvmig_plan *plan)
{
    const struct kvmig_finding *first = kvmig_findings_get(kvmig_plan_findings(plan), 0);

    return first && kvmig_finding_severity(first) >= KVMIG_SEVERITY_WARN ? kvmig_finding_code(first) : NULL;
}

/* What stands against one candidate: the worst finding, and how many more are as bad; "ok" if there is none. What stands against the VM
 * wherever it goes is not among its findings. */
static void write_cell(const struct kvmig_plan *plan, size_t index, char *out, size_t size)
{
    const struct kvmig_findings *findings = kvmig_plan_candidate_findings(plan, index);
    const int32_t verdict = kvmig_plan_candidate_verdict(plan, index);
    const struct kvmig_finding *first = kvmig_findings_get(findings, 0);
    const int32_t worst = first ? kvmig_finding_severity(first) : 0;
    const char *reason = reason_of(plan);
    size_t more = 0;

    if (verdict == KVMIG_VERDICT_BLOCKED && worst != KVMIG_SEVERITY_BLOCKER) {
        snprintf(out, size, "VM: %s", reason ? reason : "blocked");
        return;
    }
    if (worst < KVMIG_SEVERITY_WARN) {
        snprintf(out, size, "%s", verdict == KVMIG_VERDICT_QUEUED ? "wait" : "ok");
        return;
    }
    for (size_t i = 1; i < kvmig_findings_count(findings); i++)
        more += kvmig_finding_severity(kvmig_findings_get(findings, i)) == worst;
    snprintf(out, size, "%s%s", verdict == KVMIG_VERDICT_BLOCKED ? "" : "ok, ", kvmig_finding_code(first));
    if (more > 0)
        snprintf(out + strlen(out), size - strlen(out), " +%zu", more);
}

static size_t column_of(const struct matrix *matrix, const char *node)
{
    size_t i = 0;

    while (i < matrix->n_nodes && strcmp(matrix->nodes[i], node) != 0)
        i++;
    return i;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_node(struct matrix *matrix, const char *name)
{
    if (!name || column_of(matrix, name) < matrix->n_nodes)
        return;
    matrix->nodes = realloc(matrix->nodes, (matrix->n_nodes + 1) * sizeof(*matrix->nodes));
    if (!matrix->nodes)
        abort();
    matrix->nodes[matrix->n_nodes] = strdup(name);
    if (!matrix->nodes[matrix->n_nodes++])
        abort();
}

/* The nodes are those of the first plan: its candidates and its source. */
static void begin_matrix(struct matrix *matrix, const struct kvmig_plan *plan)
{
    for (size_t i = 0; i < kvmig_plan_candidate_count(plan); i++)
        add_node(matrix, kvmig_plan_candidate_host(plan, i));
    add_node(matrix, kvmig_plan_source(plan));
    if (matrix->n_nodes > 0)
        qsort(matrix->nodes, matrix->n_nodes, sizeof(*matrix->nodes), compare_names);
    matrix->titles = calloc(matrix->n_nodes + 3, sizeof(*matrix->titles));
    if (!matrix->titles)
        abort();
    matrix->titles[0] = "VM";
    matrix->titles[1] = "VERDICT";
    for (size_t i = 0; i < matrix->n_nodes; i++)
        matrix->titles[i + 2] = matrix->nodes[i];
    matrix->table = table_new(matrix->titles, matrix->n_nodes + 2);
}

static void add_row(struct matrix *matrix, const struct kvmig_plan *plan)
{
    char(*texts)[TEXT_MAX] = calloc(matrix->n_nodes + 1, sizeof(*texts));
    const char **cells = calloc(matrix->n_nodes + 3, sizeof(*cells));
    const char *target = kvmig_plan_target(plan);
    size_t at;

    if (!texts || !cells)
        abort();
    cells[0] = kvmig_plan_vm(plan);
    cells[1] = kvmig_verdict_name(kvmig_plan_verdict(plan));
    at = column_of(matrix, kvmig_plan_source(plan) ? kvmig_plan_source(plan) : "");
    if (at < matrix->n_nodes)
        cells[at + 2] = "(here)";
    for (size_t i = 0; i < kvmig_plan_candidate_count(plan); i++) {
        at = column_of(matrix, kvmig_plan_candidate_host(plan, i));
        if (at == matrix->n_nodes)
            continue;
        write_cell(plan, i, texts[at], sizeof(texts[at]));
        if (target && strcmp(matrix->nodes[at], target) == 0 && strlen(texts[at]) + 3 < sizeof(texts[at]))
            strcat(texts[at], " *");
        cells[at + 2] = texts[at];
    }
    table_add(matrix->table, cells);
    free(texts);
    free(cells);
}

/* Too many nodes for columns. */
static void print_line(const struct kvmig_plan *plan, FILE *out)
{
    const char *target = kvmig_plan_target(plan), *reason = reason_of(plan);

    fprintf(out, "%-40s %-22s %s -> %s%s%s\n", kvmig_plan_vm(plan), kvmig_verdict_name(kvmig_plan_verdict(plan)),
            kvmig_plan_source(plan) ? kvmig_plan_source(plan) : "?", target ? target : "no target", reason ? "  " : "",
            reason ? reason : "");
}

static void end_matrix(struct matrix *matrix, FILE *out)
{
    if (matrix->table) {
        table_print(matrix->table, out, "");
        fputs("\n* the target that would be chosen. 'kvmig plan VM' tells every reason.\n", out);
    }
    table_free(matrix->table);
    for (size_t i = 0; i < matrix->n_nodes; i++)
        free(matrix->nodes[i]);
    free(matrix->nodes);
    free(matrix->titles);
}

/* ---- for programs ---- */

/* Line by line: all of it need not be in memory. */
static void print_json(const struct kvmig_plan *plan, size_t n, FILE *out)
{
    char *text = NULL;

    if (kvmig_plan_candidate_count(plan) > FULL_NODES)
        kvmig_plan_summary_to_json(plan, &text);
    else
        kvmig_plan_to_json(plan, &text);
    fprintf(out, "%s%s", n ? ",\n" : "[\n", text ? text : "null");
    free(text);
}

/* ---- all of them ---- */

static int show(struct kvmig_plan_iterator *iterator, const struct settings *settings)
{
    struct matrix matrix = { NULL, 0, NULL, NULL };
    struct kvmig_plan *plan = NULL;
    size_t n = 0;
    int32_t rc;

    while ((rc = kvmig_plan_iterator_next(iterator, &plan)) == 0 && plan) {
        if (settings->json) {
            print_json(plan, n, stdout);
        } else if (!matrix.table && kvmig_plan_candidate_count(plan) >= MATRIX_NODES) {
            print_line(plan, stdout);
        } else {
            if (!matrix.table)
                begin_matrix(&matrix, plan);
            add_row(&matrix, plan);
        }
        n++;
        kvmig_plan_unref(plan);
    }
    if (settings->json)
        fputs(n ? "\n]\n" : "[]\n", stdout);
    end_matrix(&matrix, stdout);
    if (rc < 0)
        return complain_error("cannot plan", NULL);
    if (n == 0 && !settings->json)
        puts("No VM runs here.");
    return EXIT_OK;
}

static bool blocks(struct json_object *note)
{
    const char *severity = json_text(note, "severity");

    return severity && strcmp(severity, kvmig_severity_name(KVMIG_SEVERITY_BLOCKER)) == 0;
}

/* What cannot be asked of all VMs at once. 0, or the exit code. */
static int check_for_all(const struct settings *settings)
{
    bool refused = false;

    if (settings->vm || settings->measure) {
        complain("plan --all: %s is for one VM", settings->vm ? "--vm" : "--measure");
        return usage_hint(&plan_command);
    }
    for (size_t i = 0; i < json_list_length(settings->notes); i++) {
        note_print(json_list_at(settings->notes, i), stderr);
        refused = refused || blocks(json_list_at(settings->notes, i));
    }
    return refused ? EXIT_USAGE : 0;
}

int plan_all(const struct view *view, const struct settings *settings)
{
    struct kvmig_plan_opts opts = settings_plan_opts(settings, NULL);
    struct kvmig_plan_iterator *iterator = NULL;
    struct kvmig_link *links;
    struct forecast_told told;
    int code;

    if (view->none_read)
        return EXIT_NOT_FOUND; /* which was said of each host */
    code = check_for_all(settings);
    if (code == 0)
        code = learned_load(view, settings);
    if (code != 0)
        return code;
    if (!forecast_read(settings, &told) || !links_read(&plan_command, settings, &links))
        return EXIT_USAGE;
    opts.forecast = &told.opts;
    opts.links = links;
    opts.n_links = settings->links.n;
    code = kvmig_cluster_plan_all(view->cluster, &opts, &iterator) < 0 ? complain_error("cannot plan", NULL)
                                                                       : show(iterator, settings);
    kvmig_plan_iterator_free(iterator);
    links_free(links, settings->links.n);
    return code;
}
