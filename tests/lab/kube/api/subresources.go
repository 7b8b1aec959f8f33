// SPDX-License-Identifier: LGPL-2.1-or-later

// The endpoints outside the registry: the part of subresources.kubevirt.io that a migration client calls, and
// POST /kvmig/compact for tests. They run behind the same authentication and authorization as everything else.

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

const (
	subresourceGroup = "subresources.kubevirt.io"
	subresourceRoot  = "/apis/" + subresourceGroup + "/v1"
	compactPath      = "/kvmig/compact"
	drainTaint       = "kubevirt.io/drain"
	maxBody          = 1 << 20
)

// evacuateOptions is the body of evacuate/cancel.
type evacuateOptions struct {
	DryRun             []string `json:"dryRun"`
	EvacuationNodeName string   `json:"evacuationNodeName"`
}

type extraEndpoints struct {
	reader  clusterReader
	compact func(context.Context) (int64, error)
}

func (e extraEndpoints) install(srv *genericapiserver.GenericAPIServer) {
	mux := srv.Handler.NonGoRestfulMux
	mux.HandleFunc(subresourceRoot, e.resources)
	mux.HandlePrefix(subresourceRoot+"/", http.HandlerFunc(e.subresource))
	mux.HandleFunc(compactPath, e.compactNow)
	addGroup(srv, subresourceGroup, "v1")
	scope := apidiscovery.ScopeNamespace
	parents := []apidiscovery.APIResourceDiscovery{}
	for _, name := range []string{"virtualmachineinstances", "virtualmachines"} {
		parents = append(parents, apidiscovery.APIResourceDiscovery{Resource: name, Scope: scope,
			Subresources: []apidiscovery.APISubresourceDiscovery{{Subresource: "evacuate/cancel", Verbs: []string{}}}})
	}
	srv.AggregatedDiscoveryGroupManager.AddGroupVersion(subresourceGroup,
		apidiscovery.APIVersionDiscovery{Version: "v1", Resources: parents, Freshness: apidiscovery.DiscoveryFreshnessCurrent})
}

// resources is the discovery document of the group.
func (e extraEndpoints) resources(w http.ResponseWriter, _ *http.Request) {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: subresourceGroup + "/v1", APIResources: []metav1.APIResource{}}
	for _, name := range []string{"virtualmachineinstances/evacuate/cancel", "virtualmachines/evacuate/cancel"} {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Namespaced: true,
			Verbs: metav1.Verbs{}})
	}
	reply(w, http.StatusOK, list)
}

// subresource serves namespaces/{ns}/virtualmachine[instance]s/{name}/evacuate/cancel.
func (e extraEndpoints) subresource(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, subresourceRoot+"/"), "/")
	known := len(parts) == 6 && parts[0] == "namespaces" && parts[4] == "evacuate" && parts[5] == "cancel" &&
		(parts[2] == "virtualmachineinstances" || parts[2] == "virtualmachines")
	if !known {
		fail(w, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method,
			schema.GroupResource{Group: subresourceGroup}, "", "no such subresource here", 0, true))
		return
	}
	if r.Method != http.MethodPut {
		fail(w, apierrors.NewMethodNotSupported(schema.GroupResource{Group: subresourceGroup, Resource: parts[2]}, r.Method))
		return
	}
	options := evacuateOptions{}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err == nil && len(body) > 0 {
		err = json.Unmarshal(body, &options)
	}
	if err != nil {
		fail(w, apierrors.NewBadRequest("body: "+err.Error()))
		return
	}
	if dry := r.URL.Query()["dryRun"]; len(dry) > 0 {
		options.DryRun = dry
	}
	if err := e.cancelEvacuation(r.Context(), parts[1], parts[2], parts[3], options); err != nil {
		fail(w, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (e extraEndpoints) cancelEvacuation(ctx context.Context, namespace, kind, name string, o evacuateOptions) error {
	if kind == "virtualmachines" {
		_, err := e.reader.client.Resource(vmResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
	}
	vmi, err := e.reader.VMI(ctx, namespace, name)
	if err != nil {
		return err
	}
	marked := text(vmi.Object, "status", "evacuationNodeName")
	if node, err := e.reader.Node(ctx, marked); err == nil && drains(node) {
		return apierrors.NewBadRequest(fmt.Sprintf("Node %q has the drain taint %s", node.Name, drainTaint))
	}
	if marked == "" || (o.EvacuationNodeName != "" && o.EvacuationNodeName != marked) {
		return nil
	}
	return e.reader.CancelEvacuation(ctx, vmi, o.DryRun)
}

func drains(node *corev1.Node) bool {
	for _, t := range node.Spec.Taints {
		if t.Key == drainTaint && t.Effect == corev1.TaintEffectNoSchedule {
			return true
		}
	}
	return false
}

func (e extraEndpoints) compactNow(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		fail(w, apierrors.NewMethodNotSupported(schema.GroupResource{Resource: compactPath}, r.Method))
		return
	}
	revision, err := e.compact(r.Context())
	if err != nil {
		fail(w, apierrors.NewInternalError(err))
		return
	}
	reply(w, http.StatusOK, map[string]int64{"revision": revision})
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// A client that went away needs no answer.
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, err error) {
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Reason: metav1.StatusReasonInternalError, Message: err.Error()}
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		status = known.Status()
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	reply(w, int(status.Code), status)
}
