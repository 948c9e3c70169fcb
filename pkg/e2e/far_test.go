package e2e

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
)

// hurried are settings of a worker that make seconds of what takes minutes. Its batches are
// small, so that there are many.
var hurried = []string{"SECKILL_CLAIM_IDLE=1s", "SECKILL_LOCK_TTL=500ms", "SECKILL_BATCH_MAX=64", "SECKILL_LOG_LEVEL=info"}

// ways are the ways of a program to both servers, which can fail.
type ways struct{ redis, sql *faultnet.Proxy }

func (s *stack) ways() ways {
	s.t.Helper()
	return ways{redis: faultnet.New(s.t, s.server.Addr()), sql: faultnet.New(s.t, s.config().Addr)}
}

// crash ends a worker as a crash does: it is gone, and so are its connections.
func (w ways) crash(p *program) {
	p.t.Helper()
	p.kill()
	w.redis.Cut()
	w.sql.Cut()
}

func (s *stack) config() *mysql.Config {
	s.t.Helper()
	c, err := mysql.ParseDSN(s.dsn)
	require.NoError(s.t, err)
	return c
}

// startFar runs a hurried worker that takes these ways.
func (s *stack) startFar(w ways, env ...string) *program {
	s.t.Helper()
	dsn := s.config()
	dsn.Net, dsn.Addr = "tcp", w.sql.Addr()
	own := []string{"SECKILL_REDIS_ADDRS=" + w.redis.Addr(), "SECKILL_MYSQL_DSN=" + dsn.FormatDSN()}
	return s.start("worker", append(append(own, hurried...), env...)...)
}

// storing is in the request that stores orders.
const storing = "INSERT INTO voucher_order"

// arrives waits for an event of a proxy.
func (s *stack) arrives(event <-chan struct{}) {
	s.t.Helper()
	select {
	case <-event:
	case <-time.After(patient):
		require.FailNow(s.t, "it never came")
	}
}

func (s *stack) pending() int64 {
	p, err := s.redis.XPending(s.t.Context(), "seckill:stream", "seckillGroup").Result()
	if err != nil {
		return -1
	}
	return p.Count
}

// atRest is what drained waits for.
func (s *stack) atRest() bool {
	return s.pending() == 0 && s.redis.XLen(s.t.Context(), "seckill:stream").Val() == 0
}

// buried returns the reasons in the dead stream.
func (s *stack) buried() (reasons []string) {
	for _, m := range s.redis.XRange(s.t.Context(), "seckill:dead", "-", "+").Val() {
		reasons = append(reasons, m.Values["reason"].(string))
	}
	return reasons
}

// cpu is the processor time that a program has used.
func (p *program) cpu() time.Duration {
	p.t.Helper()
	const tick = time.Second / 100 // USER_HZ is 100 on every Linux
	b, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/stat")
	require.NoError(p.t, err)
	_, after, _ := strings.Cut(string(b), ") ") // what is before it may hold blanks
	fields := strings.Fields(after)
	user, err := strconv.ParseInt(fields[11], 10, 64)
	require.NoError(p.t, err)
	system, err := strconv.ParseInt(fields[12], 10, 64)
	require.NoError(p.t, err)
	return time.Duration(user+system) * tick
}

// metric is the value of a metric of the program; 0 where it has none.
func (p *program) metric(name string) float64 {
	p.t.Helper()
	resp, err := http.Get("http://" + p.ops + "/metrics")
	require.NoError(p.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err)
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			require.NoError(p.t, err)
			return value
		}
	}
	return 0
}
