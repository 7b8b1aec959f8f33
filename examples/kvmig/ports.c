/* SPDX-License-Identifier: MIT-0 */
/*
 * Network ports that the command line names, for kvmig port and kvmig migrate: the options that say where OVN is, and
 * the library's handle made from them. Talks to nobody itself.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* ---- options ---- */

#define AT(member) offsetof(struct settings, member)

static const struct option_def options[] = {
    { .name = "ovn-nb",
      .kind = OPTION_TEXT,
      .offset = AT(ovn_nb),
      .metavar = "REMOTES",
      .help = "OVN's northbound database, as ovn-nbctl takes it: \"unix:/run/ovn/ovnnb_db.sock\", "
              "\"ssl:10.0.0.1:6641,ssl:10.0.0.2:6641\". Default: the variable OVN_NB_DB" },
    { .name = "ovn-sb",
      .kind = OPTION_TEXT,
      .offset = AT(ovn_sb),
      .metavar = "REMOTES",
      .help =
          "the southbound database; without it chassis and claims cannot be checked. Default: the variable OVN_SB_DB" },
    { .name = "ovs",
      .kind = OPTION_LIST,
      .offset = AT(ovs),
      .metavar = "CHASSIS=REMOTES",
      .help =
          "Open vSwitch's database on a chassis, for example hv2=tcp:10.0.0.2:6640; once per chassis. Without it the "
          "interface of the guest cannot be looked at there" },
    { .name = "chassis",
      .kind = OPTION_LIST,
      .offset = AT(chassis),
      .metavar = "HOST=CHASSIS",
      .help = "what OVN calls a host, if that is neither the chassis' name nor its host name there; once per host" },
    { .name = "ovn-ca",
      .kind = OPTION_TEXT,
      .offset = AT(ovn_ca),
      .metavar = "FILE",
      .help = "for ssl: remotes: certificate (PEM) of the authority that signed those of the servers" },
    { .name = "ovn-cert",
      .kind = OPTION_TEXT,
      .offset = AT(ovn_cert),
      .metavar = "FILE",
      .help = "the own certificate, which the servers ask for" },
    { .name = "ovn-key", .kind = OPTION_TEXT, .offset = AT(ovn_key), .metavar = "FILE", .help = "its private key" },
    { .name = "owner",
      .kind = OPTION_TEXT,
      .offset = AT(owner),
      .metavar = "TOKEN",
      .help = "names the migration in the database, so that no other one changes what it wrote. Default: a new one" },
    { .name = "strategy",
      .kind = OPTION_CHOICE,
      .offset = AT(strategy),
      .metavar = "auto|rarp|garp|na|none",
      .help =
          "which announcement of the guest makes the target forward: the most that this OVN understands (auto); none "
          "lets it forward at once",
      .min = KVMIG_PORT_STRATEGY_AUTO,
      .max = KVMIG_PORT_STRATEGY_NONE,
      .name_of = kvmig_port_strategy_name },
    { .name = NULL },
};
const struct option_group ovn_options = { "OVN", options };

/* ---- names ---- */

bool port_spec_read(const char *word, struct port_spec *out_spec)
{
    static const struct {
        const char *prefix;
        enum port_kind kind;
    } kinds[] = { { "ovn:", PORT_LSP }, { "ovn-match:", PORT_MATCH }, { "none:", PORT_NONE } };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t length = strlen(kinds[i].prefix);

        if (strncmp(word, kinds[i].prefix, length) == 0) {
            *out_spec = (struct port_spec){ kinds[i].kind, word + length };
            return word[length] != '\0';
        }
    }
    return false;
}

/* "KEY=VALUE" with something on both sides; returns where the value begins. */
static const char *value_of(const char *pair)
{
    const char *sign = strchr(pair, '=');

    return sign && sign > pair && sign[1] ? sign + 1 : NULL;
}

static const char *or_environment(const char *given, const char *variable)
{
    const char *value = getenv(variable);

    if (given)
        return given;
    return value && *value ? value : NULL;
}

static bool check_pairs(const struct command *command, const char *option, const char *form,
                        const struct text_list *pairs)
{
    for (size_t i = 0; i < pairs->n; i++)
        if (!value_of(pairs->v[i])) {
            complain("%s: --%s: \"%s\" is not %s", command->name, option, pairs->v[i], form);
            return false;
        }
    return true;
}

bool port_spec_check(const struct command *command, const struct port_spec *spec, const struct settings *settings)
{
    if (spec->kind == PORT_NONE)
        return true;
    if (spec->kind == PORT_MATCH && !value_of(spec->text)) {
        complain("%s: \"%s\" is not KEY=VALUE", command->name, spec->text);
        return false;
    }
    if (!check_pairs(command, "ovs", "CHASSIS=REMOTES", &settings->ovs) ||
        !check_pairs(command, "chassis", "HOST=CHASSIS", &settings->chassis))
        return false;
    if (!or_environment(settings->ovn_nb, "OVN_NB_DB")) {
        complain("%s: where is OVN? Give the remotes of its northbound database with --ovn-nb, or set OVN_NB_DB",
                 command->name);
        return false;
    }
    return true;
}

/* ---- opening ---- */

/* "KEY=VALUE" as two texts in one allocation; *out_value points behind the key. */
static char *split(const char *pair, const char **out_value)
{
    char *copy = strdup(pair);

    if (!copy)
        abort();
    copy[value_of(pair) - pair - 1] = '\0';
    *out_value = copy + (value_of(pair) - pair);
    return copy;
}

/* What --ovs and --chassis say, one entry per chassis. */
struct chassis_list {
    struct kvmig_port_ovs *items;
    const struct kvmig_port_ovs **pointers;
    char **texts; /* that the items point into, one per option */
    size_t n, n_texts;
};

static struct kvmig_port_ovs *chassis_entry(struct chassis_list *list, const char *chassis)
{
    struct kvmig_port_ovs *item;

    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].chassis, chassis) == 0)
            return &list->items[i];
    item = &list->items[list->n];
    kvmig_port_ovs_init(item, sizeof(*item));
    item->chassis = chassis;
    list->pointers[list->n++] = item;
    return item;
}

static void chassis_list_init(struct chassis_list *list, const struct settings *settings)
{
    size_t room = settings->ovs.n + settings->chassis.n + 1; /* calloc(0) may give NULL */

    list->n = list->n_texts = 0;
    list->items = calloc(room, sizeof(*list->items));
    list->pointers = calloc(room, sizeof(*list->pointers));
    list->texts = calloc(room, sizeof(*list->texts));
    if (!list->items || !list->pointers || !list->texts)
        abort();
    for (size_t i = 0; i < settings->ovs.n; i++) {
        const char *remotes;
        char *chassis = split(settings->ovs.v[i], &remotes);

        list->texts[list->n_texts++] = chassis;
        chassis_entry(list, chassis)->remotes = remotes;
    }
    for (size_t i = 0; i < settings->chassis.n; i++) {
        const char *chassis;
        char *host = split(settings->chassis.v[i], &chassis);

        list->texts[list->n_texts++] = host;
        chassis_entry(list, chassis)->host = host;
    }
}

static void chassis_list_free(struct chassis_list *list)
{
    for (size_t i = 0; i < list->n_texts; i++)
        free(list->texts[i]);
    free(list->texts);
    free(list->items);
    free(list->pointers);
}

static int32_t open_ovn(struct kvmig_context *context, const struct port_spec *spec, const struct settings *settings,
                        struct kvmig_event_callback on_event, struct kvmig_port **out_port)
{
    struct kvmig_port_ovn_opts opts = KVMIG_PORT_OVN_OPTS_INIT;
    struct chassis_list chassis;
    char *match = NULL;
    int32_t rc;

    chassis_list_init(&chassis, settings);
    if (spec->kind == PORT_MATCH)
        opts.match_key = match = split(spec->text, &opts.match_value);
    else
        opts.lsp = spec->text;
    opts.nb = or_environment(settings->ovn_nb, "OVN_NB_DB");
    opts.sb = or_environment(settings->ovn_sb, "OVN_SB_DB");
    opts.ovs = chassis.pointers;
    opts.n_ovs = chassis.n;
    opts.owner = settings->owner;
    opts.ca_file = settings->ovn_ca;
    opts.cert_file = settings->ovn_cert;
    opts.key_file = settings->ovn_key;
    opts.strategy = settings->strategy;
    opts.prepare_timeout_ms = settings->port_timeout_ms;
    opts.verify_timeout_ms = settings->port_timeout_ms;
    opts.converge_timeout_ms = settings->port_timeout_ms;
    opts.on_event = on_event;
    rc = kvmig_port_open_ovn(context, &opts, out_port);
    chassis_list_free(&chassis);
    free(match);
    return rc;
}

static int32_t open_none(struct kvmig_context *context, const struct port_spec *spec, const struct settings *settings,
                         struct kvmig_event_callback on_event, struct kvmig_port **out_port)
{
    struct kvmig_port_opts opts = KVMIG_PORT_OPTS_INIT;

    opts.name = spec->text;
    opts.timeout_ms = settings->port_timeout_ms;
    opts.on_event = on_event;
    return kvmig_port_open_none(context, &opts, out_port);
}

int port_open(struct kvmig_context *context, const struct port_spec *spec, const struct settings *settings,
              struct kvmig_event_callback on_event, struct kvmig_port **out_port)
{
    int32_t rc = spec->kind == PORT_NONE ? open_none(context, spec, settings, on_event, out_port)
                                         : open_ovn(context, spec, settings, on_event, out_port);

    return rc < 0 ? complain_error("cannot open the port", NULL) : 0;
}

const char *port_state_meaning(int32_t state)
{
    switch (state) {
    case KVMIG_PORT_PREPARING:
        return "being extended to the target";
    case KVMIG_PORT_PREPARED:
        return "belongs to both hosts";
    case KVMIG_PORT_VERIFYING:
        return "waits for proof that the target would forward";
    case KVMIG_PORT_VERIFIED:
        return "proven: the target has it, and its flows are there";
    case KVMIG_PORT_ACTIVATED:
        return "the target has seen its guest's announcement, and forwards";
    case KVMIG_PORT_CONVERGING:
        return "being left to the host where the guest runs";
    case KVMIG_PORT_CONVERGED:
        return "proven to be there alone; nothing temporary is left";
    case KVMIG_PORT_ROLLING_BACK:
        return "being put back to the source";
    case KVMIG_PORT_ROLLED_BACK:
        return "as it was, on the source; nothing temporary is left";
    case KVMIG_PORT_SUPERSEDED:
        return "belongs to another owner now; nothing was changed";
    default:
        return NULL;
    }
}
