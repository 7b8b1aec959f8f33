/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Observations that say what is going on, as opposed to what there is (files_observations.c): states of domains, block jobs, waits for
 * the network, what clients saw. Any thread; a loading belongs to one.
 */
#include "files/files_internal.h"

#include <stdlib.h>

void kvmig__files_see_state(struct kvmig__files_load *load, struct json_object *json)
{
    struct kvmig__facts *facts = load->files->facts;
    struct kvmig__fact_domain_state *state;

    if (!kvmig__files_member(json, "state") || facts->states.n >= KVMIG__FILES_ITEMS)
        return;
    state = KVMIG__PUSH(&facts->states);
    state->file = kvmig__strdup(load->base.name);
    kvmig__files_str(json, "side", &state->side);
    kvmig__files_str(json, "node", &state->node);
    kvmig__files_str(json, "domain", &state->domain);
    kvmig__files_str(json, "state", &state->state);
    kvmig__files_str(json, "reason", &state->reason);
}

void kvmig__files_see_block_jobs(struct kvmig__files_load *load, struct json_object *json)
{
    struct json_object *jobs = kvmig__files_list(json, "jobs");
    struct kvmig__facts *facts = load->files->facts;

    for (size_t i = 0; i < kvmig__files_count(jobs) && facts->block_jobs.n < KVMIG__FILES_ITEMS; i++) {
        struct json_object *from = json_object_array_get_idx(jobs, i);
        struct kvmig__fact_block_job *job;

        if (!json_object_is_type(from, json_type_object))
            continue;
        job = KVMIG__PUSH(&facts->block_jobs);
        job->length = job->offset = KVMIG__UNKNOWN;
        job->ready = -1;
        kvmig__files_str(from, "device", &job->device);
        kvmig__files_str(from, "type", &job->type);
        kvmig__files_str(from, "status", &job->status);
        kvmig__files_bytes(from, "len", &job->length);
        kvmig__files_bytes(from, "offset", &job->offset);
        kvmig__files_tri(from, "ready", &job->ready);
    }
}

void kvmig__files_see_network_wait(struct kvmig__files_load *load, struct json_object *json)
{
    struct kvmig__facts *facts = load->files->facts;
    struct kvmig__fact_network_wait *wait;

    if (facts->network_waits.n >= KVMIG__FILES_ITEMS)
        return;
    wait = KVMIG__PUSH(&facts->network_waits);
    wait->since = wait->now = -1;
    kvmig__files_str(json, "waiting_for", &wait->waiting_for);
    kvmig__files_str(json, "host", &wait->host);
    kvmig__files_str(json, "port_status", &wait->port_status);
    kvmig__files_str(json, "binding_status", &wait->binding_status);
    kvmig__files_time(json, "since", &wait->since);
    kvmig__files_time(json, "now", &wait->now);
}

void kvmig__files_see_probe(struct kvmig__files_load *load, struct json_object *json)
{
    struct kvmig__fact_probe *probe = &load->files->facts->probe;

    kvmig__files_bytes(json, "service_gap_ms", &probe->service_gap_ms);
    kvmig__files_bytes(json, "guest_max_write_gap_ms", &probe->guest_gap_ms);
}
