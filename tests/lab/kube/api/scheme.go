// SPDX-License-Identifier: LGPL-2.1-or-later

// The kinds that the server serves without a CustomResourceDefinition, and the scheme that knows them.

package api

import (
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// storedKind is one kind with storage. A kind with a Status field gets a status subresource.
type storedKind struct {
	name, singular, kind string
	namespaced           bool
	shortNames           []string
}

type apiGroup struct {
	gv        schema.GroupVersion
	add       func(*runtime.Scheme) error
	resources []storedKind
}

const (
	clusterScoped = false
	inNamespace   = true
)

var groups = []apiGroup{
	{corev1.SchemeGroupVersion, corev1.AddToScheme, []storedKind{
		{"nodes", "node", "Node", clusterScoped, []string{"no"}},
		{"namespaces", "namespace", "Namespace", clusterScoped, []string{"ns"}},
		{"persistentvolumes", "persistentvolume", "PersistentVolume", clusterScoped, []string{"pv"}},
		{"pods", "pod", "Pod", inNamespace, []string{"po"}},
		{"persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", inNamespace, []string{"pvc"}},
		{"services", "service", "Service", inNamespace, []string{"svc"}},
		{"endpoints", "endpoints", "Endpoints", inNamespace, []string{"ep"}},
		{"configmaps", "configmap", "ConfigMap", inNamespace, []string{"cm"}},
		{"secrets", "secret", "Secret", inNamespace, nil},
		{"serviceaccounts", "serviceaccount", "ServiceAccount", inNamespace, []string{"sa"}},
		{"events", "event", "Event", inNamespace, []string{"ev"}},
		{"resourcequotas", "resourcequota", "ResourceQuota", inNamespace, []string{"quota"}},
		{"limitranges", "limitrange", "LimitRange", inNamespace, []string{"limits"}}}},
	{appsv1.SchemeGroupVersion, appsv1.AddToScheme, []storedKind{
		{"controllerrevisions", "controllerrevision", "ControllerRevision", inNamespace, nil},
		{"daemonsets", "daemonset", "DaemonSet", inNamespace, []string{"ds"}},
		{"deployments", "deployment", "Deployment", inNamespace, []string{"deploy"}},
		{"replicasets", "replicaset", "ReplicaSet", inNamespace, []string{"rs"}},
		{"statefulsets", "statefulset", "StatefulSet", inNamespace, []string{"sts"}}}},
	{batchv1.SchemeGroupVersion, batchv1.AddToScheme, []storedKind{{"jobs", "job", "Job", inNamespace, nil}}},
	{policyv1.SchemeGroupVersion, policyv1.AddToScheme, []storedKind{
		{"poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", inNamespace, []string{"pdb"}}}},
	{storagev1.SchemeGroupVersion, storagev1.AddToScheme, []storedKind{
		{"storageclasses", "storageclass", "StorageClass", clusterScoped, []string{"sc"}},
		{"volumeattachments", "volumeattachment", "VolumeAttachment", clusterScoped, nil},
		{"csidrivers", "csidriver", "CSIDriver", clusterScoped, nil}}},
	{coordinationv1.SchemeGroupVersion, coordinationv1.AddToScheme, []storedKind{
		{"leases", "lease", "Lease", inNamespace, nil}}},
	{discoveryv1.SchemeGroupVersion, discoveryv1.AddToScheme, []storedKind{
		{"endpointslices", "endpointslice", "EndpointSlice", inNamespace, nil}}},
	{eventsv1.SchemeGroupVersion, eventsv1.AddToScheme, []storedKind{
		{"events", "event", "Event", inNamespace, []string{"ev"}}}},
	{networkingv1.SchemeGroupVersion, networkingv1.AddToScheme, []storedKind{
		{"networkpolicies", "networkpolicy", "NetworkPolicy", inNamespace, []string{"netpol"}},
		{"ingresses", "ingress", "Ingress", inNamespace, []string{"ing"}}}},
	{schedulingv1.SchemeGroupVersion, schedulingv1.AddToScheme, []storedKind{
		{"priorityclasses", "priorityclass", "PriorityClass", clusterScoped, []string{"pc"}}}},
	{rbacv1.SchemeGroupVersion, rbacv1.AddToScheme, []storedKind{
		{"clusterroles", "clusterrole", "ClusterRole", clusterScoped, nil},
		{"clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", clusterScoped, nil},
		{"roles", "role", "Role", inNamespace, nil},
		{"rolebindings", "rolebinding", "RoleBinding", inNamespace, nil}}},
	{authorizationv1.SchemeGroupVersion, authorizationv1.AddToScheme, nil},
	{authenticationv1.SchemeGroupVersion, authenticationv1.AddToScheme, nil},
}

var (
	scheme = runtime.NewScheme()
	codecs = serializer.NewCodecFactory(scheme)
)

// The generic registry wants an internal version of every type: the v1 types serve as their own.
func init() {
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, g := range groups {
		utilruntime.Must(g.add(scheme))
		internal := schema.GroupVersion{Group: g.gv.Group, Version: runtime.APIVersionInternal}
		for kind, t := range scheme.KnownTypes(g.gv) {
			if t.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1" {
				continue
			}
			obj, err := scheme.New(g.gv.WithKind(kind))
			utilruntime.Must(err)
			scheme.AddKnownTypeWithName(internal.WithKind(kind), obj)
		}
		utilruntime.Must(scheme.SetVersionPriority(g.gv))
	}
}

func groupVersions() []schema.GroupVersion {
	gvs := make([]schema.GroupVersion, 0, len(groups))
	for _, g := range groups {
		gvs = append(gvs, g.gv)
	}
	return gvs
}

// definitions adds a bare schema for every registered type: the server refuses to start without one.
func definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	d := openapi.GetOpenAPIDefinitions(ref)
	for gvk, t := range scheme.AllKnownTypes() {
		full := t.PkgPath() + "." + t.Name()
		for _, n := range []string{full, util.ToRESTFriendlyName(full)} {
			if _, ok := d[n]; !ok {
				d[n] = common.OpenAPIDefinition{Schema: spec.Schema{SchemaProps: spec.SchemaProps{
					Type: []string{"object"}, Description: gvk.Kind}}}
			}
		}
	}
	return d
}
