/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Taking a session up again in another process: what a token must look like, and the session that is made from one. What the
 * migration itself needs of the token is the driver's affair; it gets the token with the session's wishes. Public calls come from any
 * thread and take the context lock.
 */
#include "session/session_internal.h"

#include "base/json_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_VERSION 1
#define LONGEST_TOKEN ((size_t)1024 * 1024) /* one names a few objects; anything longer is something else */

void kvmig__session_wishes_clear(struct kvmig__session_wishes *wishes)
{
    free(wishes->attach);
    json_object_put(wishes->token);
    *wishes = (struct kvmig__session_wishes){ 0 };
}

static const char *text_of(struct json_object *token, const char *key)
{
    struct json_object *value;

    return json_object_object_get_ex(token, key, &value) && json_object_is_type(value, json_type_string)
               ? json_object_get_string(value)
               : NULL;
}

/* The VM's name, with its namespace if that is told apart. */
static char *full_name(struct json_object *token)
{
    const char *ns = text_of(token, "namespace"), *vm = text_of(token, "vm");

    return ns && !strchr(vm, '/') ? kvmig__asprintf("%s/%s", ns, vm) : kvmig__strdup(vm);
}

struct kvmig_plan *kvmig__session_plan_from_token(const struct kvmig_session *session)
{
    struct json_object *token = session->wishes.token;
    struct kvmig_plan *plan = kvmig__calloc(1, sizeof(*plan));

    *plan = (struct kvmig_plan){
        .refs = 1,
        .vm = full_name(token),
        .uuid = kvmig__strdup(text_of(token, "vmi_uid")),
        .source = kvmig__strdup(text_of(token, "source")),
        .target = kvmig__strdup(text_of(token, "target")),
        .verdict = KVMIG_VERDICT_MIGRATABLE,
        .persistent = true,
        .kube = true,
        .attached = true,
    };
    plan->request.vm = kvmig__strdup(plan->vm);
    return plan;
}

static int32_t bad_token(const char *what, const char *evidence)
{
    return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_session_resume: token", evidence,
                                        "Hand in what the last KVMIG_EVENT_CHECKPOINT of that session gave.",
                                        "the token %s", what));
}

static int32_t check_token(struct json_object *token)
{
    struct json_object *version;
    const char *backend = text_of(token, "backend");

    if (!json_object_is_type(token, json_type_object))
        return bad_token("is no JSON object", NULL);
    if (!json_object_object_get_ex(token, "version", &version) || json_object_get_int64(version) != TOKEN_VERSION)
        return bad_token("is of another version of the library", version ? json_object_get_string(version) : NULL);
    if (!kvmig__str_eq(backend, "kubevirt"))
        return kvmig__fail(kvmig__error_new(ENOTSUP, "kvmig_session_resume: token", backend,
                                            "Ask with kvmig_cluster_locate() where the guest is.",
                                            "only sessions on KubeVirt can be taken up again"));
    if (!text_of(token, "vm"))
        return bad_token("does not name its VM", NULL);
    if (!text_of(token, "source"))
        return bad_token("does not name the node that the VM came from", NULL);
    return 0;
}

static int32_t parse_token(const char *text, struct json_object **out_token)
{
    size_t length = text ? strnlen(text, LONGEST_TOKEN) : 0;
    int32_t rc;

    *out_token = NULL;
    if (!text)
        return bad_token("is NULL", NULL);
    if (length == LONGEST_TOKEN)
        return bad_token("is too long", NULL);
    *out_token = kvmig__json_parse(text, length);
    if (!*out_token)
        return bad_token("is not JSON, or not all of it is", NULL);
    rc = check_token(*out_token);
    if (rc < 0) {
        json_object_put(*out_token);
        *out_token = NULL;
    }
    return rc;
}

static int32_t check_opts(const struct kvmig_session_opts *opts)
{
    if (opts && opts->size >= sizeof(*opts) && (opts->attach || opts->plan_opts))
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_session_resume: opts", NULL,
                                            "Leave out attach and plan_opts: the token says what to follow.",
                                            "the options say what to migrate, and so does the token"));
    return 0;
}

int32_t kvmig_session_resume(struct kvmig_cluster *cluster, const char *token, const struct kvmig_session_opts *opts,
                             struct kvmig_session **out_session)
{
    struct kvmig_session_opts own;
    struct kvmig_plan_opts plan_opts = KVMIG_PLAN_OPTS_INIT;
    struct json_object *parsed = NULL;
    int32_t rc = kvmig__opts_copy(&own, sizeof(own), opts, "kvmig_session_resume");

    if (out_session)
        *out_session = NULL;
    if (!rc)
        rc = check_opts(&own);
    if (!rc)
        rc = parse_token(token, &parsed);
    if (rc) {
        struct kvmig_context *context = cluster ? kvmig__cluster_context(cluster) : NULL;

        if (context)
            kvmig__context_lock(context);
        kvmig__callback_discard(context, own.on_event.free, own.on_event.user_data);
        if (context)
            kvmig__context_unlock(context);
        return rc;
    }
    plan_opts.vm = text_of(parsed, "vm");
    own.size = sizeof(own);
    own.plan_opts = &plan_opts;
    rc = kvmig_session_new(cluster, NULL, &own, out_session);
    if (rc < 0) {
        json_object_put(parsed);
        return rc;
    }
    kvmig__context_lock((*out_session)->context);
    (*out_session)->wishes.token = parsed;
    kvmig__context_unlock((*out_session)->context);
    return 0;
}
