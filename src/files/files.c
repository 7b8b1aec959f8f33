/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One loading of files: recognises what each text is, hands it to whoever reads that, and puts the parts together once everything was
 * read, because files come in any order. Does not open files (kubernetes/snapshot_files.c). Blocks; no lock; any thread. The result
 * belongs to the caller.
 */
#include "files/files_internal.h"

#include <stdlib.h>

void kvmig__files_ask_clear(struct kvmig__files_ask *ask)
{
    kvmig__strlist_clear(&ask->paths);
    kvmig__strlist_clear(&ask->hosts);
    free(ask->source);
    *ask = (struct kvmig__files_ask){ .source = NULL };
}

static bool take_text(struct kvmig__snapshot_load *base, const char *text, size_t length)
{
    struct kvmig__files_load *load = (struct kvmig__files_load *)base;

    return kvmig__files_xml(load, text, length) || kvmig__files_told(load, text, length);
}

static bool take_value(struct kvmig__snapshot_load *base, struct json_object *json)
{
    struct kvmig__files_load *load = (struct kvmig__files_load *)base;

    return kvmig__files_rows(load, json) || kvmig__files_observation(load, json) || kvmig__files_report(load, json) ||
           kvmig__files_port_report(load, json);
}

static const struct kvmig__snapshot_others others = { take_text, take_value };

/* Whoever gives a VM of KubeVirt asks about that; its domain's XML may lie beside it. Without any VM, whoever says which hosts
 * the files tell of asks about these. */
static bool is_of_libvirt(const struct kvmig__files_load *load)
{
    const struct kvmig__kube *kube = &load->files->kube;

    return (load->domains || load->named) && !kube->kinds[KVMIG__KUBE_VMI].n && !kube->kinds[KVMIG__KUBE_VM].n;
}

static void drop_hosts(struct kvmig__files *files)
{
    for (size_t i = 0; i < files->hosts.n; i++)
        kvmig__host_free(files->hosts.v[i]);
    free(files->hosts.v);
    files->hosts.v = NULL;
    files->hosts.n = 0;
}

static void begin(struct kvmig__files_load *load, struct kvmig__files *out, const struct kvmig__files_ask *ask)
{
    *load = (struct kvmig__files_load){ .files = out, .ask = ask };
    out->facts = kvmig__facts_new();
    load->base.kube = &out->kube;
    load->base.problems = &out->problems;
    load->base.others = &others;
}

static void finish(struct kvmig__files_load *load)
{
    kvmig__snapshot_finish(&load->base);
    kvmig__files_finish_rows(load);
    kvmig__files_finish_hosts(load);
    if (!is_of_libvirt(load))
        drop_hosts(load->files);
}

void kvmig__files_load(struct kvmig__files *out, const struct kvmig__files_ask *ask)
{
    struct kvmig__files_load load;

    begin(&load, out, ask);
    kvmig__snapshot_load_paths(&load.base, &ask->paths);
    finish(&load);
}

void kvmig__files_read(struct kvmig__files *out, const struct kvmig__files_ask *ask, const char *text, size_t length,
                       const char *name)
{
    struct kvmig__files_load load;

    begin(&load, out, ask);
    kvmig__snapshot_text(&load.base, text, length, name);
    finish(&load);
}

void kvmig__files_clear(struct kvmig__files *files)
{
    kvmig__kube_clear(&files->kube);
    kvmig__facts_free(files->facts);
    drop_hosts(files);
    kvmig__findings_clear(&files->problems);
    *files = (struct kvmig__files){ .facts = NULL };
}
