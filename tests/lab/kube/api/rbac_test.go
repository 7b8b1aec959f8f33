// SPDX-License-Identifier: LGPL-2.1-or-later

package api

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// fixedRoles are roles and bindings that do not change.
type fixedRoles struct {
	cluster, local []binding
	roles          map[string][]rbacv1.PolicyRule
}

func (f fixedRoles) ClusterRoleBindings(context.Context) ([]rbacv1.ClusterRoleBinding, error) {
	out := []rbacv1.ClusterRoleBinding{}
	for _, b := range f.cluster {
		m, ref, subjects := b.parts()
		out = append(out, rbacv1.ClusterRoleBinding{ObjectMeta: m, RoleRef: ref, Subjects: subjects})
	}
	return out, nil
}

func (f fixedRoles) RoleBindings(_ context.Context, namespace string) ([]rbacv1.RoleBinding, error) {
	out := []rbacv1.RoleBinding{}
	for _, b := range f.local {
		if namespace != "default" {
			break
		}
		m, ref, subjects := b.parts()
		out = append(out, rbacv1.RoleBinding{ObjectMeta: m, RoleRef: ref, Subjects: subjects})
	}
	return out, nil
}

func (f fixedRoles) ClusterRole(_ context.Context, name string) ([]rbacv1.PolicyRule, error) {
	if rules, ok := f.roles[name]; ok {
		return rules, nil
	}
	return nil, fmt.Errorf("no role %q", name)
}

func (f fixedRoles) Role(ctx context.Context, _, name string) ([]rbacv1.PolicyRule, error) {
	return f.ClusterRole(ctx, name)
}

func ask(text string) authorizer.AttributesRecord {
	a := authorizer.AttributesRecord{ResourceRequest: true}
	parts := make([]any, 0)
	for _, p := range []*string{&a.Verb, &a.APIGroup, &a.Resource, &a.Namespace, &a.Name} {
		*p = "-"
		parts = append(parts, p)
	}
	fmt.Sscan(text, parts...)
	for _, p := range []*string{&a.Verb, &a.APIGroup, &a.Resource, &a.Namespace, &a.Name} {
		if *p == "-" {
			*p = ""
		}
	}
	return a
}

func TestTheBuiltinRolesGiveEachUserItsRights(t *testing.T) {
	az := rbacAuthorizer{fixedRoles{initialBindings, tenantBindings, initialRoles}}
	for _, c := range []struct {
		who, what string
		want      bool
	}{
		{"migrator", "create kubevirt.io virtualmachineinstancemigrations default", true},
		{"migrator", "patch kubevirt.io virtualmachines default vm1", true},
		{"migrator", "patch kubevirt.io virtualmachineinstances default vm1", true}, // to label them
		{"migrator", "update kubevirt.io virtualmachineinstances default vm1", false},
		{"migrator", "delete kubevirt.io virtualmachineinstances default vm1", false},
		{"migrator", "list - secrets default", false},
		{"migrator", "create migrations.kubevirt.io migrationpolicies", true},
		{"viewer", "list - pods", true},
		{"viewer", "watch - nodes", true},
		{"viewer", "create kubevirt.io virtualmachineinstancemigrations default", false},
		{"tenant", "list - pods default", true},
		{"tenant", "list - pods kubevirt", false},
		{"tenant", "list - pods", false},
		{"tenant", "list - nodes", false},
		{"tenant", "create kubevirt.io virtualmachineinstancemigrations default", true},
		{"nobody", "list - pods default", false},
		{"nobody", "create authorization.k8s.io selfsubjectaccessreviews", true},
		{ControllerAccount, "delete - pods default x", true},
	} {
		a := ask(c.what)
		a.User = &user.DefaultInfo{Name: c.who, Groups: []string{user.AllAuthenticated}}
		decision, _, err := az.Authorize(context.Background(), a)
		if err != nil || (decision == authorizer.DecisionAllow) != c.want {
			t.Errorf("%s may %s: %v (%v), want %v", c.who, c.what, decision, err, c.want)
		}
	}
}

func TestSystemMastersMayDoEverythingAndStrangersNothing(t *testing.T) {
	az := rbacAuthorizer{fixedRoles{}}
	a := authorizer.AttributesRecord{Verb: "post", Path: compactPath,
		User: &user.DefaultInfo{Name: "x", Groups: []string{user.SystemPrivilegedGroup}}}
	if d, _, _ := az.Authorize(context.Background(), a); d != authorizer.DecisionAllow {
		t.Errorf("a superuser was refused")
	}
	a.User = &user.DefaultInfo{Name: "x"}
	if d, _, _ := az.Authorize(context.Background(), a); d == authorizer.DecisionAllow {
		t.Errorf("a stranger was let in")
	}
}

func TestRules(t *testing.T) {
	rule := func(resources, names []string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{"get", "update"}, APIGroups: []string{"g"}, Resources: resources,
			ResourceNames: names}
	}
	a := authorizer.AttributesRecord{ResourceRequest: true, Verb: "update", APIGroup: "g", Resource: "vmis", Name: "n"}
	status, evacuate := a, a
	status.Subresource = "status"
	evacuate.Subresource, evacuate.Path = "evacuate", "/apis/g/v1/namespaces/d/vmis/n/evacuate/cancel"
	for _, c := range []struct {
		name string
		rule rbacv1.PolicyRule
		a    authorizer.AttributesRecord
		want bool
	}{
		{"resource", rule([]string{"vmis"}, nil), a, true},
		{"other resource", rule([]string{"vms"}, nil), a, false},
		{"a resource does not give its subresources", rule([]string{"vmis"}, nil), status, false},
		{"subresource", rule([]string{"vmis/status"}, nil), status, true},
		{"subresource of all", rule([]string{"*/status"}, nil), status, true},
		{"star", rule([]string{"*"}, nil), status, true},
		{"name", rule([]string{"vmis"}, []string{"n"}), a, true},
		{"other name", rule([]string{"vmis"}, []string{"m"}), a, false},
		{"subresource of two parts", rule([]string{"vmis/evacuate/cancel"}, nil), evacuate, true},
		{"path rule for a resource", rbacv1.PolicyRule{Verbs: all, NonResourceURLs: all}, a, false},
	} {
		if got := ruleAllows(c.rule, c.a); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	path := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/apis/*", "/version"}}
	for url, want := range map[string]bool{"/apis/x/y": true, "/version": true, "/version/x": false, "/metrics": false} {
		if got := ruleAllows(path, authorizer.AttributesRecord{Verb: "get", Path: url}); got != want {
			t.Errorf("path %s: %v, want %v", url, got, want)
		}
	}
}

func TestServiceAccountsAreSubjects(t *testing.T) {
	who := &user.DefaultInfo{Name: "system:serviceaccount:ns:sa"}
	for _, c := range []struct {
		subject   rbacv1.Subject
		namespace string
		want      bool
	}{
		{rbacv1.Subject{Kind: "ServiceAccount", Namespace: "ns", Name: "sa"}, "", true},
		{rbacv1.Subject{Kind: "ServiceAccount", Name: "sa"}, "ns", true},
		{rbacv1.Subject{Kind: "ServiceAccount", Name: "sa"}, "", false},
		{rbacv1.Subject{Kind: "ServiceAccount", Namespace: "other", Name: "sa"}, "ns", false},
		{rbacv1.Subject{Kind: "Group", Name: "sa"}, "ns", false},
	} {
		if got := appliesTo([]rbacv1.Subject{c.subject}, who, c.namespace); got != c.want {
			t.Errorf("%v in %q: %v, want %v", c.subject, c.namespace, got, c.want)
		}
	}
}
