package app_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
)

func TestMain(m *testing.M) { os.Exit(sqltest.Main(m)) }

var secret = []byte("0123456789abcdef0123456789abcdef")

// sale is an API on a real Redis and a real database.
type sale struct {
	t     *testing.T
	api   *app.API
	redis *redistest.Server
	sql   *sqlstore.Store
}

func newSale(t *testing.T) *sale {
	t.Helper()
	server := redistest.New(t)
	redis, err := redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{server.Addr()}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	sql, err := sqlstore.OpenMySQL(sqltest.New(t), sqlstore.Options{PayTimeout: 15 * time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { _ = sql.Close() })
	require.NoError(t, sql.Migrate(t.Context()))
	api := app.New(app.Deps{
		Redis: redis, SQL: sql, JWTSecret: secret,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Registry: obs.NewRegistry("api", "test"),
	})
	t.Cleanup(api.Close)
	return &sale{t: t, api: api, redis: server, sql: sql}
}

// answer is what any call answers.
type answer struct {
	status   int
	location string
	body     struct {
		VoucherID, OrderID, UserID, Code, Receipt string
		Status                                    any // of an order, or a number of a problem
		State                                     string
		Left                                      int64
		Repeated, AtRest                          bool
	}
}

// do makes a call as a user; user 0 has no token. Headers are name, value, name, value.
func (s *sale) do(method, path, body string, user seckill.UserID, role string, headers ...string) (a answer) {
	s.t.Helper()
	req := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	if user != 0 {
		token, err := app.Token(secret, user, role, time.Now(), time.Hour)
		require.NoError(s.t, err)
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.api.Handler().ServeHTTP(w, req)
	require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &a.body), w.Body.String())
	a.status, a.location = w.Code, w.Header().Get("Location")
	return a
}

// create puts a voucher on sale and returns its path.
func (s *sale) create(total string) string {
	s.t.Helper()
	began, ends := time.Now().Add(-time.Hour).Format(time.RFC3339), time.Now().Add(time.Hour).Format(time.RFC3339)
	a := s.do("POST", "/api/v1/admin/vouchers",
		`{"title":"Tea","price":1990,"total":`+total+`,"beginsAt":"`+began+`","endsAt":"`+ends+`"}`, 1, "admin")
	require.Equal(s.t, http.StatusCreated, a.status)
	return a.location
}

func (s *sale) buy(voucher string, user seckill.UserID) answer {
	s.t.Helper()
	return s.do("POST", voucher+"/orders", "", user, "")
}

func TestSale(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	voucher := s.create("2")
	require.Equal(t, int64(2), s.do("GET", voucher, "", 0, "").body.Left, "a new voucher is loaded")

	first := s.buy(voucher, 9223372036854775807)
	require.Equal(t, http.StatusAccepted, first.status)
	require.Equal(t, "queued", first.body.Status)
	again := s.buy(voucher, 9223372036854775807)
	require.Equal(t, http.StatusOK, again.status)
	require.True(t, again.body.Repeated)
	require.Equal(t, first.body.OrderID, again.body.OrderID)
	require.Equal(t, first.location, again.location)
	require.Equal(t, http.StatusAccepted, s.buy(voucher, 9007199254740993).status)
	require.Equal(t, "SOLD_OUT", s.buy(voucher, 7).body.Code)

	mine := s.do("GET", first.location, "", 9223372036854775807, "")
	require.Equal(t, http.StatusOK, mine.status)
	require.Equal(t, "queued", mine.body.Status)
	require.Equal(t, "9223372036854775807", mine.body.UserID)
	require.Equal(t, "ORDER_NOT_FOUND", s.do("GET", first.location, "", 9007199254740993, "").body.Code)
}

func TestSaleShowsWhatIsStored(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	voucher := s.create("5")
	bought := s.buy(voucher, 42)
	id, err := seckill.ParseOrderID(bought.body.OrderID)
	require.NoError(t, err)
	v, err := seckill.ParseVoucherID(bought.body.VoucherID)
	require.NoError(t, err)
	epochs, err := s.sql.Epochs(t.Context(), []seckill.VoucherID{v})
	require.NoError(t, err)
	_, err = s.sql.StoreOrders(t.Context(), []seckill.Order{{ID: id, User: 42, Voucher: v}}, epochs)
	require.NoError(t, err)

	require.Equal(t, "created", s.do("GET", bought.location, "", 42, "").body.Status)
	require.Equal(t, "created", s.do("GET", bought.location, "", 1, "admin").body.Status)
	repeat := s.buy(voucher, 42)
	require.Equal(t, "created", repeat.body.Status)
	require.Equal(t, bought.body.OrderID, repeat.body.OrderID)
}

// Redis that lost everything is loaded again by the first buyer who notices.
func TestSaleHealsALostRedis(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	voucher := s.create("5")
	require.NoError(t, s.redis.ClientOf(t).FlushAll(t.Context()).Err())
	require.Equal(t, "NOT_READY", s.buy(voucher, 42).body.Code)
	require.Eventually(t, func() bool { return s.buy(voucher, 42).status == http.StatusAccepted }, time.Minute, 20*time.Millisecond)
	require.Equal(t, "VOUCHER_NOT_FOUND", s.buy("/api/v1/vouchers/999999", 42).body.Code)
}

func TestReady(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	require.NoError(t, s.api.Ready(t.Context()))
	probe := func(path string) (int, string) {
		w := httptest.NewRecorder()
		s.api.Ops().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		return w.Code, w.Body.String()
	}
	status, _ := probe("/readyz")
	require.Equal(t, http.StatusOK, status)
	_, metrics := probe("/metrics")
	require.Contains(t, metrics, `seckill_admit_total{code="ACCEPTED"} 0`)

	voucher := s.create("5")
	require.NoError(t, s.redis.Kill())
	require.NoError(t, s.sql.Close())
	status, why := probe("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, why, "redisstore.Ping")
	require.Contains(t, why, "sqlstore.Ping")
	status, _ = probe("/livez")
	require.Equal(t, http.StatusOK, status, "a restart would help nobody")
	require.Equal(t, "UNAVAILABLE", s.buy(voucher, 42).body.Code)
}

func TestTokenRefusesUnknownRoles(t *testing.T) {
	_, err := app.Token(secret, 42, "root", time.Now(), time.Hour)
	require.ErrorIs(t, err, seckill.Invalid)
}
