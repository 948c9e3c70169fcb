package orderid_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/orderid"
	"github.com/openseckill/seckill/pkg/seckill"
)

func TestReadID(t *testing.T) {
	const id = seckill.OrderID(86400<<32 | 7) // the second day's first second
	require.Equal(t, time.Date(2025, time.January, 2, 0, 0, 0, 0, time.UTC), orderid.Time(id))
	require.Equal(t, int64(7), orderid.Sequence(id))

	const last = seckill.OrderID(math.MaxInt64)
	require.Equal(t, time.Date(2093, time.January, 19, 3, 14, 7, 0, time.UTC), orderid.Time(last))
	require.Equal(t, int64(math.MaxUint32), orderid.Sequence(last))
}

func TestLast(t *testing.T) {
	at := func(year int) time.Time { return time.Date(year, time.January, 2, 0, 0, 0, 5, time.UTC) }
	require.Equal(t, seckill.OrderID(86400<<32|math.MaxUint32), orderid.Last(at(2025)))
	require.Equal(t, seckill.OrderID(math.MaxUint32), orderid.Last(at(2020)), "a clock that is wrong")
	require.Equal(t, seckill.OrderID(math.MaxInt64), orderid.Last(at(2200)))
}

func TestBounds(t *testing.T) {
	tests := []struct {
		name     string
		at       time.Time
		from, to seckill.OrderID
	}{
		{"the first instant", time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC), 0, 86400 << 32},
		{"the last instant of a day", time.Date(2025, time.January, 2, 23, 59, 59, 999_999_999, time.UTC), 86400 << 32, 2 * 86400 << 32},
		{"a zone where it is tomorrow", time.Date(2025, time.January, 2, 7, 0, 0, 0, time.FixedZone("", 8*3600)), 0, 86400 << 32},
		{"the last day, which ends with the bits", time.Date(2093, time.January, 19, 1, 0, 0, 0, time.UTC), 24855 * 86400 << 32, math.MaxInt64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			from, to := orderid.Bounds(tt.at)
			require.Equal(t, tt.from, from)
			require.Equal(t, tt.to, to)
		})
	}
}
