/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig drain: empties nodes. Plans where each VM goes and in which order, shows it, and unless told to stop there runs the migrations
 * under the limits. The first Ctrl-C or SIGTERM cancels; the third leaves.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

/* ---- the plan ---- */

static int make_drain(const struct view *view, const struct settings *settings, struct kvmig_drain **out_drain)
{
    struct kvmig_plan_opts plan = settings_plan_opts(settings, NULL);
    struct kvmig_drain_opts opts = KVMIG_DRAIN_OPTS_INIT;

    *out_drain = NULL;
    if (view->none_read)
        return EXIT_NOT_FOUND; /* which was said of each host */
    plan.vm = NULL;
    opts.nodes = settings->drain_nodes.v;
    opts.n_nodes = settings->drain_nodes.n;
    opts.vms = settings->drain_vms.v;
    opts.n_vms = settings->drain_vms.n;
    opts.targets = settings->drain_targets.v;
    opts.n_targets = settings->drain_targets.n;
    opts.excludes = settings->exclude.v;
    opts.n_excludes = settings->exclude.n;
    opts.link_mib = settings->link_mib;
    opts.max_migrations = (uint32_t)settings->drain_at_once;
    opts.plan = &plan;
    return kvmig_cluster_plan_drain(view->cluster, &opts, out_drain) == 0 ? 0 : complain_error("cannot plan", NULL);
}

static void print_moves(const struct kvmig_drain *drain, FILE *out)
{
    static const char *const titles[] = { "WAVE", "VM", "FROM", "TO", "VERDICT", "DONE AT" };
    struct table *table = table_new(titles, 6);

    for (size_t i = 0; i < kvmig_drain_count(drain); i++) {
        const struct kvmig_plan *plan = kvmig_drain_plan(drain, i);
        struct text finish = text_ms(kvmig_drain_finish_ms(drain, i));
        char wave[16];
        const char *const cells[] = { wave,
                                      kvmig_plan_vm(plan),
                                      kvmig_plan_source(plan),
                                      kvmig_plan_target(plan),
                                      kvmig_verdict_name(kvmig_plan_verdict(plan)),
                                      finish.s };

        snprintf(wave, sizeof(wave), "%u", (unsigned)kvmig_drain_wave(drain, i));
        table_add(table, cells);
    }
    table_print(table, out, "");
    table_free(table);
}

static void print_immovable(const struct kvmig_drain *drain, FILE *out)
{
    for (size_t i = 0; i < kvmig_drain_immovable_count(drain); i++) {
        const struct kvmig_plan *plan = kvmig_drain_immovable(drain, i);

        fprintf(out, "\n%s cannot move:\n", kvmig_plan_vm(plan));
        findings_print(kvmig_plan_findings(plan), KVMIG_SEVERITY_BLOCKER, KVMIG_SEVERITY_BLOCKER, out);
    }
}

static void print_drain(const struct kvmig_drain *drain, FILE *out)
{
    const size_t n = kvmig_drain_count(drain), immovable = kvmig_drain_immovable_count(drain);
    const uint64_t expected = kvmig_drain_expected_ms(drain);

    fprintf(out, "%zu of %zu VMs move, in %u waves", n, n + immovable,
            n ? (unsigned)kvmig_drain_wave(drain, n - 1) : 0u);
    if (expected != UINT64_MAX)
        fprintf(out, "; expected to take %s", text_ms(expected).s);
    else
        fprintf(out, "; how long it takes is not known without --bandwidth or --link");
    fputs(".\n", out);
    if (n > 0) {
        fputc('\n', out);
        print_moves(drain, out);
    }
    print_immovable(drain, out);
}

static void show_plan(const struct kvmig_drain *drain, const struct settings *settings)
{
    struct json_object *json;
    char *text = NULL;

    if (!settings->json) {
        print_drain(drain, stdout);
        fflush(stdout);
        return;
    }
    kvmig_drain_to_json(drain, &text);
    json = json_parse_owned(text);
    if (settings->dry_run)
        json_print(json, stdout);
    else
        json_print_line("drain", json, stdout);
    json_object_put(json);
}

/* ---- running it ---- */

struct run {
    const struct settings *settings;
    const struct kvmig_drain *drain;
    struct kvmig_drain_run *run;
    struct kvmig_event *end;
    int seen_signals;
};

static void print_event(const struct kvmig_event *event)
{
    const struct kvmig_error *error = kvmig_event_error(event);
    const int32_t type = kvmig_event_type(event);

    if (type == KVMIG_EVENT_PHASE)
        printf("%s: %s\n", kvmig_event_vm(event), kvmig_phase_name(kvmig_event_phase(event)));
    else if (type == KVMIG_EVENT_END && error)
        printf("%s: %s: %s\n", kvmig_event_vm(event), kvmig_phase_name(kvmig_event_phase(event)),
               kvmig_error_message(error));
    fflush(stdout);
}

static void on_event(const struct kvmig_event *event, void *user_data)
{
    struct run *run = user_data;
    const int32_t type = kvmig_event_type(event);
    char *text = NULL;

    if (type == KVMIG_EVENT_DRAIN_END) {
        run->end = kvmig_event_ref(event);
    } else if (!run->settings->json) {
        print_event(event);
    } else if ((type == KVMIG_EVENT_PHASE || type == KVMIG_EVENT_END) && kvmig_event_to_json(event, &text) == 0) {
        struct json_object *json = json_parse_owned(text);

        json_print_line(kvmig_event_type_name(kvmig_event_type(event)), json, stdout);
        json_object_put(json);
    }
}

static int32_t wants_attention(void *user_data)
{
    const struct run *run = user_data;

    return run->end || signals_count() > run->seen_signals;
}

static void take_signals(struct run *run)
{
    while (run->seen_signals < signals_count()) {
        run->seen_signals++;
        if (run->seen_signals == 1) {
            fputs("cancelling: no further migration starts, and those that run are undone; waiting for them ...\n",
                  stderr);
            kvmig_drain_run_cancel(run->run);
        } else if (run->seen_signals > 2) {
            fputs("left before the end: the hosts finish or abort what runs on their own\n", stderr);
            _exit(EXIT_LEFT);
        }
    }
}

static int exit_code_of_end(const struct run *run)
{
    switch (kvmig_event_phase(run->end)) {
    case KVMIG_PHASE_SUCCEEDED:
        return EXIT_OK;
    case KVMIG_PHASE_CANCELLED:
        return EXIT_CANCELLED;
    case KVMIG_PHASE_INDETERMINATE:
        return EXIT_UNDECIDED;
    default:
        return EXIT_FAILED;
    }
}

static int tell_end(const struct run *run)
{
    const struct kvmig_error *error = kvmig_event_error(run->end);
    struct json_object *report;
    char *text = NULL;

    if (run->settings->json) {
        kvmig_drain_run_report(run->run, &text);
        report = json_parse_owned(text);
        json_print_line("report", report, stdout);
        json_object_put(report);
    } else if (error) {
        printf("The drain has ended: %s.\n", kvmig_error_message(error));
    } else {
        printf("The drain has ended: all %zu VMs have moved.\n", kvmig_drain_count(run->drain));
    }
    return exit_code_of_end(run);
}

static int run_drain(const struct view *view, const struct settings *settings, const struct kvmig_drain *drain)
{
    struct kvmig_drain_run_opts opts = KVMIG_DRAIN_RUN_OPTS_INIT;
    struct run run = { settings, drain, NULL, NULL, 0 };
    int code = 0;

    opts.on_event = (struct kvmig_event_callback){ on_event, &run, NULL };
    signals_catch(view->context);
    if (kvmig_drain_start(view->cluster, drain, &opts, &run.run) < 0)
        code = complain_error("cannot start", NULL);
    while (code == 0 && !run.end) {
        if (kvmig_context_run(view->context, wants_attention, &run, -1) < 0)
            code = complain_error("the event loop failed", NULL);
        take_signals(&run);
    }
    signals_release();
    if (code == 0)
        code = tell_end(&run);
    kvmig_event_unref(run.end);
    kvmig_drain_run_unref(run.run);
    return code;
}

static int drain(const struct view *view, const struct settings *settings)
{
    struct kvmig_drain *drain = NULL;
    int code = make_drain(view, settings, &drain);

    if (code == 0) {
        show_plan(drain, settings);
        if (!settings->dry_run && kvmig_drain_immovable_count(drain) > 0 && !settings->partial) {
            complain("%zu VMs cannot move; nothing was started. --partial moves the others",
                     kvmig_drain_immovable_count(drain));
            code = EXIT_BLOCKED;
        } else if (!settings->dry_run) {
            code = run_drain(view, settings, drain);
        }
    }
    kvmig_drain_unref(drain);
    return code;
}

static int run(const struct settings *settings)
{
    struct view view;
    int code;

    if (settings->drain_nodes.n == 0 && settings->drain_vms.n == 0) {
        complain("drain: which nodes? Name them, or VMs with --vm");
        return usage_hint(&drain_command);
    }
    if (settings->links.n > 0) {
        complain("drain: --link-to is for one VM, or plan --all: a drain places VMs so that all of them find room");
        return usage_hint(&drain_command);
    }
    if (settings->target) {
        complain("drain: --target is for one VM; name the nodes that VMs may go to with --to");
        return usage_hint(&drain_command);
    }
    if (settings->files.n > 0 && !settings->dry_run) {
        complain("drain: what runs in files cannot be migrated: give --dry-run");
        return usage_hint(&drain_command);
    }
    code = view_open(&view, settings);
    if (code == 0)
        code = drain(&view, settings);
    view_close(&view);
    return code == EXIT_NOT_FOUND && settings->files.n > 0 ? EXIT_USAGE : code;
}

static const struct option_def options[] = {
    { .name = "dry-run",
      .kind = OPTION_SWITCH,
      .offset = offsetof(struct settings, dry_run),
      .help = "only show waves, targets, the expected end and what cannot move" },
    { .name = "partial",
      .kind = OPTION_SWITCH,
      .offset = offsetof(struct settings, partial),
      .help = "move what can move, although some VMs cannot" },
    { .name = "vm",
      .kind = OPTION_LIST,
      .offset = offsetof(struct settings, drain_vms),
      .metavar = "VM",
      .help = "only this VM of the nodes; may be repeated; without nodes, wherever it runs" },
    { .name = "to",
      .kind = OPTION_LIST,
      .offset = offsetof(struct settings, drain_targets),
      .metavar = "NODE",
      .help = "only to this node; may be repeated" },
    { .name = "at-once",
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct settings, drain_at_once),
      .metavar = "N",
      .min = 1,
      .max = 1000,
      .help = "at most so many migrations at once; default: the limits of the view, or KubeVirt's" },
    { .name = "link",
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct settings, link_mib),
      .metavar = "MIB",
      .min = 1,
      .max = UINT32_MAX,
      .help = "MiB/s that leave a node, to foretell the end" },
    { .name = "file",
      .letter = 'f',
      .kind = OPTION_LIST,
      .offset = offsetof(struct settings, files),
      .metavar = "PATH",
      .help = "with --dry-run: a file or folder to plan on instead of a live cluster; may be repeated" },
    { .name = NULL },
};
static const struct option_group drain_options = { "Draining", options };
static const struct option_group *const groups[] = { &drain_options, &plan_options, &connect_options, &kube_options,
                                                     NULL };

const struct command drain_command = {
    .name = "drain",
    .arguments = "NODE... [--dry-run] [options] [PATH...]",
    .summary = "Empty nodes: move all their VMs, or some, elsewhere, in waves under the limits.",
    .details = "Words that are files or folders are planned on, with --dry-run, instead of a live cluster.\n"
               "Exit code 0: done, or with --dry-run: there is an answer. 1: not all have moved. 3: some VMs cannot "
               "move, and nothing was started. 4: cancelled.",
    .operands = OPERANDS_NODES,
    .needs_hosts = true,
    .groups = groups,
    .run = run,
};
