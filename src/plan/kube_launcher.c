/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The launcher that the VM runs in, and what the next one takes over from it: images by digest, the SELinux level, the traces of its
 * CPU; whether it is about to end, or is of another version. Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

static char *object_of_pod(const struct kvmig__kube_check *c)
{
    return kvmig__asprintf("pod/%s/%s", c->pod->meta.ns ? c->pod->meta.ns : "default", c->pod->meta.name);
}

/* ---- images of containerDisks ----
 * KubeVirt pins them to what the present launcher runs: the repository that the VM names, with the digest of imageID. */

/* "import-2026-08-22": containerd's name for an image that was put on the node by hand; its digest is of no registry. */
static bool is_imported(const char *image_id)
{
    const char *name = strstr(image_id, "import-");

    return name && (name == image_id || name[-1] == '/') && name[7] >= '0' && name[7] <= '9';
}

/* An image without a repository has a digest of its own making, too. */
static bool is_pullable(const char *image_id)
{
    return strchr(image_id, '@') && !is_imported(image_id);
}

static void check_images(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; c->pod && i < c->pod->containers.n; i++) {
        const struct kvmig__kube_container *container = &c->pod->containers.v[i];
        struct kvmig__detail d = { 0 };

        if (container->init || !kvmig__str_starts(container->name, "volume") || !container->image_id ||
            !*container->image_id || is_pullable(container->image_id))
            continue;
        kvmig__detail_str(&d, "container", container->name);
        kvmig__detail_str(&d, "image_id", container->image_id);
        kvmig__kube_note(c, "IMAGE_REFERENCE_NOT_PULLABLE", KVMIG_SEVERITY_WARN, object_of_pod(c), &d,
                         "Push the image to a registry and restart the VM from there.",
                         "The image of container %s has no digest that a registry knows; the target launcher cannot "
                         "pull it.",
                         container->name);
    }
}

/* ---- host-model ---- */

static bool names_features(const struct kvmig__kube_vmi *vmi)
{
    for (size_t i = 0; i < vmi->domain.cpu_features.n; i++) {
        const char *policy = vmi->domain.cpu_features.v[i].policy;

        if (!policy || !*policy || !strcmp(policy, "require"))
            return true;
    }
    return false;
}

/* A feature that the VM names stands in the selector of its first launcher; KubeVirt takes that for the trace of a migration, and
 * then asks the target for nothing else of the host model. */
static void check_host_model_trap(const struct kvmig__kube_check *c)
{
    if (!kvmig__str_eq(c->vmi->domain.cpu_model, "host-model") || !names_features(c->vmi) || !c->pod ||
        kvmig__pairs_get(&c->pod->meta.labels, "kubevirt.io/migrationJobUID"))
        return;
    kvmig__kube_note(c, "HOST_MODEL_NOT_ENFORCED", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), NULL,
                     "Pin the target; here the whole host model is compared.",
                     "The VM names CPU features besides host-model: KubeVirt will not ask the target for the rest of "
                     "the host model.");
}

/* ---- its end, its version ---- */

static void check_end(const struct kvmig__kube_check *c)
{
    if (!c->pod || !c->pod->meta.deleted_ms || c->vmi->meta.deleted_ms)
        return;
    kvmig__kube_note(c, "LAUNCHER_TERMINATING", KVMIG_SEVERITY_BLOCKER, object_of_pod(c), NULL,
                     "The guest is being shut down with it; find out who deleted the pod.",
                     "The launcher %s that the VM runs in is being deleted.", c->pod->meta.name);
}

/* The target gets the launcher of the KubeVirt that is installed now, with its QEMU. */
static void check_version(const struct kvmig__kube_check *c)
{
    static const char label[] = "kubevirt.io/outdatedLauncherImage";
    struct kvmig__detail d = { 0 };

    if (!kvmig__pairs_get(&c->vmi->meta.labels, label) && !(c->pod && kvmig__pairs_get(&c->pod->meta.labels, label)))
        return;
    kvmig__detail_str(&d, "label", label);
    kvmig__detail_str(&d, "image", c->vmi->launcher_image);
    if (c->kubevirt)
        kvmig__detail_str(&d, "version", c->kubevirt->version);
    kvmig__kube_note(c, "LAUNCHER_OUTDATED", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
                     "There is no way back to it by migration: the next launcher is always of the version installed.",
                     "The VM runs in a launcher of an older KubeVirt; the migration takes it to the present one, with "
                     "another QEMU.");
}

/* ---- SELinux ---- */

/* Status of a VMI that is complete, as an API server gives it: of one that is cut down an absent field means nothing. */
static bool is_complete(const struct kvmig__kube_check *c)
{
    return !c->kube->trimmed && c->vmi->launcher_image && c->vmi->qos_class;
}

/* The target is to get the level of the source; "none" is a node without SELinux. */
static void check_selinux(const struct kvmig__kube_check *c)
{
    const char *context = c->vmi->selinux_context;
    bool missing = context ? !*context : is_complete(c);
    struct kvmig__detail d = { 0 };

    if (!missing || c->config->match_selinux == 0 || !kvmig__str_eq(c->vmi->phase, "Running"))
        return;
    kvmig__detail_str(&d, "option", "matchSELinuxLevelOnMigration");
    kvmig__kube_note(
        c, "SELINUX_CONTEXT_MISSING", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
        "See virt-handler on the VM's node, which writes it; or set that option to false.",
        "KubeVirt does not know the SELinux context of the VM, which the target is to share: it cannot make "
        "a target pod.");
}

void kvmig__kube_check_launcher(const struct kvmig__kube_check *c)
{
    check_images(c);
    check_host_model_trap(c);
    check_end(c);
    check_version(c);
    check_selinux(c);
}
