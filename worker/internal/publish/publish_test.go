package publish

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
)

// office is an outbox with so many rows, of one event each, and the stream beside it.
type office struct {
	rows   atomic.Int64
	noted  chan struct{}
	outage time.Duration // the stream does not answer for so long
	down   time.Time     // until then
	passes atomic.Int64
	told   atomic.Int64
}

func (o *office) Publish(ctx context.Context, limit int, fn func(context.Context, []seckill.Event) error) (int, error) {
	o.passes.Add(1)
	n := min(limit, int(o.rows.Load()))
	if n == 0 {
		return 0, nil
	}
	if err := fn(ctx, make([]seckill.Event, n)); err != nil {
		return 0, err
	}
	o.rows.Add(-int64(n))
	return n, nil
}

func (o *office) PublishEvents(_ context.Context, events []seckill.Event) error {
	if time.Now().Before(o.down) {
		return seckill.Unavailable
	}
	o.told.Add(int64(len(events)))
	return nil
}

func (o *office) Noted() <-chan struct{}                    { return o.noted }
func (o *office) TrimEvents(context.Context) (int64, error) { return 7, nil }
func (o *office) Backlog(context.Context) (seckill.Backlog, error) {
	return seckill.Backlog{Waiting: o.rows.Load()}, nil
}

func (o *office) ForgetPublished(context.Context, time.Duration, int) (int64, error) { return 0, nil }

// publishing runs a Publisher of o in a bubble while test looks on.
func publishing(t *testing.T, o *office, rows int64, test func(t *testing.T, m *obs.Worker)) {
	synctest.Test(t, func(t *testing.T) {
		o.noted, o.down = make(chan struct{}, 1), time.Now().Add(o.outage)
		o.rows.Store(rows)
		m := obs.NewWorker(prometheus.NewRegistry())
		intake, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- New(o, o, m, slog.New(slog.DiscardHandler)).Run(intake, t.Context()) }()
		test(t, m)
		end()
		require.NoError(t, <-done)
	})
}

func wait(t *testing.T, d time.Duration) {
	t.Helper()
	require.NoError(t, run.Wait(t.Context(), d))
	synctest.Wait()
}

func TestRun(t *testing.T) {
	t.Run("a full page is followed by the next at once", func(t *testing.T) {
		o := &office{}
		publishing(t, o, 10*rowsMax+1, func(t *testing.T, m *obs.Worker) {
			wait(t, every)
			require.EqualValues(t, 10*rowsMax+1, o.told.Load())
			require.EqualValues(t, 10*rowsMax+1, testutil.ToFloat64(m.Published))
		})
	})
	t.Run("what this process changes is told within a moment, in one pass", func(t *testing.T) {
		o := &office{}
		publishing(t, o, 0, func(t *testing.T, _ *obs.Worker) {
			wait(t, time.Minute)
			o.rows.Store(3)
			o.noted <- struct{}{}
			wait(t, 2*gap)
			require.EqualValues(t, 3, o.told.Load())
		})
	})
	t.Run("what others change is told within a second", func(t *testing.T) {
		o := &office{}
		publishing(t, o, 0, func(t *testing.T, _ *obs.Worker) {
			wait(t, time.Minute)
			o.rows.Store(1)
			wait(t, 2*every)
			require.EqualValues(t, 1, o.told.Load())
		})
	})
	t.Run("while Redis is away it stays, and is asked seldom", func(t *testing.T) {
		o := &office{outage: time.Hour}
		publishing(t, o, 5, func(t *testing.T, m *obs.Worker) {
			wait(t, time.Hour-time.Second)
			require.Less(t, o.passes.Load(), int64(4000))
			require.Zero(t, o.told.Load())
			require.EqualValues(t, 1, testutil.ToFloat64(m.Failing("publish")))
			wait(t, 10*time.Second)
			require.EqualValues(t, 5, o.told.Load())
			require.Zero(t, testutil.ToFloat64(m.Failing("publish")))
		})
	})
}
