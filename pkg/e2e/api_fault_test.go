package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/faultnet"
)

// answerMax is how long a purchase may take: two seconds, and the rest for a busy machine.
var answerMax = faultnet.Pick(10*time.Second, 5*time.Second)

// freeze stops the Redis of the stack without ending it, and returns what lets it go on.
func (s *stack) freeze() (thaw func()) {
	s.t.Helper()
	text, err := s.redis.Info(s.t.Context(), "server").Result()
	require.NoError(s.t, err)
	pid, err := strconv.Atoi(regexp.MustCompile(`process_id:(\d+)`).FindStringSubmatch(text)[1])
	require.NoError(s.t, err)
	require.NoError(s.t, syscall.Kill(pid, syscall.SIGSTOP))
	thaw = sync.OnceFunc(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	s.t.Cleanup(thaw)
	return thaw
}

// goroutines is how many a program has.
func (p *program) goroutines() int {
	p.t.Helper()
	return int(p.metric("go_goroutines"))
}

// settledGoroutines waits until a program that nobody is connected to has at most so many.
func (s *stack) settledGoroutines(p *program, most int) (n int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		s.client.CloseIdleConnections()
		n = p.goroutines()
		return n <= most
	}, patient, 50*time.Millisecond, "goroutines are left over")
	return n
}

// resident is the memory of a program, in bytes.
func (p *program) resident() int64 {
	p.t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status")
	require.NoError(p.t, err)
	kB, err := strconv.ParseInt(regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindStringSubmatch(string(b))[1], 10, 64)
	require.NoError(p.t, err)
	return kB << 10
}

// D1: Redis made the order and its reply got lost on the way: the buyer is told of it.
func TestAPILostReply(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	way := faultnet.New(t, s.server.Addr())
	s.startAPI("SECKILL_REDIS_ADDRS=" + way.Addr())
	voucher := s.createOpen(10)
	_, err := s.buy(t.Context(), voucher, 1) // from now on Redis knows the script
	require.NoError(t, err)
	lost := way.SwallowReplies(1, faultnet.Has("evalsha", "seckill:stream"))
	a, err := s.buy(t.Context(), voucher, 2)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, a.status, a.body)
	s.arrives(lost)
	require.Equal(t, a.OrderID, s.redis.HGet(t.Context(), "seckill:ticket:"+voucher, "2").Val())
	require.Equal(t, "8", s.redis.Get(t.Context(), "seckill:stock:"+voucher).Val())
	require.EqualValues(t, 2, s.redis.XLen(t.Context(), "seckill:stream").Val())
}

// D4, H7: Redis is frozen. Every answer comes in time and says that nobody knows; later each
// buyer's retry gets the one order there is.
func TestAPIFrozenRedis(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	s.startWorkers(1)
	voucher := s.createOpen(100)
	users := upTo(30)
	_, before := sort(t, users[:5], s.each(voucher, users[:5]...))
	thaw := s.freeze()
	began := time.Now()
	answers := s.once(voucher, users...)
	require.Less(t, time.Since(began), answerMax)
	for _, a := range answers {
		require.Equal(t, "UNAVAILABLE", a.Code, a.body)
		require.Equal(t, "1", a.header.Get("Retry-After"))
	}
	thaw()
	_, accepted := sort(t, users, s.each(voucher, users...))
	require.Len(t, accepted, len(users))
	for user, order := range before {
		require.Equal(t, order, accepted[user])
	}
	s.drained()
	s.law(voucher, 100, int64(len(users)), accepted)
}

// D3: Redis is down under load for a while, and forgets all. The api is healthy soon after,
// with as many goroutines as before.
func TestAPIRedisDownUnderLoad(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	api := s.startAPI()
	s.startWorkers(1)
	const units = 100_000
	voucher := s.createOpen(units)
	var user int64
	load := func(d time.Duration) {
		for over := time.After(d); ; {
			select {
			case <-over:
				return
			default:
				user += 20
				s.once(voucher, upTo(user)[user-20:]...)
			}
		}
	}
	load(200 * time.Millisecond)
	s.drained()
	base := s.settledGoroutines(api, 1<<20)
	require.NoError(t, s.server.Kill())
	load(faultnet.Pick(2*time.Second, time.Minute))
	require.NoError(t, s.server.Restart())
	began := time.Now()
	require.Eventually(t, func() bool {
		a, err := s.buy(t.Context(), voucher, 1)
		return err == nil && a.status == http.StatusOK
	}, patient, 10*time.Millisecond)
	require.Less(t, time.Since(began), 10*time.Second)
	s.settledGoroutines(api, base+20)
	s.drained()
	n := s.count("SELECT COUNT(*) FROM voucher_order WHERE live = 1")
	s.law(voucher, units, n, s.redis.HGetAll(t.Context(), "seckill:ticket:"+voucher).Val())
}

// D6, D10, D11: scripts are flushed while many buy: nobody notices. The api keeps to its
// connections and goroutines, and says nothing that an old Redis does not know.
func TestAPIManyPurchases(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	api := s.startAPI()
	n := faultnet.Pick[int64](2000, 10_000)
	voucher := s.createOpen(int(n))
	base := s.settledGoroutines(api, 1<<20)
	ctx, end := context.WithCancel(t.Context())
	var flushing errgroup.Group
	flushing.Go(func() error {
		pace := time.NewTicker(20 * time.Millisecond)
		defer pace.Stop()
		for {
			select {
			case <-pace.C:
				if err := s.redis.ScriptFlush(t.Context()).Err(); err != nil {
					return err
				}
			case <-ctx.Done():
				return nil
			}
		}
	})
	users := upTo(n)
	counts, accepted := sort(t, users, s.each(voucher, users...))
	end()
	require.NoError(t, flushing.Wait())
	require.Equal(t, map[string]int{"202": int(n)}, counts)
	require.Len(t, accepted, int(n))
	s.settledGoroutines(api, base+20)
	clients := strings.Count(s.redis.ClientList(t.Context()).Val(), "\n")
	require.LessOrEqual(t, clients, 20, "two trips at a time need two connections, and a few are for the rest")
	require.NotContains(t, s.redis.Info(t.Context(), "commandstats").Val(), "setinfo")
}

// A1: the stock key is gone. That is neither sold out nor a fault: nothing is changed, and
// the voucher comes back by itself.
func TestAPIStockKeyMissing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	s.startWorkers(1)
	voucher := s.createOpen(5)
	require.NoError(t, s.redis.Del(t.Context(), "seckill:stock:"+voucher).Err())
	a, err := s.buy(t.Context(), voucher, 1)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, "NOT_READY", a.Code)
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.Zero(t, s.redis.XLen(t.Context(), "seckill:stream").Val())
	require.Zero(t, s.redis.Exists(t.Context(), "seckill:order:"+voucher, "seckill:ticket:"+voucher).Val())
	require.Eventually(t, func() bool {
		a, err = s.buy(t.Context(), voucher, 1)
		return err == nil && a.status == http.StatusAccepted
	}, patient, 10*time.Millisecond)
	s.drained()
	s.law(voucher, 5, 1, map[string]string{"1": a.OrderID})
}

// A2: of 10 units 3 are stored and 4 wait in the stream when the voucher's keys are lost.
// Two apis that start together sell the last 3, once.
func TestAPIsReloadWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	voucher := s.createOpen(10)
	worker := s.startWorkers(1)[0]
	users := upTo(20)
	answers := s.each(voucher, users[:3]...)
	s.drained()
	worker.stop()
	answers = append(answers, s.each(voucher, users[3:7]...)...)
	_, before := sort(t, users[:7], answers)
	require.NoError(t, s.redis.Del(t.Context(), "seckill:voucher:"+voucher, "seckill:stock:"+voucher, "seckill:order:"+voucher, "seckill:ticket:"+voucher).Err())
	s.startAPI()
	first := s.at(s.api)
	s.startAPI()
	nodes := []*stack{first, s.at(s.api)}
	accepted := map[string]string{}
	for i, user := range users {
		require.Eventually(t, func() bool {
			a, err := nodes[i%2].buy(t.Context(), voucher, user)
			require.NoError(t, err)
			if a.OrderID != "" {
				accepted[strconv.FormatInt(user, 10)] = a.OrderID
			}
			return a.Code != "NOT_READY"
		}, patient, 10*time.Millisecond)
	}
	require.Len(t, accepted, 10)
	for user, order := range before {
		require.Equal(t, order, accepted[user])
	}
	s.startWorkers(1)
	s.drained()
	s.law(voucher, 10, 10, accepted)
}

// Redis stalls while far more ask than may wait: everybody is answered in time, memory stays
// flat, who was refused and did not ask again has no order, and the law holds after.
func TestAPIOverload(t *testing.T) {
	s := newStack(t)
	perSecond, bound := faultnet.Pick(500, 5000), faultnet.Pick(100, 1000)
	stall := faultnet.Pick(2*time.Second, 3*time.Second)
	if raceEnabled {
		perSecond = min(perSecond, 1000) // what two cores take that are watched for races
	}
	api := s.startAPI("SECKILL_ADMIT_MAX=" + strconv.Itoa(bound))
	s.startWorkers(1)
	transport := &http.Transport{MaxIdleConnsPerHost: 4 * bound}
	t.Cleanup(transport.CloseIdleConnections)
	s.client = &http.Client{Transport: transport, Timeout: patient}
	const units = 1_000_000
	voucher := s.createOpen(units)
	s.each(voucher, upTo(50)...)
	small := api.resident()

	n := perSecond * int(stall/time.Second)
	answers, took, users := make([]answer, n), make([]time.Duration, n), make([]int64, n)
	thaw := s.freeze()
	var g errgroup.Group
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for sent := 0; sent < n; {
		<-pace.C
		for range min(perSecond/100, n-sent) {
			i := sent
			users[i] = int64(1000 + i)
			sent++
			g.Go(func() (err error) {
				began := time.Now()
				answers[i], err = s.buy(t.Context(), voucher, users[i])
				took[i] = time.Since(began)
				return err
			})
		}
	}
	thaw()
	require.NoError(t, g.Wait())
	counts, accepted := sort(t, users, answers)
	t.Log(counts)
	require.Positive(t, counts["OVERLOADED"])
	for i, a := range answers {
		require.Less(t, took[i], answerMax, a.body)
		if a.Code == "OVERLOADED" {
			require.Equal(t, "1", a.header.Get("Retry-After"))
			require.False(t, s.redis.HExists(t.Context(), "seckill:ticket:"+voucher, strconv.FormatInt(users[i], 10)).Val(), "refused, and has an order")
		}
	}
	require.Less(t, api.resident()-small, int64(faultnet.Pick(200, 400))<<20, "some 20 KB for each connection")

	// Who was told that nobody knows asks again.
	_, first := sort(t, upTo(50), s.each(voucher, upTo(50)...))
	for i, a := range answers {
		if a.Code == "UNAVAILABLE" {
			again, err := s.buy(t.Context(), voucher, users[i])
			require.NoError(t, err)
			require.NotEmpty(t, again.OrderID, again.body)
			accepted[strconv.FormatInt(users[i], 10)] = again.OrderID
		}
	}
	for user, order := range first {
		accepted[user] = order
	}
	s.drained()
	s.law(voucher, units, int64(len(accepted)), accepted)
}

// H2, H3: headers that never end and bodies that are too large cost their senders the
// connection, and nobody else anything.
func TestAPISlowAndHugeRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	voucher := s.createOpen(10)
	addr := strings.TrimPrefix(s.api, "http://")
	slow := make([]net.Conn, faultnet.Pick(100, 500))
	for i := range slow {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nX-Half: ")
		require.NoError(t, err)
		slow[i] = conn
	}
	began := time.Now()
	a, err := s.buy(t.Context(), voucher, 1)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, a.status)

	huge, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.api+"/api/v1/vouchers/"+voucher+"/orders", strings.NewReader(strings.Repeat("x", 50<<20)))
	require.NoError(t, err)
	huge.Header.Set("Authorization", "Bearer "+token(t, 2, ""))
	if resp, err := s.client.Do(huge); err == nil { // or the connection went while the body was sent
		require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
		require.NoError(t, resp.Body.Close())
	}
	for _, conn := range slow {
		require.NoError(t, conn.SetReadDeadline(began.Add(10*time.Second)))
		_, err := io.Copy(io.Discard, conn)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "still open after ten seconds")
	}
}
