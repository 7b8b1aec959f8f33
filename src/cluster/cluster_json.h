/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A view as JSON. Keys are stable; what is not known is left out. Objects belong to the caller and to its thread.
 */
#ifndef KVMIG_SRC_CLUSTER_JSON_H
#define KVMIG_SRC_CLUSTER_JSON_H

#include "base/json_internal.h"
#include "cluster/model.h"

struct json_object *kvmig__json_host(const struct kvmig__host *host);
/* NUMA cells, the TSC, secrets, kinds of guests. */
void kvmig__json_add_resources(struct json_object *object, const struct kvmig__host *host);
struct json_object *kvmig__json_offers(const struct kvmig__emulator *emulator);
struct json_object *kvmig__json_secret(const struct kvmig__secret *secret);
struct json_object *kvmig__json_domain(const struct kvmig__domain *domain);

#endif
