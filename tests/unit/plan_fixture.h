/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small world for tests of the planner: two equal hosts, alpha and beta, and a running VM on alpha whose disk is a network
 * image, so that it migrates without a remark. A test changes what it is about and plans.
 */
#ifndef KVMIG_TESTS_PLAN_FIXTURE_H
#define KVMIG_TESTS_PLAN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan_internal.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

struct scene {
    struct kvmig__view view;
    struct kvmig__request request;
    struct kvmig__slots slots; /* per_host NULL = no limits are counted */
    struct kvmig_plan *plan; /* the last one */
};

void scene_init(struct scene *scene);
void scene_clear(struct scene *scene);

struct kvmig__host *scene_host(struct scene *scene, const char *name);
/* One more host like alpha and beta. */
struct kvmig__host *scene_add_host(struct scene *scene, const char *name);
struct kvmig__domain *scene_vm(struct scene *scene);
struct kvmig__disk *scene_disk(struct scene *scene); /* vda */

/* Makes vda a file of that path and format with 4 GiB, 1 GiB of it in use. */
void scene_use_file(struct scene *scene, const char *path, const char *format);
#define SCENE_DIR "/srv/images"
#define SCENE_CTIME "1796040285.173213987"
#define SCENE_OTHER_CTIME "1796040299.500000001"
/* vda is a qcow2 file in SCENE_DIR, which is a pool "images" of both hosts; the target's does not have it. Returns the volume
 * on alpha, whose change time is SCENE_CTIME. */
struct kvmig__volume *scene_use_private_file(struct scene *scene);
/* vda is the block device /dev/mapper/lun1, 4 GiB, raw. */
void scene_use_block_device(struct scene *scene);
/* A further disk of the VM in a file. */
struct kvmig__disk *scene_add_file(struct scene *scene, const char *target, const char *path, const char *format);
struct kvmig__pool *host_add_pool(struct kvmig__host *host, const char *name, const char *type, const char *path);
/* capacity 4 GiB; ctime may be NULL. */
struct kvmig__volume *pool_add_volume(struct kvmig__pool *pool, const char *name, const char *format,
                                      const char *ctime);
struct kvmig__block_device *host_add_device(struct kvmig__host *host, const char *path, const char *wwn, uint64_t size);
struct kvmig__domain *host_add_domain(struct kvmig__host *host, const char *name, const char *uuid, int32_t state);
struct kvmig__device *vm_add_device(struct scene *scene, const char *kind, const char *type);
struct kvmig__interface *vm_add_interface(struct scene *scene, const char *type, const char *source);
void cpu_add_feature(struct kvmig__cpu *cpu, const char *name, int32_t policy);

/* Plans (the old plan is dropped); fails the test if that fails. */
const struct kvmig_plan *scene_plan(struct scene *scene);

/* The finding of that code in the plan, or in a list; NULL if there is none. */
const struct kvmig_finding *plan_finding(const struct kvmig_plan *plan, const char *code);
const struct kvmig_finding *find_code(const struct kvmig_findings *findings, const char *code);
/* Fails unless the plan has the finding with that severity. */
const struct kvmig_finding *assert_finding(const struct kvmig_plan *plan, const char *code, int32_t severity);
void assert_no_finding(const struct kvmig_plan *plan, const char *code);
/* Fails unless the verdict is MIGRATABLE; tells what is in the way. */
void assert_clean(const struct kvmig_plan *plan);
void assert_verdict(const struct kvmig_plan *plan, int32_t verdict);
const struct kvmig__disk_plan *assert_method(const struct kvmig_plan *plan, const char *target, int32_t method);
void assert_detail(const struct kvmig_finding *finding, const char *piece);

/* Shared invariants of every plan; describe is for messages. */
void assert_plan_consistent(const struct kvmig_plan *plan, const struct kvmig__domain *domain, const char *describe);

#endif
