/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The scripted server: keeps requests until the test answers them. Needs -Wl,--wrap for the four functions at the end.
 * The test's thread only.
 */
#include "fake_ovsdb_rpc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kvmig__ovsdb_rpc {
    const struct kvmig__ovsdb_rpc_ops *ops;
    void *data;
    uint64_t last_id;
};

struct fake_ovsdb fake;

const char fake_server_schema[] =
    "{'name':'_Server','version':'1.2.0','tables':{'Database':{'columns':{'name':{'type':'string'},"
    "'model':{'type':{'key':{'type':'string','enum':['set',['clustered','relay','standalone']]}}},"
    "'connected':{'type':'boolean'},'leader':{'type':'boolean'},'schema':{'type':{'key':'string','min':0}},"
    "'cid':{'type':{'key':'uuid','min':0}},'sid':{'type':{'key':'uuid','min':0}},"
    "'index':{'type':{'key':'integer','min':0}}}}}}";

const char fake_schema[] =
    "{'name':'Net','version':'7.1.0','tables':{"
    "'Port':{'columns':{'name':{'type':'string'},'up':{'type':{'key':'boolean','min':0,'max':1}},"
    "'options':{'type':{'key':'string','value':'string','min':0,'max':'unlimited'}},"
    "'chassis':{'type':{'key':{'type':'uuid','refTable':'Chassis'},'min':0,'max':'unlimited'}},"
    "'cfg':{'type':'integer'}}},"
    "'Chassis':{'columns':{'name':{'type':'string'},'hostname':{'type':'string'}}}}}";

void fake_ovsdb_init(struct kvmig_context *context)
{
    fake = (struct fake_ovsdb){ .context = context };
}

static void drop_request(size_t index)
{
    free(fake.requests.v[index].method);
    json_object_put(fake.requests.v[index].params);
    fake.requests.n--;
    memmove(&fake.requests.v[index], &fake.requests.v[index + 1], (fake.requests.n - index) * sizeof(*fake.requests.v));
}

static void drop_requests(void)
{
    while (fake.requests.n)
        drop_request(0);
    free(fake.requests.v);
    fake.requests.v = NULL;
}

void fake_ovsdb_clear(void)
{
    assert_null(fake.rpc);
    drop_requests();
    kvmig__strlist_clear(&fake.opened);
}

struct json_object *fake_json(const char *text)
{
    char *copy = kvmig__strdup(text);
    struct json_object *json;

    for (char *c = copy; *c; c++) {
        if (*c == '\'')
            *c = '"';
    }
    json = json_tokener_parse(copy);
    if (!json && strcmp(copy, "null") != 0)
        fail_msg("not JSON: %s", copy);
    free(copy);
    return json;
}

/* ---- what the server does ---- */

static void begin(void)
{
    assert_non_null(fake.rpc);
    kvmig__context_lock(fake.context);
}

static void finish(void)
{
    kvmig__context_unlock(fake.context);
    test_drain(fake.context);
}

void fake_connect(void)
{
    begin();
    fake.rpc->ops->connected(fake.rpc->data);
    finish();
}

static size_t find(const char *method)
{
    for (size_t i = 0; i < fake.requests.n; i++) {
        if (strcmp(fake.requests.v[i].method, method) == 0)
            return i;
    }
    fail_msg("the client has not asked for %s", method);
    return 0;
}

static void answer(const char *method, struct json_object *result, struct json_object *error)
{
    struct fake_request request;

    begin();
    request = fake.requests.v[find(method)];
    drop_request(find(method));
    request.reply(request.data, result, error, false);
    json_object_put(result);
    json_object_put(error);
    finish();
}

void fake_reply(const char *method, const char *result)
{
    answer(method, fake_json(result), NULL);
}

void fake_refuse(const char *method, const char *error)
{
    answer(method, NULL, fake_json(error));
}

void fake_notify(const char *method, const char *params)
{
    struct json_object *json = fake_json(params);

    begin();
    fake.rpc->ops->notified(fake.rpc->data, method, json);
    json_object_put(json);
    finish();
}

void fake_lose(const char *why)
{
    struct kvmig__ovsdb_rpc *rpc = fake.rpc;

    begin();
    while (fake.rpc == rpc && fake.requests.n) {
        struct fake_request request = fake.requests.v[0];

        drop_request(0);
        request.reply(request.data, NULL, NULL, true);
    }
    if (fake.rpc == rpc)
        rpc->ops->lost(rpc->data, kvmig__error_new(-ECONNRESET, NULL, NULL, NULL, "%s", why));
    finish();
}

void fake_serve_row(const char *row)
{
    char *rows = kvmig__asprintf("{'Database':{'" FAKE_ROW "':{'initial':%s}}}", row);

    fake_connect();
    fake_reply("get_schema", fake_server_schema);
    fake_reply("monitor_cond", rows);
    free(rows);
    if (!fake.rpc || !fake_pending("get_schema"))
        return; /* not good enough */
    fake_reply("set_db_change_aware", "{}");
    fake_reply("get_schema", fake_schema);
}

void fake_serve(void)
{
    fake_serve_row("{'name':'Net','model':'standalone','connected':true,'leader':true,'schema':'{}'}");
}

/* ---- what the client asked ---- */

size_t fake_pending(const char *method)
{
    size_t n = 0;

    for (size_t i = 0; i < fake.requests.n; i++)
        n += strcmp(fake.requests.v[i].method, method) == 0;
    return n;
}

void fake_expect(const char *method, const char *params)
{
    struct json_object *expected = fake_json(params), *got = fake.requests.v[find(method)].params;

    if (!json_object_equal(expected, got))
        fail_msg("%s: %s instead of %s", method, json_object_to_json_string(got), params);
    json_object_put(expected);
}

struct json_object *fake_param(const char *method, size_t index)
{
    return json_object_array_get_idx(fake.requests.v[find(method)].params, index);
}

/* ---- in place of the connection ---- */

struct kvmig__ovsdb_rpc *__wrap_kvmig__ovsdb_rpc_open(struct kvmig_context *context,
                                                      const struct kvmig__ovsdb_remote *remote,
                                                      const struct kvmig__ovsdb_tls *tls, int64_t connect_ms,
                                                      int64_t probe_ms, const struct kvmig__ovsdb_rpc_ops *ops,
                                                      void *data);
uint64_t __wrap_kvmig__ovsdb_rpc_request(struct kvmig__ovsdb_rpc *rpc, const char *method, struct json_object *params,
                                         void (*reply)(void *data, struct json_object *result,
                                                       struct json_object *server_error, bool lost),
                                         void *data);
void __wrap_kvmig__ovsdb_rpc_forget(struct kvmig__ovsdb_rpc *rpc, uint64_t id);
void __wrap_kvmig__ovsdb_rpc_close(struct kvmig__ovsdb_rpc *rpc);

struct kvmig__ovsdb_rpc *__wrap_kvmig__ovsdb_rpc_open(struct kvmig_context *context,
                                                      const struct kvmig__ovsdb_remote *remote,
                                                      const struct kvmig__ovsdb_tls *tls, int64_t connect_ms,
                                                      int64_t probe_ms, const struct kvmig__ovsdb_rpc_ops *ops,
                                                      void *data)
{
    assert_ptr_equal(context, fake.context);
    assert_null(fake.rpc); /* one at a time */
    assert_non_null(tls);
    assert_true(connect_ms > 0 && probe_ms > 0);
    fake.rpc = kvmig__calloc(1, sizeof(*fake.rpc));
    fake.rpc->ops = ops;
    fake.rpc->data = data;
    kvmig__strlist_add(&fake.opened, remote->text);
    return fake.rpc;
}

uint64_t __wrap_kvmig__ovsdb_rpc_request(struct kvmig__ovsdb_rpc *rpc, const char *method, struct json_object *params,
                                         void (*reply)(void *data, struct json_object *result,
                                                       struct json_object *server_error, bool lost),
                                         void *data)
{
    struct fake_request *request = KVMIG__PUSH(&fake.requests);

    assert_ptr_equal(rpc, fake.rpc);
    *request = (struct fake_request){
        .id = ++rpc->last_id, .method = kvmig__strdup(method), .params = params, .reply = reply, .data = data
    };
    return request->id;
}

void __wrap_kvmig__ovsdb_rpc_forget(struct kvmig__ovsdb_rpc *rpc, uint64_t id)
{
    assert_ptr_equal(rpc, fake.rpc);
    for (size_t i = 0; i < fake.requests.n; i++) {
        if (fake.requests.v[i].id == id) {
            drop_request(i);
            return;
        }
    }
}

void __wrap_kvmig__ovsdb_rpc_close(struct kvmig__ovsdb_rpc *rpc)
{
    if (!rpc)
        return;
    assert_ptr_equal(rpc, fake.rpc);
    fake.rpc = NULL;
    fake.n_closed++;
    drop_requests();
    free(rpc);
}
