/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opening ports: the options of each kind, checked, and their defaults. Connects to nothing and changes nothing. Public
 * calls from any thread; the context lock is taken only to make the handle. What the caller hands over (callbacks and
 * their user data) is taken whatever the result, and goes through the context.
 */
#include "port/port_handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define LONGEST_TOKEN 200 /* bytes; it is written into the database, and read by people */

int32_t kvmig_port_ovs_init(struct kvmig_port_ovs *ovs, size_t size)
{
    return kvmig__opts_init(ovs, size, "kvmig_port_ovs_init");
}

int32_t kvmig_port_backend_init(struct kvmig_port_backend *backend, size_t size)
{
    return kvmig__opts_init(backend, size, "kvmig_port_backend_init");
}

int32_t kvmig_port_ovn_opts_init(struct kvmig_port_ovn_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_port_ovn_opts_init");
}

int32_t kvmig_port_opts_init(struct kvmig_port_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_port_opts_init");
}

static int32_t fail(const char *where, const char *option, const char *evidence, const char *hint, const char *message)
{
    char *place = kvmig__asprintf("%s: %s", where, option);
    int32_t rc = kvmig__fail(kvmig__error_new(EINVAL, place, evidence, hint, "%s %s", option, message));

    free(place);
    return rc;
}

static int32_t check_time(const char *where, const char *option, uint64_t ms)
{
    char *evidence;
    int32_t rc;

    if (ms <= KVMIG__PORT_LONGEST_MS)
        return 0;
    evidence = kvmig__asprintf("%s = %llu", option, (unsigned long long)ms);
    rc = fail(where, option, evidence, "Milliseconds, at most one year; 0 is the default.", "is too long");
    free(evidence);
    return rc;
}

/* ---- OVN ---- */

static const char ovn_call[] = "kvmig_port_open_ovn";

static bool is_empty(const char *s)
{
    return !s || !*s;
}

/* One port by its name, or all that carry a key. */
static int32_t check_lsp(const struct kvmig_port_ovn_opts *opts)
{
    if (opts->lsp && (opts->match_key || opts->match_value))
        return fail(ovn_call, "lsp", opts->lsp, "Name one port, or set match_key and match_value; not both.",
                    "and a match are both given");
    if (opts->lsp)
        return *opts->lsp ? 0 : fail(ovn_call, "lsp", NULL, "Name a logical switch port.", "is empty");
    if (!opts->match_key && !opts->match_value)
        return fail(ovn_call, "lsp", NULL, "Set lsp, or match_key and match_value.",
                    "is missing, and so is a match: it is not said which logical port is meant");
    if (is_empty(opts->match_key))
        return fail(ovn_call, "match_key", NULL, "Set a key of the logical ports' external_ids.", "is missing");
    if (is_empty(opts->match_value))
        return fail(ovn_call, "match_value", NULL, "Set the value that all ports of the VM have there.", "is missing");
    return 0;
}

static int32_t check_owner(const char *owner)
{
    if (!owner)
        return 0;
    if (!*owner || strlen(owner) > LONGEST_TOKEN)
        return fail(ovn_call, "owner", owner, "Use a unique text of 1 to 200 bytes, or NULL for a new one.",
                    *owner ? "is too long" : "is empty");
    for (const char *c = owner; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return fail(ovn_call, "owner", NULL, "Use a unique text that can be printed.", "has a control character");
    return 0;
}

/* Neither the chassis nor the host of entry n stands for an earlier one as well. */
static int32_t check_unique(const char *option, const struct kvmig_port_ovs *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (kvmig__str_eq(entries[i].chassis, entries[n].chassis))
            return fail(ovn_call, option, entries[n].chassis, "Give each chassis once.",
                        "has a chassis that is there twice");
        if (entries[n].host && kvmig__str_eq(entries[i].host, entries[n].host))
            return fail(ovn_call, option, entries[n].host, "Give each host once.", "has a host that is there twice");
    }
    return 0;
}

/* Each has its own size. *copies gets what is known of them; owned, as is the array of pointers to them. */
static int32_t copy_ovs(const struct kvmig_port_ovn_opts *opts, struct kvmig_port_ovs *copies)
{
    for (size_t i = 0; i < opts->n_ovs; i++) {
        char *option = kvmig__asprintf("ovs[%zu]", i);
        char *where = kvmig__asprintf("%s: %s", ovn_call, option);
        int32_t rc = 0;

        if (!opts->ovs[i])
            rc = fail(ovn_call, option, NULL, "Leave it out.", "is NULL");
        if (!rc)
            rc = kvmig__opts_copy(&copies[i], sizeof(copies[i]), opts->ovs[i], where);
        if (!rc && is_empty(copies[i].chassis))
            rc = fail(ovn_call, option, NULL, "Name the chassis whose database it is.", "has no chassis");
        if (!rc && copies[i].remotes && !*copies[i].remotes)
            rc = fail(ovn_call, option, copies[i].chassis,
                      "Say where its database listens: \"tcp:10.0.0.1:6640\", or NULL.", "has empty remotes");
        if (!rc && copies[i].host && !*copies[i].host)
            rc = fail(ovn_call, option, copies[i].chassis, "Leave host NULL.", "has an empty host");
        if (!rc)
            rc = check_unique(option, copies, i);
        free(where);
        free(option);
        if (rc)
            return rc;
    }
    return 0;
}

static int32_t check_ovn_times(const struct kvmig_port_ovn_opts *opts)
{
    const struct {
        const char *name;
        uint64_t ms;
    } times[] = {
        { "prepare_timeout_ms", opts->prepare_timeout_ms },
        { "verify_timeout_ms", opts->verify_timeout_ms },
        { "activation_timeout_ms", opts->activation_timeout_ms },
        { "converge_timeout_ms", opts->converge_timeout_ms },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(times); i++) {
        int32_t rc = check_time(ovn_call, times[i].name, times[i].ms);

        if (rc < 0)
            return rc;
    }
    return 0;
}

static int32_t check_ovn(const struct kvmig_port_ovn_opts *opts)
{
    int32_t rc;

    if (opts->reserved)
        return fail(ovn_call, "reserved", NULL, "Initialise the options with KVMIG_PORT_OVN_OPTS_INIT.", "is not 0");
    if (is_empty(opts->nb))
        return fail(ovn_call, "nb", NULL,
                    "Say where OVN's northbound database listens: \"unix:/run/ovn/ovnnb_db.sock\".", "is missing");
    if (!kvmig_port_strategy_name(opts->strategy))
        return fail(ovn_call, "strategy", NULL, "Use a member of enum kvmig_port_strategy.", "is unknown");
    if (opts->n_ovs && !opts->ovs)
        return fail(ovn_call, "ovs", NULL, "Set the pointer and the number together, or neither.",
                    "is NULL, but n_ovs is not 0");
    rc = check_lsp(opts);
    if (!rc)
        rc = check_owner(opts->owner);
    return rc ? rc : check_ovn_times(opts);
}

static char *new_owner(void)
{
    unsigned char b[16];

    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b)) /* never: 16 bytes come whole, once the kernel is seeded */
        return NULL;
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* version 4 */
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    return kvmig__asprintf("kvmig-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
                           b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* Needs the lock. callback is taken, unless it fails. */
static int32_t make_ovn(struct kvmig_context *context, const struct kvmig_port_ovn_opts *opts,
                        struct kvmig_port **out_port)
{
    char *name = opts->lsp ? kvmig__strdup(opts->lsp) : kvmig__asprintf("%s=%s", opts->match_key, opts->match_value);
    char *owner = opts->owner ? kvmig__strdup(opts->owner) : new_owner();
    struct kvmig__port_backend *backend = NULL;
    struct kvmig_error *error = NULL;

    if (owner)
        backend = kvmig__ovn_port_new(context, opts, name, owner, &error);
    else
        error =
            kvmig__error_new(errno, "kvmig_port_open_ovn: owner", NULL, "Set an owner.", "there are no random numbers");
    if (backend)
        *out_port = kvmig__port_new(context, name, owner, backend, kvmig__sink_new(context, opts->on_event));
    free(name);
    free(owner);
    return backend ? 0 : kvmig__fail(error);
}

static int32_t check_places(const char *where, const struct kvmig_context *context, struct kvmig_port **out_port)
{
    if (out_port)
        *out_port = NULL;
    if (context && out_port)
        return 0;
    return kvmig__fail(kvmig__error_new(EINVAL, where, NULL, NULL, "%s is NULL", context ? "out_port" : "context"));
}

int32_t kvmig_port_open_ovn(struct kvmig_context *context, const struct kvmig_port_ovn_opts *opts,
                            struct kvmig_port **out_port)
{
    const struct kvmig_port_ovs **entries = NULL;
    struct kvmig_port_ovs *copies = NULL;
    struct kvmig_port_ovn_opts own;
    int32_t rc = kvmig__opts_copy(&own, sizeof(own), opts, ovn_call),
            places = check_places(ovn_call, context, out_port);

    if (!rc)
        rc = places;
    if (!rc)
        rc = check_ovn(&own);
    if (!rc && own.n_ovs) {
        copies = kvmig__calloc(own.n_ovs, sizeof(*copies));
        entries = kvmig__calloc(own.n_ovs, sizeof(*entries));
        rc = copy_ovs(&own, copies);
        for (size_t i = 0; i < own.n_ovs; i++)
            entries[i] = &copies[i];
        own.ovs = entries;
    }
    if (context)
        kvmig__context_lock(context);
    if (!rc)
        rc = make_ovn(context, &own, out_port);
    if (rc)
        kvmig__callback_discard(context, own.on_event.free, own.on_event.user_data);
    if (context)
        kvmig__context_unlock(context);
    free(entries);
    free(copies);
    return rc;
}

/* ---- the caller's own, and none ---- */

static int32_t check_plain(const char *where, const struct kvmig_port_opts *opts)
{
    if (is_empty(opts->name))
        return fail(where, "name", NULL, "Name the port as events and reports should call it.", "is missing");
    return check_time(where, "timeout_ms", opts->timeout_ms);
}

int32_t kvmig_port_open_backend(struct kvmig_context *context, const struct kvmig_port_backend *backend,
                                const struct kvmig_port_opts *opts, struct kvmig_port **out_port)
{
    static const char where[] = "kvmig_port_open_backend";
    struct kvmig_port_backend calls;
    struct kvmig_port_opts own;
    int32_t rc = kvmig__opts_copy(&own, sizeof(own), opts, "kvmig_port_open_backend: opts");
    int32_t also = kvmig__opts_copy(&calls, sizeof(calls), backend, "kvmig_port_open_backend: backend");
    int32_t places = check_places(where, context, out_port);

    if (!rc)
        rc = also ? also : places;
    if (!rc && !backend)
        rc = fail(where, "backend", NULL, "Pass the functions, or use kvmig_port_open_none().", "is NULL");
    if (!rc)
        rc = check_plain(where, &own);

    if (context)
        kvmig__context_lock(context);
    if (rc) {
        kvmig__callback_discard(context, calls.free, calls.user_data);
        kvmig__callback_discard(context, own.on_event.free, own.on_event.user_data);
    } else {
        const int64_t timeout_ms = own.timeout_ms ? (int64_t)own.timeout_ms : KVMIG__PORT_DEFAULT_MS;

        *out_port =
            kvmig__port_new(context, own.name, "", kvmig__custom_port_new(context, &calls, own.name, timeout_ms),
                            kvmig__sink_new(context, own.on_event));
    }
    if (context)
        kvmig__context_unlock(context);
    return rc;
}

int32_t kvmig_port_open_none(struct kvmig_context *context, const struct kvmig_port_opts *opts,
                             struct kvmig_port **out_port)
{
    static const char where[] = "kvmig_port_open_none";
    struct kvmig_port_opts own;
    int32_t rc = kvmig__opts_copy(&own, sizeof(own), opts, where), places = check_places(where, context, out_port);

    if (!rc)
        rc = places;
    if (!rc)
        rc = check_plain(where, &own);

    if (context)
        kvmig__context_lock(context);
    if (rc)
        kvmig__callback_discard(context, own.on_event.free, own.on_event.user_data);
    else
        *out_port = kvmig__port_new(context, own.name, "", kvmig__none_port_new(context),
                                    kvmig__sink_new(context, own.on_event));
    if (context)
        kvmig__context_unlock(context);
    return rc;
}
