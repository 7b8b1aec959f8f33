/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program may load the library late, from a thread, and close it again: thread-local errors must not make the thread's
 * end jump into unmapped code (the library is linked with -z nodelete for that).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static void *load_use_close(void *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int32_t (*context_new)(const void *, void **);

    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    context_new = (int32_t(*)(const void *, void **))(uintptr_t)dlsym(library, "kvmig_context_new");
    /* Fails (no place for the result) and so leaves a thread-local error behind. */
    if (context_new == NULL || context_new(NULL, NULL) >= 0) {
        dlclose(library);
        return NULL;
    }
    return dlclose(library) == 0 ? library : NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *result = NULL;

    if (argc != 2) {
        fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
        return 2;
    }
    for (int round = 0; round < 3; round++) {
        if (pthread_create(&thread, NULL, load_use_close, argv[1]) != 0 || pthread_join(thread, &result) != 0) {
            return 1;
        }
        if (result == NULL) {
            fprintf(stderr, "round %d failed\n", round);
            return 1;
        }
    }
    return 0;
}
