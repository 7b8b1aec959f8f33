/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blockers between libvirt hosts are independent of each other (conditions_test.h). Not here is what by its nature hides
 * others: a host that does not answer, and a CPU of another vendor, whose features are not compared.
 */
#include "conditions_test.h"
#include "plan_fixture.h"

#include <stdlib.h>

#define SUBSETS 600

static struct kvmig__host *alpha(struct scene *s)
{
    return scene_host(s, "alpha");
}

static struct kvmig__host *beta(struct scene *s)
{
    return scene_host(s, "beta");
}

static struct kvmig__emulator *emulator(struct kvmig__host *host)
{
    return &host->emulators.v[0];
}

/* ---- the VM ---- */

static void io_error(struct scene *s)
{
    scene_vm(s)->state = KVMIG__STATE_PAUSED;
    scene_vm(s)->reason = KVMIG__REASON_IOERROR;
}

static void snapshots(struct scene *s)
{
    scene_vm(s)->snapshots = 1;
}

static void a_job(struct scene *s)
{
    scene_vm(s)->job_active = true;
}

static void a_block_job(struct scene *s)
{
    scene_disk(s)->job_active = true;
}

static void non_migratable(struct scene *s)
{
    scene_vm(s)->cpu.migratable = 0;
}

static void hyperv_passthrough(struct scene *s)
{
    scene_vm(s)->hyperv_passthrough = true;
}

/* ---- the hosts ---- */

static void same_uuid(struct scene *s)
{
    kvmig__str_set(&beta(s)->uuid, alpha(s)->uuid);
}

static void another_of_that_name(struct scene *s)
{
    host_add_domain(beta(s), "vm1", "22222222-0000-4000-8000-000000000002", KVMIG__STATE_RUNNING)->memory = 0;
}

static void little_memory(struct scene *s)
{
    beta(s)->memory_total = beta(s)->memory_free = GIB;
}

static void no_aes(struct scene *s)
{
    struct kvmig__strlist *offered = &emulator(beta(s))->host_model.expanded;

    cpu_add_feature(&scene_vm(s)->cpu, "aes", KVMIG__CPU_REQUIRE);
    kvmig__str_set(&offered->v[0], "adx");
}

static void no_model(struct scene *s)
{
    emulator(beta(s))->models.v[0].usable = false;
}

static void no_machine(struct scene *s)
{
    kvmig__str_set(&beta(s)->machines.v[0].name, "pc-q35-6.2");
}

static void no_emulator(struct scene *s)
{
    kvmig__str_set(&emulator(beta(s))->path, "/usr/libexec/qemu-kvm");
}

static void add_offer(struct kvmig__host *host, const char *what, const char *value)
{
    struct kvmig__offer *offer = KVMIG__PUSH(&emulator(host)->offers);

    offer->what = kvmig__strdup(what);
    kvmig__strlist_add(&offer->values, value);
}

static void add_need(struct scene *s, const char *what, const char *value, const char *offered)
{
    struct kvmig__need *need = KVMIG__PUSH(&scene_vm(s)->needs);

    need->what = kvmig__strdup(what);
    need->value = kvmig__strdup(value);
    need->name = kvmig__strdup("dev0");
    add_offer(alpha(s), what, value);
    add_offer(beta(s), what, offered);
}

static void no_hyperv(struct scene *s)
{
    add_need(s, "hyperv/features", "evmcs", "relaxed");
}

static void no_video(struct scene *s)
{
    add_need(s, "video/modelType", "qxl", "virtio");
}

static void no_firmware(struct scene *s)
{
    scene_vm(s)->loader = kvmig__strdup("/usr/share/OVMF/OVMF_CODE.fd");
    add_offer(alpha(s), "loader/path", "/usr/share/OVMF/OVMF_CODE.fd");
    add_offer(beta(s), "loader/path", "/usr/share/edk2/OVMF_CODE.fd");
}

static void no_secret(struct scene *s)
{
    KVMIG__PUSH(&scene_vm(s)->secrets)->uuid = kvmig__strdup("55555555-0000-4000-8000-000000000005");
}

static void know_cells(struct scene *s)
{
    struct kvmig__numa_cell *cell;

    if (beta(s)->cells_known)
        return;
    cell = KVMIG__PUSH(&beta(s)->cells);
    cell->memory = 8 * GIB;
    *KVMIG__PUSH(&cell->cpus) = 0;
    *KVMIG__PUSH(&cell->pages) = (struct kvmig__pages){ 4096, 1000, 1000 };
    *KVMIG__PUSH(&cell->pages) = (struct kvmig__pages){ 2 * MIB, 1023, 1023 };
    beta(s)->cells_known = true;
}

static void no_numa_node(struct scene *s)
{
    know_cells(s);
    scene_vm(s)->numa_pinned = true;
    scene_vm(s)->numa_nodeset = kvmig__strdup("1");
}

static void no_pinned_cpu(struct scene *s)
{
    struct kvmig__cpu_pin *pin = KVMIG__PUSH(&scene_vm(s)->cpu_pins);

    know_cells(s);
    pin->what = kvmig__strdup("vcpu 0");
    pin->cpus = kvmig__strdup("9");
}

static void few_huge_pages(struct scene *s)
{
    know_cells(s);
    scene_vm(s)->hugepages = true;
    scene_vm(s)->hugepage_size = 2 * MIB;
}

/* ---- devices and networks ---- */

static void pci_device(struct scene *s)
{
    vm_add_device(s, "hostdev", "pci");
}

static void nine_p(struct scene *s)
{
    vm_add_device(s, "filesystem", "9p");
}

static void no_network(struct scene *s)
{
    vm_add_interface(s, "network", "dmz");
}

static void network_down(struct scene *s)
{
    for (size_t i = 0; i < 2; i++) {
        struct kvmig__network *network = KVMIG__PUSH(&s->view.hosts.v[i]->networks);

        network->name = kvmig__strdup("backup");
        network->active = i == 0;
    }
    vm_add_interface(s, "network", "backup");
}

static void no_portgroup(struct scene *s)
{
    kvmig__str_set(&vm_add_interface(s, "network", "lan")->portgroup, "vlan-7");
}

static void no_bridge(struct scene *s)
{
    kvmig__strlist_add(&alpha(s)->bridges, "br7");
    vm_add_interface(s, "bridge", "br7");
}

/* ---- disks ---- */

static void lun_differs(struct scene *s)
{
    scene_add_file(s, "vdb", "/dev/mapper/lun1", "raw")->source.type = KVMIG__DISK_BLOCK;
    host_add_device(alpha(s), "/dev/mapper/lun1", "0x5000c500a1b2c3d4", 4 * GIB);
    host_add_device(beta(s), "/dev/mapper/lun1", "0x5000c500ffffffff", 4 * GIB);
}

static void nvme(struct scene *s)
{
    scene_add_file(s, "vdc", "/unused", "raw")->source.type = KVMIG__DISK_NVME;
}

static void no_medium(struct scene *s)
{
    struct kvmig__disk *disk = scene_add_file(s, "sda", "/srv/media/tools.iso", "raw");

    disk->readonly = true;
    pool_add_volume(host_add_pool(alpha(s), "media", "dir", "/srv/media"), "tools.iso", "raw", SCENE_CTIME);
    host_add_pool(beta(s), "media", "dir", "/srv/media");
}

static void no_pool(struct scene *s)
{
    scene_add_file(s, "vdd", "/srv/local/d.qcow2", "qcow2");
    pool_add_volume(host_add_pool(alpha(s), "local", "dir", "/srv/local"), "d.qcow2", "qcow2", SCENE_CTIME);
}

static void volume_there(struct scene *s)
{
    struct kvmig__pool *here = host_add_pool(alpha(s), "images", "dir", "/srv/images"),
                       *there = host_add_pool(beta(s), "images", "dir", "/srv/images");

    scene_add_file(s, "vde", "/srv/images/e.qcow2", "qcow2");
    pool_add_volume(here, "e.qcow2", "qcow2", SCENE_CTIME);
    pool_add_volume(there, "e.qcow2", "qcow2", SCENE_OTHER_CTIME);
}

static void little_room(struct scene *s)
{
    scene_add_file(s, "vdf", "/srv/small/f.qcow2", "qcow2");
    pool_add_volume(host_add_pool(alpha(s), "small", "dir", "/srv/small"), "f.qcow2", "qcow2", SCENE_CTIME);
    host_add_pool(beta(s), "small", "dir", "/srv/small")->available = MIB;
}

/* ---- the request ---- */

static void excluding_flags(struct scene *s)
{
    s->request.compression = kvmig__strdup("xbzrle");
    s->request.parallel_connections = 4;
}

static void unknown_uri(struct scene *s)
{
    s->request.migrate_uri = kvmig__strdup("ftp://beta");
}

static const struct {
    const char *code;
    void (*make)(struct scene *);
} conditions[] = {
    { "VM_IO_ERROR", io_error },
    { "SNAPSHOTS_PRESENT", snapshots },
    { "VM_JOB_ACTIVE", a_job },
    { "BLOCK_JOB_ACTIVE", a_block_job },
    { "CPU_NON_MIGRATABLE_FLAG", non_migratable },
    { "HYPERV_PASSTHROUGH_NOT_MIGRATABLE", hyperv_passthrough },
    { "DUPLICATE_HOST_UUID", same_uuid },
    { "DOMAIN_EXISTS_ON_TARGET", another_of_that_name },
    { "INSUFFICIENT_MEMORY", little_memory },
    { "CPU_FEATURE_MISSING", no_aes },
    { "CPU_MODEL_UNSUPPORTED", no_model },
    { "MACHINE_TYPE_UNSUPPORTED", no_machine },
    { "EMULATOR_MISSING", no_emulator },
    { "HYPERV_FEATURE_UNSUPPORTED", no_hyperv },
    { "DEVICE_UNSUPPORTED_ON_TARGET", no_video },
    { "FIRMWARE_MISSING", no_firmware },
    { "SECRET_MISSING", no_secret },
    { "NUMA_NODE_MISSING", no_numa_node },
    { "PINNED_CPU_MISSING", no_pinned_cpu },
    { "INSUFFICIENT_HUGEPAGES", few_huge_pages },
    { "HOSTDEV_NOT_MIGRATABLE", pci_device },
    { "DEVICE_NOT_MIGRATABLE", nine_p },
    { "NETWORK_MISSING", no_network },
    { "NETWORK_INACTIVE", network_down },
    { "PORTGROUP_MISSING", no_portgroup },
    { "BRIDGE_MISSING", no_bridge },
    { "BLOCK_DEVICE_NOT_SHARED", lun_differs },
    { "DISK_NOT_MIGRATABLE", nvme },
    { "READONLY_MEDIA_MISSING", no_medium },
    { "TARGET_POOL_MISSING", no_pool },
    { "DEST_VOLUME_EXISTS", volume_there },
    { "TARGET_SPACE_INSUFFICIENT", little_room },
    { "INVALID_FLAGS", excluding_flags },
    { "INVALID_ARGUMENT", unknown_uri },
};

static const char *code_of(size_t index)
{
    return conditions[index].code;
}

static struct scene scene;

static const struct kvmig_plan *plan_subset(uint64_t subset)
{
    scene_clear(&scene);
    scene_init(&scene);
    kvmig__str_set(&scene.request.source, "alpha"); /* else a second VM of that name is ambiguous */
    kvmig__str_set(&scene.request.target, "beta");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(conditions); i++) {
        if (subset >> i & 1)
            conditions[i].make(&scene);
    }
    return scene_plan(&scene);
}

static void taking_one_condition_away_takes_its_finding_away(void **state)
{
    const struct conditions all = { KVMIG__N_ELEMENTS(conditions), code_of, plan_subset };

    (void)state;
    conditions_check(&all, SUBSETS);
    scene_clear(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taking_one_condition_away_takes_its_finding_away),
    };

    return !!cmocka_run_group_tests_name("plan conditions", tests, NULL, NULL);
}
