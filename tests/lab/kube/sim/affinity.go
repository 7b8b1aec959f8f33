// SPDX-License-Identifier: LGPL-2.1-or-later

// Affinity and anti-affinity between pods, and the requirements of selectors.

package sim

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// requirementHolds evaluates one expression of a node selector.
func requirementHolds(operator, value string, there bool, values []string) bool {
	switch corev1.NodeSelectorOperator(operator) {
	case corev1.NodeSelectorOpIn:
		return there && slices.Contains(values, value)
	case corev1.NodeSelectorOpNotIn:
		return !there || !slices.Contains(values, value)
	case corev1.NodeSelectorOpExists:
		return there
	case corev1.NodeSelectorOpDoesNotExist:
		return !there
	}
	if len(values) != 1 {
		return false
	}
	have, err := strconv.ParseInt(value, 10, 64)
	bound, err2 := strconv.ParseInt(values[0], 10, 64)
	if !there || err != nil || err2 != nil {
		return false
	}
	if corev1.NodeSelectorOperator(operator) == corev1.NodeSelectorOpGt {
		return have > bound
	}
	return have < bound
}

// apart says whether no pod that the anti-affinity of this one names runs in the node's domain.
func (s *Sim) apart(pod *corev1.Pod, n *object, on map[string][]*object) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return true
	}
	for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if s.termMatches(pod, term, n, on) {
			return false
		}
	}
	return true
}

// together says whether the pods that the affinity of this one names run in the node's domain.
func (s *Sim) together(pod *corev1.Pod, n *object, on map[string][]*object) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAffinity == nil {
		return true
	}
	for _, term := range pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if !s.termMatches(pod, term, n, on) {
			return false
		}
	}
	return true
}

// termMatches says whether a pod that the term selects runs on a node of the same domain as n.
func (s *Sim) termMatches(pod *corev1.Pod, term corev1.PodAffinityTerm, n *object, on map[string][]*object) bool {
	selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	if err != nil {
		return false
	}
	domain := topology(n, term.TopologyKey)
	for node, pods := range on {
		if other := s.nodes.get(node); node != n.GetName() &&
			(other == nil || topology(other, term.TopologyKey) != domain) {
			continue
		}
		for _, p := range pods {
			if namespaceFits(pod, term, p) && selector.Matches(labels.Set(p.GetLabels())) {
				return true
			}
		}
	}
	return false
}

// topology is the node's value of a topology key; a node without the host name label is its own domain.
func topology(n *object, name string) string {
	if v := label(n, name); v != "" || name != corev1.LabelHostname {
		return v
	}
	return n.GetName()
}

func namespaceFits(pod *corev1.Pod, term corev1.PodAffinityTerm, other *object) bool {
	if len(term.Namespaces) > 0 {
		return slices.Contains(term.Namespaces, other.GetNamespace())
	}
	return term.NamespaceSelector != nil || other.GetNamespace() == pod.Namespace
}
