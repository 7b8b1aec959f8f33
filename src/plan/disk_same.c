/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is what the source opens for a disk and what the target would open one storage, or two? libvirt takes every block device
 * and every network disk for shared and asks only the file system type of files, so a path that merely looks the same would
 * let a guest resume on other data. Here sharing is proven, stated by the caller, refuted, or left open; what follows from
 * that is decided elsewhere. Pure; any thread.
 *
 * The proof for files is the change time of inodes, which libvirt prints to the nanosecond: two hosts that read the same
 * name, size and change time read the same inode. It is compared for volumes that rest as well, because the image of a
 * running guest changes between the two readings.
 */
#include "plan/facts_checks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ANSWER(verdict, reason) ((struct kvmig__identity){ .same = KVMIG__SAME_##verdict, .why = (reason) })

static bool text_eq_nocase(const char *a, const char *b)
{
    return a && b && strcasecmp(a, b) == 0;
}

/* ---- network images ---- */

/* An address that means another machine on every host. */
static bool is_loopback(const char *server)
{
    return kvmig__str_starts(server, "localhost") || kvmig__str_starts(server, "127.") ||
           kvmig__str_starts(server, "::1") || kvmig__str_starts(server, "[::1]");
}

/* Clusters that are found through the host's own configuration, and need no server in the XML. */
static bool finds_its_cluster(const char *protocol)
{
    return kvmig__str_eq(protocol, "rbd") || kvmig__str_eq(protocol, "sheepdog");
}

static struct kvmig__identity network_identity(const struct kvmig__place *s, const struct kvmig__place *t)
{
    if (!kvmig__str_eq(s->protocol, t->protocol) || !kvmig__str_eq(s->name, t->name))
        return ANSWER(NO, "the target's XML names another network image");
    if (is_loopback(s->server) || (!s->server && !finds_its_cluster(s->protocol)))
        return ANSWER(UNKNOWN, "the network image is served from an address that is local to each host");
    if (s->server && t->server && !text_eq_nocase(s->server, t->server))
        return ANSWER(UNKNOWN, "the target's XML reaches the network image through another server");
    return (struct kvmig__identity){ .same = KVMIG__SAME_YES,
                                     .why = "both hosts open the same network image",
                                     .recognised = true };
}

/* ---- paths that the caller stated ---- */

static bool path_below(const char *path, const char *folder)
{
    size_t n = folder ? strlen(folder) : 0;

    while (n > 0 && folder[n - 1] == '/')
        n--;
    /* "/" itself would make everything shared; ".." could lead out of the folder. */
    return n > 0 && path && strncmp(path, folder, n) == 0 && path[n] == '/' && !strstr(path, "/../");
}

bool kvmig__path_stated(const struct kvmig__view *view, const char *path)
{
    for (size_t i = 0; i < view->shared_paths.n; i++) {
        if (path_below(path, view->shared_paths.v[i]))
            return true;
    }
    return false;
}

/* ---- pools ---- */

static bool pool_is_network(const struct kvmig__pool *pool)
{
    static const char *const types[] = { "netfs", "rbd", "iscsi", "iscsi-direct", "gluster", "sheepdog", "vstorage" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(types); i++) {
        if (kvmig__str_eq(pool->type, types[i]))
            return true;
    }
    return false;
}

/* Two active pools that take their volumes from the same server. */
static bool pools_same_source(const struct kvmig__pool *a, const struct kvmig__pool *b)
{
    if (!a || !b || !a->active || !b->active || !pool_is_network(a) || !kvmig__str_eq(a->type, b->type))
        return false;
    if (!a->source_host || is_loopback(a->source_host) || !text_eq_nocase(a->source_host, b->source_host))
        return false;
    if (!a->source_dir && !a->source_name && !a->source_device)
        return false;
    return kvmig__str_eq(a->source_dir, b->source_dir) && kvmig__str_eq(a->source_name, b->source_name) &&
           kvmig__str_eq(a->source_device, b->source_device);
}

static const char *volume_name(const struct kvmig__place *place)
{
    return place->path ? kvmig__path_base(place->path) : place->name;
}

static struct kvmig__identity network_pool_identity(const struct kvmig__place *s, const struct kvmig__place *t)
{
    if (!kvmig__str_eq(volume_name(s), volume_name(t)))
        return ANSWER(NO, "the target's XML names another volume of the same network pool");
    return (struct kvmig__identity){ .same = KVMIG__SAME_YES,
                                     .why = "a volume of a network pool that both hosts take from one source",
                                     .recognised = true };
}

/* ---- files, by their inodes ---- */

/* A change time to the second is no proof: two files may well change in one second. */
static bool is_fine_grained(const char *ctime)
{
    const char *dot = ctime ? strchr(ctime, '.') : NULL;

    return dot && strspn(dot + 1, "0") < strlen(dot + 1);
}

static bool volumes_match(const struct kvmig__volume *a, const struct kvmig__volume *b)
{
    return is_fine_grained(a->ctime) && kvmig__str_eq(a->ctime, b->ctime) && a->capacity == b->capacity;
}

/* Two images, whatever their times: no guest changes these while it writes. */
static bool volumes_differ(const struct kvmig__volume *a, const struct kvmig__volume *b)
{
    return (a->capacity != KVMIG__UNKNOWN && b->capacity != KVMIG__UNKNOWN && a->capacity != b->capacity) ||
           (a->format && b->format && !kvmig__str_eq(a->format, b->format));
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void kvmig__paths_collect(struct kvmig__paths *out, const struct kvmig__view *view)
{
    for (size_t h = 0; h < view->hosts.n; h++) {
        for (size_t i = 0; i < view->hosts.v[h]->domains.n; i++) {
            const struct kvmig__domain *domain = &view->hosts.v[h]->domains.v[i];

            for (size_t d = 0; d < domain->disks.n && domain->state != KVMIG__STATE_SHUTOFF; d++) {
                if (domain->disks.v[d].source.path)
                    *KVMIG__PUSH(out) = domain->disks.v[d].source.path;
            }
        }
    }
    if (out->n > 1)
        qsort(out->v, out->n, sizeof(*out->v), compare_paths);
}

/* An active domain of the view may be writing to the file. */
static bool is_busy(const struct kvmig__check *c, const char *path)
{
    return path && c->busy->n && bsearch(&path, c->busy->v, c->busy->n, sizeof(*c->busy->v), compare_paths);
}

static int compare_names(const void *a, const void *b)
{
    const struct kvmig__volume *const *x = a, *const *y = b;

    return strcmp((*x)->name ? (*x)->name : "", (*y)->name ? (*y)->name : "");
}

/* The volumes of a pool by name, for look-ups in pools of thousands. Owned; NULL if there are none. */
static const struct kvmig__volume **index_volumes(const struct kvmig__pool *pool)
{
    const struct kvmig__volume **index = pool->volumes.n ? kvmig__calloc(pool->volumes.n, sizeof(*index)) : NULL;

    for (size_t i = 0; i < pool->volumes.n; i++)
        index[i] = &pool->volumes.v[i];
    if (pool->volumes.n > 1)
        qsort(index, pool->volumes.n, sizeof(*index), compare_names);
    return index;
}

/* One folder or two, as the volumes that both list tell. A file that rests and shows two times speaks against one folder, but
 * somebody outside of the view may write to it, so that alone does not prove two. */
static int32_t folders_same(const struct kvmig__check *c, const struct kvmig__pool *a, const struct kvmig__pool *b)
{
    const struct kvmig__volume **index = index_volumes(b);
    bool matched = false, doubtful = false, two = false;

    for (size_t i = 0; index && i < a->volumes.n && !two; i++) {
        const struct kvmig__volume *v = &a->volumes.v[i];
        const struct kvmig__volume **w = bsearch(&v, index, b->volumes.n, sizeof(*index), compare_names);

        if (!w)
            continue;
        two = volumes_differ(v, *w);
        matched = matched || volumes_match(v, *w);
        doubtful =
            doubtful || (v->ctime && (*w)->ctime && !kvmig__str_eq(v->ctime, (*w)->ctime) && !is_busy(c, v->path));
    }
    free(index);
    if (two)
        return KVMIG__SAME_NO;
    return matched && !doubtful ? KVMIG__SAME_YES : KVMIG__SAME_UNKNOWN;
}

static struct kvmig__identity file_identity(const struct kvmig__check *c, const struct kvmig__place *s,
                                            const struct kvmig__place *t)
{
    bool same_name = kvmig__str_eq(volume_name(s), volume_name(t));
    int32_t folders;

    if (!s->pool || !t->pool)
        return ANSWER(UNKNOWN, "no storage pool on both hosts shows the file, so it cannot be compared");
    if (s->volume && t->volume && volumes_match(s->volume, t->volume))
        return ANSWER(YES, "both hosts show the same inode");
    folders = folders_same(c, s->pool, t->pool);
    if (folders == KVMIG__SAME_NO)
        return ANSWER(NO, "the pools hold different files under the same names");
    if (folders == KVMIG__SAME_UNKNOWN)
        return ANSWER(UNKNOWN, "no file that both pools show tells whether they are one folder");
    if (!same_name)
        return ANSWER(NO, "another file of the same folder");
    /* A copied host image has equal inodes in two folders; the file of this disk must be there, too. */
    if (!t->volume)
        return ANSWER(UNKNOWN, "the pools have files in common, but the target's does not list this one");
    return ANSWER(YES, "both pools show the same inodes");
}

/* ---- block devices, by what they say of themselves ---- */

static struct kvmig__identity device_identity(const struct kvmig__block_device *a, const struct kvmig__block_device *b)
{
    bool sizes_known = a->size != KVMIG__UNKNOWN && b->size != KVMIG__UNKNOWN;

    if (sizes_known && a->size != b->size)
        return ANSWER(NO, "the devices differ in size");
    if (a->wwn && b->wwn) {
        if (!text_eq_nocase(a->wwn, b->wwn))
            return ANSWER(NO, "the devices have different world-wide names");
        return (struct kvmig__identity){ .same = KVMIG__SAME_YES,
                                         .why = "both devices have the same world-wide name",
                                         .recognised = true };
    }
    if (a->serial && b->serial) {
        if (!kvmig__str_eq(a->serial, b->serial))
            return ANSWER(NO, "the devices have different serial numbers");
        if (sizes_known)
            return (struct kvmig__identity){ .same = KVMIG__SAME_YES,
                                             .why = "both devices have the same serial number and size",
                                             .recognised = true };
    }
    return ANSWER(UNKNOWN, "the devices have no identity that both hosts show");
}

/* Volume groups: one if they sit on one device. */
static struct kvmig__identity volume_group_identity(const struct kvmig__check *c, const struct kvmig__place *s,
                                                    const struct kvmig__place *t)
{
    const struct kvmig__block_device *a = NULL, *b = NULL;
    struct kvmig__identity answer;

    if (s->pool && t->pool) {
        a = kvmig__host_block_device(c->source, s->pool->source_device);
        b = kvmig__host_block_device(c->target, t->pool->source_device);
    }
    if (!a || !b)
        return ANSWER(UNKNOWN, "at least one host does not show the identity of the device");
    answer = device_identity(a, b);
    if (answer.same == KVMIG__SAME_NO)
        return ANSWER(NO, "the pools of the volume sit on different devices");
    if (answer.same == KVMIG__SAME_YES && !kvmig__str_eq(volume_name(s), volume_name(t)))
        return ANSWER(NO, "the target's XML names another volume of the same pool");
    return answer;
}

/* ---- block devices, by their name ---- */

static bool is_hex(const char *text, size_t n)
{
    return strspn(text, "0123456789abcdefABCDEF") == n && text[n] == '\0';
}

/* "ip-192.0.2.1:3260-iscsi-iqn.2020-01.org.example:x-lun-1": portal, target and unit. */
static bool names_iscsi_lun(const char *name)
{
    const char *iscsi = strstr(name, "-iscsi-");

    return kvmig__str_starts(name, "ip-") && iscsi && strstr(iscsi, "-lun-") && !is_loopback(name + 3);
}

/* Names that udev and multipath make of what is unique in the world. Serial numbers are not: virtual disks share them. */
static bool names_the_device(const char *path)
{
    static const char *const unique[] = { "wwn-0x", "scsi-3", "nvme-eui.", "nvme-uuid.", "dm-uuid-mpath-3" };
    static const char by_id[] = "/dev/disk/by-id/", by_path[] = "/dev/disk/by-path/", mapper[] = "/dev/mapper/3";

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(unique) && kvmig__str_starts(path, by_id); i++) {
        if (kvmig__str_starts(path + strlen(by_id), unique[i]))
            return true;
    }
    if (kvmig__str_starts(path, by_path))
        return names_iscsi_lun(path + strlen(by_path));
    return kvmig__str_starts(path, mapper) && (is_hex(path + strlen(mapper), 16) || is_hex(path + strlen(mapper), 32));
}

/* Whoever opens such a name opens this device, or nothing. */
static struct kvmig__identity by_name(const struct kvmig__place *s, const struct kvmig__place *t,
                                      struct kvmig__identity otherwise)
{
    if (otherwise.same != KVMIG__SAME_UNKNOWN || !s->path || !t->path || !names_the_device(s->path))
        return otherwise;
    if (kvmig__str_eq(s->path, t->path))
        return (struct kvmig__identity){ .same = KVMIG__SAME_YES,
                                         .why = "the name of the device tells its world-wide identity",
                                         .recognised = true };
    return names_the_device(t->path) ? ANSWER(NO, "the target's XML names another device") : otherwise;
}

static struct kvmig__identity block_identity(const struct kvmig__check *c, const struct kvmig__place *s,
                                             const struct kvmig__place *t)
{
    const struct kvmig__block_device *a = kvmig__host_block_device(c->source, s->path);
    const struct kvmig__block_device *b = kvmig__host_block_device(c->target, t->path);

    if (a && b)
        return by_name(s, t, device_identity(a, b));
    /* The target lists its devices by the same means as the source, and has none of that name. */
    if (a && c->target->block_devices.n)
        return ANSWER(NO, "the target has no device of that path");
    return by_name(s, t, volume_group_identity(c, s, t));
}

struct kvmig__identity kvmig__same_storage(const struct kvmig__check *c, const struct kvmig__place *source,
                                           const struct kvmig__place *target)
{
    struct kvmig__identity told;

    if (!source->known || !target->known)
        return ANSWER(UNKNOWN, "the storage pool that the disk names is not known on both hosts");
    if (source->type == KVMIG__DISK_NETWORK && target->type == KVMIG__DISK_NETWORK && !source->pool)
        return network_identity(source, target);
    if (pools_same_source(source->pool, target->pool))
        return network_pool_identity(source, target);
    if (kvmig__str_eq(source->path, target->path) && kvmig__path_stated(c->view, source->path))
        return ANSWER(YES, "the caller stated that this folder is shared");
    if (source->type != target->type)
        return ANSWER(UNKNOWN, "the target's XML opens another kind of storage");
    if (source->type == KVMIG__DISK_FILE) {
        told = kvmig__facts_identity(c, source, target);
        return told.why ? told : file_identity(c, source, target);
    }
    if (source->type == KVMIG__DISK_BLOCK)
        return block_identity(c, source, target);
    return ANSWER(UNKNOWN, "storage of this kind has no identity that could be compared");
}
