/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig cpu common: which named CPU models some nodes have in common, and what a guest would lose with each. Reads the hosts or
 * files, prints; changes nothing.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define MAX_MODELS 12 /* that are listed for people, and of which every feature is named */
#define MAX_DETAILS 3

/* "a, b and 7 more"; owned. */
static char *join_nodes(struct json_object *nodes)
{
    const size_t n = json_list_length(nodes), shown = n > 4 ? 3 : n;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        abort();
    for (size_t i = 0; i < shown; i++)
        fprintf(out, "%s%s", i > 0 ? ", " : "", json_object_get_string(json_list_at(nodes, i)));
    if (shown < n)
        fprintf(out, " and %zu more", n - shown);
    fclose(out);
    return text;
}

/* Details of nested virtualisation are many, and told as one; owned. */
static char *join_features(struct json_object *features)
{
    size_t details = 0, printed = 0, size;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        abort();
    for (size_t i = 0; i < json_list_length(features); i++) {
        const char *name = json_object_get_string(json_list_at(features, i));

        if (strncmp(name, "vmx-", 4) == 0) {
            details++;
            continue;
        }
        fprintf(out, "%s%s", printed++ > 0 ? ", " : "", name);
    }
    if (details > 0)
        fprintf(out, "%s%zu details of vmx", printed > 0 ? ", " : "", details);
    if (printed == 0 && details == 0)
        fputs("nothing", out);
    fclose(out);
    return text;
}

/* Returns whether anything is known. */
static bool print_kinds(struct json_object *kinds)
{
    static const char *const titles[] = { "NODES", "VENDOR", "HOST MODEL", "MODELS" };
    struct table *table = table_new(titles, 4);
    bool any = false;

    for (size_t i = 0; i < json_list_length(kinds); i++) {
        struct json_object *kind = json_list_at(kinds, i);
        char *nodes = join_nodes(json_member(kind, "nodes"));
        char models[32];
        const char *const cells[] = { nodes, json_text(kind, "vendor"), json_text(kind, "host_model"), models };

        snprintf(models, sizeof(models), "%zu", json_list_length(json_member(kind, "models")));
        if (json_true(kind, "known"))
            table_add(table, cells);
        any = any || json_true(kind, "known");
        free(nodes);
    }
    if (any)
        table_print(table, stdout, "");
    table_free(table);
    for (size_t i = 0; i < json_list_length(kinds); i++) {
        struct json_object *kind = json_list_at(kinds, i);
        char *nodes = join_nodes(json_member(kind, "nodes"));

        if (!json_true(kind, "known"))
            printf("Not known, and left out: %s: %s\n", nodes, json_text(kind, "missing"));
        free(nodes);
    }
    return any;
}

/* "12", "3 to 60", "?" */
static struct text count_lost(struct json_object *lost)
{
    size_t least = SIZE_MAX, most = 0;
    bool known = true;
    struct text text;

    for (size_t i = 0; i < json_list_length(lost); i++) {
        struct json_object *features = json_member(json_list_at(lost, i), "features");
        const size_t n = json_list_length(features);

        known = known && features;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    if (!known)
        snprintf(text.s, sizeof(text.s), "?");
    else if (least == most)
        snprintf(text.s, sizeof(text.s), "%zu", most);
    else
        snprintf(text.s, sizeof(text.s), "%zu to %zu", least, most);
    return text;
}

static void print_losses(struct json_object *model)
{
    struct json_object *lost = json_member(model, "lost"), *add = json_member(model, "can_add");
    char *names;

    printf("\nWith %s a guest would lose\n", json_text(model, "model"));
    for (size_t i = 0; i < json_list_length(lost); i++) {
        struct json_object *features = json_member(json_list_at(lost, i), "features");
        char *nodes = join_nodes(json_member(json_list_at(lost, i), "nodes"));

        names = features ? join_features(features) : strdup("not known what");
        if (!names)
            abort();
        printf("  on %s: %s\n", nodes, names);
        free(names);
        free(nodes);
    }
    if (!add)
        return;
    names = join_features(add);
    printf("  all nodes offer beyond it: %s\n", names);
    free(names);
}

static void print_models(struct json_object *models)
{
    static const char *const titles[] = { "MODEL", "FEATURES LOST", "COULD BE ADDED" };
    const size_t n = json_list_length(models);
    struct table *table;

    if (n == 0) {
        puts("\nNo named CPU model can be run by all of them.");
        return;
    }
    printf("\n%zu named CPU model%s can be run by all of them:\n", n, n == 1 ? "" : "s");
    table = table_new(titles, 3);
    for (size_t i = 0; i < n && i < MAX_MODELS; i++) {
        struct json_object *model = json_list_at(models, i), *add = json_member(model, "can_add");
        struct text lost = count_lost(json_member(model, "lost"));
        char added[32];
        const char *const cells[] = { json_text(model, "model"), lost.s, add ? added : NULL };

        snprintf(added, sizeof(added), "%zu", json_list_length(add));
        table_add(table, cells);
    }
    table_print(table, stdout, "  ");
    table_free(table);
    if (n > MAX_MODELS)
        printf("  and %zu more, which lose more; --json lists all\n", n - MAX_MODELS);
    for (size_t i = 0; i < n && i < MAX_DETAILS; i++)
        print_losses(json_list_at(models, i));
}

static void print_move(struct json_object *move)
{
    char *from = join_nodes(json_member(move, "from")), *to = join_nodes(json_member(move, "to"));
    char *lacking = join_features(json_member(move, "lacking"));
    const char *model = json_text(move, "model_missing");

    printf("  from %s to %s: ", from, to);
    if (!json_member(move, "possible"))
        puts("not known");
    else if (json_true(move, "possible"))
        puts("yes");
    else if (json_text(move, "obsolete_host_model"))
        printf("no, its host model %s counts as obsolete\n", json_text(move, "obsolete_host_model"));
    else if (model)
        printf("no, it does not know %s\n", model);
    else
        printf("no, it lacks %s\n", lacking);
    free(lacking);
    free(to);
    free(from);
}

static void print_text(struct json_object *json)
{
    struct json_object *moves = json_member(json, "host_model");

    if (!print_kinds(json_member(json, "kinds"))) {
        puts("Nothing is known of any CPU.");
        return;
    }
    print_models(json_member(json, "models"));
    if (json_list_length(moves) == 0)
        return;
    puts("\nGuests with host-model could move:");
    for (size_t i = 0; i < json_list_length(moves); i++)
        print_move(json_list_at(moves, i));
}

static int compare(const struct view *view, const struct settings *settings)
{
    struct json_object *json;
    char *text = NULL;

    if (view->none_read)
        return EXIT_NOT_FOUND; /* which was said of each host */
    if (kvmig_cluster_cpu_common(view->cluster, settings->drain_nodes.v, settings->drain_nodes.n, settings->cpu_map,
                                 &text) < 0)
        return complain_error("cannot compare", NULL);
    json = json_parse_owned(text);
    if (settings->json)
        json_print(json, stdout);
    else
        print_text(json);
    json_object_put(json);
    return EXIT_OK;
}

/* Of domain capabilities nobody knows whose they are: where the command line does not say it, the file's name does. Returns
 * texts that the list borrows, one per entry that was added. */
static char **name_hosts(struct settings *settings)
{
    char **texts = calloc(settings->files.n + 1, sizeof(*texts));
    const bool named = settings->file_hosts.n > 0;
    size_t n = 0;

    if (!texts)
        abort();
    for (size_t i = 0; i < settings->files.n && !named; i++) {
        const char *path = settings->files.v[i], *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
        const size_t length = strlen(base);

        if (length <= 4 || strcmp(base + length - 4, ".xml") != 0)
            continue;
        if (asprintf(&texts[n], "%.*s=%s", (int)length - 4, base, path) < 0)
            abort();
        text_list_add(&settings->file_hosts, texts[n++]);
    }
    return texts;
}

static int run(const struct settings *given)
{
    struct settings asked = *given, *settings = &asked;
    char **texts;
    struct view view;
    int code;

    settings->file_hosts = (struct text_list){ NULL, 0 };
    for (size_t i = 0; i < given->file_hosts.n; i++)
        text_list_add(&settings->file_hosts, given->file_hosts.v[i]);
    texts = name_hosts(settings);
    code = view_open(&view, settings);

    if (code == 0)
        code = compare(&view, settings);
    view_close(&view);
    for (size_t i = 0; texts[i]; i++)
        free(texts[i]);
    free(texts);
    free(settings->file_hosts.v);
    /* What is not in the caller's own files cannot come later, as a host may. */
    return code == EXIT_NOT_FOUND && settings->files.n > 0 ? EXIT_USAGE : code;
}

static const struct option_def options[] = {
    { .name = "file",
      .letter = 'f',
      .kind = OPTION_LIST,
      .offset = offsetof(struct settings, files),
      .metavar = "PATH",
      .help =
          "a file or folder to read instead of a live cluster; may be repeated. Words that are files will do, too" },
    { .name = "host",
      .kind = OPTION_LIST,
      .offset = offsetof(struct settings, file_hosts),
      .metavar = "HOST=FILE",
      .help =
          "this file holds the domain capabilities of HOST; may be repeated. Default: a host is called as its file, "
          "less .xml" },
    { .name = "cpu-map",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, cpu_map),
      .metavar = "FOLDER",
      .help = "what CPU models contain, as libvirt installs it; default: /usr/share/libvirt/cpu_map" },
    { .name = NULL },
};
static const struct option_group cpu_options = { "Comparing CPUs", options };
static const struct option_group *const groups[] = { &cpu_options, &connect_options, &kube_options, NULL };

const struct command cpu_command = {
    .name = "cpu",
    .arguments = "common [NODE...] [options] [PATH...]",
    .summary = "Show the named CPU models that all of the nodes can run, and what a guest would lose with each.",
    .details = "Without nodes: all that there are. Exit code 0: there is an answer, whatever it is.",
    .operands = OPERANDS_COMMON,
    .needs_hosts = true,
    .groups = groups,
    .run = run,
};
