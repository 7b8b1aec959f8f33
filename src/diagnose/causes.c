/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of causes.def, and look-ups in it. Pure; any thread; nothing is owned. */
#include "diagnose/causes.h"

#include "base/base.h"

static const struct kvmig__cause causes[] = {
#define KVMIG__CAUSE(group, code, signs, steps, avoid) { #group, #code, signs, steps, avoid },
#include "diagnose/causes.def"
#undef KVMIG__CAUSE
};

const struct kvmig__cause *kvmig__cause_at(size_t index)
{
    return index < KVMIG__N_ELEMENTS(causes) ? &causes[index] : NULL;
}

const struct kvmig__cause *kvmig__cause_of(const char *code)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(causes); i++)
        if (kvmig__str_eq(causes[i].code, code))
            return &causes[i];
    return NULL;
}
