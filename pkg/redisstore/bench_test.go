package redisstore

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Twelve vouchers on one server: one queue for all of them, as for a node, or one for each
// partition. The CPU is that of both processes, in microseconds for each order.
func BenchmarkAdmitPartitions(b *testing.B) {
	const vouchers, callers = 12, 512
	for _, partitions := range []int{1, vouchers} {
		b.Run(fmt.Sprint(partitions), func(b *testing.B) {
			server := redistest.NewWith(b, redistest.Options{TCP: true})
			s, err := Open(b.Context(), Options{Addrs: []string{server.Addr()}, Partitions: partitions})
			require.NoError(b, err)
			defer s.Close()
			now := time.Now().Truncate(time.Millisecond)
			for i := range vouchers {
				v := seckill.Voucher{ID: seckill.VoucherID(1 + i), Total: int64(b.N) + 1, Begin: now.Add(-time.Minute), End: now.Add(time.Hour), Version: 1}
				require.NoError(b, s.Load(b.Context(), v.ID, "first"))
				_, err := s.OpenSale(b.Context(), v, "first")
				require.NoError(b, err)
			}
			var next, failed atomic.Int64
			var done sync.WaitGroup
			redisCPU := func() float64 {
				text := server.ClientOf(b).Info(b.Context(), "cpu").Val()
				var user, sys float64
				_, _ = fmt.Sscan(infoField(text, "used_cpu_user"), &user)
				_, _ = fmt.Sscan(infoField(text, "used_cpu_sys"), &sys)
				return 1e6 * (user + sys)
			}
			ownCPU := func() float64 {
				var u syscall.Rusage
				_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
				return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
			}
			redis, own := redisCPU(), ownCPU()
			b.ResetTimer()
			for range callers {
				done.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						if _, err := s.Admit(b.Context(), seckill.Order{ID: seckill.OrderID(n), User: seckill.UserID(n), Voucher: seckill.VoucherID(1 + n%vouchers)}); err != nil {
							failed.Add(1)
						}
					}
				})
			}
			done.Wait()
			b.StopTimer()
			require.Zero(b, failed.Load())
			u := s.Usage()
			b.ReportMetric((redisCPU()-redis)/float64(b.N), "redis-µs/op")
			b.ReportMetric((ownCPU()-own)/float64(b.N), "own-µs/op")
			b.ReportMetric(float64(u.Sent)/float64(max(1, u.Trips)), "orders/trip")
		})
	}
}
