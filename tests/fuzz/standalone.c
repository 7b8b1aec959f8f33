/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Replays inputs through a fuzz target without libFuzzer: the files and folders given as arguments, or else the corpus
 * of the target, which its program name tells. Proves that what fuzzers have found stays mended, with any compiler.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static size_t replayed;

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (!file || fstat(fileno(file), &info) < 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    /* malloc(size), not more: the sanitizer then sees reads past the end. */
    size_t size = (size_t)info.st_size;
    uint8_t *data = kvmig__calloc(size, 1);
    if (fread(data, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(EXIT_FAILURE);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    replayed++;
}

static void replay(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        replay_file(path);
        return;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (entry->d_name[0] == '.')
            continue;
        char *name = kvmig__asprintf("%s/%s", path, entry->d_name);
        replay(name);
        free(name);
    }
    closedir(folder);
}

static void replay_corpus_of(const char *program)
{
    const char *name = strstr(program, "fuzz_");
    for (const char *next = name; next; next = strstr(next + 1, "fuzz_"))
        name = next;
    char *path = kvmig__asprintf("%s/tests/fuzz/corpus/%s", TOP_SRCDIR, name ? name + strlen("fuzz_") : program);
    replay(path);
    free(path);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    if (argc < 2)
        replay_corpus_of(argv[0]);
    printf("%zu inputs replayed\n", replayed);
    return replayed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
