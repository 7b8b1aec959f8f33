/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One description per object, read in both directions. A "visit" function names each field of an object and where it
 * stands in the API's JSON, through a cursor that either fills the field from the JSON or writes the JSON from the
 * field: so that decoding and encoding cannot drift apart. Any thread; one cursor belongs to one thread. The JSON is
 * borrowed while decoding, and the cursor's own while encoding.
 *
 * Decoding is tolerant: a member of a wrong type is read if it can be (a number or switch in a string), and is absent
 * otherwise; a field whose member is absent keeps what it had, so that a visit may look in a second place. Encoding
 * leaves out what is absent.
 */
#ifndef KVMIG_SRC_OBJECTS_IO_H
#define KVMIG_SRC_OBJECTS_IO_H

#include "kubernetes/objects.h"
#include "kubernetes/tape.h"

/* As deep as any visit goes. */
#define KVMIG__IO_DEPTH 16
/* Longer lists and maps are cut off: no real object comes near, and joining lists by name costs the square. */
#define KVMIG__IO_ITEMS 4096
#define KVMIG__IO_JOINED 512

struct kvmig__io {
    bool encode;
    size_t depth;
    struct {
        struct json_object *json; /* encoding */
        const struct kvmig__value *value; /* decoding; NULL = absent */
        const char *key;
        bool created; /* encoding: is removed again if it stays empty */
    } level[KVMIG__IO_DEPTH];
    int64_t newest_ms; /* decoding: the newest time that was read */
};

/* ---- moving (objects_io.c) ---- */
void kvmig__io_begin(struct kvmig__io *io, const char *key);
void kvmig__io_end(struct kvmig__io *io);
/* Decoding: the member; NULL if absent or null. Borrowed. */
const struct kvmig__value *kvmig__io_get(const struct kvmig__io *io, const char *key);
/* Encoding: adds a member, which is taken. */
void kvmig__io_set(struct kvmig__io *io, const char *key, struct json_object *value);
/* The first member whose value is an object, but for those whose names are in except (a NULL-terminated list); NULL
 * if none. Borrowed. Decoding only. */
const char *kvmig__io_first_object(const struct kvmig__io *io, const char *const *except);

/* ---- fields (objects_io.c) ---- */
void kvmig__io_str(struct kvmig__io *io, const char *key, char **field);
void kvmig__io_bool(struct kvmig__io *io, const char *key, bool *field); /* false = absent */
void kvmig__io_tri(struct kvmig__io *io, const char *key, int32_t *field); /* -1 = absent */
void kvmig__io_u64(struct kvmig__io *io, const char *key, uint64_t *field); /* KVMIG__UNKNOWN = absent */
void kvmig__io_u64_or_zero(struct kvmig__io *io, const char *key, uint64_t *field); /* 0 = absent */
void kvmig__io_u32(struct kvmig__io *io, const char *key, uint32_t *field); /* 0 = absent */
void kvmig__io_i32(struct kvmig__io *io, const char *key, int32_t *field); /* 0 = absent */
void kvmig__io_time(struct kvmig__io *io, const char *key, int64_t *field);
void kvmig__io_due(struct kvmig__io *io, const char *key, int64_t *field); /* a time that may lie ahead */
void kvmig__io_bytes(struct kvmig__io *io, const char *key, uint64_t *field); /* quantity; KVMIG__UNKNOWN = absent */
void kvmig__io_fraction(struct kvmig__io *io, const char *key, double *field); /* "0.055"; 0 = absent */
/* An object whose being there is what matters; it may be empty. */
void kvmig__io_present(struct kvmig__io *io, const char *key, bool *field);
/* A feature: an object whose member "enabled" is true unless it says otherwise. */
void kvmig__io_enabled(struct kvmig__io *io, const char *key, bool *field);

/* ---- lists and maps (objects_io_list.c) ---- */
void kvmig__io_strlist(struct kvmig__io *io, const char *key, struct kvmig__strlist *list);
/* From a list of objects, the text at [member] or at [member][inner] (inner may be NULL) of each, or else at
 * [fallback]. */
void kvmig__io_names(struct kvmig__io *io, const char *key, const char *member, const char *inner, const char *fallback,
                     struct kvmig__strlist *list);
/* The names of a map's members that are true. */
void kvmig__io_flags(struct kvmig__io *io, const char *key, struct kvmig__strlist *list);
void kvmig__io_pairs(struct kvmig__io *io, const char *key, struct kvmig__pairs *pairs);
void kvmig__io_amounts(struct kvmig__io *io, const char *key, struct kvmig__amounts *amounts);
void kvmig__drop_pairs(struct kvmig__pairs *pairs, bool (*drop)(const struct kvmig__pair *pair));
/* A list of objects. visit returns false for an element that is not for this list; it must not have taken anything
 * from it then. */
typedef bool (*kvmig__visit_fn)(struct kvmig__io *io, void *element);
void kvmig__io_list(struct kvmig__io *io, const char *key, void **v, size_t *n, size_t size, size_t most,
                    kvmig__visit_fn visit);
#define KVMIG__IO_LIST(io, key, list, visit)                                                                           \
    kvmig__io_list((io), (key), (void **)&(list)->v, &(list)->n, sizeof(*(list)->v), KVMIG__IO_ITEMS, (visit))
/* ... that is joined with another one by name. */
#define KVMIG__IO_LIST_JOINED(io, key, list, visit)                                                                    \
    kvmig__io_list((io), (key), (void **)&(list)->v, &(list)->n, sizeof(*(list)->v), KVMIG__IO_JOINED, (visit))

/* ---- shapes of several objects (objects_shared.c, objects_placement.c, objects_migration.c) ---- */
void kvmig__visit_meta(struct kvmig__io *io, struct kvmig__kube_meta *meta);
void kvmig__visit_conditions(struct kvmig__io *io, struct kvmig__kube_conditions *conditions);
void kvmig__visit_transitions(struct kvmig__io *io, struct kvmig__kube_transitions *transitions);
void kvmig__visit_resources(struct kvmig__io *io, struct kvmig__amounts *requests, struct kvmig__amounts *limits);
void kvmig__visit_storage(struct kvmig__io *io, const char *key, uint64_t *bytes); /* {key: {storage: bytes}} */
void kvmig__visit_terms(struct kvmig__io *io, const char *key, struct kvmig__terms *terms); /* a node selector */
void kvmig__visit_placement(struct kvmig__io *io, struct kvmig__placement *placement);
void kvmig__visit_volumes(struct kvmig__io *io, struct kvmig__kube_volumes *volumes);
void kvmig__visit_claim_info(struct kvmig__io *io, const char *key, struct kvmig__kube_claim_info *info);
void kvmig__visit_migrated_volumes(struct kvmig__io *io, struct kvmig__kube_migrated_volumes *volumes);
void kvmig__visit_config(struct kvmig__io *io, struct kvmig__kube_config *config);
void kvmig__visit_migration_state(struct kvmig__io *io, struct kvmig__kube_migration_state *state);

/* ---- the kinds, without their metadata ---- */
void kvmig__visit_node(struct kvmig__io *io, struct kvmig__kube_node *node);
void kvmig__visit_pod(struct kvmig__io *io, struct kvmig__kube_pod *pod);
void kvmig__visit_pvc(struct kvmig__io *io, struct kvmig__kube_pvc *pvc);
void kvmig__visit_pv(struct kvmig__io *io, struct kvmig__kube_pv *pv);
void kvmig__visit_storage_class(struct kvmig__io *io, struct kvmig__kube_storage_class *storage);
void kvmig__visit_storage_profile(struct kvmig__io *io, struct kvmig__kube_storage_profile *profile);
void kvmig__visit_data_volume(struct kvmig__io *io, struct kvmig__kube_data_volume *volume);
void kvmig__visit_quota(struct kvmig__io *io, struct kvmig__kube_quota *quota);
void kvmig__visit_event(struct kvmig__io *io, struct kvmig__kube_event *event);
void kvmig__visit_slice(struct kvmig__io *io, struct kvmig__kube_slice *slice);
void kvmig__visit_vmi(struct kvmig__io *io, struct kvmig__kube_vmi *vmi);
void kvmig__visit_domain(struct kvmig__io *io, struct kvmig__kube_domain *domain);
void kvmig__visit_interfaces(struct kvmig__io *io, struct kvmig__kube_vmi *vmi);
void kvmig__visit_vm(struct kvmig__io *io, struct kvmig__kube_vm *vm);
void kvmig__visit_vmim(struct kvmig__io *io, struct kvmig__kube_vmim *vmim);
void kvmig__visit_kubevirt(struct kvmig__io *io, struct kvmig__kube_kubevirt *kubevirt);
void kvmig__visit_policy(struct kvmig__io *io, struct kvmig__kube_policy *policy);

/* kvmig__object_decode(), which also tells the newest time of the object (0 = none). */
struct kvmig__kube_meta *kvmig__object_read(struct json_object *json, int32_t kind, int64_t *out_newest_ms);
struct kvmig__kube_meta *kvmig__object_read_value(const struct kvmig__value *value, int32_t kind,
                                                  int64_t *out_newest_ms);
/* The kind that an object says that it is; -1 = none of ours. */
int32_t kvmig__object_kind(const char *api_version, const char *kind);
/* A quantity in units of 10^-scale, rounded up; string or number. */
bool kvmig__quantity_scaled(const struct kvmig__value *value, int32_t scale, uint64_t *out);

#endif
