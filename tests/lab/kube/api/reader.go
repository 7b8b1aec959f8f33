// SPDX-License-Identifier: LGPL-2.1-or-later

// How the server's own parts read and write custom resources: over the loopback client, as its superuser.

package api

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var (
	vmiResource       = schema.GroupVersionResource{Group: kubevirtGroup, Version: "v1", Resource: "virtualmachineinstances"}
	migrationResource = vmiResource.GroupVersion().WithResource("virtualmachineinstancemigrations")
	vmResource        = vmiResource.GroupVersion().WithResource("virtualmachines")
	kubevirtResource  = vmiResource.GroupVersion().WithResource("kubevirts")
)

type clusterReader struct {
	client dynamic.Interface
	stores stores
}

func (r clusterReader) VMI(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	return r.client.Resource(vmiResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (r clusterReader) Migrations(ctx context.Context, namespace, vmi string) ([]unstructured.Unstructured, error) {
	list, err := r.client.Resource(migrationResource).Namespace(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: selectorLabel + " in (" + vmi + ")"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// configuration is spec.configuration of the first KubeVirt resource; nil when there is none.
func (r clusterReader) configuration(ctx context.Context) (map[string]any, error) {
	list, err := r.client.Resource(kubevirtResource).List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	c, _, _ := unstructured.NestedMap(list.Items[0].Object, "spec", "configuration")
	return c, nil
}

func (r clusterReader) FeatureGates(ctx context.Context) ([]string, error) {
	c, err := r.configuration(ctx)
	if err != nil {
		return nil, err
	}
	gates, _, _ := unstructured.NestedStringSlice(c, "developerConfiguration", "featureGates")
	return gates, nil
}

func (r clusterReader) EvictionStrategy(ctx context.Context) (string, error) {
	c, err := r.configuration(ctx)
	return text(c, "evictionStrategy"), err
}

func (r clusterReader) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	obj, err := r.stores.current(ctx, "pods", namespace, name)
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Pod), nil
}

func (r clusterReader) Node(ctx context.Context, name string) (*corev1.Node, error) {
	obj, err := r.stores.current(ctx, "nodes", "", name)
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Node), nil
}

func (r clusterReader) NamespaceExists(ctx context.Context, name string) (bool, error) {
	_, err := r.stores.current(ctx, "namespaces", "", name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

type patchStep struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value,omitempty"`
}

const evacuationPath = "/status/evacuationNodeName"

func (r clusterReader) MarkEvacuation(ctx context.Context, vmi *unstructured.Unstructured, node string) error {
	return r.patchVMI(ctx, vmi, nil, patchStep{"add", evacuationPath, node})
}

// CancelEvacuation removes the mark if it is still the one that was read.
func (r clusterReader) CancelEvacuation(ctx context.Context, vmi *unstructured.Unstructured, dryRun []string) error {
	node := text(vmi.Object, "status", "evacuationNodeName")
	return r.patchVMI(ctx, vmi, dryRun, patchStep{"test", evacuationPath, node}, patchStep{Op: "remove", Path: evacuationPath})
}

func (r clusterReader) patchVMI(ctx context.Context, vmi *unstructured.Unstructured, dryRun []string,
	steps ...patchStep) error {
	body, err := json.Marshal(steps)
	if err != nil {
		return err
	}
	_, err = r.client.Resource(vmiResource).Namespace(vmi.GetNamespace()).Patch(ctx, vmi.GetName(), types.JSONPatchType,
		body, metav1.PatchOptions{DryRun: dryRun})
	return err
}

// lateReader is handed to admission before the clients exist; it is filled before the first request.
type lateReader struct{ clusterReader }
