package sqlstore_test

import (
	"testing"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/stretchr/testify/require"
)

func TestPool(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		require.NoError(t, f.Ping(t.Context()))
		p := f.Pool()
		require.Equal(t, "sql", p.Name)
		require.Zero(t, p.Used)
		require.Positive(t, p.Max)
	})
}

func TestOnSale(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		now := time.Now()
		open := func(v seckill.VoucherID, begin, end time.Duration) {
			f.exec("UPDATE seckill_voucher SET begin_at = ?, end_at = ? WHERE id = ?", now.Add(begin).UnixMilli(), now.Add(end).UnixMilli(), v)
		}
		over, older, newer, later := f.voucher(1), f.voucher(1), f.voucher(1), f.voucher(1)
		open(over, -2*time.Hour, -time.Hour)
		open(older, -2*time.Hour, time.Hour)
		open(newer, -time.Hour, time.Hour)
		open(later, time.Hour, 2*time.Hour)
		ids, err := f.OnSale(t.Context(), 10)
		require.NoError(t, err)
		require.Equal(t, []seckill.VoucherID{newer, older}, ids)
		ids, err = f.OnSale(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, []seckill.VoucherID{newer}, ids)
	})
}

func TestReleasesWaiting(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(3)
		f.store(order(1, 1, v), order(2, 2, v))
		waiting := func() int64 {
			n, err := f.ReleasesWaiting(t.Context())
			require.NoError(t, err)
			return n
		}
		require.Zero(t, waiting())
		f.cancel(order(1, 1, v))
		require.EqualValues(t, 1, waiting())
		require.NoError(t, f.ReleasesDone(t.Context(), []seckill.OrderID{1}))
		require.Zero(t, waiting())
	})
}
