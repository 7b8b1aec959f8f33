/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kubernetes objects from JSON and back: finds out the kind and visits its description (objects_io.h) in the
 * direction asked for. Any thread; what is returned belongs to the caller.
 */
#include "kubernetes/objects_io.h"

static void visit_body(struct kvmig__io *io, struct kvmig__kube_meta *object)
{
    switch (object->kind) {
    case KVMIG__KUBE_NODE:
        kvmig__visit_node(io, (struct kvmig__kube_node *)object);
        break;
    case KVMIG__KUBE_POD:
        kvmig__visit_pod(io, (struct kvmig__kube_pod *)object);
        break;
    case KVMIG__KUBE_PVC:
        kvmig__visit_pvc(io, (struct kvmig__kube_pvc *)object);
        break;
    case KVMIG__KUBE_PV:
        kvmig__visit_pv(io, (struct kvmig__kube_pv *)object);
        break;
    case KVMIG__KUBE_STORAGE_CLASS:
        kvmig__visit_storage_class(io, (struct kvmig__kube_storage_class *)object);
        break;
    case KVMIG__KUBE_QUOTA:
        kvmig__visit_quota(io, (struct kvmig__kube_quota *)object);
        break;
    case KVMIG__KUBE_EVENT:
        kvmig__visit_event(io, (struct kvmig__kube_event *)object);
        break;
    case KVMIG__KUBE_SLICE:
        kvmig__visit_slice(io, (struct kvmig__kube_slice *)object);
        break;
    case KVMIG__KUBE_VMI:
        kvmig__visit_vmi(io, (struct kvmig__kube_vmi *)object);
        break;
    case KVMIG__KUBE_VM:
        kvmig__visit_vm(io, (struct kvmig__kube_vm *)object);
        break;
    case KVMIG__KUBE_VMIM:
        kvmig__visit_vmim(io, (struct kvmig__kube_vmim *)object);
        break;
    case KVMIG__KUBE_KUBEVIRT:
        kvmig__visit_kubevirt(io, (struct kvmig__kube_kubevirt *)object);
        break;
    case KVMIG__KUBE_POLICY:
        kvmig__visit_policy(io, (struct kvmig__kube_policy *)object);
        break;
    case KVMIG__KUBE_STORAGE_PROFILE:
        kvmig__visit_storage_profile(io, (struct kvmig__kube_storage_profile *)object);
        break;
    case KVMIG__KUBE_DATA_VOLUME:
        kvmig__visit_data_volume(io, (struct kvmig__kube_data_volume *)object);
        break;
    default: /* a Namespace or NetworkAttachmentDefinition has nothing but its metadata */
        break;
    }
}

int32_t kvmig__object_kind(const char *api_version, const char *kind)
{
    /* Events are served by two groups and are the same objects. */
    if (kvmig__str_eq(kind, "Event") && kvmig__str_starts(api_version, "events.k8s.io/"))
        return KVMIG__KUBE_EVENT;
    return kvmig__kube_kind_of(api_version, kind);
}

static const char *text_of(const struct kvmig__value *object, const char *key)
{
    const struct kvmig__value *value = kvmig__value_get(object, key);

    return kvmig__value_is(value, KVMIG__TAPE_STRING) ? value->text : NULL;
}

struct kvmig__kube_meta *kvmig__object_read_value(const struct kvmig__value *value, int32_t kind,
                                                  int64_t *out_newest_ms)
{
    struct kvmig__io io = { .level = { { .value = value } } };
    struct kvmig__kube_meta *object;

    *out_newest_ms = 0;
    if (!kvmig__value_is(value, KVMIG__TAPE_OBJECT))
        return NULL;
    if (kind < 0)
        kind = kvmig__object_kind(text_of(value, "apiVersion"), text_of(value, "kind"));
    object = kvmig__kube_object_new(kind);
    if (!object)
        return NULL;
    kvmig__visit_meta(&io, object);
    if (!object->name) {
        kvmig__kube_object_free(object);
        return NULL;
    }
    visit_body(&io, object);
    *out_newest_ms = io.newest_ms;
    return object;
}

struct kvmig__kube_meta *kvmig__object_read(struct json_object *json, int32_t kind, int64_t *out_newest_ms)
{
    struct kvmig__tape tape = { 0 };
    struct kvmig__kube_meta *object;

    kvmig__tape_take(&tape, json);
    object = kvmig__object_read_value(tape.v, kind, out_newest_ms);
    kvmig__tape_clear(&tape);
    return object;
}

struct kvmig__kube_meta *kvmig__object_decode(struct json_object *json, int32_t kind)
{
    int64_t newest_ms;

    return kvmig__object_read(json, kind, &newest_ms);
}

struct json_object *kvmig__object_encode(const struct kvmig__kube_meta *object)
{
    const struct kvmig__kube_kind_info *info = kvmig__kube_kind_info(object->kind);
    struct json_object *json = json_object_new_object();
    struct kvmig__io io = { .encode = true, .level = { { .json = json } } };

    kvmig__json_add_str(json, "apiVersion", info->api_version);
    kvmig__json_add_str(json, "kind", info->kind);
    /* A cursor that encodes changes nothing of the object. */
    kvmig__visit_meta(&io, (struct kvmig__kube_meta *)object);
    visit_body(&io, (struct kvmig__kube_meta *)object);
    return json;
}
