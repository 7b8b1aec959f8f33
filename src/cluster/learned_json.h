/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What was learned, as JSON: the form in which callers keep it.
 */
#ifndef KVMIG_SRC_LEARNED_JSON_H
#define KVMIG_SRC_LEARNED_JSON_H

#include "plan/learned.h"

char *kvmig__learned_to_json(const struct kvmig__learned *learned); /* owned */
/* Adds to *learned, or changes nothing and fails: -EINVAL. where names the call. */
int32_t kvmig__learned_from_json(struct kvmig__learned *learned, const char *json, const char *where);

#endif
