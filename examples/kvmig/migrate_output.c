/* SPDX-License-Identifier: MIT-0 */
/*
 * What a running migration, or an operation on a port, shows. For people: one line per phase with the time since the
 * start, and the progress as one live line on a terminal, or as a plain line at most once a second and once per
 * memory round elsewhere. With --json: one line of JSON per event. Decides nothing.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tool.h"

#define BAR_CELLS 20
#define PLAIN_INTERVAL_MS 1000
#define DEFAULT_COLUMNS 80

struct output {
    bool json, kubevirt;
    bool terminal;
    bool live; /* the last line on the terminal is the progress */
    int64_t started_ms; /* time of the first event; 0 = none yet */
    int64_t printed_ms; /* of the last plain progress line */
    uint64_t printed_iteration;
    int32_t phase; /* the last one that was shown */
};

struct output *output_new(bool json, bool kubevirt)
{
    struct output *output = calloc(1, sizeof(*output));

    if (!output)
        abort();
    output->json = json;
    output->kubevirt = kubevirt;
    output->terminal = !json && isatty(STDOUT_FILENO);
    return output;
}

static void end_live(struct output *output)
{
    if (output->live)
        fputs("\r\033[K", stdout);
    output->live = false;
}

void output_free(struct output *output)
{
    if (!output)
        return;
    end_live(output);
    fflush(stdout);
    free(output);
}

void output_say(struct output *output, const char *fmt, ...)
{
    FILE *out = output->json ? stderr : stdout;
    va_list args;

    end_live(output);
    va_start(args, fmt);
    vfprintf(out, fmt, args);
    va_end(args);
    fputc('\n', out);
    fflush(out);
}

/* ---- progress ---- */

static uint64_t known(uint64_t value)
{
    return value == UINT64_MAX ? 0 : value;
}

/* How much of what is known to be left to send was sent; falls when the guest dirties memory again. -1 = not known. */
static int percent_of(const struct kvmig_progress *progress)
{
    uint64_t total = known(progress->memory_total) + known(progress->disk_total);
    uint64_t left = known(progress->memory_remaining) + known(progress->disk_remaining);

    if (total == 0 || progress->memory_remaining == UINT64_MAX)
        return -1;
    return left >= total ? 0 : (int)(100 * (double)(total - left) / (double)total);
}

static const char *explain_eta(int32_t reason)
{
    switch (reason) {
    case KVMIG_ETA_BANDWIDTH_LIMITED:
        return "as fast as the link";
    case KVMIG_ETA_BANDWIDTH_CAPPED:
        return "held by --bandwidth";
    case KVMIG_ETA_DIRTY_LIMITED:
        return "may never end: memory is dirtied as fast as it is sent";
    case KVMIG_ETA_DISK_LIMITED:
        return "disks are copied";
    case KVMIG_ETA_SWITCHING:
        return "handing over";
    case KVMIG_ETA_SETUP:
        return "connecting";
    default:
        return "too early to tell how long";
    }
}

struct line {
    char s[512];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void line_add(struct line *line, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(line->s + line->n, sizeof(line->s) - line->n, fmt, args);
    va_end(args);
    line->n += n > 0 ? (size_t)n : 0;
    if (line->n >= sizeof(line->s))
        line->n = sizeof(line->s) - 1;
}

static void add_memory(struct line *line, const struct kvmig_progress *p)
{
    if (known(p->memory_total) > 0)
        line_add(line, "  memory %s sent of %s, %s left;", text_bytes(p->memory_sent).s, text_bytes(p->memory_total).s,
                 text_bytes(p->memory_remaining).s);
    if (known(p->disk_total) > 0)
        line_add(line, "  disks %s of %s;", text_bytes(p->disk_sent).s, text_bytes(p->disk_total).s);
}

static void add_figures(struct line *line, const struct kvmig_progress *p)
{
    add_memory(line, p);
    if (known(p->bandwidth_bytes_per_s) > 0)
        line_add(line, "  %s;", text_rate(p->bandwidth_bytes_per_s).s);
    if (known(p->dirty_bytes_per_s) > 0)
        line_add(line, "  dirtied %s;", text_rate(p->dirty_bytes_per_s).s);
    if (known(p->iteration) > 0)
        line_add(line, "  round %llu;", (unsigned long long)p->iteration);
    if (p->throttle_percent > 0)
        line_add(line, "  CPUs slowed by %d%%;", (int)p->throttle_percent);
    if (p->final_pause_ms != UINT64_MAX) {
        line_add(line, "  the guest was paused for %s", text_ms(p->final_pause_ms).s);
        return;
    }
    if (p->expected_pause_ms != UINT64_MAX)
        line_add(line, "  expected pause %s;", text_ms(p->expected_pause_ms).s);
    if (p->eta_ms != UINT64_MAX)
        line_add(line, "  %s to go (%s)", text_ms(p->eta_ms).s, explain_eta(p->eta_reason));
    else
        line_add(line, "  %s", explain_eta(p->eta_reason));
}

static size_t columns(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        return size.ws_col - 1u; /* the last column would wrap */
    return DEFAULT_COLUMNS - 1;
}

/* What matters most comes first: a narrow terminal cuts the line off. */
static void add_compact(struct line *line, const struct kvmig_progress *p)
{
    bool memory = known(p->memory_total) > 0, disks = known(p->disk_total) > 0;

    if (memory)
        line_add(line, "  %s left", text_bytes(known(p->memory_remaining) + known(p->disk_remaining)).s);
    else if (disks)
        line_add(line, "  disks %s of %s", text_bytes(p->disk_sent).s, text_bytes(p->disk_total).s);
    if (memory && known(p->bandwidth_bytes_per_s) > 0)
        line_add(line, ", %s", text_rate(p->bandwidth_bytes_per_s).s);
    if ((memory || disks) && p->eta_ms != UINT64_MAX)
        line_add(line, ", %s to go", text_ms(p->eta_ms).s);
    if (known(p->iteration) > 0)
        line_add(line, ", round %llu", (unsigned long long)p->iteration);
    if (p->throttle_percent > 0)
        line_add(line, ", CPUs -%d%%", (int)p->throttle_percent);
    line_add(line, " (%s)", explain_eta(p->eta_reason));
    if (known(p->dirty_bytes_per_s) > 0)
        line_add(line, "  dirtied %s", text_rate(p->dirty_bytes_per_s).s);
    if (p->expected_pause_ms != UINT64_MAX)
        line_add(line, "  expected pause %s", text_ms(p->expected_pause_ms).s);
    if (memory)
        line_add(line, "  memory sent %s of %s", text_bytes(p->memory_sent).s, text_bytes(p->memory_total).s);
    if (memory && disks)
        line_add(line, "  disks %s of %s", text_bytes(p->disk_sent).s, text_bytes(p->disk_total).s);
}

static void show_live(struct output *output, const struct kvmig_progress *progress)
{
    struct line line = { .n = 0 };
    int percent = percent_of(progress);
    int cells = percent < 0 ? 0 : percent * BAR_CELLS / 100;

    line_add(&line, "[");
    for (int i = 0; i < BAR_CELLS; i++)
        line_add(&line, "%c", i < cells ? '#' : '.');
    if (percent < 0)
        line_add(&line, "]     ");
    else
        line_add(&line, "] %3d%%", percent);
    add_compact(&line, progress);
    printf("\r%.*s\033[K", (int)columns(), line.s);
    fflush(stdout);
    output->live = true;
}

static void show_plain(struct output *output, const struct kvmig_progress *progress, int64_t now_ms)
{
    struct line line = { .n = 0 };
    int percent = percent_of(progress);

    if (output->printed_ms && now_ms - output->printed_ms < PLAIN_INTERVAL_MS &&
        progress->iteration == output->printed_iteration)
        return;
    output->printed_ms = now_ms;
    output->printed_iteration = progress->iteration;
    if (percent < 0)
        line_add(&line, "     ");
    else
        line_add(&line, "%4d%%", percent);
    add_figures(&line, progress);
    printf("%s\n", line.s);
    fflush(stdout);
}

/* ---- events for people ---- */

static void stamp(const struct output *output, const struct kvmig_event *event)
{
    printf("%7.1f s  ", (double)(kvmig_event_time(event) - output->started_ms) / 1000);
}

static const char *explain_phase(int32_t phase)
{
    switch (phase) {
    case KVMIG_PHASE_PENDING:
        return "waits for a slot and checks the plan again";
    case KVMIG_PHASE_SCHEDULING:
        return "connects to both hosts";
    case KVMIG_PHASE_PREPARING_TARGET:
        return "creates what the target needs";
    case KVMIG_PHASE_RUNNING:
        return "copies; the guest runs on the source";
    case KVMIG_PHASE_FINALIZING:
        return "proves that the guest runs on the target, cleans the source";
    case KVMIG_PHASE_ROLLING_BACK:
        return "finds the guest and undoes what was created";
    default:
        return NULL;
    }
}

/* Of a VMIM. */
static const char *explain_kubevirt_phase(int32_t phase)
{
    switch (phase) {
    case KVMIG_PHASE_PENDING:
        return "KubeVirt looks for a target: a slot, a pod, a node";
    case KVMIG_PHASE_SCHEDULING:
        return "the target's pod starts";
    case KVMIG_PHASE_SCHEDULED:
        return "the target's pod is ready";
    case KVMIG_PHASE_PREPARING_TARGET:
        return "the target's node gets ready to receive";
    case KVMIG_PHASE_TARGET_READY:
        return "the source's node is asked to begin";
    case KVMIG_PHASE_RUNNING:
        return "KubeVirt copies; the guest runs on the source";
    case KVMIG_PHASE_FINALIZING:
        return "proves that the guest runs on the target";
    case KVMIG_PHASE_ROLLING_BACK:
        return "finds the guest, and takes back what was begun";
    default:
        return NULL;
    }
}

/* The terminal event repeats the phase that the event before it told. */
static void show_phase(struct output *output, const struct kvmig_event *event)
{
    int32_t phase = kvmig_event_phase(event);
    const char *name = kvmig_phase_name(phase);
    const char *meaning = output->kubevirt ? explain_kubevirt_phase(phase) : explain_phase(phase);

    if (phase == output->phase)
        return;
    output->phase = phase;
    stamp(output, event);
    printf("%s%s%s\n", name ? name : "?", meaning ? ": " : "", meaning ? meaning : "");
}

static const char *explain_cancel(int32_t result)
{
    switch (result) {
    case KVMIG_CANCEL_ACCEPTED:
        return "cancel accepted; it is being undone";
    case KVMIG_CANCEL_TOO_LATE:
        return "too late to cancel: the guest has moved";
    case KVMIG_CANCEL_DEFERRED:
        return "cancel noted; KubeVirt acts on it only once the copy runs, or when its own time-outs end the "
               "preparation";
    case KVMIG_CANCEL_WILL_RETURN:
        return "cancel accepted; but the cluster will start this migration again";
    case KVMIG_CANCEL_REFUSED:
        return "cancel refused: in post-copy it would lose the guest";
    default:
        return "a host does not answer; what becomes of the cancel is being found out";
    }
}

static void show_queued(const struct output *output, const struct kvmig_event *event)
{
    const struct kvmig_finding *finding = kvmig_event_finding(event);

    stamp(output, event);
    printf("waits for a slot, place %u in the queue", (unsigned)kvmig_event_queue_position(event));
    if (finding)
        printf(": %s", kvmig_finding_message(finding));
    putchar('\n');
}

static void show_mode(const struct output *output, const struct kvmig_event *event)
{
    stamp(output, event);
    switch (kvmig_event_mode(event)) {
    case KVMIG_MODE_PRE_COPY:
        puts("the guest runs on the source");
        break;
    case KVMIG_MODE_POST_COPY:
        puts("post-copy: the guest runs on the target and fetches its memory; no way back");
        break;
    default:
        puts("the guest is paused while the rest is copied");
        break;
    }
}

static void show_port(const struct output *output, const struct kvmig_event *event)
{
    const struct kvmig_error *error = kvmig_event_error(event);
    const char *name = kvmig_port_state_name(kvmig_event_port_state(event));
    const char *meaning = error ? kvmig_error_message(error) : port_state_meaning(kvmig_event_port_state(event));

    stamp(output, event);
    printf("port %s: %s%s%s\n", kvmig_event_port(event), name ? name : "?", meaning ? ": " : "",
           meaning ? meaning : "");
    if (error && *kvmig_error_hint(error))
        printf("%11s advice: %s\n", "", kvmig_error_hint(error));
}

static void show_wait(const struct output *output, const struct kvmig_event *event)
{
    const struct kvmig_finding *finding = kvmig_event_finding(event);

    if (!finding)
        return;
    stamp(output, event);
    printf("waits: %s: %s\n", kvmig_finding_object(finding), kvmig_finding_message(finding));
    if (*kvmig_finding_hint(finding))
        printf("%11s advice: %s\n", "", kvmig_finding_hint(finding));
}

static void show_event(struct output *output, const struct kvmig_event *event)
{
    const struct kvmig_progress *progress = kvmig_event_progress(event);

    if (!output->started_ms)
        output->started_ms = kvmig_event_time(event);
    if (kvmig_event_type(event) == KVMIG_EVENT_PROGRESS && progress) {
        if (output->terminal)
            show_live(output, progress);
        else
            show_plain(output, progress, kvmig_event_time(event));
        return;
    }
    end_live(output);
    switch (kvmig_event_type(event)) {
    case KVMIG_EVENT_PHASE:
    case KVMIG_EVENT_END:
        show_phase(output, event);
        break;
    case KVMIG_EVENT_QUEUED:
        show_queued(output, event);
        break;
    case KVMIG_EVENT_NOTICE:
        if (kvmig_event_finding(event))
            finding_print(kvmig_event_finding(event), stdout);
        break;
    case KVMIG_EVENT_WAIT:
        show_wait(output, event);
        break;
    case KVMIG_EVENT_CANCEL:
        stamp(output, event);
        printf("%s\n", explain_cancel(kvmig_event_cancel_result(event)));
        break;
    case KVMIG_EVENT_MODE:
        show_mode(output, event);
        break;
    case KVMIG_EVENT_PORT:
        show_port(output, event);
        break;
    default:
        break;
    }
    fflush(stdout);
}

void output_event(struct output *output, const struct kvmig_event *event)
{
    char *text = NULL;

    if (!output->json) {
        show_event(output, event);
        return;
    }
    if (kvmig_event_to_json(event, &text) == 0)
        printf("%s\n", text);
    fflush(stdout);
    free(text);
}
