// SPDX-License-Identifier: LGPL-2.1-or-later

// The limits of a target pod that does not start. Built-in limits are scaled by --time-scale; a limit that an
// annotation of the VMIM sets is in real seconds, so that a client can compute with it.

package sim

import (
	"context"
	"strconv"
	"strings"
	"time"
)

const (
	unschedulableLimit = 300 * time.Second
	pendingLimit       = 900 * time.Second
	utilityLimit       = 150 * time.Second
	qemuTimeoutBase    = 240 // seconds; up to 119 more are added at random
	qemuTimeoutSpread  = 120

	annotationUnschedulable = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds"
	annotationPending       = "kubevirt.io/migrationPendingPodTimeoutSeconds"
	annotationUtility       = "kubevirt.io/migrationUtilityVolumesTimeoutSeconds"
)

func (s *Sim) limit(m *object, name string, builtIn time.Duration) time.Duration {
	if n, err := strconv.ParseUint(annotation(m, name), 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	return s.o.scaled(builtIn)
}

func (s *Sim) utilityLimit(m *object) time.Duration {
	limit := utilityLimit
	if n := s.clusterConfig().utilityTimeout; n > 0 {
		limit = time.Duration(n) * time.Second
	}
	return s.limit(m, annotationUtility, limit)
}

func unschedulable(pod *object) bool {
	if podPhase(pod) != "Pending" {
		return false
	}
	c := condition(pod, "PodScheduled")
	return at(c, "status") == "False" && at(c, "reason") == "Unschedulable"
}

// podTimers deletes a target pod that has been unschedulable, or pending for whatever reason, for too long.
func (s *Sim) podTimers(ctx context.Context, l *look) (time.Duration, error) {
	if l.pod == nil || podPhase(l.pod) != "Pending" && podPhase(l.pod) != "" || deleting(l.pod) {
		return 0, nil
	}
	age := time.Since(s.memory.began.first(uid(l.pod), created(l.pod)))
	rest := s.limit(l.migration, annotationPending, pendingLimit) - age
	if unschedulable(l.pod) {
		s.noHostModel(l)
		s.events.say(l.migration, byController, warning, "migrationTargetPodUnschedulable",
			"Migration target pod for VMI [%s] is currently unschedulable.", key(l.vmi))
		limit := s.limit(l.migration, annotationUnschedulable, unschedulableLimit)
		if age >= limit {
			return 0, s.deleteTarget(ctx, l, "unschedulable pod %s timeout period exceeded")
		}
		rest = min(rest, limit-age)
	}
	if rest <= 0 {
		return 0, s.deleteTarget(ctx, l, "pending pod %s timeout period exceeded")
	}
	return rest + 10*time.Millisecond, nil
}

// deleteTarget deletes the target launcher pod; text says why, and takes the pod's name.
func (s *Sim) deleteTarget(ctx context.Context, l *look, text string) error {
	if err := s.pods.remove(ctx, l.pod, nil); err != nil {
		s.events.say(l.migration, byController, warning, "FailedDelete", "The target pod %s could not be deleted: %v",
			key(l.pod), err)
		return err
	}
	s.memory.began.forget(uid(l.pod))
	s.events.say(l.migration, byController, normal, "SuccessfulDelete", text, key(l.pod))
	return nil
}

// cancelTarget undoes what a migration that is not handed off has made.
func (s *Sim) cancelTarget(ctx context.Context, l *look) error {
	if l.pod == nil {
		return nil
	}
	return s.deleteTarget(ctx, l, "migration canceled and pod %s is deleted")
}

// noHostModel tells that no node at all offers what the guest's host model needs.
func (s *Sim) noHostModel(l *look) {
	if s.cpuModel(l.vmi) != hostModel {
		return
	}
	wanted := map[string]string{}
	for k, v := range child(l.pod, "spec", "nodeSelector") {
		if text, ok := v.(string); ok &&
			(strings.HasPrefix(k, prefixFeature) || strings.HasPrefix(k, prefixModelMigration)) {
			wanted[k] = text
		}
	}
	for _, node := range s.nodes.all() {
		if node.GetName() != str(l.vmi, "status", "nodeName") && hasLabels(node, wanted) {
			return
		}
	}
	s.tell(l.vmi, byController, warning, "NoSuitableNodesForHostModelMigration",
		"No other node offers the CPU model and the features that this VMI's host model needs")
}

func hasLabels(o *object, wanted map[string]string) bool {
	for k, v := range wanted {
		if label(o, k) != v {
			return false
		}
	}
	return true
}

// launcherLimit is the limit that a target launcher gives an incoming guest, from its --qemu-timeout.
func (s *Sim) launcherLimit(pod *object) time.Duration {
	for _, c := range objects(pod, "spec", "containers") {
		args := list(&object{Object: c}, "args")
		for i := 0; i+1 < len(args); i++ {
			text, _ := args[i+1].(string)
			if d, err := time.ParseDuration(text); args[i] == "--qemu-timeout" && err == nil {
				return s.o.scaled(d)
			}
		}
	}
	return s.o.scaled(qemuTimeoutBase * time.Second)
}
