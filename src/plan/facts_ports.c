/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The logical ports of a VM in OVN_Northbound: which they are, and whether another port claims their addresses. Kube-OVN names a
 * port after the VM ("vm.ns", "vm.ns.provider") or, if it does not keep addresses, after the launcher; OVN-Kubernetes after the
 * launcher ("ns_pod"); with libvirt the port's name is the iface-id of the domain's interface. Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- which ports ---- */

/* What text goes on with after the pieces; NULL if it does not begin with them. */
static const char *after(const char *text, const char *a, const char *b, const char *c)
{
    const char *pieces[] = { a, b, c };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(pieces); i++) {
        size_t n = strlen(pieces[i]);

        if (strncmp(text, pieces[i], n) != 0)
            return NULL;
        text += n;
    }
    return text;
}

/* "" or ".PROVIDER" */
static bool is_provider(const char *rest)
{
    return !*rest || (*rest == '.' && rest[1]);
}

/* "virt-launcher-VM-x2c4v": the end is made up by the API server and has no dash. */
static bool is_launcher(const struct kvmig__wires *wires, const char *pod, size_t n)
{
    const char *rest = after(pod, "virt-launcher-", wires->name, "-");
    size_t left = rest && rest <= pod + n ? (size_t)(pod + n - rest) : 0;

    for (size_t i = 0; i < wires->pods.n; i++) {
        if (strlen(wires->pods.v[i]) == n && strncmp(wires->pods.v[i], pod, n) == 0)
            return true;
    }
    if (wires->pods_known || !left)
        return false;
    for (size_t i = 0; i < left; i++) {
        if (!isalnum((unsigned char)rest[i]))
            return false;
    }
    return true;
}

/* "POD.NS[.PROVIDER]" of Kube-OVN, "[NETWORK_]NS_POD" of OVN-Kubernetes */
static bool is_named_after_launcher(const struct kvmig__wires *wires, const char *name)
{
    const char *dot = strchr(name, '.'), *score = strrchr(name, '_'),
               *rest = dot ? after(dot, ".", wires->ns, "") : NULL;
    size_t n = strlen(wires->ns);

    if (rest && is_provider(rest) && is_launcher(wires, name, (size_t)(dot - name)))
        return true;
    if (!score || (size_t)(score - name) < n || strncmp(score - n, wires->ns, n) != 0)
        return false;
    return (score - n == name || score[-(ptrdiff_t)n - 1] == '_') && is_launcher(wires, score + 1, strlen(score + 1));
}

/* Kube-OVN notes whose port it is: 1, 0, or -1 = it is not noted. */
static int32_t is_noted(const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp)
{
    const char *pod = kvmig__fact_get(&lsp->external_ids, "pod"), *rest;

    if (!pod || !strchr(pod, '/')) /* of OVN-Kubernetes: "true" */
        return -1;
    rest = after(pod, wires->ns, "/", "");
    if (!rest)
        return 0;
    return strcmp(rest, wires->name) == 0 || is_launcher(wires, rest, strlen(rest));
}

static bool is_port_of_vmi(const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp)
{
    int32_t noted = is_noted(wires, lsp);
    const char *rest = after(lsp->name, wires->name, ".", wires->ns);

    if (noted >= 0)
        return noted;
    return (rest && is_provider(rest)) || is_named_after_launcher(wires, lsp->name);
}

static bool shows_mac(const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp)
{
    for (size_t i = 0; i < lsp->addresses.n; i++) {
        const char *address = lsp->addresses.v[i];
        size_t n = strcspn(address, " ");

        for (size_t m = 0; m < wires->macs.n; m++) {
            if (strlen(wires->macs.v[m]) == n && strncasecmp(wires->macs.v[m], address, n) == 0)
                return true;
        }
    }
    return false;
}

/* Routers, localnets and the like are no port of a VM. */
static bool is_plain(const struct kvmig__fact_lsp *lsp)
{
    return lsp->name && *lsp->name && (!lsp->type || !*lsp->type);
}

static bool is_own(const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp)
{
    if (!is_plain(lsp))
        return false;
    if (wires->ns)
        return is_port_of_vmi(wires, lsp);
    return kvmig__strlist_has(&wires->ids, lsp->name) || (!wires->ids.n && shows_mac(wires, lsp));
}

static void add_tried(struct kvmig__wires *wires, char *name)
{
    kvmig__strlist_add_new(&wires->tried, name);
    free(name);
}

static void list_tried(struct kvmig__wires *wires)
{
    for (size_t i = 0; i < wires->ids.n; i++)
        kvmig__strlist_add_new(&wires->tried, wires->ids.v[i]);
    if (!wires->ns)
        return;
    add_tried(wires, kvmig__asprintf("%s.%s", wires->name, wires->ns));
    for (size_t i = 0; i < wires->providers.n; i++)
        add_tried(wires, kvmig__asprintf("%s.%s.%s", wires->name, wires->ns, wires->providers.v[i]));
    for (size_t i = 0; i < wires->pods.n; i++) {
        add_tried(wires, kvmig__asprintf("%s.%s", wires->pods.v[i], wires->ns));
        add_tried(wires, kvmig__asprintf("%s_%s", wires->ns, wires->pods.v[i]));
    }
    if (!wires->pods_known)
        add_tried(wires, kvmig__asprintf("virt-launcher-%s-*.%s", wires->name, wires->ns));
}

void kvmig__find_ports(struct kvmig__wires *wires)
{
    list_tried(wires);
    for (size_t i = 0; i < wires->facts->lsps.n; i++) {
        if (is_own(wires, &wires->facts->lsps.v[i]))
            *KVMIG__PUSH(&wires->ports) = &wires->facts->lsps.v[i];
    }
}

/* ---- found, or not ---- */

static void note_resolved(const struct kvmig__wires *wires, struct kvmig_findings *out)
{
    struct kvmig__strlist names = { 0 };

    for (size_t i = 0; i < wires->ports.n; i++)
        kvmig__strlist_add_new(&names, wires->ports.v[i]->name);
    for (size_t i = 0; i < wires->ports.n; i++) {
        const struct kvmig__fact_lsp *lsp = wires->ports.v[i];
        const char *requested = kvmig__fact_get(&lsp->options, "requested-chassis");
        struct kvmig__detail d = { 0 };

        kvmig__detail_list(&d, "ports", &names);
        kvmig__detail_list(&d, "addresses", &lsp->addresses);
        if (requested)
            kvmig__detail_str(&d, "requested_chassis", requested);
        kvmig__wires_note(out, NULL, "LSP_RESOLVED", KVMIG_SEVERITY_INFO, kvmig__asprintf("lsp/%s", lsp->name), &d,
                          NULL, "Port %s of OVN is one of the VM.", lsp->name);
    }
    kvmig__strlist_clear(&names);
}

static void note_not_found(const struct kvmig__wires *wires, struct kvmig_findings *out)
{
    struct kvmig__detail d = { 0 };

    if (!wires->plugged || !wires->facts->lsps_known || !wires->tried.n)
        return;
    kvmig__detail_list(&d, "tried", &wires->tried);
    kvmig__wires_note(
        out, NULL, "LSP_NOT_FOUND", KVMIG_SEVERITY_WARN, kvmig__strdup(wires->object), &d,
        "Make sure that the rows are those of the VM's cluster; a port that is missing has to be made again "
        "by the CNI.",
        "OVN has no port under any name that the VM's would have, for example %s.", wires->tried.v[0]);
}

/* ---- addresses ---- */

/* The next word of an "MAC IP IP" entry; false at its end. */
static bool next_word(const char **at, const char **word, size_t *n)
{
    *word = *at + strspn(*at, " ");
    *n = strcspn(*word, " ");
    *at = *word + *n;
    return *n > 0;
}

static bool has_word(const char *text, const char *word, size_t n)
{
    const char *at = text, *other;
    size_t m;

    while (next_word(&at, &other, &m)) {
        if (m == n && strncasecmp(other, word, n) == 0)
            return true;
    }
    return false;
}

/* Compares two entries: one MAC? one IP (subnet masks are none)? */
static void compare_entries(const char *a, const char *b, bool *out_mac, bool *out_ip, bool *out_bare)
{
    const char *at = a, *other = b, *word, *first;
    size_t n, m;

    *out_mac = *out_ip = *out_bare = false;
    if (!next_word(&at, &word, &n) || !next_word(&other, &first, &m) || n != 17 || word[2] != ':')
        return; /* "unknown", "router", "dynamic" */
    *out_mac = n == m && strncasecmp(word, first, n) == 0;
    *out_bare = true;
    while (next_word(&at, &word, &n)) {
        *out_bare = false;
        *out_ip = *out_ip || (memchr(word, '.', n) || memchr(word, ':', n) ? has_word(other, word, n) : false);
    }
    *out_bare = *out_bare && !next_word(&other, &first, &m);
}

/* The switch is not in the row itself; those who make the ports note it. 1 = one, 0 = two, -1 = not noted. */
static int32_t on_one_switch(const struct kvmig__fact_lsp *a, const struct kvmig__fact_lsp *b)
{
    static const char *const keys[] = { "ls", "logical_switch", "neutron:network_name", "k8s.ovn.org/network" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(keys); i++) {
        const char *x = kvmig__fact_get(&a->external_ids, keys[i]), *y = kvmig__fact_get(&b->external_ids, keys[i]);

        if (x && y)
            return strcmp(x, y) == 0;
    }
    return -1;
}

/* Separate switches may repeat addresses: on two, or on who knows which, only MAC and IP together tell that it is one claim. */
static bool claims_same(const struct kvmig__fact_lsp *a, const struct kvmig__fact_lsp *b, const char **out_entry)
{
    int32_t one_switch = on_one_switch(a, b);

    for (size_t i = 0; one_switch != 0 && i < a->addresses.n; i++) {
        for (size_t j = 0; j < b->addresses.n; j++) {
            bool mac, ip, bare;

            compare_entries(a->addresses.v[i], b->addresses.v[j], &mac, &ip, &bare);
            *out_entry = a->addresses.v[i];
            if ((mac && (ip || bare)) || (one_switch == 1 && (mac || ip)))
                return true;
        }
    }
    return false;
}

static void check_twins(const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp, struct kvmig_findings *out)
{
    struct kvmig__strlist names = { 0 };
    struct kvmig__detail d = { 0 };
    const char *entry = NULL, *claimed = NULL;

    kvmig__strlist_add(&names, lsp->name);
    for (size_t i = 0; lsp->enabled != 0 && i < wires->facts->lsps.n; i++) {
        const struct kvmig__fact_lsp *other = &wires->facts->lsps.v[i];

        /* Of two own ports, the first tells. */
        if (other == lsp || other->enabled == 0 || !is_plain(other) || kvmig__str_eq(other->name, lsp->name) ||
            (other < lsp && is_own(wires, other)) || !claims_same(lsp, other, &entry))
            continue;
        kvmig__strlist_add_new(&names, other->name);
        claimed = entry;
    }
    if (names.n > 1) {
        kvmig__detail_list(&d, "ports", &names);
        kvmig__detail_str(&d, "address", claimed);
        kvmig__wires_note(
            out, NULL, "DUPLICATE_LSP_ADDRESS", KVMIG_SEVERITY_WARN, kvmig__asprintf("lsp/%s", lsp->name), &d,
            "Let the CNI keep the VM's address in one port (Kube-OVN: keep-vm-ip), or disable the port where "
            "the guest does not run.",
            "Ports %s and %s are both enabled and claim one address; traffic may go to the wrong one, and it "
            "is interrupted when the guest moves.",
            names.v[0], names.v[1]);
    }
    kvmig__strlist_clear(&names);
}

void kvmig__check_ports(const struct kvmig__wires *wires, struct kvmig_findings *out)
{
    if (wires->ports.n)
        note_resolved(wires, out);
    else
        note_not_found(wires, out);
    for (size_t i = 0; i < wires->ports.n; i++) {
        check_twins(wires, wires->ports.v[i], out);
        kvmig__check_port_options(wires, wires->ports.v[i], out);
    }
}
