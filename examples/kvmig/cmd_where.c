/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig where: the state resolver. Asks both hosts where a VM really is, prints what that proves and what may be done,
 * and does it only with --apply.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "tool.h"

#define DEFAULT_CALL_TIMEOUT_MS 10000

/* One question and its answer; the callback's, until the answer came or the context went. */
struct question {
    char trouble[64]; /* what to call its failure */
    bool answered;
    struct kvmig_location *location; /* NULL if the question failed; owned */
    int code; /* exit code of a failed question, already explained */
};

static void on_location(const struct kvmig_location *location, const struct kvmig_error *error, void *user_data)
{
    struct question *question = user_data;

    question->answered = true;
    if (error)
        question->code = complain_error(question->trouble, error);
    if (location)
        question->location = kvmig_location_ref(location);
}

static int32_t is_answered(void *user_data)
{
    return ((struct question *)user_data)->answered;
}

static uint64_t call_timeout(const struct settings *settings)
{
    return settings->call_timeout_ms ? settings->call_timeout_ms : DEFAULT_CALL_TIMEOUT_MS;
}

/* Both hosts are asked one after the other, the target twice, and an action adds a call: a wait with room for all. */
static int wait_for_answer(const struct view *view, const struct settings *settings, struct question *question)
{
    int64_t longest_ms = (int64_t)(call_timeout(settings) * 10);
    int32_t rc = kvmig_context_run(view->context, is_answered, question, longest_ms);

    if (rc == -ETIMEDOUT) {
        complain("no answer within %s", text_ms((uint64_t)longest_ms).s);
        return EXIT_UNDECIDED;
    }
    if (rc < 0)
        return complain_error("cannot wait for the answer", NULL);
    return question->location ? EXIT_OK : question->code ? question->code : EXIT_ERROR;
}

static int ask(const struct view *view, const struct settings *settings, struct question *question)
{
    struct kvmig_location_callback callback = { on_location, question, NULL };
    struct kvmig_locate_opts opts = KVMIG_LOCATE_OPTS_INIT;

    opts.vm = settings->vm;
    opts.source = settings->source;
    opts.target = settings->target;
    opts.timeout_ms = call_timeout(settings);
    if (kvmig_cluster_locate(view->cluster, &opts, callback) < 0)
        return complain_error(question->trouble, NULL);
    return wait_for_answer(view, settings, question);
}

static int act(const struct view *view, const struct settings *settings, const struct kvmig_location *location,
               struct question *question)
{
    struct kvmig_location_callback callback = { on_location, question, NULL };

    if (kvmig_location_apply(location, settings->action, callback) < 0)
        return complain_error(question->trouble, NULL);
    return wait_for_answer(view, settings, question);
}

/* ---- printing ---- */

static const char *explain_verdict(int32_t verdict)
{
    switch (verdict) {
    case KVMIG_LOCATION_NO_FINDING:
        return "on the source; no migration in sight";
    case KVMIG_LOCATION_RUNNING:
        return "a migration is under way";
    case KVMIG_LOCATION_SUCCEEDED:
        return "on the target; the source holds no copy";
    case KVMIG_LOCATION_SUCCEEDED_UNREPORTED:
        return "on the target; the source holds a dead copy";
    case KVMIG_LOCATION_FAILED:
        return "on the source; the target holds a dead or incoming copy";
    case KVMIG_LOCATION_FAILED_SOURCE_PAUSED:
        return "left paused on the source; nothing runs on the target";
    case KVMIG_LOCATION_TARGET_PAUSED:
        return "complete and paused on the target; the source does not run";
    case KVMIG_LOCATION_POSTCOPY_ACTIVE:
        return "on the target; still fetches memory from the source";
    case KVMIG_LOCATION_POSTCOPY_FAILED:
        return "post-copy broke; both hosts hold parts";
    case KVMIG_LOCATION_SPLIT_BRAIN:
        return "RUNS ON BOTH HOSTS";
    case KVMIG_LOCATION_VM_LOST:
        return "on neither host, or no host holds a complete copy";
    case KVMIG_LOCATION_UNDECIDED:
        return "not decided; nothing may be started or destroyed";
    default:
        return "";
    }
}

static const char *explain_action(int32_t action)
{
    switch (action) {
    case KVMIG_ACTION_WAIT:
        return "ask again later";
    case KVMIG_ACTION_RESUME_SOURCE:
        return "let the source run again";
    case KVMIG_ACTION_RESUME_TARGET:
        return "let the target run";
    case KVMIG_ACTION_DESTROY_SOURCE:
        return "remove the source's dead copy";
    case KVMIG_ACTION_DESTROY_TARGET:
        return "remove the target's dead or incoming copy";
    case KVMIG_ACTION_POSTCOPY_RECOVER:
        return "migrate again with VIR_MIGRATE_POSTCOPY_RESUME once the link is back";
    case KVMIG_ACTION_SUSPEND_BOTH:
        return "stop both copies; reversible";
    default:
        return "";
    }
}

static void print_location(const struct kvmig_location *location, const char *vm)
{
    const char *verdict = kvmig_location_verdict_name(kvmig_location_verdict(location));
    const char *host = kvmig_location_host(location);
    size_t n = kvmig_location_action_count(location);

    printf("%s: %s (%s)\n", vm, explain_verdict(kvmig_location_verdict(location)), verdict ? verdict : "?");
    printf("  host:    %s\n", host ? host : "-");
    printf("  proof:   %s\n", kvmig_location_proof(location));
    if (n == 0)
        printf("  allowed: nothing needs to be done\n");
    for (size_t i = 0; i < n; i++) {
        int32_t action = kvmig_location_action(location, i);
        const char *name = kvmig_location_action_name(action);

        printf("  %s %s: %s\n", i == 0 ? "allowed:" : "        ", name ? name : "?", explain_action(action));
    }
}

static void print_answer(const struct kvmig_location *location, const struct settings *settings)
{
    struct json_object *json;
    char *text = NULL;

    if (!settings->json) {
        print_location(location, settings->vm);
        return;
    }
    kvmig_location_to_json(location, &text);
    json = json_parse_owned(text);
    json_print(json, stdout);
    json_object_put(json);
}

/* ---- the command ---- */

static int exit_code_of_verdict(int32_t verdict)
{
    switch (verdict) {
    case KVMIG_LOCATION_POSTCOPY_FAILED:
    case KVMIG_LOCATION_SPLIT_BRAIN:
    case KVMIG_LOCATION_VM_LOST:
    case KVMIG_LOCATION_UNDECIDED:
        return EXIT_UNDECIDED;
    default:
        return EXIT_OK;
    }
}

static int locate(const struct view *view, const struct settings *settings, struct question *before,
                  struct question *after)
{
    const struct kvmig_location *answer;
    int code = ask(view, settings, before);

    if (code != EXIT_OK)
        return code;
    answer = before->location;
    if (settings->action) {
        if (!settings->json) {
            print_location(before->location, settings->vm);
            printf("\nDoing %s ...\n\n", kvmig_location_action_name(settings->action));
            fflush(stdout);
        }
        code = act(view, settings, before->location, after);
        if (code != EXIT_OK)
            return code;
        answer = after->location;
    }
    print_answer(answer, settings);
    return exit_code_of_verdict(kvmig_location_verdict(answer));
}

static int run(const struct settings *settings)
{
    struct question before = { .trouble = "cannot tell" }, after = { 0 };
    struct view view;
    int code;

    if (settings->action)
        snprintf(after.trouble, sizeof(after.trouble), "%s was not done", kvmig_location_action_name(settings->action));
    if (!settings->source || !settings->target) {
        complain("where: --source and --target say between which hosts the VM was migrated");
        return EXIT_USAGE;
    }
    code = view_open(&view, settings);
    if (code == 0)
        code = locate(&view, settings, &before, &after);
    kvmig_location_unref(before.location);
    kvmig_location_unref(after.location);
    view_close(&view);
    return code;
}

static const struct option_def options[] = {
    { .name = "source",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, source),
      .metavar = "HOST",
      .help = "where the VM came from, by host name or URI; required" },
    { .name = "target",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, target),
      .metavar = "HOST",
      .help = "where it was to go; required" },
    { .name = "apply",
      .kind = OPTION_CHOICE,
      .offset = offsetof(struct settings, action),
      .metavar = "ACTION",
      .help = "do one of the allowed actions; both hosts are asked again first, and it is refused if it is no longer "
              "allowed",
      .min = KVMIG_ACTION_WAIT,
      .max = KVMIG_ACTION_SUSPEND_BOTH,
      .name_of = kvmig_location_action_name },
    { .name = NULL },
};
static const struct option_group where_options = { "Where to look", options };
static const struct option_group *const groups[] = { &where_options, &connect_options, &kube_options, NULL };

const struct command where_command = {
    .name = "where",
    .arguments = "VM --source HOST --target HOST [--apply ACTION] [options]",
    .summary =
        "Say on which of two hosts a VM really is, after any accident of any migration, what proves it, and what "
        "may be done.",
    .details =
        "Only looks, unless --apply names an action.\n"
        "Exit code 0: the answer is known. 3: the action is not allowed. 5: not known, on both hosts, or on none.",
    .operands = OPERANDS_VM,
    .needs_hosts = true,
    .groups = groups,
    .run = run,
};
