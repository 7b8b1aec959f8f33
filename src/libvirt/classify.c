/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a libvirt error means for a migration: a table of (code, domain, text) -> cause, first match wins. Texts come
 * before bare codes, because libvirt reports most failures of a migration under a handful of general codes.
 *
 * Pure: no call into libvirt, only the constants of its headers; any thread.
 */
#include "libvirt/classify.h"

#include <libvirt/virterror.h>
#include <string.h>

#define ANY (-1)

struct rule {
    int code; /* virErrorNumber or ANY */
    int domain; /* virErrorDomain or ANY */
    const char *text; /* part of the message; NULL = any */
    int32_t cause;
};

static const struct rule rules[] = {
    /* who ended it */
    { VIR_ERR_OPERATION_ABORTED, ANY, NULL, KVMIG__CAUSE_ABORTED },
    { ANY, ANY, "canceled by client", KVMIG__CAUSE_ABORTED },
    { ANY, ANY, "cancelled by client", KVMIG__CAUSE_ABORTED },
    { VIR_ERR_MIGRATE_PERSIST_FAILED, ANY, NULL, KVMIG__CAUSE_PERSIST_FAILED },

    /* answers to control calls */
    { ANY, ANY, "cannot abort migration in post-copy mode", KVMIG__CAUSE_POSTCOPY_BEGAN },
    { ANY, ANY, "no job is active on the domain", KVMIG__CAUSE_NO_JOB },
    { ANY, ANY, "is not being migrated", KVMIG__CAUSE_NO_JOB },
    { ANY, ANY, "outgoing migration is in progress", KVMIG__CAUSE_NO_JOB },

    /* what libvirt refuses before it begins */
    { VIR_ERR_MIGRATE_UNSAFE, ANY, NULL, KVMIG__CAUSE_UNSAFE },
    { ANY, ANY, "to the same host", KVMIG__CAUSE_SAME_HOST },
    { ANY, VIR_FROM_CPU, NULL, KVMIG__CAUSE_CPU_INCOMPATIBLE },
    { VIR_ERR_CPU_INCOMPATIBLE, ANY, NULL, KVMIG__CAUSE_CPU_INCOMPATIBLE },
    { ANY, ANY, "guest CPU doesn't match specification", KVMIG__CAUSE_CPU_INCOMPATIBLE },
    { ANY, ANY, "already exists with uuid", KVMIG__CAUSE_TARGET_CONFLICT },
    { ANY, ANY, "is already defined with uuid", KVMIG__CAUSE_TARGET_CONFLICT },
    { ANY, ANY, "is already active", KVMIG__CAUSE_TARGET_CONFLICT },
    { VIR_ERR_DOM_EXIST, ANY, NULL, KVMIG__CAUSE_TARGET_CONFLICT },
    { ANY, ANY, "does not match source", KVMIG__CAUSE_CONFIG_INCOMPATIBLE },
    { ANY, ANY, "requires use of 'VIR_MIGRATE_", KVMIG__CAUSE_INVALID_FLAGS },
    { ANY, ANY, "mutually exclusive", KVMIG__CAUSE_INVALID_FLAGS },
    { ANY, ANY, "Cannot migrate empty or read-only disk", KVMIG__CAUSE_INVALID_FLAGS },
    { ANY, ANY, "cannot migrate", KVMIG__CAUSE_NOT_MIGRATABLE },
    { ANY, ANY, "cannot be migrated", KVMIG__CAUSE_NOT_MIGRATABLE },
    { ANY, ANY, "domain has active block job", KVMIG__CAUSE_NOT_MIGRATABLE },
    { ANY, ANY, "non-migratable device", KVMIG__CAUSE_NOT_MIGRATABLE },
    { ANY, ANY, "migration with virtiofs", KVMIG__CAUSE_NOT_MIGRATABLE },
    { ANY, ANY, "migration with transient disk", KVMIG__CAUSE_NOT_MIGRATABLE },
    { ANY, ANY, "another migration job is already running", KVMIG__CAUSE_BUSY },

    /* locks, before the general texts of a QEMU that could not start */
    { ANY, ANY, "Failed to get \"write\" lock", KVMIG__CAUSE_LOCKED },
    { ANY, ANY, "Failed to get write lock", KVMIG__CAUSE_LOCKED },
    { ANY, ANY, "Failed to get \"consistent read\" lock", KVMIG__CAUSE_LOCKED },
    { VIR_ERR_RESOURCE_BUSY, ANY, NULL, KVMIG__CAUSE_LOCKED },
    { ANY, VIR_FROM_LOCKING, NULL, KVMIG__CAUSE_LOCKED },

    /* the two QEMUs */
    { ANY, ANY, "userfaultfd", KVMIG__CAUSE_POSTCOPY_UNSUPPORTED },
    { ANY, ANY, "Postcopy is not supported", KVMIG__CAUSE_POSTCOPY_UNSUPPORTED },
    { ANY, ANY, "error while loading state", KVMIG__CAUSE_STATE_REFUSED },
    { ANY, ANY, "load of migration failed: Invalid argument", KVMIG__CAUSE_STATE_REFUSED },
    { ANY, ANY, "Unknown savevm section", KVMIG__CAUSE_STATE_REFUSED },
    { ANY, ANY, "load of migration failed", KVMIG__CAUSE_STREAM_BROKEN },
    { ANY, ANY, "Sibling indicated error", KVMIG__CAUSE_STREAM_BROKEN },
    { ANY, ANY, "Unable to write to socket", KVMIG__CAUSE_STREAM_BROKEN },
    { ANY, ANY, "Unable to read from socket", KVMIG__CAUSE_STREAM_BROKEN },
    { ANY, ANY, "job 'migration out' unexpectedly failed", KVMIG__CAUSE_STREAM_BROKEN },
    { ANY, ANY, "migration out job: unexpectedly failed", KVMIG__CAUSE_STREAM_BROKEN },
    { ANY, ANY, "guest unexpectedly quit", KVMIG__CAUSE_GUEST_GONE },
    { ANY, ANY, "domain is not running", KVMIG__CAUSE_GUEST_GONE },
    { ANY, ANY, "domain is no longer running", KVMIG__CAUSE_GUEST_GONE },

    /* storage of the target */
    { VIR_ERR_NO_STORAGE_POOL, ANY, NULL, KVMIG__CAUSE_TARGET_STORAGE },
    { VIR_ERR_NO_STORAGE_VOL, ANY, NULL, KVMIG__CAUSE_TARGET_STORAGE },
    { VIR_ERR_STORAGE_VOL_EXIST, ANY, NULL, KVMIG__CAUSE_TARGET_STORAGE },
    { ANY, ANY, "Cannot access storage file", KVMIG__CAUSE_TARGET_STORAGE },
    { ANY, ANY, "pre-creation of storage targets", KVMIG__CAUSE_TARGET_STORAGE },

    /* getting through to the daemon, and losing it */
    { ANY, ANY, "x509 certificate", KVMIG__CAUSE_TLS },
    { ANY, ANY, "peer's certificate", KVMIG__CAUSE_TLS },
    { ANY, ANY, "TLS certificate", KVMIG__CAUSE_TLS },
    { ANY, ANY, "tls-creds", KVMIG__CAUSE_TLS },
    { ANY, ANY, "TLS handshake", KVMIG__CAUSE_TLS },
    { ANY, ANY, "migration TLS directory", KVMIG__CAUSE_TLS },
    { VIR_ERR_GNUTLS_ERROR, ANY, NULL, KVMIG__CAUSE_TLS },
    { VIR_ERR_AUTH_FAILED, ANY, NULL, KVMIG__CAUSE_ACCESS },
    { VIR_ERR_AUTH_CANCELLED, ANY, NULL, KVMIG__CAUSE_ACCESS },
    { VIR_ERR_AUTH_UNAVAILABLE, ANY, NULL, KVMIG__CAUSE_ACCESS },
    { VIR_ERR_ACCESS_DENIED, ANY, NULL, KVMIG__CAUSE_ACCESS },
    { VIR_ERR_OPERATION_DENIED, ANY, NULL, KVMIG__CAUSE_ACCESS },
    { ANY, ANY, "unable to connect to", KVMIG__CAUSE_CONNECT },
    { ANY, ANY, "Unable to resolve address", KVMIG__CAUSE_CONNECT },
    { ANY, ANY, "address resolution failed", KVMIG__CAUSE_CONNECT },
    { ANY, ANY, "Failed to connect to remote libvirt", KVMIG__CAUSE_CONNECT },
    { ANY, ANY, "resolved to localhost", KVMIG__CAUSE_CONNECT },
    { ANY, ANY, "Failed to connect", KVMIG__CAUSE_CONNECT },
    { ANY, ANY, "Connection refused", KVMIG__CAUSE_CONNECT },
    { ANY, ANY, "No route to host", KVMIG__CAUSE_CONNECT },
    { VIR_ERR_NO_CONNECT, ANY, NULL, KVMIG__CAUSE_CONNECT },
    { VIR_ERR_SSH, ANY, NULL, KVMIG__CAUSE_CONNECT },
    { VIR_ERR_LIBSSH, ANY, NULL, KVMIG__CAUSE_CONNECT },
    { VIR_ERR_INVALID_CONN, ANY, NULL, KVMIG__CAUSE_LINK_LOST },
    { VIR_ERR_INTERNAL_ERROR, VIR_FROM_RPC, NULL, KVMIG__CAUSE_LINK_LOST },
    { VIR_ERR_RPC, ANY, NULL, KVMIG__CAUSE_LINK_LOST },
    { VIR_ERR_SYSTEM_ERROR, VIR_FROM_RPC, NULL, KVMIG__CAUSE_LINK_LOST },
    { ANY, ANY, "End of file while reading data", KVMIG__CAUSE_LINK_LOST },
    { ANY, ANY, "Cannot recv data", KVMIG__CAUSE_LINK_LOST },
    { ANY, ANY, "keepalive timeout", KVMIG__CAUSE_LINK_LOST },
    { ANY, ANY, "client socket is closed", KVMIG__CAUSE_LINK_LOST },

    /* bare codes */
    { VIR_ERR_NO_DOMAIN, ANY, NULL, KVMIG__CAUSE_NO_DOMAIN },
    { VIR_ERR_OPERATION_TIMEOUT, ANY, NULL, KVMIG__CAUSE_BUSY },
    { VIR_ERR_BLOCK_COPY_ACTIVE, ANY, NULL, KVMIG__CAUSE_NOT_MIGRATABLE },
    { VIR_ERR_CONFIG_UNSUPPORTED, ANY, NULL, KVMIG__CAUSE_CONFIG_INCOMPATIBLE },
    { VIR_ERR_ARGUMENT_UNSUPPORTED, ANY, NULL, KVMIG__CAUSE_PEER_TOO_OLD },
    { VIR_ERR_INVALID_ARG, ANY, NULL, KVMIG__CAUSE_PEER_TOO_OLD },
    { VIR_ERR_NO_SUPPORT, ANY, NULL, KVMIG__CAUSE_PEER_TOO_OLD },
    { VIR_ERR_HOOK_SCRIPT_FAILED, ANY, NULL, KVMIG__CAUSE_TARGET_PREPARE },
    { VIR_ERR_NO_SECRET, ANY, NULL, KVMIG__CAUSE_TARGET_PREPARE },
    { ANY, ANY, "process exited while connecting to monitor", KVMIG__CAUSE_TARGET_PREPARE },
};

int32_t kvmig__virt_cause(int code, int domain, const char *text)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(rules); i++) {
        const struct rule *r = &rules[i];
        if (r->code != ANY && r->code != code)
            continue;
        if (r->domain != ANY && r->domain != domain)
            continue;
        if (r->text && (!text || !strstr(text, r->text)))
            continue;
        return r->cause;
    }
    return KVMIG__CAUSE_OTHER;
}

const char *kvmig__virt_cause_name(int32_t cause)
{
    static const char *const names[] = {
#define X(name, hint) #name,
        KVMIG__VIRT_CAUSES(X)
#undef X
    };
    return cause >= 0 && cause < KVMIG__N_CAUSES ? names[cause] : NULL;
}

const char *kvmig__virt_cause_hint(int32_t cause)
{
    static const char *const hints[] = {
#define X(name, hint) hint,
        KVMIG__VIRT_CAUSES(X)
#undef X
    };
    return cause >= 0 && cause < KVMIG__N_CAUSES ? hints[cause] : NULL;
}

/* A copy of [begin, end) without blanks and full stops around it. */
static char *trimmed(const char *begin, const char *end)
{
    while (begin < end && strchr(" .", *begin))
        begin++;
    while (end > begin && strchr(" .\n", end[-1]))
        end--;
    return kvmig__strndup(begin, (size_t)(end - begin));
}

bool kvmig__virt_split_sides(const char *text, char **out_source, char **out_target)
{
    static const char source_mark[] = "Message from the source host:";
    static const char target_mark[] = "Message from the destination host:";
    const char *source = text ? strstr(text, source_mark) : NULL;
    const char *target = source ? strstr(source, target_mark) : NULL;
    if (!target)
        return false;
    *out_source = trimmed(source + sizeof(source_mark) - 1, target);
    *out_target = trimmed(target + sizeof(target_mark) - 1, text + strlen(text));
    return true;
}
