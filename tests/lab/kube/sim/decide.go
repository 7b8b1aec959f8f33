// SPDX-License-Identifier: LGPL-2.1-or-later

// The status of a VMIM, decided anew on every look: first the rules that end a migration, in a fixed order of which
// the first that fits wins, then the rule of its phase. Works on copies; writes nothing but events.

package sim

import (
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Texts of the event FailedMigration; clients match tokens of them.
const (
	textNoVMI        = "Migration failed because vmi does not exist."
	textVMIShutdown  = "Migration failed vmi shutdown during migration."
	textCanceled     = "Migration failed due to being canceled"
	textPodShutdown  = "Migration failed because target pod shutdown during migration"
	textPodRemoved   = "Migration target pod was removed during active migration."
	textStateCleared = "VMI's migration state was cleared during the active migration."
	textTakenOver    = "VMI's migration state was taken over by another migration job during active migration."
	textSourceFailed = "source node reported migration failed"
	textAttachment   = "Migration failed because target attachment pod shutdown during migration"
	textOtherJob     = "VMI is not eligible for migration because another migration job is in progress."
	textUtility      = "Migration failed because the VMI still has utility volumes after the time limit"
	textSucceeded    = "Source node reported migration succeeded"
)

var (
	updateOptions = metav1.UpdateOptions{}
	getOptions    = metav1.GetOptions{}
)

func sameStatus(a, b *object) bool {
	return reflect.DeepEqual(child(a, "status"), child(b, "status"))
}

func setPhase(m *object, phase string) {
	set(m, phase, "status", "phase")
	for _, t := range stampsOf(m) {
		if at(t, "phase") == phase {
			return
		}
	}
	stamps := append(list(m, "status", "phaseTransitionTimestamps"),
		map[string]any{"phase": phase, "phaseTransitionTimestamp": now()})
	set(m, stamps, "status", "phaseTransitionTimestamps")
}

func stampsOf(m *object) []map[string]any {
	return asMaps(list(m, "status", "phaseTransitionTimestamps"))
}

// conflicting names another migration that the VMI's migrationState still belongs to.
func (s *Sim) conflicting(l *look) string {
	owner := at(child(l.vmi, "status", "migrationState"), "migrationUid")
	if owner == "" || owner == uid(l.migration) {
		return ""
	}
	for _, m := range s.vmims.by(byVMI, key(l.vmi)) {
		if uid(m) == owner && !migrationFinal(m) {
			return m.GetName()
		}
	}
	return ""
}

// decide edits next, a copy of the migration, into what it should be now.
func (s *Sim) decide(l *look, next *object) {
	if migrationFinal(l.migration) {
		s.finish(l, next)
		return
	}
	if reason := s.failure(l); reason != "" {
		if deleting(l.migration) {
			abortRequested(next)
		}
		setPhase(next, phaseFailed)
		s.tell(l.migration, byController, warning, "FailedMigration", "%s", reason)
		return
	}
	if deleting(l.migration) && abortRequested(next) {
		return
	}
	s.advance(l, next)
}

// abortRequested adds the condition of a deleted VMIM; it says whether the condition was not there yet.
func abortRequested(m *object) bool {
	return probed(m, "migrationAbortRequested", "", "")
}

// probed adds a true condition that has only a probe time, unless it is there; it says whether it was not.
func probed(m *object, kind, reason, message string) bool {
	if condition(m, kind) != nil {
		return false
	}
	c := newCondition(kind, "True", reason, message, nil)
	c["lastProbeTime"] = now()
	return setCondition(m, c)
}

// finish keeps the VMI's account of a final migration, and lets the VMIM go.
func (s *Sim) finish(l *look, next *object) {
	if state := l.state(); state != nil {
		set(next, runtime.DeepCopyJSON(state), "status", "migrationState")
	}
	kept := []string{}
	for _, f := range next.GetFinalizers() {
		if f != finalizer {
			kept = append(kept, f)
		}
	}
	next.SetFinalizers(kept)
}

// failure gives the text of the first rule that ends the migration, or "".
func (s *Sim) failure(l *look) string {
	started := phaseOrder[l.phase()] >= phaseOrder[phaseScheduling]
	prepared := phaseOrder[l.phase()] >= phaseOrder[phasePreparing]
	switch {
	case l.vmi == nil:
		return textNoVMI
	case vmiFinal(l.vmi):
		return textVMIShutdown
	case deleting(l.migration) && !l.handedOff():
		return textCanceled
	case l.pod != nil && podTerminal(l.pod):
		return textPodShutdown
	case started && l.pod == nil:
		return textPodRemoved
	case prepared && !has(l.vmi, "status", "migrationState"):
		return textStateCleared
	case prepared && !l.handedOff():
		return textTakenOver
	case l.state()["failed"] == true:
		return textSourceFailed
	case l.attachment != nil && podTerminal(l.attachment):
		return textAttachment
	case l.phase() == "" && s.conflicting(l) != "":
		return textOtherJob
	case s.utilityExpired(l):
		return textUtility
	}
	return ""
}

func vmiFinal(vmi *object) bool {
	phase := str(vmi, "status", "phase")
	return phase == "Succeeded" || phase == "Failed"
}

// advance applies the rule of the migration's phase.
func (s *Sim) advance(l *look, next *object) {
	state := l.state()
	switch l.phase() {
	case "":
		if source := s.sourcePod(l.vmi); source != nil {
			set(next, source.GetName(), "status", "migrationState", "sourcePod")
		}
		setPhase(next, phasePending)
	case phasePending:
		s.holds(l, next)
		ready := l.pod
		if hasHotplug(l.vmi) && !launcherReady(l.attachment) {
			ready = nil
		}
		if ready != nil {
			setPhase(next, phaseScheduling)
		}
	case phaseScheduling:
		dropCondition(next, conditionQuota)
		if launcherReady(l.pod) && (!hasHotplug(l.vmi) || launcherReady(l.attachment)) {
			setPhase(next, phaseScheduled)
		}
	case phaseScheduled:
		if at(state, "targetNode") != "" {
			setPhase(next, phasePreparing)
		}
	case phasePreparing:
		if at(state, "targetNode") != "" && at(state, "targetNodeAddress") != "" {
			setPhase(next, phaseReady)
		}
	case phaseReady:
		if at(state, "startTimestamp") != "" {
			setPhase(next, phaseRunning)
		}
	case phaseRunning:
		if state["completed"] == true && !settling(l.vmi) {
			setPhase(next, phaseSucceeded)
			s.tell(l.migration, byController, normal, "SuccessfulMigration", textSucceeded)
		}
	}
}

// settling says that the guest is on the target but a change that the migration was to bring is not done yet.
func settling(vmi *object) bool {
	return condition(vmi, "HotVCPUChange") != nil || conditionTrue(vmi, "HotMemoryChange") ||
		conditionTrue(vmi, "MigrationRequired")
}

// merged gives a map with the members of all; later ones win.
func merged(all ...map[string]any) map[string]any {
	out := map[string]any{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
