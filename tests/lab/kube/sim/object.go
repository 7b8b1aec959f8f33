// SPDX-License-Identifier: LGPL-2.1-or-later

// Accessors for objects that are kept as decoded JSON. Every member is optional: reading one that is absent, or of
// another type, gives the zero value, because the simulator must survive whatever a test puts into the API.

package sim

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

type object = unstructured.Unstructured

func key(o *object) string {
	return o.GetNamespace() + "/" + o.GetName()
}

func splitKey(k string) (namespace, name string) {
	namespace, name, _ = strings.Cut(k, "/")
	return namespace, name
}

func str(o *object, path ...string) string {
	v, _, _ := unstructured.NestedString(o.Object, path...)
	return v
}

func truth(o *object, path ...string) bool {
	v, _, _ := unstructured.NestedBool(o.Object, path...)
	return v
}

func has(o *object, path ...string) bool {
	v, found, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	return err == nil && found && v != nil
}

func child(o *object, path ...string) map[string]any {
	v, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	m, _ := v.(map[string]any)
	return m
}

func list(o *object, path ...string) []any {
	v, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	l, _ := v.([]any)
	return l
}

// objects gives the members of a list that are objects.
func objects(o *object, path ...string) []map[string]any {
	return asMaps(list(o, path...))
}

func asMaps(l []any) []map[string]any {
	out := make([]map[string]any, 0, len(l))
	for _, v := range l {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// at reads a string below a decoded object.
func at(m map[string]any, path ...string) string {
	v, _, _ := unstructured.NestedString(m, path...)
	return v
}

func below(m map[string]any, path ...string) map[string]any {
	v, _, _ := unstructured.NestedFieldNoCopy(m, path...)
	c, _ := v.(map[string]any)
	return c
}

func set(o *object, value any, path ...string) {
	// The only failure is a parent that is no object: such an object is broken, and the write of it would be refused.
	_ = unstructured.SetNestedField(o.Object, value, path...)
}

func unset(o *object, path ...string) {
	unstructured.RemoveNestedField(o.Object, path...)
}

func label(o *object, name string) string {
	return str(o, "metadata", "labels", name)
}

func annotation(o *object, name string) string {
	return str(o, "metadata", "annotations", name)
}

func setLabel(o *object, name, value string) {
	set(o, value, "metadata", "labels", name)
}

func setAnnotation(o *object, name, value string) {
	set(o, value, "metadata", "annotations", name)
}

func deleting(o *object) bool {
	return str(o, "metadata", "deletionTimestamp") != ""
}

func uid(o *object) string {
	return string(o.GetUID())
}

// stamp is how the API writes times: to the second.
func stamp(t time.Time) string {
	return t.UTC().Format(time.RFC3339)
}

func now() string {
	return stamp(time.Now())
}

func condition(o *object, kind string) map[string]any {
	for _, c := range objects(o, "status", "conditions") {
		if at(c, "type") == kind {
			return c
		}
	}
	return nil
}

func conditionTrue(o *object, kind string) bool {
	return at(condition(o, kind), "status") == "True"
}

// setCondition replaces or adds a condition; it reports whether anything but times changed.
func setCondition(o *object, c map[string]any) bool {
	old := objects(o, "status", "conditions")
	out := make([]any, 0, len(old)+1)
	changed, placed := true, false
	for _, have := range old {
		if at(have, "type") != at(c, "type") {
			out = append(out, have)
			continue
		}
		changed = at(have, "status") != at(c, "status") || at(have, "reason") != at(c, "reason") ||
			at(have, "message") != at(c, "message")
		placed = true
		out = append(out, c)
	}
	if !placed {
		out = append(out, c)
	}
	if changed {
		set(o, out, "status", "conditions")
	}
	return changed
}

func dropCondition(o *object, kind string) bool {
	if condition(o, kind) == nil {
		return false
	}
	out := []any{}
	for _, have := range objects(o, "status", "conditions") {
		if at(have, "type") != kind {
			out = append(out, have)
		}
	}
	if len(out) == 0 {
		unset(o, "status", "conditions")
	} else {
		set(o, out, "status", "conditions")
	}
	return true
}

// newCondition is a condition in the order of members that KubeVirt's types have; lastTransitionTime may stay null.
func newCondition(kind, status, reason, message string, transition any) map[string]any {
	c := map[string]any{"type": kind, "status": status, "lastProbeTime": nil, "lastTransitionTime": transition}
	if reason != "" {
		c["reason"] = reason
	}
	if message != "" {
		c["message"] = message
	}
	return c
}

func ownedBy(o *object, owner types.UID) bool {
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID == owner {
			return true
		}
	}
	return false
}

func ownerReference(o *object) map[string]any {
	return map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName(), "uid": uid(o),
		"controller": true, "blockOwnerDeletion": true}
}

// toPod decodes a pod; one that does not fit the type gives an error that names it.
func toPod(o *object) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	return pod, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, pod)
}

func podPhase(o *object) string {
	return str(o, "status", "phase")
}

func podTerminal(o *object) bool {
	p := podPhase(o)
	return p == "Succeeded" || p == "Failed"
}

func created(o *object) time.Time {
	return o.GetCreationTimestamp().Time
}

// parseTime reads a time of an object; the zero time when there is none.
func parseTime(s string) time.Time {
	t := metav1.Time{}
	_ = t.UnmarshalQueryParameter(s)
	return t.Time
}
