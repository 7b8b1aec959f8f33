/* SPDX-License-Identifier: MIT-0 */
/*
 * Findings for people: severity, code, object and message on one line; evidence and advice below it. Notices of the view go to
 * standard error like complaints: message, what of the evidence it does not say yet, advice.
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

static void print_evidence(struct json_object *value, const char *indent, FILE *out)
{
    size_t n = 0;

    fprintf(out, "%sevidence: ", indent);
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
}

static bool is_empty(struct json_object *value)
{
    return !value || (json_object_is_type(value, json_type_object) && json_object_object_length(value) == 0);
}

void finding_print(const struct kvmig_finding *finding, FILE *out)
{
    const char *severity = kvmig_severity_name(kvmig_finding_severity(finding));
    const char *host = kvmig_finding_host(finding);
    const char *detail = kvmig_finding_detail(finding);
    struct json_object *evidence = detail ? json_tokener_parse(detail) : NULL;

    fprintf(out, "  %-7s %s  %s%s%s\n", severity ? severity : "?", kvmig_finding_code(finding),
            kvmig_finding_object(finding), host ? " on " : "", host ? host : "");
    fprintf(out, "      %s\n", kvmig_finding_message(finding));
    if (!is_empty(evidence))
        print_evidence(evidence, "      ", out);
    if (*kvmig_finding_hint(finding))
        fprintf(out, "      advice:   %s\n", kvmig_finding_hint(finding));
    json_object_put(evidence);
}

void note_print(struct json_object *note, FILE *out)
{
    const char *severity = json_text(note, "severity"), *code = json_text(note, "code");
    const char *object = json_text(note, "object"), *message = json_text(note, "message");
    const char *hint = json_text(note, "hint");

    fprintf(out, "  %-7s %s  %s\n      %s\n", severity ? severity : "?", code ? code : "?", object ? object : "",
            message ? message : "");
    if (!is_empty(json_member(note, "detail")))
        print_evidence(json_member(note, "detail"), "      ", out);
    if (hint)
        fprintf(out, "      advice:   %s\n", hint);
}

/* A file's name, and then the place in it, which begins with the name again. */
static const char *without_repetition(const char *message, const char *file)
{
    const size_t length = file ? strlen(file) : 0;

    if (length == 0 || strncmp(message, file, length) != 0 || strncmp(message + length, ": ", 2) != 0)
        return message;
    return strncmp(message + length + 2, file, length) == 0 ? message + length + 2 : message;
}

void notice_print(const struct kvmig_finding *finding)
{
    const char *message = kvmig_finding_message(finding), *detail = kvmig_finding_detail(finding);
    struct json_object *evidence = detail ? json_tokener_parse(detail) : NULL, *unsaid = json_object_new_object();

    message = without_repetition(message, json_text(evidence, "file"));
    if (json_object_is_type(evidence, json_type_object)) {
        json_object_object_foreach(evidence, key, value)
        {
            if (value && !strstr(message, json_object_get_string(value)))
                json_object_object_add(unsaid, key, json_object_get(value));
        }
    }
    complain("%s", message);
    if (!is_empty(unsaid))
        print_evidence(unsaid, "  ", stderr);
    if (*kvmig_finding_hint(finding))
        fprintf(stderr, "  advice:   %s\n", kvmig_finding_hint(finding));
    json_object_put(unsaid);
    json_object_put(evidence);
}

bool finding_is_skipped_check(const struct kvmig_finding *finding)
{
    return strcmp(kvmig_finding_code(finding), "CHECK_SKIPPED") == 0;
}

size_t findings_print(const struct kvmig_findings *findings, int32_t worst, int32_t mildest, FILE *out)
{
    size_t n = 0;

    for (size_t i = 0; i < kvmig_findings_count(findings); i++) {
        const struct kvmig_finding *finding = kvmig_findings_get(findings, i);
        int32_t severity = kvmig_finding_severity(finding);

        if (severity > worst || severity < mildest || finding_is_skipped_check(finding))
            continue;
        finding_print(finding, out);
        n++;
    }
    return n;
}
