/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The target node as such: ready, schedulable, alive, not tainted against the VM, another machine than the source; and whether the
 * source can send. Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEARTBEAT KVMIG__LABEL_HEARTBEAT
#define HEARTBEAT_LIMIT_MIN                                                                                            \
    5 /* virt-controller gives a node up after that; virt-handler writes every 1 to 2.2 minutes */

/* ---- labels that the target lacks ---- */

bool kvmig__kube_lacks(const struct kvmig__kube_check *c, const char *key, const char *value, bool *out_stale)
{
    const struct kvmig__pairs *selector = c->pod ? &c->pod->placement.node_selector : NULL;

    *out_stale = false;
    if (kvmig__str_eq(kvmig__pairs_get(&c->target->meta.labels, key), value ? value : ""))
        return false;
    if (selector && c->source)
        *out_stale = kvmig__pairs_get(selector, key) &&
                     !kvmig__str_eq(kvmig__pairs_get(&c->source->meta.labels, key), kvmig__pairs_get(selector, key));
    return true;
}

void kvmig__kube_note_stale(const struct kvmig__kube_check *c, const struct kvmig__strlist *keys)
{
    struct kvmig__detail d = { 0 };
    char *names = kvmig__strlist_join(keys, ", ");

    kvmig__detail_list(&d, "keys", keys);
    kvmig__kube_note(c, "STALE_NODE_SELECTOR", KVMIG_SEVERITY_BLOCKER,
                     kvmig__asprintf("pod/%s/%s", c->pod->meta.ns ? c->pod->meta.ns : "default", c->pod->meta.name), &d,
                     "The set of labels has changed, not the hardware: restart the VM, or give a node the label back.",
                     "The launcher asks for labels that not even its own node %s has any more: %s.",
                     c->source->meta.name, names);
    free(names);
}

/* ---- ready, schedulable, alive ---- */

const struct kvmig__kube_pod *kvmig__kube_handler_on(const struct kvmig__kube_base *base, size_t node)
{
    for (size_t i = node < base->nodes->n ? base->first[node] : 0; node < base->nodes->n && i < base->first[node + 1];
         i++) {
        if (kvmig__str_eq(kvmig__pairs_get(&base->pods[i]->meta.labels, "kubevirt.io"), "virt-handler"))
            return base->pods[i];
    }
    return NULL;
}

static void not_schedulable(const struct kvmig__kube_check *c, const char *reason, const char *hint, const char *what)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "reason", reason);
    kvmig__kube_note(c, "NODE_NOT_SCHEDULABLE", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d, hint,
                     "Node %s %s.", c->target_name, what);
}

static void check_schedulable(const struct kvmig__kube_check *c)
{
    const struct kvmig__kube_condition *ready = kvmig__kube_condition(&c->target->conditions, "Ready");
    const char *schedulable = kvmig__pairs_get(&c->target->meta.labels, KVMIG__LABEL_SCHEDULABLE);
    const struct kvmig__taint cordon = { .key = (char *)"node.kubernetes.io/unschedulable",
                                         .effect = (char *)"NoSchedule" };

    if (c->target->unschedulable && !kvmig__kube_tolerates(c, &cordon))
        not_schedulable(c, "cordoned", "Uncordon it, or choose another node.", "is cordoned");
    if (c->target->meta.deleted_ms)
        not_schedulable(c, "deleted", "Choose another node.", "is being removed from the cluster");
    if (ready && !kvmig__str_eq(ready->status, "True"))
        not_schedulable(c, "not Ready", "See the node's conditions.", "is not Ready");
    if (!kvmig__str_eq(schedulable, "true") && c->index->nodes_labelled)
        not_schedulable(c, KVMIG__LABEL_SCHEDULABLE, "See virt-handler and the device plugins on that node.",
                        "is not offered for VMs: its label " KVMIG__LABEL_SCHEDULABLE " is not \"true\"");
}

/* The taints follow from these conditions; objects that are cut down may lack them. */
static void check_pressure(const struct kvmig__kube_check *c)
{
    static const struct {
        const char *condition, *taint;
    } pressures[] = {
        { "DiskPressure", "node.kubernetes.io/disk-pressure" },
        { "PIDPressure", "node.kubernetes.io/pid-pressure" },
        { "NetworkUnavailable", "node.kubernetes.io/network-unavailable" },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(pressures); i++) {
        struct kvmig__taint taint = { .key = (char *)pressures[i].taint, .effect = (char *)"NoSchedule" };
        char *what;

        if (!kvmig__kube_condition_is(&c->target->conditions, pressures[i].condition, "True") ||
            kvmig__kube_tolerates(c, &taint))
            continue;
        what = kvmig__asprintf("has the condition %s, which keeps new pods away", pressures[i].condition);
        not_schedulable(c, pressures[i].condition, "See the node's conditions.", what);
        free(what);
    }
}

static void check_handler(const struct kvmig__kube_check *c)
{
    const struct kvmig__kube_pod *handler = kvmig__kube_handler_on(c->index->base, c->target_at);

    if (handler && handler->phase && !kvmig__pod_is_ready_for_kubevirt(handler))
        not_schedulable(c, "virt-handler", "See the pod of virt-handler on that node.",
                        "cannot receive a migration: its virt-handler is not ready");
}

static bool read_digits(const char **text, size_t n, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++, (*text)++) {
        if (**text < '0' || **text > '9')
            return false;
        *out = *out * 10 + (**text - '0');
    }
    return true;
}

/* Minutes since some fixed day of "2026-11-30T11:02:33Z"; -1 if it is none. */
static int64_t minutes_of(const char *text)
{
    static const char separators[] = "--T:";
    static const size_t widths[] = { 4, 2, 2, 2, 2 };
    int64_t part[5], year, month, days;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(widths); i++) {
        if (!text || !read_digits(&text, widths[i], &part[i]) || (i < 4 && *text++ != separators[i]))
            return -1;
    }
    if (!kvmig__str_ends(text, "Z"))
        return -1;
    year = part[1] > 2 ? part[0] : part[0] - 1; /* years that begin in March end with their leap day */
    month = part[1] > 2 ? part[1] - 3 : part[1] + 9;
    days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + part[2];
    return (days * 24 + part[3]) * 60 + part[4];
}

int64_t kvmig__kube_heartbeat_min(const struct kvmig__kube_node *node)
{
    return minutes_of(kvmig__pairs_get(&node->meta.annotations, HEARTBEAT));
}

int64_t kvmig__kube_heartbeat_late_min(const struct kvmig__kube_node *node, int64_t newest_min)
{
    int64_t own = kvmig__kube_heartbeat_min(node);

    return own >= 0 && newest_min - own > HEARTBEAT_LIMIT_MIN ? newest_min - own : 0;
}

static void detail_of_heartbeat(struct kvmig__detail *d, const struct kvmig__kube_node *node, int64_t behind)
{
    kvmig__detail_str(d, "reason", "heartbeat");
    kvmig__detail_str(d, "heartbeat", kvmig__pairs_get(&node->meta.annotations, HEARTBEAT));
    kvmig__detail_uint(d, "behind_min", (uint64_t)behind);
}

/* Against the newest heart-beat of all nodes: so the question needs no clock, and old files can be judged. */
static void check_heartbeat(const struct kvmig__kube_check *c)
{
    int64_t behind = kvmig__kube_heartbeat_late_min(c->target, c->index->newest_heartbeat_min);
    struct kvmig__detail d = { 0 };

    if (!behind)
        return;
    detail_of_heartbeat(&d, c->target, behind);
    kvmig__kube_note(c, "NODE_NOT_SCHEDULABLE", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                     "See virt-handler on that node; without it no migration is received there.",
                     "The last heart-beat of virt-handler on %s is %" PRId64 " minutes older than that of others.",
                     c->target_name, behind);
}

/* It has to send: a migration that its virt-handler does not start hangs until the target launcher gives up. */
void kvmig__kube_check_source_node(const struct kvmig__kube_check *c)
{
    const struct kvmig__kube_condition *ready;
    struct kvmig__detail d = { 0 };
    int64_t behind;

    if (!c->source)
        return;
    behind = kvmig__kube_heartbeat_late_min(c->source, c->index->newest_heartbeat_min);
    ready = kvmig__kube_condition(&c->source->conditions, "Ready");
    if (behind) {
        detail_of_heartbeat(&d, c->source, behind);
        kvmig__kube_note(
            c, "SOURCE_NODE_NOT_READY", KVMIG_SEVERITY_BLOCKER, kvmig__asprintf("node/%s", c->source->meta.name), &d,
            "See virt-handler on that node; without it no migration leaves it.",
            "The last heart-beat of virt-handler on the VM's node %s is %" PRId64 " minutes older than that of others.",
            c->source->meta.name, behind);
    } else if (ready && !kvmig__str_eq(ready->status, "True")) {
        kvmig__detail_str(&d, "reason", "not Ready");
        kvmig__detail_str(&d, "status", ready->status);
        kvmig__kube_note(
            c, "SOURCE_NODE_NOT_READY", KVMIG_SEVERITY_WARN, kvmig__asprintf("node/%s", c->source->meta.name), &d,
            "See the node's conditions; if its virt-handler does not answer, the migration will not begin.",
            "The VM's node %s is not Ready.", c->source->meta.name);
    }
}

/* ---- taints ---- */

static bool tolerates(const struct kvmig__toleration *toleration, const struct kvmig__taint *taint)
{
    bool exists = kvmig__str_eq(toleration->op, "Exists");

    if (toleration->effect && *toleration->effect && !kvmig__str_eq(toleration->effect, taint->effect))
        return false;
    if (!toleration->key || !*toleration->key)
        return exists;
    if (!kvmig__str_eq(toleration->key, taint->key))
        return false;
    return exists || !strcmp(toleration->value ? toleration->value : "", taint->value ? taint->value : "");
}

static bool any_tolerates(const struct kvmig__tolerations *tolerations, const struct kvmig__taint *taint)
{
    for (size_t i = 0; i < tolerations->n; i++) {
        if (tolerates(&tolerations->v[i], taint))
            return true;
    }
    return false;
}

/* Kubernetes itself gives this toleration to all pods that ask for memory, as launchers do. */
#define MEMORY_PRESSURE "node.kubernetes.io/memory-pressure"

bool kvmig__kube_tolerates(const struct kvmig__kube_check *c, const struct kvmig__taint *taint)
{
    return any_tolerates(&c->vmi->placement.tolerations, taint) ||
           (c->pod && any_tolerates(&c->pod->placement.tolerations, taint)) ||
           kvmig__str_eq(taint->key, MEMORY_PRESSURE);
}

static void check_taints(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->target->taints.n; i++) {
        const struct kvmig__taint *taint = &c->target->taints.v[i];
        struct kvmig__detail d = { 0 };

        if (!kvmig__str_eq(taint->effect, "NoSchedule") && !kvmig__str_eq(taint->effect, "NoExecute"))
            continue;
        if (kvmig__kube_tolerates(c, taint))
            continue;
        kvmig__detail_str(&d, "key", taint->key);
        kvmig__detail_str(&d, "value", taint->value);
        kvmig__detail_str(&d, "effect", taint->effect);
        kvmig__kube_note(c, "TAINT_NOT_TOLERATED", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                         "Remove the taint, or give the VM a toleration (it takes effect when the VM starts anew).",
                         "Node %s has the taint %s:%s, which the VM does not tolerate.", c->target_name,
                         taint->key ? taint->key : "?", taint->effect);
    }
}

/* ---- labels ---- */

/* Then what the labels say is as old as that. */
static void check_frozen_labels(const struct kvmig__kube_check *c)
{
    struct kvmig__detail d = { 0 };

    if (!kvmig__pairs_get(&c->target->meta.annotations, KVMIG__NOTE_SKIP_LABELLER))
        return;
    kvmig__detail_str(&d, "annotation", KVMIG__NOTE_SKIP_LABELLER);
    kvmig__kube_note(c, "NODE_LABELS_FROZEN", KVMIG_SEVERITY_INFO, kvmig__kube_object_target(c), &d,
                     "Take the annotation from the node, if its CPU, kernel or QEMU has changed since.",
                     "The labels of node %s that tell its CPU are not renewed any more.", c->target_name);
}

/* ---- identity ---- */

static void check_uuid(const struct kvmig__kube_check *c)
{
    struct kvmig__detail d = { 0 };

    if (!c->source || !c->source->system_uuid || !*c->source->system_uuid || !c->target->system_uuid ||
        strcasecmp(c->source->system_uuid, c->target->system_uuid) != 0)
        return;
    kvmig__detail_str(&d, "uuid", c->target->system_uuid);
    kvmig__kube_note(c, "DUPLICATE_HOST_UUID", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                     "Give the hosts UUIDs of their own (host_uuid in libvirt's configuration, or the firmware).",
                     "Node %s reports the same host UUID as the source: libvirt takes this for a migration to itself.",
                     c->target_name);
}

void kvmig__kube_check_node(const struct kvmig__kube_check *c)
{
    check_schedulable(c);
    check_pressure(c);
    check_handler(c);
    check_heartbeat(c);
    check_frozen_labels(c);
    check_taints(c);
    check_uuid(c);
}
