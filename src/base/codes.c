/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of codes.def and look-ups in it, which go through all rows: few plans ask, and they ask about few codes. Pure; any
 * thread; nothing is owned.
 */
#include "base/codes.h"

#include <string.h>

enum {
    B = 1 << KVMIG_SEVERITY_BLOCKER,
    E = 1 << KVMIG_SEVERITY_ERROR,
    W = 1 << KVMIG_SEVERITY_WARN,
    I = 1 << KVMIG_SEVERITY_INFO,
};

static const struct kvmig__code codes[] = {
#define KVMIG__CODE(section, code, severities, how_severe, mend, about, evidence, meaning)                             \
    { #code, KVMIG__CODES_##section, severities, how_severe, KVMIG__MEND_##mend, about, evidence, meaning },
#include "base/codes.def"
#undef KVMIG__CODE
};

static const char *const sections[KVMIG__N_CODE_SECTIONS] = {
    [KVMIG__CODES_HOSTS] = "HOSTS",
    [KVMIG__CODES_VM] = "VM",
    [KVMIG__CODES_CPU] = "CPU",
    [KVMIG__CODES_DEVICES] = "DEVICES",
    [KVMIG__CODES_OBSERVED] = "OBSERVED",
    [KVMIG__CODES_STORAGE] = "STORAGE",
    [KVMIG__CODES_REQUEST] = "REQUEST",
    [KVMIG__CODES_SESSION] = "SESSION",
    [KVMIG__CODES_PORTS] = "PORTS",
    [KVMIG__CODES_KUBE_VM] = "KUBE_VM",
    [KVMIG__CODES_KUBE_NODES] = "KUBE_NODES",
    [KVMIG__CODES_KUBE_VOLUMES] = "KUBE_VOLUMES",
    [KVMIG__CODES_KUBE_MOVES] = "KUBE_MOVES",
    [KVMIG__CODES_EXPLAIN] = "EXPLAIN",
    [KVMIG__CODES_CAUSES] = "CAUSES",
    [KVMIG__CODES_EXPLAIN_VERDICTS] = "EXPLAIN_VERDICTS",
    [KVMIG__CODES_KUBE_NOTICES] = "KUBE_NOTICES",
    [KVMIG__CODES_PORT_JSON] = "PORT_JSON",
    [KVMIG__CODES_CLASSIFIER] = "CLASSIFIER",
    [KVMIG__CODES_PLAN_VERDICTS] = "PLAN_VERDICTS",
    [KVMIG__CODES_RESOLVER] = "RESOLVER",
    [KVMIG__CODES_ACTIONS] = "ACTIONS",
    [KVMIG__CODES_DIAGNOSE] = "DIAGNOSE",
    [KVMIG__CODES_DIAGNOSE_VERDICTS] = "DIAGNOSE_VERDICTS",
    [KVMIG__CODES_DIAGNOSE_ACTIONS] = "DIAGNOSE_ACTIONS",
};

const struct kvmig__code *kvmig__code_at(size_t index)
{
    return index < KVMIG__N_ELEMENTS(codes) ? &codes[index] : NULL;
}

const char *kvmig__code_section_name(enum kvmig__code_section section)
{
    return sections[section];
}

uint32_t kvmig__code_severities(const char *code)
{
    uint32_t severities = 0;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(codes); i++) {
        if (!strcmp(codes[i].code, code))
            severities |= codes[i].severities;
    }
    return severities;
}

enum kvmig__mend kvmig__code_mend(const char *code)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(codes); i++) {
        if (codes[i].mend != KVMIG__MEND_NONE && !strcmp(codes[i].code, code))
            return codes[i].mend;
    }
    return KVMIG__MEND_NONE;
}
