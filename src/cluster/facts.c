/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Making and freeing facts (facts.h), and looking up what a map says. Pure; any thread; facts belong to whoever made them. */
#include "cluster/facts.h"
#include "cluster/model.h"

#include <stdlib.h>
#include <string.h>

struct kvmig__facts *kvmig__facts_new(void)
{
    struct kvmig__facts *facts = kvmig__calloc(1, sizeof(*facts));

    facts->mtu.localnet = -1;
    facts->mtu.vif = facts->mtu.underlay = KVMIG__UNKNOWN;
    facts->keep_vm_ip = -1;
    facts->probe = (struct kvmig__fact_probe){ KVMIG__UNKNOWN, KVMIG__UNKNOWN };
    facts->measured = (struct kvmig__fact_measured){ KVMIG__UNKNOWN, KVMIG__UNKNOWN, KVMIG__UNKNOWN };
    facts->now = -1;
    return facts;
}

const char *kvmig__fact_get(const struct kvmig__fact_map *map, const char *key)
{
    for (size_t i = 0; i < map->n; i++) {
        if (strcmp(map->v[i].key, key) == 0)
            return map->v[i].value;
    }
    return NULL;
}

static void clear_map(struct kvmig__fact_map *map)
{
    for (size_t i = 0; i < map->n; i++) {
        free(map->v[i].key);
        free(map->v[i].value);
    }
    free(map->v);
}

void kvmig__fact_lsp_clear(struct kvmig__fact_lsp *lsp)
{
    free(lsp->uuid);
    free(lsp->name);
    free(lsp->type);
    kvmig__strlist_clear(&lsp->addresses);
    kvmig__strlist_clear(&lsp->port_security);
    clear_map(&lsp->options);
    clear_map(&lsp->external_ids);
}

static void clear_rows(struct kvmig__facts *facts)
{
    for (size_t i = 0; i < facts->lsps.n; i++)
        kvmig__fact_lsp_clear(&facts->lsps.v[i]);
    for (size_t i = 0; i < facts->port_groups.n; i++) {
        free(facts->port_groups.v[i].name);
        kvmig__strlist_clear(&facts->port_groups.v[i].ports);
        clear_map(&facts->port_groups.v[i].external_ids);
    }
    for (size_t i = 0; i < facts->chassis.n; i++) {
        free(facts->chassis.v[i].name);
        free(facts->chassis.v[i].hostname);
        clear_map(&facts->chassis.v[i].other_config);
    }
    for (size_t i = 0; i < facts->bindings.n; i++) {
        free(facts->bindings.v[i].logical_port);
        free(facts->bindings.v[i].chassis);
    }
    for (size_t i = 0; i < facts->interfaces.n; i++) {
        free(facts->interfaces.v[i].node);
        free(facts->interfaces.v[i].name);
        clear_map(&facts->interfaces.v[i].external_ids);
    }
    free(facts->lsps.v);
    free(facts->port_groups.v);
    free(facts->chassis.v);
    free(facts->bindings.v);
    free(facts->interfaces.v);
    kvmig__strlist_clear(&facts->interface_nodes);
}

static void clear_image(struct kvmig__fact_image *image)
{
    free(image->disk);
    free(image->source_path);
    free(image->source_pvc);
    free(image->target_path);
    free(image->target_pvc);
    free(image->target_volume_mode);
}

static void clear_observations(struct kvmig__facts *facts)
{
    for (size_t i = 0; i < facts->mounts.n; i++) {
        free(facts->mounts.v[i].node);
        free(facts->mounts.v[i].path);
        free(facts->mounts.v[i].type);
        free(facts->mounts.v[i].source);
    }
    for (size_t i = 0; i < facts->images.n; i++)
        clear_image(&facts->images.v[i]);
    for (size_t i = 0; i < facts->port_hosts.n; i++) {
        free(facts->port_hosts.v[i].host);
        free(facts->port_hosts.v[i].status);
        free(facts->port_hosts.v[i].vif_type);
    }
    for (size_t i = 0; i < facts->certificates.n; i++) {
        free(facts->certificates.v[i].node);
        free(facts->certificates.v[i].subject_cn);
        kvmig__strlist_clear(&facts->certificates.v[i].dns);
        kvmig__strlist_clear(&facts->certificates.v[i].ip);
    }
    free(facts->mounts.v);
    free(facts->images.v);
    free(facts->port_hosts.v);
    free(facts->certificates.v);
}

static void clear_told(struct kvmig__facts *facts)
{
    for (size_t i = 0; i < facts->texts.n; i++) {
        free(facts->texts.v[i].file);
        free(facts->texts.v[i].text);
    }
    for (size_t i = 0; i < facts->series.n; i++) {
        free(facts->series.v[i].file);
        free(facts->series.v[i].v);
    }
    for (size_t i = 0; i < facts->events.n; i++) {
        free(facts->events.v[i].file);
        free(facts->events.v[i].side);
        free(facts->events.v[i].event);
        free(facts->events.v[i].detail);
        free(facts->events.v[i].status);
    }
    for (size_t i = 0; i < facts->jobs.n; i++) {
        free(facts->jobs.v[i].file);
        free(facts->jobs.v[i].type);
    }
    free(facts->texts.v);
    free(facts->series.v);
    free(facts->events.v);
    free(facts->jobs.v);
}

static void clear_seen(struct kvmig__facts *facts)
{
    for (size_t i = 0; i < facts->states.n; i++) {
        free(facts->states.v[i].file);
        free(facts->states.v[i].side);
        free(facts->states.v[i].node);
        free(facts->states.v[i].domain);
        free(facts->states.v[i].state);
        free(facts->states.v[i].reason);
    }
    for (size_t i = 0; i < facts->block_jobs.n; i++) {
        free(facts->block_jobs.v[i].device);
        free(facts->block_jobs.v[i].type);
        free(facts->block_jobs.v[i].status);
    }
    for (size_t i = 0; i < facts->network_waits.n; i++) {
        free(facts->network_waits.v[i].waiting_for);
        free(facts->network_waits.v[i].host);
        free(facts->network_waits.v[i].port_status);
        free(facts->network_waits.v[i].binding_status);
    }
    free(facts->states.v);
    free(facts->block_jobs.v);
    free(facts->network_waits.v);
}

static void clear_error(struct kvmig__fact_error *error)
{
    free(error->name);
    free(error->message);
    free(error->where);
    free(error->evidence);
}

static void clear_report(struct kvmig__fact_report *report)
{
    for (size_t i = 0; i < report->notices.n; i++) {
        free(report->notices.v[i].code);
        free(report->notices.v[i].severity);
        free(report->notices.v[i].object);
        free(report->notices.v[i].message);
        free(report->notices.v[i].evidence);
    }
    free(report->notices.v);
    free(report->file);
    free(report->vm);
    free(report->uuid);
    free(report->source);
    free(report->target);
    free(report->outcome);
    clear_error(&report->error);
    free(report->proven);
    free(report->host);
}

static void clear_port_report(struct kvmig__fact_port_report *report)
{
    free(report->file);
    free(report->name);
    free(report->state);
    clear_error(&report->error);
}

void kvmig__facts_free(struct kvmig__facts *facts)
{
    if (!facts)
        return;
    clear_rows(facts);
    clear_observations(facts);
    clear_told(facts);
    clear_seen(facts);
    for (size_t i = 0; i < facts->reports.n; i++)
        clear_report(&facts->reports.v[i]);
    free(facts->reports.v);
    for (size_t i = 0; i < facts->port_reports.n; i++)
        clear_port_report(&facts->port_reports.v[i]);
    free(facts->port_reports.v);
    free(facts->ovn_version);
    free(facts->ovs_version);
    free(facts->mtu.encap);
    free(facts->cni);
    free(facts->ip_priority_label);
    free(facts);
}
