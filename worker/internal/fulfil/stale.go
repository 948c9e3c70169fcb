package fulfil

import (
	"context"
	"maps"
	"sync"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/trace"
)

// Epochs are the epochs of vouchers as SQL had them at some moment. A delivery may only be
// stored under one that was read before its entry was; an older one is always safe, since
// the deduction refuses it.
type Epochs map[seckill.VoucherID]int64

// Stamp marks deliveries that were read from the stream after e was taken.
func (e Epochs) Stamp(ds []seckill.Delivery) {
	for i := range ds {
		ds[i].Epoch = e[ds[i].Order.Voucher]
	}
}

// Epochs returns what is known now: take it before the stream is read. It is not to be
// changed.
func (f *Fulfiller) Epochs() Epochs { return f.known.all() }

// How many vouchers are remembered; past that, all but the latest are asked for again.
const knownMax = 10_000

// memory keeps the latest epochs, copied on each write so that readers share one map.
type memory struct {
	mu sync.Mutex
	m  Epochs
}

func (k *memory) all() Epochs {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.m
}

func (k *memory) learn(fresh Epochs) {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := make(Epochs, len(k.m)+len(fresh))
	if len(k.m) < knownMax {
		maps.Copy(next, k.m)
	}
	for v, epoch := range fresh {
		next[v] = max(next[v], epoch) // two batches may learn at once
	}
	k.m = next
}

// epochs returns the epoch of each voucher under which all of the batch may be stored: the
// oldest, and none where one delivery knows none.
func epochs(rs []*Result) map[seckill.VoucherID]int64 {
	oldest := make(map[seckill.VoucherID]int64, 1)
	for _, r := range rs {
		v, epoch := r.Delivery.Order.Voucher, r.Delivery.Epoch
		if known, ok := oldest[v]; !ok || epoch < known {
			oldest[v] = epoch
		}
	}
	maps.DeleteFunc(oldest, func(_ seckill.VoucherID, epoch int64) bool { return epoch == 0 })
	return oldest
}

// readAnew reads the epochs, and only then the entries: whoever is still in the stream
// after a rebuild was seen by it. It returns those that may be stored now; the others are
// admitted again, or can never be stored because SQL has no such voucher.
func (f *Fulfiller) readAnew(ctx context.Context, p int, stale []*Result) (again []*Result, err error) {
	if len(stale) == 0 {
		return nil, nil
	}
	fresh, err := f.Ledger.Epochs(ctx, vouchers(stale))
	if err != nil {
		return nil, err
	}
	f.known.learn(fresh)
	there, err := f.reread(ctx, p, stale)
	if err != nil {
		return nil, err
	}
	var gone []*Result
	for _, r := range stale {
		order := r.Delivery.Order
		epoch, known := fresh[order.Voucher]
		switch {
		case !known:
			f.reject(ctx, r, seckill.Malformed, seckill.ReasonMalformed)
		case there[r.Delivery.Entry].Same(order): // a younger Redis may use an entry id again
			r.Delivery.Epoch = epoch
			again = append(again, r)
		default:
			r.Gone = true
			gone = append(gone, r)
		}
	}
	return again, f.readmit(ctx, gone)
}

func (f *Fulfiller) reread(ctx context.Context, p int, rs []*Result) (map[string]seckill.Order, error) {
	entries := make([]string, len(rs))
	for i, r := range rs {
		entries[i] = r.Delivery.Entry
	}
	ds, err := f.Sale.Reread(ctx, p, entries)
	if err != nil {
		return nil, err
	}
	there := make(map[string]seckill.Order, len(ds))
	for _, d := range ds {
		there[d.Entry] = d.Order
	}
	return there, nil
}

// readmit finds an end for orders that Redis lost. Whoever has a row is done; the others
// ask for their unit again, under the id that their buyer was told.
func (f *Fulfiller) readmit(ctx context.Context, gone []*Result) error {
	if len(gone) == 0 {
		return nil
	}
	ids := make([]seckill.OrderID, len(gone))
	for i, r := range gone {
		ids[i] = r.Delivery.Order.ID
	}
	rows, err := f.Ledger.Rows(ctx, ids)
	if err != nil {
		return err
	}
	for _, r := range gone {
		if row, ok := rows[r.Delivery.Order.ID]; ok {
			f.conclude(ctx, r, seckill.AlreadyStored, row)
		} else {
			f.admitAgain(ctx, r)
		}
	}
	return nil
}

// admitAgain asks for the unit of an order, unless a reset forgot it on purpose.
func (f *Fulfiller) admitAgain(ctx context.Context, r *Result) {
	order := r.Delivery.Order
	if last, err := f.Ledger.Forgotten(ctx, order.Voucher); err != nil {
		r.fail(err)
		return
	} else if order.ID <= last {
		r.settle(seckill.Lost)
		return
	}
	ctx, _ = trace.Join(ctx, r.Delivery.Trace) // the new entry goes on with it
	a, err := f.Sale.Admit(ctx, order)
	code := seckill.CodeOf(err)
	switch {
	case err == nil, code == seckill.AlreadyOrdered && a.Order == order.ID:
		r.settle(seckill.Lost) // it comes again by the stream: now, or when a sync queues its ticket
	case code == seckill.AlreadyOrdered, code == seckill.SoldOut, code == seckill.Ended, code == seckill.NotStarted:
		if err := f.Sale.Confirm(ctx, order.Voucher); err != nil {
			r.fail(err)
			return
		}
		if f.reject(ctx, r, seckill.Lost, seckill.ReasonLost); r.Outcome == seckill.Lost {
			f.alert(ctx, obs.AlertLost, r.Delivery)
		}
	case code == seckill.NotReady:
		f.Resync(order.Voucher)
		r.fail(err)
	default:
		r.fail(err)
	}
}
