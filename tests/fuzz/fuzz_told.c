/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: what a migration has told. The input is read as a file, and a diagnosis is made of it, of any VM and of a named one. The
 * verdict must be a code of the table, and no copy may be advised to be resumed or destroyed by words alone.
 *
 * With libFuzzer, from a build of the library with -fsanitize=fuzzer-no-link: link this file with -fsanitize=fuzzer and
 * .libs/libkvmig_core.a.
 */
#include "base/codes.h"
#include "diagnose/diagnose.h"
#include "files/files.h"
#include "fuzz.h"

#include <json-c/json.h>

#include <stdlib.h>
#include <string.h>

static void need(bool holds)
{
    if (!holds)
        abort();
}

static bool is_code(const char *code)
{
    for (size_t i = 0; kvmig__code_at(i); i++)
        if (strcmp(kvmig__code_at(i)->code, code) == 0)
            return true;
    return false;
}

static void check_findings(const struct kvmig_findings *list)
{
    for (size_t i = 0; i < list->n; i++) {
        struct json_object *detail = list->v[i].detail ? json_tokener_parse(list->v[i].detail) : NULL;

        need(is_code(list->v[i].code) && list->v[i].object && *list->v[i].message);
        need(!list->v[i].detail || json_object_is_type(detail, json_type_object));
        json_object_put(detail);
    }
}

static void diagnose(const struct kvmig__files *files, char *vm)
{
    const struct kvmig__view view = { .facts = files->facts };
    struct kvmig__ask ask = { .plan.vm = vm };
    struct kvmig_diagnosis *diagnosis = NULL;

    if (kvmig__diagnose(&view, &ask, &diagnosis) < 0)
        return;
    need(diagnosis->verdict && is_code(diagnosis->verdict) && diagnosis->summary);
    check_findings(&diagnosis->findings);
    check_findings(&diagnosis->actions);
    if (!files->facts->states.n)
        for (size_t i = 0; i < diagnosis->actions.n; i++)
            need(strncmp(diagnosis->actions.v[i].code, "DESTROY_", 8) != 0);
    kvmig_diagnosis_unref(diagnosis);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kvmig__files_ask ask = { .source = NULL };
    struct kvmig__files files = { .facts = NULL };
    char *copy = kvmig__calloc(size, 1); /* as large as it must be */
    char vm[] = "vm1";

    if (size)
        memcpy(copy, data, size);
    kvmig__files_read(&files, &ask, copy, size, "fuzz");
    diagnose(&files, NULL);
    diagnose(&files, vm);
    kvmig__files_clear(&files);
    kvmig__files_ask_clear(&ask);
    free(copy);
    return 0;
}
