package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

// A crowd meets a worker's death and a Redis that hangs, and the law holds.
func TestRehearsal(t *testing.T) {
	s, err := newStack(t.Context(), options{workers: 2, httpAddr: "127.0.0.1:0", opsAddr: "127.0.0.1:0", payTimeout: time.Minute}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	intake, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Run(intake, context.WithoutCancel(intake)) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
		require.NoError(t, s.Close())
	})
	shop, admin := newShop("http://"+s.httpAddr, s.token), s.token(1, "admin")
	ask := func(token, plan string) answer {
		a, err := shop.call(t.Context(), http.MethodPost, rehearsalPath, token, strings.NewReader(plan))
		require.NoError(t, err)
		return a
	}
	const good = `{"buyers":60,"units":10,"faults":["worker","redis"]}`
	require.Equal(t, http.StatusForbidden, ask("", good).status)
	require.Equal(t, http.StatusForbidden, ask(s.token(42, ""), good).status)
	for _, bad := range []string{`{}`, `{"buyers":1,"units":20001}`, `{"buyers":1,"units":1,"faults":["fire"]}`, `no plan`} {
		require.Equal(t, seckill.Invalid, ask(admin, bad).Code, bad)
	}
	require.Equal(t, http.StatusAccepted, ask(admin, good).status)
	require.Equal(t, seckill.Conflict, ask(admin, good).Code, "one at a time")

	require.Eventually(t, func() bool { return s.rehearsal.scene().State != "running" }, 2*time.Minute, 10*time.Millisecond)
	end := s.rehearsal.scene()
	require.Empty(t, end.Error)
	require.Equal(t, "done", end.State)
	require.Empty(t, end.Broken)
	require.Contains(t, end.Rows, reportRow{"stored", "10", "live rows in SQL, of 10 units"})
	text, err := json.Marshal(end)
	require.NoError(t, err)
	require.Contains(t, string(text), `"broken":[]`)
	require.Equal(t, http.StatusAccepted, ask(admin, `{"buyers":1,"units":1}`).status, "and again")
}
