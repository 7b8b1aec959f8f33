/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A finished diagnosis as JSON. Reads it and decides nothing. Any thread; the text is the caller's. */
#include "diagnose/diagnose.h"

#include "base/json_internal.h"

#include <errno.h>

/* Actions have no severity. */
static struct json_object *actions_to_json(const struct kvmig_findings *actions)
{
    struct json_object *list = kvmig__json_findings(actions);

    for (size_t i = 0; i < json_object_array_length(list); i++)
        json_object_object_del(json_object_array_get_idx(list, i), "severity");
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
    *out_json = kvmig__json_take_string(root);
    return 0;
}
