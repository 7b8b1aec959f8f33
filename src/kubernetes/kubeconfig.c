/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kubeconfigs: reads one or several files, and finds the context, cluster and user that are meant, as kubectl does: the first
 * file that has an entry of a name gives all of it, the first that sets current-context gives that, and files that are not
 * there are passed over. What the entries say is for others to judge. Blocks while it reads; any thread. A kubeconfig owns what
 * was read; entries are borrowed from it.
 */
#include "kubernetes/access_internal.h"
#include "kubernetes/yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE ((size_t)16 << 20)

struct file {
    char *path, *dir;
    struct json_object *config; /* NULL = the file is empty */
};

struct kvmig__kubeconfig {
    struct file *v;
    size_t n;
    char *paths; /* all that were to be read, for errors */
};

/* The three lists: its name, what an entry's content is called, and what people call it. */
enum kind { CONTEXT, CLUSTER, USER };
static const struct {
    const char *list, *content;
} kinds[] = {
    [CONTEXT] = { "contexts", "context" },
    [CLUSTER] = { "clusters", "cluster" },
    [USER] = { "users", "user" },
};

void kvmig__kubeconfig_free(struct kvmig__kubeconfig *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < config->n; i++) {
        free(config->v[i].path);
        free(config->v[i].dir);
        kvmig__json_wipe(config->v[i].config);
    }
    free(config->v);
    free(config->paths);
    free(config);
}

void kvmig__kubeconfig_choice_clear(struct kvmig__kubeconfig_choice *choice)
{
    kvmig__entry_clear(&choice->context);
    kvmig__entry_clear(&choice->cluster);
    kvmig__entry_clear(&choice->user);
}

/* ---- reading ---- */

static struct kvmig__entry file_entry(const struct file *file)
{
    return (struct kvmig__entry){ .value = file->config, .path = file->path, .dir = file->dir };
}

struct documents {
    struct json_object *first;
    size_t n;
};

static bool take_document(void *data, struct json_object *document, size_t index)
{
    struct documents *documents = data;

    (void)index;
    documents->n += document != NULL;
    if (!documents->first)
        documents->first = document;
    else
        kvmig__json_wipe(document);
    return documents->n < 2;
}

static struct kvmig_error *check_kind(const struct file *file)
{
    const struct kvmig__entry entry = file_entry(file);
    const char *kind, *version = NULL;
    struct kvmig_error *error;

    if (!file->config)
        return NULL;
    if (!json_object_is_type(file->config, json_type_object))
        return kvmig__error_new(KVMIG_EJSON, file->path, NULL, "Name a kubeconfig.",
                                "the file is no kubeconfig: it must be a mapping");
    error = kvmig__entry_text(&entry, "kind", &kind);
    if (!error)
        error = kvmig__entry_text(&entry, "apiVersion", &version);
    if (!error && ((kind && strcmp(kind, "Config") != 0) || (version && strcmp(version, "v1") != 0)))
        error = kvmig__error_new(KVMIG_EJSON, file->path, NULL, "Name a kubeconfig.",
                                 "the file is no kubeconfig: it is a %.60s of %.60s, not a Config of v1",
                                 kind ? kind : "Config", version ? version : "v1");
    return error;
}

/* One list: entries are mappings with a name, each name once. */
static struct kvmig_error *check_list(const struct file *file, enum kind kind)
{
    const struct kvmig__entry top = file_entry(file);
    struct kvmig__strlist names = { 0 };
    struct json_object *list;
    struct kvmig_error *error = kvmig__entry_get(&top, kinds[kind].list, json_type_array, &list);

    for (size_t i = 0; !error && list && i < json_object_array_length(list); i++) {
        char *label = kvmig__asprintf("%s[%zu]", kinds[kind].list, i);
        struct kvmig__entry entry = top;
        struct json_object *content;
        const char *name = NULL;

        entry.value = json_object_array_get_idx(list, i);
        entry.label = label;
        if (!json_object_is_type(entry.value, json_type_object))
            error =
                kvmig__entry_error(&entry, NULL, KVMIG_EJSON, "Mend the kubeconfig.", "the entry must be a mapping");
        if (!error)
            error = kvmig__entry_text(&entry, "name", &name);
        if (!error)
            error = kvmig__entry_get(&entry, kinds[kind].content, json_type_object, &content);
        if (!error && name && kvmig__strlist_has(&names, name))
            error = kvmig__entry_error(&entry, "name", KVMIG_EJSON, "Rename or remove one of the two.",
                                       "the file has two entries \"%s\" in %s", name, kinds[kind].list);
        if (name)
            kvmig__strlist_add(&names, name);
        free(label);
    }
    kvmig__strlist_clear(&names);
    return error;
}

static struct kvmig_error *parse(const struct kvmig__blob *text, struct file *file)
{
    struct documents documents = { 0 };
    struct kvmig_error *error = NULL;

    kvmig__yaml_read(text->data, text->length, file->path, take_document, &documents, &error);
    file->config = documents.first;
    if (!error && documents.n > 1)
        error = kvmig__error_new(KVMIG_EJSON, file->path, NULL,
                                 "Write each into a file of its own, and name them all, joined by ':'.",
                                 "the kubeconfig has more than one document");
    if (!error)
        error = check_kind(file);
    for (enum kind kind = CONTEXT; !error && kind <= USER; kind++)
        error = check_list(file, kind);
    return error;
}

static struct kvmig_error *read_file(const char *path, struct file *file)
{
    struct kvmig__blob text = { 0 };
    const char *slash = strrchr(path, '/');
    struct kvmig_error *error = kvmig__file_read(path, "kubeconfig", MAX_FILE, &text);

    if (error)
        return error;
    file->path = kvmig__strdup(path);
    file->dir = !slash          ? kvmig__strdup(".")
                : slash == path ? kvmig__strdup("/")
                                : kvmig__strndup(path, (size_t)(slash - path));
    error = parse(&text, file);
    kvmig__blob_clear(&text);
    return error;
}

static struct kvmig_error *none_found(const struct kvmig__kubeconfig *config, const struct kvmig__strlist *paths)
{
    const char *what = paths->n > 1    ? "none of the kubeconfigs is there"
                       : paths->n == 1 ? "the kubeconfig is not there"
                                       : "there is no kubeconfig, and no home folder to look for one";

    return kvmig__error_new(ENOENT, "kubeconfig", paths->n ? config->paths : NULL,
                            "Name a kubeconfig, set KUBECONFIG, or, inside of a pod, use its service account.",
                            "%s%s%s", what, paths->n ? ": " : "", paths->n ? config->paths : "");
}

struct kvmig_error *kvmig__kubeconfig_read(const struct kvmig__strlist *paths, struct kvmig__kubeconfig **out)
{
    struct kvmig__kubeconfig *config = kvmig__calloc(1, sizeof(*config));
    struct kvmig_error *error = NULL;

    config->paths = kvmig__strlist_join(paths, ":");
    for (size_t i = 0; i < paths->n && !error; i++) {
        struct file file = { 0 };

        error = read_file(paths->v[i], &file);
        if (file.path) {
            *KVMIG__PUSH(config) = file;
        } else if (error->code == -ENOENT) {
            kvmig__error_free(error);
            error = NULL;
        }
    }
    if (!error && config->n == 0)
        error = none_found(config, paths);
    if (!error) {
        *out = config;
        return NULL;
    }
    kvmig__kubeconfig_free(config);
    return error;
}

/* ---- choosing ---- */

/* The entry of that name in the first file that has one. False: none has. */
static bool find(const struct kvmig__kubeconfig *config, enum kind kind, const char *name, struct kvmig__entry *out)
{
    for (size_t i = 0; i < config->n; i++) {
        struct json_object *list = NULL, *given = NULL, *content = NULL;

        json_object_object_get_ex(config->v[i].config, kinds[kind].list, &list);
        for (size_t j = 0; list && j < json_object_array_length(list); j++) {
            struct json_object *item = json_object_array_get_idx(list, j);

            json_object_object_get_ex(item, "name", &given);
            if (!given || strcmp(json_object_get_string(given), name) != 0)
                continue;
            json_object_object_get_ex(item, kinds[kind].content, &content);
            *out = file_entry(&config->v[i]);
            out->value = content;
            out->name = json_object_get_string(given);
            out->label = kvmig__asprintf("%s \"%s\"", kinds[kind].content, name);
            return true;
        }
    }
    return false;
}

/* "a", "b", ...; owned; NULL: there is none. */
static char *names_of(const struct kvmig__kubeconfig *config, enum kind kind)
{
    struct kvmig__strlist names = { 0 };
    char *text;

    for (size_t i = 0; i < config->n; i++) {
        struct json_object *list = NULL, *name = NULL;

        json_object_object_get_ex(config->v[i].config, kinds[kind].list, &list);
        for (size_t j = 0; list && j < json_object_array_length(list); j++) {
            if (json_object_object_get_ex(json_object_array_get_idx(list, j), "name", &name) && name)
                kvmig__strlist_add_new(&names, json_object_get_string(name));
        }
    }
    text = names.n ? kvmig__strlist_join(&names, ", ") : NULL;
    kvmig__strlist_clear(&names);
    return text;
}

/* names says what there is. */
static struct kvmig_error *not_there(const struct kvmig__kubeconfig *config, enum kind kind, const char *message)
{
    char *names = names_of(config, kind);
    char *evidence =
        names ? kvmig__asprintf("%s: %s", kinds[kind].list, names) : kvmig__asprintf("%s: none", kinds[kind].list);
    struct kvmig_error *error = kvmig__error_new(
        ENOENT, config->paths, evidence,
        names ? "Name one of those that are there." : "Add it, or name the right kubeconfig.", "%s", message);

    free(evidence);
    free(names);
    return error;
}

static struct kvmig_error *current_context(const struct kvmig__kubeconfig *config, const char **out)
{
    struct kvmig_error *error = NULL;

    *out = NULL;
    for (size_t i = 0; i < config->n && !error && !*out; i++) {
        const struct kvmig__entry entry = file_entry(&config->v[i]);

        error = kvmig__entry_text(&entry, "current-context", out);
    }
    if (!error && !*out)
        error = not_there(config, CONTEXT, "no context was named, and the kubeconfig has no current-context");
    return error;
}

/* The entry that the context names under its member; *out stays empty if it names none. */
static struct kvmig_error *follow(const struct kvmig__kubeconfig *config, const struct kvmig__entry *context,
                                  enum kind kind, struct kvmig__entry *out)
{
    const char *name;
    struct kvmig_error *error = kvmig__entry_text(context, kinds[kind].content, &name);
    char *message;

    if (error || !name || find(config, kind, name, out))
        return error;
    message = kvmig__asprintf("%s names the %s \"%s\", which is not there", context->label, kinds[kind].content, name);
    error = not_there(config, kind, message);
    free(message);
    return error;
}

struct kvmig_error *kvmig__kubeconfig_choose(const struct kvmig__kubeconfig *config, const char *name,
                                             struct kvmig__kubeconfig_choice *choice)
{
    struct kvmig_error *error = name ? NULL : current_context(config, &name);
    char *message;

    if (error)
        return error;
    if (!find(config, CONTEXT, name, &choice->context)) {
        message = kvmig__asprintf("the context \"%s\" is not there", name);
        error = not_there(config, CONTEXT, message);
        free(message);
        return error;
    }
    error = follow(config, &choice->context, CLUSTER, &choice->cluster);
    if (!error)
        error = follow(config, &choice->context, USER, &choice->user);
    if (!error && !choice->cluster.path)
        error = kvmig__entry_error(&choice->context, "cluster", KVMIG_EJSON, "Name the cluster in the context.",
                                   "the context has no cluster");
    return error;
}
