/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The status of an HTTP/1 answer, taken from its bytes as they come. Pure: no clock, no descriptor, no memory of its own.
 */
#ifndef KVMIG_SRC_PROBE_HTTP_STATUS_H
#define KVMIG_SRC_PROBE_HTTP_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KVMIG__HTTP_LONGEST_LINE 256 /* of a status line; more is no answer */
#define KVMIG__HTTP_LONGEST_HEAD 8192 /* with the interim answers before it */

/* Begins zeroed; more than one answer cannot be read with it. */
struct kvmig__http_head {
    size_t n_total;
    size_t n_line; /* of the line that is coming; fields: without carriage returns */
    int32_t status; /* as far as it has come */
    bool in_fields; /* of an interim answer, which an empty line ends */
};

/* 0: more is to come; else the status (200 and above) when its line is complete, or -EPROTO. */
int32_t kvmig__http_take(struct kvmig__http_head *head, const char *data, size_t len);

#endif
