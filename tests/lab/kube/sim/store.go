// SPDX-License-Identifier: LGPL-2.1-or-later

// The simulator's view of one resource: an informer, and on top of it the simulator's own writes that the watch has
// not shown yet. Without the latter a controller would act twice on one cause (two target pods for one migration),
// most of all when a test delays or cuts the watch. Safe for any goroutine.

package sim

import (
	"context"
	"errors"
	"net/http"
	"sort"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// errGone says that the object of a write does not exist (any more).
var errGone = errors.New("the object is gone")

const (
	conflictTries = 8
	goneKept      = 5 * time.Minute // how long the uid of a deleted object is remembered
	ownDoubtful   = 10 * time.Second
)

type ownWrite struct {
	object *object
	at     time.Time
}

type store struct {
	gvr        schema.GroupVersionResource
	namespaced bool
	statusPart bool // status is written through the status subresource
	client     dynamic.NamespaceableResourceInterface
	informer   cache.SharedIndexInformer
	indexers   cache.Indexers

	changed []func(old, new *object) // set before anything runs

	mu   sync.Mutex
	own  map[string]ownWrite
	gone map[types.UID]time.Time
	// unsure holds the purposes of creations whose answer was lost.
	unsure map[string]struct{}
}

func newStore(
	client dynamic.Interface,
	gvr schema.GroupVersionResource,
	namespace string,
	indexers cache.Indexers,
) *store {
	s := &store{gvr: gvr, namespaced: true, client: client.Resource(gvr), indexers: indexers,
		own: map[string]ownWrite{}, gone: map[types.UID]time.Time{}, unsure: map[string]struct{}{}}
	s.informer = dynamicinformer.NewFilteredDynamicInformer(client, gvr, namespace, 0, indexers, nil).Informer()
	return s
}

// onChange calls f for every change, with the object as it was (nil when new) and as it is (nil when deleted). A change
// of the simulator's own making is told twice: at once, and when the watch shows it. f must not block.
func (s *store) onChange(f func(old, new *object)) error {
	s.changed = append(s.changed, f)
	_, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { s.shown(o, false); f(nil, o.(*object)) },
		UpdateFunc: func(old, o any) {
			s.shown(o, false)
			f(old.(*object), o.(*object))
		},
		DeleteFunc: func(o any) {
			if tomb, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = tomb.Obj
			}
			s.shown(o, true)
			if u, ok := o.(*object); ok {
				f(u, nil)
			}
		},
	})
	return err
}

// shown forgets an own write that the watch has caught up with.
func (s *store) shown(o any, deleted bool) {
	u, ok := o.(*object)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if deleted {
		s.purge()
		s.gone[u.GetUID()] = time.Now()
	}
	if w, ok := s.own[storeKey(u)]; ok && (deleted && w.object.GetUID() == u.GetUID() || !newer(w.object, u)) {
		delete(s.own, storeKey(u))
	}
}

func (s *store) purge() {
	for id, t := range s.gone {
		if time.Since(t) > goneKept {
			delete(s.gone, id)
		}
	}
}

func storeKey(o *object) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return key(o)
}

// newer says whether a was written after b. Resource versions of one server are ordered.
func newer(a, b *object) bool {
	x, _ := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
	y, _ := strconv.ParseUint(b.GetResourceVersion(), 10, 64)
	return x > y
}

// put takes the server's answer to a write, or to a read that is newer than what the watch showed.
func (s *store) put(o *object) {
	old := s.get(storeKey(o))
	s.mu.Lock()
	if _, dead := s.gone[o.GetUID()]; dead {
		s.mu.Unlock()
		return
	}
	s.own[storeKey(o)] = ownWrite{o, time.Now()}
	s.mu.Unlock()
	for _, f := range s.changed {
		f(old, o)
	}
}

// verify asks the server about own writes that the watch has not shown for long: others may have deleted the object
// before the watch ever saw it.
func (s *store) verify(ctx context.Context) {
	doubtful := []*object{}
	s.mu.Lock()
	for _, w := range s.own {
		if time.Since(w.at) > ownDoubtful {
			doubtful = append(doubtful, w.object)
		}
	}
	s.mu.Unlock()
	for _, o := range doubtful {
		now, err := s.in(o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && now.GetUID() != o.GetUID() {
			s.drop(storeKey(o))
			for _, f := range s.changed {
				f(o, nil)
			}
		}
	}
}

func (s *store) drop(k string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.own, k)
}

// overlay gives the own write of a key if it is newer than what the watch showed.
func (s *store) overlay(k string, shown *object) *object {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.own[k]
	if !ok {
		return shown
	}
	if shown != nil && !newer(w.object, shown) {
		delete(s.own, k)
		return shown
	}
	return w.object
}

// get gives an object that the caller must not change, or nil.
func (s *store) get(k string) *object {
	o, found, err := s.informer.GetIndexer().GetByKey(k)
	var shown *object
	if err == nil && found {
		shown = o.(*object)
	}
	return s.overlay(k, shown)
}

// by gives the objects that an index holds under a value, oldest first; the caller must not change them.
func (s *store) by(index, value string) []*object {
	found, _ := s.informer.GetIndexer().ByIndex(index, value)
	return s.merge(found, func(o *object) bool {
		values, _ := s.indexers[index](o)
		for _, v := range values {
			if v == value {
				return true
			}
		}
		return false
	})
}

func (s *store) all() []*object {
	return s.merge(s.informer.GetIndexer().List(), func(*object) bool { return true })
}

func (s *store) merge(found []any, fits func(*object) bool) []*object {
	s.mu.Lock()
	own := make(map[string]*object, len(s.own))
	for k, w := range s.own {
		own[k] = w.object
	}
	s.mu.Unlock()
	out := make([]*object, 0, len(found))
	for _, f := range found {
		o := f.(*object)
		if w, ok := own[storeKey(o)]; ok {
			delete(own, storeKey(o))
			if newer(w, o) {
				o = w
			}
		}
		if fits(o) {
			out = append(out, o)
		}
	}
	for k, w := range own {
		if fits(w) && s.get(k) == w {
			out = append(out, w)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := created(out[i]), created(out[j])
		if a.Equal(b) {
			return out[i].GetName() < out[j].GetName()
		}
		return a.Before(b)
	})
	return out
}

func (s *store) in(namespace string) dynamic.ResourceInterface {
	if !s.namespaced {
		return s.client
	}
	return s.client.Namespace(namespace)
}

func (s *store) create(ctx context.Context, o *object) (*object, error) {
	out, err := s.in(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{})
	if err == nil {
		s.put(out)
	}
	return out, err
}

// createOnce creates the one object of a purpose, which all objects with the labels of selector are for. When the
// answer to a creation was lost, the server is asked what became of it before anything is created again. Returns nil
// without an error when such an object was there already.
func (s *store) createOnce(ctx context.Context, selector string, o *object) (*object, error) {
	s.mu.Lock()
	_, doubt := s.unsure[o.GetNamespace()+"/"+selector]
	s.mu.Unlock()
	if doubt {
		found, err := s.in(o.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return nil, err
		}
		s.setUnsure(o.GetNamespace()+"/"+selector, false)
		for i := range found.Items {
			s.put(&found.Items[i])
		}
		if len(found.Items) > 0 {
			return nil, nil
		}
	}
	out, err := s.create(ctx, o)
	if err != nil && !refused(err) {
		s.setUnsure(o.GetNamespace()+"/"+selector, true)
	}
	return out, err
}

func (s *store) setUnsure(purpose string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on {
		s.unsure[purpose] = struct{}{}
	} else {
		delete(s.unsure, purpose)
	}
}

// refused says whether an error proves that the server has not done what was asked.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError
}

// update changes an object through its main resource: change edits a copy and says whether it edited anything. A
// conflict reads the object anew and calls change again, so change must decide by the object that it is given.
func (s *store) update(ctx context.Context, k string, change func(*object) bool) error {
	return s.write(ctx, k, "", change)
}

// updateStatus does the same through the status subresource, for resources that have one.
func (s *store) updateStatus(ctx context.Context, k string, change func(*object) bool) error {
	if !s.statusPart {
		return s.write(ctx, k, "", change)
	}
	return s.write(ctx, k, "status", change)
}

func (s *store) write(ctx context.Context, k, part string, change func(*object) bool) error {
	namespace, name := splitKey(k)
	if !s.namespaced {
		namespace, name = "", k
	}
	o := s.get(k)
	if o == nil {
		return errGone
	}
	var err error
	for range conflictTries {
		next := o.DeepCopy()
		if !change(next) {
			return nil
		}
		parts := []string{}
		if part != "" {
			parts = append(parts, part)
		}
		var out *unstructured.Unstructured
		out, err = s.in(namespace).Update(ctx, next, metav1.UpdateOptions{}, parts...)
		switch {
		case err == nil:
			s.put(out)
			return nil
		case apierrors.IsNotFound(err):
			s.drop(k)
			return errGone
		case !apierrors.IsConflict(err):
			return err
		}
		if o, err = s.in(namespace).Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			s.drop(k)
			return errGone
		} else if err != nil {
			return err
		}
	}
	return err
}

// remove deletes an object, but not another one that has taken its name; one that is gone is no error.
func (s *store) remove(ctx context.Context, o *object, grace *int64) error {
	id := o.GetUID()
	err := s.in(o.GetNamespace()).Delete(ctx, o.GetName(),
		metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &id}})
	if err == nil {
		s.drop(storeKey(o))
		return nil
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
