/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig migrate: plans, starts a session with the ports and probes that it was given, shows it until its terminal
 * event, and says in the end how it went. Ctrl-C and SIGTERM cancel and wait for the rollback; only the third one
 * leaves. A migration that somebody else started is left alone by them: there the first one leaves, and --cancel cancels. One
 * thread: the library's events and the signals meet in kvmig_context_run().
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

struct migration {
    const struct settings *settings;
    const struct kvmig_plan *plan; /* NULL: follows what runs already */
    struct kvmig_session *session;
    struct kvmig_probe *probe; /* NULL = none */
    struct output *output;
    struct kvmig_event *end; /* the terminal event */
    int seen_signals;
    bool cancelling;
    bool others; /* somebody else started it */
    char *how_to_find; /* what to type to find the guest; by URI, because a host that is down has no name */
};

/* ---- cancelling ---- */

static void cancel(struct migration *migration, const char *why)
{
    int32_t rc;

    if (migration->cancelling) {
        output_say(migration->output, "%s: already cancelling; waiting for everything to be undone ...", why);
        return;
    }
    rc = kvmig_session_cancel(migration->session);
    if (rc == -KVMIG_EPHASE)
        return; /* it has ended: the terminal event is on its way */
    if (rc < 0) {
        complain_error("cannot cancel", NULL);
        return;
    }
    migration->cancelling = true;
    output_say(migration->output,
               "%s: cancelling; the guest stays on %s, unless it has already moved. Waiting for everything to be "
               "undone ...",
               why, migration->plan ? kvmig_plan_source(migration->plan) : "the source");
}

/* The third signal: the user does not want to wait. The hosts go on without us. */
static void leave(struct migration *migration)
{
    output_say(migration->output,
               "left before the end: the hosts finish or abort the migration on their own, and nothing "
               "is cleaned up. To see where the guest is:");
    output_say(migration->output, "  %s", migration->how_to_find);
    if (migration->settings->ports.n > 0)
        output_say(migration->output,
                   "Ports stay as they are; once the guest is found, 'kvmig port gc' cleans them up.");
    _exit(EXIT_LEFT);
}

/* Whoever started it goes on with it. */
static void detach(struct migration *migration)
{
    const char *vm = migration->settings->vm;

    output_say(migration->output,
               "detached: somebody else started this migration, and it goes on. To follow or to cancel it:");
    output_say(migration->output, "  kvmig migrate %s --attach -", vm);
    output_say(migration->output, "  kvmig migrate %s --attach - --cancel", vm);
    if (migration->settings->ports.n > 0)
        output_say(migration->output, "Ports stay as they are; attach again with them, or use 'kvmig port gc' once the "
                                      "migration is over.");
    _exit(EXIT_LEFT);
}

static void take_signals(struct migration *migration)
{
    int count = signals_count();

    while (migration->seen_signals < count) {
        migration->seen_signals++;
        if (migration->others && !migration->cancelling)
            detach(migration);
        else if (migration->seen_signals == 1)
            cancel(migration, "interrupted");
        else if (migration->seen_signals == 2)
            output_say(migration->output,
                       "still waiting for the hosts; every step has a deadline. Once more leaves the migration to the "
                       "hosts, without clean-up");
        else
            leave(migration);
    }
}

static void cancel_if_asked(struct migration *migration, const struct kvmig_event *event)
{
    const struct kvmig_progress *progress = kvmig_event_progress(event);
    const struct settings *settings = migration->settings;

    if (migration->cancelling)
        return;
    /* The first token says that the session has found the migration: before that there is nothing to cancel. */
    if (kvmig_event_type(event) == KVMIG_EVENT_CHECKPOINT && settings->cancel)
        cancel(migration, "--cancel");
    if (kvmig_event_type(event) == KVMIG_EVENT_PHASE && settings->cancel_at &&
        kvmig_event_phase(event) == settings->cancel_at)
        cancel(migration, "--cancel-at");
    if (kvmig_event_type(event) == KVMIG_EVENT_PROGRESS && progress && settings->cancel_after_iteration &&
        progress->iteration != UINT64_MAX && progress->iteration > settings->cancel_after_iteration)
        cancel(migration, "--cancel-after-iteration");
}

/* ---- ports and probes ---- */

/* Before anything is asked of a host. */
static int check_followers(const struct settings *settings)
{
    for (size_t i = 0; i < settings->ports.n; i++) {
        struct port_spec spec;

        if (!port_spec_read(settings->ports.v[i], &spec)) {
            complain("migrate: --port: \"%s\" is none of ovn:LSP, ovn-match:KEY=VALUE and none:NAME",
                     settings->ports.v[i]);
            return usage_hint(&migrate_command);
        }
        if (!port_spec_check(&migrate_command, &spec, settings))
            return usage_hint(&migrate_command);
    }
    return targets_open(&migrate_command, NULL, settings, NULL);
}

/* The session tells the ports' events, and keeps the ports to its end. */
static int add_port(struct migration *migration, const struct view *view, const char *word)
{
    struct kvmig_port *port = NULL;
    struct port_spec spec;
    int code;

    port_spec_read(word, &spec);
    code = port_open(view->context, &spec, migration->settings, (struct kvmig_event_callback){ 0 }, &port);
    if (code == 0 && kvmig_session_add_port(migration->session, port) < 0)
        code = complain_error("cannot take the port along", NULL);
    kvmig_port_unref(port);
    return code;
}

static int add_followers(struct migration *migration, const struct view *view)
{
    const struct settings *settings = migration->settings;
    int code = 0;

    for (size_t i = 0; i < settings->ports.n && code == 0; i++)
        code = add_port(migration, view, settings->ports.v[i]);
    if (code != 0 || settings->probes.n == 0)
        return code;
    code = targets_open(&migrate_command, view->context, settings, &migration->probe);
    if (code == 0 && kvmig_session_add_probe(migration->session, migration->probe) < 0)
        code = complain_error("cannot watch the service", NULL);
    return code;
}

/* ---- running ---- */

/* Whole or not at all: a process that dies here leaves the token before it. */
static void write_token(const char *token, const char *path)
{
    char *next = NULL;
    FILE *file;

    if (asprintf(&next, "%s.new", path) < 0)
        abort();
    file = fopen(next, "w");
    if (!file || fprintf(file, "%s\n", token) < 0 || fclose(file) != 0 || rename(next, path) != 0)
        complain("cannot write the token to \"%s\": %s", path, strerror(errno));
    free(next);
}

static void on_event(const struct kvmig_event *event, void *user_data)
{
    struct migration *migration = user_data;

    output_event(migration->output, event);
    if (kvmig_event_type(event) == KVMIG_EVENT_CHECKPOINT && migration->settings->token_path)
        write_token(kvmig_event_token(event), migration->settings->token_path);
    if (kvmig_event_type(event) == KVMIG_EVENT_END)
        migration->end = kvmig_event_ref(event);
    else
        cancel_if_asked(migration, event);
}

static int32_t wants_attention(void *user_data)
{
    const struct migration *migration = user_data;

    return migration->end || signals_count() > migration->seen_signals;
}

/* What is handed to the library in its whole: a token. */
static char *read_text(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");

    if (!file || getdelim(&text, &size, '\0', file) < 0) {
        complain("cannot read \"%s\": %s", path, strerror(errno));
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

/* Whether the process that left the token had only attached to the migration. */
static bool is_others(const char *token)
{
    struct json_object *json = json_tokener_parse(token);
    bool attached = json_true(json_member(json, "migration"), "attached");

    json_object_put(json);
    return attached;
}

static int32_t new_session(struct migration *migration, const struct view *view, struct kvmig_session_opts *opts)
{
    const struct settings *settings = migration->settings;
    struct kvmig_plan_opts plan_opts = KVMIG_PLAN_OPTS_INIT;
    char *token;
    int32_t rc;

    if (settings->resume_path) {
        token = read_text(settings->resume_path);
        migration->others = token && is_others(token);
        rc = kvmig_session_resume(view->cluster, token ? token : "", opts, &migration->session);
        free(token);
        return rc;
    }
    if (settings->attach) {
        plan_opts.vm = settings->vm;
        opts->plan_opts = &plan_opts;
        opts->attach = strcmp(settings->attach, "-") == 0 ? "" : settings->attach;
        migration->others = true;
    }
    return kvmig_session_new(view->cluster, migration->plan, opts, &migration->session);
}

static int make_session(struct migration *migration, const struct view *view)
{
    struct kvmig_session_opts opts = KVMIG_SESSION_OPTS_INIT;
    const struct settings *settings = migration->settings;

    opts.on_event = (struct kvmig_event_callback){ on_event, migration, NULL };
    opts.queue_timeout_ms = settings->queue_timeout_ms;
    opts.step_timeout_ms = settings->step_timeout_ms;
    opts.migrate_timeout_ms = settings->migrate_timeout_ms;
    opts.resolve_timeout_ms = settings->resolve_timeout_ms;
    opts.abort_timeout_ms = settings->abort_timeout_ms;
    opts.poll_ms = (uint32_t)settings->poll_ms;
    opts.service_timeout_ms = settings->service_timeout_ms;
    opts.pending_timeout_ms = settings->pending_timeout_ms;
    opts.prepare_timeout_ms = settings->prepare_timeout_ms;
    opts.flags = settings->session_flags;
    opts.node_hosts = view->node_hosts;
    if (new_session(migration, view, &opts) < 0)
        return complain_error("cannot migrate", NULL);
    return add_followers(migration, view);
}

/* No deadline of our own: the session has one for every wait, and ends. */
static int run_session(struct migration *migration, const struct view *view)
{
    signals_catch(view->context);
    if (kvmig_session_start(migration->session) < 0) {
        signals_release();
        return complain_error("cannot start", NULL);
    }
    while (!migration->end) {
        int32_t rc = kvmig_context_run(view->context, wants_attention, migration, -1);

        if (rc < 0) {
            signals_release();
            return complain_error("the event loop failed", NULL);
        }
        take_signals(migration);
    }
    signals_release();
    return 0;
}

static int exit_code_of_failure(const struct migration *migration)
{
    switch (kvmig_error_code(kvmig_event_error(migration->end))) {
    case -KVMIG_EBLOCKED:
        return EXIT_BLOCKED;
    case -ENOENT:
        return migration->settings->attach ? EXIT_NOT_FOUND : EXIT_FAILED; /* there was nothing to follow */
    default:
        return EXIT_FAILED;
    }
}

static int exit_code_of_end(const struct migration *migration)
{
    switch (kvmig_event_phase(migration->end)) {
    case KVMIG_PHASE_SUCCEEDED:
        return EXIT_OK;
    case KVMIG_PHASE_CANCELLED:
        return EXIT_CANCELLED;
    case KVMIG_PHASE_FAILED:
        return exit_code_of_failure(migration);
    default:
        return EXIT_UNDECIDED;
    }
}

/* ---- what is left in the end ---- */

static int write_report(struct json_object *report, const char *path)
{
    FILE *file = fopen(path, "w");

    if (file) {
        json_print(report, file);
        if (fclose(file) == 0)
            return 0;
    }
    complain("cannot write the report to \"%s\": %s", path, strerror(errno));
    return EXIT_ERROR;
}

static int tell_end(const struct migration *migration)
{
    const struct settings *settings = migration->settings;
    int code = exit_code_of_end(migration);
    struct json_object *report = NULL;
    char *text = NULL;

    if (kvmig_session_report(migration->session, &text) < 0)
        complain_error("no report", NULL);
    report = json_parse_owned(text);
    if (settings->json)
        json_print_line("report", report, stdout);
    else
        summary_print(report, migration->end, settings->vm, migration->how_to_find, stdout);
    /* A report that cannot be written must not hide how the migration ended. */
    if (settings->report_path && write_report(report, settings->report_path) != 0 && code == EXIT_OK)
        code = EXIT_ERROR;
    json_object_put(report);
    return code;
}

/* ---- the plan first ---- */

/* On Kubernetes the VM's object says where it is. */
static char *make_where_command(const struct view *view, const struct settings *settings, const struct kvmig_plan *plan)
{
    char *source, *target, *command = NULL;

    if (settings_want_kube(settings) || !plan) {
        if (asprintf(&command, "kvmig explain %s", settings->vm) < 0)
            abort();
        return command;
    }
    source = view_uri_of(view, kvmig_plan_source(plan));
    target = view_uri_of(view, kvmig_plan_target(plan));
    if (asprintf(&command, "kvmig where %s -c %s -c %s --source %s --target %s", kvmig_plan_vm(plan), source, target,
                 source, target) < 0)
        abort();
    free(source);
    free(target);
    return command;
}

static void show_plan(const struct kvmig_plan *plan, const struct settings *settings)
{
    struct json_object *json;
    char *text = NULL;

    if (!plan) {
        if (!settings->json)
            printf("Following the migration of %s\n", settings->vm);
    } else if (settings->json) {
        kvmig_plan_to_json(plan, &text);
        json = json_parse_owned(text);
        json_print_line("plan", json, stdout);
        json_object_put(json);
    } else if (kvmig_plan_verdict(plan) == KVMIG_VERDICT_BLOCKED) {
        plan_print(plan, NULL, stdout);
    } else {
        printf("Migrating %s from %s to %s\n", kvmig_plan_vm(plan), kvmig_plan_source(plan),
               kvmig_plan_target(plan) ? kvmig_plan_target(plan) : "a node that the scheduler chooses");
        findings_print(kvmig_plan_findings(plan), KVMIG_SEVERITY_BLOCKER, KVMIG_SEVERITY_WARN, stdout);
    }
    fflush(stdout);
}

static int migrate(struct migration *migration, const struct view *view)
{
    int code;

    show_plan(migration->plan, migration->settings);
    if (migration->plan && kvmig_plan_verdict(migration->plan) == KVMIG_VERDICT_BLOCKED) {
        complain("blocked by the plan; nothing was started");
        return EXIT_BLOCKED;
    }
    migration->how_to_find = make_where_command(view, migration->settings, migration->plan);
    code = make_session(migration, view);
    if (code == 0)
        code = run_session(migration, view);
    output_free(migration->output); /* ends the live line */
    migration->output = NULL;
    return code == 0 ? tell_end(migration) : code;
}

static int check_cancel(const struct settings *settings)
{
    const bool rehearsal = settings->cancel_at || settings->cancel_after_iteration;

    if (settings->cancel && !settings->attach)
        complain("migrate: --cancel goes with --attach; what this run has started is cancelled with Ctrl-C");
    else if (settings->attach && rehearsal)
        complain("migrate: a rehearsal needs a migration of its own; with --attach there is --cancel");
    else
        return 0;
    return usage_hint(&migrate_command);
}

static int run(const struct settings *settings)
{
    struct migration migration = { .settings = settings };
    struct kvmig_plan *plan = NULL;
    struct view view = { 0 };
    int code = check_followers(settings);

    if (code == 0)
        code = check_cancel(settings);
    if (code == 0)
        code = view_open(&view, settings);
    if (code == 0 && !settings->attach && !settings->resume_path)
        code = learned_load(&view, settings);
    if (code == 0 && !settings->attach && !settings->resume_path)
        code = measure(&view, settings);
    if (code == 0 && !settings->attach && !settings->resume_path)
        code = plan_make(&view, settings, &plan);
    if (code == 0) {
        migration.plan = plan;
        migration.output = output_new(settings->json, settings_want_kube(settings));
        code = migrate(&migration, &view);
        learned_save(&view, settings);
    }
    kvmig_session_unref(migration.session);
    kvmig_probe_unref(migration.probe);
    view_close(&view);
    output_free(migration.output);
    kvmig_event_unref(migration.end);
    free(migration.how_to_find);
    kvmig_plan_unref(plan);
    return code;
}

/* ---- options ---- */

static const struct option_group *const groups[] = {
    &migrate_options, &kubevirt_options, &network_options, &ovn_options,      &plan_options,
    &connect_options, &kube_options,     &kube_vm_options, &forecast_options, NULL
};

const struct command migrate_command = {
    .name = "migrate",
    .arguments = "VM [--target HOST] [options]",
    .summary = "Migrate a VM, show its progress, and undo everything if it fails or is cancelled.",
    .details =
        "Ctrl-C or SIGTERM cancels and waits until everything is undone; the third one leaves the migration to the "
        "hosts. With --attach the first one leaves, and the migration goes on.\n"
        "Exit code 0: the guest runs on the target. 1: failed, the guest is where it was. 3: blocked, nothing was "
        "started. 4: cancelled, the guest is where it was. 5: not known, see kvmig where. 130: left before the end.",
    .operands = OPERANDS_VM,
    .needs_hosts = true,
    .groups = groups,
    .run = run,
};
