// SPDX-License-Identifier: LGPL-2.1-or-later

// The migration controller: each look at a VMIM first does what its phase asks for (act), and then decides its status
// (see decide.go), both by the objects as they were at the beginning of the look.

package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Phases of a VMIM.
const (
	phasePending    = "Pending"
	phaseScheduling = "Scheduling"
	phaseScheduled  = "Scheduled"
	phasePreparing  = "PreparingTarget"
	phaseReady      = "TargetReady"
	phaseRunning    = "Running"
	phaseSucceeded  = "Succeeded"
	phaseFailed     = "Failed"
)

// Labels, annotations and the finalizer that the controller reads or writes.
const (
	finalizer              = "kubevirt.io/migrationJobFinalize"
	labelCreatedBy         = "kubevirt.io/created-by"
	labelJobUID            = "kubevirt.io/migrationJobUID"
	labelNodeName          = "kubevirt.io/nodeName"
	labelTargetNode        = "kubevirt.io/migrationTargetNodeName"
	labelVMIName           = "kubevirt.io/vmi-name"
	labelVolumeUpdate      = "kubevirt.io/volume-update-migration"
	annotationJobName      = "kubevirt.io/migrationJobName"
	annotationEvacuation   = "kubevirt.io/evacuationMigration"
	annotationUpdate       = "kubevirt.io/workloadUpdateMigration"
	annotationReady        = "kubevirt.io/migration-target-ready-timestamp"
	annotationNonRoot      = "kubevirt.io/nonroot"
	annotationLatestAPI    = "kubevirt.io/latest-observed-api-version"
	annotationStorageAPI   = "kubevirt.io/storage-observed-api-version"
	annotationTargetImage  = "kubevirt.io/func-test-migration-target-image-override"
	annotationNoBackoff    = "kubevirt.io/func-test-ignore-migration-backoff"
	annotationHangPrepare  = "kubevirt.io/func-test-block-migration-target-preparation"
	annotationForceFailure = "kubevirt.io/func-test-force-launcher-migration-failure"
)

func migrationFinal(m *object) bool {
	phase := str(m, "status", "phase")
	return phase == phaseSucceeded || phase == phaseFailed
}

var phaseOrder = map[string]int{
	"":              0,
	phasePending:    1,
	phaseScheduling: 2,
	phaseScheduled:  3,
	phasePreparing:  4,
	phaseReady:      5,
	phaseRunning:    6,
	phaseSucceeded:  7,
	phaseFailed:     7,
}

// look is what one look at a VMIM sees; every pointer but migration may be nil.
type look struct {
	migration, vmi, pod, attachment *object
	key                             string
	quotaFull                       bool // the creation of the target pod was refused
}

func (l *look) phase() string {
	return str(l.migration, "status", "phase")
}

// state gives the VMI's migrationState if it is about this migration.
func (l *look) state() map[string]any {
	if l.vmi == nil {
		return nil
	}
	state := child(l.vmi, "status", "migrationState")
	if at(state, "migrationUid") != uid(l.migration) {
		return nil
	}
	return state
}

func (l *look) handedOff() bool {
	return l.state() != nil
}

func podDown(pod *object) bool {
	return pod == nil || podTerminal(pod)
}

// launcherReady is KubeVirt's own notion of a ready pod: it does not look at the pod's Ready condition.
func launcherReady(pod *object) bool {
	if pod == nil || podPhase(pod) != "Running" || deleting(pod) {
		return false
	}
	for _, c := range objects(pod, "status", "containerStatuses") {
		name := at(c, "name")
		ready, _ := c["ready"].(bool)
		if name == "compute" || name == "istio-proxy" {
			ready = below(c, "state", "running") != nil
		}
		if !ready {
			return false
		}
	}
	return true
}

func (s *Sim) see(m *object) *look {
	l := &look{migration: m, key: key(m), vmi: s.vmis.get(m.GetNamespace() + "/" + str(m, "spec", "vmiName"))}
	if l.vmi == nil {
		return l
	}
	for _, pod := range s.pods.by(byMigration, uid(m)) {
		if label(pod, "kubevirt.io") == "virt-launcher" && annotation(pod, annotationJobName) == m.GetName() {
			l.pod = pod
		}
	}
	if l.pod != nil {
		for _, pod := range s.pods.by(byOwner, uid(l.pod)) {
			if label(pod, "kubevirt.io") == "hotplug-disk" {
				l.attachment = pod
			}
		}
	}
	return l
}

func (s *Sim) reconcileMigration(ctx context.Context, k string) (time.Duration, error) {
	m := s.vmims.get(k)
	if m == nil {
		s.memory.waiting.remove(k)
		return 0, nil
	}
	l := s.see(m)
	if l.vmi == nil && !deleting(m) {
		return 0, s.vmims.remove(ctx, m, nil)
	}
	if err := s.admit(ctx, l); err != nil {
		return 0, err
	}
	again, err := s.act(ctx, l)
	if e := s.updateMigration(ctx, l); e != nil {
		err = e
	}
	return again, err
}

// admit does what the mutating webhook and the first look of the controller do to a new VMIM.
func (s *Sim) admit(ctx context.Context, l *look) error {
	if l.phase() != "" || annotation(l.migration, annotationLatestAPI) != "" {
		return nil
	}
	err := s.vmims.update(ctx, l.key, func(m *object) bool {
		if annotation(m, annotationLatestAPI) != "" || str(m, "status", "phase") != "" {
			return false
		}
		setAnnotation(m, annotationLatestAPI, "v1")
		setAnnotation(m, annotationStorageAPI, "v1")
		setLabel(m, labelVMIName, str(m, "spec", "vmiName"))
		if !deleting(m) && !hasFinalizer(m) {
			m.SetFinalizers(append(m.GetFinalizers(), finalizer))
		}
		return true
	})
	if err == nil {
		if m := s.vmims.get(l.key); m != nil {
			l.migration = m
		}
	}
	return err
}

func hasFinalizer(m *object) bool {
	for _, f := range m.GetFinalizers() {
		if f == finalizer {
			return true
		}
	}
	return false
}

// act does what the phase of the migration asks for; it returns when to look again.
func (s *Sim) act(ctx context.Context, l *look) (time.Duration, error) {
	if l.vmi == nil || deleting(l.vmi) || at(l.state(), "endTimestamp") != "" {
		return 0, nil
	}
	if other := s.conflicting(l); other != "" && !migrationFinal(l.migration) {
		return 0, nil // decide fails the migration, or waits for the other one to be gone
	}
	cancelled := deleting(l.migration) && !l.handedOff()
	switch l.phase() {
	case phasePending:
		if cancelled {
			return 0, s.cancelTarget(ctx, l)
		}
		return s.actPending(ctx, l)
	case phaseScheduling:
		if cancelled {
			return 0, s.cancelTarget(ctx, l)
		}
		return s.podTimers(ctx, l)
	case phaseScheduled:
		if cancelled {
			return 0, s.cancelTarget(ctx, l)
		}
		if launcherReady(l.pod) {
			return 0, s.handOff(ctx, l)
		}
	case phasePreparing, phaseReady, phaseFailed:
		if podDown(l.pod) || l.phase() == phaseFailed {
			return 0, s.markFailed(ctx, l)
		}
	case phaseRunning:
		return 0, s.actRunning(ctx, l)
	}
	return 0, nil
}

func (s *Sim) actPending(ctx context.Context, l *look) (time.Duration, error) {
	if wait := s.backoff(l); wait > 0 {
		return wait, nil
	}
	switch {
	case l.pod == nil:
		return s.createTarget(ctx, l)
	case !launcherReady(l.pod):
		return s.podTimers(ctx, l)
	case hasHotplug(l.vmi) && l.attachment == nil:
		return 0, s.createAttachment(ctx, l)
	}
	return 0, nil
}

func (s *Sim) actRunning(ctx context.Context, l *look) error {
	state := l.state()
	if deleting(l.migration) && state != nil && at(state, "abortStatus") == "" {
		if err := s.requestAbort(ctx, l); err != nil {
			return err
		}
	}
	ready := at(state, "targetNodeDomainReadyTimestamp")
	if ready == "" || podDown(l.pod) || annotation(l.pod, annotationReady) != "" {
		return nil
	}
	text := parseTime(ready).UTC().String()
	return ignoreGone(s.pods.update(ctx, key(l.pod), func(pod *object) bool {
		if annotation(pod, annotationReady) != "" {
			return false
		}
		setAnnotation(pod, annotationReady, text)
		return true
	}))
}

func ignoreGone(err error) error {
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// requestAbort tells the source's virt-handler to abort; only a deleted VMIM does this.
func (s *Sim) requestAbort(ctx context.Context, l *look) error {
	asked := false
	err := s.vmis.update(ctx, key(l.vmi), func(vmi *object) bool {
		state := child(vmi, "status", "migrationState")
		asked = at(state, "migrationUid") == uid(l.migration) && state["abortRequested"] != true &&
			state["completed"] != true
		if asked {
			set(vmi, true, "status", "migrationState", "abortRequested")
		}
		return asked
	})
	switch {
	case err != nil:
		s.tell(l.migration, byController, warning, "FailedAbortMigration", "The abort could not be requested: %v", err)
	case asked:
		s.tell(l.migration, byController, normal, "SuccessfulAbortMigration",
			"Migration is ready to be canceled by virt-handler.")
	}
	return err
}

// markFailed says on the VMI that the target is lost, for a migration that was handed off and has no end.
func (s *Sim) markFailed(ctx context.Context, l *look) error {
	if !l.handedOff() {
		return nil
	}
	marked := false
	err := s.vmis.update(ctx, key(l.vmi), func(vmi *object) bool {
		state := child(vmi, "status", "migrationState")
		marked = at(state, "migrationUid") == uid(l.migration) && state["completed"] != true &&
			at(state, "endTimestamp") == ""
		if !marked {
			return false
		}
		if at(state, "startTimestamp") == "" {
			set(vmi, now(), "status", "migrationState", "startTimestamp")
		}
		set(vmi, now(), "status", "migrationState", "endTimestamp")
		set(vmi, true, "status", "migrationState", "failed")
		set(vmi, true, "status", "migrationState", "completed")
		set(vmi, "Target pod is down", "status", "migrationState", "failureReason")
		return true
	})
	if err == nil && marked {
		s.events.say(l.vmi, byController, warning, "FailedMigration",
			"VirtualMachineInstance migration uid %s failed. reason: Target pod is down", uid(l.migration))
	}
	return ignoreGone(err)
}

// tell says something about an object once, however often its controller looks at it.
func (s *Sim) tell(o *object, component, kind, reason, format string, args ...any) {
	if s.memory.told.addNew(uid(o) + reason + fmt.Sprintf(format, args...)) {
		s.events.say(o, component, kind, reason, format, args...)
	}
}

// updateMigration writes what decide makes of the migration: its status first, its finalizer in a later look.
func (s *Sim) updateMigration(ctx context.Context, l *look) error {
	next := l.migration.DeepCopy()
	s.decide(l, next)
	if !sameStatus(next, l.migration) {
		_, err := s.writeMigration(ctx, next, "status")
		return err
	}
	if len(next.GetFinalizers()) == len(l.migration.GetFinalizers()) {
		return nil
	}
	gone, err := s.writeMigration(ctx, next)
	if gone {
		s.memory.waiting.remove(l.key)
	}
	return err
}

// writeMigration updates a VMIM as it was seen; a conflict makes the loop look again.
func (s *Sim) writeMigration(ctx context.Context, next *object, part ...string) (gone bool, err error) {
	out, err := s.vmims.in(next.GetNamespace()).Update(ctx, next, updateOptions, part...)
	switch {
	case err == nil:
		s.vmims.put(out)
		s.migrations.add(key(next))
		return false, nil
	case apierrors.IsNotFound(err):
		s.vmims.drop(key(next))
		return true, nil
	case apierrors.IsConflict(err):
		return false, s.reread(ctx, next)
	}
	return false, err
}

// reread takes the current object of the server, because the watch may lag behind for long.
func (s *Sim) reread(ctx context.Context, o *object) error {
	out, err := s.vmims.in(o.GetNamespace()).Get(ctx, o.GetName(), getOptions)
	if apierrors.IsNotFound(err) {
		s.vmims.drop(key(o))
		return nil
	}
	if err == nil {
		s.vmims.put(out)
		s.migrations.add(key(o))
	}
	return err
}
