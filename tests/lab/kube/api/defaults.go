// SPDX-License-Identifier: LGPL-2.1-or-later

// What a real API server fills into the built-in kinds that matter here, and the few checks without which objects
// would make no sense. Nothing else is defaulted or validated.

package api

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage/names"
)

// setInitialStatus is what create makes of the status: it is not the client's to set, but for nodes.
func setInitialStatus(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qosClass(&o.Spec)}
	case *corev1.PersistentVolumeClaim:
		o.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	case *corev1.PersistentVolume:
		o.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending}
	case *corev1.Namespace:
		o.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	case *corev1.ResourceQuota:
		o.Status = corev1.ResourceQuotaStatus{}
	case *corev1.Service:
		o.Status = corev1.ServiceStatus{}
	}
}

// setDefaults may run many times on one object.
func setDefaults(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Pod:
		defaultPod(&o.Spec)
	case *corev1.Node:
		if o.Status.Allocatable == nil {
			o.Status.Allocatable = o.Status.Capacity.DeepCopy()
		}
	case *corev1.Namespace:
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		o.Labels[corev1.LabelMetadataName] = o.Name
	case *corev1.PersistentVolumeClaim:
		fill(&o.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	case *corev1.PersistentVolume:
		fill(&o.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
		set(&o.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	case *corev1.Service:
		defaultService(&o.Spec)
	case *corev1.Secret:
		set(&o.Type, corev1.SecretTypeOpaque)
	case *storagev1.StorageClass:
		fill(&o.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
		fill(&o.VolumeBindingMode, storagev1.VolumeBindingImmediate)
	case *discoveryv1.EndpointSlice:
		for i := range o.Ports {
			fill(&o.Ports[i].Name, "")
			fill(&o.Ports[i].Protocol, corev1.ProtocolTCP)
		}
	case *rbacv1.ClusterRoleBinding:
		defaultBinding(&o.RoleRef, o.Subjects)
	case *rbacv1.RoleBinding:
		defaultBinding(&o.RoleRef, o.Subjects)
	}
}

// set gives a plain field its default, fill an optional one.
func set[T comparable](at *T, value T) {
	var zero T
	if *at == zero {
		*at = value
	}
}

func fill[T any](at **T, value T) {
	if *at == nil {
		*at = &value
	}
}

func defaultPod(spec *corev1.PodSpec) {
	set(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	set(&spec.DNSPolicy, corev1.DNSClusterFirst)
	set(&spec.SchedulerName, corev1.DefaultSchedulerName)
	set(&spec.ServiceAccountName, "default")
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	fill(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	fill(&spec.SecurityContext, corev1.PodSecurityContext{})
	fill(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	fill(&spec.Priority, int32(0))
	fill(&spec.PreemptionPolicy, corev1.PreemptLowerPriority)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		addToleration(spec, key)
	}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			defaultContainer(&list[i])
		}
	}
}

func defaultContainer(c *corev1.Container) {
	set(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	set(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	pull := corev1.PullIfNotPresent
	name := c.Image[strings.LastIndex(c.Image, "/")+1:]
	if !strings.ContainsAny(name, ":@") || strings.HasSuffix(name, ":latest") {
		pull = corev1.PullAlways
	}
	set(&c.ImagePullPolicy, pull)
	for i := range c.Ports {
		set(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for name, limit := range c.Resources.Limits {
		if _, ok := c.Resources.Requests[name]; !ok {
			if c.Resources.Requests == nil {
				c.Resources.Requests = corev1.ResourceList{}
			}
			c.Resources.Requests[name] = limit.DeepCopy()
		}
	}
}

// addToleration is what the DefaultTolerationSeconds admission does.
func addToleration(spec *corev1.PodSpec, key string) {
	for _, t := range spec.Tolerations {
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return
		}
	}
	seconds := int64(300)
	spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists,
		Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
}

// addTokenVolume is what the ServiceAccount admission does; controllers that count the volumes of a pod see it.
func addTokenVolume(pod *corev1.Pod) {
	if mount := pod.Spec.AutomountServiceAccountToken; mount != nil && !*mount {
		return
	}
	for _, v := range pod.Spec.Volumes {
		if strings.HasPrefix(v.Name, "kube-api-access-") {
			return
		}
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name:         names.SimpleNameGenerator.GenerateName("kube-api-access-"),
		VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}},
	})
}

func defaultService(spec *corev1.ServiceSpec) {
	set(&spec.Type, corev1.ServiceTypeClusterIP)
	set(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	fill(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	for i := range spec.Ports {
		p := &spec.Ports[i]
		set(&p.Protocol, corev1.ProtocolTCP)
		if p.TargetPort.IntVal == 0 && p.TargetPort.StrVal == "" {
			p.TargetPort.IntVal = p.Port
		}
	}
}

func defaultBinding(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	set(&ref.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if subjects[i].Kind != rbacv1.ServiceAccountKind {
			set(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}

// qosClass looks at CPU and memory, as the kubelet does.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	class, any := corev1.PodQOSGuaranteed, false
	for _, c := range append(append([]corev1.Container{}, spec.InitContainers...), spec.Containers...) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, request := c.Resources.Limits[name], c.Resources.Requests[name]
			any = any || !limit.IsZero() || !request.IsZero()
			if !sameAmount(limit, request) {
				class = corev1.PodQOSBurstable
			}
		}
	}
	if !any {
		return corev1.PodQOSBestEffort
	}
	return class
}

// sameAmount tells whether a limit is set and the request equals it (an unset request takes the limit).
func sameAmount(limit, request resource.Quantity) bool {
	return !limit.IsZero() && (request.IsZero() || limit.Cmp(request) == 0)
}

func validate(obj runtime.Object) field.ErrorList {
	switch o := obj.(type) {
	case *corev1.Pod:
		return validatePod(&o.Spec, field.NewPath("spec"))
	case *corev1.PersistentVolumeClaim:
		return validateClaim(&o.Spec, field.NewPath("spec"))
	}
	return nil
}

func validatePod(spec *corev1.PodSpec, at *field.Path) field.ErrorList {
	errs := field.ErrorList{}
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(at.Child("containers"), ""))
	}
	for i, c := range spec.Containers {
		if c.Name == "" {
			errs = append(errs, field.Required(at.Child("containers").Index(i).Child("name"), ""))
		}
		if c.Image == "" {
			errs = append(errs, field.Required(at.Child("containers").Index(i).Child("image"), ""))
		}
	}
	return errs
}

func validateClaim(spec *corev1.PersistentVolumeClaimSpec, at *field.Path) field.ErrorList {
	errs := field.ErrorList{}
	if len(spec.AccessModes) == 0 {
		errs = append(errs, field.Required(at.Child("accessModes"), "at least 1 access mode is required"))
	}
	if _, ok := spec.Resources.Requests[corev1.ResourceStorage]; !ok {
		errs = append(errs, field.Required(at.Child("resources").Key(string(corev1.ResourceStorage)), ""))
	}
	return errs
}
