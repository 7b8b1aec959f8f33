/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: Kubernetes objects as a server or a snapshot gives them. The input is read as a snapshot. What was
 * read must come out of a saved snapshot, and of one saved from that, as the same text; and hosts must be made of
 * whatever nodes there are.
 *
 * With libFuzzer as fuzz.h says, with src/kubernetes/objects*.c, quantity.c, kube_time.c, snapshot*.c, yaml*.c and
 * src/cluster/kube*.c, and -lyaml.
 */
#include "cluster/kube_places.h"
#include "fuzz.h"
#include "kubernetes/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *save_again(const char *text)
{
    struct kvmig__kube kube = { .now_ms = 0 };
    struct kvmig_findings problems = { NULL, 0 };
    char *again;

    kvmig__snapshot_read(&kube, text, strlen(text), "saved", &problems);
    if (problems.n) {
        fprintf(stderr, "%s\n", problems.v[0].message);
        abort();
    }
    again = kvmig__snapshot_save(&kube);
    kvmig__kube_clear(&kube);
    return again;
}

static void make_hosts(const struct kvmig__kube *kube)
{
    struct kvmig__kube_places places;

    kvmig__places_init(&places, kube);
    KVMIG__KUBE_EACH(kube, NODE, node)
    {
        kvmig__host_free(kvmig__places_host(&places, node));
    }
    kvmig__places_clear(&places);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kvmig__kube kube = { .now_ms = 0 };
    struct kvmig_findings problems = { NULL, 0 };
    char *copy = kvmig__calloc(size, 1), *once, *twice, *thrice; /* as large as it must be */

    memcpy(copy, data, size);
    kvmig__snapshot_read(&kube, copy, size, "fuzz", &problems);
    make_hosts(&kube);
    once = kvmig__snapshot_save(&kube);
    twice = save_again(once);
    thrice = save_again(twice);
    if (strcmp(twice, thrice) != 0) {
        fprintf(stderr, "%s\n%s\n", twice, thrice);
        abort();
    }
    free(once);
    free(twice);
    free(thrice);
    free(copy);
    kvmig__kube_clear(&kube);
    kvmig__findings_clear(&problems);
    return 0;
}
