/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cluster model: copying, finding, naming. Leaks are for the sanitizers to find.
 */
#include "xml_test.h"

static void fill_cpu(struct kvmig__cpu *cpu)
{
    memset(cpu, 0, sizeof(*cpu));
    cpu->mode = KVMIG__CPU_CUSTOM;
    cpu->model = kvmig__strdup("Haswell");
    cpu->vendor = kvmig__strdup("Intel");
    cpu->check = kvmig__strdup("full");
    cpu->migratable = 0;
    struct kvmig__cpu_feature *feature = KVMIG__PUSH(&cpu->features);
    feature->name = kvmig__strdup("vmx");
    feature->policy = KVMIG__CPU_DISABLE;
    kvmig__strlist_add(&cpu->expanded, "sse3");
    cpu->expanded_known = true;
    cpu->tsc_frequency_hz = 2600000000;
    cpu->xml = kvmig__strdup("<cpu/>");
}

static void a_copied_cpu_is_equal_and_independent(void **state)
{
    (void)state;
    struct kvmig__cpu cpu, copy;
    fill_cpu(&cpu);
    kvmig__cpu_copy(&copy, &cpu);
    kvmig__cpu_clear(&cpu);
    assert_int_equal(copy.mode, KVMIG__CPU_CUSTOM);
    assert_text(copy.model, "Haswell");
    assert_text(copy.vendor, "Intel");
    assert_text(copy.check, "full");
    assert_int_equal(copy.migratable, 0);
    assert_int_equal(copy.features.n, 1);
    assert_text(copy.features.v[0].name, "vmx");
    assert_int_equal(copy.features.v[0].policy, KVMIG__CPU_DISABLE);
    assert_int_equal(copy.expanded.n, 1);
    assert_text(copy.expanded.v[0], "sse3");
    assert_true(copy.expanded_known);
    assert_int_equal(copy.tsc_frequency_hz, 2600000000);
    assert_text(copy.xml, "<cpu/>");
    kvmig__cpu_clear(&copy);
}

static void clearing_twice_or_nothing_is_harmless(void **state)
{
    (void)state;
    struct kvmig__cpu cpu;
    struct kvmig__side side = { .error = kvmig__strdup("no answer") };
    struct kvmig__domain domain = { .name = kvmig__strdup("vm1") };
    fill_cpu(&cpu);
    kvmig__cpu_clear(&cpu);
    kvmig__cpu_clear(&cpu);
    assert_int_equal(cpu.migratable, -1);
    kvmig__domain_clear(&domain);
    kvmig__domain_clear(&domain);
    kvmig__side_clear(&side);
    kvmig__side_clear(&side);
    kvmig__cpu_clear(NULL);
    kvmig__disk_source_clear(NULL);
    kvmig__domain_clear(NULL);
    kvmig__emulator_clear(NULL);
    kvmig__machine_clear(NULL);
    kvmig__network_clear(NULL);
    kvmig__volume_clear(NULL);
    kvmig__pool_clear(NULL);
    kvmig__block_device_clear(NULL);
    kvmig__side_clear(NULL);
    kvmig__host_free(NULL);
}

static void a_new_host_does_not_know_its_memory(void **state)
{
    (void)state;
    struct kvmig__host *host = kvmig__host_new();
    assert_true(host->memory_total == KVMIG__UNKNOWN);
    assert_true(host->memory_free == KVMIG__UNKNOWN);
    assert_int_equal(host->state, KVMIG__HOST_CONNECTING);
    assert_false(host->domains_known);
    kvmig__host_free(host);
}

/* One of everything, so that the leak checker sees whether freeing forgets something. */
static void freeing_a_host_frees_all_that_it_holds(void **state)
{
    (void)state;
    struct kvmig__host *host = kvmig__host_new();
    host->name = kvmig__strdup("host-a");
    host->uri = kvmig__strdup("qemu:///system");
    host->uuid = kvmig__strdup("11111111-aaaa-4000-8000-00000000000a");
    host->arch = kvmig__strdup("x86_64");
    host->lost_error = kvmig__error_new(KVMIG_EUNREACHABLE, NULL, NULL, NULL, "gone");
    kvmig__strlist_add(&host->secure_models, "selinux");
    kvmig__strlist_add(&host->bridges, "br0");
    KVMIG__PUSH(&host->machines)->name = kvmig__strdup("q35");
    struct kvmig__emulator *emulator = KVMIG__PUSH(&host->emulators);
    emulator->path = kvmig__strdup("/usr/bin/qemu-system-x86_64");
    fill_cpu(&emulator->host_model);
    struct kvmig__cpu_model *model = KVMIG__PUSH(&emulator->models);
    model->name = kvmig__strdup("Haswell");
    model->canonical = kvmig__strdup("Haswell-v1");
    kvmig__strlist_add(&model->blockers, "hle");
    kvmig__strlist_add(&KVMIG__PUSH(&host->networks)->portgroups, "vlan-42");
    struct kvmig__pool *pool = KVMIG__PUSH(&host->pools);
    pool->name = kvmig__strdup("images");
    KVMIG__PUSH(&pool->volumes)->ctime = kvmig__strdup("1.2");
    kvmig__strlist_add(&KVMIG__PUSH(&host->block_devices)->paths, "/dev/sda");
    struct kvmig__domain *domain = KVMIG__PUSH(&host->domains);
    fill_cpu(&domain->cpu);
    struct kvmig__disk *disk = KVMIG__PUSH(&domain->disks);
    disk->source.path = kvmig__strdup("/srv/a");
    KVMIG__PUSH(&disk->backing)->path = kvmig__strdup("/srv/b");
    KVMIG__PUSH(&domain->interfaces)->mac = kvmig__strdup("52:54:00:00:00:01");
    KVMIG__PUSH(&domain->devices)->kind = kvmig__strdup("tpm");
    kvmig__host_free(host);
}

static void a_host_is_found_by_name_before_uri_before_uuid(void **state)
{
    (void)state;
    static const char uuid[] = "11111111-aaaa-4000-8000-00000000000a";
    struct kvmig__view view = { 0 };
    for (int i = 0; i < 3; i++)
        *KVMIG__PUSH(&view.hosts) = kvmig__host_new();
    view.hosts.v[0]->uuid = kvmig__strdup(uuid);
    view.hosts.v[0]->uri = kvmig__strdup("host-c");
    view.hosts.v[1]->uri = kvmig__strdup("qemu+tls://b/system");
    view.hosts.v[2]->name = kvmig__strdup("host-c");
    assert_ptr_equal(kvmig__view_find_host(&view, "host-c"), view.hosts.v[2]);
    assert_ptr_equal(kvmig__view_find_host(&view, "qemu+tls://b/system"), view.hosts.v[1]);
    assert_ptr_equal(kvmig__view_find_host(&view, "11111111-AAAA-4000-8000-00000000000A"), view.hosts.v[0]);
    assert_null(kvmig__view_find_host(&view, "host-x"));
    assert_null(kvmig__view_find_host(&view, NULL));
    for (int i = 0; i < 3; i++)
        kvmig__host_free(view.hosts.v[i]);
    free(view.hosts.v);
}

static void a_domain_is_found_by_uuid_before_name(void **state)
{
    (void)state;
    static const char uuid[] = "7b6f2c10-0000-4000-8000-00000000000a";
    struct kvmig__host *host = kvmig__host_new();
    KVMIG__PUSH(&host->domains)->name = kvmig__strdup(uuid); /* a name may look like the UUID of another */
    struct kvmig__domain *second = KVMIG__PUSH(&host->domains);
    second->name = kvmig__strdup("vm2");
    second->uuid = kvmig__strdup(uuid);
    assert_ptr_equal(kvmig__host_find_domain(host, uuid), &host->domains.v[1]);
    assert_ptr_equal(kvmig__host_find_domain(host, "7B6F2C10-0000-4000-8000-00000000000A"), &host->domains.v[1]);
    assert_ptr_equal(kvmig__host_find_domain(host, "vm2"), &host->domains.v[1]);
    assert_null(kvmig__host_find_domain(host, "vm"));
    assert_null(kvmig__host_find_domain(host, NULL));
    kvmig__host_free(host);
}

static void add_pool(struct kvmig__host *host, const char *name, const char *path, bool active)
{
    struct kvmig__pool *pool = KVMIG__PUSH(&host->pools);
    pool->name = kvmig__strdup(name);
    pool->target_path = kvmig__strdup(path);
    pool->active = active;
}

static const char *pool_of(const struct kvmig__host *host, const char *path)
{
    const struct kvmig__pool *pool = kvmig__host_pool_of_path(host, path);
    return pool ? pool->name : NULL;
}

static void the_pool_of_a_path_is_the_active_one_that_holds_it_directly(void **state)
{
    (void)state;
    struct kvmig__host *host = kvmig__host_new();
    add_pool(host, "stopped", "/srv/images", false);
    add_pool(host, "images", "/srv/images/", true);
    add_pool(host, "nested", "/srv/images/nested", true);
    add_pool(host, "rbd", NULL, true);
    assert_text(pool_of(host, "/srv/images/a.qcow2"), "images");
    assert_text(pool_of(host, "/srv/images//a.qcow2"), "images");
    assert_text(pool_of(host, "/srv/images/nested/a.qcow2"), "nested");
    assert_null(pool_of(host, "/srv/images/other/a.qcow2"));
    assert_null(pool_of(host, "/srv/images2/a.qcow2"));
    assert_null(pool_of(host, "/srv/images/"));
    assert_null(pool_of(host, "a.qcow2"));
    assert_null(pool_of(host, NULL));
    assert_text(kvmig__host_find_pool(host, "stopped")->name, "stopped");
    assert_null(kvmig__host_find_pool(host, "none"));
    assert_null(kvmig__host_find_pool(host, NULL));
    kvmig__host_free(host);
}

static void a_volume_is_found_by_path_or_name(void **state)
{
    (void)state;
    struct kvmig__pool pool = { 0 };
    struct kvmig__volume *volume = KVMIG__PUSH(&pool.volumes);
    volume->name = kvmig__strdup("a.qcow2");
    volume->path = kvmig__strdup("/srv/images/a.qcow2");
    assert_ptr_equal(kvmig__pool_find_volume(&pool, "a.qcow2"), pool.volumes.v);
    assert_ptr_equal(kvmig__pool_find_volume(&pool, "/srv/images/a.qcow2"), pool.volumes.v);
    assert_null(kvmig__pool_find_volume(&pool, "b.qcow2"));
    assert_null(kvmig__pool_find_volume(&pool, NULL));
    kvmig__pool_clear(&pool);
}

/* Readers of snapshots search the names by counting up: they must be dense and distinct. */
static void check_names(const char *(*name_of)(int32_t), int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        assert_non_null(name_of(i));
        for (int32_t j = 0; j < i; j++)
            assert_string_not_equal(name_of(i), name_of(j));
    }
    assert_null(name_of(n));
    assert_null(name_of(-1));
}

static void every_value_has_one_name(void **state)
{
    (void)state;
    check_names(kvmig__domain_state_name, KVMIG__STATE_OTHER + 1);
    check_names(kvmig__domain_reason_name, KVMIG__REASON_UNSPECIFIED + 1);
    check_names(kvmig__disk_type_name, KVMIG__DISK_OTHER + 1);
    assert_text(kvmig__domain_state_name(KVMIG__STATE_RUNNING), "running");
    assert_text(kvmig__disk_type_name(KVMIG__DISK_NETWORK), "network");
}

static void a_copied_side_is_independent(void **state)
{
    (void)state;
    struct kvmig__side side = { .state = KVMIG__STATE_PAUSED,
                                .error = kvmig__strdup("timed out"),
                                .uuid = kvmig__strdup("u") },
                       copy;
    kvmig__side_copy(&copy, &side);
    kvmig__side_clear(&side);
    assert_int_equal(copy.state, KVMIG__STATE_PAUSED);
    assert_text(copy.error, "timed out");
    assert_text(copy.uuid, "u");
    assert_null(side.uuid);
    assert_int_equal(side.state, KVMIG__STATE_ABSENT);
    kvmig__side_clear(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copied_cpu_is_equal_and_independent),
        cmocka_unit_test(clearing_twice_or_nothing_is_harmless),
        cmocka_unit_test(a_new_host_does_not_know_its_memory),
        cmocka_unit_test(freeing_a_host_frees_all_that_it_holds),
        cmocka_unit_test(a_host_is_found_by_name_before_uri_before_uuid),
        cmocka_unit_test(a_domain_is_found_by_uuid_before_name),
        cmocka_unit_test(the_pool_of_a_path_is_the_active_one_that_holds_it_directly),
        cmocka_unit_test(a_volume_is_found_by_path_or_name),
        cmocka_unit_test(every_value_has_one_name),
        cmocka_unit_test(a_copied_side_is_independent),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
