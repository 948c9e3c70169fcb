package sqlstore_test

import (
	"testing"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/stretchr/testify/require"
)

func TestEachLive(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v, w := f.voucher(10), f.voucher(10)
		for id := range seckill.OrderID(7) {
			f.store(order(id+1, seckill.UserID(101+id), v))
		}
		f.store(order(8, 108, w))
		f.cancel(order(3, 103, v))
		_, err := f.raw.ExecContext(t.Context(), "UPDATE voucher_order SET status = 'paid' WHERE id IN (2, 5)")
		require.NoError(t, err)
		for _, size := range []int{1, 2, 6, 100} {
			var got []seckill.Holder
			require.NoError(t, f.EachLive(t.Context(), v, size, func(page []seckill.Holder) error {
				require.NotEmpty(t, page)
				require.LessOrEqual(t, len(page), size)
				got = append(got, page...)
				return nil
			}))
			require.ElementsMatch(t, []seckill.Holder{{User: 101, Order: 1}, {User: 102, Order: 2}, {User: 104, Order: 4}, {User: 105, Order: 5}, {User: 106, Order: 6}, {User: 107, Order: 7}}, got)
		}
		require.NoError(t, f.EachLive(t.Context(), 9999, 5, func([]seckill.Holder) error { return seckill.Internal }))
		require.ErrorIs(t, f.EachLive(t.Context(), v, 5, func([]seckill.Holder) error { return seckill.SoldOut }), seckill.SoldOut)
	})
}
