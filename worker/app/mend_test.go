package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/app"
)

// Nobody asks for it: a lost entry, a ticket of a dead order and a stock that is wrong are
// put right by the workers themselves.
func TestMend(t *testing.T) {
	s := newStage(t, 10)
	lost := s.buy(1)[0]
	_, err := s.do("DEL", stream)
	require.NoError(t, err)
	dead := s.buy(1)[0]
	s.store(dead)
	_, err = s.raw.ExecContext(t.Context(), "UPDATE voucher_order SET status = 'cancelled' WHERE id = ?", dead.ID)
	require.NoError(t, err)
	_, err = s.raw.ExecContext(t.Context(), "UPDATE seckill_voucher SET stock = stock + 1")
	require.NoError(t, err)

	s.workFar("a", app.Options{MendEvery: 200 * time.Millisecond})
	s.awaitStatus(lost, seckill.Created, "")
	s.awaitRest(1)

	_, err = s.do("SET", "seckill:stock:"+s.voucher.String(), "3")
	require.NoError(t, err)
	s.awaitRest(1)
}

// A stream that goes while its workers run takes waiting orders with it; whoever makes the
// group again looks for them at once, not at its usual pace.
func TestMendAfterTheStreamWent(t *testing.T) {
	s := newStage(t, 10)
	waiting := s.buy(3)
	for _, o := range waiting {
		_, err := s.do("SET", s.lockKey(o), "someone")
		require.NoError(t, err)
	}
	s.workFar("a", app.Options{MendEvery: time.Hour})
	require.Eventually(t, func() bool { return s.pending() == 3 }, soon, poll)
	_, err := s.do("DEL", stream)
	require.NoError(t, err)
	for _, o := range waiting {
		_, err := s.do("DEL", s.lockKey(o))
		require.NoError(t, err)
	}
	for _, o := range waiting {
		s.awaitStatus(o, seckill.Created, "")
	}
	s.awaitRest(3)
}

// All keys go: the voucher is loaded again before a buyer has to run into it.
func TestMendAfterAFlush(t *testing.T) {
	s := newStage(t, 10)
	s.workFar("a", app.Options{MendEvery: time.Hour})
	require.Eventually(t, func() bool { return s.number("EXISTS", stream) == 1 }, soon, poll)
	_, err := s.do("FLUSHALL")
	require.NoError(t, err)
	s.awaitRest(0)
}
