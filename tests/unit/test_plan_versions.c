/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Problems of known versions: each is told where it applies, with its evidence, and nowhere else.
 */
#include "plan_fixture.h"

#include <stdlib.h>
#include <string.h>

#define V(major, minor) ((uint64_t)(major)*1000000 + (uint64_t)(minor)*1000)
#define INFO KVMIG_SEVERITY_INFO
#define WARN KVMIG_SEVERITY_WARN

enum with { NOTHING = 0, COPY = 1, SHARED_FILE = 2, VMX = 4, TPM = 8, PARALLEL = 16, CHAIN = 32, VIDEO = 64 };

static const struct {
    uint64_t libvirt, qemu, target_qemu;
    uint64_t flags;
    unsigned int with;
    int32_t severity;
    const char *piece; /* of the message */
} rows[] = {
    { V(11, 3), V(7, 2), V(7, 2), KVMIG_PLAN_ALLOW_POSTCOPY, NOTHING, WARN, "broken post-copy" },
    { V(10, 2), V(7, 2), V(7, 2), KVMIG_PLAN_TLS, COPY | PARALLEL, WARN,
      "TLS host name for disk copies with parallel" },
    { V(10, 2), V(7, 2), V(7, 2), KVMIG_PLAN_TLS | KVMIG_PLAN_ALLOW_POSTCOPY, COPY, WARN,
      "TLS host name for disk copies with post-copy" },
    { V(10, 2), V(7, 2), V(7, 2), 0, NOTHING, WARN, "custom CPU models" },
    { V(9, 10), V(7, 2), V(7, 2), 0, VMX, WARN, "vmx-*" },
    { V(11, 9), V(10, 0), V(10, 0), 0, NOTHING, WARN, "\"ht\"" },
    { V(10, 3), V(7, 2), V(7, 2), 0, SHARED_FILE, INFO, "root_squash" },
    { V(11, 11), V(7, 2), V(7, 2), 0, TPM | SHARED_FILE, INFO, "emulated TPM on NFS" },
    { V(11, 4), V(7, 2), V(7, 2), 0, NOTHING, INFO, "XML of a domain that is coming in" },
    { V(10, 4), V(7, 2), V(7, 2), 0, NOTHING, INFO, "shuts down while it is migrated" },
    { V(11, 5), V(7, 2), V(7, 2), KVMIG_PLAN_TLS, NOTHING, INFO, "GnuTLS" },
    { V(7, 5), V(5, 2), V(5, 2), 0, CHAIN, KVMIG_SEVERITY_BLOCKER, "do not copy the contents" },
    { V(12, 4), V(9, 0), V(9, 0), 0, VIDEO, INFO, "video model" },
};

static struct scene scene;

/* vda is an overlay on a base image that both hosts have. */
static void use_chain(void)
{
    struct kvmig__disk_source *base;

    scene_use_private_file(&scene);
    base = KVMIG__PUSH(&scene_disk(&scene)->backing);
    base->type = KVMIG__DISK_FILE;
    base->path = kvmig__strdup(SCENE_DIR "/base.qcow2");
    base->capacity = KVMIG__UNKNOWN;
    for (size_t i = 0; i < scene.view.hosts.n; i++)
        pool_add_volume(&scene.view.hosts.v[i]->pools.v[0], "base.qcow2", "qcow2", SCENE_CTIME);
}

static void set_up(size_t row)
{
    scene_init(&scene);
    for (size_t i = 0; i < scene.view.hosts.n; i++) {
        scene.view.hosts.v[i]->libvirt_version = rows[row].libvirt;
        scene.view.hosts.v[i]->qemu_version = i ? rows[row].target_qemu : rows[row].qemu;
    }
    scene.request.flags = rows[row].flags;
    if (rows[row].with & COPY)
        scene_use_private_file(&scene);
    if (rows[row].with & CHAIN)
        use_chain();
    scene_vm(&scene)->video_by_default = rows[row].with & VIDEO;
    if (rows[row].with & SHARED_FILE) {
        scene_use_file(&scene, "/srv/nfs/vm1.qcow2", "qcow2");
        kvmig__strlist_add(&scene.view.shared_paths, "/srv/nfs");
    }
    if (rows[row].with & VMX)
        cpu_add_feature(&scene_vm(&scene)->cpu, "vmx-ept", KVMIG__CPU_REQUIRE);
    if (rows[row].with & TPM)
        vm_add_device(&scene, "tpm", "emulator");
    if (rows[row].with & PARALLEL)
        scene.request.parallel_connections = 2;
}

static const struct kvmig_finding *find_problem(const char *piece)
{
    const struct kvmig_plan *plan = scene_plan(&scene);

    for (size_t i = 0; i < plan->findings.n; i++) {
        const struct kvmig_finding *finding = &plan->findings.v[i];

        if (strcmp(finding->code, "KNOWN_PROBLEM") == 0 && strstr(finding->message, piece))
            return finding;
    }
    return NULL;
}

static void each_problem_is_told_where_it_applies(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(rows); i++) {
        const struct kvmig_finding *finding;

        set_up(i);
        finding = find_problem(rows[i].piece);
        if (!finding)
            fail_msg("not told: %s", rows[i].piece);
        assert_int_equal(finding->severity, rows[i].severity);
        assert_detail(finding, "libvirt");
        assert_non_null(finding->hint);
        scene_clear(&scene);
    }
}

static void no_problem_is_told_without_what_triggers_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(rows); i++) {
        if (rows[i].flags || rows[i].with) {
            set_up(i);
            scene.request.flags = 0;
            scene.request.parallel_connections = 0;
            scene.request.copy = rows[i].with & CHAIN ? KVMIG_COPY_FULL : KVMIG_COPY_AUTO;
            scene_vm(&scene)->video_by_default = false;
            if (scene_vm(&scene)->devices.n)
                kvmig__str_set(&scene_vm(&scene)->devices.v[0].type, "external");
            if (scene_vm(&scene)->cpu.features.n)
                scene_vm(&scene)->cpu.features.v[0].policy = KVMIG__CPU_OPTIONAL;
            if (rows[i].with == SHARED_FILE)
                kvmig__strlist_clear(&scene.view.shared_paths);
            if (find_problem(rows[i].piece))
                fail_msg("told without cause: %s", rows[i].piece);
            scene_clear(&scene);
        }
    }
}

static void new_versions_have_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(rows); i++) {
        set_up(i);
        scene_host(&scene, "alpha")->libvirt_version = scene_host(&scene, "beta")->libvirt_version = V(12, 5);
        assert_no_finding(scene_plan(&scene), "KNOWN_PROBLEM");
        scene_clear(&scene);
    }
}

static void unknown_versions_have_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(rows); i++) {
        set_up(i);
        scene_host(&scene, "alpha")->libvirt_version = scene_host(&scene, "beta")->libvirt_version = 0;
        assert_no_finding(scene_plan(&scene), "KNOWN_PROBLEM");
        scene_clear(&scene);
    }
}

static void a_problem_of_the_target_is_not_one_of_the_source(void **state)
{
    (void)state;
    set_up(8);
    scene_host(&scene, "beta")->libvirt_version = V(11, 5);
    assert_null(find_problem(rows[8].piece));
    scene_host(&scene, "beta")->libvirt_version = V(11, 0);
    assert_non_null(find_problem(rows[8].piece));
    assert_null(strstr(find_problem(rows[8].piece)->detail, "source"));
    scene_clear(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_problem_is_told_where_it_applies),
        cmocka_unit_test(no_problem_is_told_without_what_triggers_it),
        cmocka_unit_test(new_versions_have_none),
        cmocka_unit_test(unknown_versions_have_none),
        cmocka_unit_test(a_problem_of_the_target_is_not_one_of_the_source),
    };

    return !!cmocka_run_group_tests_name("plan versions", tests, NULL, NULL);
}
