package sqlstore_test

import (
	"math"
	"testing"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/stretchr/testify/require"
)

func TestReject(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(5)
		row, err := f.Reject(t.Context(), order(1, 7, v), seckill.ReasonShort)
		require.NoError(t, err)
		require.True(t, row.Same(order(1, 7, v)))
		require.Equal(t, seckill.Rejected, row.Status)
		require.Equal(t, seckill.ReasonShort, row.Reason)
		require.True(t, row.ReleaseDue)
		require.True(t, row.ExpiresAt.IsZero())
		require.False(t, row.CreatedAt.IsZero())
		f.requireBooks(v, 5)

		again, err := f.Reject(t.Context(), order(1, 7, v), seckill.ReasonWornOut)
		require.NoError(t, err)
		require.Equal(t, row, again, "the first verdict stands")
		require.Equal(t, []seckill.Outcome{already}, f.store(order(1, 7, v)), "and is never overtaken")

		f.store(order(2, 7, v))
		live, err := f.Reject(t.Context(), order(2, 7, v), seckill.ReasonWornOut)
		require.NoError(t, err)
		require.Equal(t, seckill.Created, live.Status, "a live row is the answer")

		other, err := f.Reject(t.Context(), order(2, 8, v), seckill.ReasonMalformed)
		require.NoError(t, err)
		require.False(t, other.Same(order(2, 8, v)), "whose row it is can be told")

		_, err = f.Reject(t.Context(), order(3, 0, v), seckill.ReasonMalformed)
		require.ErrorIs(t, err, seckill.Invalid)
	})
}

func TestRead(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v, w := f.voucher(5), f.voucher(5)
		a, b, c := order(1, 7, v), order(2, 8, v), order(math.MaxInt64, 9007199254740993, v)
		f.store(a, b, c, order(3, 7, w))
		f.cancel(b)

		_, err := f.Order(t.Context(), 99)
		require.ErrorIs(t, err, seckill.OrderNotFound)
		_, err = f.LiveOrder(t.Context(), 8, v)
		require.ErrorIs(t, err, seckill.OrderNotFound, "a dead order holds nothing")
		live, err := f.LiveOrder(t.Context(), 7, v)
		require.NoError(t, err)
		require.True(t, live.Same(a))

		rows, err := f.Rows(t.Context(), []seckill.OrderID{1, 2, 99, math.MaxInt64})
		require.NoError(t, err)
		require.Len(t, rows, 3)
		require.Equal(t, seckill.Cancelled, rows[2].Status)
		require.True(t, rows[math.MaxInt64].Same(c))

		byUser, err := f.LiveOrders(t.Context(), v, []seckill.UserID{7, 8, 9, 9007199254740993})
		require.NoError(t, err)
		require.Len(t, byUser, 2)
		require.True(t, byUser[7].Same(a))
		require.True(t, byUser[9007199254740993].Same(c))
	})
}

func TestReadMany(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		const n = 1200
		v := f.voucher(n)
		f.store(orders(n, 1, 1, v)...)
		ids, users := make([]seckill.OrderID, n), make([]seckill.UserID, n)
		for i := range n {
			ids[i], users[i] = seckill.OrderID(i+1), seckill.UserID(i+1)
		}
		rows, err := f.Rows(t.Context(), ids)
		require.NoError(t, err)
		require.Len(t, rows, n)
		live, err := f.LiveOrders(t.Context(), v, users)
		require.NoError(t, err)
		require.Len(t, live, n)
	})
}

func TestReleases(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(5)
		due := func(limit int) (ids []seckill.OrderID) {
			orders, err := f.ReleasesDue(t.Context(), limit)
			require.NoError(t, err)
			for _, o := range orders {
				ids = append(ids, o.ID)
			}
			return ids
		}
		f.store(order(1, 1, v), order(2, 2, v))
		require.Empty(t, due(10))
		f.cancel(order(1, 1, v))
		_, err := f.Reject(t.Context(), order(3, 3, v), seckill.ReasonDuplicate)
		require.NoError(t, err)
		require.ElementsMatch(t, []seckill.OrderID{1, 3}, due(10))
		require.Len(t, due(1), 1)
		require.NoError(t, f.ReleasesDone(t.Context(), []seckill.OrderID{1, 2, 99}))
		require.NoError(t, f.ReleasesDone(t.Context(), nil))
		require.Equal(t, []seckill.OrderID{3}, due(10))
	})
}

func TestMaxSequence(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(5)
		const second = 1 << 32
		f.store(order(5*second+9, 1, v), order(6*second+4294967295, 2, v), order(7*second+3, 3, v))
		for _, row := range []struct {
			from, to      seckill.OrderID
			p, partitions int
			want          int64
		}{
			{0, math.MaxInt64, 0, 1, 4294967295}, {5 * second, 6 * second, 0, 1, 9}, {7 * second, 8 * second, 0, 1, 3}, {8 * second, 9 * second, 0, 1, 0},
			{0, math.MaxInt64, 2, 7, 9}, {0, math.MaxInt64, 3, 7, 4294967295}, {0, 7 * second, 1, 4, 9}, {0, math.MaxInt64, 2, 4, 0},
		} {
			got, err := f.MaxSequence(t.Context(), row.from, row.to, row.p, row.partitions)
			require.NoError(t, err)
			require.Equal(t, row.want, got)
		}
	})
}

func TestOrdersThatNeverExpire(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(*testing.T, sqlstore.Options) fixture{"mariadb": onMariaDB, "sqlite": onSQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := on(t, sqlstore.Options{})
			v := f.voucher(1)
			f.store(order(1, 1, v))
			o, err := f.Order(t.Context(), 1)
			require.NoError(t, err)
			require.True(t, o.ExpiresAt.IsZero())
		})
	}
}
