package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/sqltest"
)

// lockVoucher keeps every deduction waiting until unlock is called.
func (s *stage) lockVoucher() (unlock func()) {
	s.t.Helper()
	tx, err := s.raw.BeginTx(s.t.Context(), nil)
	require.NoError(s.t, err)
	_, err = tx.ExecContext(s.t.Context(), "SELECT id FROM seckill_voucher WHERE id = ? FOR UPDATE", s.voucher)
	require.NoError(s.t, err)
	return func() { require.NoError(s.t, tx.Rollback()) }
}

// TestOutageOfSQL kills the database in the middle of a sale: nothing is buried, and all is
// stored once it is back.
func TestOutageOfSQL(t *testing.T) {
	t.Parallel()
	server, err := sqltest.Start(sqltest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	dsn, err := server.NewDatabase(t.Context())
	require.NoError(t, err)
	s := newStageOn(t, redistest.New(t), dsn, 0, 300)
	s.work("w1")
	s.buy(50)
	require.NoError(t, server.Kill())
	s.buy(100)
	require.Eventually(t, func() bool { return s.pending() > 0 }, soon, poll)
	require.NoError(t, server.Restart())
	s.buy(50)
	s.awaitRest(200)
	require.Empty(t, s.buried())
}

// TestOutageOfRedis kills Redis in the middle of a sale, which loses nothing where each
// write is on disk before it is answered.
func TestOutageOfRedis(t *testing.T) {
	t.Parallel()
	server := redistest.NewWith(t, redistest.Options{AOF: "always"})
	s := newStageOn(t, server, sqltest.New(t), 0, 300)
	s.work("w1")
	s.buy(100)
	require.NoError(t, server.Kill())
	require.NoError(t, server.Restart())
	require.Eventually(t, func() bool { // a server that restarted sells once it was synced
		b, err := s.redis.Books(t.Context(), s.voucher)
		return err == nil && b.State == "open"
	}, soon, poll)
	s.buy(100)
	s.awaitRest(200)
	require.Empty(t, s.buried())
}

// TestLostInHand empties Redis while a worker has orders in hand that are not stored yet:
// they are in its memory alone, and still each becomes a row.
func TestLostInHand(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	unlock := s.lockVoucher()
	s.buy(5)
	s.work("w1")
	require.Eventually(t, func() bool { return s.pending() == 5 }, soon, poll)
	_, err := s.do("FLUSHALL")
	require.NoError(t, err)
	unlock()
	s.sync()
	s.awaitRest(5)
	require.Empty(t, s.buried())
}

// TestTransient is C26, too: it holds a row that the batch needs until the database gives up waiting for it
// (1205) or the batch's time is over: the order stays, and is stored later.
func TestTransient(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	unlock := s.lockVoucher()
	s.buy(5)
	s.work("w1")
	delivered := func() bool { // claimed from itself, too, without being handled twice at once
		reply, err := s.do("XPENDING", stream, group, "-", "+", 1)
		entries, ok := reply.([]any)
		return err == nil && ok && len(entries) == 1 && entries[0].([]any)[3].(int64) > 1
	}
	require.Eventually(t, delivered, soon, poll)
	unlock()
	s.awaitRest(5)
	require.Empty(t, s.buried())
}
