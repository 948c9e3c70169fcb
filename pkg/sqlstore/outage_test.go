package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/stretchr/testify/require"
)

// F12: one connection is enough for anything: nothing takes a second one while it holds one.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	one := sqlstore.Options{MaxOpenConns: 1}
	for name, on := range map[string]func(*testing.T, sqlstore.Options) fixture{"mariadb": onMariaDB, "sqlite": onSQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := on(t, one)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // rather an error than a hang
			defer cancel()
			v := f.voucher(100)
			calls := map[string]func() error{
				"StoreOrders": func() error {
					batch := append(orders(100, 1, 1, v), order(500, 1, v), order(1, 2, v), order(501, 0, v), order(502, 502, v))
					_, err := f.StoreOrders(ctx, batch, map[seckill.VoucherID]int64{v: 1})
					return err
				},
				"Reject":       func() error { _, err := f.Reject(ctx, order(1, 1, v), seckill.ReasonLost); return err },
				"Snapshot":     func() error { _, err := f.Snapshot(ctx, v, []seckill.OrderID{1}); return err },
				"Books":        func() error { _, err := f.Books(ctx, v); return err },
				"Rows":         func() error { _, err := f.Rows(ctx, []seckill.OrderID{1}); return err },
				"LiveOrders":   func() error { _, err := f.LiveOrders(ctx, v, []seckill.UserID{1}); return err },
				"Vouchers":     func() error { _, err := f.Vouchers(ctx, 0, 10); return err },
				"ReleasesDue":  func() error { _, err := f.ReleasesDue(ctx, 10); return err },
				"ReleasesDone": func() error { return f.ReleasesDone(ctx, []seckill.OrderID{1}) },
				"RaiseVersion": func() error { return f.RaiseVersion(ctx, v, 3) },
				"MaxSequence":  func() error { _, err := f.MaxSequence(ctx, 0, 9, 0, 1); return err },
				"CreateVoucher": func() error {
					_, _, err := f.CreateVoucher(ctx, flashSale(1), "key")
					return err
				},
				"HoldLive": func() error {
					_, err := f.HoldLive(ctx, 1, func(context.Context) error { return nil })
					return err
				},
				"Migrate": func() error { return f.Migrate(ctx) },
				"Ping":    func() error { return f.Ping(ctx) },
			}
			for _, round := range []string{"first", "again", "once more"} {
				for name, call := range calls {
					require.NoError(t, call(), "%s, %s", name, round)
				}
			}
		})
	}
}

// F1: somebody else inserts the same user, holds the row, and gives it up: those who waited
// for it deadlock among each other. One of them gets the row, and nobody is lost.
func TestStoreOrdersAfterARollback(t *testing.T) {
	t.Parallel()
	f := onMariaDB(t, options)
	v := f.voucher(5)
	tx, err := f.raw.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "INSERT INTO voucher_order (id, user_id, voucher_id, status, created_at, updated_at) VALUES (1, 7, 1001, 'created', 0, 0)")
	require.NoError(t, err)
	verdicts := make(chan seckill.Outcome, 3)
	for id := range seckill.OrderID(3) {
		go func() {
			verdicts <- f.storeUntilDone([]seckill.Order{order(2+id, 7, v)}, map[seckill.VoucherID]int64{v: 1})[0].Outcome
		}()
	}
	f.awaitBlocked(3)
	require.NoError(t, tx.Rollback())
	require.ElementsMatch(t, []seckill.Outcome{stored, duplicate, duplicate}, []seckill.Outcome{<-verdicts, <-verdicts, <-verdicts})
	f.requireBooks(v, 4)
}

// F9: connections die all the time; whoever repeats the call loses nothing.
func TestStoreOrdersWhileConnectionsAreKilled(t *testing.T) {
	t.Parallel()
	f := onMariaDB(t, options)
	const workers, batches, size = 4, 15, 20
	v := f.voucher(workers * batches * size)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := range batches {
				first := int64(1 + (worker*batches+i)*size)
				part := orders(size, seckill.OrderID(first), seckill.UserID(first), v)
				for _, verdict := range f.storeUntilDone(part, map[seckill.VoucherID]int64{v: 1}) {
					if verdict.Outcome != stored && verdict.Outcome != already {
						t.Error(verdict)
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			f.killConnections()
		}
	}
	f.requireBooks(v, 0)
}

// F9: idle connections that the server closed are not an error of the next call.
func TestStoreOrdersOnConnectionsThatTheServerClosed(t *testing.T) {
	t.Parallel()
	f := onMariaDB(t, options)
	v := f.voucher(5)
	f.killConnections()
	_, err := f.StoreOrders(t.Context(), []seckill.Order{order(1, 1, v)}, map[seckill.VoucherID]int64{v: 1})
	require.NoError(t, err)
}

// killConnections kills all connections to this database but its own, and returns once
// they are gone.
func (f fixture) killConnections() {
	f.t.Helper()
	const others = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
	var ids []int64
	require.NoError(f.t, sqlx.NewDb(f.raw, "mysql").SelectContext(f.t.Context(), &ids, others))
	for _, id := range ids {
		_, _ = f.raw.ExecContext(f.t.Context(), fmt.Sprintf("KILL CONNECTION %d", id)) // it may have gone by itself
	}
	require.Eventually(f.t, func() bool {
		var left int
		query, args := "SELECT COUNT(*) FROM information_schema.processlist WHERE id IN (0", []any(nil)
		for _, id := range ids {
			query, args = query+", ?", append(args, id)
		}
		err := f.raw.QueryRowContext(f.t.Context(), query+")", args...).Scan(&left)
		return err == nil && left == 0
	}, time.Minute, time.Millisecond)
}

// F10: which error comes of a context that ends is a race; all of them are transient.
func TestStoreOrdersUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	f := onMariaDB(t, options)
	v := f.voucher(5)
	tx, err := f.raw.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "UPDATE seckill_voucher SET stock = stock WHERE id = 1001")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	failure := make(chan error, 1)
	go func() {
		_, err := f.StoreOrders(ctx, []seckill.Order{order(1, 1, v)}, map[seckill.VoucherID]int64{v: 1})
		failure <- err
	}()
	f.awaitBlocked(1)
	cancel()
	require.ErrorIs(t, <-failure, seckill.Unavailable, "whatever the driver makes of it")
	require.NoError(t, tx.Rollback())
	f.requireBooks(v, 5)
}

// lossy answers so many commits with a broken connection, though they have happened.
type lossy struct {
	driver.Connector
	losses atomic.Int64
	stall  func() // if it is there, what a commit does before it answers
}

func (l *lossy) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := l.Connector.Connect(ctx)
	return lossyConn{c, l}, err
}

type lossyConn struct {
	driver.Conn
	lossy *lossy
}

func (c lossyConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
	return lossyTx{tx, c.lossy}, err
}

type lossyTx struct {
	driver.Tx
	lossy *lossy
}

func (t lossyTx) Commit() error {
	err := t.Tx.Commit()
	if t.lossy.stall != nil {
		t.lossy.stall()
	}
	if err == nil && t.lossy.losses.Add(-1) >= 0 {
		return driver.ErrBadConn
	}
	return err
}

// A9: a commit whose answer is lost has happened, and is found.
func TestStoreOrdersWhenTheAnswerToACommitIsLost(t *testing.T) {
	t.Parallel()
	c, err := mysql.ParseDSN(sqltest.New(t))
	require.NoError(t, err)
	connector, err := mysql.NewConnector(c)
	require.NoError(t, err)
	l := &lossy{Connector: connector}
	f := fixture{Store: sqlstore.New(sql.OpenDB(l), sqlstore.MySQL, options), t: t}
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	require.NoError(t, f.Migrate(t.Context()))
	v := f.voucher(5)
	batch, epochs := orders(3, 1, 1, v), map[seckill.VoucherID]int64{v: 1}

	l.losses.Store(1)
	_, err = f.StoreOrders(t.Context(), batch, epochs)
	require.ErrorIs(t, err, seckill.Unavailable, "it may have happened")
	verdicts, err := f.StoreOrders(t.Context(), batch, epochs)
	require.NoError(t, err)
	require.Equal(t, []seckill.Outcome{already, already, already}, outcomes(verdicts))
	f.requireBooks(v, 2)

	ctx, end := context.WithCancel(t.Context())
	thaw := make(chan struct{})
	l.stall = func() { end(); <-thaw }
	_, err = f.StoreOrders(ctx, orders(1, 4, 4, v), epochs)
	require.ErrorIs(t, err, seckill.Unavailable, "an answer that does not come is not waited for longer than the caller can")
	close(thaw)
	f.requireBooks(v, 1)
}

// F6: the number of changed rows means the same whether the server counts those found or
// those that differ.
func TestRowsFoundOrChanged(t *testing.T) {
	t.Parallel()
	for _, found := range []string{"true", "false"} {
		t.Run("clientFoundRows="+found, func(t *testing.T) {
			t.Parallel()
			dsn := sqltest.New(t)
			db := open(t, dsn+"?clientFoundRows="+found)
			f := fixture{Store: sqlstore.New(db, sqlstore.MySQL, options), t: t, raw: db}
			require.NoError(t, f.Migrate(t.Context()))
			v := f.voucher(1)
			require.Equal(t, []seckill.Outcome{stored, short}, f.store(order(1, 1, v), order(2, 2, v)))
			f.requireBooks(v, 0)
			require.NoError(t, f.RaiseVersion(t.Context(), v, 5))
			require.NoError(t, f.RaiseVersion(t.Context(), v, 5))
			_, err := f.Snapshot(t.Context(), v, nil)
			require.NoError(t, err)
		})
	}
}

// F11, F15: a server that allows few connections and lives in another time zone.
func TestNarrowServerFarAway(t *testing.T) {
	t.Parallel()
	server, err := sqltest.Start(sqltest.Options{TCP: true, Flags: []string{"--max-connections=20", "--default-time-zone=+08:00"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	dsn, err := server.NewDatabase(t.Context())
	require.NoError(t, err)
	f := onDSN(t, dsn, options)
	const n = 64
	v := f.voucher(n)

	failures := make(chan error, n)
	for i := range n { // four times what the pool holds
		go func() {
			_, err := f.StoreOrders(t.Context(), orders(1, seckill.OrderID(1+i), seckill.UserID(1+i), v), map[seckill.VoucherID]int64{v: 1})
			failures <- err
		}()
	}
	for range n {
		require.NoError(t, <-failures)
	}
	f.requireBooks(v, 0)

	got, err := f.Voucher(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, begin, got.Begin)
	o, err := f.Order(t.Context(), 1)
	require.NoError(t, err)
	var clock int64 // by the server's own zone
	require.NoError(t, f.raw.QueryRowContext(t.Context(), "SELECT UNIX_TIMESTAMP()").Scan(&clock))
	require.WithinDuration(t, time.Unix(clock, 0), o.CreatedAt, time.Hour)

	// A crash in between is an outage like any other.
	require.NoError(t, server.Kill())
	_, err = f.StoreOrders(t.Context(), orders(1, 1, 1, v), map[seckill.VoucherID]int64{v: 1})
	require.ErrorIs(t, err, seckill.Unavailable)
	require.NoError(t, server.Restart())
	require.Equal(t, []seckill.Outcome{already}, f.store(orders(1, 1, 1, v)...))
}
