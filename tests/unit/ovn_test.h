/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small OVN in memory for tests of the port: NB, SB and the local databases of two chassis, with the logical port "vm" on hv1
 * (node1). What northd and the ovn-controllers would do is done after each commit, unless the test switches it off.
 */
#ifndef KVMIG_TESTS_OVN_TEST_H
#define KVMIG_TESTS_OVN_TEST_H

#include "fake_ovsdb.h"

#define OVN_LSP "aaaaaaaa-0000-4000-8000-000000000001"
#define OVN_LSP2 "aaaaaaaa-0000-4000-8000-000000000002"
#define OVN_GLOBAL "aaaaaaaa-0000-4000-8000-000000000009"
#define OVN_BINDING "bbbbbbbb-0000-4000-8000-000000000001"
#define OVN_HV1 "cccccccc-0000-4000-8000-000000000001"
#define OVN_HV2 "cccccccc-0000-4000-8000-000000000002"
#define OVN_HV3 "cccccccc-0000-4000-8000-000000000003"
#define OVN_IFACE "dddddddd-0000-4000-8000-000000000001"
#define OVN_BRIDGE "dddddddd-0000-4000-8000-000000000002"
#define OVN_OPEN "dddddddd-0000-4000-8000-000000000003"

struct ovn_world {
    struct kvmig_context *context;
    struct kvmig__ovsdb *nb, *sb, *hv[2];
    bool no_northd; /* NB's wishes do not reach SB */
    bool dead[2]; /* ovn-controller of hv1, hv2: claims nothing and answers no barrier */
    int64_t installs; /* so far; the next ovn-installed-ts */
};

/* Needs no lock; takes it. */
void ovn_world_open(struct ovn_world *world, struct kvmig_context *context);
void ovn_world_close(struct ovn_world *world);
/* Plugs the interface of "vm" on that chassis (0, 1), or pulls it. Needs the lock. */
void ovn_plug(struct ovn_world *world, int chassis, bool plugged);
/* The guest on hv2 announces itself. Needs the lock. */
void ovn_announce(struct ovn_world *world);
/* northd and the controllers look again, now. Needs the lock. */
void ovn_turn(struct ovn_world *world);
/* Of the LSP "vm"; "-" if the key is not there. */
const char *ovn_option(struct ovn_world *world, const char *key);
const char *ovn_id(struct ovn_world *world, const char *key);

#endif
