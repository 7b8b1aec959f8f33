/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan of a drain on libvirt hosts: what a guest takes on its target is not there for the next one, and sums of what hostile files
 * tell do not wrap.
 */
#include "plan/checks.h"
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

static void crashed_guests_and_those_that_come_in_stay(void **state)
{
    (void)state;
    add_vm("vm2", "22222222-2222-4222-8222-222222222222")->state = KVMIG__STATE_CRASHED;
    add_vm("vm3", "33333333-3333-4333-8333-333333333333")->migrating_in = true;
    plan();
    assert_int_equal(drain->moves.n, 1);
    assert_int_equal(drain->immovable.n, 0);
    assert_string_equal(drain->moves.v[0].plan->uuid, scene_vm(&scene)->uuid);
}

static void sums_without_room_are_not_known(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    scene_host(&scene, "beta")->memory_free = scene_host(&scene, "beta")->memory_total = KVMIG__UNKNOWN;
    request.link_mib = 100;
    plan();
    assert_int_equal(drain->moves.n, 1);
    assert_true(drain->moves.v[0].bytes > scene_vm(&scene)->max_memory); /* the disk is copied, too */
    assert_true(drain->moves.v[0].bytes != KVMIG__UNKNOWN && drain->expected_ms != KVMIG__NO_TIME);
    scene_vm(&scene)->max_memory = UINT64_MAX - 10;
    plan();
    assert_int_equal(drain->moves.n, 1);
    assert_true(drain->moves.v[0].bytes == KVMIG__UNKNOWN);
    assert_true(drain->expected_ms == KVMIG__NO_TIME);
}

static void ends_beyond_all_time_are_not_known(void **state)
{
    struct kvmig_plan plans[5] = { 0 };
    struct kvmig__drain_move moves[5] = { 0 };
    struct kvmig_drain long_one = { .limits = { .total = 1, .out = 1, .in = 1 }, .moves = { moves, 5 } };

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        plans[i].vm = (char *)"vm";
        plans[i].source = (char *)"alpha";
        plans[i].target = (char *)"beta";
        moves[i].plan = &plans[i];
        moves[i].bytes = UINT64_MAX / 4096 - 1;
        moves[i].bandwidth = 1;
    }
    kvmig__drain_order(&long_one);
    assert_true(long_one.expected_ms == KVMIG__NO_TIME);
    assert_true(moves[3].finish_ms != KVMIG__NO_TIME && moves[3].finish_ms > moves[0].finish_ms);
    assert_true(moves[4].finish_ms == KVMIG__NO_TIME);
}

static void what_is_copied_is_counted_by_one_rule(void **state)
{
    const struct kvmig__disk_plan disks[] = {
        { .method = KVMIG_DISK_COPY_FULL, .estimate = 10, .capacity = 100 },
        { .method = KVMIG_DISK_COPY_INCREMENTAL, .estimate = KVMIG__UNKNOWN, .capacity = 7 },
        { .method = KVMIG_DISK_SHARED, .estimate = 1000, .capacity = 1000 },
        { .method = KVMIG_DISK_COPY_FULL, .estimate = KVMIG__UNKNOWN, .capacity = KVMIG__UNKNOWN },
    };
    uint64_t known = 0;

    (void)state;
    assert_int_equal(kvmig__disks_bytes_to_copy(disks, 3, &known), 17);
    assert_int_equal(known, 17);
    assert_true(kvmig__disks_bytes_to_copy(disks, 4, &known) == KVMIG__UNKNOWN);
    assert_int_equal(known, 17);
    assert_int_equal(kvmig__disks_bytes_to_copy(NULL, 0, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(huge_pages_are_taken_once, setup, teardown),
        cmocka_unit_test_setup_teardown(crashed_guests_and_those_that_come_in_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(sums_without_room_are_not_known, setup, teardown),
        cmocka_unit_test_setup_teardown(ends_beyond_all_time_are_not_known, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_copied_is_counted_by_one_rule, setup, teardown),
    };

    return cmocka_run_group_tests_name("drain_libvirt", tests, NULL, NULL);
}
