// SPDX-License-Identifier: LGPL-2.1-or-later

// What keeps a migration in Pending: back-off, a running backup, utility volumes, pods that have not ended yet, full
// slots, a full quota. Only some of these show as conditions or events; the others are silent, as KubeVirt's are.

package sim

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	conditionQuota   = "migrationRejectedByResourceQuota"
	conditionBackup  = "migrationBlockedByBackup"
	conditionUtility = "migrationBlockedByUtilityVolumes"

	priorityCritical    = "system-critical"
	priorityUser        = "user-triggered"
	priorityMaintenance = "system-maintenance"

	backoffFirst = 20 * time.Second
	backoffMost  = 320 * time.Second
	podsInterval = time.Second
)

// queuePriority is the place of a migration in the controller's queue: running ones first, a client's last.
func (s *Sim) queuePriority(k string) int {
	m := s.vmims.get(k)
	if m == nil {
		return 0
	}
	if phase := str(m, "status", "phase"); phase != "" && phase != phasePending && !migrationFinal(m) {
		return 1000
	}
	return declaredPriority(m)
}

func declaredPriority(m *object) int {
	switch str(m, "spec", "priority") {
	case priorityCritical:
		return 100
	case priorityUser:
		return 50
	case priorityMaintenance:
		return 20
	}
	return 0
}

// slotInterval is how long a migration without a slot waits until it tries again.
func (s *Sim) slotInterval(m *object) time.Duration {
	interval := 5 * time.Second
	switch str(m, "spec", "priority") {
	case priorityCritical:
		interval = time.Second
	case priorityUser, priorityMaintenance:
		interval = 3 * time.Second
	}
	return max(s.o.scaled(interval), 250*time.Millisecond)
}

// backoff gives the rest of the pause after failures, for migrations that a controller made.
func (s *Sim) backoff(l *look) time.Duration {
	m := l.migration
	if annotation(m, annotationEvacuation) == "" && !has(m, "metadata", "annotations", annotationUpdate) ||
		has(m, "metadata", "annotations", annotationNoBackoff) {
		return 0
	}
	end, pause := s.lastFailures(l)
	if pause == 0 {
		return 0
	}
	rest := time.Until(end.Add(pause))
	if rest <= 0 {
		return 0
	}
	if s.memory.told.addNew(uid(m) + "/backoff") {
		s.events.say(l.vmi, byController, warning, "MigrationBackoff", "backoff migrating vmi %s", key(l.vmi))
	}
	return rest
}

// lastFailures gives the end of the newest final migration of a VMI, and the pause that the failures in a row before
// it ask for.
func (s *Sim) lastFailures(l *look) (end time.Time, pause time.Duration) {
	final := s.finalMigrations(key(l.vmi))
	for i, m := range final {
		if str(m, "status", "phase") != phaseFailed {
			break
		}
		if i == 0 {
			end = s.endOf(m)
			pause = s.o.scaled(backoffFirst)
		} else {
			pause = min(2*pause, s.o.scaled(backoffMost))
		}
	}
	return end, pause
}

// finalMigrations gives the final VMIMs of a VMI, the one that ended last first.
func (s *Sim) finalMigrations(machine string) []*object {
	final := []*object{}
	for _, m := range s.vmims.by(byVMI, machine) {
		if migrationFinal(m) {
			final = append(final, m)
		}
	}
	slices.Reverse(final) // of those that ended at the same time, the one that was made last comes first
	sort.SliceStable(final, func(i, j int) bool { return s.endOf(final[j]).Before(s.endOf(final[i])) })
	return final
}

// endOf is when a migration ended, to a finer resolution than the API's if it was seen.
func (s *Sim) endOf(m *object) time.Time {
	return s.memory.began.first(uid(m)+"/final", finalTime(m))
}

func finalTime(m *object) time.Time {
	for _, t := range stampsOf(m) {
		if phase := at(t, "phase"); phase == phaseSucceeded || phase == phaseFailed {
			return parseTime(at(t, "phaseTransitionTimestamp"))
		}
	}
	return created(m)
}

func backupRuns(vmi *object) bool {
	status := child(vmi, "status", "changedBlockTracking", "backupStatus")
	return status != nil && status["completed"] != true
}

func hasUtility(vmi *object) bool {
	return len(list(vmi, "spec", "utilityVolumes")) > 0
}

func (s *Sim) utilityExpired(l *look) bool {
	if l.phase() != phasePending || l.pod != nil || !hasUtility(l.vmi) {
		return false
	}
	return time.Since(
		s.memory.began.first(uid(l.migration)+"/utility", created(l.migration)),
	) >= s.utilityLimit(l.migration)
}

// holds keeps the conditions that say why a migration waits.
func (s *Sim) holds(l *look, next *object) {
	if l.pod != nil {
		for _, kind := range []string{conditionBackup, conditionUtility} {
			dropCondition(next, kind)
		}
		return
	}
	if backupRuns(l.vmi) {
		probed(next, conditionBackup, "BackupInProgress", "The migration waits until the backup of the VMI has ended")
	} else {
		dropCondition(next, conditionBackup)
	}
	if hasUtility(l.vmi) {
		probed(next, conditionUtility, "UtilityVolumesPresent",
			"The migration waits until the VMI has no utility volumes")
	} else {
		dropCondition(next, conditionUtility)
	}
	if l.quotaFull {
		probed(next, conditionQuota, "", "")
	}
}

// createTarget makes the target launcher pod as soon as nothing holds the migration.
func (s *Sim) createTarget(ctx context.Context, l *look) (time.Duration, error) {
	source := s.sourcePod(l.vmi)
	if source == nil {
		return 0, nil
	}
	if backupRuns(l.vmi) {
		return 0, s.abortBackup(ctx, l)
	}
	if hasUtility(l.vmi) {
		s.tell(l.migration, byController, warning, "UtilityVolumeMigrationPending",
			"The migration waits for utility volumes to be detached")
		return s.utilityLimit(l.migration) / 10, nil
	}
	if err := s.nonRoot(ctx, l); err != nil {
		return 0, err
	}
	// Slots are counted and taken by one migration at a time.
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	switch {
	case str(l.vmi, "status", "phase") != "Running":
		return 0, nil
	case s.activeLaunchers(l.vmi) > 1:
		return s.o.scaled(podsInterval), nil
	case !s.slotFree(l):
		s.memory.waiting.add(l.key)
		return s.slotInterval(l.migration), nil
	}
	s.memory.waiting.remove(l.key)
	err := s.createTargetPod(ctx, l, source)
	if l.quotaFull {
		return s.slotInterval(l.migration), nil
	}
	return 0, err
}

// abortBackup ends a backup in favour of a migration of the highest priority; others wait.
func (s *Sim) abortBackup(ctx context.Context, l *look) error {
	if str(l.migration, "spec", "priority") != priorityCritical {
		return nil
	}
	err := s.vmis.update(ctx, key(l.vmi), func(vmi *object) bool {
		if !backupRuns(vmi) {
			return false
		}
		set(vmi, true, "status", "changedBlockTracking", "backupStatus", "completed")
		return true
	})
	if err != nil {
		s.tell(l.migration, byController, warning, "BackupAbortFailed", "The backup could not be aborted: %v", err)
		return err
	}
	s.tell(l.migration, byController, normal, "BackupAbortedForMigration",
		"The backup of the VMI was aborted for this migration")
	return nil
}

// nonRoot prepares the VMI for a launcher that does not run as root.
func (s *Sim) nonRoot(ctx context.Context, l *look) error {
	if annotation(l.vmi, annotationNonRoot) != "" {
		return nil
	}
	err := s.vmis.update(ctx, key(l.vmi), func(vmi *object) bool {
		user, found := child(vmi, "status")["runtimeUser"]
		if !found || user == int64(0) || annotation(vmi, annotationNonRoot) != "" {
			return false
		}
		setAnnotation(vmi, annotationNonRoot, "true")
		return true
	})
	if vmi := s.vmis.get(key(l.vmi)); vmi != nil {
		l.vmi = vmi
	}
	return err
}

func (s *Sim) activeLaunchers(vmi *object) int {
	n := 0
	for _, pod := range s.pods.by(byCreator, uid(vmi)) {
		if ownedBy(pod, vmi.GetUID()) && !podTerminal(pod) {
			n++
		}
	}
	return n
}

type slotLock struct{ mu sync.Mutex }

// slotFree says whether neither the cluster's nor the source node's limit of migrations is reached. A migration that
// is Pending with a target pod has a slot already.
func (s *Sim) slotFree(l *look) bool {
	limits := s.clusterConfig()
	node := str(l.vmi, "status", "nodeName")
	running, outbound := 0, 0
	for _, m := range s.vmims.all() {
		if migrationFinal(m) || uid(m) == uid(l.migration) || !s.holdsSlot(m) {
			continue
		}
		running++
		if vmi := s.vmis.get(m.GetNamespace() + "/" + str(m, "spec", "vmiName")); vmi != nil &&
			leavesNode(vmi, m, node) {
			outbound++
		}
	}
	return running < limits.parallelCluster && outbound < limits.parallelOutbound
}

func (s *Sim) holdsSlot(m *object) bool {
	switch str(m, "status", "phase") {
	case "", phaseSucceeded, phaseFailed:
		return false
	case phasePending:
		return len(s.pods.by(byMigration, uid(m))) > 0
	}
	return true
}

func leavesNode(vmi, m *object, node string) bool {
	state := child(vmi, "status", "migrationState")
	return str(vmi, "status", "nodeName") == node ||
		at(state, "migrationUid") == uid(m) && at(state, "sourceNode") == node
}

// wakeWaiting lets the migrations that wait for a slot try again, as many as may find one.
func (s *Sim) wakeWaiting() {
	keys := s.memory.waiting.all()
	sort.Slice(keys, func(i, j int) bool { return s.waitsBefore(keys[i], keys[j]) })
	for i, k := range keys {
		if i >= s.clusterConfig().parallelCluster {
			return
		}
		s.migrations.add(k)
	}
}

func (s *Sim) waitsBefore(a, b string) bool {
	x, y := s.vmims.get(a), s.vmims.get(b)
	if x == nil || y == nil {
		return x != nil
	}
	if p, q := declaredPriority(x), declaredPriority(y); p != q {
		return p > q
	}
	return created(x).Before(created(y))
}

var errQuota = errors.New("exceeded quota")

// createTargetPod makes the pod; a refusal is told by an event on the VMI, one by a quota by a condition too.
func (s *Sim) createTargetPod(ctx context.Context, l *look, source *object) error {
	pod, err := s.targetPod(l, source)
	if err != nil {
		return err // nothing but a line in the log says so
	}
	if err = s.checkQuota(pod); err == nil {
		pod, err = s.pods.createOnce(ctx, "kubevirt.io=virt-launcher,"+labelJobUID+"="+uid(l.migration), pod)
	}
	switch {
	case err == nil && pod == nil:
		return nil
	case err == nil:
		s.memory.began.first(uid(pod), time.Time{})
		s.events.say(l.migration, byController, normal, "SuccessfulCreate", "Created migration target pod %s",
			pod.GetName())
		return nil
	case errors.Is(err, errQuota) || strings.Contains(err.Error(), "exceeded quota"):
		l.quotaFull = true
		s.tell(l.vmi, byController, warning, "FailedCreate", "Error creating pod: %v", err)
		return nil
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		s.tell(l.vmi, byController, warning, "FailedCreate", "Error creating pod: %v", err)
	}
	return err
}
