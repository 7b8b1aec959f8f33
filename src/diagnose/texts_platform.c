/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What Kubernetes and KubeVirt say: the scheduler, the kubelet, quotas, admission. Pure.
 */
#include "diagnose/diagnose.h"
#include "session/explain.h"

#include <stdlib.h>
#include <string.h>

/* "0/3 nodes are available: 1 node(s) ..., 3 node(s) ... preemption: ...": match stands at "nodes are available". */
static bool scheduler(struct kvmig__match *match)
{
    const char *begin = match->at, *stop = match->after;
    struct kvmig__pairs reasons = { 0 };
    uint32_t total = 0;
    char *text;

    while (begin > match->said->text && !strchr("\n \"'", begin[-1]))
        begin--;
    if (begin > match->said->text && begin[-1] == ' ') /* "0/3" before the blank */
        for (begin--; begin > match->said->text && !strchr("\n \"'", begin[-1]);)
            begin--;
    while (stop < match->end && *stop != '\n')
        stop++;
    text = kvmig__strndup(begin, (size_t)(stop - begin));
    if (kvmig__scheduler_message(text, &total, &reasons)) {
        kvmig__detail_uint(&match->detail, "nodes", total);
        for (size_t i = 0; i < reasons.n; i++)
            kvmig__detail_uint(&match->detail, reasons.v[i].key, strtoull(reasons.v[i].value, NULL, 10));
    }
    kvmig__pairs_clear(&reasons);
    free(text);
    return true;
}

static bool pulled(struct kvmig__match *match)
{
    return kvmig__match_quoted(match, "reference");
}

/* "Active migration job (UID) is currently already in progress" */
static bool job(struct kvmig__match *match)
{
    const char *open = memchr(match->after, '(', (size_t)(match->end - match->after));
    char *uid = open ? kvmig__words_word(open + 1, match->end) : NULL;

    kvmig__detail_str(&match->detail, "uid", uid);
    free(uid);
    return true;
}

/* "exceeded quota: NAME, requested: ..., used: ..., limited: ..." */
static bool quota(struct kvmig__match *match)
{
    char *name = kvmig__words_word(match->after, match->end);
    const char *stop = match->at;
    char *line;

    while (stop < match->end && *stop != '\n')
        stop++;
    line = kvmig__strndup(match->at, (size_t)(stop - match->at));
    kvmig__quota_detail(line, &match->detail);
    match->object = name ? kvmig__asprintf("resourcequota/%s", name) : NULL;
    free(line);
    free(name);
    return true;
}

#define E KVMIG_SEVERITY_ERROR

const struct kvmig__text_rule kvmig__texts_platform[] = {
    { "nodes are available", NULL, "TARGET_UNSCHEDULABLE", E, NULL, scheduler, "No node takes the target pod.",
      "The counts say how many nodes each reason excludes; mend the one that excludes the best node." },
    { "Failed to pull image ", NULL, "TARGET_IMAGE_PULL", E, NULL, pulled, "The target pod cannot pull an image.",
      "See whether the node can reach the registry and the reference exists." },
    { "Back-off pulling image ", NULL, "TARGET_IMAGE_PULL", E, NULL, pulled, "The target pod cannot pull an image.",
      "See whether the node can reach the registry and the reference exists." },
    { "no node is suitable to run the required CPU model", NULL, "TARGET_UNSCHEDULABLE", E, NULL, NULL,
      "No other node offers the host's CPU model and its features.",
      "Compare the nodes' labels (kvmig cpu common), or give the VM a named model that all of them can run." },
    { "failed to setup network for sandbox ", NULL, "TARGET_NETWORK_NOT_READY", E, NULL, NULL,
      "The CNI did not set up the network of a pod.", "Look at the CNI's own log on that node, and at the port." },
    { "in-flight migration detected", NULL, "MIGRATION_IN_PROGRESS", E, NULL, job,
      "Another migration of this VM is said to be under way.",
      "Wait for it; if there is no such migration, the VMI's migrationState is stale." },
    { "exceeded quota: ", NULL, "QUOTA_EXCEEDED", E, "resourcequota", quota,
      "The namespace's quota has no room for a second launcher.", "Raise the quota, or free what it counts." },
    { .pattern = NULL },
};
