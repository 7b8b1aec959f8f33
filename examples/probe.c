/* SPDX-License-Identifier: MIT-0 */
/* probe HOST PORT SECONDS: watches a TCP service for some time, and tells for how long it was away at most. */
#include <errno.h>
#include <kvmig/kvmig.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct kvmig_probe_target target = KVMIG_PROBE_TARGET_INIT;
    const struct kvmig_probe_target *targets[] = { &target };
    struct kvmig_probe_result result = KVMIG_PROBE_RESULT_INIT;
    struct kvmig_probe_opts opts = KVMIG_PROBE_OPTS_INIT;
    struct kvmig_context *context = NULL;
    struct kvmig_probe *probe = NULL;
    int rc;

    if (argc != 4)
        return fputs("usage: probe HOST PORT SECONDS\n", stderr), 2;
    target.kind = KVMIG_PROBE_TCP_CONNECT;
    target.host = argv[1];
    target.port = (uint32_t)strtoul(argv[2], NULL, 10);
    opts.targets = targets;
    opts.n_targets = 1;
    rc = kvmig_context_new(NULL, &context);
    if (rc == 0)
        rc = kvmig_probe_new(context, &opts, &probe);
    if (rc == 0)
        rc = kvmig_probe_start(probe);
    if (rc == 0) /* it tries on a thread of the library: a program may do what it likes meanwhile, or nothing */
        rc = kvmig_context_run(context, NULL, NULL, strtol(argv[3], NULL, 10) * 1000);
    if (rc == -ETIMEDOUT) {
        kvmig_probe_stop(probe);
        rc = kvmig_probe_get_result(probe, 0, &result);
    }
    if (rc < 0)
        fprintf(stderr, "%s\n", kvmig_error_message(kvmig_error_last()));
    else
        printf("%llu tries, %llu failed, away for %llu ms at most%s\n", (unsigned long long)result.tries,
               (unsigned long long)result.failures, (unsigned long long)result.gap_ms,
               result.gap_is_open ? ", and still away" : "");
    kvmig_probe_unref(probe);
    kvmig_context_unref(context);
    return rc == 0 && result.last_success_ms != 0 ? 0 : 1;
}
