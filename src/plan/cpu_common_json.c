/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A comparison of CPUs as JSON. Knows json-c, unlike the rest of the planner; reads the comparison and decides nothing. Any
 * thread.
 */
#include "base/json_internal.h"
#include "plan/cpu_common.h"

static struct json_object *kinds_to_json(const struct kvmig__cpu_common *common)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < common->kinds.n; i++) {
        const struct kvmig__cpu_kind *kind = &common->kinds.v[i];
        struct json_object *object = json_object_new_object();

        json_object_object_add(object, "nodes", kvmig__json_strlist(&kind->nodes));
        kvmig__json_add_bool(object, "known", !kind->unknown);
        kvmig__json_add_str(object, "missing", kind->unknown);
        kvmig__json_add_str(object, "vendor", kind->vendor);
        kvmig__json_add_str(object, "host_model", kind->host_model);
        if (!kind->unknown)
            json_object_object_add(object, "models", kvmig__json_strlist(&kind->models));
        if (kind->features_known)
            json_object_object_add(object, "features", kvmig__json_strlist(&kind->features));
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *lost_to_json(const struct kvmig__cpu_common *common, const struct kvmig__cpu_choice *choice)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < common->kinds.n; i++) {
        struct json_object *object;

        if (common->kinds.v[i].unknown)
            continue;
        object = json_object_new_object();
        json_object_object_add(object, "nodes", kvmig__json_strlist(&common->kinds.v[i].nodes));
        json_object_object_add(object, "features", NULL); /* null: not known */
        if (choice->lost[i].known)
            json_object_object_add(object, "features", kvmig__json_strlist(&choice->lost[i].features));
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *choices_to_json(const struct kvmig__cpu_common *common)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < common->choices.n; i++) {
        const struct kvmig__cpu_choice *choice = &common->choices.v[i];
        struct json_object *object = json_object_new_object();

        kvmig__json_add_str(object, "model", choice->model);
        kvmig__json_add_bool(object, "contents_known", choice->contents != NULL);
        json_object_object_add(object, "lost", lost_to_json(common, choice));
        if (choice->contents && common->common_known)
            json_object_object_add(object, "can_add", kvmig__json_strlist(&choice->can_add));
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *moves_to_json(const struct kvmig__cpu_common *common)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < common->moves.n; i++) {
        const struct kvmig__cpu_move *move = &common->moves.v[i];
        struct json_object *object = json_object_new_object();

        json_object_object_add(object, "from", kvmig__json_strlist(&common->kinds.v[move->from].nodes));
        json_object_object_add(object, "to", kvmig__json_strlist(&common->kinds.v[move->to].nodes));
        json_object_object_add(object, "possible", NULL); /* null: not known */
        if (move->known) {
            kvmig__json_add_bool(object, "possible", !move->lacking.n && !move->model_missing && !move->obsolete);
            json_object_object_add(object, "lacking", kvmig__json_strlist(&move->lacking));
        }
        if (move->model_missing)
            kvmig__json_add_str(object, "model_missing", common->kinds.v[move->from].host_model);
        if (move->obsolete)
            kvmig__json_add_str(object, "obsolete_host_model", common->kinds.v[move->to].host_model);
        json_object_array_add(array, object);
    }
    return array;
}

char *kvmig__cpu_common_to_json(const struct kvmig__cpu_common *common)
{
    struct json_object *object = json_object_new_object();
    bool complete = common->kinds.n > 0;

    for (size_t i = 0; i < common->kinds.n; i++)
        complete = complete && !common->kinds.v[i].unknown;
    kvmig__json_add_bool(object, "complete", complete);
    json_object_object_add(object, "kinds", kinds_to_json(common));
    json_object_object_add(object, "models", choices_to_json(common));
    if (common->common_known)
        json_object_object_add(object, "common_features", kvmig__json_strlist(&common->common));
    json_object_object_add(object, "host_model", moves_to_json(common));
    return kvmig__json_take_string(object);
}
