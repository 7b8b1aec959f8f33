/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file interface.h
 * Which interfaces of one node's Open vSwitch are in use, still being set up, or left over. The answer rests on
 * identity (the namespace and name of the VM, never a display name) and on an inventory of the node's workloads that is
 * complete. Whatever is not proven is kept: nothing here removes an interface, and nothing may be removed that was not
 * left over in at least two passes in a row.
 */
#ifndef KVMIG_INTERFACE_H
#define KVMIG_INTERFACE_H

#include <kvmig/context.h>
#include <kvmig/finding.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What an interface is. Only KVMIG_INTERFACE_ORPHAN is ever a candidate for removal. Append-only. Since: 0.1.0 */
enum kvmig_interface_class {
    KVMIG_INTERFACE_LIVE = 1, /**< a workload here uses it, and OVN has installed it */
    KVMIG_INTERFACE_INITIALISING = 2, /**< being set up or handed over, or too young to be judged; keep */
    KVMIG_INTERFACE_ORPHAN = 3, /**< no workload on this node can be its user */
    KVMIG_INTERFACE_UNKNOWN = 4, /**< cannot be decided; keep */
};

/** Why. Append-only. Since: 0.1.0 */
enum kvmig_interface_reason {
    KVMIG_INTERFACE_REASON_RUNNING = 1, /**< live: its workload runs here */
    KVMIG_INTERFACE_REASON_TERMINATING = 2, /**< live or initialising: its workload is being ended, but has not ended */
    KVMIG_INTERFACE_REASON_PENDING = 3, /**< initialising: its workload here has not begun to run */
    KVMIG_INTERFACE_REASON_UNPLACED = 4, /**< initialising: its workload has no node yet; it may be this one */
    /** Initialising: its workload runs here, but Open vSwitch has no port for it. */
    KVMIG_INTERFACE_REASON_NO_OFPORT = 5,
    KVMIG_INTERFACE_REASON_NOT_INSTALLED = 6, /**< initialising: its workload runs here, but OVN has not installed it */
    KVMIG_INTERFACE_REASON_SETTLING = 7, /**< initialising: installed too short a time ago to be relied on */
    KVMIG_INTERFACE_REASON_OPERATION = 8, /**< initialising: an operation on its port is under way */
    KVMIG_INTERFACE_REASON_YOUNG = 9, /**< initialising: nothing uses it, but it is younger than the grace period */
    KVMIG_INTERFACE_REASON_FINISHED = 10, /**< orphan: only workloads that have ended had it here */
    KVMIG_INTERFACE_REASON_ELSEWHERE = 11, /**< orphan: its workload is on another node */
    KVMIG_INTERFACE_REASON_NO_WORKLOAD = 12, /**< orphan: no workload has its identity */
    /** Orphan: the same name is only another VM's display name, which is no identity. */
    KVMIG_INTERFACE_REASON_DISPLAY_NAME = 13,
    KVMIG_INTERFACE_REASON_NO_INVENTORY = 14, /**< unknown: the workloads were not read completely */
    KVMIG_INTERFACE_REASON_NO_ID = 15, /**< unknown: the interface does not say whose it is */
    KVMIG_INTERFACE_REASON_DUPLICATE = 16, /**< unknown: another interface of this node has the same iface-id */
    /** Unknown: a workload here may be its user, but its full name is not known. */
    KVMIG_INTERFACE_REASON_UNRESOLVED = 17,
    KVMIG_INTERFACE_REASON_POD_NAME = 18, /**< unknown: it names a launcher pod that exists, in place of a VM */
    KVMIG_INTERFACE_REASON_PHASE_UNKNOWN = 19, /**< unknown: nobody knows whether its workload here still runs */
};

/** One row of the table Interface of a node's Open vSwitch. Strings may be NULL. Append-only. Since: 0.1.0 */
struct kvmig_interface {
    size_t size; /**< set by KVMIG_INTERFACE_INIT */
    const char *uuid; /**< of the row; required */
    const char *name; /**< "vnet3" */
    const char *iface_id; /**< external_ids:iface-id, the logical port; NULL = it has none */
    /**
     * external_ids:pod_namespace. NULL = VMs have no namespaces here (plain libvirt); "" = it should have one, but it
     * is not known.
     */
    const char *vm_namespace;
    /**
     * Whose it is; NULL = not known. Of a pod: external_ids:pod_name, which holds the full name of the VMI for a
     * launcher pod and the pod's own name for any other pod. Of a libvirt domain: external_ids:vm-id, its UUID.
     */
    const char *vm_id;
    const char *error; /**< what Open vSwitch says is wrong with it */
    const char *link_state; /**< "up" or "down" */
    int64_t ofport; /**< number of the OpenFlow port; -1 = could not be made; 0 = none yet, or not known */
    int64_t ovn_installed_ts_ms; /**< external_ids:ovn-installed-ts: milliseconds since 1970; 0 = none */
    /**
     * Since when the row is known to be there, on the clock of now_ms; 0 = since the first pass that has it. Counts
     * where the row is seen for the first time.
     */
    int64_t first_seen_ms;
    int32_t ovn_installed; /**< 1 if external_ids:ovn-installed is "true" */
    uint32_t reserved; /**< must be 0 */
};

/** Begins a struct kvmig_interface: zero, but for its size. Since: 0.1.0 */
#define KVMIG_INTERFACE_INIT KVMIG_OPTS_INIT(kvmig_interface)

/**
 * The same at run time, for languages that cannot use the macro: zeroes size bytes at interface and sets its member
 * size to size, which is what the caller takes the size of the struct to be. Returns 0. Threads: any. Errors: -EINVAL
 * (interface is NULL, or size has no room for the member size). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_interface_init(struct kvmig_interface *interface, size_t size);

/** What can use an interface. Append-only. Since: 0.1.0 */
enum kvmig_workload_kind {
    KVMIG_WORKLOAD_LAUNCHER = 0, /**< a KubeVirt pod that runs a VM; known by vmi_id and domain */
    KVMIG_WORKLOAD_POD = 1, /**< any other pod; known by its name */
    KVMIG_WORKLOAD_DOMAIN = 2, /**< a libvirt domain; known by its name, and by its UUID in vmi_id */
};

/** How far a workload is. Append-only. Since: 0.1.0 */
enum kvmig_workload_phase {
    KVMIG_WORKLOAD_PHASE_UNKNOWN = 0, /**< for example because its node does not answer; it may still run */
    KVMIG_WORKLOAD_PENDING = 1, /**< will run */
    KVMIG_WORKLOAD_RUNNING = 2, /**< runs; also a domain that is paused or waits for a migration to arrive */
    KVMIG_WORKLOAD_SUCCEEDED = 3, /**< has ended; also a domain that is shut off */
    KVMIG_WORKLOAD_FAILED = 4, /**< has ended */
};

/** One pod or domain. Strings may be NULL. Append-only. Since: 0.1.0 */
struct kvmig_workload {
    size_t size; /**< set by KVMIG_WORKLOAD_INIT */
    const char *pod_namespace; /**< its namespace; NULL for a domain */
    const char *name; /**< of the pod or domain; required but for a launcher */
    /** Launcher: label vmi.kubevirt.io/id, which is shortened and hashed for names over 63 characters. */
    const char *vmi_id;
    const char *domain; /**< launcher: annotation kubevirt.io/domain, the full name of the VMI */
    const char *display_name; /**< launcher: label vm.kubevirt.io/name; shown, and never taken for an identity */
    const char *node; /**< where it is, written as the classifier's node; NULL = not placed yet */
    int32_t kind; /**< an enum kvmig_workload_kind */
    int32_t phase; /**< an enum kvmig_workload_phase */
    int32_t terminating; /**< 1 if its end was asked for (deletionTimestamp); it counts until its phase says the end */
    uint32_t reserved; /**< must be 0 */
};

/** Begins a struct kvmig_workload: zero, but for its size. Since: 0.1.0 */
#define KVMIG_WORKLOAD_INIT KVMIG_OPTS_INIT(kvmig_workload)

/** As kvmig_interface_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_workload_init(struct kvmig_workload *workload, size_t size);

/* ---- reading ---- */

/** Interfaces as they were read once: opaque, immutable, counted. Since: 0.1.0 */
struct kvmig_interfaces;

/** Options of kvmig_interfaces_read(); zero is the default of every member. Append-only. Since: 0.1.0 */
struct kvmig_interfaces_opts {
    size_t size; /**< set by KVMIG_INTERFACES_OPTS_INIT */
    const char *remotes; /**< of the node's Open vSwitch database, as in kvmig_port_ovn_opts.nb; required */
    const char *ca_file; /**< for ssl: remotes: PEM file of the authority that signed the server's certificate */
    const char *cert_file; /**< PEM file of the own certificate, which OVSDB servers demand */
    const char *key_file; /**< PEM file of its private key */
    uint64_t timeout_ms; /**< longest wait for the rows; 0 = 10 s */
};

/** Begins a struct kvmig_interfaces_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_INTERFACES_OPTS_INIT KVMIG_OPTS_INIT(kvmig_interfaces_opts)

/** As kvmig_interface_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_interfaces_opts_init(struct kvmig_interfaces_opts *opts, size_t size);

/** Where the interfaces go. Since: 0.1.0 */
struct kvmig_interfaces_callback {
    /**
     * Gets the answer, in dispatch, once: the interfaces, or the error that prevented it; the other is NULL. Both are
     * borrowed; kvmig_interfaces_ref() keeps the list. Not called if the call that took the callback failed, or if the
     * context ends before the answer.
     */
    void (*fn)(const struct kvmig_interfaces *interfaces, const struct kvmig_error *error, void *user_data);
    void *user_data; /**< handed to fn and free; the library does not look at it */
    void (*free)(void *user_data); /**< runs exactly once, after fn or instead of it; may be NULL */
};

/**
 * Reads the interfaces that have an iface-id from a node's Open vSwitch. Returns at once. callback is taken, also on
 * failure. Later errors, in the callback: -ETIMEDOUT, -ENOTSUP (no database of Open vSwitch), or why it cannot be
 * reached. Threads: any. Errors: -EINVAL (names the option), -E2BIG. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_interfaces_read(struct kvmig_context *context, const struct kvmig_interfaces_opts *opts,
                                        struct kvmig_interfaces_callback callback);

/** Keeps a list beyond its callback. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_interfaces *kvmig_interfaces_ref(const struct kvmig_interfaces *interfaces);
/** Gives it back; NULL is ignored. Threads: any. Since: 0.1.0 */
KVMIG_API void kvmig_interfaces_unref(struct kvmig_interfaces *interfaces);
/** How many; 0 for NULL. Threads: any. Since: 0.1.0 */
KVMIG_API size_t kvmig_interfaces_count(const struct kvmig_interfaces *interfaces);
/** The one at an index; NULL past the end. Borrowed from the list. Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_interface *kvmig_interfaces_get(const struct kvmig_interfaces *interfaces, size_t index);

/* ---- classifying ---- */

/** Options of kvmig_interface_classifier_new(); zero is the default of every member. Append-only. Since: 0.1.0 */
struct kvmig_interface_classifier_opts {
    size_t size; /**< set by KVMIG_INTERFACE_CLASSIFIER_OPTS_INIT */
    const char *node; /**< whose interfaces are judged; required */
    uint64_t grace_ms; /**< an interface that is younger is no orphan; 0 = 60 s, at most a day */
    uint64_t settle_ms; /**< ovn-installed counts once it stood unchanged for so long; 0 = 5 s, at most a day */
    uint32_t passes; /**< passes in a row after which an orphan may be removed; 0 = 2, which is the least */
    uint32_t reserved; /**< must be 0 */
};

/** Begins a struct kvmig_interface_classifier_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_INTERFACE_CLASSIFIER_OPTS_INIT KVMIG_OPTS_INIT(kvmig_interface_classifier_opts)

/** As kvmig_interface_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_interface_classifier_opts_init(struct kvmig_interface_classifier_opts *opts, size_t size);

/** What is remembered of one node's interfaces from pass to pass: an opaque handle with one owner. Since: 0.1.0 */
struct kvmig_interface_classifier;

/**
 * Makes a classifier that has seen nothing yet. *out_classifier is owned: kvmig_interface_classifier_free().
 * Threads: any. Errors: -EINVAL (names the option), -E2BIG. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_interface_classifier_new(const struct kvmig_interface_classifier_opts *opts,
                                                 struct kvmig_interface_classifier **out_classifier);
/** Forgets everything; NULL is ignored. Reports stay valid. Threads: any, when no other call uses it. Since: 0.1.0 */
KVMIG_API void kvmig_interface_classifier_free(struct kvmig_interface_classifier *classifier);

/**
 * One look at the node: all its interfaces, and then (in this order) everything that may use them. Zero is the default
 * of every member; without workloads every interface is unknown. Everything is copied. Append-only. Since: 0.1.0
 */
struct kvmig_interface_pass {
    size_t size; /**< set by KVMIG_INTERFACE_PASS_INIT */
    const struct kvmig_interfaces *list; /**< the interfaces as they were read; NULL = those in interfaces */
    const struct kvmig_interface *const *interfaces; /**< the interfaces, if list is NULL */
    size_t n_interfaces; /**< entries in interfaces */
    /**
     * All pods or domains of the node: launchers, and the other pods too, because their interfaces look the same. Those
     * of other nodes may be there. NULL = they were not read; a list that is empty but complete is not NULL, and has
     * n_workloads 0.
     */
    const struct kvmig_workload *const *workloads;
    size_t n_workloads; /**< entries in workloads */
    const char *inventory_error; /**< why workloads is not complete; NULL = it is */
    /** Iface-ids whose port is being prepared, verified, converged or rolled back on this node. */
    const char *const *operations;
    size_t n_operations; /**< entries in operations */
    int64_t now_ms; /**< the caller's clock, which never goes back; 0 = CLOCK_MONOTONIC */
    int64_t wall_ms; /**< milliseconds since 1970, to compare ovn_installed_ts_ms with; 0 = CLOCK_REALTIME */
};

/** Begins a struct kvmig_interface_pass: zero, but for its size. Since: 0.1.0 */
#define KVMIG_INTERFACE_PASS_INIT KVMIG_OPTS_INIT(kvmig_interface_pass)

/** As kvmig_interface_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_interface_pass_init(struct kvmig_interface_pass *pass, size_t size);

/** What one interface was judged to be. Append-only; read no further than size says. Since: 0.1.0 */
struct kvmig_interface_verdict {
    size_t size; /**< the bytes of this struct that the library filled */
    const char *uuid; /**< of the row; never NULL */
    const char *name; /**< of the interface; "" if not known */
    const char *iface_id; /**< NULL if it has none */
    const char *message; /**< the reason as one sentence for people; never NULL */
    const char *evidence; /**< what the judgement rests on, as JSON text; never NULL */
    int32_t interface_class; /**< an enum kvmig_interface_class */
    int32_t reason; /**< an enum kvmig_interface_reason */
    uint32_t passes; /**< passes in a row, this one included, in which it was an orphan */
    /**
     * 1 if it was an orphan in enough passes in a row. What was read may be old by then: remove the row of this uuid
     * only if its name and iface_id are still the same, in one transaction.
     */
    int32_t may_remove;
};

/** The judgement of all interfaces of one pass: opaque, immutable, with one owner. Since: 0.1.0 */
struct kvmig_interface_report;

/**
 * Judges every interface of a pass. Interfaces that the pass does not have are forgotten. A row counts as another one,
 * with its passes begun anew, when its uuid, iface-id or VM is another. *out_report is owned:
 * kvmig_interface_report_free(). Threads: any. Errors: -EINVAL (names the member; nothing is remembered of the pass),
 * -E2BIG. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_interface_classify(struct kvmig_interface_classifier *classifier,
                                           const struct kvmig_interface_pass *pass,
                                           struct kvmig_interface_report **out_report);

/** How many interfaces; 0 for NULL. Threads: any. Since: 0.1.0 */
KVMIG_API size_t kvmig_interface_report_count(const struct kvmig_interface_report *report);
/** The one at an index, in the order of the pass; NULL past the end. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_interface_verdict *kvmig_interface_report_get(const struct kvmig_interface_report *report,
                                                                           size_t index);
/** ORPHAN_INTERFACE and DUPLICATE_IFACE_ID, one per interface concerned. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_findings *kvmig_interface_report_findings(const struct kvmig_interface_report *report);
/**
 * As JSON; *out_json is owned by the caller, who frees it with free(). Returns 0. Threads: any.
 * Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_interface_report_to_json(const struct kvmig_interface_report *report, char **out_json);
/** Ends a report with all that is borrowed from it; NULL is ignored. Threads: any. Since: 0.1.0 */
KVMIG_API void kvmig_interface_report_free(struct kvmig_interface_report *report);

/** "live", "initialising", "orphan", "unknown"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_interface_class_name(int32_t interface_class);
/** "RUNNING", "NO_WORKLOAD", ...; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_interface_reason_name(int32_t reason);
/** "launcher", "pod", "domain"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_workload_kind_name(int32_t kind);
/** "unknown", "pending", "running", "succeeded", "failed"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_workload_phase_name(int32_t phase);

#ifdef __cplusplus
}
#endif
#endif
