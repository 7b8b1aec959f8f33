/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is said of requests, hosts, TLS, post-copy and jobs. Sources: libvirt's qemu_migration.c, virnettlscontext.c, qemu_domainjob.c,
 * QEMU's crypto/tlscreds*.c, io/channel-tls.c, migration/postcopy-ram.c. Pure.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

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

/* "(held by monitor=remoteDispatchDomainMigrateFinish3Params)": only Prepare and Finish keep the target. */
static bool lock_holder(struct kvmig__match *match)
{
    const char *after;
    char *holder =
        kvmig__words_find(match->after, match->end, "held by ", &after) ? kvmig__words_word(after, match->end) : NULL;
    const bool keeps = holder && (strstr(holder, "MigrateFinish") || strstr(holder, "MigratePrepare"));

    if (keeps)
        kvmig__detail_str(&match->detail, "holder", holder);
    free(holder);
    return keeps;
}

static bool uuid(struct kvmig__match *match)
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
    { "Unable to access credentials ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path,
      "A file that TLS needs is not there.",
      "Put key, certificate and CA where the configuration says, readable for QEMU." },
    { "Cannot read CA certificate ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path,
      "A file that TLS needs is not there.", "Put key, certificate and CA where the configuration says." },
    { "Cannot read certificate ", NULL, "TLS_CREDENTIALS_MISSING", E, NULL, path, "A file that TLS needs is not there.",
      "Put key, certificate and CA where the configuration says." },
    { "write to TLS channel", NULL, "TLS_CHANNEL_ERROR", E, NULL, NULL, "The TLS channel broke.",
      "This is usually a consequence: look for the cause on the other side." },
    { "read from TLS channel", NULL, "TLS_CHANNEL_ERROR", E, NULL, NULL, "The TLS channel broke.",
      "This is usually a consequence: look for the cause on the other side." },
    { "TLS handshake failed", NULL, "TLS_CHANNEL_ERROR", E, NULL, NULL, "The TLS handshake failed.",
      "Look for the cause on the other side." },
    { "Userfaultfd not available", NULL, "POSTCOPY_UNSUPPORTED", E, "target", NULL,
      "The target cannot do post-copy: userfaultfd is not to be had.", "Allow userfaultfd on the target." },
    { "Postcopy is not supported", NULL, "POSTCOPY_UNSUPPORTED", E, "target", NULL, "The target cannot do post-copy.",
      "Migrate without post-copy, or choose another target." },
    { "cannot acquire state change lock", "held by", "STUCK_FINISH", E, "target", lock_holder,
      "The target still works on the migration's last call and keeps the domain locked; its outcome is not decided.",
      "Look at both sides before anything is done; do not start the source's copy." },
    { .pattern = NULL },
};
