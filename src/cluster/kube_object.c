/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Birth and end of the objects of the Kubernetes store: what a fresh object says of things that it does not know, and freeing every
 * kind. Pure: no handle, lock, clock, JSON; any thread. An object owns all its strings and lists; free(NULL) is harmless, so
 * objects may be half filled.
 */
#include "cluster/kube.h"

#include <stdlib.h>
#include <string.h>

/* ---- shared shapes ---- */

void kvmig__pairs_clear(struct kvmig__pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++) {
        free(pairs->v[i].key);
        free(pairs->v[i].value);
    }
    free(pairs->v);
    *pairs = (struct kvmig__pairs){ 0 };
}

static void amounts_clear(struct kvmig__amounts *amounts)
{
    for (size_t i = 0; i < amounts->n; i++)
        free(amounts->v[i].name);
    free(amounts->v);
}

static void conditions_clear(struct kvmig__kube_conditions *conditions)
{
    for (size_t i = 0; i < conditions->n; i++) {
        free(conditions->v[i].type);
        free(conditions->v[i].status);
        free(conditions->v[i].reason);
        free(conditions->v[i].message);
    }
    free(conditions->v);
}

static void transitions_clear(struct kvmig__kube_transitions *transitions)
{
    for (size_t i = 0; i < transitions->n; i++)
        free(transitions->v[i].phase);
    free(transitions->v);
}

static void term_clear(struct kvmig__term *term)
{
    for (size_t i = 0; i < term->n; i++) {
        free(term->v[i].key);
        free(term->v[i].op);
        kvmig__strlist_clear(&term->v[i].values);
    }
    free(term->v);
}

static void terms_clear(struct kvmig__terms *terms)
{
    for (size_t i = 0; i < terms->n; i++)
        term_clear(&terms->v[i]);
    free(terms->v);
}

static void pod_terms_clear(struct kvmig__pod_terms *terms)
{
    for (size_t i = 0; i < terms->n; i++) {
        term_clear(&terms->v[i].selector);
        kvmig__strlist_clear(&terms->v[i].namespaces);
        term_clear(&terms->v[i].namespace_selector);
        free(terms->v[i].topology_key);
    }
    free(terms->v);
}

static void placement_clear(struct kvmig__placement *placement)
{
    kvmig__pairs_clear(&placement->node_selector);
    terms_clear(&placement->node_required);
    pod_terms_clear(&placement->pod_required);
    pod_terms_clear(&placement->pod_forbidden);
    for (size_t i = 0; i < placement->tolerations.n; i++) {
        free(placement->tolerations.v[i].key);
        free(placement->tolerations.v[i].op);
        free(placement->tolerations.v[i].value);
        free(placement->tolerations.v[i].effect);
    }
    free(placement->tolerations.v);
    for (size_t i = 0; i < placement->spread.n; i++) {
        free(placement->spread.v[i].topology_key);
        term_clear(&placement->spread.v[i].selector);
    }
    free(placement->spread.v);
}

static void meta_clear(struct kvmig__kube_meta *meta)
{
    free(meta->ns);
    free(meta->name);
    free(meta->uid);
    free(meta->version);
    kvmig__pairs_clear(&meta->labels);
    kvmig__pairs_clear(&meta->annotations);
    for (size_t i = 0; i < meta->owners.n; i++) {
        free(meta->owners.v[i].kind);
        free(meta->owners.v[i].name);
        free(meta->owners.v[i].uid);
    }
    free(meta->owners.v);
    kvmig__strlist_clear(&meta->finalizers);
}

void kvmig__kube_config_init(struct kvmig__kube_config *config)
{
    *config = (struct kvmig__kube_config){
        .parallel_cluster = KVMIG__UNKNOWN,
        .outbound_node = KVMIG__UNKNOWN,
        .bandwidth = KVMIG__UNKNOWN,
        .completion_s_per_gb = KVMIG__UNKNOWN,
        .progress_s = KVMIG__UNKNOWN,
        .utility_s = KVMIG__UNKNOWN,
        .max_downtime_ms = KVMIG__UNKNOWN,
        .stall_factor_milli = KVMIG__UNKNOWN,
        .stall_progress_s = KVMIG__UNKNOWN,
        .auto_converge = -1,
        .post_copy = -1,
        .workload_disruption = -1,
        .unsafe = -1,
        .disable_tls = -1,
        .match_selinux = -1,
    };
}

void kvmig__kube_config_clear(struct kvmig__kube_config *config)
{
    free(config->network);
    free(config->drain_taint);
    free(config->compression);
    kvmig__kube_config_init(config);
}

void kvmig__kube_config_copy(struct kvmig__kube_config *dst, const struct kvmig__kube_config *src)
{
    *dst = *src;
    dst->network = kvmig__strdup(src->network);
    dst->drain_taint = kvmig__strdup(src->drain_taint);
    dst->compression = kvmig__strdup(src->compression);
}

static void migration_state_clear(struct kvmig__kube_migration_state *state)
{
    free(state->uid);
    free(state->abort_status);
    free(state->failure_reason);
    free(state->mode);
    free(state->policy);
    free(state->network_type);
    free(state->source_node);
    free(state->source_pod);
    free(state->target_node);
    free(state->target_pod);
    free(state->target_address);
    free(state->attachment_pod_uid);
    free(state->source_state_claim);
    free(state->target_state_claim);
    kvmig__kube_config_clear(&state->config);
}

static void claim_info_clear(struct kvmig__kube_claim_info *claim)
{
    free(claim->claim);
    free(claim->volume_mode);
    kvmig__strlist_clear(&claim->access_modes);
}

static void volumes_clear(struct kvmig__kube_volumes *volumes)
{
    for (size_t i = 0; i < volumes->n; i++) {
        free(volumes->v[i].name);
        free(volumes->v[i].kind);
        free(volumes->v[i].claim);
        free(volumes->v[i].image);
    }
    free(volumes->v);
}

static void migrated_volumes_clear(struct kvmig__kube_migrated_volumes *volumes)
{
    for (size_t i = 0; i < volumes->n; i++) {
        free(volumes->v[i].name);
        claim_info_clear(&volumes->v[i].source);
        claim_info_clear(&volumes->v[i].destination);
    }
    free(volumes->v);
}

/* ---- core kinds ---- */

static void node_clear(struct kvmig__kube_node *node)
{
    for (size_t i = 0; i < node->taints.n; i++) {
        free(node->taints.v[i].key);
        free(node->taints.v[i].value);
        free(node->taints.v[i].effect);
    }
    free(node->taints.v);
    conditions_clear(&node->conditions);
    amounts_clear(&node->capacity);
    amounts_clear(&node->allocatable);
    kvmig__strlist_clear(&node->addresses);
    free(node->architecture);
    free(node->kernel);
    free(node->kubelet);
    free(node->system_uuid);
    amounts_clear(&node->told_usage);
}

static void container_clear(struct kvmig__kube_container *container)
{
    free(container->name);
    free(container->image);
    free(container->image_id);
    free(container->state);
    free(container->reason);
    free(container->message);
    amounts_clear(&container->requests);
    amounts_clear(&container->limits);
}

static void pod_clear(struct kvmig__kube_pod *pod)
{
    free(pod->node);
    free(pod->phase);
    free(pod->reason);
    free(pod->message);
    free(pod->ip);
    kvmig__strlist_clear(&pod->ips);
    kvmig__strlist_clear(&pod->claims);
    placement_clear(&pod->placement);
    conditions_clear(&pod->conditions);
    for (size_t i = 0; i < pod->containers.n; i++)
        container_clear(&pod->containers.v[i]);
    free(pod->containers.v);
    amounts_clear(&pod->overhead);
}

static void pvc_clear(struct kvmig__kube_pvc *pvc)
{
    kvmig__strlist_clear(&pvc->access_modes);
    free(pvc->storage_class);
    free(pvc->volume_mode);
    free(pvc->phase);
    free(pvc->volume);
}

static void pv_clear(struct kvmig__kube_pv *pv)
{
    kvmig__strlist_clear(&pv->access_modes);
    free(pv->storage_class);
    free(pv->phase);
    free(pv->claim_ns);
    free(pv->claim);
    free(pv->type);
    free(pv->driver);
    free(pv->path);
    free(pv->server);
    terms_clear(&pv->node_required);
}

static void storage_class_clear(struct kvmig__kube_storage_class *storage)
{
    free(storage->provisioner);
    free(storage->binding_mode);
    kvmig__pairs_clear(&storage->parameters);
    terms_clear(&storage->topologies);
}

static void data_volume_clear(struct kvmig__kube_data_volume *volume)
{
    free(volume->phase);
    free(volume->progress);
}

static void quota_clear(struct kvmig__kube_quota *quota)
{
    amounts_clear(&quota->hard);
    amounts_clear(&quota->used);
    kvmig__strlist_clear(&quota->scopes);
}

static void event_clear(struct kvmig__kube_event *event)
{
    free(event->about_kind);
    free(event->about_ns);
    free(event->about_name);
    free(event->about_uid);
    free(event->type);
    free(event->reason);
    free(event->message);
    free(event->component);
}

static void slice_clear(struct kvmig__kube_slice *slice)
{
    free(slice->service);
    for (size_t i = 0; i < slice->endpoints.n; i++) {
        kvmig__strlist_clear(&slice->endpoints.v[i].addresses);
        free(slice->endpoints.v[i].pod);
        free(slice->endpoints.v[i].node);
    }
    free(slice->endpoints.v);
}

/* ---- KubeVirt's kinds ---- */

static void domain_clear(struct kvmig__kube_domain *domain)
{
    free(domain->cpu_model);
    for (size_t i = 0; i < domain->cpu_features.n; i++) {
        free(domain->cpu_features.v[i].name);
        free(domain->cpu_features.v[i].policy);
    }
    free(domain->cpu_features.v);
    free(domain->hugepages);
    amounts_clear(&domain->requests);
    amounts_clear(&domain->limits);
    free(domain->machine);
    kvmig__strlist_clear(&domain->hyperv);
    free(domain->launch_security);
    free(domain->firmware_uuid);
    kvmig__strlist_clear(&domain->host_devices);
    kvmig__strlist_clear(&domain->gpus);
    kvmig__strlist_clear(&domain->filesystems);
    for (size_t i = 0; i < domain->disks.n; i++) {
        free(domain->disks.v[i].name);
        free(domain->disks.v[i].device);
        free(domain->disks.v[i].bus);
        free(domain->disks.v[i].cache);
        free(domain->disks.v[i].io);
    }
    free(domain->disks.v);
}

static void interface_clear(struct kvmig__kube_interface *interface)
{
    free(interface->name);
    free(interface->binding);
    free(interface->mac);
    free(interface->model);
    free(interface->multus);
    free(interface->ip);
    free(interface->status_mac);
    free(interface->link_state);
    free(interface->info_source);
    kvmig__strlist_clear(&interface->ips);
}

static void volume_status_clear(struct kvmig__kube_volume_status *status)
{
    free(status->name);
    free(status->phase);
    free(status->reason);
    free(status->message);
    free(status->target);
    free(status->attach_pod);
    free(status->attach_pod_uid);
    claim_info_clear(&status->claim);
}

static void vmi_clear_spec(struct kvmig__kube_vmi *vmi)
{
    domain_clear(&vmi->domain);
    volumes_clear(&vmi->volumes);
    for (size_t i = 0; i < vmi->interfaces.n; i++)
        interface_clear(&vmi->interfaces.v[i]);
    free(vmi->interfaces.v);
    placement_clear(&vmi->placement);
    free(vmi->architecture);
    free(vmi->eviction_strategy);
    free(vmi->scheduler);
}

static void vmi_clear(struct kvmig__kube_vmi *vmi)
{
    vmi_clear_spec(vmi);
    free(vmi->phase);
    free(vmi->node);
    free(vmi->reason);
    conditions_clear(&vmi->conditions);
    transitions_clear(&vmi->transitions);
    migration_state_clear(&vmi->migration);
    free(vmi->migration_method);
    free(vmi->migration_transport);
    free(vmi->evacuation_node);
    free(vmi->launcher_image);
    free(vmi->selinux_context);
    free(vmi->machine);
    kvmig__pairs_clear(&vmi->active_pods);
    for (size_t i = 0; i < vmi->volume_status.n; i++)
        volume_status_clear(&vmi->volume_status.v[i]);
    free(vmi->volume_status.v);
    migrated_volumes_clear(&vmi->migrated_volumes);
    free(vmi->backup);
    free(vmi->qos_class);
}

static void vm_clear(struct kvmig__kube_vm *vm)
{
    free(vm->run_strategy);
    free(vm->update_volumes_strategy);
    free(vm->printable_status);
    volumes_clear(&vm->volumes);
    kvmig__strlist_clear(&vm->data_volume_templates);
    conditions_clear(&vm->conditions);
    migrated_volumes_clear(&vm->migrated_volumes);
}

static void vmim_clear(struct kvmig__kube_vmim *vmim)
{
    free(vmim->vmi);
    free(vmim->priority);
    kvmig__pairs_clear(&vmim->added_selector);
    free(vmim->send_to);
    free(vmim->receive);
    free(vmim->phase);
    conditions_clear(&vmim->conditions);
    transitions_clear(&vmim->transitions);
    migration_state_clear(&vmim->state);
}

static void kubevirt_clear(struct kvmig__kube_kubevirt *kubevirt)
{
    free(kubevirt->phase);
    free(kubevirt->version);
    free(kubevirt->observed_deployment);
    free(kubevirt->target_deployment);
    kvmig__kube_config_clear(&kubevirt->config);
    free(kubevirt->cpu_model);
    free(kubevirt->eviction_strategy);
    free(kubevirt->rollout_strategy);
    kvmig__strlist_clear(&kubevirt->obsolete_models);
    kvmig__strlist_clear(&kubevirt->feature_gates);
    kvmig__strlist_clear(&kubevirt->disabled_gates);
    kvmig__strlist_clear(&kubevirt->update_methods);
    kvmig__strlist_clear(&kubevirt->mediated_devices);
    for (size_t i = 0; i < kubevirt->bindings.n; i++) {
        free(kubevirt->bindings.v[i].name);
        free(kubevirt->bindings.v[i].method);
    }
    free(kubevirt->bindings.v);
    kvmig__pairs_clear(&kubevirt->node_selectors);
}

static void policy_clear(struct kvmig__kube_policy *policy)
{
    kvmig__pairs_clear(&policy->vmi_selector);
    kvmig__pairs_clear(&policy->ns_selector);
    kvmig__kube_config_clear(&policy->config);
}

/* ---- any kind ---- */

/* Numbers whose zero would be a value; all others are zero when absent. */
static void set_unknowns(struct kvmig__kube_meta *object)
{
    switch (object->kind) {
    case KVMIG__KUBE_PVC:
        ((struct kvmig__kube_pvc *)object)->requested = KVMIG__UNKNOWN;
        ((struct kvmig__kube_pvc *)object)->capacity = KVMIG__UNKNOWN;
        break;
    case KVMIG__KUBE_PV:
        ((struct kvmig__kube_pv *)object)->capacity = KVMIG__UNKNOWN;
        break;
    case KVMIG__KUBE_VMI:
        ((struct kvmig__kube_vmi *)object)->domain.memory = KVMIG__UNKNOWN;
        ((struct kvmig__kube_vmi *)object)->memory_guest_current = KVMIG__UNKNOWN;
        ((struct kvmig__kube_vmi *)object)->memory_guest_requested = KVMIG__UNKNOWN;
        kvmig__kube_config_init(&((struct kvmig__kube_vmi *)object)->migration.config);
        break;
    case KVMIG__KUBE_VMIM:
        kvmig__kube_config_init(&((struct kvmig__kube_vmim *)object)->state.config);
        break;
    case KVMIG__KUBE_KUBEVIRT:
        kvmig__kube_config_init(&((struct kvmig__kube_kubevirt *)object)->config);
        break;
    case KVMIG__KUBE_POLICY:
        kvmig__kube_config_init(&((struct kvmig__kube_policy *)object)->config);
        break;
    default:
        break;
    }
}

struct kvmig__kube_meta *kvmig__kube_object_new(int32_t kind)
{
    const struct kvmig__kube_kind_info *info = kvmig__kube_kind_info(kind);
    struct kvmig__kube_meta *object;

    if (!info)
        return NULL;
    object = kvmig__calloc(1, info->size);
    object->kind = kind;
    set_unknowns(object);
    return object;
}

static void clear_body(struct kvmig__kube_meta *object)
{
    switch (object->kind) {
    case KVMIG__KUBE_NODE:
        node_clear((struct kvmig__kube_node *)object);
        break;
    case KVMIG__KUBE_POD:
        pod_clear((struct kvmig__kube_pod *)object);
        break;
    case KVMIG__KUBE_PVC:
        pvc_clear((struct kvmig__kube_pvc *)object);
        break;
    case KVMIG__KUBE_PV:
        pv_clear((struct kvmig__kube_pv *)object);
        break;
    case KVMIG__KUBE_STORAGE_CLASS:
        storage_class_clear((struct kvmig__kube_storage_class *)object);
        break;
    case KVMIG__KUBE_QUOTA:
        quota_clear((struct kvmig__kube_quota *)object);
        break;
    case KVMIG__KUBE_EVENT:
        event_clear((struct kvmig__kube_event *)object);
        break;
    case KVMIG__KUBE_SLICE:
        slice_clear((struct kvmig__kube_slice *)object);
        break;
    case KVMIG__KUBE_VMI:
        vmi_clear((struct kvmig__kube_vmi *)object);
        break;
    case KVMIG__KUBE_VM:
        vm_clear((struct kvmig__kube_vm *)object);
        break;
    case KVMIG__KUBE_VMIM:
        vmim_clear((struct kvmig__kube_vmim *)object);
        break;
    case KVMIG__KUBE_KUBEVIRT:
        kubevirt_clear((struct kvmig__kube_kubevirt *)object);
        break;
    case KVMIG__KUBE_POLICY:
        policy_clear((struct kvmig__kube_policy *)object);
        break;
    case KVMIG__KUBE_STORAGE_PROFILE:
        kvmig__strlist_clear(&((struct kvmig__kube_storage_profile *)object)->access_modes);
        break;
    case KVMIG__KUBE_DATA_VOLUME:
        data_volume_clear((struct kvmig__kube_data_volume *)object);
        break;
    default: /* others have nothing but their metadata */
        break;
    }
}

void kvmig__kube_object_free(struct kvmig__kube_meta *object)
{
    if (!object)
        return;
    clear_body(object);
    meta_clear(object);
    free(object);
}
