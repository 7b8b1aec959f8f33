// SPDX-License-Identifier: LGPL-2.1-or-later

// Copies the body of an answer to the client, and does the faults that have a place in it.

package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// errCut ends an answer by cutting, errEnd by a proper end; the other two are nobody's fault.
var (
	errCut    = errors.New("cut by a fault")
	errEnd    = errors.New("ended by a fault")
	errLeft   = errors.New("the client left")
	errBroken = errors.New("the upstream broke off")
)

// step is a fault that waits for its place in the body.
type step struct {
	fault       *Fault
	lines, more int // what has still to pass: lines, then bytes
	done        bool
}

// reach tells after how many bytes of the chunk the place is; -1 when it is not in it. It counts what passes.
func (s *step) reach(chunk []byte) int {
	at := 0
	for s.lines > 0 {
		i := bytes.IndexByte(chunk[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
		s.lines--
	}
	if rest := len(chunk) - at; rest < s.more {
		s.more -= rest
		return -1
	}
	at += s.more
	s.more = 0
	return at
}

// body writes to one client.
type body struct {
	w     http.ResponseWriter
	out   *http.ResponseController
	gone  <-chan struct{}
	table *table
	steps []*step
	split *Fault
	// dropping: the rest of the current line is left out.
	dropping bool
	bytes    int64
	lines    int64
	// conn is what the answer leaves over, and target how much it has written when the last piece has left.
	conn   *countedConn
	target int64
}

func newBody(w http.ResponseWriter, r *http.Request, t *table, faults []*Fault) *body {
	b := &body{w: w, out: http.NewResponseController(w), gone: r.Context().Done(), table: t,
		conn: raw(r)}
	for _, f := range faults {
		switch {
		case f.Kind == kindSplit:
			b.split = f
		case f.inBody():
			b.steps = append(b.steps, &step{fault: f, lines: f.AfterLines, more: f.AfterBytes})
		}
	}
	return b
}

// copy passes the body on until it ends, a fault ends it, or the client leaves.
func (b *body) copy(from io.Reader) error {
	if err := b.begin(); err != nil {
		return err
	}
	chunk := make([]byte, 32<<10)
	for {
		n, err := from.Read(chunk)
		if n > 0 {
			if err := b.pass(chunk[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errBroken
		}
	}
}

// pass writes a chunk, stopping at the places of the steps.
func (b *body) pass(chunk []byte) error {
	for len(chunk) > 0 {
		next, due := b.nextPlace(chunk)
		if err := b.write(chunk[:next]); err != nil {
			return err
		}
		chunk = chunk[next:]
		if err := b.do(due); err != nil {
			return err
		}
	}
	return nil
}

// nextPlace returns how far the chunk can pass, and the steps that are due then. It counts the passing bytes.
func (b *body) nextPlace(chunk []byte) (next int, due []*step) {
	next = len(chunk)
	for _, s := range b.steps {
		try := *s
		if at := try.reach(chunk); !s.done && at >= 0 && at <= next {
			if at < next {
				due = nil
			}
			next, due = at, append(due, s)
		}
	}
	for _, s := range b.steps {
		s.reach(chunk[:next])
	}
	return next, due
}

// begin does the steps whose place is the very beginning.
func (b *body) begin() error {
	due := []*step{}
	for _, s := range b.steps {
		if s.lines == 0 && s.more == 0 {
			due = append(due, s)
		}
	}
	return b.do(due)
}

func (b *body) do(due []*step) error {
	for _, s := range due {
		s.done = true
		switch s.fault.Kind {
		case kindCut:
			return errCut
		case kindEnd:
			return errEnd
		case kindTruncate:
			b.dropping = true
		case kindGone:
			if err := b.write(goneEvent()); err != nil {
				return err
			}
			return errEnd
		case kindSilence, kindDelay:
			if !s.fault.hold(b.gone) {
				return errLeft
			}
		}
	}
	return nil
}

// write sends bytes, less what a truncation leaves out, in pieces if they are to be split.
func (b *body) write(part []byte) error {
	if b.dropping {
		i := bytes.IndexByte(part, '\n')
		if i < 0 {
			return nil
		}
		part, b.dropping = part[i:], false
	}
	b.lines += int64(bytes.Count(part, []byte{'\n'}))
	for len(part) > 0 {
		n := len(part)
		if b.split != nil {
			n = min(n, b.table.size(b.split))
		}
		if b.conn != nil {
			b.target = b.conn.written.Load() + int64(n)
		}
		written, err := b.w.Write(part[:n])
		b.bytes += int64(written)
		if err == nil {
			err = b.out.Flush()
		}
		if err != nil {
			return errLeft
		}
		part = part[n:]
	}
	return nil
}
