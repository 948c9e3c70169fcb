package books

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/seckill"
)

// node returns books of another process on the same stores.
func (f fixture) node() *Books {
	f.t.Helper()
	redis, err := redisstore.Open(f.t.Context(), redisstore.Options{Addrs: []string{f.c.Options().Addr}})
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, redis.Close()) })
	return New(redis, f.sql, slog.New(slog.DiscardHandler))
}

func (f fixture) epoch() int64 {
	f.t.Helper()
	epochs, err := f.sql.Epochs(f.t.Context(), []seckill.VoucherID{f.v.ID})
	require.NoError(f.t, err)
	return epochs[f.v.ID]
}

// A2: Redis is empty, and two nodes of each program find out together. The stock is what is
// left once, with the orders that are stored; one of them does it.
func TestHealOnceA2(t *testing.T) {
	f := newFixture(t, 10)
	f.admit(1, 2, 3)
	f.store(1, 2, 3)
	f.settle()
	before := f.epoch()
	require.NoError(t, f.c.FlushAll(t.Context()).Err())

	g, ctx := errgroup.WithContext(t.Context())
	for range 4 {
		node := f.node()
		g.Go(func() error { return node.Heal(ctx, f.v.ID) })
	}
	require.NoError(t, g.Wait())
	requireHolders(t, f, 1, 2, 3)
	require.Equal(t, before+1, f.epoch(), "one sync did it")
	require.Equal(t, "7", f.c.Get(t.Context(), f.key("stock")).Val())
}

// Any keys of a voucher may go, alone or together, with orders in flight. What is left, or
// was stored, is on the books afterwards, once; an order that is nowhere is forgotten.
func TestHealAfterAnyLoss(t *testing.T) {
	keys := []string{"voucher", "stock", "order", "ticket"}
	for mask := 1; mask < 1<<len(keys); mask++ {
		var gone []string
		name := "without"
		for i, key := range keys {
			if mask>>i&1 == 1 {
				gone = append(gone, key)
				name += " " + key
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := sale(t)
			for _, key := range gone {
				require.NoError(t, f.c.Del(t.Context(), f.key(key)).Err())
			}
			_, err := f.redis.Admit(t.Context(), f.order(9))
			require.ErrorIs(t, err, seckill.NotReady)
			g, ctx := errgroup.WithContext(t.Context())
			for range 2 {
				node := f.node()
				g.Go(func() error { return node.Heal(ctx, f.v.ID) })
			}
			require.NoError(t, g.Wait())
			requireHolders(t, f, 1, 2, 3, 4, 5)
			require.Equal(t, "5", f.c.Get(t.Context(), f.key("stock")).Val())
		})
	}
}

// Who asks again for a reason that came after the last sync gets one of its own.
func TestHealAgain(t *testing.T) {
	f := sale(t)
	require.NoError(t, f.Heal(t.Context(), f.v.ID))
	require.NoError(t, f.redis.Shut(t.Context(), f.v.ID))
	require.NoError(t, f.node().Heal(t.Context(), f.v.ID))
	requireHolders(t, f, 1, 2, 3, 4, 5)

	require.NoError(t, f.redis.Shut(t.Context(), f.v.ID))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, f.Heal(ctx, f.v.ID), seckill.Unavailable)
}
