/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kubernetes JSON to the model (cluster/kube.h) and back, quantities and times, and snapshots. Any thread; no lock.
 * Decoding is tolerant: every field is optional, unknown members and enum values are kept out or taken as they are,
 * numbers of the wrong type are read if they can be (strings with digits), a field that makes no sense is left
 * absent. It never fails but for what is no object of a known kind.
 */
#ifndef KVMIG_SRC_OBJECTS_H
#define KVMIG_SRC_OBJECTS_H

#include "base/json_internal.h"
#include "cluster/kube.h"

/* NULL if it is not a kind of the model or has no name. kind -1: from the object's apiVersion and kind; else the
 * caller knows it (items of typed lists have neither). Owned. */
struct kvmig__kube_meta *kvmig__object_decode(struct json_object *json, int32_t kind);
/* As the API would print it, reduced to what the model holds; decoding it gives an equal object. Owned. */
struct json_object *kvmig__object_encode(const struct kvmig__kube_meta *object);

/* Kubernetes' quantity ("1Gi", "500m", "1e3", 4): thousandths; false if it is none, or negative. Fractions of a
 * thousandth round up, as Kubernetes rounds. */
bool kvmig__quantity_parse(const char *text, uint64_t *out_milli);
bool kvmig__quantity_of(struct json_object *json, uint64_t *out_milli); /* string or number */
char *kvmig__quantity_text(uint64_t milli); /* shortest exact decimal form: "1500m", "4294967296"; owned */
/* RFC 3339 with or without fraction and offset: milliseconds since 1970; 0 if it is none. */
int64_t kvmig__time_parse(const char *text);
char *kvmig__time_text(int64_t ms); /* "2026-11-30T11:02:00Z", with ".123" if not a whole second; owned */

/* ---- snapshots (snapshot.c, snapshot_files.c) ---- block: files are read. */
/* Loads paths (files, or folders: their files and those of the folders below, four levels deep, in name order, hidden ones left out) into kube. What is
 * unreadable is appended to problems as a finding SNAPSHOT_UNREADABLE (file, and name of the object if there is one,
 * and why), and the rest still loads; text that is no Kubernetes object at all, and kinds that are not ours, are
 * ignored. Typed lists, also empty ones, make their kind known; so does any object of it. Of several states of one
 * object the newest is kept. kube->now_ms becomes the newest time found in any object, unless it was set. */
void kvmig__snapshot_load(struct kvmig__kube *kube, const struct kvmig__strlist *paths,
                          struct kvmig_findings *problems);
/* Reads one text (file name for errors). */
void kvmig__snapshot_read(struct kvmig__kube *kube, const char *text, size_t length, const char *name,
                          struct kvmig_findings *problems);
/* The whole store as a v1 List; owned text. Annotations of the List's metadata, which loading understands, tell which
 * kinds are known to have no objects ("kvmig/known-kinds") and kube->now_ms ("kvmig/saved-at"). */
char *kvmig__snapshot_save(const struct kvmig__kube *kube);

#endif
