/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Credential plugins of kubeconfigs (client.authentication.k8s.io/v1 and v1beta1): which program to run and what to tell it, and
 * what it says: an ExecCredential with a token, or a certificate and its key. access_run.c runs it. A plugin never gets a
 * terminal. Blocks, so it runs on a lane. The access owns what is taken; the program's output is wiped.
 */
#include "kubernetes/access_internal.h"
#include "kubernetes/objects.h"
#include "kubernetes/yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP "client.authentication.k8s.io/"
#define EXEC_INFO "KUBERNETES_EXEC_INFO"
#define CLUSTER_EXTENSION "client.authentication.k8s.io/exec"
#define MAX_OUTPUT ((size_t)1 << 20)
#define MAX_PEM ((size_t)16 << 20)

struct plugin {
    struct kvmig__entry exec; /* the member of the user */
    char *where;
    const char *api_version, *command, *install_hint;
    bool wants_cluster;
    char *path; /* of the program */
    struct kvmig__strlist args, env; /* the program's, both whole */
};

static void plugin_clear(struct plugin *plugin)
{
    for (size_t i = 0; i < plugin->env.n; i++)
        explicit_bzero(plugin->env.v[i], strlen(plugin->env.v[i]));
    kvmig__strlist_clear(&plugin->env);
    kvmig__strlist_clear(&plugin->args);
    kvmig__entry_clear(&plugin->exec);
    free(plugin->where);
    free(plugin->path);
}

bool kvmig__access_wants_plugin(const struct kvmig__access *access, const struct kvmig__entry *user)
{
    struct json_object *exec = NULL;

    /* What was given outright is not asked for again. */
    if (access->token || access->basic_user || !user->value)
        return false;
    return json_object_object_get_ex(user->value, "exec", &exec) && exec;
}

/* ---- what the kubeconfig says ---- */

static struct kvmig_error *check_version(const struct plugin *plugin)
{
    const char *version = plugin->api_version;

    if (version && (strcmp(version, GROUP "v1") == 0 || strcmp(version, GROUP "v1beta1") == 0))
        return NULL;
    return kvmig__entry_error(&plugin->exec, "apiVersion", EOPNOTSUPP,
                              "Update the plugin and the kubeconfig to " GROUP "v1.",
                              "the plugin's apiVersion is not supported: %.100s", version ? version : "none");
}

static struct kvmig_error *check_mode(const struct plugin *plugin)
{
    const char *mode;
    struct kvmig_error *error = kvmig__entry_text(&plugin->exec, "interactiveMode", &mode);

    if (error || !mode || strcmp(mode, "Never") == 0 || strcmp(mode, "IfAvailable") == 0)
        return error;
    if (strcmp(mode, "Always") == 0)
        return kvmig__entry_error(&plugin->exec, "interactiveMode", EOPNOTSUPP,
                                  "Use a way to log in that asks nobody, or give a token.",
                                  "the plugin wants to ask somebody at a terminal, and there is none");
    return kvmig__entry_error(&plugin->exec, "interactiveMode", KVMIG_EJSON, "Use Never, IfAvailable or Always.",
                              "the mode is not known");
}

static struct kvmig_error *read_exec(struct plugin *plugin, const struct kvmig__entry *user)
{
    struct kvmig_error *error = kvmig__entry_get(user, "exec", json_type_object, &plugin->exec.value);

    plugin->exec.path = user->path;
    plugin->exec.dir = user->dir;
    plugin->exec.label = kvmig__asprintf("%s: exec", user->label);
    plugin->where = kvmig__entry_where(&plugin->exec, NULL);
    if (!error)
        error = kvmig__entry_text(&plugin->exec, "apiVersion", &plugin->api_version);
    if (!error)
        error = check_version(plugin);
    if (!error)
        error = check_mode(plugin);
    if (!error)
        error = kvmig__entry_bool(&plugin->exec, "provideClusterInfo", &plugin->wants_cluster);
    if (!error)
        error = kvmig__entry_text(&plugin->exec, "installHint", &plugin->install_hint);
    if (!error)
        error = kvmig__entry_text(&plugin->exec, "command", &plugin->command);
    if (!error && !plugin->command)
        error = kvmig__entry_error(&plugin->exec, "command", KVMIG_EJSON, "Add the program to run.",
                                   "the plugin has no command");
    return error;
}

/* ---- the program ---- */

static bool can_run(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* Folders that are relative are passed over: what runs must not depend on where we stand. Owned; NULL: none has it. */
static char *search_path(const char *command)
{
    const char *path = getenv("PATH");
    char *found = NULL;

    for (const char *part = path ? path : ""; *part && !found;) {
        const size_t n = strcspn(part, ":");

        if (*part == '/')
            found = kvmig__asprintf("%.*s/%s", (int)n, part, command);
        if (found && !can_run(found))
            kvmig__str_set(&found, NULL);
        part += n + (part[n] == ':');
    }
    return found;
}

static struct kvmig_error *find_program(struct plugin *plugin)
{
    const bool has_folder = strchr(plugin->command, '/');

    plugin->path = has_folder ? kvmig__path_in(plugin->exec.dir, plugin->command) : search_path(plugin->command);
    if (plugin->path && can_run(plugin->path))
        return NULL;
    return kvmig__entry_error(&plugin->exec, "command", ENOENT,
                              plugin->install_hint ? plugin->install_hint
                                                   : "Install the plugin, or put its folder into PATH.",
                              "the credential plugin %.200s cannot be found, or is no program", plugin->command);
}

/* ---- what it is told ---- */

static struct kvmig_error *add_authority(struct json_object *cluster, const struct plugin *plugin,
                                         const struct kvmig__access *access)
{
    struct kvmig__blob read = { 0 };
    struct kvmig_error *error = NULL;
    char *text;

    if (!access->ca.data && !access->ca_file)
        return NULL;
    if (!access->ca.data)
        error = kvmig__file_read(access->ca_file, plugin->where, MAX_PEM, &read);
    if (error)
        return error;
    text = kvmig__base64_encode(access->ca.data ? &access->ca : &read);
    kvmig__json_add_str(cluster, "certificate-authority-data", text);
    free(text);
    kvmig__blob_clear(&read);
    return NULL;
}

/* What the cluster's entry keeps for plugins; owned; NULL: nothing. */
static struct json_object *cluster_config(const struct kvmig__entry *cluster)
{
    struct json_object *extensions = NULL, *name = NULL, *config = NULL;

    json_object_object_get_ex(cluster->value, "extensions", &extensions);
    if (!json_object_is_type(extensions, json_type_array))
        return NULL;
    for (size_t i = 0; i < json_object_array_length(extensions); i++) {
        struct json_object *extension = json_object_array_get_idx(extensions, i);

        if (json_object_is_type(extension, json_type_object) && json_object_object_get_ex(extension, "name", &name) &&
            json_object_is_type(name, json_type_string) && strcmp(json_object_get_string(name), CLUSTER_EXTENSION) == 0)
            json_object_object_get_ex(extension, "extension", &config);
    }
    return json_object_get(config);
}

static struct kvmig_error *add_cluster(struct json_object *spec, const struct plugin *plugin,
                                       const struct kvmig__access *access, const struct kvmig__entry *entry)
{
    struct json_object *cluster = json_object_new_object(), *config = cluster_config(entry);

    json_object_object_add(spec, "cluster", cluster);
    kvmig__json_add_str(cluster, "server", access->server);
    kvmig__json_add_str(cluster, "tls-server-name", access->tls_server_name);
    if (access->insecure)
        kvmig__json_add_bool(cluster, "insecure-skip-tls-verify", true);
    kvmig__json_add_str(cluster, "proxy-url", access->proxy_url);
    if (config)
        json_object_object_add(cluster, "config", config);
    return add_authority(cluster, plugin, access);
}

/* *out: "KUBERNETES_EXEC_INFO={...}"; owned. */
static struct kvmig_error *exec_info(const struct plugin *plugin, const struct kvmig__access *access,
                                     const struct kvmig__entry *cluster, char **out)
{
    struct json_object *info = json_object_new_object(), *spec = json_object_new_object();
    struct kvmig_error *error = NULL;
    char *text;

    kvmig__json_add_str(info, "apiVersion", plugin->api_version);
    kvmig__json_add_str(info, "kind", "ExecCredential");
    json_object_object_add(info, "spec", spec);
    if (plugin->wants_cluster)
        error = add_cluster(spec, plugin, access, cluster);
    kvmig__json_add_bool(spec, "interactive", false);
    text = kvmig__json_take_string(info);
    *out = kvmig__asprintf(EXEC_INFO "=%s", text);
    kvmig__secret_free(text);
    return error;
}

/* Whether the list has a NAME=VALUE of that name. */
static bool has_variable(const struct kvmig__strlist *env, const char *entry)
{
    const size_t n = strcspn(entry, "=");

    for (size_t i = 0; i < env->n; i++) {
        if (strncmp(env->v[i], entry, n) == 0 && env->v[i][n] == '=')
            return true;
    }
    return false;
}

static struct kvmig_error *add_variable(struct plugin *plugin, struct json_object *item)
{
    const struct kvmig__entry entry = { .value = item, .path = plugin->exec.path, .label = plugin->exec.label };
    const char *name, *value = NULL;
    struct kvmig_error *error = kvmig__entry_text(&entry, "name", &name);
    char *text;

    if (!error)
        error = kvmig__entry_text(&entry, "value", &value);
    if (!error && (!name || strchr(name, '=')))
        error = kvmig__entry_error(&plugin->exec, "env", KVMIG_EJSON, "Use entries with name and value.",
                                   "a variable has no name, or one with '='");
    if (error)
        return error;
    text = kvmig__asprintf("%s=%s", name, value ? value : "");
    if (!has_variable(&plugin->env, text))
        kvmig__strlist_add(&plugin->env, text);
    kvmig__secret_free(text);
    return NULL;
}

/* What is added first wins: what the plugin must be told, the kubeconfig's variables, our own. */
static struct kvmig_error *make_env(struct plugin *plugin, const char *info)
{
    struct json_object *list;
    struct kvmig_error *error = kvmig__entry_get(&plugin->exec, "env", json_type_array, &list);
    size_t n_own;

    kvmig__strlist_add(&plugin->env, info);
    for (size_t i = 0; !error && list && i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);

        error = json_object_is_type(item, json_type_object)
                    ? add_variable(plugin, item)
                    : kvmig__entry_error(&plugin->exec, "env", KVMIG_EJSON, "Use entries with name and value.",
                                         "env must be a list of mappings");
    }
    n_own = plugin->env.n;
    for (char **variable = environ; !error && variable && *variable; variable++) {
        const struct kvmig__strlist own = { plugin->env.v, n_own };

        if (!has_variable(&own, *variable))
            kvmig__strlist_add(&plugin->env, *variable);
    }
    return error;
}

/* ---- what it says ---- */

static struct kvmig_error *check_credential(const struct kvmig__entry *credential, const struct plugin *plugin)
{
    const char *kind, *version = NULL;
    struct kvmig_error *error = kvmig__entry_text(credential, "kind", &kind);

    if (!error)
        error = kvmig__entry_text(credential, "apiVersion", &version);
    if (error || (kvmig__str_eq(kind, "ExecCredential") && kvmig__str_eq(version, plugin->api_version)))
        return error;
    return kvmig__entry_error(credential, NULL, KVMIG_EJSON, "Have the kubeconfig and the plugin use the same version.",
                              "the plugin must give an ExecCredential of %s", plugin->api_version);
}

static void take_pem(struct kvmig__blob *blob, char **file, const char *text)
{
    kvmig__blob_clear(blob);
    blob->data = kvmig__strdup(text);
    blob->length = strlen(text);
    kvmig__str_set(file, NULL);
}

static struct kvmig_error *take_certificate(struct kvmig__access *access, const struct kvmig__entry *status,
                                            const char *cert, const char *key)
{
    if (!cert != !key)
        return kvmig__entry_error(status, cert ? "clientKeyData" : "clientCertificateData", KVMIG_EJSON,
                                  "Update the plugin.",
                                  "the plugin gave a certificate without its key, or a key alone");
    if (!cert)
        return NULL;
    take_pem(&access->cert, &access->cert_file, cert);
    take_pem(&access->key, &access->key_file, key);
    if (kvmig__is_pem(&access->cert) && kvmig__is_pem(&access->key))
        return NULL;
    return kvmig__entry_error(status, "clientCertificateData", KVMIG_EJSON, "Update the plugin.",
                              "the plugin gave a certificate or key that is not in PEM");
}

static struct kvmig_error *take_token(struct kvmig__access *access, const struct kvmig__entry *status,
                                      const char *token)
{
    char *where = kvmig__entry_where(status, "token");
    struct kvmig_error *error = token ? kvmig__token_check(token, where) : NULL;

    free(where);
    if (!error)
        kvmig__secret_set(&access->token, token);
    return error;
}

static struct kvmig_error *take_status(struct kvmig__access *access, const struct kvmig__entry *status)
{
    const char *token, *cert = NULL, *key = NULL, *expires = NULL;
    struct kvmig_error *error = kvmig__entry_text(status, "token", &token);

    if (!error)
        error = kvmig__entry_text(status, "clientCertificateData", &cert);
    if (!error)
        error = kvmig__entry_text(status, "clientKeyData", &key);
    if (!error)
        error = kvmig__entry_text(status, "expirationTimestamp", &expires);
    if (!error && !token && !cert && !key)
        error = kvmig__entry_error(status, NULL, EACCES, "Run the plugin by hand to see what it says.",
                                   "the plugin gave neither a token nor a certificate");
    if (!error)
        error = take_token(access, status, token);
    if (!error)
        error = take_certificate(access, status, cert, key);
    if (!error && expires) {
        access->token_expires_ms = kvmig__time_parse(expires);
        if (!access->token_expires_ms)
            error = kvmig__entry_error(status, "expirationTimestamp", KVMIG_EJSON, "Update the plugin.",
                                       "the time at which the credentials expire is no time");
    }
    return error;
}

static struct kvmig_error *take_output(struct kvmig__access *access, const struct plugin *plugin,
                                       const struct kvmig__blob *output)
{
    char *where = kvmig__asprintf("%s: output of %s", plugin->where, plugin->path);
    struct kvmig__entry entry = { .path = where }, status = { .path = where, .label = (char[]){ "status" } };
    struct kvmig_error *error = NULL;

    entry.value = kvmig__yaml_parse(output->data, output->length, where, &error);
    if (!error && !json_object_is_type(entry.value, json_type_object))
        error = kvmig__entry_error(&entry, NULL, KVMIG_EJSON, "Run the plugin by hand to see what it says.",
                                   "the plugin's output is no ExecCredential");
    if (!error)
        error = check_credential(&entry, plugin);
    if (!error)
        error = kvmig__entry_get(&entry, "status", json_type_object, &status.value);
    if (!error)
        error = take_status(access, &status);
    kvmig__json_wipe(entry.value);
    free(where);
    return error;
}

/* ---- all of it ---- */

/* An array for execve(), whose strings belong to the list; owned. */
static char **vector(const struct kvmig__strlist *list)
{
    char **v = kvmig__calloc(list->n + 1, sizeof(*v));

    for (size_t i = 0; i < list->n; i++)
        v[i] = list->v[i];
    return v;
}

static struct kvmig_error *run(struct kvmig__access *access, const struct plugin *plugin, int64_t timeout_ms)
{
    char **argv = vector(&plugin->args), **envp = vector(&plugin->env);
    struct kvmig__run program = { .path = plugin->path,
                                  .argv = argv,
                                  .envp = envp,
                                  .timeout_ms = timeout_ms > 0 ? timeout_ms : 1,
                                  .max_output = MAX_OUTPUT };
    struct kvmig_error *error =
        kvmig__run_program(&program, plugin->where, "Run the plugin by hand; it may want somebody to log in first.");

    if (!error)
        error = take_output(access, plugin, &program.output);
    if (error && !error->evidence)
        error->evidence = kvmig__strdup(program.last_words);
    kvmig__run_clear(&program);
    free(argv);
    free(envp);
    return error;
}

struct kvmig_error *kvmig__access_run_plugin(struct kvmig__access *access, const struct kvmig__entry *cluster,
                                             const struct kvmig__entry *user, int64_t timeout_ms)
{
    struct plugin plugin = { 0 };
    struct kvmig_error *error = read_exec(&plugin, user);
    char *info = NULL;

    if (!error)
        error = find_program(&plugin);
    if (!error)
        error = exec_info(&plugin, access, cluster, &info);
    if (!error)
        error = make_env(&plugin, info);
    if (!error) {
        kvmig__strlist_add(&plugin.args, plugin.command);
        error = kvmig__entry_texts(&plugin.exec, "args", &plugin.args);
    }
    if (!error)
        error = run(access, &plugin, timeout_ms);
    kvmig__secret_free(info);
    plugin_clear(&plugin);
    return error;
}
