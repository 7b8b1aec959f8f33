/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner for KubeVirt and what of the VM itself forbids a migration; and KubeVirt's own word on it.
 */
#include "kube_fixture.h"

#include <stdlib.h>
#include <string.h>

#define ALLOW_BRIDGE "kubevirt.io/allow-pod-bridge-network-live-migration"

/* ---- network ---- */

static struct kvmig__kube_interface *add_interface(struct cluster *c, const char *binding)
{
    struct kvmig__kube_interface *interface = KVMIG__PUSH(&cluster_vm(c)->interfaces);

    interface->name = kvmig__strdup("default");
    interface->binding = kvmig__strdup(binding);
    interface->in_spec = interface->pod_network = true;
    return interface;
}

static void a_bridge_on_the_pod_network_needs_the_annotation(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_interface(&c, "bridge");
    assert_vm_has(&c, "POD_BRIDGE_BINDING", KVMIG_SEVERITY_BLOCKER, "\"interface\": \"default\"");
    kvmig__pairs_set(&cluster_vm(&c)->meta.annotations, ALLOW_BRIDGE, ""); /* any value permits it */
    assert_nothing(&c, "POD_BRIDGE_BINDING");
    assert_vm_has(&c, "POD_ADDRESS_MUST_STAY", KVMIG_SEVERITY_INFO, NULL);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void a_bridge_elsewhere_is_nobodys_business(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_interface(&c, "bridge")->pod_network = false;
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void masquerade_moves_but_breaks_connections(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_interface(&c, "masquerade");
    assert_vm_has(&c, "CONNECTIONS_RESET", KVMIG_SEVERITY_INFO, "default");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void a_plugin_must_be_registered_as_migratable(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct kvmig__kube_binding *binding;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_interface(&c, "plugin:fast");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE); /* registrations are not known */
    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    assert_vm_has(&c, "NETWORK_BINDING_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, "plugin:fast");
    binding = KVMIG__PUSH(&kubevirt->bindings);
    binding->name = kvmig__strdup("fast");
    assert_vm_has(&c, "NETWORK_BINDING_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NULL);
    binding->method = kvmig__strdup("");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&cluster_vm(&c)->interfaces.v[0].binding, "passt");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&cluster_vm(&c)->interfaces.v[0].binding, "slirp");
    assert_vm_has(&c, "NETWORK_BINDING_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, "slirp");
    cluster_clear(&c);
}

/* ---- devices and protection ---- */

static void devices_of_the_host_stay(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__strlist_add(&cluster_vm(&c)->domain.host_devices, "example.com/card");
    assert_string_equal(assert_vm_has(&c, "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, "hostDevice")->object,
                        "device/example.com/card");
    cluster_clear(&c);
}

static void one_permitted_mediated_gpu_moves_with_its_gate(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__strlist_add(&cluster_vm(&c)->domain.gpus, "example.com/vgpu");
    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    assert_vm_has(&c, "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, "gpu");
    kvmig__strlist_add(&kubevirt->feature_gates, "VGPULiveMigration");
    assert_vm_has(&c, "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NULL);
    kvmig__strlist_add(&kubevirt->mediated_devices, "example.com/vgpu");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&kubevirt->version, "v1.8.2");
    assert_vm_has(&c, "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NULL);
    kvmig__str_set(&kubevirt->version, "v1.9.0");
    kvmig__strlist_add(&cluster_vm(&c)->domain.gpus, "example.com/vgpu");
    assert_vm_has(&c, "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NULL);
    cluster_clear(&c);
}

static void protected_guests_and_unpinned_clocks_stay(void **state)
{
    struct kvmig__kube_feature *feature;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_vm(&c)->domain.launch_security = kvmig__strdup("sev");
    assert_vm_has(&c, "GUEST_PROTECTION_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, "sev");
    kvmig__str_set(&cluster_vm(&c)->domain.launch_security, NULL);
    cluster_vm(&c)->domain.hyperv_passthrough = true;
    assert_vm_has(&c, "HYPERV_PASSTHROUGH_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NULL);
    cluster_vm(&c)->domain.hyperv_passthrough = false;
    kvmig__strlist_add(&cluster_vm(&c)->domain.hyperv, "reenlightenment");
    assert_vm_has(&c, "CPU_NON_MIGRATABLE_FLAG", KVMIG_SEVERITY_BLOCKER, "reenlightenment");
    cluster_vm(&c)->tsc_frequency_hz = 2000000000;
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__strlist_clear(&cluster_vm(&c)->domain.hyperv);
    cluster_vm(&c)->tsc_frequency_hz = 0;
    feature = KVMIG__PUSH(&cluster_vm(&c)->domain.cpu_features);
    feature->name = kvmig__strdup("invtsc");
    assert_vm_has(&c, "CPU_NON_MIGRATABLE_FLAG", KVMIG_SEVERITY_BLOCKER, "invtsc");
    cluster_clear(&c);
}

static void reservations_move_since_1_9(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    cluster_vm(&c)->domain.disks.v[0].reservation = true;
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&kubevirt->version, "v1.8.4");
    assert_vm_has(&c, "PERSISTENT_RESERVATION", KVMIG_SEVERITY_BLOCKER, NULL);
    cluster_clear(&c);
}

/* ---- KubeVirt's condition ---- */

static void deny(struct cluster *c, const char *reason, const char *message)
{
    condition(&cluster_vm(c)->conditions, "LiveMigratable", "False", reason, message);
}

static void a_reason_that_nobody_knows_still_blocks(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    deny(&c, "SomethingNew", "it does not move");
    assert_vm_has(&c, "NOT_LIVE_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, "SomethingNew");
    deny(&c, NULL, NULL);
    assert_vm_has(&c, "NOT_LIVE_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NULL);
    condition(&cluster_vm(&c)->conditions, "LiveMigratable", "Unknown", NULL, NULL);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void a_reason_that_was_found_is_not_told_twice(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_interface(&c, "bridge");
    deny(&c, "InterfaceNotLiveMigratable", "no");
    assert_nothing(&c, "NOT_LIVE_MIGRATABLE");
    assert_is(&c, KVMIG_VERDICT_BLOCKED);
    cluster_clear(&c);
}

static void all_reasons_are_found_though_kubevirt_names_one(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_interface(&c, "bridge");
    kvmig__strlist_add(&cluster_vm(&c)->domain.host_devices, "example.com/card");
    kvmig__str_set(&cluster_claim(&c, "root")->access_modes.v[0], "ReadWriteOnce");
    deny(&c, "InterfaceNotLiveMigratable", "no");
    assert_vm_has(&c, "POD_BRIDGE_BINDING", KVMIG_SEVERITY_BLOCKER, NULL);
    assert_vm_has(&c, "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NULL);
    assert_vm_has(&c, "PVC_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, NULL);
    cluster_clear(&c);
}

static void a_claim_that_only_the_condition_names_is_found(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    deny(&c, "DisksNotLiveMigratable", "cannot migrate VMI: PVC local-data is not shared, and so on");
    assert_string_equal(assert_vm_has(&c, "PVC_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, NULL)->object,
                        "pvc/ns1/local-data");
    deny(&c, "DisksNotLiveMigratable", "some other words");
    assert_vm_has(&c, "NOT_LIVE_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, "some other words");
    cluster_clear(&c);
}

static void an_outdated_yes_is_told(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_interface(&c, "bridge");
    assert_vm_has(&c, "LIVE_MIGRATABLE_OUTDATED", KVMIG_SEVERITY_INFO, "InterfaceNotLiveMigratable");
    assert_is(&c, KVMIG_VERDICT_BLOCKED);
    cluster_clear(&c);
}

static void a_network_needs_its_definition(void **state)
{
    struct kvmig__kube_interface *interface;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    interface = KVMIG__PUSH(&cluster_vm(&c)->interfaces);
    interface->name = kvmig__strdup("blue");
    interface->multus = kvmig__strdup("blue-net");
    interface->in_spec = true;
    assert_nothing(&c, "NAD_MISSING"); /* definitions are not known */
    cluster_know(&c, KVMIG__KUBE_NAD);
    assert_string_equal(assert_vm_has(&c, "NAD_MISSING", KVMIG_SEVERITY_BLOCKER, "blue-net")->object,
                        "networkattachmentdefinition/ns1/blue-net");
    cluster_add(&c, KVMIG__KUBE_NAD, "ns1", "blue-net");
    assert_nothing(&c, "NAD_MISSING");
    kvmig__str_set(&interface->multus, "nets/red");
    assert_vm_has(&c, "NAD_MISSING", KVMIG_SEVERITY_BLOCKER, "nets/red");
    c.kube.scoped = true; /* another namespace is out of sight */
    assert_nothing(&c, "NAD_MISSING");
    cluster_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bridge_on_the_pod_network_needs_the_annotation),
        cmocka_unit_test(a_bridge_elsewhere_is_nobodys_business),
        cmocka_unit_test(masquerade_moves_but_breaks_connections),
        cmocka_unit_test(a_plugin_must_be_registered_as_migratable),
        cmocka_unit_test(devices_of_the_host_stay),
        cmocka_unit_test(one_permitted_mediated_gpu_moves_with_its_gate),
        cmocka_unit_test(protected_guests_and_unpinned_clocks_stay),
        cmocka_unit_test(reservations_move_since_1_9),
        cmocka_unit_test(a_reason_that_nobody_knows_still_blocks),
        cmocka_unit_test(a_reason_that_was_found_is_not_told_twice),
        cmocka_unit_test(all_reasons_are_found_though_kubevirt_names_one),
        cmocka_unit_test(a_claim_that_only_the_condition_names_is_found),
        cmocka_unit_test(an_outdated_yes_is_told),
        cmocka_unit_test(a_network_needs_its_definition),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
