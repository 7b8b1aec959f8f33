/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The two clocks. Any thread.
 */
#include "base/base.h"

#include <time.h>

static int64_t read_ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t kvmig__now_ms(void)
{
    return read_ms(CLOCK_MONOTONIC);
}

int64_t kvmig__wall_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}
