/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the two halves of the test's cluster share: kube_driver_test.c (the library's side) and kube_driver_world.c
 * (the server's). */
#ifndef KVMIG_TEST_KUBE_DRIVER_WORLD_H
#define KVMIG_TEST_KUBE_DRIVER_WORLD_H

#include "kube_driver_test.h"

struct reply {
    int32_t status, code; /* code: of the error, as the client would give it */
    char *body; /* owned */
    const char *message; /* of the error */
};
struct reply serve(const char *method, const char *path, const char *body, const char *content_type);
void make_world(void);
void tell_changed(void);
void tell_gone(int32_t kind, const char *ns, const char *name); /* and it is not in the store any more */

#endif
