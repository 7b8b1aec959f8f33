/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Observations in files: each kind with what it may hold, values of wrong types, and broken ones. */
#include "files_test.h"

#define READ(...) files_of(#__VA_ARGS__, "observation.json", NULL, NULL)

static void versions_in_every_spelling(void **state)
{
    static const struct {
        const char *text;
        uint64_t version;
    } cases[] = {
        { "\"8.2.0\"", 8002000 },
        { "\"9.2\"", 9002000 },
        { "\"QEMU emulator version 6.2.0 (Debian 1:6.2+dfsg-2)\"", 6002000 },
        { "\"qemu-kvm-7.2.14-1.el9\"", 7002014 },
        { "\"1:5.1.0+dfsg-1\"", 5001000 },
        { "9002001", 9002001 },
        { "\"unknown\"", 0 },
        { "\"7\"", 0 },
        { "12", 0 },
        { "-9002001", 0 },
        { "8.2", 0 },
        { "null", 0 },
        { "[\"8.2.0\"]", 0 },
        { "\"99999999999999999999.1\"", 0 },
        { "\"8.99999999999\"", 8000000 },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        char *text = kvmig__asprintf("{\"observation\":\"versions\",\"source\":{\"qemu\":%s},\"ovn\":\"21.06.0\"}",
                                     cases[i].text);
        struct kvmig__files f = files_of(text, "versions", NULL, NULL);

        assert_int_equal(f.facts->source.qemu, cases[i].version);
        assert_int_equal(f.facts->source.libvirt, 0);
        assert_int_equal(f.facts->target.qemu, 0);
        assert_string_equal(f.facts->ovn_version, "21.06.0");
        assert_null(f.facts->ovs_version);
        kvmig__files_clear(&f);
        free(text);
    }
}

static void mounts_of_nodes(void **state)
{
    struct kvmig__files f = READ({
        "observation" : "mounts",
        "nodes" : {
            "node-a" : [ { "path" : "/srv", "type" : "nfs4", "source" : "192.0.2.1:/x" }, { "type" : "no path" }, 5 ],
            "node-b" : [ { "path" : "/srv" } ],
            "node-c" : {},
            "node-d" : null
        }
    });

    (void)state;
    assert_int_equal(f.facts->mounts.n, 2);
    assert_string_equal(f.facts->mounts.v[0].node, "node-a");
    assert_string_equal(f.facts->mounts.v[0].source, "192.0.2.1:/x");
    assert_null(f.facts->mounts.v[1].type);
    kvmig__files_clear(&f);
}

static void images_with_sizes(void **state)
{
    struct kvmig__files f = READ({
        "observation" : "disk-images",
        "disks" : [
            {
                "disk" : "vda",
                "source" : { "pvc" : "a", "virtual_size" : 1073741824 },
                "target" : {
                    "pvc" : "b",
                    "exists" : true,
                    "volume_mode" : "Filesystem",
                    "capacity" : "1Gi",
                    "filesystem_overhead" : 0.055,
                    "usable_bytes" : 1014686023
                }
            },
            {
                "disk" : "vdb",
                "source" : { "path" : "/a", "virtual_size" : -5 },
                "target" : { "exists" : "yes", "filesystem_overhead" : "0.06" }
            },
            { "source" : {} }, "vdc"
        ]
    });
    const struct kvmig__fact_image *image = f.facts->images.v;

    (void)state;
    assert_int_equal(f.facts->images.n, 2);
    assert_int_equal(image->source_virtual_size, 1073741824);
    assert_int_equal(image->target_exists, 1);
    assert_true(image->target_overhead > 0.054 && image->target_overhead < 0.056);
    assert_true(image->target_capacity == (uint64_t)1 << 30);
    assert_int_equal(image->target_usable, 1014686023);
    assert_true(image->target_virtual_size == KVMIG__UNKNOWN);
    assert_true(image[1].source_virtual_size == KVMIG__UNKNOWN);
    assert_int_equal(image[1].target_exists, -1);
    assert_true(image[1].target_overhead > 0.059);
    assert_null(image[1].target_path);
    kvmig__files_clear(&f);
}

static void the_network(void **state)
{
    struct kvmig__files f = READ([
        {
            "observation" : "network-mtu",
            "localnet" : true,
            "vif_mtu" : 1500,
            "underlay_mtu" : 1600,
            "encap" : "geneve",
            "underlay_ip" : 6
        },
        { "observation" : "cni-config", "cni" : "kube-ovn", "keep_vm_ip" : false }, {
            "observation" : "port-bindings",
            "bindings" : [ { "host" : "node-b", "status" : "ACTIVE", "vif_type" : "binding_failed" }, 1 ]
        }
    ]);

    (void)state;
    assert_true(f.facts->mtu.known);
    assert_int_equal(f.facts->mtu.localnet, 1);
    assert_int_equal(f.facts->mtu.underlay, 1600);
    assert_int_equal(f.facts->mtu.underlay_ip, 6);
    assert_string_equal(f.facts->cni, "kube-ovn");
    assert_int_equal(f.facts->keep_vm_ip, 0);
    assert_int_equal(f.facts->port_hosts.n, 1);
    assert_string_equal(f.facts->port_hosts.v[0].vif_type, "binding_failed");
    kvmig__files_clear(&f);
}

static void certificates(void **state)
{
    struct kvmig__files f = READ({
        "observation" : "certificate",
        "node" : "node-b",
        "subject_cn" : "b",
        "dns" : [ "b", 5, "b.example.com" ],
        "ip" : ["192.0.2.1"],
        "not_before" : "1970-01-01T00:01:00Z",
        "not_after" : "tomorrow"
    });

    (void)state;
    assert_int_equal(f.facts->certificates.n, 1);
    assert_int_equal(f.facts->certificates.v[0].dns.n, 2);
    assert_int_equal(f.facts->certificates.v[0].not_before, 60);
    assert_int_equal(f.facts->certificates.v[0].not_after, -1);
    kvmig__files_clear(&f);
}

static void what_nobody_plans_with_is_no_complaint(void **state)
{
    static const char *const texts[] = {
        JSON({ "observation" : "probe", "service_gap_ms" : 5 }),
        JSON({ "observation" : "block-jobs", "jobs" : [ { "device" : "d", "ready" : false } ] }),
        JSON({ "observation" : "network-event-wait", "since" : "2026-01-01T00:00:00Z" }),
        JSON({ "observation" : "something new" }),
        JSON({ "observation" : { "a" : 1 } }),
        JSON({ "observation" : null }),
        JSON({ "observation" : "mounts", "nodes" : [ 1, 2 ] }),
        JSON({ "observation" : "disk-images", "disks" : { "disk" : "vda" } }),
        JSON({ "observation" : "certificate", "dns" : "b" }),
        "Job type:         Unbounded   \nOperation:        Outgoing migration\nTime elapsed:     5000         ms\n",
        "{\"time_elapsed\": 1000, \"memory_total\": 5}\n{\"time_elapsed\": 2000}\n",
        "2026-01-01T00:00:00Z error: \"observation\" of nothing\n",
        "",
        "\n\n",
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        struct kvmig__files f = files_of(texts[i], "text", NULL, NULL);

        if (i != 11) /* says the word, and is no JSON */
            assert_int_equal(f.problems.n, 0);
        assert_int_equal(f.facts->mounts.n, 0);
        assert_int_equal(f.facts->images.n, 0);
        kvmig__files_clear(&f);
    }
}

static void a_truncated_observation_is_told(void **state)
{
    static const char whole[] = "{\"observation\": \"mounts\", \"nodes\": {\"node-a\": [{\"path\": \"/srv\"}]}}";

    (void)state;
    for (size_t n = strlen("{\"observation\": \"mounts\""); n < strlen(whole); n++) {
        char *text = kvmig__strndup(whole, n);
        struct kvmig__files f = files_of(text, "mounts.json", NULL, NULL);

        assert_int_equal(f.problems.n, 1);
        assert_non_null(strstr(f.problems.v[0].object, "mounts.json"));
        assert_int_equal(f.facts->mounts.n, 0);
        kvmig__files_clear(&f);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_in_every_spelling),
        cmocka_unit_test(mounts_of_nodes),
        cmocka_unit_test(images_with_sizes),
        cmocka_unit_test(the_network),
        cmocka_unit_test(certificates),
        cmocka_unit_test(what_nobody_plans_with_is_no_complaint),
        cmocka_unit_test(a_truncated_observation_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
