/* SPDX-License-Identifier: MIT-0 */
/*
 * loop-glib [URI...]: a context inside a GLib main loop (GTK, GNOME, QEMU-style programs). Opens a view of the hosts,
 * prints events until the view is synced, and exits with 0.
 */
#include <glib-unix.h>
#include <stdio.h>

#include <kvmig/kvmig.h>

struct program {
    GMainLoop *loop;
    struct kvmig_context *context;
    int synced;
};

static void on_event(const struct kvmig_event *event, void *user_data)
{
    struct program *program = user_data;
    const char *host = kvmig_event_host(event);

    printf("%s %s\n", kvmig_event_type_name(kvmig_event_type(event)), host ? host : "");
    if (kvmig_event_type(event) == KVMIG_EVENT_CLUSTER_SYNCED) {
        program->synced = 1;
        g_main_loop_quit(program->loop);
    }
}

/* The descriptor is level-triggered: if more is due, GLib calls again after its other sources. */
static gboolean on_readable(gint fd, GIOCondition condition, gpointer user_data)
{
    struct program *program = user_data;

    (void)fd;
    (void)condition;
    if (kvmig_context_dispatch(program->context) >= 0)
        return G_SOURCE_CONTINUE;
    g_main_loop_quit(program->loop);
    return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;
    struct kvmig_cluster *cluster = NULL;
    struct program program = { .loop = g_main_loop_new(NULL, FALSE) };
    int rc;

    opts.libvirt_uris = (const char *const *)argv + 1;
    opts.n_libvirt_uris = argc > 1 ? (size_t)argc - 1 : 0;
    opts.on_event = (struct kvmig_event_callback){ on_event, &program, NULL };
    rc = kvmig_context_new(NULL, &program.context);
    if (rc == 0)
        rc = kvmig_cluster_open(program.context, &opts, &cluster);
    if (rc < 0) {
        fprintf(stderr, "%s\n", kvmig_error_message(kvmig_error_last()));
    } else {
        g_unix_fd_add(kvmig_context_get_fd(program.context), G_IO_IN, on_readable, &program);
        g_main_loop_run(program.loop);
    }
    kvmig_cluster_unref(cluster);
    kvmig_context_unref(program.context);
    g_main_loop_unref(program.loop);
    return program.synced ? 0 : 1;
}
