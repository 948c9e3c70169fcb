package httpapi

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

// rebuilds counts syncs, each of which takes a while.
type rebuilds struct {
	mu     sync.Mutex
	takes  time.Duration
	begun  map[seckill.VoucherID]int
	cut    int
	panics bool
}

func (r *rebuilds) Heal(ctx context.Context, v seckill.VoucherID) error {
	r.mu.Lock()
	r.begun[v]++
	r.mu.Unlock()
	if r.panics {
		panic("boom")
	}
	select {
	case <-time.After(r.takes):
		return nil
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cut++
		return ctx.Err()
	}
}

func newRebuilds(takes time.Duration) (*rebuilds, *resync, *bytes.Buffer) {
	r, log := &rebuilds{takes: takes, begun: map[seckill.VoucherID]int{}}, new(bytes.Buffer)
	return r, newResync(r, slog.New(slog.NewTextHandler(log, nil)), time.Now), log
}

func TestResyncRunsOneForEachVoucher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		books, r, _ := newRebuilds(10 * time.Second)
		for range 100 { // ten a second, for as long as the first sync takes
			r.ask(t.Context(), 1)
			<-time.After(50 * time.Millisecond)
		}
		synctest.Wait()
		require.Equal(t, 1, books.begun[1])
		<-time.After(6 * time.Second)
		r.ask(t.Context(), 1)
		synctest.Wait()
		require.Equal(t, 2, books.begun[1])
		r.close()
	})
}

func TestResyncStartsOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		books, r, _ := newRebuilds(0)
		for range 30 { // three seconds
			r.ask(t.Context(), 1)
			<-time.After(100 * time.Millisecond)
		}
		require.Equal(t, 3, books.begun[1])
		r.ask(t.Context(), 2)
		r.close()
		require.Equal(t, 1, books.begun[2], "another voucher need not wait")
		require.LessOrEqual(t, len(r.started), 2)
	})
}

func TestResyncIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		books, r, _ := newRebuilds(time.Minute)
		for v := seckill.VoucherID(1); v <= 2*resyncMax; v++ {
			r.ask(t.Context(), v)
			synctest.Wait()
		}
		require.Len(t, books.begun, resyncMax)
		r.close()
		require.Equal(t, resyncMax, books.cut, "close ends what runs")
		r.ask(t.Context(), 99)
		synctest.Wait()
		require.Zero(t, books.begun[99], "and lets nothing start")
	})
}

func TestResyncOutlivesTheBuyer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		books, r, log := newRebuilds(time.Second)
		ctx, hangUp := context.WithCancel(t.Context())
		r.ask(ctx, 1)
		synctest.Wait()
		hangUp()
		<-time.After(2 * time.Second)
		require.Zero(t, books.cut)
		r.close()
		require.Empty(t, log.String())
	})
}

func TestResyncSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		books, r, log := newRebuilds(0)
		books.panics = true
		r.ask(t.Context(), 1)
		synctest.Wait()
		require.Contains(t, log.String(), "panic: boom")
		<-time.After(resyncPause)
		books.panics = false
		r.ask(t.Context(), 1)
		r.close()
		require.Equal(t, 2, books.begun[1])
	})
}
