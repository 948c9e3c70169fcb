//go:build web

package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/sqltest"
)

const (
	secret = "0123456789abcdef0123456789abcdef"
	victim = "worker-that-dies"
)

// hurt is both programs on servers of their own, and what may befall them.
type hurt struct {
	t      *testing.T
	env    []string
	redis  *redistest.Server
	worker *process.Process
	api    *process.Process
	front  string // where the api serves, whichever life it is
}

// startHurt serves the api's pages, a user to sign in as, and /fault/{what}, by which a script
// asks for a fault.
func startHurt(t *testing.T) *httptest.Server {
	h := &hurt{t: t, redis: redistest.New(t), front: faultnet.FreeAddr()}
	require.NoError(t, process.Build(t.Context(), bin))
	sql, err := sqltest.Start(sqltest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sql.Stop()) })
	dsn, err := sql.NewDatabase(t.Context())
	require.NoError(t, err)
	h.env = []string{"SECKILL_REDIS_ADDRS=" + h.redis.Addr(), "SECKILL_MYSQL_DSN=" + dsn, "SECKILL_JWT_SECRET=" + secret}
	h.api = h.start("api", "SECKILL_HTTP_ADDR="+h.front)
	h.worker = h.start("worker", "SECKILL_CONSUMER="+victim)
	h.start("worker")

	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: h.front})
	proxy.FlushInterval = -1
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	mux.HandleFunc("GET /demo", h.offer)
	mux.HandleFunc("POST /fault/{what}", h.befall)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (h *hurt) start(program string, env ...string) *process.Process {
	p := process.New(h.t.Context(), bin, []string{program}, append(env, h.env...))
	require.NoError(h.t, p.Start())
	require.NoError(h.t, p.Ready(h.t.Context()))
	return p
}

func (h *hurt) offer(w http.ResponseWriter, _ *http.Request) {
	token, err := app.Token([]byte(secret), 1, "admin", time.Now(), time.Hour)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"users": []map[string]string{{"name": "Admin", "user": "1", "role": "admin", "token": token}}})
}

// queue adds a message that no worker can store.
func (h *hurt) queue(ctx context.Context, id, user, voucher string) error {
	c := h.redis.Client()
	defer c.Close()
	return c.Do(ctx, "XADD", "seckill:stream", "*", "id", id, "userId", user, "voucherId", voucher).Err()
}

func (h *hurt) befall(w http.ResponseWriter, r *http.Request) {
	var err error
	switch r.PathValue("what") {
	case "worker":
		h.worker.Kill()
	case "message":
		err = h.queue(r.Context(), "7", "nobody", "1001")
	case "message-of-a-buyer":
		err = h.queue(r.Context(), "none", "42", r.FormValue("voucher"))
	case "redis-stops":
		err = h.redis.Stop()
	case "redis-starts":
		err = h.redis.Restart()
	case "api-stops":
		h.api.Kill()
	case "api-starts":
		h.api = process.New(h.t.Context(), bin, []string{"api"}, append(h.env, "SECKILL_HTTP_ADDR="+h.front))
		err = h.api.Start()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"name": victim})
}
