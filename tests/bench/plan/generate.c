/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes a synthetic KubeVirt cluster into a folder, as an API server prints it: nodes, VMIs, their launcher pods and claims, and a
 * KubeVirt object, each kind as one typed list. The same arguments give the same bytes. One thread; owns nothing but its files.
 *
 *   generate FOLDER NODES VMS [VMS_ON_THE_FIRST_NODE]
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAMESPACES 200
#define PER_FILE 10000
#define STAMP "2026-11-30T11:02:33Z"

static const char *folder;
static unsigned n_nodes, n_vms, n_first;

static FILE *begin(const char *name, const char *api, const char *kind)
{
    char path[4096];
    FILE *out;

    snprintf(path, sizeof(path), "%s/%s.json", folder, name);
    out = fopen(path, "w");
    if (!out) {
        fprintf(stderr, "generate: %s: %m\n", path);
        exit(1);
    }
    fprintf(out,
            "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"987654321\"},\"items\":[",
            kind, api);
    return out;
}

static void end(FILE *out)
{
    fputs("\n]}\n", out);
    if (fclose(out)) {
        fprintf(stderr, "generate: %s: %m\n", folder);
        exit(1);
    }
}

static void uid(char out[40], unsigned kind, unsigned i)
{
    snprintf(out, 40, "%08x-%04x-4000-8000-%012x", i * 2654435761u, kind, i);
}

/* ---- nodes ---- */

static const char *const models[] = { "Skylake-Server", "Cascadelake-Server", "EPYC-Rome" };
static const char *const features[] = {
    "aes",        "apic",    "arat",    "avx",    "avx2",   "bmi1",     "bmi2",    "clflush",  "cmov",
    "cx16",       "cx8",     "de",      "erms",   "f16c",   "fma",      "fpu",     "fsgsbase", "fxsr",
    "hypervisor", "invpcid", "lahf_lm", "lm",     "mca",    "mce",      "mmx",     "movbe",    "msr",
    "mtrr",       "nx",      "pae",     "pat",    "pcid",   "pclmuldq", "pdpe1gb", "pge",      "pni",
    "popcnt",     "pse",     "pse36",   "rdrand", "rdtscp", "sep",      "smap",    "smep",     "sse",
    "sse2",       "ssse3",   "syscall", "tsc",    "vme",    "x2apic",   "xgetbv1", "xsave",    "xsaveopt",
};
#define N_FEATURES (sizeof(features) / sizeof(features[0]))

static unsigned generation(unsigned node)
{
    return node % 10 < 6 ? 0 : node % 10 < 9 ? 1 : 2;
}

/* A node of the second generation can run guests of the first. */
static void model_labels(FILE *out, const char *prefix, unsigned model)
{
    for (unsigned m = model + 1; m-- > 0;) {
        if (model == m || (model == 1 && m == 0))
            fprintf(out, ",\"%s.node.kubevirt.io/%s\":\"true\"", prefix, models[m]);
    }
}

/* In the order of their keys, as the API server prints maps. */
static void node_labels(FILE *out, unsigned i)
{
    unsigned model = generation(i);

    fputs("\"beta.kubernetes.io/arch\":\"amd64\",\"beta.kubernetes.io/os\":\"linux\"", out);
    for (size_t f = 0; f < N_FEATURES; f++) {
        if (f % 11 != model + 7)
            fprintf(out, ",\"cpu-feature.node.kubevirt.io/%s\":\"true\"", features[f]);
    }
    model_labels(out, "cpu-model-migration", model);
    model_labels(out, "cpu-model", model);
    fprintf(out,
            ",\"cpu-vendor.node.kubevirt.io/%s\":\"true\",\"cpumanager\":\"false\","
            "\"host-model-cpu.node.kubevirt.io/%s\":\"true\"",
            model == 2 ? "AMD" : "Intel", models[model]);
    for (unsigned v = 0; v < 6; v++)
        fprintf(out, ",\"host-model-required-features.node.kubevirt.io/%s\":\"true\"", features[v * 7]);
    fprintf(out,
            ",\"kubernetes.io/arch\":\"amd64\",\"kubernetes.io/hostname\":\"node-%05u\",\"kubernetes.io/os\":\"linux\","
            "\"kubevirt.io/schedulable\":\"%s\"",
            i, i % 97 == 5 ? "false" : "true");
    for (unsigned v = 0; v < 8; v++)
        fprintf(out, ",\"machine-type.node.kubevirt.io/pc-q35-rhel9.%u.0\":\"true\"", v);
    fprintf(out,
            ",\"node-role.kubernetes.io/worker\":\"\",\"topology.kubernetes.io/region\":\"region-1\","
            "\"topology.kubernetes.io/zone\":\"zone-%u\"",
            i % 3);
}

static void node_status(FILE *out, unsigned i)
{
    static const char *const conditions[] = { "MemoryPressure", "DiskPressure", "PIDPressure", "Ready" };
    static const char *const amounts[] = { "capacity", "allocatable" };

    for (unsigned a = 0; a < 2; a++)
        fprintf(out,
                "%s\"%s\":{\"cpu\":\"%u\",\"devices.kubevirt.io/kvm\":\"1k\",\"devices.kubevirt.io/tun\":\"1k\","
                "\"devices.kubevirt.io/vhost-net\":\"1k\",\"ephemeral-storage\":\"%u\",\"hugepages-1Gi\":\"0\","
                "\"hugepages-2Mi\":\"0\",\"memory\":\"%uKi\",\"pods\":\"250\"}",
                a ? "," : "", amounts[a], a ? 94 : 96, 460000000 + i, a ? 263000000 : 263900000);
    fputs(",\"conditions\":[", out);
    for (unsigned c = 0; c < 4; c++)
        fprintf(out,
                "%s{\"type\":\"%s\",\"status\":\"%s\",\"lastHeartbeatTime\":\"" STAMP
                "\",\"lastTransitionTime\":\"" STAMP
                "\",\"reason\":\"KubeletHas\",\"message\":\"kubelet has sufficient resources available\"}",
                c ? "," : "", conditions[c], c == 3 && i % 211 != 3 ? "True" : "False");
    fprintf(out,
            "],\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.%u.%u.%u\"},{\"type\":\"Hostname\",\"address\":"
            "\"node-%05u\"}],\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":10250}},\"nodeInfo\":{\"machineID\":\"%"
            "032x\","
            "\"systemUUID\":\"%08x-0000-4000-8000-%012x\",\"bootID\":\"%08x-0000-4000-8000-%012x\",\"kernelVersion\":"
            "\"5.14.0-427.13.1.el9_4.x86_64\",\"osImage\":\"Enterprise Linux CoreOS 9.4\",\"containerRuntimeVersion\":"
            "\"cri-o://"
            "1.28.4\",\"kubeletVersion\":\"v1.28.9\",\"kubeProxyVersion\":\"v1.28.9\",\"operatingSystem\":\"linux\","
            "\"architecture\":\"amd64\"},\"images\":[",
            10 + i / 65536, i / 256 % 256, i % 256, i, i * 7919u, i, i, i + 1, i);
    for (unsigned k = 0; k < 30; k++)
        fprintf(out,
                "%s{\"names\":[\"registry.example.com/project/image-%u@sha256:%064x\",\"registry.example.com/project/"
                "image-%u:v1.%u\"],\"sizeBytes\":%u}",
                k ? "," : "", k, k * 104729u, k, k, 100000000 + k * 1234567);
    fputs("]", out);
}

static void write_nodes(void)
{
    FILE *out = begin("nodes", "v1", "Node");
    char id[40];

    for (unsigned i = 0; i < n_nodes; i++) {
        uid(id, 1, i);
        fprintf(
            out,
            "%s\n{\"metadata\":{\"name\":\"node-%05u\",\"uid\":\"%s\",\"resourceVersion\":\"%u\",\"creationTimestamp\":"
            "\"2026-01-05T08:00:00Z\",\"labels\":{",
            i ? "," : "", i, id, 900000 + i);
        node_labels(out, i);
        fprintf(
            out,
            "},\"annotations\":{\"csi.volume.kubernetes.io/nodeid\":\"{\\\"rbd.csi.ceph.com\\\":\\\"node-%05u\\\"}\","
            "\"kubevirt.io/heartbeat\":\"" STAMP "\",\"kubevirt.io/ksm-handler-managed\":\"false\","
            "\"volumes.kubernetes.io/controller-managed-attach-detach\":\"true\"}},\"spec\":{\"providerID\":\"metal://"
            "%u\"",
            i, i);
        if (i % 50 == 49)
            fputs(",\"taints\":[{\"key\":\"dedicated\",\"value\":\"infra\",\"effect\":\"NoSchedule\"}]", out);
        if (i % 301 == 7)
            fputs(",\"unschedulable\":true", out);
        fputs("},\"status\":{", out);
        node_status(out, i);
        fputs("}}", out);
    }
    end(out);
}

/* ---- VMs: one shape of 40 ---- */

struct vm {
    unsigned i, node, shape, memory_gib, vcpus;
    char ns[16], name[24], uid[40], pod_uid[40];
};

static struct vm vm_of(unsigned i)
{
    struct vm vm = { .i = i, .shape = i % 40 };

    vm.node = i < n_first ? 0 : 1 + (i - n_first) * 7919u % (n_nodes > 1 ? n_nodes - 1 : 1);
    vm.memory_gib = i < n_first ? 1 : 2u << i % 4;
    vm.vcpus = 1u << i % 3;
    snprintf(vm.ns, sizeof(vm.ns), "project-%03u", i % NAMESPACES);
    snprintf(vm.name, sizeof(vm.name), "vm-%06u", i);
    uid(vm.uid, 2, i);
    uid(vm.pod_uid, 3, i);
    return vm;
}

static void write_placement(FILE *out, const struct vm *vm)
{
    if (vm->shape % 5 == 1)
        fprintf(out, "\"nodeSelector\":{\"topology.kubernetes.io/zone\":\"zone-%u\"},", vm->node % 3);
    if (vm->shape % 8 == 3)
        fputs("\"tolerations\":[{\"key\":\"dedicated\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}],", out);
}

static void write_vmi(FILE *out, const struct vm *vm)
{
    fprintf(
        out,
        "\n{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":\"VirtualMachineInstance\",\"metadata\":{\"name\":\"%s\","
        "\"namespace\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%u\",\"generation\":12,\"creationTimestamp\":"
        "\"2026-06-01T09:10:11Z\",\"annotations\":{\"kubevirt.io/latest-observed-api-version\":\"v1\","
        "\"kubevirt.io/storage-observed-api-version\":\"v1\",\"kubevirt.io/vm-generation\":\"1\","
        "\"vm.kubevirt.io/flavor\":\"small\",\"vm.kubevirt.io/os\":\"rhel9\",\"vm.kubevirt.io/workload\":\"server\"},"
        "\"finalizers\":[\"kubevirt.io/virtualMachineControllerFinalize\",\"foregroundDeleteVirtualMachine\"],"
        "\"labels\":{\"app\":\"app-%u\",\"kubevirt.io/domain\":\"%s\",\"kubevirt.io/nodeName\":\"node-%05u\","
        "\"kubevirt.io/size\":\"small\"},\"ownerReferences\":[{\"apiVersion\":\"kubevirt.io/"
        "v1\",\"blockOwnerDeletion\":"
        "true,\"controller\":true,\"kind\":\"VirtualMachine\",\"name\":\"%s\",\"uid\":\"%s\"}]},\"spec\":{",
        vm->name, vm->ns, vm->uid, 100000 + vm->i, vm->i % 977, vm->name, vm->node, vm->name, vm->uid);
    write_placement(out, vm);
    fprintf(
        out,
        "\"architecture\":\"amd64\",\"domain\":{\"cpu\":{\"cores\":1,\"maxSockets\":16,\"model\":\"%s\",\"sockets\":%u,"
        "\"threads\":1},\"devices\":{\"autoattachPodInterface\":false,\"disks\":[{\"disk\":{\"bus\":\"virtio\"},"
        "\"name\":"
        "\"rootdisk\"},{\"disk\":{\"bus\":\"virtio\"},\"name\":\"cloudinitdisk\"}],\"interfaces\":[{\"masquerade\":{},"
        "\"macAddress\":\"02:00:00:%02x:%02x:%02x\",\"model\":\"virtio\",\"name\":\"default\"}],"
        "\"networkInterfaceMultiqueue\":true,\"rng\":{}},\"features\":{\"acpi\":{\"enabled\":true},\"smm\":{"
        "\"enabled\":true}},"
        "\"firmware\":{\"bootloader\":{\"efi\":{}},\"serial\":\"%s\",\"uuid\":\"%s\"},\"machine\":{\"type\":"
        "\"pc-q35-rhel9.4.0\"},\"memory\":{\"guest\":\"%uGi\",\"maxGuest\":\"%uGi\"},\"resources\":{\"requests\":{"
        "\"memory\":"
        "\"%uGi\"}}},\"evictionStrategy\":\"LiveMigrate\",\"networks\":[{\"name\":\"default\",\"pod\":{}}],"
        "\"terminationGracePeriodSeconds\":180,\"volumes\":[{\"dataVolume\":{\"name\":\"%s-root\"},\"name\":"
        "\"rootdisk\"},"
        "{\"cloudInitNoCloud\":{\"userData\":\"#cloud-config\\nuser: cloud-user\\npassword: x\\nchpasswd: { expire: "
        "False "
        "}\\n\"},\"name\":\"cloudinitdisk\"}]},",
        vm->shape % 4 ? "host-model" : models[generation(vm->node)], vm->vcpus, vm->i >> 16 & 255, vm->i >> 8 & 255,
        vm->i & 255, vm->uid, vm->uid, vm->memory_gib, vm->memory_gib * 4, vm->memory_gib, vm->name);
    fprintf(
        out,
        "\"status\":{\"activePods\":{\"%s\":\"node-%05u\"},\"conditions\":[{\"lastProbeTime\":null,"
        "\"lastTransitionTime\":"
        "\"2026-06-01T09:11:00Z\",\"status\":\"True\",\"type\":\"Ready\"},{\"lastProbeTime\":null,"
        "\"lastTransitionTime\":null,"
        "\"message\":\"All of the VMI's DVs are bound and not running\",\"reason\":\"AllDVsReady\",\"status\":\"True\","
        "\"type\":\"DataVolumesReady\"},{\"lastProbeTime\":null,\"lastTransitionTime\":null,\"status\":\"True\","
        "\"type\":"
        "\"LiveMigratable\"},{\"lastProbeTime\":null,\"lastTransitionTime\":null,\"status\":\"True\",\"type\":"
        "\"StorageLiveMigratable\"},{\"lastProbeTime\":\"2026-06-01T09:12:00Z\",\"lastTransitionTime\":null,\"status\":"
        "\"True\",\"type\":\"AgentConnected\"}],\"currentCPUTopology\":{\"cores\":1,\"sockets\":%u,\"threads\":1},"
        "\"guestOSInfo\":{\"id\":\"rhel\",\"kernelRelease\":\"5.14.0-427.el9.x86_64\",\"kernelVersion\":\"#1 SMP\","
        "\"machine\":\"x86_64\",\"name\":\"Enterprise Linux\",\"prettyName\":\"Enterprise Linux "
        "9.4\",\"version\":\"9.4\","
        "\"versionId\":\"9.4\"},\"interfaces\":[{\"infoSource\":\"domain, guest-agent\",\"interfaceName\":\"eth0\","
        "\"ipAddress\":\"10.128.%u.%u\",\"ipAddresses\":[\"10.128.%u.%u\"],\"linkState\":\"up\",\"mac\":"
        "\"02:00:00:%02x:%02x:%02x\",\"name\":\"default\",\"podInterfaceName\":\"eth0\",\"queueCount\":%u}],"
        "\"launcherContainerImageVersion\":\"registry.example.com/kubevirt/virt-launcher@sha256:%064x\",\"machine\":"
        "{\"type\":\"pc-q35-rhel9.4.0\"},\"memory\":{\"guestAtBoot\":\"%uGi\",\"guestCurrent\":\"%uGi\","
        "\"guestRequested\":"
        "\"%uGi\"},\"migrationMethod\":\"LiveMigration\",\"migrationTransport\":\"Unix\",\"nodeName\":\"node-%05u\","
        "\"phase\":"
        "\"Running\",\"phaseTransitionTimestamps\":[{\"phase\":\"Pending\",\"phaseTransitionTimestamp\":"
        "\"2026-06-01T09:10:11Z\"},{\"phase\":\"Scheduling\",\"phaseTransitionTimestamp\":\"2026-06-01T09:10:12Z\"},{"
        "\"phase\":"
        "\"Scheduled\",\"phaseTransitionTimestamp\":\"2026-06-01T09:10:40Z\"},{\"phase\":\"Running\","
        "\"phaseTransitionTimestamp\":\"2026-06-01T09:10:44Z\"}],\"qosClass\":\"Burstable\",\"runtimeUser\":107,"
        "\"selinuxContext\":\"none\",\"virtualMachineRevisionName\":\"revision-start-vm-%s-1\",\"volumeStatus\":[{"
        "\"name\":"
        "\"cloudinitdisk\",\"size\":1048576,\"target\":\"vdb\"},{\"name\":\"rootdisk\",\"persistentVolumeClaimInfo\":"
        "{\"accessModes\":[\"ReadWriteMany\"],\"capacity\":{\"storage\":\"30Gi\"},\"claimName\":\"%s-root\","
        "\"filesystemOverhead\":\"0\",\"requests\":{\"storage\":\"30Gi\"},\"volumeMode\":\"Block\"},\"target\":\"vda\"}"
        "]}}",
        vm->pod_uid, vm->node, vm->vcpus, vm->i >> 8 & 255, vm->i & 255, vm->i >> 8 & 255, vm->i & 255,
        vm->i >> 16 & 255, vm->i >> 8 & 255, vm->i & 255, vm->vcpus, 4711, vm->memory_gib, vm->memory_gib,
        vm->memory_gib, vm->node, vm->uid, vm->name);
}

static void write_pod_metadata(FILE *out, const struct vm *vm)
{
    fprintf(
        out,
        "\n{\"metadata\":{\"name\":\"virt-launcher-%s-x%04x\",\"generateName\":\"virt-launcher-%s-\",\"namespace\":\"%"
        "s\","
        "\"uid\":\"%s\",\"resourceVersion\":\"%u\",\"creationTimestamp\":\"2026-06-01T09:10:12Z\",\"labels\":{\"app\":"
        "\"app-%u\",\"kubevirt.io\":\"virt-launcher\",\"kubevirt.io/created-by\":\"%s\",\"kubevirt.io/size\":\"small\","
        "\"vm.kubevirt.io/name\":\"%s\"},\"annotations\":{\"kubevirt.io/domain\":\"%s\",\"kubevirt.io/"
        "migrationTransportUnix\":"
        "\"true\",\"kubevirt.io/vm-generation\":\"1\",\"kubectl.kubernetes.io/default-container\":\"compute\","
        "\"post.hook.backup.velero.io/command\":\"[\\\"/usr/bin/virt-freezer\\\", \\\"--unfreeze\\\", \\\"--name\\\", "
        "\\\"%s\\\", \\\"--namespace\\\", \\\"%s\\\"]\",\"post.hook.backup.velero.io/container\":\"compute\"},"
        "\"ownerReferences\":[{\"apiVersion\":\"kubevirt.io/"
        "v1\",\"kind\":\"VirtualMachineInstance\",\"name\":\"%s\",\"uid\":"
        "\"%s\",\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{",
        vm->name, vm->i & 0xffff, vm->name, vm->ns, vm->pod_uid, 200000 + vm->i, vm->i % 977, vm->uid, vm->name,
        vm->name, vm->name, vm->ns, vm->name, vm->uid);
}

static void write_pod_volumes(FILE *out, const struct vm *vm)
{
    fputs("\"volumes\":[{\"name\":\"private\",\"emptyDir\":{}},{\"name\":\"public\",\"emptyDir\":{}},{\"name\":"
          "\"sockets\","
          "\"emptyDir\":{}},{\"name\":\"virt-bin-share-dir\",\"emptyDir\":{}},{\"name\":\"libvirt-runtime\","
          "\"emptyDir\":{}},"
          "{\"name\":\"ephemeral-disks\",\"emptyDir\":{}},{\"name\":\"container-disks\",\"emptyDir\":{}},{\"name\":"
          "\"hotplug-disks\",\"emptyDir\":{}},",
          out);
    fprintf(out, "{\"name\":\"rootdisk\",\"persistentVolumeClaim\":{\"claimName\":\"%s-root\"}}],", vm->name);
}

static void write_pod_container(FILE *out, const struct vm *vm)
{
    fprintf(
        out,
        "\"containers\":[{\"name\":\"compute\",\"image\":\"registry.example.com/kubevirt/virt-launcher@sha256:%064x\","
        "\"command\":[\"/usr/bin/"
        "virt-launcher-monitor\",\"--qemu-timeout\",\"329s\",\"--name\",\"%s\",\"--uid\",\"%s\","
        "\"--namespace\",\"%s\",\"--kubevirt-share-dir\",\"/var/run/kubevirt\",\"--ephemeral-disk-dir\","
        "\"/var/run/kubevirt-ephemeral-disks\",\"--container-disk-dir\",\"/var/run/kubevirt/container-disks\","
        "\"--grace-period-seconds\",\"195\",\"--hook-sidecars\",\"0\",\"--ovmf-path\",\"/usr/share/OVMF\","
        "\"--run-as-nonroot\"],\"env\":[{\"name\":\"XDG_CACHE_HOME\",\"value\":\"/var/run/"
        "kubevirt-private\"},{\"name\":"
        "\"XDG_CONFIG_HOME\",\"value\":\"/var/run/kubevirt-private\"},{\"name\":\"XDG_RUNTIME_DIR\",\"value\":"
        "\"/var/run\"},{\"name\":\"VIRT_LAUNCHER_LOG_VERBOSITY\",\"value\":\"2\"},{\"name\":\"POD_NAME\",\"valueFrom\":"
        "{\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.name\"}}}],\"resources\":{\"limits\":"
        "{\"devices.kubevirt.io/kvm\":\"1\",\"devices.kubevirt.io/tun\":\"1\",\"devices.kubevirt.io/vhost-net\":\"1\"},"
        "\"requests\":{\"cpu\":\"%um\",\"devices.kubevirt.io/kvm\":\"1\",\"devices.kubevirt.io/tun\":\"1\","
        "\"devices.kubevirt.io/"
        "vhost-net\":\"1\",\"ephemeral-storage\":\"50M\",\"memory\":\"%uMi\"}},\"volumeMounts\":[",
        4711, vm->name, vm->uid, vm->ns, vm->vcpus * 100, vm->memory_gib * 1024 + 280);
    fputs(
        "{\"name\":\"private\",\"mountPath\":\"/var/run/kubevirt-private\"},{\"name\":\"public\",\"mountPath\":"
        "\"/var/run/kubevirt\"},{\"name\":\"ephemeral-disks\",\"mountPath\":\"/var/run/"
        "kubevirt-ephemeral-disks\"},{\"name\":"
        "\"container-disks\",\"mountPath\":\"/var/run/kubevirt/"
        "container-disks\",\"mountPropagation\":\"HostToContainer\"},"
        "{\"name\":\"libvirt-runtime\",\"mountPath\":\"/var/run/libvirt\"},{\"name\":\"sockets\",\"mountPath\":"
        "\"/var/run/kubevirt/sockets\"},{\"name\":\"hotplug-disks\",\"mountPath\":\"/var/run/kubevirt/hotplug-disks\","
        "\"mountPropagation\":\"HostToContainer\"}],\"volumeDevices\":[{\"name\":\"rootdisk\",\"devicePath\":\"/dev/"
        "rootdisk\"}],"
        "\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":"
        "\"IfNotPresent\",\"securityContext\":{\"capabilities\":{\"add\":[\"NET_BIND_SERVICE\"],\"drop\":[\"ALL\"]},"
        "\"privileged\":false,\"runAsUser\":107,\"runAsGroup\":107,\"runAsNonRoot\":true,\"allowPrivilegeEscalation\":"
        "false}}],"
        "\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":210,\"dnsPolicy\":\"ClusterFirst\",",
        out);
}

static void write_pod_placement(FILE *out, const struct vm *vm)
{
    fprintf(
        out,
        "\"nodeSelector\":{\"kubernetes.io/arch\":\"amd64\",\"kubevirt.io/schedulable\":\"true\","
        "\"machine-type.node.kubevirt.io/pc-q35-rhel9.4.0\":\"true\"},"
        "\"automountServiceAccountToken\":false,\"nodeName\":\"node-%05u\",\"securityContext\":{\"runAsUser\":107,"
        "\"runAsGroup\":107,\"runAsNonRoot\":true,\"fsGroup\":107},\"hostname\":\"%s\",\"schedulerName\":"
        "\"default-scheduler\",\"tolerations\":[{\"key\":\"node.kubernetes.io/"
        "not-ready\",\"operator\":\"Exists\",\"effect\":"
        "\"NoExecute\",\"tolerationSeconds\":300},{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\","
        "\"effect\":\"NoExecute\",\"tolerationSeconds\":300},{\"key\":\"node.kubernetes.io/"
        "memory-pressure\",\"operator\":"
        "\"Exists\",\"effect\":\"NoSchedule\"}],\"priority\":0,\"readinessGates\":[{\"conditionType\":"
        "\"kubevirt.io/virtual-machine-unpaused\"}],\"enableServiceLinks\":false,\"preemptionPolicy\":"
        "\"PreemptLowerPriority\"},",
        vm->node, vm->name);
}

static void write_pod_status(FILE *out, const struct vm *vm)
{
    fputs("\"status\":{\"phase\":\"Running\",\"conditions\":[", out);
    for (unsigned c = 0; c < 5; c++) {
        static const char *const types[] = { "kubevirt.io/virtual-machine-unpaused", "Initialized", "Ready",
                                             "ContainersReady", "PodScheduled" };

        fprintf(out,
                "%s{\"type\":\"%s\",\"status\":\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":"
                "\"2026-06-01T09:10:2%uZ\"}",
                c ? "," : "", types[c], c);
    }
    fprintf(
        out,
        "],\"hostIP\":\"10.0.%u.%u\",\"podIP\":\"10.128.%u.%u\",\"podIPs\":[{\"ip\":\"10.128.%u.%u\"}],\"startTime\":"
        "\"2026-06-01T09:10:12Z\",\"containerStatuses\":[{\"name\":\"compute\",\"state\":{\"running\":{\"startedAt\":"
        "\"2026-06-01T09:10:30Z\"}},\"lastState\":{},\"ready\":true,\"restartCount\":0,\"image\":"
        "\"registry.example.com/kubevirt/virt-launcher@sha256:%064x\",\"imageID\":"
        "\"registry.example.com/kubevirt/virt-launcher@sha256:%064x\",\"containerID\":\"cri-o://"
        "%064x\",\"started\":true}],"
        "\"qosClass\":\"Burstable\"}}",
        vm->node / 256 % 256, vm->node % 256, vm->i >> 8 & 255, vm->i & 255, vm->i >> 8 & 255, vm->i & 255, 4711, 4711,
        vm->i * 31u);
}

static void write_pod(FILE *out, const struct vm *vm)
{
    write_pod_metadata(out, vm);
    write_pod_volumes(out, vm);
    write_pod_container(out, vm);
    write_pod_placement(out, vm);
    write_pod_status(out, vm);
}

static void write_pvc(FILE *out, const struct vm *vm)
{
    char id[40];

    uid(id, 4, vm->i);
    fprintf(
        out,
        "\n{\"metadata\":{\"name\":\"%s-root\",\"namespace\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%u\","
        "\"creationTimestamp\":\"2026-06-01T09:00:00Z\",\"labels\":{\"app\":\"containerized-data-importer\","
        "\"app.kubernetes.io/component\":\"storage\",\"app.kubernetes.io/"
        "managed-by\":\"cdi-controller\"},\"annotations\":"
        "{\"cdi.kubevirt.io/storage.condition.running.message\":\"Import Complete\","
        "\"cdi.kubevirt.io/storage.pod.phase\":\"Succeeded\",\"pv.kubernetes.io/bind-completed\":\"yes\","
        "\"pv.kubernetes.io/bound-by-controller\":\"yes\",\"volume.kubernetes.io/storage-provisioner\":"
        "\"rbd.csi.ceph.com\"},\"ownerReferences\":[{\"apiVersion\":\"cdi.kubevirt.io/"
        "v1beta1\",\"kind\":\"DataVolume\","
        "\"name\":\"%s-root\",\"uid\":\"%s\",\"controller\":true,\"blockOwnerDeletion\":true}],\"finalizers\":"
        "[\"kubernetes.io/pvc-protection\"]},\"spec\":{\"accessModes\":[\"ReadWriteMany\"],\"resources\":{\"requests\":"
        "{\"storage\":\"30Gi\"}},\"volumeName\":\"pvc-%s\",\"storageClassName\":\"ceph-rbd\",\"volumeMode\":\"Block\"},"
        "\"status\":{\"phase\":\"Bound\",\"accessModes\":[\"ReadWriteMany\"],\"capacity\":{\"storage\":\"30Gi\"}}}",
        vm->name, vm->ns, id, 300000 + vm->i, vm->name, id, id);
}

/* By namespace and name, as the API server lists them, in files of some thousand objects each. */
static void write_vms(const char *name, const char *api, const char *kind, void (*write)(FILE *, const struct vm *))
{
    FILE *out = NULL;
    unsigned n = 0;
    char file[64];

    for (unsigned ns = 0; ns < NAMESPACES; ns++) {
        for (unsigned i = ns; i < n_vms; i += NAMESPACES, n++) {
            struct vm vm = vm_of(i);

            if (n % PER_FILE == 0) {
                if (out)
                    end(out);
                snprintf(file, sizeof(file), "%s-%03u", name, n / PER_FILE);
                out = begin(file, api, kind);
            } else {
                fputc(',', out);
            }
            write(out, &vm);
        }
    }
    if (out)
        end(out);
}

static void write_kubevirt(void)
{
    FILE *out = begin("kubevirts", "kubevirt.io/v1", "KubeVirt");

    fputs(
        "\n{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":\"KubeVirt\",\"metadata\":{\"name\":\"kubevirt\",\"namespace\":"
        "\"kubevirt\",\"uid\":\"00000000-0000-4000-8000-000000000001\"},\"spec\":{\"configuration\":{\"migrations\":"
        "{\"parallelMigrationsPerCluster\":20,\"parallelOutboundMigrationsPerNode\":4}},\"workloadUpdateStrategy\":"
        "{\"workloadUpdateMethods\":[\"LiveMigrate\"]}},\"status\":{\"phase\":\"Deployed\",\"observedKubeVirtVersion\":"
        "\"v1.6.2\"}}",
        out);
    end(out);
    out = begin("vmims", "kubevirt.io/v1", "VirtualMachineInstanceMigration");
    end(out);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("Usage: generate FOLDER NODES VMS [VMS_ON_THE_FIRST_NODE]\n", stderr);
        return 2;
    }
    folder = argv[1];
    n_nodes = (unsigned)strtoul(argv[2], NULL, 10);
    n_vms = (unsigned)strtoul(argv[3], NULL, 10);
    n_first = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    if (!n_nodes || (mkdir(folder, 0777) && errno != EEXIST)) {
        fprintf(stderr, "generate: %s: %m\n", folder);
        return 1;
    }
    write_nodes();
    write_kubevirt();
    write_vms("vmis", "kubevirt.io/v1", "VirtualMachineInstance", write_vmi);
    write_vms("pods", "v1", "Pod", write_pod);
    write_vms("pvcs", "v1", "PersistentVolumeClaim", write_pvc);
    return 0;
}
