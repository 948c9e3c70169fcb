package sqlstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

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
		refused := errors.New("refused")
		n, err := f.ForgetOrders(t.Context(), v, func(_ context.Context, got seckill.Voucher) (seckill.OrderID, error) {
			require.Equal(t, v, got.ID)
			return 1 << 40, refused
		})
		require.ErrorIs(t, err, refused)
		require.Zero(t, n)
		last, err := f.Forgotten(t.Context(), v)
		require.NoError(t, err)
		require.Zero(t, last)

		for _, want := range []struct {
			orders      int
			named, last seckill.OrderID
		}{{5, 4, 5}, {0, 7, 7}, {0, 6, 7}} {
			n, err := f.ForgetOrders(t.Context(), v, func(context.Context, seckill.Voucher) (seckill.OrderID, error) { return want.named, nil })
			require.NoError(t, err)
			require.Equal(t, want.orders, n)
			b, err := f.Books(t.Context(), v)
			require.NoError(t, err)
			require.True(t, b.Balanced(), "%+v", b)
			require.Zero(t, b.Live())
			last, err := f.Forgotten(t.Context(), v)
			require.NoError(t, err)
			require.Equal(t, want.last, last)
		}
		b, err := f.Books(t.Context(), w)
		require.NoError(t, err)
		require.EqualValues(t, 1, b.Live(), "another voucher's orders stay")
		var paid int
		require.NoError(t, f.raw.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM payment").Scan(&paid))
		require.Equal(t, 1, paid)
		got, err := f.Voucher(t.Context(), v)
		require.NoError(t, err)
		require.EqualValues(t, 4, got.Epoch, "what was read before is not stored any more")

		_, err = f.ForgetOrders(t.Context(), 999, nil)
		require.ErrorIs(t, err, seckill.VoucherNotFound)
		_, err = f.Forgotten(t.Context(), 999)
		require.ErrorIs(t, err, seckill.VoucherNotFound)
	})
}

// Whoever wants the voucher meanwhile waits, or is told to come again: nothing is stored
// between the look at its window and the end.
func TestForgetOrdersAlone(t *testing.T) {
	t.Parallel()
	f := onMariaDB(t, options)
	v := f.voucher(10)
	f.store(order(1, 101, v))
	n, err := f.ForgetOrders(t.Context(), v, func(ctx context.Context, _ seckill.Voucher) (seckill.OrderID, error) {
		ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		_, err := f.Snapshot(ctx, v, nil)
		require.Error(t, err)
		return 0, nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
