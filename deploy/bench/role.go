package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/worker/app"
)

// The roles of a child.
const (
	roleWorker = "worker" // ours
	roleSingle = "single" // one message, one transaction
	roleLimit  = "limit"  // the rows and the deduction by themselves
)

// batch is how many orders one transaction of the limit has: as many as a worker's.
const batch = 512

// role is the work of a child. Of ours alone, Run ends with intake and not by itself.
type role interface {
	Run(intake, work context.Context) error
	io.Closer
}

func openRole(ctx context.Context, t task) (role, error) {
	switch t.Role {
	case roleWorker:
		return openWorker(ctx, t)
	case roleSingle:
		return openSingle(ctx, t)
	case roleLimit:
		db, err := openDB(ctx, t.DSN)
		return &limit{db, t.Sale}, err
	case roleLoad:
		return openLoad(ctx, t)
	case roleStreamWorker, roleListWorker:
		return openFollower(ctx, t)
	default:
		return openServer(ctx, t)
	}
}

// worker is ours, put together as the program does it.
type worker struct {
	*app.Worker
	redis *redisstore.Store
	sql   *sqlstore.Store
}

func openWorker(ctx context.Context, t task) (role, error) {
	rs, err := redisstore.Open(ctx, redisstore.Options{Addrs: []string{t.Redis}})
	if err != nil {
		return nil, err
	}
	ss, err := sqlstore.OpenMySQL(t.DSN, sqlstore.Options{PayTimeout: payTimeout})
	if err != nil {
		return nil, errors.Join(err, rs.Close())
	}
	w := app.New(app.Deps{
		Redis: rs, SQL: ss,
		Log:      obs.NewLogger(os.Stderr, slog.LevelWarn, obs.FormatText),
		Registry: obs.NewRegistry("worker", "bench"),
		Options:  app.Options{Consumer: "bench-" + strconv.Itoa(t.Number), BatchMax: batch, ClaimIdle: t.ClaimIdle},
	})
	return &worker{w, rs, ss}, nil
}

func (w *worker) Close() error { return errors.Join(w.redis.Close(), w.sql.Close()) }

func openDB(ctx context.Context, dsn string) (*sql.DB, error) {
	db, err := sql.Open("mysql", dsn+"?interpolateParams=true")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, db.PingContext(ctx)
}

// single is the consumer of the textbooks: for each message a lock, a transaction, the
// unlock and the acknowledgement, one after the other.
type single struct {
	bare
	db *sql.DB
}

func openSingle(ctx context.Context, t task) (role, error) {
	db, err := openDB(ctx, t.DSN)
	if err != nil {
		return nil, err
	}
	s := &single{openBare(t.Redis), db}
	return s, s.group(ctx)
}

func (s *single) Close() error { return errors.Join(s.bare.db.Close(), s.db.Close()) }

func (s *single) Run(_, work context.Context) error {
	for {
		messages, err := s.read(work, 1)
		if err != nil || len(messages) == 0 {
			return err
		}
		if err := s.handle(work, messages[0]); err != nil {
			return err
		}
	}
}

func (s *single) handle(ctx context.Context, m redis.XMessage) error {
	o, err := orderOf(m)
	if err != nil {
		return err
	}
	lock := lockKey(m)
	if err := s.bare.db.SetNX(ctx, lock, "single", lockTTL).Err(); err != nil {
		return err
	}
	if err := store(ctx, s.db, []seckill.Order{o}); err != nil {
		return err
	}
	if err := s.bare.db.Del(ctx, lock).Err(); err != nil {
		return err
	}
	if err := s.bare.db.XAck(ctx, stream, group, m.ID).Err(); err != nil {
		return err
	}
	return s.bare.db.XDel(ctx, stream, m.ID).Err()
}

// limit stores the orders of a sale by the shortest program there is.
type limit struct {
	*sql.DB
	sale sale
}

func (l *limit) Run(_, work context.Context) error {
	for from := 0; from < l.sale.Orders; from += batch {
		orders := make([]seckill.Order, min(batch, l.sale.Orders-from))
		for i := range orders {
			orders[i] = l.sale.order(from + i)
		}
		if err := store(work, l.DB, orders); err != nil {
			return err
		}
	}
	return nil
}

// store writes the rows of one voucher's orders, and their deduction, in one transaction.
func store(ctx context.Context, db *sql.DB, orders []seckill.Order) error {
	now := time.Now().UnixMilli()
	tail := fmt.Sprintf(",'created',%d,%d,%d)", now, now, now+payTimeout.Milliseconds())
	text := []byte("INSERT INTO voucher_order (id, user_id, voucher_id, status, created_at, updated_at, expires_at) VALUES ")
	for i, o := range orders {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(append(text, '('), int64(o.ID), 10)
		text = strconv.AppendInt(append(text, ','), int64(o.User), 10)
		text = strconv.AppendInt(append(text, ','), int64(o.Voucher), 10)
		text = append(text, tail...)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	if _, err := tx.ExecContext(ctx, string(text)); err != nil {
		return err
	}
	n := len(orders)
	if _, err := tx.ExecContext(ctx, "UPDATE seckill_voucher SET stock = stock - ? WHERE id = ? AND stock >= ?", n, int64(orders[0].Voucher), n); err != nil {
		return err
	}
	return tx.Commit()
}
