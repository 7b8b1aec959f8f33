// SPDX-License-Identifier: LGPL-2.1-or-later

package sim

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// command writes a shell script that acts as the agent's command.
func command(t *testing.T, script string) (path, log string) {
	t.Helper()
	dir := t.TempDir()
	path, log = filepath.Join(dir, "agent"), filepath.Join(dir, "log")
	text := "#!/bin/sh\nlog=" + log + "\necho \"$@\" >> $log\n" + script
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path, log
}

func newCommand(t *testing.T, script string) agent {
	t.Helper()
	path, _ := command(t, script)
	a, err := newExec(path + " with")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var someVM = vmRef{node: "a", namespace: "ns", vmi: "vm", pod: "pod"}

func TestCommandAnswersWithItsLastLine(t *testing.T) {
	a := newCommand(t, `case "$*" in
		"with plug a ns vm pod") echo noise; echo '{"ip":"10.0.0.7"}';;
		"with prepare a ns vm pod") echo '{"address":"10.0.0.2"}';;
		"with where ns vm") echo '{"node":"a","state":"running"}';;
		*) exit 9;; esac`)
	ctx := context.Background()
	if ip, err := a.plug(ctx, someVM); ip != "10.0.0.7" || err != nil {
		t.Error(ip, err)
	}
	if address, err := a.prepare(ctx, someVM); address != "10.0.0.2" || err != nil {
		t.Error(address, err)
	}
	if found, err := a.where(ctx, "ns", "vm"); found != (place{"a", "running"}) || err != nil {
		t.Error(found, err)
	}
}

var endings = []struct {
	name, script string
	check        func(error) bool
}{
	{
		"completed",
		`echo '{"remaining":0}'; echo '{"outcome":"completed"}'`,
		func(err error) bool { return err == nil },
	},
	{"status only", `exit 0`, func(err error) bool { return err == nil }},
	{"aborted", `echo '{"outcome":"aborted"}'; exit 2`, func(err error) bool { return errors.Is(err, errAborted) }},
	{"failed with a reason", `echo '{"outcome":"failed","reason":"virError(Code=9)"}'; exit 1`,
		func(err error) bool { return err.Error() == "virError(Code=9)" }},
	{
		"failed with words on standard error",
		`echo one >&2; echo two >&2; exit 1`,
		func(err error) bool { return err.Error() == "two" },
	},
	{"success that contradicts itself", `echo '{"outcome":"failed"}'`, func(err error) bool { return err != nil }},
	{
		"failure that contradicts itself",
		`echo '{"outcome":"completed"}'; exit 1`,
		func(err error) bool { return err != nil },
	},
}

func TestCommandSaysHowAMigrationEnded(t *testing.T) {
	for _, c := range endings {
		t.Run(c.name, func(t *testing.T) {
			err := newCommand(t, c.script).migrate(context.Background(), someVM, someVM, migrateOptions{},
				func(progress) {})
			if !c.check(err) {
				t.Error(err)
			}
		})
	}
}

func TestCommandIsEndedWithItsChildren(t *testing.T) {
	a := newCommand(t, `sleep 600 & echo $! > $log.child; wait`)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := a.prepare(ctx, someVM); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if time.Since(begin) > agentGrace {
		t.Error("the child was waited for")
	}
}

// The whole way with an agent that runs commands: which ones, and in which order.
func TestMigrationThroughCommands(t *testing.T) {
	path, log := command(t, `case "$1" in
		plug) echo '{"ip":"10.9.9.9"}';;
		prepare) echo '{"address":"10.99.0.12"}';;
		migrate) echo '{"remaining":5,"total":10,"iteration":1}'; echo '{"outcome":"completed"}';;
		esac`)
	o := fast()
	o.Agent = path
	w := newWorld(t, o)
	w.nodes("node-a", "node-b")
	w.kubevirt(`{}`)
	w.vm("vm1", "node-a", "")
	w.migrate("m1", "vm1", "")
	w.reaches("m1", phaseSucceeded)
	state := child(w.vmi("vm1"), "status", "migrationState")
	if at(state, "targetNodeAddress") != "10.99.0.12" {
		t.Error(state)
	}
	read := func() string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	w.until("the source is unplugged", func() bool { return strings.Contains(read(), "unplug node-a") })
	ns, source, target := w.namespace, at(state, "sourcePod"), at(state, "targetPod")
	words := []string{"plug node-a " + ns + " vm1 " + source, "start node-a " + ns + " vm1 " + source,
		"plug node-b " + ns + " vm1 " + target, "prepare node-b " + ns + " vm1 " + target,
		"migrate node-a node-b " + ns + " vm1 {",
		"unplug node-a " + ns + " vm1 " + source}
	rest := read()
	for _, word := range words {
		before, after, found := strings.Cut(rest, word)
		if !found {
			t.Fatalf("%q does not follow in\n%s", word, read())
		}
		_, rest = before, after
	}
	if lines := w.s.logs.of(ns + "/" + source); len(lines) == 0 ||
		!strings.HasPrefix(lines[0], "Migration info for "+at(state, "migrationUid")) {
		t.Error(lines)
	}
}
