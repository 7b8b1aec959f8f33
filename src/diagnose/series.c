/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Statistics of a job over time: does it get anywhere? Judged by what moved and by the low-water mark of what remains, over a window,
 * never by one sample or by throughput: zero pages cost no bytes, and what remains swings within a round (libvirt.md 4.1). Pure.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>

#define SILENT_MS 30000 /* without a byte: no normal set-up or round takes so long */
#define WINDOW_MS 40000 /* some rounds, for the mark to be a mark */
#define PROGRESS_PERMILLE 40 /* less over a window is none */
#define DEFAULT_LIMIT_MS 300 /* QEMU's downtime-limit */
#define DEFAULT_PAGE 4096
#define MIN_SAMPLES 4 /* fewer are no course */

static uint64_t known(uint64_t value)
{
    return value == KVMIG__UNKNOWN ? 0 : value;
}

/* Everything that only grows while something happens: bytes that were sent, and zero pages that were passed. */
static uint64_t moved(const struct kvmig__fact_sample *sample)
{
    uint64_t memory = known(sample->memory_processed);

    if (known(sample->memory_normal_bytes) > memory)
        memory = sample->memory_normal_bytes;
    return memory + known(sample->disk_processed) + known(sample->memory_constant);
}

static uint64_t remaining(const struct kvmig__fact_sample *sample)
{
    return known(sample->memory_remaining) + known(sample->disk_remaining);
}

/* Memory has its turn once disks are copied; until then its counters stand, or are not told. */
static bool copies_memory(const struct kvmig__fact_sample *sample)
{
    return known(sample->memory_processed) || known(sample->memory_normal_bytes) || known(sample->memory_constant);
}

static bool tells_movement(const struct kvmig__fact_sample *sample)
{
    return sample->elapsed_ms != KVMIG__UNKNOWN &&
           (sample->memory_remaining != KVMIG__UNKNOWN || sample->disk_remaining != KVMIG__UNKNOWN) &&
           (sample->memory_processed != KVMIG__UNKNOWN || sample->memory_normal_bytes != KVMIG__UNKNOWN ||
            sample->disk_processed != KVMIG__UNKNOWN);
}

struct course { /* the usable samples of one job, in order of time */
    const struct kvmig__fact_sample **v;
    size_t n;
    const char *file;
};

/* A clock that jumps back is another job: the last one counts. */
static void read_course(const struct kvmig__fact_samples *series, struct course *out)
{
    out->file = series->file;
    for (size_t i = 0; i < series->n; i++) {
        const struct kvmig__fact_sample *sample = &series->v[i];

        if (!tells_movement(sample))
            continue;
        if (out->n && sample->elapsed_ms < out->v[out->n - 1]->elapsed_ms)
            out->n = 0;
        *KVMIG__PUSH(out) = sample;
    }
}

static const struct kvmig__fact_sample *last_of(const struct course *course)
{
    return course->v[course->n - 1];
}

/* For how long nothing has moved at the end; 0 if it moved with the last sample. Pages of zeros lower what remains, and may not be
 * counted otherwise. */
static uint64_t silence_ms(const struct course *course)
{
    const struct kvmig__fact_sample *last = last_of(course);
    size_t first = course->n - 1;

    while (first > 0 && moved(course->v[first - 1]) == moved(last) &&
           remaining(course->v[first - 1]) <= remaining(course->v[first]))
        first--;
    return last->elapsed_ms - course->v[first]->elapsed_ms;
}

static bool copies_a_disk(const struct kvmig__case *c)
{
    for (size_t i = 0; i < c->facts->block_jobs.n; i++)
        if (kvmig__str_eq(c->facts->block_jobs.v[i].type, "mirror") && c->facts->block_jobs.v[i].ready == 0)
            return true;
    return false;
}

static void add_place(struct kvmig__detail *detail, const struct course *course)
{
    kvmig__detail_str(detail, "source", course->file);
    kvmig__detail_uint(detail, "line", last_of(course)->line);
}

/* Pages are fetched on demand only after the switch. */
static bool is_postcopy(const struct kvmig__fact_sample *sample)
{
    return known(sample->postcopy_requests) > 0;
}

/* true = it stands still, and that was said */
static bool judge_silence(struct kvmig__case *c, const struct course *course)
{
    const struct kvmig__fact_sample *last = last_of(course);
    const uint64_t silent = silence_ms(course);
    struct kvmig__detail detail = { 0 };

    if (moved(last) == 0 && last->elapsed_ms >= SILENT_MS && !copies_a_disk(c)) {
        kvmig__detail_uint(&detail, "silent_ms", last->elapsed_ms);
        add_place(&detail, course);
        kvmig__case_note(c, "STUCK_HANDSHAKE", KVMIG_SEVERITY_ERROR, kvmig__strdup(c->vm_object), &detail,
                         "Abort it, and look at what connects the hosts: TLS together with parallel connections, "
                         "firewalls, the migration port.",
                         "Not a byte has moved since the start %llu s ago: the connection was never set up.",
                         (unsigned long long)last->elapsed_ms / 1000);
        kvmig__case_act(c, "ABORT_JOB", kvmig__strdup(c->vm_object), NULL,
                        "Abort the job: nothing was sent, and the guest runs on the source.");
        return true;
    }
    if (silent < SILENT_MS || moved(last) == 0 || remaining(last) == 0)
        return false;
    kvmig__detail_uint(&detail, "silent_ms", silent);
    add_place(&detail, course);
    kvmig__case_note(
        c, "TRANSPORT_STALLED", KVMIG_SEVERITY_ERROR, kvmig__strdup(c->vm_object), &detail,
        "See whether the hosts reach each other, and whether the target lives; this has nothing to do with how "
        "much the guest writes.",
        "No byte has moved for %llu s.", (unsigned long long)silent / 1000);
    if (!is_postcopy(last))
        kvmig__case_act(c, "ABORT_JOB", kvmig__strdup(c->vm_object), NULL,
                        "Abort the job on the source, where the guest runs, unless the link comes back at once.");
    return true;
}

/* The low-water mark of what remains of memory. */
static uint64_t lowest(const struct course *course, uint64_t from_ms, uint64_t to_ms)
{
    uint64_t low = KVMIG__UNKNOWN;

    for (size_t i = 0; i < course->n; i++) {
        const struct kvmig__fact_sample *sample = course->v[i];

        if (sample->elapsed_ms >= from_ms && sample->elapsed_ms <= to_ms && copies_memory(sample) &&
            sample->memory_remaining < low)
            low = sample->memory_remaining;
    }
    return low;
}

/* With how much the rounds began that began in that time: the least of them. A round is as large as the most
 * that remained in it, as far as samples show that. */
static uint64_t smallest_round(const struct course *course, uint64_t from_ms, uint64_t to_ms)
{
    uint64_t least = KVMIG__UNKNOWN;

    for (size_t i = 0; i < course->n;) {
        const uint64_t round = course->v[i]->iteration, begun_ms = course->v[i]->elapsed_ms;
        uint64_t size = 0;

        for (; i < course->n && course->v[i]->iteration == round; i++)
            if (known(course->v[i]->memory_remaining) > size)
                size = course->v[i]->memory_remaining;
        if (begun_ms >= from_ms && begun_ms <= to_ms && size && size < least)
            least = size;
    }
    return least;
}

static uint64_t last_round_begun_ms(const struct course *course)
{
    size_t i = course->n - 1;

    while (i > 0 && course->v[i - 1]->iteration == course->v[i]->iteration)
        i--;
    return course->v[i]->elapsed_ms;
}

static bool is_progress(uint64_t before, uint64_t now)
{
    return now < before && before - now >= before / 1000 * PROGRESS_PERMILLE;
}

/* Rounds that become smaller are progress, even if the present one has not come as low as the last one did. */
static bool rounds_shrink(const struct course *course, uint64_t begin_ms)
{
    const struct kvmig__fact_sample *last = last_of(course);
    const uint64_t begun = last_round_begun_ms(course);
    uint64_t before, now;

    if (last->iteration == KVMIG__UNKNOWN)
        return false;
    if (begun <= begin_ms) { /* one round is longer than the window */
        if (!begun)
            return true;
        now = smallest_round(course, begun, begun);
        before = smallest_round(course, 0, begun - 1);
    } else {
        now = smallest_round(course, begin_ms + 1, last->elapsed_ms);
        before = smallest_round(course, 0, begin_ms);
    }
    return before == KVMIG__UNKNOWN || is_progress(before, now);
}

/* Of the window's end, which is what it can do now: as told, on the average, else from what moved. bytes/s; 0 = not known. */
static uint64_t bandwidth(const struct course *course)
{
    const struct kvmig__fact_sample *last = last_of(course), *first = last;
    uint64_t sum = 0, n = 0;

    for (size_t i = course->n; i-- > 0 && last->elapsed_ms - course->v[i]->elapsed_ms <= WINDOW_MS;) {
        first = course->v[i];
        if (known(first->memory_bps) && first->memory_bps < UINT64_MAX / 65536) {
            sum += first->memory_bps;
            n++;
        }
        if (n == 65535)
            break;
    }
    if (n)
        return sum / n;
    return last->elapsed_ms > first->elapsed_ms && moved(last) > moved(first)
               ? (moved(last) - moved(first)) / (last->elapsed_ms - first->elapsed_ms) * 1000
               : 0;
}

static void judge_dirtying(struct kvmig__case *c, const struct course *course, uint64_t bytes_per_s)
{
    const struct kvmig__fact_sample *last = last_of(course);
    const uint64_t page = known(last->page_size) ? last->page_size : DEFAULT_PAGE;
    struct kvmig__detail detail = { 0 };

    if (!known(last->memory_dirty_rate) || last->memory_dirty_rate > UINT64_MAX / page ||
        last->memory_dirty_rate * page <= bytes_per_s)
        return;
    kvmig__detail_uint(&detail, "dirty_bytes_per_s", last->memory_dirty_rate * page);
    kvmig__detail_uint(&detail, "bytes_per_s", bytes_per_s);
    add_place(&detail, course);
    kvmig__case_note(
        c, "DIRTY_RATE_ABOVE_BANDWIDTH", KVMIG_SEVERITY_ERROR, kvmig__strdup(c->vm_object), &detail,
        "Time does not help: slow the guest down (auto-converge), use post-copy, or give it more bandwidth.",
        "The guest dirties memory faster than it is sent.");
}

/* What the caller permits decides what is advised; a raised pause is the mildest, and ends the copy whatever the guest writes. */
static void advise(struct kvmig__case *c, uint64_t need_ms)
{
    const uint64_t ceiling = c->ask->plan.forecast.ceiling_ms, ample_ms = need_ms + need_ms / 8;
    struct kvmig__detail detail = { 0 };

    if (need_ms <= ceiling) {
        kvmig__detail_uint(&detail, "max_downtime_ms", ample_ms <= ceiling ? ample_ms : ceiling);
        kvmig__case_act(c, "RAISE_MAX_DOWNTIME", kvmig__strdup(c->vm_object), &detail,
                        "Raise the allowed pause: the switch would need %llu ms now.", (unsigned long long)need_ms);
    } else if (c->ask->plan.flags & KVMIG_PLAN_ALLOW_POSTCOPY) {
        kvmig__case_act(c, "SWITCH_TO_POSTCOPY", kvmig__strdup(c->vm_object), NULL,
                        "Switch the job to post-copy, which the caller permits.");
    }
}

static size_t count_since(const struct course *course, uint64_t from_ms)
{
    size_t n = 0;

    for (size_t i = 0; i < course->n; i++)
        n += course->v[i]->elapsed_ms >= from_ms;
    return n;
}

/* There is enough to judge by: some rounds, some samples, and a window between them. */
static bool can_judge(const struct course *course)
{
    const struct kvmig__fact_sample *last = last_of(course);

    return last->elapsed_ms >= WINDOW_MS && known(last->iteration) != 1 && copies_memory(last) &&
           course->n >= MIN_SAMPLES && count_since(course, last->elapsed_ms - WINDOW_MS + 1) >= 2;
}

static void say_not_converging(struct kvmig__case *c, const struct course *course, uint64_t need_ms, uint64_t limit,
                               uint64_t bytes_per_s)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_uint(&detail, "needed_ms", need_ms);
    kvmig__detail_uint(&detail, "limit_ms", limit);
    kvmig__detail_uint(&detail, "bytes_per_s", bytes_per_s);
    add_place(&detail, course);
    kvmig__case_note(
        c, "NOT_CONVERGING", KVMIG_SEVERITY_ERROR, kvmig__strdup(c->vm_object), &detail,
        "Allow the pause that is needed, slow the guest down, or use post-copy.",
        "What remains has not fallen for %d s: the switch would need a pause of %llu ms, and %llu ms are allowed.",
        WINDOW_MS / 1000, (unsigned long long)need_ms, (unsigned long long)limit);
    judge_dirtying(c, course, bytes_per_s);
    advise(c, need_ms);
}

static void judge_convergence(struct kvmig__case *c, const struct course *course)
{
    const struct kvmig__fact_sample *last = last_of(course);
    const uint64_t bytes_per_s = bandwidth(course);
    const uint64_t limit = c->ask->plan.max_downtime_ms ? c->ask->plan.max_downtime_ms : DEFAULT_LIMIT_MS;
    const uint64_t begin = last->elapsed_ms > WINDOW_MS ? last->elapsed_ms - WINDOW_MS : 0;
    const uint64_t before = lowest(course, 0, begin), now = lowest(course, begin + 1, last->elapsed_ms);
    uint64_t need_ms;
    bool falls;

    if (!can_judge(course) || before == KVMIG__UNKNOWN || now == KVMIG__UNKNOWN)
        falls = remaining(last) < remaining(course->v[0]);
    else
        falls = is_progress(before, now) || rounds_shrink(course, begin);
    kvmig__case_state(c, KVMIG__KNOWN_RUNNING, falls ? "CONVERGING" : "RUNNING", "the job copies");
    if (falls || !can_judge(course) || !bytes_per_s || now == KVMIG__UNKNOWN || before == KVMIG__UNKNOWN)
        return;
    need_ms = now > UINT64_MAX / 1000 ? UINT64_MAX / 2 : now * 1000 / bytes_per_s;
    if (need_ms > limit)
        say_not_converging(c, course, need_ms, limit, bytes_per_s);
}

static void judge(struct kvmig__case *c, const struct course *course)
{
    const bool silent = judge_silence(c, course);

    if (is_postcopy(last_of(course))) { /* also if it stands: a cancel would lose the guest */
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "POSTCOPY_ACTIVE",
                          "the guest runs on the target and still fetches memory from the source");
    } else if (silent) {
        kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "the job stands");
    } else {
        judge_convergence(c, course);
    }
}

void kvmig__diagnose_series(struct kvmig__case *c)
{
    for (size_t i = 0; i < c->facts->series.n; i++) {
        struct course course = { .n = 0 };

        read_course(&c->facts->series.v[i], &course);
        if (course.n)
            judge(c, &course);
        free(course.v);
    }
}
