/* SPDX-License-Identifier: MIT-0 */
/*
 * SIGINT, SIGTERM and SIGHUP as requests of the user: they are counted, and the library's loop is woken to look. SIGPIPE is
 * ignored meanwhile, so that a reader who goes away does not end a migration half-way. One context at a time.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "tool.h"

static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
#define N_CAUGHT (sizeof(caught) / sizeof(caught[0]))

static struct sigaction before[N_CAUGHT];
static volatile sig_atomic_t count;
static struct kvmig_context *volatile waiting;

static void on_signal(int number)
{
    int saved = errno;

    (void)number;
    count++;
    kvmig_context_wake(waiting);
    errno = saved;
}

void signals_catch(struct kvmig_context *context)
{
    count = 0;
    waiting = context;
    for (size_t i = 0; i < N_CAUGHT; i++) {
        struct sigaction action = { .sa_flags = SA_RESTART };

        sigemptyset(&action.sa_mask);
        action.sa_handler = caught[i] == SIGPIPE ? SIG_IGN : on_signal;
        sigaction(caught[i], NULL, &before[i]);
        /* Whoever started this with nohup or in the background of a script wants such signals ignored. */
        if (before[i].sa_handler != SIG_IGN)
            sigaction(caught[i], &action, NULL);
    }
}

int signals_count(void)
{
    return count;
}

void signals_release(void)
{
    for (size_t i = 0; i < N_CAUGHT; i++)
        sigaction(caught[i], &before[i], NULL);
    waiting = NULL;
}
