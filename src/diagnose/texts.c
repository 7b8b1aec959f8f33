/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs the rules over every text of a case: files, and what objects of the API carry in words (conditions, events, reasons of failure).
 * A line that no rule knows says nothing. What the rules are is in texts_*.c. Pure; any thread.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

#define ALSO_WITHIN 1200 /* characters between the two tokens of one statement */
#define MAX_MATCHES 64 /* of one rule in one text: logs repeat themselves */

static const struct kvmig__text_rule *const tables[] = { kvmig__texts_cpu, kvmig__texts_storage, kvmig__texts_request,
                                                         kvmig__texts_platform };

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

static void gather(struct kvmig__case *c)
{
    say_told(c);
    for (size_t i = 0; i < c->facts->texts.n; i++)
        say_file(c, &c->facts->texts.v[i]);
    if (c->kube && (c->vmi || c->vmim))
        say_objects(c);
    else if (c->kube)
        say_everything(c);
}

/* ---- rules ---- */

static void add_evidence(struct kvmig__match *match)
{
    const struct kvmig__said *said = match->said;
    char *line = kvmig__words_evidence(said->text, match->end, match->at);

    kvmig__detail_str(&match->detail, "source", said->source);
    if (!said->of_object)
        kvmig__detail_uint(&match->detail, "line", kvmig__words_line(said->text, match->at));
    kvmig__detail_str(&match->detail, "text", line);
    free(line);
}

static void take(struct kvmig__match *match)
{
    const struct kvmig__text_rule *rule = match->rule;
    struct kvmig__case *c = match->c;

    if (rule->extract && !rule->extract(match)) {
        free(match->object);
        free(match->detail.text);
        return;
    }
    add_evidence(match);
    if (!match->said->of_object)
        kvmig__moment_of_line(c, match->said->source, match->said->text, match->at, match->end, rule->message);
    if (!match->object)
        match->object = kvmig__strdup(rule->object          ? rule->object
                                      : match->said->object ? match->said->object
                                                            : c->vm_object);
    kvmig__case_note(c, rule->code, rule->severity, match->object, &match->detail, rule->hint, "%s", rule->message);
    if (rule->severity >= KVMIG_SEVERITY_ERROR)
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED", "%s", rule->message);
}

static bool has_also(const struct kvmig__text_rule *rule, const char *after, const char *end)
{
    const char *limit = end - after > ALSO_WITHIN ? after + ALSO_WITHIN : end;

    return !rule->also || kvmig__words_find(after, limit, rule->also, NULL);
}

static void apply(struct kvmig__case *c, const struct kvmig__text_rule *rule, const struct kvmig__said *said)
{
    const char *end = said->text + said->length, *after = said->text;

    for (int i = 0; i < MAX_MATCHES; i++) {
        const char *at = kvmig__words_find(after, end, rule->pattern, &after);
        struct kvmig__match match = { .c = c, .rule = rule, .said = said, .at = at, .after = after, .end = end };

        if (!at)
            return;
        if (has_also(rule, after, end))
            take(&match);
    }
}

/* ---- ends that are told in words ---- */

static const struct {
    const char *pattern, *also, *state;
    enum kvmig__strength strength;
    const char *why;
} ends[] = {
    { "Live migration stuck for ", "has been aborted", "ABORTED_BY_PROGRESS_TIMEOUT", KVMIG__KNOWN_ENDED,
      "KubeVirt's timer for migrations without progress ended it" },
    { "Live migration is not completed after ", "has been aborted", "ABORTED_BY_COMPLETION_TIMEOUT", KVMIG__KNOWN_ENDED,
      "KubeVirt's completion limit ended it" },
    { "canceled by client", NULL, "CANCELLED", KVMIG__KNOWN_ENDED, "it was cancelled; who asked is not told" },
    { "migration out job: canceled", NULL, "CANCELLED", KVMIG__KNOWN_ENDED, "it was cancelled; who asked is not told" },
};

static void find_ends(struct kvmig__case *c, const struct kvmig__said *said)
{
    const char *end = said->text + said->length;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(ends); i++) {
        const char *after, *at = kvmig__words_find(said->text, end, ends[i].pattern, &after);

        if (at && (!ends[i].also || kvmig__words_find(after, end, ends[i].also, NULL)))
            kvmig__case_state(c, ends[i].strength, ends[i].state, "%s", ends[i].why);
    }
}

/* An error of libvirt in itself says that a migration failed, whatever it means. */
static void find_failure(struct kvmig__case *c, const struct kvmig__said *said)
{
    static const char *const tokens[] = { "Live migration failed",
                                          "virError(Code=", "migration out job: unexpectedly failed",
                                          "load of migration failed", "job 'migration out' failed" };
    const char *end = said->text + said->length;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(tokens); i++)
        if (kvmig__words_find(said->text, end, tokens[i], NULL))
            kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED", "a message says that the migration failed");
}

void kvmig__diagnose_texts(struct kvmig__case *c)
{
    gather(c);
    for (size_t i = 0; i < c->said.n; i++) {
        for (size_t t = 0; t < KVMIG__N_ELEMENTS(tables); t++)
            for (const struct kvmig__text_rule *rule = tables[t]; rule->pattern; rule++)
                apply(c, rule, &c->said.v[i]);
        find_ends(c, &c->said.v[i]);
        find_failure(c, &c->said.v[i]);
    }
}
