// SPDX-License-Identifier: LGPL-2.1-or-later

// The control endpoint: plain HTTP for the tests of one machine. It registers acts that last, does those that are done
// at once, and shows what the API server has no place for.

package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Kinds of acts that are done at once.
const (
	actBackup  = "backup"
	actEvict   = "evict"
	actHotplug = "hotplug"
	actUnplug  = "unplug"
	actPodFail = "pod-fails"
)

var oneTimeActs = []string{actBackup, actEvict, actHotplug, actUnplug, actPodFail}

const (
	controlBodyMost = 1 << 20
	logLinesMost    = 200
	logPodsMost     = 1000
)

func (c *acts) listen(ctx context.Context) error {
	if c.s.o.Control == "" {
		return nil
	}
	l, err := net.Listen("tcp", c.s.o.Control)
	if err != nil {
		return fmt.Errorf("--control %s: %w", c.s.o.Control, err)
	}
	srv := &http.Server{Handler: c.handler(), ReadHeaderTimeout: 10 * time.Second}
	c.s.group.Go(func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("the control endpoint ended", "error", err)
		}
	})
	c.s.group.Go(func() {
		<-ctx.Done()
		_ = srv.Close()
	})
	slog.Info("the control endpoint listens", "address", l.Addr().String())
	return nil
}

func (c *acts) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /acts", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, http.StatusOK, c.all()) })
	mux.HandleFunc("POST /acts", c.post)
	mux.HandleFunc("DELETE /acts", func(w http.ResponseWriter, _ *http.Request) {
		c.remove("")
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("DELETE /acts/{id}", func(w http.ResponseWriter, r *http.Request) {
		if !c.remove(r.PathValue("id")) {
			answerError(w, http.StatusNotFound, fmt.Errorf("there is no act %q", r.PathValue("id")))
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /logs/{namespace}/{pod}", func(w http.ResponseWriter, r *http.Request) {
		for _, line := range c.s.logs.of(r.PathValue("namespace") + "/" + r.PathValue("pod")) {
			fmt.Fprintln(w, line)
		}
	})
	return mux
}

func answerJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a client that went away needs no answer
}

func answerError(w http.ResponseWriter, code int, err error) {
	answerJSON(w, code, map[string]string{"error": err.Error()})
}

func (c *acts) post(w http.ResponseWriter, r *http.Request) {
	a := act{}
	body, err := io.ReadAll(io.LimitReader(r.Body, controlBodyMost))
	if err == nil {
		decoder := json.NewDecoder(strings.NewReader(string(body)))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&a)
	}
	if err != nil {
		answerError(w, http.StatusBadRequest, fmt.Errorf("the body must be one act: %w", err))
		return
	}
	if slices.Contains(oneTimeActs, a.Kind) {
		if err := c.s.do(r.Context(), a); err != nil {
			answerError(w, http.StatusConflict, err)
			return
		}
		answerJSON(w, http.StatusOK, map[string]string{})
		return
	}
	id, err := c.add(a)
	if err != nil {
		answerError(w, http.StatusBadRequest, err)
		return
	}
	answerJSON(w, http.StatusCreated, map[string]string{"id": id})
}

// do does an act that changes objects once.
func (s *Sim) do(ctx context.Context, a act) error {
	machine := a.Namespace + "/" + a.VMI
	var err error
	switch a.Kind {
	case actBackup:
		err = s.vmis.update(ctx, machine, func(v *object) bool { return setBackup(v, a.State) })
	case actEvict:
		err = s.vmis.update(ctx, machine, func(v *object) bool {
			set(v, str(v, "status", "nodeName"), "status", "evacuationNodeName")
			setCondition(v, newCondition("EvictionRequested", "True", "EvictionRequested", "", now()))
			return true
		})
	case actHotplug:
		err = s.hotplug(ctx, machine, a)
	case actUnplug:
		err = s.vmis.update(ctx, machine, func(v *object) bool { return dropVolume(v, a.Volume) })
	case actPodFail:
		pod := s.pods.get(a.Namespace + "/" + a.Pod)
		if pod == nil {
			return fmt.Errorf("there is no pod %s/%s", a.Namespace, a.Pod)
		}
		err = s.finishPod(ctx, pod, "Failed")
	}
	if errors.Is(err, errGone) {
		return fmt.Errorf("there is no VMI %s", machine)
	}
	return err
}

func setBackup(v *object, runs bool) bool {
	if backupRuns(v) == runs {
		return false
	}
	if runs {
		set(v, map[string]any{"backupName": "backup", "startTimestamp": now()}, "status", "changedBlockTracking",
			"backupStatus")
	} else {
		set(v, true, "status", "changedBlockTracking", "backupStatus", "completed")
	}
	return true
}

// hotplug attaches a volume to a running guest: the VMI names it, and the current launcher gets an attachment pod.
func (s *Sim) hotplug(ctx context.Context, machine string, a act) error {
	if a.Volume == "" || a.Claim == "" {
		return errors.New("hotplug needs volume and claim")
	}
	vmi := s.vmis.get(machine)
	if vmi == nil {
		return errGone
	}
	launcher := s.sourcePod(vmi)
	if launcher == nil {
		return fmt.Errorf("VMI %s has no running launcher pod", machine)
	}
	next := vmi.DeepCopy()
	dropVolume(next, a.Volume)
	addVolume(next, a)
	pod, err := s.pods.create(ctx, s.attachmentPod(next, launcher))
	if err != nil {
		return err
	}
	return s.vmis.update(ctx, machine, func(v *object) bool {
		dropVolume(v, a.Volume)
		addVolume(v, a)
		status := map[string]any{"name": a.Volume, "phase": "Ready", "target": "sda", "reason": "VolumeReady",
			"persistentVolumeClaimInfo": s.claimInfo(v.GetNamespace(), a.Claim),
			"hotplugVolume":             map[string]any{"attachPodName": pod.GetName(), "attachPodUID": uid(pod)}}
		set(v, append(runtime.DeepCopyJSONValue(orEmpty(list(v, "status", "volumeStatus"))).([]any), status), "status",
			"volumeStatus")
		return true
	})
}

func orEmpty(l []any) []any {
	if l == nil {
		return []any{}
	}
	return l
}

func addVolume(v *object, a act) {
	volume := map[string]any{
		"name":                  a.Volume,
		"persistentVolumeClaim": map[string]any{"claimName": a.Claim, "hotpluggable": true},
	}
	disk := map[string]any{"name": a.Volume, "disk": map[string]any{"bus": "scsi"}}
	set(v, append(slices.Clone(list(v, "spec", "volumes")), volume), "spec", "volumes")
	set(v, append(slices.Clone(list(v, "spec", "domain", "devices", "disks")), disk), "spec", "domain", "devices",
		"disks")
}

func dropVolume(v *object, name string) bool {
	changed := false
	paths := [][]string{{"spec", "volumes"}, {"spec", "domain", "devices", "disks"}, {"status", "volumeStatus"}}
	for _, path := range paths {
		kept := []any{}
		for _, have := range objects(v, path...) {
			if at(have, "name") != name {
				kept = append(kept, have)
			}
		}
		if len(kept) != len(list(v, path...)) {
			set(v, kept, path...)
			changed = true
		}
	}
	return changed
}

// podLogs keeps the last lines of what launchers would log.
type podLogs struct {
	mu    sync.Mutex
	lines map[string][]string
}

func newPodLogs() *podLogs {
	return &podLogs{lines: map[string][]string{}}
}

func (p *podLogs) add(pod, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.lines) >= logPodsMost && p.lines[pod] == nil {
		clear(p.lines)
	}
	l := append(p.lines[pod], line)
	if len(l) > logLinesMost {
		l = l[len(l)-logLinesMost:]
	}
	p.lines[pod] = l
}

func (p *podLogs) of(pod string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines[pod])
}
