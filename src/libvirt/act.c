/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The actions of the state resolver on one host: resume, destroy, suspend. Does not: decide whether it is allowed (whoever
 * asks has just looked), remove definitions or disks. A domain that is already as wanted is a success, so that an action may
 * be repeated. Blocks; runs on a lane.
 */
#include "libvirt/host_internal.h"
#include "libvirt/side.h"

#include <errno.h>
#include <libvirt/virterror.h>

static bool is_running(virDomainPtr domain)
{
    int state;

    return virDomainGetState(domain, &state, NULL, 0) == 0 && kvmig__virt_domain_state(state) == KVMIG__STATE_RUNNING;
}

static bool is_gone(void)
{
    return virGetLastErrorCode() == VIR_ERR_NO_DOMAIN;
}

static struct kvmig_error *resume(virDomainPtr domain, const char *label)
{
    struct kvmig_error *error;

    if (virDomainResume(domain) == 0)
        return NULL;
    error = kvmig__virt_error(label, "virDomainResume", NULL);
    if (is_running(domain)) {
        kvmig__error_free(error);
        return NULL;
    }
    return error;
}

/* Without VIR_DOMAIN_DESTROY_GRACEFUL: a guest that does not end by itself is killed. */
static struct kvmig_error *destroy(virDomainPtr domain, const char *label)
{
    struct kvmig_error *error;

    if (virDomainDestroyFlags(domain, 0) == 0 || is_gone())
        return NULL;
    error = kvmig__virt_error(label, "virDomainDestroyFlags", NULL);
    if (virDomainIsActive(domain) == 0 || is_gone()) {
        kvmig__error_free(error);
        return NULL;
    }
    return error;
}

static struct kvmig_error *suspend(virDomainPtr domain, const char *label)
{
    struct kvmig_error *error;
    int state;

    if (virDomainSuspend(domain) == 0 || is_gone())
        return NULL;
    error = kvmig__virt_error(label, "virDomainSuspend", NULL);
    if ((virDomainGetState(domain, &state, NULL, 0) == 0 &&
         (state == VIR_DOMAIN_PAUSED || state == VIR_DOMAIN_SHUTOFF)) ||
        is_gone()) {
        kvmig__error_free(error);
        return NULL;
    }
    return error;
}

struct kvmig_error *kvmig__virt_act(virConnectPtr conn, const char *label, const char *vm, int32_t action)
{
    const bool resumes = action == KVMIG_ACTION_RESUME_SOURCE || action == KVMIG_ACTION_RESUME_TARGET;
    virDomainPtr domain = kvmig__virt_lookup(conn, vm);
    struct kvmig_error *error;

    if (!domain) {
        if (!resumes && is_gone())
            return NULL; /* nothing to destroy or to stop */
        return kvmig__virt_error(label, "looking up the domain", NULL);
    }
    switch (action) {
    case KVMIG_ACTION_RESUME_SOURCE:
    case KVMIG_ACTION_RESUME_TARGET:
        error = resume(domain, label);
        break;
    case KVMIG_ACTION_DESTROY_SOURCE:
    case KVMIG_ACTION_DESTROY_TARGET:
        error = destroy(domain, label);
        break;
    case KVMIG_ACTION_SUSPEND_BOTH:
        error = suspend(domain, label);
        break;
    default:
        error = kvmig__error_new(-EINVAL, label, NULL, NULL, "%s is no action that a host can take",
                                 kvmig_location_action_name(action));
        break;
    }
    virDomainFree(domain);
    return error;
}
