/* SPDX-License-Identifier: MIT-0 */
/*
 * Findings for people: severity, code, object and message on one line; evidence and advice below it.
 */
#include <string.h>

#include "tool.h"

/* "need 5368709120, have 4294967296; modes: a, b": the members of an object, or the value itself. */
static void print_value(struct json_object *value, FILE *out)
{
    if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_list_length(value); i++) {
            if (i > 0)
                fputs(", ", out);
            print_value(json_list_at(value, i), out);
        }
    } else if (json_object_is_type(value, json_type_string)) {
        fputs(json_object_get_string(value), out);
    } else {
        fputs(value ? json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE) : "null", out);
    }
}

static void print_evidence(const char *detail, FILE *out)
{
    struct json_object *value = json_tokener_parse(detail);
    size_t n = 0;

    fputs("      evidence: ", out);
    if (json_object_is_type(value, json_type_object)) {
        json_object_object_foreach(value, key, member)
        {
            fputs(n++ > 0 ? "; " : "", out);
            if (strcmp(key, "evidence") != 0) /* the line begins with that word */
                fprintf(out, "%s: ", key);
            print_value(member, out);
        }
    } else {
        print_value(value, out);
    }
    fputc('\n', out);
    json_object_put(value);
}

void finding_print(const struct kvmig_finding *finding, FILE *out)
{
    const char *severity = kvmig_severity_name(kvmig_finding_severity(finding));
    const char *host = kvmig_finding_host(finding);
    const char *detail = kvmig_finding_detail(finding);

    fprintf(out, "  %-7s %s  %s%s%s\n", severity ? severity : "?", kvmig_finding_code(finding),
            kvmig_finding_object(finding), host ? " on " : "", host ? host : "");
    fprintf(out, "      %s\n", kvmig_finding_message(finding));
    if (detail && strcmp(detail, "{}") != 0)
        print_evidence(detail, out);
    if (*kvmig_finding_hint(finding))
        fprintf(out, "      advice:   %s\n", kvmig_finding_hint(finding));
}

size_t findings_print(const struct kvmig_findings *findings, int32_t worst, int32_t mildest, FILE *out)
{
    size_t n = 0;

    for (size_t i = 0; i < kvmig_findings_count(findings); i++) {
        const struct kvmig_finding *finding = kvmig_findings_get(findings, i);
        int32_t severity = kvmig_finding_severity(finding);

        if (severity > worst || severity < mildest)
            continue;
        finding_print(finding, out);
        n++;
    }
    return n;
}
