// SPDX-License-Identifier: LGPL-2.1-or-later

// Acts from outside: faults and delays that a test asks for, over the control endpoint (see control.go) or in an
// annotation of a VMIM or a VMI. An act names what it is for; a name that it leaves out fits everything.

package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// annotationActs holds a JSON list of acts for the VMIM or the VMI that carries it.
const annotationActs = "sim.kvmig.test/acts"

// Kinds of acts that last.
const (
	actBadImage      = "bad-image"
	actHoldNetwork   = "hold-network"
	actHoldSchedule  = "hold-scheduling"
	actUnschedulable = "unschedulable"
	actSlowPrepare   = "slow-preparation"
	actCopy          = "copy"
	actSourceFails   = "source-fails"
	actTargetLost    = "target-lost"
)

var lastingActs = []string{
	actBadImage,
	actHoldNetwork,
	actHoldSchedule,
	actUnschedulable,
	actSlowPrepare,
	actCopy,
	actSourceFails,
	actTargetLost,
}

// act is one fault or delay; its JSON form is part of the interface (README.md).
type act struct {
	ID   string `json:"id,omitempty"`
	Kind string `json:"kind"`

	Namespace string `json:"namespace,omitempty"`
	VMI       string `json:"vmi,omitempty"`
	Migration string `json:"migration,omitempty"` // name of the VMIM
	Node      string `json:"node,omitempty"`
	Role      string `json:"role,omitempty"` // of the pod: launcher (the target's; default), attachment, first, any

	Image   string  `json:"image,omitempty"`
	Text    string  `json:"text,omitempty"`
	Phase   string  `json:"phase,omitempty"`   // hold-network: until the migration has reached this phase
	Seconds float64 `json:"seconds,omitempty"` // real seconds; what they mean depends on the kind
	Count   int     `json:"count,omitempty"`   // only for so many pods or migrations; 0 = all

	// Of acts that are done at once.
	Volume string `json:"volume,omitempty"`
	Claim  string `json:"claim,omitempty"`
	Pod    string `json:"pod,omitempty"`
	State  bool   `json:"state,omitempty"`
}

func (a *act) duration() time.Duration {
	return time.Duration(a.Seconds * float64(time.Second))
}

func (a *act) check() error {
	if !slices.Contains(lastingActs, a.Kind) {
		return fmt.Errorf("kind %q is not known; the kinds that last are %v, those that are done at once %v", a.Kind,
			lastingActs, oneTimeActs)
	}
	if a.Role != "" && !slices.Contains([]string{"launcher", "attachment", "first", "any"}, a.Role) {
		return fmt.Errorf("role %q is not known; it is launcher, attachment, first or any", a.Role)
	}
	if a.Seconds < 0 || a.Count < 0 {
		return fmt.Errorf("seconds and count must not be negative")
	}
	return nil
}

// subject is what an act may be for.
type subject struct {
	id, namespace, vmi, migration, node, role string
	holders                                   []*object // objects whose annotation may hold acts
}

func (a *act) fits(kind string, about subject) bool {
	role := a.Role
	if role == "" {
		role = "launcher"
	}
	return a.Kind == kind && fitsName(a.Namespace, about.namespace) && fitsName(a.VMI, about.vmi) &&
		fitsName(a.Migration, about.migration) && fitsName(a.Node, about.node) &&
		(about.role == "" || role == "any" || role == about.role)
}

func fitsName(wanted, have string) bool {
	return wanted == "" || wanted == have
}

type acts struct {
	s      *Sim
	mu     sync.Mutex
	nextID int
	list   []*act
	used   map[string]map[string]struct{} // by act: the subjects that it took effect on
	since  map[string]time.Time           // by act and subject
}

func newActs(s *Sim) *acts {
	return &acts{s: s, used: map[string]map[string]struct{}{}, since: map[string]time.Time{}}
}

func (c *acts) add(a act) (string, error) {
	if err := a.check(); err != nil {
		return "", err
	}
	c.mu.Lock()
	c.nextID++
	a.ID = fmt.Sprintf("a%d", c.nextID)
	c.list = append(c.list, &a)
	c.mu.Unlock()
	c.s.kick()
	return a.ID, nil
}

// remove takes one act away, or all of them; it says whether there was one.
func (c *acts) remove(id string) bool {
	c.mu.Lock()
	before := len(c.list)
	c.list = slices.DeleteFunc(c.list, func(a *act) bool { return id == "" || a.ID == id })
	found := len(c.list) < before
	c.mu.Unlock()
	c.s.kick()
	return found
}

func (c *acts) all() []act {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]act, 0, len(c.list))
	for _, a := range c.list {
		out = append(out, *a)
	}
	return out
}

// find gives the first act of a kind that is for the subject, and since when it has been.
func (c *acts) find(kind string, about subject) (*act, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range append(slices.Clone(c.list), annotated(about)...) {
		if a.fits(kind, about) && c.take(a, about) {
			id := a.ID + "/" + about.id
			if c.since[id].IsZero() {
				c.since[id] = time.Now()
			}
			return a, c.since[id]
		}
	}
	return nil, time.Time{}
}

// take counts a subject against an act's count; it says whether the act is for it.
func (c *acts) take(a *act, about subject) bool {
	used := c.used[a.ID]
	if used == nil {
		used = map[string]struct{}{}
		c.used[a.ID] = used
	}
	if _, again := used[about.id]; !again && a.Count > 0 && len(used) >= a.Count {
		return false
	}
	used[about.id] = struct{}{}
	return true
}

// annotated reads the acts that the subject's own objects carry.
func annotated(about subject) []*act {
	out := []*act{}
	for _, o := range about.holders {
		text := annotation(o, annotationActs)
		if text == "" {
			continue
		}
		found := []*act{}
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			slog.Warn("an annotation cannot be read", "object", key(o), "annotation", annotationActs, "error", err)
			continue
		}
		for i, a := range found {
			a.ID = fmt.Sprintf("%s/%d", uid(o), i)
			out = append(out, a)
		}
	}
	return out
}

func (c *acts) ofPod(pod *object) subject {
	about := subject{id: uid(pod), namespace: pod.GetNamespace(), migration: annotation(pod, annotationJobName),
		node: str(pod, "spec", "nodeName"), role: "launcher"}
	machine := c.s.machineOf(pod)
	_, about.vmi = splitKey(machine)
	switch {
	case label(pod, "kubevirt.io") == "hotplug-disk":
		about.role = "attachment"
	case about.migration == "":
		about.role = "first"
	}
	if vmi := c.s.vmis.get(machine); vmi != nil {
		about.holders = append(about.holders, vmi)
	}
	if m := c.s.vmims.get(about.namespace + "/" + about.migration); m != nil {
		about.holders = append(about.holders, m)
	}
	return about
}

func (c *acts) ofRun(vmi *object) subject {
	state := child(vmi, "status", "migrationState")
	about := subject{
		id:        at(state, "migrationUid"),
		namespace: vmi.GetNamespace(),
		vmi:       vmi.GetName(),
		node:      at(state, "targetNode"),
		holders:   []*object{vmi},
	}
	for _, m := range c.s.vmims.by(byVMI, key(vmi)) {
		if uid(m) == about.id {
			about.migration = m.GetName()
			about.holders = append(about.holders, m)
		}
	}
	return about
}

// rest is how long an act that lasts some seconds still lasts; over says that it has ended.
func (a *act) rest(since time.Time) (rest time.Duration, over bool) {
	if a.Seconds == 0 {
		return 0, false
	}
	rest = a.duration() - time.Since(since)
	return rest, rest <= 0
}

func (c *acts) holdsScheduling(pod *object) (held bool, again time.Duration) {
	a, since := c.find(actHoldSchedule, c.ofPod(pod))
	if a == nil {
		return false, 0
	}
	rest, over := a.rest(since)
	return !over, rest
}

func (c *acts) unschedulable(pod *object) (text string, again time.Duration, forced bool) {
	a, since := c.find(actUnschedulable, c.ofPod(pod))
	if a == nil {
		return "", 0, false
	}
	rest, over := a.rest(since)
	return a.Text, rest, !over
}

func (c *acts) holdsNetwork(pod *object) (held bool, reason string, again time.Duration) {
	about := c.ofPod(pod)
	a, since := c.find(actHoldNetwork, about)
	if a == nil {
		return false, "", 0
	}
	if a.Phase != "" {
		m := c.s.vmims.get(about.namespace + "/" + about.migration)
		if m != nil && phaseOrder[str(m, "status", "phase")] >= phaseOrder[a.Phase] {
			return false, "", 0
		}
	}
	rest, over := a.rest(since)
	reason = a.Text
	if reason == "" {
		reason = "the network interface of the pod is not ready"
	}
	return !over, reason, rest
}

func (c *acts) badImage(pod *object, image string) (text string, bad bool) {
	a, since := c.find(actBadImage, c.ofPod(pod))
	if a == nil || !fitsName(a.Image, image) {
		return "", false
	}
	_, over := a.rest(since)
	return a.Text, !over
}

// holdPreparation blocks as long as an act wants the preparation of the target to take longer.
func (c *acts) holdPreparation(ctx context.Context, vmi *object) error {
	for {
		a, since := c.find(actSlowPrepare, c.ofRun(vmi))
		if a == nil {
			return ctx.Err()
		}
		rest, over := a.rest(since)
		if over {
			return ctx.Err()
		}
		if rest <= 0 || rest > 100*time.Millisecond {
			rest = 100 * time.Millisecond // an act may be taken away
		}
		if err := sleep(ctx, rest); err != nil {
			return err
		}
	}
}

const endlessCopy = 1000 * time.Hour

// copyTime is how long a scripted copy takes; an act without seconds asks for one that never ends by itself.
func (c *acts) copyTime(vmi *object) (time.Duration, bool) {
	a, _ := c.find(actCopy, c.ofRun(vmi))
	if a == nil {
		return 0, false
	}
	if a.Seconds == 0 {
		return endlessCopy, true
	}
	return a.duration(), true
}

// failure is what the source reports, and after which time of copying.
type failure struct {
	text  string
	after time.Duration
}

func (c *acts) sourceFails(vmi *object) (failure, bool) {
	if annotation(vmi, annotationForceFailure) != "" {
		return failure{text: "failed migration to satisfy functional test condition"}, true
	}
	a, _ := c.find(actSourceFails, c.ofRun(vmi))
	if a == nil {
		return failure{}, false
	}
	f := failure{a.Text, a.duration()}
	if f.text == "" {
		f.text = "virError(Code=9, Domain=10, Message='operation failed: the migration failed')"
	}
	return f, true
}

func (c *acts) targetLost(vmi *object) (after time.Duration, lost bool) {
	a, _ := c.find(actTargetLost, c.ofRun(vmi))
	if a == nil {
		return 0, false
	}
	return a.duration(), true
}
