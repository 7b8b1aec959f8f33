// SPDX-License-Identifier: LGPL-2.1-or-later

// The pods of a migration's target: the launcher, and the attachment pod for hotplugged volumes. Also the source's
// launcher, and the check of ResourceQuotas that the API server's admission would do.

package sim

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// sourcePod is the launcher that runs the guest now.
func (s *Sim) sourcePod(vmi *object) *object {
	var found *object
	for _, pod := range s.pods.by(byCreator, uid(vmi)) {
		if ownedBy(pod, vmi.GetUID()) && label(pod, "kubevirt.io") == "virt-launcher" && !podTerminal(pod) &&
			str(pod, "spec", "nodeName") == str(vmi, "status", "nodeName") {
			found = pod
		}
	}
	return found
}

// targetPod renders the target launcher of a migration.
func (s *Sim) targetPod(l *look, source *object) (*object, error) {
	selector, err := s.targetSelector(l, source)
	if err != nil {
		return nil, err
	}
	disks, err := pinnedDisks(l.vmi, source)
	if err != nil {
		return nil, err
	}
	pod := s.launcherPod(l.vmi, s.targetImage(l, source), disks, selector)
	setLabel(pod, labelJobUID, uid(l.migration))
	setAnnotation(pod, annotationJobName, l.migration.GetName())
	apart := map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{labelCreatedBy: uid(l.vmi)}},
		"topologyKey": "kubernetes.io/hostname"}
	path := []string{"spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"}
	set(pod, append(list(pod, path...), apart), path...)
	return pod, nil
}

func (s *Sim) targetImage(l *look, source *object) string {
	if image := annotation(l.migration, annotationTargetImage); image != "" {
		return image
	}
	if s.o.LauncherImage != "" {
		return s.o.LauncherImage
	}
	return computeImage(source)
}

// computeImage is the image of a launcher's own container.
func computeImage(launcher *object) string {
	for _, c := range objects(launcher, "spec", "containers") {
		if at(c, "name") == "compute" && at(c, "image") != "" {
			return at(c, "image")
		}
	}
	return defaultLauncherImage
}

// pinnedDisks gives the image of each containerDisk by the digest that the source runs.
func pinnedDisks(vmi, source *object) (map[string]string, error) {
	out := map[string]string{}
	for _, v := range objects(vmi, "spec", "volumes") {
		if below(v, "containerDisk") == nil {
			continue
		}
		id := containerStatus(source, "volume"+at(v, "name"), "imageID")
		_, digest, found := strings.Cut(id, "@")
		if !found {
			if at := strings.Index(id, "sha256:"); at >= 0 {
				digest, found = id[at:], true
			}
		}
		if !found {
			return nil, fmt.Errorf(
				"container volume%s of pod %s has no image digest (imageID %q), which the target must be pinned to",
				at(v, "name"),
				source.GetName(),
				id,
			)
		}
		out[at(v, "name")] = repository(at(v, "containerDisk", "image")) + "@" + digest
	}
	return out, nil
}

func containerStatus(pod *object, name, member string) string {
	for _, c := range objects(pod, "status", "containerStatuses") {
		if at(c, "name") == name {
			return at(c, member)
		}
	}
	return ""
}

// repository cuts tag and digest off an image.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		return image[:colon]
	}
	return image
}

// hasHotplug says whether a migration of the VMI needs an attachment pod.
func hasHotplug(vmi *object) bool {
	if vmi == nil {
		return false
	}
	for _, v := range objects(vmi, "status", "volumeStatus") {
		if below(v, "hotplugVolume") != nil {
			return true
		}
	}
	for _, v := range objects(vmi, "spec", "volumes") {
		if hotpluggable(v) {
			return true
		}
	}
	return false
}

// createAttachment makes the one attachment pod of the target, next to its launcher.
func (s *Sim) createAttachment(ctx context.Context, l *look) error {
	pod := s.attachmentPod(l.vmi, l.pod)
	setLabel(pod, labelJobUID, uid(l.migration))
	setAnnotation(pod, annotationJobName, l.migration.GetName())
	made, err := s.pods.createOnce(ctx, "kubevirt.io=hotplug-disk,"+labelJobUID+"="+uid(l.migration), pod)
	if err != nil && refused(err) {
		s.tell(l.vmi, byController, warning, "FailedCreate", "Error creating attachment pod: %v", err)
	}
	if err != nil || made == nil {
		return err
	}
	s.events.say(l.migration, byController, normal, "SuccessfulCreate", "Created attachment pod %s", made.GetName())
	return nil
}

// tolerated are the states of a node in spite of which an attachment pod goes there.
var tolerated = []string{"disk-pressure", "memory-pressure", "network-unavailable", "pid-pressure", "unschedulable"}

// attachmentPod renders a pod that mounts the hotplugged volumes of a VMI on the node of one of its launchers.
func (s *Sim) attachmentPod(vmi, launcher *object) *object {
	volumes := []any{map[string]any{"name": "hotplug-disks", "emptyDir": map[string]any{}}}
	for _, v := range objects(vmi, "spec", "volumes") {
		if hotpluggable(v) {
			volumes = append(volumes, map[string]any{"name": at(v, "name"),
				"persistentVolumeClaim": map[string]any{"claimName": claimOf(v)}})
		}
	}
	image := computeImage(launcher)
	affinity := map[string]any{}
	requireNodes(affinity, []any{expression("kubernetes.io/hostname", "In", str(launcher, "spec", "nodeName"))})
	tolerations := []any{}
	for _, taint := range tolerated {
		tolerations = append(tolerations, map[string]any{"key": "node.kubernetes.io/" + taint, "operator": "Exists",
			"effect": "NoSchedule"})
	}
	return &object{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"generateName": "hp-volume-", "namespace": vmi.GetNamespace(),
			"labels": map[string]any{"kubevirt.io": "hotplug-disk"},
			"annotations": map[string]any{
				"kubevirt.io/owner-vmi-name": vmi.GetName(),
				"kubevirt.io/owner-vmi-uid":  uid(vmi),
			},
			"ownerReferences": []any{ownerReference(launcher)}},
		"spec": map[string]any{
			"terminationGracePeriodSeconds": int64(0),
			"affinity":                      affinity,
			"tolerations":                   tolerations,
			"volumes":                       volumes,
			"containers": []any{map[string]any{"name": "hotplug-disk", "image": image,
				"command": []any{"/bin/sh", "-c", "/usr/bin/container-disk --copy-path /path/hp"},
				"resources": map[string]any{
					"limits":   map[string]any{"cpu": "100m", "memory": "80M"},
					"requests": map[string]any{"cpu": "10m", "memory": "2M"},
				}}},
		},
		"status": map[string]any{"phase": "Pending"},
	}}
}

// checkQuota refuses a pod that would exceed a ResourceQuota of its namespace, in the words of the API server.
func (s *Sim) checkQuota(pod *object) error {
	wanted := quotaUse(pod)
	for _, quota := range s.quotas.all() {
		if quota.GetNamespace() != pod.GetNamespace() {
			continue
		}
		hard := child(quota, "spec", "hard")
		asked, used, limited := []string{}, []string{}, []string{}
		for _, name := range sortedKeys(hard) {
			most, err := resource.ParseQuantity(fmt.Sprint(hard[name]))
			want, counted := wanted[name]
			if err != nil || !counted {
				continue
			}
			have := s.quotaUsed(pod.GetNamespace(), name)
			sum := have.DeepCopy()
			sum.Add(want)
			if sum.Cmp(most) > 0 {
				asked = append(asked, name+"="+want.String())
				used = append(used, name+"="+have.String())
				limited = append(limited, name+"="+most.String())
			}
		}
		if len(asked) > 0 {
			return fmt.Errorf("pods %q is forbidden: %w: %s, requested: %s, used: %s, limited: %s",
				pod.GetGenerateName(), errQuota, quota.GetName(), strings.Join(asked, ","), strings.Join(used, ","),
				strings.Join(limited, ","))
		}
	}
	return nil
}

func sortedKeys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func (s *Sim) quotaUsed(namespace, name string) resource.Quantity {
	sum := resource.Quantity{}
	for _, pod := range s.pods.all() {
		if pod.GetNamespace() == namespace && !podTerminal(pod) {
			sum.Add(quotaUse(pod)[name])
		}
	}
	return sum
}

// quotaUse is what a pod counts for, under every name that a quota may use for it.
func quotaUse(pod *object) map[string]resource.Quantity {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	out := map[string]resource.Quantity{"pods": one, "count/pods": one}
	for _, part := range []string{"requests", "limits"} {
		for name, q := range podResources(pod, part) {
			out[part+"."+name] = q
			if part == "requests" && (name == "cpu" || name == "memory") {
				out[name] = q
			}
		}
	}
	return out
}

// podResources sums a part of the resources of a pod's containers.
func podResources(pod *object, part string) map[string]resource.Quantity {
	out := map[string]resource.Quantity{}
	for _, c := range objects(pod, "spec", "containers") {
		for name, v := range below(c, "resources", part) {
			q, err := resource.ParseQuantity(fmt.Sprint(v))
			if err != nil {
				continue
			}
			sum := out[name]
			sum.Add(q)
			out[name] = sum
		}
	}
	return out
}
