/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What people have at hand, read from files: objects of Kubernetes, libvirt's XML, rows of OVSDB, observations. A text is recognised
 * by what is in it; names say nothing. What is nothing else is a log or a message; what is one of them and cannot be
 * read is a problem that names its file, and the rest is read. Blocks on the file system; no lock; any thread.
 */
#ifndef KVMIG_SRC_FILES_H
#define KVMIG_SRC_FILES_H

#include "base/finding_internal.h"
#include "cluster/facts.h"
#include "cluster/kube.h"
#include "cluster/model.h"

/* What to read. Zero = nothing. */
struct kvmig__files_ask {
    struct kvmig__strlist paths; /* files and folders */
    struct kvmig__strlist hosts; /* "HOST=FILE": that file tells of this host; "HOST": there is such a host */
    char *source; /* whose domains are those that no other host is said to have; NULL = "source" */
};
void kvmig__files_ask_clear(struct kvmig__files_ask *ask);

/* What was read. */
struct kvmig__files {
    struct kvmig__kube kube;
    struct kvmig__facts *facts; /* never NULL once loaded */
    struct {
        struct kvmig__host **v;
        size_t n;
    } hosts; /* of libvirt; those that hosts and source name, and only if a domain of libvirt was read and no VM of KubeVirt */
    struct kvmig_findings problems;
};
/* Fills the zeroed *out. */
void kvmig__files_load(struct kvmig__files *out, const struct kvmig__files_ask *ask);
/* The same of one text, which is called name. */
void kvmig__files_read(struct kvmig__files *out, const struct kvmig__files_ask *ask, const char *text, size_t length,
                       const char *name);
void kvmig__files_clear(struct kvmig__files *files);

#endif
