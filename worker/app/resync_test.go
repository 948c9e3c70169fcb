package app

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

// syncs keeps what was synced, and fails for as long as a test says.
type syncs struct {
	done      []seckill.VoucherID
	fail      error
	failUntil time.Time
}

func (s *syncs) Heal(_ context.Context, v seckill.VoucherID) error {
	s.done = append(s.done, v)
	if time.Now().Before(s.failUntil) {
		return s.fail
	}
	return nil
}

func TestResync(t *testing.T) {
	for _, row := range []struct {
		name  string
		fail  error
		asked []seckill.VoucherID
		check func(t *testing.T, done []seckill.VoucherID)
	}{
		{"a voucher that many orders ask for is synced once", nil, []seckill.VoucherID{1, 1, 2, 1}, func(t *testing.T, done []seckill.VoucherID) {
			require.Equal(t, []seckill.VoucherID{1, 2}, done)
		}},
		{"a sync that fails is tried until it works", seckill.Unavailable, []seckill.VoucherID{1}, func(t *testing.T, done []seckill.VoucherID) {
			require.Greater(t, len(done), 5)
			require.Less(t, len(done), 40, "with longer and longer pauses")
		}},
		{"a voucher that does not exist is not tried again", seckill.VoucherNotFound, []seckill.VoucherID{1}, func(t *testing.T, done []seckill.VoucherID) {
			require.Equal(t, []seckill.VoucherID{1}, done)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &syncs{fail: row.fail, failUntil: time.Now().Add(time.Minute)}
				r := newResync(s, slog.New(slog.DiscardHandler))
				for _, v := range row.asked {
					r.ask(v)
				}
				intake, end := context.WithTimeout(t.Context(), 2*time.Minute)
				defer end()
				require.NoError(t, r.run(intake, t.Context()))
				row.check(t, s.done)
			})
		})
	}
}

func TestAsk(t *testing.T) {
	r := newResync(&syncs{}, slog.New(slog.DiscardHandler))
	for v := range seckill.VoucherID(2 * resyncMax) {
		r.ask(v + 1) // an order never waits, however long the line is
	}
	require.Len(t, r.asked, resyncMax)
	v := <-r.asked
	r.taken(v)
	r.ask(v)
	require.Len(t, r.asked, resyncMax, "what was taken may be asked for again")
}
