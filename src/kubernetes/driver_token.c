/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The token of a session on KubeVirt: what another process needs to follow the same migration to its end and to clean
 * up what was created. Written before each step with an effect. It holds names, never secrets. In dispatch, with the
 * context lock held.
 */
#include "kubernetes/driver_internal.h"

#include <errno.h>
#include <stdlib.h>

#define TOKEN_VERSION 1

/* ---- hearing ---- */

/* A delivery outlives the driver; whoever is last frees this. */
struct kvmig__kube_hearing {
    struct kvmig__kube_driver *driver; /* NULL: it is gone */
    struct kvmig_context *context;
    size_t out; /* deliveries under way */
};

/* A delivery, queued behind the event: by now the caller has it, and has stored it if it cares to. */
static void heard(void *data)
{
    struct kvmig__kube_hearing *hearing = data;
    struct kvmig_context *context = hearing->context;
    struct kvmig__kube_driver *d;

    kvmig__context_lock(context);
    d = hearing->driver;
    if (--hearing->out == 0) {
        free(hearing);
        if (d) {
            d->hearing = NULL;
            kvmig__errand_release(&d->act);
            kvmig__errand_release(&d->create);
            kvmig__errand_release(&d->back_errand);
        }
    }
    kvmig__context_release(context);
    kvmig__context_unlock(context);
}

static void wait_until_heard(struct kvmig__kube_driver *d)
{
    if (!d->hearing) {
        d->hearing = kvmig__calloc(1, sizeof(*d->hearing));
        d->hearing->driver = d;
        d->hearing->context = d->context;
    }
    d->hearing->out++;
    kvmig__context_hold(d->context);
    kvmig__context_deliver(d->context, heard, NULL, d->hearing, true);
}

void kvmig__kube_hear_no_more(struct kvmig__kube_driver *d)
{
    if (d->hearing)
        d->hearing->driver = NULL;
    d->hearing = NULL;
}

/* ---- writing ---- */

static void add_migration(const struct kvmig__kube_driver *d, struct json_object *token)
{
    struct json_object *migration = kvmig__json_child(token, "migration");

    kvmig__json_add_str(migration, "name", d->vmim);
    kvmig__json_add_str(migration, "uid", d->vmim_uid);
    kvmig__json_add_str(migration, "session", d->mark);
    kvmig__json_add_bool(migration, "attached", d->attached);
}

static void add_json(struct json_object *object, const char *key, const char *text)
{
    if (text)
        json_object_object_add(object, key, json_tokener_parse(text));
}

static void add_volumes(const struct kvmig__kube_driver *d, struct json_object *token)
{
    struct json_object *volumes;

    if (!d->volumes.moves.n)
        return;
    volumes = json_object_new_array();
    for (size_t i = 0; i < d->volumes.moves.n; i++) {
        const struct kvmig__kube_move *move = &d->volumes.moves.v[i];
        struct json_object *entry = kvmig__json_new("volume", move->volume);

        kvmig__json_add_str(entry, "from", move->from);
        kvmig__json_add_str(entry, "to", move->to);
        add_json(entry, "before", move->before);
        add_json(entry, "template", move->template_before);
        json_object_array_add(volumes, entry);
    }
    json_object_object_add(token, "volumes", volumes);
    kvmig__json_add_i64(token, "volumes_state", d->volumes.state);
    kvmig__json_add_str(token, "strategy_before", d->volumes.strategy_before);
    kvmig__json_add_bool(token, "restart_before", d->volumes.restart_before);
    kvmig__json_add_i64(token, "ready_ms", d->volumes.ready_ms);
    json_object_object_add(token, "migrations_before", kvmig__json_strlist(&d->volumes.seen));
}

static void add_policy(const struct kvmig__kube_driver *d, struct json_object *token)
{
    struct json_object *policy;

    if (!d->policy.wanted && !d->policy.labelled)
        return;
    policy = kvmig__json_child(token, "policy");
    kvmig__json_add_str(policy, "name", d->policy.name);
    kvmig__json_add_bool(policy, "created", d->policy.wanted);
    kvmig__json_add_bool(policy, "labelled", d->policy.labelled);
}

void kvmig__kube_checkpoint(struct kvmig__kube_driver *d)
{
    struct json_object *token = json_object_new_object();
    char *vm = kvmig__asprintf("%s/%s", d->ns, d->vmi);

    kvmig__json_add_i64(token, "version", TOKEN_VERSION);
    kvmig__json_add_str(token, "backend", "kubevirt");
    kvmig__json_add_str(token, "namespace", d->ns);
    kvmig__json_add_str(token, "vm", vm);
    kvmig__json_add_str(token, "vmi_uid", d->vmi_uid);
    kvmig__json_add_str(token, "source", d->plan->source);
    kvmig__json_add_str(token, "target", d->following ? d->follow.target_node : d->told_target);
    add_migration(d, token);
    add_volumes(d, token);
    add_policy(d, token);
    free(vm);
    kvmig__session_checkpoint(d->session, token);
    wait_until_heard(d);
}

/* ---- reading ---- */

static bool flag_of(struct json_object *object, const char *key)
{
    struct json_object *value = kvmig__json_at(object, key);

    return value && json_object_get_boolean(value);
}

static int64_t number_of(struct json_object *object, const char *key)
{
    struct json_object *value = kvmig__json_at(object, key);

    return value ? json_object_get_int64(value) : 0;
}

static char *json_of(struct json_object *object, const char *key)
{
    struct json_object *value = kvmig__json_at(object, key);

    return value ? kvmig__strdup(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN)) : NULL;
}

static struct kvmig_error *bad_token(const char *what, const char *evidence)
{
    return kvmig__error_new(EINVAL, "kvmig_session_resume: token", evidence,
                            "Hand in what the last KVMIG_EVENT_CHECKPOINT of that session gave.", "the token %s", what);
}

static bool read_move(struct kvmig__kube_driver *d, struct json_object *entry)
{
    const char *volume = kvmig__json_text(entry, "volume"), *from = kvmig__json_text(entry, "from"),
               *to = kvmig__json_text(entry, "to");
    char *before = json_of(entry, "before");

    if (!volume || !from || !to || !before) {
        free(before);
        return false;
    }
    *KVMIG__PUSH(&d->volumes.moves) = (struct kvmig__kube_move){ .volume = kvmig__strdup(volume),
                                                                 .from = kvmig__strdup(from),
                                                                 .to = kvmig__strdup(to),
                                                                 .before = before,
                                                                 .template_before = json_of(entry, "template") };
    return true;
}

static struct kvmig_error *read_volumes(struct kvmig__kube_driver *d, struct json_object *token)
{
    struct json_object *volumes = kvmig__json_at(token, "volumes"),
                       *before = kvmig__json_at(token, "migrations_before");

    for (size_t i = 0; json_object_is_type(volumes, json_type_array) && i < json_object_array_length(volumes); i++)
        if (!read_move(d, json_object_array_get_idx(volumes, i)))
            return bad_token("lists a volume without its names", json_object_to_json_string(volumes));
    for (size_t i = 0; json_object_is_type(before, json_type_array) && i < json_object_array_length(before); i++)
        kvmig__strlist_add(&d->volumes.seen, json_object_get_string(json_object_array_get_idx(before, i)));
    d->volumes.state = (int32_t)number_of(token, "volumes_state");
    d->volumes.ready_ms = number_of(token, "ready_ms");
    d->volumes.restart_before = flag_of(token, "restart_before");
    kvmig__str_set(&d->volumes.strategy_before, kvmig__json_text(token, "strategy_before"));
    if (d->volumes.moves.n && d->volumes.state != KVMIG__VOLUMES_AS_BEFORE)
        kvmig__kube_volumes_ledger(d);
    return NULL;
}

static void read_policy(struct kvmig__kube_driver *d, struct json_object *token)
{
    struct json_object *policy = kvmig__json_at(token, "policy");
    const char *name = kvmig__json_text(policy, "name");

    if (!name)
        return;
    kvmig__str_set(&d->policy.name, name);
    d->policy.wanted = flag_of(policy, "created");
    d->policy.labelled = flag_of(policy, "labelled");
    if (d->policy.wanted)
        d->policy.policy_item = kvmig__kube_ledger_add(d, "migration policy", name);
    if (d->policy.labelled)
        d->policy.label_item = kvmig__kube_ledger_add(d, "VM label", KVMIG__MARK);
}

static struct kvmig_error *read_migration(struct kvmig__kube_driver *d, struct json_object *token)
{
    struct json_object *migration = kvmig__json_at(token, "migration");
    const char *mark = kvmig__json_text(migration, "session"), *name = kvmig__json_text(migration, "name");
    const char *uid = kvmig__json_text(migration, "uid");
    char *full;

    if (!mark || !name != !uid)
        return bad_token("does not tell which migration it is about", NULL);
    kvmig__str_set(&d->mark, mark);
    d->attached = flag_of(migration, "attached");
    d->maybe_posted = !name && !d->attached && !d->volumes.moves.n;
    if (!name)
        return NULL;
    kvmig__kube_bind(d, name, uid);
    if (!d->attached && !d->volumes.moves.n) {
        full = kvmig__asprintf("%s/%s", d->ns, name);
        d->vmim_item = kvmig__kube_ledger_add(d, "migration", full);
        free(full);
    }
    return NULL;
}

struct kvmig_error *kvmig__kube_token_read(struct kvmig__kube_driver *d, struct json_object *token)
{
    const char *uid = kvmig__json_text(token, "vmi_uid");
    char *vm = kvmig__asprintf("%s/%s", d->ns, d->vmi);
    struct kvmig_error *error = NULL;

    if (!kvmig__str_eq(kvmig__json_text(token, "vm"), vm) || !uid)
        error = bad_token("is about another VM", kvmig__json_text(token, "vm"));
    if (!error) {
        kvmig__str_set(&d->vmi_uid, uid);
        error = read_volumes(d, token);
    }
    if (!error)
        error = read_migration(d, token);
    if (!error)
        read_policy(d, token);
    free(vm);
    return error;
}
