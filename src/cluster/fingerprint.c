/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fingerprint of a host's facts: FNV-1a over every lasting fact; the elements of a list are hashed one by one and summed,
 * so that their order does not matter. Does not keep anything; pure; any thread. Not stable between versions and not
 * meant to withstand an adversary: it is compared within one process, between two readings of one host.
 */
#include "cluster/fingerprint.h"

#define FNV_BASIS UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

static void mix_byte(uint64_t *hash, unsigned char byte)
{
    *hash = (*hash ^ byte) * FNV_PRIME;
}

static void mix_u64(uint64_t *hash, uint64_t value)
{
    for (unsigned shift = 0; shift < 64; shift += 8)
        mix_byte(hash, (unsigned char)(value >> shift));
}

/* NULL and "" differ; a terminator keeps "ab","c" apart from "a","bc". */
static void mix_str(uint64_t *hash, const char *s)
{
    mix_byte(hash, s != NULL);
    for (; s && *s; s++)
        mix_byte(hash, (unsigned char)*s);
    mix_byte(hash, 0);
}

static void mix_strlist(uint64_t *hash, const struct kvmig__strlist *list)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < list->n; i++) {
        uint64_t element = FNV_BASIS;

        mix_str(&element, list->v[i]);
        sum += element;
    }
    mix_u64(hash, sum);
}

static uint64_t hash_cpu(const struct kvmig__cpu *cpu)
{
    uint64_t hash = FNV_BASIS;

    mix_u64(&hash, (uint64_t)cpu->mode);
    mix_str(&hash, cpu->model);
    mix_u64(&hash, cpu->expanded_known);
    mix_strlist(&hash, &cpu->expanded);
    for (size_t i = 0; i < cpu->features.n; i++) {
        mix_str(&hash, cpu->features.v[i].name);
        mix_u64(&hash, (uint64_t)cpu->features.v[i].policy);
    }
    return hash;
}

static uint64_t hash_emulator(const struct kvmig__emulator *emulator)
{
    uint64_t hash = FNV_BASIS, models = 0;

    mix_str(&hash, emulator->path);
    mix_str(&hash, emulator->arch);
    mix_str(&hash, emulator->virt_type);
    mix_str(&hash, emulator->machine);
    mix_u64(&hash, emulator->host_model_known ? hash_cpu(&emulator->host_model) : 0);
    mix_u64(&hash, (uint64_t)emulator->passthrough_supported << 1 | emulator->maximum_supported);
    for (size_t i = 0; i < emulator->models.n; i++) {
        uint64_t model = FNV_BASIS;

        mix_str(&model, emulator->models.v[i].name);
        mix_u64(&model, emulator->models.v[i].usable);
        models += model;
    }
    mix_u64(&hash, models);
    for (size_t i = 0; i < emulator->offers.n; i++) {
        mix_str(&hash, emulator->offers.v[i].what);
        mix_strlist(&hash, &emulator->offers.v[i].values);
    }
    return hash;
}

/* Free pages come and go with guests, and are no lasting fact. */
static uint64_t hash_cell(const struct kvmig__numa_cell *cell)
{
    uint64_t hash = FNV_BASIS;

    mix_u64(&hash, cell->id);
    mix_u64(&hash, cell->memory);
    for (size_t i = 0; i < cell->cpus.n; i++)
        mix_u64(&hash, cell->cpus.v[i]);
    for (size_t i = 0; i < cell->pages.n; i++) {
        mix_u64(&hash, cell->pages.v[i].size);
        mix_u64(&hash, cell->pages.v[i].total);
    }
    return hash;
}

static uint64_t hash_secret(const struct kvmig__secret *secret)
{
    uint64_t hash = FNV_BASIS;

    mix_str(&hash, secret->uuid);
    mix_str(&hash, secret->usage);
    return hash;
}

static uint64_t hash_disk(const struct kvmig__disk *disk)
{
    uint64_t hash = FNV_BASIS;

    mix_str(&hash, disk->target);
    mix_u64(&hash, disk->has_source);
    mix_str(&hash, disk->source.path);
    mix_str(&hash, disk->source.name);
    mix_str(&hash, disk->source.pool);
    mix_str(&hash, disk->source.volume);
    mix_u64(&hash, disk->capacity);
    mix_u64(&hash, disk->job_active);
    return hash;
}

static uint64_t hash_domain(const struct kvmig__domain *domain)
{
    uint64_t hash = FNV_BASIS, disks = 0;

    mix_str(&hash, domain->name);
    mix_str(&hash, domain->uuid);
    mix_str(&hash, domain->xml);
    mix_u64(&hash, (uint64_t)domain->state << 32 | (uint32_t)domain->reason);
    mix_u64(&hash, (uint64_t)domain->persistent << 4 | (uint64_t)domain->job_active << 3 |
                       (uint64_t)domain->migrating_out << 2 | (uint64_t)domain->migrating_in << 1 |
                       domain->nvram_present);
    mix_u64(&hash, (uint64_t)domain->snapshots << 32 | domain->checkpoints);
    mix_u64(&hash, domain->max_memory);
    mix_u64(&hash, domain->vcpus);
    for (size_t i = 0; i < domain->disks.n; i++)
        disks += hash_disk(&domain->disks.v[i]);
    mix_u64(&hash, disks);
    return hash;
}

static uint64_t hash_network(const struct kvmig__network *network)
{
    uint64_t hash = FNV_BASIS;

    mix_str(&hash, network->name);
    mix_str(&hash, network->bridge);
    mix_u64(&hash, network->active);
    mix_strlist(&hash, &network->portgroups);
    return hash;
}

static uint64_t hash_pool(const struct kvmig__pool *pool)
{
    uint64_t hash = FNV_BASIS, volumes = 0;

    mix_str(&hash, pool->name);
    mix_str(&hash, pool->uuid);
    mix_str(&hash, pool->target_path);
    mix_u64(&hash, pool->active);
    mix_u64(&hash, pool->capacity);
    for (size_t i = 0; i < pool->volumes.n; i++) {
        uint64_t volume = FNV_BASIS;

        mix_str(&volume, pool->volumes.v[i].path);
        mix_str(&volume, pool->volumes.v[i].format);
        mix_u64(&volume, pool->volumes.v[i].capacity);
        volumes += volume;
    }
    mix_u64(&hash, volumes);
    return hash;
}

static uint64_t hash_block_device(const struct kvmig__block_device *device)
{
    uint64_t hash = FNV_BASIS;

    mix_strlist(&hash, &device->paths);
    mix_str(&hash, device->serial);
    mix_str(&hash, device->wwn);
    mix_u64(&hash, device->size);
    return hash;
}

static uint64_t hash_machine(const struct kvmig__machine *machine)
{
    uint64_t hash = FNV_BASIS;

    mix_str(&hash, machine->arch);
    mix_str(&hash, machine->name);
    mix_str(&hash, machine->canonical);
    return hash;
}

static void mix_identity(uint64_t *hash, const struct kvmig__host *host)
{
    mix_str(hash, host->name);
    mix_str(hash, host->uuid);
    mix_u64(hash, (uint64_t)host->state);
    mix_u64(hash, host->libvirt_version);
    mix_u64(hash, host->qemu_version);
    mix_str(hash, host->arch);
    mix_u64(hash, host->cpus);
    mix_u64(hash, host->memory_total);
    mix_strlist(hash, &host->secure_models);
    mix_strlist(hash, &host->bridges);
    mix_u64(hash, host->tsc_frequency_hz);
    mix_strlist(hash, &host->virt_types);
    mix_u64(hash, host->secrets_known);
    mix_u64(hash, (uint64_t)host->machines_known << 4 | (uint64_t)host->networks_known << 3 |
                      (uint64_t)host->bridges_known << 2 | (uint64_t)host->pools_known << 1 | host->domains_known);
}

#define MIX_ALL(hash, list, hash_one)                                                                                  \
    do {                                                                                                               \
        uint64_t sum_ = 0;                                                                                             \
        for (size_t i_ = 0; i_ < (list).n; i_++)                                                                       \
            sum_ += hash_one(&(list).v[i_]);                                                                           \
        mix_u64(hash, sum_);                                                                                           \
    } while (0)

uint64_t kvmig__host_fingerprint(const struct kvmig__host *host)
{
    uint64_t hash = FNV_BASIS;

    mix_identity(&hash, host);
    MIX_ALL(&hash, host->machines, hash_machine);
    MIX_ALL(&hash, host->cells, hash_cell);
    MIX_ALL(&hash, host->secrets, hash_secret);
    MIX_ALL(&hash, host->emulators, hash_emulator);
    MIX_ALL(&hash, host->networks, hash_network);
    MIX_ALL(&hash, host->pools, hash_pool);
    MIX_ALL(&hash, host->block_devices, hash_block_device);
    MIX_ALL(&hash, host->domains, hash_domain);
    return hash;
}
