/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The JSON patches of a volume migration: from the VM as the server has it and what is to change, to one patch, and
 * back. Each is guarded by tests of what it was made from, so that it changes nothing that somebody else has changed
 * meanwhile. Pure: no request, lock or clock; JSON objects belong to whoever made them.
 */
#include "kubernetes/driver_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VOLUMES "/spec/template/spec/volumes"
#define TEMPLATES "/spec/dataVolumeTemplates"
#define STRATEGY "/spec/updateVolumesStrategy"

/* ---- JSON ---- */

static struct json_object *text(const char *s)
{
    return json_object_new_string(s);
}

static struct json_object *copy(struct json_object *object)
{
    struct json_object *out = NULL;

    json_object_deep_copy(object, &out, NULL);
    return out;
}

static char *json_line(struct json_object *object)
{
    return kvmig__strdup(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
}

/* The patch is about this VM, and not one of the same name that came after it. */
static struct json_object *new_patch(struct json_object *vm)
{
    struct json_object *patch = json_object_new_array();
    const char *uid = kvmig__json_text(kvmig__json_at(vm, "metadata"), "uid");

    if (uid)
        kvmig__patch_add(patch, "test", kvmig__strdup("/metadata/uid"), text(uid));
    return patch;
}

/* ---- finding ---- */

struct claim_kind {
    const char *key, *field;
};
static const struct claim_kind claim_kinds[] = { { "persistentVolumeClaim", "claimName" }, { "dataVolume", "name" } };

static const struct claim_kind *kind_of(struct json_object *volume)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(claim_kinds); i++)
        if (kvmig__json_at(volume, claim_kinds[i].key))
            return &claim_kinds[i];
    return NULL;
}

static const char *claim_of(struct json_object *volume)
{
    const struct claim_kind *kind = kind_of(volume);

    return kind ? kvmig__json_text(kvmig__json_at(volume, kind->key), kind->field) : NULL;
}

static size_t length_of(struct json_object *array)
{
    return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

/* Index of the volume of that name; the length if there is none. */
static size_t volume_index(struct json_object *volumes, const char *name)
{
    size_t i = 0;

    while (i < length_of(volumes) &&
           !kvmig__str_eq(kvmig__json_text(json_object_array_get_idx(volumes, i), "name"), name))
        i++;
    return i;
}

static size_t template_index(struct json_object *templates, const char *name)
{
    size_t i = 0;

    while (i < length_of(templates) &&
           !kvmig__str_eq(kvmig__json_text(kvmig__json_at(json_object_array_get_idx(templates, i), "metadata"), "name"),
                          name))
        i++;
    return i;
}

static struct json_object *volumes_of(struct json_object *vm)
{
    return kvmig__json_at(vm, "spec.template.spec.volumes");
}

static struct json_object *templates_of(struct json_object *vm)
{
    return kvmig__json_at(vm, "spec.dataVolumeTemplates");
}

bool kvmig__volumes_are_at(struct json_object *vm, const struct kvmig__kube_volumes_journal *journal, bool destination)
{
    struct json_object *volumes = volumes_of(vm);

    for (size_t i = 0; i < journal->moves.n; i++) {
        const struct kvmig__kube_move *move = &journal->moves.v[i];
        const size_t index = volume_index(volumes, move->volume);

        if (index == length_of(volumes) ||
            !kvmig__str_eq(claim_of(json_object_array_get_idx(volumes, index)), destination ? move->to : move->from))
            return false;
    }
    return true;
}

/* ---- forth ---- */

static void test_volume(struct json_object *patch, size_t index, const char *name, const struct claim_kind *kind,
                        const char *claim)
{
    kvmig__patch_add(patch, "test", kvmig__asprintf(VOLUMES "/%zu/name", index), text(name));
    kvmig__patch_add(patch, "test", kvmig__asprintf(VOLUMES "/%zu/%s/%s", index, kind->key, kind->field), text(claim));
}

/* The volume with a source of the other kind; what else the source says (hotpluggable) stays. */
static struct json_object *changed_kind(struct json_object *volume, const struct claim_kind *from,
                                        const struct claim_kind *to, const char *claim)
{
    struct json_object *out = copy(volume), *source = copy(kvmig__json_at(volume, from->key));

    json_object_object_del(source, from->field);
    json_object_object_add(source, to->field, text(claim));
    json_object_object_del(out, from->key);
    json_object_object_add(out, to->key, source);
    return out;
}

static struct kvmig_error *not_movable(const struct kvmig__volume_change *change, const char *why)
{
    char *where = kvmig__asprintf("volume/%s", change->volume);
    struct kvmig_error *error = kvmig__error_new(
        KVMIG_EBLOCKED, where, NULL, "Name volumes of the VM that are PersistentVolumeClaims or DataVolumes.",
        "volume %s cannot be moved to claim %s: %s", change->volume, change->claim, why);

    free(where);
    return error;
}

/* One volume. Returns the kind that it has afterwards; NULL with *out_error set. */
static const struct claim_kind *move_volume(struct json_object *patch, struct json_object *vm,
                                            const struct kvmig__volume_change *change, int32_t dv,
                                            struct kvmig__kube_volumes_journal *journal, struct kvmig_error **out_error)
{
    struct json_object *volumes = volumes_of(vm), *volume;
    const size_t index = volume_index(volumes, change->volume);
    const struct claim_kind *kind, *after;
    struct kvmig__kube_move *move;
    const char *claim;

    volume = index < length_of(volumes) ? json_object_array_get_idx(volumes, index) : NULL;
    kind = volume ? kind_of(volume) : NULL;
    claim = volume ? claim_of(volume) : NULL;
    if (!claim || kvmig__str_eq(claim, change->claim)) {
        *out_error = not_movable(change, !volume  ? "the VM has no such volume"
                                         : !claim ? "it is neither a PersistentVolumeClaim nor a DataVolume"
                                                  : "it is there already");
        return NULL;
    }
    after = dv < 0 ? kind : &claim_kinds[dv > 0];
    test_volume(patch, index, change->volume, kind, claim);
    if (after == kind)
        kvmig__patch_add(patch, "replace", kvmig__asprintf(VOLUMES "/%zu/%s/%s", index, kind->key, kind->field),
                         text(change->claim));
    else
        kvmig__patch_add(patch, "replace", kvmig__asprintf(VOLUMES "/%zu", index),
                         changed_kind(volume, kind, after, change->claim));
    move = KVMIG__PUSH(&journal->moves);
    *move = (struct kvmig__kube_move){ .volume = kvmig__strdup(change->volume),
                                       .from = kvmig__strdup(claim),
                                       .to = kvmig__strdup(change->claim),
                                       .before = json_line(volume) };
    return after;
}

static void test_template(struct json_object *patch, size_t index, const char *name)
{
    kvmig__patch_add(patch, "test", kvmig__asprintf(TEMPLATES "/%zu/metadata/name", index), text(name));
}

/* A template whose DataVolume no volume names is refused by KubeVirt: it is renamed, or, for a plain claim,
 * removed. Removals come last and from the end, because each shifts what is behind it. */
static void move_templates(struct json_object *patch, struct json_object *vm, const bool *becomes_dv,
                           struct kvmig__kube_volumes_journal *journal)
{
    struct json_object *templates = templates_of(vm);
    bool *remove = kvmig__calloc(length_of(templates) + 1, sizeof(*remove));

    for (size_t i = 0; i < journal->moves.n; i++) {
        struct kvmig__kube_move *move = &journal->moves.v[i];
        const size_t index = template_index(templates, move->from);

        if (index == length_of(templates))
            continue;
        move->template_before = json_line(json_object_array_get_idx(templates, index));
        remove[index] = !becomes_dv[i];
        if (remove[index])
            continue;
        test_template(patch, index, move->from);
        kvmig__patch_add(patch, "replace", kvmig__asprintf(TEMPLATES "/%zu/metadata/name", index), text(move->to));
    }
    for (size_t index = length_of(templates); index-- > 0;) {
        if (!remove[index])
            continue;
        test_template(
            patch, index,
            kvmig__json_text(kvmig__json_at(json_object_array_get_idx(templates, index), "metadata"), "name"));
        kvmig__patch_add(patch, "remove", kvmig__asprintf(TEMPLATES "/%zu", index), NULL);
    }
    free(remove);
}

struct json_object *kvmig__volumes_patch(struct json_object *vm, const struct kvmig__volume_change *changes, size_t n,
                                         const int32_t *dv, struct kvmig__kube_volumes_journal *journal,
                                         struct kvmig_error **out_error)
{
    struct json_object *patch = new_patch(vm);
    bool *becomes_dv = kvmig__calloc(n + 1, sizeof(*becomes_dv));

    *out_error = NULL;
    kvmig__str_set(&journal->strategy_before, kvmig__json_text(kvmig__json_at(vm, "spec"), "updateVolumesStrategy"));
    for (size_t i = 0; i < n && !*out_error; i++) {
        const struct claim_kind *after = move_volume(patch, vm, &changes[i], dv[i], journal, out_error);

        becomes_dv[i] = after == &claim_kinds[1];
    }
    if (!*out_error) {
        move_templates(patch, vm, becomes_dv, journal);
        kvmig__patch_add(patch, "add", kvmig__strdup(STRATEGY), text("Migration"));
    } else {
        json_object_put(patch);
        patch = NULL;
    }
    free(becomes_dv);
    return patch;
}

/* ---- and back ---- */

static struct kvmig_error *changed_meanwhile(const struct kvmig__kube_move *move, const char *claim)
{
    char *where = kvmig__asprintf("volume/%s", move->volume);
    struct kvmig_error *error = kvmig__error_new(
        ESTALE, where, NULL, "Compare with the report's journal, and set the claim by hand.",
        "volume %s names %s now, which is neither the source %s nor the destination %s: it is not put back",
        move->volume, claim ? claim : "no claim", move->from, move->to);

    free(where);
    return error;
}

static struct kvmig_error *put_back(struct json_object *patch, struct json_object *volumes,
                                    const struct kvmig__kube_move *move)
{
    const size_t index = volume_index(volumes, move->volume);
    struct json_object *volume = index < length_of(volumes) ? json_object_array_get_idx(volumes, index) : NULL;
    const char *claim = volume ? claim_of(volume) : NULL;

    if (kvmig__str_eq(claim, move->from))
        return NULL;
    if (!claim || !kvmig__str_eq(claim, move->to))
        return changed_meanwhile(move, claim);
    test_volume(patch, index, move->volume, kind_of(volume), claim);
    kvmig__patch_add(patch, "replace", kvmig__asprintf(VOLUMES "/%zu", index), json_tokener_parse(move->before));
    return NULL;
}

static void put_template_back(struct json_object *patch, struct json_object *templates,
                              const struct kvmig__kube_move *move, bool *made)
{
    const size_t index = template_index(templates, move->to);

    if (!move->template_before || template_index(templates, move->from) < length_of(templates))
        return;
    if (index < length_of(templates)) {
        test_template(patch, index, move->to);
        kvmig__patch_add(patch, "replace", kvmig__asprintf(TEMPLATES "/%zu/metadata/name", index), text(move->from));
        return;
    }
    if (!json_object_is_type(templates, json_type_array) && !*made) {
        kvmig__patch_add(patch, "add", kvmig__strdup(TEMPLATES), json_object_new_array());
        *made = true;
    }
    kvmig__patch_add(patch, "add", kvmig__strdup(TEMPLATES "/-"), json_tokener_parse(move->template_before));
}

struct json_object *kvmig__volumes_reverse_patch(struct json_object *vm,
                                                 const struct kvmig__kube_volumes_journal *journal,
                                                 struct kvmig_error **out_error)
{
    struct json_object *patch = new_patch(vm);
    const size_t guards = length_of(patch);
    bool made = false;

    *out_error = NULL;
    for (size_t i = 0; i < journal->moves.n && !*out_error; i++) {
        *out_error = put_back(patch, volumes_of(vm), &journal->moves.v[i]);
        if (!*out_error)
            put_template_back(patch, templates_of(vm), &journal->moves.v[i], &made);
    }
    if (*out_error || length_of(patch) == guards) {
        json_object_put(patch);
        return NULL;
    }
    return patch;
}

struct json_object *kvmig__volumes_strategy_patch(struct json_object *vm, const char *strategy)
{
    const char *now = kvmig__json_text(kvmig__json_at(vm, "spec"), "updateVolumesStrategy");
    struct json_object *patch;

    if (kvmig__str_eq(now, strategy))
        return NULL;
    patch = new_patch(vm);
    if (now)
        kvmig__patch_add(patch, "test", kvmig__strdup(STRATEGY), text(now));
    if (strategy)
        kvmig__patch_add(patch, "add", kvmig__strdup(STRATEGY), text(strategy));
    else
        kvmig__patch_add(patch, "remove", kvmig__strdup(STRATEGY), NULL);
    return patch;
}
