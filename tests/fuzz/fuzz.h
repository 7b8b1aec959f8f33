/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What fuzz targets share. A target is one file with LLVMFuzzerTestOneInput(); it is linked with libFuzzer, or with
 * standalone.c, which replays the target's corpus (tests/fuzz/corpus/<target without "fuzz_">/) in `make check`.
 *
 * With libFuzzer, from the top of the sources:
 *   clang -std=gnu11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Isrc -I. \
 *       $(pkg-config --cflags --libs libvirt libxml-2.0 json-c) tests/fuzz/fuzz_xml_domain.c \
 *       src/base/[a-z]*.c src/cluster/model.c src/libvirt/xml_*.c src/libvirt/cpu_names.c -o fuzz_xml_domain
 *   ./fuzz_xml_domain -dict=tests/fuzz/xml.dict -max_total_time=60 found tests/fuzz/corpus/xml_domain
 * What it finds is mended, and its input joins the corpus.
 */
#ifndef KVMIG_TESTS_FUZZ_H
#define KVMIG_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as a C string, up to its first NUL; owned. Exactly as large as it must be, so that a read past the end is
 * noticed. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    return size > 0 ? kvmig__strndup((const char *)data, size) : kvmig__strdup("");
}

#endif
