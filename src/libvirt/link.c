/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Connections that live on lanes. Dialling, use and closing happen on the lane's thread; making and giving up happen in
 * dispatch and never block. A connection that broke is noticed when it is used next, and dialled again then: whoever asked
 * decides how often to try.
 *
 * The lane owns its links through its exit function; an end (the driver's hold) only points to them.
 */
#include "libvirt/link.h"

#include "libvirt/classify.h"
#include "libvirt/libvirt_internal.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <stdlib.h>
#include <time.h>

#define BUSY_PAUSE_MS 50
#define BUSY_MOST_MS 20000

/* ---- threads that were given up ---- */

struct kvmig__lost_count {
    _Atomic uint32_t refs; /* the end and each lost thread */
    _Atomic size_t threads;
};

static void lost_unref(struct kvmig__lost_count *lost)
{
    if (lost && --lost->refs == 0)
        free(lost);
}

/* ---- ends ---- */

static struct kvmig__link *link_new(const char *host, const char *uri)
{
    struct kvmig__link *link = kvmig__calloc(1, sizeof(*link));
    link->host = kvmig__strdup(host);
    link->uri = kvmig__strdup(uri);
    return link;
}

/* The lane's last act. */
static void close_links(void *data)
{
    struct kvmig__link *link = data;
    while (link) {
        struct kvmig__link *next = link->next;
        if (link->lost)
            link->lost->threads--;
        lost_unref(link->lost);
        kvmig__link_drop(link);
        free(link->host);
        free(link->uri);
        free(link);
        link = next;
    }
}

static void open_lane(struct kvmig__end *end, struct kvmig__link *link)
{
    end->link = link;
    end->lane = kvmig__lane_new(end->context, end->name);
    kvmig__lane_set_exit(end->lane, close_links, link);
}

void kvmig__end_init(struct kvmig__end *end, struct kvmig_context *context, const char *name, const char *host,
                     const char *uri)
{
    end->context = context;
    end->name = kvmig__strdup(name);
    end->lost = kvmig__calloc(1, sizeof(*end->lost));
    end->lost->refs = 1;
    open_lane(end, link_new(host, uri));
}

struct kvmig__link *kvmig__end_add_link(struct kvmig__end *end, const char *host, const char *uri)
{
    struct kvmig__link *link = link_new(host, uri);
    link->next = end->link->next;
    end->link->next = link;
    return link;
}

void kvmig__end_renew(struct kvmig__end *end)
{
    struct kvmig__link *first = NULL;
    struct kvmig__link **tail = &first;
    for (const struct kvmig__link *old = end->link; old; old = old->next) {
        *tail = link_new(old->host, old->uri);
        tail = &(*tail)->next;
    }
    end->link->given_up = true;
    end->link->lost = end->lost;
    end->lost->refs++;
    end->lost->threads++;
    kvmig__lane_close(end->lane); /* the old links are the lane's alone from here on */
    open_lane(end, first);
}

bool kvmig__end_is_jammed(const struct kvmig__end *end)
{
    return end->lost->threads >= KVMIG__END_MAX_LOST;
}

void kvmig__end_close(struct kvmig__end *end)
{
    if (end->lane)
        end->link->given_up = true;
    kvmig__lane_close(end->lane);
    lost_unref(end->lost);
    free(end->name);
    *end = (struct kvmig__end){ .name = NULL };
}

/* ---- links ---- */

virConnectPtr kvmig__link_open(struct kvmig__link *link, struct kvmig_error **out_error)
{
    if (link->conn && virConnectIsAlive(link->conn) != 1)
        kvmig__link_drop(link);
    if (!link->conn)
        link->conn = kvmig__virt_open(link->uri, out_error);
    return link->conn;
}

void kvmig__link_drop(struct kvmig__link *link)
{
    if (link->conn)
        virConnectClose(link->conn);
    link->conn = NULL;
}

bool kvmig__link_find_domain(struct kvmig__link *link, const char *uuid, virDomainPtr *out_domain,
                             struct kvmig_error **out_error)
{
    virConnectPtr conn = kvmig__link_open(link, out_error);
    *out_domain = NULL;
    if (!conn)
        return false;
    *out_domain = virDomainLookupByUUIDString(conn, uuid);
    if (*out_domain)
        return true;
    int32_t cause;
    struct kvmig_error *error = kvmig__link_error(link, "virDomainLookupByUUIDString", &cause);
    if (cause == KVMIG__CAUSE_NO_DOMAIN) {
        kvmig__error_free(error);
        return true;
    }
    *out_error = error;
    return false;
}

virDomainPtr kvmig__link_domain(struct kvmig__link *link, const char *uuid, struct kvmig_error **out_error)
{
    virDomainPtr domain = NULL;
    if (kvmig__link_find_domain(link, uuid, &domain, out_error) && !domain)
        *out_error = kvmig__error_new(KVMIG_ENOVM, link->host, NULL, "refresh the cluster view and plan again",
                                      "there is no domain with UUID %s on host %s", uuid, link->host);
    return domain;
}

bool kvmig__link_is_given_up(struct kvmig__link *link, struct kvmig_error **out_error)
{
    if (!link->given_up)
        return false;
    if (!*out_error)
        *out_error = kvmig__error_new(ETIMEDOUT, link->host, NULL, NULL, "host %s answered too late", link->host);
    return true;
}

/* libvirt has no code of its own for it (storage_driver.c: "pool has asynchronous jobs running"), and translates its words. */
static bool is_busy_pool(void)
{
    virErrorPtr last = virGetLastError();

    return last && last->code == VIR_ERR_INTERNAL_ERROR && last->domain == VIR_FROM_STORAGE;
}

struct kvmig_error *kvmig__link_refresh_pool(struct kvmig__link *link, virStoragePoolPtr pool)
{
    const struct timespec pause = { 0, BUSY_PAUSE_MS * 1000000L };
    const int64_t until_ms = kvmig__now_ms() + BUSY_MOST_MS;
    struct kvmig_error *error = NULL;

    while (virStoragePoolRefresh(pool, 0) < 0) {
        if (!is_busy_pool() || kvmig__now_ms() >= until_ms)
            return kvmig__link_error(link, "virStoragePoolRefresh", NULL);
        if (kvmig__link_is_given_up(link, &error))
            return error;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

struct kvmig_error *kvmig__link_error(const struct kvmig__link *link, const char *call, int32_t *out_cause)
{
    virErrorPtr last = virGetLastError();
    int32_t cause = last ? kvmig__virt_cause(last->code, last->domain, last->message) : KVMIG__CAUSE_OTHER;
    char *source = NULL;
    char *target = NULL;
    bool split = last && kvmig__virt_split_sides(last->message, &source, &target);
    struct kvmig_error *error = kvmig__virt_error(link->host, call, NULL);
    if (split) {
        free(error->evidence);
        error->evidence = kvmig__asprintf("on the source: %s; on the target: %s", source, target);
        free(source);
        free(target);
    }
    if (out_cause)
        *out_cause = cause;
    return error;
}
