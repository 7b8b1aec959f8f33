/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * YAML documents as json-c objects, from libyaml's events. Resolves no scalar (yaml_scalar.c) and reads no sequence of JSON values
 * (yaml_json.c). Any thread; owns nothing beyond a call.
 *
 * A document is hostile until proven otherwise: what it may cost is counted before it is allocated, and an alias costs again
 * what its anchor did, because it is a copy. Buffers that may hold secrets (this reads kubeconfigs) are wiped, as far as
 * they are within reach.
 */
#include "kubernetes/yaml_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define MAX_ANCHORS 1000
#define MAX_ALIAS_COST ((uint64_t)64 << 20) /* of all copies in one text */

struct node {
    struct json_object *value;
    uint64_t cost;
    unsigned depth; /* of the lists and mappings that it consists of; 0 = a scalar */
};

struct anchor {
    char *name;
    struct node node;
};

struct reader {
    yaml_parser_t parser;
    struct kvmig__yaml_sink *sink;
    struct {
        struct anchor *v;
        size_t n;
    } anchors; /* of the document */
    uint64_t cost, alias_cost;
};

/* ---- the sink ---- */

void kvmig__yaml_give(struct kvmig__yaml_sink *sink, struct json_object *document)
{
    sink->n_given++;
    sink->stopped = !sink->fn(sink->data, document, sink->index++);
}

void kvmig__yaml_fail(struct kvmig__yaml_sink *sink, int32_t code, size_t line, size_t column, const char *hint,
                      const char *fmt, ...)
{
    char *where, *message;
    va_list args;

    if (sink->error)
        return;
    where = kvmig__asprintf("%s:%zu:%zu", sink->where, line, column);
    va_start(args, fmt);
    message = kvmig__vasprintf(fmt, args);
    va_end(args);
    sink->error = kvmig__error_new(code, where, NULL, hint, "%s", message);
    free(message);
    free(where);
}

void kvmig__yaml_fail_at(struct kvmig__yaml_sink *sink, int32_t code, size_t byte, const char *hint, const char *what)
{
    size_t line = 1, line_start = 0;

    for (size_t i = 0; i < byte && i < sink->length; i++) {
        if (sink->text[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    kvmig__yaml_fail(sink, code, line, byte - line_start + 1, hint, "%s", what);
}

/* ---- events ---- */

static bool fail_at(struct reader *reader, const yaml_mark_t *mark, int32_t code, const char *hint, const char *what)
{
    kvmig__yaml_fail(reader->sink, code, mark->line + 1, mark->column + 1, hint, "%s", what);
    return false;
}

/* The next event, which drop() ends; false: there is none. */
static bool next_event(struct reader *reader, yaml_event_t *event)
{
    const yaml_parser_t *parser = &reader->parser;
    const yaml_mark_t *mark = &parser->problem_mark;
    const char *problem;
    char *what;

    if (yaml_parser_parse(&reader->parser, event))
        return true;
    if (parser->error == YAML_MEMORY_ERROR)
        abort(); /* as every allocation of the library */
    problem = parser->problem ? parser->problem : "it ends too early";
    if (parser->context)
        what = kvmig__asprintf("the text is no YAML: %s that begins in line %zu, %s", parser->context,
                               parser->context_mark.line + 1, problem);
    else
        what = kvmig__asprintf("the text is no YAML: %s", problem);
    if (parser->error == YAML_READER_ERROR) /* no character at all; there is no mark of these */
        kvmig__yaml_fail_at(reader->sink, KVMIG_EJSON, parser->problem_offset, "Mend the YAML there.", what);
    else
        fail_at(reader, mark, KVMIG_EJSON, "Mend the YAML there.", what);
    free(what);
    return false;
}

static void drop(yaml_event_t *event)
{
    if (event->type == YAML_SCALAR_EVENT)
        explicit_bzero(event->data.scalar.value, event->data.scalar.length);
    yaml_event_delete(event);
}

static bool pay(struct reader *reader, struct node *node, uint64_t cost, const yaml_mark_t *mark)
{
    node->cost += cost;
    reader->cost += cost;
    return reader->cost <= KVMIG__YAML_MAX_COST ||
           fail_at(reader, mark, EMSGSIZE, "Split it into several files.", "the text is too large");
}

/* ---- anchors ---- */

static void forget_anchors(struct reader *reader)
{
    for (size_t i = 0; i < reader->anchors.n; i++) {
        free(reader->anchors.v[i].name);
        json_object_put(reader->anchors.v[i].node.value);
    }
    free(reader->anchors.v);
    reader->anchors.v = NULL;
    reader->anchors.n = 0;
}

static bool note_anchor(struct reader *reader, const char *name, const struct node *node, const yaml_mark_t *mark)
{
    struct anchor *anchor;

    if (!name)
        return true;
    if (reader->anchors.n >= MAX_ANCHORS)
        return fail_at(reader, mark, EMSGSIZE, "Write the values out.", "the document has too many anchors");
    anchor = KVMIG__PUSH(&reader->anchors);
    anchor->name = kvmig__strdup(name);
    anchor->node = *node;
    json_object_get(node->value);
    return true;
}

static bool read_alias(struct reader *reader, const char *name, const yaml_mark_t *mark, struct node *node)
{
    const struct anchor *anchor = NULL;

    /* An anchor may be given again; the last one counts. */
    for (size_t i = reader->anchors.n; i > 0 && !anchor; i--) {
        if (strcmp(reader->anchors.v[i - 1].name, name) == 0)
            anchor = &reader->anchors.v[i - 1];
    }
    if (!anchor)
        return fail_at(reader, mark, KVMIG_EJSON, "Define the anchor before, and outside of itself.",
                       "an alias (*) names an anchor (&) that is not there");
    reader->alias_cost += anchor->node.cost;
    if (reader->alias_cost > MAX_ALIAS_COST)
        return fail_at(reader, mark, EMSGSIZE, "Write the values out.", "the aliases of the text expand to too much");
    if (anchor->node.value && json_object_deep_copy(anchor->node.value, &node->value, NULL) < 0)
        abort(); /* as every allocation of the library */
    node->depth = anchor->node.depth;
    return pay(reader, node, anchor->node.cost, mark);
}

/* ---- nodes ---- */

static bool read_node(struct reader *reader, yaml_event_t *event, unsigned depth, struct node *node);

static bool read_scalar(struct reader *reader, const yaml_event_t *event, struct node *node)
{
    const char *text = (const char *)event->data.scalar.value, *tag = (const char *)event->data.scalar.tag;
    const size_t length = event->data.scalar.length;

    if (!pay(reader, node, KVMIG__YAML_SCALAR_COST + length, &event->start_mark))
        return false;
    if (!kvmig__yaml_scalar(text, length, tag, event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE, &node->value))
        return fail_at(reader, &event->start_mark, KVMIG_EJSON, "Remove the tag (!), or mend the value.",
                       "the tag of a value is not known, or the value does not fit it");
    return true;
}

static bool check_collection_tag(struct reader *reader, const yaml_event_t *event, const yaml_char_t *tag,
                                 const char *wanted)
{
    return !tag || strcmp((const char *)tag, "!") == 0 || strcmp((const char *)tag, wanted) == 0 ||
           fail_at(reader, &event->start_mark, KVMIG_EJSON, "Remove the tag (!).",
                   "the tag of a list or mapping is not known");
}

static void note_child(struct node *node, const struct node *child)
{
    node->cost += child->cost;
    if (node->depth < child->depth + 1)
        node->depth = child->depth + 1;
}

static bool read_sequence(struct reader *reader, const yaml_event_t *start, unsigned depth, struct node *node)
{
    yaml_event_t event;

    if (!check_collection_tag(reader, start, start->data.sequence_start.tag, YAML_SEQ_TAG) ||
        !pay(reader, node, KVMIG__YAML_SEQUENCE_COST, &start->start_mark))
        return false;
    node->value = json_object_new_array();
    while (next_event(reader, &event)) {
        struct node child = { 0 };

        if (event.type == YAML_SEQUENCE_END_EVENT) {
            drop(&event);
            return true;
        }
        if (!read_node(reader, &event, depth, &child)) {
            json_object_put(child.value);
            return false;
        }
        json_object_array_add(node->value, child.value);
        note_child(node, &child);
    }
    return false;
}

/* The text of a key as it stands; owned. NULL: it is none. */
static char *read_key(struct reader *reader, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    struct node alias = { 0 };
    char *key = NULL;

    if (event->type == YAML_SCALAR_EVENT && strlen(text) == event->data.scalar.length)
        return kvmig__strdup(text);
    if (event->type == YAML_ALIAS_EVENT) {
        if (read_alias(reader, (const char *)event->data.alias.anchor, &event->start_mark, &alias) &&
            json_object_is_type(alias.value, json_type_string))
            key = kvmig__strdup(json_object_get_string(alias.value));
        json_object_put(alias.value);
    }
    if (!key)
        fail_at(reader, &event->start_mark, KVMIG_EJSON, "Use a plain text as the key.",
                "a key of a mapping is no text");
    return key;
}

/* What has a key already keeps its value. */
static bool merge_mapping(struct json_object *into, struct json_object *from)
{
    if (!json_object_is_type(from, json_type_object))
        return false;
    json_object_object_foreach(from, key, value)
    {
        if (!json_object_object_get_ex(into, key, NULL))
            json_object_object_add(into, key, json_object_get(value));
    }
    return true;
}

static bool merge(struct json_object *into, struct json_object *from)
{
    if (!json_object_is_type(from, json_type_array))
        return merge_mapping(into, from);
    for (size_t i = 0; i < json_object_array_length(from); i++) {
        if (!merge_mapping(into, json_object_array_get_idx(from, i)))
            return false;
    }
    return true;
}

/* Reads the value that belongs to key_event, and puts it into node; *merged takes that of a merge key. */
static bool read_member(struct reader *reader, const yaml_event_t *key_event, unsigned depth, struct node *node,
                        struct json_object **merged)
{
    char *key = read_key(reader, key_event);
    const bool is_merge = key && strcmp(key, "<<") == 0 && key_event->type == YAML_SCALAR_EVENT &&
                          key_event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct node child = { 0 };
    yaml_event_t event;
    bool ok = key != NULL;

    if (ok && (is_merge ? *merged != NULL : json_object_object_get_ex(node->value, key, NULL))) {
        kvmig__yaml_fail(reader->sink, KVMIG_EJSON, key_event->start_mark.line + 1, key_event->start_mark.column + 1,
                         "Remove one of the two.", "the key \"%.100s\" stands twice in one mapping", key);
        ok = false;
    }
    ok = ok && pay(reader, node, strlen(key), &key_event->start_mark) && next_event(reader, &event) &&
         read_node(reader, &event, depth, &child);
    if (ok && is_merge && !json_object_is_type(child.value, json_type_object) &&
        !json_object_is_type(child.value, json_type_array))
        ok = fail_at(reader, &key_event->start_mark, KVMIG_EJSON, "Give a mapping, or a list of mappings.",
                     "what a merge key (<<) refers to is no mapping");
    if (!ok)
        json_object_put(child.value);
    else if (is_merge)
        *merged = child.value;
    else
        json_object_object_add(node->value, key, child.value);
    note_child(node, &child);
    free(key);
    return ok;
}

static bool read_members(struct reader *reader, unsigned depth, struct node *node, struct json_object **merged)
{
    yaml_event_t event;

    while (next_event(reader, &event)) {
        const bool is_end = event.type == YAML_MAPPING_END_EVENT;
        const bool ok = is_end || read_member(reader, &event, depth, node, merged);

        drop(&event);
        if (is_end || !ok)
            return ok;
    }
    return false;
}

static bool read_mapping(struct reader *reader, const yaml_event_t *start, unsigned depth, struct node *node)
{
    struct json_object *merged = NULL;
    bool ok = check_collection_tag(reader, start, start->data.mapping_start.tag, YAML_MAP_TAG) &&
              pay(reader, node, KVMIG__YAML_MAPPING_COST, &start->start_mark);

    if (!ok)
        return false;
    node->value = json_object_new_object();
    ok = read_members(reader, depth, node, &merged);
    if (ok && merged && !merge(node->value, merged))
        ok = fail_at(reader, &start->start_mark, KVMIG_EJSON, "Give a mapping, or a list of mappings.",
                     "what a merge key (<<) refers to is no mapping");
    json_object_put(merged);
    return ok;
}

/* Reads the node that event begins, and drops the event. depth: of what it is in. node->value is the caller's, also on failure. */
static bool read_node(struct reader *reader, yaml_event_t *event, unsigned depth, struct node *node)
{
    const yaml_char_t *anchor = NULL;
    bool ok;

    switch (event->type) {
    case YAML_ALIAS_EVENT:
        ok = read_alias(reader, (const char *)event->data.alias.anchor, &event->start_mark, node);
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        ok = depth < KVMIG__YAML_MAX_DEPTH && read_sequence(reader, event, depth + 1, node);
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        ok = depth < KVMIG__YAML_MAX_DEPTH && read_mapping(reader, event, depth + 1, node);
        break;
    default:
        anchor = event->data.scalar.anchor;
        ok = read_scalar(reader, event, node);
        break;
    }
    /* A copy of an anchor's value nests as deep as the value. */
    if (ok ? depth + node->depth > KVMIG__YAML_MAX_DEPTH : depth >= KVMIG__YAML_MAX_DEPTH)
        ok = fail_at(reader, &event->start_mark, EMSGSIZE, "Check that the text is what it should be.",
                     "the text is nested too deeply");
    ok = ok && note_anchor(reader, (const char *)anchor, node, &event->start_mark);
    drop(event);
    return ok;
}

/* ---- documents ---- */

static bool read_document(struct reader *reader, const yaml_event_t *start)
{
    struct node node = { 0 };
    yaml_event_t event;
    bool ok;

    /* Prefixes of one's own would be copied for each tag. */
    if (start->data.document_start.tag_directives.start != start->data.document_start.tag_directives.end)
        return fail_at(reader, &start->start_mark, KVMIG_EJSON, "Remove the directive.",
                       "%TAG directives are not supported");
    ok = next_event(reader, &event) && read_node(reader, &event, 0, &node);
    forget_anchors(reader);
    if (ok && (ok = next_event(reader, &event))) /* the end of the document */
        drop(&event);
    if (ok)
        kvmig__yaml_give(reader->sink, node.value);
    else
        json_object_put(node.value);
    return ok && !reader->sink->stopped;
}

static void read_documents(struct reader *reader)
{
    bool go_on = true;
    yaml_event_t event;

    while (go_on && next_event(reader, &event)) {
        if (event.type == YAML_DOCUMENT_START_EVENT)
            go_on = read_document(reader, &event);
        else
            go_on = event.type == YAML_STREAM_START_EVENT;
        drop(&event);
    }
}

static void read_yaml(struct kvmig__yaml_sink *sink)
{
    struct reader reader = { .sink = sink };
    yaml_parser_t *parser = &reader.parser;

    if (!yaml_parser_initialize(parser))
        abort(); /* as every allocation of the library */
    yaml_parser_set_input_string(parser, (const unsigned char *)sink->text, sink->length);
    read_documents(&reader);
    explicit_bzero(parser->raw_buffer.start, (size_t)(parser->raw_buffer.end - parser->raw_buffer.start));
    explicit_bzero(parser->buffer.start, (size_t)(parser->buffer.end - parser->buffer.start));
    yaml_parser_delete(parser);
}

size_t kvmig__yaml_read(const char *text, size_t length, const char *where,
                        bool (*fn)(void *data, struct json_object *document, size_t index), void *data,
                        struct kvmig_error **out_error)
{
    struct kvmig__yaml_sink sink = { .where = where, .text = text, .length = length, .fn = fn, .data = data };

    if (length > KVMIG__YAML_MAX_TEXT)
        sink.error =
            kvmig__error_new(EMSGSIZE, where, NULL, "Split it into several files.",
                             "the text is too large: %zu bytes, at most %zu are read", length, KVMIG__YAML_MAX_TEXT);
    else if (!kvmig__yaml_read_json(&sink))
        read_yaml(&sink);
    *out_error = sink.error;
    return sink.n_given;
}

/* ---- one document ---- */

struct only {
    struct json_object *document;
    size_t n;
};

static bool keep_only(void *data, struct json_object *document, size_t index)
{
    struct only *only = data;

    (void)index;
    if (only->n++ == 0)
        only->document = document;
    else
        json_object_put(document);
    return only->n < 2;
}

struct json_object *kvmig__yaml_parse(const char *text, size_t length, const char *where,
                                      struct kvmig_error **out_error)
{
    struct only only = { 0 };

    kvmig__yaml_read(text, length, where, keep_only, &only, out_error);
    if (!*out_error && (only.n != 1 || !only.document))
        *out_error = kvmig__error_new(KVMIG_EJSON, where, NULL, "Give exactly one document.", "%s",
                                      only.n > 1 ? "the text has more than one document" : "the text is empty");
    if (!*out_error)
        return only.document;
    json_object_put(only.document);
    return NULL;
}
