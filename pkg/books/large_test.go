package books

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/seckill"
)

// What an audit and a sync may keep in memory at a time.
const (
	liveBase  = 16 << 20 // bytes, whatever the voucher
	liveOrder = 80       // bytes for each of its orders
)

// sold writes n live rows, of which Redis knows nothing yet.
func sold(t *testing.T, n int) fixture {
	t.Helper()
	f := newFixture(t, int64(n))
	const rows = 5000
	for from := 1; from <= n; from += rows {
		var values []string
		for u := from; u < min(from+rows, n+1); u++ {
			values = append(values, fmt.Sprintf("(%d, %d, %d, 'created', 1, 1)", f.order(int64(u)).ID, u, f.v.ID))
		}
		_, err := f.db.ExecContext(t.Context(), "INSERT INTO voucher_order (id, user_id, voucher_id, status, created_at, updated_at) VALUES "+strings.Join(values, ","))
		require.NoError(t, err)
	}
	_, err := f.db.ExecContext(t.Context(), "UPDATE seckill_voucher SET stock = total - ?", n)
	require.NoError(t, err)
	return f
}

// liveMax is how much more memory than before was in use while do ran, by what the collector
// found alive.
func liveMax(t *testing.T, do func()) uint64 {
	t.Helper()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	live := func() uint64 { metrics.Read(sample); return sample[0].Value.Uint64() }
	runtime.GC()
	before, most := live(), uint64(0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			most = max(most, live())
		}
	}()
	do()
	cancel()
	<-done
	return max(most, before) - before
}

// An audit and a sync of a voucher with a million orders take seconds, and memory for two
// numbers of each order. The short run has fewer orders, and holds them to the same bound.
func TestLargeVoucher(t *testing.T) {
	n := faultnet.Pick(20_000, 1_000_000)
	f := sold(t, n)
	step := func(name string, do func()) {
		t.Helper()
		began := time.Now()
		used := liveMax(t, do)
		t.Logf("%s of %d orders: %v, %d MB", name, n, time.Since(began).Round(time.Millisecond), used>>20)
		require.Less(t, used, uint64(liveBase+n*liveOrder), name)
	}
	balanced := func(want bool) func() {
		return func() {
			r, err := f.Audit(t.Context(), f.v.ID)
			require.NoError(t, err)
			require.Equal(t, want, r.Balanced())
			if !want {
				require.Equal(t, n, len(r.Drift)+r.Unlisted)
				require.LessOrEqual(t, len(r.Drift), findingsMax)
			}
		}
	}
	sync := func() { require.NoError(t, f.Sync(t.Context(), f.v.ID)) }

	step("audit without a ticket", balanced(false))
	step("sync of an empty Redis", sync)
	step("audit", balanced(true))
	step("sync", sync)
	requireBalance(t, f, 0, int64(n))
	_, err := f.db.ExecContext(t.Context(), "DELETE FROM voucher_order")
	require.NoError(t, err)
	_, err = f.db.ExecContext(t.Context(), "UPDATE seckill_voucher SET stock = total")
	require.NoError(t, err)
	step("audit without a row", balanced(false))
}

func requireBalance(t *testing.T, f fixture, left, buyers int64) {
	t.Helper()
	b, err := f.redis.Books(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.Equal(t, seckill.RedisBooks{State: "open", Total: f.v.Total, Stock: left, Buyers: buyers, Tickets: buyers, Version: 1, Begin: f.v.Begin.UnixMilli(), End: f.v.End.UnixMilli()}, b)
}
