# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kubernetes objects of the lab: nodes, KubeVirt, and what one guest consists of. Builds dictionaries, talks to nobody."""
import time

from . import settings

NAMESPACE = "lab"
CPU_MODEL, MACHINE = "Haswell", "pc-i440fx-7.2"
HOSTNAME_LABEL = "kubernetes.io/hostname"


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def node(host):
    labels = {HOSTNAME_LABEL: host.hostname, "kubernetes.io/arch": "amd64", "kubevirt.io/schedulable": "true",
              f"cpu-model.node.kubevirt.io/{CPU_MODEL}": "true", "cpu-vendor.node.kubevirt.io/Intel": "true",
              f"machine-type.node.kubevirt.io/{MACHINE}": "true"}
    room = {"cpu": "8", "memory": "16Gi", "pods": "110", "devices.kubevirt.io/kvm": "1k", "devices.kubevirt.io/tun": "1k",
            "devices.kubevirt.io/vhost-net": "1k"}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": host.hostname, "labels": labels, "annotations": {"kubevirt.io/heartbeat": now()}},
            "status": {"capacity": room, "allocatable": room,
                       "addresses": [{"type": "InternalIP", "address": host.address}],
                       "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                                       "lastHeartbeatTime": now(), "lastTransitionTime": now()}],
                       "nodeInfo": {"architecture": "amd64", "kernelVersion": "lab", "kubeletVersion": "v1.36.0"}}}


def kubevirt():
    return {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
            "spec": {"configuration": {"vmRolloutStrategy": "LiveUpdate"},
                     "workloadUpdateStrategy": {"workloadUpdateMethods": ["LiveMigrate"]}},
            "status": {"phase": "Deployed", "observedKubeVirtVersion": "v1.9.0", "observedDeploymentID": "1",
                       "targetDeploymentID": "1"}}


def tenancy():
    """Lets the user `tenant` view and migrate in the lab's namespace, and nowhere else."""
    for role in ("kvmig:view", "kubevirt.io:migrate"):
        yield {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
               "metadata": {"name": f"tenant-{role.replace(':', '-')}", "namespace": NAMESPACE},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
               "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tenant"}]}


def claim(name, size, shared):
    mode = "ReadWriteMany" if shared else "ReadWriteOnce"
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"accessModes": [mode], "resources": {"requests": {"storage": str(size)}}, "volumeMode": "Filesystem",
                     "storageClassName": "shared" if shared else "local", "volumeName": f"pv-{name}"},
            "status": {"phase": "Bound", "accessModes": [mode], "capacity": {"storage": str(size)}}}


def volume(name, size, shared, path, hostname=None):
    """The PV of a claim; a local one belongs to one node."""
    spec = {"accessModes": ["ReadWriteMany" if shared else "ReadWriteOnce"], "capacity": {"storage": str(size)},
            "storageClassName": "shared" if shared else "local", "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": NAMESPACE, "name": name}}
    if shared:
        spec["nfs"] = {"server": settings.CONTROLLER_ADDRESS, "path": path}
    else:
        spec["local"] = {"path": path}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": HOSTNAME_LABEL, "operator": "In", "values": [hostname]}]}]}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pv-{name}"}, "spec": spec,
            "status": {"phase": "Bound"}}


def claim_name(vm, index):
    return f"{vm}-disk{index}"


def vmi_spec(record, claims):
    return {"architecture": "amd64", "evictionStrategy": "LiveMigrate",
            "domain": {**({"firmware": {"uuid": record["uuid"]}} if "uuid" in record else {}),
                       "cpu": {"model": CPU_MODEL, "sockets": 1, "cores": 1, "threads": 1},
                       "machine": {"type": MACHINE}, "memory": {"guest": f"{record['memory']}Mi"},
                       "resources": {"requests": {"memory": f"{record['memory']}Mi"}},
                       "devices": {"disks": [{"name": f"disk{i}", "disk": {"bus": "virtio"}} for i, _ in enumerate(claims)],
                                   "interfaces": [{"name": "default", "bridge": {}, "macAddress": record["mac"]}]}},
            "networks": [{"name": "default", "pod": {}}],
            "volumes": [{"name": f"disk{i}", "persistentVolumeClaim": {"claimName": c}} for i, c in enumerate(claims)]}


def vm(record, claims, hostname):
    """A VM whose first pod the simulator puts on that node; it makes the VMI."""
    annotations = {"kubevirt.io/allow-pod-bridge-network-live-migration": "", "sim.kvmig.test/node": hostname}
    meta = {"annotations": annotations, "labels": {"app": record["name"]}}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
            "metadata": {"name": record["name"], "namespace": NAMESPACE},
            "spec": {"runStrategy": "Always", "template": {"metadata": meta, "spec": vmi_spec(record, claims)}}}


def service(name):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"selector": {"vmi.kubevirt.io/id": name},
                     "ports": [{"port": settings.GUEST_HTTP_PORT, "targetPort": settings.GUEST_HTTP_PORT, "protocol": "TCP"}]}}
