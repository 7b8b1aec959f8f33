/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is said of requests, hosts, TLS, post-copy and jobs. Sources: libvirt's qemu_migration.c, virnettlscontext.c, qemu_domainjob.c,
 * QEMU's crypto/tlscreds*.c, io/channel-tls.c, migration/postcopy-ram.c. Pure.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

#define NEAR 400 /* characters of one line */

static bool host_name(struct kvmig__match *match)
{
    char *name = kvmig__words_word(match->after, match->end);

    if (!name)
        return false;
    kvmig__detail_str(&match->detail, "name", name);
    free(name);
    return true;
}

static bool path(struct kvmig__match *match)
{
    const char *begin = match->after, *stop;
    char *text;

    while (begin < match->end && *begin != '/' && *begin != '\n')
        begin++;
    stop = begin;
    while (stop < match->end && !strchr(" :'\"\n", *stop))
        stop++;
    text = kvmig__strndup(begin, (size_t)(stop - begin));
    kvmig__detail_str(&match->detail, "path", text);
    free(text);
    return true;
}

/* Whatever stands around it: VIR_MIGRATE_... names of the statement. */
static bool flags(struct kvmig__match *match)
{
    struct kvmig__strlist names = { 0 };
    const char *at = match->at, *end = match->end;

    while (at > match->said->text && at[-1] != '\n' && match->at - at < 300)
        at--;
    if (end - at > 800)
        end = at + 800;
    while ((at = kvmig__words_find(at, end, "VIR_MIGRATE_", NULL))) {
        char *name = kvmig__words_word(at, end);

        kvmig__strlist_add_new(&names, name);
        at += strlen(name);
        free(name);
    }
    if (names.n)
        kvmig__detail_list(&match->detail, "flags", &names);
    kvmig__strlist_clear(&names);
    return true;
}

/* "(held by monitor=remoteDispatchDomainMigrateFinish3Params)": only Prepare and Finish keep the target, and Prepare must while memory
 * is copied. */
static bool lock_holder(struct kvmig__match *match)
{
    const char *after;
    char *holder =
        kvmig__words_find(match->after, match->end, "held by ", &after) ? kvmig__words_word(after, match->end) : NULL;
    const bool keeps = holder && (strstr(holder, "MigrateFinish") ||
                                  (strstr(holder, "MigratePrepare") && kvmig__case_job(match->c) <= 0));

    if (keeps)
        kvmig__detail_str(&match->detail, "holder", holder);
    free(holder);
    return keeps;
}

/* A name there is another fact: hosts that are called the same. */
static bool uuid(struct kvmig__match *match)
{
    char *text = kvmig__words_word(match->after, match->end);
    const bool is = text && kvmig__is_uuid(text);

    if (is)
        kvmig__detail_str(&match->detail, "uuid", text);
    free(text);
    return is;
}

/* "x509: certificate is valid for a, b, not c" */
static bool go_name(struct kvmig__match *match)
{
    const char *stop = memchr(match->after, '\n', (size_t)(match->end - match->after)), *after;
    char *name = kvmig__words_find(match->after, stop ? stop : match->end, ", not ", &after)
                     ? kvmig__words_word(after, match->end)
                     : NULL;

    kvmig__detail_str(&match->detail, "name", name);
    free(name);
    return match->detail.n && strstr(match->detail.text, "null") == NULL;
}

/* "open /etc/virt-handler/clientcertificates/tls.crt: no such file or directory" */
static bool go_path(struct kvmig__match *match)
{
    const char *begin = match->at;
    char *text;

    while (begin > match->said->text && !strchr(" '\"\n", begin[-1]))
        begin--;
    text = kvmig__words_until(begin, match->end, ": \n");
    kvmig__detail_str(&match->detail, "path", text);
    free(text);
    return true;
}

/* "The server certificate /etc/pki/libvirt/servercert.pem has expired" */
static bool of_certificate(struct kvmig__match *match)
{
    const char *begin = match->at;

    while (begin > match->said->text && begin[-1] != '\n' && match->at - begin < NEAR)
        begin--;
    return kvmig__words_find(begin, match->at, "certificate", NULL) != NULL;
}

/* "domain 'vm1' already exists with uuid ..." */
static bool existing(struct kvmig__match *match)
{
    char *text = kvmig__words_word(match->after, match->end);

    kvmig__detail_str(&match->detail, "uuid", text);
    free(text);
    return true;
}

static bool is_about_flags(struct kvmig__match *match)
{
    const char *begin = match->at > match->said->text + 300 ? match->at - 300 : match->said->text;
    const char *end = match->end - match->after > 300 ? match->after + 300 : match->end;

    return kvmig__words_find(begin, end, "VIR_MIGRATE_", NULL) && flags(match);
}

#define E KVMIG_SEVERITY_ERROR
#define NO_FILE "A file that TLS needs is not there, or cannot be read."
#define NO_FILE_HINT "Put key, certificate and CA where the configuration says, readable for QEMU and the daemon."
#define NAME_HINT "Dial the target by a name that its certificate holds, or give it a certificate with that name."

const struct kvmig__text_rule kvmig__texts_request[] = {
    { "requires use of", NULL, "INVALID_FLAGS", E, "request", is_about_flags,
      "The request combines flags that libvirt refuses.", "Set the flags that the message names together." },
    { "are mutually exclusive", NULL, "INVALID_FLAGS", E, "request", is_about_flags,
      "The request combines flags that libvirt refuses.", "Drop one of them." },
    { "Attempt to migrate guest to the same host ", NULL, "DUPLICATE_HOST_UUID", E, NULL, uuid,
      "Both hosts report one UUID, so libvirt takes this for a migration to itself.",
      "Give each host its own host_uuid in libvirtd.conf." },
    { "owner does not match the hostname ", NULL, "TLS_HOSTNAME_MISMATCH", E, NULL, host_name,
      "The name that was dialled is not in the peer's certificate.", NAME_HINT },
    { "Certificate does not match the hostname ", NULL, "TLS_HOSTNAME_MISMATCH", E, NULL, host_name,
      "The name that was dialled is not in the peer's certificate.", NAME_HINT },
    { "x509: certificate is valid for ", ", not ", "TLS_HOSTNAME_MISMATCH", E, NULL, go_name,
      "The name that was dialled is not in the peer's certificate.", NAME_HINT },
    { "not valid for any names, but wanted to match ", NULL, "TLS_HOSTNAME_MISMATCH", E, NULL, host_name,
      "The name that was dialled is not in the peer's certificate.", NAME_HINT },
    { "x509: cannot validate certificate for ", "IP SANs", "TLS_HOSTNAME_MISMATCH", E, NULL, host_name,
      "The address that was dialled is not in the peer's certificate.", NAME_HINT },
    { "Unable to access credentials ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path, NO_FILE, NO_FILE_HINT },
    { "Cannot read CA certificate ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path, NO_FILE, NO_FILE_HINT },
    { "Cannot read certificate ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path, NO_FILE, NO_FILE_HINT },
    { "Cannot read private key ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path, NO_FILE, NO_FILE_HINT },
    { "Unable to set x509 CA certificate: ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path, NO_FILE, NO_FILE_HINT },
    { "Unable to set x509 key and certificate: ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path, NO_FILE,
      NO_FILE_HINT },
    { "Unable to load certificate ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path, NO_FILE, NO_FILE_HINT },
    { "Unable to import server certificate ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path, NO_FILE, NO_FILE_HINT },
    { "Unable to import client certificate ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path, NO_FILE, NO_FILE_HINT },
    { "Unable to import CA certificate ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path, NO_FILE, NO_FILE_HINT },
    { "tls.crt: no such file or directory", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, go_path, NO_FILE, NO_FILE_HINT },
    { "tls.key: no such file or directory", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, go_path, NO_FILE, NO_FILE_HINT },
    { "ca.crt: no such file or directory", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, go_path, NO_FILE, NO_FILE_HINT },
    { "host migration TLS directory not configured", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, NULL, NO_FILE,
      NO_FILE_HINT },
    { "No TLS credentials with id ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, NULL, NO_FILE, NO_FILE_HINT },
    { "has expired", NULL, "TLS_CERTIFICATE_EXPIRED", E, NULL, of_certificate, "A certificate has expired.",
      "Renew it, and see whether the clocks of both hosts agree." },
    { "is not yet active", NULL, "TLS_CERTIFICATE_NOT_YET_VALID", E, NULL, of_certificate,
      "A certificate is not valid yet.", "See whether the clocks of both hosts agree." },
    { "write to TLS channel", NULL, "TLS_CHANNEL_ERROR", E, NULL, NULL, "The TLS channel broke.",
      "This is usually a consequence: look for the cause on the other side." },
    { "read from TLS channel", NULL, "TLS_CHANNEL_ERROR", E, NULL, NULL, "The TLS channel broke.",
      "This is usually a consequence: look for the cause on the other side." },
    { "TLS handshake failed", NULL, "TLS_CHANNEL_ERROR", E, NULL, NULL, "The TLS handshake failed.",
      "Look for the cause on the other side." },
    { "TLS connection was non-properly terminated", NULL, "TLS_CHANNEL_ERROR", E, NULL, NULL, "The TLS channel broke.",
      "This is usually a consequence: look for the cause on the other side." },
    { "Failed to verify peer's certificate", NULL, "TLS_CHANNEL_ERROR", E, NULL, NULL,
      "The peer's certificate was not accepted.",
      "The daemon's log says why: names, dates, or an authority that is not known. Do not disable the check." },
    { "remote error: tls: ", NULL, "TLS_CHANNEL_ERROR", E, NULL, NULL, "The peer refused the TLS connection.",
      "Look for the cause on the other side." },
    { "x509: certificate signed by unknown authority", NULL, "TLS_CHANNEL_ERROR", E, NULL, NULL,
      "The peer's certificate is of an authority that is not known.", "Give both sides the same authority." },
    { "Userfaultfd not available", NULL, "POSTCOPY_UNSUPPORTED", E, "target", NULL,
      "The target cannot do post-copy: userfaultfd is not to be had.", "Allow userfaultfd on the target." },
    { "userfault hugetlb support missing", NULL, "POSTCOPY_UNSUPPORTED", E, "target", NULL,
      "The target cannot do post-copy with huge pages.", "Migrate without post-copy, or choose another target." },
    { "Postcopy needs matching RAM page sizes", NULL, "POSTCOPY_UNSUPPORTED", E, "target", NULL,
      "Post-copy needs pages of one size on both sides.", "Give the guest the same memory backing on both hosts." },
    { "post-copy migration is not supported", NULL, "POSTCOPY_UNSUPPORTED", E, "target", NULL,
      "The target cannot do post-copy.", "Migrate without post-copy, or choose another target." },
    { "Postcopy is not supported", NULL, "POSTCOPY_UNSUPPORTED", E, "target", NULL, "The target cannot do post-copy.",
      "Migrate without post-copy, or choose another target." },
    { "another migration job is already running", NULL, "MIGRATION_IN_PROGRESS", E, NULL, NULL,
      "Another migration of this VM is under way.", "Wait for it to end." },
    { "already exists with uuid ", NULL, "DOMAIN_EXISTS_ON_TARGET", E, NULL, existing,
      "The target has a domain of that name, and it is not this VM.", "Find out whose it is, and rename one of them." },
    { "is already defined with uuid ", NULL, "DOMAIN_EXISTS_ON_TARGET", E, NULL, existing,
      "The target has a domain of that name, and it is not this VM.", "Find out whose it is, and rename one of them." },
    { "cannot acquire state change lock", "held by", "STUCK_FINISH", E, "target", lock_holder,
      "The target still works on the migration's last call and keeps the domain locked; its outcome is not decided.",
      "Look at both sides before anything is done; do not start the source's copy." },
    { .pattern = NULL },
};
