// SPDX-License-Identifier: LGPL-2.1-or-later

// The connections of the clients, so that faults can break them.

package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// cutGrace is the longest wait for bytes on their way before a connection is cut.
const cutGrace = time.Second

// countedConn knows how much has been written to the network.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}

// countingListener gives out connections that count.
type countingListener struct{ net.Listener }

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: c}, nil
}

type connections struct {
	mu     sync.Mutex
	open   map[net.Conn]int
	opened int
}

type connKey struct{}

func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// state numbers connections as they come, and forgets them when they end.
func (c *connections) state(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.opened++
		c.open[conn] = c.opened
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

func (c *connections) number(r *http.Request) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	return c.open[conn]
}

func (c *connections) counts() (opened, open int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened, len(c.open)
}

// raw is the connection of a request below TLS.
func raw(r *http.Request) *countedConn {
	t, ok := r.Context().Value(connKey{}).(*tls.Conn)
	if !ok {
		return nil
	}
	c, _ := t.NetConn().(*countedConn)
	return c
}

// cut breaks the connection of a request, without TLS' goodbye. HTTP/2 writes in the background: what the answer
// wrote before the cut is given the time to leave, which is when the connection has written up to target.
func (c *connections) cut(r *http.Request, target int64) {
	conn := raw(r)
	if conn == nil {
		return
	}
	for end := time.Now().Add(cutGrace); conn.written.Load() < target && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	conn.Close()
}

func (c *connections) cutAll() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		hardClose(conn)
	}
	return len(c.open)
}

func hardClose(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	conn.Close()
}
