/* SPDX-License-Identifier: MIT-0 */
/*
 * port-follow NB SB LSP SOURCE TARGET COMMAND: lets a port of OVN follow a guest that COMMAND moves. The port is
 * prepared on the target and proven to be ready there (the guest's interface must be plugged on both hosts by then);
 * then COMMAND runs. If it succeeds the port is left to the target alone, else it goes back to the source.
 */
#include <kvmig/kvmig.h>
#include <stdio.h>
#include <stdlib.h>

static void on_event(const struct kvmig_event *event, void *state)
{
    printf("%s: %s\n", kvmig_event_port(event), kvmig_port_state_name(kvmig_event_port_state(event)));
    if (kvmig_event_error(event))
        fprintf(stderr, "%s\n", kvmig_error_message(kvmig_event_error(event)));
    *(int32_t *)state = kvmig_event_port_state(event);
}

/* Every operation ends in one of these, at the latest when its time is over. */
static int32_t is_done(void *state)
{
    switch (*(int32_t *)state) {
    case KVMIG_PORT_PREPARED:
    case KVMIG_PORT_VERIFIED:
    case KVMIG_PORT_ACTIVATED:
    case KVMIG_PORT_CONVERGED:
    case KVMIG_PORT_ROLLED_BACK:
    case KVMIG_PORT_SUPERSEDED:
    case KVMIG_PORT_FAILED:
        return 1;
    default:
        return 0;
    }
}

/* rc is what beginning the operation returned. Returns 1 if it ended in one of two states. */
static int ended_well(struct kvmig_context *context, int32_t rc, int32_t *state, int32_t good, int32_t also_good)
{
    if (rc == 0) {
        *state = KVMIG_PORT_IDLE;
        rc = kvmig_context_run(context, is_done, state, -1);
    }
    if (rc < 0)
        fprintf(stderr, "%s\n", kvmig_error_message(kvmig_error_last()));
    return rc == 0 && (*state == good || *state == also_good);
}

int main(int argc, char **argv)
{
    struct kvmig_port_ovn_opts opts = KVMIG_PORT_OVN_OPTS_INIT;
    struct kvmig_context *context = NULL;
    struct kvmig_port *port = NULL;
    int32_t state = KVMIG_PORT_IDLE;
    int moved = 0, ok;

    if (argc != 7)
        return fputs("usage: port-follow NB SB LSP SOURCE TARGET COMMAND\n", stderr), 2;
    opts.nb = argv[1];
    opts.sb = argv[2];
    opts.lsp = argv[3];
    opts.on_event = (struct kvmig_event_callback){ on_event, &state, NULL };
    if (kvmig_context_new(NULL, &context) < 0 || kvmig_port_open_ovn(context, &opts, &port) < 0) {
        fprintf(stderr, "%s\n", kvmig_error_message(kvmig_error_last()));
        return kvmig_context_unref(context), 1;
    }
    ok = ended_well(context, kvmig_port_prepare(port, argv[4], argv[5]), &state, KVMIG_PORT_PREPARED,
                    KVMIG_PORT_ACTIVATED) &&
         ended_well(context, kvmig_port_verify(port), &state, KVMIG_PORT_VERIFIED, KVMIG_PORT_ACTIVATED);
    if (ok)
        moved = system(argv[6]) == 0; /* the loop stands still meanwhile: a busy program has it on another thread */
    if (moved)
        ok = ended_well(context, kvmig_port_converge(port, argv[5]), &state, KVMIG_PORT_CONVERGED,
                        KVMIG_PORT_SUPERSEDED);
    else
        ended_well(context, kvmig_port_rollback(port), &state, KVMIG_PORT_ROLLED_BACK, KVMIG_PORT_SUPERSEDED);
    kvmig_port_unref(port);
    kvmig_context_unref(context);
    return ok && moved ? 0 : 1;
}
