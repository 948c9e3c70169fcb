package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// token signs who the caller is.
func token(t testing.TB, user int64, role string) string {
	t.Helper()
	claims := jwt.MapClaims{"sub": strconv.FormatInt(user, 10), "exp": time.Now().Add(time.Hour).Unix()}
	if role != "" {
		claims["role"] = role
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(secret))
	require.NoError(t, err)
	return text
}

// create puts a voucher on sale over HTTP and returns its id.
func (s *stack) create(total int, begin, end time.Time) string {
	s.t.Helper()
	body := fmt.Sprintf(`{"title":"e2e","total":%d,"beginsAt":%q,"endsAt":%q}`, total, begin.Format(time.RFC3339Nano), end.Format(time.RFC3339Nano))
	a, err := s.call(s.t.Context(), http.MethodPost, "/api/v1/admin/vouchers", token(s.t, 1, "admin"), body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusCreated, a.status, a.body)
	require.NotEmpty(s.t, a.VoucherID)
	return a.VoucherID
}

func (s *stack) createOpen(total int) string {
	s.t.Helper()
	return s.create(total, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
}

// change makes an admin's change of a voucher.
func (s *stack) change(voucher, body string) {
	s.t.Helper()
	a, err := s.call(s.t.Context(), http.MethodPatch, "/api/v1/admin/vouchers/"+voucher, token(s.t, 1, "admin"), body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, a.status, a.body)
}

// now is the time by Redis' clock, as fine as a window is.
func (s *stack) now() time.Time {
	s.t.Helper()
	at, err := s.redis.Time(s.t.Context()).Result()
	require.NoError(s.t, err)
	return at.Truncate(time.Millisecond)
}

func (s *stack) buy(ctx context.Context, voucher string, user int64) (answer, error) {
	return s.call(ctx, http.MethodPost, "/api/v1/vouchers/"+voucher+"/orders", token(s.t, user, ""), "")
}

// each buys for every user, all at once, and returns the answers in their order.
func (s *stack) each(voucher string, users ...int64) []answer {
	s.t.Helper()
	return s.all(users, func(ctx context.Context, user int64) (answer, error) { return s.insist(ctx, voucher, user) })
}

// insist is buy by a client who asks again after an answer that nobody knows, as any api on a
// busy machine may give it. What the first call had done counts as just accepted.
func (s *stack) insist(ctx context.Context, voucher string, user int64) (a answer, err error) {
	for began, again := time.Now(), false; ; again = true {
		a, err = s.buy(ctx, voucher, user)
		if err != nil || a.Code != "UNAVAILABLE" || time.Since(began) > patient {
			if again && a.status == http.StatusOK {
				a.status, a.Repeated = http.StatusAccepted, false
			}
			return a, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return a, ctx.Err()
		}
	}
}

// once buys for every user, who is content with any answer.
func (s *stack) once(voucher string, users ...int64) []answer {
	s.t.Helper()
	return s.all(users, func(ctx context.Context, user int64) (answer, error) { return s.buy(ctx, voucher, user) })
}

func (s *stack) all(users []int64, buy func(context.Context, int64) (answer, error)) []answer {
	s.t.Helper()
	answers := make([]answer, len(users))
	g, ctx := errgroup.WithContext(s.t.Context())
	g.SetLimit(200)
	for i, user := range users {
		g.Go(func() (err error) {
			answers[i], err = buy(ctx, user)
			return err
		})
	}
	require.NoError(s.t, g.Wait())
	return answers
}

func upTo(n int64) (users []int64) {
	for u := int64(1); u <= n; u++ {
		users = append(users, u)
	}
	return users
}

// drained waits until every accepted order is stored and settled.
func (s *stack) drained() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		pending, err := s.redis.XPending(s.t.Context(), "seckill:stream", "seckillGroup").Result()
		return err == nil && pending.Count == 0 && s.redis.XLen(s.t.Context(), "seckill:stream").Val() == 0
	}, patient, 5*time.Millisecond, "orders wait")
}

func (s *stack) count(query string, args ...any) (n int64) {
	s.t.Helper()
	require.NoError(s.t, s.db.QueryRowContext(s.t.Context(), query, args...).Scan(&n))
	return n
}

// law holds the books of a voucher that sold n of total units, at rest, to the contract:
// in the tables, in Redis, and against the answers that accepted.
func (s *stack) law(voucher string, total, n int64, accepted map[string]string) {
	s.t.Helper()
	ctx := s.t.Context()
	require.Equal(s.t, n, s.count("SELECT COUNT(*) FROM voucher_order WHERE voucher_id = ? AND live = 1", voucher))
	require.Equal(s.t, n, s.count("SELECT COUNT(DISTINCT user_id) FROM voucher_order WHERE voucher_id = ? AND live = 1", voucher))
	require.Zero(s.t, s.count("SELECT COUNT(*) FROM voucher_order WHERE voucher_id = ? AND live IS NULL", voucher))
	require.Equal(s.t, total-n, s.count("SELECT stock FROM seckill_voucher WHERE id = ?", voucher))
	require.Equal(s.t, strconv.FormatInt(total-n, 10), s.redis.Get(ctx, "seckill:stock:"+voucher).Val())
	require.Equal(s.t, n, s.redis.SCard(ctx, "seckill:order:"+voucher).Val())
	tickets := s.redis.HGetAll(ctx, "seckill:ticket:"+voucher).Val()
	require.Len(s.t, tickets, int(n))
	for user, order := range tickets {
		require.EqualValues(s.t, 1, s.count("SELECT COUNT(*) FROM voucher_order WHERE id = ? AND user_id = ? AND voucher_id = ? AND status = 'created'", order, user, voucher))
	}
	require.Equal(s.t, accepted, tickets, "who was told an order id holds that order")
}

// sort counts the answers by what they said, and returns the orders that were accepted by
// their users.
func sort(t testing.TB, users []int64, answers []answer) (counts map[string]int, accepted map[string]string) {
	t.Helper()
	counts, accepted = map[string]int{}, map[string]string{}
	for i, a := range answers {
		switch a.status {
		case http.StatusAccepted, http.StatusOK:
			user := strconv.FormatInt(users[i], 10)
			if before, ok := accepted[user]; ok {
				require.Equal(t, before, a.OrderID, "one buyer, one order")
			}
			accepted[user] = a.OrderID
			require.Equal(t, "/api/v1/orders/"+a.OrderID, a.header.Get("Location"))
			require.Equal(t, a.status == http.StatusOK, a.Repeated)
			counts[strconv.Itoa(a.status)]++
		default:
			require.Equal(t, "application/problem+json", a.header.Get("Content-Type"), a.body)
			counts[a.Code]++
		}
	}
	return counts, accepted
}

func jsonOf(t testing.TB, text string) (m map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	return m
}
