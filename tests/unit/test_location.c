/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The public resolver on hosts that exist only here: what is asked and answered, that it acts only on a fresh answer that allows it,
 * and what is freed when somebody lets go meanwhile.
 */
#include "session_test.h"

#include <errno.h>
#include <poll.h>

#include <json-c/json.h>

struct answer {
    int n, n_frees;
    struct kvmig_location *location; /* kept */
    int32_t verdict, code;
    bool drop; /* do not keep it */
};

static void on_location(const struct kvmig_location *location, const struct kvmig_error *error, void *data)
{
    struct answer *answer = data;

    assert_true(!location != !error);
    answer->n++;
    answer->code = kvmig_error_code(error);
    answer->verdict = kvmig_location_verdict(location);
    kvmig_location_unref(answer->location);
    answer->location = answer->drop ? NULL : kvmig_location_ref(location);
}

static void on_free(void *data)
{
    ((struct answer *)data)->n_frees++;
}

static struct kvmig_location_callback callback(struct answer *answer)
{
    return (struct kvmig_location_callback){ on_location, answer, on_free };
}

static int32_t answered(void *data)
{
    return ((struct answer *)data)->n_frees > 0;
}

static struct kvmig_locate_opts question(void)
{
    struct kvmig_locate_opts opts = KVMIG_LOCATE_OPTS_INIT;

    opts.vm = "vm-0";
    opts.source = "host-0";
    opts.target = "fake://1/";
    return opts;
}

static void locate(struct fake_world *world, struct answer *answer)
{
    const struct kvmig_locate_opts opts = question();

    answer->n_frees = 0;
    assert_int_equal(kvmig_cluster_locate(world->cluster, &opts, callback(answer)), 0);
    assert_int_equal(answer->n, 0); /* never inside the call */
    fake_run(world, answered, answer);
    assert_int_equal(answer->n, 1);
    assert_int_equal(answer->n_frees, 1);
    answer->n = 0;
}

static void apply(struct fake_world *world, struct answer *answer, int32_t action)
{
    answer->n_frees = 0;
    assert_int_equal(kvmig_location_apply(answer->location, action, callback(answer)), 0);
    fake_run(world, answered, answer);
    assert_int_equal(answer->n, 1);
    answer->n = 0;
}

static void close_all(struct fake_world *world, struct answer *answer)
{
    kvmig_location_unref(answer->location);
    fake_drain(world);
    fake_world_close(world);
}

static void answer_says_where_and_why(void **state)
{
    struct answer answer = { 0 };
    struct json_object *json, *member;
    struct fake_world world;
    char *text = NULL;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    locate(&world, &answer);
    assert_int_equal(answer.verdict, KVMIG_LOCATION_NO_FINDING);
    assert_int_equal(world.n_asked, 5); /* both for the name; then, by UUID, the target twice */
    assert_string_equal(kvmig_location_host(answer.location), "host-0");
    assert_true(strlen(kvmig_location_proof(answer.location)) > 0);
    assert_int_equal(kvmig_location_action_count(answer.location), 0);
    assert_int_equal(kvmig_location_action(answer.location, 0), 0);
    assert_int_equal(kvmig_location_to_json(answer.location, &text), 0);
    json = json_tokener_parse(text);
    assert_int_equal(json_pointer_get(json, "/source/state", &member), 0);
    assert_string_equal(json_object_get_string(member), "running");
    assert_int_equal(json_pointer_get(json, "/uuid", &member), 0);
    assert_true(kvmig__is_uuid(json_object_get_string(member)));
    assert_int_equal(json_pointer_get(json, "/source/uuid", &member), 0);
    assert_true(kvmig__is_uuid(json_object_get_string(member)));
    assert_int_equal(json_pointer_get(json, "/target/uuid", &member), -1); /* there is no guest */
    assert_int_equal(json_pointer_get(json, "/target/host", &member), 0);
    assert_string_equal(json_object_get_string(member), "host-1");
    json_object_put(json);
    free(text);
    close_all(&world, &answer);
}

static void unknown_place_is_null_in_json(void **state)
{
    struct answer answer = { 0 };
    struct fake_world world;
    char *text = NULL;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    world.sides[1].reachable = false;
    locate(&world, &answer);
    assert_int_equal(answer.verdict, KVMIG_LOCATION_UNDECIDED);
    assert_int_equal(world.n_asked, 2); /* one time-out is enough */
    assert_null(kvmig_location_host(answer.location));
    assert_int_equal(kvmig_location_to_json(answer.location, &text), 0);
    assert_non_null(strstr(text, "\"host\":null"));
    assert_non_null(strstr(text, "\"actions\":[{\"code\":\"WAIT\"}]"));
    free(text);
    close_all(&world, &answer);
}

static void options_are_initialised_at_run_time_as_by_the_macro(void **state)
{
    const struct kvmig_locate_opts fresh = KVMIG_LOCATE_OPTS_INIT;
    struct kvmig_locate_opts opts;

    (void)state;
    memset(&opts, 0xff, sizeof(opts));
    assert_int_equal(kvmig_locate_opts_init(&opts, sizeof(opts)), 0);
    assert_memory_equal(&opts, &fresh, sizeof(opts));
    assert_int_equal(kvmig_locate_opts_init(&opts, sizeof(opts.size) - 1), -EINVAL);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "kvmig_locate_opts_init");
    assert_int_equal(kvmig_locate_opts_init(NULL, sizeof(opts)), -EINVAL);
}

static void bad_questions_are_refused_by_name_and_freed_once(void **state)
{
    struct answer answer = { 0 };
    struct kvmig_locate_opts opts = question();
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    opts.vm = NULL;
    assert_int_equal(kvmig_cluster_locate(world.cluster, &opts, callback(&answer)), -EINVAL);
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), "vm"));
    opts = question();
    opts.source = "";
    assert_int_equal(kvmig_cluster_locate(world.cluster, &opts, callback(&answer)), -EINVAL);
    opts = question();
    opts.target = "nowhere";
    assert_int_equal(kvmig_cluster_locate(world.cluster, &opts, callback(&answer)), -KVMIG_ENOHOST);
    assert_string_equal(kvmig_error_evidence(kvmig_error_last()), "nowhere");
    opts.target = "fake://0/";
    assert_int_equal(kvmig_cluster_locate(world.cluster, &opts, callback(&answer)), -EINVAL);
    opts = question();
    opts.timeout_ms = UINT64_MAX;
    assert_int_equal(kvmig_cluster_locate(world.cluster, &opts, callback(&answer)), -EINVAL);
    assert_int_equal(kvmig_cluster_locate(world.cluster, NULL, callback(&answer)), -EINVAL);
    assert_int_equal(answer.n_frees, 0);
    fake_drain(&world);
    assert_int_equal(answer.n_frees, 6);
    assert_int_equal(kvmig_cluster_locate(NULL, &opts, callback(&answer)), -EINVAL);
    assert_int_equal(kvmig_location_apply(NULL, KVMIG_ACTION_WAIT, callback(&answer)), -EINVAL);
    assert_int_equal(answer.n_frees, 8);
    assert_int_equal(answer.n, 0);
    assert_int_equal(kvmig_location_to_json(NULL, NULL), -EINVAL);
    fake_world_close(&world);
}

static void action_that_is_not_allowed_is_refused_at_once(void **state)
{
    struct answer answer = { 0 };
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    locate(&world, &answer);
    assert_int_equal(kvmig_location_apply(answer.location, KVMIG_ACTION_DESTROY_SOURCE, callback(&answer)),
                     -KVMIG_EREFUSED);
    assert_non_null(strstr(kvmig_error_message(kvmig_error_last()), "DESTROY_SOURCE"));
    assert_int_equal(kvmig_location_apply(answer.location, 99, callback(&answer)), -EINVAL);
    fake_drain(&world);
    assert_int_equal(world.n_acted, 0);
    close_all(&world, &answer);
}

static void action_is_done_on_the_right_host_and_looked_at_again(void **state)
{
    struct answer answer = { 0 };
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    fake_side(&world.sides[0], KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION, false);
    fake_side(&world.sides[1], KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION, false);
    locate(&world, &answer);
    assert_int_equal(kvmig_location_action(answer.location, 0), KVMIG_ACTION_DESTROY_TARGET);
    apply(&world, &answer, KVMIG_ACTION_DESTROY_TARGET);
    assert_int_equal(answer.verdict, KVMIG_LOCATION_FAILED_SOURCE_PAUSED);
    assert_int_equal(kvmig_location_action(answer.location, 0), KVMIG_ACTION_RESUME_SOURCE);
    apply(&world, &answer, KVMIG_ACTION_RESUME_SOURCE);
    assert_int_equal(answer.verdict, KVMIG_LOCATION_NO_FINDING);
    assert_int_equal(world.n_acted, 2);
    close_all(&world, &answer);
}

static void both_copies_are_suspended(void **state)
{
    struct answer answer = { 0 };
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    fake_side(&world.sides[1], KVMIG__STATE_RUNNING, KVMIG__REASON_MIGRATED, false);
    locate(&world, &answer);
    assert_int_equal(answer.verdict, KVMIG_LOCATION_SPLIT_BRAIN);
    apply(&world, &answer, KVMIG_ACTION_SUSPEND_BOTH);
    assert_int_equal(world.n_acted, 2);
    assert_int_equal(answer.verdict, KVMIG_LOCATION_UNDECIDED);
    close_all(&world, &answer);
}

static void action_that_is_not_allowed_any_more_is_refused_after_the_fresh_look(void **state)
{
    struct answer answer = { 0 };
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    fake_side(&world.sides[0], KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION, false);
    locate(&world, &answer);
    assert_int_equal(kvmig_location_action(answer.location, 0), KVMIG_ACTION_RESUME_SOURCE);
    /* Meanwhile the target was started. */
    fake_side(&world.sides[1], KVMIG__STATE_RUNNING, KVMIG__REASON_MIGRATED, false);
    answer.n_frees = 0;
    assert_int_equal(kvmig_location_apply(answer.location, KVMIG_ACTION_RESUME_SOURCE, callback(&answer)), 0);
    fake_run(&world, answered, &answer);
    assert_int_equal(answer.code, -KVMIG_EREFUSED);
    assert_int_equal(world.n_acted, 0);
    close_all(&world, &answer);
}

static void action_that_fails_is_told(void **state)
{
    struct answer answer = { 0 };
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    fake_side(&world.sides[0], KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION, false);
    world.act_fails = true;
    locate(&world, &answer);
    apply(&world, &answer, KVMIG_ACTION_RESUME_SOURCE);
    assert_int_equal(answer.code, -KVMIG_EVIRT);
    close_all(&world, &answer);
}

static void waiting_is_asking_again(void **state)
{
    struct answer answer = { 0 };
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    world.sides[0].job_active = true;
    locate(&world, &answer);
    assert_int_equal(answer.verdict, KVMIG_LOCATION_RUNNING);
    world.sides[0].job_active = false;
    apply(&world, &answer, KVMIG_ACTION_WAIT);
    assert_int_equal(answer.verdict, KVMIG_LOCATION_NO_FINDING);
    assert_int_equal(world.n_acted, 0);
    close_all(&world, &answer);
}

static void postcopy_is_recovered_by_the_caller(void **state)
{
    struct answer answer = { 0 };
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    fake_side(&world.sides[0], KVMIG__STATE_PAUSED, KVMIG__REASON_POSTCOPY_FAILED, false);
    fake_side(&world.sides[1], KVMIG__STATE_PAUSED, KVMIG__REASON_POSTCOPY_FAILED, false);
    locate(&world, &answer);
    assert_int_equal(kvmig_location_action(answer.location, 0), KVMIG_ACTION_POSTCOPY_RECOVER);
    assert_int_equal(kvmig_location_apply(answer.location, KVMIG_ACTION_POSTCOPY_RECOVER, callback(&answer)), -ENOTSUP);
    assert_non_null(strstr(kvmig_error_hint(kvmig_error_last()), "POSTCOPY_RESUME"));
    close_all(&world, &answer);
}

static void answer_outlives_cluster_and_context_of_its_owner(void **state)
{
    struct answer answer = { 0 };
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    locate(&world, &answer);
    kvmig_cluster_unref(world.cluster);
    kvmig_context_unref(world.context);
    assert_string_equal(kvmig_location_host(answer.location), "host-0");
    kvmig_location_unref(answer.location);
    assert_int_equal(world.n_closed, 2);
}

static void letting_go_while_a_question_is_out_frees_without_an_answer(void **state)
{
    const struct kvmig_locate_opts opts = question();
    struct answer answer = { .drop = true };
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    assert_int_equal(kvmig_cluster_locate(world.cluster, &opts, callback(&answer)), 0);
    kvmig_cluster_unref(world.cluster);
    kvmig_context_unref(world.context);
    for (int waited = 0; world.n_closed < 2; waited++) {
        assert_true(waited < 30000);
        poll(NULL, 0, 1);
    }
    assert_int_equal(answer.n, 0);
    assert_int_equal(answer.n_frees, 1);
}

static void every_name_is_known_and_nothing_beyond(void **state)
{
    (void)state;
    assert_null(kvmig_location_verdict_name(0));
    assert_null(kvmig_location_verdict_name(KVMIG_LOCATION_UNDECIDED + 1));
    assert_null(kvmig_location_action_name(-1));
    assert_null(kvmig_location_action_name(KVMIG_ACTION_SUSPEND_BOTH + 1));
    for (int32_t v = KVMIG_LOCATION_NO_FINDING; v <= KVMIG_LOCATION_UNDECIDED; v++)
        assert_non_null(kvmig_location_verdict_name(v));
    for (int32_t a = KVMIG_ACTION_WAIT; a <= KVMIG_ACTION_SUSPEND_BOTH; a++)
        assert_non_null(kvmig_location_action_name(a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_says_where_and_why),
        cmocka_unit_test(unknown_place_is_null_in_json),
        cmocka_unit_test(options_are_initialised_at_run_time_as_by_the_macro),
        cmocka_unit_test(bad_questions_are_refused_by_name_and_freed_once),
        cmocka_unit_test(action_that_is_not_allowed_is_refused_at_once),
        cmocka_unit_test(action_is_done_on_the_right_host_and_looked_at_again),
        cmocka_unit_test(both_copies_are_suspended),
        cmocka_unit_test(action_that_is_not_allowed_any_more_is_refused_after_the_fresh_look),
        cmocka_unit_test(action_that_fails_is_told),
        cmocka_unit_test(waiting_is_asking_again),
        cmocka_unit_test(postcopy_is_recovered_by_the_caller),
        cmocka_unit_test(answer_outlives_cluster_and_context_of_its_owner),
        cmocka_unit_test(letting_go_while_a_question_is_out_frees_without_an_answer),
        cmocka_unit_test(every_name_is_known_and_nothing_beyond),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
