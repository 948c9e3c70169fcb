package steps

import (
	"database/sql"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/books"
	"github.com/openseckill/seckill/pkg/e2e/caller"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
)

const secret = "a secret for steps, of 32 bytes or more"

// hurried are settings that make moments of what takes seconds. A worker keeps its name, so
// that its next life has its orders at once.
var hurried = []string{
	"SECKILL_JWT_SECRET=" + secret, "SECKILL_RATE_PER_USER=0", "SECKILL_LOG_LEVEL=warn", "SECKILL_LOG_FORMAT=text",
	"SECKILL_CLAIM_IDLE=2s", "SECKILL_LOCK_TTL=300ms", "SECKILL_ATTEMPTS_MAX=2", "SECKILL_AUTO_MIGRATE=false",
	"SECKILL_CONSUMER=the-same",
}

// stage is a private Redis and a database of its own, and the way past all proxies to both.
type stage struct {
	whole  *testing.T // of the scene
	t      *testing.T // of the step that is under way
	server *redistest.Server
	dsn    string
	rdb    *redis.Client
	db     *sql.DB
	redis  *redisstore.Store
	sql    *sqlstore.Store
	books  *books.Books
	api    *life // the one that serves now
	worker *life // the same
	last   int64 // number of the newest user and order
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{whole: t, t: t, server: redistest.New(t), dsn: sqltest.New(t)}
	s.rdb = s.server.ClientOf(t)
	var err error
	s.db, err = sql.Open("mysql", s.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.db.Close()) })
	s.redis, err = redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{s.server.Addr()}, LockTTL: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.redis.Close()) })
	s.sql, err = sqlstore.OpenMySQL(s.dsn, sqlstore.Options{PayTimeout: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.sql.Close()) })
	require.NoError(t, s.sql.Migrate(t.Context()))
	s.books = books.New(s.redis, s.sql, slog.New(slog.DiscardHandler))
	s.api, s.worker = s.run("api"), s.run("worker")
	return s
}

func (s *stage) config() *mysql.Config {
	c, err := mysql.ParseDSN(s.dsn)
	require.NoError(s.t, err)
	return c
}

// run starts a program that serves, and returns when it does.
func (s *stage) run(program string) *life {
	s.t.Helper()
	l := s.live(program)
	l.start()
	s.whole.Cleanup(func() {
		if s.whole.Failed() {
			s.whole.Logf("%s: %s", program, l.Output())
		}
		l.crash()
	})
	l.ready()
	return l
}

// revive lets another program take the place of one that died.
func (s *stage) revive(l *life) {
	s.t.Helper()
	switch l {
	case s.api:
		s.api = s.run("api")
	case s.worker:
		s.worker = s.run("worker")
	}
}

// voucher puts one on sale.
func (s *stage) voucher(total int64) seckill.VoucherID {
	s.t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	v, _, err := s.sql.CreateVoucher(s.t.Context(), seckill.Voucher{
		Title: "a cup", Price: price, Currency: "CNY", Total: total, Begin: now.Add(-time.Hour), End: now.Add(time.Hour),
	}, "")
	require.NoError(s.t, err)
	require.NoError(s.t, s.books.Sync(s.t.Context(), v.ID))
	return v.ID
}

const price = 100

// order is a new order of a new user, which nobody has accepted.
func (s *stage) order(v seckill.VoucherID) seckill.Order {
	const first = 1 << 60 // far from the ids that an api makes
	s.last++
	return seckill.Order{ID: seckill.OrderID(first + s.last), User: seckill.UserID(s.last), Voucher: v}
}

func (s *stage) exec(query string, args ...any) {
	s.t.Helper()
	_, err := s.db.ExecContext(s.t.Context(), query, args...)
	require.NoError(s.t, err)
}

func (s *stage) count(query string, args ...any) (n int64) {
	s.t.Helper()
	require.NoError(s.t, s.db.QueryRowContext(s.t.Context(), query, args...).Scan(&n))
	return n
}

// rest waits until nothing is under way: no entry, no order past its time, no release that is
// due, nothing to publish, and the voucher sells.
func (s *stage) rest(v seckill.VoucherID) {
	s.t.Helper()
	var state string
	require.Eventually(s.t, func() bool {
		ctx := s.t.Context()
		pending, err := s.rdb.XPending(ctx, "seckill:stream", "seckillGroup").Result()
		if err != nil || pending.Count > 0 || s.rdb.XLen(ctx, "seckill:stream").Val() > 0 {
			state = "orders wait"
			return false
		}
		if state = s.rdb.HGet(ctx, "seckill:voucher:"+v.String(), "state").Val(); state != "open" {
			return false
		}
		state = "rows wait"
		return s.count(`SELECT (SELECT COUNT(*) FROM voucher_order WHERE release_due = 1 OR status = 'created' AND expires_at = 1)
			+ (SELECT COUNT(*) FROM order_outbox WHERE published_at IS NULL)`) == 0
	}, caller.Patient, 5*time.Millisecond, "%s", lazy{&state})
}

type lazy struct{ text *string }

func (l lazy) String() string { return *l.text }

// ask makes a request of the api that serves now; an error means that no answer came.
func (s *stage) ask(method, path string, user seckill.UserID, role, body string) (caller.Answer, error) {
	c := caller.New(secret, 1, caller.Patient, s.api.HTTP)
	defer c.Close()
	return c.Ask(s.whole.Context(), caller.Question{Method: method, Path: path, User: int64(user), Role: role, Body: body})
}

func number64(n int64) string { return strconv.FormatInt(n, 10) }
