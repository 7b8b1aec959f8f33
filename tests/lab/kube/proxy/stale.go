// SPDX-License-Identifier: LGPL-2.1-or-later

// Remembers answers to reads, so that an old one can be served again: what a client sees when it is moved to another
// API server whose cache lags behind.

package proxy

import (
	"bytes"
	"net/http"
	"sync"
)

const (
	keptBody    = 4 << 20
	keptAnswers = 8
	keptURLs    = 256
)

type answer struct {
	header http.Header
	body   []byte
}

type memory struct {
	mu    sync.Mutex
	byKey map[string][]answer
	order []string
}

func newMemory() *memory { return &memory{byKey: map[string][]answer{}} }

// keyOf keeps users and formats apart.
func keyOf(r *http.Request) string {
	key := r.URL.RequestURI()
	for _, name := range []string{"Accept", "Accept-Encoding", "Authorization"} {
		key += "\x00" + r.Header.Get(name)
	}
	return key
}

func keepable(r *http.Request) bool { return r.Method == http.MethodGet && !isWatch(r) }

func (m *memory) keep(key string, header http.Header, body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list, known := m.byKey[key]
	if known && bytes.Equal(list[len(list)-1].body, body) {
		return
	}
	if !known {
		m.order = append(m.order, key)
		if len(m.order) > keptURLs {
			delete(m.byKey, m.order[0])
			m.order = m.order[1:]
		}
	}
	list = append(list, answer{header.Clone(), bytes.Clone(body)})
	if len(list) > keptAnswers {
		list = list[1:]
	}
	m.byKey[key] = list
}

// old returns the answer that is back answers older than the newest one; 0 means the oldest that is kept.
func (m *memory) old(key string, back int) (answer, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.byKey[key]
	if len(list) == 0 {
		return answer{}, false
	}
	if back == 0 || back >= len(list) {
		return list[0], true
	}
	return list[len(list)-1-back], true
}
