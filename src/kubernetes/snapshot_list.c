/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fast way for large snapshots: a text that is one JSON list of objects is read object by object onto one tape, without a tree. Takes all
 * of it or nothing: at the first thing that is not as it should be it gives up, and the text goes the other way (snapshot.c), which says
 * what is wrong. So it never reports anything. No lock; any thread.
 */
#include "kubernetes/snapshot_internal.h"

#include "kubernetes/objects_io.h"

#include <stdlib.h>
#include <string.h>

#define LIST "List"

struct list {
    char *text; /* a copy, which is changed while it is read */
    size_t length, items,
        end; /* items: where their array begins, 0 = not found; end: where it ends, 0 = not looked for */
    struct kvmig__tape tape;
    char *kind, *api_version;
    int32_t of; /* kind of the objects; -1 = each says its own */
    struct {
        struct read_object {
            struct kvmig__kube_meta *object;
            int64_t newest_ms;
        } * v;
        size_t n, room;
    } objects;
};

/* ---- the list itself ---- */

static bool is_at(const struct list *list, size_t at, char c)
{
    return at < list->length && list->text[at] == c;
}

/* What kvmig__snapshot_save() writes about the whole is for the other way. */
static bool has_notes(const struct kvmig__value *value)
{
    const struct kvmig__value *notes = kvmig__value_get(value, "annotations");

    return kvmig__value_get(notes, "kvmig/known-kinds") || kvmig__value_get(notes, "kvmig/saved-at");
}

/* false: it is there already, or is none of ours to judge. */
static bool take_member(struct list *list, const char *name, const struct kvmig__value *value)
{
    char **slot = !strcmp(name, "kind") ? &list->kind : !strcmp(name, "apiVersion") ? &list->api_version : NULL;

    if (!slot)
        return strcmp(name, "metadata") != 0 || !has_notes(value);
    if (*slot || !kvmig__value_is(value, KVMIG__TAPE_STRING))
        return false;
    *slot = kvmig__strdup(value->text);
    return true;
}

static bool scan_value(struct list *list, const char *name, size_t *at)
{
    if (strcmp(name, "items") != 0)
        return kvmig__tape_read(&list->tape, list->text, list->length, at) && take_member(list, name, list->tape.v);
    if (list->items || !is_at(list, *at, '['))
        return false;
    list->items = *at;
    if (list->kind && list->api_version) { /* what comes behind them can wait */
        *at = list->length;
        return true;
    }
    list->end = *at = kvmig__tape_find_end(list->text, list->length, *at);
    return list->end;
}

/* One member of the list, behind its opening brace or a comma. The items are only skipped. */
static bool scan_member(struct list *list, size_t *at)
{
    char *name;
    bool good;

    *at = kvmig__tape_skip_space(list->text, *at);
    if (!is_at(list, *at, '"') || !kvmig__tape_read(&list->tape, list->text, list->length, at))
        return false;
    name = kvmig__strdup(list->tape.v->text);
    *at = kvmig__tape_skip_space(list->text, *at);
    good = is_at(list, *at, ':');
    if (good) {
        *at = kvmig__tape_skip_space(list->text, *at + 1);
        good = scan_value(list, name, at);
    }
    free(name);
    return good;
}

/* From at, behind a member: further ones, and the end of the text. */
static bool scan_on(struct list *list, size_t at)
{
    for (;;) {
        at = kvmig__tape_skip_space(list->text, at);
        if (at >= list->length)
            return true; /* the items are still to be read */
        if (is_at(list, at, '}'))
            return kvmig__tape_skip_space(list->text, at + 1) == list->length;
        if (!is_at(list, at, ','))
            return false;
        at++;
        if (!scan_member(list, &at))
            return false;
    }
}

static bool scan(struct list *list)
{
    size_t at = kvmig__tape_skip_space(list->text, 0);

    if (!is_at(list, at, '{'))
        return false;
    at++;
    return scan_member(list, &at) && scan_on(list, at) && list->items && list->kind &&
           kvmig__str_ends(list->kind, LIST);
}

/* ---- its objects ---- */

static const char *text_of(const struct kvmig__value *object, const char *key)
{
    const struct kvmig__value *value = kvmig__value_get(object, key);

    return kvmig__value_is(value, KVMIG__TAPE_STRING) ? value->text : NULL;
}

static void keep(struct list *list, struct kvmig__kube_meta *object, int64_t newest_ms)
{
    if (list->objects.n == list->objects.room) {
        list->objects.room = list->objects.room ? list->objects.room * 2 : 256;
        list->objects.v = kvmig__realloc_array(list->objects.v, list->objects.room, sizeof(*list->objects.v));
    }
    list->objects.v[list->objects.n++] = (struct read_object){ object, newest_ms };
}

static bool take_item(struct list *list)
{
    const struct kvmig__value *value = list->tape.v;
    const char *own = text_of(value, "kind");
    struct kvmig__kube_meta *object;
    int32_t kind = list->of;
    int64_t newest_ms;

    if (!kvmig__value_is(value, KVMIG__TAPE_OBJECT) || (own && kvmig__str_ends(own, LIST)) || (!own && kind < 0))
        return false;
    if (own)
        kind = kvmig__object_kind(text_of(value, "apiVersion"), own);
    if (kind < 0)
        return true; /* none of ours */
    object = kvmig__object_read_value(value, kind, &newest_ms);
    if (object)
        keep(list, object, newest_ms);
    return object;
}

static bool read_items(struct list *list, size_t *at)
{
    *at = kvmig__tape_skip_space(list->text, list->items + 1);
    if (is_at(list, *at, ']')) {
        (*at)++;
        return true;
    }
    for (;;) {
        if (!kvmig__tape_read(&list->tape, list->text, list->length, at) || !take_item(list))
            return false;
        *at = kvmig__tape_skip_space(list->text, *at);
        if (is_at(list, *at, ']')) {
            (*at)++;
            return true;
        }
        if (!is_at(list, *at, ','))
            return false;
        (*at)++;
    }
}

/* ---- all of it ---- */

static void list_clear(struct list *list, bool taken)
{
    for (size_t i = 0; !taken && i < list->objects.n; i++)
        kvmig__kube_object_free(list->objects.v[i].object);
    free(list->objects.v);
    kvmig__tape_clear(&list->tape);
    free(list->kind);
    free(list->api_version);
    free(list->text);
}

static bool read_list(struct list *list)
{
    size_t at;

    if (!scan(list))
        return false;
    list->of = strcmp(list->kind, LIST) != 0 ? kvmig__snapshot_kind_of_list(list->api_version, list->kind) : -1;
    if (list->of < 0 && strcmp(list->kind, LIST) != 0)
        return false;
    if (!read_items(list, &at))
        return false;
    if (list->end)
        return at == list->end; /* the rest was read before */
    return kvmig__tape_skip_space(list->text, at) < list->length && scan_on(list, at);
}

bool kvmig__snapshot_list(struct kvmig__snapshot_load *load, const char *text, size_t length)
{
    struct list list = { .length = length };
    bool good;

    if (!length || memchr(text, 0, length))
        return false;
    list.text = kvmig__strndup(text, length);
    good = read_list(&list);
    if (good && list.of >= 0)
        load->kube->kinds[list.of].known = KVMIG__KUBE_KNOWN;
    for (size_t i = 0; good && i < list.objects.n; i++)
        kvmig__snapshot_put(load, list.objects.v[i].object, list.objects.v[i].newest_ms);
    list_clear(&list, good);
    return good;
}
