/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files of a snapshot: finds and reads them, and hands their text on. Blocks on the file system; no lock; any
 * thread. A file that cannot be read is reported, and the others are read.
 */
#include "kubernetes/snapshot_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FILE ((size_t)256 << 20)
#define PIECE ((size_t)1 << 16)
#define MAX_DEPTH 4 /* of folders within folders */

static const char *const advice = "Check that the file exists and that this account may read it.";

static void read_file(struct kvmig__snapshot_load *load, FILE *file, const char *path)
{
    char *text = NULL;
    size_t length = 0, room = 0;

    while (!feof(file) && !ferror(file) && length <= MAX_FILE) {
        if (room - length < PIECE) {
            room = room ? room * 2 : PIECE * 2;
            text = kvmig__realloc_array(text, room, 1);
        }
        length += fread(text + length, 1, room - length, file);
    }
    if (ferror(file))
        kvmig__snapshot_problem(load, path, NULL, advice, "cannot be read: %s", kvmig__errno_text(errno));
    else if (length > MAX_FILE)
        kvmig__snapshot_problem(load, path, NULL, "Split it into several files.", "is larger than %zu MiB",
                                MAX_FILE >> 20);
    else
        kvmig__snapshot_text(load, text, length, path);
    free(text);
}

static void load_file(struct kvmig__snapshot_load *load, const char *path)
{
    FILE *file = fopen(path, "re");

    if (!file) {
        kvmig__snapshot_problem(load, path, NULL, advice, "cannot be opened: %s", kvmig__errno_text(errno));
        return;
    }
    read_file(load, file, path);
    fclose(file);
}

/* Regular files and folders alone: a device or pipe that happens to lie there may never end. Hidden ones are editors' and tools'
 * own, and a link to a folder may lead back. */
static void list_folder(DIR *folder, const char *path, struct kvmig__strlist *out_files,
                        struct kvmig__strlist *out_folders)
{
    struct dirent *entry;
    struct stat st;

    while ((entry = readdir(folder))) {
        char *file;

        if (entry->d_name[0] == '.')
            continue;
        file = kvmig__asprintf("%s%s%s", path, kvmig__str_ends(path, "/") ? "" : "/", entry->d_name);
        if (!fstatat(dirfd(folder), entry->d_name, &st, 0) && S_ISREG(st.st_mode))
            kvmig__strlist_add(out_files, file);
        else if (!fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode))
            kvmig__strlist_add(out_folders, file);
        free(file);
    }
    kvmig__strlist_sort(out_files);
    kvmig__strlist_sort(out_folders);
}

static void load_folder(struct kvmig__snapshot_load *load, const char *path, unsigned int depth)
{
    DIR *folder = opendir(path);
    struct kvmig__strlist files = { 0 }, folders = { 0 };

    if (!folder) {
        kvmig__snapshot_problem(load, path, NULL, advice, "cannot be listed: %s", kvmig__errno_text(errno));
        return;
    }
    list_folder(folder, path, &files, &folders);
    closedir(folder);
    for (size_t i = 0; i < files.n; i++)
        load_file(load, files.v[i]);
    for (size_t i = 0; i < folders.n && depth < MAX_DEPTH; i++)
        load_folder(load, folders.v[i], depth + 1);
    kvmig__strlist_clear(&files);
    kvmig__strlist_clear(&folders);
}

void kvmig__snapshot_load_paths(struct kvmig__snapshot_load *load, const struct kvmig__strlist *paths)
{
    struct stat st;

    for (size_t i = 0; i < paths->n; i++) {
        if (!stat(paths->v[i], &st) && S_ISDIR(st.st_mode))
            load_folder(load, paths->v[i], 0);
        else
            load_file(load, paths->v[i]);
    }
}

void kvmig__snapshot_load(struct kvmig__kube *kube, const struct kvmig__strlist *paths, struct kvmig_findings *problems)
{
    struct kvmig__snapshot_load load = { .kube = kube, .problems = problems };

    kvmig__snapshot_load_paths(&load, paths);
    kvmig__snapshot_finish(&load);
}
