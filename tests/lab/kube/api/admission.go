// SPDX-License-Identifier: LGPL-2.1-or-later

// Admission: what KubeVirt's webhooks and Kubernetes' namespace check do to requests, in the process itself. The
// answers look like those of a webhook: same webhook names, status codes and tokens.

package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
)

const (
	kubevirtGroup     = "kubevirt.io"
	selectorLabel     = "kubevirt.io/vmi-name"
	migrationGuard    = "kubevirt.io/migrationJobFinalize"
	labelPrefix       = "kubevirt.io/"
	decentralizedGate = "DecentralizedLiveMigration"
)

// kubevirtAccounts are the users whose changes to VMIs are not restricted.
var kubevirtAccounts = []string{ControllerAccount, HandlerAccount, apiAccount,
	accountPrefix + "kubevirt-synchronization-controller"}

// kubevirtReader is what admission reads, and the one thing it writes.
type kubevirtReader interface {
	NamespaceExists(ctx context.Context, name string) (bool, error)
	VMI(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error)
	Migrations(ctx context.Context, namespace, vmi string) ([]unstructured.Unstructured, error)
	FeatureGates(ctx context.Context) ([]string, error)
	EvictionStrategy(ctx context.Context) (string, error)
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	MarkEvacuation(ctx context.Context, vmi *unstructured.Unstructured, node string) error
}

type kubevirtAdmission struct{ reader kubevirtReader }

var _ admission.MutationInterface = kubevirtAdmission{}
var _ admission.ValidationInterface = kubevirtAdmission{}

func (kubevirtAdmission) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Admit does what the mutating webhook of VMIMs does.
func (k kubevirtAdmission) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	obj, ok := a.GetObject().(*unstructured.Unstructured)
	if !ok || a.GetOperation() != admission.Create || !isKubevirt(a, "virtualmachineinstancemigrations") {
		return nil
	}
	name, _, _ := unstructured.NestedString(obj.Object, "spec", "vmiName")
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[selectorLabel] = name
	obj.SetLabels(labels)
	if !slices.Contains(obj.GetFinalizers(), migrationGuard) {
		obj.SetFinalizers(append(obj.GetFinalizers(), migrationGuard))
	}
	return nil
}

// Validate does what the namespace check and the validating webhooks do.
func (k kubevirtAdmission) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if err := k.checkNamespace(ctx, a); err != nil {
		return err
	}
	if a.GetResource().Resource == "pods" && a.GetSubresource() == "eviction" {
		return denied(evictionWebhook, k.evict(ctx, a))
	}
	obj, ok := a.GetObject().(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	old, _ := a.GetOldObject().(*unstructured.Unstructured)
	create := a.GetOperation() == admission.Create
	switch {
	case isKubevirt(a, "virtualmachineinstancemigrations") && create:
		return denied("migration-create-validator.kubevirt.io", k.createMigration(ctx, a.GetUserInfo().GetName(), obj))
	case isKubevirt(a, "virtualmachineinstancemigrations") && old != nil:
		return denied("migration-update-validator.kubevirt.io", updateMigration(obj, old))
	case isKubevirt(a, "virtualmachineinstances") && old != nil:
		return denied("virtualmachineinstances-update-validator.kubevirt.io",
			updateVMI(a.GetUserInfo().GetName(), obj, old))
	case a.GetResource().Group == kubevirtGroup && a.GetResource().Resource == "virtualmachines":
		return denied("virtualmachine-validator.kubevirt.io", k.checkVM(ctx, obj, old))
	}
	return nil
}

// isKubevirt is true for the main endpoint of a resource, in any version.
func isKubevirt(a admission.Attributes, resource string) bool {
	r := a.GetResource()
	return r.Group == kubevirtGroup && r.Resource == resource && a.GetSubresource() == ""
}

func (k kubevirtAdmission) checkNamespace(ctx context.Context, a admission.Attributes) error {
	if a.GetOperation() != admission.Create || a.GetNamespace() == "" || a.GetSubresource() != "" ||
		a.GetKind().Group == "authorization.k8s.io" || a.GetResource().Resource == "namespaces" {
		return nil
	}
	exists, err := k.reader.NamespaceExists(ctx, a.GetNamespace())
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if !exists {
		return apierrors.NewNotFound(corev1.Resource("namespaces"), a.GetNamespace())
	}
	return nil
}

// denied wraps a webhook's answer as the API server does; nil allows.
func denied(webhook string, answer *metav1.Status) error {
	if answer == nil {
		return nil
	}
	return webhookerrors.ToStatusErr(webhook, answer)
}

// refuse is how KubeVirt's webhooks answer when the request as a whole cannot be done.
func refuse(format string, args ...any) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusBadRequest,
		Message: fmt.Sprintf(format, args...)}
}

// invalid is how they answer when a field is wrong.
func invalid(cause metav1.CauseType, field, message string) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity,
		Reason: metav1.StatusReasonInvalid, Message: message,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: cause, Field: field, Message: message}}}}
}

// createMigration checks in the order in which KubeVirt does, so that the first reason is the same.
func (k kubevirtAdmission) createMigration(ctx context.Context, user string, m *unstructured.Unstructured) *metav1.Status {
	spec, _, _ := unstructured.NestedMap(m.Object, "spec")
	name := text(spec, "vmiName")
	if name == "" {
		return invalid(metav1.CauseTypeFieldValueRequired, "spec.vmiName", "vmiName is missing")
	}
	if text(spec, "priority") != "" && user != ControllerAccount {
		return invalid(metav1.CauseTypeFieldValueNotSupported, "spec.priority",
			"priority can only be set by the KubeVirt controller")
	}
	vmi, err := k.reader.VMI(ctx, m.GetNamespace(), name)
	if apierrors.IsNotFound(err) {
		return refuse("the VMI \"%s/%s\" does not exist", m.GetNamespace(), name)
	} else if err != nil {
		return refuse("%s", err)
	}
	if phase := text(vmi.Object, "status", "phase"); phase == "Succeeded" || phase == "Failed" {
		return refuse("Cannot migrate VMI in finalized state.")
	}
	_, sends := spec["sendTo"]
	_, receives := spec["receive"]
	if answer := migratable(vmi, sends != receives); answer != nil {
		return answer
	}
	if answer := k.noConflict(ctx, m.GetNamespace(), name); answer != nil {
		return answer
	}
	if sends || receives {
		return k.decentralized(ctx, spec, sends && receives)
	}
	return nil
}

// migratable looks at the condition LiveMigratable; without one a VMI passes. The disks do not matter to a
// decentralised migration, which copies them.
func migratable(vmi *unstructured.Unstructured, decentralized bool) *metav1.Status {
	for _, c := range conditions(vmi) {
		if text(c, "type") != "LiveMigratable" || text(c, "status") != "False" {
			continue
		}
		if decentralized && text(c, "reason") == "DisksNotLiveMigratable" {
			continue
		}
		return refuse("Cannot migrate VMI, Reason: %s, Message: %s", text(c, "reason"), text(c, "message"))
	}
	return nil
}

func (k kubevirtAdmission) noConflict(ctx context.Context, namespace, vmi string) *metav1.Status {
	list, err := k.reader.Migrations(ctx, namespace, vmi)
	if err != nil {
		return refuse("%s", err)
	}
	for _, m := range list {
		if phase := text(m.Object, "status", "phase"); phase != "Succeeded" && phase != "Failed" {
			return refuse("in-flight migration detected. Active migration job (%s) is currently already in progress "+
				"for VMI %s.", m.GetUID(), vmi)
		}
	}
	return nil
}

func (k kubevirtAdmission) decentralized(ctx context.Context, spec map[string]any, both bool) *metav1.Status {
	gates, err := k.reader.FeatureGates(ctx)
	if err != nil {
		return refuse("%s", err)
	}
	if !slices.Contains(gates, decentralizedGate) {
		return refuse("%s feature gate is not enabled in the KubeVirt resource", decentralizedGate)
	}
	if both && text(spec, "sendTo", "migrationID") != text(spec, "receive", "migrationID") {
		return refuse("sendTo.migrationID and receive.migrationID must be equal")
	}
	return nil
}

func updateMigration(m, old *unstructured.Unstructured) *metav1.Status {
	if !reflect.DeepEqual(m.Object["spec"], old.Object["spec"]) {
		return invalid(metav1.CauseTypeFieldValueNotSupported, "spec", "update of Migration object's spec is restricted")
	}
	phase := text(m.Object, "status", "phase")
	before, had := old.GetLabels()[selectorLabel]
	now, has := m.GetLabels()[selectorLabel]
	if phase == "Succeeded" || phase == "Failed" || !had || (has && now == before) {
		return nil
	}
	verb := "modified on"
	if len(m.GetLabels()) == 0 {
		verb = "removed from"
	}
	return invalid(metav1.CauseTypeFieldValueNotSupported, "metadata.labels",
		"selector label can't be "+verb+" an in-flight migration")
}

func updateVMI(user string, vmi, old *unstructured.Unstructured) *metav1.Status {
	if slices.Contains(kubevirtAccounts, user) {
		return nil
	}
	if !reflect.DeepEqual(vmi.Object["spec"], old.Object["spec"]) {
		return invalid(metav1.CauseTypeFieldValueNotSupported, "spec", "update of VMI object is restricted")
	}
	if !reflect.DeepEqual(ownLabels(vmi), ownLabels(old)) {
		return invalid(metav1.CauseTypeFieldValueNotSupported, "metadata.labels",
			"modification of kubevirt.io/ labels on a VMI object is restricted")
	}
	return nil
}

func ownLabels(obj *unstructured.Unstructured) map[string]string {
	own := map[string]string{}
	for k, v := range obj.GetLabels() {
		if strings.HasPrefix(k, labelPrefix) {
			own[k] = v
		}
	}
	return own
}

// checkVM covers the run strategy, and volume requests while the VMI migrates.
func (k kubevirtAdmission) checkVM(ctx context.Context, vm, old *unstructured.Unstructured) *metav1.Status {
	spec, _, _ := unstructured.NestedMap(vm.Object, "spec")
	_, running := spec["running"]
	_, strategy := spec["runStrategy"]
	if running && strategy {
		return invalid(metav1.CauseTypeFieldValueInvalid, "spec.running", "Running and RunStrategy are mutually exclusive")
	}
	if !running && !strategy {
		return invalid(metav1.CauseTypeFieldValueRequired, "spec.running", "One of Running or RunStrategy must be specified")
	}
	requests, _, _ := unstructured.NestedSlice(vm.Object, "status", "volumeRequests")
	if old == nil || len(requests) == 0 {
		return nil
	}
	if before, _, _ := unstructured.NestedSlice(old.Object, "status", "volumeRequests"); reflect.DeepEqual(before, requests) {
		return nil
	}
	vmi, err := k.reader.VMI(ctx, vm.GetNamespace(), vm.GetName())
	if err != nil {
		return nil
	}
	state, found, _ := unstructured.NestedMap(vmi.Object, "status", "migrationState")
	if done, _ := state["completed"].(bool); found && !done {
		return refuse("Cannot handle volume requests while VMI migration is in progress")
	}
	return nil
}

// text reads a string member; a missing one, or one of another type, is empty.
func text(obj map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(obj, path...)
	return s
}

func conditions(obj *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	out := []map[string]any{}
	for _, c := range list {
		if m, ok := c.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
