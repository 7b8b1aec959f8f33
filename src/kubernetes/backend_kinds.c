/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the backend reads: one reflector per kind, with selectors that keep a view of one namespace or VM small, and the events of the
 * objects that matter. Takes objects into the store and says what became of migrations. Does not: judge. In dispatch, with the
 * context lock held.
 */
#include "kubernetes/backend_internal.h"
#include "kubernetes/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCHERS "labelSelector=kubevirt.io%20in%20%28virt-launcher%2Chotplug-disk%29"

/* ---- objects in ---- */

static bool is_older(const struct kvmig__kube_meta *had, const struct kvmig__kube_meta *object)
{
    char *end_had, *end_new;
    unsigned long long version_had, version_new;

    if (!had || !had->version || !object->version || !kvmig__str_eq(had->uid, object->uid))
        return false;
    version_had = strtoull(had->version, &end_had, 10);
    version_new = strtoull(object->version, &end_new, 10);
    return !*end_had && !*end_new && version_new < version_had;
}

static void tell_migration(struct kvmig__kube_backend *backend, const struct kvmig__kube_meta *had,
                           const struct kvmig__kube_meta *object)
{
    const struct kvmig__kube_vmim *before = (const struct kvmig__kube_vmim *)had;
    const struct kvmig__kube_vmim *now = (const struct kvmig__kube_vmim *)object;
    struct kvmig_event *event;
    char *name, *vm;

    if (before && kvmig__str_eq(before->meta.uid, now->meta.uid) && kvmig__str_eq(before->phase, now->phase))
        return;
    name = kvmig__asprintf("%s/%s", now->meta.ns, now->meta.name);
    vm = kvmig__asprintf("%s/%s", now->meta.ns, now->vmi ? now->vmi : "?");
    event = kvmig__event_new(KVMIG_EVENT_MIGRATION);
    kvmig__event_set_migration(event, name, vm, kvmig__stage_phase(kvmig__stage_of(now->phase)));
    kvmig__cluster_emit(backend->cluster, event);
    free(name);
    free(vm);
}

static void take(struct kvmig__kube_backend *backend, int32_t kind, struct json_object *json)
{
    struct kvmig__kube_meta *object = kvmig__object_decode(json, kind), *had;

    if (!object)
        return;
    had = kvmig__kube_find(&backend->store, kind, object->ns, object->name);
    if (is_older(had, object)) {
        kvmig__kube_object_free(object);
        return;
    }
    if (kind == KVMIG__KUBE_VMIM)
        tell_migration(backend, had, object);
    kvmig__kube_put(&backend->store, object);
}

static void on_object(void *owner, struct json_object *json)
{
    struct kvmig__kube_source *source = owner;

    take(source->backend, source->kind, json);
}

/* Through the reflector, which knows what it has seen of the object, and what was deleted. */
void kvmig__kube_backend_learn(struct kvmig__kube_backend *backend, struct json_object *json)
{
    struct kvmig__kube_meta *object = kvmig__object_decode(json, -1);

    for (size_t i = 0; object && i < backend->sources.n; i++) {
        struct kvmig__kube_source *source = backend->sources.v[i];

        if (source->kind != object->kind || source->pod)
            continue;
        kvmig__reflector_learn(source->reflector, json);
        break;
    }
    if (object) {
        backend->pods_changed = true;
        kvmig__kube_changed(backend);
        kvmig__kube_hosts_changed(backend);
    }
    kvmig__kube_object_free(object);
}

static void on_gone(void *owner, const char *ns, const char *name, const char *uid, struct json_object *last)
{
    struct kvmig__kube_source *source = owner;
    struct kvmig__kube_backend *backend = source->backend;
    struct kvmig__kube_meta *object = last ? kvmig__object_decode(last, source->kind) : NULL;
    struct kvmig__kube_meta *had = kvmig__kube_find(&backend->store, source->kind, ns, name);

    if (had && uid && had->uid && !kvmig__str_eq(had->uid, uid))
        had = NULL;
    if (object || had)
        kvmig__kube_removed(backend, object ? object : had);
    kvmig__kube_remove(&backend->store, source->kind, ns, name, uid);
    kvmig__kube_object_free(object);
}

/* Nodes as hosts, and what is on them. */
static bool makes_hosts(int32_t kind)
{
    return kind == KVMIG__KUBE_NODE || kind == KVMIG__KUBE_VMI || kind == KVMIG__KUBE_VMIM || kind == KVMIG__KUBE_POD;
}

static void on_settled(void *owner)
{
    struct kvmig__kube_source *source = owner;

    if (source->kind == KVMIG__KUBE_POD || source->kind == KVMIG__KUBE_VMIM)
        source->backend->pods_changed = true;
    kvmig__kube_changed(source->backend);
    if (makes_hosts(source->kind))
        kvmig__kube_hosts_changed(source->backend);
}

/* ---- states ---- */

static void tell_forbidden(struct kvmig__kube_source *source)
{
    const struct kvmig__kube_kind_info *info = kvmig__kube_kind_info(source->kind);
    struct kvmig__detail detail = { NULL, 0 };
    struct kvmig_findings list = { NULL, 0 };
    char *json;

    kvmig__detail_str(&detail, "resource", info->plural);
    json = kvmig__detail_take(&detail);
    kvmig__findings_add(&list, "CHECK_SKIPPED", KVMIG_SEVERITY_INFO, "cluster", NULL, json,
                        "Give the account the right to list and watch them, if the checks that need them are wanted.",
                        "%s cannot be read: %s", info->plural, kvmig_error_message(source->error));
    kvmig__kube_notice(source->backend, &list.v[0]);
    kvmig__findings_clear(&list);
    free(json);
}

/* 401: then nothing may be read, and it is no matter of single kinds. */
static bool is_unknown_to_server(const struct kvmig__kube_source *source)
{
    return source->state == KVMIG__REFLECTOR_FORBIDDEN && source->error && source->error->code == -EACCES;
}

/* Once for all kinds, until one is in step again. */
static void tell_lost(struct kvmig__kube_source *source)
{
    struct kvmig__kube_backend *backend = source->backend;
    const char *server = kvmig__client_server(backend->client), *evidence = kvmig_error_evidence(source->error);
    const char *where = kvmig_error_where(source->error);
    struct kvmig__detail detail = { NULL, 0 };
    struct kvmig_findings list = { NULL, 0 };
    char *json;

    if (source->state == KVMIG__REFLECTOR_SYNCED)
        backend->lost_told = false;
    if ((source->state != KVMIG__REFLECTOR_LOST && !is_unknown_to_server(source)) || backend->lost_told)
        return;
    backend->lost_told = true;
    kvmig__detail_str(&detail, "server", server);
    if (where && *where && !strstr(where, "://")) /* a file; of a request the evidence says enough */
        kvmig__detail_str(&detail, "where", where);
    kvmig__detail_str(&detail, "evidence", evidence);
    json = kvmig__detail_take(&detail);
    kvmig__findings_add(&list, "API_UNREACHABLE", KVMIG_SEVERITY_ERROR, "cluster", NULL, json,
                        kvmig_error_hint(source->error), "the Kubernetes API is not to be had: %s",
                        kvmig_error_message(source->error));
    kvmig__kube_notice(backend, &list.v[0]);
    kvmig__findings_clear(&list);
    free(json);
}

/* A kind with several reflectors is known once all of them are in step. */
static void update_known(struct kvmig__kube_backend *backend, int32_t kind)
{
    int32_t known = KVMIG__KUBE_KNOWN;

    for (size_t i = 0; i < backend->sources.n; i++) {
        const struct kvmig__kube_source *source = backend->sources.v[i];

        if (source->kind != kind || source->pod)
            continue;
        if (source->state == KVMIG__REFLECTOR_FORBIDDEN)
            known = KVMIG__KUBE_FORBIDDEN;
        else if (!source->listed && known == KVMIG__KUBE_KNOWN)
            known = KVMIG__KUBE_UNKNOWN;
    }
    backend->store.kinds[kind].known = known;
}

static void on_state(void *owner, enum kvmig__reflector_state state, const struct kvmig_error *error)
{
    struct kvmig__kube_source *source = owner;
    const int32_t known = source->backend->store.kinds[source->kind].known;

    source->state = state;
    source->listed |= state == KVMIG__REFLECTOR_SYNCED || state == KVMIG__REFLECTOR_ABSENT;
    kvmig__error_free(source->error);
    source->error = kvmig__error_copy(error);
    if (source->pod)
        return;
    update_known(source->backend, source->kind);
    if (state == KVMIG__REFLECTOR_FORBIDDEN && known != KVMIG__KUBE_FORBIDDEN &&
        !is_unknown_to_server(source)) /* a kind may have several sources */
        tell_forbidden(source);
    tell_lost(source);
    kvmig__log(source->backend->context, KVMIG_LOG_DEBUG, "kubernetes", "%s: %s",
               kvmig__kube_kind_info(source->kind)->plural, error ? kvmig_error_message(error) : "in step");
    kvmig__kube_changed(source->backend);
    kvmig__kube_hosts_changed(source->backend);
    kvmig__cluster_check_sync(source->backend->cluster);
}

static const struct kvmig__reflector_ops ops = {
    .object = on_object,
    .gone = on_gone,
    .state = on_state,
    .settled = on_settled,
};

/* ---- opening ---- */

/* "v1" is served below /api, groups below /apis. */
static char *path_of(const struct kvmig__kube_backend *backend, int32_t kind)
{
    const struct kvmig__kube_kind_info *info = kvmig__kube_kind_info(kind);
    const char *root = kvmig__str_eq(info->api_version, "v1") ? "/api" : "/apis";
    const bool scoped = backend->ns && info->namespaced && kind != KVMIG__KUBE_KUBEVIRT;

    return scoped ? kvmig__asprintf("%s/%s/namespaces/%s/%s", root, info->api_version, backend->ns, info->plural)
                  : kvmig__asprintf("%s/%s/%s", root, info->api_version, info->plural);
}

/* Owned; NULL = all of them. */
static char *selectors_of(const struct kvmig__kube_backend *backend, int32_t kind)
{
    switch (kind) {
    case KVMIG__KUBE_POD:
        return kvmig__strdup(LAUNCHERS);
    case KVMIG__KUBE_VM:
    case KVMIG__KUBE_VMI:
        return backend->vm ? kvmig__asprintf("fieldSelector=metadata.name%%3D%s", backend->vm) : NULL;
    case KVMIG__KUBE_VMIM:
        return backend->vm ? kvmig__asprintf("labelSelector=kubevirt.io%%2Fvmi-name%%3D%s", backend->vm) : NULL;
    default:
        return NULL;
    }
}

static struct kvmig__kube_source *add_source(struct kvmig__kube_backend *backend, int32_t kind, const char *path,
                                             const char *selectors)
{
    struct kvmig__kube_source *source = kvmig__calloc(1, sizeof(*source));
    const struct kvmig__reflector_opts opts = {
        .path = path, .selectors = selectors, .page_size = backend->page_size, .patience_ms = backend->patience_ms
    };

    source->backend = backend;
    source->kind = kind;
    source->state = KVMIG__REFLECTOR_STARTING;
    *KVMIG__PUSH(&backend->sources) = source;
    source->reflector = kvmig__reflector_new(backend->context, backend->client, &opts, &ops, source);
    return source;
}

/* Events of nodes, other pods and so on are none of ours; a server cannot select by two kinds at once. */
static void open_events(struct kvmig__kube_backend *backend)
{
    static const char *const about[] = { "VirtualMachineInstanceMigration", "VirtualMachineInstance" };
    char *path = path_of(backend, KVMIG__KUBE_EVENT);

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(about); i++) {
        char *selectors = kvmig__asprintf("fieldSelector=involvedObject.kind%%3D%s", about[i]);

        add_source(backend, KVMIG__KUBE_EVENT, path, selectors);
        free(selectors);
    }
    free(path);
}

void kvmig__kube_sources_open(struct kvmig__kube_backend *backend)
{
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++) {
        char *path, *selectors;

        if (kind == KVMIG__KUBE_EVENT) {
            open_events(backend);
            continue;
        }
        path = path_of(backend, kind);
        selectors = selectors_of(backend, kind);
        add_source(backend, kind, path, selectors);
        free(path);
        free(selectors);
    }
}

static void source_free(struct kvmig__kube_source *source)
{
    kvmig__reflector_free(source->reflector);
    kvmig__error_free(source->error);
    free(source->pod_ns);
    free(source->pod);
    free(source);
}

void kvmig__kube_sources_close(struct kvmig__kube_backend *backend)
{
    for (size_t i = 0; i < backend->sources.n; i++)
        source_free(backend->sources.v[i]);
    free(backend->sources.v);
    backend->sources.v = NULL;
    backend->sources.n = 0;
}

/* ---- events of the pods of running migrations ---- */

/* UIDs of the migrations that are not over, sorted; borrowed from the store. */
struct uids {
    const char **v;
    size_t n;
};

static int compare_uid(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void find_running(const struct kvmig__kube *kube, struct uids *uids)
{
    KVMIG__KUBE_EACH(kube, VMIM, vmim)
    {
        if (vmim->meta.uid && !kvmig__vmim_is_final(vmim))
            *KVMIG__PUSH(uids) = vmim->meta.uid;
    }
    if (uids->n)
        qsort(uids->v, uids->n, sizeof(*uids->v), compare_uid);
}

/* A launcher or attachment pod that was made for a migration which is not over. */
static bool is_followed(const struct uids *running, const struct kvmig__kube_pod *pod)
{
    const char *uid = kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/migrationJobUID");

    return uid && running->n && bsearch(&uid, running->v, running->n, sizeof(*running->v), compare_uid);
}

static bool has_source(const struct kvmig__kube_backend *backend, const struct kvmig__kube_meta *pod)
{
    for (size_t i = 0; i < backend->sources.n; i++)
        if (kvmig__str_eq(backend->sources.v[i]->pod, pod->name) &&
            kvmig__str_eq(backend->sources.v[i]->pod_ns, pod->ns))
            return true;
    return false;
}

static void open_pod(struct kvmig__kube_backend *backend, const struct kvmig__kube_meta *pod)
{
    char *path = kvmig__asprintf("/api/v1/namespaces/%s/events", pod->ns);
    char *selectors = kvmig__asprintf("fieldSelector=involvedObject.name%%3D%s", pod->name);
    struct kvmig__kube_source *source = add_source(backend, KVMIG__KUBE_EVENT, path, selectors);

    source->pod_ns = kvmig__strdup(pod->ns);
    source->pod = kvmig__strdup(pod->name);
    free(path);
    free(selectors);
}

/* Nobody tells of their end any more. */
static void drop_events(struct kvmig__kube_backend *backend, const struct kvmig__kube_source *source)
{
    struct kvmig__kube_list *events = &backend->store.kinds[KVMIG__KUBE_EVENT];

    for (size_t i = events->n; i-- > 0;) {
        const struct kvmig__kube_event *event = (const struct kvmig__kube_event *)events->v[i];

        if (kvmig__str_eq(event->about_name, source->pod) && kvmig__str_eq(event->meta.ns, source->pod_ns))
            kvmig__kube_remove(&backend->store, KVMIG__KUBE_EVENT, event->meta.ns, event->meta.name, NULL);
    }
}

static void close_ended(struct kvmig__kube_backend *backend, const struct uids *running)
{
    size_t kept = 0;

    for (size_t i = 0; i < backend->sources.n; i++) {
        struct kvmig__kube_source *source = backend->sources.v[i];
        const struct kvmig__kube_pod *pod =
            source->pod ? KVMIG__KUBE_FIND(&backend->store, POD, source->pod_ns, source->pod) : NULL;

        if (!source->pod || (pod && is_followed(running, pod))) {
            backend->sources.v[kept++] = source;
            continue;
        }
        drop_events(backend, source);
        source_free(source);
    }
    backend->sources.n = kept;
}

void kvmig__kube_sources_follow_pods(struct kvmig__kube_backend *backend)
{
    struct uids running = { NULL, 0 };

    if (!backend->pods_changed)
        return;
    backend->pods_changed = false;
    find_running(&backend->store, &running);
    if (running.n) {
        KVMIG__KUBE_EACH(&backend->store, POD, pod)
        {
            if (is_followed(&running, pod) && !has_source(backend, &pod->meta))
                open_pod(backend, &pod->meta);
        }
    }
    close_ended(backend, &running);
    free(running.v);
}
