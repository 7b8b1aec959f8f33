// SPDX-License-Identifier: LGPL-2.1-or-later

package api

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"
)

// cluster is what admission sees in a test.
type cluster struct {
	vmis       map[string]string
	migrations []string
	gates      []string
	pod        *corev1.Pod
	marked     string
}

func object(text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		panic(err)
	}
	u.SetNamespace("default")
	return u
}

func (c *cluster) NamespaceExists(_ context.Context, name string) (bool, error) {
	return name == "default", nil
}

func (c *cluster) VMI(_ context.Context, _, name string) (*unstructured.Unstructured, error) {
	text, ok := c.vmis[name]
	if !ok {
		return nil, apierrors.NewNotFound(vmiResource.GroupResource(), name)
	}
	u := object(text)
	u.SetName(name)
	return u, nil
}

func (c *cluster) Migrations(context.Context, string, string) ([]unstructured.Unstructured, error) {
	out := []unstructured.Unstructured{}
	for _, text := range c.migrations {
		out = append(out, *object(text))
	}
	return out, nil
}

func (c *cluster) FeatureGates(context.Context) ([]string, error)           { return c.gates, nil }
func (c *cluster) EvictionStrategy(context.Context) (string, error)         { return "", nil }
func (c *cluster) Pod(context.Context, string, string) (*corev1.Pod, error) { return c.pod, nil }
func (c *cluster) MarkEvacuation(_ context.Context, _ *unstructured.Unstructured, node string) error {
	c.marked = node
	return nil
}

// attributes builds the attributes of a request for a KubeVirt resource.
func attributes(resource, sub, who string, op admission.Operation, obj, old runtime.Object) admission.Attributes {
	r := vmiResource.GroupVersion().WithResource(resource)
	if resource == "pods" {
		r = corev1.SchemeGroupVersion.WithResource(resource)
	}
	return admission.NewAttributesRecord(obj, old, r.GroupVersion().WithKind("K"), "default", "name", r, sub, op, nil,
		false, &user.DefaultInfo{Name: who})
}

const running = "{status: {phase: Running, nodeName: n1}}"

func TestCreatingAMigrationIsDeniedInKubeVirtsOrder(t *testing.T) {
	for _, c := range []struct {
		name, spec, who string
		in              cluster
		code            int32
		want            string
	}{
		{"no name comes first", "{priority: x}", "u", cluster{}, 422, "vmiName is missing"},
		{"priority before a missing VMI", "{vmiName: a, priority: user-triggered}", "u", cluster{}, 422, "priority"},
		{"the controller may set a priority", "{vmiName: a, priority: user-triggered}", ControllerAccount, cluster{}, 400,
			"does not exist"},
		{"missing VMI", "{vmiName: a}", "u", cluster{}, 400, `the VMI "default/a" does not exist`},
		{"final VMI before its conditions", "{vmiName: a}", "u", cluster{vmis: map[string]string{"a": `{status: {phase: Failed,
			conditions: [{type: LiveMigratable, status: "False", reason: R, message: M}]}}`}}, 400, "finalized"},
		{"not migratable before a conflict", "{vmiName: a}", "u", cluster{vmis: map[string]string{"a": `{status: {phase: Running,
			conditions: [{type: LiveMigratable, status: "False", reason: R, message: M}]}}`}, migrations: []string{"{}"}}, 400,
			"Cannot migrate VMI, Reason: R, Message: M"},
		{"conflict", "{vmiName: a}", "u", cluster{vmis: map[string]string{"a": running},
			migrations: []string{"{metadata: {uid: u1}, status: {phase: Scheduling}}"}}, 400,
			"in-flight migration detected. Active migration job (u1)"},
		{"a migration without a phase is in flight", "{vmiName: a}", "u", cluster{vmis: map[string]string{"a": running},
			migrations: []string{"{}"}}, 400, "in-flight"},
		{"gate", "{vmiName: a, sendTo: {migrationID: x}}", "u", cluster{vmis: map[string]string{"a": running}}, 400,
			decentralizedGate},
		{"different IDs", "{vmiName: a, sendTo: {migrationID: x}, receive: {migrationID: y}}", "u",
			cluster{vmis: map[string]string{"a": running}, gates: []string{decentralizedGate}}, 400, "must be equal"},
	} {
		m := object("{kind: V, spec: " + c.spec + "}")
		err := kubevirtAdmission{&c.in}.Validate(context.Background(),
			attributes("virtualmachineinstancemigrations", "", c.who, admission.Create, m, nil), nil)
		expect(t, c.name, err, c.code, `admission webhook "migration-create-validator.kubevirt.io" denied the request: `,
			c.want)
	}
}

func TestCreatingAMigrationIsAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		in   cluster
	}{
		"no condition at all": {"{vmiName: a}", cluster{vmis: map[string]string{"a": running}}},
		"old migrations are final": {"{vmiName: a}", cluster{vmis: map[string]string{"a": running},
			migrations: []string{"{status: {phase: Succeeded}}", "{status: {phase: Failed}}"}}},
		"a VMI that does not run yet": {"{vmiName: a}", cluster{vmis: map[string]string{"a": "{}"}}},
		"disks do not matter to a decentralised one": {"{vmiName: a, sendTo: {migrationID: x}}", cluster{
			gates: []string{decentralizedGate}, vmis: map[string]string{"a": `{status: {phase: Running, conditions: [
				{type: LiveMigratable, status: "False", reason: DisksNotLiveMigratable, message: M}]}}`}}},
	} {
		m := object("{spec: " + c.spec + "}")
		err := kubevirtAdmission{&c.in}.Validate(context.Background(),
			attributes("virtualmachineinstancemigrations", "", "u", admission.Create, m, nil), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCreatingAMigrationSetsLabelAndFinalizer(t *testing.T) {
	m := object("{spec: {vmiName: a}, metadata: {labels: {own: x}}}")
	for range 2 {
		err := kubevirtAdmission{}.Admit(context.Background(),
			attributes("virtualmachineinstancemigrations", "", "u", admission.Create, m, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	if m.GetLabels()[selectorLabel] != "a" || m.GetLabels()["own"] != "x" ||
		!slices.Equal(m.GetFinalizers(), []string{migrationGuard}) {
		t.Errorf("labels %v, finalizers %v", m.GetLabels(), m.GetFinalizers())
	}
}

func TestUpdates(t *testing.T) {
	const label = "{labels: {kubevirt.io/vmi-name: a}}"
	for _, c := range []struct {
		name, resource, sub, who, old, now, want string
	}{
		{"spec of a migration", "virtualmachineinstancemigrations", "", ControllerAccount, "{spec: {vmiName: a}}",
			"{spec: {vmiName: b}}", "spec is restricted"},
		{"its status", "virtualmachineinstancemigrations", "status", "u", "{}", "{status: {phase: Failed}}", ""},
		{"its label", "virtualmachineinstancemigrations", "", "u", "{metadata: " + label + "}",
			"{metadata: {labels: {kubevirt.io/vmi-name: b}}}", "can't be modified"},
		{"its label, removed", "virtualmachineinstancemigrations", "", "u", "{metadata: " + label + "}", "{}",
			"can't be removed"},
		{"the label of a final one", "virtualmachineinstancemigrations", "", "u", "{metadata: " + label + "}",
			"{status: {phase: Failed}}", ""},
		{"spec of a VMI by a user", "virtualmachineinstances", "", "u", "{spec: {a: 1}}", "{spec: {a: 2}}",
			"update of VMI object is restricted"},
		{"spec of a VMI by the controller", "virtualmachineinstances", "", ControllerAccount, "{spec: {a: 1}}",
			"{spec: {a: 2}}", ""},
		{"label of a VMI by a user", "virtualmachineinstances", "", "u", "{}",
			"{metadata: {labels: {kubevirt.io/nodeName: x}}}", "modification of kubevirt.io/ labels"},
		{"own label of a VMI by a user", "virtualmachineinstances", "", "u", "{}", "{metadata: {labels: {own: x}}}", ""},
		{"status of a VMI by a user", "virtualmachineinstances", "", "u", "{}", "{status: {a: 1}}", ""},
		{"VM with both strategies", "virtualmachines", "", "u", "{}", "{spec: {running: true, runStrategy: Always}}",
			"mutually exclusive"},
		{"VM", "virtualmachines", "", "u", "{}", "{spec: {runStrategy: Always}}", ""},
		{"volume request while migrating", "virtualmachines", "status", "u", "{}",
			"{metadata: {name: m}, spec: {runStrategy: Always}, status: {volumeRequests: [{a: 1}]}}", "in progress"},
		{"volume request at rest", "virtualmachines", "status", "u", "{}",
			"{metadata: {name: r}, spec: {runStrategy: Always}, status: {volumeRequests: [{a: 1}]}}", ""},
	} {
		in := &cluster{vmis: map[string]string{"m": "{status: {migrationState: {migrationUid: x}}}",
			"r": "{status: {migrationState: {completed: true}}}"}}
		err := kubevirtAdmission{in}.Validate(context.Background(),
			attributes(c.resource, c.sub, c.who, admission.Update, object(c.now), object(c.old)), nil)
		if c.want == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want != "" {
			expect(t, c.name, err, 0, "admission webhook", c.want)
		}
	}
}

func TestEvictingALauncherMarksItsVMI(t *testing.T) {
	pod := func(role string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default",
			Labels:      map[string]string{"kubevirt.io": role},
			Annotations: map[string]string{"kubevirt.io/domain": "a"}}, Spec: corev1.PodSpec{NodeName: "n1"}}
	}
	vmi := func(strategy, migratable, marked string) map[string]string {
		return map[string]string{"a": "{spec: {evictionStrategy: " + strategy + "}, status: {nodeName: n1, evacuationNodeName: '" +
			marked + "', conditions: [{type: LiveMigratable, status: '" + migratable + "'}]}}"}
	}
	for _, c := range []struct {
		name, want, marked string
		in                 cluster
	}{
		{"marked", "Eviction triggered evacuation", "n1", cluster{pod: pod("virt-launcher"), vmis: vmi("LiveMigrate", "True", "")}},
		{"marked before", "Evacuation in progress", "", cluster{pod: pod("virt-launcher"), vmis: vmi("External", "True", "n1")}},
		{"cannot", "not live-migratable", "", cluster{pod: pod("virt-launcher"), vmis: vmi("LiveMigrate", "False", "")}},
		{"if possible", "", "", cluster{pod: pod("virt-launcher"), vmis: vmi("LiveMigrateIfPossible", "False", "")}},
		{"no strategy", "", "", cluster{pod: pod("virt-launcher"), vmis: vmi("None", "True", "")}},
		{"attachment pod", "hotplug", "", cluster{pod: pod("hotplug-disk")}},
		{"other pod", "", "", cluster{pod: pod("")}},
	} {
		err := kubevirtAdmission{&c.in}.Validate(context.Background(),
			attributes("pods", "eviction", "u", admission.Create, &corev1.Pod{}, nil), nil)
		if c.want == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want != "" {
			expect(t, c.name, err, 0, evictionWebhook, c.want)
		}
		if c.in.marked != c.marked {
			t.Errorf("%s: marked %q, want %q", c.name, c.in.marked, c.marked)
		}
	}
}

func TestObjectsNeedTheirNamespace(t *testing.T) {
	a := admission.NewAttributesRecord(&corev1.Pod{}, nil, corev1.SchemeGroupVersion.WithKind("Pod"), "none", "p",
		corev1.SchemeGroupVersion.WithResource("pods"), "", admission.Create, nil, false, &user.DefaultInfo{})
	err := kubevirtAdmission{&cluster{}}.Validate(context.Background(), a, nil)
	expect(t, "pod in no namespace", err, 404, `namespaces "none" not found`)
}

// expect wants an API error with a code (0: any) and all texts.
func expect(t *testing.T, name string, err error, code int32, texts ...string) {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		t.Errorf("%s: %v is no API error", name, err)
		return
	}
	if code != 0 && status.Status().Code != code {
		t.Errorf("%s: code %d, want %d", name, status.Status().Code, code)
	}
	for _, text := range texts {
		if !strings.Contains(status.Status().Message, text) {
			t.Errorf("%s: %q does not say %q", name, status.Status().Message, text)
		}
	}
}
