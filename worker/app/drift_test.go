package app_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/worker/app"
)

// The metric tells of a difference that no repair of single users may mend, for as long as
// the voucher is on sale.
func TestDriftMetric(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	stored := s.buy(2)
	s.store(stored[0])
	s.store(stored[1])
	_, err := s.do("HSET", "seckill:ticket:"+s.voucher.String(), stored[0].User.String(), stored[1].ID.String())
	require.NoError(t, err)
	w := app.New(app.Deps{
		Redis: s.redis, SQL: s.sql, Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
		Options: app.Options{Consumer: "a", MendEvery: 100 * time.Millisecond},
	})
	life, end := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(life, t.Context()) }()
	defer func() { end(); require.NoError(t, <-done) }()

	of := func(verdict string) string {
		return `seckill_books_drift{verdict="` + verdict + `",voucher="` + s.voucher.String() + `"}`
	}
	require.Eventually(t, func() bool { return strings.Contains(metrics(w), of("left")+" 1") }, soon, poll)
	s.sync()
	require.Eventually(t, func() bool { return strings.Contains(metrics(w), of("left")+" 0") }, soon, poll)
	s.endedAgo(time.Minute)
	require.Eventually(t, func() bool { return !strings.Contains(metrics(w), of("left")) }, soon, poll)
}
