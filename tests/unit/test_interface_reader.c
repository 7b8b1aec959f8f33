/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading interfaces from a database that exists only here: the functions of the OVSDB client that the reader uses are
 * replaced when this program is linked. What rows become, what a callback gets and when it is freed, and that nothing
 * of the client is left behind.
 */
#include "context_test.h"

#include "port/ovsdb.h"
#include <kvmig/interface.h>

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#define REMOTES "unix:/run/openvswitch/db.sock"

/* ---- the database ---- */

static const char *const columns[] = { "name", "external_ids", "ofport", "link_state", "error", NULL };
enum { N_COLUMNS = 5, MAX_ROWS = 8 };

struct kvmig__ovsdb {
    _Atomic int gets, puts;
    int monitors;
    struct kvmig_error *refusal; /* what the next get() answers */
    struct kvmig_error *trouble;
    bool current, lacks_table;
    void (*changed)(void *data);
    void *data;
    struct kvmig__ovsdb_row rows[MAX_ROWS];
    size_t n_rows;
};
static struct kvmig__ovsdb database;

struct kvmig_error *__wrap_kvmig__ovsdb_get(struct kvmig_context *context, const struct kvmig__ovsdb_spec *spec,
                                            const char *where, struct kvmig__ovsdb **out_db);
void __wrap_kvmig__ovsdb_put(struct kvmig__ovsdb *db);
const struct kvmig_error *__wrap_kvmig__ovsdb_trouble(const struct kvmig__ovsdb *db);
const char *__wrap_kvmig__ovsdb_schema_version(const struct kvmig__ovsdb *db);
bool __wrap_kvmig__ovsdb_has_column(const struct kvmig__ovsdb *db, const char *table, const char *column);
struct kvmig__ovsdb_monitor *__wrap_kvmig__ovsdb_monitor_new(struct kvmig__ovsdb *db,
                                                             const struct kvmig__ovsdb_table *tables, size_t n_tables,
                                                             void (*changed)(void *data), void *data);
void __wrap_kvmig__ovsdb_monitor_free(struct kvmig__ovsdb_monitor *monitor);
bool __wrap_kvmig__ovsdb_monitor_is_current(const struct kvmig__ovsdb_monitor *monitor);
size_t __wrap_kvmig__ovsdb_row_count(const struct kvmig__ovsdb_monitor *monitor, size_t table);
const struct kvmig__ovsdb_row *__wrap_kvmig__ovsdb_row(const struct kvmig__ovsdb_monitor *monitor, size_t table,
                                                       size_t index);

struct kvmig_error *__wrap_kvmig__ovsdb_get(struct kvmig_context *context, const struct kvmig__ovsdb_spec *spec,
                                            const char *where, struct kvmig__ovsdb **out_db)
{
    struct kvmig_error *refusal = database.refusal;

    assert_non_null(context);
    assert_string_equal(spec->remotes, REMOTES);
    assert_string_equal(spec->database, "Open_vSwitch");
    assert_string_equal(where, "kvmig_interfaces_read: remotes");
    assert_false(spec->leader_only);
    database.refusal = NULL;
    if (!refusal) {
        database.gets++;
        *out_db = &database;
    }
    return refusal;
}

void __wrap_kvmig__ovsdb_put(struct kvmig__ovsdb *db)
{
    assert_int_equal(db->monitors, 0);
    db->puts++;
}

const struct kvmig_error *__wrap_kvmig__ovsdb_trouble(const struct kvmig__ovsdb *db)
{
    return db->trouble;
}

const char *__wrap_kvmig__ovsdb_schema_version(const struct kvmig__ovsdb *db)
{
    (void)db;
    return "8.3.1";
}

bool __wrap_kvmig__ovsdb_has_column(const struct kvmig__ovsdb *db, const char *table, const char *column)
{
    assert_string_equal(table, "Interface");
    assert_string_equal(column, "external_ids");
    return !db->lacks_table;
}

struct kvmig__ovsdb_monitor *__wrap_kvmig__ovsdb_monitor_new(struct kvmig__ovsdb *db,
                                                             const struct kvmig__ovsdb_table *tables, size_t n_tables,
                                                             void (*changed)(void *data), void *data)
{
    assert_int_equal(n_tables, 1);
    assert_string_equal(tables[0].name, "Interface");
    for (size_t i = 0; i < N_COLUMNS; i++)
        assert_string_equal(tables[0].columns[i], columns[i]);
    assert_null(tables[0].columns[N_COLUMNS]);
    assert_null(tables[0].where);
    db->monitors++;
    db->changed = changed;
    db->data = data;
    return (struct kvmig__ovsdb_monitor *)db;
}

void __wrap_kvmig__ovsdb_monitor_free(struct kvmig__ovsdb_monitor *monitor)
{
    assert_ptr_equal(monitor, &database);
    database.monitors--;
    database.changed = NULL;
}

bool __wrap_kvmig__ovsdb_monitor_is_current(const struct kvmig__ovsdb_monitor *monitor)
{
    return ((const struct kvmig__ovsdb *)monitor)->current;
}

size_t __wrap_kvmig__ovsdb_row_count(const struct kvmig__ovsdb_monitor *monitor, size_t table)
{
    assert_int_equal(table, 0);
    return ((const struct kvmig__ovsdb *)monitor)->n_rows;
}

const struct kvmig__ovsdb_row *__wrap_kvmig__ovsdb_row(const struct kvmig__ovsdb_monitor *monitor, size_t table,
                                                       size_t index)
{
    assert_int_equal(table, 0);
    return &((const struct kvmig__ovsdb *)monitor)->rows[index];
}

/* Values as the server writes them, in the order of the columns; NULL = empty. */
static void add_row(const char *uuid, const char *const values[N_COLUMNS])
{
    struct kvmig__ovsdb_row *row = &database.rows[database.n_rows++];

    assert_true(database.n_rows <= MAX_ROWS);
    row->uuid = kvmig__strdup(uuid);
    row->names = columns;
    row->columns.n = N_COLUMNS;
    row->columns.v = kvmig__calloc(N_COLUMNS, sizeof(*row->columns.v));
    for (size_t i = 0; i < N_COLUMNS; i++) {
        struct json_object *json = json_tokener_parse(values[i] ? values[i] : "[\"set\", []]");

        assert_true(kvmig__ovsdb_value_decode(json, &row->columns.v[i]));
        json_object_put(json);
    }
}

#define ADD_ROW(uuid, ...) add_row(uuid, (const char *const[N_COLUMNS]){ __VA_ARGS__ })

/* The context dispatches meanwhile: as the client does, functions are called with the lock held. */
static void change(struct kvmig_context *context)
{
    kvmig__context_lock(context);
    if (database.changed)
        database.changed(database.data);
    kvmig__context_unlock(context);
}

static int database_reset(void **state)
{
    (void)state;
    for (size_t i = 0; i < database.n_rows; i++) {
        for (size_t j = 0; j < N_COLUMNS; j++)
            kvmig__ovsdb_value_clear(&database.rows[i].columns.v[j]);
        free(database.rows[i].columns.v);
        free(database.rows[i].uuid);
    }
    kvmig__error_free(database.trouble);
    database = (struct kvmig__ovsdb){ .gets = 0 };
    return 0;
}

/* ---- the caller ---- */

struct answer {
    _Atomic int n, n_frees;
    int32_t code;
    char *evidence;
    struct kvmig_interfaces *list; /* kept */
};

static void on_interfaces(const struct kvmig_interfaces *interfaces, const struct kvmig_error *error, void *data)
{
    struct answer *answer = data;

    assert_true(!interfaces != !error);
    assert_int_equal(answer->n_frees, 0);
    answer->n++;
    answer->code = kvmig_error_code(error);
    answer->evidence = error ? kvmig__strdup(kvmig_error_evidence(error)) : NULL;
    answer->list = kvmig_interfaces_ref(interfaces);
}

static void on_free(void *data)
{
    ((struct answer *)data)->n_frees++;
}

static int32_t read_interfaces(struct kvmig_context *context, struct answer *answer, uint64_t timeout_ms)
{
    struct kvmig_interfaces_opts opts = KVMIG_INTERFACES_OPTS_INIT;

    opts.remotes = REMOTES;
    opts.timeout_ms = timeout_ms;
    return kvmig_interfaces_read(context, &opts, (struct kvmig_interfaces_callback){ on_interfaces, answer, on_free });
}

static void answer_clear(struct answer *answer)
{
    free(answer->evidence);
    kvmig_interfaces_unref(answer->list);
}

static void assert_nothing_is_left(void)
{
    assert_int_equal(database.puts, database.gets);
    assert_int_equal(database.monitors, 0);
}

/* ---- tests ---- */

static void rows_become_facts(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct answer answer = { .n = 0 };
    const struct kvmig_interface *interface;

    (void)state;
    ADD_ROW("uuid-1", "\"e19e7_0001_h\"",
            "[\"map\", [[\"iface-id\", \"vmi-77.ns1\"], [\"pod_name\", \"vmi-77\"], [\"pod_namespace\", \"ns1\"],"
            " [\"ovn-installed\", \"true\"], [\"ovn-installed-ts\", \"1700000000123\"], [\"vendor\", \"kube-ovn\"]]]",
            "5", "\"up\"", NULL);
    assert_int_equal(read_interfaces(context, &answer, 0), 0);
    change(context); /* not current yet */
    test_drain(context);
    assert_int_equal(answer.n, 0);
    database.current = true;
    change(context);
    assert_int_equal(answer.n, 0); /* in dispatch, not here */
    change(context); /* is of no interest any more */
    test_run_until(context, &answer.n_frees, 1);
    assert_int_equal(answer.n, 1);
    assert_int_equal(answer.code, 0);
    assert_nothing_is_left();
    kvmig_context_unref(context);

    assert_int_equal(kvmig_interfaces_count(answer.list), 1); /* needs no context */
    interface = kvmig_interfaces_get(answer.list, 0);
    assert_int_equal(interface->size, sizeof(*interface));
    assert_string_equal(interface->uuid, "uuid-1");
    assert_string_equal(interface->name, "e19e7_0001_h");
    assert_string_equal(interface->iface_id, "vmi-77.ns1");
    assert_string_equal(interface->vm_namespace, "ns1");
    assert_string_equal(interface->vm_id, "vmi-77");
    assert_string_equal(interface->link_state, "up");
    assert_null(interface->error);
    assert_int_equal(interface->ofport, 5);
    assert_int_equal(interface->ovn_installed, 1);
    assert_true(interface->ovn_installed_ts_ms == 1700000000123);
    assert_int_equal(interface->first_seen_ms, 0);
    assert_null(kvmig_interfaces_get(answer.list, 1));
    answer_clear(&answer);
}

static void other_rows_say_less_and_some_nothing(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct answer answer = { .n = 0 };
    const struct kvmig_interface *interface;

    (void)state;
    ADD_ROW("uuid-1", "\"br-int\"", "[\"map\", []]", "65534", "\"up\"", NULL);
    ADD_ROW("uuid-2", "\"vnet0\"",
            "[\"map\", [[\"iface-id\", \"d28a71c4\"], [\"vm-id\", \"5a5db485\"], [\"iface-status\", \"active\"]]]",
            "-1", NULL, "\"could not open network device vnet0 (No such device)\"");
    ADD_ROW("uuid-3", NULL,
            "[\"map\", [[\"iface-id\", \"x\"], [\"pod_name\", \"vmi-1\"], [\"ovn-installed\", \"false\"],"
            " [\"ovn-installed-ts\", \"12x\"]]]",
            NULL, NULL, NULL);
    ADD_ROW("uuid-4", "\"p\"", "[\"map\", [[\"iface-id\", \"\"], [\"pod_name\", \"vmi-1\"]]]", "7", NULL, NULL);
    ADD_ROW("uuid-5", "\"q\"",
            "[\"map\", [[\"iface-id\", \"y\"], [\"pod_namespace\", \"ns1\"],"
            " [\"ovn-installed-ts\", \"99999999999999999999\"]]]",
            "7", NULL, NULL);
    database.current = true; /* as of a client that another handle uses */
    assert_int_equal(read_interfaces(context, &answer, 0), 0);
    assert_int_equal(answer.n, 0);
    test_run_until(context, &answer.n_frees, 1);
    assert_int_equal(kvmig_interfaces_count(answer.list), 3);

    interface = kvmig_interfaces_get(answer.list, 0); /* of libvirt */
    assert_string_equal(interface->uuid, "uuid-2");
    assert_null(interface->vm_namespace);
    assert_string_equal(interface->vm_id, "5a5db485");
    assert_int_equal(interface->ofport, -1);
    assert_non_null(strstr(interface->error, "No such device"));
    interface = kvmig_interfaces_get(answer.list, 1); /* of a pod, whose namespace is not known */
    assert_null(interface->name);
    assert_string_equal(interface->vm_namespace, "");
    assert_int_equal(interface->ofport, 0);
    assert_int_equal(interface->ovn_installed, 0);
    assert_int_equal(interface->ovn_installed_ts_ms, 0);
    interface = kvmig_interfaces_get(answer.list, 2); /* of nobody */
    assert_null(interface->vm_id);
    assert_string_equal(interface->vm_namespace, "ns1");
    assert_int_equal(interface->ovn_installed_ts_ms, 0);
    assert_nothing_is_left();
    answer_clear(&answer);
    kvmig_context_unref(context);
}

static void a_list_goes_straight_to_the_classifier(void **state)
{
    struct kvmig_interface_classifier_opts opts = KVMIG_INTERFACE_CLASSIFIER_OPTS_INIT;
    struct kvmig_interface_pass pass = KVMIG_INTERFACE_PASS_INIT;
    const struct kvmig_workload *nothing = NULL;
    struct kvmig_interface_classifier *classifier;
    struct kvmig_context *context = test_context_new(0);
    struct kvmig_interface_report *report;
    struct answer answer = { .n = 0 };

    (void)state;
    ADD_ROW("uuid-1", "\"a\"", "[\"map\", [[\"iface-id\", \"x\"], [\"vm-id\", \"vm1\"]]]", "1", NULL, NULL);
    database.current = true;
    assert_int_equal(read_interfaces(context, &answer, 0), 0);
    test_run_until(context, &answer.n_frees, 1);
    opts.node = "host-1";
    assert_int_equal(kvmig_interface_classifier_new(&opts, &classifier), 0);
    pass.list = answer.list;
    assert_int_equal(kvmig_interface_classify(classifier, &pass, &report), 0);
    assert_int_equal(kvmig_interface_report_get(report, 0)->reason, KVMIG_INTERFACE_REASON_NO_INVENTORY);
    kvmig_interface_report_free(report);
    pass.workloads = &nothing;
    assert_int_equal(kvmig_interface_classify(classifier, &pass, &report), 0);
    assert_int_equal(kvmig_interface_report_get(report, 0)->reason, KVMIG_INTERFACE_REASON_YOUNG);
    kvmig_interface_report_free(report);
    pass.n_interfaces = 1;
    assert_int_equal(kvmig_interface_classify(classifier, &pass, &report), -EINVAL); /* given twice */
    kvmig_interface_classifier_free(classifier);
    answer_clear(&answer);
    kvmig_context_unref(context);
}

static void silence_ends_with_a_time_out(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct answer answer = { .n = 0 };

    (void)state;
    assert_int_equal(read_interfaces(context, &answer, 1), 0);
    test_run_until(context, &answer.n_frees, 1);
    assert_int_equal(answer.n, 1);
    assert_int_equal(answer.code, -ETIMEDOUT);
    assert_nothing_is_left();
    answer_clear(&answer);
    kvmig_context_unref(context);
}

static void the_trouble_of_the_client_is_told(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct answer answer = { .n = 0 };

    (void)state;
    database.trouble = kvmig__error_new(KVMIG_EUNREACHABLE, REMOTES, "connection refused", "Start it.", "no server");
    assert_int_equal(read_interfaces(context, &answer, 1), 0);
    test_run_until(context, &answer.n_frees, 1);
    assert_int_equal(answer.code, -KVMIG_EUNREACHABLE);
    assert_string_equal(answer.evidence, "no server: connection refused");
    assert_nothing_is_left();
    answer_clear(&answer);
    kvmig_context_unref(context);
}

static void a_database_without_interfaces_is_not_an_empty_one(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct answer answer = { .n = 0 };

    (void)state;
    database.current = database.lacks_table = true;
    assert_int_equal(read_interfaces(context, &answer, 0), 0);
    test_run_until(context, &answer.n_frees, 1);
    assert_int_equal(answer.code, -ENOTSUP);
    assert_nothing_is_left();
    answer_clear(&answer);
    kvmig_context_unref(context);
}

/* The answer is ready, but nobody is there to get it. */
static void a_context_that_ends_first_only_frees(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct answer answer = { .n = 0 };

    (void)state;
    database.current = true;
    assert_int_equal(read_interfaces(context, &answer, 0), 0);
    kvmig_context_unref(context);
    test_wait_for(&answer.n_frees, 1);
    assert_int_equal(answer.n, 0);
    for (int waited = 0; database.puts < database.gets; waited++) {
        assert_true(waited < TEST_DEADLINE_MS);
        poll(NULL, 0, 1);
    }
    assert_nothing_is_left();
}

static void many_reads_at_once_are_all_answered(void **state)
{
    struct kvmig_context *context = test_context_new(KVMIG_CONTEXT_THREAD);
    struct answer answers[50] = { { .n = 0 } };

    (void)state;
    database.current = true;
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(read_interfaces(context, &answers[i], 0), 0);
    for (size_t i = 0; i < 50; i++)
        test_wait_for(&answers[i].n_frees, 1);
    for (size_t i = 0; i < 50; i++) {
        assert_int_equal(answers[i].n, 1);
        assert_int_equal(kvmig_interfaces_count(answers[i].list), 0);
        answer_clear(&answers[i]);
    }
    kvmig_context_unref(context);
    assert_nothing_is_left();
}

static void refuse(struct kvmig_context *context, const struct kvmig_interfaces_opts *opts, int32_t code,
                   const char *where)
{
    struct answer answer = { .n = 0 };

    assert_int_equal(
        kvmig_interfaces_read(context, opts, (struct kvmig_interfaces_callback){ on_interfaces, &answer, on_free }),
        code);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), where);
    if (context)
        test_run_until(context, &answer.n_frees, 1);
    assert_int_equal(answer.n, 0);
    assert_int_equal(answer.n_frees, 1);
}

static void bad_options_are_refused_and_the_callback_is_freed(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct kvmig_interfaces_opts opts = KVMIG_INTERFACES_OPTS_INIT;

    (void)state;
    refuse(NULL, &opts, -EINVAL, "kvmig_interfaces_read: context");
    refuse(context, NULL, -EINVAL, "kvmig_interfaces_read: remotes");
    refuse(context, &opts, -EINVAL, "kvmig_interfaces_read: remotes");
    opts.remotes = REMOTES;
    opts.timeout_ms = UINT64_MAX;
    refuse(context, &opts, -EINVAL, "kvmig_interfaces_read: timeout_ms");
    opts.timeout_ms = 0;
    opts.size = 1;
    refuse(context, &opts, -EINVAL, "kvmig_interfaces_read");
    assert_int_equal(kvmig_interfaces_opts_init(&opts, sizeof(opts)), 0);
    opts.remotes = REMOTES;
    database.refusal = kvmig__error_new(EINVAL, "kvmig_interfaces_read: remotes", NULL, NULL, "no such scheme");
    refuse(context, &opts, -EINVAL, "kvmig_interfaces_read: remotes");
    assert_int_equal(database.gets, 0);
    kvmig_interfaces_unref(NULL);
    assert_null(kvmig_interfaces_ref(NULL));
    assert_int_equal(kvmig_interfaces_count(NULL), 0);
    assert_null(kvmig_interfaces_get(NULL, 0));
    kvmig_context_unref(context);
}

static void a_callback_may_be_empty(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct kvmig_interfaces_opts opts = KVMIG_INTERFACES_OPTS_INIT;

    (void)state;
    opts.remotes = REMOTES;
    database.current = true;
    assert_int_equal(kvmig_interfaces_read(context, &opts, (struct kvmig_interfaces_callback){ NULL, NULL, NULL }), 0);
    test_drain(context);
    assert_int_equal(database.gets, 1);
    assert_nothing_is_left();
    kvmig_context_unref(context);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, database_reset, database_reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_become_facts),
        TEST(other_rows_say_less_and_some_nothing),
        TEST(a_list_goes_straight_to_the_classifier),
        TEST(silence_ends_with_a_time_out),
        TEST(the_trouble_of_the_client_is_told),
        TEST(a_database_without_interfaces_is_not_an_empty_one),
        TEST(a_context_that_ends_first_only_frees),
        TEST(many_reads_at_once_are_all_answered),
        TEST(bad_options_are_refused_and_the_callback_is_freed),
        TEST(a_callback_may_be_empty),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
