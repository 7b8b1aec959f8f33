// SPDX-License-Identifier: LGPL-2.1-or-later

// How running launcher pods end: the source's after a migration, the target's when the migration failed or when no
// guest came in time, and attachment pods with their launcher.

package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

const launcherEndTime = 100 * time.Millisecond

func cutDigest(image string) (repository, digest string) {
	repository, digest, _ = strings.Cut(image, "@")
	return repository, digest
}

// fakeDigest is a digest that is always the same for one image.
func fakeDigest(image string) string {
	sum := sha256.Sum256([]byte(image))
	return hex.EncodeToString(sum[:])
}

// watchRunning keeps a running pod's readiness, and ends the pod when its time has come.
func (s *Sim) watchRunning(ctx context.Context, pod *object, st *podState) (time.Duration, error) {
	s.kubelet.with(func() {
		if !st.plugging {
			st.plugged = true // plugged by an earlier run of the simulator, if not by this one
		}
	})
	err := s.podStatus(ctx, pod, func(p *object) { s.readiness(p) })
	if err != nil || !st.launcher {
		return 0, err
	}
	vmi := s.vmis.get(s.machineOf(pod))
	if vmi == nil {
		return 0, nil
	}
	state := child(vmi, "status", "migrationState")
	switch {
	case vmiFinal(vmi):
		return s.endPod(ctx, pod, "Succeeded")
	case at(state, "targetPod") == pod.GetName():
		return s.watchTarget(ctx, pod, state)
	case at(state, "sourcePod") == pod.GetName() && succeeded(state) && str(vmi, "status", "nodeName") != st.vm.node:
		return s.endPod(ctx, pod, "Succeeded")
	case str(vmi, "status", "nodeName") == st.vm.node:
		return 0, nil // it runs the guest
	}
	return s.launcherTimer(ctx, pod, true)
}

func succeeded(state map[string]any) bool {
	return state["completed"] == true && state["failed"] != true
}

func (s *Sim) watchTarget(ctx context.Context, pod *object, state map[string]any) (time.Duration, error) {
	if state["failed"] == true {
		return s.endPod(ctx, pod, "Succeeded") // the launcher ends in order: it has no guest
	}
	return s.launcherTimer(ctx, pod, at(state, "startTimestamp") == "" && state["completed"] != true)
}

// launcherTimer ends a target launcher that no guest has come to in time.
func (s *Sim) launcherTimer(ctx context.Context, pod *object, alone bool) (time.Duration, error) {
	if !alone || podRole(pod) != "target" { // only a target waits for a guest
		return 0, nil
	}
	if m := s.vmims.get(pod.GetNamespace() + "/" + annotation(pod, annotationJobName)); m == nil || migrationFinal(m) {
		return s.endPod(ctx, pod, "Succeeded")
	}
	rest := s.launcherLimit(
		pod,
	) - time.Since(s.memory.began.first(uid(pod)+"/launcher", parseTime(str(pod, "status", "startTime"))))
	if rest > 0 {
		return rest, nil
	}
	return 0, s.finishPod(ctx, pod, "Failed")
}

// endPod ends a pod after the moment that its process needs to.
func (s *Sim) endPod(ctx context.Context, pod *object, phase string) (time.Duration, error) {
	rest := s.o.scaled(launcherEndTime) - time.Since(s.memory.began.first(uid(pod)+"/end", time.Time{}))
	if rest > 0 {
		return rest, nil
	}
	s.memory.began.forget(uid(pod) + "/end")
	return 0, s.finishPod(ctx, pod, phase)
}

// finishPod shows a pod as ended.
func (s *Sim) finishPod(ctx context.Context, pod *object, phase string) error {
	code, reason := int64(0), "Completed"
	if phase == "Failed" {
		code, reason = 1, "Error"
	}
	err := s.podStatus(ctx, pod, func(p *object) {
		statuses := []any{}
		for _, c := range objects(p, "status", "containerStatuses") {
			began := at(c, "state", "running", "startedAt")
			c["ready"], c["started"] = false, false
			ended := map[string]any{"exitCode": code, "reason": reason, "finishedAt": now()}
			if began != "" {
				ended["startedAt"] = began
			}
			c["state"] = map[string]any{"terminated": ended}
			statuses = append(statuses, c)
		}
		set(p, phase, "status", "phase")
		set(p, statuses, "status", "containerStatuses")
		why := "PodCompleted"
		if phase == "Failed" {
			why = "PodFailed"
		}
		setCondition(p, newCondition("ContainersReady", "False", why, "", now()))
		setCondition(p, newCondition("Ready", "False", why, "", now()))
	})
	for _, suffix := range []string{"", "/launcher", "/schedule", "/start", "/end"} {
		s.memory.began.forget(uid(pod) + suffix)
	}
	return err
}
