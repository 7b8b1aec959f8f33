/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between the files of this folder: one loading, and what its parts do. A loading belongs to one thread. */
#ifndef KVMIG_SRC_FILES_INTERNAL_H
#define KVMIG_SRC_FILES_INTERNAL_H

#include "files/files.h"
#include "kubernetes/snapshot_internal.h"

/* Longer lists are cut off: nothing real comes near. */
#define KVMIG__FILES_ITEMS 65536

struct kvmig__files_domain_state { /* as an observation tells it of a domain */
    char *domain; /* NULL = whichever there is */
    char *node; /* NULL = not told */
    bool on_target;
    int32_t state, reason;
};

struct kvmig__files_load {
    struct kvmig__snapshot_load base; /* first: what the reader of files hands over */
    struct kvmig__files *files;
    const struct kvmig__files_ask *ask;
    bool domains; /* a domain was read */
    bool named; /* a document was read that the caller gave to a host */
    struct {
        struct kvmig__files_chassis { /* names of chassis, for bindings that come in any order */
            char *uuid, *name;
        } * v;
        size_t n;
    } chassis;
    struct {
        struct kvmig__files_domain_state *v;
        size_t n;
    } states;
};

/* ---- files_hosts.c ---- */
/* Takes a text that is XML; false if it is none. */
bool kvmig__files_xml(struct kvmig__files_load *load, const char *text, size_t length);
void kvmig__files_finish_hosts(struct kvmig__files_load *load);
/* ---- files_rows.c ---- true = it is a set of rows, or an array of such sets, and was taken */
bool kvmig__files_rows(struct kvmig__files_load *load, struct json_object *json);
void kvmig__files_finish_rows(struct kvmig__files_load *load);
/* ---- files_observations.c ---- true = it is an observation, and was taken */
bool kvmig__files_observation(struct kvmig__files_load *load, struct json_object *json);
bool kvmig__files_report(struct kvmig__files_load *load, struct json_object *json); /* files_report.c */
bool kvmig__files_port_report(struct kvmig__files_load *load, struct json_object *json); /* likewise, of a port */

/* ---- files_seen.c ---- */
void kvmig__files_see_state(struct kvmig__files_load *load, struct json_object *json);
void kvmig__files_see_block_jobs(struct kvmig__files_load *load, struct json_object *json);
void kvmig__files_see_network_wait(struct kvmig__files_load *load, struct json_object *json);
void kvmig__files_see_probe(struct kvmig__files_load *load, struct json_object *json);
/* ---- files_told.c ---- true = it is statistics, events, a log or a message, and was taken */
bool kvmig__files_told(struct kvmig__files_load *load, const char *text, size_t length);

/* ---- files_json.c: members of an object, by their types; what is of another type counts as not given ---- */
struct json_object *kvmig__files_member(struct json_object *object,
                                        const char *key); /* borrowed; NULL if absent or null */
struct json_object *kvmig__files_list(struct json_object *object, const char *key); /* an array, or NULL */
size_t kvmig__files_count(struct json_object *list); /* bounded; 0 for what is no array */
void kvmig__files_str(struct json_object *object, const char *key, char **out);
void kvmig__files_strlist(struct json_object *object, const char *key, struct kvmig__strlist *out);
void kvmig__files_tri(struct json_object *object, const char *key, int32_t *out); /* 1, 0; else left as it is */
/* A number, or a quantity of Kubernetes; whole ones, rounded up. */
void kvmig__files_bytes(struct json_object *object, const char *key, uint64_t *out);
void kvmig__files_fraction(struct json_object *object, const char *key, double *out); /* 0 to 1 */
void kvmig__files_time(struct json_object *object, const char *key, int64_t *out_s); /* RFC 3339 to s since 1970 */
/* "8.2.0", "9.2", "QEMU emulator version 6.2.0 (Debian ...)", 9002000: libvirt's number. */
void kvmig__files_version(struct json_object *object, const char *key, uint64_t *out);

#endif
