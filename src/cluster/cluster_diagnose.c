/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Diagnosing what a view knows: takes the context lock and hands the pure diagnosis (src/diagnose) the view. No I/O. Any thread. */
#include "cluster/cluster_private.h"
#include "diagnose/diagnose.h"

#include <errno.h>

int32_t kvmig_cluster_diagnose(struct kvmig_cluster *cluster, const struct kvmig_diagnose_opts *opts,
                               struct kvmig_diagnosis **out_diagnosis)
{
    struct kvmig__ask ask;
    int32_t rc;

    if (out_diagnosis)
        *out_diagnosis = NULL;
    if (!cluster || !out_diagnosis)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_cluster_diagnose", NULL, NULL, "%s is NULL",
                                            cluster ? "out_diagnosis" : "cluster"));
    rc = kvmig__ask_from_opts(&ask, opts);
    if (rc == 0) {
        kvmig__context_lock(cluster->context);
        rc = kvmig__cluster_check_synced(cluster, "kvmig_cluster_diagnose");
        if (rc == 0)
            rc = kvmig__diagnose(&cluster->view, &ask, out_diagnosis);
        kvmig__context_unlock(cluster->context);
    }
    kvmig__ask_clear(&ask);
    return rc;
}
