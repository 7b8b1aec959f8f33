/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner for KubeVirt: what the present launcher, the source's node and KubeVirt itself bring along; networks and what they
 * mean for the guest; options in force and why.
 */
#include "kube_fixture.h"

#include <stdlib.h>
#include <string.h>

/* ---- the launcher ---- */

static struct kvmig__kube_container *add_image(struct kvmig__kube_pod *pod, const char *image_id)
{
    struct kvmig__kube_container *container = KVMIG__PUSH(&pod->containers);

    container->name = kvmig__strdup("volumeos");
    container->image_id = kvmig__strdup(image_id);
    return container;
}

static void an_image_needs_a_digest_that_a_registry_knows(void **state)
{
    static const char *const bad[] = { "sha256:0a", "docker://sha256:0a",
                                       "docker.io/library/import-2026-08-22@sha256:0a" };
    static const char *const good[] = { "quay.io/x/os@sha256:0a", "docker-pullable://quay.io/x/os@sha256:0a",
                                        "quay.io/x/import-tool@sha256:0a", "" };
    struct cluster c;

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(bad) + KVMIG__N_ELEMENTS(good); i++) {
        bool is_bad = i < KVMIG__N_ELEMENTS(bad);

        cluster_init(&c);
        add_image(cluster_add_launcher(&c, "source", "alpha"), is_bad ? bad[i] : good[i - KVMIG__N_ELEMENTS(bad)]);
        if (is_bad)
            assert_vm_has(&c, "IMAGE_REFERENCE_NOT_PULLABLE", KVMIG_SEVERITY_WARN, "volumeos");
        else
            assert_nothing(&c, "IMAGE_REFERENCE_NOT_PULLABLE");
        cluster_clear(&c);
    }
}

static void a_launcher_that_is_being_deleted_takes_the_guest_along(void **state)
{
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    pod = cluster_add_launcher(&c, "source", "alpha");
    assert_nothing(&c, "LAUNCHER_TERMINATING");
    pod->meta.deleted_ms = 1;
    assert_vm_has(&c, "LAUNCHER_TERMINATING", KVMIG_SEVERITY_BLOCKER, NULL);
    cluster_clear(&c);
}

static void an_outdated_launcher_is_a_remark(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_kubevirt(&c, "v1.9.0");
    label(cluster_vm(&c), "kubevirt.io/outdatedLauncherImage", "");
    assert_vm_has(&c, "LAUNCHER_OUTDATED", KVMIG_SEVERITY_INFO, "v1.9.0");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    label(cluster_vm(&c), "kubevirt.io/outdatedLauncherImage", NULL);
    assert_nothing(&c, "LAUNCHER_OUTDATED");
    cluster_clear(&c);
}

static void the_selinux_context_must_be_known_where_levels_are_to_match(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_nothing(&c, "SELINUX_CONTEXT_MISSING"); /* a status that is cut down */
    cluster_vm(&c)->selinux_context = kvmig__strdup("");
    assert_vm_has(&c, "SELINUX_CONTEXT_MISSING", KVMIG_SEVERITY_BLOCKER, NULL);
    cluster_add_kubevirt(&c, "v1.9.0")->config.match_selinux = 0;
    assert_nothing(&c, "SELINUX_CONTEXT_MISSING");
    kvmig__str_set(&cluster_vm(&c)->selinux_context, "none");
    assert_nothing(&c, "SELINUX_CONTEXT_MISSING");
    cluster_clear(&c);
}

static void a_complete_status_without_context_is_one_that_lacks_it(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_vm(&c)->launcher_image = kvmig__strdup("quay.io/kubevirt/virt-launcher:v1.9.0");
    cluster_vm(&c)->qos_class = kvmig__strdup("Burstable");
    assert_vm_has(&c, "SELINUX_CONTEXT_MISSING", KVMIG_SEVERITY_BLOCKER, NULL);
    c.kube.trimmed = true; /* of files: they may have been cut down */
    assert_nothing(&c, "SELINUX_CONTEXT_MISSING");
    cluster_clear(&c);
}

/* ---- the source's node ---- */

static void a_node_that_cannot_send_is_told(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    condition(&cluster_node(&c, "alpha")->conditions, "Ready", "False", NULL, NULL);
    assert_vm_has(&c, "SOURCE_NODE_NOT_READY", KVMIG_SEVERITY_WARN, "not Ready");
    condition(&cluster_node(&c, "alpha")->conditions, "Ready", "True", NULL, NULL);
    assert_nothing(&c, "SOURCE_NODE_NOT_READY");
    kvmig__pairs_set(&cluster_node(&c, "alpha")->meta.annotations, "kubevirt.io/heartbeat", "2026-11-30T10:00:00Z");
    kvmig__pairs_set(&cluster_node(&c, "beta")->meta.annotations, "kubevirt.io/heartbeat", "2026-11-30T10:05:00Z");
    assert_nothing(&c, "SOURCE_NODE_NOT_READY");
    kvmig__pairs_set(&cluster_node(&c, "beta")->meta.annotations, "kubevirt.io/heartbeat", "2026-11-30T10:06:00Z");
    assert_vm_has(&c, "SOURCE_NODE_NOT_READY", KVMIG_SEVERITY_BLOCKER, "\"behind_min\": 6");
    cluster_clear(&c);
}

static struct kvmig__kube_pod *add_handler(struct cluster *c, const char *name, const char *node, const char *phase)
{
    struct kvmig__kube_pod *pod = cluster_add(c, KVMIG__KUBE_POD, "kubevirt", name);

    label(pod, "kubevirt.io", "virt-handler");
    pod->node = kvmig__strdup(node);
    pod->phase = kvmig__strdup(phase);
    return pod;
}

static void a_handler_must_be_ready_and_on_the_migration_network(void **state)
{
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    pod = add_handler(&c, "h1", "beta", "Pending");
    assert_node_has(&c, "beta", "NODE_NOT_SCHEDULABLE", KVMIG_SEVERITY_BLOCKER, "virt-handler");
    kvmig__str_set(&pod->phase, "Running");
    assert_nothing(&c, "NODE_NOT_SCHEDULABLE");
    cluster_add_kubevirt(&c, "v1.9.0")->config.network = kvmig__strdup("fast");
    assert_node_has(&c, "beta", "MIGRATION_NETWORK_NOT_ATTACHED", KVMIG_SEVERITY_WARN, "fast");
    kvmig__pairs_set(&pod->meta.annotations, "k8s.v1.cni.cncf.io/networks", "fast@migration0");
    assert_nothing(&c, "MIGRATION_NETWORK_NOT_ATTACHED");
    add_handler(&c, "h0", "alpha", "Running");
    assert_vm_has(&c, "MIGRATION_NETWORK_NOT_ATTACHED", KVMIG_SEVERITY_WARN, "fast");
    cluster_clear(&c);
}

static void the_migration_network_must_be_defined_beside_kubevirt(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_kubevirt(&c, "v1.9.0")->config.network = kvmig__strdup("fast");
    assert_nothing(&c, "MIGRATION_NETWORK_MISSING"); /* nothing was said of definitions */
    cluster_add(&c, KVMIG__KUBE_NAD, "ns1", "fast");
    assert_vm_has(&c, "MIGRATION_NETWORK_MISSING", KVMIG_SEVERITY_WARN, "\"namespace\": \"kubevirt\"");
    cluster_add(&c, KVMIG__KUBE_NAD, "kubevirt", "fast");
    assert_nothing(&c, "MIGRATION_NETWORK_MISSING");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

/* ---- networks of the VM ---- */

static struct kvmig__kube_interface *add_interface(struct cluster *c, const char *binding, bool pod_network)
{
    struct kvmig__kube_interface *interface = KVMIG__PUSH(&cluster_vm(c)->interfaces);

    interface->name = kvmig__strdup("default");
    interface->binding = kvmig__strdup(binding);
    interface->in_spec = true;
    interface->pod_network = pod_network;
    return interface;
}

static void bindings_tell_what_becomes_of_the_address(void **state)
{
    struct kvmig__kube_interface *interface;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    interface = add_interface(&c, "masquerade", true);
    interface->ip = kvmig__strdup("10.1.2.3");
    assert_vm_has(&c, "CONNECTIONS_RESET", KVMIG_SEVERITY_INFO, "10.1.2.3");
    kvmig__str_set(&interface->binding, "passt");
    assert_vm_has(&c, "POD_ADDRESS_MUST_STAY", KVMIG_SEVERITY_INFO, "passt");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&interface->binding, "slirp");
    assert_vm_has(&c, "NETWORK_BINDING_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, "slirp");
    interface->pod_network = false;
    kvmig__str_set(&interface->binding, "bridge"); /* of a second network: nothing is checked */
    assert_nothing(&c, "POD_BRIDGE_BINDING");
    kvmig__str_set(&interface->binding, "sriov");
    assert_vm_has(&c, "DEVICE_RESETS", KVMIG_SEVERITY_INFO, "sriov");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void a_plugin_migrates_if_its_registration_says_so(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct kvmig__kube_binding *binding;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_interface(&c, "plugin:fancy", true);
    assert_vm_has(&c, "NETWORK_BINDING_UNVERIFIED", KVMIG_SEVERITY_INFO, "KubeVirt");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    assert_vm_has(&c, "NETWORK_BINDING_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, "plugin:fancy");
    binding = KVMIG__PUSH(&kubevirt->bindings);
    binding->name = kvmig__strdup("fancy");
    assert_vm_has(&c, "NETWORK_BINDING_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, "plugin:fancy");
    binding->method = kvmig__strdup("");
    assert_nothing(&c, "LINK_REFRESHED");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&binding->method, "link-refresh");
    assert_vm_has(&c, "LINK_REFRESHED", KVMIG_SEVERITY_INFO, "fancy");
    cluster_clear(&c);
}

/* ---- what else goes on ---- */

static void a_volume_that_is_just_being_plugged_is_a_risk(void **state)
{
    struct kvmig__kube_volume_status *status;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    status = KVMIG__PUSH(&cluster_vm(&c)->volume_status);
    status->name = kvmig__strdup("extra");
    status->phase = kvmig__strdup("AttachedToNode");
    assert_nothing(&c, "HOTPLUG_IN_PROGRESS"); /* no hotplugged one */
    status->hotplug = true;
    assert_vm_has(&c, "HOTPLUG_IN_PROGRESS", KVMIG_SEVERITY_WARN, "AttachedToNode");
    kvmig__str_set(&status->phase, "Ready");
    assert_nothing(&c, "HOTPLUG_IN_PROGRESS");
    cluster_clear(&c);
}

static void changes_that_kubevirt_carries_out_by_itself_are_told(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    condition(&cluster_vm(&c)->conditions, "MigrationRequired", "False", "AutoMigrationPending", NULL);
    assert_nothing(&c, "AUTOMATIC_MIGRATION_DUE");
    condition(&cluster_vm(&c)->conditions, "MigrationRequired", "True", "AutoMigrationDueToLiveUpdate", NULL);
    assert_vm_has(&c, "AUTOMATIC_MIGRATION_DUE", KVMIG_SEVERITY_INFO, "AutoMigrationDueToLiveUpdate");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    condition(&cluster_vm(&c)->conditions, "VolumesChange", "True", NULL, NULL);
    assert_vm_has(&c, "VOLUME_MIGRATION_IN_PROGRESS", KVMIG_SEVERITY_WARN, NULL);
    condition(&cluster_vm(&c)->conditions, "VolumesChange", "False", "VolumesChangeCancellation", NULL);
    assert_nothing(&c, "VOLUME_MIGRATION_IN_PROGRESS");
    cluster_clear(&c);
}

static void failed_at(struct cluster *c, const char *name, const char *phase, int64_t at_ms)
{
    struct kvmig__kube_vmim *vmim = cluster_add_vmim(c, name, "vm1", phase);
    struct kvmig__kube_transition *transition = KVMIG__PUSH(&vmim->transitions);

    transition->phase = kvmig__strdup(phase);
    transition->at_ms = at_ms;
}

static void the_back_off_doubles_with_each_failure_since_the_last_success(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    failed_at(&c, "m1", "Failed", 1000);
    failed_at(&c, "m2", "Succeeded", 2000);
    failed_at(&c, "m3", "Failed", 3000000);
    failed_at(&c, "m4", "Failed", 4000000);
    assert_nothing(&c, "MIGRATION_BACKOFF"); /* those of clients do not wait */
    cluster_vm(&c)->evacuation_node = kvmig__strdup("alpha");
    assert_vm_has(&c, "MIGRATION_BACKOFF", KVMIG_SEVERITY_INFO, "\"failures\": 2, \"wait_s\": 40");
    c.kube.now_ms = 4000000 + 39999;
    assert_vm_has(&c, "MIGRATION_BACKOFF", KVMIG_SEVERITY_INFO, NULL);
    c.kube.now_ms = 4000000 + 40000;
    assert_nothing(&c, "MIGRATION_BACKOFF");
    cluster_clear(&c);
}

static void a_drain_endangers_more_than_a_migration(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    KVMIG__PUSH(&cluster_vm(&c)->volume_status)->hotplug = true;
    cluster_vm(&c)->eviction_strategy = kvmig__strdup("None");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    c.request.flags = KVMIG_PLAN_FOR_DRAIN;
    assert_vm_has(&c, "HOTPLUG_EVICTION_HAZARD", KVMIG_SEVERITY_WARN, NULL);
    assert_vm_has(&c, "EVICTION_STOPS_VM", KVMIG_SEVERITY_WARN, NULL);
    kubevirt = cluster_add_kubevirt(&c, "v1.6.2");
    assert_vm_has(&c, "HOTPLUG_EVICTION_HAZARD", KVMIG_SEVERITY_WARN, NULL);
    kvmig__str_set(&kubevirt->version, "v1.7.0");
    assert_nothing(&c, "HOTPLUG_EVICTION_HAZARD");
    kubevirt->eviction_strategy = kvmig__strdup("None");
    kvmig__str_set(&cluster_vm(&c)->eviction_strategy, "LiveMigrate");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&cluster_vm(&c)->eviction_strategy, NULL);
    assert_vm_has(&c, "EVICTION_STOPS_VM", KVMIG_SEVERITY_WARN, NULL);
    cluster_clear(&c);
}

static void a_part_of_a_cluster_does_not_tell_its_slots(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_nothing(&c, "LIMITS_UNVERIFIED");
    c.kube.scoped = true;
    assert_vm_has(&c, "LIMITS_UNVERIFIED", KVMIG_SEVERITY_INFO, "missing");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

/* ---- options ---- */

static struct kvmig__kube_policy *add_policy(struct cluster *c, const char *name, const char *vm_label,
                                             const char *ns_label)
{
    struct kvmig__kube_policy *policy = cluster_add(c, KVMIG__KUBE_POLICY, NULL, name);

    policy->has_selectors = true;
    if (vm_label)
        kvmig__pairs_set(&policy->vmi_selector, vm_label, "x");
    if (ns_label)
        kvmig__pairs_set(&policy->ns_selector, ns_label, "x");
    return policy;
}

static void the_winning_policy_is_told_with_the_reason(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    label(cluster_vm(&c), "app", "x");
    label(cluster_add(&c, KVMIG__KUBE_NAMESPACE, NULL, "ns1"), "team", "x");
    add_policy(&c, "z-all", NULL, NULL);
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "no other policy matches");
    add_policy(&c, "y-team", NULL, "team");
    assert_vm_has(
        &c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO,
        "\"policy\": \"y-team\", \"policy_vm_labels\": 0, \"policy_namespace_labels\": 1, \"policy_why\": \"it "
        "names more labels\", \"policy_before\": \"z-all\"");
    add_policy(&c, "x-app", "app", NULL);
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "more of the VM's\", \"policy_before\": \"y-team\"");
    add_policy(&c, "a-app", "app", NULL);
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "its name comes first\", \"policy_before\": \"x-app\"");
    add_policy(&c, "w-other", "other", "team");
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"policy\": \"a-app\"");
    cluster_clear(&c);
}

static void the_pause_limit_has_an_effect_behind_its_gate_only(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    kubevirt->config.max_downtime_ms = 900;
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"pause_limit_ms\": 300");
    kubevirt->config.stall_detector = true;
    kvmig__strlist_add(&kubevirt->feature_gates, "MigrationStallDetection");
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"pause_limit_ms\": 900");
    cluster_clear(&c);
}

static void post_copy_needs_consent_and_no_device_of_the_host(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    assert_nothing(&c, "POSTCOPY_WITHOUT_CONSENT");
    kubevirt->config.post_copy = 1;
    assert_vm_has(&c, "POSTCOPY_WITHOUT_CONSENT", KVMIG_SEVERITY_INFO, NULL);
    c.request.flags |= KVMIG_PLAN_ALLOW_POSTCOPY;
    assert_nothing(&c, "POSTCOPY_WITHOUT_CONSENT");
    add_interface(&c, "sriov", false);
    assert_vm_has(&c, "POSTCOPY_NOT_USED", KVMIG_SEVERITY_INFO, NULL);
    assert_nothing(&c, "POSTCOPY_WITHOUT_CONSENT");
    cluster_clear(&c);
}

static void options_that_kubevirt_contradicts_or_ignores_are_told(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    c.request.flags |= KVMIG_PLAN_TLS;
    assert_nothing(&c, "TLS_DISABLED");
    assert_nothing(&c, "OPTION_WITHOUT_EFFECT"); /* it is encrypted anyway */
    cluster_add_kubevirt(&c, "v1.9.0")->config.disable_tls = 1;
    assert_vm_has(&c, "TLS_DISABLED", KVMIG_SEVERITY_BLOCKER, NULL);
    c.request.flags = 0;
    assert_nothing(&c, "TLS_DISABLED");
    c.request.max_downtime_ms = 500;
    c.request.compression = kvmig__strdup("zstd");
    assert_vm_has(&c, "OPTION_WITHOUT_EFFECT", KVMIG_SEVERITY_INFO, "\"max_downtime_ms\", \"compression\"");
    cluster_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_needs_a_digest_that_a_registry_knows),
        cmocka_unit_test(a_launcher_that_is_being_deleted_takes_the_guest_along),
        cmocka_unit_test(an_outdated_launcher_is_a_remark),
        cmocka_unit_test(the_selinux_context_must_be_known_where_levels_are_to_match),
        cmocka_unit_test(a_complete_status_without_context_is_one_that_lacks_it),
        cmocka_unit_test(a_node_that_cannot_send_is_told),
        cmocka_unit_test(a_handler_must_be_ready_and_on_the_migration_network),
        cmocka_unit_test(the_migration_network_must_be_defined_beside_kubevirt),
        cmocka_unit_test(bindings_tell_what_becomes_of_the_address),
        cmocka_unit_test(a_plugin_migrates_if_its_registration_says_so),
        cmocka_unit_test(a_volume_that_is_just_being_plugged_is_a_risk),
        cmocka_unit_test(changes_that_kubevirt_carries_out_by_itself_are_told),
        cmocka_unit_test(the_back_off_doubles_with_each_failure_since_the_last_success),
        cmocka_unit_test(a_drain_endangers_more_than_a_migration),
        cmocka_unit_test(a_part_of_a_cluster_does_not_tell_its_slots),
        cmocka_unit_test(the_winning_policy_is_told_with_the_reason),
        cmocka_unit_test(the_pause_limit_has_an_effect_behind_its_gate_only),
        cmocka_unit_test(post_copy_needs_consent_and_no_device_of_the_host),
        cmocka_unit_test(options_that_kubevirt_contradicts_or_ignores_are_told),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
