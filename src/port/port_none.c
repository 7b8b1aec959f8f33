/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The port that needs nothing: every wish is fulfilled as soon as it is made, and answered from a timer. Touches no
 * network. With the context lock held; owned by its handle.
 */
#include "port/port_handle.h"

#include <stdlib.h>

struct none_port {
    struct kvmig__port_backend base;
    enum kvmig__port_wish wish;
    struct kvmig__timer answer;
};

static void on_answer(void *data)
{
    struct none_port *none = data;
    const int32_t after = kvmig__port_state_after(none->wish);

    if (after >= 0)
        kvmig__port_set_state(none->base.port, after);
    kvmig__port_answer(none->base.port, NULL);
}

static void none_wish(struct kvmig__port_backend *backend, enum kvmig__port_wish wish, const char *a, const char *b,
                      int64_t min_age_ms)
{
    struct none_port *none = (struct none_port *)backend;

    (void)a;
    (void)b;
    (void)min_age_ms;
    none->wish = wish;
    kvmig__timer_arm_in(&none->answer, 0);
}

static int64_t none_longest_ms(const struct kvmig__port_backend *backend)
{
    (void)backend;
    return 0;
}

static void none_free(struct kvmig__port_backend *backend)
{
    struct none_port *none = (struct none_port *)backend;

    kvmig__timer_disarm(&none->answer);
    free(none);
}

struct kvmig__port_backend *kvmig__none_port_new(struct kvmig_context *context)
{
    static const struct kvmig__port_backend_ops ops = {
        .kind = "none",
        .wish = none_wish,
        .longest_ms = none_longest_ms,
        .free = none_free,
    };
    struct none_port *none = kvmig__calloc(1, sizeof(*none));

    none->base.ops = &ops;
    kvmig__timer_init(&none->answer, context, on_answer, none);
    return &none->base;
}
