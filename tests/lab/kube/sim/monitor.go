// SPDX-License-Identifier: LGPL-2.1-or-later

// The source launcher's monitor of a running copy: it follows the progress, and forces or ends a migration that takes
// too long. Its lines are kept as the launcher's log, which is where the real one reports progress.

package sim

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

const monitorPoll = 400 * time.Millisecond

type monitor struct {
	mu       sync.Mutex
	begin    time.Time
	limit    time.Duration // of the whole copy; 0 = none
	progress time.Duration // without less remaining; 0 = none
	mode     string
	last     *int64
	fell     time.Time // when the remaining bytes last fell
}

func (s *Sim) newMonitor(vmi *object, config map[string]any) *monitor {
	t := time.Now()
	return &monitor{begin: t, fell: t, mode: modePreCopy, limit: s.completionLimit(vmi, config),
		progress: s.o.scaled(time.Duration(number(config["progressTimeout"], 0)) * time.Second)}
}

// completionLimit is completionTimeoutPerGiB for every decimal gigabyte, rounded up.
func (s *Sim) completionLimit(vmi *object, config map[string]any) time.Duration {
	bytes := guestMemory(vmi)
	for _, v := range objects(vmi, "status", "migratedVolumes") {
		bytes += volumeBytes(below(v, "sourcePVCInfo"))
	}
	seconds := number(config["completionTimeoutPerGiB"], 0) * int64(math.Ceil(float64(bytes)/1e9))
	return s.o.scaled(time.Duration(seconds) * time.Second)
}

// volumeBytes is the smaller of what a claim asks for and what it has.
func volumeBytes(info map[string]any) int64 {
	least := int64(-1)
	for _, member := range []string{"requests", "capacity"} {
		if q, err := resource.ParseQuantity(at(info, member, "storage")); err == nil &&
			(least < 0 || q.Value() < least) {
			least = q.Value()
		}
	}
	return max(least, 0)
}

// saw takes one report of the copy.
func (m *monitor) saw(p progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.Mode != "" {
		m.mode = p.Mode
	}
	if p.Remaining == nil {
		return
	}
	if m.last == nil || *p.Remaining < *m.last {
		m.fell = time.Now()
	}
	m.last = p.Remaining
}

// What the monitor wants done.
const (
	verdictWait = iota
	verdictPostCopy
	verdictPause
	verdictAbort
)

// judge decides as the launcher does without the alpha features: forcing comes before the check of progress, and
// that before the end of the time.
func (m *monitor) judge(postCopy, disruption, vfio bool) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	late := m.limit > 0 && time.Since(m.begin) > m.limit
	switch {
	case m.mode == modePostCopy:
		return verdictWait
	case late && disruption && m.mode != modePaused:
		m.limit *= 2
		if postCopy && !vfio {
			m.mode = modePostCopy
			return verdictPostCopy
		}
		m.mode = modePaused
		return verdictPause
	case m.progress > 0 && m.last != nil && time.Since(m.fell) > m.progress, late:
		return verdictAbort
	}
	return verdictWait
}

// copy runs the agent's migration under the monitor, and returns how it ended.
func (s *Sim) copy(ctx context.Context, r *run, vmi *object, source, target vmRef) error {
	config := child(s.fresh(vmi), "status", "migrationState", "migrationConfiguration")
	m := s.newMonitor(vmi, config)
	copying, copied := context.WithCancel(ctx)
	defer copied()
	s.later(func(context.Context) { s.watchCopy(copying, r, m, vmi, source, config) })
	f, fails := s.acts.sourceFails(vmi)
	if fails {
		s.later(func(context.Context) { s.failCopy(copying, r, vmi, source, f) })
	}
	after, lost := s.acts.targetLost(vmi)
	if lost {
		s.later(func(context.Context) { s.loseTarget(copying, target, after) })
	}
	// The command of the migration is not simply killed when the VMI says that all is over: it is aborted first.
	migrating, kill := context.WithCancel(s.ctx)
	defer kill()
	if d, ok := s.acts.copyTime(vmi); ok || fails || lost {
		if !ok {
			d = endlessCopy // the fault ends it
		}
		migrating = context.WithValue(migrating, copyTimeKey{}, d)
	}
	ended := make(chan struct{})
	defer close(ended)
	s.later(func(context.Context) { s.stopCopy(ctx, ended, vmi, source, kill) })
	pod := vmi.GetNamespace() + "/" + source.pod
	return s.agent.migrate(migrating, source, target, s.options(vmi, r, config), func(p progress) {
		m.saw(p)
		s.logs.add(pod, progressLine(r.migration, p))
		if p.Mode == modePostCopy || p.Mode == modePaused {
			s.setMode(r, vmi, p.Mode)
		}
	})
}

// stopCopy ends a copy of which the VMI says already that it failed, by an abort if that works.
func (s *Sim) stopCopy(ctx context.Context, ended <-chan struct{}, vmi *object, source vmRef, kill func()) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	if s.ctx.Err() == nil {
		limited, cancel := context.WithTimeout(s.ctx, agentGrace)
		defer cancel()
		if err := s.agent.abort(limited, source); err != nil {
			s.logs.add(key(vmi), "the copy could not be aborted: "+err.Error())
		}
		select {
		case <-ended:
		case <-limited.Done():
		}
	}
	kill()
}

func (s *Sim) fresh(vmi *object) *object {
	if v := s.vmis.get(key(vmi)); v != nil {
		return v
	}
	return vmi
}

func (s *Sim) options(vmi *object, r *run, config map[string]any) migrateOptions {
	o := migrateOptions{UID: r.migration, SourcePod: s.sourceRef(vmi).pod, TargetPod: s.targetRef(vmi).pod,
		Block: str(vmi, "status",
			"migrationMethod") == "BlockMigration", AutoConverge: config["allowAutoConverge"] == true,
		PostCopy: config["allowPostCopy"] == true, Unsafe: config["unsafeMigrationOverride"] == true,
		Paused: conditionTrue(vmi, "Paused")}
	if q, err := resource.ParseQuantity(fmt.Sprint(config["bandwidthPerMigration"])); err == nil {
		o.Bandwidth = q.Value()
	}
	if child(vmi, "spec", "domain", "resources", "limits")["cpu"] == nil &&
		!truth(vmi, "spec", "domain", "cpu", "dedicatedCpuPlacement") {
		o.Parallel = 8
	}
	for _, v := range objects(vmi, "status", "migratedVolumes") {
		o.Volumes = append(o.Volumes, at(v, "volumeName"))
	}
	return o
}

func progressLine(migration string, p progress) string {
	const mib = 1 << 20
	remaining := int64(0)
	if p.Remaining != nil {
		remaining = *p.Remaining
	}
	return fmt.Sprintf(
		"Migration info for %s: TimeElapsed:%dms DataProcessed:%dMiB DataRemaining:%dMiB DataTotal:%dMiB "+
			"MemoryProcessed:%dMiB MemoryRemaining:%dMiB MemoryTotal:%dMiB MemoryBandwidth:%dMbps DirtyRate:%dMbps "+
			"Iteration:%d",
		migration,
		p.ElapsedMS,
		p.Processed/mib,
		remaining/mib,
		p.Total/mib,
		p.Processed/mib,
		remaining/mib,
		p.Total/mib,
		p.Bandwidth*8/1e6,
		p.DirtyRate*8/1e6,
		p.Iteration,
	)
}

// watchCopy acts on the monitor's verdicts until the copy has ended.
func (s *Sim) watchCopy(ctx context.Context, r *run, m *monitor, vmi *object, source vmRef, config map[string]any) {
	poll := max(s.o.scaled(monitorPoll), 20*time.Millisecond)
	for sleep(ctx, poll) == nil {
		switch m.judge(config["allowPostCopy"] == true, config["allowWorkloadDisruption"] == true, hasVFIO(vmi)) {
		case verdictPostCopy:
			s.force(r, vmi, modePostCopy, func() error { return s.agent.postCopy(ctx, source) })
		case verdictPause:
			s.force(r, vmi, modePaused, func() error { return s.agent.pause(ctx, source) })
		case verdictAbort:
			if err := s.agent.abort(ctx, source); err == nil {
				return
			}
		}
	}
}

func (s *Sim) force(r *run, vmi *object, mode string, act func() error) {
	if err := act(); err != nil {
		s.logs.add(key(vmi), fmt.Sprintf("the switch to %s was refused: %v", mode, err))
		return
	}
	s.setMode(r, vmi, mode)
}

// setMode shows a change of mode, also when the copy has just ended.
func (s *Sim) setMode(r *run, vmi *object, mode string) {
	_ = s.onState(r.ctx, vmi, r.migration, func(v *object, _ map[string]any) {
		set(v, mode, "status", "migrationState", "mode")
		if mode == modePaused {
			setCondition(
				v,
				newCondition("Paused", "True", "PausedByMigrationMonitor", "VMI was paused by the migration monitor",
					now()),
			)
		}
	})
}

// hasVFIO: such guests are never switched to post-copy.
func hasVFIO(vmi *object) bool {
	devices := child(vmi, "spec", "domain", "devices")
	for _, member := range []string{"hostDevices", "gpus"} {
		if l, _ := devices[member].([]any); len(l) > 0 {
			return true
		}
	}
	for _, i := range objects(vmi, "spec", "domain", "devices", "interfaces") {
		if below(i, "sriov") != nil {
			return true
		}
	}
	return false
}

// failCopy ends the copy after a while, and has the source report the text of an act.
func (s *Sim) failCopy(ctx context.Context, r *run, vmi *object, source vmRef, f failure) {
	if sleep(ctx, f.after) != nil {
		return
	}
	s.runs.with(func() { r.failureText = f.text })
	if err := s.agent.abort(ctx, source); err != nil {
		s.runs.with(func() { r.failureText = "" })
		s.logs.add(key(vmi), "the failure that was asked for came too late: "+err.Error())
	}
}

// loseTarget fails the target launcher while the copy runs.
func (s *Sim) loseTarget(ctx context.Context, target vmRef, after time.Duration) {
	if sleep(ctx, after) != nil {
		return
	}
	if pod := s.pods.get(target.namespace + "/" + target.pod); pod != nil {
		_ = persist(ctx, func() error { return s.finishPod(ctx, pod, "Failed") })
	}
}
