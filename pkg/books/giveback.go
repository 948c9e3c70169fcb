package books

import (
	"context"
	"errors"

	"github.com/openseckill/seckill/pkg/seckill"
)

type holder interface {
	LiveOrder(ctx context.Context, u seckill.UserID, v seckill.VoucherID) (seckill.Order, error)
	HoldLive(ctx context.Context, id seckill.OrderID, fn func(ctx context.Context) error) (bool, error)
}

type releaser interface {
	Release(ctx context.Context, o seckill.Order) (bool, error)
	Adopt(ctx context.Context, o seckill.Order, existing seckill.OrderID) (bool, error)
}

// Giver gives the units of dead orders back. It is the one path by which that happens.
type Giver struct {
	redis releaser
	sql   holder
}

// NewGiver returns a Giver of the sale that these two stores keep.
func NewGiver(redis releaser, sql holder) *Giver { return &Giver{redis: redis, sql: sql} }

// GiveBack takes a dead order out of Redis, once its dead row is committed. Where the user
// has another live order of the voucher, their ticket becomes that one's and the unit
// stays sold; otherwise the unit goes back on sale. Only a ticket of this very order is
// touched, so it may be called at any time and any number of times.
func (g *Giver) GiveBack(ctx context.Context, o seckill.Order) error {
	live, err := g.sql.LiveOrder(ctx, o.User, o.Voucher)
	if errors.Is(err, seckill.OrderNotFound) {
		return g.free(ctx, o)
	}
	if err != nil {
		return err
	}
	// The live row stays locked meanwhile. Were it cancelled in between, its own release
	// would come too early to find the ticket, and the unit would stay sold for ever.
	held, err := g.sql.HoldLive(ctx, live.ID, func(ctx context.Context) error {
		_, err := g.redis.Adopt(ctx, o, live.ID)
		return err
	})
	if err == nil && !held {
		return g.free(ctx, o)
	}
	return err
}

func (g *Giver) free(ctx context.Context, o seckill.Order) error {
	_, err := g.redis.Release(ctx, o)
	return err
}
