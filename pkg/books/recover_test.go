package books

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/seckill"
)

// flushed is a sale of two units, of which user 1 bought one that Redis forgot since.
func flushed(t *testing.T) fixture {
	f := newFixture(t, 2)
	f.admit(1)
	require.NoError(t, f.c.FlushAll(t.Context()).Err())
	return f
}

func TestRecover(t *testing.T) {
	const queued, rejected = seckill.Queued, seckill.Rejected
	sync := func(f fixture) { require.NoError(f.t, f.Sync(f.t.Context(), f.v.ID)) }
	over := func(f fixture) {
		end := time.Now().Add(-time.Minute).UnixMilli()
		_, err := f.db.ExecContext(f.t.Context(), "UPDATE seckill_voucher SET end_at = ?", end)
		require.NoError(f.t, err)
		sync(f)
	}
	for name, c := range map[string]struct {
		before func(f fixture)
		status seckill.Status
		err    error
		held   []int64
	}{
		"a unit is left":                         {sync, queued, nil, []int64{1}},
		"the voucher is not loaded yet":          {func(fixture) {}, "", seckill.NotReady, nil},
		"others bought all there was":            {func(f fixture) { sync(f); f.admit(2, 3) }, rejected, nil, []int64{2, 3}},
		"the sale is over":                       {over, rejected, nil, nil},
		"it is over, and the books are torn":     {func(f fixture) { over(f); f.c.Set(f.t.Context(), f.key("stock"), "9", 0) }, "", seckill.NotReady, nil},
		"a worker had it in hand, and stored it": {func(f fixture) { sync(f); f.store(1); sync(f) }, queued, nil, []int64{1}},
		"the buyer did not wait and bought again": {func(f fixture) {
			sync(f)
			o := f.order(1)
			o.ID = 5000
			_, err := f.redis.Admit(f.t.Context(), o)
			require.NoError(f.t, err)
		}, rejected, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := flushed(t)
			c.before(f)
			for range 2 { // whoever asks again is told the same
				got, err := f.Recover(t.Context(), f.order(1))
				if c.err != nil {
					require.ErrorIs(t, err, c.err)
					continue
				}
				require.NoError(t, err)
				require.True(t, got.Same(f.order(1)))
				require.Equal(t, c.status, got.Status)
				if c.status == rejected {
					require.Equal(t, seckill.ReasonLost, got.Reason)
				}
			}
			if c.held != nil {
				requireHolders(t, f, c.held...)
			}
		})
	}
}

// Where an acceptance needs a replica, so does the word that an order is lost: a server that
// nobody follows may have a successor, which has the order.
func TestRecoverUnfollowed(t *testing.T) {
	f := flushed(t)
	require.NoError(t, f.Sync(t.Context(), f.v.ID))
	f.admit(2, 3)
	addr := f.c.Options().Addr
	careful, err := redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{addr}, WaitReplicas: 1, WaitTimeout: 10 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, careful.Close()) })
	_, err = New(careful, f.sql, slog.New(slog.DiscardHandler)).Recover(t.Context(), f.order(1))
	require.ErrorIs(t, err, seckill.Unavailable)
	rows, err := f.sql.Rows(t.Context(), []seckill.OrderID{f.order(1).ID})
	require.NoError(t, err)
	require.Empty(t, rows)
}

// Another user's row has the id: nothing of it is told.
func TestRecoverClash(t *testing.T) {
	f := newFixture(t, 1)
	f.admit(1)
	f.store(1)
	o := f.order(1)
	o.User = 2
	_, err := f.Recover(t.Context(), o)
	require.ErrorIs(t, err, seckill.OrderNotFound)
}
