/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rules over texts, each of them both ways: a message as it is written, and the same message with one letter of the rule's token changed,
 * which says nothing. Every row of the tables must have its message here.
 */
#include "diagnose_test.h"

static const struct {
    const char *text, *code;
    const char *detail; /* must be part of it; NULL */
} messages[] = {
    /* CPU, machine, device state */
    { "guest CPU doesn't match specification: missing features: erms,fsrm", "CPU_FEATURE_MISSING", "fsrm" },
    { "Host CPU does not provide required features: avx2, bmi2", "CPU_FEATURE_MISSING", "bmi2" },
    { "qemu: warning: host doesn't support requested feature: CPUID.07H:EBX.hle [bit 4]\nqemu: Host doesn't support "
      "requested features",
      "CPU_FEATURE_MISSING", "hle" },
    { "guest CPU doesn't match specification: extra features: ht", "CPU_FEATURE_EXTRA", "ht" },
    { "internal error: Unknown CPU model Sierra", "CPU_MODEL_UNSUPPORTED", "Sierra" },
    { "qemu: unable to find CPU model 'Sierra'", "CPU_MODEL_UNSUPPORTED", "Sierra" },
    { "CPU model Sierra is not supported by hypervisor", "CPU_MODEL_UNSUPPORTED", "Sierra" },
    { "emulator '/usr/bin/qemu' does not support CPU model Sierra", "CPU_MODEL_UNSUPPORTED", "Sierra" },
    { "State blocked by non-migratable CPU device (invtsc flag)", "CPU_NON_MIGRATABLE_FLAG", "invtsc" },
    { "domain has CPU feature: invtsc", "CPU_NON_MIGRATABLE_FLAG", "invtsc" },
    { "domain has 'invtsc' CPU feature but TSC frequency is not specified", "CPU_NON_MIGRATABLE_FLAG", "invtsc" },
    { "the machine 'pc-q35-9.9' is not supported by emulator '/usr/bin/qemu'", "MACHINE_TYPE_UNSUPPORTED",
      "pc-q35-9.9" },
    { "Emulator '/usr/bin/qemu' does not support machine type 'pc-q35-9.9'", "MACHINE_TYPE_UNSUPPORTED", "pc-q35-9.9" },
    { "qemu: unsupported machine type 'pc-q35-9.9'", "MACHINE_TYPE_UNSUPPORTED", "pc-q35-9.9" },
    { "Features 0x3 unsupported. Allowed features: 0x1\nFailed to load virtio-net:virtio", "DEVICE_STATE_INCOMPATIBLE",
      "\"0x2\"" },
    { "Unknown savevm section or instance '0000:00:02.0/virtio-net' 0.", "DEVICE_STATE_INCOMPATIBLE", "virtio-net" },
    { "savevm: unsupported version 5 for 'cpu_common' v4", "DEVICE_STATE_INCOMPATIBLE", "cpu_common" },
    { "cpu_common: incoming version_id 5 is too new for local version_id 4", "DEVICE_STATE_INCOMPATIBLE",
      "cpu_common" },
    { "qemu: error: failed to set MSR 0x38f to 0x7", "DEVICE_STATE_INCOMPATIBLE", "0x38f" },
    { "error while loading state section id 3(0000:00:02.0/virtio-net)", "DEVICE_STATE_INCOMPATIBLE", "virtio-net" },
    { "error while loading state for instance 0x0 of device 'i8042'", "DEVICE_STATE_INCOMPATIBLE", "i8042" },
    { "error while loading state for instance 0x0 of device 'ram'\nload of migration failed: Invalid argument",
      "RAM_BLOCK_MISMATCH", NULL },
    { "Length mismatch: 0000:00:03.0/virtio-net-pci.rom: 0x40000 in != 0x80000", "RAM_BLOCK_MISMATCH", ".rom\"" },
    { "Size mismatch: pc.bios: 0x40000 != 0x20000: Invalid argument", "RAM_BLOCK_MISMATCH", "pc.bios" },
    { "Unknown ramblock \"vga.vram\", cannot accept migration", "RAM_BLOCK_MISMATCH", "vga.vram" },
    { "Unknown savevm section type 95", "STREAM_MISMATCH", NULL },
    { "Unknown combination of migration flags: 0x3a2", "STREAM_MISMATCH", NULL },
    { "multifd: received packet magic 0 and expected magic 11223344", "STREAM_MISMATCH", NULL },
    { "multifd: received packet version 2 and expected version 1", "STREAM_MISMATCH", NULL },
    { "qemu: Not a migration stream", "STREAM_MISMATCH", NULL },
    { "Unsupported migration stream version", "STREAM_MISMATCH", NULL },
    /* storage and devices */
    { "Unsafe migration: Migration without shared storage is unsafe", "UNSAFE_MIGRATION_NOT_SHARED", NULL },
    { "Migration may lead to data corruption if disks use cache != none", "UNSAFE_DISK_CACHE", NULL },
    { "Failed to get \"write\" lock\nIs another process using the image [/a b]?", "IMAGE_LOCKED", "/a b" },
    { "Failed to get shared \"write\" lock", "IMAGE_LOCKED", NULL },
    { "Failed to get \"consistent read\" lock", "IMAGE_LOCKED", NULL },
    { "Failed to get shared \"consistent read\" lock", "IMAGE_LOCKED", NULL },
    { "Lockspace resource '/srv/a.img' is locked", "IMAGE_LOCKED", "/srv/a.img" },
    { "Failed to acquire lock: error -243", "IMAGE_LOCKED", NULL },
    { "Failed to acquire lock: Lease owned by other host", "IMAGE_LOCKED", NULL },
    { "SWTPM_NVRAM_Lock_Lockfile: Could not lock access to lockfile", "IMAGE_LOCKED", NULL },
    { "drbd r0: State change failed: Multiple primaries not allowed by config", "STORAGE_SINGLE_WRITER", NULL },
    { "Could not open '/dev/drbd1000': Wrong medium type", "STORAGE_SINGLE_WRITER", NULL },
    { "rbd image rbd/vm1 is still being used", "STORAGE_SINGLE_WRITER", NULL },
    { "Multi-Attach error for volume \"pvc-1\" Volume is already", "STORAGE_SINGLE_WRITER", "pvc-1" },
    { "cannot migrate a domain with <hostdev mode='subsystem' type='pci'>", "HOSTDEV_NOT_MIGRATABLE", "pci" },
    { "domain has assigned non-USB host devices", "HOSTDEV_NOT_MIGRATABLE", NULL },
    { "0000:3b:00.0: VFIO migration is not supported in kernel", "HOSTDEV_NOT_MIGRATABLE", "vfio" },
    { "State blocked by non-migratable device '0000:00:05.0/vfio'", "HOSTDEV_NOT_MIGRATABLE", "vfio" },
    { "VFIO device doesn't support migration", "HOSTDEV_NOT_MIGRATABLE", "vfio" },
    { "State blocked by non-migratable device '0000:00:05.0/nvme'", "DEVICE_NOT_MIGRATABLE", "nvme" },
    { "migration with virtiofs device is not supported", "DEVICE_NOT_MIGRATABLE", "virtiofs" },
    { "Migration is disabled when VirtFS export path '/a' is mounted in the guest", "DEVICE_NOT_MIGRATABLE", NULL },
    { "cannot migrate domain with 2 snapshots", "SNAPSHOTS_PRESENT", "2" },
    { "Requested operation is not valid: domain has active block job", "BLOCK_JOB_ACTIVE", NULL },
    { "Cannot migrate empty or read-only disk sda", "COPY_LIST_HAS_READONLY_DISK", "sda" },
    { "pre-creation of storage targets for incremental storage migration is not supported",
      "TARGET_PRECREATE_UNSUPPORTED", NULL },
    { "no storage pool with matching target path '/srv'", "TARGET_PRECREATE_UNSUPPORTED", "/srv" },
    { "has to be smaller or equal to the actual size 1014686023", "DEST_VOLUME_SMALLER", "1014686023" },
    { "Source and target image have different sizes", "DEST_VOLUME_SMALLER", NULL },
    { "migration of disk vda failed: No space left on device", "TARGET_SPACE_INSUFFICIENT", NULL },
    { "migration of disk vda failed: Input/output error", "DISK_COPY_FAILED", "vda" },
    { "Cannot access storage file '/srv/a' (as uid:1, gid:1): No such file or directory", "DISK_NOT_SHARED", "/srv/a" },
    { "cannot migrate VMI: PVC root is not shared, live migration requires", "PVC_NOT_SHARED", "root" },
    /* request, TLS, post-copy, jobs */
    { "use of 'VIR_MIGRATE_PARAM_MIGRATE_DISKS' requires use of 'VIR_MIGRATE_NON_SHARED_DISK' flag", "INVALID_FLAGS",
      "VIR_MIGRATE_NON_SHARED_DISK" },
    { "flags VIR_MIGRATE_NON_SHARED_DISK and VIR_MIGRATE_NON_SHARED_INC are mutually exclusive", "INVALID_FLAGS",
      "VIR_MIGRATE_NON_SHARED_INC" },
    { "Attempt to migrate guest to the same host 0f0e0d0c-1111-4222-8333-0a0b0c0d0e0f", "DUPLICATE_HOST_UUID", "0f0e" },
    { "Certificate [session] owner does not match the hostname 192.0.2.7", "TLS_HOSTNAME_MISMATCH", "192.0.2.7" },
    { "Certificate does not match the hostname kvm2", "TLS_HOSTNAME_MISMATCH", "kvm2" },
    { "x509: certificate is valid for a, b, not kvm2", "TLS_HOSTNAME_MISMATCH", "kvm2" },
    { "x509: certificate is not valid for any names, but wanted to match kvm2", "TLS_HOSTNAME_MISMATCH", "kvm2" },
    { "x509: cannot validate certificate for 192.0.2.7 because it doesn't contain any IP SANs", "TLS_HOSTNAME_MISMATCH",
      "192.0.2.7" },
    { "Unable to access credentials /etc/a.pem: No such file", "TLS_CREDENTIALS_MISSING", "/etc/a.pem" },
    { "Cannot read CA certificate '/etc/a.pem': No such file", "TLS_CREDENTIALS_MISSING", "/etc/a.pem" },
    { "Cannot read certificate '/etc/a.pem': No such file", "TLS_CREDENTIALS_MISSING", "/etc/a.pem" },
    { "Cannot read private key '/etc/a.pem': No such file", "TLS_CREDENTIALS_MISSING", "/etc/a.pem" },
    { "Unable to set x509 CA certificate: /etc/a.pem: Error while reading file.", "TLS_CREDENTIALS_MISSING",
      "/etc/a.pem" },
    { "Unable to set x509 key and certificate: /etc/k.pem, /etc/a.pem: Error", "TLS_CREDENTIALS_MISSING",
      "/etc/k.pem" },
    { "Unable to load certificate /etc/a.pem", "TLS_CREDENTIALS_MISSING", "/etc/a.pem" },
    { "Unable to import server certificate /etc/a.pem", "TLS_CREDENTIALS_MISSING", "/etc/a.pem" },
    { "Unable to import client certificate /etc/a.pem", "TLS_CREDENTIALS_MISSING", "/etc/a.pem" },
    { "Unable to import CA certificate /etc/a.pem", "TLS_CREDENTIALS_MISSING", "/etc/a.pem" },
    { "open /etc/v/tls.crt: no such file or directory", "TLS_CREDENTIALS_MISSING", "/etc/v/tls.crt" },
    { "open /etc/v/tls.key: no such file or directory", "TLS_CREDENTIALS_MISSING", "/etc/v/tls.key" },
    { "open /etc/v/ca.crt: no such file or directory", "TLS_CREDENTIALS_MISSING", "/etc/v/ca.crt" },
    { "host migration TLS directory not configured", "TLS_CREDENTIALS_MISSING", NULL },
    { "No TLS credentials with id 'objlibvirt_migrate_tls0'", "TLS_CREDENTIALS_MISSING", NULL },
    { "The server certificate /etc/a.pem has expired", "TLS_CERTIFICATE_EXPIRED", NULL },
    { "The CA certificate /etc/a.pem is not yet active", "TLS_CERTIFICATE_NOT_YET_VALID", NULL },
    { "Cannot write to TLS channel: Input/output error", "TLS_CHANNEL_ERROR", NULL },
    { "Cannot read from TLS channel: Connection reset", "TLS_CHANNEL_ERROR", NULL },
    { "TLS handshake failed: unexpected", "TLS_CHANNEL_ERROR", NULL },
    { "The TLS connection was non-properly terminated", "TLS_CHANNEL_ERROR", NULL },
    { "Failed to verify peer's certificate", "TLS_CHANNEL_ERROR", NULL },
    { "remote error: tls: bad certificate", "TLS_CHANNEL_ERROR", NULL },
    { "x509: certificate signed by unknown authority", "TLS_CHANNEL_ERROR", NULL },
    { "Userfaultfd not available: Operation not permitted", "POSTCOPY_UNSUPPORTED", NULL },
    { "qemu: userfault hugetlb support missing", "POSTCOPY_UNSUPPORTED", NULL },
    { "Postcopy needs matching RAM page sizes (s=200000 d=1000)", "POSTCOPY_UNSUPPORTED", NULL },
    { "post-copy migration is not supported with this", "POSTCOPY_UNSUPPORTED", NULL },
    { "Postcopy is not supported", "POSTCOPY_UNSUPPORTED", NULL },
    { "another migration job is already running for domain 'vm1'", "MIGRATION_IN_PROGRESS", NULL },
    { "domain 'vm1' already exists with uuid 0f0e0d0c", "DOMAIN_EXISTS_ON_TARGET", "0f0e0d0c" },
    { "domain 'vm1' is already defined with uuid 0f0e0d0c", "DOMAIN_EXISTS_ON_TARGET", "0f0e0d0c" },
    { "cannot acquire state change lock (held by monitor=remoteDispatchDomainMigrateFinish3Params)", "STUCK_FINISH",
      "Finish3" },
    /* hosts */
    { "Failed to connect to remote libvirt URI qemu+tls://b/system", "TARGET_UNREACHABLE", "qemu+tls" },
    { "unable to connect to server at 'b:49152': Connection refused", "TARGET_UNREACHABLE", "b:49152" },
    { "Cannot recv data: Host key verification failed.", "SSH_HOST_KEY_UNKNOWN", NULL },
    { "root@b: Permission denied (publickey,password).", "SSH_LOGIN_REFUSED", NULL },
    { "Unable to find an unused port in range 'migration' (49152-49215)", "MIGRATION_PORTS_SHORT", NULL },
    { "Hook script execution failed: exit status 1", "HOOK_SCRIPT_FAILED", NULL },
    { "no network with matching name 'lan'", "NETWORK_MISSING", "lan" },
    { "Cannot get interface MTU on 'br0': No such device", "BRIDGE_MISSING", "br0" },
    { "cannot set up guest memory 'pc.ram': Cannot allocate memory", "INSUFFICIENT_MEMORY", NULL },
    { "unable to map backing store for guest RAM: Cannot allocate memory", "INSUFFICIENT_MEMORY", NULL },
    { "Out of memory: Killed process 4711 (qemu-kvm)", "QEMU_KILLED_FOR_MEMORY", NULL },
    { "Timeout waiting for ['network-vif-plugged-1']", "WAITING_NETWORK_EVENT", "network-vif-plugged" },
    { "Timed out waiting for events: network-vif-plugged-1", "WAITING_NETWORK_EVENT", "network-vif-plugged" },
    { "internal error: qemu unexpectedly closed the monitor: x", "QEMU_DIED", NULL },
    { "shutting down, reason=crashed", "QEMU_DIED", NULL },
    /* Kubernetes */
    { "0/3 nodes are available: 3 Insufficient memory.", "TARGET_UNSCHEDULABLE", "Insufficient memory" },
    { "Failed to pull image \"a/b:c\": not found", "TARGET_IMAGE_PULL", "a/b:c" },
    { "Back-off pulling image \"a/b:c\"", "TARGET_IMAGE_PULL", "a/b:c" },
    { "no node is suitable to run the required CPU model / required features", "TARGET_UNSCHEDULABLE", NULL },
    { "failed to setup network for sandbox \"1\": plugin failed", "TARGET_NETWORK_NOT_READY", NULL },
    { "in-flight migration detected. Active migration job (1-2) is", "MIGRATION_IN_PROGRESS", "1-2" },
    { "exceeded quota: q, requested: memory=1Gi, used: memory=2Gi", "QUOTA_EXCEEDED", "memory=1Gi" },
};

/* Messages of the same words that mean something else. */
static const struct {
    const char *text, *code;
} harmless[] = {
    { "warning: host doesn't support requested feature: CPUID.07H:EBX.hle [bit 4]", "CPU_FEATURE_MISSING" },
    { "CPU model Sierra was chosen", "CPU_MODEL_UNSUPPORTED" },
    { "error while loading state for instance 0x0 of device 'ram'\nload of migration failed: Input/output error",
      "RAM_BLOCK_MISMATCH" },
    { "error while loading state for instance 0x0 of device 'i8042'\nload of migration failed: Input/output error",
      "DEVICE_STATE_INCOMPATIBLE" },
    { "error while loading state section id 2(ram)\nload of migration failed: Input/output error",
      "DEVICE_STATE_INCOMPATIBLE" },
    { "Unknown combination of migration flags: 0x0\nload of migration failed: Invalid argument", "STREAM_MISMATCH" },
    { "mount: Wrong medium type", "STORAGE_SINGLE_WRITER" },
    { "the old name is still being used", "STORAGE_SINGLE_WRITER" },
    { "Need access to UpToDate data", "STORAGE_SINGLE_WRITER" },
    { "migration with TLS was asked for", "DEVICE_NOT_MIGRATABLE" },
    { "cannot migrate domain with that name", "SNAPSHOTS_PRESENT" },
    { "journald: No space left on device", "TARGET_SPACE_INSUFFICIENT" },
    { "migration of disk vda started", "DISK_COPY_FAILED" },
    { "Cannot access storage file '/srv/a': Permission denied", "DISK_NOT_SHARED" },
    { "this requires use of both hands", "INVALID_FLAGS" },
    { "the two are mutually exclusive", "INVALID_FLAGS" },
    { "Attempt to migrate guest to the same host localhost", "DUPLICATE_HOST_UUID" },
    { "the session has expired", "TLS_CERTIFICATE_EXPIRED" },
    { "cannot acquire state change lock (held by monitor=remoteDispatchDomainGetBlockInfo)", "STUCK_FINISH" },
    { "Cannot get interface MTU on 'br0': Permission denied", "BRIDGE_MISSING" },
    { "Out of memory: Killed process 4711 (mysqld)", "QEMU_KILLED_FOR_MEMORY" },
    { "Timeout waiting for the operator", "WAITING_NETWORK_EVENT" },
};

static const struct kvmig__ask nothing = { .intent = 0 };

static void as_they_are_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(messages); i++) {
        struct kvmig_diagnosis *diagnosis = diagnosis_of(messages[i].text, &nothing);
        const struct kvmig_finding *finding = finding_of(&diagnosis->findings, messages[i].code);

        if (!finding || (messages[i].detail && !strstr(finding->detail, messages[i].detail)))
            print_error("%s: %s\n", messages[i].text, finding ? finding->detail : "nothing");
        assert_non_null(finding);
        assert_true(finding->severity >= KVMIG_SEVERITY_WARN);
        assert_true(!messages[i].detail || strstr(finding->detail, messages[i].detail));
        kvmig_diagnosis_unref(diagnosis);
    }
}

static void nothing_is_read_into_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(harmless); i++) {
        struct kvmig_diagnosis *diagnosis = diagnosis_of(harmless[i].text, &nothing);

        if (finding_of(&diagnosis->findings, harmless[i].code))
            print_error("%s\n", harmless[i].text);
        assert_null(finding_of(&diagnosis->findings, harmless[i].code));
        kvmig_diagnosis_unref(diagnosis);
    }
}

static bool is_found(const char *text, const char *code)
{
    struct kvmig_diagnosis *diagnosis = diagnosis_of(text, &nothing);
    const bool found = finding_of(&diagnosis->findings, code) != NULL;

    kvmig_diagnosis_unref(diagnosis);
    return found;
}

/* Has a message of its own, and needs every letter of its token there. */
static void check_rule(const struct kvmig__text_rule *rule)
{
    bool has = false;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(messages); i++) {
        const char *text = messages[i].text, *after;
        char *changed = kvmig__strdup(text), *at = changed;

        if (kvmig__str_eq(messages[i].code, rule->code) &&
            kvmig__words_find(text, text + strlen(text), rule->pattern, &after)) {
            while ((at = (char *)kvmig__words_find(at, changed + strlen(changed), rule->pattern, NULL)))
                at[1] = '#';
            has = has || !is_found(changed, rule->code);
        }
        free(changed);
    }
    if (!has)
        print_error("no message for the rule \"%s\", %s\n", rule->pattern, rule->code);
    assert_true(has);
    assert_true(rule->pattern[0] != ' ' && rule->pattern[1] != ' ' && rule->pattern[1]);
    assert_true(*rule->message && *rule->hint);
}

static void every_rule_both_ways(void **state)
{
    static const struct kvmig__text_rule *const tables[] = { kvmig__texts_cpu, kvmig__texts_storage,
                                                             kvmig__texts_request, kvmig__texts_hosts,
                                                             kvmig__texts_platform };

    (void)state;
    for (size_t t = 0; t < KVMIG__N_ELEMENTS(tables); t++)
        for (const struct kvmig__text_rule *rule = tables[t]; rule->pattern; rule++)
            check_rule(rule);
}

/* ---- which of several things counts ---- */

#define MISSING "error : operation failed: guest CPU doesn't match specification: missing features: erms\n"

static void courses(void **state)
{
    static const struct {
        const char *text, *verdict;
    } cases[] = {
        { MISSING, "CPU_FEATURE_MISSING" },
        { MISSING "2026-05-05 11:00:20.000+0000: shutting down, reason=migrated\n", "SUCCEEDED" },
        { "2026-05-05 11:00:20.000+0000: shutting down, reason=migrated\n" MISSING, "CPU_FEATURE_MISSING" },
        { "operation aborted: migration out job: canceled by client\n", "CANCELLED" },
        { "operation aborted: migration out job: canceled by client\nLive migration stuck for 150 seconds and has been "
          "aborted\n",
          "ABORTED_BY_PROGRESS_TIMEOUT" },
        { "canceled by client\nCannot read from TLS channel: x\n", "CANCELLED" },
        { "Cannot read from TLS channel: x\nNot a migration stream\n", "TLS_CHANNEL_ERROR" },
        { "Not a migration stream\nCertificate does not match the hostname a\n", "TLS_HOSTNAME_MISMATCH" },
        { "internal error: client socket is closed\n", "UNDECIDED" },
        { "Live migration failed\n", "FAILED" },
        { "Live migration failed\nLive migration succeeded\n", "SUCCEEDED" },
        { "nothing of note\n", "NO_FINDING" },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++)
        expect_verdict(cases[i].text, &nothing, cases[i].verdict);
}

#define AT(time) "2026-05-05 10:" time ".000+0000: 2211: " MISSING

static void attempts(void **state)
{
    (void)state;
    assert_false(is_found(AT("00:01"), "RETRY_USELESS"));
    assert_false(is_found(AT("00:01") AT("00:02"), "RETRY_USELESS"));
    assert_true(is_found(AT("00:01") AT("01:02"), "RETRY_USELESS"));
    assert_true(is_found(MISSING "2026: initiating migration\n" MISSING, "RETRY_USELESS"));
    assert_false(is_found(MISSING MISSING, "RETRY_USELESS"));
}

static void of_whom(void **state)
{
    struct kvmig__ask ask = { .intent = 0 };

    (void)state;
    ask.plan.vm = (char *)"vm1";
    expect_verdict("error in domain 'vm2': State blocked by non-migratable device 'a/vfio'\n", &ask, "NO_FINDING");
    expect_verdict("error in domain 'vm1': State blocked by non-migratable device 'a/vfio'\n", &ask,
                   "HOSTDEV_NOT_MIGRATABLE");
    expect_verdict("error in domain: State blocked by non-migratable device 'a/vfio'\n", &ask,
                   "HOSTDEV_NOT_MIGRATABLE");
    expect_verdict("-name guest=vm2,debug-threads=on\n" MISSING, &ask, "NO_FINDING");
    expect_verdict("-name guest=ns_vm1,debug-threads=on\n" MISSING, &ask, "CPU_FEATURE_MISSING");
    expect_verdict("for domain 0x7f00 vm2: canceled by client\n", &ask, "NO_FINDING");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_they_are_written),
        cmocka_unit_test(nothing_is_read_into_words),
        cmocka_unit_test(every_rule_both_ways),
        cmocka_unit_test(courses),
        cmocka_unit_test(attempts),
        cmocka_unit_test(of_whom),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
