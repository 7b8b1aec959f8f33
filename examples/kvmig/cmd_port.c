/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig port: one operation on a port of OVN, shown until it has ended; and what the databases say of the port. Each
 * run is a process of its own: what belongs together is told by the owner token, which stands in the database. One
 * thread: the library's events and the signals meet in kvmig_context_run().
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define DEFAULT_SHOW_TIMEOUT_MS 30000

/* ---- operations ---- */

/* Options that only some of them take. */
enum {
    TAKES_PAIR = 1 << 0, /* --source, --target */
    TAKES_WINNER = 1 << 1,
    TAKES_AGE = 1 << 2, /* --min-age */
    TAKES_OWNER = 1 << 3,
};

struct port_run;
struct operation {
    const char *name;
    unsigned takes, needs; /* of the above */
    int32_t done; /* the enum kvmig_port_state that it ends in */
    int32_t (*begin)(const struct port_run *run);
};

struct port_run {
    const struct settings *settings;
    const struct operation *asked; /* what the user wants */
    const struct operation *operation; /* what runs now: in the end maybe a roll-back */
    struct kvmig_port *port;
    struct output *output;
    struct kvmig_event *end; /* the event that ended it */
    int32_t state; /* of the event before */
    int seen_signals;
    bool interrupted;
};

static int32_t begin_show(const struct port_run *run)
{
    return kvmig_port_refresh(run->port);
}

static int32_t begin_prepare(const struct port_run *run)
{
    return kvmig_port_prepare(run->port, run->settings->source, run->settings->target);
}

static int32_t begin_verify(const struct port_run *run)
{
    return kvmig_port_verify(run->port);
}

static int32_t begin_converge(const struct port_run *run)
{
    return kvmig_port_converge(run->port, run->settings->winner);
}

static int32_t begin_rollback(const struct port_run *run)
{
    return kvmig_port_rollback(run->port);
}

static int32_t begin_gc(const struct port_run *run)
{
    return kvmig_port_gc(run->port, run->settings->winner, run->settings->min_age_ms);
}

static const struct operation show = { "show", TAKES_OWNER, 0, KVMIG_PORT_IDLE, begin_show };
static const struct operation prepare = { "prepare", TAKES_PAIR | TAKES_OWNER, TAKES_PAIR, KVMIG_PORT_PREPARED,
                                          begin_prepare };
static const struct operation verify = { "verify", TAKES_OWNER, TAKES_OWNER, KVMIG_PORT_VERIFIED, begin_verify };
static const struct operation converge = { "converge", TAKES_WINNER | TAKES_OWNER, TAKES_WINNER | TAKES_OWNER,
                                           KVMIG_PORT_CONVERGED, begin_converge };
static const struct operation rollback = { "rollback", TAKES_OWNER, TAKES_OWNER, KVMIG_PORT_ROLLED_BACK,
                                           begin_rollback };
static const struct operation gc = { "gc", TAKES_WINNER | TAKES_AGE, TAKES_WINNER | TAKES_AGE, KVMIG_PORT_CONVERGED,
                                     begin_gc };
static const struct operation *const operations[] = { &show, &prepare, &verify, &converge, &rollback, &gc };
#define N_OPERATIONS (sizeof(operations) / sizeof(operations[0]))

/* ---- the command line ---- */

static const struct operation *find_operation(const char *name)
{
    for (size_t i = 0; i < N_OPERATIONS; i++)
        if (strcmp(operations[i]->name, name) == 0)
            return operations[i];
    complain("port: no operation \"%s\": it is show, prepare, verify, converge, rollback or gc", name);
    return NULL;
}

static bool check_option(const struct operation *operation, unsigned bit, const char *name, bool given)
{
    if (given && !(operation->takes & bit)) {
        complain("port %s takes no %s", operation->name, name);
        return false;
    }
    if (!given && (operation->needs & bit)) {
        complain("port %s needs %s", operation->name, name);
        return false;
    }
    return true;
}

static bool check_options(const struct operation *operation, const struct settings *settings)
{
    if (!settings->source != !settings->target) {
        complain("port %s: --source and --target belong together", operation->name);
        return false;
    }
    if (settings->min_age_ms > 0 && settings->min_age_ms < 1000) {
        complain("port %s: --min-age: less than a second protects nobody; a plain number is milliseconds, so write 30s "
                 "or 10m",
                 operation->name);
        return false;
    }
    return check_option(operation, TAKES_PAIR, "--source and --target", settings->source != NULL) &&
           check_option(operation, TAKES_WINNER, "--winner", settings->winner != NULL) &&
           check_option(operation, TAKES_AGE, "--min-age", settings->min_age_ms != UINT64_MAX) &&
           check_option(operation, TAKES_OWNER, "--owner: the token that prepare printed", settings->owner != NULL);
}

static bool read_port(const struct settings *settings, struct port_spec *out_spec)
{
    if (!settings->lsp == !settings->match) {
        complain("port: which one? Give its name with --lsp, or all of a VM with --match KEY=VALUE");
        return false;
    }
    if (settings->lsp)
        *out_spec = (struct port_spec){ PORT_LSP, settings->lsp };
    else
        *out_spec = (struct port_spec){ PORT_MATCH, settings->match };
    return port_spec_check(&port_command, out_spec, settings);
}

/* ---- running ---- */

/* Explains it and returns the exit code: an operation that did not work is no error of the environment. */
static int complain_port(const char *what, const struct kvmig_error *error)
{
    char text[48];
    int code;

    snprintf(text, sizeof(text), "port %s", what);
    code = complain_error(text, error);

    switch (-kvmig_error_code(error)) {
    case ENOENT:
        return EXIT_NOT_FOUND;
    case KVMIG_EPHASE:
        return EXIT_BLOCKED;
    default:
        return code == EXIT_ERROR ? EXIT_FAILED : code;
    }
}

static bool is_under_way(int32_t state)
{
    return state == KVMIG_PORT_PREPARING || state == KVMIG_PORT_VERIFYING || state == KVMIG_PORT_CONVERGING ||
           state == KVMIG_PORT_ROLLING_BACK;
}

/* A target may announce its guest as soon as it is verified: then that is the state which is seen. */
static bool is_end(const struct port_run *run, const struct kvmig_event *event)
{
    int32_t state = kvmig_event_port_state(event);

    if (run->operation == &show)
        return true;
    if (is_under_way(state))
        return false;
    return state == run->operation->done || state == KVMIG_PORT_FAILED || state == KVMIG_PORT_SUPERSEDED ||
           kvmig_event_error(event) || (state == KVMIG_PORT_ACTIVATED && run->state == KVMIG_PORT_VERIFYING);
}

static void on_event(const struct kvmig_event *event, void *user_data)
{
    struct port_run *run = user_data;

    if (kvmig_event_type(event) != KVMIG_EVENT_PORT || run->end)
        return;
    if (is_end(run, event))
        run->end = kvmig_event_ref(event);
    /* For people a failure is explained at the end, and what was found is printed as a whole. */
    if (run->settings->json || !(run->end && (run->operation == &show || kvmig_event_error(event))))
        output_event(run->output, event);
    run->state = kvmig_event_port_state(event);
}

static int32_t wants_attention(void *user_data)
{
    const struct port_run *run = user_data;

    return run->end || signals_count() > run->seen_signals;
}

static int begin(struct port_run *run, const struct operation *operation)
{
    kvmig_event_unref(run->end);
    run->end = NULL;
    run->operation = operation;
    if (operation->begin(run) < 0)
        return complain_port(operation->name, kvmig_error_last());
    return 0;
}

/* Ctrl-C. A preparation is put back; what only looks is left; the others are short, and half of them helps nobody. */
static int take_signals(struct port_run *run)
{
    bool first = run->seen_signals == 0;

    if (signals_count() == run->seen_signals)
        return 0;
    run->seen_signals = signals_count();
    run->interrupted = true;
    if (first && run->asked == &prepare) {
        output_say(run->output, "interrupted: putting the port back to the source ...");
        return begin(run, &rollback);
    }
    if (run->asked == &show || run->asked == &verify) {
        output_say(run->output, "interrupted; what was prepared stays prepared");
        return EXIT_CANCELLED;
    }
    if (first) {
        output_say(run->output, "%s goes on, it has a deadline. Once more leaves it", run->asked->name);
        return 0;
    }
    output_say(run->output, "left before the end: kvmig port show tells what stands in the database");
    return EXIT_LEFT;
}

/* The library has a deadline for every operation; only the mere look has one of ours. */
static int wait_for_end(struct port_run *run, struct kvmig_context *context)
{
    uint64_t show_ms = run->settings->port_timeout_ms ? run->settings->port_timeout_ms : DEFAULT_SHOW_TIMEOUT_MS;
    int code = 0;

    while (!run->end && code == 0) {
        int32_t rc = kvmig_context_run(context, wants_attention, run, run->operation == &show ? (int64_t)show_ms : -1);

        if (rc == -ETIMEDOUT) {
            complain("port %s: no answer from the databases within %s", run->asked->name, text_ms(show_ms).s);
            code = EXIT_NOT_FOUND;
        } else if (rc < 0) {
            code = complain_error("the event loop failed", NULL);
        } else if (!run->end) {
            code = take_signals(run);
        }
    }
    return code;
}

static struct json_object *port_facts(const struct port_run *run)
{
    char *text = NULL;

    if (kvmig_port_to_json(run->port, &text) < 0)
        return NULL;
    return json_parse_owned(text);
}

/* ---- the end ---- */

static void say_end(const struct port_run *run)
{
    const char *name = kvmig_port_name(run->port), *winner = run->settings->winner;

    switch (kvmig_event_port_state(run->end)) {
    case KVMIG_PORT_PREPARED:
        printf("Prepared: %s belongs to %s and %s.%s\nIts owner token, for verify, converge and rollback: --owner %s\n",
               name, run->settings->source, run->settings->target,
               run->settings->strategy == KVMIG_PORT_STRATEGY_NONE
                   ? ""
                   : " The target is silent until its guest announces itself.",
               kvmig_port_owner(run->port));
        break;
    case KVMIG_PORT_VERIFIED:
    case KVMIG_PORT_ACTIVATED:
        printf("Verified: the target is ready for the guest of %s.\n", name);
        break;
    case KVMIG_PORT_CONVERGED:
        printf("Converged: %s is on %s, and nothing temporary is left.\n", name, winner);
        break;
    case KVMIG_PORT_ROLLED_BACK:
        printf("Rolled back: %s is on its source, and nothing temporary is left.\n", name);
        break;
    case KVMIG_PORT_SUPERSEDED:
        printf("Superseded: %s belongs to another owner now; there was nothing to do, and nothing was changed.\n",
               name);
        break;
    default:
        break;
    }
}

/* That the time is over says little if it is for want of a database. */
static bool lacks_database(struct json_object *facts)
{
    struct json_object *databases = json_member(facts, "databases");
    struct json_object *nb = json_member(databases, "nb"), *sb = json_member(databases, "sb");
    struct json_object *locals = json_member(databases, "ovs");
    bool lacks = (nb && !json_true(nb, "current")) || (sb && !json_true(sb, "current"));

    if (locals) {
        json_object_object_foreach(locals, chassis, local)
        {
            (void)chassis;
            lacks = lacks || !json_true(local, "current");
        }
    }
    return lacks;
}

static int code_of_end(const struct port_run *run, struct json_object *facts)
{
    const struct kvmig_error *error = kvmig_event_error(run->end);
    int code;

    if (error) {
        code = complain_port(run->operation->name, error);
        return code == EXIT_FAILED && lacks_database(facts) ? EXIT_NOT_FOUND : code;
    }
    if (run->asked == &show && json_list_length(json_member(facts, "lsps")) == 0) {
        complain("port show: there is no %s", kvmig_port_name(run->port));
        return EXIT_NOT_FOUND;
    }
    if (run->asked == &show && lacks_database(facts))
        return EXIT_NOT_FOUND;
    return run->interrupted && run->asked == &prepare ? EXIT_CANCELLED : EXIT_OK;
}

static int tell_end(const struct port_run *run)
{
    struct json_object *facts = port_facts(run);
    int code;

    if (run->settings->json)
        json_print_line("port", facts, stdout);
    else if (run->asked == &show)
        port_print(facts, stdout);
    else if (!kvmig_event_error(run->end))
        say_end(run);
    fflush(stdout);
    code = code_of_end(run, facts);
    json_object_put(facts);
    return code;
}

static int run_operation(struct port_run *run, const struct port_spec *spec)
{
    struct kvmig_event_callback callback = { on_event, run, NULL };
    struct kvmig_context *context = NULL;
    int code = 0;

    if (kvmig_context_new(NULL, &context) < 0)
        return complain_error("cannot start", NULL);
    code = port_open(context, spec, run->settings, callback, &run->port);
    if (code == 0) {
        signals_catch(context);
        code = begin(run, run->asked);
        if (code == 0)
            code = wait_for_end(run, context);
        signals_release();
    }
    if (code == 0)
        code = tell_end(run);
    kvmig_port_unref(run->port);
    kvmig_context_unref(context);
    return code;
}

static int run(const struct settings *settings)
{
    struct port_spec spec;
    struct port_run port_run = { .settings = settings };
    int code;

    port_run.asked = find_operation(settings->operation);
    if (!port_run.asked || !check_options(port_run.asked, settings) || !read_port(settings, &spec))
        return usage_hint(&port_command);
    port_run.output = output_new(settings->json, false);
    code = run_operation(&port_run, &spec);
    kvmig_event_unref(port_run.end);
    output_free(port_run.output);
    return code;
}

/* ---- options ---- */

#define AT(member) offsetof(struct settings, member)
#define DAY ((uint64_t)24 * 3600 * 1000)

static const struct option_def options[] = {
    { .name = "lsp", .kind = OPTION_TEXT, .offset = AT(lsp), .metavar = "NAME", .help = "the logical switch port" },
    { .name = "match",
      .kind = OPTION_TEXT,
      .offset = AT(match),
      .metavar = "KEY=VALUE",
      .help = "instead: all logical ports that have it in their external_ids; they follow together" },
    { .name = "source",
      .kind = OPTION_TEXT,
      .offset = AT(source),
      .metavar = "CHASSIS",
      .help = "prepare: name or host name of the chassis where the guest runs" },
    { .name = "target",
      .kind = OPTION_TEXT,
      .offset = AT(target),
      .metavar = "CHASSIS",
      .help = "prepare: likewise, where it goes" },
    { .name = "winner",
      .kind = OPTION_TEXT,
      .offset = AT(winner),
      .metavar = "CHASSIS",
      .help = "converge and gc: where the guest runs" },
    { .name = "min-age",
      .kind = OPTION_DURATION,
      .offset = AT(min_age_ms),
      .metavar = "TIME",
      .help = "gc: only what was written so long ago; 0 = at any time, if you know that its owner is gone",
      .max = 3650 * DAY },
    { .name = "timeout",
      .kind = OPTION_DURATION,
      .offset = AT(port_timeout_ms),
      .metavar = "TIME",
      .help = "longest operation (default 30s). Times are milliseconds, or have a unit: 500ms 30s 10m 2h",
      .min = 100,
      .max = 365 * DAY },
    { .name = "json",
      .kind = OPTION_SWITCH,
      .offset = AT(json),
      .help = "print JSON on standard output instead of text: the events, then the port, one object per line" },
    { .name = NULL },
};
static const struct option_group port_options = { "The port", options };
static const struct option_group *const groups[] = { &port_options, &ovn_options, NULL };

const struct command port_command = {
    .name = "port",
    .arguments = "show|prepare|verify|converge|rollback|gc --lsp NAME [options]",
    .summary = "Let a network port of OVN follow a guest that something else migrates.",
    .details = "show: what the databases say of it. prepare: extends it from the source to the target, where it stays "
               "silent. verify: "
               "waits for proof that the target is ready. converge: leaves it where the guest runs. rollback: puts it "
               "back. gc: "
               "cleans up after an owner that is gone.\n"
               "Exit code 0: done, or superseded: another owner has the port now, and nothing was changed. 1: failed. "
               "3: refused. "
               "4: interrupted. 6: no such port or chassis, or a database does not answer.",
    .operands = OPERANDS_OPERATION,
    .needs_hosts = false,
    .groups = groups,
    .run = run,
};
