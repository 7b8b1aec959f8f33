/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known of one migration in KubeVirt (one VMIM, or the next one of a volume migration): its stage, the two sides, and how
 * it ended and why. Pure: reads the store (cluster/kube.h) again and again and remembers what may vanish, because a VMIM, its
 * pods and its events are removed soon after it ended. Level-triggered: the same store gives the same answer, and it does not
 * matter in which order objects of different kinds arrived.
 *
 * Rules (KubeVirt's migration controller and both virt-handlers; kubevirt.io/v1):
 * - Nothing in a migrationState is believed unless its migrationUid is this VMIM's uid.
 * - The source is VMI.status.nodeName as it was before the move; the target is spec.nodeName of the launcher pod that carries this
 *   VMIM's uid (label kubevirt.io/migrationJobUID and kubevirt.io=virt-launcher), or migrationState.targetNode once handed off.
 * - The guest has moved once VMI.status.nodeName is the target: only that (or a report of the domain itself) counts, no phase does.
 * - A verdict may become more exact after the end (an event that arrives late names the cause); the end itself does not change, but
 *   for a guest that is seen on the target after all.
 */
#ifndef KVMIG_SRC_FOLLOW_H
#define KVMIG_SRC_FOLLOW_H

#include "cluster/kube.h"
#include <kvmig/event.h>

enum kvmig__stage { /* of the VMIM; in order */
                    KVMIG__STAGE_NONE, /* not there yet, or not seen by the controller (phase "") */
                    KVMIG__STAGE_WAITING_FOR_SYNC,
                    KVMIG__STAGE_SYNCHRONIZING,
                    KVMIG__STAGE_PENDING,
                    KVMIG__STAGE_SCHEDULING,
                    KVMIG__STAGE_SCHEDULED,
                    KVMIG__STAGE_PREPARING_TARGET,
                    KVMIG__STAGE_TARGET_READY,
                    KVMIG__STAGE_RUNNING,
                    KVMIG__STAGE_SUCCEEDED,
                    KVMIG__STAGE_FAILED,
};
enum kvmig__follow_end {
    KVMIG__END_OPEN, /* still going on, or not proven to have ended */
    KVMIG__END_MOVED, /* the guest runs on the target */
    KVMIG__END_STAYED, /* the guest runs on the source; this migration is over */
    KVMIG__END_LOST, /* the guest runs nowhere: the VMI is gone, Failed or Succeeded */
};

struct kvmig__follow {
    /* identity */
    char *ns, *vmi, *vmi_uid;
    char *vmim, *vmim_uid; /* NULL until known */
    /* progress */
    int32_t stage; /* enum kvmig__stage; never goes back */
    int64_t stage_since_ms; /* when the API says that it was entered; 0 = not known */
    int32_t mode; /* enum kvmig_mode */
    bool
        seen; /* the VMIM was in the store once (whoever resumes sets it, because it existed): its absence means something */
    bool gone; /* ... and is not any more */
    bool deleting; /* it has a deletionTimestamp */
    bool handed_off; /* VMI.migrationState is about it */
    bool postcopy_seen;
    bool abort_requested;
    char *abort_status; /* "Aborting", "Succeeded", "Failed" */
    int64_t start_ms, end_ms, domain_ready_ms; /* of the migrationState */
    bool domain_detected;
    struct kvmig__kube_config config; /* as resolved for it; absent before hand-off */
    /* the two sides */
    char *source_node, *source_pod, *source_ip;
    bool source_fixed; /* set by whoever knows the source: it is not the node that the VMI is on now */
    /* Set, with source_node and target_node, by whoever takes it up again: once the VMIM has ended, a guest on that target was brought
     * there, although a later migration has overwritten the state that would prove it. */
    bool resumed;
    char *target_node, *target_pod, *target_pod_uid, *target_ip, *attachment_pod;
    char *target_address; /* of the migration network */
    bool target_pod_gone;
    bool node_flipped; /* VMI.status.nodeName became the target */
    int64_t node_flipped_seen_ms; /* by our clock (wall), when it was seen first; 0 = not */
    int64_t
        endpoints_moved_ms; /* likewise: the target pod is a ready endpoint and the source's is not; 0 = not, or no service */
    char *service; /* of that EndpointSlice */
    /* why it is as it is: the newest trouble of each kind that was seen; kept after the object has vanished */
    char *unschedulable; /* message of the scheduler */
    char *image_pull; /* "container NAME: REASON: MESSAGE" */
    char *pod_failure; /* why the target launcher or attachment pod ended */
    char *quota; /* message of migrationRejectedByResourceQuota */
    char *event_failure; /* message of the VMIM's FailedMigration event */
    char *failure_reason; /* migrationState.failureReason */
    bool
        timer_deleted; /* a SuccessfulDelete event tells that the controller removed the target pod ("unschedulable pod", "pending pod") */
    uint32_t target_pods; /* how many launchers this VMIM has had: more than one means that it goes round in circles */
    /* the end */
    int32_t end; /* enum kvmig__follow_end */
    const char *verdict; /* code of the finding catalogue: outcome or cause; static; NULL while open */
    char *evidence; /* what proves the verdict */
    bool controller_owned; /* evacuation or workload update: would be created again */
    char *evacuation_node; /* VMI.status.evacuationNodeName */
    /* what the judgement rests on beyond that */
    int64_t
        created_after_ms; /* set by whoever waits for a VMIM that others create: while none is bound, the update binds the VMI's
                                 first one that was created since then and is not final; 0 = kvmig__follow_bind() will be called */
    int64_t created_ms, failed_ms; /* of the VMIM: its creation; when it entered Failed */
    int32_t reached; /* the highest stage before the final one */
    bool cancel_seen; /* the controller took notice, before the end, that the VMIM was deleted */
    bool completed, failed; /* of the migrationState */
    bool sends_away; /* decentralised source: the guest goes on in another VMI */
    bool vmi_deleting; /* the VMI had a deletionTimestamp */
    bool target_pod_ended; /* its phase is Failed or Succeeded */
    int64_t target_started_ms; /* when its compute container started */
    struct kvmig__strlist target_pod_names; /* every launcher of this VMIM that was ever heard of */
    char *timer_event; /* message of the event that timer_deleted is about */
    const char *pod_trouble_code; /* static: what the newest warning about its pods is about; NULL = none */
    char *pod_trouble; /* its text: volumes, network */
    int64_t pod_trouble_ms; /* when it was said last */
    int64_t lost_word_ms; /* when something was said last of a launcher that is gone */
};

void kvmig__follow_init(
    struct kvmig__follow *follow, const struct kvmig__kube_vmi *vmi,
    const struct kvmig__kube_vmim *vmim /* may be NULL: it is not known yet; see bind() and created_after_ms */);
void kvmig__follow_clear(struct kvmig__follow *follow);
/* Gives it the VMIM that it is about, once that is known. */
void kvmig__follow_bind(struct kvmig__follow *follow, const char *vmim, const char *vmim_uid);
/* Looks at the store. now_ms: wall clock. Returns true if anything above changed. */
bool kvmig__follow_update(struct kvmig__follow *follow, const struct kvmig__kube *kube, int64_t now_ms);
/* A VMIM, pod or event of its was deleted; last is its last state. Objects of others are ignored. */
void kvmig__follow_gone(struct kvmig__follow *follow, const struct kvmig__kube_meta *last);
int32_t
kvmig__stage_of(const char *phase); /* enum kvmig__stage of a VMIM's phase; NONE for NULL, "" and what is unknown */
int32_t
kvmig__stage_phase(int32_t stage); /* enum kvmig_phase: the public phase of a stage (Succeeded and Failed as such) */
const char *kvmig__stage_name(int32_t stage); /* "Pending", ...; NULL if unknown */
/* Both sides as the resolver reads them, from the VMI and the pods. A VMI that is not in the store although VMIs are known is gone;
 * one that cannot be read makes both sides unreachable. */
void kvmig__follow_sides(const struct kvmig__follow *follow, const struct kvmig__kube *kube, struct kvmig__side *source,
                         struct kvmig__side *target);
/* How long KubeVirt lets the copy run, from start_ms on; 0 = no limit. */
uint64_t kvmig__follow_limit_ms(const struct kvmig__follow *follow, const struct kvmig__kube *kube,
                                const struct kvmig__kube_vmi *vmi);
/* What deleting the VMIM now would do (kubevirt.md 2.8): an enum kvmig_cancel_result; why (static text) explains it. */
int32_t kvmig__follow_cancel_effect(const struct kvmig__follow *follow, const char **out_why);

/* Whether somebody else asks for such a migration as long as its cause stands. */
bool kvmig__follow_will_return(const struct kvmig__follow *follow);

#endif
