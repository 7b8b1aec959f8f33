/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Snapshots of a cluster: the store from texts as kubectl prints them, and back. Knows lists and which kinds they
 * make known; the objects themselves are read by objects.c, the files by snapshot_files.c. No lock; any thread. The
 * store belongs to the caller.
 */
#include "kubernetes/snapshot_internal.h"

#include "kubernetes/objects_io.h"
#include "kubernetes/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On the List that kvmig__snapshot_save() writes. */
#define KNOWN_KINDS "kvmig/known-kinds" /* kinds of which there are no objects, with commas between */
#define SAVED_AT "kvmig/saved-at" /* the time that waits are judged at */
#define MAX_NESTING 4 /* lists within lists */
#define LIST "List"

/* ---- problems ---- */

void kvmig__snapshot_problem(struct kvmig__snapshot_load *load, const char *name, const char *object, const char *hint,
                             const char *reason_fmt, ...)
{
    struct kvmig__detail detail = { 0 };
    char *about = kvmig__asprintf("file/%s", name), *reason, *text;
    va_list args;

    va_start(args, reason_fmt);
    reason = kvmig__vasprintf(reason_fmt, args);
    va_end(args);
    kvmig__detail_str(&detail, "file", name);
    kvmig__detail_str(&detail, "object", object);
    kvmig__detail_str(&detail, "reason", reason);
    text = kvmig__detail_take(&detail);
    kvmig__findings_add(load->problems, "SNAPSHOT_UNREADABLE", KVMIG_SEVERITY_ERROR, about, NULL, text, hint,
                        "%s: %s%s%s", name, object ? object : "", object ? ": " : "", reason);
    free(text);
    free(reason);
    free(about);
}

static const char *text_of(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    return json_object_is_type(object, json_type_object) && json_object_object_get_ex(object, key, &value) &&
                   json_object_is_type(value, json_type_string)
               ? json_object_get_string(value)
               : NULL;
}

static struct json_object *member_of(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    return json_object_is_type(object, json_type_object) && json_object_object_get_ex(object, key, &value) ? value
                                                                                                           : NULL;
}

static void unreadable(struct kvmig__snapshot_load *load, struct json_object *json, const char *kind, const char *place,
                       const char *reason)
{
    struct json_object *metadata = member_of(json, "metadata");
    const char *ns = text_of(metadata, "namespace"), *name = text_of(metadata, "name");
    char *object = kvmig__asprintf("%s%s%s%s%s%s%s", kind, name ? " " : "", ns && name ? ns : "", ns && name ? "/" : "",
                                   name ? name : "", *place ? " at " : "", place);

    kvmig__snapshot_problem(load, load->name, object,
                            "Print the object again with kubectl get ... -o json; the rest was loaded.", "%s", reason);
    free(object);
}

/* ---- one object ---- */

static bool is_number(const char *text)
{
    return text && *text && !text[strspn(text, "0123456789")];
}

/* Several files may hold the same object as it was at several times. */
static bool is_older(const struct kvmig__kube_meta *a, const struct kvmig__kube_meta *b)
{
    size_t a_length, b_length;

    if (!kvmig__str_eq(a->uid, b->uid))
        return a->created_ms && a->created_ms < b->created_ms;
    if (!is_number(a->version) || !is_number(b->version))
        return false;
    a_length = strlen(a->version);
    b_length = strlen(b->version);
    return a_length != b_length ? a_length < b_length : strcmp(a->version, b->version) < 0;
}

void kvmig__snapshot_put(struct kvmig__snapshot_load *load, struct kvmig__kube_meta *object, int64_t newest_ms)
{
    const struct kvmig__kube_meta *there = kvmig__kube_find(load->kube, object->kind, object->ns, object->name);

    if (newest_ms > load->newest_ms)
        load->newest_ms = newest_ms;
    load->kube->kinds[object->kind].known = KVMIG__KUBE_KNOWN;
    if (there && is_older(object, there))
        kvmig__kube_object_free(object);
    else
        kvmig__kube_put(load->kube, object);
}

static void take_object(struct kvmig__snapshot_load *load, struct json_object *json, int32_t kind, const char *place)
{
    int64_t newest_ms;
    struct kvmig__kube_meta *object = kvmig__object_read(json, kind, &newest_ms);

    if (!object) {
        unreadable(load, json, kvmig__kube_kind_info(kind)->kind, place,
                   member_of(json, "metadata") ? "metadata has no name" : "it has no metadata");
        return;
    }
    kvmig__snapshot_put(load, object, newest_ms);
}

/* ---- lists ---- */

static void take_value(struct kvmig__snapshot_load *load, struct json_object *json, int32_t kind, const char *place,
                       int nesting);

static void take_items(struct kvmig__snapshot_load *load, struct json_object *list, const char *kind, int32_t of,
                       const char *place, int nesting)
{
    struct json_object *items = member_of(list, "items");
    bool there = json_object_is_type(list, json_type_object) && json_object_object_get_ex(list, "items", NULL);

    /* An empty list may be printed as null. */
    if (!there || (items && !json_object_is_type(items, json_type_array))) {
        unreadable(load, list, kind, place, there ? "its items are no list" : "it has no items");
        return;
    }
    if (of >= 0)
        load->kube->kinds[of].known = KVMIG__KUBE_KNOWN;
    for (size_t i = 0; items && i < json_object_array_length(items); i++) {
        char *where = kvmig__asprintf("%s%sitems[%zu]", place, *place ? "." : "", i);

        take_value(load, json_object_array_get_idx(items, i), of, where, nesting + 1);
        free(where);
    }
}

/* What a list that kvmig__snapshot_save() wrote says about itself. */
static void take_notes(struct kvmig__snapshot_load *load, struct json_object *list)
{
    struct json_object *notes = member_of(member_of(list, "metadata"), "annotations");
    int64_t saved_ms = kvmig__time_parse(text_of(notes, SAVED_AT));
    const char *at = text_of(notes, KNOWN_KINDS);

    if (saved_ms > load->newest_ms)
        load->newest_ms = saved_ms;
    while (at && *at) {
        size_t length = strcspn(at, ",");
        char *name = kvmig__strndup(at, length);
        int32_t kind = kvmig__kube_kind_of(NULL, name);

        if (kind >= 0)
            load->kube->kinds[kind].known = KVMIG__KUBE_KNOWN;
        free(name);
        at += length + (at[length] ? 1 : 0);
    }
}

int32_t kvmig__snapshot_kind_of_list(const char *api_version, const char *kind)
{
    char *item = kvmig__strndup(kind, strlen(kind) - strlen(LIST));
    int32_t of = kvmig__object_kind(api_version, item);

    free(item);
    return of;
}

static void take_list(struct kvmig__snapshot_load *load, struct json_object *json, const char *kind, const char *place,
                      int nesting)
{
    int32_t of = kvmig__snapshot_kind_of_list(text_of(json, "apiVersion"), kind);
    bool any = !strcmp(kind, LIST);

    if (!any && of < 0)
        return;
    if (nesting >= MAX_NESTING) {
        unreadable(load, json, kind, place, "it is a list within a list within a list");
        return;
    }
    if (any)
        take_notes(load, json);
    take_items(load, json, kind, of, place, nesting);
}

/* kind: what an item of a typed list is, which then need not say so itself; else -1. */
static void take_value(struct kvmig__snapshot_load *load, struct json_object *json, int32_t kind, const char *place,
                       int nesting)
{
    const char *own = text_of(json, "kind");

    if (!text_of(json, own ? "apiVersion" : "kind") && kind < 0 && /* the account of a port has a kind of its own */
        (load->others ? load->others->value(load, json) : kvmig__snapshot_observation(load, json)))
        return;
    if (own && kvmig__str_ends(own, LIST)) {
        take_list(load, json, own, place, nesting);
        return;
    }
    if (own)
        kind = kvmig__object_kind(text_of(json, "apiVersion"), own);
    if (kind >= 0)
        take_object(load, json, kind, place);
}

/* ---- one text ---- */

static bool take_document(void *data, struct json_object *document, size_t index)
{
    struct kvmig__snapshot_load *load = data;
    char *place = index ? kvmig__asprintf("document %zu", index + 1) : kvmig__strdup("");

    take_value(load, document, -1, place, 0);
    free(place);
    json_object_put(document);
    return true;
}

static bool mentions(const char *text, size_t length, const char *word)
{
    return memmem(text, length, word, strlen(word));
}

/* Observations, rows of OVSDB, and reports of kvmig. */
static bool is_known_json(const struct kvmig__snapshot_load *load, const char *text, size_t length)
{
    return mentions(text, length, "\"observation\"") ||
           (load->others && mentions(text, length, "\"database\"") && mentions(text, length, "\"table\"")) ||
           (load->others && mentions(text, length, "\"session\"") && mentions(text, length, "\"final\""));
}

/* The same, as some write them by hand. Other texts have these words, too, so that mistakes in them are nobody's. */
static bool may_be_yaml(const struct kvmig__snapshot_load *load, const char *text, size_t length)
{
    return mentions(text, length, "observation:") ||
           (load->others && mentions(text, length, "database:") && mentions(text, length, "table:"));
}

void kvmig__snapshot_text(struct kvmig__snapshot_load *load, const char *text, size_t length, const char *name)
{
    struct kvmig_error *error = NULL;

    load->name = name;
    if (load->others && load->others->text(load, text, length))
        return;
    if (!length ||
        (!mentions(text, length, "kind") && !may_be_yaml(load, text, length) && !is_known_json(load, text, length)))
        return;
    if (kvmig__snapshot_list(load, text, length))
        return;
    kvmig__yaml_read(text, length, name, take_document, load, &error);
    /* Logs, XML and the like lie beside the objects and are none of our business; broken objects are. */
    if (error && (mentions(text, length, "apiVersion") || is_known_json(load, text, length)))
        kvmig__snapshot_problem(load, name, NULL,
                                error->hint ? error->hint : "Print the objects again with kubectl get ... -o json.",
                                "%s: %s", error->where ? error->where : name, error->message);
    kvmig__error_free(error);
}

void kvmig__snapshot_finish(struct kvmig__snapshot_load *load)
{
    if (!load->kube->now_ms) {
        load->kube->now_ms = load->newest_ms;
        load->kube->trimmed = true; /* what kvmig__snapshot_save() wrote has a time, and is whole */
    }
    kvmig__snapshot_apply_usage(load);
}

void kvmig__snapshot_read(struct kvmig__kube *kube, const char *text, size_t length, const char *name,
                          struct kvmig_findings *problems)
{
    struct kvmig__snapshot_load load = { .kube = kube, .problems = problems };

    kvmig__snapshot_text(&load, text, length, name);
    kvmig__snapshot_finish(&load);
}

/* ---- saving ---- */

static struct json_object *notes_of(const struct kvmig__kube *kube)
{
    struct json_object *notes = json_object_new_object();
    struct kvmig__strlist empty = { 0 };
    char *text;

    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++) {
        if (kvmig__kube_is_known(kube, kind) && !kube->kinds[kind].n)
            kvmig__strlist_add(&empty, kvmig__kube_kind_info(kind)->kind);
    }
    text = kvmig__strlist_join(&empty, ",");
    if (empty.n)
        kvmig__json_add_str(notes, KNOWN_KINDS, text);
    free(text);
    kvmig__strlist_clear(&empty);
    if (kube->now_ms > 0) {
        text = kvmig__time_text(kube->now_ms);
        kvmig__json_add_str(notes, SAVED_AT, text);
        free(text);
    }
    return notes;
}

/* One line for each object: a store may be large, and its JSON need not be in memory as a whole. */
char *kvmig__snapshot_save(const struct kvmig__kube *kube)
{
    char *text = NULL, *line = kvmig__json_take_string(notes_of(kube));
    const char *separator = "\n";
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        abort(); /* no memory, as everywhere */
    fprintf(out, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"metadata\":{\"annotations\":%s},\"items\":[", line);
    free(line);
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++) {
        for (size_t i = 0; i < kube->kinds[kind].n; i++) {
            line = kvmig__json_take_string(kvmig__object_encode(kube->kinds[kind].v[i]));
            fprintf(out, "%s%s", separator, line);
            free(line);
            separator = ",\n";
        }
    }
    fputs("\n]}\n", out);
    if (fclose(out))
        abort();
    return text;
}
