/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Objects with every member that is read, as several versions of KubeVirt print them: each member must reach its
 * field, and come out again where it was. The objects are in tests/unit/objects/; what an older version does not have
 * is taken away here.
 */
#include "kubernetes/yaml.h"
#include "objects_test.h"

#include <math.h>

enum version { V1_3, V1_6, V1_8, V1_9, V_HEAD, N_VERSIONS };

/* Members, and the first of the versions above that has them. */
static const struct {
    const char *kind, *path;
    enum version since;
} newer[] = {
    { "VirtualMachineInstance", "spec.utilityVolumes", V1_8 },
    { "VirtualMachineInstance", "status.changedBlockTracking", V1_8 },
    { "VirtualMachineInstance", "status.migrationState.sourcePersistentStatePVCName", V1_6 },
    { "VirtualMachineInstance", "status.migrationState.targetPersistentStatePVCName", V1_6 },
    { "VirtualMachineInstance", "status.migrationState.migrationNetworkType", V1_6 },
    { "VirtualMachineInstance", "status.migrationState.migrationConfiguration.allowWorkloadDisruption", V1_6 },
    { "VirtualMachineInstance", "status.migrationState.migrationConfiguration.utilityVolumesTimeout", V1_8 },
    { "VirtualMachineInstance", "status.migrationState.migrationConfiguration.maxDowntimeMs", V1_9 },
    { "VirtualMachineInstance", "status.migrationState.migrationConfiguration.experimental", V1_9 },
    { "VirtualMachineInstance", "status.migrationState.migrationConfiguration.experimental.downtimeTuning", V_HEAD },
    { "VirtualMachine", "spec.template.spec.utilityVolumes", V1_8 },
    { "VirtualMachineInstanceMigration", "spec.priority", V1_8 },
    { "VirtualMachineInstanceMigration", "spec.addedNodeSelector", V1_6 },
    { "VirtualMachineInstanceMigration", "spec.sendTo", V1_6 },
    { "VirtualMachineInstanceMigration", "spec.receive", V1_6 },
    { "KubeVirt", "spec.configuration.migrations.maxDowntimeMs", V1_9 },
    { "KubeVirt", "spec.configuration.migrations.experimental", V1_9 },
    { "KubeVirt", "spec.configuration.developerConfiguration.disabledFeatureGates", V1_9 },
};

/* ---- the objects of a version ---- */

struct objects {
    struct {
        struct json_object **v;
        size_t n;
    } json;
    struct kvmig__kube store;
};

static struct json_object *at_path(struct json_object *json, const char *path, char **out_last)
{
    char *copy = kvmig__strdup(path), *rest = copy, *dot;

    while (json && (dot = strchr(rest, '.'))) {
        struct json_object *next = NULL;

        *dot = '\0';
        json_object_object_get_ex(json, rest, &next);
        json = next;
        rest = dot + 1;
    }
    *out_last = kvmig__strdup(rest);
    free(copy);
    return json;
}

static void set_path(struct json_object *json, const char *path, struct json_object *value)
{
    char *last;
    struct json_object *parent = at_path(json, path, &last);

    if (parent && value)
        json_object_object_add(parent, last, value);
    else if (parent)
        json_object_object_del(parent, last);
    else
        json_object_put(value);
    free(last);
}

static bool collect(void *data, struct json_object *document, size_t index)
{
    struct objects *objects = data;
    struct json_object *items = json_object_object_get(document, "items");

    (void)index;
    /* Printing and reading again unties what aliases may share. */
    for (size_t i = 0; i < json_object_array_length(items); i++)
        *KVMIG__PUSH(&objects->json) =
            json_tokener_parse(json_object_to_json_string(json_object_array_get_idx(items, i)));
    json_object_put(document);
    return true;
}

static void make_older(struct json_object *json, enum version version)
{
    const char *kind = json_object_get_string(json_object_object_get(json, "kind"));
    /* v1.9.0 wrote the factors as text and the times as unsigned numbers. */
    const char *detector = JSON({
        "stallMargin" : 4,
        "ewmaAlpha" : "0.4",
        "stallProgressTimeout" : 18446744073709551615,
        "searchLocalMinima" : true
    });

    if (version == V1_9 && !strcmp(kind, "VirtualMachineInstance"))
        set_path(json, "status.migrationState.migrationConfiguration.experimental.stallDetector",
                 json_tokener_parse(detector));
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(newer); i++) {
        if (newer[i].since > version && !strcmp(newer[i].kind, kind))
            set_path(json, newer[i].path, NULL);
    }
}

static void objects_load(struct objects *objects, const char *file, enum version version)
{
    char *text = file_text(file);
    struct kvmig_error *error = NULL;

    *objects = (struct objects){ .json = { .n = 0 } };
    kvmig__yaml_read(text, strlen(text), file, collect, objects, &error);
    assert_null(error);
    free(text);
    for (size_t i = 0; i < objects->json.n; i++) {
        struct kvmig__kube_meta *object;

        make_older(objects->json.v[i], version);
        object = kvmig__object_decode(objects->json.v[i], -1);
        assert_non_null(object);
        kvmig__kube_put(&objects->store, object);
    }
}

static void objects_clear(struct objects *objects)
{
    for (size_t i = 0; i < objects->json.n; i++)
        json_object_put(objects->json.v[i]);
    free(objects->json.v);
    kvmig__kube_clear(&objects->store);
}

static void assert_all_come_out(const struct objects *objects)
{
    for (size_t i = 0; i < objects->json.n; i++)
        assert_comes_out(objects->json.v[i]);
}

/* ---- everything reaches its field ---- */

#define IS(field, want) assert_string_equal((field), (want))
/* A text that the version may not have. */
#define SINCE(first, field, want)                                                                                      \
    do {                                                                                                               \
        if (version >= (first))                                                                                        \
            IS(field, want);                                                                                           \
        else                                                                                                           \
            assert_null(field);                                                                                        \
    } while (0)

static void check_meta(const struct kvmig__kube_meta *meta)
{
    assert_int_equal(meta->kind, KVMIG__KUBE_VMI);
    IS(meta->ns, "ns1");
    IS(meta->name, "vm1");
    IS(meta->uid, "vmi-uid");
    IS(meta->version, "18446744073709551615");
    assert_int_equal(meta->created_ms, kvmig__time_parse("2026-11-30T11:00:00Z"));
    assert_int_equal(meta->deleted_ms, kvmig__time_parse("2026-11-30T13:00:00Z"));
    IS(kvmig__pairs_get(&meta->labels, "app"), "shop");
    assert_int_equal(meta->annotations.n, 1);
    IS(meta->owners.v[0].kind, "VirtualMachine");
    IS(meta->owners.v[0].name, "vm1");
    IS(meta->owners.v[0].uid, "vm-uid");
    IS(meta->finalizers.v[0], "foregroundDeleteVirtualMachine");
}

static void check_placement(const struct kvmig__placement *placement)
{
    const struct kvmig__term *term = &placement->node_required.v[0];

    IS(kvmig__pairs_get(&placement->node_selector, "zone"), "east");
    assert_int_equal(term->n, 2);
    IS(term->v[0].key, "cpus");
    IS(term->v[0].op, "Gt");
    IS(term->v[0].values.v[0], "8");
    assert_true(term->v[1].is_field && !term->v[0].is_field);
    IS(placement->pod_required.v[0].selector.v[0].values.v[0], "db");
    IS(placement->pod_required.v[0].namespaces.v[0], "ns2");
    IS(placement->pod_required.v[0].topology_key, "rack");
    IS(placement->pod_forbidden.v[0].selector.v[0].op, "Exists");
    assert_true(placement->pod_forbidden.v[0].has_namespace_selector);
    IS(placement->pod_forbidden.v[0].namespace_selector.v[0].key, "team");
    assert_true(placement->pod_forbidden.v[1].has_namespace_selector);
    assert_int_equal(placement->pod_forbidden.v[1].namespace_selector.n, 0);
    assert_false(placement->pod_required.v[0].has_namespace_selector);
    IS(placement->tolerations.v[0].key, "dedicated");
    IS(placement->tolerations.v[0].op, "Equal");
    IS(placement->tolerations.v[0].value, "vms");
    IS(placement->tolerations.v[0].effect, "NoSchedule");
    IS(placement->spread.v[0].topology_key, "zone");
    assert_int_equal(placement->spread.v[0].max_skew, 2);
    assert_int_equal(placement->spread.v[0].selector.n, 0);
}

static void check_domain(const struct kvmig__kube_domain *domain)
{
    IS(domain->cpu_model, "Skylake-Server");
    assert_int_equal(domain->sockets, 2);
    assert_int_equal(domain->cores, 3);
    assert_int_equal(domain->threads, 4);
    assert_true(domain->dedicated_cpus && domain->isolated_emulator && domain->realtime && domain->numa);
    IS(domain->cpu_features.v[0].name, "vmx");
    IS(domain->cpu_features.v[0].policy, "require");
    assert_int_equal(domain->memory, UINT64_C(2147483648));
    IS(domain->hugepages, "2Mi");
    assert_int_equal(kvmig__amounts_get(&domain->requests, "cpu"), 2000);
    assert_int_equal(kvmig__amounts_get(&domain->limits, "cpu"), 2500);
    IS(domain->machine, "q35");
    assert_true(domain->efi_persistent && domain->hyperv_passthrough && domain->tpm && domain->tpm_persistent);
    assert_int_equal(domain->hyperv.n, 2);
    IS(domain->hyperv.v[1], "reenlightenment");
    IS(domain->launch_security, "sevSNP");
    IS(domain->firmware_uuid, "5d307ca9-b3ef-428c-8861-06e72d69f223");
    IS(domain->host_devices.v[0], "vendor.example/nic");
    IS(domain->gpus.v[0], "vendor.example/gpu");
    IS(domain->filesystems.v[0], "shared-files");
    IS(domain->disks.v[0].name, "root");
    IS(domain->disks.v[0].device, "lun");
    IS(domain->disks.v[0].bus, "scsi");
    IS(domain->disks.v[0].cache, "none");
    IS(domain->disks.v[0].io, "native");
    assert_true(domain->disks.v[0].shareable && domain->disks.v[0].readonly && domain->disks.v[0].reservation);
    IS(domain->disks.v[1].device, "cdrom");
}

static void check_volumes(const struct kvmig__kube_vmi *vmi, enum version version)
{
    static const char *const kinds[] = { "persistentVolumeClaim", "dataVolume", "containerDisk",        "hostDisk",
                                         "cloudInitNoCloud",      "ephemeral",  "persistentVolumeClaim" };
    const struct kvmig__kube_volume *v = vmi->volumes.v;

    assert_int_equal(vmi->volumes.n, version >= V1_8 ? 7 : 6);
    for (size_t i = 0; i < vmi->volumes.n; i++)
        IS(v[i].kind, kinds[i]);
    IS(v[0].claim, "root-claim");
    assert_true(v[0].hotpluggable && !v[1].hotpluggable);
    IS(v[1].claim, "boot-dv");
    IS(v[2].image, "registry.example/disk@sha256:1");
    assert_true(v[3].shared && !v[2].shared);
    IS(v[5].claim, "base-claim");
    if (version >= V1_8) {
        IS(v[6].claim, "dump-claim");
        assert_true(v[6].utility && !v[5].utility);
    }
}

static void check_interfaces(const struct kvmig__kube_vmi *vmi)
{
    const struct kvmig__kube_interface *v = vmi->interfaces.v;

    assert_int_equal(vmi->interfaces.n, 3);
    IS(v[0].binding, "masquerade");
    IS(v[0].mac, "02:00:00:00:00:01");
    IS(v[0].model, "virtio");
    assert_true(v[0].in_spec && v[0].pod_network && !v[0].multus);
    IS(v[0].ip, "198.51.100.5");
    IS(v[0].ips.v[1], "2001:db8::5");
    IS(v[0].status_mac, "02:00:00:00:00:01");
    IS(v[0].link_state, "up");
    IS(v[0].info_source, "domain, guest-agent");
    IS(v[1].binding, "plugin:vdpa");
    IS(v[1].multus, "ns1/net2");
    assert_true(v[1].in_spec && !v[1].pod_network);
    IS(v[2].name, "guest-only");
    assert_false(v[2].in_spec);
}

static void check_config(const struct kvmig__kube_config *config, enum version version)
{
    assert_int_equal(config->parallel_cluster, 6);
    assert_int_equal(config->outbound_node, 3);
    assert_int_equal(config->bandwidth, 67108864);
    assert_int_equal(config->completion_s_per_gb, 151);
    assert_int_equal(config->progress_s, 152);
    assert_true(config->max_downtime_ms == (version >= V1_9 ? UINT64_MAX - 1 : KVMIG__UNKNOWN));
    assert_int_equal(config->auto_converge, 1);
    assert_int_equal(config->post_copy, 0);
    assert_int_equal(config->unsafe, 0);
    assert_int_equal(config->disable_tls, 1);
    assert_int_equal(config->match_selinux, 0);
    IS(config->network, "migration-net");
    IS(config->drain_taint, "kubevirt.io/drain");
    SINCE(V1_9, config->compression, "zstd");
    assert_int_equal(config->stall_detector, version >= V1_9);
}

static void check_state(const struct kvmig__kube_migration_state *state, enum version version)
{
    assert_true(state->present && state->domain_detected && state->completed && state->failed &&
                state->abort_requested);
    IS(state->uid, "vmim-uid");
    assert_int_equal(state->start_ms, kvmig__time_parse("2026-11-30T11:10:00Z"));
    assert_int_equal(state->domain_ready_ms, kvmig__time_parse("2026-11-30T11:11:00Z"));
    assert_int_equal(state->end_ms, kvmig__time_parse("2026-11-30T11:12:00Z"));
    IS(state->abort_status, "Succeeded");
    IS(state->failure_reason, "failure-reason");
    IS(state->mode, "PostCopy");
    IS(state->policy, "policy1");
    IS(state->source_node, "node-s");
    IS(state->source_pod, "source-pod");
    IS(state->target_node, "node-t");
    IS(state->target_pod, "target-pod");
    IS(state->target_address, "192.0.2.7");
    IS(state->attachment_pod_uid, "attachment-uid");
    assert_int_equal(state->n_ports, 3);
    SINCE(V1_6, state->network_type, "Migration");
    SINCE(V1_6, state->source_state_claim, "source-state");
    SINCE(V1_6, state->target_state_claim, "target-state");
    check_config(&state->config, version);
    assert_int_equal(state->config.workload_disruption, version >= V1_6 ? 1 : -1);
    assert_true(state->config.utility_s == (version >= V1_8 ? 153 : KVMIG__UNKNOWN));
    assert_int_equal(state->config.downtime_tuning, version >= V_HEAD);
}

static void check_vmi_volumes(const struct kvmig__kube_vmi *vmi)
{
    const struct kvmig__kube_volume_status *status = &vmi->volume_status.v[0];
    const struct kvmig__kube_migrated_volume *moved = &vmi->migrated_volumes.v[0];

    IS(status->name, "root");
    IS(status->phase, "Ready");
    IS(status->reason, "VolumeReady");
    IS(status->message, "volume-message");
    IS(status->target, "sda");
    assert_true(status->hotplug && status->has_claim);
    IS(status->attach_pod, "hp-volume-1");
    IS(status->attach_pod_uid, "hp-uid");
    IS(status->claim.claim, "root-claim");
    IS(status->claim.access_modes.v[0], "ReadWriteMany");
    IS(status->claim.volume_mode, "Block");
    assert_int_equal(status->claim.capacity, UINT64_C(10737418240));
    assert_int_equal(status->claim.requested, UINT64_C(10737418239));
    assert_true(fabs(status->claim.filesystem_overhead - 0.055) < 1e-12);
    IS(moved->name, "root");
    IS(moved->source.claim, "root-claim");
    IS(moved->destination.claim, "new-claim");
    IS(moved->destination.volume_mode, "Filesystem");
    assert_int_equal(moved->destination.capacity, UINT64_C(11811160064));
    assert_true(moved->source.capacity == KVMIG__UNKNOWN);
}

static void check_vmi(const struct kvmig__kube_vmi *vmi, enum version version)
{
    check_meta(&vmi->meta);
    check_placement(&vmi->placement);
    check_domain(&vmi->domain);
    check_volumes(vmi, version);
    check_interfaces(vmi);
    check_state(&vmi->migration, version);
    check_vmi_volumes(vmi);
    IS(vmi->architecture, "amd64");
    IS(vmi->eviction_strategy, "LiveMigrate");
    IS(vmi->scheduler, "my-scheduler");
    IS(vmi->phase, "Running");
    IS(vmi->node, "node-a");
    IS(vmi->reason, "status-reason");
    IS(vmi->conditions.v[0].type, "LiveMigratable");
    IS(vmi->conditions.v[0].status, "False");
    IS(vmi->conditions.v[0].reason, "DisksNotLiveMigratable");
    IS(vmi->conditions.v[0].message, "condition-message");
    assert_int_equal(vmi->conditions.v[0].since_ms, kvmig__time_parse("2026-11-30T11:01:00Z"));
    assert_int_equal(vmi->conditions.v[0].probed_ms, kvmig__time_parse("2026-11-30T11:02:00Z"));
    IS(vmi->transitions.v[0].phase, "Running");
    assert_int_equal(vmi->transitions.v[0].at_ms, kvmig__time_parse("2026-11-30T11:03:00Z"));
    IS(vmi->migration_method, "BlockMigration");
    IS(vmi->migration_transport, "Unix");
    IS(vmi->evacuation_node, "node-e");
    IS(vmi->launcher_image, "registry.example/virt-launcher:v1");
    IS(vmi->selinux_context, "none");
    IS(vmi->machine, "pc-q35-9.2");
    IS(kvmig__pairs_get(&vmi->active_pods, "pod-uid-2"), "node-b");
    assert_int_equal(vmi->tsc_frequency_hz, UINT64_C(2400000000));
    assert_int_equal(vmi->topology_sockets * 100 + vmi->topology_cores * 10 + vmi->topology_threads, 567);
    assert_int_equal(vmi->memory_guest_current, UINT64_C(1073741824));
    assert_int_equal(vmi->memory_guest_requested, UINT64_C(3221225472));
    IS(vmi->qos_class, "Burstable");
    SINCE(V1_8, vmi->backup, "backup1");
    assert_int_equal(vmi->backup_since_ms, version >= V1_8 ? kvmig__time_parse("2026-11-30T11:20:00Z") : 0);
}

static void check_vm(const struct kvmig__kube_vm *vm, enum version version)
{
    IS(vm->run_strategy, "RerunOnFailure");
    IS(vm->update_volumes_strategy, "Migration");
    IS(vm->printable_status, "Migrating");
    assert_int_equal(vm->volumes.n, version >= V1_8 ? 2 : 1);
    IS(vm->volumes.v[0].claim, "root-claim");
    IS(vm->data_volume_templates.v[0], "boot-dv");
    IS(vm->conditions.v[0].type, "RestartRequired");
    IS(vm->migrated_volumes.v[0].destination.claim, "new-claim");
}

static void check_vmim(const struct kvmig__kube_vmim *vmim, enum version version)
{
    IS(vmim->vmi, "vm1");
    SINCE(V1_8, vmim->priority, "system-critical");
    SINCE(V1_6, vmim->send_to, "send-id");
    SINCE(V1_6, vmim->receive, "receive-id");
    SINCE(V1_6, kvmig__pairs_get(&vmim->added_selector, "kubernetes.io/hostname"), "node-t");
    IS(vmim->phase, "Running");
    IS(vmim->conditions.v[0].type, "migrationAbortRequested");
    IS(vmim->transitions.v[0].phase, "Pending");
    check_state(&vmim->state, V_HEAD);
}

static void check_kubevirt(const struct kvmig__kube_kubevirt *kubevirt, enum version version)
{
    IS(kubevirt->phase, "Deployed");
    IS(kubevirt->version, "v1.9.0");
    IS(kubevirt->observed_deployment, "deployment-1");
    IS(kubevirt->target_deployment, "deployment-2");
    check_config(&kubevirt->config, version);
    IS(kubevirt->cpu_model, "Haswell");
    IS(kubevirt->eviction_strategy, "LiveMigrateIfPossible");
    IS(kubevirt->rollout_strategy, "LiveUpdate");
    assert_true(kubevirt->obsolete_models_given && kvmig__strlist_has(&kubevirt->obsolete_models, "pentium"));
    IS(kubevirt->feature_gates.v[0], "DecentralizedLiveMigration");
    assert_int_equal(kubevirt->disabled_gates.n, version >= V1_9);
    IS(kubevirt->update_methods.v[1], "Evict");
    IS(kubevirt->mediated_devices.v[0], "vendor.example/vgpu");
    assert_int_equal(kubevirt->bindings.n, 3);
    IS(kubevirt->bindings.v[0].name, "vdpa");
    IS(kubevirt->bindings.v[0].method, "link-refresh");
    assert_null(kubevirt->bindings.v[1].method);
    IS(kubevirt->bindings.v[2].method, "");
    IS(kvmig__pairs_get(&kubevirt->node_selectors, "pool"), "vms");
    assert_int_equal(kubevirt->min_tsc_hz, UINT64_C(2100000000));
    assert_true(kubevirt->emulation);
}

static void check_policy(const struct kvmig__kube_policy *policy)
{
    assert_true(policy->has_selectors);
    IS(kvmig__pairs_get(&policy->vmi_selector, "app"), "shop");
    IS(kvmig__pairs_get(&policy->ns_selector, "team"), "blue");
    assert_int_equal(policy->config.bandwidth, 1048576);
    assert_int_equal(policy->config.completion_s_per_gb, 300);
    assert_int_equal(policy->config.post_copy, 1);
    assert_int_equal(policy->config.auto_converge, -1);
}

static void kubevirt_of_every_version_is_read_whole(void **state)
{
    (void)state;
    for (enum version version = V1_3; version < N_VERSIONS; version++) {
        struct objects objects;
        const struct kvmig__kube_storage_profile *profile;
        const struct kvmig__kube_data_volume *volume;

        objects_load(&objects, "kubevirt.yaml", version);
        assert_all_come_out(&objects);
        check_vmi(KVMIG__KUBE_FIND(&objects.store, VMI, "ns1", "vm1"), version);
        check_vm(KVMIG__KUBE_FIND(&objects.store, VM, "ns1", "vm1"), version);
        check_vmim(KVMIG__KUBE_FIND(&objects.store, VMIM, "ns1", "mig1"), version);
        check_kubevirt(KVMIG__KUBE_FIND(&objects.store, KUBEVIRT, "kubevirt", "kubevirt"), version);
        check_policy(KVMIG__KUBE_FIND(&objects.store, POLICY, NULL, "policy1"));
        profile = KVMIG__KUBE_FIND(&objects.store, STORAGE_PROFILE, NULL, "fast");
        assert_int_equal(profile->access_modes.n, 2);
        volume = KVMIG__KUBE_FIND(&objects.store, DATA_VOLUME, "ns1", "new-root");
        IS(volume->phase, "ImportInProgress");
        IS(volume->progress, "42.00%");
        objects_clear(&objects);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kubevirt_of_every_version_is_read_whole),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
