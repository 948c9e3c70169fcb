package httpapi

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	memoLife = time.Second     // how old a remembered answer may be
	memoMax  = 10_000          // answers remembered
	loadMax  = 2 * time.Second // one load, whoever waits for it
)

// memo remembers answers for a second, and lets a storm of equal questions ask once.
type memo[K comparable, V any] struct {
	now  func() time.Time
	load func(context.Context, K) (V, error)

	mu      sync.Mutex
	answers map[K]*recall[V]
}

type recall[V any] struct {
	done  chan struct{} // closed when the rest is set
	until time.Time     // when it is forgotten
	value V
	err   error
}

func newMemo[K comparable, V any](now func() time.Time, load func(context.Context, K) (V, error)) *memo[K, V] {
	return &memo[K, V]{now: now, load: load, answers: make(map[K]*recall[V])}
}

// get answers from memory, from a load that another caller began, or by a load of its own.
func (m *memo[K, V]) get(ctx context.Context, key K) (V, error) {
	m.mu.Lock()
	r, ok := m.answers[key]
	if ok && r.fresh(m.now()) {
		m.mu.Unlock()
		return r.wait(ctx)
	}
	if len(m.answers) >= memoMax {
		clear(m.answers) // what lives for a second is cheap to lose
	}
	r = &recall[V]{done: make(chan struct{})}
	m.answers[key] = r
	m.mu.Unlock()
	m.fill(ctx, key, r)
	return r.value, r.err
}

// fill loads on behalf of everybody who waits, so it outlives the caller who began it.
func (m *memo[K, V]) fill(ctx context.Context, key K, r *recall[V]) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadMax)
	defer cancel()
	// What the others see if load panics; the panic itself goes on to its caller.
	r.err = &seckill.Error{Op: "httpapi.memo", Code: seckill.Internal, Err: errors.New("load panicked")}
	defer close(r.done)
	r.value, r.err = m.load(ctx, key)
	// That something does not exist is an answer; that nobody knows is none.
	if r.err == nil || errors.Is(r.err, seckill.VoucherNotFound) {
		r.until = m.now().Add(memoLife)
	}
}

// forget drops everything, because something changed. Loads that run are not joined any more.
func (m *memo[K, V]) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.answers)
}

// fresh reports whether r may still answer; one that is being loaded may.
func (r *recall[V]) fresh(now time.Time) bool {
	select {
	case <-r.done:
		return now.Before(r.until)
	default:
		return true
	}
}

func (r *recall[V]) wait(ctx context.Context) (V, error) {
	select {
	case <-r.done:
		return r.value, r.err
	case <-ctx.Done():
		var none V
		return none, &seckill.Error{Op: "httpapi.memo", Code: seckill.Unavailable, Err: context.Cause(ctx)}
	}
}
