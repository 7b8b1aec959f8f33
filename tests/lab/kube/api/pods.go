// SPDX-License-Identifier: LGPL-2.1-or-later

// The subresources of pods that are requests rather than data: binding and eviction.

package api

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
)

// bindingREST serves pods/binding: what a scheduler posts to give a pod its node.
type bindingREST struct{ pods *registry.Store }

func (bindingREST) New() runtime.Object { return &corev1.Binding{} }
func (bindingREST) Destroy()            {}

func (r bindingREST) Create(ctx context.Context, name string, obj runtime.Object, check rest.ValidateObjectFunc,
	o *metav1.CreateOptions) (runtime.Object, error) {
	binding, ok := obj.(*corev1.Binding)
	if !ok || binding.Target.Name == "" {
		return nil, apierrors.NewBadRequest("a binding needs target.name, the name of a node")
	}
	if check != nil {
		if err := check(ctx, obj); err != nil {
			return nil, err
		}
	}
	bind := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, now runtime.Object) (runtime.Object, error) {
		pod := now.DeepCopyObject().(*corev1.Pod)
		if pod.Spec.NodeName != "" {
			return nil, apierrors.NewConflict(corev1.Resource("pods/binding"), pod.Name,
				errAlreadyBound{pod.Name, pod.Spec.NodeName})
		}
		pod.Spec.NodeName = binding.Target.Name
		return pod, nil
	})
	_, _, err := r.pods.Update(ctx, name, bind, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false,
		&metav1.UpdateOptions{DryRun: o.DryRun})
	return &metav1.Status{Status: metav1.StatusSuccess}, err
}

type errAlreadyBound struct{ pod, node string }

func (e errAlreadyBound) Error() string {
	return "pod " + e.pod + " is already assigned to node \"" + e.node + "\""
}

// evictionREST serves pods/eviction. Admission has refused by then what KubeVirt would; disruption budgets are not
// looked at.
type evictionREST struct{ pods *registry.Store }

func (evictionREST) New() runtime.Object { return &policyv1.Eviction{} }
func (evictionREST) Destroy()            {}
func (evictionREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return policyv1.SchemeGroupVersion.WithKind("Eviction")
}

func (r evictionREST) Create(ctx context.Context, name string, obj runtime.Object, check rest.ValidateObjectFunc,
	o *metav1.CreateOptions) (runtime.Object, error) {
	eviction, ok := obj.(*policyv1.Eviction)
	if !ok || (eviction.Name != "" && eviction.Name != name) {
		return nil, apierrors.NewBadRequest("the eviction must name the pod of the request")
	}
	if check != nil {
		if err := check(ctx, obj); err != nil {
			return nil, err
		}
	}
	options := eviction.DeleteOptions
	if options == nil {
		options = &metav1.DeleteOptions{}
	}
	if len(o.DryRun) > 0 {
		options.DryRun = o.DryRun
	}
	_, _, err := r.pods.Delete(ctx, name, rest.ValidateAllObjectFunc, options)
	return &metav1.Status{Status: metav1.StatusSuccess}, err
}
