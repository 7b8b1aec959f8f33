/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rules by which interfaces are kept or called orphans, each by name in a table, shown to a classifier twice with a
 * minute between.
 */
#include "interface_test.h"

#define DOMAIN_UUID "0aa2d71e-9b41-4c88-9038-e4d042b6502a"
/* 70 characters, the label that KubeVirt makes of it (63), and another name of that length with another label. */
#define LONG_NAME "a-virtual-machine-with-a-name-that-is-much-longer-than-a-label-allows1"
#define LONG_LABEL "a-virtual-machine-with-a-name-that-is-much-longer-than-0a1b2c3d"
#define OTHER_LONG_NAME "a-virtual-machine-with-a-name-that-is-much-longer-than-a-label-allows2"

struct rule {
    const char *name;
    int32_t interface_class, reason; /* in the first pass; the second one, a minute later, says the same ... */
    int32_t later_class, later_reason; /* ... unless these say otherwise */
    const char *inventory_error, *operation;
    bool no_inventory, twin;
    struct kvmig_interface interface;
    struct kvmig_workload workloads[3];
};

/* Overrides of single members come after the macros that set them all. */
#pragma GCC diagnostic push
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif

static const struct rule launcher_rules[] = {
    { "a running launcher keeps its interface", LIVE, BECAUSE(RUNNING), .interface = { IFACE },
      .workloads = { { RUNNING_LAUNCHER } } },
    { "a pending launcher keeps its interface", INITIALISING, BECAUSE(PENDING), .interface = { IFACE },
      .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_PENDING } } },
    { "a pending launcher without a node may come here", INITIALISING, BECAUSE(UNPLACED), .interface = { IFACE },
      .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_PENDING, .node = NULL } } },
    { "only a succeeded launcher leaves an orphan", ORPHAN, BECAUSE(FINISHED), .interface = { IFACE },
      .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_SUCCEEDED } } },
    { "only a failed launcher leaves an orphan", ORPHAN, BECAUSE(FINISHED), .interface = { IFACE },
      .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_FAILED } } },
    { "an old succeeded launcher and a new running one keep it", LIVE, BECAUSE(RUNNING), .interface = { IFACE },
      .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_SUCCEEDED, .name = "virt-launcher-vmi-77-old00" },
                     { RUNNING_LAUNCHER } } },
    { "an old succeeded launcher and a new pending one keep it", INITIALISING, BECAUSE(PENDING), .interface = { IFACE },
      .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_PENDING },
                     { LAUNCHER, .phase = KVMIG_WORKLOAD_SUCCEEDED, .name = "virt-launcher-vmi-77-old00" } } },
    { "a terminating launcher keeps it", LIVE, BECAUSE(TERMINATING), .interface = { IFACE },
      .workloads = { { RUNNING_LAUNCHER, .terminating = 1 } } },
    { "a terminating launcher keeps it also when OVN has let go", INITIALISING, BECAUSE(TERMINATING),
      .interface = { IFACE, .ovn_installed = 0 }, .workloads = { { RUNNING_LAUNCHER, .terminating = 1 } } },
    { "a launcher that has ended does not keep it, terminating or not", ORPHAN, BECAUSE(FINISHED),
      .interface = { IFACE }, .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_SUCCEEDED, .terminating = 1 } } },
    { "a running launcher speaks before a terminating one", LIVE, BECAUSE(RUNNING), .interface = { IFACE },
      .workloads = { { RUNNING_LAUNCHER, .terminating = 1 }, { RUNNING_LAUNCHER } } },
    { "a launcher of unknown phase keeps it", UNKNOWN, BECAUSE(PHASE_UNKNOWN), .interface = { IFACE },
      .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_PHASE_UNKNOWN } } },
    { "a running launcher speaks before one of unknown phase", LIVE, BECAUSE(RUNNING), .interface = { IFACE },
      .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_PHASE_UNKNOWN }, { RUNNING_LAUNCHER } } },
    { "a launcher on another node only leaves an orphan here", ORPHAN, BECAUSE(ELSEWHERE), .interface = { IFACE },
      .workloads = { { RUNNING_LAUNCHER, .node = "node-a" } } },
    { "the completed source of a migration is left over", ORPHAN, BECAUSE(FINISHED), .interface = { IFACE },
      .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_SUCCEEDED }, { RUNNING_LAUNCHER, .node = "node-a" } } },
    { "no launcher at all leaves an orphan", ORPHAN, BECAUSE(NO_WORKLOAD), .interface = { IFACE } },
    { "the same name in another namespace is another VM", ORPHAN, BECAUSE(NO_WORKLOAD), .interface = { IFACE },
      .workloads = { { RUNNING_LAUNCHER, .pod_namespace = "ns2" } } },
};

static const struct rule identity_rules[] = {
    { "the id matches and the display name does not", LIVE, BECAUSE(RUNNING), .interface = { IFACE },
      .workloads = { { RUNNING_LAUNCHER, .domain = NULL, .display_name = "something-else" } } },
    { "a display name is no identity", ORPHAN, BECAUSE(DISPLAY_NAME), .interface = { IFACE },
      .workloads = { { RUNNING_LAUNCHER, .vmi_id = "vmi-99", .domain = NULL, .display_name = "vmi-77",
                       .name = "virt-launcher-vmi-99-zzz99" } } },
    { "the annotation alone is an identity", LIVE, BECAUSE(RUNNING), .interface = { IFACE },
      .workloads = { { RUNNING_LAUNCHER, .vmi_id = NULL } } },
    { "a launcher without id and annotation may be anybody's", UNKNOWN, BECAUSE(UNRESOLVED), .interface = { IFACE },
      .workloads = { { RUNNING_LAUNCHER, .vmi_id = NULL, .domain = NULL } } },
    { "such a launcher in another namespace is not", ORPHAN, BECAUSE(NO_WORKLOAD), .interface = { IFACE },
      .workloads = { { RUNNING_LAUNCHER, .vmi_id = NULL, .domain = NULL, .pod_namespace = "ns2" } } },
    { "such a launcher that has ended is not", ORPHAN, BECAUSE(NO_WORKLOAD), .interface = { IFACE },
      .workloads = { { LAUNCHER, .vmi_id = NULL, .domain = NULL, .phase = KVMIG_WORKLOAD_FAILED } } },
    { "a hashed long id is resolved through the annotation", LIVE, BECAUSE(RUNNING),
      .interface = { IFACE, .vm_id = LONG_NAME },
      .workloads = { { RUNNING_LAUNCHER, .vmi_id = LONG_LABEL, .domain = LONG_NAME } } },
    { "a hashed long id that the annotation resolves to another VM", ORPHAN, BECAUSE(NO_WORKLOAD),
      .interface = { IFACE, .vm_id = LONG_NAME },
      .workloads = { { RUNNING_LAUNCHER, .vmi_id = LONG_LABEL, .domain = OTHER_LONG_NAME } } },
    { "a hashed long id without the annotation is unknown", UNKNOWN, BECAUSE(UNRESOLVED),
      .interface = { IFACE, .vm_id = LONG_NAME },
      .workloads = { { RUNNING_LAUNCHER, .vmi_id = LONG_LABEL, .domain = NULL } } },
    { "a short label is not that of a long name", ORPHAN, BECAUSE(NO_WORKLOAD),
      .interface = { IFACE, .vm_id = LONG_NAME }, .workloads = { { RUNNING_LAUNCHER, .domain = NULL } } },
    { "a hashed label is not that of a short name", ORPHAN, BECAUSE(NO_WORKLOAD), .interface = { IFACE },
      .workloads = { { RUNNING_LAUNCHER, .vmi_id = LONG_LABEL, .domain = NULL } } },
    { "an interface that has the hashed id itself", LIVE, BECAUSE(RUNNING), .interface = { IFACE, .vm_id = LONG_LABEL },
      .workloads = { { RUNNING_LAUNCHER, .vmi_id = LONG_LABEL, .domain = LONG_NAME } } },
    { "the name of a launcher pod is no identity and no proof", UNKNOWN, BECAUSE(POD_NAME),
      .interface = { IFACE, .vm_id = "virt-launcher-vmi-77-abc12" }, .workloads = { { RUNNING_LAUNCHER } } },
    { "the name of a launcher pod that has ended keeps nothing", ORPHAN, BECAUSE(NO_WORKLOAD),
      .interface = { IFACE, .vm_id = "virt-launcher-vmi-77-abc12" },
      .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_SUCCEEDED } } },
    { "another pod is known by its own name", LIVE, BECAUSE(RUNNING), .interface = { IFACE, .vm_id = "nginx-7d9" },
      .workloads = { { .size = sizeof(struct kvmig_workload),
                       .kind = KVMIG_WORKLOAD_POD,
                       .pod_namespace = "ns1",
                       .name = "nginx-7d9",
                       .node = NODE,
                       .phase = KVMIG_WORKLOAD_RUNNING } } },
    { "a domain is known by its UUID, in any case", LIVE, BECAUSE(RUNNING),
      .interface = { IFACE, .vm_namespace = NULL, .vm_id = "0AA2D71E-9B41-4C88-9038-E4D042B6502A" },
      .workloads = { { .size = sizeof(struct kvmig_workload),
                       .kind = KVMIG_WORKLOAD_DOMAIN,
                       .name = "vm1",
                       .vmi_id = DOMAIN_UUID,
                       .node = NODE,
                       .phase = KVMIG_WORKLOAD_RUNNING } } },
    { "a domain is known by its name", LIVE, BECAUSE(RUNNING),
      .interface = { IFACE, .vm_namespace = NULL, .vm_id = "vm1" },
      .workloads = { { .size = sizeof(struct kvmig_workload),
                       .kind = KVMIG_WORKLOAD_DOMAIN,
                       .name = "vm1",
                       .vmi_id = DOMAIN_UUID,
                       .node = NODE,
                       .phase = KVMIG_WORKLOAD_RUNNING } } },
    { "a domain that is shut off leaves an orphan", ORPHAN, BECAUSE(FINISHED),
      .interface = { IFACE, .vm_namespace = NULL, .vm_id = DOMAIN_UUID },
      .workloads = { { .size = sizeof(struct kvmig_workload),
                       .kind = KVMIG_WORKLOAD_DOMAIN,
                       .name = "vm1",
                       .vmi_id = DOMAIN_UUID,
                       .node = NODE,
                       .phase = KVMIG_WORKLOAD_SUCCEEDED } } },
    { "a namespace that only one side has decides nothing", UNKNOWN, BECAUSE(UNRESOLVED),
      .interface = { IFACE, .vm_namespace = NULL }, .workloads = { { RUNNING_LAUNCHER } } },
    { "a list of pods says nothing of a domain", UNKNOWN, BECAUSE(NO_INVENTORY),
      .interface = { IFACE, .vm_namespace = NULL, .vm_id = DOMAIN_UUID }, .workloads = { { RUNNING_LAUNCHER } } },
    { "a list of domains says nothing of a pod", UNKNOWN, BECAUSE(NO_INVENTORY), .interface = { IFACE },
      .workloads = { { .size = sizeof(struct kvmig_workload),
                       .kind = KVMIG_WORKLOAD_DOMAIN,
                       .name = "vm1",
                       .node = NODE,
                       .phase = KVMIG_WORKLOAD_RUNNING } } },
    { "an interface without a VM is unknown", UNKNOWN, BECAUSE(NO_ID), .interface = { IFACE, .vm_id = NULL } },
    { "an interface with an empty VM is unknown", UNKNOWN, BECAUSE(NO_ID), .interface = { IFACE, .vm_id = "" } },
    { "an interface whose namespace is missing is unknown", UNKNOWN, BECAUSE(NO_ID),
      .interface = { IFACE, .vm_namespace = "" } },
    { "an interface without iface-id is unknown", UNKNOWN, BECAUSE(NO_ID), .interface = { IFACE, .iface_id = NULL } },
};

static const struct rule state_rules[] = {
    { "an inventory error keeps everything", UNKNOWN, BECAUSE(NO_INVENTORY), .interface = { IFACE },
      .inventory_error = "pods: 503" },
    { "an inventory error also speaks before a launcher that was seen", UNKNOWN, BECAUSE(NO_INVENTORY),
      .interface = { IFACE }, .inventory_error = "pods: 503",
      .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_SUCCEEDED } } },
    { "no inventory keeps everything", UNKNOWN, BECAUSE(NO_INVENTORY), .interface = { IFACE }, .no_inventory = true },
    { "a duplicate iface-id is unknown, though nothing uses it", UNKNOWN, BECAUSE(DUPLICATE), .interface = { IFACE },
      .twin = true },
    { "a duplicate iface-id is unknown, though a launcher runs", UNKNOWN, BECAUSE(DUPLICATE), .interface = { IFACE },
      .twin = true, .workloads = { { RUNNING_LAUNCHER } } },
    { "an error and no port keep the interface of a running launcher", INITIALISING, BECAUSE(NO_OFPORT),
      .interface = { IFACE, .ofport = -1, .ovn_installed = 0,
                     .error = "could not open network device e19e7_0001_h (No such device)" },
      .workloads = { { RUNNING_LAUNCHER } } },
    { "an error and no port are no ground while a port operation is under way", INITIALISING, BECAUSE(OPERATION),
      .interface = { IFACE, .ofport = -1, .ovn_installed = 0,
                     .error = "could not open network device e19e7_0001_h (No such device)" },
      .operation = "vmi-77.ns1" },
    { "an error and no port of an interface that nothing uses", ORPHAN, BECAUSE(NO_WORKLOAD),
      .interface = { IFACE, .ofport = -1, .ovn_installed = 0,
                     .error = "could not open network device e19e7_0001_h (No such device)" } },
    { "an operation on another port does not keep it", ORPHAN, BECAUSE(NO_WORKLOAD), .interface = { IFACE },
      .operation = "vmi-78.ns1" },
    { "the target of a migration that is being prepared", INITIALISING, BECAUSE(OPERATION), .interface = { IFACE },
      .operation = "vmi-77.ns1", .workloads = { { RUNNING_LAUNCHER } } },
    { "no number of a port yet", INITIALISING, BECAUSE(NO_OFPORT), .interface = { IFACE, .ofport = 0 },
      .workloads = { { RUNNING_LAUNCHER } } },
    { "not installed", INITIALISING, BECAUSE(NOT_INSTALLED), .interface = { IFACE, .ovn_installed = 0 },
      .workloads = { { RUNNING_LAUNCHER } } },
    { "installed a moment ago", INITIALISING, BECAUSE(SETTLING), .later_class = LIVE, .later_reason = BECAUSE(RUNNING),
      .interface = { IFACE, .ovn_installed_ts_ms = WALL - 9 }, .workloads = { { RUNNING_LAUNCHER } } },
    { "installed at a time that is not told", INITIALISING, BECAUSE(SETTLING), .later_class = LIVE,
      .later_reason = BECAUSE(RUNNING), .interface = { IFACE, .ovn_installed_ts_ms = 0 },
      .workloads = { { RUNNING_LAUNCHER } } },
    { "installed in the future of this clock", INITIALISING, BECAUSE(SETTLING), .later_class = LIVE,
      .later_reason = BECAUSE(RUNNING), .interface = { IFACE, .ovn_installed_ts_ms = INT64_MAX },
      .workloads = { { RUNNING_LAUNCHER } } },
    { "a link that is down does not matter", LIVE, BECAUSE(RUNNING), .interface = { IFACE, .link_state = "down" },
      .workloads = { { RUNNING_LAUNCHER } } },
    { "an interface seen for the first time is too young to be an orphan", INITIALISING, BECAUSE(YOUNG),
      .later_class = ORPHAN, .later_reason = BECAUSE(NO_WORKLOAD), .interface = { IFACE, .first_seen_ms = 0 } },
    { "a young interface of a launcher that has ended", INITIALISING, BECAUSE(YOUNG), .later_class = ORPHAN,
      .later_reason = BECAUSE(FINISHED), .interface = { IFACE, .first_seen_ms = NOW - MINUTE + 1 },
      .workloads = { { LAUNCHER, .phase = KVMIG_WORKLOAD_SUCCEEDED } } },
    { "an interface just old enough", ORPHAN, BECAUSE(NO_WORKLOAD),
      .interface = { IFACE, .first_seen_ms = NOW - MINUTE } },
    { "an interface seen first in the future is young", INITIALISING, BECAUSE(YOUNG), .later_class = ORPHAN,
      .later_reason = BECAUSE(NO_WORKLOAD), .interface = { IFACE, .first_seen_ms = INT64_MAX } },
};

#pragma GCC diagnostic pop

/* ---- the table ---- */

static void set_up(struct bench *bench, const struct rule *rule)
{
    bench_open(bench);
    bench->interfaces[0] = rule->interface;
    bench->interfaces[1].iface_id = rule->interface.iface_id;
    bench->pass.n_interfaces = rule->twin ? 2 : 1;
    for (size_t i = 0; i < 3 && rule->workloads[i].size; i++) {
        bench->workloads[i] = rule->workloads[i];
        bench->pass.n_workloads = i + 1;
    }
    if (rule->no_inventory) {
        bench->pass.workloads = NULL;
        bench->pass.n_workloads = 0;
    }
    bench->pass.inventory_error = rule->inventory_error;
    bench->operation = rule->operation;
    bench->pass.operations = &bench->operation;
    bench->pass.n_operations = rule->operation != NULL;
}

static void check(const struct rule *rule, const char *when, const struct kvmig_interface_verdict *verdict,
                  int32_t interface_class, int32_t reason, uint32_t passes)
{
    if (verdict->interface_class != interface_class || verdict->reason != reason)
        fail_msg("%s, %s: %s because of %s (%s)", rule->name, when,
                 kvmig_interface_class_name(verdict->interface_class), kvmig_interface_reason_name(verdict->reason),
                 verdict->message);
    if (verdict->passes != passes || verdict->may_remove != (passes >= 2))
        fail_msg("%s, %s: passes %u, may_remove %d", rule->name, when, verdict->passes, verdict->may_remove);
    if (!verdict->message[0] || strchr(verdict->message, '%'))
        fail_msg("%s, %s: '%s'", rule->name, when, verdict->message);
}

static void check_rules(const struct rule *rules, size_t n)
{
    struct bench bench;

    for (size_t i = 0; i < n; i++) {
        const struct rule *rule = &rules[i];
        const int32_t later_class = rule->later_class ? rule->later_class : rule->interface_class;
        const int32_t later_reason = rule->later_class ? rule->later_reason : rule->reason;
        const uint32_t first = rule->interface_class == ORPHAN, second = later_class == ORPHAN ? first + 1 : 0;

        set_up(&bench, rule);
        check(rule, "at first", classify(&bench), rule->interface_class, rule->reason, first);
        check(rule, "a minute later", classify_after(&bench, MINUTE), later_class, later_reason, second);
        bench_close(&bench);
    }
}

static void every_rule_about_launchers_holds(void **state)
{
    (void)state;
    check_rules(launcher_rules, KVMIG__N_ELEMENTS(launcher_rules));
}

static void every_rule_about_identity_holds(void **state)
{
    (void)state;
    check_rules(identity_rules, KVMIG__N_ELEMENTS(identity_rules));
}

static void every_rule_about_state_holds(void **state)
{
    (void)state;
    check_rules(state_rules, KVMIG__N_ELEMENTS(state_rules));
}

/* The only answer to a broken inventory is to keep, whatever else is true. */
static void no_rule_makes_an_orphan_without_an_inventory(void **state)
{
    static const struct {
        const struct rule *v;
        size_t n;
    } tables[] = { { launcher_rules, KVMIG__N_ELEMENTS(launcher_rules) },
                   { identity_rules, KVMIG__N_ELEMENTS(identity_rules) },
                   { state_rules, KVMIG__N_ELEMENTS(state_rules) } };
    struct bench bench;

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(tables); i++) {
        for (size_t j = 0; j < tables[i].n; j++) {
            set_up(&bench, &tables[i].v[j]);
            bench.pass.inventory_error = "the list was cut off";
            for (int pass = 0; pass < 3; pass++)
                check(&tables[i].v[j], "without inventory", classify_after(&bench, MINUTE), UNKNOWN,
                      BECAUSE(NO_INVENTORY), 0);
            bench_close(&bench);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_about_launchers_holds),
        cmocka_unit_test(every_rule_about_identity_holds),
        cmocka_unit_test(every_rule_about_state_holds),
        cmocka_unit_test(no_rule_makes_an_orphan_without_an_inventory),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
