/* SPDX-License-Identifier: MIT-0 */
/*
 * Options: one table per group (struct option_def) is both what getopt_long() accepts and what --help prints. Fills
 * struct settings, checks each value alone, and explains a mistake; combinations are the planner's to judge. Does not
 * talk to any host.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#define MAX_FILE_BYTES ((size_t)16 << 20)
#define HELP_COLUMN 32
#define HELP_WIDTH 100

static void *slot_of(struct settings *settings, const struct option_def *option)
{
    return (char *)settings + option->offset;
}

void text_list_add(struct text_list *list, const char *text)
{
    const char **v = realloc(list->v, (list->n + 1) * sizeof(*v));

    if (!v)
        abort();
    list->v = v;
    list->v[list->n++] = text;
}

/* ---- values ---- */

/* Digits only: strtoull() would take a sign and leading blanks. Points *rest behind them. */
static bool read_digits(const char *text, uint64_t *out, const char **rest)
{
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    *rest = end;
    return errno == 0;
}

static bool read_number(const struct option_def *option, const char *text, uint64_t *out)
{
    const char *rest;

    if (option->kind == OPTION_LIMIT && strcmp(text, "unlimited") == 0) {
        *out = KVMIG_UNLIMITED;
        return true;
    }
    return read_digits(text, out, &rest) && *rest == '\0' && *out >= option->min && *out <= option->max;
}

static bool read_duration(const struct option_def *option, const char *text, uint64_t *out)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "min", 60000 }, { "h", 3600000 } };
    uint64_t factor = 1;
    uint64_t number;
    const char *rest;

    if (!read_digits(text, &number, &rest))
        return false;
    if (*rest) {
        size_t i = 0;

        while (i < sizeof(units) / sizeof(units[0]) && strcmp(units[i].unit, rest) != 0)
            i++;
        if (i == sizeof(units) / sizeof(units[0]))
            return false;
        factor = units[i].ms;
    }
    if (number > option->max / factor)
        return false;
    *out = number * factor;
    return *out >= option->min;
}

static bool read_choice(const struct option_def *option, const char *text, int32_t *out)
{
    for (int32_t value = (int32_t)option->min; value <= (int32_t)option->max; value++) {
        const char *name = option->name_of(value);

        if (name && strcasecmp(name, text) == 0) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* NULL and errno if it cannot be read, or is no text of a sensible size. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    int error = 0;
    char *text;
    size_t n;

    if (!file)
        return NULL;
    text = malloc(MAX_FILE_BYTES + 1);
    if (!text)
        abort();
    n = fread(text, 1, MAX_FILE_BYTES + 1, file);
    if (ferror(file))
        error = EIO;
    else if (n > MAX_FILE_BYTES)
        error = EFBIG;
    else if (memchr(text, '\0', n))
        error = EILSEQ;
    else
        text[n] = '\0';
    fclose(file);
    if (error) {
        free(text);
        errno = error;
        return NULL;
    }
    return text;
}

/* ---- mistakes ---- */

static void explain_value(const struct command *command, const struct option_def *option, const char *text)
{
    switch (option->kind) {
    case OPTION_NUMBER:
    case OPTION_LIMIT:
        complain("%s: --%s: \"%s\" is not a whole number from %llu to %llu%s", command->name, option->name, text,
                 (unsigned long long)option->min, (unsigned long long)option->max,
                 option->kind == OPTION_LIMIT ? " or \"unlimited\"" : "");
        break;
    case OPTION_DURATION:
        complain(
            "%s: --%s: \"%s\" is not a time from %s to %s; a plain number is milliseconds, else give a unit: 500ms, "
            "30s, 10m, 2h",
            command->name, option->name, text, text_ms(option->min).s, text_ms(option->max).s);
        break;
    case OPTION_FILE:
        complain("%s: --%s: cannot read \"%s\": %s", command->name, option->name, text, strerror(errno));
        break;
    case OPTION_CHOICE:
        complain("%s: --%s: \"%s\" is none of:", command->name, option->name, text);
        for (int32_t value = (int32_t)option->min; value <= (int32_t)option->max; value++)
            if (option->name_of(value))
                fprintf(stderr, "  %s\n", option->name_of(value));
        break;
    default:
        complain("%s: --%s: an empty value", command->name, option->name);
        break;
    }
}

int usage_hint(const struct command *command)
{
    fprintf(stderr, "'kvmig %s --help' lists the options.\n", command->name);
    return EXIT_USAGE;
}

static bool apply(const struct option_def *option, const char *text, struct settings *settings)
{
    void *slot = slot_of(settings, option);

    switch (option->kind) {
    case OPTION_SWITCH:
        *(bool *)slot = true;
        return true;
    case OPTION_FLAG:
        *(uint64_t *)slot |= option->extra;
        return true;
    case OPTION_TEXT:
        *(const char **)slot = text;
        return *text != '\0';
    case OPTION_LIST:
        text_list_add(slot, text);
        return *text != '\0';
    case OPTION_NUMBER:
    case OPTION_LIMIT:
        return read_number(option, text, slot);
    case OPTION_DURATION:
        return read_duration(option, text, slot);
    case OPTION_FILE:
        free(*(char **)slot);
        *(char **)slot = read_file(text);
        return *(char **)slot != NULL;
    case OPTION_CHOICE:
        return read_choice(option, text, slot);
    }
    return false;
}

/* ---- help ---- */

/* Text from the present column on, broken between words. */
static void print_wrapped(const char *text, int column, int indent)
{
    bool first = true;

    while (*text) {
        size_t length = strcspn(text, " \n");

        if (!first && column + 1 + (int)length > HELP_WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
            first = true;
        }
        column += printf("%s%.*s", first ? "" : " ", (int)length, text);
        first = false;
        text += length;
        if (*text == '\n') {
            printf("\n%*s", indent, "");
            column = indent;
            first = true;
        }
        text += *text != '\0';
    }
    putchar('\n');
}

static void print_option(const struct option_def *option)
{
    char left[128];
    int n;

    if (option->letter)
        n = snprintf(left, sizeof(left), "  -%c, --%s", option->letter, option->name);
    else
        n = snprintf(left, sizeof(left), "      --%s", option->name);
    if (option->metavar)
        n += snprintf(left + n, sizeof(left) - (size_t)n, " %s", option->metavar);
    if (n + 2 > HELP_COLUMN)
        printf("%s\n%*s", left, HELP_COLUMN, "");
    else
        printf("%-*s", HELP_COLUMN, left);
    print_wrapped(option->help, HELP_COLUMN, HELP_COLUMN);
}

static int print_help(const struct command *command)
{
    printf("Usage: kvmig %s %s\n\n", command->name, command->arguments);
    print_wrapped(command->summary, 0, 0);
    if (command->details) {
        putchar('\n');
        print_wrapped(command->details, 0, 0);
    }
    for (size_t i = 0; command->groups[i]; i++) {
        printf("\n%s:\n", command->groups[i]->title);
        for (const struct option_def *option = command->groups[i]->options; option->name; option++)
            print_option(option);
    }
    printf("\n  -h, --help%*sprint this and exit\n", HELP_COLUMN - 12, "");
    return fflush(stdout) == 0 ? EXIT_OK : EXIT_ERROR;
}

/* ---- parsing ---- */

/* getopt's view of a command's tables: an option's val is its place in them, counted from beyond all letters. */
#define FIRST_VAL 256
struct parser {
    const struct option_def *defs[128];
    struct option longs[130]; /* plus --help and the end */
    char shorts[64];
    size_t n;
};

static void parser_build(struct parser *parser, const struct command *command)
{
    size_t n_shorts = 0;

    memset(parser, 0, sizeof(*parser));
    parser->shorts[n_shorts++] = ':'; /* a missing argument is told apart */
    parser->shorts[n_shorts++] = 'h';
    for (size_t i = 0; command->groups[i]; i++)
        for (const struct option_def *def = command->groups[i]->options; def->name; def++) {
            if (parser->n == sizeof(parser->defs) / sizeof(parser->defs[0]))
                abort();
            parser->longs[parser->n].name = def->name;
            parser->longs[parser->n].val = FIRST_VAL + (int)parser->n;
            parser->longs[parser->n].has_arg = def->metavar ? required_argument : no_argument;
            parser->defs[parser->n++] = def;
            if (def->letter) {
                parser->shorts[n_shorts++] = def->letter;
                if (def->metavar)
                    parser->shorts[n_shorts++] = ':';
            }
        }
    parser->longs[parser->n].name = "help";
    parser->longs[parser->n].val = 'h';
}

static const struct option_def *parser_find(const struct parser *parser, int c)
{
    if (c >= FIRST_VAL)
        return parser->defs[c - FIRST_VAL];
    for (size_t i = 0; i < parser->n; i++)
        if (parser->defs[i]->letter == c)
            return parser->defs[i];
    abort(); /* getopt knows no other letters */
}

/* What getopt stopped at: optopt is 0 for a long option that it does not know. */
static int explain_getopt(const struct command *command, int c, char **argv)
{
    const char *word = argv[optind - 1];

    if (c == ':')
        complain("%s: option \"%s\" needs a value", command->name, word);
    else if (optopt == 0)
        complain("%s: unknown or ambiguous option \"%s\"", command->name, word);
    else if (strncmp(word, "--", 2) == 0 && strchr(word, '='))
        complain("%s: option \"%.*s\" takes no value", command->name, (int)strcspn(word, "="), word);
    else
        complain("%s: unknown option \"-%c\"", command->name, isprint(optopt) ? optopt : '?');
    return usage_hint(command);
}

/* A VM may be called as some file is: whoever names hosts means the VM. */
static bool are_paths(const struct command *command, int n, char **words, const struct settings *settings)
{
    const bool hosts = settings->uris.n > 0 || settings->kubeconfig || settings->in_cluster || settings->kube_context;

    if (command->operands != OPERANDS_VM_OR_PATHS || n == 0)
        return false;
    return settings->snapshot || (!hosts && (n > 1 || access(words[0], F_OK) == 0));
}

/* Of words that may be nodes or files. */
static bool is_path(const char *word, const struct settings *settings)
{
    const bool hosts = settings->uris.n > 0 || settings->kubeconfig || settings->in_cluster || settings->kube_context;

    return !hosts && !strstr(word, "://") && access(word, F_OK) == 0;
}

static int take_operands(const struct command *command, int n, char **words, struct settings *settings)
{
    static const char *const which[] = { [OPERANDS_VM] = "which VM? Give its name or UUID",
                                         [OPERANDS_OPERATION] = "which operation? Give its name",
                                         [OPERANDS_PROBES] = "which targets? Give at least one",
                                         [OPERANDS_VM_OR_FILES] = "which VM? Give its name (NAMESPACE/NAME on "
                                                                  "Kubernetes), or --vm and files",
                                         [OPERANDS_VM_OR_PATHS] = "which VM? Give its name (NAMESPACE/NAME on "
                                                                  "Kubernetes), or files",
                                         [OPERANDS_SAVE] = "what? 'snapshot save' is what there is",
                                         [OPERANDS_COMMON] = "what? 'cpu common' is what there is" };
    const char *verb = command->operands == OPERANDS_SAVE     ? "save"
                       : command->operands == OPERANDS_COMMON ? "common"
                                                              : NULL;
    const bool nodes = command->operands == OPERANDS_NODES || command->operands == OPERANDS_COMMON;
    const bool vm_or_files = command->operands == OPERANDS_VM_OR_FILES || command->operands == OPERANDS_VM_OR_PATHS;
    const bool are_files = vm_or_files && (settings->vm || settings->all || are_paths(command, n, words, settings));
    const bool optional = command->operands == OPERANDS_NONE || command->operands == OPERANDS_FILES ||
                          command->operands == OPERANDS_NODES || (vm_or_files && (settings->vm || settings->all));
    const bool files = command->operands == OPERANDS_FILES || command->operands == OPERANDS_SAVE || are_files;
    int taken = 0;

    if (!optional && (n == 0 || !*words[0] || (verb && strcmp(words[0], verb) != 0))) {
        complain("%s: %s", command->name, which[command->operands]);
        return usage_hint(command);
    }
    if (command->operands == OPERANDS_VM || (vm_or_files && !are_files))
        settings->vm = words[taken++];
    else if (verb)
        taken++;
    else if (command->operands == OPERANDS_OPERATION)
        settings->operation = words[taken++];
    while (files && taken < n)
        text_list_add(&settings->files, words[taken++]);
    for (; nodes && taken < n; taken++)
        text_list_add(is_path(words[taken], settings) ? &settings->files : &settings->drain_nodes, words[taken]);
    while (command->operands == OPERANDS_PROBES && taken < n)
        text_list_add(&settings->probes, words[taken++]);
    if (taken < n) {
        complain("%s: unexpected argument \"%s\"", command->name, words[taken]);
        return usage_hint(command);
    }
    return -1;
}

/* KVMIG_HOSTS, if no URI was given: a comma-separated list. */
static void take_environment(struct settings *settings)
{
    const char *hosts = getenv("KVMIG_HOSTS");
    static char *copy; /* for the life of the process, as argv is */
    char *save = NULL;

    if (settings->uris.n > 0 || !hosts || copy)
        return;
    copy = strdup(hosts);
    if (!copy)
        abort();
    for (char *word = strtok_r(copy, ", \t\n", &save); word; word = strtok_r(NULL, ", \t\n", &save))
        text_list_add(&settings->uris, word);
}

int options_parse(const struct command *command, int argc, char **argv, struct settings *settings)
{
    struct parser parser;
    int rc, c;

    parser_build(&parser, command);
    opterr = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, parser.shorts, parser.longs, NULL)) != -1) {
        const struct option_def *option;

        if (c == 'h')
            return print_help(command);
        if (c == '?' || c == ':')
            return explain_getopt(command, c, argv);
        option = parser_find(&parser, c);
        if (!apply(option, optarg, settings)) {
            explain_value(command, option, optarg);
            return usage_hint(command);
        }
    }
    rc = take_operands(command, argc - optind, argv + optind, settings);
    if (rc >= 0)
        return rc;
    if (!command->needs_hosts || settings->files.n > 0)
        return -1;
    take_environment(settings);
    if (settings->uris.n == 0 && !settings_want_kube(settings)) {
        complain("%s: no hosts: give their libvirt URIs with --connect or KVMIG_HOSTS, or a Kubernetes cluster with "
                 "--kubeconfig or KUBECONFIG",
                 command->name);
        return usage_hint(command);
    }
    return -1;
}

void options_free(struct settings *settings)
{
    free(settings->uris.v);
    free(settings->files.v);
    free(settings->drain_nodes.v);
    free(settings->drain_vms.v);
    free(settings->drain_targets.v);
    free(settings->file_hosts.v);
    free(settings->libvirt_flags.v);
    free(settings->volumes.v);
    free(settings->shared_paths.v);
    free(settings->copy_disks.v);
    free(settings->exclude.v);
    free(settings->links.v);
    free(settings->dirty.v);
    free(settings->ovs.v);
    free(settings->chassis.v);
    free(settings->ports.v);
    free(settings->probes.v);
    free(settings->node_hosts.v);
    free(settings->target_xml);
    free(settings->persistent_xml);
}
