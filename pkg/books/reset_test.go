package books

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

// window moves the sale of the fixture, in SQL and in Redis.
func (f fixture) window(begin, end time.Duration) {
	f.t.Helper()
	now := time.Now()
	_, err := f.db.ExecContext(f.t.Context(), "UPDATE seckill_voucher SET begin_at = ?, end_at = ?, version = version + 1 WHERE id = ?",
		now.Add(begin).UnixMilli(), now.Add(end).UnixMilli(), f.v.ID)
	require.NoError(f.t, err)
	require.NoError(f.t, f.Apply(f.t.Context(), f.v.ID))
}

// A23: a sale, a reset and the same sale again give the same counts.
func TestResetA23(t *testing.T) {
	f := newFixture(t, 10)
	other := f.v
	other.Title = "another"
	other, _, err := f.sql.CreateVoucher(t.Context(), other, "")
	require.NoError(t, err)
	require.NoError(t, f.Sync(t.Context(), other.ID))
	theirs := seckill.Order{ID: 77, User: 7, Voucher: other.ID}
	_, err = f.redis.Admit(t.Context(), theirs)
	require.NoError(t, err)

	sell := func() seckill.Report {
		f.admit(1, 2, 3, 4, 5)
		f.store(1, 2, 3)
		f.settle()
		f.cancel(3)
		_, err := f.redis.Release(t.Context(), f.order(3))
		require.NoError(t, err)
		r, err := f.Audit(t.Context(), f.v.ID)
		require.NoError(t, err)
		require.True(t, r.Balanced(), "%+v", r)
		return r
	}
	first := sell()
	require.NoError(t, f.c.XAdd(t.Context(), deadEntry(f.order(6))).Err())
	_, err = f.Reset(t.Context(), f.v.ID)
	require.ErrorIs(t, err, seckill.Conflict, "its sale is open")

	f.window(-time.Hour, -time.Minute)
	got, err := f.Reset(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.Equal(t, Forgotten{Orders: 3, Waiting: 2, Buried: 1}, got)
	require.Empty(t, f.tickets())
	require.Empty(t, f.entries())
	waiting, err := f.redis.Waiting(t.Context(), other.ID)
	require.NoError(t, err)
	require.Equal(t, []seckill.Holder{{User: 7, Order: 77}}, waiting, "what is another voucher's stays")
	got, err = f.Reset(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.Zero(t, got, "a second one finds nothing")

	f.window(-time.Hour, time.Hour)
	second := sell()
	second.Redis.Version, second.SQL.Version = first.Redis.Version, first.SQL.Version
	require.Equal(t, first, second)
}

// What a worker has in hand is not stored past a reset.
func TestResetLeavesNothingToStore(t *testing.T) {
	f := newFixture(t, 10)
	f.admit(1)
	epochs, err := f.sql.Epochs(t.Context(), []seckill.VoucherID{f.v.ID})
	require.NoError(t, err)
	f.window(-time.Hour, -time.Minute)
	_, err = f.Reset(t.Context(), f.v.ID)
	require.NoError(t, err)
	verdicts, err := f.sql.StoreOrders(t.Context(), []seckill.Order{f.order(1)}, epochs)
	require.NoError(t, err)
	require.Equal(t, seckill.Stale, verdicts[0].Outcome)
}

// deadEntry is a buried message of an order.
func deadEntry(o seckill.Order) *goredis.XAddArgs {
	return &goredis.XAddArgs{Stream: "seckill:dead", Values: []string{
		"entry", "1-1", "reason", "worn_out", "attempts", "9",
		"id", o.ID.String(), "userId", o.User.String(), "voucherId", o.Voucher.String(),
	}}
}
