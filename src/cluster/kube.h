/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The Kubernetes half of the cluster model: compact facts about the API objects that matter to a migration, and a store of
 * them. Filled by the Kubernetes backend (src/kubernetes), read by the planner, the explanation and the session's driver. Pure
 * data: no handle, lock, clock, JSON.
 *
 * Every string may be NULL (absent), every enum of the API is an open string. Times are milliseconds since 1970 (UTC) as the
 * API server wrote them (most have a resolution of one second); 0 = absent. Sizes are bytes. Numbers that may be absent say
 * KVMIG__UNKNOWN; three-valued switches are 1, 0, or -1 = absent. Strings are owned by the struct that holds them.
 */
#ifndef KVMIG_SRC_KUBE_H
#define KVMIG_SRC_KUBE_H

#include "cluster/model.h"

/* ---- small shared shapes ---- */
struct kvmig__pair {
    char *key, *value;
};
struct kvmig__pairs { /* labels, annotations, selectors; in the order of the object */
    struct kvmig__pair *v;
    size_t n;
    bool sorted; /* by key, as API servers print them; then searching is cheap */
};
struct kvmig__amount { /* one entry of a resource list: "cpu", "memory", "devices.kubevirt.io/kvm", ... */
    char *name;
    uint64_t milli; /* thousandths of the unit (cores, bytes, pieces); saturates at UINT64_MAX - 1 */
};
struct kvmig__amounts {
    struct kvmig__amount *v;
    size_t n;
};
struct kvmig__kube_condition {
    char *type, *status, *reason, *message; /* status: "True", "False", "Unknown" */
    int64_t since_ms; /* lastTransitionTime */
    int64_t probed_ms; /* lastProbeTime (KubeVirt often fills only this one) */
};
struct kvmig__kube_conditions {
    struct kvmig__kube_condition *v;
    size_t n;
};
struct kvmig__requirement { /* of a label selector or node affinity term */
    char *key, *op; /* In, NotIn, Exists, DoesNotExist, Gt, Lt */
    struct kvmig__strlist values;
    bool is_field; /* matchFields: key is a field such as metadata.name */
};
struct kvmig__term { /* all of them must hold */
    struct kvmig__requirement *v;
    size_t n;
};
struct kvmig__terms { /* one of them must hold; none = no constraint */
    struct kvmig__term *v;
    size_t n;
};
struct kvmig__toleration {
    char *key, *op, *value, *effect;
};
struct kvmig__tolerations {
    struct kvmig__toleration *v;
    size_t n;
};
struct kvmig__pod_term { /* required pod affinity or anti-affinity */
    struct kvmig__term selector; /* matchLabels and matchExpressions together */
    struct kvmig__strlist namespaces; /* none and no selector = the pod's own */
    bool has_namespace_selector;
    struct kvmig__term namespace_selector; /* namespaces by their labels; empty = all */
    char *topology_key;
};
struct kvmig__pod_terms {
    struct kvmig__pod_term *v;
    size_t n;
};
struct kvmig__placement { /* what a VMI or a pod says about where it may run */
    struct kvmig__pairs node_selector;
    struct kvmig__terms node_required; /* affinity.nodeAffinity.requiredDuringScheduling... */
    struct kvmig__pod_terms pod_required, pod_forbidden; /* podAffinity, podAntiAffinity, required ones */
    struct kvmig__tolerations tolerations;
    struct { /* topologySpreadConstraints with whenUnsatisfiable DoNotSchedule */
        struct kvmig__spread {
            char *topology_key;
            uint32_t max_skew;
            struct kvmig__term selector;
        } * v;
        size_t n;
    } spread;
};
struct kvmig__kube_transition { /* phaseTransitionTimestamps: first entry into each phase */
    char *phase;
    int64_t at_ms;
};
struct kvmig__kube_transitions {
    struct kvmig__kube_transition *v;
    size_t n;
};

/* ---- metadata; the first member of every object ---- */
struct kvmig__kube_owner {
    char *kind, *name, *uid;
};
struct kvmig__kube_meta {
    int32_t kind; /* enum kvmig__kube_kind */
    char *ns, *name, *uid; /* ns NULL: cluster scoped */
    char *version; /* resourceVersion */
    int64_t created_ms, deleted_ms; /* deletionTimestamp */
    struct kvmig__pairs labels, annotations;
    struct {
        struct kvmig__kube_owner *v;
        size_t n;
    } owners;
    struct kvmig__strlist finalizers;
};

/* ---- core ---- */
struct kvmig__kube_node {
    struct kvmig__kube_meta meta;
    bool unschedulable;
    struct {
        struct kvmig__taint {
            char *key, *value, *effect;
        } * v;
        size_t n;
    } taints;
    struct kvmig__kube_conditions conditions;
    struct kvmig__amounts capacity, allocatable;
    struct kvmig__strlist addresses; /* internal IPs, then host names */
    char *architecture, *kernel, *kubelet;
    char *system_uuid; /* status.nodeInfo.systemUUID */
    struct kvmig__amounts
        told_usage; /* requests of the pods there, as the caller observed them; empty = count the pods */
};
struct kvmig__kube_container {
    char *name, *image, *image_id;
    bool init;
    bool sidecar; /* an init container that goes on running (restartPolicy Always) */
    bool ready, started;
    char *state; /* "waiting", "running", "terminated"; NULL = no status yet */
    char *reason, *message; /* of waiting or terminated */
    int64_t since_ms; /* running.startedAt or terminated.finishedAt */
    int32_t exit_code;
    uint32_t restarts;
    struct kvmig__amounts requests, limits;
};
struct kvmig__kube_pod {
    struct kvmig__kube_meta meta;
    char *node; /* spec.nodeName */
    char *phase, *reason, *message;
    char *ip;
    struct kvmig__strlist ips, claims; /* claims: PVC names of its volumes */
    struct kvmig__placement placement;
    struct kvmig__kube_conditions conditions;
    struct {
        struct kvmig__kube_container *v;
        size_t n;
    } containers; /* of the spec, with their status; statuses without a spec follow */
    struct kvmig__amounts overhead;
    int64_t started_ms; /* status.startTime */
};
struct kvmig__kube_pvc {
    struct kvmig__kube_meta meta;
    struct kvmig__strlist access_modes;
    char *storage_class, *volume_mode, *phase, *volume; /* volume: the PV's name */
    uint64_t requested, capacity; /* spec.resources.requests.storage; status.capacity.storage */
    bool populated; /* spec.dataSourceRef is there: a volume populator fills it */
};
struct kvmig__kube_pv {
    struct kvmig__kube_meta meta;
    struct kvmig__strlist access_modes;
    char *storage_class, *phase, *claim_ns, *claim;
    char *type; /* the key of the volume source: "csi", "local", "hostPath", "nfs", "rbd", "iscsi", "fc", ... */
    char *driver; /* of csi */
    char *path; /* local, hostPath, nfs */
    char *server; /* nfs */
    uint64_t capacity;
    struct kvmig__terms node_required; /* spec.nodeAffinity.required */
};
struct kvmig__kube_storage_class {
    struct kvmig__kube_meta meta;
    char *provisioner, *binding_mode; /* "Immediate", "WaitForFirstConsumer" */
    struct kvmig__pairs parameters;
    struct kvmig__terms topologies; /* allowedTopologies: nodes for which volumes can be made; none = any */
};
struct kvmig__kube_quota {
    struct kvmig__kube_meta meta;
    struct kvmig__amounts hard, used;
    struct kvmig__strlist scopes;
};
struct kvmig__kube_namespace {
    struct kvmig__kube_meta meta;
};
struct kvmig__kube_event {
    struct kvmig__kube_meta meta;
    char *about_kind, *about_ns, *about_name, *about_uid;
    char *type, *reason, *message, *component; /* type: "Normal", "Warning" */
    uint32_t count;
    int64_t first_ms, last_ms; /* from whichever of the event's several time fields is there */
};
struct kvmig__kube_endpoint {
    struct kvmig__strlist addresses;
    char *pod, *node; /* targetRef.name if it is a Pod; nodeName */
    int32_t ready, serving, terminating; /* 1, 0, -1 = absent (ready absent counts as ready) */
};
struct kvmig__kube_slice {
    struct kvmig__kube_meta meta;
    char *service; /* label kubernetes.io/service-name */
    struct {
        struct kvmig__kube_endpoint *v;
        size_t n;
    } endpoints;
};

/* ---- KubeVirt ---- */
struct kvmig__kube_config { /* migration options: of the CR, of a policy, or as resolved for one migration */
    uint64_t parallel_cluster, outbound_node; /* parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode */
    uint64_t bandwidth; /* bytes/s; 0 = unlimited */
    uint64_t completion_s_per_gb, progress_s, utility_s;
    uint64_t max_downtime_ms;
    int32_t auto_converge, post_copy, workload_disruption, unsafe, disable_tls, match_selinux; /* 1, 0, -1 */
    char *network, *drain_taint, *compression;
    bool stall_detector, downtime_tuning; /* experimental blocks that are there */
    uint64_t stall_factor_milli; /* stallDetector.completionTimeoutFactor, in thousandths; KVMIG__UNKNOWN */
    uint64_t stall_progress_s; /* stallDetector.stallProgressTimeout; KVMIG__UNKNOWN */
};
struct kvmig__kube_migration_state { /* status.migrationState of a VMI or VMIM */
    bool present;
    char *uid; /* migrationUid: of the migration that all of this is about */
    int64_t start_ms, end_ms, domain_ready_ms; /* startTimestamp, endTimestamp, targetNodeDomainReadyTimestamp */
    bool domain_detected, completed, failed, abort_requested;
    char *abort_status, *failure_reason, *mode, *policy, *network_type;
    char *source_node, *source_pod, *target_node, *target_pod, *target_address, *attachment_pod_uid;
    uint32_t n_ports; /* entries of targetDirectMigrationNodePorts */
    char *source_state_claim, *target_state_claim;
    struct kvmig__kube_config config; /* migrationConfiguration */
};
struct kvmig__kube_claim_info { /* persistentVolumeClaimInfo, sourcePVCInfo, destinationPVCInfo */
    char *claim, *volume_mode;
    struct kvmig__strlist access_modes;
    uint64_t capacity, requested;
    double filesystem_overhead; /* 0 = absent */
};
struct kvmig__kube_volume { /* of a VMI's or VM's spec */
    char *name;
    char *
        kind; /* the key of its source: "persistentVolumeClaim", "dataVolume", "containerDisk", "cloudInitNoCloud", ... */
    char *claim; /* claimName, or the DataVolume's name (which is its claim's) */
    char *image; /* containerDisk */
    bool hotpluggable, shared; /* shared: hostDisk.shared */
    bool utility; /* of spec.utilityVolumes */
};
struct kvmig__kube_volumes {
    struct kvmig__kube_volume *v;
    size_t n;
};
struct kvmig__kube_disk { /* spec.domain.devices.disks[] */
    char *name, *device, *bus, *cache, *io; /* device: "disk", "lun", "cdrom", "" = absent means disk */
    bool shareable, readonly, reservation; /* reservation: SCSI persistent reservation of a lun */
};
struct kvmig__kube_volume_status {
    char *name, *phase, *reason, *message, *target;
    bool hotplug; /* hotplugVolume is there */
    char *attach_pod, *attach_pod_uid;
    bool has_claim;
    struct kvmig__kube_claim_info claim;
};
struct kvmig__kube_migrated_volume {
    char *name;
    struct kvmig__kube_claim_info source, destination;
};
struct kvmig__kube_migrated_volumes {
    struct kvmig__kube_migrated_volume *v;
    size_t n;
};
struct kvmig__kube_interface { /* spec interface joined with its network and its status by name */
    char *name,
        *binding; /* "masquerade", "bridge", "sriov", "passt", "slirp", "plugin:<name>"; NULL = absent (bridge by default) */
    char *mac, *model, *multus; /* multus: NAD name; NULL = pod network, or none */
    bool in_spec, pod_network;
    char *ip, *status_mac, *link_state, *info_source;
    struct kvmig__strlist ips;
};
struct kvmig__kube_domain { /* spec.domain and what decides where a VMI can run */
    char *cpu_model;
    struct {
        struct kvmig__kube_feature {
            char *name, *policy;
        } * v;
        size_t n;
    } cpu_features;
    uint32_t sockets, cores, threads; /* 0 = absent */
    bool dedicated_cpus, isolated_emulator, realtime, numa;
    uint64_t memory; /* memory.guest; KVMIG__UNKNOWN */
    char *hugepages; /* page size */
    struct kvmig__amounts requests, limits;
    char *machine;
    struct kvmig__strlist hyperv; /* enabled enlightenments by their field name: "vpindex", "reenlightenment", ... */
    bool hyperv_passthrough;
    char *launch_security; /* "sev", "sevES", "sevSNP", "tdx", "" = another; NULL = none */
    struct kvmig__strlist host_devices, gpus; /* their deviceName */
    struct kvmig__strlist filesystems; /* virtiofs, by volume name */
    bool tpm, tpm_persistent, efi_persistent;
    char *firmware_uuid; /* of the domain */
    struct {
        struct kvmig__kube_disk *v;
        size_t n;
    } disks;
};
struct kvmig__kube_vmi {
    struct kvmig__kube_meta meta;
    struct kvmig__kube_domain domain;
    struct kvmig__kube_volumes volumes; /* utility volumes included */
    struct {
        struct kvmig__kube_interface *v;
        size_t n;
    } interfaces;
    struct kvmig__placement placement;
    char *architecture, *eviction_strategy, *scheduler;
    /* status */
    char *phase, *node, *reason;
    struct kvmig__kube_conditions conditions;
    struct kvmig__kube_transitions transitions;
    struct kvmig__kube_migration_state migration;
    char *migration_method, *migration_transport, *evacuation_node, *launcher_image, *selinux_context, *machine;
    struct kvmig__pairs active_pods; /* pod UID -> node */
    struct {
        struct kvmig__kube_volume_status *v;
        size_t n;
    } volume_status;
    struct kvmig__kube_migrated_volumes migrated_volumes;
    uint64_t tsc_frequency_hz; /* topologyHints.tscFrequency; 0 = absent */
    uint64_t memory_guest_current, memory_guest_requested; /* status.memory */
    uint32_t topology_sockets, topology_cores, topology_threads; /* status.currentCPUTopology; 0 = absent */
    char *backup; /* changedBlockTracking.backupStatus.backupName while it is not completed */
    int64_t backup_since_ms;
    char *qos_class;
};
struct kvmig__kube_vm {
    struct kvmig__kube_meta meta;
    char *run_strategy, *update_volumes_strategy, *printable_status;
    struct kvmig__kube_volumes volumes; /* of the template */
    struct kvmig__strlist data_volume_templates; /* their names */
    struct kvmig__kube_conditions conditions;
    struct kvmig__kube_migrated_volumes migrated_volumes; /* status.volumeUpdateState */
};
struct kvmig__kube_vmim {
    struct kvmig__kube_meta meta;
    char *vmi, *priority;
    struct kvmig__pairs added_selector;
    char *send_to, *receive; /* migrationID of a decentralised migration */
    char *phase; /* NULL or "" = not seen by the controller yet */
    struct kvmig__kube_conditions conditions;
    struct kvmig__kube_transitions transitions;
    struct kvmig__kube_migration_state state;
};
struct kvmig__kube_kubevirt {
    struct kvmig__kube_meta meta;
    char *phase, *version, *observed_deployment, *target_deployment;
    struct kvmig__kube_config config; /* spec.configuration.migrations */
    char *cpu_model, *eviction_strategy, *rollout_strategy; /* vmRolloutStrategy */
    struct kvmig__strlist obsolete_models; /* names whose value is true */
    bool obsolete_models_given, update_strategy_given;
    struct kvmig__strlist feature_gates, disabled_gates, update_methods;
    struct kvmig__strlist mediated_devices; /* permittedHostDevices.mediatedDevices[].resourceName */
    struct {
        struct kvmig__kube_binding {
            char *name, *method; /* method: of migration; "" if the block is there without one, NULL = no migration */
        } * v;
        size_t n;
    } bindings;
    struct kvmig__pairs node_selectors;
    uint64_t min_tsc_hz; /* 0 = absent */
    bool emulation; /* useEmulation */
};
/* Its resource is the annotation k8s.v1.cni.cncf.io/resourceName. */
struct kvmig__kube_nad {
    struct kvmig__kube_meta meta;
};
struct kvmig__kube_storage_profile { /* named as its storage class */
    struct kvmig__kube_meta meta;
    struct kvmig__strlist access_modes; /* of all status.claimPropertySets, in order, each once */
};
struct kvmig__kube_data_volume { /* its claim has the same name */
    struct kvmig__kube_meta meta;
    char *phase; /* "Succeeded", "WaitForFirstConsumer", "PendingPopulation", "ImportInProgress", "Failed", ... */
    char *progress; /* "42.00%", "N/A" */
};
struct kvmig__kube_policy {
    struct kvmig__kube_meta meta;
    bool has_selectors; /* absent selectors match nothing */
    struct kvmig__pairs vmi_selector, ns_selector;
    struct kvmig__kube_config config;
};

/* ---- the store ---- */

/* X(NAME, Kind, apiVersion, plural, namespaced, struct) */
#define KVMIG__KUBE_KINDS(X)                                                                                           \
    X(NODE, "Node", "v1", "nodes", false, kvmig__kube_node)                                                            \
    X(POD, "Pod", "v1", "pods", true, kvmig__kube_pod)                                                                 \
    X(PVC, "PersistentVolumeClaim", "v1", "persistentvolumeclaims", true, kvmig__kube_pvc)                             \
    X(PV, "PersistentVolume", "v1", "persistentvolumes", false, kvmig__kube_pv)                                        \
    X(STORAGE_CLASS, "StorageClass", "storage.k8s.io/v1", "storageclasses", false, kvmig__kube_storage_class)          \
    X(QUOTA, "ResourceQuota", "v1", "resourcequotas", true, kvmig__kube_quota)                                         \
    X(NAMESPACE, "Namespace", "v1", "namespaces", false, kvmig__kube_namespace)                                        \
    X(EVENT, "Event", "v1", "events", true, kvmig__kube_event)                                                         \
    X(SLICE, "EndpointSlice", "discovery.k8s.io/v1", "endpointslices", true, kvmig__kube_slice)                        \
    X(VMI, "VirtualMachineInstance", "kubevirt.io/v1", "virtualmachineinstances", true, kvmig__kube_vmi)               \
    X(VM, "VirtualMachine", "kubevirt.io/v1", "virtualmachines", true, kvmig__kube_vm)                                 \
    X(VMIM, "VirtualMachineInstanceMigration", "kubevirt.io/v1", "virtualmachineinstancemigrations", true,             \
      kvmig__kube_vmim)                                                                                                \
    X(KUBEVIRT, "KubeVirt", "kubevirt.io/v1", "kubevirts", true, kvmig__kube_kubevirt)                                 \
    X(POLICY, "MigrationPolicy", "migrations.kubevirt.io/v1alpha1", "migrationpolicies", false, kvmig__kube_policy)    \
    X(NAD, "NetworkAttachmentDefinition", "k8s.cni.cncf.io/v1", "network-attachment-definitions", true,                \
      kvmig__kube_nad)                                                                                                 \
    X(STORAGE_PROFILE, "StorageProfile", "cdi.kubevirt.io/v1beta1", "storageprofiles", false,                          \
      kvmig__kube_storage_profile)                                                                                     \
    X(DATA_VOLUME, "DataVolume", "cdi.kubevirt.io/v1beta1", "datavolumes", true, kvmig__kube_data_volume)

enum kvmig__kube_kind {
#define X(NAME, kind, api, plural, namespaced, type) KVMIG__KUBE_##NAME,
    KVMIG__KUBE_KINDS(X)
#undef X
        KVMIG__N_KUBE_KINDS
};

/* What the absence of an object means. */
enum kvmig__kube_known {
    KVMIG__KUBE_UNKNOWN, /* nothing was said about this kind: nothing may be concluded */
    KVMIG__KUBE_KNOWN, /* listed: what is not here does not exist (within the view's scope) */
    KVMIG__KUBE_FORBIDDEN, /* the account may not read it; as unknown, with a reason */
};

struct kvmig__kube_list { /* sorted by namespace, then name */
    struct kvmig__kube_meta **v;
    size_t n;
    int32_t known; /* enum kvmig__kube_known */
};
struct kvmig__kube {
    struct kvmig__kube_list kinds[KVMIG__N_KUBE_KINDS];
    bool scoped; /* VMs of one namespace, or one VM only: what concerns the whole cluster (slots) cannot be counted */
    int64_t now_ms; /* the time that waits are judged at: of the snapshot, or set by whoever asks; 0 = not known */
    bool trimmed; /* of files that somebody chose: objects may be cut down, so that an absent field means nothing */
    struct kvmig__kube_lookup *lookup; /* tables over all this (kube_lookup.h); NULL = none now; owned */
    bool keeps_lookup; /* objects change by kvmig__kube_put() and _remove() alone, so that the tables may stay */
};

struct kvmig__kube_kind_info {
    const char *kind, *api_version, *plural;
    bool namespaced;
    size_t size;
};
const struct kvmig__kube_kind_info *kvmig__kube_kind_info(int32_t kind); /* NULL out of range */
/* By Kind; group is what stands before the slash of apiVersion ("" for core), compared only if not NULL. -1 = not ours. */
int32_t kvmig__kube_kind_of(const char *api_version, const char *kind);

struct kvmig__kube_meta *kvmig__kube_object_new(int32_t kind); /* zeroed, unknowns set to unknown */
void kvmig__kube_object_free(struct kvmig__kube_meta *object); /* NULL is ignored */

/* Takes object and replaces one of the same namespace and name. Whether its kind is known is said by who fills the store. */
void kvmig__kube_put(struct kvmig__kube *kube, struct kvmig__kube_meta *object);
/* true if there was one. uid, if not NULL, must match: a late deletion does not remove what was created anew. */
bool kvmig__kube_remove(struct kvmig__kube *kube, int32_t kind, const char *ns, const char *name, const char *uid);
struct kvmig__kube_meta *kvmig__kube_find(const struct kvmig__kube *kube, int32_t kind, const char *ns,
                                          const char *name);
struct kvmig__kube_meta *kvmig__kube_find_uid(const struct kvmig__kube *kube, int32_t kind, const char *uid);
void kvmig__kube_clear(struct kvmig__kube *kube);

/* Typed look-ups; NULL if there is none. Borrowed. */
#define KVMIG__KUBE_FIND(kube, NAME, ns, name)                                                                         \
    ((KVMIG__KUBE_T_##NAME *)kvmig__kube_find((kube), KVMIG__KUBE_##NAME, (ns), (name)))
#define KVMIG__KUBE_T_NODE struct kvmig__kube_node
#define KVMIG__KUBE_T_POD struct kvmig__kube_pod
#define KVMIG__KUBE_T_PVC struct kvmig__kube_pvc
#define KVMIG__KUBE_T_PV struct kvmig__kube_pv
#define KVMIG__KUBE_T_STORAGE_CLASS struct kvmig__kube_storage_class
#define KVMIG__KUBE_T_QUOTA struct kvmig__kube_quota
#define KVMIG__KUBE_T_NAMESPACE struct kvmig__kube_namespace
#define KVMIG__KUBE_T_EVENT struct kvmig__kube_event
#define KVMIG__KUBE_T_SLICE struct kvmig__kube_slice
#define KVMIG__KUBE_T_VMI struct kvmig__kube_vmi
#define KVMIG__KUBE_T_VM struct kvmig__kube_vm
#define KVMIG__KUBE_T_VMIM struct kvmig__kube_vmim
#define KVMIG__KUBE_T_KUBEVIRT struct kvmig__kube_kubevirt
#define KVMIG__KUBE_T_POLICY struct kvmig__kube_policy
#define KVMIG__KUBE_T_NAD struct kvmig__kube_nad
#define KVMIG__KUBE_T_STORAGE_PROFILE struct kvmig__kube_storage_profile
#define KVMIG__KUBE_T_DATA_VOLUME struct kvmig__kube_data_volume
/* for (i over all objects of a kind): KVMIG__KUBE_EACH(kube, POD, pod) { ... pod->... } */
#define KVMIG__KUBE_EACH(kube, NAME, var)                                                                              \
    for (size_t var##_i = 0; var##_i < (kube)->kinds[KVMIG__KUBE_##NAME].n; var##_i++)                                 \
        for (const KVMIG__KUBE_T_##NAME *var =                                                                         \
                 (const KVMIG__KUBE_T_##NAME *)(kube)->kinds[KVMIG__KUBE_##NAME].v[var##_i];                           \
             var; var = NULL)

bool kvmig__kube_is_known(const struct kvmig__kube *kube, int32_t kind);

/* ---- questions that several readers ask (kube_ask.c) ---- */
const char *kvmig__pairs_get(const struct kvmig__pairs *pairs, const char *key); /* NULL if absent */
/* The first at or behind *at (begin with 0) whose key begins so; *at is set behind it. NULL = no more. */
const struct kvmig__pair *kvmig__pairs_next(const struct kvmig__pairs *pairs, const char *prefix, size_t *at);
void kvmig__pairs_set(struct kvmig__pairs *pairs, const char *key, const char *value);
void kvmig__pairs_clear(struct kvmig__pairs *pairs);
void kvmig__pairs_copy(struct kvmig__pairs *dst, const struct kvmig__pairs *src); /* overwrites dst */
uint64_t kvmig__amounts_get(const struct kvmig__amounts *amounts,
                            const char *name); /* milli; KVMIG__UNKNOWN if absent */
const struct kvmig__kube_condition *kvmig__kube_condition(const struct kvmig__kube_conditions *conditions,
                                                          const char *type);
bool kvmig__kube_condition_is(const struct kvmig__kube_conditions *conditions, const char *type, const char *status);
/* A VMI by "NAMESPACE/NAME", NAME or UID. *out_ambiguous: several namespaces have that name (then NULL). */
const struct kvmig__kube_vmi *kvmig__kube_vmi(const struct kvmig__kube *kube, const char *vm, bool *out_ambiguous);
bool kvmig__vmim_is_final(const struct kvmig__kube_vmim *vmim); /* phase Succeeded or Failed */
/* The one that is not final, or else the newest; NULL if none. */
const struct kvmig__kube_vmim *kvmig__kube_vmim_of(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi);
bool kvmig__pod_is_final(const struct kvmig__kube_pod *pod); /* phase Succeeded or Failed */
bool kvmig__pod_is_launcher(const struct kvmig__kube_pod *pod); /* label kubevirt.io=virt-launcher */
/* KubeVirt's readiness (not the Ready condition): phase Running, not terminating, compute running, every other container ready. */
bool kvmig__pod_is_ready_for_kubevirt(const struct kvmig__kube_pod *pod);
/* The newest target launcher or attachment pod of a migration, ended ones last; NULL if none. */
const struct kvmig__kube_pod *kvmig__kube_target_pod(const struct kvmig__kube *kube,
                                                     const struct kvmig__kube_vmim *vmim);
const struct kvmig__kube_pod *kvmig__kube_attachment_pod(const struct kvmig__kube *kube,
                                                         const struct kvmig__kube_vmim *vmim);
/* The launcher that the VMI runs in: on its node, not ended, no migration target unless its migration has ended there. */
const struct kvmig__kube_pod *kvmig__kube_source_pod(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi);
/* The KubeVirt object that is in force; NULL if not known. */
const struct kvmig__kube_kubevirt *kvmig__kube_kubevirt(const struct kvmig__kube *kube);
/* The migration options in force for a VMI: code defaults, then the CR, then the winning policy (kubevirt.md 1.5, 1.6). Fills
 * every member of *out (owned: kvmig__kube_config_clear). *out_policy: the winning policy or NULL; borrowed. */
void kvmig__kube_config_for(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi,
                            struct kvmig__kube_config *out, const struct kvmig__kube_policy **out_policy);
/* Why that policy, and not another one that matches. */
enum kvmig__kube_policy_why {
    KVMIG__POLICY_ONLY, /* no other one matches */
    KVMIG__POLICY_MORE_LABELS, /* it names more labels */
    KVMIG__POLICY_MORE_VM_LABELS, /* as many, and more of them are the VM's */
    KVMIG__POLICY_NAME, /* as many of each, and its name comes first */
};
struct kvmig__kube_policy_choice {
    const struct kvmig__kube_policy *winner; /* NULL: none matches */
    size_t vmi_labels, ns_labels; /* that it names */
    const struct kvmig__kube_policy *second; /* the best of the others; NULL: no other one matches */
    int32_t why; /* enum kvmig__kube_policy_why */
};
void kvmig__kube_policy_choice(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi,
                               struct kvmig__kube_policy_choice *out);
/* The longest pause, in ms, that the migration may cause: the option has an effect behind a gate only, and QEMU's default holds
 * otherwise. */
uint64_t kvmig__kube_pause_limit_ms(const struct kvmig__kube *kube, const struct kvmig__kube_config *config);
void kvmig__kube_config_init(struct kvmig__kube_config *config); /* everything absent */
void kvmig__kube_config_clear(struct kvmig__kube_config *config);
void kvmig__kube_config_copy(struct kvmig__kube_config *dst, const struct kvmig__kube_config *src);
bool kvmig__vmi_runs(const struct kvmig__kube_vmi *vmi); /* on a node, and has not ended */
bool kvmig__vmi_has_hotplug(const struct kvmig__kube_vmi *vmi); /* KubeVirt's rule for the attachment pod */
/* Whether a label selector or node affinity term holds; fields: metadata.name only. */
bool kvmig__requirement_holds(const struct kvmig__requirement *requirement, const struct kvmig__pairs *labels,
                              const char *name);
bool kvmig__terms_hold(const struct kvmig__terms *terms, const struct kvmig__pairs *labels, const char *name);
/* Whether all that decides between policies is seen: the policies, and the labels of the VMI's namespace if one asks for them. */
bool kvmig__kube_policies_seen(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi);
/* Whether a feature gate is on: named and not disabled; false for NULL. */
bool kvmig__kube_gate(const struct kvmig__kube_kubevirt *kubevirt, const char *gate);
/* Whether KubeVirt is being rolled out: until that is done it starts no migration of its own for changed volumes. */
bool kvmig__kube_is_updating(const struct kvmig__kube_kubevirt *kubevirt);
/* Whether KubeVirt migrates VMs to carry changes out, as volume migrations need: 1, 0, or -1 = not known, because the object may be
 * cut down to its essentials. */
int32_t kvmig__kube_updates_by_migration(const struct kvmig__kube *kube, const struct kvmig__kube_kubevirt *kubevirt);
/* The factor that KubeVirt's stall detector puts on the completion limit, in thousandths; 0 = it does not watch. */
uint64_t kvmig__kube_stall_factor_milli(const struct kvmig__kube *kube, const struct kvmig__kube_config *config);
/* Whether the guest has a device of the host: post-copy is never used then. */
bool kvmig__vmi_has_vfio(const struct kvmig__kube_vmi *vmi);
/* The completion limit of KubeVirt in seconds for this VMI (kubevirt.md 7.3); 0 = none. */
uint64_t kvmig__kube_completion_limit_s(const struct kvmig__kube_vmi *vmi, const struct kvmig__kube_config *config);

/* Slots as virt-controller counts them (kubevirt.md 2.2). */
struct kvmig__kube_slots {
    uint64_t running, limit; /* in the cluster */
    uint64_t outbound, outbound_limit; /* from this node */
    bool known; /* VMIMs and VMIs are known, cluster-wide */
};
void kvmig__kube_slots(const struct kvmig__kube *kube, const char *source_node, struct kvmig__kube_slots *out);
/* "NAMESPACE/NAME" of the migrations that hold a slot: all, or those that leave one node. Owned list. */
void kvmig__kube_slot_holders(const struct kvmig__kube *kube, const char *source_node, struct kvmig__strlist *out);
/* Place in the queue among Pending migrations without a target pod, 1 = next; 0 = it does not wait for a slot. */
uint32_t kvmig__kube_queue_position(const struct kvmig__kube *kube, const struct kvmig__kube_vmim *vmim);
/* How many wait so: all, or those that leave one node. */
uint32_t kvmig__kube_queue_length(const struct kvmig__kube *kube, const char *source_node);

#endif
