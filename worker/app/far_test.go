package app_test

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/worker/app"
)

const lockTTL = 900 * time.Millisecond

// far is a worker whose ways to Redis and to SQL can fail, apart from everybody else's.
type far struct {
	redis, sql *faultnet.Proxy
	log        *journal
	stop       func()
}

// workFar runs a worker behind proxies, which a test may break before it starts; the options
// that are zero are those of work.
func (s *stage) workFar(name string, o app.Options, first ...func(*far)) *far {
	s.t.Helper()
	dsn, err := mysql.ParseDSN(s.dsn)
	require.NoError(s.t, err)
	f := &far{redis: faultnet.New(s.t, s.server.Addr()), sql: faultnet.New(s.t, dsn.Addr), log: &journal{}}
	dsn.Net, dsn.Addr = "tcp", f.sql.Addr()
	db, err := sqlstore.OpenMySQL(dsn.FormatDSN(), sqlstore.Options{})
	require.NoError(s.t, err)
	redis, err := redisstore.Open(s.t.Context(), redisstore.Options{Addrs: []string{f.redis.Addr()}, LockTTL: lockTTL})
	require.NoError(s.t, err)
	s.t.Cleanup(func() {
		require.NoError(s.t, redis.Close())
		require.NoError(s.t, db.Close())
	})
	for _, do := range first {
		do(f)
	}
	o.Consumer = name
	f.stop = s.run(app.Deps{Redis: redis, SQL: db, Log: slog.New(slog.NewTextHandler(f.log, nil)), Options: o})
	return f
}

// run runs a worker; the function returned stops it, as does the end of the test.
func (s *stage) run(d app.Deps) (stop func()) {
	s.t.Helper()
	if d.Options.ClaimIdle == 0 {
		d.Options.ClaimIdle = time.Second
	}
	d.Registry = prometheus.NewRegistry()
	w := app.New(d)
	intake, end := context.WithCancel(s.t.Context())
	work, cut := context.WithCancel(context.WithoutCancel(s.t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(intake, work) }()
	stop = sync.OnceFunc(func() {
		end()
		require.NoError(s.t, <-done)
		cut()
	})
	s.t.Cleanup(stop)
	return stop
}

// journal keeps what a worker logs.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func (j *journal) lines() int { return strings.Count(j.String(), "\n") }

// arrives waits for an event of a proxy.
func arrives(t *testing.T, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(soon):
		require.FailNow(t, "it never came")
	}
}

// deliveredMost is how often the entry that was delivered most often was.
func (s *stage) deliveredMost() (most int64) {
	reply, err := s.do("XPENDING", stream, group, "-", "+", 1000)
	entries, ok := reply.([]any)
	if err != nil || !ok {
		return 0
	}
	for _, e := range entries {
		most = max(most, e.([]any)[3].(int64))
	}
	return most
}

func (s *stage) lockKey(o seckill.Order) string { return "lock:order:" + o.User.String() }

// calls is how often Redis ran a command.
func (s *stage) calls(command string) (n int64) {
	s.t.Helper()
	text, err := s.do("INFO", "commandstats")
	require.NoError(s.t, err)
	_, after, _ := strings.Cut(text.(string), "cmdstat_"+command+":calls=")
	digits, _, _ := strings.Cut(after, ",")
	n, _ = strconv.ParseInt(digits, 10, 64)
	return n
}

// blocked is how many clients wait in Redis for something to read.
func (s *stage) blocked() (n int64) {
	s.t.Helper()
	text, err := s.do("INFO", "clients")
	require.NoError(s.t, err)
	_, after, _ := strings.Cut(text.(string), "blocked_clients:")
	digits, _, _ := strings.Cut(after, "\r\n")
	n, _ = strconv.ParseInt(digits, 10, 64)
	return n
}

// takeAway runs a command that takes something from under the workers. A sale that lost its
// books with it is loaded again.
func (s *stage) takeAway(command string) {
	s.t.Helper()
	var args []any
	for word := range strings.FieldsSeq(command) {
		args = append(args, word)
	}
	_, err := s.do(args...)
	require.NoError(s.t, err)
	if command == "FLUSHALL" {
		s.sync()
	}
}
