// SPDX-License-Identifier: LGPL-2.1-or-later

// The evacuation controller: as long as a VMI is to leave the node that it is on, it has a migration. A migration that
// fails or is deleted is followed by another.

package sim

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const evacuationInterval = 5 * time.Second

func (s *Sim) reconcileEvacuation(ctx context.Context, k string) (time.Duration, error) {
	vmi := s.vmis.get(k)
	if vmi == nil || vmiFinal(vmi) || deleting(vmi) {
		return 0, nil
	}
	node := str(vmi, "status", "evacuationNodeName")
	if node == "" || node != str(vmi, "status", "nodeName") || s.activeMigration(k) != nil {
		return 0, nil
	}
	if at(condition(vmi, "LiveMigratable"), "status") == "False" {
		s.tell(vmi, byEvacuation, warning, "FailedCreate",
			"VirtualMachineInstance is not migratable, and cannot be evacuated")
		return 0, nil
	}
	if !s.evacuationSlot(node) {
		return max(s.o.scaled(evacuationInterval), 250*time.Millisecond), nil
	}
	// What is cached may be older than the end of the migration before: the mark may be gone by now.
	if marked, err := s.isMarked(ctx, vmi, node); err != nil || !marked {
		return 0, err
	}
	made, err := s.createMigration(ctx, vmi, "kubevirt-evacuation-", priorityCritical, nil,
		map[string]any{annotationEvacuation: node})
	if err != nil {
		return 0, err
	}
	// The mark may have gone while the creation was on its way, and then nobody wants this one.
	if marked, err := s.isMarked(ctx, vmi, node); err != nil || marked {
		return 0, err
	}
	return 0, s.vmims.remove(ctx, made, nil)
}

// isMarked asks the server whether a VMI is to leave a node.
func (s *Sim) isMarked(ctx context.Context, vmi *object, node string) (bool, error) {
	now, err := s.vmis.in(vmi.GetNamespace()).Get(ctx, vmi.GetName(), getOptions)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && str(now, "status", "evacuationNodeName") == node, err
}

// evacuationSlot keeps the number of migrations that evacuations make within the limits of running ones.
func (s *Sim) evacuationSlot(node string) bool {
	limits := s.clusterConfig()
	active, outbound := 0, 0
	for _, m := range s.vmims.all() {
		if migrationFinal(m) {
			continue
		}
		active++
		if vmi := s.vmis.get(m.GetNamespace() + "/" + str(m, "spec", "vmiName")); vmi != nil &&
			str(vmi, "status", "nodeName") == node {
			outbound++
		}
	}
	return active < limits.parallelCluster && outbound < limits.parallelOutbound
}
