package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
)

// C19, C22: Redis or SQL is gone, or silent without a word of it, for a while. The worker
// waits with few words and hardly any work, is back within seconds, and stops when told to.
func TestOutage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		fail func(w ways)
		mend func(w ways)
	}{
		{"Redis refuses", func(w ways) { w.redis.Refuse() }, func(w ways) { w.redis.Accept() }},
		{"Redis is silent", func(w ways) { w.redis.BlackHole() }, func(w ways) { w.redis.Heal() }},
		{"SQL refuses", func(w ways) { w.sql.Refuse() }, func(w ways) { w.sql.Accept() }},
		{"SQL is silent", func(w ways) { w.sql.BlackHole() }, func(w ways) { w.sql.Heal() }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			length := faultnet.Pick(4*time.Second, time.Minute)
			s := newStack(t)
			s.startAPI()
			voucher := s.createOpen(30)
			w := s.ways()
			worker := s.startFar(w)
			users := upTo(30)
			answers := s.each(voucher, users[:10]...)
			s.drained()

			said, used := strings.Count(worker.out.String(), "\n"), worker.cpu()
			row.fail(w)
			over := time.After(length)
			answers = append(answers, s.each(voucher, users[10:20]...)...)
			<-over
			require.Less(t, strings.Count(worker.out.String(), "\n")-said, 20, worker.out)
			require.Less(t, worker.cpu()-used, length/5)
			row.mend(w)
			began := time.Now()
			s.client.CloseIdleConnections() // the api is about to close them itself
			answers = append(answers, s.each(voucher, users[20:]...)...)
			s.drained()
			require.Less(t, time.Since(began), 20*time.Second)
			_, accepted := sort(t, users, answers)
			s.law(voucher, 30, 30, accepted)
			require.Empty(t, s.buried())

			row.fail(w)
			worker.signal(syscall.SIGTERM)
			began = time.Now()
			require.NoError(t, worker.ends(), worker.out)
			require.Less(t, time.Since(began), 10*time.Second)
		})
	}
}
