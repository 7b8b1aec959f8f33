/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What candidates are compared by, most important first. The order is that of the members, so that why one comes before
 * another is the first member in which they differ. Pure, plain numbers.
 */
#ifndef KVMIG_SRC_RANK_H
#define KVMIG_SRC_RANK_H

#include "base/base.h"

struct kvmig__candidates;
struct kvmig__domain;
struct kvmig__host;
struct kvmig__candidate;
struct kvmig_findings;

enum kvmig__reason {
    KVMIG__REASON_STATE, /* can start now, may, waits, cannot */
    KVMIG__REASON_BLOCKERS,
    KVMIG__REASON_RISKS,
    KVMIG__REASON_SPREAD,
    KVMIG__REASON_LOCALITY,
    KVMIG__REASON_LINK,
    KVMIG__REASON_HEADROOM,
    KVMIG__REASON_COPY,
    KVMIG__REASON_FEATURES,
    KVMIG__REASON_NAME, /* nothing tells them apart but their names */
    KVMIG__N_REASONS,
};

/* KVMIG__UNKNOWN: not known, which is never better than what is known. */
struct kvmig__rank {
    uint64_t blockers, risks; /* findings of that severity; less is better */
    uint64_t peers; /* pods of the VM's spread in the same topology domain, without the VM itself; less is better */
    uint64_t away; /* 0 in the zone of the source, 1 in another; less is better */
    uint64_t link; /* bytes/s, told by the caller, or learned from earlier migrations; more is better */
    uint64_t link_or_usual; /* the same, and the usual link for a host that nobody told of; 0 = nothing was told */
    uint64_t headroom; /* bytes of memory left after the move; more is better */
    uint64_t copy; /* bytes of disks to be copied; less is better */
    uint64_t features; /* in which its CPU differs from the source's; less is better */
};

const char *kvmig__reason_name(enum kvmig__reason reason); /* "headroom" */
/* < 0: a comes first. *out_reason (may be NULL): the first in which they differ; all but STATE and NAME. */
uint64_t kvmig__roughly(uint64_t value); /* amounts that are about equal give the same number */
int kvmig__rank_compare(const struct kvmig__rank *a, const struct kvmig__rank *b, enum kvmig__reason *out_reason);
/* What a rank says, KVMIG__UNKNOWN if nothing. */
uint64_t kvmig__rank_value(const struct kvmig__rank *rank, enum kvmig__reason reason);
char *kvmig__rank_text(uint64_t value, enum kvmig__reason reason); /* "12.3 GiB", for people; owned */
uint64_t kvmig__count_severity(const struct kvmig_findings *findings, int32_t severity);
/* The link of hosts of which nothing is known: the mean of the others, 0 if there is none. */
struct kvmig__request;
uint64_t kvmig__usual_link(const struct kvmig__request *request, const char *source);
/* Calls fn for each host to which migrations from source have taught the link, unless the caller tells it. */
void kvmig__learned_links(const struct kvmig__request *request, const char *source,
                          void (*fn)(void *data, const char *target, uint64_t bytes_per_s), void *data);
/* Puts candidates in order, and notes for each why it comes before the next. */
void kvmig__candidates_sort(struct kvmig__candidates *candidates);
/* A libvirt host's rank, once its findings and disks are there. */
void kvmig__candidate_rank(struct kvmig__candidate *candidate, const struct kvmig__request *request,
                           const struct kvmig__domain *domain, const struct kvmig__host *source,
                           const struct kvmig__host *target);

#endif
