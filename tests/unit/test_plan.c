/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner as a whole: which VM is meant, which target is chosen, the verdict, limits, and the plan as an object.
 */
#include "plan_fixture.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static struct scene scene;

static int setup(void **state)
{
    (void)state;
    scene_init(&scene);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scene_clear(&scene);
    return 0;
}

static void assert_fails(int32_t code, const char *piece)
{
    struct kvmig_plan *plan = (struct kvmig_plan *)&scene;

    assert_int_equal(kvmig__plan_make(&scene.view, &scene.request, &scene.slots, &plan), -code);
    assert_null(plan);
    if (piece && !strstr(kvmig_error_message(kvmig_error_last()), piece) &&
        !strstr(kvmig_error_evidence(kvmig_error_last()), piece))
        fail_msg("\"%s\" (%s) does not tell \"%s\"", kvmig_error_message(kvmig_error_last()),
                 kvmig_error_evidence(kvmig_error_last()), piece);
    assert_string_not_equal(kvmig_error_hint(kvmig_error_last()), "");
}

static void a_vm_that_fits_is_migratable(void **state)
{
    const struct kvmig_plan *plan = scene_plan(&scene);

    (void)state;
    assert_clean(plan);
    assert_string_equal(kvmig_plan_vm(plan), "vm1");
    assert_string_equal(kvmig_plan_source(plan), "alpha");
    assert_string_equal(kvmig_plan_target(plan), "beta");
    assert_string_equal(plan->uuid, "11111111-0000-4000-8000-000000000001");
    assert_true(plan->persistent);
    assert_false(plan->was_paused);
    assert_int_equal(kvmig_plan_disk_count(plan), 1);
    assert_string_equal(kvmig_plan_disk_target(plan, 0), "vda");
    assert_int_equal(kvmig_plan_disk_method(plan, 0), KVMIG_DISK_SHARED);
    assert_int_equal(kvmig_plan_candidate_count(plan), 1);
    assert_string_equal(kvmig_plan_candidate_host(plan, 0), "beta");
    assert_int_equal(kvmig_plan_candidate_verdict(plan, 0), KVMIG_VERDICT_MIGRATABLE);
}

/* ---- which VM ---- */

static void a_vm_is_found_by_name_and_by_uuid_in_any_case(void **state)
{
    (void)state;
    kvmig__str_set(&scene_vm(&scene)->uuid, "AAAAAAAA-0000-4000-8000-000000000001");
    kvmig__str_set(&scene.request.vm, "aaaaaaaa-0000-4000-8000-000000000001");
    assert_string_equal(kvmig_plan_vm(scene_plan(&scene)), "vm1");
}

static void an_unknown_vm_or_host_is_an_error(void **state)
{
    (void)state;
    kvmig__str_set(&scene.request.vm, "nobody");
    assert_fails(KVMIG_ENOVM, "nobody");
    kvmig__str_set(&scene.request.vm, "vm1");
    kvmig__str_set(&scene.request.target, "gamma");
    assert_fails(KVMIG_ENOHOST, "gamma");
    kvmig__str_set(&scene.request.target, NULL);
    kvmig__str_set(&scene.request.source, "gamma");
    assert_fails(KVMIG_ENOHOST, "gamma");
    kvmig__str_set(&scene.request.source, "beta");
    assert_fails(KVMIG_ENOVM, "beta");
}

static void a_vm_that_may_be_on_an_unread_host_is_not_denied(void **state)
{
    (void)state;
    kvmig__str_set(&scene.request.vm, "nobody");
    scene_host(&scene, "beta")->state = KVMIG__HOST_LOST;
    assert_fails(KVMIG_ENOVM, "beta"); /* told as evidence */
    scene_host(&scene, "beta")->state = KVMIG__HOST_CONNECTING;
    assert_fails(KVMIG_ENOTSYNCED, "beta");
    kvmig__str_set(&scene.request.source, "beta");
    assert_fails(KVMIG_ENOTSYNCED, "beta");
}

static void one_name_for_two_vms_is_ambiguous(void **state)
{
    (void)state;
    host_add_domain(scene_host(&scene, "beta"), "vm1", "22222222-0000-4000-8000-000000000002", KVMIG__STATE_RUNNING);
    assert_fails(KVMIG_EAMBIGUOUS, "22222222");
    kvmig__str_set(&scene.request.source, "beta");
    scene_plan(&scene);
    assert_string_equal(kvmig_plan_source(scene.plan), "beta");
    kvmig__str_set(&scene.request.source, NULL);
    kvmig__str_set(&scene.request.vm, "11111111-0000-4000-8000-000000000001");
    assert_string_equal(kvmig_plan_source(scene_plan(&scene)), "alpha");
}

static void the_host_where_it_runs_is_the_source(void **state)
{
    const char *uuid = "11111111-0000-4000-8000-000000000001";

    (void)state;
    /* A definition that was left behind, and half of a migration that is under way. */
    host_add_domain(scene_add_host(&scene, "gamma"), "vm1", uuid, KVMIG__STATE_SHUTOFF);
    host_add_domain(scene_host(&scene, "beta"), "vm1", uuid, KVMIG__STATE_PAUSED)->migrating_in = true;
    assert_string_equal(kvmig_plan_source(scene_plan(&scene)), "alpha");
    assert_non_null(find_code(kvmig_plan_candidate_findings(scene.plan, 0), "DEFINITION_REPLACED_ON_TARGET"));
    assert_non_null(find_code(kvmig_plan_candidate_findings(scene.plan, 1), "DOMAIN_EXISTS_ON_TARGET"));
}

static void one_vm_that_runs_twice_is_ambiguous(void **state)
{
    (void)state;
    host_add_domain(scene_host(&scene, "beta"), "vm1", "11111111-0000-4000-8000-000000000001", KVMIG__STATE_RUNNING);
    assert_fails(KVMIG_EAMBIGUOUS, "beta");
}

static void a_silent_host_that_had_the_vm_is_a_risk(void **state)
{
    struct kvmig__host *gamma = scene_add_host(&scene, "gamma");

    (void)state;
    host_add_domain(gamma, "vm1", "11111111-0000-4000-8000-000000000001", KVMIG__STATE_RUNNING);
    gamma->state = KVMIG__HOST_LOST;
    assert_detail(assert_finding(scene_plan(&scene), "VM_ALSO_ON_LOST_HOST", KVMIG_SEVERITY_WARN), "gamma");
    assert_string_equal(kvmig_plan_source(scene.plan), "alpha");
}

static void a_vm_on_a_silent_host_is_blocked(void **state)
{
    struct kvmig__host *alpha = scene_host(&scene, "alpha");

    (void)state;
    alpha->state = KVMIG__HOST_LOST;
    alpha->lost_error = kvmig__error_new(KVMIG_EUNREACHABLE, "alpha", NULL, NULL, "no route to host");
    assert_detail(assert_finding(scene_plan(&scene), "SOURCE_UNREACHABLE", KVMIG_SEVERITY_BLOCKER), "no route");
}

/* ---- which target ---- */

static void a_target_is_taken_by_name_uri_or_uuid(void **state)
{
    static const char *const names[] = { "beta", "qemu+tls://beta/system", "00000000-0000-4000-8000-000000000002" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(names); i++) {
        kvmig__str_set(&scene.request.target, names[i]);
        assert_string_equal(kvmig_plan_target(scene_plan(&scene)), "beta");
    }
}

static void the_source_is_no_target(void **state)
{
    (void)state;
    kvmig__str_set(&scene.request.target, "alpha");
    assert_finding(scene_plan(&scene), "TARGET_IS_SOURCE", KVMIG_SEVERITY_BLOCKER);
    assert_string_equal(kvmig_plan_target(scene.plan), "alpha");
    assert_int_equal(kvmig_plan_disk_count(scene.plan), 1);
}

static void more_free_memory_wins(void **state)
{
    (void)state;
    scene_add_host(&scene, "gamma")->memory_free = 48 * GIB;
    assert_string_equal(kvmig_plan_target(scene_plan(&scene)), "gamma");
    scene_host(&scene, "beta")->memory_free = 60 * GIB;
    assert_string_equal(kvmig_plan_target(scene_plan(&scene)), "beta");
}

static void fewer_risks_win_over_memory(void **state)
{
    struct kvmig__host *gamma = scene_add_host(&scene, "gamma");

    (void)state;
    gamma->memory_free = 60 * GIB;
    gamma->libvirt_version = 11005000; /* older than the source's */
    assert_string_equal(kvmig_plan_target(scene_plan(&scene)), "beta");
    assert_int_equal(kvmig_plan_candidate_verdict(scene.plan, 1), KVMIG_VERDICT_MIGRATABLE_WITH_RISK);
}

static void about_equal_memory_lets_the_cost_of_copying_decide(void **state)
{
    struct kvmig__host *gamma = scene_add_host(&scene, "gamma");
    const char *path = "/srv/images";

    (void)state;
    scene_use_file(&scene, "/srv/images/vm1.raw", "raw");
    pool_add_volume(host_add_pool(scene_host(&scene, "alpha"), "images", "netfs", path), "vm1.raw", "raw", NULL);
    host_add_pool(scene_host(&scene, "beta"), "images", "dir", path);
    host_add_pool(gamma, "images", "netfs", path);
    for (size_t i = 0; i < 3; i += 2) {
        kvmig__str_set(&scene.view.hosts.v[i]->pools.v[0].source_host, "nas");
        kvmig__str_set(&scene.view.hosts.v[i]->pools.v[0].source_dir, "/export");
    }
    scene_host(&scene, "beta")->memory_free = 33 * GIB;
    assert_string_equal(kvmig_plan_target(scene_plan(&scene)), "gamma");
    assert_method(scene.plan, "vda", KVMIG_DISK_SHARED);
    scene_host(&scene, "beta")->memory_free = 60 * GIB;
    assert_string_equal(kvmig_plan_target(scene_plan(&scene)), "beta");
    assert_method(scene.plan, "vda", KVMIG_DISK_COPY_FULL);
}

static void equals_are_ordered_by_name(void **state)
{
    (void)state;
    scene_add_host(&scene, "delta");
    scene_add_host(&scene, "aardvark");
    assert_string_equal(kvmig_plan_target(scene_plan(&scene)), "aardvark");
    assert_string_equal(kvmig_plan_candidate_host(scene.plan, 1), "beta");
    assert_string_equal(kvmig_plan_candidate_host(scene.plan, 2), "delta");
}

static void blocked_hosts_are_never_chosen(void **state)
{
    (void)state;
    scene_add_host(&scene, "gamma")->libvirt_version = 11005000;
    scene_host(&scene, "beta")->state = KVMIG__HOST_LOST;
    assert_string_equal(kvmig_plan_target(scene_plan(&scene)), "gamma");
    assert_verdict(scene.plan, KVMIG_VERDICT_MIGRATABLE_WITH_RISK);
    kvmig__str_set(&scene.request.target, "beta"); /* unless asked for */
    assert_string_equal(kvmig_plan_target(scene_plan(&scene)), "beta");
    assert_finding(scene.plan, "TARGET_UNREACHABLE", KVMIG_SEVERITY_BLOCKER);
    assert_int_equal(kvmig_plan_candidate_verdict(scene.plan, 0), KVMIG_VERDICT_MIGRATABLE_WITH_RISK);
}

static void without_a_feasible_target_the_plan_says_why(void **state)
{
    const struct kvmig_finding *finding;

    (void)state;
    scene_add_host(&scene, "gamma")->networks.v[0].active = false;
    scene_host(&scene, "beta")->state = KVMIG__HOST_LOST;
    finding = assert_finding(scene_plan(&scene), "NO_FEASIBLE_TARGET", KVMIG_SEVERITY_BLOCKER);
    assert_null(kvmig_plan_target(scene.plan));
    assert_detail(finding, "TARGET_UNREACHABLE");
    assert_detail(finding, "NETWORK_INACTIVE");
    assert_string_equal(kvmig_finding_host(plan_finding(scene.plan, "NETWORK_INACTIVE")), "gamma");
}

static void a_view_of_one_host_has_no_target(void **state)
{
    (void)state;
    kvmig__host_free(scene.view.hosts.v[1]);
    scene.view.hosts.n = 1;
    assert_finding(scene_plan(&scene), "NO_FEASIBLE_TARGET", KVMIG_SEVERITY_BLOCKER);
    assert_int_equal(kvmig_plan_candidate_count(scene.plan), 0);
    assert_null(kvmig_plan_candidate_host(scene.plan, 0));
}

static void a_vm_that_cannot_move_blocks_every_candidate(void **state)
{
    (void)state;
    scene_vm(&scene)->snapshots = 1;
    assert_verdict(scene_plan(&scene), KVMIG_VERDICT_BLOCKED);
    assert_int_equal(kvmig_plan_candidate_verdict(scene.plan, 0), KVMIG_VERDICT_BLOCKED);
    assert_no_finding(scene.plan, "NO_FEASIBLE_TARGET"); /* the snapshot is the reason, not the hosts */
}

/* ---- limits ---- */

static void use_slots(uint32_t running, uint32_t out, uint32_t in)
{
    scene.slots.max_migrations = 5;
    scene.slots.max_outbound = scene.slots.max_inbound = 2;
    scene.slots.running = running;
    free(scene.slots.per_host);
    scene.slots.per_host = kvmig__calloc(scene.view.hosts.n, sizeof(*scene.slots.per_host));
    scene.slots.per_host[0].out = out;
    scene.slots.per_host[1].in = in;
}

static void limits_queue_the_request(void **state)
{
    const struct kvmig_finding *finding;

    (void)state;
    use_slots(4, 1, 1);
    assert_clean(scene_plan(&scene));
    use_slots(5, 1, 1);
    finding = assert_finding(scene_plan(&scene), "LIMIT_REACHED", KVMIG_SEVERITY_INFO);
    assert_verdict(scene.plan, KVMIG_VERDICT_QUEUED);
    assert_string_equal(kvmig_finding_object(finding), "cluster");
    assert_detail(finding, "\"active\": 5");
    use_slots(4, 2, 0);
    assert_string_equal(kvmig_finding_object(assert_finding(scene_plan(&scene), "LIMIT_REACHED", KVMIG_SEVERITY_INFO)),
                        "node/alpha");
    use_slots(4, 0, 2);
    assert_string_equal(kvmig_finding_object(assert_finding(scene_plan(&scene), "LIMIT_REACHED", KVMIG_SEVERITY_INFO)),
                        "node/beta");
}

static void a_host_with_a_free_slot_is_preferred(void **state)
{
    (void)state;
    scene_add_host(&scene, "gamma")->libvirt_version = 11005000; /* a risk */
    use_slots(2, 0, 2);
    assert_string_equal(kvmig_plan_target(scene_plan(&scene)), "gamma");
    assert_int_equal(kvmig_plan_candidate_verdict(scene.plan, 1), KVMIG_VERDICT_QUEUED);
}

static void a_blocker_outweighs_a_limit(void **state)
{
    (void)state;
    use_slots(5, 2, 2);
    scene_vm(&scene)->state = KVMIG__STATE_SHUTOFF;
    assert_verdict(scene_plan(&scene), KVMIG_VERDICT_BLOCKED);
}

static void no_limit_is_never_reached(void **state)
{
    (void)state;
    use_slots(1000, 1000, 1000);
    scene.slots.max_migrations = scene.slots.max_outbound = scene.slots.max_inbound = KVMIG_UNLIMITED;
    assert_clean(scene_plan(&scene));
}

/* ---- the plan as an object ---- */

static void findings_are_ordered_worst_first(void **state)
{
    (void)state;
    scene_vm(&scene)->checkpoints = 1; /* a warning */
    scene_vm(&scene)->loader = kvmig__strdup("/usr/share/OVMF.fd"); /* a remark */
    scene_host(&scene, "beta")->networks.v[0].active = false; /* a blocker */
    kvmig__str_set(&scene.request.target, "beta");
    scene_plan(&scene);
    assert_string_equal(kvmig_finding_code(kvmig_findings_get(kvmig_plan_findings(scene.plan), 0)), "NETWORK_INACTIVE");
    assert_string_equal(kvmig_finding_code(kvmig_findings_get(kvmig_plan_findings(scene.plan), 1)),
                        "CHECKPOINTS_LEFT_BEHIND");
}

static void accessors_take_null_and_indexes_past_the_end(void **state)
{
    (void)state;
    assert_int_equal(kvmig_plan_verdict(NULL), 0);
    assert_null(kvmig_plan_vm(NULL));
    assert_null(kvmig_plan_source(NULL));
    assert_null(kvmig_plan_target(NULL));
    assert_null(kvmig_plan_findings(NULL));
    assert_int_equal(kvmig_plan_disk_count(NULL), 0);
    assert_int_equal(kvmig_plan_candidate_count(NULL), 0);
    assert_null(kvmig_plan_ref(NULL));
    kvmig_plan_unref(NULL);
    scene_plan(&scene);
    assert_null(kvmig_plan_disk_target(scene.plan, 1));
    assert_int_equal(kvmig_plan_disk_method(scene.plan, 1), 0);
    assert_null(kvmig_plan_candidate_host(scene.plan, 1));
    assert_int_equal(kvmig_plan_candidate_verdict(scene.plan, 1), 0);
    assert_null(kvmig_plan_candidate_findings(scene.plan, 1));
}

static void a_plan_lives_as_long_as_its_owners_and_needs_no_view(void **state)
{
    struct kvmig_plan *plan;

    (void)state;
    scene_plan(&scene);
    plan = kvmig_plan_ref(scene.plan);
    scene_clear(&scene);
    assert_string_equal(kvmig_plan_vm(plan), "vm1");
    assert_string_equal(plan->request.vm, "vm1");
    kvmig_plan_unref(plan);
    scene_init(&scene);
}

static void names_are_stable(void **state)
{
    (void)state;
    assert_string_equal(kvmig_verdict_name(KVMIG_VERDICT_MIGRATABLE_WITH_RISK), "MIGRATABLE_WITH_RISK");
    assert_string_equal(kvmig_verdict_name(KVMIG_VERDICT_SOURCE), "SOURCE");
    assert_null(kvmig_verdict_name(0));
    assert_null(kvmig_verdict_name(99));
    assert_string_equal(kvmig_disk_method_name(KVMIG_DISK_COPY_INCREMENTAL), "copy-incremental");
    assert_string_equal(kvmig_disk_method_name(KVMIG_DISK_IMPOSSIBLE), "impossible");
    assert_null(kvmig_disk_method_name(0));
    for (int32_t copy = KVMIG_COPY_AUTO; copy <= KVMIG_COPY_INCREMENTAL; copy++)
        assert_non_null(kvmig_copy_name(copy));
    assert_string_equal(kvmig_copy_name(KVMIG_COPY_INCREMENTAL), "incremental");
    assert_null(kvmig_copy_name(-1));
    assert_null(kvmig_copy_name(KVMIG_COPY_INCREMENTAL + 1));
    assert_string_equal(kvmig_handover_name(KVMIG_HANDOVER_NORMAL), "normal");
    assert_string_equal(kvmig_handover_name(KVMIG_HANDOVER_STRICT), "strict");
    assert_null(kvmig_handover_name(-1));
    assert_null(kvmig_handover_name(KVMIG_HANDOVER_STRICT + 1));
}

/* ---- JSON ---- */

static const char *member(struct json_object *object, const char *key)
{
    struct json_object *value;

    if (!json_object_object_get_ex(object, key, &value))
        fail_msg("no member %s", key);
    return json_object_get_string(value);
}

static void a_plan_converts_to_json(void **state)
{
    struct json_object *object, *list;
    char *text;

    (void)state;
    scene.request.flags = KVMIG_PLAN_TLS;
    kvmig__str_set(&scene.request.target_xml, "<domain><secret/></domain>");
    scene_plan(&scene);
    assert_int_equal(kvmig_plan_to_json(scene.plan, &text), 0);
    assert_null(strstr(text, "secret"));
    object = json_tokener_parse(text);
    assert_non_null(object);
    assert_string_equal(member(object, "vm"), "vm1");
    assert_string_equal(member(object, "target"), "beta");
    assert_string_equal(member(object, "verdict"), "MIGRATABLE_WITH_RISK"); /* no persistent_xml */
    assert_true(json_object_object_get_ex(object, "disks", &list));
    assert_string_equal(member(json_object_array_get_idx(list, 0), "method"), "shared");
    assert_true(json_object_object_get_ex(object, "candidates", &list));
    assert_string_equal(member(json_object_array_get_idx(list, 0), "node"), "beta");
    assert_true(json_object_object_get_ex(object, "findings", &list));
    assert_string_equal(member(json_object_array_get_idx(list, 0), "code"), "PERSISTENT_XML_MISSING");
    assert_true(json_object_object_get_ex(object, "request", &list));
    assert_string_equal(member(list, "flags"), "[ \"TLS\" ]");
    json_object_put(object);
    free(text);
}

static void no_target_is_null_in_json(void **state)
{
    struct json_object *object, *target;
    char *text;

    (void)state;
    scene_host(&scene, "beta")->state = KVMIG__HOST_LOST;
    scene_plan(&scene);
    assert_int_equal(kvmig_plan_to_json(scene.plan, &text), 0);
    object = json_tokener_parse(text);
    assert_true(json_object_object_get_ex(object, "target", &target));
    assert_null(target);
    json_object_put(object);
    free(text);
    assert_int_equal(kvmig_plan_to_json(NULL, &text), -EINVAL);
    assert_int_equal(kvmig_plan_to_json(scene.plan, NULL), -EINVAL);
}

static void only_a_guest_that_a_user_paused_was_paused(void **state)
{
    (void)state;
    scene_vm(&scene)->reason = KVMIG__REASON_USER; /* of running: a user started it */
    assert_false(scene_plan(&scene)->was_paused);
    scene_vm(&scene)->state = KVMIG__STATE_PAUSED;
    assert_true(scene_plan(&scene)->was_paused);
    scene_vm(&scene)->reason = KVMIG__REASON_IOERROR;
    assert_false(scene_plan(&scene)->was_paused);
}

static void memory_that_is_not_known_is_no_reason_to_prefer_a_host(void **state)
{
    (void)state;
    scene_add_host(&scene, "aardvark")->memory_free = KVMIG__UNKNOWN;
    assert_string_equal(kvmig_plan_target(scene_plan(&scene)), "beta");
    scene_host(&scene, "aardvark")->memory_free = GIB; /* less than the VM needs */
    assert_string_equal(kvmig_plan_target(scene_plan(&scene)), "beta");
}

static void another_vm_on_a_silent_host_is_no_risk(void **state)
{
    struct kvmig__host *gamma = scene_add_host(&scene, "gamma");

    (void)state;
    host_add_domain(gamma, "other", "44444444-0000-4000-8000-000000000004", KVMIG__STATE_RUNNING);
    host_add_domain(gamma, "vm1", "11111111-0000-4000-8000-000000000001", KVMIG__STATE_SHUTOFF);
    host_add_domain(gamma, "odd", NULL, KVMIG__STATE_RUNNING);
    gamma->state = KVMIG__HOST_LOST;
    assert_no_finding(scene_plan(&scene), "VM_ALSO_ON_LOST_HOST");
}

static void plans_are_made_without_slots(void **state)
{
    struct kvmig_plan *plan;

    (void)state;
    assert_int_equal(kvmig__plan_make(&scene.view, &scene.request, NULL, &plan), 0);
    assert_clean(plan);
    kvmig_plan_unref(plan);
    scene.slots.max_migrations = 0; /* not given */
    assert_clean(scene_plan(&scene));
}

static void sizes_are_told_in_fitting_units(void **state)
{
    (void)state;
    scene_vm(&scene)->memory = scene_vm(&scene)->max_memory = 65 * GIB + 512 * MIB;
    kvmig__str_set(&scene.request.target, "beta");
    scene_plan(&scene);
    assert_non_null(
        strstr(kvmig_finding_message(plan_finding(scene.plan, "INSUFFICIENT_MEMORY")), "needs 65.5 GiB of memory"));
    assert_non_null(strstr(kvmig_finding_message(plan_finding(scene.plan, "INSUFFICIENT_MEMORY")), "in total 64 GiB."));
    scene_host(&scene, "beta")->memory_total = 1000;
    assert_non_null(
        strstr(kvmig_finding_message(plan_finding(scene_plan(&scene), "INSUFFICIENT_MEMORY")), "1000 bytes."));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_vm_that_fits_is_migratable),
        TEST(a_vm_is_found_by_name_and_by_uuid_in_any_case),
        TEST(an_unknown_vm_or_host_is_an_error),
        TEST(a_vm_that_may_be_on_an_unread_host_is_not_denied),
        TEST(one_name_for_two_vms_is_ambiguous),
        TEST(the_host_where_it_runs_is_the_source),
        TEST(one_vm_that_runs_twice_is_ambiguous),
        TEST(a_silent_host_that_had_the_vm_is_a_risk),
        TEST(a_vm_on_a_silent_host_is_blocked),
        TEST(a_target_is_taken_by_name_uri_or_uuid),
        TEST(the_source_is_no_target),
        TEST(more_free_memory_wins),
        TEST(fewer_risks_win_over_memory),
        TEST(about_equal_memory_lets_the_cost_of_copying_decide),
        TEST(equals_are_ordered_by_name),
        TEST(blocked_hosts_are_never_chosen),
        TEST(without_a_feasible_target_the_plan_says_why),
        TEST(a_view_of_one_host_has_no_target),
        TEST(a_vm_that_cannot_move_blocks_every_candidate),
        TEST(limits_queue_the_request),
        TEST(a_host_with_a_free_slot_is_preferred),
        TEST(a_blocker_outweighs_a_limit),
        TEST(no_limit_is_never_reached),
        TEST(findings_are_ordered_worst_first),
        TEST(accessors_take_null_and_indexes_past_the_end),
        TEST(a_plan_lives_as_long_as_its_owners_and_needs_no_view),
        TEST(names_are_stable),
        TEST(a_plan_converts_to_json),
        TEST(no_target_is_null_in_json),
        TEST(only_a_guest_that_a_user_paused_was_paused),
        TEST(memory_that_is_not_known_is_no_reason_to_prefer_a_host),
        TEST(another_vm_on_a_silent_host_is_no_risk),
        TEST(plans_are_made_without_slots),
        TEST(sizes_are_told_in_fitting_units),
    };

    return !!cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
