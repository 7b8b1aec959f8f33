/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvirt's XML in files to hosts of the model: capabilities and domain capabilities belong to the hosts that are said to have them,
 * domains to the source unless said otherwise. What files do not tell stays unknown: such a host is marked, so that the planner does not
 * take an empty list for an absence. Any thread; a loading belongs to one.
 */
#include "files/files_internal.h"

#include "libvirt/libvirt_internal.h"
#include "libvirt/xml_util.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE "source"
#define MAX_ROOT 64

/* ---- which host ---- */

static struct kvmig__host *find_host(const struct kvmig__files_load *load, const char *name)
{
    for (size_t i = 0; i < load->files->hosts.n; i++)
        if (kvmig__str_eq(load->files->hosts.v[i]->name, name))
            return load->files->hosts.v[i];
    return NULL;
}

static struct kvmig__host *host_of(struct kvmig__files_load *load, const char *name)
{
    struct kvmig__host *host = find_host(load, name);

    if (host)
        return host;
    host = kvmig__host_new();
    host->name = kvmig__strdup(name);
    host->uri = kvmig__asprintf("files://%s", name);
    host->state = KVMIG__HOST_UP;
    host->from_files = true;
    *KVMIG__PUSH(&load->files->hosts) = host;
    return host;
}

static struct kvmig__host *source_of(struct kvmig__files_load *load)
{
    return host_of(load, load->ask->source ? load->ask->source : SOURCE);
}

/* "HOST=FILE", where FILE is the path, or its last parts. */
static bool is_said_of(const char *entry, const char *path, char **out_host)
{
    const char *file = strchr(entry, '=');
    size_t tail = file ? strlen(file + 1) : 0, length = strlen(path);

    if (!tail || file == entry || !kvmig__str_ends(path, file + 1))
        return false;
    if (length > tail && path[length - tail - 1] != '/')
        return false;
    *out_host = kvmig__strndup(entry, (size_t)(file - entry));
    return true;
}

static bool is_named(const struct kvmig__files_load *load, const char *name, size_t n)
{
    const char *source = load->ask->source ? load->ask->source : SOURCE;

    if (strlen(source) == n && strncmp(source, name, n) == 0)
        return true;
    for (size_t i = 0; i < load->ask->hosts.n; i++)
        if (strcspn(load->ask->hosts.v[i], "=") == n && strncmp(load->ask->hosts.v[i], name, n) == 0)
            return true;
    return false;
}

/* The host that the file's folder is called by: what was collected from each host is often kept that way. NULL if there is none. */
static struct kvmig__host *host_of_folder(struct kvmig__files_load *load)
{
    const char *path = load->base.name, *end = strrchr(path, '/'), *start = end;
    struct kvmig__host *host = NULL;
    char *name;

    while (start && start > path && start[-1] != '/')
        start--;
    if (!start || start == end || !is_named(load, start, (size_t)(end - start)))
        return NULL;
    name = kvmig__strndup(start, (size_t)(end - start));
    host = host_of(load, name);
    free(name);
    return host;
}

static bool says_so(const struct kvmig__files_load *load, const struct kvmig__host *host)
{
    bool said = false;

    for (size_t i = 0; i < load->ask->hosts.n && !said; i++) {
        char *name = NULL;

        said = is_said_of(load->ask->hosts.v[i], load->base.name, &name) && kvmig__str_eq(name, host->name);
        free(name);
    }
    return said;
}

/* Calls fn for each host that the file is said to tell of; false if there is none. Files of several hosts may have one name: then the
 * folder decides. */
static bool each_host(struct kvmig__files_load *load, const char *text,
                      void (*fn)(struct kvmig__files_load *load, struct kvmig__host *host, const char *text))
{
    struct kvmig__host *folder = host_of_folder(load);
    const bool one = folder && says_so(load, folder);
    bool any = false;

    for (size_t i = 0; i < load->ask->hosts.n; i++) {
        char *name = NULL;

        if (!is_said_of(load->ask->hosts.v[i], load->base.name, &name))
            continue;
        if (!one || kvmig__str_eq(name, folder->name)) {
            fn(load, host_of(load, name), text);
            any = true;
        }
        free(name);
    }
    return any;
}

/* ---- the documents ---- */

/* After a parser failed: its error names the place. */
static void misread(struct kvmig__files_load *load)
{
    const struct kvmig_error *error = kvmig_error_last();
    const char *where = error && kvmig_error_where(error) ? kvmig_error_where(error) : load->base.name;
    const char *evidence = error ? kvmig_error_evidence(error) : NULL;

    kvmig__snapshot_problem(&load->base, load->base.name, NULL,
                            "Print it again with virsh dumpxml, capabilities or domcapabilities; the rest was loaded.",
                            "%s: %s%s%s%s", where, error ? kvmig_error_message(error) : "cannot be read",
                            evidence ? " (" : "", evidence ? evidence : "", evidence ? ")" : "");
}

static bool has_domain(const struct kvmig__host *host, const struct kvmig__domain *domain)
{
    for (size_t i = 0; i < host->domains.n; i++)
        if (domain->uuid ? kvmig__str_eq(host->domains.v[i].uuid, domain->uuid)
                         : kvmig__str_eq(host->domains.v[i].name, domain->name))
            return true;
    return false;
}

/* Whoever asks how a guest can migrate has one that runs, unless an observation says otherwise. */
static void take_domain(struct kvmig__files_load *load, struct kvmig__host *host, const char *text)
{
    struct kvmig__domain domain = { .name = NULL };

    if (kvmig__xml_domain(text, load->base.name, &domain) < 0) {
        misread(load);
        return;
    }
    load->domains = true;
    if (has_domain(host, &domain) || host->domains.n >= KVMIG__FILES_ITEMS) {
        kvmig__snapshot_problem(&load->base, load->base.name, domain.name, "Give each domain once.",
                                "another file has this domain already");
        kvmig__domain_clear(&domain);
        return;
    }
    domain.state = KVMIG__STATE_RUNNING;
    domain.reason = KVMIG__REASON_OTHER;
    *KVMIG__PUSH(&host->domains) = domain;
}

static void take_capabilities(struct kvmig__files_load *load, struct kvmig__host *host, const char *text)
{
    if (kvmig__xml_capabilities(text, load->base.name, host) < 0)
        misread(load);
}

static void take_domain_capabilities(struct kvmig__files_load *load, struct kvmig__host *host, const char *text)
{
    struct kvmig__emulator emulator;

    if (kvmig__xml_domain_capabilities(text, load->base.name, &emulator) < 0)
        misread(load);
    else
        *KVMIG__PUSH(&host->emulators) = emulator;
}

/* ---- which document ---- */

static const struct document {
    const char *root;
    void (*take)(struct kvmig__files_load *load, struct kvmig__host *host, const char *text);
} documents[] = {
    { "domain", take_domain },
    { "capabilities", take_capabilities },
    { "domainCapabilities", take_domain_capabilities },
};

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && isspace((unsigned char)*p))
        p++;
    return p;
}

/* Behind what ends with stop; end if it does not. */
static const char *skip_to(const char *p, const char *end, const char *stop)
{
    const char *found = memmem(p, (size_t)(end - p), stop, strlen(stop));

    return found ? found + strlen(stop) : end;
}

static bool at(const char *p, const char *end, const char *word)
{
    return (size_t)(end - p) >= strlen(word) && memcmp(p, word, strlen(word)) == 0;
}

/* Where the name of the root stands, behind declarations and comments; NULL = this is no XML. */
static const char *find_root(const char *p, const char *end)
{
    p = skip_blanks(at(p, end, "\xef\xbb\xbf") ? p + 3 : p, end);
    while (p < end && *p == '<') {
        if (at(p, end, "<!--"))
            p = skip_to(p, end, "-->");
        else if (at(p, end, "<?"))
            p = skip_to(p, end, "?>");
        else if (at(p, end, "<!DOCTYPE")) /* refused by the parser, which is to say so */
            return skip_blanks(p + strlen("<!DOCTYPE"), end);
        else
            return p + 1;
        p = skip_blanks(p, end);
    }
    return NULL;
}

static const struct document *document_of(const char *root, const char *end)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(documents); i++) {
        const size_t n = strlen(documents[i].root);

        if (at(root, end, documents[i].root) && root + n < end &&
            (strchr("/>", root[n]) || isspace((unsigned char)root[n])))
            return &documents[i];
    }
    return NULL;
}

static bool names_files(const struct kvmig__files_load *load)
{
    for (size_t i = 0; i < load->ask->hosts.n; i++)
        if (strchr(load->ask->hosts.v[i], '='))
            return true;
    return false;
}

bool kvmig__files_xml(struct kvmig__files_load *load, const char *text, size_t length)
{
    const char *root = find_root(text, text + length);
    const struct document *document = root ? document_of(root, text + length) : NULL;
    char *copy;

    if (!root)
        return false;
    if (!document) /* some other XML */
        return true;
    copy = kvmig__strndup(text, length);
    if (each_host(load, copy, document->take)) {
        load->named = true;
    } else {
        struct kvmig__host *host = host_of_folder(load);

        if (host || document->take == take_domain || !names_files(load))
            document->take(load, host ? host : source_of(load), copy);
    }
    free(copy);
    return true;
}

/* ---- once everything was read ---- */

static void tell_states(struct kvmig__files_load *load, struct kvmig__host *source)
{
    for (size_t i = 0; i < load->states.n; i++) {
        const struct kvmig__files_domain_state *told = &load->states.v[i];

        for (size_t k = 0; k < source->domains.n && !told->on_target; k++) {
            if (told->domain && !kvmig__str_eq(told->domain, source->domains.v[k].name))
                continue;
            source->domains.v[k].state = told->state;
            source->domains.v[k].reason = told->reason;
        }
    }
}

static void tell_versions(struct kvmig__host *host, const struct kvmig__fact_versions *versions)
{
    host->qemu_version = versions->qemu;
    host->libvirt_version = versions->libvirt;
}

/* A guest of that name that lives on a target which is known by name, and of which no file tells more. */
static void tell_guests_of_targets(struct kvmig__files_load *load, const struct kvmig__host *source)
{
    for (size_t i = 0; i < load->states.n; i++) {
        const struct kvmig__files_domain_state *told = &load->states.v[i];
        struct kvmig__host *host = told->node ? find_host(load, told->node) : NULL;
        struct kvmig__domain domain = { .state = told->state, .reason = told->reason };

        if (!told->on_target || !host || host == source || !told->domain ||
            (told->state != KVMIG__STATE_RUNNING && told->state != KVMIG__STATE_PAUSED))
            continue;
        domain.name = told->domain;
        if (has_domain(host, &domain))
            continue;
        domain.name = kvmig__strdup(told->domain);
        *KVMIG__PUSH(&host->domains) = domain;
    }
}

/* Observations speak of "source" and "target": with several hosts beside the source nobody knows which one that is. */
static void tell_all_versions(struct kvmig__files_load *load, const struct kvmig__host *source)
{
    const struct kvmig__facts *facts = load->files->facts;

    for (size_t i = 0; i < load->files->hosts.n; i++) {
        struct kvmig__host *host = load->files->hosts.v[i];

        if (host == source)
            tell_versions(host, &facts->source);
        else if (load->files->hosts.n == 2)
            tell_versions(host, &facts->target);
    }
}

static void add_named_hosts(struct kvmig__files_load *load)
{
    for (size_t i = 0; i < load->ask->hosts.n; i++) {
        const char *entry = load->ask->hosts.v[i];
        char *name = kvmig__strndup(entry, strcspn(entry, "="));

        if (*name)
            host_of(load, name);
        free(name);
    }
}

void kvmig__files_finish_hosts(struct kvmig__files_load *load)
{
    if (load->domains || load->named)
        add_named_hosts(load);
    if (load->domains) {
        struct kvmig__host *source = source_of(load);

        tell_states(load, source);
        tell_guests_of_targets(load, source);
        tell_all_versions(load, source);
    }
    for (size_t i = 0; i < load->states.n; i++) {
        free(load->states.v[i].domain);
        free(load->states.v[i].node);
    }
    free(load->states.v);
    load->states.v = NULL;
    load->states.n = 0;
}
