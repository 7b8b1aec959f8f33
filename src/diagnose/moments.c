/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What happened when: dated facts of all kinds on one axis. Objects, events and logs carry the time of day; statistics and events of the
 * job count seconds from some beginning of their own, and stand apart, because nothing ties the two clocks together. Pure.
 */
#include "diagnose/diagnose.h"
#include "kubernetes/objects.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MOMENTS 256
#define MAX_LINE 4096 /* of a log, that is looked at for its time */

/* Takes what. */
static void add(struct kvmig__case *c, int64_t at_ms, double offset_s, const char *source, char *what)
{
    struct kvmig__moment *moment;

    if ((!at_ms && offset_s < 0) || c->moments.n >= MAX_MOMENTS) {
        free(what);
        return;
    }
    moment = KVMIG__PUSH(&c->moments);
    moment->at_ms = at_ms;
    moment->offset_s = offset_s;
    moment->source = kvmig__strdup(source);
    moment->what = what;
}

/* ---- objects ---- */

static void from_state(struct kvmig__case *c, const char *object, const struct kvmig__kube_migration_state *state)
{
    add(c, state->start_ms, -1, object, kvmig__strdup("the source was told to migrate"));
    add(c, state->domain_ready_ms, -1, object, kvmig__strdup("the target's domain was ready"));
    add(c, state->end_ms, -1, object,
        kvmig__asprintf("the migration ended%s%s%s", state->failed ? " as failed" : "",
                        state->failure_reason ? ": " : "", state->failure_reason ? state->failure_reason : ""));
}

static void from_migration(struct kvmig__case *c)
{
    char *object = kvmig__asprintf("migration/%s", c->vmim->meta.name);

    add(c, c->vmim->meta.created_ms, -1, object, kvmig__strdup("the migration was asked for"));
    for (size_t i = 0; i < c->vmim->transitions.n; i++)
        add(c, c->vmim->transitions.v[i].at_ms, -1, object,
            kvmig__asprintf("phase %s", c->vmim->transitions.v[i].phase));
    if (c->vmim->state.present)
        from_state(c, object, &c->vmim->state);
    free(object);
}

static bool concerns(const struct kvmig__case *c, const struct kvmig__kube_event *event)
{
    const char *vm = c->vmi ? c->vmi->meta.name : c->vmim ? c->vmim->vmi : NULL;
    const char *about = event->about_name ? event->about_name : "";
    char *launcher = vm ? kvmig__asprintf("virt-launcher-%s-", vm) : NULL;
    const char *ns = c->vmi ? c->vmi->meta.ns : c->vmim ? c->vmim->meta.ns : NULL;
    const bool of_launcher = launcher && kvmig__str_starts(about, launcher) && !strchr(about + strlen(launcher), '-');
    const bool is =
        !vm || ((!event->about_ns || !ns || kvmig__str_eq(event->about_ns, ns)) &&
                (kvmig__str_eq(about, vm) || (c->vmim && kvmig__str_eq(about, c->vmim->meta.name)) || of_launcher));

    free(launcher);
    return is;
}

static void from_events(struct kvmig__case *c)
{
    KVMIG__KUBE_EACH(c->kube, EVENT, event)
    {
        char *source;

        if (!concerns(c, event))
            continue;
        source = kvmig__asprintf("%s/%s", event->about_kind ? event->about_kind : "event",
                                 event->about_name ? event->about_name : "");
        add(c, event->last_ms ? event->last_ms : event->first_ms, -1, source,
            kvmig__asprintf("%s: %s", event->reason ? event->reason : "event", event->message ? event->message : ""));
        free(source);
    }
}

/* ---- logs ---- */

static bool is_stamp(const char *at)
{
    static const char shape[] = "dddd-dd-dd?dd:dd:dd";

    for (size_t i = 0; shape[i]; i++)
        if (shape[i] == 'd' ? !isdigit((unsigned char)at[i]) : shape[i] != '?' && shape[i] != at[i])
            return false;
    return at[10] == 'T' || at[10] == ' ';
}

/* RFC 3339 of what stands at at: logs put a blank for the T, leave the colon out of the offset, or the offset out. */
static int64_t read_stamp(const char *at, const char *end)
{
    const char *rest = at + 19, *zone;
    int64_t ms;
    char *text;

    while (rest < end && (isdigit((unsigned char)*rest) || *rest == '.'))
        rest++;
    zone = rest;
    if (end - zone >= 6 && (*zone == '+' || *zone == '-') && zone[3] == ':')
        text = kvmig__asprintf("%.10sT%.*s%.6s", at, (int)(rest - at - 11), at + 11, zone);
    else if (end - zone >= 5 && (*zone == '+' || *zone == '-') && isdigit((unsigned char)zone[4]))
        text = kvmig__asprintf("%.10sT%.*s%.3s:%.2s", at, (int)(rest - at - 11), at + 11, zone, zone + 3);
    else
        text = kvmig__asprintf("%.10sT%.*sZ", at, (int)(rest - at - 11), at + 11);
    ms = kvmig__time_parse(text);
    free(text);
    return ms;
}

static int64_t stamp_of(const char *line, const char *end)
{
    for (; line + 19 <= end; line++)
        if (is_stamp(line))
            return read_stamp(line, end);
    return 0;
}

int64_t kvmig__moment_at(const char *text, const char *at, const char *end)
{
    const char *begin = at;

    while (begin > text && begin[-1] != '\n' && at - begin < MAX_LINE)
        begin--;
    while (at < end && *at != '\n' && at - begin < MAX_LINE)
        at++;
    return stamp_of(begin, at);
}

void kvmig__moment_of_line(struct kvmig__case *c, const char *source, const char *text, const char *at, const char *end,
                           const char *what)
{
    add(c, kvmig__moment_at(text, at, end), -1, source, kvmig__strdup(what));
}

/* ---- the job's own clock ---- */

static void from_job_events(struct kvmig__case *c)
{
    for (size_t i = 0; i < c->facts->events.n; i++) {
        const struct kvmig__fact_job_event *event = &c->facts->events.v[i];

        add(c, 0, event->time_s, event->file,
            event->status
                ? kvmig__asprintf("%s: %s", event->side ? event->side : "?", event->status)
                : kvmig__asprintf("%s: %s%s%s", event->side ? event->side : "?", event->event ? event->event : "event",
                                  event->detail ? " " : "", event->detail ? event->detail : ""));
    }
}

/* Rounds are what people ask for; samples between them say nothing new. */
static void from_series(struct kvmig__case *c, const struct kvmig__fact_samples *series)
{
    for (size_t i = 0; i < series->n; i++) {
        const struct kvmig__fact_sample *sample = &series->v[i];
        const bool is_edge = i == 0 || i + 1 == series->n;

        if (!is_edge || sample->elapsed_ms == KVMIG__UNKNOWN || sample->memory_remaining == KVMIG__UNKNOWN)
            continue;
        add(c, 0, (double)sample->elapsed_ms / 1000, series->file,
            sample->iteration == KVMIG__UNKNOWN
                ? kvmig__asprintf("%llu MiB of memory remain", (unsigned long long)sample->memory_remaining >> 20)
                : kvmig__asprintf("round %llu, %llu MiB of memory remain", (unsigned long long)sample->iteration,
                                  (unsigned long long)sample->memory_remaining >> 20));
    }
}

/* Those with a time of day first, each clock in its order; what is equal stays as it came. */
static bool is_after(const struct kvmig__moment *a, const struct kvmig__moment *b)
{
    if (!a->at_ms != !b->at_ms)
        return !a->at_ms;
    return a->at_ms ? a->at_ms > b->at_ms : a->offset_s > b->offset_s;
}

static void sort(struct kvmig__moments *moments)
{
    for (size_t i = 1; i < moments->n; i++) {
        const struct kvmig__moment moving = moments->v[i];
        size_t k = i;

        for (; k > 0 && is_after(&moments->v[k - 1], &moving); k--)
            moments->v[k] = moments->v[k - 1];
        moments->v[k] = moving;
    }
}

void kvmig__diagnose_moments(struct kvmig__case *c)
{
    if (c->vmim)
        from_migration(c);
    else if (c->vmi && c->vmi->migration.present)
        from_state(c, c->vm_object, &c->vmi->migration);
    if (c->kube)
        from_events(c);
    from_job_events(c);
    for (size_t i = 0; i < c->facts->series.n; i++)
        from_series(c, &c->facts->series.v[i]);
    sort(&c->moments);
}

void kvmig__moments_clear(struct kvmig__moments *moments)
{
    for (size_t i = 0; i < moments->n; i++) {
        free(moments->v[i].source);
        free(moments->v[i].what);
    }
    free(moments->v);
    *moments = (struct kvmig__moments){ .n = 0 };
}
