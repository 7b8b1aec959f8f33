/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What goes along with a session: ports that must follow the guest, and probes that watch its service. The state machine does not
 * know them: a gate passes, and the last step of a session (FINISH or UNDO) counts as done, when they are, too. Everything needs
 * the context lock.
 *
 *   session_ports.c   wishes to the ports, and what their answers mean
 *   session_probes.c  starting, asking and stopping the probes; what they add to the report
 *   session_gate.c    the two gates before the call, and the join at the end
 */
#ifndef KVMIG_SRC_FOLLOWERS_H
#define KVMIG_SRC_FOLLOWERS_H

#include "port/port_internal.h"
#include "probe/probe_internal.h"
#include "session/fsm.h"
#include <kvmig/session.h>

/* A service that does not answer before the migration is not waited for any longer, ms. */
#define KVMIG__FIRST_ANSWER_MS 1000

struct kvmig__session_port {
    struct kvmig_session *session;
    struct kvmig_port *port;
    enum kvmig__port_wish wish; /* the last one */
    bool asked; /* it is not answered yet */
    bool retarget; /* is being put back, to be prepared for another target */
    bool again; /* a preparation that was wished for again while it runs */
    bool unprovable; /* neither SB nor OVS was given: proof cannot be had */
    struct kvmig_error *error; /* of its last answer; NULL = as wished */
};

struct kvmig__followers {
    struct {
        struct kvmig__session_port **v;
        size_t n;
    } ports;
    struct {
        struct kvmig_probe **v;
        size_t n;
    } probes;
    struct kvmig__timer look; /* asks the probes again */
    int64_t service_ms; /* how long the service may take to answer again */
    struct {
        bool open; /* was asked for and has not been answered */
        bool heard; /* the caller has got the event of the phase */
        int64_t probes_by_ms; /* no longer for a first answer of the service */
    } gate;
    struct {
        bool open; /* FINISH or UNDO is under way */
        bool moved; /* FINISH */
        bool driver_done;
        enum kvmig__fsm_input input; /* its answer, once driver_done */
        struct kvmig_error *error;
        int64_t since_ms, service_by_ms;
    } close;
    struct json_object *last; /* what the report says of them once the session has ended; owned */
};

/* ---- session_ports.c ---- */
void kvmig__session_ports_prepare(struct kvmig_session *session);
void kvmig__session_ports_retarget(struct kvmig_session *session); /* the plan has another target now */
void kvmig__session_ports_verify(struct kvmig_session *session, bool late);
void kvmig__session_ports_follow(struct kvmig_session *session, bool moved);
bool kvmig__session_ports_busy(const struct kvmig_session *session);
/* The first answer that was no success; NULL if there is none. Borrowed. */
const struct kvmig_error *kvmig__session_ports_error(const struct kvmig_session *session);
/* How the ports ended, as notices; those that have not answered count as failed. */
void kvmig__session_ports_tell(struct kvmig_session *session, bool moved);
/* It is not known where the guest is: the ports stay as they are, and that is said. */
void kvmig__session_ports_left(struct kvmig_session *session);
int64_t kvmig__session_ports_longest_ms(const struct kvmig_session *session);
/* The first one that has not answered; NULL if none. Borrowed. */
const char *kvmig__session_ports_late(const struct kvmig_session *session);

/* ---- session_probes.c ---- */
void kvmig__session_probes_start(struct kvmig_session *session);
bool kvmig__session_probes_answered(const struct kvmig_session *session,
                                    int64_t since_ms); /* every target that ever did */
bool kvmig__session_probes_ready(const struct kvmig_session *session); /* every target has answered once */
void kvmig__session_probes_tell(struct kvmig_session *session); /* the gap, or that the service is still away */

/* ---- session_gate.c ---- */
void kvmig__session_gate(struct kvmig_session *session); /* of the state that was just entered */
void kvmig__session_gate_look(
    struct kvmig_session *session); /* something that a gate or the end waits for may have come */
/* The last step begins. */
void kvmig__session_close_begin(struct kvmig_session *session, bool moved);
/* The driver's part of it has ended; error taken. */
void kvmig__session_close_driver(struct kvmig_session *session, enum kvmig__fsm_input input, struct kvmig_error *error);
/* The deadline passed. true: the driver had answered, and the session went on without the followers; false: it is the driver
 * that is late. */
bool kvmig__session_close_overdue(struct kvmig_session *session);

/* ---- life (session_ports.c) ---- */
void kvmig__followers_init(struct kvmig_session *session);
void kvmig__followers_end(struct kvmig_session *session); /* keeps for the report what they say, and lets go of them */
void kvmig__followers_free(struct kvmig_session *session);
void kvmig__followers_add_json(const struct kvmig_session *session, struct json_object *root);

#endif
