package sqlstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

func TestForgetOrders(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v, w := f.voucher(10), f.voucher(10)
		for id := range seckill.OrderID(5) {
			f.store(order(id+1, seckill.UserID(101+id), v))
		}
		f.store(order(9, 109, w))
		f.cancel(order(3, 103, v))
		f.exec("INSERT INTO payment (reference, order_id, amount, created_at) VALUES ('a', 1, 5, 5), ('b', 9, 5, 5)")
		for _, want := range []int{2, 2, 1, 0} {
			n, err := f.ForgetOrders(t.Context(), v, 2)
			require.NoError(t, err)
			require.Equal(t, want, n)
			b, err := f.Books(t.Context(), v)
			require.NoError(t, err)
			require.True(t, b.Balanced(), "%+v: also between two pages", b)
		}
		b, err := f.Books(t.Context(), w)
		require.NoError(t, err)
		require.EqualValues(t, 1, b.Live(), "another voucher's orders stay")
		var paid int
		require.NoError(t, f.raw.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM payment").Scan(&paid))
		require.Equal(t, 1, paid)
		got, err := f.Voucher(t.Context(), v)
		require.NoError(t, err)
		require.EqualValues(t, 5, got.Epoch, "what was read before is not stored any more")
	})
}
