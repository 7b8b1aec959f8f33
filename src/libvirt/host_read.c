/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeping a host's facts fresh: reads it every refresh_ms, reports what it reads or that it is lost, and comes back to a lost
 * host after one second, two, four, up to thirty. Does not: interpret anything (inventory*.c read, the cluster compares).
 *
 * A reading is one job on the read lane, with as many calls as the host has domains and volumes; what is limited is
 * each call: the reading shows a pulse, and when one call takes longer than call_timeout_ms the lane is given up with the
 * thread that hangs in it, and the host is lost. One guest whose QEMU does not answer shall not make its host lost: then
 * the host is read again without asking QEMUs, until that call returns: when storage hangs, many do. Reports are the last act of whatever runs here, because they may close us.
 *
 * Runs in dispatch with the context lock held, but for the job itself. A reading owns its cache and its facts; the backend
 * only looks at the pulse.
 */
#include "libvirt/host_internal.h"
#include "libvirt/inventory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define FIRST_BACK_OFF_MS 1000
#define MAX_BACK_OFF_MS 30000
/* Volumes and block devices seldom change by themselves, and reading them costs the host. */
#define FULL_EVERY_MS 60000
/* Since when, if no call is made any more: so far ahead that it is never due, and can still be added to. */
#define NO_CALL (INT64_MAX / 2)

struct kvmig__reading_job {
    struct kvmig__channel_job base;
    struct kvmig__pulse pulse;
    char *uri;
    struct kvmig__queries queries;
    int32_t depth;
    bool spare_guests;
    struct kvmig__cache *cache;
    /* answers */
    struct kvmig__host *facts; /* NULL: error says why */
    struct kvmig_error *error;
    struct kvmig__strlist remarks;
};

/* ---- the job ---- */

static void run_reading(void *payload)
{
    struct kvmig__reading_job *job = payload;
    struct kvmig__inventory inv = { .label = job->uri,
                                    .queries = &job->queries,
                                    .depth = job->depth,
                                    .spare_guests = job->spare_guests,
                                    .cache = job->cache,
                                    .pulse = &job->pulse };

    kvmig__inventory_calls(&inv, "virConnectOpenAuth");
    inv.conn = kvmig__link_open(job->base.link, &job->error);
    if (inv.conn) {
        inv.host = kvmig__host_new();
        if (kvmig__inventory_run(&inv)) {
            job->facts = inv.host;
        } else {
            kvmig__host_free(inv.host);
            job->error = inv.error;
        }
        job->remarks = inv.remarks;
    }
    job->pulse.since_ms = NO_CALL; /* a loop that comes late must not take this for a call that hangs */
}

static void free_reading(void *payload)
{
    struct kvmig__reading_job *job = payload;

    kvmig__channel_job_clear(&job->base);
    free(job->uri);
    kvmig__queries_clear(&job->queries);
    kvmig__cache_free(job->cache);
    kvmig__host_free(job->facts);
    kvmig__error_free(job->error);
    kvmig__strlist_clear(&job->remarks);
    free(job);
}

/* ---- reports; each is the last thing that its caller does ---- */

static void report_lost(struct kvmig__virt_host *h, struct kvmig_error *error)
{
    kvmig__log(h->context, KVMIG_LOG_INFO, "libvirt", "%s is lost: %s", h->uri, kvmig_error_message(error));
    kvmig__cache_free(h->cache);
    h->cache = NULL;
    kvmig__timer_arm_in(&h->next, h->again ? 0 : h->back_off_ms);
    h->again = false;
    h->back_off_ms = h->back_off_ms * 2 < MAX_BACK_OFF_MS ? h->back_off_ms * 2 : MAX_BACK_OFF_MS;
    kvmig__cluster_host_lost(h->host, error);
}

static void report_facts(struct kvmig__virt_host *h, struct kvmig__reading_job *job)
{
    struct kvmig__host *facts = job->facts;

    kvmig__log(h->context, KVMIG_LOG_DEBUG, "libvirt", "%s: read in %" PRId64 " ms", h->uri,
               kvmig__now_ms() - h->host->begun_ms);
    for (size_t i = 0; i < job->remarks.n; i++)
        kvmig__log(h->context, KVMIG_LOG_DEBUG, "libvirt", "%s: %s", h->uri, job->remarks.v[i]);
    kvmig__cache_free(h->cache);
    h->cache = job->cache;
    job->cache = NULL;
    job->facts = NULL;
    h->back_off_ms = FIRST_BACK_OFF_MS;
    if (job->depth != KVMIG__DEPTH_USUAL)
        h->full_ms = kvmig__now_ms();
    kvmig__timer_arm_in(&h->next, h->again ? 0 : h->refresh_ms);
    h->again = false;
    kvmig__cluster_host_facts(h->host, facts);
}

static void reading_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_host *h = owner;
    struct kvmig__reading_job *job = payload;

    h->reading = NULL;
    kvmig__timer_disarm(&h->watch);
    kvmig__channel_landed(&h->read, job ? &job->base : NULL);
    if (!job) {
        report_lost(h, kvmig__error_new(status, h->uri, NULL, "the process may have too many threads",
                                        "no thread could be started to read the host"));
    } else if (job->facts) {
        report_facts(h, job);
    } else {
        struct kvmig_error *error = job->error;

        job->error = NULL;
        report_lost(h, error);
    }
}

static const struct kvmig__job_type reading_type = { "reading the host", run_reading, reading_done, free_reading };

/* ---- when to read ---- */

static int32_t choose_depth(const struct kvmig__virt_host *h, bool thorough)
{
    if (thorough)
        return KVMIG__DEPTH_THOROUGH;
    return kvmig__now_ms() - h->full_ms >= FULL_EVERY_MS ? KVMIG__DEPTH_FULL : KVMIG__DEPTH_USUAL;
}

static void begin(struct kvmig__virt_host *h)
{
    const struct kvmig__reading reading = kvmig__cluster_host_begin(h->host);
    struct kvmig__reading_job *job;

    if (kvmig__channel_is_jammed(&h->read)) {
        report_lost(h,
                    kvmig__error_new(-KVMIG_EUNREACHABLE, h->uri, NULL,
                                     "look after the libvirt daemon there; the host is read again once a call returns",
                                     "%d calls to the host still hang", KVMIG__CHANNEL_MAX_LOST));
        return;
    }
    job = kvmig__calloc(1, sizeof(*job));
    job->uri = kvmig__strdup(h->uri);
    kvmig__queries_copy(&job->queries, reading.queries);
    job->depth = choose_depth(h, reading.thorough);
    h->guest_hung = h->guest_hung && kvmig__channel_lost(&h->read) > 0;
    job->spare_guests = h->guest_hung;
    job->cache = h->cache ? h->cache : kvmig__cache_new();
    h->cache = NULL;
    job->pulse.since_ms = kvmig__now_ms();
    job->pulse.call = "starting the thread";
    h->reading = job;
    kvmig__timer_arm_in(&h->watch, h->call_timeout_ms);
    kvmig__channel_submit(&h->read, &reading_type, h, &job->base, -1);
}

static void on_next(void *data)
{
    struct kvmig__virt_host *h = data;

    if (!h->reading)
        begin(h);
}

static void on_watch(void *data)
{
    struct kvmig__virt_host *h = data;
    const int64_t due_ms = h->reading->pulse.since_ms + h->call_timeout_ms;
    const char *call = h->reading->pulse.call;
    const bool asks_guest = h->reading->pulse.asks_guest;

    if (kvmig__now_ms() < due_ms) {
        kvmig__timer_arm(&h->watch, due_ms);
        return;
    }
    h->reading = NULL; /* the hung thread's alone from here on */
    kvmig__channel_renew(&h->read);
    if (asks_guest && !h->guest_hung) {
        kvmig__log(h->context, KVMIG_LOG_WARN, "libvirt", "%s: %s hangs, a guest's QEMU does not answer", h->uri, call);
        h->guest_hung = true;
        h->host->thorough = true; /* what the hung one was to be, perhaps */
        kvmig__timer_arm_in(&h->next, 0);
        return;
    }
    report_lost(h, kvmig__error_new(
                       -KVMIG_EUNREACHABLE, h->uri, call, "look after the libvirt daemon there, and the network to it",
                       "the host does not answer: %s has taken longer than %" PRIu32 " ms", call, h->call_timeout_ms));
}

/* Never reads or reports from inside: whoever asks is in the middle of something. */
void kvmig__virt_read_refresh(struct kvmig__host_backend *backend)
{
    struct kvmig__virt_host *h = (struct kvmig__virt_host *)backend;

    if (h->reading)
        h->again = true;
    else
        kvmig__timer_arm_in(&h->next, 0);
}

void kvmig__virt_read_init(struct kvmig__virt_host *h, virConnectPtr given)
{
    kvmig__channel_init(&h->read, h->context, "read", h->uri, given);
    kvmig__timer_init(&h->next, h->context, on_next, h);
    kvmig__timer_init(&h->watch, h->context, on_watch, h);
    h->back_off_ms = FIRST_BACK_OFF_MS;
    kvmig__timer_arm_in(&h->next, 0);
}

void kvmig__virt_read_close(struct kvmig__virt_host *h)
{
    kvmig__timer_disarm(&h->next);
    kvmig__timer_disarm(&h->watch);
    kvmig__channel_close(&h->read);
    kvmig__cache_free(h->cache);
}
