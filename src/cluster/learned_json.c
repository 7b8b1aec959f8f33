/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What was learned of links and VMs, to JSON and back. The text may come from anywhere: numbers out of range, texts without end and
 * members of another type are refused, members that are not known are ignored. Does not: read or write files. Any thread; the caller
 * guards the struct.
 */
#include "cluster/learned_json.h"

#include "base/json_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FORM 1
#define MOST_TEXT (16 * 1024 * 1024)
#define MOST_NAME 512
#define MOST_NUMBER 1e18

/* ---- out ---- */

static void add_number(struct json_object *object, const char *key, double value, double factor)
{
    if (value >= 0 && value * factor <= MOST_NUMBER) /* what could not be read again is not written */
        kvmig__json_add_u64(object, key, (uint64_t)(value * factor + 0.5));
}

static struct json_object *link_to_json(const struct kvmig__learned_link *link)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "source", link->source);
    kvmig__json_add_str(object, "target", link->target);
    add_number(object, "bytes_per_s", link->line, 1);
    add_number(object, "disk_bytes_per_s", link->disk_rate, 1);
    add_number(object, "setup_us", link->setup_s, 1e6);
    add_number(object, "switch_us", link->switch_s, 1e6);
    return object;
}

static struct json_object *vm_to_json(const struct kvmig__learned_vm *vm)
{
    struct json_object *object = json_object_new_object(), *dirty = json_object_new_array();

    kvmig__json_add_str(object, "uuid", vm->uuid);
    add_number(object, "memory_bytes", vm->memory, 1);
    add_number(object, "used_bytes", vm->used, 1);
    add_number(object, "resident_bytes", vm->resident, 1);
    add_number(object, "outside_bytes", vm->outside > 0 ? vm->outside : -1, 1);
    add_number(object, "busy_permille", vm->busy, 1000);
    kvmig__json_add_bool(object, "measured", vm->measured);
    for (size_t i = 0; i < vm->n_points; i++) {
        struct json_object *point = json_object_new_object();

        add_number(point, "window_us", vm->points[i].seconds, 1e6);
        add_number(point, "bytes", vm->points[i].bytes, 1);
        json_object_array_add(dirty, point);
    }
    json_object_object_add(object, "dirty", dirty);
    return object;
}

char *kvmig__learned_to_json(const struct kvmig__learned *learned)
{
    struct json_object *root = json_object_new_object(), *links = json_object_new_array(),
                       *vms = json_object_new_array();

    kvmig__json_add_i64(root, "kvmig_learned", FORM);
    for (size_t i = 0; i < learned->links.n; i++)
        json_object_array_add(links, link_to_json(&learned->links.v[i]));
    for (size_t i = 0; i < learned->vms.n; i++)
        json_object_array_add(vms, vm_to_json(&learned->vms.v[i]));
    json_object_object_add(root, "links", links);
    json_object_object_add(root, "vms", vms);
    return kvmig__json_take_string(root);
}

/* ---- in ---- */

struct reader {
    struct kvmig__learned *into;
    bool check; /* only look whether all is well */
    const char *wrong; /* which member is not; NULL = none */
};

static struct json_object *member(struct json_object *object, const char *key, enum json_type type, struct reader *r)
{
    struct json_object *value = NULL;

    if (!json_object_object_get_ex(object, key, &value) || !value)
        return NULL;
    if (json_object_is_type(value, type))
        return value;
    r->wrong = key;
    return NULL;
}

/* Borrowed; NULL, and wrong, if it is not there or is no name. */
static const char *name_at(struct json_object *object, const char *key, struct reader *r)
{
    struct json_object *value = member(object, key, json_type_string, r);
    const char *text = value ? json_object_get_string(value) : NULL;

    if (!text || !*text || strlen(text) > MOST_NAME || strlen(text) != (size_t)json_object_get_string_len(value)) {
        r->wrong = key;
        return NULL;
    }
    return text;
}

/* fallback if it is not there. */
static double number_at(struct json_object *object, const char *key, double factor, double fallback, struct reader *r)
{
    struct json_object *value = member(object, key, json_type_int, r);
    double number;

    if (!value)
        return fallback;
    number = (double)json_object_get_int64(value);
    if (number < 0 || number > MOST_NUMBER) {
        r->wrong = key;
        return fallback;
    }
    return number / factor;
}

static void read_link(struct json_object *object, struct reader *r)
{
    const char *source = name_at(object, "source", r), *target = name_at(object, "target", r);
    struct kvmig__learned_link link = { .line = number_at(object, "bytes_per_s", 1, -1, r),
                                        .disk_rate = number_at(object, "disk_bytes_per_s", 1, -1, r),
                                        .setup_s = number_at(object, "setup_us", 1e6, -1, r),
                                        .switch_s = number_at(object, "switch_us", 1e6, -1, r) };
    struct kvmig__learned_link *kept;

    if (r->check || !source || !target)
        return;
    kept = kvmig__learned_link(r->into, source, target);
    kept->line = link.line;
    kept->disk_rate = link.disk_rate;
    kept->setup_s = link.setup_s;
    kept->switch_s = link.switch_s;
}

static void read_points(struct json_object *array, struct kvmig__learned_vm *vm, struct reader *r)
{
    const size_t n = array ? json_object_array_length(array) : 0;

    if (n > KVMIG__CURVE_POINTS)
        r->wrong = "dirty";
    for (size_t i = 0; i < n && !r->wrong; i++) {
        struct json_object *point = json_object_array_get_idx(array, i);

        if (!json_object_is_type(point, json_type_object)) {
            r->wrong = "dirty";
            return;
        }
        vm->points[vm->n_points++] =
            (struct kvmig__dirty_point){ number_at(point, "window_us", 1e6, 0, r), number_at(point, "bytes", 1, 0, r) };
    }
}

static void read_vm(struct json_object *object, struct reader *r)
{
    const char *uuid = name_at(object, "uuid", r);
    struct json_object *measured = member(object, "measured", json_type_boolean, r);
    struct kvmig__learned_vm vm = { .memory = number_at(object, "memory_bytes", 1, -1, r),
                                    .used = number_at(object, "used_bytes", 1, -1, r),
                                    .resident = number_at(object, "resident_bytes", 1, -1, r),
                                    .outside = number_at(object, "outside_bytes", 1, 0, r),
                                    .busy = number_at(object, "busy_permille", 1000, -1, r) };
    struct kvmig__learned_vm *kept;

    read_points(member(object, "dirty", json_type_array, r), &vm, r);
    if (vm.busy > 1)
        r->wrong = "busy_permille";
    if (r->check || !uuid)
        return;
    kept = kvmig__learned_vm(r->into, uuid);
    vm.uuid = kept->uuid;
    vm.stamp = kept->stamp;
    vm.measured = measured && json_object_get_boolean(measured);
    *kept = vm;
}

static void read_list(struct json_object *root, const char *key, void (*read)(struct json_object *, struct reader *),
                      struct reader *r)
{
    struct json_object *array = member(root, key, json_type_array, r);
    const size_t n = array ? json_object_array_length(array) : 0;

    if (n > KVMIG__LEARNED_MOST)
        r->wrong = key;
    for (size_t i = 0; i < n && !r->wrong; i++) {
        struct json_object *entry = json_object_array_get_idx(array, i);

        if (json_object_is_type(entry, json_type_object))
            read(entry, r);
        else
            r->wrong = key;
    }
}

static int32_t refuse(const char *where, const char *what, const char *member)
{
    return kvmig__fail(kvmig__error_new(EINVAL, where, member, "Give what kvmig_cluster_export_learned() gave.",
                                        "The text is not what a view has learned: %s.", what));
}

int32_t kvmig__learned_from_json(struct kvmig__learned *learned, const char *json, const char *where)
{
    const size_t length = strlen(json);
    struct json_object *root = length < MOST_TEXT ? kvmig__json_parse(json, length) : NULL;
    struct reader r = { .into = learned, .check = true };
    int32_t rc = 0;

    if (!json_object_is_type(root, json_type_object)) {
        json_object_put(root);
        return refuse(where, "it is no JSON object", NULL);
    }
    if (number_at(root, "kvmig_learned", 1, 0, &r) != FORM)
        rc = refuse(where, "its version is not 1", "kvmig_learned");
    for (int i = 0; i < 2 && rc == 0; i++) { /* looks first, so that nothing is taken of a text that is wrong */
        read_list(root, "links", read_link, &r);
        read_list(root, "vms", read_vm, &r);
        if (r.wrong)
            rc = refuse(where, "a member has no such value", r.wrong);
        r.check = false;
    }
    json_object_put(root);
    return rc;
}
