/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The request: the caller's options, copied and validated for form only (whether they fit the VM and the hosts is a matter
 * of the checks). Pure; any thread. A request owns all it holds.
 */
#include "plan/plan_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_FLAGS                                                                                                    \
    ((uint64_t)(KVMIG_PLAN_MANAGED | KVMIG_PLAN_UNSAFE | KVMIG_PLAN_AUTO_CONVERGE | KVMIG_PLAN_ALLOW_POSTCOPY |        \
                KVMIG_PLAN_POSTCOPY_AFTER_PRECOPY | KVMIG_PLAN_TLS | KVMIG_PLAN_TRANSIENT_TARGET |                     \
                KVMIG_PLAN_KEEP_SOURCE_DEFINITION | KVMIG_PLAN_ABORT_ON_IO_ERROR | KVMIG_PLAN_ANY_TARGET |             \
                KVMIG_PLAN_FOR_DRAIN))

int32_t kvmig_plan_opts_init(struct kvmig_plan_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_plan_opts_init");
}

/* Fails with -EINVAL; evidence is taken. */
static int32_t refuse(const char *where, const char *option, char *evidence, const char *hint, const char *message)
{
    char *place = kvmig__asprintf("%s, option %s", where, option);
    int32_t rc = kvmig__fail(kvmig__error_new(EINVAL, place, evidence, hint, "%s", message));

    free(evidence);
    free(place);
    return rc;
}

static int32_t validate_numbers(const struct kvmig_plan_opts *opts, const char *where)
{
    if (opts->flags & ~KNOWN_FLAGS)
        return refuse(where, "flags", kvmig__asprintf("unknown bits 0x%" PRIx64, opts->flags & ~KNOWN_FLAGS),
                      "Use only enum kvmig_plan_flags of the library that is loaded.",
                      "A flag is set that this version of the library does not know.");
    if (opts->copy < KVMIG_COPY_AUTO || opts->copy > KVMIG_COPY_INCREMENTAL)
        return refuse(where, "copy", kvmig__asprintf("copy = %" PRId32, opts->copy), "Use an enum kvmig_copy.",
                      "The way to copy disks is not known.");
    if (opts->handover < KVMIG_HANDOVER_NORMAL || opts->handover > KVMIG_HANDOVER_STRICT)
        return refuse(where, "handover", kvmig__asprintf("handover = %" PRId32, opts->handover),
                      "Use an enum kvmig_handover.", "The kind of hand-over is not known.");
    if (opts->now_ms < 0)
        return refuse(where, "now_ms", kvmig__asprintf("now_ms = %" PRId64, opts->now_ms),
                      "Give milliseconds since 1970, or 0.", "The time of the question is before 1970.");
    return 0;
}

/* A number without a list; what: of what they are. */
static int32_t validate_list(const char *where, const char *option, const void *list, size_t n, const char *what)
{
    char *hint, *message;
    int32_t rc;

    if (!n || list)
        return 0;
    hint = kvmig__asprintf("Set %s and n_%s together.", option, option);
    message = kvmig__asprintf("A number of %s is given, but no list.", what);
    rc = refuse(where, option, kvmig__asprintf("n_%s = %zu", option, n), hint, message);
    free(hint);
    free(message);
    return rc;
}

static int32_t validate_texts(const char *where, const char *option, const char *const *list, size_t n,
                              const char *what, const char *hint)
{
    int32_t rc = validate_list(where, option, list, n, what);

    for (size_t i = 0; i < n && rc == 0; i++) {
        if (!list[i] || !*list[i])
            rc = refuse(where, option, kvmig__asprintf("entry %zu", i), hint, "An entry of the list is empty.");
    }
    return rc;
}

static int32_t validate_text_lists(const struct kvmig_plan_opts *opts, const char *where)
{
    int32_t rc = validate_texts(where, "copy_disks", opts->copy_disks, opts->n_copy_disks, "disks",
                                "Name disks by their target device, for example \"vda\".");

    if (rc == 0)
        rc = validate_texts(where, "libvirt_flags", opts->libvirt_flags, opts->n_libvirt_flags, "flags",
                            "Name flags as libvirt does, without VIR_MIGRATE_.");
    if (rc == 0)
        rc = validate_texts(where, "exclude", opts->exclude, opts->n_exclude, "hosts",
                            "Name hosts as kvmig_cluster_to_json() does.");
    return rc;
}

static int32_t validate_volume_changes(const struct kvmig_plan_opts *opts, const char *where)
{
    int32_t rc = validate_list(where, "volume_changes", opts->volume_changes, opts->n_volume_changes, "volumes");

    for (size_t i = 0; i < opts->n_volume_changes && rc == 0; i++) {
        const struct kvmig_volume_change *change = &opts->volume_changes[i];

        if (!change->volume || !*change->volume || !change->claim || !*change->claim)
            rc = refuse(where, "volume_changes", kvmig__asprintf("entry %zu", i),
                        "Name the volume as in the VM's spec, and the claim that it is to move to.",
                        "An entry of the list of volumes is incomplete.");
    }
    return rc;
}

static int32_t validate_links(const struct kvmig_plan_opts *opts, const char *where)
{
    int32_t rc = validate_list(where, "links", opts->links, opts->n_links, "links");

    for (size_t i = 0; i < opts->n_links && rc == 0; i++) {
        if (!opts->links[i].host || !*opts->links[i].host || !opts->links[i].bytes_per_s)
            rc = refuse(where, "links", kvmig__asprintf("entry %zu", i), "Leave out hosts that nothing is known of.",
                        "An entry of the list of links has no host or no speed.");
    }
    return rc;
}

/* Whoever says where not to go must not leave the choice to somebody who does not know that. */
static int32_t validate_choice(const struct kvmig_plan_opts *opts, const char *where)
{
    if ((opts->flags & KVMIG_PLAN_ANY_TARGET) && (opts->n_exclude || opts->target_labels))
        return refuse(where, "flags", kvmig__strdup("KVMIG_PLAN_ANY_TARGET"),
                      "Leave out the flag, so that the target is pinned.",
                      "The scheduler is to choose the target, and does not know what is excluded.");
    return 0;
}

static int32_t validate_strings(const struct kvmig_plan_opts *opts, const char *where)
{
    const struct {
        const char *name, *value;
    } optional[] = {
        { "source", opts->source },
        { "target", opts->target },
        { "target_labels", opts->target_labels },
        { "target_pool", opts->target_pool },
        { "compression", opts->compression },
        { "tls_destination", opts->tls_destination },
        { "target_uri", opts->target_uri },
        { "migrate_uri", opts->migrate_uri },
        { "target_name", opts->target_name },
        { "target_xml", opts->target_xml },
        { "persistent_xml", opts->persistent_xml },
    };

    if (!opts->vm || !*opts->vm)
        return refuse(where, "vm", NULL, "Give the name or the UUID of the VM.", "The VM is not named.");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(optional); i++) {
        if (optional[i].value && !*optional[i].value)
            return refuse(where, optional[i].name, NULL, "Leave it NULL for the default.",
                          "An option is an empty string.");
    }
    return 0;
}

static void add_volume_change(struct kvmig__request *request, const char *volume, const char *claim)
{
    struct kvmig__volume_change *change = KVMIG__PUSH(&request->volume_changes);

    change->volume = kvmig__strdup(volume);
    change->claim = kvmig__strdup(claim);
}

static void add_link(struct kvmig__request *request, const char *host, uint64_t bytes_per_s)
{
    struct kvmig__link_speed *link = KVMIG__PUSH(&request->links);

    link->host = kvmig__strdup(host);
    link->bytes_per_s = bytes_per_s;
}

/* "KEY=VALUE,KEY" in pieces. */
static void add_labels(struct kvmig__request *request, const char *labels)
{
    while (labels && *labels) {
        size_t length = strcspn(labels, ",");
        char *label = kvmig__asprintf("%.*s", (int)length, labels);

        if (length)
            kvmig__strlist_add_new(&request->target_labels, label);
        free(label);
        labels += length + (labels[length] == ',');
    }
}

static void fill(struct kvmig__request *request, const struct kvmig_plan_opts *opts)
{
    request->vm = kvmig__strdup(opts->vm);
    request->source = kvmig__strdup(opts->source);
    request->target = kvmig__strdup(opts->target);
    request->flags = opts->flags;
    request->copy = opts->copy;
    request->handover = opts->handover;
    for (size_t i = 0; i < opts->n_copy_disks; i++)
        kvmig__strlist_add_new(&request->copy_disks, opts->copy_disks[i]);
    request->target_pool = kvmig__strdup(opts->target_pool);
    request->bandwidth_mib = opts->bandwidth_mib;
    request->postcopy_bandwidth_mib = opts->postcopy_bandwidth_mib;
    request->max_downtime_ms = opts->max_downtime_ms;
    request->parallel_connections = opts->parallel_connections;
    request->auto_converge_initial = opts->auto_converge_initial;
    request->auto_converge_increment = opts->auto_converge_increment;
    request->compression = kvmig__strdup(opts->compression);
    request->compression_level = opts->compression_level;
    request->tls_destination = kvmig__strdup(opts->tls_destination);
    request->target_uri = kvmig__strdup(opts->target_uri);
    request->migrate_uri = kvmig__strdup(opts->migrate_uri);
    request->target_name = kvmig__strdup(opts->target_name);
    request->target_xml = kvmig__strdup(opts->target_xml);
    request->persistent_xml = kvmig__strdup(opts->persistent_xml);
    for (size_t i = 0; i < opts->n_volume_changes; i++)
        add_volume_change(request, opts->volume_changes[i].volume, opts->volume_changes[i].claim);
    request->now_ms = opts->now_ms;
    for (size_t i = 0; i < opts->n_libvirt_flags; i++)
        kvmig__strlist_add_new(&request->libvirt_flags, opts->libvirt_flags[i]);
    if (request->libvirt_flags.n)
        kvmig__request_take_flags(request);
    for (size_t i = 0; i < opts->n_exclude; i++)
        kvmig__strlist_add_new(&request->exclude, opts->exclude[i]);
    for (size_t i = 0; i < opts->n_links; i++)
        add_link(request, opts->links[i].host, opts->links[i].bytes_per_s);
    add_labels(request, opts->target_labels);
}

static int32_t validate_forecast(const struct kvmig_forecast_opts *opts, const char *where)
{
    if (opts->n_dirty > KVMIG__CURVE_POINTS || (opts->n_dirty && !opts->dirty))
        return refuse(where, "forecast.dirty", kvmig__asprintf("n_dirty = %zu", opts->n_dirty),
                      "Give a list of at most 16 measurements, and their number.",
                      "The measurements of the dirty rate cannot be used.");
    if (opts->forbid & ~(uint32_t)(KVMIG_FORBID_AUTO_CONVERGE | KVMIG_FORBID_POST_COPY))
        return refuse(where, "forecast.forbid", kvmig__asprintf("0x%" PRIx32, opts->forbid),
                      "Use enum kvmig_forbid_flags.", "A bit is set that this version of the library does not know.");
    if (opts->busy_percent > 100 || opts->reserved)
        return refuse(where, opts->reserved ? "forecast.reserved" : "forecast.busy_percent",
                      kvmig__asprintf("%" PRIu32, opts->reserved ? opts->reserved : opts->busy_percent),
                      "busy_percent is at most 100, and what is reserved is 0.", "A number is out of range.");
    return 0;
}

static int32_t take_forecast(struct kvmig__request *request, const struct kvmig_forecast_opts *opts, const char *where)
{
    struct kvmig__forecast_asked *asked = &request->forecast;
    struct kvmig_forecast_opts known;
    int32_t rc;

    if (!opts)
        return 0;
    rc = kvmig__opts_copy(&known, sizeof(known), opts, where);
    if (rc == 0)
        rc = validate_forecast(&known, where);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < known.n_dirty; i++)
        asked->dirty[i] = known.dirty[i];
    asked->n_dirty = known.n_dirty;
    asked->memory = known.memory_bytes;
    asked->used = known.used_bytes;
    asked->working_set = known.working_set_bytes;
    asked->link = known.link_bytes_per_s;
    asked->setup_ms = known.setup_ms;
    asked->ceiling_ms = known.downtime_ceiling_ms;
    asked->completion_s_per_gib = known.completion_s_per_gib;
    asked->sharing = known.sharing;
    asked->busy_percent = known.busy_percent;
    asked->forbid = known.forbid;
    return 0;
}

int32_t kvmig__request_from_opts(struct kvmig__request *request, const struct kvmig_plan_opts *opts, const char *where)
{
    struct kvmig_plan_opts known;
    int32_t rc = kvmig__opts_copy(&known, sizeof(known), opts, where);

    *request = (struct kvmig__request){ 0 };
    if (rc == 0)
        rc = validate_strings(&known, where);
    if (rc == 0)
        rc = validate_numbers(&known, where);
    if (rc == 0)
        rc = validate_text_lists(&known, where);
    if (rc == 0)
        rc = validate_volume_changes(&known, where);
    if (rc == 0)
        rc = validate_links(&known, where);
    if (rc == 0)
        rc = validate_choice(&known, where);
    if (rc == 0)
        rc = take_forecast(request, known.forecast, where);
    if (rc == 0)
        fill(request, &known);
    return rc;
}

int32_t kvmig__request_for_many(struct kvmig__request *request, const struct kvmig_plan_opts *opts, const char *where)
{
    struct kvmig_plan_opts known;
    int32_t rc = kvmig__opts_copy(&known, sizeof(known), opts, where);
    const struct {
        const char *name;
        bool set;
    } of_one[] = {
        { "vm", known.vm },
        { "source", known.source },
        { "target_name", known.target_name },
        { "target_xml", known.target_xml },
        { "persistent_xml", known.persistent_xml },
        { "volume_changes", known.n_volume_changes > 0 },
    };

    *request = (struct kvmig__request){ 0 };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(of_one) && rc == 0; i++) {
        if (of_one[i].set)
            rc = refuse(where, of_one[i].name, NULL, "Plan that VM by itself.",
                        "An option that is about one VM cannot be for all.");
    }
    if (rc < 0)
        return rc;
    known.vm = "*"; /* filled in per VM */
    rc = kvmig__request_from_opts(request, &known, where);
    kvmig__str_set(&request->vm, NULL);
    return rc;
}

void kvmig__request_copy(struct kvmig__request *dst, const struct kvmig__request *src)
{
    *dst = *src;
    dst->vm = kvmig__strdup(src->vm);
    dst->source = kvmig__strdup(src->source);
    dst->target = kvmig__strdup(src->target);
    dst->copy_disks = (struct kvmig__strlist){ 0 };
    kvmig__strlist_copy(&dst->copy_disks, &src->copy_disks);
    dst->libvirt_flags = (struct kvmig__strlist){ 0 };
    kvmig__strlist_copy(&dst->libvirt_flags, &src->libvirt_flags);
    dst->target_pool = kvmig__strdup(src->target_pool);
    dst->compression = kvmig__strdup(src->compression);
    dst->tls_destination = kvmig__strdup(src->tls_destination);
    dst->target_uri = kvmig__strdup(src->target_uri);
    dst->migrate_uri = kvmig__strdup(src->migrate_uri);
    dst->target_name = kvmig__strdup(src->target_name);
    dst->target_xml = kvmig__strdup(src->target_xml);
    dst->persistent_xml = kvmig__strdup(src->persistent_xml);
    dst->volume_changes.v = NULL;
    dst->volume_changes.n = 0;
    for (size_t i = 0; i < src->volume_changes.n; i++)
        add_volume_change(dst, src->volume_changes.v[i].volume, src->volume_changes.v[i].claim);
    dst->skip = NULL;
    dst->exclude = (struct kvmig__strlist){ 0 };
    kvmig__strlist_copy(&dst->exclude, &src->exclude);
    dst->target_labels = (struct kvmig__strlist){ 0 };
    kvmig__strlist_copy(&dst->target_labels, &src->target_labels);
    dst->links.v = NULL;
    dst->links.n = 0;
    for (size_t i = 0; i < src->links.n; i++)
        add_link(dst, src->links.v[i].host, src->links.v[i].bytes_per_s);
    dst->learned = NULL;
    dst->target_domain = NULL; /* borrowed by the one who asks, for the one plan */
}

void kvmig__request_clear(struct kvmig__request *request)
{
    if (!request)
        return;
    free(request->vm);
    free(request->source);
    free(request->target);
    kvmig__strlist_clear(&request->copy_disks);
    kvmig__strlist_clear(&request->libvirt_flags);
    free(request->target_pool);
    free(request->compression);
    free(request->tls_destination);
    free(request->target_uri);
    free(request->migrate_uri);
    free(request->target_name);
    free(request->target_xml);
    free(request->persistent_xml);
    for (size_t i = 0; i < request->volume_changes.n; i++) {
        free(request->volume_changes.v[i].volume);
        free(request->volume_changes.v[i].claim);
    }
    free(request->volume_changes.v);
    kvmig__strlist_clear(&request->exclude);
    kvmig__strlist_clear(&request->target_labels);
    for (size_t i = 0; i < request->links.n; i++)
        free(request->links.v[i].host);
    free(request->links.v);
    *request = (struct kvmig__request){ 0 };
}
