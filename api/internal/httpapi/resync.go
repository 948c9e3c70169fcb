package httpapi

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// healer rebuilds a voucher in Redis from SQL, unless another process is at it; see package books.
type healer interface {
	Heal(ctx context.Context, v seckill.VoucherID) error
}

const (
	resyncPause = time.Second     // between two starts for one voucher
	resyncMax   = 4               // at once
	syncMax     = 5 * time.Minute // one sync; a million orders take well under a minute
)

// resync has vouchers rebuilt in the background when a buyer finds them not ready. A storm
// of such buyers starts one sync: each voucher has at most one running, and one start a second.
type resync struct {
	books healer
	log   *slog.Logger
	now   func() time.Time

	mu      sync.Mutex
	closed  bool
	running map[seckill.VoucherID]context.CancelFunc
	started map[seckill.VoucherID]time.Time // in the last second
	wait    sync.WaitGroup
}

func newResync(books healer, log *slog.Logger, now func() time.Time) *resync {
	return &resync{
		books: books, log: log, now: now,
		running: make(map[seckill.VoucherID]context.CancelFunc),
		started: make(map[seckill.VoucherID]time.Time),
	}
}

// ask starts a sync of v unless there is reason not to; whoever still finds v not ready asks
// again. It does not wait, and the end of ctx does not end the sync: close does.
func (r *resync) ask(ctx context.Context, v seckill.VoucherID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	maps.DeleteFunc(r.started, func(_ seckill.VoucherID, t time.Time) bool { return now.Sub(t) >= resyncPause })
	_, runs := r.running[v]
	_, recent := r.started[v]
	if r.closed || runs || recent || len(r.running) >= resyncMax {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), syncMax)
	r.running[v] = cancel
	r.started[v] = now
	r.wait.Go(func() {
		defer r.ended(v, cancel)
		if err := r.sync(ctx, v); err != nil {
			r.log.Warn("sync of a voucher failed; the next buyer starts another", "voucher", v, "error", err)
		}
	})
}

// sync turns a panic into an error.
func (r *resync) sync(ctx context.Context, v seckill.VoucherID) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked("httpapi.resync", p)
		}
	}()
	return r.books.Heal(ctx, v)
}

func (r *resync) ended(v seckill.VoucherID, cancel context.CancelFunc) {
	cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, v)
}

// close cuts the syncs that run short and waits for them. A sync that was cut leaves its
// voucher closed, until a buyer finds it on another node.
func (r *resync) close() {
	r.mu.Lock()
	r.closed = true
	for _, cancel := range r.running {
		cancel()
	}
	r.mu.Unlock()
	r.wait.Wait()
}
