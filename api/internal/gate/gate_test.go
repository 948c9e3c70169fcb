package gate

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

const tea = seckill.VoucherID(1001)

// redis stands in for the sale, and counts what it is asked.
type redis struct {
	mu      sync.Mutex
	says    error // to whoever holds no order
	begin   time.Time
	holders map[seckill.UserID]seckill.OrderID
	block   chan struct{} // where an admission waits, if it is not nil
	hold    chan struct{} // where a reading of winners waits, if it is not nil
	asked   int
	read    int
	last    seckill.OrderID
}

func (r *redis) Next(context.Context, seckill.VoucherID) (seckill.OrderID, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	return r.last, nil
}

func (r *redis) Admit(_ context.Context, o seckill.Order) (seckill.Admission, error) {
	r.mu.Lock()
	r.asked++
	block := r.block
	r.mu.Unlock()
	if block != nil {
		<-block
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if held, ok := r.holders[o.User]; ok {
		return seckill.Admission{Order: held}, seckill.AlreadyOrdered
	}
	if r.says == nil {
		r.holders[o.User] = o.ID
	}
	return seckill.Admission{Order: o.ID, Begin: r.begin, Now: time.Now()}, r.says
}

func (r *redis) Winners(_ context.Context, _ seckill.VoucherID, most int) (map[seckill.UserID]seckill.OrderID, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read++
	if len(r.holders) > most {
		return nil, seckill.Invalid
	}
	winners := make(map[seckill.UserID]seckill.OrderID)
	for u, o := range r.holders {
		winners[u] = o
	}
	if hold := r.hold; hold != nil {
		r.mu.Unlock()
		<-hold
		r.mu.Lock()
	}
	return winners, nil
}

// room is a gate before a redis, in a bubble of synctest.
type room struct {
	*redis
	*Gate
	t *testing.T
}

func enter(t *testing.T, o Options, test func(*room)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &redis{says: seckill.SoldOut, holders: map[seckill.UserID]seckill.OrderID{1: 901, 2: 902}}
		g := New(r, r, o, time.Now)
		ctx, end := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- g.Run(ctx, ctx) }()
		defer func() { end(); require.NoError(t, <-ran) }()
		g.Resumed()
		test(&room{r, g, t})
	})
}

// later lets d pass on a live line.
func (r *room) later(d time.Duration) {
	for end := time.Now().Add(d); ; {
		r.Live(true)
		step := min(100*time.Millisecond, time.Until(end))
		if step <= 0 {
			return
		}
		<-time.After(step)
	}
}

// ask asks for a user who must get this answer, and tells whether Redis was asked.
func (r *room) ask(u seckill.UserID, want error) (redis bool) {
	r.t.Helper()
	before := r.asked
	_, err := r.Gate.Admit(r.t.Context(), u, tea)
	synctest.Wait() // also for the reading of winners
	if want == nil {
		require.NoError(r.t, err)
	} else {
		require.ErrorIs(r.t, err, want)
	}
	return r.asked > before
}

// learnt makes the gate remember what Redis says.
func (r *room) learnt(says error) {
	r.t.Helper()
	r.says = says
	for range 3 {
		r.later(time.Millisecond)
		r.ask(99, says)
	}
	require.False(r.t, r.ask(99, says))
}

func TestSoldOutIsAnsweredFromMemory(t *testing.T) {
	enter(t, Options{}, func(r *room) {
		r.later(time.Millisecond)
		require.True(t, r.ask(50, seckill.SoldOut))
		require.Zero(t, r.read, "one answer may be older than the first message that was heard")
		r.later(time.Millisecond)
		require.True(t, r.ask(50, seckill.SoldOut))
		require.Equal(t, 1, r.read)
		require.True(t, r.ask(51, seckill.SoldOut), "the first to be told asks once more")
		for u := seckill.UserID(100); u < 200; u++ {
			require.False(t, r.ask(u, seckill.SoldOut))
		}
		a, err := r.Gate.Admit(t.Context(), 1, tea)
		require.ErrorIs(t, err, seckill.AlreadyOrdered, "a winner is never told that it is sold out")
		require.Equal(t, seckill.OrderID(901), a.Order)

		before := r.asked
		for range 100 {
			r.later(100 * time.Millisecond)
			r.ask(7, seckill.SoldOut)
			r.ask(1, seckill.AlreadyOrdered)
		}
		require.InDelta(t, 10, r.asked-before, 1, "ten seconds, one request a second")
		require.Equal(t, 1, r.read)
	})
}

func TestSoldOutIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(r *room)
		asks    bool
	}{
		"a unit came back":                           {func(r *room) { r.Changed(tea) }, true},
		"the line was broken and is live again":      {func(r *room) { r.Live(false); r.Resumed(); r.Live(true) }, true},
		"the line is broken":                         {func(r *room) { r.Live(false) }, true},
		"the line gives no sign of life":             {func(r *room) { <-time.After(time.Second) }, true},
		"another voucher changed":                    {func(r *room) { r.Changed(tea + 1) }, false},
		"keys changed past the scripts, for a while": {func(r *room) { r.later(900 * time.Millisecond) }, false},
		"keys changed past the scripts, at last":     {func(r *room) { r.later(time.Second) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			enter(t, Options{}, func(r *room) {
				r.learnt(seckill.SoldOut)
				c.happens(r)
				if !c.asks {
					require.False(t, r.ask(60, seckill.SoldOut))
					return
				}
				r.says = nil
				require.True(t, r.ask(60, nil))
				require.True(t, r.ask(61, nil), "and the next one asks, too")
				require.True(t, r.ask(60, seckill.AlreadyOrdered))
			})
		})
	}
}

// A unit comes back and is sold elsewhere while the winners are being read: the reading
// counts for nothing.
func TestSoldOutForgetsWhatWasReadMeanwhile(t *testing.T) {
	enter(t, Options{}, func(r *room) {
		r.later(time.Millisecond)
		r.ask(50, seckill.SoldOut)
		r.later(time.Millisecond)
		r.hold = make(chan struct{})
		r.ask(50, seckill.SoldOut)
		require.Equal(t, 1, r.read, "the winners were read, and are not here yet")
		r.Changed(tea)
		close(r.hold)
		synctest.Wait()
		require.True(t, r.ask(60, seckill.SoldOut))
		require.True(t, r.ask(1, seckill.AlreadyOrdered))
		require.Zero(t, r.held)
	})
}

// Above the bound nothing is remembered but that: holders are known to Redis alone.
func TestSoldOutWithTooManyWinners(t *testing.T) {
	enter(t, Options{WinnersMax: 1}, func(r *room) {
		for range 20 {
			r.later(100 * time.Millisecond)
			require.True(t, r.ask(50, seckill.SoldOut))
			require.True(t, r.ask(1, seckill.AlreadyOrdered))
		}
		require.LessOrEqual(t, r.read, 3, "it is not tried again all the time")
	})
}

func TestWinnersCountOverAllVouchers(t *testing.T) {
	enter(t, Options{WinnersMax: 3}, func(r *room) {
		r.learnt(seckill.SoldOut)
		require.Equal(t, 2, r.held)
		r.Changed(tea)
		require.Zero(t, r.held)
		r.learnt(seckill.SoldOut)
		r.Resumed()
		require.Zero(t, r.held)
	})
}

func TestEndedIsAnsweredFromMemory(t *testing.T) {
	enter(t, Options{}, func(r *room) {
		r.learnt(seckill.Ended)
		require.False(t, r.ask(5, seckill.Ended))
		require.False(t, r.ask(2, seckill.AlreadyOrdered))
	})
}

// A20: by Redis' clock the sale begins in ten seconds, whatever the clock of this node says.
func TestNotStartedIsAnsweredFromMemory(t *testing.T) {
	enter(t, Options{}, func(r *room) {
		r.begin = time.Now().Add(10 * time.Second)
		r.learnt(seckill.NotStarted)
		before := r.asked
		for time.Until(r.begin) > 200*time.Millisecond {
			r.later(100 * time.Millisecond)
			a, err := r.Gate.Admit(t.Context(), 7, tea)
			require.ErrorIs(t, err, seckill.NotStarted)
			require.True(t, r.begin.Equal(a.Begin))
		}
		require.InDelta(t, 10, r.asked-before, 1, "one request a second")
		r.later(time.Until(r.begin) - margin + time.Millisecond)
		require.True(t, r.ask(7, seckill.NotStarted), "so near the begin Redis judges")
		require.True(t, r.ask(7, seckill.NotStarted))
		r.later(time.Until(r.begin))
		r.says = nil
		require.True(t, r.ask(7, nil), "not a moment late")
	})
}

func TestNotStartedMovesWithTheWindow(t *testing.T) {
	enter(t, Options{}, func(r *room) {
		r.begin = time.Now().Add(time.Hour)
		r.learnt(seckill.NotStarted)
		r.begin = time.Now().Add(2 * time.Second)
		r.Changed(tea)
		r.learnt(seckill.NotStarted)
		a, _ := r.Gate.Admit(t.Context(), 7, tea)
		require.True(t, r.begin.Equal(a.Begin))
		require.False(t, r.ask(1, seckill.AlreadyOrdered), "a window moved into the future takes nobody's order")
	})
}

func TestNothingElseIsRemembered(t *testing.T) {
	for _, code := range []seckill.Code{seckill.NotReady, seckill.Unavailable, seckill.Overloaded, seckill.Internal} {
		enter(t, Options{}, func(r *room) {
			r.says = code
			for range 5 {
				r.later(time.Millisecond)
				require.True(t, r.ask(7, code))
			}
			require.Zero(t, r.read)
		})
	}
}

// Without anybody who tells of changes there is no memory.
func TestWithoutALineRedisIsAsked(t *testing.T) {
	enter(t, Options{}, func(r *room) {
		for range 5 {
			<-time.After(time.Millisecond)
			require.True(t, r.ask(7, seckill.SoldOut))
		}
	})
}

// Who comes past the bound is refused at once; who waits is served.
func TestOverload(t *testing.T) {
	enter(t, Options{InFlightMax: 3}, func(r *room) {
		r.says, r.block = nil, make(chan struct{})
		var served sync.WaitGroup
		var orders atomic.Int64
		for u := range seckill.UserID(3) {
			served.Go(func() {
				if _, err := r.Gate.Admit(t.Context(), u+10, tea); err == nil {
					orders.Add(1)
				}
			})
		}
		synctest.Wait()
		for range 100 {
			_, err := r.Gate.Admit(t.Context(), 7, tea)
			require.ErrorIs(t, err, seckill.Overloaded)
		}
		now, most := r.InFlight()
		require.EqualValues(t, 3, now)
		require.EqualValues(t, 3, most)
		require.Equal(t, 3, r.asked, "nothing was done for them")
		close(r.block)
		served.Wait()
		require.EqualValues(t, 3, orders.Load())
		require.True(t, r.ask(7, nil))
	})
}

type noIDs struct{}

func (noIDs) Next(context.Context, seckill.VoucherID) (seckill.OrderID, error) {
	return 0, seckill.Internal
}

func TestWithoutIDsItIsUnavailable(t *testing.T) {
	g := New(&redis{}, noIDs{}, Options{}, time.Now)
	_, err := g.Admit(t.Context(), 1, tea)
	require.Equal(t, seckill.Unavailable, seckill.CodeOf(err))
}

// A21: whoever fires a hundred times before the begin gets nothing before it, one order
// after it, and is mostly told to ask less often.
func TestBotIsLimited(t *testing.T) {
	enter(t, Options{RatePerUser: 10}, func(r *room) {
		r.begin = time.Now().Add(500 * time.Millisecond)
		counts := map[seckill.Code]int{}
		for range 100 {
			r.says = seckill.NotStarted
			if !time.Now().Before(r.begin) {
				r.says = nil
			}
			_, err := r.Gate.Admit(t.Context(), 66, tea)
			counts[seckill.CodeOf(err)]++
			r.later(10 * time.Millisecond)
		}
		require.Equal(t, 1, counts[""])
		require.GreaterOrEqual(t, counts[seckill.RateLimited], 75)
		require.True(t, r.ask(67, nil), "nobody else is held up")
	})
}
