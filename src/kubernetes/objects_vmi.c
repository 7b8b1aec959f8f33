/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Descriptions of VirtualMachineInstance and VirtualMachine. Any thread; see objects_io.h for directions and ownership.
 */
#include "kubernetes/objects_io.h"

#include <stdlib.h>

/* ---- VirtualMachineInstance ---- */

static void visit_vmi_spec(struct kvmig__io *io, struct kvmig__kube_vmi *vmi)
{
    kvmig__io_begin(io, "spec");
    kvmig__visit_domain(io, &vmi->domain);
    kvmig__visit_volumes(io, &vmi->volumes);
    kvmig__visit_placement(io, &vmi->placement);
    kvmig__io_str(io, "architecture", &vmi->architecture);
    kvmig__io_str(io, "evictionStrategy", &vmi->eviction_strategy);
    kvmig__io_str(io, "schedulerName", &vmi->scheduler);
    kvmig__io_end(io);
}

static bool visit_volume_status(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_volume_status *status = element;

    kvmig__io_str(io, "name", &status->name);
    kvmig__io_str(io, "phase", &status->phase);
    kvmig__io_str(io, "reason", &status->reason);
    kvmig__io_str(io, "message", &status->message);
    kvmig__io_str(io, "target", &status->target);
    kvmig__io_present(io, "hotplugVolume", &status->hotplug);
    kvmig__io_begin(io, "hotplugVolume");
    kvmig__io_str(io, "attachPodName", &status->attach_pod);
    kvmig__io_str(io, "attachPodUID", &status->attach_pod_uid);
    kvmig__io_end(io);
    kvmig__io_present(io, "persistentVolumeClaimInfo", &status->has_claim);
    kvmig__visit_claim_info(io, "persistentVolumeClaimInfo", &status->claim);
    return true;
}

/* A backup is in the model while it runs. */
static void visit_backup(struct kvmig__io *io, struct kvmig__kube_vmi *vmi)
{
    bool there = vmi->backup, completed = false;

    kvmig__io_begin(io, "changedBlockTracking");
    kvmig__io_present(io, "backupStatus", &there);
    kvmig__io_begin(io, "backupStatus");
    kvmig__io_bool(io, "completed", &completed);
    if (there && !completed) {
        kvmig__io_str(io, "backupName", &vmi->backup);
        kvmig__io_time(io, "startTimestamp", &vmi->backup_since_ms);
        if (!vmi->backup)
            vmi->backup = kvmig__strdup("");
    }
    kvmig__io_end(io);
    kvmig__io_end(io);
}

static void visit_sizes(struct kvmig__io *io, struct kvmig__kube_vmi *vmi)
{
    kvmig__io_begin(io, "topologyHints");
    kvmig__io_u64_or_zero(io, "tscFrequency", &vmi->tsc_frequency_hz);
    kvmig__io_end(io);
    kvmig__io_begin(io, "memory");
    kvmig__io_bytes(io, "guestCurrent", &vmi->memory_guest_current);
    kvmig__io_bytes(io, "guestRequested", &vmi->memory_guest_requested);
    kvmig__io_end(io);
    kvmig__io_begin(io, "currentCPUTopology");
    kvmig__io_u32(io, "sockets", &vmi->topology_sockets);
    kvmig__io_u32(io, "cores", &vmi->topology_cores);
    kvmig__io_u32(io, "threads", &vmi->topology_threads);
    kvmig__io_end(io);
}

static void visit_vmi_status(struct kvmig__io *io, struct kvmig__kube_vmi *vmi)
{
    kvmig__io_begin(io, "status");
    kvmig__io_str(io, "phase", &vmi->phase);
    kvmig__io_str(io, "nodeName", &vmi->node);
    kvmig__io_str(io, "reason", &vmi->reason);
    kvmig__visit_conditions(io, &vmi->conditions);
    kvmig__visit_transitions(io, &vmi->transitions);
    kvmig__visit_migration_state(io, &vmi->migration);
    kvmig__io_str(io, "migrationMethod", &vmi->migration_method);
    kvmig__io_str(io, "migrationTransport", &vmi->migration_transport);
    kvmig__io_str(io, "evacuationNodeName", &vmi->evacuation_node);
    kvmig__io_str(io, "launcherContainerImageVersion", &vmi->launcher_image);
    kvmig__io_str(io, "selinuxContext", &vmi->selinux_context);
    kvmig__io_begin(io, "machine");
    kvmig__io_str(io, "type", &vmi->machine);
    kvmig__io_end(io);
    kvmig__io_pairs(io, "activePods", &vmi->active_pods);
    KVMIG__IO_LIST(io, "volumeStatus", &vmi->volume_status, visit_volume_status);
    kvmig__visit_migrated_volumes(io, &vmi->migrated_volumes);
    visit_sizes(io, vmi);
    visit_backup(io, vmi);
    kvmig__io_str(io, "qosClass", &vmi->qos_class);
    kvmig__io_end(io);
}

void kvmig__visit_vmi(struct kvmig__io *io, struct kvmig__kube_vmi *vmi)
{
    visit_vmi_spec(io, vmi);
    visit_vmi_status(io, vmi);
    if (!io->encode && !vmi->node) /* virt-controller writes both at once */
        vmi->node = kvmig__strdup(kvmig__pairs_get(&vmi->meta.labels, "kubevirt.io/nodeName"));
    kvmig__visit_interfaces(io, vmi);
}

/* ---- VirtualMachine ---- */

/* Before there was a strategy, there was a switch. */
static void read_running(struct kvmig__io *io, struct kvmig__kube_vm *vm)
{
    int32_t running = -1;

    kvmig__io_tri(io, "running", &running);
    if (running >= 0 && !vm->run_strategy)
        vm->run_strategy = kvmig__strdup(running ? "Always" : "Halted");
}

static void visit_vm_spec(struct kvmig__io *io, struct kvmig__kube_vm *vm)
{
    kvmig__io_begin(io, "spec");
    kvmig__io_str(io, "runStrategy", &vm->run_strategy);
    if (!io->encode)
        read_running(io, vm);
    kvmig__io_str(io, "updateVolumesStrategy", &vm->update_volumes_strategy);
    kvmig__io_names(io, "dataVolumeTemplates", "metadata", "name", NULL, &vm->data_volume_templates);
    kvmig__io_begin(io, "template");
    kvmig__io_begin(io, "spec");
    kvmig__visit_volumes(io, &vm->volumes);
    kvmig__io_end(io);
    kvmig__io_end(io);
    kvmig__io_end(io);
}

void kvmig__visit_vm(struct kvmig__io *io, struct kvmig__kube_vm *vm)
{
    visit_vm_spec(io, vm);
    kvmig__io_begin(io, "status");
    kvmig__io_str(io, "printableStatus", &vm->printable_status);
    kvmig__visit_conditions(io, &vm->conditions);
    kvmig__io_begin(io, "volumeUpdateState");
    kvmig__io_begin(io, "volumeMigrationState");
    kvmig__visit_migrated_volumes(io, &vm->migrated_volumes);
    kvmig__io_end(io);
    kvmig__io_end(io);
    kvmig__io_end(io);
}
