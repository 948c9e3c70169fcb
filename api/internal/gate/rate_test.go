package gate

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/seckill"
)

func TestLimiter(t *testing.T) {
	for name, c := range map[string]struct {
		rate int
		gaps []time.Duration // before each request
		want []bool
	}{
		"as many at once as in a second":   {3, []time.Duration{0, 0, 0, 0, 0}, []bool{true, true, true, false, false}},
		"a refused one costs nothing":      {2, []time.Duration{0, 0, 0, 500 * time.Millisecond}, []bool{true, true, false, true}},
		"one after the other for ever":     {2, []time.Duration{0, 0, 500 * time.Millisecond, 500 * time.Millisecond, 500 * time.Millisecond}, []bool{true, true, true, true, true}},
		"a little too fast":                {1, []time.Duration{0, 999 * time.Millisecond, time.Millisecond}, []bool{true, false, true}},
		"after a pause, all at once again": {2, []time.Duration{0, 0, 5 * time.Second, 0, 0}, []bool{true, true, true, true, false}},
		"over the turn of the table":       {1, []time.Duration{900 * time.Millisecond, 150 * time.Millisecond, 850 * time.Millisecond}, []bool{true, false, true}},
		"no limit":                         {0, []time.Duration{0, 0, 0, 0}, []bool{true, true, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(c.rate, time.Now)
				for i, gap := range c.gaps {
					<-time.After(gap)
					require.Equal(t, c.want[i], l.allow(42), i)
				}
			})
		})
	}
}

// A million users fit, and none of those who fell silent is kept.
func TestLimiterMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(10, time.Now)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		users := faultnet.Pick(100_000, 1_000_000)
		for u := range seckill.UserID(users) {
			l.allow(u)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.Less(t, (after.HeapAlloc-before.HeapAlloc)/uint64(users), uint64(100), "bytes a user")
		for range 2 { // each shard turns when it is asked
			<-time.After(time.Second)
			for u := range seckill.UserID(shards) {
				l.allow(u)
			}
		}
		kept := 0
		for i := range l.shards {
			kept += len(l.shards[i].recent) + len(l.shards[i].older)
		}
		require.LessOrEqual(t, kept, 2*shards)
	})
}

func BenchmarkLimiter(b *testing.B) {
	l := newLimiter(10, time.Now)
	u := seckill.UserID(0)
	for b.Loop() {
		u++
		l.allow(u % 1_000_000)
	}
}
