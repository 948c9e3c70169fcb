package sqlstore_test

import (
	"testing"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/stretchr/testify/require"
)

func TestCurrent(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		now := time.Now()
		sold := func(begin, end time.Duration) seckill.VoucherID {
			v := f.voucher(3)
			f.exec("UPDATE seckill_voucher SET begin_at = ?, end_at = ? WHERE id = ?", now.Add(begin).UnixMilli(), now.Add(end).UnixMilli(), v)
			return v
		}
		_, older, justOver := sold(-2*time.Hour, -time.Hour), sold(-2*time.Hour, time.Hour), sold(-time.Hour, -time.Minute)
		newer, later := sold(-time.Hour, time.Hour), sold(time.Hour, 2*time.Hour)
		f.store(order(1, 1, older))
		current := func(limit int) (ids []seckill.VoucherID) {
			vs, err := f.Current(t.Context(), limit)
			require.NoError(t, err)
			for _, v := range vs {
				ids = append(ids, v.ID)
				if v.ID == older {
					require.EqualValues(t, 2, v.Stock)
				}
			}
			return ids
		}
		require.Equal(t, []seckill.VoucherID{newer, older, later, justOver}, current(10), "those on sale come first")
		require.Equal(t, []seckill.VoucherID{newer}, current(1))
	})
}
