/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See kube_driver_test.h: the API server and KubeVirt of the test. What the test sets is shown as objects; what the
 * driver asks for changes it.
 */
#include "kube_driver_world.h"

#include <stdio.h>

#define VMIMS "/apis/kubevirt.io/v1/namespaces/ns1/virtualmachineinstancemigrations"
#define VMIS "/apis/kubevirt.io/v1/namespaces/ns1/virtualmachineinstances"
#define VMS "/apis/kubevirt.io/v1/namespaces/ns1/virtualmachines"
#define POLICIES "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies"

/* ---- objects ---- */

/* JSON with ' for ". Owned. */
static struct json_object *json(const char *fmt, ...)
{
    struct json_object *object;
    va_list args;
    char *text;

    va_start(args, fmt);
    text = kvmig__vasprintf(fmt, args);
    va_end(args);
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    object = json_tokener_parse(text);
    if (!object)
        print_error("no JSON: %s\n", text);
    assert_non_null(object);
    free(text);
    return object;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static struct json_object *vmim_json(void)
{
    char *mark = world.vmim_mark ? kvmig__asprintf("'kvmig/session':'%s'", world.vmim_mark) : NULL;
    struct json_object *object =
        json("{'apiVersion':'kubevirt.io/"
             "v1','kind':'VirtualMachineInstanceMigration','metadata':{'namespace':'ns1','name':'%s',"
             "'uid':'%s','creationTimestamp':'2026-11-30T11:00:00Z'%s,'annotations':{%s},'labels':{'kubevirt.io/"
             "vmi-name':'vm1'%s}},"
             "'spec':{'vmiName':'vm1'},'status':{'phase':'%s'}}",
             world.vmim_name, world.vmim_uid, world.vmim_deleting ? ",'deletionTimestamp':'2026-11-30T11:00:09Z'" : "",
             world.controller_owned   ? "'kubevirt.io/evacuationMigration':'node-a'"
             : world.volume_migration ? "'kubevirt.io/workloadUpdateMigration':''"
                                      : or_empty(mark),
             world.volume_migration && !world.no_volume_label ? ",'kubevirt.io/volume-update-migration':'vm1'" : "",
             or_empty(world.phase));

    free(mark);
    return object;
}

static struct json_object *foreign_json(void)
{
    return json("{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstanceMigration','metadata':{'namespace':'ns1',"
                "'name':'theirs','uid':'uid-theirs'},'spec':{'vmiName':'vm1'},'status':{'phase':'Running'}}");
}

static void add_migration_state(struct json_object *status)
{
    struct json_object *state;

    if (!world.handed_off)
        return;
    state =
        json("{'migrationUid':'%s','sourceNode':'node-a','sourcePod':'launcher-a','targetNode':'%s','targetPod':'%s',"
             "'mode':'%s'%s%s%s%s%s}",
             world.vmim_uid, or_empty(world.pod_node), or_empty(world.pod), world.mode ? world.mode : "PreCopy",
             world.started ? ",'startTimestamp':'2026-11-30T11:00:03Z'" : "",
             world.ready ? ",'targetNodeDomainReadyTimestamp':'2026-11-30T11:00:07Z'" : "",
             world.completed ? ",'completed':true,'endTimestamp':'2026-11-30T11:00:08Z'" : "",
             world.failed ? ",'failed':true" : "",
             world.abort_requested ? ",'abortRequested':true,'abortStatus':'Succeeded'" : "");
    if (world.failure_reason)
        json_object_object_add(state, "failureReason", json_object_new_string(world.failure_reason));
    if (world.policy_used)
        json_object_object_add(state, "migrationPolicyName", json_object_new_string(world.policy_used));
    json_object_object_add(status, "migrationState", state);
}

static struct json_object *vmi_json(void)
{
    struct json_object *object =
        json("{'apiVersion':'kubevirt.io/"
             "v1','kind':'VirtualMachineInstance','metadata':{'namespace':'ns1','name':'vm1','uid':'vmi-1',"
             "'labels':{'app':'shop','kubevirt.io/"
             "nodeName':'%s'}},'spec':{'domain':{'devices':{'interfaces':[{'name':'default',"
             "'masquerade':{}}]}},'networks':[{'name':'default','pod':{}}]},'status':{'phase':'%s','nodeName':'%s','"
             "interfaces':[{"
             "'name':'default','ipAddress':'%s'}],'conditions':[%s]}}",
             world.node, world.vmi_phase, world.node, world.ip,
             world.volumes_change ? "{'type':'VolumesChange','status':'True'}" : "");
    struct json_object *labels, *meta, *status;

    json_object_object_get_ex(object, "metadata", &meta);
    json_object_object_get_ex(meta, "labels", &labels);
    json_object_object_get_ex(object, "status", &status);
    /* Whoever changes it makes another version of it. */
    json_object_object_add(meta, "resourceVersion", json_object_new_string(world.vmi_label[0] ? world.vmi_label : "1"));
    if (world.vmi_label_until[0]) {
        struct json_object *annotations = json("{}");

        json_object_object_add(annotations, "kvmig/session-until", json_object_new_string(world.vmi_label_until));
        json_object_object_add(meta, "annotations", annotations);
    }
    if (world.vmi_label[0])
        json_object_object_add(labels, "kvmig/session", json_object_new_string(world.vmi_label));
    if (world.evacuation_node)
        json_object_object_add(status, "evacuationNodeName", json_object_new_string(world.evacuation_node));
    if (world.migrated_volumes)
        json_object_object_add(
            status, "migratedVolumes",
            json("[{'volumeName':'root','sourcePVCInfo':{'claimName':'root-old'},'destinationPVCInfo':{'claimName':"
                 "'root-new'}},{'volumeName':'data','sourcePVCInfo':{'claimName':'data-old'},'destinationPVCInfo':{"
                 "'claimName':'data-new'}}]"));
    add_migration_state(status);
    return object;
}

static struct json_object *pod_json(const char *name, const char *node, const char *pod_phase, const char *job)
{
    struct json_object *object =
        json("{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'ns1','name':'%s','uid':'uid-%s','labels':{'"
             "kubevirt.io':"
             "'virt-launcher','kubevirt.io/created-by':'vmi-1'%s%s%s}},'spec':{%s%s%s},'status':{'phase':'%s'}}",
             name, name, job ? ",'kubevirt.io/migrationJobUID':'" : "", or_empty(job), job ? "'" : "",
             node ? "'nodeName':'" : "", or_empty(node), node ? "'" : "", pod_phase);

    return object;
}

static struct json_object *slice_json(void)
{
    return json("{'apiVersion':'discovery.k8s.io/"
                "v1','kind':'EndpointSlice','metadata':{'namespace':'ns1','name':'shop-1','labels':{"
                "'kubernetes.io/"
                "service-name':'shop'}},'endpoints':[{'addresses':['10.0.0.1'],'conditions':{'ready':%s},'targetRef':{"
                "'kind':'Pod','name':'launcher-a'}},{'addresses':['10.0.0.2'],'conditions':{'ready':%s},'targetRef':{'"
                "kind':'Pod',"
                "'name':'%s'}}]}",
                world.slices_moved ? "false" : "true", world.slices_moved ? "true" : "false", or_empty(world.pod));
}

static void put(struct json_object *object)
{
    struct kvmig__kube_meta *decoded = kvmig__object_decode(object, -1);

    assert_non_null(decoded);
    kvmig__kube_put(&world.store, decoded);
    json_object_put(object);
}

static void put_vm(void)
{
    struct json_object *status;

    if (!world.vm)
        return;
    status = json("{'conditions':[{'type':'RestartRequired','status':'%s','message':'a LUN cannot be moved'},{'type':"
                  "'ManualRecoveryRequired','status':'%s'}]}",
                  world.restart_required ? "True" : "False", world.manual_recovery ? "True" : "False");
    json_object_object_add(world.vm, "status", status);
    put(json_object_get(world.vm));
}

void show(void)
{
    if (world.vmim_there)
        put(vmim_json());
    else if (world.vmim_name[0])
        tell_gone(KVMIG__KUBE_VMIM, "ns1", world.vmim_name);
    if (world.foreign_vmim)
        put(foreign_json());
    if (world.vmi_there)
        put(vmi_json());
    else
        tell_gone(KVMIG__KUBE_VMI, "ns1", "vm1");
    if (world.pod)
        put(pod_json(world.pod, world.pod_node, world.pod_phase, world.vmim_uid));
    if (world.slices)
        put(slice_json());
    put_vm();
    tell_changed();
}

void make_world(void)
{
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++)
        world.store.kinds[kind].known = KVMIG__KUBE_KNOWN;
    world.vmi_there = true;
    world.node = "node-a";
    world.ip = "10.0.0.1";
    world.vmi_phase = "Running";
    world.pod_phase = "Pending";
    put(json(
        "{'apiVersion':'v1','kind':'Node','metadata':{'name':'node-a','labels':{'kubernetes.io/hostname':'host-a'}}}"));
    put(json(
        "{'apiVersion':'v1','kind':'Node','metadata':{'name':'node-b','labels':{'kubernetes.io/hostname':'host-b'}}}"));
    put(pod_json("launcher-a", "node-a", "Running", NULL));
    show();
}

void set_vm(const char *text)
{
    json_object_put(world.vm);
    world.vm = json("%s", text);
    show();
}

/* ---- the server ---- */

static struct reply ok(struct json_object *object)
{
    struct reply reply = { .status = 200, .body = kvmig__strdup(json_object_to_json_string(object)) };

    json_object_put(object);
    return reply;
}

static const char *reason_of(int32_t status)
{
    switch (status) {
    case 400:
        return "BadRequest";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "NotFound";
    case 409:
        return "AlreadyExists";
    case 422:
        return "Invalid";
    case 429:
        return "TooManyRequests";
    default:
        return "InternalError";
    }
}

/* As the API server refuses: with a Status. message NULL: something in front of it does, which knows nothing of such. */
static struct reply refusal(int32_t status, const char *message)
{
    struct json_object *body;
    struct reply reply = { .status = status };

    if (status && !message)
        reply.body = kvmig__strdup("404 page not found");
    if (!status || !message)
        return reply;
    body = json("{'kind':'Status','apiVersion':'v1','status':'Failure','reason':'%s','code':%d}", reason_of(status),
                (int)status);
    json_object_object_add(body, "message", json_object_new_string(message));
    reply.body = kvmig__json_take_string(body);
    return reply;
}

/* There is no such object: path is its. */
static struct reply absent(const char *path)
{
    const char *name = strrchr(path, '/') + 1, *plural = name - 1;
    struct reply reply = { .status = 404 };

    while (plural[-1] != '/')
        plural--;
    reply.body = kvmig__json_take_string(
        json("{'kind':'Status','apiVersion':'v1','status':'Failure','reason':'NotFound','message':'%s not found',"
             "'details':{'name':'%s','kind':'%.*s'},'code':404}",
             name, name, (int)(name - 1 - plural), plural));
    return reply;
}

static const char *text_at(struct json_object *object, const char *a, const char *b, const char *c)
{
    struct json_object *at = json_object_object_get(object, a);

    at = at && b ? json_object_object_get(at, b) : at;
    at = at && c ? json_object_object_get(at, c) : at;
    return at ? json_object_get_string(at) : NULL;
}

static void create_vmim(const char *body)
{
    struct json_object *object = json_tokener_parse(body);

    world.vmim_there = true;
    world.vmim_deleting = false;
    world.phase = "";
    snprintf(world.vmim_name, sizeof(world.vmim_name), "%s", text_at(object, "metadata", "name", NULL));
    snprintf(world.vmim_uid, sizeof(world.vmim_uid), "uid-mig1");
    free(world.vmim_mark);
    world.vmim_mark = kvmig__strdup(text_at(object, "metadata", "annotations", "kvmig/session"));
    json_object_put(object);
}

static struct reply serve_vmims(const char *method, const char *path, const char *body)
{
    struct json_object *list;

    if (!strcmp(method, "POST") && strstr(path, "dryRun"))
        return world.vmim_there ? refusal(400, "in-flight migration detected. Active migration job (uid-mig1)")
                                : ok(json("{}"));
    if (!strcmp(method, "POST")) {
        if (world.late_post)
            create_vmim(body);
        if (world.vmim_there || world.foreign_vmim)
            return refusal(400, "in-flight migration detected. Active migration job");
        create_vmim(body);
        return ok(vmim_json());
    }
    if (!strcmp(method, "GET") && !strcmp(path, VMIMS)) {
        list = json("{'kind':'VirtualMachineInstanceMigrationList','apiVersion':'kubevirt.io/v1','items':[]}");
        if (world.vmim_there)
            json_object_array_add(json_object_object_get(list, "items"), vmim_json());
        return ok(list);
    }
    if (!world.vmim_there || !kvmig__str_ends(path, world.vmim_name))
        return absent(path);
    if (!strcmp(method, "DELETE")) {
        struct json_object *options = json_tokener_parse(body);

        assert_string_equal(text_at(options, "preconditions", "uid", NULL), world.vmim_uid);
        json_object_put(options);
        world.vmim_deleting = true;
    }
    return ok(vmim_json());
}

static struct reply patch_vmi(const char *body)
{
    struct json_object *before, *after;

    if (world.labelled_meanwhile) {
        snprintf(world.vmi_label, sizeof(world.vmi_label), "%s", world.labelled_meanwhile);
        world.labelled_meanwhile = NULL;
    }
    before = vmi_json();
    after = apply_patch(before, body);
    json_object_put(before);
    if (!after)
        return refusal(422, "testing value failed");
    snprintf(world.vmi_label, sizeof(world.vmi_label), "%s",
             or_empty(text_at(after, "metadata", "labels", "kvmig/session")));
    snprintf(world.vmi_label_until, sizeof(world.vmi_label_until), "%s",
             or_empty(text_at(after, "metadata", "annotations", "kvmig/session-until")));
    json_object_put(after);
    return ok(vmi_json());
}

static struct reply serve_vmi(const char *method, const char *path, const char *body, const char *content_type)
{
    if (!world.vmi_there)
        return absent(path);
    if (strcmp(method, "PATCH") != 0)
        return ok(vmi_json());
    assert_string_equal(content_type, "application/json-patch+json");
    return patch_vmi(body);
}

static struct reply serve_vm(const char *method, const char *path, const char *body, const char *content_type)
{
    struct json_object *after;

    if (!world.vm)
        return absent(path);
    if (!strcmp(method, "PATCH")) {
        const bool dry = strstr(path, "dryRun") != NULL;

        assert_string_equal(content_type, "application/json-patch+json");
        after = apply_patch(world.vm, body);
        if (!after)
            return refusal(422, "testing value failed");
        if (dry) {
            json_object_put(after);
        } else {
            json_object_put(world.vm);
            world.vm = after;
            world.patches++;
            if (!world.first_patch)
                world.first_patch = kvmig__strdup(body);
        }
    }
    return ok(json_object_get(world.vm));
}

static bool is_named(struct json_object *policy, const char *name)
{
    return policy && kvmig__str_eq(text_at(policy, "metadata", "name", NULL), name);
}

static struct reply create_policy(const char *body)
{
    struct json_object *policy = json_tokener_parse(body);
    const char *name = text_at(policy, "metadata", "name", NULL);

    if (is_named(world.policy, name) || is_named(world.other_policy, name)) {
        json_object_put(policy);
        return refusal(409, "already exists");
    }
    assert_null(world.policy);
    json_object_object_add(json_object_object_get(policy, "metadata"), "uid", json_object_new_string("uid-pol"));
    world.policy = policy;
    return ok(json_object_get(policy));
}

static struct reply serve_policies(const char *method, const char *path, const char *body)
{
    const char *name = strrchr(path, '/') + 1;
    struct json_object **policy = is_named(world.other_policy, name) ? &world.other_policy : &world.policy;

    if (!strcmp(method, "POST"))
        return create_policy(body);
    if (!is_named(*policy, name))
        return absent(path);
    if (!strcmp(method, "DELETE")) {
        json_object_put(*policy);
        *policy = NULL;
        return ok(json("{}"));
    }
    return ok(json_object_get(*policy));
}

static struct reply serve_any(const char *method, const char *path, const char *body, const char *content_type)
{
    if (kvmig__str_starts(path, VMIMS))
        return serve_vmims(method, path, body);
    if (kvmig__str_starts(path, VMIS "/vm1"))
        return serve_vmi(method, path, body, content_type);
    if (kvmig__str_starts(path, VMS "/vm1"))
        return serve_vm(method, path, body, content_type);
    if (kvmig__str_starts(path, POLICIES))
        return serve_policies(method, path, body);
    return ok(json("{}")); /* evacuate/cancel; pods */
}

/* One object of the store, as the server has it. */
static struct reply serve_recorded(const char *method, const char *path)
{
    const int32_t kind = strstr(path, "virtualmachineinstancemigrations") ? KVMIG__KUBE_VMIM : KVMIG__KUBE_VMI;
    const struct kvmig__kube_meta *object =
        strcmp(method, "GET") ? NULL : kvmig__kube_find(&world.store, kind, "ns1", strrchr(path, '/') + 1);

    return object ? ok(kvmig__object_encode(object)) : absent(path);
}

struct reply serve(const char *method, const char *path, const char *body, const char *content_type)
{
    const bool faulty =
        world.fault.times > 0 && !strcmp(method, world.fault.method) &&
        (world.fault.at_end ? kvmig__str_ends(path, world.fault.part) : strstr(path, world.fault.part) != NULL);
    struct reply reply = { 0 };

    if (world.recorded)
        return serve_recorded(method, path);
    if (!faulty || world.fault.applied)
        reply = serve_any(method, path, body, content_type);
    if (!faulty)
        return reply;
    free(reply.body);
    world.fault.times--;
    return refusal(world.fault.status, world.fault.message);
}

/* ---- KubeVirt ---- */

void kubevirt_creates(const char *name, const char *uid)
{
    world.vmim_there = true;
    world.vmim_deleting = false;
    snprintf(world.vmim_name, sizeof(world.vmim_name), "%s", name);
    snprintf(world.vmim_uid, sizeof(world.vmim_uid), "%s", uid);
    world.phase = "Pending";
    show();
    run(300);
}

void phase(const char *name)
{
    world.phase = name;
    show();
    run(300);
}

void target_pod(const char *name, const char *node, const char *pod_phase)
{
    if (world.pod && !kvmig__str_eq(world.pod, name))
        tell_gone(KVMIG__KUBE_POD, "ns1", world.pod);
    world.pod = name;
    world.pod_node = node;
    world.pod_phase = pod_phase;
    show();
    run(300);
}

void hand_off(void)
{
    world.handed_off = true;
    phase("PreparingTarget");
}

void start_copy(void)
{
    world.started = true;
    phase("Running");
}

void guest_moves(void)
{
    world.ready = true;
    world.node = world.pod_node;
    world.ip = "10.0.0.2";
    show();
    run(300);
}

void migration_fails(const char *reason)
{
    world.failed = world.completed = world.handed_off;
    world.failure_reason = world.handed_off ? reason : NULL;
    if (world.pod)
        world.pod_phase = "Failed";
    phase("Failed");
    run(5000);
}

void migration_vanishes(void)
{
    if (world.pod)
        tell_gone(KVMIG__KUBE_POD, "ns1", world.pod);
    world.pod = NULL;
    world.vmim_there = false;
    show();
    run(5000);
}

void go_on_to_running(void)
{
    show();
    phase("Pending");
    target_pod("launcher-b", "node-b", "Pending");
    phase("Scheduling");
    expect_ok(KVMIG__STEP_ADMIT);
    begin(KVMIG__STEP_SCHEDULE);
    target_pod("launcher-b", "node-b", "Running");
    phase("Scheduled");
    expect_ok(KVMIG__STEP_SCHEDULE);
    begin(KVMIG__STEP_PREPARE);
    hand_off();
    phase("TargetReady");
    expect_ok(KVMIG__STEP_PREPARE);
    begin(KVMIG__STEP_MIGRATE);
    start_copy();
    assert_int_equal(session.answers, 0);
}

void go_to_running(void)
{
    begin(KVMIG__STEP_ADMIT);
    go_on_to_running();
}
