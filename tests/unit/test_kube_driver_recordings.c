/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The KubeVirt session driver against what KubeVirt's controller really wrote: it attaches to the migration of each
 * recording, and is led through its steps as a session leads it. In order, with every event twice, and taken up from
 * its token in the middle.
 */
#include "follow_test.h"
#include "kube_driver_world.h"

enum way { IN_ORDER, TWICE, RESUMED };

static const struct scenario {
    const char *recording, *vm, *vmim;
    int32_t side; /* where the guest is in the end; 0 = not decided */
    int32_t code; /* of the error that the steps ended with */
    const char *evidence; /* begins with it; NULL = none */
    int32_t reached; /* the last step that ended well */
    const char *targets;
} scenarios[] = {
    { "01-happy", "ns1/vm1", "mig1", 1, 0, NULL, KVMIG__STEP_FINISH, "node-b," },
    { "02-unschedulable", "ns1/vm1", "mig1", -1, KVMIG_EMIGRATE, "TARGET_UNSCHEDULABLE", KVMIG__STEP_ADMIT, "" },
    { "03-image-pull", "ns1/vm1", "mig1", -1, KVMIG_EMIGRATE, "TARGET_IMAGE_PULL", KVMIG__STEP_ADMIT, "node-b," },
    { "04-cancel-scheduling", "ns1/vm1", "mig1", -1, ECANCELED, "CANCELLED", KVMIG__STEP_ADMIT, "" },
    { "05-cancel-preparing", "ns1/vm1", "mig1", -1, ECANCELED, "CANCELLED", KVMIG__STEP_SCHEDULE, "node-b," },
    { "06-cancel-running", "ns1/vm1", "mig1", -1, ECANCELED, "CANCELLED_BY_USER", KVMIG__STEP_PREPARE, "node-b," },
    { "07-source-reports-failure", "ns1/vm1", "mig1", -1, KVMIG_EMIGRATE, "CPU_FEATURE_MISSING", KVMIG__STEP_PREPARE,
      "node-b," },
    { "08-target-lost", "ns1/vm1", "mig1", -1, KVMIG_EMIGRATE, "TARGET_POD_LOST", KVMIG__STEP_PREPARE, "node-b," },
    { "09-hotplug", "ns1/vm1", "mig1", 1, 0, NULL, KVMIG__STEP_FINISH, "node-b," },
    { "10-hotplug-unschedulable", "ns1/vm1", "mig1", -1, ETIMEDOUT, NULL, -1, "" },
    { "11-slots", "ns1/vm1", "mig1", 1, 0, NULL, KVMIG__STEP_FINISH, "node-b," },
    { "11-slots", "ns1/vm1-2", "mig1-2", 1, 0, NULL, KVMIG__STEP_FINISH, "node-b," },
};

struct led {
    int32_t code, reached;
    char *evidence;
    bool over;
};

/* ---- the session's part ---- */

static void lead_on(struct led *led, enum kvmig__step next)
{
    begin(next);
    (void)led;
}

static void fail_over(struct led *led)
{
    if (!led->code) {
        led->code = -session.error->code;
        led->evidence = kvmig__strdup(session.error->evidence);
    }
    driver->ops->withdraw(driver);
    lead_on(led, KVMIG__STEP_LOCATE);
}

static void take_up(struct led *led)
{
    const int32_t step = session.step;

    session.answers = 0;
    if (session.error && step != KVMIG__STEP_UNDO && step != KVMIG__STEP_FINISH) {
        fail_over(led);
        return;
    }
    if (step != KVMIG__STEP_LOCATE && step != KVMIG__STEP_UNDO)
        led->reached = step;
    switch (step) {
    case KVMIG__STEP_ADMIT:
        lead_on(led, KVMIG__STEP_SCHEDULE);
        break;
    case KVMIG__STEP_SCHEDULE:
        lead_on(led, KVMIG__STEP_PREPARE);
        break;
    case KVMIG__STEP_PREPARE:
        lead_on(led, KVMIG__STEP_MIGRATE);
        break;
    case KVMIG__STEP_MIGRATE:
        lead_on(led, KVMIG__STEP_LOCATE);
        break;
    case KVMIG__STEP_LOCATE:
        if (session.resolution.decided && session.resolution.side)
            lead_on(led, session.resolution.side > 0 ? KVMIG__STEP_FINISH : KVMIG__STEP_UNDO);
        else
            led->over = true;
        break;
    default:
        led->over = true;
        break;
    }
}

static void lead(struct led *led, int64_t ms)
{
    run(ms);
    while (session.answers && !led->over)
        take_up(led);
}

/* ---- playing ---- */

static void apply(const struct step *step)
{
    struct kvmig__kube_meta *object = kvmig__object_decode(step->json, -1);

    assert_non_null(object);
    if (step->type == STEP_ADDED) {
        kvmig__kube_put(&world.store, object);
    } else {
        kvmig__kube_put(&world.store, object);
        tell_gone(step->kind, step->ns, step->name);
    }
    tell_changed();
}

static const char *vmi_uid(const struct recording *recording, const char *vm)
{
    for (size_t i = 0; i < recording->n; i++)
        if (recording->v[i].kind == KVMIG__KUBE_VMI && kvmig__str_ends(vm, recording->v[i].name))
            return json_object_get_string(member(member(recording->v[i].json, "metadata"), "uid"));
    return NULL;
}

static void resume(void)
{
    drop_driver();
    json_object_put(session.wishes.token);
    session.wishes.token = json_tokener_parse(session.token);
    session.targets[0] = 0;
    session.answers = 0;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
}

static void play(const struct recording *recording, const struct scenario *scenario, enum way way, struct led *led)
{
    bool begun = false;

    for (size_t i = 0; i < recording->n; i++) {
        const struct step *step = &recording->v[i];

        for (int32_t k = 0; k < (way == TWICE ? 2 : 1); k++)
            apply(step);
        if (!begun && step->kind == KVMIG__KUBE_VMIM && !strcmp(step->name, scenario->vmim)) {
            make_driver();
            begin(KVMIG__STEP_ADMIT);
            begun = true;
        }
        if (begun && way == RESUMED && i == recording->n / 2)
            resume();
        if (begun)
            lead(led, 50);
    }
    for (int32_t i = 0; i < 3000 && !led->over; i++)
        lead(led, 1000);
}

static void check(const struct scenario *scenario, enum way way)
{
    struct led led = { .reached = -1 };
    struct recording recording;
    void *none = NULL;

    set_up(&none);
    kvmig__kube_clear(&world.store);
    know_all(&world.store);
    world.recorded = true;
    load_recording(&recording, scenario->recording);
    session.plan.vm = (char *)scenario->vm;
    session.plan.uuid = (char *)vmi_uid(&recording, scenario->vm);
    session.wishes.attach = (char *)scenario->vmim;
    play(&recording, scenario, way, &led);
    if (led.code != scenario->code)
        print_error("%s: %d %s\n", scenario->recording, led.code, led.evidence ? led.evidence : "");
    assert_true(led.over);
    assert_int_equal(led.code, scenario->code);
    assert_int_equal(session.resolution.side, scenario->side);
    if (scenario->evidence)
        assert_true(kvmig__str_starts(led.evidence, scenario->evidence));
    if (way != RESUMED) {
        assert_int_equal(led.reached, scenario->reached);
        assert_string_equal(session.targets, scenario->targets);
    }
    assert_false(asked("POST", "")); /* it only follows */
    assert_false(asked("DELETE", ""));
    free(led.evidence);
    tear_down(&none);
    free_recording(&recording);
}

static void follows_each_to_its_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++)
        check(&scenarios[i], IN_ORDER);
}

static void does_not_mind_hearing_all_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++)
        check(&scenarios[i], TWICE);
}

static void comes_to_the_same_end_when_taken_up_in_the_middle(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++)
        check(&scenarios[i], RESUMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_each_to_its_end),
        cmocka_unit_test(does_not_mind_hearing_all_twice),
        cmocka_unit_test(comes_to_the_same_end_when_taken_up_in_the_middle),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
