/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What must hold for every plan, over many small random worlds: the verdict fits the findings, no data is in danger, the same
 * input gives the same plan, and the input is left as it was. The worlds come from a generator with fixed seeds, so that a
 * failure can be repeated; it is named by its seed.
 */
#include "plan_fixture.h"

#include "cluster/fingerprint.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define WORLDS 3000

/* xorshift64*: small, and the same everywhere. */
static uint64_t seed_state;

static uint64_t draw(uint64_t n)
{
    seed_state ^= seed_state >> 12;
    seed_state ^= seed_state << 25;
    seed_state ^= seed_state >> 27;
    return (seed_state * UINT64_C(2685821657736338717) >> 33) % n;
}

static bool rarely(void)
{
    return draw(8) == 0;
}

static const char *pick(const char *const *list, size_t n)
{
    return list[draw(n)];
}
#define PICK(list) pick(list, KVMIG__N_ELEMENTS(list))

static const char *const folders[] = { "/srv/images", "/srv/nfs", "/srv/local" };
static const char *const files[] = { "a.qcow2", "b.qcow2", "c.raw" };
static const char *const ctimes[] = { NULL, "1.5", "2.5", "3.000000000" };
static const char *const features[] = { "aes", "avx512f", "invtsc", "vme", "vmx-ept" };

/* ---- random worlds ---- */

static void random_pool(struct kvmig__host *host)
{
    static const char *const types[] = { "dir", "dir", "netfs", "logical" };
    static const char *const sources[] = { NULL, "nas", "localhost" };
    char *name = kvmig__asprintf("pool%zu", host->pools.n);
    struct kvmig__pool *pool = host_add_pool(host, name, PICK(types), PICK(folders));

    free(name);
    pool->active = !rarely();
    pool->available = rarely() ? KVMIG__UNKNOWN : draw(12) * GIB;
    kvmig__str_set(&pool->source_host, PICK(sources));
    kvmig__str_set(&pool->source_dir, "/export");
    for (uint64_t i = draw(4); i > 0; i--) {
        struct kvmig__volume *volume = pool_add_volume(pool, PICK(files), rarely() ? "raw" : "qcow2", PICK(ctimes));

        if (rarely())
            volume->backing_path = kvmig__asprintf("%s/%s", PICK(folders), PICK(files));
        volume->capacity = rarely() ? KVMIG__UNKNOWN : (3 + draw(3)) * GIB;
    }
}

static void random_host(struct kvmig__host *host)
{
    static const uint64_t qemu[] = { 0, 2006000, 7002000, 7002000, 8002000, 10001000 };
    static const uint64_t libvirt[] = { 0, 9000000, 9000000, 10002000, 11006000 };
    static const int32_t states[] = { KVMIG__HOST_UP, KVMIG__HOST_UP, KVMIG__HOST_UP, KVMIG__HOST_UP,
                                      KVMIG__HOST_LOST };

    host->state = states[draw(KVMIG__N_ELEMENTS(states))];
    host->qemu_version = qemu[draw(KVMIG__N_ELEMENTS(qemu))];
    host->libvirt_version = libvirt[draw(KVMIG__N_ELEMENTS(libvirt))];
    host->memory_free = rarely() ? KVMIG__UNKNOWN : draw(40) * GIB;
    host->networks.v[0].active = !rarely();
    host->pools_known = !rarely();
    host->machines_known = !rarely();
    host->bridges_known = !rarely();
    host->emulators.v[0].host_model.expanded_known = draw(2);
    for (uint64_t i = draw(3); i > 0; i--)
        kvmig__strlist_add_new(&host->emulators.v[0].host_model.expanded, PICK(features));
    for (uint64_t i = draw(4); i > 0; i--)
        random_pool(host);
    for (uint64_t i = draw(3); i > 0; i--)
        host_add_device(host, "/dev/mapper/lun1", draw(2) ? "0x1" : NULL, (3 + draw(3)) * GIB);
    if (rarely())
        host_add_domain(host, draw(2) ? "vm1" : "other", "44444444-0000-4000-8000-000000000004", KVMIG__STATE_SHUTOFF);
}

static void random_disk(struct scene *scene, size_t index)
{
    static const int32_t types[] = { KVMIG__DISK_FILE,    KVMIG__DISK_FILE,   KVMIG__DISK_FILE, KVMIG__DISK_BLOCK,
                                     KVMIG__DISK_NETWORK, KVMIG__DISK_VOLUME, KVMIG__DISK_NVME };
    char target[4] = { 'v', 'd', (char)('b' + index), '\0' };
    char *path = kvmig__asprintf("%s/%s", PICK(folders), PICK(files));
    struct kvmig__disk *disk = scene_add_file(scene, target, path, rarely() ? "raw" : "qcow2");

    free(path);
    disk->source.type = types[draw(KVMIG__N_ELEMENTS(types))];
    if (disk->source.type == KVMIG__DISK_BLOCK)
        kvmig__str_set(&disk->source.path, "/dev/mapper/lun1");
    if (disk->source.type == KVMIG__DISK_VOLUME) {
        kvmig__str_set(&disk->source.path, NULL);
        kvmig__str_set(&disk->source.pool, "pool0");
        kvmig__str_set(&disk->source.volume, PICK(files));
    }
    disk->has_source = !rarely();
    disk->readonly = rarely();
    disk->shareable = rarely();
    disk->capacity = rarely() ? KVMIG__UNKNOWN : 4 * GIB;
    if (rarely())
        kvmig__str_set(&disk->cache, "writeback");
    if (draw(3) == 0) {
        struct kvmig__disk_source *backing = KVMIG__PUSH(&disk->backing);

        backing->type = KVMIG__DISK_FILE;
        backing->path = kvmig__asprintf("%s/%s", PICK(folders), PICK(files));
        backing->format = kvmig__strdup("qcow2");
    }
}

static void random_vm(struct scene *scene)
{
    static const int32_t modes[] = { KVMIG__CPU_CUSTOM, KVMIG__CPU_CUSTOM, KVMIG__CPU_HOST_MODEL,
                                     KVMIG__CPU_HOST_PASSTHROUGH, KVMIG__CPU_NONE };
    static const char *const kinds[] = { "hostdev", "vsock", "tpm", "filesystem" };
    static const char *const types[] = { "pci", "usb", "virtiofs", "passthrough" };
    struct kvmig__domain *vm = scene_vm(scene);

    if (rarely())
        vm->state = (int32_t)draw(KVMIG__STATE_OTHER + 1);
    vm->reason = rarely() ? (int32_t)draw(KVMIG__REASON_CRASHED + 1) : KVMIG__REASON_USER;
    vm->snapshots = rarely();
    vm->cpu.mode = modes[draw(KVMIG__N_ELEMENTS(modes))];
    vm->cpu.expanded_known = draw(2);
    kvmig__strlist_add_new(&vm->cpu.expanded, PICK(features));
    if (rarely())
        cpu_add_feature(&vm->cpu, PICK(features), (int32_t)draw(KVMIG__CPU_FORBID + 1));
    if (rarely())
        vm_add_device(scene, PICK(kinds), PICK(types));
    for (uint64_t i = draw(4); i > 0; i--)
        random_disk(scene, (size_t)i);
}

static void random_request(struct scene *scene)
{
    struct kvmig__request *request = &scene->request;

    request->flags = draw(4) ? 0 : draw(512);
    request->copy = draw(2) ? KVMIG_COPY_AUTO : (int32_t)draw(4);
    request->handover = rarely();
    request->parallel_connections = rarely() ? 4 : 0;
    if (rarely())
        kvmig__strlist_add(&request->copy_disks, draw(2) ? "vdb" : "vdc");
    if (rarely())
        kvmig__str_set(&request->target_pool, "pool1");
    if (rarely())
        kvmig__str_set(&request->target, draw(2) ? "beta" : "alpha");
    if (rarely())
        kvmig__str_set(&request->target_xml, "<domain/>");
    if (rarely())
        kvmig__strlist_add(&scene->view.shared_paths, "/srv/nfs");
}

static void random_world(struct scene *scene, uint64_t seed)
{
    seed_state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    scene_init(scene);
    if (draw(2))
        scene_add_host(scene, "gamma");
    for (size_t i = 0; i < scene->view.hosts.n; i++)
        random_host(scene->view.hosts.v[i]);
    random_vm(scene);
    random_request(scene);
    scene->slots.per_host = kvmig__calloc(scene->view.hosts.n, sizeof(*scene->slots.per_host));
    scene->slots.max_migrations = 3;
    scene->slots.running = (uint32_t)draw(5);
}

/* ---- what must hold ---- */

static const struct kvmig__volume *volume_at(const struct kvmig__host *host, const char *path)
{
    for (size_t i = 0; i < host->pools.n; i++) {
        const struct kvmig__volume *volume = kvmig__pool_find_volume(&host->pools.v[i], path);

        if (volume && kvmig__str_eq(volume->path, path))
            return volume;
    }
    return NULL;
}

/* Nothing is created over data that is known to be there, and nothing is written onto an existing volume unasked. */
static void assert_data_is_safe(const struct scene *scene, const struct kvmig__host *target,
                                const struct kvmig__disk_plan *disks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct kvmig__disk_plan *disk = &disks[i];
        bool copied = disk->method == KVMIG_DISK_COPY_FULL || disk->method == KVMIG_DISK_COPY_INCREMENTAL;

        if (!copied || !disk->target_path || !target->pools_known)
            continue;
        if (disk->create)
            assert_null(volume_at(target, disk->target_path));
        else if (volume_at(target, disk->target_path))
            assert_true(kvmig__strlist_has(&scene->request.copy_disks, disk->target));
        for (size_t j = 0; j < i; j++)
            assert_false(disk->create && disks[j].create && kvmig__str_eq(disks[j].target_path, disk->target_path));
    }
}

static void assert_safe(const struct scene *scene, const struct kvmig_plan *plan)
{
    for (size_t i = 0; i < plan->candidates.n; i++) {
        const struct kvmig__candidate *candidate = &plan->candidates.v[i];
        const struct kvmig__host *target = kvmig__view_find_host(&scene->view, candidate->host);

        assert_data_is_safe(scene, target, candidate->disks.v, candidate->disks.n);
        if (target->state != KVMIG__HOST_UP)
            assert_int_equal(candidate->verdict, KVMIG_VERDICT_BLOCKED);
    }
}

/* As text, from two plannings; findings' details are JSON of their own. */
static char *plan_text(struct scene *scene)
{
    struct kvmig_plan *plan;
    char *text;

    assert_int_equal(kvmig__plan_make(&scene->view, &scene->request, &scene->slots, &plan), 0);
    for (size_t i = 0; i < plan->findings.n; i++) {
        enum json_tokener_error error = json_tokener_success;

        if (plan->findings.v[i].detail)
            json_object_put(json_tokener_parse_verbose(plan->findings.v[i].detail, &error));
        assert_int_equal(error, json_tokener_success);
    }
    assert_int_equal(kvmig_plan_to_json(plan, &text), 0);
    kvmig_plan_unref(plan);
    return text;
}

static void every_plan_is_consistent_safe_and_repeatable(void **state)
{
    size_t verdicts[KVMIG_VERDICT_SOURCE + 1] = { 0 };

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct scene scene;
        struct kvmig_plan *plan;
        char *first, *second, *describe = kvmig__asprintf("seed %" PRIu64, seed);

        random_world(&scene, seed);
        if (kvmig__plan_make(&scene.view, &scene.request, &scene.slots, &plan) == 0) {
            assert_plan_consistent(
                plan, kvmig__host_find_domain(kvmig__view_find_host(&scene.view, plan->source), plan->uuid), describe);
            assert_safe(&scene, plan);
            verdicts[plan->verdict]++;
            kvmig_plan_unref(plan);
            first = plan_text(&scene);
            second = plan_text(&scene);
            assert_string_equal(first, second);
            free(first);
            free(second);
        } else {
            assert_int_equal(kvmig_error_code(kvmig_error_last()), -KVMIG_EAMBIGUOUS);
        }
        free(describe);
        scene_clear(&scene);
    }
    /* The worlds are varied enough to mean something. */
    for (int32_t verdict = KVMIG_VERDICT_MIGRATABLE; verdict <= KVMIG_VERDICT_BLOCKED; verdict++)
        assert_in_range(verdicts[verdict], 10, WORLDS);
}

static void planning_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct scene planned, untouched;
        struct kvmig_plan *plan = NULL;

        random_world(&planned, seed);
        random_world(&untouched, seed);
        kvmig__plan_make(&planned.view, &planned.request, &planned.slots, &plan);
        kvmig_plan_unref(plan);
        for (size_t i = 0; i < planned.view.hosts.n; i++)
            assert_true(kvmig__host_fingerprint(planned.view.hosts.v[i]) ==
                        kvmig__host_fingerprint(untouched.view.hosts.v[i]));
        scene_clear(&planned);
        scene_clear(&untouched);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_is_consistent_safe_and_repeatable),
        cmocka_unit_test(planning_changes_nothing),
    };

    return !!cmocka_run_group_tests_name("plan property", tests, NULL, NULL);
}
