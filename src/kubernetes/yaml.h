/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * YAML (and so JSON, its subset) as json-c objects, read with libyaml: what kubeconfigs and `kubectl -o yaml` contain. Any thread;
 * the objects stay on the thread that made them.
 *
 * Scalars follow YAML 1.2's core schema as Kubernetes' own reader does where it matters: plain true/false, null/~, integers (up to
 * uint64), floats; everything quoted or tagged !!str is a string. Anchors and aliases are expanded within a bound, merge keys (<<)
 * too. Documents that are larger than a bound, nested deeper than a bound, or have duplicate keys are errors, not guesses.
 */
#ifndef KVMIG_SRC_YAML_H
#define KVMIG_SRC_YAML_H

#include "base/json_internal.h"

/* Calls fn once per document, in order; fn takes document (an owned reference; NULL for an empty document). index counts from 0. fn
 * returns false to stop. A document that cannot be read gives *out_error (owned; where names the text, with line and column) and
 * ends the reading, because YAML has no way to find the next one reliably: but text that consists of JSON values one after
 * another is read with json-c and goes on to the next value. Returns the number of documents that fn got. */
size_t kvmig__yaml_read(const char *text, size_t length, const char *where,
                        bool (*fn)(void *data, struct json_object *document, size_t index), void *data,
                        struct kvmig_error **out_error);
/* The one document of a text; NULL with *out_error set if there is none, or more than one. Owned. */
struct json_object *kvmig__yaml_parse(const char *text, size_t length, const char *where,
                                      struct kvmig_error **out_error);

#endif
