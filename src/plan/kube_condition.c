/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * KubeVirt's own verdict on the VM (conditions LiveMigratable, StorageLiveMigratable) against what the checks found. Its admission
 * refuses what the condition denies, whatever the VM looks like; and the condition names one reason only, and is not renewed while
 * a migration runs. Runs after the other checks of the VM. Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CODES 3

/* What the checks call a reason. */
static const struct reason {
    const char *token;
    const char *codes[MAX_CODES];
} reasons[] = {
    { "DisksNotLiveMigratable", { "PVC_NOT_SHARED", "HOST_DISK_NOT_SHARED", "VOLUME_STATUS_MISSING" } },
    { "InterfaceNotLiveMigratable", { "POD_BRIDGE_BINDING", "NETWORK_BINDING_NOT_MIGRATABLE" } },
    { "CPUModeLiveMigratable", { "HOST_MODEL_MISSING" } }, /* it is KubeVirt's name that lacks the "Not" */
    { "HostDeviceNotLiveMigratable", { "HOSTDEV_NOT_MIGRATABLE" } },
    { "SEVNotLiveMigratable", { "GUEST_PROTECTION_NOT_MIGRATABLE" } },
    { "TDXNotLiveMigratable", { "GUEST_PROTECTION_NOT_MIGRATABLE" } },
    { "SecureExecutionNotLiveMigratable", { "GUEST_PROTECTION_NOT_MIGRATABLE" } },
    { "NoTSCFrequencyNotLiveMigratable", { "CPU_NON_MIGRATABLE_FLAG" } },
    { "HypervPassthroughNotLiveMigratable", { "HYPERV_PASSTHROUGH_NOT_MIGRATABLE" } },
    { "VirtIOFSNotLiveMigratable", { "VIRTIOFS_NOT_MIGRATABLE" } },
    { "PersistentReservationNotLiveMigratable", { "PERSISTENT_RESERVATION", "VOLUME_NOT_MOVABLE" } },
};

static bool is_explained(const struct kvmig__kube_check *c, const struct reason *reason)
{
    for (size_t i = 0; i < MAX_CODES && reason->codes[i]; i++) {
        if (kvmig__findings_has(c->out, reason->codes[i]))
            return true;
    }
    return false;
}

static const struct reason *find_reason(const char *token)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(reasons); i++) {
        if (kvmig__str_eq(reasons[i].token, token))
            return &reasons[i];
    }
    return NULL;
}

static void note_denied(const struct kvmig__kube_check *c, const struct kvmig__kube_condition *condition)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "condition", condition->type);
    kvmig__detail_str(&d, "reason", condition->reason);
    kvmig__detail_str(&d, "message", condition->message);
    kvmig__kube_note(c, "NOT_LIVE_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                     "KubeVirt refuses the migration as long as it says so.",
                     "KubeVirt says that the VM is not %s: %s.",
                     kvmig__str_eq(condition->type, "LiveMigratable") ? "live-migratable" : "movable with its storage",
                     condition->reason ? condition->reason : "no reason is given");
}

/* The claim that the message speaks of ("... PVC NAME is not shared ..."); owned. */
static char *claim_of_message(const char *message)
{
    const char *name = message ? strstr(message, "PVC ") : NULL;

    if (!name || !strstr(name, "not shared"))
        return NULL;
    name += strlen("PVC ");
    return kvmig__strndup(name, strcspn(name, " ,;:"));
}

static bool find_drive(const struct kvmig__kube_check *c, const char *claim, struct kvmig__kube_drive *out)
{
    for (size_t i = 0; i < c->vmi->volumes.n; i++) {
        kvmig__kube_drive(c, i, out);
        if (kvmig__str_eq(out->claim, claim))
            return true;
    }
    return false;
}

/* Whether the request takes the claim along, so that it need not be shared. */
static bool is_moved(const struct kvmig__kube_check *c, const char *claim)
{
    struct kvmig__kube_drive drive;

    return find_drive(c, claim, &drive) && drive.moves_to;
}

/* The claim is seen to be shared: then KubeVirt's verdict is older than the claim. */
static bool is_shared(const struct kvmig__kube_check *c, const char *claim)
{
    struct kvmig__kube_drive drive;

    return find_drive(c, claim, &drive) && drive.modes && kvmig__strlist_has(drive.modes, "ReadWriteMany");
}

/* The claims themselves were not to be seen, but KubeVirt has seen them. */
static void explain_disks(const struct kvmig__kube_check *c, const struct kvmig__kube_condition *condition)
{
    char *claim = claim_of_message(condition->message);
    struct kvmig__detail d = { 0 };

    if (claim && is_moved(c, claim)) {
        free(claim);
        return;
    }
    if (!claim || is_shared(c, claim)) {
        free(claim);
        if (c->request->volume_changes.n)
            return;
        if (c->vmi->volume_status.n)
            kvmig__kube_note_unobserved(c);
        if (!kvmig__findings_has(c->out, "VOLUME_STATUS_MISSING"))
            note_denied(c, condition);
        return;
    }
    kvmig__detail_str(&d, "claim", claim);
    kvmig__detail_str(&d, "reason", condition->reason);
    kvmig__kube_note(c, "PVC_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_claim(c, claim), &d,
                     "Move the volume to another claim along with the VM (volume migration), or use a ReadWriteMany "
                     "claim.",
                     "KubeVirt says that claim %s is not shared.", claim);
    free(claim);
}

static void explain(const struct kvmig__kube_check *c, const struct kvmig__kube_condition *condition)
{
    const struct reason *reason = find_reason(condition->reason);

    if (reason && is_explained(c, reason))
        return;
    if (kvmig__str_eq(condition->reason, "DisksNotLiveMigratable"))
        explain_disks(c, condition);
    else
        note_denied(c, condition);
}

/* StorageLiveMigratable lists all reasons in its message. */
static void explain_storage(const struct kvmig__kube_check *c, const struct kvmig__kube_condition *condition)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(reasons); i++) {
        if (condition->message && strstr(condition->message, reasons[i].token) && is_explained(c, &reasons[i]))
            return;
    }
    note_denied(c, condition);
}

/* KubeVirt takes care of invtsc when the VM starts, and does not look at it here. */
static bool is_beyond_condition(const struct kvmig__kube_check *c, const struct reason *reason)
{
    return !strcmp(reason->token, "NoTSCFrequencyNotLiveMigratable") &&
           !kvmig__strlist_has(&c->vmi->domain.hyperv, "reenlightenment");
}

/* The condition says yes; something that it covers says no. */
static void note_contradiction(const struct kvmig__kube_check *c, const struct kvmig__kube_condition *condition)
{
    struct kvmig__strlist tokens = { 0 };
    struct kvmig__detail d = { 0 };
    char *text;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(reasons); i++) {
        if (is_explained(c, &reasons[i]) && !is_beyond_condition(c, &reasons[i]) &&
            !kvmig__str_eq(reasons[i].token, "TDXNotLiveMigratable") &&
            !kvmig__str_eq(reasons[i].token, "SecureExecutionNotLiveMigratable")) /* these share a code with SEV */
            kvmig__strlist_add(&tokens, reasons[i].token);
    }
    if (tokens.n) {
        text = kvmig__strlist_join(&tokens, ", ");
        kvmig__detail_str(&d, "condition", condition->type);
        kvmig__detail_list(&d, "reasons", &tokens);
        kvmig__kube_note(c, "LIVE_MIGRATABLE_OUTDATED", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d, NULL,
                         "KubeVirt's condition %s still says True, against %s; its admission would let this pass.",
                         condition->type, text);
        free(text);
    }
    kvmig__strlist_clear(&tokens);
}

void kvmig__kube_check_condition(const struct kvmig__kube_check *c)
{
    bool moves = c->request->volume_changes.n;
    const struct kvmig__kube_condition *live = kvmig__kube_condition(&c->vmi->conditions, "LiveMigratable");
    const struct kvmig__kube_condition *storage = kvmig__kube_condition(&c->vmi->conditions, "StorageLiveMigratable");
    const struct kvmig__kube_condition *asked = moves && storage ? storage : live;

    if (!asked)
        return;
    if (kvmig__str_eq(asked->status, "False")) {
        if (asked == storage)
            explain_storage(c, asked);
        else
            explain(c, asked);
    } else if (kvmig__str_eq(asked->status, "True") && !moves) {
        note_contradiction(c, asked);
    }
}
