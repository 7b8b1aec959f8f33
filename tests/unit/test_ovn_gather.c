/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From rows to facts: what the OVN port reads out of NB, SB and the local databases, and what it asks them for.
 */
#include "ovn_test.h"
#include "port_test.h"

#include "port/ovn_port.h"

struct fixture {
    struct kvmig_context *context;
    struct ovn_world world;
    struct kvmig__ovn_databases databases;
    struct kvmig__ovn_facts facts;
};

static void on_change(void *data)
{
    (void)data;
}

static const struct kvmig_port_ovs local1 = { .size = sizeof(local1), .chassis = "hv1", .remotes = "ovs1" };
static const struct kvmig_port_ovs local2 = { .size = sizeof(local2), .chassis = "node2", .remotes = "ovs2" };

static void open_with(struct fixture *f, const struct kvmig_port_ovs *a, const struct kvmig_port_ovs *b, bool by_match,
                      bool sb)
{
    const struct kvmig_port_ovs *const locals[] = { a, b };
    struct kvmig_port_ovn_opts opts = KVMIG_PORT_OVN_OPTS_INIT;

    memset(f, 0, sizeof(*f));
    f->context = test_context_new(0);
    ovn_world_open(&f->world, f->context);
    port_settle(f->context);
    opts.nb = "nb";
    opts.sb = sb ? "sb" : NULL;
    opts.ovs = locals;
    opts.n_ovs = a && b ? 2 : a ? 1 : 0;
    opts.lsp = by_match ? NULL : "vm";
    opts.match_key = by_match ? "pod" : NULL;
    opts.match_value = by_match ? "ns/vm" : NULL;
    kvmig__context_lock(f->context);
    assert_null(kvmig__ovn_databases_open(&f->databases, f->context, &opts, on_change, NULL));
    kvmig__context_unlock(f->context);
}

static void open_fixture(struct fixture *f)
{
    open_with(f, &local1, &local2, false, true);
}

static void close_fixture(struct fixture *f)
{
    kvmig__context_lock(f->context);
    kvmig__ovn_facts_clear(&f->facts);
    kvmig__ovn_databases_close(&f->databases);
    kvmig__context_unlock(f->context);
    ovn_world_close(&f->world);
    kvmig_context_unref(f->context);
}

/* Until what is asked for and what is there agree. */
static void gather(struct fixture *f, const char *source, const char *target)
{
    for (int i = 0; i < 3; i++) {
        kvmig__context_lock(f->context);
        kvmig__ovn_databases_follow(&f->databases, source, target);
        kvmig__context_unlock(f->context);
        port_settle(f->context);
    }
    kvmig__context_lock(f->context);
    kvmig__ovn_facts_clear(&f->facts);
    memset(&f->facts, 0, sizeof(f->facts));
    kvmig__ovn_gather(&f->databases, source, target, &f->facts);
    kvmig__context_unlock(f->context);
}

static void edit(struct fixture *f, struct kvmig__ovsdb *db, const char *table, const char *uuid, const char *columns)
{
    kvmig__context_lock(f->context);
    fake_ovsdb_set(db, table, uuid, columns);
    kvmig__context_unlock(f->context);
    port_settle(f->context);
}

static void nothing_is_current_before_the_first_rows(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    kvmig__context_lock(f.context);
    kvmig__ovn_gather(&f.databases, "hv1", "hv2", &f.facts);
    kvmig__context_unlock(f.context);
    assert_true(f.facts.nb.used && f.facts.sb.used && f.facts.ovs_source.used);
    assert_false(f.facts.nb.current || f.facts.sb.current || f.facts.ovs_source.current || f.facts.ovs_target.current);
    assert_int_equal(f.facts.lsps.n, 0);
    assert_int_equal(f.facts.target_nb_cfg, -1);
    close_fixture(&f);
}

static void facts_of_a_port_come_from_three_databases(void **state)
{
    const struct kvmig__ovn_lsp *lsp;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    gather(&f, "hv1", "hv2");
    assert_true(f.facts.nb.current && f.facts.sb.current && f.facts.ovs_source.current && f.facts.ovs_target.current);
    assert_int_equal(f.facts.lsps.n, 1);
    lsp = &f.facts.lsps.v[0];
    assert_string_equal(lsp->name, "vm");
    assert_string_equal(lsp->uuid, OVN_LSP);
    assert_null(lsp->requested_chassis);
    assert_null(lsp->owner);
    assert_true(lsp->has_binding);
    assert_string_equal(lsp->chassis, "hv1");
    assert_null(lsp->requested);
    assert_true(lsp->up);
    assert_int_equal(lsp->at_source.rows, 1);
    assert_string_equal(lsp->at_source.name, "tap0");
    assert_int_equal(lsp->at_source.ofport, 3);
    assert_true(lsp->at_source.link_up && lsp->at_source.installed);
    assert_non_null(lsp->at_source.installed_ts);
    assert_int_equal(lsp->at_target.rows, 0);
    assert_int_equal(f.facts.chassis.n, 3);
    assert_true(f.facts.has_additional);
    assert_string_equal(f.facts.ovn_version, "23.03.1");
    assert_false(f.facts.barrier_off);
    assert_int_equal(f.facts.source_nb_cfg, 5);
    assert_int_equal(f.facts.target_nb_cfg, 5);
    assert_true(f.facts.wall_ms > 0);
    close_fixture(&f);
}

static void pair_claims_and_activation_are_read_by_name(void **state)
{
    const struct kvmig__ovn_lsp *lsp;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    edit(&f, f.world.nb, "Logical_Switch_Port", OVN_LSP,
         "{\"options\":[\"map\",[[\"requested-chassis\",\"node1,node2\"],[\"activation-strategy\",\"rarp\"]]],"
         "\"external_ids\":[\"map\",[[\"kvmig-owner\",\"me\"],[\"kvmig-previous\",\"p\"]]]}");
    kvmig__context_lock(f.context);
    ovn_plug(&f.world, 1, true);
    ovn_announce(&f.world);
    kvmig__context_unlock(f.context);
    gather(&f, "node1", "node2"); /* host names do as well */
    lsp = &f.facts.lsps.v[0];
    assert_string_equal(lsp->requested_chassis, "node1,node2");
    assert_string_equal(lsp->activation_strategy, "rarp");
    assert_string_equal(lsp->owner, "me");
    assert_string_equal(lsp->previous, "p");
    assert_string_equal(lsp->requested, "hv1");
    assert_int_equal(lsp->additional.n, 1);
    assert_string_equal(lsp->additional.v[0], "hv2");
    assert_string_equal(lsp->requested_additional.v[0], "hv2");
    assert_string_equal(lsp->activated.v[0], "hv2");
    assert_int_equal(lsp->at_target.rows, 1);
    assert_int_equal(f.facts.target_nb_cfg, 5);
    close_fixture(&f);
}

static void reference_to_an_unknown_chassis_is_nobody_s_name(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    edit(&f, f.world.sb, "Port_Binding", OVN_BINDING,
         "{\"chassis\":[\"set\",[[\"uuid\",\"cccccccc-0000-4000-8000-00000000000f\"]]]}");
    gather(&f, "hv1", "hv2");
    assert_string_equal(f.facts.lsps.v[0].chassis, "cccccccc-0000-4000-8000-00000000000f");
    close_fixture(&f);
}

/* ---- what is asked for ---- */

static void all_ports_of_a_match_are_followed(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, &local1, &local2, true, true);
    gather(&f, "hv1", "hv2");
    assert_int_equal(f.facts.lsps.n, 1);
    assert_true(f.facts.lsps.v[0].has_binding);
    edit(&f, f.world.nb, "Logical_Switch_Port", OVN_LSP2,
         "{\"name\":\"vm.b\",\"options\":[\"map\",[]],\"external_ids\":[\"map\",[[\"pod\",\"ns/vm\"]]]}");
    edit(&f, f.world.nb, "Logical_Switch_Port", "aaaaaaaa-0000-4000-8000-000000000003",
         "{\"name\":\"other\",\"options\":[\"map\",[]],\"external_ids\":[\"map\",[[\"pod\",\"ns/other\"]]]}");
    edit(&f, f.world.sb, "Port_Binding", "bbbbbbbb-0000-4000-8000-000000000002",
         "{\"logical_port\":\"vm.b\",\"options\":[\"map\",[]]}");
    gather(&f, "hv1", "hv2");
    assert_int_equal(f.facts.lsps.n, 2);
    for (size_t i = 0; i < f.facts.lsps.n; i++)
        assert_true(f.facts.lsps.v[i].has_binding);
    close_fixture(&f);
}

static void only_the_rows_that_matter_are_watched(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    edit(&f, f.world.sb, "Port_Binding", "bbbbbbbb-0000-4000-8000-000000000002",
         "{\"logical_port\":\"other\",\"options\":[\"map\",[]]}");
    edit(&f, f.world.hv[1], "Interface", "dddddddd-0000-4000-8000-00000000000a",
         "{\"name\":\"tap9\",\"external_ids\":[\"map\",[[\"iface-id\",\"other\"]]]}");
    gather(&f, "hv1", "hv2");
    kvmig__context_lock(f.context);
    assert_int_equal(kvmig__ovsdb_row_count(f.databases.sb.rows, KVMIG__SB_BINDING), 1);
    assert_int_equal(kvmig__ovsdb_row_count(f.databases.sb.rows, KVMIG__SB_PRIVATE), 2);
    assert_int_equal(kvmig__ovsdb_row_count(f.databases.locals.v[1].ovs.rows, KVMIG__OVS_INTERFACE), 0);
    kvmig__context_unlock(f.context);
    close_fixture(&f);
}

static void port_that_vanished_is_not_there_but_its_binding_stays_watched(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, &local1, NULL, true, true);
    gather(&f, "hv1", "hv2");
    kvmig__context_lock(f.context);
    fake_ovsdb_delete(f.world.nb, "Logical_Switch_Port", OVN_LSP);
    kvmig__context_unlock(f.context);
    gather(&f, "hv1", "hv2");
    assert_int_equal(f.facts.lsps.n, 0);
    kvmig__context_lock(f.context);
    assert_int_equal(kvmig__ovsdb_row_count(f.databases.sb.rows, KVMIG__SB_BINDING), 1);
    kvmig__context_unlock(f.context);
    close_fixture(&f);
}

/* ---- databases ---- */

static void database_that_is_down_is_not_current_and_says_why(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    gather(&f, "hv1", "hv2");
    kvmig__context_lock(f.context);
    fake_ovsdb_set_up(f.world.sb, false);
    kvmig__context_unlock(f.context);
    port_settle(f.context);
    gather(&f, "hv1", "hv2");
    assert_false(f.facts.sb.current);
    assert_string_equal(f.facts.sb.trouble, "sb is down");
    assert_int_equal(f.facts.target_nb_cfg, -1); /* old figures are no figures */
    assert_true(f.facts.nb.current);
    close_fixture(&f);
}

static void nb_is_not_current_while_a_lost_answer_is_in_doubt(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.databases.nb_doubtful = true;
    gather(&f, "hv1", "hv2");
    assert_false(f.facts.nb.current);
    assert_non_null(f.facts.nb.trouble);
    close_fixture(&f);
}

static void database_of_another_chassis_is_named(void **state)
{
    static const struct kvmig_port_ovs wrong = { .size = sizeof(wrong), .chassis = "hv1", .remotes = "ovs2" };
    struct fixture f;

    (void)state;
    open_with(&f, &wrong, NULL, false, true);
    gather(&f, "hv1", "hv2");
    assert_true(f.facts.ovs_source.used);
    assert_false(f.facts.ovs_source.current);
    assert_non_null(strstr(f.facts.ovs_source.trouble, "hv1"));
    assert_non_null(strstr(f.facts.ovs_source.trouble, "hv2"));
    assert_false(f.facts.ovs_target.used);
    close_fixture(&f);
}

static void database_that_does_not_say_its_chassis_is_no_proof(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    edit(&f, f.world.hv[1], "Open_vSwitch", OVN_OPEN, "{\"external_ids\":[\"map\",[]]}");
    gather(&f, "hv1", "hv2");
    assert_false(f.facts.ovs_target.current);
    assert_non_null(strstr(f.facts.ovs_target.trouble, "system-id"));
    close_fixture(&f);
}

/* Without SB there are only the texts: the local database itself tells its name and host name. */
static void local_databases_are_found_by_text_without_sb(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, &local1, &local2, false, false);
    gather(&f, "hv1", "node2");
    assert_false(f.facts.sb.used);
    assert_true(f.facts.ovs_source.current);
    assert_true(f.facts.ovs_target.current);
    assert_int_equal(f.facts.chassis.n, 0);
    gather(&f, "hv1", "hv2");
    assert_false(f.facts.ovs_target.used); /* nobody can tell that hv2 is node2 */
    close_fixture(&f);
}

/* ---- figures ---- */

static void barrier_is_read_from_the_bridge_as_well(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    edit(&f, f.world.hv[1], "Bridge", OVN_BRIDGE, "{\"external_ids\":[\"map\",[[\"ovn-nb-cfg\",\"9\"]]]}");
    gather(&f, "hv1", "hv2");
    assert_int_equal(f.facts.target_nb_cfg, 9);
    assert_int_equal(f.facts.source_nb_cfg, 5);
    edit(&f, f.world.hv[1], "Bridge", OVN_BRIDGE, "{\"external_ids\":[\"map\",[[\"ovn-nb-cfg\",\"9x\"]]]}");
    gather(&f, "hv1", "hv2");
    assert_int_equal(f.facts.target_nb_cfg, 5);
    close_fixture(&f);
}

static void integration_bridge_may_have_another_name(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    edit(&f, f.world.hv[1], "Open_vSwitch", OVN_OPEN,
         "{\"external_ids\":[\"map\",[[\"system-id\",\"hv2\"],[\"ovn-bridge\",\"br-ovn\"]]]}");
    edit(&f, f.world.hv[1], "Bridge", "dddddddd-0000-4000-8000-00000000000b",
         "{\"name\":\"br-ovn\",\"external_ids\":[\"map\",[[\"ovn-nb-cfg\",\"8\"]]]}");
    gather(&f, "hv1", "hv2");
    assert_int_equal(f.facts.target_nb_cfg, 8);
    close_fixture(&f);
}

static void options_and_versions_of_ovn_are_read(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    edit(&f, f.world.nb, "NB_Global", OVN_GLOBAL,
         "{\"options\":[\"map\",[[\"enable_chassis_nb_cfg_update\",\"false\"]]]}");
    edit(&f, f.world.sb, "SB_Global", OVN_GLOBAL,
         "{\"options\":[\"map\",[[\"northd_internal_version\",\"25.09.0-21.5.0-81.1\"]]]}");
    kvmig__strlist_add(&f.world.sb->missing, "Port_Binding.additional_chassis");
    gather(&f, "hv1", "hv2");
    assert_true(f.facts.barrier_off);
    assert_string_equal(f.facts.ovn_version, "25.09.0");
    assert_false(f.facts.has_additional);
    close_fixture(&f);
}

/* Its codes in order, "A B". Owned. */
static char *codes_of(struct fixture *f)
{
    struct kvmig_findings findings = { NULL, 0 };
    struct kvmig__strlist codes = { 0 };
    char *text;

    kvmig__ovn_find(&f->facts, "vm", &findings);
    for (size_t i = 0; i < findings.n; i++)
        kvmig__strlist_add(&codes, findings.v[i].code);
    kvmig__findings_clear(&findings);
    text = kvmig__strlist_join(&codes, " ");
    kvmig__strlist_clear(&codes);
    return text;
}

static void duplicate_interfaces_are_counted(void **state)
{
    struct fixture f;
    char *codes;

    (void)state;
    open_fixture(&f);
    edit(&f, f.world.hv[0], "Interface", "dddddddd-0000-4000-8000-00000000000a",
         "{\"name\":\"tap9\",\"ofport\":[\"set\",[]],\"external_ids\":[\"map\",[[\"iface-id\",\"vm\"]]]}");
    gather(&f, "hv1", "hv2");
    assert_int_equal(f.facts.lsps.v[0].at_source.rows, 2);
    codes = codes_of(&f);
    assert_string_equal(codes, "DUPLICATE_IFACE_ID");
    free(codes);
    close_fixture(&f);
}

static void an_address_counts_if_ovn_can_read_it(void **state)
{
    static const struct {
        const char *columns;
        bool has_address;
    } cases[] = { { "{\"addresses\":[\"set\",[]]}", false },
                  { "{\"addresses\":\"unknown\"}", false },
                  { "{\"addresses\":[\"set\",[\"dynamic\",\"unknown\"]]}", false },
                  { "{\"addresses\":\"52:54:00:00:00:01 10.0.0.7\"}", true },
                  { "{\"addresses\":[\"set\",[\"52:54:00:00:00:01\",\"unknown\"]]}", true } };
    struct fixture f;

    (void)state;
    open_fixture(&f);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        edit(&f, f.world.nb, "Logical_Switch_Port", OVN_LSP, cases[i].columns);
        gather(&f, "hv1", "hv2");
        assert_int_equal(f.facts.lsps.v[0].has_address, cases[i].has_address);
    }
    close_fixture(&f);
}

/* ---- what is known of a chassis without a database ---- */

static void chassis_may_be_known_by_another_name_and_without_a_database(void **state)
{
    static const struct kvmig_port_ovs alias = { .size = sizeof(alias), .chassis = "node2", .host = "rack7-b" };
    struct fixture f;

    (void)state;
    open_with(&f, &local1, &alias, false, true);
    gather(&f, "hv1", "hv2");
    assert_false(f.facts.ovs_target.used);
    assert_int_equal(f.facts.lsps.v[0].at_target.rows, 0);
    assert_string_equal(kvmig__ovn_databases_chassis(&f.databases, "rack7-b"), "node2");
    assert_string_equal(kvmig__ovn_databases_chassis(&f.databases, "hv1"), "hv1");
    assert_null(kvmig__ovn_databases_chassis(&f.databases, NULL));
    close_fixture(&f);
}

/* ---- findings ---- */

static void assert_codes(struct fixture *f, const char *lsp_columns, const char *expected)
{
    char *codes;

    edit(f, f->world.nb, "Logical_Switch_Port", OVN_LSP, lsp_columns);
    gather(f, "hv1", "hv2");
    codes = codes_of(f);
    assert_string_equal(codes, expected);
    free(codes);
}

static void findings_name_what_operations_would_trip_over(void **state)
{
    struct fixture f;
    char *codes;

    (void)state;
    open_fixture(&f);
    assert_codes(&f, "{}", "");
    assert_codes(&f, "{\"options\":[\"map\",[[\"requested-chassis\",\"hv1\"]]]}", "");
    assert_codes(&f, "{\"options\":[\"map\",[[\"activation-strategy\",\"rarp\"]]]}", "STALE_LSP_OPTIONS");
    assert_codes(&f, "{\"options\":[\"map\",[[\"requested-chassis\",\"hv1,hv2\"]]]}",
                 "STALE_LSP_OPTIONS ACTIVATION_STRATEGY_MISSING");
    assert_codes(&f,
                 "{\"options\":[\"map\",[[\"requested-chassis\",\"hv1,hv2,hv3,hv3\"],"
                 "[\"activation-strategy\",\"rarp\"]]],"
                 "\"external_ids\":[\"map\",[[\"kvmig-owner\",\"they\"]]]}",
                 "UNEXPECTED_CHASSIS_COUNT DUPLICATE_CHASSIS");
    /* Without a strategy because its owner, whoever that is, asked for that. */
    assert_codes(&f,
                 "{\"options\":[\"map\",[[\"requested-chassis\",\"hv1,hv2\"]]],"
                 "\"external_ids\":[\"map\",[[\"kvmig-owner\",\"they\"],"
                 "[\"kvmig-previous\",\"kvmig1;source=hv1;target=hv2;activation=none;since=5\"]]]}",
                 "");
    assert_codes(&f,
                 "{\"options\":[\"map\",[[\"requested-chassis\",\"hv1,hv2\"]]],"
                 "\"external_ids\":[\"map\",[[\"kvmig-owner\",\"me\"],"
                 "[\"kvmig-previous\",\"kvmig1;source=hv1;target=hv2;activation=rarp;since=5\"]]]}",
                 "ACTIVATION_STRATEGY_MISSING");
    kvmig__context_lock(f.context);
    f.world.no_northd = true;
    kvmig__context_unlock(f.context);
    assert_codes(&f, "{\"options\":[\"map\",[[\"requested-chassis\",\"node2\"]]],\"external_ids\":[\"map\",[]]}",
                 "LSP_WRONG_CHASSIS");
    kvmig__strlist_add(&f.world.sb->missing, "Port_Binding.additional_chassis");
    kvmig__context_lock(f.context);
    fake_ovsdb_delete(f.world.nb, "Logical_Switch_Port", OVN_LSP);
    kvmig__context_unlock(f.context);
    gather(&f, "hv1", "hv2");
    codes = codes_of(&f);
    assert_string_equal(codes, "LSP_NOT_FOUND NO_MULTICHASSIS_SUPPORT");
    free(codes);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_current_before_the_first_rows),
        cmocka_unit_test(facts_of_a_port_come_from_three_databases),
        cmocka_unit_test(pair_claims_and_activation_are_read_by_name),
        cmocka_unit_test(reference_to_an_unknown_chassis_is_nobody_s_name),
        cmocka_unit_test(all_ports_of_a_match_are_followed),
        cmocka_unit_test(only_the_rows_that_matter_are_watched),
        cmocka_unit_test(port_that_vanished_is_not_there_but_its_binding_stays_watched),
        cmocka_unit_test(database_that_is_down_is_not_current_and_says_why),
        cmocka_unit_test(nb_is_not_current_while_a_lost_answer_is_in_doubt),
        cmocka_unit_test(database_of_another_chassis_is_named),
        cmocka_unit_test(database_that_does_not_say_its_chassis_is_no_proof),
        cmocka_unit_test(local_databases_are_found_by_text_without_sb),
        cmocka_unit_test(barrier_is_read_from_the_bridge_as_well),
        cmocka_unit_test(integration_bridge_may_have_another_name),
        cmocka_unit_test(options_and_versions_of_ovn_are_read),
        cmocka_unit_test(duplicate_interfaces_are_counted),
        cmocka_unit_test(an_address_counts_if_ovn_can_read_it),
        cmocka_unit_test(chassis_may_be_known_by_another_name_and_without_a_database),
        cmocka_unit_test(findings_name_what_operations_would_trip_over),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
