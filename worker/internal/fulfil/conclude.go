package fulfil

import (
	"context"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/trace"
)

// reject writes a rejected row under the order's id and ends the delivery as the row says
// that is there afterwards. The primary key decides, by the result of the INSERT: a row
// that somebody else wrote first wins. Without ids there can be no row, only a burial.
func (f *Fulfiller) reject(ctx context.Context, r *Result, o seckill.Outcome, why seckill.Reason) {
	order := r.Delivery.Order
	if order.ID <= 0 || order.User <= 0 || order.Voucher <= 0 {
		r.bury(o, why)
		return
	}
	row, err := f.Ledger.Reject(ctx, order, why)
	if err != nil {
		r.fail(err)
		return
	}
	if row.Reason != why { // it was there before
		o = seckill.AlreadyStored
	}
	f.conclude(ctx, r, o, row)
}

// conclude ends a delivery by the committed row under its id. It looks at nothing else, so
// that a worker that finds the row after another one died ends the delivery alike.
func (f *Fulfiller) conclude(ctx context.Context, r *Result, o seckill.Outcome, row seckill.Order) {
	order := r.Delivery.Order
	switch {
	case !row.Same(order):
		f.giveBack(ctx, r, func() {
			f.alert(ctx, obs.AlertIDClash, r.Delivery)
			r.bury(seckill.IDClash, seckill.ReasonIDClash)
		})
	case row.Status.Live():
		r.settle(o)
	case row.Reason == seckill.ReasonShort:
		f.concludeShort(ctx, r, o)
	case row.Reason == seckill.ReasonMalformed, row.Reason == seckill.ReasonWornOut:
		f.giveBack(ctx, r, func() { r.bury(o, row.Reason) })
	default:
		f.giveBack(ctx, r, func() { r.settle(o) })
	}
}

// concludeShort closes the voucher before it gives the unit back: Redis sells more than
// the database has, and the unit must not be sold again before a sync has put that right.
func (f *Fulfiller) concludeShort(ctx context.Context, r *Result, o seckill.Outcome) {
	order := r.Delivery.Order
	if err := f.Sale.Shut(ctx, order.Voucher); err != nil {
		r.fail(err)
		return
	}
	f.giveBack(ctx, r, func() {
		f.alert(ctx, obs.AlertShort, r.Delivery)
		f.Resync(order.Voucher)
		r.settle(o)
	})
}

func (f *Fulfiller) giveBack(ctx context.Context, r *Result, then func()) {
	if err := f.Giver.GiveBack(ctx, r.Delivery.Order); err != nil {
		r.fail(err)
		return
	}
	then()
}

func (f *Fulfiller) alert(ctx context.Context, kind obs.Alert, d seckill.Delivery) {
	f.Meter.Alert(kind)
	ctx, _ = trace.Join(ctx, d.Trace) // ctx itself belongs to the whole batch
	o := d.Order
	f.Log.ErrorContext(ctx, "an order needs a look", "kind", kind, "order", o.ID, "user", o.User, "voucher", o.Voucher)
}
