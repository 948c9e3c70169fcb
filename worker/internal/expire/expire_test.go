package expire

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

// sale has so many orders that nobody paid.
type sale struct {
	unpaid, told, died int
	failing            error
}

func (s *sale) Expire(_ context.Context, limit int) ([]seckill.Order, error) {
	if s.failing != nil {
		return nil, s.failing
	}
	n := min(limit, s.unpaid)
	s.unpaid -= n
	return make([]seckill.Order, n), nil
}

func (s *sale) Announce(_ context.Context, ids []seckill.OrderID) error {
	s.told += len(ids)
	return nil
}

func TestRun(t *testing.T) {
	for _, row := range []struct {
		name               string
		sale               sale
		unpaid, told, died int
	}{
		{"nothing is overdue", sale{}, 0, 0, 0},
		{"full batches follow each other at once", sale{unpaid: 2*batchMax + 1}, 0, 2*batchMax + 1, 3},
		{"while SQL is away nothing happens", sale{unpaid: 1, failing: seckill.Unavailable}, 1, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &row.sale
				m := obs.NewWorker(prometheus.NewRegistry())
				e := New(s, s, func() { s.died++ }, m, slog.New(slog.DiscardHandler))
				intake, end := context.WithTimeout(t.Context(), 2*every+time.Millisecond)
				defer end()
				require.NoError(t, e.Run(intake, t.Context()))
				require.Equal(t, row.unpaid, s.unpaid)
				require.Equal(t, row.told, s.told)
				require.Equal(t, row.died, s.died)
				require.EqualValues(t, row.told, testutil.ToFloat64(m.Expired))
			})
		})
	}
}
