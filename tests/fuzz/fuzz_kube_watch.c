/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: the byte stream of a watch. The first byte says how the rest is cut; whole, and cut, it must give the
 * same lines, none of them longer than the bound, and the same verdict.
 */
#include "fuzz.h"
#include "kubernetes/client_lines.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LINE 64

struct seen {
    char *text; /* all lines, each ended by '\n' */
    size_t n;
};

static void keep(struct kvmig__lines *lines, struct seen *seen)
{
    size_t length = 0;
    char *line;

    while ((line = kvmig__lines_take(lines, &length))) {
        if (length > MAX_LINE || line[length] != '\0' || memchr(line, '\n', length))
            abort();
        memcpy(seen->text + seen->n, line, length);
        seen->n += length;
        seen->text[seen->n++] = '\n';
    }
}

/* Whether all of it was taken. */
static bool feed(const uint8_t *data, size_t size, size_t piece, struct seen *seen)
{
    struct kvmig__lines lines = { .max_line = MAX_LINE };
    bool ok = true;

    seen->text = kvmig__calloc(size + 1, 1);
    for (size_t i = 0; i < size && ok; i += piece) {
        size_t n = size - i < piece ? size - i : piece;
        char *copy = kvmig__calloc(n, 1);

        memcpy(copy, data + i, n);
        ok = kvmig__lines_feed(&lines, copy, n);
        free(copy);
        if (i % 3 == 0)
            keep(&lines, seen);
    }
    if (ok)
        kvmig__lines_finish(&lines);
    keep(&lines, seen);
    kvmig__lines_clear(&lines);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole = { 0 }, cut = { 0 };

    if (size < 2)
        return 0;
    if (feed(data + 1, size - 1, size, &whole) != feed(data + 1, size - 1, (size_t)data[0] + 1, &cut))
        abort();
    if (whole.n != cut.n || memcmp(whole.text, cut.text, whole.n) != 0)
        abort();
    free(whole.text);
    free(cut.text);
    return 0;
}
