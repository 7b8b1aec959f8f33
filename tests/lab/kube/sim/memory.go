// SPDX-License-Identifier: LGPL-2.1-or-later

// What the controllers remember between two looks. All of it may be lost without harm: it saves work, keeps events
// from being said twice, and gives timers a better resolution than the API's times have.

package sim

import (
	"sync"
	"time"
)

type keySet struct {
	mu   sync.Mutex
	keys map[string]struct{}
}

func (k *keySet) add(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[key] = struct{}{}
}

const keysMost = 1 << 16

// addNew says whether the key was not there. A set that grows beyond all need begins anew.
func (k *keySet) addNew(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.keys) >= keysMost {
		clear(k.keys)
	}
	_, there := k.keys[key]
	k.keys[key] = struct{}{}
	return !there
}

func (k *keySet) remove(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.keys, key)
}

func (k *keySet) all() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make([]string, 0, len(k.keys))
	for key := range k.keys {
		out = append(out, key)
	}
	return out
}

// again hands all keys to a loop.
func (k *keySet) again(l *loop) {
	for _, key := range k.all() {
		l.add(key)
	}
}

type clock struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// first gives the time at which a key was asked for first; fallback is used for what began before this process did.
func (c *clock) first(key string, fallback time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.since[key]
	if !ok {
		t = time.Now()
		// A time of the API is cut to the second: one that lies less than that back says nothing better than now.
		if !fallback.IsZero() && t.Sub(fallback) > 2*time.Second {
			t = fallback
		}
		c.since[key] = t
	}
	return t
}

func (c *clock) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.since, key)
}

func (c *clock) has(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, there := c.since[key]
	return there
}

// mark sets or removes a key.
func (c *clock) mark(key string, on bool) {
	if on {
		c.first(key, time.Time{})
	} else {
		c.forget(key)
	}
}

type memory struct {
	unplaced keySet // pods that no node takes
	waiting  keySet // migrations that wait for a slot
	told     keySet // things that were said in an event: uid of the object, and what
	began    clock  // by uid of pods and migrations, with a suffix
}

func newMemory() *memory {
	empty := func() keySet { return keySet{keys: map[string]struct{}{}} }
	return &memory{unplaced: empty(), waiting: empty(), told: empty(), began: clock{since: map[string]time.Time{}}}
}
