// SPDX-License-Identifier: LGPL-2.1-or-later

// What a node does for the simulator: the CNI's plugging of pod networks, and the migration of a guest. Two
// implementations: scripted (no guest, only time passes) and exec (a command per act, through which a lab runs real
// migrations). All calls block, run on goroutines of the caller, and end early when their context does.

package sim

import (
	"context"
	"errors"
	"fmt"
)

// vmRef names a guest and the pod that it runs in, or is to run in.
type vmRef struct {
	node, namespace, vmi, pod string
	role                      string // source, target, or empty when no migration is involved
	migration                 string // uid of the migration, or empty
}

// migrateOptions is what the migration is asked to do; its JSON form is part of the protocol of exec agents.
type migrateOptions struct {
	UID          string   `json:"uid"`
	SourcePod    string   `json:"source_pod"`
	TargetPod    string   `json:"target_pod"`
	Block        bool     `json:"block"`
	Volumes      []string `json:"volumes,omitempty"`
	Bandwidth    int64    `json:"bandwidth_bytes"`
	AutoConverge bool     `json:"auto_converge"`
	PostCopy     bool     `json:"post_copy"`
	Parallel     int      `json:"parallel"`
	Unsafe       bool     `json:"unsafe"`
	Paused       bool     `json:"paused"`
}

// progress is one report of a running migration; every member is optional.
type progress struct {
	ElapsedMS int64  `json:"elapsed_ms"`
	Processed int64  `json:"processed"`
	Remaining *int64 `json:"remaining"`
	Total     int64  `json:"total"`
	DirtyRate int64  `json:"dirty_rate"`
	Bandwidth int64  `json:"bandwidth"`
	Iteration int64  `json:"iteration"`
	Mode      string `json:"mode"` // PreCopy, PostCopy, Paused: what the migration changed to on its own
}

// place is where a guest was found.
type place struct {
	Node  string `json:"node"`  // empty when it runs nowhere
	State string `json:"state"` // running, paused, shutoff
}

// Ends of a migration other than success.
var errAborted = errors.New("the migration was aborted")

// migrationError carries the text that the source reports, as libvirt's bindings print it.
type migrationError struct{ text string }

func (e migrationError) Error() string { return e.text }

type agent interface {
	// plug connects the launcher pod to its network, and returns when that is ready, with the pod's address if known.
	plug(ctx context.Context, vm vmRef) (ip string, err error)
	// unplug takes the network of a pod that has ended away. A pod that was never plugged is no error.
	unplug(ctx context.Context, vm vmRef) error
	// start returns when the guest runs on its first node; a lab that starts its guests itself does nothing here.
	start(ctx context.Context, vm vmRef) error
	// stop ends the guest, because its VMI was deleted.
	stop(ctx context.Context, vm vmRef) error
	// prepare makes the target ready to receive, and returns the address that the source will talk to, if known.
	prepare(ctx context.Context, vm vmRef) (address string, err error)
	// migrate returns nil when the guest runs on the target, errAborted, or a migrationError.
	migrate(ctx context.Context, source, target vmRef, options migrateOptions, report func(progress)) error
	// abort asks a running migration to end; an error says that it cannot (post-copy, or too late).
	abort(ctx context.Context, source vmRef) error
	// postCopy and pause force a migration that does not converge.
	postCopy(ctx context.Context, source vmRef) error
	pause(ctx context.Context, source vmRef) error
	// where looks for the guest.
	where(ctx context.Context, namespace, vmi string) (place, error)
}

func newAgent(o *Options) (agent, error) {
	if o.Agent == "" {
		return newScripted(o), nil
	}
	a, err := newExec(o.Agent)
	if err != nil {
		return nil, fmt.Errorf("--agent: %w", err)
	}
	return a, nil
}
