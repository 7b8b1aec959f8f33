// SPDX-License-Identifier: LGPL-2.1-or-later

// Package proxy is an HTTPS reverse proxy in front of the API server that does to requests what networks and loaded
// servers do: connections that break, answers that come late, in pieces, truncated or not at all, old data, and the
// errors 410, 429 and 500. Which request gets which fault is set over a control port. Client certificates cannot pass
// a proxy that ends TLS: clients log in with bearer tokens.
package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

const stopLimit = 2 * time.Second

// Options is what the command line sets.
type Options struct {
	// Listen and Control are addresses on the loopback; port 0 takes a free one.
	Listen, Control string
	// Upstream is the URL of the API server.
	Upstream string
	// CA is what the upstream's certificate is checked with.
	CA []byte
	// Cert and Key are the proxy's own certificate.
	Cert, Key []byte
	// HTTP1 offers no HTTP/2.
	HTTP1 bool
	// Ready is called once, with the URLs of both ports.
	Ready func(url, control string) error
}

// Proxy is one running proxy.
type Proxy struct {
	upstream *url.URL
	client   http.RoundTripper
	faults   *table
	memory   *memory
	journal  *journal
	conns    *connections
}

// New makes a proxy that does not listen yet.
func New(upstream string, ca []byte) (*Proxy, error) {
	u, err := url.Parse(upstream)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("--upstream %q is not a URL like https://127.0.0.1:6443", upstream)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the authority of the upstream is not PEM")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
		DisableCompression: true}
	return &Proxy{upstream: u, client: transport, faults: &table{}, memory: newMemory(), journal: &journal{},
		conns: &connections{open: map[net.Conn]int{}}}, nil
}

// Run serves until the context ends.
func Run(ctx context.Context, o Options) error {
	p, err := New(o.Upstream, o.CA)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(o.Cert, o.Key)
	if err != nil {
		return err
	}
	listener, err := listen(o.Listen)
	if err != nil {
		return err
	}
	control, err := listen(o.Control)
	if err != nil {
		return err
	}
	front, back := p.servers(o.HTTP1, pair)
	failed := make(chan error, 2)
	go func() { failed <- front.ServeTLS(countingListener{listener}, "", "") }()
	go func() { failed <- back.Serve(control) }()
	if err := o.Ready("https://"+listener.Addr().String(), "http://"+control.Addr().String()); err != nil {
		return err
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = nil
	}
	p.faults.remove(0)
	front.Close()
	stop, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	return errors.Join(err, back.Shutdown(stop))
}

// servers makes the HTTPS server and the one of the control port.
func (p *Proxy) servers(http1 bool, pair tls.Certificate) (front, back *http.Server) {
	protocols := []string{"h2", "http/1.1"}
	if http1 {
		protocols = protocols[1:]
	}
	front = &http.Server{Handler: p, ErrorLog: log.New(discard{}, "", 0), ConnState: p.conns.state,
		ConnContext: p.conns.context, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protocols}}
	if http1 {
		front.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	return front, &http.Server{Handler: p.control(), ErrorLog: log.New(os.Stderr, "kvmig-kube proxy: ", 0)}
}

// listen refuses anything but the loopback.
func listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", address, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("address %q: only loopback addresses are served", address)
	}
	return net.Listen("tcp", address)
}

// discard swallows what net/http says about connections that broke: that is what the proxy is for.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
