// SPDX-License-Identifier: LGPL-2.1-or-later

// The stores of the built-in kinds, for the parts of the server that read them directly.

package api

import (
	"context"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// stores is filled once, before the server runs; the plural names of the kinds that are looked up are unambiguous.
type stores map[string]*registry.Store

func (s stores) list(ctx context.Context, plural, namespace string) (runtime.Object, error) {
	return s[plural].List(request.WithNamespace(ctx, namespace), &metainternal.ListOptions{ResourceVersion: "0"})
}

func (s stores) get(ctx context.Context, plural, namespace, name string) (runtime.Object, error) {
	return s[plural].Get(request.WithNamespace(ctx, namespace), name, &cached)
}

// current is get without a cache: what was written before is seen.
func (s stores) current(ctx context.Context, plural, namespace, name string) (runtime.Object, error) {
	return s[plural].Get(request.WithNamespace(ctx, namespace), name, &metav1.GetOptions{})
}

// open makes the stores of one group and returns what its API serves.
func (s stores) open(getter generic.RESTOptionsGetter, g apiGroup) (map[string]rest.Storage, error) {
	served := map[string]rest.Storage{}
	for _, r := range g.resources {
		store, err := newStore(getter, g.gv, r)
		if err != nil {
			return nil, err
		}
		if _, taken := s[r.name]; !taken {
			s[r.name] = store
		}
		served[r.name] = kindStore{store, r.shortNames}
		if hasStatus(store.New()) {
			served[r.name+"/status"] = newStatusREST(store)
		}
	}
	return served, nil
}

// install adds every group to the server.
func (s stores) install(srv *genericapiserver.GenericAPIServer, getter generic.RESTOptionsGetter,
	extra map[string]map[string]rest.Storage) error {
	for _, g := range groups {
		served, err := s.open(getter, g)
		if err != nil {
			return err
		}
		for name, storage := range extra[g.gv.Group] {
			served[name] = storage
		}
		info := genericapiserver.NewDefaultAPIGroupInfo(g.gv.Group, scheme, runtime.NewParameterCodec(scheme), codecs)
		info.VersionedResourcesStorageMap[g.gv.Version] = served
		if g.gv.Group != "" {
			err = srv.InstallAPIGroup(&info)
		} else {
			served["pods/binding"] = bindingREST{s["pods"]}
			served["pods/eviction"] = evictionREST{s["pods"]}
			err = srv.InstallLegacyAPIGroup("/api", &info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
