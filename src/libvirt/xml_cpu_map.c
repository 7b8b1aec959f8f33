/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What CPU models contain, from the CPU map that libvirt's library has beside it: one file per model, which may build on
 * another one. Reads files; what cannot be read is left out, for the map only tells more about an answer. Any thread; blocks on
 * the disk only.
 */
#include "libvirt/libvirt_internal.h"
#include "libvirt/xml_util.h"
#include "plan/cpu_common.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILES 4096
#define MAX_FILE ((size_t)256 << 10)
#define MAX_ANCESTORS 8

/* A model as its file says it. */
struct entry {
    struct kvmig__cpu_contents own;
    char *ancestor;
    struct kvmig__strlist removed;
};
struct entries {
    struct entry *v;
    size_t n;
};

static char *read_file(const char *folder, const char *name)
{
    char *path = kvmig__asprintf("%s/%s", folder, name), *text = NULL;
    FILE *file = fopen(path, "re");
    size_t n;

    free(path);
    if (!file)
        return NULL;
    text = kvmig__calloc(1, MAX_FILE + 1);
    n = fread(text, 1, MAX_FILE + 1, file);
    if (n > MAX_FILE || ferror(file)) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

static void read_model(const xmlNode *node, struct entries *out)
{
    struct entry *entry;
    char *name = kvmig__xml_attr(node, "name");

    if (!name)
        return;
    entry = KVMIG__PUSH(out);
    entry->own.model = name;
    entry->own.vendor = kvmig__xml_attr(kvmig__xml_child(node, "vendor"), "name");
    entry->ancestor = kvmig__xml_attr(kvmig__xml_child(node, "model"), "name");
    KVMIG__XML_EACH(feature, node, "feature")
    {
        char *text = kvmig__xml_attr(feature, "name");

        if (text)
            kvmig__strlist_add(kvmig__xml_attr_is(feature, "removed", "yes") ? &entry->removed : &entry->own.features,
                               kvmig__cpu_feature_canonical(text));
        free(text);
    }
}

static void read_models(const char *folder, const char *name, struct entries *out)
{
    char *text = read_file(folder, name);
    struct kvmig__xml xml;

    if (text && kvmig__xml_open(&xml, text, name, "cpus") == 0) {
        KVMIG__XML_EACH(node, xml.root, "model")
        read_model(node, out);
        kvmig__xml_close(&xml);
    }
    free(text);
}

static const struct entry *find(const struct entries *entries, const char *model)
{
    for (size_t i = 0; model && i < entries->n; i++) {
        if (kvmig__str_eq(entries->v[i].own.model, model))
            return &entries->v[i];
    }
    return NULL;
}

static void add_all(const struct entries *entries, const struct entry *entry, size_t depth,
                    const struct kvmig__strlist *removed, struct kvmig__cpu_contents *out)
{
    const struct entry *ancestor = depth < MAX_ANCESTORS ? find(entries, entry->ancestor) : NULL;

    if (ancestor)
        add_all(entries, ancestor, depth + 1, removed, out);
    if (!out->vendor)
        out->vendor = kvmig__strdup(entry->own.vendor);
    for (size_t i = 0; i < entry->own.features.n; i++) {
        if (!kvmig__strlist_has(removed, entry->own.features.v[i]))
            kvmig__strlist_add_new(&out->features, entry->own.features.v[i]);
    }
}

static void entries_clear(struct entries *entries)
{
    for (size_t i = 0; i < entries->n; i++) {
        free(entries->v[i].own.model);
        free(entries->v[i].own.vendor);
        kvmig__strlist_clear(&entries->v[i].own.features);
        free(entries->v[i].ancestor);
        kvmig__strlist_clear(&entries->v[i].removed);
    }
    free(entries->v);
}

void kvmig__cpu_map_read(const char *folder, struct kvmig__cpu_map *out)
{
    struct entries entries = { NULL, 0 };
    const struct dirent *item;
    DIR *directory = opendir(folder);
    size_t n = 0;

    if (!directory)
        return;
    while ((item = readdir(directory)) != NULL && n++ < MAX_FILES) {
        if (kvmig__str_ends(item->d_name, ".xml"))
            read_models(folder, item->d_name, &entries);
    }
    closedir(directory);
    for (size_t i = 0; i < entries.n; i++) {
        struct kvmig__cpu_contents *contents;

        if (find(&entries, entries.v[i].own.model) != &entries.v[i])
            continue; /* told twice */
        contents = KVMIG__PUSH(out);
        contents->model = kvmig__strdup(entries.v[i].own.model);
        add_all(&entries, &entries.v[i], 0, &entries.v[i].removed, contents);
    }
    kvmig__cpu_map_sort(out);
    entries_clear(&entries);
}
