/* SPDX-License-Identifier: MIT-0 */
/*
 * How sizes, times, errors and tables are written for people. No I/O but printing.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* ---- figures ---- */

static struct text text_scaled(uint64_t bytes, const char *suffix)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    struct text text;
    double value = (double)bytes;
    size_t unit = 0;

    if (bytes == UINT64_MAX) {
        snprintf(text.s, sizeof(text.s), "?");
        return text;
    }
    while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    snprintf(text.s, sizeof(text.s), "%.*f %s%s", unit == 0 || value >= 100 ? 0 : 1, value, units[unit], suffix);
    return text;
}

struct text text_bytes(uint64_t bytes)
{
    return text_scaled(bytes, "");
}

struct text text_rate(uint64_t bytes_per_s)
{
    return text_scaled(bytes_per_s, "/s");
}

struct text text_ms(uint64_t ms)
{
    struct text text;
    unsigned long long s = ms / 1000;

    if (ms == UINT64_MAX)
        snprintf(text.s, sizeof(text.s), "?");
    else if (ms < 1000)
        snprintf(text.s, sizeof(text.s), "%llu ms", (unsigned long long)ms);
    else if (ms < 60000)
        snprintf(text.s, sizeof(text.s), "%llu.%llu s", s, (unsigned long long)(ms % 1000 / 100));
    else if (s < 3600)
        snprintf(text.s, sizeof(text.s), "%llu min %02llu s", s / 60, s % 60);
    else
        snprintf(text.s, sizeof(text.s), "%llu h %02llu min", s / 3600, s % 3600 / 60);
    return text;
}

/* ---- complaints ---- */

void complain(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fputs("kvmig: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
}

int exit_code_of(int32_t error_code)
{
    switch (error_code < 0 ? -error_code : error_code) {
    case KVMIG_EBLOCKED:
    case KVMIG_EREFUSED:
        return EXIT_BLOCKED;
    case KVMIG_EUNREACHABLE:
    case KVMIG_ENOHOST:
    case KVMIG_ENOVM:
    case KVMIG_ENOTSYNCED:
    case ENOENT:
        return EXIT_NOT_FOUND;
    case KVMIG_EAMBIGUOUS:
    case KVMIG_ECONFLICT:
    case EINVAL:
        return EXIT_USAGE;
    case KVMIG_EUNKNOWN:
    case KVMIG_ELOST:
    case KVMIG_ESPLIT:
        return EXIT_UNDECIDED;
    default:
        return EXIT_ERROR;
    }
}

int complain_error(const char *what, const struct kvmig_error *error)
{
    const char *message, *where, *evidence;

    if (!error)
        error = kvmig_error_last();
    message = kvmig_error_message(error);
    where = kvmig_error_where(error);
    evidence = kvmig_error_evidence(error);
    complain("%s: %s", what, message);
    /* What the lines above have said need not be said again. */
    if (!strstr(message, where) && !strstr(what, where))
        fprintf(stderr, "  where:    %s\n", where);
    if (!strstr(message, evidence) && !strstr(what, evidence))
        fprintf(stderr, "  evidence: %s\n", evidence);
    if (*kvmig_error_hint(error))
        fprintf(stderr, "  advice:   %s\n", kvmig_error_hint(error));
    return exit_code_of(kvmig_error_code(error));
}

/* ---- tables ---- */

#define MAX_COLUMNS 14

struct table {
    size_t n_columns, n_rows;
    char **cells; /* n_rows * n_columns; the titles are the first row */
};

/* How many columns of a terminal the text takes: UTF-8's continuation bytes take none. */
static int width_of(const char *text)
{
    int width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

struct table *table_new(const char *const *titles, size_t n_columns)
{
    struct table *table = calloc(1, sizeof(*table));

    if (!table || n_columns > MAX_COLUMNS)
        abort();
    table->n_columns = n_columns;
    table_add(table, titles);
    return table;
}

void table_add(struct table *table, const char *const *cells)
{
    char **grown = realloc(table->cells, (table->n_rows + 1) * table->n_columns * sizeof(*grown));

    if (!grown)
        abort();
    table->cells = grown;
    for (size_t i = 0; i < table->n_columns; i++) {
        char *cell = strdup(cells[i] && *cells[i] ? cells[i] : "-");

        if (!cell)
            abort();
        grown[table->n_rows * table->n_columns + i] = cell;
    }
    table->n_rows++;
}

void table_print(const struct table *table, FILE *out, const char *indent)
{
    int widths[MAX_COLUMNS] = { 0 };

    for (size_t i = 0; i < table->n_rows * table->n_columns; i++) {
        int width = width_of(table->cells[i]);

        if (width > widths[i % table->n_columns])
            widths[i % table->n_columns] = width;
    }
    for (size_t row = 0; row < table->n_rows; row++) {
        fputs(indent, out);
        for (size_t i = 0; i < table->n_columns; i++) {
            const char *cell = table->cells[row * table->n_columns + i];
            bool last = i + 1 == table->n_columns;

            fprintf(out, "%s%*s", cell, last ? 0 : widths[i] - width_of(cell) + 2, "");
        }
        fputc('\n', out);
    }
}

void table_free(struct table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->n_rows * table->n_columns; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table);
}
