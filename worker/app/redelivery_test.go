package app_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/openseckill/seckill/worker/app"
)

// TestClaimedWhileHandled is C6: two workers claim the same orders time and again, from
// themselves and from each other, while none can be stored. Each is stored once.
func TestClaimedWhileHandled(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	unlock := s.lockVoucher()
	s.buy(10)
	s.work("w1")
	s.work("w2")
	require.True(t, waitFor(func() bool { return s.deliveredMost() > 3 }))
	unlock()
	s.awaitRest(10)
	require.Empty(t, s.buried())
}

// TestOutageOfManyPeriods is C9: SQL is away while orders are delivered far more often than
// anything may that does harm. All are stored, and none is buried.
func TestOutageOfManyPeriods(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		away func(p *faultnet.Proxy) (back func())
	}{
		{"SQL refuses", func(p *faultnet.Proxy) func() { p.Refuse(); return p.Accept }},
		{"SQL is silent", func(p *faultnet.Proxy) func() { p.BlackHole(); return p.Heal }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var back []func()
			s := newStage(t, 20)
			s.buy(10) // before anybody reads, so that one batch has them all
			away := func(f *far) { back = append(back, row.away(f.sql)) }
			o := app.Options{AttemptsMax: 1, BatchMax: 100}
			w1, w2 := s.workFar("w1", o, away), s.workFar("w2", o, away)
			require.True(t, waitFor(func() bool { return s.deliveredMost() >= faultnet.Pick[int64](4, 20) }))
			for _, b := range back {
				b()
			}
			s.awaitRest(10)
			require.Empty(t, s.buried())
			require.True(t, waitFor(func() bool { return s.number("EXISTS", "seckill:tries") == 0 }), "a lone try that came back counts no more")
			require.Less(t, w1.log.lines()+w2.log.lines(), 30, w1.log)
		})
	}
}

// TestIdle is C21: workers that find nothing to do say nothing.
func TestIdle(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	workers := make([]*far, 5)
	for i := range workers {
		workers[i] = s.workFar("w"+string(rune('1'+i)), app.Options{})
	}
	for n := range faultnet.Pick[int64](2, 10) {
		reads := s.calls("xreadgroup")
		require.True(t, waitFor(func() bool { return s.calls("xreadgroup") >= reads+6 }), "each polls, and finds nothing")
		s.buy(1)
		s.awaitRest(n + 1)
	}
	for _, w := range workers {
		w.stop()
		require.Empty(t, w.log.String())
	}
}

// TestCutWhileReading is C23: the connection of a blocked reader breaks at the moment when
// an order is accepted, which Redis may hand to a reader that is no longer there.
func TestCutWhileReading(t *testing.T) {
	t.Parallel()
	rounds := faultnet.Pick(40, 200)
	s := newStage(t, int64(rounds))
	w := s.workFar("w1", app.Options{})
	for range rounds {
		require.True(t, waitFor(func() bool { return s.blocked() > 0 }))
		var both sync.WaitGroup
		both.Go(w.redis.Cut)
		both.Go(func() { s.buy(1) })
		both.Wait()
	}
	s.awaitRest(int64(rounds))
	require.Empty(t, s.buried())
}

// C23: Redis gave the orders to this consumer, and the reply got lost: it takes them itself,
// long before anybody else may.
func TestReplyOfAReadIsLost(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	w := s.workFar("w1", app.Options{ClaimIdle: 10 * time.Minute})
	require.True(t, waitFor(func() bool { return s.blocked() > 0 }))
	lost := w.redis.SwallowReplies(1, faultnet.Has("xreadgroup"))
	s.buy(1) // ends the read under way
	s.awaitRest(1)
	require.True(t, waitFor(func() bool { return s.blocked() > 0 }))
	s.buy(5)
	arrives(t, lost)
	s.awaitRest(6)
}

// C16: a worker that has nothing to do is not taken for dead: its silence ends again and again.
func TestIdleWorkerLives(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	s.workFar("w1", app.Options{ClaimIdle: 300 * time.Millisecond})
	var before int64
	require.True(t, waitFor(func() bool {
		reply, err := s.do("XINFO", "CONSUMERS", stream, group)
		names, _ := reply.([]any)
		if err != nil || len(names) != 1 {
			return false
		}
		silence := idleOf(t, names[0])
		ended := silence < before
		before = silence
		return ended
	}))
}

// TestSettleFails is C25: the orders are committed, and twice Redis cannot be told so. They
// are found stored, take no second unit, and are settled later.
func TestSettleFails(t *testing.T) {
	t.Parallel()
	settle := faultnet.Has(lua.Settle.Hash())
	for _, row := range []struct {
		name string
		fail func(t *testing.T, p *faultnet.Proxy)
	}{
		{"the answer is lost", func(t *testing.T, p *faultnet.Proxy) { arrives(t, p.SwallowReplies(2, settle)) }},
		{"the request is lost", func(t *testing.T, p *faultnet.Proxy) {
			h := p.Hold(settle)
			for range 2 {
				arrives(t, h.Arrived())
				p.Cut()
			}
			h.Release()
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 10)
			w := s.workFar("w1", app.Options{})
			s.buy(1)
			s.awaitRest(1) // both scripts are known to the server
			failed := make(chan struct{})
			go func() { defer close(failed); row.fail(t, w.redis) }()
			for live := int64(2); live < 4; live++ {
				s.buy(1)
			}
			arrives(t, failed)
			s.awaitRest(3)
			require.Empty(t, s.buried())
		})
	}
}

// TestManyRestarts is C16: workers come and go, and only the living have a name in the group.
func TestManyRestarts(t *testing.T) {
	t.Parallel()
	s := newStageOn(t, redistest.New(t), sqltest.New(t), 0, 100)
	s.work("stays")
	for range faultnet.Pick(2, 5) {
		var stops []func()
		for i := range 10 {
			stops = append(stops, s.work("w"+string(rune('0'+i))))
		}
		s.buy(10)
		var stopped sync.WaitGroup
		for _, stop := range stops {
			stopped.Go(stop)
		}
		stopped.Wait()
	}
	s.awaitRest(int64(faultnet.Pick(20, 50)))
	consumers, err := s.do("XINFO", "CONSUMERS", stream, group)
	require.NoError(t, err)
	require.LessOrEqual(t, len(consumers.([]any)), 3, "one that left an order to another at its end keeps its name for a while")
}

// TestLostGroupWhileBlocked is C1 to the second: a reader that is blocked when its stream or
// group goes stores the next order within five seconds.
func TestLostGroupWhileBlocked(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"DEL " + stream, "XGROUP DESTROY " + stream + " " + group, "FLUSHALL"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 10)
			w := s.workFar("w1", app.Options{})
			s.buy(1)
			s.awaitRest(1)
			require.True(t, waitFor(func() bool { return s.blocked() > 0 }))
			s.takeAway(command)
			began := time.Now()
			s.buy(1)
			s.awaitRest(2)
			require.Less(t, time.Since(began), 15*time.Second)
			require.Less(t, w.log.lines(), 10, w.log)
		})
	}
}

// idleOf is how many ms a consumer has been silent, as XINFO CONSUMERS tells it.
func idleOf(t *testing.T, consumer any) int64 {
	t.Helper()
	switch fields := consumer.(type) {
	case map[any]any:
		return fields["idle"].(int64)
	case []any:
		for i := 0; i < len(fields); i += 2 {
			if fields[i] == "idle" {
				return fields[i+1].(int64)
			}
		}
	}
	require.FailNow(t, "no consumer", "%v", consumer)
	return 0
}
