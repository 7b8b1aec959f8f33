/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Quotas of the VM's namespace: a migration needs a second launcher for as long as it takes, and KubeVirt waits without limit where
 * the quota has no room for it. Exactly full fits. Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

/* A launcher runs until its guest ends and asks for resources: it is neither Terminating nor BestEffort. Other scopes cannot be
 * judged from what is known of the pod. */
static bool applies(const struct kvmig__kube_quota *quota)
{
    for (size_t i = 0; i < quota->scopes.n; i++) {
        if (strcmp(quota->scopes.v[i], "NotTerminating") != 0 && strcmp(quota->scopes.v[i], "NotBestEffort") != 0)
            return false;
    }
    return true;
}

static uint64_t pods_needed(const struct kvmig__kube_check *c)
{
    return kvmig__vmi_has_hotplug(c->vmi) ? 2000 : 1000; /* hotplugged volumes come with a pod of their own */
}

static uint64_t request_of(const struct kvmig__kube_check *c, const char *resource)
{
    const char *name = kvmig__after_prefix(resource, "limits.");

    if (!strcmp(resource, "persistentvolumeclaims") || !strcmp(resource, "count/persistentvolumeclaims"))
        return kvmig__kube_state_is_copied(c) ? 1000 : KVMIG__UNKNOWN;
    if (!strcmp(resource, "pods") || !strcmp(resource, "count/pods"))
        return pods_needed(c);
    if (name)
        return c->pod ? kvmig__kube_pod_limit(c->pod, name) : KVMIG__UNKNOWN;
    name = kvmig__after_prefix(resource, "requests.");
    if (name ? !strcmp(name, "storage") : strcmp(resource, "cpu") != 0 && strcmp(resource, "memory") != 0)
        return KVMIG__UNKNOWN; /* not about pods */
    return kvmig__kube_needs(c, name ? name : resource);
}

static void check_resource(const struct kvmig__kube_check *c, const struct kvmig__kube_quota *quota,
                           const struct kvmig__amount *hard)
{
    uint64_t used = kvmig__amounts_get(&quota->used, hard->name), need = request_of(c, hard->name), after;
    struct kvmig__detail d = { 0 };
    char *short_text;

    if (used == KVMIG__UNKNOWN || need == KVMIG__UNKNOWN)
        return;
    after = used > KVMIG__UNKNOWN - 1 - need ? KVMIG__UNKNOWN - 1 : used + need;
    if (after <= hard->milli)
        return;
    short_text = kvmig__amount_text(after - hard->milli);
    kvmig__detail_str(&d, "resource", hard->name);
    kvmig__detail_amount(&d, "request", need);
    kvmig__detail_amount(&d, "used", used);
    kvmig__detail_amount(&d, "hard", hard->milli);
    kvmig__detail_amount(&d, "shortfall", after - hard->milli);
    kvmig__kube_note(
        c, "QUOTA_EXCEEDED", KVMIG_SEVERITY_BLOCKER,
        kvmig__asprintf("resourcequota/%s/%s", quota->meta.ns ? quota->meta.ns : "default", quota->meta.name), &d,
        "Raise the quota for the time of the migration, or free some of it.",
        "The quota %s has no room for a second launcher: %s of %s are missing.", quota->meta.name, short_text,
        hard->name);
    free(short_text);
}

void kvmig__kube_check_quota(const struct kvmig__kube_check *c)
{
    KVMIG__KUBE_EACH(c->kube, QUOTA, quota)
    {
        if (!kvmig__str_eq(quota->meta.ns, c->vmi->meta.ns) || !applies(quota))
            continue;
        for (size_t i = 0; i < quota->hard.n; i++)
            check_resource(c, quota, &quota->hard.v[i]);
    }
}
