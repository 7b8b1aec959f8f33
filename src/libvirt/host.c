/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backend of one libvirt host: making and closing it, and adding a host by a connection that the caller has. Reading is
 * in host_read.c, questions and actions are in host_ask.c. Does not: call anything that blocks; lanes do. Everything runs with
 * the context lock held. The cluster view owns the backend.
 */
#include "libvirt/host_internal.h"
#include <kvmig/libvirt.h>

#include <errno.h>
#include <stdlib.h>

static void host_close(struct kvmig__host_backend *backend)
{
    struct kvmig__virt_host *h = (struct kvmig__virt_host *)backend;

    kvmig__virt_read_close(h);
    kvmig__virt_ask_close(h);
    kvmig__virt_measure_close(h);
    free(h->uri);
    free(h);
}

static const struct kvmig__host_backend_ops ops = {
    .refresh = kvmig__virt_read_refresh,
    .close = host_close,
    .read_side = kvmig__virt_ask_side,
    .act = kvmig__virt_ask_act,
    .driver_new = kvmig__virt_driver_new,
    .measure = kvmig__virt_measure,
};

struct kvmig__host_backend *kvmig__virt_host_new(struct kvmig__cluster_host *host, const char *uri, virConnectPtr conn,
                                                 uint32_t refresh_ms, uint32_t call_timeout_ms)
{
    struct kvmig__virt_host *h = kvmig__calloc(1, sizeof(*h));

    h->base.ops = &ops;
    h->host = host;
    h->context = kvmig__cluster_context(host->cluster);
    h->uri = kvmig__strdup(uri);
    h->refresh_ms = refresh_ms;
    h->call_timeout_ms = call_timeout_ms;
    kvmig__virt_read_init(h, conn);
    kvmig__virt_ask_init(h, conn);
    kvmig__virt_measure_init(h, conn);
    return &h->base;
}

const char *kvmig__virt_host_uri(struct kvmig__host_backend *backend)
{
    return ((struct kvmig__virt_host *)backend)->uri;
}

struct kvmig_context *kvmig__virt_host_context(struct kvmig__host_backend *backend)
{
    return ((struct kvmig__virt_host *)backend)->context;
}

static int32_t add_locked(struct kvmig_cluster *cluster, virConnectPtr connection, const char *uri)
{
    struct kvmig__cluster_host *host = kvmig__cluster_host_add(cluster, uri, "kvmig_cluster_add_libvirt");
    uint32_t refresh_ms, call_timeout_ms;

    if (!host)
        return -EINVAL;
    kvmig__cluster_timing(cluster, &refresh_ms, &call_timeout_ms);
    host->backend = kvmig__virt_host_new(host, uri, connection, refresh_ms, call_timeout_ms);
    return 0;
}

int32_t kvmig_cluster_add_libvirt(struct kvmig_cluster *cluster, virConnectPtr connection)
{
    char *uri;
    int32_t rc;

    if (!cluster || !connection)
        return kvmig__fail(kvmig__error_new(-EINVAL, "kvmig_cluster_add_libvirt", NULL, NULL, "%s is NULL",
                                            cluster ? "connection" : "cluster"));
    uri = virConnectGetURI(connection); /* kept in the client: asks nobody */
    if (!uri) {
        struct kvmig_error *error = kvmig__virt_error(NULL, "virConnectGetURI", "give a connection that is open");

        error->code = -EINVAL;
        return kvmig__fail(error);
    }
    kvmig__context_lock(kvmig__cluster_context(cluster));
    rc = add_locked(cluster, connection, uri);
    kvmig__context_unlock(kvmig__cluster_context(cluster));
    free(uri);
    return rc;
}
