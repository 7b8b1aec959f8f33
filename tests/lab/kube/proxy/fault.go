// SPDX-License-Identifier: LGPL-2.1-or-later

// What a fault is, and the table of those that wait for a request.

package proxy

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kinds of faults. README.md describes each.
const (
	kindCut      = "cut"
	kindEnd      = "end"
	kindDelay    = "delay"
	kindTruncate = "truncate"
	kindGone     = "gone"
	kindThrottle = "throttle"
	kindError    = "error"
	kindStale    = "stale"
	kindSilence  = "silence"
	kindSplit    = "split"
	kindDrop     = "drop-answer"
)

var kinds = []string{kindCut, kindEnd, kindDelay, kindTruncate, kindGone, kindThrottle, kindError, kindStale,
	kindSilence, kindSplit, kindDrop}

const (
	scopeConnection = "connection"
	scopeStream     = "stream"
	defaultSplit    = 7
)

// Match chooses requests; what is empty matches everything.
type Match struct {
	Methods []string `json:"methods,omitempty"`
	// Path is a regular expression over path?query.
	Path string `json:"path,omitempty"`
	// Watch chooses watches (true) or everything else (false).
	Watch *bool `json:"watch,omitempty"`
	path  *regexp.Regexp
}

// Fault is one rule. The place in the answer is: after_lines lines, then after_bytes bytes.
type Fault struct {
	ID          int     `json:"id"`
	Kind        string  `json:"kind"`
	Match       Match   `json:"match"`
	Skip        int     `json:"skip,omitempty"`
	Count       int     `json:"count,omitempty"`
	Probability float64 `json:"probability,omitempty"`
	Seed        uint64  `json:"seed,omitempty"`
	AfterLines  int     `json:"after_lines,omitempty"`
	AfterBytes  int     `json:"after_bytes,omitempty"`
	Ms          int     `json:"ms,omitempty"`
	RetryAfter  int     `json:"retry_after,omitempty"`
	Status      int     `json:"status,omitempty"`
	Scope       string  `json:"scope,omitempty"`
	InStream    bool    `json:"in_stream,omitempty"`
	Max         int     `json:"max,omitempty"`
	Back        int     `json:"back,omitempty"`
	// Hits counts the requests that got the fault.
	Hits int `json:"hits"`

	seen     int
	random   *rand.Rand
	released chan struct{}
}

func (f *Fault) check() error {
	if !slices.Contains(kinds, f.Kind) {
		return fmt.Errorf("kind %q is unknown: want one of %s", f.Kind, strings.Join(kinds, ", "))
	}
	if f.Scope == "" {
		f.Scope = scopeConnection
	}
	if f.Scope != scopeConnection && f.Scope != scopeStream {
		return fmt.Errorf("scope %q is unknown: want %s or %s", f.Scope, scopeConnection, scopeStream)
	}
	if f.Probability < 0 || f.Probability > 1 {
		return fmt.Errorf("probability %v is not between 0 and 1", f.Probability)
	}
	if f.Skip < 0 || f.Count < 0 || f.AfterLines < 0 || f.AfterBytes < 0 || f.Ms < 0 || f.Max < 0 || f.Back < 0 {
		return fmt.Errorf("a number of the fault is negative")
	}
	if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
		return fmt.Errorf("status %d is no error", f.Status)
	}
	if f.Max == 0 {
		f.Max = defaultSplit
	}
	var err error
	f.Match.path, err = regexp.Compile(f.Match.Path)
	return err
}

// inBody tells whether the fault acts at a place in the answer's body.
func (f *Fault) inBody() bool {
	placed := f.AfterLines > 0 || f.AfterBytes > 0
	switch f.Kind {
	case kindEnd, kindTruncate, kindSilence, kindSplit:
		return true
	case kindCut, kindDelay:
		return placed
	case kindGone:
		return f.InStream
	}
	return false
}

func (f *Fault) fits(r *http.Request, possible func(*Fault) bool) bool {
	m := &f.Match
	if f.Count > 0 && f.Hits >= f.Count {
		return false
	}
	if len(m.Methods) > 0 && !slices.Contains(m.Methods, r.Method) {
		return false
	}
	if m.Watch != nil && *m.Watch != isWatch(r) {
		return false
	}
	return m.path.MatchString(r.URL.RequestURI()) && possible(f)
}

func isWatch(r *http.Request) bool {
	w := r.URL.Query().Get("watch")
	return w == "1" || w == "true"
}

// table holds the faults in the order in which they were added.
type table struct {
	mu     sync.Mutex
	faults []*Fault
	nextID int
}

func (t *table) add(f *Fault) (*Fault, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nextID++
	f.ID, f.Hits, f.seen, f.released = t.nextID, 0, 0, make(chan struct{})
	f.random = rand.New(rand.NewPCG(f.Seed, 0))
	t.faults = append(t.faults, f)
	return f, nil
}

// take returns what happens to this request, and counts it. possible tells whether a fault can be done at all.
func (t *table) take(r *http.Request, possible func(*Fault) bool) []*Fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	hit := []*Fault{}
	for _, f := range t.faults {
		if !f.fits(r, possible) {
			continue
		}
		f.seen++
		if f.seen <= f.Skip || (f.Probability > 0 && f.random.Float64() >= f.Probability) {
			continue
		}
		f.Hits++
		hit = append(hit, f)
	}
	return hit
}

// size draws the length of a piece for a split fault.
func (t *table) size(f *Fault) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return 1 + f.random.IntN(f.Max)
}

func (t *table) list() []Fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]Fault, 0, len(t.faults))
	for _, f := range t.faults {
		out = append(out, *f)
	}
	return out
}

// remove takes a fault out (id 0: all) and releases whom it holds.
func (t *table) remove(id int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := id == 0
	t.faults = slices.DeleteFunc(t.faults, func(f *Fault) bool {
		if id != 0 && f.ID != id {
			return false
		}
		found = true
		close(f.released)
		return true
	})
	return found
}

// hold waits for the time of the fault, or without one until the fault is removed; false when the client left first.
func (f *Fault) hold(gone <-chan struct{}) bool {
	var timer <-chan time.Time
	if f.Ms > 0 || f.Kind == kindDelay {
		t := time.NewTimer(time.Duration(f.Ms) * time.Millisecond)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-gone:
		return false
	case <-f.released:
	case <-timer:
	}
	return true
}
