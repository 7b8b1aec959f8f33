/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A cluster view of files: reads them on a lane, because files may hang, and fills the view: objects go to the Kubernetes backend, hosts
 * into the view, facts beside them, problems become notices. A refresh reads everything again and replaces it. Everything needs the context
 * lock.
 */
#ifndef KVMIG_SRC_FILE_VIEW_H
#define KVMIG_SRC_FILE_VIEW_H

#include "cluster/cluster_internal.h"
#include "files/files.h"

struct kvmig__file_view;
struct kvmig__kube_backend;

/* ask is taken. kube: the backend that gets the objects; borrowed, must outlive it. */
struct kvmig__file_view *kvmig__file_view_open(struct kvmig_cluster *cluster, struct kvmig__kube_backend *kube,
                                               struct kvmig__files_ask *ask);
void kvmig__file_view_refresh(struct kvmig__file_view *view);
/* Before the hosts of the cluster view are closed. NULL is ignored. */
void kvmig__file_view_close(struct kvmig__file_view *view);
/* After they were. */
void kvmig__file_view_free(struct kvmig__file_view *view);

#endif
