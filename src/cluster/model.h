/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cluster model: plain facts about hosts and domains, as every backend fills them and the planner reads them. Pure
 * data: no handle, no lock, no clock. Strings are owned by the struct that holds them, NULL = not known. Numbers that
 * may be unknown say which value means so. Sizes are bytes.
 */
#ifndef KVMIG_SRC_MODEL_H
#define KVMIG_SRC_MODEL_H

#include "base/base.h"

#define KVMIG__UNKNOWN UINT64_MAX
/* Of figures that may come from anywhere: a sum that has no room, or of which a part is not known, is not known. */
static inline uint64_t kvmig__sum(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? KVMIG__UNKNOWN : a + b;
}

/* ---- CPU ---- */
enum kvmig__cpu_mode {
    KVMIG__CPU_NONE,
    KVMIG__CPU_CUSTOM,
    KVMIG__CPU_HOST_MODEL,
    KVMIG__CPU_HOST_PASSTHROUGH,
    KVMIG__CPU_MAXIMUM
};
enum kvmig__cpu_policy {
    KVMIG__CPU_REQUIRE,
    KVMIG__CPU_FORCE,
    KVMIG__CPU_OPTIONAL,
    KVMIG__CPU_DISABLE,
    KVMIG__CPU_FORBID
};
struct kvmig__cpu_feature {
    char *name;
    int32_t policy; /* enum kvmig__cpu_policy */
};
struct kvmig__cpu {
    int32_t mode; /* enum kvmig__cpu_mode */
    char *model;
    char *vendor;
    char *check; /* "none", "partial", "full" */
    int32_t migratable; /* host-passthrough's migratable attribute: 1, 0, -1 = not given */
    struct {
        struct kvmig__cpu_feature *v;
        size_t n;
    } features; /* as written, canonical names */
    struct kvmig__strlist expanded; /* every feature incl. those of the model; empty = could not be expanded */
    bool expanded_known;
    uint64_t tsc_frequency_hz; /* 0 = not pinned */
    char *xml; /* the <cpu> element as text; NULL if none */
};
struct kvmig__cpu_model {
    char *name;
    bool usable; /* false = the host says that it is not */
    char *vendor;
    char *canonical; /* the versioned model that name stands for; NULL = none */
    struct kvmig__strlist blockers; /* features that make it unusable (libvirt >= 10.2 prints them) */
};

/* ---- storage of a host ---- */
struct kvmig__volume {
    char *name, *path, *format;
    uint64_t capacity, allocation; /* KVMIG__UNKNOWN */
    char *ctime; /* "seconds.nanoseconds" of the file's inode as libvirt prints it; identity evidence */
    char *backing_path;
};
struct kvmig__pool {
    char *name, *uuid, *type; /* "dir", "netfs", "logical", "rbd", "iscsi", ... */
    bool active;
    char *target_path;
    char *source_host, *source_dir, *source_name,
        *source_device; /* what makes a network pool the same pool elsewhere */
    uint64_t capacity, available;
    struct {
        struct kvmig__volume *v;
        size_t n;
    } volumes;
};
struct kvmig__block_device { /* a host block device as libvirt's node devices tell it */
    struct kvmig__strlist paths; /* /dev/... and its by-id, by-path links */
    char *serial, *wwn;
    uint64_t size; /* KVMIG__UNKNOWN */
};

/* ---- memory and processors of a host ---- */
struct kvmig__pages {
    uint64_t size; /* bytes of one page */
    uint64_t total, free; /* pages; KVMIG__UNKNOWN */
};
struct kvmig__numa_cell {
    uint32_t id;
    uint64_t memory; /* KVMIG__UNKNOWN */
    struct {
        uint32_t *v;
        size_t n;
    } cpus; /* numbers of the host's CPUs */
    struct {
        struct kvmig__pages *v;
        size_t n;
    } pages;
};

/* ---- secrets ---- */
struct kvmig__secret { /* of a host; or what a guest refers to, by UUID or by usage */
    char *uuid;
    char *usage_type; /* "ceph", "iscsi", "tls", "vtpm", "volume" */
    char *usage;
    char *of; /* a guest's: "vda", "tpm" ...; NULL for a host's */
};

/* ---- network of a host ---- */
struct kvmig__network {
    char *name, *bridge;
    bool active;
    struct kvmig__strlist portgroups;
};

/* ---- what QEMU offers there ---- */
struct kvmig__machine {
    char *name; /* as usable in domain XML, aliases included */
    char *canonical; /* NULL if name is no alias */
    char *arch;
};
struct kvmig__offer { /* "video/modelType" -> "virtio", "vga" ...: one list of the domain capabilities */
    char *what;
    struct kvmig__strlist values; /* empty = the device is not supported at all */
};
struct kvmig__emulator {
    char *path, *arch, *virt_type; /* "kvm", "qemu" */
    char *machine; /* the machine type that these answers were asked for */
    struct kvmig__cpu host_model; /* mode custom; what host-model means there */
    bool host_model_known, passthrough_supported, maximum_supported;
    bool passthrough_told,
        maximum_told; /* the capabilities speak of that mode at all; older libvirt knows no maximum */
    bool host_passthrough_migratable;
    struct {
        struct kvmig__offer *v;
        size_t n;
    } offers; /* lists that this libvirt printed; one that is not here is not known */
    struct {
        struct kvmig__cpu_model *v;
        size_t n;
    } models;
};

/* ---- domains ---- */
enum kvmig__disk_type {
    KVMIG__DISK_FILE,
    KVMIG__DISK_BLOCK,
    KVMIG__DISK_NETWORK,
    KVMIG__DISK_VOLUME,
    KVMIG__DISK_DIR,
    KVMIG__DISK_NVME,
    KVMIG__DISK_VHOST_USER,
    KVMIG__DISK_OTHER
};
struct kvmig__disk_source { /* one image: the top one or a backing one */
    int32_t type; /* enum kvmig__disk_type */
    char *path; /* file, block, dir */
    char *protocol, *name, *host; /* network: "rbd", "pool/image", first host[:port] */
    char *pool, *volume;
    char *format; /* "raw", "qcow2" */
    uint64_t capacity; /* virtual size; KVMIG__UNKNOWN */
};
struct kvmig__disk {
    char *target; /* "vda" */
    char *bus, *device; /* "virtio"; "disk", "cdrom", "floppy", "lun" */
    struct kvmig__disk_source source;
    bool has_source; /* false = empty drive */
    struct {
        struct kvmig__disk_source *v;
        size_t n;
    } backing; /* from top to base */
    char *cache, *io, *discard;
    bool readonly, shareable, transient;
    uint64_t capacity, allocation, physical; /* virDomainGetBlockInfo; KVMIG__UNKNOWN */
    bool job_active; /* a block job runs on it */
};
struct kvmig__interface {
    uint32_t queues; /* 0 = not given */
    char *type; /* "bridge", "network", "direct", "hostdev", "vhostuser", "vdpa", "user", ... */
    char *source; /* bridge, network, device */
    char *portgroup, *mac, *model, *target, *virtualport, *alias;
    char *interface_id; /* by which a port of Open vSwitch is told what it is plugged into */
};
struct kvmig__device { /* a device kind that may be in the way */
    char *kind; /* "hostdev", "filesystem", "tpm", "shmem", "memory", "vsock", "redirdev", ... */
    char *type; /* hostdev: pci, usb, mdev, scsi ...; filesystem: virtiofs, 9p ...; tpm: emulator, passthrough ... */
    char *name; /* address, mount tag or alias, for people */
    bool managed; /* hostdev: libvirt detaches it from the host; tpm: persistent_state; shmem: role master */
};
struct kvmig__need { /* what a guest needs of its emulator, in the words of struct kvmig__offer */
    char *what, *value; /* "video/modelType", "virtio" */
    char *name; /* of the device, for people */
};
struct kvmig__cpu_pin { /* what is bound to CPUs of the host */
    char *what; /* "vcpu 3", "emulator", "iothread 1" */
    char *cpus; /* "0-3,^2" */
};
enum kvmig__domain_state { /* virDomainState by meaning; the numbers are ours */
                           KVMIG__STATE_ABSENT,
                           KVMIG__STATE_RUNNING,
                           KVMIG__STATE_PAUSED,
                           KVMIG__STATE_SHUTOFF,
                           KVMIG__STATE_CRASHED,
                           KVMIG__STATE_SUSPENDED_PM,
                           KVMIG__STATE_OTHER
};
enum kvmig__domain_reason { /* reasons that matter to a migration */
                            KVMIG__REASON_OTHER,
                            KVMIG__REASON_USER,
                            KVMIG__REASON_MIGRATION,
                            KVMIG__REASON_MIGRATED,
                            KVMIG__REASON_IOERROR,
                            KVMIG__REASON_STARTING_UP,
                            KVMIG__REASON_POSTCOPY,
                            KVMIG__REASON_POSTCOPY_FAILED,
                            KVMIG__REASON_API_ERROR,
                            KVMIG__REASON_MIGRATION_CANCELED,
                            KVMIG__REASON_CRASHED,
                            KVMIG__REASON_UNPAUSED, /* running: resumed by somebody's call */
                            KVMIG__REASON_BOOTED, /* running: started afresh */
                            KVMIG__REASON_FAILED, /* shut off: it could not be started */
                            KVMIG__REASON_SHUTDOWN, /* shut off: the guest powered itself off */
                            KVMIG__REASON_DESTROYED, /* shut off: somebody's call ended it */
                            KVMIG__REASON_UNSPECIFIED /* libvirt knows of none: shut off since before its daemon started */
};
struct kvmig__domain {
    char *name, *uuid;
    int32_t state; /* enum kvmig__domain_state */
    int32_t reason; /* enum kvmig__domain_reason */
    bool persistent;
    bool job_active; /* a job (migration, save, backup ...) runs */
    bool migrating_out, migrating_in;
    uint32_t snapshots, checkpoints;
    char *virt_type, *arch, *machine, *emulator;
    uint64_t memory, max_memory; /* bytes: what the balloon leaves to the guest now; what QEMU holds for it */
    uint32_t vcpus;
    struct kvmig__cpu cpu; /* of the running guest */
    bool running_xml; /* the XML is that of the running guest and not of its definition */
    bool hugepages;
    bool hugepages_mixed; /* pages of several sizes, for parts of the memory */
    uint64_t hugepage_size; /* 0 = host default */
    char *memory_source; /* memoryBacking: "anonymous", "file", "memfd"; NULL = not given */
    bool memory_locked;
    bool memory_hard_limit; /* memtune */
    struct {
        struct kvmig__cpu_pin *v;
        size_t n;
    } cpu_pins;
    bool cpu_limited; /* QEMU's own threads have a quota of processor time */
    struct {
        struct kvmig__secret *v;
        size_t n;
    } secrets; /* that it refers to */
    struct {
        struct kvmig__need *v;
        size_t n;
    } needs;
    bool hyperv_passthrough; /* all Hyper-V settings are those of the host */
    bool video_by_default; /* a video device whose model is left to libvirt */
    bool numa_pinned; /* numatune strict to host nodes */
    char *numa_nodeset;
    char *loader, *nvram;
    bool nvram_present;
    struct {
        struct kvmig__disk *v;
        size_t n;
    } disks;
    struct {
        struct kvmig__interface *v;
        size_t n;
    } interfaces;
    struct {
        struct kvmig__device *v;
        size_t n;
    } devices;
    char *xml; /* the XML that this was read from: of the guest as it runs, or of its definition */
};

/* ---- a host ---- */
enum kvmig__host_state { KVMIG__HOST_CONNECTING, KVMIG__HOST_UP, KVMIG__HOST_LOST };
struct kvmig__host {
    char *name; /* host name as the host says; unique in the view (the URI until known, or if taken) */
    char *uri;
    int32_t state; /* enum kvmig__host_state */
    bool from_files; /* nobody asked the host: what is not known of it is no evidence, also where no *_known is kept */
    struct kvmig_error *lost_error;
    char *uuid;
    uint64_t libvirt_version, qemu_version; /* libvirt's numbers: 9000000; 0 = unknown */
    uint64_t client_version; /* of libvirt's library in this process, which talks to it; 0 = unknown */
    char *arch;
    uint32_t cpus;
    uint64_t memory_total, memory_free; /* KVMIG__UNKNOWN */
    uint64_t tsc_frequency_hz; /* 0 = not known */
    int32_t tsc_scaling; /* guests may have another frequency: 1, 0, -1 = not known */
    struct {
        struct kvmig__numa_cell *v;
        size_t n;
    } cells;
    bool cells_known;
    struct {
        struct kvmig__secret *v;
        size_t n;
    } secrets;
    bool secrets_known;
    struct kvmig__strlist virt_types; /* "x86_64 kvm": architecture and kind of guests it can run */
    bool virt_types_known;
    struct kvmig__strlist secure_models; /* security drivers */
    struct {
        struct kvmig__machine *v;
        size_t n;
    } machines;
    bool machines_known;
    struct {
        struct kvmig__emulator *v;
        size_t n;
    } emulators;
    struct {
        struct kvmig__network *v;
        size_t n;
    } networks;
    bool networks_known;
    struct kvmig__strlist bridges;
    bool bridges_known; /* false: the host cannot list them (no interface driver) */
    struct {
        struct kvmig__pool *v;
        size_t n;
    } pools;
    bool pools_known;
    struct {
        struct kvmig__block_device *v;
        size_t n;
    } block_devices;
    bool block_devices_asked; /* the host itself was asked: what it could not tell stays untold */
    struct {
        struct kvmig__domain *v;
        size_t n;
    } domains;
    bool domains_known;
};

/* Everything that the planner may look at. */
struct kvmig__view {
    struct {
        struct kvmig__host **v;
        size_t n;
    } hosts;
    struct kvmig__strlist shared_paths; /* stated by the caller */
    const struct kvmig__kube *kube; /* Kubernetes objects (cluster/kube.h); NULL = a view of libvirt hosts; borrowed */
    const struct kvmig__facts
        *facts; /* what files told beside hosts and objects (cluster/facts.h); NULL = nothing; borrowed */
};

/* clear: frees what it owns and leaves it empty. copy: overwrites dst without freeing what it held. */
void kvmig__cpu_clear(struct kvmig__cpu *cpu);
void kvmig__cpu_copy(struct kvmig__cpu *dst, const struct kvmig__cpu *src);
void kvmig__disk_source_clear(struct kvmig__disk_source *source);
void kvmig__emulator_clear(struct kvmig__emulator *emulator);
void kvmig__machine_clear(struct kvmig__machine *machine);
void kvmig__network_clear(struct kvmig__network *network);
void kvmig__volume_clear(struct kvmig__volume *volume);
void kvmig__pool_clear(struct kvmig__pool *pool);
void kvmig__block_device_clear(struct kvmig__block_device *device);
void kvmig__secret_clear(struct kvmig__secret *secret);
void kvmig__numa_cell_clear(struct kvmig__numa_cell *cell);
void kvmig__domain_clear(struct kvmig__domain *domain);
struct kvmig__host *kvmig__host_new(void); /* unknowns set to unknown */
void kvmig__host_free(struct kvmig__host *host);
/* By host name, URI, or host UUID; NULL if none. */
struct kvmig__host *kvmig__view_find_host(const struct kvmig__view *view, const char *name);
/* By name or UUID. */
struct kvmig__domain *kvmig__host_find_domain(const struct kvmig__host *host, const char *name_or_uuid);
const struct kvmig__pool *kvmig__host_find_pool(const struct kvmig__host *host, const char *name);
/* The active pool whose target path contains the file directly; NULL if none. */
const struct kvmig__pool *kvmig__host_pool_of_path(const struct kvmig__host *host, const char *path);
const struct kvmig__volume *kvmig__pool_find_volume(const struct kvmig__pool *pool, const char *path_or_name);
/* NULL for a value outside of the enum, so that a reader can search the names by counting up from 0. */
const char *kvmig__domain_state_name(int32_t state); /* "running", "absent", ... */
const char *kvmig__domain_reason_name(int32_t reason);
const char *kvmig__disk_type_name(int32_t type);

/* ---- one side of a migration, as the resolver reads it ---- */
struct kvmig__side {
    bool reachable;
    int32_t state; /* enum kvmig__domain_state; ABSENT also for no domain at all */
    int32_t reason; /* enum kvmig__domain_reason */
    bool persistent;
    bool job_active; /* a migration job, in or out, is active */
    bool job_assumed; /* the job could not be asked without waiting; job_active is true to be on the safe side */
    char *error; /* why it is not reachable */
    char *uuid; /* of the domain; NULL if there is none, or it could not be asked */
};
void kvmig__side_clear(struct kvmig__side *side);
void kvmig__side_copy(struct kvmig__side *dst, const struct kvmig__side *src);

#endif
