/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The size-tagged option structs of callers that were built against other versions of the headers: setting them to their
 * defaults, and reading them. Does not judge what an option says. Any thread; the caller owns both structs.
 */
#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Offset of the first non-zero byte that this library does not know; 0 if there is none. */
static size_t unknown_byte(const unsigned char *src, size_t known_size, size_t src_size)
{
    for (size_t i = known_size; i < src_size; i++) {
        if (src[i])
            return i;
    }
    return 0;
}

int32_t kvmig__opts_copy(void *dst, size_t known_size, const void *src, const char *where)
{
    size_t src_size, offset;
    char *evidence;
    int32_t rc;

    memset(dst, 0, known_size);
    memcpy(dst, &known_size, sizeof(known_size));
    if (!src)
        return 0;
    memcpy(&src_size, src, sizeof(src_size));
    if (src_size < sizeof(src_size)) {
        evidence = kvmig__asprintf("size = %zu", src_size);
        rc = kvmig__fail(kvmig__error_new(EINVAL, where, evidence,
                                          "Initialise the struct with its KVMIG_..._INIT macro, which sets .size.",
                                          "The size member of the options is not set."));
        free(evidence);
        return rc;
    }
    memcpy(dst, src, src_size < known_size ? src_size : known_size);
    memcpy(dst, &known_size, sizeof(known_size));
    offset = unknown_byte(src, known_size, src_size);
    if (!offset)
        return 0;
    evidence = kvmig__asprintf("the byte at offset %zu is set; this library (%s) knows %zu bytes", offset,
                               kvmig_version_string(), known_size);
    rc = kvmig__fail(kvmig__error_new(E2BIG, where, evidence,
                                      "Use a newer libkvmig, or leave the options unset that it does not know.",
                                      "An option is set that this version of the library does not know."));
    free(evidence);
    return rc;
}

int32_t kvmig__opts_init(void *opts, size_t size, const char *where)
{
    char *evidence;
    int32_t rc;

    if (opts && size >= sizeof(size)) {
        memset(opts, 0, size);
        memcpy(opts, &size, sizeof(size));
        return 0;
    }
    evidence = opts ? kvmig__asprintf("size = %zu", size) : NULL;
    rc = kvmig__fail(kvmig__error_new(EINVAL, where, evidence, "Pass the struct and its size as the caller knows it.",
                                      opts ? "The size has no room for the size member of the options."
                                           : "There is no struct to initialise."));
    free(evidence);
    return rc;
}
