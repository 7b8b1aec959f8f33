// SPDX-License-Identifier: LGPL-2.1-or-later

// The kubelets of all nodes: the network of a pod (through the agent, as a CNI), its images, its containers' states,
// and its end. One look takes a pod one step on; what takes time runs on a goroutine and makes the kubelet look again.

package sim

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	networkRetry = time.Second // and doubled each time
	networkMost  = 15 * time.Second
	pullBackoff  = 10 * time.Second
	stopTime     = 200 * time.Millisecond
)

// podState is what a kubelet knows of a pod; the API shows the rest. The lock of kubeletState guards it, but for vm
// and launcher, which never change.
type podState struct {
	vm       vmRef
	launcher bool

	plugging  bool
	plugged   bool
	failures  int
	retryAt   time.Time
	ip        string
	pullAt    time.Time // when the pull began
	refusedAt time.Time // when the last pull failed
	pulls     int
}

type kubeletState struct {
	mu     sync.Mutex
	pods   map[string]*podState // by namespace/name/uid
	nextIP int
}

func newKubeletState() *kubeletState {
	return &kubeletState{pods: map[string]*podState{}}
}

func podID(pod *object) string {
	return key(pod) + "/" + uid(pod)
}

func (k *kubeletState) get(pod *object, vm vmRef) *podState {
	k.mu.Lock()
	defer k.mu.Unlock()
	id := podID(pod)
	st := k.pods[id]
	if st == nil {
		st = &podState{vm: vm, launcher: label(pod, "kubevirt.io") == "virt-launcher"}
		k.pods[id] = st
	}
	return st
}

func (k *kubeletState) with(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

// take removes and returns the states of a pod's name, of whatever uid but the one that is kept.
func (k *kubeletState) take(podKey, kept string) []*podState {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := []*podState{}
	for id, st := range k.pods {
		if len(id) > len(podKey) && id[:len(podKey)+1] == podKey+"/" && id != kept {
			out = append(out, st)
			delete(k.pods, id)
		}
	}
	return out
}

// address gives a new pod an address.
func (k *kubeletState) address() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nextIP++
	n := k.nextIP % (1 << 22)
	return fmt.Sprintf("10.%d.%d.%d", 128+n>>16, n>>8&255, n&255)
}

func (s *Sim) reconcilePod(ctx context.Context, k string) (time.Duration, error) {
	pod := s.pods.get(k)
	kept := ""
	if pod != nil {
		kept = podID(pod)
	}
	for _, st := range s.kubelet.take(k, kept) {
		s.release(st)
	}
	if pod == nil {
		return 0, nil
	}
	if s.orphan(pod) {
		return 0, s.pods.remove(ctx, pod, nil)
	}
	node := str(pod, "spec", "nodeName")
	if node == "" {
		return 0, nil
	}
	st := s.kubelet.get(pod, s.podRef(pod))
	switch {
	case deleting(pod):
		return s.terminate(ctx, pod)
	case podTerminal(pod):
		s.release(st)
		return 0, nil
	case podPhase(pod) == "Running":
		return s.watchRunning(ctx, pod, st)
	}
	return s.startPod(ctx, pod, st)
}

func (s *Sim) podRef(pod *object) vmRef {
	_, name := splitKey(s.machineOf(pod))
	return vmRef{node: str(pod, "spec", "nodeName"), namespace: pod.GetNamespace(), vmi: name, pod: pod.GetName(),
		role: podRole(pod), migration: label(pod, labelJobUID)}
}

func podRole(pod *object) string {
	if label(pod, labelJobUID) != "" {
		return "target"
	}
	return "source"
}

// orphan says whether the owner of a pod is gone, or a launcher whose attachment pod it is has ended.
func (s *Sim) orphan(pod *object) bool {
	for _, ref := range pod.GetOwnerReferences() {
		var owner *object
		switch ref.Kind {
		case "VirtualMachineInstance":
			owner = s.vmis.get(pod.GetNamespace() + "/" + ref.Name)
		case "Pod":
			owner = s.pods.get(pod.GetNamespace() + "/" + ref.Name)
			if owner != nil && podTerminal(owner) {
				return true
			}
		default:
			continue
		}
		if owner == nil || owner.GetUID() != ref.UID {
			return true
		}
	}
	return false
}

// release takes the network of a pod that has ended away, once.
func (s *Sim) release(st *podState) {
	held := false
	s.kubelet.with(func() {
		held = st.plugged && st.launcher
		st.plugged = false
	})
	if !held {
		return
	}
	s.later(func(ctx context.Context) {
		// Also when the simulator is about to end: a port must not stay behind.
		_ = persist(ctx, func() error { return s.agent.unplug(context.WithoutCancel(ctx), st.vm) })
	})
}

func (s *Sim) terminate(ctx context.Context, pod *object) (time.Duration, error) {
	stop := s.o.scaled(stopTime)
	if rest := stop - time.Since(s.memory.began.first(uid(pod)+"/stop", time.Time{})); rest > 0 {
		return rest, nil
	}
	s.memory.began.forget(uid(pod) + "/stop")
	none := int64(0)
	return 0, s.pods.remove(ctx, pod, &none)
}

// startPod takes a pod that has a node to Running: network, images, containers.
func (s *Sim) startPod(ctx context.Context, pod *object, st *podState) (time.Duration, error) {
	if err := s.acknowledge(ctx, pod); err != nil {
		return 0, err
	}
	if ready, again, err := s.network(ctx, pod, st); !ready || err != nil {
		return again, err
	}
	if ready, again, err := s.images(ctx, pod, st); !ready || err != nil {
		return again, err
	}
	wait := s.o.scaled(s.o.StartTime) - time.Since(s.memory.began.first(uid(pod)+"/start", time.Time{}))
	if wait > 0 {
		return wait, nil
	}
	if err := s.running(ctx, pod, st); err != nil {
		return 0, err
	}
	s.memory.began.forget(uid(pod) + "/start")
	s.memory.began.first(uid(pod)+"/launcher", time.Time{})
	for _, c := range objects(pod, "spec", "containers") {
		s.events.sayOn(pod, byKubelet, st.vm.node, normal, "Started", "Container started: %s", at(c, "name"))
	}
	return 0, nil
}

// waiting is a container's status while it waits.
func waiting(c map[string]any, reason, message string) map[string]any {
	state := map[string]any{"reason": reason}
	if message != "" {
		state["message"] = message
	}
	return map[string]any{
		"name":         at(c, "name"),
		"image":        at(c, "image"),
		"imageID":      "",
		"ready":        false,
		"started":      false,
		"restartCount": int64(0),
		"lastState":    map[string]any{},
		"state":        map[string]any{"waiting": state},
	}
}

// acknowledge shows that the kubelet has seen the pod.
func (s *Sim) acknowledge(ctx context.Context, pod *object) error {
	if len(list(pod, "status", "containerStatuses")) > 0 {
		return nil
	}
	return s.podStatus(ctx, pod, func(p *object) {
		if len(list(p, "status", "containerStatuses")) > 0 {
			return // somebody else has set the status
		}
		statuses := []any{}
		for _, c := range objects(p, "spec", "containers") {
			statuses = append(statuses, waiting(c, "ContainerCreating", ""))
		}
		set(p, "Pending", "status", "phase")
		set(p, now(), "status", "startTime")
		set(p, statuses, "status", "containerStatuses")
		setCondition(p, newCondition("PodScheduled", "True", "", "", now()))
		setCondition(p, newCondition("PodReadyToStartContainers", "False", "", "", now()))
		setCondition(p, newCondition("Initialized", "True", "", "", now()))
		setCondition(p, newCondition("ContainersReady", "False", "ContainersNotReady", "", now()))
		setCondition(p, newCondition("Ready", "False", "ContainersNotReady", "", now()))
	})
}

// podStatus changes the status of a pod that has not ended.
func (s *Sim) podStatus(ctx context.Context, pod *object, change func(*object)) error {
	return s.pods.updateStatus(ctx, key(pod), func(p *object) bool {
		if uid(p) != uid(pod) || podTerminal(p) {
			return false
		}
		before := p.DeepCopy()
		change(p)
		return !sameStatus(before, p)
	})
}

// network has the agent plug a launcher, and holds a pod as long as an act says.
func (s *Sim) network(ctx context.Context, pod *object, st *podState) (ready bool, again time.Duration, err error) {
	if held, reason, after := s.acts.holdsNetwork(pod); held {
		s.sandboxFailed(pod, st, reason)
		return false, s.networkPause(st, after), nil
	}
	var done, busy bool
	var rest time.Duration
	s.kubelet.with(func() {
		done, busy, rest = st.plugged, st.plugging, time.Until(st.retryAt)
		if !done && !busy && rest <= 0 {
			st.plugging = true
		}
	})
	switch {
	case done:
		return true, 0, s.podStatus(ctx, pod, func(p *object) {
			setCondition(p, newCondition("PodReadyToStartContainers", "True", "", "", now()))
		})
	case busy:
		return false, 0, nil
	case rest > 0:
		return false, rest, nil
	}
	s.later(func(ctx context.Context) { s.plug(ctx, pod, st) })
	return false, 0, nil
}

func (s *Sim) plug(ctx context.Context, pod *object, st *podState) {
	ip, err := "", error(nil)
	if st.launcher {
		ip, err = s.agent.plug(ctx, st.vm)
	}
	if ip == "" {
		ip = s.kubelet.address()
	}
	s.kubelet.with(func() {
		st.plugging = false
		st.plugged = err == nil
		st.ip = ip
	})
	if err != nil && ctx.Err() == nil {
		s.sandboxFailed(pod, st, err.Error())
		pause := s.networkPause(st, 0)
		s.kubelet.with(func() { st.retryAt = time.Now().Add(pause) })
		soon(s.kubelets, key(pod), pause)
		return
	}
	if current := s.pods.get(key(pod)); current == nil || uid(current) != uid(pod) || podTerminal(current) {
		s.release(st) // the pod ended meanwhile
		return
	}
	s.kubelets.add(key(pod))
}

func (s *Sim) networkPause(st *podState, after time.Duration) time.Duration {
	pause := networkMost
	s.kubelet.with(func() {
		if st.failures < 4 {
			pause = networkRetry << st.failures
		}
		st.failures++
	})
	pause = max(s.o.scaled(pause), 50*time.Millisecond)
	if after > 0 {
		pause = min(pause, after)
	}
	return pause
}

// sandboxFailed says what a kubelet says while the CNI does not deliver.
func (s *Sim) sandboxFailed(pod *object, st *podState, reason string) {
	s.events.sayOn(pod, byKubelet, st.vm.node, warning, "FailedCreatePodSandBox",
		"Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox: %s",
		reason)
}

// images pulls what the pod's containers need.
func (s *Sim) images(ctx context.Context, pod *object, st *podState) (ready bool, again time.Duration, err error) {
	var rest time.Duration
	first := false
	s.kubelet.with(func() {
		first = st.pullAt.IsZero()
		if first {
			st.pullAt = time.Now()
		}
		rest = s.o.scaled(s.o.PullTime) - time.Since(st.pullAt)
	})
	if first {
		for _, c := range objects(pod, "spec", "containers") {
			s.events.sayOn(pod, byKubelet, st.vm.node, normal, "Pulling", "Pulling image %q", at(c, "image"))
		}
	}
	if rest > 0 {
		return false, rest, nil
	}
	bad, text := s.badContainer(pod)
	if bad == nil {
		return true, 0, nil
	}
	return s.pullFailed(ctx, pod, st, bad, text)
}

// badContainer gives the first container whose image cannot be pulled, and why.
func (s *Sim) badContainer(pod *object) (container map[string]any, text string) {
	for _, c := range objects(pod, "spec", "containers") {
		if text, bad := s.acts.badImage(pod, at(c, "image")); bad {
			if text == "" {
				text = fmt.Sprintf("failed to pull and unpack image %q: failed to resolve reference %q: %s: not found",
					at(c, "image"), at(c, "image"), at(c, "image"))
			}
			return c, text
		}
	}
	return nil, ""
}

// pullFailed goes through ErrImagePull and ImagePullBackOff, over and over.
func (s *Sim) pullFailed(
	ctx context.Context,
	pod *object,
	st *podState,
	c map[string]any,
	text string,
) (bool, time.Duration, error) {
	image := at(c, "image")
	refused := false
	s.kubelet.with(func() {
		refused = time.Since(st.refusedAt) < s.o.scaled(pullBackoff)
		if !refused {
			st.refusedAt = time.Now()
			st.pulls++
		}
	})
	reason, message := "ErrImagePull", "rpc error: code = NotFound desc = "+text
	pause := max(s.o.scaled(time.Second), 50*time.Millisecond)
	if refused {
		reason, message = "ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", image, text)
		pause = max(s.o.scaled(pullBackoff), 50*time.Millisecond)
		s.events.sayOn(pod, byKubelet, st.vm.node, normal, "BackOff", "Back-off pulling image %q", image)
	} else {
		s.events.sayOn(pod, byKubelet, st.vm.node, warning, "Failed",
			"Failed to pull image %q: rpc error: code = NotFound desc = %s",
			image, text)
	}
	err := s.podStatus(ctx, pod, func(p *object) {
		statuses := objects(p, "status", "containerStatuses")
		out := []any{}
		for _, have := range statuses {
			if at(have, "name") == at(c, "name") {
				have = waiting(c, reason, message)
			}
			out = append(out, have)
		}
		set(p, out, "status", "containerStatuses")
	})
	return false, pause, err
}

// running shows all containers running. The pod becomes Ready only when its readiness gates are.
func (s *Sim) running(ctx context.Context, pod *object, st *podState) error {
	ip := ""
	s.kubelet.with(func() { ip = st.ip })
	return s.podStatus(ctx, pod, func(p *object) {
		statuses := []any{}
		for _, c := range objects(p, "spec", "containers") {
			statuses = append(statuses, map[string]any{"name": at(c, "name"), "image": at(c, "image"),
				"imageID": imageID(c), "ready": true, "started": true, "restartCount": int64(0),
				"lastState": map[string]any{}, "state": map[string]any{"running": map[string]any{"startedAt": now()}}})
		}
		set(p, "Running", "status", "phase")
		set(p, statuses, "status", "containerStatuses")
		set(p, ip, "status", "podIP")
		set(p, []any{map[string]any{"ip": ip}}, "status", "podIPs")
		setCondition(p, newCondition("ContainersReady", "True", "", "", now()))
		s.readiness(p)
	})
}

// imageID is the digest that a container runs.
func imageID(c map[string]any) string {
	if _, digest := cutDigest(at(c, "image")); digest != "" {
		return at(c, "image")
	}
	return repository(at(c, "image")) + "@sha256:" + fakeDigest(at(c, "image"))
}

// readiness sets the pod's Ready condition from its containers and its readiness gates.
func (s *Sim) readiness(p *object) bool {
	for _, gate := range objects(p, "spec", "readinessGates") {
		name := at(gate, "conditionType")
		if c := condition(p, name); at(c, "status") != "True" {
			text := fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", name)
			if c != nil {
				text = fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %s", name, at(c, "status"))
			}
			return setCondition(p, newCondition("Ready", "False", "ReadinessGatesNotReady", text, now()))
		}
	}
	return setCondition(p, newCondition("Ready", "True", "", "", now()))
}
