package e2e

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
)

// C5: a worker dies again and again at a random request to Redis or SQL, while orders come
// in, and is succeeded by one of another name. Each order ends as one row.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	kills, orders := faultnet.Pick(8, 20), faultnet.Pick[int64](1504, 5000)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := newStack(t)
	s.startAPI("SECKILL_RATE_PER_USER=0")
	voucher := s.createOpen(int(orders))
	users := upTo(orders)
	var answers []answer
	for part := range slices.Chunk(users, int(orders)/kills) {
		const most = 40 // requests of some batches
		w := s.ways()
		worker := s.startFar(w)
		reached := s.nth(w, 1+random.Int64N(most))
		answers = append(answers, s.each(voucher, part...)...)
		require.Eventually(t, func() bool {
			select {
			case <-reached:
				return true
			default:
				return s.atRest() // it needed fewer
			}
		}, patient, time.Millisecond)
		w.crash(worker)
	}
	s.startFar(s.ways())
	counts, accepted := sort(t, users, answers)
	require.Equal(t, map[string]int{"202": int(orders)}, counts)
	s.drained()
	s.law(voucher, orders, orders, accepted)
	require.Empty(t, s.buried())
}

// nth keeps the nth request from now on back, whichever way it takes.
func (s *stack) nth(w ways, n int64) <-chan struct{} {
	var seen atomic.Int64
	match := func(int64, []byte) bool { return seen.Add(1) == n }
	reached := make(chan struct{})
	arrived := []<-chan struct{}{w.redis.Hold(match).Arrived(), w.sql.Hold(match).Arrived()}
	go func() {
		defer close(reached)
		select {
		case <-arrived[0]:
		case <-arrived[1]:
		case <-s.t.Context().Done():
		}
	}()
	return reached
}

// C8: an order that kills whoever stores it is worn out: its unit goes back on sale, its
// buyer is told, and everybody else is served.
func TestKillerOrder(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, consumer string }{
		{"the workers have names of their own", ""},
		{"the worker keeps its name, and finds its victim locked by its last life", "the-same"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t)
			s.startAPI()
			voucher := s.createOpen(10)
			users := upTo(6)
			_, accepted := sort(t, users, s.each(voucher, users...))
			killer := accepted["3"]
			kills := s.killedBy(killer, "SECKILL_ATTEMPTS_MAX=2", "SECKILL_CONSUMER="+row.consumer)
			require.GreaterOrEqual(t, kills, 4, "two deliveries in a batch, two alone")
			require.Equal(t, []string{"worn_out"}, s.buried())
			a, err := s.call(t.Context(), http.MethodGet, "/api/v1/orders/"+killer, token(t, 3, ""), "")
			require.NoError(t, err)
			require.Equal(t, "rejected", a.Status)
			require.Equal(t, "worn_out", a.Reason)
			require.EqualValues(t, 5, s.count("SELECT COUNT(*) FROM voucher_order WHERE live = 1"))
			require.Equal(t, "5", s.redis.Get(t.Context(), "seckill:stock:"+voucher).Val())
			require.Zero(t, s.redis.Exists(t.Context(), "seckill:tries").Val())
		})
	}
}

// killedBy starts workers and kills each that begins to store the order, until all is at
// rest. It returns how many died.
func (s *stack) killedBy(order string, env ...string) (kills int) {
	s.t.Helper()
	const tooMany = 12
	for len(s.buried()) == 0 || !s.atRest() {
		w := s.ways()
		blow := w.sql.Hold(faultnet.Has("("+order+", ", "'created'"))
		worker := s.startFar(w, env...)
		require.Eventually(s.t, func() bool {
			select {
			case <-blow.Arrived():
				kills++
				w.crash(worker)
				return true
			default:
				return len(s.buried()) > 0 && s.atRest()
			}
		}, patient, time.Millisecond)
		require.LessOrEqual(s.t, kills, tooMany)
	}
	return kills
}

// C9: a worker is killed each time it begins to store anything, far more often than an order
// may be tried. That is no order's fault, and none is buried. The worker keeps its name, so
// that it has its orders again at once.
func TestKilledInARow(t *testing.T) {
	t.Parallel()
	kills := faultnet.Pick(7, 20)
	s := newStack(t)
	s.startAPI()
	orders := faultnet.Pick[int64](100, 300)
	again := []string{"SECKILL_CONSUMER=the-same", "SECKILL_BATCH_MAX=512", "SECKILL_CLAIM_IDLE=1m", "SECKILL_ATTEMPTS_MAX=" + faultnet.Pick("3", "5")}
	voucher := s.createOpen(int(orders))
	users := upTo(orders)
	_, accepted := sort(t, users, s.each(voucher, users...))
	for range kills {
		w := s.ways()
		begun := w.sql.Hold(faultnet.Has(storing))
		worker := s.startFar(w, again...)
		s.arrives(begun.Arrived())
		w.crash(worker)
	}
	require.Positive(t, s.redis.Exists(t.Context(), "seckill:tries").Val(), "so often that orders were tried alone")
	s.startFar(s.ways(), again...)
	s.drained()
	s.law(voucher, orders, orders, accepted)
	require.Empty(t, s.buried())
}

// A worker is frozen inside its transaction until the database gives it up and another has
// stored its orders. When it goes on it changes nothing, and leaves alone whoever holds the
// locks by then.
func TestFrozenInsideItsTransaction(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	const orders = 20
	voucher := s.createOpen(orders)
	w := s.ways()
	frozen := s.startFar(w, "SECKILL_MYSQL_DSN="+s.impatient(w))
	held := w.sql.Hold(faultnet.CommitOf(storing))
	users := upTo(orders)
	_, accepted := sort(t, users, s.each(voucher, users...))
	s.arrives(held.Arrived())
	frozen.signal(syscall.SIGSTOP)

	other := s.startFar(s.ways())
	s.drained()
	s.law(voucher, orders, orders, accepted)
	for _, user := range users {
		require.NoError(t, s.redis.Set(t.Context(), lockOf(user), "another", time.Minute).Err())
	}
	other.stop()

	held.Release()
	frozen.signal(syscall.SIGCONT)
	// It finds that it has lost, and looks for the orders' locks once more.
	require.Eventually(t, func() bool { return frozen.metric(`seckill_outcomes_total{outcome="busy"}`) > 0 }, patient, 10*time.Millisecond)
	for _, user := range users {
		require.Equal(t, "another", s.redis.GetDel(t.Context(), lockOf(user)).Val())
	}
	frozen.stop()
	s.drained()
	s.law(voucher, orders, orders, accepted)
	require.Empty(t, s.buried())
}

func lockOf(user int64) string { return "lock:order:" + strconv.FormatInt(user, 10) }

// impatient is the DSN by which the database gives up a session after two seconds.
func (s *stack) impatient(w ways) string {
	c := s.config()
	c.Net, c.Addr, c.Params = "tcp", w.sql.Addr(), map[string]string{"wait_timeout": "2"}
	return c.FormatDSN()
}
