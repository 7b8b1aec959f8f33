/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What people have at hand beside the objects and hosts of a view: rows of OVN and Open vSwitch databases, and observations
 * (versions, mounts, images, certificates ...). Plain data, filled from files by the readers, read by the planner. Pure.
 * Strings are owned by the struct that holds them, NULL = not given; KVMIG__UNKNOWN = number not given. An empty list says
 * nothing unless its known_* says that it was given.
 */
#ifndef KVMIG_SRC_FACTS_H
#define KVMIG_SRC_FACTS_H

#include "base/base.h"

struct kvmig__fact_pair {
    char *key, *value;
};
struct kvmig__fact_map {
    struct kvmig__fact_pair *v;
    size_t n;
};

/* ---- rows ---- */
struct kvmig__fact_lsp { /* OVN_Northbound Logical_Switch_Port */
    char *uuid, *name, *type;
    struct kvmig__strlist addresses, port_security;
    struct kvmig__fact_map options, external_ids;
    int32_t enabled, up; /* 1, 0, -1 = column empty or not given */
};
struct kvmig__fact_port_group { /* OVN_Northbound Port_Group */
    char *name;
    struct kvmig__strlist ports; /* UUIDs */
    struct kvmig__fact_map external_ids;
};
struct kvmig__fact_chassis { /* OVN_Southbound Chassis */
    char *name, *hostname;
    struct kvmig__fact_map other_config;
};
struct kvmig__fact_binding { /* OVN_Southbound Port_Binding */
    char *logical_port, *chassis; /* chassis: name, or UUID if no such row was given */
    int32_t up;
};
struct kvmig__fact_interface { /* Open_vSwitch Interface */
    char *node, *name;
    struct kvmig__fact_map external_ids;
};

/* ---- observations ---- */
struct kvmig__fact_versions { /* of one side; 0 = not given; libvirt's numbers: 9002000 */
    uint64_t qemu, libvirt;
};
struct kvmig__fact_mount {
    char *node, *path, *type, *source;
};
struct kvmig__fact_image {
    char *disk; /* target dev or volume name */
    char *source_path, *source_pvc, *target_path, *target_pvc;
    uint64_t source_virtual_size;
    int32_t target_exists; /* 1, 0, -1 */
    uint64_t target_virtual_size, target_usable, target_capacity;
    char *target_volume_mode;
    double target_overhead; /* share of a file system; < 0 = not given */
};
struct kvmig__fact_mtu {
    bool known;
    int32_t localnet; /* 1, 0, -1 */
    uint64_t vif, underlay;
    char *encap;
    uint32_t underlay_ip; /* 4, 6; 0 = not given */
};
struct kvmig__fact_port_host { /* Neutron's binding of the port on a host */
    char *host, *status, *vif_type;
};
struct kvmig__fact_certificate {
    char *node, *subject_cn;
    struct kvmig__strlist dns, ip;
    int64_t not_before, not_after; /* s since 1970; -1 */
};

/* ---- what a migration has told: for the diagnosis (src/diagnose) ---- */
struct kvmig__fact_text { /* a log, or one message: whatever is none of the other things */
    char *file; /* path */
    char *text; /* without colours and carriage returns; ends with NUL */
    size_t length;
};
struct kvmig__fact_sample { /* statistics of a job, as virDomainGetJobStats tells them; KVMIG__UNKNOWN = not given */
    uint32_t line;
    uint64_t elapsed_ms, setup_ms, downtime_ms; /* downtime: expected, while the job runs */
    uint64_t memory_total, memory_processed, memory_remaining, memory_normal_bytes; /* bytes */
    uint64_t memory_bps; /* bytes/s */
    uint64_t memory_constant, memory_normal, memory_dirty_rate; /* pages, pages, pages/s */
    uint64_t page_size, iteration, postcopy_requests;
    uint64_t disk_total, disk_processed, disk_remaining, disk_bps; /* bytes, bytes/s */
};
struct kvmig__fact_samples { /* of one file, in its order */
    char *file;
    struct kvmig__fact_sample *v;
    size_t n;
};
struct kvmig__fact_job_event {
    char *file;
    uint32_t line;
    double time_s; /* on one clock with the others; < 0 = not given */
    char *side; /* "source", "target" */
    char *event, *detail; /* "SUSPENDED", "POSTCOPY" */
    char *status; /* QEMU's state of the migration */
};
struct kvmig__fact_job { /* virsh domjobinfo; KVMIG__UNKNOWN = not told */
    char *file;
    char *type; /* "None", "Unbounded", "Completed", "Failed", "Cancelled" */
    bool incoming;
    bool other; /* of another operation than a migration */
    uint64_t processed; /* bytes, of memory and disks */
    uint64_t elapsed_ms, downtime_ms;
    uint64_t memory_total, memory_remaining, memory_bps, disk_total, disk_remaining, iteration;
};
struct kvmig__fact_domain_state { /* virsh domstate --reason */
    char *file, *side, *node, *domain;
    char *state; /* "running", "paused", ..., "absent", "unreachable" */
    char *reason; /* NULL = not told */
};
struct kvmig__fact_block_job {
    char *device, *type, *status;
    uint64_t length, offset;
    int32_t ready; /* 1, 0, -1 */
};
struct kvmig__fact_network_wait { /* something waits for an event of the network */
    char *waiting_for, *host, *port_status, *binding_status;
    int64_t since, now; /* s since 1970; -1 */
};
struct kvmig__fact_probe { /* what clients saw; KVMIG__UNKNOWN = not told */
    uint64_t service_gap_ms, guest_gap_ms;
};

struct kvmig__fact_notice {
    char *code, *severity, *object, *message, *evidence;
};
struct kvmig__fact_error { /* of kvmig's own reports; name NULL = none */
    char *name, *message, *where, *evidence;
};
struct kvmig__fact_report { /* kvmig's own, of one migration; NULL = not told */
    char *file, *vm, *uuid, *source, *target;
    char *outcome; /* "Succeeded", "Failed", "Cancelled", "Indeterminate" */
    struct kvmig__fact_error error;
    char *proven, *host; /* last verdict of the resolver, and where the guest was then */
    int64_t started_ms; /* since 1970; 0 = not told */
    struct {
        struct kvmig__fact_notice *v;
        size_t n;
    } notices;
};

struct kvmig__fact_port_report { /* what `kvmig port` or kvmig_port_to_json() said of one port; NULL = not told */
    char *file, *name, *state;
    struct kvmig__fact_error error; /* of the operation that failed last */
};

/* ---- measurements that the caller gives for a forecast ---- */
struct kvmig__fact_measured {
    uint64_t memory_bytes, link_bits_per_s, dirty_bits_per_s; /* KVMIG__UNKNOWN */
};

struct kvmig__facts {
    struct {
        struct kvmig__fact_lsp *v;
        size_t n;
    } lsps;
    struct {
        struct kvmig__fact_port_group *v;
        size_t n;
    } port_groups;
    struct {
        struct kvmig__fact_chassis *v;
        size_t n;
    } chassis;
    struct {
        struct kvmig__fact_binding *v;
        size_t n;
    } bindings;
    struct {
        struct kvmig__fact_interface *v;
        size_t n;
    } interfaces;
    bool lsps_known, port_groups_known, chassis_known, bindings_known;
    struct kvmig__strlist interface_nodes; /* whose interfaces are known */
    struct kvmig__fact_versions source, target;
    char *ovn_version, *ovs_version;
    struct {
        struct kvmig__fact_mount *v;
        size_t n;
    } mounts;
    struct {
        struct kvmig__fact_image *v;
        size_t n;
    } images;
    struct kvmig__fact_mtu mtu;
    struct {
        struct kvmig__fact_port_host *v;
        size_t n;
    } port_hosts;
    struct {
        struct kvmig__fact_certificate *v;
        size_t n;
    } certificates;
    struct {
        struct kvmig__fact_text *v;
        size_t n;
    } texts;
    struct {
        struct kvmig__fact_samples *v;
        size_t n;
    } series;
    struct {
        struct kvmig__fact_job_event *v;
        size_t n;
    } events;
    struct {
        struct kvmig__fact_job *v;
        size_t n;
    } jobs;
    struct {
        struct kvmig__fact_domain_state *v;
        size_t n;
    } states;
    struct {
        struct kvmig__fact_block_job *v;
        size_t n;
    } block_jobs;
    struct {
        struct kvmig__fact_network_wait *v;
        size_t n;
    } network_waits;
    struct kvmig__fact_probe probe;
    struct {
        struct kvmig__fact_report *v;
        size_t n;
    } reports;
    struct {
        struct kvmig__fact_port_report *v;
        size_t n;
    } port_reports;
    char *cni, *ip_priority_label; /* cni-config */
    int32_t keep_vm_ip; /* 1, 0, -1 */
    struct kvmig__fact_measured measured;
    int64_t now; /* the time of the question, s since 1970; -1 = not given */
};

struct kvmig__facts *kvmig__facts_new(void); /* everything not given */
void kvmig__facts_free(struct kvmig__facts *facts); /* NULL is ignored */
void kvmig__fact_lsp_clear(struct kvmig__fact_lsp *lsp); /* frees what it owns */
const char *kvmig__fact_get(const struct kvmig__fact_map *map, const char *key); /* NULL if it has no such key */

#endif
