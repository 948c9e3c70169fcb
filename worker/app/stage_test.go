package app_test

import (
	"database/sql"
	"flag"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/books"
	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/openseckill/seckill/worker/app"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", faultnet.Pick("4", "2")) // the short ones mostly wait
	os.Exit(sqltest.Main(m))
}

const (
	soon   = time.Minute // far longer than anything takes that works
	poll   = 10 * time.Millisecond
	stream = "seckill:stream"
	group  = "seckillGroup"
)

var (
	lastID   atomic.Int64
	lastUser atomic.Int64
)

// stage is a private Redis, a database of its own, and a voucher on sale.
type stage struct {
	t       *testing.T
	server  *redistest.Server
	dsn     string
	raw     *sql.DB                        // past the store
	do      func(args ...any) (any, error) // one Redis command
	redis   *redisstore.Store
	sql     *sqlstore.Store
	books   *books.Books
	voucher seckill.VoucherID
}

func newStage(t *testing.T, total int64) *stage {
	t.Helper()
	return newStageOn(t, redistest.New(t), sqltest.New(t), 0, total)
}

func newStageOn(t *testing.T, server *redistest.Server, dsn string, partitions int, total int64) *stage {
	t.Helper()
	s := &stage{t: t, server: server, dsn: dsn}
	client := s.server.ClientOf(t)
	s.do = func(args ...any) (any, error) { return client.Do(t.Context(), args...).Result() }
	var err error
	s.raw, err = sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.raw.Close()) })
	s.redis, err = redisstore.Open(t.Context(), redisstore.Options{
		Addrs: []string{s.server.Addr()}, Partitions: partitions, LockTTL: lockTTL,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.redis.Close()) })
	s.sql, err = sqlstore.OpenMySQL(dsn, sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.sql.Close()) })
	require.NoError(t, s.sql.Migrate(t.Context()))
	s.books = books.New(s.redis, s.sql, slog.New(slog.DiscardHandler))
	s.create(total)
	return s
}

// create puts another voucher on sale, which is the stage's from now on.
func (s *stage) create(total int64) {
	s.t.Helper()
	now := time.Now().Truncate(time.Second).UTC()
	v, _, err := s.sql.CreateVoucher(s.t.Context(), seckill.Voucher{
		Title: "a cup", Currency: "CNY", Total: total, Begin: now.Add(-time.Hour), End: now.Add(time.Hour),
	}, "")
	require.NoError(s.t, err)
	s.voucher = v.ID
	s.sync()
}

func (s *stage) sync() {
	s.t.Helper()
	require.NoError(s.t, s.books.Sync(s.t.Context(), s.voucher))
}

// order is a new order of a new user, which nobody has accepted yet.
func (s *stage) order() seckill.Order {
	return seckill.Order{
		ID: seckill.OrderID(1<<60 + lastID.Add(1)), User: seckill.UserID(1<<61 + lastUser.Add(1)), Voucher: s.voucher,
	}
}

// buy lets n new users order in Redis.
func (s *stage) buy(n int) []seckill.Order {
	s.t.Helper()
	orders := make([]seckill.Order, n)
	for i := range orders {
		orders[i] = s.order()
		_, err := s.redis.Admit(s.t.Context(), orders[i])
		require.NoError(s.t, err)
	}
	return orders
}

// queue adds an entry to the stream that no sale put there.
func (s *stage) queue(fields ...any) (entry string) {
	s.t.Helper()
	reply, err := s.do(append([]any{"XADD", stream, "*"}, fields...)...)
	require.NoError(s.t, err)
	return reply.(string)
}

func (s *stage) queueOrder(o seckill.Order) (entry string) {
	s.t.Helper()
	return s.queue("id", o.ID.String(), "userId", o.User.String(), "voucherId", o.Voucher.String())
}

// store writes a row past Redis.
func (s *stage) store(o seckill.Order) {
	s.t.Helper()
	epochs, err := s.sql.Epochs(s.t.Context(), []seckill.VoucherID{s.voucher})
	require.NoError(s.t, err)
	verdicts, err := s.sql.StoreOrders(s.t.Context(), []seckill.Order{o}, epochs)
	require.NoError(s.t, err)
	require.Equal(s.t, seckill.Stored, verdicts[0].Outcome)
}

// work runs a worker on the stage's own stores; the function returned stops it, as does
// the end of the test.
func (s *stage) work(name string) (stop func()) {
	s.t.Helper()
	return s.run(app.Deps{
		Redis: s.redis, SQL: s.sql, Log: slog.New(slog.DiscardHandler), Options: app.Options{Consumer: name, BatchMax: 100},
	})
}

func (s *stage) status(o seckill.Order) (seckill.Status, seckill.Reason) {
	row, err := s.sql.Order(s.t.Context(), o.ID)
	if err != nil {
		return seckill.Queued, ""
	}
	return row.Status, row.Reason
}

func (s *stage) awaitStatus(o seckill.Order, want seckill.Status, why seckill.Reason) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		status, reason := s.status(o)
		return status == want && reason == why
	}, soon, poll)
}

// awaitRest waits until nothing is under way and both stores agree, with as many live rows.
// C13, C14: the stream is then empty, by its length and not by a trim that may do nothing.
func (s *stage) awaitRest(live int64) {
	s.t.Helper()
	var r seckill.Report
	ok := func() bool {
		var err error
		r, err = s.books.Audit(s.t.Context(), s.voucher)
		return err == nil && r.AtRest() && r.SQL.Live() == live && s.number("XLEN", stream) == 0 && s.pending() == 0
	}
	if !waitFor(ok) {
		require.FailNow(s.t, "not at rest", "%+v, %d entries, %d pending", r, s.number("XLEN", stream), s.pending())
	}
}

func waitFor(ok func() bool) bool {
	deadline := time.After(soon)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		select {
		case <-deadline:
			return false
		case <-tick.C:
			if ok() {
				return true
			}
		}
	}
}

func (s *stage) number(args ...any) int64 {
	reply, err := s.do(args...)
	if n, ok := reply.(int64); ok && err == nil {
		return n
	}
	return -1
}

func (s *stage) pending() int64 {
	reply, err := s.do("XPENDING", stream, group)
	if summary, ok := reply.([]any); ok && err == nil {
		return summary[0].(int64)
	}
	return -1
}

// buried returns the reasons in the dead stream, oldest first.
func (s *stage) buried() (reasons []string) {
	s.t.Helper()
	reply, err := s.do("XRANGE", "seckill:dead", "-", "+")
	require.NoError(s.t, err)
	for _, e := range reply.([]any) {
		fields := e.([]any)[1].([]any) // entry, its id, reason, why, ...
		reasons = append(reasons, fields[3].(string))
	}
	return reasons
}
