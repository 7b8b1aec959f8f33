// SPDX-License-Identifier: LGPL-2.1-or-later

// authorization.k8s.io and authentication.k8s.io: reviews that are answered, not stored.

package api

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// reviewREST serves create for one kind of review.
type reviewREST struct {
	singular string
	scoped   bool
	fresh    func() runtime.Object
	answer   func(ctx context.Context, obj runtime.Object) error
}

func (r reviewREST) New() runtime.Object     { return r.fresh() }
func (r reviewREST) Destroy()                {}
func (r reviewREST) NamespaceScoped() bool   { return r.scoped }
func (r reviewREST) GetSingularName() string { return r.singular }

func (r reviewREST) Create(ctx context.Context, obj runtime.Object, check rest.ValidateObjectFunc,
	_ *metav1.CreateOptions) (runtime.Object, error) {
	if check != nil {
		if err := check(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	return obj, r.answer(ctx, obj)
}

// reviews returns the storage of both groups, by group and resource.
func reviews(az rbacAuthorizer) map[string]map[string]rest.Storage {
	return map[string]map[string]rest.Storage{
		authorizationv1.GroupName: {
			"selfsubjectaccessreviews": reviewREST{"selfsubjectaccessreview", clusterScoped,
				func() runtime.Object { return &authorizationv1.SelfSubjectAccessReview{} }, az.reviewSelf},
			"subjectaccessreviews": reviewREST{"subjectaccessreview", clusterScoped,
				func() runtime.Object { return &authorizationv1.SubjectAccessReview{} }, az.reviewSubject},
			"localsubjectaccessreviews": reviewREST{"localsubjectaccessreview", inNamespace,
				func() runtime.Object { return &authorizationv1.LocalSubjectAccessReview{} }, az.reviewLocal},
			"selfsubjectrulesreviews": reviewREST{"selfsubjectrulesreview", clusterScoped,
				func() runtime.Object { return &authorizationv1.SelfSubjectRulesReview{} }, az.reviewRules},
		},
		authenticationv1.GroupName: {
			"selfsubjectreviews": reviewREST{"selfsubjectreview", clusterScoped,
				func() runtime.Object { return &authenticationv1.SelfSubjectReview{} }, reviewWho},
		},
	}
}

func (r rbacAuthorizer) reviewSelf(ctx context.Context, obj runtime.Object) error {
	review := obj.(*authorizationv1.SelfSubjectAccessReview)
	who, ok := request.UserFrom(ctx)
	if !ok {
		return apierrors.NewBadRequest("no user of the request")
	}
	var err error
	review.Status, err = r.decide(ctx, who, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	return err
}

func (r rbacAuthorizer) reviewSubject(ctx context.Context, obj runtime.Object) error {
	review := obj.(*authorizationv1.SubjectAccessReview)
	var err error
	review.Status, err = r.decide(ctx, subject(review.Spec), review.Spec.ResourceAttributes,
		review.Spec.NonResourceAttributes)
	return err
}

func (r rbacAuthorizer) reviewLocal(ctx context.Context, obj runtime.Object) error {
	review := obj.(*authorizationv1.LocalSubjectAccessReview)
	if a := review.Spec.ResourceAttributes; a == nil || a.Namespace != request.NamespaceValue(ctx) {
		return apierrors.NewBadRequest("spec.resourceAttributes.namespace must be the namespace of the request")
	}
	var err error
	review.Status, err = r.decide(ctx, subject(review.Spec), review.Spec.ResourceAttributes, nil)
	return err
}

func subject(spec authorizationv1.SubjectAccessReviewSpec) user.Info {
	return &user.DefaultInfo{Name: spec.User, UID: spec.UID, Groups: spec.Groups}
}

func (r rbacAuthorizer) decide(ctx context.Context, who user.Info, res *authorizationv1.ResourceAttributes,
	path *authorizationv1.NonResourceAttributes) (authorizationv1.SubjectAccessReviewStatus, error) {
	status := authorizationv1.SubjectAccessReviewStatus{}
	a := authorizer.AttributesRecord{User: who}
	switch {
	case res != nil && path == nil:
		a.ResourceRequest, a.Verb, a.Namespace, a.Name = true, res.Verb, res.Namespace, res.Name
		a.APIGroup, a.APIVersion, a.Resource, a.Subresource = res.Group, res.Version, res.Resource, res.Subresource
	case res == nil && path != nil:
		a.Verb, a.Path = path.Verb, path.Path
	default:
		return status, apierrors.NewBadRequest(
			"exactly one of spec.resourceAttributes and spec.nonResourceAttributes must be set")
	}
	decision, reason, err := r.Authorize(ctx, a)
	status.Allowed, status.Denied, status.Reason = decision == authorizer.DecisionAllow, decision == authorizer.DecisionDeny, reason
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return status, nil
}

func (r rbacAuthorizer) reviewRules(ctx context.Context, obj runtime.Object) error {
	review := obj.(*authorizationv1.SelfSubjectRulesReview)
	who, ok := request.UserFrom(ctx)
	if !ok || review.Spec.Namespace == "" {
		return apierrors.NewBadRequest("spec.namespace is required")
	}
	resources, paths, incomplete, err := r.RulesFor(ctx, who, review.Spec.Namespace)
	if err != nil {
		return err
	}
	review.Status = authorizationv1.SubjectRulesReviewStatus{Incomplete: incomplete,
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}}
	for _, x := range resources {
		review.Status.ResourceRules = append(review.Status.ResourceRules, authorizationv1.ResourceRule{Verbs: x.GetVerbs(),
			APIGroups: x.GetAPIGroups(), Resources: x.GetResources(), ResourceNames: x.GetResourceNames()})
	}
	for _, x := range paths {
		review.Status.NonResourceRules = append(review.Status.NonResourceRules, authorizationv1.NonResourceRule{
			Verbs: x.GetVerbs(), NonResourceURLs: x.GetNonResourceURLs()})
	}
	return nil
}

func reviewWho(ctx context.Context, obj runtime.Object) error {
	who, ok := request.UserFrom(ctx)
	if !ok {
		return apierrors.NewBadRequest("no user of the request")
	}
	extra := map[string]authenticationv1.ExtraValue{}
	for k, v := range who.GetExtra() {
		extra[k] = v
	}
	obj.(*authenticationv1.SelfSubjectReview).Status.UserInfo = authenticationv1.UserInfo{Username: who.GetName(),
		UID: who.GetUID(), Groups: who.GetGroups(), Extra: extra}
	return nil
}
