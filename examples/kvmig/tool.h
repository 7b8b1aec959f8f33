/* SPDX-License-Identifier: MIT-0 */
/*
 * What the files of the kvmig tool share: exit codes, settings and how options fill them, the cluster view, texts, and
 * one entry per command. The tool uses libkvmig's public headers, libc, json-c (to read and print JSON), and libvirt, to
 * keep it from printing (main.c) and to ask hosts for a bundle (bundle_hosts.c).
 */
#ifndef KVMIG_TOOL_H
#define KVMIG_TOOL_H

#include <stdbool.h>
#include <stdio.h>

#include <json-c/json.h>

#include <kvmig/kvmig.h>

/* What the process ends with; main.c prints the table in --help, kvmig.1 documents it. */
enum exit_code {
    EXIT_OK = 0, /* done; there is an answer */
    EXIT_FAILED =
        1, /* the migration failed, the guest is where it was; not all VMs of a drain moved; or an operation on a port failed */
    EXIT_USAGE = 2,
    EXIT_BLOCKED = 3, /* refused: the plan has blockers, VMs of a drain cannot move, or the action is not proven safe */
    EXIT_CANCELLED = 4,
    EXIT_UNDECIDED = 5, /* where the guest is is not known, or it needs a decision */
    EXIT_NOT_FOUND = 6, /* no such VM, migration, host or port, or it does not answer; nothing in the files */
    EXIT_ERROR = 7, /* anything else: the environment, a file, the library */
    EXIT_LEFT = 130, /* the user left before the end (the last Ctrl-C; of somebody else's migration at the first) */
};

/* ---- settings: what options fill ---- */
struct text_list {
    const char **v;
    size_t n;
};

struct settings {
    /* every command */
    struct text_list uris, shared_paths;
    uint64_t sync_timeout_ms, refresh_ms, call_timeout_ms;
    uint64_t max_migrations, max_outbound, max_inbound; /* UINT32_MAX = no limit */
    bool json;
    /* a Kubernetes cluster, or files with its objects, instead of libvirt hosts */
    const char *kubeconfig, *kube_context, *kube_namespace;
    bool in_cluster;
    bool snapshot; /* the words are files, although no VM is named */
    struct text_list files;
    bool any_files; /* logs and other texts alone are enough */
    struct text_list file_hosts; /* HOST=FILE, or HOST */
    bool only_vm; /* read nothing but what concerns settings.vm */
    const char *request_path;
    struct text_list libvirt_flags;
    int64_t now_ms; /* the time of the question; 0 = not given */
    struct json_object *notes; /* findings about the request, as JSON; borrowed; NULL = none */
    /* one VM */
    const char *vm, *source, *target;
    /* plan and migrate */
    uint64_t plan_flags; /* enum kvmig_plan_flags */
    int32_t copy; /* an enum kvmig_copy */
    bool strict;
    struct text_list copy_disks, volumes; /* volumes: VOLUME=CLAIM */
    struct text_list exclude;
    struct text_list links; /* HOST=MIB */
    const char *target_labels;
    const char *target_pool, *target_uri, *migrate_uri, *target_name, *tls_destination, *compression;
    char *target_xml, *persistent_xml; /* contents of files, owned */
    uint64_t bandwidth_mib, postcopy_bandwidth_mib, max_downtime_ms;
    uint64_t parallel, converge_initial, converge_increment, compression_level;
    /* forecast */
    struct text_list dirty; /* WINDOW=MIB */
    uint64_t link_mib, used_mib, working_set_mib, busy_percent, sharing;
    uint64_t observed_memory, observed_link,
        observed_dirty; /* of --request: bytes, bytes/s, bytes/s + 1; 0 = not given */
    uint64_t downtime_ceiling_ms, completion_s_per_gib, forbid;
    bool measure;
    const char *learned_path;
    /* migrate */
    uint64_t queue_timeout_ms, step_timeout_ms, migrate_timeout_ms, resolve_timeout_ms, abort_timeout_ms, poll_ms;
    int32_t cancel_at; /* an enum kvmig_phase; 0 = never */
    uint64_t cancel_after_iteration; /* 0 = never */
    const char *report_path;
    const char *attach, *token_path, *resume_path;
    bool cancel; /* the migration that is attached to */
    uint64_t session_flags; /* enum kvmig_session_flags */
    uint64_t pending_timeout_ms, prepare_timeout_ms;
    /* plan --all, drain */
    bool all, dry_run, partial;
    struct text_list drain_nodes, drain_vms, drain_targets;
    uint64_t drain_at_once; /* with link_mib */
    struct text_list node_hosts; /* URIs of the nodes' libvirt */
    /* diagnose */
    int32_t intent, migrate_rc, postcopy_started;
    const char *intent_node, *migration, *source_state, *target_state, *job;
    double events_now_s;
    uint64_t progress_timeout_s;
    /* hosts */
    bool vms;
    /* cpu, with drain_nodes */
    const char *cpu_map;
    /* where */
    int32_t action; /* an enum kvmig_location_action; 0 = only look */
    /* port, and the ports of migrate */
    const char *ovn_nb, *ovn_sb, *ovn_ca, *ovn_cert, *ovn_key, *owner;
    struct text_list ovs, chassis; /* CHASSIS=REMOTES, HOST=CHASSIS */
    int32_t strategy; /* an enum kvmig_port_strategy */
    uint64_t port_timeout_ms;
    struct text_list ports; /* migrate: KIND:NAME */
    /* port */
    const char *operation, *lsp, *match, *winner;
    uint64_t min_age_ms; /* UINT64_MAX = not given */
    /* probe, and the probe of migrate */
    struct text_list probes; /* KIND:HOST:PORT */
    const char *netns;
    uint64_t interval_ms, try_timeout_ms, duration_ms, service_timeout_ms;
};
#define SETTINGS_INIT                                                                                                  \
    {                                                                                                                  \
        .min_age_ms = UINT64_MAX                                                                                       \
    }

/* ---- options.c ---- */
void text_list_add(struct text_list *list, const char *text); /* borrowed */
enum option_kind {
    OPTION_SWITCH, /* bool = true */
    OPTION_FLAG, /* uint64_t |= extra */
    OPTION_TEXT, /* const char * */
    OPTION_LIST, /* struct text_list, may be repeated */
    OPTION_NUMBER, /* uint64_t between min and max */
    OPTION_LIMIT, /* likewise, or the word "unlimited" */
    OPTION_DURATION, /* uint64_t ms; a plain number is ms, or it has a unit: ms s m h */
    OPTION_FILE, /* char *: the contents of the file */
    OPTION_CHOICE, /* int32_t: whose name (by name_of) was given */
};

struct option_def {
    const char *name;
    char letter; /* 0 = none */
    enum option_kind kind;
    size_t offset; /* of the value, in struct settings */
    const char *metavar; /* of the argument; NULL for switches and flags */
    const char *help;
    uint64_t extra; /* OPTION_FLAG: the bit */
    uint64_t min, max;
    const char *(*name_of)(int32_t value); /* OPTION_CHOICE: values min to max */
};

/* Options with a title of their own in --help; ends with an option whose name is NULL. */
struct option_group {
    const char *title;
    const struct option_def *options;
};

/* The words that follow a command's name. */
enum operands {
    OPERANDS_NONE,
    OPERANDS_VM, /* one: settings.vm */
    OPERANDS_OPERATION, /* one: settings.operation */
    OPERANDS_PROBES, /* one or more: settings.probes */
    OPERANDS_VM_OR_FILES, /* one: settings.vm; with --vm any number of files: settings.files */
    OPERANDS_VM_OR_PATHS, /* likewise; without --vm also if there are several, or one that exists and no host is named */
    OPERANDS_FILES, /* any number: settings.files */
    OPERANDS_NODES, /* any number: settings.drain_nodes, or settings.files if they exist and no cluster is named */
    OPERANDS_COMMON, /* the word "common", then as OPERANDS_NODES */
    OPERANDS_SAVE, /* the word "save", then any number: settings.files */
};

struct command {
    const char *name;
    const char *arguments; /* for the usage line */
    const char *summary; /* one line */
    const char *details; /* for its --help; may be NULL */
    enum operands operands;
    bool needs_hosts; /* libvirt hosts, by --connect or KVMIG_HOSTS */
    const struct option_group *const *groups; /* NULL-terminated */
    int (*run)(const struct settings *settings);
};

extern const struct option_group connect_options, plan_options; /* options_common.c */
extern const struct option_group ovn_options; /* ports.c */
extern const struct option_group migrate_options, kubevirt_options, network_options; /* options_migrate.c */
extern const struct option_group kube_options,
    kube_vm_options; /* options_kube.c; the second for commands about one VM */

/* Parses what follows the command's name. Returns -1 to go on, or the exit code to end with (help was printed, or a
 * mistake was explained). */
int options_parse(const struct command *command, int argc, char **argv, struct settings *settings);
/* Points to the command's --help, after a complaint; returns EXIT_USAGE. */
int usage_hint(const struct command *command);
void options_free(struct settings *settings);
/* The library's options for these settings; borrows from them, and from changes, which has room for all of settings.volumes. */
struct kvmig_plan_opts settings_plan_opts(const struct settings *settings, struct kvmig_volume_change *changes);

/* ---- options_kube.c ---- */
/* Whether the command line names a Kubernetes cluster: an option, or KUBECONFIG if there is no libvirt URI. */
bool settings_want_kube(const struct settings *settings);
struct kvmig_kube_opts settings_kube_opts(const struct settings *settings); /* borrows */
/* "VOLUME=CLAIM" of --volume, cut in two; owned parts. false: it is none, and that was explained. */
bool volumes_read(const struct command *command, const struct settings *settings,
                  struct kvmig_volume_change **out_changes);
void volumes_free(struct kvmig_volume_change *changes, size_t n);
/* Likewise "HOST=MIB" of --link-to. */
bool links_read(const struct command *command, const struct settings *settings, struct kvmig_link **out_links);
void links_free(struct kvmig_link *links, size_t n);

/* ---- request.c: what is asked for, in a file (--request) ---- */
/* asked is a shallow copy of settings: gives it lists of its own, which request_read() may add to; request_end() frees them. */
void request_begin(struct settings *asked);
void request_end(struct settings *asked);
/* Puts what the file asks for into the settings, unless the command line says otherwise. Values that cannot be used, or not as they
 * are, become settings->notes. Returns 0, or the exit code after it explained the mistake (the file cannot be read). *out_request
 * keeps texts and notes; json_object_put() it after the settings. */
int request_read(const struct command *command, struct settings *settings, struct json_object **out_request);

/* ---- request_file.c ---- */
/* The file's JSON object, with members of the right kinds; NULL after it explained what is wrong. */
struct json_object *request_load(const struct command *command, const char *path);

/* ---- request_values.c: reading its values ---- */
/* A finding about the request, in the library's JSON; detail and message are taken. */
void request_note(const struct settings *settings, const char *code, int32_t severity, struct json_object *detail,
                  const char *hint, char *message);
struct json_object *request_detail(const char *option, struct json_object *value);
/* INVALID_ARGUMENT: the value cannot be used. */
void request_refuse(const struct settings *settings, const char *option, struct json_object *value, const char *hint);
/* options.bandwidth; backend decides what a plain number is. */
void request_bandwidth(struct settings *settings, struct json_object *value, const char *backend);
void request_number(struct settings *settings, struct json_object *options, const char *key, uint64_t max,
                    uint64_t *slot);
/* RFC 3339 to ms since 1970; false: it is none. */
bool request_time(const char *text, int64_t *out_ms);

/* ---- forecast.c ---- */
extern const struct option_group forecast_options;
#define FORECAST_SAMPLES 16
struct forecast_told {
    struct kvmig_forecast_opts opts;
    struct kvmig_dirty_sample samples[FORECAST_SAMPLES];
};
struct view;
/* What the settings tell; *out points into itself. false: a word is wrong, and that was explained. */
bool forecast_read(const struct settings *settings, struct forecast_told *out);
/* --learned: reads the file, or does nothing; 0, or the exit code. And writes it. */
int learned_load(const struct view *view, const struct settings *settings);
void learned_save(const struct view *view, const struct settings *settings);
/* --measure; 0, or the exit code. A measurement that fails is explained and no failure. */
int measure(const struct view *view, const struct settings *settings);
void forecast_print(const struct kvmig_plan *plan, FILE *out);

/* ---- text.c: how things are written for people ---- */
#define TEXT_MAX 48
struct text {
    char s[TEXT_MAX];
};
struct text text_bytes(uint64_t bytes); /* "1.5 GiB"; "?" for UINT64_MAX, as below */
struct text text_rate(uint64_t bytes_per_s);
struct text text_ms(uint64_t ms); /* "85 ms", "12.3 s", "4 min 05 s" */
/* To stderr, after "kvmig: ". */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Likewise: the message of an error with where, evidence and advice; returns the exit code that fits its code. error
 * NULL = kvmig_error_last(). */
int complain_error(const char *what, const struct kvmig_error *error);
int exit_code_of(int32_t error_code);

/* A table with columns as wide as their widest cell; cells are copied. */
struct table;
struct table *table_new(const char *const *titles, size_t n_columns);
void table_add(struct table *table, const char *const *cells); /* NULL cell = "-" */
void table_print(const struct table *table, FILE *out, const char *indent);
void table_free(struct table *table);

/* ---- json.c: reading JSON that the library wrote ---- */
struct json_object *json_parse_owned(char *text); /* frees text; NULL if it is not JSON */
struct json_object *json_member(struct json_object *object, const char *key); /* borrowed; NULL if absent or null */
const char *json_text(struct json_object *object, const char *key); /* borrowed; NULL if absent or no string */
uint64_t json_number(struct json_object *object, const char *key); /* UINT64_MAX if absent or no number */
bool json_true(struct json_object *object, const char *key);
struct json_object *json_list_at(struct json_object *list, size_t index); /* borrowed; NULL past the end */
size_t json_list_length(struct json_object *list); /* 0 for what is no array */
void json_print(struct json_object *object, FILE *out); /* many lines, for people and for jq */
/* {"type": type, ...members of object...} on one line, flushed. */
void json_print_line(const char *type, struct json_object *object, FILE *out);

/* ---- findings.c ---- */
/* Those between two severities, worst first, each with object, evidence and advice. Returns how many. */
size_t findings_print(const struct kvmig_findings *findings, int32_t worst, int32_t mildest, FILE *out);
void finding_print(const struct kvmig_finding *finding, FILE *out);
/* Likewise for a finding of the tool's own, in the library's JSON. */
void note_print(struct json_object *note, FILE *out);
/* A notice of the view, to stderr. */
void notice_print(const struct kvmig_finding *finding);
/* What the account may not read, which is told once, when the view is opened; findings_print() leaves it out. */
bool finding_is_skipped_check(const struct kvmig_finding *finding);

/* ---- view.c: context and cluster ---- */
struct view {
    struct kvmig_context *context;
    struct kvmig_cluster *cluster;
    struct kvmig_cluster *node_hosts; /* NULL = none were given */
    bool complete; /* every host was read */
    bool none_read; /* there are hosts, and none of them answers */
    struct view_state *state; /* what the view's events told; owned by its callback */
};
/* The name of the only VM that the view shows; owned. NULL: there is none, or there are several, which was said. */
char *view_only_vm(const struct view *view);
/* Opens the hosts and waits until each was read or is known to be unreachable, or until the deadline. Returns 0, or the
 * exit code after it explained the mistake. Close it in either case. Hosts that do not answer are named on stderr, and
 * the command goes on with what was read: the library refuses what needs more. A Kubernetes API that is not to be had, and files of
 * which nothing could be loaded, are the end. */
int view_open(struct view *view, const struct settings *settings);
void view_close(struct view *view);
/* From now on fn gets every event of the view, too. */
void view_follow(struct view *view, void (*fn)(const struct kvmig_event *event, void *data), void *data);
/* The URI of a host of the view, by its name; owned; a copy of the name if it is not there. */
char *view_uri_of(const struct view *view, const char *host);

/* ---- ports.c: ports that the command line names ---- */
enum port_kind {
    PORT_LSP, /* text is the name of a logical port */
    PORT_MATCH, /* text is KEY=VALUE: all logical ports that have it in their external_ids */
    PORT_NONE, /* text is a name for a port that needs nothing */
};
struct port_spec {
    enum port_kind kind;
    const char *text;
};
/* "ovn:LSP", "ovn-match:KEY=VALUE", "none:NAME"; borrows from word. false: it is none of them. */
bool port_spec_read(const char *word, struct port_spec *out_spec);
/* Whether the options are enough to open it; explains what is missing. */
bool port_spec_check(const struct command *command, const struct port_spec *spec, const struct settings *settings);
/* Returns 0, or the exit code after it explained the mistake. on_event is taken. */
int port_open(struct kvmig_context *context, const struct port_spec *spec, const struct settings *settings,
              struct kvmig_event_callback on_event, struct kvmig_port **out_port);
const char *
port_state_meaning(int32_t state); /* "belongs to source and target; ..."; NULL if there is nothing to add */

/* ---- port_show.c ---- */
void port_print(struct json_object *port, FILE *out); /* what kvmig_port_to_json() says, for people */

/* ---- targets.c: what the command line wants to be probed ---- */
/* A probe of all settings.probes, not started. Returns 0, or the exit code after it explained the mistake. With a context
 * of NULL it only looks whether they can be read. */
int targets_open(const struct command *command, struct kvmig_context *context, const struct settings *settings,
                 struct kvmig_probe **out_probe);

/* ---- commands ---- */
extern const struct command hosts_command, plan_command, migrate_command, where_command, port_command, probe_command,
    explain_command, watch_command, snapshot_command, drain_command, cpu_command, diagnose_command, report_command;

/* cmd_plan.c, also for migrate */
int plan_make(const struct view *view, const struct settings *settings, struct kvmig_plan **out_plan);
/* notes are settings.notes. */
void plan_print(const struct kvmig_plan *plan, struct json_object *notes, FILE *out);

/* cmd_plan_all.c */
int plan_all(const struct view *view, const struct settings *settings);

/* ---- migrate_output.c: what a running migration shows ---- */
struct output;
/* kubevirt: the phases are those of a VMIM. */
struct output *output_new(bool json, bool kubevirt);
void output_event(struct output *output, const struct kvmig_event *event);
/* A line of the tool's own between the library's: to stdout for people, to stderr if stdout is JSON. */
void output_say(struct output *output, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void output_free(struct output *output);

/* ---- migrate_summary.c ---- */
/* How it ended, for people. report may be NULL. vm is what the command line calls the VM; how_to_find is the command that finds it. */
void summary_print(struct json_object *report, const struct kvmig_event *end, const char *vm, const char *how_to_find,
                   FILE *out);

/* cmd_explain.c, also for migrate and watch */
void explanation_print(const struct kvmig_explanation *explanation, FILE *out);

/* ---- signals.c: the first signals of the user are requests ---- */
void signals_catch(struct kvmig_context *context);
int signals_count(void); /* how many came so far */
void signals_release(void);

#endif
