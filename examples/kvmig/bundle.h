/* SPDX-License-Identifier: MIT-0 */
/* Between the files of kvmig report: what is written where. */
#ifndef KVMIG_TOOL_BUNDLE_H
#define KVMIG_TOOL_BUNDLE_H

#include "tool.h"

#define BUNDLE_REQUEST "request.json" /* of a bundle of libvirt hosts: what it is about, and whose file is whose */

/* Writes a text to DIR/NAME; says what went wrong. name: what kvmig diagnose calls it is of no matter. */
bool bundle_write(const char *dir, const char *name, const char *text);
bool bundle_write_json(const char *dir, const char *name, struct json_object *json); /* json is put */

/* ---- bundle_hosts.c ----
 * Asks each libvirt host in a process of its own, because a host that hangs would keep the tool; of one that does not answer in time the
 * bundle says just that. Returns how many answered. Before any thread starts. */
size_t bundle_hosts(const struct settings *settings, const char *dir);

/* ---- bundle_port.c ---- rows of OVN's and Open vSwitch's databases, from what kvmig_port_to_json() says */
bool bundle_port(struct json_object *port, const char *dir);

#endif
