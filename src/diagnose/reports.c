/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What kvmig itself put on record of the migration: its outcome, what stopped it, and what it noticed. A report is of the past: what both
 * sides show now outranks it. Its words are read like all others (texts.c). Pure.
 */
#include "base/codes.h"
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

/* The name may come with its namespace. */
static bool is_of(const struct kvmig__fact_report *report, const char *vm)
{
    const char *slash = report->vm ? strchr(report->vm, '/') : NULL;

    return !vm || kvmig__str_eq(report->vm, vm) || kvmig__str_eq(report->uuid, vm) ||
           (slash && kvmig__str_eq(slash + 1, vm));
}

const struct kvmig__fact_report *kvmig__report_of(const struct kvmig__case *c, const char *vm)
{
    const struct kvmig__fact_report *best = NULL;

    for (size_t i = 0; i < c->facts->reports.n; i++) {
        const struct kvmig__fact_report *report = &c->facts->reports.v[i];

        if (is_of(report, vm) && (!best || report->started_ms > best->started_ms))
            best = report;
    }
    return best;
}

/* ---- what it noticed ---- */

/* As it was said, but never the cause: that is for the texts, or for what others show. */
static void note(struct kvmig__case *c, const struct kvmig__fact_notice *notice)
{
    struct kvmig__detail detail = { 0 };

    if (!notice->code || !kvmig__code_severities(notice->code) || !notice->message ||
        (!kvmig__str_eq(notice->severity, "error") && !kvmig__str_eq(notice->severity, "warn")))
        return;
    kvmig__detail_str(&detail, "source", c->report->file);
    if (notice->evidence)
        kvmig__detail_str(&detail, "evidence", notice->evidence);
    kvmig__case_note(c, notice->code, KVMIG_SEVERITY_WARN,
                     kvmig__strdup(notice->object ? notice->object : c->vm_object), &detail, NULL, "%s",
                     notice->message);
}

static struct kvmig__detail detail_of(const char *file, const struct kvmig__fact_error *error)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, "source", file);
    if (error->where)
        kvmig__detail_str(&detail, "where", error->where);
    if (error->evidence)
        kvmig__detail_str(&detail, "evidence", error->evidence);
    return detail;
}

/* Errors of kvmig that say what happened to it, and not to the migration. object is taken. */
static void note_error(struct kvmig__case *c, const char *file, const struct kvmig__fact_error *error, char *object)
{
    const bool late = kvmig__str_eq(error->name, "ETIMEDOUT"), lost = kvmig__str_eq(error->name, "KVMIG_EUNREACHABLE");
    struct kvmig__detail detail;

    if (!late && !lost) {
        free(object);
        return;
    }
    detail = detail_of(file, error);
    kvmig__case_note(c, late ? "DEADLINE_PASSED" : "CONNECTION_LOST", KVMIG_SEVERITY_WARN, object, &detail,
                     late ? "Mend what did not answer in time, or give it more time."
                          : "See why the daemon ended or the network broke; what was going on is told by both hosts.",
                     "%s", error->message ? error->message : "the report does not say more");
}

/* ---- ports that were moved by hand ---- */

static void note_port(struct kvmig__case *c, const struct kvmig__fact_port_report *report)
{
    char *object = kvmig__asprintf("lsp/%s", report->name ? report->name : "");
    struct kvmig__detail detail = detail_of(report->file, &report->error);

    note_error(c, report->file, &report->error, kvmig__strdup(object));
    if (report->state)
        kvmig__detail_str(&detail, "state", report->state);
    /* Whose port it is, its account does not say: beside a VM it explains nothing by itself. */
    kvmig__case_note(c, "PORT_FAILED", c->vm ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_ERROR, object, &detail,
                     "Mend what the message names, and ask for the same again: every operation may be repeated.",
                     "An operation on the port failed: %s", report->error.message);
}

/* A port that has nothing to complain of says nothing of a migration. */
static void note_ports(struct kvmig__case *c)
{
    for (size_t i = 0; i < c->facts->port_reports.n; i++)
        if (c->facts->port_reports.v[i].error.name && c->facts->port_reports.v[i].error.message)
            note_port(c, &c->facts->port_reports.v[i]);
}

/* ---- how it ended ---- */

void kvmig__diagnose_report(struct kvmig__case *c)
{
    static const struct {
        const char *outcome, *state;
    } ends[] = { { "Succeeded", "SUCCEEDED" }, { "Failed", "FAILED" }, { "Cancelled", "CANCELLED" } };
    const struct kvmig__fact_report *report = c->report;

    note_ports(c);
    if (!report)
        return;
    c->unproven = kvmig__str_eq(report->outcome, "Indeterminate");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(ends); i++)
        if (kvmig__str_eq(report->outcome, ends[i].outcome))
            kvmig__case_state(c, KVMIG__KNOWN_ENDED, ends[i].state, "kvmig's report: %s",
                              report->error.message ? report->error.message : report->outcome);
    for (size_t i = 0; i < report->notices.n; i++)
        note(c, &report->notices.v[i]);
    note_error(c, report->file, &report->error, kvmig__strdup(c->vm_object));
}

/* What the report could not prove, and both sides do not show now either. */
void kvmig__diagnose_unproven(struct kvmig__case *c)
{
    static const char *const proofs[] = { "SPLIT_BRAIN", "VM_LOST", "POSTCOPY_FAILED", "FAILED_SOURCE_PAUSED" };
    const char *state = "UNDECIDED";

    if (!c->unproven || c->seen_both)
        return;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(proofs); i++)
        if (kvmig__str_eq(c->report->proven, proofs[i]))
            state = proofs[i];
    kvmig__case_state(c, KVMIG__KNOWN_PROVEN, state, "kvmig's report: %s",
                      c->report->error.message ? c->report->error.message : "it is not proven where the guest runs");
}
