/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small cluster for tests of the follower: VM ns1/vm1 on node-a, its migration mig1, and what happens to them, object by
 * object. Header only, single thread.
 */
#ifndef KVMIG_TEST_FOLLOW_WORLD_H
#define KVMIG_TEST_FOLLOW_WORLD_H

#include "follow_test.h"

#define UID "uid-mig1"

struct world {
    struct kvmig__kube kube;
    struct kvmig__follow follow;
    char *phases; /* transitions of the VMIM so far */
};

/* The VMI on a node; state: members of its migrationState, or NULL. */
static inline void vmi_is(struct world *w, const char *phase, const char *node, const char *state)
{
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/"
        "v1','kind':'VirtualMachineInstance','metadata':{'name':'vm1','namespace':'ns1','uid':'uid-vm1',"
        "'creationTimestamp':'%s'},'spec':{'domain':{'memory':{'guest':'1Gi'}}},'status':{'phase':'%s','nodeName':'%s'%"
        "s%s%s}}",
        at(-100), phase, node, state ? ",'migrationState':{'migrationUid':'" UID "'," : "", state ? state : "",
        state ? "}" : "");
}

static inline void vmim_is(struct world *w, const char *phase, int seconds, const char *more)
{
    char *phases = kvmig__asprintf("%s%s{'phase':'%s','phaseTransitionTimestamp':'%s'}", w->phases ? w->phases : "",
                                   w->phases ? "," : "", phase, at(seconds));

    free(w->phases);
    w->phases = phases;
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/"
        "v1','kind':'VirtualMachineInstanceMigration','metadata':{'name':'mig1','namespace':'ns1',"
        "'uid':'" UID "','creationTimestamp':'%s'%s},'spec':{'vmiName':'vm1'},'status':{'phase':'%s',"
        "'phaseTransitionTimestamps':[%s]}}",
        at(0), more ? more : "", phase, phases);
}

static inline void target_is(struct world *w, const char *name, const char *phase, const char *node, const char *more)
{
    put(&w->kube,
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','namespace':'ns1','uid':'uid-%s','creationTimestamp':'"
        "%s',"
        "'labels':{'kubevirt.io':'virt-launcher','kubevirt.io/migrationJobUID':'" UID
        "','kubevirt.io/created-by':'uid-vm1'}},"
        "'spec':{%s%s%s'containers':[{'name':'compute','image':'launcher:v1'}]},'status':{'phase':'%s'%s}}",
        name, name, at(1), node ? "'nodeName':'" : "", node ? node : "", node ? "'," : "", phase, more ? more : "");
}

static inline void event_is(struct world *w, const char *name, const char *kind, const char *about, const char *uid,
                            const char *reason, const char *message)
{
    put(&w->kube,
        "{'apiVersion':'v1','kind':'Event','metadata':{'name':'%s','namespace':'ns1'},'involvedObject':{'kind':'%s',"
        "'namespace':'ns1','name':'%s','uid':'%s'},'type':'Warning','reason':'%s','message':'%s','firstTimestamp':'%s',"
        "'lastTimestamp':'%s'}",
        name, kind, about, uid, reason, message, at(5), at(5));
}

static inline void vmim_event(struct world *w, const char *reason, const char *message)
{
    event_is(w, reason, "VirtualMachineInstanceMigration", "mig1", UID, reason, message);
}

static inline void update(struct world *w)
{
    kvmig__follow_update(&w->follow, &w->kube, T0 + 1000000);
}

static inline int setup(void **state)
{
    struct world *w = kvmig__calloc(1, sizeof(*w));
    const struct kvmig__kube_vmi *vmi;

    *state = w;
    know_all(&w->kube);
    vmi_is(w, "Running", "node-a", NULL);
    vmim_is(w, "Pending", 1, NULL);
    vmi = KVMIG__KUBE_FIND(&w->kube, VMI, "ns1", "vm1");
    kvmig__follow_init(&w->follow, vmi, KVMIG__KUBE_FIND(&w->kube, VMIM, "ns1", "mig1"));
    update(w);
    assert_int_equal(w->follow.end, KVMIG__END_OPEN);
    return 0;
}

static inline int teardown(void **state)
{
    struct world *w = *state;

    kvmig__follow_clear(&w->follow);
    kvmig__kube_clear(&w->kube);
    free(w->phases);
    free(w);
    return 0;
}

#define HANDED_OVER "'sourceNode':'node-a','sourcePod':'src','targetNode':'node-b','targetPod':'tgt'"
#define COPYING HANDED_OVER ",'startTimestamp':'2026-11-30T11:00:10Z','mode':'PreCopy'"

/* Up to the running copy. */
static inline void copy_runs(struct world *w)
{
    vmi_is(w, "Running", "node-a", COPYING);
    target_is(w, "tgt", "Running", "node-b", NULL);
    vmim_is(w, "Scheduling", 2, NULL);
    vmim_is(w, "Scheduled", 3, NULL);
    vmim_is(w, "PreparingTarget", 4, NULL);
    vmim_is(w, "TargetReady", 8, NULL);
    vmim_is(w, "Running", 10, NULL);
    update(w);
    assert_int_equal(w->follow.stage, KVMIG__STAGE_RUNNING);
    assert_int_equal(w->follow.stage_since_ms, T0 + 10000);
    assert_true(w->follow.handed_off);
    assert_int_equal(w->follow.end, KVMIG__END_OPEN);
}

/* It failed while the copy ran, with these members in the migrationState. */
static inline void copy_fails(struct world *w, const char *more)
{
    char *state = kvmig__asprintf(COPYING ",'completed':true,'failed':true,%s", more);

    copy_runs(w);
    vmi_is(w, "Running", "node-a", state);
    vmim_is(w, "Failed", 100, NULL);
    update(w);
    assert_int_equal(w->follow.end, KVMIG__END_STAYED);
    free(state);
}

static inline void assert_ended(const struct world *w, int32_t end, const char *verdict)
{
    assert_int_equal(w->follow.end, end);
    assert_non_null(w->follow.verdict);
    assert_string_equal(w->follow.verdict, verdict);
    assert_non_null(w->follow.evidence);
}

#endif
