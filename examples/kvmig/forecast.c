/* SPDX-License-Identifier: MIT-0 */
/*
 * Forecasts: what the command line tells of them, how they are shown, measuring a guest first (--measure), and the file in which
 * the tool keeps what the library has learned (--learned). The library itself writes no file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define MIB 1048576.0
#define MEASURE_MARGIN_MS 60000

/* ---- what is told ---- */

static void explain_sample(const char *word)
{
    complain("--dirty %s: write WINDOW=MIB, for example 1s=40, or 40 for an average", word);
}

/* "1s=40.5", "500ms=80", "40". */
static bool read_sample(const char *word, struct kvmig_dirty_sample *out)
{
    char *end = NULL;
    double window = 0, rate;
    const char *equals = strchr(word, '=');

    if (equals) {
        window = strtod(word, &end);
        if (end == word || window <= 0 || window > 1e6)
            return false;
        if (!strncmp(end, "s=", 2))
            window *= 1000;
        else if (strncmp(end, "ms=", 3) != 0)
            return false;
        word = equals + 1;
    }
    rate = strtod(word, &end);
    if (end == word || *end || !(rate >= 0) || rate > 1e9)
        return false;
    *out = (struct kvmig_dirty_sample){ (uint64_t)window, (uint64_t)(rate * MIB) };
    return true;
}

bool forecast_read(const struct settings *settings, struct forecast_told *out)
{
    struct kvmig_forecast_opts *opts = &out->opts;

    *out = (struct forecast_told){ .opts = KVMIG_FORECAST_OPTS_INIT };
    for (size_t i = 0; i < settings->dirty.n; i++) {
        if (i >= FORECAST_SAMPLES || !read_sample(settings->dirty.v[i], &out->samples[i])) {
            explain_sample(settings->dirty.v[i]);
            return false;
        }
        opts->n_dirty++;
    }
    if (!opts->n_dirty && settings->observed_dirty) {
        out->samples[0] = (struct kvmig_dirty_sample){ 0, settings->observed_dirty - 1 };
        opts->n_dirty = 1;
    }
    opts->dirty = out->samples;
    opts->memory_bytes = settings->observed_memory;
    opts->used_bytes = settings->used_mib << 20;
    opts->working_set_bytes = settings->working_set_mib << 20;
    opts->link_bytes_per_s = settings->link_mib ? settings->link_mib << 20 : settings->observed_link;
    opts->downtime_ceiling_ms = settings->downtime_ceiling_ms;
    opts->completion_s_per_gib = settings->completion_s_per_gib;
    opts->sharing = (uint32_t)settings->sharing;
    opts->busy_percent = (uint32_t)settings->busy_percent;
    opts->forbid = (uint32_t)settings->forbid;
    return true;
}

/* ---- what was learned, in a file ---- */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;

    if (!file)
        return NULL;
    if (getdelim(&text, &room, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

int learned_load(const struct view *view, const struct settings *settings)
{
    char *text;
    int code = 0;

    if (!settings->learned_path)
        return 0;
    text = read_file(settings->learned_path);
    if (text && kvmig_cluster_import_learned(view->cluster, text) < 0)
        code = complain_error(settings->learned_path, NULL);
    free(text); /* a file that is not there is begun */
    return code;
}

void learned_save(const struct view *view, const struct settings *settings)
{
    char *text = NULL, *path = NULL;
    FILE *file;

    if (!settings->learned_path || kvmig_cluster_export_learned(view->cluster, &text) < 0)
        return;
    /* Beside it first, so that it is never half a file. */
    if (asprintf(&path, "%s.new", settings->learned_path) < 0)
        abort();
    file = fopen(path, "w");
    if (!file || fprintf(file, "%s\n", text) < 0 || fclose(file) || rename(path, settings->learned_path))
        complain("%s: %s", path, strerror(errno));
    free(path);
    free(text);
}

/* ---- measuring ---- */

struct waiting {
    bool done;
    struct kvmig_event *event;
};

static void on_event(const struct kvmig_event *event, void *data)
{
    struct waiting *waiting = data;

    if (kvmig_event_type(event) != KVMIG_EVENT_MEASURED || waiting->done)
        return;
    waiting->done = true;
    waiting->event = kvmig_event_ref(event);
}

static int32_t is_done(void *data)
{
    return ((struct waiting *)data)->done;
}

int measure(const struct view *view, const struct settings *settings)
{
    struct waiting waiting = { .done = false };
    const struct kvmig_error *error;

    if (!settings->measure)
        return 0;
    view_follow((struct view *)view, on_event, &waiting);
    if (kvmig_cluster_measure(view->cluster, settings->vm, NULL) < 0)
        return complain_error("cannot measure", NULL);
    if (!settings->json)
        fprintf(stderr, "Measuring how fast %s dirties its memory ...\n", settings->vm);
    kvmig_context_run(view->context, is_done, &waiting, MEASURE_MARGIN_MS);
    error = waiting.event ? kvmig_event_error(waiting.event) : NULL;
    view_follow((struct view *)view, NULL, NULL);
    if (error && kvmig_error_code(error) == -EBUSY)
        complain("%s is being measured or migrated by somebody else; planning without a measurement", settings->vm);
    else if (error)
        complain_error("cannot measure; planning without a measurement", error);
    else if (!waiting.event)
        complain("the measurement did not end; planning without it");
    kvmig_event_unref(waiting.event);
    return 0;
}

/* ---- showing ---- */

#define CELL_MAX 160

static const char *range(char *cell, uint64_t middle, uint64_t low, uint64_t high)
{
    const struct text m = text_ms(middle), l = text_ms(low), h = text_ms(high);

    if (middle == UINT64_MAX && low == UINT64_MAX)
        snprintf(cell, CELL_MAX, "-");
    else if (middle == UINT64_MAX)
        snprintf(cell, CELL_MAX, "%s or more", l.s);
    else if (high == UINT64_MAX)
        snprintf(cell, CELL_MAX, "%s (from %s)", m.s, l.s);
    else
        snprintf(cell, CELL_MAX, "%s (%s - %s)", m.s, l.s, h.s);
    return cell;
}

static const char *ends(const struct kvmig_forecast *f)
{
    if (f->converges < 0)
        return "not known";
    if (f->converges)
        return f->certain ? "yes" : "likely";
    return f->certain ? "no" : "likely not";
}

static void print_limit(const struct kvmig_forecast *f, FILE *out)
{
    if (!f->limit_ms)
        return;
    fprintf(out, "  The completion limit is %s%s%s.\n", text_ms(f->limit_ms).s,
            f->over_limit == 1 ? "; it will likely be hit, then: " : "",
            f->over_limit == 1 ? kvmig_limit_action_name(f->limit_action) : "");
}

void forecast_print(const struct kvmig_plan *plan, FILE *out)
{
    static const char *const titles[] = { "STRATEGY", "ENDS", "TOTAL", "PAUSE", "DATA" };
    struct kvmig_forecast f = KVMIG_FORECAST_INIT;
    char total[CELL_MAX], pause[CELL_MAX];
    const char *reason = NULL, *name;
    struct table *table;
    int32_t strategy;

    if (kvmig_plan_forecast(plan, KVMIG_STRATEGY_PRE_COPY, &f) < 0)
        return;
    table = table_new(titles, 5);
    for (strategy = KVMIG_STRATEGY_PRE_COPY; strategy <= KVMIG_STRATEGY_POST_COPY; strategy++) {
        kvmig_plan_forecast(plan, strategy, &f);
        const struct text sent = text_bytes(f.sent_bytes);
        const char *const cells[] = { kvmig_strategy_name(strategy), ends(&f),
                                      range(total, f.total_ms, f.total_low_ms, f.total_high_ms),
                                      range(pause, f.pause_ms, f.pause_low_ms, f.pause_high_ms), sent.s };

        table_add(table, cells);
    }
    fprintf(out, "\nForecast:\n");
    table_print(table, out, "  ");
    table_free(table);
    strategy = kvmig_plan_recommended_strategy(plan, &reason);
    name = kvmig_strategy_name(strategy);
    fprintf(out, "  Recommended: %s. %s\n", name ? name : "none", reason ? reason : "");
    kvmig_plan_forecast(plan, KVMIG_STRATEGY_PRE_COPY, &f);
    if (f.lowest_pause_ms != UINT64_MAX)
        fprintf(out, "  Lowest limit of the pause with which pre-copy ends: %s.\n", text_ms(f.lowest_pause_ms).s);
    if (f.needed_bytes_per_s && f.needed_bytes_per_s != UINT64_MAX)
        fprintf(out, "  Or with a bandwidth of %s.\n", text_rate(f.needed_bytes_per_s).s);
    print_limit(&f, out);
}

/* ---- options ---- */

#define AT(member) offsetof(struct settings, member)

static const struct option_def options[] = {
    { .name = "measure",
      .kind = OPTION_SWITCH,
      .offset = AT(measure),
      .help = "measure first how fast the VM dirties its memory, for about six seconds (libvirt)" },
    { .name = "learned",
      .kind = OPTION_TEXT,
      .offset = AT(learned_path),
      .metavar = "FILE",
      .help = "read what earlier runs have learned of links and VMs from this file, and write it back; it is begun if "
              "it is "
              "not there" },
    { .name = "link",
      .kind = OPTION_NUMBER,
      .offset = AT(link_mib),
      .metavar = "MIB",
      .help = "what the network between the hosts carries, MiB/s; default: learned, or the bandwidth limit",
      .max = UINT32_MAX },
    { .name = "dirty",
      .kind = OPTION_LIST,
      .offset = AT(dirty),
      .metavar = "WINDOW=MIB",
      .help = "the VM dirties that many distinct MiB/s, seen over a window that long (\"1s=40\"); may be repeated with "
              "other windows" },
    { .name = "used",
      .kind = OPTION_NUMBER,
      .offset = AT(used_mib),
      .metavar = "MIB",
      .help = "memory of the VM that is not zero; default: learned, or all of it",
      .max = UINT32_MAX },
    { .name = "working-set",
      .kind = OPTION_NUMBER,
      .offset = AT(working_set_mib),
      .metavar = "MIB",
      .help = "memory that the VM ever writes",
      .max = UINT32_MAX },
    { .name = "busy",
      .kind = OPTION_NUMBER,
      .offset = AT(busy_percent),
      .metavar = "PERCENT",
      .help = "share of its CPUs' time that the VM uses",
      .max = 100 },
    { .name = "sharing",
      .kind = OPTION_NUMBER,
      .offset = AT(sharing),
      .metavar = "N",
      .help = "other migrations that use the link at the same time",
      .max = 1000 },
    { .name = NULL },
};
const struct option_group forecast_options = { "Forecast", options };
