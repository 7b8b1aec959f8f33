/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file port.h
 * One network port that must follow the guest. It is prepared on the target before the guest goes there, proven to be
 * ready, and left on the chassis where the guest runs; or it is put back. A port of OVN is one logical switch port, or
 * all those of a VM; a port of another network is the caller's own callbacks; and where nothing has to be done (a Linux
 * bridge learns from the guest's own announcement) a port that does nothing keeps the place.
 *
 * Every operation is a wish: it returns at once, may be repeated, may come late or in another order, and is answered by
 * KVMIG_EVENT_PORT. A newer wish takes the place of an older one. Operations on OVN change only what is still as this
 * owner left it (compare-and-set on the owner token), so a late clean-up of one migration cannot touch the next one.
 */
#ifndef KVMIG_PORT_H
#define KVMIG_PORT_H

#include <kvmig/context.h>
#include <kvmig/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where a port stands. Append-only. Since: 0.1.0 */
enum kvmig_port_state {
    KVMIG_PORT_IDLE = 0, /**< nothing was asked of it */
    KVMIG_PORT_PREPARING = 1, /**< being extended to the target */
    KVMIG_PORT_PREPARED = 2, /**< belongs to source and target; the target is silent until its guest announces itself */
    KVMIG_PORT_VERIFYING = 3, /**< waits for proof that the target would forward */
    KVMIG_PORT_VERIFIED = 4, /**< proven: the target has claimed it and its flows are there */
    KVMIG_PORT_ACTIVATED = 5, /**< the target has seen the announcement of its guest (RARP, GARP or NA) */
    KVMIG_PORT_CONVERGING = 6, /**< being left to the chassis where the guest runs */
    KVMIG_PORT_CONVERGED = 7, /**< proven there, alone; nothing temporary is left */
    KVMIG_PORT_ROLLING_BACK = 8, /**< being put back to the source */
    KVMIG_PORT_ROLLED_BACK = 9, /**< as it was, pinned to the source; nothing temporary is left */
    KVMIG_PORT_SUPERSEDED = 10, /**< belongs to another owner now; nothing was changed */
    KVMIG_PORT_FAILED = 11, /**< the last operation failed; the event's error says why. It may be asked again */
};

/**
 * What makes the target begin to forward: the kinds of announcement that OVN's option activation-strategy waits for.
 * From 25.09 on, OVN does not keep a port silent that has no address; prepare refuses it then, but with NONE.
 * Append-only. Since: 0.1.0
 */
enum kvmig_port_strategy {
    KVMIG_PORT_STRATEGY_AUTO = 0, /**< the most that this OVN understands: rarp, and garp and na from OVN 25.09 */
    KVMIG_PORT_STRATEGY_RARP = 1, /**< QEMU's own announcement; OVN 22.09 and newer */
    KVMIG_PORT_STRATEGY_GARP = 2, /**< a gratuitous ARP; OVN 25.09 and newer */
    KVMIG_PORT_STRATEGY_NA = 3, /**< an unsolicited neighbour advertisement; OVN 25.09 and newer */
    /** The target forwards at once: for guests whose RARP does not reach OVN (vhost-user, SR-IOV, masquerade). */
    KVMIG_PORT_STRATEGY_NONE = 4,
};

/** What is to be known of one chassis; zero is the default of every member. Append-only. Since: 0.1.0 */
struct kvmig_port_ovs {
    size_t size; /**< set by KVMIG_PORT_OVS_INIT */
    const char *chassis; /**< name or host name of the chassis; required */
    /** Its local Open vSwitch database, written as kvmig_port_ovn_opts.nb; NULL = not to be asked. */
    const char *remotes;
    /** What prepare, converge and sessions call that host, if it is neither of its names; NULL = one of them. */
    const char *host;
};

/** Begins a struct kvmig_port_ovs: zero, but for its size. Since: 0.1.0 */
#define KVMIG_PORT_OVS_INIT KVMIG_OPTS_INIT(kvmig_port_ovs)

/**
 * The same at run time, for languages that cannot use the macro: zeroes size bytes at ovs and sets ovs->size to size,
 * which is what the caller takes the size of the struct to be. Returns 0. Threads: any. Errors: -EINVAL (ovs is NULL,
 * or size has no room for the member size). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_port_ovs_init(struct kvmig_port_ovs *ovs, size_t size);

/**
 * Options of kvmig_port_open_ovn(); zero is the default of every member. Append-only. Since: 0.1.0
 *
 * Remotes are written as ovs-vsctl(8) and ovn-nbctl(8) take them: "unix:/run/ovn/ovnnb_db.sock", "tcp:10.0.0.1:6641",
 * "ssl:[fd00::1]:6641"; those of a cluster are joined by commas.
 */
struct kvmig_port_ovn_opts {
    size_t size; /**< set by KVMIG_PORT_OVN_OPTS_INIT */
    const char *nb; /**< remotes of OVN's northbound database; required */
    const char *sb; /**< remotes of the southbound database; NULL = none: chassis and claims cannot be checked then */
    const struct kvmig_port_ovs *const *ovs; /**< local databases of chassis; copied */
    size_t n_ovs; /**< entries in ovs; 0 = none: ovn-installed cannot be looked at */
    const char *lsp; /**< name of the logical switch port; NULL = match_key and match_value */
    /** Key in external_ids: all ports that have match_value there; all of them follow together. */
    const char *match_key;
    const char *match_value; /**< see match_key */
    /**
     * Token of the migration, unique; NULL = a new one. A handle with the token of another one continues its work, also
     * in another process: verify, converge and rollback find in the database what was prepared under that token.
     */
    const char *owner;
    const char *ca_file; /**< for ssl: remotes: PEM file of the authority that signed the servers' certificates */
    const char *cert_file; /**< PEM file of the own certificate, which OVSDB servers demand */
    const char *key_file; /**< PEM file of its private key */
    int32_t strategy; /**< an enum kvmig_port_strategy */
    uint32_t reserved; /**< must be 0 */
    uint64_t prepare_timeout_ms; /**< longest preparation; 0 = 30 s */
    uint64_t verify_timeout_ms; /**< longest wait for proof; 0 = 30 s */
    /** How long convergence waits for the guest's announcement, then it goes on; 0 = 1 s. */
    uint64_t activation_timeout_ms;
    uint64_t converge_timeout_ms; /**< longest convergence or roll-back; 0 = 30 s */
    struct kvmig_event_callback on_event; /**< gets the port's events; fn NULL = nobody does */
};

/** Begins a struct kvmig_port_ovn_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_PORT_OVN_OPTS_INIT KVMIG_OPTS_INIT(kvmig_port_ovn_opts)

/** As kvmig_port_ovs_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_port_ovn_opts_init(struct kvmig_port_ovn_opts *opts, size_t size);

/** One port, or all ports of a VM: an opaque handle, counted. Since: 0.1.0 */
struct kvmig_port;

/** One operation that a caller's own backend was asked for; opaque, ended by kvmig_port_op_done(). Since: 0.1.0 */
struct kvmig_port_op;

/**
 * A port of a network that the library does not know: each function begins an operation and returns;
 * kvmig_port_op_done() ends it, from any thread, once, also from inside the function. They run in dispatch with no
 * library lock held. A function that is NULL means that nothing has to be done. An operation whose time is over fails
 * with -ETIMEDOUT, and one that a newer one took the place of is not answered; op still has to be ended then. What
 * changes something (all but verify) is not begun before the one before it has ended. Strings are valid during the call. Zero is the default of every member. Append-only.
 * Since: 0.1.0
 */
struct kvmig_port_backend {
    size_t size; /**< set by KVMIG_PORT_BACKEND_INIT */
    /** Makes the target ready for the guest, beside the source. */
    void (*prepare)(struct kvmig_port_op *op, const char *source, const char *target, void *user_data);
    /**
     * Proves that the target is ready. Of a session over libvirt, which plugs the interface in the migrate call, it
     * comes while that call runs.
     */
    void (*verify)(struct kvmig_port_op *op, void *user_data);
    /** Leaves the port on winner alone. */
    void (*converge)(struct kvmig_port_op *op, const char *winner, void *user_data);
    /** Undoes prepare: the port stays on source. Not called if nothing was prepared since it last ended well. */
    void (*rollback)(struct kvmig_port_op *op, const char *source, void *user_data);
    void *user_data; /**< handed to the functions; the library does not look at it */
    /** Runs exactly once, when no operation is out and none will come; may be NULL. */
    void (*free)(void *user_data);
};

/** Begins a struct kvmig_port_backend: zero, but for its size. Since: 0.1.0 */
#define KVMIG_PORT_BACKEND_INIT KVMIG_OPTS_INIT(kvmig_port_backend)

/** As kvmig_port_ovs_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_port_backend_init(struct kvmig_port_backend *backend, size_t size);

/** Options of kvmig_port_open_backend() and kvmig_port_open_none(); zero is the default. Append-only. Since: 0.1.0 */
struct kvmig_port_opts {
    size_t size; /**< set by KVMIG_PORT_OPTS_INIT */
    const char *name; /**< for events and reports; required */
    uint64_t timeout_ms; /**< longest operation; 0 = 30 s */
    struct kvmig_event_callback on_event; /**< gets the port's events; fn NULL = nobody does */
};

/** Begins a struct kvmig_port_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_PORT_OPTS_INIT KVMIG_OPTS_INIT(kvmig_port_opts)

/** As kvmig_port_ovs_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_port_opts_init(struct kvmig_port_opts *opts, size_t size);

/**
 * Opens a port of OVN. Returns at once and changes nothing; connects in the background. *out_port is owned:
 * kvmig_port_unref(). opts->on_event is taken, also on failure.
 * Threads: any. Errors: -EINVAL (names the option), -E2BIG. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_port_open_ovn(struct kvmig_context *context, const struct kvmig_port_ovn_opts *opts,
                                      struct kvmig_port **out_port);

/**
 * Opens a port with a backend of the caller's own, which is copied. *out_port is owned: kvmig_port_unref().
 * backend->free and opts->on_event are taken, also on failure; but nothing is read of a struct whose size is not set.
 * Threads: any. Errors: -EINVAL, -E2BIG. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_port_open_backend(struct kvmig_context *context, const struct kvmig_port_backend *backend,
                                          const struct kvmig_port_opts *opts, struct kvmig_port **out_port);

/**
 * Opens a port that needs nothing: a Linux bridge, whose forwarding follows the guest's RARP. *out_port is owned:
 * kvmig_port_unref(). opts->on_event is taken, also on failure. Threads: any. Errors: -EINVAL, -E2BIG. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_port_open_none(struct kvmig_context *context, const struct kvmig_port_opts *opts,
                                       struct kvmig_port **out_port);

/** One more owner. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_port *kvmig_port_ref(struct kvmig_port *port);
/**
 * One owner less; NULL is ignored. A session that has the port keeps it to its end. Without a session, what was
 * prepared stays prepared: converge or roll back before. Never blocks. Threads: any. Since: 0.1.0
 */
KVMIG_API void kvmig_port_unref(struct kvmig_port *port);

/**
 * Extends the port to the target: validates both chassis (name or host name), pins an unpinned port to the source
 * first, then writes requested-chassis and activation-strategy in one guarded transaction with the owner token. Ends in
 * KVMIG_PORT_PREPARED, or FAILED, where what it wrote is put back. Later errors, in the event: -KVMIG_EREFUSED (another
 * owner has it, or it has options that are not this owner's, is bound elsewhere, or is activated from before), -ENOENT
 * (no such logical port), -KVMIG_ENOHOST, -KVMIG_EAMBIGUOUS (no chassis, or several, of that name), -EINVAL (two names
 * of one chassis), -ENOTSUP (this OVN would not keep the target silent, or has no ports on two chassis), -EPERM (the
 * database denies the write), -ETIMEDOUT (with what is missing); of a caller's own backend -ETIMEDOUT, -ECANCELED (the
 * context was closed), or what kvmig_port_op_done() was given.
 * Threads: any. Errors: -EINVAL, -EBUSY (a session has the port). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_port_prepare(struct kvmig_port *port, const char *source, const char *target);

/**
 * Waits for proof that the target is ready: claimed as an additional chassis, the main one unchanged, and its flows
 * installed (the nb_cfg barrier of OVN, or an ovn-installed that stays for longer than OVN's claim throttle). Ends in
 * KVMIG_PORT_VERIFIED, or FAILED with what was seen. What was prepared is read from the database: it may have been
 * prepared by another handle or process with the same owner, and with another strategy, which is not changed. Later
 * errors, in the event: -KVMIG_EPHASE (not prepared by this owner, or changed by somebody since), -ENOENT (no such
 * logical port), -ENOTSUP (nothing that was given can prove it), -ETIMEDOUT (with what is missing); of a caller's own
 * backend as for kvmig_port_prepare().
 * Threads: any. Errors: -EINVAL, -EBUSY, -KVMIG_EPHASE (no port of OVN, and not prepared by this handle). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_port_verify(struct kvmig_port *port);

/**
 * Leaves the port to the chassis where the guest runs. Waits for the guest's announcement for activation_timeout_ms at
 * most. Ends in KVMIG_PORT_CONVERGED, SUPERSEDED (somebody else has the port: nothing is changed), or FAILED. Later
 * errors, in the event: -EINVAL (winner is neither source nor target), -EPERM (the database denies the write),
 * -ETIMEDOUT (not written, or written but not proven; ask again); of a caller's own backend as for
 * kvmig_port_prepare().
 * Threads: any. Errors: -EINVAL, -EBUSY. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_port_converge(struct kvmig_port *port, const char *winner);

/**
 * Puts the port back to the source, as it was before; a port that was not pinned stays pinned to the source. What was
 * never prepared is left alone. Ends in KVMIG_PORT_ROLLED_BACK, SUPERSEDED, or FAILED. Later errors, in the event:
 * -KVMIG_EUNKNOWN (nothing says which chassis was the source), -EPERM, -ETIMEDOUT, as for kvmig_port_converge(); of a
 * caller's own backend as for kvmig_port_prepare(). Threads: any. Errors: -EINVAL, -EBUSY. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_port_rollback(struct kvmig_port *port);

/**
 * Cleans up after an owner that is gone, whichever it was: if what it wrote is older than min_age_ms, leaves the port
 * to winner, where the guest must be proven to run. Ends in KVMIG_PORT_CONVERGED (also if nothing was left over),
 * SUPERSEDED (the next owner has it by now), or FAILED. Later errors, in the event: -KVMIG_EREFUSED (younger than that,
 * or of unknown age and min_age_ms is not 0), -ENOENT (no such logical port), -KVMIG_ENOHOST, -KVMIG_EAMBIGUOUS (no
 * chassis, or several, of that name), -EPERM (the database denies the write), -ETIMEDOUT (not written, or not proven).
 * Threads: any. Errors: -EINVAL, -EBUSY, -ENOTSUP (not a port of OVN). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_port_gc(struct kvmig_port *port, const char *winner, uint64_t min_age_ms);

/** An enum kvmig_port_state. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_port_state(struct kvmig_port *port);
/**
 * The name: the logical port, "key=value" for all ports of a VM, or what the caller called it. Borrowed. Threads: any.
 * Since: 0.1.0
 */
KVMIG_API const char *kvmig_port_name(const struct kvmig_port *port);
/** The owner token that the port writes; "" if it has none. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_port_owner(const struct kvmig_port *port);

/**
 * Reads the port's present facts; KVMIG_EVENT_PORT follows when they are there (its state is that of the port), and
 * kvmig_port_to_json() has them. Later errors, in the event: -ETIMEDOUT (the northbound database could not be read
 * within prepare_timeout_ms; what the other databases lack is said in the JSON).
 * Threads: any. Errors: -EINVAL, -EBUSY (another operation runs, or a session has the port). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_port_refresh(struct kvmig_port *port);

/**
 * The port as JSON: state, owner, the logical ports with what the databases say of them, the timeline of operations
 * with the evidence of each, and findings. This is the one place where a port's findings are told: unlike a plan's,
 * they have no function of their own. *out_json is owned by the caller, who frees it with free(). Returns 0.
 * Threads: any. Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_port_to_json(struct kvmig_port *port, char **out_json);

/**
 * Ends an operation of a caller's own backend: result 0, or a negative errno with a message for people (which may be
 * NULL). Threads: any; once for each op. Since: 0.1.0
 */
KVMIG_API void kvmig_port_op_done(struct kvmig_port_op *op, int32_t result, const char *message);

/** "idle", "preparing", "verified", ...; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_port_state_name(int32_t state);
/** "auto", "rarp", "garp", "na", "none"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_port_strategy_name(int32_t strategy);

#ifdef __cplusplus
}
#endif
#endif
