package orderid_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/orderid"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// keys is a counter in Redis, as small as can be.
type keys struct {
	do func(ctx context.Context, args ...any) (int64, error)
}

func (k keys) Generation() uint64 { return 0 }

func (k keys) Partitions() int { return 1 }

func (k keys) Partition(seckill.VoucherID) int { return 0 }

func (k keys) TakeSequence(ctx context.Context, _ int, day string, n, floor int64) (int64, error) {
	key := "icr:order:" + day
	if floor >= 0 {
		if _, err := k.do(ctx, "SETNX", key, floor); err != nil {
			return 0, err
		}
	} else if found, err := k.do(ctx, "EXISTS", key); err != nil || found == 0 {
		return 0, seckill.NotReady
	}
	return k.do(ctx, "INCRBY", key, n)
}

func TestNextFromRedis(t *testing.T) {
	c := redistest.Client(t)
	counter := keys{do: func(ctx context.Context, args ...any) (int64, error) { return c.Do(ctx, args...).Int64() }}
	a, b := orderid.New(counter, stored{}, orderid.Options{}), orderid.New(counter, stored{}, orderid.Options{})
	requireUnique(t, take(t, 8, 25_000, a, b))

	// The counter is gone, and both sources have ids left of their blocks.
	require.NoError(t, c.FlushAll(t.Context()).Err())
	requireUnique(t, take(t, 8, 25_000, a, b))
}
