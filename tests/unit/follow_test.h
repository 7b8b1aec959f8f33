/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For tests that read Kubernetes objects: putting them into a store as JSON, and playing recordings. Text that stands for JSON may
 * use ' for ", to be readable. Header only, single thread; what it gives belongs to the caller.
 */
#ifndef KVMIG_TEST_FOLLOW_H
#define KVMIG_TEST_FOLLOW_H

#include "kubernetes/follow.h"
#include "kubernetes/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define T0 1796036400000 /* 2026-11-30T11:00:00Z */

/* ---- objects ---- */

static inline struct kvmig__kube_meta *decode_text(char *text)
{
    struct json_object *json;
    struct kvmig__kube_meta *object;

    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p == '`' ? '\'' : *p;
    json = json_tokener_parse(text);
    if (!json)
        fail_msg("not JSON: %s", text);
    object = kvmig__object_decode(json, -1);
    if (!object)
        fail_msg("not decoded: %s", text);
    json_object_put(json);
    return object;
}

/* ' stands for ", ` for '. */
static inline void KVMIG__PRINTF(2, 3) put(struct kvmig__kube *kube, const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = kvmig__vasprintf(format, args);
    va_end(args);
    kvmig__kube_put(kube, decode_text(text));
    free(text);
}

/* Every kind was listed, and what is not there does not exist. */
static inline void know_all(struct kvmig__kube *kube)
{
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++)
        kube->kinds[kind].known = KVMIG__KUBE_KNOWN;
}

/* Removes an object and tells the follower its last state. */
static inline void drop(struct kvmig__kube *kube, struct kvmig__follow *follow, int32_t kind, const char *name)
{
    struct kvmig__kube_meta *object = kvmig__kube_find(kube, kind, "ns1", name);

    assert_non_null(object);
    kvmig__follow_gone(follow, object);
    assert_true(kvmig__kube_remove(kube, kind, "ns1", name, NULL));
}

/* "2026-11-30T11:00:00Z" plus so many seconds; a ring of buffers, for several in one call. */
static inline const char *at(int seconds)
{
    static char texts[8][48];
    static int next;
    char *text = kvmig__time_text(T0 + seconds * 1000LL), *out = texts[next++ % 8];

    snprintf(out, sizeof(texts[0]), "%s", text);
    free(text);
    return out;
}

/* ---- recordings ---- */

enum step_type { STEP_ADDED, STEP_DELETED };
struct step {
    double t;
    enum step_type type;
    bool initial;
    int32_t kind;
    struct json_object *json;
    const char *ns, *name; /* within json */
};
struct recording {
    struct step *v;
    size_t n;
};

static inline struct json_object *member(struct json_object *json, const char *key)
{
    struct json_object *value = NULL;

    json_object_object_get_ex(json, key, &value);
    return value;
}

static inline void add_line(struct recording *recording, const char *line)
{
    struct json_object *json = json_tokener_parse(line), *object = json ? member(json, "object") : NULL;
    struct json_object *meta;
    const char *type;
    struct step *step;

    assert_non_null(json);
    if (object) {
        step = KVMIG__PUSH(recording);
        type = json_object_get_string(member(json, "type"));
        meta = member(object, "metadata");
        *step = (struct step){ .t = json_object_get_double(member(json, "t")),
                               .type = strcmp(type, "DELETED") ? STEP_ADDED : STEP_DELETED,
                               .initial = !strcmp(type, "INITIAL"),
                               .kind = kvmig__kube_kind_of(NULL, json_object_get_string(member(object, "kind"))),
                               .json = json_object_get(object),
                               .ns = json_object_get_string(member(meta, "namespace")),
                               .name = json_object_get_string(member(meta, "name")) };
    }
    json_object_put(json);
}

static inline void load_recording(struct recording *recording, const char *name)
{
    char *path = kvmig__asprintf(TOP_SRCDIR "/tests/recordings/%s.jsonl", name), *line = NULL;
    FILE *file = fopen(path, "r");
    size_t size = 0;

    if (!file)
        fail_msg("cannot open %s", path);
    *recording = (struct recording){ 0 };
    while (getline(&line, &size, file) > 0)
        add_line(recording, line);
    fclose(file);
    free(line);
    free(path);
}

static inline void free_recording(struct recording *recording)
{
    for (size_t i = 0; i < recording->n; i++)
        json_object_put(recording->v[i].json);
    free(recording->v);
    *recording = (struct recording){ 0 };
}

static inline struct kvmig__kube_meta *step_object(const struct step *step)
{
    struct kvmig__kube_meta *object = kvmig__object_decode(step->json, -1);

    assert_non_null(object);
    return object;
}

/* Into a store alone, without anybody who follows. */
static inline void apply_to_store(struct kvmig__kube *kube, const struct step *step)
{
    if (step->type == STEP_DELETED)
        kvmig__kube_remove(kube, step->kind, step->ns, step->name, NULL);
    else
        kvmig__kube_put(kube, step_object(step));
}

/* Wall time of a moment of the recording: the first VMIM was created when its first event came. */
static inline int64_t wall_of(const struct recording *recording, double t)
{
    for (size_t i = 0; i < recording->n; i++) {
        if (recording->v[i].kind == KVMIG__KUBE_VMIM) {
            struct kvmig__kube_meta *object = step_object(&recording->v[i]);
            int64_t created = object->created_ms;

            kvmig__kube_object_free(object);
            return created + (int64_t)((t - recording->v[i].t) * 1000);
        }
    }
    return T0;
}

#endif
