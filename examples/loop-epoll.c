/* SPDX-License-Identifier: MIT-0 */
/*
 * loop-epoll [URI...]: a context inside a program's own epoll loop. Opens a view of the hosts, prints events until the
 * view is synced, and exits with 0.
 */
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <kvmig/kvmig.h>

static void on_event(const struct kvmig_event *event, void *user_data)
{
    int *done = user_data;
    const char *host = kvmig_event_host(event);

    printf("%s %s\n", kvmig_event_type_name(kvmig_event_type(event)), host ? host : "");
    if (kvmig_event_type(event) == KVMIG_EVENT_CLUSTER_SYNCED)
        *done = 1;
}

/* The loop that a program has already, with one descriptor more. Returns 0, or -1 for an error. */
static int loop(struct kvmig_context *context, const int *done)
{
    struct epoll_event ready[8], want = { .events = EPOLLIN, .data.ptr = context };
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC), ok;

    ok = epoll_fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, kvmig_context_get_fd(context), &want) == 0;
    while (ok && !*done) {
        int n = epoll_wait(epoll_fd, ready, 8, -1);

        for (int i = 0; i < n; i++) {
            /* If more is due (1) the descriptor is still readable: the loop comes back after its other work. */
            if (ready[i].data.ptr == context && kvmig_context_dispatch(context) < 0)
                ok = 0;
        }
    }
    if (epoll_fd >= 0)
        close(epoll_fd);
    return ok ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;
    struct kvmig_context *context = NULL;
    struct kvmig_cluster *cluster = NULL;
    int done = 0, rc;

    opts.libvirt_uris = (const char *const *)argv + 1;
    opts.n_libvirt_uris = argc > 1 ? (size_t)argc - 1 : 0;
    opts.on_event = (struct kvmig_event_callback){ on_event, &done, NULL };
    rc = kvmig_context_new(NULL, &context);
    if (rc == 0)
        rc = kvmig_cluster_open(context, &opts, &cluster);
    if (rc < 0)
        fprintf(stderr, "%s\n", kvmig_error_message(kvmig_error_last()));
    else
        rc = loop(context, &done);
    kvmig_cluster_unref(cluster);
    kvmig_context_unref(context);
    return rc == 0 ? 0 : 1;
}
