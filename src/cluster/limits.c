/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Slots: who may migrate now and who waits. Does: keep the queue, count, grant, number the waiters. Does not: know what a
 * session is, look at hosts, tell the time. Pure; the caller serialises (the context lock). A slot is embedded in its
 * owner; only the two host names inside it belong to this file, between enter and leave.
 */
#include "cluster/limits.h"

#include <stdlib.h>

void kvmig__limits_init(struct kvmig__limits *limits, uint32_t max_migrations, uint32_t max_outbound,
                        uint32_t max_inbound)
{
    *limits = (struct kvmig__limits){ .max_migrations = max_migrations,
                                      .max_outbound = max_outbound,
                                      .max_inbound = max_inbound };
}

static bool is_queued(const struct kvmig__limits *limits, const struct kvmig__slot *slot)
{
    for (const struct kvmig__slot *s = limits->head; s; s = s->next)
        if (s == slot)
            return true;
    return false;
}

void kvmig__limits_enter(struct kvmig__limits *limits, struct kvmig__slot *slot, const char *source, const char *target,
                         void *owner)
{
    if (is_queued(limits, slot))
        return;
    *slot = (struct kvmig__slot){
        .source = kvmig__strdup(source), .target = kvmig__strdup(target), .owner = owner, .prev = limits->tail
    };
    if (limits->tail)
        limits->tail->next = slot;
    else
        limits->head = slot;
    limits->tail = slot;
}

void kvmig__limits_leave(struct kvmig__limits *limits, struct kvmig__slot *slot)
{
    if (!is_queued(limits, slot))
        return;
    if (slot->prev)
        slot->prev->next = slot->next;
    else
        limits->head = slot->next;
    if (slot->next)
        slot->next->prev = slot->prev;
    else
        limits->tail = slot->prev;
    free(slot->source);
    free(slot->target);
    *slot = (struct kvmig__slot){ .owner = slot->owner };
}

uint32_t kvmig__limits_running(const struct kvmig__limits *limits, const char *host, bool out)
{
    uint32_t n = 0;

    for (const struct kvmig__slot *s = limits->head; s; s = s->next)
        if (s->granted && (!host || kvmig__str_eq(host, out ? s->source : s->target)))
            n++;
    return n;
}

struct busy {
    uint32_t (*count)(void *data, const char *host, bool out);
    void *data;
};

static bool has_room(const struct kvmig__limits *limits, const struct busy *busy, const char *host, bool out,
                     uint32_t max)
{
    uint64_t running = kvmig__limits_running(limits, host, out);

    if (busy->count)
        running += busy->count(busy->data, host, out);
    return running < max;
}

static bool fits(const struct kvmig__limits *limits, const struct busy *busy, const struct kvmig__slot *slot)
{
    return has_room(limits, busy, NULL, true, limits->max_migrations) &&
           (!slot->source || has_room(limits, busy, slot->source, true, limits->max_outbound)) &&
           (!slot->target || has_room(limits, busy, slot->target, false, limits->max_inbound));
}

struct changes {
    struct kvmig__slot **v;
    size_t n;
};

static void find_changes(struct kvmig__limits *limits, const struct busy *busy, struct changes *changes)
{
    uint32_t waiting = 0;

    for (struct kvmig__slot *s = limits->head; s; s = s->next) {
        const bool was_granted = s->granted;
        const uint32_t old_position = s->position;

        if (!s->granted)
            s->granted = fits(limits, busy, s);
        s->position = s->granted ? 0 : ++waiting;
        if (s->granted != was_granted || s->position != old_position)
            *KVMIG__PUSH(changes) = s;
    }
}

void kvmig__limits_settle(struct kvmig__limits *limits, void (*changed)(struct kvmig__slot *slot),
                          uint32_t (*busy)(void *data, const char *host, bool out), void *data)
{
    const struct busy count = { busy, data };
    struct changes changes = { NULL, 0 };

    find_changes(limits, &count, &changes);
    /* changed() may make slots leave, the next ones of this list included, or settle again: all state is final by now. */
    for (size_t i = 0; changed && i < changes.n; i++)
        if (is_queued(limits, changes.v[i]))
            changed(changes.v[i]);
    free(changes.v);
}
