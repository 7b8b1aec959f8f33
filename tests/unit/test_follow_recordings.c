/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The follower against what KubeVirt's controller really wrote: each recording in order, shuffled between objects, with every
 * event twice, cut and resumed by a follower that knows only what is there then, and with a gap that only a new list closes. In
 * every order it must never claim an end that is not the one, and come to that end and cause.
 */
#include "follow_test.h"

static const struct scenario {
    const char *name, *vmi, *vmim;
    int32_t end;
    const char *verdict, *target, *stages;
    const char *verdict_resumed; /* what is provable as well once the evidence has vanished */
} scenarios[] = {
    { "01-happy", "vm1", "mig1", KVMIG__END_MOVED, "SUCCEEDED", "node-b",
      "Unset Pending Scheduling Scheduled PreparingTarget TargetReady Running Succeeded", NULL },
    { "02-unschedulable", "vm1", "mig1", KVMIG__END_STAYED, "TARGET_UNSCHEDULABLE", NULL,
      "Unset Pending Scheduling Failed", NULL },
    { "03-image-pull", "vm1", "mig1", KVMIG__END_STAYED, "TARGET_IMAGE_PULL", "node-b",
      "Unset Pending Scheduling Failed", "TARGET_POD_PENDING" },
    { "04-cancel-scheduling", "vm1", "mig1", KVMIG__END_STAYED, "CANCELLED", NULL, "Unset Pending Scheduling Failed",
      NULL },
    { "05-cancel-preparing", "vm1", "mig1", KVMIG__END_STAYED, "CANCELLED", "node-b",
      "Unset Pending Scheduling Scheduled PreparingTarget Failed", NULL },
    { "06-cancel-running", "vm1", "mig1", KVMIG__END_STAYED, "CANCELLED_BY_USER", "node-b",
      "Unset Pending Scheduling Scheduled PreparingTarget TargetReady Running Failed", NULL },
    { "07-source-reports-failure", "vm1", "mig1", KVMIG__END_STAYED, "CPU_FEATURE_MISSING", "node-b",
      "Unset Pending Scheduling Scheduled PreparingTarget TargetReady Running Failed", NULL },
    { "08-target-lost", "vm1", "mig1", KVMIG__END_STAYED, "TARGET_POD_LOST", "node-b",
      "Unset Pending Scheduling Scheduled PreparingTarget TargetReady Running Failed", NULL },
    { "09-hotplug", "vm1", "mig1", KVMIG__END_MOVED, "SUCCEEDED", "node-b",
      "Unset Pending Scheduling Scheduled PreparingTarget TargetReady Running Succeeded", NULL },
    { "10-hotplug-unschedulable", "vm1", "mig1", KVMIG__END_OPEN, NULL, NULL, "Unset Pending", NULL },
    { "11-slots", "vm1", "mig1", KVMIG__END_MOVED, "SUCCEEDED", "node-b",
      "Unset Pending Scheduling Scheduled PreparingTarget TargetReady Running Succeeded", NULL },
    { "11-slots", "vm1-2", "mig1-2", KVMIG__END_MOVED, "SUCCEEDED", "node-b",
      "Unset Pending Scheduling Scheduled PreparingTarget TargetReady Running Succeeded", NULL },
};

/* ---- a small generator, the same everywhere ---- */

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* ---- playing ---- */

struct player {
    const struct scenario *scenario;
    const struct recording *recording;
    struct kvmig__kube kube;
    struct kvmig__follow follow;
    int32_t last_stage, last_end;
    struct kvmig__strlist stages;
    bool foreign; /* the VMI tells of another migration whenever it does not tell of this one */
};

static char *uid_of(const struct recording *recording, const char *vmim)
{
    for (size_t i = 0; i < recording->n; i++) {
        const struct step *step = &recording->v[i];

        if (step->kind == KVMIG__KUBE_VMIM && !strcmp(step->name, vmim))
            return kvmig__strdup(json_object_get_string(member(member(step->json, "metadata"), "uid")));
    }
    fail_msg("no VMIM %s", vmim);
    return NULL;
}

/* A migrationState of another migration that would mislead whoever believed it. */
static void add_foreign_state(struct kvmig__kube_vmi *vmi, const char *uid)
{
    struct kvmig__kube_migration_state *state = &vmi->migration;

    if (state->present && kvmig__str_eq(state->uid, uid))
        return;
    state->present = state->completed = state->failed = state->abort_requested = true;
    state->start_ms = state->end_ms = state->domain_ready_ms = T0 - 100000;
    kvmig__str_set(&state->uid, "another-migration");
    kvmig__str_set(&state->mode, "PostCopy");
    kvmig__str_set(&state->abort_status, "Succeeded");
    kvmig__str_set(&state->failure_reason, "Unsafe migration");
    kvmig__str_set(&state->source_node, "node-x");
    kvmig__str_set(&state->target_node, "node-a");
    kvmig__str_set(&state->target_pod, "pod-of-another");
}

static struct kvmig__kube_meta *object_of(const struct player *player, const struct step *step)
{
    struct kvmig__kube_meta *object = step_object(step);

    if (player->foreign && object->kind == KVMIG__KUBE_VMI)
        add_foreign_state((struct kvmig__kube_vmi *)object, player->follow.vmim_uid);
    return object;
}

static void check_invariants(struct player *player)
{
    const struct kvmig__follow *follow = &player->follow;
    const bool was_final = player->last_stage >= KVMIG__STAGE_SUCCEEDED;

    if (was_final)
        assert_int_equal(follow->stage, player->last_stage);
    assert_true(follow->stage >= player->last_stage);
    assert_true(follow->end == KVMIG__END_OPEN || follow->end == player->scenario->end);
    assert_true(player->last_end == KVMIG__END_OPEN || follow->end == player->last_end);
    assert_int_equal(follow->verdict != NULL, follow->end != KVMIG__END_OPEN);
    assert_false(follow->postcopy_seen);
    assert_true(!follow->target_node || !strcmp(follow->target_node, "node-b"));
    assert_true(!follow->source_node || !strcmp(follow->source_node, "node-a"));
    assert_false(kvmig__str_eq(follow->target_pod, "pod-of-another"));
    player->last_stage = follow->stage;
    player->last_end = follow->end;
}

static void look(struct player *player, double t)
{
    const char *name;

    kvmig__follow_update(&player->follow, &player->kube, wall_of(player->recording, t));
    /* level-triggered: a second look finds nothing new */
    assert_false(kvmig__follow_update(&player->follow, &player->kube, wall_of(player->recording, t) + 1));
    check_invariants(player);
    name = kvmig__stage_name(player->follow.stage);
    if (!player->stages.n || strcmp(player->stages.v[player->stages.n - 1], name) != 0)
        kvmig__strlist_add(&player->stages, name);
}

static void apply(struct player *player, const struct step *step)
{
    struct kvmig__kube_meta *object = object_of(player, step);

    if (step->type == STEP_DELETED) {
        kvmig__kube_remove(&player->kube, step->kind, step->ns, step->name, NULL);
        kvmig__follow_gone(&player->follow, object);
        kvmig__kube_object_free(object);
    } else {
        kvmig__kube_put(&player->kube, object);
    }
    look(player, step->t);
}

static const struct kvmig__kube_vmi *find_vmi(const struct player *player)
{
    return KVMIG__KUBE_FIND(&player->kube, VMI, "ns1", player->scenario->vmi);
}

/* The first list: what the recording began with. Returns the index after it. */
static size_t begin(struct player *player, const struct scenario *scenario, const struct recording *recording,
                    bool foreign)
{
    char *uid = uid_of(recording, scenario->vmim);
    size_t i = 0;

    *player = (struct player){ .scenario = scenario, .recording = recording, .foreign = foreign };
    know_all(&player->kube);
    player->follow.vmim_uid = uid; /* so that the VMIs of the first list know which state is foreign */
    for (; i < recording->n && recording->v[i].initial; i++)
        kvmig__kube_put(&player->kube, object_of(player, &recording->v[i]));
    assert_non_null(find_vmi(player));
    kvmig__follow_init(&player->follow, find_vmi(player), NULL);
    kvmig__follow_bind(&player->follow, scenario->vmim, uid);
    free(uid);
    look(player, 0);
    return i;
}

static void finish(struct player *player, bool resumed)
{
    const struct scenario *scenario = player->scenario;
    const struct kvmig__follow *follow = &player->follow;

    assert_int_equal(follow->end, scenario->end);
    if (!resumed || !scenario->verdict_resumed || !kvmig__str_eq(follow->verdict, scenario->verdict_resumed)) {
        if (!kvmig__str_eq(follow->verdict, scenario->verdict))
            fail_msg("%s: %s instead of %s (%s)", scenario->name, follow->verdict ? follow->verdict : "no verdict",
                     scenario->verdict ? scenario->verdict : "none", follow->evidence ? follow->evidence : "");
    }
    if (!resumed) {
        assert_true(kvmig__str_eq(follow->target_node, scenario->target));
        assert_string_equal(follow->source_node, "node-a");
    }
    kvmig__follow_clear(&player->follow);
    kvmig__kube_clear(&player->kube);
    kvmig__strlist_clear(&player->stages);
}

/* ---- in order ---- */

static void play_in_order(const struct scenario *scenario, bool twice, bool foreign)
{
    struct recording recording;
    struct player player;
    char *stages;

    load_recording(&recording, scenario->name);
    for (size_t i = begin(&player, scenario, &recording, foreign); i < recording.n; i++) {
        apply(&player, &recording.v[i]);
        if (twice && recording.v[i].type != STEP_DELETED)
            apply(&player, &recording.v[i]);
    }
    stages = kvmig__strlist_join(&player.stages, " ");
    assert_string_equal(stages, scenario->stages);
    free(stages);
    finish(&player, false);
    free_recording(&recording);
}

static void each_recording_ends_as_it_did(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++)
        play_in_order(&scenarios[i], false, false);
}

static void an_event_that_comes_twice_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++)
        play_in_order(&scenarios[i], true, false);
}

static void a_state_of_another_migration_is_not_believed(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++)
        play_in_order(&scenarios[i], false, true);
}

/* ---- in another order ---- */

/* Puts the steps from begin on into an order in which only those of one object keep theirs: picks an object that still has steps,
 * and takes its next one. With window > 0 a step comes no earlier than so many places. */
static void shuffle(struct recording *recording, size_t begin_at, size_t window, uint32_t seed)
{
    const size_t n = recording->n - begin_at;
    struct step *from = &recording->v[begin_at], *to = kvmig__calloc(n + 1, sizeof(*to));
    bool *taken = kvmig__calloc(n + 1, sizeof(*taken));

    for (size_t out = 0, first = 0; out < n; out++) {
        size_t reach, pick;

        while (taken[first])
            first++;
        reach = window && first + window < n ? first + window : n;
        do
            pick = first + next_random(&seed) % (reach - first);
        while (taken[pick]);
        for (size_t i = first; i < pick; i++) { /* its own earlier step goes first */
            if (!taken[i] && from[i].kind == from[pick].kind && !strcmp(from[i].name, from[pick].name)) {
                pick = i;
                break;
            }
        }
        taken[pick] = true;
        to[out] = from[pick];
    }
    memcpy(from, to, n * sizeof(*to));
    free(taken);
    free(to);
}

static void play_shuffled(const struct scenario *scenario, size_t window, uint32_t seed)
{
    struct recording recording;
    struct player player;
    size_t first;

    load_recording(&recording, scenario->name);
    first = begin(&player, scenario, &recording, false);
    shuffle(&recording, first, window, seed);
    for (size_t i = first; i < recording.n; i++)
        apply(&player, &recording.v[i]);
    finish(&player, false);
    free_recording(&recording);
}

static void the_order_between_objects_does_not_matter(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++) {
        for (uint32_t seed = 1; seed <= 6; seed++) {
            play_shuffled(&scenarios[i], 4, seed * 7919);
            play_shuffled(&scenarios[i], 0, seed * 104729);
        }
    }
}

/* ---- cut and resumed ---- */

/* A new follower takes over after so many steps: the store holds only what is there then, and the token names the VMIM. */
static void play_resumed(const struct scenario *scenario, const struct recording *recording, size_t cut)
{
    struct player player;
    const size_t first = begin(&player, scenario, recording, false);
    char *uid = kvmig__strdup(player.follow.vmim_uid);
    bool created = false;

    for (size_t i = first; i < cut; i++) {
        apply_to_store(&player.kube, &recording->v[i]);
        created |= recording->v[i].kind == KVMIG__KUBE_VMIM && !strcmp(recording->v[i].name, scenario->vmim);
    }
    kvmig__follow_clear(&player.follow);
    kvmig__follow_init(&player.follow, find_vmi(&player), NULL);
    kvmig__follow_bind(&player.follow, scenario->vmim, uid);
    player.follow.seen = created;
    free(uid);
    look(&player, cut < recording->n ? recording->v[cut].t : 100);
    for (size_t i = cut; i < recording->n; i++)
        apply(&player, &recording->v[i]);
    finish(&player, true);
}

static void another_follower_takes_over_at_any_moment(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++) {
        struct recording recording;

        load_recording(&recording, scenarios[i].name);
        for (size_t cut = 4; cut <= recording.n; cut += 1 + cut % 2)
            play_resumed(&scenarios[i], &recording, cut);
        free_recording(&recording);
    }
}

/* ---- with a gap ---- */

/* What the new list lacks is gone, in the last state that was known; the rest is put anew. */
static void close_gap(struct player *player, struct kvmig__kube *now)
{
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++) {
        struct kvmig__kube_list *old = &player->kube.kinds[kind];

        for (size_t i = 0; i < old->n; i++) {
            if (!kvmig__kube_find(now, kind, old->v[i]->ns, old->v[i]->name))
                kvmig__follow_gone(&player->follow, old->v[i]);
        }
    }
    kvmig__kube_clear(&player->kube);
    player->kube = *now;
    know_all(&player->kube);
}

static void play_with_gap(const struct scenario *scenario, const struct recording *recording, uint32_t *seed)
{
    struct player player;
    struct kvmig__kube now = { 0 };
    const size_t first = begin(&player, scenario, recording, false);
    const size_t from = first + next_random(seed) % (recording->n - first);
    const size_t to = from + next_random(seed) % (recording->n - from + 1);

    for (size_t i = 0; i < to; i++)
        apply_to_store(&now, &recording->v[i]);
    for (size_t i = first; i < from; i++)
        apply(&player, &recording->v[i]);
    close_gap(&player, &now);
    look(&player, recording->v[from].t);
    for (size_t i = to; i < recording->n; i++)
        apply(&player, &recording->v[i]);
    finish(&player, true);
}

static void a_gap_in_the_watch_is_closed_by_the_next_list(void **state)
{
    uint32_t seed = 20261130;

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++) {
        struct recording recording;

        load_recording(&recording, scenarios[i].name);
        for (int round = 0; round < 25; round++)
            play_with_gap(&scenarios[i], &recording, &seed);
        free_recording(&recording);
    }
}

/* ---- several target pods in a row ---- */

static void a_vmim_that_goes_round_in_circles_shows_how_many_pods_it_has_had(void **state)
{
    const struct scenario *scenario = &scenarios[9];
    struct recording recording;
    struct player player;
    uint32_t before = 0;

    (void)state;
    load_recording(&recording, scenario->name);
    for (size_t i = begin(&player, scenario, &recording, false); i < recording.n; i++) {
        apply(&player, &recording.v[i]);
        assert_true(player.follow.target_pods >= before);
        before = player.follow.target_pods;
    }
    assert_int_equal(before, 4);
    assert_true(player.follow.timer_deleted);
    assert_non_null(player.follow.unschedulable);
    assert_false(player.follow.target_pod_gone);
    finish(&player, false);
    free_recording(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_recording_ends_as_it_did),
        cmocka_unit_test(an_event_that_comes_twice_changes_nothing),
        cmocka_unit_test(a_state_of_another_migration_is_not_believed),
        cmocka_unit_test(the_order_between_objects_does_not_matter),
        cmocka_unit_test(another_follower_takes_over_at_any_moment),
        cmocka_unit_test(a_gap_in_the_watch_is_closed_by_the_next_list),
        cmocka_unit_test(a_vmim_that_goes_round_in_circles_shows_how_many_pods_it_has_had),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
