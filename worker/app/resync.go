package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	// However many orders of a voucher ask, its syncs stay so far apart.
	resyncGap = 250 * time.Millisecond
	// Vouchers that may wait for a sync; the next order of one that found no place asks again.
	resyncMax = 1024
)

type syncer interface {
	Heal(ctx context.Context, v seckill.VoucherID) error
}

// resync runs the syncs that orders ask for, one after the other.
type resync struct {
	books syncer
	log   *slog.Logger
	asked chan seckill.VoucherID

	mu      sync.Mutex
	waiting map[seckill.VoucherID]bool
}

func newResync(b syncer, log *slog.Logger) *resync {
	return &resync{books: b, log: log, asked: make(chan seckill.VoucherID, resyncMax), waiting: map[seckill.VoucherID]bool{}}
}

// ask puts a voucher in line, once, and does not wait.
func (r *resync) ask(v seckill.VoucherID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting[v] {
		return
	}
	select {
	case r.asked <- v:
		r.waiting[v] = true
	default:
	}
}

// taken lets the voucher be asked for again: what is found from now on needs a later sync.
func (r *resync) taken(v seckill.VoucherID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, v)
}

// run syncs until intake ends. A sync that fails is asked for again.
func (r *resync) run(intake, work context.Context) error {
	failing := run.NewBackoff(resyncGap, 5*time.Second)
	for {
		select {
		case <-intake.Done():
			return nil
		case v := <-r.asked:
			r.taken(v)
			err := r.books.Heal(work, v)
			if err == nil || errors.Is(err, seckill.VoucherNotFound) {
				failing.Reset()
				_ = run.Wait(intake, resyncGap)
				continue
			}
			r.log.Warn("a sync failed and is tried again", "voucher", v, "err", err)
			r.ask(v)
			_ = failing.Wait(intake)
		}
	}
}
