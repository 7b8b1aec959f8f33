/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Objects that are not as they should be, or say the same in other words: what is read all the same, and what is
 * joined with what. Objects with every member are in test_objects_full.c and test_objects_core.c.
 */
#include "objects_test.h"

/* ---- what is no object ---- */

static void what_is_no_object_of_ours_is_refused(void **state)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "null",
        "\"Pod\"",
        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"}}",
        "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":{}}}",
        "{\"apiVersion\":\"v1\",\"kind\":[\"Pod\"],\"metadata\":{\"name\":\"a\"}}",
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        struct json_object *json = json_tokener_parse(texts[i]);

        assert_null(kvmig__object_decode(json, -1));
        json_object_put(json);
    }
    assert_null(kvmig__object_decode(NULL, -1));
    assert_null(kvmig__object_decode(NULL, KVMIG__KUBE_POD));
}

static void an_item_of_a_list_needs_no_kind(void **state)
{
    struct json_object *json = json_tokener_parse(JSON({ "metadata" : { "name" : "p", "namespace" : "n" } }));
    struct kvmig__kube_meta *object = kvmig__object_decode(json, KVMIG__KUBE_POD);

    (void)state;
    assert_int_equal(object->kind, KVMIG__KUBE_POD);
    kvmig__kube_object_free(object);
    json_object_put(json);
}

static void other_versions_of_the_api_are_the_same_objects(void **state)
{
    struct kvmig__kube_meta *object = object_of(JSON(
        { "apiVersion" : "kubevirt.io/v1alpha3", "kind" : "VirtualMachineInstance", "metadata" : { "name" : "a" } }));

    (void)state;
    assert_int_equal(object->kind, KVMIG__KUBE_VMI);
    kvmig__kube_object_free(object);
}

static void a_name_without_namespace_is_cluster_wide(void **state)
{
    struct kvmig__kube_meta *node = object_of(
        JSON({ "apiVersion" : "v1", "kind" : "Node", "metadata" : { "name" : "a", "namespace" : "default" } }));
    struct kvmig__kube_meta *pod =
        object_of(JSON({ "apiVersion" : "v1", "kind" : "Pod", "metadata" : { "name" : "a", "namespace" : "" } }));

    (void)state;
    assert_null(node->ns);
    assert_null(pod->ns);
    kvmig__kube_object_free(node);
    kvmig__kube_object_free(pod);
}

/* ---- wrong types ---- */

static void numbers_and_switches_are_read_from_text(void **state)
{
    struct kvmig__kube_policy *policy = object_of(JSON({
        "apiVersion" : "migrations.kubevirt.io/v1alpha1",
        "kind" : "MigrationPolicy",
        "metadata" : { "name" : 7, "resourceVersion" : 123 },
        "spec" : {
            "bandwidthPerMigration" : 1048576,
            "completionTimeoutPerGiB" : "150",
            "progressTimeout" : 60.0,
            "maxDowntimeMs" : 18446744073709551615,
            "allowPostCopy" : "true",
            "allowAutoConverge" : 0,
            "experimental" : { "compression" : true }
        }
    }));

    (void)state;
    assert_string_equal(policy->meta.name, "7");
    assert_string_equal(policy->meta.version, "123");
    assert_int_equal(policy->config.bandwidth, 1048576);
    assert_int_equal(policy->config.completion_s_per_gb, 150);
    assert_int_equal(policy->config.progress_s, 60);
    assert_true(policy->config.max_downtime_ms == UINT64_MAX - 1);
    assert_int_equal(policy->config.post_copy, 1);
    assert_int_equal(policy->config.auto_converge, 0);
    assert_survives(&policy->meta);
    kvmig__kube_object_free(&policy->meta);
}

static void what_makes_no_sense_is_absent(void **state)
{
    struct kvmig__kube_policy *policy = object_of(JSON({
        "apiVersion" : "migrations.kubevirt.io/v1alpha1",
        "kind" : "MigrationPolicy",
        "metadata" : { "name" : "p", "creationTimestamp" : "yesterday", "labels" : ["a"], "finalizers" : "x" },
        "spec" : {
            "bandwidthPerMigration" : "lots",
            "completionTimeoutPerGiB" : -1,
            "maxDowntimeMs" : "9 s",
            "progressTimeout" : [1],
            "utilityVolumesTimeout" : 1e300,
            "allowPostCopy" : "maybe",
            "allowAutoConverge" : null,
            "selectors" : "all",
            "experimental" : { "stallDetector" : null, "downtimeTuning" : 4 }
        }
    }));

    (void)state;
    assert_int_equal(policy->meta.created_ms, 0);
    assert_int_equal(policy->meta.labels.n + policy->meta.finalizers.n, 0);
    assert_true(policy->config.bandwidth == KVMIG__UNKNOWN && policy->config.completion_s_per_gb == KVMIG__UNKNOWN);
    assert_true(policy->config.max_downtime_ms == KVMIG__UNKNOWN && policy->config.progress_s == KVMIG__UNKNOWN);
    assert_true(policy->config.utility_s == KVMIG__UNKNOWN);
    assert_int_equal(policy->config.post_copy, -1);
    assert_int_equal(policy->config.auto_converge, -1);
    assert_false(policy->has_selectors || policy->config.stall_detector || policy->config.downtime_tuning);
    kvmig__kube_object_free(&policy->meta);
}

static void empty_objects_of_every_kind_survive(void **state)
{
    (void)state;
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++) {
        const struct kvmig__kube_kind_info *info = kvmig__kube_kind_info(kind);
        char *text = kvmig__asprintf("{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"a\"}}",
                                     info->api_version, info->kind);
        struct kvmig__kube_meta *object = object_of(text);

        assert_int_equal(object->kind, kind);
        assert_survives(object);
        kvmig__kube_object_free(object);
        free(text);
    }
}

/* ---- the same in other words ---- */

#define EVENT_META "\"kind\":\"Event\",\"metadata\":{\"name\":\"e\",\"creationTimestamp\":\"2026-11-30T11:00:00Z\"}"

static void events_of_both_groups_are_read(void **state)
{
    struct kvmig__kube_event *event =
        object_of("{\"apiVersion\":\"events.k8s.io/v1\"," EVENT_META
                  ",\"regarding\":{\"kind\":\"Pod\",\"namespace\":\"n\",\"name\":\"p\","
                  "\"uid\":\"u\"},\"note\":\"text\",\"reason\":\"Failed\",\"type\":\"Warning\",\"reportingController\":"
                  "\"kubelet\","
                  "\"eventTime\":\"2026-11-30T11:01:00.500000Z\",\"series\":{\"count\":5,\"lastObservedTime\":"
                  "\"2026-11-30T11:09:00.250000Z\"},\"deprecatedCount\":2}");

    (void)state;
    assert_string_equal(event->about_kind, "Pod");
    assert_string_equal(event->about_uid, "u");
    assert_string_equal(event->message, "text");
    assert_string_equal(event->component, "kubelet");
    assert_int_equal(event->count, 5);
    assert_int_equal(event->first_ms, kvmig__time_parse("2026-11-30T11:01:00.500Z"));
    assert_int_equal(event->last_ms, kvmig__time_parse("2026-11-30T11:09:00.250Z"));
    assert_survives(&event->meta);
    kvmig__kube_object_free(&event->meta);

    event = object_of("{\"apiVersion\":\"events.k8s.io/v1\"," EVENT_META ",\"eventTime\":null,\"deprecatedSource\":"
                      "{\"component\":\"old\"},\"deprecatedFirstTimestamp\":\"2026-11-30T11:02:00Z\","
                      "\"deprecatedLastTimestamp\":\"2026-11-30T11:03:00Z\",\"deprecatedCount\":7}");
    assert_string_equal(event->component, "old");
    assert_int_equal(event->count, 7);
    assert_int_equal(event->first_ms, kvmig__time_parse("2026-11-30T11:02:00Z"));
    assert_int_equal(event->last_ms, kvmig__time_parse("2026-11-30T11:03:00Z"));
    kvmig__kube_object_free(&event->meta);
}

static void an_event_without_times_happened_when_it_was_made(void **state)
{
    struct kvmig__kube_event *event =
        object_of("{\"apiVersion\":\"v1\"," EVENT_META ",\"firstTimestamp\":null,\"lastTimestamp\":null}");

    (void)state;
    assert_int_equal(event->count, 1);
    assert_int_equal(event->first_ms, kvmig__time_parse("2026-11-30T11:00:00Z"));
    assert_int_equal(event->last_ms, event->first_ms);
    kvmig__kube_object_free(&event->meta);
}

static void a_component_that_only_reports_is_named(void **state)
{
    struct kvmig__kube_event *event =
        object_of("{\"apiVersion\":\"v1\"," EVENT_META ",\"source\":{},\"reportingComponent\":\"multus\"}");

    (void)state;
    assert_string_equal(event->component, "multus");
    kvmig__kube_object_free(&event->meta);
}

static void a_claim_without_wishes_has_what_it_got(void **state)
{
    struct kvmig__kube_pvc *pvc = object_of(JSON({
        "apiVersion" : "v1",
        "kind" : "PersistentVolumeClaim",
        "metadata" : { "name" : "c" },
        "status" : { "accessModes" : ["ReadOnlyMany"] }
    }));

    (void)state;
    assert_string_equal(pvc->access_modes.v[0], "ReadOnlyMany");
    assert_survives(&pvc->meta);
    kvmig__kube_object_free(&pvc->meta);
}

static void match_labels_are_requirements(void **state)
{
    struct kvmig__kube_pod *pod = object_of(JSON({
        "apiVersion" : "v1",
        "kind" : "Pod",
        "metadata" : { "name" : "p" },
        "spec" : {
            "affinity" : {
                "podAntiAffinity" : {
                    "requiredDuringSchedulingIgnoredDuringExecution" : [
                        {
                            "labelSelector" : {
                                "matchLabels" : { "app" : "a" },
                                "matchExpressions" : [ { "key" : "b", "operator" : "Exists" } ]
                            }
                        },
                        { "topologyKey" : "rack" }, { "labelSelector" : {} }
                    ]
                },
                "nodeAffinity" : { "requiredDuringSchedulingIgnoredDuringExecution" : { "nodeSelectorTerms" : [ {} ] } }
            },
            "topologySpreadConstraints" : [ { "whenUnsatisfiable" : "ScheduleAnyway", "topologyKey" : "zone" } ]
        }
    }));
    const struct kvmig__pod_term *terms = pod->placement.pod_forbidden.v;
    const struct kvmig__pairs labels = { .n = 0 };

    (void)state;
    assert_int_equal(pod->placement.pod_forbidden.n, 3);
    assert_int_equal(terms[0].selector.n, 2);
    assert_string_equal(terms[0].selector.v[0].op, "In");
    assert_string_equal(terms[0].selector.v[0].values.v[0], "a");
    assert_int_equal(terms[1].selector.n, 1); /* no selector selects nothing */
    assert_false(kvmig__requirement_holds(&terms[1].selector.v[0], &labels, "x"));
    assert_int_equal(terms[2].selector.n, 0); /* an empty one selects all */
    assert_false(kvmig__terms_hold(&pod->placement.node_required, &labels, "x"));
    assert_int_equal(pod->placement.spread.n, 0);
    assert_survives(&pod->meta);
    kvmig__kube_object_free(&pod->meta);
}

static void a_container_without_a_state_waits_unless_it_is_ready(void **state)
{
    struct kvmig__kube_pod *pod = object_of(JSON({
        "apiVersion" : "v1",
        "kind" : "Pod",
        "metadata" : { "name" : "p" },
        "spec" : { "containers" : [ { "name" : "a" }, { "name" : "a" } ] },
        "status" : {
            "containerStatuses" : [
                { "name" : "a", "ready" : true }, { "name" : "a", "state" : {} },
                { "name" : "late", "image" : "i", "ready" : true }, "nonsense"
            ]
        }
    }));

    (void)state;
    assert_int_equal(pod->containers.n, 3);
    assert_string_equal(pod->containers.v[0].state, "running");
    assert_string_equal(pod->containers.v[1].state, "waiting");
    assert_string_equal(pod->containers.v[2].name, "late");
    assert_string_equal(pod->containers.v[2].image, "i");
    assert_survives(&pod->meta);
    kvmig__kube_object_free(&pod->meta);
}

static void interfaces_are_joined_by_name(void **state)
{
    struct kvmig__kube_vmi *vmi = object_of(JSON({
        "apiVersion" : "kubevirt.io/v1",
        "kind" : "VirtualMachineInstance",
        "metadata" : { "name" : "v" },
        "spec" : {
            "domain" : {
                "devices" : {
                    "interfaces" : [
                        { "name" : "b", "dhcpOptions" : {}, "bridge" : {} }, { "name" : "a", "sriov" : {} },
                        { "name" : "c" }
                    ]
                }
            },
            "networks" : [
                { "name" : "a", "multus" : { "networkName" : "net" } }, { "name" : "b", "pod" : {} },
                { "name" : "z", "pod" : {} }
            ]
        },
        "status" : {
            "interfaces" :
                [ { "mac" : "m1" }, { "name" : "a", "mac" : "m2" }, { "name" : "a", "mac" : "m3" },
                  { "mac" : "m4" } ]
        }
    }));
    const struct kvmig__kube_interface *v = vmi->interfaces.v;

    (void)state;
    assert_int_equal(vmi->interfaces.n, 5);
    assert_string_equal(v[0].binding, "bridge");
    assert_true(v[0].pod_network && !v[1].pod_network && !v[2].pod_network);
    assert_string_equal(v[1].multus, "net");
    assert_string_equal(v[1].status_mac, "m3");
    assert_null(v[2].binding);
    assert_string_equal(v[4].status_mac, "m4");
    assert_survives(&vmi->meta);
    kvmig__kube_object_free(&vmi->meta);
}

static struct kvmig__kube_vmi *vmi_with(const char *spec, const char *status)
{
    char *text = kvmig__asprintf("{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":\"VirtualMachineInstance\",\"metadata\":"
                                 "{\"name\":\"v\"},\"spec\":%s,\"status\":%s}",
                                 spec, status);
    struct kvmig__kube_vmi *vmi = object_of(text);

    assert_survives(&vmi->meta);
    free(text);
    return vmi;
}

static void launch_security_is_told_apart(void **state)
{
    static const struct {
        const char *json, *name;
    } cases[] = { { "{\"sev\":{}}", "sev" },
                  { "{\"sev\":{\"policy\":{\"encryptedState\":true}}}", "sevES" },
                  { "{\"snp\":{}}", "sevSNP" },
                  { "{\"tdx\":{}}", "tdx" },
                  { "{}", "" },
                  { "{\"new\":{}}", "" } };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        char *spec = kvmig__asprintf("{\"domain\":{\"launchSecurity\":%s}}", cases[i].json);
        struct kvmig__kube_vmi *vmi = vmi_with(spec, "{}");

        assert_string_equal(vmi->domain.launch_security, cases[i].name);
        kvmig__kube_object_free(&vmi->meta);
        free(spec);
    }
}

static void switched_off_features_are_off(void **state)
{
    struct kvmig__kube_vmi *vmi =
        vmi_with(JSON({
                     "domain" : {
                         "features" : {
                             "hyperv" : {
                                 "vpindex" : { "enabled" : false },
                                 "spinlocks" : { "spinlocks" : 8191 },
                                 "synic" : { "enabled" : true }
                             },
                             "hypervPassthrough" : { "enabled" : false }
                         },
                         "devices" : {
                             "tpm" : { "enabled" : false, "persistent" : true },
                             "disks" : [
                                 { "name" : "a" }, { "name" : "b", "cdrom" : { "readonly" : false } },
                                 { "name" : "c", "cdrom" : {} }
                             ],
                             "gpus" : [ { "name" : "g", "claimName" : "claim" } ]
                         }
                     }
                 }),
                 "{}");

    (void)state;
    assert_int_equal(vmi->domain.hyperv.n, 2);
    assert_string_equal(vmi->domain.hyperv.v[0], "spinlocks");
    assert_false(vmi->domain.hyperv_passthrough || vmi->domain.tpm || vmi->domain.tpm_persistent);
    assert_string_equal(vmi->domain.disks.v[0].device, "disk");
    assert_false(vmi->domain.disks.v[1].readonly);
    assert_true(vmi->domain.disks.v[2].readonly);
    assert_string_equal(vmi->domain.gpus.v[0], "g");
    kvmig__kube_object_free(&vmi->meta);
}

static void a_finished_backup_is_none(void **state)
{
    struct kvmig__kube_vmi *vmi = vmi_with(
        "{}", JSON({ "changedBlockTracking" : { "backupStatus" : { "backupName" : "b", "completed" : true } } }));

    (void)state;
    assert_null(vmi->backup);
    kvmig__kube_object_free(&vmi->meta);
    vmi = vmi_with("{}", JSON({ "changedBlockTracking" : { "backupStatus" : {} } }));
    assert_string_equal(vmi->backup, "");
    kvmig__kube_object_free(&vmi->meta);
}

static void a_decentralised_migration_has_its_sides_in_blocks(void **state)
{
    struct kvmig__kube_vmi *vmi =
        vmi_with("{}", JSON({
                     "migrationState" : {
                         "sourcePod" : "top",
                         "sourceState" : { "node" : "sn", "pod" : "block", "persistentStatePVCName" : "sc" },
                         "targetState" : {
                             "node" : "tn",
                             "pod" : "tp",
                             "persistentStatePVCName" : "tc",
                             "nodeAddress" : "192.0.2.1",
                             "domainReadyTimestamp" : "2026-11-30T11:00:00Z",
                             "domainDetected" : true,
                             "attachmentPodUID" : "au",
                             "directMigrationNodePorts" : { "5" : 0, "6" : 49152 }
                         }
                     }
                 }));

    (void)state;
    assert_string_equal(vmi->migration.source_node, "sn");
    assert_string_equal(vmi->migration.source_pod, "top"); /* what stands at the top counts first */
    assert_string_equal(vmi->migration.source_state_claim, "sc");
    assert_string_equal(vmi->migration.target_node, "tn");
    assert_string_equal(vmi->migration.target_pod, "tp");
    assert_string_equal(vmi->migration.target_state_claim, "tc");
    assert_string_equal(vmi->migration.target_address, "192.0.2.1");
    assert_string_equal(vmi->migration.attachment_pod_uid, "au");
    assert_true(vmi->migration.domain_detected && vmi->migration.domain_ready_ms);
    assert_int_equal(vmi->migration.n_ports, 2);
    kvmig__kube_object_free(&vmi->meta);
}

static void the_old_switch_of_a_vm_is_a_strategy(void **state)
{
    struct kvmig__kube_vm *vm = object_of(JSON({
        "apiVersion" : "kubevirt.io/v1",
        "kind" : "VirtualMachine",
        "metadata" : { "name" : "v" },
        "spec" : { "running" : true }
    }));

    (void)state;
    assert_string_equal(vm->run_strategy, "Always");
    kvmig__kube_object_free(&vm->meta);
}

static void a_quota_in_force_counts_before_the_wish(void **state)
{
    struct kvmig__kube_quota *quota = object_of(JSON({
        "apiVersion" : "v1",
        "kind" : "ResourceQuota",
        "metadata" : { "name" : "q" },
        "spec" : {
            "hard" : { "pods" : "9" },
            "scopeSelector" :
                { "matchExpressions" : [ { "scopeName" : "PriorityClass", "operator" : "In", "values" : ["high"] } ] }
        },
        "status" : { "hard" : { "pods" : 8 } }
    }));

    (void)state;
    assert_int_equal(quota->hard.n, 1);
    assert_int_equal(kvmig__amounts_get(&quota->hard, "pods"), 8000);
    assert_string_equal(quota->scopes.v[0], "PriorityClass");
    assert_survives(&quota->meta);
    kvmig__kube_object_free(&quota->meta);
}

static void the_source_of_a_pv_is_whatever_it_is_called(void **state)
{
    static const char *const types[] = { "csi", "local", "hostPath", "nfs", "rbd", "iscsi", "fc", "somethingNew" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(types); i++) {
        char *text =
            kvmig__asprintf("{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"p\"},"
                            "\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"claimRef\":{},\"%s\":{\"path\":\"/x\"}}}",
                            types[i]);
        struct kvmig__kube_pv *pv = object_of(text);

        assert_string_equal(pv->type, types[i]);
        assert_string_equal(pv->path, "/x");
        assert_survives(&pv->meta);
        kvmig__kube_object_free(&pv->meta);
        free(text);
    }
}

static void the_factor_of_the_stall_detector_has_several_types(void **state)
{
    static const struct {
        const char *text;
        uint64_t milli;
    } cases[] = {
        { "\"2\"", 2000 }, { "\"1.5\"", 1500 }, { "3", 3000 }, { "\"1500m\"", 1500 }, { "[]", KVMIG__UNKNOWN }
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        char *text = kvmig__asprintf("{\"apiVersion\":\"migrations.kubevirt.io/"
                                     "v1alpha1\",\"kind\":\"MigrationPolicy\",\"metadata\":{\"name\":\"p\"},"
                                     "\"spec\":{\"experimental\":{\"stallDetector\":{\"completionTimeoutFactor\":%s,"
                                     "\"stallProgressTimeout\":\"20\"}}}}",
                                     cases[i].text);
        struct kvmig__kube_policy *policy = object_of(text);

        assert_true(policy->config.stall_detector);
        assert_true(policy->config.stall_factor_milli == cases[i].milli);
        assert_int_equal(policy->config.stall_progress_s, 20);
        assert_survives(&policy->meta);
        kvmig__kube_object_free(&policy->meta);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_object_of_ours_is_refused),
        cmocka_unit_test(an_item_of_a_list_needs_no_kind),
        cmocka_unit_test(other_versions_of_the_api_are_the_same_objects),
        cmocka_unit_test(a_name_without_namespace_is_cluster_wide),
        cmocka_unit_test(numbers_and_switches_are_read_from_text),
        cmocka_unit_test(what_makes_no_sense_is_absent),
        cmocka_unit_test(empty_objects_of_every_kind_survive),
        cmocka_unit_test(events_of_both_groups_are_read),
        cmocka_unit_test(an_event_without_times_happened_when_it_was_made),
        cmocka_unit_test(a_component_that_only_reports_is_named),
        cmocka_unit_test(a_claim_without_wishes_has_what_it_got),
        cmocka_unit_test(match_labels_are_requirements),
        cmocka_unit_test(a_container_without_a_state_waits_unless_it_is_ready),
        cmocka_unit_test(interfaces_are_joined_by_name),
        cmocka_unit_test(launch_security_is_told_apart),
        cmocka_unit_test(switched_off_features_are_off),
        cmocka_unit_test(a_finished_backup_is_none),
        cmocka_unit_test(a_decentralised_migration_has_its_sides_in_blocks),
        cmocka_unit_test(the_old_switch_of_a_vm_is_a_strategy),
        cmocka_unit_test(a_quota_in_force_counts_before_the_wish),
        cmocka_unit_test(the_source_of_a_pv_is_whatever_it_is_called),
        cmocka_unit_test(the_factor_of_the_stall_detector_has_several_types),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
