/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one reading of a host leaves for the next: answers that cost the daemon much and seldom change. It is passed from
 * reading to reading and belongs to one of them at a time, so it needs no lock. It may be thrown away at any time.
 */
#ifndef KVMIG_SRC_LIBVIRT_INVENTORY_CACHE_H
#define KVMIG_SRC_LIBVIRT_INVENTORY_CACHE_H

#include "cluster/model.h"

/* A text by a key of text. value NULL = asked, and there is no answer. */
struct kvmig__cache_entry {
    char *key, *value;
};
struct kvmig__cache_map {
    struct kvmig__cache_entry *v;
    size_t n;
};

struct kvmig__cache {
    char *capabilities; /* the text that all answers about emulators and CPUs hang on */
    struct kvmig__cache_map emulators; /* query -> domain capabilities */
    struct kvmig__cache_map features; /* CPU and emulator -> names of all features, one a line */
    struct kvmig__cache_map domains; /* UUID -> XML when it was last read */
    struct {
        struct kvmig__pool *v; /* by UUID; only their volumes count */
        size_t n;
    } pools;
    bool pools_filled;
    struct {
        struct kvmig__block_device *v;
        size_t n;
    } block_devices;
    struct kvmig__strlist links; /* host network devices, where they have to be asked one by one */
    bool links_known;
};

struct kvmig__cache *kvmig__cache_new(void);
void kvmig__cache_free(struct kvmig__cache *cache);

/* NULL if the key was never asked. */
const struct kvmig__cache_entry *kvmig__cache_get(const struct kvmig__cache_map *map, const char *key);
void kvmig__cache_put(struct kvmig__cache_map *map, const char *key, const char *value);
void kvmig__cache_drop(struct kvmig__cache_map *map);
/* Throws away what hangs on other capabilities than these. */
void kvmig__cache_check(struct kvmig__cache *cache, const char *capabilities);

/* Volumes of an active pool, by its UUID. */
void kvmig__cache_keep_pools(struct kvmig__cache *cache, const struct kvmig__host *host);
void kvmig__cache_fill_pool(const struct kvmig__cache *cache, struct kvmig__pool *pool);
void kvmig__cache_keep_block_devices(struct kvmig__cache *cache, const struct kvmig__host *host);
void kvmig__cache_fill_block_devices(const struct kvmig__cache *cache, struct kvmig__host *host);

#endif
