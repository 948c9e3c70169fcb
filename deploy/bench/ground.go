package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/openseckill/seckill/pkg/books"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
)

// payTimeout makes the rows those of a real sale, which expire.
const payTimeout = 15 * time.Minute

// sale is a voucher with as many units as orders, all of them accepted.
type sale struct {
	Voucher seckill.VoucherID `json:"voucher"`
	Orders  int               `json:"orders"`
}

// order is the i-th order of the sale, of a user in no order, as they come in a sale.
func (s sale) order(i int) seckill.Order {
	const second = 40_000_000 << 32 // a time in 2026, as orderid writes it
	return seckill.Order{
		ID:   seckill.OrderID(second + int64(i) + 1),
		User: seckill.UserID((int64(i)+1)*2654435761%(1<<40) + 1), Voucher: s.Voucher,
	}
}

// ground is the servers that all rows of a run share: one MariaDB whose every commit is on
// its disk before it is answered, and one Redis.
type ground struct {
	sql   *sqltest.Server
	redis *redistest.Server
	bare  bare
}

func openGround(ctx context.Context) (g *ground, err error) {
	g = &ground{}
	g.redis, err = redistest.Start(redistest.Options{})
	if err != nil {
		return nil, err
	}
	g.bare = openBare(g.redis.Addr())
	g.sql, err = sqltest.Start(sqltest.Options{Parent: os.TempDir(), Flags: []string{
		"--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=512M", "--innodb-log-file-size=256M",
	}})
	if err != nil {
		return nil, joinClose(err, g)
	}
	return g, ctx.Err()
}

func (g *ground) Close() error {
	err := errors.Join(g.bare.db.Close(), g.redis.Close())
	if g.sql != nil {
		err = errors.Join(err, g.sql.Stop())
	}
	return err
}

func joinClose(err error, c io.Closer) error { return errors.Join(err, c.Close()) }

// stage is a database of its own with one sale, and the stores that check it.
type stage struct {
	sale
	*ground
	dsn   string
	sql   *sqlstore.Store
	redis *redisstore.Store
}

// newStage empties Redis and opens a fresh sale with so many units.
func (g *ground) newStage(ctx context.Context, units int) (s *stage, err error) {
	s = &stage{ground: g, sale: sale{Orders: units}}
	if err := g.bare.db.FlushAll(ctx).Err(); err != nil {
		return nil, err
	}
	if s.dsn, err = g.sql.NewDatabase(ctx); err != nil {
		return nil, err
	}
	if s.redis, err = redisstore.Open(ctx, redisstore.Options{Addrs: []string{g.redis.Addr()}}); err != nil {
		return nil, err
	}
	if s.sql, err = sqlstore.OpenMySQL(s.dsn, sqlstore.Options{PayTimeout: payTimeout}); err != nil {
		return nil, errors.Join(err, s.redis.Close())
	}
	if err := s.open(ctx); err != nil {
		return nil, joinClose(err, s)
	}
	return s, nil
}

func (s *stage) open(ctx context.Context) error {
	if err := s.sql.Migrate(ctx); err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	v, _, err := s.sql.CreateVoucher(ctx, seckill.Voucher{
		Title: "benchmark", Price: 100, Currency: "CNY", Total: int64(s.Orders),
		Begin: now.Add(-time.Hour), End: now.Add(time.Hour),
	}, "")
	if err != nil {
		return err
	}
	s.Voucher = v.ID
	return books.New(s.redis, s.sql, slog.New(slog.DiscardHandler)).Sync(ctx, v.ID)
}

func (s *stage) Close() error { return errors.Join(s.redis.Close(), s.sql.Close()) }

// check holds a finished sale to what must be true of it.
func (s *stage) check(ctx context.Context, queued bool) error {
	b, err := s.sql.Books(ctx, s.Voucher)
	if err != nil {
		return err
	}
	n := int64(s.Orders)
	if b.ByStatus[seckill.Created] != n || len(b.ByStatus) != 1 || b.Stock != 0 || !b.Balanced() {
		return fmt.Errorf("%d orders, and the database has %+v", n, b)
	}
	if !queued {
		return nil
	}
	r, err := s.redis.Books(ctx, s.Voucher)
	if err != nil {
		return err
	}
	waiting, err := s.bare.waiting(ctx)
	if err != nil {
		return err
	}
	pending, err := s.bare.pending(ctx)
	if err != nil {
		return err
	}
	if waiting != 0 || pending != 0 || r.Buyers != n || !r.Balanced() {
		return fmt.Errorf("%d orders, %d still wait, %d are pending, and Redis has %+v", n, waiting, pending, r)
	}
	return nil
}
