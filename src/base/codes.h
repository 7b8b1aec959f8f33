/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of all codes (codes.def): where each may be said, how severe it may be, and what kind of change takes a blocker
 * away. Pure, constant, any thread.
 */
#ifndef KVMIG_SRC_CODES_H
#define KVMIG_SRC_CODES_H

#include "base/base.h"
#include <kvmig/plan.h>

/* Where a code is said; the page has one table for each. */
enum kvmig__code_section {
    KVMIG__CODES_HOSTS,
    KVMIG__CODES_VM,
    KVMIG__CODES_CPU,
    KVMIG__CODES_DEVICES,
    KVMIG__CODES_OBSERVED,
    KVMIG__CODES_STORAGE,
    KVMIG__CODES_REQUEST,
    KVMIG__CODES_SESSION,
    KVMIG__CODES_PORTS,
    KVMIG__CODES_KUBE_VM,
    KVMIG__CODES_KUBE_NODES,
    KVMIG__CODES_KUBE_VOLUMES,
    KVMIG__CODES_KUBE_MOVES,
    KVMIG__CODES_EXPLAIN,
    KVMIG__CODES_CAUSES,
    KVMIG__CODES_EXPLAIN_VERDICTS,
    KVMIG__CODES_KUBE_NOTICES,
    KVMIG__CODES_PORT_JSON,
    KVMIG__CODES_CLASSIFIER,
    KVMIG__CODES_PLAN_VERDICTS,
    KVMIG__CODES_RESOLVER,
    KVMIG__CODES_ACTIONS,
    KVMIG__CODES_DIAGNOSE,
    KVMIG__CODES_DIAGNOSE_VERDICTS,
    KVMIG__CODES_DIAGNOSE_ACTIONS,
    KVMIG__N_CODE_SECTIONS,
};

/* enum kvmig_mend of kvmig/plan.h, and NONE for what is no blocker, or has nothing of its own to mend. */
enum kvmig__mend {
    KVMIG__MEND_NONE,
    KVMIG__MEND_REQUEST = KVMIG_MEND_REQUEST,
    KVMIG__MEND_WAIT = KVMIG_MEND_WAIT,
    KVMIG__MEND_VM = KVMIG_MEND_VM,
    KVMIG__MEND_TARGET = KVMIG_MEND_TARGET,
    KVMIG__MEND_CLUSTER = KVMIG_MEND_CLUSTER,
    KVMIG__MEND_ROOM = KVMIG_MEND_ROOM,
    KVMIG__MEND_STORAGE = KVMIG_MEND_STORAGE,
    KVMIG__MEND_RESTART = KVMIG_MEND_RESTART,
    KVMIG__MEND_UPGRADE = KVMIG_MEND_UPGRADE,
    KVMIG__MEND_NEVER = KVMIG_MEND_NEVER,
};

struct kvmig__code {
    const char *code;
    enum kvmig__code_section section;
    uint32_t severities; /* 1 << enum kvmig_severity, each that it may have; 0 for verdicts */
    const char *how_severe; /* for the page; "" = the severities' names */
    enum kvmig__mend mend;
    const char *about; /* kinds of the object, separated by blanks */
    const char *evidence; /* keys of the detail, separated by blanks */
    const char *meaning;
};

const struct kvmig__code *kvmig__code_at(size_t index); /* in the order of the table; NULL past the end */
const char *kvmig__code_section_name(enum kvmig__code_section section);
/* All severities that a code may have, wherever it is said; 0 if it is not in the table or a verdict only. */
uint32_t kvmig__code_severities(const char *code);
enum kvmig__mend kvmig__code_mend(const char *code); /* NONE if it is not in the table */

#endif
