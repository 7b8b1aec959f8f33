// SPDX-License-Identifier: LGPL-2.1-or-later

// The launcher pod of a VMI, as KubeVirt renders it from the VMI alone. What no client looks at is left out.

package sim

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	defaultLauncherImage = "registry.example/virt-launcher:v1"
	memoryOverhead       = int64(290) << 20
	unpausedCondition    = "kubevirt.io/virtual-machine-unpaused"
	labelLengthMost      = 63
)

// launcherPod renders the pod; image is that of the compute container, disks maps a containerDisk volume to its image.
func (s *Sim) launcherPod(vmi *object, image string, disks map[string]string, selector map[string]string) *object {
	id := uid(vmi)
	labels := map[string]any{}
	for k, v := range child(vmi, "metadata", "labels") {
		if k != labelTargetNode {
			labels[k] = v
		}
	}
	name := vmi.GetName()
	labels = merged(labels, map[string]any{"kubevirt.io": "virt-launcher", labelCreatedBy: id,
		"vm.kubevirt.io/name": clipped(name), "vmi.kubevirt.io/id": clipped(name)})
	nodes := map[string]any{}
	for k, v := range selector {
		nodes[k] = v
	}
	volumes, containers := launcherVolumes(vmi, disks)
	spec := map[string]any{
		"restartPolicy": "Never", "terminationGracePeriodSeconds": int64(60), "automountServiceAccountToken": false,
		"enableServiceLinks": false, "hostname": clipped(name), "nodeSelector": nodes,
		"affinity":       s.launcherAffinity(vmi),
		"readinessGates": []any{map[string]any{"conditionType": unpausedCondition}},
		"volumes":        volumes,
		"containers":     append([]any{computeContainer(vmi, image)}, containers...),
	}
	for _, member := range []string{"tolerations", "topologySpreadConstraints", "schedulerName", "priorityClassName"} {
		if v, ok := child(vmi, "spec")[member]; ok {
			spec[member] = runtime.DeepCopyJSONValue(v)
		}
	}
	return &object{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"generateName": "virt-launcher-" + name + "-", "namespace": vmi.GetNamespace(),
			"labels": labels, "annotations": launcherAnnotations(vmi), "ownerReferences": []any{ownerReference(vmi)}},
		"spec": spec, "status": map[string]any{"phase": "Pending"},
	}}
}

func clipped(name string) string {
	if len(name) > labelLengthMost {
		return name[:labelLengthMost]
	}
	return name
}

func launcherAnnotations(vmi *object) map[string]any {
	out := map[string]any{}
	for k, v := range child(vmi, "metadata", "annotations") {
		if k != annotationLatestAPI && k != annotationStorageAPI {
			out[k] = v
		}
	}
	return merged(out, map[string]any{
		"descheduler.alpha.kubernetes.io/request-evict-only": "",
		"kubectl.kubernetes.io/default-container":            "compute",
		"kubevirt.io/domain":                                 vmi.GetName(),
		"kubevirt.io/memory-overhead-bytes":                  strconv.FormatInt(memoryOverhead, 10),
		"kubevirt.io/migrationTransportUnix":                 "true",
	})
}

// launcherVolumes gives the volumes of the pod, and the containers that containerDisks need.
func launcherVolumes(vmi *object, disks map[string]string) (volumes, containers []any) {
	own := []string{"private", "public", "sockets", "virt-bin-share-dir", "libvirt-runtime", "ephemeral-disks"}
	for _, name := range own {
		volumes = append(volumes, map[string]any{"name": name, "emptyDir": map[string]any{}})
	}
	for _, v := range objects(vmi, "spec", "volumes") {
		if claim := claimOf(v); claim != "" && !hotpluggable(v) {
			volumes = append(volumes,
				map[string]any{"name": at(v, "name"), "persistentVolumeClaim": map[string]any{"claimName": claim}})
		}
		if below(v, "containerDisk") != nil {
			name := "volume" + at(v, "name")
			containers = append(containers, map[string]any{"name": name, "image": disks[at(v, "name")],
				"resources": map[string]any{"requests": map[string]any{"cpu": "1m", "memory": "1M"}}})
		}
	}
	return append(volumes, map[string]any{"name": "hotplug-disks", "emptyDir": map[string]any{}}), containers
}

// claimOf gives the claim behind a volume of a VMI, or "". A DataVolume's claim has the DataVolume's name.
func claimOf(volume map[string]any) string {
	if name := at(volume, "persistentVolumeClaim", "claimName"); name != "" {
		return name
	}
	return at(volume, "dataVolume", "name")
}

func hotpluggable(volume map[string]any) bool {
	return below(volume, "persistentVolumeClaim")["hotpluggable"] == true ||
		below(volume, "dataVolume")["hotpluggable"] == true
}

func guestMemory(vmi *object) int64 {
	for _, path := range [][]string{
		{"spec", "domain", "memory", "guest"}, {"spec", "domain", "resources", "requests", "memory"}} {
		if q, err := resource.ParseQuantity(str(vmi, path...)); err == nil {
			return q.Value()
		}
	}
	return 0
}

func computeContainer(vmi *object, image string) map[string]any {
	requests := merged(child(vmi, "spec", "domain", "resources", "requests"))
	if requests["cpu"] == nil {
		requests["cpu"] = "100m"
	}
	requests["ephemeral-storage"] = "50M"
	requests["memory"] = resource.NewQuantity(guestMemory(vmi)+memoryOverhead, resource.BinarySI).String()
	limits := merged(child(vmi, "spec", "domain", "resources", "limits"), map[string]any{
		"devices.kubevirt.io/kvm": "1", "devices.kubevirt.io/tun": "1", "devices.kubevirt.io/vhost-net": "1"})
	timeout := fmt.Sprintf("%ds", qemuTimeoutBase+rand.IntN(qemuTimeoutSpread))
	return map[string]any{
		"name": "compute", "image": image, "imagePullPolicy": "IfNotPresent",
		"command": []any{"/usr/bin/virt-launcher-monitor"},
		"args": []any{"--qemu-timeout", timeout, "--name", vmi.GetName(), "--uid", uid(vmi),
			"--namespace", vmi.GetNamespace()},
		"resources": map[string]any{"requests": requests, "limits": limits},
	}
}

// launcherAffinity is the VMI's own affinity and what its CPU asks for.
func (s *Sim) launcherAffinity(vmi *object) map[string]any {
	affinity := map[string]any{}
	if own := child(vmi, "spec", "affinity"); own != nil {
		affinity = runtime.DeepCopyJSON(own)
	}
	absent := []any{}
	if model := s.cpuModel(vmi); model == hostModel {
		absent = append(absent, expression("node-labeller.kubevirt.io/obsolete-host-model", "DoesNotExist"))
	}
	for _, f := range objects(vmi, "spec", "domain", "cpu", "features") {
		if at(f, "policy") == "forbid" {
			absent = append(absent, expression(prefixFeature+at(f, "name"), "DoesNotExist"))
		}
	}
	if len(absent) > 0 {
		requireNodes(affinity, absent)
	}
	return affinity
}

func expression(name, operator string, values ...any) map[string]any {
	e := map[string]any{"key": name, "operator": operator}
	if len(values) > 0 {
		e["values"] = values
	}
	return e
}

// requireNodes adds expressions to every term of the required node affinity.
func requireNodes(affinity map[string]any, expressions []any) {
	a := &object{Object: affinity}
	path := []string{"nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"}
	terms := []any{}
	for _, term := range objects(a, path...) {
		have, _ := term["matchExpressions"].([]any)
		term["matchExpressions"] = append(have, expressions...)
		terms = append(terms, term)
	}
	if len(terms) == 0 {
		terms = []any{map[string]any{"matchExpressions": expressions}}
	}
	set(a, terms, path...)
}
