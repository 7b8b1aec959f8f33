/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Domain XML for another host: gives disks other paths there and leaves everything else as it is, also what this
 * library does not know. A disk that gets another path loses the description of its backing images, which are those of
 * the old path; libvirt then looks at the new image. Does not judge whether a path makes sense. Any thread.
 */
#include "libvirt/libvirt_internal.h"
#include "libvirt/xml_util.h"

#include <stdlib.h>

static xmlNode *find_disk(const struct kvmig__xml *xml, const char *target)
{
    KVMIG__XML_EACH(disk, kvmig__xml_child(xml->root, "devices"), "disk")
    {
        if (kvmig__xml_attr_is(kvmig__xml_child(disk, "target"), "dev", target))
            return disk;
    }
    return NULL;
}

/* The attribute of <source> that holds the path; NULL for a type that has no path. */
static const char *path_attribute(const xmlNode *disk)
{
    static const struct {
        const char *type, *attr;
    } types[] = { { "file", "file" }, { "block", "dev" }, { "dir", "dir" } };
    if (!xmlHasProp((xmlNode *)disk, (const xmlChar *)"type"))
        return "file"; /* libvirt's default */
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(types); i++)
        if (kvmig__xml_attr_is(disk, "type", types[i].type))
            return types[i].attr;
    return NULL;
}

static void drop_backing(xmlNode *disk)
{
    xmlNode *node = kvmig__xml_child(disk, "backingStore");
    while (node) {
        xmlNode *next = kvmig__xml_next(node, "backingStore");
        xmlUnlinkNode(node);
        xmlFreeNode(node);
        node = next;
    }
}

/* libxml2 would print what it cannot write, instead of failing. */
static bool can_be_written(const char *path)
{
    if (!path || *path == '\0' || !xmlCheckUTF8((const xmlChar *)path))
        return false;
    for (; *path != '\0'; path++)
        if ((unsigned char)*path < ' ')
            return false;
    return true;
}

static void retarget(struct kvmig__xml *xml, const char *target, const char *path)
{
    xmlNode *disk = find_disk(xml, target);
    if (!disk) {
        kvmig__xml_reject(xml, xml->root, "Name a disk by its <target dev=...>, as the plan lists it.",
                          "the domain has no disk \"%s\"", target);
        return;
    }
    if (!can_be_written(path)) {
        kvmig__xml_reject(xml, disk, "Use a path of printable UTF-8.",
                          "the new path of disk \"%s\" is empty or cannot be written in XML", target);
        return;
    }
    xmlNode *source = kvmig__xml_child(disk, "source");
    const char *attr = path_attribute(disk);
    if (!attr || !source || !xmlHasProp(source, (const xmlChar *)attr)) {
        kvmig__xml_reject(xml, disk, "Only a disk of type file, block or dir that has a medium can get another path.",
                          "disk \"%s\" has no path that could be changed", target);
        return;
    }
    if (kvmig__xml_attr_is(source, attr, path))
        return;
    xmlSetProp(source, (const xmlChar *)attr, (const xmlChar *)path);
    drop_backing(disk);
}

int32_t kvmig__xml_retarget_disks(const char *text, const char *where, const char *const *targets,
                                  const char *const *paths, size_t n, char **out)
{
    struct kvmig__xml xml;
    *out = NULL;
    int32_t code = kvmig__xml_open(&xml, text, where, "domain");
    if (code < 0)
        return code;
    for (size_t i = 0; i < n; i++)
        retarget(&xml, targets[i], paths[i]);
    if (!xml.error)
        *out = kvmig__xml_dump(xml.root);
    return kvmig__xml_close(&xml);
}
