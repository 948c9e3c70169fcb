package release

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

// books is Redis and SQL for one voucher.
type books struct {
	calls []string
	due   []seckill.Order
	live  map[seckill.UserID]seckill.OrderID
	dying bool // the live row dies before it can be held
	fail  map[seckill.OrderID]error
	down  time.Time // nothing answers until then
}

func (b *books) LiveOrder(_ context.Context, u seckill.UserID, _ seckill.VoucherID) (seckill.Order, error) {
	if id, ok := b.live[u]; ok {
		return seckill.Order{ID: id, User: u}, nil
	}
	return seckill.Order{}, &seckill.Error{Op: "books.LiveOrder", Code: seckill.OrderNotFound}
}

func (b *books) HoldLive(ctx context.Context, id seckill.OrderID, fn func(context.Context) error) (bool, error) {
	b.calls = append(b.calls, fmt.Sprint("hold ", id))
	if b.dying {
		return false, nil
	}
	return true, fn(ctx)
}

func (b *books) ReleasesDue(_ context.Context, limit int) ([]seckill.Order, error) {
	b.calls = append(b.calls, "due")
	if time.Now().Before(b.down) {
		return nil, seckill.Unavailable
	}
	return slices.Clone(b.due[:min(limit, len(b.due))]), nil
}

func (b *books) ReleasesDone(_ context.Context, ids []seckill.OrderID) error {
	b.calls = append(b.calls, fmt.Sprint("done ", len(ids)))
	b.due = slices.DeleteFunc(b.due, func(o seckill.Order) bool { return slices.Contains(ids, o.ID) })
	return nil
}

func (b *books) Release(_ context.Context, o seckill.Order) (bool, error) {
	b.calls = append(b.calls, fmt.Sprint("release ", o.ID))
	return true, b.fail[o.ID]
}

func (b *books) Adopt(_ context.Context, _ seckill.Order, existing seckill.OrderID) (bool, error) {
	b.calls = append(b.calls, fmt.Sprint("adopt ", existing))
	return true, nil
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

func TestGiveBack(t *testing.T) {
	for _, row := range []struct {
		name  string
		books books
		calls []string
	}{
		{"without another live order the unit is free", books{}, []string{"release 1"}},
		{"with another live order the ticket becomes that one's", books{live: map[seckill.UserID]seckill.OrderID{100: 9}}, []string{"hold 9", "adopt 9"}},
		{"a live order that dies meanwhile is none", books{live: map[seckill.UserID]seckill.OrderID{100: 9}, dying: true}, []string{"hold 9", "release 1"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := &row.books
			require.NoError(t, New(b, b, meter(), quiet()).GiveBack(t.Context(), orders(1)[0]))
			require.Equal(t, row.calls, b.calls)
		})
	}
}

func TestSweep(t *testing.T) {
	t.Run("an order that fails by itself holds up no other", func(t *testing.T) {
		b := &books{due: orders(3), fail: map[seckill.OrderID]error{1: seckill.Internal}}
		_, err := New(b, b, meter(), quiet()).sweep(t.Context())
		require.ErrorIs(t, err, seckill.Internal)
		require.Equal(t, []string{"due", "release 1", "release 2", "release 3", "done 2"}, b.calls)
	})
	t.Run("where nothing answers it stops at once and keeps what it did", func(t *testing.T) {
		b := &books{due: orders(3), fail: map[seckill.OrderID]error{2: seckill.Unavailable}}
		_, err := New(b, b, meter(), quiet()).sweep(t.Context())
		require.ErrorIs(t, err, seckill.Unavailable)
		require.Equal(t, []string{"due", "release 1", "release 2", "done 1"}, b.calls)
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
