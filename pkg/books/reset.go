package books

import (
	"context"
	"errors"
	"time"

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
	ForgetOrders(ctx context.Context, v seckill.VoucherID, limit int) (n int, err error)
}

const forgetPage = 1000 // orders in one transaction

var errOnSale = errors.New("its sale is open")

// Forgotten is what a reset took away.
type Forgotten struct {
	Orders  int `json:"orders"`  // rows, live or dead
	Waiting int `json:"waiting"` // messages that were not stored yet
	Buried  int `json:"buried"`
}

// Reset forgets all orders and messages of a voucher and loads it anew, as if nobody had
// ever bought. Conflict: its sale is open, by the clock that judges it. It
// may be cut short anywhere: another one finishes it, and until then the voucher is closed.
func (b *Books) Reset(ctx context.Context, v seckill.VoucherID) (f Forgotten, err error) {
	const op = "books.Reset"
	// In turn with the syncs that nobody asked for: one would fill what is being forgotten in again.
	err = b.inTurn(ctx, v, func(ctx context.Context) error {
		voucher, err := b.sql.Voucher(ctx, v)
		if err != nil {
			return err
		}
		now, err := b.redis.Clock(ctx, v)
		if err != nil {
			return err
		}
		if !now.Before(voucher.Begin) && now.Before(voucher.End) {
			return &seckill.Error{Op: op, Code: seckill.Conflict, Err: errOnSale}
		}
		if f, err = b.forget(ctx, v); err != nil {
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

// forget closes the voucher first, and takes the messages away before the rows: a row is
// what keeps a message from being stored twice.
func (b *Books) forget(ctx context.Context, v seckill.VoucherID) (f Forgotten, err error) {
	if err := b.redis.Shut(ctx, v); err != nil {
		return f, err
	}
	if f.Waiting, f.Buried, err = b.redis.ForgetMessages(ctx, v); err != nil {
		return f, err
	}
	for n := forgetPage; n == forgetPage; {
		if n, err = b.sql.ForgetOrders(ctx, v, forgetPage); err != nil {
			return f, err
		}
		f.Orders += n
	}
	return f, b.redis.ForgetKeys(ctx, v)
}
