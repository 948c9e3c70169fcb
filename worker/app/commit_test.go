package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/app"
)

// commits matches the COMMIT of a batch of orders.
func commits() faultnet.Match { return faultnet.CommitOf("INSERT INTO voucher_order") }

// patient lets one try of a batch take several times as long as a lock lives unrenewed.
var patient = app.Options{ClaimIdle: 30 * time.Second}

// TestLockOutlivesCommit is E1: while a COMMIT is on its way the user stays locked, renewed
// beyond the lock's life, and a second order of the user waits at another worker.
func TestLockOutlivesCommit(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	w1 := s.workFar("w1", patient)
	held := w1.sql.Hold(commits())
	first := s.buy(1)[0]
	arrives(t, held.Arrived())
	token, err := s.do("GET", s.lockKey(first))
	require.NoError(t, err)

	s.workFar("w2", patient)
	second := s.order()
	second.User = first.User
	s.queueOrder(second)
	require.True(t, waitFor(func() bool { return s.pending() == 2 }))
	for range 2 { // by the second one a reader has tried the other order more than once
		s.awaitRenewal(first)
	}
	now, err := s.do("GET", s.lockKey(first))
	require.NoError(t, err)
	require.Equal(t, token, now)
	require.EqualValues(t, 2, s.pending())

	held.Release()
	s.awaitStatus(first, seckill.Created, "")
	s.awaitStatus(second, seckill.Rejected, seckill.ReasonDuplicate)
	s.awaitRest(1)
	require.Zero(t, s.number("EXISTS", s.lockKey(first)))
}

// awaitRenewal waits until the lock of the order's user lives longer than a moment before.
func (s *stage) awaitRenewal(o seckill.Order) {
	s.t.Helper()
	before := s.number("PTTL", s.lockKey(o))
	require.True(s.t, waitFor(func() bool {
		now := s.number("PTTL", s.lockKey(o))
		longer := now > before
		before = now
		return longer
	}))
}

// TestLockLost is E6 and E9: a worker that loses its lock inside the transaction rolls back
// and leaves the order pending. It is stored later, once.
func TestLockLost(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		lose func(s *stage, w *far, o seckill.Order) (restore func())
	}{
		{"Redis is silent for longer than the lock lives", func(_ *stage, w *far, _ seckill.Order) func() {
			w.redis.BlackHole()
			return w.redis.Heal
		}},
		{"the lock is gone after a failover", func(s *stage, _ *far, o seckill.Order) func() {
			_, err := s.do("DEL", s.lockKey(o))
			require.NoError(s.t, err)
			return func() {}
		}},
		{"another holds the lock after a failover", func(s *stage, _ *far, o seckill.Order) func() {
			_, err := s.do("SET", s.lockKey(o), "another")
			require.NoError(s.t, err)
			return func() {
				token, err := s.do("GETDEL", s.lockKey(o))
				require.NoError(s.t, err)
				require.Equal(s.t, "another", token)
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 10)
			unlock := s.lockVoucher()
			o := s.buy(1)[0]
			w := s.workFar("w1", patient)
			const deduct = "UPDATE seckill_voucher"
			require.True(t, waitFor(func() bool { return s.running(deduct) != "" }))
			deducting := s.running(deduct)
			restore := row.lose(s, w, o)
			require.True(t, waitFor(func() bool { return s.running(deduct) != deducting }), "it is rolled back")
			require.EqualValues(t, 1, s.pending())
			restore()
			unlock()
			s.awaitRest(1)
			require.Empty(t, s.buried())
		})
	}
}

// running names the connection that runs a query which begins so; "" where none does.
func (s *stage) running(query string) (id string) {
	_ = s.raw.QueryRowContext(s.t.Context(),
		"SELECT CAST(id AS CHAR) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE ? LIMIT 1", query+"%").Scan(&id)
	return id
}

// TestCommitUnknown is A9 and F9: nobody knows what became of a COMMIT. Where it happened,
// the order is found stored; where it did not, it is stored now. Nothing is given back.
func TestCommitUnknown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		lose func(t *testing.T, w *far, buy func())
	}{
		{"it happened, and the answer is lost", func(t *testing.T, w *far, buy func()) {
			for range 3 {
				swallowed := w.sql.SwallowReplies(1, commits())
				buy()
				arrives(t, swallowed)
			}
		}},
		{"it never arrived", func(t *testing.T, w *far, buy func()) {
			held := w.sql.Hold(commits())
			for range 3 {
				buy()
				arrives(t, held.Arrived())
				w.sql.Cut()
			}
			held.Release()
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 10)
			w := s.workFar("w1", app.Options{AttemptsMax: 1})
			row.lose(t, w, func() { s.buy(1) })
			s.awaitRest(3)
			require.Empty(t, s.buried())
		})
	}
}
