/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The OVN port against OVN itself: private NB and SB servers and northd, and a local database of the target. No chassis runs: the test
 * writes what ovn-controller would (claims, ovn-installed, answers to barriers). Skipped where OVN is not installed.
 */
#include "ovsdb_server.h"
#include "port_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define SKIPPED 77 /* for automake */
#define SCHEMAS "/usr/share"

struct fixture {
    char *folder;
    struct real_server nb, sb, hv2;
    pid_t northd;
    struct kvmig_context *context;
    struct port_caller caller;
    struct kvmig_port *port;
};

/* ---- programs ---- */

static char *output_of(const char *command)
{
    FILE *pipe = popen(command, "r");
    char text[512] = "";
    size_t n;

    assert_non_null(pipe);
    n = fread(text, 1, sizeof(text) - 1, pipe);
    assert_int_equal(pclose(pipe), 0);
    while (n && text[n - 1] == '\n')
        text[--n] = '\0';
    return kvmig__strdup(text);
}

static void KVMIG__PRINTF(2, 3) nbctl(struct fixture *f, const char *fmt, ...)
{
    char *arguments, *command;
    va_list args;

    va_start(args, fmt);
    arguments = kvmig__vasprintf(fmt, args);
    va_end(args);
    command = kvmig__asprintf("ovn-nbctl --timeout=30 --db=%s %s", f->nb.remote, arguments);
    assert_int_equal(REAL_RUN("sh", "-c", command), 0);
    free(command);
    free(arguments);
}

static void KVMIG__PRINTF(2, 3) sbctl(struct fixture *f, const char *fmt, ...)
{
    char *arguments, *command;
    va_list args;

    va_start(args, fmt);
    arguments = kvmig__vasprintf(fmt, args);
    va_end(args);
    command = kvmig__asprintf("ovn-sbctl --timeout=30 --db=%s %s", f->sb.remote, arguments);
    assert_int_equal(REAL_RUN("sh", "-c", command), 0);
    free(command);
    free(arguments);
}

static void vsctl(struct fixture *f, const char *arguments)
{
    char *command = kvmig__asprintf("ovs-vsctl --timeout=30 --no-wait --db=%s %s", f->hv2.remote, arguments);

    assert_int_equal(REAL_RUN("sh", "-c", command), 0);
    free(command);
}

/* A key of the logical port; "" if it is not there. Owned. */
static char *lsp_key(struct fixture *f, const char *column, const char *key)
{
    char *command = kvmig__asprintf("ovn-nbctl --timeout=30 --db=%s --if-exists get logical_switch_port vm %s:%s",
                                    f->nb.remote, column, key);
    char *text = output_of(command), *bare = text;

    free(command);
    if (*bare == '"') {
        bare++;
        bare[strlen(bare) - 1] = '\0';
    }
    bare = kvmig__strdup(bare);
    free(text);
    return bare;
}

static void assert_key(struct fixture *f, const char *column, const char *key, const char *expected)
{
    char *value = lsp_key(f, column, key);

    assert_string_equal(value, expected);
    free(value);
}

static void assert_settled(struct fixture *f, const char *chassis)
{
    assert_key(f, "options", "requested-chassis", chassis);
    assert_key(f, "options", "activation-strategy", "");
    assert_key(f, "external_ids", "kvmig-owner", "");
    assert_key(f, "external_ids", "kvmig-previous", "");
    assert_key(f, "external_ids", "pod", "ns/vm");
}

/* ---- daemons ---- */

static void start_northd(struct fixture *f)
{
    pid_t parent = getpid();
    char *nb = kvmig__asprintf("--ovnnb-db=%s", f->nb.remote), *sb = kvmig__asprintf("--ovnsb-db=%s", f->sb.remote);
    char *control = kvmig__asprintf("--unixctl=%s/northd.ctl", f->folder);

    f->northd = fork();
    assert_true(f->northd >= 0);
    if (f->northd == 0) {
        int null = open("/dev/null", O_RDWR);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(126);
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        execlp("ovn-northd", "ovn-northd", "-voff", nb, sb, control, (char *)NULL);
        _exit(127);
    }
    free(nb);
    free(sb);
    free(control);
}

static void stop_northd(struct fixture *f)
{
    int status;

    if (!f->northd)
        return;
    assert_int_equal(kill(f->northd, SIGKILL), 0);
    assert_int_equal(waitpid(f->northd, &status, 0), f->northd);
    f->northd = 0;
}

static void start_server(struct real_server *server, const char *database)
{
    real_server_start(server);
    assert_int_equal(REAL_RUN("ovsdb-client", "--timeout=30", "wait", server->remote, database, "connected"), 0);
}

static void make_server(struct fixture *f, struct real_server *server, const char *name, const char *schema,
                        const char *database)
{
    char *db = kvmig__asprintf("%s/%s.db", f->folder, name);

    *server = (struct real_server){ .folder = f->folder };
    snprintf(server->name, sizeof(server->name), "%s", name);
    server->remote = kvmig__asprintf("unix:%s/%s.sock", f->folder, name);
    assert_int_equal(REAL_RUN("ovsdb-tool", "create", db, schema), 0);
    free(db);
    start_server(server, database);
}

static void open_world(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->folder = real_folder_new();
    setenv("OVN_RUNDIR", f->folder, 1);
    setenv("OVN_LOGDIR", f->folder, 1);
    make_server(f, &f->nb, "nb", SCHEMAS "/ovn/ovn-nb.ovsschema", "OVN_Northbound");
    make_server(f, &f->sb, "sb", SCHEMAS "/ovn/ovn-sb.ovsschema", "OVN_Southbound");
    make_server(f, &f->hv2, "hv2", SCHEMAS "/openvswitch/vswitch.ovsschema", "Open_vSwitch");
    nbctl(f, "init");
    sbctl(f, "init");
    start_northd(f);
    sbctl(f, "chassis-add hv1 geneve 192.0.2.1 -- chassis-add hv2 geneve 192.0.2.2 -- set chassis hv1 hostname=node1 "
             "-- set chassis hv2 hostname=node2 -- create chassis_private name=hv1 -- create chassis_private name=hv2");
    vsctl(f, "init -- set open_vswitch . external_ids:system-id=hv2 external_ids:hostname=node2 -- add-br br-int");
    nbctl(f, "ls-add ls0 -- lsp-add ls0 vm -- lsp-set-addresses vm '52:54:00:00:00:01 10.0.0.1' "
             "-- set logical_switch_port vm external_ids:pod=ns/vm");
    sbctl(f, "wait-until port_binding vm");
    sbctl(f, "lsp-bind vm hv1");
}

static void open_fixture(struct fixture *f)
{
    struct kvmig_port_ovn_opts opts = KVMIG_PORT_OVN_OPTS_INIT;
    struct kvmig_port_ovs hv2 = { .size = sizeof(hv2), .chassis = "node2" };
    const struct kvmig_port_ovs *const locals[] = { &hv2 };

    open_world(f);
    f->context = test_context_new(0);
    hv2.remotes = f->hv2.remote;
    opts.nb = f->nb.remote;
    opts.sb = f->sb.remote;
    opts.ovs = locals;
    opts.n_ovs = 1;
    opts.match_key = "pod";
    opts.match_value = "ns/vm";
    opts.owner = "me";
    opts.on_event = port_callback(&f->caller);
    assert_int_equal(kvmig_port_open_ovn(f->context, &opts, &f->port), 0);
}

static void close_fixture(struct fixture *f)
{
    kvmig_port_unref(f->port);
    kvmig_context_unref(f->context);
    assert_int_equal(f->caller.n_frees, 1);
    port_caller_clear(&f->caller);
    stop_northd(f);
    real_server_clear(&f->nb);
    real_server_clear(&f->sb);
    real_server_clear(&f->hv2);
    real_folder_free(f->folder);
}

/* ---- what ovn-controller would do ---- */

static void answer_barriers(struct fixture *f)
{
    sbctl(f,
          "set chassis_private hv1 nb_cfg=$(ovn-sbctl --db=%s get sb_global . nb_cfg) "
          "-- set chassis_private hv2 nb_cfg=$(ovn-sbctl --db=%s get sb_global . nb_cfg)",
          f->sb.remote, f->sb.remote);
}

static void plug_target(struct fixture *f)
{
    vsctl(f, "add-port br-int tap0 -- set interface tap0 external_ids:iface-id=vm ofport=4 link_state=up");
}

static void claim_as_additional(struct fixture *f)
{
    sbctl(f, "-- --id=@c get chassis hv2 -- add port_binding vm additional_chassis @c");
    vsctl(f, "set interface tap0 external_ids:ovn-installed=true external_ids:ovn-installed-ts=1700000000001");
}

static void move_to_target(struct fixture *f)
{
    sbctl(f, "-- --id=@c get chassis hv2 -- clear port_binding vm additional_chassis -- set port_binding vm chassis=@c "
             "up=true");
    vsctl(f, "set interface tap0 external_ids:ovn-installed-ts=1700000000002");
}

/* Dispatches until the caller's log ends so, and answers barriers meanwhile. */
static void run_until(struct fixture *f, const char *ending)
{
    struct port_ending wanted = { &f->caller, ending };

    for (int i = 0; i < TEST_DEADLINE_MS / 100; i++) {
        if (kvmig_context_run(f->context, port_ends_with, &wanted, 100) == 0)
            return;
        answer_barriers(f);
    }
    fail_msg("never \"%s\" in: %s (%s)", ending, f->caller.log, f->caller.message ? f->caller.message : "no error");
}

/* Dispatches until NB pins the port so. */
static void run_until_pinned(struct fixture *f, const char *chassis)
{
    for (int i = 0; i < TEST_DEADLINE_MS / 20; i++) {
        char *value = lsp_key(f, "options", "requested-chassis");
        bool there = strcmp(value, chassis) == 0;

        free(value);
        if (there)
            return;
        kvmig_context_run(f->context, NULL, NULL, 20);
    }
    fail_msg("never pinned to %s: %s", chassis, f->caller.log);
}

/* ---- tests ---- */

static void port_follows_the_guest_through_real_databases(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    run_until(&f, "prepared");
    assert_key(&f, "options", "requested-chassis", "hv1,hv2");
    assert_key(&f, "options", "activation-strategy", "rarp");
    assert_key(&f, "external_ids", "kvmig-owner", "me");
    plug_target(&f);
    claim_as_additional(&f);
    assert_int_equal(kvmig_port_verify(f.port), 0);
    run_until(&f, "verified");
    sbctl(&f, "set port_binding vm options:additional-chassis-activated=hv2");
    run_until(&f, "activated");
    assert_int_equal(kvmig_port_converge(f.port, "hv2"), 0);
    run_until_pinned(&f, "hv2");
    move_to_target(&f);
    run_until(&f, "converged");
    assert_settled(&f, "hv2");
    close_fixture(&f);
}

static void rollback_leaves_nothing_behind(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "node1", "node2"), 0);
    run_until(&f, "prepared");
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    run_until(&f, "rolled-back");
    assert_settled(&f, "node1"); /* as it was asked for */
    close_fixture(&f);
}

static void refusals_of_the_real_server_are_understood(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "ghost"), 0);
    run_until(&f, "failed(KVMIG_ENOHOST)");
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    run_until(&f, "prepared");
    nbctl(&f, "set logical_switch_port vm external_ids:kvmig-owner=they");
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    run_until(&f, "superseded");
    assert_key(&f, "external_ids", "kvmig-owner", "they");
    assert_key(&f, "options", "requested-chassis", "hv1,hv2");
    assert_int_equal(kvmig_port_gc(f.port, "hv1", 0), 0);
    run_until_pinned(&f, "hv1");
    run_until(&f, "converged");
    assert_settled(&f, "hv1");
    close_fixture(&f);
}

static void wish_survives_a_restart_of_the_server(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    run_until(&f, "prepared");
    real_server_kill(&f.nb);
    kvmig_context_run(f.context, NULL, NULL, 50);
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    kvmig_context_run(f.context, NULL, NULL, 50);
    assert_int_equal(kvmig_port_state(f.port), KVMIG_PORT_ROLLING_BACK);
    start_server(&f.nb, "OVN_Northbound");
    run_until_pinned(&f, "hv1");
    run_until(&f, "rolled-back");
    assert_settled(&f, "hv1");
    close_fixture(&f);
}

static void port_that_is_recreated_is_left_alone(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    run_until(&f, "prepared");
    nbctl(&f, "lsp-del vm -- lsp-add ls0 vm -- set logical_switch_port vm external_ids:pod=ns/vm options:x=y");
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    run_until(&f, "rolled-back");
    assert_key(&f, "options", "requested-chassis", "");
    assert_key(&f, "options", "x", "y");
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_follows_the_guest_through_real_databases),
        cmocka_unit_test(rollback_leaves_nothing_behind),
        cmocka_unit_test(refusals_of_the_real_server_are_understood),
        cmocka_unit_test(wish_survives_a_restart_of_the_server),
        cmocka_unit_test(port_that_is_recreated_is_left_alone),
    };

    if (!getenv("KVMIG_REAL") || !real_servers_exist() || REAL_RUN("ovn-northd", "--version") != 0 ||
        REAL_RUN("ovn-nbctl", "--version") != 0 || REAL_RUN("ovn-sbctl", "--version") != 0 ||
        REAL_RUN("ovs-vsctl", "--version") != 0 || access(SCHEMAS "/ovn/ovn-nb.ovsschema", R_OK) != 0 ||
        access(SCHEMAS "/openvswitch/vswitch.ovsschema", R_OK) != 0)
        return SKIPPED;
    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
