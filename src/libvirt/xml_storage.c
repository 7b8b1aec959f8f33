/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Storage of a host, read into the model: pools, volumes, and block devices (as node devices tell them). Whether a
 * pool is active is not in its XML and stays false; its volumes are documents of their own. Any thread; see xml_util.h
 * for how errors in values are handled.
 */
#include "libvirt/libvirt_internal.h"
#include "libvirt/xml_util.h"

#include <stdlib.h>
#include <string.h>

/* The attributes of all elements of that name, sorted, so that two pools with the same set compare equal. */
static char *joined_attrs(const xmlNode *parent, const char *name, const char *attr)
{
    struct kvmig__strlist list = { NULL, 0 };
    KVMIG__XML_EACH(node, parent, name)
    {
        char *text = kvmig__xml_attr(node, attr);
        if (text)
            kvmig__strlist_add(&list, text);
        free(text);
    }
    kvmig__strlist_sort(&list);
    char *joined = list.n ? kvmig__strlist_join(&list, ",") : NULL;
    kvmig__strlist_clear(&list);
    return joined;
}

/* Ports are left out of the source's hosts: one server may be reached through several. */
int32_t kvmig__xml_pool(const char *text, const char *where, struct kvmig__pool *out)
{
    struct kvmig__xml xml;
    memset(out, 0, sizeof(*out));
    int32_t code = kvmig__xml_open(&xml, text, where, "pool");
    if (code < 0)
        return code;
    const xmlNode *source = kvmig__xml_child(xml.root, "source");
    out->name = kvmig__xml_child_text(xml.root, "name");
    out->uuid = kvmig__xml_child_text(xml.root, "uuid");
    out->type = kvmig__xml_attr(xml.root, "type");
    out->target_path = kvmig__xml_child_text(kvmig__xml_child(xml.root, "target"), "path");
    out->source_host = joined_attrs(source, "host", "name");
    out->source_dir = kvmig__xml_attr(kvmig__xml_child(source, "dir"), "path");
    out->source_name = kvmig__xml_child_text(source, "name");
    out->source_device = joined_attrs(source, "device", "path");
    out->capacity = kvmig__xml_bytes(&xml, kvmig__xml_child(xml.root, "capacity"), NULL, 1, KVMIG__UNKNOWN);
    out->available = kvmig__xml_bytes(&xml, kvmig__xml_child(xml.root, "available"), NULL, 1, KVMIG__UNKNOWN);
    code = kvmig__xml_close(&xml);
    if (code < 0)
        kvmig__pool_clear(out);
    return code;
}

int32_t kvmig__xml_volume(const char *text, const char *where, struct kvmig__volume *out)
{
    struct kvmig__xml xml;
    memset(out, 0, sizeof(*out));
    int32_t code = kvmig__xml_open(&xml, text, where, "volume");
    if (code < 0)
        return code;
    const xmlNode *target = kvmig__xml_child(xml.root, "target");
    out->name = kvmig__xml_child_text(xml.root, "name");
    out->path = kvmig__xml_child_text(target, "path");
    out->format = kvmig__xml_attr(kvmig__xml_child(target, "format"), "type");
    out->capacity = kvmig__xml_bytes(&xml, kvmig__xml_child(xml.root, "capacity"), NULL, 1, KVMIG__UNKNOWN);
    out->allocation = kvmig__xml_bytes(&xml, kvmig__xml_child(xml.root, "allocation"), NULL, 1, KVMIG__UNKNOWN);
    out->ctime = kvmig__xml_child_text(kvmig__xml_child(target, "timestamps"), "ctime");
    out->backing_path = kvmig__xml_child_text(kvmig__xml_child(xml.root, "backingStore"), "path");
    code = kvmig__xml_close(&xml);
    if (code < 0)
        kvmig__volume_clear(out);
    return code;
}

/* ---- block devices ---- */

/* libvirt has no element for the World Wide Name, but udev makes a link of it. */
static char *wwn_from_links(const struct kvmig__strlist *paths)
{
    static const char prefix[] = "/dev/disk/by-id/wwn-";
    for (size_t i = 0; i < paths->n; i++)
        if (kvmig__str_starts(paths->v[i], prefix))
            return kvmig__strdup(paths->v[i] + sizeof(prefix) - 1);
    return NULL;
}

static void read_paths(const xmlNode *device, const xmlNode *storage, struct kvmig__strlist *paths)
{
    char *block = kvmig__xml_child_text(storage, "block");
    if (block)
        kvmig__strlist_add(paths, block);
    KVMIG__XML_EACH(node, device, "devnode")
    {
        char *path = kvmig__xml_text(node);
        if (path && !kvmig__str_eq(path, block))
            kvmig__strlist_add(paths, path);
        free(path);
    }
    free(block);
}

static const xmlNode *storage_capability(const xmlNode *device)
{
    KVMIG__XML_EACH(node, device, "capability")
    {
        if (kvmig__xml_attr_is(node, "type", "storage"))
            return node;
    }
    return NULL;
}

/* A node device that is no storage gives an empty answer: no path, size unknown. */
int32_t kvmig__xml_block_device(const char *text, const char *where, struct kvmig__block_device *out)
{
    struct kvmig__xml xml;
    memset(out, 0, sizeof(*out));
    int32_t code = kvmig__xml_open(&xml, text, where, "device");
    if (code < 0)
        return code;
    const xmlNode *storage = storage_capability(xml.root);
    out->size = kvmig__xml_bytes(&xml, kvmig__xml_child(storage, "size"), NULL, 1, KVMIG__UNKNOWN);
    if (storage) {
        read_paths(xml.root, storage, &out->paths);
        out->serial = kvmig__xml_child_text(storage, "serial");
        out->wwn = wwn_from_links(&out->paths);
    }
    code = kvmig__xml_close(&xml);
    if (code < 0)
        kvmig__block_device_clear(out);
    return code;
}
