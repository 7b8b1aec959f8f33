/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A volume migration that KubeVirt is to carry out, while no migration of the VM is under way: what it has accepted, and what keeps it
 * from starting. It never refuses one; what it does not do is told by conditions of the VM and the VMI only, if at all. Pure; the
 * caller's thread.
 */
#include "session/explain_kube.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* KubeVirt looks for changed VMs every 5 to 30 s. */
#define UPDATER_WARN_S 60
#define ROLLOUT_WARN_S 600

struct move {
    const struct kvmig__kube_vm *vm; /* NULL if not known */
    const struct kvmig__kube_condition *change; /* VolumesChange of the VMI, or else of the VM */
    struct kvmig__strlist volumes; /* "root to claim new" */
    bool accepted; /* the VMI has them as volumes to be migrated */
};

static char *vm_name(const struct kvmig__explain *x)
{
    return kvmig__explain_name("vm", x->vmi->meta.ns, x->vmi->meta.name);
}

/* ---- what is to move ---- */

static void add_volume(struct move *move, const char *name, const char *claim)
{
    char *text = kvmig__asprintf("%s to claim %s", name ? name : "?", claim ? claim : "?");

    kvmig__strlist_add_new(&move->volumes, text);
    free(text);
}

static const char *claim_of_vmi(const struct kvmig__kube_vmi *vmi, const char *volume)
{
    for (size_t i = 0; i < vmi->volumes.n; i++) {
        if (kvmig__str_eq(vmi->volumes.v[i].name, volume))
            return vmi->volumes.v[i].claim;
    }
    return NULL;
}

/* The VM names other claims than the guest runs on. */
static void find_wanted(const struct kvmig__explain *x, struct move *move)
{
    if (!move->vm || !kvmig__str_eq(move->vm->update_volumes_strategy, "Migration"))
        return;
    for (size_t i = 0; i < move->vm->volumes.n; i++) {
        const struct kvmig__kube_volume *volume = &move->vm->volumes.v[i];
        const char *present = claim_of_vmi(x->vmi, volume->name);

        if (present && volume->claim && strcmp(present, volume->claim) != 0)
            add_volume(move, volume->name, volume->claim);
    }
}

static void find_move(const struct kvmig__explain *x, struct move *move)
{
    *move = (struct move){ .vm = KVMIG__KUBE_FIND(x->kube, VM, x->vmi->meta.ns, x->vmi->meta.name) };
    move->change = kvmig__kube_condition(&x->vmi->conditions, "VolumesChange");
    if (!move->change && move->vm)
        move->change = kvmig__kube_condition(&move->vm->conditions, "VolumesChange");
    if (move->change && kvmig__str_eq(move->change->reason, "VolumesChangeCancellation"))
        move->change = NULL; /* it was taken back */
    for (size_t i = 0; i < x->vmi->migrated_volumes.n; i++)
        add_volume(move, x->vmi->migrated_volumes.v[i].name, x->vmi->migrated_volumes.v[i].destination.claim);
    move->accepted = move->volumes.n || (move->change && kvmig__str_eq(move->change->status, "True"));
    find_wanted(x, move);
}

static bool is_wanted(const struct move *move)
{
    if (move->accepted || move->volumes.n)
        return true;
    /* a refusal that is left of a change that was taken back means nothing; without the VM that cannot be told */
    return !move->vm && move->change && kvmig__str_eq(move->change->status, "False");
}

/* ---- what keeps it ---- */

static int64_t since_of(const struct kvmig__kube_condition *condition)
{
    return condition ? condition->since_ms ? condition->since_ms : condition->probed_ms : 0;
}

static char *evidence_of(const struct kvmig__kube_condition *condition)
{
    return kvmig__asprintf("condition %s is %s%s%s%s%s", condition->type,
                           condition->status ? condition->status : "unset", condition->reason ? ", reason " : "",
                           condition->reason ? condition->reason : "", condition->message ? ": " : "",
                           condition->message ? condition->message : "");
}

/* "destination ... not found": KubeVirt goes on once it is there. */
static bool misses_destination(const struct kvmig__kube_condition *condition)
{
    static const char *const tokens[] = { "not found", "not exist", "n't exist", "missing", "no such" };
    const char *message = condition->message;

    for (size_t i = 0; message && strcasestr(message, "dest") && i < KVMIG__N_ELEMENTS(tokens); i++) {
        if (strcasestr(message, tokens[i]))
            return true;
    }
    return false;
}

static void explain_refusal(const struct kvmig__explain *x, const struct move *move)
{
    const bool missing = misses_destination(move->change);
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(x, missing ? "DEST_VOLUME_MISSING" : "VOLUME_CHANGE_REFUSED", KVMIG_SEVERITY_ERROR, 2,
                               vm_name(x), "%s",
                               missing ? "a destination claim is not there; KubeVirt goes on once it is"
                                       : "KubeVirt has not accepted the change of the volumes");
    wait->evidence = evidence_of(move->change);
    wait->since_ms = since_of(move->change);
    wait->hint = kvmig__strdup(missing ? "Make the claim, or set the volumes of the VM back to their sources."
                                       : "The message says why; or set the volumes of the VM back to their sources.");
}

static bool explain_restart(const struct kvmig__explain *x, const struct move *move)
{
    const struct kvmig__kube_condition *restart =
        move->vm ? kvmig__kube_condition(&move->vm->conditions, "RestartRequired") : NULL;
    struct kvmig__wait *wait;

    if (!restart || !kvmig__str_eq(restart->status, "True"))
        return false;
    wait = kvmig__explain_link(x, "RESTART_REQUIRED", KVMIG_SEVERITY_ERROR, 2, vm_name(x),
                               "KubeVirt keeps the change for the VM's next start: nothing will be copied");
    wait->evidence = evidence_of(restart);
    wait->since_ms = since_of(restart);
    wait->hint =
        kvmig__strdup("Set the volumes back to their sources before the VM starts anew: it would start with the "
                      "destinations as they are, which may be empty.");
    return true;
}

static void explain_method(const struct kvmig__explain *x, const struct kvmig__kube_kubevirt *kubevirt)
{
    const int32_t updates = kvmig__kube_updates_by_migration(x->kube, kubevirt);
    struct kvmig__wait *wait;
    char *methods;

    if (!kubevirt || updates > 0)
        return;
    methods = kvmig__strlist_join(&kubevirt->update_methods, ", ");
    wait = kvmig__explain_link(x, "UPDATE_METHOD_MISSING", updates ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_ERROR, 2,
                               kvmig__strdup("cluster"),
                               "KubeVirt is not told to update workloads by live migration: nobody starts one");
    wait->evidence = kvmig__asprintf("workloadUpdateMethods: %s", kubevirt->update_methods.n ? methods : "none");
    wait->hint =
        kvmig__strdup("Add LiveMigrate to spec.workloadUpdateStrategy.workloadUpdateMethods of the KubeVirt object.");
    free(methods);
}

static void explain_platform(const struct kvmig__explain *x, const struct move *move)
{
    const struct kvmig__kube_kubevirt *kubevirt = kvmig__kube_kubevirt(x->kube);
    const char *strategy = kubevirt ? kubevirt->rollout_strategy : NULL;
    struct kvmig__wait *wait;

    explain_method(x, kubevirt);
    if (!move->accepted && strategy && *strategy && strcmp(strategy, "LiveUpdate") != 0) {
        wait = kvmig__explain_link(x, "ROLLOUT_STRATEGY_STAGES", KVMIG_SEVERITY_ERROR, 2, kvmig__strdup("cluster"),
                                   "KubeVirt keeps changes of VMs for their next start");
        wait->evidence = kvmig__asprintf("vmRolloutStrategy %s", strategy);
    }
    if (!kvmig__kube_is_updating(kubevirt))
        return;
    wait = kvmig__explain_link(
        x, "KUBEVIRT_UPDATING", kvmig__explain_grade(x, since_of(move->change), ROLLOUT_WARN_S, 0), 2,
        kvmig__strdup("cluster"), "KubeVirt is being rolled out, and begins no volume migration until that is done");
    wait->evidence = kvmig__asprintf("phase %s", kubevirt->phase ? kubevirt->phase : "unset");
}

/* ---- the chain ---- */

static void add_head(const struct kvmig__explain *x, const struct move *move)
{
    const int64_t since = since_of(move->change);
    char *volumes = kvmig__strlist_join(&move->volumes, ", ");
    struct kvmig__wait *wait;

    if (!x->follow->vmim) {
        wait = kvmig__explain_link(x, "WAITING", KVMIG_SEVERITY_INFO, 0, vm_name(x),
                                   "a volume migration was asked for, and no migration is there yet");
        wait->since_ms = since;
    }
    wait =
        kvmig__explain_link(x, "VOLUME_MIGRATION_WAITING", kvmig__explain_grade(x, since, UPDATER_WARN_S, 0), 1,
                            kvmig__strdup("cluster"), "KubeVirt must %s%s%s",
                            move->accepted ? "start a migration for the volumes" : "accept the change of the volumes",
                            move->volumes.n ? ": " : "", volumes);
    if (move->change)
        wait->evidence = evidence_of(move->change);
    else if (x->vmi->migrated_volumes.n)
        wait->evidence = kvmig__strdup("status.migratedVolumes of the VM's instance");
    wait->since_ms = since;
    wait->hint =
        kvmig__strdup("KubeVirt starts it by itself, after a failure again and again (after 20 s, then twice as "
                      "long each time). To take it back, set all of these volumes to their sources at once.");
    free(volumes);
}

bool kvmig__explain_volumes(const struct kvmig__explain *x)
{
    struct move move;
    bool wanted;

    find_move(x, &move);
    wanted = is_wanted(&move);
    if (wanted) {
        add_head(x, &move);
        if (move.change && kvmig__str_eq(move.change->status, "False"))
            explain_refusal(x, &move);
        explain_restart(x, &move);
        explain_platform(x, &move);
    }
    kvmig__strlist_clear(&move.volumes);
    return wanted;
}
