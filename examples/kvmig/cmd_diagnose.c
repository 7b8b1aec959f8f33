/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig diagnose: what is going on with a migration, or what became of it, from what people have at hand, or from a live cluster. Changes
 * nothing.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle.h"

/* ---- what the request says beside what a plan would be asked ---- */

static int32_t intent_of(const char *text)
{
    static const struct {
        const char *text;
        int32_t intent;
    } intents[] = { { "cancel", KVMIG_INTENT_CANCEL },
                    { "rollback", KVMIG_INTENT_ROLLBACK },
                    { "drain", KVMIG_INTENT_DRAIN } };

    for (size_t i = 0; text && i < sizeof(intents) / sizeof(intents[0]); i++)
        if (strcmp(intents[i].text, text) == 0)
            return intents[i].intent;
    return KVMIG_INTENT_LOOK;
}

static void take_rc(struct settings *settings, struct json_object *observed)
{
    struct json_object *rc = json_member(observed, "rc");

    if (json_object_is_type(rc, json_type_int))
        settings->migrate_rc = json_object_get_int(rc) == 0 ? 1 : -1;
}

static void take_request(struct settings *settings, struct json_object *request)
{
    struct json_object *observed = json_member(request, "observed"), *begun = json_member(observed, "postcopy_started"),
                       *now = json_member(observed, "now_s");
    const uint64_t progress = json_number(json_member(request, "policy"), "progress_timeout_s");

    settings->intent = intent_of(json_text(request, "intent"));
    settings->intent_node = json_text(request, "node");
    settings->migration = json_text(request, "migration");
    settings->source_state = json_text(observed, "source");
    settings->target_state = json_text(observed, "target");
    settings->job = json_text(observed, "job");
    take_rc(settings, observed);
    if (json_object_is_type(begun, json_type_boolean))
        settings->postcopy_started = json_object_get_boolean(begun) ? 1 : -1;
    if (json_object_is_type(now, json_type_int) || json_object_is_type(now, json_type_double))
        settings->events_now_s = json_object_get_double(now);
    settings->progress_timeout_s = progress == UINT64_MAX ? 0 : progress;
}

/* ---- for people ---- */

static void print_list(const struct kvmig_findings *list, const char *title, FILE *out)
{
    if (kvmig_findings_count(list) == 0)
        return;
    fprintf(out, "\n%s:\n", title);
    for (size_t i = 0; i < kvmig_findings_count(list); i++) {
        const struct kvmig_finding *finding = kvmig_findings_get(list, i);
        const char *hint = kvmig_finding_hint(finding), *detail = kvmig_finding_detail(finding);

        fprintf(out, "  %s  %s: %s\n", kvmig_finding_code(finding), kvmig_finding_object(finding),
                kvmig_finding_message(finding));
        if (detail)
            fprintf(out, "      evidence: %s\n", detail);
        if (*hint)
            fprintf(out, "      advice:   %s\n", hint);
    }
}

/* What happened, on one axis. */
static void print_timeline(const struct kvmig_diagnosis *diagnosis, FILE *out)
{
    struct json_object *json, *timeline;
    char *text = NULL;

    if (kvmig_diagnosis_to_json(diagnosis, &text) < 0)
        return;
    json = json_parse_owned(text);
    timeline = json_member(json, "timeline");
    if (json_list_length(timeline) > 0)
        fprintf(out, "\nWhat happened:\n");
    for (size_t i = 0; i < json_list_length(timeline); i++) {
        struct json_object *moment = json_list_at(timeline, i);
        const char *at = json_text(moment, "at");

        if (at)
            fprintf(out, "  %-24s  %s\n", at, json_text(moment, "what"));
        else
            fprintf(out, "  +%-23.3f  %s\n", json_object_get_double(json_member(moment, "offset_s")),
                    json_text(moment, "what"));
    }
    json_object_put(json);
}

static void print_diagnosis(const struct kvmig_diagnosis *diagnosis, FILE *out)
{
    fprintf(out, "%s (%s)\n", kvmig_diagnosis_summary(diagnosis), kvmig_diagnosis_verdict(diagnosis));
    print_timeline(diagnosis, out);
    print_list(kvmig_diagnosis_findings(diagnosis), "Found", out);
    print_list(kvmig_diagnosis_actions(diagnosis), "What to do", out);
    if (*kvmig_diagnosis_avoid(diagnosis))
        fprintf(out, "\nWhat not to do:\n  %s\n", kvmig_diagnosis_avoid(diagnosis));
}

static void print_json(const struct kvmig_diagnosis *diagnosis)
{
    struct json_object *json;
    char *text = NULL;

    kvmig_diagnosis_to_json(diagnosis, &text);
    json = json_parse_owned(text);
    json_print(json, stdout);
    json_object_put(json);
}

/* ---- the command ---- */

static int diagnose(const struct view *view, const struct settings *settings)
{
    struct kvmig_diagnose_opts opts = KVMIG_DIAGNOSE_OPTS_INIT;
    struct kvmig_plan_opts plan = KVMIG_PLAN_OPTS_INIT;
    struct kvmig_forecast_opts forecast = KVMIG_FORECAST_OPTS_INIT;
    struct kvmig_diagnosis *diagnosis = NULL;

    plan.vm = settings->vm;
    plan.source = settings->source;
    plan.target = settings->target;
    plan.flags = settings->plan_flags;
    plan.max_downtime_ms = settings->max_downtime_ms;
    plan.bandwidth_mib = settings->bandwidth_mib;
    plan.parallel_connections = (uint32_t)settings->parallel;
    plan.now_ms = settings->now_ms;
    forecast.downtime_ceiling_ms = settings->downtime_ceiling_ms;
    forecast.completion_s_per_gib = settings->completion_s_per_gib;
    forecast.forbid = (uint32_t)settings->forbid;
    plan.forecast = &forecast;
    opts.plan = &plan;
    opts.intent = settings->intent;
    opts.migration = settings->migration;
    opts.node = settings->intent_node;
    opts.migrate_rc = settings->migrate_rc;
    opts.source_state = settings->source_state;
    opts.target_state = settings->target_state;
    opts.job = settings->job;
    opts.postcopy_started = settings->postcopy_started;
    opts.events_now_s = settings->events_now_s;
    opts.progress_timeout_s = settings->progress_timeout_s;
    if (kvmig_cluster_diagnose(view->cluster, &opts, &diagnosis) < 0)
        return complain_error("cannot diagnose", NULL);
    if (settings->json)
        print_json(diagnosis);
    else
        print_diagnosis(diagnosis, stdout);
    kvmig_diagnosis_unref(diagnosis);
    return EXIT_OK;
}

/* The request of the bundle that is all there is to look at; owned, NULL if it is none. */
static char *request_of_bundle(const struct settings *settings)
{
    struct json_object *request = NULL;
    char *path = NULL;
    bool is_one = false;

    if (settings->request_path || settings->files.n != 1)
        return NULL;
    if (asprintf(&path, "%s/" BUNDLE_REQUEST, settings->files.v[0]) < 0)
        abort();
    if (access(path, R_OK) == 0)
        request = json_object_from_file(path);
    is_one = json_true(request, "bundle");
    json_object_put(request);
    if (is_one)
        return path;
    free(path);
    return NULL;
}

static int run(const struct settings *given)
{
    struct settings settings = *given; /* shallow: with what the request says */
    struct json_object *request = NULL;
    struct view view;
    char *own = request_of_bundle(given);
    int code;

    if (own)
        settings.request_path = own;
    request_begin(&settings);
    code = request_read(&diagnose_command, &settings, &request);
    if (code == 0) {
        if (!settings.vm)
            settings.vm = json_text(request, "vm");
        take_request(&settings, request);
        settings.any_files = true;
        code = view_open(&view, &settings);
        if (code == 0)
            code = diagnose(&view, &settings);
        view_close(&view);
    }
    request_end(&settings);
    json_object_put(request);
    free(own);
    return code;
}

static const struct option_def options[] = {
    { .name = "vm",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, vm),
      .metavar = "VM",
      .help = "the VM, if the words after the options are files or folders" },
    { .name = "migration",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, migration),
      .metavar = "NAME",
      .help = "this migration (VMIM); default: the one that runs, or else the last one" },
    { .name = "source",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, source),
      .metavar = "HOST",
      .help = "where it comes from; default: what the files show" },
    { .name = "target",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, target),
      .metavar = "HOST",
      .help = "where it goes; default: what the files show" },
    { .name = "request",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, request_path),
      .metavar = "FILE",
      .help = "what was asked for and what is known beside the files, as JSON; see docs/files.md" },
    { .name = NULL },
};
static const struct option_group diagnose_options = { "What to look at", options };
static const struct option_group *const groups[] = { &diagnose_options, &kube_options, &kube_vm_options,
                                                     &connect_options, NULL };

const struct command diagnose_command = {
    .name = "diagnose",
    .arguments = "[--vm VM] [--request FILE] PATH... | VM [options]",
    .summary = "Say what is going on with a migration, or why it failed, from logs, statistics, objects, rows and "
               "observations.",
    .details = "What a file is, is seen from what it holds. Exit code 0: there is an answer. 2: the request is "
               "unusable. 6: no such VM, or the hosts or the cluster do not answer.",
    .operands = OPERANDS_VM_OR_PATHS,
    .needs_hosts = true,
    .groups = groups,
    .run = run,
};
