/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Does the target's QEMU offer what the guest is made of: kinds of devices, Hyper-V features, firmware; and does the target
 * keep the secrets that it refers to? libvirt prints lists, and which ones depends on its version. A list that the target
 * did not print says nothing, nor does one of which the source's own shows that it is not complete. Pure; any thread.
 */
#include "plan/checks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct kvmig__emulator *kvmig__emulator_for(const struct kvmig__host *host, const struct kvmig__domain *domain)
{
    for (size_t i = 0; i < host->emulators.n; i++) {
        const struct kvmig__emulator *emulator = &host->emulators.v[i];

        if (kvmig__str_eq(emulator->arch, domain->arch) && kvmig__str_eq(emulator->virt_type, domain->virt_type) &&
            kvmig__str_eq(emulator->machine, domain->machine))
            return emulator;
    }
    return NULL;
}

const struct kvmig__strlist *kvmig__emulator_offer(const struct kvmig__emulator *emulator, const char *what)
{
    for (size_t i = 0; emulator && i < emulator->offers.n; i++) {
        if (kvmig__str_eq(emulator->offers.v[i].what, what))
            return &emulator->offers.v[i].values;
    }
    return NULL;
}

/* ---- lists ---- */

/* The list that decides about a need: "tpm/model", or "tpm" itself if that says that there are none at all. */
static const struct kvmig__strlist *list_for(const struct kvmig__emulator *emulator, const char *what)
{
    const struct kvmig__strlist *list = kvmig__emulator_offer(emulator, what);
    char *device = kvmig__strndup(what, strcspn(what, "/"));

    if (!list) {
        list = kvmig__emulator_offer(emulator, device);
        if (list && list->n) /* offered, and no more is said */
            list = NULL;
    }
    free(device);
    return list;
}

static bool lacks(const struct kvmig__emulator *emulator, const struct kvmig__need *need)
{
    const struct kvmig__strlist *list = list_for(emulator, need->what);

    return list && !kvmig__strlist_has(list, need->value);
}

static void note_need(const struct kvmig__check *c, const struct kvmig__emulator *there, const struct kvmig__need *need)
{
    const char *name = need->name ? need->name : need->what;
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "kind", need->what);
    kvmig__detail_str(&d, "value", need->value);
    kvmig__detail_list(&d, "target_has", list_for(there, need->what));
    kvmig__note(c, "DEVICE_UNSUPPORTED_ON_TARGET", KVMIG_SEVERITY_BLOCKER, kvmig__asprintf("device/%s", name), &d,
                "Install what is missing there (modules of QEMU, swtpm, firmware), or choose another host.",
                "The VM needs %s %s, and the target does not offer it.", need->what, need->value);
}

static void note_hyperv(const struct kvmig__check *c, const struct kvmig__strlist *missing)
{
    struct kvmig__detail d = { 0 };
    char *text = kvmig__strlist_join(missing, ", ");

    kvmig__detail_list(&d, "missing", missing);
    kvmig__note(c, "HYPERV_FEATURE_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                "Choose a host whose kernel and QEMU have them, or restart the VM without them.",
                "The guest uses Hyper-V features that the target does not offer: %s.", text);
    free(text);
}

static void check_needs(const struct kvmig__check *c, const struct kvmig__domain *guest)
{
    const struct kvmig__emulator *here = kvmig__emulator_for(c->source, guest);
    const struct kvmig__emulator *there = kvmig__emulator_for(c->target, guest);
    struct kvmig__strlist hyperv = { 0 };

    for (size_t i = 0; i < guest->needs.n; i++) {
        const struct kvmig__need *need = &guest->needs.v[i];

        /* What the source gives the guest although its own list does not show it may be there on the target, too. */
        if (!lacks(there, need) || (guest == c->domain && here && lacks(here, need)))
            continue;
        if (kvmig__str_eq(need->what, "hyperv/features"))
            kvmig__strlist_add_new(&hyperv, need->value);
        else
            note_need(c, there, need);
    }
    if (hyperv.n)
        note_hyperv(c, &hyperv);
    kvmig__strlist_clear(&hyperv);
}

/* ---- firmware ---- */

static void note_firmware(const struct kvmig__check *c, const struct kvmig__domain *guest, bool missing)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "loader", guest->loader);
    if (missing) {
        kvmig__detail_list(&d, "target_has",
                           kvmig__emulator_offer(kvmig__emulator_for(c->target, guest), "loader/path"));
        kvmig__note(c, "FIRMWARE_MISSING", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                    "Install the same firmware there, or give target_xml with the target's path of the same one.",
                    "The target does not have the firmware %s.", guest->loader);
    } else {
        kvmig__detail_str(&d, "missing", "whether the target has the file");
        kvmig__note(c, "FIRMWARE_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_vm(guest), &d, NULL,
                    "The target must have the firmware %s; it does not tell whether it has.", guest->loader);
    }
}

static void check_firmware(const struct kvmig__check *c, const struct kvmig__domain *guest)
{
    const struct kvmig__strlist *here, *there;

    if (!guest->loader)
        return;
    here = kvmig__emulator_offer(kvmig__emulator_for(c->source, guest), "loader/path");
    there = kvmig__emulator_offer(kvmig__emulator_for(c->target, guest), "loader/path");
    if (there && kvmig__strlist_has(there, guest->loader))
        return;
    /* Both list what they have by the same rule, so what only the source shows is not on the target. */
    note_firmware(c, guest, there && here && kvmig__strlist_has(here, guest->loader));
}

/* The contents of a file with variables travel with the guest. Where they are kept in anything else, nobody copies it. */
static void check_nvram(const struct kvmig__check *c, const struct kvmig__domain *guest)
{
    struct kvmig__detail d = { 0 };

    if (!guest->nvram_present || guest->nvram)
        return;
    kvmig__detail_str(&d, "missing", "where the variables are kept, and whether the target reaches that");
    kvmig__note(c, "NVRAM_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_vm(guest), &d, NULL,
                "The VM keeps its UEFI variables in something else than a file; the target must reach the same.");
}

/* ---- secrets ---- */

static bool has_secret(const struct kvmig__host *host, const struct kvmig__secret *wanted)
{
    for (size_t i = 0; i < host->secrets.n; i++) {
        const struct kvmig__secret *secret = &host->secrets.v[i];

        if (wanted->uuid ? secret->uuid && strcasecmp(secret->uuid, wanted->uuid) == 0
                         : kvmig__str_eq(secret->usage, wanted->usage))
            return true;
    }
    return false;
}

static void note_secret(const struct kvmig__check *c, const struct kvmig__secret *secret)
{
    const char *name = secret->uuid ? secret->uuid : secret->usage;
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "uuid", secret->uuid);
    kvmig__detail_str(&d, "usage", secret->usage);
    kvmig__detail_str(&d, "of", secret->of);
    kvmig__note(c, "SECRET_MISSING", KVMIG_SEVERITY_BLOCKER, kvmig__asprintf("secret/%s", name), &d,
                "Define it on the target with the same UUID and value (virsh secret-define, secret-set-value).",
                "%s of the VM needs the secret %s, which the target does not have.",
                secret->of ? secret->of : "A device", name);
}

static void check_secrets(const struct kvmig__check *c, const struct kvmig__domain *guest)
{
    struct kvmig__detail d = { 0 };

    if (guest->secrets.n && !c->target->secrets_known) {
        kvmig__detail_uint(&d, "secrets", guest->secrets.n);
        kvmig__detail_str(&d, "missing", "which secrets the target keeps");
        kvmig__note(c, "SECRET_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_node(c->target), &d, NULL,
                    "The VM refers to secrets of its host; which ones the target keeps is not known.");
        return;
    }
    for (size_t i = 0; i < guest->secrets.n; i++) {
        if (!has_secret(c->target, &guest->secrets.v[i]))
            note_secret(c, &guest->secrets.v[i]);
    }
}

void kvmig__check_offers(const struct kvmig__check *c)
{
    const struct kvmig__domain *guest = kvmig__domain_there(c);

    if (!guest)
        return;
    check_needs(c, guest);
    check_firmware(c, guest);
    check_nvram(c, guest);
    check_secrets(c, guest);
}
