// SPDX-License-Identifier: LGPL-2.1-or-later

// Core v1 Events, as client-go's recorder writes them: equal ones are counted on one object. Written by one goroutine
// in the order of their making, so that a slow or failing API never holds a controller up; when the API is away for
// so long that the queue is full, events are lost, as real ones are.

package sim

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

// Who says something: the components of the real events.
const (
	byController = "virtualmachine-controller"
	byHandler    = "virt-handler"
	byScheduler  = "default-scheduler"
	byKubelet    = "kubelet"
	byUpdater    = "workload-update-controller"
	byEvacuation = "disruptionbudget-controller"
)

const (
	normal  = "Normal"
	warning = "Warning"

	eventQueue   = 16384
	eventsKnown  = 8192
	eventTries   = 6
	eventPause   = 200 * time.Millisecond
	eventGoodbye = 2 * time.Second
)

type event struct {
	object                                 map[string]any // involvedObject
	component, host, kind, reason, message string
	at                                     time.Time
}

type recorder struct {
	client dynamic.NamespaceableResourceInterface
	queue  chan event
	known  map[string]knownEvent
}

type knownEvent struct {
	namespace, name string
	count           int64
}

func newRecorder(client dynamic.Interface) *recorder {
	return &recorder{
		client: client.Resource(eventsResource),
		queue:  make(chan event, eventQueue),
		known:  map[string]knownEvent{},
	}
}

// say queues an event about an object.
func (r *recorder) say(o *object, component, kind, reason, format string, args ...any) {
	r.sayOn(o, component, "", kind, reason, format, args...)
}

// sayOn does the same for a component of one node.
func (r *recorder) sayOn(o *object, component, host, kind, reason, format string, args ...any) {
	involved := map[string]any{"kind": o.GetKind(), "namespace": o.GetNamespace(), "name": o.GetName(), "uid": uid(o),
		"apiVersion": o.GetAPIVersion(), "resourceVersion": o.GetResourceVersion()}
	select {
	case r.queue <- event{involved, component, host, kind, reason, fmt.Sprintf(format, args...), time.Now()}:
	default:
		slog.Warn("an event is lost: the API takes none", "object", key(o), "reason", reason)
	}
}

// run writes until the context ends, and then for a moment what is still queued.
func (r *recorder) run(ctx context.Context) {
	for {
		select {
		case e := <-r.queue:
			r.write(ctx, e)
		case <-ctx.Done():
			r.drain(context.WithoutCancel(ctx))
			return
		}
	}
}

func (r *recorder) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, eventGoodbye)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case e := <-r.queue:
			r.write(ctx, e)
		default:
			return
		}
	}
}

func (r *recorder) write(ctx context.Context, e event) {
	for try := range eventTries {
		err := r.once(ctx, e)
		if err == nil || ctx.Err() != nil || apierrors.IsAlreadyExists(err) {
			return
		}
		select {
		case <-time.After(eventPause << try):
		case <-ctx.Done():
		}
	}
	slog.Warn("an event is lost", "reason", e.reason, "message", e.message)
}

func (r *recorder) once(ctx context.Context, e event) error {
	id := fmt.Sprint(e.object["uid"], e.component, e.host, e.kind, e.reason, e.message)
	if k, ok := r.known[id]; ok {
		k.count++
		err := r.again(ctx, k, e)
		if err == nil {
			r.known[id] = k
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	namespace, name := e.object["namespace"].(string), e.object["name"].(string)
	k := knownEvent{namespace, fmt.Sprintf("%s.%x", name, e.at.UnixNano()), 1}
	_, err := r.client.Namespace(namespace).Create(ctx, e.document(k.name), metav1.CreateOptions{})
	if err == nil {
		if len(r.known) >= eventsKnown {
			clear(r.known)
		}
		r.known[id] = k
	}
	return err
}

// again counts one more of an event that is there.
func (r *recorder) again(ctx context.Context, k knownEvent, e event) error {
	in := r.client.Namespace(k.namespace)
	old, err := in.Get(ctx, k.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	set(old, k.count, "count")
	set(old, stamp(e.at), "lastTimestamp")
	_, err = in.Update(ctx, old, metav1.UpdateOptions{})
	return err
}

func (e event) document(name string) *object {
	source := map[string]any{"component": e.component}
	if e.host != "" {
		source["host"] = e.host
	}
	return &object{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]any{"name": name, "namespace": e.object["namespace"]},
		"involvedObject": e.object, "reason": e.reason, "message": e.message, "source": source,
		"firstTimestamp": stamp(e.at), "lastTimestamp": stamp(e.at), "count": int64(1), "type": e.kind,
		"eventTime": nil, "reportingComponent": e.component, "reportingInstance": e.host,
	}}
}
