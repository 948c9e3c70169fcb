package sqlstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

func TestOrphans(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v, w := f.voucher(5), f.voucher(5)
		f.store(order(1, 1, v), order(2, 2, v), order(3, 3, v), order(4, 4, w))
		f.cancel(order(2, 2, v))
		_, err := f.Reject(t.Context(), order(5, 5, 4711), seckill.ReasonMalformed)
		require.NoError(t, err)
		found, err := f.Orphans(t.Context())
		require.NoError(t, err)
		require.Empty(t, found)

		f.exec("DELETE FROM seckill_voucher WHERE id = ?", v)
		found, err = f.Orphans(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[seckill.VoucherID]map[seckill.Status]int64{v: {seckill.Created: 2, seckill.Cancelled: 1}}, found)
	})
}
