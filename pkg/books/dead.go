package books

import (
	"context"
	"errors"

	"github.com/openseckill/seckill/pkg/seckill"
)

// What brings a buried message back.
type replayer interface {
	Replay(ctx context.Context, id seckill.DeadID, fresh seckill.OrderID) (seckill.Order, error)
}

// Replay admits the user of a buried message anew, as redisstore.Replay does, and loads the
// voucher first if it is not. VoucherNotFound: the message names one that does not exist.
func (b *Books) Replay(ctx context.Context, id seckill.DeadID, fresh seckill.OrderID) (seckill.Order, error) {
	o, err := b.redis.Replay(ctx, id, fresh)
	if !errors.Is(err, seckill.NotReady) {
		return o, err
	}
	if err := b.Sync(ctx, o.Voucher); err != nil {
		return o, err
	}
	return b.redis.Replay(ctx, id, fresh)
}
