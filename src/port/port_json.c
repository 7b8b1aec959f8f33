/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A port as JSON, for its caller and for the report of a session. The backend adds what it knows. With the context lock
 * held; the objects belong to whoever asked.
 */
#include "port/port_handle.h"

#include "base/json_internal.h"

#include <errno.h>

/* Details are JSON text of our own making; what does not parse is shown as it is. */
static struct json_object *detail_object(const char *detail)
{
    enum json_tokener_error error = json_tokener_success;
    struct json_object *object = json_tokener_parse_verbose(detail, &error);

    return error == json_tokener_success ? object : json_object_new_string(detail);
}

static struct json_object *timeline_array(const struct kvmig_port *port, int64_t base_ms)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < port->timeline.n; i++) {
        const struct kvmig__port_line *line = &port->timeline.v[i];
        struct json_object *entry = json_object_new_object();

        kvmig__json_add_i64(entry, "at_ms", line->at_ms - base_ms);
        kvmig__json_add_str(entry, "what", line->what);
        if (line->detail)
            json_object_object_add(entry, "detail", detail_object(line->detail));
        json_object_array_add(array, entry);
    }
    return array;
}

struct json_object *kvmig__port_json(struct kvmig_port *port, int64_t base_ms)
{
    struct json_object *root = json_object_new_object();
    const struct kvmig__port_backend_ops *ops = port->backend->ops;

    kvmig__json_add_str(root, "name", port->name);
    kvmig__json_add_str(root, "kind", ops->kind);
    kvmig__json_add_str(root, "owner", port->owner);
    kvmig__json_add_str(root, "state", kvmig_port_state_name(port->state));
    kvmig__json_add_str(root, "source", port->source);
    kvmig__json_add_str(root, "target", port->target);
    kvmig__json_add_str(root, "winner", port->winner);
    json_object_object_add(root, "findings", kvmig__json_findings(NULL)); /* backends may have better ones */
    if (ops->add_json)
        ops->add_json(port->backend, root);
    json_object_object_add(root, "timeline", timeline_array(port, base_ms));
    json_object_object_add(root, "error", kvmig__json_error(port->error));
    return root;
}

int32_t kvmig_port_to_json(struct kvmig_port *port, char **out_json)
{
    struct json_object *root;

    if (out_json)
        *out_json = NULL;
    if (!port || !out_json)
        return kvmig__fail(
            kvmig__error_new(EINVAL, "kvmig_port_to_json", NULL, NULL, "%s is NULL", port ? "out_json" : "port"));
    kvmig__context_lock(port->context);
    root = kvmig__port_json(port, port->opened_ms);
    kvmig__context_unlock(port->context);
    *out_json = kvmig__json_take_string(root);
    return 0;
}
