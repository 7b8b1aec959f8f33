// SPDX-License-Identifier: LGPL-2.1-or-later

package api

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// data is the folder of the one server that all tests of this file share.
var data string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

// runTests starts the server, runs the tests, and wants a clean end.
func runTests(m *testing.M) int {
	var err error
	if data, err = os.MkdirTemp("", "kube"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(data)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ready, done := make(chan struct{}), make(chan error, 1)
	o := Options{Data: data, WatchCache: true, CRDs: os.DirFS("../crds"), Ready: func(string) { close(ready) },
		Users: []User{{Name: "extra", Groups: []string{"team"}, file: "extra"}}}
	go func() { done <- Run(ctx, o) }()
	code := 1
	select {
	case <-ready:
		code = m.Run()
	case err := <-done:
		fmt.Fprintln(os.Stderr, "the server did not start:", err)
		return 1
	}
	stop()
	if err := <-done; err != nil {
		fmt.Fprintln(os.Stderr, "the server ended with:", err)
		return 1
	}
	return code
}

func config(t *testing.T, user string) *rest.Config {
	t.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", filepath.Join(data, user+".kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func as(t *testing.T, user string) (kubernetes.Interface, dynamic.Interface) {
	t.Helper()
	return kubernetes.NewForConfigOrDie(config(t, user)), dynamic.NewForConfigOrDie(config(t, user))
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}}}}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// need ends a test that cannot go on.
func need[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestStatusIsWrittenByItsSubresourceOnly(t *testing.T) {
	k, _ := as(t, "admin")
	pods, ctx := k.CoreV1().Pods("default"), within(t)
	pod := newPod("status")
	pod.Status.Phase = corev1.PodRunning
	pod = need[*corev1.Pod](t)(pods.Create(ctx, pod, metav1.CreateOptions{}))
	if pod.Status.Phase != corev1.PodPending || pod.Spec.SchedulerName == "" || len(pod.Spec.Volumes) != 1 {
		t.Errorf("after create: %s %q %v", pod.Status.Phase, pod.Spec.SchedulerName, pod.Spec.Volumes)
	}
	pod.Status.Phase, pod.Spec.NodeName = corev1.PodRunning, "n1"
	pod = need[*corev1.Pod](t)(pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}))
	if pod.Status.Phase != corev1.PodRunning || pod.Spec.NodeName != "" {
		t.Errorf("after a write to the status: %s on %q", pod.Status.Phase, pod.Spec.NodeName)
	}
	pod.Status.Phase, pod.Labels = corev1.PodFailed, map[string]string{"a": "b"}
	pod = need[*corev1.Pod](t)(pods.Update(ctx, pod, metav1.UpdateOptions{}))
	if pod.Status.Phase != corev1.PodRunning || pod.Labels["a"] != "b" {
		t.Errorf("after a write to the pod: %s %v", pod.Status.Phase, pod.Labels)
	}
	err := pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "status"},
		Target: corev1.ObjectReference{Kind: "Node", Name: "n2"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list := need[*corev1.PodList](t)(pods.List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=n2"}))
	if len(list.Items) != 1 {
		t.Errorf("%d pods on the node", len(list.Items))
	}
	if err := pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "status"},
		Target: corev1.ObjectReference{Name: "n3"}}, metav1.CreateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a second binding: %v", err)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	k, _ := as(t, "admin")
	pods, ctx := k.CoreV1().Pods("default"), within(t)
	dry := []string{metav1.DryRunAll}
	need[*corev1.Pod](t)(pods.Create(ctx, newPod("dry"), metav1.CreateOptions{DryRun: dry}))
	if _, err := pods.Get(ctx, "dry", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the pod of a dry run: %v", err)
	}
	need[*corev1.Pod](t)(pods.Create(ctx, newPod("dry"), metav1.CreateOptions{}))
	if err := pods.Delete(ctx, "dry", metav1.DeleteOptions{DryRun: dry}); err != nil {
		t.Error(err)
	}
	need[*corev1.Pod](t)(pods.Get(ctx, "dry", metav1.GetOptions{}))
}

func TestFinalizersHoldADeletion(t *testing.T) {
	k, _ := as(t, "admin")
	pods, ctx := k.CoreV1().Pods("default"), within(t)
	pod := newPod("held")
	pod.Finalizers = []string{"a.b/c"}
	need[*corev1.Pod](t)(pods.Create(ctx, pod, metav1.CreateOptions{}))
	if err := pods.Delete(ctx, "held", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	pod = need[*corev1.Pod](t)(pods.Get(ctx, "held", metav1.GetOptions{}))
	if pod.DeletionTimestamp == nil {
		t.Error("no deletionTimestamp")
	}
	need[*corev1.Pod](t)(pods.Patch(ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
		metav1.PatchOptions{}))
	if _, err := pods.Get(ctx, "held", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its last finalizer: %v", err)
	}
}

func TestUsersSeeWhatTheirRolesAllow(t *testing.T) {
	ctx := within(t)
	nobody, _ := as(t, "nobody")
	if _, err := nobody.CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("nobody lists pods: %v", err)
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods", Namespace: "default"}}}
	for who, want := range map[string]bool{"nobody": false, "viewer": true, "tenant": true, "extra": false, "admin": true} {
		k, _ := as(t, who)
		got, err := k.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil || got.Status.Allowed != want {
			t.Errorf("%s may list pods: %v %v", who, got.Status.Allowed, err)
		}
	}
	c := config(t, "nobody")
	c.BearerToken = "wrong"
	_, err := kubernetes.NewForConfigOrDie(c).CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Errorf("a wrong token: %v", err)
	}
}

func TestARoleBindingTakesEffect(t *testing.T) {
	ctx := within(t)
	admin, _ := as(t, "admin")
	extra, _ := as(t, "extra")
	m, ref, subjects := binding{"kvmig:view", "Group", "team"}.parts()
	b := &rbacv1.RoleBinding{ObjectMeta: m, RoleRef: ref, Subjects: subjects}
	if _, err := admin.RbacV1().RoleBindings("default").Create(ctx, b, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for {
		_, err := extra.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

func vmi(name string, status map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"evictionStrategy": "LiveMigrate"}, "status": status}}
}

func TestAMigrationFromCreateToDelete(t *testing.T) {
	ctx := within(t)
	_, controller := as(t, "kubevirt-controller")
	_, user := as(t, "migrator")
	vmis, own := controller.Resource(vmiResource).Namespace("default"), controller.Resource(migrationResource).Namespace("default")
	migrations := user.Resource(migrationResource).Namespace("default")
	need[*unstructured.Unstructured](t)(vmis.Create(ctx, vmi("life", map[string]any{"phase": "Running"}), metav1.CreateOptions{}))
	m := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kubevirt.io/v1",
		"kind": "VirtualMachineInstanceMigration", "metadata": map[string]any{"generateName": "m-"},
		"spec": map[string]any{"vmiName": "life"}}}
	tried := need[*unstructured.Unstructured](t)(migrations.Create(ctx, m, metav1.CreateOptions{DryRun: []string{"All"}}))
	if tried.GetLabels()[selectorLabel] != "life" {
		t.Errorf("dry run: %v", tried.Object)
	}
	made := need[*unstructured.Unstructured](t)(migrations.Create(ctx, m, metav1.CreateOptions{}))
	_, err := migrations.Create(ctx, m, metav1.CreateOptions{DryRun: []string{"All"}})
	expect(t, "a second one", err, 400, "in-flight migration detected", string(made.GetUID()))
	if err := migrations.Delete(ctx, made.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	now := need[*unstructured.Unstructured](t)(migrations.Get(ctx, made.GetName(), metav1.GetOptions{}))
	now.Object["status"] = map[string]any{"phase": "Failed"}
	now = need[*unstructured.Unstructured](t)(own.UpdateStatus(ctx, now, metav1.UpdateOptions{}))
	now.SetFinalizers(nil)
	need[*unstructured.Unstructured](t)(own.Update(ctx, now, metav1.UpdateOptions{}))
	if _, err := own.Get(ctx, made.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its finalizer: %v", err)
	}
}

func TestEvictionMarksAndCancelUnmarks(t *testing.T) {
	ctx := within(t)
	k, _ := as(t, "admin")
	_, controller := as(t, "kubevirt-controller")
	migrator, _ := as(t, "migrator")
	viewer, _ := as(t, "viewer")
	vmis := controller.Resource(vmiResource).Namespace("default")
	status := map[string]any{"phase": "Running", "nodeName": "n1", "conditions": []any{
		map[string]any{"type": "LiveMigratable", "status": "True"}}}
	need[*unstructured.Unstructured](t)(vmis.Create(ctx, vmi("evicted", status), metav1.CreateOptions{}))
	pod := newPod("launcher")
	pod.Labels, pod.Spec.NodeName = map[string]string{"kubevirt.io": "virt-launcher"}, "n1"
	pod.Annotations = map[string]string{"kubevirt.io/domain": "evicted"}
	need[*corev1.Pod](t)(k.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}))
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "launcher"}}
	err := k.CoreV1().Pods("default").EvictV1(ctx, eviction)
	expect(t, "the eviction", err, 429, evictionWebhook, "Eviction triggered evacuation of VMI \"default/evicted\"")
	marked := func() string {
		v := need[*unstructured.Unstructured](t)(vmis.Get(ctx, "evicted", metav1.GetOptions{}))
		return text(v.Object, "status", "evacuationNodeName")
	}
	if marked() != "n1" {
		t.Errorf("marked for %q", marked())
	}
	path := subresourceRoot + "/namespaces/default/virtualmachineinstances/evicted/evacuate/cancel"
	cancel := func(k kubernetes.Interface, body string) error {
		return k.CoreV1().RESTClient().Put().AbsPath(path).Body([]byte(body)).Do(ctx).Error()
	}
	if err := cancel(viewer, "{}"); !apierrors.IsForbidden(err) {
		t.Errorf("cancel by a viewer: %v", err)
	}
	for body, want := range map[string]string{`{"dryRun":["All"]}`: "n1", `{"evacuationNodeName":"other"}`: "n1"} {
		if err := cancel(migrator, body); err != nil || marked() != want {
			t.Errorf("cancel with %s: %v, marked for %q", body, err, marked())
		}
	}
	if err := cancel(migrator, "{}"); err != nil || marked() != "" {
		t.Errorf("cancel: %v, marked for %q", err, marked())
	}
}

func TestCompactionEndsOldPagesAndWatches(t *testing.T) {
	ctx := within(t)
	k, d := as(t, "admin")
	maps := k.CoreV1().ConfigMaps("default")
	for i := range 5 {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m" + strconv.Itoa(i)}}
		need[*corev1.ConfigMap](t)(maps.Create(ctx, m, metav1.CreateOptions{}))
	}
	first := need[*corev1.ConfigMapList](t)(maps.List(ctx, metav1.ListOptions{Limit: 2}))
	if len(first.Items) != 2 || first.Continue == "" {
		t.Fatalf("%d items, continue %q", len(first.Items), first.Continue)
	}
	second := need[*corev1.ConfigMapList](t)(maps.List(ctx, metav1.ListOptions{Limit: 2, Continue: first.Continue}))
	if second.Items[0].Name == first.Items[0].Name || second.ResourceVersion != first.ResourceVersion {
		t.Errorf("second page %s at %s, first at %s", second.Items[0].Name, second.ResourceVersion, first.ResourceVersion)
	}
	need[*corev1.ConfigMap](t)(maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}},
		metav1.CreateOptions{}))
	if err := k.CoreV1().RESTClient().Post().AbsPath(compactPath).Do(ctx).Error(); err != nil {
		t.Fatal(err)
	}
	_, err := maps.List(ctx, metav1.ListOptions{Limit: 2, Continue: first.Continue})
	if !apierrors.IsResourceExpired(err) {
		t.Fatalf("an old page: %v", err)
	}
	token := err.(apierrors.APIStatus).Status().ListMeta.Continue
	if token == "" {
		t.Error("no token to go on at the newest revision")
	}
	need[*corev1.ConfigMapList](t)(maps.List(ctx, metav1.ListOptions{Limit: 2, Continue: token}))
	old := metav1.ListOptions{ResourceVersion: first.ResourceVersion}
	expired(t, need[watch.Interface](t)(maps.Watch(ctx, old)))
	expired(t, need[watch.Interface](t)(d.Resource(vmiResource).Watch(ctx, old)))
}

// expired wants the error 410 as the only event.
func expired(t *testing.T, w watch.Interface) {
	t.Helper()
	defer w.Stop()
	e, ok := <-w.ResultChan()
	if !ok || e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
		t.Errorf("an old watch: %+v", e)
	}
}

func TestAWatchGetsABookmarkBeforeItEnds(t *testing.T) {
	ctx := within(t)
	k, _ := as(t, "admin")
	list := need[*corev1.PodList](t)(k.CoreV1().Pods("default").List(ctx, metav1.ListOptions{}))
	// A bookmark tells of newer revisions only, and comes two seconds before the end.
	need[*corev1.ConfigMap](t)(k.CoreV1().ConfigMaps("default").Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "newer"}}, metav1.CreateOptions{}))
	seconds := int64(6)
	w := need[watch.Interface](t)(k.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{AllowWatchBookmarks: true,
		ResourceVersion: list.ResourceVersion, TimeoutSeconds: &seconds}))
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == watch.Bookmark && e.Object.(*corev1.Pod).ResourceVersion != list.ResourceVersion {
			return
		}
	}
	t.Error("no bookmark")
}

func TestDiscoveryNamesEveryGroup(t *testing.T) {
	k, _ := as(t, "nobody")
	groups := need[*metav1.APIGroupList](t)(k.Discovery().ServerGroups())
	for _, want := range []schema.GroupVersion{{Version: "v1"}, {Group: "kubevirt.io", Version: "v1"},
		{Group: "cdi.kubevirt.io", Version: "v1beta1"}, {Group: "migrations.kubevirt.io", Version: "v1alpha1"},
		{Group: subresourceGroup, Version: "v1"}, {Group: "authorization.k8s.io", Version: "v1"}} {
		found := false
		for _, g := range groups.Groups {
			found = found || (g.Name == want.Group && g.PreferredVersion.Version == want.Version)
		}
		if !found {
			t.Errorf("%s is not listed as preferred", want)
		}
	}
}
