/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Virtual networks of a host, read into the model. Whether a network is active is not in its XML and stays false. Any
 * thread; see xml_util.h for how errors in values are handled.
 */
#include "libvirt/libvirt_internal.h"
#include "libvirt/xml_util.h"

#include <stdlib.h>
#include <string.h>

int32_t kvmig__xml_network(const char *text, const char *where, struct kvmig__network *out)
{
    struct kvmig__xml xml;
    memset(out, 0, sizeof(*out));
    int32_t code = kvmig__xml_open(&xml, text, where, "network");
    if (code < 0)
        return code;
    out->name = kvmig__xml_child_text(xml.root, "name");
    out->bridge = kvmig__xml_attr(kvmig__xml_child(xml.root, "bridge"), "name");
    KVMIG__XML_EACH(node, xml.root, "portgroup")
    {
        char *name = kvmig__xml_attr(node, "name");
        if (name)
            kvmig__strlist_add(&out->portgroups, name);
        free(name);
    }
    code = kvmig__xml_close(&xml);
    if (code < 0)
        kvmig__network_clear(out);
    return code;
}
