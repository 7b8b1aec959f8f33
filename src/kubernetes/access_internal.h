/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Between the files that find out how to reach an API server: the copied options, files and secrets, kubeconfigs, and
 * credential plugins. Any thread, one at a time per object; functions that read files or run programs block.
 *
 * Functions that may fail return an owned error, NULL for success.
 */
#ifndef KVMIG_SRC_ACCESS_INTERNAL_H
#define KVMIG_SRC_ACCESS_INTERNAL_H

#include "base/json_internal.h"
#include "kubernetes/access.h"

#include <stdatomic.h>

/* ---- options (access_source.c); never changed once made ---- */
struct kvmig__access_source {
    _Atomic unsigned refs;
    struct kvmig__strlist kubeconfigs; /* absolute paths; none: there is no place to look at */
    char *context;
    char *server, *ca_file, *cert_file, *key_file, *token, *token_file, *tls_server_name, *proxy_url;
    bool in_cluster, insecure, no_exec;
    char *service_host, *service_port; /* KUBERNETES_SERVICE_HOST and _PORT; NULL = not set */
    char *account_dir; /* the service account's files */
    struct kvmig_token_callback on_token;
};
/* For tests: another folder than /var/run/secrets/kubernetes.io/serviceaccount. Before the first load. */
void kvmig__access_source_set_account_dir(struct kvmig__access_source *source, const char *dir);

/* ---- files and secrets (access_data.c) ---- */
void kvmig__secret_free(char *secret); /* wipes; NULL is ignored */
void kvmig__secret_set(char **secret, const char *value); /* wipes the old one */
void kvmig__blob_clear(struct kvmig__blob *blob);
/* Wipes every string in it and drops the reference. */
void kvmig__json_wipe(struct json_object *object);
/* path, or dir/path unless that is absolute; owned. */
char *kvmig__path_in(const char *dir, const char *path);
/* A regular file of at most max bytes; out->data gets a NUL at its end. where names who wants it. */
struct kvmig_error *kvmig__file_read(const char *path, const char *where, size_t max, struct kvmig__blob *out);
/* A PEM file that somebody else will read: that it can be. */
struct kvmig_error *kvmig__pem_file_check(const char *path, const char *where);
/* A file with a token, without the white space around it. */
struct kvmig_error *kvmig__token_file_read(const char *path, const char *where, char **out_token);
/* A token must fit into a header line. */
struct kvmig_error *kvmig__token_check(const char *token, const char *where);
/* Other text that goes into a header line, or to libcurl: no control characters. */
struct kvmig_error *kvmig__line_check(const char *text, const char *where);
bool kvmig__is_pem(const struct kvmig__blob *blob);
/* An http or https URL with a host, no user, query or fragment; without scheme, https. *out owned, no slash at its end. */
struct kvmig_error *kvmig__server_url(const char *text, const char *where, char **out_url);
/* http, https, socks4, socks4a, socks5 or socks5h. The URL may hold a password and is not told. */
struct kvmig_error *kvmig__proxy_url_check(const char *url, const char *where);

/* ---- base64 (access_base64.c) ---- */
/* False: not base64. Line breaks are ignored. out->data gets a NUL at its end. */
bool kvmig__base64_decode(const char *text, struct kvmig__blob *out);
char *kvmig__base64_encode(const struct kvmig__blob *blob); /* owned */

/* ---- kubeconfigs (kubeconfig.c) ---- */
struct kvmig__kubeconfig; /* one or several files, the first of which wins */
struct kvmig__entry { /* an object in a kubeconfig; borrowed from it, but for label */
    struct json_object *value; /* NULL = there is none */
    const char *name, *path, *dir; /* path of the file, and its folder */
    char *label; /* "user \"admin\"" */
};
struct kvmig__kubeconfig_choice {
    struct kvmig__entry context, cluster, user;
};
struct kvmig_error *kvmig__kubeconfig_read(const struct kvmig__strlist *paths, struct kvmig__kubeconfig **out);
void kvmig__kubeconfig_free(struct kvmig__kubeconfig *config); /* NULL is ignored; wipes */
/* name NULL: the current context. Clear the choice in any case. */
struct kvmig_error *kvmig__kubeconfig_choose(const struct kvmig__kubeconfig *config, const char *name,
                                             struct kvmig__kubeconfig_choice *choice);
void kvmig__kubeconfig_choice_clear(struct kvmig__kubeconfig_choice *choice);

/* ---- members of an entry (kubeconfig_entry.c); absent, null and "" are the same ---- */
void kvmig__entry_clear(struct kvmig__entry *entry);
char *kvmig__entry_where(const struct kvmig__entry *entry, const char *key); /* "FILE: user "x": KEY"; owned */
struct kvmig_error *kvmig__entry_error(const struct kvmig__entry *entry, const char *key, int32_t code,
                                       const char *hint, const char *fmt, ...) KVMIG__PRINTF(5, 6);
struct kvmig_error *kvmig__entry_text(const struct kvmig__entry *entry, const char *key, const char **out);
struct kvmig_error *kvmig__entry_bool(const struct kvmig__entry *entry, const char *key, bool *out);
struct kvmig_error *kvmig__entry_texts(const struct kvmig__entry *entry, const char *key, struct kvmig__strlist *out);
/* NULL in *out if it is not there; type says what it must be. */
struct kvmig_error *kvmig__entry_get(const struct kvmig__entry *entry, const char *key, enum json_type type,
                                     struct json_object **out);

/* ---- what entries say about the access (access_user.c) ---- */
/* But for what the source's options say themselves. */
struct kvmig_error *kvmig__access_take_cluster(struct kvmig__access *access, const struct kvmig__access_source *source,
                                               const struct kvmig__entry *cluster);
struct kvmig_error *kvmig__access_take_credentials(struct kvmig__access *access, const struct kvmig__entry *user);
struct kvmig_error *kvmig__access_take_impersonation(struct kvmig__access *access, const struct kvmig__entry *user);

/* ---- credential plugins (access_exec.c) ---- */
/* Whether the user's credentials come from a plugin. */
bool kvmig__access_wants_plugin(const struct kvmig__access *access, const struct kvmig__entry *user);
/* Runs it and takes what it says. access has the cluster's part already. */
struct kvmig_error *kvmig__access_run_plugin(struct kvmig__access *access, const struct kvmig__entry *cluster,
                                             const struct kvmig__entry *user, int64_t timeout_ms);

/* ---- running a program (access_run.c) ---- */
struct kvmig__run {
    const char *path; /* absolute */
    char *const *argv, *const *envp;
    int64_t timeout_ms;
    size_t max_output;
    /* results; kvmig__run_clear() */
    struct kvmig__blob output; /* with a NUL at its end */
    char *last_words; /* the last lines of its standard error, printable; NULL = none */
};
/* where names who wants it. An exit status other than 0, a signal, too much output and the time-out are errors. */
struct kvmig_error *kvmig__run_program(struct kvmig__run *run, const char *where, const char *hint);
void kvmig__run_clear(struct kvmig__run *run); /* wipes */

#endif
