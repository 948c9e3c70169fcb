// Package books keeps Redis and SQL in agreement: it rebuilds a voucher's keys from SQL,
// repairs single users, gives the units of dead orders back, finds an end for orders that
// Redis forgot, and audits both. The api and the worker share it. It imports the words of
// the sale and package run; the stores come through the interfaces below.
package books

import (
	"context"
	"log/slog"

	"golang.org/x/sync/singleflight"

	"github.com/openseckill/seckill/pkg/seckill"
)

// The steps of a sync in Redis.
type loader interface {
	Load(ctx context.Context, v seckill.VoucherID, token string) error
	Fill(ctx context.Context, v seckill.VoucherID, token string, holders []seckill.Holder) error
	Forget(ctx context.Context, v seckill.VoucherID, token string, tickets []seckill.Ticket) error
	OpenSale(ctx context.Context, v seckill.Voucher, token string) (left int64, err error)
}

// Whose turn it is.
type turns interface {
	Alone(ctx context.Context, v seckill.VoucherID, fn func(ctx context.Context) error) (ran bool, err error)
	Syncing(ctx context.Context, v seckill.VoucherID) (bool, error)
}

// What Redis says of a voucher.
type reader interface {
	Books(ctx context.Context, v seckill.VoucherID) (seckill.RedisBooks, error)
	Buyers(ctx context.Context, v seckill.VoucherID, page func([]seckill.Ticket) error) error
	TicketsOf(ctx context.Context, v seckill.VoucherID, users []seckill.UserID) ([]seckill.Ticket, error)
	EachWaiting(ctx context.Context, v seckill.VoucherID, page func([]seckill.Holder) error) error
}

// What stands between Redis and SQL.
type line interface {
	InHand(ctx context.Context, v seckill.VoucherID) (pending, buried int64, err error)
}

// What a repair may do to one user.
type mender interface {
	Release(ctx context.Context, o seckill.Order) (bool, error)
	Requeue(ctx context.Context, o seckill.Order) (bool, error)
	Mark(ctx context.Context, o seckill.Order, read seckill.OrderID) (bool, error)
}

// What SQL says of a voucher.
type ledger interface {
	Voucher(ctx context.Context, v seckill.VoucherID) (seckill.Voucher, error)
	Books(ctx context.Context, v seckill.VoucherID) (seckill.SQLBooks, error)
	Snapshot(ctx context.Context, v seckill.VoucherID, ask []seckill.OrderID) (seckill.Snapshot, error)
	RaiseVersion(ctx context.Context, v seckill.VoucherID, above int64) error
}

// What SQL says of its orders.
type orders interface {
	Rows(ctx context.Context, ids []seckill.OrderID) (map[seckill.OrderID]seckill.Order, error)
	LiveOrders(ctx context.Context, v seckill.VoucherID, users []seckill.UserID) (map[seckill.UserID]seckill.Order, error)
	EachLive(ctx context.Context, v seckill.VoucherID, size int, fn func([]seckill.Holder) error) error
	HoldLive(ctx context.Context, id seckill.OrderID, fn func(ctx context.Context) error) (bool, error)
}

type redis interface {
	loader
	turns
	reader
	line
	mender
	admitter
	changer
	replayer
	forgetter
}

type sql interface {
	ledger
	orders
	rejecter
	decider
	eraser
}

// Books is safe for concurrent use.
type Books struct {
	redis redis
	sql   sql
	log   *slog.Logger
	syncs singleflight.Group
}

// New returns the books of the sale that these two stores keep.
func New(redis redis, sql sql, log *slog.Logger) *Books {
	return &Books{redis: redis, sql: sql, log: log}
}
