package consume

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/fulfil"
)

func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func TestRun(t *testing.T) {
	bubble(t, "a batch is settled together, told, and buried one by one", func(t *testing.T) {
		f := newFake(deliveries(1, 5)...)
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			rs := all(ds, seckill.Stored, fulfil.Settle)
			rs[1].Outcome, rs[1].End, rs[1].Reason = seckill.Malformed, fulfil.Bury, seckill.ReasonMalformed
			rs[2].Outcome, rs[2].Gone = seckill.Lost, true
			rs[3].Outcome, rs[3].End, rs[3].Reason = seckill.IDClash, fulfil.Bury, seckill.ReasonIDClash
			return rs
		}
		f.run(t, 512, time.Second, time.Second)
		require.Equal(t, []string{"handle 1 2 3 4 5", "settle 1-0 5-0", "announce [1 2 3 4 5]", "bury 2-0 malformed", "bury 4-0 id_clash"},
			f.made("handle", "settle", "announce", "bury"))
	})
	bubble(t, "the epochs are taken before the stream is read", func(t *testing.T) {
		f := newFake(delivery(1))
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			require.Equal(t, int64(7), ds[0].Epoch)
			return all(ds, seckill.Stored, fulfil.Settle)
		}
		f.run(t, 512, time.Second, time.Second)
		for i, call := range f.made("epochs", "read", "own after 0", "claim") {
			require.Equal(t, i%2 == 0, call == "epochs", "each read has its own")
		}
	})
	bubble(t, "while one batch commits the next is read", func(t *testing.T) {
		f := newFake(deliveries(1, 4)...)
		f.handle = func(ctx context.Context, ds []seckill.Delivery) []fulfil.Result {
			if holds(ds, 1) {
				<-time.After(5 * time.Second)
			}
			return all(ds, seckill.Stored, fulfil.Settle)
		}
		f.run(t, 1, time.Second, 10*time.Second)
		require.Equal(t, []string{"settle 2-0", "settle 3-0", "settle 4-0", "settle 1-0"}, f.made("settle"))
	})
	bubble(t, "a settle that fails is tried again and undoes nothing", func(t *testing.T) {
		f := newFake(delivery(1))
		f.fail = func(call string) error {
			if call == "settle 1-0" && strings.Count(strings.Join(f.calls, "\n"), call) < 3 {
				return errDown
			}
			return nil
		}
		f.run(t, 512, 5*time.Second, time.Second)
		require.Equal(t, []string{"handle 1", "settle 1-0", "settle 1-0", "settle 1-0", "announce [1]"}, f.made("handle", "settle", "announce"))
	})
}

func TestRunInOutage(t *testing.T) {
	bubble(t, "it holds the slots and stops the reading, buries nothing, and is two lines", func(t *testing.T) {
		f := newFake(deliveries(1, 100)...)
		until := time.Now().Add(time.Hour)
		down := func() bool { return time.Now().Before(until) }
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			if down() {
				return transient(ds)
			}
			return all(ds, seckill.Stored, fulfil.Settle)
		}
		f.fail = func(call string) error {
			if call == "ping" && down() {
				return errDown
			}
			if call == "read" && down() {
				require.LessOrEqual(t, strings.Count(strings.Join(f.calls, "\n"), "read"), 2)
			}
			return nil
		}
		f.run(t, 10, time.Hour+10*time.Second, time.Second)
		require.Less(t, len(f.made("handle")), 12_000, "two tries for each pause of each slot")
		require.Empty(t, f.made("bury"))
		require.Equal(t, 100, strings.Count(strings.Join(f.made("settle"), " "), "-0"), "all are stored in the end")
		require.Equal(t, 2, strings.Count(f.logged.String(), "what=store"), f.logged.String())
	})
	bubble(t, "told to stop it goes at once and leaves the orders pending", func(t *testing.T) {
		f := newFake(deliveries(1, 3)...)
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result { return transient(ds) }
		f.fail = func(call string) error {
			if call == "ping" {
				return errDown
			}
			return nil
		}
		require.Less(t, f.run(t, 512, time.Minute, time.Hour), 2*time.Second)
		require.Empty(t, f.made("settle", "bury"))
	})
	bubble(t, "told to stop it goes on with what only its memory has", func(t *testing.T) {
		f := newFake(deliveries(1, 3)...)
		until := time.Now().Add(2 * time.Minute)
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			rs := transient(ds)
			for i := range rs {
				if rs[i].Delivery.Order.ID == 2 {
					rs[i].Gone = true
					if time.Now().After(until) {
						rs[i] = fulfil.Result{Delivery: rs[i].Delivery, Outcome: seckill.Lost, End: fulfil.Settle, Gone: true}
					}
				}
			}
			return rs
		}
		took := f.run(t, 512, time.Minute, time.Hour)
		require.Greater(t, took, time.Minute)
		require.Less(t, took, time.Minute+5*time.Second)
		require.Equal(t, []string{"announce [2]"}, f.made("announce", "settle"))
	})
	bubble(t, "a read that fails backs off and is two lines", func(t *testing.T) {
		f := newFake(delivery(1))
		until := time.Now().Add(time.Hour)
		f.fail = func(call string) error {
			if time.Now().Before(until) {
				return errDown
			}
			return nil
		}
		f.run(t, 512, time.Hour+10*time.Second, time.Second)
		require.Equal(t, []string{"settle 1-0"}, f.made("settle"))
		require.Less(t, len(f.made("own", "read", "claim")), 4000)
		require.Equal(t, 2, strings.Count(f.logged.String(), "what=read"), f.logged.String())
	})
}

func TestRunBusy(t *testing.T) {
	bubble(t, "a busy order is tried again soon and holds up no other", func(t *testing.T) {
		f := newFake(deliveries(1, 3)...)
		until := time.Now().Add(3 * time.Second)
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			rs := all(ds, seckill.Stored, fulfil.Settle)
			for i := range rs {
				if rs[i].Delivery.Order.ID%2 == 1 && time.Now().Before(until) {
					rs[i].Outcome, rs[i].End = seckill.Busy, fulfil.Keep
				}
			}
			return rs
		}
		f.run(t, 1, 4*time.Second, time.Second)
		settled := f.made("settle")
		require.Equal(t, "settle 2-0", settled[0])
		require.ElementsMatch(t, []string{"settle 1-0", "settle 2-0", "settle 3-0"}, settled)
		require.Empty(t, f.made("count", "bury"), "it costs no attempt")
	})
	bubble(t, "a lock that frees while the program stops is waited for", func(t *testing.T) {
		f := newFake(delivery(1))
		until := time.Now().Add(3 * time.Second)
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			if time.Now().Before(until) {
				return all(ds, seckill.Busy, fulfil.Keep)
			}
			return all(ds, seckill.Stored, fulfil.Settle)
		}
		f.run(t, 512, time.Second, 10*time.Second)
		require.Equal(t, []string{"settle 1-0"}, f.made("settle"))
	})
	bubble(t, "a lock that stays held does not hold up the stop for long", func(t *testing.T) {
		f := newFake(delivery(1))
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			return all(ds, seckill.Busy, fulfil.Keep)
		}
		start := time.Now()
		f.run(t, 512, time.Second, time.Minute)
		require.Less(t, time.Since(start), 10*time.Second)
		require.Empty(t, f.made("settle", "bury"), "it stays pending")
	})
}

func TestRunBadOrder(t *testing.T) {
	bubble(t, "one that fails its whole batch holds up no other", func(t *testing.T) {
		f := newFake(deliveries(1, 512)...)
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			if holds(ds, 13) {
				return transient(ds)
			}
			return all(ds, seckill.Stored, fulfil.Settle)
		}
		f.run(t, 512, 5*time.Second, time.Second)
		settled := strings.Join(f.made("settle"), " ")
		require.Equal(t, 511, strings.Count(settled, "-0"))
		require.NotContains(t, strings.Fields(settled), "13-0", "it stays pending")
		require.Empty(t, f.made("bury"))
		require.Less(t, len(f.made("handle")), 60, "the others are found in few steps")
	})
	bubble(t, "many that fail for ever stop neither the reading nor each other", func(t *testing.T) {
		f := newFake(deliveries(1, 40)...)
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			if ds[0].Order.ID <= 30 {
				return transient(ds)
			}
			return all(ds, seckill.Stored, fulfil.Settle)
		}
		f.run(t, 1, time.Minute, time.Second)
		require.Len(t, f.made("settle"), 10)
	})
	bubble(t, "one that hangs is cut off in time", func(t *testing.T) {
		f := newFake(deliveries(1, 8)...)
		f.handle = func(ctx context.Context, ds []seckill.Delivery) []fulfil.Result {
			if holds(ds, 3) {
				began := time.Now()
				<-ctx.Done()
				require.Equal(t, claimIdle/3, time.Since(began))
				return transient(ds)
			}
			return all(ds, seckill.Stored, fulfil.Settle)
		}
		f.run(t, 512, 45*time.Second, claimIdle)
		require.Equal(t, 7, strings.Count(strings.Join(f.made("settle"), " "), "-0"))
	})
	bubble(t, "one that panics is worn out after so many lone tries, the others are stored", func(t *testing.T) {
		f := newFake(deliveries(1, 8)...)
		f.handle = func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			if holds(ds, 3) {
				panic("poison")
			}
			return all(ds, seckill.Stored, fulfil.Settle)
		}
		f.run(t, 512, time.Minute, time.Second)
		require.Equal(t, 7, strings.Count(strings.Join(f.made("settle"), " "), "-0"))
		require.Len(t, f.made("handle 3"), attemptsMax)
		require.Equal(t, []string{"worn out 3", "bury 3-0 worn_out", "forget 3-0"}, f.made("worn", "bury", "forget 3"))
	})
}
