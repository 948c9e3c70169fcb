package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/openseckill/seckill/pkg/run"
)

// stopMax is how long what is in flight may take after Ctrl-C.
const stopMax = 10 * time.Second

// Of the vouchers to play with, one is open and the next opens soon.
const (
	soon = 90 * time.Second
	week = 7 * 24 * time.Hour
)

// serve runs the stack in the foreground, with one voucher on sale and its commands to paste.
func serve(ctx context.Context, set settings, log *slog.Logger) error {
	return run.Main(ctx, stopMax, log, func(intake, work context.Context) (err error) {
		s, err := newStack(intake, options{workers: set.Workers, servers: set.Stack == "servers", httpAddr: set.HTTPAddr, opsAddr: set.OpsAddr, payTimeout: set.PayTimeout}, log)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		return run.All(intake, work, s.Run, func(intake, _ context.Context) error { return s.welcome(intake, set) })
	})
}

func (s *stack) welcome(ctx context.Context, set settings) error {
	base := "http://" + local(s.httpAddr)
	shop, now := newShop(base, s.token), time.Now()
	v, err := shop.create(ctx, s.token(1, "admin"), "Flash sale", int64(set.Stock), now.Add(-time.Second), week)
	if err != nil {
		return err
	}
	if _, err := shop.create(ctx, s.token(1, "admin"), "The next one", int64(set.Stock), now.Add(soon), week); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(s.redisAddr)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, `The shop is at %s/ and its console at %s/console.

Voucher %s is on sale: %d units. Paste these into another shell:

  TOKEN=%s

  ADMIN=%s

  SERVICE=%s

  # place an order
  curl -i -X POST -H "Authorization: Bearer $TOKEN" %s/api/v1/vouchers/%s/orders

  # ask for its status: put the orderId of the answer in place of ORDER
  curl -i -H "Authorization: Bearer $TOKEN" %s/api/v1/orders/ORDER

  # pay it as the payment service would, or cancel it: whichever comes first
  curl -i -X POST -H "Authorization: Bearer $SERVICE" -H 'Content-Type: application/json' \
    -d '{"reference":"pay-1","amount":%d}' %s/api/v1/orders/ORDER/pay
  curl -i -X POST -H "Authorization: Bearer $TOKEN" %s/api/v1/orders/ORDER/cancel

  # the vouchers on sale, and one more of them
  curl -i %s/api/v1/vouchers
  curl -i -X POST -H "Authorization: Bearer $ADMIN" -H 'Content-Type: application/json' \
    -d '{"title":"Another","total":10,"beginsAt":"2026-01-01T00:00:00Z","endsAt":"2099-01-01T00:00:00Z"}' %s/api/v1/admin/vouchers

  # what workers have read and not stored, and what happened to orders
  redis-cli -h %s -p %s XPENDING seckill:stream seckillGroup
  redis-cli -h %s -p %s XRANGE seckill:events - +

  # health and metrics
  curl -i http://%s/readyz
  curl -s http://%s/metrics | grep ^seckill

Ctrl-C ends it.
`, base, base, v, set.Stock, s.token(42, ""), s.token(1, "admin"), s.token(2, "service"), base, v, base, price, base, base, base, base, host, port, host, port, local(s.opsAddr), local(s.opsAddr))
	return nil
}

// local is an address that this machine can dial.
func local(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}
