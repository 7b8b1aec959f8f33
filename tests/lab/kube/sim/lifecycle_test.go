// SPDX-License-Identifier: LGPL-2.1-or-later

package sim

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var migrationsResource = kubevirtResource("virtualmachineinstancemigrations")

func TestMigrationMovesTheGuest(t *testing.T) {
	w := newWorld(t, fast())
	w.nodes("node-a", "node-b")
	w.kubevirt(`{}`)
	w.claim("root", "ReadWriteMany", "1Gi")
	w.make(
		coreResource("services"),
		fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":%q},
		"spec":{"selector":{"app":"vm1"},"ports":[{"port":80}]}}`, w.namespace),
	)
	w.vm("vm1", "node-a", `{"name":"root","persistentVolumeClaim":{"claimName":"root"}}`)
	w.migrate("m1", "vm1", "")
	w.reaches("m1", phaseSucceeded)

	vmi := w.vmi("vm1")
	state := child(vmi, "status", "migrationState")
	if node := str(vmi, "status", "nodeName"); node != "node-b" || label(vmi, labelNodeName) != node {
		t.Errorf("the guest is on %q, labelled %q", node, label(vmi, labelNodeName))
	}
	if label(vmi, labelTargetNode) != "" {
		t.Error("the label of the target stays")
	}
	w.until("the VMIM keeps the account of the VMI and loses its finalizer", func() bool {
		m := w.vmim("m1")
		return at(child(m, "status", "migrationState"), "endTimestamp") == at(state, "endTimestamp") &&
			len(m.GetFinalizers()) == 0
	})
	w.leaves(state)
	// And back: the second migration asks for what the first one found.
	w.migrate("m2", "vm1", "")
	w.reaches("m2", phaseSucceeded)
	if node := str(w.vmi("vm1"), "status", "nodeName"); node != "node-a" {
		t.Errorf("the guest is on %s", node)
	}
}

// leaves checks what follows a hand-over: the source's launcher ends, and the Service and the addresses follow.
func (w *world) leaves(state map[string]any) {
	w.t.Helper()
	target := at(state, "targetPod")
	w.until("the source's launcher ends", func() bool {
		return podPhase(w.get(coreResource("pods"), at(state, "sourcePod"))) == "Succeeded"
	})
	w.until("the Service follows", func() bool {
		in := w.client.Resource(w.s.slices.gvr).Namespace(w.namespace)
		slices, err := in.List(w.ctx, metav1.ListOptions{LabelSelector: serviceLabel + "=web"})
		if err != nil || len(slices.Items) != 1 {
			return false
		}
		ends := objects(&slices.Items[0], "endpoints")
		return len(ends) == 1 && at(ends[0], "targetRef", "name") == target &&
			below(ends[0], "conditions")["ready"] == true
	})
	want := str(w.get(coreResource("pods"), target), "status", "podIP")
	if ip := at(objects(w.vmi("vm1"), "status", "interfaces")[0], "ipAddress"); ip != want {
		w.t.Errorf("the interface shows %s", ip)
	}
}

func TestUnschedulableTargetSaysWhy(t *testing.T) {
	w := newWorld(t, fast())
	w.nodes("node-a", "node-b")
	w.kubevirt(`{}`)
	w.vm("vm1", "node-a", "")
	w.make(migrationsResource, fmt.Sprintf(`{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceMigration",
		"metadata":{"name":"m1","namespace":%q,"annotations":{%q:"1"}},
		"spec":{"vmiName":"vm1","addedNodeSelector":{"zone":"none"}}}`,
		w.namespace, annotationUnschedulable))
	w.said("m1", "migrationTargetPodUnschedulable", "unschedulable")
	w.reaches("m1", phaseFailed)
	w.said("m1", "SuccessfulDelete", "unschedulable pod")
	w.said("m1", "FailedMigration", "target pod was removed")
	in := w.client.Resource(eventsResource).Namespace(w.namespace)
	all, err := in.List(w.ctx, metav1.ListOptions{FieldSelector: "reason=FailedScheduling"})
	if err != nil || len(all.Items) == 0 {
		t.Fatal("no event of the scheduler", err)
	}
	text := str(&all.Items[0], "message")
	if !strings.Contains(text, "nodes are available") ||
		!strings.Contains(text, "node(s) didn't match Pod's node affinity/selector") {
		t.Error(text)
	}
}

func TestQuotaHoldsTheMigration(t *testing.T) {
	w := newWorld(t, fast())
	w.nodes("node-a", "node-b")
	w.kubevirt(`{}`)
	w.vm("vm1", "node-a", "")
	w.make(
		coreResource("resourcequotas"),
		fmt.Sprintf(`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q","namespace":%q},
		"spec":{"hard":{"requests.memory":"2Gi"}}}`, w.namespace),
	)
	w.until("the quota is known", func() bool { return w.s.quotas.get(w.namespace+"/q") != nil })
	w.migrate("m1", "vm1", "")
	w.until("the condition", func() bool { return conditionTrue(w.vmim("m1"), conditionQuota) })
	w.said("vm1", "FailedCreate", "exceeded quota: q, requested: requests.memory=1314Mi")
	w.delete(coreResource("resourcequotas"), "q")
	w.reaches("m1", phaseSucceeded)
	if condition(w.vmim("m1"), conditionQuota) != nil {
		t.Error("the condition stays")
	}
}

func TestBackupHoldsTheMigration(t *testing.T) {
	w := newWorld(t, fast())
	w.nodes("node-a", "node-b")
	w.kubevirt(`{}`)
	w.vm("vm1", "node-a", "")
	if err := w.s.do(w.ctx, act{Kind: actBackup, Namespace: w.namespace, VMI: "vm1", State: true}); err != nil {
		t.Fatal(err)
	}
	w.migrate("m1", "vm1", "")
	w.until("the condition", func() bool { return conditionTrue(w.vmim("m1"), conditionBackup) })
	if err := w.s.do(w.ctx, act{Kind: actBackup, Namespace: w.namespace, VMI: "vm1"}); err != nil {
		t.Fatal(err)
	}
	w.reaches("m1", phaseSucceeded)
}

// The circular wait: the network of the target is set up only in Scheduling, and Scheduling comes only with the
// attachment pod, which comes only with the launcher.
func TestNetworkThatWaitsForSchedulingLocksAHotplugMigration(t *testing.T) {
	w := newWorld(t, fast())
	w.nodes("node-a", "node-b")
	w.kubevirt(`{}`)
	w.claim("data", "ReadWriteMany", "1Gi")
	w.vm("vm1", "node-a", "")
	plug := act{Kind: actHotplug, Namespace: w.namespace, VMI: "vm1", Volume: "data", Claim: "data"}
	if err := w.s.do(w.ctx, plug); err != nil {
		t.Fatal(err)
	}
	id := w.act(act{Kind: actHoldNetwork, Phase: phaseScheduling})
	w.migrate("m1", "vm1", "")
	w.until("the launcher waits for its network", func() bool {
		for _, pod := range w.s.pods.by(byMigration, uid(w.vmim("m1"))) {
			return at(condition(pod, "PodReadyToStartContainers"), "status") == "False"
		}
		return false
	})
	w.said(w.s.pods.by(byMigration, uid(w.vmim("m1")))[0].GetName(), "FailedCreatePodSandBox", "not ready")
	if phase := str(w.vmim("m1"), "status", "phase"); phase != phasePending {
		t.Errorf("the migration is %s", phase)
	}
	w.s.acts.remove(id)
	w.reaches("m1", phaseSucceeded)
}

func TestLauncherTimerEndsAHungPreparation(t *testing.T) {
	o := fast()
	o.TimeScale = 0.005
	w := newWorld(t, o)
	w.nodes("node-a", "node-b")
	w.kubevirt(`{}`)
	w.vm("vm1", "node-a", "")
	w.act(act{Kind: actSlowPrepare})
	w.migrate("m1", "vm1", "")
	w.reaches("m1", phaseFailed)
	w.said("m1", "FailedMigration", "target pod shutdown")
	w.until("the VMI says so too", func() bool {
		return at(child(w.vmi("vm1"), "status", "migrationState"), "failureReason") == "Target pod is down"
	})
}

func TestCompletionTimeoutAborts(t *testing.T) {
	o := fast()
	o.TimeScale = 0.005
	w := newWorld(t, o)
	w.nodes("node-a", "node-b")
	w.kubevirt(`{"progressTimeout":0}`)
	w.vm("vm1", "node-a", "")
	w.act(act{Kind: actCopy})
	w.migrate("m1", "vm1", "")
	w.reaches("m1", phaseFailed)
	state := child(w.vmi("vm1"), "status", "migrationState")
	if at(state, "abortStatus") != abortSucceeded || state["abortRequested"] != nil ||
		!strings.Contains(at(state, "failureReason"), "has been aborted") {
		t.Error(state)
	}
}

func TestPostCopyCannotBeCancelled(t *testing.T) {
	o := fast()
	o.TimeScale = 0.005
	o.CopyTime *= 200
	w := newWorld(t, o)
	w.nodes("node-a", "node-b")
	w.kubevirt(`{"progressTimeout":0}`)
	w.make(
		w.s.policies.gvr,
		`{"apiVersion":"migrations.kubevirt.io/v1alpha1","kind":"MigrationPolicy","metadata":{"name":"post-copy"},
		"spec":{"allowPostCopy":true,"selectors":{"virtualMachineInstanceSelector":{"app":"vm-post"}}}}`,
	)
	w.until("the policy is known", func() bool { return w.s.policies.get("post-copy") != nil })
	w.vm("vm-post", "node-a", "")
	w.act(act{Kind: actCopy})
	w.migrate("m1", "vm-post", "")
	state := func() map[string]any { return child(w.vmi("vm-post"), "status", "migrationState") }
	w.until("post-copy", func() bool { return at(state(), "mode") == modePostCopy })
	w.delete(migrationsResource, "m1")
	w.until("the abort is refused", func() bool { return at(state(), "abortStatus") == abortFailed })
	w.until("the guest has moved", func() bool { return succeeded(state()) })
	if at(state(), "migrationPolicyName") != "post-copy" || state()["abortRequested"] != true {
		t.Error(state())
	}
}

func TestEvacuationComesBackUntilItIsCancelled(t *testing.T) {
	w := newWorld(t, fast())
	w.nodes("node-a", "node-b")
	w.kubevirt(`{}`)
	w.vm("vm1", "node-a", "")
	w.act(act{Kind: actSourceFails, Count: 1})
	if err := w.s.do(w.ctx, act{Kind: actEvict, Namespace: w.namespace, VMI: "vm1"}); err != nil {
		t.Fatal(err)
	}
	w.said("vm1", "MigrationBackoff", "")
	w.until("the guest has left", func() bool { return str(w.vmi("vm1"), "status", "nodeName") == "node-b" })
	w.until("the evacuation is over", func() bool { return str(w.vmi("vm1"), "status", "evacuationNodeName") == "" })
	for _, m := range w.s.vmims.by(byVMI, w.namespace+"/vm1") {
		if annotation(m, annotationEvacuation) != "node-a" || str(m, "spec", "priority") != priorityCritical {
			t.Errorf("%s: %v %v", m.GetName(), m.GetAnnotations(), child(m, "spec"))
		}
	}
}

func TestOnlyTheNewestMigrationsAreKept(t *testing.T) {
	o := fast()
	o.TimeScale = 0.005
	w := newWorld(t, o)
	w.nodes("node-a", "node-b")
	w.kubevirt(`{}`)
	w.vm("vm1", "node-a", "")
	for i := range finalKept + 2 {
		name := fmt.Sprintf("m%d", i)
		w.migrate(name, "vm1", "")
		w.reaches(name, phaseSucceeded)
	}
	w.until("the oldest are gone", func() bool { return w.vmim("m0") == nil && w.vmim("m1") == nil })
	if w.vmim("m2") == nil {
		t.Error("too many are gone")
	}
}
