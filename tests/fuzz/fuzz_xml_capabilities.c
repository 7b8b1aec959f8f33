/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzz target: capabilities of a host. */
#include "cluster/model.h"
#include "fuzz.h"
#include "libvirt/libvirt_internal.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct kvmig__host *host = kvmig__host_new();
    kvmig__xml_capabilities(text, "fuzz", host);
    kvmig__host_free(host);
    free(text);
    return 0;
}
