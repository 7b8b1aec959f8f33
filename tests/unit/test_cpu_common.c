/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CPU models that nodes have in common: by what libvirt hosts list and by labels of nodes, what a guest would lose, which nodes
 * count as one, what is said where something is not known; and reading the CPU map.
 */
#include "kube_fixture.h"
#include "plan/cpu_common.h"
#include "plan_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL "cpu-model.node.kubevirt.io/"
#define MIGRATION "cpu-model-migration.node.kubevirt.io/"
#define FEATURE "cpu-feature.node.kubevirt.io/"
#define HOST_MODEL "host-model-cpu.node.kubevirt.io/"
#define REQUIRED "host-model-required-features.node.kubevirt.io/"

static struct scene scene;
static struct cluster cluster;
static struct kvmig__cpu_map map;
static struct kvmig__cpu_common common;

static void contain(const char *model, const char *features)
{
    struct kvmig__cpu_contents *contents = KVMIG__PUSH(&map);
    char *copy = kvmig__strdup(features), *save = NULL;

    contents->model = kvmig__strdup(model);
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        kvmig__strlist_add(&contents->features, word);
    free(copy);
}

static int setup(void **state)
{
    (void)state;
    scene_init(&scene);
    contain("Haswell", "fpu sse2 aes avx avx2");
    contain("Nehalem", "fpu sse2");
    kvmig__cpu_map_sort(&map);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kvmig__cpu_common_clear(&common);
    kvmig__cpu_map_clear(&map);
    scene_clear(&scene);
    cluster_clear(&cluster);
    memset(&cluster, 0, sizeof(cluster));
    return 0;
}

static void compare(const struct kvmig__view *view, const char *node)
{
    struct kvmig__strlist nodes = { 0 };

    if (node)
        kvmig__strlist_add(&nodes, node);
    kvmig__cpu_common_clear(&common);
    kvmig__cpu_common_make(view, &nodes, &map, &common);
    kvmig__strlist_clear(&nodes);
}

static void compare_hosts(void)
{
    compare(&scene.view, NULL);
}

static void compare_nodes(void)
{
    const struct kvmig__view view = { .kube = &cluster.kube };

    compare(&view, NULL);
}

static void assert_list(const struct kvmig__strlist *list, const char *expected)
{
    char *text = kvmig__strlist_join(list, " ");

    assert_string_equal(text, expected);
    free(text);
}

static struct kvmig__emulator *emulator_of(const char *host)
{
    return &scene_host(&scene, host)->emulators.v[0];
}

static void add_model(const char *host, const char *name, bool usable, const char *canonical)
{
    struct kvmig__cpu_model *model = KVMIG__PUSH(&emulator_of(host)->models);

    model->name = kvmig__strdup(name);
    model->usable = usable;
    model->canonical = kvmig__strdup(canonical);
}

/* ---- libvirt ---- */

static void hosts_that_say_the_same_are_one(void **state)
{
    (void)state;
    compare_hosts();
    assert_int_equal(common.kinds.n, 1);
    assert_list(&common.kinds.v[0].nodes, "alpha beta");
    assert_int_equal(common.choices.n, 1);
    assert_string_equal(common.choices.v[0].model, "Haswell");
    assert_list(&common.choices.v[0].lost[0].features, "");
    assert_int_equal(common.moves.n, 0);
}

static void only_models_usable_everywhere_are_common(void **state)
{
    (void)state;
    add_model("alpha", "Nehalem", true, NULL);
    add_model("beta", "Nehalem", true, NULL);
    add_model("beta", "Skylake-Client", true, NULL); /* alpha does not know it */
    emulator_of("beta")->models.v[0].usable = false; /* Haswell */
    kvmig__strlist_add(&emulator_of("beta")->host_model.expanded, "hypervisor"); /* which every guest has */
    kvmig__strlist_add(&emulator_of("beta")->host_model.expanded, "movbe");
    compare_hosts();
    assert_int_equal(common.kinds.n, 2);
    assert_int_equal(common.choices.n, 1);
    assert_string_equal(common.choices.v[0].model, "Nehalem");
    assert_list(&common.choices.v[0].lost[0].features, "aes avx avx2");
    assert_list(&common.choices.v[0].lost[1].features, "aes avx avx2 movbe");
    assert_list(&common.choices.v[0].can_add, "aes avx avx2");
    assert_int_equal(common.choices.v[0].n_lost, 7);
    assert_list(&common.common, "aes avx avx2 fpu sse2");
}

static void the_least_lost_comes_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        add_model(i ? "beta" : "alpha", "Amazing", true, NULL); /* what it contains is not known */
        add_model(i ? "beta" : "alpha", "Nehalem", true, NULL);
    }
    compare_hosts();
    assert_string_equal(common.choices.v[0].model, "Haswell");
    assert_string_equal(common.choices.v[1].model, "Nehalem");
    assert_string_equal(common.choices.v[2].model, "Amazing");
    assert_false(common.choices.v[2].lost[0].known);
}

static void two_names_of_one_model_are_one(void **state)
{
    (void)state;
    kvmig__str_set(&emulator_of("alpha")->models.v[0].canonical, "Haswell-v1");
    add_model("alpha", "Haswell-v1", true, NULL);
    compare(&scene.view, "alpha");
    assert_int_equal(common.choices.n, 1);
    assert_string_equal(common.choices.v[0].model, "Haswell");
    assert_ptr_equal(kvmig__cpu_map_find(&map, "Haswell-v1"), kvmig__cpu_map_find(&map, "Haswell"));
    assert_null(kvmig__cpu_map_find(&map, "Haswell-v2"));
}

static void what_is_not_known_is_left_out_and_named(void **state)
{
    (void)state;
    scene_host(&scene, "beta")->state = KVMIG__HOST_LOST;
    compare_hosts();
    assert_int_equal(common.kinds.n, 2);
    assert_non_null(common.kinds.v[1].unknown);
    assert_int_equal(common.choices.n, 1); /* of alpha alone */
    assert_int_equal(common.moves.n, 0);
    scene_host(&scene, "alpha")->state = KVMIG__HOST_LOST;
    compare_hosts();
    assert_int_equal(common.kinds.n, 1);
    assert_int_equal(common.choices.n, 0);
    assert_false(common.common_known);
}

/* In files nobody expands the host's model: its contents are the map's, and what it adds and removes is told. */
static void a_host_model_is_expanded_by_the_map(void **state)
{
    struct kvmig__cpu *cpu = &emulator_of("alpha")->host_model;

    (void)state;
    cpu->expanded_known = false;
    kvmig__strlist_clear(&cpu->expanded);
    cpu_add_feature(cpu, "movbe", KVMIG__CPU_REQUIRE);
    cpu_add_feature(cpu, "avx2", KVMIG__CPU_DISABLE);
    compare(&scene.view, "alpha");
    assert_list(&common.kinds.v[0].features, "aes avx fpu movbe sse2");
    assert_list(&common.choices.v[0].lost[0].features, "movbe");
    kvmig__str_set(&cpu->model, "Amazing"); /* which the map does not have */
    add_model("alpha", "Amazing", true, NULL);
    compare(&scene.view, "alpha");
    assert_false(common.kinds.v[0].features_known);
    assert_string_equal(common.choices.v[0].model, "Amazing");
    assert_list(&common.choices.v[0].lost[0].features, "movbe"); /* what the host adds to just that model */
    assert_string_equal(common.choices.v[1].model, "Haswell");
    assert_false(common.choices.v[1].lost[0].known);
}

static void guests_with_host_model_go_where_nothing_is_lacking(void **state)
{
    (void)state;
    kvmig__strlist_add(&emulator_of("beta")->host_model.expanded, "movbe");
    kvmig__strlist_add(&emulator_of("beta")->host_model.expanded,
                       "vmx-ept"); /* alpha's libvirt tells no such details */
    compare_hosts();
    assert_int_equal(common.moves.n, 2);
    assert_true(common.moves.v[0].known);
    assert_list(&common.moves.v[0].lacking, "");
    assert_list(&common.moves.v[1].lacking, "movbe");
}

/* ---- KubeVirt ---- */

static struct kvmig__kube_node *add_node(const char *name, const char *features)
{
    struct kvmig__kube_node *node = cluster_add(&cluster, KVMIG__KUBE_NODE, NULL, name);
    char *copy = kvmig__strdup(features), *save = NULL, *key;

    label(node, MODEL "Haswell", "true");
    label(node, MODEL "Nehalem", "true");
    label(node, MIGRATION "Haswell", "true");
    label(node, HOST_MODEL "Haswell", "true");
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        key = kvmig__asprintf(FEATURE "%s", word);
        label(node, key, "true");
        free(key);
    }
    free(copy);
    return node;
}

static void labels_tell_models_and_features(void **state)
{
    struct kvmig__kube_node *b;

    (void)state;
    add_node("a", "aes avx avx2 fpu movbe sse2");
    b = add_node("b", "aes avx fpu sse2");
    label(b, MODEL "Haswell", NULL);
    add_node("c", "aes avx avx2 fpu movbe sse2");
    compare_nodes();
    assert_int_equal(common.kinds.n, 2);
    assert_list(&common.kinds.v[0].nodes, "a c");
    assert_int_equal(common.choices.n, 1);
    assert_string_equal(common.choices.v[0].model, "Nehalem");
    assert_list(&common.choices.v[0].lost[0].features, "aes avx avx2 movbe");
    assert_list(&common.choices.v[0].can_add, "aes avx");
    assert_int_equal(common.choices.v[0].n_lost, 4 + 4 + 2);
}

static void nodes_without_labels_say_why(void **state)
{
    struct kvmig__kube_node *node;

    (void)state;
    add_node("a", "fpu");
    node = cluster_add(&cluster, KVMIG__KUBE_NODE, NULL, "arm");
    node->architecture = kvmig__strdup("arm64");
    cluster_add(&cluster, KVMIG__KUBE_NODE, NULL, "bare");
    compare_nodes();
    assert_int_equal(common.kinds.n, 3);
    assert_null(common.kinds.v[0].unknown);
    assert_non_null(strstr(common.kinds.v[1].unknown, "arm64"));
    assert_non_null(strstr(common.kinds.v[2].unknown, MODEL));
    assert_int_equal(common.choices.n, 2);
}

static const struct kvmig__cpu_move *move_of(const char *from)
{
    for (size_t i = 0; i < common.moves.n; i++) {
        if (kvmig__strlist_has(&common.kinds.v[common.moves.v[i].from].nodes, from))
            return &common.moves.v[i];
    }
    fail_msg("no move from %s", from);
    return NULL;
}

static void host_model_asks_for_what_kubevirt_asks_for(void **state)
{
    struct kvmig__kube_node *a, *b;

    (void)state;
    a = add_node("a", "aes avx avx2 movbe");
    b = add_node("b", "aes avx");
    label(a, REQUIRED "movbe", "true"); /* avx2 is of the model, for which KubeVirt does not ask */
    compare_nodes();
    assert_list(&move_of("a")->lacking, "movbe");
    assert_false(move_of("a")->model_missing);
    assert_list(&move_of("b")->lacking, "");
    label(b, MIGRATION "Haswell", NULL);
    label(b, MIGRATION "Nehalem", "true");
    compare_nodes();
    assert_true(move_of("a")->model_missing);
    assert_false(move_of("b")->model_missing);
    label(a, "node-labeller.kubevirt.io/obsolete-host-model", "true");
    compare_nodes();
    assert_true(move_of("b")->obsolete);
}

/* ---- the map ---- */

static void write_text(const char *folder, const char *name, const char *text)
{
    char *path = kvmig__asprintf("%s/%s", folder, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(path);
}

static void kinds_without_end_are_not_compared(void **state)
{
    const struct kvmig__cpu_kind *last;

    (void)state;
    for (size_t i = 0; i < 70; i++) {
        char *name = kvmig__asprintf("n%02zu", i), *own = kvmig__asprintf(FEATURE "own-%zu", i);
        struct kvmig__kube_node *node = cluster_add(&cluster, KVMIG__KUBE_NODE, NULL, name);

        label(node, MODEL "Haswell", "true");
        label(node, HOST_MODEL "Haswell", "true");
        label(node, own, "true");
        free(name);
        free(own);
    }
    compare_nodes();
    assert_int_equal(common.kinds.n, 65);
    last = &common.kinds.v[64];
    assert_non_null(strstr(last->unknown, "more kinds"));
    assert_int_equal(last->nodes.n, 6);
    assert_int_equal(common.moves.n, 64 * 63);
    assert_int_equal(common.choices.n, 1); /* of those that were compared */
}

static void the_map_is_read_from_a_folder(void **state)
{
    static const char *const names[] = { "a.xml", "b.xml", "broken.xml", "loop.xml", "readme" };
    char folder[] = "/tmp/kvmig-map-XXXXXX";
    const struct kvmig__cpu_contents *contents;

    (void)state;
    assert_non_null(mkdtemp(folder));
    write_text(folder, "a.xml",
               "<cpus><model name='Base'><vendor name='Intel'/><feature name='fpu'/><feature name='arch-facilities'/>"
               "<feature name='mpx' removed='yes'/></model></cpus>");
    write_text(folder, "b.xml",
               "<cpus><model name='More'><model name='Base'/><feature name='avx'/><feature name='fpu' removed='yes'/>"
               "</model></cpus>");
    write_text(folder, "broken.xml", "<cpus><model name='Broken'>");
    write_text(folder, "loop.xml", "<cpus><model name='Loop'><model name='Loop'/><feature name='sse'/></model></cpus>");
    write_text(folder, "readme", "<cpus><model name='Readme'/></cpus>");
    kvmig__cpu_map_clear(&map);
    kvmig__cpu_map_read(folder, &map);
    assert_int_equal(map.n, 3);
    assert_list(&kvmig__cpu_map_find(&map, "Base")->features, "arch-capabilities fpu");
    contents = kvmig__cpu_map_find(&map, "More");
    assert_list(&contents->features, "arch-capabilities avx");
    assert_string_equal(contents->vendor, "Intel");
    assert_list(&kvmig__cpu_map_find(&map, "Loop")->features, "sse");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(names); i++) {
        char *path = kvmig__asprintf("%s/%s", folder, names[i]);

        unlink(path);
        free(path);
    }
    rmdir(folder);
    kvmig__cpu_map_clear(&map);
    kvmig__cpu_map_read(folder, &map); /* is gone */
    assert_int_equal(map.n, 0);
}

static void what_is_missing_is_refused(void **state)
{
    char *json = (char *)1;

    (void)state;
    assert_int_equal(kvmig_cluster_cpu_common(NULL, NULL, 0, NULL, &json), -EINVAL);
    assert_null(json);
    assert_int_equal(kvmig_cluster_cpu_common(NULL, NULL, 0, NULL, NULL), -EINVAL);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(hosts_that_say_the_same_are_one),
        T(only_models_usable_everywhere_are_common),
        T(the_least_lost_comes_first),
        T(two_names_of_one_model_are_one),
        T(what_is_not_known_is_left_out_and_named),
        T(a_host_model_is_expanded_by_the_map),
        T(guests_with_host_model_go_where_nothing_is_lacking),
        T(labels_tell_models_and_features),
        T(nodes_without_labels_say_why),
        T(host_model_asks_for_what_kubevirt_asks_for),
        T(kinds_without_end_are_not_compared),
        T(the_map_is_read_from_a_folder),
        T(what_is_missing_is_refused),
    };

    return !!cmocka_run_group_tests_name("cpu common", tests, NULL, NULL);
}
