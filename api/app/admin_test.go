package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/seckill"
)

// second returns another node of the same sale. Both hear what the other changes until the
// test ends, and have begun to.
func (s *sale) second() *sale {
	s.t.Helper()
	redis, err := redisstore.Open(s.t.Context(), redisstore.Options{Addrs: []string{s.redis.Addr()}})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = redis.Close() })
	other := &sale{t: s.t, redis: s.redis, sql: s.sql, api: app.New(app.Deps{
		Redis: redis, SQL: s.sql, JWTSecret: secret, Log: slog.New(slog.DiscardHandler), Registry: obs.NewRegistry("api", "test"),
	})}
	s.t.Cleanup(other.api.Close)
	intake, stop := context.WithCancel(s.t.Context())
	var nodes errgroup.Group
	for _, node := range []*sale{s, other} {
		nodes.Go(func() error { return node.api.Run(intake, s.t.Context()) })
	}
	s.t.Cleanup(func() { stop(); require.NoError(s.t, nodes.Wait()) })
	client := s.redis.ClientOf(s.t)
	require.Eventually(s.t, func() bool {
		return client.PubSubNumSub(s.t.Context(), "seckill:changed").Val()["seckill:changed"] == 2
	}, time.Minute, time.Millisecond)
	return other
}

func (s *sale) admin(method, path, body string) answer {
	s.t.Helper()
	return s.do(method, path, body, 1, "admin")
}

func adminPath(voucher string) string { return "/api/v1/admin" + voucher[len("/api/v1"):] }

// remember asks until a node answers from memory what this user is told.
func (s *sale) remember(voucher, code string) {
	s.t.Helper()
	for user := seckill.UserID(900); user < 910; user++ {
		require.Equal(s.t, code, s.buy(voucher, user).body.Code)
	}
}

// soon is how long another node may still tell what was true before.
func (s *sale) soon(voucher string, user seckill.UserID, ok func(answer) bool) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return ok(s.buy(voucher, user)) }, time.Minute, 5*time.Millisecond)
}

func accepted(a answer) bool { return a.status == http.StatusAccepted }

func refused(code string) func(answer) bool {
	return func(a answer) bool { return a.body.Code == code }
}

// A7, A16: a restock while 200 buyers ask two nodes: exactly the new units are sold, and the sale
// is shown as open again.
func TestRestockInTheRush(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	other := s.second()
	voucher := s.create("10")
	var sold atomic.Int64
	var g errgroup.Group
	done := make(chan struct{})
	for i := range seckill.UserID(8) { // each asks for 25 users in turn, at one node after the other
		g.Go(func() error {
			has := map[seckill.UserID]bool{}
			for round := 0; ; round++ {
				for u := 1000 * (i + 1); u < 1000*(i+1)+25; u++ {
					a := []*sale{s, other}[round%2].buy(voucher, u)
					switch {
					case a.status < 300 && !has[u]: // an answer may get lost, and its repeat is 200
						has[u] = true
						sold.Add(1)
					case a.status >= 300 && a.body.Code != "SOLD_OUT" && a.body.Code != "UNAVAILABLE":
						return fmt.Errorf("user %d: %+v", u, a)
					}
				}
				select {
				case <-done:
					return nil
				default:
				}
			}
		})
	}
	reach := func(n int64) {
		require.Eventually(t, func() bool { return sold.Load() == n }, time.Minute, time.Millisecond)
	}
	reach(10)
	for total := int64(15); total <= 30; total += 5 {
		a := s.admin("PATCH", adminPath(voucher), fmt.Sprintf(`{"total":%d}`, total))
		require.Equal(t, http.StatusOK, a.status, a.body)
		reach(total)
	}
	close(done)
	require.NoError(t, g.Wait())
	require.EqualValues(t, 30, sold.Load())

	require.Equal(t, http.StatusOK, s.admin("PATCH", adminPath(voucher), `{"total":31}`).status)
	shown := s.do("GET", voucher, "", 0, "")
	require.Equal(t, "open", shown.body.State)
	require.EqualValues(t, 1, shown.body.Left)
	require.Equal(t, "BELOW_SOLD", s.admin("PATCH", adminPath(voucher), `{"total":29}`).body.Code, "queued orders count")
	require.Equal(t, http.StatusOK, s.admin("PATCH", adminPath(voucher), `{"total":30}`).status)
	s.soon(voucher, 42, refused("SOLD_OUT"))
}

// Nodes that remember why nobody can buy hear of a window that moves.
func TestMoveTheWindow(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	other := s.second()
	voucher := s.create("10")
	at := func(d time.Duration) string { return time.Now().Add(d).Format(time.RFC3339Nano) }
	move := func(body string) {
		t.Helper()
		a := s.admin("PATCH", adminPath(voucher), body)
		require.Equal(t, http.StatusOK, a.status, a.body)
	}
	move(`{"beginsAt":"` + at(time.Hour) + `","endsAt":"` + at(2*time.Hour) + `"}`)
	other.remember(voucher, "NOT_STARTED")
	move(`{"beginsAt":"` + at(-time.Hour) + `"}`)
	other.soon(voucher, 1, accepted)

	closed := s.admin("POST", adminPath(voucher)+"/close", "")
	require.Equal(t, http.StatusOK, closed.status, closed.body)
	require.Equal(t, "ended", closed.body.State)
	require.Equal(t, "ENDED", s.buy(voucher, 2).body.Code)
	other.remember(voucher, "ENDED")
	again := s.admin("POST", adminPath(voucher)+"/close", "")
	require.Equal(t, closed.body, again.body)

	move(`{"endsAt":"` + at(time.Hour) + `"}`)
	other.soon(voucher, 3, accepted)
}

func TestChangesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	voucher := s.create("10")
	var won atomic.Int64
	var g errgroup.Group
	for i := range 6 {
		g.Go(func() error {
			switch a := s.admin("PATCH", adminPath(voucher), fmt.Sprintf(`{"total":%d}`, 20+i)); a.body.Code {
			case "":
				won.Add(1)
			case "STALE":
			default:
				return fmt.Errorf("%+v", a)
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.Positive(t, won.Load())
	report := s.admin("GET", adminPath(voucher)+"/audit", "")
	require.True(t, report.body.AtRest)
}

// Of many creations under one key one is made. One that is not loaded is by its first buyer (A2).
func TestCreateOnce(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	body := fmt.Sprintf(`{"title":"Tea","total":5,"beginsAt":%q,"endsAt":%q}`,
		time.Now().Add(-time.Hour).Format(time.RFC3339), time.Now().Add(time.Hour).Format(time.RFC3339))
	made := make([]string, 20)
	var g errgroup.Group
	for i := range made {
		g.Go(func() error {
			a := s.do("POST", "/api/v1/admin/vouchers", body, 1, "admin", "Idempotency-Key", "once")
			made[i] = a.location
			if a.status != http.StatusCreated {
				return fmt.Errorf("%+v", a)
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	for _, location := range made {
		require.Equal(t, made[0], location)
	}
	vs, err := s.sql.Vouchers(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, vs, 1)
	deeds, err := s.sql.Deeds(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, deeds, 1)

	left := vs[0]
	left.ID = 0
	v, _, err := s.sql.CreateVoucher(t.Context(), left, "") // and the process dies
	require.NoError(t, err)
	s.soon("/api/v1/vouchers/"+v.ID.String(), 42, accepted)
}

// An admin who is told UNAVAILABLE repeats the request, and then it is in force.
func TestChangeWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	voucher := s.create("10")
	require.NoError(t, s.redis.Kill())
	require.Equal(t, "UNAVAILABLE", s.admin("PATCH", adminPath(voucher), `{"total":12}`).body.Code)
	require.Equal(t, "UNAVAILABLE", s.admin("PATCH", adminPath(voucher), `{"total":5}`).body.Code, "a cut is decided by Redis")
	require.NoError(t, s.redis.Restart())
	require.Eventually(t, func() bool { return s.admin("PATCH", adminPath(voucher), `{"total":12}`).status == http.StatusOK }, time.Minute, 10*time.Millisecond)
	require.EqualValues(t, 12, s.do("GET", voucher, "", 0, "").body.Left)
	deeds, err := s.sql.Deeds(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, deeds, 2, "the creation, and one change")
}
