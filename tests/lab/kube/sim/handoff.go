// SPDX-License-Identifier: LGPL-2.1-or-later

// The hand-off: the controller writes on the VMI where it is to go, and with which settings; from here on the
// virt-handlers act (see handler.go).

package sim

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"
)

func (s *Sim) handOff(ctx context.Context, l *look) error {
	node := str(l.pod, "spec", "nodeName")
	if node == "" || l.handedOff() {
		return nil
	}
	config, policy := s.migrationConfig(l.vmi)
	state := map[string]any{
		"migrationUid": uid(l.migration), "sourceNode": str(l.vmi, "status", "nodeName"), "targetNode": node,
		"targetPod": l.pod.GetName(), "migrationConfiguration": config,
		"targetMemoryOverhead": resource.NewQuantity(memoryOverhead, resource.BinarySI).String(),
	}
	if source := str(l.migration, "status", "migrationState", "sourcePod"); source != "" {
		state["sourcePod"] = source
	}
	if policy != "" {
		state["migrationPolicyName"] = policy
	}
	if l.attachment != nil {
		state["targetAttachmentPodUID"] = uid(l.attachment)
	}
	wrote := false
	err := s.vmis.update(ctx, key(l.vmi), func(vmi *object) bool {
		old := child(vmi, "status", "migrationState")
		wrote = at(old, "migrationUid") != uid(l.migration) && uid(vmi) == uid(l.vmi)
		if wrote {
			set(vmi, state, "status", "migrationState")
			setLabel(vmi, labelTargetNode, node)
		}
		return wrote
	})
	switch {
	case err != nil:
		s.tell(l.migration, byController, warning, "FailedHandOver", "The VMI could not be told of its target: %v", err)
	case wrote:
		s.events.say(l.migration, byController, normal, "SuccessfulHandOver",
			"Migration target pod is ready for preparation by virt-handler.")
	}
	return err
}
