/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For tests that must not leave threads behind: how many the process has.
 */
#ifndef KVMIG_TESTS_THREADS_TEST_H
#define KVMIG_TESTS_THREADS_TEST_H

#include <dirent.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define THREADS_WAIT_MS 30000 /* reached only when a test fails */

static inline unsigned count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    unsigned n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static inline void await_threads(unsigned at_most)
{
    for (int waited = 0; count_threads() > at_most; waited++) {
        assert_true(waited < THREADS_WAIT_MS / 10);
        poll(NULL, 0, 10);
    }
}

#endif
