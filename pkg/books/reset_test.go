package books

import (
	"context"
	"log/slog"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/orderid"
	"github.com/openseckill/seckill/pkg/redisstore"
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
	same := func(r seckill.Report) seckill.Report { // but for the windows, and how often they changed
		r.Redis.Version, r.Redis.Begin, r.Redis.End, r.SQL.Version, r.SQL.Begin, r.SQL.End = 0, 0, 0, 0, 0, 0
		return r
	}
	require.Equal(t, same(first), same(second))
}

// meddling runs something when a reset has emptied Redis, and SQL has all rows yet.
type meddling struct {
	*redisstore.Store
	meanwhile func()
}

func (m meddling) ForgetKeys(ctx context.Context, v seckill.VoucherID) error {
	err := m.Store.ForgetKeys(ctx, v)
	m.meanwhile()
	return err
}

// Nobody opens the sale while a reset is under way: what was bought then would be forgotten.
func TestResetAlone(t *testing.T) {
	f := newFixture(t, 10)
	f.admit(1, 2)
	f.store(1)
	f.window(-time.Hour, -time.Minute)
	opens := func(what string, do func(ctx context.Context) error) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		require.Error(t, do(ctx), what)
	}
	asked := 0
	b := New(meddling{f.redis, func() {
		asked++
		opens("a sync", func(ctx context.Context) error { return f.Sync(ctx, f.v.ID) })
		opens("a new window", func(ctx context.Context) error {
			_, err := f.db.ExecContext(ctx, "UPDATE seckill_voucher SET end_at = end_at + 7200000 WHERE id = ?", f.v.ID)
			return err
		})
		_, err := f.redis.Admit(t.Context(), f.order(3))
		require.ErrorIs(t, err, seckill.NotReady)
	}}, f.sql, slog.New(slog.DiscardHandler))
	got, err := b.Reset(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.Equal(t, Forgotten{Orders: 1, Waiting: 2}, got)
	require.Equal(t, 1, asked)

	f.window(-time.Hour, time.Hour)
	require.NoError(t, f.Sync(t.Context(), f.v.ID)) // with the one that was asked for in between
	r, err := f.Audit(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.True(t, r.AtRest(), "%+v", r)
	require.EqualValues(t, 10, r.Redis.Stock)
}

// Who bought in a rehearsal has a receipt of it, which buys nothing of the sale.
func TestResetVoidsReceipts(t *testing.T) {
	f := newFixture(t, 10)
	f.admit(1)
	f.window(-time.Hour, -time.Minute)
	_, err := f.Reset(t.Context(), f.v.ID)
	require.NoError(t, err)
	f.window(-time.Hour, time.Hour)
	_, err = f.Recover(t.Context(), f.order(1))
	require.ErrorIs(t, err, seckill.OrderNotFound)
	require.Empty(t, f.tickets())
	rows, err := f.sql.Rows(t.Context(), []seckill.OrderID{f.order(1).ID})
	require.NoError(t, err)
	require.Empty(t, rows)

	later := f.order(2)
	later.ID = orderid.Last(time.Now().Add(time.Hour))
	got, err := f.Recover(t.Context(), later)
	require.NoError(t, err)
	require.Equal(t, seckill.Queued, got.Status)
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
