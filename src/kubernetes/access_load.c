/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loading: from a kubeconfig, a pod's service account, or options alone, to a server and credentials. Everything is read anew each
 * time, so that renewing is loading again. Blocks (files, the caller's token callback, a credential plugin): runs on a lane. The
 * source is only read; the caller owns the access.
 */
#include "kubernetes/access_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMESPACE 4096

/* Whether the options bring an identity of their own: it takes the place of the kubeconfig's or the pod's. */
static bool has_identity(const struct kvmig__access_source *source)
{
    return source->on_token.fn || source->token || source->token_file || source->cert_file;
}

/* ---- a pod's service account ---- */

static struct kvmig_error *take_pod_server(struct kvmig__access *access, const struct kvmig__access_source *source)
{
    const bool is_ipv6 = source->service_host && strchr(source->service_host, ':') && *source->service_host != '[';
    struct kvmig_error *error;
    char *url;

    if (!source->service_host || !source->service_port)
        return kvmig__error_new(ENOENT, "KVMIG_KUBE_IN_CLUSTER", NULL,
                                "Run it in a pod, or leave the flag out and name a kubeconfig.",
                                "this is no pod of Kubernetes: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are "
                                "not set");
    url = kvmig__asprintf("https://%s%s%s:%s", is_ipv6 ? "[" : "", source->service_host, is_ipv6 ? "]" : "",
                          source->service_port);
    error = kvmig__server_url(url, "KUBERNETES_SERVICE_HOST", &access->server);
    free(url);
    return error;
}

/* It is only a default, so a pod without the file is fine. */
static void take_pod_namespace(struct kvmig__access *access, const char *dir)
{
    char *path = kvmig__path_in(dir, "namespace");
    struct kvmig__blob text = { 0 };
    struct kvmig_error *error = kvmig__file_read(path, "KVMIG_KUBE_IN_CLUSTER", MAX_NAMESPACE, &text);

    if (!error)
        text.data[strcspn(text.data, " \t\r\n")] = '\0';
    if (!error && *text.data && !(error = kvmig__line_check(text.data, path)))
        access->ns = kvmig__strdup(text.data);
    kvmig__error_free(error);
    kvmig__blob_clear(&text);
    free(path);
}

static struct kvmig_error *load_pod(struct kvmig__access *access, const struct kvmig__access_source *source)
{
    static const char where[] = "KVMIG_KUBE_IN_CLUSTER";
    struct kvmig_error *error = take_pod_server(access, source);

    if (!error && !source->ca_file && !source->insecure) {
        access->ca_file = kvmig__path_in(source->account_dir, "ca.crt");
        error = kvmig__pem_file_check(access->ca_file, where);
    }
    if (!error && !has_identity(source)) {
        access->user_name = kvmig__strdup("the pod's service account");
        access->token_file = kvmig__path_in(source->account_dir, "token");
        error = kvmig__token_file_read(access->token_file, where, &access->token);
    }
    if (!error)
        take_pod_namespace(access, source->account_dir);
    return error;
}

/* ---- what the options say themselves; they win ---- */

static struct kvmig_error *take_server_options(struct kvmig__access *access, const struct kvmig__access_source *source)
{
    if (source->server)
        kvmig__str_set(&access->server, source->server);
    if (source->tls_server_name)
        kvmig__str_set(&access->tls_server_name, source->tls_server_name);
    if (source->proxy_url)
        kvmig__secret_set(&access->proxy_url, source->proxy_url);
    if (source->insecure)
        access->insecure = true;
    if (source->ca_file)
        kvmig__str_set(&access->ca_file, source->ca_file);
    return source->ca_file ? kvmig__pem_file_check(source->ca_file, "ca_file") : NULL;
}

static struct kvmig_error *call_back(struct kvmig__access *access, const struct kvmig_token_callback *on_token)
{
    access->token = on_token->fn(on_token->user_data);
    if (!access->token)
        return kvmig__error_new(EACCES, "on_token", NULL, "Have the callback get a token, and try again.",
                                "the token callback has no token");
    return kvmig__token_check(access->token, "on_token");
}

static struct kvmig_error *take_identity(struct kvmig__access *access, const struct kvmig__access_source *source)
{
    struct kvmig_error *error = NULL;

    if (source->cert_file) {
        kvmig__str_set(&access->cert_file, source->cert_file);
        kvmig__str_set(&access->key_file, source->key_file);
        error = kvmig__pem_file_check(source->cert_file, "client_cert_file");
        if (!error)
            error = kvmig__pem_file_check(source->key_file, "client_key_file");
    }
    if (error)
        return error;
    if (source->on_token.fn)
        return call_back(access, &source->on_token);
    if (source->token)
        kvmig__secret_set(&access->token, source->token);
    if (!source->token_file)
        return NULL;
    kvmig__str_set(&access->token_file, source->token_file);
    return kvmig__token_file_read(source->token_file, "token_file", &access->token);
}

/* ---- a kubeconfig ---- */

static struct kvmig_error *take_user(struct kvmig__access *access, const struct kvmig__access_source *source,
                                     const struct kvmig__kubeconfig_choice *choice, int64_t timeout_ms)
{
    const struct kvmig__entry *user = &choice->user;
    struct kvmig_error *error;

    if (!user->path)
        return has_identity(source)
                   ? NULL
                   : kvmig__entry_error(&choice->context, "user", KVMIG_EJSON,
                                        "Name the user in the context, or give a token.", "the context has no user");
    access->user_name = kvmig__strdup(user->name);
    error = kvmig__access_take_impersonation(access, user);
    if (error || has_identity(source))
        return error;
    error = kvmig__access_take_credentials(access, user);
    if (error || !kvmig__access_wants_plugin(access, user))
        return error;
    access->has_plugin = true;
    if (source->no_exec)
        return kvmig__entry_error(user, "exec", EPERM,
                                  "Allow credential plugins, or give a token or a client certificate.",
                                  "the user's credentials come from a program, and programs may not be run");
    return kvmig__access_run_plugin(access, &choice->cluster, user, timeout_ms);
}

static struct kvmig_error *take_namespace(struct kvmig__access *access, const struct kvmig__entry *context)
{
    const char *text;
    struct kvmig_error *error = kvmig__entry_text(context, "namespace", &text);

    if (!error && text)
        access->ns = kvmig__strdup(text);
    return error;
}

static struct kvmig_error *load_choice(struct kvmig__access *access, const struct kvmig__access_source *source,
                                       const struct kvmig__kubeconfig_choice *choice, int64_t timeout_ms)
{
    struct kvmig_error *error = take_namespace(access, &choice->context);

    access->context = kvmig__strdup(choice->context.name);
    if (!error)
        error = kvmig__access_take_cluster(access, source, &choice->cluster);
    if (!error)
        error = take_server_options(access, source); /* before a plugin is told about the cluster */
    if (!error)
        error = take_user(access, source, choice, timeout_ms);
    return error;
}

static struct kvmig_error *load_kubeconfig(struct kvmig__access *access, const struct kvmig__access_source *source,
                                           int64_t timeout_ms)
{
    struct kvmig__kubeconfig_choice choice = { 0 };
    struct kvmig__kubeconfig *config = NULL;
    struct kvmig_error *error = kvmig__kubeconfig_read(&source->kubeconfigs, &config);

    if (!error)
        error = kvmig__kubeconfig_choose(config, source->context, &choice);
    if (!error)
        error = load_choice(access, source, &choice, timeout_ms);
    kvmig__kubeconfig_choice_clear(&choice);
    kvmig__kubeconfig_free(config);
    return error;
}

/* ---- loading ---- */

struct kvmig__access *kvmig__access_load(struct kvmig__access_source *source, int64_t timeout_ms,
                                         struct kvmig_error **out_error)
{
    struct kvmig__access *access = kvmig__calloc(1, sizeof(*access));
    struct kvmig_error *error = NULL;

    if (source->in_cluster)
        error = load_pod(access, source);
    else if (!source->server)
        error = load_kubeconfig(access, source, timeout_ms);
    if (!error && (source->in_cluster || source->server))
        error = take_server_options(access, source);
    if (!error && has_identity(source))
        error = take_identity(access, source);
    *out_error = error;
    if (!error)
        return access;
    kvmig__access_free(access);
    return NULL;
}

struct kvmig__access *kvmig__access_renew(struct kvmig__access_source *source, int64_t timeout_ms,
                                          struct kvmig_error **out_error)
{
    return kvmig__access_load(source, timeout_ms, out_error);
}
