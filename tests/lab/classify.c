/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * classify REMOTES NODE [NAME UUID]: reads the interfaces of an Open vSwitch three times and judges them each time,
 * with one running domain as the whole inventory of the node, or with none. Prints each judgement as a line of JSON.
 * On the clock that it gives the classifier the looks are more than the grace period apart. For test_interfaces.py; one
 * thread.
 */
#include <errno.h>
#include <kvmig/kvmig.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOKS 3
#define BETWEEN_LOOKS_MS 61000
#define SETTLE_MS 1
#define DEADLINE_MS 20000

struct look {
    struct kvmig_interface_classifier *classifier;
    struct kvmig_workload domain;
    const struct kvmig_workload *inventory[1];
    size_t n_domains;
    int64_t now_ms;
    int32_t answered, failed;
};

static int32_t print_judgement(struct look *look, const struct kvmig_interfaces *interfaces)
{
    struct kvmig_interface_pass pass = KVMIG_INTERFACE_PASS_INIT;
    struct kvmig_interface_report *report = NULL;
    char *json = NULL;
    int32_t rc;

    pass.list = interfaces;
    pass.workloads = look->inventory;
    pass.n_workloads = look->n_domains;
    pass.now_ms = look->now_ms;
    rc = kvmig_interface_classify(look->classifier, &pass, &report);
    if (rc == 0)
        rc = kvmig_interface_report_to_json(report, &json);
    if (rc == 0)
        puts(json);
    free(json);
    kvmig_interface_report_free(report);
    return rc;
}

static void on_interfaces(const struct kvmig_interfaces *interfaces, const struct kvmig_error *error, void *user_data)
{
    struct look *look = user_data;

    look->answered = 1;
    if (!error && print_judgement(look, interfaces) < 0)
        error = kvmig_error_last();
    if (error) {
        fprintf(stderr, "%s\n", kvmig_error_message(error));
        look->failed = 1;
    }
}

static int32_t has_answered(void *look)
{
    return ((struct look *)look)->answered;
}

static int32_t take_a_look(struct kvmig_context *context, const char *remotes, struct look *look)
{
    struct kvmig_interfaces_opts opts = KVMIG_INTERFACES_OPTS_INIT;
    int32_t rc;

    opts.remotes = remotes;
    look->answered = 0;
    rc = kvmig_interfaces_read(context, &opts, (struct kvmig_interfaces_callback){ on_interfaces, look, NULL });
    if (rc == 0)
        rc = kvmig_context_run(context, has_answered, look, DEADLINE_MS);
    return rc == 0 && look->failed ? -EIO : rc;
}

int main(int argc, char **argv)
{
    struct kvmig_interface_classifier_opts opts = KVMIG_INTERFACE_CLASSIFIER_OPTS_INIT;
    struct look look = { .inventory = { &look.domain }, .n_domains = argc == 5 };
    struct kvmig_context *context = NULL;
    int32_t rc;

    if (argc != 3 && argc != 5)
        return fputs("usage: classify REMOTES NODE [NAME UUID]\n", stderr), 2;
    opts.node = argv[2];
    opts.settle_ms = SETTLE_MS;
    if (argc == 5)
        look.domain = (struct kvmig_workload){ .size = sizeof(look.domain),
                                               .name = argv[3],
                                               .vmi_id = argv[4],
                                               .node = argv[2],
                                               .kind = KVMIG_WORKLOAD_DOMAIN,
                                               .phase = KVMIG_WORKLOAD_RUNNING };
    rc = kvmig_context_new(NULL, &context);
    if (rc == 0)
        rc = kvmig_interface_classifier_new(&opts, &look.classifier);
    for (int i = 1; i <= LOOKS && rc == 0; i++) {
        look.now_ms = (int64_t)i * BETWEEN_LOOKS_MS;
        rc = take_a_look(context, argv[1], &look);
    }
    kvmig_interface_classifier_free(look.classifier);
    kvmig_context_unref(context);
    return rc == 0 ? 0 : 1;
}
