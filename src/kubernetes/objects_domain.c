/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Description of spec.domain of a VirtualMachineInstance. Any thread; see objects_io.h for directions and ownership.
 */
#include "kubernetes/objects_io.h"

#include <stdlib.h>
#include <string.h>

/* ---- CPU, memory, machine ---- */

static bool visit_feature(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_feature *feature = element;

    kvmig__io_str(io, "name", &feature->name);
    kvmig__io_str(io, "policy", &feature->policy);
    return true;
}

static void visit_cpu(struct kvmig__io *io, struct kvmig__kube_domain *domain)
{
    kvmig__io_begin(io, "cpu");
    kvmig__io_str(io, "model", &domain->cpu_model);
    KVMIG__IO_LIST(io, "features", &domain->cpu_features, visit_feature);
    kvmig__io_u32(io, "sockets", &domain->sockets);
    kvmig__io_u32(io, "cores", &domain->cores);
    kvmig__io_u32(io, "threads", &domain->threads);
    kvmig__io_bool(io, "dedicatedCpuPlacement", &domain->dedicated_cpus);
    kvmig__io_bool(io, "isolateEmulatorThread", &domain->isolated_emulator);
    kvmig__io_present(io, "realtime", &domain->realtime);
    kvmig__io_present(io, "numa", &domain->numa);
    kvmig__io_end(io);
}

static void visit_memory(struct kvmig__io *io, struct kvmig__kube_domain *domain)
{
    kvmig__io_begin(io, "memory");
    kvmig__io_bytes(io, "guest", &domain->memory);
    kvmig__io_begin(io, "hugepages");
    kvmig__io_str(io, "pageSize", &domain->hugepages);
    kvmig__io_end(io);
    kvmig__io_end(io);
}

static void visit_hyperv(struct kvmig__io *io, struct kvmig__strlist *list)
{
    const struct kvmig__value *map = io->level[io->depth].value;
    bool on = true;

    if (io->encode) {
        for (size_t i = 0; i < list->n; i++)
            kvmig__io_present(io, list->v[i], &on);
        return;
    }
    if (!kvmig__value_is(map, KVMIG__TAPE_OBJECT))
        return;
    KVMIG__EACH_MEMBER(map, name, value)
    {
        kvmig__io_enabled(io, name->text, &on);
        if (on && list->n < KVMIG__IO_ITEMS)
            kvmig__strlist_add(list, name->text);
    }
}

static void visit_features(struct kvmig__io *io, struct kvmig__kube_domain *domain)
{
    kvmig__io_begin(io, "features");
    kvmig__io_begin(io, "hyperv");
    visit_hyperv(io, &domain->hyperv);
    kvmig__io_end(io);
    kvmig__io_enabled(io, "hypervPassthrough", &domain->hyperv_passthrough);
    kvmig__io_end(io);
}

/* The model's word for it, and the member of launchSecurity. SEV-ES is SEV with a policy. */
static const struct {
    const char *name, *key;
} securities[] = { { "sev", "sev" }, { "sevES", "sev" }, { "sevSNP", "snp" }, { "tdx", "tdx" } };

static void read_launch_security(struct kvmig__io *io, char **field)
{
    bool there, encrypted = false;

    kvmig__io_present(io, "launchSecurity", &there);
    if (!there)
        return;
    kvmig__str_set(field, "");
    kvmig__io_begin(io, "launchSecurity");
    for (size_t i = KVMIG__N_ELEMENTS(securities); i > 0; i--) {
        kvmig__io_present(io, securities[i - 1].key, &there);
        if (there)
            kvmig__str_set(field, securities[i - 1].name);
    }
    kvmig__io_begin(io, "sev");
    kvmig__io_begin(io, "policy");
    kvmig__io_bool(io, "encryptedState", &encrypted);
    kvmig__io_end(io);
    kvmig__io_end(io);
    kvmig__io_end(io);
    if (encrypted && !strcmp(*field, "sev"))
        kvmig__str_set(field, "sevES");
}

static void write_launch_security(struct kvmig__io *io, const char *name)
{
    bool there = true;

    if (!name)
        return;
    kvmig__io_present(io, "launchSecurity", &there);
    kvmig__io_begin(io, "launchSecurity");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(securities); i++) {
        if (!strcmp(name, securities[i].name))
            kvmig__io_present(io, securities[i].key, &there);
    }
    if (!strcmp(name, "sevES")) {
        kvmig__io_begin(io, "sev");
        kvmig__io_begin(io, "policy");
        kvmig__io_bool(io, "encryptedState", &there);
        kvmig__io_end(io);
        kvmig__io_end(io);
    }
    kvmig__io_end(io);
}

/* ---- devices ---- */

static void read_disk_kind(struct kvmig__io *io, struct kvmig__kube_disk *disk)
{
    static const char *const kinds[] = { "disk", "lun", "cdrom", "floppy" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(kinds) && !disk->device; i++) {
        if (kvmig__io_get(io, kinds[i]))
            disk->device = kvmig__strdup(kinds[i]);
    }
    if (!disk->device)
        disk->device = kvmig__strdup("disk");
}

/* A CD-ROM is read-only unless it says otherwise. */
static void visit_readonly(struct kvmig__io *io, const char *device, bool *field)
{
    int32_t readonly = io->encode ? *field : !strcmp(device, "cdrom");

    if (io->encode && !readonly && strcmp(device, "cdrom") != 0)
        return;
    kvmig__io_tri(io, "readonly", &readonly);
    *field = readonly;
}

static bool visit_disk(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_disk *disk = element;
    const char *device;
    bool there = true;

    kvmig__io_str(io, "name", &disk->name);
    kvmig__io_str(io, "cache", &disk->cache);
    kvmig__io_str(io, "io", &disk->io);
    kvmig__io_bool(io, "shareable", &disk->shareable);
    if (!io->encode)
        read_disk_kind(io, disk);
    device = disk->device && *disk->device ? disk->device : "disk";
    kvmig__io_present(io, device, &there);
    kvmig__io_begin(io, device);
    kvmig__io_str(io, "bus", &disk->bus);
    kvmig__io_bool(io, "reservation", &disk->reservation);
    visit_readonly(io, device, &disk->readonly);
    kvmig__io_end(io);
    return true;
}

static void visit_devices(struct kvmig__io *io, struct kvmig__kube_domain *domain)
{
    kvmig__io_begin(io, "devices");
    KVMIG__IO_LIST(io, "disks", &domain->disks, visit_disk);
    kvmig__io_names(io, "hostDevices", "deviceName", NULL, "name", &domain->host_devices);
    kvmig__io_names(io, "gpus", "deviceName", NULL, "name", &domain->gpus);
    kvmig__io_names(io, "filesystems", "name", NULL, NULL, &domain->filesystems);
    kvmig__io_enabled(io, "tpm", &domain->tpm);
    kvmig__io_begin(io, "tpm");
    kvmig__io_bool(io, "persistent", &domain->tpm_persistent);
    kvmig__io_end(io);
    kvmig__io_end(io);
    domain->tpm_persistent = domain->tpm_persistent && domain->tpm;
}

void kvmig__visit_domain(struct kvmig__io *io, struct kvmig__kube_domain *domain)
{
    kvmig__io_begin(io, "domain");
    visit_cpu(io, domain);
    visit_memory(io, domain);
    kvmig__visit_resources(io, &domain->requests, &domain->limits);
    kvmig__io_begin(io, "machine");
    kvmig__io_str(io, "type", &domain->machine);
    kvmig__io_end(io);
    visit_features(io, domain);
    if (io->encode)
        write_launch_security(io, domain->launch_security);
    else
        read_launch_security(io, &domain->launch_security);
    visit_devices(io, domain);
    kvmig__io_begin(io, "firmware");
    kvmig__io_str(io, "uuid", &domain->firmware_uuid);
    kvmig__io_begin(io, "bootloader");
    kvmig__io_begin(io, "efi");
    kvmig__io_bool(io, "persistent", &domain->efi_persistent);
    kvmig__io_end(io);
    kvmig__io_end(io);
    kvmig__io_end(io);
    kvmig__io_end(io);
}
