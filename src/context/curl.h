/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libcurl inside the context: one multi handle per context, whose sockets are watches and whose time-out is a timer. The
 * multi interface never waits (names are looked up by libcurl's own threads), so it is driven with the context lock held, by
 * whichever thread dispatches. curl_global_init() runs once per process, and nothing global is ever cleaned up.
 *
 * Easy handles are made and set up by their users, used with the lock held only, and removed before they are cleaned up. All
 * functions need the lock. done() runs in dispatch, never inside add.
 */
#ifndef KVMIG_SRC_CURL_H
#define KVMIG_SRC_CURL_H

#include "context/context_internal.h"
#include <curl/curl.h>

struct kvmig__transfer; /* one easy handle in the multi handle */

/* A fresh easy handle with the library's manners: no signals, no proxy from the environment, no redirects, quiet. NULL if
 * libcurl cannot be set up. */
CURL *kvmig__curl_easy(void);
/* Begins the transfer. done() gets its result once; the easy handle stays in the multi handle after that (a connection made
 * with CURLOPT_CONNECT_ONLY lives no longer than that), until kvmig__curl_remove(). NULL: libcurl refused (memory). */
struct kvmig__transfer *kvmig__curl_add(struct kvmig_context *context, CURL *easy,
                                        void (*done)(void *data, CURLcode result), void *data);
/* Takes it out of the multi handle; done() is not called any more. Allowed inside done(). The easy handle is still the
 * caller's to clean up. NULL is ignored. */
void kvmig__curl_remove(struct kvmig__transfer *transfer);

#endif
