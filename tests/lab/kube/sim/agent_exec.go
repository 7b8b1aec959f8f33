// SPDX-License-Identifier: LGPL-2.1-or-later

// The agent that runs a command for every act; README.md describes the protocol. Each command gets a process group
// of its own, which is asked to end (SIGTERM), and then made to, when the act is no longer wanted.

package sim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	agentGrace    = 5 * time.Second // between SIGTERM and SIGKILL
	agentTimeout  = 60 * time.Second
	agentLineMost = 1 << 20
	agentErrors   = 4096 // bytes of standard error that are kept
	exitAborted   = 2
)

type execAgent struct {
	command []string
}

func newExec(command string) (*execAgent, error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, errors.New("the command is empty; give a program and its first arguments")
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil, err
	}
	words[0] = path
	return &execAgent{words}, nil
}

// answer is the last line that a command prints; every member is optional.
type answer struct {
	IP      string `json:"ip"`
	Address string `json:"address"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	place
}

// tail keeps the end of what is written to it.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if len(t.buf) > agentErrors {
		t.buf = t.buf[len(t.buf)-agentErrors:]
	}
	return len(p), nil
}

// lastLine is what a program says last, which is the one that tells why it failed.
func (t *tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// exitError is a command that ended with another status than 0.
type exitError struct {
	code int
	text string
}

func (e exitError) Error() string {
	if e.text == "" {
		return fmt.Sprintf("the agent's command ended with status %d and said nothing", e.code)
	}
	return e.text
}

// run runs the command with these words, calls line for each line that it prints, and gives the last one decoded.
func (a *execAgent) run(ctx context.Context, vm vmRef, line func([]byte), words ...string) (answer, error) {
	argv := append(append([]string{}, a.command[1:]...), words...)
	cmd := exec.CommandContext(ctx, a.command[0], argv...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var hardly *time.Timer
	cmd.Cancel = func() error {
		group := -cmd.Process.Pid
		hardly = time.AfterFunc(agentGrace, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
		return syscall.Kill(group, syscall.SIGTERM)
	}
	cmd.Env = append(os.Environ(), "KVMIG_SIM_ROLE="+vm.role, "KVMIG_SIM_MIGRATION="+vm.migration)
	said := &tail{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return answer{}, err
	}
	if err := cmd.Start(); err != nil {
		return answer{}, err
	}
	last := readLines(out, line)
	err = cmd.Wait()
	if hardly != nil {
		hardly.Stop()
	}
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	result := answer{}
	_ = json.Unmarshal(last, &result) // a last line that is no object says nothing; the status decides
	if err == nil {
		return result, nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return result, exitError{exit.ExitCode(), said.lastLine()}
	}
	return result, err
}

func readLines(from io.Reader, line func([]byte)) []byte {
	var last []byte
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, agentLineMost)
	for scanner.Scan() {
		text := bytes.TrimSpace(scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		last = append(last[:0], text...)
		if line != nil {
			line(text)
		}
	}
	_, _ = io.Copy(io.Discard, from) // a line that is too long: the program must not block on a full pipe
	return last
}

// short runs a command that has to answer soon.
func (a *execAgent) short(ctx context.Context, vm vmRef, words ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, agentTimeout)
	defer cancel()
	return a.run(ctx, vm, nil, words...)
}

func (a *execAgent) plug(ctx context.Context, vm vmRef) (string, error) {
	result, err := a.short(ctx, vm, "plug", vm.node, vm.namespace, vm.vmi, vm.pod)
	return result.IP, err
}

func (a *execAgent) unplug(ctx context.Context, vm vmRef) error {
	_, err := a.short(ctx, vm, "unplug", vm.node, vm.namespace, vm.vmi, vm.pod)
	return err
}

func (a *execAgent) start(ctx context.Context, vm vmRef) error {
	_, err := a.short(ctx, vm, "start", vm.node, vm.namespace, vm.vmi, vm.pod)
	return err
}

func (a *execAgent) stop(ctx context.Context, vm vmRef) error {
	_, err := a.short(ctx, vm, "stop", vm.node, vm.namespace, vm.vmi, vm.pod)
	return err
}

func (a *execAgent) prepare(ctx context.Context, vm vmRef) (string, error) {
	result, err := a.run(ctx, vm, nil, "prepare", vm.node, vm.namespace, vm.vmi, vm.pod)
	return result.Address, err
}

func (a *execAgent) migrate(ctx context.Context, source, target vmRef, o migrateOptions, report func(progress)) error {
	options, err := json.Marshal(o)
	if err != nil {
		return err
	}
	each := func(text []byte) {
		p := progress{}
		if json.Unmarshal(text, &p) == nil {
			report(p)
		}
	}
	result, err := a.run(ctx, source, each, "migrate", source.node, target.node, source.namespace, source.vmi,
		string(options))
	return ending(result, err)
}

// ending makes one verdict of a command's last line and its status; the status wins when they differ.
func ending(result answer, err error) error {
	if err == nil && (result.Outcome == "" || result.Outcome == "completed") {
		return nil
	}
	exit := exitError{code: 1, text: "the agent's command ended with status 0, but its outcome is " + result.Outcome}
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	if exit.code == exitAborted || result.Outcome == "aborted" {
		return errAborted
	}
	if result.Reason != "" {
		return migrationError{result.Reason}
	}
	return migrationError{exit.Error()}
}

func (a *execAgent) abort(ctx context.Context, vm vmRef) error {
	_, err := a.short(ctx, vm, "abort", vm.node, vm.namespace, vm.vmi)
	return err
}

func (a *execAgent) postCopy(ctx context.Context, vm vmRef) error {
	_, err := a.short(ctx, vm, "postcopy", vm.node, vm.namespace, vm.vmi)
	return err
}

func (a *execAgent) pause(ctx context.Context, vm vmRef) error {
	_, err := a.short(ctx, vm, "pause", vm.node, vm.namespace, vm.vmi)
	return err
}

func (a *execAgent) where(ctx context.Context, namespace, vmi string) (place, error) {
	result, err := a.short(ctx, vmRef{}, "where", namespace, vmi)
	return result.place, err
}
