package consume

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/fulfil"
)

// worn is a delivery that has been delivered more often than may be.
func worn(n int) seckill.Delivery {
	d := delivery(n)
	d.Attempts = attemptsMax + 1
	return d
}

func TestTryAlone(t *testing.T) {
	bubble(t, "each try is counted before and forgotten after", func(t *testing.T) {
		f := newFake()
		f.own = []seckill.Delivery{delivery(1), worn(2), delivery(4)}
		f.run(t, 512, time.Second, time.Second)
		require.Equal(t, []string{"handle 1", "count 2-0", "handle 2", "forget 2-0", "handle 4"}, f.made("handle", "count", "forget"))
	})
	bubble(t, "many are tried in any order, so that no death is always on the same one", func(t *testing.T) {
		f := newFake()
		var inOrder []string
		for n := 100; n < 200; n++ {
			f.own = append(f.own, worn(n))
			inOrder = append(inOrder, "handle "+f.own[len(f.own)-1].Order.ID.String())
		}
		f.run(t, 512, time.Second, time.Second)
		require.NotEqual(t, inOrder, f.made("handle"))
		require.ElementsMatch(t, inOrder, f.made("handle"))
	})
	bubble(t, "a try that found the user locked neither counts nor acquits", func(t *testing.T) {
		f := newFake()
		f.own = []seckill.Delivery{worn(2)}
		f.tries["2-0"] = attemptsMax - 2
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			return all(ds, seckill.Busy, fulfil.Keep)
		}
		f.run(t, 512, 9*time.Second, time.Nanosecond)
		require.Greater(t, len(f.made("handle 2")), 40)
		require.EqualValues(t, attemptsMax-2, f.tries["2-0"])
		require.Empty(t, f.made("worn", "forget"))
	})
	bubble(t, "a try that failed came back", func(t *testing.T) {
		f := newFake()
		f.own = []seckill.Delivery{worn(2)}
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result { return transient(ds) }
		f.run(t, 512, time.Hour, time.Second)
		require.Greater(t, len(f.made("handle 2")), 100)
		require.Empty(t, f.made("worn", "bury"))
		require.Empty(t, f.tries)
	})
	bubble(t, "so many that never came back wear it out", func(t *testing.T) {
		f := newFake()
		f.own = []seckill.Delivery{worn(2)}
		f.tries["2-0"] = attemptsMax
		f.run(t, 512, time.Second, time.Second)
		require.Equal(t, []string{"count 2-0", "worn out 2", "bury 2-0 worn_out", "forget 2-0"}, f.made("handle", "count", "worn", "bury", "forget"))
	})
	bubble(t, "one fewer does not", func(t *testing.T) {
		f := newFake()
		f.own = []seckill.Delivery{worn(2)}
		f.tries["2-0"] = attemptsMax - 1
		f.run(t, 512, time.Second, time.Second)
		require.Equal(t, []string{"count 2-0", "handle 2", "forget 2-0", "settle 2-0"}, f.made("handle", "count", "worn", "settle", "forget"))
	})
	bubble(t, "while nothing answers it is neither counted nor tried", func(t *testing.T) {
		f := newFake()
		f.own = []seckill.Delivery{worn(2)}
		until := time.Now().Add(time.Hour)
		f.fail = func(call string) error {
			if call == "ping" && time.Now().Before(until) {
				return errDown
			}
			return nil
		}
		f.run(t, 512, time.Hour+10*time.Second, time.Second)
		require.Equal(t, []string{"count 2-0", "handle 2", "forget 2-0"}, f.made("handle", "count", "worn", "forget"))
	})
	bubble(t, "a try that the end of work cuts short came back", func(t *testing.T) {
		f := newFake()
		f.own = []seckill.Delivery{worn(2)}
		f.handle = func(ctx context.Context, ds []seckill.Delivery) []fulfil.Result {
			<-ctx.Done()
			return transient(ds)
		}
		f.run(t, 512, time.Second, time.Second)
		require.Empty(t, f.tries)
	})
}

func TestDrain(t *testing.T) {
	bubble(t, "its own pending entries are taken to the last page, before new ones", func(t *testing.T) {
		f := newFake(delivery(1000))
		f.own = deliveries(1, 250)
		f.run(t, 100, time.Second, time.Second)
		require.Equal(t, []string{"own after 0", "own after 100-0", "own after 200-0", "own after 250-0", "read"}, f.made("own", "read")[:5])
		require.Equal(t, 251, strings.Count(strings.Join(f.made("settle"), " "), "-0"))
	})
	bubble(t, "ids whose entry is gone are reported and acknowledged", func(t *testing.T) {
		f := newFake()
		f.own, f.lost = deliveries(1, 1), []string{"7-0"}
		f.run(t, 100, time.Second, time.Second)
		require.ElementsMatch(t, []string{"settle 7-0", "settle 1-0"}, f.made("settle"))
		require.Contains(t, f.logged.String(), "gone from the stream")
	})
}

func TestClaim(t *testing.T) {
	bubble(t, "idle entries are taken page by page, at a pace", func(t *testing.T) {
		f := newFake()
		f.idle = deliveries(1, 250)
		f.run(t, 100, 10*time.Minute, time.Second)
		claims := f.made("claim")
		require.Equal(t, []string{"claim from 0-0", "claim from 101-0", "claim from 201-0"}, claims[:3])
		require.InDelta(t, 10*time.Minute/(claimIdle/2), len(claims), 12)
		require.Equal(t, 250, strings.Count(strings.Join(f.made("settle"), " "), "-0"))
	})
	bubble(t, "what the process has in hand is not taken from itself", func(t *testing.T) {
		f := newFake(delivery(1))
		f.idle = deliveries(1, 2)
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			if holds(ds, 1) {
				<-time.After(claimIdle)
			}
			return all(ds, seckill.Stored, fulfil.Settle)
		}
		f.run(t, 100, time.Minute, time.Minute)
		require.Equal(t, []string{"handle 1", "handle 2"}, f.made("handle"))
	})
	bubble(t, "it starves no new entries and is not starved by them", func(t *testing.T) {
		f := newFake(deliveries(1001, 1200)...)
		f.idle = deliveries(1, 100)
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			<-time.After(time.Second)
			return all(ds, seckill.Stored, fulfil.Settle)
		}
		f.run(t, 1, 60*time.Second, 10*time.Second)
		settled := strings.Join(f.made("settle"), "\n")
		require.Greater(t, strings.Count(settled, "settle 10")+strings.Count(settled, "settle 11"), 40)
		require.Contains(t, settled, "settle 40-0")
	})
}

func TestStop(t *testing.T) {
	bubble(t, "idle it takes less than two seconds and gives its name up", func(t *testing.T) {
		f := newFake()
		require.Less(t, f.run(t, 512, 10*time.Second+time.Millisecond, time.Minute), 2*time.Second)
		require.Equal(t, []string{"drop consumer"}, f.made("drop"))
	})
	bubble(t, "the batch in hand is finished and settled", func(t *testing.T) {
		f := newFake(delivery(1))
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			<-time.After(3 * time.Second)
			return all(ds, seckill.Stored, fulfil.Settle)
		}
		f.run(t, 512, time.Second, time.Minute)
		require.Equal(t, []string{"settle 1-0", "announce [1]", "drop consumer"}, f.made("settle", "announce", "drop"))
	})
	bubble(t, "what is delivered while intake ends is not thrown away", func(t *testing.T) {
		f := newFake()
		time.AfterFunc(1500*time.Millisecond, func() { f.add(delivery(1)) })
		f.run(t, 512, 1200*time.Millisecond, time.Minute)
		require.Equal(t, []string{"settle 1-0"}, f.made("settle"))
	})
	bubble(t, "the end of work cuts a batch short and leaves it pending", func(t *testing.T) {
		f := newFake(delivery(1))
		f.handle = func(ctx context.Context, ds []seckill.Delivery) []fulfil.Result {
			<-ctx.Done()
			return transient(ds)
		}
		require.Equal(t, 2*time.Second, f.run(t, 512, time.Second, 2*time.Second))
		require.Empty(t, f.made("settle", "drop"))
	})
}
