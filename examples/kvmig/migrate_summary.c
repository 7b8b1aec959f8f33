/* SPDX-License-Identifier: MIT-0 */
/*
 * How a migration ended, for people: result, where the guest is, what it cost, how its ports followed, what was
 * changed and undone, and what to do next. Reads the session's report; leaves out what the report does not know.
 */
#include <string.h>
#include <time.h>

#include "tool.h"

static bool known(uint64_t value)
{
    return value != UINT64_MAX;
}

/* The report knows the target also if KubeVirt chose it, or if the migration was somebody else's. */
static void print_result(struct json_object *report, const struct kvmig_event *end, const char *called, FILE *out)
{
    const char *vm = json_text(report, "vm"), *source = json_text(report, "source"),
               *target = json_text(report, "target");

    vm = vm ? vm : called;
    source = source ? source : "its node";

    fputc('\n', out);
    switch (kvmig_event_phase(end)) {
    case KVMIG_PHASE_SUCCEEDED:
        fprintf(out, "%s was migrated from %s to %s.\n", vm, source, target ? target : "another node");
        break;
    case KVMIG_PHASE_CANCELLED:
        fprintf(out, "Cancelled: %s is on %s, where it was.\n", vm, source);
        break;
    case KVMIG_PHASE_FAILED:
        fprintf(out, "Failed: %s is on %s, where it was.\n", vm, source);
        break;
    default:
        fprintf(out, "NOT KNOWN: it is not proven where %s is. Start and destroy nothing before you know.\n", vm);
        break;
    }
}

static void print_error(const struct kvmig_error *error, FILE *out)
{
    if (!error)
        return;
    fprintf(out, "  cause:     %s\n", kvmig_error_message(error));
    if (*kvmig_error_where(error))
        fprintf(out, "  where:     %s\n", kvmig_error_where(error));
    if (*kvmig_error_evidence(error))
        fprintf(out, "  evidence:  %s\n", kvmig_error_evidence(error));
}

static void print_final(struct json_object *report, FILE *out)
{
    struct json_object *final = json_member(report, "final");
    const char *host = json_text(final, "host"), *proof = json_text(final, "proof");

    if (host || proof)
        fprintf(out, "  guest:     %s%s%s\n", host ? host : "", host && proof ? ": " : "", proof ? proof : "");
}

static void print_times(struct json_object *report, FILE *out)
{
    struct json_object *pause = json_member(report, "pause");
    uint64_t source = json_number(pause, "source_ms"), total = json_number(pause, "total_ms");
    uint64_t handover = json_number(pause, "handover_wait_ms");

    if (known(json_number(report, "total_ms")))
        fprintf(out, "  took:      %s\n", text_ms(json_number(report, "total_ms")).s);
    if (known(source) || known(total))
        fprintf(out, "  pause:     %s measured on the source, %s from stop to start by the hosts' clocks\n",
                text_ms(source).s, text_ms(total).s);
    if (known(handover))
        fprintf(out, "             plus %s of waiting for the strict hand-over\n", text_ms(handover).s);
}

/* "14:03:02.113", of the local clock; "?" if it is not known. */
static struct text text_clock(uint64_t unix_ms)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct text text = { "?" };
    struct tm local;
    size_t n;

    if (!known(unix_ms) || !localtime_r(&seconds, &local))
        return text;
    n = strftime(text.s, sizeof(text.s), "%H:%M:%S", &local);
    snprintf(text.s + n, sizeof(text.s) - n, ".%03u", (unsigned)(unix_ms % 1000));
    return text;
}

/* The two figures that are easily taken for each other, side by side. */
static void print_service(struct json_object *report, FILE *out)
{
    struct json_object *service = json_member(report, "service");
    uint64_t pause = json_number(json_member(report, "pause"), "source_ms"), gap = json_number(service, "gap_ms");
    uint64_t started = json_number(report, "started_unix_ms"), begin = json_number(service, "gap_begin_ms");
    const char *target = json_text(service, "target");

    if (!service)
        return;
    fputs("  service:   ", out);
    if (known(pause))
        fprintf(out, "guest paused %s; ", text_ms(pause).s);
    if (!known(gap))
        fprintf(out, "service never seen (%s)\n", target ? target : "?");
    else
        fprintf(out, "service away %s (%s from %s%s)\n", text_ms(gap).s, target ? target : "?",
                text_clock(known(started) && known(begin) ? started + begin : UINT64_MAX).s,
                json_true(service, "gap_is_open") ? ", and still away" : "");
}

/* Connections that were held over the migration; other probes have none. */
static void print_held(struct json_object *report, FILE *out)
{
    struct json_object *probes = json_member(report, "probes");

    for (size_t i = 0; i < json_list_length(probes); i++) {
        struct json_object *targets = json_member(json_list_at(probes, i), "targets");

        for (size_t k = 0; k < json_list_length(targets); k++) {
            struct json_object *target = json_list_at(targets, k);
            const char *name = json_text(target, "target");

            if (json_member(target, "held_survived"))
                fprintf(out, "             the connection to %s %s\n", name ? name : "?",
                        json_true(target, "held_survived") ? "survived" : "broke");
        }
    }
}

static void print_ports(struct json_object *report, FILE *out)
{
    struct json_object *ports = json_member(report, "ports");

    for (size_t i = 0; i < json_list_length(ports); i++) {
        struct json_object *port = json_list_at(ports, i);
        const char *name = json_text(port, "name"), *state = json_text(port, "state");
        const char *winner = json_text(port, "winner"), *message = json_text(json_member(port, "error"), "message");

        fprintf(out, "  %s %s: %s", i == 0 ? "ports:    " : "          ", name ? name : "?", state ? state : "?");
        if (message)
            fprintf(out, ": %s", message);
        else if (winner)
            fprintf(out, " on %s", winner);
        fputc('\n', out);
    }
}

static void print_bytes(struct json_object *report, FILE *out)
{
    struct json_object *memory = json_member(report, "memory"), *disk = json_member(report, "disk");
    uint64_t sent = json_number(memory, "sent"), rounds = json_number(memory, "iterations");

    if (known(sent)) {
        fprintf(out, "  memory:    %s sent of %s", text_bytes(sent).s, text_bytes(json_number(memory, "total")).s);
        if (known(rounds))
            fprintf(out, ", %llu round%s", (unsigned long long)rounds, rounds == 1 ? "" : "s");
        if (known(json_number(memory, "bandwidth_bytes_per_s")))
            fprintf(out, ", %s", text_rate(json_number(memory, "bandwidth_bytes_per_s")).s);
        fputs(json_true(report, "postcopy_used") ? ", with post-copy\n" : "\n", out);
    }
    if (known(json_number(disk, "total")) && json_number(disk, "total") > 0)
        fprintf(out, "  disks:     %s copied of %s\n", text_bytes(json_number(disk, "sent")).s,
                text_bytes(json_number(disk, "total")).s);
}

static void print_changed(struct json_object *report, FILE *out)
{
    struct json_object *created = json_member(report, "created");

    for (size_t i = 0; i < json_list_length(created); i++) {
        struct json_object *item = json_list_at(created, i);
        const char *kind = json_text(item, "kind"), *name = json_text(item, "name");
        const char *host = json_text(item, "host"), *outcome = json_text(item, "outcome");

        fprintf(out, "  %s %s %s%s%s: %s\n", i == 0 ? "changed:  " : "          ", kind ? kind : "?", name ? name : "?",
                host ? " on " : "", host ? host : "", outcome ? outcome : "not decided");
    }
}

static void print_next(const struct kvmig_event *end, const char *how_to_find, FILE *out)
{
    const struct kvmig_error *error = kvmig_event_error(end);

    if (*kvmig_error_hint(error))
        fprintf(out, "  next:      %s\n", kvmig_error_hint(error));
    if (kvmig_event_phase(end) == KVMIG_PHASE_INDETERMINATE)
        fprintf(out, "  find out:  %s\n", how_to_find);
}

void summary_print(struct json_object *report, const struct kvmig_event *end, const char *vm, const char *how_to_find,
                   FILE *out)
{
    print_result(report, end, vm, out);
    print_error(kvmig_event_error(end), out);
    print_final(report, out);
    print_times(report, out);
    print_service(report, out);
    print_held(report, out);
    print_ports(report, out);
    print_bytes(report, out);
    print_changed(report, out);
    print_next(end, how_to_find, out);
}
