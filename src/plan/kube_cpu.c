/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The guest's CPU against the labels of a target node, by mode: what KubeVirt's scheduler rules ask for, and where they ask for too
 * little, what the guest really has. LiveMigratable looks at none of this. Names are compared as text, as the scheduler does. Pure;
 * any thread.
 *
 * A host-model VM that has migrated before keeps the requirements of its first host: they stand in the selector of its launcher.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

/* What one target lacks. */
struct lacks {
    struct kvmig__strlist features, models, stale;
};

static void lacks_clear(struct lacks *lacks)
{
    kvmig__strlist_clear(&lacks->features);
    kvmig__strlist_clear(&lacks->models);
    kvmig__strlist_clear(&lacks->stale);
}

/* Asks the target for the label prefix + name; notes the name, or the key if nobody has the label any more. */
static void ask(const struct kvmig__kube_check *c, const char *prefix, const char *name, const char *value,
                struct kvmig__strlist *missing, struct kvmig__strlist *stale)
{
    char *key = kvmig__asprintf("%s%s", prefix, name);
    bool is_stale;

    if (kvmig__kube_lacks(c, key, value, &is_stale))
        kvmig__strlist_add_new(is_stale ? stale : missing, is_stale ? key : name);
    free(key);
}

static bool is_required(const struct kvmig__kube_feature *feature)
{
    return !feature->policy || !*feature->policy || !strcmp(feature->policy, "require");
}

/* ---- host-model ---- */

static bool names_feature(const struct kvmig__kube_vmi *vmi, const char *name)
{
    for (size_t i = 0; i < vmi->domain.cpu_features.n; i++) {
        if (kvmig__str_eq(vmi->domain.cpu_features.v[i].name, name) && is_required(&vmi->domain.cpu_features.v[i]))
            return true;
    }
    return false;
}

/* The launcher asks for what the VM's first host had. Features that the VM itself names do not prove that: they stand in the
 * selector of its first launcher, too, and make KubeVirt believe that it has migrated. */
static bool tells_origin(const struct kvmig__kube_check *c)
{
    const struct kvmig__pairs *selector = c->pod ? &c->pod->placement.node_selector : NULL;

    for (size_t i = 0; selector && i < selector->n; i++) {
        const char *feature = kvmig__after_prefix(selector->v[i].key, KVMIG__LABEL_FEATURE);

        if (kvmig__str_starts(selector->v[i].key, KVMIG__LABEL_MODEL_MIGRATION) ||
            (feature && !names_feature(c->vmi, feature)))
            return true;
    }
    return false;
}

static void ask_as_launcher(const struct kvmig__kube_check *c, struct lacks *lacks)
{
    const struct kvmig__pairs *selector = &c->pod->placement.node_selector;

    for (size_t i = 0; i < selector->n; i++) {
        const struct kvmig__pair *pair = &selector->v[i];
        const char *model = kvmig__after_prefix(pair->key, KVMIG__LABEL_MODEL_MIGRATION);
        const char *feature = kvmig__after_prefix(pair->key, KVMIG__LABEL_FEATURE);

        if (model)
            ask(c, KVMIG__LABEL_MODEL_MIGRATION, model, pair->value, &lacks->models, &lacks->stale);
        if (feature)
            ask(c, KVMIG__LABEL_FEATURE, feature, pair->value, &lacks->features, &lacks->stale);
    }
}

static void ask_as_source_host(const struct kvmig__kube_check *c, struct lacks *lacks)
{
    bool models_told = kvmig__kube_has_label(c->source, KVMIG__LABEL_MODEL_MIGRATION) ||
                       kvmig__kube_has_label(c->target, KVMIG__LABEL_MODEL_MIGRATION);

    const struct kvmig__pair *label;
    size_t at = 0;

    if (!c->source)
        return;
    while (models_told && (label = kvmig__pairs_next(&c->source->meta.labels, KVMIG__LABEL_HOST_MODEL, &at)))
        ask(c, KVMIG__LABEL_MODEL_MIGRATION, label->key + strlen(KVMIG__LABEL_HOST_MODEL), label->value, &lacks->models,
            &lacks->stale);
    at = 0;
    while ((label = kvmig__pairs_next(&c->source->meta.labels, KVMIG__LABEL_HOST_FEATURE, &at)))
        ask(c, KVMIG__LABEL_FEATURE, label->key + strlen(KVMIG__LABEL_HOST_FEATURE), label->value, &lacks->features,
            &lacks->stale);
}

/* The VM has moved, so that its host is not where its CPU comes from, and nothing tells what it is. */
static bool origin_unknown(const struct kvmig__kube_check *c)
{
    if (c->pod)
        return kvmig__pairs_get(&c->pod->meta.labels, "kubevirt.io/migrationJobUID");
    return c->vmi->migration.completed && !c->vmi->migration.failed &&
           kvmig__str_eq(c->vmi->migration.target_node, c->vmi->node);
}

/* The target tells its CPU; what to compare that with is not seen. */
static void note_no_source(const struct kvmig__kube_check *c)
{
    struct kvmig__detail d = { 0 };

    if (c->source || !kvmig__kube_has_label(c->target, KVMIG__LABEL_FEATURE))
        return;
    kvmig__detail_str(&d, "missing", c->vmi->node ? c->vmi->node : "source node");
    kvmig__kube_note(c, "CPU_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__kube_object_target(c), &d,
                     "Give the Node object that the VM runs on: its labels tell what the guest's CPU is.",
                     "The guest has the CPU of its host, which is not seen, so node %s cannot be compared with it.",
                     c->target_name);
}

static void check_host_model(const struct kvmig__kube_check *c, struct lacks *lacks)
{
    struct lacks host = { 0 };
    struct kvmig__detail d = { 0 };

    if (tells_origin(c)) {
        ask_as_launcher(c, lacks);
        return;
    }
    note_no_source(c);
    if (!origin_unknown(c)) {
        ask_as_source_host(c, lacks);
        return;
    }
    ask_as_source_host(c, &host);
    if (host.features.n || host.models.n) {
        kvmig__detail_list(&d, "features", &host.features);
        kvmig__detail_list(&d, "models", &host.models);
        kvmig__kube_note(c, "CPU_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__kube_object_target(c), &d,
                         "The selector of its launcher pod could tell; if in doubt, go back to where it came from.",
                         "Node %s lacks what the VM's present node has; whether the guest has it, coming from another "
                         "node, is not known.",
                         c->target_name);
    }
    lacks_clear(&host);
}

/* ---- the host model of the source ---- */

/* Whether labels of KubeVirt's node-labeller were told at all. In files, nodes may be cut down to some of them: then only another
 * node's host model proves that the source's is missing. */
static bool others_are_labelled(const struct kvmig__kube_check *c)
{

    KVMIG__KUBE_EACH(c->kube, NODE, node)
    {
        if (node != c->source && (kvmig__kube_has_label(node, KVMIG__LABEL_HOST_MODEL) ||
                                  (!c->kube->trimmed && (kvmig__kube_has_label(node, KVMIG__LABEL_MODEL_MIGRATION) ||
                                                         kvmig__kube_has_label(node, KVMIG__LABEL_FEATURE)))))
            return true;
    }
    return false;
}

/* KubeVirt reuses such labels of the present launcher, and then asks the source's node for nothing. */
static bool launcher_has_labels(const struct kvmig__kube_check *c)
{
    const struct kvmig__pairs *selector = c->pod ? &c->pod->placement.node_selector : NULL;

    for (size_t i = 0; selector && i < selector->n; i++) {
        if (kvmig__str_starts(selector->v[i].key, KVMIG__LABEL_MODEL_MIGRATION) ||
            kvmig__str_starts(selector->v[i].key, KVMIG__LABEL_FEATURE))
            return true;
    }
    return false;
}

static void note_no_host_model(const struct kvmig__kube_check *c, const char *why, const char *hint)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "node", c->vmi->node);
    kvmig__detail_str(&d, "architecture", c->vmi->architecture);
    kvmig__kube_note(c, "HOST_MODEL_MISSING", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d, hint,
                     "The guest has the CPU of its host (host-model), and %s: KubeVirt cannot make a target pod.", why);
}

void kvmig__kube_check_host_model(const struct kvmig__kube_check *c)
{
    if (strcmp(kvmig__kube_cpu_model(c), "host-model") != 0)
        return;
    /* a VM that names no model gets another default there */
    if (kvmig__str_eq(c->vmi->architecture, "arm64") && kvmig__str_eq(c->vmi->domain.cpu_model, "host-model"))
        note_no_host_model(c, "nodes of arm64 tell none", "Restart the VM with host-passthrough.");
    else if (c->source && !kvmig__str_eq(c->vmi->architecture, "arm64") &&
             !kvmig__kube_has_label(c->source, KVMIG__LABEL_HOST_MODEL) && !launcher_has_labels(c) &&
             others_are_labelled(c))
        note_no_host_model(c, "its node does not tell which that is (label " KVMIG__LABEL_HOST_MODEL "...)",
                           "See virt-handler on the VM's node, which writes the label.");
}

static const char *host_model_of(const struct kvmig__kube_node *node)
{
    size_t at = 0;
    const struct kvmig__pair *label = node ? kvmig__pairs_next(&node->meta.labels, KVMIG__LABEL_HOST_MODEL, &at) : NULL;

    return label ? label->key + strlen(KVMIG__LABEL_HOST_MODEL) : NULL;
}

static void check_obsolete(const struct kvmig__kube_check *c)
{
    struct kvmig__detail d = { 0 };

    if (!kvmig__pairs_get(&c->target->meta.labels, KVMIG__LABEL_OBSOLETE))
        return;
    kvmig__detail_str(&d, "model", host_model_of(c->target));
    kvmig__detail_str(&d, "label", KVMIG__LABEL_OBSOLETE);
    kvmig__kube_note(c, "CPU_MODEL_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                     "Choose another node, or change the list of obsolete models of the KubeVirt object.",
                     "The host model of %s counts as obsolete: host-model VMs are not scheduled there.",
                     c->target_name);
}

/* ---- obsolete models: no node lists them, whatever its hardware ---- */

/* "Conroe" also stands for "Conroe-v1". */
static bool is_same_model(const char *model, const char *listed)
{
    size_t n = strlen(listed);

    return !strncmp(model, listed, n) && (!model[n] || !strcmp(model + n, "-v1"));
}

/* The KubeVirt object's list replaces the built-in one. */
static bool is_obsolete(const struct kvmig__kube_check *c, const char *model)
{
    static const char *const built_in[] = { "486",    "pentium",  "pentium2", "pentium3",   "pentiumpro", "coreduo",
                                            "n270",   "core2duo", "Conroe",   "athlon",     "phenom",     "qemu32",
                                            "qemu64", "kvm32",    "kvm64",    "Opteron_G1", "Opteron_G2" };
    const struct kvmig__kube_kubevirt *kubevirt = c->kubevirt;

    if (kubevirt && kubevirt->obsolete_models_given) {
        for (size_t i = 0; i < kubevirt->obsolete_models.n; i++) {
            if (is_same_model(model, kubevirt->obsolete_models.v[i]))
                return true;
        }
        return false;
    }
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(built_in); i++) {
        if (is_same_model(model, built_in[i]))
            return true;
    }
    return false;
}

/* ---- findings of a target ---- */

static void note_lacks(const struct kvmig__kube_check *c, struct lacks *lacks)
{
    struct kvmig__detail d = { 0 };
    char *names;

    for (size_t i = 0; i < lacks->models.n; i++) {
        bool obsolete = is_obsolete(c, lacks->models.v[i]);

        kvmig__detail_str(&d, "model", lacks->models.v[i]);
        if (obsolete)
            kvmig__detail_str(&d, "reason", "obsolete");
        kvmig__kube_note(c, "CPU_MODEL_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                         obsolete
                             ? "Take it from the obsolete models of the KubeVirt object (obsoleteCPUModels), or "
                               "restart the VM with another one."
                             : "Choose a node that lists the model, or restart the VM with one that all nodes have.",
                         "Node %s does not offer the CPU model %s.", c->target_name, lacks->models.v[i]);
    }
    if (lacks->features.n) {
        names = kvmig__strlist_join(&lacks->features, ", ");
        kvmig__detail_list(&d, "features", &lacks->features);
        kvmig__kube_note(c, "CPU_FEATURE_MISSING", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                         "Choose a node of the same kind, or restart the VM with a named model that all nodes have.",
                         "Node %s lacks CPU features that the guest has: %s.", c->target_name, names);
        free(names);
    }
    if (lacks->stale.n)
        kvmig__kube_note_stale(c, &lacks->stale);
}

/* A guest that runs has what it requires: where not even its own node tells the feature, nor its launcher asks for it, files leave the
 * label out. */
static bool is_left_out(const struct kvmig__kube_check *c, const char *feature)
{
    char *key = kvmig__asprintf("%s%s", KVMIG__LABEL_FEATURE, feature);
    bool told = !c->kube->trimmed || !c->source || (c->pod && kvmig__pairs_get(&c->pod->placement.node_selector, key));

    KVMIG__KUBE_EACH(c->kube, NODE, node)
    {
        told = told || kvmig__pairs_get(&node->meta.labels, key);
    }
    free(key);
    return !told;
}

/* Features that the VM names itself. */
static void ask_as_spec(const struct kvmig__kube_check *c, struct lacks *lacks)
{
    bool features_told = kvmig__kube_has_label(c->source, KVMIG__LABEL_FEATURE) ||
                         kvmig__kube_has_label(c->target, KVMIG__LABEL_FEATURE);

    for (size_t i = 0; features_told && i < c->vmi->domain.cpu_features.n; i++) {
        const struct kvmig__kube_feature *feature = &c->vmi->domain.cpu_features.v[i];

        if (feature->name && is_required(feature) && !is_left_out(c, feature->name))
            ask(c, KVMIG__LABEL_FEATURE, feature->name, "true", &lacks->features, &lacks->stale);
    }
}

static void check_forbidden_features(const struct kvmig__kube_check *c)
{
    struct kvmig__strlist present = { 0 };
    struct kvmig__detail d = { 0 };
    char *names;

    for (size_t i = 0; i < c->vmi->domain.cpu_features.n; i++) {
        const struct kvmig__kube_feature *feature = &c->vmi->domain.cpu_features.v[i];
        char *key;

        if (!feature->name || !kvmig__str_eq(feature->policy, "forbid"))
            continue;
        key = kvmig__asprintf("%s%s", KVMIG__LABEL_FEATURE, feature->name);
        if (kvmig__pairs_get(&c->target->meta.labels, key))
            kvmig__strlist_add_new(&present, feature->name);
        free(key);
    }
    if (present.n) {
        names = kvmig__strlist_join(&present, ", ");
        kvmig__detail_list(&d, "features", &present);
        kvmig__kube_note(c, "CPU_FEATURE_FORBIDDEN", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                         "Choose a node without them.", "Node %s has CPU features that the VM forbids: %s.",
                         c->target_name, names);
        free(names);
    }
    kvmig__strlist_clear(&present);
}

/* ---- host-passthrough: the scheduler asks for the vendor only ---- */

/* Features that labels of the source name with one prefix, and none of the target with the other. */
static void missing_there(const struct kvmig__kube_check *c, const char *prefix, const char *there,
                          struct kvmig__strlist *out)
{
    for (size_t i = 0; i < c->source->meta.labels.n; i++) {
        const char *feature = kvmig__after_prefix(c->source->meta.labels.v[i].key, prefix);
        char *key = feature ? kvmig__asprintf("%s%s", there, feature) : NULL;

        if (key && !kvmig__pairs_get(&c->target->meta.labels, key))
            kvmig__strlist_add_new(out, feature);
        free(key);
    }
}

/* Nothing tells their features, but they are of two generations. */
static void note_generations(const struct kvmig__kube_check *c, const char *source, const char *target)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "source", source);
    kvmig__detail_str(&d, "target", target);
    kvmig__detail_str(&d, "missing", KVMIG__LABEL_FEATURE);
    kvmig__kube_note(
        c, "CPU_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__kube_object_target(c), &d,
        "Compare the CPUs: what the guest sees and the target lacks makes it fail sooner or later.",
        "The guest sees the source's own CPU (%s); node %s has another one (%s), and their features are not "
        "told.",
        source, c->target_name, target);
}

/* What a host model requires beside its name can be compared among equal names only. */
static void compare_hosts(const struct kvmig__kube_check *c, struct kvmig__strlist *missing)
{
    const char *source = host_model_of(c->source), *target = host_model_of(c->target);

    if (kvmig__kube_has_label(c->target, KVMIG__LABEL_FEATURE)) {
        missing_there(c, KVMIG__LABEL_FEATURE, KVMIG__LABEL_FEATURE, missing);
        missing_there(c, KVMIG__LABEL_HOST_FEATURE, KVMIG__LABEL_FEATURE, missing);
    } else if (source && target && strcmp(source, target) != 0) {
        note_generations(c, source, target);
    } else if (kvmig__kube_has_label(c->target, KVMIG__LABEL_HOST_FEATURE)) {
        missing_there(c, KVMIG__LABEL_HOST_FEATURE, KVMIG__LABEL_HOST_FEATURE, missing);
    }
}

static void check_passthrough(const struct kvmig__kube_check *c)
{
    struct kvmig__strlist missing = { 0 };
    struct kvmig__detail d = { 0 };
    char *names;

    if (!c->source)
        return;
    compare_hosts(c, &missing);
    if (missing.n) {
        names = kvmig__strlist_join(&missing, ", ");
        kvmig__detail_list(&d, "features", &missing);
        kvmig__kube_note(c, "CPU_PASSTHROUGH_MISMATCH", KVMIG_SEVERITY_WARN, kvmig__kube_object_target(c), &d,
                         "Choose a node of the same kind; the guest goes on believing that it has them.",
                         "The guest sees the source's own CPU; node %s lacks %s, and nothing will object.",
                         c->target_name, names);
        free(names);
    }
    kvmig__strlist_clear(&missing);
}

/* ---- vendor ---- */

static void vendors_of(const struct kvmig__kube_node *node, struct kvmig__strlist *out)
{
    const struct kvmig__pair *label;
    size_t at = 0;

    while (node && (label = kvmig__pairs_next(&node->meta.labels, KVMIG__LABEL_VENDOR, &at)))
        kvmig__strlist_add(out, label->key + strlen(KVMIG__LABEL_VENDOR));
}

static bool share_one(const struct kvmig__strlist *a, const struct kvmig__strlist *b)
{
    for (size_t i = 0; i < a->n; i++) {
        if (kvmig__strlist_has(b, a->v[i]))
            return true;
    }
    return false;
}

static bool check_vendor(const struct kvmig__kube_check *c)
{
    struct kvmig__strlist source = { 0 }, target = { 0 };
    struct kvmig__detail d = { 0 };
    bool differ;

    vendors_of(c->source, &source);
    vendors_of(c->target, &target);
    differ = source.n && target.n && !share_one(&source, &target);
    if (differ) {
        kvmig__detail_list(&d, "source", &source);
        kvmig__detail_list(&d, "target", &target);
        kvmig__kube_note(c, "CPU_VENDOR_MISMATCH", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                         "Choose a node with a CPU of the same vendor.",
                         "The guest runs on a CPU of %s; node %s has one of %s.", source.v[0], c->target_name,
                         target.v[0]);
    }
    kvmig__strlist_clear(&source);
    kvmig__strlist_clear(&target);
    return !differ;
}

static void check_cpu_manager(const struct kvmig__kube_check *c)
{
    const char *manager = kvmig__pairs_get(&c->target->meta.labels, "kubevirt.io/cpumanager");

    if (!c->vmi->domain.dedicated_cpus)
        return;
    if (!manager)
        manager = kvmig__pairs_get(&c->target->meta.labels, "cpumanager");
    if (kvmig__str_eq(manager, "true"))
        return;
    kvmig__kube_note(c, "CPU_MANAGER_DISABLED", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), NULL,
                     "Enable the static policy of the kubelet's CPU manager there, or choose another node.",
                     "The VM has dedicated CPUs, and node %s has no CPU manager that hands them out.", c->target_name);
}

void kvmig__kube_check_cpu(const struct kvmig__kube_check *c)
{
    const char *model = kvmig__kube_cpu_model(c);
    struct lacks lacks = { 0 };
    bool same_vendor = check_vendor(c);

    if (!strcmp(model, "host-passthrough")) {
        if (same_vendor)
            check_passthrough(c);
    } else if (!strcmp(model, "host-model")) {
        check_host_model(c, &lacks);
        check_obsolete(c);
    } else if (kvmig__kube_has_label(c->source, KVMIG__LABEL_MODEL) ||
               kvmig__kube_has_label(c->target, KVMIG__LABEL_MODEL)) {
        ask(c, KVMIG__LABEL_MODEL, model, "true", &lacks.models, &lacks.stale);
    }
    if (c->vmi->domain.cpu_model && *c->vmi->domain.cpu_model) { /* without a model KubeVirt ignores the features */
        ask_as_spec(c, &lacks);
        check_forbidden_features(c);
    }
    note_lacks(c, &lacks);
    check_cpu_manager(c);
    lacks_clear(&lacks);
}
