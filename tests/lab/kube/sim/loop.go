// SPDX-License-Identifier: LGPL-2.1-or-later

// A work loop: a queue of keys with back-off for failures, and workers. One key is never worked on by two workers at
// once. Queues may order their keys by a priority, as the migration controller's does.

package sim

import (
	"container/heap"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	retryFirst = 20 * time.Millisecond
	retryMost  = 3 * time.Second
)

type loop struct {
	name  string
	queue workqueue.TypedRateLimitingInterface[string]
	// work looks at a key, and says after which time to look again (0 = not before something changes).
	work func(ctx context.Context, key string) (time.Duration, error)
}

func newLoop(name string, priority func(string) int, work func(context.Context, string) (time.Duration, error)) *loop {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryFirst, retryMost)
	config := workqueue.TypedQueueConfig[string]{}
	if priority != nil {
		config.Queue = &priorityQueue{priority: priority}
	}
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
		Queue: workqueue.NewTypedWithConfig(config)})
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[string]{DelayingQueue: delaying})
	return &loop{name: name, queue: queue, work: work}
}

func (l *loop) add(key string) {
	l.queue.Add(key)
}

// run starts the workers; they end when the context does.
func (l *loop) run(ctx context.Context, workers int, group *sync.WaitGroup) {
	for range workers {
		group.Go(func() {
			for l.step(ctx) {
			}
		})
	}
	group.Go(func() {
		<-ctx.Done()
		l.queue.ShutDown()
	})
}

func (l *loop) step(ctx context.Context) bool {
	key, stopped := l.queue.Get()
	if stopped {
		return false
	}
	defer l.queue.Done(key)
	after, err := l.work(ctx, key)
	switch {
	case ctx.Err() != nil:
		return false
	case errors.Is(err, errGone):
		l.queue.Forget(key)
	case err != nil:
		slog.Debug("retry", "loop", l.name, "key", key, "error", err)
		l.queue.AddRateLimited(key)
	default:
		l.queue.Forget(key)
		if after > 0 {
			l.queue.AddAfter(key, after)
		}
	}
	return true
}

// priorityQueue orders keys by priority, and keys of one priority by their arrival.
type priorityQueue struct {
	priority func(string) int
	items    []queued
	arrivals uint64
}

type queued struct {
	key      string
	priority int
	arrival  uint64
}

func (q *priorityQueue) Touch(string) {}

func (q *priorityQueue) Push(key string) {
	q.arrivals++
	heap.Push((*queuedHeap)(&q.items), queued{key, q.priority(key), q.arrivals})
}

func (q *priorityQueue) Len() int {
	return len(q.items)
}

func (q *priorityQueue) Pop() string {
	return heap.Pop((*queuedHeap)(&q.items)).(queued).key
}

type queuedHeap []queued

func (h queuedHeap) Len() int      { return len(h) }
func (h queuedHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h queuedHeap) Less(i, j int) bool {
	if h[i].priority != h[j].priority {
		return h[i].priority > h[j].priority
	}
	return h[i].arrival < h[j].arrival
}

func (h *queuedHeap) Push(x any) {
	*h = append(*h, x.(queued))
}

func (h *queuedHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
