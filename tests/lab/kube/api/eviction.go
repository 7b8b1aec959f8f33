// SPDX-License-Identifier: LGPL-2.1-or-later

// What KubeVirt's eviction webhook does: a launcher pod is not evicted; its VMI is marked for evacuation instead.

package api

import (
	"context"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
)

const evictionWebhook = "virt-launcher-eviction-interceptor.kubevirt.io"

// blocked is the answer that tells a draining client to come back later.
func blocked(format string, args ...any) *metav1.Status {
	answer := refuse(format, args...)
	answer.Code, answer.Reason = http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests
	return answer
}

func (k kubevirtAdmission) evict(ctx context.Context, a admission.Attributes) *metav1.Status {
	pod, err := k.reader.Pod(ctx, a.GetNamespace(), a.GetName())
	if err != nil {
		return nil // the request itself will say so
	}
	switch pod.Labels["kubevirt.io"] {
	case "hotplug-disk":
		return refuse("cannot evict hotplug pod: %s associated with running vmi", pod.Name)
	case "virt-launcher":
	default:
		return nil
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	name := pod.Annotations["kubevirt.io/domain"]
	vmi, err := k.reader.VMI(ctx, pod.Namespace, name)
	if err != nil {
		return blocked("the VMI \"%s/%s\" of pod %s cannot be read: %s", pod.Namespace, name, pod.Name, err)
	}
	if text(vmi.Object, "status", "nodeName") != pod.Spec.NodeName {
		return nil
	}
	evacuate, answer := k.evacuates(ctx, vmi)
	if !evacuate {
		return answer
	}
	if text(vmi.Object, "status", "evacuationNodeName") != "" {
		return blocked("Evacuation in progress: Eviction of VMI \"%s/%s\" was triggered before", vmi.GetNamespace(), name)
	}
	if !a.IsDryRun() {
		if err := k.reader.MarkEvacuation(ctx, vmi, pod.Spec.NodeName); err != nil {
			return blocked("VMI \"%s/%s\" cannot be marked: %s", vmi.GetNamespace(), name, err)
		}
	}
	return blocked("Eviction triggered evacuation of VMI \"%s/%s\"", vmi.GetNamespace(), name)
}

// evacuates tells by the eviction strategy whether the VMI is to be marked; if not, the answer (nil: the pod goes).
func (k kubevirtAdmission) evacuates(ctx context.Context, vmi *unstructured.Unstructured) (bool, *metav1.Status) {
	strategy := text(vmi.Object, "spec", "evictionStrategy")
	if strategy == "" {
		strategy, _ = k.reader.EvictionStrategy(ctx)
	}
	can := slices.ContainsFunc(conditions(vmi), func(c map[string]any) bool {
		return text(c, "type") == "LiveMigratable" && text(c, "status") == "True"
	})
	switch strategy {
	case "External":
		return true, nil
	case "LiveMigrate":
		if !can {
			return false, blocked("VMI %s is configured with an eviction strategy but is not live-migratable", vmi.GetName())
		}
		return true, nil
	case "LiveMigrateIfPossible":
		return can, nil
	}
	return false, nil
}
