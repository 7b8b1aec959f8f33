/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading XML safely with libxml2. The text comes from hypervisors and files that we do not trust: it is bounded in
 * size, depth, attributes and namespaces, must be UTF-8, and a document type declaration ends the reading before
 * anything in it is looked at, so that no entity is ever declared, loaded or expanded. Does not know any schema.
 *
 * Any thread. libxml2's process-wide settings are left alone: errors are collected by a handler of the one parser
 * context, nothing is printed, and its clean-up function, which would pull the library from under others, is never
 * called.
 */
#include "libvirt/xml_util.h"

#include <errno.h>
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>
#include <libxml/xmlversion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Longest piece of foreign text that an error quotes. */
#define MAX_QUOTE 200

static const char hint_source[] = "Pass the XML as libvirt prints it, for example by virsh dumpxml.";

/* ---- parsing ---- */

/* What the callbacks of one parser context leave behind. */
struct reading {
    startElementNsSAX2Func start_element;
    endElementNsSAX2Func end_element;
    uint32_t depth, namespaces; /* open at this point */
    uint32_t declared[KVMIG__XML_MAX_DEPTH + 1]; /* namespaces that the open element of each depth declared */
    const char *refused; /* why we stopped the parser ourselves; static text */
    char *message; /* libxml2's first error */
    int line; /* of refused or message */
};

#if LIBXML_VERSION >= 21200
typedef const xmlError *error_pointer;
#else
typedef xmlError *error_pointer;
#endif

/* The first error is the cause; those behind it are mostly its consequences. Namespaces may be broken: we only look at
 * elements that have none. */
static void on_error(void *ctxt, error_pointer error)
{
    struct reading *reading = ((xmlParserCtxt *)ctxt)->_private;
    if (reading->message || !error->message || error->level < XML_ERR_ERROR || error->domain == XML_FROM_NAMESPACE)
        return;
    size_t n = strcspn(error->message, "\n");
    reading->message = kvmig__strndup(error->message, n < MAX_QUOTE ? n : MAX_QUOTE);
    reading->line = error->line;
}

static void refuse(xmlParserCtxt *ctxt, const char *why)
{
    struct reading *reading = ctxt->_private;
    reading->refused = why;
    reading->line = xmlSAX2GetLineNumber(ctxt);
    xmlStopParser(ctxt);
}

/* Called when "<!DOCTYPE name" was read and before anything that the declaration holds. */
static void on_doctype(void *ctxt, const xmlChar *name, const xmlChar *external_id, const xmlChar *system_id)
{
    (void)name;
    (void)external_id;
    (void)system_id;
    refuse(ctxt, "it has a document type declaration (DOCTYPE)");
}

static void on_start_element(void *ctxt, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                             int n_namespaces, const xmlChar **namespaces, int n_attributes, int n_defaulted,
                             const xmlChar **attributes)
{
    struct reading *reading = ((xmlParserCtxt *)ctxt)->_private;
    if (reading->depth == KVMIG__XML_MAX_DEPTH) {
        refuse(ctxt, "its elements are nested too deeply");
        return;
    }
    reading->declared[++reading->depth] = (uint32_t)n_namespaces;
    reading->namespaces += (uint32_t)n_namespaces;
    if (reading->namespaces > KVMIG__XML_MAX_NAMESPACES) {
        refuse(ctxt, "it declares too many namespaces");
        return;
    }
    reading->start_element(ctxt, name, prefix, uri, n_namespaces, namespaces, n_attributes, n_defaulted, attributes);
}

static void on_end_element(void *ctxt, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    struct reading *reading = ((xmlParserCtxt *)ctxt)->_private;
    reading->namespaces -= reading->declared[reading->depth--];
    reading->end_element(ctxt, name, prefix, uri);
}

/* A bound on the attributes of any element, found before libxml2 sees them: the number of quoted strings in a tag. A
 * tag starts at '<', which cannot stand inside another, so that the count is never too low; in comments it may be too
 * high. */
static size_t most_attributes(const char *text)
{
    size_t most = 0;
    for (const char *p = strchr(text, '<'); p; p = strchr(p, '<')) {
        size_t n = 0;
        char quote = '\0';
        for (p++; *p != '\0' && *p != '<' && (quote || *p != '>'); p++) {
            if (quote && *p == quote) {
                quote = '\0';
            } else if (!quote && (*p == '"' || *p == '\'')) {
                quote = *p;
                n++;
            }
        }
        if (n > most)
            most = n;
    }
    return most;
}

/* Why the text is not even shown to libxml2; NULL = it may be. */
static const char *refuse_text(const char *text, size_t size)
{
    if (size > KVMIG__XML_MAX_BYTES)
        return "it is larger than 16 MiB";
    if (!xmlCheckUTF8((const xmlChar *)text))
        return "it is not UTF-8";
    if (most_attributes(text) > KVMIG__XML_MAX_ATTRIBUTES)
        return "an element has too many attributes";
    return NULL;
}

static pthread_once_t libxml_once = PTHREAD_ONCE_INIT;

static xmlDoc *parse(const char *text, size_t size, struct reading *reading)
{
    /* Idempotent, but not safe against itself in every version that we may meet. */
    pthread_once(&libxml_once, xmlInitParser);
    xmlParserCtxt *ctxt = xmlNewParserCtxt();
    if (!ctxt)
        abort(); /* out of memory, as everywhere in this library */
    reading->start_element = ctxt->sax->startElementNs;
    reading->end_element = ctxt->sax->endElementNs;
    ctxt->sax->startElementNs = on_start_element;
    ctxt->sax->endElementNs = on_end_element;
    ctxt->sax->internalSubset = on_doctype;
    ctxt->sax->serror = on_error;
    ctxt->_private = reading;
    /* IGNORE_ENC: the text is a C string in UTF-8, whatever its declaration says. */
    xmlDoc *doc = xmlCtxtReadMemory(ctxt, text, (int)size, NULL, NULL,
                                    XML_PARSE_NONET | XML_PARSE_IGNORE_ENC | XML_PARSE_BIG_LINES);
    if (doc && (reading->refused || !ctxt->wellFormed)) {
        xmlFreeDoc(doc);
        doc = NULL;
    }
    xmlFreeParserCtxt(ctxt);
    return doc;
}

static int32_t fail_reading(const char *where, const char *root, const struct reading *reading)
{
    struct kvmig_error *error = NULL;
    char *place = reading->line > 0 ? kvmig__asprintf("%s, line %d", where, reading->line) : kvmig__strdup(where);
    if (reading->refused)
        error = kvmig__error_new(KVMIG_EXML, place, NULL, hint_source, "the XML of <%s> is refused: %s", root,
                                 reading->refused);
    else
        error = kvmig__error_new(KVMIG_EXML, place, reading->message, hint_source, "the XML of <%s> is broken: %s",
                                 root, reading->message ? reading->message : "it cannot be parsed");
    free(place);
    return kvmig__fail(error);
}

static int32_t check_root(struct kvmig__xml *xml, const char *root)
{
    const char *found = xml->root ? (const char *)xml->root->name : NULL;
    if (found && !xml->root->ns && strcmp(found, root) == 0)
        return 0;
    kvmig__xml_reject(xml, xml->root, hint_source, "expected <%s>, found %s%.*s%s", root, found ? "<" : "nothing",
                      MAX_QUOTE, found ? found : "", found ? xml->root->ns ? "> in a namespace" : ">" : "");
    return kvmig__xml_close(xml);
}

int32_t kvmig__xml_open(struct kvmig__xml *xml, const char *text, const char *where, const char *root)
{
    struct reading reading = { 0 };
    memset(xml, 0, sizeof(*xml));
    xml->where = where ? where : "XML";
    if (!text)
        return kvmig__fail(kvmig__error_new(EINVAL, xml->where, NULL, hint_source, "there is no XML of <%s>", root));
    size_t size = strnlen(text, KVMIG__XML_MAX_BYTES + 1);
    reading.refused = refuse_text(text, size);
    if (!reading.refused)
        xml->doc = parse(text, size, &reading);
    if (!xml->doc) {
        int32_t code = fail_reading(xml->where, root, &reading);
        free(reading.message);
        return code;
    }
    free(reading.message);
    xml->root = xmlDocGetRootElement(xml->doc);
    return check_root(xml, root);
}

int32_t kvmig__xml_close(struct kvmig__xml *xml)
{
    struct kvmig_error *error = xml->error;
    xmlFreeDoc(xml->doc);
    memset(xml, 0, sizeof(*xml));
    return error ? kvmig__fail(error) : 0;
}

void kvmig__xml_reject(struct kvmig__xml *xml, const xmlNode *node, const char *hint, const char *message_fmt, ...)
{
    if (xml->error)
        return;
    va_list args;
    va_start(args, message_fmt);
    char *message = kvmig__vasprintf(message_fmt, args);
    va_end(args);
    char *place = node ? kvmig__asprintf("%s, line %ld", xml->where, xmlGetLineNo(node)) : kvmig__strdup(xml->where);
    xml->error = kvmig__error_new(KVMIG_EXML, place, NULL, hint, "%s", message);
    free(place);
    free(message);
}

/* ---- elements ---- */

static bool is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && !node->ns && strcmp((const char *)node->name, name) == 0;
}

static xmlNode *first_from(xmlNode *node, const char *name)
{
    while (node && !is_element(node, name))
        node = node->next;
    return node;
}

xmlNode *kvmig__xml_child(const xmlNode *parent, const char *name)
{
    return parent ? first_from(parent->children, name) : NULL;
}

xmlNode *kvmig__xml_next(const xmlNode *node, const char *name)
{
    return node ? first_from(node->next, name) : NULL;
}

xmlNode *kvmig__xml_child_ns(const xmlNode *parent, const char *namespace_uri, const char *name)
{
    for (xmlNode *node = parent ? parent->children : NULL; node; node = node->next)
        if (node->type == XML_ELEMENT_NODE && node->ns && kvmig__str_eq((const char *)node->ns->href, namespace_uri) &&
            kvmig__str_eq((const char *)node->name, name))
            return node;
    return NULL;
}

/* ---- text ---- */

/* libxml2's allocator may be another one than ours. */
static char *take(xmlChar *text)
{
    char *copy = text && *text ? kvmig__strdup((const char *)text) : NULL;
    xmlFree(text);
    return copy;
}

char *kvmig__xml_text(const xmlNode *node)
{
    return node ? take(xmlNodeGetContent((xmlNode *)node)) : NULL;
}

char *kvmig__xml_child_text(const xmlNode *parent, const char *name)
{
    return kvmig__xml_text(kvmig__xml_child(parent, name));
}

char *kvmig__xml_attr(const xmlNode *node, const char *name)
{
    return node ? take(xmlGetNoNsProp((xmlNode *)node, (const xmlChar *)name)) : NULL;
}

bool kvmig__xml_attr_is(const xmlNode *node, const char *name, const char *value)
{
    char *text = kvmig__xml_attr(node, name);
    bool is = kvmig__str_eq(text, value);
    free(text);
    return is;
}

char *kvmig__xml_dump(const xmlNode *node)
{
    if (!node)
        return NULL;
    xmlBuffer *buffer = xmlBufferCreate();
    xmlNodeDump(buffer, node->doc, (xmlNode *)node, 0, 0);
    char *text = kvmig__strdup((const char *)xmlBufferContent(buffer));
    xmlBufferFree(buffer);
    return text;
}

/* ---- numbers ---- */

static const char white_space[] = " \t\r\n";

/* Only digits, which strtoull() would be too generous about: it takes signs and tells too late. */
static bool parse_uint(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    text += strspn(text, white_space);
    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    text += strspn(text, white_space);
    *out = value;
    return *text == '\0';
}

static void reject_value(struct kvmig__xml *xml, const xmlNode *node, const char *attr, const char *text,
                         const char *why)
{
    kvmig__xml_reject(xml, node, "Correct the value, or leave the element out if it is not known.",
                      "%s%s<%s> is \"%.*s\", which is %s", attr ? attr : "", attr ? " of " : "",
                      (const char *)node->name, MAX_QUOTE, text, why);
}

uint64_t kvmig__xml_uint(struct kvmig__xml *xml, const xmlNode *node, const char *attr, uint64_t max, uint64_t absent)
{
    uint64_t value = 0;
    char *text = attr ? kvmig__xml_attr(node, attr) : kvmig__xml_text(node);
    if (!text)
        return absent;
    if (!parse_uint(text, &value)) {
        reject_value(xml, node, attr, text, "not a whole number from 0 to 18446744073709551615");
        value = absent;
    } else if (value > max) {
        reject_value(xml, node, attr, text, "too large");
        value = absent;
    }
    free(text);
    return value;
}

/* "KiB" and "K" count in 1024, "KB" in 1000, as libvirt has it; in either case. False for what is no unit. */
static bool unit_factor(const char *unit, uint64_t *out)
{
    static const char letters[] = "kmgtpe";
    static const char *const bytes[] = { "b", "byte", "bytes" };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(bytes); i++) {
        if (strcasecmp(unit, bytes[i]) == 0) {
            *out = 1;
            return true;
        }
    }
    const char *letter = strchr(letters, *unit >= 'A' && *unit <= 'Z' ? *unit - 'A' + 'a' : *unit);
    if (*unit == '\0' || !letter)
        return false;
    bool decimal = strcasecmp(unit + 1, "b") == 0;
    if (!decimal && unit[1] != '\0' && strcasecmp(unit + 1, "ib") != 0)
        return false;
    *out = 1;
    for (const char *step = letters; step <= letter; step++)
        *out *= decimal ? 1000 : 1024;
    return true;
}

uint64_t kvmig__xml_bytes(struct kvmig__xml *xml, const xmlNode *node, const char *attr, uint64_t default_unit,
                          uint64_t absent)
{
    uint64_t value = kvmig__xml_uint(xml, node, attr, UINT64_MAX, UINT64_MAX);
    uint64_t factor = default_unit;
    char *unit = kvmig__xml_attr(node, "unit");
    if (unit && !unit_factor(unit, &factor)) {
        reject_value(xml, node, "unit", unit, "not a unit such as KiB, MB or bytes");
        value = UINT64_MAX;
    }
    free(unit);
    if (value == UINT64_MAX)
        return absent;
    if (__builtin_mul_overflow(value, factor, &value)) {
        kvmig__xml_reject(xml, node, "Correct the value, or leave the element out if it is not known.",
                          "%s%s<%s> is too large to be counted in bytes", attr ? attr : "", attr ? " of " : "",
                          (const char *)node->name);
        return absent;
    }
    return value;
}
