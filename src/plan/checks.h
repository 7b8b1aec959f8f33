/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the planner's own files share: writing findings, and the steps of the decisions about disks. Pure, like the planner.
 */
#ifndef KVMIG_SRC_PLAN_CHECKS_H
#define KVMIG_SRC_PLAN_CHECKS_H

#include "plan/plan_internal.h"

/* ---- forecast (forecast_facts.c) ---- candidate: the target chosen; NULL = none */
void kvmig__forecast_facts_host(const struct kvmig__view *view, const struct kvmig__request *request,
                                const struct kvmig__domain *domain, const struct kvmig__host *source,
                                const struct kvmig__candidate *candidate, struct kvmig__forecast_facts *out);

/* ---- writing findings (note.c) ---- */

/* libvirt's form of a version: major * 1000000 + minor * 1000 + micro. */
#define KVMIG__VERSION(major, minor, micro) ((uint64_t)(major)*1000000 + (uint64_t)(minor)*1000 + (uint64_t)(micro))

/* Adds a finding to c->out, about c->target if there is one. Takes object (an owned string) and what detail holds (may be
 * NULL); hint may be NULL. */
void kvmig__note(const struct kvmig__check *c, const char *code, int32_t severity, char *object,
                 struct kvmig__detail *detail, const char *hint, const char *message_fmt, ...) KVMIG__PRINTF(7, 8);
/* Owned objects of findings. */
char *kvmig__object_node(const struct kvmig__host *host);
char *kvmig__object_vm(const struct kvmig__domain *domain);
char *kvmig__object_disk(const char *target);
char *kvmig__object_request(void);
/* "7.2.0"; owned. */
char *kvmig__version_text(uint64_t version);
/* What a list of the target lacks is evidence: the host was asked. Files tell a part. */
bool kvmig__target_was_asked(const struct kvmig__check *c);
/* Adds member key = "7.2.0" if the version is known. */
void kvmig__detail_version(struct kvmig__detail *d, const char *key, uint64_t version);
/* A version that is known and less than the other. */
bool kvmig__version_below(uint64_t version, uint64_t limit);
/* "12.3 GiB"; owned. */
char *kvmig__bytes_text(uint64_t bytes);

/* ---- the request, seen together with the VM or the target (checks_request.c, checks_options.c) ---- */
bool kvmig__request_has(const struct kvmig__request *request, uint64_t flag);
bool kvmig__request_is_parallel(const struct kvmig__request *request);
/* The caller gave domain XML for the target and nobody parsed it: host-specific parts cannot be judged. */
bool kvmig__target_xml_unread(const struct kvmig__check *c);
/* The disk of that name in the XML that the target gets, NULL if it has none or is unread. */
const struct kvmig__disk *kvmig__target_disk(const struct kvmig__check *c, const char *target);
/* INVALID_FLAGS; flags: their names in libvirt, separated by spaces. */
void kvmig__note_flags(const struct kvmig__check *c, const char *flags, const char *hint, const char *message);
/* Ranges of single options (checks_options.c). */
void kvmig__check_options(const struct kvmig__check *c);
/* Options that depend on versions of the target, and on what is copied. */
void kvmig__check_request_target(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n);

/* Parts of it: what the versions of all sides can do (checks_features.c), whether the hosts reach each other
 * (checks_reach.c), what post-copy needs (checks_postcopy.c). */
void kvmig__check_features(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n);
void kvmig__check_reach(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n);
void kvmig__check_postcopy(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n);
/* Any of the disks is copied. */
bool kvmig__disks_copied(const struct kvmig__disk_plan *disks, size_t n);

/* What the guest needs of the target beside disks, as its XML there says; NULL if that XML is unread. */
const struct kvmig__domain *kvmig__domain_there(const struct kvmig__check *c);
/* Memory, NUMA nodes, huge pages, bound CPUs (checks_memory.c), part of the host check. */
void kvmig__check_host_memory(const struct kvmig__check *c);
/* Takes what the guest needs of them from the host's free huge pages, whose cells and pages must be the caller's. */
void kvmig__take_hugepages(struct kvmig__host *host, const struct kvmig__domain *domain);
/* Devices and settings that the target's QEMU must offer, and secrets (checks_offer.c), part of the host check. */
void kvmig__check_offers(const struct kvmig__check *c);
/* The answer that a host gave for exactly this kind of guest, machine type included; NULL if it was not asked. */
const struct kvmig__emulator *kvmig__emulator_for(const struct kvmig__host *host, const struct kvmig__domain *domain);
/* A list of it; NULL = not known. */
const struct kvmig__strlist *kvmig__emulator_offer(const struct kvmig__emulator *emulator, const char *what);

/* ---- devices that may be in the way (checks_devices.c), part of the domain check ---- */
void kvmig__check_devices(const struct kvmig__check *c);
/* What about them depends on the target. */
void kvmig__check_devices_target(const struct kvmig__check *c);
/* Machine type, emulator (checks_machine.c), part of the host check. */
void kvmig__check_machine(const struct kvmig__check *c);
/* A name with a version in it ("pc-q35-7.2", "pseries-rhel8.6.0") means the same everywhere. */
bool kvmig__machine_has_version(const char *name);
/* Problems of known versions (known_problems.c). */
void kvmig__check_known_problems(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n);

/* ---- the answer (plan.c), for both planners ---- */
/* What findings about the VM and about one target come to. */
int32_t kvmig__verdict_from(int32_t worst, bool limited);
int32_t kvmig__verdict_of(const struct kvmig_findings *common, const struct kvmig_findings *own);
/* As many hosts the answer "no target" tells about one by one. */
#define KVMIG__NAMED_HOSTS 64
/* Adds per candidate the codes of what stands against it. */
void kvmig__plan_detail_blockers(struct kvmig__detail *d, const struct kvmig_plan *plan);
/* Without a target, what stands against each host is the answer; every finding says which host it is about. */
void kvmig__plan_append_blockers(struct kvmig_plan *plan);

/* ---- disks: what a host opens (disk_place.c) ---- */
struct kvmig__place {
    int32_t type; /* FILE, BLOCK, NETWORK or another enum kvmig__disk_type; a VOLUME is resolved by its pool */
    bool known; /* false: the pool or volume of a VOLUME source is not in the view */
    char *path; /* owned; NULL for what has none */
    const char *protocol, *name, *server; /* network; borrowed */
    const struct kvmig__pool *pool; /* that holds it; NULL if none does */
    const struct kvmig__volume *volume; /* as that pool lists it; NULL if it does not */
};
void kvmig__place_resolve(struct kvmig__place *place, const struct kvmig__host *host,
                          const struct kvmig__disk_source *source);
void kvmig__place_clear(struct kvmig__place *place);
const struct kvmig__block_device *kvmig__host_block_device(const struct kvmig__host *host, const char *path);
/* Last component of a path. */
const char *kvmig__path_base(const char *path);

/* ---- disks: one storage or two? (disk_same.c) ---- */
/* Fills the empty *out from the view; the caller frees out->v. */
void kvmig__paths_collect(struct kvmig__paths *out, const struct kvmig__view *view);
enum kvmig__same {
    KVMIG__SAME_UNKNOWN, /* neither proven nor refuted */
    KVMIG__SAME_YES, /* proven, or stated by the caller for this path */
    KVMIG__SAME_NO /* proven to be two */
};
struct kvmig__identity {
    int32_t same; /* enum kvmig__same */
    const char *why; /* for people; static */
    bool recognised; /* libvirt, too, takes this storage for shared */
    bool looks_shared; /* not proven, but much speaks for it */
};
/* The caller stated that a folder above path is one storage on all hosts. */
bool kvmig__path_stated(const struct kvmig__view *view, const char *path);
struct kvmig__identity kvmig__same_storage(const struct kvmig__check *c, const struct kvmig__place *source,
                                           const struct kvmig__place *target);

/* ---- disks: the work on one disk (checks_disk.c, disk_copy.c, disk_target.c) ---- */
struct kvmig__backing { /* one backing image; borrowed from the domain or the source's volumes */
    int32_t type; /* enum kvmig__disk_type */
    const char *path, *name, *format;
};
struct kvmig__disk_job {
    const struct kvmig__disk *disk;
    struct kvmig__place source; /* what the source opens */
    struct kvmig__place target; /* what the target would open, with the XML as it is */
    struct kvmig__identity identity;
    bool named; /* in the caller's copy list */
    struct {
        struct kvmig__backing *v; /* from top to base */
        size_t n;
    } chain;
    bool incremental_possible; /* the target has every backing image */
    const char *missing_backing; /* the first that it does not have */
    struct kvmig__disk_plan plan;
};
struct kvmig__disk_jobs {
    struct kvmig__disk_job *v;
    size_t n;
};
/* Fills the chain of a job whose source is resolved (disk_chain.c). */
void kvmig__disk_find_chain(const struct kvmig__host *source, struct kvmig__disk_job *job);
/* The backing images of a disk that stays where it is must be where both hosts open them, too (disk_chain.c). */
void kvmig__disk_check_shared_chain(const struct kvmig__check *c, struct kvmig__disk_job *job);
/* Whether the target has the image; *out_proven: it is proven to be the same one. */
bool kvmig__backing_usable(const struct kvmig__check *c, const struct kvmig__backing *backing, bool *out_proven);
/* Chooses full or incremental copies for all disks that are to be copied, as one set (disk_copy.c). */
void kvmig__disks_choose_copy(const struct kvmig__check *c, struct kvmig__disk_jobs *jobs);
/* Where each copy goes: pool, volume, room (disk_target.c). */
void kvmig__disks_place_copies(const struct kvmig__check *c, struct kvmig__disk_jobs *jobs);
/* Cache modes of what stays shared (disk_copy.c). */
void kvmig__disk_check_cache(const struct kvmig__check *c, const struct kvmig__disk_job *job);
bool kvmig__disk_is_copied(const struct kvmig__disk_plan *disk);
/* Bytes of all that are copied; KVMIG__UNKNOWN. *out_known (may be NULL): of those whose size is known. */
uint64_t kvmig__disks_bytes_to_copy(const struct kvmig__disk_plan *disks, size_t n, uint64_t *out_known);
/* Whether what exists on the target has the size for a mirror (disk_target.c). */
void kvmig__disk_check_size(const struct kvmig__check *c, struct kvmig__disk_job *job, uint64_t have);
/* Gives the disk its method; reason is taken. */
void kvmig__disk_set(struct kvmig__disk_job *job, int32_t method, char *reason);

#endif
