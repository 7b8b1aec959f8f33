/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The probes of a session: they begin before the migrate call, end after Finalizing, and say how long the service was away. Also
 * writes what ports and probes add to the report. In dispatch or a public call, with the context lock held.
 */
#include "session/session_internal.h"

#include "base/json_internal.h"

#include <stdlib.h>

void kvmig__session_probes_start(struct kvmig_session *session)
{
    for (size_t i = 0; i < session->followers.probes.n; i++) {
        struct kvmig_probe *probe = session->followers.probes.v[i];

        if (!kvmig__probe_is_running(probe) && kvmig__probe_start(probe) < 0)
            kvmig__session_say_finding(session, "PROBE_NOT_STARTED", KVMIG_SEVERITY_WARN, NULL,
                                       kvmig_error_message(kvmig_error_last()), NULL,
                                       "a probe could not be started; the service is not watched by it");
    }
}

static struct kvmig_probe_result result_of(struct kvmig_probe *probe, size_t index)
{
    struct kvmig_probe_result result;

    kvmig__probe_result(probe, index, &result);
    return result;
}

bool kvmig__session_probes_ready(const struct kvmig_session *session)
{
    for (size_t i = 0; i < session->followers.probes.n; i++) {
        struct kvmig_probe *probe = session->followers.probes.v[i];

        for (size_t t = 0; t < kvmig_probe_count(probe); t++)
            if (!result_of(probe, t).last_success_ms)
                return false;
    }
    return true;
}

bool kvmig__session_probes_answered(const struct kvmig_session *session, int64_t since_ms)
{
    /* A service that was away before is not the migration's fault. */
    const int64_t before_ms = session->report->call_started_ms - KVMIG__FIRST_ANSWER_MS;

    for (size_t i = 0; i < session->followers.probes.n; i++) {
        struct kvmig_probe *probe = session->followers.probes.v[i];

        for (size_t t = 0; t < kvmig_probe_count(probe) && kvmig__probe_is_running(probe); t++)
            if (kvmig__probe_succeeded_since(probe, t, before_ms) && !kvmig__probe_succeeded_since(probe, t, since_ms))
                return false;
    }
    return true;
}

/* ---- what they saw ---- */

struct worst {
    struct kvmig_probe *probe;
    size_t target;
    struct kvmig_probe_result result; /* of the longest gap of all targets; gap_ms 0 = none */
};

static struct worst worst_of(const struct kvmig_session *session)
{
    struct worst worst = { NULL, 0, { .size = 0 } };

    for (size_t i = 0; i < session->followers.probes.n; i++) {
        struct kvmig_probe *probe = session->followers.probes.v[i];

        for (size_t t = 0; t < kvmig_probe_count(probe); t++) {
            const struct kvmig_probe_result result = result_of(probe, t);

            if (!worst.probe || result.gap_ms > worst.result.gap_ms)
                worst = (struct worst){ probe, t, result };
        }
    }
    return worst;
}

static void tell_gap(struct kvmig_session *session, const struct worst *worst)
{
    const uint64_t pause_ms = session->report->pause_source_ms;
    const char *name = kvmig__probe_label(worst->probe, worst->target);
    char *pause = pause_ms == KVMIG__UNKNOWN
                      ? NULL
                      : kvmig__asprintf("; the guest was paused for %llu ms", (unsigned long long)pause_ms);

    kvmig__session_say_finding(session, "SERVICE_GAP", KVMIG_SEVERITY_INFO, NULL, name, NULL,
                               "the longest time between two answers of the service was %llu ms%s",
                               (unsigned long long)worst->result.gap_ms, pause ? pause : "");
    free(pause);
}

static void tell_silence(struct kvmig_session *session)
{
    kvmig__session_say_finding(session, "SERVICE_NOT_BACK", KVMIG_SEVERITY_ERROR, kvmig__session_target_name(session),
                               NULL, "Look at the guest's port and at the way from the client to it.",
                               "the service did not answer again within %lld ms after the guest was proven on %s",
                               (long long)session->followers.service_ms, kvmig__session_target_name(session));
}

void kvmig__session_probes_tell(struct kvmig_session *session)
{
    const struct kvmig__followers *followers = &session->followers;
    const struct worst worst = worst_of(session);

    if (!worst.probe)
        return;
    if (worst.result.gap_ms)
        tell_gap(session, &worst);
    if (followers->close.moved && !kvmig__session_probes_answered(session, followers->close.since_ms))
        tell_silence(session);
}

/* ---- the report ---- */

static void add_service(const struct kvmig_session *session, struct json_object *root)
{
    const struct worst worst = worst_of(session);
    struct json_object *service;

    if (!worst.probe)
        return;
    service = json_object_new_object();
    kvmig__json_add_str(service, "target", kvmig__probe_label(worst.probe, worst.target));
    if (worst.result.gap_ms) {
        kvmig__json_add_u64(service, "gap_ms", worst.result.gap_ms);
        kvmig__json_add_i64(service, "gap_begin_ms", worst.result.gap_begin_ms - session->report->started_ms);
        kvmig__json_add_i64(service, "gap_end_ms", worst.result.gap_end_ms - session->report->started_ms);
        kvmig__json_add_bool(service, "gap_is_open", worst.result.gap_is_open != 0);
    }
    json_object_object_add(root, "service", service);
}

static void add_probes(const struct kvmig_session *session, struct json_object *root)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < session->followers.probes.n; i++)
        json_object_array_add(array, kvmig__probe_report(session->followers.probes.v[i], session->report->started_ms));
    json_object_object_add(root, "probes", array);
}

static void add_ports(const struct kvmig_session *session, struct json_object *root)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < session->followers.ports.n; i++)
        json_object_array_add(array,
                              kvmig__port_json(session->followers.ports.v[i]->port, session->report->started_ms));
    json_object_object_add(root, "ports", array);
}

void kvmig__followers_add_json(const struct kvmig_session *session, struct json_object *root)
{
    if (session->followers.last) {
        json_object_object_foreach(session->followers.last, key, value)
            json_object_object_add(root, key, json_object_get(value));
        return;
    }
    add_service(session, root);
    add_probes(session, root);
    add_ports(session, root);
}
