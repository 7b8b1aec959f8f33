/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The small world that tests of the planner start from, built in C so that these tests need no parser. See plan_fixture.h.
 */
#include "plan_fixture.h"

#include <stdlib.h>
#include <string.h>

#define MACHINE "pc-q35-7.2"
#define EMULATOR "/usr/bin/qemu-system-x86_64"

/* ---- building ---- */

void cpu_add_feature(struct kvmig__cpu *cpu, const char *name, int32_t policy)
{
    struct kvmig__cpu_feature *feature = KVMIG__PUSH(&cpu->features);

    feature->name = kvmig__strdup(name);
    feature->policy = policy;
}

static void add_emulator(struct kvmig__host *host)
{
    static const char *const features[] = { "aes", "avx", "avx2", "fpu", "sse2" };
    struct kvmig__emulator *emulator = KVMIG__PUSH(&host->emulators);
    struct kvmig__cpu_model *model = KVMIG__PUSH(&emulator->models);

    emulator->path = kvmig__strdup(EMULATOR);
    emulator->arch = kvmig__strdup("x86_64");
    emulator->virt_type = kvmig__strdup("kvm");
    emulator->machine = kvmig__strdup(MACHINE);
    emulator->passthrough_supported = emulator->maximum_supported = true;
    emulator->host_model_known = true;
    emulator->host_model.mode = KVMIG__CPU_CUSTOM;
    emulator->host_model.model = kvmig__strdup("Haswell");
    emulator->host_model.vendor = kvmig__strdup("Intel");
    emulator->host_model.migratable = -1;
    emulator->host_model.expanded_known = true;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(features); i++)
        kvmig__strlist_add(&emulator->host_model.expanded, features[i]);
    model->name = kvmig__strdup("Haswell");
    model->usable = true;
}

struct kvmig__host *scene_add_host(struct scene *scene, const char *name)
{
    struct kvmig__host *host = kvmig__host_new();
    struct kvmig__machine *machine = KVMIG__PUSH(&host->machines);
    struct kvmig__network *network = KVMIG__PUSH(&host->networks);

    host->name = kvmig__strdup(name);
    host->uri = kvmig__asprintf("qemu+tls://%s/system", name);
    host->uuid = kvmig__asprintf("00000000-0000-4000-8000-0000000000%02zx", scene->view.hosts.n + 1);
    host->state = KVMIG__HOST_UP;
    host->libvirt_version = 11006000;
    host->qemu_version = 7002000;
    host->arch = kvmig__strdup("x86_64");
    host->cpus = 16;
    host->memory_total = 64 * GIB;
    host->memory_free = 32 * GIB;
    machine->name = kvmig__strdup(MACHINE);
    machine->arch = kvmig__strdup("x86_64");
    network->name = kvmig__strdup("lan");
    network->active = true;
    kvmig__strlist_add(&network->portgroups, "vlan-42");
    kvmig__strlist_add(&host->bridges, "br0");
    host->machines_known = host->networks_known = host->bridges_known = host->pools_known = host->domains_known = true;
    host->secrets_known = true;
    add_emulator(host);
    *KVMIG__PUSH(&scene->view.hosts) = host;
    return host;
}

struct kvmig__domain *host_add_domain(struct kvmig__host *host, const char *name, const char *uuid, int32_t state)
{
    struct kvmig__domain *domain = KVMIG__PUSH(&host->domains);

    domain->name = kvmig__strdup(name);
    domain->uuid = kvmig__strdup(uuid);
    domain->state = state;
    domain->cpu.migratable = -1;
    domain->memory = domain->max_memory = 2 * GIB;
    return domain;
}

static void add_vm(struct scene *scene)
{
    struct kvmig__domain *vm =
        host_add_domain(scene->view.hosts.v[0], "vm1", "11111111-0000-4000-8000-000000000001", KVMIG__STATE_RUNNING);
    struct kvmig__disk *disk = KVMIG__PUSH(&vm->disks);

    vm->persistent = true;
    vm->virt_type = kvmig__strdup("kvm");
    vm->arch = kvmig__strdup("x86_64");
    vm->machine = kvmig__strdup(MACHINE);
    vm->emulator = kvmig__strdup(EMULATOR);
    vm->vcpus = 2;
    vm->cpu.mode = KVMIG__CPU_CUSTOM;
    vm->cpu.model = kvmig__strdup("Haswell");
    disk->target = kvmig__strdup("vda");
    disk->bus = kvmig__strdup("virtio");
    disk->device = kvmig__strdup("disk");
    disk->cache = kvmig__strdup("none");
    disk->has_source = true;
    disk->source.type = KVMIG__DISK_NETWORK;
    disk->source.protocol = kvmig__strdup("rbd");
    disk->source.name = kvmig__strdup("vms/vm1");
    disk->source.format = kvmig__strdup("raw");
    disk->capacity = disk->source.capacity = 4 * GIB;
    disk->allocation = disk->physical = GIB;
    vm_add_interface(scene, "network", "lan");
}

void scene_init(struct scene *scene)
{
    memset(scene, 0, sizeof(*scene));
    scene_add_host(scene, "alpha");
    scene_add_host(scene, "beta");
    add_vm(scene);
    scene->request.vm = kvmig__strdup("vm1");
    scene->slots.max_migrations = scene->slots.max_outbound = scene->slots.max_inbound = KVMIG_UNLIMITED;
}

void scene_clear(struct scene *scene)
{
    kvmig_plan_unref(scene->plan);
    for (size_t i = 0; i < scene->view.hosts.n; i++)
        kvmig__host_free(scene->view.hosts.v[i]);
    free(scene->view.hosts.v);
    kvmig__strlist_clear(&scene->view.shared_paths);
    kvmig__request_clear(&scene->request);
    free(scene->slots.per_host);
    memset(scene, 0, sizeof(*scene));
}

struct kvmig__host *scene_host(struct scene *scene, const char *name)
{
    struct kvmig__host *host = kvmig__view_find_host(&scene->view, name);

    assert_non_null(host);
    return host;
}

struct kvmig__domain *scene_vm(struct scene *scene)
{
    return &scene->view.hosts.v[0]->domains.v[0];
}

struct kvmig__disk *scene_disk(struct scene *scene)
{
    return &scene_vm(scene)->disks.v[0];
}

static void fill_file(struct kvmig__disk *disk, const char *path, const char *format)
{
    kvmig__disk_source_clear(&disk->source);
    disk->has_source = true;
    disk->source.type = KVMIG__DISK_FILE;
    disk->source.path = kvmig__strdup(path);
    disk->source.format = kvmig__strdup(format);
    disk->source.capacity = disk->capacity = 4 * GIB;
    disk->allocation = disk->physical = GIB;
}

void scene_use_file(struct scene *scene, const char *path, const char *format)
{
    fill_file(scene_disk(scene), path, format);
}

struct kvmig__disk *scene_add_file(struct scene *scene, const char *target, const char *path, const char *format)
{
    struct kvmig__disk *disk = KVMIG__PUSH(&scene_vm(scene)->disks);

    disk->target = kvmig__strdup(target);
    disk->bus = kvmig__strdup("virtio");
    disk->device = kvmig__strdup("disk");
    disk->cache = kvmig__strdup("none");
    fill_file(disk, path, format);
    return disk;
}

struct kvmig__pool *host_add_pool(struct kvmig__host *host, const char *name, const char *type, const char *path)
{
    struct kvmig__pool *pool = KVMIG__PUSH(&host->pools);

    pool->name = kvmig__strdup(name);
    pool->type = kvmig__strdup(type);
    pool->target_path = kvmig__strdup(path);
    pool->active = true;
    pool->capacity = 100 * GIB;
    pool->available = 50 * GIB;
    return pool;
}

struct kvmig__volume *pool_add_volume(struct kvmig__pool *pool, const char *name, const char *format, const char *ctime)
{
    struct kvmig__volume *volume = KVMIG__PUSH(&pool->volumes);

    volume->name = kvmig__strdup(name);
    volume->path = kvmig__asprintf("%s/%s", pool->target_path, name);
    volume->format = kvmig__strdup(format);
    volume->ctime = kvmig__strdup(ctime);
    volume->capacity = 4 * GIB;
    volume->allocation = GIB;
    return volume;
}

struct kvmig__block_device *host_add_device(struct kvmig__host *host, const char *path, const char *wwn, uint64_t size)
{
    struct kvmig__block_device *device = KVMIG__PUSH(&host->block_devices);

    kvmig__strlist_add(&device->paths, path);
    device->wwn = kvmig__strdup(wwn);
    device->size = size;
    return device;
}

struct kvmig__volume *scene_use_private_file(struct scene *scene)
{
    struct kvmig__pool *pool = host_add_pool(scene_host(scene, "alpha"), "images", "dir", SCENE_DIR);

    scene_use_file(scene, SCENE_DIR "/vm1.qcow2", "qcow2");
    host_add_pool(scene_host(scene, "beta"), "images", "dir", SCENE_DIR);
    return pool_add_volume(pool, "vm1.qcow2", "qcow2", SCENE_CTIME);
}

void scene_use_block_device(struct scene *scene)
{
    scene_use_file(scene, "/dev/mapper/lun1", "raw");
    scene_disk(scene)->source.type = KVMIG__DISK_BLOCK;
}

struct kvmig__device *vm_add_device(struct scene *scene, const char *kind, const char *type)
{
    struct kvmig__device *device = KVMIG__PUSH(&scene_vm(scene)->devices);

    device->kind = kvmig__strdup(kind);
    device->type = kvmig__strdup(type);
    device->name = kvmig__asprintf("%s0", kind);
    return device;
}

struct kvmig__interface *vm_add_interface(struct scene *scene, const char *type, const char *source)
{
    struct kvmig__interface *interface = KVMIG__PUSH(&scene_vm(scene)->interfaces);

    interface->type = kvmig__strdup(type);
    interface->source = kvmig__strdup(source);
    interface->mac = kvmig__asprintf("52:54:00:00:00:%02zx", scene_vm(scene)->interfaces.n);
    return interface;
}

/* ---- planning and looking ---- */

const struct kvmig_plan *scene_plan(struct scene *scene)
{
    const struct kvmig__host *source;

    kvmig_plan_unref(scene->plan);
    scene->plan = NULL;
    if (kvmig__plan_make(&scene->view, &scene->request, &scene->slots, &scene->plan) != 0)
        fail_msg("planning failed: %s", kvmig_error_message(kvmig_error_last()));
    source = scene_host(scene, scene->plan->source);
    assert_plan_consistent(scene->plan,
                           kvmig__host_find_domain(source, scene->plan->uuid ? scene->plan->uuid : scene->plan->vm),
                           scene->plan->vm);
    return scene->plan;
}

const struct kvmig_finding *find_code(const struct kvmig_findings *findings, const char *code)
{
    for (size_t i = 0; i < kvmig_findings_count(findings); i++) {
        const struct kvmig_finding *finding = kvmig_findings_get(findings, i);

        if (strcmp(kvmig_finding_code(finding), code) == 0)
            return finding;
    }
    return NULL;
}

const struct kvmig_finding *plan_finding(const struct kvmig_plan *plan, const char *code)
{
    return find_code(kvmig_plan_findings(plan), code);
}

static void print_findings(const struct kvmig_plan *plan)
{
    for (size_t i = 0; i < plan->findings.n; i++)
        print_message("  %s %s %s: %s %s\n", kvmig_severity_name(plan->findings.v[i].severity),
                      plan->findings.v[i].code, plan->findings.v[i].object, plan->findings.v[i].message,
                      plan->findings.v[i].detail ? plan->findings.v[i].detail : "");
}

const struct kvmig_finding *assert_finding(const struct kvmig_plan *plan, const char *code, int32_t severity)
{
    const struct kvmig_finding *finding = plan_finding(plan, code);

    if (!finding || finding->severity != severity) {
        print_findings(plan);
        fail_msg("no finding %s with severity %s", code, kvmig_severity_name(severity));
    }
    return finding;
}

void assert_no_finding(const struct kvmig_plan *plan, const char *code)
{
    const struct kvmig_finding *finding = plan_finding(plan, code);

    if (finding)
        fail_msg("unexpected %s: %s", code, kvmig_finding_message(finding));
}

void assert_verdict(const struct kvmig_plan *plan, int32_t verdict)
{
    if (kvmig_plan_verdict(plan) == verdict)
        return;
    print_findings(plan);
    fail_msg("verdict %s, expected %s", kvmig_verdict_name(kvmig_plan_verdict(plan)), kvmig_verdict_name(verdict));
}

void assert_clean(const struct kvmig_plan *plan)
{
    assert_verdict(plan, KVMIG_VERDICT_MIGRATABLE);
    assert_true(kvmig__findings_worst(&plan->findings) < KVMIG_SEVERITY_WARN);
}

const struct kvmig__disk_plan *assert_method(const struct kvmig_plan *plan, const char *target, int32_t method)
{
    for (size_t i = 0; i < plan->disks.n; i++) {
        if (!kvmig__str_eq(plan->disks.v[i].target, target))
            continue;
        if (plan->disks.v[i].method != method) {
            print_findings(plan);
            fail_msg("disk %s: %s (%s), expected %s", target, kvmig_disk_method_name(plan->disks.v[i].method),
                     plan->disks.v[i].reason, kvmig_disk_method_name(method));
        }
        return &plan->disks.v[i];
    }
    fail_msg("the plan has no disk %s", target);
    return NULL;
}

void assert_detail(const struct kvmig_finding *finding, const char *piece)
{
    const char *detail = kvmig_finding_detail(finding);

    if (!detail || !strstr(detail, piece))
        fail_msg("detail of %s is %s, without %s", kvmig_finding_code(finding), detail ? detail : "NULL", piece);
}

/* ---- invariants ---- */

static int32_t worst_of(const struct kvmig_findings *findings)
{
    int32_t worst = 0;

    for (size_t i = 0; i < findings->n; i++) {
        const struct kvmig_finding *finding = &findings->v[i];

        assert_true(finding->code && *finding->code);
        assert_true(finding->object && *finding->object);
        assert_true(finding->message && *finding->message);
        assert_non_null(kvmig_severity_name(finding->severity));
        assert_int_not_equal(finding->severity, KVMIG_SEVERITY_ERROR);
        if (finding->severity >= KVMIG_SEVERITY_WARN)
            assert_true(finding->hint && *finding->hint); /* whatever is in the way comes with advice */
        if (i > 0)
            assert_true(findings->v[i - 1].severity >= finding->severity);
        if (finding->severity > worst)
            worst = finding->severity;
    }
    return worst;
}

static void check_verdict(int32_t verdict, int32_t worst, bool limited, const char *describe)
{
    int32_t expected = KVMIG_VERDICT_MIGRATABLE;

    if (worst == KVMIG_SEVERITY_BLOCKER)
        expected = KVMIG_VERDICT_BLOCKED;
    else if (limited)
        expected = KVMIG_VERDICT_QUEUED;
    else if (worst == KVMIG_SEVERITY_WARN)
        expected = KVMIG_VERDICT_MIGRATABLE_WITH_RISK;
    if (verdict != expected)
        fail_msg("%s: verdict %s does not fit findings that make it %s", describe, kvmig_verdict_name(verdict),
                 kvmig_verdict_name(expected));
}

static void check_disks(const struct kvmig__disk_plan *disks, size_t n, const struct kvmig__domain *domain,
                        int32_t worst)
{
    bool incremental = false, whole_chain = false;

    assert_int_equal(n, domain->disks.n);
    for (size_t i = 0; i < n; i++) {
        const struct kvmig__disk_plan *disk = &disks[i];

        assert_string_equal(disk->target, domain->disks.v[i].target);
        assert_non_null(kvmig_disk_method_name(disk->method));
        assert_true(disk->reason && *disk->reason);
        if (disk->method == KVMIG_DISK_IMPOSSIBLE)
            assert_int_equal(worst, KVMIG_SEVERITY_BLOCKER);
        if (disk->create) {
            assert_true(disk->method == KVMIG_DISK_COPY_FULL || disk->method == KVMIG_DISK_COPY_INCREMENTAL);
            assert_true(disk->pool && disk->volume);
        }
        incremental = incremental || disk->method == KVMIG_DISK_COPY_INCREMENTAL;
        whole_chain = whole_chain || (disk->method == KVMIG_DISK_COPY_FULL && domain->disks.v[i].backing.n);
    }
    assert_false(incremental && whole_chain); /* libvirt has one flag for all */
}

void assert_plan_consistent(const struct kvmig_plan *plan, const struct kvmig__domain *domain, const char *describe)
{
    int32_t worst = worst_of(&plan->findings);

    check_verdict(plan->verdict, worst, kvmig__findings_has(&plan->findings, "LIMIT_REACHED"), describe);
    check_disks(plan->disks.v, plan->disks.n, domain, worst);
    if (plan->verdict != KVMIG_VERDICT_BLOCKED)
        assert_non_null(plan->target);
    for (size_t i = 0; i < plan->candidates.n; i++) {
        const struct kvmig__candidate *candidate = &plan->candidates.v[i];
        int32_t own = worst_of(&candidate->findings);

        assert_string_not_equal(candidate->host, plan->source);
        if (own == KVMIG_SEVERITY_BLOCKER)
            assert_int_equal(candidate->verdict, KVMIG_VERDICT_BLOCKED);
        if (candidate->disks.n)
            check_disks(candidate->disks.v, candidate->disks.n, domain, own);
        if (i > 0)
            assert_true(plan->candidates.v[i - 1].verdict <= candidate->verdict);
        if (kvmig__str_eq(candidate->host, plan->target))
            assert_int_equal(plan->verdict, candidate->verdict);
    }
}
