package sqlstore_test

import (
	"testing"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/stretchr/testify/require"
)

func TestLatePayments(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(5)
		f.store(order(1, 7, v), order(2, 8, v))
		for _, o := range []seckill.Order{order(1, 7, v), order(2, 8, v)} {
			f.cancel(o)
			_, err := f.Pay(t.Context(), o.ID, payment("ref-"+o.ID.String()))
			require.ErrorIs(t, err, seckill.CodeCancelled)
		}
		f.exec("UPDATE late_payment SET created_at = 1000 WHERE order_id = ?", 1)

		late, err := f.LatePayments(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, late, 2)
		require.Equal(t, seckill.OrderID(2), late[0].Order, "the newest first")
		require.Equal(t, payment("ref-1"), late[1].Payment)
		require.Equal(t, "1970-01-01T00:00:01Z", late[1].At.Format("2006-01-02T15:04:05Z07:00"))

		late, err = f.LatePayments(t.Context(), 1)
		require.NoError(t, err)
		require.Len(t, late, 1)
	})
}
