/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzz target: domain XML. */
#include "cluster/model.h"
#include "fuzz.h"
#include "libvirt/libvirt_internal.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct kvmig__domain value;
    if (kvmig__xml_domain(text, "fuzz", &value) == 0)
        kvmig__domain_clear(&value);
    free(text);
    return 0;
}
