/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Snapshots: what is loaded from files as kubectl prints them, what makes a kind known, what is reported, what is
 * never taken, and that saving and loading gives the same store.
 */
#include "objects_test.h"

#include <sys/stat.h>
#include <unistd.h>

#define CANARY "c4n4ry"
#define POD(name) "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns1\"}}"

struct fixture {
    char folder[32];
    struct kvmig__strlist files;
    struct kvmig__kube kube;
    struct kvmig_findings problems;
};

static int set_up(void **state)
{
    struct fixture *f = kvmig__calloc(1, sizeof(*f));

    strcpy(f->folder, "/tmp/kvmig-snapshot-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    for (size_t i = f->files.n; i > 0; i--)
        assert_int_equal(remove(f->files.v[i - 1]), 0);
    assert_int_equal(rmdir(f->folder), 0);
    kvmig__strlist_clear(&f->files);
    kvmig__kube_clear(&f->kube);
    kvmig__findings_clear(&f->problems);
    free(f);
    return 0;
}

static const char *path_of(struct fixture *f, const char *name)
{
    char *path = kvmig__asprintf("%s/%s", f->folder, name);

    kvmig__strlist_add(&f->files, path);
    free(path);
    return f->files.v[f->files.n - 1];
}

static const char *write_file(struct fixture *f, const char *name, const char *text)
{
    const char *path = path_of(f, name);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static void load(struct fixture *f, const char *path)
{
    struct kvmig__strlist paths = { .n = 0 };

    kvmig__strlist_add(&paths, path);
    kvmig__snapshot_load(&f->kube, &paths, &f->problems);
    kvmig__strlist_clear(&paths);
}

static void read_text(struct fixture *f, const char *text)
{
    kvmig__snapshot_read(&f->kube, text, strlen(text), "text", &f->problems);
}

static size_t count(const struct fixture *f, int32_t kind)
{
    return f->kube.kinds[kind].n;
}

/* ---- files ---- */

static void a_folder_is_loaded_file_by_file(void **state)
{
    struct fixture *f = *state;

    write_file(f, "b.json", POD("b"));
    write_file(f, "a.txt", "apiVersion: v1\nkind: Pod\nmetadata: { name: a, namespace: ns1 }\n");
    write_file(f, ".hidden", POD("hidden"));
    assert_int_equal(mkdir(path_of(f, "sub"), 0700), 0);
    write_file(f, "sub/c.json", POD("c"));
    assert_int_equal(mkfifo(path_of(f, "pipe"), 0600), 0);
    assert_int_equal(symlink("..", path_of(f, "sub/back")), 0);
    load(f, f->folder);
    assert_int_equal(f->problems.n, 0);
    assert_int_equal(count(f, KVMIG__KUBE_POD), 3);
    assert_non_null(kvmig__kube_find(&f->kube, KVMIG__KUBE_POD, "ns1", "c"));
    assert_non_null(kvmig__kube_find(&f->kube, KVMIG__KUBE_POD, "ns1", "a"));
}

static void a_file_that_cannot_be_opened_is_reported(void **state)
{
    struct fixture *f = *state;
    struct kvmig__strlist paths = { .n = 0 };
    char *missing = kvmig__asprintf("%s/missing.json", f->folder);

    kvmig__strlist_add(&paths, missing);
    kvmig__strlist_add(&paths, write_file(f, "good.json", POD("a")));
    kvmig__snapshot_load(&f->kube, &paths, &f->problems);
    assert_int_equal(f->problems.n, 1);
    assert_string_equal(f->problems.v[0].code, "SNAPSHOT_UNREADABLE");
    assert_non_null(strstr(f->problems.v[0].object, missing));
    assert_non_null(strstr(f->problems.v[0].message, "cannot be opened"));
    assert_int_equal(count(f, KVMIG__KUBE_POD), 1);
    kvmig__strlist_clear(&paths);
    free(missing);
}

/* ---- texts ---- */

static void every_form_that_kubectl_prints_is_read(void **state)
{
    struct fixture *f = *state;

    read_text(f, POD("single"));
    read_text(f, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" POD("a") "," POD("b") "]}");
    read_text(f, "{\"apiVersion\":\"v1\",\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"c\",\"namespace\":"
                 "\"ns1\"}}]}");
    read_text(f, POD("d") "\n" POD("e"));
    read_text(f, "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: f\n  namespace: ns1\n---\n---\n"
                 "kind: PodList\napiVersion: v1\nitems:\n- metadata: {name: g, namespace: ns1}\n");
    assert_int_equal(f->problems.n, 0);
    assert_int_equal(count(f, KVMIG__KUBE_POD), 8);
}

static void what_is_none_of_ours_is_ignored(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        "<domain type='kvm'><name>kind</name></domain>",
        "error: kind of strange: [unclosed",
        "{\"observation\":\"probe\",\"kind\":7}",
        "{\"kind\":\"Config\",\"apiVersion\":\"v1\",\"users\":[]}",
        "{\"apiVersion\":\"v1\",\"kind\":\"SecretList\",\"items\":[{\"metadata\":{\"name\":\"s\"}}]}",
        ("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{"
         "\"name\":\"s\"}},7,null]}"),
        "[1,2,{\"kind\":\"Pod\"}]",
        "{\"database\":\"kind\",\"rows\":[]}\n{\"time\":1}",
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        read_text(f, texts[i]);
        if (f->problems.n)
            fail_msg("%s: %s", texts[i], f->problems.v[0].message);
    }
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++)
        assert_false(kvmig__kube_is_known(&f->kube, kind));
}

static void a_broken_object_does_not_hide_the_others(void **state)
{
    struct fixture *f = *state;

    read_text(
        f, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" POD(
               "a") ",{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
                    "\"metadata\":{\"namespace\":\"ns1\"}},{\"apiVersion\":\"v1\",\"kind\":\"Node\"}," POD("b") "]}");
    assert_int_equal(count(f, KVMIG__KUBE_POD), 2);
    assert_int_equal(f->problems.n, 2);
    assert_non_null(strstr(f->problems.v[0].message, "text: Pod at items[1]: metadata has no name"));
    assert_non_null(strstr(f->problems.v[1].message, "Node at items[2]"));
    assert_int_equal(f->problems.v[0].severity, KVMIG_SEVERITY_ERROR);
    assert_non_null(strstr(f->problems.v[0].detail, "\"file\""));
}

static void broken_text_is_reported_with_its_place(void **state)
{
    struct fixture *f = *state;

    read_text(f, "apiVersion: v1\nkind: Pod\nmetadata: { name: a, namespace: ns1 }\n---\napiVersion: v1\nkind: Pod\n  "
                 "metadata: x\n");
    assert_int_equal(count(f, KVMIG__KUBE_POD), 1);
    assert_int_equal(f->problems.n, 1);
    assert_non_null(strstr(f->problems.v[0].message, "text:"));
    kvmig__findings_clear(&f->problems);
    read_text(f, "{\"apiVersion\":\"v1\",\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"cut");
    assert_int_equal(f->problems.n, 1);
    assert_int_equal(count(f, KVMIG__KUBE_POD), 1);
}

static void lists_without_items_are_reported(void **state)
{
    struct fixture *f = *state;

    read_text(f, "{\"apiVersion\":\"v1\",\"kind\":\"PodList\"}");
    read_text(f, "{\"apiVersion\":\"v1\",\"kind\":\"PodList\",\"items\":{}}");
    assert_int_equal(f->problems.n, 2);
    assert_false(kvmig__kube_is_known(&f->kube, KVMIG__KUBE_POD));
}

static void lists_in_lists_end(void **state)
{
    struct fixture *f = *state;
    char *text = kvmig__strdup(POD("deep")), *inner;

    for (int i = 0; i < 100; i++) {
        inner = text;
        text = kvmig__asprintf("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[%s]}", inner);
        free(inner);
    }
    read_text(f, text);
    assert_int_equal(count(f, KVMIG__KUBE_POD), 0);
    assert_int_equal(f->problems.n, 1);
    free(text);
}

/* ---- what is known ---- */

static void empty_typed_lists_make_their_kind_known(void **state)
{
    struct fixture *f = *state;

    read_text(f, "{\"apiVersion\":\"v1\",\"kind\":\"PodList\",\"items\":[]}");
    read_text(f, "{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":\"VirtualMachineInstanceMigrationList\",\"items\":null}");
    read_text(f, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[]}");
    read_text(f, "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"EventList\",\"items\":[]}");
    assert_true(kvmig__kube_is_known(&f->kube, KVMIG__KUBE_POD));
    assert_true(kvmig__kube_is_known(&f->kube, KVMIG__KUBE_VMIM));
    assert_true(kvmig__kube_is_known(&f->kube, KVMIG__KUBE_EVENT));
    assert_false(kvmig__kube_is_known(&f->kube, KVMIG__KUBE_VMI));
    assert_int_equal(f->problems.n, 0);
}

static void an_object_makes_its_kind_known(void **state)
{
    struct fixture *f = *state;

    read_text(f, POD("a"));
    assert_true(kvmig__kube_is_known(&f->kube, KVMIG__KUBE_POD));
    assert_false(kvmig__kube_is_known(&f->kube, KVMIG__KUBE_NODE));
}

/* ---- the same object several times ---- */

#define OBJECT_VERSION(version, node)                                                                                  \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns1\",\"uid\":\"u\","        \
    "\"resourceVersion\":\"" version "\"},\"spec\":{\"nodeName\":\"" node "\"}}"
#define MADE(uid, at)                                                                                                  \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns1\",\"uid\":\"" uid        \
    "\",\"creationTimestamp\":\"" at "\"}}"

static const struct kvmig__kube_pod *pod_a(const struct fixture *f)
{
    return KVMIG__KUBE_FIND(&f->kube, POD, "ns1", "a");
}

static void the_newest_of_several_states_counts(void **state)
{
    struct fixture *f = *state;

    read_text(f, OBJECT_VERSION("99", "old"));
    read_text(f, OBJECT_VERSION("100", "new"));
    read_text(f, OBJECT_VERSION("98", "older"));
    assert_string_equal(pod_a(f)->node, "new");
    read_text(f, OBJECT_VERSION("x", "last"));
    assert_string_equal(pod_a(f)->node, "last");
    read_text(f, MADE("u2", "2026-11-30T11:00:00Z"));
    read_text(f, MADE("u1", "2026-11-30T10:00:00Z"));
    assert_string_equal(pod_a(f)->meta.uid, "u2");
}

/* ---- the time ---- */

static void the_newest_time_is_the_snapshots(void **state)
{
    struct fixture *f = *state;

    write_file(f, "a.json",
               "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\",\"creationTimestamp\":"
               "\"2026-01-01T00:00:00Z\",\"deletionTimestamp\":\"2027-01-01T00:00:00Z\"},\"status\":{\"conditions\":"
               "[{\"type\":\"Ready\",\"lastTransitionTime\":\"2026-02-01T00:00:00Z\",\"lastHeartbeatTime\":"
               "\"2026-03-01T00:00:00Z\"}]}}");
    write_file(f, "b.json", MADE("u", "2026-02-02T00:00:00Z"));
    load(f, f->folder);
    assert_int_equal(f->kube.now_ms, kvmig__time_parse("2026-03-01T00:00:00Z"));
    read_text(f, MADE("u", "2026-12-01T00:00:00Z"));
    assert_int_equal(f->kube.now_ms, kvmig__time_parse("2026-03-01T00:00:00Z"));
}

/* ---- saving ---- */

static void what_was_saved_loads_the_same(void **state)
{
    struct fixture *f = *state;
    struct kvmig__kube again = { .now_ms = 0 };
    char *folder = kvmig__asprintf("%s/tests/unit/objects", TOP_SRCDIR), *once, *twice;

    load(f, folder);
    assert_int_equal(f->problems.n, 0);
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++)
        assert_int_equal(count(f, kind), 1);
    once = kvmig__snapshot_save(&f->kube);
    kvmig__snapshot_read(&again, once, strlen(once), "saved", &f->problems);
    assert_int_equal(f->problems.n, 0);
    twice = kvmig__snapshot_save(&again);
    assert_string_equal(once, twice);
    assert_int_equal(again.now_ms, f->kube.now_ms);
    free(once);
    free(twice);
    free(folder);
    kvmig__kube_clear(&again);
}

static void saving_keeps_what_is_known_to_be_absent(void **state)
{
    struct fixture *f = *state;
    struct kvmig__kube again = { .now_ms = 0 };
    char *text;

    read_text(f, "{\"apiVersion\":\"v1\",\"kind\":\"PodList\",\"items\":[]}");
    read_text(f, "{\"apiVersion\":\"migrations.kubevirt.io/v1alpha1\",\"kind\":\"MigrationPolicyList\",\"items\":[]}");
    f->kube.now_ms = 1234567;
    text = kvmig__snapshot_save(&f->kube);
    kvmig__snapshot_read(&again, text, strlen(text), "saved", &f->problems);
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++)
        assert_int_equal(kvmig__kube_is_known(&again, kind), kind == KVMIG__KUBE_POD || kind == KVMIG__KUBE_POLICY);
    assert_int_equal(again.now_ms, 1234567);
    free(text);
    kvmig__kube_clear(&again);
}

static void an_empty_store_can_be_saved(void **state)
{
    struct fixture *f = *state;
    char *text = kvmig__snapshot_save(&f->kube);
    struct json_object *json = json_tokener_parse(text);

    assert_int_equal(json_object_array_length(json_object_object_get(json, "items")), 0);
    read_text(f, text);
    assert_int_equal(f->problems.n, 0);
    json_object_put(json);
    free(text);
}

/* ---- secrets ---- */

#define META                                                                                                           \
    "\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"managedFields\":[{\"manager\":\"" CANARY "\"}],"               \
    "\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"" CANARY "\","                            \
    "\"example.com/copy\":\"{\\\"userData\\\":\\\"" CANARY "\\\"}\"}}"
#define SPEC                                                                                                           \
    "\"accessCredentials\":[{\"userPassword\":{\"source\":{\"secret\":{\"secretName\":\"" CANARY                       \
    "\"}}}}],\"domain\":{"                                                                                             \
    "\"firmware\":{\"serial\":\"" CANARY "\",\"kernelBoot\":{\"kernelArgs\":\"" CANARY                                 \
    "\"}},\"launchSecurity\":{\"sev\":{"                                                                               \
    "\"session\":\"" CANARY "\",\"dhCert\":\"" CANARY "\"}}},\"volumes\":["                                            \
    "{\"name\":\"a\",\"cloudInitNoCloud\":{\"userData\":\"" CANARY "\",\"image\":\"" CANARY                            \
    "\",\"claimName\":\"" CANARY "\",\"secretRef\":{\"name\":\"" CANARY "\"}}},"                                       \
    "{\"name\":\"b\",\"cloudInitConfigDrive\":{\"userDataBase64\":\"" CANARY "\",\"networkData\":\"" CANARY "\"}},"    \
    "{\"name\":\"c\",\"secret\":{\"secretName\":\"" CANARY "\"}},{\"name\":\"d\",\"configMap\":{\"name\":\"" CANARY    \
    "\"}},{\"name\":\"e\",\"sysprep\":{\"secret\":{\"name\":\"" CANARY "\"}}},"                                        \
    "{\"name\":\"f\",\"containerDisk\":{\"image\":\"i\",\"imagePullSecret\":\"" CANARY "\"}}]"

static void secrets_never_get_in(void **state)
{
    static const char *const texts[] = {
        ("{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":\"VirtualMachineInstance\"," META ",\"spec\":{" SPEC "}}"),
        ("{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":\"VirtualMachine\"," META ",\"spec\":{\"template\":{" META
         ",\"spec\":{" SPEC "}},\"dataVolumeTemplates\":[{\"metadata\":{\"name\":\"dv\"},"
         "\"spec\":{\"source\":{\"http\":{\"url\":\"" CANARY "\",\"secretRef\":\"" CANARY "\"}}}}]}}"),
        ("{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," META
         ",\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":[\"" CANARY "\"],\"command\":[\"" CANARY
         "\"],\"env\":[{\"name\":\"P\",\"value\":\"" CANARY "\"}],\"envFrom\":[{\"secretRef\":"
         "{\"name\":\"" CANARY "\"}}]}],\"imagePullSecrets\":[{\"name\":\"" CANARY
         "\"}],\"volumes\":[{\"name\":\"" CANARY "\",\"secret\":{\"secretName\":\"" CANARY "\"}}]}}"),
        ("{\"apiVersion\":\"v1\",\"kind\":\"Secret\"," META ",\"data\":{\"a\":\"" CANARY "\"}}"),
        ("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"," META ",\"data\":{\"a\":\"" CANARY "\"}}"),
        ("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Secret\"," META
         ",\"stringData\":{\"a\":\"" CANARY "\"}}]}"),
        ("{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolume\"," META
         ",\"spec\":{\"csi\":{\"driver\":\"d\",\"volumeHandle\":\"" CANARY
         "\",\"volumeAttributes\":{\"password\":\"" CANARY "\"},\"nodeStageSecretRef\":{\"name\":\"" CANARY "\"}}}}"),
        ("{\"apiVersion\":\"storage.k8s.io/v1\",\"kind\":\"StorageClass\"," META
         ",\"parameters\":{\"restuserkey\":\"" CANARY "\",\"adminPassword\":\"" CANARY
         "\",\"csi.storage.k8s.io/provisioner-secret-name\":\"" CANARY "\"}}"),
        ("{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":\"KubeVirt\"," META
         ",\"spec\":{\"imagePullSecrets\":[{\"name\":\"" CANARY
         "\"}],\"configuration\":{\"additionalGuestMemoryOverheadRatio\":\"" CANARY "\"}}}"),
        ("{\"apiVersion\":\"k8s.cni.cncf.io/v1\",\"kind\":\"NetworkAttachmentDefinition\"," META
         ",\"spec\":{\"config\":\"" CANARY "\"}}"),
    };
    struct fixture *f = *state;
    char *text;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        struct json_object *json = json_tokener_parse(texts[i]);

        assert_non_null(json);
        json_object_put(json);
        read_text(f, texts[i]);
    }
    assert_int_equal(f->problems.n, 0);
    assert_int_equal(count(f, KVMIG__KUBE_VMI) + count(f, KVMIG__KUBE_VM) + count(f, KVMIG__KUBE_POD), 3);
    text = kvmig__snapshot_save(&f->kube);
    assert_null(strstr(text, CANARY));
    free(text);
}

/* ---- hostile size ---- */

static char *repeated(const char *before, const char *piece, size_t n, const char *after)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    fputs(before, out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s", i ? "," : "", piece);
    fputs(after, out);
    fclose(out);
    return text;
}

static void lists_of_an_object_are_bounded(void **state)
{
    struct fixture *f = *state;
    char *text = repeated(
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns1\",\"finalizers\":[",
        "\"x\"", 100000, "]},\"spec\":{\"containers\":[");
    char *more = repeated(text, "{\"name\":\"c\"}", 50000, "]},\"status\":{\"containerStatuses\":[");
    char *all = repeated(more, "{\"name\":\"z\"}", 50000, "]}}");

    read_text(f, all);
    assert_int_equal(f->problems.n, 0);
    assert_true(pod_a(f)->meta.finalizers.n < 10000);
    assert_true(pod_a(f)->containers.n < 10000);
    free(text);
    free(more);
    free(all);
}

static uint64_t told(const struct fixture *f, const char *node, const char *resource)
{
    return kvmig__amounts_get(&KVMIG__KUBE_FIND(&f->kube, NODE, NULL, node)->told_usage, resource);
}

/* The files are read in the order of their names: what was observed comes before the nodes. */
static void what_was_observed_of_nodes_is_added_to_them(void **state)
{
    struct fixture *f = *state;

    write_file(f, "a.json",
               "{\"observation\":\"node-usage\",\"nodes\":{\"n1\":{\"memory\":\"1Gi\",\"cpu\":\"1500m\"},"
               "\"n2\":{\"memory\":\"lots\"},\"n3\":{\"memory\":\"1Gi\"},\"n4\":7}}");
    write_file(
        f, "b.json",
        "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\","
        "\"metadata\":{\"name\":\"n1\"}},{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n2\"}}]}");
    write_file(f, "c.json", "{\"observation\":\"node-usage\",\"nodes\":{\"n1\":{\"cpu\":2}}}");
    write_file(f, "d.json", "{\"observation\":\"node-usage\",\"nodes\":[\"n1\"]}");
    write_file(f, "e.json", "{\"observation\":\"mounts\",\"nodes\":{\"n1\":{\"memory\":\"9Gi\"}}}");
    load(f, f->folder);
    assert_int_equal(f->problems.n, 0);
    assert_int_equal(count(f, KVMIG__KUBE_NODE), 2);
    assert_true(told(f, "n1", "memory") == ((uint64_t)1 << 30) * 1000);
    assert_int_equal(told(f, "n1", "cpu"), 2000);
    assert_true(told(f, "n2", "memory") == KVMIG__UNKNOWN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_folder_is_loaded_file_by_file),
        TEST(a_file_that_cannot_be_opened_is_reported),
        TEST(every_form_that_kubectl_prints_is_read),
        TEST(what_is_none_of_ours_is_ignored),
        TEST(a_broken_object_does_not_hide_the_others),
        TEST(broken_text_is_reported_with_its_place),
        TEST(lists_without_items_are_reported),
        TEST(lists_in_lists_end),
        TEST(empty_typed_lists_make_their_kind_known),
        TEST(an_object_makes_its_kind_known),
        TEST(the_newest_of_several_states_counts),
        TEST(the_newest_time_is_the_snapshots),
        TEST(what_was_saved_loads_the_same),
        TEST(saving_keeps_what_is_known_to_be_absent),
        TEST(an_empty_store_can_be_saved),
        TEST(secrets_never_get_in),
        TEST(lists_of_an_object_are_bounded),
        TEST(what_was_observed_of_nodes_is_added_to_them),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
