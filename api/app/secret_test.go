package app_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
)

// everything is whatever a program tells anybody.
type everything struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (e *everything) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.Write(b)
}

func (e *everything) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.String()
}

// An api that logs all it can, in good and in bad times, tells no password and no token.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	const redisPassword, sqlPassword, issuerPassword = "redis-hunter2", "sql-hunter2", "issuer-hunter2"
	server := redistest.New(t)
	require.NoError(t, server.ClientOf(t).ConfigSet(t.Context(), "requirepass", redisPassword).Err())
	cfg, err := config.LoadAPI(map[string]string{
		"SECKILL_REDIS_ADDRS": server.Addr(), "SECKILL_REDIS_PASSWORD": redisPassword,
		"SECKILL_MYSQL_DSN":  strings.Replace(sqltest.New(t), "root@", "root:"+sqlPassword+"@", 1),
		"SECKILL_JWT_SECRET": string(secret), "SECKILL_JWKS_URL": "http://us:" + issuerPassword + "@127.0.0.1:1/jwks.json",
		"SECKILL_LOG_LEVEL": "debug",
	})
	require.NoError(t, err)
	told := new(everything)
	log := obs.NewLogger(told, cfg.Log.Level, cfg.Log.Format)
	log.Debug("settings", "all", cfg, "text", fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg))

	redis, err := redisstore.Open(t.Context(), redisstore.Options{Addrs: cfg.Redis.Addrs, Password: cfg.Redis.Password.Reveal()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	sql, err := sqlstore.OpenMySQL(cfg.MySQL.DSN.Reveal(), sqlstore.Options{})
	require.NoError(t, err)
	require.NoError(t, sql.Migrate(t.Context()))
	api := app.New(app.Deps{
		Redis: redis, SQL: sql, JWTSecret: secret, Log: log, Registry: obs.NewRegistry("api", "test"),
		Options: app.Options{JWKSURL: cfg.JWT.URL.Reveal()},
	})
	t.Cleanup(api.Close)

	good, err := app.Token(secret, 42, "admin", time.Now(), time.Hour)
	require.NoError(t, err)
	forged, err := app.Token([]byte("another key, 32 bytes or more ..."), 42, "admin", time.Now(), time.Hour)
	require.NoError(t, err)
	ask := func(h http.Handler, method, path, token string) {
		req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(`{"title":`))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("X-Request-Id", token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		_, _ = fmt.Fprintln(told, w.Code, w.Header(), w.Body)
	}
	askAll := func() {
		for _, token := range []string{good, forged, good + "x", "eyJhbGciOiJSUzI1NiJ9." + strings.SplitN(good, ".", 2)[1]} {
			for _, call := range []string{
				"GET /api/v1/vouchers", "POST /api/v1/vouchers/1001/orders", "GET /api/v1/orders", "GET /api/v1/orders/7",
				"GET /api/v1/vouchers/1001/order", "POST /api/v1/admin/vouchers", "GET /nowhere", "GET /api/v1/orders/7/events",
			} {
				method, path, _ := strings.Cut(call, " ")
				ask(api.Handler(), method, path+"?access_token="+token, token)
			}
		}
		ask(api.Ops(), "GET", "/readyz", good)
		ask(api.Ops(), "GET", "/metrics", good)
	}
	askAll()
	require.NoError(t, server.Kill())
	require.NoError(t, sql.Close())
	askAll()

	_, err = redisstore.Open(t.Context(), redisstore.Options{Addrs: cfg.Redis.Addrs, Password: cfg.Redis.Password.Reveal()})
	_, _ = fmt.Fprintln(told, err)
	_, err = sqlstore.OpenMySQL("root:"+sqlPassword+"@@@", sqlstore.Options{})
	require.Error(t, err)
	_, _ = fmt.Fprintln(told, err)

	require.Contains(t, told.String(), `"level":"WARN"`, "bad times were logged")
	for _, hidden := range []string{redisPassword, sqlPassword, issuerPassword, string(secret), good, forged, strings.Split(good, ".")[2]} {
		require.NotContains(t, told.String(), hidden)
	}
}

func TestOpsServesTheAdminIfTold(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	admin, err := app.Token(secret, 1, "admin", time.Now(), time.Hour)
	require.NoError(t, err)
	buyer, err := app.Token(secret, 1, "", time.Now(), time.Hour)
	require.NoError(t, err)
	redis, err := redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{s.redis.Addr()}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	told := app.New(app.Deps{
		Redis: redis, SQL: s.sql, JWTSecret: secret, Log: slog.New(slog.DiscardHandler),
		Registry: obs.NewRegistry("api", "test"), Options: app.Options{OpsAdmin: true},
	})
	t.Cleanup(told.Close)
	ask := func(h http.Handler, path, token string) int {
		req := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader("{}"))
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w.Code
	}
	const path = "/api/v1/admin/vouchers"
	require.Equal(t, http.StatusNotFound, ask(s.api.Ops(), path, admin), "not by default")
	require.Equal(t, http.StatusBadRequest, ask(told.Ops(), path, admin))
	require.Equal(t, http.StatusForbidden, ask(told.Ops(), path, buyer))
	require.Equal(t, http.StatusUnauthorized, ask(told.Ops(), path, ""))
	require.Equal(t, http.StatusNotFound, ask(told.Ops(), "/api/v1/vouchers/1001/orders", admin), "buyers ask elsewhere")
}

func TestRunRefusesAJWKSThatIsNone(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	redis, err := redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{s.redis.Addr()}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	api := app.New(app.Deps{
		Redis: redis, SQL: s.sql, Log: slog.New(slog.DiscardHandler), Registry: obs.NewRegistry("api", "test"),
		Options: app.Options{JWKSFile: t.TempDir()},
	})
	t.Cleanup(api.Close)
	require.ErrorIs(t, api.Ready(t.Context()), seckill.Unavailable, "no token can be checked")
	require.ErrorIs(t, api.Run(t.Context(), t.Context()), seckill.Invalid)
}
