/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Descriptions of Kubernetes' own objects but for pods: nodes, storage, quotas, events, endpoint slices. Any thread;
 * see objects_io.h for directions and ownership.
 */
#include "kubernetes/objects_io.h"

#include <stdlib.h>
#include <string.h>

/* ---- Node ---- */

static bool visit_taint(struct kvmig__io *io, void *element)
{
    struct kvmig__taint *taint = element;

    kvmig__io_str(io, "key", &taint->key);
    kvmig__io_str(io, "value", &taint->value);
    kvmig__io_str(io, "effect", &taint->effect);
    return true;
}

struct address {
    char *type, *address;
};
struct addresses {
    struct address *v;
    size_t n;
};

static bool visit_address(struct kvmig__io *io, void *element)
{
    struct address *address = element;

    kvmig__io_str(io, "type", &address->type);
    kvmig__io_str(io, "address", &address->address);
    return true;
}

static void take_addresses(const struct addresses *addresses, const char *type, struct kvmig__strlist *out)
{
    for (size_t i = 0; i < addresses->n; i++) {
        if (kvmig__str_eq(addresses->v[i].type, type) && addresses->v[i].address)
            kvmig__strlist_add(out, addresses->v[i].address);
    }
}

/* IPs stand before host names in the model, which is all that tells them apart. */
static void give_addresses(const struct kvmig__strlist *list, struct addresses *out)
{
    bool ip = true;

    for (size_t i = 0; i < list->n; i++) {
        struct address *address = KVMIG__PUSH(out);

        ip = ip && list->v[i][strspn(list->v[i], "0123456789abcdefABCDEF.:")] == '\0' && strpbrk(list->v[i], ".:");
        address->type = kvmig__strdup(ip ? "InternalIP" : "Hostname");
        address->address = kvmig__strdup(list->v[i]);
    }
}

static void visit_addresses(struct kvmig__io *io, struct kvmig__strlist *list)
{
    struct addresses addresses = { 0 };

    if (io->encode)
        give_addresses(list, &addresses);
    KVMIG__IO_LIST(io, "addresses", &addresses, visit_address);
    if (!io->encode) {
        take_addresses(&addresses, "InternalIP", list);
        take_addresses(&addresses, "Hostname", list);
    }
    for (size_t i = 0; i < addresses.n; i++) {
        free(addresses.v[i].type);
        free(addresses.v[i].address);
    }
    free(addresses.v);
}

void kvmig__visit_node(struct kvmig__io *io, struct kvmig__kube_node *node)
{
    kvmig__io_begin(io, "spec");
    kvmig__io_bool(io, "unschedulable", &node->unschedulable);
    KVMIG__IO_LIST(io, "taints", &node->taints, visit_taint);
    kvmig__io_end(io);
    kvmig__io_begin(io, "status");
    kvmig__visit_conditions(io, &node->conditions);
    kvmig__io_amounts(io, "capacity", &node->capacity);
    kvmig__io_amounts(io, "allocatable", &node->allocatable);
    visit_addresses(io, &node->addresses);
    kvmig__io_begin(io, "nodeInfo");
    kvmig__io_str(io, "architecture", &node->architecture);
    kvmig__io_str(io, "kernelVersion", &node->kernel);
    kvmig__io_str(io, "kubeletVersion", &node->kubelet);
    kvmig__io_str(io, "systemUUID", &node->system_uuid);
    kvmig__io_end(io);
    kvmig__io_end(io);
}

/* ---- storage ---- */

void kvmig__visit_pvc(struct kvmig__io *io, struct kvmig__kube_pvc *pvc)
{
    kvmig__io_begin(io, "spec");
    kvmig__io_strlist(io, "accessModes", &pvc->access_modes);
    kvmig__io_str(io, "storageClassName", &pvc->storage_class);
    kvmig__io_str(io, "volumeMode", &pvc->volume_mode);
    kvmig__io_str(io, "volumeName", &pvc->volume);
    kvmig__io_begin(io, "resources");
    kvmig__visit_storage(io, "requests", &pvc->requested);
    kvmig__io_end(io);
    kvmig__io_present(io, "dataSourceRef", &pvc->populated);
    kvmig__io_end(io);
    kvmig__io_begin(io, "status");
    kvmig__io_str(io, "phase", &pvc->phase);
    kvmig__visit_storage(io, "capacity", &pvc->capacity);
    if (!io->encode && !pvc->access_modes.n)
        kvmig__io_strlist(io, "accessModes", &pvc->access_modes);
    kvmig__io_end(io);
}

/* Whatever member of the spec is an object and none of these is the volume's source. */
static void visit_pv_source(struct kvmig__io *io, struct kvmig__kube_pv *pv)
{
    static const char *const others[] = { "capacity", "claimRef", "nodeAffinity", NULL };
    bool there = true;

    if (!io->encode)
        kvmig__str_set(&pv->type, kvmig__io_first_object(io, others));
    if (!pv->type)
        return;
    kvmig__io_present(io, pv->type, &there);
    kvmig__io_begin(io, pv->type);
    kvmig__io_str(io, "driver", &pv->driver);
    kvmig__io_str(io, "path", &pv->path);
    kvmig__io_str(io, "server", &pv->server);
    kvmig__io_end(io);
}

void kvmig__visit_pv(struct kvmig__io *io, struct kvmig__kube_pv *pv)
{
    kvmig__io_begin(io, "spec");
    visit_pv_source(io, pv);
    kvmig__io_strlist(io, "accessModes", &pv->access_modes);
    kvmig__io_str(io, "storageClassName", &pv->storage_class);
    kvmig__visit_storage(io, "capacity", &pv->capacity);
    kvmig__io_begin(io, "claimRef");
    kvmig__io_str(io, "namespace", &pv->claim_ns);
    kvmig__io_str(io, "name", &pv->claim);
    kvmig__io_end(io);
    kvmig__io_begin(io, "nodeAffinity");
    kvmig__visit_terms(io, "required", &pv->node_required);
    kvmig__io_end(io);
    kvmig__io_end(io);
    kvmig__io_begin(io, "status");
    kvmig__io_str(io, "phase", &pv->phase);
    kvmig__io_end(io);
}

/* Old provisioners take passwords there. */
static bool is_secret(const struct kvmig__pair *pair)
{
    static const char *const words[] = { "secret", "password", "token", "key", "credential" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(words); i++) {
        if (strcasestr(pair->key, words[i]))
            return true;
    }
    return false;
}

/* A topology term lists the values that each of its labels may have. */
static bool visit_topology_label(struct kvmig__io *io, void *element)
{
    struct kvmig__requirement *requirement = element;

    kvmig__io_str(io, "key", &requirement->key);
    kvmig__io_strlist(io, "values", &requirement->values);
    if (!io->encode)
        requirement->op = kvmig__strdup("In");
    return true;
}

static bool visit_topology(struct kvmig__io *io, void *element)
{
    struct kvmig__term *term = element;

    KVMIG__IO_LIST(io, "matchLabelExpressions", term, visit_topology_label);
    return true;
}

void kvmig__visit_storage_class(struct kvmig__io *io, struct kvmig__kube_storage_class *storage)
{
    kvmig__io_str(io, "provisioner", &storage->provisioner);
    kvmig__io_str(io, "volumeBindingMode", &storage->binding_mode);
    kvmig__io_pairs(io, "parameters", &storage->parameters);
    KVMIG__IO_LIST(io, "allowedTopologies", &storage->topologies, visit_topology);
    if (!io->encode)
        kvmig__drop_pairs(&storage->parameters, is_secret);
}

/* The modes stand in several sets of properties, one for each volume mode. */
static bool visit_property_set(struct kvmig__io *io, void *element)
{
    kvmig__io_strlist(io, "accessModes", element);
    return true;
}

void kvmig__visit_storage_profile(struct kvmig__io *io, struct kvmig__kube_storage_profile *profile)
{
    struct {
        struct kvmig__strlist *v;
        size_t n;
    } sets = { 0 };

    if (io->encode && profile->access_modes.n)
        kvmig__strlist_copy(KVMIG__PUSH(&sets), &profile->access_modes);
    kvmig__io_begin(io, "status");
    KVMIG__IO_LIST(io, "claimPropertySets", &sets, visit_property_set);
    kvmig__io_end(io);
    for (size_t i = 0; i < sets.n; i++) {
        for (size_t k = 0; !io->encode && k < sets.v[i].n && profile->access_modes.n < KVMIG__IO_JOINED; k++)
            kvmig__strlist_add_new(&profile->access_modes, sets.v[i].v[k]);
        kvmig__strlist_clear(&sets.v[i]);
    }
    free(sets.v);
}

void kvmig__visit_data_volume(struct kvmig__io *io, struct kvmig__kube_data_volume *volume)
{
    kvmig__io_begin(io, "status");
    kvmig__io_str(io, "phase", &volume->phase);
    kvmig__io_str(io, "progress", &volume->progress);
    kvmig__io_end(io);
}

/* ---- ResourceQuota ---- */

void kvmig__visit_quota(struct kvmig__io *io, struct kvmig__kube_quota *quota)
{
    if (!io->encode) { /* what is in force, which may be an older limit than what is wished for */
        kvmig__io_begin(io, "status");
        kvmig__io_amounts(io, "hard", &quota->hard);
        kvmig__io_end(io);
    }
    kvmig__io_begin(io, "spec");
    if (io->encode || !quota->hard.n)
        kvmig__io_amounts(io, "hard", &quota->hard);
    kvmig__io_strlist(io, "scopes", &quota->scopes);
    if (!io->encode) {
        kvmig__io_begin(io, "scopeSelector");
        kvmig__io_names(io, "matchExpressions", "scopeName", NULL, NULL, &quota->scopes);
        kvmig__io_end(io);
    }
    kvmig__io_end(io);
    kvmig__io_begin(io, "status");
    kvmig__io_amounts(io, "used", &quota->used);
    kvmig__io_end(io);
}

/* ---- Event ---- */

static void visit_event_object(struct kvmig__io *io, const char *key, struct kvmig__kube_event *event)
{
    kvmig__io_begin(io, key);
    kvmig__io_str(io, "kind", &event->about_kind);
    kvmig__io_str(io, "namespace", &event->about_ns);
    kvmig__io_str(io, "name", &event->about_name);
    kvmig__io_str(io, "uid", &event->about_uid);
    kvmig__io_end(io);
}

/* The other places in which the two API groups and their predecessors keep the same things. */
static void read_event_elsewhere(struct kvmig__io *io, struct kvmig__kube_event *event)
{
    int64_t happened = 0, series = 0;

    visit_event_object(io, "regarding", event);
    kvmig__io_str(io, "note", &event->message);
    kvmig__io_str(io, "reportingComponent", &event->component);
    kvmig__io_str(io, "reportingController", &event->component);
    kvmig__io_begin(io, "deprecatedSource");
    kvmig__io_str(io, "component", &event->component);
    kvmig__io_end(io);
    kvmig__io_u32(io, "deprecatedCount", &event->count);
    kvmig__io_time(io, "eventTime", &happened);
    event->first_ms = event->last_ms = happened ? happened : event->meta.created_ms;
    kvmig__io_time(io, "deprecatedFirstTimestamp", &event->first_ms);
    kvmig__io_time(io, "deprecatedLastTimestamp", &event->last_ms);
    kvmig__io_begin(io, "series");
    kvmig__io_u32(io, "count", &event->count);
    kvmig__io_time(io, "lastObservedTime", &series);
    kvmig__io_end(io);
    if (series > event->last_ms)
        event->last_ms = series;
}

void kvmig__visit_event(struct kvmig__io *io, struct kvmig__kube_event *event)
{
    if (!io->encode)
        read_event_elsewhere(io, event);
    visit_event_object(io, "involvedObject", event);
    kvmig__io_str(io, "type", &event->type);
    kvmig__io_str(io, "reason", &event->reason);
    kvmig__io_str(io, "message", &event->message);
    kvmig__io_begin(io, "source");
    kvmig__io_str(io, "component", &event->component);
    kvmig__io_end(io);
    kvmig__io_u32(io, "count", &event->count);
    kvmig__io_time(io, "firstTimestamp", &event->first_ms);
    kvmig__io_time(io, "lastTimestamp", &event->last_ms);
    if (io->encode)
        return;
    if (!event->count)
        event->count = 1; /* it happened */
    if (event->last_ms < event->first_ms)
        event->last_ms = event->first_ms;
}

/* ---- EndpointSlice ---- */

static void visit_target_ref(struct kvmig__io *io, struct kvmig__kube_endpoint *endpoint)
{
    char *kind = endpoint->pod ? kvmig__strdup("Pod") : NULL;

    kvmig__io_begin(io, "targetRef");
    kvmig__io_str(io, "kind", &kind);
    if (kvmig__str_eq(kind, "Pod"))
        kvmig__io_str(io, "name", &endpoint->pod);
    kvmig__io_end(io);
    free(kind);
}

static bool visit_endpoint(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_endpoint *endpoint = element;

    if (!io->encode)
        endpoint->ready = endpoint->serving = endpoint->terminating = -1;
    kvmig__io_strlist(io, "addresses", &endpoint->addresses);
    kvmig__io_begin(io, "conditions");
    kvmig__io_tri(io, "ready", &endpoint->ready);
    kvmig__io_tri(io, "serving", &endpoint->serving);
    kvmig__io_tri(io, "terminating", &endpoint->terminating);
    kvmig__io_end(io);
    visit_target_ref(io, endpoint);
    kvmig__io_str(io, "nodeName", &endpoint->node);
    return true;
}

void kvmig__visit_slice(struct kvmig__io *io, struct kvmig__kube_slice *slice)
{
    if (!io->encode) /* encoding writes the label itself */
        slice->service = kvmig__strdup(kvmig__pairs_get(&slice->meta.labels, "kubernetes.io/service-name"));
    KVMIG__IO_LIST(io, "endpoints", &slice->endpoints, visit_endpoint);
}
