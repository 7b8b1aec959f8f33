/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzz target: domain XML whose disks get other paths. What was read once must be readable again, with the new path. */
#include "cluster/model.h"
#include "fuzz.h"
#include "libvirt/libvirt_internal.h"

#include <stdlib.h>

static void check_moved(const char *moved, const char *target, const char *path)
{
    struct kvmig__domain domain;
    if (kvmig__xml_domain(moved, "fuzz", &domain) < 0)
        abort();
    for (size_t i = 0; i < domain.disks.n; i++) {
        if (!kvmig__str_eq(domain.disks.v[i].target, target))
            continue;
        if (!kvmig__str_eq(domain.disks.v[i].source.path, path) || domain.disks.v[i].backing.n > 0)
            abort();
        break; /* the first of that name is the one that moved */
    }
    kvmig__domain_clear(&domain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kvmig__domain domain;
    const char *path = "/new/<\"path\">&";
    char *text = fuzz_text(data, size), *moved = NULL;
    if (kvmig__xml_domain(text, "fuzz", &domain) == 0) {
        const char *target = domain.disks.n ? domain.disks.v[0].target : NULL;
        if (target && kvmig__xml_retarget_disks(text, "fuzz", &target, &path, 1, &moved) == 0)
            check_moved(moved, target, path);
        free(moved);
        kvmig__domain_clear(&domain);
    }
    free(text);
    return 0;
}
