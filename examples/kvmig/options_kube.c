/* SPDX-License-Identifier: MIT-0 */
/*
 * The options that name a Kubernetes cluster, or files with its objects, instead of libvirt hosts; and the library's option structs
 * made from them.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define AT(member) offsetof(struct settings, member)

static const struct option_def kube[] = {
    { .name = "kubeconfig",
      .kind = OPTION_TEXT,
      .offset = AT(kubeconfig),
      .metavar = "FILE",
      .help =
          "a Kubernetes cluster with KubeVirt instead of libvirt hosts; VMs are named NAMESPACE/NAME. Default, if no "
          "libvirt URI is given: the variable KUBECONFIG" },
    { .name = "kube-context",
      .kind = OPTION_TEXT,
      .offset = AT(kube_context),
      .metavar = "NAME",
      .help = "context of the kubeconfig; default: its current one" },
    { .name = "namespace",
      .letter = 'n',
      .kind = OPTION_TEXT,
      .offset = AT(kube_namespace),
      .metavar = "NS",
      .help = "read only this namespace, for accounts that may read no other" },
    { .name = "in-cluster",
      .kind = OPTION_SWITCH,
      .offset = AT(in_cluster),
      .help = "the service account of the pod that this runs in" },
    { .name = NULL },
};
const struct option_group kube_options = { "A Kubernetes cluster", kube };

static const struct option_def kube_vm[] = {
    { .name = "only-vm",
      .kind = OPTION_SWITCH,
      .offset = AT(only_vm),
      .help =
          "read only what concerns this VM, named NAMESPACE/NAME: its namespace, and what belongs to no namespace. "
          "For large clusters, and for accounts that may read no other namespace. Other VMs and migrations, and so the "
          "free slots of the cluster, are not seen then" },
    { .name = NULL },
};
const struct option_group kube_vm_options = { "One VM of a Kubernetes cluster", kube_vm };

bool settings_want_kube(const struct settings *settings)
{
    const char *env = getenv("KUBECONFIG");

    if (settings->kubeconfig || settings->in_cluster || settings->kube_context)
        return true;
    return settings->uris.n == 0 && settings->files.n == 0 && env && *env;
}

struct kvmig_kube_opts settings_kube_opts(const struct settings *settings)
{
    struct kvmig_kube_opts opts = KVMIG_KUBE_OPTS_INIT;

    opts.kubeconfig = settings->kubeconfig;
    opts.context = settings->kube_context;
    opts.namespace_ = settings->kube_namespace;
    opts.vm = settings->only_vm ? settings->vm : NULL;
    opts.flags = settings->in_cluster ? KVMIG_KUBE_IN_CLUSTER : 0;
    return opts;
}

void volumes_free(struct kvmig_volume_change *changes, size_t n)
{
    for (size_t i = 0; changes && i < n; i++)
        free((char *)changes[i].volume); /* the claim is a part of the same text */
    free(changes);
}

bool volumes_read(const struct command *command, const struct settings *settings,
                  struct kvmig_volume_change **out_changes)
{
    struct kvmig_volume_change *changes = calloc(settings->volumes.n + 1, sizeof(*changes));

    if (!changes)
        abort();
    *out_changes = changes;
    for (size_t i = 0; i < settings->volumes.n; i++) {
        char *copy = strdup(settings->volumes.v[i]), *claim;

        if (!copy)
            abort();
        changes[i].volume = copy;
        claim = strchr(copy, '=');
        if (!claim || claim == copy || !claim[1]) {
            complain("%s: --volume: \"%s\" is not VOLUME=CLAIM", command->name, settings->volumes.v[i]);
            volumes_free(changes, i + 1);
            *out_changes = NULL;
            return false;
        }
        *claim = '\0';
        changes[i].claim = claim + 1;
    }
    return true;
}

void links_free(struct kvmig_link *links, size_t n)
{
    for (size_t i = 0; links && i < n; i++)
        free((char *)links[i].host);
    free(links);
}

bool links_read(const struct command *command, const struct settings *settings, struct kvmig_link **out_links)
{
    struct kvmig_link *links = calloc(settings->links.n + 1, sizeof(*links));

    if (!links)
        abort();
    *out_links = links;
    for (size_t i = 0; i < settings->links.n; i++) {
        char *copy = strdup(settings->links.v[i]), *number, *end = NULL;
        double mib;

        if (!copy)
            abort();
        links[i].host = copy;
        number = strrchr(copy, '=');
        mib = number ? strtod(number + 1, &end) : 0;
        if (!number || number == copy || !number[1] || *end || !(mib > 0) || mib > 1e9) {
            complain("%s: --link-to: \"%s\" is not HOST=MIB", command->name, settings->links.v[i]);
            links_free(links, i + 1);
            *out_links = NULL;
            return false;
        }
        *number = '\0';
        links[i].bytes_per_s = (uint64_t)(mib * 1048576) + 1;
    }
    return true;
}
