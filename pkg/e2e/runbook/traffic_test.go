package runbook

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/seckill"
)

func (s *stack) token(user int, role string) string {
	s.Helper()
	token, err := app.Token([]byte(secret), seckill.UserID(user), role, time.Now(), time.Hour)
	require.NoError(s, err)
	return token
}

// create puts a voucher on sale.
func (s *stack) create(total int) (voucher string) {
	s.Helper()
	var v struct{ VoucherID string }
	body := fmt.Sprintf(`{"title":"Flash sale","price":9900,"total":%d,"beginsAt":"2026-01-01T00:00:00Z","endsAt":"2099-01-01T00:00:00Z"}`, total)
	require.Equal(s, http.StatusCreated, s.call(http.MethodPost, "/api/v1/admin/vouchers", s.token(1, "admin"), body, &v))
	return v.VoucherID
}

// accepted is the answer to a purchase.
type accepted struct {
	OrderID, Receipt string
	user             int
}

// buy lets n further users buy a unit each.
func (s *stack) buy(n int) (orders []accepted) {
	s.Helper()
	for range n {
		s.users++
		a := accepted{user: s.users}
		require.Equal(s, http.StatusAccepted, s.call(http.MethodPost, "/api/v1/vouchers/"+s.voucher+"/orders", s.token(s.users, ""), "", &a))
		orders = append(orders, a)
	}
	return orders
}

// eventually waits for what programs do by themselves.
func (s *stack) eventually(what string, true func() bool) {
	s.Helper()
	require.Eventually(s, true, patient, 10*time.Millisecond, what)
}

// waiting is how many orders are accepted and not settled.
func (s *stack) waiting() int64 { return s.redis.XLen(s.Context(), s.stream).Val() }

func (s *stack) drained() {
	s.Helper()
	s.eventually("the stream is empty", func() bool { return s.waiting() == 0 })
}

// published waits until other systems have been told of all changes.
func (s *stack) published() {
	s.Helper()
	db := s.database()
	s.eventually("all changes are published", func() (told bool) {
		row := db.QueryRowContext(s.Context(), "SELECT COUNT(*) = 0 FROM order_outbox WHERE published_at IS NULL")
		return row.Scan(&told) == nil && told
	})
}

// abandon reads an order as a worker that is gone; "" where none is to be read.
func (s *stack) abandon() (entry string) {
	s.Helper()
	read, err := s.redis.XReadGroup(s.Context(), &redis.XReadGroupArgs{
		Group: "seckillGroup", Consumer: "shop-7-4711-0123456789abcdef", Streams: []string{s.stream, ">"}, Count: 1, Block: -1,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return ""
	}
	require.NoError(s, err)
	return read[0].Messages[0].ID
}

// freeze stops processes in their tracks, as a machine that hangs does, until thaw.
func (s *stack) freeze() { s.signal(syscall.SIGSTOP) }
func (s *stack) thaw()   { s.signal(syscall.SIGCONT) }

func (s *stack) signal(sig syscall.Signal) {
	s.Helper()
	for _, w := range s.workers {
		require.NoError(s, w.Signal(sig))
	}
}

// database is a connection of an operator's, or of whoever is in the way.
func (s *stack) database() *sql.DB {
	s.Helper()
	db, err := sql.Open("mysql", s.dsn)
	require.NoError(s, err)
	s.Cleanup(func() { _ = db.Close() })
	return db
}

// typed runs Redis commands that somebody typed.
func (s *stack) typed(lines ...[]any) {
	s.Helper()
	for _, line := range lines {
		require.NoError(s, s.redis.Do(s.Context(), line...).Err(), line)
	}
}

// hold gives a buyer's order to the terminal, as they show it to whoever helps them.
func (s *stack) hold(a accepted) {
	s.Helper()
	s.shell.set(s.T, "ORDER="+a.OrderID+"\nRECEIPT="+a.Receipt+"\nBUYER="+strconv.Itoa(a.user))
}
