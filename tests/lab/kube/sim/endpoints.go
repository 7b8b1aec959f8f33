// SPDX-License-Identifier: LGPL-2.1-or-later

// The EndpointSlice controller: one slice per Service, with the pods that the Service selects. A launcher pod is a
// ready endpoint when its Ready condition is true, which follows its readiness gate, which follows the guest.

package sim

import (
	"context"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const serviceLabel = "kubernetes.io/service-name"

func (s *Sim) reconcileService(ctx context.Context, k string) (time.Duration, error) {
	service := s.services.get(k)
	if service == nil || len(child(service, "spec", "selector")) == 0 {
		return 0, nil
	}
	endpoints := []any{}
	for _, pod := range s.pods.all() {
		if pod.GetNamespace() == service.GetNamespace() && selects(service, pod) {
			if e := endpoint(pod); e != nil {
				endpoints = append(endpoints, e)
			}
		}
	}
	name := service.GetNamespace() + "/" + service.GetName() + "-slice"
	if s.slices.get(name) == nil {
		_, err := s.slices.create(ctx, slice(service, endpoints))
		if apierrors.IsAlreadyExists(err) {
			return time.Second, nil // the watch will show it
		}
		return 0, err
	}
	return 0, s.slices.update(ctx, name, func(o *object) bool {
		if reflect.DeepEqual(list(o, "endpoints"), endpoints) || len(list(o, "endpoints"))+len(endpoints) == 0 {
			return false
		}
		set(o, endpoints, "endpoints")
		return true
	})
}

func selects(service, pod *object) bool {
	for name, v := range child(service, "spec", "selector") {
		if text, ok := v.(string); !ok || label(pod, name) != text {
			return false
		}
	}
	return true
}

// endpoint is a pod as its Services see it; nil when they do not.
func endpoint(pod *object) map[string]any {
	ip := str(pod, "status", "podIP")
	if ip == "" || podTerminal(pod) {
		return nil
	}
	ready := conditionTrue(pod, "Ready")
	return map[string]any{"addresses": []any{ip}, "nodeName": str(pod, "spec", "nodeName"),
		"conditions": map[string]any{"ready": ready && !deleting(pod), "serving": ready, "terminating": deleting(pod)},
		"targetRef": map[string]any{
			"kind":      "Pod",
			"namespace": pod.GetNamespace(),
			"name":      pod.GetName(),
			"uid":       uid(pod),
		}}
}

func slice(service *object, endpoints []any) *object {
	ports := []any{}
	for _, p := range objects(service, "spec", "ports") {
		port := map[string]any{"name": at(p, "name"), "protocol": "TCP"}
		if protocol := at(p, "protocol"); protocol != "" {
			port["protocol"] = protocol
		}
		port["port"] = number(p["targetPort"], number(p["port"], 0))
		ports = append(ports, port)
	}
	return &object{Object: map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
		"metadata": map[string]any{"name": service.GetName() + "-slice", "namespace": service.GetNamespace(),
			"labels": map[string]any{
				serviceLabel:                             service.GetName(),
				"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
			},
			"ownerReferences": []any{ownerReference(service)}},
		"endpoints": endpoints, "ports": ports,
	}}
}
