/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which VM, and on which host? A VM can be in the view several times: it runs on one host, is coming in on another, is
 * defined and stopped on a third, and a host that does not answer still shows what it had. Pure; any thread; what is found is
 * borrowed from the view.
 */
#include "plan/locate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WHERE "planning a migration"

bool kvmig__domain_is_active(const struct kvmig__domain *domain)
{
    return domain->state != KVMIG__STATE_SHUTOFF && domain->state != KVMIG__STATE_ABSENT &&
           domain->state != KVMIG__STATE_CRASHED;
}

bool kvmig__domain_runs(const struct kvmig__domain *domain)
{
    return kvmig__domain_is_active(domain) && !domain->migrating_in;
}

/* The higher, the more it is the one that is meant. A host that does not answer may have lost it since. */
static int32_t rank(const struct kvmig__host *host, const struct kvmig__domain *domain)
{
    bool up = host->state == KVMIG__HOST_UP;

    if (kvmig__domain_is_active(domain))
        return (up ? 5 : 3) - (domain->migrating_in ? 1 : 0);
    return up ? 1 : 0;
}

static void add_place(struct kvmig__strlist *places, const struct kvmig__host *host, const struct kvmig__domain *domain)
{
    char *text = kvmig__asprintf("%s on %s (%s)", domain->uuid ? domain->uuid : domain->name, host->name,
                                 kvmig__domain_state_name(domain->state));

    kvmig__strlist_add(places, text);
    free(text);
}

static int32_t fail_ambiguous(const char *vm, const struct kvmig__strlist *places)
{
    char *evidence = kvmig__strlist_join(places, "; ");
    int32_t rc =
        kvmig__fail(kvmig__error_new(KVMIG_EAMBIGUOUS, WHERE, evidence,
                                     "Give source, or the UUID if they are different VMs. If one UUID runs twice, "
                                     "find out which is the right one first (kvmig_location).",
                                     "%s fits more than one domain of the view.", vm));

    free(evidence);
    return rc;
}

static int32_t fail_not_found(const struct kvmig__view *view, const char *vm)
{
    struct kvmig__strlist silent = { 0 };
    bool unread = false;
    char *names, *evidence = NULL;
    int32_t rc;

    for (size_t i = 0; i < view->hosts.n; i++) {
        const struct kvmig__host *host = view->hosts.v[i];

        unread = unread || host->state == KVMIG__HOST_CONNECTING;
        if (host->state != KVMIG__HOST_UP)
            kvmig__strlist_add(&silent, host->name);
    }
    if (silent.n) {
        names = kvmig__strlist_join(&silent, ", ");
        evidence =
            kvmig__asprintf("%s: %s", unread ? "not read yet, or without an answer" : "without an answer", names);
        free(names);
    }
    rc = kvmig__fail(kvmig__error_new(unread ? KVMIG_ENOTSYNCED : KVMIG_ENOVM, WHERE, evidence,
                                      unread ? "Wait for KVMIG_EVENT_CLUSTER_SYNCED."
                                             : "Check the name; kvmig_cluster_to_json() lists all VMs of the view.",
                                      "No host of the view has a VM %s.", vm));
    free(evidence);
    kvmig__strlist_clear(&silent);
    return rc;
}

static int32_t fail_no_host(const char *option, const char *name)
{
    char *where = kvmig__asprintf("%s, option %s", WHERE, option);
    int32_t rc = kvmig__fail(kvmig__error_new(KVMIG_ENOHOST, where, NULL,
                                              "Use a host name or URI as kvmig_cluster_to_json() lists them.",
                                              "No host of the view is called %s.", name));

    free(where);
    return rc;
}

/* On the host that the caller names. */
static int32_t locate_on_source(const struct kvmig__view *view, const struct kvmig__request *request,
                                struct kvmig__located *out)
{
    out->source = kvmig__view_find_host(view, request->source);
    if (!out->source)
        return fail_no_host("source", request->source);
    out->domain = kvmig__host_find_domain(out->source, request->vm);
    if (out->domain)
        return 0;
    if (out->source->state == KVMIG__HOST_CONNECTING)
        return fail_not_found(view, request->vm);
    return kvmig__fail(kvmig__error_new(KVMIG_ENOVM, WHERE, NULL,
                                        "Leave source unset to have the VM found, or check its name.",
                                        "Host %s has no VM %s.", out->source->name, request->vm));
}

static int32_t locate_anywhere(const struct kvmig__view *view, const struct kvmig__request *request,
                               struct kvmig__located *out)
{
    struct kvmig__strlist places = { 0 };
    int32_t best = -1, rc = 0;

    for (size_t i = 0; i < view->hosts.n; i++) {
        const struct kvmig__host *host = view->hosts.v[i];
        const struct kvmig__domain *domain = kvmig__host_find_domain(host, request->vm);

        if (!domain || rank(host, domain) < best)
            continue;
        if (rank(host, domain) > best) {
            best = rank(host, domain);
            *out = (struct kvmig__located){ host, domain };
            kvmig__strlist_clear(&places);
        }
        add_place(&places, host, domain);
    }
    if (places.n > 1)
        rc = fail_ambiguous(request->vm, &places);
    else if (!out->domain)
        rc = fail_not_found(view, request->vm);
    kvmig__strlist_clear(&places);
    return rc;
}

int32_t kvmig__locate_vm(const struct kvmig__view *view, const struct kvmig__request *request,
                         struct kvmig__located *out)
{
    *out = (struct kvmig__located){ 0 };
    return request->source ? locate_on_source(view, request, out) : locate_anywhere(view, request, out);
}

int32_t kvmig__locate_target(const struct kvmig__view *view, const struct kvmig__request *request,
                             const struct kvmig__host **out)
{
    *out = NULL;
    if (!request->target)
        return 0;
    *out = kvmig__view_find_host(view, request->target);
    return *out ? 0 : fail_no_host("target", request->target);
}

bool kvmig__host_is_named(const struct kvmig__host *host, const struct kvmig__strlist *names)
{
    return names->n && (kvmig__strlist_has(names, host->name) || (host->uri && kvmig__strlist_has(names, host->uri)) ||
                        (host->uuid && kvmig__strlist_has(names, host->uuid)));
}

int32_t kvmig__locate_excluded(const struct kvmig__view *view, const struct kvmig__request *request,
                               const struct kvmig__host *asked)
{
    for (size_t i = 0; i < request->exclude.n; i++) {
        const struct kvmig__host *host = kvmig__view_find_host(view, request->exclude.v[i]);

        if (!host)
            return fail_no_host("exclude", request->exclude.v[i]);
        if (host == asked)
            return kvmig__fail(kvmig__error_new(EINVAL, WHERE ", option exclude", NULL,
                                                "Name another target, or do not exclude it.",
                                                "Host %s is asked for as the target, and excluded.", host->name));
    }
    return 0;
}

const struct kvmig__host *kvmig__locate_twin(const struct kvmig__view *view, const struct kvmig__located *vm)
{
    for (size_t i = 0; i < view->hosts.n; i++) {
        const struct kvmig__host *host = view->hosts.v[i];

        if (host == vm->source || host->state != KVMIG__HOST_LOST)
            continue;
        for (size_t d = 0; d < host->domains.n; d++) {
            const struct kvmig__domain *twin = &host->domains.v[d];

            if (kvmig__domain_is_active(twin) && twin->uuid && vm->domain->uuid &&
                strcasecmp(twin->uuid, vm->domain->uuid) == 0)
                return host;
        }
    }
    return NULL;
}
