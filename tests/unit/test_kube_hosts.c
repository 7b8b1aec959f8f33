/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Nodes and VMIs as hosts and domains: sizes, states, migrations under way.
 */
#include "cluster/kube_places.h"
#include "objects_test.h"

#define GIB (UINT64_C(1) << 30)

struct fixture {
    struct kvmig__kube kube;
    struct kvmig_findings problems;
    struct kvmig__host *host;
};

static int set_up(void **state)
{
    *state = kvmig__calloc(1, sizeof(struct fixture));
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(f->problems.n, 0);
    kvmig__host_free(f->host);
    kvmig__kube_clear(&f->kube);
    kvmig__findings_clear(&f->problems);
    free(f);
    return 0;
}

static void add(struct fixture *f, const char *yaml)
{
    kvmig__snapshot_read(&f->kube, yaml, strlen(yaml), "test", &f->problems);
}

static const struct kvmig__host *host(struct fixture *f, const char *node)
{
    struct kvmig__kube_places places;

    kvmig__host_free(f->host);
    kvmig__places_init(&places, &f->kube);
    f->host = kvmig__places_host(&places, KVMIG__KUBE_FIND(&f->kube, NODE, NULL, node));
    kvmig__places_clear(&places);
    return f->host;
}

static void add_node(struct fixture *f, const char *name)
{
    char *yaml =
        kvmig__asprintf("apiVersion: v1\nkind: Node\nmetadata: {name: %s, uid: uid-%s}\n"
                        "status: {capacity: {cpu: 16, memory: 64Gi}, allocatable: {cpu: 15500m, memory: 60Gi},\n"
                        "  nodeInfo: {architecture: amd64}, conditions: [{type: Ready, status: 'True'}]}\n",
                        name, name);

    add(f, yaml);
    free(yaml);
}

static void add_vmi(struct fixture *f, const char *spec, const char *status)
{
    char *yaml = kvmig__asprintf("apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\n"
                                 "metadata: {name: vm1, namespace: ns1, uid: vmi-uid, ownerReferences: "
                                 "[{kind: VirtualMachine, name: vm1}]}\nspec: %s\nstatus: %s\n",
                                 spec, status);

    add(f, yaml);
    free(yaml);
}

static void add_vmim(struct fixture *f, const char *phase)
{
    char *yaml = kvmig__asprintf("apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceMigration\n"
                                 "metadata: {name: mig1, namespace: ns1, uid: vmim-uid}\n"
                                 "spec: {vmiName: vm1}\nstatus: {phase: %s}\n",
                                 phase);

    add(f, yaml);
    free(yaml);
}

static void add_pod(struct fixture *f, const char *name, const char *labels, const char *spec, const char *phase)
{
    char *yaml = kvmig__asprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: ns1, labels: %s}\n"
                                 "spec: %s\nstatus: {phase: %s}\n",
                                 name, labels, spec, phase);

    add(f, yaml);
    free(yaml);
}

#define LAUNCHER "{kubevirt.io: virt-launcher}"
#define TARGET "{kubevirt.io: virt-launcher, kubevirt.io/migrationJobUID: vmim-uid}"

/* ---- a node ---- */

static void a_node_is_a_host(void **state)
{
    struct fixture *f = *state;
    const struct kvmig__host *h;

    add_node(f, "node-a");
    h = host(f, "node-a");
    assert_string_equal(h->name, "node-a");
    assert_string_equal(h->uri, "kube://node-a");
    assert_string_equal(h->arch, "amd64");
    assert_int_equal(h->state, KVMIG__HOST_UP);
    assert_null(h->lost_error);
    assert_int_equal(h->cpus, 16);
    assert_int_equal(h->memory_total, 60 * GIB);
    assert_true(h->memory_free == KVMIG__UNKNOWN); /* nothing is known of pods */
    assert_false(h->domains_known);
}

static void free_memory_is_what_launchers_leave(void **state)
{
    struct fixture *f = *state;

    add_node(f, "node-a");
    add_pod(
        f, "p1", LAUNCHER,
        "{nodeName: node-a, overhead: {memory: 1Gi}, containers: [{name: c, resources: {requests: {memory: 2Gi}}}], "
        "initContainers: [{name: s, restartPolicy: Always, resources: {requests: {memory: 1Gi}}}, "
        "{name: i, resources: {requests: {memory: 2Gi}}}]}",
        "Running");
    add_pod(f, "p2", LAUNCHER, "{nodeName: node-a, initContainers: [{name: i, resources: {limits: {memory: 10Gi}}}]}",
            "Pending");
    add_pod(f, "ended", LAUNCHER, "{nodeName: node-a, containers: [{name: c, resources: {requests: {memory: 5Gi}}}]}",
            "Succeeded");
    add_pod(f, "other", "{app: x}", "{nodeName: node-a, containers: [{name: c, resources: {requests: {memory: 5Gi}}}]}",
            "Running");
    add_pod(f, "away", LAUNCHER, "{nodeName: node-b, containers: [{name: c, resources: {requests: {memory: 5Gi}}}]}",
            "Running");
    assert_int_equal(host(f, "node-a")->memory_free, (60 - 4 - 10) * GIB);
    add_pod(f, "huge", LAUNCHER, "{nodeName: node-a, containers: [{name: c, resources: {requests: {memory: 1Ti}}}]}",
            "Running");
    assert_int_equal(host(f, "node-a")->memory_free, 0);
}

static void a_node_that_is_not_ready_is_lost(void **state)
{
    struct fixture *f = *state;
    const struct kvmig__host *h;

    add(f,
        "apiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {kubernetes.io/arch: arm64}}\n"
        "status: {conditions: [{type: Ready, status: Unknown, reason: NodeStatusUnknown, message: no heartbeat}]}\n");
    h = host(f, "node-a");
    assert_int_equal(h->state, KVMIG__HOST_LOST);
    assert_int_equal(kvmig_error_code(h->lost_error), -KVMIG_EUNREACHABLE);
    assert_non_null(strstr(h->lost_error->evidence, "NodeStatusUnknown: no heartbeat"));
    assert_string_equal(h->arch, "arm64");
    assert_true(h->memory_total == KVMIG__UNKNOWN);
    assert_int_equal(h->cpus, 0);
}

static void a_node_that_says_nothing_is_up(void **state)
{
    struct fixture *f = *state;

    add(f, "apiVersion: v1\nkind: Node\nmetadata: {name: node-a}\n");
    assert_int_equal(host(f, "node-a")->state, KVMIG__HOST_UP);
}

static void the_labels_of_a_node_tell_its_cpu(void **state)
{
    struct fixture *f = *state;
    const struct kvmig__emulator *emulator;

    add_node(f, "node-a");
    assert_int_equal(host(f, "node-a")->emulators.n, 0);
    add(f, "apiVersion: v1\nkind: Node\nmetadata: {name: node-b, labels: {kubernetes.io/arch: amd64,\n"
           "  host-model-cpu.node.kubevirt.io/Skylake-Server: 'true', cpu-model.node.kubevirt.io/Nehalem: 'true',\n"
           "  host-model-required-features.node.kubevirt.io/vmx: 'true', host-model-cpu.node.kubevirt.io/: 'true'}}\n");
    assert_int_equal(host(f, "node-b")->emulators.n, 1);
    emulator = &f->host->emulators.v[0];
    assert_string_equal(emulator->virt_type, "kvm");
    assert_string_equal(emulator->arch, "amd64");
    assert_true(emulator->host_model_known);
    assert_string_equal(emulator->host_model.model, "Skylake-Server");
    assert_int_equal(emulator->host_model.features.n, 1);
    assert_string_equal(emulator->host_model.features.v[0].name, "vmx");
}

/* ---- a VMI ---- */

static void a_vmi_is_a_domain_of_its_node(void **state)
{
    struct fixture *f = *state;
    const struct kvmig__domain *d;

    add_node(f, "node-a");
    add_node(f, "node-b");
    add_vmi(f,
            "{architecture: amd64, domain: {cpu: {sockets: 2, cores: 3}, memory: {guest: 2Gi}, machine: {type: q35}}}",
            "{nodeName: node-a, phase: Running, machine: {type: pc-q35-9.2}, memory: {guestCurrent: 1Gi}}");
    assert_int_equal(host(f, "node-b")->domains.n, 0);
    assert_true(f->host->domains_known);
    assert_int_equal(host(f, "node-a")->domains.n, 1);
    d = &f->host->domains.v[0];
    assert_string_equal(d->name, "ns1/vm1");
    assert_string_equal(d->uuid, "vmi-uid");
    assert_string_equal(d->machine, "pc-q35-9.2");
    assert_string_equal(d->arch, "amd64");
    assert_int_equal(d->state, KVMIG__STATE_RUNNING);
    assert_int_equal(d->vcpus, 6);
    assert_int_equal(d->memory, GIB);
    assert_int_equal(d->max_memory, 2 * GIB);
    assert_true(d->persistent);
    assert_false(d->job_active || d->migrating_in || d->migrating_out);
}

static void the_disks_of_the_spec_are_the_domains(void **state)
{
    struct fixture *f = *state;
    const struct kvmig__domain *d;

    add_node(f, "node-a");
    add_vmi(f,
            "{domain: {devices: {disks: [{name: root, disk: {bus: virtio}, cache: none, shareable: true}, "
            "{name: seed, cdrom: {bus: sata}}, {name: plain}]}}}",
            "{nodeName: node-a, phase: Running}");
    assert_int_equal(host(f, "node-a")->domains.n, 1);
    d = &f->host->domains.v[0];
    assert_int_equal(d->disks.n, 3);
    assert_string_equal(d->disks.v[0].target, "root");
    assert_string_equal(d->disks.v[0].bus, "virtio");
    assert_string_equal(d->disks.v[0].cache, "none");
    assert_true(d->disks.v[0].shareable);
    assert_true(d->disks.v[0].capacity == KVMIG__UNKNOWN);
    assert_string_equal(d->disks.v[1].device, "cdrom");
    assert_string_equal(d->disks.v[2].device, "disk");
}

static void states_and_reasons_are_told(void **state)
{
    static const struct {
        const char *status;
        int32_t state, reason;
    } cases[] = {
        { "{nodeName: node-a, conditions: [{type: Paused, status: 'True', reason: PausedByUser}]}", KVMIG__STATE_PAUSED,
          KVMIG__REASON_USER },
        { "{nodeName: node-a, conditions: [{type: Paused, status: 'True', reason: PausedIOError}]}",
          KVMIG__STATE_PAUSED, KVMIG__REASON_IOERROR },
        { "{nodeName: node-a, conditions: [{type: Paused, status: 'True', reason: PausedByMigrationMonitor}]}",
          KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION },
        { "{nodeName: node-a, conditions: [{type: Paused, status: 'True', reason: New}]}", KVMIG__STATE_PAUSED,
          KVMIG__REASON_OTHER },
        { "{nodeName: node-a, conditions: [{type: Paused, status: 'False'}]}", KVMIG__STATE_RUNNING,
          KVMIG__REASON_OTHER },
        { "{nodeName: node-a, phase: Scheduled}", KVMIG__STATE_OTHER, KVMIG__REASON_OTHER },
        { "{nodeName: node-a, phase: Succeeded}", KVMIG__STATE_SHUTOFF, KVMIG__REASON_OTHER },
        { "{nodeName: node-a, phase: Failed}", KVMIG__STATE_CRASHED, KVMIG__REASON_OTHER },
    };
    struct fixture *f = *state;

    add_node(f, "node-a");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        add_vmi(f, "{}", cases[i].status);
        assert_int_equal(host(f, "node-a")->domains.n, 1);
        assert_int_equal(f->host->domains.v[0].state, cases[i].state);
        assert_int_equal(f->host->domains.v[0].reason, cases[i].reason);
    }
}

static void sizes_come_from_whatever_is_given(void **state)
{
    static const struct {
        const char *spec;
        uint32_t vcpus;
        uint64_t memory;
    } cases[] = {
        { "{}", 1, 0 },
        { "{domain: {resources: {requests: {cpu: 1500m, memory: 1Gi}}}}", 2, GIB },
        { "{domain: {resources: {limits: {cpu: 3, memory: 4Gi}}}}", 3, 4 * GIB },
        { "{domain: {cpu: {cores: 4}, resources: {requests: {cpu: 1}}}}", 4, 0 },
        { "{domain: {cpu: {cores: 4294967295, sockets: 4294967295, threads: 9}}}", UINT32_MAX, 0 },
    };
    struct fixture *f = *state;

    add_node(f, "node-a");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        add_vmi(f, cases[i].spec, "{nodeName: node-a}");
        assert_int_equal(host(f, "node-a")->domains.v[0].vcpus, cases[i].vcpus);
        assert_int_equal(f->host->domains.v[0].memory, cases[i].memory);
    }
    add_vmi(f, cases[0].spec, "{nodeName: node-a, currentCPUTopology: {sockets: 2, cores: 4}}");
    assert_int_equal(host(f, "node-a")->domains.v[0].vcpus, 8);
}

/* ---- migrations ---- */

static void add_two_nodes_and_a_vmi(struct fixture *f, const char *status)
{
    add_node(f, "node-a");
    add_node(f, "node-b");
    add_vmi(f, "{}", status);
}

static void a_migration_is_seen_on_both_nodes(void **state)
{
    struct fixture *f = *state;

    add_two_nodes_and_a_vmi(f, "{nodeName: node-a, phase: Running}");
    add_vmim(f, "Scheduling");
    assert_true(host(f, "node-a")->domains.v[0].migrating_out);
    assert_true(f->host->domains.v[0].job_active && !f->host->domains.v[0].migrating_in);
    assert_int_equal(host(f, "node-b")->domains.n, 0);
    add_pod(f, "target", TARGET, "{nodeName: node-b}", "Running");
    assert_int_equal(host(f, "node-b")->domains.n, 1);
    assert_true(f->host->domains.v[0].migrating_in && !f->host->domains.v[0].migrating_out);
    assert_int_equal(f->host->domains.v[0].state, KVMIG__STATE_PAUSED);
    assert_int_equal(f->host->domains.v[0].reason, KVMIG__REASON_MIGRATION);
}

static void the_state_of_an_older_migration_is_not_believed(void **state)
{
    struct fixture *f = *state;

    add_two_nodes_and_a_vmi(f, "{nodeName: node-a, migrationState: {migrationUid: older, targetNode: node-b}}");
    add_vmim(f, "Pending");
    assert_int_equal(host(f, "node-b")->domains.n, 0);
    add_vmi(f, "{}", "{nodeName: node-a, migrationState: {migrationUid: vmim-uid, targetNode: node-b}}");
    assert_int_equal(host(f, "node-b")->domains.n, 1);
}

static void after_the_switch_the_guest_is_the_targets(void **state)
{
    struct fixture *f = *state;

    add_two_nodes_and_a_vmi(f, "{nodeName: node-b, phase: Running, migrationState: {migrationUid: vmim-uid, "
                               "sourceNode: node-a, targetNode: node-b}}");
    add_vmim(f, "Running");
    assert_int_equal(host(f, "node-a")->domains.n, 0);
    assert_int_equal(host(f, "node-b")->domains.n, 1);
    assert_int_equal(f->host->domains.v[0].state, KVMIG__STATE_RUNNING);
    assert_true(f->host->domains.v[0].migrating_in && !f->host->domains.v[0].migrating_out);
}

static void a_final_migration_is_over(void **state)
{
    struct fixture *f = *state;

    add_two_nodes_and_a_vmi(f, "{nodeName: node-a, migrationState: {migrationUid: vmim-uid, targetNode: node-b}}");
    add_vmim(f, "Failed");
    assert_false(host(f, "node-a")->domains.v[0].job_active);
    assert_int_equal(host(f, "node-b")->domains.n, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_node_is_a_host),
        TEST(free_memory_is_what_launchers_leave),
        TEST(a_node_that_is_not_ready_is_lost),
        TEST(a_node_that_says_nothing_is_up),
        TEST(the_labels_of_a_node_tell_its_cpu),
        TEST(a_vmi_is_a_domain_of_its_node),
        TEST(the_disks_of_the_spec_are_the_domains),
        TEST(states_and_reasons_are_told),
        TEST(sizes_come_from_whatever_is_given),
        TEST(a_migration_is_seen_on_both_nodes),
        TEST(the_state_of_an_older_migration_is_not_believed),
        TEST(after_the_switch_the_guest_is_the_targets),
        TEST(a_final_migration_is_over),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
