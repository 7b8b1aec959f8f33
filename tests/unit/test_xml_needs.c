/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What guests need of a host and what hosts have: lists of devices, Hyper-V features, secrets, bound CPUs; NUMA cells, pages,
 * the time-stamp counter, kinds of guests. What a document does not tell stays unknown.
 */
#include "xml_test.h"

static struct kvmig__domain domain_of(const char *text)
{
    struct kvmig__domain domain;
    if (kvmig__xml_domain(text, "test", &domain) < 0)
        fail_msg("%s", kvmig_error_message(kvmig_error_last()));
    return domain;
}

static struct kvmig__emulator emulator_of(const char *text)
{
    struct kvmig__emulator emulator;
    if (kvmig__xml_domain_capabilities(text, "test", &emulator) < 0)
        fail_msg("%s", kvmig_error_message(kvmig_error_last()));
    return emulator;
}

static bool needs(const struct kvmig__domain *domain, const char *what, const char *value)
{
    for (size_t i = 0; i < domain->needs.n; i++)
        if (kvmig__str_eq(domain->needs.v[i].what, what) && kvmig__str_eq(domain->needs.v[i].value, value))
            return true;
    return false;
}

static const struct kvmig__strlist *offer(const struct kvmig__emulator *emulator, const char *what)
{
    for (size_t i = 0; i < emulator->offers.n; i++)
        if (kvmig__str_eq(emulator->offers.v[i].what, what))
            return &emulator->offers.v[i].values;
    return NULL;
}

/* ---- hosts ---- */

static const char two_cells[] =
    "<capabilities><host><cpu><arch>x86_64</arch><counter name='tsc' frequency='2400000000' scaling='no'/></cpu>"
    "<topology><cells num='2'>"
    "<cell id='0'><memory unit='KiB'>4194304</memory><pages unit='KiB' size='4'>1000</pages>"
    "<pages unit='KiB' size='2048'>16</pages><cpus num='2'><cpu id='0'/><cpu id='2'/></cpus></cell>"
    "<cell id='3'><memory unit='MiB'>1024</memory><cpus num='1'><cpu id='5'/></cpus></cell>"
    "</cells></topology></host>"
    "<guest><os_type>hvm</os_type><arch name='x86_64'><domain type='qemu'/><domain type='kvm'/></arch></guest>"
    "</capabilities>";

static void cells_pages_and_the_tsc_are_read(void **state)
{
    (void)state;
    struct kvmig__host *host = kvmig__host_new();
    assert_int_equal(kvmig__xml_capabilities(two_cells, "test", host), 0);
    assert_true(host->cells_known);
    assert_int_equal(host->cells.n, 2);
    assert_int_equal(host->cells.v[0].memory, UINT64_C(4) << 30);
    assert_int_equal(host->cells.v[0].cpus.n, 2);
    assert_int_equal(host->cells.v[0].cpus.v[1], 2);
    assert_int_equal(host->cells.v[0].pages.n, 2);
    assert_int_equal(host->cells.v[0].pages.v[1].size, 2 << 20);
    assert_int_equal(host->cells.v[0].pages.v[1].total, 16);
    assert_true(host->cells.v[0].pages.v[1].free == KVMIG__UNKNOWN);
    assert_int_equal(host->cells.v[1].id, 3);
    assert_int_equal(host->cells.v[1].memory, UINT64_C(1) << 30);
    assert_int_equal(host->tsc_frequency_hz, 2400000000);
    assert_int_equal(host->tsc_scaling, 0);
    assert_true(host->virt_types_known);
    assert_true(kvmig__strlist_has(&host->virt_types, "x86_64 kvm"));
    assert_false(kvmig__strlist_has(&host->virt_types, "aarch64 kvm"));
    /* Read anew, nothing is left. */
    assert_int_equal(kvmig__xml_capabilities("<capabilities><host/></capabilities>", "test", host), 0);
    assert_false(host->cells_known || host->virt_types_known);
    assert_int_equal(host->cells.n + host->tsc_frequency_hz, 0);
    assert_int_equal(host->tsc_scaling, -1);
    kvmig__host_free(host);
}

static void a_cell_that_is_not_understood_is_refused(void **state)
{
    (void)state;
    struct kvmig__host *host = kvmig__host_new();
    const char *text =
        "<capabilities><host><topology><cells><cell id='0'><memory unit='KiB'>much</memory></cell></cells>"
        "</topology></host></capabilities>";
    assert_true(kvmig__xml_capabilities(text, "test", host) < 0);
    assert_int_equal(host->cells.n, 0);
    kvmig__host_free(host);
}

static void the_lists_of_an_emulator_are_read(void **state)
{
    (void)state;
    struct kvmig__emulator e = emulator_of(
        "<domainCapabilities><os supported='yes'><loader supported='yes'><value>/fw/CODE.fd</value>"
        "<enum name='secure'><value>no</value></enum></loader></os>"
        "<memoryBacking supported='yes'><enum name='sourceType'><value>memfd</value></enum></memoryBacking>"
        "<devices><video supported='yes'><enum name='modelType'><value>vga</value><value>virtio</value></enum></video>"
        "<tpm supported='no'/><hostdev supported='yes'><enum name='capsType'/></hostdev></devices>"
        "<features><gic supported='no'/><hyperv supported='yes'><enum name='features'><value>relaxed</value></enum>"
        "</hyperv></features></domainCapabilities>");
    assert_true(kvmig__strlist_has(offer(&e, "video/modelType"), "virtio"));
    assert_true(kvmig__strlist_has(offer(&e, "loader/path"), "/fw/CODE.fd"));
    assert_false(kvmig__strlist_has(offer(&e, "loader/secure"), "yes"));
    assert_true(kvmig__strlist_has(offer(&e, "memoryBacking/sourceType"), "memfd"));
    assert_true(kvmig__strlist_has(offer(&e, "hyperv/features"), "relaxed"));
    assert_int_equal(offer(&e, "tpm")->n, 0);
    assert_null(offer(&e, "hostdev/capsType")); /* a list without members tells nothing */
    assert_null(offer(&e, "rng"));
    kvmig__emulator_clear(&e);
}

/* ---- guests ---- */

static void devices_and_settings_become_needs(void **state)
{
    (void)state;
    struct kvmig__domain d =
        domain_of("<domain type='kvm' id='4'><os><loader secure='yes' type='pflash'>/fw/CODE.fd</loader></os>"
                  "<memoryBacking><source type='memfd'/><locked/></memoryBacking>"
                  "<features><hyperv mode='custom'><relaxed state='on'/><vapic state='off'/></hyperv></features>"
                  "<devices><disk device='cdrom'><target dev='sda' bus='sata'/></disk>"
                  "<interface type='user'><driver queues='4'/><backend type='passt'/></interface>"
                  "<graphics type='spice'/><video><model type='qxl'/></video>"
                  "<tpm model='tpm-crb'><backend type='emulator' version='2.0'/></tpm><rng model='virtio'><backend "
                  "model='builtin'/></rng></devices></domain>");
    assert_true(needs(&d, "disk/bus", "sata") && needs(&d, "disk/diskDevice", "cdrom"));
    assert_true(needs(&d, "graphics/type", "spice") && needs(&d, "video/modelType", "qxl"));
    assert_true(needs(&d, "tpm/model", "tpm-crb") && needs(&d, "tpm/backendModel", "emulator"));
    assert_true(needs(&d, "tpm/backendVersion", "2.0") && needs(&d, "rng/backendModel", "builtin"));
    assert_true(needs(&d, "interface/backendType", "passt") && needs(&d, "memoryBacking/sourceType", "memfd"));
    assert_true(needs(&d, "loader/secure", "yes") && needs(&d, "hyperv/features", "relaxed"));
    assert_false(needs(&d, "hyperv/features", "vapic"));
    assert_false(d.hyperv_passthrough || d.video_by_default || d.hugepages);
    assert_true(d.running_xml && d.memory_locked);
    assert_text(d.memory_source, "memfd");
    assert_int_equal(d.interfaces.v[0].queues, 4);
    kvmig__domain_clear(&d);
    d = domain_of("<domain type='kvm'><features><hyperv mode='passthrough'/></features><devices><video/></devices>"
                  "</domain>");
    assert_true(d.hyperv_passthrough && d.video_by_default);
    assert_false(d.running_xml);
    assert_int_equal(d.needs.n, 0);
    kvmig__domain_clear(&d);
}

static void secrets_are_collected_once_per_device(void **state)
{
    (void)state;
    struct kvmig__domain d = domain_of(
        "<domain type='kvm'><devices>"
        "<disk type='network'><source protocol='rbd' name='p/i'><auth username='u'><secret type='ceph' "
        "uuid='U1'/></auth>"
        "<encryption format='luks'><secret type='passphrase' uuid='U2'/></encryption></source>"
        "<backingStore type='network'><source protocol='rbd' name='p/b'><auth username='u'><secret type='ceph' "
        "uuid='U1'/></auth></source></backingStore><target dev='vda'/></disk>"
        "<disk type='network'><source protocol='iscsi' name='q/1'><auth username='u'><secret type='iscsi' usage='lun'/>"
        "</auth></source><target dev='vdb'/></disk>"
        "<tpm model='tpm-tis'><backend type='emulator'><encryption secret='U3'/></backend></tpm>"
        "</devices></domain>");
    assert_int_equal(d.secrets.n, 4);
    assert_text(d.secrets.v[0].uuid, "U1");
    assert_text(d.secrets.v[0].of, "vda");
    assert_text(d.secrets.v[2].usage, "lun");
    assert_null(d.secrets.v[2].uuid);
    assert_text(d.secrets.v[3].uuid, "U3");
    assert_text(d.secrets.v[3].of, "tpm");
    kvmig__domain_clear(&d);
}

static void bound_cpus_and_quotas_are_read(void **state)
{
    (void)state;
    struct kvmig__domain d =
        domain_of("<domain type='kvm'><vcpu placement='static' cpuset='0-3'>2</vcpu><cputune><vcpupin vcpu='1' "
                  "cpuset='2'/><emulatorpin cpuset='0'/><iothreadpin iothread='1' cpuset='3'/>"
                  "<emulator_quota>50000</emulator_quota></cputune></domain>");
    assert_int_equal(d.cpu_pins.n, 4);
    assert_text(d.cpu_pins.v[0].what, "domain");
    assert_text(d.cpu_pins.v[1].what, "vcpu 1");
    assert_text(d.cpu_pins.v[1].cpus, "2");
    assert_text(d.cpu_pins.v[3].what, "emulator");
    assert_true(d.cpu_limited);
    kvmig__domain_clear(&d);
    d = domain_of("<domain type='kvm'><vcpu placement='auto' cpuset='0-3'>2</vcpu><cputune><global_quota>-1"
                  "</global_quota></cputune></domain>");
    assert_int_equal(d.cpu_pins.n, 0);
    assert_false(d.cpu_limited);
    kvmig__domain_clear(&d);
}

static void pages_of_several_sizes_are_noticed(void **state)
{
    (void)state;
    struct kvmig__domain d =
        domain_of("<domain type='kvm'><memoryBacking><hugepages><page size='1' unit='G' nodeset='0'/>"
                  "<page size='2' unit='M' nodeset='1'/></hugepages></memoryBacking></domain>");
    assert_true(d.hugepages && d.hugepages_mixed);
    kvmig__domain_clear(&d);
    d = domain_of("<domain type='kvm'><memoryBacking><hugepages><page size='2' unit='M' nodeset='0'/>"
                  "<page size='2048' unit='KiB' nodeset='1'/></hugepages></memoryBacking></domain>");
    assert_false(d.hugepages_mixed);
    assert_int_equal(d.hugepage_size, 2 << 20);
    kvmig__domain_clear(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_pages_and_the_tsc_are_read),
        cmocka_unit_test(a_cell_that_is_not_understood_is_refused),
        cmocka_unit_test(the_lists_of_an_emulator_are_read),
        cmocka_unit_test(devices_and_settings_become_needs),
        cmocka_unit_test(secrets_are_collected_once_per_device),
        cmocka_unit_test(bound_cpus_and_quotas_are_read),
        cmocka_unit_test(pages_of_several_sizes_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
