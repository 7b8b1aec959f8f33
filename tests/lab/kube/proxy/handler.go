// SPDX-License-Identifier: LGPL-2.1-or-later

// One request on its way through the proxy.

package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hopHeaders belong to one connection and are not passed on.
var hopHeaders = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// status is the error object of the Kubernetes API.
type status struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Metadata   struct{} `json:"metadata"`
	Status     string   `json:"status"`
	Message    string   `json:"message"`
	Reason     string   `json:"reason"`
	Details    *details `json:"details,omitempty"`
	Code       int      `json:"code"`
}

type details struct {
	RetryAfterSeconds int `json:"retryAfterSeconds"`
}

func failure(code int, reason, message string) status {
	return status{Kind: "Status", APIVersion: "v1", Status: "Failure", Message: message, Reason: reason, Code: code}
}

func gone() status { return failure(http.StatusGone, "Expired", "too old resource version: 1 (2)") }

// goneEvent is the last line of a watch whose revision was compacted.
func goneEvent() []byte {
	line, err := json.Marshal(struct {
		Type   string `json:"type"`
		Object status `json:"object"`
	}{"ERROR", gone()})
	if err != nil {
		panic(err) // constant data
	}
	return append(line, '\n')
}

// ServeHTTP forwards a request and does its faults.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	faults := p.faults.take(r, func(f *Fault) bool { return p.possible(f, r) })
	e := p.journal.begin(r, p.conns.number(r), faults)
	var err error
	defer func() { p.journal.end(e, err) }()
	err = p.serve(w, r, faults, e)
	if !errors.Is(err, errCut) && !errors.Is(err, errBroken) {
		return
	}
	if errors.Is(err, errCut) && !cutsStream(faults) {
		p.conns.cut(r, e.target)
	}
	panic(http.ErrAbortHandler)
}

func cutsStream(faults []*Fault) bool {
	return slices.ContainsFunc(faults, func(f *Fault) bool { return f.Scope == scopeStream })
}

// possible is false where a fault could not be done: it then waits for another request.
func (p *Proxy) possible(f *Fault, r *http.Request) bool {
	switch f.Kind {
	case kindStale:
		_, ok := p.memory.old(keyOf(r), f.Back)
		return ok && keepable(r)
	case kindGone:
		return !f.InStream || isWatch(r)
	}
	return true
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, faults []*Fault, e *Entry) error {
	for _, f := range faults {
		if done, err := p.before(w, r, f, e); done || err != nil {
			return err
		}
	}
	return p.forward(w, r, faults, e)
}

// before does a fault that comes before the upstream is asked; done means that the client has its answer.
func (p *Proxy) before(w http.ResponseWriter, r *http.Request, f *Fault, e *Entry) (done bool, err error) {
	if f.inBody() {
		return false, nil
	}
	switch f.Kind {
	case kindCut:
		return true, errCut
	case kindDelay:
		if !f.hold(r.Context().Done()) {
			return true, errLeft
		}
	case kindGone:
		return true, e.refuse(w, gone())
	case kindThrottle:
		s := failure(http.StatusTooManyRequests, "TooManyRequests", "too many requests, please try again later")
		s.Details = &details{f.RetryAfter}
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
		return true, e.refuse(w, s)
	case kindError:
		code := f.Status
		if code == 0 {
			code = http.StatusInternalServerError
		}
		return true, e.refuse(w, failure(code, reasonOf(code), "an error of the fault proxy"))
	case kindStale:
		old, ok := p.memory.old(keyOf(r), f.Back)
		if !ok {
			return false, nil
		}
		maps.Copy(w.Header(), old.header)
		w.WriteHeader(http.StatusOK)
		e.Status = http.StatusOK
		_, err := w.Write(old.body)
		return true, err
	}
	return false, nil
}

// reasonOf is the reason that the API gives with a code.
func reasonOf(code int) string {
	switch code {
	case http.StatusInternalServerError:
		return "InternalError"
	case http.StatusGatewayTimeout:
		return "Timeout"
	}
	return strings.ReplaceAll(http.StatusText(code), " ", "")
}

func (e *Entry) refuse(w http.ResponseWriter, s status) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(s.Code)
	e.Status = s.Code
	return json.NewEncoder(w).Encode(s)
}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, faults []*Fault, e *Entry) error {
	answer, err := p.client.RoundTrip(p.request(r, faults))
	if err != nil {
		if r.Context().Err() != nil {
			return errLeft
		}
		return e.refuse(w, failure(http.StatusServiceUnavailable, "ServiceUnavailable", "upstream: "+err.Error()))
	}
	defer answer.Body.Close()
	if slices.ContainsFunc(faults, func(f *Fault) bool { return f.Kind == kindDrop }) {
		// The whole answer came, so the write is done for sure.
		_, _ = io.Copy(io.Discard, answer.Body)
		return errCut
	}
	b := newBody(w, r, p.faults, faults)
	p.header(w, answer, b)
	e.Status = answer.StatusCode
	if isWatch(r) {
		_ = b.out.Flush()
	}
	kept := &bytes.Buffer{}
	err = b.copy(p.recorder(r, answer, kept))
	e.Bytes, e.Lines, e.target = b.bytes, b.lines, b.target
	if errors.Is(err, errEnd) {
		return nil
	}
	if err == nil && keepable(r) && answer.StatusCode == http.StatusOK && kept.Len() <= keptBody {
		p.memory.keep(keyOf(r), w.Header(), kept.Bytes())
	}
	return err
}

// header passes on the header of an answer.
func (p *Proxy) header(w http.ResponseWriter, answer *http.Response, b *body) {
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	for _, name := range hopHeaders {
		w.Header().Del(name)
	}
	if len(b.steps) > 0 {
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(answer.StatusCode)
}

// recorder copies the body of a read aside.
func (p *Proxy) recorder(r *http.Request, answer *http.Response, kept *bytes.Buffer) io.Reader {
	if !keepable(r) || answer.StatusCode != http.StatusOK {
		return answer.Body
	}
	return io.TeeReader(answer.Body, kept)
}

// request is the request to the upstream.
func (p *Proxy) request(r *http.Request, faults []*Fault) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = p.upstream.Scheme, p.upstream.Host
	out.Host, out.RequestURI = p.upstream.Host, ""
	for _, name := range hopHeaders {
		out.Header.Del(name)
	}
	if slices.ContainsFunc(faults, (*Fault).inBody) {
		// Places are counted in lines of plain text.
		out.Header.Del("Accept-Encoding")
	}
	if r.ContentLength == 0 {
		out.Body = http.NoBody
	}
	return out
}

// now is milliseconds of the wall clock, for the journal.
func now() int64 { return time.Now().UnixMilli() }
