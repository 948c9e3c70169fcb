package sqlstore_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/stretchr/testify/require"
)

func TestOrdersOf(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v, w := f.voucher(5), f.voucher(5)
		f.store(order(1, 7, v), order(2, 8, v))
		f.cancel(order(1, 7, v))
		f.store(order(3, 7, v), order(math.MaxInt64-1, 7, w))
		_, err := f.Reject(t.Context(), order(4, 7, v), seckill.ReasonDuplicate)
		require.NoError(t, err)

		page := func(before seckill.OrderID, limit int) (ids []seckill.OrderID) {
			orders, err := f.OrdersOf(t.Context(), 7, before, limit)
			require.NoError(t, err)
			for _, o := range orders {
				require.Equal(t, seckill.UserID(7), o.User)
				ids = append(ids, o.ID)
			}
			return ids
		}
		require.Equal(t, []seckill.OrderID{math.MaxInt64 - 1, 4, 3, 1}, page(math.MaxInt64, 100), "the newest first, dead ones too")
		require.Equal(t, []seckill.OrderID{math.MaxInt64 - 1, 4}, page(math.MaxInt64, 2))
		require.Equal(t, []seckill.OrderID{3, 1}, page(4, 2), "below the last of the page before")
		require.Empty(t, page(1, 2))
	})
}

// A user's orders are found by the index of users. The primary key, which has the order that
// is asked for, would lead through everybody's.
func TestOrdersOfUsesTheIndexOfUsers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		on                     func(*testing.T, sqlstore.Options) fixture
		explain, column, index string
	}{
		"mariadb": {onMariaDB, "EXPLAIN ", "key", "voucher_order_live"},
		"sqlite":  {onSQLite, "EXPLAIN QUERY PLAN ", "detail", "sqlite_autoindex_voucher_order_1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := c.on(t, options)
			const n = 3000
			v := f.voucher(n)
			f.store(orders(n, 1, 1, v)...)
			rows, err := sqlx.NewDb(f.raw, "").QueryxContext(t.Context(), c.explain+sqlstore.OrdersOfQuery, 7, math.MaxInt64, 51)
			require.NoError(t, err)
			defer rows.Close()
			require.True(t, rows.Next())
			plan := map[string]any{}
			require.NoError(t, rows.MapScan(plan))
			require.NoError(t, rows.Err())
			require.Contains(t, fmt.Sprintf("%s", plan[c.column]), c.index)
		})
	}
}
