/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Description of the KubeVirt object: the configuration of the platform. Any thread; see objects_io.h for directions
 * and ownership.
 */
#include "kubernetes/objects_io.h"

/* A map from the name of a binding to what it can do. */
static void read_bindings(struct kvmig__io *io, struct kvmig__kube_kubevirt *kubevirt)
{
    const struct kvmig__value *map = kvmig__io_get(io, "binding");

    if (!kvmig__value_is(map, KVMIG__TAPE_OBJECT))
        return;
    kvmig__io_begin(io, "binding");
    KVMIG__EACH_MEMBER(map, name, value)
    {
        struct kvmig__kube_binding *binding;
        bool there;

        if (value->type != KVMIG__TAPE_OBJECT || kubevirt->bindings.n >= KVMIG__IO_ITEMS)
            continue;
        binding = KVMIG__PUSH(&kubevirt->bindings);
        binding->name = kvmig__strdup(name->text);
        kvmig__io_begin(io, name->text);
        kvmig__io_present(io, "migration", &there);
        kvmig__str_set(&binding->method, there ? "" : NULL);
        kvmig__io_begin(io, "migration");
        kvmig__io_str(io, "method", &binding->method);
        kvmig__io_end(io);
        kvmig__io_end(io);
    }
    kvmig__io_end(io);
}

static void write_bindings(struct kvmig__io *io, struct kvmig__kube_kubevirt *kubevirt)
{
    kvmig__io_begin(io, "binding");
    for (size_t i = 0; i < kubevirt->bindings.n; i++) {
        struct kvmig__kube_binding *binding = &kubevirt->bindings.v[i];
        bool there = true;

        kvmig__io_present(io, binding->name, &there);
        kvmig__io_begin(io, binding->name);
        if (binding->method) {
            kvmig__io_begin(io, "migration");
            kvmig__io_str(io, "method", &binding->method);
            kvmig__io_end(io);
        }
        kvmig__io_end(io);
    }
    kvmig__io_end(io);
}

static void visit_network(struct kvmig__io *io, struct kvmig__kube_kubevirt *kubevirt)
{
    kvmig__io_begin(io, "network");
    if (io->encode)
        write_bindings(io, kubevirt);
    else
        read_bindings(io, kubevirt);
    kvmig__io_end(io);
}

static void visit_developer(struct kvmig__io *io, struct kvmig__kube_kubevirt *kubevirt)
{
    kvmig__io_begin(io, "developerConfiguration");
    kvmig__io_strlist(io, "featureGates", &kubevirt->feature_gates);
    kvmig__io_strlist(io, "disabledFeatureGates", &kubevirt->disabled_gates);
    kvmig__io_pairs(io, "nodeSelectors", &kubevirt->node_selectors);
    kvmig__io_u64_or_zero(io, "minimumClusterTSCFrequency", &kubevirt->min_tsc_hz);
    kvmig__io_bool(io, "useEmulation", &kubevirt->emulation);
    kvmig__io_end(io);
}

static void visit_configuration(struct kvmig__io *io, struct kvmig__kube_kubevirt *kubevirt)
{
    kvmig__io_begin(io, "configuration");
    kvmig__io_begin(io, "migrations");
    kvmig__visit_config(io, &kubevirt->config);
    kvmig__io_end(io);
    kvmig__io_str(io, "cpuModel", &kubevirt->cpu_model);
    kvmig__io_str(io, "evictionStrategy", &kubevirt->eviction_strategy);
    kvmig__io_str(io, "vmRolloutStrategy", &kubevirt->rollout_strategy);
    kvmig__io_flags(io, "obsoleteCPUModels", &kubevirt->obsolete_models);
    kvmig__io_present(io, "obsoleteCPUModels", &kubevirt->obsolete_models_given);
    kvmig__io_begin(io, "permittedHostDevices");
    kvmig__io_names(io, "mediatedDevices", "resourceName", NULL, NULL, &kubevirt->mediated_devices);
    kvmig__io_end(io);
    visit_network(io, kubevirt);
    visit_developer(io, kubevirt);
    kvmig__io_end(io);
}

void kvmig__visit_kubevirt(struct kvmig__io *io, struct kvmig__kube_kubevirt *kubevirt)
{
    kvmig__io_begin(io, "spec");
    visit_configuration(io, kubevirt);
    kvmig__io_present(io, "workloadUpdateStrategy", &kubevirt->update_strategy_given);
    kvmig__io_begin(io, "workloadUpdateStrategy");
    kvmig__io_strlist(io, "workloadUpdateMethods", &kubevirt->update_methods);
    kvmig__io_end(io);
    kvmig__io_end(io);
    kvmig__io_begin(io, "status");
    kvmig__io_str(io, "phase", &kubevirt->phase);
    kvmig__io_str(io, "observedKubeVirtVersion", &kubevirt->version);
    kvmig__io_str(io, "observedDeploymentID", &kubevirt->observed_deployment);
    kvmig__io_str(io, "targetDeploymentID", &kubevirt->target_deployment);
    kvmig__io_end(io);
}
