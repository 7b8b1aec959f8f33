// SPDX-License-Identifier: LGPL-2.1-or-later

// The workload updater: it makes the migrations that a change of a running VM needs, as long as it needs them, and
// ends them when the change was taken back.

package sim

import (
	"context"
	"slices"
	"time"
)

const updateInterval = 5 * time.Second

// reconcileUpdate looks at one VMI, at most once per interval.
func (s *Sim) reconcileUpdate(ctx context.Context, k string) (time.Duration, error) {
	vmi := s.vmis.get(k)
	if vmi == nil || vmiFinal(vmi) || deleting(vmi) {
		return 0, nil
	}
	if at(condition(vmi, conditionVolumes), "reason") == "VolumesChangeCancellation" {
		return 0, s.cancelUpdates(ctx, vmi)
	}
	if !conditionTrue(vmi, conditionVolumes) && !conditionTrue(vmi, "MigrationRequired") ||
		!slices.Contains(s.clusterConfig().updateMethods,
			any("LiveMigrate")) || str(vmi, "status", "phase") != "Running" ||
		!conditionTrue(vmi, "LiveMigratable") || s.activeMigration(k) != nil {
		return 0, nil
	}
	interval := s.o.scaled(updateInterval)
	id := uid(vmi) + "/update"
	if rest := interval - time.Since(s.memory.began.first(id, time.Time{})); rest > 0 {
		return rest, nil
	}
	s.memory.began.forget(id)
	labels := map[string]any{}
	if conditionTrue(vmi, conditionVolumes) {
		labels[labelVolumeUpdate] = vmi.GetName()
		if len(vmi.GetName()) > labelLengthMost {
			labels[labelVolumeUpdate] = uid(vmi)
		}
	}
	_, err := s.createMigration(ctx, vmi, "kubevirt-workload-update-", priorityUser, labels,
		map[string]any{annotationUpdate: ""})
	return interval, err
}

func (s *Sim) activeMigration(machine string) *object {
	for _, m := range s.vmims.by(byVMI, machine) {
		if !migrationFinal(m) {
			return m
		}
	}
	return nil
}

// createMigration posts a VMIM as a controller does.
func (s *Sim) createMigration(
	ctx context.Context,
	vmi *object,
	prefix, priority string,
	labels, annotations map[string]any,
) (*object, error) {
	labels = merged(labels, map[string]any{labelVMIName: vmi.GetName()})
	m := &object{Object: map[string]any{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
		"metadata": map[string]any{
			"generateName": prefix,
			"namespace":    vmi.GetNamespace(),
			"labels":       labels,
			"annotations":  annotations,
			"finalizers":   []any{finalizer},
		},
		"spec": map[string]any{"vmiName": vmi.GetName(), "priority": priority},
	}}
	made, err := s.vmims.create(ctx, m)
	if err != nil {
		return nil, err
	}
	s.events.say(vmi, byUpdater, normal, "SuccessfulCreate", "Created Migration %s", made.GetName())
	s.migrations.add(key(made))
	return made, nil
}

// cancelUpdates deletes the migrations of a change that was taken back, unless the guest has moved already.
func (s *Sim) cancelUpdates(ctx context.Context, vmi *object) error {
	state := child(vmi, "status", "migrationState")
	for _, m := range s.vmims.by(byVMI, key(vmi)) {
		if migrationFinal(m) || deleting(m) || label(m, labelVolumeUpdate) == "" {
			continue
		}
		if at(state, "migrationUid") == uid(m) && at(state, "targetNodeDomainReadyTimestamp") != "" {
			continue
		}
		if err := s.vmims.remove(ctx, m, nil); err != nil {
			return err
		}
	}
	return nil
}
