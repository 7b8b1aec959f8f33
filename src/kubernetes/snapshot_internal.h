/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Between the reading of a snapshot's files (snapshot_files.c) and of what is in them (snapshot.c, snapshot_usage.c). Any thread; a
 * load belongs to one.
 */
#ifndef KVMIG_SRC_SNAPSHOT_INTERNAL_H
#define KVMIG_SRC_SNAPSHOT_INTERNAL_H

#include "kubernetes/objects.h"

struct kvmig__snapshot_load;
/* Whoever wants what lies beside the objects of Kubernetes, too (src/files). */
struct kvmig__snapshot_others {
    bool (*text)(struct kvmig__snapshot_load *load, const char *text,
                 size_t length); /* true = taken, not to be parsed */
    bool (*value)(struct kvmig__snapshot_load *load,
                  struct json_object *json); /* has no kind; borrowed; true = taken */
};

struct kvmig__snapshot_load {
    const struct kvmig__snapshot_others *others; /* NULL = nobody */
    struct kvmig__kube *kube;
    struct kvmig_findings *problems;
    const char *name; /* of the text that is being read */
    int64_t newest_ms; /* of all objects so far */
    struct {
        struct kvmig__node_usage {
            char *node;
            struct kvmig__amounts told;
        } * v;
        size_t n;
    } usage; /* for nodes that may be read later */
};

void kvmig__snapshot_text(struct kvmig__snapshot_load *load, const char *text, size_t length, const char *name);
/* Takes a text that is one JSON list of good objects, fast; false: it is none, or something is wrong with it, and nothing was taken.
 * (snapshot_list.c) */
bool kvmig__snapshot_list(struct kvmig__snapshot_load *load, const char *text, size_t length);
/* Takes the object. */
void kvmig__snapshot_put(struct kvmig__snapshot_load *load, struct kvmig__kube_meta *object, int64_t newest_ms);
/* The kind that a typed list is of ("PodList"); -1 for a list of anything, and for lists of what is not ours. */
int32_t kvmig__snapshot_kind_of_list(const char *api_version, const char *kind);
/* Takes an object that is no Kubernetes object but an observation (member "observation"); false if it is none. (snapshot_usage.c) */
bool kvmig__snapshot_observation(struct kvmig__snapshot_load *load, struct json_object *json);
void kvmig__snapshot_apply_usage(
    struct kvmig__snapshot_load *load); /* to the nodes of the store; drops what was kept */
/* Reads files and folders; what cannot be read is a problem. (snapshot_files.c) */
void kvmig__snapshot_load_paths(struct kvmig__snapshot_load *load, const struct kvmig__strlist *paths);
/* After the last text: gives the store its time, unless it has one, and the nodes what was observed of them. */
void kvmig__snapshot_finish(struct kvmig__snapshot_load *load);
/* object: what it concerns within the text, or NULL. */
void kvmig__snapshot_problem(struct kvmig__snapshot_load *load, const char *name, const char *object, const char *hint,
                             const char *reason_fmt, ...) KVMIG__PRINTF(5, 6);

#endif
