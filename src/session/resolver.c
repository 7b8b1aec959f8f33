/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state resolver's judgement, as one matrix over what each side looks like. Does not read hosts and does not act. Pure;
 * any thread; owns nothing.
 *
 * Rules that hold in every cell (tests walk all of them):
 *   - a side that cannot be asked proves nothing: wait;
 *   - a side is resumed only when the other one is gone, and the source only when the target cannot have run since;
 *   - a side is destroyed only when the other one holds the complete state, and got it by a migration;
 *   - an action is listed only if it is safe now. What becomes safe after it ("destroy the target, then resume the source")
 *     is the answer to the next question.
 * Destroying the target is what makes a failure final: after it no late step of libvirt can start the guest there. So it
 * comes before resuming the source, never after.
 */
#include "session/resolver.h"

enum kind {
    UNREACHABLE,
    UNCLEAR, /* being started or shut down: look again */
    NONE, /* no domain, or one that is off */
    CRASHED,
    RUNNING,
    RUN_POSTCOPY, /* runs, and fetches memory from the other side */
    RUN_POSTCOPY_FAILED, /* runs as long as it needs no page that is missing */
    MIGRATING, /* paused by a migration: the source at the switch, or an incoming target that never ran */
    PAUSED_USER,
    POSTCOPY, /* paused for post-copy */
    POSTCOPY_FAILED,
    API_ERROR, /* paused: it could not be resumed */
    IO_ERROR, /* paused by an I/O error */
    PAUSED_OTHER, /* paused for a snapshot, by a watchdog, after a guest panic, ... */
    SLEEPING, /* the guest suspended itself to memory */
    N_KINDS
};

enum cell {
    ASK, /* must be 0: pairs that the matrix does not name */
    TRANSIENT,
    HOME,
    STAYED,
    LEFT_PAUSED,
    LEFT_PAUSED_IF_ABSENT,
    LEFT_PAUSED_INCOMING,
    MOVED,
    MOVED_COPY,
    MOVED_COPY_IF_MIGRATED,
    MOVED_COPY_IF_CAME,
    OFF_SINCE,
    HELD,
    HELD_COPY,
    HELD_BY_OTHERS,
    POSTCOPY_RUNS,
    POSTCOPY_BROKE,
    POSTCOPY_STRANDED,
    LOST,
    SPLIT,
    BUSY,
    NOT_ASKABLE,
    N_CELLS
};

#define CELL(verdict, action, decided, side, proof)                                                                    \
    {                                                                                                                  \
        KVMIG_LOCATION_##verdict, { action }, proof, decided, side                                                     \
    }
static const struct kvmig__resolution cells[N_CELLS] = {
    [ASK] = CELL(UNDECIDED, 0, true, 0,
                 "the two states allow more than one explanation; a person must compare the two copies"),
    [TRANSIENT] = CELL(UNDECIDED, KVMIG_ACTION_WAIT, false, 0,
                       "the states are those of a change under way, or of two copies that were both paused by hand"),
    [HOME] = CELL(NO_FINDING, 0, true, -1, "the guest is on the source; the target holds no copy"),
    [STAYED] = CELL(FAILED, KVMIG_ACTION_DESTROY_TARGET, true, -1,
                    "the guest is on the source; the target's copy does not run and is not needed"),
    [LEFT_PAUSED] = CELL(FAILED_SOURCE_PAUSED, KVMIG_ACTION_RESUME_SOURCE, true, -1,
                         "the migration left the guest paused on the source; the target holds no copy"),
    [LEFT_PAUSED_INCOMING] = CELL(FAILED_SOURCE_PAUSED, KVMIG_ACTION_DESTROY_TARGET, true, -1,
                                  "the migration left the guest paused on the source, which holds all state; the "
                                  "incoming copy never ran, and must be gone before the source is resumed"),
    [MOVED] = CELL(SUCCEEDED, 0, true, 1, "the guest is on the target; the source holds no copy"),
    [MOVED_COPY] = CELL(SUCCEEDED_UNREPORTED, KVMIG_ACTION_DESTROY_SOURCE, true, 1,
                        "the guest runs on the target; the source's copy is dead and must never run again"),
    [OFF_SINCE] = CELL(UNDECIDED, 0, true, 0,
                       "the migration left the guest paused on the source, and it is defined and off on the target: it "
                       "may have run there since, and then the source's memory does not fit its disks any more; if it "
                       "never ran there, undefine it there and ask again"),
    [HELD] = CELL(TARGET_PAUSED, KVMIG_ACTION_RESUME_TARGET, true, 1,
                  "the guest is complete and paused on the target; the source holds no copy"),
    [HELD_COPY] =
        CELL(TARGET_PAUSED, KVMIG_ACTION_DESTROY_SOURCE, true, 1,
             "the guest is complete and paused on the target; the source's copy does not run, and must be gone "
             "before the target is resumed"),
    [HELD_BY_OTHERS] = CELL(TARGET_PAUSED, 0, true, 1,
                            "the guest is on the target, paused there by something else than the migration; the source "
                            "holds no copy"),
    [POSTCOPY_RUNS] = CELL(POSTCOPY_ACTIVE, KVMIG_ACTION_WAIT, false, 1,
                           "the guest is on the target and still fetches memory from the source"),
    [POSTCOPY_BROKE] = CELL(POSTCOPY_FAILED, KVMIG_ACTION_POSTCOPY_RECOVER, true, 0,
                            "post-copy broke: each side holds a part of the memory; neither may be destroyed, and the "
                            "source must never be resumed"),
    [POSTCOPY_STRANDED] = CELL(POSTCOPY_FAILED, 0, true, 0,
                               "post-copy broke and the source is gone: the memory that was not copied is lost"),
    [LOST] = CELL(VM_LOST, 0, true, 0, "no side holds a complete copy of the guest"),
    [SPLIT] = CELL(SPLIT_BRAIN, KVMIG_ACTION_SUSPEND_BOTH, true, 0, "the guest runs on both sides"),
    [BUSY] = CELL(RUNNING, KVMIG_ACTION_WAIT, false, 0, "a migration job is active"),
    [NOT_ASKABLE] = CELL(UNDECIDED, KVMIG_ACTION_WAIT, false, 0, "a host cannot be asked"),
};

/* No job is active, both sides answered, and not both run. [source][target]; what is not named is ASK. */
static const uint8_t matrix[N_KINDS][N_KINDS] = {
    [NONE] = { [NONE] = LOST,
               [CRASHED] = LOST,
               [RUNNING] = MOVED,
               [RUN_POSTCOPY] = POSTCOPY_RUNS,
               [RUN_POSTCOPY_FAILED] = POSTCOPY_STRANDED,
               [MIGRATING] = LOST,
               [PAUSED_USER] = HELD,
               [POSTCOPY] = TRANSIENT,
               [POSTCOPY_FAILED] = POSTCOPY_STRANDED,
               [API_ERROR] = HELD,
               [IO_ERROR] = HELD,
               [PAUSED_OTHER] = HELD_BY_OTHERS,
               [SLEEPING] = MOVED },
    [CRASHED] = { [NONE] = LOST,
                  [CRASHED] = LOST,
                  [RUNNING] = MOVED_COPY,
                  [RUN_POSTCOPY] = POSTCOPY_RUNS,
                  [RUN_POSTCOPY_FAILED] = POSTCOPY_STRANDED,
                  [MIGRATING] = LOST,
                  [POSTCOPY] = TRANSIENT,
                  [POSTCOPY_FAILED] = POSTCOPY_STRANDED },
    [RUNNING] = { [NONE] = HOME,
                  [CRASHED] = STAYED,
                  [MIGRATING] = STAYED,
                  [PAUSED_USER] = STAYED,
                  [API_ERROR] = STAYED },
    [MIGRATING] = { [NONE] = LEFT_PAUSED_IF_ABSENT,
                    [RUNNING] = MOVED_COPY_IF_CAME,
                    [RUN_POSTCOPY] = POSTCOPY_RUNS,
                    [RUN_POSTCOPY_FAILED] = POSTCOPY_BROKE,
                    [MIGRATING] = LEFT_PAUSED_INCOMING,
                    [PAUSED_USER] = HELD_COPY,
                    [POSTCOPY] = TRANSIENT,
                    [POSTCOPY_FAILED] = POSTCOPY_BROKE },
    [PAUSED_USER] = { [NONE] = HOME,
                      [RUNNING] = MOVED_COPY_IF_MIGRATED,
                      [RUN_POSTCOPY] = TRANSIENT,
                      [MIGRATING] = STAYED,
                      [PAUSED_USER] = TRANSIENT,
                      [POSTCOPY] = TRANSIENT },
    [POSTCOPY] = { [NONE] = LOST,
                   [CRASHED] = LOST,
                   [RUNNING] = MOVED_COPY,
                   [RUN_POSTCOPY] = POSTCOPY_RUNS,
                   [RUN_POSTCOPY_FAILED] = POSTCOPY_BROKE,
                   [MIGRATING] = TRANSIENT,
                   [PAUSED_USER] = TRANSIENT,
                   [POSTCOPY] = TRANSIENT,
                   [POSTCOPY_FAILED] = POSTCOPY_BROKE },
    [POSTCOPY_FAILED] = { [NONE] = LOST,
                          [CRASHED] = LOST,
                          [RUNNING] = MOVED_COPY,
                          [RUN_POSTCOPY] = POSTCOPY_BROKE,
                          [RUN_POSTCOPY_FAILED] = POSTCOPY_BROKE,
                          [POSTCOPY] = POSTCOPY_BROKE,
                          [POSTCOPY_FAILED] = POSTCOPY_BROKE },
    [API_ERROR] = { [NONE] = LEFT_PAUSED_IF_ABSENT,
                    [RUNNING] = MOVED_COPY_IF_CAME,
                    [MIGRATING] = LEFT_PAUSED_INCOMING,
                    [PAUSED_USER] = HELD_COPY },
    [IO_ERROR] = { [NONE] = HOME, [RUNNING] = MOVED_COPY_IF_MIGRATED, [MIGRATING] = STAYED },
    [PAUSED_OTHER] = { [NONE] = HOME, [RUNNING] = MOVED_COPY_IF_MIGRATED, [MIGRATING] = STAYED },
    [SLEEPING] = { [NONE] = HOME, [RUNNING] = MOVED_COPY_IF_MIGRATED, [MIGRATING] = STAYED },
};

static enum kind kind_of_running(int32_t reason)
{
    switch (reason) {
    case KVMIG__REASON_POSTCOPY:
        return RUN_POSTCOPY;
    case KVMIG__REASON_POSTCOPY_FAILED:
        return RUN_POSTCOPY_FAILED;
    default:
        return RUNNING;
    }
}

static enum kind kind_of_paused(int32_t reason, bool is_target)
{
    switch (reason) {
    case KVMIG__REASON_USER:
        return PAUSED_USER;
    case KVMIG__REASON_MIGRATION:
        return MIGRATING;
    case KVMIG__REASON_STARTING_UP:
        return is_target ? MIGRATING : UNCLEAR;
    case KVMIG__REASON_POSTCOPY:
        return POSTCOPY;
    case KVMIG__REASON_POSTCOPY_FAILED:
        return POSTCOPY_FAILED;
    case KVMIG__REASON_API_ERROR:
        return API_ERROR;
    case KVMIG__REASON_IOERROR:
        return IO_ERROR;
    default:
        return PAUSED_OTHER;
    }
}

static enum kind kind_of(const struct kvmig__side *side, bool is_target)
{
    if (!side->reachable)
        return UNREACHABLE;
    switch (side->state) {
    case KVMIG__STATE_ABSENT:
    case KVMIG__STATE_SHUTOFF:
        return NONE;
    case KVMIG__STATE_RUNNING:
        return kind_of_running(side->reason);
    case KVMIG__STATE_PAUSED:
        return kind_of_paused(side->reason, is_target);
    case KVMIG__STATE_CRASHED:
        return CRASHED;
    case KVMIG__STATE_SUSPENDED_PM:
        return SLEEPING;
    default:
        return UNCLEAR;
    }
}

static bool runs(enum kind kind)
{
    return kind == RUNNING || kind == RUN_POSTCOPY || kind == RUN_POSTCOPY_FAILED;
}

static const char *unreachable_proof(enum kind source, enum kind target)
{
    if (source == UNREACHABLE && target == UNREACHABLE)
        return "neither host can be asked";
    if (source == UNREACHABLE)
        return runs(target) ? "the guest runs on the target; the source cannot be asked, so a second copy there is not "
                              "ruled out"
                            : "the source cannot be asked, so nothing may be started on the target";
    return runs(source)
               ? "the guest runs on the source; the target cannot be asked, so a second copy there is not ruled "
                 "out"
               : "the target cannot be asked, so nothing may be started on the source";
}

static struct kvmig__resolution not_askable(enum kind source, enum kind target)
{
    struct kvmig__resolution answer = cells[NOT_ASKABLE];

    answer.proof = unreachable_proof(source, target);
    return answer;
}

/* A job is active, or the target changed while it was looked at. */
static struct kvmig__resolution busy(enum kind source, enum kind target, const char *proof)
{
    struct kvmig__resolution answer = cells[BUSY];

    if (proof)
        answer.proof = proof;
    answer.side = runs(source) ? -1 : runs(target) ? 1 : 0;
    return answer;
}

static bool reads_alike(const struct kvmig__side *a, const struct kvmig__side *b)
{
    return a->state == b->state && a->reason == b->reason && a->job_active == b->job_active;
}

static enum cell cell_of(enum kind source, enum kind target, const struct kvmig__side *target_side)
{
    enum cell cell = (enum cell)matrix[source][target];

    /* The source was not stopped by a migration. Only a target that says it runs because of one holds its state; any
     * other may be a second boot of the same disk. */
    if (cell == MOVED_COPY_IF_MIGRATED)
        return target_side->reason == KVMIG__REASON_MIGRATED ? MOVED_COPY : ASK;
    /* The source was stopped by a migration. The target may then also have been held paused, and resumed by a call (strict
     * hand-over). One that was booted holds another state, and the source's may be the only one. */
    if (cell == MOVED_COPY_IF_CAME)
        return target_side->reason == KVMIG__REASON_MIGRATED || target_side->reason == KVMIG__REASON_UNPAUSED
                   ? MOVED_COPY
                   : ASK;
    /* No reason of a domain that is off says that it never ran there: a later start that failed, or a reboot of the host,
     * hides what was before. */
    if (cell == LEFT_PAUSED_IF_ABSENT)
        return target_side->state == KVMIG__STATE_ABSENT ? LEFT_PAUSED : OFF_SINCE;
    return cell;
}

struct kvmig__resolution kvmig__resolve(const struct kvmig__side *source, const struct kvmig__side *target,
                                        const struct kvmig__side *target_again)
{
    const enum kind s = kind_of(source, false);
    const enum kind t = target->reachable ? kind_of(target_again, true) : UNREACHABLE;
    const struct kvmig__resolution *answer;

    if (s == UNREACHABLE || t == UNREACHABLE)
        return not_askable(s, t);
    if (!reads_alike(target, target_again))
        return busy(s, t, "the target changed while the hosts were asked");
    if (runs(s) && runs(t))
        return cells[SPLIT];
    if (s == UNCLEAR || t == UNCLEAR)
        return cells[TRANSIENT];
    answer = &cells[cell_of(s, t, target_again)];
    if (!source->job_active && !target_again->job_active)
        return *answer;
    /* A broken post-copy keeps its job: to libvirt it is still being migrated. */
    if (answer->verdict == KVMIG_LOCATION_POSTCOPY_FAILED)
        return *answer;
    return t == RUN_POSTCOPY ? cells[POSTCOPY_RUNS] : busy(s, t, NULL);
}

bool kvmig__resolution_allows(const struct kvmig__resolution *resolution, int32_t action)
{
    for (size_t i = 0; i < KVMIG__MAX_ACTIONS; i++)
        if (action != 0 && resolution->actions[i] == action)
            return true;
    return false;
}
