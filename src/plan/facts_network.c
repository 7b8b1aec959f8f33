/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the network can and cannot do for a migration: two chassis for one port, room for the tunnel that localnet traffic takes
 * meanwhile, a binding of the port on the target. Also the one place from which the planners have facts about the network checked.
 * Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

/* ---- OVN's version ---- */

#define UNKNOWN_VERSION UINT32_MAX

/* "22.03.1" is 2203. */
static uint32_t release_of(const char *version)
{
    char *end, *last;
    unsigned long major, minor;

    if (!version || *version < '0' || *version > '9')
        return UNKNOWN_VERSION;
    major = strtoul(version, &end, 10);
    if (*end != '.' || end[1] < '0' || end[1] > '9')
        return UNKNOWN_VERSION;
    minor = strtoul(end + 1, &last, 10);
    return major > 99 || minor > 99 ? UNKNOWN_VERSION : (uint32_t)(major * 100 + minor);
}

/* A port of OVN follows the VM; of another CNI nothing of this is true. */
static bool uses_ovn(const struct kvmig__wires *wires)
{
    const char *cni = wires->facts->cni;

    if (cni && !kvmig__str_eq(cni, "kube-ovn") && !kvmig__str_eq(cni, "ovn-kubernetes") &&
        !kvmig__str_eq(cni, "neutron"))
        return false;
    return wires->ports.n || (wires->plugged && !wires->facts->lsps_known);
}

/* Where every launcher gets a port of its own, none ever has two chassis. */
static bool has_port_per_pod(const struct kvmig__wires *wires)
{
    return wires->facts->keep_vm_ip == 0 || kvmig__str_eq(wires->facts->cni, "ovn-kubernetes");
}

static void check_version(const struct kvmig__wires *wires, struct kvmig_findings *out)
{
    uint32_t release = release_of(wires->facts->ovn_version);
    struct kvmig__detail d = { 0 };

    if (release == UNKNOWN_VERSION || release >= 2206 || !uses_ovn(wires))
        return;
    kvmig__detail_str(&d, "ovn", wires->facts->ovn_version);
    kvmig__detail_str(&d, "needed", "22.06");
    kvmig__wires_note(
        out, NULL, "NO_MULTICHASSIS_SUPPORT", KVMIG_SEVERITY_WARN, kvmig__strdup("network"), &d,
        "Upgrade OVN to 22.06 or later (22.09 for the activation by RARP).",
        "OVN %s knows no port on two chassis: the target can claim the port only when the source has released "
        "it, and traffic is lost in between.",
        wires->facts->ovn_version);
}

/* ---- the tunnel ---- */

/* Outer headers, tunnel header with OVN's option, inner Ethernet header. */
static uint64_t overhead_of(const struct kvmig__fact_mtu *mtu)
{
    uint64_t ip = mtu->underlay_ip == 6 ? 40 : 20;

    if (mtu->encap && strcasecmp(mtu->encap, "vxlan") == 0)
        return ip + 8 + 8 + 14;
    if (mtu->encap && strcasecmp(mtu->encap, "stt") == 0)
        return ip + 20 + 18 + 14;
    return ip + 8 + 8 + 8 + 14; /* Geneve, OVN's default */
}

static void check_mtu(const struct kvmig__wires *wires, struct kvmig_findings *out)
{
    const struct kvmig__fact_mtu *mtu = &wires->facts->mtu;
    uint64_t need;
    struct kvmig__detail d = { 0 };

    if (!mtu->known || mtu->localnet != 1 || mtu->vif == KVMIG__UNKNOWN || mtu->underlay == KVMIG__UNKNOWN ||
        mtu->vif > UINT32_MAX || !uses_ovn(wires) || has_port_per_pod(wires) ||
        release_of(wires->facts->ovn_version) < 2206)
        return;
    need = mtu->vif + overhead_of(mtu);
    if (need <= mtu->underlay)
        return;
    kvmig__detail_uint(&d, "need", need);
    kvmig__detail_uint(&d, "have", mtu->underlay);
    kvmig__detail_uint(&d, "vif_mtu", mtu->vif);
    kvmig__detail_str(&d, "encap", mtu->encap ? mtu->encap : "geneve");
    kvmig__wires_note(out, NULL, "MTU_TOO_SMALL", KVMIG_SEVERITY_WARN, kvmig__strdup("network"), &d,
                      "Raise the MTU of the underlay, or lower that of the VM's interfaces; expect large packets to be "
                      "dropped or cut while the VM moves.",
                      "While the port has two chassis its localnet traffic is tunnelled: packets of %" PRIu64
                      " bytes become %" PRIu64 ", but the underlay takes %" PRIu64 ".",
                      mtu->vif, need, mtu->underlay);
}

/* ---- the CNI ---- */

static void check_cni(const struct kvmig__wires *wires, struct kvmig_findings *out)
{
    struct kvmig__detail d = { 0 };

    if (wires->facts->keep_vm_ip != 0 || !wires->ns || !wires->plugged)
        return;
    if (wires->facts->cni)
        kvmig__detail_str(&d, "cni", wires->facts->cni);
    kvmig__wires_note(
        out, NULL, "PORT_PER_LAUNCHER", KVMIG_SEVERITY_INFO, kvmig__strdup("network"), &d,
        "Switch on keep-vm-ip to have one port follow the VM.",
        "The CNI does not keep the VM's address: source and target launcher have a port each, and traffic is "
        "interrupted when the guest moves.");
}

/* ---- Neutron ---- */

static void check_port_host(const struct kvmig__wires *wires, const char *target, struct kvmig_findings *out)
{
    for (size_t i = 0; i < wires->facts->port_hosts.n; i++) {
        const struct kvmig__fact_port_host *binding = &wires->facts->port_hosts.v[i];
        struct kvmig__detail d = { 0 };

        if (!kvmig__host_names_match(binding->host, target) || !binding->vif_type ||
            strcasecmp(binding->vif_type, "binding_failed") != 0)
            continue;
        kvmig__detail_str(&d, "host", binding->host);
        kvmig__detail_str(&d, "vif_type", binding->vif_type);
        kvmig__detail_str(&d, "status", binding->status);
        kvmig__wires_note(out, target, "TARGET_PORT_BINDING_FAILED", KVMIG_SEVERITY_BLOCKER,
                          kvmig__asprintf("node/%s", target), &d,
                          "Look at Neutron's agent or OVN's controller on that host: it is down, or does not serve the "
                          "port's network.",
                          "Neutron cannot bind the VM's port on %s.", target);
        return;
    }
}

/* ---- all of it ---- */

void kvmig__check_facts(const struct kvmig__wires *wires, struct kvmig_findings *out)
{
    if (!wires->facts)
        return;
    kvmig__check_ports(wires, out);
    check_version(wires, out);
    check_mtu(wires, out);
    check_cni(wires, out);
}

bool kvmig__has_facts_of_targets(const struct kvmig__wires *wires)
{
    return wires && wires->facts && (wires->facts->port_hosts.n || (wires->facts->chassis_known && wires->ports.n));
}

void kvmig__check_facts_target(const struct kvmig__wires *wires, const char *target, struct kvmig_findings *out)
{
    if (!wires->facts || !target)
        return;
    check_port_host(wires, target, out);
    kvmig__check_chassis(wires, target, out);
}
