package app

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/pace"
)

// shelf is what SQL has on sale, and what Redis has of it.
type shelf struct {
	ids   []seckill.VoucherID
	books seckill.RedisBooks
	err   error
}

func (s *shelf) OnSale(context.Context, int) ([]seckill.VoucherID, error) { return s.ids, nil }

func (s *shelf) ReleasesWaiting(context.Context) (int64, error) { return 7, nil }

func (s *shelf) Books(context.Context, seckill.VoucherID) (seckill.RedisBooks, error) {
	return s.books, s.err
}

func TestSales(t *testing.T) {
	reg := prometheus.NewRegistry()
	meter := obs.NewWorker(reg)
	s := &shelf{ids: []seckill.VoucherID{1001}, books: seckill.RedisBooks{State: "open", Total: 10, Stock: 4, Buyers: 6, Tickets: 6}}
	w := &sales{sql: s, redis: s, meter: meter, trouble: pace.NewTrouble(slog.New(slog.DiscardHandler), meter, "sales")}
	requireGauges := func(want string) {
		t.Helper()
		w.look(t.Context())
		var lines strings.Builder
		families, err := reg.Gather()
		require.NoError(t, err)
		for _, f := range families {
			if name, ok := strings.CutPrefix(f.GetName(), "seckill_sale_"); ok {
				lines.WriteString(name + " " + f.GetMetric()[0].GetGauge().String() + "\n")
			}
		}
		require.Equal(t, want, strings.ReplaceAll(lines.String(), "value:", ""))
	}
	requireGauges("left 4\nopen 1\ntotal 10\n")
	s.books.State = "loading"
	requireGauges("left 4\nopen 0\ntotal 10\n")
	s.books = seckill.RedisBooks{Total: -1, Stock: -1, Version: -1, Begin: -1, End: -1}
	requireGauges("left 0\nopen 0\ntotal 0\n")
	s.err = seckill.Unavailable
	s.books.Stock = 3
	requireGauges("left 0\nopen 0\ntotal 0\n")
	require.Equal(t, 1.0, testutil.ToFloat64(meter.Failing("sales")))
	s.ids = nil
	requireGauges("")
}

func TestWatchWhoIsGone(t *testing.T) {
	w := &watch{silence: time.Minute, streams: partitions{
		{Pending: 9, Consumers: []seckill.Consumer{{Pending: 2, Idle: time.Second}, {Idle: time.Second}, {Pending: 7, Idle: time.Hour}}},
		{Buried: 3, Consumers: []seckill.Consumer{{Idle: time.Second}}},
	}}
	sum, err := w.sum(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, sum.Consumers, "of the stream that has fewest")
	require.EqualValues(t, 7, sum.Orphaned)
	require.EqualValues(t, 3, sum.Dead)
}
