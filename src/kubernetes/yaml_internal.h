/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Between the files of the YAML reader: its bounds, who gets the documents, how errors are worded, scalars, JSON. Any thread.
 */
#ifndef KVMIG_SRC_YAML_INTERNAL_H
#define KVMIG_SRC_YAML_INTERNAL_H

#include "kubernetes/yaml.h"

#define KVMIG__YAML_MAX_TEXT ((size_t)256 << 20)
#define KVMIG__YAML_MAX_DEPTH 200 /* of lists and mappings in each other; a schema of an API nests some sixty deep */
/* What the objects of one text may take in memory, roughly: "{}," is three bytes to send and a kilobyte to keep. */
#define KVMIG__YAML_MAX_COST ((uint64_t)2 << 30)
#define KVMIG__YAML_MAPPING_COST 1024
#define KVMIG__YAML_SEQUENCE_COST 512
#define KVMIG__YAML_SCALAR_COST 96

struct kvmig__yaml_sink { /* who gets the documents, and how it goes */
    const char *where;
    const char *text; /* all of it */
    size_t length;
    bool (*fn)(void *data, struct json_object *document, size_t index);
    void *data;
    size_t index; /* of the next document */
    size_t n_given;
    bool stopped; /* by fn */
    struct kvmig_error *error; /* the first one; owned */
};
/* Hands a document over (takes it). */
void kvmig__yaml_give(struct kvmig__yaml_sink *sink, struct json_object *document);
/* Keeps an error unless there is one already. line and column count from 1. */
void kvmig__yaml_fail(struct kvmig__yaml_sink *sink, int32_t code, size_t line, size_t column, const char *hint,
                      const char *fmt, ...) KVMIG__PRINTF(6, 7);
/* The same, of a byte of the text. */
void kvmig__yaml_fail_at(struct kvmig__yaml_sink *sink, int32_t code, size_t byte, const char *hint, const char *what);

/* The value of a scalar (owned; NULL is null). tag NULL = none. False: the text does not fit the tag, or the tag is not known. */
bool kvmig__yaml_scalar(const char *text, size_t length, const char *tag, bool plain, struct json_object **out);

/* Reads the sink's text if it consists of JSON values, one after another. False: it is none, nothing was given, and it may still be YAML. */
bool kvmig__yaml_read_json(struct kvmig__yaml_sink *sink);

#endif
