/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading XML safely, for the parsers beside this file; nothing here knows what the elements mean. A document is
 * opened, read and closed on one thread and never crosses to another.
 *
 * Values that cannot be understood do not stop a parser: the first one is remembered in the document and
 * kvmig__xml_close() fails with it, so that parsers need not check every read. Absent elements and attributes are no
 * error. Only elements without a namespace are looked at, unless a function says otherwise. Every node argument may be
 * NULL, which reads as absent.
 */
#ifndef KVMIG_SRC_XML_UTIL_H
#define KVMIG_SRC_XML_UTIL_H

#include "cluster/model.h"
#include <libxml/tree.h>

#define KVMIG__XML_MAX_BYTES ((size_t)16 << 20)
#define KVMIG__XML_MAX_DEPTH 256
/* libxml2 compares each attribute of an element with all others, and each prefix with all namespaces in scope: without
 * a bound, one megabyte keeps it busy for minutes. */
#define KVMIG__XML_MAX_ATTRIBUTES 1000
#define KVMIG__XML_MAX_NAMESPACES 200

#define KVMIG__KIB ((uint64_t)1024)

struct kvmig__xml {
    xmlDoc *doc;
    xmlNode *root;
    const char *where; /* borrowed */
    struct kvmig_error *error; /* the first value that was not understood; NULL = none */
};

/* Reads text, whose root must be <root>. On failure there is nothing to close. */
int32_t kvmig__xml_open(struct kvmig__xml *xml, const char *text, const char *where, const char *root);
/* Frees the document. 0, or fails with the first value that was not understood. */
int32_t kvmig__xml_close(struct kvmig__xml *xml);
/* Remembers that node is not understood, unless something was before. */
void kvmig__xml_reject(struct kvmig__xml *xml, const xmlNode *node, const char *hint, const char *message_fmt, ...)
    KVMIG__PRINTF(4, 5);

/* ---- elements: first child of that name, next sibling of that name; NULL if none ---- */
xmlNode *kvmig__xml_child(const xmlNode *parent, const char *name);
xmlNode *kvmig__xml_next(const xmlNode *node, const char *name);
#define KVMIG__XML_EACH(node, parent, name)                                                                            \
    for (xmlNode *node = kvmig__xml_child(parent, name); node; node = kvmig__xml_next(node, name))
/* The first child of that name in a vendor's namespace; NULL if none. */
xmlNode *kvmig__xml_child_ns(const xmlNode *parent, const char *namespace_uri, const char *name);

/* ---- text as it stands; owned; NULL if absent or empty ---- */
char *kvmig__xml_text(const xmlNode *node);
char *kvmig__xml_child_text(const xmlNode *parent, const char *name);
char *kvmig__xml_attr(const xmlNode *node, const char *name);
bool kvmig__xml_attr_is(const xmlNode *node, const char *name, const char *value);
/* The element and all below as text. */
char *kvmig__xml_dump(const xmlNode *node);

/* ---- numbers: of an attribute, or of the element's text if attr is NULL; `absent` if there is none ---- */
uint64_t kvmig__xml_uint(struct kvmig__xml *xml, const xmlNode *node, const char *attr, uint64_t max, uint64_t absent);
/* Bytes. The element's unit attribute ("KiB", "MB", "bytes", ...) counts, default_unit where it has none. */
uint64_t kvmig__xml_bytes(struct kvmig__xml *xml, const xmlNode *node, const char *attr, uint64_t default_unit,
                          uint64_t absent);

/* ---- shared by the parsers ---- */
/* Fills the empty *out from a <cpu> (or what has its children, as host-model's <mode>). xml_caps.c */
void kvmig__xml_read_cpu(const xmlNode *cpu, struct kvmig__cpu *out);
/* Adds the interfaces and the devices that may be in the way. xml_domain_devices.c */
void kvmig__xml_read_devices(const xmlNode *domain, struct kvmig__domain *out);
/* NUMA cells with their CPUs and pages, the TSC, and the kinds of guests that it can run. xml_host.c */
void kvmig__xml_read_host_resources(struct kvmig__xml *xml, struct kvmig__host *out);
void kvmig__host_resources_clear(struct kvmig__host *host);
/* Adds the lists of the domain capabilities. xml_offers.c */
void kvmig__xml_read_offers(const xmlNode *capabilities, struct kvmig__emulator *out);
/* What the guest needs of the host: lists of its QEMU, secrets, CPUs. xml_domain_needs.c */
void kvmig__xml_read_needs(const xmlNode *domain, struct kvmig__domain *out);
/* "0000:81:00.1" from an <address> with domain, bus, slot and function; owned; NULL if it has no such numbers.
 * xml_domain_devices.c */
char *kvmig__xml_pci_address(const xmlNode *address);

#endif
