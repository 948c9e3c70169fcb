package books

import (
	"context"
	"errors"
	"time"

	"github.com/openseckill/seckill/pkg/orderid"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
)

// What forgets a rehearsal in Redis.
type forgetter interface {
	Clock(ctx context.Context, v seckill.VoucherID) (time.Time, error)
	Shut(ctx context.Context, v seckill.VoucherID) error
	ForgetMessages(ctx context.Context, v seckill.VoucherID) (waiting, buried int, err error)
	ForgetKeys(ctx context.Context, v seckill.VoucherID) error
}

// What forgets it in SQL.
type eraser interface {
	ForgetOrders(ctx context.Context, v seckill.VoucherID, first func(ctx context.Context, v seckill.Voucher) (last seckill.OrderID, err error)) (n int, err error)
	Forgotten(ctx context.Context, v seckill.VoucherID) (last seckill.OrderID, err error)
}

var errOnSale = errors.New("its sale is open")

// Forgotten is what a reset took away.
type Forgotten struct {
	Orders  int `json:"orders"`  // rows, live or dead
	Waiting int `json:"waiting"` // messages that were not stored yet
	Buried  int `json:"buried"`
}

// Reset forgets all orders and messages of a voucher and loads it anew, as if nobody had
// ever bought. Conflict: its sale is open, by the clock that judges it. One that was cut
// short left the rows as they were, and the voucher closed: another one, or a sync, goes on.
func (b *Books) Reset(ctx context.Context, v seckill.VoucherID) (f Forgotten, err error) {
	// In turn with the syncs that nobody asked for, which would wait for it or fail.
	err = b.inTurn(ctx, v, func(ctx context.Context) error {
		// The voucher's row is locked from before the look at its window until all is forgotten:
		// no sync opens the sale meanwhile, and none is told of what is about to go.
		f.Orders, err = b.sql.ForgetOrders(ctx, v, func(ctx context.Context, v seckill.Voucher) (seckill.OrderID, error) {
			return b.forget(ctx, v, &f)
		})
		if err != nil {
			return err
		}
		return b.share(ctx, v)
	})
	return f, err
}

// inTurn runs fn once no sync that takes turns is under way.
func (b *Books) inTurn(ctx context.Context, v seckill.VoucherID, fn func(ctx context.Context) error) error {
	for {
		if ran, err := b.redis.Alone(ctx, v, fn); ran || err != nil {
			return err
		}
		if err := run.Wait(ctx, syncPause); err != nil {
			return &seckill.Error{Op: "books.Reset", Code: seckill.Unavailable, Err: err}
		}
	}
}

// forget closes the voucher and empties it in Redis, before a row goes: a row is what keeps a
// message from being stored twice. Whoever has a receipt of an order up to the id that it
// returns has none of the sale that comes.
func (b *Books) forget(ctx context.Context, v seckill.Voucher, f *Forgotten) (last seckill.OrderID, err error) {
	now, err := b.redis.Clock(ctx, v.ID)
	if err != nil {
		return 0, err
	}
	if !now.Before(v.Begin) && now.Before(v.End) {
		return 0, &seckill.Error{Op: "books.Reset", Code: seckill.Conflict, Err: errOnSale}
	}
	if err := b.redis.Shut(ctx, v.ID); err != nil {
		return 0, err
	}
	waiting, buried, err := b.redis.ForgetMessages(ctx, v.ID)
	f.Waiting, f.Buried = f.Waiting+waiting, f.Buried+buried
	if err != nil {
		return 0, err
	}
	return orderid.Last(now), b.redis.ForgetKeys(ctx, v.ID)
}
