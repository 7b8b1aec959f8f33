/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks on rows of OVN's databases: which ports are the VM's, what is left on them, where they are, and who else claims their
 * addresses. Each rule both ways.
 */
#include "plan_fixture.h"

#include "plan/facts_checks.h"

#include <stdlib.h>
#include <string.h>

struct net {
    struct kvmig__facts *facts;
    struct kvmig__wires wires;
    struct kvmig_findings found;
};

static void net_init(struct net *net)
{
    *net = (struct net){ .facts = kvmig__facts_new() };
    net->facts->lsps_known = true;
    net->wires =
        (struct kvmig__wires){ .facts = net->facts, .name = "vm1", .ns = "ns1", .source = "a", .plugged = true };
    net->wires.moves_known = true;
}

static void net_clear(struct net *net)
{
    kvmig__findings_clear(&net->found);
    kvmig__wires_clear(&net->wires);
    kvmig__facts_free(net->facts);
}

static void map_set(struct kvmig__fact_map *map, const char *key, const char *value)
{
    *KVMIG__PUSH(map) = (struct kvmig__fact_pair){ kvmig__strdup(key), kvmig__strdup(value) };
}

/* chassis may be NULL. Valid until the next is added. */
static struct kvmig__fact_lsp *add_port(struct net *net, const char *name, const char *address, const char *chassis)
{
    struct kvmig__fact_lsp *lsp = KVMIG__PUSH(&net->facts->lsps);

    lsp->name = kvmig__strdup(name);
    lsp->enabled = lsp->up = -1;
    kvmig__strlist_add(&lsp->addresses, address);
    if (chassis)
        map_set(&lsp->options, "requested-chassis", chassis);
    return lsp;
}

static void add_chassis(struct net *net, const char *name, const char *host)
{
    *KVMIG__PUSH(&net->facts->chassis) =
        (struct kvmig__fact_chassis){ .name = kvmig__strdup(name), .hostname = kvmig__strdup(host) };
    net->facts->chassis_known = true;
}

static void add_binding(struct net *net, const char *port, const char *chassis)
{
    *KVMIG__PUSH(&net->facts->bindings) =
        (struct kvmig__fact_binding){ .logical_port = kvmig__strdup(port), .chassis = kvmig__strdup(chassis) };
}

static void add_move(struct net *net, const char *source, const char *target)
{
    *KVMIG__PUSH(&net->wires.moves) = (struct kvmig__move){ source, target };
}

/* Looks anew; the findings of before are gone. */
static const struct kvmig_finding *look(struct net *net, const char *code)
{
    kvmig__findings_clear(&net->found);
    kvmig__strlist_clear(&net->wires.tried);
    kvmig__strlist_clear(&net->wires.places);
    net->wires.ports.n = 0;
    free(net->wires.object);
    net->wires.object = kvmig__strdup("vm/ns1/vm1");
    kvmig__places_index(&net->wires);
    kvmig__find_ports(&net->wires);
    kvmig__check_facts(&net->wires, &net->found);
    kvmig__check_facts_target(&net->wires, "b", &net->found);
    return find_code(&net->found, code);
}

#define ADDRESS "02:00:00:00:00:01 10.16.0.5"

/* ---- which ports ---- */

static bool is_own(const char *name, const char *noted)
{
    struct net net;
    bool own;

    net_init(&net);
    if (noted)
        map_set(&add_port(&net, name, ADDRESS, NULL)->external_ids, "pod", noted);
    else
        add_port(&net, name, ADDRESS, NULL);
    own = look(&net, "LSP_RESOLVED");
    assert_true(own == !look(&net, "LSP_NOT_FOUND"));
    net_clear(&net);
    return own;
}

static void ports_are_found_by_name(void **state)
{
    (void)state;
    assert_true(is_own("vm1.ns1", NULL));
    assert_true(is_own("vm1.ns1.dmz.ns2.ovn", NULL));
    assert_true(is_own("virt-launcher-vm1-x2c4v.ns1", NULL));
    assert_true(is_own("virt-launcher-vm1-x2c4v.ns1.dmz.ns2.ovn", NULL));
    assert_true(is_own("ns1_virt-launcher-vm1-x2c4v", NULL));
    assert_true(is_own("tenant.net_ns1_virt-launcher-vm1-x2c4v", NULL));
    assert_true(is_own("whatever", "ns1/vm1"));
    assert_true(is_own("whatever", "ns1/virt-launcher-vm1-x2c4v"));

    assert_false(is_own("vm1.ns10", NULL));
    assert_false(is_own("vm10.ns1", NULL));
    assert_false(is_own("vm1.ns1.", NULL));
    assert_false(is_own("vm1.ns1", "ns2/vm1"));
    assert_false(is_own("vm1.ns1", "ns1/vm2"));
    assert_false(is_own("virt-launcher-vm1-new-x2c4v.ns1", NULL));
    assert_false(is_own("virt-launcher-vm1-.ns1", NULL));
    assert_false(is_own("xns1_virt-launcher-vm1-x2c4v", NULL));
    assert_false(is_own("ns1_virt-launcher-vm2-x2c4v", NULL));
    assert_false(is_own("_", NULL));
    assert_false(is_own(".", NULL));
}

static void pods_that_are_known_decide_on_launchers(void **state)
{
    struct net net;

    (void)state;
    net_init(&net);
    net.wires.pods_known = true;
    kvmig__strlist_add(&net.wires.pods, "virt-launcher-vm1-aaaaa");
    add_port(&net, "virt-launcher-vm1-bbbbb.ns1", ADDRESS, NULL);
    assert_non_null(look(&net, "LSP_NOT_FOUND"));
    add_port(&net, "virt-launcher-vm1-aaaaa.ns1", ADDRESS, NULL);
    assert_string_equal(look(&net, "LSP_RESOLVED")->object, "lsp/virt-launcher-vm1-aaaaa.ns1");
    net_clear(&net);
}

static void what_is_not_known_or_not_plugged_is_not_missed(void **state)
{
    struct net net;

    (void)state;
    net_init(&net);
    assert_detail(look(&net, "LSP_NOT_FOUND"), "vm1.ns1");
    net.facts->lsps_known = false;
    assert_null(look(&net, "LSP_NOT_FOUND"));
    net.facts->lsps_known = true;
    net.wires.plugged = false;
    assert_null(look(&net, "LSP_NOT_FOUND"));
    net_clear(&net);
}

static void routers_are_nobodys(void **state)
{
    struct net net;

    (void)state;
    net_init(&net);
    add_port(&net, "vm1.ns1", "router", NULL)->type = kvmig__strdup("router");
    assert_non_null(look(&net, "LSP_NOT_FOUND"));
    net_clear(&net);
}

static void a_domains_port_is_its_interface_id_or_its_mac(void **state)
{
    struct net net;

    (void)state;
    net_init(&net);
    net.wires.ns = NULL;
    kvmig__strlist_add(&net.wires.macs, "02:00:00:00:00:01");
    add_port(&net, "0d9f", "02:00:00:00:00:01 10.0.0.7", NULL);
    assert_non_null(look(&net, "LSP_RESOLVED"));
    kvmig__strlist_add(&net.wires.ids, "0d9e"); /* its definition says better */
    assert_null(look(&net, "LSP_RESOLVED"));
    assert_detail(look(&net, "LSP_NOT_FOUND"), "0d9e");
    add_port(&net, "0d9e", "unknown", NULL);
    assert_non_null(look(&net, "LSP_RESOLVED"));
    net_clear(&net);

    net_init(&net);
    net.wires.ns = NULL; /* a bridge of the host: perhaps it is not on OVN at all */
    add_port(&net, "0d9f", ADDRESS, NULL);
    assert_null(look(&net, "LSP_NOT_FOUND"));
    net_clear(&net);
}

/* ---- options ---- */

static void a_pair_needs_a_migration(void **state)
{
    struct net net;

    (void)state;
    net_init(&net);
    map_set(&add_port(&net, "vm1.ns1", ADDRESS, "a,b")->options, "activation-strategy", "rarp");
    assert_detail(look(&net, "STALE_LSP_OPTIONS"), "a,b");
    assert_null(find_code(&net.found, "LSP_WRONG_CHASSIS"));
    add_move(&net, "a", "c");
    assert_non_null(look(&net, "STALE_LSP_OPTIONS"));
    add_move(&net, "a", "b");
    assert_null(look(&net, "STALE_LSP_OPTIONS"));
    net_clear(&net);
}

static void a_migration_without_a_target_explains_no_pair_if_pods_are_known(void **state)
{
    struct net net;

    (void)state;
    net_init(&net);
    add_port(&net, "vm1.ns1", ADDRESS, "a,b");
    add_move(&net, "a", NULL);
    assert_null(look(&net, "STALE_LSP_OPTIONS"));
    net.wires.pods_known = true;
    assert_non_null(look(&net, "STALE_LSP_OPTIONS"));
    net_clear(&net);
}

static void one_chassis_written_twice_is_one(void **state)
{
    static const char *const once[] = { "a", "a,a", "a,", " a , a ", "11111111-0000-4000-8000-000000000001,a", "" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(once); i++) {
        struct net net;

        net_init(&net);
        add_chassis(&net, "11111111-0000-4000-8000-000000000001", "a.example.com");
        add_chassis(&net, "11111111-0000-4000-8000-000000000002", "b.example.com");
        add_port(&net, "vm1.ns1", ADDRESS, once[i]);
        assert_null(look(&net, "STALE_LSP_OPTIONS"));
        assert_null(look(&net, "LSP_WRONG_CHASSIS"));
        net_clear(&net);
    }
}

static bool is_misplaced(const char *chassis, bool known, const char *moves_to)
{
    struct net net;
    bool found;

    net_init(&net);
    add_port(&net, "vm1.ns1", ADDRESS, chassis);
    if (known) {
        add_chassis(&net, "11111111-0000-4000-8000-000000000001", "a");
        add_chassis(&net, "11111111-0000-4000-8000-000000000002", "b");
    }
    if (moves_to)
        add_move(&net, "a", moves_to);
    found = look(&net, "LSP_WRONG_CHASSIS");
    net_clear(&net);
    return found;
}

static void the_port_is_where_the_vm_is(void **state)
{
    (void)state;
    assert_false(is_misplaced("a", false, NULL));
    assert_false(is_misplaced("A.example.com", false, NULL));
    assert_false(is_misplaced("11111111-0000-4000-8000-000000000001", true, NULL));
    assert_false(is_misplaced("11111111-0000-4000-8000-000000000009", false, NULL)); /* whose that is, is not known */
    assert_false(is_misplaced("b", false, "b"));
    assert_true(is_misplaced("b", false, NULL));
    assert_true(is_misplaced("b", false, "c"));
    assert_true(is_misplaced("11111111-0000-4000-8000-000000000002", true, NULL));
    assert_true(is_misplaced("ghost", true, NULL));
}

static void bindings_count_like_options(void **state)
{
    struct net net;

    (void)state;
    net_init(&net);
    add_port(&net, "vm1.ns1", ADDRESS, NULL);
    add_binding(&net, "vm1.ns1", "11111111-0000-4000-8000-000000000002");
    add_binding(&net, "vm2.ns1", "c");
    assert_null(look(&net, "LSP_WRONG_CHASSIS"));
    add_chassis(&net, "11111111-0000-4000-8000-000000000001", "a");
    add_chassis(&net, "11111111-0000-4000-8000-000000000002", "b");
    assert_detail(look(&net, "LSP_WRONG_CHASSIS"), "000000000002");
    net_clear(&net);
}

/* ---- addresses ---- */

static bool is_twice(const char *a, const char *b, const char *switch_a, const char *switch_b, int32_t enabled)
{
    struct kvmig__fact_lsp *lsp;
    struct net net;
    bool found;

    net_init(&net);
    lsp = add_port(&net, "vm1.ns1", a, NULL);
    if (switch_a)
        map_set(&lsp->external_ids, "ls", switch_a);
    lsp = add_port(&net, "vm2.ns1", b, NULL);
    lsp->enabled = enabled;
    if (switch_b)
        map_set(&lsp->external_ids, "ls", switch_b);
    found = look(&net, "DUPLICATE_LSP_ADDRESS");
    net_clear(&net);
    return found;
}

static void addresses_are_claimed_once(void **state)
{
    (void)state;
    assert_true(is_twice(ADDRESS, ADDRESS, NULL, NULL, -1));
    assert_true(is_twice(ADDRESS, ADDRESS, NULL, NULL, 1));
    assert_false(is_twice(ADDRESS, ADDRESS, NULL, NULL, 0));
    assert_true(is_twice(ADDRESS, ADDRESS, "s", "s", -1));
    assert_false(is_twice(ADDRESS, ADDRESS, "s", "t", -1));
    assert_true(is_twice("02:00:00:00:00:01", "02:00:00:00:00:01", NULL, NULL, -1));
    assert_true(is_twice(ADDRESS, "02:00:00:00:00:01  fd00::5 10.16.0.5", NULL, NULL, -1));
    assert_false(is_twice(ADDRESS, "02:00:00:00:00:02 10.16.0.5", NULL, NULL, -1));
    assert_true(is_twice(ADDRESS, "02:00:00:00:00:02 10.16.0.5", "s", "s", -1));
    assert_false(is_twice(ADDRESS, "02:00:00:00:00:02 10.16.0.50", "s", "s", -1));
    assert_false(is_twice("dynamic", "dynamic", "s", "s", -1));
    assert_false(is_twice("unknown", "unknown", "s", "s", -1));
    assert_false(is_twice("02:00:00:00:00:01 dynamic", "02:00:00:00:00:02 dynamic", "s", "s", -1));
    assert_false(is_twice("", "", NULL, NULL, -1));
}

/* ---- the network around it ---- */

static bool is_too_small(uint64_t vif, uint64_t underlay, const char *encap, uint32_t ip, int32_t localnet)
{
    struct net net;
    bool found;

    net_init(&net);
    add_port(&net, "vm1.ns1", ADDRESS, "a");
    net.facts->mtu = (struct kvmig__fact_mtu){ true, localnet, vif, underlay, kvmig__strdup(encap), ip };
    found = look(&net, "MTU_TOO_SMALL");
    net_clear(&net);
    return found;
}

static void tunnels_need_room(void **state)
{
    (void)state;
    assert_true(is_too_small(1500, 1557, "geneve", 4, 1));
    assert_false(is_too_small(1500, 1558, "geneve", 4, 1));
    assert_true(is_too_small(1500, 1577, "geneve", 6, 1));
    assert_false(is_too_small(1500, 1578, "geneve", 6, 1));
    assert_true(is_too_small(1500, 1500, NULL, 0, 1));
    assert_true(is_too_small(1500, 1549, "vxlan", 4, 1));
    assert_false(is_too_small(1500, 1550, "VXLAN", 4, 1));
    assert_false(is_too_small(1500, 1500, "geneve", 4, 0));
    assert_false(is_too_small(1500, 1500, "geneve", 4, -1));
    assert_false(is_too_small(KVMIG__UNKNOWN, 1500, "geneve", 4, 1));
    assert_false(is_too_small(1500, KVMIG__UNKNOWN, "geneve", 4, 1));
    assert_false(is_too_small(UINT64_MAX - 2, 1500, "geneve", 4, 1));
}

static bool is_single_chassis(const char *version, const char *cni)
{
    struct net net;
    bool found;

    net_init(&net);
    net.facts->lsps_known = false;
    net.facts->ovn_version = kvmig__strdup(version);
    net.facts->cni = kvmig__strdup(cni);
    found = look(&net, "NO_MULTICHASSIS_SUPPORT");
    net_clear(&net);
    return found;
}

static void lists_of_chassis_need_ovn_22_06(void **state)
{
    (void)state;
    assert_true(is_single_chassis("22.03.9", NULL));
    assert_true(is_single_chassis("2.13.0", NULL));
    assert_true(is_single_chassis("20.12.0-1", "kube-ovn"));
    assert_false(is_single_chassis("22.06.0", NULL));
    assert_false(is_single_chassis("23.03.1-1~deb12u2", NULL));
    assert_false(is_single_chassis("20.12.0", "cilium"));
    assert_false(is_single_chassis("", NULL));
    assert_false(is_single_chassis("v22", NULL));
    assert_false(is_single_chassis("22", NULL));
    assert_false(is_single_chassis("999999999999999999999.1", NULL));
    assert_false(is_single_chassis(NULL, NULL));
}

static void the_target_needs_a_chassis(void **state)
{
    struct net net;

    (void)state;
    net_init(&net);
    add_port(&net, "vm1.ns1", ADDRESS, NULL);
    assert_null(look(&net, "TARGET_CHASSIS_MISSING")); /* no rows were given */
    add_chassis(&net, "id-c", "c");
    assert_null(look(&net, "TARGET_CHASSIS_MISSING")); /* none that could be matched with hosts */
    add_chassis(&net, "id-a", "a");
    assert_non_null(look(&net, "TARGET_CHASSIS_MISSING"));
    add_chassis(&net, "id-b", "B.example.com");
    assert_null(look(&net, "TARGET_CHASSIS_MISSING"));
    assert_null(look(&net, "CHASSIS_HOSTNAME_AMBIGUOUS"));
    add_chassis(&net, "id-b-old", "b");
    add_chassis(&net, "id-b-older", "b");
    assert_detail(look(&net, "CHASSIS_HOSTNAME_AMBIGUOUS"), "id-b-older");
    add_chassis(&net, "b", "b"); /* a name goes before host names */
    assert_null(look(&net, "CHASSIS_HOSTNAME_AMBIGUOUS"));
    net_clear(&net);
}

static void neutron_has_to_bind_on_the_target(void **state)
{
    struct net net;

    (void)state;
    net_init(&net);
    *KVMIG__PUSH(&net.facts->port_hosts) =
        (struct kvmig__fact_port_host){ kvmig__strdup("b"), kvmig__strdup("INACTIVE"), kvmig__strdup("ovs") };
    *KVMIG__PUSH(&net.facts->port_hosts) =
        (struct kvmig__fact_port_host){ kvmig__strdup("c"), NULL, kvmig__strdup("binding_failed") };
    *KVMIG__PUSH(&net.facts->port_hosts) = (struct kvmig__fact_port_host){ NULL, NULL, NULL };
    assert_null(look(&net, "TARGET_PORT_BINDING_FAILED"));
    kvmig__str_set(&net.facts->port_hosts.v[0].vif_type, "binding_failed");
    assert_string_equal(look(&net, "TARGET_PORT_BINDING_FAILED")->object, "node/b");
    net_clear(&net);
}

static void host_names_match_by_their_first_label(void **state)
{
    (void)state;
    assert_true(kvmig__host_names_match("a", "A"));
    assert_true(kvmig__host_names_match("a.example.com", "a"));
    assert_true(kvmig__host_names_match("a.example.com", "A.example.com"));
    assert_false(kvmig__host_names_match("a.example.com", "a.example.org"));
    assert_false(kvmig__host_names_match("a", "ab"));
    assert_false(kvmig__host_names_match("192.0.2.1", "192"));
    assert_false(kvmig__host_names_match("", ""));
    assert_false(kvmig__host_names_match(NULL, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_are_found_by_name),
        cmocka_unit_test(pods_that_are_known_decide_on_launchers),
        cmocka_unit_test(what_is_not_known_or_not_plugged_is_not_missed),
        cmocka_unit_test(routers_are_nobodys),
        cmocka_unit_test(a_domains_port_is_its_interface_id_or_its_mac),
        cmocka_unit_test(a_pair_needs_a_migration),
        cmocka_unit_test(a_migration_without_a_target_explains_no_pair_if_pods_are_known),
        cmocka_unit_test(one_chassis_written_twice_is_one),
        cmocka_unit_test(the_port_is_where_the_vm_is),
        cmocka_unit_test(bindings_count_like_options),
        cmocka_unit_test(addresses_are_claimed_once),
        cmocka_unit_test(tunnels_need_room),
        cmocka_unit_test(lists_of_chassis_need_ovn_22_06),
        cmocka_unit_test(the_target_needs_a_chassis),
        cmocka_unit_test(neutron_has_to_bind_on_the_target),
        cmocka_unit_test(host_names_match_by_their_first_label),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
