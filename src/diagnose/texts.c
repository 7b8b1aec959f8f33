/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs the rules over every text of a case: files, and what objects of the API carry in words (conditions, events, reasons of failure).
 * A line that no rule knows says nothing. What the rules are is in texts_*.c; what they find are claims until the outcome is known
 * (settle.c). Pure; any thread.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

#define ALSO_WITHIN 1200 /* characters between the two tokens of one statement */
#define REACH 8192 /* of what belongs to a match */
#define MAX_CLAIMS 500 /* nobody reads more, and each is compared with all */
#define MAX_HITS 32 /* of one pattern in one text: logs repeat themselves, and the last ones count */
#define ATTEMPT_GAP_MS 5000 /* what is told again sooner is the same failure, told by another function */

static const struct kvmig__text_rule *const tables[] = { kvmig__texts_cpu, kvmig__texts_storage, kvmig__texts_request,
                                                         kvmig__texts_hosts, kvmig__texts_platform };

/* ---- what was said ---- */

static void say_about(struct kvmig__case *c, const struct kvmig__kube_meta *meta, const char *object, const char *text)
{
    struct kvmig__said *said;

    if (!text || !*text)
        return;
    said = KVMIG__PUSH(&c->said);
    said->source = kvmig__asprintf("%s/%s%s%s", kvmig__kube_kind_info(meta->kind)->kind, meta->ns ? meta->ns : "",
                                   meta->ns ? "/" : "", meta->name);
    said->object = kvmig__strdup(object);
    said->text = text;
    said->length = strlen(text);
    said->of_object = true;
}

static void say_file(struct kvmig__case *c, const struct kvmig__fact_text *text)
{
    struct kvmig__said *said = KVMIG__PUSH(&c->said);

    said->source = kvmig__strdup(text->file);
    said->text = text->text;
    said->length = text->length;
}

static void say_conditions(struct kvmig__case *c, const struct kvmig__kube_meta *meta,
                           const struct kvmig__kube_conditions *conditions)
{
    for (size_t i = 0; i < conditions->n; i++)
        say_about(c, meta, NULL, conditions->v[i].message);
}

/* Earlier migrations of the VM that failed: attempts. */
static void say_attempts(struct kvmig__case *c)
{
    KVMIG__KUBE_EACH(c->kube, VMIM, vmim)
    {
        const size_t n = c->said.n;

        if (vmim == c->vmim || !kvmig__str_eq(vmim->phase, "Failed") ||
            !kvmig__str_eq(vmim->vmi, c->vmi ? c->vmi->meta.name : c->vmim->vmi) ||
            !kvmig__str_eq(vmim->meta.ns, c->vmi ? c->vmi->meta.ns : c->vmim->meta.ns))
            continue;
        say_about(c, &vmim->meta, NULL, vmim->state.failure_reason);
        if (c->said.n > n) {
            c->said.v[n].is_past = true;
            c->said.v[n].migration = vmim->meta.uid ? vmim->meta.uid : vmim->meta.name;
        }
    }
}

/* What the objects of the API say of the migration: not what they say of others. */
static void say_objects(struct kvmig__case *c)
{
    const struct kvmig__kube_vmim *vmim = c->vmim;
    const struct kvmig__kube_migration_state *of_vmi = c->vmi ? &c->vmi->migration : NULL;

    if (vmim) {
        say_about(c, &vmim->meta, NULL, vmim->state.failure_reason);
        say_conditions(c, &vmim->meta, &vmim->conditions);
    }
    if (of_vmi && of_vmi->present && (!vmim || kvmig__str_eq(of_vmi->uid, vmim->meta.uid)))
        say_about(c, &c->vmi->meta, NULL, of_vmi->failure_reason);
    say_attempts(c);
}

/* Where no VM and no migration is given, whatever the objects say is what it is about. */
static void say_everything(struct kvmig__case *c)
{
    KVMIG__KUBE_EACH(c->kube, POD, pod)
    {
        char *object = kvmig__asprintf("pod/%s/%s", pod->meta.ns ? pod->meta.ns : "", pod->meta.name);

        for (size_t i = 0; i < pod->conditions.n; i++)
            say_about(c, &pod->meta, object, pod->conditions.v[i].message);
        say_about(c, &pod->meta, object, pod->message);
        free(object);
    }
    KVMIG__KUBE_EACH(c->kube, EVENT, event)
    {
        const bool of_pod = kvmig__str_eq(event->about_kind, "Pod");
        char *object =
            of_pod ? kvmig__asprintf("pod/%s/%s", event->about_ns ? event->about_ns : "", event->about_name) : NULL;

        say_about(c, &event->meta, object, event->message);
        free(object);
    }
}

static void say_told(struct kvmig__case *c)
{
    for (size_t i = 0; i < c->ask->texts.n; i++) {
        struct kvmig__said *said = KVMIG__PUSH(&c->said);

        said->source = kvmig__strdup("session");
        said->text = c->ask->texts.v[i];
        said->length = strlen(said->text);
        said->of_object = true;
    }
}

/* The report's error: its own words, and those of libvirt or QEMU that it quotes. */
static void say_report(struct kvmig__case *c)
{
    const char *const texts[] = { c->report->error.message, c->report->error.evidence };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        struct kvmig__said *said = texts[i] ? KVMIG__PUSH(&c->said) : NULL;

        if (!said)
            continue;
        said->source = kvmig__strdup(c->report->file);
        said->text = texts[i];
        said->length = strlen(said->text);
        said->of_object = true;
    }
}

/* What the session, its report and the objects say is of the migration that the case is about, unless it is said to be of another. */
static void settle_migrations(struct kvmig__case *c)
{
    const struct kvmig__kube_vmim *vmim = c->vmim;

    for (size_t i = 0; vmim && i < c->said.n; i++)
        if (c->said.v[i].of_object && !c->said.v[i].migration)
            c->said.v[i].migration = vmim->meta.uid ? vmim->meta.uid : vmim->meta.name;
}

static void gather(struct kvmig__case *c)
{
    say_told(c);
    if (c->report)
        say_report(c);
    for (size_t i = 0; i < c->facts->texts.n; i++)
        say_file(c, &c->facts->texts.v[i]);
    if (c->kube && (c->vmi || c->vmim))
        say_objects(c);
    else if (c->kube)
        say_everything(c);
    settle_migrations(c);
}

/* ---- all patterns ---- */

struct hit {
    const char *at, *after;
};
struct hits { /* a ring */
    struct hit v[MAX_HITS];
    size_t n; /* in all */
};

struct reading { /* of one text after the other */
    struct kvmig__case *c;
    const char **patterns; /* the rules', in the order of the tables; then those of the ends */
    const struct kvmig__text_rule **rules;
    size_t n_rules, n;
    struct hits *hits;
    struct kvmig__scanner *scanner, *of_marks;
    const struct kvmig__said *said;
    struct kvmig__marks marks;
    int64_t settled_ms; /* by any text */
};

static void take_hit(void *user, size_t pattern, const char *at, const char *after)
{
    struct hits *hits = &((struct reading *)user)->hits[pattern];

    hits->v[hits->n++ % MAX_HITS] = (struct hit){ at, after };
}

/* The i-th of those that are kept; NULL past the last one. */
static const struct hit *hit_at(const struct hits *hits, size_t i)
{
    const size_t kept = hits->n < MAX_HITS ? hits->n : MAX_HITS;

    return i < kept ? &hits->v[(hits->n - kept + i) % MAX_HITS] : NULL;
}

/* Of an attempt that was followed by a success, or of another VM. */
static bool is_over(const struct reading *r, const char *at)
{
    const struct kvmig__said *said = r->said;
    int64_t ms;

    if (said->of_object)
        return false;
    if (r->marks.settled && at < r->marks.settled)
        return true;
    if (r->settled_ms && !r->marks.settled) {
        ms = kvmig__moment_at(said->text, at, said->text + said->length);
        if (ms && ms < r->settled_ms)
            return true;
    }
    return kvmig__marks_foreign(&r->marks, r->c, said, at);
}

static bool has_also(const char *also, const char *after, const char *end)
{
    const char *limit = end - after > ALSO_WITHIN ? after + ALSO_WITHIN : end;

    return !also || kvmig__words_find(after, limit, also, NULL);
}

/* ---- rules ---- */

bool kvmig__match_quoted(struct kvmig__match *match, const char *key)
{
    char *text = kvmig__words_quoted(match->after, match->end);

    kvmig__detail_str(&match->detail, key, text);
    free(text);
    return true;
}

static void add_evidence(struct kvmig__match *match)
{
    const struct kvmig__said *said = match->said;
    char *line = kvmig__words_evidence(said->text, said->text + said->length, match->at);

    kvmig__detail_str(&match->detail, "source", said->source);
    if (!said->of_object)
        kvmig__detail_uint(&match->detail, "line", kvmig__words_line(said->text, match->at));
    kvmig__detail_str(&match->detail, "text", line);
    free(line);
}

static struct kvmig__attempts *attempts_of(struct kvmig__case *c, const struct kvmig__match *match)
{
    char *key =
        kvmig__asprintf("%s %s %s", match->rule->code, match->object, match->detail.text ? match->detail.text : "");
    struct kvmig__attempts *attempts;

    if (c->attempts.n >= MAX_CLAIMS) {
        free(key);
        return NULL;
    }
    for (size_t i = 0; i < c->attempts.n; i++) {
        if (strcmp(c->attempts.v[i].key, key) == 0) {
            free(key);
            return &c->attempts.v[i];
        }
    }
    attempts = KVMIG__PUSH(&c->attempts);
    attempts->key = key;
    attempts->code = match->rule->code;
    return attempts;
}

/* Told again: another attempt, or the same one? */
static bool is_again(const struct reading *r, const struct kvmig__attempts *attempts, const char *at, int64_t at_ms)
{
    if (attempts->at_ms && at_ms)
        return at_ms - attempts->at_ms >= ATTEMPT_GAP_MS;
    return kvmig__marks_attempt(&r->marks, attempts->at, at);
}

static void count_migration(struct kvmig__attempts *attempts, const char *migration)
{
    for (size_t i = 0; i < attempts->migrations.n; i++)
        if (kvmig__str_eq(attempts->migrations.v[i], migration))
            return;
    *KVMIG__PUSH(&attempts->migrations) = migration;
}

void kvmig__attempts_clear(struct kvmig__attempts *attempts)
{
    free(attempts->key);
    free(attempts->migrations.v);
}

static void count_attempt(const struct reading *r, const struct kvmig__match *match)
{
    struct kvmig__attempts *attempts = attempts_of(r->c, match);
    const struct kvmig__said *said = match->said;
    const int64_t at_ms = kvmig__moment_at(said->text, match->at, said->text + said->length);

    if (!attempts)
        return;
    if (attempts->said != said) {
        if (said->of_object)
            count_migration(attempts, said->migration);
        attempts->here = 1;
    } else if (is_again(r, attempts, match->at, at_ms)) {
        attempts->here++;
    }
    attempts->said = said;
    attempts->at = match->at;
    attempts->at_ms = at_ms;
    if (attempts->here > attempts->most)
        attempts->most = attempts->here;
}

static void take(const struct reading *r, struct kvmig__match *match)
{
    const struct kvmig__text_rule *rule = match->rule;
    struct kvmig__case *c = match->c;

    if (c->findings.n >= MAX_CLAIMS || (rule->extract && !rule->extract(match))) {
        free(match->object);
        free(match->detail.text);
        return;
    }
    if (!match->object)
        match->object = kvmig__strdup(rule->object          ? rule->object
                                      : match->said->object ? match->said->object
                                                            : c->vm_object);
    count_attempt(r, match);
    if (match->said->is_past) {
        free(match->object);
        free(match->detail.text);
        return;
    }
    add_evidence(match);
    if (!match->said->of_object)
        kvmig__moment_of_line(c, match->said->source, match->said->text, match->at,
                              match->said->text + match->said->length, rule->message);
    kvmig__case_note(c, rule->code, rule->severity, match->object, &match->detail, rule->hint, "%s", rule->message);
    if (rule->severity >= KVMIG_SEVERITY_ERROR)
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED", "%s", rule->message);
}

static void apply_rule(struct reading *r, size_t rule)
{
    const struct kvmig__said *said = r->said;
    const char *end = said->text + said->length;
    const struct hit *hit;

    for (size_t i = 0; (hit = hit_at(&r->hits[rule], i)); i++) {
        struct kvmig__match match = { .c = r->c,
                                      .rule = r->rules[rule],
                                      .said = said,
                                      .at = hit->at,
                                      .after = hit->after,
                                      .end = end - hit->after > REACH ? hit->after + REACH : end };

        if (has_also(r->rules[rule]->also, hit->after, match.end) && !is_over(r, hit->at))
            take(r, &match);
    }
}

/* ---- ends that are told in words ---- */

/* Those that say why come first. state NULL: a connection was lost, and with it what became of the migration. */
static const struct {
    const char *pattern, *also, *state;
    enum kvmig__strength strength;
    const char *why;
} ends[] = {
    { "Live migration stuck for ", NULL, "ABORTED_BY_PROGRESS_TIMEOUT", KVMIG__KNOWN_ENDED,
      "the platform's timer for migrations without progress ended it" },
    { "Migration is stuck: Hasn't progressed in ", NULL, "ABORTED_BY_PROGRESS_TIMEOUT", KVMIG__KNOWN_ENDED,
      "the platform's timer for migrations without progress ended it" },
    { "Live migration is not completed after ", NULL, "ABORTED_BY_COMPLETION_TIMEOUT", KVMIG__KNOWN_ENDED,
      "the platform's completion limit ended it" },
    { "Live migration not completed after ", NULL, "ABORTED_BY_COMPLETION_TIMEOUT", KVMIG__KNOWN_ENDED,
      "the platform's completion limit ended it" },
    { "exceeding the configured maximum time for migrations", NULL, "ABORTED_BY_COMPLETION_TIMEOUT", KVMIG__KNOWN_ENDED,
      "the platform's completion limit ended it" },
    { "canceled by client", NULL, "CANCELLED", KVMIG__KNOWN_ENDED, "it was cancelled; who asked is not told" },
    { "migration out job: canceled", NULL, "CANCELLED", KVMIG__KNOWN_ENDED, "it was cancelled; who asked is not told" },
    { "Migration operation was cancelled", NULL, "CANCELLED", KVMIG__KNOWN_ENDED,
      "it was cancelled; who asked is not told" },
    { "Live migration has been aborted", NULL, "CANCELLED", KVMIG__KNOWN_ENDED,
      "it was aborted; whether somebody asked or a time limit did is not told" },
    /* An error of libvirt in itself says that a migration failed, whatever it means. */
    { "Live migration failed", NULL, "FAILED", KVMIG__KNOWN_TOLD, "a message says that the migration failed" },
    { "migration out job: unexpectedly failed", NULL, "FAILED", KVMIG__KNOWN_TOLD,
      "a message says that the migration failed" },
    { "job 'migration out' unexpectedly failed", NULL, "FAILED", KVMIG__KNOWN_TOLD,
      "a message says that the migration failed" },
    { "job 'migration out' failed", NULL, "FAILED", KVMIG__KNOWN_TOLD, "a message says that the migration failed" },
    { "load of migration failed", NULL, "FAILED", KVMIG__KNOWN_TOLD, "the target could not load what it was sent" },
    { "Lost connection to destination host", NULL, "FAILED", KVMIG__KNOWN_TOLD,
      "the source lost its connection to the target's daemon, and gave the migration up" },
    { "client socket is closed", NULL, NULL, KVMIG__KNOWN_TOLD, NULL },
    { "connection closed due to keepalive timeout", NULL, NULL, KVMIG__KNOWN_TOLD, NULL },
    { "received hangup event on socket", NULL, NULL, KVMIG__KNOWN_TOLD, NULL },
    { "Unable to write to socket: Broken pipe", NULL, "FAILED", KVMIG__KNOWN_TOLD, "the connection of the copy broke" },
    { "Unable to read from socket: Connection reset", NULL, "FAILED", KVMIG__KNOWN_TOLD,
      "the connection of the copy broke" },
    { "virError(Code=", NULL, "FAILED", KVMIG__KNOWN_TOLD, "a message says that the migration failed" },
};

static void note_lost(const struct reading *r, const char *at)
{
    struct kvmig__match match = { .said = r->said, .at = at };

    add_evidence(&match);
    kvmig__case_note(r->c, "CONNECTION_LOST", KVMIG_SEVERITY_WARN, kvmig__strdup(r->c->vm_object), &match.detail,
                     "See why the daemon ended or the network broke; what was going on is told by both hosts.",
                     "A connection that the migration needed broke.");
}

static void apply_end(struct reading *r, size_t i)
{
    const struct kvmig__said *said = r->said;
    const struct hit *hit;

    for (size_t k = 0; (hit = hit_at(&r->hits[r->n_rules + i], k)); k++) {
        if (is_over(r, hit->at))
            continue;
        if (!said->of_object)
            kvmig__moment_of_line(r->c, said->source, said->text, hit->at, said->text + said->length,
                                  ends[i].why ? ends[i].why : "the connection was lost");
        if (kvmig__str_eq(r->c->state, "CANCELLED") && ends[i].state && kvmig__str_starts(ends[i].state, "ABORTED_"))
            r->c->strength = KVMIG__KNOWN_NONE; /* says who cancelled it */
        if (!ends[i].state || strstr(ends[i].why, "connection"))
            note_lost(r, hit->at);
        if (ends[i].state)
            kvmig__case_state(r->c, ends[i].strength, ends[i].state, "%s", ends[i].why);
        else
            r->c->lost_link = true;
    }
}

/* ---- one text after the other ---- */

static void begin(struct reading *r, struct kvmig__case *c)
{
    size_t n = 0;

    r->c = c;
    for (size_t t = 0; t < KVMIG__N_ELEMENTS(tables); t++)
        for (const struct kvmig__text_rule *rule = tables[t]; rule->pattern; rule++)
            r->n_rules++;
    r->n = r->n_rules + KVMIG__N_ELEMENTS(ends);
    r->patterns = kvmig__calloc(r->n, sizeof(*r->patterns));
    r->rules = kvmig__calloc(r->n_rules, sizeof(*r->rules));
    r->hits = kvmig__calloc(r->n, sizeof(*r->hits));
    for (size_t t = 0; t < KVMIG__N_ELEMENTS(tables); t++) {
        for (const struct kvmig__text_rule *rule = tables[t]; rule->pattern; rule++) {
            r->patterns[n] = rule->pattern;
            r->rules[n++] = rule;
        }
    }
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(ends); i++)
        r->patterns[n++] = ends[i].pattern;
    r->scanner = kvmig__scanner_new(r->patterns, r->n);
    r->of_marks = kvmig__marks_scanner();
}

/* A success that no failure follows. */
static void conclude_success(struct reading *r, const char *settled)
{
    if (settled && r->c->strength < KVMIG__KNOWN_TOLD)
        kvmig__case_state(r->c, KVMIG__KNOWN_TOLD, "SUCCEEDED", "%s tells of a success, and of no failure after it",
                          r->said->source);
}

static void read_text(struct reading *r)
{
    for (size_t i = 0; i < r->n; i++)
        r->hits[i].n = 0;
    kvmig__scan(r->scanner, r->said->text, r->said->text + r->said->length, take_hit, r);
    for (size_t i = 0; i < r->n_rules; i++)
        apply_rule(r, i);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(ends) && !r->said->is_past; i++)
        apply_end(r, i);
}

static void look_for_successes(struct reading *r)
{
    for (size_t i = 0; i < r->c->said.n; i++) {
        struct kvmig__marks marks;

        if (r->c->said.v[i].of_object)
            continue;
        kvmig__marks_read(&marks, r->of_marks, r->c, &r->c->said.v[i]);
        if (marks.settled_ms > r->settled_ms)
            r->settled_ms = marks.settled_ms;
        free(marks.v);
    }
}

void kvmig__diagnose_texts(struct kvmig__case *c)
{
    const struct kvmig_findings others = c->findings;
    const struct kvmig__said *success = NULL;
    struct reading r = { .n = 0 };

    gather(c);
    c->findings = (struct kvmig_findings){ .n = 0 }; /* what is noted now is a claim */
    begin(&r, c);
    look_for_successes(&r);
    for (size_t i = 0; i < c->said.n; i++) {
        r.said = &c->said.v[i];
        kvmig__marks_read(&r.marks, r.of_marks, c, r.said);
        read_text(&r);
        if (r.marks.settled && !r.said->of_object)
            success = r.said;
        free(r.marks.v);
    }
    r.said = success;
    conclude_success(&r, success ? success->text : NULL);
    c->claims = c->findings;
    c->findings = others;
    kvmig__scanner_free(r.scanner);
    kvmig__scanner_free(r.of_marks);
    free(r.patterns);
    free(r.rules);
    free(r.hits);
}
