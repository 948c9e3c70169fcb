package sqlstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/stretchr/testify/require"
)

func TestCreateVoucher(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		asked := flashSale(100)
		v, created, err := f.CreateVoucher(t.Context(), asked, "")
		require.NoError(t, err)
		require.True(t, created)
		want := asked
		want.ID, want.Stock, want.Version, want.Epoch = 1001, 100, 1, 1
		require.Equal(t, want, v)

		_, _, err = f.CreateVoucher(t.Context(), flashSale(0), "")
		require.ErrorIs(t, err, seckill.Invalid)
		_, _, err = f.CreateVoucher(t.Context(), asked, strings.Repeat("k", 256))
		require.ErrorIs(t, err, seckill.Invalid)
	})
}

func TestCreateVoucherAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		asked := flashSale(100)
		first, created, err := f.CreateVoucher(t.Context(), asked, "key")
		require.NoError(t, err)
		require.True(t, created)
		f.exec("UPDATE seckill_voucher SET title = 'renamed', version = 2 WHERE id = ?", first.ID)

		again, created, err := f.CreateVoucher(t.Context(), asked, "key")
		require.NoError(t, err)
		require.False(t, created)
		require.Equal(t, first.ID, again.ID)
		require.Equal(t, "renamed", again.Title, "as it is by now")

		_, _, err = f.CreateVoucher(t.Context(), flashSale(101), "key")
		require.ErrorIs(t, err, seckill.Conflict)

		for _, other := range []string{"KEY", "key ", "", ""} { // no key is no key
			v, created, err := f.CreateVoucher(t.Context(), asked, other)
			require.NoError(t, err)
			require.True(t, created, "%q", other)
			require.NotEqual(t, first.ID, v.ID)
		}
	})
}

func TestVouchers(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		a, b, c := f.voucher(1), f.voucher(2), f.voucher(3)
		list := func(after seckill.VoucherID, limit int) (ids []seckill.VoucherID) {
			vs, err := f.Vouchers(t.Context(), after, limit)
			require.NoError(t, err)
			for _, v := range vs {
				ids = append(ids, v.ID)
			}
			return ids
		}
		require.Equal(t, []seckill.VoucherID{a, b}, list(0, 2))
		require.Equal(t, []seckill.VoucherID{c}, list(b, 2))
		require.Empty(t, list(c, 2))

		one, err := f.Voucher(t.Context(), b)
		require.NoError(t, err)
		require.EqualValues(t, 2, one.Total)
		_, err = f.Voucher(t.Context(), 9999)
		require.ErrorIs(t, err, seckill.VoucherNotFound)
	})
}

func TestEpochs(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		a, b := f.voucher(1), f.voucher(1)
		_, err := f.Snapshot(t.Context(), b, nil)
		require.NoError(t, err)
		epochs, err := f.Epochs(t.Context(), []seckill.VoucherID{a, b, b, 9999})
		require.NoError(t, err)
		require.Equal(t, map[seckill.VoucherID]int64{a: 1, b: 2}, epochs)
		none, err := f.Epochs(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

func TestRaiseVersion(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(1)
		for _, step := range []struct{ above, want int64 }{{0, 1}, {1, 2}, {7, 8}, {3, 8}, {7, 8}} {
			require.NoError(t, f.RaiseVersion(t.Context(), v, step.above))
			got, err := f.Voucher(t.Context(), v)
			require.NoError(t, err)
			require.Equal(t, step.want, got.Version)
		}
		require.ErrorIs(t, f.RaiseVersion(t.Context(), 9999, 1), seckill.VoucherNotFound)
		require.ErrorIs(t, f.RaiseVersion(t.Context(), v, 1<<63-1), seckill.Invalid)
	})
}

// F15: a time means the same whatever zone the DSN or the server has.
func TestTimesAreTheSameInAnyZone(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		asked := flashSale(1)
		asked.Begin = asked.Begin.In(time.FixedZone("CST", 8*3600))
		v, _, err := f.CreateVoucher(t.Context(), asked, "")
		require.NoError(t, err)
		require.Equal(t, begin, v.Begin)
	})
}
