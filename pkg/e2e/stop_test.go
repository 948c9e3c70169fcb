package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
)

const stopping = "stopping: nothing new is taken"

// C18: a worker that is blocked in a read ends soon.
func TestStopIdle(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	worker := s.startFar(s.ways())
	require.Eventually(t, func() bool { return s.redis.ClientList(t.Context()).Val() != "" && s.pending() == 0 }, patient, time.Millisecond)
	began := time.Now()
	worker.signal(syscall.SIGTERM)
	require.NoError(t, worker.ends())
	require.Less(t, time.Since(began), 3*time.Second)
	require.Empty(t, s.redis.XInfoConsumers(t.Context(), "seckill:stream", "seckillGroup").Val())
}

// stopInside lets ten users buy, and tells a worker to stop whose COMMIT of them is held back.
func (s *stack) stopInside(voucher string) (worker *program, held *faultnet.Hold, accepted map[string]string) {
	s.t.Helper()
	w := s.ways()
	worker = s.startFar(w, "SECKILL_CLAIM_IDLE=1m")
	held = w.sql.Hold(faultnet.CommitOf(storing))
	users := upTo(10)
	_, accepted = sort(s.t, users, s.each(voucher, users...))
	s.arrives(held.Arrived())
	worker.signal(syscall.SIGTERM)
	worker.says(stopping)
	return worker, held, accepted
}

// C18, F10: a worker that is told to stop inside a transaction commits and settles it.
func TestStopBusy(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	voucher := s.createOpen(10)
	worker, held, accepted := s.stopInside(voucher)
	held.Release()
	require.NoError(t, worker.ends())

	read := s.count("SELECT COUNT(*) FROM voucher_order")
	require.Positive(t, read)
	require.Zero(t, s.pending(), "what it had read is stored and settled")
	require.EqualValues(t, 10-read, s.redis.XLen(t.Context(), "seckill:stream").Val())
	require.Empty(t, s.redis.XInfoConsumers(t.Context(), "seckill:stream", "seckillGroup").Val())
	s.startFar(s.ways())
	s.drained()
	s.law(voucher, 10, 10, accepted)
}

// C18, F10: a second signal ends a worker inside its transaction, which is rolled back.
// Another one stores the orders; none is buried, and no unit is given back.
func TestStopNow(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	voucher := s.createOpen(10)
	worker, _, accepted := s.stopInside(voucher)
	began := time.Now()
	worker.signal(syscall.SIGTERM)
	require.Error(t, worker.ends())
	require.Less(t, time.Since(began), 3*time.Second)
	require.Positive(t, s.pending())
	require.Equal(t, "0", s.redis.Get(t.Context(), "seckill:stock:"+voucher).Val())

	s.startFar(s.ways())
	s.drained()
	s.law(voucher, 10, 10, accepted)
	require.Empty(t, s.buried())
}
