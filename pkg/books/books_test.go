package books

import (
	"context"
	database "database/sql"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
)

func TestMain(m *testing.M) { os.Exit(sqltest.Main(m)) }

// fixture is one voucher of total units on real stores, in every state that a user can be in.
type fixture struct {
	*Books
	t     *testing.T
	redis *redisstore.Store
	sql   *sqlstore.Store
	c     *goredis.Client
	db    *database.DB
	v     seckill.Voucher
}

func newFixture(t *testing.T, total int64) fixture {
	t.Helper()
	server, dsn := redistest.New(t), sqltest.New(t)
	f := fixture{t: t, c: server.ClientOf(t)}
	var err error
	f.redis, err = redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{server.Addr()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.redis.Close()) })
	f.sql, err = sqlstore.OpenMySQL(dsn, sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.sql.Close()) })
	require.NoError(t, f.sql.Migrate(t.Context()))
	f.db, err = database.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.db.Close()) })
	now := time.Now().Truncate(time.Millisecond)
	f.v, _, err = f.sql.CreateVoucher(t.Context(), seckill.Voucher{Title: "x", Currency: "CNY", Total: total, Begin: now.Add(-time.Minute), End: now.Add(time.Hour)}, "")
	require.NoError(t, err)
	f.Books = New(f.redis, f.sql, slog.New(slog.DiscardHandler))
	require.NoError(t, f.Sync(t.Context(), f.v.ID))
	return f
}

func (f fixture) order(user int64) seckill.Order {
	return seckill.Order{ID: seckill.OrderID(1000 + user), User: seckill.UserID(user), Voucher: f.v.ID}
}

// admit gives users tickets and entries.
func (f fixture) admit(users ...int64) {
	f.t.Helper()
	for _, u := range users {
		_, err := f.redis.Admit(f.t.Context(), f.order(u))
		require.NoError(f.t, err)
	}
}

// store writes the rows of orders, as a worker does before it settles.
func (f fixture) store(users ...int64) {
	f.t.Helper()
	epochs, err := f.sql.Epochs(f.t.Context(), []seckill.VoucherID{f.v.ID})
	require.NoError(f.t, err)
	var orders []seckill.Order
	for _, u := range users {
		orders = append(orders, f.order(u))
	}
	verdicts, err := f.sql.StoreOrders(f.t.Context(), orders, epochs)
	require.NoError(f.t, err)
	for _, v := range verdicts {
		require.Equal(f.t, seckill.Stored, v.Outcome)
	}
}

// settle takes all entries off the stream that are stored.
func (f fixture) settle() {
	f.t.Helper()
	ds, err := f.redis.Read(f.t.Context(), 0, "test", 1000, time.Millisecond)
	require.NoError(f.t, err)
	var entries []string
	for _, d := range ds {
		if _, err := f.sql.Order(f.t.Context(), d.Order.ID); err == nil {
			entries = append(entries, d.Entry)
		}
	}
	_, err = f.redis.Settle(f.t.Context(), 0, entries)
	require.NoError(f.t, err)
}

// cancel lets orders die as a cancellation does, without its release.
func (f fixture) cancel(users ...int64) {
	f.t.Helper()
	for _, u := range users {
		_, err := f.db.ExecContext(f.t.Context(), "UPDATE voucher_order SET status = 'cancelled' WHERE id = ?", f.order(u).ID)
		require.NoError(f.t, err)
		_, err = f.db.ExecContext(f.t.Context(), "UPDATE seckill_voucher SET stock = stock + 1 WHERE id = ?", f.v.ID)
		require.NoError(f.t, err)
	}
}

func (f fixture) key(what string) string { return "seckill:" + what + ":" + f.v.ID.String() }

func (f fixture) tickets() map[string]string {
	return f.c.HGetAll(f.t.Context(), f.key("ticket")).Val()
}

func (f fixture) entries() (ids []string) {
	waiting, err := f.redis.Waiting(f.t.Context(), f.v.ID)
	require.NoError(f.t, err)
	for _, h := range waiting {
		ids = append(ids, h.Order.String())
	}
	return ids
}

// sale brings about: 1 and 2 stored, 3 stored and not settled, 4 and 5 queued.
func sale(t *testing.T) fixture {
	f := newFixture(t, 10)
	f.admit(1, 2)
	f.store(1, 2)
	f.settle()
	f.admit(3, 4, 5)
	f.store(3)
	return f
}

func requireHolders(t *testing.T, f fixture, users ...int64) {
	t.Helper()
	want := map[string]string{}
	for _, u := range users {
		want[strconv.FormatInt(u, 10)] = f.order(u).ID.String()
	}
	require.Equal(t, want, f.tickets())
	b, err := f.redis.Books(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.True(t, b.Balanced(), "%+v", b)
	require.Equal(t, "open", b.State)
	require.EqualValues(t, len(users), b.Buyers)
}

// A2: whatever of a voucher's keys is lost, alone or together, comes back with the orders in
// flight counted. The stock of SQL alone would sell those again.
func TestSync(t *testing.T) {
	all := []string{"voucher", "stock", "order", "ticket"}
	del := func(keys ...string) func(f fixture) {
		return func(f fixture) {
			for _, key := range keys {
				require.NoError(f.t, f.c.Del(f.t.Context(), f.key(key)).Err())
			}
		}
	}
	for _, c := range []struct {
		name string
		lose func(f fixture)
	}{
		{"nothing is lost", del()},
		{"the voucher", del("voucher")},
		{"the stock", del("stock")},
		{"the buyers", del("order")},
		{"the tickets", del("ticket")},
		{"buyers and tickets", del("order", "ticket")},
		{"all but the stream", del(all...)},
		{"the stock says too much", func(f fixture) { f.c.Set(f.t.Context(), f.key("stock"), "9", 0) }},
		{"a foreign buyer", func(f fixture) { f.c.SAdd(f.t.Context(), f.key("order"), "x") }},
		{"a foreign ticket", func(f fixture) { f.c.HSet(f.t.Context(), f.key("ticket"), "x", "y") }},
		{"a ticket of an order that is another's", func(f fixture) { f.c.HSet(f.t.Context(), f.key("ticket"), "77", f.order(1).ID.String()) }},
		{"keys of other types", func(f fixture) {
			del(all...)(f)
			for _, key := range all {
				f.c.LPush(f.t.Context(), f.key(key), "x")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := sale(t)
			waiting := f.entries()
			c.lose(f)
			require.NoError(t, f.Sync(t.Context(), f.v.ID))
			requireHolders(t, f, 1, 2, 3, 4, 5)
			require.Equal(t, "5", f.c.Get(t.Context(), f.key("stock")).Val())
			require.Equal(t, waiting, f.entries(), "orders in flight stay, and none is queued twice")
			r, err := f.Audit(t.Context(), f.v.ID)
			require.NoError(t, err)
			require.True(t, r.Balanced(), "%+v", r)
			require.False(t, r.AtRest(), "three entries wait")
		})
	}
}

func TestSyncWithoutTheStream(t *testing.T) {
	f := sale(t)
	require.NoError(t, f.c.Del(t.Context(), "seckill:stream").Err())
	require.NoError(t, f.Sync(t.Context(), f.v.ID))
	requireHolders(t, f, 1, 2, 3, 4, 5)
	require.ElementsMatch(t, []string{f.order(4).ID.String(), f.order(5).ID.String()}, f.entries(), "accepted orders without row or entry are queued again")
}

func TestSyncAfterRedisForgotAll(t *testing.T) {
	f := sale(t)
	require.NoError(t, f.c.FlushAll(t.Context()).Err())
	require.NoError(t, f.Sync(t.Context(), f.v.ID))
	requireHolders(t, f, 1, 2, 3)
	require.Equal(t, "7", f.c.Get(t.Context(), f.key("stock")).Val())
}

func TestSyncReleasesTheDead(t *testing.T) {
	f := sale(t)
	f.cancel(1)
	row, err := f.sql.Reject(t.Context(), f.order(4), seckill.ReasonWornOut)
	require.NoError(t, err)
	require.Equal(t, seckill.Rejected, row.Status)
	require.NoError(t, f.Sync(t.Context(), f.v.ID))
	requireHolders(t, f, 2, 3, 5)
}

// An accepted order whose entry is lost, of a user who has another live row, still ends as a
// row of its own: it is queued before the live one takes its ticket.
func TestSyncQueuesTheLostBesideALiveOne(t *testing.T) {
	f := newFixture(t, 10)
	f.admit(1)
	f.store(1)
	f.settle()
	require.NoError(t, f.c.HSet(t.Context(), f.key("ticket"), "1", "5001").Err())
	require.NoError(t, f.Sync(t.Context(), f.v.ID))
	requireHolders(t, f, 1)
	require.Equal(t, []string{"5001"}, f.entries())
}

func TestSyncOfANewerVersionInRedis(t *testing.T) {
	f := sale(t)
	require.NoError(t, f.c.HSet(t.Context(), f.key("voucher"), "version", 7).Err())
	require.NoError(t, f.Sync(t.Context(), f.v.ID))
	v, err := f.sql.Voucher(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.Greater(t, v.Version, int64(7))
	requireHolders(t, f, 1, 2, 3, 4, 5)
}

func TestSyncOfNoVoucher(t *testing.T) {
	f := newFixture(t, 1)
	require.ErrorIs(t, f.Sync(t.Context(), 4711), seckill.VoucherNotFound)
	require.Empty(t, f.c.Keys(t.Context(), "*4711*").Val())
}

// Many processes sync at once, while users buy, orders are stored, and others die.
func TestSyncAtOnce(t *testing.T) {
	f := newFixture(t, 60)
	f.admit(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	f.store(1, 2, 3, 4, 5)
	g, ctx := errgroup.WithContext(t.Context())
	for range 4 {
		other := New(f.redis, f.sql, slog.New(slog.DiscardHandler))
		g.Go(func() error {
			for range 5 {
				if err := other.Sync(ctx, f.v.ID); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		for u := int64(11); u <= 60; u++ {
			for {
				_, err := f.redis.Admit(ctx, f.order(u))
				if err == nil {
					break
				}
				if seckill.CodeOf(err) != seckill.NotReady {
					return err
				}
			}
		}
		return nil
	})
	g.Go(func() error {
		for u := int64(1); u <= 5; u++ {
			f.cancel(u)
			if _, err := f.redis.Release(ctx, f.order(u)); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, g.Wait())
	require.NoError(t, f.Sync(t.Context(), f.v.ID))
	var want []int64
	for u := int64(6); u <= 60; u++ {
		want = append(want, u)
	}
	requireHolders(t, f, want...)
	require.Equal(t, "5", f.c.Get(t.Context(), f.key("stock")).Val())
}

func TestSyncEndsWithItsCaller(t *testing.T) {
	f := newFixture(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, f.Sync(ctx, f.v.ID), seckill.Unavailable)
}
