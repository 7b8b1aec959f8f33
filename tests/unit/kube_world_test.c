/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See kube_world_test.h. Everything runs on the test's thread, but for the server.
 */
#include "kube_world_test.h"

#include "cluster/cluster_internal.h"

#include <stdio.h>

/* ---- listening ---- */

static char *text_of(const struct kvmig_event *event)
{
    switch (kvmig_event_type(event)) {
    case KVMIG_EVENT_CLUSTER_SYNCED:
        return kvmig__strdup("synced");
    case KVMIG_EVENT_CLUSTER_CHANGED:
        return kvmig__asprintf("changed %s", kvmig_event_host(event));
    case KVMIG_EVENT_HOST_LOST:
        return kvmig__asprintf("lost %s: %s", kvmig_event_host(event), kvmig_error_message(kvmig_event_error(event)));
    case KVMIG_EVENT_HOST_FOUND:
        return kvmig__asprintf("found %s", kvmig_event_host(event));
    case KVMIG_EVENT_MIGRATION:
        return kvmig__asprintf("migration %s %s %s", kvmig_event_migration(event), kvmig_event_vm(event),
                               kvmig_phase_name(kvmig_event_phase(event)));
    case KVMIG_EVENT_VIEW_NOTICE:
    case KVMIG_EVENT_NOTICE:
        return kvmig__asprintf("notice %s: %s", kvmig_finding_code(kvmig_event_finding(event)),
                               kvmig_finding_message(kvmig_event_finding(event)));
    case KVMIG_EVENT_WAIT:
        return kvmig__asprintf("wait %s", kvmig_finding_code(kvmig_event_finding(event)));
    case KVMIG_EVENT_PHASE:
        return kvmig__asprintf("phase %s", kvmig_phase_name(kvmig_event_phase(event)));
    case KVMIG_EVENT_CANCEL:
        return kvmig__asprintf("cancel %s", kvmig_cancel_result_name(kvmig_event_cancel_result(event)));
    case KVMIG_EVENT_MODE:
        return kvmig__asprintf("mode %s", kvmig_mode_name(kvmig_event_mode(event)));
    case KVMIG_EVENT_PORT:
        return kvmig__asprintf("port %s %s", kvmig_event_port(event),
                               kvmig_port_state_name(kvmig_event_port_state(event)));
    default:
        return kvmig__strdup(kvmig_event_type_name(kvmig_event_type(event)));
    }
}

static void note_end(struct world_ear *ear, const struct kvmig_event *event)
{
    const struct kvmig_error *error = kvmig_event_error(event);

    ear->ended = true;
    ear->end_phase = kvmig_event_phase(event);
    ear->error = kvmig_error_code(error);
    kvmig__str_set(&ear->message, error ? kvmig_error_message(error) : NULL);
    kvmig__str_set(&ear->evidence, error ? kvmig_error_evidence(error) : NULL);
}

static void on_event(const struct kvmig_event *event, void *data)
{
    struct world_ear *ear = data;
    const int32_t type = kvmig_event_type(event);
    char *line;

    ear->n_late += ear->ended || ear->n_frees;
    line = type == KVMIG_EVENT_END ? kvmig__asprintf("end %s", kvmig_phase_name(kvmig_event_phase(event)))
                                   : text_of(event);
    kvmig__strlist_add(&ear->log, line);
    free(line);
    if (type == KVMIG_EVENT_END)
        note_end(ear, event);
    if (type == KVMIG_EVENT_PHASE && ear->cancel_at && kvmig_event_phase(event) == ear->cancel_at)
        assert_int_equal(kvmig_session_cancel(ear->session), 0);
}

static void on_free(void *data)
{
    ((struct world_ear *)data)->n_frees++;
}

struct kvmig_event_callback world_callback(struct world_ear *ear)
{
    return (struct kvmig_event_callback){ on_event, ear, on_free };
}

void world_ear_clear(struct world_ear *ear)
{
    kvmig__strlist_clear(&ear->log);
    free(ear->message);
    free(ear->evidence);
    *ear = (struct world_ear){ 0 };
}

int world_heard(const struct world_ear *ear, const char *part)
{
    int n = 0;

    for (size_t i = 0; i < ear->log.n; i++)
        n += strstr(ear->log.v[i], part) != NULL;
    return n;
}

char *world_phases(const struct world_ear *ear)
{
    struct kvmig__strlist phases = { NULL, 0 };
    char *text;

    for (size_t i = 0; i < ear->log.n; i++)
        if (kvmig__str_starts(ear->log.v[i], "phase "))
            kvmig__strlist_add(&phases, ear->log.v[i] + strlen("phase "));
    text = kvmig__strlist_join(&phases, " ");
    kvmig__strlist_clear(&phases);
    return text;
}

/* ---- views ---- */

static char *write_kubeconfig(const char *server)
{
    const char *folder = getenv("TMPDIR");
    char *path = kvmig__asprintf("%s/kvmig-kubeconfig-XXXXXX", folder ? folder : "/tmp");
    const int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    assert_non_null(file);
    fprintf(file,
            "apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts:\n- name: here\n  context: {cluster: here, "
            "user: me}\nclusters:\n- name: here\n  cluster: {server: \"%s\"}\nusers:\n- name: me\n  user: {token: "
            "secret}\n",
            server);
    assert_int_equal(fclose(file), 0);
    return path;
}

void world_view_open(struct world_view *view, struct kvmig_context *context, struct world_server *server,
                     struct kvmig_kube_opts *kube)
{
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;
    struct kvmig_kube_opts plain = KVMIG_KUBE_OPTS_INIT;

    *view = (struct world_view){ .context = context, .server = server };
    view->kubeconfig = write_kubeconfig(world_server_url(server));
    opts.kube = kube ? kube : &plain;
    if (kube)
        kube->kubeconfig = view->kubeconfig;
    plain.kubeconfig = view->kubeconfig;
    opts.on_event = world_callback(&view->ear);
    if (kvmig_cluster_open(context, &opts, &view->cluster) != 0)
        fail_msg("%s", kvmig_error_message(kvmig_error_last()));
}

static bool is_freed(void *data)
{
    return ((struct world_ear *)data)->n_frees > 0;
}

void world_view_close(struct world_view *view)
{
    kvmig_cluster_unref(view->cluster);
    world_view_clear(view);
}

void world_view_clear(struct world_view *view)
{
    world_run(view->context, is_freed, &view->ear, "the view's callback to be freed");
    assert_int_equal(view->ear.n_frees, 1);
    assert_int_equal(view->ear.n_late, 0);
    world_ear_clear(&view->ear);
    remove(view->kubeconfig);
    free(view->kubeconfig);
}

static bool is_synced(void *data)
{
    return kvmig_cluster_is_synced(((struct world_view *)data)->cluster) == 1;
}

void world_wait_synced(struct world_view *view)
{
    world_run(view->context, is_synced, view, "the view to be synced");
}

void world_context_free(struct kvmig_context *context)
{
    test_drain(context);
    kvmig_context_unref(context);
}

/* ---- waiting ---- */

struct condition {
    bool (*holds)(void *data);
    void *data;
};

static int32_t condition_holds(void *data)
{
    const struct condition *condition = data;

    return condition->holds(condition->data);
}

/* In slices: what the server's thread does wakes nobody here. */
void world_run(struct kvmig_context *context, bool (*holds)(void *data), void *data, const char *what)
{
    const int64_t end = kvmig__now_ms() + 2 * (int64_t)TEST_DEADLINE_MS;
    struct condition condition = { holds, data };

    while (kvmig_context_run(context, condition_holds, &condition, 2) != 0)
        if (kvmig__now_ms() > end)
            fail_msg("waited in vain for %s", what);
}

struct words {
    struct world_view *view;
    const char *part;
    int n;
};

static bool was_heard(void *data)
{
    const struct words *words = data;

    return world_heard(&words->view->ear, words->part) >= words->n;
}

void world_wait_heard(struct world_view *view, const char *part, int times)
{
    world_run(view->context, was_heard, &(struct words){ view, part, times }, part);
}

static bool was_asked(void *data)
{
    const struct words *words = data;

    return world_asked(words->view->server, words->part) >= words->n;
}

void world_wait_asked(struct world_view *view, const char *part, int n)
{
    world_run(view->context, was_asked, &(struct words){ view, part, n }, part);
}

bool world_has(struct world_view *view, int32_t kind, const char *ns, const char *name, uint64_t version)
{
    const struct kvmig__kube_meta *object;
    bool has;

    kvmig__context_lock(view->context);
    object = kvmig__kube_find(kvmig__cluster_kube(view->cluster), kind, ns, name);
    has = version ? object && object->version && strtoull(object->version, NULL, 10) >= version : !object;
    kvmig__context_unlock(view->context);
    return has;
}

bool world_in_step(struct world_view *view, int32_t kind, const char *ns, const char *name)
{
    return world_has(view, kind, ns, name, world_version(view->server, kind, ns, name));
}

struct thing {
    struct world_view *view;
    int32_t kind;
    const char *ns, *name;
    uint64_t version;
};

static bool has_thing(void *data)
{
    const struct thing *thing = data;

    return world_has(thing->view, thing->kind, thing->ns, thing->name, thing->version);
}

void world_wait_has(struct world_view *view, int32_t kind, const char *ns, const char *name, uint64_t version)
{
    world_run(view->context, has_thing, &(struct thing){ view, kind, ns, name, version }, name);
}

static bool has_watches(void *data)
{
    const struct thing *thing = data;

    return world_watches(thing->view->server, thing->kind) >= (int)thing->version;
}

void world_wait_watches(struct world_view *view, int32_t kind, int n)
{
    world_run(view->context, has_watches, &(struct thing){ .view = view, .kind = kind, .version = (uint64_t)n },
              "watches");
}

/* ---- a small cluster ---- */

void world_node(struct world_server *server, const char *name, const char *label)
{
    world_say(
        server,
        "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','labels':{'kubernetes.io/hostname':'%s',"
        "'kubernetes.io/arch':'amd64','kubevirt.io/schedulable':'true','cpu-vendor.node.kubevirt.io/Intel':'true',"
        "'cpu-model.node.kubevirt.io/Haswell':'true','cpu-model-migration.node.kubevirt.io/Haswell':'true',"
        "'host-model-cpu.node.kubevirt.io/Haswell':'true','machine-type.node.kubevirt.io/pc-q35-8.2':'true'%s%s}},"
        "'status':{'conditions':[{'type':'Ready','status':'True'}],'allocatable':{'cpu':'16','memory':'64Gi',"
        "'pods':'110','devices.kubevirt.io/kvm':'1k'}}}",
        name, name, label ? "," : "", label ? label : "");
}

static void launcher(struct world_server *server, const char *name, const char *uid, const char *node)
{
    world_say(server,
              "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'ns1','name':'launcher-%s','uid':'pod-%s',"
              "'labels':{'kubevirt.io':'virt-launcher','kubevirt.io/created-by':'%s'}},'spec':{'nodeName':'%s',"
              "'containers':[{'name':'compute'}]},'status':{'phase':'Running'}}",
              name, name, uid, node);
}

void world_vmi(struct world_server *server, const char *name, const char *uid, const char *node, const char *state)
{
    if (!state)
        launcher(server, name, uid, node);
    world_say(
        server,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstance','metadata':{'namespace':'ns1','name':'%s',"
        "'uid':'%s','labels':{'kubevirt.io/nodeName':'%s'}},'spec':{'architecture':'amd64','domain':{'cpu':{"
        "'model':'Haswell'},'memory':{'guest':'1Gi'},'devices':{'disks':[{'name':'root','disk':{'bus':'virtio'}}],"
        "'interfaces':[{'name':'default','masquerade':{}}]}},'networks':[{'name':'default','pod':{}}],'volumes':[{"
        "'name':'root','persistentVolumeClaim':{'claimName':'root'}}]},'status':{'phase':'Running','nodeName':'%s'"
        ",'machine':{'type':'pc-q35-8.2'},'conditions':[{'type':'LiveMigratable','status':'True'}]%s%s%s}}",
        name, uid, node, node, state ? ",'migrationState':{" : "", state ? state : "", state ? "}" : "");
}

void world_populate(struct world_server *server)
{
    world_node(server, "node-a", NULL);
    world_node(server, "node-b", NULL);
    world_say(server, "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'ns1'}}");
    world_say(server, "{'apiVersion':'kubevirt.io/v1','kind':'KubeVirt','metadata':{'namespace':'kubevirt','name':"
                      "'kubevirt'},'spec':{'configuration':{}},'status':{'phase':'Deployed',"
                      "'observedKubeVirtVersion':'v1.6.0'}}");
    world_say(server, "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'namespace':'ns1','name':'root'},"
                      "'spec':{'accessModes':['ReadWriteMany'],'volumeMode':'Block','storageClassName':'shared',"
                      "'resources':{'requests':{'storage':'10Gi'}}},'status':{'phase':'Bound','capacity':{'storage':"
                      "'10Gi'}}}");
    world_vmi(server, "vm1", WORLD_VMI_UID, "node-a", NULL);
}

void world_vmim(struct world_server *server, const char *name, const char *uid, const char *vmi, const char *phase)
{
    world_say(server,
              "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstanceMigration','metadata':{'namespace':'ns1',"
              "'name':'%s','uid':'%s','creationTimestamp':'2026-11-30T11:00:00Z','labels':{'kubevirt.io/vmi-name':'%s'}"
              "},'spec':{'vmiName':'%s'},'status':{'phase':'%s'}}",
              name, uid, vmi, vmi, phase);
}

void world_target(struct world_server *server, const char *name, const char *vmi_uid, const char *vmim_uid,
                  const char *node, const char *phase)
{
    world_say(server,
              "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'ns1','name':'%s','uid':'pod-%s','labels':{"
              "'kubevirt.io':'virt-launcher','kubevirt.io/created-by':'%s','kubevirt.io/migrationJobUID':'%s'}},"
              "'spec':{%s%s%s'containers':[{'name':'compute'}]},'status':{'phase':'%s'}}",
              name, name, vmi_uid, vmim_uid, node ? "'nodeName':'" : "", node ? node : "", node ? "'," : "", phase);
}
