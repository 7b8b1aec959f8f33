// SPDX-License-Identifier: LGPL-2.1-or-later

// What the tests that need an API server share: the server (the program that KVMIG_KUBE names, started once), a
// simulator in this process, nodes and VMIs. Without KVMIG_KUBE those tests are skipped.

package sim

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const deadline = 60 * time.Second

var worlds atomic.Int64

var (
	serverOnce sync.Once
	serverData string
	serverErr  error
	serverStop = func() {}
)

func TestMain(m *testing.M) {
	code := m.Run()
	serverStop()
	os.Exit(code)
}

// server gives the folder with the kubeconfigs of the one API server of this test run.
func server(t *testing.T) string {
	t.Helper()
	program := os.Getenv("KVMIG_KUBE")
	if program == "" {
		t.Skip("KVMIG_KUBE does not name the API server's program")
	}
	serverOnce.Do(func() { serverErr = startServer(program) })
	if serverErr != nil {
		t.Fatal(serverErr)
	}
	return serverData
}

func startServer(program string) error {
	dir, err := os.MkdirTemp("", "kvmig-sim")
	if err != nil {
		return err
	}
	cmd := exec.Command(program, "api", "--data", dir)
	cmd.Stderr = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	serverStop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "kvmig-kube: ready ") {
				ready <- true
			}
		}
		ready <- false
	}()
	select {
	case ok := <-ready:
		if !ok {
			return fmt.Errorf("%s ended before it was ready", program)
		}
	case <-time.After(deadline):
		return fmt.Errorf("%s was not ready within %v", program, deadline)
	}
	serverData = dir
	return nil
}

func clientConfig(t *testing.T, account string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(server(t), account+".kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

// world is a simulator and a client in a namespace of their own.
type world struct {
	t         *testing.T
	s         *Sim
	client    dynamic.Interface
	namespace string
	ctx       context.Context
}

func newWorld(t *testing.T, o Options) *world {
	t.Helper()
	return newWorldWith(t, o, clientConfig(t, "kubevirt-controller"))
}

// newWorldWith gives the simulator a configuration of its own.
func newWorldWith(t *testing.T, o Options, config *rest.Config) *world {
	t.Helper()
	client, err := dynamic.NewForConfig(clientConfig(t, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &world{
		t:         t,
		client:    client,
		ctx:       ctx,
		namespace: strings.ToLower(strings.NewReplacer("_", "-", "/", "-").Replace(t.Name())),
	}
	if extra := len(w.namespace) - 50; extra > 0 {
		w.namespace = strings.Trim(w.namespace[extra:], "-")
	}
	w.namespace += fmt.Sprintf("-%d", worlds.Add(1)) // a test may run more than once
	o.Kubeconfig, o.Namespace = "unused", w.namespace
	w.s, err = New(config, o)
	if err != nil {
		t.Fatal(err)
	}
	w.make(coreResource("namespaces"),
		fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, w.namespace))
	done := make(chan error, 1)
	go func() { done <- w.s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(deadline):
			t.Error("the simulator does not end")
		}
	})
	return w
}

func decode(t *testing.T, text string) *object {
	t.Helper()
	o := &object{}
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}

func (w *world) in(gvr schema.GroupVersionResource, o *object) dynamic.ResourceInterface {
	if o.GetNamespace() == "" {
		return w.client.Resource(gvr)
	}
	return w.client.Resource(gvr).Namespace(o.GetNamespace())
}

// make creates an object, or leaves one of that name as it is.
func (w *world) make(gvr schema.GroupVersionResource, text string) *object {
	w.t.Helper()
	o := decode(w.t, text)
	out, err := w.in(gvr, o).Create(w.ctx, o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		out, err = w.in(gvr, o).Get(w.ctx, o.GetName(), metav1.GetOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

const nodeLabels = `"kubernetes.io/arch":"amd64","kubevirt.io/schedulable":"true",
"cpu-vendor.node.kubevirt.io/Intel":"true",
"host-model-cpu.node.kubevirt.io/Skylake-Client-IBRS":"true",
"cpu-model-migration.node.kubevirt.io/Skylake-Client-IBRS":"true",
"host-model-required-features.node.kubevirt.io/avx2":"true",
"host-model-required-features.node.kubevirt.io/vmx":"true",
"cpu-feature.node.kubevirt.io/avx2":"true","cpu-feature.node.kubevirt.io/vmx":"true",
"machine-type.node.kubevirt.io/q35":"true","machine-type.node.kubevirt.io/pc-q35-rhel9.6.0":"true"`

func (w *world) nodes(names ...string) {
	w.t.Helper()
	for i, name := range names {
		w.make(
			coreResource("nodes"),
			fmt.Sprintf(
				`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"labels":{"kubernetes.io/hostname":%q,%s}},
			"status":{"addresses":[{"type":"InternalIP","address":"198.51.100.%d"}]}}`,
				name,
				name,
				nodeLabels,
				11+i,
			),
		)
	}
}

// kubevirt sets spec.configuration.migrations of the one KubeVirt object.
func (w *world) kubevirt(migrations string) {
	w.t.Helper()
	gvr := kubevirtResource("kubevirts")
	text := fmt.Sprintf(
		`{"apiVersion":"kubevirt.io/v1","kind":"KubeVirt","metadata":{"name":"kubevirt","namespace":"kubevirt"},
		"spec":{"configuration":{"migrations":%s},"workloadUpdateStrategy":{"workloadUpdateMethods":["LiveMigrate"]}}}`,
		migrations,
	)
	wanted := decode(w.t, text)
	have := w.make(gvr, text)
	set(have, child(wanted, "spec"), "spec")
	if _, err := w.in(gvr, have).Update(w.ctx, have, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.until("the KubeVirt object", func() bool {
		kv := w.s.kubevirts.get("kubevirt/kubevirt")
		return kv != nil && fmt.Sprint(child(kv, "spec")) == fmt.Sprint(child(wanted, "spec"))
	})
}

func (w *world) until(what string, f func() bool) {
	w.t.Helper()
	end := time.Now().Add(deadline)
	for !f() {
		if time.Now().After(end) {
			w.t.Fatalf("%s: not within %v", what, deadline)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// vm starts a VMI on a node and waits until it runs; spec is merged into the VMI's.
func (w *world) vm(name, node, volumes string) *object {
	w.t.Helper()
	vmi := w.make(
		kubevirtResource("virtualmachineinstances"),
		fmt.Sprintf(`{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance",
		"metadata":{"name":%q,"namespace":%q,"labels":{"app":%q},"annotations":{%q:%q}},
		"spec":{"architecture":"amd64","evictionStrategy":"LiveMigrate","domain":{"cpu":{"model":"host-model"},
		"machine":{"type":"q35"},
		"memory":{"guest":"1Gi"},"devices":{"interfaces":[{"name":"default","masquerade":{}}]}},
		"networks":[{"name":"default","pod":{}}],"volumes":[%s]}}`,
			name, w.namespace, name, annotationNode, node, volumes),
	)
	w.until("VMI "+name+" runs", func() bool {
		v := w.s.vmis.get(w.namespace + "/" + name)
		return v != nil && str(v, "status", "phase") == "Running"
	})
	return vmi
}

func (w *world) claim(name, mode, size string) {
	w.t.Helper()
	w.make(coreResource("persistentvolumeclaims"), fmt.Sprintf(`{"apiVersion":"v1","kind":"PersistentVolumeClaim",
		"metadata":{"name":%q,"namespace":%q},"spec":{"accessModes":[%q],"resources":{"requests":{"storage":%q}}}}`,
		name, w.namespace, mode, size))
}

func (w *world) migrate(name, vmi, annotations string) *object {
	w.t.Helper()
	return w.make(kubevirtResource("virtualmachineinstancemigrations"), fmt.Sprintf(`{"apiVersion":"kubevirt.io/v1",
		"kind":"VirtualMachineInstanceMigration","metadata":{"name":%q,"namespace":%q,"annotations":{%s}},
		"spec":{"vmiName":%q}}`,
		name, w.namespace, annotations, vmi))
}

func (w *world) delete(gvr schema.GroupVersionResource, name string) {
	w.t.Helper()
	if err := w.client.Resource(gvr).Namespace(w.namespace).Delete(w.ctx, name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) get(gvr schema.GroupVersionResource, name string) *object {
	w.t.Helper()
	o, err := w.client.Resource(gvr).Namespace(w.namespace).Get(w.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *world) vmim(name string) *object {
	w.t.Helper()
	return w.get(kubevirtResource("virtualmachineinstancemigrations"), name)
}

func (w *world) vmi(name string) *object {
	w.t.Helper()
	return w.get(kubevirtResource("virtualmachineinstances"), name)
}

// reaches waits until a VMIM is in a phase.
func (w *world) reaches(name, phase string) {
	w.t.Helper()
	w.until("VMIM "+name+" is "+phase, func() bool {
		m := w.vmim(name)
		if m != nil && migrationFinal(m) && str(m, "status", "phase") != phase {
			w.t.Fatalf("VMIM %s is %s, and not %s: %v", name, str(m, "status", "phase"), phase,
				child(w.vmi(str(m, "spec", "vmiName")), "status", "migrationState"))
		}
		return m != nil && str(m, "status", "phase") == phase
	})
}

// said waits for an event about an object, whose message has this in it.
func (w *world) said(object, reason, part string) {
	w.t.Helper()
	w.until("event "+reason+" about "+object, func() bool {
		all, err := w.client.Resource(eventsResource).Namespace(w.namespace).List(w.ctx, metav1.ListOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range all.Items {
			if str(&e, "involvedObject", "name") == object && str(&e, "reason") == reason &&
				strings.Contains(str(&e, "message"), part) {
				return true
			}
		}
		return false
	})
}

func fast() Options {
	o := DefaultOptions()
	o.TimeScale = 0.05
	return o
}

func (w *world) act(a act) string {
	w.t.Helper()
	a.Namespace = w.namespace
	id, err := w.s.acts.add(a)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}
