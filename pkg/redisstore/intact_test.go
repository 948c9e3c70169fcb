package redisstore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

func TestIntact(t *testing.T) {
	const other seckill.VoucherID = voucher + 1
	for name, harm := range map[string][]any{
		"the tickets are gone":                 {"del", "seckill:ticket:1001"},
		"one ticket is gone":                   {"hdel", "seckill:ticket:1001", "1"},
		"the buyers are gone":                  {"del", "seckill:order:1001"},
		"the stock is gone":                    {"del", "seckill:stock:1001"},
		"the stock is wrong":                   {"incr", "seckill:stock:1001"},
		"the window is gone":                   {"del", "seckill:voucher:1001"},
		"buyers and tickets are gone together": {"del", "seckill:order:1001", "seckill:ticket:1001"},
		"the tickets are of another type":      {"set", "seckill:ticket:1001", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := open(t)
			sell(t, s, voucher, 10)
			sell(t, s, other, 10)
			buy(t, s, 3)
			both := []seckill.VoucherID{other, voucher}
			intact, err := s.Intact(t.Context(), both)
			require.NoError(t, err)
			require.True(t, intact)

			require.NoError(t, c.Do(t.Context(), harm...).Err())
			intact, err = s.Intact(t.Context(), both)
			require.NoError(t, err)
			require.False(t, intact)
		})
	}
}
