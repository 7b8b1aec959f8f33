/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Descriptions of what many Kubernetes objects have in common: metadata, conditions, resources, volumes. Any thread;
 * see objects_io.h for directions and ownership.
 */
#include "kubernetes/objects_io.h"

#include <stdlib.h>
#include <string.h>

/* ---- metadata ---- */

/* Annotations in which tools keep a copy of the whole object, cloud-init data included; and any other that looks
 * like one. */
static bool is_copy_of_object(const struct kvmig__pair *pair)
{
    static const char *const keys[] = { "last-applied", "last-handled", "objectset.rio.cattle.io/applied" };
    static const char *const values[] = { "userData", "networkData", "managedFields" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(keys); i++) {
        if (strstr(pair->key, keys[i]))
            return true;
    }
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(values); i++) {
        if (strstr(pair->value, values[i]))
            return true;
    }
    return false;
}

static bool visit_owner(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_owner *owner = element;

    kvmig__io_str(io, "kind", &owner->kind);
    kvmig__io_str(io, "name", &owner->name);
    kvmig__io_str(io, "uid", &owner->uid);
    return true;
}

static void drop_empty(char **field)
{
    if (*field && !**field)
        kvmig__str_set(field, NULL);
}

void kvmig__visit_meta(struct kvmig__io *io, struct kvmig__kube_meta *meta)
{
    kvmig__io_begin(io, "metadata");
    kvmig__io_str(io, "name", &meta->name);
    kvmig__io_str(io, "namespace", &meta->ns);
    kvmig__io_str(io, "uid", &meta->uid);
    kvmig__io_str(io, "resourceVersion", &meta->version);
    kvmig__io_time(io, "creationTimestamp", &meta->created_ms);
    kvmig__io_due(io, "deletionTimestamp", &meta->deleted_ms); /* the grace period included */
    kvmig__io_pairs(io, "labels", &meta->labels);
    kvmig__io_pairs(io, "annotations", &meta->annotations);
    KVMIG__IO_LIST(io, "ownerReferences", &meta->owners, visit_owner);
    kvmig__io_strlist(io, "finalizers", &meta->finalizers);
    kvmig__io_end(io);
    if (io->encode)
        return;
    kvmig__drop_pairs(&meta->annotations, is_copy_of_object);
    drop_empty(&meta->ns);
    drop_empty(&meta->name);
    if (!kvmig__kube_kind_info(meta->kind)->namespaced)
        kvmig__str_set(&meta->ns, NULL);
}

/* ---- status ---- */

static bool visit_condition(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_condition *condition = element;

    kvmig__io_str(io, "type", &condition->type);
    kvmig__io_str(io, "status", &condition->status);
    kvmig__io_str(io, "reason", &condition->reason);
    kvmig__io_str(io, "message", &condition->message);
    kvmig__io_time(io, "lastTransitionTime", &condition->since_ms);
    kvmig__io_time(io, "lastProbeTime", &condition->probed_ms);
    if (!io->encode) {
        int64_t beat; /* of a node; only tells how late it is */

        kvmig__io_time(io, "lastHeartbeatTime", &beat);
    }
    return true;
}

void kvmig__visit_conditions(struct kvmig__io *io, struct kvmig__kube_conditions *conditions)
{
    KVMIG__IO_LIST(io, "conditions", conditions, visit_condition);
}

static bool visit_transition(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_transition *transition = element;

    kvmig__io_str(io, "phase", &transition->phase);
    kvmig__io_time(io, "phaseTransitionTimestamp", &transition->at_ms);
    return true;
}

void kvmig__visit_transitions(struct kvmig__io *io, struct kvmig__kube_transitions *transitions)
{
    KVMIG__IO_LIST(io, "phaseTransitionTimestamps", transitions, visit_transition);
}

/* ---- resources ---- */

void kvmig__visit_resources(struct kvmig__io *io, struct kvmig__amounts *requests, struct kvmig__amounts *limits)
{
    kvmig__io_begin(io, "resources");
    kvmig__io_amounts(io, "requests", requests);
    kvmig__io_amounts(io, "limits", limits);
    kvmig__io_end(io);
}

void kvmig__visit_storage(struct kvmig__io *io, const char *key, uint64_t *bytes)
{
    kvmig__io_begin(io, key);
    kvmig__io_bytes(io, "storage", bytes);
    kvmig__io_end(io);
}

/* ---- volumes of a VMI or VM ---- */

static void visit_volume_source(struct kvmig__io *io, struct kvmig__kube_volume *volume)
{
    const char *kind = volume->kind;
    bool there = true;

    kvmig__io_present(io, kind, &there);
    kvmig__io_begin(io, kind);
    /* Nothing else is looked at: other sources hold secrets, cloud-init data and the like. */
    if (!strcmp(kind, "persistentVolumeClaim") || !strcmp(kind, "memoryDump")) {
        kvmig__io_str(io, "claimName", &volume->claim);
    } else if (!strcmp(kind, "dataVolume")) {
        kvmig__io_str(io, "name", &volume->claim);
    } else if (!strcmp(kind, "ephemeral")) {
        kvmig__io_begin(io, "persistentVolumeClaim");
        kvmig__io_str(io, "claimName", &volume->claim);
        kvmig__io_end(io);
    } else if (!strcmp(kind, "containerDisk")) {
        kvmig__io_str(io, "image", &volume->image);
    } else if (!strcmp(kind, "hostDisk")) {
        kvmig__io_bool(io, "shared", &volume->shared);
    }
    kvmig__io_bool(io, "hotpluggable", &volume->hotpluggable);
    kvmig__io_end(io);
}

static bool visit_volume(struct kvmig__io *io, void *element)
{
    static const char *const no_source[] = { "name", NULL };
    struct kvmig__kube_volume *volume = element;

    if (volume->utility)
        return false;
    kvmig__io_str(io, "name", &volume->name);
    if (!io->encode)
        volume->kind = kvmig__strdup(kvmig__io_first_object(io, no_source));
    if (volume->kind)
        visit_volume_source(io, volume);
    return true;
}

/* The claim stands in the volume itself. */
static bool visit_utility_volume(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_volume *volume = element;

    if (io->encode && !volume->utility)
        return false;
    kvmig__io_str(io, "name", &volume->name);
    kvmig__io_str(io, "claimName", &volume->claim);
    if (!io->encode) {
        volume->utility = true;
        volume->kind = kvmig__strdup("persistentVolumeClaim");
    }
    return true;
}

void kvmig__visit_volumes(struct kvmig__io *io, struct kvmig__kube_volumes *volumes)
{
    KVMIG__IO_LIST(io, "volumes", volumes, visit_volume);
    KVMIG__IO_LIST(io, "utilityVolumes", volumes, visit_utility_volume);
}

/* ---- claims ---- */

void kvmig__visit_claim_info(struct kvmig__io *io, const char *key, struct kvmig__kube_claim_info *info)
{
    if (!io->encode) {
        info->capacity = KVMIG__UNKNOWN;
        info->requested = KVMIG__UNKNOWN;
    }
    kvmig__io_begin(io, key);
    kvmig__io_str(io, "claimName", &info->claim);
    kvmig__io_strlist(io, "accessModes", &info->access_modes);
    kvmig__io_str(io, "volumeMode", &info->volume_mode);
    kvmig__visit_storage(io, "capacity", &info->capacity);
    kvmig__visit_storage(io, "requests", &info->requested);
    kvmig__io_fraction(io, "filesystemOverhead", &info->filesystem_overhead);
    kvmig__io_end(io);
}

static bool visit_migrated_volume(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_migrated_volume *volume = element;

    kvmig__io_str(io, "volumeName", &volume->name);
    kvmig__visit_claim_info(io, "sourcePVCInfo", &volume->source);
    kvmig__visit_claim_info(io, "destinationPVCInfo", &volume->destination);
    return true;
}

void kvmig__visit_migrated_volumes(struct kvmig__io *io, struct kvmig__kube_migrated_volumes *volumes)
{
    KVMIG__IO_LIST(io, "migratedVolumes", volumes, visit_migrated_volume);
}
