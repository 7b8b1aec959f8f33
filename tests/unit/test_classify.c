/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What libvirt errors mean: messages as libvirt 9.0 and newer, QEMU and field reports give them.
 */
#include "libvirt/classify.h"

#include <libvirt/virterror.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    int code, domain;
    const char *text;
    int32_t cause;
} messages[] = {
    { 78, 10, "operation aborted: migration out: canceled by client", KVMIG__CAUSE_ABORTED },
    { 78, 10, "operation aborted: job 'migration out' canceled by client", KVMIG__CAUSE_ABORTED },
    { 81, 10, "Unsafe migration: Migration without shared storage is unsafe", KVMIG__CAUSE_UNSAFE },
    { 9, 31, "operation failed: guest CPU doesn't match specification: missing features: erms,vaes,fsrm",
      KVMIG__CAUSE_CPU_INCOMPATIBLE },
    { 9, 10, "operation failed: guest CPU doesn't match specification: missing features: erms,fsrm",
      KVMIG__CAUSE_CPU_INCOMPATIBLE },
    { 84, 10, "Operation not supported: cannot migrate a domain with <hostdev mode='subsystem' type='pci'>",
      KVMIG__CAUSE_NOT_MIGRATABLE },
    { 55, 10, "Requested operation is not valid: cannot migrate domain with 2 snapshots", KVMIG__CAUSE_NOT_MIGRATABLE },
    { 55, 10, "Requested operation is not valid: domain has active block job", KVMIG__CAUSE_NOT_MIGRATABLE },
    { 84, 10,
      "Operation not supported: use of 'VIR_MIGRATE_PARAM_MIGRATE_DISKS' requires use of "
      "'VIR_MIGRATE_NON_SHARED_DISK' or 'VIR_MIGRATE_NON_SHARED_INC' flag",
      KVMIG__CAUSE_INVALID_FLAGS },
    { 55, 10, "Requested operation is not valid: no job is active on the domain", KVMIG__CAUSE_NO_JOB },
    { 55, 10, "Requested operation is not valid: cannot abort migration in post-copy mode",
      KVMIG__CAUSE_POSTCOPY_BEGAN },
    { 55, 10, "Requested operation is not valid: post-copy can only be started while outgoing migration is in progress",
      KVMIG__CAUSE_NO_JOB },
    { 1, 10, "internal error: Attempt to migrate guest to the same host 6b766d69-6700-4000-8000-000000000011",
      KVMIG__CAUSE_SAME_HOST },
    { 9, 20, "operation failed: domain 'vm1' already exists with uuid 453849b8-bd19-43d5-90d5-1bf9e8a18e2d",
      KVMIG__CAUSE_TARGET_CONFLICT },
    { 55, 20, "Requested operation is not valid: domain 'vm1' is already active", KVMIG__CAUSE_TARGET_CONFLICT },
    { 67, 10, "unsupported configuration: Target CPU model Haswell does not match source Broadwell",
      KVMIG__CAUSE_CONFIG_INCOMPATIBLE },
    { 49, 18, "Storage pool not found: no storage pool with matching target path '/var/lib/images'",
      KVMIG__CAUSE_TARGET_STORAGE },
    { 38, 0, "Cannot access storage file '/var/lib/images/vda.img': No such file or directory",
      KVMIG__CAUSE_TARGET_STORAGE },
    { 1, 10,
      "internal error: process exited while connecting to monitor: 2026-01-01T00:00:00Z qemu-system-x86_64: "
      "-blockdev {}: Failed to get \"write\" lock",
      KVMIG__CAUSE_LOCKED },
    { 87, 42, "resource busy: Lockspace resource '/var/lib/images/vda.img' is locked", KVMIG__CAUSE_LOCKED },
    { 1, 10, "internal error: process exited while connecting to monitor: qemu-system-x86_64: unsupported machine",
      KVMIG__CAUSE_TARGET_PREPARE },
    { 1, 10,
      "internal error: QEMU unexpectedly closed the monitor (vm='vm1'): qemu-kvm: error while loading state for "
      "instance 0x0 of device '0000:00:02.0:00.0/virtio-net'",
      KVMIG__CAUSE_STATE_REFUSED },
    { 9, 10, "operation failed: job 'migration out' unexpectedly failed", KVMIG__CAUSE_STREAM_BROKEN },
    { 9, 10, "operation failed: migration out job: unexpectedly failed", KVMIG__CAUSE_STREAM_BROKEN },
    { 9, 10, "operation failed: job 'migration out' failed: Unable to write to socket: Broken pipe",
      KVMIG__CAUSE_STREAM_BROKEN },
    { 9, 10, "operation failed: domain is not running", KVMIG__CAUSE_GUEST_GONE },
    { 45, 7, "authentication failed: Failed to verify peer's certificate", KVMIG__CAUSE_TLS },
    { 88, 10, "access denied: 'domain' denied access: 'migrate' denied", KVMIG__CAUSE_ACCESS },
    { 38, 7, "unable to connect to server at '10.0.0.2:16509': Connection refused", KVMIG__CAUSE_CONNECT },
    { 9, 10, "operation failed: Failed to connect to remote libvirt URI qemu+tcp://b/system", KVMIG__CAUSE_CONNECT },
    { 38, 7, "Cannot recv data: Connection reset by peer", KVMIG__CAUSE_LINK_LOST },
    { 38, 7, "End of file while reading data: Input/output error", KVMIG__CAUSE_LINK_LOST },
    { 39, 7, "internal error: received hangup event on socket", KVMIG__CAUSE_LINK_LOST },
    { 1, 7, "internal error: connection closed due to keepalive timeout", KVMIG__CAUSE_LINK_LOST },
    { 1, 7, "internal error: client socket is closed", KVMIG__CAUSE_LINK_LOST },
    { 68, 10, "Timed out during operation: cannot acquire state change lock (held by remoteDispatchDomainMigrate)",
      KVMIG__CAUSE_BUSY },
    { 69, 10, "Failed to make domain persistent after migration: disk full", KVMIG__CAUSE_PERSIST_FAILED },
    { 42, 10, "Domain not found: no domain with matching uuid '453849b8-bd19-43d5-90d5-1bf9e8a18e2d'",
      KVMIG__CAUSE_NO_DOMAIN },
    { 74, 10, "argument unsupported: parameter 'compression.zstd.level' not supported", KVMIG__CAUSE_PEER_TOO_OLD },
    { 9, 10, "operation failed: userfaultfd not available: Operation not permitted",
      KVMIG__CAUSE_POSTCOPY_UNSUPPORTED },
    { 9, 10, "operation failed: something new", KVMIG__CAUSE_OTHER },
};

static void every_message_has_its_cause(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(messages); i++) {
        int32_t cause = kvmig__virt_cause(messages[i].code, messages[i].domain, messages[i].text);
        if (cause != messages[i].cause)
            fail_msg("%s: %s, not %s", messages[i].text, kvmig__virt_cause_name(cause),
                     kvmig__virt_cause_name(messages[i].cause));
    }
}

static void an_error_without_text_is_judged_by_its_code(void **state)
{
    (void)state;
    assert_int_equal(kvmig__virt_cause(VIR_ERR_MIGRATE_UNSAFE, VIR_FROM_QEMU, NULL), KVMIG__CAUSE_UNSAFE);
    assert_int_equal(kvmig__virt_cause(VIR_ERR_OPERATION_FAILED, VIR_FROM_CPU, NULL), KVMIG__CAUSE_CPU_INCOMPATIBLE);
    assert_int_equal(kvmig__virt_cause(VIR_ERR_OPERATION_FAILED, VIR_FROM_QEMU, NULL), KVMIG__CAUSE_OTHER);
}

static void unsafe_storage_comes_with_the_advice_to_consent_or_copy(void **state)
{
    (void)state;
    assert_non_null(strstr(kvmig__virt_cause_hint(KVMIG__CAUSE_UNSAFE), "KVMIG_PLAN_UNSAFE"));
    assert_null(kvmig__virt_cause_hint(KVMIG__CAUSE_OTHER));
}

static void every_cause_has_a_name(void **state)
{
    (void)state;
    for (int32_t cause = 0; cause < KVMIG__N_CAUSES; cause++)
        assert_non_null(kvmig__virt_cause_name(cause));
    assert_null(kvmig__virt_cause_name(KVMIG__N_CAUSES));
    assert_null(kvmig__virt_cause_name(-1));
    assert_null(kvmig__virt_cause_hint(KVMIG__N_CAUSES));
}

static void a_message_of_both_hosts_is_split(void **state)
{
    char *source = NULL;
    char *target = NULL;
    (void)state;
    assert_true(
        kvmig__virt_split_sides("operation failed: migration failed. Message from the source host: operation "
                                "failed: job 'migration out' failed: Sibling indicated error 1. Message from the "
                                "destination host: operation failed: job 'migration in' failed: load of "
                                "migration failed: Invalid argument",
                                &source, &target));
    assert_string_equal(source, "operation failed: job 'migration out' failed: Sibling indicated error 1");
    assert_string_equal(target,
                        "operation failed: job 'migration in' failed: load of migration failed: Invalid argument");
    free(source);
    free(target);
}

static void a_message_of_one_host_is_not_split(void **state)
{
    char *source = NULL;
    char *target = NULL;
    (void)state;
    assert_false(kvmig__virt_split_sides("operation failed: domain is not running", &source, &target));
    assert_false(kvmig__virt_split_sides("Message from the source host: only this", &source, &target));
    assert_false(kvmig__virt_split_sides(NULL, &source, &target));
    assert_null(source);
    assert_null(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_has_its_cause),
        cmocka_unit_test(an_error_without_text_is_judged_by_its_code),
        cmocka_unit_test(unsafe_storage_comes_with_the_advice_to_consent_or_copy),
        cmocka_unit_test(every_cause_has_a_name),
        cmocka_unit_test(a_message_of_both_hosts_is_split),
        cmocka_unit_test(a_message_of_one_host_is_not_split),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
