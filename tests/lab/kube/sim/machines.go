// SPDX-License-Identifier: LGPL-2.1-or-later

// The VMI controller, as far as clients of migrations see it: it starts VMIs that are posted without a status, counts
// their pods, and says which launcher's guest is the one that runs.

package sim

import (
	"context"
	"errors"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// annotationNode puts the first launcher of a VMI on a node, without tying the VMI to it.
const annotationNode = "sim.kvmig.test/node"

func (s *Sim) reconcileMachine(ctx context.Context, k string) (time.Duration, error) {
	vmi := s.vmis.get(k)
	if vmi == nil || deleting(vmi) {
		return 0, nil
	}
	switch str(vmi, "status", "phase") {
	case "", "Pending", "Scheduling", "Scheduled":
		if err := s.startMachine(ctx, vmi); err != nil {
			return 0, err
		}
	}
	if err := s.countPods(ctx, vmi); err != nil {
		return 0, err
	}
	if pod := s.sourcePod(vmi); pod != nil && str(vmi, "status", "phase") == "Running" {
		return 0, s.markCurrent(ctx, vmi, pod)
	}
	return 0, nil
}

// countPods keeps status.activePods, which lists all pods of the VMI that exist, ended ones too.
func (s *Sim) countPods(ctx context.Context, vmi *object) error {
	active := map[string]any{}
	for _, pod := range s.pods.by(byCreator, uid(vmi)) {
		if ownedBy(pod, vmi.GetUID()) {
			active[uid(pod)] = str(pod, "spec", "nodeName")
		}
	}
	return s.vmis.update(ctx, key(vmi), func(v *object) bool {
		if uid(v) != uid(vmi) || reflect.DeepEqual(child(v, "status", "activePods"), active) ||
			len(active) == 0 && child(v, "status", "activePods") == nil {
			return false
		}
		set(v, runtime.DeepCopyJSON(active), "status", "activePods")
		return true
	})
}

// markCurrent tells the pod that runs the guest, by a condition that its readiness waits for, and by a label.
func (s *Sim) markCurrent(ctx context.Context, vmi, pod *object) error {
	status, reason, message := "True", "NotPaused", "the virtual machine is not paused"
	if conditionTrue(vmi, "Paused") {
		status, reason, message = "False", "Paused", "the virtual machine is paused"
	}
	err := s.pods.updateStatus(ctx, key(pod), func(p *object) bool {
		if podTerminal(p) {
			return false
		}
		c := newCondition(unpausedCondition, status, reason, message, now())
		c["lastProbeTime"] = now()
		return setCondition(p, c)
	})
	if err != nil {
		return ignoreGone(err)
	}
	node := str(vmi, "status", "nodeName")
	return ignoreGone(s.pods.update(ctx, key(pod), func(p *object) bool {
		if label(p, labelNodeName) == node {
			return false
		}
		setLabel(p, labelNodeName, node)
		return true
	}))
}

// startMachine takes a new VMI to Running: one launcher pod, and the guest in it.
func (s *Sim) startMachine(ctx context.Context, vmi *object) error {
	var launcher *object
	for _, pod := range s.pods.by(byCreator, uid(vmi)) {
		if ownedBy(pod, vmi.GetUID()) {
			launcher = pod
		}
	}
	if launcher == nil {
		return s.firstLauncher(ctx, vmi)
	}
	if str(vmi, "status", "phase") != "Scheduled" {
		phase := "Scheduling"
		if launcherReady(launcher) {
			phase = "Scheduled"
		}
		return s.machinePhase(ctx, vmi, phase, func(v *object) {
			if phase == "Scheduled" {
				set(v, str(launcher, "spec", "nodeName"), "status", "nodeName")
				setLabel(v, labelNodeName, str(launcher, "spec", "nodeName"))
			}
		})
	}
	if s.memory.told.addNew(uid(vmi) + "/start") {
		s.later(func(ctx context.Context) { s.startGuest(ctx, vmi, launcher) })
	}
	return nil
}

func (s *Sim) firstLauncher(ctx context.Context, vmi *object) error {
	image := s.o.LauncherImage
	if image == "" {
		image = defaultLauncherImage
	}
	disks := map[string]string{}
	for _, v := range objects(vmi, "spec", "volumes") {
		disks[at(v, "name")] = at(v, "containerDisk", "image")
	}
	pod := s.launcherPod(vmi, image, disks, s.baseSelector(vmi))
	if node := annotation(vmi, annotationNode); node != "" {
		set(pod, node, "spec", "nodeName")
	}
	made, err := s.pods.createOnce(ctx, labelCreatedBy+"="+uid(vmi), pod)
	if err == nil && made != nil {
		s.events.say(vmi, byController, normal, "SuccessfulCreate", "Created virtual machine pod %s", made.GetName())
	}
	return err
}

// machinePhase moves a VMI that has not ended on; change sets what belongs to the phase.
func (s *Sim) machinePhase(ctx context.Context, vmi *object, phase string, change func(*object)) error {
	return s.vmis.update(ctx, key(vmi), func(v *object) bool {
		if uid(v) != uid(vmi) || vmiFinal(v) || str(v, "status", "phase") == phase {
			return false
		}
		change(v)
		set(v, phase, "status", "phase")
		stamps := append(list(v, "status", "phaseTransitionTimestamps"),
			map[string]any{"phase": phase, "phaseTransitionTimestamp": now()})
		set(v, stamps, "status", "phaseTransitionTimestamps")
		return true
	})
}

// startGuest waits for the agent's guest, and fills in the status of a running VMI.
func (s *Sim) startGuest(ctx context.Context, vmi, launcher *object) {
	ref := s.podRef(launcher)
	err := persist(ctx, func() error {
		if s.vmis.get(key(vmi)) == nil {
			return errGone
		}
		err := s.agent.start(ctx, ref)
		if err != nil && ctx.Err() == nil {
			s.tell(vmi, byHandler, warning, "SyncFailed", "The guest could not be started: %v", err)
		}
		return err
	})
	if err != nil {
		return
	}
	pod := s.pods.get(key(launcher))
	if pod == nil {
		pod = launcher
	}
	_ = persist(ctx, func() error {
		return s.machinePhase(ctx, vmi, "Running", func(v *object) { s.fillRunning(v, pod) })
	})
}

func (s *Sim) fillRunning(v, pod *object) {
	memory := str(v, "spec", "domain", "memory", "guest")
	fill := func(value any, path ...string) {
		if !has(v, append([]string{"status"}, path...)...) {
			set(v, value, append([]string{"status"}, path...)...)
		}
	}
	fill(map[string]any{"cores": int64(1), "sockets": int64(1), "threads": int64(1)}, "currentCPUTopology")
	fill(map[string]any{"guestAtBoot": memory, "guestCurrent": memory, "guestRequested": memory}, "memory")
	fill("Unix", "migrationTransport")
	fill(int64(107), "runtimeUser")
	fill("none", "selinuxContext")
	if machine := str(v, "spec", "domain", "machine", "type"); machine != "" {
		fill(machine, "machine", "type")
	}
	for _, c := range objects(pod, "spec", "containers") {
		if at(c, "name") == "compute" {
			fill(at(c, "image"), "launcherContainerImageVersion")
		}
	}
	interfaces := []any{}
	for _, i := range objects(v, "spec", "domain", "devices", "interfaces") {
		ip := str(pod, "status", "podIP")
		interfaces = append(
			interfaces,
			map[string]any{"name": at(i, "name"), "infoSource": "domain", "podInterfaceName": "eth0",
				"ipAddress": ip, "ipAddresses": []any{ip}, "mac": at(i, "macAddress")},
		)
	}
	fill(interfaces, "interfaces")
	s.fillVolumes(v)
	setCondition(v, newCondition("Ready", "True", "", "", now()))
	s.judgeMachine(v)
}

// stopMachine ends the guest of a VMI that was deleted.
func (s *Sim) stopMachine(vmi *object) {
	s.memory.told.remove(uid(vmi) + "/start")
	ref := vmRef{node: str(vmi, "status", "nodeName"), namespace: vmi.GetNamespace(), vmi: vmi.GetName()}
	if ref.node == "" {
		return
	}
	s.later(func(ctx context.Context) {
		err := persist(ctx, func() error { return s.agent.stop(ctx, ref) })
		if err != nil && !errors.Is(err, context.Canceled) {
			s.logs.add(key(vmi), "the guest could not be stopped: "+err.Error())
		}
	})
}
