// SPDX-License-Identifier: LGPL-2.1-or-later

// Compaction on demand. A real server forgets old revisions after some minutes, and its watch cache hides that for a
// while longer. Here one request compacts etcd and makes every resource forget at once: watches from an older
// revision, and pages and exact lists at one, end with 410. Running watches go on.

package api

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// floor is the oldest revision that is still served.
type floor struct{ revision atomic.Int64 }

func (f *floor) raise(to int64) {
	for {
		now := f.revision.Load()
		if to <= now || f.revision.CompareAndSwap(now, to) {
			return
		}
	}
}

// flooredGetter hands out storage that respects the floor.
type flooredGetter struct {
	generic.RESTOptionsGetter
	floor *floor
}

func (g flooredGetter) GetRESTOptions(r schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	o, err := g.RESTOptionsGetter.GetRESTOptions(r, example)
	if err != nil {
		return o, err
	}
	inner := o.Decorator
	o.Decorator = func(c *storagebackend.ConfigForResource, prefix string, key func(runtime.Object) (string, error),
		newObj, newList func() runtime.Object, attrs storage.AttrFunc, trigger storage.IndexerFuncs,
		indexers *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
		s, destroy, err := inner(c, prefix, key, newObj, newList, attrs, trigger, indexers)
		if err != nil {
			return nil, nil, err
		}
		return &flooredStorage{s, g.floor}, destroy, nil
	}
	return o, nil
}

type flooredStorage struct {
	storage.Interface
	floor *floor
}

func (s *flooredStorage) Watch(ctx context.Context, key string, o storage.ListOptions) (watch.Interface, error) {
	oldest := s.floor.revision.Load()
	rv, err := strconv.ParseInt(o.ResourceVersion, 10, 64)
	fresh := o.SendInitialEvents != nil && *o.SendInitialEvents
	if err != nil || rv <= 0 || rv >= oldest || fresh {
		return s.Interface.Watch(ctx, key, o)
	}
	// As the watch cache does it: the request succeeds, and the only event of the stream is the error.
	expired := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", rv, oldest))
	w := watch.NewFakeWithChanSize(1, false)
	w.Error(&expired.ErrStatus)
	w.Stop()
	return w, nil
}

func (s *flooredStorage) GetList(ctx context.Context, key string, o storage.ListOptions, list runtime.Object) error {
	at, continueKey, err := storage.ValidateListOptions(key, s.Versioner(), o)
	if err != nil || at <= 0 || at >= s.floor.revision.Load() {
		return s.Interface.GetList(ctx, key, o, list)
	}
	if continueKey == "" {
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	expired := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent " +
		"list result. A new list without it, or one with the token of this answer at the newest revision, will do.")
	// A token with revision -1 goes on from the same key, at the newest revision.
	expired.ErrStatus.ListMeta.Continue, err = storage.EncodeContinue(continueKey, key, -1)
	if err != nil {
		return err
	}
	return expired
}
