// SPDX-License-Identifier: LGPL-2.1-or-later

// The list of groups at /apis. In a real cluster the aggregator makes it; here the server of the built-in kinds
// answers first and is told about the groups of the custom resources.

package api

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extapi "k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/version"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/tools/cache"
)

func addGroup(srv *genericapiserver.GenericAPIServer, name string, versions ...string) {
	g := metav1.APIGroup{Name: name}
	for _, v := range versions {
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	g.PreferredVersion = g.Versions[0]
	srv.DiscoveryGroupManager.AddGroup(g)
}

// listGroups follows the custom resource definitions.
func listGroups(srv *genericapiserver.GenericAPIServer, crds *extapi.CustomResourceDefinitions) error {
	addGroup(srv, apiextensionsv1.GroupName, "v1")
	informer := crds.Informers.Apiextensions().V1().CustomResourceDefinitions()
	refresh := func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			return
		}
		all, err := informer.Lister().List(labels.Everything())
		if err != nil {
			return
		}
		if versions := servedVersions(all, crd.Spec.Group); len(versions) > 0 {
			addGroup(srv, crd.Spec.Group, versions...)
		} else {
			srv.DiscoveryGroupManager.RemoveGroup(crd.Spec.Group)
		}
	}
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: refresh, DeleteFunc: refresh, UpdateFunc: func(_, now any) { refresh(now) }})
	return err
}

// servedVersions lists the versions of a group, the preferred one first.
func servedVersions(all []*apiextensionsv1.CustomResourceDefinition, group string) []string {
	versions := []string{}
	for _, crd := range all {
		for _, v := range crd.Spec.Versions {
			if crd.Spec.Group == group && v.Served && !slices.Contains(versions, v.Name) {
				versions = append(versions, v.Name)
			}
		}
	}
	slices.SortFunc(versions, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	return versions
}
