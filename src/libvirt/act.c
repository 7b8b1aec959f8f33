/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The actions of the state resolver on one host: resume, destroy, suspend. Does not: judge two sides (whoever asks has just
 * done so), remove definitions or disks. A domain that is already as wanted is a success, so that an action may be repeated.
 *
 * Between that judgement and the action, time may have passed: a host that hangs lets a call wait for minutes, and somebody
 * else may have acted meanwhile. So the domain's state is read again right before the action, and nothing is done that the
 * state forbids: a domain that runs is not destroyed, and only one that is paused with all its memory is resumed. The last
 * test of all, when no other call is left to wait for, is whether anybody still waits for the action: one that was given up
 * was told as "unknown", and the guest may have been started elsewhere since. What no test of ours reaches is a call that
 * the host has received and not begun.
 * Blocks; runs on the link's lane.
 */
#include "libvirt/link.h"
#include "libvirt/side.h"

#include <errno.h>
#include <libvirt/virterror.h>

enum need { NEED_ACT, NEED_NOTHING, NEED_REFUSED };

static bool is_gone(void)
{
    return virGetLastErrorCode() == VIR_ERR_NO_DOMAIN;
}

/* ---- what the state says ---- */

/* Post-copy leaves the memory in two parts. libvirt lets such a guest run again by itself if it is recovered. */
static bool is_whole(int state, int reason)
{
    const int32_t ours = kvmig__virt_domain_reason(state, reason);

    return ours != KVMIG__REASON_POSTCOPY && ours != KVMIG__REASON_POSTCOPY_FAILED;
}

static enum need need_to_resume(int state, int reason)
{
    if (kvmig__virt_domain_state(state) == KVMIG__STATE_RUNNING)
        return NEED_NOTHING;
    return state == VIR_DOMAIN_PAUSED && is_whole(state, reason) ? NEED_ACT : NEED_REFUSED;
}

static enum need need_to_destroy(int state)
{
    if (state == VIR_DOMAIN_SHUTOFF)
        return NEED_NOTHING;
    return kvmig__virt_domain_state(state) == KVMIG__STATE_RUNNING ? NEED_REFUSED : NEED_ACT;
}

static enum need need_to_suspend(int state)
{
    return state == VIR_DOMAIN_PAUSED || state == VIR_DOMAIN_SHUTOFF ? NEED_NOTHING : NEED_ACT;
}

static enum need need_of(int32_t action, int state, int reason)
{
    switch (action) {
    case KVMIG_ACTION_RESUME_SOURCE:
    case KVMIG_ACTION_RESUME_TARGET:
        return need_to_resume(state, reason);
    case KVMIG_ACTION_DESTROY_SOURCE:
    case KVMIG_ACTION_DESTROY_TARGET:
        return need_to_destroy(state);
    default:
        return need_to_suspend(state);
    }
}

static struct kvmig_error *refusal(const char *host, int32_t action, int state, int reason)
{
    return kvmig__error_new(KVMIG_EREFUSED, host, NULL, "Ask again where the guest is (kvmig_cluster_locate).",
                            "%s is not done: the domain is %s (%s) now", kvmig_location_action_name(action),
                            kvmig__domain_state_name(kvmig__virt_domain_state(state)),
                            kvmig__domain_reason_name(kvmig__virt_domain_reason(state, reason)));
}

/* ---- the actions ---- */

/* Without VIR_DOMAIN_DESTROY_GRACEFUL: a QEMU that does not end by itself is killed. */
static struct kvmig_error *do_it(virDomainPtr domain, const char *host, int32_t action)
{
    switch (action) {
    case KVMIG_ACTION_RESUME_SOURCE:
    case KVMIG_ACTION_RESUME_TARGET:
        return virDomainResume(domain) == 0 ? NULL : kvmig__virt_error(host, "virDomainResume", NULL);
    case KVMIG_ACTION_DESTROY_SOURCE:
    case KVMIG_ACTION_DESTROY_TARGET:
        return virDomainDestroyFlags(domain, 0) == 0 ? NULL : kvmig__virt_error(host, "virDomainDestroyFlags", NULL);
    default:
        return virDomainSuspend(domain) == 0 ? NULL : kvmig__virt_error(host, "virDomainSuspend", NULL);
    }
}

static bool resumes(int32_t action)
{
    return action == KVMIG_ACTION_RESUME_SOURCE || action == KVMIG_ACTION_RESUME_TARGET;
}

/* After a failure: somebody else may have done it at the same time. */
static bool is_as_wanted(virDomainPtr domain, int32_t action)
{
    int state, reason;

    if (virDomainGetState(domain, &state, &reason, 0) < 0)
        return !resumes(action) && is_gone();
    return need_of(action, state, reason) == NEED_NOTHING;
}

static struct kvmig_error *act_on(struct kvmig__link *link, virDomainPtr domain, int32_t action)
{
    struct kvmig_error *error = NULL;
    int state, reason;

    if (virDomainGetState(domain, &state, &reason, 0) < 0)
        return !resumes(action) && is_gone() ? NULL : kvmig__virt_error(link->host, "virDomainGetState", NULL);
    switch (need_of(action, state, reason)) {
    case NEED_NOTHING:
        return NULL;
    case NEED_REFUSED:
        return refusal(link->host, action, state, reason);
    case NEED_ACT:
        break;
    }
    if (kvmig__link_is_given_up(link, &error))
        return error;
    error = do_it(domain, link->host, action);
    if (error && is_as_wanted(domain, action)) {
        kvmig__error_free(error);
        return NULL;
    }
    return error;
}

static bool is_known(int32_t action)
{
    return resumes(action) || action == KVMIG_ACTION_DESTROY_SOURCE || action == KVMIG_ACTION_DESTROY_TARGET ||
           action == KVMIG_ACTION_SUSPEND_BOTH;
}

struct kvmig_error *kvmig__virt_act(struct kvmig__link *link, const char *vm, int32_t action)
{
    struct kvmig_error *error = NULL;
    virConnectPtr conn;
    virDomainPtr domain;

    if (!is_known(action))
        return kvmig__error_new(EINVAL, link->host, NULL, NULL, "%s is no action that a host can take",
                                kvmig_location_action_name(action));
    conn = kvmig__link_open(link, &error);
    if (!conn)
        return error;
    domain = kvmig__virt_lookup(conn, vm);
    if (!domain) {
        if (!resumes(action) && is_gone())
            return NULL; /* nothing to destroy or to stop */
        return kvmig__virt_error(link->host, "looking up the domain", NULL);
    }
    error = act_on(link, domain, action);
    virDomainFree(domain);
    return error;
}
