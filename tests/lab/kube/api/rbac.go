// SPDX-License-Identifier: LGPL-2.1-or-later

// The authorizer: role-based access control, evaluated from the roles and bindings that the server itself stores.
// system:masters may do everything.

package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// roleSource is where the roles and bindings come from.
type roleSource interface {
	ClusterRoleBindings(ctx context.Context) ([]rbacv1.ClusterRoleBinding, error)
	RoleBindings(ctx context.Context, namespace string) ([]rbacv1.RoleBinding, error)
	ClusterRole(ctx context.Context, name string) ([]rbacv1.PolicyRule, error)
	Role(ctx context.Context, namespace, name string) ([]rbacv1.PolicyRule, error)
}

type rbacAuthorizer struct{ source roleSource }

func (r rbacAuthorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	who := a.GetUser()
	if who == nil {
		return authorizer.DecisionNoOpinion, "nobody is logged in", nil
	}
	if slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) {
		return authorizer.DecisionAllow, "", nil
	}
	allowed := false
	errs := r.visit(ctx, who, a.GetNamespace(), func(rules []rbacv1.PolicyRule, by string) bool {
		allowed = slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool { return ruleAllows(rule, a) })
		return !allowed
	})
	if allowed {
		return authorizer.DecisionAllow, "", nil
	}
	reason := ""
	if len(errs) > 0 {
		reason = "RBAC: " + strings.Join(errs, "; ")
	}
	return authorizer.DecisionNoOpinion, reason, nil
}

// RulesFor serves SelfSubjectRulesReview.
func (r rbacAuthorizer) RulesFor(ctx context.Context, who user.Info, namespace string) ([]authorizer.ResourceRuleInfo,
	[]authorizer.NonResourceRuleInfo, bool, error) {
	resources, paths := []authorizer.ResourceRuleInfo{}, []authorizer.NonResourceRuleInfo{}
	add := func(rules []rbacv1.PolicyRule, _ string) bool {
		for _, rule := range rules {
			if len(rule.NonResourceURLs) > 0 {
				paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: rule.Verbs,
					NonResourceURLs: rule.NonResourceURLs})
				continue
			}
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{Verbs: rule.Verbs, APIGroups: rule.APIGroups,
				Resources: rule.Resources, ResourceNames: rule.ResourceNames})
		}
		return true
	}
	if slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) {
		add(everything, "")
	}
	errs := r.visit(ctx, who, namespace, add)
	return resources, paths, len(errs) > 0, nil
}

// visit calls seen with the rules of every role that is bound to the user, until it returns false. It returns what
// could not be read: a missing role gives no rights but does not take any.
func (r rbacAuthorizer) visit(ctx context.Context, who user.Info, namespace string,
	seen func(rules []rbacv1.PolicyRule, by string) bool) []string {
	errs := []string{}
	bindings, err := r.source.ClusterRoleBindings(ctx)
	if err != nil {
		errs = append(errs, err.Error())
	}
	for _, b := range bindings {
		if !appliesTo(b.Subjects, who, "") {
			continue
		}
		rules, err := r.source.ClusterRole(ctx, b.RoleRef.Name)
		if err != nil {
			errs = append(errs, err.Error())
		} else if !seen(rules, b.Name) {
			return nil
		}
	}
	if namespace == "" {
		return errs
	}
	local, err := r.source.RoleBindings(ctx, namespace)
	if err != nil {
		errs = append(errs, err.Error())
	}
	for _, b := range local {
		if !appliesTo(b.Subjects, who, namespace) {
			continue
		}
		rules, err := r.rulesOf(ctx, b.RoleRef, namespace)
		if err != nil {
			errs = append(errs, err.Error())
		} else if !seen(rules, b.Name) {
			return nil
		}
	}
	return errs
}

func (r rbacAuthorizer) rulesOf(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	switch ref.Kind {
	case "ClusterRole":
		return r.source.ClusterRole(ctx, ref.Name)
	case "Role":
		return r.source.Role(ctx, namespace, ref.Name)
	}
	return nil, fmt.Errorf("roleRef.kind %q is neither Role nor ClusterRole", ref.Kind)
}

func appliesTo(subjects []rbacv1.Subject, who user.Info, namespace string) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		switch s.Kind {
		case rbacv1.UserKind:
			return who.GetName() == s.Name
		case rbacv1.GroupKind:
			return slices.Contains(who.GetGroups(), s.Name)
		case rbacv1.ServiceAccountKind:
			in := s.Namespace
			if in == "" {
				in = namespace
			}
			return in != "" && serviceaccount.MatchesUsername(in, s.Name, who.GetName())
		}
		return false
	})
}

func ruleAllows(rule rbacv1.PolicyRule, a authorizer.Attributes) bool {
	if !has(rule.Verbs, a.GetVerb()) {
		return false
	}
	if !a.IsResourceRequest() {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool { return pathMatches(url, a.GetPath()) })
	}
	if !has(rule.APIGroups, a.GetAPIGroup()) || !resourceMatches(rule.Resources, a.GetResource(), subresourceOf(a)) {
		return false
	}
	return len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.GetName())
}

func has(list []string, want string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, want)
}

func resourceMatches(rules []string, name, sub string) bool {
	full := name
	if sub != "" {
		full = name + "/" + sub
	}
	return slices.ContainsFunc(rules, func(rule string) bool {
		return rule == "*" || rule == full || (sub != "" && rule == "*/"+sub)
	})
}

// subresourceOf also knows subresources of more than one path element, which KubeVirt has (evacuate/cancel).
func subresourceOf(a authorizer.Attributes) string {
	sub := a.GetSubresource()
	if sub == "evacuate" && strings.HasSuffix(a.GetPath(), "/evacuate/cancel") {
		return "evacuate/cancel"
	}
	return sub
}

func pathMatches(rule, path string) bool {
	if strings.HasSuffix(rule, "*") {
		return strings.HasPrefix(path, strings.TrimSuffix(rule, "*"))
	}
	return rule == path
}

// storedRoles reads from the server's own stores, through their watch caches.
type storedRoles struct{ stores stores }

// cached allows the answer to be some milliseconds old, as a real API server's informers are.
var cached = metav1.GetOptions{ResourceVersion: "0"}

func (s storedRoles) ClusterRoleBindings(ctx context.Context) ([]rbacv1.ClusterRoleBinding, error) {
	list, err := s.stores.list(ctx, "clusterrolebindings", "")
	if err != nil {
		return nil, err
	}
	return list.(*rbacv1.ClusterRoleBindingList).Items, nil
}

func (s storedRoles) RoleBindings(ctx context.Context, namespace string) ([]rbacv1.RoleBinding, error) {
	list, err := s.stores.list(ctx, "rolebindings", namespace)
	if err != nil {
		return nil, err
	}
	return list.(*rbacv1.RoleBindingList).Items, nil
}

func (s storedRoles) ClusterRole(ctx context.Context, name string) ([]rbacv1.PolicyRule, error) {
	obj, err := s.stores.get(ctx, "clusterroles", "", name)
	if err != nil {
		return nil, err
	}
	return obj.(*rbacv1.ClusterRole).Rules, nil
}

func (s storedRoles) Role(ctx context.Context, namespace, name string) ([]rbacv1.PolicyRule, error) {
	obj, err := s.stores.get(ctx, "roles", namespace, name)
	if err != nil {
		return nil, err
	}
	return obj.(*rbacv1.Role).Rules, nil
}
