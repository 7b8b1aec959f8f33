/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Domain capabilities: which kinds of devices an emulator offers, as lists by name: "video/modelType" holds "virtio",
 * "vga" and so on, and "video" itself "yes". What this version of libvirt does not print is left out, and so is a list
 * without members, which some versions print for what they cannot tell. Judges nothing. Any thread.
 */
#include "libvirt/xml_util.h"

#include <libxml/tree.h>
#include <stdlib.h>

/* More than any version prints; it bounds what a made-up document can make of it. */
#define MAX_OFFERS 500

/* what is taken. */
static struct kvmig__strlist *add_offer(struct kvmig__emulator *out, char *what)
{
    struct kvmig__offer *offer = KVMIG__PUSH(&out->offers);
    offer->what = what;
    return &offer->values;
}

static void add_values(const xmlNode *parent, char *what, struct kvmig__emulator *out)
{
    struct kvmig__strlist *values = NULL;
    KVMIG__XML_EACH(item, parent, "value")
    {
        char *text = kvmig__xml_text(item);
        if (text && !values)
            values = add_offer(out, kvmig__strdup(what));
        if (text)
            kvmig__strlist_add(values, text);
        free(text);
    }
    free(what);
}

static void add_enums(const xmlNode *parent, const char *name, struct kvmig__emulator *out)
{
    KVMIG__XML_EACH(node, parent, "enum")
    {
        char *list = kvmig__xml_attr(node, "name");
        if (list && out->offers.n < MAX_OFFERS)
            add_values(node, kvmig__asprintf("%s/%s", name, list), out);
        free(list);
    }
}

/* One element with an attribute "supported", and the lists in it. */
static void add_element(const xmlNode *node, struct kvmig__emulator *out)
{
    const char *name = (const char *)node->name;
    bool yes = kvmig__xml_attr_is(node, "supported", "yes");
    struct kvmig__strlist *values;
    if (out->offers.n >= MAX_OFFERS || (!yes && !kvmig__xml_attr_is(node, "supported", "no")))
        return;
    values = add_offer(out, kvmig__strdup(name));
    if (yes)
        kvmig__strlist_add(values, "yes");
    add_enums(node, name, out);
}

static void add_elements(const xmlNode *parent, struct kvmig__emulator *out)
{
    for (const xmlNode *node = parent ? parent->children : NULL; node; node = node->next)
        if (node->type == XML_ELEMENT_NODE && !node->ns)
            add_element(node, out);
}

void kvmig__xml_read_offers(const xmlNode *capabilities, struct kvmig__emulator *out)
{
    const xmlNode *os = kvmig__xml_child(capabilities, "os");
    const xmlNode *loader = kvmig__xml_child(os, "loader");
    const xmlNode *backing = kvmig__xml_child(capabilities, "memoryBacking");
    add_enums(os, "os", out);
    add_values(loader, kvmig__strdup("loader/path"), out);
    add_enums(loader, "loader", out);
    if (backing)
        add_element(backing, out);
    add_elements(kvmig__xml_child(capabilities, "devices"), out);
    add_elements(kvmig__xml_child(capabilities, "features"), out);
}
