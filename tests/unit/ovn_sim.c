/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See ovn_sim.h. One thread; everything belongs to the struct. */
#include "ovn_sim.h"

static const char *const chassis_names[SIM_CHASSIS] = { "hv1", "hv2", "hv3" };
static const char *const host_names[SIM_CHASSIS] = { "node1", "node2", "node3" };

uint32_t sim_random(struct sim *sim, uint32_t n)
{
    sim->random = sim->random * 1664525u + 1013904223u;
    return (sim->random >> 8) % n;
}

/* Does a party act in this tick? */
static bool acts(struct sim *sim)
{
    return !sim->random || sim_random(sim, 3) == 0;
}

static int chassis_of(const struct sim *sim, const char *name)
{
    for (int i = 0; i < SIM_CHASSIS; i++)
        if (sim->chassis[i].known && strcmp(name, chassis_names[i]) == 0)
            return i;
    for (int i = 0; i < SIM_CHASSIS; i++)
        if (sim->chassis[i].known && strcmp(name, host_names[i]) == 0)
            return i;
    return -1;
}

/* ---- northd ---- */

static void resolve(struct sim *sim, struct sim_lsp *lsp)
{
    struct kvmig__strlist list = { 0 };
    bool any = false;

    lsp->want = -1;
    memset(lsp->want_additional, 0, sizeof(lsp->want_additional));
    kvmig__ovn_list_split(lsp->requested, &list);
    for (size_t i = 0; i < list.n; i++) {
        int c = chassis_of(sim, list.v[i]);

        if (c >= 0 && lsp->want < 0)
            lsp->want = c;
        else if (c >= 0)
            any = lsp->want_additional[c] = true;
    }
    if (any)
        lsp->emptied = false;
    else if (!lsp->emptied)
        lsp->emptied = true; /* the activation goes in the next round */
    else
        memset(lsp->activated, 0, sizeof(lsp->activated));
    kvmig__strlist_clear(&list);
}

static void run_northd(struct sim *sim)
{
    if (sim->northd_stopped || !acts(sim))
        return;
    for (size_t i = 0; i < sim->n_lsps; i++)
        resolve(sim, &sim->lsps[i]);
    sim->sb_nb_cfg = sim->nb_cfg;
}

/* ---- ovn-controller ---- */

static void changed(const struct sim *sim, struct sim_iface *iface)
{
    iface->changed_ms = iface->moved_ms = sim->now_ms;
}

static void release(struct sim *sim, int c, struct sim_lsp *lsp, struct sim_iface *iface)
{
    if (lsp->additional[c] || iface->installed || iface->had_main)
        changed(sim, iface);
    lsp->additional[c] = false;
    if (iface->had_main)
        lsp->main = -1; /* also if somebody else has it by now */
    iface->had_main = iface->installed = iface->installing = false;
}

static void claim_main(struct sim *sim, int c, struct sim_lsp *lsp, struct sim_iface *iface)
{
    if (lsp->main == c) {
        iface->had_main = true;
        return;
    }
    if (lsp->want < 0 && iface->claimed_ms + 500 > sim->now_ms)
        return;
    lsp->additional[c] = false;
    lsp->main = c;
    iface->had_main = true;
    iface->claimed_ms = sim->now_ms;
    iface->installed = false;
    iface->installing = true;
    changed(sim, iface);
}

static void claim_additional(struct sim *sim, int c, struct sim_lsp *lsp, struct sim_iface *iface)
{
    if (lsp->additional[c])
        return;
    if (iface->had_main && lsp->main == c)
        lsp->main = -1;
    iface->had_main = false;
    lsp->additional[c] = true;
    iface->installing = true;
    changed(sim, iface);
}

static void run_port(struct sim *sim, int c, struct sim_lsp *lsp, struct sim_iface *iface)
{
    if (iface->installing) {
        iface->installed = true;
        iface->ts = sim->now_ms + 1700000000000;
        iface->installing = false;
        iface->changed_ms = sim->now_ms;
    }
    if (!lsp->exists || !iface->plugged || iface->no_ofport)
        release(sim, c, lsp, iface);
    else if (lsp->want < 0 || lsp->want == c)
        claim_main(sim, c, lsp, iface);
    else if (lsp->want_additional[c])
        claim_additional(sim, c, lsp, iface);
    else
        release(sim, c, lsp, iface);
}

static void run_controller(struct sim *sim, int c)
{
    if (!sim->chassis[c].runs || !acts(sim))
        return;
    for (size_t i = 0; i < sim->n_lsps; i++)
        run_port(sim, c, &sim->lsps[i], &sim->chassis[c].ifaces[i]);
    for (size_t i = 0; i < sim->n_lsps; i++)
        if (sim->chassis[c].ifaces[i].installing)
            return;
    sim->chassis[c].nb_cfg = sim->sb_nb_cfg;
}

/* ---- facts ---- */

char *sim_uuid_of(const struct sim *sim, size_t lsp)
{
    return kvmig__asprintf("00000000-0000-0000-%04x-%012x", (unsigned)lsp, sim->lsps[lsp].generation);
}

static char *name_of(size_t lsp)
{
    return kvmig__asprintf("vm-nic%zu", lsp);
}

static void fill_iface(const struct sim_iface *iface, struct kvmig__ovn_iface *out)
{
    if (!iface->plugged)
        return;
    out->rows = iface->duplicate ? 2 : 1;
    out->uuid = kvmig__asprintf("iface-%u", iface->generation);
    out->name = kvmig__strdup("tap0");
    out->ofport = iface->no_ofport ? -1 : 7;
    out->error = iface->no_ofport ? kvmig__strdup("could not open network device") : NULL;
    out->link_up = true;
    out->installed = iface->installed;
    out->installed_ts = iface->ts ? kvmig__asprintf("%lld", (long long)iface->ts) : NULL;
}

static int watched(const struct sim *sim, bool target)
{
    const char *name = target ? kvmig__ovn_machine_target(sim->machine) : kvmig__ovn_machine_source(sim->machine);

    return name ? chassis_of(sim, name) : -1;
}

static void fill_binding(const struct sim *sim, size_t i, struct kvmig__ovn_lsp *out)
{
    const struct sim_lsp *lsp = &sim->lsps[i];

    out->has_binding = true;
    out->chassis = lsp->main >= 0 ? kvmig__strdup(chassis_names[lsp->main]) : NULL;
    out->requested = lsp->want >= 0 ? kvmig__strdup(chassis_names[lsp->want]) : NULL;
    out->up = lsp->main >= 0 && sim->chassis[lsp->main].ifaces[i].installed;
    for (int c = 0; c < SIM_CHASSIS; c++) {
        if (lsp->additional[c])
            kvmig__strlist_add(&out->additional, chassis_names[c]);
        if (lsp->want_additional[c])
            kvmig__strlist_add(&out->requested_additional, chassis_names[c]);
        if (lsp->activated[c])
            kvmig__strlist_add(&out->activated, chassis_names[c]);
    }
}

static void fill_lsp(const struct sim *sim, size_t i, int source, int target, struct kvmig__ovn_lsp *out)
{
    const struct sim_lsp *lsp = &sim->lsps[i];

    out->uuid = sim_uuid_of(sim, i);
    out->name = name_of(i);
    out->requested_chassis = kvmig__strdup(lsp->requested);
    out->activation_strategy = kvmig__strdup(lsp->strategy);
    out->owner = kvmig__strdup(lsp->owner);
    out->previous = kvmig__strdup(lsp->previous);
    out->has_address = !lsp->no_address;
    if (sim->with_sb)
        fill_binding(sim, i, out);
    if (sim->with_ovs && source >= 0)
        fill_iface(&sim->chassis[source].ifaces[i], &out->at_source);
    if (sim->with_ovs && target >= 0)
        fill_iface(&sim->chassis[target].ifaces[i], &out->at_target);
}

static void fill_facts(const struct sim *sim, struct kvmig__ovn_facts *facts)
{
    int source = watched(sim, false), target = watched(sim, true);
    bool readable = sim->with_sb || sim->with_ovs;

    *facts = (struct kvmig__ovn_facts){ 0 };
    facts->nb = (struct kvmig__ovn_source){ .used = true, .current = !sim->nb_down };
    facts->sb = (struct kvmig__ovn_source){ .used = sim->with_sb, .current = sim->with_sb && !sim->sb_down };
    facts->ovs_source.used = sim->with_ovs && source >= 0;
    facts->ovs_target.used = sim->with_ovs && target >= 0;
    facts->ovs_source.current = facts->ovs_source.used && !sim->ovs_down;
    facts->ovs_target.current = facts->ovs_target.used && !sim->ovs_down;
    for (size_t i = 0; i < sim->n_lsps; i++)
        if (sim->lsps[i].exists)
            fill_lsp(sim, i, source, target, KVMIG__PUSH(&facts->lsps));
    for (int c = 0; sim->with_sb && c < SIM_CHASSIS; c++) {
        struct kvmig__ovn_chassis *chassis = sim->chassis[c].known ? KVMIG__PUSH(&facts->chassis) : NULL;

        if (chassis)
            *chassis = (struct kvmig__ovn_chassis){ kvmig__strdup(chassis_names[c]), kvmig__strdup(host_names[c]) };
    }
    facts->has_additional = sim->with_sb;
    facts->ovn_version = kvmig__strdup(sim->version);
    facts->barrier_off = sim->barrier_off;
    facts->source_nb_cfg = readable && source >= 0 ? sim->chassis[source].nb_cfg : -1;
    facts->target_nb_cfg = readable && target >= 0 ? sim->chassis[target].nb_cfg : -1;
    facts->wall_ms = 1700000000000 + sim->now_ms;
}

/* ---- the machine ---- */

/* It is never called proven without evidence that the simulation knows to be true. */
static void check_verified(const struct sim *sim)
{
    int target = watched(sim, true);

    assert_true(target >= 0);
    for (size_t i = 0; i < sim->n_lsps; i++) {
        const struct sim_iface *iface = &sim->chassis[target].ifaces[i];
        int64_t changed_ms =
            sim->with_ovs ? iface->changed_ms : iface->moved_ms; /* SB does not show the installation */
        bool by_barrier = changed_ms <= sim->bumped_ms && sim->chassis[target].nb_cfg >= sim->bumped &&
                          sim->bumps > 0 && !sim->barrier_off;

        if (!sim->lsps[i].exists)
            continue;
        assert_true(sim->lsps[i].additional[target] && iface->installed);
        assert_true(by_barrier || sim->now_ms - iface->changed_ms >= 1200);
    }
}

static void hear(struct sim *sim, struct kvmig__ovn_orders *orders)
{
    for (size_t i = 0; i < orders->notes.n; i++) {
        assert_string_not_equal(orders->notes.v[i].what, "bug");
        kvmig__strlist_add(&sim->notes, orders->notes.v[i].what);
        if (sim->want_detail && strcmp(sim->want_detail, orders->notes.v[i].what) == 0)
            kvmig__str_set(&sim->last_detail, orders->notes.v[i].detail);
    }
    if (orders->state == KVMIG_PORT_VERIFIED && sim->state != KVMIG_PORT_VERIFIED)
        check_verified(sim);
    sim->state = orders->state;
    sim->wake_ms = orders->wake_ms;
    if (!orders->ended)
        return;
    assert_false(sim->ended); /* answered once */
    sim->ended = true;
    sim->error = orders->error;
    orders->error = NULL;
    assert_int_equal(!!sim->error, sim->state == KVMIG_PORT_FAILED);
}

static void step(struct sim *sim)
{
    struct kvmig__ovn_orders orders = { 0 };
    struct kvmig__ovn_facts facts;

    fill_facts(sim, &facts);
    kvmig__ovn_machine_step(sim->machine, &facts, sim->now_ms, &orders);
    sim_take_orders(sim, &orders);
    hear(sim, &orders);
    kvmig__ovn_orders_clear(&orders);
    kvmig__ovn_facts_clear(&facts);
}

void sim_tick(struct sim *sim)
{
    sim->now_ms += SIM_TICK_MS;
    run_northd(sim);
    for (int c = 0; c < SIM_CHASSIS; c++)
        run_controller(sim, c);
    sim_carry_out(sim);
    step(sim);
}

void sim_run(struct sim *sim, int64_t ms)
{
    for (int64_t end = sim->now_ms + ms; sim->now_ms < end;)
        sim_tick(sim);
}

void sim_finish(struct sim *sim, int64_t ms)
{
    for (int64_t end = sim->now_ms + ms; !sim->ended && sim->now_ms < end;)
        sim_tick(sim);
    if (!sim->ended)
        fail_msg("the wish has not ended; the machine is in %s and waits for %s",
                 kvmig__ovn_machine_state_name(sim->machine),
                 sim->machine->waits_for ? sim->machine->waits_for : "nothing");
}

void sim_wish(struct sim *sim, enum kvmig__ovn_wish wish, const char *a, const char *b)
{
    sim->ended = false;
    sim->by_gc = wish == KVMIG__OVN_GC;
    kvmig__error_free(sim->error);
    sim->error = NULL;
    kvmig__ovn_machine_wish(sim->machine, wish, a, b, 0, sim->now_ms);
    step(sim);
}

/* ---- making and changing it ---- */

static struct kvmig__ovn_machine *new_machine(const struct sim *sim, const char *owner)
{
    struct kvmig__ovn_config config = { .owner = owner,
                                        .name = "vm",
                                        .strategy = sim->strategy,
                                        .prepare_ms = 30000,
                                        .verify_ms = 30000,
                                        .activation_ms = 1000,
                                        .converge_ms = 30000 };

    return kvmig__ovn_machine_new(&config);
}

void sim_init(struct sim *sim, int32_t strategy)
{
    *sim = (struct sim){ .now_ms = 1000, .strategy = strategy, .version = "23.03.1", .with_sb = true, .n_lsps = 1 };
    for (size_t i = 0; i < SIM_LSPS; i++) {
        sim->lsps[i].exists = true;
        sim->lsps[i].want = sim->lsps[i].main = -1;
        sim->lsps[i].emptied = true;
    }
    for (int c = 0; c < SIM_CHASSIS; c++)
        sim->chassis[c].known = sim->chassis[c].runs = true;
    sim_plug(sim, 0, true);
    sim->machine = new_machine(sim, "mig-1");
    for (int i = 0; i < 5; i++) { /* the guest's chassis claims it */
        sim->now_ms += SIM_TICK_MS;
        run_northd(sim);
        run_controller(sim, 0);
    }
}

void sim_restart(struct sim *sim, const char *owner)
{
    kvmig__ovn_machine_free(sim->machine);
    if (sim->random && sim_random(sim, 2)) /* it was sent already */
        sim_commit(sim, &sim->order);
    sim_order_clear(&sim->order);
    sim_order_clear(&sim->bump);
    sim->machine = new_machine(sim, owner);
    sim->state = KVMIG_PORT_IDLE;
}

void sim_clear(struct sim *sim)
{
    kvmig__ovn_machine_free(sim->machine);
    for (size_t i = 0; i < SIM_LSPS; i++) {
        free(sim->lsps[i].requested);
        free(sim->lsps[i].strategy);
        free(sim->lsps[i].owner);
        free(sim->lsps[i].previous);
        free(sim->lsps[i].first_strategy);
    }
    sim_order_clear(&sim->order);
    sim_order_clear(&sim->bump);
    sim_order_clear(&sim->late);
    kvmig__error_free(sim->error);
    kvmig__strlist_clear(&sim->notes);
    free(sim->last_detail);
    free(sim->last_write);
}

void sim_pin(struct sim *sim, size_t lsp, const char *requested, const char *strategy)
{
    kvmig__str_set(&sim->lsps[lsp].requested, requested);
    kvmig__str_set(&sim->lsps[lsp].strategy, strategy);
    kvmig__str_set(&sim->lsps[lsp].first_strategy, strategy);
}

void sim_own(struct sim *sim, size_t lsp, const char *owner, const char *previous)
{
    kvmig__str_set(&sim->lsps[lsp].owner, owner);
    kvmig__str_set(&sim->lsps[lsp].previous, previous);
}

void sim_plug(struct sim *sim, size_t chassis, bool plugged)
{
    for (size_t i = 0; i < SIM_LSPS; i++) {
        struct sim_iface *iface = &sim->chassis[chassis].ifaces[i];

        if (iface->plugged == plugged)
            continue;
        iface->plugged = plugged;
        iface->generation++;
        iface->changed_ms = sim->now_ms;
        if (plugged)
            iface->ts = 0;
    }
}

void sim_announce(struct sim *sim, size_t chassis)
{
    for (size_t i = 0; i < sim->n_lsps; i++)
        if (sim->lsps[i].additional[chassis] && sim->lsps[i].strategy)
            sim->lsps[i].activated[chassis] = true;
}

void sim_recreate(struct sim *sim, size_t lsp)
{
    struct sim_lsp *l = &sim->lsps[lsp];

    l->generation++;
    kvmig__str_set(&l->requested, NULL);
    kvmig__str_set(&l->strategy, NULL);
    kvmig__str_set(&l->first_strategy, NULL);
    kvmig__str_set(&l->owner, NULL);
    kvmig__str_set(&l->previous, NULL);
    l->main = l->want = -1;
    memset(l->additional, 0, sizeof(l->additional));
    memset(l->activated, 0, sizeof(l->activated));
    l->emptied = true;
}

/* ---- what tests ask ---- */

void sim_assert_clean(const struct sim *sim, const char *winner)
{
    for (size_t i = 0; i < sim->n_lsps; i++) {
        const struct sim_lsp *lsp = &sim->lsps[i];

        if (!lsp->exists)
            continue;
        assert_null(lsp->owner);
        assert_null(lsp->previous);
        assert_non_null(lsp->requested);
        assert_null(strchr(lsp->requested, ','));
        assert_int_equal(chassis_of(sim, lsp->requested), chassis_of(sim, winner));
        assert_true(kvmig__str_eq(lsp->strategy, lsp->first_strategy));
    }
}

size_t sim_count(const struct sim *sim, const char *note)
{
    size_t n = 0;

    for (size_t i = 0; i < sim->notes.n; i++)
        n += strcmp(sim->notes.v[i], note) == 0;
    return n;
}

void sim_assert_error(const struct sim *sim, int32_t code, const char *part)
{
    assert_true(sim->ended);
    assert_int_equal(sim->state, KVMIG_PORT_FAILED);
    assert_non_null(sim->error);
    assert_int_equal(kvmig_error_code(sim->error), -code);
    assert_string_not_equal(kvmig_error_where(sim->error), "");
    if (part && !strstr(kvmig_error_message(sim->error), part))
        fail_msg("the message does not say \"%s\": %s", part, kvmig_error_message(sim->error));
}
