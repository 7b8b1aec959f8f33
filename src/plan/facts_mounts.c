/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is it one storage? By what the hosts have mounted: a network file system from one server and folder is one, and so is a cluster
 * file system from one device; a local file system is another on every host. A path is followed through the mount to what the server
 * calls it, so that two hosts may mount one export at two places, or a folder of it. Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define ANSWER(verdict, reason) ((struct kvmig__identity){ .same = KVMIG__SAME_##verdict, .why = (reason) })

#define LOOKS_SHARED(reason) ((struct kvmig__identity){ .why = (reason), .looks_shared = true })

/* ---- kinds of file systems ---- */

enum scope { LOCAL, NETWORK, CLUSTER, STRANGE };

static const struct {
    const char *type;
    enum scope scope;
    bool recognised; /* libvirt, too, takes it for shared */
} kinds[] = {
    { "nfs", NETWORK, true },
    { "nfs4", NETWORK, true },
    { "cifs", NETWORK, true },
    { "smb3", NETWORK, true },
    { "ceph", NETWORK, true },
    { "afs", NETWORK, true },
    { "fuse.glusterfs", NETWORK, true },
    { "fuse.quobyte", NETWORK, true },
    { "glusterfs", NETWORK, true },
    { "beegfs", NETWORK, true },
    { "gpfs", CLUSTER, true },
    { "gfs2", CLUSTER, true },
    { "ocfs2", CLUSTER, true },
    { "acfs", CLUSTER, true },
    { "fuse.ceph", NETWORK, false },
    { "fuse.ceph-fuse", NETWORK, false },
    { "fuse.lizardfs", NETWORK, false },
    { "fuse.moosefs", NETWORK, false },
    { "fuse.juicefs", NETWORK, false },
    { "lustre", NETWORK, false },
    { "9p", NETWORK, false },
    { "ext2", LOCAL, false },
    { "ext3", LOCAL, false },
    { "ext4", LOCAL, false },
    { "xfs", LOCAL, false },
    { "btrfs", LOCAL, false },
    { "zfs", LOCAL, false },
    { "tmpfs", LOCAL, false },
    { "ramfs", LOCAL, false },
    { "overlay", LOCAL, false },
    { "vfat", LOCAL, false },
    { "f2fs", LOCAL, false },
};

static enum scope scope_of(const char *type, bool *out_recognised)
{
    *out_recognised = false;
    for (size_t i = 0; type && i < KVMIG__N_ELEMENTS(kinds); i++) {
        if (strcasecmp(kinds[i].type, type) == 0) {
            *out_recognised = kinds[i].recognised;
            return kinds[i].scope;
        }
    }
    return STRANGE;
}

/* libvirt's own exception: these keep the caches of all hosts coherent. */
static bool is_coherent(const char *type)
{
    return type && (strcasecmp(type, "gfs2") == 0 || strcasecmp(type, "ocfs2") == 0);
}

/* ---- which mount ---- */

/* path lies in folder: what follows, without slashes at its begin; NULL if it does not. */
static const char *below(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    while (n > 0 && folder[n - 1] == '/')
        n--;
    if (strncmp(path, folder, n) != 0 || (path[n] && path[n] != '/'))
        return NULL;
    return path + n + strspn(path + n, "/");
}

const struct kvmig__fact_mount *kvmig__fact_mount_of(const struct kvmig__facts *facts, const char *node,
                                                     const char *path, const char **out_rest)
{
    const struct kvmig__fact_mount *best = NULL;

    if (!path || *path != '/' || strstr(path, "/../"))
        return NULL;
    for (size_t i = 0; i < facts->mounts.n; i++) {
        const struct kvmig__fact_mount *mount = &facts->mounts.v[i];
        const char *rest = mount->path ? below(path, mount->path) : NULL;

        /* The longest one; of two at one place, the later lies above the earlier. */
        if (rest && kvmig__host_names_match(mount->node, node) && (!best || strlen(rest) <= strlen(*out_rest))) {
            best = mount;
            *out_rest = rest;
        }
    }
    return best;
}

/* ---- what the server calls it ---- */

/* "SERVER:/folder", "//SERVER/share": where the folder begins; 0 = there is no server in it. */
static size_t server_end(const char *source)
{
    const char *end = NULL;

    if (kvmig__str_starts(source, "//"))
        return 2 + strcspn(source + 2, "/");
    if (*source == '[')
        end = strstr(source, "]:");
    end = end ? end + 1 : strstr(source, ":/");
    return end ? (size_t)(end - source) : 0;
}

static bool is_loopback(const char *source)
{
    source += strspn(source, "/");
    return kvmig__str_starts(source, "localhost") || kvmig__str_starts(source, "127.") ||
           kvmig__str_starts(source, "::1") || kvmig__str_starts(source, "[::1]");
}

/* "192.0.2.10:" and "nas:" may be one server by two names; two addresses may be, too, but say so less often. */
static bool is_address(const char *source)
{
    return isdigit((unsigned char)*source) || *source == '[';
}

struct remote { /* server and path of a file; borrowed */
    const char *server, *folder, *rest;
    size_t server_n;
};

static void remote_of(const struct kvmig__fact_mount *mount, const char *rest, struct remote *out)
{
    out->server = mount->source;
    out->server_n = server_end(mount->source);
    out->folder = mount->source + out->server_n;
    out->folder += *out->folder == ':';
    out->rest = rest;
}

/* The next character of folder/rest, slashes folded and none at the end. */
struct walk {
    const char *piece[3];
    size_t i;
};

static char next(struct walk *walk)
{
    while (walk->i < 3 && !*walk->piece[walk->i])
        walk->i++;
    if (walk->i == 3)
        return 0;
    if (*walk->piece[walk->i] != '/')
        return *walk->piece[walk->i]++;
    while (walk->i < 3 && (*walk->piece[walk->i] == '/' || !*walk->piece[walk->i])) {
        if (*walk->piece[walk->i])
            walk->piece[walk->i]++;
        else
            walk->i++;
    }
    return walk->i < 3 ? '/' : 0;
}

static bool one_path(const struct remote *a, const struct remote *b)
{
    struct walk x = { { a->folder, "/", a->rest }, 0 }, y = { { b->folder, "/", b->rest }, 0 };

    for (;;) {
        char c = next(&x), d = next(&y);

        if (c != d)
            return false;
        if (!c)
            return true;
    }
}

static struct kvmig__identity compare_network(const struct remote *a, const struct remote *b, bool recognised)
{
    bool one_server = a->server_n == b->server_n && strncasecmp(a->server, b->server, a->server_n) == 0;

    if (is_loopback(a->server) || is_loopback(b->server))
        return ANSWER(UNKNOWN, "the file system is mounted from an address that is local to each host");
    if (!one_path(a, b))
        return one_server ? ANSWER(NO, "the hosts have different folders of the server there")
                          : ANSWER(NO, "the hosts have file systems of different servers there");
    if (!one_server && is_address(a->server) && is_address(b->server))
        return ANSWER(NO, "the hosts have file systems of different servers there");
    if (!one_server)
        return LOOKS_SHARED(
            "it looks shared: the hosts have mounted a folder of the same name, from a server that they "
            "call differently");
    return (struct kvmig__identity){ .same = KVMIG__SAME_YES,
                                     .why = "both hosts have mounted the same file system there",
                                     .recognised = recognised };
}

static struct kvmig__identity compare_mounts(const struct kvmig__fact_mount *m, const char *rest_m,
                                             const struct kvmig__fact_mount *n, const char *rest_n)
{
    bool shared_m, shared_n;
    enum scope a = scope_of(m->type, &shared_m), b = scope_of(n->type, &shared_n);
    struct remote x, y;

    if (a == LOCAL || b == LOCAL)
        return ANSWER(NO, a == b ? "each host has a local file system there"
                                 : "one of the hosts has a local file system there");
    if (!m->source || !n->source || a != b || a == STRANGE)
        return ANSWER(UNKNOWN, "what is mounted there does not tell whether it is one file system");
    remote_of(m, rest_m, &x);
    remote_of(n, rest_n, &y);
    if (a == NETWORK)
        return compare_network(&x, &y, shared_m && shared_n);
    if (!kvmig__str_eq(m->source, n->source))
        return LOOKS_SHARED("it looks shared: both hosts have mounted a cluster file system, from devices of different "
                            "names");
    x.folder = y.folder = "";
    if (!one_path(&x, &y))
        return ANSWER(NO, "the hosts open different files of the cluster file system");
    return (struct kvmig__identity){ .same = KVMIG__SAME_YES,
                                     .why = "both hosts have mounted the same cluster file system there",
                                     .recognised = shared_m && shared_n };
}

struct kvmig__identity kvmig__facts_identity(const struct kvmig__check *c, const struct kvmig__place *source,
                                             const struct kvmig__place *target)
{
    const struct kvmig__facts *facts = c->view->facts;
    const struct kvmig__fact_mount *a, *b;
    const char *rest_a, *rest_b;

    if (!facts || !facts->mounts.n)
        return ANSWER(UNKNOWN, NULL);
    a = kvmig__fact_mount_of(facts, c->source->name, source->path, &rest_a);
    b = kvmig__fact_mount_of(facts, kvmig__observed_target(c), target->path, &rest_b);
    return a && b ? compare_mounts(a, rest_a, b, rest_b) : ANSWER(UNKNOWN, NULL);
}

bool kvmig__fact_cache_coherent(const struct kvmig__check *c, const char *path)
{
    const struct kvmig__facts *facts = c->view->facts;
    const struct kvmig__fact_mount *mount;
    const char *rest;

    mount = facts ? kvmig__fact_mount_of(facts, c->source->name, path, &rest) : NULL;
    return mount && is_coherent(mount->type);
}
