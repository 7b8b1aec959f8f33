// SPDX-License-Identifier: LGPL-2.1-or-later

// Storage of the built-in kinds on the generic registry: one store per kind, a status subresource where the kind has
// a Status, the binding of pods, and the fields that field selectors may name.

package api

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
)

// strategy is what the registry asks about the main endpoint of a kind.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	namespaced bool
}

func (s strategy) NamespaceScoped() bool { return s.namespaced }

func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	setInitialStatus(obj)
	if pod, ok := obj.(*corev1.Pod); ok {
		addTokenVolume(pod)
	}
	setDefaults(obj)
}

// PrepareForUpdate keeps the status: only the status subresource writes it.
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	copyField(obj, old, "Status")
	setDefaults(obj)
}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList { return validate(obj) }
func (strategy) ValidateUpdate(_ context.Context, obj, _ runtime.Object) field.ErrorList {
	return validate(obj)
}
func (strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }
func (strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
func (strategy) AllowCreateOnUpdate() bool      { return false }
func (strategy) AllowUnconditionalUpdate() bool { return true }
func (strategy) Canonicalize(runtime.Object)    {}

// statusStrategy is the same for the status subresource: everything but the status and the plain metadata stays.
type statusStrategy struct{ strategy }

func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	copyField(obj, old, "Spec")
	now, err := meta.Accessor(obj)
	before, errOld := meta.Accessor(old)
	if err == nil && errOld == nil {
		now.SetOwnerReferences(before.GetOwnerReferences())
		now.SetFinalizers(before.GetFinalizers())
	}
}

func (statusStrategy) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}

// copyField sets obj.<name> = old.<name> where the kind has such a field.
func copyField(obj, old runtime.Object, name string) {
	to := reflect.ValueOf(obj).Elem().FieldByName(name)
	from := reflect.ValueOf(old).Elem().FieldByName(name)
	if to.IsValid() && from.IsValid() && to.CanSet() {
		to.Set(from)
	}
}

func hasStatus(obj runtime.Object) bool {
	return reflect.ValueOf(obj).Elem().FieldByName("Status").IsValid()
}

// selectable returns the labels of an object and the fields that a field selector may name.
func selectable(obj runtime.Object) (labels.Set, fields.Set, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, nil, err
	}
	f := fields.Set{"metadata.name": m.GetName(), "metadata.namespace": m.GetNamespace()}
	switch o := obj.(type) {
	case *corev1.Pod:
		f["spec.nodeName"], f["status.phase"] = o.Spec.NodeName, string(o.Status.Phase)
		f["spec.restartPolicy"], f["spec.schedulerName"] = string(o.Spec.RestartPolicy), o.Spec.SchedulerName
		f["spec.serviceAccountName"], f["status.podIP"] = o.Spec.ServiceAccountName, o.Status.PodIP
	case *corev1.Event:
		ref := o.InvolvedObject
		f["involvedObject.name"], f["involvedObject.uid"] = ref.Name, string(ref.UID)
		f["involvedObject.kind"], f["involvedObject.namespace"] = ref.Kind, ref.Namespace
		f["involvedObject.apiVersion"], f["involvedObject.resourceVersion"] = ref.APIVersion, ref.ResourceVersion
		f["involvedObject.fieldPath"] = ref.FieldPath
		f["reason"], f["type"], f["source"] = o.Reason, o.Type, o.Source.Component
		f["reportingComponent"] = o.ReportingController
	case *corev1.Node:
		unschedulable := "false"
		if o.Spec.Unschedulable {
			unschedulable = "true"
		}
		f["spec.unschedulable"] = unschedulable
	case *corev1.Namespace:
		f["status.phase"] = string(o.Status.Phase)
	case *corev1.Secret:
		f["type"] = string(o.Type)
	}
	return m.GetLabels(), f, nil
}

// registerFieldLabels makes every field of selectable() legal in a field selector; the others are refused with 400.
func registerFieldLabels() {
	for _, g := range groups {
		for _, r := range g.resources {
			obj, err := scheme.New(g.gv.WithKind(r.kind))
			utilruntime.Must(err)
			_, known, err := selectable(obj)
			utilruntime.Must(err)
			utilruntime.Must(scheme.AddFieldLabelConversionFunc(g.gv.WithKind(r.kind), acceptFields(known)))
		}
	}
}

func acceptFields(known fields.Set) runtime.FieldLabelConversionFunc {
	return func(label, value string) (string, string, error) {
		if _, ok := known[label]; !ok {
			return "", "", apierrors.NewBadRequest("field label not supported: " + label)
		}
		return label, value, nil
	}
}

// kindStore names the kind for discovery (short names) on top of the generic store.
type kindStore struct {
	*registry.Store
	shortNames []string
}

func (s kindStore) ShortNames() []string { return s.shortNames }

func newStore(getter generic.RESTOptionsGetter, gv schema.GroupVersion, r storedKind) (*registry.Store, error) {
	gr := schema.GroupResource{Group: gv.Group, Resource: r.name}
	create := func(kind string) func() runtime.Object {
		return func() runtime.Object {
			obj, err := scheme.New(gv.WithKind(kind))
			utilruntime.Must(err)
			return obj
		}
	}
	st := strategy{scheme, names.SimpleNameGenerator, r.namespaced}
	s := &registry.Store{
		NewFunc: create(r.kind), NewListFunc: create(r.kind + "List"),
		DefaultQualifiedResource:  gr,
		SingularQualifiedResource: schema.GroupResource{Group: gv.Group, Resource: r.singular},
		CreateStrategy:            st, UpdateStrategy: st, DeleteStrategy: st,
		TableConvertor: rest.NewDefaultTableConvertor(gr),
		PredicateFunc: func(l labels.Selector, f fields.Selector) storage.SelectionPredicate {
			return storage.SelectionPredicate{Label: l, Field: f, GetAttrs: selectable}
		},
	}
	return s, s.CompleteWithOptions(&generic.StoreOptions{RESTOptions: getter, AttrFunc: selectable})
}

// statusREST serves <resource>/status with get, update and patch.
type statusREST struct{ store *registry.Store }

func newStatusREST(s *registry.Store) statusREST {
	main := s.UpdateStrategy.(strategy)
	status := *s
	status.UpdateStrategy = statusStrategy{main}
	return statusREST{&status}
}

func (r statusREST) New() runtime.Object { return r.store.New() }
func (r statusREST) Destroy()            {}
func (r statusREST) Get(ctx context.Context, name string, o *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, o)
}
func (r statusREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, c rest.ValidateObjectFunc,
	u rest.ValidateObjectUpdateFunc, _ bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, info, c, u, false, o)
}
