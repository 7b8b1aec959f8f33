/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options that say how to reach a Kubernetes cluster: judges them, copies them, and fixes what depends on the process's
 * environment and folder at that time (relative paths, KUBECONFIG, HOME, the variables of a pod). Reads no file. Any thread; a
 * source never changes once it is made, and is shared by reference counts.
 */
#include "kubernetes/access_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define KNOWN_FLAGS ((uint64_t)(KVMIG_KUBE_IN_CLUSTER | KVMIG_KUBE_INSECURE | KVMIG_KUBE_NO_EXEC))
#define LONGEST_MS (24 * 3600 * 1000)
#define LARGEST_PAGE 100000
#define LONGEST_LABEL 63
#define LONGEST_NAME 253

int32_t kvmig_kube_opts_init(struct kvmig_kube_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_kube_opts_init");
}

/* ---- what is wrong ---- */

static struct kvmig_error *bad(int32_t code, const char *where, const char *option, const char *hint,
                               const char *message)
{
    char *full = kvmig__asprintf("%s.%s", where, option);
    struct kvmig_error *error = kvmig__error_new(code, full, NULL, hint, "%s", message);

    free(full);
    return error;
}

static struct kvmig_error *exclude(const char *where, const char *one, const char *other, const char *why)
{
    char *message = kvmig__asprintf("%s and %s exclude each other: %s", one, other, why);
    struct kvmig_error *error = bad(KVMIG_ECONFLICT, where, one, "Leave one of the two out.", message);

    free(message);
    return error;
}

static struct kvmig_error *check_texts(const struct kvmig_kube_opts *opts, const char *where)
{
    const struct {
        const char *name, *text;
    } texts[] = {
        { "kubeconfig", opts->kubeconfig },
        { "context", opts->context },
        { "server", opts->server },
        { "ca_file", opts->ca_file },
        { "client_cert_file", opts->client_cert_file },
        { "client_key_file", opts->client_key_file },
        { "token", opts->token },
        { "token_file", opts->token_file },
        { "tls_server_name", opts->tls_server_name },
        { "proxy_url", opts->proxy_url },
        { "namespace_", opts->namespace_ },
        { "vm", opts->vm },
    };
    struct kvmig_error *error = NULL;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts) && !error; i++) {
        if (texts[i].text && !*texts[i].text)
            error = bad(EINVAL, where, texts[i].name, "Leave it NULL for the default.", "the option is empty");
    }
    return error;
}

static struct kvmig_error *check_numbers(const struct kvmig_kube_opts *opts, const char *where)
{
    if (opts->flags & ~KNOWN_FLAGS)
        return bad(EINVAL, where, "flags", "Use members of enum kvmig_kube_flags.", "a flag is not known");
    if (opts->reserved)
        return bad(EINVAL, where, "reserved", "Set it to 0.", "a reserved member is set");
    if (opts->page_size > LARGEST_PAGE)
        return bad(EINVAL, where, "page_size", "Use 0 for the default, or some hundreds.", "the pages are too large");
    if (opts->request_timeout_ms > LONGEST_MS)
        return bad(EINVAL, where, "request_timeout_ms", "Milliseconds, at most one day.", "the time-out is too long");
    if (opts->watch_idle_ms > LONGEST_MS)
        return bad(EINVAL, where, "watch_idle_ms", "Milliseconds, at most one day.", "the time-out is too long");
    return NULL;
}

/* Options that would be ignored silently are mistakes. */
static struct kvmig_error *check_conflicts(const struct kvmig_kube_opts *opts, const char *where)
{
    const bool in_cluster = opts->flags & KVMIG_KUBE_IN_CLUSTER;

    if (in_cluster && opts->server)
        return exclude(where, "server", "KVMIG_KUBE_IN_CLUSTER", "a pod is told where its server is");
    if (in_cluster && (opts->kubeconfig || opts->context))
        return exclude(where, opts->kubeconfig ? "kubeconfig" : "context", "KVMIG_KUBE_IN_CLUSTER",
                       "no kubeconfig is read in a pod");
    if (opts->server && (opts->kubeconfig || opts->context))
        return exclude(where, opts->kubeconfig ? "kubeconfig" : "context", "server",
                       "with a server, no kubeconfig is read");
    if (opts->ca_file && (opts->flags & KVMIG_KUBE_INSECURE))
        return exclude(where, "ca_file", "KVMIG_KUBE_INSECURE", "the server is verified, or it is not");
    if (opts->token && opts->token_file && !opts->on_token.fn)
        return exclude(where, "token", "token_file", "only one token can be sent");
    if (!opts->client_cert_file != !opts->client_key_file)
        return bad(EINVAL, where, opts->client_cert_file ? "client_key_file" : "client_cert_file",
                   "Give both; they may be the same file.", "a certificate and its key belong together");
    return NULL;
}

/* As Kubernetes names things: a label, or labels joined by dots. */
static bool is_name(const char *text, size_t length, bool with_dots)
{
    size_t label = 0;

    if (length == 0 || length > (with_dots ? LONGEST_NAME : LONGEST_LABEL))
        return false;
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        const bool is_end = i == 0 || i + 1 == length || text[i - 1] == '.' || text[i + 1] == '.';

        if (c == '.' ? !with_dots || label == 0
                     : !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && (c != '-' || is_end))
            return false;
        label = c == '.' ? 0 : label + 1;
    }
    return label > 0;
}

static struct kvmig_error *check_scope(const struct kvmig_kube_opts *opts, const char *where)
{
    const char *slash = opts->vm ? strchr(opts->vm, '/') : NULL;
    const char *vm = slash ? slash + 1 : opts->vm;

    if (opts->namespace_ && !is_name(opts->namespace_, strlen(opts->namespace_), false))
        return bad(EINVAL, where, "namespace_", "Small letters, digits and '-', at most 63.",
                   "no namespace can have that name");
    if (vm && (!is_name(vm, strlen(vm), true) || (slash && !is_name(opts->vm, (size_t)(slash - opts->vm), false))))
        return bad(EINVAL, where, "vm", "Use NAMESPACE/NAME, or NAME.", "no VM can have that name");
    if (slash && opts->namespace_ &&
        (strncmp(opts->vm, opts->namespace_, (size_t)(slash - opts->vm)) != 0 ||
         strlen(opts->namespace_) != (size_t)(slash - opts->vm)))
        return exclude(where, "vm", "namespace_", "the VM is in another namespace");
    return NULL;
}

/* *out: the URL of the server, if there is one. */
static struct kvmig_error *check_values(const struct kvmig_kube_opts *opts, const char *where, char **out_server)
{
    struct kvmig_error *error = NULL;
    char *full = kvmig__asprintf("%s.%s", where, "server");

    if (opts->server)
        error = kvmig__server_url(opts->server, full, out_server);
    if (!error && opts->proxy_url) {
        kvmig__str_set(&full, NULL);
        full = kvmig__asprintf("%s.%s", where, "proxy_url");
        error = kvmig__proxy_url_check(opts->proxy_url, full);
    }
    if (!error && opts->tls_server_name) {
        kvmig__str_set(&full, NULL);
        full = kvmig__asprintf("%s.%s", where, "tls_server_name");
        error = kvmig__line_check(opts->tls_server_name, full);
    }
    if (!error && opts->token) {
        kvmig__str_set(&full, NULL);
        full = kvmig__asprintf("%s.%s", where, "token");
        error = kvmig__token_check(opts->token, full);
    }
    free(full);
    return error;
}

static struct kvmig_error *check(const struct kvmig_kube_opts *opts, const char *where, char **out_server)
{
    struct kvmig_error *error = check_texts(opts, where);

    if (!error)
        error = check_numbers(opts, where);
    if (!error)
        error = check_conflicts(opts, where);
    if (!error)
        error = check_scope(opts, where);
    if (!error)
        error = check_values(opts, where, out_server);
    return error;
}

/* ---- life ---- */

/* A program that has more rights than its user takes no orders from the user's environment. */
static const char *environment(const char *name)
{
    const char *value = secure_getenv(name);

    return value && *value ? value : NULL;
}

/* What is joined by ':'; each once. */
static void add_paths(struct kvmig__strlist *out, const char *joined, const char *folder)
{
    for (const char *part = joined; *part;) {
        const size_t n = strcspn(part, ":");
        char *text = kvmig__strndup(part, n), *path = kvmig__path_in(folder, text);

        if (n > 0)
            kvmig__strlist_add_new(out, path);
        free(path);
        free(text);
        part += n + (part[n] == ':');
    }
}

static void find_kubeconfigs(struct kvmig__strlist *out, const char *given, const char *folder)
{
    const char *home = environment("HOME");

    if (!given)
        given = environment("KUBECONFIG");
    if (given) {
        add_paths(out, given, folder);
    } else if (home) {
        char *path = kvmig__asprintf("%s/.kube/config", home);

        kvmig__strlist_add(out, path);
        free(path);
    }
}

static char *absolute(const char *folder, const char *path)
{
    return path ? kvmig__path_in(folder, path) : NULL;
}

/* server is taken. */
static struct kvmig__access_source *copy(const struct kvmig_kube_opts *opts, char *server)
{
    struct kvmig__access_source *source = kvmig__calloc(1, sizeof(*source));
    char *folder = getcwd(NULL, 0); /* NULL: paths stay as they are */

    source->refs = 1;
    source->server = server;
    source->context = kvmig__strdup(opts->context);
    source->ca_file = absolute(folder, opts->ca_file);
    source->cert_file = absolute(folder, opts->client_cert_file);
    source->key_file = absolute(folder, opts->client_key_file);
    source->token_file = absolute(folder, opts->token_file);
    source->token = kvmig__strdup(opts->token);
    source->tls_server_name = kvmig__strdup(opts->tls_server_name);
    source->proxy_url = kvmig__strdup(opts->proxy_url);
    source->in_cluster = opts->flags & KVMIG_KUBE_IN_CLUSTER;
    source->insecure = opts->flags & KVMIG_KUBE_INSECURE;
    source->no_exec = opts->flags & KVMIG_KUBE_NO_EXEC;
    source->service_host = kvmig__strdup(environment("KUBERNETES_SERVICE_HOST"));
    source->service_port = kvmig__strdup(environment("KUBERNETES_SERVICE_PORT"));
    source->account_dir = kvmig__strdup(ACCOUNT_DIR);
    source->on_token = opts->on_token;
    if (!source->server && !source->in_cluster)
        find_kubeconfigs(&source->kubeconfigs, opts->kubeconfig, folder);
    free(folder);
    return source;
}

int32_t kvmig__access_source_new(const struct kvmig_kube_opts *opts, const char *where,
                                 struct kvmig__access_source **out)
{
    struct kvmig_kube_opts own;
    struct kvmig_error *error;
    char *server = NULL;
    const int32_t rc = kvmig__opts_copy(&own, sizeof(own), opts, where);

    *out = NULL;
    if (rc)
        return rc;
    error = check(&own, where, &server);
    if (error) {
        free(server);
        return kvmig__fail(error);
    }
    *out = copy(&own, server);
    return 0;
}

struct kvmig__access_source *kvmig__access_source_ref(struct kvmig__access_source *source)
{
    source->refs++;
    return source;
}

void kvmig__access_source_unref(struct kvmig__access_source *source)
{
    if (!source || --source->refs > 0)
        return;
    if (source->on_token.free)
        source->on_token.free(source->on_token.user_data);
    kvmig__strlist_clear(&source->kubeconfigs);
    free(source->context);
    free(source->server);
    free(source->ca_file);
    free(source->cert_file);
    free(source->key_file);
    kvmig__secret_free(source->token);
    free(source->token_file);
    free(source->tls_server_name);
    kvmig__secret_free(source->proxy_url); /* may have a password */
    free(source->service_host);
    free(source->service_port);
    free(source->account_dir);
    free(source);
}

void kvmig__access_source_set_account_dir(struct kvmig__access_source *source, const char *dir)
{
    kvmig__str_set(&source->account_dir, dir);
}
