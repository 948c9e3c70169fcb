package fulfil

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

// How often orders are read anew because their voucher was rebuilt, before they wait.
const roundsMax = 3

var errRebuilt = errors.New("the voucher is rebuilt again and again")

// storeLocked stores the deliveries whose users' locks are free; the others are Busy.
func (f *Fulfiller) storeLocked(ctx context.Context, p int, rs []*Result) {
	asked := time.Now()
	err := f.Sale.WithLocks(ctx, p, users(rs), func(ctx context.Context, held map[seckill.UserID]bool) error {
		f.Meter.Stage(obs.StageLock, time.Since(asked))
		mine := make([]*Result, 0, len(rs))
		for _, r := range rs {
			if held[r.Delivery.Order.User] {
				mine = append(mine, r)
			} else {
				r.Outcome = seckill.Busy
			}
		}
		began := time.Now()
		defer func() { f.Meter.Stage(obs.StageStore, time.Since(began)) }()
		return f.store(ctx, p, mine) // ctx ends when a lock is lost, and the transaction with it
	})
	for _, r := range rs {
		if r.Outcome == seckill.Transient && r.Err == nil {
			r.Err = err
		}
	}
}

// store writes the rows and does what each verdict asks for. Orders whose voucher was
// rebuilt since they were read go round again.
func (f *Fulfiller) store(ctx context.Context, p int, rs []*Result) error {
	for range roundsMax {
		if len(rs) == 0 {
			return nil
		}
		verdicts, err := f.Ledger.StoreOrders(ctx, orders(rs), epochs(rs))
		if err != nil {
			return err
		}
		if len(verdicts) != len(rs) {
			return &seckill.Error{Op: "fulfil.Handle", Code: seckill.Internal, Err: fmt.Errorf("%d verdicts for %d orders", len(verdicts), len(rs))}
		}
		var stale []*Result
		for i, r := range rs {
			if verdicts[i].Outcome == seckill.Stale {
				stale = append(stale, r)
			} else {
				f.apply(ctx, r, verdicts[i])
			}
		}
		if rs, err = f.readAnew(ctx, p, stale); err != nil {
			return err
		}
	}
	if len(rs) == 0 {
		return nil
	}
	return errRebuilt
}

func (f *Fulfiller) apply(ctx context.Context, r *Result, v seckill.Verdict) {
	switch v.Outcome {
	case seckill.Stored:
		r.settle(seckill.Stored)
	case seckill.AlreadyStored, seckill.IDClash:
		f.conclude(ctx, r, v.Outcome, v.Row)
	case seckill.Duplicate:
		f.reject(ctx, r, seckill.Duplicate, seckill.ReasonDuplicate)
	case seckill.Short:
		f.reject(ctx, r, seckill.Short, seckill.ReasonShort)
	case seckill.Malformed:
		f.reject(ctx, r, seckill.Malformed, seckill.ReasonMalformed)
	default:
		r.fail(&seckill.Error{Op: "fulfil.Handle", Code: seckill.Internal, Err: fmt.Errorf("no such verdict: %q", v.Outcome)})
	}
}

func users(rs []*Result) []seckill.UserID {
	return distinct(rs, func(o seckill.Order) seckill.UserID { return o.User })
}

func vouchers(rs []*Result) []seckill.VoucherID {
	return distinct(rs, func(o seckill.Order) seckill.VoucherID { return o.Voucher })
}

// distinct lists what key finds in the orders, each once, in the order of their arrival.
func distinct[T comparable](rs []*Result, key func(seckill.Order) T) []T {
	seen := make(map[T]bool, len(rs))
	all := make([]T, 0, len(rs))
	for _, r := range rs {
		if k := key(r.Delivery.Order); !seen[k] {
			seen[k] = true
			all = append(all, k)
		}
	}
	return all
}

func orders(rs []*Result) []seckill.Order {
	all := make([]seckill.Order, len(rs))
	for i, r := range rs {
		all[i] = r.Delivery.Order
	}
	return all
}
