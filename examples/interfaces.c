/* SPDX-License-Identifier: MIT-0 */
/*
 * interfaces REMOTES NODE COMMAND: says once a minute whose the interfaces of a node's Open vSwitch are, until it is
 * interrupted. COMMAND prints the UUIDs of all domains that run on the node, as `virsh list --uuid` does; if it fails
 * nobody knows who runs there, and every interface is kept. Removes nothing.
 */
#include <errno.h>
#include <kvmig/kvmig.h>
#include <stdio.h>

#define MAX_DOMAINS 1000
#define PERIOD_MS 60000

struct watch {
    const char *command;
    struct kvmig_interface_classifier *classifier; /* remembers from pass to pass what was seen */
    struct kvmig_workload domains[MAX_DOMAINS];
    const struct kvmig_workload *list[MAX_DOMAINS];
    char uuids[MAX_DOMAINS][40];
    int32_t answered;
};

static void read_domains(struct watch *watch, struct kvmig_interface_pass *pass)
{
    FILE *pipe = popen(watch->command, "r"); /* the loop stands still: a busy program asks on another thread */

    while (pipe && pass->n_workloads < MAX_DOMAINS && fscanf(pipe, "%39s", watch->uuids[pass->n_workloads]) == 1)
        pass->n_workloads++;
    pass->workloads = watch->list;
    if (!pipe || pclose(pipe) != 0 || pass->n_workloads == MAX_DOMAINS)
        pass->inventory_error = "the command did not print all domains";
}

static void on_interfaces(const struct kvmig_interfaces *interfaces, const struct kvmig_error *error, void *data)
{
    struct watch *watch = data;
    struct kvmig_interface_pass pass = KVMIG_INTERFACE_PASS_INIT;
    struct kvmig_interface_report *report = NULL;

    watch->answered = 1;
    pass.list = interfaces;
    if (!error)
        read_domains(watch, &pass); /* after the interfaces: whoever came in between is known */
    if (!error && kvmig_interface_classify(watch->classifier, &pass, &report) < 0)
        error = kvmig_error_last();
    if (error)
        fprintf(stderr, "%s\n", kvmig_error_message(error));
    for (size_t i = 0; i < kvmig_interface_report_count(report); i++) {
        const struct kvmig_interface_verdict *verdict = kvmig_interface_report_get(report, i);

        printf("%s\t%s\t%s%s\n", verdict->name, kvmig_interface_class_name(verdict->interface_class),
               kvmig_interface_reason_name(verdict->reason), verdict->may_remove ? "\tmay be removed" : "");
    }
    fflush(stdout);
    kvmig_interface_report_free(report);
}

static int32_t has_answered(void *watch)
{
    return ((struct watch *)watch)->answered;
}

int main(int argc, char **argv)
{
    static struct watch watch;
    struct kvmig_interface_classifier_opts opts = KVMIG_INTERFACE_CLASSIFIER_OPTS_INIT;
    struct kvmig_interfaces_opts where = KVMIG_INTERFACES_OPTS_INIT;
    struct kvmig_context *context = NULL;
    int32_t rc;

    if (argc != 4)
        return fputs("usage: interfaces REMOTES NODE COMMAND\n", stderr), 2;
    where.remotes = argv[1];
    opts.node = argv[2];
    watch.command = argv[3];
    for (size_t i = 0; i < MAX_DOMAINS; i++) {
        struct kvmig_workload domain = KVMIG_WORKLOAD_INIT;

        domain.node = argv[2];
        domain.kind = KVMIG_WORKLOAD_DOMAIN;
        domain.phase = KVMIG_WORKLOAD_RUNNING;
        domain.name = domain.vmi_id = watch.uuids[i];
        watch.domains[i] = domain;
        watch.list[i] = &watch.domains[i];
    }
    rc = kvmig_context_new(NULL, &context);
    if (rc == 0)
        rc = kvmig_interface_classifier_new(&opts, &watch.classifier);
    while (rc == 0) {
        watch.answered = 0;
        rc = kvmig_interfaces_read(context, &where, (struct kvmig_interfaces_callback){ on_interfaces, &watch, NULL });
        if (rc == 0)
            rc = kvmig_context_run(context, has_answered, &watch, -1);
        if (rc == 0 && (rc = kvmig_context_run(context, NULL, NULL, PERIOD_MS)) == -ETIMEDOUT)
            rc = 0;
    }
    fprintf(stderr, "%s\n", kvmig_error_message(kvmig_error_last()));
    kvmig_interface_classifier_free(watch.classifier);
    kvmig_context_unref(context);
    return 1;
}
