/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds many patterns in one pass over a text, by their first two letters, because logs are long and patterns are many. What a pattern is,
 * and how it may be wrapped, is words.c's. Pure; a scanner may be used by any thread; it borrows its patterns.
 */
#include "diagnose/diagnose.h"

#include <ctype.h>
#include <stdlib.h>

#define NONE UINT16_MAX
#define LETTERS 256

struct kvmig__scanner {
    const char *const *patterns;
    size_t n;
    uint8_t lower[LETTERS];
    uint16_t by_pair[LETTERS * LETTERS]; /* the first pattern that begins so */
    uint16_t by_letter[LETTERS];
    uint16_t *next_pair, *next_letter; /* of each pattern: the next one */
};

struct kvmig__scanner *kvmig__scanner_new(const char *const *patterns, size_t count)
{
    struct kvmig__scanner *scanner = kvmig__calloc(1, sizeof(*scanner));

    scanner->patterns = patterns;
    scanner->n = count < NONE ? count : NONE - 1;
    scanner->next_pair = kvmig__calloc(scanner->n + 1, sizeof(*scanner->next_pair));
    scanner->next_letter = kvmig__calloc(scanner->n + 1, sizeof(*scanner->next_letter));
    for (size_t i = 0; i < LETTERS * LETTERS; i++)
        scanner->by_pair[i] = NONE;
    for (size_t i = 0; i < LETTERS; i++) {
        scanner->lower[i] = (uint8_t)tolower((int)i);
        scanner->by_letter[i] = NONE;
    }
    for (size_t i = scanner->n; i-- > 0;) { /* backwards: chains are in the patterns' order */
        const uint8_t first = scanner->lower[(uint8_t)patterns[i][0]], second = scanner->lower[(uint8_t)patterns[i][1]];

        scanner->next_pair[i] = scanner->by_pair[first * LETTERS + second];
        scanner->by_pair[first * LETTERS + second] = (uint16_t)i;
        scanner->next_letter[i] = scanner->by_letter[first];
        scanner->by_letter[first] = (uint16_t)i;
    }
    return scanner;
}

void kvmig__scanner_free(struct kvmig__scanner *scanner)
{
    if (!scanner)
        return;
    free(scanner->next_pair);
    free(scanner->next_letter);
    free(scanner);
}

void kvmig__scan(const struct kvmig__scanner *scanner, const char *text, const char *end, kvmig__scan_cb cb, void *user)
{
    for (const char *at = text; at + 1 < end; at++) {
        const uint8_t first = scanner->lower[(uint8_t)*at];
        const bool broken = at[1] == '\n'; /* within the word, perhaps */
        uint16_t i =
            broken ? scanner->by_letter[first] : scanner->by_pair[first * LETTERS + scanner->lower[(uint8_t)at[1]]];

        for (; i != NONE; i = broken ? scanner->next_letter[i] : scanner->next_pair[i]) {
            const char *after = kvmig__words_match(at, end, scanner->patterns[i]);

            if (after)
                cb(user, i, at, after);
        }
    }
}
