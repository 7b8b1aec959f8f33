// SPDX-License-Identifier: LGPL-2.1-or-later

// Package sim plays KubeVirt against a real Kubernetes API: virt-controller's migration machinery, the virt-handlers
// of all nodes, and as much of the scheduler, the kubelets and the endpoint controller as a migration touches. What
// happens to guests and their networks is done by an agent (see agent.go). It holds no state that matters besides the
// API's objects: after a restart it goes on from them.
package sim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// Options say how the simulator runs; the zero value of a duration means none.
type Options struct {
	Kubeconfig    string
	Namespace     string  // empty: all
	TimeScale     float64 // every built-in limit and duration is multiplied by it
	Agent         string  // command of the exec agent; empty: scripted
	Control       string  // address of the control endpoint; empty: none
	LauncherImage string  // image of new launcher pods; empty: the source's
	Workers       int

	ScheduleTime, PullTime, StartTime, PlugTime, PrepareTime, StepTime, CopyTime time.Duration
}

// DefaultOptions are those of the command line without flags.
func DefaultOptions() Options {
	return Options{TimeScale: 1, Workers: 4, ScheduleTime: 50 * time.Millisecond, PullTime: 200 * time.Millisecond,
		StartTime: 300 * time.Millisecond, PlugTime: 200 * time.Millisecond, PrepareTime: 600 * time.Millisecond,
		StepTime: 300 * time.Millisecond, CopyTime: time.Second}
}

func (o *Options) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * o.TimeScale)
}

func (o *Options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("sim", flag.ContinueOnError)
	f.StringVar(&o.Kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig of the API server")
	f.StringVar(&o.Namespace, "namespace", "", "look at this namespace only")
	f.Float64Var(&o.TimeScale, "time-scale", o.TimeScale,
		"factor for all built-in limits and durations, for example 0.01")
	f.StringVar(&o.Agent, "agent", "", "command that acts on real guests (see README.md); without it nothing is real")
	f.StringVar(&o.Control, "control", "", "address of the control endpoint, for example 127.0.0.1:16480")
	f.StringVar(&o.LauncherImage, "launcher-image", "", "image of new launcher pods (default: that of the source pod)")
	f.IntVar(&o.Workers, "workers", o.Workers, "workers per controller")
	f.DurationVar(&o.ScheduleTime, "schedule-time", o.ScheduleTime, "how long the scheduler takes")
	f.DurationVar(&o.PullTime, "pull-time", o.PullTime, "how long an image pull takes")
	f.DurationVar(&o.StartTime, "start-time", o.StartTime, "how long containers take to start")
	f.DurationVar(&o.PlugTime, "plug-time", o.PlugTime, "how long the CNI takes (scripted agent)")
	f.DurationVar(&o.PrepareTime, "prepare-time", o.PrepareTime,
		"how long the preparation of the target takes (scripted agent)")
	f.DurationVar(&o.StepTime, "step-time", o.StepTime, "pause between the target's writes of the hand-over")
	f.DurationVar(&o.CopyTime, "copy-time", o.CopyTime, "how long a copy takes (scripted agent)")
	return f
}

func (o *Options) check() error {
	switch {
	case o.Kubeconfig == "":
		return errors.New("no API server: give --kubeconfig, or set KUBECONFIG")
	case o.TimeScale <= 0:
		return fmt.Errorf("--time-scale %v: must be greater than 0", o.TimeScale)
	case o.Workers < 1:
		return fmt.Errorf("--workers %d: must be at least 1", o.Workers)
	}
	return nil
}

// Main runs the simulator with the arguments of a command line until SIGTERM or SIGINT.
func Main(args []string) error {
	o := DefaultOptions()
	if err := o.flags().Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", o.Kubeconfig, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	s, err := New(config, o)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

func kubevirtResource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: name}
}

func coreResource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: name}
}

var eventsResource = coreResource("events")

// Names of the indexes.
const (
	byVMI       = "vmi"       // VMIMs by namespace/name of their VMI
	byCreator   = "creator"   // launcher pods by uid of their VMI
	byOwner     = "owner"     // pods by uid of their controlling owner
	byMigration = "migration" // pods by uid of the migration that they are the target of
)

const (
	syncLimit     = 2 * time.Minute
	optionalLimit = 5 * time.Second
	resyncTime    = 10 * time.Second
)

// Sim is one running simulator.
type Sim struct {
	o      Options
	client dynamic.Interface
	agent  agent
	events *recorder
	acts   *acts
	logs   *podLogs

	vmims, vmis, vms, pods, nodes, quotas, services, slices, pvcs, kubevirts, policies, namespaces *store

	migrations, machines, handlers, scheduling, kubelets, volumes, updates, evacuations, endpoints, garbage *loop

	memory  *memory
	kubelet *kubeletState
	runs    *runs
	slots   slotLock

	ctx   context.Context // of Run; ends all goroutines
	group sync.WaitGroup
}

// New makes a simulator for an API server; Run runs it.
func New(config *rest.Config, o Options) (*Sim, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server limits us, not the client
	config.UserAgent = "kvmig-kube-sim"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	s := &Sim{o: o, client: client, events: newRecorder(client), memory: newMemory(), logs: newPodLogs(),
		kubelet: newKubeletState(), runs: newRuns()}
	if s.agent, err = newAgent(&s.o); err != nil {
		return nil, err
	}
	s.acts = newActs(s)
	s.makeStores()
	s.makeLoops()
	return s, s.wire()
}

func (s *Sim) makeStores() {
	namespaced := func(gvr schema.GroupVersionResource, ix cache.Indexers) *store {
		return newStore(s.client, gvr, s.o.Namespace, ix)
	}
	clusterWide := func(gvr schema.GroupVersionResource) *store {
		st := newStore(s.client, gvr, "", nil)
		st.namespaced = false
		return st
	}
	s.vmims = namespaced(kubevirtResource("virtualmachineinstancemigrations"), cache.Indexers{byVMI: indexVMI})
	s.vmims.statusPart = true
	s.vmis = namespaced(kubevirtResource("virtualmachineinstances"), nil)
	s.vms = namespaced(kubevirtResource("virtualmachines"), nil)
	s.vms.statusPart = true
	s.pods = namespaced(coreResource("pods"), cache.Indexers{byCreator: indexLabel("kubevirt.io/created-by"),
		byMigration: indexLabel("kubevirt.io/migrationJobUID"), byOwner: indexOwner})
	s.pods.statusPart = true
	s.quotas = namespaced(coreResource("resourcequotas"), nil)
	s.services = namespaced(coreResource("services"), nil)
	s.pvcs = namespaced(coreResource("persistentvolumeclaims"), nil)
	s.slices = namespaced(
		schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
		nil,
	)
	s.kubevirts = newStore(s.client, kubevirtResource("kubevirts"), "", nil)
	s.nodes = clusterWide(coreResource("nodes"))
	s.namespaces = clusterWide(coreResource("namespaces"))
	s.policies = clusterWide(schema.GroupVersionResource{Group: "migrations.kubevirt.io", Version: "v1alpha1",
		Resource: "migrationpolicies"})
}

func indexVMI(o any) ([]string, error) {
	u := o.(*object)
	return []string{u.GetNamespace() + "/" + str(u, "spec", "vmiName")}, nil
}

func indexLabel(name string) cache.IndexFunc {
	return func(o any) ([]string, error) {
		if v := label(o.(*object), name); v != "" {
			return []string{v}, nil
		}
		return nil, nil
	}
}

func indexOwner(o any) ([]string, error) {
	for _, ref := range o.(*object).GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller {
			return []string{string(ref.UID)}, nil
		}
	}
	return nil, nil
}

func (s *Sim) makeLoops() {
	s.migrations = newLoop("migrations", s.queuePriority, s.reconcileMigration)
	s.machines = newLoop("machines", nil, s.reconcileMachine)
	s.handlers = newLoop("handlers", nil, s.reconcileHandler)
	s.scheduling = newLoop("scheduler", nil, s.schedule)
	s.kubelets = newLoop("kubelet", nil, s.reconcilePod)
	s.volumes = newLoop("volumes", nil, s.reconcileVolumes)
	s.updates = newLoop("updates", nil, s.reconcileUpdate)
	s.evacuations = newLoop("evacuations", nil, s.reconcileEvacuation)
	s.endpoints = newLoop("endpoints", nil, s.reconcileService)
	s.garbage = newLoop("garbage", nil, s.collect)
}

func (s *Sim) loops() []*loop {
	return []*loop{s.migrations, s.machines, s.handlers, s.scheduling, s.kubelets, s.volumes, s.updates, s.evacuations,
		s.endpoints, s.garbage}
}

// Run works until the context ends; it returns when every goroutine and every command of the agent has ended.
func (s *Sim) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.ctx = ctx
	defer s.group.Wait()
	if err := s.acts.listen(ctx); err != nil {
		cancel()
		return err
	}
	s.group.Go(func() { s.events.run(ctx) })
	if err := s.sync(ctx); err != nil {
		cancel()
		return err
	}
	for _, l := range s.loops() {
		l.run(ctx, s.o.Workers, &s.group)
	}
	s.group.Go(func() { s.resync(ctx) })
	slog.Info("the simulator works", "time-scale", s.o.TimeScale, "agent", s.o.Agent)
	<-ctx.Done()
	return nil
}

// sync starts the informers. Those without which nothing works must come up; of the others a test may have left the
// kinds out, and then they count as empty.
func (s *Sim) sync(ctx context.Context) error {
	needed := []*store{s.vmims, s.vmis, s.pods, s.nodes}
	optional := []*store{s.vms, s.quotas, s.services, s.slices, s.pvcs, s.kubevirts, s.policies, s.namespaces}
	for _, st := range append(append([]*store{}, needed...), optional...) {
		s.group.Go(func() { st.informer.Run(ctx.Done()) })
	}
	if err := waitSynced(ctx, syncLimit, needed); err != nil {
		return err
	}
	if err := waitSynced(ctx, optionalLimit, optional); err != nil {
		slog.Warn("some kinds count as empty until the server has them", "error", err)
	}
	return nil
}

func waitSynced(ctx context.Context, limit time.Duration, stores []*store) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, st := range stores {
		if !cache.WaitForCacheSync(limited.Done(), st.informer.HasSynced) {
			if ctx.Err() != nil {
				return nil // told to end
			}
			return fmt.Errorf("%s could not be listed within %v; is the kind served, and may this account list it?",
				st.gvr.GroupResource(), limit)
		}
	}
	return nil
}

// resync looks at everything now and then, as a net for whatever a watch lost.
func (s *Sim) resync(ctx context.Context) {
	ticker := time.NewTicker(resyncTime)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			for _, st := range []*store{s.vmims, s.vmis, s.pods} {
				st.verify(ctx)
			}
			s.kick()
		case <-ctx.Done():
			return
		}
	}
}

// later runs f on a goroutine that Run waits for.
func (s *Sim) later(f func(ctx context.Context)) {
	s.group.Go(func() { f(s.ctx) })
}

// persist repeats a write until it succeeds, its object is gone, or the context ends.
func persist(ctx context.Context, write func() error) error {
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		err := write()
		if err == nil || errors.Is(err, errGone) || ctx.Err() != nil {
			return err
		}
		if e := sleep(ctx, pause/2+rand.N(pause)); e != nil {
			return e
		}
	}
}
