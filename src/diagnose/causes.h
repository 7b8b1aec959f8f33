/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of causes.def: what people are told about a verdict. Pure, constant, any thread. */
#ifndef KVMIG_SRC_CAUSES_H
#define KVMIG_SRC_CAUSES_H

#include <stddef.h>

struct kvmig__cause {
    const char *group; /* chapter of docs/troubleshooting.md: "WHERE", "CPU", ... */
    const char *code;
    const char *signs; /* how it shows */
    const char *steps; /* what to do */
    const char *avoid; /* what not to do; "" = nothing in particular */
};

const struct kvmig__cause *kvmig__cause_at(size_t index); /* in the order of the table; NULL past the end */
const struct kvmig__cause *kvmig__cause_of(const char *code); /* NULL if it has no row */

#endif
