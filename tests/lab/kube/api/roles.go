// SPDX-License-Identifier: LGPL-2.1-or-later

// The namespaces, roles and bindings that exist from the start. They are created once: what a test changes stays
// changed, also over a restart on the same data folder.

package api

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

var (
	read = []string{"get", "list", "watch"}
	all  = []string{"*"}

	everything = []rbacv1.PolicyRule{
		{Verbs: all, APIGroups: all, Resources: all},
		{Verbs: all, NonResourceURLs: all},
	}
	discoveryRules = []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez",
			"/readyz", "/openapi", "/openapi/*", "/version", "/version/"}},
		{Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"},
			Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}},
		{Verbs: []string{"create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}},
	}
	viewRules = []rbacv1.PolicyRule{
		{Verbs: read, APIGroups: []string{""}, Resources: []string{"pods", "pods/status", "persistentvolumeclaims", "services",
			"endpoints", "configmaps", "events", "resourcequotas", "limitranges", "namespaces"}},
		{Verbs: read, APIGroups: []string{"discovery.k8s.io", "apps", "batch", "policy"}, Resources: all},
		{Verbs: read, APIGroups: []string{"kubevirt.io"}, Resources: []string{"virtualmachines", "virtualmachineinstances",
			"virtualmachineinstancemigrations", "kubevirts"}},
		{Verbs: read, APIGroups: []string{"cdi.kubevirt.io"}, Resources: []string{"datavolumes"}},
	}
	clusterViewRules = []rbacv1.PolicyRule{
		{Verbs: read, APIGroups: []string{""}, Resources: []string{"nodes", "persistentvolumes", "namespaces"}},
		{Verbs: read, APIGroups: []string{"storage.k8s.io", "scheduling.k8s.io"}, Resources: all},
		{Verbs: read, APIGroups: []string{"migrations.kubevirt.io"}, Resources: []string{"migrationpolicies"}},
	}
	migrateRules = []rbacv1.PolicyRule{
		{Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"},
			APIGroups: []string{"kubevirt.io"}, Resources: []string{"virtualmachineinstancemigrations"}},
		{Verbs: []string{"update"}, APIGroups: []string{"subresources.kubevirt.io"}, Resources: []string{
			"virtualmachines/migrate", "virtualmachines/evacuate/cancel", "virtualmachineinstances/evacuate/cancel"}},
	}
	volumeRules = []rbacv1.PolicyRule{
		{Verbs: []string{"get", "list", "watch", "update", "patch"}, APIGroups: []string{"kubevirt.io"},
			Resources: []string{"virtualmachines"}},
		{Verbs: []string{"delete"}, APIGroups: []string{""}, Resources: []string{"pods"}},
	}
	policyRules = []rbacv1.PolicyRule{
		{Verbs: []string{"create", "update", "patch", "delete"}, APIGroups: []string{"migrations.kubevirt.io"},
			Resources: []string{"migrationpolicies"}},
		{Verbs: []string{"patch"}, APIGroups: []string{"kubevirt.io"}, Resources: []string{"virtualmachineinstances"}}, // to label them
	}
)

var initialNamespaces = []string{"default", "kube-system", "kubevirt", "cdi"}

// initialRoles are cluster roles. kubevirt.io:migrate carries the name that KubeVirt gives it.
var initialRoles = map[string][]rbacv1.PolicyRule{
	"cluster-admin":          everything,
	"system:discovery":       discoveryRules,
	"kvmig:view":             viewRules,
	"kvmig:cluster-view":     clusterViewRules,
	"kubevirt.io:migrate":    migrateRules,
	"kvmig:volume-migration": volumeRules,
	"kvmig:policy":           policyRules,
}

type binding struct{ role, kind, name string }

// initialBindings hold for the whole cluster. "nobody" has none; "tenant" has what its binding in one namespace gives.
var initialBindings = []binding{
	{"system:discovery", rbacv1.GroupKind, "system:authenticated"},
	{"cluster-admin", rbacv1.UserKind, ControllerAccount},
	{"cluster-admin", rbacv1.UserKind, HandlerAccount},
	{"kvmig:view", rbacv1.UserKind, "viewer"},
	{"kvmig:cluster-view", rbacv1.UserKind, "viewer"},
	{"kvmig:view", rbacv1.UserKind, "migrator"},
	{"kvmig:cluster-view", rbacv1.UserKind, "migrator"},
	{"kubevirt.io:migrate", rbacv1.UserKind, "migrator"},
	{"kvmig:volume-migration", rbacv1.UserKind, "migrator"},
	{"kvmig:policy", rbacv1.UserKind, "migrator"},
}

// tenantBindings hold in the namespace "default" only.
var tenantBindings = []binding{
	{"kvmig:view", rbacv1.UserKind, "tenant"},
	{"kubevirt.io:migrate", rbacv1.UserKind, "tenant"},
}

func (b binding) parts() (metav1.ObjectMeta, rbacv1.RoleRef, []rbacv1.Subject) {
	return metav1.ObjectMeta{Name: b.role + "." + b.name},
		rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: b.role},
		[]rbacv1.Subject{{Kind: b.kind, APIGroup: rbacv1.GroupName, Name: b.name}}
}

// createInitial fills a new server. It runs as the server's own superuser.
func createInitial(ctx context.Context, c kubernetes.Interface) error {
	create := metav1.CreateOptions{}
	ok := func(what string, err error) error {
		if err == nil || apierrors.IsAlreadyExists(err) {
			return nil
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	for _, name := range initialNamespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := c.CoreV1().Namespaces().Create(ctx, ns, create)
		if err := ok("namespace "+name, err); err != nil {
			return err
		}
	}
	for name, rules := range initialRoles {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
		_, err := c.RbacV1().ClusterRoles().Create(ctx, role, create)
		if err := ok("cluster role "+name, err); err != nil {
			return err
		}
	}
	for _, b := range initialBindings {
		m, ref, subjects := b.parts()
		_, err := c.RbacV1().ClusterRoleBindings().Create(ctx,
			&rbacv1.ClusterRoleBinding{ObjectMeta: m, RoleRef: ref, Subjects: subjects}, create)
		if err := ok("cluster role binding "+m.Name, err); err != nil {
			return err
		}
	}
	for _, b := range tenantBindings {
		m, ref, subjects := b.parts()
		_, err := c.RbacV1().RoleBindings("default").Create(ctx,
			&rbacv1.RoleBinding{ObjectMeta: m, RoleRef: ref, Subjects: subjects}, create)
		if err := ok("role binding "+m.Name, err); err != nil {
			return err
		}
	}
	return nil
}
