package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/openseckill/seckill/pkg/books"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
)

// errLawBroken ends the demo with exit code 1 after its report.
var errLawBroken = errors.New("the law is broken")

// price is what a unit costs, in minor units.
const price = 9900

// drainMax is how long the workers may take to store what was accepted.
const drainMax = 2 * time.Minute

// demo runs a whole sale over HTTP and checks the law after it.
func demo(ctx context.Context, set settings, log *slog.Logger) (err error) {
	s, err := newStack(ctx, options{workers: set.Workers, servers: set.Stack == "servers", httpAddr: "127.0.0.1:0", opsAddr: "127.0.0.1:0", payTimeout: set.PayTimeout}, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	intake, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Run(intake, ctx) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	return s.sale(ctx, set)
}

func (s *stack) sale(ctx context.Context, set settings) error {
	shop := newShop("http://"+s.httpAddr, s.token)
	v, err := shop.create(ctx, s.token(1, "admin"), "Flash sale", int64(set.Stock), time.Now().Add(-time.Second), time.Hour)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "A sale of %d units before %d buyers who click %d times at once; %d workers; %s.\n\n", set.Stock, set.Buyers, clicks, set.Workers, set.Stack)
	t := newTally()
	watched, stopWatching := context.WithCancel(ctx)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		progress(watched, os.Stdout, t, func(ctx context.Context) (int, error) {
			waiting, err := s.redis.Waiting(ctx, v)
			return len(waiting), err
		})
	}()
	start := time.Now()
	err = shop.rush(ctx, v, set.Buyers, t)
	took := time.Since(start)
	if err == nil {
		err = shop.followAll(ctx, t)
	}
	stopWatching()
	<-watching
	if err != nil {
		return err
	}
	l, err := s.check(ctx, v, int64(set.Stock), t)
	if err != nil {
		return err
	}
	if err := printReport(os.Stdout, t, l, took); err != nil {
		return err
	}
	if len(l.verdict(t)) > 0 {
		return errLawBroken
	}
	return nil
}

// followAll waits for the orders, but reports those that never come rather than fail.
func (s *shop) followAll(ctx context.Context, t *tally) error {
	limited, cancel := context.WithTimeout(ctx, drainMax)
	defer cancel()
	err := s.follow(limited, t)
	if limited.Err() != nil && ctx.Err() == nil {
		return nil // the report counts them as lost
	}
	return err
}

func (s *shop) create(ctx context.Context, admin, title string, total int64, begins time.Time, lasts time.Duration) (seckill.VoucherID, error) {
	body := fmt.Sprintf(`{"title":%q,"price":%d,"currency":"CNY","total":%d,"beginsAt":%q,"endsAt":%q}`,
		title, price, total, begins.UTC().Format(time.RFC3339), begins.Add(lasts).UTC().Format(time.RFC3339))
	a, err := s.call(ctx, http.MethodPost, "/api/v1/admin/vouchers", admin, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	if a.status != http.StatusCreated {
		return 0, fmt.Errorf("the voucher was not created: %w", a.err())
	}
	return a.VoucherID, nil
}

// check asks SQL itself, past every store, and then the books.
func (s *stack) check(ctx context.Context, v seckill.VoucherID, total int64, t *tally) (l law, err error) {
	l.total = total
	one := func(to any, query string, args ...any) {
		err = errors.Join(err, s.raw.QueryRowContext(ctx, query, args...).Scan(to))
	}
	one(&l.rows, "SELECT COUNT(*) FROM voucher_order WHERE voucher_id = ? AND live = 1", v)
	one(&l.duplicates, "SELECT COUNT(*) FROM (SELECT user_id FROM voucher_order WHERE voucher_id = ? AND live = 1 GROUP BY user_id HAVING COUNT(*) > 1) AS twice", v)
	for user, order := range t.held {
		var n int
		one(&n, "SELECT COUNT(*) FROM voucher_order WHERE id = ? AND user_id = ? AND voucher_id = ?", order, user, v)
		l.lost += 1 - n
	}
	if err != nil {
		return l, err
	}
	ledger := books.New(s.redis, s.sql, s.log)
	for deadline := time.Now().Add(drainMax); ; {
		// A row is there a moment before its entry is settled.
		if l.books, err = ledger.Audit(ctx, v); err != nil || l.books.Waiting == 0 || time.Now().After(deadline) {
			return l, err
		}
		if err := run.Wait(ctx, 10*time.Millisecond); err != nil {
			return l, err
		}
	}
}
