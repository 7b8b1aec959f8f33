// SPDX-License-Identifier: LGPL-2.1-or-later

// The agent without guests: every act takes the time that the flags say, and succeeds. A migration is cancelled,
// switched to post-copy or paused like a real one, and reports falling numbers while it runs.

package sim

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	scriptedTotal   = int64(1) << 30
	scriptedSamples = 8
)

type scripted struct {
	o *Options

	mu   sync.Mutex
	runs map[string]*scriptedRun // by namespace/vmi
	at   map[string]place
}

type scriptedRun struct {
	cancel   context.CancelFunc
	hurry    chan struct{} // closed by postCopy and pause: the rest takes as long as an ordinary copy
	postCopy bool
}

func newScripted(o *Options) *scripted {
	return &scripted{o: o, runs: map[string]*scriptedRun{}, at: map[string]place{}}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *scripted) plug(ctx context.Context, _ vmRef) (string, error) {
	return "", sleep(ctx, s.o.scaled(s.o.PlugTime))
}

func (s *scripted) unplug(context.Context, vmRef) error { return nil }

func (s *scripted) start(_ context.Context, vm vmRef) error {
	s.place(vm)
	return nil
}

func (s *scripted) stop(_ context.Context, vm vmRef) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.at, vm.namespace+"/"+vm.vmi)
	return nil
}

func (s *scripted) place(vm vmRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[vm.namespace+"/"+vm.vmi] = place{vm.node, "running"}
}

func (s *scripted) prepare(ctx context.Context, _ vmRef) (string, error) {
	return "", sleep(ctx, s.o.scaled(s.o.PrepareTime))
}

func (s *scripted) migrate(ctx context.Context, source, target vmRef, _ migrateOptions, report func(progress)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	run := &scriptedRun{cancel: cancel, hurry: make(chan struct{})}
	k := source.namespace + "/" + source.vmi
	s.mu.Lock()
	s.runs[k] = run
	s.at[k] = place{source.node, "running"}
	s.mu.Unlock()
	defer s.end(k, run)
	duration, ok := ctx.Value(copyTimeKey{}).(time.Duration)
	if !ok {
		duration = s.o.scaled(s.o.CopyTime)
	}
	if err := s.copy(ctx, run, duration, report); err != nil {
		return errAborted
	}
	s.place(target)
	return nil
}

// copyTimeKey carries the duration of one migration that an annotation or an act asked for.
type copyTimeKey struct{}

func (s *scripted) copy(ctx context.Context, run *scriptedRun, duration time.Duration, report func(progress)) error {
	begin := time.Now()
	for i := range int64(scriptedSamples) {
		remaining := scriptedTotal * (scriptedSamples - 1 - i) / scriptedSamples
		t := time.NewTimer(duration / scriptedSamples)
		select {
		case <-t.C:
		case <-run.hurry:
			t.Stop()
			return sleep(ctx, s.o.scaled(s.o.CopyTime))
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
		report(progress{ElapsedMS: time.Since(begin).Milliseconds(), Processed: scriptedTotal - remaining,
			Remaining: &remaining, Total: scriptedTotal, Iteration: i + 1})
	}
	return nil
}

func (s *scripted) end(k string, run *scriptedRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[k] == run {
		delete(s.runs, k)
	}
}

func (s *scripted) run(vm vmRef) *scriptedRun {
	return s.runs[vm.namespace+"/"+vm.vmi]
}

func (s *scripted) abort(_ context.Context, vm vmRef) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.run(vm)
	if run == nil {
		return errors.New("no migration is running")
	}
	if run.postCopy {
		return errors.New("a migration in post-copy cannot be aborted")
	}
	run.cancel()
	return nil
}

func (s *scripted) force(vm vmRef, postCopy bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.run(vm)
	if run == nil {
		return errors.New("no migration is running")
	}
	run.postCopy = run.postCopy || postCopy
	select {
	case <-run.hurry:
	default:
		close(run.hurry)
	}
	return nil
}

func (s *scripted) postCopy(_ context.Context, vm vmRef) error { return s.force(vm, true) }
func (s *scripted) pause(_ context.Context, vm vmRef) error    { return s.force(vm, false) }

func (s *scripted) where(_ context.Context, namespace, vmi string) (place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[namespace+"/"+vmi], nil
}
