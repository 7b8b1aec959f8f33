/* SPDX-License-Identifier: MIT-0 */
/*
 * loop-sd-event [URI...]: a context inside an sd-event loop, as system daemons use it. Opens a view of the hosts,
 * prints events until the view is synced, and exits with 0.
 */
#include <stdio.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include <kvmig/kvmig.h>

static void on_event(const struct kvmig_event *event, void *user_data)
{
    const char *host = kvmig_event_host(event);

    printf("%s %s\n", kvmig_event_type_name(kvmig_event_type(event)), host ? host : "");
    if (kvmig_event_type(event) == KVMIG_EVENT_CLUSTER_SYNCED)
        sd_event_exit(user_data, 0);
}

/* The descriptor is level-triggered: if more is due, sd-event calls again after its other sources. */
static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *user_data)
{
    int32_t rc = kvmig_context_dispatch(user_data);

    (void)fd;
    (void)revents;
    return rc < 0 ? sd_event_exit(sd_event_source_get_event(source), 1) : 0;
}

int main(int argc, char **argv)
{
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;
    struct kvmig_context *context = NULL;
    struct kvmig_cluster *cluster = NULL;
    sd_event *loop = NULL;
    int rc = sd_event_new(&loop);

    opts.libvirt_uris = (const char *const *)argv + 1;
    opts.n_libvirt_uris = argc > 1 ? (size_t)argc - 1 : 0;
    opts.on_event = (struct kvmig_event_callback){ on_event, loop, NULL };
    if (rc >= 0 && (rc = kvmig_context_new(NULL, &context)) == 0 &&
        (rc = kvmig_cluster_open(context, &opts, &cluster)) == 0)
        rc = sd_event_add_io(loop, NULL, kvmig_context_get_fd(context), EPOLLIN, on_readable, context);
    else
        fprintf(stderr, "%s\n", kvmig_error_message(kvmig_error_last()));
    if (rc >= 0)
        rc = sd_event_loop(loop); /* what sd_event_exit() was given */
    kvmig_cluster_unref(cluster);
    sd_event_unref(loop);
    kvmig_context_unref(context);
    return rc == 0 ? 0 : 1;
}
