// SPDX-License-Identifier: LGPL-2.1-or-later

// Reading recordings of KubeVirt's own controller, and what of a sequence of watch events is compared: the phases and
// conditions of VMIMs, the reasons of the controller's events, the making and deleting of target pods, and the order
// in which the VMI's migrationState fills. Each is a track of its own, because their order among each other is a
// matter of chance.

package sim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

type line struct {
	Type   string         `json:"type"`
	Object map[string]any `json:"object"`
	Actor  string         `json:"actor"`
	Note   string         `json:"note"`
}

func readRecording(t *testing.T, path string) []line {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := []line{}
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<22)
	for scanner.Scan() {
		l := line{}
		decoder := json.NewDecoder(strings.NewReader(scanner.Text()))
		if err := decoder.Decode(&l); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, l)
	}
	if err := scanner.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return out
}

// tracks collects what is compared. Names that differ between runs (of pods) do not appear in it.
type tracks struct {
	by     map[string][]string
	last   map[string]string // of each track: what its object looked like
	target map[string]bool   // pods of targets, by uid
	pods   int               // launchers of targets that were made
}

func newTracks() *tracks {
	return &tracks{by: map[string][]string{}, last: map[string]string{}, target: map[string]bool{}}
}

func (tr *tracks) note(track, what string) {
	tr.by[track] = append(tr.by[track], what)
}

func (tr *tracks) changed(track, what string) {
	if tr.last[track] != what {
		tr.last[track] = what
		tr.note(track, what)
	}
}

func (tr *tracks) take(l line) {
	if l.Object == nil {
		return
	}
	o := &object{Object: l.Object}
	switch o.GetKind() {
	case "VirtualMachineInstanceMigration":
		tr.takeMigration(l.Type, o)
	case "VirtualMachineInstance":
		tr.takeVMI(l.Type, o)
	case "Pod":
		tr.takePod(l.Type, o)
	case "Event":
		if l.Type == "ADDED" && str(o, "source", "component") == byController &&
			strings.HasPrefix(str(o, "involvedObject", "kind"),
				"VirtualMachineInstance") && str(o, "reason") != "MigrationBackoff" {
			track := "events about " + str(o, "involvedObject", "kind") + " " + str(o, "involvedObject", "name")
			tr.note(track, str(o, "type")+" "+str(o, "reason"))
		}
	}
}

func (tr *tracks) takeMigration(kind string, o *object) {
	track := "VMIM " + o.GetName()
	if kind == "DELETED" {
		tr.changed(track, "gone")
		return
	}
	words := []string{"phase " + str(o, "status", "phase")}
	for _, c := range objects(o, "status", "conditions") {
		words = append(words, at(c, "type")+"="+at(c, "status"))
	}
	if deleting(o) {
		words = append(words, "deleting")
	}
	tr.changed(track, strings.Join(words, " "))
}

func (tr *tracks) takeVMI(kind string, o *object) {
	track := "VMI " + o.GetName()
	state := child(o, "status", "migrationState")
	words := []string{"on " + str(o, "status", "nodeName")}
	for _, member := range []string{"targetNode", "mode", "failureReason", "abortStatus"} {
		if v := at(state, member); v != "" {
			words = append(words, member+"="+v)
		}
	}
	for _, member := range []string{"abortRequested", "targetNodeAddress", "startTimestamp", "targetNodeDomainDetected",
		"targetNodeDomainReadyTimestamp", "endTimestamp", "completed", "failed", "targetAttachmentPodUID"} {
		if state[member] != nil {
			words = append(words, member)
		}
	}
	if kind == "INITIAL" {
		tr.last[track] = strings.Join(words, " ")
		return
	}
	tr.changed(track, strings.Join(words, " "))
}

func (tr *tracks) takePod(kind string, o *object) {
	if label(o, labelJobUID) == "" {
		return
	}
	track := "pods of " + annotation(o, annotationJobName)
	what := label(o, "kubevirt.io")
	switch kind {
	case "ADDED":
		tr.note(track, what+" made")
		if what == "virt-launcher" {
			tr.pods++
		}
	case "DELETED":
		tr.note(track, what+" deleted")
	}
}

// covers says whether these tracks have all that others have, and maybe more.
func (tr *tracks) covers(other *tracks) bool {
	for track, want := range other.by {
		if len(tr.by[track]) < len(want) {
			return false
		}
	}
	return true
}

// differences compares track by track; more says that a track may go on further than the wanted one.
func (tr *tracks) differences(want *tracks, more bool) []string {
	out := []string{}
	names := []string{}
	for track := range want.by {
		names = append(names, track)
	}
	for track := range tr.by {
		if !slices.Contains(names, track) && !more {
			names = append(names, track)
		}
	}
	slices.Sort(names)
	for _, track := range names {
		have := tr.by[track]
		if more && len(have) > len(want.by[track]) {
			have = have[:len(want.by[track])]
		}
		if !slices.Equal(have, want.by[track]) {
			out = append(
				out,
				fmt.Sprintf("%s\n  recorded: %s\n  here:     %s", track, strings.Join(want.by[track], " | "),
					strings.Join(have, " | ")),
			)
		}
	}
	return out
}
