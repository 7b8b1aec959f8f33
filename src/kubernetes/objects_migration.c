/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Descriptions of what KubeVirt says about migrations: their options, their state, and the objects
 * VirtualMachineInstanceMigration and MigrationPolicy. Any thread; see objects_io.h for directions and ownership.
 */
#include "kubernetes/objects_io.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- options: the same names in the KubeVirt object, in a policy, and in what was resolved for one migration ---- */

/* A number, a text or a quantity, as the version has it. */
static void visit_factor(struct kvmig__io *io, const char *key, uint64_t *milli)
{
    char *text;
    uint64_t value;

    if (!io->encode) {
        if (kvmig__quantity_scaled(kvmig__io_get(io, key), 3, &value))
            *milli = value;
    } else if (*milli != KVMIG__UNKNOWN) {
        text = kvmig__quantity_text(*milli);
        kvmig__io_set(io, key, json_object_new_string(text));
        free(text);
    }
}

static void visit_stall_detector(struct kvmig__io *io, struct kvmig__kube_config *config)
{
    kvmig__io_present(io, "stallDetector", &config->stall_detector);
    kvmig__io_begin(io, "stallDetector");
    visit_factor(io, "completionTimeoutFactor", &config->stall_factor_milli);
    kvmig__io_u64(io, "stallProgressTimeout", &config->stall_progress_s);
    kvmig__io_end(io);
}

void kvmig__visit_config(struct kvmig__io *io, struct kvmig__kube_config *config)
{
    kvmig__io_u64(io, "parallelMigrationsPerCluster", &config->parallel_cluster);
    kvmig__io_u64(io, "parallelOutboundMigrationsPerNode", &config->outbound_node);
    kvmig__io_bytes(io, "bandwidthPerMigration", &config->bandwidth);
    kvmig__io_u64(io, "completionTimeoutPerGiB", &config->completion_s_per_gb);
    kvmig__io_u64(io, "progressTimeout", &config->progress_s);
    kvmig__io_u64(io, "utilityVolumesTimeout", &config->utility_s);
    kvmig__io_u64(io, "maxDowntimeMs", &config->max_downtime_ms);
    kvmig__io_tri(io, "allowAutoConverge", &config->auto_converge);
    kvmig__io_tri(io, "allowPostCopy", &config->post_copy);
    kvmig__io_tri(io, "allowWorkloadDisruption", &config->workload_disruption);
    kvmig__io_tri(io, "unsafeMigrationOverride", &config->unsafe);
    kvmig__io_tri(io, "disableTLS", &config->disable_tls);
    kvmig__io_tri(io, "matchSELinuxLevelOnMigration", &config->match_selinux);
    kvmig__io_str(io, "network", &config->network);
    kvmig__io_str(io, "nodeDrainTaintKey", &config->drain_taint);
    kvmig__io_begin(io, "experimental");
    kvmig__io_str(io, "compression", &config->compression);
    visit_stall_detector(io, config);
    kvmig__io_present(io, "downtimeTuning", &config->downtime_tuning);
    kvmig__io_end(io);
}

/* ---- migrationState ---- */

/* A map from random port numbers to what they lead to; how many there are is all that matters. */
static void visit_ports(struct kvmig__io *io, const char *key, uint32_t *n)
{
    const struct kvmig__value *members = kvmig__io_get(io, key);
    struct json_object *map;

    if (!io->encode) {
        size_t length = kvmig__value_is(members, KVMIG__TAPE_OBJECT) ? members->n : *n;

        *n = length < KVMIG__IO_ITEMS ? (uint32_t)length : KVMIG__IO_ITEMS;
    } else if (*n) {
        map = json_object_new_object();
        for (uint32_t i = 0; i < *n; i++) {
            char *name = kvmig__asprintf("%" PRIu32, i + 1);

            json_object_object_add(map, name, json_object_new_int(0));
            free(name);
        }
        kvmig__io_set(io, key, map);
    }
}

static void visit_state_source(struct kvmig__io *io, struct kvmig__kube_migration_state *state)
{
    kvmig__io_str(io, "sourceNode", &state->source_node);
    kvmig__io_str(io, "sourcePod", &state->source_pod);
    kvmig__io_str(io, "sourcePersistentStatePVCName", &state->source_state_claim);
}

static void visit_state_target(struct kvmig__io *io, struct kvmig__kube_migration_state *state)
{
    kvmig__io_str(io, "targetNode", &state->target_node);
    kvmig__io_str(io, "targetPod", &state->target_pod);
    kvmig__io_str(io, "targetNodeAddress", &state->target_address);
    kvmig__io_str(io, "targetAttachmentPodUID", &state->attachment_pod_uid);
    kvmig__io_str(io, "targetPersistentStatePVCName", &state->target_state_claim);
    kvmig__io_time(io, "targetNodeDomainReadyTimestamp", &state->domain_ready_ms);
    kvmig__io_bool(io, "targetNodeDomainDetected", &state->domain_detected);
    visit_ports(io, "targetDirectMigrationNodePorts", &state->n_ports);
}

/* Each side's own block of a decentralised migration. What stands at the top of the state is read after it and wins. */
static void read_blocks(struct kvmig__io *io, struct kvmig__kube_migration_state *state)
{
    kvmig__io_begin(io, "sourceState");
    kvmig__io_str(io, "node", &state->source_node);
    kvmig__io_str(io, "pod", &state->source_pod);
    kvmig__io_str(io, "persistentStatePVCName", &state->source_state_claim);
    kvmig__io_end(io);
    kvmig__io_begin(io, "targetState");
    kvmig__io_str(io, "node", &state->target_node);
    kvmig__io_str(io, "pod", &state->target_pod);
    kvmig__io_str(io, "nodeAddress", &state->target_address);
    kvmig__io_str(io, "attachmentPodUID", &state->attachment_pod_uid);
    kvmig__io_str(io, "persistentStatePVCName", &state->target_state_claim);
    kvmig__io_time(io, "domainReadyTimestamp", &state->domain_ready_ms);
    kvmig__io_bool(io, "domainDetected", &state->domain_detected);
    visit_ports(io, "directMigrationNodePorts", &state->n_ports);
    kvmig__io_end(io);
}

void kvmig__visit_migration_state(struct kvmig__io *io, struct kvmig__kube_migration_state *state)
{
    kvmig__io_present(io, "migrationState", &state->present);
    kvmig__io_begin(io, "migrationState");
    if (!io->encode)
        read_blocks(io, state);
    kvmig__io_str(io, "migrationUid", &state->uid);
    kvmig__io_time(io, "startTimestamp", &state->start_ms);
    kvmig__io_time(io, "endTimestamp", &state->end_ms);
    kvmig__io_bool(io, "completed", &state->completed);
    kvmig__io_bool(io, "failed", &state->failed);
    kvmig__io_bool(io, "abortRequested", &state->abort_requested);
    kvmig__io_str(io, "abortStatus", &state->abort_status);
    kvmig__io_str(io, "failureReason", &state->failure_reason);
    kvmig__io_str(io, "mode", &state->mode);
    kvmig__io_str(io, "migrationPolicyName", &state->policy);
    kvmig__io_str(io, "migrationNetworkType", &state->network_type);
    visit_state_source(io, state);
    visit_state_target(io, state);
    kvmig__io_begin(io, "migrationConfiguration");
    kvmig__visit_config(io, &state->config);
    kvmig__io_end(io);
    kvmig__io_end(io);
}

/* ---- VirtualMachineInstanceMigration ---- */

void kvmig__visit_vmim(struct kvmig__io *io, struct kvmig__kube_vmim *vmim)
{
    kvmig__io_begin(io, "spec");
    kvmig__io_str(io, "vmiName", &vmim->vmi);
    kvmig__io_str(io, "priority", &vmim->priority);
    kvmig__io_pairs(io, "addedNodeSelector", &vmim->added_selector);
    kvmig__io_begin(io, "sendTo");
    kvmig__io_str(io, "migrationID", &vmim->send_to);
    kvmig__io_end(io);
    kvmig__io_begin(io, "receive");
    kvmig__io_str(io, "migrationID", &vmim->receive);
    kvmig__io_end(io);
    kvmig__io_end(io);
    kvmig__io_begin(io, "status");
    kvmig__io_str(io, "phase", &vmim->phase);
    kvmig__visit_conditions(io, &vmim->conditions);
    kvmig__visit_transitions(io, &vmim->transitions);
    kvmig__visit_migration_state(io, &vmim->state);
    kvmig__io_end(io);
}

/* ---- MigrationPolicy ---- */

void kvmig__visit_policy(struct kvmig__io *io, struct kvmig__kube_policy *policy)
{
    kvmig__io_begin(io, "spec");
    kvmig__io_present(io, "selectors", &policy->has_selectors);
    kvmig__io_begin(io, "selectors");
    kvmig__io_pairs(io, "virtualMachineInstanceSelector", &policy->vmi_selector);
    kvmig__io_pairs(io, "namespaceSelector", &policy->ns_selector);
    kvmig__io_end(io);
    kvmig__visit_config(io, &policy->config);
    kvmig__io_end(io);
}
