// SPDX-License-Identifier: LGPL-2.1-or-later

// The control port: faults in and out, and what passed the proxy.

package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

const (
	keptEntries = 4096
	maxControl  = 1 << 20
)

// Entry is one request in the journal.
type Entry struct {
	ID     int    `json:"id"`
	Start  int64  `json:"start_ms"`
	End    int64  `json:"end_ms,omitempty"`
	Conn   int    `json:"conn"`
	Proto  string `json:"proto"`
	Method string `json:"method"`
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"`
	Bytes  int64  `json:"bytes"`
	Lines  int64  `json:"lines"`
	Faults []int  `json:"faults,omitempty"`
	Error  string `json:"error,omitempty"`
	// target is when the connection has sent all that the answer wrote.
	target int64
}

// journal keeps the newest requests. An entry is written by its request only, and copied in when that ends.
type journal struct {
	mu      sync.Mutex
	entries []Entry
	nextID  int
}

func (j *journal) begin(r *http.Request, conn int, faults []*Fault) *Entry {
	e := Entry{Start: now(), Conn: conn, Proto: r.Proto, Method: r.Method, URL: r.URL.RequestURI()}
	for _, f := range faults {
		e.Faults = append(e.Faults, f.ID)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.nextID++
	e.ID = j.nextID
	j.entries = append(j.entries, e)
	if len(j.entries) > keptEntries {
		j.entries = j.entries[1:]
	}
	return &e
}

func (j *journal) end(e *Entry, err error) {
	e.End = now()
	if err != nil {
		e.Error = err.Error()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if i := len(j.entries) - (j.nextID - e.ID) - 1; i >= 0 {
		j.entries[i] = *e
	}
}

func (j *journal) since(id int) []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := []Entry{}
	for _, e := range j.entries {
		if e.ID > id {
			out = append(out, e)
		}
	}
	return out
}

// control serves the control port.
func (p *Proxy) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /faults", p.addFault)
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, p.faults.list()) })
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, _ *http.Request) {
		p.faults.remove(0)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("DELETE /faults/{id}", p.removeFault)
	mux.HandleFunc("POST /cut", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]int{"connections": p.conns.cutAll()})
	})
	mux.HandleFunc("GET /requests", p.requests)
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		opened, open := p.conns.counts()
		reply(w, http.StatusOK, map[string]int{"connections_opened": opened, "connections_open": open})
	})
	return mux
}

func (p *Proxy) addFault(w http.ResponseWriter, r *http.Request) {
	f := &Fault{}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxControl))
	d.DisallowUnknownFields()
	err := d.Decode(f)
	if err == nil {
		f, err = p.faults.add(f)
	}
	if err != nil {
		reply(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	reply(w, http.StatusCreated, map[string]int{"id": f.ID})
}

func (p *Proxy) removeFault(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id <= 0 || !p.faults.remove(id) {
		reply(w, http.StatusNotFound, map[string]string{"error": fmt.Sprintf("no fault %q", r.PathValue("id"))})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// requests lists the journal; ?since=ID leaves out what the caller knows.
func (p *Proxy) requests(w http.ResponseWriter, r *http.Request) {
	since := 0
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		if since, err = strconv.Atoi(text); err != nil {
			reply(w, http.StatusBadRequest, map[string]string{"error": "since is not a number"})
			return
		}
	}
	reply(w, http.StatusOK, p.journal.since(since))
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// A caller that went away needs no answer.
	_ = json.NewEncoder(w).Encode(body)
}
