/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Volume migrations: the one patch of the VM that makes KubeVirt move its volumes, the journal of what was where,
 * finding the migration that KubeVirt creates for it, and the way back: one reverse patch as long as the destinations
 * are not the good copy, the destinations kept afterwards. The patches themselves are made in driver_patch.c. In
 * dispatch, with the context lock held.
 */
#include "kubernetes/driver_internal.h"

#include <errno.h>
#include <stdlib.h>

#define PATCH_TYPE "application/json-patch+json"
#define TRIES 5 /* patches that meet a VM which somebody else has just changed */
#define CHANGE_VOLUMES "point the VM's volumes at their destinations"

bool kvmig__kube_moves_volumes(const struct kvmig__kube_driver *d)
{
    return d->volumes.moves.n > 0;
}

static void clear_moves(struct kvmig__kube_volumes_journal *journal)
{
    for (size_t i = 0; i < journal->moves.n; i++) {
        struct kvmig__kube_move *move = &journal->moves.v[i];

        free(move->volume);
        free(move->from);
        free(move->to);
        free(move->before);
        free(move->template_before);
    }
    free(journal->moves.v);
    journal->moves.v = NULL;
    journal->moves.n = 0;
}

void kvmig__kube_volumes_clear(struct kvmig__kube_volumes_journal *journal)
{
    clear_moves(journal);
    kvmig__strlist_clear(&journal->seen);
    free(journal->strategy_before);
    free(journal->patch);
    journal->strategy_before = journal->patch = NULL;
}

static void set_outcome(struct kvmig__kube_driver *d, const char *outcome)
{
    for (size_t i = 0; d->volumes.item != KVMIG__NO_ITEM && i < d->volumes.moves.n; i++)
        kvmig__kube_ledger_set(d, d->volumes.item + i, outcome);
}

static void set_state(struct kvmig__kube_driver *d, int32_t state)
{
    d->volumes.state = state;
    set_outcome(d, state == KVMIG__VOLUMES_AS_BEFORE ? "undone" : state == KVMIG__VOLUMES_PATCHING ? NULL : "kept");
    kvmig__kube_checkpoint(d);
}

void kvmig__kube_volumes_ledger(struct kvmig__kube_driver *d)
{
    for (size_t i = 0; i < d->volumes.moves.n; i++) {
        const struct kvmig__kube_move *move = &d->volumes.moves.v[i];
        char *name = kvmig__asprintf("%s: %s -> %s", move->volume, move->from, move->to);
        const size_t item = kvmig__kube_ledger_add(d, "volume change", name);

        if (i == 0)
            d->volumes.item = item;
        free(name);
    }
}

/* ---- requests ---- */

static char *vm_path(const struct kvmig__kube_driver *d, const char *query)
{
    char *base = kvmig__kube_path(KVMIG__KUBE_VM, d->ns, d->vmi), *path = kvmig__asprintf("%s%s", base, query);

    free(base);
    return path;
}

static void get_vm(struct kvmig__kube_driver *d, struct kvmig__errand *errand, kvmig__errand_fn done)
{
    kvmig__errand_go(errand, "GET", vm_path(d, ""), NULL, NULL, d->limits.step_ms, done);
}

/* patch is taken */
static void send_patch(struct kvmig__kube_driver *d, struct kvmig__errand *errand, struct json_object *patch,
                       kvmig__errand_fn done)
{
    kvmig__errand_go(errand, "PATCH", vm_path(d, ""), kvmig__json_take_string(patch), PATCH_TYPE, d->limits.step_ms,
                     done);
}

static void learn(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vm = kvmig__answer_object(answer, KVMIG__KUBE_VM);

    if (vm)
        kvmig__kube_backend_learn(d->backend, vm);
    json_object_put(vm);
}

/* A test of the patch did not hold: the VM is not any more what the patch was made from. */
static bool met_a_change(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    return (answer->status == 409 || answer->status == 422) && ++d->volumes.tries < TRIES;
}

/* ---- forth ---- */

static void patched(struct kvmig__kube_driver *d)
{
    set_state(d, KVMIG__VOLUMES_MOVED);
    kvmig__log(d->context, KVMIG_LOG_INFO, "kubernetes", "%s: patched the volumes of VM %s/%s",
               kvmig__session_id(d->session), d->ns, d->vmi);
    kvmig__kube_following(d);
}

static void vm_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer);

static void patch_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    if (!answer->error) {
        learn(d, answer);
        patched(d);
    } else if (met_a_change(d, answer)) {
        get_vm(d, &d->act, vm_read); /* it may also be that it is in force, and its answer was lost */
    } else {
        kvmig__kube_fail_soon(
            d, kvmig__kube_denied_error(d, answer, CHANGE_VOLUMES, "patch", "virtualmachines.kubevirt.io"));
    }
}

void kvmig__kube_volumes_change(struct kvmig__kube_driver *d)
{
    if (d->volumes.item == KVMIG__NO_ITEM)
        kvmig__kube_volumes_ledger(d);
    d->admit = KVMIG__ADMIT_POSTING;
    set_state(d, KVMIG__VOLUMES_PATCHING);
    kvmig__errand_go(&d->act, "PATCH", vm_path(d, ""), kvmig__strdup(d->volumes.patch), PATCH_TYPE, d->limits.step_ms,
                     patch_done);
}

static void dry_run_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    if (d->back.wanted) {
        kvmig__kube_fail_soon(d, kvmig__kube_cancelled_error(d));
    } else if (answer->error && met_a_change(d, answer)) {
        get_vm(d, &d->act, vm_read);
    } else if (answer->error) {
        kvmig__kube_fail_soon(
            d, kvmig__kube_denied_error(d, answer, CHANGE_VOLUMES, "patch", "virtualmachines.kubevirt.io"));
    } else if ((d->wishes->flags & KVMIG_SESSION_TEMPORARY_POLICY) && !d->policy.wanted) {
        kvmig__kube_policy_make(d);
    } else {
        kvmig__kube_volumes_change(d);
    }
}

/* Whether a DataVolume stands behind each destination: 1, 0, -1 = not known. Owned. */
static int32_t *destination_kinds(const struct kvmig__kube_driver *d)
{
    const struct kvmig__request *request = &d->plan->request;
    int32_t *kinds = kvmig__calloc(request->volume_changes.n + 1, sizeof(*kinds));

    for (size_t i = 0; i < request->volume_changes.n; i++) {
        const struct kvmig__kube_pvc *pvc =
            KVMIG__KUBE_FIND(kvmig__kube_store(d), PVC, d->ns, request->volume_changes.v[i].claim);

        kinds[i] = pvc ? 0 : -1;
        for (size_t k = 0; pvc && k < pvc->meta.owners.n; k++)
            if (kvmig__str_eq(pvc->meta.owners.v[k].kind, "DataVolume"))
                kinds[i] = 1;
    }
    return kinds;
}

static bool has_condition(struct json_object *vm, const char *type)
{
    struct json_object *conditions = kvmig__json_at(vm, "status.conditions");

    for (size_t i = 0; json_object_is_type(conditions, json_type_array) && i < json_object_array_length(conditions);
         i++) {
        struct json_object *condition = json_object_array_get_idx(conditions, i);

        if (kvmig__str_eq(kvmig__json_text(condition, "type"), type))
            return kvmig__str_eq(kvmig__json_text(condition, "status"), "True");
    }
    return false;
}

static void make_patch(struct kvmig__kube_driver *d, struct json_object *vm)
{
    const struct kvmig__request *request = &d->plan->request;
    int32_t *kinds = destination_kinds(d);
    struct kvmig_error *error;
    struct json_object *patch;

    clear_moves(&d->volumes);
    d->volumes.restart_before = has_condition(vm, "RestartRequired");
    patch = kvmig__volumes_patch(vm, request->volume_changes.v, request->volume_changes.n, kinds, &d->volumes, &error);
    free(kinds);
    if (!patch) {
        clear_moves(&d->volumes);
        kvmig__kube_fail_soon(d, error);
        return;
    }
    free(d->volumes.patch);
    d->volumes.patch = kvmig__json_take_string(patch);
    kvmig__errand_go(&d->act, "PATCH", vm_path(d, "?dryRun=All"), kvmig__strdup(d->volumes.patch), PATCH_TYPE,
                     d->limits.step_ms, dry_run_done);
}

static void vm_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vm = kvmig__answer_object(answer, KVMIG__KUBE_VM);

    if (!vm) {
        kvmig__kube_fail_soon(
            d, answer->error ? kvmig__kube_denied_error(d, answer, "read the VM", "get", "virtualmachines.kubevirt.io")
                             : kvmig__error_new(EBADMSG, "kvmig_session", NULL, NULL, "the answer is no VM"));
    } else if (d->volumes.state != KVMIG__VOLUMES_AS_BEFORE && kvmig__volumes_are_at(vm, &d->volumes, true)) {
        patched(d);
    } else if (d->resumed) {
        set_state(d, KVMIG__VOLUMES_AS_BEFORE);
        kvmig__kube_fail_soon(d,
                              kvmig__error_new(ENOENT, "kvmig_session_resume", d->mark, "Start a new session.",
                                               "the VM does not name the destinations: the session ended before it had "
                                               "patched it, or it was patched back"));
    } else {
        make_patch(d, vm);
    }
    json_object_put(vm);
}

static void note_seen(struct kvmig__kube_driver *d)
{
    const struct kvmig__kube *kube = kvmig__kube_store(d);
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);

    if (vmi && vmi->migration.uid) /* its VMIM may be gone */
        kvmig__strlist_add_new(&d->volumes.seen, vmi->migration.uid);
    KVMIG__KUBE_EACH(kube, VMIM, vmim)
    {
        if (kvmig__str_eq(vmim->meta.ns, d->ns) && kvmig__str_eq(vmim->vmi, d->vmi) && vmim->meta.uid)
            kvmig__strlist_add_new(&d->volumes.seen, vmim->meta.uid);
    }
}

void kvmig__kube_volumes_admit(struct kvmig__kube_driver *d)
{
    if (!d->resumed)
        note_seen(d);
    get_vm(d, &d->act, vm_read);
}

/* ---- waiting for KubeVirt's migration ---- */

static const struct kvmig__kube_vm *our_vm(const struct kvmig__kube_driver *d)
{
    return KVMIG__KUBE_FIND(kvmig__kube_store(d), VM, d->ns, d->vmi);
}

static bool is_being_moved(const struct kvmig__kube_vmi *vmi, const struct kvmig__kube_move *move)
{
    for (size_t i = 0; i < vmi->migrated_volumes.n; i++) {
        const struct kvmig__kube_migrated_volume *volume = &vmi->migrated_volumes.v[i];

        if (kvmig__str_eq(volume->name, move->volume) && kvmig__str_eq(volume->source.claim, move->from) &&
            kvmig__str_eq(volume->destination.claim, move->to))
            return true;
    }
    return false;
}

/* Whatever migrates the VM moves our volumes, and these to where they are to go. */
static bool are_being_moved(const struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);

    for (size_t i = 0; vmi && i < d->volumes.moves.n; i++)
        if (!is_being_moved(vmi, &d->volumes.moves.v[i]))
            return false;
    return vmi != NULL;
}

/* KubeVirt updates workloads for other reasons too, and others migrate: their migrations do not move the volumes. */
static bool is_candidate(const struct kvmig__kube_driver *d, const struct kvmig__kube_vmim *vmim)
{
    return kvmig__str_eq(vmim->meta.ns, d->ns) && kvmig__str_eq(vmim->vmi, d->vmi) && vmim->meta.uid &&
           !kvmig__strlist_has(&d->volumes.seen, vmim->meta.uid) &&
           (kvmig__pairs_get(&vmim->meta.labels, KVMIG__VOLUME_MIGRATION) ||
            (kvmig__pairs_get(&vmim->meta.annotations, "kubevirt.io/workloadUpdateMigration") && are_being_moved(d)));
}

/* The first one since the patch. A later one is a retry: by then this session has counted the change as failed. */
static void find_migration(struct kvmig__kube_driver *d)
{
    const struct kvmig__kube *kube = kvmig__kube_store(d);
    const struct kvmig__kube_vmim *first = NULL;

    KVMIG__KUBE_EACH(kube, VMIM, vmim)
    {
        if (is_candidate(d, vmim) && (!first || vmim->meta.created_ms < first->meta.created_ms))
            first = vmim;
    }
    if (!first)
        return;
    kvmig__kube_bind(d, first->meta.name, first->meta.uid);
    kvmig__kube_checkpoint(d);
    kvmig__kube_look_soon(d);
}

struct kvmig_error *kvmig__kube_volumes_look(struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vm *vm = our_vm(d);
    const struct kvmig__kube_condition *restart = vm ? kvmig__kube_condition(&vm->conditions, "RestartRequired") : NULL;
    struct kvmig_error *error = NULL;

    if (!d->vmim)
        find_migration(d);
    if (!d->vmim && restart && kvmig__str_eq(restart->status, "True") && !d->volumes.restart_before) {
        char *where = kvmig__asprintf("vm/%s/%s", d->ns, d->vmi);

        error = kvmig__error_new(
            KVMIG_EBLOCKED, where, restart->message,
            "See which volume cannot be moved while the VM runs; without the way back the next boot would "
            "use the destinations, which hold nothing yet.",
            "KubeVirt will not move the volumes while the VM runs (RestartRequired), so the VM is put back");
        free(where);
    }
    return error;
}

/* ---- back ---- */

/* answer NULL: it is not the server that refuses. */
static void back_trouble(struct kvmig__kube_driver *d, const struct kvmig__answer *answer, struct kvmig_error *error)
{
    for (size_t i = 0; d->volumes.item != KVMIG__NO_ITEM && i < d->volumes.moves.n; i++)
        kvmig__kube_ledger_failed(d, d->volumes.item + i, error);
    kvmig__kube_back_trouble(d, answer, error);
}

static void read_trouble(struct kvmig__kube_driver *d, const struct kvmig__answer *answer, const char *what,
                         const char *resource)
{
    if (answer->error)
        back_trouble(d, answer, kvmig__kube_denied_error(d, answer, what, "get", resource));
    else
        back_trouble(d, answer,
                     kvmig__error_new(EBADMSG, "kvmig_session", NULL, NULL, "could not %s: the answer is none", what));
}

static void revert_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer);

static void reverted(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    if (!answer->error) {
        learn(d, answer);
        set_state(d, KVMIG__VOLUMES_AS_BEFORE);
    } else if (met_a_change(d, answer)) {
        get_vm(d, &d->back_errand, revert_read);
    } else {
        back_trouble(
            d, answer,
            kvmig__kube_denied_error(d, answer, "put the VM's volumes back", "patch", "virtualmachines.kubevirt.io"));
    }
}

static void revert_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vm = kvmig__answer_object(answer, KVMIG__KUBE_VM), *patch;
    struct kvmig_error *error = NULL;

    patch = vm ? kvmig__volumes_reverse_patch(vm, &d->volumes, &error) : NULL;
    if (patch)
        send_patch(d, &d->back_errand, patch, reverted);
    else if (error)
        back_trouble(d, NULL, error);
    else if (vm || kvmig__answer_absent(answer, KVMIG__KUBE_VM, d->vmi)) /* a VM that is gone needs nothing */
        set_state(d, KVMIG__VOLUMES_AS_BEFORE);
    else
        read_trouble(d, answer, "read the VM", "virtualmachines.kubevirt.io");
    json_object_put(vm);
}

static bool destination_is_good(const struct kvmig__kube_driver *d)
{
    return d->volumes.ready_ms || d->follow.domain_ready_ms;
}

/* Since when the destination is the good copy, by a fresh reading of the VMI; 0 = it is not. The migration may be a
 * later one than ours: KubeVirt tries again by itself. */
static int64_t good_since(const struct kvmig__kube_driver *d, const struct kvmig__kube_vmi *vmi)
{
    const struct kvmig__kube_migration_state *now = &vmi->migration;

    if (!kvmig__str_eq(vmi->meta.uid, d->vmi_uid) || !now->uid || kvmig__strlist_has(&d->volumes.seen, now->uid))
        return 0; /* not the guest, or a migration that was before */
    if (now->domain_ready_ms)
        return now->domain_ready_ms;
    return vmi->node && kvmig__str_eq(vmi->node, now->target_node) && !kvmig__str_eq(vmi->node, d->follow.source_node)
               ? kvmig__wall_ms()
               : 0;
}

/* What is known may be old. A VMI that is gone is no obstacle: what was known last holds. */
static void guest_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct kvmig__kube_vmi *vmi = kvmig__kube_fresh_vmi(d, answer);

    if (vmi)
        d->volumes.ready_ms = good_since(d, vmi);
    if (vmi && d->volumes.ready_ms)
        kvmig__kube_checkpoint(d);
    else if (vmi || kvmig__answer_absent(answer, KVMIG__KUBE_VMI, d->vmi))
        get_vm(d, &d->back_errand, revert_read);
    else
        read_trouble(d, answer, "read the VMI", "virtualmachineinstances.kubevirt.io");
    kvmig__kube_object_free(vmi ? &vmi->meta : NULL);
}

void kvmig__kube_volumes_revert(struct kvmig__kube_driver *d)
{
    if (d->volumes.state == KVMIG__VOLUMES_AS_BEFORE || d->volumes.state == KVMIG__VOLUMES_KEPT ||
        destination_is_good(d) || (d->admit == KVMIG__ADMIT_POSTING && d->step == KVMIG__STEP_ADMIT))
        return;
    d->volumes.tries = 0;
    kvmig__errand_go(&d->back_errand, "GET", kvmig__kube_path(KVMIG__KUBE_VMI, d->ns, d->vmi), NULL, NULL,
                     d->limits.step_ms, guest_read);
}

bool kvmig__kube_volumes_settled(const struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);

    if (d->volumes.state != KVMIG__VOLUMES_AS_BEFORE && d->volumes.state != KVMIG__VOLUMES_KEPT)
        return false;
    return !vmi || (!vmi->migrated_volumes.n && !kvmig__kube_condition_is(&vmi->conditions, "VolumesChange", "True"));
}

/* ---- a VM that was interrupted in the middle ---- */

static void kept(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    if (answer->error && met_a_change(d, answer))
        return; /* asked for again by the next look */
    if (answer->error) {
        back_trouble(
            d, answer,
            kvmig__kube_denied_error(d, answer, "keep the destinations", "patch", "virtualmachines.kubevirt.io"));
        return;
    }
    learn(d, answer);
    set_state(d, KVMIG__VOLUMES_KEPT);
}

static void keep_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vm = kvmig__answer_object(answer, KVMIG__KUBE_VM), *patch;

    patch = vm ? kvmig__volumes_strategy_patch(vm, NULL) : NULL;
    if (patch)
        send_patch(d, &d->back_errand, patch, kept);
    else if (vm)
        set_state(d, KVMIG__VOLUMES_KEPT);
    else
        read_trouble(d, answer, "read the VM", "virtualmachines.kubevirt.io");
    json_object_put(vm);
}

static void say_recovery(struct kvmig__kube_driver *d)
{
    if (d->volumes.recovering)
        return;
    d->volumes.recovering = true;
    kvmig__kube_remark(
        d, "MANUAL_RECOVERY_REQUIRED", KVMIG_SEVERITY_WARN, NULL, NULL,
        destination_is_good(d)
            ? "the VM was interrupted after its destinations had become the good copy: they are kept"
            : "the VM was interrupted before its destinations had become the good copy: its volumes are put "
              "back to the sources");
}

bool kvmig__kube_volumes_recover(struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vm *vm = our_vm(d);

    if (!kvmig__kube_moves_volumes(d) || !vm || d->back.failed ||
        !kvmig__kube_condition_is(&vm->conditions, "ManualRecoveryRequired", "True"))
        return false;
    say_recovery(d);
    if (kvmig__errand_busy(&d->back_errand) || kvmig__now_ms() < d->back.again_ms ||
        d->volumes.state == KVMIG__VOLUMES_AS_BEFORE || d->volumes.state == KVMIG__VOLUMES_KEPT)
        return true;
    if (destination_is_good(d))
        get_vm(d, &d->back_errand, keep_read);
    else
        kvmig__kube_volumes_revert(d);
    return true;
}

/* ---- the strategy ---- */

static void strategy_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    if (answer->error && met_a_change(d, answer))
        return;
    if (answer->error && !kvmig__answer_is_refusal(answer) && !kvmig__answer_absent(answer, KVMIG__KUBE_VM, d->vmi)) {
        kvmig__errand_pause(&d->act); /* tried again until its time is over */
        return;
    }
    if (kvmig__answer_is_refusal(answer))
        kvmig__kube_leftover(d, kvmig__kube_denied_error(d, answer, "restore updateVolumesStrategy of the VM", "patch",
                                                         "virtualmachines.kubevirt.io"));
    d->volumes.strategy_restored = true;
}

static void strategy_read(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vm = kvmig__answer_object(answer, KVMIG__KUBE_VM), *patch;

    patch = vm ? kvmig__volumes_strategy_patch(vm, d->volumes.strategy_before) : NULL;
    if (patch)
        send_patch(d, &d->act, patch, strategy_done);
    else if (vm || answer->error)
        strategy_done(d, answer);
    else
        kvmig__errand_pause(&d->act);
    json_object_put(vm);
}

bool kvmig__kube_volumes_restore_strategy(struct kvmig__kube_driver *d)
{
    if (d->volumes.strategy_restored || d->volumes.item == KVMIG__NO_ITEM || d->volumes.state == KVMIG__VOLUMES_KEPT)
        return true;
    if (!kvmig__errand_busy(&d->act))
        get_vm(d, &d->act, strategy_read);
    return false;
}
