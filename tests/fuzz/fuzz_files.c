/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: one file of what people have at hand. The input is recognised and read; what it tells must be well-formed; and if it tells
 * of a domain, a plan is made of it, with a target that is only named.
 *
 * With libFuzzer as fuzz.h says, with src/files/files*.c, src/kubernetes (objects*.c, quantity.c, kube_time.c, snapshot*.c, yaml*.c),
 * src/cluster (facts.c, model.c, kube*.c), src/port/ovsdb_value.c, src/plan/[a-z]*.c, and -lyaml.
 */
#include "files/files.h"
#include "fuzz.h"
#include "plan/plan_internal.h"

#include <stdlib.h>
#include <string.h>

static void need(bool holds)
{
    if (!holds)
        abort();
}

static void check_facts(const struct kvmig__facts *facts)
{
    for (size_t i = 0; i < facts->lsps.n; i++)
        for (size_t k = 0; k < facts->lsps.v[i].options.n; k++)
            need(facts->lsps.v[i].options.v[k].key && facts->lsps.v[i].options.v[k].value);
    for (size_t i = 0; i < facts->mounts.n; i++)
        need(facts->mounts.v[i].node && facts->mounts.v[i].path);
    for (size_t i = 0; i < facts->images.n; i++)
        need(facts->images.v[i].disk && facts->images.v[i].target_overhead < 1);
}

static void plan_with(const struct kvmig__files *files)
{
    struct kvmig__view view = { .facts = files->facts };
    struct kvmig__request request = { .target = (char *)"node-b" };
    struct kvmig_plan *plan = NULL;

    if (!files->hosts.n)
        return;
    view.hosts.v = files->hosts.v;
    view.hosts.n = files->hosts.n;
    for (size_t i = 0; i < files->hosts.n; i++)
        for (size_t k = 0; k < files->hosts.v[i]->domains.n; k++)
            request.vm = files->hosts.v[i]->domains.v[k].name;
    if (!request.vm)
        return;
    if (kvmig__plan_make(&view, &request, NULL, &plan) == 0)
        kvmig_plan_unref(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kvmig__files_ask ask = { .source = NULL };
    struct kvmig__files files = { .facts = NULL };
    char *copy = kvmig__calloc(size, 1); /* as large as it must be */

    memcpy(copy, data, size);
    kvmig__strlist_add(&ask.hosts, "node-b");
    kvmig__files_read(&files, &ask, copy, size, "fuzz");
    check_facts(files.facts);
    plan_with(&files);
    kvmig__files_clear(&files);
    kvmig__files_ask_clear(&ask);
    free(copy);
    return 0;
}
