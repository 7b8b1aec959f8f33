/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Diagnoses of Kubernetes objects: every phase against every intent, with what must and must not be advised, and random worlds in which
 * whatever is proposed must be safe by the very facts. Single thread.
 */
#include "diagnose_kube_test.h"

#define WORLD "'namespace':'ns1','uid':'uid-"

struct world {
    struct kvmig__kube kube;
    struct kvmig__facts *facts;
};

static int setup(void **state)
{
    struct world *w = kvmig__calloc(1, sizeof(*w));

    know_all(&w->kube);
    w->facts = kvmig__facts_new();
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    kvmig__kube_clear(&w->kube);
    kvmig__facts_free(w->facts);
    free(w);
    return 0;
}

static void vmi_is(struct world *w, const char *phase, const char *node, const char *state, const char *more)
{
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstance','metadata':{'name':'vm1'," WORLD
        "vm1','creationTimestamp':'%s'},'spec':{'domain':{'memory':{'guest':'1Gi'}}},'status':{'phase':'%s','nodeName':"
        "'%s'%s%s%s%s}}",
        at(-100), phase, node, state ? ",'migrationState':{'migrationUid':'uid-mig1'," : "", state ? state : "",
        state ? "}" : "", more ? more : "");
}

static void vmim_is(struct world *w, const char *phase, const char *more)
{
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstanceMigration','metadata':{'name':'mig1'," WORLD
        "mig1','creationTimestamp':'%s'%s},'spec':{'vmiName':'vm1'},'status':{'phase':'%s','phaseTransitionTimestamps':"
        "["
        "{'phase':'%s','phaseTransitionTimestamp':'%s'}]}}",
        at(0), more ? more : "", phase, phase, at(10));
}

static void pod_is(struct world *w, const char *name, const char *node, const char *phase, bool target)
{
    put(&w->kube,
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'," WORLD
        "%s','creationTimestamp':'%s','labels':{'kubevirt.io':'virt-launcher','kubevirt.io/created-by':'uid-vm1'%s}},"
        "'spec':{'nodeName':'%s','containers':[{'name':'compute'}]},'status':{'phase':'%s','containerStatuses':[{'name'"
        ":"
        "'compute','ready':true,'state':{'running':{'startedAt':'%s'}}}]}}",
        name, name, at(1), target ? ",'kubevirt.io/migrationJobUID':'uid-mig1'" : "", node, phase, at(2));
}

static void port_is(struct world *w, const char *requested, const char *strategy, int32_t enabled)
{
    struct kvmig__fact_lsp *lsp = KVMIG__PUSH(&w->facts->lsps);

    *lsp =
        (struct kvmig__fact_lsp){ .uuid = kvmig__strdup("u1"), .name = kvmig__strdup("vm1.ns1"), .enabled = enabled };
    lsp->up = -1;
    w->facts->lsps_known = true;
    if (requested)
        *KVMIG__PUSH(&lsp->options) =
            (struct kvmig__fact_pair){ kvmig__strdup("requested-chassis"), kvmig__strdup(requested) };
    if (strategy)
        *KVMIG__PUSH(&lsp->options) =
            (struct kvmig__fact_pair){ kvmig__strdup("activation-strategy"), kvmig__strdup(strategy) };
}

static struct kvmig_diagnosis *ask(const struct world *w, int32_t intent)
{
    return diagnose(&w->kube, w->facts, "ns1/vm1", NULL, intent, T0 + 400000);
}

/* ---- phases and intents ---- */

#define PREPARED "'sourceNode':'node-a','sourcePod':'src','targetNode':'node-b','targetPod':'tgt'"
#define COPY PREPARED ",'startTimestamp':'2026-11-30T11:00:10Z'"
#define OVER COPY ",'endTimestamp':'2026-11-30T11:00:50Z','completed':true"

static const struct {
    const char *vmim, *state, *node;
    const char *look, *cancel, *rollback;
    const char *cancels, *never; /* actions of the cancel; of any intent; separated by blanks */
} phases[] = {
    { "Pending", NULL, "node-a", "WAITING", "CANCELLED", "CANCELLED", "DELETE_MIGRATION", "" },
    { "Scheduled", NULL, "node-a", "WAITING", "CANCELLED", "CANCELLED", "DELETE_MIGRATION", "" },
    { "PreparingTarget", PREPARED, "node-a", "WAITING", "CANCELLED", "CANCELLED", "DELETE_MIGRATION DELETE_TARGET_POD",
      "" },
    { "TargetReady", PREPARED, "node-a", "WAITING", "CANCELLED", "CANCELLED", "DELETE_MIGRATION DELETE_TARGET_POD",
      "" },
    { "Running", COPY ",'mode':'PreCopy'", "node-a", "RUNNING", "CANCELLED", "CANCELLED", "DELETE_MIGRATION",
      "DELETE_TARGET_POD" },
    { "Running", COPY ",'mode':'PostCopy'", "node-a", "POSTCOPY_ACTIVE", "REFUSED", "REFUSED", "",
      "DELETE_TARGET_POD DELETE_MIGRATION" },
    { "Running", COPY ",'targetNodeDomainReadyTimestamp':'2026-11-30T11:00:48Z'", "node-a", "RUNNING", "REFUSED",
      "REFUSED", "", "DELETE_TARGET_POD DELETE_MIGRATION" },
    { "Running", COPY ",'targetNodeDomainReadyTimestamp':'2026-11-30T11:00:48Z'", "node-b", "RUNNING", "REFUSED",
      "REFUSED", "", "DELETE_TARGET_POD DELETE_MIGRATION" },
    { "Succeeded", OVER, "node-b", "SUCCEEDED", "SUCCEEDED", "REFUSED", "", "DELETE_TARGET_POD DELETE_MIGRATION" },
    { "Failed", OVER ",'failed':true", "node-b", "SUCCEEDED_UNREPORTED", "SUCCEEDED_UNREPORTED", "SUCCEEDED_UNREPORTED",
      "", "DELETE_TARGET_POD DELETE_MIGRATION" },
};

static void has_all(const struct kvmig_findings *list, const char *codes, bool wanted, const char *where)
{
    char *copy = kvmig__strdup(codes);

    for (char *save = NULL, *code = strtok_r(copy, " ", &save); code; code = strtok_r(NULL, " ", &save))
        if ((look_up(list, code) != NULL) != wanted)
            fail_msg("%s: %s is %s", where, code, wanted ? "missing" : "there");
    free(copy);
}

static void each_phase_answers_each_intent(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(phases); i++) {
        const char *const verdicts[] = { phases[i].look, phases[i].cancel, phases[i].rollback };
        void *made;
        struct world *w;

        setup(&made);
        w = made;
        vmi_is(w, "Running", phases[i].node, phases[i].state, NULL);
        vmim_is(w, phases[i].vmim, NULL);
        pod_is(w, "src", "node-a", strcmp(phases[i].node, "node-a") ? "Succeeded" : "Running", false);
        if (strcmp(phases[i].vmim, "Pending"))
            pod_is(w, "tgt", "node-b", "Running", true);
        for (int32_t intent = KVMIG_INTENT_LOOK; intent <= KVMIG_INTENT_ROLLBACK; intent++) {
            struct kvmig_diagnosis *diagnosis = ask(w, intent);
            char *where = kvmig__asprintf("%s (%zu), intent %d, %s", phases[i].vmim, i, intent, diagnosis->verdict);

            if (strcmp(diagnosis->verdict, verdicts[intent]) != 0)
                fail_msg("%s, not %s: %s", where, verdicts[intent], diagnosis->summary);
            has_all(&diagnosis->actions, "RESUME_SOURCE DESTROY_SOURCE DESTROY_TARGET REVERT_VOLUMES", false, where);
            has_all(&diagnosis->actions, phases[i].never, false, where);
            if (intent == KVMIG_INTENT_CANCEL)
                has_all(&diagnosis->actions, phases[i].cancels, true, where);
            free(where);
            kvmig_diagnosis_unref(diagnosis);
        }
        teardown(&made);
    }
}

/* ---- single rules ---- */

static void a_roll_back_is_complete_only_with_the_port(void **state)
{
    struct world *w = *state;
    struct kvmig_diagnosis *diagnosis;

    vmi_is(w, "Running", "node-a", OVER ",'failed':true", NULL);
    vmim_is(w, "Failed", NULL);
    pod_is(w, "src", "node-a", "Running", false);
    diagnosis = ask(w, KVMIG_INTENT_ROLLBACK);
    verdict_is(diagnosis, "FAILED"); /* nothing is known of its ports */
    kvmig_diagnosis_unref(diagnosis);
    port_is(w, "node-a", NULL, -1);
    diagnosis = ask(w, KVMIG_INTENT_ROLLBACK);
    verdict_is(diagnosis, "ROLLED_BACK_TO_SOURCE");
    assert_int_equal(diagnosis->actions.n, 0);
    kvmig_diagnosis_unref(diagnosis);
    pod_is(w, "tgt", "node-b", "Running", true);
    diagnosis = ask(w, KVMIG_INTENT_ROLLBACK);
    verdict_is(diagnosis, "LEFTOVER_TARGET_POD");
    assert_non_null(look_up(&diagnosis->actions, "DELETE_TARGET_POD"));
    kvmig_diagnosis_unref(diagnosis);
}

static void a_port_that_is_down_is_told_where_the_guest_is(void **state)
{
    struct world *w = *state;
    struct kvmig_diagnosis *diagnosis;

    vmi_is(w, "Running", "node-a", NULL, NULL);
    pod_is(w, "src", "node-a", "Running", false);
    port_is(w, "node-a", NULL, 0);
    diagnosis = ask(w, KVMIG_INTENT_LOOK);
    verdict_is(diagnosis, "SOURCE_PORT_DISABLED");
    assert_string_equal(look_up(&diagnosis->actions, "ENABLE_PORT")->object, "lsp/vm1.ns1");
    kvmig_diagnosis_unref(diagnosis);
}

static void observe(struct world *w, const char *side, const char *node, const char *state)
{
    *KVMIG__PUSH(&w->facts->states) = (struct kvmig__fact_domain_state){ .side = kvmig__strdup(side),
                                                                         .node = kvmig__strdup(node),
                                                                         .state = kvmig__strdup(state) };
}

/* What both hosts say outranks what the API says, for the port as well. */
static void the_port_belongs_where_the_hosts_say(void **state)
{
    struct world *w = *state;
    struct kvmig_diagnosis *diagnosis;

    vmi_is(w, "Running", "node-a", OVER ",'failed':true", NULL);
    vmim_is(w, "Failed", NULL);
    port_is(w, "node-a,node-b", "rarp", -1);
    observe(w, "source", "node-a", "absent");
    observe(w, "target", "node-b", "running");
    diagnosis = ask(w, KVMIG_INTENT_LOOK);
    verdict_is(diagnosis, "SUCCEEDED_UNREPORTED");
    assert_non_null(strstr(look_up(&diagnosis->actions, "SET_REQUESTED_CHASSIS")->detail, "node-b"));
    assert_null(strstr(look_up(&diagnosis->actions, "SET_REQUESTED_CHASSIS")->detail, "node-a"));
    kvmig_diagnosis_unref(diagnosis);
}

static void nothing_is_touched_while_a_side_is_silent(void **state)
{
    struct world *w = *state;

    vmi_is(w, "Running", "node-a", OVER ",'failed':true", NULL);
    vmim_is(w, "Failed", NULL);
    pod_is(w, "src", "node-a", "Running", false);
    pod_is(w, "tgt", "node-b", "Running", true);
    port_is(w, "node-a,node-b", "rarp", -1);
    observe(w, "source", "node-a", "paused (migrating)");
    observe(w, "target", "node-b", "unreachable");
    for (int32_t intent = KVMIG_INTENT_LOOK; intent <= KVMIG_INTENT_ROLLBACK; intent++) {
        struct kvmig_diagnosis *diagnosis = ask(w, intent);

        verdict_is(diagnosis, "UNDECIDED");
        assert_int_equal(diagnosis->actions.n, 0);
        kvmig_diagnosis_unref(diagnosis);
    }
}

static void kinds_that_are_not_known_prove_nothing(void **state)
{
    struct world *w = *state;
    struct kvmig_diagnosis *diagnosis;

    w->kube.kinds[KVMIG__KUBE_VMIM].known = KVMIG__KUBE_UNKNOWN;
    w->kube.kinds[KVMIG__KUBE_POD].known = KVMIG__KUBE_UNKNOWN;
    vmi_is(w, "Running", "node-a", COPY ",'mode':'PreCopy'", ",'activePods':{'uid-x':'node-a','uid-y':'node-b'}");
    port_is(w, "node-a,node-b", "rarp", -1);
    diagnosis = ask(w, KVMIG_INTENT_LOOK);
    verdict_is(diagnosis, "RUNNING");
    assert_int_equal(kvmig__findings_worst(&diagnosis->findings) > KVMIG_SEVERITY_INFO, 0);
    assert_int_equal(diagnosis->actions.n, 0);
    kvmig_diagnosis_unref(diagnosis);
}

/* ---- random worlds ---- */

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

#define PICK(list) (list)[next_random(seed) % KVMIG__N_ELEMENTS(list)]

static void make_random(struct world *w, uint32_t *seed, const char **out_node)
{
    static const char *const vmims[] = { "Pending", "Scheduling", "PreparingTarget", "Running", "Succeeded", "Failed" };
    static const char *const states[] = { NULL,
                                          PREPARED,
                                          COPY,
                                          COPY ",'mode':'PostCopy'",
                                          COPY ",'targetNodeDomainReadyTimestamp':'2026-11-30T11:00:48Z'",
                                          OVER,
                                          OVER ",'failed':true",
                                          OVER ",'failed':true,'abortStatus':'Succeeded'" };
    static const char *const vmis[] = { "Running", "Running", "Running", "Succeeded", "Failed" };
    static const char *const nodes[] = { "node-a", "node-a", "node-b" };
    static const char *const pods[] = { "Running", "Succeeded", "Failed", "Pending" };
    static const char *const chassis[] = { NULL, "node-a", "node-b", "node-a,node-b", "node-c,node-d" };
    static const char *const domains[] = { "running", "paused (migrating)", "absent", "unreachable",
                                           "paused (post-copy failed)" };

    *out_node = PICK(nodes);
    vmi_is(w, PICK(vmis), *out_node, PICK(states), NULL);
    if (next_random(seed) % 4)
        vmim_is(w, PICK(vmims), next_random(seed) % 5 ? NULL : ",'deletionTimestamp':'2026-11-30T11:00:30Z'");
    pod_is(w, "src", "node-a", PICK(pods), false);
    if (next_random(seed) % 4)
        pod_is(w, "tgt", "node-b", PICK(pods), true);
    port_is(w, PICK(chassis), next_random(seed) % 2 ? "rarp" : NULL, (int32_t)(next_random(seed) % 3) - 1);
    if (next_random(seed) % 3 == 0)
        observe(w, "source", "node-a", PICK(domains));
    if (next_random(seed) % 3 == 0)
        observe(w, "target", "node-b", PICK(domains));
}

/* Whoever may run the guest, by what the VMI or a host says. */
static bool may_run(const struct world *w, const char *node, const char *vmi_node)
{
    const char *side = strcmp(node, "node-a") ? "target" : "source";

    for (size_t i = 0; i < w->facts->states.n; i++)
        if (!strcmp(w->facts->states.v[i].side, side))
            return strcmp(w->facts->states.v[i].state, "absent") != 0;
    return !strcmp(vmi_node, node);
}

static void check_safe(const struct world *w, const struct kvmig_diagnosis *diagnosis, const char *node, uint32_t n)
{
    const struct kvmig_findings *actions = &diagnosis->actions;
    const struct kvmig_finding *set = look_up(actions, "SET_REQUESTED_CHASSIS");

    if (look_up(actions, "RESUME_SOURCE") && may_run(w, "node-b", node) && !look_up(actions, "DESTROY_TARGET"))
        fail_msg("world %u: the source is resumed, and the target may run (%s)", n, diagnosis->verdict);
    for (size_t i = 0; i < w->facts->states.n; i++)
        if (!strcmp(w->facts->states.v[i].side, "target") && !strcmp(w->facts->states.v[i].state, "running") &&
            (look_up(actions, "DESTROY_TARGET") || look_up(actions, "DELETE_TARGET_POD") ||
             look_up(actions, "RESUME_SOURCE")))
            fail_msg("world %u: the target runs the guest, and %s (%s)", n, actions->v[0].code, diagnosis->verdict);
    if (look_up(actions, "DELETE_TARGET_POD") && !strcmp(node, "node-b"))
        fail_msg("world %u: the VM is on the target, and its pod is deleted (%s)", n, diagnosis->verdict);
    if (set &&
        (!set->detail || strstr(set->detail, "\"\"") || strstr(set->detail, "\",") || strstr(set->detail, ",\"")))
        fail_msg("world %u: an empty chassis: %s", n, set->detail ? set->detail : "none");
}

static void in_random_worlds_nothing_unsafe_is_advised(void **state)
{
    uint32_t seed = 20261130;

    (void)state;
    for (uint32_t n = 0; n < 3000; n++) {
        const char *node;
        struct world *w;
        void *made;

        setup(&made);
        w = made;
        make_random(w, &seed, &node);
        for (int32_t intent = KVMIG_INTENT_LOOK; intent <= KVMIG_INTENT_DRAIN; intent++) {
            struct kvmig_diagnosis *diagnosis = ask(w, intent);

            check_safe(w, diagnosis, node, n);
            kvmig_diagnosis_unref(diagnosis);
        }
        teardown(&made);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_phase_answers_each_intent),
        T(a_roll_back_is_complete_only_with_the_port),
        T(a_port_that_is_down_is_told_where_the_guest_is),
        T(the_port_belongs_where_the_hosts_say),
        T(nothing_is_touched_while_a_side_is_silent),
        T(kinds_that_are_not_known_prove_nothing),
        cmocka_unit_test(in_random_worlds_nothing_unsafe_is_advised),
    };
#undef T

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
