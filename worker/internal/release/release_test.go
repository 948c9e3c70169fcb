package release

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
)

// books is Redis and SQL for one voucher.
type books struct {
	mu    sync.Mutex
	calls []string
	due   []seckill.Order
	fail  map[seckill.OrderID]error
	down  time.Time // nothing answers until then
}

func (b *books) ReleasesDue(_ context.Context, limit int) ([]seckill.Order, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, "due")
	if time.Now().Before(b.down) {
		return nil, seckill.Unavailable
	}
	return slices.Clone(b.due[:min(limit, len(b.due))]), nil
}

func (b *books) ReleasesDone(_ context.Context, ids []seckill.OrderID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, fmt.Sprint("done ", len(ids)))
	b.due = slices.DeleteFunc(b.due, func(o seckill.Order) bool { return slices.Contains(ids, o.ID) })
	return nil
}

func (b *books) GiveBack(_ context.Context, o seckill.Order) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, fmt.Sprint("release ", o.ID))
	return b.fail[o.ID]
}

func orders(n int) []seckill.Order {
	all := make([]seckill.Order, n)
	for i := range all {
		all[i] = seckill.Order{ID: seckill.OrderID(i + 1), User: seckill.UserID(100 + i), Voucher: 1001}
	}
	return all
}

func meter() *obs.Worker { return obs.NewWorker(prometheus.NewRegistry()) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestSweep(t *testing.T) {
	t.Run("an order that fails by itself holds up no other", func(t *testing.T) {
		b := &books{due: orders(3), fail: map[seckill.OrderID]error{1: seckill.Internal}}
		_, err := New(b, b, meter(), quiet()).sweep(t.Context())
		require.ErrorIs(t, err, seckill.Internal)
		require.ElementsMatch(t, []string{"due", "release 1", "release 2", "release 3", "done 2"}, b.calls)
		require.Len(t, b.due, 1)
	})
	t.Run("where nothing answers it stops at once", func(t *testing.T) {
		b := &books{due: orders(pageMax), fail: map[seckill.OrderID]error{}}
		for _, o := range b.due {
			b.fail[o.ID] = seckill.Unavailable
		}
		_, err := New(b, b, meter(), quiet()).sweep(t.Context())
		require.ErrorIs(t, err, seckill.Unavailable)
		require.LessOrEqual(t, len(b.calls), 1+2*abreast)
	})
	t.Run("and what it did until then is done", func(t *testing.T) {
		b := &books{due: orders(pageMax), fail: map[seckill.OrderID]error{pageMax: seckill.Unavailable}}
		_, err := New(b, b, meter(), quiet()).sweep(t.Context())
		require.ErrorIs(t, err, seckill.Unavailable)
		require.Less(t, len(b.due), pageMax)
	})
}

func TestRun(t *testing.T) {
	t.Run("full pages follow each other at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := &books{due: orders(2*pageMax + 1)}
			r := New(b, b, meter(), quiet())
			intake, end := context.WithTimeout(t.Context(), every+time.Millisecond)
			defer end()
			require.NoError(t, r.Run(intake, t.Context()))
			require.Empty(t, b.due)
		})
	})
	t.Run("whoever knows of dead orders makes it hurry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := &books{}
			r := New(b, b, meter(), quiet())
			intake, end := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- r.Run(intake, t.Context()) }()
			require.NoError(t, run.Wait(t.Context(), time.Minute+every/2))
			synctest.Wait()
			sweeps := len(b.calls)
			r.Wake()
			synctest.Wait()
			require.Len(t, b.calls, sweeps+1)
			end()
			require.NoError(t, <-done)
		})
	})
	t.Run("an outage of an hour costs two lines", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			b := &books{down: time.Now().Add(time.Hour)}
			intake, end := context.WithTimeout(t.Context(), time.Hour+10*time.Second)
			defer end()
			require.NoError(t, New(b, b, meter(), slog.New(slog.NewTextHandler(&out, nil))).Run(intake, t.Context()))
			require.Less(t, len(b.calls), 4000, "about one try every two seconds")
			require.Equal(t, 2, strings.Count(out.String(), "what=release"), out.String())
		})
	})
}
