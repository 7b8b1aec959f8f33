/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is told of judged interfaces: a sentence, the evidence, findings, and all of it as JSON. It decides nothing. A
 * report is immutable, owns all its strings, and belongs to whom it was handed. Any thread.
 */
#include "port/interface_internal.h"

#include "base/json_internal.h"

#include <errno.h>
#include <stdlib.h>

/* Entries of one list in the evidence; a node that is this broken is not explained better by more. */
#define MAX_LISTED 16

/* What one verdict points to. */
struct texts {
    char *uuid, *name, *iface_id, *message, *evidence;
};

struct kvmig_interface_report {
    char *node;
    struct kvmig_interface_verdict *v;
    struct texts *texts; /* beside v */
    size_t n;
    struct kvmig_findings findings;
};

/* ---- names ---- */

const char *kvmig_interface_class_name(int32_t interface_class)
{
    static const char *const names[] = {
        [KVMIG_INTERFACE_LIVE] = "live",
        [KVMIG_INTERFACE_INITIALISING] = "initialising",
        [KVMIG_INTERFACE_ORPHAN] = "orphan",
        [KVMIG_INTERFACE_UNKNOWN] = "unknown",
    };

    return interface_class > 0 && (size_t)interface_class < KVMIG__N_ELEMENTS(names) ? names[interface_class] : NULL;
}

/* The name of each reason, and the sentence: %V is the VM, %N the node. */
static const struct {
    const char *name, *sentence;
} reasons[] = {
    [KVMIG_INTERFACE_REASON_RUNNING] = { "RUNNING", "%V runs on %N and uses the interface" },
    [KVMIG_INTERFACE_REASON_TERMINATING] = { "TERMINATING",
                                             "%V is being ended on %N, and uses the interface until it has ended" },
    [KVMIG_INTERFACE_REASON_PENDING] = { "PENDING", "%V is about to start on %N" },
    [KVMIG_INTERFACE_REASON_UNPLACED] = { "UNPLACED", "%V has no node yet, and may get %N" },
    [KVMIG_INTERFACE_REASON_NO_OFPORT] = { "NO_OFPORT", "%V runs on %N, but Open vSwitch has no port for it" },
    [KVMIG_INTERFACE_REASON_NOT_INSTALLED] = { "NOT_INSTALLED",
                                               "%V runs on %N, but OVN has not installed the interface" },
    [KVMIG_INTERFACE_REASON_SETTLING] = { "SETTLING",
                                          "%V runs on %N, and OVN installed the interface only a moment ago" },
    [KVMIG_INTERFACE_REASON_OPERATION] = { "OPERATION", "an operation on the port of %V is under way on %N" },
    [KVMIG_INTERFACE_REASON_YOUNG] = { "YOUNG",
                                       "nothing on %N uses the interface of %V, but it is too young to be judged" },
    [KVMIG_INTERFACE_REASON_FINISHED] = { "FINISHED", "%V has ended on %N" },
    [KVMIG_INTERFACE_REASON_ELSEWHERE] = { "ELSEWHERE", "%V is on another node than %N" },
    [KVMIG_INTERFACE_REASON_NO_WORKLOAD] = { "NO_WORKLOAD", "there is no workload of %V" },
    [KVMIG_INTERFACE_REASON_DISPLAY_NAME] = { "DISPLAY_NAME",
                                              "there is no workload of %V; another VM only shows the same name" },
    [KVMIG_INTERFACE_REASON_NO_INVENTORY] = { "NO_INVENTORY", "the workloads of %N were not read completely" },
    [KVMIG_INTERFACE_REASON_NO_ID] = { "NO_ID", "the interface does not say whose it is" },
    [KVMIG_INTERFACE_REASON_DUPLICATE] = { "DUPLICATE", "another interface on %N has the same iface-id" },
    [KVMIG_INTERFACE_REASON_UNRESOLVED] = { "UNRESOLVED", "a workload whose full name is not known may be that of %V" },
    [KVMIG_INTERFACE_REASON_POD_NAME] = { "POD_NAME",
                                          "the interface names the pod that runs a VM, in place of the VM" },
    [KVMIG_INTERFACE_REASON_PHASE_UNKNOWN] = { "PHASE_UNKNOWN", "whether %V still runs on %N is not known" },
};

const char *kvmig_interface_reason_name(int32_t reason)
{
    return reason > 0 && (size_t)reason < KVMIG__N_ELEMENTS(reasons) ? reasons[reason].name : NULL;
}

const char *kvmig_workload_kind_name(int32_t kind)
{
    static const char *const names[] = {
        [KVMIG_WORKLOAD_LAUNCHER] = "launcher",
        [KVMIG_WORKLOAD_POD] = "pod",
        [KVMIG_WORKLOAD_DOMAIN] = "domain",
    };

    return kind >= 0 && (size_t)kind < KVMIG__N_ELEMENTS(names) ? names[kind] : NULL;
}

const char *kvmig_workload_phase_name(int32_t phase)
{
    static const char *const names[] = {
        [KVMIG_WORKLOAD_PHASE_UNKNOWN] = "unknown", [KVMIG_WORKLOAD_PENDING] = "pending",
        [KVMIG_WORKLOAD_RUNNING] = "running",       [KVMIG_WORKLOAD_SUCCEEDED] = "succeeded",
        [KVMIG_WORKLOAD_FAILED] = "failed",
    };

    return phase >= 0 && (size_t)phase < KVMIG__N_ELEMENTS(names) ? names[phase] : NULL;
}

/* ---- sentences ---- */

static char *vm_text(const struct kvmig_interface *interface)
{
    const char *id = interface->vm_id ? interface->vm_id : "";

    if (interface->vm_namespace && *interface->vm_namespace)
        return kvmig__asprintf("%s/%s", interface->vm_namespace, id);
    return kvmig__strdup(id);
}

/* Puts vm for %V and node for %N. Owned. */
static char *fill(const char *sentence, const char *vm, const char *node)
{
    char *text = kvmig__strdup("");

    for (const char *p = sentence; *p;) {
        const char *value = p[0] != '%' ? NULL : p[1] == 'V' ? vm : node;
        size_t n = 0;
        char *longer;

        while (!value && p[n] && p[n] != '%')
            n++;
        longer = value ? kvmig__asprintf("%s%s", text, value) : kvmig__asprintf("%s%.*s", text, (int)n, p);
        p += value ? 2 : n;
        free(text);
        text = longer;
    }
    return text;
}

static char *message_of(const struct kvmig__iface_view *view, const struct kvmig_interface *interface,
                        const struct kvmig__iface_decision *decision)
{
    char *vm = vm_text(interface);
    char *message = fill(reasons[decision->reason].sentence, vm, view->node);

    free(vm);
    return message;
}

/* ---- evidence ---- */

static struct json_object *interface_json(const struct kvmig_interface *interface)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "uuid", interface->uuid);
    kvmig__json_add_str(object, "name", interface->name);
    kvmig__json_add_str(object, "iface_id", interface->iface_id);
    kvmig__json_add_str(object, "vm_namespace", interface->vm_namespace);
    kvmig__json_add_str(object, "vm_id", interface->vm_id);
    kvmig__json_add_i64(object, "ofport", interface->ofport);
    kvmig__json_add_str(object, "error", interface->error);
    kvmig__json_add_str(object, "link_state", interface->link_state);
    kvmig__json_add_bool(object, "ovn_installed", interface->ovn_installed != 0);
    if (interface->ovn_installed_ts_ms)
        kvmig__json_add_i64(object, "ovn_installed_ts_ms", interface->ovn_installed_ts_ms);
    return object;
}

static struct json_object *workload_json(const struct kvmig_workload *workload, enum kvmig__iface_relation relation)
{
    static const char *const relations[] = {
        [KVMIG__IFACE_USER] = "identity",
        [KVMIG__IFACE_PERHAPS] = "unresolved",
        [KVMIG__IFACE_POD_NAME] = "pod-name",
        [KVMIG__IFACE_DISPLAY_NAME] = "display-name",
    };
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "match", relations[relation]);
    kvmig__json_add_str(object, "kind", kvmig_workload_kind_name(workload->kind));
    kvmig__json_add_str(object, "namespace", workload->pod_namespace);
    kvmig__json_add_str(object, "name", workload->name);
    kvmig__json_add_str(object, "vmi_id", workload->vmi_id);
    kvmig__json_add_str(object, "domain", workload->domain);
    kvmig__json_add_str(object, "display_name", workload->display_name);
    kvmig__json_add_str(object, "node", workload->node);
    kvmig__json_add_str(object, "phase", kvmig_workload_phase_name(workload->phase));
    kvmig__json_add_bool(object, "terminating", workload->terminating != 0);
    return object;
}

/* Those that have to do with the interface. */
static struct json_object *workloads_json(const struct kvmig__iface_view *view, const struct kvmig_interface *interface)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < view->n_workloads && json_object_array_length(array) < MAX_LISTED; i++) {
        enum kvmig__iface_relation relation = kvmig__iface_relate(interface, &view->workloads[i]);

        if (relation != KVMIG__IFACE_STRANGER)
            json_object_array_add(array, workload_json(&view->workloads[i], relation));
    }
    return array;
}

/* The other interfaces of the same iface-id. */
static struct json_object *namesakes_json(const struct kvmig__iface_view *view, const struct kvmig_interface *interface)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < view->n_interfaces && json_object_array_length(array) < MAX_LISTED; i++) {
        const struct kvmig_interface *other = &view->interfaces[i];

        if (other != interface && kvmig__str_eq(other->iface_id, interface->iface_id))
            json_object_array_add(array, interface_json(other));
    }
    return array;
}

static const char *inventory_error_of(const struct kvmig__iface_view *view)
{
    if (view->inventory_error)
        return view->inventory_error;
    return view->workloads ? "no workload is of the interface's sort: domains have no namespace, pods have one"
                           : "no workloads were given";
}

static char *evidence_of(const struct kvmig__iface_view *view, const struct kvmig_interface *interface,
                         const struct kvmig__iface_decision *decision)
{
    struct json_object *root = json_object_new_object();

    kvmig__json_add_str(root, "node", view->node);
    json_object_object_add(root, "interface", interface_json(interface));
    kvmig__json_add_i64(root, "age_ms", decision->age_ms);
    if (decision->installed_for_ms >= 0)
        kvmig__json_add_i64(root, "installed_for_ms", decision->installed_for_ms);
    kvmig__json_add_bool(root, "operation", kvmig__iface_is_operated(view, interface));
    if (decision->reason == KVMIG_INTERFACE_REASON_NO_INVENTORY)
        kvmig__json_add_str(root, "inventory_error", inventory_error_of(view));
    else
        json_object_object_add(root, "workloads", workloads_json(view, interface));
    if (decision->reason == KVMIG_INTERFACE_REASON_DUPLICATE)
        json_object_object_add(root, "same_iface_id", namesakes_json(view, interface));
    kvmig__json_add_str(root, "otherwise", kvmig_interface_reason_name(decision->otherwise));
    return kvmig__json_take_string(root);
}

/* ---- findings ---- */

static void add_finding(struct kvmig_interface_report *report, const struct kvmig_interface_verdict *verdict)
{
    char *object;

    if (verdict->interface_class != KVMIG_INTERFACE_ORPHAN && verdict->reason != KVMIG_INTERFACE_REASON_DUPLICATE)
        return;
    object = kvmig__asprintf("interface/%s", verdict->name);
    if (verdict->reason == KVMIG_INTERFACE_REASON_DUPLICATE)
        kvmig__findings_add(&report->findings, "DUPLICATE_IFACE_ID", KVMIG_SEVERITY_WARN, object, report->node,
                            verdict->evidence,
                            "Find out which of them OVN has bound (ovn-appctl debug/dump-local-bindings) before "
                            "one is removed.",
                            "%s: %s", verdict->iface_id, verdict->message);
    else
        kvmig__findings_add(&report->findings, "ORPHAN_INTERFACE", KVMIG_SEVERITY_WARN, object, report->node,
                            verdict->evidence,
                            verdict->may_remove ? "It may be removed, if the row is still the same."
                                                : "Look again before it is removed: it has to be left over in "
                                                  "several passes in a row.",
                            "The interface is left over: %s", verdict->message);
    free(object);
}

/* ---- the report ---- */

static void fill_verdict(struct kvmig_interface_verdict *verdict, struct texts *texts,
                         const struct kvmig__iface_view *view, const struct kvmig_interface *interface,
                         const struct kvmig__iface_decision *decision)
{
    texts->uuid = kvmig__strdup(interface->uuid);
    texts->name = kvmig__strdup(interface->name ? interface->name : "");
    texts->iface_id = kvmig__strdup(interface->iface_id);
    texts->message = message_of(view, interface, decision);
    texts->evidence = evidence_of(view, interface, decision);
    *verdict = (struct kvmig_interface_verdict){
        .size = sizeof(*verdict),
        .uuid = texts->uuid,
        .name = texts->name,
        .iface_id = texts->iface_id,
        .message = texts->message,
        .evidence = texts->evidence,
        .interface_class = decision->interface_class,
        .reason = decision->reason,
        .passes = decision->passes,
        .may_remove = decision->may_remove,
    };
}

struct kvmig_interface_report *kvmig__iface_report_new(const struct kvmig__iface_view *view,
                                                       const struct kvmig__iface_decision *decisions)
{
    struct kvmig_interface_report *report = kvmig__calloc(1, sizeof(*report));

    report->node = kvmig__strdup(view->node);
    report->n = view->n_interfaces;
    report->v = kvmig__calloc(report->n + 1, sizeof(*report->v));
    report->texts = kvmig__calloc(report->n + 1, sizeof(*report->texts));
    for (size_t i = 0; i < report->n; i++) {
        fill_verdict(&report->v[i], &report->texts[i], view, &view->interfaces[i], &decisions[i]);
        add_finding(report, &report->v[i]);
    }
    return report;
}

void kvmig_interface_report_free(struct kvmig_interface_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->n; i++) {
        free(report->texts[i].uuid);
        free(report->texts[i].name);
        free(report->texts[i].iface_id);
        free(report->texts[i].message);
        free(report->texts[i].evidence);
    }
    kvmig__findings_clear(&report->findings);
    free(report->texts);
    free(report->v);
    free(report->node);
    free(report);
}

size_t kvmig_interface_report_count(const struct kvmig_interface_report *report)
{
    return report ? report->n : 0;
}

const struct kvmig_interface_verdict *kvmig_interface_report_get(const struct kvmig_interface_report *report,
                                                                 size_t index)
{
    return report && index < report->n ? &report->v[index] : NULL;
}

const struct kvmig_findings *kvmig_interface_report_findings(const struct kvmig_interface_report *report)
{
    return report ? &report->findings : NULL;
}

static struct json_object *verdict_json(const struct kvmig_interface_verdict *verdict)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "uuid", verdict->uuid);
    kvmig__json_add_str(object, "name", verdict->name);
    kvmig__json_add_str(object, "iface_id", verdict->iface_id);
    kvmig__json_add_str(object, "class", kvmig_interface_class_name(verdict->interface_class));
    kvmig__json_add_str(object, "reason", kvmig_interface_reason_name(verdict->reason));
    kvmig__json_add_str(object, "message", verdict->message);
    kvmig__json_add_u64(object, "passes", verdict->passes);
    kvmig__json_add_bool(object, "may_remove", verdict->may_remove != 0);
    json_object_object_add(object, "evidence", json_tokener_parse(verdict->evidence));
    return object;
}

int32_t kvmig_interface_report_to_json(const struct kvmig_interface_report *report, char **out_json)
{
    struct json_object *root, *array;

    if (!report || !out_json)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_interface_report_to_json", NULL, NULL, "%s is NULL",
                                            report ? "out_json" : "report"));
    root = json_object_new_object();
    array = json_object_new_array();
    kvmig__json_add_str(root, "node", report->node);
    for (size_t i = 0; i < report->n; i++)
        json_object_array_add(array, verdict_json(&report->v[i]));
    json_object_object_add(root, "interfaces", array);
    json_object_object_add(root, "findings", kvmig__json_findings(&report->findings));
    *out_json = kvmig__json_take_string(root);
    return 0;
}
