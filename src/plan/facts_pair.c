/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a logical port is told about its chassis: two of them, or an activation strategy, belong to a migration that is under way;
 * without one they are left over from an earlier one and the next is built on sand. One chassis must be where the VM runs. Pure; any
 * thread.
 */
#include "plan/facts_checks.h"

#include <stdlib.h>

static bool among(const struct kvmig__wires *wires, const struct kvmig__strlist *chassis, const char *node)
{
    for (size_t i = 0; i < chassis->n; i++) {
        if (kvmig__same_host(wires, chassis->v[i], node) != KVMIG__SAME_NO)
            return true;
    }
    return false;
}

/* A migration under way between just these; where its target is not known although its pod would be, it has none yet. */
static bool is_explained(const struct kvmig__wires *wires, const struct kvmig__strlist *chassis)
{
    for (size_t i = 0; i < wires->moves.n; i++) {
        const struct kvmig__move *move = &wires->moves.v[i];

        if ((!move->source || among(wires, chassis, move->source)) &&
            (move->target ? among(wires, chassis, move->target) : !wires->pods_known))
            return true;
    }
    return false;
}

static void note_stale(const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp, struct kvmig_findings *out)
{
    const char *requested = kvmig__fact_get(&lsp->options, "requested-chassis");
    const char *strategy = kvmig__fact_get(&lsp->options, "activation-strategy");
    struct kvmig__detail d = { 0 };

    if (requested)
        kvmig__detail_str(&d, "requested-chassis", requested);
    if (strategy)
        kvmig__detail_str(&d, "activation-strategy", strategy);
    if (wires->source)
        kvmig__detail_str(&d, "runs_on", wires->source);
    kvmig__wires_note(out, NULL, "STALE_LSP_OPTIONS", KVMIG_SEVERITY_WARN, kvmig__asprintf("lsp/%s", lsp->name), &d,
                      "Set requested-chassis to the host where the guest runs, and remove activation-strategy.",
                      "Port %s still has the options of a migration (%s), and %s.", lsp->name,
                      requested ? requested : strategy,
                      wires->moves_known ? "none of the VM between these hosts is under way"
                                         : "none of the VM between these hosts is seen");
}

/* Of a port that is told one chassis or none: where it is, and where it should be. */
static void check_place(const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp, const char *have,
                        const char *how, struct kvmig_findings *out)
{
    struct kvmig__strlist chassis = { 0 };
    struct kvmig__detail d = { 0 };

    if (!have || !*have || kvmig__same_host(wires, have, wires->source) != KVMIG__SAME_NO)
        return;
    kvmig__strlist_add(&chassis, have);
    for (size_t i = 0; i < wires->moves.n; i++) {
        if (!wires->moves.v[i].target || among(wires, &chassis, wires->moves.v[i].target))
            have = NULL; /* it goes there */
    }
    kvmig__strlist_clear(&chassis);
    if (!have || kvmig__findings_has(out, "LSP_WRONG_CHASSIS"))
        return;
    kvmig__detail_str(&d, "have", have);
    kvmig__detail_str(&d, "want", wires->source);
    kvmig__wires_note(out, NULL, "LSP_WRONG_CHASSIS", KVMIG_SEVERITY_WARN, kvmig__asprintf("lsp/%s", lsp->name), &d,
                      "Look whether the guest is reachable now; let the CNI set requested-chassis to the host where it "
                      "runs before it is moved.",
                      "Port %s is %s %s, but the VM runs on %s.", lsp->name, how, have, wires->source);
}

static void check_binding(const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp,
                          struct kvmig_findings *out)
{
    for (size_t i = 0; i < wires->facts->bindings.n; i++) {
        const struct kvmig__fact_binding *binding = &wires->facts->bindings.v[i];

        /* A UUID here is that of a row which was not given. */
        if (kvmig__str_eq(binding->logical_port, lsp->name) && binding->chassis &&
            (!kvmig__is_uuid(binding->chassis) || wires->facts->chassis_known))
            check_place(wires, lsp, binding->chassis, "bound to", out);
    }
}

void kvmig__check_port_options(const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp,
                               struct kvmig_findings *out)
{
    const char *strategy = kvmig__fact_get(&lsp->options, "activation-strategy");
    struct kvmig__strlist chassis = { 0 };

    kvmig__requested_chassis(wires, lsp, &chassis);
    if (chassis.n > 1 || (strategy && *strategy)) {
        if (!is_explained(wires, &chassis))
            note_stale(wires, lsp, out);
    } else {
        check_place(wires, lsp, chassis.n ? chassis.v[0] : NULL, "pinned to", out);
        check_binding(wires, lsp, out);
    }
    kvmig__strlist_clear(&chassis);
}
