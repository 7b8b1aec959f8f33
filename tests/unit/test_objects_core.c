/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kubernetes' own objects with every member that is read (tests/unit/objects/core.yaml): each must reach its field,
 * and come out again where it was.
 */
#include "kubernetes/yaml.h"
#include "objects_test.h"

static bool check_document(void *data, struct json_object *document, size_t index)
{
    struct kvmig__kube *store = data;

    (void)index;
    assert_comes_out(document);
    kvmig__kube_put(store, kvmig__object_decode(document, -1));
    json_object_put(document);
    return true;
}

static void check_node(const struct kvmig__kube_node *node)
{
    assert_true(node->unschedulable);
    assert_string_equal(node->taints.v[0].key, "taint-key");
    assert_string_equal(node->taints.v[0].value, "taint-value");
    assert_string_equal(node->taints.v[0].effect, "NoSchedule");
    assert_string_equal(node->conditions.v[0].reason, "KubeletReady");
    assert_int_equal(kvmig__amounts_get(&node->capacity, "devices.kubevirt.io/kvm"), 1000000);
    assert_int_equal(kvmig__amounts_get(&node->allocatable, "cpu"), 15500);
    assert_string_equal(node->addresses.v[0], "192.0.2.1");
    assert_string_equal(node->addresses.v[1], "node-a");
    assert_string_equal(node->architecture, "amd64");
    assert_string_equal(node->kernel, "6.1.0");
    assert_string_equal(node->kubelet, "v1.33.1");
    assert_string_equal(node->system_uuid, "4c4c4544-0000-4000-8000-000000000001");
}

static void check_containers(const struct kvmig__kube_container *c)
{
    assert_string_equal(c[0].name, "compute");
    assert_string_equal(c[0].image, "registry.example/virt-launcher:v1");
    assert_string_equal(c[0].image_id, "registry.example/virt-launcher@sha256:2");
    assert_true(c[0].ready && c[0].started && !c[0].init);
    assert_string_equal(c[0].state, "running");
    assert_int_equal(c[0].since_ms, kvmig__time_parse("2026-11-30T11:00:02Z"));
    assert_int_equal(c[0].restarts, 3);
    assert_int_equal(kvmig__amounts_get(&c[0].requests, "memory"), 2000000);
    assert_int_equal(kvmig__amounts_get(&c[0].limits, "memory"), 3000000);
    assert_string_equal(c[1].state, "waiting");
    assert_string_equal(c[1].reason, "ImagePullBackOff");
    assert_string_equal(c[1].message, "wait-message");
    assert_null(c[2].state);
    assert_true(c[3].init && c[3].sidecar && c[3].ready && !c[2].init);
    assert_true(c[4].init && !c[4].sidecar);
    assert_string_equal(c[4].state, "terminated");
    assert_string_equal(c[4].reason, "Error");
    assert_int_equal(c[4].exit_code, 7);
    assert_int_equal(c[4].since_ms, kvmig__time_parse("2026-11-30T11:00:03Z"));
}

static void check_pod(const struct kvmig__kube_pod *pod)
{
    assert_string_equal(pod->node, "node-a");
    assert_string_equal(pod->phase, "Running");
    assert_string_equal(pod->reason, "pod-reason");
    assert_string_equal(pod->message, "pod-message");
    assert_string_equal(pod->ip, "198.51.100.5");
    assert_string_equal(pod->ips.v[1], "2001:db8::5");
    assert_string_equal(pod->claims.v[0], "root-claim");
    assert_string_equal(kvmig__pairs_get(&pod->placement.node_selector, "zone"), "east");
    assert_string_equal(pod->conditions.v[0].type, "PodScheduled");
    assert_int_equal(kvmig__amounts_get(&pod->overhead, "memory"), 1000000);
    assert_int_equal(pod->started_ms, kvmig__time_parse("2026-11-30T11:00:01Z"));
    assert_int_equal(pod->containers.n, 5);
    check_containers(pod->containers.v);
}

static void check_storage(const struct kvmig__kube *store)
{
    const struct kvmig__kube_pvc *pvc = KVMIG__KUBE_FIND(store, PVC, "ns1", "root-claim");
    const struct kvmig__kube_pv *pv = KVMIG__KUBE_FIND(store, PV, NULL, "pv1");
    const struct kvmig__kube_storage_class *storage = KVMIG__KUBE_FIND(store, STORAGE_CLASS, NULL, "fast");

    assert_string_equal(pvc->access_modes.v[0], "ReadWriteMany");
    assert_string_equal(pvc->storage_class, "fast");
    assert_string_equal(pvc->volume_mode, "Block");
    assert_true(pvc->populated);
    assert_string_equal(pvc->volume, "pv1");
    assert_string_equal(pvc->phase, "Bound");
    assert_int_equal(pvc->requested, UINT64_C(10737418240));
    assert_int_equal(pvc->capacity, UINT64_C(10737418241));
    assert_string_equal(pv->access_modes.v[0], "ReadWriteOnce");
    assert_string_equal(pv->type, "nfs");
    assert_string_equal(pv->server, "192.0.2.9");
    assert_string_equal(pv->path, "/export");
    assert_string_equal(pv->driver, "drv");
    assert_string_equal(pv->claim_ns, "ns1");
    assert_string_equal(pv->claim, "root-claim");
    assert_string_equal(pv->storage_class, "fast");
    assert_string_equal(pv->phase, "Bound");
    assert_int_equal(pv->capacity, UINT64_C(10737418240));
    assert_string_equal(pv->node_required.v[0].v[0].values.v[0], "node-a");
    assert_string_equal(storage->provisioner, "csi.example");
    assert_string_equal(storage->binding_mode, "WaitForFirstConsumer");
    assert_int_equal(storage->topologies.n, 1);
    assert_string_equal(storage->topologies.v[0].v[0].key, "topology.kubernetes.io/zone");
    assert_string_equal(storage->topologies.v[0].v[0].op, "In");
    assert_int_equal(storage->topologies.v[0].v[0].values.n, 2);
    assert_string_equal(kvmig__pairs_get(&storage->parameters, "pool"), "ssd");
}

static void check_the_rest(const struct kvmig__kube *store)
{
    const struct kvmig__kube_quota *quota = KVMIG__KUBE_FIND(store, QUOTA, "ns1", "quota");
    const struct kvmig__kube_event *event = KVMIG__KUBE_FIND(store, EVENT, "ns1", "mig1.1");
    const struct kvmig__kube_slice *slice = KVMIG__KUBE_FIND(store, SLICE, "ns1", "shop-1");
    const struct kvmig__kube_namespace *ns = KVMIG__KUBE_FIND(store, NAMESPACE, NULL, "ns1");

    assert_string_equal(kvmig__pairs_get(&ns->meta.labels, "team"), "blue");
    assert_true(kvmig__amounts_get(&quota->hard, "limits.memory") == UINT64_C(8589934592000));
    assert_true(kvmig__amounts_get(&quota->used, "limits.memory") == UINT64_C(4294967296000));
    assert_string_equal(quota->scopes.v[0], "NotTerminating");
    assert_string_equal(event->about_kind, "VirtualMachineInstanceMigration");
    assert_string_equal(event->about_ns, "ns1");
    assert_string_equal(event->about_name, "mig1");
    assert_string_equal(event->about_uid, "vmim-uid");
    assert_string_equal(event->type, "Warning");
    assert_string_equal(event->reason, "FailedMigration");
    assert_string_equal(event->message, "event-message");
    assert_string_equal(event->component, "virtualmachine-controller");
    assert_int_equal(event->count, 4);
    assert_int_equal(event->first_ms, kvmig__time_parse("2026-11-30T11:00:00Z"));
    assert_int_equal(event->last_ms, kvmig__time_parse("2026-11-30T11:05:00Z"));
    assert_string_equal(slice->service, "shop");
    assert_string_equal(slice->endpoints.v[0].addresses.v[0], "198.51.100.5");
    assert_string_equal(slice->endpoints.v[0].pod, "virt-launcher-vm1-abcde");
    assert_string_equal(slice->endpoints.v[0].node, "node-a");
    assert_true(slice->endpoints.v[0].ready == 1 && slice->endpoints.v[0].serving == 1);
    assert_int_equal(slice->endpoints.v[0].terminating, 0);
}

static void core_objects_are_read_whole(void **state)
{
    char *text = file_text("core.yaml");
    struct kvmig__kube store = { .now_ms = 0 };
    struct kvmig_error *error = NULL;

    (void)state;
    assert_int_equal(kvmig__yaml_read(text, strlen(text), "core.yaml", check_document, &store, &error), 9);
    assert_null(error);
    check_node(KVMIG__KUBE_FIND(&store, NODE, NULL, "node-a"));
    check_pod(KVMIG__KUBE_FIND(&store, POD, "ns1", "virt-launcher-vm1-abcde"));
    check_storage(&store);
    check_the_rest(&store);
    kvmig__kube_clear(&store);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core_objects_are_read_whole),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
