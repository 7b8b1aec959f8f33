// SPDX-License-Identifier: LGPL-2.1-or-later

package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// lab is an upstream, a proxy before it, and a client.
type lab struct {
	t       *testing.T
	client  *http.Client
	url     string
	control string
	version atomic.Int64
	writes  atomic.Int64
}

// watchLines is what every watch of the upstream sends; each line says how long it is.
func watchLines() []string {
	lines := []string{}
	for i := range 5 {
		lines = append(lines, fmt.Sprintf(`{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p%d"}}}`, i))
	}
	return lines
}

func (l *lab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		l.writes.Add(1)
		w.WriteHeader(http.StatusCreated)
	case isWatch(r):
		io.WriteString(w, strings.Join(watchLines(), "\n")+"\n")
	default:
		fmt.Fprintf(w, `{"kind":"PodList","version":%d}`, l.version.Load())
	}
}

func newLab(t *testing.T, http1 bool) *lab {
	t.Helper()
	l := &lab{t: t}
	upstream := httptest.NewUnstartedServer(l)
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	pair := upstream.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	ready, done := make(chan struct{}), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	o := Options{Listen: "127.0.0.1:0", Control: "127.0.0.1:0", Upstream: upstream.URL, CA: cert, Cert: cert, HTTP1: http1,
		Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		Ready: func(url, control string) error {
			l.url, l.control = url, control
			close(ready)
			return nil
		}}
	go func() { done <- Run(ctx, o) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the proxy ended with: %v", err)
		}
	})
	l.client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{RootCAs: roots}}}
	return l
}

func (l *lab) fault(text string) {
	l.t.Helper()
	answer, err := http.Post(l.control+"/faults", "application/json", strings.NewReader(text))
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		body, _ := io.ReadAll(answer.Body)
		l.t.Fatalf("fault %s: %s %s", text, answer.Status, body)
	}
}

// get returns the code (0: no answer at all), the body, and how it ended.
func (l *lab) get(path string) (int, string, error) {
	answer, err := l.client.Get(l.url + path)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

func (l *lab) journal() []Entry {
	l.t.Helper()
	answer, err := http.Get(l.control + "/requests")
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	entries := []Entry{}
	if err := json.NewDecoder(answer.Body).Decode(&entries); err != nil {
		l.t.Fatal(err)
	}
	return entries
}

// both runs a test over HTTP/2 and HTTP/1.1.
func both(t *testing.T, test func(*testing.T, *lab)) {
	for name, http1 := range map[string]bool{"HTTP2": false, "HTTP1": true} {
		t.Run(name, func(t *testing.T) { test(t, newLab(t, http1)) })
	}
}

func TestWithoutFaultsRequestsPass(t *testing.T) {
	both(t, func(t *testing.T, l *lab) {
		code, body, err := l.get("/pods?watch=1")
		if code != 200 || err != nil || body != strings.Join(watchLines(), "\n")+"\n" {
			t.Errorf("%d %q %v", code, body, err)
		}
		entries := l.journal()
		for len(entries) == 1 && entries[0].End == 0 {
			entries = l.journal()
		}
		if len(entries) != 1 || entries[0].URL != "/pods?watch=1" || entries[0].Status != 200 {
			t.Errorf("journal %+v", entries)
		}
	})
}

func TestErrorsAreAnsweredInThePlaceOfTheServer(t *testing.T) {
	both(t, func(t *testing.T, l *lab) {
		for _, c := range []struct {
			fault, reason string
			code          int
		}{
			{`{"kind":"throttle","retry_after":7,"count":1}`, "TooManyRequests", 429},
			{`{"kind":"error","count":1}`, "InternalError", 500},
			{`{"kind":"error","status":503,"count":1}`, "ServiceUnavailable", 503},
			{`{"kind":"gone","count":1}`, "Expired", 410},
		} {
			l.fault(c.fault)
			answer, err := l.client.Get(l.url + "/pods")
			if err != nil {
				t.Fatal(err)
			}
			s := status{}
			if err := json.NewDecoder(answer.Body).Decode(&s); err != nil {
				t.Errorf("%s: %v", c.fault, err)
			}
			answer.Body.Close()
			if answer.StatusCode != c.code || s.Code != c.code || s.Reason != c.reason || s.Kind != "Status" {
				t.Errorf("%s: %s %+v", c.fault, answer.Status, s)
			}
			if c.code == 429 && (answer.Header.Get("Retry-After") != "7" || s.Details.RetryAfterSeconds != 7) {
				t.Errorf("Retry-After %q, %+v", answer.Header.Get("Retry-After"), s.Details)
			}
			if code, _, err := l.get("/pods"); code != 200 || err != nil {
				t.Errorf("after %s: %d %v", c.fault, code, err)
			}
		}
	})
}

func TestFaultsInTheBodyHaveTheirPlace(t *testing.T) {
	lines := watchLines()
	all := strings.Join(lines, "\n") + "\n"
	line := len(lines[0]) + 1
	gone := strings.Join(lines[:2], "\n") + "\n" + string(goneEvent())
	both(t, func(t *testing.T, l *lab) {
		for _, c := range []struct {
			name, fault, want string
			whole             bool
		}{
			{"cut between lines", `{"kind":"cut","after_lines":2,"count":1}`, all[:2*line], false},
			{"cut in a line", `{"kind":"cut","after_lines":2,"after_bytes":9,"count":1}`, all[:2*line+9], false},
			{"cut of one stream", `{"kind":"cut","scope":"stream","after_bytes":9,"count":1}`, all[:9], false},
			{"end in a line", `{"kind":"end","after_lines":1,"after_bytes":9,"count":1}`, all[:line+9], true},
			{"truncated line", `{"kind":"truncate","after_lines":1,"after_bytes":9,"count":1}`,
				all[:line+9] + "\n" + all[2*line:], true},
			{"expired", `{"kind":"gone","in_stream":true,"after_lines":2,"count":1}`, gone, true},
			{"pieces", `{"kind":"split","max":3,"seed":5,"count":1}`, all, true},
			{"silence", `{"kind":"silence","ms":20,"after_bytes":9,"count":1}`, all, true},
			{"place after the end", `{"kind":"cut","after_lines":99,"count":1}`, all, true},
		} {
			l.fault(c.fault)
			code, body, err := l.get("/pods?watch=1")
			if code != 200 || body != c.want || (err == nil) != c.whole {
				t.Errorf("%s: %d %q %v, want %q", c.name, code, body, err, c.want)
			}
		}
	})
}

func TestTwoFaultsOfOneAnswerComeInTheOrderOfTheirPlaces(t *testing.T) {
	lines := watchLines()
	line := len(lines[0]) + 1
	all := strings.Join(lines, "\n") + "\n"
	l := newLab(t, false)
	l.fault(`{"kind":"end","after_lines":3,"count":1}`)
	l.fault(`{"kind":"truncate","after_lines":1,"after_bytes":4,"count":1}`)
	l.fault(`{"kind":"split","max":2,"count":1}`)
	_, body, err := l.get("/pods?watch=1")
	if want := all[:line+4] + "\n" + all[2*line:3*line]; body != want || err != nil {
		t.Errorf("%q %v, want %q", body, err, want)
	}
}

func TestACutBeforeTheAnswerForwardsNothing(t *testing.T) {
	both(t, func(t *testing.T, l *lab) {
		l.fault(`{"kind":"cut","count":1,"match":{"methods":["POST"]}}`)
		if _, err := l.client.Post(l.url+"/pods", "application/json", strings.NewReader("{}")); err == nil {
			t.Error("the request was answered")
		}
		if l.writes.Load() != 0 {
			t.Error("the write was done")
		}
	})
}

func TestADroppedAnswerLeavesTheWriteDone(t *testing.T) {
	both(t, func(t *testing.T, l *lab) {
		l.fault(`{"kind":"drop-answer","count":1}`)
		if _, err := l.client.Post(l.url+"/pods", "application/json", strings.NewReader("{}")); err == nil {
			t.Error("the request was answered")
		}
		if l.writes.Load() != 1 {
			t.Errorf("the write was done %d times", l.writes.Load())
		}
	})
}

func TestAStaleReadIsAnOlderAnswer(t *testing.T) {
	l := newLab(t, false)
	l.fault(`{"kind":"stale","count":1,"skip":0}`)
	for version := range int64(3) {
		l.version.Store(version)
		want := fmt.Sprintf(`{"kind":"PodList","version":%d}`, version)
		if version == 1 {
			want = `{"kind":"PodList","version":0}`
		}
		// The first read has nothing older and leaves the fault for the second.
		if _, body, err := l.get("/pods"); body != want || err != nil {
			t.Errorf("read %d: %q %v, want %q", version, body, err, want)
		}
	}
}

func TestADelayHoldsTheRequestAndRemovalReleasesIt(t *testing.T) {
	l := newLab(t, false)
	l.fault(`{"kind":"delay","ms":600000,"count":1}`)
	done := make(chan error, 1)
	go func() {
		_, _, err := l.get("/pods")
		done <- err
	}()
	for len(l.journal()) == 0 {
		time.Sleep(time.Millisecond)
	}
	select {
	case <-done:
		t.Fatal("the request was not held")
	default:
	}
	request, _ := http.NewRequest(http.MethodDelete, l.control+"/faults/1", nil)
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != http.StatusNoContent {
		t.Fatalf("%v %v", answer, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestSilenceHoldsAWatchUntilItsFaultIsRemoved(t *testing.T) {
	l := newLab(t, false)
	l.fault(`{"kind":"silence","after_lines":1}`)
	answer, err := l.client.Get(l.url + "/pods?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Scan()
	go func() {
		request, _ := http.NewRequest(http.MethodDelete, l.control+"/faults", nil)
		if answer, err := http.DefaultClient.Do(request); err == nil {
			answer.Body.Close()
		}
	}()
	count := 1
	for lines.Scan() {
		count++
	}
	if count != len(watchLines()) {
		t.Errorf("%d lines", count)
	}
}

func TestFaultsChooseTheirRequests(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name  string
		fault Fault
		want  []int // which of six equal requests are hit
		url   string
	}{
		{"all", Fault{}, []int{0, 1, 2, 3, 4, 5}, "/pods"},
		{"count and skip", Fault{Skip: 1, Count: 2}, []int{1, 2}, "/pods"},
		{"path", Fault{Match: Match{Path: "^/nodes"}}, nil, "/pods"},
		{"query", Fault{Match: Match{Path: "limit=5", Watch: &no}}, []int{0, 1, 2, 3, 4, 5}, "/pods?limit=5"},
		{"only watches", Fault{Match: Match{Watch: &yes}}, nil, "/pods"},
		{"method", Fault{Match: Match{Methods: []string{"POST"}}}, nil, "/pods"},
	} {
		c.fault.Kind = kindError
		table := &table{}
		if _, err := table.add(&c.fault); err != nil {
			t.Fatal(err)
		}
		got := []int(nil)
		for i := range 6 {
			r := httptest.NewRequest(http.MethodGet, c.url, nil)
			if len(table.take(r, func(*Fault) bool { return true })) > 0 {
				got = append(got, i)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: hit %v, want %v", c.name, got, c.want)
		}
	}
}

func TestProbabilityIsTheSameForTheSameSeed(t *testing.T) {
	draw := func(seed uint64) string {
		table, got := &table{}, ""
		if _, err := table.add(&Fault{Kind: kindError, Probability: 0.5, Seed: seed}); err != nil {
			t.Fatal(err)
		}
		for range 64 {
			hit := table.take(httptest.NewRequest(http.MethodGet, "/", nil), func(*Fault) bool { return true })
			got += fmt.Sprint(len(hit))
		}
		return got
	}
	if draw(1) != draw(1) || draw(1) == draw(2) || !strings.Contains(draw(1), "0") || !strings.Contains(draw(1), "1") {
		t.Errorf("%s\n%s", draw(1), draw(2))
	}
}

func TestWrongFaultsAreRefused(t *testing.T) {
	for _, f := range []Fault{{Kind: "x"}, {Kind: kindCut, Scope: "x"}, {Kind: kindCut, Probability: 2},
		{Kind: kindCut, Skip: -1}, {Kind: kindError, Status: 200}, {Kind: kindCut, Match: Match{Path: "("}}} {
		if _, err := (&table{}).add(&f); err == nil {
			t.Errorf("%+v was accepted", f)
		}
	}
}

func TestOnlyTheLoopbackIsServed(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "nonsense"} {
		if l, err := listen(address); err == nil {
			l.Close()
			t.Errorf("%s was accepted", address)
		}
	}
}
