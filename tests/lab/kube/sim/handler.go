// SPDX-License-Identifier: LGPL-2.1-or-later

// The virt-handlers of both nodes. They act on what the controller wrote into the VMI at the hand-off, in the order
// that the real ones keep: the target publishes address and ports, the source starts, and the target writes the
// hand-over. What a migration really does is the agent's.

package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"
)

// Modes of a migration, and states of an abort.
const (
	modePreCopy  = "PreCopy"
	modePostCopy = "PostCopy"
	modePaused   = "Paused"

	abortAborting  = "Aborting"
	abortSucceeded = "Succeeded"
	abortFailed    = "Failed"

	textAborted = "Live migration has been aborted"
	textLookup  = "migration monitor failed to look up domain"
	textSocket  = "virError(Code=38, Domain=7, Message='unable to connect to server: client socket is closed')"

	abortLimit = 30 * time.Second
	abortRetry = 2 * time.Second
)

// run is what the handlers do about one migration of one VMI. Its marks are guarded by the lock of runs.
type run struct {
	migration string          // uid
	ctx       context.Context // ends when the migration is over, whoever said so
	cancel    context.CancelFunc

	preparing, copying, aborting bool
	failureText                  string // what an act wants to be reported
	abortedAt                    time.Time
}

type runs struct {
	mu   sync.Mutex
	byVM map[string]*run
}

func newRuns() *runs {
	return &runs{byVM: map[string]*run{}}
}

// of gives the run of a migration, making it if need be; a run of another migration of the VMI is ended.
func (r *runs) of(ctx context.Context, machine, migration string) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := r.byVM[machine]
	if have != nil && have.migration == migration {
		return have
	}
	if have != nil {
		have.cancel()
	}
	fresh := &run{migration: migration}
	fresh.ctx, fresh.cancel = context.WithCancel(ctx)
	r.byVM[machine] = fresh
	return fresh
}

func (r *runs) end(machine string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.byVM[machine]; have != nil {
		have.cancel()
		delete(r.byVM, machine)
	}
}

func (r *runs) with(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// first sets a mark and says whether it was not set.
func (r *runs) first(mark *bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := *mark
	*mark = true
	return !was
}

func (s *Sim) reconcileHandler(_ context.Context, k string) (time.Duration, error) {
	vmi := s.vmis.get(k)
	state := map[string]any(nil)
	if vmi != nil {
		state = child(vmi, "status", "migrationState")
	}
	if vmi == nil || vmiFinal(vmi) || at(state, "migrationUid") == "" || state["completed"] == true ||
		at(state, "targetNode") == "" {
		s.runs.end(k)
		return 0, nil
	}
	r := s.runs.of(s.ctx, k, at(state, "migrationUid"))
	ports := below(state, "targetDirectMigrationNodePorts")
	switch {
	case at(state, "endTimestamp") != "":
		return 0, nil // the hand-over is being written
	case at(state, "startTimestamp") == "" && len(ports) == 0:
		if s.runs.first(&r.preparing) {
			s.later(func(context.Context) { s.prepareTarget(r, vmi) })
		}
	case s.runs.first(&r.copying):
		s.later(func(context.Context) { s.runSource(r, vmi, at(state, "startTimestamp") != "") })
	case state["abortRequested"] == true:
		return s.abortRun(r, vmi, state)
	}
	return 0, nil
}

func (s *Sim) sourceRef(vmi *object) vmRef {
	state := child(vmi, "status", "migrationState")
	return vmRef{
		at(state, "sourceNode"),
		vmi.GetNamespace(),
		vmi.GetName(),
		at(state, "sourcePod"),
		"source",
		at(state, "migrationUid"),
	}
}

func (s *Sim) targetRef(vmi *object) vmRef {
	state := child(vmi, "status", "migrationState")
	return vmRef{
		at(state, "targetNode"),
		vmi.GetNamespace(),
		vmi.GetName(),
		at(state, "targetPod"),
		"target",
		at(state, "migrationUid"),
	}
}

// onState changes the migrationState of a VMI as long as it is this migration's and has no end.
func (s *Sim) onState(
	ctx context.Context,
	vmi *object,
	migration string,
	change func(vmi *object, state map[string]any),
) error {
	return persist(ctx, func() error {
		wrote := false
		err := s.vmis.update(ctx, key(vmi), func(v *object) bool {
			state := child(v, "status", "migrationState")
			wrote = uid(v) == uid(vmi) && at(state, "migrationUid") == migration && state["completed"] != true
			if wrote {
				change(v, state)
			}
			return wrote
		})
		if err == nil && !wrote {
			return errGone
		}
		return err
	})
}

// prepareTarget makes the target ready and publishes where.
func (s *Sim) prepareTarget(r *run, vmi *object) {
	ctx := r.ctx
	if annotation(vmi, annotationHangPrepare) != "" {
		return
	}
	if s.acts.holdPreparation(ctx, vmi) != nil {
		return
	}
	target := s.targetRef(vmi)
	address, err := s.prepared(ctx, vmi, target)
	if err != nil {
		return
	}
	if address == "" {
		address = s.nodeAddress(target.node)
	}
	err = s.onState(ctx, vmi, r.migration, func(v *object, _ map[string]any) {
		set(v, address, "status", "migrationState", "targetNodeAddress")
		set(v, migrationPorts(v), "status", "migrationState", "targetDirectMigrationNodePorts")
	})
	if err == nil {
		s.events.sayOn(vmi, byHandler, target.node, normal, "PreparingTarget",
			"VirtualMachineInstance Migration Target Prepared.")
	}
}

func (s *Sim) nodeAddress(name string) string {
	if node := s.nodes.get(name); node != nil {
		for _, a := range objects(node, "status", "addresses") {
			if at(a, "type") == "InternalIP" {
				return at(a, "address")
			}
		}
	}
	return "192.0.2.1"
}

// migrationPorts makes up the target's ports: random numbers, each with the number that the source knows it by.
func migrationPorts(vmi *object) map[string]any {
	h := fnv.New32a()
	h.Write([]byte(at(child(vmi, "status", "migrationState"), "migrationUid")))
	first := int(30000 + h.Sum32()%20000)
	ports := map[string]any{fmt.Sprint(first): int64(0), fmt.Sprint(first + 1): int64(49152)}
	if str(vmi, "status", "migrationMethod") == "BlockMigration" {
		ports[fmt.Sprint(first+2)] = int64(49153)
	}
	return ports
}

// runSource is the source's part: start, copy, and the end of either kind. resumed says that the migration had been
// started by an earlier run of the simulator.
func (s *Sim) runSource(r *run, vmi *object, resumed bool) {
	ctx := r.ctx
	source, target := s.sourceRef(vmi), s.targetRef(vmi)
	if resumed {
		s.resume(ctx, r, vmi, target)
		return
	}
	if s.targetDown(target) {
		return // the controller ends the migration
	}
	err := s.onState(ctx, vmi, r.migration, func(v *object, _ map[string]any) {
		set(v, now(), "status", "migrationState", "startTimestamp")
		set(v, modePreCopy, "status", "migrationState", "mode")
	})
	if err != nil {
		return
	}
	s.events.sayOn(vmi, byHandler, source.node, normal, "Migrating", "VirtualMachineInstance is migrating.")
	err = s.copy(ctx, r, vmi, source, target)
	if _, real := s.agent.(*execAgent); err == nil && !real && s.targetDown(target) {
		err = migrationError{textSocket} // a scripted guest cannot go to a launcher that has ended
	}
	switch {
	case ctx.Err() != nil:
		return // the VMI says already how it ended
	case err == nil:
		s.handOver(ctx, r, vmi)
	default:
		s.reportFailure(ctx, r, vmi, err)
	}
}

// prepared has the agent prepare the target, again and again until it succeeds or the migration is over.
func (s *Sim) prepared(ctx context.Context, vmi *object, target vmRef) (address string, err error) {
	for {
		if address, err = s.agent.prepare(ctx, target); err == nil || ctx.Err() != nil {
			return address, err
		}
		s.events.sayOn(vmi, byHandler, target.node, warning, "SyncFailed", "The target could not be prepared: %v", err)
		if err := sleep(ctx, max(s.o.scaled(networkRetry), 50*time.Millisecond)); err != nil {
			return "", err
		}
	}
}

func (s *Sim) targetDown(target vmRef) bool {
	return podDown(s.pods.get(target.namespace + "/" + target.pod))
}

// resume finds out how a migration ended that nobody watched.
func (s *Sim) resume(ctx context.Context, r *run, vmi *object, target vmRef) {
	found, err := s.agent.where(ctx, vmi.GetNamespace(), vmi.GetName())
	if err == nil && found.Node == target.node {
		s.handOver(ctx, r, vmi)
		return
	}
	s.reportFailure(ctx, r, vmi, migrationError{textLookup})
}

// handOver writes the target's account of a switch-over, step by step.
func (s *Sim) handOver(ctx context.Context, r *run, vmi *object) {
	step := s.o.scaled(s.o.StepTime)
	target := s.targetRef(vmi)
	steps := []func(v *object, _ map[string]any){
		func(v *object, _ map[string]any) {
			set(v, true, "status", "migrationState", "targetNodeDomainDetected")
		},
		func(v *object, _ map[string]any) {
			set(v, now(), "status", "migrationState", "targetNodeDomainReadyTimestamp")
		},
		func(v *object, _ map[string]any) {
			set(v, now(), "status", "migrationState", "endTimestamp")
			set(v, target.node, "status", "nodeName")
			setLabel(v, labelNodeName, target.node)
			for _, member := range []string{"evacuationNodeName", "launcherContainerImageVersion"} {
				unset(v, "status", member)
			}
			unset(v, "metadata", "labels", "kubevirt.io/outdatedLauncherImage")
			dropCondition(v, "EvictionRequested")
		},
		func(v *object, _ map[string]any) { s.finalize(v, target) },
	}
	for i, change := range steps {
		if i > 0 && sleep(ctx, step) != nil {
			return
		}
		if s.onState(ctx, vmi, r.migration, change) != nil {
			return
		}
	}
	s.events.sayOn(vmi, byHandler, target.node, normal, "Migrated", "The VirtualMachineInstance migrated to node %s.",
		target.node)
}

// finalize is the target's last write: what the migration was to change has changed.
func (s *Sim) finalize(v *object, target vmRef) {
	s.applyVolumes(v)
	set(v, true, "status", "migrationState", "completed")
	unset(v, "metadata", "labels", labelTargetNode)
	for _, kind := range []string{"HotVCPUChange", "HotMemoryChange", "MigrationRequired"} {
		dropCondition(v, kind)
	}
	pod := s.pods.get(target.namespace + "/" + target.pod)
	if pod == nil {
		return
	}
	for _, c := range objects(pod, "spec", "containers") {
		if at(c, "name") == "compute" {
			set(v, at(c, "image"), "status", "launcherContainerImageVersion")
		}
	}
	s.newAddress(v, str(pod, "status", "podIP"))
}

// newAddress shows the target pod's address on an interface that has its pod's (masquerade).
func (s *Sim) newAddress(v *object, ip string) {
	masquerade := ""
	for _, i := range objects(v, "spec", "domain", "devices", "interfaces") {
		if below(i, "masquerade") != nil {
			masquerade = at(i, "name")
		}
	}
	if masquerade == "" || ip == "" {
		return
	}
	out := []any{}
	for _, i := range objects(v, "status", "interfaces") {
		if at(i, "name") == masquerade {
			i["ipAddress"], i["ipAddresses"] = ip, []any{ip}
		}
		out = append(out, i)
	}
	if len(out) > 0 {
		set(v, out, "status", "interfaces")
	}
}

// reportFailure writes the source's account of a migration that ended without a switch-over.
func (s *Sim) reportFailure(ctx context.Context, r *run, vmi *object, cause error) {
	aborted := errors.Is(cause, errAborted)
	text := cause.Error()
	s.runs.with(func() {
		if r.failureText != "" {
			text, aborted = r.failureText, false
		} else if aborted {
			text = textAborted
		}
	})
	err := s.onState(ctx, vmi, r.migration, func(v *object, _ map[string]any) {
		set(v, now(), "status", "migrationState", "endTimestamp")
		set(v, true, "status", "migrationState", "failed")
		set(v, true, "status", "migrationState", "completed")
		set(v, text, "status", "migrationState", "failureReason")
		if aborted {
			set(v, abortSucceeded, "status", "migrationState", "abortStatus")
		}
		unset(v, "metadata", "labels", labelTargetNode)
		if at(condition(v, "Paused"), "reason") == "PausedByMigrationMonitor" {
			dropCondition(v, "Paused")
		}
	})
	if err == nil {
		s.events.sayOn(vmi, byHandler, s.sourceRef(vmi).node, warning, "Migrated",
			"VirtualMachineInstance migration uid %s failed. reason: %s", r.migration, text)
	}
}

// abortRun does what a deleted VMIM asks for, again and again while it is refused.
func (s *Sim) abortRun(r *run, vmi *object, state map[string]any) (time.Duration, error) {
	wait := time.Duration(0)
	switch at(state, "abortStatus") {
	case "":
	case abortFailed:
		s.runs.with(func() { wait = s.o.scaled(abortRetry) - time.Since(r.abortedAt) })
	default:
		return 0, nil
	}
	if wait > 0 {
		return wait, nil
	}
	if s.runs.first(&r.aborting) {
		s.later(func(context.Context) { s.abort(r, vmi) })
	}
	return 0, nil
}

func (s *Sim) abort(r *run, vmi *object) {
	ctx := r.ctx
	defer s.runs.with(func() { r.aborting, r.abortedAt = false, time.Now() })
	status := func(text string) error {
		return s.onState(ctx, vmi, r.migration, func(v *object, _ map[string]any) {
			set(v, text, "status", "migrationState", "abortStatus")
		})
	}
	if status(abortAborting) != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, s.o.scaled(abortLimit)+agentGrace)
	defer cancel()
	if err := s.agent.abort(limited, s.sourceRef(vmi)); err != nil && ctx.Err() == nil {
		s.logs.add(key(vmi), "the abort was refused: "+err.Error())
		_ = status(abortFailed)
		soon(s.handlers, key(vmi), s.o.scaled(abortRetry)+abortRetry/20)
	}
}
