/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading planner cases; see plan_case.h. Everything that is not XML is set in the model directly, as the backend would from
 * libvirt's calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan_case.h"

#include "libvirt/libvirt_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

struct json_object *json_member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    if (!json_object_is_type(object, json_type_object) || !json_object_object_get_ex(object, key, &value))
        return NULL;
    return value;
}

const char *json_text(struct json_object *object, const char *key)
{
    struct json_object *value = json_member(object, key);

    return value ? json_object_get_string(value) : NULL;
}

static uint64_t json_number(struct json_object *object, const char *key, uint64_t absent)
{
    struct json_object *value = json_member(object, key);

    return value ? json_object_get_uint64(value) : absent;
}

static bool json_true(struct json_object *object, const char *key, bool absent)
{
    struct json_object *value = json_member(object, key);

    return value ? json_object_get_boolean(value) != 0 : absent;
}

static size_t json_length(struct json_object *array)
{
    return array ? json_object_array_length(array) : 0;
}

static bool array_contains(struct json_object *actual, struct json_object *element)
{
    for (size_t i = 0; i < json_length(actual); i++) {
        if (json_contains(json_object_array_get_idx(actual, i), element))
            return true;
    }
    return false;
}

bool json_contains(struct json_object *actual, struct json_object *expected)
{
    if (json_object_is_type(expected, json_type_object) && json_object_is_type(actual, json_type_object)) {
        json_object_object_foreach(expected, key, value)
        {
            struct json_object *member = NULL;

            if (!json_object_object_get_ex(actual, key, &member) || !json_contains(member, value))
                return false;
        }
        return true;
    }
    if (json_object_is_type(expected, json_type_array) && json_object_is_type(actual, json_type_array)) {
        for (size_t i = 0; i < json_length(expected); i++) {
            if (!array_contains(actual, json_object_array_get_idx(expected, i)))
                return false;
        }
        return true;
    }
    if (json_object_is_type(expected, json_type_string) && *json_object_get_string(expected) == '~')
        return actual && strstr(json_object_get_string(actual), json_object_get_string(expected) + 1);
    return json_object_equal(actual, expected);
}

/* RFC 7396: what the patch says replaces; null removes. */
static void merge(struct json_object *target, struct json_object *patch)
{
    json_object_object_foreach(patch, key, value)
    {
        struct json_object *old = json_member(target, key);

        if (json_object_is_type(value, json_type_null))
            json_object_object_del(target, key);
        else if (json_object_is_type(value, json_type_object) && json_object_is_type(old, json_type_object))
            merge(old, value);
        else
            json_object_object_add(target, key, json_object_get(value));
    }
}

/* ---- files ---- */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text;
    long size;

    if (!file)
        fail_msg("cannot open %s", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    rewind(file);
    text = kvmig__calloc((size_t)size + 1, 1);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    fclose(file);
    return text;
}

static struct json_object *read_case(const char *name)
{
    char *path = kvmig__asprintf("%s/tests/fixtures/plan/%s/case.json", TOP_SRCDIR, name), *text = read_file(path);
    struct json_object *json = json_tokener_parse(text), *base;

    if (!json)
        fail_msg("%s is no JSON", path);
    free(text);
    free(path);
    if (!json_text(json, "base"))
        return json;
    base = read_case(json_text(json, "base"));
    json_object_object_del(base, "expect");
    merge(base, json);
    json_object_put(json);
    return base;
}

/* Replaces every occurrence; there must be one. Frees text. */
static char *substitute(char *text, const char *from, const char *to)
{
    struct kvmig__strlist parts = { 0 };
    char *rest = text, *hit = strstr(text, from), *result;

    if (!hit)
        fail_msg("the document does not contain \"%s\"", from);
    for (; hit; hit = strstr(rest, from)) {
        char *part = kvmig__strndup(rest, (size_t)(hit - rest));

        kvmig__strlist_add(&parts, part);
        free(part);
        rest = hit + strlen(from);
    }
    kvmig__strlist_add(&parts, rest);
    result = kvmig__strlist_join(&parts, to);
    kvmig__strlist_clear(&parts);
    free(text);
    return result;
}

/* The document that "xml" names, below tests/fixtures, with the changes of "replace": {from: to}. */
static char *document(struct json_object *described)
{
    struct json_object *replace = json_member(described, "replace");
    const char *name = json_text(described, "xml");
    char *path, *text;

    if (!name)
        fail_msg("no document is named in %s", json_object_to_json_string(described));
    path = kvmig__asprintf("%s/tests/fixtures/%s", TOP_SRCDIR, name);
    text = read_file(path);
    free(path);
    if (!replace)
        return text;
    json_object_object_foreach(replace, from, to)
    {
        text = substitute(text, from, json_object_get_string(to));
    }
    return text;
}

static void check(int32_t rc, char *text)
{
    if (rc < 0)
        fail_msg("%s: %s", kvmig_error_where(kvmig_error_last()), kvmig_error_message(kvmig_error_last()));
    free(text);
}

static void fill_list(struct kvmig__strlist *list, struct json_object *array)
{
    for (size_t i = 0; i < json_length(array); i++)
        kvmig__strlist_add(list, json_object_get_string(json_object_array_get_idx(array, i)));
}

/* "9.0.0" as libvirt counts it. */
static uint64_t version(struct json_object *object, const char *key)
{
    unsigned int major = 0, minor = 0, micro = 0;
    const char *text = json_text(object, key);

    if (text && sscanf(text, "%u.%u.%u", &major, &minor, &micro) < 2)
        fail_msg("%s is no version", text);
    return major * UINT64_C(1000000) + minor * UINT64_C(1000) + micro;
}

/* ---- domains ---- */

static int32_t by_name(const char *(*name_of)(int32_t), const char *name)
{
    for (int32_t i = 0; name_of(i); i++) {
        if (kvmig__str_eq(name_of(i), name))
            return i;
    }
    fail_msg("%s is no name", name);
    return -1;
}

static void fill_disk(struct kvmig__domain *domain, const char *target, struct json_object *described)
{
    for (size_t i = 0; i < domain->disks.n; i++) {
        struct kvmig__disk *disk = &domain->disks.v[i];

        if (!kvmig__str_eq(disk->target, target))
            continue;
        disk->capacity = disk->source.capacity = json_number(described, "capacity", KVMIG__UNKNOWN);
        disk->allocation = json_number(described, "allocation", KVMIG__UNKNOWN);
        disk->physical = json_number(described, "physical", disk->allocation);
        disk->job_active = json_true(described, "job", false);
        return;
    }
    fail_msg("the domain has no disk %s", target);
}

static void fill_domain(struct kvmig__domain *domain, struct json_object *described)
{
    struct json_object *disks = json_member(described, "disks"), *expanded = json_member(described, "expanded");
    char *text = document(described);

    check(kvmig__xml_domain(text, "domain", domain), text);
    domain->state = by_name(kvmig__domain_state_name, json_text(described, "state") ?: "running");
    domain->reason = by_name(kvmig__domain_reason_name, json_text(described, "reason") ?: "other");
    domain->persistent = json_true(described, "persistent", true);
    domain->snapshots = (uint32_t)json_number(described, "snapshots", 0);
    domain->checkpoints = (uint32_t)json_number(described, "checkpoints", 0);
    domain->job_active = json_true(described, "job", false);
    domain->migrating_out = json_true(described, "migrating_out", false);
    domain->migrating_in = json_true(described, "migrating_in", false);
    domain->cpu.expanded_known = expanded != NULL;
    fill_list(&domain->cpu.expanded, expanded);
    if (!disks)
        return;
    json_object_object_foreach(disks, target, disk)
    {
        fill_disk(domain, target, disk);
    }
}

/* ---- storage ---- */

static void fill_volume(struct kvmig__volume *volume, const struct kvmig__pool *pool, struct json_object *described)
{
    const char *name = json_text(described, "name");

    if (json_text(described, "xml")) {
        char *text = document(described);

        check(kvmig__xml_volume(text, "volume", volume), text);
        return;
    }
    volume->name = kvmig__strdup(name);
    volume->path = kvmig__asprintf("%s/%s", pool->target_path, name);
    volume->format = kvmig__strdup(json_text(described, "format") ?: "qcow2");
    volume->capacity = json_number(described, "capacity", KVMIG__UNKNOWN);
    volume->allocation = json_number(described, "allocation", KVMIG__UNKNOWN);
    volume->ctime = kvmig__strdup(json_text(described, "ctime"));
    volume->backing_path = kvmig__strdup(json_text(described, "backing_path"));
}

static void fill_pool(struct kvmig__pool *pool, struct json_object *described)
{
    struct json_object *volumes = json_member(described, "volumes");
    char *text = document(described);

    check(kvmig__xml_pool(text, "pool", pool), text);
    pool->active = json_true(described, "active", true);
    if (json_text(described, "name"))
        kvmig__str_set(&pool->name, json_text(described, "name"));
    if (json_text(described, "path"))
        kvmig__str_set(&pool->target_path, json_text(described, "path"));
    pool->available = json_number(described, "available", pool->available);
    for (size_t i = 0; i < json_length(volumes); i++)
        fill_volume(KVMIG__PUSH(&pool->volumes), pool, json_object_array_get_idx(volumes, i));
}

static void fill_device(struct kvmig__block_device *device, struct json_object *described)
{
    if (json_text(described, "xml")) {
        char *text = document(described);

        check(kvmig__xml_block_device(text, "device", device), text);
        return;
    }
    fill_list(&device->paths, json_member(described, "paths"));
    device->serial = kvmig__strdup(json_text(described, "serial"));
    device->wwn = kvmig__strdup(json_text(described, "wwn"));
    device->size = json_number(described, "size", KVMIG__UNKNOWN);
}

/* ---- hosts ---- */

static void fill_emulator(struct kvmig__emulator *emulator, struct json_object *described)
{
    struct json_object *expanded = json_member(described, "expanded");
    char *text = document(described);

    check(kvmig__xml_domain_capabilities(text, "domain capabilities", emulator), text);
    emulator->host_model.expanded_known = expanded != NULL;
    fill_list(&emulator->host_model.expanded, expanded);
}

static void fill_network(struct kvmig__network *network, struct json_object *described)
{
    char *text = document(described);

    check(kvmig__xml_network(text, "network", network), text);
    network->active = json_true(described, "active", true);
}

#define FILL(list, array, fill)                                                                                        \
    for (size_t i_ = 0; i_ < json_length(array); i_++)                                                                 \
    fill(KVMIG__PUSH(list), json_object_array_get_idx(array, i_))

static void fill_lists(struct kvmig__host *host, struct json_object *described)
{
    struct json_object *bridges = json_member(described, "bridges"), *pools = json_member(described, "pools");
    struct json_object *networks = json_member(described, "networks");

    host->bridges_known = bridges != NULL;
    host->pools_known = pools != NULL;
    host->networks_known = networks != NULL;
    fill_list(&host->bridges, bridges);
    FILL(&host->emulators, json_member(described, "emulators"), fill_emulator);
    FILL(&host->networks, networks, fill_network);
    FILL(&host->pools, pools, fill_pool);
    FILL(&host->block_devices, json_member(described, "block_devices"), fill_device);
    FILL(&host->domains, json_member(described, "domains"), fill_domain);
    host->domains_known = true;
}

static struct kvmig__host *build_host(const char *name, struct json_object *described)
{
    struct kvmig__host *host = kvmig__host_new();
    const char *state = json_text(described, "state");
    char *text;

    host->name = kvmig__strdup(name);
    host->uri = kvmig__asprintf("qemu+tls://%s/system", name);
    host->state = kvmig__str_eq(state, "lost")         ? KVMIG__HOST_LOST
                  : kvmig__str_eq(state, "connecting") ? KVMIG__HOST_CONNECTING
                                                       : KVMIG__HOST_UP;
    if (host->state == KVMIG__HOST_LOST)
        host->lost_error =
            kvmig__error_new(KVMIG_EUNREACHABLE, name, NULL, NULL, "%s", json_text(described, "error") ?: "no answer");
    if (json_text(described, "xml")) {
        text = document(described);
        check(kvmig__xml_capabilities(text, name, host), text);
    }
    host->qemu_version = version(described, "qemu");
    host->libvirt_version = version(described, "libvirt");
    host->memory_total = json_number(described, "memory_total", KVMIG__UNKNOWN);
    host->memory_free = json_number(described, "memory_free", KVMIG__UNKNOWN);
    fill_lists(host, described);
    return host;
}

/* ---- the request ---- */

static uint64_t flags_of(struct json_object *array)
{
    static const struct {
        const char *name;
        uint64_t flag;
    } names[] = {
        { "MANAGED", KVMIG_PLAN_MANAGED },
        { "UNSAFE", KVMIG_PLAN_UNSAFE },
        { "AUTO_CONVERGE", KVMIG_PLAN_AUTO_CONVERGE },
        { "ALLOW_POSTCOPY", KVMIG_PLAN_ALLOW_POSTCOPY },
        { "TLS", KVMIG_PLAN_TLS },
        { "TRANSIENT_TARGET", KVMIG_PLAN_TRANSIENT_TARGET },
        { "ABORT_ON_IO_ERROR", KVMIG_PLAN_ABORT_ON_IO_ERROR },
    };
    uint64_t flags = 0;

    for (size_t i = 0; i < json_length(array); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(array, i));
        uint64_t before = flags;

        for (size_t n = 0; n < KVMIG__N_ELEMENTS(names); n++)
            flags |= kvmig__str_eq(names[n].name, name) ? names[n].flag : 0;
        if (flags == before)
            fail_msg("%s is no flag", name);
    }
    return flags;
}

static void build_request(struct kvmig__request *request, struct json_object *described)
{
    static const char *const copies[] = { "auto", "none", "full", "incremental" };
    const char *copy = json_text(described, "copy") ?: "auto";
    struct kvmig__strlist disks = { 0 };
    struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;

    fill_list(&disks, json_member(described, "copy_disks"));
    opts.vm = json_text(described, "vm");
    opts.source = json_text(described, "source");
    opts.target = json_text(described, "target");
    opts.flags = flags_of(json_member(described, "flags"));
    while (opts.copy < 4 && !kvmig__str_eq(copies[opts.copy], copy))
        opts.copy++;
    opts.copy_disks = (const char *const *)disks.v;
    opts.n_copy_disks = disks.n;
    opts.target_pool = json_text(described, "target_pool");
    opts.parallel_connections = (uint32_t)json_number(described, "parallel_connections", 0);
    opts.compression = json_text(described, "compression");
    if (kvmig__request_from_opts(request, &opts, "case") < 0)
        fail_msg("%s: %s", kvmig_error_where(kvmig_error_last()), kvmig_error_message(kvmig_error_last()));
    kvmig__strlist_clear(&disks);
}

static void build_slots(struct plan_case *c, struct json_object *described)
{
    struct json_object *out = json_member(described, "out"), *in = json_member(described, "in");

    c->slots.max_migrations = (uint32_t)json_number(described, "max_migrations", 5);
    c->slots.max_outbound = (uint32_t)json_number(described, "max_outbound", 2);
    c->slots.max_inbound = (uint32_t)json_number(described, "max_inbound", 2);
    c->slots.running = (uint32_t)json_number(described, "running", 0);
    c->slots.per_host = kvmig__calloc(c->view.hosts.n, sizeof(*c->slots.per_host));
    for (size_t i = 0; i < c->view.hosts.n; i++) {
        c->slots.per_host[i].out = (uint32_t)json_number(out, c->view.hosts.v[i]->name, 0);
        c->slots.per_host[i].in = (uint32_t)json_number(in, c->view.hosts.v[i]->name, 0);
    }
}

void plan_case_load(struct plan_case *out, const char *name)
{
    struct json_object *hosts;

    memset(out, 0, sizeof(*out));
    out->json = read_case(name);
    hosts = json_member(out->json, "hosts");
    assert_non_null(hosts);
    json_object_object_foreach(hosts, host_name, described)
    {
        *KVMIG__PUSH(&out->view.hosts) = build_host(host_name, described);
    }
    fill_list(&out->view.shared_paths, json_member(out->json, "shared_paths"));
    build_request(&out->request, json_member(out->json, "request"));
    build_slots(out, json_member(out->json, "slots"));
}

void plan_case_clear(struct plan_case *c)
{
    json_object_put(c->json);
    for (size_t i = 0; i < c->view.hosts.n; i++)
        kvmig__host_free(c->view.hosts.v[i]);
    free(c->view.hosts.v);
    kvmig__strlist_clear(&c->view.shared_paths);
    kvmig__request_clear(&c->request);
    free(c->slots.per_host);
}
