/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of files at hand share: texts read as files, and a folder of real ones. Single-threaded.
 */
#ifndef KVMIG_TESTS_FILES_TEST_H
#define KVMIG_TESTS_FILES_TEST_H

#include "files/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define JSON(...) #__VA_ARGS__

/* Reads one text; hosts as in struct kvmig__files_ask, NULL-terminated, may be NULL. kvmig__files_clear() the result. */
static inline struct kvmig__files files_of(const char *text, const char *name, const char *source,
                                           const char *const *hosts)
{
    struct kvmig__files_ask ask = { .source = kvmig__strdup(source) };
    struct kvmig__files files = { .facts = NULL };

    for (; hosts && *hosts; hosts++)
        kvmig__strlist_add(&ask.hosts, *hosts);
    kvmig__files_read(&files, &ask, text, strlen(text), name);
    kvmig__files_ask_clear(&ask);
    return files;
}

/* A folder of files, and what is asked for. */
struct folder {
    char path[32];
    struct kvmig__strlist names;
    struct kvmig__files_ask ask;
    struct kvmig__files files;
};

static inline int folder_set_up(void **state)
{
    struct folder *f = kvmig__calloc(1, sizeof(*f));

    strcpy(f->path, "/tmp/kvmig-files-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    *state = f;
    return 0;
}

static inline void folder_write(struct folder *f, const char *name, const char *text)
{
    char *path = kvmig__asprintf("%s/%s", f->path, name);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    kvmig__strlist_add_new(&f->names, path);
    free(path);
}

/* Reads all files, in the order in which they were written. */
static inline void folder_load(struct folder *f)
{
    kvmig__strlist_clear(&f->ask.paths);
    kvmig__strlist_copy(&f->ask.paths, &f->names);
    kvmig__files_clear(&f->files);
    kvmig__files_load(&f->files, &f->ask);
}

static inline int folder_tear_down(void **state)
{
    struct folder *f = *state;

    for (size_t i = 0; i < f->names.n; i++)
        remove(f->names.v[i]);
    assert_int_equal(rmdir(f->path), 0);
    kvmig__strlist_clear(&f->names);
    kvmig__files_ask_clear(&f->ask);
    kvmig__files_clear(&f->files);
    free(f);
    return 0;
}

#endif
