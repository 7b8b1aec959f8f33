// SPDX-License-Identifier: LGPL-2.1-or-later

// The simulator against KubeVirt's controller: the acts of a recording (its lines with an actor) are done again, the
// clients' as they were, those of the scheduler, the kubelets and the virt-handlers as acts of the simulator. The
// recordings lie in tests/recordings, or in the folder that KVMIG_RECORDINGS names.

package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func recordings(t *testing.T) []string {
	t.Helper()
	folder := os.Getenv("KVMIG_RECORDINGS")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "recordings")
	}
	found, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(found) == 0 {
		t.Skipf("no recordings in %s; KVMIG_RECORDINGS may name another folder", folder)
	}
	return found
}

// tape collects the watch events of a namespace.
type tape struct {
	mu     sync.Mutex
	tracks *tracks
}

func (p *tape) with(f func(*tracks)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p.tracks)
}

func (w *world) record(p *tape) {
	w.t.Helper()
	for _, gvr := range []schema.GroupVersionResource{migrationsResource,
		kubevirtResource("virtualmachineinstances"), coreResource("pods"), eventsResource} {
		in := w.client.Resource(gvr).Namespace(w.namespace)
		have, err := in.List(w.ctx, metav1.ListOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		p.with(func(tr *tracks) {
			for i := range have.Items {
				if gvr != eventsResource {
					tr.take(line{Type: "INITIAL", Object: have.Items[i].Object})
				}
			}
		})
		watcher, err := in.Watch(w.ctx, metav1.ListOptions{ResourceVersion: have.GetResourceVersion()})
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(watcher.Stop)
		go func() {
			for e := range watcher.ResultChan() {
				if o, ok := e.Object.(*object); ok {
					p.with(func(tr *tracks) { tr.take(line{Type: string(e.Type), Object: o.Object}) })
				}
			}
		}()
	}
}

func TestSimulatorDoesWhatTheRecordingsShow(t *testing.T) {
	for _, path := range recordings(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".jsonl"),
			func(t *testing.T) { replay(t, readRecording(t, path)) })
	}
}

// play is one replay.
type play struct {
	*world
	lines []line
	want  *tracks // what the recording showed up to now
	tape  *tape
	uids  map[string]string // of the recording, and of here
	held  []string          // acts that hold scheduling until the recorded scheduler acts
}

func replay(t *testing.T, lines []line) {
	o := fast()
	o.StepTime *= 4
	p := &play{
		world: newWorld(t, o),
		lines: lines,
		want:  newTracks(),
		tape:  &tape{tracks: newTracks()},
		uids:  map[string]string{},
	}
	p.setUp()
	p.record(p.tape)
	endless := p.faults()
	for i, l := range lines {
		if l.Object == nil {
			p.do(i, l)
		}
		p.want.take(l)
	}
	p.catchUp("the end of the recording")
	if !endless {
		time.Sleep(300 * time.Millisecond) // long enough for what must not happen
	}
	p.tape.with(func(tr *tracks) {
		for _, d := range tr.differences(p.want, endless) {
			t.Error(d)
		}
	})
}

func (p *play) catchUp(what string) {
	p.t.Helper()
	end := time.Now().Add(deadline)
	for {
		done, text := false, ""
		p.tape.with(func(tr *tracks) {
			done = tr.covers(p.want)
			if !done && time.Now().After(end) {
				text = strings.Join(tr.differences(p.want, true), "\n")
			}
		})
		if done {
			return
		}
		if text != "" {
			p.t.Fatalf("%s is not reached within %v\n%s", what, deadline, text)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// setUp makes nodes, VMIs and pods as the recording found them.
func (p *play) setUp() {
	outbound := 2
	for _, l := range p.lines {
		if strings.Contains(l.Note, "target pods of the second: 0") {
			outbound = 1
		}
	}
	p.nodes("node-a", "node-b")
	p.kubevirt(fmt.Sprintf(`{"parallelOutboundMigrationsPerNode":%d}`, outbound))
	kinds := []string{"VirtualMachineInstance", "virt-launcher", "hotplug-disk"} // owners first
	for _, kind := range kinds {
		for _, l := range p.lines {
			o := &object{Object: l.Object}
			if l.Type == "INITIAL" && (o.GetKind() == kind || label(o, "kubevirt.io") == kind) {
				p.want.take(l)
				p.remake(o)
			}
		}
	}
	p.until("the pods are counted", func() bool {
		for _, vmi := range p.s.vmis.all() {
			if len(child(vmi, "status", "activePods")) != 1 {
				return false
			}
		}
		return len(p.s.vmis.all()) > 0
	})
	time.Sleep(100 * time.Millisecond)
}

// remake creates a recorded object here, and its status after it.
func (p *play) remake(o *object) {
	raw, err := json.Marshal(o.Object)
	if err != nil {
		p.t.Fatal(err)
	}
	text := strings.ReplaceAll(string(raw), `"namespace":"`+o.GetNamespace()+`"`, `"namespace":"`+p.namespace+`"`)
	for theirs, ours := range p.uids {
		text = strings.ReplaceAll(text, theirs, ours)
	}
	next := decode(p.t, text)
	for _, member := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
		unset(next, "metadata", member)
	}
	completeOwners(next)
	gvr := coreResource("pods")
	if o.GetKind() == "VirtualMachineInstance" {
		gvr = kubevirtResource("virtualmachineinstances")
		unset(next, "status", "activePods")
	}
	status := child(next, "status")
	made, err := p.in(gvr, next).Create(p.ctx, next, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.uids[uid(o)] = uid(made)
	if gvr.Resource == "pods" {
		set(made, status, "status")
		unset(made, "metadata", "resourceVersion") // whatever the simulator has made of the pod already
		if _, err := p.in(gvr, made).UpdateStatus(p.ctx, made, metav1.UpdateOptions{}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// completeOwners adds what reduced recordings leave out and the server wants.
func completeOwners(o *object) {
	owners := []any{}
	for _, ref := range objects(o, "metadata", "ownerReferences") {
		version := "v1"
		if at(ref, "kind") == "VirtualMachineInstance" {
			version = "kubevirt.io/v1"
		}
		owners = append(owners, merged(ref, map[string]any{"apiVersion": version, "blockOwnerDeletion": true,
			"controller": true}))
	}
	if len(owners) > 0 {
		set(o, owners, "metadata", "ownerReferences")
	}
}

// faults turns the recorded acts of nodes into acts of the simulator. It says whether the recording has no end.
func (p *play) faults() (endless bool) {
	phase, failed := "", ""
	for _, l := range p.lines {
		o := &object{Object: l.Object}
		switch {
		case l.Object != nil && o.GetKind() == "VirtualMachineInstanceMigration":
			phase = str(o, "status", "phase")
		case l.Object != nil && o.GetKind() == "VirtualMachineInstance":
			if reason := str(o, "status", "migrationState", "failureReason"); reason != "" {
				failed = reason
			}
		case strings.Contains(l.Note, "unschedulable, phase"):
			endless = true
			p.act(act{Kind: actUnschedulable})
		case strings.Contains(l.Note, "unschedulable"):
			p.act(act{Kind: actUnschedulable})
		case strings.Contains(l.Note, "ImagePullBackOff"):
			p.act(act{Kind: actBadImage})
		case strings.Contains(l.Note, "target launcher Failed"):
			p.act(act{Kind: actTargetLost, Seconds: 0.1})
			p.act(act{Kind: actCopy})
		case strings.Contains(l.Note, "target pods of the second: 0"):
			p.held = append(p.held, p.act(act{Kind: actHoldSchedule, Migration: "mig1"}))
		case strings.Contains(l.Note, "DELETE VMIM") && phase == phaseScheduling:
			p.act(act{Kind: actHoldSchedule})
		case strings.Contains(l.Note, "DELETE VMIM") && phase == phasePreparing:
			p.act(act{Kind: actSlowPrepare})
		case strings.Contains(l.Note, "DELETE VMIM") && phase == phaseRunning:
			p.act(act{Kind: actCopy})
		}
	}
	for _, l := range p.lines {
		if strings.Contains(l.Note, "reports failure") {
			p.act(act{Kind: actSourceFails, Text: failed, Seconds: 0.1})
		}
	}
	return endless
}

// do does what an actor did at this point of the recording; what had been seen before must have been seen here too.
func (p *play) do(i int, l line) {
	switch {
	case l.Actor == "client" && strings.HasPrefix(l.Note, "POST"):
		p.catchUp(l.Note)
		p.post(i)
	case l.Actor == "client" && strings.HasPrefix(l.Note, "DELETE VMIM"):
		p.catchUp(l.Note)
		words := strings.Fields(l.Note)
		p.delete(migrationsResource, words[len(words)-1])
	case l.Actor == "client" && strings.Contains(l.Note, "target launcher"):
		p.catchUp(l.Note)
		for _, pod := range p.s.pods.all() {
			if label(pod, labelJobUID) != "" {
				fail := act{Kind: actPodFail, Namespace: p.namespace, Pod: pod.GetName()}
				if err := p.s.do(context.Background(), fail); err != nil {
					p.t.Fatal(err)
				}
			}
		}
	case strings.Contains(l.Note, "target pods of the second: 0"):
		p.catchUp(l.Note)
		time.Sleep(300 * time.Millisecond)
		for _, id := range p.held {
			p.s.acts.remove(id)
		}
	}
}

// post creates the VMIM that the recording shows next, with its annotations; limits in them are made shorter.
func (p *play) post(i int) {
	for _, l := range p.lines[i:] {
		o := &object{Object: l.Object}
		if l.Object == nil || l.Type != "ADDED" || o.GetKind() != "VirtualMachineInstanceMigration" {
			continue
		}
		annotations := []string{}
		for _, name := range []string{annotationUnschedulable, annotationPending} {
			if annotation(o, name) != "" {
				annotations = append(annotations, fmt.Sprintf("%q:\"1\"", name))
			}
		}
		p.migrate(o.GetName(), str(o, "spec", "vmiName"), strings.Join(annotations, ","))
		return
	}
	p.t.Fatal("the recording shows no VMIM after it was posted")
}
