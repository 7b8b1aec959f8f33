// SPDX-License-Identifier: LGPL-2.1-or-later

package sim

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var machinesResource = kubevirtResource("virtualmachines")

// volumeWorld has a running VM with two volumes that are not shared, and claims that they can move to.
func volumeWorld(t *testing.T) *world {
	w := newWorld(t, fast())
	w.nodes("node-a", "node-b")
	w.kubevirt(`{}`)
	for _, name := range []string{"root-old", "root-new", "data-old", "data-new"} {
		w.claim(name, "ReadWriteOnce", "1Gi")
	}
	w.make(
		machinesResource,
		fmt.Sprintf(`{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"vm1","namespace":%q},
		"spec":{"runStrategy":"Always","template":{"metadata":{"labels":{"app":"vm1"},"annotations":{%q:"node-a"}},
		"spec":{"domain":{"cpu":{"model":"host-model"},"memory":{"guest":"1Gi"},
		"devices":{"disks":[{"name":"root","disk":{}},{"name":"data","disk":{}}],
		"interfaces":[{"name":"default","masquerade":{}}]}},
		"networks":[{"name":"default","pod":{}}],"volumes":%s}}}}`,
			w.namespace, annotationNode, volumesOf("root-old", "data-old")),
	)
	w.until("the VM runs", func() bool {
		v := w.vmi("vm1")
		return v != nil && str(v, "status", "phase") == "Running"
	})
	if reason := at(condition(w.vmi("vm1"), "LiveMigratable"), "reason"); reason != "DisksNotLiveMigratable" {
		t.Fatalf("LiveMigratable says %q", reason)
	}
	return w
}

func volumesOf(root, data string) string {
	return fmt.Sprintf(
		`[{"name":"root","persistentVolumeClaim":{"claimName":%q}},
		{"name":"data","persistentVolumeClaim":{"claimName":%q}}]`,
		root,
		data,
	)
}

func (w *world) setVolumes(strategy, root, data string) {
	w.t.Helper()
	volumes := []any{}
	if err := json.Unmarshal([]byte(volumesOf(root, data)), &volumes); err != nil {
		w.t.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"updateVolumesStrategy": strategy,
		"template": map[string]any{"spec": map[string]any{"volumes": volumes}}}})
	if err != nil {
		w.t.Fatal(err)
	}
	in := w.client.Resource(machinesResource).Namespace(w.namespace)
	if _, err := in.Patch(w.ctx, "vm1", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) volumeMigration() *object {
	for _, m := range w.s.vmims.by(byVMI, w.namespace+"/vm1") {
		if label(m, labelVolumeUpdate) == "vm1" {
			return m
		}
	}
	return nil
}

func TestVolumesMoveWithTheGuest(t *testing.T) {
	w := volumeWorld(t)
	w.setVolumes("Migration", "root-new", "data-new")
	w.until("the guest and its volumes have moved", func() bool {
		v := w.vmi("vm1")
		return str(v, "status", "nodeName") == "node-b" && !has(v, "status", "migratedVolumes") &&
			condition(v, conditionVolumes) == nil
	})
	v := w.vmi("vm1")
	if claims := claimsOf(objects(v, "spec", "volumes")); claims["root"] != "root-new" || claims["data"] != "data-new" {
		t.Error(claims)
	}
	for _, st := range objects(v, "status", "volumeStatus") {
		if at(st, "persistentVolumeClaimInfo", "claimName") != at(st, "name")+"-new" {
			t.Error(st)
		}
	}
	if ports := child(v, "status", "migrationState", "targetDirectMigrationNodePorts"); len(ports) != 3 {
		t.Errorf("a migration that copies disks has three ports: %v", ports)
	}
	if m := w.volumeMigration(); str(m, "spec", "priority") != priorityUser ||
		!has(m, "metadata", "annotations", annotationUpdate) {
		t.Error(m)
	}
	// The record of the move is not an indicator of progress: it stays.
	if !has(w.get(machinesResource, "vm1"), "status", "volumeUpdateState", "volumeMigrationState", "migratedVolumes") {
		t.Error("the VM has lost its record")
	}
}

func TestVolumesThatAreSetBackEndTheMigration(t *testing.T) {
	w := volumeWorld(t)
	w.act(act{Kind: actCopy})
	w.setVolumes("Migration", "root-new", "data-new")
	w.until("the copy runs",
		func() bool { return at(child(w.vmi("vm1"), "status", "migrationState"), "startTimestamp") != "" })
	w.setVolumes("Migration", "root-old", "data-new")
	w.until("a partial return is refused",
		func() bool { return condition(w.get(machinesResource, "vm1"), conditionRestart) != nil })
	w.setVolumes("Migration", "root-old", "data-old")
	w.until("the change is taken back", func() bool {
		v := w.vmi("vm1")
		return at(condition(v, conditionVolumes), "reason") == "VolumesChangeCancellation" &&
			!has(v, "status", "migratedVolumes")
	})
	w.until("the migration is gone", func() bool { return w.volumeMigration() == nil })
	v := w.vmi("vm1")
	if str(v, "status", "nodeName") != "node-a" || claimsOf(objects(v, "spec", "volumes"))["root"] != "root-old" {
		t.Error(child(v, "status"))
	}
	if has(w.get(machinesResource, "vm1"), "status", "volumeUpdateState", "volumeMigrationState") {
		t.Error("the VM still has a record of the move")
	}
}

func TestFailedVolumeMigrationIsTriedAgain(t *testing.T) {
	w := volumeWorld(t)
	w.act(act{Kind: actSourceFails, Count: 1, Text: "virError(Code=1, Domain=10, Message='internal error')"})
	w.setVolumes("Migration", "root-new", "data-new")
	w.said("vm1", "MigrationBackoff", "")
	w.until("the second one succeeds", func() bool { return str(w.vmi("vm1"), "status", "nodeName") == "node-b" })
}

func TestMissingDestinationIsWaitedFor(t *testing.T) {
	w := volumeWorld(t)
	w.setVolumes("Migration", "root-new", "data-late")
	w.until("the VMI says what is missing", func() bool {
		c := condition(w.vmi("vm1"), conditionVolumes)
		return at(c, "status") == "False" && at(c, "message") != ""
	})
	w.claim("data-late", "ReadWriteOnce", "1Gi")
	w.until("the guest has moved", func() bool { return str(w.vmi("vm1"), "status", "nodeName") == "node-b" })
}
