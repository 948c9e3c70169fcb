package app_test

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/openseckill/seckill/worker/app"
)

// TestHotVoucher is F1 to F4: very many workers store orders of new users of one voucher, in
// small batches, through one row.
func TestHotVoucher(t *testing.T) {
	t.Parallel()
	workers, orders := faultnet.Pick(16, 64), faultnet.Pick(400, 2000)
	s := newStage(t, int64(orders))
	for i := range workers {
		s.run(app.Deps{Redis: s.redis, SQL: s.sql, Log: slog.New(slog.DiscardHandler),
			Options: app.Options{Consumer: fmt.Sprint("w", i), BatchMax: 5}})
	}
	s.buyAtOnce(orders)
	s.awaitRest(int64(orders))
	require.Empty(t, s.buried())
}

func (s *stage) buyAtOnce(n int) {
	const buyers = 8
	var all sync.WaitGroup
	for range buyers {
		all.Go(func() { s.buy(n / buyers) })
	}
	all.Wait()
}

// TestConnectionsKilled is F9: the database closes what is idle, and all connections time
// and again in the middle of the work.
func TestConnectionsKilled(t *testing.T) {
	t.Parallel()
	s := newStage(t, 400)
	for _, name := range []string{"w1", "w2"} {
		s.workFar(name, app.Options{BatchMax: 20})
	}
	for range faultnet.Pick(20, 100) {
		s.killConnections()
		s.buy(4)
	}
	s.awaitRest(int64(faultnet.Pick(80, 400)))
	require.Empty(t, s.buried())
}

// killConnections kills all connections to the stage's database but those of the test.
func (s *stage) killConnections() {
	s.t.Helper()
	rows, err := s.raw.QueryContext(s.t.Context(),
		"SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()")
	require.NoError(s.t, err)
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		require.NoError(s.t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(s.t, rows.Err())
	for _, id := range ids {
		_, _ = s.raw.ExecContext(s.t.Context(), fmt.Sprintf("KILL CONNECTION %d", id)) // it may have gone by itself
	}
}

// TestFewConnections is F11: three workers get along with a server that allows twenty
// connections, and never ask it for one more.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	server, err := sqltest.Start(sqltest.Options{Flags: []string{"--max-connections=20"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	dsn, err := server.NewDatabase(t.Context())
	require.NoError(t, err)
	orders := faultnet.Pick(800, 5000)
	s := newStageOn(t, redistest.New(t), dsn, 0, int64(orders))
	for i := range 3 {
		s.workFar(fmt.Sprint("w", i), app.Options{BatchMax: 20})
	}
	s.buyAtOnce(orders)
	s.awaitRest(int64(orders))
	require.Empty(t, s.buried())
	var name string
	var refused int64
	require.NoError(t, s.raw.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Connection_errors_max_connections'").Scan(&name, &refused))
	require.Zero(t, refused)
}

// TestOneConnection is F12: a worker whose pool has one connection takes no second one while
// it holds the first.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	s := newStage(t, 100)
	db, err := sqlstore.OpenMySQL(s.dsn, sqlstore.Options{MaxOpenConns: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s.run(app.Deps{Redis: s.redis, SQL: db, Log: slog.New(slog.DiscardHandler), Options: app.Options{Consumer: "w1", BatchMax: 10}})
	s.buy(100)
	s.awaitRest(100)
	require.Empty(t, s.buried())
}
