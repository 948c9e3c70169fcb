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

// partitions are streams of which a test says the state; the missing one does not answer.
type partitions []*seckill.StreamInfo

func (s partitions) Partitions() int { return len(s) }

func (s partitions) StreamInfo(_ context.Context, p int) (seckill.StreamInfo, error) {
	if s[p] == nil {
		return seckill.StreamInfo{}, seckill.Unavailable
	}
	return *s[p], nil
}

func TestWatch(t *testing.T) {
	reg := prometheus.NewRegistry()
	meter := obs.NewWorker(reg)
	w := &watch{meter: meter, trouble: pace.NewTrouble(slog.New(slog.DiscardHandler), meter, "watch")}
	look := func(s ...*seckill.StreamInfo) string {
		w.streams = partitions(s)
		w.look(t.Context())
		var text strings.Builder
		families, err := reg.Gather()
		require.NoError(t, err)
		for _, f := range families {
			switch f.GetName() {
			case "seckill_oldest_waiting_seconds", "seckill_stream_lag", "seckill_stream_pending", "seckill_stream_waiting":
				text.WriteString(strings.TrimPrefix(f.GetName(), "seckill_") + " " + f.GetMetric()[0].GetGauge().String() + "\n")
			}
		}
		return strings.ReplaceAll(text.String(), "value:", "")
	}
	one := &seckill.StreamInfo{Length: 5, Pending: 2, Lag: 3, Oldest: 4 * time.Second}
	two := &seckill.StreamInfo{Length: 50, Pending: 10, Lag: 40, Oldest: time.Second}
	odd := &seckill.StreamInfo{Length: 7, Pending: 1, Lag: seckill.LagUnknown}

	require.Equal(t, "oldest_waiting_seconds 4\nstream_lag 43\nstream_pending 12\nstream_waiting 55\n", look(one, two))
	require.Equal(t, "oldest_waiting_seconds 4\nstream_lag -1\nstream_pending 12\nstream_waiting 55\n", look(one, nil), "what is not known is not zero")
	require.Equal(t, 1.0, testutil.ToFloat64(meter.Failing("watch")))
	require.Equal(t, "oldest_waiting_seconds 4\nstream_lag -1\nstream_pending 13\nstream_waiting 62\n", look(one, odd, two))
	require.Equal(t, "oldest_waiting_seconds 0\nstream_lag 0\nstream_pending 0\nstream_waiting 0\n", look(&seckill.StreamInfo{}))
	require.Zero(t, testutil.ToFloat64(meter.Failing("watch")))
}
