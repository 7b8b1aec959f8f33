/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The VM's logical ports in OVN: do they say what its place and its migration say? Which port is the VM's, and which names mean one
 * chassis, is the planner's knowledge (plan/facts_*.c). Advice always names the host where the guest is proven to run, and never an
 * empty one. Pure.
 */
#include "diagnose/diagnose.h"
#include "plan/facts_checks.h"

#include <stdlib.h>
#include <string.h>

struct look {
    struct kvmig__case *c;
    const struct kvmig__wires *wires;
    const struct kvmig__fact_lsp *lsp;
    struct kvmig__strlist chassis; /* requested, each once */
    const char *requested, *strategy;
    const char *home; /* the node where the port belongs while nothing moves; NULL = not known */
    const struct kvmig__move *move; /* that is under way and explains the port; NULL */
};

static bool names(const struct look *look, const char *node)
{
    for (size_t i = 0; i < look->chassis.n; i++)
        if (kvmig__same_host(look->wires, look->chassis.v[i], node) != KVMIG__SAME_NO)
            return true;
    return false;
}

static char *object_of(const struct look *look)
{
    return kvmig__asprintf("lsp/%s", look->lsp->name);
}

/* ---- while a migration is under way ---- */

static bool has_id(const struct kvmig__fact_interface *interface, const char *name)
{
    return kvmig__str_eq(kvmig__fact_get(&interface->external_ids, "iface-id"), name);
}

/* The target's interface is there, and OVN has not installed it; or its network is said to fail. */
static bool target_waits(const struct look *look, const struct kvmig__move *move)
{
    const struct kvmig__facts *facts = look->c->facts;

    if (kvmig__findings_has(&look->c->findings, "TARGET_NETWORK_NOT_READY") ||
        kvmig__findings_has(&look->c->findings, "DEADLOCK_NETWORK_PENDING"))
        return true;
    for (size_t i = 0; i < facts->interfaces.n; i++) {
        const struct kvmig__fact_interface *interface = &facts->interfaces.v[i];

        if (has_id(interface, look->lsp->name) && kvmig__host_names_match(interface->node, move->target) &&
            !kvmig__str_eq(kvmig__fact_get(&interface->external_ids, "ovn-installed"), "true"))
            return true;
    }
    return false;
}

static void not_extended(const struct look *look, const struct kvmig__move *move)
{
    const char *source = move->source ? move->source : look->home;
    struct kvmig__detail detail = { 0 };
    char *pair = kvmig__asprintf("%s,%s", source ? source : "", move->target);

    kvmig__detail_str(&detail, "missing", move->target);
    kvmig__detail_str(&detail, "requested-chassis", look->requested);
    kvmig__case_note(look->c, "LSP_NOT_EXTENDED", KVMIG_SEVERITY_ERROR, object_of(look), &detail,
                     "Name both hosts in requested-chassis, the source first; doing it again does no harm.",
                     "The target on %s waits for its network, and the port does not list that host.", move->target);
    if (source) {
        detail = (struct kvmig__detail){ 0 };
        kvmig__detail_str(&detail, "requested-chassis", pair);
        kvmig__case_act(look->c, "SET_REQUESTED_CHASSIS", object_of(look), &detail, "Set requested-chassis to %s.",
                        pair);
    }
    free(pair);
}

/* A migration whose target waits for a port that does not list it; NULL if none. */
static const struct kvmig__move *unserved(const struct look *look)
{
    for (size_t i = 0; i < look->wires->moves.n; i++) {
        const struct kvmig__move *move = &look->wires->moves.v[i];

        if (move->target && !names(look, move->target) && target_waits(look, move))
            return move;
    }
    return NULL;
}

/* One host by two names or twice counts once; it is worth a word. */
static void twice(const struct look *look)
{
    size_t entries = 0;
    struct kvmig__detail detail = { 0 };

    for (const char *p = look->requested; p && *p; p += strcspn(p, ","), p += *p ? 1 : 0)
        entries += p[strspn(p, " ")] && p[strspn(p, " ")] != ',' ? 1 : 0;
    if (entries <= look->chassis.n)
        return;
    kvmig__detail_str(&detail, "requested-chassis", look->requested);
    kvmig__case_note(look->c, "DUPLICATE_CHASSIS", KVMIG_SEVERITY_INFO, object_of(look), &detail, NULL,
                     "requested-chassis names one chassis more than once; it counts as one.");
}

static void while_moving(const struct look *look)
{
    struct kvmig__detail detail = { 0 };

    if (look->chassis.n > 2) {
        kvmig__detail_list(&detail, "chassis", &look->chassis);
        kvmig__case_note(look->c, "UNEXPECTED_CHASSIS_COUNT", KVMIG_SEVERITY_WARN, object_of(look), &detail,
                         "Leave the source and the target alone in the list.",
                         "The port lists %zu chassis; a migration has two.", look->chassis.n);
    } else if (look->chassis.n == 2 && !look->strategy) {
        kvmig__detail_str(&detail, "requested-chassis", look->requested);
        kvmig__case_note(look->c, "ACTIVATION_STRATEGY_MISSING", KVMIG_SEVERITY_WARN, object_of(look), &detail,
                         "Set activation-strategy to rarp, if this OVN knows it.",
                         "The port has two chassis and no activation-strategy: packets may reach both sides.");
    }
}

/* ---- otherwise ---- */

static void set_chassis(const struct look *look, const char *value, const char *why)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, "requested-chassis", value);
    kvmig__case_act(look->c, "SET_REQUESTED_CHASSIS", object_of(look), &detail,
                    "Set requested-chassis to %s, %s; leave the other options alone.", value, why);
}

static void put_right(const struct look *look)
{
    const struct kvmig__move *move = look->wires->moves.n ? &look->wires->moves.v[0] : NULL;
    const bool right =
        look->chassis.n == 1 && kvmig__same_host(look->wires, look->chassis.v[0], look->home) != KVMIG__SAME_NO;
    char *pair;

    if (move && (!move->source || !move->target)) /* what it will want is not known yet */
        return;
    if (move) {
        pair = kvmig__asprintf("%s,%s", move->source, move->target);
        set_chassis(look, pair, "the hosts of the migration that is under way");
        free(pair);
        return;
    }
    if (!look->home || !*look->home)
        return;
    if (!right)
        set_chassis(look, look->home, "where the VM runs");
    if (look->strategy)
        kvmig__case_act(look->c, "CLEAR_ACTIVATION_STRATEGY", object_of(look), NULL,
                        "Remove activation-strategy from the port.");
}

/* A session of kvmig has prepared it. Whether that one still lives, a diagnosis cannot tell: only its owner writes here. */
static const char *owner_of(const struct look *look)
{
    const char *owner = kvmig__fact_get(&look->lsp->external_ids, "kvmig-owner");

    return owner && *owner ? owner : NULL;
}

static void owned(const struct look *look, const char *owner)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, "owner", owner);
    if (look->requested)
        kvmig__detail_str(&detail, "requested-chassis", look->requested);
    kvmig__case_note(look->c, "STALE_LSP_OPTIONS", KVMIG_SEVERITY_WARN, object_of(look), &detail,
                     "If that session is gone, clean up with kvmig port gc, which leaves living ones alone.",
                     "The port has the options of a migration, and the owner token of a kvmig session.");
}

static void stale(const struct look *look)
{
    struct kvmig__detail detail = { 0 };

    if (owner_of(look)) {
        owned(look, owner_of(look));
        return;
    }

    if (look->requested)
        kvmig__detail_str(&detail, "requested-chassis", look->requested);
    if (look->strategy)
        kvmig__detail_str(&detail, "activation-strategy", look->strategy);
    kvmig__case_note(look->c, "STALE_LSP_OPTIONS", KVMIG_SEVERITY_ERROR, object_of(look), &detail,
                     "Set requested-chassis to the host where the guest runs, and remove activation-strategy.",
                     "The port has the options of a migration, and none of the VM between these hosts is under way.");
    put_right(look);
}

static void wrong_place(const struct look *look, const char *have, const char *how)
{
    struct kvmig__detail detail = { 0 };

    if (!have || !*have || !look->home || owner_of(look) ||
        kvmig__same_host(look->wires, have, look->home) != KVMIG__SAME_NO ||
        kvmig__findings_has(&look->c->findings, "LSP_WRONG_CHASSIS"))
        return;
    kvmig__detail_str(&detail, "have", have);
    kvmig__detail_str(&detail, "want", look->home);
    kvmig__case_note(look->c, "LSP_WRONG_CHASSIS", KVMIG_SEVERITY_ERROR, object_of(look), &detail,
                     "Set requested-chassis to the host where the VM runs.",
                     "The port is %s %s, it belongs to %s, and no migration explains it.", how, have, look->home);
    put_right(look);
}

static void at_rest(const struct look *look)
{
    const struct kvmig__facts *facts = look->c->facts;

    if (look->chassis.n > 1 || look->strategy) {
        if (look->wires->moves_known || look->wires->pods_known)
            stale(look);
        return;
    }
    if (!look->wires->moves_known && !look->wires->pods_known)
        return;
    if (look->wires->moves.n == 0)
        kvmig__diagnose_groups(look->c, look->wires, look->lsp);
    wrong_place(look, look->chassis.n ? look->chassis.v[0] : NULL, "pinned to");
    for (size_t i = 0; i < facts->bindings.n; i++)
        if (kvmig__str_eq(facts->bindings.v[i].logical_port, look->lsp->name) &&
            (!kvmig__is_uuid(facts->bindings.v[i].chassis ? facts->bindings.v[i].chassis : "") || facts->chassis_known))
            wrong_place(look, facts->bindings.v[i].chassis, "bound to");
}

/* A migration that these chassis belong to, or whose hosts are not all known yet. */
static const struct kvmig__move *move_of(const struct look *look)
{
    const struct kvmig__wires *wires = look->wires;

    for (size_t i = 0; i < wires->moves.n; i++) {
        const struct kvmig__move *move = &wires->moves.v[i];

        if (look->chassis.n < 2 && !look->strategy)
            return move;
        if ((!move->source || names(look, move->source)) && (!move->target || names(look, move->target)))
            return move;
    }
    return NULL;
}

/* ---- one port ---- */

/* OVN-Kubernetes, and Kube-OVN where it does not keep addresses, give each launcher a port of its own, named after it. */
static const struct kvmig__kube_pod *launcher_of(const struct look *look)
{
    const struct kvmig__case *c = look->c;

    for (size_t i = 0; c->vmi && i < look->wires->pods.n; i++)
        if (strstr(look->lsp->name, look->wires->pods.v[i]))
            return KVMIG__KUBE_FIND(c->kube, POD, c->vmi->meta.ns, look->wires->pods.v[i]);
    return NULL;
}

/* At the switch the source's port is put down on purpose. */
static void disabled(const struct look *look)
{
    const char *runs_on = look->wires->source;
    struct kvmig__detail detail = { 0 };

    if (look->lsp->enabled != 0 || !runs_on || !look->home || !kvmig__host_names_match(look->home, runs_on) ||
        (look->wires->moves.n && look->c->follow.domain_ready_ms))
        return;
    kvmig__detail_str(&detail, "runs_on", runs_on);
    kvmig__case_note(look->c, "SOURCE_PORT_DISABLED", KVMIG_SEVERITY_ERROR, object_of(look), &detail,
                     "Set the column enabled of the port.",
                     "The VM runs on %s, and its port is administratively down: it has no network.", runs_on);
    kvmig__case_act(look->c, "ENABLE_PORT", object_of(look), NULL, "Enable the port.");
}

/* The port lists the target already: what the network waits for is not a later phase. */
static void no_circle(struct kvmig__case *c)
{
    for (size_t i = 0; i < c->findings.n; i++) {
        struct kvmig_finding *finding = &c->findings.v[i];

        if (!kvmig__str_eq(finding->code, "DEADLOCK_NETWORK_PENDING"))
            continue;
        kvmig__str_set(&finding->code, "TARGET_NETWORK_NOT_READY");
        kvmig__str_set(&finding->message, "the pod's network is not ready, although its port lists the target");
        kvmig__str_set(&finding->detail, NULL);
        kvmig__str_set(&finding->hint, "See the network plug-in on that node, and whether OVN claims the port there.");
    }
}

static void look_at(struct kvmig__case *c, const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp)
{
    struct look look = { .c = c, .wires = wires, .lsp = lsp, .home = wires->source };
    const struct kvmig__kube_pod *pod = launcher_of(&look);
    const struct kvmig__move *waiting;

    if (pod)
        look.home = pod->node;
    look.requested = kvmig__fact_get(&lsp->options, "requested-chassis");
    look.strategy = kvmig__fact_get(&lsp->options, "activation-strategy");
    if (look.strategy && !*look.strategy)
        look.strategy = NULL;
    kvmig__requested_chassis(wires, lsp, &look.chassis);
    look.move = move_of(&look);
    waiting = pod ? NULL : unserved(&look);
    twice(&look);
    disabled(&look);
    if (waiting)
        not_extended(&look, waiting);
    else if (look.move && look.move->target && names(&look, look.move->target))
        no_circle(c);
    if (look.move)
        while_moving(&look);
    else
        at_rest(&look);
    kvmig__strlist_clear(&look.chassis);
}

/* What the planner sees beside: addresses that two ports claim, and that the VM has no port. */
static void look_for_twins(struct kvmig__case *c, const struct kvmig__wires *wires)
{
    struct kvmig_findings seen = { .n = 0 };

    kvmig__check_ports(wires, &seen);
    for (size_t i = 0; i < seen.n; i++) {
        const bool missing = kvmig__str_eq(seen.v[i].code, "LSP_NOT_FOUND");

        if (!missing && !kvmig__str_eq(seen.v[i].code, "DUPLICATE_LSP_ADDRESS"))
            continue;
        kvmig__finding_copy(KVMIG__PUSH(&c->findings), &seen.v[i]);
        if (missing)
            c->findings.v[c->findings.n - 1].severity = KVMIG_SEVERITY_ERROR;
    }
    kvmig__findings_clear(&seen);
}

/* ---- whose ports ---- */

static const struct kvmig__host *host_of(const struct kvmig__case *c)
{
    for (size_t i = 0; i < c->view->hosts.n; i++) {
        const struct kvmig__host *host = c->view->hosts.v[i];

        if (host->domains.n && c->domain >= host->domains.v && c->domain < host->domains.v + host->domains.n)
            return host;
    }
    return NULL;
}

/* A file does not say whether a job runs: that is known by what was observed, or by how it ended. */
static void move_domain(const struct kvmig__case *c, struct kvmig__wires *wires)
{
    const int32_t job = kvmig__case_job(c);

    wires->moves.n = 0;
    wires->moves_known = job != 0 || c->strength >= KVMIG__KNOWN_TOLD;
    if (job > 0 || kvmig__str_eq(c->state, "POSTCOPY_ACTIVE") || kvmig__str_eq(c->state, "POSTCOPY_RECOVERING") ||
        kvmig__str_eq(c->state, "POSTCOPY_FAILED"))
        *KVMIG__PUSH(&wires->moves) = (struct kvmig__move){ c->source, c->target };
}

static void wire_domain(const struct kvmig__case *c, struct kvmig__wires *wires)
{
    struct kvmig__view view = *c->view;
    const struct kvmig__check check = {
        .view = &view, .request = &c->ask->plan, .source = host_of(c), .domain = c->domain
    };

    view.facts = c->facts;
    kvmig__wires_of_domain(wires, &check);
    move_domain(c, wires);
}

void kvmig__diagnose_ports(struct kvmig__case *c)
{
    const struct kvmig__kube_check check = { .kube = c->kube, .facts = c->facts, .vmi = c->vmi };
    struct kvmig__wires wires;

    if (!c->facts->lsps_known || (!c->vmi && (!c->domain || !host_of(c))))
        return;
    if (c->vmi)
        kvmig__wires_of_vmi(&wires, &check);
    else
        wire_domain(c, &wires);
    wires.source = kvmig__case_place(c);
    for (size_t i = 0; i < wires.ports.n; i++)
        look_at(c, &wires, wires.ports.v[i]);
    look_for_twins(c, &wires);
    kvmig__wires_clear(&wires);
}
