// SPDX-License-Identifier: LGPL-2.1-or-later

// As much of the scheduler as a migration meets: it places a pod on the first node that fits, the emptiest first, or
// says why none does, in the words of the real one.

package sim

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// schedule looks at a pod that has no node.
func (s *Sim) schedule(ctx context.Context, k string) (time.Duration, error) {
	u := s.pods.get(k)
	if u == nil || str(u, "spec", "nodeName") != "" || podTerminal(u) || deleting(u) {
		s.memory.unplaced.remove(k)
		return 0, nil
	}
	if str(u, "spec", "schedulerName") == "none" {
		return 0, nil
	}
	if wait := s.scheduleTime(u); wait > 0 {
		return wait, nil
	}
	if held, again := s.acts.holdsScheduling(u); held {
		return again, nil
	}
	pod, err := toPod(u)
	if err != nil {
		return 0, fmt.Errorf("pod %s cannot be read: %w", k, err)
	}
	node, reason := s.choose(u, pod)
	if text, again, forced := s.acts.unschedulable(u); forced {
		if text != "" {
			reason = text
		} else {
			reason = s.nobody()
		}
		s.memory.unplaced.add(k)
		return again, s.refuse(ctx, u, reason)
	}
	if node == "" {
		s.memory.unplaced.add(k)
		return 0, s.refuse(ctx, u, reason)
	}
	s.memory.unplaced.remove(k)
	return 0, s.bind(ctx, u, node)
}

// scheduleTime is how much of the scheduler's own time is left.
func (s *Sim) scheduleTime(u *object) time.Duration {
	return s.o.scaled(s.o.ScheduleTime) - time.Since(s.memory.began.first(uid(u)+"/schedule", created(u)))
}

func (s *Sim) nobody() string {
	n := len(s.nodes.all())
	return fmt.Sprintf("0/%d nodes are available: %d node(s) didn't match Pod's node affinity/selector. "+
		"preemption: 0/%d nodes are available: %d Preemption is not helpful for scheduling.", n, n, n, n)
}

func (s *Sim) bind(ctx context.Context, u *object, node string) error {
	err := s.pods.update(ctx, key(u), func(pod *object) bool {
		if str(pod, "spec", "nodeName") != "" || uid(pod) != uid(u) {
			return false
		}
		set(pod, node, "spec", "nodeName")
		return true
	})
	if err != nil {
		return err
	}
	s.memory.began.forget(uid(u) + "/schedule")
	s.events.say(u, byScheduler, normal, "Scheduled", "Successfully assigned %s to %s", key(u), node)
	return s.pods.updateStatus(ctx, key(u), func(pod *object) bool {
		changed := setCondition(pod, newCondition("PodScheduled", "True", "", "", now()))
		if podPhase(pod) == "" {
			set(pod, "Pending", "status", "phase")
			changed = true
		}
		return changed
	})
}

func (s *Sim) refuse(ctx context.Context, u *object, reason string) error {
	changed := false
	err := s.pods.updateStatus(ctx, key(u), func(pod *object) bool {
		if str(pod, "spec", "nodeName") != "" {
			return false
		}
		set(pod, "Pending", "status", "phase")
		changed = setCondition(pod, newCondition("PodScheduled", "False", "Unschedulable", reason, now()))
		return changed
	})
	if err == nil && changed {
		s.events.say(u, byScheduler, warning, "FailedScheduling", "%s", reason)
	}
	return err
}

// choose gives the node for a pod, or the text that says why there is none.
func (s *Sim) choose(u *object, pod *corev1.Pod) (node, reason string) {
	reasons := map[string]int{}
	free, nodes := "", s.nodes.all()
	most, helpful := int64(-1), 0
	on := s.podsByNode()
	for _, n := range nodes {
		refusal, preempt := s.refusal(u, pod, n, on)
		if refusal != nil {
			for _, r := range refusal {
				reasons[r]++
			}
			if preempt {
				helpful++
			}
			continue
		}
		if left := memoryLeft(n, on[n.GetName()]); left > most || free == "" {
			free, most = n.GetName(), left
		}
	}
	if free != "" {
		return free, ""
	}
	return "", unavailable(reasons, len(nodes), helpful)
}

// unavailable puts the reasons together as the scheduler does.
func unavailable(reasons map[string]int, nodes, helpful int) string {
	if nodes == 0 {
		return "no nodes available to schedule pods"
	}
	texts := []string{}
	for r, n := range reasons {
		texts = append(texts, fmt.Sprintf("%d %s", n, r))
	}
	sort.Strings(texts)
	preemption := []string{}
	if helpful > 0 {
		preemption = append(preemption, fmt.Sprintf("%d No preemption victims found for incoming pod", helpful))
	}
	if nodes > helpful {
		preemption = append(preemption, fmt.Sprintf("%d Preemption is not helpful for scheduling", nodes-helpful))
	}
	return fmt.Sprintf("0/%d nodes are available: %s. preemption: 0/%d nodes are available: %s.", nodes,
		strings.Join(texts, ", "), nodes, strings.Join(preemption, ", "))
}

func (s *Sim) podsByNode() map[string][]*object {
	on := map[string][]*object{}
	for _, p := range s.pods.all() {
		if node := str(p, "spec", "nodeName"); node != "" && !podTerminal(p) {
			on[node] = append(on[node], p)
		}
	}
	return on
}

// refusal says why a node does not take a pod, nil if it does. As in the scheduler, the first filter that refuses
// speaks for its node; only a node that is short of resources names all of them. preempt says whether fewer pods there
// would help.
func (s *Sim) refusal(u *object, pod *corev1.Pod, n *object, on map[string][]*object) (reasons []string, preempt bool) {
	if truth(n, "spec", "unschedulable") &&
		!tolerates(pod, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}) {
		return []string{"node(s) were unschedulable"}, false
	}
	if taint := untolerated(pod, n); taint != "" {
		return []string{"node(s) had untolerated taint {" + taint + "}"}, false
	}
	if !nodeFits(pod, n) {
		return []string{"node(s) didn't match Pod's node affinity/selector"}, false
	}
	if short := insufficient(u, n, on[n.GetName()]); len(short) > 0 {
		return short, true
	}
	if !s.apart(pod, n, on) {
		return []string{"node(s) didn't match pod anti-affinity rules"}, true
	}
	if !s.together(pod, n, on) {
		return []string{"node(s) didn't match pod affinity rules"}, false
	}
	return nil, false
}

func tolerates(pod *corev1.Pod, taint corev1.Taint) bool {
	for _, t := range pod.Spec.Tolerations {
		if t.Effect != "" && t.Effect != taint.Effect {
			continue
		}
		if t.Key == "" && t.Operator == corev1.TolerationOpExists || t.Key == taint.Key &&
			(t.Operator == corev1.TolerationOpExists || t.Value == taint.Value) {
			return true
		}
	}
	return false
}

func untolerated(pod *corev1.Pod, n *object) string {
	for _, t := range objects(n, "spec", "taints") {
		taint := corev1.Taint{Key: at(t, "key"), Value: at(t, "value"), Effect: corev1.TaintEffect(at(t, "effect"))}
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(pod, taint) {
			return taint.Key + ": " + taint.Value
		}
	}
	return ""
}

// nodeFits evaluates nodeSelector and the required node affinity.
func nodeFits(pod *corev1.Pod, n *object) bool {
	if !hasLabels(n, pod.Spec.NodeSelector) {
		return false
	}
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchExpressions)+len(term.MatchFields) > 0 && termFits(term, n) {
			return true
		}
	}
	return false
}

func termFits(term corev1.NodeSelectorTerm, n *object) bool {
	for _, e := range term.MatchExpressions {
		value, there := n.GetLabels()[e.Key]
		if !requirementHolds(string(e.Operator), value, there, e.Values) {
			return false
		}
	}
	for _, e := range term.MatchFields {
		if e.Key == "metadata.name" && !requirementHolds(string(e.Operator), n.GetName(), true, e.Values) {
			return false
		}
	}
	return true
}

// memoryLeft is by what the nodes that fit are ordered.
func memoryLeft(n *object, pods []*object) int64 {
	q, err := resource.ParseQuantity(str(n, "status", "allocatable", "memory"))
	if err != nil {
		return int64(1<<62) - int64(len(pods)) // a node that says nothing: the fewer pods the better
	}
	for _, p := range pods {
		q.Sub(podResources(p, "requests")["memory"])
	}
	return q.Value()
}

// insufficient names the resources that the node has too little of; what a node does not mention has no limit.
func insufficient(u, n *object, pods []*object) []string {
	allocatable := child(n, "status", "allocatable")
	out := []string{}
	if most, ok := quantity(allocatable["pods"]); ok && most.CmpInt64(int64(len(pods))+1) < 0 {
		out = append(out, "Too many pods")
	}
	used := map[string]resource.Quantity{}
	for _, p := range pods {
		for name, q := range demand(p) {
			sum := used[name]
			sum.Add(q)
			used[name] = sum
		}
	}
	for name, want := range demand(u) {
		left, ok := quantity(allocatable[name])
		left.Sub(used[name])
		if ok && want.Cmp(left) > 0 {
			out = append(out, "Insufficient "+name)
		}
	}
	sort.Strings(out)
	return out
}

// demand is what a pod takes from its node; extended resources are often given as limits only.
func demand(pod *object) map[string]resource.Quantity {
	out := podResources(pod, "requests")
	for name, q := range podResources(pod, "limits") {
		if _, ok := out[name]; !ok && strings.Contains(name, "/") {
			out[name] = q
		}
	}
	return out
}

func quantity(v any) (resource.Quantity, bool) {
	if v == nil {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	return q, err == nil
}
