package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/openseckill/seckill/worker/app"
)

const events = "seckill:events"

// story is what the events tell of each order, each event once, in the order of the stream.
func (s *stage) story() map[string][]string {
	s.t.Helper()
	reply, err := s.do("XRANGE", events, "-", "+")
	require.NoError(s.t, err)
	told, seen := make(map[string][]string), make(map[string]bool)
	for _, e := range reply.([]any) {
		text := e.([]any)[1].([]any)
		fields := make(map[string]string)
		for i := 0; i+1 < len(text); i += 2 {
			fields[text[i].(string)] = text[i+1].(string)
		}
		if !seen[fields["event"]] {
			seen[fields["event"]] = true
			told[fields["orderId"]] = append(told[fields["orderId"]], fields["status"])
		}
	}
	return told
}

// awaitPublished waits until nothing is left in the outbox.
func (s *stage) awaitPublished() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		b, err := s.sql.Backlog(s.t.Context())
		return err == nil && b.Waiting == 0
	}, soon, poll)
}

func (s *stage) exec(query string, args ...any) {
	s.t.Helper()
	_, err := s.raw.ExecContext(s.t.Context(), query, args...)
	require.NoError(s.t, err)
}

// fates are what the calls on the orders of one round answered.
type fates struct {
	mu              sync.Mutex
	paid, cancelled map[seckill.OrderID]error
}

// TestLifeRace is A18: payment, cancellation and time-out of 200 orders are fired together,
// over and over. Each order is paid or cancelled, never both; each call is told what is true;
// the units balance; and late money is kept.
func TestLifeRace(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := newStage(t, 1)
	s.work("w1")
	s.work("w2")
	for range faultnet.Pick(4, 20) {
		const n = 200
		s.create(n)
		orders := s.buy(n)
		s.awaitRest(n)
		paid := s.requireFates(orders, s.fire(random, orders))
		s.awaitRest(paid)
		s.awaitPublished()
		told := s.story()
		for _, o := range orders {
			status, _ := s.status(o)
			require.Equal(t, []string{"created", string(status)}, told[o.ID.String()])
		}
	}
}

// fire pays and cancels all orders in a random order, while workers let a third expire.
func (s *stage) fire(random *rand.Rand, orders []seckill.Order) *fates {
	s.t.Helper()
	f := &fates{paid: map[seckill.OrderID]error{}, cancelled: map[seckill.OrderID]error{}}
	ctx := s.t.Context()
	var calls []func()
	for _, o := range orders {
		calls = append(calls, func() {
			_, err := s.sql.Pay(ctx, o.ID, seckill.Payment{Reference: o.ID.String()})
			f.mu.Lock()
			defer f.mu.Unlock()
			f.paid[o.ID] = err
		}, func() {
			_, err := s.sql.Cancel(ctx, o.ID)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.cancelled[o.ID] = err
		})
	}
	for range 20 {
		calls = append(calls, func() {
			_, err := s.sql.Expire(ctx, 20)
			require.NoError(s.t, err)
		})
	}
	random.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	s.exec("UPDATE voucher_order SET expires_at = 1 WHERE voucher_id = ? AND id % 3 = ?", s.voucher, random.IntN(3))
	var g errgroup.Group
	g.SetLimit(16)
	for _, call := range calls {
		g.Go(func() error { call(); return nil })
	}
	require.NoError(s.t, g.Wait())
	return f
}

// requireFates holds what the calls were told to what the rows say, and counts the paid.
func (s *stage) requireFates(orders []seckill.Order, f *fates) (paid int64) {
	s.t.Helper()
	for _, o := range orders {
		status, _ := s.status(o)
		switch status {
		case seckill.Paid:
			paid++
			require.NoError(s.t, f.paid[o.ID])
			require.ErrorIs(s.t, f.cancelled[o.ID], seckill.CodePaid)
		case seckill.Cancelled:
			require.ErrorIs(s.t, f.paid[o.ID], seckill.CodeCancelled)
			require.NoError(s.t, f.cancelled[o.ID])
		default:
			require.Fail(s.t, "neither paid nor cancelled", "%s: %s", o.ID, status)
		}
	}
	var late int64
	query := "SELECT COUNT(*) FROM late_payment WHERE order_id IN (SELECT id FROM voucher_order WHERE voucher_id = ?)"
	require.NoError(s.t, s.raw.QueryRowContext(s.t.Context(), query, s.voucher).Scan(&late))
	require.Equal(s.t, int64(len(orders))-paid, late)
	s.t.Log("paid", paid, "of", len(orders))
	return paid
}

// TestExpireByTwo lets two workers cancel what nobody pays: each order once, with its unit
// sold again, to the same users too (F14).
func TestExpireByTwo(t *testing.T) {
	t.Parallel()
	const n = 100
	s := newStage(t, n)
	for _, name := range []string{"w1", "w2"} {
		db, err := sqlstore.OpenMySQL(s.dsn, sqlstore.Options{PayTimeout: time.Millisecond})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		s.run(app.Deps{Redis: s.redis, SQL: db, Log: slog.New(slog.DiscardHandler), Options: app.Options{Consumer: name, BatchMax: 10}})
	}
	orders := s.buy(n)
	for _, o := range orders {
		s.awaitStatus(o, seckill.Cancelled, seckill.ReasonExpired)
	}
	s.awaitRest(0)
	for _, o := range orders {
		again := seckill.Order{ID: s.order().ID, User: o.User, Voucher: o.Voucher}
		_, err := s.redis.Admit(t.Context(), again)
		require.NoError(t, err)
	}
	s.awaitRest(0)
	s.awaitPublished()
	told := s.story()
	require.Len(t, told, 2*n)
	for id, statuses := range told {
		require.Equal(t, []string{"created", "cancelled"}, statuses, id)
	}
}

// TestCancelThenCrash loses the process that cancelled before Redis heard of it.
func TestCancelThenCrash(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3)
	orders := s.buy(3)
	stop := s.work("w1")
	s.awaitRest(3)
	stop()
	_, err := s.sql.Cancel(t.Context(), orders[0].ID)
	require.NoError(t, err)
	_, err = s.redis.Admit(t.Context(), s.order())
	require.ErrorIs(t, err, seckill.SoldOut, "Redis does not know")
	report, err := s.books.Audit(t.Context(), s.voucher)
	require.NoError(t, err)
	require.True(t, report.Balanced(), "the third term of the books: %+v", report)

	s.work("w2")
	s.awaitRest(2)
	s.buy(1)
	s.awaitRest(3)
}

// TestEventsOverAnOutage changes orders while Redis is away, where a publisher was lost
// between its XADD and its commit: every change is told, in the order of each order.
func TestEventsOverAnOutage(t *testing.T) {
	t.Parallel()
	server := redistest.NewWith(t, redistest.Options{AOF: "always"})
	s := newStageOn(t, server, sqltest.New(t), 0, 20)
	orders := s.buy(20)
	stop := s.work("w1")
	s.awaitRest(20)
	s.awaitPublished()
	stop()
	pay := func(os []seckill.Order) {
		for _, o := range os {
			_, err := s.sql.Pay(t.Context(), o.ID, seckill.Payment{Reference: o.ID.String()})
			require.NoError(t, err)
		}
	}
	pay(orders[:5])
	killed := errors.New("killed")
	_, err := s.sql.Publish(t.Context(), 3, s.publishThen(killed))
	require.ErrorIs(t, err, killed)

	require.NoError(t, server.Kill())
	pay(orders[5:10])
	s.work("w2")
	for _, o := range orders[10:] {
		_, err := s.sql.Cancel(t.Context(), o.ID)
		require.NoError(t, err)
	}
	require.NoError(t, server.Restart())
	s.awaitRest(10)
	s.awaitPublished()
	told := s.story()
	for i, o := range orders {
		last := "paid"
		if i >= 10 {
			last = "cancelled"
		}
		require.Equal(t, []string{"created", last}, told[o.ID.String()], fmt.Sprint(i))
	}
	require.Equal(t, int64(20+20+3), s.number("XLEN", events), "three were told twice")
}

// publishThen publishes and is lost before that is known.
func (s *stage) publishThen(failure error) func(context.Context, []seckill.Event) error {
	return func(ctx context.Context, e []seckill.Event) error {
		require.NoError(s.t, s.redis.PublishEvents(ctx, e))
		return failure
	}
}
