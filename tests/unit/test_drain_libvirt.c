/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan of a drain on libvirt hosts: what a guest takes on its target is not there for the next one, and sums of what hostile files
 * tell do not wrap.
 */
#include "plan/drain_internal.h"
#include "plan_fixture.h"

#include <stdlib.h>
#include <string.h>

static struct scene scene;
static struct kvmig__drain_request request;
static struct kvmig_drain *drain;

static int setup(void **state)
{
    (void)state;
    scene_init(&scene);
    memset(&request, 0, sizeof(request));
    kvmig__strlist_add(&request.nodes, "alpha");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kvmig_drain_unref(drain);
    drain = NULL;
    kvmig__drain_request_clear(&request);
    scene_clear(&scene);
    return 0;
}

static void plan(void)
{
    kvmig_drain_unref(drain);
    drain = NULL;
    assert_int_equal(kvmig__drain_make(&scene.view, &request, &scene.slots, &drain), 0);
}

/* One more like the VM of the scene, but for its name and without a disk. */
static struct kvmig__domain *add_vm(const char *name, const char *uuid)
{
    struct kvmig__domain *other = host_add_domain(scene_host(&scene, "alpha"), name, uuid, KVMIG__STATE_RUNNING);
    const struct kvmig__domain *vm = scene_vm(&scene);

    other->memory = vm->memory;
    other->max_memory = vm->max_memory;
    other->vcpus = vm->vcpus;
    kvmig__str_set(&other->virt_type, vm->virt_type);
    kvmig__str_set(&other->arch, vm->arch);
    kvmig__str_set(&other->machine, vm->machine);
    kvmig__str_set(&other->emulator, vm->emulator);
    kvmig__cpu_clear(&other->cpu);
    kvmig__cpu_copy(&other->cpu, &vm->cpu);
    other->persistent = true;
    other->running_xml = true;
    return other;
}

static void use_hugepages(struct kvmig__domain *vm, uint64_t bytes)
{
    vm->memory = vm->max_memory = bytes;
    vm->hugepages = true;
    vm->hugepage_size = 2 * MIB;
}

static struct kvmig__pages *add_cell(uint32_t id, uint64_t free)
{
    struct kvmig__host *beta = scene_host(&scene, "beta");
    struct kvmig__numa_cell *cell = KVMIG__PUSH(&beta->cells);

    cell->id = id;
    cell->memory = 8 * GIB;
    *KVMIG__PUSH(&cell->pages) = (struct kvmig__pages){ 2 * MIB, 4096, free };
    beta->cells_known = true;
    return &cell->pages.v[0];
}

static void huge_pages_are_taken_once(void **state)
{
    struct kvmig__pages *pages;

    (void)state;
    use_hugepages(add_vm("vm2", "22222222-2222-4222-8222-222222222222"), 2 * GIB);
    use_hugepages(scene_vm(&scene), 2 * GIB);
    add_cell(0, 512);
    pages = add_cell(1, 1024 + 511);
    plan();
    assert_int_equal(drain->moves.n, 1);
    assert_int_equal(drain->immovable.n, 1);
    assert_finding(drain->immovable.v[0], "INSUFFICIENT_HUGEPAGES", KVMIG_SEVERITY_BLOCKER);
    assert_int_equal(pages->free, 1024 + 511); /* the view is as it was */
    pages->free++;
    plan();
    assert_int_equal(drain->moves.n, 2);
    assert_int_equal(drain->immovable.n, 0);
    pages->free = KVMIG__UNKNOWN; /* then all of them are an upper bound */
    pages->total = 1024;
    plan();
    assert_int_equal(drain->moves.n, 1);
    assert_int_equal(pages->total, 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(huge_pages_are_taken_once, setup, teardown),
    };

    return cmocka_run_group_tests_name("drain_libvirt", tests, NULL, NULL);
}
