/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of the diagnosis. Pure: a view and a question go in, a diagnosis comes out; no lock, clock, I/O, XML or JSON library
 * (diagnosis_json.c alone writes a finished diagnosis with json-c). One file per kind of evidence; each adds findings, states and actions
 * to the case, and says nothing without evidence. diagnose.c runs them; verdict.c weighs what they found.
 */
#ifndef KVMIG_SRC_DIAGNOSE_H
#define KVMIG_SRC_DIAGNOSE_H

#include "base/finding_internal.h"
#include "cluster/facts.h"
#include "cluster/kube.h"
#include "cluster/model.h"
#include "kubernetes/follow.h"
#include "plan/plan_internal.h"
#include <kvmig/diagnose.h>

/* How sure a state is: of two, the stronger one is told; of equal ones the first. */
enum kvmig__strength {
    KVMIG__KNOWN_NONE,
    KVMIG__KNOWN_WAITING, /* something was asked for */
    KVMIG__KNOWN_RUNNING, /* a job runs */
    KVMIG__KNOWN_TOLD, /* a message or a record says how it ended */
    KVMIG__KNOWN_ENDED, /* a record says why it ended */
    KVMIG__KNOWN_PROVEN, /* by what is on both sides: outranks any cause */
};

struct kvmig__ask { /* a deep copy of struct kvmig_diagnose_opts */
    struct kvmig__request plan;
    char *migration, *node, *source_state, *target_state, *job;
    int32_t intent, migrate_rc, postcopy_started;
    double events_now_s;
    uint64_t progress_timeout_s;
    /* of a session (session/session_diagnose.c) */
    struct kvmig__strlist texts; /* what it was told */
    const char *told; /* a state or outcome that it knows; static or borrowed; NULL */
    enum kvmig__strength told_strength;
};

struct kvmig__moment {
    int64_t at_ms; /* since 1970; 0 = on the job's own clock */
    double offset_s; /* on that clock */
    char *source, *what; /* owned */
};
struct kvmig__moments {
    struct kvmig__moment *v;
    size_t n;
};

struct kvmig_diagnosis {
    uint32_t refs; /* atomic */
    char *verdict, *summary, *vm, *target;
    const char *avoid; /* static; "" = nothing */
    struct kvmig_findings findings, actions;
    struct kvmig__moments moments;
};

/* ---- texts: what somebody wrote, wherever it stands ---- */
struct kvmig__said {
    char *source; /* path of the file, or "kind/ns/name"; owned */
    char *object; /* what it is about, if that is known: "node/b"; NULL; owned */
    const char *text; /* borrowed */
    size_t length;
    bool of_object; /* from an object of the API, not from a file */
    bool is_past; /* of an earlier migration: counts as an attempt, and explains nothing */
    const char *migration; /* uid of the one that it tells of; NULL = not known */
};

/* How often one cause was told. */
struct kvmig__attempts {
    char *key; /* code, object and what was read out of the text; owned */
    const char *code; /* static */
    const struct kvmig__said *said; /* where it was told last; NULL = nowhere yet */
    const char *at;
    int64_t at_ms; /* 0 = not known */
    uint32_t here, most; /* in that text; in one text */
    struct { /* uids of those that objects tell of, each once; NULL = one that is not known */
        const char **v;
        size_t n;
    } migrations;
};
void kvmig__attempts_clear(struct kvmig__attempts *attempts);

struct kvmig__case {
    const struct kvmig__view *view;
    const struct kvmig__kube *kube; /* NULL = none */
    const struct kvmig__facts *facts; /* never NULL */
    const struct kvmig__ask *ask;
    int64_t now_ms; /* time of the question; 0 = not known */
    /* ---- what it is about (subject.c); all borrowed, NULL = not known ---- */
    const struct kvmig__kube_vmi *vmi;
    const struct kvmig__kube_vmim *vmim;
    const struct kvmig__domain *domain;
    const struct kvmig__fact_report *report; /* kvmig's own, the newest one of the VM */
    const char *source, *target; /* nodes */
    char *vm; /* "NS/NAME" or "NAME"; owned */
    char *vm_object; /* "vm/NS/NAME", or "vm" if it is not known; owned */
    struct {
        struct kvmig__said *v;
        size_t n;
    } said;
    struct kvmig__follow follow; /* of vmim, if there is a VMI too (kube.c) */
    /* ---- what was found ---- */
    struct kvmig_findings findings, actions;
    struct kvmig_findings claims; /* causes that texts tell, until the outcome is known (settle.c) */
    struct {
        struct kvmig__attempts *v;
        size_t n;
    } attempts;
    bool located; /* the source is seen to run the guest, and the target is not */
    bool lost_link; /* a client lost its connection: what became of the migration, it does not know */
    bool unproven; /* kvmig's report says that it could not be proven where the guest runs */
    bool seen_both; /* it is known what each side shows now */
    struct kvmig__moments moments;
    const char *state; /* a state or outcome; static; NULL = none is known */
    enum kvmig__strength strength;
    char *why; /* of the state, one line for people; owned */
};

/* Never NULL. ask is borrowed. The view must be synced. Fails with -KVMIG_ENOVM and -KVMIG_EAMBIGUOUS. (diagnose.c) */
int32_t kvmig__diagnose(const struct kvmig__view *view, const struct kvmig__ask *ask,
                        struct kvmig_diagnosis **out_diagnosis);
int32_t kvmig__ask_from_opts(struct kvmig__ask *ask, const struct kvmig_diagnose_opts *opts); /* ask.c */
void kvmig__ask_clear(struct kvmig__ask *ask);

/* ---- adding to a case (case.c) ---- take object and detail. A finding of the same code about the same object is there once: the
 * second time is passed over. */
void kvmig__case_note(struct kvmig__case *c, const char *code, int32_t severity, char *object,
                      struct kvmig__detail *detail, const char *hint, const char *message_fmt, ...) KVMIG__PRINTF(7, 8);
/* Moves others behind what was found, but for what is there already. */
void kvmig__case_merge(struct kvmig__case *c, struct kvmig_findings *others);
void kvmig__case_act(struct kvmig__case *c, const char *code, char *object, struct kvmig__detail *detail,
                     const char *message_fmt, ...) KVMIG__PRINTF(5, 6);
/* code: static. */
void kvmig__case_state(struct kvmig__case *c, enum kvmig__strength strength, const char *code, const char *why_fmt, ...)
    KVMIG__PRINTF(4, 5);
/* The same, whatever was known: what is asked for has another answer than what happened. */
void kvmig__case_override(struct kvmig__case *c, const char *code, const char *why);
/* Takes back findings, or actions, of that code; about that object only, if it is not NULL. */
void kvmig__case_drop(struct kvmig_findings *list, const char *code, const char *object);
/* Whether a job runs on the source, as it was observed: 1, -1 = none does, 0 = not known. */
int32_t kvmig__case_job(const struct kvmig__case *c);
/* What was observed last of the VM's domain on that side; NULL = nothing. */
const struct kvmig__fact_domain_state *kvmig__case_seen(const struct kvmig__case *c, const char *side);
/* An observation may be of that VM: it names it, or nobody. */
bool kvmig__case_is_of(const struct kvmig__case *c, const char *domain);
/* The host of that side ("source", "target") was asked, and has no such domain. */
bool kvmig__case_is_absent(const struct kvmig__case *c, const char *side);
/* The node where the guest is proven to run; NULL = that is not proven. After sides.c. */
const char *kvmig__case_place(const struct kvmig__case *c);
void kvmig__case_clear(struct kvmig__case *c);

/* ---- what happened when (moments.c) ---- */
/* The line around at, if it has a time. */
void kvmig__moment_of_line(struct kvmig__case *c, const char *source, const char *text, const char *at, const char *end,
                           const char *what);
void kvmig__diagnose_moments(struct kvmig__case *c); /* of all else, and puts them in order; after the texts */
void kvmig__moments_clear(struct kvmig__moments *moments);

/* ---- the kinds of evidence, in the order in which they are looked at ---- */
int32_t kvmig__diagnose_subject(struct kvmig__case *c); /* subject.c: which VM, which migration, which hosts */
/* The newest report of that VM; NULL = there is none. vm NULL: of any. (reports.c) */
const struct kvmig__fact_report *kvmig__report_of(const struct kvmig__case *c, const char *vm);
void kvmig__diagnose_report(struct kvmig__case *c); /* reports.c: how kvmig says that it ended */
void kvmig__diagnose_unproven(
    struct kvmig__case *c); /* reports.c: and whether that is proven by now; after the sides */
void kvmig__diagnose_kube(struct kvmig__case *c); /* kube.c: waits and outcomes in KubeVirt */
void kvmig__diagnose_refuted(struct kvmig__case *c); /* kube.c: what texts say and objects refute */
void kvmig__diagnose_texts(struct kvmig__case *c); /* texts.c: logs, messages, events, conditions */
void kvmig__diagnose_events(struct kvmig__case *c); /* events.c: events of the job */
void kvmig__diagnose_series(struct kvmig__case *c); /* series.c: statistics over time */
void kvmig__diagnose_jobs(struct kvmig__case *c); /* jobs.c: domjobinfo, block jobs, probes */
void kvmig__diagnose_sides(struct kvmig__case *c); /* sides.c: the resolver's table over what both sides show */
/* What texts claim counts if the outcome leaves room for it; attempts; what follows from causes. (settle.c) */
void kvmig__diagnose_settle(struct kvmig__case *c);
struct kvmig__wires;
/* groups.c, for ports.c: groups of ports that a port of the VM should have left; the VM rests where wires say. */
void kvmig__diagnose_groups(struct kvmig__case *c, const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp);
void kvmig__diagnose_ports(struct kvmig__case *c); /* ports.c: logical ports of OVN */
void kvmig__diagnose_addresses(struct kvmig__case *c); /* addresses.c: interfaces and addresses, and whose they are */
void kvmig__diagnose_pods(struct kvmig__case *c); /* pods.c: launchers and attachment pods */
void kvmig__diagnose_volumes(struct kvmig__case *c); /* volumes.c: volume migrations that were interrupted */
void kvmig__diagnose_intent(struct kvmig__case *c); /* intents.c: what is asked for; after all others */
/* Chooses the verdict and writes the summary. (verdict.c) */
void kvmig__diagnose_verdict(const struct kvmig__case *c, struct kvmig_diagnosis *out);

/* ---- finding words in texts that terminals and logs have wrapped (words.c) ---- */
/* The first place at or after at where pattern stands; case does not matter, a blank in it matches any white space, and a line
 * break within a word is passed over. *out_after: what follows it. NULL if there is none. */
const char *kvmig__words_find(const char *at, const char *end, const char *pattern, const char **out_after);
/* What follows pattern if it stands at at; NULL if it does not. */
const char *kvmig__words_match(const char *at, const char *end, const char *pattern);
/* Names separated by commas, from at on; returns what follows. text: where the whole text begins. */
const char *kvmig__words_names(const char *text, const char *at, const char *end, struct kvmig__strlist *out);
/* The next quoted text ("..." or '...') of the line; owned, NULL if there is none. */
char *kvmig__words_quoted(const char *at, const char *end);
/* From at until one of limits; owned, NULL if that is empty or there is no limit nearby. */
char *kvmig__words_until(const char *at, const char *end, const char *limits);
/* The word at at: until white space, quote, bracket, comma or semicolon; owned, NULL if it is empty. */
char *kvmig__words_word(const char *at, const char *end);
/* The next decimal or 0x number; UINT64_MAX if there is none before the line ends, or it is too large. */
uint64_t kvmig__words_number(const char *text, const char *at, const char *end, const char **out_after);
uint32_t kvmig__words_line(const char *text, const char *at); /* from 1 */
char *kvmig__words_evidence(const char *text, const char *end, const char *at); /* the line around at, cut; owned */

/* ---- finding many patterns in one pass (scan.c) ---- */
struct kvmig__scanner;
/* Patterns are borrowed. Each begins with two characters that are no blanks. */
struct kvmig__scanner *kvmig__scanner_new(const char *const *patterns, size_t count);
void kvmig__scanner_free(struct kvmig__scanner *scanner);
typedef void (*kvmig__scan_cb)(void *user, size_t pattern, const char *at, const char *after);
void kvmig__scan(const struct kvmig__scanner *scanner, const char *text, const char *end, kvmig__scan_cb cb,
                 void *user);

/* ---- what a log tells of its own course (marks.c) ---- */
struct kvmig__mark {
    const char *at;
    uint32_t kind; /* index of the pattern */
};
struct kvmig__marks {
    struct kvmig__mark *v;
    size_t n;
    const char *settled; /* where the last success stands: what is before it is over; NULL = none */
    int64_t settled_ms; /* when; 0 = not known */
};
struct kvmig__scanner *kvmig__marks_scanner(void); /* for any number of texts */
/* Objects of the API have no course: no marks. */
void kvmig__marks_read(struct kvmig__marks *marks, const struct kvmig__scanner *scanner, const struct kvmig__case *c,
                       const struct kvmig__said *said);
/* Another attempt begins between the two places. */
bool kvmig__marks_attempt(const struct kvmig__marks *marks, const char *from, const char *to);
/* The line at at is about another VM than the case's, as far as that can be told. */
bool kvmig__marks_foreign(const struct kvmig__marks *marks, const struct kvmig__case *c, const struct kvmig__said *said,
                          const char *at);
int64_t kvmig__moment_at(const char *text, const char *at, const char *end); /* of the line around at; 0 (moments.c) */

/* ---- rules over texts (texts.c runs them; texts_*.c hold them) ---- */
struct kvmig__match {
    struct kvmig__case *c;
    const struct kvmig__text_rule *rule;
    const struct kvmig__said *said;
    const char *at, *after, *end; /* where the pattern stands, what follows it, where what belongs to it ends */
    char *object; /* what the finding is about; NULL = the rule's; owned */
    struct kvmig__detail detail;
};
/* What stands quoted behind the pattern becomes evidence. Returns true, as extract may. (texts.c) */
bool kvmig__match_quoted(struct kvmig__match *match, const char *key);
struct kvmig__text_rule {
    const char *pattern;
    const char *also; /* must follow within some lines; NULL */
    const char *code;
    int32_t severity;
    const char *object; /* NULL = what the text is about, else the VM */
    bool (*extract)(struct kvmig__match *match); /* fills detail and object; false = no match after all. NULL */
    const char *message, *hint;
};
extern const struct kvmig__text_rule kvmig__texts_cpu[], kvmig__texts_storage[], kvmig__texts_request[],
    kvmig__texts_platform[], kvmig__texts_hosts[]; /* end with a rule without a pattern */

#endif
