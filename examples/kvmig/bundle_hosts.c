/* SPDX-License-Identifier: MIT-0 */
/*
 * What libvirt hosts tell for a bundle: the VM's XML (without secrets: they are never asked for), capabilities, state, versions, and the
 * statistics of its job; and the request that says which file is of which host. One child process per host, with a deadline.
 */
#include <errno.h>
#include <fcntl.h>
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
#define PAUSED_API_ERROR 14 /* libvirt 9.2 and newer */

/* ---- one host, in the child ---- */

struct host {
    const struct settings *settings;
    const char *dir, *side; /* "source", "target" */
    virConnectPtr conn;
    size_t number; /* from 1: hosts of one name must not share their files */
    char name[64]; /* for file names */
    bool failed; /* something could not be written: said already */
};

static const char *side_of(size_t number)
{
    return number == 0 ? "source" : "target";
}

static void write_text(struct host *host, const char *what, char *text)
{
    char name[128];

    if (!text)
        return;
    snprintf(name, sizeof(name), "%zu-%s-%s", host->number, host->name, what);
    host->failed |= !bundle_write(host->dir, name, text);
    free(text);
}

static void write_json(struct host *host, const char *what, struct json_object *json)
{
    char name[128];

    snprintf(name, sizeof(name), "%zu-%s-%s", host->number, host->name, what);
    host->failed |= !bundle_write_json(host->dir, name, json);
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

static void tell_versions(struct host *host)
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

/* virsh's words, which kvmig diagnose reads. reason -1: the state's own. Reasons that tell nothing of a migration are not among them. */
static const struct {
    int state, reason;
    const char *text;
} words[] = {
    { VIR_DOMAIN_NOSTATE, -1, "no state" },
    { VIR_DOMAIN_RUNNING, -1, "running" },
    { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_BOOTED, "booted" },
    { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_MIGRATED, "migrated" },
    { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_RESTORED, "restored" },
    { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_UNPAUSED, "unpaused" },
    { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_MIGRATION_CANCELED, "migration canceled" },
    { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_POSTCOPY, "post-copy" },
    { VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_POSTCOPY_FAILED, "post-copy failed" },
    { VIR_DOMAIN_BLOCKED, -1, "idle" },
    { VIR_DOMAIN_PAUSED, -1, "paused" },
    { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_USER, "user" },
    { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION, "migrating" },
    { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_SAVE, "saving" },
    { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_DUMP, "dumping" },
    { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_IOERROR, "I/O error" },
    { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_WATCHDOG, "watchdog" },
    { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_SNAPSHOT, "creating snapshot" },
    { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_CRASHED, "crashed" },
    { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_STARTING_UP, "starting up" },
    { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_POSTCOPY, "post-copy" },
    { VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_POSTCOPY_FAILED, "post-copy failed" },
    { VIR_DOMAIN_PAUSED, PAUSED_API_ERROR, "api error" },
    { VIR_DOMAIN_SHUTDOWN, -1, "in shutdown" },
    { VIR_DOMAIN_SHUTOFF, -1, "shut off" },
    { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_SHUTDOWN, "shutdown" },
    { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_DESTROYED, "destroyed" },
    { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_CRASHED, "crashed" },
    { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_MIGRATED, "migrated" },
    { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_SAVED, "saved" },
    { VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_FAILED, "failed" },
    { VIR_DOMAIN_CRASHED, -1, "crashed" },
    { VIR_DOMAIN_PMSUSPENDED, -1, "pmsuspended" },
};

static const char *word_of(int state, int reason)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i].state == state && words[i].reason == reason)
            return words[i].text;
    return NULL;
}

/* False: the host could not say. */
static bool tell_state(struct host *host, virDomainPtr domain)
{
    struct json_object *json;
    const char *text = "absent", *why = NULL;
    int state, reason;

    if (domain) {
        if (virDomainGetState(domain, &state, &reason, 0) < 0)
            return false;
        text = word_of(state, -1);
        why = word_of(state, reason);
    }
    json = observation("domain-state");
    json_object_object_add(json, "side", json_object_new_string(host->side));
    json_object_object_add(json, "node", json_object_new_string(host->name));
    json_object_object_add(json, "domain", json_object_new_string(host->settings->vm));
    json_object_object_add(json, "state", json_object_new_string(text ? text : "no state"));
    if (why)
        json_object_object_add(json, "reason", json_object_new_string(why));
    write_json(host, "state.json", json);
    return true;
}

/* That there is no job is what tells a guest that is left behind from one that still migrates; in virsh domjobinfo's words. */
static void tell_job_type(struct host *host, int type)
{
    static const char *const names[] = {
        [VIR_DOMAIN_JOB_NONE] = "None",           [VIR_DOMAIN_JOB_BOUNDED] = "Bounded",
        [VIR_DOMAIN_JOB_UNBOUNDED] = "Unbounded", [VIR_DOMAIN_JOB_COMPLETED] = "Completed",
        [VIR_DOMAIN_JOB_FAILED] = "Failed",       [VIR_DOMAIN_JOB_CANCELLED] = "Cancelled"
    };
    char *text = NULL;

    if (type < 0 || (size_t)type >= sizeof(names) / sizeof(names[0]))
        return;
    if (asprintf(&text, "Job type:         %s\n", names[type]) < 0)
        abort();
    write_text(host, "job.txt", text);
}

/* The figures are one line, with libvirt's own names. */
static void tell_job(struct host *host, virDomainPtr domain)
{
    virTypedParameterPtr params = NULL;
    struct json_object *json;
    int n = 0, type = VIR_DOMAIN_JOB_NONE;

    if (virDomainGetJobStats(domain, &type, &params, &n, 0) < 0)
        return;
    if (strcmp(host->side, "source") == 0)
        tell_job_type(host, type);
    if (n == 0)
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

/* For the parent, behind the name of the host: a newline for a VM that is there, and another one if it is active. */
static bool tell_presence(int tell, virDomainPtr domain)
{
    const size_t newlines = !domain ? 0 : virDomainIsActive(domain) == 1 ? 2 : 1;

    return write(tell, "\n\n", newlines) >= 0;
}

/* number: of the host, from 0. tell: what the parent reads. */
static int ask_host(const struct settings *settings, const char *dir, size_t number, int tell)
{
    struct host host = { settings, dir,  side_of(number), virConnectOpenReadOnly(settings->uris.v[number]), number + 1,
                         "",       false };
    virDomainPtr domain;
    bool sure;

    if (!host.conn)
        return 1;
    name_host(&host);
    if (write(tell, host.name, strlen(host.name)) < 0)
        return 1;
    domain = find_domain(host.conn, settings->vm, &sure);
    if (!sure || !tell_state(&host, domain) || !tell_presence(tell, domain))
        return 1;
    tell_versions(&host);
    write_text(&host, "capabilities.xml", virConnectGetCapabilities(host.conn));
    write_text(&host, "domcapabilities.xml", domain_capabilities(host.conn));
    if (domain) {
        write_text(&host, "domain.xml", virDomainGetXMLDesc(domain, 0));
        tell_job(&host, domain);
        virDomainFree(domain);
    }
    virConnectClose(host.conn);
    return host.failed;
}

/* ---- all hosts, in the parent ---- */

struct answer {
    pid_t child; /* that asks; 0 = none */
    int told; /* what it tells its parent */
    char name[67]; /* what the host calls itself, which it may tell and hang after that; "" = it did not tell */
    int presence; /* of the VM: 2 = active, 1 = a definition, 0 = none */
};

/* All hosts are asked at the same time, so that several that hang take no longer than one. */
static void begin_to_ask(const struct settings *settings, const char *dir, size_t number, struct answer *answer)
{
    int told[2];
    pid_t child;

    if (pipe2(told, O_CLOEXEC) != 0)
        return;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        close(told[0]);
        _exit(ask_host(settings, dir, number, told[1]));
    }
    close(told[1]);
    answer->told = told[0];
    answer->child = child;
    if (child < 0) {
        close(told[0]);
        answer->child = 0;
    }
}

/* waited_ms: in all, for these hosts and those before. */
static bool wait_for(pid_t child, uint64_t *waited_ms, uint64_t timeout_ms)
{
    const struct timespec tick = { 0, TICK_MS * 1000000L };
    int status = 0;

    for (;; *waited_ms += TICK_MS) {
        const pid_t ended = waitpid(child, &status, WNOHANG);

        if (ended)
            return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (*waited_ms >= timeout_ms)
            break;
        nanosleep(&tick, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return false;
}

/* True if the host told all. */
static bool has_answered(const struct settings *settings, struct answer *answer, uint64_t *waited_ms)
{
    const uint64_t timeout_ms = settings->call_timeout_ms ? settings->call_timeout_ms : DEFAULT_TIMEOUT_MS;
    size_t newline;
    ssize_t n;
    bool good;

    if (!answer->child)
        return false;
    good = wait_for(answer->child, waited_ms, timeout_ms);
    n = read(answer->told, answer->name, sizeof(answer->name) - 1);
    answer->name[n > 0 ? n : 0] = '\0';
    close(answer->told);
    newline = strcspn(answer->name, "\n");
    answer->presence = (int)strspn(answer->name + newline, "\n");
    answer->name[newline] = '\0';
    return good;
}

/* number: of the host, from 0. */
static char *path_of(const char *dir, size_t number, const struct answer *answer, const char *what)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%zu-%s-%s", dir, number + 1, answer->name, what) < 0)
        abort();
    return path;
}

static bool has_file(const char *dir, size_t number, const struct answer *answer, const char *what)
{
    char *path = path_of(dir, number, answer, what);
    const bool has = *answer->name && access(path, R_OK) == 0;

    free(path);
    return has;
}

/* Of a URI; NULL if there is none. Users and what else stands there is nobody's business. */
static char *host_of(const char *uri)
{
    const char *begin = strstr(uri, "//"), *at;
    size_t length;

    begin = begin ? begin + 2 : "";
    at = memchr(begin, '@', strcspn(begin, "/?"));
    begin = at ? at + 1 : begin;
    length = strcspn(begin, "/?:");
    return length ? strndup(begin, length) : NULL;
}

static void tell_silence(const struct settings *settings, const char *dir, size_t number)
{
    struct json_object *json = observation("domain-state");
    char *host = host_of(settings->uris.v[number]), name[48];

    json_object_object_add(json, "side", json_object_new_string(side_of(number)));
    if (host)
        json_object_object_add(json, "node", json_object_new_string(host));
    json_object_object_add(json, "domain", json_object_new_string(settings->vm));
    json_object_object_add(json, "state", json_object_new_string("unreachable"));
    snprintf(name, sizeof(name), "%zu-silent.json", number + 1);
    bundle_write_json(dir, name, json);
    free(host);
}

/* ---- which host is the target ---- */

static void drop_file(const char *dir, size_t number, const struct answer *answer, const char *what)
{
    char *path = path_of(dir, number, answer, what);

    unlink(path);
    free(path);
}

/* The only one of the possible targets that has the VM, or the only one where it is active. NULL: none, or several. */
static const struct answer *find_target(const struct answer *answers, size_t n)
{
    const struct answer *best = NULL;
    bool several = false;

    for (size_t i = 1; i < n; i++) {
        if (!answers[i].presence || (best && answers[i].presence < best->presence))
            continue;
        several = best && answers[i].presence == best->presence;
        best = &answers[i];
    }
    return several ? NULL : best;
}

/* Once one of several possible targets has the VM, those without it are no side of its migration. NULL: nobody knows the target. */
static const char *choose_target(const char *dir, const struct answer *answers, size_t n)
{
    const struct answer *target = find_target(answers, n);

    for (size_t i = 1; i < n && target; i++) {
        if (!*answers[i].name || answers[i].presence)
            continue;
        drop_file(dir, i, &answers[i], "state.json");
        drop_file(dir, i, &answers[i], "versions.json");
    }
    return target ? target->name : n == 2 && *answers[1].name ? answers[1].name : NULL;
}

static void add_files_of(struct json_object *hosts, size_t number, const char *host)
{
    static const char *const files[] = { "capabilities.xml", "domcapabilities.xml", "domain.xml" };
    struct json_object *list;
    char name[128];

    if (!json_object_object_get_ex(hosts, host, &list)) { /* two hosts may have one name */
        list = json_object_new_array();
        json_object_object_add(hosts, host, list);
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(name, sizeof(name), "%zu-%s-%s", number + 1, host, files[i]);
        json_object_array_add(list, json_object_new_string(name));
    }
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
            add_files_of(hosts, i, answers[i].name);
    json_object_object_add(request, "hosts", hosts);
    bundle_write_json(dir, BUNDLE_REQUEST, request);
}

size_t bundle_hosts(const struct settings *settings, const char *dir)
{
    struct answer *answers = calloc(settings->uris.n + 1, sizeof(*answers));
    uint64_t waited_ms = 0;
    size_t answered = 0;

    if (!answers)
        abort();
    for (size_t i = 0; i < settings->uris.n; i++)
        begin_to_ask(settings, dir, i, &answers[i]);
    for (size_t i = 0; i < settings->uris.n; i++) {
        if (has_answered(settings, &answers[i], &waited_ms)) {
            answered++;
            continue;
        }
        complain("report: %s does not answer, or not in full; the bundle has what it said", settings->uris.v[i]);
        if (!has_file(dir, i, &answers[i], "state.json"))
            tell_silence(settings, dir, i);
    }
    write_request(settings, dir, answers);
    free(answers);
    return answered;
}
