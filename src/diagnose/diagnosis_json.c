/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A finished diagnosis as JSON. Reads it and decides nothing. Any thread; the text is the caller's. */
#include "diagnose/diagnose.h"

#include "base/json_internal.h"
#include "kubernetes/objects.h"

#include <errno.h>
#include <stdlib.h>

/* Actions have no severity. */
static struct json_object *actions_to_json(const struct kvmig_findings *actions)
{
    struct json_object *list = kvmig__json_findings(actions);

    for (size_t i = 0; i < json_object_array_length(list); i++)
        json_object_object_del(json_object_array_get_idx(list, i), "severity");
    return list;
}

static struct json_object *moments_to_json(const struct kvmig__moments *moments)
{
    struct json_object *list = json_object_new_array();

    for (size_t i = 0; i < moments->n; i++) {
        const struct kvmig__moment *moment = &moments->v[i];
        struct json_object *object = json_object_new_object();
        char *at = moment->at_ms ? kvmig__time_text(moment->at_ms) : NULL;

        kvmig__json_add_str(object, "at", at);
        if (!at)
            json_object_object_add(object, "offset_s", json_object_new_double(moment->offset_s));
        kvmig__json_add_str(object, "what", moment->what);
        kvmig__json_add_str(object, "source", moment->source);
        json_object_array_add(list, object);
        free(at);
    }
    return list;
}

int32_t kvmig_diagnosis_to_json(const struct kvmig_diagnosis *diagnosis, char **out_json)
{
    struct json_object *root;

    if (out_json)
        *out_json = NULL;
    if (!diagnosis || !out_json)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_diagnosis_to_json", NULL, NULL, "%s is NULL",
                                            diagnosis ? "out_json" : "diagnosis"));
    root = json_object_new_object();
    kvmig__json_add_str(root, "verdict", diagnosis->verdict);
    kvmig__json_add_str(root, "summary", diagnosis->summary);
    kvmig__json_add_str(root, "vm", diagnosis->vm);
    json_object_object_add(root, "target", diagnosis->target ? json_object_new_string(diagnosis->target) : NULL);
    json_object_object_add(root, "findings", kvmig__json_findings(&diagnosis->findings));
    json_object_object_add(root, "actions", actions_to_json(&diagnosis->actions));
    kvmig__json_add_str(root, "avoid", diagnosis->avoid);
    json_object_object_add(root, "timeline", moments_to_json(&diagnosis->moments));
    *out_json = kvmig__json_take_string(root);
    return 0;
}
