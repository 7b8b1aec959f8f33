/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A volume migration that was interrupted: which claims hold the good copy is told by whether the target's domain had become ready
 * (kubevirt.md 5; KubeVirt's VM controller). Where that is not known nothing is advised. Pure.
 */
#include "diagnose/diagnose.h"

#include <string.h>

static const struct kvmig__kube_vm *vm_of(const struct kvmig__case *c)
{
    const char *slash = c->vm ? strchr(c->vm, '/') : NULL;

    KVMIG__KUBE_EACH(c->kube, VM, vm)
    {
        if (!c->vm || kvmig__str_eq(vm->meta.name, c->vm))
            return vm;
        if (slash && kvmig__str_eq(vm->meta.name, slash + 1) &&
            (!vm->meta.ns || slash == c->vm ||
             (strlen(vm->meta.ns) == (size_t)(slash - c->vm) && kvmig__str_starts(c->vm, vm->meta.ns))))
            return vm;
    }
    return NULL;
}

static void point_at(struct kvmig__case *c, const struct kvmig__kube_migrated_volume *volume, bool switched)
{
    struct kvmig__detail detail = { 0 };
    const char *claim = switched ? volume->destination.claim : volume->source.claim;

    kvmig__detail_str(&detail, "volume", volume->name);
    kvmig__detail_str(&detail, "claim", claim);
    kvmig__case_act(c, switched ? "KEEP_TARGET_VOLUMES" : "REVERT_VOLUMES", kvmig__asprintf("volume/%s", volume->name),
                    &detail, switched ? "Keep volume %s on claim %s." : "Point volume %s back to claim %s.",
                    volume->name, claim ? claim : "?");
}

static void manual_recovery(struct kvmig__case *c, const struct kvmig__kube_vm *vm)
{
    const bool known = c->vmim && c->vmim->state.present && kvmig__vmim_is_final(c->vmim);
    const bool switched = known && c->vmim->state.domain_ready_ms;
    struct kvmig__strlist names = { 0 };
    struct kvmig__detail detail = { 0 };

    for (size_t i = 0; i < vm->migrated_volumes.n; i++)
        kvmig__strlist_add(&names, vm->migrated_volumes.v[i].name);
    kvmig__detail_list(&detail, "volumes", &names);
    kvmig__strlist_clear(&names);
    kvmig__case_note(c, "MANUAL_RECOVERY_REQUIRED", KVMIG_SEVERITY_ERROR, kvmig__strdup(c->vm_object), &detail,
                     "Do not start the VM before it is decided which claims hold the good copy.",
                     "A volume migration was interrupted: %s.",
                     !known     ? "whether the target had become ready is not known"
                     : switched ? "the target had become ready, so the destination claims hold the good copy"
                                : "the target never became ready, so the source claims hold the good copy");
    for (size_t i = 0; known && i < vm->migrated_volumes.n; i++)
        point_at(c, &vm->migrated_volumes.v[i], switched);
}

void kvmig__diagnose_volumes(struct kvmig__case *c)
{
    const struct kvmig__kube_vm *vm = c->kube ? vm_of(c) : NULL;
    const struct kvmig__kube_condition *condition =
        vm ? kvmig__kube_condition(&vm->conditions, "ManualRecoveryRequired") : NULL;

    if (condition && kvmig__str_eq(condition->status, "True"))
        manual_recovery(c, vm);
}
