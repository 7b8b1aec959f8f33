// SPDX-License-Identifier: LGPL-2.1-or-later

// Garbage collection of migrations: of each VMI only the newest final ones are kept. The pod that a deleted one left
// behind goes with it.

package sim

import (
	"context"
	"time"
)

const finalKept = 5

func (s *Sim) collect(ctx context.Context, machine string) (time.Duration, error) {
	final := s.finalMigrations(machine)
	if len(final) <= finalKept {
		return 0, nil
	}
	for _, m := range final[finalKept:] {
		if deleting(m) {
			continue
		}
		if err := s.collectPod(ctx, m); err != nil {
			return 0, err
		}
		if err := s.vmims.remove(ctx, m, nil); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// collectPod deletes the launcher that the migration has ended: the target's if it failed, the source's otherwise.
func (s *Sim) collectPod(ctx context.Context, m *object) error {
	member := "sourcePod"
	if str(m, "status", "phase") == phaseFailed {
		member = "targetPod"
	}
	pod := s.pods.get(m.GetNamespace() + "/" + str(m, "status", "migrationState", member))
	if pod == nil || !podTerminal(pod) {
		return nil
	}
	return s.pods.remove(ctx, pod, nil)
}
