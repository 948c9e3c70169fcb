package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/seckill"
)

// beside is another node of the sale: its own gate and connections, the same stores.
func (s *sale) beside() *sale {
	s.t.Helper()
	redis, err := redisstore.Open(s.t.Context(), redisstore.Options{Addrs: []string{s.redis.Addr()}})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = redis.Close() })
	api := app.New(app.Deps{
		Redis: redis, SQL: s.sql, JWTSecret: secret,
		Log: slog.New(slog.NewTextHandler(s.t.Output(), nil)), Registry: obs.NewRegistry("api", "test"),
	})
	s.t.Cleanup(api.Close)
	return &sale{t: s.t, api: api, redis: s.redis, sql: s.sql}
}

// run lets the node hear what others announce, until the test ends.
func (s *sale) run() {
	intake, end := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- s.api.Run(intake, context.WithoutCancel(intake)) }()
	s.t.Cleanup(func() { end(); require.NoError(s.t, <-done) })
}

// store does what a worker does with an order that was bought.
func (s *sale) store(bought answer, user seckill.UserID) {
	s.t.Helper()
	require.Equal(s.t, http.StatusAccepted, bought.status)
	id, err := seckill.ParseOrderID(bought.body.OrderID)
	require.NoError(s.t, err)
	v, err := seckill.ParseVoucherID(bought.body.VoucherID)
	require.NoError(s.t, err)
	epochs, err := s.sql.Epochs(s.t.Context(), []seckill.VoucherID{v})
	require.NoError(s.t, err)
	verdicts, err := s.sql.StoreOrders(s.t.Context(), []seckill.Order{{ID: id, User: user, Voucher: v}}, epochs)
	require.NoError(s.t, err)
	require.Equal(s.t, seckill.Stored, verdicts[0].Outcome)
}

func (s *sale) cancel(order string, user seckill.UserID) answer {
	s.t.Helper()
	return s.do("POST", order+"/cancel", "", user, "")
}

func (s *sale) pay(order, reference string, amount int) answer {
	s.t.Helper()
	body := fmt.Sprintf(`{"reference":%q,"amount":%d}`, reference, amount)
	return s.do("POST", order+"/pay", body, 1, "service", "Content-Type", "application/json")
}

// A16, F14: a sale that was sold out sells the unit that a cancellation brought back, on every
// node, to whoever asks first: to the one who cancelled, too.
func TestCancelPutsTheUnitBackOnSale(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	s.run()
	other := s.beside()
	other.run()
	voucher := s.create("1")
	for round := range 3 {
		bought := s.buy(voucher, 42)
		s.store(bought, 42)
		for range 5 { // until both nodes know by heart that it is sold out
			require.Equal(t, "SOLD_OUT", s.buy(voucher, 7).body.Code)
			require.Equal(t, "SOLD_OUT", other.buy(voucher, 8).body.Code)
		}
		require.Eventually(t, func() bool { return other.do("GET", voucher, "", 0, "").body.State == "soldOut" }, time.Minute, 10*time.Millisecond)

		gone := s.cancel(bought.location, 42)
		require.Equal(t, http.StatusOK, gone.status)
		require.Equal(t, "cancelled", gone.body.Status)
		if round == 0 {
			require.Eventually(t, func() bool { return other.do("GET", voucher, "", 0, "").body.State == "open" }, time.Minute, 10*time.Millisecond)
		}
		taken := answer{}
		require.Eventually(t, func() bool {
			taken = other.buy(voucher, 100+seckill.UserID(round))
			return taken.status == http.StatusAccepted
		}, time.Minute, 10*time.Millisecond)
		other.store(taken, 100+seckill.UserID(round))
		require.Equal(t, "cancelled", s.cancel(bought.location, 42).body.Status, "a repeat takes nothing from the next one")
		require.Equal(t, http.StatusOK, other.cancel(taken.location, 100+seckill.UserID(round)).status)
		require.Eventually(t, func() bool { return s.do("GET", voucher, "", 0, "").body.Left == 1 }, time.Minute, 10*time.Millisecond)
	}
}

// A18 over HTTP: whichever comes first stands, and the other is told.
func TestPayOrCancel(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	voucher := s.create("5")
	queued := s.buy(voucher, 42)
	require.Equal(t, "QUEUED", s.cancel(queued.location, 42).body.Code)
	require.Equal(t, "QUEUED", s.do("POST", queued.location+"/cancel", "", 1, "admin").body.Code)
	require.Equal(t, "QUEUED", s.pay(queued.location, "r1", 1990).body.Code)
	require.Equal(t, "queued", s.do("GET", queued.location, "", 1, "admin").body.Status)
	require.Equal(t, "ORDER_NOT_FOUND", s.pay("/api/v1/orders/1", "r1", 1990).body.Code)
	s.store(queued, 42)

	require.Equal(t, "AMOUNT_MISMATCH", s.pay(queued.location, "r1", 1).body.Code)
	for range 2 {
		require.Equal(t, "paid", s.pay(queued.location, "r1", 1990).body.Status)
	}
	require.Equal(t, "ALREADY_PAID", s.pay(queued.location, "r2", 1990).body.Code)
	require.Equal(t, "PAID", s.cancel(queued.location, 42).body.Code)
	require.Equal(t, "ORDER_NOT_FOUND", s.cancel(queued.location, 7).body.Code)

	second := s.buy(voucher, 43)
	s.store(second, 43)
	require.Equal(t, "CONFLICT", s.pay(second.location, "r1", 1990).body.Code)
	require.Equal(t, "cancelled", s.cancel(second.location, 43).body.Status)
	for range 2 {
		require.Equal(t, "CANCELLED", s.pay(second.location, "r3", 1990).body.Code)
	}
	require.Equal(t, int64(4), s.do("GET", voucher, "", 0, "").body.Left)
}
