// SPDX-License-Identifier: LGPL-2.1-or-later

// Volume migration: a VM with updateVolumesStrategy Migration whose volumes name other claims than its VMI's. The VM
// controller checks the change and passes it on to the VMI; the updater (updater.go) makes the migration.

package sim

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

const (
	conditionVolumes  = "VolumesChange"
	conditionRestart  = "RestartRequired"
	conditionRecovery = "ManualRecoveryRequired"
)

// claimInfo is what a VMI says about a claim; nil when the claim is not there.
func (s *Sim) claimInfo(namespace, claim string) map[string]any {
	pvc := s.pvcs.get(namespace + "/" + claim)
	info := map[string]any{"claimName": claim, "filesystemOverhead": "0.055"}
	if pvc == nil {
		return info
	}
	info["accessModes"] = runtime.DeepCopyJSONValue(orEmpty(list(pvc, "spec", "accessModes")))
	info["volumeMode"] = "Filesystem"
	if mode := str(pvc, "spec", "volumeMode"); mode != "" {
		info["volumeMode"] = mode
	}
	if requests := child(pvc, "spec", "resources", "requests"); requests != nil {
		info["requests"] = runtime.DeepCopyJSON(requests)
		info["capacity"] = runtime.DeepCopyJSON(requests)
	}
	if capacity := child(pvc, "status", "capacity"); capacity != nil {
		info["capacity"] = runtime.DeepCopyJSON(capacity)
	}
	return info
}

// fillVolumes makes status.volumeStatus say what spec.volumes has, and keeps what it said of volumes that stay.
func (s *Sim) fillVolumes(v *object) {
	old := map[string]map[string]any{}
	for _, st := range objects(v, "status", "volumeStatus") {
		old[at(st, "name")] = st
	}
	out := []any{}
	for i, volume := range objects(v, "spec", "volumes") {
		st := old[at(volume, "name")]
		if st == nil {
			st = map[string]any{"name": at(volume, "name"), "target": fmt.Sprintf("vd%c", 'a'+i%26)}
		}
		if claim := claimOf(volume); claim != "" && at(st, "persistentVolumeClaimInfo", "claimName") != claim {
			st["persistentVolumeClaimInfo"] = s.claimInfo(v.GetNamespace(), claim)
		}
		out = append(out, st)
	}
	set(v, out, "status", "volumeStatus")
}

func shared(info map[string]any) bool {
	modes, _ := info["accessModes"].([]any)
	for _, mode := range modes {
		if mode == "ReadWriteMany" {
			return true
		}
	}
	return false
}

// judgeMachine computes LiveMigratable, StorageLiveMigratable and the method, from network, devices and volumes.
func (s *Sim) judgeMachine(v *object) {
	moving := map[string]bool{}
	for _, m := range objects(v, "status", "migratedVolumes") {
		moving[at(m, "volumeName")] = true
	}
	reason, message := immovable(v)
	storage, storageReason, storageMessage := "True", "", ""
	if reason != "" {
		storage, storageReason, storageMessage = "False", "NotMigratable", reason+": "+message
	}
	for _, st := range objects(v, "status", "volumeStatus") {
		info := below(st, "persistentVolumeClaimInfo")
		if reason == "" && info != nil && !shared(info) && !moving[at(st, "name")] {
			reason = "DisksNotLiveMigratable"
			message = fmt.Sprintf(
				"cannot migrate VMI: PVC %s is not shared, live migration requires that all PVCs must be shared "+
					"(using ReadWriteMany access mode)",
				at(info, "claimName"),
			)
		}
	}
	status := "True"
	if reason != "" {
		status = "False"
	}
	setCondition(v, newCondition("LiveMigratable", status, reason, message, now()))
	setCondition(v, newCondition("StorageLiveMigratable", storage, storageReason, storageMessage, now()))
	method := "LiveMigration"
	if len(moving) > 0 || copiesDisks(v) {
		method = "BlockMigration"
	}
	set(v, method, "status", "migrationMethod")
}

// immovable gives the first reason besides volumes that keeps a guest where it is.
func immovable(v *object) (reason, message string) {
	for _, i := range objects(v, "spec", "domain", "devices", "interfaces") {
		pod := false
		for _, n := range objects(v, "spec", "networks") {
			pod = pod || at(n, "name") == at(i, "name") && below(n, "pod") != nil
		}
		allowed := has(v, "metadata", "annotations", "kubevirt.io/allow-pod-bridge-network-live-migration")
		if pod && below(i, "bridge") != nil && !allowed {
			return "InterfaceNotLiveMigratable", "cannot migrate VMI which does not use masquerade, bridge with " +
				"kubevirt.io/allow-pod-bridge-network-live-migration VM annotation or a migratable plugin " +
				"to connect to the pod network"
		}
	}
	if len(list(v, "spec", "domain", "devices", "hostDevices"))+len(list(v, "spec", "domain", "devices", "gpus")) > 0 {
		return "HostDeviceNotLiveMigratable", "VMI uses a PCI host devices"
	}
	return "", ""
}

// copiesDisks: a writable disk that belongs to no claim is copied even when all storage is shared.
func copiesDisks(v *object) bool {
	cdrom := map[string]bool{}
	for _, d := range objects(v, "spec", "domain", "devices", "disks") {
		cdrom[at(d, "name")] = below(d, "cdrom") != nil
	}
	for _, volume := range objects(v, "spec", "volumes") {
		if claimOf(volume) == "" && below(volume, "hostDisk") == nil && !cdrom[at(volume, "name")] {
			return true
		}
	}
	return false
}

// applyVolumes ends a volume migration on the VMI: the destinations are its volumes now.
func (s *Sim) applyVolumes(v *object) {
	if len(list(v, "status", "migratedVolumes")) == 0 {
		return
	}
	unset(v, "status", "migratedVolumes")
	dropCondition(v, conditionVolumes)
	s.fillVolumes(v)
	s.judgeMachine(v)
}

// reconcileVolumes is the VM controller: of a VM that should run it makes the VMI, and it passes changes of volumes on.
func (s *Sim) reconcileVolumes(ctx context.Context, k string) (time.Duration, error) {
	vm := s.vms.get(k)
	if vm == nil || deleting(vm) {
		return 0, nil
	}
	vmi := s.vmis.get(k)
	if err := s.recovery(ctx, vm, vmi); err != nil {
		return 0, err
	}
	if vmi == nil && wantsRun(vm) && condition(vm, conditionRecovery) == nil {
		return 0, s.createMachine(ctx, vm)
	}
	if err := s.printableStatus(ctx, vm, vmi); err != nil {
		return 0, err
	}
	if vmi == nil || vmiFinal(vmi) || str(vmi, "status", "phase") != "Running" {
		return 0, nil
	}
	if str(vm, "spec", "updateVolumesStrategy") != "Migration" {
		return 0, s.clearVolumeState(ctx, vm)
	}
	return s.changeVolumes(ctx, vm, vmi)
}

func wantsRun(vm *object) bool {
	strategy := str(vm, "spec", "runStrategy")
	return truth(vm, "spec", "running") || strategy == "Always" || strategy == "RerunOnFailure"
}

func (s *Sim) createMachine(ctx context.Context, vm *object) error {
	metadata := map[string]any{"name": vm.GetName(), "namespace": vm.GetNamespace(),
		"ownerReferences": []any{ownerReference(vm)}}
	for _, member := range []string{"labels", "annotations"} {
		if m := child(vm, "spec", "template", "metadata", member); m != nil {
			metadata[member] = runtime.DeepCopyJSON(m)
		}
	}
	vmi := &object{
		Object: map[string]any{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": metadata,
			"spec": runtime.DeepCopyJSON(merged(child(vm, "spec", "template", "spec")))},
	}
	_, err := s.vmis.create(ctx, vmi)
	return err
}

func (s *Sim) printableStatus(ctx context.Context, vm, vmi *object) error {
	text := "Stopped"
	switch {
	case vmi == nil:
	case conditionTrue(vmi, "Paused"):
		text = "Paused"
	case str(vmi, "status", "phase") == "Running":
		text = "Running"
		state := child(vmi, "status", "migrationState")
		if at(state, "startTimestamp") != "" && state["completed"] != true {
			text = "Migrating"
		}
	default:
		text = "Starting"
	}
	return s.vms.updateStatus(ctx, key(vm), func(v *object) bool {
		if str(v, "status", "printableStatus") == text {
			return false
		}
		set(v, text, "status", "printableStatus")
		return true
	})
}

// recovery marks a VM whose VMI ended in the middle of a change of volumes.
func (s *Sim) recovery(ctx context.Context, vm, vmi *object) error {
	moving := has(vm, "status", "volumeUpdateState", "volumeMigrationState")
	interrupted := moving && (vmi == nil && s.memory.began.has(uid(vm)+"/volumes") ||
		vmi != nil && vmiFinal(vmi) && conditionTrue(vmi, conditionVolumes))
	resolved := str(vm, "spec", "updateVolumesStrategy") != "Migration" || s.allAtSource(vm)
	return s.vms.updateStatus(ctx, key(vm), func(v *object) bool {
		if condition(v, conditionRecovery) != nil && resolved {
			return dropCondition(v, conditionRecovery)
		}
		if !interrupted || resolved {
			return false
		}
		return setCondition(v, newCondition(conditionRecovery, "True", "VolumeMigrationInterrupted",
			"the volume migration was interrupted; the volumes must be set by hand", now()))
	})
}

// allAtSource says whether every volume of the VM's last volume migration names its source claim again.
func (s *Sim) allAtSource(vm *object) bool {
	now := claimsOf(objects(vm, "spec", "template", "spec", "volumes"))
	moved := objects(vm, "status", "volumeUpdateState", "volumeMigrationState", "migratedVolumes")
	for _, m := range moved {
		if now[at(m, "volumeName")] != at(m, "sourcePVCInfo", "claimName") {
			return false
		}
	}
	return len(moved) > 0
}

func claimsOf(volumes []map[string]any) map[string]string {
	out := map[string]string{}
	for _, v := range volumes {
		if claim := claimOf(v); claim != "" {
			out[at(v, "name")] = claim
		}
	}
	return out
}

func (s *Sim) clearVolumeState(ctx context.Context, vm *object) error {
	return s.vms.updateStatus(ctx, key(vm), func(v *object) bool {
		if !has(v, "status", "volumeUpdateState") {
			return false
		}
		unset(v, "status", "volumeUpdateState")
		return true
	})
}

// changeVolumes compares the VM's volumes with the VMI's, and starts, cancels or refuses a volume migration.
func (s *Sim) changeVolumes(ctx context.Context, vm, vmi *object) (time.Duration, error) {
	s.memory.began.mark(uid(vm)+"/volumes", conditionTrue(vmi, conditionVolumes))
	if err := s.showChange(ctx, vmi); err != nil {
		return 0, err
	}
	wanted := claimsOf(objects(vm, "spec", "template", "spec", "volumes"))
	have := claimsOf(objects(vmi, "spec", "volumes"))
	if reflect.DeepEqual(wanted, have) {
		return 0, nil
	}
	moving := objects(vmi, "status", "migratedVolumes")
	if len(moving) > 0 {
		if reverts(wanted, have, moving) {
			return 0, s.cancelChange(ctx, vm, vmi)
		}
		return 0, s.restartRequired(ctx, vm,
			"a volume migration is in progress; only setting all its volumes back is possible")
	}
	if problem := s.changeProblem(vm, vmi, wanted, have); problem != "" {
		return 0, s.restartRequired(ctx, vm, problem)
	}
	for name, claim := range wanted {
		if have[name] != claim && s.pvcs.get(vm.GetNamespace()+"/"+claim) == nil {
			return 0, s.volumesCondition(ctx, vmi, "False", "",
				fmt.Sprintf("the destination PVC %s of volume %s does not exist", claim, name))
		}
	}
	return 0, s.startChange(ctx, vm, vmi, wanted, have)
}

// reverts says whether wanted is what the VMI had before the volumes that are moving began to move.
func reverts(wanted, have map[string]string, moving []map[string]any) bool {
	before := map[string]string{}
	for name, claim := range have {
		before[name] = claim
	}
	for _, m := range moving {
		before[at(m, "volumeName")] = at(m, "sourcePVCInfo", "claimName")
	}
	return reflect.DeepEqual(wanted, before)
}

func (s *Sim) restartRequired(ctx context.Context, vm *object, message string) error {
	return s.vms.updateStatus(ctx, key(vm), func(v *object) bool {
		return setCondition(v, newCondition(conditionRestart, "True", "RestartRequired", message, now()))
	})
}

// changeProblem gives the reason for which a change of volumes cannot be done by a migration.
func (s *Sim) changeProblem(vm, vmi *object, wanted, have map[string]string) string {
	if condition(vm, conditionRestart) != nil {
		return at(condition(vm, conditionRestart), "message")
	}
	if len(wanted) != len(have) {
		return "volumes were added or removed together with the change of others"
	}
	changed := map[string]bool{}
	for name, claim := range wanted {
		if have[name] == "" {
			return fmt.Sprintf("volume %s is new", name)
		}
		changed[name] = have[name] != claim
	}
	for _, d := range objects(vmi, "spec", "domain", "devices", "disks") {
		switch {
		case !changed[at(d, "name")]:
		case d["shareable"] == true:
			return fmt.Sprintf("invalid volumes to update with migration: shareable: [%s]", at(d, "name"))
		case below(d, "lun") != nil:
			return fmt.Sprintf("invalid volumes to update with migration: luns: [%s]", at(d, "name"))
		}
	}
	for _, f := range objects(vmi, "spec", "domain", "devices", "filesystems") {
		if changed[at(f, "name")] {
			return fmt.Sprintf("invalid volumes to update with migration: filesystems: [%s]", at(f, "name"))
		}
	}
	return s.staying(vmi, changed)
}

// staying names what keeps the guest on its node though the changed volumes may move.
func (s *Sim) staying(vmi *object, changed map[string]bool) string {
	if c := condition(vmi, "StorageLiveMigratable"); at(c, "status") == "False" {
		return "cannot migrate the volumes as the VMI isn't migratable: " + at(c, "message")
	}
	for _, st := range objects(vmi, "status", "volumeStatus") {
		info := below(st, "persistentVolumeClaimInfo")
		if info != nil && !shared(info) && !changed[at(st, "name")] {
			return fmt.Sprintf("the volume %s is RWO and not included in the migration volumes", at(st, "name"))
		}
	}
	return ""
}

func (s *Sim) volumesCondition(ctx context.Context, vmi *object, status, reason, message string) error {
	return s.vmis.update(ctx, key(vmi), func(v *object) bool {
		return setCondition(v, newCondition(conditionVolumes, status, reason, message, now()))
	})
}

// startChange passes the new volumes on to the VMI, in the order of writes that KubeVirt has.
func (s *Sim) startChange(ctx context.Context, vm, vmi *object, wanted, have map[string]string) error {
	moved := []any{}
	for _, volume := range objects(vmi, "spec", "volumes") {
		name := at(volume, "name")
		if claim := wanted[name]; claim != have[name] {
			source := s.claimInfo(vmi.GetNamespace(), have[name])
			moved = append(moved, map[string]any{"volumeName": name, "sourcePVCInfo": source,
				"destinationPVCInfo": s.claimInfo(vmi.GetNamespace(), claim)})
		}
	}
	err := s.vmis.update(ctx, key(vmi), func(v *object) bool {
		set(v, runtime.DeepCopyJSONValue(moved), "status", "migratedVolumes")
		return true
	})
	if err != nil {
		return err
	}
	if err := s.copyVolumes(ctx, vm, vmi); err != nil {
		return err
	}
	return s.vms.updateStatus(ctx, key(vm), func(v *object) bool {
		set(v, runtime.DeepCopyJSONValue(moved), "status", "volumeUpdateState", "volumeMigrationState",
			"migratedVolumes")
		return true
	})
}

func (s *Sim) copyVolumes(ctx context.Context, vm, vmi *object) error {
	volumes := runtime.DeepCopyJSONValue(orEmpty(list(vm, "spec", "template", "spec", "volumes")))
	return s.vmis.update(ctx, key(vmi), func(v *object) bool {
		set(v, volumes, "spec", "volumes")
		return true
	})
}

// showChange is the VMI controller's and virt-handler's part: the condition, and what it means for migratability.
func (s *Sim) showChange(ctx context.Context, vmi *object) error {
	return s.vmis.update(ctx, key(vmi), func(v *object) bool {
		if len(list(v, "status", "migratedVolumes")) == 0 || conditionTrue(v, conditionVolumes) {
			return false
		}
		setCondition(v, newCondition(conditionVolumes, "True", "", "", now()))
		s.judgeMachine(v)
		return true
	})
}

// cancelChange takes a change back: the volumes as they were, and no volume in motion.
func (s *Sim) cancelChange(ctx context.Context, vm, vmi *object) error {
	volumes := runtime.DeepCopyJSONValue(orEmpty(list(vm, "spec", "template", "spec", "volumes")))
	err := s.vmis.update(ctx, key(vmi), func(v *object) bool {
		set(v, volumes, "spec", "volumes")
		unset(v, "status", "migratedVolumes")
		setCondition(v, newCondition(conditionVolumes, "False", "VolumesChangeCancellation", "", now()))
		s.fillVolumes(v)
		s.judgeMachine(v)
		return true
	})
	if err != nil {
		return err
	}
	return s.clearVolumeState(ctx, vm)
}
