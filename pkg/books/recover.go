package books

import (
	"context"

	"github.com/openseckill/seckill/pkg/seckill"
)

// What takes an order in again.
type admitter interface {
	Admit(ctx context.Context, o seckill.Order) (seckill.Admission, error)
	Confirm(ctx context.Context, v seckill.VoucherID) error
}

// What writes down that it could not be.
type rejecter interface {
	Reject(ctx context.Context, o seckill.Order, reason seckill.Reason) (seckill.Order, error)
}

// Recover finds an end for an order that was accepted, and of which neither a ticket nor
// then a row tells: Redis forgot it. It is admitted again under its id, or gets a rejected
// row, lost; the order is returned as it is by then. NotReady: a voucher that is closed or
// out of balance may have the order in its stream, so nothing can be said before a sync.
// OrderNotFound: it may be of a rehearsal that was forgotten since.
//
// It makes no second order of what a worker has in hand: whatever that does comes under
// the same id, where the primary key leaves one row, and whoever comes second ends by it.
func (b *Books) Recover(ctx context.Context, o seckill.Order) (seckill.Order, error) {
	if !b.sells(ctx, o.Voucher) {
		return o, &seckill.Error{Op: "books.Recover", Code: seckill.NotReady}
	}
	last, err := b.sql.Forgotten(ctx, o.Voucher)
	if err != nil {
		return o, err
	}
	if o.ID <= last {
		return o, &seckill.Error{Op: "books.Recover", Code: seckill.OrderNotFound}
	}
	_, err = b.redis.Admit(ctx, o)
	switch seckill.CodeOf(err) {
	case "":
		o.Status = seckill.Queued
		return o, nil
	case seckill.AlreadyOrdered, seckill.SoldOut, seckill.Ended, seckill.NotStarted:
		return b.lose(ctx, o)
	default:
		return o, err
	}
}

// lose calls an order lost. The INSERT decides: a worker that stored it meanwhile wins.
func (b *Books) lose(ctx context.Context, o seckill.Order) (seckill.Order, error) {
	const op = "books.Recover"
	if !b.sells(ctx, o.Voucher) { // that a sale has ended is said without a look at its books
		return o, &seckill.Error{Op: op, Code: seckill.NotReady}
	}
	if err := b.redis.Confirm(ctx, o.Voucher); err != nil { // else another server has it, perhaps
		return o, err
	}
	row, err := b.sql.Reject(ctx, o, seckill.ReasonLost)
	if err == nil && !row.Same(o) {
		err = &seckill.Error{Op: op, Code: seckill.OrderNotFound}
	}
	if err == nil && row.Reason == seckill.ReasonLost {
		b.log.ErrorContext(ctx, "an accepted order was lost by Redis", "order", o.ID, "user", o.User, "voucher", o.Voucher)
	}
	return row, err
}
