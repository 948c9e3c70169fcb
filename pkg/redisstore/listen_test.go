package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// heard is what a listener was told, in order.
type heard struct {
	settled chan []seckill.OrderID
	changed chan seckill.VoucherID
	resumed chan struct{}
	broken  chan struct{}
}

func listenTo(t *testing.T, s *Store) *heard {
	t.Helper()
	h := &heard{make(chan []seckill.OrderID, 99), make(chan seckill.VoucherID, 99), make(chan struct{}, 99), make(chan struct{}, 99)}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Listen(ctx, News{
			Settled: func(ids []seckill.OrderID) { h.settled <- ids },
			Changed: func(v seckill.VoucherID) { h.changed <- v },
			Resumed: func() { h.resumed <- struct{}{} },
			Live: func(live bool) {
				if !live {
					h.broken <- struct{}{}
				}
			},
		})
	}()
	t.Cleanup(func() { end(); <-done })
	await(t, h.resumed)
	await(t, h.resumed) // once for each of the channels
	return h
}

func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(20 * time.Second):
		require.FailNow(t, "nothing was heard")
	}
	return v
}

// Whatever lets a voucher sell again, or a ticket change hands, is heard; a sale is not.
func TestListen(t *testing.T) {
	s, _ := open(t)
	h := listenTo(t, s)
	v := sell(t, s, voucher, 2)
	require.Equal(t, voucher, await(t, h.changed), "opened")
	admit(t, s, order(1, 11))
	admit(t, s, order(2, 12))
	for _, step := range []struct {
		name   string
		do     func() (bool, error)
		did    bool
		silent bool
	}{
		{"a unit comes back", func() (bool, error) { return s.Release(t.Context(), order(1, 11)) }, true, false},
		{"it came back before", func() (bool, error) { return s.Release(t.Context(), order(1, 11)) }, false, true},
		{"a ticket gets another order", func() (bool, error) { return s.Adopt(t.Context(), order(2, 12), 13) }, true, false},
		{"a live row without a ticket is marked", func() (bool, error) { return s.Mark(t.Context(), order(3, 14), 0) }, true, false},
	} {
		did, err := step.do()
		require.NoError(t, err, step.name)
		require.Equal(t, step.did, did, step.name)
		if !step.silent {
			require.Equal(t, v.ID, await(t, h.changed), step.name)
		}
	}
	require.NoError(t, s.Announce(t.Context(), []seckill.OrderID{5, 9223372036854775807}))
	require.Equal(t, []seckill.OrderID{5, 9223372036854775807}, await(t, h.settled))
	require.Empty(t, h.changed, "nothing else was said")
	require.Empty(t, h.broken)
}

// A line that breaks is replaced, and who listens is told that something may be missing.
func TestListenAgain(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	proxy := faultnet.New(t, server.Addr())
	s := openAt(t, Options{Addrs: []string{proxy.Addr()}})
	for name, c := range map[string]struct{ harm, mend func() }{
		"cut":                                   {proxy.Cut, func() {}},
		"into a black hole, which tells nobody": {proxy.BlackHole, func() { proxy.Cut(); proxy.Heal() }},
	} {
		t.Run(name, func(t *testing.T) {
			h := listenTo(t, s)
			c.harm()
			await(t, h.broken)
			c.mend()
			await(t, h.resumed)
			await(t, h.resumed)
			require.NoError(t, s.Announce(t.Context(), []seckill.OrderID{5}))
			require.Equal(t, []seckill.OrderID{5}, await(t, h.settled))
		})
	}
}
