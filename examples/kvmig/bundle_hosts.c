/* SPDX-License-Identifier: MIT-0 */
/*
 * What libvirt hosts tell for a bundle: the VM's XML (without secrets: they are never asked for), capabilities, state, versions, and the
 * statistics of its job; and the request that says which file is of which host. One child process per host, with a deadline.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "bundle.h"

#define DEFAULT_TIMEOUT_MS 30000
#define TICK_MS 20

/* ---- one host, in the child ---- */

struct host {
    const struct settings *settings;
    const char *dir, *side; /* "source", "target" */
    virConnectPtr conn;
    char name[64]; /* for file names */
};

static void write_text(const struct host *host, const char *what, char *text)
{
    char name[128];

    if (!text)
        return;
    snprintf(name, sizeof(name), "%s-%s", host->name, what);
    bundle_write(host->dir, name, text);
    free(text);
}

static void write_json(const struct host *host, const char *what, struct json_object *json)
{
    char name[128];

    snprintf(name, sizeof(name), "%s-%s", host->name, what);
    bundle_write_json(host->dir, name, json);
}

static struct json_object *observation(const char *what)
{
    struct json_object *json = json_object_new_object();

    json_object_object_add(json, "observation", json_object_new_string(what));
    return json;
}

static struct json_object *version_text(unsigned long version)
{
    char text[48];

    snprintf(text, sizeof(text), "%lu.%lu.%lu", version / 1000000, version / 1000 % 1000, version % 1000);
    return json_object_new_string(text);
}

static void tell_versions(const struct host *host)
{
    struct json_object *json = observation("versions"), *side = json_object_new_object();
    unsigned long version;

    if (virConnectGetVersion(host->conn, &version) == 0 && version)
        json_object_object_add(side, "qemu", version_text(version));
    if (virConnectGetLibVersion(host->conn, &version) == 0)
        json_object_object_add(side, "libvirt", version_text(version));
    json_object_object_add(json, host->side, side);
    write_json(host, "versions.json", json);
}

static const char *state_name(int state)
{
    static const char *const names[] = {
        [VIR_DOMAIN_NOSTATE] = "no state", [VIR_DOMAIN_RUNNING] = "running",        [VIR_DOMAIN_BLOCKED] = "blocked",
        [VIR_DOMAIN_PAUSED] = "paused",    [VIR_DOMAIN_SHUTDOWN] = "in shutdown",   [VIR_DOMAIN_SHUTOFF] = "shut off",
        [VIR_DOMAIN_CRASHED] = "crashed",  [VIR_DOMAIN_PMSUSPENDED] = "pmsuspended"
    };

    return state >= 0 && (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "no state";
}

/* The reasons that a migration leaves; virsh's words. */
static const char *reason_name(int state, int reason)
{
    if (state == VIR_DOMAIN_PAUSED) {
        switch (reason) {
        case VIR_DOMAIN_PAUSED_USER:
            return "user";
        case VIR_DOMAIN_PAUSED_MIGRATION:
            return "migrating";
        case VIR_DOMAIN_PAUSED_IOERROR:
            return "I/O error";
        case VIR_DOMAIN_PAUSED_POSTCOPY:
            return "post-copy";
        case VIR_DOMAIN_PAUSED_POSTCOPY_FAILED:
            return "post-copy failed";
        default:
            return NULL;
        }
    }
    if (state == VIR_DOMAIN_RUNNING && reason == VIR_DOMAIN_RUNNING_MIGRATED)
        return "migrated";
    if (state == VIR_DOMAIN_RUNNING && reason == VIR_DOMAIN_RUNNING_POSTCOPY)
        return "post-copy";
    return NULL;
}

static void tell_state(const struct host *host, virDomainPtr domain)
{
    struct json_object *json = observation("domain-state");
    int state = 0, reason = 0;
    const char *why = NULL;

    json_object_object_add(json, "side", json_object_new_string(host->side));
    json_object_object_add(json, "node", json_object_new_string(host->name));
    json_object_object_add(json, "domain", json_object_new_string(host->settings->vm));
    if (domain && virDomainGetState(domain, &state, &reason, 0) == 0)
        why = reason_name(state, reason);
    json_object_object_add(json, "state", json_object_new_string(domain ? state_name(state) : "absent"));
    if (why)
        json_object_object_add(json, "reason", json_object_new_string(why));
    write_json(host, "state.json", json);
}

/* One line, with libvirt's own names. */
static void tell_job(const struct host *host, virDomainPtr domain)
{
    virTypedParameterPtr params = NULL;
    struct json_object *json;
    int n = 0, type = VIR_DOMAIN_JOB_NONE;

    if (virDomainGetJobStats(domain, &type, &params, &n, 0) < 0 || n == 0)
        return;
    json = json_object_new_object();
    for (int i = 0; i < n; i++) {
        if (params[i].type == VIR_TYPED_PARAM_ULLONG)
            json_object_object_add(json, params[i].field, json_object_new_uint64(params[i].value.ul));
        else if (params[i].type == VIR_TYPED_PARAM_INT)
            json_object_object_add(json, params[i].field, json_object_new_int(params[i].value.i));
    }
    virTypedParamsFree(params, n);
    write_json(host, "job.jsonl", json);
}

static void name_host(struct host *host)
{
    char *name = virConnectGetHostname(host->conn);

    snprintf(host->name, sizeof(host->name), "%s", name ? name : host->side);
    free(name);
    for (char *p = host->name; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", *p))
            *p = '_';
}

/* Of the default accelerator, or, where the host has none, of emulation. */
static char *domain_capabilities(virConnectPtr conn)
{
    char *text = virConnectGetDomainCapabilities(conn, NULL, NULL, NULL, NULL, 0);

    return text ? text : virConnectGetDomainCapabilities(conn, NULL, NULL, NULL, "qemu", 0);
}

/* NULL with *out_sure: the host has no such domain; without it, it could not say. */
static virDomainPtr find_domain(virConnectPtr conn, const char *vm, bool *out_sure)
{
    virDomainPtr domain = virDomainLookupByName(conn, vm);

    *out_sure = domain || virGetLastErrorCode() == VIR_ERR_NO_DOMAIN;
    if (!domain && *out_sure && strlen(vm) == VIR_UUID_STRING_BUFLEN - 1) {
        domain = virDomainLookupByUUIDString(conn, vm);
        *out_sure = domain || virGetLastErrorCode() == VIR_ERR_NO_DOMAIN;
    }
    return domain;
}

/* tell: where the name of the host is written, for the parent. */
static int ask_host(const struct settings *settings, const char *dir, const char *uri, const char *side, int tell)
{
    struct host host = { settings, dir, side, virConnectOpenReadOnly(uri), "" };
    virDomainPtr domain;
    bool sure;

    if (!host.conn)
        return 1;
    name_host(&host);
    if (write(tell, host.name, strlen(host.name)) < 0)
        return 1;
    domain = find_domain(host.conn, settings->vm, &sure);
    if (!sure)
        return 1;
    tell_versions(&host);
    tell_state(&host, domain);
    write_text(&host, "capabilities.xml", virConnectGetCapabilities(host.conn));
    write_text(&host, "domcapabilities.xml", domain_capabilities(host.conn));
    if (domain) {
        write_text(&host, "domain.xml", virDomainGetXMLDesc(domain, 0));
        tell_job(&host, domain);
        virDomainFree(domain);
    }
    virConnectClose(host.conn);
    return 0;
}

/* ---- all hosts, in the parent ---- */

static bool wait_for(pid_t child, uint64_t timeout_ms)
{
    const struct timespec tick = { 0, TICK_MS * 1000000L };
    int status = 0;

    for (uint64_t waited = 0; waited < timeout_ms; waited += TICK_MS) {
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        nanosleep(&tick, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return false;
}

/* True if the host answered; name: what it calls itself, which a host may tell and hang after that. */
static bool ask(const struct settings *settings, const char *dir, const char *uri, const char *side, char name[64])
{
    const uint64_t timeout_ms = settings->call_timeout_ms ? settings->call_timeout_ms : DEFAULT_TIMEOUT_MS;
    int told[2];
    ssize_t n;
    pid_t child;
    bool good;

    name[0] = '\0';
    if (pipe(told) != 0)
        return false;
    fflush(NULL);
    child = fork();
    if (child == 0)
        _exit(ask_host(settings, dir, uri, side, told[1]));
    close(told[1]);
    good = child > 0 && wait_for(child, timeout_ms);
    n = child > 0 ? read(told[0], name, 63) : 0;
    name[n > 0 ? n : 0] = '\0';
    close(told[0]);
    return good;
}

static void tell_silence(const struct settings *settings, const char *dir, const char *side)
{
    struct json_object *json = observation("domain-state");
    char name[32];

    json_object_object_add(json, "side", json_object_new_string(side));
    json_object_object_add(json, "domain", json_object_new_string(settings->vm));
    json_object_object_add(json, "state", json_object_new_string("unreachable"));
    snprintf(name, sizeof(name), "%s-silent.json", side);
    bundle_write_json(dir, name, json);
}

/* ---- which host is the target ---- */

struct answer {
    char name[64]; /* "" = it did not tell its name */
    bool has_vm;
};

static char *path_of(const char *dir, const char *host, const char *what)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%s-%s", dir, host, what) < 0)
        abort();
    return path;
}

static bool has_file(const char *dir, const char *host, const char *what)
{
    char *path = path_of(dir, host, what);
    const bool has = access(path, R_OK) == 0;

    free(path);
    return has;
}

static void drop_file(const char *dir, const char *host, const char *what)
{
    char *path = path_of(dir, host, what);

    unlink(path);
    free(path);
}

/* Once one of several possible targets has the VM, the others are no side of its migration. NULL: none tells. */
static const char *choose_target(const char *dir, const struct answer *answers, size_t n)
{
    const char *target = NULL;

    for (size_t i = 1; i < n && !target; i++)
        target = answers[i].has_vm ? answers[i].name : NULL;
    for (size_t i = 1; i < n && target; i++) {
        if (!*answers[i].name || answers[i].has_vm)
            continue;
        drop_file(dir, answers[i].name, "state.json");
        drop_file(dir, answers[i].name, "versions.json");
    }
    return target ? target : n == 2 && *answers[1].name ? answers[1].name : NULL;
}

static void add_files_of(struct json_object *hosts, const char *host)
{
    static const char *const files[] = { "capabilities.xml", "domcapabilities.xml", "domain.xml" };
    struct json_object *list = json_object_new_array();
    char name[128];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(name, sizeof(name), "%s-%s", host, files[i]);
        json_object_array_add(list, json_object_new_string(name));
    }
    json_object_object_add(hosts, host, list);
}

static void write_request(const struct settings *settings, const char *dir, const struct answer *answers)
{
    struct json_object *request = json_object_new_object(), *hosts = json_object_new_object();
    const char *target = choose_target(dir, answers, settings->uris.n);

    json_object_object_add(request, "bundle", json_object_new_boolean(true));
    json_object_object_add(request, "backend", json_object_new_string("libvirt"));
    json_object_object_add(request, "vm", json_object_new_string(settings->vm));
    if (*answers[0].name)
        json_object_object_add(request, "source", json_object_new_string(answers[0].name));
    if (target)
        json_object_object_add(request, "target", json_object_new_string(target));
    for (size_t i = 0; i < settings->uris.n; i++)
        if (*answers[i].name)
            add_files_of(hosts, answers[i].name);
    json_object_object_add(request, "hosts", hosts);
    bundle_write_json(dir, BUNDLE_REQUEST, request);
}

size_t bundle_hosts(const struct settings *settings, const char *dir)
{
    struct answer *answers = calloc(settings->uris.n + 1, sizeof(*answers));
    size_t answered = 0;

    if (!answers)
        abort();
    for (size_t i = 0; i < settings->uris.n; i++) {
        const char *uri = settings->uris.v[i], *side = i == 0 ? "source" : "target";

        if (ask(settings, dir, uri, side, answers[i].name)) {
            answered++;
        } else {
            complain("report: %s does not answer; the bundle says that, and nothing else of it", uri);
            tell_silence(settings, dir, side);
        }
        answers[i].has_vm = *answers[i].name && has_file(dir, answers[i].name, "domain.xml");
    }
    write_request(settings, dir, answers);
    free(answers);
    return answered;
}
