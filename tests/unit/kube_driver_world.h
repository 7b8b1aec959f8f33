/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the test's cluster share: kube_driver_test.c and kube_driver_session.c (the library's side),
 * kube_driver_world.c and kube_driver_patch.c (the server's). */
#ifndef KVMIG_TEST_KUBE_DRIVER_WORLD_H
#define KVMIG_TEST_KUBE_DRIVER_WORLD_H

#include "kube_driver_test.h"

struct reply {
    int32_t status; /* 0 = the connection was lost */
    char *body; /* owned */
};
/* Owned; NULL: one of the patch's tests does not hold. */
struct json_object *apply_patch(struct json_object *to, const char *text);
struct reply serve(const char *method, const char *path, const char *body, const char *content_type);
void make_world(void);
void tell_changed(void);
void tell_gone(int32_t kind, const char *ns, const char *name); /* and it is not in the store any more */

#endif
