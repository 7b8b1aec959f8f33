/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How to reach an API server, and as whom: from a kubeconfig, the service account of a pod, or the caller's options. Reading
 * files and running credential plugins blocks, so kvmig__access_load() and kvmig__access_credentials() run on a lane. Nothing here
 * is written to a log or an error but names and paths: never a token, key or certificate.
 */
#ifndef KVMIG_SRC_ACCESS_H
#define KVMIG_SRC_ACCESS_H

#include "base/base.h"
#include <kvmig/kube.h>

struct kvmig__access_source; /* the caller's options, copied; owns the token callback */

/* Validates and copies. *out owned. Errors name the option. The token callback is taken only on success. */
int32_t kvmig__access_source_new(const struct kvmig_kube_opts *opts, const char *where,
                                 struct kvmig__access_source **out);
/* One reference less; the last one runs the token callback's free (any thread, no lock held). */
void kvmig__access_source_unref(struct kvmig__access_source *source);
struct kvmig__access_source *kvmig__access_source_ref(struct kvmig__access_source *source);

struct kvmig__blob { /* PEM data that came inline; wiped before it is freed */
    char *data;
    size_t length;
};
/* The result of loading: everything resolved, relative paths made absolute against the kubeconfig's folder. */
struct kvmig__access {
    char *server; /* URL without a trailing slash; may have a path */
    char *ns; /* of the context; NULL = none given */
    char *user_name, *context; /* for people */
    char *ca_file, *cert_file, *key_file;
    struct kvmig__blob ca, cert, key; /* inline data wins over files */
    char *tls_server_name, *proxy_url;
    bool insecure;
    char *token; /* NULL = none; wiped before it is freed */
    char *token_file;
    char *basic_user, *basic_password; /* deprecated, still met */
    char *impersonate;
    struct kvmig__strlist impersonate_groups;
    int64_t token_expires_ms; /* since 1970: of a plugin's token; 0 = not known */
    bool has_plugin; /* an exec plugin gives credentials */
};
void kvmig__access_free(struct kvmig__access *access); /* NULL is ignored; wipes secrets */

/* Loads. Blocks (files, a credential plugin, the caller's token callback). NULL with *out_error set (owned): names the file and
 * what in it, and how to mend it. timeout_ms bounds a plugin. */
struct kvmig__access *kvmig__access_load(struct kvmig__access_source *source, int64_t timeout_ms,
                                         struct kvmig_error **out_error);
/* Credentials again, because the server refused them or they expire: reads token files and certificate files anew, runs the
 * plugin or the callback again. Returns a whole new access. Blocks. */
struct kvmig__access *kvmig__access_renew(struct kvmig__access_source *source, int64_t timeout_ms,
                                          struct kvmig_error **out_error);

#endif
