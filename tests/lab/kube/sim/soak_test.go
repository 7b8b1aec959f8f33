// SPDX-License-Identifier: LGPL-2.1-or-later

// Many life cycles, also over a connection that fails: requests that never arrive, answers that are lost, watches that
// are cut. KVMIG_SIM_SOAK says how many; without it there are few.

package sim

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// flaky breaks a part of the requests.
type flaky struct {
	inner http.RoundTripper
	rate  float64
}

func (f flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	if rand.Float64() < f.rate {
		return nil, errors.New("the request was lost")
	}
	out, err := f.inner.RoundTrip(r)
	if err != nil {
		return out, err
	}
	if strings.Contains(r.URL.RawQuery, "watch=true") {
		body := out.Body
		time.AfterFunc(time.Duration(rand.Float64()*float64(5*time.Second)), func() { _ = body.Close() })
		return out, nil
	}
	if rand.Float64() < f.rate/2 {
		_, _ = io.Copy(io.Discard, out.Body)
		_ = out.Body.Close()
		return nil, errors.New("the answer was lost")
	}
	return out, nil
}

func soakCount(t *testing.T) int {
	text := os.Getenv("KVMIG_SIM_SOAK")
	if text == "" {
		return 30
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("KVMIG_SIM_SOAK=%s: want a number of life cycles", text)
	}
	return n
}

func TestLifeCycles(t *testing.T) {
	cycles := soakCount(t)
	t.Run("good connection", func(t *testing.T) { soak(t, cycles, 0) })
	t.Run("failing connection", func(t *testing.T) { soak(t, max(cycles/5, 10), 0.03) })
}

const soakMachines = 10

func soak(t *testing.T, cycles int, faults float64) {
	o := fast()
	o.TimeScale, o.Workers = 0.01, 8
	config := clientConfig(t, "kubevirt-controller")
	if faults > 0 {
		config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return flaky{inner, faults} })
	}
	w := newWorldWith(t, o, config)
	w.nodes("node-a", "node-b", "node-c")
	w.kubevirt(`{"parallelMigrationsPerCluster":10,"parallelOutboundMigrationsPerNode":5}`)
	for i := range soakMachines {
		w.vm(fmt.Sprintf("vm%d", i), []string{"node-a", "node-b", "node-c"}[i%3], "")
	}
	done := make(chan error, soakMachines)
	for i := range soakMachines {
		go func() { done <- w.cycle(fmt.Sprintf("vm%d", i), (cycles+soakMachines-1)/soakMachines) }()
	}
	for range soakMachines {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for i := range soakMachines {
		vmi := w.vmi(fmt.Sprintf("vm%d", i))
		w.until("one launcher runs, on the guest's node", func() bool {
			running := 0
			for _, pod := range w.s.pods.by(byCreator, uid(vmi)) {
				if !podTerminal(pod) {
					running++
				}
			}
			return running == 1 && w.s.sourcePod(vmi) != nil
		})
	}
}

// cycle migrates one VMI so many times; every third migration fails, every fifth is cancelled.
func (w *world) cycle(vmi string, times int) error {
	for i := range times {
		name := fmt.Sprintf("%s-%d", vmi, i)
		annotations := ""
		if i%3 == 2 {
			annotations = fmt.Sprintf(`%q:%q`, annotationActs, `[{"kind":"source-fails"}]`)
		}
		node := str(w.vmi(vmi), "status", "nodeName")
		w.migrate(name, vmi, annotations)
		if i%5 == 4 {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			w.delete(migrationsResource, name)
		}
		if err := w.ends(name, vmi, node, i%3 == 2); err != nil {
			return err
		}
	}
	return nil
}

// ends waits for the end of a migration, and compares where the guest is with how it ended.
func (w *world) ends(name, vmi, from string, fails bool) error {
	end := time.Now().Add(2 * deadline)
	for m := w.vmim(name); ; m = w.vmim(name) {
		switch {
		case time.Now().After(end):
			return fmt.Errorf("%s is %v after %v; VMI: %v\n%s", name, child(m, "status"), deadline,
				child(w.vmi(vmi), "status"), w.launchers(vmi))
		case m == nil:
			return nil // cancelled, or collected
		case str(m, "status", "phase") == phaseFailed && str(w.vmi(vmi), "status", "nodeName") != from:
			return fmt.Errorf("%s failed, but the guest has left %s: %v\n%v\n%s", name, from, m.Object,
				child(w.vmi(vmi), "status", "migrationState"), w.launchers(vmi))
		case str(m, "status", "phase") == phaseSucceeded && (fails || str(w.vmi(vmi), "status", "nodeName") == from):
			return fmt.Errorf("%s succeeded, but the guest is on %s (from %s)", name,
				str(w.vmi(vmi), "status", "nodeName"), from)
		case migrationFinal(m) && len(m.GetFinalizers()) == 0:
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// launchers lists the launcher pods of a VMI, as the server has them and as the simulator does.
func (w *world) launchers(vmi string) string {
	out := []string{}
	in := w.client.Resource(w.s.pods.gvr).Namespace(w.namespace)
	pods, err := in.List(w.ctx, metav1.ListOptions{LabelSelector: "vmi.kubevirt.io/id=" + vmi})
	if err != nil {
		return err.Error()
	}
	for _, p := range pods.Items {
		seen := w.s.pods.get(key(&p))
		text := fmt.Sprintf("%s on %s: %s, migration %s", p.GetName(), str(&p, "spec", "nodeName"), podPhase(&p),
			annotation(&p, annotationJobName))
		if seen == nil {
			text += ", not seen"
		} else {
			text += ", seen as " + podPhase(seen)
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}
