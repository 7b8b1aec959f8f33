/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Observations: small JSON objects with the key "observation", for facts that no other file carries. One reader per kind, here or
 * in files_seen.c; a value of another type is passed over. Any thread; a loading
 * belongs to one.
 */
#include "files/files_internal.h"

#include <stdlib.h>
#include <string.h>

static bool has_room(const struct kvmig__files_load *load, size_t n, const char *what)
{
    if (n < KVMIG__FILES_ITEMS)
        return true;
    if (n == KVMIG__FILES_ITEMS)
        kvmig__snapshot_problem((struct kvmig__snapshot_load *)&load->base, load->base.name, what,
                                "Leave out what does not concern the VM.", "there are more than %d of them",
                                KVMIG__FILES_ITEMS);
    return false;
}

/* ---- versions ---- */

static void take_versions_of(struct json_object *json, const char *side, struct kvmig__fact_versions *out)
{
    struct json_object *versions = kvmig__files_member(json, side);

    kvmig__files_version(versions, "qemu", &out->qemu);
    kvmig__files_version(versions, "libvirt", &out->libvirt);
}

static void take_versions(struct kvmig__files_load *load, struct json_object *json)
{
    struct kvmig__facts *facts = load->files->facts;

    take_versions_of(json, "source", &facts->source);
    take_versions_of(json, "target", &facts->target);
    kvmig__files_str(json, "ovn", &facts->ovn_version);
    kvmig__files_str(json, "ovs", &facts->ovs_version);
}

/* ---- storage ---- */

static void take_mount(struct kvmig__files_load *load, const char *node, struct json_object *json)
{
    struct kvmig__facts *facts = load->files->facts;
    struct kvmig__fact_mount mount = { .node = NULL };

    kvmig__files_str(json, "path", &mount.path);
    if (!mount.path || !has_room(load, facts->mounts.n, "mounts")) {
        free(mount.path);
        return;
    }
    mount.node = kvmig__strdup(node);
    kvmig__files_str(json, "type", &mount.type);
    kvmig__files_str(json, "source", &mount.source);
    *KVMIG__PUSH(&facts->mounts) = mount;
}

static void take_mounts(struct kvmig__files_load *load, struct json_object *json)
{
    struct json_object *nodes = kvmig__files_member(json, "nodes");

    if (!json_object_is_type(nodes, json_type_object))
        return;
    json_object_object_foreach(nodes, node, list)
    {
        for (size_t i = 0; i < kvmig__files_count(list); i++)
            take_mount(load, node, json_object_array_get_idx(list, i));
    }
}

static void take_image(struct kvmig__files_load *load, struct json_object *json)
{
    struct json_object *source = kvmig__files_member(json, "source"), *target = kvmig__files_member(json, "target");
    struct kvmig__facts *facts = load->files->facts;
    struct kvmig__fact_image *image;
    char *disk = NULL;

    kvmig__files_str(json, "disk", &disk);
    if (!disk || !has_room(load, facts->images.n, "images")) {
        free(disk);
        return;
    }
    image = KVMIG__PUSH(&facts->images);
    image->disk = disk;
    image->source_virtual_size = image->target_virtual_size = KVMIG__UNKNOWN;
    image->target_usable = image->target_capacity = KVMIG__UNKNOWN;
    image->target_exists = -1;
    image->target_overhead = -1;
    kvmig__files_str(source, "path", &image->source_path);
    kvmig__files_str(source, "pvc", &image->source_pvc);
    kvmig__files_bytes(source, "virtual_size", &image->source_virtual_size);
    kvmig__files_str(target, "path", &image->target_path);
    kvmig__files_str(target, "pvc", &image->target_pvc);
    kvmig__files_tri(target, "exists", &image->target_exists);
    kvmig__files_bytes(target, "virtual_size", &image->target_virtual_size);
    kvmig__files_bytes(target, "usable_bytes", &image->target_usable);
    kvmig__files_bytes(target, "capacity", &image->target_capacity);
    kvmig__files_str(target, "volume_mode", &image->target_volume_mode);
    kvmig__files_fraction(target, "filesystem_overhead", &image->target_overhead);
}

static void take_images(struct kvmig__files_load *load, struct json_object *json)
{
    struct json_object *disks = kvmig__files_list(json, "disks");

    for (size_t i = 0; i < kvmig__files_count(disks); i++)
        take_image(load, json_object_array_get_idx(disks, i));
}

/* ---- network ---- */

static void take_cni(struct kvmig__files_load *load, struct json_object *json)
{
    struct kvmig__facts *facts = load->files->facts;

    kvmig__files_str(json, "cni", &facts->cni);
    kvmig__files_str(json, "ip_priority_label", &facts->ip_priority_label);
    kvmig__files_tri(json, "keep_vm_ip", &facts->keep_vm_ip);
}

static void take_mtu(struct kvmig__files_load *load, struct json_object *json)
{
    struct kvmig__fact_mtu *mtu = &load->files->facts->mtu;
    uint64_t ip = KVMIG__UNKNOWN;

    mtu->known = true;
    kvmig__files_tri(json, "localnet", &mtu->localnet);
    kvmig__files_bytes(json, "vif_mtu", &mtu->vif);
    kvmig__files_bytes(json, "underlay_mtu", &mtu->underlay);
    kvmig__files_str(json, "encap", &mtu->encap);
    kvmig__files_bytes(json, "underlay_ip", &ip);
    if (ip == 4 || ip == 6)
        mtu->underlay_ip = (uint32_t)ip;
}

static void take_port_hosts(struct kvmig__files_load *load, struct json_object *json)
{
    struct json_object *bindings = kvmig__files_list(json, "bindings");
    struct kvmig__facts *facts = load->files->facts;

    for (size_t i = 0; i < kvmig__files_count(bindings); i++) {
        struct json_object *binding = json_object_array_get_idx(bindings, i);
        struct kvmig__fact_port_host *host;

        if (!json_object_is_type(binding, json_type_object) || !has_room(load, facts->port_hosts.n, "bindings"))
            continue;
        host = KVMIG__PUSH(&facts->port_hosts);
        kvmig__files_str(binding, "host", &host->host);
        kvmig__files_str(binding, "status", &host->status);
        kvmig__files_str(binding, "vif_type", &host->vif_type);
    }
}

/* ---- certificates ---- */

static void take_certificate(struct kvmig__files_load *load, struct json_object *json)
{
    struct kvmig__facts *facts = load->files->facts;
    struct kvmig__fact_certificate *certificate;

    if (!has_room(load, facts->certificates.n, "certificates"))
        return;
    certificate = KVMIG__PUSH(&facts->certificates);
    certificate->not_before = certificate->not_after = -1;
    kvmig__files_str(json, "node", &certificate->node);
    kvmig__files_str(json, "subject_cn", &certificate->subject_cn);
    kvmig__files_strlist(json, "dns", &certificate->dns);
    kvmig__files_strlist(json, "ip", &certificate->ip);
    kvmig__files_time(json, "not_before", &certificate->not_before);
    kvmig__files_time(json, "not_after", &certificate->not_after);
}

/* ---- the state of a domain ---- */

/* In the words of virsh domstate. */
static const struct {
    const char *text;
    int32_t value;
} states[] = { { "running", KVMIG__STATE_RUNNING },
               { "idle", KVMIG__STATE_RUNNING },
               { "paused", KVMIG__STATE_PAUSED },
               { "in shutdown", KVMIG__STATE_RUNNING },
               { "shut off", KVMIG__STATE_SHUTOFF },
               { "crashed", KVMIG__STATE_CRASHED },
               { "pmsuspended", KVMIG__STATE_SUSPENDED_PM },
               { "absent", KVMIG__STATE_ABSENT } },
  reasons[] = { { "user", KVMIG__REASON_USER },
                { "migrating", KVMIG__REASON_MIGRATION },
                { "migrated", KVMIG__REASON_MIGRATED },
                { "I/O error", KVMIG__REASON_IOERROR },
                { "starting up", KVMIG__REASON_STARTING_UP },
                { "post-copy", KVMIG__REASON_POSTCOPY },
                { "post-copy failed", KVMIG__REASON_POSTCOPY_FAILED },
                { "api error", KVMIG__REASON_API_ERROR },
                { "migration canceled", KVMIG__REASON_MIGRATION_CANCELED },
                { "crashed", KVMIG__REASON_CRASHED },
                { "unpaused", KVMIG__REASON_UNPAUSED },
                { "booted", KVMIG__REASON_BOOTED },
                { "shutdown", KVMIG__REASON_SHUTDOWN },
                { "destroyed", KVMIG__REASON_DESTROYED } };

static void take_domain_state(struct kvmig__files_load *load, struct json_object *json)
{
    struct kvmig__files_domain_state told = { .state = -1, .reason = KVMIG__REASON_OTHER };
    char *side = NULL, *state = NULL, *reason = NULL;

    kvmig__files_see_state(load, json);
    kvmig__files_str(json, "side", &side);
    kvmig__files_str(json, "state", &state);
    kvmig__files_str(json, "reason", &reason);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(states); i++)
        if (kvmig__str_eq(states[i].text, state))
            told.state = states[i].value;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(reasons); i++)
        if (kvmig__str_eq(reasons[i].text, reason))
            told.reason = reasons[i].value;
    if (told.state == KVMIG__STATE_PAUSED && !reason) /* nothing is said against the common one */
        told.reason = KVMIG__REASON_USER;
    told.on_target = kvmig__str_eq(side, "target");
    if (told.state >= 0 && (told.on_target || kvmig__str_eq(side, "source")) &&
        has_room(load, load->states.n, "domain states")) {
        kvmig__files_str(json, "domain", &told.domain);
        kvmig__files_str(json, "node", &told.node);
        *KVMIG__PUSH(&load->states) = told;
    }
    free(side);
    free(state);
    free(reason);
}

/* ---- which ---- */

static const struct {
    const char *name;
    void (*take)(struct kvmig__files_load *load, struct json_object *json);
} kinds[] = {
    { "versions", take_versions },
    { "mounts", take_mounts },
    { "disk-images", take_images },
    { "cni-config", take_cni },
    { "network-mtu", take_mtu },
    { "port-bindings", take_port_hosts },
    { "certificate", take_certificate },
    { "domain-state", take_domain_state },
    { "block-jobs", kvmig__files_see_block_jobs },
    { "network-event-wait", kvmig__files_see_network_wait },
    { "probe", kvmig__files_see_probe },
};

static bool take_one(struct kvmig__files_load *load, struct json_object *json)
{
    struct json_object *what = kvmig__files_member(json, "observation");

    if (!what)
        return false;
    if (kvmig__snapshot_observation(&load->base, json)) /* of nodes, for the store */
        for (size_t i = 0; json_object_is_type(what, json_type_string) && i < KVMIG__N_ELEMENTS(kinds); i++)
            if (kvmig__str_eq(kinds[i].name, json_object_get_string(what)))
                kinds[i].take(load, json);
    return true;
}

bool kvmig__files_observation(struct kvmig__files_load *load, struct json_object *json)
{
    bool taken = false;

    if (!json_object_is_type(json, json_type_array))
        return take_one(load, json);
    for (size_t i = 0; i < kvmig__files_count(json); i++)
        taken |= take_one(load, json_object_array_get_idx(json, i));
    return taken;
}
