/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Asks the libvirt of the nodes, where the caller gave a view of them, once the platform has said where the guest is, and lets
 * the session go on with whichever answer is proven (witness.h). The API can lag behind the guest, or have lost it; the hosts cannot.
 * In dispatch, with the context lock held. A witness owns itself until it has answered, and holds the session meanwhile; one
 * that the session does not wait for any more says nothing.
 */
#include "session/session_internal.h"

#include "cluster/kube.h"
#include "session/locator.h"
#include "session/witness.h"

#include <stdlib.h>
#include <string.h>

#define READ_MS 5000 /* for one answer of one host */
#define AGAIN_MS 1000
#define ASK_MS 15000 /* while the hosts show a guest that is between them */
#define ROUND_MS (3 * READ_MS) /* target, source, target again */

struct kvmig__witness {
    struct kvmig_session *session; /* held */
    struct kvmig__timer again;
    struct kvmig_cluster *view; /* held: the session lets go of its node_hosts before */
    struct kvmig__cluster_host *hosts[2]; /* of the view */
    char *domain; /* UUID or name */
    int64_t by_ms;
    struct kvmig__resolution platform; /* its proof is the one below */
    char *proof;
    struct kvmig__side sides[2]; /* as the platform told them */
};

static void witness_free(struct kvmig__witness *witness)
{
    struct kvmig_session *session = witness->session;
    struct kvmig_cluster *view = witness->view;

    if (session->witness == witness)
        session->witness = NULL;
    kvmig__timer_disarm(&witness->again);
    for (size_t i = 0; i < 2; i++)
        kvmig__side_clear(&witness->sides[i]);
    free(witness->domain);
    free(witness->proof);
    free(witness);
    kvmig__session_release(session);
    kvmig__cluster_release(view);
}

static bool is_waited_for(const struct kvmig__witness *witness)
{
    return witness->session->witness == witness && witness->session->awaited == KVMIG__STEP_LOCATE;
}

static const char *name_of(const struct kvmig_session *session, int32_t side)
{
    return side < 0 ? session->plan->source : side > 0 ? session->plan->target : "an unknown node";
}

static void say_disagreement(const struct kvmig__witness *witness, const struct kvmig__resolution *hosts)
{
    struct kvmig_session *session = witness->session;
    const int32_t told = witness->platform.decided ? witness->platform.side : 0;

    kvmig__session_say_finding(
        session, "NODE_HOSTS_DISAGREE", KVMIG_SEVERITY_WARN, name_of(session, hosts->side), hosts->proof,
        "Compare the VMI's status.nodeName with virsh list on both nodes; what the hosts show is "
        "what runs.",
        "the API says that the guest is on %s, and the hosts do not agree", name_of(session, told));
}

static void testify(struct kvmig__witness *witness, const struct kvmig__resolution *hosts,
                    const struct kvmig__side *source, const struct kvmig__side *target)
{
    struct kvmig_session *session = witness->session;
    const enum kvmig__testimony testimony = kvmig__testimony_of(&witness->platform, hosts, source, target);
    struct kvmig__resolution doubt = *hosts;

    kvmig__str_set(&session->report->final_hosts, kvmig__testimony_name(testimony));
    if (testimony == KVMIG__TESTIMONY_NONE || testimony == KVMIG__TESTIMONY_AGREES) {
        kvmig__session_judge(session, &witness->platform, &witness->sides[0], &witness->sides[1]);
        return;
    }
    say_disagreement(witness, hosts);
    if (testimony == KVMIG__TESTIMONY_DOUBTS)
        doubt.decided = false;
    kvmig__session_judge(session, &doubt, source, target);
}

/* A guest that is between the hosts arrives on one of them. */
static bool may_change(const struct kvmig__witness *witness, const struct kvmig__resolution *hosts,
                       const struct kvmig__side *source, const struct kvmig__side *target)
{
    return !hosts->decided && source->reachable && target->reachable && kvmig__now_ms() < witness->by_ms;
}

static void on_located(void *owner, const struct kvmig__resolution *resolution, const char *uuid,
                       const struct kvmig__side *source, const struct kvmig__side *target)
{
    struct kvmig__witness *witness = owner;

    (void)uuid;
    if (is_waited_for(witness) && may_change(witness, resolution, source, target)) {
        kvmig__timer_arm_in(&witness->again, AGAIN_MS);
        return;
    }
    if (is_waited_for(witness)) {
        witness->session->awaited = KVMIG__NO_STEP;
        witness->session->witness = NULL;
        testify(witness, resolution, source, target);
    }
    witness_free(witness);
}

static void ask(void *owner)
{
    struct kvmig__witness *witness = owner;

    if (is_waited_for(witness))
        kvmig__locate(witness->hosts[0], witness->hosts[1], witness->domain, READ_MS, on_located, witness);
    else
        witness_free(witness);
}

/* KubeVirt's name of the domain is made of those of the VMI; its UUID is the firmware's, where the VMI says it. Owned. */
static char *domain_of(const struct kvmig_session *session)
{
    const struct kvmig__kube *kube = kvmig__cluster_kube(session->cluster);
    const char *slash = strchr(session->plan->vm, '/');
    char *ns = slash ? kvmig__strndup(session->plan->vm, (size_t)(slash - session->plan->vm)) : NULL;
    const struct kvmig__kube_vmi *vmi = ns ? KVMIG__KUBE_FIND(kube, VMI, ns, slash + 1) : NULL;
    char *domain = vmi && vmi->domain.firmware_uuid ? kvmig__strdup(vmi->domain.firmware_uuid)
                   : ns                             ? kvmig__asprintf("%s_%s", ns, slash + 1)
                                                    : kvmig__strdup(session->plan->vm);

    free(ns);
    return domain;
}

bool kvmig__session_ask_witness(struct kvmig_session *session, const struct kvmig__resolution *resolution,
                                const struct kvmig__side *source, const struct kvmig__side *target)
{
    struct kvmig_cluster *view = session->node_hosts;
    struct kvmig__cluster_host *from = view ? kvmig__cluster_find_host(view, session->plan->source) : NULL;
    struct kvmig__cluster_host *to =
        view && session->plan->target ? kvmig__cluster_find_host(view, session->plan->target) : NULL;
    struct kvmig__witness *witness;

    if (!from || !to || from == to)
        return false;
    witness = kvmig__calloc(1, sizeof(*witness));
    *witness =
        (struct kvmig__witness){ .session = session, .view = view, .hosts = { from, to }, .platform = *resolution };
    witness->by_ms = kvmig__now_ms() + ASK_MS;
    witness->proof = kvmig__strdup(resolution->proof);
    witness->platform.proof = witness->proof;
    kvmig__side_copy(&witness->sides[0], source);
    kvmig__side_copy(&witness->sides[1], target);
    witness->domain = domain_of(session);
    kvmig__timer_init(&witness->again, session->context, ask, witness);
    kvmig__session_hold(session);
    kvmig__cluster_hold(view);
    session->witness = witness;
    kvmig__timer_arm_in(&session->deadline, ASK_MS + 2 * ROUND_MS);
    ask(witness);
    return true;
}
