/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is wrong with the logical ports of one handle, as findings: whatever an operation would refuse or trip over,
 * told before it is asked for. Looks at facts only, and decides nothing. Pure; any thread.
 */
#include "port/ovn_port.h"

#include <stdlib.h>

static char *object_of(const char *name)
{
    return kvmig__asprintf("lsp/%s", name);
}

static char *options_detail(const struct kvmig__ovn_lsp *lsp)
{
    struct kvmig__detail detail = { NULL, 0 };

    kvmig__detail_str(&detail, "requested_chassis", lsp->requested_chassis);
    kvmig__detail_str(&detail, "activation_strategy", lsp->activation_strategy);
    kvmig__detail_str(&detail, "chassis", lsp->chassis);
    kvmig__detail_str(&detail, "owner", lsp->owner);
    return kvmig__detail_take(&detail);
}

struct saying {
    struct kvmig_findings *findings;
    const struct kvmig__ovn_lsp *lsp;
};

static void say(const struct saying *saying, const char *code, int32_t severity, const char *hint, const char *message)
{
    char *object = object_of(saying->lsp->name), *detail = options_detail(saying->lsp);

    kvmig__findings_add(saying->findings, code, severity, object, NULL, detail, hint, "%s", message);
    free(detail);
    free(object);
}

static void find_in_list(const struct saying *saying, const struct kvmig__strlist *names)
{
    struct kvmig__strlist unique = { 0 };

    for (size_t i = 0; i < names->n; i++)
        kvmig__strlist_add_new(&unique, names->v[i]);
    if (unique.n < names->n)
        say(saying, "DUPLICATE_CHASSIS", KVMIG_SEVERITY_INFO, NULL,
            "requested-chassis names one chassis twice, which counts as once");
    if (unique.n > 2)
        say(saying, "UNEXPECTED_CHASSIS_COUNT", KVMIG_SEVERITY_WARN,
            "A migration has two; find out who writes more into requested-chassis.",
            "requested-chassis names more than two chassis");
    kvmig__strlist_clear(&unique);
}

/* The port is pinned to one chassis and bound to another: whoever looks for the guest finds it in the wrong place. */
static bool is_astray(const struct kvmig__ovn_facts *facts, const struct kvmig__ovn_lsp *lsp,
                      const struct kvmig__strlist *names)
{
    const struct kvmig__ovn_chassis *pinned;

    if (names->n != 1 || !facts->sb.current || !lsp->chassis)
        return false;
    pinned = kvmig__ovn_chassis_find(facts, names->v[0], NULL);
    return pinned && !kvmig__str_eq(pinned->name, lsp->chassis);
}

/* Its owner has noted that it wants none. */
static bool is_open_on_purpose(const struct kvmig__ovn_lsp *lsp)
{
    struct kvmig__ovn_previous previous;
    bool open;

    kvmig__ovn_previous_read(lsp->previous, &previous);
    open = lsp->owner && kvmig__str_eq(previous.activation, "none");
    kvmig__ovn_previous_clear(&previous);
    return open;
}

static void find_in_port(const struct kvmig__ovn_facts *facts, const struct saying *saying)
{
    const struct kvmig__ovn_lsp *lsp = saying->lsp;
    struct kvmig__strlist names = { 0 };

    kvmig__ovn_list_split(lsp->requested_chassis, &names);
    find_in_list(saying, &names);
    if (!lsp->owner && (names.n > 1 || lsp->activation_strategy))
        say(saying, "STALE_LSP_OPTIONS", KVMIG_SEVERITY_WARN,
            "If no migration of the VM runs, kvmig_port_gc() leaves the port to the chassis where it runs.",
            "a pair of chassis or an activation strategy is left over, and no owner is written beside it");
    if (names.n > 1 && !lsp->activation_strategy && !is_open_on_purpose(lsp))
        say(saying, "ACTIVATION_STRATEGY_MISSING", KVMIG_SEVERITY_WARN, NULL,
            "the port has two chassis and no activation strategy: both may answer, and traffic be duplicated");
    if (is_astray(facts, lsp, &names))
        say(saying, "LSP_WRONG_CHASSIS", KVMIG_SEVERITY_WARN,
            "Wait if a migration has just ended; else look at ovn-controller on the chassis it is pinned to.",
            "the port is pinned to one chassis and bound to another");
    kvmig__strlist_clear(&names);
}

static void find_duplicate(const struct kvmig__ovn_iface *iface, const char *side, const struct saying *saying)
{
    char *object, *detail;
    struct kvmig__detail writer = { NULL, 0 };

    if (iface->rows < 2)
        return;
    object = object_of(saying->lsp->name);
    kvmig__detail_str(&writer, "interface", iface->name);
    kvmig__detail_uint(&writer, "interfaces", iface->rows);
    detail = kvmig__detail_take(&writer);
    kvmig__findings_add(saying->findings, "DUPLICATE_IFACE_ID", KVMIG_SEVERITY_WARN, object, NULL, detail,
                        "Find out which of them OVN has bound (ovn-appctl debug/dump-local-bindings) before one is "
                        "removed.",
                        "several interfaces on the %s have the port's iface-id", side);
    free(detail);
    free(object);
}

void kvmig__ovn_find(const struct kvmig__ovn_facts *facts, const char *name, struct kvmig_findings *findings)
{
    char *object = object_of(name);

    if (facts->nb.current && !facts->lsps.n)
        kvmig__findings_add(findings, "LSP_NOT_FOUND", KVMIG_SEVERITY_ERROR, object, NULL, NULL,
                            "Look whether the name is right: \"ovn-nbctl list Logical_Switch_Port\".",
                            "the northbound database has no logical switch port %s", name);
    if (facts->sb.current && !facts->has_additional)
        kvmig__findings_add(findings, "NO_MULTICHASSIS_SUPPORT", KVMIG_SEVERITY_WARN, object, NULL, NULL,
                            "OVN 22.06 or newer is needed.", "this OVN cannot have a port on two chassis");
    for (size_t i = 0; i < facts->lsps.n; i++) {
        const struct saying saying = { findings, &facts->lsps.v[i] };

        find_in_port(facts, &saying);
        find_duplicate(&facts->lsps.v[i].at_source, "source", &saying);
        find_duplicate(&facts->lsps.v[i].at_target, "target", &saying);
    }
    kvmig__findings_sort(findings);
    free(object);
}
