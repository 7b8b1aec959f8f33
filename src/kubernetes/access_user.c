/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the cluster and the user of a kubeconfig say about the access: where the server is and how it proves itself, and who we are.
 * Not the credential plugins (access_exec.c). Reads token files, so it blocks; any thread. The access owns what is taken.
 */
#include "kubernetes/access_internal.h"

#include <errno.h>
#include <stdlib.h>

/* Sets *out to a copy of a member that must fit on a line. */
static struct kvmig_error *take_line(const struct kvmig__entry *entry, const char *key, char **out)
{
    const char *text;
    struct kvmig_error *error = kvmig__entry_text(entry, key, &text);
    char *where;

    if (error || !text)
        return error;
    where = kvmig__entry_where(entry, key);
    error = kvmig__line_check(text, where);
    free(where);
    if (!error)
        kvmig__str_set(out, text);
    return error;
}

/* Inline data, or else a file. */
static struct kvmig_error *take_pem(const struct kvmig__entry *entry, const char *file_key, const char *data_key,
                                    char **out_file, struct kvmig__blob *out)
{
    const char *data, *path = NULL;
    struct kvmig_error *error = kvmig__entry_text(entry, data_key, &data);
    char *where;

    if (!error)
        error = kvmig__entry_text(entry, file_key, &path);
    if (error)
        return error;
    if (data) {
        if (kvmig__base64_decode(data, out) && kvmig__is_pem(out))
            return NULL;
        kvmig__blob_clear(out);
        return kvmig__entry_error(entry, data_key, EINVAL, "Put the base64 of the PEM file there (base64 -w0 FILE).",
                                  "%s is no certificate or key in PEM, encoded in base64", data_key);
    }
    if (!path)
        return NULL;
    *out_file = kvmig__path_in(entry->dir, path);
    where = kvmig__entry_where(entry, file_key);
    error = kvmig__pem_file_check(*out_file, where);
    free(where);
    return error;
}

/* ---- the cluster ---- */

static struct kvmig_error *take_server(struct kvmig__access *access, const struct kvmig__entry *cluster)
{
    const char *server;
    struct kvmig_error *error = kvmig__entry_text(cluster, "server", &server);
    char *where;

    if (error)
        return error;
    if (!server)
        return kvmig__entry_error(cluster, "server", KVMIG_EJSON, "Add the URL of the API server.",
                                  "the cluster has no server");
    where = kvmig__entry_where(cluster, "server");
    error = kvmig__server_url(server, where, &access->server);
    free(where);
    return error;
}

static struct kvmig_error *take_proxy(struct kvmig__access *access, const struct kvmig__entry *cluster)
{
    const char *proxy;
    struct kvmig_error *error = kvmig__entry_text(cluster, "proxy-url", &proxy);
    char *where;

    if (error || !proxy)
        return error;
    where = kvmig__entry_where(cluster, "proxy-url");
    error = kvmig__proxy_url_check(proxy, where);
    free(where);
    if (!error)
        kvmig__secret_set(&access->proxy_url, proxy);
    return error;
}

static struct kvmig_error *take_authority(struct kvmig__access *access, const struct kvmig__entry *cluster)
{
    struct kvmig_error *error = kvmig__entry_bool(cluster, "insecure-skip-tls-verify", &access->insecure);

    if (!error)
        error = take_pem(cluster, "certificate-authority", "certificate-authority-data", &access->ca_file, &access->ca);
    if (!error && access->insecure && (access->ca_file || access->ca.data))
        error = kvmig__entry_error(cluster, "insecure-skip-tls-verify", KVMIG_ECONFLICT, "Remove one of the two.",
                                   "insecure-skip-tls-verify and a certificate-authority exclude each other");
    return error;
}

struct kvmig_error *kvmig__access_take_cluster(struct kvmig__access *access, const struct kvmig__access_source *source,
                                               const struct kvmig__entry *cluster)
{
    struct kvmig_error *error = take_server(access, cluster);

    if (!error && !source->proxy_url)
        error = take_proxy(access, cluster);
    if (!error && !source->ca_file && !source->insecure)
        error = take_authority(access, cluster);
    if (!error && !source->tls_server_name)
        error = take_line(cluster, "tls-server-name", &access->tls_server_name);
    return error;
}

/* ---- the user ---- */

static struct kvmig_error *take_certificate(struct kvmig__access *access, const struct kvmig__entry *user)
{
    struct kvmig_error *error =
        take_pem(user, "client-certificate", "client-certificate-data", &access->cert_file, &access->cert);

    if (!error && (access->cert_file || access->cert.data)) {
        error = take_pem(user, "client-key", "client-key-data", &access->key_file, &access->key);
        if (!error && !access->key_file && !access->key.data)
            error = kvmig__entry_error(user, "client-key", KVMIG_EJSON, "Add client-key or client-key-data.",
                                       "the user has a client certificate without its key");
    }
    return error;
}

/* With both, what the file says is newer; the token serves while the file cannot be read. */
static struct kvmig_error *take_token(struct kvmig__access *access, const struct kvmig__entry *user)
{
    const char *token, *path = NULL;
    struct kvmig_error *error = kvmig__entry_text(user, "token", &token);
    char *where = kvmig__entry_where(user, token ? "token" : "tokenFile");

    if (!error)
        error = kvmig__entry_text(user, "tokenFile", &path);
    if (!error && token) {
        error = kvmig__token_check(token, where);
        kvmig__secret_set(&access->token, token);
    }
    if (!error && path) {
        access->token_file = kvmig__path_in(user->dir, path);
        error = kvmig__token_file_read(access->token_file, where, &access->token);
        if (token) {
            kvmig__error_free(error);
            error = NULL;
        }
    }
    free(where);
    return error;
}

static struct kvmig_error *take_password(struct kvmig__access *access, const struct kvmig__entry *user)
{
    struct kvmig_error *error = take_line(user, "username", &access->basic_user);
    const char *password = NULL;

    if (!error)
        error = kvmig__entry_text(user, "password", &password);
    kvmig__secret_set(&access->basic_password, password);
    return error;
}

static struct kvmig_error *check_provider(const struct kvmig__entry *user)
{
    struct json_object *provider, *name = NULL;
    struct kvmig_error *error = kvmig__entry_get(user, "auth-provider", json_type_object, &provider);

    if (error || !provider)
        return error;
    json_object_object_get_ex(provider, "name", &name);
    return kvmig__entry_error(
        user, "auth-provider", EOPNOTSUPP,
        "Use a credential plugin (exec) instead: gke-gcloud-auth-plugin, kubelogin, or another; "
        "most clouds' tools write a new kubeconfig.",
        "the user's credentials come from auth-provider \"%.60s\"; Kubernetes 1.26 removed these in "
        "favour of credential plugins",
        json_object_is_type(name, json_type_string) ? json_object_get_string(name) : "");
}

struct kvmig_error *kvmig__access_take_credentials(struct kvmig__access *access, const struct kvmig__entry *user)
{
    struct kvmig_error *error = check_provider(user);

    if (!error)
        error = take_certificate(access, user);
    if (!error)
        error = take_token(access, user);
    if (!error)
        error = take_password(access, user);
    if (!error && access->token && (access->basic_user || access->basic_password))
        error = kvmig__entry_error(user, NULL, KVMIG_ECONFLICT, "Remove the username and password.",
                                   "the user has a token and a password, of which only one can be sent");
    if (!error && !access->basic_user && access->basic_password)
        error = kvmig__entry_error(user, "username", KVMIG_EJSON, "Add the username.",
                                   "the user has a password without a username");
    return error;
}

/* ---- impersonation ---- */

static struct kvmig_error *check_groups(const struct kvmig__access *access, const struct kvmig__entry *user)
{
    char *where = kvmig__entry_where(user, "as-groups");
    struct kvmig_error *error = NULL;

    for (size_t i = 0; i < access->impersonate_groups.n && !error; i++)
        error = kvmig__line_check(access->impersonate_groups.v[i], where);
    free(where);
    return error;
}

/* Leaving out a part of an identity would make somebody else of us, so what cannot be sent is an error. */
static struct kvmig_error *check_unknown_parts(const struct kvmig__entry *user)
{
    static const char *const keys[] = { "as-uid", "as-user-extra" };
    struct json_object *value;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(keys); i++) {
        if (json_object_object_get_ex(user->value, keys[i], &value) && value)
            return kvmig__entry_error(user, keys[i], EOPNOTSUPP, "Use as and as-groups alone.", "%s is not supported",
                                      keys[i]);
    }
    return NULL;
}

struct kvmig_error *kvmig__access_take_impersonation(struct kvmig__access *access, const struct kvmig__entry *user)
{
    struct kvmig_error *error = user->value ? check_unknown_parts(user) : NULL;

    if (!error)
        error = take_line(user, "as", &access->impersonate);
    if (!error)
        error = kvmig__entry_texts(user, "as-groups", &access->impersonate_groups);
    if (!error)
        error = check_groups(access, user);
    if (!error && access->impersonate_groups.n && !access->impersonate)
        error = kvmig__entry_error(user, "as-groups", KVMIG_EJSON, "Add as, the user to act as.", "as-groups needs as");
    return error;
}
