package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/worker/app"
)

// consumers returns the names in the group.
func (s *stage) consumers() (names []string) {
	info, err := s.redis.StreamInfo(s.t.Context(), 0)
	require.NoError(s.t, err)
	for _, c := range info.Consumers {
		names = append(names, c.Name)
	}
	return names
}

// die lets a worker of its own connections live until it is in the group, and ends it as
// SIGKILL does: connections and all, in the middle of its work.
func (s *stage) die(name string) {
	s.t.Helper()
	redis, err := redisstore.Open(s.t.Context(), redisstore.Options{Addrs: []string{s.server.Addr()}})
	require.NoError(s.t, err)
	w := app.New(app.Deps{
		Redis: redis, SQL: s.sql, Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
		Options: app.Options{Consumer: name},
	})
	life, kill := context.WithCancel(s.t.Context())
	done := make(chan error)
	go func() { done <- w.Run(life, life) }()
	require.True(s.t, waitFor(func() bool { return slices.Contains(s.consumers(), name) }))
	kill()
	require.NoError(s.t, redis.Close())
	require.NoError(s.t, <-done)
}

func metrics(w *app.Worker) string {
	answer := httptest.NewRecorder()
	w.Ops().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return answer.Body.String()
}

// TestRetire is C16: of fifty workers that were killed no name is left, and nothing of what
// the last of them held is lost.
func TestRetire(t *testing.T) {
	t.Parallel()
	const lives = 50
	s := newStage(t, 10)
	for i := range lives {
		s.die(fmt.Sprintf("life-%d", i))
	}
	require.Len(t, s.consumers(), lives, "who is killed cannot give its name up")
	s.buy(1)
	s.ghost(1)

	w := app.New(app.Deps{
		Redis: s.redis, SQL: s.sql, Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
		Options: app.Options{Consumer: "alive", ClaimIdle: time.Second, Silence: 3 * time.Second},
	})
	intake, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(intake, t.Context()) }()
	require.True(t, waitFor(func() bool { return slices.Equal(s.consumers(), []string{"alive"}) }), s.consumers())
	s.awaitRest(1)
	require.True(t, waitFor(func() bool { return strings.Contains(metrics(w), "\nseckill_stream_lag 0\n") }), "it is -1 until it is watched")
	require.Contains(t, metrics(w), "\nseckill_failing{what=\"retire\"} 0\n")
	stop()
	require.NoError(t, <-done)
	require.Empty(t, s.consumers())
}
