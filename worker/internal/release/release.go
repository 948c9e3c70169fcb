// Package release gives the units of dead orders back to the sale: those of the worker's
// own refusals at once, those of cancelled orders by a sweep that any number of workers
// run side by side. It may import seckill, obs, run and pace, never a store.
package release

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/pace"
)

const (
	every    = time.Second
	pageMax  = 500              // orders in one sweep
	sweepMax = 10 * time.Second // for one sweep: a silent database is asked anew after it
)

type ledger interface {
	LiveOrder(ctx context.Context, u seckill.UserID, v seckill.VoucherID) (seckill.Order, error)
	HoldLive(ctx context.Context, id seckill.OrderID, fn func(ctx context.Context) error) (bool, error)
	ReleasesDue(ctx context.Context, limit int) ([]seckill.Order, error)
	ReleasesDone(ctx context.Context, ids []seckill.OrderID) error
}

type sale interface {
	Release(ctx context.Context, o seckill.Order) (bool, error)
	Adopt(ctx context.Context, o seckill.Order, existing seckill.OrderID) (bool, error)
}

// Releaser gives units back.
type Releaser struct {
	ledger  ledger
	sale    sale
	trouble *pace.Trouble
}

// New returns a Releaser that reads dead orders from l and gives their units back to s.
func New(l ledger, s sale, m *obs.Worker, log *slog.Logger) *Releaser {
	return &Releaser{ledger: l, sale: s, trouble: pace.NewTrouble(log, m, "release")}
}

// GiveBack takes a dead order out of Redis, once its dead row is committed. Where the user
// has another live order of the voucher, their ticket becomes that one's and the unit
// stays sold; otherwise the unit goes back on sale. Only a ticket of this very order is
// touched, so it may be called at any time and any number of times.
func (r *Releaser) GiveBack(ctx context.Context, o seckill.Order) error {
	live, err := r.ledger.LiveOrder(ctx, o.User, o.Voucher)
	if errors.Is(err, seckill.OrderNotFound) {
		return r.free(ctx, o)
	}
	if err != nil {
		return err
	}
	// The live row stays locked meanwhile. Were it cancelled in between, its own release
	// would come too early to find the ticket, and the unit would stay sold for ever.
	held, err := r.ledger.HoldLive(ctx, live.ID, func(ctx context.Context) error {
		_, err := r.sale.Adopt(ctx, o, live.ID)
		return err
	})
	if err == nil && !held {
		return r.free(ctx, o)
	}
	return err
}

func (r *Releaser) free(ctx context.Context, o seckill.Order) error {
	_, err := r.sale.Release(ctx, o)
	return err
}

// Run sweeps about once a second until intake ends, which cuts the sweep in hand short: any
// worker finishes it later, and a database that is silent must not hold up the stop. It
// returns nil.
func (r *Releaser) Run(intake, _ context.Context) error {
	failing := pace.NewBackoff()
	for err := run.Wait(intake, pace.Between(0, every)); err == nil; {
		full, fault := r.sweep(intake)
		if intake.Err() != nil {
			return nil
		}
		r.trouble.Note(fault)
		switch {
		case fault != nil:
			err = failing.Wait(intake)
		case full:
			err = intake.Err()
		default:
			failing.Reset()
			err = run.Wait(intake, pace.Around(every))
		}
	}
	return nil
}

// sweep gives back one page of dead orders; full says that there may be more.
func (r *Releaser) sweep(ctx context.Context) (full bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepMax)
	defer cancel()
	due, err := r.ledger.ReleasesDue(ctx, pageMax)
	if err != nil || len(due) == 0 {
		return false, err
	}
	done, fault := r.giveBackAll(ctx, due)
	if len(done) > 0 {
		fault = errors.Join(fault, r.ledger.ReleasesDone(ctx, done))
	}
	return len(due) == pageMax, fault
}

// giveBackAll goes on past an order that fails by itself, and stops where nothing answers.
func (r *Releaser) giveBackAll(ctx context.Context, due []seckill.Order) (done []seckill.OrderID, fault error) {
	for _, o := range due {
		err := r.GiveBack(ctx, o)
		if err == nil {
			done = append(done, o.ID)
			continue
		}
		fault = err
		if errors.Is(err, seckill.Unavailable) {
			break
		}
	}
	return done, fault
}
