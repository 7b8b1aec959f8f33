/* SPDX-License-Identifier: MIT-0 */
/*
 * A port for people: what OVN's and Open vSwitch's databases say of each of its logical ports. Reads what
 * kvmig_port_to_json() wrote; leaves out what it does not know.
 */
#include <string.h>
#include <time.h>

#include "tool.h"

/* "a, b"; of a list of texts. */
static void print_list(struct json_object *list, FILE *out)
{
    for (size_t i = 0; i < json_list_length(list); i++)
        fprintf(out, "%s%s", i > 0 ? ", " : "", json_object_get_string(json_list_at(list, i)));
}

static void print_wanted(struct json_object *lsp, FILE *out)
{
    const char *requested = json_text(lsp, "requested_chassis"), *strategy = json_text(lsp, "activation_strategy");

    fprintf(out, "  pinned to:  %s", requested ? requested : "no chassis");
    if (strategy)
        fprintf(out, ", activated by %s", strategy);
    fputc('\n', out);
}

static void print_owner(struct json_object *lsp, FILE *out)
{
    struct json_object *prepared = json_member(lsp, "prepared");
    const char *owner = json_text(lsp, "owner"), *source = json_text(prepared, "source");
    const char *target = json_text(prepared, "target");
    uint64_t since_ms = json_number(prepared, "since_unix_ms");
    struct timespec now;
    uint64_t now_ms;

    if (!owner) {
        fputs("  owner:      none; nothing is prepared\n", out);
        return;
    }
    fprintf(out, "  owner:      %s", owner);
    if (source && target)
        fprintf(out, ", from %s to %s", source, target);
    clock_gettime(CLOCK_REALTIME, &now);
    now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    if (since_ms <= now_ms)
        fprintf(out, ", %s ago", text_ms(now_ms - since_ms).s);
    fputc('\n', out);
}

static void print_binding(struct json_object *lsp, FILE *out)
{
    struct json_object *additional = json_member(lsp, "additional"), *activated = json_member(lsp, "activated");
    const char *chassis = json_text(lsp, "chassis");

    if (!additional)
        return; /* the southbound database does not know it, or was not asked */
    fprintf(out, "  bound to:   %s, %s", chassis ? chassis : "no chassis", json_true(lsp, "up") ? "up" : "down");
    if (json_list_length(additional) > 0) {
        fputs("; in addition to ", out);
        print_list(additional, out);
    }
    if (json_list_length(activated) > 0) {
        fputs("; activated on ", out);
        print_list(activated, out);
    }
    fputc('\n', out);
}

static void print_interface(const char *chassis, struct json_object *interface, FILE *out)
{
    const char *name = json_text(interface, "name"), *error = json_text(interface, "error");
    uint64_t copies = json_number(interface, "duplicates");

    fprintf(out, "  on %s: ", chassis);
    if (!interface) {
        fputs("no interface\n", out);
        return;
    }
    fprintf(out, "interface %s, port %lld, link %s, flows %s", name ? name : "?",
            (long long)json_object_get_int64(json_member(interface, "ofport")),
            json_true(interface, "link_up") ? "up" : "down",
            json_true(interface, "installed") ? "installed" : "not installed");
    if (copies != UINT64_MAX)
        fprintf(out, "; %llu interfaces have its name", (unsigned long long)copies);
    if (error && *error)
        fprintf(out, "; error: %s", error);
    fputc('\n', out);
}

/* locals: how far Open vSwitch's databases were read. */
static void print_lsp(struct json_object *lsp, struct json_object *locals, FILE *out)
{
    struct json_object *interfaces = json_member(lsp, "interfaces");
    const char *name = json_text(lsp, "name");

    fprintf(out, "%s\n", name ? name : "?");
    print_wanted(lsp, out);
    print_owner(lsp, out);
    print_binding(lsp, out);
    if (interfaces) {
        json_object_object_foreach(interfaces, chassis, interface)
        {
            if (interface || json_true(json_member(locals, chassis), "current"))
                print_interface(chassis, interface, out);
        }
    }
}

/* Only those that do not answer: what is shown of them may be old. */
static void print_database(const char *what, struct json_object *database, FILE *out)
{
    const char *trouble = json_text(database, "trouble");

    if (database && !json_true(database, "current"))
        fprintf(out, "Not read: %s%s%s\n", what, trouble ? ": " : "", trouble ? trouble : "");
}

void port_print(struct json_object *port, FILE *out)
{
    struct json_object *lsps = json_member(port, "lsps"), *databases = json_member(port, "databases");
    struct json_object *locals = json_member(databases, "ovs");

    for (size_t i = 0; i < json_list_length(lsps); i++)
        print_lsp(json_list_at(lsps, i), locals, out);
    print_database("the northbound database", json_member(databases, "nb"), out);
    print_database("the southbound database", json_member(databases, "sb"), out);
    if (locals) {
        json_object_object_foreach(locals, chassis, database)
        {
            char what[128];

            snprintf(what, sizeof(what), "Open vSwitch's database on %s", chassis);
            print_database(what, database, out);
        }
    }
}
