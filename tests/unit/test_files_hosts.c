/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libvirt's XML in files: which host a document belongs to, what stays unknown, and texts that are no such documents. */
#include "files_test.h"

#define DOMAIN(name, uuid) "<domain type='kvm'><name>" name "</name><uuid>" uuid "</uuid><memory>1024</memory></domain>"
#define U1 "aaaaaaaa-0000-4000-8000-000000000001"
#define U2 "aaaaaaaa-0000-4000-8000-000000000002"
#define CAPS "<capabilities><host><uuid>" U2 "</uuid><cpu><arch>x86_64</arch></cpu></host></capabilities>"
#define DOMCAPS                                                                                                        \
    "<domainCapabilities><path>/usr/bin/qemu</path><domain>kvm</domain><machine>q35</machine><arch>x86_64</arch>"      \
    "</domainCapabilities>"

static const struct kvmig__host *host(const struct kvmig__files *files, const char *name)
{
    for (size_t i = 0; i < files->hosts.n; i++)
        if (kvmig__str_eq(files->hosts.v[i]->name, name))
            return files->hosts.v[i];
    return NULL;
}

static void a_domain_runs_on_the_source(void **state)
{
    struct kvmig__files f = files_of("<?xml version='1.0'?>\n<!-- virsh -->\n" DOMAIN("vm1", U1), "d", NULL, NULL);
    const struct kvmig__host *source = host(&f, "source");

    (void)state;
    assert_int_equal(f.hosts.n, 1);
    assert_non_null(source);
    assert_true(source->from_files);
    assert_int_equal(source->state, KVMIG__HOST_UP);
    assert_int_equal(source->domains.n, 1);
    assert_int_equal(source->domains.v[0].state, KVMIG__STATE_RUNNING);
    assert_false(source->pools_known || source->networks_known || source->bridges_known || source->domains_known);
    assert_true(source->memory_total == KVMIG__UNKNOWN);
    assert_int_equal(f.problems.n, 0);
    kvmig__files_clear(&f);
}

static void documents_go_to_the_hosts_that_are_said_to_have_them(void **state)
{
    struct folder *f = *state;

    f->ask.source = kvmig__strdup("node-a");
    kvmig__strlist_add(&f->ask.hosts, "node-a=both.xml");
    kvmig__strlist_add(&f->ask.hosts, "node-b=both.xml");
    kvmig__strlist_add(&f->ask.hosts, "node-b=caps.xml");
    kvmig__strlist_add(&f->ask.hosts, "node-b=other.xml");
    kvmig__strlist_add(&f->ask.hosts, "node-c");
    folder_write(f, "other.xml", DOMAIN("vm2", U2));
    folder_write(f, "caps.xml", CAPS);
    folder_write(f, "notcaps.xml", CAPS); /* is nobody's: the names of others end like it */
    folder_write(f, "both.xml", DOMCAPS);
    folder_write(f, "vm.xml", DOMAIN("vm1", U1));
    folder_load(f);
    assert_int_equal(f->files.problems.n, 0);
    assert_int_equal(f->files.hosts.n, 3);
    assert_int_equal(host(&f->files, "node-a")->emulators.n, 1);
    assert_int_equal(host(&f->files, "node-b")->emulators.n, 1);
    assert_null(host(&f->files, "node-a")->uuid);
    assert_string_equal(host(&f->files, "node-b")->uuid, U2);
    assert_false(host(&f->files, "node-b")->machines_known);
    assert_string_equal(host(&f->files, "node-a")->domains.v[0].name, "vm1");
    assert_string_equal(host(&f->files, "node-b")->domains.v[0].name, "vm2");
    assert_int_equal(host(&f->files, "node-c")->domains.n, 0);
}

static void observations_speak_of_source_and_target(void **state)
{
    struct folder *f = *state;

    kvmig__strlist_add(&f->ask.hosts, "node-b");
    folder_write(f, "1",
                 "{\"observation\":\"versions\",\"source\":{\"qemu\":\"7.1.0\"},\"target\":{\"qemu\":\"9.2.0\"}}");
    folder_write(f, "2",
                 "{\"observation\":\"domain-state\",\"side\":\"source\",\"domain\":\"vm1\",\"state\":\"paused\","
                 "\"reason\":\"I/O error\"}");
    folder_write(f, "3",
                 "{\"observation\":\"domain-state\",\"side\":\"target\",\"domain\":\"vm1\",\"state\":\"absent\"}");
    folder_write(f, "4", DOMAIN("vm1", U1));
    folder_load(f);
    assert_int_equal(host(&f->files, "source")->qemu_version, 7001000);
    assert_int_equal(host(&f->files, "node-b")->qemu_version, 9002000);
    assert_int_equal(host(&f->files, "source")->domains.v[0].state, KVMIG__STATE_PAUSED);
    assert_int_equal(host(&f->files, "source")->domains.v[0].reason, KVMIG__REASON_IOERROR);
    /* Which of two others is the target is not known. */
    kvmig__strlist_add(&f->ask.hosts, "node-c");
    folder_load(f);
    assert_int_equal(host(&f->files, "node-b")->qemu_version, 0);
}

static void a_vm_of_kubevirt_comes_first(void **state)
{
    struct folder *f = *state;

    folder_write(f, "vm.xml", DOMAIN("ns1_vm1", U1));
    folder_write(f, "vmi.json",
                 "{\"apiVersion\":\"kubevirt.io/"
                 "v1\",\"kind\":\"VirtualMachineInstance\",\"metadata\":{\"name\":\"vm1\",\"namespace\":\"ns1\"}}");
    folder_load(f);
    assert_int_equal(f->files.hosts.n, 0);
    assert_int_equal(f->files.kube.kinds[KVMIG__KUBE_VMI].n, 1);
    assert_int_equal(f->files.problems.n, 0);
}

static void broken_documents_are_told_and_the_rest_is_read(void **state)
{
    struct folder *f = *state;

    folder_write(f, "cut.xml", "<domain type='kvm'><name>vm2</name>");
    folder_write(f, "doctype.xml", "<!DOCTYPE domain [<!ENTITY a 'b'>]><domain><name>&a;</name></domain>");
    folder_write(f, "vm.xml", DOMAIN("vm1", U1));
    folder_write(f, "again.xml", DOMAIN("vm1", U1));
    folder_load(f);
    assert_int_equal(f->files.problems.n, 3);
    assert_non_null(strstr(f->files.problems.v[0].message, "cut.xml"));
    assert_non_null(strstr(f->files.problems.v[1].message, "DOCTYPE"));
    assert_non_null(strstr(f->files.problems.v[2].message, "again.xml"));
    assert_int_equal(host(&f->files, "source")->domains.n, 1);
}

static void other_texts_are_passed_over(void **state)
{
    static const char *const texts[] = {
        "<network><name>n</name></network>",
        "<domainsnapshot/>",
        "<domains/>",
        "<",
        "<!--",
        "<!-- <domain/> -->",
        "<?xml",
        "<>",
        "<html><domain/></html>",
        "< domain/>",
        "<domai",
        "</domain>",
        "<info> kind of a log line",
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        struct kvmig__files f = files_of(texts[i], "text", NULL, NULL);

        assert_int_equal(f.problems.n, 0);
        assert_int_equal(f.hosts.n, 0);
        kvmig__files_clear(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_domain_runs_on_the_source),
        cmocka_unit_test_setup_teardown(documents_go_to_the_hosts_that_are_said_to_have_them, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(observations_speak_of_source_and_target, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_vm_of_kubevirt_comes_first, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(broken_documents_are_told_and_the_rest_is_read, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test(other_texts_are_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
